//! The state through a whole run, made again from the stream in float64, write by write.

use ndarray::s;

use super::Config;
use crate::layer::Setup;
use crate::layer::replay::StateAt;
use crate::session::hand;
use crate::trace::LaneTrace;

/// See [`crate::layer::LayerKind::replay_state`].
pub(super) fn replay(
    config: &Config,
    setup: &Setup,
    trace: &LaneTrace,
    kv_head: usize,
    visit: &mut dyn FnMut(StateAt<'_>) -> bool,
) -> bool {
    let chunks = trace.channel("state_norm").map_or(0, crate::trace::Channel::len);
    let stream = &*setup.stream;
    if kv_head >= stream.kv_heads() {
        return true;
    }
    let (dk, dv) = (stream.key_dim(), stream.value_dim());
    let mut state = vec![0.0_f64; dk * dv];
    let mut change = vec![0.0_f64; dv];
    for chunk in 0..chunks {
        for write in stream.chunk_range(setup.chunk, chunk) {
            let key = stream.keys().slice(s![kv_head, write, ..]);
            let scale = config.scale(key);
            let (decay, rate) = (config.decay::<f64>(stream, kv_head, write), config.rate::<f64>(stream, kv_head, write));
            change.iter_mut().zip(stream.values().slice(s![kv_head, write, ..])).for_each(|(to, &v)| *to = f64::from(v));
            for (row, &k) in state.chunks_exact_mut(dv).zip(key) {
                for (x, c) in row.iter_mut().zip(change.iter_mut()) {
                    *x *= decay;
                    if config.rule.erases() {
                        *c -= scale * f64::from(k) * *x;
                    }
                }
            }
            for (row, &k) in state.chunks_exact_mut(dv).zip(key) {
                for (x, c) in row.iter_mut().zip(&change) {
                    *x += rate * scale * f64::from(k) * c;
                }
            }
        }
        if hand::forgotten(&setup.hands, kv_head, chunk + 1) == Some(chunk + 1) {
            state.fill(0.0);
        }
        let Ok(view) = ndarray::ArrayView2::from_shape((dk, dv), &state) else { return true };
        if !visit(StateAt { chunks: chunk + 1, state: view, normaliser: None }) {
            break;
        }
    }
    true
}
