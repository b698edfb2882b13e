//! The menu bar: made from the table of commands, with the panels and the recent files added where they belong.

use std::path::Path;

use eframe::egui::{Align, Button, Label, Layout, MenuBar, RichText, ScrollArea, Ui, vec2};

use crate::app::command::{Command, ViewCommand, WindowCommand};
use crate::app::commands::{COMMANDS, Entry, GROUPS, Group, key_text, keys_text};
use crate::app::icon::{self, Icon};
use crate::app::layout::{PanelLayout, entries};
use crate::app::lesson::LessonCommand;
use crate::app::prefs::Preferences;
use crate::app::theme::ThemeChoice;

/// What the menu is drawn from.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each says of one entry whether it can be chosen")]
pub struct MenuLook<'a> {
    /// Theme and recent files.
    pub preferences: &'a Preferences,
    /// The theme that is chosen.
    pub theme: ThemeChoice,
    /// Which panels are shown.
    pub layout: &'a PanelLayout,
    /// The session's file, if it has one.
    pub session: Option<&'a Path>,
    /// What the session calls itself, if it does.
    pub named: &'a str,
    /// True if the session differs from its file.
    pub edited: bool,
    /// What the stream on screen is.
    pub title: &'a str,
    /// What would be taken back, if anything.
    pub undo: Option<&'a str>,
    /// What would be made again, if anything.
    pub redo: Option<&'a str>,
    /// True if something was looked at before.
    pub back: bool,
    /// True if something was looked at after.
    pub forward: bool,
    /// True while a lesson is played.
    pub playing: bool,
}

/// Draws it.
pub fn ui(ui: &mut Ui, look: &MenuLook<'_>, commands: &mut Vec<Command>) {
    MenuBar::new().ui(ui, |ui| {
        for (group, title) in GROUPS {
            ui.menu_button(title, |ui| {
                ui.set_min_width(210.0);
                if group == Group::View {
                    submenus(ui, look, commands);
                    ui.separator();
                }
                for entry in COMMANDS.iter().filter(|c| c.group == group && !is_layout(c) && !is_answer(c)) {
                    if entry.first_of_section {
                        ui.separator();
                    }
                    item(ui, look, entry, commands);
                    if entry.name == "open-path" {
                        recent(ui, look, commands);
                    }
                }
            });
        }
        ui.add_space(8.0);
        for (icon, name, able, command) in [
            (Icon::ArrowLeft, "Look back", look.back, ViewCommand::Back),
            (Icon::ArrowRight, "Look forward", look.forward, ViewCommand::Forward),
        ] {
            let hint = COMMANDS.iter().find(|c| c.title == name).map_or_else(String::new, |c| keys_text(ui.ctx(), c));
            let pressed = ui.add_enabled_ui(able, |ui| icon::sized(ui, icon, name, false, vec2(20.0, 18.0))).inner;
            if pressed.on_hover_text(format!("{name} ({hint})")).clicked() {
                commands.push(command.into());
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let unsaved = if look.named.is_empty() { "unsaved session" } else { look.named };
            let name = look.session.and_then(Path::file_name).map_or_else(|| unsaved.into(), |n| n.to_string_lossy());
            if look.edited {
                let text = RichText::new(format!("{name} • edited")).small();
                ui.label(text).on_hover_text("Not as it was opened or saved last");
            } else {
                ui.label(RichText::new(name).weak().small());
            }
            ui.add_space(6.0);
            ui.add(Label::new(RichText::new(look.title).small()).truncate());
        });
    });
}

/// True for an arrangement of panels: these have a menu of their own.
fn is_layout(entry: &Entry) -> bool {
    matches!((entry.make)(), Command::Window(WindowCommand::Arrange(_) | WindowCommand::ResetLayout))
}

/// True for an answer in a lesson: these are had from the lesson's own strip.
fn is_answer(entry: &Entry) -> bool {
    matches!((entry.make)(), Command::Lesson(LessonCommand::Choose(_)))
}

fn item(ui: &mut Ui, look: &MenuLook<'_>, entry: &Entry, commands: &mut Vec<Command>) {
    if let Command::Window(WindowCommand::Theme(theme)) = (entry.make)() {
        if ui.radio(theme == look.theme, entry.title).clicked() {
            commands.push((entry.make)());
            ui.close();
        }
        return;
    }
    let edit = match (entry.make)() {
        Command::Window(WindowCommand::Undo) => Some(look.undo),
        Command::Window(WindowCommand::Redo) => Some(look.redo),
        _ => None,
    };
    let title = match edit {
        Some(Some(what)) => format!("{}: {what}", entry.title),
        _ => entry.title.to_owned(),
    };
    let able = match (entry.make)() {
        Command::View(ViewCommand::Back) => look.back,
        Command::View(ViewCommand::Forward) => look.forward,
        Command::Lesson(LessonCommand::Start(_) | LessonCommand::Open | LessonCommand::New) => true,
        Command::Lesson(_) => look.playing,
        _ => edit != Some(None),
    };
    let mut button = Button::new(title);
    if let Some(key) = entry.key {
        // Not the weak colour: it is too weak on what the pointer is over.
        button = button.shortcut_text(RichText::new(key_text(ui.ctx(), &key)).color(ui.visuals().text_color()));
    }
    if ui.add_enabled(able, button).clicked() {
        commands.push((entry.make)());
        ui.close();
    }
}

fn recent(ui: &mut Ui, look: &MenuLook<'_>, commands: &mut Vec<Command>) {
    if look.preferences.recent.is_empty() {
        return;
    }
    ui.menu_button("Open recent", |ui| {
        for path in &look.preferences.recent {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            if ui.button(name).on_hover_text(path.display().to_string()).clicked() {
                commands.push(Command::Window(WindowCommand::OpenFile(path.clone())));
                ui.close();
            }
        }
    });
}

/// What would make the menu View taller than the window: the panels and their arrangements. They come first in it, for a panel that is
/// not seen is looked for there.
fn submenus(ui: &mut Ui, look: &MenuLook<'_>, commands: &mut Vec<Command>) {
    ui.menu_button("Panels", |ui| panels(ui, look, commands));
    ui.menu_button("Layout", |ui| {
        for entry in COMMANDS.iter().filter(|c| is_layout(c)) {
            if ui.button(entry.title.trim_start_matches("Layout: ")).clicked() {
                commands.push((entry.make)());
                ui.close();
            }
        }
    });
}

fn panels(ui: &mut Ui, look: &MenuLook<'_>, commands: &mut Vec<Command>) {
    let high = (ui.ctx().content_rect().height() - 60.0).max(80.0);
    ScrollArea::vertical().max_height(high).show(ui, |ui| {
        for entry in entries() {
            let mut shown = look.layout.shows(entry.name);
            if ui.checkbox(&mut shown, entry.title).changed() {
                commands.push(Command::Window(WindowCommand::TogglePanel(entry.name)));
            }
        }
    });
}
