//! The rows of the marked role (the needle) on the map: drawn high enough to be read, in the colours of the memories that hold them.

use std::ops::Range;

use eframe::egui::{Align2, Color32, FontId, Rangef, Rect, Shape, Stroke, Ui, pos2};

use super::held::Held;
use super::picture::faint;
use super::{Runs, marked_role, slot};
use crate::layer::lola::residency::Residency;
use crate::panel::Look;
use crate::widget::baked;
use crate::widget::chart::{Chart, SMALL};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;

/// With more runs than this each gets a tick at the edge, or their rows would hide the picture.
const MOST: usize = 12;
/// How high a row is drawn at least, where no other is in its way; in points.
const HIGH: f32 = 6.0;

/// From after this many chunks on, so many tokens of a run are in the window, the cache, the state, and forgotten with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    from: usize,
    held: [usize; 4],
}

impl Span {
    fn is_raw(&self) -> bool {
        self.held[0] + self.held[1] > 0
    }
}

/// A run of neighbours of the marked role, and where its tokens are from when on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    tokens: Range<usize>,
    spans: Vec<Span>,
}

/// True if the rows of these runs are drawn, not only ticks for them.
pub(super) fn are_drawn(runs: &Runs) -> bool {
    !runs.is_empty() && runs.len() <= MOST
}

/// The rows of the runs, if they are few enough to be drawn.
pub(super) fn rows(index: &Residency, runs: &Runs) -> Vec<Row> {
    if !are_drawn(runs) {
        return Vec::new();
    }
    runs.iter().map(|run| Row { tokens: run.clone(), spans: spans(index, run.clone()) }).collect()
}

fn spans(index: &Residency, run: Range<usize>) -> Vec<Span> {
    // Each move as: after how many chunks, from where, to where. A life begins when the token is written.
    let mut moves: Vec<(usize, Option<usize>, usize)> = Vec::new();
    for write in run {
        let mut before = None;
        for (after, place) in index.life(write) {
            let to = slot(place);
            moves.push((after, before, to));
            before = Some(to);
        }
    }
    moves.sort_unstable();
    let mut spans: Vec<Span> = Vec::new();
    let mut held = [0; 4];
    for (after, before, to) in moves {
        if let Some(before) = before {
            held[before] -= 1;
        }
        held[to] += 1;
        match spans.last_mut() {
            Some(last) if last.from == after => last.held = held,
            _ => spans.push(Span { from: after, held }),
        }
    }
    spans
}

/// Draws them up to the playhead, each with its outline: solid while a token of it is raw, dashed when all are folded.
pub(super) fn show(ui: &Ui, chart: &Chart, look: &Look<'_>, ink: &Ink, held: &Held<'_>, (runs, rows): (&Runs, &[Row])) {
    if rows.is_empty() {
        ticks(ui, chart, ink, held, runs);
        return;
    }
    let painter = chart.painter(ui);
    let end = held.chunks;
    let mut shapes: Vec<Shape> = Vec::new();
    for (row, height) in rows.iter().zip(heights(chart, rows)) {
        let middle = middle(chart, &row.tokens);
        let y = Rangef::new(middle - height / 2.0, middle + height / 2.0);
        let Some(first) = row.spans.first().filter(|s| s.from <= end) else { continue };
        for (at, span) in row.spans.iter().enumerate().take_while(|(_, s)| s.from <= end) {
            let until = row.spans.get(at + 1).map_or(end, |next| (next.from - 1).min(end));
            let x = Rangef::new(chart.x_of((span.from - 1) as f64), chart.x_of(until as f64));
            stack(&mut shapes, x, y, span, ink);
        }
        let folded = row.spans.iter().find(|s| !s.is_raw() && s.from > first.from).map_or(end, |s| (s.from - 1).min(end));
        let [left, turn, right] = [first.from - 1, folded, end].map(|x| chart.x_of(x as f64));
        border(&mut shapes, [left, turn, right], y.expand(0.75), ink.mark);
    }
    baked::draw(&painter, ui.scope_id().with("rows"), shapes);
    labels(ui, chart, look, ink, held, rows);
}

/// One span of a row: from above the window, the cache and the state, each as high as its share of the tokens.
fn stack(shapes: &mut Vec<Shape>, x: Rangef, y: Rangef, span: &Span, ink: &Ink) {
    let total: usize = span.held.iter().sum();
    let mut top = y.min;
    for (count, colour) in span.held.into_iter().zip([ink.window, ink.cache, ink.state, faint(ink)]) {
        if count > 0 {
            let bottom = top + y.span() * count as f32 / total as f32;
            shapes.push(Shape::rect_filled(Rect::from_x_y_ranges(x, top..=bottom), 0.0, colour));
            top = bottom;
        }
    }
}

/// A row's outline, from when it is written (`left`) to the playhead (`right`); dashed from `turn` on.
fn border(shapes: &mut Vec<Shape>, [left, turn, right]: [f32; 3], y: Rangef, colour: Color32) {
    let stroke = Stroke::new(1.2, colour);
    shapes.push(Shape::line_segment([pos2(left, y.min), pos2(left, y.max)], stroke));
    for y in [y.min, y.max] {
        shapes.push(Shape::line_segment([pos2(left, y), pos2(turn, y)], stroke));
        if right > turn {
            shapes.extend(line::shapes(&[pos2(turn, y), pos2(right, y)], Stroke::new(1.0, colour), Dash::Long));
        }
    }
}

