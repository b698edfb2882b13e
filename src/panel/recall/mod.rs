//! Recall: what each lane has answered rightly so far, beside what its memory costs.

mod binned;
mod change;
mod copied;
mod fit;
mod table;
mod words;

use std::ops::Range;
use std::sync::{Arc, Weak};

use eframe::egui::{Align, Button, ComboBox, Label, Layout, RichText, ScrollArea, Stroke, Ui, vec2};

use super::common::{facts, no_read_yet, playheads, plural, words};
use super::{LaneLook, Look, Panel};
use crate::app::command::Command;
use crate::metric::breakdown::By;
use crate::metric::{CORRECT, ERROR_SQ, Running, Summary};
use crate::panel::choices::Choices;
use crate::session::hand::Hand;
use crate::session::plan::Plan;
use crate::stream::Targets;
use crate::trace::Channel;
use crate::widget::chart::{Axis, Chart, SMALL, sign};
use crate::widget::line;
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::Scale;

use binned::Binned;
use change::Change;
use table::{Line, Sort};
pub use words::{bytes, figures, percent};

/// The text behind the panel's `?`.
pub const HELP: &str = "How well each lane has answered so far, at the playhead, for the query head shown (the command line prints all query heads \
together); and what its memory costs.\n\n\
The formula, on a task with codes: accuracy, the share of reads whose output has its largest dot product with the right code, with Wilson's 95% \
interval. On a capture: the relative error |o - y| / |y| of the outputs against full attention's over all reads so far, and their mean \
cosine. On regression: sum |o - y|^2 / sum |y|^2, as the papers have it.\n\n\
The table: the state is that of the end of the stream, wherever the playhead is, in bytes of float32 over all key/value heads of the lane, \
beside the share of what full attention keeps, T (dk + dv) numbers a head. What is reserved counts whether it is in use or not, so on a short stream a \
dictionary of N rows can hold more than full attention. In a wide panel there are also the numbers held, the multiply-adds (madds) a write and a read, and the \
time a step as measured. A click on a head sorts; Copy takes the table with every number in full.\n\n\
By hand: a branch (a lane of which something was done to the memory by hand) is compared with the lane that runs and is the same without it: same layer, \
parameters and weights, and of what was done by hand only a part or nothing; of several the one with most of it. The column has the branch's score minus \
that lane's, over the same reads: above zero is better for accuracy, worse for an error. Hover for both, and for the reads that turned.\n\n\
The view below: over the stream, the same figure over windows of reads; up to 40 of them are marks, one a window (of a single read each while there are 64 reads or \
fewer), with faint lines between that only lead the eye; by age, how many writes lie between the answer and the read \
(bins of powers of two); by the position of the read or of its answer; by the role of the read (a phase, a hop). Each lane has its colour, its \
dashes and its mark. Hover for the exact numbers.";

/// The height of a line of the table.
const LINE: f32 = 15.0;

/// Points along each line, and so the windows into which the reads are cut.
const WINDOWS: usize = 64;

/// With no more windows than this each is a mark, so that what was read is told from the line between.
const FEW: usize = 40;

/// What the view is called that shows the scores by this.
fn view_name(by: Option<By>) -> String {
    by.map_or_else(|| "over the stream".to_owned(), |b| format!("by {}", b.name()))
}

/// See [`HELP`].
#[derive(Default)]
pub struct Recall {
    plan: Weak<Plan>,
    lanes: Vec<Option<Running>>,
    /// For each lane that is a branch, the lane that it is compared with, and what was done by hand to it alone.
    bases: Vec<Option<(usize, Vec<Hand>)>>,
    /// What the scores are shown by; nothing: along the stream.
    by: Option<By>,
    binned: Binned,
    sort: Sort,
}

impl Recall {
    fn update(&mut self, look: &Look<'_>) {
        if Weak::as_ptr(&self.plan) != Arc::as_ptr(look.plan) || self.lanes.len() != look.lanes.len() {
            self.plan = Arc::downgrade(look.plan);
            self.lanes = vec![None; look.lanes.len()];
            self.bases = change::bases(look);
        }
        for (running, lane) in self.lanes.iter_mut().zip(look.lanes) {
            // A run that started again holds fewer reads than were summed.
            let held = [CORRECT, ERROR_SQ].iter().filter_map(|c| lane.trace.channel(c)).map(Channel::len).min();
            let behind = running.as_ref().is_some_and(|r| held.is_some_and(|held| r.reads() > held));
            if running.is_none() || behind {
                *running = Running::new(look.plan.stream.targets());
            }
            if let Some(running) = running {
                running.update(lane.trace);
            }
        }
    }
}

/// Reads that a lane has answered at the playhead.
fn reads_seen(look: &Look<'_>, lane: usize) -> usize {
    reads_at(look, &look.lanes[lane], look.writes)
}

