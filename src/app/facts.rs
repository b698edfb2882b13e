//! What is known of one token in one lane, at the playhead: read from channels by name, said in words. No picture.
//!
//! Steps are counted from 0, as tokens are and as the exported trace has them: what happened in step 12 is seen when 13
//! steps are done.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use crate::layer::lola::residency::{Place, Residency};
use crate::panel::common::{chunk_name, chunk_short, head_of};
use crate::panel::{LaneLook, Look};
use crate::session::hand::{self, Act, Hand};
use crate::session::plan::Plan;

/// What the inspector says of a token in a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Where it is now, in a sentence.
    pub place: String,
    /// Names and values, in the order in which they are shown.
    pub rows: Vec<(String, String)>,
}

impl Facts {
    fn at(place: impl Into<String>) -> Self {
        Self { place: place.into(), rows: Vec::new() }
    }

    fn row(&mut self, name: &str, value: impl Into<String>) {
        self.rows.push((name.to_owned(), value.into()));
    }
}

/// The residency indices of the lanes, by lane and its key/value head; they grow with the traces.
#[derive(Debug, Default)]
pub struct Index {
    /// Weak, so that a run that is over is freed; its address is not used again while this lives.
    plan: Weak<Plan>,
    of_lane: BTreeMap<(usize, usize), Residency>,
}

impl Index {
    /// The index of lane number `number`, for the head shown, as far as its trace has come, and that head; `None` for a lane without a
    /// cache.
    pub fn of(&mut self, look: &Look<'_>, number: usize) -> Option<(&Residency, usize)> {
        let lane = look.lanes.get(number)?;
        let setup = &lane.plan.setup;
        let (admitted, displaced) = (lane.trace.channel("admitted")?, lane.trace.channel("displaced")?);
        let head = head_of(admitted, look);
        // A run that started again in the same plan has fewer steps than were indexed.
        let stale = |r: &Residency| r.steps() > admitted.len();
        let same = Weak::as_ptr(&self.plan) == Arc::as_ptr(look.plan);
        if !same || self.of_lane.get(&(number, head)).is_some_and(stale) {
            self.of_lane.clear();
            self.plan = Arc::downgrade(look.plan);
        }
        let writes = look.plan.stream.writes();
        let fresh = || Residency::new(setup.params.size("window"), setup.chunk, writes).with_hands(&setup.hands, head);
        let index = self.of_lane.entry((number, head)).or_insert_with(fresh);
        index.extend(admitted, displaced, head);
        Some((index, head))
    }

    /// The index of lane number `number` alone.
    pub fn residency(&mut self, look: &Look<'_>, number: usize) -> Option<&Residency> {
        self.of(look, number).map(|(index, _)| index)
    }

    /// What is known of `write` in lane number `number` at the playhead.
    pub fn facts(&mut self, look: &Look<'_>, number: usize, write: usize) -> Facts {
        let lane = &look.lanes[number];
        let done = lane.plan.chunks_at(look.writes);
        let seen = (done * lane.plan.setup.chunk).min(look.plan.stream.writes());
        if write >= seen {
            let chunk = chunk_name(look.plan, lane.plan, write / lane.plan.setup.chunk);
            return Facts::at(if write < look.writes {
                format!("Raw in the lane's chunk: it enters the memory at the end of {chunk}.")
            } else {
                format!("Not written yet: it comes with {chunk}.")
            });
        }
        if lane.trace.channel("assignments").is_some() {
            dictionary(look, lane, write, seen)
        } else if let Some(index) = self.residency(look, number) {
            memories(look, lane, index, write, done)
        } else {
            plain(look, lane, write, seen)
        }
    }
}

