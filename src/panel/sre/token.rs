//! The scores of single tokens through time: from when they left the window to when they were folded.

use eframe::egui::{Color32, FontId, Label, Pos2, RichText, Stroke, Ui, Vec2, pos2, vec2};

use super::Held;
use super::blind::shade_steps;
use super::heat::threshold_line;
use super::names;
use super::step::height;
use crate::app::command::Command;
use crate::layer::lola::residency::Place;
use crate::panel::Look;
use crate::panel::common::{facts, marked, playheads, plural, point_at, role_name, select_ring, token_name, words};
use crate::panel::residency::short_name;
use crate::widget::chart::{Chart, Entry, SMALL, Sign, triangle};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{CATEGORIES, Ink};
use crate::widget::raster::nearest;
use crate::widget::ticks::number;

/// Tokens that are drawn at most: more lines could not be told apart.
const MOST: usize = 8;

/// A token's score in every step up to the playhead in which it was a candidate and its score is recorded.
pub(super) fn path(held: &Held<'_>, token: usize) -> Vec<(usize, f64)> {
    let Some(first) = leaves_at(token, held) else { return Vec::new() };
    // A candidate until it is folded: in the step in which it leaves the window, or in the one that displaces it.
    let last = match (held.index.entered(token), held.index.left(token)) {
        (_, Some(left)) => left,
        (Some(_), None) => held.chunks.saturating_sub(1),
        (None, None) => first,
    };
    (first..(last + 1).min(held.chunks)).filter_map(|step| Some((step, held.score(token, step)?))).collect()
}

/// The step in which a token leaves the window, if it has by the playhead.
fn leaves_at(token: usize, held: &Held<'_>) -> Option<usize> {
    let step = (token + held.window + 1).div_ceil(held.chunk.max(1)) - 1;
    // At the end of the stream a chunk may be shorter: then it is the window's own arithmetic that counts.
    (step < held.chunks && held.index.window_range(step + 1).start > token).then_some(step)
}

/// A token and its path.
struct Line {
    token: usize,
    path: Vec<(usize, f64)>,
    colour: Color32,
    dash: Dash,
}

/// Draws them, with the threshold behind.
pub(super) fn show(ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let (tokens, said) = chosen(look);
    if tokens.is_empty() {
        words(ui, "Select a token, or several, to see their scores.");
        return;
    }
    let lines: Vec<Line> = tokens
        .iter()
        .enumerate()
        .map(|(i, &token)| Line { token, path: path(held, token), colour: colour(i, &ink), dash: Dash::of(i) })
        .collect();
    if ui.available_height() > 120.0 {
        let text = match &lines[..] {
            [one] => story(look, held, one),
            _ => said,
        };
        ui.add(Label::new(RichText::new(text)).wrap());
    }
    let mut legend = vec![
        Entry::new(Sign::Line(Dash::Solid), ink.limit, "threshold"),
        Entry::new(Sign::Up, ink.text, "came in"),
        Entry::new(Sign::Down, ink.text, "folded"),
    ];
    if !held.blind.is_empty() {
        legend.push(Entry::new(Sign::Square, super::blind::shade(&ink), "state empty"));
    }
    let scored = lines.iter().filter(|l| !l.path.is_empty()).count();
    let describe = format!("Scores of {} of {} through time, with the admission threshold", scored, plural(lines.len(), "token", "tokens"));
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let (response, chart) = Chart::show(ui, size, held.x(), held.binned.axis.clone(), &legend, &describe);
    shade_steps(ui, &chart, held, &ink);
    threshold_line(ui, &chart, held, &ink);
    let places: Vec<Vec<Pos2>> = lines.iter().map(|l| l.path.iter().map(|&(s, v)| place(&chart, s, v)).collect()).collect();
    let painter = chart.painter(ui);
    for (l, points) in lines.iter().zip(&places) {
        line::draw(&painter, points, Stroke::new(1.8, l.colour), l.dash);
        for (&(step, _), at) in l.path.iter().zip(points) {
            let came = held.index.entered(l.token) == Some(step);
            let folded = held.index.left(l.token) == Some(step) || (held.index.entered(l.token).is_none() && !l.path.is_empty());
            if came {
                painter.add(triangle(*at, 4.6, true, l.colour, Stroke::new(0.8, ink.paper)));
            } else if folded {
                painter.add(triangle(*at, 4.6, false, ink.paper, Stroke::new(1.6, l.colour)));
            }
        }
    }
    playheads(ui, look, &chart, |writes| look.lanes[held.lane].plan.chunks_at(writes) as f64);
    label(ui, look, &chart, &lines, &places);
    if let Some(at) = look.selection.current().and_then(|t| lines.iter().position(|l| l.token == t)).and_then(|i| places[i].last()) {
        select_ring(ui, &chart, *at);
    }
    hover(look, held, &response, &chart, (&lines, &places), commands);
}

/// The tokens that are drawn, and what is said of the choice.
fn chosen(look: &Look<'_>) -> (Vec<usize>, String) {
    let held: Vec<usize> = look.selection.tokens().to_vec();
    let (all, of) = match (held.is_empty(), marked(&look.plan.stream)) {
        (false, _) => (held, "selected".to_owned()),
        (true, Some((name, writes))) => (writes, format!("of the {name} (none is selected)")),
        (true, None) => (Vec::new(), String::new()),
    };
    let mut some: Vec<usize> = all.iter().copied().take(MOST).collect();
    if let Some(hovered) = look.selection.hovered.filter(|h| !some.contains(h)) {
        some.push(hovered);
    }
    let said = match all.len() {
        n if n > MOST => format!("The first {MOST} of {n} tokens {of}."),
        n => format!("{} {of}.", plural(n, "token", "tokens")),
    };
    (some, said)
}

