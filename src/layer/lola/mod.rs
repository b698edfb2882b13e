//! `LoLA`: a sliding window, a sparse cache of the pairs that are hard to recall, and a linear state for the rest.
//!
//! `McDermott`, Heath, Parhi, arXiv 2505.23666; LAYERS.md, "LoLA". With `cache` = 0 it is `LoLCATs` (arXiv 2410.10254).
//!
//! **Read.** Over `raw` (the writes not yet folded or cached, i < after) and the cached pairs, with phi a
//! [feature map](super::feature) and w = `linear_weight` (of each query head, where learned weights bring it):
//!
//! ```text
//! out = [ sum_raw e^(beta q.k_i) v_i + w phi(q)^T H ] / [ sum_raw e^(beta q.k_i) + w phi(q)^T s + 1e-6 ]
//! ```
//!
//! with m = max(0, largest logit) taken out of both parts, so e^(-m) multiplies w and the epsilon. The normaliser's three
//! terms (window, cache, state), as parts of the whole, say where an answer came from: the channel `shares`.
//!
//! **Update**, after every `chunk` writes. The writes older than the newest `window` leave the window; they and the cached
//! pairs are the candidates. Each is scored against the state *as it is before this update*; the `cache` largest scores
//! stay (equal scores: the older write), the others are folded in the order of their ids: H += phi(k) v^T, s += phi(k).
//!
//! The score is the self-recall error, SRE(k, v) = | phi(k)^T H / (phi(k)^T s + 1e-6) - v |^2, or for comparison the write's
//! index (first in, first out), chance, the attention received, or the feature map's error ([`config::Score`]). How many writes are where follows from the position alone ([`config::Step`]); which, from
//! the scores: see [`residency`].

pub mod config;
pub mod cpu;
mod effective;
pub mod gpu;
mod hand;
mod replay;
pub mod residency;
mod score;
pub mod trace;

use std::sync::Arc;

use crate::gpu::GpuStream;
use crate::layer::effective::{Effective, ReadOf};
use crate::layer::feature::{self, FEATURES, FMAP, PROJECTION, SEED, SHARPNESS};
use crate::layer::handed::handed;
use crate::layer::replay::StateAt;
use crate::layer::{Cost, Derived, Layer, LayerError, LayerKind, Precision, Setup, check_sizes};
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::session::hand::Hand;
use crate::trace::{ChannelSpec, LaneTrace};

use config::Config;

/// The layer's name.
pub const NAME: &str = "lola";

/// The kind `lola`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LolaKind;

static PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "window",
        title: "window",
        doc: "How many of the newest pairs are kept whole, whatever they are.",
        kind: ParamKind::Int { min: 0, max: 131_072, default: 64, log: true },
    },
    ParamSpec {
        name: "cache",
        title: "cache",
        doc: "How many older pairs are kept whole because the linear state recalls them badly. 0 is LoLCATs.",
        kind: ParamKind::Int { min: 0, max: 16_384, default: 128, log: true },
    },
    ParamSpec {
        name: "chunk",
        title: "chunk",
        doc: "Writes between two updates of cache and state. 1 is token by token, the paper's generation mode.",
        kind: ParamKind::Int { min: 1, max: 1024, default: 64, log: true },
    },
    ParamSpec {
        name: "beta",
        title: "logit scale",
        doc: "The factor on q.k in the window and the cache, and in the maps taylor2 and favor.",
        kind: ParamKind::AutoFloat { min: 0.0, max: 1e4, auto: "the stream's logit scale", log: true },
    },
    FMAP,
    SHARPNESS,
    FEATURES,
    PROJECTION,
    SEED,
    ParamSpec {
        name: "score",
        title: "cache score",
        doc: "What decides which candidates stay in the cache: those with the largest score.",
        kind: ParamKind::Choice {
            options: &[
                ("sre", "self-recall error: how badly the linear state returns the pair's own value for its own key"),
                ("fifo", "the write's index: the newest stay, whatever they are (first in, first out)"),
                ("random", "a number drawn once for each pair, by `seed`"),
                ("attention", "the softmax weight that the pair has received from all reads while it was kept whole: heavy hitters stay"),
                (
                    "kernel",
                    "mean squared error of phi(q).phi(k) as e^(beta q.k) over the chunk's queries; 0 for all in a chunk without one",
                ),
            ],
        },
    },
    ParamSpec {
        name: "linear_weight",
        title: "state weight",
        doc: "The factor w on the linear state's part of a read: (1 - g) / g of a LoLCATs gate g.",
        kind: ParamKind::AutoFloat { min: 0.0, max: config::MAX_WEIGHT, auto: "the weights file's, else 1", log: true },
    },
];

impl LayerKind for LolaKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "LoLA"
    }

    fn about(&self) -> &'static str {
        "Keeps the newest pairs in a sliding window, the pairs that its linear state recalls worst in a sparse cache, and \
         everything else in that state. What is odd is kept whole, what is common is compressed. Without the cache it is \
         LoLCATs. McDermott, Heath, Parhi, arXiv 2505.23666."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn applies(&self, name: &str, params: &Resolved) -> bool {
        feature::applies(name, params) || (name == "seed" && params.choice("score") == "random")
    }

    fn in_use(&self, setup: &Setup, name: &str, query_head: usize) -> Option<f64> {
        match name {
            "beta" => Some(setup.beta()),
            "linear_weight" => Config::linear_weights(setup).ok()?.get(query_head).copied(),
            _ => None,
        }
    }

    fn chunk(&self, params: &Resolved) -> Option<usize> {
        Some(params.size("chunk"))
    }

    fn check(&self, setup: &Setup) -> Result<(), ParamError> {
        check_sizes(setup)?;
        feature::check(NAME, setup)?;
        Config::linear_weights(setup).map(|_| ()).map_err(|e| setup.params.conflict("linear_weight", e.to_string()))
    }

    fn check_hand(&self, setup: &Setup, hand: &Hand) -> Result<(), String> {
        hand::check(setup, hand)
    }

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        trace::channels(setup)
    }

    fn cost(&self, setup: &Setup) -> Cost {
        Config::new(setup).cost(setup)
    }

    fn derived(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize) -> Vec<Derived> {
        trace::derived(&Config::new(setup), trace, kv_head)
    }

    fn effective(&self, setup: &Setup, trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        effective::of(setup, trace, read)
    }

    fn replay_state(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(StateAt<'_>) -> bool) -> bool {
        replay::replay(setup, trace, kv_head, visit)
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        let layer: Box<dyn Layer> = match precision {
            Precision::Single => Box::new(cpu::Lola::<f32>::new(setup)?),
            Precision::Double => Box::new(cpu::Lola::<f64>::new(setup)?),
        };
        Ok(handed(layer, setup, hand::lay))
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(handed(Box::new(gpu::Lola::new(setup, stream)?), setup, hand::lay))
    }
}

#[cfg(test)]
mod tests;
