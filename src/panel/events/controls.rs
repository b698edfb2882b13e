//! Which events are wanted: chips of kinds and lanes, the margin of a tie, the size of a small normaliser, the threshold.

use eframe::egui::{Color32, ComboBox, DragValue, RichText, Stroke, Ui};

use crate::app::command::Command;
use crate::app::study::StudyCommand;
use crate::app::study::events::{Ask, Filter, Listing};
use crate::metric::events::{Criteria, EventKind, Threshold};
use crate::panel::common::swatch;
use crate::panel::row::{SWATCH, button_width, lines, unbroken, width_of};
use crate::panel::{LaneLook, Look};
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

/// Points between chips, and between the parts of the editor.
const GAP: f32 = 3.0;
const EDITOR_GAP: f32 = 4.0;

fn chip_width(ui: &Ui, text: &str) -> f32 {
    button_width(ui, RichText::new(text).size(SMALL))
}

/// The kinds that have a chip, and what stands on it. A kind that no lane here knows of takes no room; one that could be there and is
/// not says 0.
fn kind_chips(listing: Option<&Listing>, filter: &Filter) -> Vec<(EventKind, String)> {
    let known = |kind: &EventKind| listing.is_none_or(|l| l.kinds.iter().flatten().any(|k| k == kind));
    let text =
        |kind: EventKind| listing.map_or_else(|| kind.title().to_owned(), |l| format!("{} {}", kind.title(), l.of_kind(kind, filter)));
    EventKind::ALL.into_iter().filter(known).map(|kind| (kind, text(kind))).collect()
}

fn lane_chip(name: &str, index: usize, listing: Option<&Listing>, filter: &Filter) -> String {
    listing.map_or_else(|| name.to_owned(), |l| format!("{name} {}", l.of_lane(index, filter)))
}

/// The height that chips and editor take in this width, the gap below them included.
pub(super) fn height(ui: &Ui, look: &Look<'_>, listing: Option<&Listing>) -> f32 {
    let (filter, room) = (look.studies.events.filter(), ui.available_width());
    let kinds = kind_chips(listing, filter).into_iter().map(|(_, text)| text).chain(["none".to_owned()]);
    let kinds = lines(kinds.map(|text| chip_width(ui, &text)), GAP, room);
    let lane = |(index, lane): (usize, &LaneLook<'_>)| lane_width(ui, &lane_chip(&lane.plan.name, index, listing, filter));
    let lanes = lines(look.lanes.iter().enumerate().map(lane), GAP, room);
    let criteria = &filter.criteria;
    let sizes = [(TIE, criteria.margin), (NORMALISER, criteria.normaliser)].map(|(text, value)| size_width(ui, text, value));
    // Without the parts that a threshold adds: what is edited does not go away for becoming wider.
    let editor = lines(sizes.into_iter().chain([CHANNEL]), EDITOR_GAP, room);
    (kinds + lanes + editor) as f32 * (ui.spacing().interact_size.y + ui.spacing().item_spacing.y)
}

/// A chip for every kind that the lanes can have, with its number.
pub(super) fn kinds(ui: &mut Ui, look: &Look<'_>, listing: Option<&Listing>, commands: &mut Vec<Command>) {
    let filter = look.studies.events.filter();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        for (kind, text) in kind_chips(listing, filter) {
            let on = filter.wants(kind);
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

/// The width of a lane's colour and its chip.
fn lane_width(ui: &Ui, text: &str) -> f32 {
    SWATCH + GAP + chip_width(ui, text)
}

/// A chip for every lane, with the number of its events.
pub(super) fn lanes(ui: &mut Ui, look: &Look<'_>, listing: Option<&Listing>, commands: &mut Vec<Command>) {
    let filter = look.studies.events.filter();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        for (index, lane) in look.lanes.iter().enumerate() {
            let on = filter.wants_lane(index);
            let name = &lane.plan.name;
            let text = lane_chip(name, index, listing, filter);
            let width = lane_width(ui, &text);
            let clicked = unbroken(ui, width, |ui| {
                swatch(ui, lane.colour);
                chip(ui, on, text, &format!("Events of {name}"))
            });
            if clicked {
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

/// The names of the two sizes in the editor.
const TIE: &str = "tie below";
const NORMALISER: &str = "normaliser below";
/// The width of the choice of a channel, about.
const CHANNEL: f32 = 96.0;

/// How a size is written in its field.
fn size_text(value: f64) -> String {
    if value == 0.0 || value >= 0.01 { format!("{value}") } else { format!("{value:e}") }
}

/// The width of a size's name and its field.
fn size_width(ui: &Ui, text: &str, value: f64) -> f32 {
    let field = button_width(ui, size_text(value)).max(ui.spacing().interact_size.x);
    width_of(ui, RichText::new(text).size(SMALL)) + EDITOR_GAP + field
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
            ui.spacing_mut().item_spacing.x = EDITOR_GAP;
            let mut size = |ui: &mut Ui, value: &mut f64, text: &str, name: &str, hint: &str| {
                let width = size_width(ui, text, *value);
                let response = unbroken(ui, width, |ui| {
                    ui.label(RichText::new(text).size(SMALL));
                    let speed = (value.abs() * 0.05).max(1e-9);
                    let drag = DragValue::new(value).range(0.0..=f64::MAX).speed(speed).custom_formatter(|x, _| size_text(x));
                    ui.add(drag.custom_parser(|text| text.trim().parse().ok())).accessible_name(name).on_hover_text(hint)
                });
                changed |= response.changed();
                busy |= response.dragged();
            };
            size(ui, &mut criteria.margin, TIE, "Margin of a tie", "Margins below this are ties");
            size(ui, &mut criteria.normaliser, NORMALISER, "Small normaliser", "Normalisers below this are small");
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
    let combo = ComboBox::from_id_salt("threshold channel").selected_text(RichText::new(text).size(SMALL)).width(CHANNEL).truncate();
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
