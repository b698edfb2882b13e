//! The one table of commands that have a name: menus, keys and the sheet of keys are made from it.

use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers, Popup};

use crate::app::command::{Command, PanelAct, PictureAct, SessionCommand, TimeCommand, ViewCommand, WindowCommand};
use crate::app::lesson::LessonCommand;
use crate::app::sides::Side;
use crate::app::theme::ThemeChoice;

/// The menu a command is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Sessions, captures, exports.
    File,
    /// Taking back and making again.
    Edit,
    /// The timeline and the run.
    Run,
    /// What is looked at, and how.
    View,
    /// Lessons.
    Lessons,
    /// Help.
    Help,
}

/// The menus, in their order, with their titles.
pub const GROUPS: [(Group, &str); 6] = [
    (Group::File, "File"),
    (Group::Edit, "Edit"),
    (Group::Run, "Run"),
    (Group::View, "View"),
    (Group::Lessons, "Lessons"),
    (Group::Help, "Help"),
];

/// One command: see the module's page.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// A name for tests and palettes (`play`).
    pub name: &'static str,
    /// The words in the menu.
    pub title: &'static str,
    /// The menu.
    pub group: Group,
    /// The key, if it has one.
    pub key: Option<KeyboardShortcut>,
    /// Another key, where people are used to two.
    pub also: Option<KeyboardShortcut>,
    /// True where a line is drawn above it in the menu.
    pub first_of_section: bool,
    /// Makes the command.
    pub make: fn() -> Command,
}

const CTRL_SHIFT: Modifiers = Modifiers::COMMAND.plus(Modifiers::SHIFT);

/// A key with its modifiers.
const fn with(modifiers: Modifiers, key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(modifiers, key)
}

const fn entry(name: &'static str, title: &'static str, group: Group, key: Option<KeyboardShortcut>, make: fn() -> Command) -> Entry {
    Entry { name, title, group, key, also: None, first_of_section: false, make }
}

/// The same, as the first of a section of its menu.
const fn section(entry: Entry) -> Entry {
    Entry { first_of_section: true, ..entry }
}

/// The same, with another key.
const fn also(key: KeyboardShortcut, entry: Entry) -> Entry {
    Entry { also: Some(key), ..entry }
}

use Command::{Lesson, Session, Time, View, Window};

fn panel(act: PanelAct) -> Command {
    Window(WindowCommand::Panel { name: None, act })
}

fn picture(act: PictureAct) -> Command {
    Window(WindowCommand::Picture(act))
}

