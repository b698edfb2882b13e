//! What the views of `LoLA`'s memories share: who is where, the scores of the candidates.

use crate::app::facts::Index;
use crate::layer::lola::residency::Residency;
use crate::panel::Look;
use crate::panel::common::{chunk_noun, chunks_seen, lanes_with};
use crate::session::hand::{self, Act};
use crate::trace::LaneTrace;

/// The lanes that keep a window, a cache and a state.
pub(in crate::panel) fn lanes(look: &Look<'_>, channels: &[&str]) -> Vec<usize> {
    lanes_with(look, &["admitted", "displaced"])
        .into_iter()
        .filter(|&l| look.lanes[l].plan.kind.params().iter().any(|p| p.name == "window"))
        .filter(|&l| channels.iter().all(|c| look.lanes[l].trace.channel(c).is_some()))
        .collect()
}

/// What hands did to the cache of a lane's head at the end of a step, to be said beside what the update did: ` By hand after it: evict
/// token 702.` Empty where they did nothing.
#[must_use]
pub(in crate::panel) fn by_hand(look: &Look<'_>, lane: usize, head: usize, step: usize) -> String {
    let here = hand::at_step(&look.lanes[lane].plan.setup.hands, step + 1);
    let trace = look.lanes[lane].trace;
    let words = |h: &hand::Hand| match h.what {
        // A hand that finds nothing does nothing.
        Act::Evict { write } if !hand::evicted(trace, head, write, step) => format!("{} (it was not in the cache)", h.what),
        what => what.to_string(),
    };
    let all: Vec<String> = here.iter().filter(|h| h.kv_head == head).map(words).collect();
    if all.is_empty() { String::new() } else { format!(" By hand after it: {}.", all.join(", ")) }
}

/// One lane's residency and the channels beside it.
#[derive(Clone, Copy)]
pub(in crate::panel) struct Held<'a> {
    pub index: &'a Residency,
    pub trace: &'a LaneTrace,
    pub lane: usize,
    pub head: usize,
    /// Chunks at the playhead.
    pub chunks: usize,
    /// Writes in a chunk.
    pub chunk: usize,
}

/// Gathers what the views of a lane draw.
pub(in crate::panel) fn held<'a>(index: &'a mut Index, look: &Look<'a>, lane: usize) -> Option<Held<'a>> {
    let (index, head) = index.of(look, lane)?;
    let chunks = chunks_seen(look, lane).min(index.steps());
    Some(Held { index, trace: look.lanes[lane].trace, lane, head, chunks, chunk: look.lanes[lane].plan.setup.chunk })
}

impl Held<'_> {
    /// What the lane's chunks are called: `step` where they are the steps of the timeline, else `chunk`.
    pub fn noun(&self, look: &Look<'_>) -> &'static str {
        chunk_noun(look.plan, look.lanes[self.lane].plan)
    }

    /// The score of a candidate in a step, where it is recorded.
    pub fn score(&self, token: usize, step: usize) -> Option<f64> {
        let (ids, scores) = (self.trace.channel("candidates")?, self.trace.channel("candidate_scores")?);
        let place = ids.wholes_at(self.head, step).binary_search(&(token as i32)).ok()?;
        scores.values(self.head).get(scores.range(self.head, step).start + place)
    }

    /// The admission threshold after a step, once the cache is full.
    pub fn threshold(&self, step: usize) -> Option<f64> {
        self.trace.channel("threshold")?.values(self.head).get(step).filter(|t| !t.is_nan())
    }

    /// Pairs in the cache after so many chunks.
    pub fn cached(&self, chunks: usize) -> usize {
        let count = chunks.checked_sub(1).and_then(|s| self.trace.channel("cached_count")?.values(self.head).get(s));
        count.map_or(0, |n| n as usize)
    }

    /// Pairs in the window, the cache and the state after so many chunks, and those that were forgotten with the state.
    pub fn occupancy(&self, chunks: usize) -> [usize; 4] {
        let folded = |chunks: usize| self.index.window_range(chunks).start.saturating_sub(self.cached(chunks));
        // All that was folded by then, what had been forgotten before among it.
        let forgotten = self.index.last_forgotten(chunks).map_or(0, folded);
        [self.index.window_range(chunks).len(), self.cached(chunks), folded(chunks).saturating_sub(forgotten), forgotten]
    }

    /// True if a hand forgets the state of this head at some step: then what was in it has a place in legends.
    pub fn forgets(&self) -> bool {
        !self.index.forgets().is_empty()
    }
}
