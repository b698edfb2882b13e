//! What VQ attention writes of its run. Codes go by the name of OVQ's `assignments`: both are the dictionary row that took a
//! write, and the panels draw both.

use ndarray::Axis as Dimension;

use super::CODEBOOK;
use crate::layer::{Derived, Setup};
use crate::trace::{Along, Axis, ChannelSpec, Heads, Kind, LaneTrace, Tolerance, Values, Width};

/// Places of the channels in [`channels`].
pub(super) const OUTPUTS: usize = 0;
pub(super) const ASSIGNMENTS: usize = 1;
pub(super) const SIMILARITY: usize = 2;
pub(super) const ASSIGN_MARGIN: usize = 3;
pub(super) const SIZES: usize = 4;

/// The channels, in the order of their places.
pub(super) fn channels(dv: usize) -> Vec<ChannelSpec> {
    let near = |abs| Tolerance::Near { abs, rel: 0.0 };
    let outputs = ChannelSpec {
        name: "outputs",
        title: "output",
        meaning: "What each read returns: softmax over the codes in use (with log count), applied to the means of their values.",
        unit: "value units",
        axis: Axis::Read,
        heads: Heads::Query,
        width: Width::Fixed(dv),
        kind: Kind::Real,
        tolerance: near(1e-4),
    };
    let of_write = ChannelSpec { axis: Axis::Write, heads: Heads::KeyValue, width: Width::Fixed(1), ..outputs.clone() };
    vec![
        outputs,
        ChannelSpec {
            name: "assignments",
            title: "code",
            meaning: "The code that stands for each write's key: the nearest of the codebook.",
            unit: "row",
            kind: Kind::Whole,
            tolerance: Tolerance::Choice { margin: Some("assign_margin") },
            ..of_write.clone()
        },
        ChannelSpec {
            name: "similarity",
            title: "similarity",
            meaning: "Dot product of each write's key with its code.",
            unit: "1",
            tolerance: near(1e-5),
            ..of_write.clone()
        },
        ChannelSpec {
            name: "assign_margin",
            title: "assignment margin",
            meaning: "Similarity to the nearest code minus that to the second nearest; infinite where there is one code.",
            unit: "1",
            tolerance: near(2e-5),
            ..of_write.clone()
        },
        ChannelSpec {
            name: "sizes",
            title: "codes in use",
            meaning: "Codes that stand for at least one write, after the step.",
            unit: "rows",
            axis: Axis::Step,
            kind: Kind::Whole,
            tolerance: Tolerance::Choice { margin: None },
            ..of_write
        },
    ]
}

/// The reference's `codes` `[T]`, and the codebook that the run was given [N, dk].
pub(super) fn derived(setup: &Setup, trace: &LaneTrace, kv_head: usize) -> Vec<Derived> {
    let mut all = Vec::new();
    if let Some(codes) = trace.channel("assignments") {
        let values = Values::I32(codes.wholes(kv_head).to_vec());
        let meaning = "The code of the codebook that stands for each write's key.";
        let axes = &[Along::Axis(Axis::Write)];
        all.push(Derived { name: "codes", meaning, unit: "row", axes, shape: vec![codes.len()], values });
    }
    if let Ok(book) = super::codebook(setup) {
        let own = book.index_axis(Dimension(0), kv_head.min(book.dim().0 - 1));
        let meaning = "The codebook, fitted before the stream began.";
        let (axes, values) = (&[Along::Own("row"), Along::Own("key component")], Values::F32(own.iter().copied().collect()));
        all.push(Derived { name: CODEBOOK, meaning, unit: "key units", axes, shape: own.shape().to_vec(), values });
    }
    all
}
