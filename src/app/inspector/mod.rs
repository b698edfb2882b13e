//! The right panel: what is known of the token under the pointer, or of what was selected last: a token, a centroid, a pair in a
//! cache, a read, a step or a lane. Each has a file here that says it as data (`page`); this one draws that.

mod centroid;
mod lane;
mod life;
mod page;
mod read;
mod slot;
mod step;
mod strip;
mod token;

use eframe::egui::style::ScrollStyle;
use eframe::egui::{Align, Label, Layout, Response, RichText, ScrollArea, Sense, Ui, vec2};

use crate::app::command::{Command, TimeCommand, ViewCommand, WindowCommand};
use crate::app::facts::{self, Index};
use crate::app::neighbours::{self, Neighbour};
use crate::app::theme;
use crate::app::timeline_bar::token_text;
use crate::panel::common::{link, role_name, swatch, whole_link};
use crate::panel::formula::exact::{Exact, Kept, LaneAt, Rest, RunKey};
use crate::panel::{Look, Subject};

use page::{Item, Page, Part, Say};

/// Room for the names of facts.
const NAME_WIDTH: f32 = 116.0;

/// What a page depends on: the run, the subject, and how far the studies are that it speaks of.
type Of = (RunKey, Subject, (u64, bool, usize));

/// The inspector, with what it keeps from frame to frame.
#[derive(Debug, Default)]
pub struct Inspector {
    index: Index,
    neighbours: neighbours::Kept,
    rest: Rest,
    kept: Kept<Of, Page>,
    /// Whose page was drawn last.
    shown: Option<Subject>,
    /// How far the page of what is held was scrolled: it is so again once the pointer has left what it passed over.
    scrolled: Option<(Subject, f32)>,
}

/// What is spoken of: what the pointer is over, else what was chosen last; and whether it is held. While the pointer is over the
/// inspector itself, what it is over there (a link to a token, say) is marked in the panels, but does not turn the page.
fn subject(look: &Look<'_>, pointer_inside: bool) -> Option<(Subject, bool)> {
    let selection = look.selection;
    let hovered = selection.hovered.map(Subject::Token);
    let hovered = hovered.or(selection.hovered_row.map(|(lane, row)| Subject::Centroid { lane, row })).filter(|_| !pointer_inside);
    let held = selection.subject.or(selection.token.map(Subject::Token));
    let exists = |subject: &Subject| match *subject {
        Subject::Token(write) => write < look.plan.stream.writes(),
        Subject::Slot { lane, write } => write < look.plan.stream.writes() && lane < look.lanes.len(),
        Subject::Centroid { lane, .. } | Subject::Lane(lane) => lane < look.lanes.len(),
        Subject::Read(read) => read < look.plan.stream.reads(),
        Subject::Step(step) => step < look.plan.steps(),
    };
    hovered.map(|s| (s, Some(s) == held)).or(held.map(|s| (s, true))).filter(|(s, _)| exists(s))
}

/// What is held: chosen last, whatever the pointer is over.
#[must_use]
pub fn held(look: &Look<'_>) -> Option<Subject> {
    subject(look, true).map(|(subject, _)| subject)
}

fn make(look: &Look<'_>, index: &mut Index, exact: &Exact<'_>, subject: Subject) -> Page {
    match subject {
        Subject::Token(write) => token::page(look, index, exact, write),
        Subject::Read(read) => read::page(look, read),
        Subject::Step(step) => step::page(look, step),
        Subject::Centroid { lane, .. } | Subject::Slot { lane, .. } | Subject::Lane(lane) => {
            let Some(lane) = LaneAt::of(look, lane) else { return Page::default() };
            match subject {
                Subject::Centroid { row, .. } => centroid::page(look, exact, &lane, row),
                Subject::Slot { write, .. } => slot::page(look, index, &lane, write),
                _ => lane::page(look, &lane),
            }
        }
    }
}

