//! Sliding-window attention: softmax over the last `window` writes. It forgets whatever is older, whole.
//!
//! LAYERS.md, "Baselines"; the code is that of [full attention](super::full), with a first visible write of
//! `after - window`.

use std::sync::Arc;

use super::effective::{Effective, ReadOf};
use super::full::{BETA, cpu, effective, gpu, trace};
use super::{Cost, Layer, LayerError, LayerKind, MAX_WRITES, Precision, Setup, check_sizes};
use crate::gpu::GpuStream;
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::trace::{ChannelSpec, LaneTrace};

static PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "window",
        title: "window",
        doc: "How many of the newest writes a read sees.",
        kind: ParamKind::Int { min: 1, max: MAX_WRITES as i64, default: 256, log: true },
    },
    BETA,
];

/// The kind `window`.
#[derive(Debug, Clone, Copy)]
pub struct WindowKind;

impl LayerKind for WindowKind {
    fn name(&self) -> &'static str {
        "window"
    }

    fn title(&self) -> &'static str {
        "Sliding window"
    }

    fn about(&self) -> &'static str {
        "Softmax attention over the newest writes alone: exact for what is recent, blind to everything before."
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
        vec![trace::outputs(setup.stream.value_dim(), "What each read returns: the softmax mean of the values in the window.")]
    }

    fn cost(&self, setup: &Setup) -> Cost {
        let s = &setup.stream;
        let numbers = (setup.params.size("window").min(s.writes()) * (s.key_dim() + s.value_dim())) as u64;
        Cost { state_numbers: numbers, write_madds: 0, read_madds: numbers }
    }

    fn effective(&self, setup: &Setup, _trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        Some(effective::softmax(setup, Some(setup.params.size("window")), read))
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        Ok(cpu::build(setup, Some(setup.params.size("window")), precision))
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(Box::new(gpu::AttentionGpu::new(setup, stream, Some(setup.params.size("window")))?))
    }
}
