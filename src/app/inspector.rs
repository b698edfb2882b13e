//! The right panel: what is known of the token that is hovered or selected, lane by lane.

use eframe::egui::style::ScrollStyle;
use eframe::egui::{Align, Label, Layout, RichText, ScrollArea, Sense, Ui, vec2};

use crate::app::command::{Command, ViewCommand};
use crate::app::facts::{self, Index};
use crate::app::theme;
use crate::app::timeline_bar::token_text;
use crate::panel::Look;

/// Room for the names of facts.
const NAME_WIDTH: f32 = 128.0;

/// The inspector, with what it keeps from frame to frame.
#[derive(Debug, Default)]
pub struct Inspector {
    index: Index,
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
        });
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

/// A name in a column of fixed width and its value on the rest of the row, so that nothing moves when values change.
fn fact(ui: &mut Ui, name: &str, value: &str) {
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.allocate_ui_with_layout(vec2(NAME_WIDTH, 15.0), Layout::left_to_right(Align::Min), |ui| {
            ui.set_min_width(NAME_WIDTH);
            ui.add(Label::new(RichText::new(name).weak().small()).truncate());
        });
        ui.add(Label::new(RichText::new(value).small()).wrap());
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