/// What is said of a subject, as plain text, a line each: for tests, and for those who would read it elsewhere.
#[must_use]
pub fn in_words(look: &Look<'_>, subject: Subject) -> String {
    make(look, &mut Index::default(), &Exact::new(look.states, true), subject).plain()
}

impl Inspector {
    /// Draws it.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let inside = ui.rect_contains_pointer(ui.max_rect());
        let Some((subject, held)) = subject(look, inside) else {
            nothing(ui);
            return;
        };
        let ask = self.rest.rested(ui, look);
        let retention = look.studies.retention.of(look.plan);
        let effective = &look.studies.effective;
        let weighed = (0..look.lanes.len()).filter(|l| effective.lane(*l).is_some()).count();
        let studies = (retention.map_or(0, |f| f.number), retention.is_some_and(|f| f.done.is_some()), weighed);
        let Self { index, kept, neighbours, shown, scrolled, .. } = self;
        let page = kept.get(look.states, ask, (RunKey::new(look), subject, studies), |exact| make(look, index, exact, subject));
        ui.spacing_mut().scroll = ScrollStyle { fade: ui.spacing().scroll.fade, ..ScrollStyle::solid() };
        let mut area = ScrollArea::vertical().auto_shrink([false, false]);
        // Another page is read from its top.
        if shown.replace(subject) != Some(subject) {
            area = area.vertical_scroll_offset(scrolled.filter(|s| s.0 == subject).map_or(0.0, |s| s.1));
        }
        let output = area.show(ui, |ui| {
            head(ui, look, page, subject, held, commands);
            for item in &page.items {
                draw(ui, look, item, commands);
            }
            if held {
                crate::app::hand::buttons(ui, look, index, subject, commands);
            }
            // Only for a token that is held: a search for every one that the pointer passes would be felt.
            if let (Subject::Token(write), true) = (subject, held) {
                nearest(ui, look, neighbours.of(look.plan, look.kv_head, write), commands);
            }
            crate::app::focus::follow(ui);
        });
        if held {
            *scrolled = Some((subject, output.state.clamped_offset().y));
        }
    }
}

fn draw(ui: &mut Ui, look: &Look<'_>, item: &Item, commands: &mut Vec<Command>) {
    match item {
        Item::Lane(number) => {
            let Some(lane) = look.lanes.get(*number) else { return };
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                swatch(ui, lane.colour);
                drop(link(ui, RichText::new(&lane.plan.name).strong(), Subject::Lane(*number), commands));
            });
        }
        Item::Heading(text) => {
            ui.add_space(4.0);
            ui.label(RichText::new(text).strong());
        }
        Item::Line(say) => sentence(ui, look, say, commands),
        Item::Fact(name, say) => row(ui, name, |ui| sentence(ui, look, say, commands)),
        Item::Life(life) => strip::strip(ui, life, "this lane"),
    }
}

/// A sentence with links in it.
fn sentence(ui: &mut Ui, look: &Look<'_>, say: &Say, commands: &mut Vec<Command>) {
    // A row of words is as high as the words, not as a button.
    let high = std::mem::replace(&mut ui.spacing_mut().interact_size.y, 14.0);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(0.0, 1.0);
        for part in &say.0 {
            match part {
                Part::Words(words) => drop(ui.label(RichText::new(words).small())),
                Part::Link(name, subject) => mark(&link(ui, RichText::new(name).small(), *subject, commands), *subject, commands),
                Part::Step(name, step) => {
                    let response = whole_link(ui, RichText::new(name).small()).on_hover_text("Select it, and go to just after it");
                    if response.clicked() {
                        commands.push(ViewCommand::Choose(Subject::Step(*step)).into());
                        commands.push(TimeCommand::Seek(look.plan.writes_at(step + 1)).into());
                    }
                }
                Part::Panel(name, panel) => {
                    let response = whole_link(ui, RichText::new(name).small()).on_hover_text("Show the panel");
                    if response.clicked() {
                        commands.push(WindowCommand::ShowPanel(panel).into());
                    }
                }
            }
        }
    });
    ui.spacing_mut().interact_size.y = high;
}

