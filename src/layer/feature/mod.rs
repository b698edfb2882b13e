//! Feature maps: phi(x), dk -> D numbers, with which linear attention and `LoLA` replace `exp(beta q.k)` by phi(q).phi(k).
//!
//! LAYERS.md, "Baselines". With z = beta q.k:
//!
//! - `elu1`: elu(x) + 1, D = dk (Katharopoulos et al., arXiv 2006.16236).
//! - `relu`: max(x, 0), D = dk.
//! - `hedgehog`: [softmax(x W), softmax(-x W)], D = 2 d for W [dk, d]; W = sharpness x identity until weights are loaded
//!   (arXiv 2402.04347).
//! - `taylor2`: [1, sqrt(beta) x, beta / sqrt 2 (x outer x)], D = 1 + dk + dk^2: phi(q).phi(k) = 1 + z + z^2 / 2
//!   (arXiv 2402.18668).
//! - `favor`: `exp(sqrt(beta) w_j.x - beta |x|^2 / 2) / sqrt(m)`, j = 1..m: its mean over Gaussian rows w is exp(z)
//!   (arXiv 2009.14794). The rows are drawn in blocks of dk that are orthogonal to each other, or independently (`projection`).

mod directions;
pub mod gpu;
mod product;

use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut1, Axis, concatenate, s};

use super::real::Real;
use super::{LayerError, Setup, named_array};
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::task::random::Draw;

/// `fmap`: which map.
pub const FMAP: ParamSpec = ParamSpec {
    name: "fmap",
    title: "feature map",
    doc: "The map phi whose dot products stand in for exp(beta q.k).",
    kind: ParamKind::Choice {
        options: &[
            ("elu1", "elu(x) + 1: as many features as the key has numbers"),
            ("relu", "max(x, 0): as many features as the key has numbers"),
            ("hedgehog", "softmax of x W and of -x W: twice as many features; W is learned, or sharpness times the identity"),
            ("taylor2", "second-order Taylor expansion of exp(beta q.k): 1 + dk + dk^2 features"),
            ("favor", "positive random features, right on average: as many as `features` says"),
        ],
    },
};

/// `sharpness`: W of Hedgehog where no weights are loaded.
pub const SHARPNESS: ParamSpec = ParamSpec {
    name: "sharpness",
    title: "sharpness",
    doc: "Hedgehog without learned weights: W is this times the identity. 20 suits keys of length 1.",
    kind: ParamKind::Float { min: 0.0, max: 1000.0, default: 1.0, log: true },
};

/// `features`: m of FAVOR+.
pub const FEATURES: ParamSpec = ParamSpec {
    name: "features",
    title: "random features m",
    doc: "FAVOR+: how many random directions are drawn. More of them, less noise. A given projection overrides it.",
    kind: ParamKind::Int { min: 1, max: 4096, default: 128, log: true },
};

/// `projection`: how FAVOR+'s directions are drawn.
pub const PROJECTION: ParamSpec = ParamSpec {
    name: "projection",
    title: "directions",
    doc: "FAVOR+: how the random directions are drawn. A given projection overrides it.",
    kind: ParamKind::Choice {
        options: &[
            (
                "orthogonal",
                "in blocks of dk that are orthogonal to each other, with the lengths of independent Gaussian rows: as right on average, and less noise",
            ),
            ("gaussian", "independent Gaussian rows"),
        ],
    },
};

/// `seed`: of whatever the layer draws.
pub const SEED: ParamSpec = ParamSpec {
    name: "seed",
    title: "seed",
    doc: "The seed of whatever this layer draws: the random directions of FAVOR+, the scores of a cache that is left to chance.",
    kind: ParamKind::Int { min: 0, max: i64::MAX, default: 0, log: false },
};

/// Whether one of this module's parameters has any effect with the map that `params` choose; true for any other name.
#[must_use]
pub fn applies(name: &str, params: &Resolved) -> bool {
    match name {
        "sharpness" => params.choice("fmap") == "hedgehog",
        "features" | "seed" | "projection" => params.choice("fmap") == "favor",
        _ => true,
    }
}

/// The most numbers that the linear states of all heads may hold together (1 GiB of float32).
pub const MAX_STATE_NUMBERS: usize = 1 << 28;

/// Which feature map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// elu(x) + 1.
    Elu1,
    /// max(x, 0).
    Relu,
    /// [softmax(x W), softmax(-x W)].
    Hedgehog,
    /// Second-order Taylor expansion of the exponential.
    Taylor2,
    /// Positive random features.
    Favor,
}

impl Map {
    /// The map that the parameter `fmap` names.
    #[must_use]
    pub fn of(setup: &Setup) -> Self {
        match setup.params.choice(FMAP.name) {
            "relu" => Self::Relu,
            "hedgehog" => Self::Hedgehog,
            "taylor2" => Self::Taylor2,
            "favor" => Self::Favor,
            _ => Self::Elu1,
        }
    }
}