/// A dictionary of centroids (OVQ), or a codebook (VQ attention: no write founds anything).
fn dictionary(look: &Look<'_>, lane: &LaneLook<'_>, write: usize, seen: usize) -> Facts {
    let wholes = |name: &str| lane.trace.channel(name).map_or(&[][..], |c| c.wholes(head_of(c, look)));
    let real = |name: &str| lane.trace.channel(name).and_then(|c| c.reals(head_of(c, look)).get(write).copied());
    let (assignments, is_new) = (wholes("assignments"), wholes("is_new"));
    let Some(&row) = assignments.get(write) else { return Facts::at("Not computed yet.") };
    let founded = is_new.get(write) == Some(&1);
    let members = assignments[..seen.min(assignments.len())].iter().filter(|&&a| a == row).count();
    let fixed = lane.trace.channel("is_new").is_none();
    let mut facts = Facts::at(match (fixed, founded) {
        (true, _) => format!("Replaced by code {row}."),
        (false, true) => format!("In centroid {row}, which it founded."),
        (false, false) => format!("In centroid {row}."),
    });
    let hands = &lane.plan.setup.hands;
    let head = lane.trace.channel("assignments").map_or(0, |c| head_of(c, look));
    let deleted = usize::try_from(row).ok().and_then(|row| hand::deleted(hands, head, row));
    if let Some(step) = deleted.filter(|step| *step <= lane.plan.chunks_at(look.writes)) {
        let chunk = chunk_name(look.plan, lane.plan, step.saturating_sub(1));
        return Facts::at(format!("Nowhere any more: a hand deleted centroid {row}, which it was in, at the end of {chunk}."));
    }
    facts.row(if fixed { "code's count now" } else { "centroid's count now" }, members.to_string());
    if let Some(v) = real("similarity") {
        // Before the first chunk there is no centroid: there the similarity is to the first key.
        let name = if !founded {
            "similarity"
        } else if write < lane.plan.setup.chunk {
            "similarity to the first key"
        } else {
            "similarity before"
        };
        facts.row(name, number(v));
    }
    if let (Some(v), false) = (real("assign_margin"), founded) {
        facts.row("ahead of the second by", if v.is_finite() { number(v) } else { "no second".to_owned() });
    }
    if !founded && let Some(founder) = (0..assignments.len().min(is_new.len())).find(|&i| assignments[i] == row && is_new[i] == 1) {
        facts.row("centroid founded by", format!("token {founder}"));
    }
    facts
}

/// Window, sparse cache and state (LoLA).
fn memories(look: &Look<'_>, lane: &LaneLook<'_>, index: &Residency, write: usize, done: usize) -> Facts {
    let called = |chunks: usize| chunk_name(look.plan, lane.plan, chunks.saturating_sub(1));
    let short = |chunk: usize| chunk_short(look.plan, lane.plan, chunk);
    let since = index.since(write, done).map_or_else(String::new, |chunks| format!(" since {}", called(chunks)));
    let mut facts = Facts::at(match index.at(write, done) {
        Place::NotYet => "Not computed yet.".to_owned(),
        Place::Window => format!("In the sliding window{since}."),
        Place::Cache => format!("In the sparse cache{since}."),
        Place::State => format!("Folded into the state{since}."),
        Place::Gone => forgotten(&called(index.forgotten(write).unwrap_or_default())),
    });
    let (first, last) = scores(look, lane, write, done);
    if let Some((step, v)) = first {
        facts.row("score leaving the window", format!("{} ({})", number(v), short(step)));
    }
    if let (Some((step, v)), true) = (last, last != first) {
        facts.row("score last", format!("{} ({})", number(v), short(step)));
    }
    if let Some((step, t)) = done.checked_sub(1).and_then(|s| Some((s, threshold_at(look, lane, s)?))) {
        let text = threshold(lane.plan.setup.params.size("cache"), t);
        let head = lane.trace.channel("threshold").map_or(0, |c| head_of(c, look));
        let kept = index.at(write, done) == Place::Cache && hand::keeps(&lane.plan.setup.hands, head, write, step);
        facts.row("admission threshold now", if kept { format!("{text}; a hand keeps this one, whatever its score") } else { text });
    }
    if let Some(step) = index.entered(write).filter(|&s| s < done) {
        facts.row("admitted at", short(step));
    }
    if let Some(step) = index.left(write).filter(|&s| s < done) {
        let by = lane.trace.channel("admitted").map_or(&[][..], |c| c.wholes_at(head_of(c, look), step));
        let head = lane.trace.channel("displaced").map_or(0, |c| head_of(c, look));
        if hand::evicted(lane.trace, head, write, step) {
            facts.row("evicted at", format!("the end of {}, by hand", short(step)));
        } else {
            facts.row("displaced at", format!("{}, by {}", short(step), tokens(by)));
        }
    }
    facts
}

