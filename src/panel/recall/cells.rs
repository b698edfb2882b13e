//! Few reads: a cell for each of them and each lane, right or wrong, where a mean over some of them would say little.

use eframe::egui::{Painter, Pos2, Rect, Stroke, StrokeKind, Ui, Vec2, vec2};

use super::rows::Rows;
use super::stream::selected_token;
use super::words::figures;
use super::{common_in_words, over, reads_asked, reads_in_common};
use crate::app::command::{Command, ViewCommand};
use crate::metric::Running;
use crate::panel::Look;
use crate::panel::common::{facts, playheads, plural, token_name};
use crate::panel::reads::answer::{self, Codes};
use crate::stream::{Stream, Targets};
use crate::widget::chart::Axis;
use crate::widget::palette::Ink;

/// Fewer reads than this have a cell each.
const FEW: usize = 32;
/// The number of a read is written below its cells where these are at least this wide.
const NUMBERED: f32 = 18.0;

/// True if the reads of a stream are few, and answered rightly or wrongly.
pub(super) fn suit(stream: &Stream) -> bool {
    matches!(stream.targets(), Targets::Codes { .. }) && stream.reads() < FEW
}

/// Draws a row of cells for each lane.
pub(super) fn ui(
    ui: &mut Ui,
    look: &Look<'_>,
    lanes: &[Option<Running>],
    codes: &mut Option<Codes>,
    height: f32,
    commands: &mut Vec<Command>,
) {
    let total = look.plan.stream.reads();
    let said: Vec<String> = (0..look.lanes.len()).map(|lane| sentence(look, lanes, lane)).collect();
    let describe = format!("Recall, {}, right or wrong. {}{}", each_of(total), common_in_words(look), said.join("; "));
    let axis = |width: f32| {
        if width / total as f32 >= NUMBERED {
            Axis::kinds("read", (0..total).map(|r| r.to_string()).collect())
        } else {
            Axis::count("read", total)
        }
    };
    let rows = Rows::show(ui, look, height, axis, "each read: filled is right, × wrong", &describe);
    let (ink, painter) = (Ink::of(ui), rows.chart.painter(ui));
    let column = rows.chart.x_of(1.0) - rows.chart.x_of(0.0);
    let half = ((column - 3.0).min(rows.pitch() - 2.0).min(11.0) / 2.0).max(1.5);
    for (index, lane) in look.lanes.iter().enumerate() {
        for read in 0..total {
            let at = rows.at(index, read as f64 + 0.5);
            match answer::answer(look, index, read).right() {
                Some(true) => drop(painter.rect_filled(Rect::from_center_size(at, Vec2::splat(2.0 * half)), 1.5, lane.colour)),
                Some(false) => cross(&painter, at, 0.8 * half, Stroke::new(1.5, lane.colour)),
                None => {}
            }
        }
    }
    if let Some(read) = look.selection.read.filter(|r| *r < total) {
        let ends = [read, read + 1].map(|r| rows.chart.x_of(r as f64));
        let around = Rect::from_x_y_ranges(ends[0]..=ends[1], rows.chart.rect.y_range());
        painter.rect_stroke(around, 0.0, Stroke::new(1.5, ink.select), StrokeKind::Inside);
    }
    playheads(ui, look, &rows.chart, |writes| reads_asked(look, writes) as f64);
    selected_token(&painter, look, &rows.chart, &ink);
    let Some(pointer) = rows.response.hover_pos() else { return };
    let (x, y) = rows.chart.values_at(pointer);
    let read = (x.max(0.0) as usize).min(total.saturating_sub(1));
    let lane = (y.max(0.0) as usize).min(look.lanes.len() - 1);
    if rows.response.clicked() {
        commands.push(ViewCommand::SelectRead(Some(read)).into());
    }
    let stream = &look.plan.stream;
    let codes = codes.get_or_insert_with(|| Codes::new(stream));
    let after = stream.after().get(read).map_or(0, |&a| a as usize);
    let newest = token_name(stream, after.saturating_sub(1));
    let rows_of = [
        ("lane", look.lanes[lane].plan.name.clone()),
        ("comes after", format!("{}, the newest {newest}", plural(after, "write", "writes"))),
        ("answer", answer::answer(look, lane, read).sentence(codes, stream)),
        ("expected", answer::right(stream, codes, read).1),
    ];
    facts(&rows.response, format!("read {read} {}", answer::read_text(stream, read)).trim_end(), &rows_of);
}

/// `each of 8 reads`.
fn each_of(total: usize) -> String {
    if total == 1 { "the only read".to_owned() } else { format!("each of {total} reads") }
}

/// A lane's score over the reads that every lane has answered, and which of these are wrong.
fn sentence(look: &Look<'_>, lanes: &[Option<Running>], lane: usize) -> String {
    let seen = reads_in_common(look);
    let is_wrong = |read: &usize| answer::answer(look, lane, *read).right() == Some(false);
    let wrong: Vec<String> = (0..seen).filter(is_wrong).map(|read| read.to_string()).collect();
    let wrong = if wrong.is_empty() { "none wrong".to_owned() } else { format!("wrong: {}", wrong.join(", ")) };
    format!("{} {}, {wrong}", look.lanes[lane].plan.name, figures(over(look, lanes, lane, 0..seen)))
}

fn cross(painter: &Painter, at: Pos2, half: f32, stroke: Stroke) {
    painter.line_segment([at - vec2(half, half), at + vec2(half, half)], stroke);
    painter.line_segment([at - vec2(half, -half), at + vec2(half, -half)], stroke);
}
