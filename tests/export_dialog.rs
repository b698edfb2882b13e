//! Exporting a trace from the window: a dialog asks what, how and where, and the keyboard is enough to answer.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{chord, session, window};
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use mnemoscope::app::App;
use mnemoscope::app::command::{TimeCommand, ViewCommand};
use mnemoscope::panel::Subject;

const CTRL_SHIFT: Modifiers = Modifiers { command: true, ctrl: true, shift: true, ..Modifiers::NONE };

fn press(harness: &mut Harness<'_, App>, key: Key) {
    harness.key_press(key);
    harness.run_steps(3);
}

fn press_on(harness: &mut Harness<'_, App>, role: Role, label: &str) {
    harness.get_by_role_and_label(role, label).click();
    harness.run_steps(3);
}

/// What stands in the bundle's `columns.json`, as soon as it is there.
fn about(harness: &mut Harness<'_, App>, folder: &Path) -> serde_json::Value {
    let (start, path) = (Instant::now(), folder.join("columns.json"));
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_mins(1), "nothing was exported");
        harness.run_steps(1);
        std::thread::sleep(Duration::from_millis(5));
    }
    harness.run_steps(5);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_keyboard_exports_the_whole_run() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("whole");
    let mut harness = window(session());
    chord(&mut harness, CTRL_SHIFT, Key::E);
    // The folder's field has the focus: what is typed goes there, and Enter exports.
    harness.event(Event::Text(folder.display().to_string()));
    harness.run_steps(2);
    press(&mut harness, Key::Enter);
    let about = about(&mut harness, &folder);
    assert_eq!((about["writes"]["what"].as_str(), about["writes"]["count"].as_u64()), (Some("all"), Some(2048)));
    assert!(folder.join("trace.npz").exists() && folder.join("tokens.csv").exists());
    assert!(harness.query_by_label("Choose…").is_none(), "the dialog has closed");
}

#[test]
fn a_part_of_the_timeline_and_selected_tokens_are_exported() {
    let root = tempfile::tempdir().unwrap();
    let mut harness = window(session());
    // The playhead is at half of the stream: that is the stretch that is offered.
    harness.state_mut().ask(TimeCommand::Seek(1024).into());
    harness.run_steps(2);
    let seen = harness.state().timeline().writes() as u64;
    assert_eq!(seen, 1024);
    chord(&mut harness, CTRL_SHIFT, Key::E);
    let part = root.path().join("part");
    harness.event(Event::Text(part.display().to_string()));
    harness.run_steps(2);
    press_on(&mut harness, Role::RadioButton, "Part of the timeline: the writes from");
    press_on(&mut harness, Role::CheckBox, "NPZ");
    press_on(&mut harness, Role::CheckBox, "linear");
    press_on(&mut harness, Role::CheckBox, "JSON Lines");
    press_on(&mut harness, Role::Button, "Export");
    let read = about(&mut harness, &part);
    assert_eq!((read["writes"]["from"].as_u64(), read["writes"]["to"].as_u64()), (Some(0), Some(seen)));
    let lanes: Vec<&str> = read["lanes"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(lanes, ["OVQ", "LoLA", "full"]);
    assert!(!part.join("trace.npz").exists() && part.join("cache.jsonl").exists() && part.join("cache.csv").exists());
    // Nothing was selected then; with a token it is offered, and the formats and the folder are those of the last time.
    harness.state_mut().ask(ViewCommand::Choose(Subject::Token(705)).into());
    harness.run_steps(2);
    chord(&mut harness, CTRL_SHIFT, Key::E);
    press_on(&mut harness, Role::RadioButton, "The selected token, 705");
    std::fs::remove_file(part.join("columns.json")).unwrap();
    std::fs::remove_file(part.join("README.md")).unwrap();
    press_on(&mut harness, Role::Button, "Export");
    let read = about(&mut harness, &part);
    assert_eq!((read["writes"]["what"].as_str(), read["writes"]["count"].as_u64()), (Some("tokens"), Some(1)));
    assert_eq!(read["reads"]["count"].as_u64(), Some(1), "the read that follows the token");
}

#[test]
fn what_is_missing_is_said_and_escape_leaves() {
    let mut harness = window(session());
    chord(&mut harness, CTRL_SHIFT, Key::E);
    assert!(harness.query_by_label("No folder is given.").is_some());
    press(&mut harness, Key::Enter);
    assert!(harness.query_by_label("Choose…").is_some(), "nothing is exported into no folder");
    press_on(&mut harness, Role::CheckBox, "NPZ");
    press_on(&mut harness, Role::CheckBox, "CSV");
    assert!(harness.query_by_label("No format is chosen.").is_some());
    press(&mut harness, Key::Escape);
    assert!(harness.query_by_label("Choose…").is_none());
}

/// The dialog as a picture, where a folder for it is named.
#[test]
fn the_dialog_can_be_looked_at() {
    let Some(folder) = std::env::var_os("MNEMOSCOPE_PANELS") else { return };
    if !common::adapter() {
        return;
    }
    let mut harness = window(session());
    chord(&mut harness, CTRL_SHIFT, Key::E);
    harness.run_steps(3);
    harness.render().unwrap().save(Path::new(&folder).join("dialog.png")).unwrap();
}
