//! The right panel: what is known of the token that is hovered or selected, lane by lane.

use eframe::egui::style::ScrollStyle;
use eframe::egui::{Align, Label, Layout, RichText, ScrollArea, Sense, Ui, vec2};

use crate::app::command::{Command, ViewCommand};
use crate::app::facts::{self, Index};
use crate::app::neighbours::{Kept, Neighbour};
use crate::app::theme;
use crate::app::timeline_bar::token_text;
use crate::panel::Look;

/// Room for the names of facts.
const NAME_WIDTH: f32 = 128.0;

/// The inspector, with what it keeps from frame to frame.
#[derive(Debug, Default)]
pub struct Inspector {
    index: Index,
    neighbours: Kept,
}

impl Inspector {
    /// Draws it.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let Some(write) = look.selection.current().filter(|w| *w < look.plan.stream.writes()) else {
            nothing(ui);
            return;
        };
        ui.spacing_mut().scroll = ScrollStyle::solid();
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            head(ui, look, write, commands);
            for number in 0..look.lanes.len() {
                self.lane(ui, look, number, write);
            }
            // Only for a token that is held: a search for every one that the pointer passes would be felt.
            if look.selection.token == Some(write) {
                self.nearest(ui, look, write, commands);
            }
        });
    }

    /// The tokens whose keys are nearest to the token's own.
    fn nearest(&mut self, ui: &mut Ui, look: &Look<'_>, write: usize, commands: &mut Vec<Command>) {
        let found = self.neighbours.of(look.plan, look.kv_head, write);
        if found.nearest.is_empty() {
            return;
        }
        ui.add_space(8.0);
        ui.label(RichText::new("Nearest keys").strong())
            .on_hover_text("The other tokens of the stream whose keys have the largest cosine with this one's, and where keys are not of length 1 the dot product k.k' too (the source's own keys, this key/value head): what a memory is likely to confuse it with. Tokens with one text count once.");
        if let Some(same) = &found.same_text {
            neighbour(ui, look, same, "the same text", commands);
        }
        for near in &found.nearest {
            let name = token_text(look.plan, near.write).unwrap_or_else(|| format!("token {}", near.write));
            neighbour(ui, look, near, &name, commands);
        }
    }

    fn lane(&mut self, ui: &mut Ui, look: &Look<'_>, number: usize, write: usize) {
        let lane = &look.lanes[number];
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            ui.painter().rect_filled(rect, 2.0, lane.colour);
            ui.strong(&lane.plan.name);
        });
        let facts = self.index.facts(look, number, write);
        ui.add(Label::new(facts.place).wrap());
        let rows = facts.rows.into_iter().chain(facts::reads(look, lane, write));
        for (name, value) in rows {
            fact(ui, &name, &value);
        }
    }
}

/// A token whose key is near: its name, how near, and a link that selects it.
fn neighbour(ui: &mut Ui, look: &Look<'_>, near: &Neighbour, name: &str, commands: &mut Vec<Command>) {
    // Keys of length 1: the dot product is the cosine.
    let dot = if (near.dot - near.cosine).abs() <= 1e-3 { String::new() } else { format!(", k.k' {}", facts::number(near.dot)) };
    let often = if near.of_text > 1 { format!(", the nearest of {}", near.of_text) } else { String::new() };
    row(ui, name, |ui| {
        // No hover: the inspector would turn to that token, and the link would be gone from under the pointer.
        let response = ui.link(RichText::new(format!("token {}", near.write)).small()).on_hover_text("Select it");
        if response.clicked() && near.write < look.plan.stream.writes() {
            commands.push(Command::View(ViewCommand::Select(Some(near.write))));
        }
        ui.add(Label::new(RichText::new(format!("cosine {}{dot}{often}", facts::number(near.cosine))).small()).wrap());
    });
}

/// A name in a column of fixed width and its value on the rest of the row, so that nothing moves when values change.
fn fact(ui: &mut Ui, name: &str, value: &str) {
    row(ui, name, |ui| drop(ui.add(Label::new(RichText::new(value).small()).wrap())));
}

fn row(ui: &mut Ui, name: &str, value: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.allocate_ui_with_layout(vec2(NAME_WIDTH, 15.0), Layout::left_to_right(Align::Min), |ui| {
            ui.set_min_width(NAME_WIDTH);
            ui.add(Label::new(RichText::new(name).weak().small()).truncate());
        });
        value(ui);
    });
}

fn nothing(ui: &mut Ui) {
    ui.add_space(4.0);
    ui.label(RichText::new("INSPECTOR").small().strong());
    ui.add_space(4.0);
    ui.weak("Point at a token, in the timeline or in any panel: it is marked everywhere, and what is known of it is said here. A click holds it; Escape lets it go.");
}

fn head(ui: &mut Ui, look: &Look<'_>, write: usize, commands: &mut Vec<Command>) {
    let labels = look.plan.stream.labels();
    let role = labels.roles.of_write.get(write).copied().unwrap_or_default();
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new("INSPECTOR").small().strong());
        if look.selection.token == Some(write) {
            let clear = ui.small_button("clear").accessible_name("Clear the selection").on_hover_text("Escape");
            if clear.clicked() {
                commands.push(Command::View(ViewCommand::Select(None)));
            }
        } else {
            ui.label(RichText::new("click to hold").small().weak());
        }
    });
    ui.add_space(2.0);
    let dark = ui.visuals().dark_mode;
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(format!("Token {write}")).heading().strong());
        if let Some(text) = token_text(look.plan, write) {
            ui.label(RichText::new(text).heading().color(ui.visuals().strong_text_color()));
        }
    });
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(rect, 5.0, theme::role_colour(role, labels.roles.marked, dark));
        let name = labels.roles.names.get(role as usize).map_or("token", String::as_str);
        ui.label(name);
        ui.weak(format!("written in step {}", write / look.plan.step));
    });
}
