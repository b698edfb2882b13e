//! Events: what happened in a run, filtered, counted, drawn over time, listed, and gone through one by one.

mod controls;
mod list;
mod strip;

use eframe::egui::containers::menu::{MenuButton, MenuConfig};
use eframe::egui::{Align, Label, Layout, PopupCloseBehavior, RichText, Ui};

use super::common::{plural, words};
use super::{Look, Panel};
use crate::app::command::{Command, ViewCommand, WindowCommand};
use crate::app::icon::{self, Icon};
use crate::app::study::StudyCommand;
use crate::app::study::events::{Ask, LISTED, Listing};
use crate::metric::events::{EventKind, HeadsShown};
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;

/// The text behind the panel's `?`.
pub const HELP: &str = "What happened in the run, read from what the lanes recorded, for the heads shown: each event is seen from the end of its chunk on.\n\n\
Founders: a write that founded a row of a dictionary (OVQ). Admissions and evictions: a pair that entered the sparse cache, and one that was folded from it \
into the state (LoLA). Ties: a margin below x, the gap between what a choice took and what it would have taken next (assignment, founding, \
admission, answer). The formula: best - second < x, k.Dk of the nearest row minus that of the second, say: rounding could have chosen otherwise there. NaN or infinity: any real number that is none, but for an infinite margin and a \
threshold that is NaN, which both mean \"none\". Small normalisers: phi(q)^T s of a read below a size, so that the epsilon of 1e-6 in phi(q)^T H / (phi(q)^T s + 1e-6) \
counts; in LoLA the state's part alone, once the state holds something. Wrong answers: reads whose nearest code is not the right one. \
Threshold: any number of a channel of your choice above or below a value.\n\n\
The chips say how many there are, and leave a kind or a lane out; in a low cell they are behind the button Filter. The strip draws, for every kind, how many fall in each stretch of the stream (darker on light paper, brighter on dark: more). \
Hover for the numbers. In the list a click selects what the event is about; a double click, or Enter, also runs to it.\n\n\
N runs to the next event of the filter after the playhead, Shift+N to the one before; several at one moment are gone through one by one. Export writes the list as CSV.";

/// The height of the first row with the gap below it, in points.
const HEAD: f32 = 25.0;
/// What words in place of a list take.
const WORDS: f32 = 60.0;

/// See [`HELP`].
#[derive(Default)]
pub struct Events {
    list: list::List,
    strip: strip::Strip,
    threshold: controls::Editor,
}

/// The heads that a panel is shown for.
fn heads(look: &Look<'_>) -> HeadsShown {
    HeadsShown { kv: look.kv_head, query: look.query_head }
}

impl Panel for Events {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let study = &look.studies.events;
        let over = look.reached >= look.plan.stream.writes();
        if over && !study.is_of(look.plan, heads(look)) {
            commands.push(Command::Study(StudyCommand::Events(Ask::List(heads(look)))));
        }
        let found = study.list(look.plan, heads(look));
        ui.spacing_mut().item_spacing.y = 3.0;
        let editor = &mut self.threshold;
        let mut filter = |ui: &mut Ui, commands: &mut Vec<Command>| {
            controls::kinds(ui, look, found.map(|(listing, _)| &**listing), commands);
            controls::lanes(ui, look, found.map(|(listing, _)| &**listing), commands);
            editor.ui(ui, look, commands);
        };
        // In a low cell the list and the strip have the room, and the filter is behind a button.
        let below = match found {
            // Whatever passes the filter: a chip does not hide the chips.
            Some((listing, _)) => strip::height(kinds_there(listing)) + ui.spacing().item_spacing.y + list::LEAST,
            None => WORDS,
        };
        if ui.available_height() < HEAD + controls::height(ui, look, found.map(|(listing, _)| &**listing)) + below {
            first_row(ui, look, commands, Some(&mut filter));
        } else {
            first_row(ui, look, commands, None);
            filter(ui, commands);
        }
        let Some((listing, shown)) = found else {
            let text = if study.running() {
                format!("Looking for events: {:.0} %", study.share() * 100.0)
            } else if over {
                "The events are about to be listed.".to_owned()
            } else {
                "The events are listed and counted when the run is complete; Previous and Next work at once.".to_owned()
            };
            words(ui, &text);
            return;
        };
        if shown.places.is_empty() {
            words(ui, "No event passes the filter.");
            return;
        }
        self.strip.ui(ui, look, shown, list::LEAST);
        self.list.ui(ui, look, listing, shown, commands);
    }
}

/// How many kinds of events there are at all, in any lane.
fn kinds_there(listing: &Listing) -> usize {
    (0..EventKind::ALL.len()).filter(|kind| listing.counts.iter().any(|lane| lane[*kind] > 0)).count()
}

/// Draws what is wanted: the chips and the editor.
type Filter<'a> = &'a mut dyn FnMut(&mut Ui, &mut Vec<Command>);

/// The buttons that go through the events, how many there are, and the export.
fn first_row(ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>, filter: Option<Filter<'_>>) {
    let study = &look.studies.events;
    let found = study.list(look.plan, heads(look));
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (icon, name, hint, forwards) in [
            (Icon::ArrowLeft, "Previous event", "Run to the event of the filter before the playhead (Shift+N)", false),
            (Icon::ArrowRight, "Next event", "Run to the next event of the filter after the playhead (N)", true),
        ] {
            if icon::button(ui, icon, name, false).on_hover_text(hint).clicked() {
                commands.push(Command::View(ViewCommand::FindEvent { forwards }));
            }
        }
        if let Some(filter) = filter {
            let stays = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
            let button = MenuButton::new(RichText::new("Filter").size(SMALL)).config(stays);
            button.ui(ui, |ui| {
                ui.set_max_width(420.0);
                filter(ui, commands);
            });
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let any = found.is_some_and(|(_, shown)| !shown.places.is_empty());
            let export = ui.add_enabled(any, eframe::egui::Button::new(RichText::new("Export CSV…").size(SMALL)));
            if export.on_hover_text("Write the list as it is filtered").clicked() {
                commands.push(Command::Window(WindowCommand::ExportEvents));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let text = found.map_or_else(String::new, |(listing, shown)| {
                    let all: usize = listing.counts.iter().flatten().sum();
                    let cut = if listing.cut() { format!(" (the list holds the first {LISTED} at most)") } else { String::new() };
                    format!("{} of {}{cut}", shown.places.len(), plural(all, "event", "events"))
                });
                ui.add(Label::new(RichText::new(text).size(SMALL).color(Ink::of(ui).quiet)).truncate());
            });
        });
    });
}
