//! The state through a whole run, made again from the stream: sums of phi(k) v^T and phi(k) in float64.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, Axis, s};

use super::NAME;
use crate::layer::Setup;
use crate::layer::feature::FeatureMap;
use crate::layer::real::cast;
use crate::layer::replay::StateAt;
use crate::session::hand;
use crate::trace::LaneTrace;

/// Features that are held at once (2 MiB).
const FEATURE_NUMBERS: usize = 1 << 18;

/// Chunks that the trace of a layer which writes only reads is known to hold: those up to its last answered read, and once every read is
/// answered, all of them.
fn chunks_held(setup: &Setup, trace: &LaneTrace) -> usize {
    let (stream, chunk) = (&setup.stream, setup.chunk.max(1));
    let answered = trace.channel("outputs").map_or(0, crate::trace::Channel::len);
    match answered.checked_sub(1).and_then(|last| stream.after().get(last)) {
        _ if answered >= stream.reads() => stream.chunks(chunk),
        Some(&after) => (after as usize - 1) / chunk + 1,
        None => 0,
    }
}

/// See [`crate::layer::LayerKind::replay_state`].
pub(super) fn replay(setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(StateAt<'_>) -> bool) -> bool {
    let chunks = chunks_held(setup, trace);
    if chunks == 0 || kv_head >= setup.stream.kv_heads() {
        return true;
    }
    // The plan has been checked, so that the map's arrays fit.
    let Ok(map) = FeatureMap::<f64>::new(NAME, setup) else { return true };
    let stream = &setup.stream;
    let rows = (FEATURE_NUMBERS / map.dim()).max(1);
    let mut state = Array2::<f64>::zeros((map.dim(), stream.value_dim()));
    let mut normaliser = Array1::<f64>::zeros(map.dim());
    for chunk in 0..chunks {
        let writes = stream.chunk_range(setup.chunk, chunk);
        for start in writes.clone().step_by(rows) {
            let block = start..(start + rows).min(writes.end);
            let keys = cast::<f64>(stream.keys().slice(s![kv_head, block.clone(), ..]));
            let values = cast::<f64>(stream.values().slice(s![kv_head, block, ..]));
            let features = map.keys(kv_head, &keys.view());
            general_mat_mul(1.0, &features.t(), &values, 1.0, &mut state);
            normaliser += &features.sum_axis(Axis(0));
        }
        if hand::forgotten(&setup.hands, kv_head, chunk + 1) == Some(chunk + 1) {
            state.fill(0.0);
            normaliser.fill(0.0);
        }
        let normaliser = normaliser.as_slice();
        if !visit(StateAt { chunks: chunk + 1, state: state.view(), normaliser }) {
            break;
        }
    }
    true
}