/// What a link stands for is marked in the panels while the pointer is over it.
fn mark(response: &Response, subject: Subject, commands: &mut Vec<Command>) {
    if !response.hovered() {
        return;
    }
    match subject {
        Subject::Token(write) | Subject::Slot { write, .. } => commands.push(ViewCommand::Hover(write).into()),
        Subject::Centroid { lane, row } => commands.push(ViewCommand::HoverRow { lane, row }.into()),
        Subject::Read(_) | Subject::Step(_) | Subject::Lane(_) => {}
    }
}

/// The tokens whose keys are nearest to the token's own.
fn nearest(ui: &mut Ui, look: &Look<'_>, found: &neighbours::Neighbours, commands: &mut Vec<Command>) {
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

/// A token whose key is near: its name, how near, and a link that selects it.
fn neighbour(ui: &mut Ui, look: &Look<'_>, near: &Neighbour, name: &str, commands: &mut Vec<Command>) {
    // Keys of length 1: the dot product is the cosine.
    let dot = if (near.dot - near.cosine).abs() <= 1e-3 { String::new() } else { format!(", k.k' {}", facts::number(near.dot)) };
    let often = if near.of_text > 1 { format!(", the nearest of {}", near.of_text) } else { String::new() };
    let say = Say::default()
        .link(format!("token {}", near.write), Subject::Token(near.write))
        .t(format!("  cosine {}{dot}{often}", facts::number(near.cosine)));
    row(ui, name, |ui| sentence(ui, look, &say, commands));
}

/// A name in a column of fixed width and its value on the rest of the row, so that nothing moves when values change.
fn row(ui: &mut Ui, name: &str, value: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.allocate_ui_with_layout(vec2(NAME_WIDTH, 15.0), Layout::left_to_right(Align::Min), |ui| {
            ui.set_min_width(NAME_WIDTH);
            ui.add(Label::new(RichText::new(name).weak().small()).truncate());
        });
        let rest = ui.available_width();
        ui.vertical(|ui| {
            ui.set_max_width(rest);
            value(ui);
        });
    });
}

fn nothing(ui: &mut Ui) {
    ui.add_space(4.0);
    ui.label(RichText::new("INSPECTOR").small().strong());
    ui.add_space(4.0);
    ui.weak("Point at a token, in the timeline or in any panel: it is marked everywhere, and what is known of it is said here. A click holds it; Escape lets it go.");
}

fn head(ui: &mut Ui, look: &Look<'_>, page: &Page, subject: Subject, held: bool, commands: &mut Vec<Command>) {
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new("INSPECTOR").small().strong());
        if held {
            let clear = ui.small_button("clear").accessible_name("Clear the selection").on_hover_text("Escape");
            if clear.clicked() {
                commands.push(Command::View(ViewCommand::Select(None)));
            }
        } else {
            ui.label(RichText::new("click to hold").small().weak());
        }
    });
    ui.add_space(2.0);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&page.title).heading().strong());
        if let Some(text) = &page.text {
            ui.label(RichText::new(text).heading().color(ui.visuals().strong_text_color()));
        }
    });
    if let Subject::Token(write) = subject {
        role(ui, look, write);
    }
}

/// What a token is for.
fn role(ui: &mut Ui, look: &Look<'_>, write: usize) {
    let labels = look.plan.stream.labels();
    let role = labels.roles.of_write.get(write).copied().unwrap_or_default();
    let dark = ui.visuals().dark_mode;
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(rect, 5.0, theme::role_colour(role, labels.roles.marked, dark));
        ui.label(role_name(&look.plan.stream, write));
        ui.weak(format!("written in step {}", write / look.plan.step));
    });
}
