//! Which events are wanted: chips of kinds and lanes, the margin of a tie, the size of a small normaliser, the threshold.

use eframe::egui::{Color32, ComboBox, DragValue, RichText, Stroke, Ui};

use crate::app::command::Command;
use crate::app::study::StudyCommand;
use crate::app::study::events::{Ask, Filter, Listing};
use crate::metric::events::{Criteria, EventKind, Threshold};
use crate::panel::Look;
use crate::panel::common::swatch;
use crate::trace::Width;
use crate::widget::chart::SMALL;

fn ask(filter: Filter, commands: &mut Vec<Command>) {
    commands.push(Command::Study(StudyCommand::Events(Ask::Filter(filter))));
}

fn chip(ui: &mut Ui, on: bool, text: String, name: &str) -> bool {
    let usual = ui.visuals().widgets.active;
    if !on {
        // Off and focused, the ring alone says so: a filled box looks like one that is on.
        let active = &mut ui.visuals_mut().widgets.active;
        (active.weak_bg_fill, active.bg_fill, active.bg_stroke) = (Color32::TRANSPARENT, Color32::TRANSPARENT, Stroke::NONE);
    }
    let clicked = ui.selectable_label(on, RichText::new(text).size(SMALL)).accessible_name(name).clicked();
    ui.visuals_mut().widgets.active = usual;
    clicked
}

/// A chip for every kind that the lanes can have, with its number.
pub(super) fn kinds(ui: &mut Ui, look: &Look<'_>, listing: Option<&Listing>, commands: &mut Vec<Command>) {
    let filter = look.studies.events.filter();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        for kind in EventKind::ALL {
            let n = listing.map(|l| l.of_kind(kind, filter));
            // A kind that no lane here knows of takes no room; one that could be there and is not says 0.
            let known = listing.is_none_or(|l| l.kinds.iter().flatten().any(|k| *k == kind));
            if !known {
                continue;
            }
            let on = filter.wants(kind);
            let text = n.map_or_else(|| kind.title().to_owned(), |n| format!("{} {n}", kind.title()));
            let name = format!("Events: {}", kind.title());
            if chip(ui, on, text, &name) {
                let mut filter = filter.clone();
                filter.kinds[kind as usize] = !on;
                ask(filter, commands);
            }
        }
        let all = filter.kinds.iter().all(|k| *k);
        if chip(ui, false, if all { "none" } else { "all" }.to_owned(), "Events of every kind, or of none") {
            ask(Filter { kinds: [!all; 8], ..filter.clone() }, commands);
        }
    });
}

/// A chip for every lane, with the number of its events.
pub(super) fn lanes(ui: &mut Ui, look: &Look<'_>, listing: Option<&Listing>, commands: &mut Vec<Command>) {
    let filter = look.studies.events.filter();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        for (index, lane) in look.lanes.iter().enumerate() {
            let on = filter.wants_lane(index);
            let n = listing.map(|l| l.of_lane(index, filter));
            let name = &lane.plan.name;
            swatch(ui, lane.colour);
            if chip(ui, on, n.map_or_else(|| name.clone(), |n| format!("{name} {n}")), &format!("Events of {name}")) {
                let mut filter = filter.clone();
                if on {
                    filter.without.push(index);
                } else {
                    filter.without.retain(|l| *l != index);
                }
                ask(filter, commands);
            }
        }
    });
}

/// The editor of what makes something an event; it is taken over when an edit ends, so that a drag does not search at every step.
#[derive(Debug, Default)]
pub(super) struct Editor {
    edited: Option<Criteria>,
}

impl Editor {
    /// Draws the margin, the size of a normaliser, and the threshold.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let filter = look.studies.events.filter();
        let mut criteria = self.edited.clone().unwrap_or_else(|| filter.criteria.clone());
        let (mut changed, mut busy) = (false, false);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let mut size = |ui: &mut Ui, value: &mut f64, text: &str, name: &str, hint: &str| {
                ui.label(RichText::new(text).size(SMALL));
                let speed = (value.abs() * 0.05).max(1e-9);
                let drag = DragValue::new(value).range(0.0..=f64::MAX).speed(speed);
                let drag = drag.custom_formatter(|x, _| if x == 0.0 || x >= 0.01 { format!("{x}") } else { format!("{x:e}") });
                let response = ui.add(drag.custom_parser(|text| text.trim().parse().ok())).accessible_name(name).on_hover_text(hint);
                changed |= response.changed();
                busy |= response.dragged();
            };
            size(ui, &mut criteria.margin, "tie below", "Margin of a tie", "Margins below this are ties");
            size(ui, &mut criteria.normaliser, "normaliser below", "Small normaliser", "Normalisers below this are small");
            changed |= threshold(ui, look, &mut criteria, &mut busy);
        });
        if changed {
            self.edited = Some(criteria);
        }
        if !busy && let Some(criteria) = self.edited.take() {
            ask(Filter { criteria, ..filter.clone() }, commands);
        }
    }
}

/// The threshold: a channel, which of its numbers, above or below which value; true if it was changed.
fn threshold(ui: &mut Ui, look: &Look<'_>, criteria: &mut Criteria, busy: &mut bool) -> bool {
    let before = criteria.threshold.clone();
    let mut channel = before.as_ref().map(|t| t.channel.clone());
    let text = channel.clone().unwrap_or_else(|| "no threshold".to_owned());
    let combo = ComboBox::from_id_salt("threshold channel").selected_text(RichText::new(text).size(SMALL)).width(96.0).truncate();
    let response = combo.show_ui(ui, |ui| {
        ui.selectable_value(&mut channel, None, "no threshold");
        let mut names: Vec<&str> = look.lanes.iter().flat_map(|l| l.trace.channels()).map(|c| c.spec().name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            ui.selectable_value(&mut channel, Some(name.to_owned()), name);
        }
    });
    response.response.accessible_name("Channel of the threshold").on_hover_text("Numbers of this channel beyond the value are events");
    let Some(channel) = channel else {
        criteria.threshold = None;
        return before.is_some();
    };
    let mut t = before.clone().unwrap_or(Threshold { channel: channel.clone(), component: None, above: true, value: 1.0 });
    if t.channel != channel {
        (t.channel, t.component) = (channel, None);
    }
    let width = look.lanes.iter().filter_map(|l| l.trace.channel(&t.channel)).map(|c| match c.spec().width {
        Width::Fixed(width) => width,
        Width::Ragged => 1,
    });
    let width = width.max().unwrap_or(1);
    if width > 1 {
        // 0 stands for any of the numbers, so that one field is enough.
        let mut number = t.component.map_or(0, |c| c + 1);
        let drag = DragValue::new(&mut number).range(0..=width).custom_formatter(|x, _| match x as usize {
            0 => "any".to_owned(),
            n => format!("[{}]", n - 1),
        });
        let response = ui
            .add(drag)
            .accessible_name("Component of the threshold")
            .on_hover_text("Which number of an entry; drag to the left for any of them");
        *busy |= response.dragged();
        t.component = number.checked_sub(1);
    }
    let side = ui.button(if t.above { ">" } else { "<" }).accessible_name("Above or below");
    if side.on_hover_text(if t.above { "Above the value; a click: below it" } else { "Below the value; a click: above it" }).clicked() {
        t.above = !t.above;
    }
    let speed = (t.value.abs() * 0.02).max(1e-3);
    let response = ui.add(DragValue::new(&mut t.value).speed(speed)).accessible_name("Value of the threshold");
    *busy |= response.dragged();
    criteria.threshold = Some(t);
    criteria.threshold != before
}
