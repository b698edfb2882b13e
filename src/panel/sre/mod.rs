//! Scores: what decides who stays in the sparse cache: at a step, through time, for one token, and against what keys and values are like.

mod blind;
mod heat;
mod model;
mod names;
mod pairs;
mod quantiles;
mod said;
mod spread;
mod step;
mod token;
mod whole;

use std::ops::Range;

use eframe::egui::{Align, Label, Layout, RichText, TextureHandle, Ui, vec2};

use self::blind::{Crowd, blind, explain};
use self::heat::{legend, through_time};
use self::model::{Beyond, Candidate, axis, candidates, histogram};
use self::pairs::Pairs;
use self::quantiles::Quantiles;
use self::step::this_step;
use self::whole::Whole;
use super::common::{Canvas, Key, chunk_noun, chunks_seen, cover, plural, words};
use super::residency::lanes;
use super::row::{Tab, tabs};
use super::{LaneChoice, Look, Panel};
use crate::app::command::Command;
use crate::app::facts::Index;
use crate::layer::lola::residency::Residency;
use crate::panel::choices::Choices;
use crate::session::hand::{self, Hand};
use crate::trace::Channel;
use crate::widget::cached::Cached;
use crate::widget::chart::Axis;
use crate::widget::heatmap::Grid;
use crate::widget::legend::head_rows;
use crate::widget::palette::Ink;

/// The text behind the panel's `?`.
pub const HELP: &str = "How badly the state recalls each candidate for the sparse cache: the score that decides who stays. Candidates are the cached pairs and those that leave the window.\n\n\
The formula: SRE(k, v) = |phi(k)^T H / (phi(k)^T s + 1e-6) - v|^2, the self-recall error, against the state before the step. An empty state recalls zero, so the \
first scores are |v|^2. The highest stay, and what is kept by hand whatever its score. (With another score, the axis says which: a write's index, chance, the attention received, or the feature map's error as a kernel.)\n\n\
All: every step up to the playhead; the colour of a cell, from its key's left end to its right, is how many candidates of that step had that score \
(ratios count), thin lines are tokens of the marked role, with a diamond where each begins, ends or moves; the line through all steps is the admission threshold, the smallest score in the cache after the step of those not kept by hand, once the cache is full. Right of it the candidates of the last step on \
the same axis: a histogram, whose bars are as long as there are candidates, then each as a triangle: filled ones stay in the cache, open ones were folded into the state. Triangles are spread sideways so that they do not hide each other; how far means nothing.\n\n\
Step: the last step alone. Those that were cached before and those that come from the window stand apart, so that an open triangle on the left was displaced and a filled one on the right was admitted; these are named where there is room, and listed. What is counted is the update's doing; what a hand evicted after it is named apart.\n\n\
Quantiles: through time, how the scores of all candidates of a step are spread: half of them lie in the dark band, nine tenths in the light one (between two scores the quantile is interpolated).\n\n\
Token: the score of the selected tokens in every step in which they were candidates: a filled triangle where one came into the cache, an open one where it was folded. Without a selection, of the marked role.\n\n\
Key, value: the last step's scores against the length of the value, |v|, and against the novelty of the key, 1 - the largest cosine of the key with any earlier key of the head: 0 for a direction that came before. Where every value has the same length, that is said, and novelty has the room. Novelty is found in the background. Drag around points to select them.\n\n\
Shaded steps scored against an empty state. Nothing is folded before the cache is full, so until then every score is |v|^2 and says nothing of what the \
state recalls: of equal scores the older stay. A state that a hand forgets is empty again until something is folded into it. The larger the cache, the longer that lasts and the more of it is filled blindly: why a larger cache \
can do worse. What then stays in the cache is not folded, so the state does not learn it, and the next of its kind scores high again. Sentences above the \
plots say how many of the pairs in the cache came in blindly, and which texts crowd it.\n\n\
The axis is logarithmic where scores are above zero; scores that have no place on it lie at its edge and are counted in words, NaN and infinity by name. Hover for \
the exact numbers; click a candidate to select it.";

const BINS: usize = 48;

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    #[default]
    All,
    Step,
    Quantiles,
    Token,
    Pairs,
}

