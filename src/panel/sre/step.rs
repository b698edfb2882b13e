//! The scores of one step: bars by fate on the axis of scores, and a point for each candidate.

use eframe::egui::{Color32, Painter, Pos2, Rect, Response, Stroke, StrokeKind, Ui, Vec2, pos2, vec2};

use super::model::{Candidate, Fate, Tally, bin, bin_range, by_fate};
use super::{BINS, Held};
use crate::app::command::Command;
use crate::panel::Look;
use crate::panel::common::{facts, is_marked, point_at, role_name, select_ring, token_name};
use crate::widget::chart::{Axis, Chart, Entry, Sign, diamond, triangle};
use crate::widget::palette::Ink;
use crate::widget::raster::nearest;
use crate::widget::ticks::number;

/// More candidates than this in a step are drawn as bars only, with the marked ones as points.
const MOST_POINTS: usize = 1500;

/// Tells what became of a candidate, beside the pointer.
pub(super) fn tell_candidate(look: &Look<'_>, response: &Response, held: &Held<'_>, c: &Candidate, step: usize) {
    let mut rows = vec![(held.noun, step.to_string()), ("score", number(f64::from(c.score))), ("in it", held.story(c, step).to_owned())];
    if let Some(t) = held.threshold(step) {
        rows.push(("threshold", number(t)));
    }
    rows.push(("role", role_name(&look.plan.stream, c.write).to_owned()));
    facts(response, &token_name(&look.plan.stream, c.write), &rows);
}

/// The candidates of the last step: bars by fate, and a point each.
pub(super) fn this_step(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    list: &[Candidate],
    (size, rows): (Vec2, usize),
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let counts = by_fate(list, &held.binned.axis, BINS);
    let most = counts.iter().map(|c| c[0] + c[1]).max().unwrap_or(0).max(1) as usize;
    // The points have the right half of the area to themselves.
    let label = if size.x >= 230.0 { "histogram | each, spread sideways" } else { "histogram | each" };
    let x = Axis::count(label, most * 2);
    let mut y = held.binned.axis.clone();
    y.label = String::new();
    let legend = [Entry::new(Sign::Up, ink.cache, "kept"), Entry::new(Sign::Down, ink.plain, "folded")];
    let describe = format!("Distribution of {} candidates of this {} by score, kept and folded", list.len(), held.noun);
    let (response, chart) = Chart::show_under(ui, size, x, y, &legend, &describe, rows);
    let painter = chart.painter(ui);
    painter.vline(chart.x_of(most as f64), chart.rect.y_range(), Stroke::new(1.0, ink.frame));
    let edge = kept_edge(&ink);
    let around = edge.map_or(Stroke::NONE, |colour| Stroke::new(0.8, colour));
    for (row, count) in counts.iter().enumerate() {
        let range = bin_range(&chart.y, row, BINS);
        let mut left = 0.0;
        for (n, colour, edge) in [(count[0], ink.cache, edge), (count[1], ink.plain, None)] {
            let right = left + f64::from(n);
            let bar = Rect::from_two_pos(chart.pos(left, range.start), chart.pos(right, range.end));
            bar_of(&painter, bar, colour, edge);
            left = right;
        }
    }
    if let Some(t) = held.chunks.checked_sub(1).and_then(|s| held.threshold_line(s)) {
        painter.hline(chart.rect.x_range(), chart.y_of(t), Stroke::new(1.8, ink.limit));
    }
    let points: Vec<_> = list.iter().map(|c| place(&chart, c, most)).collect();
    for (c, at) in list.iter().zip(&points) {
        let is_marked = is_marked(&look.plan.stream, c.write);
        if list.len() > MOST_POINTS && !is_marked {
            continue;
        }
        match c.fate {
            Fate::Kept => painter.add(triangle(*at, 2.8, true, ink.cache, around)),
            Fate::Folded => painter.add(triangle(*at, 2.6, false, ink.paper, Stroke::new(1.0, ink.plain))),
        };
        if is_marked {
            painter.add(diamond(*at, 4.6, Color32::TRANSPARENT, Stroke::new(1.4, ink.mark)));
        }
    }
    for (_, at) in list.iter().zip(&points).filter(|(c, _)| look.selection.holds(c.write)) {
        painter.circle_stroke(*at, 4.5, Stroke::new(1.2, ink.select));
    }
    if let Some(i) = look.selection.current().and_then(|t| list.iter().position(|c| c.write == t)) {
        select_ring(ui, &chart, points[i]);
    }
    let Some(pointer) = response.hover_pos() else { return };
    let near = points.iter().enumerate().map(|(i, p)| (i, [p.x, p.y]));
    match (nearest(near, [pointer.x, pointer.y], 8.0), held.chunks.checked_sub(1)) {
        (Some(i), Some(step)) => {
            tell_candidate(look, &response, held, &list[i], step);
            point_at(&response, Some(list[i].write), commands);
        }
        (_, Some(step)) => {
            tell_bin(&response, &chart, held, list, (chart.values_at(pointer).1, step));
            point_at(&response, None, commands);
        }
        _ => {}
    }
}

fn tell_bin(response: &Response, chart: &Chart, held: &Held<'_>, list: &[Candidate], (score, step): (f64, usize)) {
    let Some(row) = bin(&chart.y, score as f32, BINS) else { return };
    let range = bin_range(&chart.y, row, BINS);
    let within = list.iter().filter(|c| bin(&chart.y, c.score, BINS) == Some(row));
    let tally = Tally::of(within, |c| held.evicted(c.write, step));
    let mut rows = vec![
        ("scores", format!("{} to {}", number(range.start), number(range.end))),
        ("kept", tally.kept().to_string()),
        ("folded", tally.folded().to_string()),
    ];
    if tally.evicted > 0 {
        rows.push(("of the kept evicted by hand", tally.evicted.to_string()));
    }
    facts(response, &format!("{} {step}", held.noun), &rows);
}

/// The line around what is kept, where the colour of the cache is pale on the paper.
pub(super) fn kept_edge(ink: &Ink) -> Option<Color32> {
    Some(ink.edge(ink.cache)).filter(|edge| *edge != ink.cache)
}

/// A bar of a histogram, with the line around it, if it has one.
pub(super) fn bar_of(painter: &Painter, bar: Rect, colour: Color32, edge: Option<Color32>) {
    let bar = bar.shrink2(vec2(0.0, 0.4));
    painter.rect_filled(bar, 0.0, colour);
    if let Some(edge) = edge.filter(|_| bar.width() > 1.0) {
        painter.rect_stroke(bar, 0.0, Stroke::new(1.0, edge), StrokeKind::Inside);
    }
}

/// Where a candidate's point is: in the right half, kept ones left of folded ones, spread by their id so that equal scores
/// do not hide each other.
fn place(chart: &Chart, c: &Candidate, most: usize) -> Pos2 {
    // The golden ratio's multiples are spread evenly, whatever ids there are.
    let spread = (c.write as f64 * 0.618_033_988_75).fract();
    let start = if c.fate == Fate::Kept { 1.06 } else { 1.54 };
    let score = f64::from(c.score);
    pos2(chart.x_of((start + 0.40 * spread) * most as f64), height(chart, score))
}

/// How high a score lies: within the plot, at its edge where it has no place on the axis; NaN at the top.
pub(super) fn height(chart: &Chart, score: f64) -> f32 {
    let (top, bottom) = (chart.rect.top() + 3.0, chart.rect.bottom() - 3.0);
    let y = chart.y_of(score);
    if y.is_nan() { top } else { y.clamp(top, bottom.max(top)) }
}
