//! The steps whose scores say nothing: while the state is empty it recalls zero, and SRE is |v|^2, whatever the key.
//!
//! On needles this is why a larger cache does worse (TASKS.md): nothing is folded before the cache is full, so all that goes in
//! before then is admitted blindly, the oldest first among equals. A hand that forgets the state empties it again.

use std::collections::BTreeMap;
use std::ops::Range;

use eframe::egui::{Color32, Rect, RichText, Ui};

use super::Held;
use super::model::Candidate;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::Look;
use crate::panel::common::{plural, quoted};
use crate::panel::row;
use crate::stream::Stream;
use crate::trace::{Channel, LaneTrace};
use crate::widget::chart::{Chart, SMALL};
use crate::widget::palette::Ink;

/// Pairs that are in the state after `done` chunks: what has left the window and is not cached, since the state was last forgotten.
#[must_use]
pub fn folded(index: &Residency, cached: &Channel, head: usize, done: usize) -> usize {
    let ever = |done: usize| {
        let cached = done.checked_sub(1).map_or(0, |step| cached.wholes(head).get(step).copied().unwrap_or(0));
        index.window_range(done).start.saturating_sub(usize::try_from(cached).unwrap_or(0))
    };
    ever(done).saturating_sub(index.last_forgotten(done).map_or(0, ever))
}

/// The steps that score against an empty state: from the start, and from wherever it was forgotten, until something is folded into it.
/// Nothing leaves it otherwise, so what it holds it holds until then.
#[must_use]
pub fn blind_steps(index: &Residency, cached: &Channel, head: usize) -> Vec<Range<usize>> {
    let steps = index.steps();
    let starts: Vec<usize> = std::iter::once(0).chain(index.forgets().iter().copied()).filter(|start| *start < steps).collect();
    let mut all: Vec<Range<usize>> = Vec::new();
    for (i, &start) in starts.iter().enumerate() {
        let (mut low, mut high) = (start, starts.get(i + 1).copied().unwrap_or(steps));
        while low < high {
            let middle = usize::midpoint(low, high);
            if folded(index, cached, head, middle) == 0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        match all.last_mut() {
            // It was empty still when it was forgotten.
            Some(last) if last.end == start => last.end = low,
            _ => all.push(start..low),
        }
    }
    all
}

/// The steps that scored something while the state was empty, for a lane whose score is SRE; none for another.
pub(super) fn blind(look: &Look<'_>, lane: usize, trace: &LaneTrace, index: &Residency, head: usize) -> Vec<Range<usize>> {
    let plan = look.lanes[lane].plan;
    let is_sre = plan.kind.params().iter().any(|p| p.name == "score") && plan.setup.params.choice("score") == "sre";
    let (Some(ids), Some(cached)) = (trace.channel("candidates"), trace.channel("cached_count")) else { return Vec::new() };
    if !is_sre {
        return Vec::new();
    }
    let scored = |steps: Range<usize>| {
        let end = steps.end.min(ids.len());
        (steps.start..end).find(|&s| !ids.wholes_at(head, s).is_empty()).map(|first| first..end)
    };
    blind_steps(index, cached, head).into_iter().filter_map(scored).collect()
}

/// Pairs in the cache after `done` chunks that were admitted in the steps `blind`.
#[must_use]
pub fn admitted_blindly(admitted: &Channel, index: &Residency, head: usize, blind: &[Range<usize>], done: usize) -> usize {
    let still = |id: &&i32| usize::try_from(**id).is_ok_and(|w| index.at(w, done) == Place::Cache);
    blind.iter().cloned().flatten().map(|step| admitted.wholes_at(head, step).iter().filter(still).count()).sum()
}

/// What is to be said at a step, if it is one of those or comes after them; `noun` is what steps are called.
#[must_use]
pub fn sentence(list: &[Candidate], (step, noun): (usize, &str), blind: &[Range<usize>], of_cache: (usize, usize)) -> Option<String> {
    if blind.iter().any(|steps| steps.contains(&step)) && !list.is_empty() {
        let scores = list.iter().map(|c| c.score);
        let (min, max) = scores.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), s| (a.min(s), b.max(s)));
        // Values of one length in exact arithmetic differ in the last digits of float32.
        let all = if max - min <= 1e-4 * max.abs() { format!(" = {max:.2}") } else { format!(", from {min:.3} to {max:.3}") };
        return Some(format!("The state is empty: it recalls zero, so every score is |v|^2{all}; equal scores keep the older writes."));
    }
    let (blindly, cached) = of_cache;
    let words =
        |r: &Range<usize>| if r.len() == 1 { format!("{noun} {}", r.start) } else { format!("{noun}s {} to {}", r.start, r.end - 1) };
    let before: Vec<String> = blind.iter().filter(|r| r.end <= step).map(words).collect();
    (!before.is_empty() && blindly > 0).then(|| {
        format!(
            "{blindly} of {} in the cache now were admitted while the state was empty ({}), by a score that says nothing of what it recalls.",
            plural(cached, "pair", "pairs"),
            before.join(", ")
        )
    })
}

