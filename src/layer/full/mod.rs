//! Full attention: softmax over everything written so far. It forgets nothing, and holds everything.
//!
//! LAYERS.md, "Baselines". A read q that may see the first `after` writes returns
//!
//! ```text
//! sum_i e^(beta q.k_i) v_i / sum_i e^(beta q.k_i),   i < after
//! ```
//!
//! The largest logit is taken out of both sums. Neither implementation holds a T x T table: both walk over the keys in
//! tiles and carry, for each read, the largest logit so far, the normaliser and the numerator ("online softmax"). Tiles
//! lie at fixed places of the stream, so a read's answer does not depend, bit for bit, on the reads beside it.
//!
//! [Sliding window](super::window) attention is the same over the last `window` of those writes, and shares the code here.

pub(in crate::layer) mod cpu;
pub(in crate::layer) mod effective;
pub(in crate::layer) mod gpu;
pub(in crate::layer) mod trace;

use std::sync::Arc;

use super::effective::{Effective, ReadOf};
use super::{Cost, Layer, LayerError, LayerKind, Precision, Setup, Snapshot, check_sizes};
use crate::gpu::GpuStream;
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::stream::Stream;
use crate::trace::{ChannelSpec, LaneTrace};

/// `beta`: the logit scale.
pub const BETA: ParamSpec = ParamSpec {
    name: "beta",
    title: "logit scale",
    doc: "What dot products q.k are multiplied with. Left alone: the stream's own.",
    kind: ParamKind::AutoFloat { min: 0.0, max: 1e4, auto: "the stream", log: true },
};

static PARAMS: &[ParamSpec] = &[BETA];

/// The kind `full`.
#[derive(Debug, Clone, Copy)]
pub struct FullKind;

impl LayerKind for FullKind {
    fn name(&self) -> &'static str {
        "full"
    }

    fn title(&self) -> &'static str {
        "Full attention"
    }

    fn about(&self) -> &'static str {
        "Softmax attention over every write so far: keeps all keys and values, forgets nothing, and costs more with every token. \
         What the other memories are measured against."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn chunk(&self, _params: &Resolved) -> Option<usize> {
        None
    }

    fn check(&self, setup: &Setup) -> Result<(), ParamError> {
        check_sizes(setup)
    }

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        vec![trace::outputs(setup.stream.value_dim(), "What each read returns: the softmax mean of all visible values.")]
    }

    fn cost(&self, setup: &Setup) -> Cost {
        let s = &setup.stream;
        let numbers = (s.writes() * (s.key_dim() + s.value_dim())) as u64;
        Cost { state_numbers: numbers, write_madds: 0, read_madds: numbers }
    }

    fn effective(&self, setup: &Setup, _trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        Some(effective::softmax(setup, None, read))
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        Ok(cpu::build(setup, None, precision))
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(Box::new(gpu::AttentionGpu::new(setup, stream, None)?))
    }
}

/// The writes that a read with this `after` attends to.
fn visible(window: Option<usize>, after: u32) -> std::ops::Range<usize> {
    let end = after as usize;
    window.map_or(0, |w| end.saturating_sub(w))..end
}

/// The position of a snapshot whose whole state is its position: the stream itself is the memory.
fn restored(snapshot: &Snapshot, stream: &Stream, chunk: usize) -> Result<usize, LayerError> {
    snapshot.check_position(stream, chunk)?;
    if !snapshot.arrays.is_empty() {
        return Err(LayerError::Restore("it is of another layer".to_owned()));
    }
    Ok(snapshot.position)
}

#[cfg(test)]
pub(in crate::layer) mod tests {
    use super::*;
    use crate::param::Params;
    use crate::stream::{Labels, StreamParts, Targets};
    use ndarray::Array3;

    /// A causal stream of one key/value head and two query heads, dk 3 and dv 2, with reads spread over it.
    pub(in crate::layer) fn setup(specs: &[ParamSpec], writes: usize, reads: usize) -> Setup {
        let wave = |heads, rows, columns| Array3::from_shape_fn((heads, rows, columns), |(h, i, d)| ((7 * h + 3 * i + 5 * d) as f32).sin());
        let stream = Stream::new(StreamParts {
            keys: wave(1, writes, 3),
            values: wave(1, writes, 2),
            queries: wave(2, reads, 3),
            after: (0..reads).map(|r| (1 + r * (writes - 1) / (reads - 1)) as u32).collect(),
            beta: 2.0,
            targets: Targets::None,
            labels: Labels::default(),
        })
        .unwrap();
        let params = Resolved::new("test", specs, &Params::default()).unwrap();
        Setup { stream: Arc::new(stream), params, arrays: Arc::default(), chunk: 100, hands: Arc::default() }
    }
}
