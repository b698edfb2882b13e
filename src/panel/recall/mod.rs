//! Recall: what each lane has answered rightly so far, beside what its memory costs.

mod binned;
mod cells;
mod change;
mod column;
mod copied;
mod fit;
mod room;
mod rows;
mod stream;
mod table;
mod words;

use std::ops::Range;
use std::sync::{Arc, Weak};

use eframe::egui::{Align, Button, ComboBox, Label, Layout, RichText, ScrollArea, Ui};

use super::common::{no_read_yet, plural, words};
use super::reads::answer::Codes;
use super::{LaneLook, Look, Panel};
use crate::app::command::Command;
use crate::metric::breakdown::By;
use crate::metric::{CORRECT, ERROR_SQ, Running, Scored, Summary};
use crate::panel::choices::Choices;
use crate::session::hand::Hand;
use crate::session::plan::Plan;
use crate::stream::Targets;
use crate::trace::Channel;
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;

use binned::Binned;
use change::Change;
use column::Sort;
use table::Line;
pub use words::{bytes, figures, fixed, percent};

/// The text behind the panel's `?`.
pub const HELP: &str = "How well each lane has answered so far, at the playhead, for the query head shown (the command line prints all query heads \
together); and what its memory costs.\n\n\
Lanes answer a read once their chunk is over, so at a playhead one may have answered more reads than another. Scores are compared over the same reads, those \
that every lane shown has answered; how many these are stands above the table (`12 of 40 reads answered by every lane`), and what a lane has answered beyond \
them is on hover over its line. Over the stream each lane is drawn as far as it has answered.\n\n\
The formula, on a task with codes: accuracy, the share of reads whose output has its largest dot product with the right code, with Wilson's 95% \
interval. On a capture: the relative error |o - y| / |y| of the outputs against full attention's, the root of sum |o - y|^2 / sum |y|^2 over all these reads, and their \
mean cosine. On regression: the relative squared error, sum |o - y|^2 / sum |y|^2 without the root, as the papers have it.\n\n\
The table: the state is that of the end of the stream, wherever the playhead is, in bytes of float32 over all key/value heads of the lane, \
beside the share of what full attention keeps, T (dk + dv) numbers a head. What is reserved counts whether it is in use or not, so on a short stream a \
dictionary of N rows can hold more than full attention. In a wide panel there are also the numbers held, the multiply-adds (madds) a write and a read, and the \
time a step as measured. A click on a head sorts; Copy takes the table with every number in full.\n\n\
By hand: a branch (a lane of which something was done to the memory by hand) is compared with the lane that runs and is the same without it: same layer, \
parameters and weights, and of what was done by hand only a part or nothing; of several the one with most of it. The column has the branch's score minus \
that lane's, over the same reads: above zero is better for accuracy, worse for an error. Hover for both, and for the reads that turned.\n\n\
The view below, over the stream: of fewer than 32 reads each has a cell for each lane, filled where it is right, a cross where it is wrong; a click \
selects the read. Of more, each step is the accuracy of a bin of reads, drawn over just these: as many bins as leave 16 reads or more to each, 64 at most (how many \
reads a bin has stands above the plot; the lanes' marks take turns along their steps). An error is drawn as a line through windows of reads instead, 64 at most, of a single \
read each while there are 64 reads or fewer; up to 40 of them are marks, with faint lines between that only lead the eye. The other views: by age, how many writes lie between the answer and the read \
(bins of powers of two); by the position of the read or of its answer; by the role of the read (a phase, a hop); where all reads are in one bin, \
each lane has a row. A low panel has no view: make it higher, or maximise it. Each lane has its colour, its \
dashes and its mark. Hover for the exact numbers.";

/// The height of a line of the table.
const LINE: f32 = 15.0;

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
    /// Which write holds which code, once it was asked for.
    codes: Option<Codes>,
}

impl Recall {
    fn update(&mut self, look: &Look<'_>) {
        if Weak::as_ptr(&self.plan) != Arc::as_ptr(look.plan) || self.lanes.len() != look.lanes.len() {
            self.plan = Arc::downgrade(look.plan);
            self.lanes = vec![None; look.lanes.len()];
            self.bases = change::bases(look);
            self.codes = None;
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
pub(super) fn reads_at(look: &Look<'_>, lane: &LaneLook<'_>, writes: usize) -> usize {
    let stream = &look.plan.stream;
    let whole = (lane.plan.chunks_at(writes) * lane.plan.setup.chunk).min(stream.writes());
    stream.reads_within(0..whole).end
}

/// Reads that every lane has answered at the playhead: what lanes are compared over.
fn reads_in_common(look: &Look<'_>) -> usize {
    look.lanes.iter().map(|lane| reads_at(look, lane, look.writes)).min().unwrap_or(0)
}

/// Reads that are asked within so many writes of the stream, whether a lane has answered them by then or waits for the end of its chunk.
fn reads_asked(look: &Look<'_>, writes: usize) -> usize {
    look.plan.stream.reads_within(0..writes).end
}

/// Says, where some lane has answered more reads than another, over which they are compared.
fn common_in_words(look: &Look<'_>) -> String {
    let common = reads_in_common(look);
    let ahead = (0..look.lanes.len()).any(|lane| reads_seen(look, lane) > common);
    if ahead { format!("Over the {} answered by every lane: ", plural(common, "read", "reads")) } else { String::new() }
}

impl Panel for Recall {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
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
            self.show(ui, look, height, commands);
            crate::app::focus::follow(ui);
        });
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("view", &mut self.by, std::iter::once(None).chain(By::ALL.map(Some)).map(|by| (by, view_name(by))));
    }
}

