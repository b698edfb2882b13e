//! What the recurrent layers write of their run: outputs, the size of the state, and the delta rule's own error.

use super::{Config, Rule};
use crate::layer::Setup;
use crate::layer::full::trace::outputs;
use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, Width};

/// Places of the channels in [`channels`].
pub(super) const OUTPUTS: usize = 0;
pub(super) const STATE_NORM: usize = 1;
pub(super) const WRITE_ERROR: usize = 2;

/// What is near in proportion to [`bound`]: some 16 roundings of float32.
const ROUNDING: f64 = 1e-6;

/// The channels, in the order of their places.
pub(super) fn channels(config: &Config, setup: &Setup) -> Vec<ChannelSpec> {
    let mut output = outputs(setup.stream.value_dim(), "What each read returns: S^T q, with S as its last visible write left it.");
    let size = if config.rule == Rule::Mamba2 { bound(config, setup) } else { walk(config, setup) };
    output.tolerance = Tolerance::Near { abs: (ROUNDING * size).max(1e-4), rel: 1e-4 };
    let norm = ChannelSpec {
        name: "state_norm",
        title: "state norm",
        meaning: "Length |S| of the state after the chunk: the root of the sum of the squares of its numbers.",
        unit: "value units",
        axis: Axis::Step,
        heads: Heads::KeyValue,
        width: Width::Fixed(1),
        kind: Kind::Real,
        tolerance: Tolerance::Near { abs: 1e-4, rel: 1e-4 },
    };
    let error = ChannelSpec {
        name: "write_error",
        title: "write error",
        meaning: "|v - S^T k|: how far what the decayed state answers to a write's own key is from its value, just before the write.",
        axis: Axis::Write,
        tolerance: output.tolerance,
        ..norm.clone()
    };
    let mut all = vec![output, norm];
    if config.rule.erases() {
        all.push(error);
    }
    all
}

/// The size of the terms of a delta rule's output where some b is above 1: near 2 a write is a reflection, which shrinks nothing, so
/// that a column of S walks as far as independent steps of b max |v| do, and rounding is in proportion to it. 0 where every b
/// is at most 1: each write shrinks what it replaces.
fn walk(config: &Config, setup: &Setup) -> f64 {
    let s = &*setup.stream;
    let rates = (0..s.kv_heads()).flat_map(|head| (0..s.writes()).map(move |write| config.rate::<f64>(s, head, write)));
    let rate = rates.fold(0.0, f64::max);
    let value = s.values().iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    if rate > 1.0 { 4.0 * rate * (s.writes() as f64).sqrt() * f64::from(value) } else { 0.0 }
}

/// The largest that a number of Mamba-2's output can be: its terms may cancel, and rounding is in proportion to the terms.
///
/// A column of S is no longer than B, with `B <- a B + b |k| max |v|` write by write.
fn bound(config: &Config, setup: &Setup) -> f64 {
    let s = &*setup.stream;
    let length = |row: ndarray::ArrayView1<'_, f32>| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    let query = s.queries().rows().into_iter().map(length).fold(0.0, f64::max);
    let column = (0..s.kv_heads()).map(|head| {
        let (mut b, mut most) = (0.0_f64, 0.0_f64);
        for write in 0..s.writes() {
            let value = s.values().slice(ndarray::s![head, write, ..]).iter().fold(0.0_f32, |m, x| m.max(x.abs()));
            let key = length(s.keys().slice(ndarray::s![head, write, ..]));
            b = config.decay::<f64>(s, head, write) * b + config.rate::<f64>(s, head, write) * key * f64::from(value);
            most = most.max(b);
        }
        most
    });
    query * column.fold(0.0, f64::max)
}
