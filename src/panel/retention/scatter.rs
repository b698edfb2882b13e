//! LoLA's score against the loss: does the score that a token has when it leaves the window say how badly it is recalled later?

use eframe::egui::{Align2, Color32, FontId, Label, RichText, Stroke, Ui, pos2, vec2};

use super::{Retention, column_at};
use crate::app::command::Command;
use crate::app::facts::Index;
use crate::app::study::retention::Finding;
use crate::layer::lola::residency::{Place, Residency};
use crate::metric::retention::spearman;
use crate::panel::Look;
use crate::panel::common::{
    Key, chunk_name, chunks_seen, facts, head_of, is_marked, lanes_with, marked_name, plural, point_at, select_ring, token_name, words,
};
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, diamond, triangle};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;
use crate::widget::raster::nearest;
use crate::widget::ticks::{Scale, number};

/// Scores and errors are not told apart below this: rounding in float32 alone makes a relative squared error of up to about 1e-12.
const FLOOR: f64 = 1e-12;

/// Where all errors are smaller, nothing is lost that scores could have foretold.
const LITTLE: f64 = 0.001;

/// A followed token that has left the window of a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dot {
    write: usize,
    /// The step at whose end it left the window.
    step: usize,
    score: f64,
    error: f64,
    /// True while it is in the cache, at the playhead.
    cached: bool,
}

impl Dot {
    /// Score and error for ranks: what is nothing but rounding is equal.
    fn pair(&self) -> (f64, f64) {
        // A comparison that NaN does not pass: it stays the largest.
        let floor = |v: f64| if v < FLOOR { 0.0 } else { v };
        (floor(self.score), floor(self.error))
    }
}

/// The step at whose end a write leaves the window of `window` writes, of a lane with chunks of `chunk` on a stream of `total`;
/// `None` where it never does.
#[must_use]
pub fn leaves_at(write: usize, window: usize, chunk: usize, total: usize) -> Option<usize> {
    let needed = write + window + 1;
    (needed <= total).then(|| needed.div_ceil(chunk.max(1)) - 1)
}

/// The dots of a lane at the playhead.
fn dots(look: &Look<'_>, lane: usize, finding: &Finding, column: usize, index: &Residency) -> Option<Vec<Dot>> {
    let (plan, trace) = (look.lanes[lane].plan, look.lanes[lane].trace);
    let (ids, scores) = (trace.channel("candidates")?, trace.channel("candidate_scores")?);
    let head = head_of(ids, look);
    let (setup, chunks) = (&plan.setup, chunks_seen(look, lane).min(index.steps()));
    let window = setup.params.size("window");
    let dot = |(number, &write): (usize, &usize)| {
        let step = leaves_at(write, window, setup.chunk, setup.stream.writes()).filter(|s| *s < chunks)?;
        let place = ids.wholes_at(head, step).binary_search(&(write as i32)).ok()?;
        let score = scores.values(head).get(scores.range(head, step).start + place)?;
        let error = finding.map.error(lane, look.query_head, column, number)?;
        Some(Dot { write, step, score, error: f64::from(error), cached: index.at(write, chunks) == Place::Cache })
    };
    Some(finding.map.probes().tokens().iter().enumerate().filter_map(dot).collect())
}

/// The correlations of score and error in words.
fn sentence(dots: &[Dot]) -> String {
    let of = |keep: &dyn Fn(&Dot) -> bool| {
        let pairs: Vec<_> = dots.iter().filter(|d| keep(d)).map(Dot::pair).collect();
        let rho = spearman(&pairs).map_or_else(|| "not defined".to_owned(), |r| format!("{r:.2}"));
        (rho, pairs.len())
    };
    let ((all, n), (folded, m)) = (of(&|_| true), of(&|d| !d.cached));
    let mut text = format!("Spearman's rank correlation of score and error: {all} (n = {n})");
    if m < n {
        text = format!("{text}; of those folded into the state {folded} (n = {m})");
    }
    // NaN fails this comparison too, as it must.
    if !dots.is_empty() && dots.iter().all(|d| d.error < LITTLE) {
        text = format!("{text}. All errors are below {LITTLE}: nothing is lost, so their order says little");
    }
    text
}

impl Retention {
    /// The scatter of one lane.
    pub(super) fn scores(&mut self, ui: &mut Ui, look: &Look<'_>, finding: &Finding, commands: &mut Vec<Command>) {
        let lanes: Vec<usize> = lanes_with(look, &["candidates", "candidate_scores", "admitted", "displaced"])
            .into_iter()
            .filter(|&l| look.lanes[l].plan.kind.params().iter().any(|p| p.name == "window"))
            .collect();
        let Self { lane: choice, dots: cached, index, .. } = self;
        let none = "No lane here scores tokens on their way out of a window; add a LoLA lane.";
        let Some(lane) = choice.row(ui, look, &lanes, none, |ui, lane| {
            let dots = at_playhead(look, lane, finding, cached, index);
            ui.add(Label::new(RichText::new(sentence(dots))).wrap());
        }) else {
            return;
        };
        let dots = at_playhead(look, lane, finding, cached, index);
        if dots.is_empty() {
            words(ui, "No followed token has left the window yet.");
            return;
        }
        plot(ui, look, lane, dots, commands);
    }
}

