//! The score over the stream: accuracies as steps over bins of reads, errors as lines through windows of them.

use std::ops::Range;

use eframe::egui::{Painter, Pos2, Stroke, Ui, pos2, vec2};

use super::words::{counted, figures};
use super::{common_in_words, over, reads_asked, reads_in_common, reads_seen};
use crate::metric::{Running, Scored};
use crate::panel::common::{facts, playheads};
use crate::panel::{LaneLook, Look};
use crate::stream::Targets;
use crate::widget::chart::{Axis, Chart, sign};
use crate::widget::line;
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::Scale;

/// Bins or windows into which the reads are cut, at most.
const MOST: usize = 64;
/// An accuracy is of at least so many reads, as long as there are that many.
const LEAST: usize = 16;
/// With no more windows than this each is a mark, so that what was read is told from the line between.
const FEW: usize = 40;
/// Half of a lane's mark, in points.
const HALF: f32 = 5.5;
/// From one lane's mark to the next lane's along their steps, at least, and from one mark of a lane to its next.
const APART: [f32; 2] = [13.0, 60.0];

/// How the reads of a stream are cut, as evenly as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// All reads of the stream.
    total: usize,
    /// Into how many parts.
    count: usize,
}

impl Cut {
    /// Right or wrong answers (`recall`): as many parts as leave each [`LEAST`] reads. Errors: of as many reads as makes no more than [`MOST`].
    fn new(total: usize, recall: bool) -> Self {
        let count = if recall { (total / LEAST).min(MOST) } else { total.div_ceil(total.div_ceil(MOST).max(1)) };
        Self { total, count: count.max(1) }
    }

    /// The reads of a part.
    fn range(self, part: usize) -> Range<usize> {
        part * self.total / self.count..(part + 1) * self.total / self.count
    }

    /// The part of a read.
    fn of(self, read: usize) -> usize {
        (((read + 1) * self.count).saturating_sub(1) / self.total.max(1)).min(self.count - 1)
    }

    /// How many reads a part has: `each read`, `16 reads each`, `16 or 17 reads each`.
    fn words(self) -> String {
        match (self.total / self.count, self.total.div_ceil(self.count)) {
            (1, 1) => "each read".to_owned(),
            (least, most) if least == most => format!("{most} reads each"),
            (least, most) => format!("{least} or {most} reads each"),
        }
    }
}

/// What a lane scored over some reads that it has answered.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    reads: Range<usize>,
    value: f64,
}

impl Step {
    fn middle(&self) -> f64 {
        (self.reads.start + self.reads.end) as f64 / 2.0
    }
}

/// One lane's figure over each part of the first `seen` reads.
fn steps(running: &Running, head: usize, seen: usize, cut: Cut) -> Vec<Step> {
    (0..cut.count)
        .map(|part| cut.range(part))
        .take_while(|reads| reads.start < seen)
        .filter_map(|reads| {
            let reads = reads.start..reads.end.min(seen);
            let value = running.over(head..head + 1, reads.clone()).headline().filter(|v| v.is_finite())?;
            Some(Step { reads, value })
        })
        .collect()
}

/// The ends of an axis from 0 to `top` with room for half a mark beyond both, in a plot that takes `size` points along it, its words and all.
pub(super) fn padded(size: f32, top: f64) -> (f64, f64) {
    // Words and numbers above and below a plot take about 40 points.
    let beyond = top * f64::from(HALF / (size - 40.0 - 2.0 * HALF).max(4.0 * HALF));
    (-beyond, top + beyond)
}

