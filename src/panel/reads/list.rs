//! The list of reads: those at or before the playhead, filtered, of which only the rows in sight are made.

use std::sync::{Arc, Weak};

use eframe::egui::{
    Align, Button, ComboBox, EventFilter, Id, Key, Label, Modifiers, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2,
};

use super::answer::{Answer, Codes, answer, read_text, right, role_of};
use super::columns::{Columns, NARROW_RIGHT, Same, cell, head, text_width};
use crate::app::command::{Command, ViewCommand};
use crate::panel::Look;
use crate::panel::common::{facts, plural, token_name, words};
use crate::panel::recall::reads_at;
use crate::session::plan::Plan;
use crate::stream::Targets;
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;

/// The height of a row.
pub(super) const ROW: f32 = 16.0;

/// Which reads are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Filter {
    /// Only those that this lane answered rightly (true) or wrongly.
    answered: Option<(String, bool)>,
    /// Only those of this role.
    role: Option<u8>,
}

/// The list and what it keeps from frame to frame.
#[derive(Debug, Default)]
pub struct List {
    filter: Filter,
    /// The reads that pass the filter, and what they were found for; none are kept where all pass.
    passing: Vec<u32>,
    found_for: Option<(Weak<Plan>, Filter, usize, usize, u64)>,
    offset: f32,
    /// Where the arrows want the list to be scrolled to.
    jump: Option<f32>,
    height: f32,
}

