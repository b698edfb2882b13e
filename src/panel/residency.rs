//! Cache residency: which of LoLA's three memories holds each token, step by step.

use std::sync::{Arc, Weak};

use eframe::egui::{Align2, FontId, Rect, RichText, Stroke, StrokeKind, TextureHandle, Ui, pos2, vec2};

use super::common::{
    Canvas, Key, LaneChoice, canvas, chunks_seen, cover, facts, head_of, is_marked, lanes_with, marked, paint_until, plural, point_at,
    role_name, select_ring, texture, token_name, words,
};
use super::residency_picture::{cells, picture};
use super::{Look, Panel};
use crate::app::command::Command;
use crate::layer::lola::residency::{Place, Residency};
use crate::session::plan::Plan;
use crate::trace::LaneTrace;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign};
use crate::widget::palette::Ink;
use crate::widget::ticks::number;

/// The text behind the panel's `?`.
pub const HELP: &str = "Where each token is remembered after each step, up to the playhead: striped blue, raw in the sliding window; plain yellow, \
whole in the sparse cache; dotted grey, folded into the linear state, from which nothing returns.\n\n\
Read a row from left to right: a token is written, passes through the window, and then either stays whole (a yellow line as long as it is \
cached) or is folded. The rows of the marked role (the needle) are outlined.\n\n\
The formula: pairs that leave the window and pairs already cached are scored by SRE(k, v) = |phi(k)^T H / (phi(k)^T s + 1e-6) - v|^2, how badly \
the state recalls them; the highest stay in the cache, all others are folded. (With another score, fifo say, that one decides.)\n\n\
Where a pixel stands for several tokens yellow covers it in the share of them that are cached, but never less than a quarter while any is; under it, the pixel is blue if any is in the window, else grey. Hover for the token, since when it is \
there, and who took its place; click to select it.";

/// See [`HELP`].
#[derive(Default)]
pub struct ResidencyPanel {
    lane: LaneChoice,
    index: Option<Indexed>,
    picture: Cached<Key<Canvas>, TextureHandle>,
}

/// The index of one lane and head of one run, extended as the trace grows.
struct Indexed {
    plan: Weak<Plan>,
    lane: usize,
    head: usize,
    index: Residency,
}

/// One lane's residency and the channels beside it.
struct Held<'a> {
    index: &'a Residency,
    trace: &'a LaneTrace,
    head: usize,
    /// Chunks at the playhead.
    chunks: usize,
    chunk: usize,
}

/// Indexes what the trace of a lane has gained, and gathers what the panel draws.
fn held<'a>(indexed: &'a mut Option<Indexed>, look: &Look<'a>, lane: usize) -> Option<Held<'a>> {
    let trace = look.lanes[lane].trace;
    let (admitted, displaced) = (trace.channel("admitted")?, trace.channel("displaced")?);
    let head = head_of(admitted, look);
    let setup = &look.lanes[lane].plan.setup;
    // A run that started again in the same plan has fewer steps than were indexed.
    let same = |i: &Indexed| {
        Weak::as_ptr(&i.plan) == Arc::as_ptr(look.plan) && (i.lane, i.head) == (lane, head) && i.index.steps() <= admitted.len()
    };
    let fresh = || {
        let index = Residency::new(setup.params.size("window"), setup.chunk, look.plan.stream.writes());
        Indexed { plan: Arc::downgrade(look.plan), lane, head, index }
    };
    let kept = indexed.take().filter(same).unwrap_or_else(fresh);
    let index = &mut indexed.insert(kept).index;
    index.extend(admitted, displaced, head);
    Some(Held { index, trace, head, chunks: chunks_seen(look, lane).min(index.steps()), chunk: setup.chunk })
}

