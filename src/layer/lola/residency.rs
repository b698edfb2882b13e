//! Where a write is, at any step: derived from the two lists of events that a LoLA lane records, for panels and tests.
//!
//! The trace holds no table of tokens by steps (that would be T x S numbers). It holds, per step, the ids that entered the
//! cache (`admitted`) and those folded from it into the state (`displaced`). With the window, which is a matter of
//! arithmetic, they say where every write is at every step: the index below is built once in O(T), extended as the trace
//! grows, and answers in O(1).

use crate::trace::Channel;

/// Which of LoLA's three memories holds a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Not written yet, or the trace has not come that far.
    NotYet,
    /// Raw, in the sliding window (or in the chunk just written).
    Window,
    /// Whole, in the sparse cache.
    Cache,
    /// Folded into the linear state; nothing returns from there.
    State,
}

/// No event: a step that is never reached.
const NEVER: u32 = u32::MAX;

/// The index of one key/value head. See the module's page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residency {
    window: usize,
    chunk: usize,
    steps: usize,
    entered: Vec<u32>,
    left: Vec<u32>,
}

impl Residency {
    /// An index that has seen no step yet, for a stream of `writes` tokens and a lane with this `window` and `chunk`
    /// (both in tokens; a chunk of 0 counts as 1).
    #[must_use]
    pub fn new(window: usize, chunk: usize, writes: usize) -> Self {
        Self { window, chunk: chunk.max(1), steps: 0, entered: vec![NEVER; writes], left: vec![NEVER; writes] }
    }

    /// Reads the steps that the channels `admitted` and `displaced` of one head have gained since the last call.
    ///
    /// Ids outside the stream are passed over; a layer writes none.
    pub fn extend(&mut self, admitted: &Channel, displaced: &Channel, kv_head: usize) {
        for step in self.steps..admitted.len().min(displaced.len()) {
            self.push(admitted.wholes_at(kv_head, step), displaced.wholes_at(kv_head, step));
        }
    }

    /// Adds one step's events: the ids that entered the cache and those folded from it.
    pub fn push(&mut self, admitted: &[i32], displaced: &[i32]) {
        let step = self.steps as u32;
        for (ids, table) in [(admitted, &mut self.entered), (displaced, &mut self.left)] {
            for &id in ids {
                if let Some(slot) = usize::try_from(id).ok().and_then(|id| table.get_mut(id)) {
                    *slot = step;
                }
            }
        }
        self.steps += 1;
    }

    /// Steps indexed so far.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Where `write` is when `chunks_done` chunks have been written and their updates made.
    #[must_use]
    pub fn at(&self, write: usize, chunks_done: usize) -> Place {
        if chunks_done > self.steps || write >= self.written(chunks_done) {
            Place::NotYet
        } else if write >= self.outside_window(chunks_done) {
            Place::Window
        } else if (self.entered[write] as usize) < chunks_done && (self.left[write] as usize) >= chunks_done {
            Place::Cache
        } else {
            Place::State
        }
    }

    /// The number of chunks after which `write` came to where it is after `chunks_done` of them; `None` where it is not
    /// written yet.
    #[must_use]
    pub fn since(&self, write: usize, chunks_done: usize) -> Option<usize> {
        match self.at(write, chunks_done) {
            Place::NotYet => None,
            Place::Window => Some(write / self.chunk + 1),
            Place::Cache => Some(self.entered[write] as usize + 1),
            Place::State if self.left[write] != NEVER => Some(self.left[write] as usize + 1),
            Place::State => Some(self.leaves_window(write) + 1),
        }
    }

    /// The step at which `write` entered the cache, if it has.
    #[must_use]
    pub fn entered(&self, write: usize) -> Option<usize> {
        self.entered.get(write).filter(|&&s| s != NEVER).map(|&s| s as usize)
    }

    /// The step at which `write` was folded from the cache into the state, if it was.
    #[must_use]
    pub fn left(&self, write: usize) -> Option<usize> {
        self.left.get(write).filter(|&&s| s != NEVER).map(|&s| s as usize)
    }

    /// The writes in the window after `chunks_done` chunks.
    #[must_use]
    pub fn window_range(&self, chunks_done: usize) -> std::ops::Range<usize> {
        self.outside_window(chunks_done)..self.written(chunks_done)
    }

    fn written(&self, chunks_done: usize) -> usize {
        chunks_done.saturating_mul(self.chunk).min(self.entered.len())
    }

    fn outside_window(&self, chunks_done: usize) -> usize {
        self.written(chunks_done).saturating_sub(self.window)
    }

    /// The step whose update takes `write` out of the window, if the stream is long enough: the first after which
    /// more than `write + window` tokens are written.
    fn leaves_window(&self, write: usize) -> usize {
        let needed = (write + self.window + 1).min(self.entered.len());
        needed.div_ceil(self.chunk) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_passes_from_window_to_cache_to_state() {
        // Window 2, chunk 2: after chunk 1 the writes 0 and 1 leave the window. 0 is cached, 1 folded; then 2 takes 0's place.
        let mut index = Residency::new(2, 2, 7);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        assert_eq!((0..4).map(|w| index.at(w, 1)).collect::<Vec<_>>(), [Place::Window, Place::Window, Place::NotYet, Place::NotYet]);
        assert_eq!((0..4).map(|w| index.at(w, 2)).collect::<Vec<_>>(), [Place::Cache, Place::State, Place::Window, Place::Window]);
        assert_eq!(index.at(0, 3), Place::NotYet, "the trace has not come that far");
        index.push(&[2], &[0]);
        assert_eq!((0..4).map(|w| index.at(w, 3)).collect::<Vec<_>>(), [Place::State, Place::State, Place::Cache, Place::State]);
        assert_eq!((0..6).map(|w| index.since(w, 3)).collect::<Vec<_>>(), [Some(3), Some(2), Some(3), Some(3), Some(3), Some(3)]);
        // The stream ends with a chunk of one: only write 4 leaves the window.
        index.push(&[], &[]);
        assert_eq!(index.window_range(4), 5..7);
        assert_eq!((index.at(4, 4), index.since(4, 4)), (Place::State, Some(4)));
        assert_eq!((index.entered(0), index.left(0), index.entered(1)), (Some(1), Some(2), None));
    }
}