/// Every command with a name. Adding one is one line here, and its own variant where it is carried out.
pub static COMMANDS: &[Entry] = &[
    entry("start-page", "Start page", Group::File, Some(with(Modifiers::COMMAND, Key::G)), || Window(WindowCommand::ToggleStartPage)),
    entry("open", "Open…", Group::File, Some(with(Modifiers::COMMAND, Key::O)), || Window(WindowCommand::Open)),
    entry("open-path", "Open path…", Group::File, Some(with(CTRL_SHIFT, Key::O)), || Window(WindowCommand::OpenPath)),
    section(entry("save", "Save session", Group::File, Some(with(Modifiers::COMMAND, Key::S)), || Window(WindowCommand::Save))),
    entry("save-as", "Save session as…", Group::File, Some(with(CTRL_SHIFT, Key::S)), || Window(WindowCommand::SaveAs)),
    entry("save-as-path", "Save session to path…", Group::File, None, || Window(WindowCommand::SaveAsPath)),
    entry("save-with-trace", "Save with trace…", Group::File, None, || Window(WindowCommand::SaveWithTrace)),
    entry("save-with-trace-path", "Save with trace to path…", Group::File, None, || Window(WindowCommand::SaveWithTracePath)),
    section(entry("export-picture", "Export window as PNG or SVG…", Group::File, Some(with(Modifiers::COMMAND, Key::E)), || {
        picture(PictureAct::ExportWindow)
    })),
    entry("export-panel", "Export panel as PNG or SVG…", Group::File, None, || picture(PictureAct::ExportPanel(None))),
    entry("export-animation", "Export animation…", Group::File, None, || picture(PictureAct::Animate(None))),
    entry("copy-window", "Copy picture of the window", Group::File, None, || picture(PictureAct::CopyWindow)),
    entry("copy-panel", "Copy picture of the panel", Group::File, None, || picture(PictureAct::CopyPanel(None))),
    entry("export-trace", "Export trace…", Group::File, Some(with(CTRL_SHIFT, Key::E)), || Window(WindowCommand::ExportTrace)),
    section(entry("quit", "Quit", Group::File, Some(with(Modifiers::COMMAND, Key::Q)), || Window(WindowCommand::Quit))),
    entry("undo", "Undo", Group::Edit, Some(with(Modifiers::COMMAND, Key::Z)), || Window(WindowCommand::Undo)),
    also(
        with(Modifiers::COMMAND, Key::Y),
        entry("redo", "Redo", Group::Edit, Some(with(CTRL_SHIFT, Key::Z)), || Window(WindowCommand::Redo)),
    ),
    section(entry("write-notes", "Write notes…", Group::Edit, None, || Window(WindowCommand::WriteNotes))),
    entry("play", "Play or pause", Group::Run, Some(with(Modifiers::NONE, Key::Space)), || Time(TimeCommand::TogglePlay)),
    entry("forward", "Step forward", Group::Run, Some(with(Modifiers::NONE, Key::ArrowRight)), || Time(TimeCommand::Step(1))),
    entry("back", "Step back", Group::Run, Some(with(Modifiers::NONE, Key::ArrowLeft)), || Time(TimeCommand::Step(-1))),
    entry("forward-10", "Ten steps forward", Group::Run, Some(with(Modifiers::SHIFT, Key::ArrowRight)), || Time(TimeCommand::Step(10))),
    entry("back-10", "Ten steps back", Group::Run, Some(with(Modifiers::SHIFT, Key::ArrowLeft)), || Time(TimeCommand::Step(-10))),
    entry("home", "Go to the start", Group::Run, Some(with(Modifiers::NONE, Key::Home)), || Time(TimeCommand::Home)),
    entry("end", "Go to the end", Group::Run, Some(with(Modifiers::NONE, Key::End)), || Time(TimeCommand::End)),
    section(entry("faster", "Twice as fast", Group::Run, Some(with(Modifiers::NONE, Key::CloseBracket)), || Time(TimeCommand::Faster))),
    entry("slower", "Half as fast", Group::Run, Some(with(Modifiers::NONE, Key::OpenBracket)), || Time(TimeCommand::Slower)),
    entry("repeat", "Repeat at the end", Group::Run, Some(with(Modifiers::NONE, Key::L)), || Time(TimeCommand::ToggleRepeat)),
    section(entry("reset", "Run again, same seed", Group::Run, Some(with(Modifiers::COMMAND, Key::R)), || Session(SessionCommand::Reset))),
    entry("new-seed", "New seed", Group::Run, Some(with(CTRL_SHIFT, Key::R)), || Session(SessionCommand::NewSeed)),
    entry("search", "Search the tokens…", Group::View, Some(with(Modifiers::COMMAND, Key::F)), || Window(WindowCommand::Search)),
    entry("next-event", "Next event", Group::View, Some(with(Modifiers::NONE, Key::N)), || View(ViewCommand::FindEvent { forwards: true })),
    entry("previous-event", "Previous event", Group::View, Some(with(Modifiers::SHIFT, Key::N)), || {
        View(ViewCommand::FindEvent { forwards: false })
    }),
    section(entry("bookmark", "Bookmark this moment…", Group::View, Some(with(Modifiers::COMMAND, Key::B)), || {
        Window(WindowCommand::BookmarkHere)
    })),
    entry("next-bookmark", "Next bookmark", Group::View, Some(with(Modifiers::NONE, Key::B)), || {
        View(ViewCommand::FindBookmark { forwards: true })
    }),
    entry("previous-bookmark", "Previous bookmark", Group::View, Some(with(Modifiers::SHIFT, Key::B)), || {
        View(ViewCommand::FindBookmark { forwards: false })
    }),
    entry("pin", "Pin this moment, or let it go", Group::View, Some(with(Modifiers::NONE, Key::P)), || View(ViewCommand::PinHere)),
    entry("look-back", "Look back", Group::View, Some(with(Modifiers::ALT, Key::ArrowLeft)), || View(ViewCommand::Back)),
    entry("look-forward", "Look forward", Group::View, Some(with(Modifiers::ALT, Key::ArrowRight)), || View(ViewCommand::Forward)),
    entry("deselect", "Clear the selection", Group::View, Some(with(Modifiers::NONE, Key::Escape)), || View(ViewCommand::Select(None))),
    section(entry("theme-light", "Light theme", Group::View, None, || Window(WindowCommand::Theme(ThemeChoice::Light)))),
    entry("theme-dark", "Dark theme", Group::View, None, || Window(WindowCommand::Theme(ThemeChoice::Dark))),
    entry("theme-system", "Theme of the desktop", Group::View, None, || Window(WindowCommand::Theme(ThemeChoice::System))),
    section(entry("larger", "Larger text", Group::View, Some(with(Modifiers::COMMAND, Key::Plus)), || Window(WindowCommand::Larger))),
    entry("smaller", "Smaller text", Group::View, Some(with(Modifiers::COMMAND, Key::Minus)), || Window(WindowCommand::Smaller)),
    entry("normal-size", "Normal text size", Group::View, Some(with(Modifiers::COMMAND, Key::Num0)), || Window(WindowCommand::NormalSize)),
    section(entry("maximise", "Maximise or restore the panel", Group::View, Some(with(Modifiers::COMMAND, Key::M)), || {
        panel(PanelAct::Maximise)
    })),
    entry("close-panel", "Close the panel", Group::View, Some(with(Modifiers::COMMAND, Key::W)), || panel(PanelAct::Close)),
    entry("split-right", "Split the panel off to the right", Group::View, None, || panel(PanelAct::SplitRight)),
    entry("split-down", "Split the panel off downwards", Group::View, None, || panel(PanelAct::SplitDown)),
    entry("wider", "Make the panel wider", Group::View, Some(with(CTRL_SHIFT, Key::ArrowRight)), || panel(PanelAct::Wider)),
    entry("narrower", "Make the panel narrower", Group::View, Some(with(CTRL_SHIFT, Key::ArrowLeft)), || panel(PanelAct::Narrower)),
    entry("taller", "Make the panel taller", Group::View, Some(with(CTRL_SHIFT, Key::ArrowDown)), || panel(PanelAct::Taller)),
    entry("lower", "Make the panel shorter", Group::View, Some(with(CTRL_SHIFT, Key::ArrowUp)), || panel(PanelAct::Lower)),
    entry("detach", "Own window for the panel, or back", Group::View, Some(with(Modifiers::COMMAND, Key::D)), || panel(PanelAct::Detach)),
    entry("panels-below", "Panels below, in a low window", Group::View, Some(with(Modifiers::COMMAND, Key::PageDown)), || {
        Window(WindowCommand::Rows { down: true })
    }),
    entry("panels-above", "Panels above, in a low window", Group::View, Some(with(Modifiers::COMMAND, Key::PageUp)), || {
        Window(WindowCommand::Rows { down: false })
    }),
    section(entry("session-panel", "Show or fold the session panel", Group::View, Some(with(Modifiers::NONE, Key::F6)), || {
        Window(WindowCommand::ToggleSide(Side::Session))
    })),
    entry("inspector", "Show or fold the inspector", Group::View, Some(with(Modifiers::NONE, Key::F7)), || {
        Window(WindowCommand::ToggleSide(Side::Inspector))
    }),
    section(entry("reset-layout", "Layout: Default", Group::View, None, || Window(WindowCommand::ResetLayout))),
    entry("layout-teach", "Layout: Teach", Group::View, None, || Window(WindowCommand::Arrange("teach"))),
    entry("layout-debug-ovq", "Layout: Debug OVQ", Group::View, None, || Window(WindowCommand::Arrange("debug-ovq"))),
    entry("layout-debug-lola", "Layout: Debug LoLA", Group::View, None, || Window(WindowCommand::Arrange("debug-lola"))),
    entry("layout-compare", "Layout: Compare", Group::View, None, || Window(WindowCommand::Arrange("compare"))),
    section(entry("present", "Present: large text, few controls", Group::View, Some(with(Modifiers::NONE, Key::F5)), || {
        Window(WindowCommand::Present)
    })),
    entry("lesson-forgetting", "How linear attention forgets", Group::Lessons, None, || Lesson(LessonCommand::Start("forgetting"))),
    entry("lesson-ovq", "OVQ: from k-means to regression", Group::Lessons, None, || Lesson(LessonCommand::Start("ovq"))),
    entry("lesson-lola", "LoLA and self-recall error", Group::Lessons, None, || Lesson(LessonCommand::Start("lola"))),
    entry("lesson-real-model", "Reading a real model's head", Group::Lessons, None, || Lesson(LessonCommand::Start("real_model"))),
    entry("lesson-comparing", "Comparing memories fairly", Group::Lessons, None, || Lesson(LessonCommand::Start("comparing"))),
    section(entry("lesson-open", "Open lesson…", Group::Lessons, None, || Lesson(LessonCommand::Open))),
    section(entry("lesson-next", "Next step of the lesson", Group::Lessons, Some(with(Modifiers::NONE, Key::PageDown)), || {
        Lesson(LessonCommand::Next)
    })),
    entry("lesson-back", "Step of the lesson before", Group::Lessons, Some(with(Modifiers::NONE, Key::PageUp)), || {
        Lesson(LessonCommand::Back)
    }),
    entry("lesson-skip", "Skip the step of the lesson", Group::Lessons, Some(with(Modifiers::SHIFT, Key::PageDown)), || {
        Lesson(LessonCommand::Skip)
    }),
    entry("lesson-hint", "Hint", Group::Lessons, Some(with(Modifiers::NONE, Key::H)), || Lesson(LessonCommand::Hint)),
    entry("lesson-1", "First answer", Group::Lessons, Some(with(Modifiers::NONE, Key::Num1)), || Lesson(LessonCommand::Choose(0))),
    entry("lesson-2", "Second answer", Group::Lessons, Some(with(Modifiers::NONE, Key::Num2)), || Lesson(LessonCommand::Choose(1))),
    entry("lesson-3", "Third answer", Group::Lessons, Some(with(Modifiers::NONE, Key::Num3)), || Lesson(LessonCommand::Choose(2))),
    entry("lesson-4", "Fourth answer", Group::Lessons, Some(with(Modifiers::NONE, Key::Num4)), || Lesson(LessonCommand::Choose(3))),
    entry("lesson-again", "Lesson from the start", Group::Lessons, None, || Lesson(LessonCommand::Again)),
    entry("lesson-leave", "Leave the lesson", Group::Lessons, None, || Lesson(LessonCommand::Leave)),
    section(entry("lesson-new", "Make a lesson…", Group::Lessons, None, || Lesson(LessonCommand::New))),
    entry("lesson-edit", "Edit this lesson…", Group::Lessons, None, || Lesson(LessonCommand::Edit)),
    entry("palette", "Find a command…", Group::Help, Some(with(Modifiers::COMMAND, Key::P)), || Window(WindowCommand::TogglePalette)),
    entry("keys", "Keys", Group::Help, Some(with(Modifiers::NONE, Key::F1)), || Window(WindowCommand::ToggleKeys)),
];