impl Panel for ResidencyPanel {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes: Vec<usize> = lanes_with(look, &["admitted", "displaced"])
            .into_iter()
            .filter(|&l| look.lanes[l].plan.kind.params().iter().any(|p| p.name == "window"))
            .collect();
        let Self { lane: choice, index, picture } = self;
        let none = "No lane here keeps a sparse cache; add a LoLA lane.";
        let lane = choice.row(ui, look, &lanes, none, |ui, lane| {
            if let Some(held) = held(index, look, lane) {
                sentence(ui, look, &held);
            }
        });
        let Some(held) = lane.and_then(|lane| held(index, look, lane)) else { return };
        if held.index.steps() == 0 {
            words(ui, "Not computed yet.");
            return;
        }
        show(ui, look, lane.unwrap_or(0), &held, picture, commands);
    }
}

fn show(
    ui: &mut Ui,
    look: &Look<'_>,
    lane: usize,
    held: &Held<'_>,
    cached: &mut Cached<Key<Canvas>, TextureHandle>,
    commands: &mut Vec<Command>,
) {
    let stream = &look.plan.stream;
    let ink = Ink::of(ui);
    let steps = stream.chunks(held.chunk);
    let legend = [
        Entry::new(Sign::Stripes, ink.window, "window"),
        Entry::new(Sign::Square, ink.cache, "cache"),
        Entry::new(Sign::Dotted, ink.state, "state"),
    ];
    let describe = format!("Residency of {} tokens over {} of {steps} steps. {}", stream.writes(), held.chunks, count_words(look, held));
    let x = Axis::count(format!("step of {}", plural(held.chunk, "write", "writes")), steps);
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let (response, chart) = Chart::show(ui, size, x, Axis::count("token", stream.writes()), &legend, &describe);
    let canvas = canvas(ui, chart.rect);
    let covered = cover(held.index.steps(), held.chunks, steps);
    let scale = ui.pixels_per_point();
    let picture = cached.get(Key::new(look, lane, held.head, covered, canvas), || {
        texture(ui, "residency", picture(held.index, covered, stream.writes(), steps, canvas.0, scale, &ink))
    });
    paint_until(ui, &chart, picture, held.chunks as f64);
    outline(ui, &chart, look, &ink, held);
    chart.playhead(ui, held.chunks as f64);
    if let Some(token) = look.selection.current().filter(|&t| held.index.at(t, held.chunks) != Place::NotYet) {
        let at = chart.pos(held.chunks as f64, token as f64 + 0.5);
        let line = Stroke::new(1.0, ink.select.gamma_multiply(0.55));
        chart.painter(ui).hline(chart.rect.left()..=at.x, at.y, line);
        select_ring(ui, &chart, at);
    }
    hover(look, &response, &chart, held, commands);
}

/// How many of these writes are in the window, the cache and the state after `chunks` chunks, and how many are not written.
#[must_use]
pub fn whereabouts(index: &Residency, writes: impl Iterator<Item = usize>, chunks: usize) -> [usize; 4] {
    let mut counts = [0; 4];
    for write in writes {
        counts[match index.at(write, chunks) {
            Place::Window => 0,
            Place::Cache => 1,
            Place::State => 2,
            Place::NotYet => 3,
        }] += 1;
    }
    counts
}

/// `needle: 19 of 21 tokens in the cache, 2 in the state`: the sentence that the panel is about.
///
/// `counts` are those of [`whereabouts`]; `waiting` of the last of them are written and wait for the end of the chunk.
#[must_use]
pub fn marked_words(name: &str, counts: [usize; 4], waiting: usize) -> String {
    let [window, cache, state, not_held] = counts;
    let not_yet = not_held.saturating_sub(waiting);
    let total = counts.iter().sum::<usize>();
    let mut text = format!("{name}: {cache} of {} in the cache", plural(total, "token", "tokens"));
    for (n, place) in
        [(window, "in the window"), (state, "in the state"), (waiting, "waiting for the end of the chunk"), (not_yet, "not written yet")]
    {
        if n > 0 {
            text = format!("{text}, {n} {place}");
        }
    }
    text
}