/// Reads that a lane has answered after so many writes of the stream: those of its whole chunks.
fn reads_at(look: &Look<'_>, lane: &LaneLook<'_>, writes: usize) -> usize {
    let stream = &look.plan.stream;
    let whole = (lane.plan.chunks_at(writes) * lane.plan.setup.chunk).min(stream.writes());
    stream.reads_within(0..whole).end
}

impl Panel for Recall {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, _commands: &mut Vec<Command>) {
        let stream = &look.plan.stream;
        if look.lanes.is_empty() {
            words(ui, "No lane is switched on.");
            return;
        }
        if matches!(stream.targets(), Targets::None) || stream.reads() == 0 {
            words(ui, "This stream has no reads with known answers, so nothing is measured.");
            return;
        }
        self.update(look);
        let height = ui.available_height();
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.show(ui, look, height);
            crate::app::focus::follow(ui);
        });
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("view", &mut self.by, std::iter::once(None).chain(By::ALL.map(Some)).map(|by| (by, view_name(by))));
    }
}

impl Recall {
    /// The table and the view below it in `height` points; more only where the table alone is higher.
    fn show(&mut self, ui: &mut Ui, look: &Look<'_>, height: f32) {
        let top = ui.cursor().top();
        // This panel is often low: its rows are as high as their letters.
        ui.spacing_mut().item_spacing.y = 2.0;
        let recall = matches!(look.plan.stream.targets(), Targets::Codes { .. });
        let line = |i: usize| {
            let seen = reads_seen(look, i);
            let change = self.bases[i].as_ref().map(|(lane, hands)| Change {
                lane: *lane,
                name: look.lanes[*lane].plan.name.clone(),
                hands: hands.clone(),
                summary: over(look, &self.lanes, *lane, 0..seen),
            });
            Line { change, ..Line::new(look, i, over(look, &self.lanes, i, 0..seen)) }
        };
        let mut lines: Vec<Line> = (0..look.lanes.len()).map(line).collect();
        self.sort.apply(&mut lines);
        self.first_row(ui, look, &lines, recall);
        table::ui(ui, look, &lines, recall, &mut self.sort);
        if !first_reads(ui, look) {
            return;
        }
        let left = (height - (ui.cursor().top() - top) - 4.0).max(84.0);
        match self.by {
            None => over_the_stream(ui, look, &self.lanes, left),
            Some(by) => self.binned.ui(ui, look, by, left),
        }
    }

    /// The choice of a view, how many reads the figures are of, and the buttons that copy the table.
    fn first_row(&mut self, ui: &mut Ui, look: &Look<'_>, lines: &[Line], recall: bool) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            let combo = ComboBox::from_id_salt("view").selected_text(RichText::new(view_name(self.by)).size(SMALL)).width(112.0);
            let response = combo.show_ui(ui, |ui| {
                for by in std::iter::once(None).chain(By::ALL.map(Some)) {
                    // Two of the views need to know which write holds the answer.
                    let known = !matches!(by, Some(By::Age | By::Answer)) || look.plan.stream.labels().answer_at.is_some();
                    let option = ui.add_enabled(known, Button::selectable(self.by == by, view_name(by)));
                    let option = option.on_disabled_hover_text("This stream does not say which write holds the answer to a read");
                    if option.clicked() {
                        self.by = by;
                    }
                }
            });
            response.response.accessible_name("Recall view").on_hover_text("What the scores below are shown by");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let menu = ui.menu_button(RichText::new("Copy").size(SMALL), |ui| {
                    for (word, hint) in [("Markdown", "For a text or a notebook"), ("CSV", "For a spreadsheet or a program")] {
                        if ui.button(format!("Copy as {word}")).on_hover_text(hint).clicked() {
                            let text = if word == "CSV" { copied::csv(lines, recall) } else { copied::markdown(lines, recall) };
                            ui.ctx().copy_text(text);
                            ui.close();
                        }
                    }
                });
                menu.response.on_hover_text("Copy the table as it is sorted, with every number in full").accessible_name("Copy the table");
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let text = RichText::new(title(look)).size(SMALL).color(Ink::of(ui).quiet);
                    ui.add(Label::new(text).truncate());
                });
            });
        });
    }
}

/// Of how many reads the numbers are.
fn title(look: &Look<'_>) -> String {
    let seen = (0..look.lanes.len()).map(|l| reads_seen(look, l)).max().unwrap_or(0);
    let stream = &look.plan.stream;
    let head = if stream.query_heads() > 1 { format!(", query head {}", look.query_head) } else { String::new() };
    format!("{seen} of {}{head}", plural(stream.reads(), "read", "reads"))
}

/// Says when the first read comes, where none has come yet.
fn first_reads(ui: &mut Ui, look: &Look<'_>) -> bool {
    let any = (0..look.lanes.len()).any(|l| reads_seen(look, l) > 0);
    if !any {
        words(ui, &no_read_yet(&look.plan.stream));
    }
    any
}

