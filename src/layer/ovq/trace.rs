//! What OVQ writes of its run: its channels, and the arrays that are made from them.

use super::Counting;
use crate::layer::{Derived, Setup};
use crate::session::hand::Act;
use crate::trace::{Along, Axis, ChannelSpec, Heads, Kind, LaneTrace, Tolerance, Values, Width};

/// Places of the channels in [`channels`].
pub(super) const OUTPUTS: usize = 0;
pub(super) const ASSIGNMENTS: usize = 1;
pub(super) const SIMILARITY: usize = 2;
pub(super) const IS_NEW: usize = 3;
pub(super) const ASSIGN_MARGIN: usize = 4;
pub(super) const SELECT_MARGIN: usize = 5;
pub(super) const SIZES: usize = 6;

/// The most numbers for which [`derived`] lays `counts` out in full (512 MiB); beyond, it is left to its channels.
const COUNTS_LIMIT: usize = 1 << 27;

/// The channels, in the order of their places.
pub(super) fn channels(dv: usize) -> Vec<ChannelSpec> {
    let near = |abs| Tolerance::Near { abs, rel: 0.0 };
    let base = ChannelSpec {
        name: "outputs",
        title: "output",
        meaning: "What each read returns: softmax over centroids (with log count) and the chunk's own pairs, applied to their values.",
        unit: "value units",
        axis: Axis::Read,
        heads: Heads::Query,
        width: Width::Fixed(dv),
        kind: Kind::Real,
        tolerance: near(1e-4),
    };
    let of_write = ChannelSpec { axis: Axis::Write, heads: Heads::KeyValue, width: Width::Fixed(1), ..base.clone() };
    let of_step = ChannelSpec { axis: Axis::Step, ..of_write.clone() };
    vec![
        base,
        ChannelSpec {
            name: "assignments",
            title: "centroid",
            meaning: "The dictionary row each write went to: its nearest centroid before the chunk, or the row it founded.",
            unit: "row",
            kind: Kind::Whole,
            tolerance: Tolerance::Choice { margin: Some("assign_margin") },
            ..of_write.clone()
        },
        ChannelSpec {
            name: "similarity",
            title: "similarity",
            meaning: "Dot product k.Dk of each write's key with its nearest centroid before the chunk (first chunk: with the first key).",
            unit: "1",
            tolerance: near(1e-5),
            ..of_write.clone()
        },
        ChannelSpec {
            name: "is_new",
            title: "founder",
            meaning: "1 where the write founded a row of the dictionary.",
            unit: "flag",
            kind: Kind::Whole,
            tolerance: Tolerance::Choice { margin: Some("select_margin") },
            ..of_write.clone()
        },
        ChannelSpec {
            name: "assign_margin",
            title: "assignment margin",
            meaning: "Similarity to the nearest centroid minus that to the second nearest; infinite where there is no second.",
            unit: "1",
            tolerance: near(2e-5),
            ..of_write
        },
        ChannelSpec {
            name: "select_margin",
            title: "founding margin",
            meaning: "Gap in similarity between the last write of the chunk that founded a row and the first that did not (of farthest-point founding the smallest such gap of its rounds); infinite where all or none did, and where chance decides.",
            unit: "1",
            tolerance: near(2e-5),
            ..of_step.clone()
        },
        ChannelSpec {
            name: "sizes",
            title: "rows in use",
            meaning: "Dictionary rows in use, n, after the chunk.",
            unit: "rows",
            kind: Kind::Whole,
            tolerance: Tolerance::Choice { margin: None },
            ..of_step
        },
    ]
}

/// `sizes` with the reference's leading 0, [S + 1], and `counts` after each chunk, [S, N].
pub(super) fn derived(setup: &Setup, trace: &LaneTrace, kv_head: usize) -> Vec<Derived> {
    let (Some(sizes), Some(assignments)) = (trace.channel("sizes"), trace.channel("assignments")) else { return Vec::new() };
    let steps = sizes.len();
    let n_max = setup.params.size("n_max");
    let with_start: Vec<i32> = std::iter::once(0).chain(sizes.wholes(kv_head).iter().copied()).collect();
    let mut all = vec![Derived {
        name: "sizes",
        meaning: "Dictionary rows in use: 0 at the start, then after each chunk.",
        unit: "rows",
        axes: &[Along::Ends],
        shape: vec![steps + 1],
        values: Values::I32(with_start),
    }];
    let counting = Counting::of(&setup.params);
    if steps.saturating_mul(n_max) <= COUNTS_LIMIT {
        let mut counts = vec![0_i32; steps * n_max];
        for step in 0..steps {
            let (before, now) = counts.split_at_mut(step * n_max);
            let row = &mut now[..n_max];
            if let Some(last) = before.len().checked_sub(n_max) {
                row.copy_from_slice(&before[last..]);
            }
            counting.add_chunk(row, &assignments.wholes(kv_head)[setup.stream.chunk_range(setup.chunk, step)]);
            // A row that a hand deletes here has lost its members.
            for hand in setup.hands.iter().filter(|h| h.step == step + 1 && h.kv_head == kv_head) {
                if let Act::Delete { row: dead } = hand.what {
                    row[dead] = 0;
                }
            }
        }
        all.push(Derived {
            name: "counts",
            meaning: "Writes assigned to each dictionary row so far, after each chunk; 0 for rows not in use, and for those that a hand has deleted.",
            unit: "tokens",
            axes: &[Along::Axis(Axis::Step), Along::Own("row")],
            shape: vec![steps, n_max],
            values: Values::I32(counts),
        });
    }
    all
}