/// Draws the scores over the stream.
pub(super) fn ui(ui: &mut Ui, look: &Look<'_>, lanes: &[Option<Running>], height: f32) {
    let (total, head) = (look.plan.stream.reads(), look.query_head);
    let recall = matches!(look.plan.stream.targets(), Targets::Codes { .. });
    let cut = Cut::new(total, recall);
    let what = Scored::of(look.plan.stream.targets()).name();
    let each: Vec<Vec<Step>> =
        lanes.iter().enumerate().map(|(i, r)| r.as_ref().map(|r| steps(r, head, reads_seen(look, i), cut)).unwrap_or_default()).collect();
    // The axis covers all that is computed, so that it stands still while the playhead moves.
    let all = lanes.iter().flatten().flat_map(|r| steps(r, head, r.reads(), cut));
    let top = if recall { 1.0 } else { all.map(|s| s.value).fold(0.1, f64::max) };
    let (low, high) = if recall || cut.count <= FEW { padded(height, top) } else { (0.0, 1.05 * top) };
    let now: Vec<String> = look
        .lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| format!("{} {}", lane.plan.name, figures(over(look, lanes, i, 0..reads_in_common(look)))))
        .collect();
    let drawn = if recall { "steps" } else { "lines" };
    let describe = format!("Recall, {what} over the stream in {drawn} of {}. {}{}", cut.words(), common_in_words(look), now.join("; "));
    let y = Axis::real(format!("{what} of {}", cut.words()), low, high, Scale::Linear);
    let (response, chart) = Chart::show(ui, vec2(ui.available_width(), height), Axis::count("read", total), y, &[], &describe);
    let (ink, painter) = (Ink::of(ui), chart.painter(ui));
    if recall {
        draw_steps(&painter, look, &chart, cut, &each, &ink);
    } else {
        draw_lines(&painter, look, &chart, cut, &each, &ink);
    }
    playheads(ui, look, &chart, |writes| reads_asked(look, writes) as f64);
    selected_token(&painter, look, &chart, &ink);
    let Some(pointer) = response.hover_pos() else { return };
    let read = (chart.values_at(pointer).0.max(0.0) as usize).min(total.saturating_sub(1));
    let part = cut.range(cut.of(read));
    let seen = |lane: usize| part.start..part.end.min(reads_seen(look, lane));
    let rows: Vec<(&str, String)> =
        look.lanes.iter().enumerate().map(|(i, lane)| (lane.plan.name.as_str(), counted(over(look, lanes, i, seen(i))))).collect();
    let title = if part.len() > 1 { format!("reads {} to {}", part.start, part.end - 1) } else { format!("read {}", part.start) };
    facts(&response, &title, &rows);
}

/// A line where the first read stands that sees the selected token.
pub(super) fn selected_token(painter: &Painter, look: &Look<'_>, chart: &Chart, ink: &Ink) {
    if let Some(token) = look.selection.current() {
        let first = look.plan.stream.after().partition_point(|&a| a as usize <= token);
        painter.vline(chart.x_of(first as f64), chart.rect.y_range(), Stroke::new(1.0, ink.select.gamma_multiply(0.55)));
    }
}

/// A level line over each bin's reads, and upright ones between: no accuracy is drawn that no bin has.
fn draw_steps(painter: &Painter, look: &Look<'_>, chart: &Chart, cut: Cut, each: &[Vec<Step>], ink: &Ink) {
    for (lane, steps) in look.lanes.iter().zip(each) {
        let level = |step: &Step| {
            let y = chart.y_of(step.value);
            [step.reads.start, step.reads.end].map(|read| pos2(chart.x_of(read as f64), y))
        };
        let points: Vec<Pos2> = steps.iter().flat_map(level).collect();
        line::draw(painter, &points, Stroke::new(1.7, lane.colour), lane.dash());
    }
    // The marks of the lanes take turns along the steps, each on its own: so that equal scores are told apart.
    let [apart, again] = APART;
    let lanes = look.lanes.len() as f32;
    let turn = (chart.rect.width() / cut.count as f32).max(apart * lanes).max(again);
    for (index, (lane, steps)) in look.lanes.iter().zip(each).enumerate() {
        let first = chart.rect.left() + (index as f32 + 0.5) / lanes * turn;
        for at in marks(chart, steps, first, turn) {
            sign(painter, at, lane.mark(), lane.colour, ink);
        }
    }
}

