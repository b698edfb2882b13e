//! The scores of the candidates, step by step: their range, their bins, and who was kept. No drawing.

use std::ops::Range;

use crate::layer::lola::residency::{Place, Residency};
use crate::trace::Channel;
use crate::widget::chart::Axis;
use crate::widget::heatmap::Grid;
use crate::widget::ticks::Scale;

/// What became of a candidate in its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is in the cache after the step.
    Kept,
    /// It was folded into the state.
    Folded,
}

/// A candidate of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The write.
    pub write: usize,
    /// Its score.
    pub score: f32,
    /// What became of it.
    pub fate: Fate,
    /// True if it left the window in the step; false if it was cached before.
    pub from_window: bool,
}

impl Candidate {
    /// True if it came into the cache in the step, or went from it.
    #[must_use]
    pub fn moved(&self) -> bool {
        self.from_window == (self.fate == Fate::Kept)
    }

    /// What became of it, in words; `evicted` if a hand took it out of the cache after the update of the step.
    #[must_use]
    pub fn story(&self, evicted: bool) -> &'static str {
        match (self.from_window, self.fate) {
            (true, Fate::Folded) if evicted => "left the window, came into the cache; evicted by hand after it",
            (false, Fate::Folded) if evicted => "stayed in the cache; evicted by hand after it",
            (true, Fate::Kept) => "left the window, came into the cache",
            (true, Fate::Folded) => "left the window, folded into the state",
            (false, Fate::Kept) => "stays in the cache",
            (false, Fate::Folded) => "displaced: folded from the cache into the state",
        }
    }
}

/// How many candidates the update of a step kept and folded, and how many of the kept ones a hand took out of the cache after it.
///
/// [`Candidate::fate`] is how it ended; these are what the trace counts: who came is `came` whether or not a hand evicted it at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cached before and kept by the update.
    pub stayed: usize,
    /// Admitted from the window.
    pub came: usize,
    /// Cached before and folded by the update.
    pub displaced: usize,
    /// Folded as they left the window.
    pub passed: usize,
    /// Evicted by hand after the update, of those that stayed or came.
    pub evicted: usize,
}

impl Tally {
    /// Counts candidates; `evicted` says of which a hand took out of the cache at the end of the step.
    #[must_use]
    pub fn of<'a>(candidates: impl IntoIterator<Item = &'a Candidate>, evicted: impl Fn(&Candidate) -> bool) -> Self {
        let mut tally = Self::default();
        for c in candidates {
            let by_hand = evicted(c);
            tally.evicted += usize::from(by_hand);
            *match (c.from_window, by_hand || c.fate == Fate::Kept) {
                (false, true) => &mut tally.stayed,
                (true, true) => &mut tally.came,
                (false, false) => &mut tally.displaced,
                (true, false) => &mut tally.passed,
            } += 1;
        }
        tally
    }

    /// Those that the update kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.stayed + self.came
    }

    /// Those that the update folded.
    #[must_use]
    pub fn folded(&self) -> usize {
        self.displaced + self.passed
    }

    /// `16 kept, 32 folded, then 2 evicted by hand`; of the hand only where it did something.
    #[must_use]
    pub fn words(&self) -> String {
        let hand = if self.evicted > 0 { format!(", then {} evicted by hand", self.evicted) } else { String::new() };
        format!("{} kept, {} folded{hand}", self.kept(), self.folded())
    }

    /// `13 came into the cache, 13 were displaced, then 2 evicted by hand: 15 went`.
    #[must_use]
    pub fn exchange(&self) -> String {
        let hand = match self.evicted {
            0 => String::new(),
            n => format!(", then {n} evicted by hand: {} went", self.displaced + n),
        };
        format!("{} came into the cache, {} were displaced{hand}", self.came, self.displaced)
    }
}

/// Scores that have no place on an axis, by why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beyond {
    /// No numbers.
    pub nan: usize,
    /// Infinite.
    pub infinite: usize,
    /// At or below zero, where ratios count.
    pub low: usize,
}

