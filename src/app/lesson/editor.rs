//! The editor of lessons: a window in which a teacher records what is on screen as steps, writes what is said, and picks what is asked for
//! from what is so at the moment.

use eframe::egui::{self, Button, ComboBox, Context, DragValue, Label, RichText, ScrollArea, TextEdit, Ui};

use super::editing::Condition;
use super::strip::PLACES;
use super::{Editing, LessonCommand};
use crate::app::command::Command;
use crate::app::commands::{command, keys_text};
use crate::app::focus;
use crate::app::layout::entries;
use crate::session::lesson::{Ask, Change, Check, Lesson};

/// What the editor asks of the window.
#[derive(Debug, Clone, PartialEq)]
pub enum EditCommand {
    /// Record the moment on screen as a step of its own, after the one shown.
    Record,
    /// What the step sets becomes what is on screen.
    Retake,
    /// Take the last edit of the lesson back.
    Undo,
    /// Make the edit again that was taken back last.
    Redo,
    /// The window goes to where the step begins.
    Visit,
    /// Play the lesson from the step shown.
    Try,
    /// Save the lesson where it came from, or ask where.
    Save,
    /// Ask where to save the lesson.
    SaveAs,
    /// Close the editor.
    Close,
}

/// What is on screen, for the editor to record.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Conditions that hold now, with words for each.
    pub holds: Vec<(String, Check)>,
}

/// Draws the editor's window.
pub fn window(ctx: &Context, editing: &mut Editing, moment: &Moment, commands: &mut Vec<Command>) {
    let mut open = true;
    // Once before anything is edited in this frame, and once after: a pause in which no frame was drawn is a pause too.
    let seconds = ctx.input(|i| i.time);
    editing.watch(seconds);
    // Under the menus: over the list of lanes, which can be looked at beside it once it is moved.
    let window = egui::Window::new("Lesson editor").open(&mut open).default_pos([8.0, 40.0]).default_size([460.0, 560.0]).min_width(360.0);
    let shown = window.show(ctx, |ui| {
        bar(ui, editing, commands);
        ui.separator();
        ScrollArea::vertical().show(ui, |ui| {
            about(ui, editing);
            ui.separator();
            steps(ui, editing, commands);
            ui.separator();
            step(ui, editing, moment, commands);
            focus::follow(ui);
        });
    });
    editing.watch(seconds);
    editing.layer = shown.map(|shown| shown.response.layer_id);
    if !open {
        commands.push(LessonCommand::Editor(EditCommand::Close).into());
    }
}

/// Takes the keys of undo and redo out of the input where they are the editor's: while what has the focus is in its window or, where
/// nothing has it, while the pointer is over the window. Else they are the session's.
pub fn keys(ctx: &Context, editing: &Editing, commands: &mut Vec<Command>) {
    let of = focus::layer(ctx).or_else(|| ctx.layer_id_at(ctx.pointer_hover_pos()?));
    if of.is_none() || of != editing.layer {
        return;
    }
    // Redo first: its key has a modifier more, and undo's would match it.
    for (name, what) in [("redo", EditCommand::Redo), ("undo", EditCommand::Undo)] {
        let Some(entry) = command(name) else { continue };
        for key in entry.key.iter().chain(&entry.also) {
            for _ in 0..ctx.input_mut(|i| i.count_and_consume_key(key.modifiers, key.logical_key)) {
                commands.push(LessonCommand::Editor(what.clone()).into());
            }
        }
    }
}

fn bar(ui: &mut Ui, editing: &Editing, commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        let mut button = |ui: &mut Ui, text: &str, hint: &str, what: EditCommand| {
            if ui.button(text).on_hover_text(hint).clicked() {
                commands.push(LessonCommand::Editor(what).into());
            }
        };
        button(ui, "Record this moment", "What is on screen becomes a step after the one shown", EditCommand::Record);
        button(ui, "Try it", "Play the lesson from the step shown", EditCommand::Try);
        button(ui, "Save", "Write the lesson into its file", EditCommand::Save);
        button(ui, "Save as…", "Write the lesson into another file", EditCommand::SaveAs);
        turn(ui, editing.undoes(), ["Undo", "undo", "Take the last edit of the lesson back"], EditCommand::Undo, commands);
        turn(ui, editing.redoes(), ["Redo", "redo", "Make the edit of the lesson again that was taken back"], EditCommand::Redo, commands);
        let name =
            editing.path.as_deref().and_then(std::path::Path::file_name).map_or_else(|| "no file yet".into(), |n| n.to_string_lossy());
        ui.weak(format!("{name}{}", if editing.edited() { " • edited" } else { "" }));
    });
}

