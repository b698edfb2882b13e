//! What every token weighs in a read of VQ attention: its code's softmax weight over the members that the read may see, each of
//! them alike.

use super::codebook;
use crate::layer::Setup;
use crate::layer::effective::{Effective, ReadOf, Store};
use crate::layer::ovq::effective::softmax;
use crate::trace::LaneTrace;

/// See the module's page.
pub(super) fn effective(setup: &Setup, trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
    let stream = &setup.stream;
    let after = *stream.after().get(read.read)? as usize;
    let kv = stream.kv_head_of(read.query_head);
    let codes = trace.channel("assignments")?.wholes(kv).get(..after)?;
    let book = codebook(setup).ok()?;
    let book = book.index_axis(ndarray::Axis(0), kv.min(book.dim().0 - 1));
    if read.query.len() != book.ncols() {
        return None;
    }
    let mut counts = vec![0_u32; book.nrows()];
    for &c in codes {
        counts[c as usize] += 1;
    }
    let used: Vec<usize> = (0..counts.len()).filter(|&c| counts[c] > 0).collect();
    let logit = |code: usize| {
        let product: f64 = book.row(code).iter().zip(read.query).map(|(&k, &q)| f64::from(k) * f64::from(q)).sum();
        setup.beta() * product + f64::from(counts[code]).ln()
    };
    let mut of_used: Vec<f64> = used.iter().map(|&c| logit(c)).collect();
    softmax(&mut of_used);
    let mut each = vec![0.0; counts.len()];
    for (&code, weight) in used.iter().zip(of_used) {
        each[code] = weight / f64::from(counts[code]);
    }
    let weights = codes.iter().map(|&c| each[c as usize]).collect();
    Some(Effective { weights, stores: vec![Store::Centroid; after] })
}
