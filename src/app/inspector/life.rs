//! A token's life in a lane: what happened to it, when, and in which memory it was in between. No drawing.

use std::ops::Range;

use crate::app::facts::{forgot, number};
use crate::layer::lola::residency::Residency;
use crate::panel::Look;
use crate::panel::formula::dictionary::assigned;
use crate::panel::formula::exact::{Exact, LaneAt};
use crate::panel::formula::layers::scores;
use crate::session::hand;

use super::page::Say;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It was written.
    Written,
    /// It founded a centroid.
    Founded,
    /// It went to a centroid or code.
    Assigned,
    /// Others went to the same row later.
    Joined,
    /// It left the window.
    Left,
    /// It was scored.
    Scored,
    /// It was admitted to the sparse cache.
    Cached,
    /// Another took its place in the cache.
    Displaced,
    /// It was folded into the state.
    Folded,
    /// It cannot be returned any more.
    Gone,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Founded => "founded",
            Self::Assigned => "assigned",
            Self::Joined => "joined by others",
            Self::Left => "left the window",
            Self::Scored => "scored",
            Self::Cached => "cached",
            Self::Displaced => "displaced",
            Self::Folded => "folded",
            Self::Gone => "gone",
        }
    }
}

/// Where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Whole, in the window or the newest chunk, or kept for ever.
    Whole,
    /// In the sparse cache.
    Cache,
    /// In a centroid, or in the state.
    Folded,
    /// It was in a centroid or a state that a hand took away.
    Gone,
}

/// Something that happened to a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When: writes made.
    pub at: usize,
    /// What.
    pub kind: Kind,
    /// In words, as a whole sentence.
    pub say: Say,
}

/// A token's life up to the playhead.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Life {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Where it was, by writes made; nothing after it left a window.
    pub places: Vec<(Range<usize>, Place)>,
    /// Its scores by step: writes made, score.
    pub scores: Vec<(usize, f64)>,
    /// Writes in the stream.
    pub total: usize,
    /// Writes in the lane's memory at the playhead.
    pub now: usize,
}

impl Life {
    fn happened(&mut self, at: usize, kind: Kind, say: Say) {
        self.events.push(Event { at, kind, say });
    }

    /// It was in a place over these writes made; nothing where there are none.
    fn stayed(&mut self, range: Range<usize>, place: Place) {
        if !range.is_empty() {
            self.places.push((range, place));
        }
    }

    /// It was folded when `from` writes were made, and a hand took it away after `gone` of them, or not up to the playhead.
    fn folded(&mut self, from: usize, gone: Option<(usize, Say)>) {
        let end = self.now + 1;
        let Some((at, say)) = gone else {
            self.stayed(from..end, Place::Folded);
            return;
        };
        self.stayed(from..at, Place::Folded);
        self.stayed(at..end, Place::Gone);
        self.happened(at, Kind::Gone, say);
    }
}

/// When a hand forgot the state that held a write after `chunks` chunks, and that it did, if it has after `done` chunks.
fn forgotten(look: &Look<'_>, lane: &LaneAt<'_>, chunks: usize, done: usize) -> Option<(usize, Say)> {
    let step = forgot(&lane.plan.setup.hands, lane.kv, chunks, done)?;
    let say = Say::new("Nowhere any more: the state that it was folded into was forgotten by hand at the end of ");
    Some((lane.written(step), say.step(look, lane, step.saturating_sub(1)).t(".")))
}

/// The moments in a sliding window of a write, in writes made, up to the playhead: after `write + window` of them it is still seen.
fn windowed(write: usize, window: usize, now: usize) -> Range<usize> {
    write + 1..(write + window + 1).min(now + 1)
}