impl List {
    /// Draws the filter and the list in `height` points.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, codes: &Codes, height: f32, commands: &mut Vec<Command>) {
        let top = ui.cursor().top();
        let seen = look.plan.stream.reads_within(0..look.writes).end;
        let same = Same::of(&look.plan.stream);
        self.filter_row(ui, look, seen, &same.words(&look.plan.stream, codes));
        self.find(look, seen);
        let listed = self.count(seen);
        if listed == 0 {
            let text =
                if seen == 0 { crate::panel::common::no_read_yet(&look.plan.stream) } else { "No read passes the filter.".to_owned() };
            words(ui, &text);
            return;
        }
        let columns = Columns::new(ui, look, ui.available_width() - 10.0, same);
        head(ui, look, &columns);
        self.height = (height - (ui.cursor().top() - top)).max(3.0 * ROW);
        let list = self.keys(ui, look, listed, seen, commands);
        let area = ScrollArea::vertical().id_salt("reads").max_height(self.height).auto_shrink(false);
        let area = match self.jump.take() {
            Some(offset) => area.vertical_scroll_offset(offset),
            None => area,
        };
        ui.spacing_mut().item_spacing.y = 0.0;
        let output = area.show_rows(ui, ROW, listed, |ui, range| {
            for place in range {
                let read = self.at(place, seen);
                Row { look, codes, columns: &columns, read, list }.ui(ui, commands);
            }
        });
        self.offset = output.state.clamped_offset().y;
    }

    /// The number of reads that are listed.
    fn count(&self, seen: usize) -> usize {
        if self.filter == Filter::default() { seen } else { self.passing.len() }
    }

    /// The read in a place of the list.
    fn at(&self, place: usize, seen: usize) -> usize {
        if self.filter == Filter::default() { place.min(seen) } else { self.passing.get(place).map_or(0, |&r| r as usize) }
    }

    /// The place of the read in the list, or the place before which it would be.
    fn place(&self, read: usize) -> Result<usize, usize> {
        if self.filter == Filter::default() { Ok(read) } else { self.passing.binary_search(&(read as u32)) }
    }

    fn find(&mut self, look: &Look<'_>, seen: usize) {
        if self.filter == Filter::default() {
            return;
        }
        let written = look.lanes.iter().map(|l| l.trace.generation()).sum();
        let same = self.found_for.as_ref().is_some_and(|(plan, filter, head, s, w)| {
            Weak::as_ptr(plan) == Arc::as_ptr(look.plan) && *filter == self.filter && (*head, *s, *w) == (look.query_head, seen, written)
        });
        if same {
            return;
        }
        let roles = &look.plan.stream.labels().roles.of_read;
        let lane = self.filter.answered.as_ref().map(|(name, wanted)| (look.lanes.iter().position(|l| l.plan.name == *name), *wanted));
        let answered = |read: usize| match lane {
            None => true,
            Some((None, _)) => false,
            Some((Some(lane), wanted)) => answer(look, lane, read).right() == Some(wanted),
        };
        let passes = |read: &usize| self.filter.role.is_none_or(|role| roles[*read] == role) && answered(*read);
        self.passing = (0..seen).filter(passes).map(|r| r as u32).collect();
        self.found_for = Some((Arc::downgrade(look.plan), self.filter.clone(), look.query_head, seen, written));
    }

    fn filter_row(&mut self, ui: &mut Ui, look: &Look<'_>, seen: usize, same: &str) {
        let stream = &look.plan.stream;
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            if matches!(stream.targets(), Targets::Codes { .. }) {
                let name = |a: &Option<(String, bool)>| match a {
                    None => "right or wrong".to_owned(),
                    Some((lane, right)) => format!("{} in {lane}", if *right { "right" } else { "wrong" }),
                };
                let combo = ComboBox::from_id_salt("answered").selected_text(name(&self.filter.answered)).width(110.0).truncate();
                let response = combo.show_ui(ui, |ui| {
                    let lanes = look.lanes.iter().flat_map(|l| [false, true].map(|right| Some((l.plan.name.clone(), right))));
                    for option in std::iter::once(None).chain(lanes) {
                        let text = name(&option);
                        ui.selectable_value(&mut self.filter.answered, option, text);
                    }
                });
                response.response.accessible_name("Answered").on_hover_text("List only reads that a lane answered so");
            }
            let roles = &stream.labels().roles;
            let mut used: Vec<u8> = roles.of_read.clone();
            used.sort_unstable();
            used.dedup();
            if used.len() > 1 {
                let name = |role: Option<u8>| role.and_then(|r| roles.names.get(usize::from(r))).map_or("every role", String::as_str);
                let combo = ComboBox::from_id_salt("role").selected_text(name(self.filter.role)).width(90.0).truncate();
                let response = combo.show_ui(ui, |ui| {
                    for option in std::iter::once(None).chain(used.into_iter().map(Some)) {
                        ui.selectable_value(&mut self.filter.role, option, name(option));
                    }
                });
                response.response.accessible_name("Role of the read").on_hover_text("List only reads of this role");
            }
            if self.filter != Filter::default() && ui.add(Button::new("All").small()).on_hover_text("List every read").clicked() {
                self.filter = Filter::default();
            }
            let of = if self.filter == Filter::default() { String::new() } else { format!("{} of ", self.passing.len()) };
            let head = if stream.query_heads() > 1 { format!(", query head {}", look.query_head) } else { String::new() };
            let behind = self.filter.answered.as_ref().map_or_else(String::new, |(name, _)| behind(look, name, seen));
            let text = format!("{of}{} up to the playhead{behind}{head}{same}", plural(seen, "read", "reads"));
            ui.add(Label::new(RichText::new(text).size(SMALL).color(Ink::of(ui).quiet)).truncate());
        });
    }

    /// Up and down move through the list while it has the focus; its id.
    fn keys(&mut self, ui: &Ui, look: &Look<'_>, listed: usize, seen: usize, commands: &mut Vec<Command>) -> Id {
        let id = ui.scope_id().with("list of reads");
        let area = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), self.height));
        let list = ui.interact(area, id, Sense::focusable_noninteractive());
        list.widget_info(|| {
            let selected = look.selection.read.map_or_else(|| "none is selected".to_owned(), |r| format!("read {r} is selected"));
            WidgetInfo::labeled(Role::List, true, format!("{} listed, {selected}", plural(listed, "read", "reads")))
        });
        if !list.has_focus() {
            return id;
        }
        let arrows = EventFilter { vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|m| m.set_focus_lock_filter(id, arrows));
        let read = look.selection.read.unwrap_or(0);
        let page = (self.height / ROW).max(2.0) as usize - 1;
        let pressed = |key: Key| ui.input_mut(|i| i.count_and_consume_key(Modifiers::NONE, key));
        let (down, up) = (pressed(Key::ArrowDown) + page * pressed(Key::PageDown), pressed(Key::ArrowUp) + page * pressed(Key::PageUp));
        if down == up {
            return id;
        }
        let place = match self.place(read) {
            Ok(place) => (place + down).saturating_sub(up),
            // The read is not in the list: down goes to the one after it, up to the one before.
            Err(next) => (next + down.saturating_sub(1)).saturating_sub(up),
        }
        .min(listed - 1);
        commands.push(Command::View(ViewCommand::SelectRead(Some(self.at(place, seen)))));
        let top = place as f32 * ROW;
        self.jump = Some(self.offset.min(top).max(top + ROW - self.height));
        id
    }
}

