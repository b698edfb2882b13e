//! Scores: how badly the state recalls each candidate for the cache, through time and at this step, and the threshold.

mod blind;
mod model;
mod step;

use std::sync::{Arc, Weak};

use eframe::egui::{Align, Layout, Response, RichText, Shape, Stroke, TextureHandle, Ui, pos2, vec2};

use self::blind::{Crowd, admitted_blindly, blind, crowds, explain, shade, shade_steps};
use self::model::{Candidate, Fate, axis, bin, bin_range, candidates, histogram};
use self::step::{tell_candidate, this_step};
use super::common::{
    Canvas, Key, LaneChoice, canvas, chunks_seen, cover, crowd, facts, head_of, is_marked, lanes_with, marked_name, paint_until, plural,
    point_at, select_ring, texture, words,
};
use super::{Look, Panel};
use crate::app::command::Command;
use crate::layer::lola::residency::Residency;
use crate::session::plan::Plan;
use crate::trace::Channel;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::heatmap::{Colours, Grid, Rule, draw};
use crate::widget::legend::head_rows;
use crate::widget::line::Dash;
use crate::widget::palette::{Ink, Map};
use crate::widget::raster::{self, Mark, Point, nearest};
use crate::widget::ticks::number;

/// The text behind the panel's `?`.
pub const HELP: &str = "How badly the state recalls each candidate for the sparse cache: the score that decides who stays.\n\n\
Left: all steps up to the playhead; the colour of a cell, from its key's left end to its right, is how many candidates of that step had that score \
(ratios count; the exact number is on hover), diamonds are tokens of the marked role, the \
line is the admission threshold, the smallest score in the cache after the step, once the cache is full. Right: the candidates of the last step on \
the same axis, twice: first as a histogram, whose bars are as long as there are candidates, then each as a triangle: filled ones stay in the cache, \
open ones were folded into the state. Triangles are spread sideways so that they do not hide each other; how far means nothing.\n\n\
The formula: SRE(k, v) = |phi(k)^T H / (phi(k)^T s + 1e-6) - v|^2, against the state before the step. An empty state recalls zero, so the \
first scores are |v|^2. The highest stay. (With another score, fifo say, the axis shows that one.)\n\n\
Shaded steps scored against an empty state. Nothing is folded before the cache is full, so until then every score is |v|^2 and says nothing of what the \
state recalls: of equal scores the older stay. The larger the cache, the longer that lasts and the more of it is filled blindly: why a larger cache \
can do worse. What then stays in the cache is not folded, so the state does not learn it, and the next of its kind scores high again. Sentences above the \
plots say how many of the pairs in the cache came in blindly, and which texts crowd it.\n\n\
The axis is logarithmic where scores are above zero; scores that have no place on it lie at its edge and are counted in words. Hover for \
the exact numbers; click a candidate to select it.";

const BINS: usize = 48;

/// See [`HELP`].
#[derive(Default)]
pub struct Sre {
    lane: LaneChoice,
    index: Option<Indexed>,
    binned: Cached<Key<()>, Option<Binned>>,
    picture: Cached<Key<Canvas>, [TextureHandle; 2]>,
    step: Cached<Key<()>, Vec<Candidate>>,
    crowds: Cached<Key<()>, Vec<Crowd>>,
}

/// A run, a lane, a head, and where its tokens are.
type Indexed = (Weak<Plan>, usize, usize, Residency);

/// All steps' scores in bins.
struct Binned {
    axis: Axis,
    /// Scores without a place on the axis.
    beyond: usize,
    grid: Grid,
    most: f32,
    /// Steps that went in.
    covered: usize,
}

/// What the parts of the panel share.
struct Held<'a> {
    ids: &'a Channel,
    scores: &'a Channel,
    threshold: Option<&'a Channel>,
    index: &'a Residency,
    /// How many pairs are cached after each step.
    cached: Option<&'a Channel>,
    /// The steps that scored against an empty state.
    blind: std::ops::Range<usize>,
    head: usize,
    chunks: usize,
    steps: usize,
    chunk: usize,
    binned: &'a Binned,
}

impl Held<'_> {
    fn threshold(&self, step: usize) -> Option<f64> {
        self.threshold?.values(self.head).get(step).filter(|t| !t.is_nan())
    }
}

fn index<'a>(held: &'a mut Option<Indexed>, look: &Look<'_>, lane: usize, head: usize) -> Option<&'a Residency> {
    let trace = look.lanes[lane].trace;
    let (admitted, displaced) = (trace.channel("admitted")?, trace.channel("displaced")?);
    let setup = &look.lanes[lane].plan.setup;
    let kept = held.take().filter(|(plan, l, h, index)| {
        Weak::as_ptr(plan) == Arc::as_ptr(look.plan) && (*l, *h) == (lane, head) && index.steps() <= admitted.len()
    });
    let fresh = || {
        let window = setup.params.size("window");
        (Arc::downgrade(look.plan), lane, head, Residency::new(window, setup.chunk, look.plan.stream.writes()))
    };
    let (.., index) = held.insert(kept.unwrap_or_else(fresh));
    index.extend(admitted, displaced, head);
    Some(index)
}