/// Where a lane's marks are: on its steps, from `first` on, every `turn` points; one in the middle of the last step if there is none.
fn marks(chart: &Chart, steps: &[Step], first: f32, turn: f32) -> Vec<Pos2> {
    let along = |x: f32| {
        let read = chart.values_at(pos2(x, chart.rect.top())).0;
        let step = steps.iter().find(|s| (s.reads.start as f64..s.reads.end as f64).contains(&read))?;
        Some(pos2(x, chart.y_of(step.value)))
    };
    let count = ((chart.rect.right() - first) / turn.max(1.0)).max(0.0) as usize + 1;
    let found: Vec<Pos2> = (0..count).filter_map(|k| along(first + k as f32 * turn)).collect();
    if found.is_empty() {
        return steps.last().map(|last| chart.pos(last.middle(), last.value)).into_iter().collect();
    }
    found
}

/// Lines through the middles of windows; few of these are marks, with faint lines that only lead the eye.
fn draw_lines(painter: &Painter, look: &Look<'_>, chart: &Chart, cut: Cut, each: &[Vec<Step>], ink: &Ink) {
    let few = cut.count <= FEW;
    let line_of = |lane: &LaneLook<'_>| {
        if few { Stroke::new(1.0, blend(ink.paper, lane.colour, 0.45)) } else { Stroke::new(1.7, lane.colour) }
    };
    for (lane, steps) in look.lanes.iter().zip(each) {
        let points: Vec<Pos2> = steps.iter().map(|s| chart.pos(s.middle(), s.value)).collect();
        if !few || points.len() > 1 {
            line::draw(painter, &points, line_of(lane), lane.dash());
        }
        if few {
            points.iter().for_each(|at| sign(painter, *at, lane.mark(), lane.colour, ink));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::Rect;

    #[test]
    fn every_bin_of_right_and_wrong_answers_has_sixteen_reads_at_least() {
        let of = |total| Cut::new(total, true);
        assert_eq!([1, 31, 32, 100, 256, 1024, 65_536].map(|t| of(t).count), [1, 1, 2, 6, 16, 64, 64]);
        assert_eq!((of(256).words(), of(100).words()), ("16 reads each".to_owned(), "16 or 17 reads each".to_owned()));
        for total in (16..1100).chain([65_536, 100_003]) {
            let cut = of(total);
            let mut next = 0;
            for part in 0..cut.count {
                let range = cut.range(part);
                assert_eq!(range.start, next, "{total} reads");
                assert!(range.len() >= LEAST, "{total} reads: {range:?}");
                assert_eq!([range.start, range.end - 1].map(|read| cut.of(read)), [part, part], "{total} reads");
                next = range.end;
            }
            assert_eq!(next, total);
        }
    }

    #[test]
    fn errors_are_of_single_reads_as_long_as_there_are_few() {
        let of = |total| Cut::new(total, false);
        assert_eq!([8, 64, 65, 2048].map(|t| of(t).count), [8, 64, 33, 64]);
        assert_eq!([8, 65, 2048].map(|t| of(t).words()), ["each read", "1 or 2 reads each", "32 reads each"]);
    }

    #[test]
    fn half_a_mark_has_room_at_both_ends() {
        // 140 points, 100 of them the plot: 5.5 beyond both ends leave 89 from 0 to 1.
        let (low, high) = padded(140.0, 1.0);
        let points = 100.0 / (high - low);
        assert!((points * -low - 5.5).abs() < 1e-4 && (points * (high - 1.0) - 5.5).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn marks_lie_on_the_steps_and_there_is_always_one() {
        let chart = Chart {
            rect: Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 100.0)),
            x: Axis::count("", 100),
            y: Axis::real("", 0.0, 1.0, Scale::Linear),
        };
        let steps = [Step { reads: 0..16, value: 0.25 }, Step { reads: 16..32, value: 1.0 }];
        assert_eq!(marks(&chart, &steps, 5.0, 20.0), [pos2(5.0, 75.0), pos2(25.0, 0.0)], "what is not read yet has none");
        assert_eq!(marks(&chart, &steps, 50.0, 20.0), [pos2(24.0, 0.0)]);
        assert!(marks(&chart, &[], 50.0, 20.0).is_empty());
    }
}
