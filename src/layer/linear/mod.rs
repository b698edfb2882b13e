//! Linear attention: a state of fixed size that adds up what is written. It forgets nothing outright and blurs everything.
//!
//! LAYERS.md, "Baselines"; Katharopoulos et al., arXiv 2006.16236. With a [feature map](super::feature) phi of D features:
//!
//! ```text
//! H = sum_i phi(k_i) v_i^T  [D, dv]      s = sum_i phi(k_i)  [D]
//! read: phi(q)^T H / (phi(q)^T s + 1e-6)
//! ```
//!
//! A read sees exactly the first `after` writes: those of earlier blocks through the state, those of its own block one by
//! one. What the layer returns does not depend on the chunk but for rounding.

mod cpu;
mod gpu;

use std::sync::Arc;

use ndarray::s;

use super::effective::{Effective, ReadOf, Store};
use super::feature::{self, FEATURES, FMAP, FeatureMap, PROJECTION, SEED, SHARPNESS};
use super::full::{BETA, trace};
use super::real::EPSILON;
use super::{Cost, Layer, LayerError, LayerKind, Precision, Setup, check_sizes};
use crate::gpu::GpuStream;
use crate::param::{ParamError, ParamSpec, Resolved};
use crate::trace::{ChannelSpec, LaneTrace};

/// The name of the kind.
const NAME: &str = "linear";

static PARAMS: &[ParamSpec] = &[FMAP, SHARPNESS, FEATURES, PROJECTION, SEED, BETA];

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

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        vec![trace::outputs(setup.stream.value_dim(), "What each read returns: phi(q)^T H / (phi(q)^T s + 1e-6).")]
    }

    fn cost(&self, setup: &Setup) -> Cost {
        // `check` has found the arrays to fit.
        let d = feature::feature_dim(NAME, setup).unwrap_or(setup.stream.key_dim());
        let numbers = (d * (setup.stream.value_dim() + 1)) as u64;
        let phi = feature::map_madds(NAME, setup);
        Cost { state_numbers: numbers, write_madds: numbers + phi, read_madds: numbers + phi }
    }

    /// The weight of write i is `phi(q).phi(k_i) / (phi(q).s + 1e-6)`.
    fn effective(&self, setup: &Setup, _trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        let (stream, map) = (&setup.stream, FeatureMap::<f64>::new(NAME, setup).ok()?);
        let (head, after) = (stream.kv_head_of(read.query_head), stream.after()[read.read] as usize);
        let mut weights = map.products(read.query_head, read.query, head, &stream.keys_of(head).slice(s![..after, ..]));
        let whole = weights.iter().sum::<f64>() + EPSILON;
        for w in &mut weights {
            *w /= whole;
        }
        Some(Effective { weights, stores: vec![Store::State; after] })
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        Ok(match precision {
            Precision::Single => Box::new(cpu::LinearCpu::<f32>::new(setup)?),
            Precision::Double => Box::new(cpu::LinearCpu::<f64>::new(setup)?),
        })
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(Box::new(gpu::LinearGpu::new(setup, stream)?))
    }
}