impl Beyond {
    /// Counts them among some scores, on an axis where ratios count or not.
    #[must_use]
    pub fn of(scores: impl Iterator<Item = f32>, log: bool) -> Self {
        let mut beyond = Self::default();
        for s in scores {
            beyond.nan += usize::from(s.is_nan());
            beyond.infinite += usize::from(s.is_infinite());
            beyond.low += usize::from(log && s.is_finite() && s <= 0.0);
        }
        beyond
    }

    /// `2 scores are NaN, 1 is infinite: they lie at the edge of the axis`; nothing where all have a place.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let is = |n: usize| if n == 1 { "is" } else { "are" };
        let parts: Vec<String> = [(self.nan, "NaN"), (self.infinite, "infinite"), (self.low, "not above zero")]
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {} {what}", is(n)))
            .collect();
        (!parts.is_empty()).then(|| format!("Of all scores {}: they lie at the edge of the axis.", parts.join(", ")))
    }
}

/// The candidates of `step`, in ascending order of their ids.
#[must_use]
pub fn candidates(ids: &Channel, scores: &Channel, index: &Residency, head: usize, step: usize) -> Vec<Candidate> {
    let range = scores.range(head, step);
    let value = |i: usize| scores.values(head).get(range.start + i).map_or(f32::NAN, |s| s as f32);
    let leaving = index.window_range(step).start;
    ids.wholes_at(head, step)
        .iter()
        .enumerate()
        .filter_map(|(i, &id)| {
            let write = usize::try_from(id).ok()?;
            let fate = if index.at(write, step + 1) == Place::Cache { Fate::Kept } else { Fate::Folded };
            Some(Candidate { write, score: value(i), fate, from_window: write >= leaving })
        })
        .collect()
}

/// The axis for scores: logarithmic if they are nearly all above zero, linear otherwise (ages, say).
///
/// [`Beyond`] counts the scores that have no place on it (at or below zero on a logarithmic axis, or no numbers): a panel must
/// say so. `None` where nothing is scored yet.
#[must_use]
pub fn axis(scores: &[f32], label: &str, prefer_log: bool) -> Option<(Axis, Beyond)> {
    let finite = scores.iter().copied().filter(|s| s.is_finite());
    let positive: Vec<f32> = finite.clone().filter(|s| *s > 0.0).collect();
    let log = prefer_log && !positive.is_empty() && positive.len() * 10 >= scores.len() * 9;
    let held: Vec<f32> = if log { positive } else { finite.collect() };
    let (min, max) = held.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &s| (a.min(s), b.max(s)));
    if held.is_empty() {
        return None;
    }
    let (min, max) = (f64::from(min), f64::from(max));
    let axis = if log {
        // A little room at both ends, and never a range of nothing.
        let pad = (max / min).powf(0.03).max(1.02);
        Axis::real(label, min / pad, max * pad, Scale::Log)
    } else {
        let pad = ((max - min) * 0.03).max(1e-6);
        Axis::real(label, min - pad, max + pad, Scale::Linear)
    };
    Some((axis, Beyond::of(scores.iter().copied(), log)))
}

/// The bin of a score, of `bins` along the axis; scores with no place on it are in the nearest bin at an end, NaN in none.
#[must_use]
pub fn bin(axis: &Axis, score: f32, bins: usize) -> Option<usize> {
    if score.is_nan() {
        return None;
    }
    let share = axis.share(f64::from(score)).clamp(0.0, 1.0);
    Some(((share * bins as f64) as usize).min(bins - 1))
}

/// How many candidates of each of the first `covered` steps are in each bin: `[bins, steps]`, nothing where there are none.
#[must_use]
pub fn histogram(scores: &Channel, head: usize, axis: &Axis, bins: usize, covered: usize, steps: usize) -> Grid {
    let mut grid = Grid::empty(bins, steps);
    for step in 0..covered.min(steps).min(scores.len()) {
        for at in scores.range(head, step) {
            let Some(row) = scores.values(head).get(at).and_then(|s| bin(axis, s as f32, bins)) else { continue };
            let cell = &mut grid.cells[row * steps + step];
            *cell = Some(cell.unwrap_or(0.0) + 1.0);
        }
    }
    grid
}

