//! The table of the recall panel: what each lane scores beside what it costs; sorted by a click on a head, copied as Markdown
//! or CSV.

use std::cmp::Ordering;
use std::fmt::Write as _;

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Align2, FontId, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::words::{bytes, figures, many, percent, time};
use super::{LINE, MARKS};
use crate::metric::{Summary, full_attention_numbers, held, memory_share};
use crate::panel::common::{facts, plural};
use crate::panel::growth::n_max;
use crate::panel::{LaneLook, Look};
use crate::widget::chart::{SMALL, sign, triangle};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;
use crate::widget::ticks::grouped;

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The lane's place among those that run.
    pub lane: usize,
    /// Its name.
    pub name: String,
    /// Its layer's name.
    pub layer: &'static str,
    /// Its score so far.
    pub summary: Option<Summary>,
    /// Numbers held at the end of the stream by one key/value head of the lane.
    pub numbers: u64,
    /// Key/value heads of the lane.
    pub heads: usize,
    /// Numbers held by all of them.
    pub all: u64,
    /// Their share of full attention's.
    pub share: f64,
    /// Multiply-adds to write one token, over all key/value heads.
    pub write: u64,
    /// Multiply-adds to answer one read, over all query heads.
    pub read: u64,
    /// Seconds a step of the timeline, as measured.
    pub seconds: Option<f64>,
}

impl Line {
    /// The line of a lane.
    #[must_use]
    pub fn new(look: &Look<'_>, index: usize, summary: Option<Summary>) -> Self {
        let lane = &look.lanes[index];
        let (plan, own) = (lane.plan, &lane.plan.setup.stream);
        let cost = plan.kind.cost(&plan.setup);
        let (all, share) = (held(&cost, own), memory_share(&cost, own, &look.plan.stream));
        Self {
            lane: index,
            name: plan.name.clone(),
            layer: plan.kind.name(),
            summary,
            numbers: cost.state_numbers,
            heads: own.kv_heads(),
            all,
            share,
            write: cost.write_madds * own.kv_heads() as u64,
            read: cost.read_madds * own.query_heads() as u64,
            seconds: seconds(lane, look.plan.step, own.writes()),
        }
    }
}

/// What a lane takes for `step` writes, by what its chunks took on average.
fn seconds(lane: &LaneLook<'_>, step: usize, writes: usize) -> Option<f64> {
    let (spent, chunks) = lane.spent;
    let done = (chunks * lane.plan.setup.chunk).min(writes);
    (done > 0 && spent > 0.0).then(|| spent * step as f64 / done as f64)
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The lane's name, in the session's order.
    Lane,
    /// Accuracy, or relative error.
    Score,
    /// Numbers held.
    Numbers,
    /// The same in bytes.
    Bytes,
    /// The share of full attention's.
    Share,
    /// Multiply-adds a write.
    Write,
    /// Multiply-adds a read.
    Read,
    /// Time a step.
    Time,
}

const WIDE: [Column; 8] =
    [Column::Lane, Column::Score, Column::Numbers, Column::Bytes, Column::Share, Column::Write, Column::Read, Column::Time];
const NARROW: [Column; 4] = [Column::Lane, Column::Score, Column::Bytes, Column::Share];
/// A panel less wide than this has the narrow table.
const ROOM: f32 = 560.0;

