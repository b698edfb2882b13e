//! Linear attention: a state of fixed size that adds up what is written. It forgets nothing outright and blurs everything.
//!
//! LAYERS.md, "Baselines"; Katharopoulos et al., arXiv 2006.16236. With a [feature map](super::feature) phi of D features:
//!
//! ```text
//! H = sum_i phi(k_i) v_i^T  [D, dv]      s = sum_i phi(k_i)  [D]
//! read: phi(q)^T H / (phi(q)^T s + 1e-6)
//! ```
//!
//! The epsilon can be set, and moved to where it does harm: added to the mean of phi(q)^T s over the t writes seen it is t times as
//! much in the sum (LAYERS.md, "Traps others fell into").
//!
//! A read sees exactly the first `after` writes: those of earlier blocks through the state, those of its own block one by
//! one. What the layer returns does not depend on the chunk but for rounding.

mod cpu;
mod gpu;
mod replay;

use std::sync::Arc;

use ndarray::s;

use super::effective::{Effective, ReadOf, Store};
use super::feature::{self, FEATURES, FMAP, FeatureMap, PROJECTION, SEED, SHARPNESS};
use super::full::{BETA, trace};
use super::handed::{clear, handed};
use super::real::{EPSILON, Real};
use super::replay::StateAt;
use super::{Cost, Layer, LayerError, LayerKind, Precision, Setup, Snapshot, cannot, check_sizes};
use crate::gpu::GpuStream;
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::session::hand::{self, Act, Hand};
use crate::trace::{ChannelSpec, LaneTrace, TraceBlock};

/// The place of `read_normaliser` in the list of channels.
const NORMALISER: usize = 1;

/// The name of the kind.
const NAME: &str = "linear";

static PARAMS: &[ParamSpec] = &[
    FMAP,
    SHARPNESS,
    FEATURES,
    PROJECTION,
    SEED,
    BETA,
    ParamSpec {
        name: "epsilon",
        title: "epsilon",
        doc: "Added to the normaliser, so that an empty state divides by something. Where it is not small against phi(q)^T s, it pulls outputs to 0.",
        kind: ParamKind::Float { min: 1e-12, max: 100.0, default: EPSILON, log: true },
    },
    ParamSpec {
        name: "epsilon_at",
        title: "epsilon added to",
        doc: "Where the epsilon stands. Added to a mean it is a trap: it grows with the stream.",
        kind: ParamKind::Choice {
            options: &[
                ("sum", "the sum over the t writes seen: phi(q)^T s + epsilon"),
                ("mean", "their mean: phi(q)^T s / t + epsilon, which is t epsilon in the sum (an ablation)"),
            ],
        },
    },
];

/// What is added to the sum phi(q)^T s of a read that sees `after` writes, under parameters of this layer.
///
/// Added to the mean over the writes seen, (H / t) / (s / t + epsilon) is H / (s + t epsilon).
#[must_use]
pub fn epsilon(params: &Resolved, after: usize) -> f64 {
    Epsilon::of(params).of_sum(after as u32)
}

/// The epsilon and where it stands.
#[derive(Debug, Clone, Copy)]
struct Epsilon {
    value: f64,
    of_mean: bool,
}

impl Epsilon {
    fn of(params: &Resolved) -> Self {
        Self { value: params.float("epsilon"), of_mean: params.choice("epsilon_at") == "mean" }
    }

    /// What it is in the sum over the `after` writes that a read sees.
    fn of_sum<R: Real>(self, after: u32) -> R {
        let value = R::from_f64(self.value);
        if self.of_mean { value * R::from_f64(f64::from(after)) } else { value }
    }
}

/// The kind `linear`.
#[derive(Debug, Clone, Copy)]
pub struct LinearKind;

impl LayerKind for LinearKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Linear attention"
    }

    fn about(&self) -> &'static str {
        "Keeps one matrix, the sum of phi(k) v^T over all writes, and divides by the sum of phi(k): constant memory, but every new \
         token is added on top of the old ones, and reads return mixtures. Katharopoulos et al., arXiv 2006.16236."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn applies(&self, name: &str, params: &Resolved) -> bool {
        // The logit scale is part of these two maps alone.
        (name != "beta" || matches!(params.choice("fmap"), "taylor2" | "favor")) && feature::applies(name, params)
    }

    fn chunk(&self, _params: &Resolved) -> Option<usize> {
        None
    }

    fn check(&self, setup: &Setup) -> Result<(), ParamError> {
        check_sizes(setup)?;
        feature::check(NAME, setup)
    }

    fn check_hand(&self, _setup: &Setup, hand: &Hand) -> Result<(), String> {
        if hand.what == Act::Forget { Ok(()) } else { Err(cannot(self.title(), hand)) }
    }

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        vec![
            trace::outputs(
                setup.stream.value_dim(),
                "What each read returns: phi(q)^T H / (phi(q)^T s + epsilon), the epsilon 1e-6 unless set.",
            ),
            trace::read_normaliser("What each read is divided by, but for the epsilon: phi(q)^T s over the writes that it sees."),
        ]
    }

    fn cost(&self, setup: &Setup) -> Cost {
        // `check` has found the arrays to fit.
        let d = feature::feature_dim(NAME, setup).unwrap_or(setup.stream.key_dim());
        let numbers = (d * (setup.stream.value_dim() + 1)) as u64;
        let phi = feature::map_madds(NAME, setup);
        Cost { state_numbers: numbers, write_madds: numbers + phi, read_madds: numbers + phi }
    }

    /// The weight of write i is `phi(q).phi(k_i) / (phi(q).s + epsilon)`.
    fn effective(&self, setup: &Setup, _trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        let (stream, map) = (&setup.stream, FeatureMap::<f64>::new(NAME, setup).ok()?);
        let (head, after) = (stream.kv_head_of(read.query_head), stream.after()[read.read] as usize);
        let mut weights = map.products(read.query_head, read.query, head, &stream.keys_of(head).slice(s![..after, ..]));
        // What was forgotten before the read's chunk began is in neither sum.
        let gone = hand::forgotten(&setup.hands, head, (after - 1) / setup.chunk).map_or(0, |step| step * setup.chunk);
        weights[..gone].fill(0.0);
        let whole = weights.iter().sum::<f64>() + epsilon(&setup.params, after);
        for w in &mut weights {
            *w /= whole;
        }
        let mut stores = vec![Store::State; after];
        stores[..gone].fill(Store::Gone);
        Some(Effective { weights, stores })
    }

    fn replay_state(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(StateAt<'_>) -> bool) -> bool {
        replay::replay(setup, trace, kv_head, visit)
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        let layer: Box<dyn Layer> = match precision {
            Precision::Single => Box::new(cpu::LinearCpu::<f32>::new(setup)?),
            Precision::Double => Box::new(cpu::LinearCpu::<f64>::new(setup)?),
        };
        Ok(handed(layer, setup, lay))
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(handed(Box::new(gpu::LinearGpu::new(setup, stream)?), setup, lay))
    }
}

/// `Forget`: H and s of the head are zero.
#[allow(clippy::unnecessary_wraps, reason = "what every layer that hands act on has: others can fail")]
fn lay(_setup: &Setup, hand: &Hand, state: &mut Snapshot, _written: &mut TraceBlock) -> Result<(), LayerError> {
    if hand.what == Act::Forget {
        clear(state, "state", hand.kv_head);
        clear(state, "normaliser", hand.kv_head);
    }
    Ok(())
}
