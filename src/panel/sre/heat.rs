//! Every candidate's score through time, as a heatmap, with the threshold and the scores of what is marked and selected.

use std::collections::BTreeMap;

use eframe::egui::{Response, Shape, Stroke, TextureHandle, Ui, Vec2, pos2};

use super::blind::{self, shade, shade_steps};
use super::model::{Candidate, Tally, bin, bin_range, candidates};
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
        legend.push(Entry::new(Sign::Marked(Dash::Solid, &Sign::Diamond), ink.mark, name));
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
        let points = marked_points(look, held, &chart, (canvas.0, scale));
        let inks = raster::Inks { plain: ink.mark, ring: ink.paper, diamond: ink.mark };
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

/// The scores of each marked token as a thin line through the steps in which it was a candidate, with diamonds at its ends and where it
/// moves: one in every step would be a bar.
fn marked_points(look: &Look<'_>, held: &Held<'_>, chart: &Chart, ([width, height], scale): ([usize; 2], f32)) -> Vec<Point> {
    let mut lines: BTreeMap<usize, Vec<(usize, [f32; 2])>> = BTreeMap::new();
    for step in 0..held.binned.covered.min(held.steps) {
        let range = held.scores.range(held.head, step);
        for (&id, at) in held.ids.wholes_at(held.head, step).iter().zip(range) {
            if let Some(write) = usize::try_from(id).ok().filter(|w| is_marked(&look.plan.stream, *w)) {
                let score = held.scores.values(held.head).get(at).unwrap_or(f64::NAN);
                let x = (chart.x.share(step as f64 + 0.5) * width as f64) as f32;
                let y = ((1.0 - chart.y.share(score).clamp(0.0, 1.0)) * height as f64) as f32;
                lines.entry(write).or_default().push((step, [x, y]));
            }
        }
    }
    lines.values().flat_map(|line| traced(line, scale)).collect()
}

/// A line through the places of a token in some steps, ascending, as points: plain ones a pixel apart, and diamonds at the ends of each
/// stretch of steps and where the line has moved up or down since the last one. `scale` is pixels a screen point.
fn traced(line: &[(usize, [f32; 2])], scale: f32) -> Vec<Point> {
    // A diamond is seven points wide: nearer ones would run together.
    let (moved, apart) = (5.0 * scale, 9.0 * scale);
    let mut points = Vec::new();
    for stretch in line.chunk_by(|a, b| b.0 == a.0 + 1) {
        let mut last: Option<[f32; 2]> = None;
        for (i, &(_, [x, y])) in stretch.iter().enumerate() {
            let end = i == 0 || i + 1 == stretch.len();
            let jumps = last.is_some_and(|at| (at[1] - y).abs() > moved && (x - at[0]).hypot(at[1] - y) > apart);
            if end || jumps {
                points.push(Point { x, y, mark: Mark::Diamond });
                last = Some([x, y]);
            }
            let Some(&(_, [to_x, to_y])) = stretch.get(i + 1) else { continue };
            let parts = (to_x - x).hypot(to_y - y).ceil().clamp(1.0, 4096.0) as usize;
            points.extend((0..parts).map(|p| p as f32 / parts as f32).map(|t| Point {
                x: x + (to_x - x) * t,
                y: y + (to_y - y) * t,
                mark: Mark::Plain,
            }));
        }
    }
    points
}

/// The threshold after each step, broken where the cache is not full. Of several steps in half a pixel the last is drawn.
pub(super) fn threshold_line(ui: &Ui, chart: &Chart, held: &Held<'_>, ink: &Ink) {
    let painter = chart.painter(ui);
    let stride = stride(chart);
    let mut line = Vec::new();
    // The steps that are in sight.
    let mut step = chart.x.min.max(0.0) as usize;
    let end = held.chunks.min(chart.x.max.ceil() as usize);
    while step <= end {
        let last = (step + stride).min(end).max(step + 1) - 1;
        match (step < end).then(|| held.threshold_line(last)).flatten() {
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
    ((chart.x.max - chart.x.min) / f64::from(chart.rect.width().max(1.0) * 2.0)).ceil().max(1.0) as usize
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
    let tally = Tally::of(within.iter().copied(), |c| held.evicted(c.write, step));
    let mut rows = vec![
        ("scores", format!("{} to {}", number(range.start), number(range.end))),
        ("candidates", format!("{} of {}: {}", within.len(), list.len(), tally.words())),
    ];
    if let Some(t) = held.threshold(step) {
        rows.push(("threshold", number(t)));
    }
    rows.push(blind::fact(held, step));
    if let Some(each) = crowd(response, chart, held.steps) {
        rows.push(("drawn", format!("the {} count of the {each} steps in each pixel", Rule::Max.title())));
    }
    facts(response, &format!("{} {step}", held.noun), &rows);
    point_at(response, None, commands);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The diamonds among points.
    fn diamonds(points: &[Point]) -> Vec<[f32; 2]> {
        points.iter().filter(|p| p.mark == Mark::Diamond).map(|p| [p.x, p.y]).collect()
    }

    #[test]
    fn a_score_that_stays_is_a_line_with_a_diamond_at_each_end() {
        let steady: Vec<_> = (3..40).map(|step| (step, [step as f32 * 4.0, 50.0])).collect();
        let points = traced(&steady, 1.0);
        assert_eq!(diamonds(&points), [[12.0, 50.0], [156.0, 50.0]]);
        // Four plain points a step, so that no pixel of the line is missing.
        assert_eq!(points.len(), 2 + 36 * 4);
        assert!(points.iter().all(|p| (p.y - 50.0).abs() < f32::EPSILON));
    }

    #[test]
    fn a_score_that_moves_has_a_diamond_there_and_one_that_was_no_candidate_a_gap() {
        // It falls by 20 after the third of six steps.
        let falls: Vec<_> = (0..6).map(|step| (step, [step as f32 * 4.0, if step < 3 { 10.0 } else { 30.0 }])).collect();
        assert_eq!(diamonds(&traced(&falls, 1.0)), [[0.0, 10.0], [12.0, 30.0], [20.0, 30.0]]);
        let gap = [(0, [0.0, 10.0]), (1, [4.0, 10.0]), (7, [28.0, 10.0])];
        let points = traced(&gap, 1.0);
        assert_eq!(diamonds(&points), [[0.0, 10.0], [4.0, 10.0], [28.0, 10.0]]);
        assert!(points.iter().all(|p| p.x <= 4.0 || p.x >= 28.0), "nothing where it was none");
        // Once only, it is one diamond.
        assert_eq!(traced(&[(5, [9.0, 9.0])], 1.5).len(), 1);
        assert!(traced(&[], 1.0).is_empty());
    }
}
