//! The linear state through a whole run, made again from the trace: the writes that each update folded, in float64.
//!
//! Which writes those are follows from the window and the two lists of events: of the writes that leave the window, all that were
//! not admitted to the cache; and those displaced from it.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, Axis};

use super::NAME;
use super::config::Config;
use crate::layer::Setup;
use crate::layer::feature::FeatureMap;
use crate::layer::replay::StateAt;
use crate::session::hand;
use crate::trace::LaneTrace;

/// Features that are held at once (2 MiB).
const FEATURE_NUMBERS: usize = 1 << 18;

/// The writes that step `step` folds, in the order of their ids.
fn folded(config: &Config, step: usize, admitted: &[i32], displaced: &[i32]) -> Vec<usize> {
    let leaving = config.step(step).leaving.filter(|&id| admitted.binary_search(&(id as i32)).is_err());
    // What is in the cache left the window earlier, so that its ids come first.
    displaced.iter().filter_map(|&id| usize::try_from(id).ok()).chain(leaving).collect()
}

/// See [`crate::layer::LayerKind::replay_state`].
pub(super) fn replay(setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(StateAt<'_>) -> bool) -> bool {
    let (Some(admitted), Some(displaced)) = (trace.channel("admitted"), trace.channel("displaced")) else { return true };
    let (config, steps) = (Config::new(setup), admitted.len().min(displaced.len()));
    if steps == 0 || kv_head >= admitted.heads() {
        return true;
    }
    // The plan has been checked, so that the map's arrays fit.
    let Ok(map) = FeatureMap::<f64>::new(NAME, setup) else { return true };
    let stream = &setup.stream;
    let rows = (FEATURE_NUMBERS / map.dim()).max(1);
    let (keys, values) = (stream.keys_of(kv_head), stream.values().index_axis(Axis(0), kv_head));
    let mut state = Array2::<f64>::zeros((map.dim(), stream.value_dim()));
    let mut normaliser = Array1::<f64>::zeros(map.dim());
    for step in 0..steps {
        let ids = folded(&config, step, admitted.wholes_at(kv_head, step), displaced.wholes_at(kv_head, step));
        for ids in ids.chunks(rows) {
            let features = map.keys(kv_head, &keys.select(Axis(0), ids).mapv(f64::from).view());
            let values = values.select(Axis(0), ids).mapv(f64::from);
            general_mat_mul(1.0, &features.t(), &values, 1.0, &mut state);
            normaliser += &features.sum_axis(Axis(0));
        }
        // A write that a hand evicted is among the displaced.
        if hand::forgotten(&setup.hands, kv_head, step + 1) == Some(step + 1) {
            state.fill(0.0);
            normaliser.fill(0.0);
        }
        if !visit(StateAt { chunks: step + 1, state: state.view(), normaliser: normaliser.as_slice() }) {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::lola::config::{Recorded, Score};

    #[test]
    fn what_leaves_the_window_is_folded_unless_it_was_admitted() {
        let config =
            Config { window: 3, cache: 2, chunk: 4, beta: 1.0, score: Score::Sre, writes: 10, kv_heads: 1, recorded: Recorded::All };
        // Step 1 takes the writes 1 to 4 out of the window; 3 enters the cache for 0.
        assert_eq!(folded(&config, 1, &[3], &[0]), [0, 1, 2, 4]);
        assert_eq!(folded(&config, 0, &[0], &[]), [] as [usize; 0]);
    }
}
