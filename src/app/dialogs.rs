//! Windows over the window: errors, a field for a path, the sheet of keys.

use std::path::PathBuf;

use eframe::egui::{self, Grid, Id, Key, Label, Modal, RichText, ScrollArea, TextEdit, Ui};

use crate::app::commands::{COMMANDS, GROUPS, Group, keys_text};
use crate::app::export_dialog::{ExportForm, Pressed};
use crate::app::jobs::Purpose;
use crate::export::Request;
use crate::session::Session;

mod questions;

/// What waits for the answer on edits that are not saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Closing the window.
    Close,
    /// Opening another file.
    Open(PathBuf),
    /// Starting a lesson of this name.
    Lesson(&'static str),
}

/// What waits for the answer on edits of the lesson in the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// Closing the editor.
    Nothing,
    /// Making another lesson.
    New,
    /// Editing the lesson that is played.
    Edit,
    /// Closing the window.
    Close,
}

/// A session whose capture is missing or is another file, and what there is to say about it.
#[derive(Debug, Clone, PartialEq)]
pub struct LostCapture {
    /// The session's file.
    pub path: PathBuf,
    /// The session as it would be opened.
    pub session: Box<Session>,
    /// The session as its file has it.
    pub kept: Box<Session>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The hash of the other file that is there in its place, if one is.
    pub found: Option<String>,
}

/// What to do about a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureChoice {
    /// Ask where it is.
    Find,
    /// Go on with the other file.
    Take,
    /// Open the session without it.
    Without,
    /// Do not open the session.
    Leave,
}

/// What to do about the session of a window that crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoverChoice {
    /// Go on with it.
    Recover,
    /// Throw it away.
    Discard,
    /// Ask again the next time.
    Later,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Answer {
    /// A path was given.
    Path { purpose: Purpose, path: PathBuf },
    /// The path that was asked for is not given.
    NoPath(Purpose),
    /// The lesson in the editor is given up, with what was not saved of it, and something else comes.
    LoseLesson(Instead),
    /// Go on, with the edits saved first or lost.
    Leave { save: bool, next: Next },
    /// What to do about a session's capture.
    Capture { lost: LostCapture, choice: CaptureChoice },
    /// What to do about the session of a window that crashed, kept in this file.
    Recover { file: PathBuf, choice: RecoverChoice },
    /// A caption for the bookmark at so many writes; `None`: the bookmark goes.
    Bookmark { position: usize, caption: Option<String> },
    /// The system is to be asked for the folder of an export; the dialog stays.
    ChooseFolder,
    /// A trace is to be exported as the form says, into this folder.
    Export { form: Box<ExportForm>, request: Request, folder: PathBuf },
}

/// One dialog.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Dialog {
    /// Something could not be done.
    Error { title: String, message: String },
    /// A path is asked for.
    Path { purpose: Purpose, text: String, note: Option<String> },
    /// What of a run is exported, how, and where.
    Export(Box<ExportForm>),
    /// The session `name` (or "This session") has edits that are not saved.
    Unsaved { name: String, next: Next },
    /// A session's capture is missing, or is another file.
    Capture(LostCapture),
    /// The session of a window that crashed, kept in this file: when and what.
    Recover { file: PathBuf, when: String, what: String },
    /// The caption of a bookmark at so many writes; `known`: it is there already.
    Bookmark { position: usize, text: String, known: bool },
    /// The lesson in the editor has edits that are not saved, and the editor is to be closed, or to be used for something else.
    UnsavedLesson(Instead),
    /// The keys.
    Keys,
}

/// The dialogs that are open; the last is on top.
#[derive(Debug, Default)]
pub struct Dialogs {
    open: Vec<Dialog>,
}

impl Dialogs {
    /// Opens one.
    pub fn push(&mut self, dialog: Dialog) {
        self.open.push(dialog);
    }

    /// Opens an error.
    pub fn error(&mut self, title: impl Into<String>, message: impl Into<String>) {
        self.push(Dialog::Error { title: title.into(), message: message.into() });
    }

    /// Opens the sheet of keys, or closes it.
    pub fn toggle_keys(&mut self) {
        if self.open.contains(&Dialog::Keys) {
            self.open.retain(|d| *d != Dialog::Keys);
        } else {
            self.push(Dialog::Keys);
        }
    }

    /// True if one is open: keys belong to it then.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Puts a folder that was chosen into the form of an export; false if none is open.
    pub fn choose_folder(&mut self, folder: &std::path::Path) -> bool {
        let form = self.open.iter_mut().rev().find_map(|d| if let Dialog::Export(form) = d { Some(form) } else { None });
        form.map(|form| form.folder = folder.display().to_string()).is_some()
    }