const TABS: [Tab<View>; 5] = [
    (View::All, "All", "Every candidate's score, step by step"),
    (View::Step, "Step", "The candidates of the last step, and who came and went"),
    (View::Quantiles, "Quantiles", "How the scores of a step are spread, through time"),
    (View::Token, "Token", "The score of the selected tokens through time"),
    (View::Pairs, "Key, value", "Scores against the length of the value and the novelty of the key"),
];

/// See [`HELP`].
#[derive(Default)]
pub struct Sre {
    view: View,
    lane: LaneChoice,
    index: Index,
    binned: Cached<Key<()>, Option<Binned>>,
    picture: Cached<Key<Canvas>, [TextureHandle; 2]>,
    step: Cached<Key<()>, Vec<Candidate>>,
    crowds: Cached<Key<()>, Vec<Crowd>>,
    quantiles: Quantiles,
    whole: Whole,
    pairs: Pairs,
}

/// All steps' scores in bins.
struct Binned {
    axis: Axis,
    /// Scores without a place on the axis.
    beyond: Beyond,
    grid: Grid,
    most: f32,
    /// Steps that went in.
    covered: usize,
}

/// What the parts of the panel share.
#[derive(Clone, Copy)]
struct Held<'a> {
    lane: usize,
    ids: &'a Channel,
    scores: &'a Channel,
    threshold: Option<&'a Channel>,
    index: &'a Residency,
    /// How many pairs are cached after each step.
    cached: Option<&'a Channel>,
    /// The steps that scored against an empty state.
    blind: &'a [Range<usize>],
    /// What hands do to the lane.
    hands: &'a [Hand],
    /// Whom they evicted, step by step.
    evictions: Option<&'a Channel>,
    head: usize,
    chunks: usize,
    steps: usize,
    chunk: usize,
    window: usize,
    /// What the lane's chunks are called.
    noun: &'static str,
    binned: &'a Binned,
}

impl Held<'_> {
    fn threshold(&self, step: usize) -> Option<f64> {
        self.threshold?.values(self.head).get(step).filter(|t| !t.is_nan())
    }

    /// The threshold where it is a line that can be drawn: where hands keep all of the cache, no score is enough.
    fn threshold_line(&self, step: usize) -> Option<f64> {
        self.threshold(step).filter(|t| t.is_finite())
    }

    /// The score of a token in a step, where it was a candidate and is recorded.
    fn score(&self, token: usize, step: usize) -> Option<f64> {
        let place = self.ids.wholes_at(self.head, step).binary_search(&(token as i32)).ok()?;
        self.scores.values(self.head).get(self.scores.range(self.head, step).start + place)
    }

    /// True if a hand took a write out of the cache at the end of a step.
    fn evicted(&self, write: usize, step: usize) -> bool {
        hand::evicted_in(self.evictions, self.head, write, step)
    }

    /// What became of a candidate in a step: in the update, and by hand after it.
    fn story(&self, c: &Candidate, step: usize) -> &'static str {
        c.story(self.evicted(c.write, step))
    }

    /// The axis of time.
    fn x(&self) -> Axis {
        Axis::count(format!("{} of {}", self.noun, plural(self.chunk, "write", "writes")), self.steps)
    }
}

impl Panel for Sre {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes(look, &["candidates", "candidate_scores"]);
        let none = "No lane here scores candidates for a cache; add a LoLA lane.";
        let Self { view, lane: choice, .. } = self;
        let Some(lane) = choice.row(ui, look, &lanes, none, |ui, _| tabs(ui, view, &TABS, 0.0)) else { return };
        if ui.available_height() > 150.0 {
            if let Some(text) = said::sentence(look, lane, &mut self.index, &mut self.step) {
                ui.add(Label::new(text).truncate());
            }
            if self.view == View::All {
                for text in said::of_the_state(look, lane, self).unwrap_or_default() {
                    explain(ui, &text);
                }
            }
        }
        self.show(ui, look, lane, commands);
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("view", &mut self.view, TABS.map(|(view, name, _)| (view, name)));
        choices.lane("lane", &mut self.lane);
        self.pairs.choices(choices);
    }
}

