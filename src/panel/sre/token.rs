//! The scores of single tokens through time: from when they left the window to when they were folded.

use std::ops::Range;

use eframe::egui::{Color32, FontId, Label, Pos2, Rect, RichText, Stroke, Ui, Vec2, pos2, vec2};

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
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, triangle};
use crate::widget::cut;
use crate::widget::line::{self, Dash};
use crate::widget::palette::{CATEGORIES, Ink};
use crate::widget::raster::nearest;
use crate::widget::ticks::number;

/// Tokens that are drawn at most: more lines could not be told apart.
const MOST: usize = 8;

/// A token's score in every step up to the playhead in which it was a candidate and its score is recorded.
pub(super) fn path(held: &Held<'_>, token: usize) -> Vec<(usize, f64)> {
    let Some(first) = leaves_at(token, held) else { return Vec::new() };
    let last = last_step(token, held, (first, held.chunks));
    (first..(last + 1).min(held.chunks)).filter_map(|step| Some((step, held.score(token, step)?))).collect()
}

/// The step in which a token leaves the window, if its chunk is whole and the run comes so far.
fn leaves_in(token: usize, held: &Held<'_>) -> usize {
    (token + held.window + 1).div_ceil(held.chunk.max(1)) - 1
}

/// The last step, of the first `steps`, in which a token is a candidate, from when it left the window in step `first`: until it is folded,
/// in that step or in the one that displaces it.
fn last_step(token: usize, held: &Held<'_>, (first, steps): (usize, usize)) -> usize {
    match (held.index.entered(token), held.index.left(token)) {
        (_, Some(left)) => left,
        (Some(_), None) => steps.saturating_sub(1),
        (None, None) => first,
    }
}

/// The step in which a token leaves the window, if it has by the playhead.
fn leaves_at(token: usize, held: &Held<'_>) -> Option<usize> {
    let step = leaves_in(token, held);
    // At the end of the stream a chunk may be shorter: then it is the window's own arithmetic that counts.
    (step < held.chunks && held.index.window_range(step + 1).start > token).then_some(step)
}

/// The steps from when a token leaves the window to when it is folded, as far as the run knows, wherever the playhead is; `None` of one
/// that never leaves.
fn life(token: usize, held: &Held<'_>) -> Option<(usize, usize)> {
    let first = leaves_in(token, held);
    let last = last_step(token, held, (first, held.steps));
    (first < held.steps).then(|| (first, last.max(first)))
}

