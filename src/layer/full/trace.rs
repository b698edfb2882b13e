//! The one channel of the layers without choices: what every read returns.

use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, Width};

/// `read_normaliser` `[R]` of each query head: the sum that a read of a linear state divides by, or its part of it.
pub(in crate::layer) fn read_normaliser(meaning: &'static str) -> ChannelSpec {
    ChannelSpec {
        name: "read_normaliser",
        title: "normaliser of the read",
        meaning,
        unit: "1",
        width: Width::Fixed(1),
        // A sum of many terms: rounding is in proportion to it.
        tolerance: Tolerance::Near { abs: 1e-4, rel: 1e-4 },
        ..outputs(1, meaning)
    }
}

/// The place of `outputs` in the list of channels.
pub(in crate::layer) const OUTPUTS: usize = 0;

/// `outputs` [R, dv] of each query head.
///
/// The tolerance is LAYERS.md's: 1e-4 on values of unit scale, in proportion on larger ones.
pub(in crate::layer) fn outputs(dv: usize, meaning: &'static str) -> ChannelSpec {
    ChannelSpec {
        name: "outputs",
        title: "output",
        meaning,
        unit: "value units",
        axis: Axis::Read,
        heads: Heads::Query,
        width: Width::Fixed(dv),
        kind: Kind::Real,
        tolerance: Tolerance::Near { abs: 1e-4, rel: 1e-4 },
    }
}
