//! The metric channels of some reads, from a lane's outputs.

use std::ops::Range;

use ndarray::Array2;

use crate::stream::{Stream, Targets};
use crate::trace::{Piece, Values};

/// Measures the reads `reads` of a lane.
///
/// `outputs` are the lane's outputs of exactly those reads [Hq, reads, dv]; `reference` full attention's outputs of the same
/// reads [Hq, reads, dv], which only [`Targets::FullAttention`] needs. The pieces' channels count from `first`, the number of
/// channels that the layer has of its own, in the order of [`super::channels`].
///
/// All sums are in float64, so that the answer does not depend on the precision of the run any more than its outputs do.
///
/// # Panics
/// If `outputs` has another length, or `reference` is needed and absent or of another length: a mistake in the engine.
#[must_use]
pub fn score(stream: &Stream, reads: Range<usize>, outputs: &Values, reference: Option<&Values>, first: usize) -> Vec<Piece> {
    let (heads, dv) = (stream.query_heads(), stream.value_dim());
    let rows = heads * reads.len();
    assert_eq!(outputs.len(), rows * dv, "outputs are [{heads}, {}, {dv}]", reads.len());
    let columns = match stream.targets() {
        Targets::None => return Vec::new(),
        Targets::Codes { codebook, target } => {
            codes_of(codebook, rows, |row, output| fill(outputs, row, output), |row| target[reads.start + row % reads.len()])
        }
        Targets::Values(targets) => errors(
            rows,
            dv,
            |row, output| fill(outputs, row, output),
            |row, y| {
                for (to, &from) in y.iter_mut().zip(targets.row(reads.start + row % reads.len())) {
                    *to = f64::from(from);
                }
            },
        ),
        Targets::FullAttention => {
            let Some(full) = reference else { panic!("full attention's outputs are needed to score against them") };
            assert_eq!(full.len(), outputs.len(), "full attention's outputs are needed, [{heads}, {}, {dv}]", reads.len());
            errors(rows, dv, |row, output| fill(outputs, row, output), |row, y| fill(full, row, y))
        }
    };
    let piece = |(at, values)| Piece { channel: first + at, range: reads.clone(), values, lengths: None };
    columns.into_iter().enumerate().map(piece).collect()
}

/// Copies one row, widened.
fn fill(values: &Values, row: usize, to: &mut [f64]) {
    let start = row * to.len();
    match values {
        Values::F32(v) => to.iter_mut().zip(&v[start..]).for_each(|(t, &x)| *t = f64::from(x)),
        Values::F64(v) => to.iter_mut().zip(&v[start..]).for_each(|(t, &x)| *t = x),
        Values::I32(v) => to.iter_mut().zip(&v[start..]).for_each(|(t, &x)| *t = f64::from(x)),
    }
}

/// The code of `codes` [V, dv] with the largest dot product with an output `[dv]`, of equal ones the lower, and how much larger
/// it is than the second largest. An output that is not a number takes no code (-1), and its margin is no number either.
#[must_use]
pub fn nearest_code(codes: &Array2<f32>, output: &[f64]) -> (i32, f32) {
    let (mut best, mut second, mut answer) = (f64::NEG_INFINITY, f64::NEG_INFINITY, -1_i32);
    for (code, vector) in codes.rows().into_iter().enumerate() {
        let dot: f64 = vector.iter().zip(output).map(|(&c, &o)| f64::from(c) * o).sum();
        if dot > best {
            (second, best, answer) = (best, dot, code as i32);
        } else if dot > second {
            second = dot;
        }
    }
    (answer, if answer < 0 { f32::NAN } else { (best - second) as f32 })
}

/// `answer`, `correct`, `answer_margin`.
fn codes_of(codes: &Array2<f32>, rows: usize, output_of: impl Fn(usize, &mut [f64]), right: impl Fn(usize) -> u32) -> Vec<Values> {
    let mut output = vec![0.0; codes.ncols()];
    let (mut answers, mut correct, mut margins) = (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        output_of(row, &mut output);
        let (answer, margin) = nearest_code(codes, &output);
        answers.push(answer);
        correct.push(i32::from(u32::try_from(answer) == Ok(right(row))));
        margins.push(margin);
    }
    vec![Values::I32(answers), Values::I32(correct), Values::F32(margins)]
}

/// `error_sq`, `target_sq`, `cosine`.
fn errors(rows: usize, dv: usize, output_of: impl Fn(usize, &mut [f64]), target_of: impl Fn(usize, &mut [f64])) -> Vec<Values> {
    let (mut o, mut y) = (vec![0.0; dv], vec![0.0; dv]);
    let (mut error, mut target, mut cosine) = (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        output_of(row, &mut o);
        target_of(row, &mut y);
        let (mut ee, mut oo, mut yy, mut oy) = (0.0, 0.0, 0.0, 0.0);
        for (a, b) in o.iter().zip(&y) {
            ee += (a - b) * (a - b);
            oo += a * a;
            yy += b * b;
            oy += a * b;
        }
        error.push(ee as f32);
        target.push(yy as f32);
        let lengths = (oo * yy).sqrt();
        cosine.push(if lengths == 0.0 { 0.0 } else { (oy / lengths) as f32 });
    }
    vec![Values::F32(error), Values::F32(target), Values::F32(cosine)]
}
