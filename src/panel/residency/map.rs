//! The map: which memory holds each token after each step.

use std::ops::Range;

use eframe::egui::{Response, Stroke, TextureHandle, Ui, pos2, vec2};

use super::held::Held;
use super::marked;
use super::picture::{cells, faint, picture, strength};
use super::{Runs, marked_role, whereabouts};
use crate::app::command::Command;
use crate::layer::lola::residency::Place;
use crate::panel::Look;
use crate::panel::common::{
    Canvas, Key, canvas, cover, facts, is_marked, paint_until, playheads, plural, point_at, role_name, select_ring, texture, token_name,
};
use crate::session::hand;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::line::Dash;
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::number;

/// What is kept of it from frame to frame.
#[derive(Default)]
pub(super) struct Drawn {
    picture: Cached<Key<Canvas>, TextureHandle>,
    rows: Cached<Key<()>, Vec<marked::Row>>,
}

/// Draws it.
pub(super) fn show(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    (runs, said): (&Runs, &str),
    Drawn { picture: cached, rows }: &mut Drawn,
    commands: &mut Vec<Command>,
) {
    let stream = &look.plan.stream;
    let ink = Ink::of(ui);
    let steps = stream.chunks(held.chunk);
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let legend = legend(look, held, &ink, size.y * ui.pixels_per_point(), runs);
    let noun = held.noun(look);
    let describe = format!("Residency of {} tokens over {} of {steps} {noun}s. {said}", stream.writes(), held.chunks);
    let x = Axis::count(format!("{noun} of {}", plural(held.chunk, "write", "writes")), steps);
    let (response, chart) = Chart::show(ui, size, x, Axis::count("token", stream.writes()), &legend, &describe);
    let canvas = canvas(ui, chart.rect);
    let covered = cover(held.index.steps(), held.chunks, steps);
    let scale = ui.pixels_per_point();
    let picture = cached.get(Key::new(look, held.lane, held.head, covered, canvas), || {
        texture(ui, "residency", picture(held.index, covered, stream.writes(), steps, canvas.0, scale, &ink))
    });
    paint_until(ui, &chart, picture, held.chunks as f64);
    let rows = rows.get(Key::new(look, held.lane, held.head, held.index.steps(), ()), || marked::rows(held.index, runs));
    marked::show(ui, &chart, look, &ink, held, (runs, rows));
    playheads(ui, look, &chart, |writes| look.lanes[held.lane].plan.chunks_at(writes) as f64);
    group(ui, &chart, look, held, &ink);
    if let Some(token) = look.selection.current().filter(|&t| held.index.at(t, held.chunks) != Place::NotYet) {
        let at = chart.pos(held.chunks as f64, token as f64 + 0.5);
        let line = Stroke::new(1.0, ink.select.gamma_multiply(0.55));
        chart.painter(ui).hline(chart.rect.left()..=at.x, at.y, line);
        select_ring(ui, &chart, at);
    }
    hover(look, &response, &chart, held, commands);
}

/// What the colours mean. Where a pixel stands for several tokens, the cache's is shown from one of them to all; `height` is the plot's in
/// pixels, about.
fn legend(look: &Look<'_>, held: &Held<'_>, ink: &Ink, height: f32, runs: &Runs) -> Vec<Entry> {
    let share = (look.plan.stream.writes() as f32 / height).ceil();
    let cache = if share > 1.0 {
        let least = blend(ink.state, ink.cache, strength(1, share as usize));
        Entry::new(Sign::Shade(least), ink.cache, format!("cache: 1 to all of {} tokens", number(f64::from(share))))
    } else {
        Entry::new(Sign::Square, ink.cache, "cache")
    };
    let mut legend = vec![Entry::new(Sign::Stripes, ink.window, "window"), cache, Entry::new(Sign::Dotted, ink.state, "state")];
    if held.forgets() {
        legend.push(Entry::new(Sign::Stripes, faint(ink), "forgotten"));
    }
    if marked::are_drawn(runs) {
        legend.push(Entry::new(Sign::Line(Dash::Long), ink.mark, format!("{} folded", marked_role(look))));
    }
    legend
}