/// The windows of reads for the lines: as many reads each as makes `WINDOWS` of all, at least one.
#[must_use]
pub fn window_of(reads: usize) -> usize {
    reads.div_ceil(WINDOWS).max(1)
}

/// One lane's figure over each window of the reads seen: the middle of the window, and the figure.
fn series(running: &Running, head: usize, seen: usize, window: usize) -> Vec<[f64; 2]> {
    (0..seen.div_ceil(window))
        .filter_map(|i| {
            let range = i * window..((i + 1) * window).min(seen);
            let middle = (range.start + range.end) as f64 / 2.0;
            running.over(head..head + 1, range).headline().filter(|v| v.is_finite()).map(|v| [middle, v])
        })
        .collect()
}

fn over_the_stream(ui: &mut Ui, look: &Look<'_>, lanes: &[Option<Running>], height: f32) {
    let ink = Ink::of(ui);
    let total = look.plan.stream.reads();
    let window = window_of(total);
    let recall = matches!(look.plan.stream.targets(), Targets::Codes { .. });
    let what = if recall { "accuracy" } else { "relative error" };
    let each: Vec<Vec<[f64; 2]>> = lanes
        .iter()
        .enumerate()
        .map(|(i, r)| r.as_ref().map(|r| series(r, look.query_head, reads_seen(look, i), window)).unwrap_or_default())
        .collect();
    // The axis covers all that is computed, so that it stands still while the playhead moves.
    let all = lanes.iter().flatten().flat_map(|r| series(r, look.query_head, r.reads(), window));
    let top = if recall { 1.0 } else { all.map(|p| p[1]).fold(0.1, f64::max) };
    let each_point = if window == 1 { "of each read".to_owned() } else { format!("of {window} reads each") };
    let few = total.div_ceil(window) <= FEW;
    // A little below zero, so that marks at zero are whole.
    let y = Axis::real(format!("{what} {each_point}"), if few { -0.04 * top } else { 0.0 }, top * 1.05, Scale::Linear);
    let now: Vec<String> = look
        .lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| format!("{} {}", lane.plan.name, figures(over(look, lanes, i, 0..reads_seen(look, i)))))
        .collect();
    let describe = format!("Recall, {what} over reads. {}", now.join("; "));
    let size = vec2(ui.available_width(), height);
    let (response, chart) = Chart::show(ui, size, Axis::count("read", total), y, &[], &describe);
    let painter = chart.painter(ui);
    let room = (chart.x_of(window as f64) - chart.x_of(0.0)) / look.lanes.len() as f32;
    for (index, (lane, points)) in look.lanes.iter().zip(&each).enumerate() {
        if few {
            // Marks of equal scores stand side by side, all within what belongs to their reads.
            let aside = (index as f32 - (look.lanes.len() as f32 - 1.0) / 2.0) * (0.8 * room).min(11.0);
            let points: Vec<_> = points.iter().map(|p| chart.pos(p[0], p[1]) + vec2(aside, 0.0)).collect();
            if points.len() > 1 {
                line::draw(&painter, &points, Stroke::new(1.0, blend(ink.paper, lane.colour, 0.45)), lane.dash());
            }
            points.iter().for_each(|at| sign(&painter, *at, lane.mark(), lane.colour, &ink));
        } else {
            let points: Vec<_> = points.iter().map(|p| chart.pos(p[0], p[1])).collect();
            line::draw(&painter, &points, Stroke::new(1.7, lane.colour), lane.dash());
        }
    }
    playheads(ui, look, &chart, |writes| {
        let at = |lane: &LaneLook<'_>| reads_at(look, lane, writes);
        look.lanes.iter().map(at).max().unwrap_or(0) as f64
    });
    if let Some(token) = look.selection.current() {
        let first = look.plan.stream.after().partition_point(|&a| a as usize <= token);
        painter.vline(chart.x_of(first as f64), chart.rect.y_range(), Stroke::new(1.0, ink.select.gamma_multiply(0.55)));
    }
    let Some(pointer) = response.hover_pos() else { return };
    let start = (chart.values_at(pointer).0.max(0.0) as usize).min(total.saturating_sub(1)) / window * window;
    let rows: Vec<(&str, String)> = look
        .lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| (lane.plan.name.as_str(), figures(over(look, lanes, i, start..(start + window).min(reads_seen(look, i))))))
        .collect();
    let last = (start + window).min(total) - 1;
    let title = if last > start { format!("reads {start} to {last}") } else { format!("read {start}") };
    facts(&response, &title, &rows);
}

/// The summary of a lane over some reads, for the query head shown; nothing for no reads.
fn over(look: &Look<'_>, lanes: &[Option<Running>], lane: usize, reads: Range<usize>) -> Option<Summary> {
    let head = look.query_head;
    lanes[lane].as_ref().filter(|_| !reads.is_empty()).map(|r| r.over(head..head + 1, reads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_reads_have_a_window_each() {
        assert_eq!((window_of(8), window_of(64), window_of(65), window_of(2048)), (1, 1, 2, 32));
    }
}
