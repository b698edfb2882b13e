//! Every candidate's score through time, as a heatmap, with the threshold and the scores of what is marked and selected.

use eframe::egui::{Response, Shape, Stroke, TextureHandle, Ui, Vec2, pos2};

use super::blind::{self, shade, shade_steps};
use super::model::{Candidate, Fate, bin, bin_range, candidates};
use super::step::{height, tell_candidate};
use super::token::path;
use super::{BINS, Held};
use crate::app::command::Command;
use crate::panel::Look;
use crate::panel::common::{
    Canvas, Key, canvas, crowd, facts, is_marked, marked_name, paint_until, playheads, point_at, select_ring, texture,
};
use crate::widget::cached::Cached;
use crate::widget::chart::{Chart, Entry, Sign};
use crate::widget::heatmap::{Colours, Rule, draw};
use crate::widget::line::Dash;
use crate::widget::palette::{Ink, Map};
use crate::widget::raster::{self, Mark, Point, nearest};
use crate::widget::ticks::number;

/// The legend of the left plot, with the key of its colours.
pub(super) fn legend(look: &Look<'_>, held: &Held<'_>, ink: &Ink) -> Vec<Entry> {
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

/// Draws it.
pub(super) fn through_time(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    (size, legend, rows): (Vec2, &[Entry], usize),
    cached: &mut Cached<Key<Canvas>, [TextureHandle; 2]>,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let describe = format!("Scores of the candidates over {} of {} steps, with the admission threshold", held.chunks, held.steps);
    let (response, chart) = Chart::show_under(ui, size, held.x(), held.binned.axis.clone(), legend, &describe, rows);
    let canvas = canvas(ui, chart.rect);
    let scale = ui.pixels_per_point();
    let pictures = cached.get(Key::new(look, held.lane, held.head, held.binned.covered, canvas), || {
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
    playheads(ui, look, &chart, |writes| look.lanes[held.lane].plan.chunks_at(writes) as f64);
    score_lines(ui, &chart, look, held, &ink);
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

/// The threshold after each step, broken where the cache is not full. Of several steps in half a pixel the last is drawn.
pub(super) fn threshold_line(ui: &Ui, chart: &Chart, held: &Held<'_>, ink: &Ink) {
    let painter = chart.painter(ui);
    let stride = stride(chart);
    let mut line = Vec::new();
    let mut step = 0;
    while step <= held.chunks {
        let last = (step + stride).min(held.chunks).max(step + 1) - 1;
        match (step < held.chunks).then(|| held.threshold_line(last)).flatten() {
            Some(t) => {
                let y = chart.y_of(t);
                line.push(pos2(chart.x_of(step as f64), y));
                line.push(pos2(chart.x_of(last as f64 + 1.0), y));
            }
            None if !line.is_empty() => {
                let points = std::mem::take(&mut line);
                painter.add(Shape::line(points.clone(), Stroke::new(4.0, ink.paper.gamma_multiply(0.8))));
                painter.add(Shape::line(points, Stroke::new(1.8, ink.limit)));
            }
            None => {}
        }
        step = last + 1;
    }
}

/// Steps that lie in half a pixel, and at least one: what is between them could not be told apart.
pub(super) fn stride(chart: &Chart) -> usize {
    (chart.x.max / f64::from(chart.rect.width().max(1.0) * 2.0)).ceil().max(1.0) as usize
}

/// The scores of the selected tokens in every step in which they were candidates.
fn score_lines(ui: &Ui, chart: &Chart, look: &Look<'_>, held: &Held<'_>, ink: &Ink) {
    const MOST: usize = 12;
    let current = look.selection.current();
    let others = look.selection.tokens().iter().copied().filter(|t| Some(*t) != current).take(MOST);
    for token in others.chain(current) {
        let line: Vec<_> = path(held, token).into_iter().map(|(s, score)| pos2(chart.x_of(s as f64 + 0.5), height(chart, score))).collect();
        let Some(last) = line.last().copied() else { continue };
        let is_current = Some(token) == current;
        chart.painter(ui).add(Shape::line(line, Stroke::new(if is_current { 1.6 } else { 1.0 }, ink.select)));
        if is_current {
            select_ring(ui, chart, last);
        }
    }
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
