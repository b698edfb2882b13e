//! VQ attention (Transformer-VQ): a codebook that is fitted beforehand and never moves.
//!
//! Lingle, arXiv 2309.16354; LAYERS.md, "Baselines". Keys and queries are unit vectors. Every visible key, the newest too, is
//! replaced by its nearest code (largest dot product; of equal ones the lower code). A code holds the running mean of the
//! values of its members and their count, and a read is softmax over `beta q.code + log count` of the codes in use, applied to
//! those means: the same as softmax over `beta q.code(k_i)`, i < after, applied to the values themselves. So within a chunk the
//! writes before `after` count one by one, and the chunk has no say in what a read returns.
//!
//! The codebook `codebook` [heads or 1, N, dk] is fitted with seeded k-means on a *different* sample of the same source
//! (`fit.rs`): that it cannot follow this stream is the point of the comparison. The state is N (dk + dv + 1) numbers.

mod cpu;
mod effective;
mod fit;
mod gpu;
mod kmeans;
mod replay;
mod state;
mod trace;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ndarray::Array3;

use super::effective::{Effective, ReadOf};
use super::fit::{FitError, Fitted, Samples};
use super::replay::DictionaryAt;
use super::{Cost, Derived, Layer, LayerError, LayerKind, Precision, Setup, check_sizes, named_array};
use crate::gpu::GpuStream;
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::trace::{ChannelSpec, LaneTrace};

/// The name of the codebook among the setup's arrays.
const CODEBOOK: &str = "codebook";
/// The most keys that a codebook is fitted on.
const MAX_KEYS: usize = 16_384;

/// The kind `vq`.
#[derive(Debug, Clone, Copy)]
pub struct VqKind;

static PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "codes",
        title: "codes N",
        doc: "Codes in the codebook. Memory and time of a read grow with it.",
        kind: ParamKind::Int { min: 1, max: 16_384, default: 512, log: true },
    },
    ParamSpec {
        name: "fit",
        title: "fitted on",
        doc: "The keys that the codebook is fitted on, before the stream begins; never those it is then asked to stand for (but see `part`).",
        kind: ParamKind::Choice {
            options: &[
                ("auto", "another draw of a task; of a capture another head if the file has one, else another part"),
                ("draw", "another draw of the task: the same parameters, another seed"),
                ("head", "another key/value head of the capture's layer"),
                ("part", "tokens that the stream leaves out; where it leaves too few out, its own first half"),
            ],
        },
    },
    ParamSpec {
        name: "iterations",
        title: "iterations",
        doc: "How often k-means moves the codes, at most: it stops when no key changes its code.",
        kind: ParamKind::Int { min: 1, max: 25, default: 10, log: false },
    },
    ParamSpec {
        name: "seed",
        title: "seed",
        doc: "Draws the keys on which the codes start. Left alone: the session's.",
        kind: ParamKind::Int { min: 0, max: i64::MAX, default: 0, log: false },
    },
    ParamSpec {
        name: "beta",
        title: "logit scale",
        doc: "What dot products are multiplied with before the softmax. Left alone: the stream's own.",
        kind: ParamKind::AutoFloat { min: 1e-3, max: 1e4, auto: "the stream", log: true },
    },
];

/// The codebook [heads or 1, N, dk].
///
/// # Errors
/// If there is none, or it has another shape.
fn codebook(setup: &Setup) -> Result<Array3<f32>, LayerError> {
    let stream = &setup.stream;
    let rows = codes(setup);
    named_array(&setup.arrays, "vq", CODEBOOK, stream.kv_heads(), rows, Some(stream.key_dim()))?.ok_or_else(|| LayerError::Array {
        layer: "vq",
        name: CODEBOOK,
        expected: format!("[{} or 1, {rows}, {}]", stream.kv_heads(), stream.key_dim()),
        found: "but there is none".to_owned(),
    })
}

/// N: the rows of the codebook, or the parameter while there is none.
fn codes(setup: &Setup) -> usize {
    let rows = |array: &ndarray::ArrayD<f32>| array.ndim().checked_sub(2).map(|axis| array.shape()[axis]);
    setup.arrays.get(CODEBOOK).and_then(rows).unwrap_or_else(|| setup.params.size("codes"))
}

impl LayerKind for VqKind {
    fn name(&self) -> &'static str {
        "vq"
    }

    fn title(&self) -> &'static str {
        "VQ attention"
    }

    fn about(&self) -> &'static str {
        "Vector-quantised attention with a fixed codebook: every key is replaced by its nearest code, and a code keeps the mean of its \
         values and their count. The codebook is fitted beforehand, with k-means on other keys of the same source, and cannot follow \
         the stream. What it forgets: everything that keys of one code differ in. Transformer-VQ, Lingle, arXiv 2309.16354."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    /// The largest dot product is the nearest code only among vectors of one length.
    fn wants_unit_vectors(&self) -> bool {
        true
    }

    fn chunk(&self, _params: &Resolved) -> Option<usize> {
        None
    }

    fn check(&self, setup: &Setup) -> Result<(), ParamError> {
        check_sizes(setup)?;
        if setup.arrays.contains_key(CODEBOOK) {
            let rows = codes(setup);
            if !(1..=16_384).contains(&rows) {
                return Err(setup.params.conflict("codes", format!("the codebook given has {rows} codes, from 1 to 16384 can be used")));
            }
            codebook(setup).map_err(|e| setup.params.conflict("codes", e.to_string()))?;
        }
        Ok(())
    }

    fn fit(&self, setup: &Setup, samples: &dyn Samples, cancel: &AtomicBool) -> Result<Fitted, FitError> {
        fit::fit(setup, samples, cancel)
    }

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        trace::channels(setup.stream.value_dim())
    }

    fn cost(&self, setup: &Setup) -> Cost {
        let (dk, dv) = (setup.stream.key_dim() as u64, setup.stream.value_dim() as u64);
        let n = codes(setup) as u64;
        Cost {
            state_numbers: n * (dk + dv + 1),
            // Similarity to every code, then one mean moved.
            write_madds: n * dk + dv,
            // Logits and values of every code there may be in use.
            read_madds: n * (dk + dv),
        }
    }

    fn derived(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize) -> Vec<Derived> {
        trace::derived(setup, trace, kv_head)
    }

    fn effective(&self, setup: &Setup, trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        effective::effective(setup, trace, read)
    }

    fn replay_dictionary(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(DictionaryAt<'_>) -> bool) -> bool {
        replay::replay(setup, trace, kv_head, visit)
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        let book = codebook(setup)?;
        Ok(match precision {
            Precision::Single => Box::new(cpu::VqCpu::<f32>::new(setup, &book)),
            Precision::Double => Box::new(cpu::VqCpu::<f64>::new(setup, &book)),
        })
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(Box::new(gpu::VqGpu::new(setup, &codebook(setup)?, stream)?))
    }
}