/// The life of `write`, which is in the lane's memory after `done` of its chunks. `residency` is a cache's index, where there is one.
#[must_use]
pub fn life(look: &Look<'_>, lane: &LaneAt<'_>, residency: Option<&Residency>, exact: &Exact<'_>, write: usize, done: usize) -> Life {
    let now = lane.written(done);
    let mut life = Life { total: lane.stream().writes(), now, ..Life::default() };
    let chunk = write / lane.chunk();
    life.happened(write + 1, Kind::Written, Say::new("Written in ").step(look, lane, chunk).t("."));
    match (lane.plan.kind.name(), residency) {
        ("ovq" | "vq", _) => dictionary(&mut life, look, lane, exact, write, done),
        ("lola", Some(residency)) => memories(&mut life, look, lane, residency, write, done),
        ("full", _) => {
            life.stayed(write + 1..now + 1, Place::Whole);
        }
        ("window", _) => {
            let window = lane.plan.setup.params.size("window");
            let left = write + window;
            life.stayed(windowed(write, window, now), Place::Whole);
            if left < now {
                life.happened(left + 1, Kind::Gone, Say::new(format!("Left the window at write {left}, and cannot be returned since.")));
            }
        }
        _ => {
            let error = lane.number("write_error", write);
            let error = error.map_or_else(String::new, |e| format!(", with a write error |v - S'k| of {}", number(e as f32)));
            life.happened(write + 1, Kind::Folded, Say::new(format!("Folded into the state at once{error}.")));
            life.folded(write + 1, forgotten(look, lane, chunk + 1, done));
        }
    }
    life.events.sort_by_key(|e| e.at);
    life
}

fn dictionary(life: &mut Life, look: &Look<'_>, lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, done: usize) {
    let chunk = write / lane.chunk();
    // A fixed code stands for a token from its write on.
    let end = if lane.plan.kind.name() == "vq" { write + 1 } else { lane.written(chunk + 1) };
    life.stayed(write + 1..end, Place::Whole);
    let Some(a) = assigned(lane, exact, write) else {
        life.folded(end, None);
        return;
    };
    let similarity = number(a.similarity as f32);
    if a.founded {
        let say = Say::new("Founded ").row(lane, a.row).t(format!(": {}.", first_similarity(write, chunk, &similarity)));
        life.happened(end, Kind::Founded, say);
    } else {
        let say = Say::new("Assigned to ").row(lane, a.row).t(format!(", similarity {similarity}"));
        let say = if !a.margin.is_finite() {
            say.t("; there was no second.")
        } else if let Some((second, at)) = a.second {
            say.t(format!(", {} ahead of ", number(a.margin as f32))).row(lane, second).t(format!(" at {}.", number(at as f32)))
        } else {
            say.t(format!(", {} ahead of the second (which one is known once the state before the step is here).", number(a.margin as f32)))
        };
        life.happened(end, Kind::Assigned, say);
    }
    let deleted = lane.deleted(a.row, done).map(|step| (lane.written(step), Say::deleted(look, lane, a.row, step)));
    let rows = lane.wholes("assignments");
    let later: Vec<usize> = (end..life.now.min(rows.len())).filter(|&w| usize::try_from(rows[w]) == Ok(a.row)).collect();
    if let (Some(&first), Some(&last)) = (later.first(), later.last()) {
        let n = later.len();
        let say = Say::new(format!(
            "{} since: first ",
            if n == 1 { "One more token joined it".to_owned() } else { format!("{n} more tokens joined it") }
        ));
        let say = say.token(look, first);
        let say = if n > 1 { say.t(", last ").token(look, last).t(".") } else { say.t(".") };
        life.happened(lane.written(first / lane.chunk() + 1), Kind::Joined, say);
    } else if deleted.is_none() {
        life.happened(life.now, Kind::Joined, Say::new("No token has joined it since."));
    }
    life.folded(end, deleted);
}

/// How near a founder was to what there was before it: before the first chunk there is no centroid, and its similarities are to
/// the first key, which founds row 0.
fn first_similarity(write: usize, chunk: usize, similarity: &str) -> String {
    match (write, chunk) {
        (0, _) => "the first key founds row 0".to_owned(),
        (_, 0) => format!("its similarity to the first key was {similarity}"),
        _ => format!("its best similarity to those before was {similarity}"),
    }
}