impl Panel for Sre {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes: Vec<usize> = lanes_with(look, &["candidates", "candidate_scores", "admitted", "displaced"])
            .into_iter()
            .filter(|&l| look.lanes[l].plan.kind.params().iter().any(|p| p.name == "window"))
            .collect();
        let none = "No lane here scores candidates for a cache; add a LoLA lane.";
        let Self { lane: choice, index, step, .. } = self;
        let lane = choice.line(ui, look, &lanes, none, |lane| sentence(look, lane, index, step).unwrap_or_default());
        if let Some(lane) = lane {
            for text in said(look, lane, self).unwrap_or_default() {
                explain(ui, &text);
            }
            self.plots(ui, look, lane, commands);
        }
    }
}

/// The sentence beside the lane's name.
fn sentence(look: &Look<'_>, lane: usize, held: &mut Option<Indexed>, step_list: &mut Cached<Key<()>, Vec<Candidate>>) -> Option<String> {
    let trace = look.lanes[lane].trace;
    let (ids, scores) = (trace.channel("candidates")?, trace.channel("candidate_scores")?);
    let head = head_of(ids, look);
    let index = index(held, look, lane, head)?;
    let chunks = chunks_seen(look, lane).min(index.steps());
    let step = chunks.checked_sub(1)?;
    let list = step_list.get(Key::new(look, lane, head, step + 1, ()), || candidates(ids, scores, index, head, step));
    let kept = list.iter().filter(|c| c.fate == Fate::Kept).count();
    let threshold = trace.channel("threshold").and_then(|c| c.values(head).get(step)).filter(|t| !t.is_nan());
    let params = &look.lanes[lane].plan.setup.params;
    let no_cache = look.lanes[lane].plan.kind.params().iter().any(|p| p.name == "cache") && params.size("cache") == 0;
    let limit = match threshold {
        Some(t) => format!("threshold {}", number(t)),
        None if no_cache => "there is no cache".to_owned(),
        None => "the cache is not full".to_owned(),
    };
    let count = plural(list.len(), "candidate", "candidates");
    let mut text = format!("step {step}: {count}, {kept} kept, {} folded; {limit}", list.len() - kept);
    // Of a very large cache a lane records only the candidates that come from the window.
    let cached = trace.channel("cached_count").and_then(|c| c.values(head).get(step)).map_or(0, |n| n as usize);
    if kept < cached {
        text = format!("{text} ({} more stay in the cache; their scores are not recorded)", cached - kept);
    }
    Some(text)
}

/// What is to be said of steps that scored against an empty state, and of a cache full of copies.
fn said(look: &Look<'_>, lane: usize, panel: &mut Sre) -> Option<Vec<String>> {
    let trace = look.lanes[lane].trace;
    let (ids, scores, admitted) = (trace.channel("candidates")?, trace.channel("candidate_scores")?, trace.channel("admitted")?);
    let head = head_of(ids, look);
    let index = index(&mut panel.index, look, lane, head)?;
    let done = chunks_seen(look, lane).min(index.steps());
    let step = done.checked_sub(1)?;
    let list = panel.step.get(Key::new(look, lane, head, done, ()), || candidates(ids, scores, index, head, step));
    let blind = blind(look, lane, trace, index, head);
    let cached = trace.channel("cached_count").and_then(|c| c.values(head).get(step)).map_or(0, |n| n as usize);
    let first = blind::sentence(list, step, &blind, (admitted_blindly(admitted, index, head, blind.clone(), done), cached));
    // Before the state holds anything, of a lane with another score too, there is nothing that it could have learnt.
    let learning = !blind.is_empty() && step >= blind.end;
    let crowds: &[Crowd] =
        if learning { panel.crowds.get(Key::new(look, lane, head, done, ()), || crowds(&look.plan.stream, index, done)) } else { &[] };
    Some(first.into_iter().chain(blind::crowd_sentence(crowds, cached)).collect())
}

