//! Keyframes: a lane's states every so many chunks, so that any state can be had by restoring one and replaying few chunks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::layer::{LayerKind, Setup, Snapshot};

/// What a replay between two keyframes may take, in seconds: of the 16 ms that a state may take in all, the rest is for
/// taking the snapshot, sending it and drawing it.
const REPLAY_SECONDS: f64 = 8e-3;
/// Bytes of keyframes a lane may hold; beyond it every other one is dropped.
const LANE_BYTES: usize = 256 << 20;
/// Multiply-adds a second before anything was measured: low, so that the first keyframes lie close.
const CPU_MADDS: f64 = 1e9;
/// The same on a GPU.
const GPU_MADDS: f64 = 2e10;

/// The keyframes of one lane.
#[derive(Debug)]
pub struct Keyframes {
    kept: BTreeMap<usize, Arc<Snapshot>>,
    /// Chunks between two keyframes; always a power of two, so that a wider spacing's keyframes are among a narrower's.
    every: usize,
    /// The distance that the limit has forced.
    least: usize,
    bytes: usize,
    limit: usize,
}

impl Keyframes {
    /// None yet, at the distance that the layer's cost suggests.
    pub fn new(kind: &dyn LayerKind, setup: &Setup, gpu: bool) -> Self {
        let heads = setup.stream.kv_heads() as f64;
        let madds = kind.cost(setup).write_madds as f64 * setup.chunk as f64 * heads;
        let mut keyframes = Self { kept: BTreeMap::new(), every: 1, least: 1, bytes: 0, limit: LANE_BYTES };
        keyframes.adapt(madds.max(1.0) / if gpu { GPU_MADDS } else { CPU_MADDS });
        keyframes
    }

    /// Sets the distance by what a chunk was seen to take, in seconds. Keyframes that lie closer stay.
    pub fn adapt(&mut self, seconds_per_chunk: f64) {
        let fits = (REPLAY_SECONDS / seconds_per_chunk.max(1e-9)).clamp(1.0, 1e6) as usize;
        // The largest power of two that is not above `fits`.
        self.every = (1 << fits.ilog2()).max(self.least);
    }

    /// The first position after `position` at which a keyframe is to be taken.
    pub fn next_due(&self, position: usize) -> usize {
        (position / self.every + 1) * self.every
    }

    /// True if a keyframe is to be taken at `position` and there is none.
    pub fn is_due(&self, position: usize) -> bool {
        position.is_multiple_of(self.every) && !self.kept.contains_key(&position)
    }

    /// Keeps a state. Over the limit the distance doubles and what lies between is dropped; the start stays.
    pub fn keep(&mut self, snapshot: Arc<Snapshot>) {
        self.bytes += snapshot.bytes();
        if let Some(old) = self.kept.insert(snapshot.position, snapshot) {
            self.bytes -= old.bytes();
        }
        while self.bytes > self.limit && self.kept.len() > 2 {
            let every = self.every.saturating_mul(2);
            (self.every, self.least) = (every, every);
            self.kept.retain(|position, _| position.is_multiple_of(every));
            self.bytes = self.kept.values().map(|s| s.bytes()).sum();
        }
    }

    /// The last keyframe at or before `position`.
    pub fn before(&self, position: usize) -> Option<&Arc<Snapshot>> {
        self.kept.range(..=position).next_back().map(|(_, snapshot)| snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::StateArray;
    use crate::trace::Values;

    fn snapshot(position: usize, numbers: usize) -> Arc<Snapshot> {
        let values = Values::F32(vec![0.0; numbers]);
        Arc::new(Snapshot { position, arrays: vec![StateArray { name: "state", shape: vec![numbers], values }] })
    }

    fn empty(every: usize, limit: usize) -> Keyframes {
        Keyframes { kept: BTreeMap::new(), every, least: 1, bytes: 0, limit }
    }

    #[test]
    fn a_chunk_of_one_millisecond_gets_a_keyframe_every_eight() {
        let mut keyframes = empty(1, usize::MAX);
        keyframes.adapt(1e-3);
        assert_eq!((keyframes.next_due(0), keyframes.next_due(7), keyframes.next_due(8)), (8, 8, 16));
        keyframes.adapt(1.1e-3);
        assert_eq!(keyframes.next_due(0), 4);
        // Slower than the budget: every chunk is a keyframe, and no replay is needed at all.
        keyframes.adapt(0.1);
        assert_eq!(keyframes.next_due(5), 6);
    }

    #[test]
    fn over_the_limit_every_other_one_goes_and_the_start_stays() {
        let mut keyframes = empty(1, 40);
        for position in 0..=10 {
            keyframes.keep(snapshot(position, 1));
        }
        // Ten states of four bytes are the limit; the eleventh leaves 0, 2, 4, 6, 8, 10.
        assert_eq!(keyframes.kept.keys().copied().collect::<Vec<_>>(), [0, 2, 4, 6, 8, 10]);
        assert_eq!((keyframes.bytes, keyframes.next_due(10)), (24, 12));
        assert_eq!(keyframes.before(5).map(|s| s.position), Some(4));
        // A faster measurement does not undo what the limit has forced.
        keyframes.adapt(1.0);
        assert!(!keyframes.is_due(11) && keyframes.is_due(12) && !keyframes.is_due(10));
    }

    #[test]
    fn keeping_a_position_again_counts_once() {
        let mut keyframes = empty(1, usize::MAX);
        keyframes.keep(snapshot(3, 5));
        keyframes.keep(snapshot(3, 5));
        assert_eq!(keyframes.bytes, 20);
    }
}