/// A feature map with all it needs, in precision `R`.
#[derive(Debug, Clone)]
pub struct FeatureMap<R> {
    map: Map,
    dk: usize,
    beta: f64,
    sharpness: R,
    /// FAVOR+: [m, dk].
    projection: Option<Array2<R>>,
    /// Hedgehog: [heads or 1, dk, d], for queries and for keys.
    weights: Option<[Array3<R>; 2]>,
}

impl<R: Real> FeatureMap<R> {
    /// The map that a layer's parameters and arrays describe (`fmap`, `sharpness`, `features`, `seed`, the logit scale;
    /// `projection`, `weights_q`, `weights_k`). `layer` names the layer in messages.
    ///
    /// # Errors
    /// [`LayerError::Array`] if an array has the wrong shape, or only one of the two Hedgehog weights is given.
    pub fn new(layer: &'static str, setup: &Setup) -> Result<Self, LayerError> {
        let map = Map::of(setup);
        let dk = setup.stream.key_dim();
        let projection = match map {
            Map::Favor => Some(projection(layer, setup)?.mapv(R::from_f32)),
            _ => None,
        };
        let weights = match map {
            Map::Hedgehog => weights(layer, setup)?.map(|w| w.map(|a| a.mapv(R::from_f32))),
            _ => None,
        };
        Ok(Self { map, dk, beta: setup.beta(), sharpness: R::from_f64(setup.params.float(SHARPNESS.name)), projection, weights })
    }

    /// Which map.
    #[must_use]
    pub fn map(&self) -> Map {
        self.map
    }

    /// Features, D.
    #[must_use]
    pub fn dim(&self) -> usize {
        let d = self.weights.as_ref().map(|w| w[0].dim().2);
        dim(self.map, self.dk, self.projection.as_ref().map_or(0, Array2::nrows), d)
    }

    /// phi of keys [n, dk] of key/value head `head`: [n, D].
    #[must_use]
    pub fn keys(&self, head: usize, keys: &ArrayView2<'_, R>) -> Array2<R> {
        self.apply(keys, self.weights.as_ref().map(|w| head_of(&w[1], head)))
    }

    /// phi of queries [n, dk] of query head `head`: [n, D].
    #[must_use]
    pub fn queries(&self, head: usize, queries: &ArrayView2<'_, R>) -> Array2<R> {
        self.apply(queries, self.weights.as_ref().map(|w| head_of(&w[0], head)))
    }

    fn apply(&self, x: &ArrayView2<'_, R>, weights: Option<ArrayView2<'_, R>>) -> Array2<R> {
        match self.map {
            Map::Elu1 => x.mapv(|x| if x > R::zero() { x + R::one() } else { x.exp() }),
            Map::Relu => x.mapv(|x| x.max(R::zero())),
            Map::Hedgehog => hedgehog(&weights.map_or_else(|| x.mapv(|x| x * self.sharpness), |w| x.dot(&w))),
            Map::Taylor2 => taylor2(x, self.beta),
            Map::Favor => self.projection.as_ref().map_or_else(|| x.to_owned(), |p| favor(x, p, self.beta)),
        }
    }
}

fn head_of<R>(weights: &Array3<R>, head: usize) -> ArrayView2<'_, R> {
    weights.index_axis(Axis(0), if weights.dim().0 == 1 { 0 } else { head })
}

fn dim(map: Map, dk: usize, m: usize, hedgehog: Option<usize>) -> usize {
    match map {
        Map::Elu1 | Map::Relu => dk,
        Map::Hedgehog => 2 * hedgehog.unwrap_or(dk),
        Map::Taylor2 => 1 + dk + dk * dk,
        Map::Favor => m,
    }
}

/// Features, D, of the map that `setup` describes.
///
/// # Errors
/// [`LayerError::Array`] as [`FeatureMap::new`].
pub fn feature_dim(layer: &'static str, setup: &Setup) -> Result<usize, LayerError> {
    let map = Map::of(setup);
    let (m, d) = match map {
        Map::Favor => (projection_rows(layer, setup)?, None),
        Map::Hedgehog => (0, weights(layer, setup)?.map(|w| w[0].dim().2)),
        _ => (0, None),
    };
    Ok(dim(map, setup.stream.key_dim(), m, d))
}

/// Multiply-adds of phi of one key or query beyond one a feature: the product with learned weights or random directions.
#[must_use]
pub fn map_madds(layer: &'static str, setup: &Setup) -> u64 {
    let dk = setup.stream.key_dim();
    let columns = match Map::of(setup) {
        Map::Favor => projection_rows(layer, setup).unwrap_or(0),
        Map::Hedgehog => weights(layer, setup).ok().flatten().map_or(0, |w| w[0].dim().2),
        Map::Elu1 | Map::Relu | Map::Taylor2 => 0,
    };
    (dk * columns) as u64
}