/// A text that many of the pairs in the cache have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crowd {
    /// The text.
    pub text: String,
    /// Pairs with it in the cache.
    pub cached: usize,
    /// Pairs with it that were folded into the state and are not forgotten.
    pub folded: usize,
}

/// The texts that crowd the cache after `done` chunks and are hardly known to the state (one there for eight cached, or fewer): at most
/// two, each an eighth of the cache or more, and the first a quarter. None where tokens have no texts.
#[must_use]
pub fn crowds(stream: &Stream, index: &Residency, done: usize) -> Vec<Crowd> {
    let Some(texts) = &stream.labels().tokens else { return Vec::new() };
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut total = 0;
    for (write, text) in texts.iter().enumerate().take(index.window_range(done).start) {
        let place = index.at(write, done);
        let of_text = counts.entry(text).or_default();
        of_text[0] += usize::from(place == Place::Cache);
        of_text[1] += usize::from(place == Place::State);
        total += usize::from(place == Place::Cache);
    }
    let mut most: Vec<_> =
        counts.into_iter().filter(|(_, [cached, folded])| *cached > 1 && cached * 8 >= total && folded * 8 <= *cached).collect();
    most.sort_by(|a, b| b.1[0].cmp(&a.1[0]).then(a.0.cmp(b.0)));
    most.truncate(2);
    if most.first().is_none_or(|(_, [cached, _])| cached * 4 < total) {
        return Vec::new();
    }
    most.into_iter().map(|(text, [cached, folded])| Crowd { text: text.to_owned(), cached, folded }).collect()
}

/// What is to be said of them, in a cache of `cached` pairs.
#[must_use]
pub fn crowd_sentence(crowds: &[Crowd], cached: usize) -> Option<String> {
    let each = |c: &Crowd| format!("{} are {} ({} in the state)", c.cached, quoted(&c.text), c.folded);
    let list: Vec<String> = crowds.iter().map(each).collect();
    (!list.is_empty()).then(|| {
        let of = plural(cached, "cached pair", "cached pairs");
        format!("Of {of} {}: what stays in the cache is not folded, so the state does not learn it, and the next of its kind scores high again.", list.join(", "))
    })
}

/// Says it.
pub(super) fn explain(ui: &mut Ui, text: &str) {
    let text = RichText::new(text).size(SMALL).color(Ink::of(ui).limit);
    row::sentence(ui, text, 130.0);
}

/// The shade of those steps.
#[must_use]
pub fn shade(ink: &Ink) -> Color32 {
    ink.limit.gamma_multiply(if ink.dark { 0.22 } else { 0.16 })
}

/// Shades those steps, up to the playhead.
pub(super) fn shade_steps(ui: &Ui, chart: &Chart, held: &Held<'_>, ink: &Ink) {
    for steps in held.blind.iter().filter(|steps| steps.start < held.chunks) {
        let (from, to) = (chart.x_of(steps.start as f64), chart.x_of(steps.end.min(held.chunks) as f64));
        let area = Rect::from_x_y_ranges(from..=to, chart.rect.y_range());
        chart.painter(ui).rect_filled(area, 0.0, shade(ink));
    }
}

/// What is said of a step on hover.
pub(super) fn fact(held: &Held<'_>, step: usize) -> (&'static str, String) {
    let text = if held.blind.iter().any(|steps| steps.contains(&step)) {
        "empty: every score is |v|^2".to_owned()
    } else {
        plural(held.cached.map_or(0, |c| folded(held.index, c, held.head, step)), "pair", "pairs")
    };
    ("state before it", text)
}