/// The steps that an axis shows for these lives: from the first to the last of them and a little more, within `steps`; all of these where
/// nothing is known. It does not depend on the playhead: the axis stands still.
fn fitted(lives: impl Iterator<Item = (usize, usize)>, steps: usize) -> Range<usize> {
    let Some((first, last)) = lives.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return 0..steps };
    let more = ((last - first) / 25).max(1);
    first.saturating_sub(more)..(last + 1 + more).min(steps).max(first + 1)
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
    let (tokens, own, said) = chosen(look);
    if tokens.is_empty() {
        words(ui, "Select a token, or several, to see their scores.");
        return;
    }
    let lines: Vec<Line> = tokens
        .iter()
        .enumerate()
        .map(|(i, &token)| Line { token, path: path(held, token), colour: colour(i, &ink), dash: Dash::of(i) })
        .collect();
    // What is under the pointer elsewhere comes and goes: the axis does not.
    let shown = fitted(tokens.iter().take(own.max(1)).filter_map(|t| life(*t, held)), held.steps);
    let scored = lines.iter().filter(|l| !l.path.is_empty()).count();
    let of_own = lines.iter().take(own).filter(|l| !l.path.is_empty()).count();
    if ui.available_height() > 120.0 {
        let text = match &lines[..] {
            [one] => story(look, held, one),
            _ => said + &counted(of_own, own) + &stretch(&shown, held),
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
    let describe = format!("Scores of {} of {} through time, with the admission threshold", scored, plural(lines.len(), "token", "tokens"));
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let names = Names::of(ui, look, (&lines, own.max(1)), size.x);
    let x = Axis { min: shown.start as f64, max: shown.end as f64, ..held.x() };
    let (response, chart) = Chart::show(ui, vec2(size.x - names.gutter, size.y), x, held.binned.axis.clone(), &legend, &describe);
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
    names.draw(ui, &chart, &lines, &places);
    if let Some(at) = look.selection.current().and_then(|t| lines.iter().position(|l| l.token == t)).and_then(|i| places[i].last()) {
        select_ring(ui, &chart, *at);
    }
    hover(look, held, &response, &chart, (&lines, &places), commands);
}

/// The tokens that are drawn, how many of them are not only looked at for now, and what is said of the choice.
fn chosen(look: &Look<'_>) -> (Vec<usize>, usize, String) {
    let held: Vec<usize> = look.selection.tokens().to_vec();
    let (all, of) = match (held.is_empty(), marked(&look.plan.stream)) {
        (false, _) => (held, "selected".to_owned()),
        (true, Some((name, writes))) => (writes, format!("of the {name} (none is selected)")),
        (true, None) => (Vec::new(), String::new()),
    };
    let mut some: Vec<usize> = all.iter().copied().take(MOST).collect();
    let own = some.len();
    if let Some(hovered) = look.selection.hovered.filter(|h| !some.contains(h)) {
        some.push(hovered);
    }
    let said = match all.len() {
        n if n > MOST => format!("The first {MOST} of {n} tokens {of}."),
        n => format!("{} {of}.", plural(n, "token", "tokens")),
    };
    (some, own, said)
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

/// How many of the tokens have a score, where not all do.
fn counted(scored: usize, all: usize) -> String {
    if scored == all { String::new() } else { format!(" {scored} of these {all} have a score by the playhead.") }
}

/// Which steps are shown, where these are not all.
fn stretch(shown: &Range<usize>, held: &Held<'_>) -> String {
    if shown.len() >= held.steps {
        return String::new();
    }
    let noun = held.noun;
    format!(" Shown: {noun}s {} to {} of {}.", shown.start, shown.end.saturating_sub(1), held.steps)
}

/// The names of the lines, in a gutter at the right of the plot: within it they would stand on what they name.
struct Names {
    /// The gutter's width; 0 in a plot that has no room for it.
    gutter: f32,
    /// The name of each line, cut to the gutter.
    texts: Vec<String>,
}

/// Room at the left of names, for what leads to them.
const LEAD: f32 = 14.0;
/// The narrowest panel with a gutter, and how much of it that takes at most.
const GUTTER: (f32, f32) = (170.0, 0.3);

impl Names {
    /// As wide as the names of the first `own` lines are.
    fn of(ui: &Ui, look: &Look<'_>, (lines, own): (&[Line], usize), width: f32) -> Self {
        let (narrowest, share) = GUTTER;
        if width < narrowest || lines.iter().all(|l| l.path.is_empty()) {
            return Self { gutter: 0.0, texts: Vec::new() };
        }
        let font = FontId::proportional(SMALL);
        let wide = |c: char| ui.fonts_mut(|f| f.glyph_width(&font, c));
        let whole: Vec<String> = lines.iter().map(|l| short_name(&look.plan.stream, l.token)).collect();
        let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
        let longest = whole.iter().take(own).map(|n| n.chars().map(wide).sum::<f32>()).fold(0.0, f32::max).ceil() + 2.0;
        let room = longest.min(width * share);
        Self { gutter: room + LEAD, texts: cut::names(&whole, room, &wide) }
    }

    /// Writes each name at the height of its line's end, in the order of their ends, moved up or down where they would overlap; a thin line
    /// leads from the end to the name.
    fn draw(&self, ui: &Ui, chart: &Chart, lines: &[Line], places: &[Vec<Pos2>]) {
        let ink = Ink::of(ui);
        let edge = chart.rect.right();
        let gutter = Rect::from_x_y_ranges(edge..=edge + self.gutter + LEAD, chart.rect.y_range());
        let painter = ui.painter().with_clip_rect(gutter.expand(1.0).intersect(ui.clip_rect()));
        let ends = lines.iter().zip(places).zip(&self.texts).filter_map(|((l, points), text)| Some((l, *points.last()?, text)));
        let named: Vec<_> =
            ends.map(|(l, end, text)| (l, end, painter.layout_no_wrap(text.clone(), FontId::proportional(SMALL), ink.text))).collect();
        // All stand in one column, wherever their lines end.
        let wanted: Vec<(Pos2, Vec2)> = named.iter().map(|(_, end, galley)| (pos2(edge, end.y), galley.size())).collect();
        for ((l, end, galley), place) in named.into_iter().zip(names::place(&wanted, gutter)) {
            let Some(place) = place else { continue };
            if edge - end.x > 6.0 {
                let faint = Stroke::new(0.8, l.colour.gamma_multiply(0.55));
                line::draw(&chart.painter(ui), &[pos2(end.x + 5.0, end.y), pos2(edge, end.y)], faint, Dash::Dots);
            }
            painter.line_segment([pos2(edge, end.y), pos2(place.left() - 2.0, place.center().y)], Stroke::new(1.0, l.colour));
            painter.galley(place.min, galley, ink.text);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_is_as_long_as_the_tokens_lives() {
        // All of a hundred steps where nothing is known; one that is folded at once has a step on either side of its own.
        assert_eq!(fitted(std::iter::empty(), 100), 0..100);
        assert_eq!(fitted([(6, 6)].into_iter(), 100), 5..8);
        assert_eq!(fitted([(0, 0)].into_iter(), 1), 0..1, "no step is beyond the run");
        // From 10 to 60, two more on either side.
        assert_eq!(fitted([(30, 60), (10, 12)].into_iter(), 100), 8..63);
        assert_eq!(fitted([(1, 99)].into_iter(), 100), 0..100);
    }

    #[test]
    fn the_words_agree_with_what_is_drawn() {
        assert_eq!((counted(8, 8).as_str(), counted(6, 8).as_str()), ("", " 6 of these 8 have a score by the playhead."));
    }
}
