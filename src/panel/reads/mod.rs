//! Reads: what every lane answered to each, and where the weight of an answer came from.

pub(super) mod answer;
mod columns;
mod list;
mod strips;

use std::sync::{Arc, Weak};

use eframe::egui::{Align, Label, Layout, RichText, ScrollArea, Ui, UiBuilder, vec2};

use super::common::{lane_link, swatch, words};
use super::{Look, Panel};
use crate::app::command::Command;
use crate::app::study::StudyCommand;
use crate::app::study::effective::{Ask, Finding, Weights};
use crate::layer::effective::Store;
use crate::session::plan::Plan;
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;

use answer::{Codes, answer};
use list::List;

/// The text behind the panel's `?`.
pub const HELP: &str = "Every read up to the playhead, with what each lane answered; and for the selected one, where the weight of the answer \
came from.\n\n\
The list: a read's text, how many writes it sees, what is right, and each lane's answer. A code with × before it is wrong; the number behind a code is the \
margin, by how much it beat the second (in a wide panel); where not even the code has room, ✔ is right and × wrong. What is the same of every read has no \
column and is said above the list. On a capture and on regression: the relative error |o - y| / |y| of this one read, y the output of full attention or the target, and their cosine (Recall's relative *squared* error, \
of regression, has no root). A lane answers a read once its chunk is over: until then … stands in its place. Click a row, then use the arrows \
up and down, or Page Up and Page Down.\n\n\
The formula behind the strips: every lane's output is a sum of the values written, o = sum w_i v_i. For full attention and the window the weights w_i are those of the \
softmax; for OVQ and VQ a centroid's weight is spread over its members; for linear, delta and Mamba-2 lanes they are exact too, and may be negative; for LoLA they \
come in three parts. The bar beside a name adds them up by memory, a negative sum is striped. Each lane has a scale of its own, written at its left; \
the five largest weights carry the mark of their memory. Where several tokens share a pixel, the largest weight (and the smallest, below zero) is drawn.\n\n\
The weights are computed in float64 from the lane's trace once the run is over; how far their sum is from the output that the lane itself returned is said \
beside each name, in red where it is more than a thousandth.\n\nHover for the exact numbers.";

/// Where a wide panel has the list beside the strips.
const WIDE: f32 = 860.0;

/// See [`HELP`].
#[derive(Default)]
pub struct Reads {
    plan: Weak<Plan>,
    codes: Codes,
    list: List,
}

impl Panel for Reads {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let stream = &look.plan.stream;
        if look.lanes.is_empty() {
            words(ui, "No lane is switched on.");
            return;
        }
        if stream.reads() == 0 {
            words(ui, "This stream has no reads.");
            return;
        }
        if Weak::as_ptr(&self.plan) != Arc::as_ptr(look.plan) {
            self.plan = Arc::downgrade(look.plan);
            self.codes = Codes::new(stream);
        }
        ui.spacing_mut().item_spacing.y = 2.0;
        let area = ui.available_rect_before_wrap();
        let selected = look.selection.read.filter(|r| *r < stream.reads());
        let (list, rest) = if selected.is_none() {
            (area, None)
        } else if area.width() >= WIDE {
            let (list, rest) = area.split_left_right_at_fraction(0.45);
            (list, Some(rest.with_min_x(rest.left() + 10.0)))
        } else {
            let (list, rest) = area.split_top_bottom_at_fraction(if area.height() > 420.0 { 0.4 } else { 0.45 });
            (list, Some(rest.with_min_y(rest.top() + 4.0)))
        };
        let mut inside = ui.new_child(UiBuilder::new().id_salt("list").max_rect(list).layout(Layout::top_down(Align::Min)));
        inside.set_clip_rect(list.intersect(ui.clip_rect()));
        self.list.ui(&mut inside, look, &self.codes, list.height(), commands);
        if let (Some(read), Some(rest)) = (selected, rest) {
            let mut inside = ui.new_child(UiBuilder::new().id_salt("read").max_rect(rest).layout(Layout::top_down(Align::Min)));
            inside.set_clip_rect(rest.intersect(ui.clip_rect()));
            self.detail(&mut inside, look, read, commands);
        }
        ui.advance_cursor_after_rect(area);
    }
}

