//! The menu bar: made from the table of commands, with the panels and the recent files added where they belong.

use std::path::Path;

use eframe::egui::{Align, Button, Label, Layout, MenuBar, RichText, Ui};

use crate::app::command::{Command, WindowCommand};
use crate::app::commands::{COMMANDS, Entry, GROUPS, Group, key_text};
use crate::app::layout::{PanelLayout, entries};
use crate::app::prefs::Preferences;
use crate::app::theme::ThemeChoice;

/// What the menu is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct MenuLook<'a> {
    /// Theme and recent files.
    pub preferences: &'a Preferences,
    /// The theme that is chosen.
    pub theme: ThemeChoice,
    /// Which panels are shown.
    pub layout: &'a PanelLayout,
    /// The session's file, if it has one.
    pub session: Option<&'a Path>,
    /// True if the session differs from its file.
    pub edited: bool,
    /// What the stream on screen is.
    pub title: &'a str,
}

/// Draws it.
pub fn ui(ui: &mut Ui, look: &MenuLook<'_>, commands: &mut Vec<Command>) {
    MenuBar::new().ui(ui, |ui| {
        for (group, title) in GROUPS {
            ui.menu_button(title, |ui| {
                ui.set_min_width(210.0);
                for entry in COMMANDS.iter().filter(|c| c.group == group) {
                    if entry.first_of_section {
                        ui.separator();
                    }
                    item(ui, look, entry, commands);
                    if entry.name == "open-path" {
                        recent(ui, look, commands);
                    }
                }
                if group == Group::View {
                    ui.separator();
                    panels(ui, look, commands);
                }
            });
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let name = look.session.and_then(Path::file_name).map_or_else(|| "unsaved session".into(), |n| n.to_string_lossy());
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

fn item(ui: &mut Ui, look: &MenuLook<'_>, entry: &Entry, commands: &mut Vec<Command>) {
    if let Command::Window(WindowCommand::Theme(theme)) = (entry.make)() {
        if ui.radio(theme == look.theme, entry.title).clicked() {
            commands.push((entry.make)());
            ui.close();
        }
        return;
    }
    let mut button = Button::new(entry.title);
    if let Some(key) = entry.key {
        button = button.shortcut_text(key_text(ui.ctx(), &key));
    }
    if ui.add(button).clicked() {
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

fn panels(ui: &mut Ui, look: &MenuLook<'_>, commands: &mut Vec<Command>) {
    for entry in entries() {
        let mut shown = look.layout.shows(entry.name);
        if ui.checkbox(&mut shown, entry.title).changed() {
            commands.push(Command::Window(WindowCommand::TogglePanel(entry.name)));
        }
    }
}