fn threshold_at(look: &Look<'_>, lane: &LaneLook<'_>, step: usize) -> Option<f32> {
    let channel = lane.trace.channel("threshold")?;
    channel.reals_at(head_of(channel, look), step).first().copied()
}

/// The admission threshold of a cache of `size` pairs, in words where there is none.
fn threshold(size: usize, value: f32) -> String {
    if size == 0 {
        "there is no cache".to_owned()
    } else if value.is_nan() {
        "none: the cache is not full".to_owned()
    } else {
        number(value)
    }
}

/// A score, with the step at which it was given.
type Score = (usize, f32);

/// A token's first and last score up to the playhead.
fn scores(look: &Look<'_>, lane: &LaneLook<'_>, write: usize, done: usize) -> (Option<Score>, Option<Score>) {
    let (Some(ids), Some(values)) = (lane.trace.channel("candidates"), lane.trace.channel("candidate_scores")) else {
        return (None, None);
    };
    let head = head_of(ids, look);
    let at = |step: usize| {
        let place = ids.wholes_at(head, step).binary_search(&(write as i32)).ok()?;
        values.reals_at(head, step).get(place).map(|v| (step, *v))
    };
    let steps = done.min(ids.len()).min(values.len());
    ((0..steps).find_map(at), (0..steps).rev().find_map(at))
}

/// Where a write is whose state a hand emptied at the end of this chunk.
fn forgotten(chunk: &str) -> String {
    format!("Nowhere any more: the state that it was folded into was forgotten by hand at the end of {chunk}.")
}

/// After how many chunks, no more than `done`, a hand first forgot a head's state that held what the first `folded` chunks had put there.
#[must_use]
pub fn forgot(hands: &[Hand], kv_head: usize, folded: usize, done: usize) -> Option<usize> {
    let of_head = hands.iter().filter(|h| h.kv_head == kv_head && h.what == Act::Forget);
    of_head.map(|h| h.step).filter(|step| (folded..=done).contains(step)).min()
}

/// Layers whose memory says nothing of single tokens.
fn plain(look: &Look<'_>, lane: &LaneLook<'_>, write: usize, seen: usize) -> Facts {
    match lane.plan.kind.name() {
        "full" => Facts::at(format!("Held whole, with all {seen} writes.")),
        "window" => {
            let window = lane.plan.setup.params.size("window");
            if write + window >= seen {
                Facts::at(format!("In the window; it leaves after {} more writes.", write + window - seen + 1))
            } else {
                Facts::at(format!("Forgotten: it left the window {} writes ago.", seen - write - window))
            }
        }
        _ => {
            let (setup, done) = (&lane.plan.setup, lane.plan.chunks_at(look.writes));
            let head = look.head_among(setup.stream.kv_heads());
            if let Some(step) = forgot(&setup.hands, head, write / setup.chunk + 1, done) {
                return Facts::at(forgotten(&chunk_name(look.plan, lane.plan, step.saturating_sub(1))));
            }
            let since = hand::forgotten(&setup.hands, head, done).map_or(0, |step| step * setup.chunk);
            Facts::at(format!("Folded into the state, with {} others.", seen.saturating_sub(since + 1)))
        }
    }
}