fn at_playhead<'a>(
    look: &Look<'_>,
    lane: usize,
    finding: &Finding,
    cached: &'a mut crate::widget::cached::Cached<Key<(u64, usize, usize)>, Vec<Dot>>,
    index: &mut Index,
) -> &'a [Dot] {
    let (Some(column), Some(index)) = (column_at(finding, lane, look.writes), index.residency(look, lane)) else { return &[] };
    let key = Key::new(look, lane, look.query_head, column, (finding.number, chunks_seen(look, lane).min(index.steps()), look.kv_head));
    cached.get(key, || dots(look, lane, finding, column, index).unwrap_or_default())
}

/// An axis from the smallest to the largest number above 0, by ratios; what is not above `FLOOR` lies at its start.
fn axis(label: String, values: impl Iterator<Item = f64>) -> Axis {
    let (min, max) =
        values.filter(|v| v.is_finite() && *v > FLOOR).fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), v| (a.min(v), b.max(v)));
    let (min, max) = if min <= max { (min, max) } else { (0.1, 1.0) };
    let pad = (max / min).powf(0.04).max(1.05);
    Axis::real(label, min / pad, max * pad, Scale::Log)
}

/// Below [`LITTLE`] the axis of errors goes on by this factor, where smaller ones stand in a row: less than to its next tick.
const ROW: f64 = 1.9;

/// The axis of errors, and whether those of at most [`LITTLE`] stand in a row at its start: where some are larger, rounding of cached
/// tokens, nine powers of ten below these, would leave the plot empty.
fn errors(dots: &[Dot]) -> (Axis, bool) {
    let rows = dots.iter().any(|d| d.error <= LITTLE) && dots.iter().any(|d| d.error.is_finite() && d.error > LITTLE);
    let own = |d: &Dot| if rows && d.error < LITTLE { LITTLE } else { d.error };
    let axis = axis("relative squared error at the playhead".to_owned(), dots.iter().map(own));
    if rows { (Axis { min: LITTLE / ROW, ..axis }, true) } else { (axis, false) }
}

/// How far up an error lies on that axis, from 0 to 1; what is no number at the top.
fn height(axis: &Axis, rows: bool, error: f64) -> f64 {
    let share = match error {
        e if e.is_nan() => 1.0,
        e if rows && e <= LITTLE => axis.share(LITTLE) / 2.0,
        e => axis.share(e),
    };
    share.clamp(0.012, 0.988)
}

/// The row of errors that are as good as none: a line above it, and what it stands for.
fn row(ui: &Ui, chart: &Chart, ink: &Ink) {
    let painter = chart.painter(ui);
    let top = chart.y_of(LITTLE);
    line::draw(&painter, &[pos2(chart.rect.left(), top), pos2(chart.rect.right(), top)], Stroke::new(1.0, ink.quiet), Dash::Long);
    let at = pos2(chart.rect.left() + 4.0, f32::midpoint(top, chart.rect.bottom()));
    painter.text(at, Align2::LEFT_CENTER, format!("\u{2264} {}", number(LITTLE)), FontId::proportional(SMALL), ink.quiet);
}

