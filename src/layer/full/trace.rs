//! The one channel of the layers without choices: what every read returns.

use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, Width};

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
