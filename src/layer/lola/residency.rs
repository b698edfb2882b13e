//! Where a write is, at any step: derived from the two lists of events that a LoLA lane records, for panels and tests.
//!
//! The trace holds no table of tokens by steps (that would be T x S numbers). It holds, per step, the ids that entered the
//! cache (`admitted`) and those folded from it into the state (`displaced`). With the window, which is a matter of
//! arithmetic, they say where every write is at every step: the index below is built once in O(T), extended as the trace
//! grows, and answers in O(1). When the state was forgotten is no event of the trace: the lane's hands say it.

use crate::session::hand::{Act, Hand};
use crate::trace::Channel;

/// Which of LoLA's three memories holds a write, if one does.
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
    /// It was in the state when a hand forgot it: nowhere any more.
    Gone,
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
    /// After how many chunks the state was forgotten, ascending.
    forgets: Vec<usize>,
}

impl Residency {
    /// An index that has seen no step yet, for a stream of `writes` tokens and a lane with this `window` and `chunk`
    /// (both in tokens; a chunk of 0 counts as 1).
    #[must_use]
    pub fn new(window: usize, chunk: usize, writes: usize) -> Self {
        Self { window, chunk: chunk.max(1), steps: 0, entered: vec![NEVER; writes], left: vec![NEVER; writes], forgets: Vec::new() }
    }

    /// The same, of a lane with these hands: what was in the state of this head when one of them forgot it is [`Place::Gone`].
    #[must_use]
    pub fn with_hands(mut self, hands: &[Hand], kv_head: usize) -> Self {
        self.forgets = hands.iter().filter(|h| h.kv_head == kv_head && h.what == Act::Forget).map(|h| h.step).collect();
        self.forgets.sort_unstable();
        self
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
        } else if self.forgotten(write).is_some_and(|at| at <= chunks_done) {
            Place::Gone
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
            Place::State => self.folded(write),
            Place::Gone => self.forgotten(write),
        }
    }

    /// Where `write` comes to in the steps indexed so far, in order: each place with the number of chunks after which it is there.
    pub fn life(&self, write: usize) -> impl Iterator<Item = (usize, Place)> + '_ {
        let moves = [
            (Some(write / self.chunk + 1), Place::Window),
            (self.entered(write).map(|step| step + 1), Place::Cache),
            (self.folded(write), Place::State),
            (self.forgotten(write), Place::Gone),
        ];
        // A window of nothing, or a hand in the step of the folding, leaves a place out; what lies after the last step has not happened.
        moves.into_iter().filter_map(move |(after, place)| after.filter(|a| self.at(write, *a) == place).map(|a| (a, place)))
    }

    /// The number of chunks after which `write` is in the state, where it comes into it as far as is known; with a forgotten state it is
    /// nowhere from [`Residency::forgotten`] on.
    #[must_use]
    pub fn folded(&self, write: usize) -> Option<usize> {
        match (self.entered(write), self.left(write)) {
            (_, Some(left)) => Some(left + 1),
            (Some(_), None) => None,
            (None, None) => Some(self.leaves_window(write) + 1),
        }
    }

    /// The number of chunks after which `write` was forgotten with the state that it was in, or will be.
    #[must_use]
    pub fn forgotten(&self, write: usize) -> Option<usize> {
        if self.forgets.is_empty() {
            return None;
        }
        // A hand acts on what the update before it left: what was folded in that update goes with the rest.
        let folded = self.folded(write)?;
        self.forgets.iter().copied().find(|at| *at >= folded)
    }

    /// After how many chunks the state was forgotten, ascending.
    #[must_use]
    pub fn forgets(&self) -> &[usize] {
        &self.forgets
    }

    /// After how many chunks the state was forgotten last, seen from `chunks_done` of them.
    #[must_use]
    pub fn last_forgotten(&self, chunks_done: usize) -> Option<usize> {
        self.forgets.iter().copied().rfind(|at| *at <= chunks_done)
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
        needed.div_ceil(self.chunk).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn what_was_in_a_forgotten_state_is_nowhere() {
        // As above, and the state is forgotten after two chunks: 1 is in it then, 0 and 3 come into it later.
        let forget = |step, kv_head| Hand { step, kv_head, what: Act::Forget };
        let mut index = Residency::new(2, 2, 7).with_hands(&[forget(2, 0), forget(3, 1)], 0);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        assert_eq!((0..4).map(|w| index.at(w, 2)).collect::<Vec<_>>(), [Place::Cache, Place::Gone, Place::Window, Place::Window]);
        index.push(&[2], &[0]);
        assert_eq!((0..4).map(|w| index.at(w, 3)).collect::<Vec<_>>(), [Place::State, Place::Gone, Place::Cache, Place::State]);
        assert_eq!((index.since(1, 2), index.since(1, 3), index.since(0, 3)), (Some(2), Some(2), Some(3)));
        assert_eq!((index.folded(1), index.forgotten(1), index.forgotten(0), index.folded(2)), (Some(2), Some(2), None, None));
        assert_eq!((index.last_forgotten(1), index.last_forgotten(2), index.last_forgotten(9)), (None, Some(2), Some(2)));
    }

    proptest! {
        /// A life tells of each place from when on: between its moves the token stays.
        #[test]
        fn a_life_says_where_a_write_is(
            (window, chunk, steps) in (0_usize..6, 1_usize..5, 1_usize..8),
            entered in proptest::collection::vec(0_usize..8, 24),
            stays in proptest::collection::vec(1_usize..5, 24),
            forget in 0_usize..12,
        ) {
            let writes = chunk * steps;
            let hand = Hand { step: forget, kv_head: 0, what: Act::Forget };
            let mut index = Residency::new(window, chunk, writes).with_hands(&[hand], 0);
            // A write may enter the cache in the step in which it leaves the window.
            let enters = |w: usize| entered[w % 24] % 2 == 0 && w + window < writes;
            let enter = |w: usize| (w + window + 1).div_ceil(chunk) - 1;
            for step in 0..steps {
                let of = |test: &dyn Fn(usize) -> bool| (0..writes).filter(|w| enters(*w) && test(*w)).map(|w| w as i32).collect::<Vec<_>>();
                index.push(&of(&|w| enter(w) == step), &of(&|w| enter(w) + stays[w % 24] == step));
            }
            for write in 0..writes {
                let life: Vec<_> = index.life(write).collect();
                prop_assert!(life.is_sorted_by_key(|(after, _)| *after));
                for chunks in 0..=steps {
                    let told = life.iter().rev().find(|(after, _)| *after <= chunks).map_or(Place::NotYet, |(_, place)| *place);
                    prop_assert_eq!(told, index.at(write, chunks), "write {} after {} chunks: {:?}", write, chunks, life);
                }
            }
        }
    }
}