impl Sre {
    fn show(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize, commands: &mut Vec<Command>) {
        let trace = look.lanes[lane].trace;
        let (Some(ids), Some(scores)) = (trace.channel("candidates"), trace.channel("candidate_scores")) else { return };
        let Some((index, head)) = self.index.of(look, lane) else { return };
        let setup = &look.lanes[lane].plan.setup;
        let steps = look.plan.stream.chunks(setup.chunk);
        let covered = cover(scores.len(), chunks_seen(look, lane).min(scores.len()), steps);
        let label = said::score_label(look, lane, scores.spec().unit);
        let by_ratio = scores.spec().unit != "tokens";
        let binned = self.binned.get(Key::new(look, lane, head, covered, ()), || bins_of(scores, head, covered, steps, (&label, by_ratio)));
        let Some(binned) = binned else {
            words(ui, "No candidate has been scored yet: nothing has left the window.");
            return;
        };
        if let Some(lost) = binned.beyond.words() {
            ui.label(RichText::new(lost).color(ui.visuals().warn_fg_color));
        }
        let blind = blind(look, lane, trace, index, head);
        let held = Held {
            lane,
            ids,
            scores,
            threshold: trace.channel("threshold"),
            index,
            cached: trace.channel("cached_count"),
            blind: &blind,
            hands: &setup.hands,
            evictions: trace.channel(hand::EVICTED),
            head,
            chunks: chunks_seen(look, lane).min(index.steps()),
            steps,
            chunk: setup.chunk,
            window: setup.params.size("window"),
            noun: chunk_noun(look.plan, look.lanes[lane].plan),
            binned,
        };
        let list: &[Candidate] = match held.chunks.checked_sub(1) {
            Some(step) => self.step.get(Key::new(look, lane, head, step + 1, ()), || candidates(ids, scores, index, head, step)),
            None => &[],
        };
        match self.view {
            View::All => all(ui, look, &held, list, &mut self.picture, commands),
            View::Step => self.whole.show(ui, look, &held, list, commands),
            View::Quantiles => self.quantiles.show(ui, look, &held),
            View::Token => token::show(ui, look, &held, commands),
            View::Pairs => self.pairs.show(ui, look, &held, list, commands),
        }
    }
}

/// All steps, and the last one beside them.
fn all(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    list: &[Candidate],
    picture: &mut Cached<Key<Canvas>, [TextureHandle; 2]>,
    commands: &mut Vec<Command>,
) {
    let size = vec2(ui.available_width(), ui.available_height().max(90.0));
    let gap = 2.0;
    // Side by side on one axis of scores; below each other only in a panel that is narrow and high enough for two.
    let beside = size.x >= 280.0 || (size.x >= 190.0 && size.y < 260.0);
    let right = (size.x * 0.34).clamp(90.0, 260.0);
    let sizes = if beside {
        [vec2(size.x - right - gap, size.y), vec2(right, size.y)]
    } else {
        [vec2(size.x, size.y * 0.5 - gap), vec2(size.x, size.y * 0.5 - gap)]
    };
    let layout = if beside { Layout::left_to_right(Align::Min) } else { Layout::top_down(Align::Min) };
    ui.with_layout(layout, |ui| {
        ui.spacing_mut().item_spacing = vec2(gap, gap);
        let legend = legend(look, held, &Ink::of(ui));
        // Both plots are under as many rows, or one score would lie at two heights.
        let rows = head_rows(ui, sizes[0], &held.binned.axis.label, &legend);
        through_time(ui, look, held, (sizes[0], &legend, rows), picture, commands);
        this_step(ui, look, held, list, (sizes[1], if beside { rows } else { 1 }), commands);
    });
}

fn bins_of(scores: &Channel, head: usize, covered: usize, steps: usize, (label, by_ratio): (&str, bool)) -> Option<Binned> {
    // Ids as scores (first in, first out) are places in the stream: differences count there, not ratios.
    let end = covered.checked_sub(1).map_or(0, |last| scores.range(head, last).end);
    let (axis, beyond) = axis(scores.reals(head).get(..end).unwrap_or_default(), label, by_ratio)?;
    let grid = histogram(scores, head, &axis, BINS, covered, steps);
    let most = grid.cells.iter().flatten().copied().fold(1.0, f32::max);
    Some(Binned { axis, beyond, grid, most, covered })
}