/// The command with this name.
#[must_use]
pub fn command(name: &str) -> Option<&'static Entry> {
    COMMANDS.iter().find(|c| c.name == name)
}

/// The commands whose keys were pressed in this frame.
///
/// While a text field has the focus, only those that mean nothing in a text. While another widget has it (reached with Tab), keys without Ctrl are that
/// widget's: Space presses a button, arrows move a slider.
pub fn pressed(ctx: &Context, out: &mut Vec<Command>) {
    let typing = ctx.text_edit_focused();
    let focused = ctx.egui_wants_keyboard_input();
    // Escape closes an open menu or gives up a drag (a lasso), and does nothing else then.
    let menu = Popup::is_any_open(ctx) || ctx.dragged_id().is_some();
    ctx.input_mut(|input| {
        // Shortcuts with more modifiers first: egui lets Ctrl+S match Ctrl+Shift+S.
        let mut entries: Vec<_> = COMMANDS.iter().flat_map(|c| c.key.into_iter().chain(c.also).map(move |k| (k, c))).collect();
        entries.sort_by_key(|(k, _)| std::cmp::Reverse(modifiers(k.modifiers)));
        for (shortcut, entry) in entries {
            let plain = !shortcut.modifiers.command && !shortcut.modifiers.alt && !is_of_no_widget(shortcut.logical_key);
            if typing && is_of_texts(shortcut) {
                continue;
            }
            if (focused && plain) || (menu && shortcut.logical_key == Key::Escape) {
                continue;
            }
            // A slow frame may bring several presses of one key: each counts.
            for _ in 0..input.count_and_consume_key(shortcut.modifiers, shortcut.logical_key) {
                out.push((entry.make)());
            }
        }
    });
}