impl Sre {
    fn plots(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize, commands: &mut Vec<Command>) {
        let trace = look.lanes[lane].trace;
        let (Some(ids), Some(scores)) = (trace.channel("candidates"), trace.channel("candidate_scores")) else { return };
        let head = head_of(ids, look);
        let chunk = look.lanes[lane].plan.setup.chunk;
        let steps = look.plan.stream.chunks(chunk);
        let unit = scores.spec().unit;
        let covered = cover(scores.len(), chunks_seen(look, lane).min(scores.len()), steps);
        let binned = self.binned.get(Key::new(look, lane, head, covered, ()), || bins_of(scores, head, covered, steps, unit));
        let Some(index) = index(&mut self.index, look, lane, head) else { return };
        let Some(binned) = binned else {
            words(ui, "No candidate has been scored yet: nothing has left the window.");
            return;
        };
        if binned.beyond > 0 {
            let lost = plural(binned.beyond, "score has", "scores have");
            ui.label(RichText::new(format!("{lost} no place on this axis and lie at its edge")).color(ui.visuals().warn_fg_color));
        }
        let chunks = chunks_seen(look, lane).min(index.steps());
        let threshold = trace.channel("threshold");
        let blind = blind(look, lane, trace, index, head);
        let cached = trace.channel("cached_count");
        let held = Held { ids, scores, threshold, index, cached, blind, head, chunks, steps, chunk, binned };
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
            let legend = legend(look, &held, &Ink::of(ui));
            // Both plots are under as many rows, or one score would lie at two heights.
            let rows = head_rows(ui, sizes[0], &held.binned.axis.label, &legend);
            through_time(ui, look, lane, &held, (sizes[0], &legend, rows), &mut self.picture, commands);
            let step = held.chunks.checked_sub(1);
            let list: &[Candidate] = match step {
                Some(step) => self.step.get(Key::new(look, lane, head, step + 1, ()), || candidates(ids, scores, index, head, step)),
                None => &[],
            };
            this_step(ui, look, &held, list, (sizes[1], if beside { rows } else { 1 }), commands);
        });
    }
}

fn bins_of(scores: &Channel, head: usize, covered: usize, steps: usize, unit: &str) -> Option<Binned> {
    let label = if unit == "1" { "score".to_owned() } else { format!("score ({unit})") };
    // Ids as scores (first in, first out) are places in the stream: differences count there, not ratios.
    let end = covered.checked_sub(1).map_or(0, |last| scores.range(head, last).end);
    let (axis, beyond) = axis(scores.reals(head).get(..end).unwrap_or_default(), &label, unit != "tokens")?;
    let grid = histogram(scores, head, &axis, BINS, covered, steps);
    let most = grid.cells.iter().flatten().copied().fold(1.0, f32::max);
    Some(Binned { axis, beyond, grid, most, covered })
}