    /// True if one asks about closing the window.
    #[must_use]
    pub fn asks_to_close(&self) -> bool {
        self.open.iter().any(|d| matches!(d, Dialog::Unsaved { next: Next::Close, .. } | Dialog::UnsavedLesson(Instead::Close)))
    }

    /// Draws the one on top; what was answered, if something was.
    pub fn ui(&mut self, ctx: &egui::Context) -> Option<Answer> {
        let top = self.open.last_mut()?;
        let mut close = false;
        let mut out = None;
        let most = if matches!(top, Dialog::Keys) { 760.0 } else { 520.0 };
        let width = (ctx.content_rect().width() - 80.0).min(most);
        let modal = Modal::new(Id::unique("dialog")).show(ctx, |ui| {
            ui.set_width(width);
            match top {
                Dialog::Error { title, message } => error(ui, title, message, &mut close),
                Dialog::Path { purpose, text, note } => out = path(ui, *purpose, text, note.as_deref(), &mut close),
                Dialog::Export(form) => out = export(ui, form, &mut close),
                Dialog::Unsaved { name, next } => out = unsaved(ui, name, next, &mut close),
                Dialog::Capture(lost) => out = questions::capture(ui, lost),
                Dialog::Recover { file, when, what } => out = questions::recover(ui, file, when, what),
                Dialog::Bookmark { position, text, known } => out = questions::bookmark(ui, *position, text, *known, &mut close),
                Dialog::UnsavedLesson(instead) => out = unsaved_lesson(ui, *instead, &mut close),
                Dialog::Keys => keys(ui, &mut close),
            }
        });
        // These close with their answer.
        close |= matches!(out, Some(Answer::Capture { .. } | Answer::Recover { .. }));
        if close || modal.should_close() {
            // A dialog that is closed without an answer has one all the same.
            let unanswered = match self.open.pop() {
                Some(Dialog::Path { purpose, .. }) => Some(Answer::NoPath(purpose)),
                Some(Dialog::Capture(lost)) => Some(Answer::Capture { lost, choice: CaptureChoice::Leave }),
                Some(Dialog::Recover { file, .. }) => Some(Answer::Recover { file, choice: RecoverChoice::Later }),
                _ => None,
            };
            out = out.or(unanswered);
            ctx.request_repaint();
        }
        out
    }
}

pub(super) fn heading(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).heading().strong());
    ui.add_space(6.0);
}

/// The one field of a dialog; true if Enter ends it. It takes the focus when it is first drawn: `fresh` keeps that it was, and is to be
/// removed when the dialog closes.
fn field(ui: &mut Ui, fresh: Id, text: &mut String, hint: &'static str, name: &'static str) -> bool {
    let field = ui.add(TextEdit::singleline(text).desired_width(f32::INFINITY).hint_text(hint)).accessible_name(name);
    if !ui.data(|d| d.get_temp::<bool>(fresh).unwrap_or(false)) {
        ui.data_mut(|d| d.insert_temp(fresh, true));
        field.request_focus();
    }
    field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter))
}

fn error(ui: &mut Ui, title: &str, message: &str, close: &mut bool) {
    heading(ui, title);
    ui.add(Label::new(message).wrap());
    ui.add_space(10.0);
    let button = ui.button("Close");
    // Enter closes it, without a way for the eye: the only thing there is to press.
    if button.clicked() || ui.input(|i| i.key_pressed(Key::Enter)) {
        *close = true;
    }
}

fn path(ui: &mut Ui, purpose: Purpose, text: &mut String, note: Option<&str>, close: &mut bool) -> Option<Answer> {
    heading(ui, purpose.title());
    if let Some(note) = note {
        ui.add(Label::new(RichText::new(note).weak()).wrap());
        ui.add_space(4.0);
    }
    let fresh = ui.make_persistent_id(("path field", purpose.title()));
    let entered = field(ui, fresh, text, "path", "Path");
    if let Some(advice) = purpose.advice() {
        ui.add(Label::new(RichText::new(advice).weak().small()).wrap());
    }
    ui.add_space(8.0);
    let mut out = None;
    ui.horizontal(|ui| {
        let word = match purpose {
            Purpose::Open | Purpose::Capture | Purpose::OpenLesson => "Open file",
            Purpose::SavedTrace | Purpose::SaveSession | Purpose::SaveLesson => "Save",
            Purpose::Picture
            | Purpose::Vector
            | Purpose::Animation
            | Purpose::Frames
            | Purpose::Trace
            | Purpose::Sweep
            | Purpose::Events => "Export",
        };
        let given = !text.trim().is_empty();
        if (ui.add_enabled(given, egui::Button::new(word)).clicked() || entered) && given {
            out = Some(Answer::Path { purpose, path: PathBuf::from(text.trim()) });
            *close = true;
        }
        if ui.button("Cancel").clicked() {
            *close = true;
        }
    });
    if *close {
        ui.data_mut(|d| d.remove::<bool>(fresh));
    }
    out
}