fn memories(life: &mut Life, look: &Look<'_>, lane: &LaneAt<'_>, residency: &Residency, write: usize, done: usize) {
    let window = lane.plan.setup.params.size("window");
    let needed = write + window + 1;
    // The first step after which more than `window` newer tokens are written.
    let leaves = (needed <= life.total).then(|| needed.div_ceil(lane.chunk()) - 1).filter(|s| *s < done);
    let Some(leaves) = leaves else {
        life.stayed(write + 1..life.now + 1, Place::Whole);
        return;
    };
    let at = lane.written(leaves + 1);
    life.stayed(write + 1..at, Place::Whole);
    life.happened(at, Kind::Left, Say::new("Left the window in ").step(look, lane, leaves).t("."));
    let all = scores(lane, write, done);
    life.scores = all.iter().map(|(s, v)| (lane.written(s + 1), *v)).collect();
    score_events(life, look, lane, write, &all);
    let entered = residency.entered(write).filter(|s| *s < done);
    let left = residency.left(write).filter(|s| *s < done);
    let ids = |name: &str, step: usize| lane.numbers(name, step).unwrap_or_default().iter().map(|&id| id as usize).collect::<Vec<_>>();
    let Some(entered) = entered else {
        life.happened(at, Kind::Folded, Say::new("It was not kept: folded into the state in the same step."));
        life.folded(at, forgotten(look, lane, leaves + 1, done));
        return;
    };
    let end = lane.written(entered + 1);
    // Those that a hand evicted at the end of the step made no room in it.
    let mut displaced = ids("displaced", entered);
    displaced.retain(|&w| !lane.evicted(w, entered));
    let say = Say::new("Admitted to the sparse cache in ").step(look, lane, entered);
    let say = if displaced.is_empty() {
        say.t(", where there was room.")
    } else {
        say.t(", when these were displaced: ").tokens(look, &displaced, 3).t(".")
    };
    life.happened(end, Kind::Cached, say);
    let Some(left) = left else {
        life.stayed(end..life.now + 1, Place::Cache);
        return;
    };
    let gone = lane.written(left + 1);
    life.stayed(end..gone, Place::Cache);
    let say = if lane.evicted(write, left) {
        Say::new("Evicted by hand at the end of ").step(look, lane, left)
    } else {
        Say::new("Displaced in ").step(look, lane, left).t(", when these were admitted: ").tokens(look, &ids("admitted", left), 3)
    };
    life.happened(gone, Kind::Displaced, say.t("."));
    life.happened(gone, Kind::Folded, Say::new("Folded into the state; nothing returns from there."));
    life.folded(gone, forgotten(look, lane, left + 1, done));
}

/// The first score, the highest and the last.
fn score_events(life: &mut Life, look: &Look<'_>, lane: &LaneAt<'_>, write: usize, all: &[(usize, f64)]) {
    let highest = all.iter().copied().reduce(|best, s| if s.1 > best.1 { s } else { best });
    let mut told: Vec<usize> = Vec::new();
    for (name, score) in [("First score", all.first().copied()), ("Highest score", highest), ("Last score", all.last().copied())] {
        let Some((step, value)) = score.filter(|(step, _)| !told.contains(step)) else { continue };
        told.push(step);
        let threshold = lane.number("threshold", step).filter(|t| t.is_finite());
        let kept = hand::keeps(&lane.plan.setup.hands, lane.kv, write, step);
        let threshold = match threshold.map(|t| number(t as f32)) {
            Some(t) if kept => format!(" (a hand keeps it, whatever its score; threshold after it, of the others, {t})"),
            Some(t) => format!(" (threshold after it {t})"),
            None if kept => " (a hand keeps it, whatever its score)".to_owned(),
            None => String::new(),
        };
        let say = Say::new(format!("{name} {} in ", number(value as f32))).step(look, lane, step).t(format!("{threshold}."));
        life.happened(lane.written(step + 1), Kind::Scored, say);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_sees_a_write_from_its_own_on_and_as_many_in_all_as_it_is_wide() {
        // Write 5 in a window of 3 is seen after 6, 7 and 8 writes.
        assert_eq!(windowed(5, 3, 100), 6..9);
        assert_eq!(windowed(5, 3, 7), 6..8, "the playhead stands after 7");
    }

    #[test]
    fn what_a_hand_takes_away_is_nowhere_from_then_on() {
        let mut life = Life { now: 20, ..Life::default() };
        life.folded(8, Some((8, Say::new("Gone."))));
        assert_eq!((&life.places[..], life.events.len()), (&[(8..21, Place::Gone)][..], 1), "it was taken in the step that folded it");
        let mut life = Life { now: 20, ..Life::default() };
        life.folded(8, Some((12, Say::new("Gone."))));
        assert_eq!(life.places, [(8..12, Place::Folded), (12..21, Place::Gone)]);
    }

    #[test]
    fn the_first_founders_are_compared_with_the_first_key() {
        assert_eq!(first_similarity(0, 0, "1.000"), "the first key founds row 0");
        assert_eq!(first_similarity(9, 0, "0.500"), "its similarity to the first key was 0.500");
        assert_eq!(first_similarity(90, 1, "0.500"), "its best similarity to those before was 0.500");
    }
}