fn middle(chart: &Chart, run: &Range<usize>) -> f32 {
    f32::midpoint(chart.y_of(run.start as f64), chart.y_of(run.end as f64))
}

/// How high each row is drawn: as high as its tokens are, at least [`HIGH`], but not over its neighbours.
fn heights(chart: &Chart, rows: &[Row]) -> Vec<f32> {
    let middles: Vec<f32> = rows.iter().map(|row| middle(chart, &row.tokens)).collect();
    rows.iter()
        .enumerate()
        .map(|(at, row)| {
            let own = chart.y_of(row.tokens.start as f64) - chart.y_of(row.tokens.end as f64);
            let apart = |other: Option<&f32>| other.map_or(f32::INFINITY, |y| (y - middles[at]).abs());
            let room = apart(at.checked_sub(1).and_then(|before| middles.get(before))).min(apart(middles.get(at + 1))) - 3.0;
            own.max(HIGH.min(room)).max(1.5)
        })
        .collect()
}

/// The role's name at the beginning of each row; where names would lie on each other, one that says how many rows it names.
fn labels(ui: &Ui, chart: &Chart, look: &Look<'_>, ink: &Ink, held: &Held<'_>, rows: &[Row]) {
    let name = marked_role(look);
    let painter = chart.painter(ui);
    let lay = |text: String| painter.layout_no_wrap(text, FontId::proportional(SMALL), ink.mark);
    // As wide as the widest that may stand there.
    let size = lay(format!("{name} ×{}", rows.len())).size();
    let mut groups: Vec<(Rect, usize)> = Vec::new();
    for row in rows {
        let Some(first) = row.spans.first().filter(|s| s.from <= held.chunks) else { continue };
        let (left, y) = (chart.x_of((first.from - 1) as f64), middle(chart, &row.tokens));
        let beside = left - chart.rect.left() > size.x + 6.0;
        let (anchor, at) =
            if beside { (Align2::RIGHT_BOTTOM, pos2(left - 4.0, y - 1.0)) } else { (Align2::LEFT_BOTTOM, pos2(left + 3.0, y - 4.0)) };
        let place = anchor.anchor_size(at, size);
        match groups.last_mut() {
            Some((last, count)) if last.intersects(place) => *count += 1,
            _ => groups.push((place, 1)),
        }
    }
    for (place, count) in groups {
        let text = lay(if count > 1 { format!("{name} ×{count}") } else { name.to_owned() });
        let at =
            if place.right() < chart.rect.left() + size.x + 8.0 { place.min } else { pos2(place.right() - text.size().x, place.top()) };
        painter.galley(at, text, ink.mark);
    }
}

/// Many runs: a tick at the edge for each.
fn ticks(ui: &Ui, chart: &Chart, ink: &Ink, held: &Held<'_>, runs: &Runs) {
    let written = runs.iter().filter(|run| run.start / held.chunk < held.chunks);
    let tick = |run: &Range<usize>| {
        let middle = middle(chart, run);
        Shape::line_segment([pos2(chart.rect.left(), middle), pos2(chart.rect.left() + 6.0, middle)], Stroke::new(1.0, ink.mark))
    };
    baked::draw(&chart.painter(ui), ui.scope_id().with("ticks"), written.map(tick).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::hand::{Act, Hand};

    /// Window 2, chunk 2, eight writes: 0 is cached by step 1 and folded by step 2, 1 is folded by step 1, 2 is cached by step 2.
    fn index() -> Residency {
        let mut index = Residency::new(2, 2, 8);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        index.push(&[2], &[0]);
        index.push(&[], &[]);
        index
    }

    fn held(from: usize, held: [usize; 4]) -> Span {
        Span { from, held }
    }

    #[test]
    fn a_row_follows_its_tokens_through_the_memories() {
        let index = index();
        assert_eq!(spans(&index, 0..1), [held(1, [1, 0, 0, 0]), held(2, [0, 1, 0, 0]), held(3, [0, 0, 1, 0])]);
        assert_eq!(spans(&index, 0..2), [held(1, [2, 0, 0, 0]), held(2, [0, 1, 1, 0]), held(3, [0, 0, 2, 0])]);
        // The last two are in the window to the end.
        assert_eq!(spans(&index, 6..8), [held(4, [2, 0, 0, 0])]);
        let forget = Hand { step: 3, kv_head: 0, what: Act::Forget };
        let spans = spans(&index.with_hands(&[forget], 0), 0..2);
        assert_eq!(spans.last(), Some(&held(3, [0, 0, 0, 2])), "what was folded in that step goes with the rest");
    }

    #[test]
    fn many_runs_are_not_drawn_as_rows() {
        let runs = |n: usize| (0..n).map(|at| at..at + 1).collect::<Runs>();
        assert_eq!([0, 1, MOST, MOST + 1].map(|n| rows(&index(), &runs(n)).len()), [0, 1, MOST, 0]);
    }
}