/// A button that takes an edit back or makes it again: its word, the command whose keys it has, and a hint.
fn turn(ui: &mut Ui, able: bool, [word, name, hint]: [&str; 3], what: EditCommand, commands: &mut Vec<Command>) {
    let keys = command(name).map_or_else(String::new, |c| keys_text(ui.ctx(), c));
    let hint = format!("{hint} ({keys}, while the pointer or the focus is in this window)");
    let button = ui.add_enabled(able, Button::new(word)).accessible_name(format!("{word} in the lesson"));
    if button.on_hover_text(&hint).on_disabled_hover_text(format!("{hint}: there is none")).clicked() {
        commands.push(LessonCommand::Editor(what).into());
    }
}

fn field(ui: &mut Ui, name: &str, text: &mut String, rows: usize) {
    ui.label(RichText::new(name).small());
    let edit = if rows > 1 { TextEdit::multiline(text).desired_rows(rows) } else { TextEdit::singleline(text) };
    ui.add(edit.desired_width(f32::INFINITY)).accessible_name(name);
}

fn about(ui: &mut Ui, editing: &mut Editing) {
    field(ui, "Title of the lesson", &mut editing.lesson.title, 1);
    field(ui, "What one learns", &mut editing.lesson.about, 2);
    ui.horizontal(|ui| {
        ui.label(RichText::new("Minutes").small());
        ui.add(DragValue::new(&mut editing.lesson.minutes).range(1..=240)).accessible_name("Minutes");
    });
}

fn steps(ui: &mut Ui, editing: &mut Editing, commands: &mut Vec<Command>) {
    let mut go = None;
    for (i, step) in editing.lesson.steps.iter().enumerate() {
        let asks = if step.ask.is_some() { "  (asks)" } else { "" };
        if ui.selectable_label(i == editing.at, format!("{}  {}{asks}", i + 1, step.title)).clicked() {
            go = Some(i);
        }
    }
    if let Some(at) = go {
        editing.at = at;
        commands.push(LessonCommand::Editor(EditCommand::Visit).into());
    }
    let (at, last) = (editing.at, editing.lesson.steps.len() - 1);
    ui.horizontal(|ui| {
        if ui.add_enabled(at > 0, Button::new("Up")).on_hover_text("One place earlier").clicked() {
            editing.at_once(|lesson| lesson.steps.swap(at, at - 1));
            editing.at -= 1;
        }
        if ui.add_enabled(at < last, Button::new("Down")).on_hover_text("One place later").clicked() {
            editing.at_once(|lesson| lesson.steps.swap(at, at + 1));
            editing.at += 1;
        }
        if ui.add_enabled(last > 0, Button::new("Delete step")).clicked() {
            editing.at_once(|lesson| {
                lesson.steps.remove(at);
            });
            editing.at = at.min(last - 1);
            // Another step stands in its place now, with a condition of its own.
            editing.check = Condition::default();
        }
    });
}

fn step(ui: &mut Ui, editing: &mut Editing, moment: &Moment, commands: &mut Vec<Command>) {
    let at = editing.at.min(editing.lesson.steps.len() - 1);
    field(ui, "Title of the step", &mut editing.lesson.steps[at].title, 1);
    field(ui, "What is said", &mut editing.lesson.steps[at].text, 5);
    shows(ui, &mut editing.lesson.steps[at].show);
    ui.add(Label::new(RichText::new(format!("Sets: {}", set_words(&editing.lesson.steps[at].set))).small()).wrap());
    ui.horizontal(|ui| {
        if ui.button("Take from the window").on_hover_text("The step begins with what is on screen now").clicked() {
            commands.push(LessonCommand::Editor(EditCommand::Retake).into());
        }
        if ui.button("Set nothing").clicked() {
            editing.at_once(|lesson| lesson.steps[at].set = Change::default());
        }
    });
    let mut asks = editing.lesson.steps[at].ask.is_some();
    if ui.checkbox(&mut asks, "Ask for something").changed() {
        let ask = || Ask { what: String::new(), hint: String::new(), then: String::new(), check: Check::Playhead { from: 0, to: 0 } };
        editing.at_once(|lesson| lesson.steps[at].ask = asks.then(ask));
        editing.check = Condition::default();
    }
    if asks {
        condition(ui, editing, at, moment);
    }
}