#[cfg(test)]
mod tests {
    use super::super::model::Fate;
    use super::*;
    use crate::panel::common::testing::blank;
    use crate::session::hand::{Act, Hand};
    use crate::stream::Labels;
    use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, TraceBlock, Values, Width};
    use std::slice;

    fn spec(name: &'static str, width: Width) -> ChannelSpec {
        ChannelSpec {
            name,
            title: name,
            meaning: "",
            unit: "1",
            axis: Axis::Step,
            heads: Heads::KeyValue,
            width,
            kind: Kind::Whole,
            tolerance: Tolerance::Choice { margin: None },
        }
    }

    /// Window 2, chunk 2, cache 3, eight writes: step 1 admits 0 and 1; step 2 sees 2 and 3 and keeps 2; step 3 takes 5 for 0.
    fn run() -> (LaneTrace, Residency) {
        let mut trace = LaneTrace::new(&[spec("cached_count", Width::Fixed(1)), spec("admitted", Width::Ragged)], 1, 1);
        let mut block = TraceBlock::default();
        block.push(0, 0..4, Values::I32(vec![0, 2, 3, 3]));
        block.push_ragged(1, 0..4, Values::I32(vec![0, 1, 2, 5]), vec![0, 2, 1, 1]);
        trace.append(&block).unwrap();
        let mut index = Residency::new(2, 2, 8);
        for (admitted, displaced) in [(&[][..], &[][..]), (&[0, 1], &[]), (&[2], &[]), (&[5], &[0])] {
            index.push(admitted, displaced);
        }
        (trace, index)
    }

    #[test]
    fn the_state_is_empty_until_the_cache_is_full() {
        let (trace, index) = run();
        let cached = trace.channel("cached_count").unwrap();
        // After step 2 four writes have left the window and three are cached.
        assert_eq!((0..5).map(|done| folded(&index, cached, 0, done)).collect::<Vec<_>>(), [0, 0, 0, 1, 3]);
        let whole = 0..3;
        assert_eq!(blind_steps(&index, cached, 0), slice::from_ref(&whole), "steps 0, 1 and 2 scored against nothing");
        let (admitted, steps) = (trace.channel("admitted").unwrap(), 1..3);
        assert_eq!([3, 4].map(|done| admitted_blindly(admitted, &index, 0, slice::from_ref(&steps), done)), [3, 2]);
    }

    #[test]
    fn a_state_that_is_forgotten_is_empty_again() {
        // As in `run`, and two chunks that fold two each; the state is forgotten after 1, while it is empty, and after 5.
        let mut trace = LaneTrace::new(&[spec("cached_count", Width::Fixed(1))], 1, 1);
        let mut block = TraceBlock::default();
        block.push(0, 0..8, Values::I32(vec![0, 2, 3, 3, 3, 5, 5, 5]));
        trace.append(&block).unwrap();
        let forget = |step| Hand { step, kv_head: 0, what: Act::Forget };
        let mut index = Residency::new(2, 2, 16).with_hands(&[forget(5), forget(1)], 0);
        (0..8).for_each(|_| index.push(&[], &[]));
        let cached = trace.channel("cached_count").unwrap();
        // In step 5 the cache takes both: the state stays empty until step 6 folds into it.
        assert_eq!((0..9).map(|done| folded(&index, cached, 0, done)).collect::<Vec<_>>(), [0, 0, 0, 1, 3, 0, 0, 2, 4]);
        assert_eq!(blind_steps(&index, cached, 0), [0..3, 5..7]);
    }

    #[test]
    fn a_cache_full_of_copies_is_told() {
        let (_, index) = run();
        // After step 3 the cache holds 1, 2 and 5, the state 0, 3 and 4: `c` is known to the state as well as to the cache.
        let labels = Labels { tokens: Some("b a a c b c x x".split(' ').map(str::to_owned).collect()), ..Labels::default() };
        let found = crowds(&blank(8, labels), &index, 4);
        assert_eq!(found, [Crowd { text: "a".to_owned(), cached: 2, folded: 0 }]);
        let said = crowd_sentence(&found, 3).unwrap();
        assert!(said.starts_with("Of 3 cached pairs 2 are 'a' (0 in the state): "), "{said}");
        assert_eq!(crowd_sentence(&[], 3), None);
    }

    #[test]
    fn what_is_said_follows_the_step() {
        let of = |score| Candidate { write: 0, score, fate: Fate::Kept, from_window: true };
        let steps = 1..3;
        let blind = slice::from_ref(&steps);
        let equal = sentence(&[of(1.0), of(1.000_001)], (2, "step"), blind, (2, 2)).unwrap();
        assert_eq!(equal, "The state is empty: it recalls zero, so every score is |v|^2 = 1.00; equal scores keep the older writes.");
        assert!(sentence(&[of(0.5), of(2.0)], (2, "step"), blind, (2, 2)).unwrap().contains("|v|^2, from 0.500 to 2.000;"));
        let later = sentence(&[of(0.5)], (3, "step"), blind, (2, 3)).unwrap();
        assert!(later.starts_with("2 of 3 pairs in the cache now were admitted while the state was empty (steps 1 to 2)"), "{later}");
        assert_eq!(sentence(&[of(0.5)], (3, "step"), blind, (0, 3)), None);
        assert_eq!(sentence(&[], (0, "step"), blind, (0, 0)), None, "nothing was scored yet");
        let again = sentence(&[of(0.5)], (9, "step"), &[1..3, 5..6], (2, 3)).unwrap();
        assert!(again.contains("while the state was empty (steps 1 to 2, step 5)"), "{again}");
    }
}
