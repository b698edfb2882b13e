//! The dictionary of one head through a whole run, from where the trace says that the writes went.
//!
//! Stage 3 is the layer's own, in float32; stages 1 and 2, which choose, are not made again. So a replay of a run on the CPU has its
//! very numbers, and one of a run on the GPU follows the choices that were made there.

use ndarray::ArrayView2;

use super::Config;
use super::state::HeadState;
use crate::layer::Setup;
use crate::layer::replay::DictionaryAt;
use crate::trace::LaneTrace;

/// See [`crate::layer::LayerKind::replay_dictionary`]. False, too, where the trace does not fit the setup.
pub(super) fn replay(
    setup: &Setup,
    config: &Config,
    trace: &LaneTrace,
    kv_head: usize,
    visit: &mut dyn FnMut(DictionaryAt<'_>) -> bool,
) -> bool {
    let stream = &setup.stream;
    let (Some(placed), Some(sizes)) = (trace.channel("assignments"), trace.channel("sizes")) else { return false };
    if kv_head >= stream.kv_heads().min(placed.heads()) {
        return false;
    }
    let placed = placed.wholes(kv_head);
    let (dk, dv) = (stream.key_dim(), stream.value_dim());
    let mut state = HeadState::<f32>::new(dk, dv, config.sizes.last().copied().unwrap_or(0));
    for step in 0..sizes.len().min(config.sizes.len() - 1) {
        let rows = config.sizes[step + 1];
        let chunk = stream.chunk_range(config.chunk, step);
        let start = chunk.start;
        let Some(assignments) = placed.get(chunk) else { break };
        if assignments.iter().any(|&row| usize::try_from(row).map_or(true, |row| row >= rows)) {
            return false;
        }
        state.follow(stream, config, kv_head, start, assignments, rows);
        state.lay_hands(stream, config, kv_head, step + 1);
        let keys = ArrayView2::from_shape((rows, dk), &state.dict_k).expect("a dictionary has dk numbers for each of its rows");
        let values = ArrayView2::from_shape((rows, dv), &state.dict_v).expect("a dictionary has dv numbers for each of its rows");
        if !visit(DictionaryAt { chunks: step + 1, keys, values, counts: &state.counts }) {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::ovq::OvqKind;
    use crate::layer::workload::Workload;
    use crate::layer::{LayerKind, Precision, Record};
    use crate::param::Params;
    use crate::trace::TraceBlock;

    /// Runs the layer chunk by chunk, and holds every snapshot against the replay of its trace.
    fn check(workload: Workload, params: &Params) {
        let setup = workload.setup(&OvqKind, params).unwrap();
        let mut layer = OvqKind.cpu(&setup, Precision::Single).unwrap();
        let mut trace = LaneTrace::new(&OvqKind.channels(&setup), workload.kv_heads, workload.query_heads);
        let mut snapshots = Vec::new();
        for _ in 0..setup.stream.chunks(setup.chunk) {
            let mut block = TraceBlock::default();
            layer.advance(1, Record::All, &mut block).unwrap();
            trace.append(&block).unwrap();
            snapshots.push(layer.snapshot().unwrap());
        }
        for head in 0..workload.kv_heads {
            let mut seen = 0;
            let known = OvqKind.replay_dictionary(&setup, &trace, head, &mut |at| {
                let snapshot = &snapshots[seen];
                seen += 1;
                let n = at.counts.len();
                assert_eq!((at.chunks, at.keys.nrows(), at.values.nrows()), (seen, n, n));
                let counts = snapshot.array("counts").unwrap();
                assert_eq!(counts.shape, [workload.kv_heads, n]);
                let own: Vec<u32> = counts.values.as_i32().unwrap()[head * n..(head + 1) * n].iter().map(|&c| c as u32).collect();
                assert_eq!(at.counts, own);
                for (name, view) in [("dict_k", at.keys), ("dict_v", at.values)] {
                    let array = snapshot.array(name).unwrap();
                    let own = &array.values.as_f32().unwrap()[head * view.len()..(head + 1) * view.len()];
                    for (found, expected) in view.iter().zip(own) {
                        assert!((found - expected).abs() <= 1e-5, "{params:?} head {head} chunk {seen} {name}: {found} {expected}");
                    }
                }
                true
            });
            assert!(known && seen == snapshots.len(), "{seen} of {}", snapshots.len());
        }
    }

    #[test]
    fn a_replay_is_the_layers_own_state_after_every_chunk() {
        // 300 = 9 chunks of 32 and one of 12; two heads, each read by two.
        let workload = Workload { writes: 300, reads: 7, dk: 6, dv: 5, kv_heads: 2, query_heads: 4, ..Workload::causal(300) };
        let base = Params::default().with("n_max", 40).with("chunk", 32);
        for founding in ["spread", "random", "farthest-point"] {
            for growth in ["plateau", "saturating", "linear"] {
                for rate in ["adaptive", "constant"] {
                    for unit in [false, true] {
                        let params = base.clone().with("founding", founding).with("growth", growth);
                        check(workload, &params.with("rate", rate).with("normalise_centroids", unit));
                    }
                }
            }
        }
        check(Workload { writes: 20, ..workload }, &base);
        check(workload, &base.clone().with("chunk", 1).with("n_max", 400));
    }

    #[test]
    fn a_visitor_may_stop_and_a_short_trace_ends_early() {
        let workload = Workload { writes: 100, reads: 1, dk: 4, dv: 4, ..Workload::causal(100) };
        let setup = workload.setup(&OvqKind, &Params::default().with("chunk", 16)).unwrap();
        let mut layer = OvqKind.cpu(&setup, Precision::Single).unwrap();
        let mut trace = LaneTrace::new(&OvqKind.channels(&setup), 1, 1);
        let mut block = TraceBlock::default();
        layer.advance(4, Record::All, &mut block).unwrap();
        trace.append(&block).unwrap();
        let replayed = |stop: usize| {
            let mut seen = Vec::new();
            let known = OvqKind.replay_dictionary(&setup, &trace, 0, &mut |at| {
                seen.push((at.chunks, at.counts.iter().sum::<u32>()));
                at.chunks < stop
            });
            assert!(known);
            seen
        };
        assert_eq!(replayed(99), [(1, 16), (2, 32), (3, 48), (4, 64)], "counts sum to the writes seen");
        assert_eq!(replayed(2), [(1, 16), (2, 32)]);
        assert!(!OvqKind.replay_dictionary(&setup, &trace, 1, &mut |_| panic!("there is one head")));
    }
}