/// The panels and places that the step marks.
fn shows(ui: &mut Ui, show: &mut Vec<String>) {
    ui.horizontal(|ui| {
        ui.menu_button("Show and mark", |ui| {
            let places = PLACES.into_iter().map(|p| (p, p));
            for (name, title) in entries().map(|e| (e.name, e.title)).chain(std::iter::once(("recall", "Recall"))).chain(places) {
                let mut on = show.iter().any(|s| s == name);
                if ui.checkbox(&mut on, title).changed() {
                    if on {
                        show.push(name.to_owned());
                    } else {
                        show.retain(|s| s != name);
                    }
                }
            }
        });
        ui.weak(if show.is_empty() { "nothing".to_owned() } else { show.join(", ") });
    });
}

fn set_words(set: &Change) -> String {
    let mut words = Vec::new();
    words.extend(set.position.map(|p| format!("playhead at {p}")));
    words.extend(set.token.map(|t| format!("token {t}")));
    words.extend(set.read.map(|r| format!("read {r}")));
    words.extend(set.kv_head.map(|h| format!("key/value head {h}")));
    words.extend(set.query_head.map(|h| format!("query head {h}")));
    words.extend((!set.choices.is_empty()).then(|| "what the panels show".to_owned()));
    words.extend((set.layout.is_some() || set.panels.is_some()).then(|| "the panels' arrangement".to_owned()));
    words.extend(set.lanes.as_ref().map(|l| format!("lanes on: {}", l.join(", "))));
    words.extend(set.params.iter().map(|(name, value)| format!("{name} = {value}")));
    if words.is_empty() { "nothing".to_owned() } else { words.join("; ") }
}

/// What is asked for, and the condition: picked from what holds now, or written.
fn condition(ui: &mut Ui, editing: &mut Editing, at: usize, moment: &Moment) {
    let Editing { lesson, check, .. } = editing;
    let Lesson { session, steps, .. } = lesson;
    let Some(ask) = &mut steps[at].ask else { return };
    field(ui, "What is asked", &mut ask.what, 2);
    field(ui, "Hint", &mut ask.hint, 1);
    field(ui, "Said when it is done", &mut ask.then, 2);
    if check.of != Some(at) {
        *check = Condition { of: Some(at), text: text_of(&ask.check), wrong: None };
    }
    let mut picked = None;
    let combo = ComboBox::from_id_salt("condition").selected_text("Done when…").width(ui.available_width() - 8.0);
    let response = combo.show_ui(ui, |ui| {
        for (words, condition) in &moment.holds {
            if ui.selectable_label(false, words).clicked() {
                picked = Some(condition.clone());
            }
        }
        let options = ["First answer".to_owned(), "Second answer".to_owned()].to_vec();
        for (words, condition) in [
            ("A question with answers to choose from", Check::Choose { options, right: 0 }),
            ("A number is answered", Check::Number { is: 0.0, within: 0.0 }),
        ] {
            if ui.selectable_label(false, words).clicked() {
                picked = Some(condition);
            }
        }
    });
    response.response.accessible_name("Done when");
    if let Some(condition) = picked {
        *check = Condition { of: Some(at), text: text_of(&condition), wrong: None };
        ask.check = condition;
    }
    let written = ui
        .add(TextEdit::multiline(&mut check.text).code_editor().desired_rows(2).desired_width(f32::INFINITY))
        .accessible_name("Condition");
    if written.changed() {
        let read =
            ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME).from_str::<Check>(&check.text);
        check.wrong = match read.map_err(|e| e.to_string()).and_then(|c| c.sound(session).map(|()| c)) {
            Ok(condition) => {
                ask.check = condition;
                None
            }
            Err(wrong) => Some(wrong),
        };
    }
    if let Some(wrong) = &check.wrong {
        ui.add(
            Label::new(RichText::new(format!("Not understood, so the one before stays: {wrong}")).color(ui.visuals().error_fg_color))
                .wrap(),
        );
    }
}

fn text_of(check: &Check) -> String {
    let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    let style =
        ron::ser::PrettyConfig::new().compact_structs(true).compact_arrays(true).extensions(ron::extensions::Extensions::IMPLICIT_SOME);
    options.to_string_pretty(check, style).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_can_be_written_and_read() {
        let event = Check::Event {
            lane: "LoLA".to_owned(),
            kind: "admission".to_owned(),
            role: Some("needle".to_owned()),
            token: None,
            first: true,
        };
        let number = Check::Number { is: 4160.0, within: 0.5 };
        for check in [event, number, Check::Pinned, Check::All(vec![Check::Selected("centroid".to_owned()), Check::Branches(1)])] {
            let text = text_of(&check);
            let read = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME).from_str::<Check>(&text);
            assert_eq!(read, Ok(check), "{text}");
        }
    }
}