impl Column {
    fn head(self, recall: bool) -> &'static str {
        match self {
            Self::Lane => "lane",
            Self::Score if recall => "accuracy, 95%",
            Self::Score => "rel. error, cosine",
            Self::Numbers => "numbers held",
            Self::Bytes => "state",
            Self::Share => "of full",
            Self::Write => "madds/write",
            Self::Read => "madds/read",
            Self::Time => "time/step",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Lane => "The session's order",
            Self::Score => "The score so far, at the playhead",
            Self::Numbers => "Numbers that the memory holds at the end of the stream, over all key/value heads of the lane",
            Self::Bytes => "The memory at the end of the stream in bytes of float32, over all key/value heads of the lane",
            Self::Share => "Its share of what full attention keeps of the stream: T (dk + dv) numbers a key/value head",
            Self::Write => "Multiply-adds to write one token, over all key/value heads",
            Self::Read => "Multiply-adds to answer one read, over all query heads",
            Self::Time => "What a step of the timeline took, as measured, on average",
        }
    }

    fn text(self, line: &Line) -> String {
        match self {
            Self::Lane => line.name.clone(),
            Self::Score => figures(line.summary),
            Self::Numbers => grouped(line.all),
            Self::Bytes => bytes(line.all),
            Self::Share => percent(line.share),
            Self::Write => many(line.write),
            Self::Read => many(line.read),
            Self::Time => time(line.seconds),
        }
    }

    /// The order of two lines, the smaller first; what is not known is smallest.
    fn order(self, a: &Line, b: &Line) -> Ordering {
        let known = |x: Option<f64>| x.filter(|v| !v.is_nan()).unwrap_or(f64::NEG_INFINITY);
        let score = |l: &Line| known(l.summary.and_then(|s| s.headline()));
        match self {
            Self::Lane => a.lane.cmp(&b.lane),
            Self::Score => score(a).total_cmp(&score(b)),
            Self::Numbers | Self::Bytes => a.all.cmp(&b.all),
            Self::Share => a.share.total_cmp(&b.share),
            Self::Write => a.write.cmp(&b.write),
            Self::Read => a.read.cmp(&b.read),
            Self::Time => known(a.seconds).total_cmp(&known(b.seconds)),
        }
    }
}

/// What the table is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// The largest first.
    pub down: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Lane, down: false }
    }
}

impl Sort {
    /// After a click on a head: that column, or the other way round.
    #[must_use]
    pub fn clicked(self, column: Column) -> Self {
        Self { column, down: if self.column == column { !self.down } else { column == Column::Score } }
    }

    /// Sorts lines; equal ones stay in the session's order.
    pub fn apply(self, lines: &mut [Line]) {
        lines.sort_by(|a, b| {
            let order = self.column.order(a, b);
            let order = if self.down { order.reverse() } else { order };
            order.then(a.lane.cmp(&b.lane))
        });
    }
}

/// Draws the table. `recall`: scores are accuracies.
pub fn ui(ui: &mut Ui, look: &Look<'_>, lines: &[Line], recall: bool, sort: &mut Sort) {
    let columns: &[Column] = if ui.available_width() < ROOM { &NARROW } else { &WIDE };
    let width = ui.available_width();
    let font = FontId::proportional(SMALL);
    let ink = Ink::of(ui);
    let measure = |ui: &Ui, text: String| ui.painter().layout_no_wrap(text, font.clone(), ink.text).size().x;
    // Every column is as wide as its widest cell; the names take what is left.
    let gap = if columns.len() > 4 { 16.0 } else { 8.0 };
    let widths: Vec<f32> = columns[1..]
        .iter()
        .map(|c| lines.iter().map(|l| measure(ui, c.text(l))).fold(measure(ui, c.head(recall).to_owned()) + 8.0, f32::max).ceil())
        .collect();
    let mut rights = Vec::with_capacity(columns.len());
    let mut right = width - 2.0;
    for w in widths.iter().rev() {
        rights.push((right, *w));
        right -= w + gap;
    }
    rights.reverse();
    let names = right.max(48.0);
    let row = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, LINE), Sense::hover());
    let (head, _) = row(ui);
    for (i, column) in columns.iter().enumerate() {
        let rect = match i.checked_sub(1) {
            None => Rect::from_min_max(head.min, pos2(head.left() + names, head.bottom())),
            Some(i) => Rect::from_min_max(
                pos2(head.left() + rights[i].0 - rights[i].1, head.top()),
                pos2(head.left() + rights[i].0, head.bottom()),
            ),
        };
        head_cell(ui, rect, *column, recall, sort);
    }
    for line in lines {
        let (rect, response) = row(ui);
        let lane = &look.lanes[line.lane];
        let texts: Vec<String> = columns.iter().map(|c| c.text(line)).collect();
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, texts.join(", ")));
        swatch(ui, rect, line.lane, lane.colour, &ink);
        let mut job = LayoutJob::simple_singleline(texts[0].clone(), font.clone(), ink.text);
        job.wrap = TextWrapping::truncate_at_width((names - 30.0).max(0.0));
        let name = ui.painter().layout_job(job);
        ui.painter().galley(rect.left_center() + vec2(28.0, -name.size().y / 2.0), name, ink.text);
        for ((right, _), text) in rights.iter().zip(&texts[1..]) {
            ui.painter().text(pos2(rect.left() + right, rect.center().y), Align2::RIGHT_CENTER, text, font.clone(), ink.text);
        }
        facts(&response, &line.name, &whole(look, line));
    }
}

