//! Questions of the window: where a capture is, what becomes of the session of a window that crashed, what a bookmark is called.

use std::path::Path;

use eframe::egui::{Button, Key, Label, RichText, Ui};

use super::{Answer, CaptureChoice, LostCapture, RecoverChoice, field, heading};
use crate::panel::common::plural;

/// Words that wrap.
fn words(ui: &mut Ui, text: impl Into<RichText>) {
    ui.add(Label::new(text.into()).wrap());
}

/// The capture of a session is not there, or is another file.
pub(super) fn capture(ui: &mut Ui, lost: &LostCapture) -> Option<Answer> {
    let name = lost.path.file_name().unwrap_or(lost.path.as_os_str()).to_string_lossy();
    if lost.found.is_some() {
        heading(ui, &format!("Not the capture that {name} was made with"));
        ui.colored_label(ui.visuals().warn_fg_color, "What the session says of tokens, steps and layers may not be true of this file.");
        ui.add_space(4.0);
    } else {
        heading(ui, &format!("The capture of {name} is not there"));
    }
    words(ui, &lost.message);
    ui.add_space(4.0);
    let rest = if lost.found.is_some() {
        "Find the right file, or go on with this one: it is then the session's capture when the session is saved."
    } else {
        "Find the file, or open the session without it: nothing runs then until another source is chosen."
    };
    words(ui, RichText::new(rest).weak());
    ui.add_space(10.0);
    let mut choice = None;
    ui.horizontal(|ui| {
        let take = lost.found.as_ref().map(|_| ("Go on with this file", CaptureChoice::Take));
        let rest = [("Open without it", CaptureChoice::Without), ("Cancel", CaptureChoice::Leave)];
        for (word, what) in std::iter::once(("Find it…", CaptureChoice::Find)).chain(take).chain(rest) {
            if ui.button(word).clicked() {
                choice = Some(what);
            }
        }
    });
    choice.map(|choice| Answer::Capture { lost: lost.clone(), choice })
}

/// A window crashed with edits that were not saved.
pub(super) fn recover(ui: &mut Ui, file: &Path, when: &str, what: &str) -> Option<Answer> {
    heading(ui, "Edits of a window that did not close");
    words(ui, format!("Mnemoscope ended without saving them. They were kept {when}:"));
    ui.add_space(4.0);
    words(ui, RichText::new(what).strong());
    ui.add_space(10.0);
    let mut choice = None;
    ui.horizontal(|ui| {
        for (word, hint, what) in [
            ("Recover", "Go on with them in this window; they are not saved yet", RecoverChoice::Recover),
            ("Discard", "Throw them away", RecoverChoice::Discard),
            ("Later", "Ask again when a window opens the next time", RecoverChoice::Later),
        ] {
            if ui.button(word).on_hover_text(hint).clicked() {
                choice = Some(what);
            }
        }
    });
    choice.map(|choice| Answer::Recover { file: file.to_owned(), choice })
}

/// The caption of a bookmark.
pub(super) fn bookmark(ui: &mut Ui, position: usize, text: &mut String, known: bool, close: &mut bool) -> Option<Answer> {
    heading(ui, &format!("Bookmark after {}", plural(position, "write", "writes")));
    let fresh = ui.make_persistent_id("bookmark field");
    let entered = field(ui, fresh, text, "what there is to see here", "Caption");
    ui.add_space(8.0);
    let mut caption = None;
    ui.horizontal(|ui| {
        if ui.button(if known { "Change" } else { "Bookmark" }).clicked() || entered {
            caption = Some(Some(text.trim().to_owned()));
        }
        if known && ui.add(Button::new("Delete bookmark")).clicked() {
            caption = Some(None);
        }
        *close |= ui.button("Cancel").clicked();
    });
    *close |= caption.is_some() || ui.input(|i| i.key_pressed(Key::Escape));
    if *close {
        ui.data_mut(|d| d.remove::<bool>(fresh));
    }
    caption.map(|caption| Answer::Bookmark { position, caption })
}