/// What the reads that belong to `write` got from a lane: those that see it last, and those whose answer it is. What the read is to
/// the token, the read, what is known of it.
#[must_use]
pub fn reads(look: &Look<'_>, lane: &LaneLook<'_>, write: usize) -> Vec<(&'static str, usize, String)> {
    let stream = &look.plan.stream;
    let own = stream.reads_within(write..write + 1);
    let asked = stream.labels().answer_at.as_ref().map_or_else(Vec::new, |at| {
        (0..at.len()).filter(|&r| at[r] as usize == write && stream.after()[r] as usize <= look.writes).collect()
    });
    let own = own.filter(|&r| stream.after()[r] as usize <= look.writes).take(1);
    own.map(|r| ("read here", r))
        .chain(asked.into_iter().take(4).map(|r| ("asked for by", r)))
        .filter_map(|(name, r)| Some((name, r, answer(look, lane, r)?)))
        .collect()
}

/// How right a read was, and where the weight of its answer came from.
fn answer(look: &Look<'_>, lane: &LaneLook<'_>, read: usize) -> Option<String> {
    let head = look.query_head;
    let real = |name: &str| lane.trace.channel(name).and_then(|c| c.reals(head).get(read).copied());
    let mut text = if let Some(correct) = lane.trace.channel("correct").and_then(|c| c.wholes(head).get(read).copied()) {
        if correct == 1 { "right".to_owned() } else { "wrong".to_owned() }
    } else {
        let (error, target) = (real("error_sq")?, real("target_sq")?);
        let relative = if target > 0.0 { number((error / target).sqrt()) } else { "-".to_owned() };
        let cosine = real("cosine").map_or_else(String::new, |c| format!(", cosine {}", number(c)));
        format!("error {relative}{cosine}")
    };
    if let [w, c, s] = lane.trace.channel("shares").map_or(&[][..], |c| c.reals_at(head, read)) {
        let share = |v: &f32| format!("{:.0}%", (v * 100.0).round());
        let _ = write!(text, "; window {}, cache {}, state {}", share(w), share(c), share(s));
    }
    Some(text)
}

/// A number with four significant digits or so.
#[must_use]
pub fn number(v: f32) -> String {
    let a = v.abs();
    if !v.is_finite() {
        format!("{v}")
    } else if a != 0.0 && !(1e-3..1e5).contains(&a) {
        format!("{v:.2e}")
    } else if a >= 100.0 {
        format!("{v:.1}")
    } else if a >= 10.0 {
        format!("{v:.2}")
    } else {
        format!("{v:.3}")
    }
}

/// A few token numbers, and how many more.
fn tokens(ids: &[i32]) -> String {
    match ids {
        [] => "none".to_owned(),
        [one] => format!("token {one}"),
        [a, b] => format!("tokens {a} and {b}"),
        [a, b, rest @ ..] => format!("tokens {a}, {b} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [(0.0, "0.000"), (1.0, "1.000"), (0.12345, "0.123"), (12.345, "12.35"), (1234.56, "1234.6"), (1e-5, "1.00e-5")];
        for (v, text) in cases {
            assert_eq!(number(v), text);
        }
        assert_eq!(number(f32::INFINITY), "inf");
    }

    #[test]
    fn a_lane_without_a_cache_has_no_threshold() {
        assert_eq!(threshold(0, f32::NAN), "there is no cache");
        assert_eq!(threshold(8, f32::NAN), "none: the cache is not full");
        assert_eq!(threshold(8, 0.125), "0.125");
    }

    #[test]
    fn the_first_forgetting_after_a_write_was_folded_is_its_end() {
        let hand = |step, kv_head, what| Hand { step, kv_head, what };
        let hands = [hand(5, 0, Act::Forget), hand(3, 0, Act::Forget), hand(2, 1, Act::Forget), hand(2, 0, Act::Evict { write: 1 })];
        let at = |folded, done| forgot(&hands, 0, folded, done);
        assert_eq!((at(1, 2), at(1, 3), at(3, 9), at(4, 4), at(4, 9), at(6, 9)), (None, Some(3), Some(3), None, Some(5), None));
        assert_eq!(forgotten("step 2"), "Nowhere any more: the state that it was folded into was forgotten by hand at the end of step 2.");
    }

    #[test]
    fn tokens_are_counted() {
        assert_eq!(tokens(&[7]), "token 7");
        assert_eq!(tokens(&[7, 8, 9, 10]), "tokens 7, 8 and 2 more");
    }
}