fn count_words(look: &Look<'_>, held: &Held<'_>) -> String {
    if let Some((name, writes)) = marked(&look.plan.stream) {
        let waiting = writes.iter().filter(|&&w| w < look.writes && held.index.at(w, held.chunks) == Place::NotYet).count();
        return marked_words(name, whereabouts(held.index, writes.into_iter(), held.chunks), waiting);
    }
    let window = held.index.window_range(held.chunks);
    let cached = held.chunks.checked_sub(1).and_then(|s| held.trace.channel("cached_count")?.values(held.head).get(s));
    let cache = cached.map_or(0, |n| n as usize);
    format!("{} in the window, {cache} in the cache, {} in the state", window.len(), window.start.saturating_sub(cache))
}

fn sentence(ui: &mut Ui, look: &Look<'_>, held: &Held<'_>) {
    let text = RichText::new(count_words(look, held));
    let is_marked = look.plan.stream.labels().roles.marked.is_some();
    ui.label(if is_marked { text.strong().color(Ink::of(ui).mark) } else { text });
}

/// Outlines the rows of the marked role from when they are written to the playhead: runs of neighbours as one.
fn outline(ui: &Ui, chart: &Chart, look: &Look<'_>, ink: &Ink, held: &Held<'_>) {
    const MOST: usize = 12;
    let Some((name, writes)) = marked(&look.plan.stream) else { return };
    let runs = runs(&writes);
    let painter = chart.painter(ui);
    // The last label drawn; one that would lie on it is left out, as its outline says the same.
    let mut last: Option<Rect> = None;
    for (from, to) in &runs {
        let start = (from / held.chunk) as f64;
        if start >= held.chunks as f64 {
            continue;
        }
        let middle = f32::midpoint(chart.y_of(*from as f64), chart.y_of(*to as f64));
        if runs.len() > MOST {
            // Many of them: a tick at the edge for each, or the outlines would hide the picture.
            painter.hline(chart.rect.left()..=chart.rect.left() + 6.0, middle, Stroke::new(1.0, ink.mark));
            continue;
        }
        let height = (chart.y_of(*from as f64) - chart.y_of(*to as f64)).max(3.0);
        let rect = Rect::from_x_y_ranges(chart.x_of(start)..=chart.x_of(held.chunks as f64), middle - height / 2.0..=middle + height / 2.0);
        painter.rect_stroke(rect, 0.0, Stroke::new(1.2, ink.mark), StrokeKind::Outside);
        let font = FontId::proportional(SMALL);
        let (anchor, at) = if rect.left() - chart.rect.left() > 60.0 {
            (Align2::RIGHT_BOTTOM, pos2(rect.left() - 4.0, middle - 1.0))
        } else {
            (Align2::LEFT_BOTTOM, pos2(rect.left() + 3.0, rect.top() - 2.0))
        };
        let label = painter.layout_no_wrap(name.to_owned(), font, ink.mark);
        let place = anchor.anchor_size(at, label.size());
        if last.is_none_or(|l| !l.intersects(place)) {
            painter.galley(place.min, label, ink.mark);
            last = Some(place);
        }
    }
}

/// Runs of neighbours in an ascending list, as `from..to`.
fn runs(writes: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &write in writes {
        match runs.last_mut() {
            Some(last) if last.1 == write => last.1 = write + 1,
            _ => runs.push((write, write + 1)),
        }
    }
    runs
}

/// Of the tokens behind a pixel the one to speak of: a marked one first, then a cached one, then the middle one.
fn spokesman(look: &Look<'_>, held: &Held<'_>, tokens: std::ops::Range<usize>, chunks: usize) -> usize {
    let middle = usize::midpoint(tokens.start, tokens.end.saturating_sub(1));
    let mut by_middle: Vec<usize> = tokens.collect();
    by_middle.sort_by_key(|t| t.abs_diff(middle));
    let is = |test: &dyn Fn(usize) -> bool| by_middle.iter().copied().find(|&t| test(t));
    is(&|t| is_marked(&look.plan.stream, t)).or_else(|| is(&|t| held.index.at(t, chunks) == Place::Cache)).unwrap_or(middle)
}