fn export(ui: &mut Ui, form: &mut ExportForm, close: &mut bool) -> Option<Answer> {
    match form.ui(ui)? {
        Pressed::Choose => Some(Answer::ChooseFolder),
        Pressed::Cancel => {
            *close = true;
            None
        }
        Pressed::Export(request, folder) => {
            *close = true;
            Some(Answer::Export { form: Box::new(form.clone()), request, folder })
        }
    }
}

fn unsaved(ui: &mut Ui, name: &str, next: &Next, close: &mut bool) -> Option<Answer> {
    heading(ui, &format!("{name} has edits that are not saved"));
    let words = match next {
        Next::Close => "Closing the window loses them.".to_owned(),
        Next::Open(path) => format!("Opening {} loses them.", path.display()),
        Next::Lesson(_) => "Starting the lesson loses them: it has a session of its own.".to_owned(),
    };
    ui.add(Label::new(words).wrap());
    ui.add_space(10.0);
    let mut out = None;
    ui.horizontal(|ui| {
        for (word, save) in [("Save", true), ("Discard", false)] {
            if ui.button(word).clicked() {
                out = Some(Answer::Leave { save, next: next.clone() });
                *close = true;
            }
        }
        *close |= ui.button("Cancel").clicked();
    });
    out
}

fn unsaved_lesson(ui: &mut Ui, instead: Instead, close: &mut bool) -> Option<Answer> {
    heading(ui, "The lesson has edits that are not saved");
    let words = match instead {
        Instead::Nothing => "Closing the editor loses them.",
        Instead::New => "Making another lesson loses them.",
        Instead::Edit => "Editing the lesson that is played loses them.",
        Instead::Close => "Closing the window loses them.",
    };
    ui.add(Label::new(words).wrap());
    ui.add_space(10.0);
    let mut out = None;
    ui.horizontal(|ui| {
        if ui.button("Keep editing").clicked() {
            *close = true;
        }
        if ui.button("Lose them").clicked() {
            out = Some(Answer::LoseLesson(instead));
            *close = true;
        }
    });
    out
}

/// The sheet of keys, in two columns of groups.
fn keys(ui: &mut Ui, close: &mut bool) {
    heading(ui, "Keys");
    let high = (ui.ctx().content_rect().height() - 170.0).max(80.0);
    ScrollArea::vertical().max_height(high).show(ui, |ui| {
        let split = [[Group::File, Group::Edit, Group::Run, Group::Lessons].as_slice(), &[Group::View, Group::Help]];
        ui.columns(2, |columns| {
            for (ui, groups) in columns.iter_mut().zip(split) {
                GROUPS.iter().filter(|(group, _)| groups.contains(group)).for_each(|(group, title)| keys_of(ui, *group, title));
            }
        });
    });
    let rest = "Tab goes from control to control; the arrows move a slider that has the focus. A click selects a token, with Shift all up to it, with Ctrl one more or one less. What has no key is found with Ctrl+P.";
    ui.add(Label::new(RichText::new(rest).weak()).wrap());
    ui.add_space(6.0);
    if ui.button("Close").clicked() {
        *close = true;
    }
}

fn keys_of(ui: &mut Ui, group: Group, title: &str) {
    ui.label(RichText::new(title.to_uppercase()).small().strong());
    Grid::new(title).num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        for entry in COMMANDS.iter().filter(|c| c.group == group && c.key.is_some()) {
            ui.label(entry.title.trim_end_matches('…'));
            ui.weak(keys_text(ui.ctx(), entry));
            ui.end_row();
        }
    });
    ui.add_space(4.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sheet_of_keys_has_every_group() {
        let shown = [Group::File, Group::Edit, Group::Run, Group::View, Group::Lessons, Group::Help];
        assert!(GROUPS.iter().all(|(group, _)| shown.contains(group)) && GROUPS.len() == shown.len());
    }
}