/// Kept and folded candidates of one step in each bin `[bins]`.
#[must_use]
pub fn by_fate(candidates: &[Candidate], axis: &Axis, bins: usize) -> Vec<[u32; 2]> {
    let mut counts = vec![[0, 0]; bins];
    for c in candidates {
        if let Some(row) = bin(axis, c.score, bins) {
            counts[row][usize::from(c.fate == Fate::Folded)] += 1;
        }
    }
    counts
}

/// The scores from the start to the end of a bin.
#[must_use]
pub fn bin_range(axis: &Axis, row: usize, bins: usize) -> Range<f64> {
    axis.value(row as f64 / bins as f64)..axis.value((row + 1) as f64 / bins as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Axis as TraceAxis, ChannelSpec, Heads, Kind, LaneTrace, Tolerance, TraceBlock, Values, Width};

    fn spec(name: &'static str, kind: Kind) -> ChannelSpec {
        ChannelSpec {
            name,
            title: name,
            meaning: "",
            unit: "1",
            axis: TraceAxis::Step,
            heads: Heads::KeyValue,
            width: Width::Ragged,
            kind,
            tolerance: Tolerance::Choice { margin: None },
        }
    }

    /// Three steps: none, then 0 and 1, then 0, 2 and 3; after them 0 and 3 are cached.
    fn trace() -> (LaneTrace, Residency) {
        let mut trace = LaneTrace::new(&[spec("candidates", Kind::Whole), spec("candidate_scores", Kind::Real)], 1, 1);
        let mut block = TraceBlock::default();
        block.push_ragged(0, 0..3, Values::I32(vec![0, 1, 0, 2, 3]), vec![0, 2, 3]);
        block.push_ragged(1, 0..3, Values::F32(vec![4.0, 1.0, 16.0, 1.5, 2.0]), vec![0, 2, 3]);
        trace.append(&block).unwrap();
        let mut index = Residency::new(2, 2, 6);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        index.push(&[3], &[]);
        (trace, index)
    }

    #[test]
    fn candidates_carry_their_score_and_fate() {
        let (trace, index) = trace();
        let (ids, scores) = (trace.channel("candidates").unwrap(), trace.channel("candidate_scores").unwrap());
        let of = |write, score, fate, from_window| Candidate { write, score, fate, from_window };
        assert_eq!(candidates(ids, scores, &index, 0, 0), []);
        // Window 2, chunk 2: 0 and 1 leave it in step 1, 2 and 3 in step 2.
        let (kept, folded) = (Fate::Kept, Fate::Folded);
        assert_eq!(candidates(ids, scores, &index, 0, 1), [of(0, 4.0, kept, true), of(1, 1.0, folded, true)]);
        let second = candidates(ids, scores, &index, 0, 2);
        assert_eq!(second, [of(0, 16.0, kept, false), of(2, 1.5, folded, true), of(3, 2.0, kept, true)]);
        assert_eq!(second.iter().map(Candidate::moved).collect::<Vec<_>>(), [false, false, true]);
        assert!(of(0, 1.0, folded, false).moved(), "one that was displaced");
        let gone = of(0, 1.0, folded, false);
        assert!(gone.story(false).starts_with("displaced") && gone.story(true).ends_with("evicted by hand after it"));
    }

    #[test]
    fn every_score_is_in_a_bin_of_its_step() {
        let (trace, _) = trace();
        let scores = trace.channel("candidate_scores").unwrap();
        let (axis, beyond) = axis(scores.reals(0), "score", true).unwrap();
        assert_eq!((axis.scale, beyond), (Scale::Log, Beyond::default()));
        let grid = histogram(scores, 0, &axis, 8, 3, 3);
        let column = |step: usize| (0..8).filter_map(|row| grid.get(row, step)).sum::<f32>();
        assert_eq!((0..3).map(column).map(|n| n as u32).collect::<Vec<_>>(), [0, 2, 3]);
        for &score in scores.reals(0) {
            let row = bin(&axis, score, 8).unwrap();
            assert!(bin_range(&axis, row, 8).contains(&f64::from(score)), "{score} in bin {row}");
        }
    }

    #[test]
    fn zeros_on_a_logarithmic_axis_are_counted_and_lie_at_its_edge() {
        let scores: Vec<f32> = (0..20).map(|i| if i == 0 { 0.0 } else { i as f32 }).collect();
        let (axis, beyond) = axis(&scores, "score", true).unwrap();
        assert_eq!((axis.scale, beyond), (Scale::Log, Beyond { low: 1, ..Beyond::default() }));
        assert_eq!(bin(&axis, 0.0, 10), Some(0));
        assert_eq!((bin(&axis, f32::NAN, 10), bin(&axis, f32::INFINITY, 10)), (None, Some(9)));
    }

    #[test]
    fn mostly_zeros_make_a_linear_axis_and_equal_scores_still_have_a_range() {
        let (zeros, beyond) = axis(&[0.0, 0.0, 1.0], "score", true).unwrap();
        assert_eq!((zeros.scale, beyond), (Scale::Linear, Beyond::default()));
        let (equal, _) = axis(&[3.0, 3.0], "score", true).unwrap();
        assert!(equal.min < 3.0 && equal.max > 3.0);
        assert!(axis(&[], "score", true).is_none() && axis(&[f32::NAN], "score", true).is_none());
    }

    #[test]
    fn scores_that_are_no_numbers_are_counted_by_name() {
        let beyond = Beyond::of([1.0, f32::NAN, f32::NAN, f32::INFINITY, 0.0, -1.0].into_iter(), true);
        assert_eq!(beyond, Beyond { nan: 2, infinite: 1, low: 2 });
        assert_eq!(
            beyond.words().unwrap(),
            "Of all scores 2 are NaN, 1 is infinite, 2 are not above zero: they lie at the edge of the axis."
        );
        assert_eq!(Beyond::of([0.0, 1.0].into_iter(), false).words(), None, "differences have a place for zero");
    }

    #[test]
    fn what_a_hand_evicts_is_counted_apart_from_what_the_update_did() {
        // 3 cached before and 5 kept from the window by fate; a hand took two that came, and one that had stayed.
        let of = |write: usize, fate, from_window| Candidate { write, score: 1.0, fate, from_window };
        let mut list: Vec<Candidate> = (0..3).map(|i| of(i, Fate::Kept, false)).collect();
        list.extend((3..5).map(|i| of(i, Fate::Folded, false)));
        list.extend((5..10).map(|i| of(i, Fate::Kept, true)));
        list.extend((10..20).map(|i| of(i, Fate::Folded, true)));
        let by_hand = Tally::of(&list, |c| [4, 10, 11].contains(&c.write));
        assert_eq!(by_hand, Tally { stayed: 4, came: 7, displaced: 1, passed: 8, evicted: 3 });
        assert_eq!(by_hand.words(), "11 kept, 9 folded, then 3 evicted by hand");
        assert_eq!(by_hand.exchange(), "7 came into the cache, 1 were displaced, then 3 evicted by hand: 4 went");
        let none = Tally::of(&list, |_| false);
        assert_eq!(none.words(), "8 kept, 12 folded");
        assert_eq!(none.exchange(), "5 came into the cache, 2 were displaced");
        assert_eq!(none.kept() + none.folded(), list.len());
    }

    #[test]
    fn bins_tell_kept_from_folded() {
        let of = |score, fate| Candidate { write: 0, score, fate, from_window: true };
        let axis = Axis::real("", 0.0, 4.0, Scale::Linear);
        let counts = by_fate(&[of(0.5, Fate::Folded), of(3.5, Fate::Kept), of(3.9, Fate::Kept), of(3.1, Fate::Folded)], &axis, 4);
        assert_eq!(counts, [[0, 1], [0, 0], [0, 0], [2, 1]]);
    }
}