impl Reads {
    /// The selected read: what is right, and each lane's answer with the weights behind it.
    fn detail(&self, ui: &mut Ui, look: &Look<'_>, read: usize, commands: &mut Vec<Command>) {
        let stream = &look.plan.stream;
        let heading = strips::heading(look, &self.codes, read);
        ui.add(Label::new(RichText::new(&heading).strong()).truncate());
        if stream.after()[read] as usize > look.writes {
            words(ui, "The playhead stands before this read.");
            return;
        }
        let study = &look.studies.effective;
        let known = study.is_of(look.plan, read, look.query_head);
        if !known {
            commands.push(StudyCommand::Effective(Ask::Read { read, query_head: look.query_head }).into());
        }
        let found = |lane: usize| study.lane(lane).filter(|_| known);
        let mut stores: Vec<Store> =
            (0..look.lanes.len()).filter_map(|l| found(l)?.weights()).flat_map(|w| w.shares.iter().map(|s| s.0)).collect();
        stores.sort_unstable();
        stores.dedup();
        if let Some(error) = study.error().filter(|_| known) {
            ui.colored_label(ui.visuals().error_fg_color, error);
        }
        strips::legend(ui, &stores);
        ScrollArea::vertical().id_salt("lanes").auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            // What is left of the height for a strip, after its heading and the ruler below all.
            let each = (ui.available_height() - 20.0) / look.lanes.len() as f32 - 28.0;
            let mut tokens = 0;
            for lane in 0..look.lanes.len() {
                let finding = found(lane);
                self.lane_row(ui, look, lane, read, finding.and_then(Finding::weights), commands);
                match finding {
                    Some(Finding::Known(weights)) => {
                        tokens = tokens.max(weights.envelope.values().len());
                        strips::strip(ui, look, weights, read, lane, each.clamp(30.0, 90.0), commands);
                    }
                    Some(Finding::Unknown) => quiet(
                        ui,
                        "What each token weighs is not known: this layer does not say it, or its trace does not hold what it depends on.",
                    ),
                    None if look.reached < stream.writes() => quiet(ui, "The weights follow once the run is complete."),
                    None => quiet(ui, "Weighing…"),
                }
                ui.add_space(4.0);
            }
            if tokens > 0 {
                strips::ruler(ui, tokens);
            }
        });
    }

    /// A lane's name, its answer, where its weight came from, and how well the weights reproduce its output.
    fn lane_row(&self, ui: &mut Ui, look: &Look<'_>, lane: usize, read: usize, weights: Option<&Weights>, commands: &mut Vec<Command>) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            swatch(ui, look.lanes[lane].colour);
            let name = look.lanes[lane].plan.name.as_str();
            drop(lane_link(ui, RichText::new(name).size(SMALL).strong(), lane, commands));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if let Some(weights) = weights {
                    let (faith, bad) = strips::faith(weights);
                    let colour = if bad { ui.visuals().error_fg_color } else { Ink::of(ui).quiet };
                    ui.add_space(1.0);
                    let width = (ui.available_width() * 0.3).clamp(40.0, 160.0);
                    strips::shares(ui, weights, width, name);
                    let text = RichText::new(&faith).size(SMALL).color(colour);
                    if bad || ui.available_width() > 200.0 {
                        ui.label(text);
                    }
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let sentence = answer(look, lane, read).sentence(&self.codes, &look.plan.stream);
                    ui.add(Label::new(RichText::new(sentence).size(SMALL)).truncate());
                });
            });
        });
    }
}

fn quiet(ui: &mut Ui, text: &str) {
    let text = RichText::new(text).size(SMALL).color(Ink::of(ui).quiet);
    ui.add_sized(vec2(ui.available_width(), 16.0), Label::new(text).truncate());
}