/// True for a key that no widget but a text field or a list has a use for: a clicker's keys work wherever the focus is.
fn is_of_no_widget(key: Key) -> bool {
    matches!(key, Key::Escape | Key::F1 | Key::F5 | Key::F6 | Key::F7 | Key::PageDown | Key::PageUp)
}

/// True for a key that a text field has a use for.
fn is_of_texts(shortcut: KeyboardShortcut) -> bool {
    let letters = [Key::Z, Key::Y, Key::A, Key::C, Key::V, Key::X, Key::W, Key::U, Key::K, Key::H];
    let arrows = [Key::ArrowLeft, Key::ArrowRight, Key::ArrowUp, Key::ArrowDown];
    let edits = [&letters[..], &arrows].concat();
    let of_window = shortcut.modifiers.command && !edits.contains(&shortcut.logical_key);
    !of_window && shortcut.logical_key != Key::F1
}

/// The keys of a command in words: `Ctrl+Shift+Z or Ctrl+Y`; empty without any.
#[must_use]
pub fn keys_text(ctx: &Context, entry: &Entry) -> String {
    entry.key.iter().chain(&entry.also).map(|key| key_text(ctx, key)).collect::<Vec<_>>().join(" or ")
}

/// A shortcut as it is printed on the keyboard: `[` where egui says `OpenBracket`.
#[must_use]
pub fn key_text(ctx: &Context, shortcut: &KeyboardShortcut) -> String {
    let key = shortcut.logical_key;
    let text = ctx.format_shortcut(shortcut);
    match key {
        Key::OpenBracket | Key::CloseBracket => text.replace(key.name(), key.symbol_or_name()),
        _ => text,
    }
}

