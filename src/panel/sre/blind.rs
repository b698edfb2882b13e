//! The steps whose scores say nothing: while the state is empty it recalls zero, and SRE is |v|^2, whatever the key.
//!
//! On needles this is why a larger cache does worse (TASKS.md): nothing is folded before the cache is full, so all that goes in
//! before then is admitted blindly, the oldest first among equals.

use std::collections::BTreeMap;

use eframe::egui::{Color32, Label, Rect, RichText, Ui};

use super::Held;
use super::model::Candidate;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::Look;
use crate::panel::common::{plural, quoted};
use crate::stream::Stream;
use crate::trace::{Channel, LaneTrace};
use crate::widget::chart::{Chart, SMALL};
use crate::widget::palette::Ink;

/// Pairs that are in the state after `done` chunks: what has left the window and is not cached.
#[must_use]
pub fn folded(index: &Residency, cached: &Channel, head: usize, done: usize) -> usize {
    let cached = done.checked_sub(1).map_or(0, |step| cached.wholes(head).get(step).copied().unwrap_or(0));
    index.window_range(done).start.saturating_sub(usize::try_from(cached).unwrap_or(0))
}

/// Steps from the start that score against an empty state: nothing ever leaves it, so once it holds something it does for good.
#[must_use]
pub fn blind_steps(index: &Residency, cached: &Channel, head: usize) -> usize {
    let (mut low, mut high) = (0, index.steps());
    while low < high {
        let middle = usize::midpoint(low, high);
        if folded(index, cached, head, middle) == 0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The steps among the first that scored something while the state was empty, for a lane whose score is SRE; empty for another.
pub(super) fn blind(look: &Look<'_>, lane: usize, trace: &LaneTrace, index: &Residency, head: usize) -> std::ops::Range<usize> {
    let plan = look.lanes[lane].plan;
    let is_sre = plan.kind.params().iter().any(|p| p.name == "score") && plan.setup.params.choice("score") == "sre";
    let (Some(ids), Some(cached)) = (trace.channel("candidates"), trace.channel("cached_count")) else { return 0..0 };
    if !is_sre {
        return 0..0;
    }
    let end = blind_steps(index, cached, head).min(ids.len());
    let first = (0..end).find(|&s| !ids.wholes_at(head, s).is_empty()).unwrap_or(end);
    first..end
}

/// Pairs in the cache after `done` chunks that were admitted in the steps `blind`.
#[must_use]
pub fn admitted_blindly(admitted: &Channel, index: &Residency, head: usize, blind: std::ops::Range<usize>, done: usize) -> usize {
    let still = |id: &&i32| usize::try_from(**id).is_ok_and(|w| index.at(w, done) == Place::Cache);
    blind.map(|step| admitted.wholes_at(head, step).iter().filter(still).count()).sum()
}

/// What is to be said at a step, if it is one of those or comes after them.
#[must_use]
pub fn sentence(list: &[Candidate], step: usize, blind: &std::ops::Range<usize>, of_cache: (usize, usize)) -> Option<String> {
    if blind.contains(&step) && !list.is_empty() {
        let scores = list.iter().map(|c| c.score);
        let (min, max) = scores.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), s| (a.min(s), b.max(s)));
        // Values of one length in exact arithmetic differ in the last digits of float32.
        let all = if max - min <= 1e-4 * max.abs() { format!(" = {max:.2}") } else { format!(", from {min:.3} to {max:.3}") };
        return Some(format!("The state is empty: it recalls zero, so every score is |v|^2{all}; equal scores keep the older writes."));
    }
    let (blindly, cached) = of_cache;
    (step >= blind.end && blindly > 0).then(|| {
        format!(
            "{blindly} of {} in the cache now were admitted while the state was empty ({}), by a score that says nothing of what it recalls.",
            plural(cached, "pair", "pairs"),
            if blind.len() == 1 { format!("step {}", blind.start) } else { format!("steps {} to {}", blind.start, blind.end - 1) }
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
    /// Pairs with it in the state.
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
        let cached = index.at(write, done) == Place::Cache;
        counts.entry(text).or_default()[usize::from(!cached)] += 1;
        total += usize::from(cached);
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
    ui.add(Label::new(RichText::new(text).size(SMALL).color(Ink::of(ui).limit)).wrap());
}

/// The shade of those steps.
#[must_use]
pub fn shade(ink: &Ink) -> Color32 {
    ink.limit.gamma_multiply(if ink.dark { 0.22 } else { 0.16 })
}

/// Shades those steps, up to the playhead.
pub(super) fn shade_steps(ui: &Ui, chart: &Chart, held: &Held<'_>, ink: &Ink) {
    let (start, end) = (held.blind.0, held.blind.1.min(held.chunks));
    if start < end {
        let area = Rect::from_x_y_ranges(chart.x_of(start as f64)..=chart.x_of(end as f64), chart.rect.y_range());
        chart.painter(ui).rect_filled(area, 0.0, shade(ink));
    }
}

/// What is said of a step on hover.
pub(super) fn fact(held: &Held<'_>, step: usize) -> (&'static str, String) {
    let text = if (held.blind.0..held.blind.1).contains(&step) {
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
    use crate::stream::{Labels, StreamParts, Targets};
    use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, TraceBlock, Values, Width};

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
        assert_eq!(blind_steps(&index, cached, 0), 3, "steps 0, 1 and 2 scored against nothing");
        let admitted = trace.channel("admitted").unwrap();
        assert_eq!([3, 4].map(|done| admitted_blindly(admitted, &index, 0, 1..3, done)), [3, 2]);
    }

    #[test]
    fn a_cache_full_of_copies_is_told() {
        let (_, index) = run();
        // After step 3 the cache holds 1, 2 and 5, the state 0, 3 and 4: `c` is known to the state as well as to the cache.
        let labels = Labels { tokens: Some("b a a c b c x x".split(' ').map(str::to_owned).collect()), ..Labels::default() };
        let rows = ndarray::Array3::zeros((1, 8, 1));
        let parts = StreamParts {
            keys: rows.clone(),
            values: rows,
            queries: ndarray::Array3::zeros((1, 0, 1)),
            after: Vec::new(),
            beta: 1.0,
            targets: Targets::None,
            labels,
        };
        let found = crowds(&Stream::new(parts).unwrap(), &index, 4);
        assert_eq!(found, [Crowd { text: "a".to_owned(), cached: 2, folded: 0 }]);
        let said = crowd_sentence(&found, 3).unwrap();
        assert!(said.starts_with("Of 3 cached pairs 2 are 'a' (0 in the state): "), "{said}");
        assert_eq!(crowd_sentence(&[], 3), None);
    }

    #[test]
    fn what_is_said_follows_the_step() {
        let of = |score| Candidate { write: 0, score, fate: Fate::Kept, from_window: true };
        let equal = sentence(&[of(1.0), of(1.000_001)], 2, &(1..3), (2, 2)).unwrap();
        assert_eq!(equal, "The state is empty: it recalls zero, so every score is |v|^2 = 1.00; equal scores keep the older writes.");
        assert!(sentence(&[of(0.5), of(2.0)], 2, &(1..3), (2, 2)).unwrap().contains("|v|^2, from 0.500 to 2.000;"));
        let later = sentence(&[of(0.5)], 3, &(1..3), (2, 3)).unwrap();
        assert!(later.starts_with("2 of 3 pairs in the cache now were admitted while the state was empty (steps 1 to 2)"), "{later}");
        assert_eq!(sentence(&[of(0.5)], 3, &(1..3), (0, 3)), None);
        assert_eq!(sentence(&[], 0, &(1..3), (0, 0)), None, "nothing was scored yet");
    }
}