/// A lane's line with its dashes and its mark.
pub fn swatch(ui: &Ui, rect: Rect, lane: usize, colour: eframe::egui::Color32, ink: &Ink) {
    let ends = [rect.left_center() + vec2(1.0, 0.0), rect.left_center() + vec2(23.0, 0.0)];
    line::draw(ui.painter(), &ends, Stroke::new(1.8, colour), Dash::of(lane));
    sign(ui.painter(), ends[0] + vec2(11.0, 0.0), MARKS[lane % MARKS.len()], colour, ink);
}

fn head_cell(ui: &Ui, rect: Rect, column: Column, recall: bool, sort: &mut Sort) {
    let ink = Ink::of(ui);
    let response = ui.interact(rect, ui.scope_id().with(("head", column as u8)), Sense::click());
    let text = column.head(recall);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Sort by {text}")));
    let strong = response.hovered() || response.has_focus() || sort.column == column;
    let colour = if strong { ink.text } else { ink.quiet };
    let (at, align) =
        if column == Column::Lane { (rect.left_center(), Align2::LEFT_CENTER) } else { (rect.right_center(), Align2::RIGHT_CENTER) };
    let drawn = ui.painter().text(at, align, text, FontId::proportional(SMALL), colour);
    if sort.column == column {
        let at = if column == Column::Lane { drawn.right_center() + vec2(6.0, 0.0) } else { drawn.left_center() - vec2(5.0, 0.0) };
        ui.painter().add(triangle(at, 2.6, !sort.down, colour, Stroke::NONE));
    }
    if response.clicked() {
        *sort = sort.clicked(column);
    }
    response.on_hover_text(format!("{}. A click sorts by it, a second one the other way round", column.hint()));
}

/// Everything that is known of a line, for the hover.
fn whole(look: &Look<'_>, line: &Line) -> Vec<(&'static str, String)> {
    let stream = &look.plan.stream;
    let mut rows = vec![
        ("score so far", figures(line.summary)),
        ("memory at the end", format!("{} numbers, {}", grouped(line.all), bytes(line.all))),
        (
            "of one head",
            format!(
                "{} numbers, {}; {}",
                grouped(line.numbers),
                bytes(line.numbers),
                plural(line.heads, "key/value head", "key/value heads")
            ),
        ),
        ("full attention keeps", format!("{} numbers a head of {}", grouped(full_attention_numbers(stream)), stream.kv_heads())),
        ("share of it", percent(line.share)),
    ];
    if line.heads != stream.kv_heads() {
        rows.push(("heads", format!("{} of its own: a state for every query head", line.heads)));
    }
    if let Some(n) = n_max(look, line.lane) {
        rows.push(("reserved", format!("{}, whether they are in use or not", plural(n, "row", "rows"))));
    }
    rows.push(("multiply-adds a write", grouped(line.write)));
    rows.push(("multiply-adds a read", grouped(line.read)));
    rows.push(("time a step", format!("{}; a step is {}", time(line.seconds), plural(look.plan.step, "write", "writes"))));
    let waiting = crate::panel::common::waiting(look, line.lane);
    if !waiting.is_empty() {
        rows.push(("at the playhead", waiting));
    }
    rows
}