/// Checks that the linear states of all heads together, D (dv + 1) numbers each, stay within [`MAX_STATE_NUMBERS`], and
/// that the arrays fit.
///
/// # Errors
/// [`ParamError::Conflict`] that names the map, its features and the limit.
pub fn check(layer: &'static str, setup: &Setup) -> Result<(), ParamError> {
    let d = feature_dim(layer, setup).map_err(|e| setup.params.conflict(FMAP.name, e.to_string()))?;
    let (heads, dv) = (setup.stream.kv_heads(), setup.stream.value_dim());
    let numbers = heads * d * (dv + 1);
    if numbers <= MAX_STATE_NUMBERS {
        return Ok(());
    }
    let reason =
        format!("its {d} features make a state of {heads} heads x {d} x ({dv} + 1) = {numbers} numbers; at most {MAX_STATE_NUMBERS}");
    Err(setup.params.conflict(FMAP.name, reason))
}

fn projection_rows(layer: &'static str, setup: &Setup) -> Result<usize, LayerError> {
    if setup.arrays.contains_key("projection") {
        return Ok(projection(layer, setup)?.nrows());
    }
    Ok(setup.params.size(FEATURES.name))
}

/// FAVOR+'s directions [m, dk]: the array `projection`, or `features` rows drawn with `seed` as the parameter `projection` says.
///
/// # Errors
/// [`LayerError::Array`] if the array given has the wrong shape.
pub fn projection(layer: &'static str, setup: &Setup) -> Result<Array2<f32>, LayerError> {
    let dk = setup.stream.key_dim();
    if let Some(given) = setup.arrays.get("projection") {
        let expected = format!("[m, {dk}]");
        let found = format!("but found {:?}", given.shape());
        let wrong = LayerError::Array { layer, name: "projection", expected, found };
        return match given.clone().into_dimensionality::<ndarray::Ix2>() {
            Ok(p) if p.ncols() == dk && p.nrows() > 0 => Ok(p),
            _ => Err(wrong),
        };
    }
    let mut draw = Draw::apart(setup.params.int(SEED.name).unsigned_abs(), "favor");
    let rows = setup.params.size(FEATURES.name);
    let drawn = match setup.params.choice(PROJECTION.name) {
        "gaussian" => draw.normals(rows, dk),
        _ => directions::orthogonal(&mut draw, rows, dk),
    };
    Ok(drawn.mapv(|x| x as f32))
}

/// Hedgehog's weights for queries and keys, each [heads or 1, dk, d], if they are given.
///
/// # Errors
/// [`LayerError::Array`] if a shape is wrong or one of the two is missing.
pub fn weights(layer: &'static str, setup: &Setup) -> Result<Option<[Array3<f32>; 2]>, LayerError> {
    let (stream, arrays) = (&setup.stream, &setup.arrays);
    let q = named_array(arrays, layer, "weights_q", stream.query_heads(), stream.key_dim(), None)?;
    let columns = q.as_ref().map(|w| w.dim().2);
    let k = named_array(arrays, layer, "weights_k", stream.kv_heads(), stream.key_dim(), columns)?;
    let missing =
        |name| LayerError::Array { layer, name, expected: "[heads or 1, dk, d]".to_owned(), found: "but it is missing".to_owned() };
    match (q, k) {
        (Some(q), Some(k)) => Ok(Some([q, k])),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(missing("weights_q")),
        (Some(_), None) => Err(missing("weights_k")),
    }
}

/// [softmax(z), softmax(-z)] of each row.
fn hedgehog<R: Real>(z: &Array2<R>) -> Array2<R> {
    let mut out = concatenate![Axis(1), z.view(), z.mapv(|z| -z).view()];
    let d = z.ncols();
    for mut row in out.rows_mut() {
        softmax(row.slice_mut(s![..d]));
        softmax(row.slice_mut(s![d..]));
    }
    out
}

/// In place, with the maximum taken out so that nothing overflows.
fn softmax<R: Real>(mut row: ArrayViewMut1<'_, R>) {
    let top = row.iter().copied().fold(R::neg_infinity(), R::max);
    row.mapv_inplace(|z| (z - top).exp());
    let sum: R = row.iter().copied().sum();
    row.mapv_inplace(|e| e / sum);
}

fn taylor2<R: Real>(x: &ArrayView2<'_, R>, beta: f64) -> Array2<R> {
    let dk = x.ncols();
    let (first, second) = (R::from_f64(beta.sqrt()), R::from_f64(beta / std::f64::consts::SQRT_2));
    let mut out = Array2::zeros((x.nrows(), 1 + dk + dk * dk));
    for (x, mut row) in x.rows().into_iter().zip(out.rows_mut()) {
        row[0] = R::one();
        for (i, &a) in x.iter().enumerate() {
            row[1 + i] = first * a;
            for (j, &b) in x.iter().enumerate() {
                row[1 + dk + i * dk + j] = second * (a * b);
            }
        }
    }
    out
}

fn favor<R: Real>(x: &ArrayView2<'_, R>, projection: &Array2<R>, beta: f64) -> Array2<R> {
    let root = R::from_f64(beta.sqrt());
    let half = R::from_f64(0.5 * beta);
    let scale = R::from_f64((projection.nrows() as f64).sqrt());
    let mut out = x.dot(&projection.t());
    for (x, mut row) in x.rows().into_iter().zip(out.rows_mut()) {
        let square = half * x.dot(&x);
        row.mapv_inplace(|z| (root * z - square).exp() / scale);
    }
    out
}

#[cfg(test)]
mod tests;