impl Recall {
    /// The table and the view below it in `height` points; more only where not even a line of the table has room.
    fn show(&mut self, ui: &mut Ui, look: &Look<'_>, height: f32, commands: &mut Vec<Command>) {
        let top = ui.cursor().top();
        // This panel is often low: its rows are as high as their letters.
        ui.spacing_mut().item_spacing.y = room::GAP;
        let scored = Scored::of(look.plan.stream.targets());
        let common = reads_in_common(look);
        let line = |i: usize| {
            let own = reads_seen(look, i);
            let ahead = if own > common { over(look, &self.lanes, i, 0..own) } else { None };
            let change = self.bases[i].as_ref().map(|(lane, hands)| Change {
                lane: *lane,
                name: look.lanes[*lane].plan.name.clone(),
                hands: hands.clone(),
                summary: over(look, &self.lanes, *lane, 0..common),
            });
            Line { ahead, change, ..Line::new(look, i, over(look, &self.lanes, i, 0..common)) }
        };
        let mut lines: Vec<Line> = (0..look.lanes.len()).map(line).collect();
        self.sort.apply(&mut lines);
        self.first_row(ui, look, &lines, scored);
        let room = room::shared(height, height - (ui.cursor().top() - top) - 4.0, lines.len());
        table::ui(ui, look, &lines, scored, &mut self.sort, room.rows);
        let any = (0..look.lanes.len()).any(|l| reads_seen(look, l) > 0);
        match (any, room.view, self.by) {
            (false, Some(_), _) => words(ui, &no_read_yet(&look.plan.stream)),
            (false, None, _) => note(ui, &no_read_yet(&look.plan.stream)),
            (true, None, by) => {
                note(ui, &format!("No room for the plot {}: make the panel higher, or maximise it.", view_name(by)));
            }
            (true, Some(left), None) if cells::suit(&look.plan.stream) => {
                cells::ui(ui, look, &self.lanes, &mut self.codes, left, commands);
            }
            (true, Some(left), None) => stream::ui(ui, look, &self.lanes, left),
            (true, Some(_), Some(_)) if common == 0 => words(ui, "No read has been answered by every lane yet."),
            (true, Some(left), Some(by)) => self.binned.ui(ui, look, by, left),
        }
    }

    /// The choice of a view, how many reads the figures are of, and the buttons that copy the table.
    fn first_row(&mut self, ui: &mut Ui, look: &Look<'_>, lines: &[Line], scored: Scored) {
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
                            let text = if word == "CSV" { copied::csv(lines, scored) } else { copied::markdown(lines, scored) };
                            ui.ctx().copy_text(text);
                            ui.close();
                        }
                    }
                });
                menu.response.on_hover_text("Copy the table as it is sorted, with every number in full").accessible_name("Copy the table");
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let text = RichText::new(title(look)).size(SMALL).color(Ink::of(ui).quiet);
                    let label = ui.add(Label::new(text).truncate());
                    if let Some(each) = each_answered(look) {
                        label.on_hover_text(each);
                    }
                });
            });
        });
    }
}

/// Of how many reads the numbers are: `12 of 40 reads`, and that no lane has answered fewer where some have answered more.
fn title(look: &Look<'_>) -> String {
    let stream = &look.plan.stream;
    let head = if stream.query_heads() > 1 { format!(", query head {}", look.query_head) } else { String::new() };
    let every = if each_answered(look).is_some() { " answered by every lane" } else { "" };
    format!("{} of {}{every}{head}", reads_in_common(look), plural(stream.reads(), "read", "reads"))
}

/// How many reads each lane has answered, where it is not the same number for all.
fn each_answered(look: &Look<'_>) -> Option<String> {
    let seen: Vec<usize> = (0..look.lanes.len()).map(|lane| reads_seen(look, lane)).collect();
    if seen.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let each: Vec<String> = look.lanes.iter().zip(&seen).map(|(lane, seen)| format!("{} {seen}", lane.plan.name)).collect();
    let asked = plural(reads_asked(look, look.writes), "read is", "reads are");
    Some(format!(
        "{asked} asked up to the playhead, and a lane answers them once its chunk is over: {}. Scores are of those that every lane has answered.",
        each.join(", ")
    ))
}

/// A line in place of a view; the whole of it is on hover where it is cut.
fn note(ui: &mut Ui, text: &str) {
    let text = RichText::new(text).size(SMALL).color(Ink::of(ui).quiet);
    ui.add(Label::new(text).truncate());
}

/// The summary of a lane over some reads, for the query head shown; nothing for no reads.
fn over(look: &Look<'_>, lanes: &[Option<Running>], lane: usize, reads: Range<usize>) -> Option<Summary> {
    let head = look.query_head;
    lanes[lane].as_ref().filter(|_| !reads.is_empty()).map(|r| r.over(head..head + 1, reads))
}