/// The legend of the left plot, with the key of its colours.
fn legend(look: &Look<'_>, held: &Held<'_>, ink: &Ink) -> Vec<Entry> {
    let key = format!("1 to {} candidates", number(f64::from(held.binned.most.max(2.0))));
    let mut legend =
        vec![Entry::new(Sign::Line(Dash::Solid), ink.limit, "threshold"), Entry::new(Sign::Ramp(Map::Cividis), ink.plain, key)];
    if let Some(name) = marked_name(&look.plan.stream) {
        legend.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    if !held.blind.is_empty() {
        legend.push(Entry::new(Sign::Square, shade(ink), "state empty"));
    }
    legend
}

fn through_time(
    ui: &mut Ui,
    look: &Look<'_>,
    lane: usize,
    held: &Held<'_>,
    (size, legend, rows): (eframe::egui::Vec2, &[Entry], usize),
    cached: &mut Cached<Key<Canvas>, [TextureHandle; 2]>,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let x = Axis::count(format!("step of {}", plural(held.chunk, "write", "writes")), held.steps);
    let describe = format!("Scores of the candidates over {} of {} steps, with the admission threshold", held.chunks, held.steps);
    let (response, chart) = Chart::show_under(ui, size, x, held.binned.axis.clone(), legend, &describe, rows);
    let canvas = canvas(ui, chart.rect);
    let scale = ui.pixels_per_point();
    let pictures = cached.get(Key::new(look, lane, held.head, held.binned.covered, canvas), || {
        let colours =
            Colours { map: Map::Cividis, min: 1.0, max: held.binned.most.max(2.0), log: true, paper: (!ink.dark).then_some(ink.paper) };
        let heat = draw(&held.binned.grid, canvas.0[0], canvas.0[1], Rule::Max, colours);
        let points = marked_points(look, held, &chart, canvas.0);
        let inks = raster::Inks { plain: ink.plain, ring: ink.paper, diamond: ink.mark };
        let marks = raster::draw(canvas.0[0], canvas.0[1], scale * 0.8, &points, inks);
        [texture(ui, "scores", heat), texture(ui, "marked scores", marks)]
    });
    shade_steps(ui, &chart, held, &ink);
    for picture in pictures {
        paint_until(ui, &chart, picture, held.chunks as f64);
    }
    threshold_line(ui, &chart, held, &ink);
    chart.playhead(ui, held.chunks as f64);
    if let Some(token) = look.selection.current() {
        score_line(ui, &chart, held, token, &ink);
    }
    hover_time(look, &response, &chart, held, commands);
}

/// Every score of a marked token, as a diamond in its step.
fn marked_points(look: &Look<'_>, held: &Held<'_>, chart: &Chart, [width, height]: [usize; 2]) -> Vec<Point> {
    let mut points = Vec::new();
    for step in 0..held.binned.covered.min(held.steps) {
        let range = held.scores.range(held.head, step);
        for (&id, at) in held.ids.wholes_at(held.head, step).iter().zip(range) {
            if usize::try_from(id).is_ok_and(|w| is_marked(&look.plan.stream, w)) {
                let score = held.scores.values(held.head).get(at).unwrap_or(f64::NAN);
                let x = (chart.x.share(step as f64 + 0.5) * width as f64) as f32;
                let y = ((1.0 - chart.y.share(score).clamp(0.0, 1.0)) * height as f64) as f32;
                points.push(Point { x, y, mark: Mark::Diamond });
            }
        }
    }
    points
}

/// The threshold after each step, broken where the cache is not full.
fn threshold_line(ui: &Ui, chart: &Chart, held: &Held<'_>, ink: &Ink) {
    let painter = chart.painter(ui);
    let mut line = Vec::new();
    for step in 0..=held.chunks {
        match (step < held.chunks).then(|| held.threshold(step)).flatten() {
            Some(t) => {
                let y = chart.y_of(t);
                line.push(pos2(chart.x_of(step as f64), y));
                line.push(pos2(chart.x_of(step as f64 + 1.0), y));
            }
            None if !line.is_empty() => {
                let points = std::mem::take(&mut line);
                painter.add(Shape::line(points.clone(), Stroke::new(4.0, ink.paper.gamma_multiply(0.8))));
                painter.add(Shape::line(points, Stroke::new(1.8, ink.limit)));
            }
            None => {}
        }
    }
}

/// One token's score in every step in which it was a candidate.
fn score_line(ui: &Ui, chart: &Chart, held: &Held<'_>, token: usize, ink: &Ink) {
    let mut line = Vec::new();
    for step in 0..held.chunks {
        if let Some(score) = score_of(held, token, step) {
            line.push(chart.pos(step as f64 + 0.5, score));
        }
    }
    let Some(last) = line.last().copied() else { return };
    chart.painter(ui).add(Shape::line(line, Stroke::new(1.4, ink.select)));
    select_ring(ui, chart, last);
}

fn score_of(held: &Held<'_>, token: usize, step: usize) -> Option<f64> {
    let place = held.ids.wholes_at(held.head, step).binary_search(&(token as i32)).ok()?;
    held.scores.values(held.head).get(held.scores.range(held.head, step).start + place)
}

fn hover_time(look: &Look<'_>, response: &Response, chart: &Chart, held: &Held<'_>, commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    let (x, score) = chart.values_at(pointer);
    let step = x.max(0.0) as usize;
    if step >= held.chunks {
        response.clone().on_hover_text_at_pointer("after the playhead");
        point_at(response, None, commands);
        return;
    }
    let list = candidates(held.ids, held.scores, held.index, held.head, step);
    // A marked token near the pointer is what is meant; else the cell.
    let place = |c: &Candidate| chart.pos(step as f64 + 0.5, f64::from(c.score));
    let near = list.iter().enumerate().filter(|(_, c)| is_marked(&look.plan.stream, c.write)).map(|(i, c)| (i, [pointer.x, place(c).y]));
    if let Some(found) = nearest(near, [pointer.x, pointer.y], 5.0) {
        tell_candidate(look, response, held, &list[found], step);
        point_at(response, Some(list[found].write), commands);
        return;
    }
    let Some(row) = bin(&chart.y, score as f32, BINS) else { return };
    let range = bin_range(&chart.y, row, BINS);
    let within: Vec<&Candidate> = list.iter().filter(|c| bin(&chart.y, c.score, BINS) == Some(row)).collect();
    let kept = within.iter().filter(|c| c.fate == Fate::Kept).count();
    let mut rows = vec![
        ("scores", format!("{} to {}", number(range.start), number(range.end))),
        ("candidates", format!("{} of {}: {kept} kept, {} folded", within.len(), list.len(), within.len() - kept)),
    ];
    if let Some(t) = held.threshold(step) {
        rows.push(("threshold", number(t)));
    }
    rows.push(blind::fact(held, step));
    if let Some(each) = crowd(response, chart, held.steps) {
        rows.push(("drawn", format!("the {} count of the {each} steps in each pixel", Rule::Max.title())));
    }
    facts(response, &format!("step {step}"), &rows);
    point_at(response, None, commands);
}