fn plot(ui: &mut Ui, look: &Look<'_>, lane: usize, dots: &[Dot], commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let unit = look.lanes[lane].trace.channel("candidate_scores").map_or("1", |c| c.spec().unit);
    let x = axis(format!("score on leaving the window ({unit})"), dots.iter().map(|d| d.score));
    let (y, rows) = errors(dots);
    let mut legend = vec![Entry::new(Sign::Up, ink.cache, "in the cache now"), Entry::new(Sign::Down, ink.plain, "folded")];
    if let Some(name) = marked_name(&look.plan.stream) {
        legend.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    let edge = dots.iter().filter(|d| d.score <= FLOOR || (d.error <= FLOOR && !rows) || !(d.score + d.error).is_finite()).count();
    if edge > 0 {
        let lie = plural(edge, "token has", "tokens have");
        ui.label(RichText::new(format!("{lie} no place on these axes (below 1e-12, or no number) and lie at their edge")).color(ink.quiet));
    }
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let describe = format!(
        "Score against later error of {} in lane {}. {}{}",
        plural(dots.len(), "token", "tokens"),
        look.lanes[lane].plan.name,
        sentence(dots),
        if rows { format!(". Errors of at most {LITTLE} stand in a row") } else { String::new() }
    );
    let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
    let painter = chart.painter(ui);
    let place = |d: &Dot| {
        let share = if d.score.is_nan() { 1.0 } else { chart.x.share(d.score).clamp(0.012, 0.988) };
        chart.pos(chart.x.value(share), chart.y.value(height(&chart.y, rows, d.error)))
    };
    if rows {
        row(ui, &chart, &ink);
    }
    let points: Vec<_> = dots.iter().map(place).collect();
    // Marked ones last, so that none is hidden.
    for marked in [false, true] {
        for (d, at) in dots.iter().zip(&points).filter(|(d, _)| is_marked(&look.plan.stream, d.write) == marked) {
            if d.cached {
                painter.add(triangle(*at, 3.4, true, ink.cache, Stroke::new(0.6, ink.text)));
            } else {
                painter.add(triangle(*at, 3.2, false, ink.paper, Stroke::new(1.1, ink.plain)));
            }
            if marked {
                painter.add(diamond(*at, 5.6, Color32::TRANSPARENT, Stroke::new(1.6, ink.mark)));
            }
        }
    }
    if let Some(i) = look.selection.current().and_then(|t| dots.iter().position(|d| d.write == t)) {
        select_ring(ui, &chart, points[i]);
    }
    let Some(pointer) = response.hover_pos() else { return };
    let near = points.iter().enumerate().map(|(i, p)| (i, [p.x, p.y]));
    let Some(i) = nearest(near, [pointer.x, pointer.y], 9.0) else {
        point_at(&response, None, commands);
        return;
    };
    let d = &dots[i];
    let facts_shown = [
        ("score on leaving", format!("{} ({})", number(d.score), chunk_name(look.plan, look.lanes[lane].plan, d.step))),
        ("error now", number(d.error)),
        ("where it is", if d.cached { "in the cache" } else { "folded into the state" }.to_owned()),
    ];
    facts(&response, &token_name(&look.plan.stream, d.write), &facts_shown);
    point_at(&response, Some(d.write), commands);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_leaves_when_more_than_a_window_came_after_it() {
        // Window 2, chunk 2: after chunk 1 four are written, so that 0 and 1 leave; 5 of a stream of 7 never does.
        assert_eq!([0, 1, 2, 4, 5].map(|w| leaves_at(w, 2, 2, 7)), [Some(1), Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn correlations_are_said_with_their_numbers() {
        let dot = |score, error, cached| Dot { write: 0, step: 0, score, error, cached };
        let dots = [dot(1.0, 0.1, false), dot(2.0, 0.2, false), dot(3.0, 0.3, false), dot(4.0, 0.0, true)];
        // Ranks 1 2 3 4 against 2 3 4 1: 1 - 6 (1 + 1 + 1 + 9) / 60 = -.2.
        assert_eq!(
            sentence(&dots),
            "Spearman's rank correlation of score and error: -0.20 (n = 4); of those folded into the state 1.00 (n = 3)"
        );
        assert!(sentence(&dots[..2]).ends_with("not defined (n = 2)"));
    }

    #[test]
    fn errors_that_are_as_good_as_none_stand_in_a_row_below_the_others() {
        let of = |errors: &[f64]| -> Vec<Dot> {
            errors.iter().map(|&error| Dot { write: 0, step: 0, score: 1.0, error, cached: false }).collect()
        };
        let dots = of(&[1e-10, 0.0, 0.5, 1.0, f64::NAN]);
        let (axis, rows) = errors(&dots);
        assert!(rows && (axis.min - 0.001 / 1.9).abs() < 1e-9 && axis.max > 1.0, "{axis:?}");
        let at = |error| height(&axis, rows, error);
        let row = axis.share(LITTLE);
        assert!((at(1e-10) - row / 2.0).abs() < 1e-12 && (at(0.0) - row / 2.0).abs() < 1e-12 && (at(LITTLE) - row / 2.0).abs() < 1e-12);
        assert!(at(0.0011) > row && at(0.5) < at(1.0) && at(f64::NAN) > at(1.0));
        // No tick is within the row: it would lend a scale to what has none there.
        let ticks = crate::widget::ticks::ticks(axis.min, axis.max, Scale::Log, 12, false);
        assert!(!ticks.is_empty() && ticks.iter().all(|t| *t >= LITTLE * 0.999_999), "{ticks:?}");
        // All of them small, or all large: an axis as it always was.
        for errors_of in [&[1e-10, 1e-9][..], &[0.1, 1.0]] {
            assert!(!errors(&of(errors_of)).1);
        }
    }

    #[test]
    fn an_axis_of_zeros_has_a_range() {
        let a = axis(String::new(), [0.0, f64::NAN].into_iter());
        assert!(a.min > 0.0 && a.max > a.min);
    }
}