/// The heads of what is copied, and the cells of a line: numbers as they are, not shortened.
fn cells(line: Option<&Line>, recall: bool) -> Vec<String> {
    let Some(line) = line else {
        let score: &[&str] = if recall { &["accuracy", "low_95", "high_95"] } else { &["relative_error", "cosine"] };
        let rest = ["reads", "state_numbers", "state_bytes", "share_of_full", "heads", "madds_a_write", "madds_a_read", "seconds_a_step"];
        return ["lane", "layer"].iter().chain(score).chain(&rest).map(|s| (*s).to_owned()).collect();
    };
    let four = |x: f64| format!("{x:.4}");
    let mut out = vec![line.name.clone(), line.layer.to_owned()];
    let reads = match line.summary {
        Some(s @ Summary::Recall { reads, .. }) if reads > 0 => {
            let (low, high) = s.interval().unwrap_or((0.0, 1.0));
            out.extend([s.headline().unwrap_or(0.0), low, high].map(four));
            reads
        }
        Some(Summary::Error { relative, cosine, reads }) if reads > 0 => {
            out.extend([relative, cosine].map(four));
            reads
        }
        _ => {
            out.extend(vec![String::new(); if recall { 3 } else { 2 }]);
            0
        }
    };
    out.extend([reads, line.all, line.all * 4].map(|n| n.to_string()));
    out.push(four(line.share));
    out.push(line.heads.to_string());
    out.extend([line.write, line.read].map(|n| n.to_string()));
    out.push(line.seconds.map_or_else(String::new, |s| format!("{s:.3e}")));
    out
}

/// The table as Markdown.
#[must_use]
pub fn markdown(lines: &[Line], recall: bool) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "));
    let heads = cells(None, recall);
    let mut out = row(&heads);
    let _ = writeln!(out, "|---|---|{}", "---:|".repeat(heads.len() - 2));
    for line in lines {
        out += &row(&cells(Some(line), recall));
    }
    out
}

/// The table as CSV (RFC 4180, but for line ends of one character).
#[must_use]
pub fn csv(lines: &[Line], recall: bool) -> String {
    let quoted = |c: &String| if c.contains([',', '"', '\n', '\r']) { format!("\"{}\"", c.replace('"', "\"\"")) } else { c.clone() };
    std::iter::once(None)
        .chain(lines.iter().map(Some))
        .fold(String::new(), |out, line| out + &cells(line, recall).iter().map(quoted).collect::<Vec<_>>().join(",") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(lane: usize, name: &str, correct: u64, all: u64) -> Line {
        Line {
            lane,
            name: name.to_owned(),
            layer: "ovq",
            summary: (correct < 100).then_some(Summary::Recall { correct, reads: 8 }),
            numbers: all / 2,
            heads: 2,
            all,
            share: all as f64 / 1000.0,
            write: 30,
            read: 40,
            seconds: None,
        }
    }

    #[test]
    fn lines_are_sorted_by_any_column_both_ways_and_ties_keep_the_order() {
        let mut lines = vec![line(0, "a", 4, 500), line(1, "b", 8, 100), line(2, "c", 100, 500), line(3, "d", 4, 50)];
        let names = |lines: &[Line]| lines.iter().map(|l| l.name.clone()).collect::<String>();
        let score = Sort::default().clicked(Column::Score);
        score.apply(&mut lines);
        assert_eq!(names(&lines), "badc", "the best first; what has no score last");
        score.clicked(Column::Score).apply(&mut lines);
        assert_eq!(names(&lines), "cadb");
        Sort::default().clicked(Column::Bytes).apply(&mut lines);
        assert_eq!(names(&lines), "dbac", "the smallest first");
        Sort::default().apply(&mut lines);
        assert_eq!(names(&lines), "abcd");
    }

    #[test]
    fn what_is_copied_has_every_number_and_survives_odd_names() {
        let lines = [line(0, "a, \"b\" | c", 4, 500), line(1, "d", 100, 100)];
        // 4 of 8: Wilson's interval is .2152 to .7848.
        assert_eq!(
            csv(&lines, true),
            "lane,layer,accuracy,low_95,high_95,reads,state_numbers,state_bytes,share_of_full,heads,madds_a_write,madds_a_read,seconds_a_step\n\
             \"a, \"\"b\"\" | c\",ovq,0.5000,0.2152,0.7848,8,500,2000,0.5000,2,30,40,\nd,ovq,,,,0,100,400,0.1000,2,30,40,\n"
        );
        let markdown = markdown(&lines, true);
        assert!(markdown.contains("|---|---|---:|") && markdown.contains("| a, \"b\" \\| c | ovq | 0.5000 | 0.2152 |"), "{markdown}");
        assert_eq!(markdown.lines().count(), 4);
    }
}