fn modifiers(m: Modifiers) -> u8 {
    u8::from(m.shift) + u8::from(m.command) + u8::from(m.alt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_keys_are_unique() {
        let names: BTreeSet<_> = COMMANDS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
        let keys: Vec<_> = COMMANDS.iter().flat_map(|c| c.key.into_iter().chain(c.also)).collect();
        for (i, a) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(a), "{a:?} is given twice");
        }
    }

    #[test]
    fn every_preset_has_a_command() {
        for preset in crate::app::presets::PRESETS {
            let entry = command(&format!("layout-{}", preset.name));
            assert!(entry.is_some_and(|e| (e.make)() == Window(WindowCommand::Arrange(preset.name))), "{}", preset.name);
            assert_eq!(entry.map(|e| e.title), Some(format!("Layout: {}", preset.title)).as_deref());
        }
    }

    #[test]
    fn every_lesson_has_a_command() {
        for (name, lesson) in crate::session::lesson::lessons() {
            let entry = COMMANDS.iter().find(|e| (e.make)() == Lesson(LessonCommand::Start(name)));
            assert_eq!(entry.map(|e| e.title), Some(lesson.title.as_str()), "{name}");
        }
    }

    #[test]
    fn brackets_are_shown_as_they_are_printed() {
        let text = |name: &str| key_text(&Context::default(), &command(name).and_then(|c| c.key).unwrap());
        assert_eq!((text("slower").as_str(), text("faster").as_str()), ("[", "]"));
        assert_eq!(text("play"), "Space");
    }

    #[test]
    fn every_group_has_commands_and_sections_do_not_start_a_menu() {
        for (group, title) in GROUPS {
            let first = COMMANDS.iter().find(|c| c.group == group);
            assert!(first.is_some_and(|c| !c.first_of_section), "{title}");
        }
    }

    #[test]
    fn plain_keys_rest_while_a_text_field_has_the_focus() {
        use eframe::egui::{Event, RawInput};
        let press = |key, modifiers| Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
        let frame = |ctx: &Context, events: Vec<Event>, field: bool| {
            let mut found = Vec::new();
            let mut text = String::new();
            let input = RawInput { events, ..RawInput::default() };
            let mut output = ctx.run_ui(input, |ui| {
                pressed(ui.ctx(), &mut found);
                if field {
                    ui.text_edit_singleline(&mut text).request_focus();
                }
            });
            output.textures_delta.clear();
            found
        };
        let ctx = Context::default();
        assert_eq!(frame(&ctx, vec![press(Key::Space, Modifiers::NONE)], false), [Time(TimeCommand::TogglePlay)]);
        assert_eq!(frame(&ctx, vec![press(Key::ArrowRight, Modifiers::SHIFT)], false), [Time(TimeCommand::Step(10))]);
        assert_eq!(frame(&ctx, vec![press(Key::ArrowRight, Modifiers::NONE)], false), [Time(TimeCommand::Step(1))]);
        let twice = vec![press(Key::ArrowRight, Modifiers::NONE); 2];
        assert_eq!(frame(&ctx, twice, false), [Time(TimeCommand::Step(1)), Time(TimeCommand::Step(1))]);
        let both = Modifiers::COMMAND.plus(Modifiers::SHIFT).plus(Modifiers::CTRL);
        assert_eq!(frame(&ctx, vec![press(Key::S, both)], false), [Window(WindowCommand::SaveAs)]);
        let ctx = Context::default();
        frame(&ctx, vec![], true);
        frame(&ctx, vec![], true);
        assert_eq!(frame(&ctx, vec![press(Key::Space, Modifiers::NONE)], true), []);
        let ctrl = Modifiers::COMMAND.plus(Modifiers::CTRL);
        assert_eq!(frame(&ctx, vec![press(Key::Z, ctrl)], true), [], "the text has an undo of its own");
        assert_eq!(frame(&ctx, vec![press(Key::P, ctrl)], true), [Window(WindowCommand::TogglePalette)]);
    }
}
