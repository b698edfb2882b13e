//! The codebook of one head with its counts and mean values through a whole run, from the codes in the trace.
//!
//! The keys never move; the means are the layer's own, in float32. Every code has a row, those that stand for no write too.

use std::sync::Arc;

use ndarray::{ArrayView2, Axis};

use super::state::HeadState;
use crate::layer::Setup;
use crate::layer::ovq::state::rows_of;
use crate::layer::replay::DictionaryAt;
use crate::trace::LaneTrace;

/// See [`crate::layer::LayerKind::replay_dictionary`]. False, too, where the trace does not fit the setup.
pub(super) fn replay(setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(DictionaryAt<'_>) -> bool) -> bool {
    let stream = &setup.stream;
    let (Some(placed), Some(sizes)) = (trace.channel("assignments"), trace.channel("sizes")) else { return false };
    let Ok(books) = super::codebook(setup) else { return false };
    if kv_head >= stream.kv_heads().min(placed.heads()) {
        return false;
    }
    let book: Vec<f32> = books.index_axis(Axis(0), kv_head.min(books.dim().0 - 1)).iter().copied().collect();
    let (dk, dv) = (stream.key_dim(), stream.value_dim());
    let codes = book.len() / dk;
    let book = Arc::new(book);
    let mut state = HeadState::<f32>::new(&book, dk, dv);
    for step in 0..sizes.len() {
        let chunk = stream.chunk_range(setup.chunk, step);
        let Some(assignments) = placed.wholes(kv_head).get(chunk.clone()) else { break };
        if assignments.iter().any(|&code| usize::try_from(code).map_or(true, |code| code >= codes)) {
            return false;
        }
        state.update(rows_of(stream.values(), kv_head, chunk), assignments);
        let keys = ArrayView2::from_shape((codes, dk), &book).expect("a codebook has dk numbers for each of its rows");
        let values = ArrayView2::from_shape((codes, dv), &state.means).expect("there is a mean of dv numbers for each code");
        if !visit(DictionaryAt { chunks: step + 1, keys, values, counts: &state.counts }) {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::vq::VqKind;
    use crate::layer::workload::Workload;
    use crate::layer::{LayerKind, Precision, Record};
    use crate::param::Params;
    use crate::trace::TraceBlock;

    #[test]
    fn a_replay_is_the_layers_own_state_after_every_chunk() {
        // 300 = 4 chunks of 64 and one of 44; two heads, each read by two.
        let workload = Workload { writes: 300, reads: 7, dk: 6, dv: 5, kv_heads: 2, query_heads: 4, ..Workload::causal(300) };
        let setup = workload.setup(&VqKind, &Params::default().with("codes", 40)).unwrap();
        let book = super::super::codebook(&setup).unwrap();
        let mut layer = VqKind.cpu(&setup, Precision::Single).unwrap();
        let mut trace = LaneTrace::new(&VqKind.channels(&setup), 2, 4);
        let mut snapshots = Vec::new();
        for _ in 0..setup.stream.chunks(setup.chunk) {
            let mut block = TraceBlock::default();
            layer.advance(1, Record::All, &mut block).unwrap();
            trace.append(&block).unwrap();
            snapshots.push(layer.snapshot().unwrap());
        }
        for head in 0..2 {
            let mut seen = 0;
            let known = VqKind.replay_dictionary(&setup, &trace, head, &mut |at| {
                let counts = snapshots[seen].array("counts").unwrap().values.as_i32().unwrap();
                let values = snapshots[seen].array("values").unwrap().values.as_f32().unwrap();
                seen += 1;
                assert_eq!((at.chunks, at.keys.dim(), at.values.dim()), (seen, (40, 6), (40, 5)));
                assert_eq!(at.keys, book.index_axis(Axis(0), head));
                assert!(at.counts.iter().zip(&counts[head * 40..]).all(|(&a, &b)| a == b as u32));
                assert_eq!(at.counts.iter().sum::<u32>() as usize, (seen * 64).min(300));
                for (found, expected) in at.values.iter().zip(&values[head * 200..]) {
                    assert!((found - expected).abs() <= 1e-5, "head {head} chunk {seen}: {found} {expected}");
                }
                true
            });
            assert!(known && seen == 5);
        }
    }
}