fn colour(index: usize, ink: &Ink) -> Color32 {
    // The first is what is selected; yellow, which paper swallows, is the last of the categories.
    if index == 0 { ink.select } else { CATEGORIES[(index - 1) % 6] }
}

fn place(chart: &Chart, step: usize, score: f64) -> Pos2 {
    pos2(chart.x_of(step as f64 + 0.5), height(chart, score))
}

/// A single token's way in a sentence.
fn story(look: &Look<'_>, held: &Held<'_>, l: &Line) -> String {
    let name = token_name(&look.plan.stream, l.token);
    let (Some((first, score)), Some((last, now))) = (l.path.first(), l.path.last()) else {
        return match held.index.at(l.token, held.chunks) {
            Place::NotYet => format!("{name} is not written yet."),
            Place::Window => format!("{name} is in the window: it has no score yet."),
            Place::Cache | Place::State | Place::Gone => format!("{name}: its score is not recorded."),
        };
    };
    let threshold = |step: usize| held.threshold(step).map_or_else(String::new, |t| format!(", threshold {}", number(t)));
    let noun = held.noun;
    let start = format!("{name} left the window in {noun} {first} with score {}{}", number(*score), threshold(*first));
    let rest = match (held.index.entered(l.token), held.index.left(l.token).filter(|s| *s < held.chunks)) {
        (Some(_), Some(left)) if held.evicted(l.token, left) => {
            format!("; cached until a hand evicted it at the end of {noun} {left}, where its score was {}.", number(*now))
        }
        (Some(_), Some(left)) => format!("; cached until {noun} {left}, folded with score {}.", number(*now)),
        (Some(_), None) => format!("; in the cache since, in {noun} {last} with score {}.", number(*now)),
        (None, _) => "; folded at once.".to_owned(),
    };
    let gone = held.index.at(l.token, held.chunks) == Place::Gone;
    start + &rest + if gone { " A hand has forgotten the state since: it is nowhere any more." } else { "" }
}

/// Each line's name at its end. One that was moved to make room for others is led to by a thin line.
fn label(ui: &Ui, look: &Look<'_>, chart: &Chart, lines: &[Line], places: &[Vec<Pos2>]) {
    let ink = Ink::of(ui);
    let painter = chart.painter(ui);
    let ends = lines.iter().zip(places).filter_map(|(l, points)| Some((l, *points.last()?)));
    let named: Vec<_> = ends
        .map(|(l, end)| {
            let name = short_name(&look.plan.stream, l.token);
            (l, end, painter.layout_no_wrap(name, FontId::proportional(SMALL), ink.text))
        })
        .collect();
    let wanted: Vec<(Pos2, Vec2)> = named.iter().map(|(_, end, galley)| (*end, galley.size())).collect();
    for ((l, end, galley), place) in named.into_iter().zip(names::place(&wanted, chart.rect)) {
        let Some(place) = place else { continue };
        if (place.center().y - end.y).abs() > 3.0 {
            let side = if place.left() > end.x { place.left() - 1.0 } else { place.right() + 1.0 };
            painter.line_segment([end, pos2(side, place.center().y)], Stroke::new(1.0, l.colour));
        }
        painter.rect_filled(place.expand2(vec2(2.0, 0.0)), 2.0, ink.paper.gamma_multiply(0.8));
        painter.galley(place.min, galley, ink.text);
    }
}

fn hover(
    look: &Look<'_>,
    held: &Held<'_>,
    response: &eframe::egui::Response,
    chart: &Chart,
    (lines, places): (&[Line], &[Vec<Pos2>]),
    commands: &mut Vec<Command>,
) {
    let Some(pointer) = response.hover_pos() else { return };
    let all: Vec<(usize, usize)> = lines.iter().enumerate().flat_map(|(i, l)| (0..l.path.len()).map(move |j| (i, j))).collect();
    let near = all.iter().enumerate().map(|(k, &(i, j))| (k, [places[i][j].x, places[i][j].y]));
    if let Some((i, j)) = nearest(near, [pointer.x, pointer.y], 9.0).map(|k| all[k]) {
        let l = &lines[i];
        let (step, score) = l.path[j];
        let mut rows = vec![(held.noun, step.to_string()), ("score", number(score))];
        if let Some(t) = held.threshold(step) {
            rows.push(("threshold after it", number(t)));
        }
        let place = match held.index.at(l.token, step + 1) {
            Place::Cache => "in the cache",
            Place::Gone => "folded into the state, which a hand forgot",
            _ if held.evicted(l.token, step) => "evicted by hand: folded into the state",
            _ => "folded into the state",
        };
        rows.push(("after the step", place.to_owned()));
        rows.push(("role", role_name(&look.plan.stream, l.token).to_owned()));
        facts(response, &token_name(&look.plan.stream, l.token), &rows);
        point_at(response, Some(l.token), commands);
        return;
    }
    let step = chart.values_at(pointer).0.max(0.0) as usize;
    if step >= held.chunks {
        response.clone().on_hover_text_at_pointer("after the playhead");
    } else {
        let threshold = held.threshold(step).map_or_else(|| "none: the cache is not full".to_owned(), number);
        facts(response, &format!("{} {step}", held.noun), &[("threshold after it", threshold), super::blind::fact(held, step)]);
    }
    point_at(response, None, commands);
}
