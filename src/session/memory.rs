//! How large a lane's trace will be, before it is computed.

use super::plan::PlanLane;
use crate::trace::{Axis, Width};

/// Bytes that the traces of all lanes of a run may hold together.
pub const MAX_TRACE_BYTES: u64 = 4 << 30;

/// Lists hold no more numbers than this over all steps and heads, or one a write where that is more: layers see to it
/// (LoLA records fewer candidates where all of them would be more).
const MAX_LISTED: u64 = 1 << 24;

/// Bytes of a number in a trace.
const NUMBER: u64 = 4;

impl PlanLane {
    /// Bytes that this lane's trace will hold at the end of the stream: exact for channels of fixed width; for lists an upper
    /// bound, as if every step listed its whole chunk and every row or cached pair, as far as layers allow that.
    #[must_use]
    pub fn trace_bytes(&self) -> u64 {
        self.channel_bytes().map(|(_, bytes)| bytes).sum()
    }

    /// How many entries a channel along this axis has once the lane's run is complete.
    #[must_use]
    pub fn entries(&self, axis: Axis) -> usize {
        let stream = &self.setup.stream;
        match axis {
            Axis::Write => stream.writes(),
            Axis::Read => stream.reads(),
            Axis::Step => stream.chunks(self.setup.chunk),
        }
    }

    /// The largest channel of the lane's trace and its bytes.
    pub(super) fn largest_channel(&self) -> Option<(&'static str, u64)> {
        self.channel_bytes().max_by_key(|(_, bytes)| *bytes)
    }

    fn channel_bytes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let stream = &self.setup.stream;
        let kept = self.kind.params().iter().filter(|p| ["n_max", "cache"].contains(&p.name)).map(|p| self.setup.params.size(p.name));
        let listed = (self.setup.chunk + kept.max().unwrap_or(0)).min(stream.writes());
        self.channels.iter().map(move |spec| {
            let heads = spec.heads.count(stream.kv_heads(), stream.query_heads());
            let entries = heads as u64 * self.entries(spec.axis) as u64;
            let numbers = match spec.width {
                Width::Fixed(width) => entries * width as u64,
                Width::Ragged => (entries * listed as u64).min(MAX_LISTED.max((heads * stream.writes()) as u64)),
            };
            (spec.name, numbers * NUMBER)
        })
    }
}

/// Bytes in words: `1.3 GiB`.
#[must_use]
pub fn in_words(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    units
        .iter()
        .find(|(size, _)| bytes >= *size)
        .map_or_else(|| format!("{bytes} bytes"), |(size, unit)| format!("{:.1} {unit}", bytes as f64 / *size as f64))
}