/// A line for each token of a group that is selected, from when it is written to the playhead.
fn group(ui: &Ui, chart: &Chart, look: &Look<'_>, held: &Held<'_>, ink: &Ink) {
    const MOST: usize = 256;
    for &token in look.selection.group.iter().filter(|&&t| held.index.at(t, held.chunks) != Place::NotYet).take(MOST) {
        let (from, to) = (chart.x_of((token / held.chunk) as f64), chart.x_of(held.chunks as f64));
        let y = chart.y_of(token as f64 + 0.5);
        chart.painter(ui).hline(from..=to, y, Stroke::new(1.0, ink.select.gamma_multiply(0.7)));
        ui.painter_at(chart.rect.expand(4.0)).circle_filled(pos2(to, y), 2.2, ink.select);
    }
}

/// Of the tokens behind a pixel the one to speak of: a marked one first, then a cached one, then the middle one.
fn spokesman(look: &Look<'_>, held: &Held<'_>, tokens: Range<usize>, chunks: usize) -> usize {
    let middle = usize::midpoint(tokens.start, tokens.end.saturating_sub(1));
    let mut by_middle: Vec<usize> = tokens.collect();
    by_middle.sort_by_key(|t| t.abs_diff(middle));
    let is = |test: &dyn Fn(usize) -> bool| by_middle.iter().copied().find(|&t| test(t));
    is(&|t| is_marked(&look.plan.stream, t)).or_else(|| is(&|t| held.index.at(t, chunks) == Place::Cache)).unwrap_or(middle)
}

fn hover(look: &Look<'_>, response: &Response, chart: &Chart, held: &Held<'_>, commands: &mut Vec<Command>) {
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
        let [window, cache, state, gone, _] = whereabouts(held.index, tokens.clone(), step + 1);
        let last = tokens.end - 1;
        let gone = if gone > 0 { format!(", {gone} forgotten") } else { String::new() };
        rows.push(("this pixel", format!("tokens {} to {last}: {window} window, {cache} cache, {state} state{gone}", tokens.start)));
    }
    facts(response, &token_name(stream, token), &rows);
    point_at(response, Some(token), commands);
}

/// Where a token is after the update of `step` (a chunk of the lane), since when, with which score, and who took its place.
fn story(look: &Look<'_>, held: &Held<'_>, token: usize, step: usize) -> Vec<(&'static str, String)> {
    let (chunks, noun) = (step + 1, held.noun(look));
    let place = match held.index.at(token, chunks) {
        Place::NotYet => "not written yet",
        Place::Window => "in the window",
        Place::Cache => "in the cache",
        Place::State => "folded into the state",
        Place::Gone => "nowhere: a hand forgot the state",
    };
    let since = held.index.since(token, chunks).map_or(String::new(), |s| format!(", since {noun} {}", s - 1));
    let mut rows = vec![("after", format!("{noun} {step}")), ("where", format!("{place}{since}"))];
    if let Some(score) = held.score(token, step) {
        rows.push(("score in it", number(score)));
    }
    if let Some(t) = held.threshold(step) {
        rows.push(("threshold after it", number(t)));
    }
    let left = held.index.left(token).filter(|&l| l <= step);
    if let (Some(left), Some(admitted)) = (left, held.trace.channel("admitted")) {
        rows.push(if hand::evicted(held.trace, held.head, token, left) {
            ("evicted", format!("at the end of {noun} {left}, by hand"))
        } else {
            ("displaced", displaced_words(look, &format!("{noun} {left}"), admitted.wholes_at(held.head, left)))
        });
    }
    rows
}

/// Who entered the cache in the step or chunk in which a token was folded: nobody displaced it alone.
fn displaced_words(look: &Look<'_>, when: &str, admitted: &[i32]) -> String {
    let named: Vec<String> = admitted.iter().take(3).map(|&t| token_name(&look.plan.stream, t as usize)).collect();
    let more = admitted.len().saturating_sub(3);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("in {when}, by {}{rest}", named.join(", "))
}