/// Says of the lane whose answers are filtered how many of the `seen` reads it has answered, where it is not all of them: the others are
/// neither right nor wrong yet.
fn behind(look: &Look<'_>, name: &str, seen: usize) -> String {
    let Some(lane) = look.lanes.iter().find(|l| l.plan.name == name) else { return String::new() };
    let own = reads_at(look, lane, look.writes);
    if own < seen { format!(", of which {name} has answered {own}") } else { String::new() }
}

struct Row<'a, 'b> {
    look: &'a Look<'b>,
    codes: &'a Codes,
    columns: &'a Columns,
    read: usize,
    /// The list, which takes the focus for its rows.
    list: Id,
}

impl Row<'_, '_> {
    fn ui(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let (look, read) = (self.look, self.read);
        let stream = &look.plan.stream;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::CLICK);
        let answers: Vec<Answer> = (0..look.lanes.len()).map(|lane| answer(look, lane, read)).collect();
        let selected = look.selection.read == Some(read);
        response.widget_info(|| {
            let each =
                answers.iter().zip(look.lanes).map(|(a, lane)| format!("{} {}", lane.plan.name, a.cell(false).replace('×', "wrong")));
            let text = format!("Read {read} {}: {}", read_text(stream, read), each.collect::<Vec<_>>().join(", "));
            WidgetInfo::selected(Role::Button, true, selected, text)
        });
        let ink = Ink::of(ui);
        if selected {
            ui.painter().rect_filled(rect, 2.0, ui.visuals().selection.bg_fill);
        } else if response.hovered() {
            ui.painter().rect_filled(rect, 2.0, ui.visuals().widgets.hovered.weak_bg_fill);
        }
        let after = stream.after()[read].to_string();
        let (short, whole) = right(stream, self.codes, read);
        for (column, text, colour) in [
            (self.columns.read, read.to_string(), ink.text),
            (self.columns.text, read_text(stream, read), ink.text),
            (self.columns.after, after, ink.quiet),
            (self.columns.right, self.right_cell(short), ink.text),
        ] {
            cell(ui.painter(), rect, column, &text, (colour, Align::Min));
        }
        let error = ui.visuals().error_fg_color;
        for (column, answer) in self.columns.lanes.iter().zip(&answers) {
            let colour = if answer.right() == Some(false) { error } else { ink.text };
            let text = answer.fitting(self.columns.wide, self.columns.room(), |text| text_width(ui, text));
            cell(ui.painter(), rect, *column, &text, (colour, Align::Max));
        }
        if response.clicked() {
            // The arrows go on from here.
            ui.memory_mut(|m| m.request_focus(self.list));
            commands.push(Command::View(ViewCommand::SelectRead(Some(read))));
        }
        if response.hovered() {
            let mut rows = vec![
                ("role", role_of(stream, read).to_owned()),
                ("sees", plural(stream.after()[read] as usize, "write", "writes")),
                ("right", whole),
            ];
            rows.extend(answers.iter().zip(look.lanes).map(|(a, lane)| (lane.plan.name.as_str(), a.sentence(self.codes, stream))));
            facts(&response, &format!("read {read} {}", read_text(stream, read)), &rows);
        }
    }

    /// The right code with the text of the token that holds it, where it has one; alone in a narrow column.
    fn right_cell(&self, short: String) -> String {
        if self.columns.right.1 < NARROW_RIGHT {
            return short;
        }
        let labels = self.look.plan.stream.labels();
        let at = labels.answer_at.as_ref().and_then(|a| a.get(self.read)).map(|&a| a as usize);
        match (at, labels.tokens.is_some()) {
            (Some(at), true) => format!("{short} {}", labels.tokens.as_ref().and_then(|t| t.get(at)).map_or("", String::as_str)),
            (Some(at), false) => format!("{short}, {}", token_name(&self.look.plan.stream, at)),
            (None, _) => short,
        }
    }
}