fn hover(look: &Look<'_>, response: &eframe::egui::Response, chart: &Chart, held: &Held<'_>, commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    let stream = &look.plan.stream;
    let step = chart.values_at(pointer).0.floor().max(0.0) as usize;
    if step >= held.chunks {
        response.clone().on_hover_text_at_pointer("after the playhead");
        point_at(response, None, commands);
        return;
    }
    let up = (chart.rect.bottom() - pointer.y).clamp(0.0, chart.rect.height() - 0.5) as usize;
    let tokens = cells(up, chart.rect.height() as usize, stream.writes());
    let token = spokesman(look, held, tokens.clone(), step + 1);
    let mut rows = vec![("role", role_name(stream, token).to_owned())];
    rows.extend(story(look, held, token, step));
    if tokens.len() > 1 {
        let [window, cache, state, _] = whereabouts(held.index, tokens.clone(), step + 1);
        let last = tokens.end - 1;
        rows.push(("this pixel", format!("tokens {} to {last}: {window} window, {cache} cache, {state} state", tokens.start)));
    }
    facts(response, &token_name(stream, token), &rows);
    point_at(response, Some(token), commands);
}

/// Where a token is after the update of `step`, since when, with which score, and who took its place.
fn story(look: &Look<'_>, held: &Held<'_>, token: usize, step: usize) -> Vec<(&'static str, String)> {
    let chunks = step + 1;
    let place = match held.index.at(token, chunks) {
        Place::NotYet => "not written yet",
        Place::Window => "in the window",
        Place::Cache => "in the cache",
        Place::State => "folded into the state",
    };
    let since = held.index.since(token, chunks).map_or(String::new(), |s| format!(", since step {}", s - 1));
    let mut rows = vec![("after step", step.to_string()), ("where", format!("{place}{since}"))];
    if let Some(score) = score_of(held, token, step) {
        rows.push(("score in this step", number(score)));
    }
    let threshold = held.trace.channel("threshold").and_then(|c| c.values(held.head).get(step)).filter(|t| !t.is_nan());
    if let Some(t) = threshold {
        rows.push(("threshold after it", number(t)));
    }
    let left = held.index.left(token).filter(|&l| l <= step);
    if let (Some(left), Some(admitted)) = (left, held.trace.channel("admitted")) {
        rows.push(("displaced", displaced_words(look, left, admitted.wholes_at(held.head, left))));
    }
    rows
}

/// The score of a candidate in a step, where it is recorded.
fn score_of(held: &Held<'_>, token: usize, step: usize) -> Option<f64> {
    let (ids, scores) = (held.trace.channel("candidates")?, held.trace.channel("candidate_scores")?);
    let place = ids.wholes_at(held.head, step).binary_search(&(token as i32)).ok()?;
    scores.values(held.head).get(scores.range(held.head, step).start + place)
}

/// Who entered the cache in the step in which a token was folded: nobody displaced it alone.
fn displaced_words(look: &Look<'_>, step: usize, admitted: &[i32]) -> String {
    let named: Vec<String> = admitted.iter().take(3).map(|&t| token_name(&look.plan.stream, t as usize)).collect();
    let more = admitted.len().saturating_sub(3);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("in step {step}, by {}{rest}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_counts_every_token_once() {
        // Window 2, chunk 2, six writes, three chunks: 4 and 5 in the window, 0 and 2 cached, 1 and 3 folded.
        let mut index = Residency::new(2, 2, 8);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        index.push(&[2], &[]);
        assert_eq!(whereabouts(&index, 0..8, 3), [2, 2, 2, 2]);
        assert_eq!(
            marked_words("needle", whereabouts(&index, [0, 2, 3].into_iter(), 3), 0),
            "needle: 2 of 3 tokens in the cache, 1 in the state"
        );
        let later = whereabouts(&index, [4, 5].into_iter(), 2);
        assert_eq!(marked_words("needle", later, 0), "needle: 0 of 2 tokens in the cache, 2 not written yet");
        assert_eq!(
            marked_words("needle", later, 1),
            "needle: 0 of 2 tokens in the cache, 1 waiting for the end of the chunk, 1 not written yet"
        );
    }

    #[test]
    fn neighbours_are_one_run() {
        assert_eq!(runs(&[3, 4, 5, 9, 11, 12]), [(3, 6), (9, 10), (11, 13)]);
        assert_eq!(runs(&[]), []);
    }
}
