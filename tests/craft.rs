//! What makes the window good to work with: undo, the way back, the palette, panels, screen readers.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use common::{chord, click, says, session, settle, window};
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use mnemoscope::app::App;
use mnemoscope::app::command::{LaneCommand, SessionCommand, TimeCommand, ViewCommand, WindowCommand};
use mnemoscope::panel::Subject;
use mnemoscope::param::Params;
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

const CTRL: Modifiers = Modifiers { command: true, ctrl: true, ..Modifiers::NONE };
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..CTRL };

fn undo(harness: &mut Harness<'_, App>) {
    chord(harness, CTRL, Key::Z);
    settle(harness);
}

/// A short stream that runs at once.
fn small() -> Session {
    let params = Params::default().with("T", 1024).with("needles", 16);
    let lanes = vec![
        LaneSpec::new("LoLA", "lola", Params::default().with("window", 16).with("cache", 16).with("chunk", 16)),
        LaneSpec::new("linear", "linear", Params::default()),
    ];
    Session { source: Source::Task(TaskSource { name: "needles".to_owned(), params }), lanes, ..session() }
}

/// Everything a session's numbers depend on, and colours.
fn edited(harness: &Harness<'_, App>) -> Session {
    Session { view: mnemoscope::session::View::default(), ..harness.state().session() }
}

#[test]
fn every_edit_is_taken_back_and_made_again_in_its_order() {
    let mut harness = window(small());
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 2048).with("needles", 16) });
    let edits: Vec<SessionCommand> = vec![
        SessionCommand::LaneParam { lane: 0, name: "cache", value: Some(32.into()) },
        SessionCommand::TaskParam { name: "needles", value: Some(8.into()) },
        SessionCommand::NewSeed,
        SessionCommand::Reset,
        SessionCommand::Seed(12),
        SessionCommand::Backend(BackendChoice::Auto),
        SessionCommand::Backend(BackendChoice::Cpu),
        SessionCommand::Lane(LaneCommand::Recolour { lane: 0, place: 5 }),
        SessionCommand::Lane(LaneCommand::Duplicate(0)),
        SessionCommand::Lane(LaneCommand::Rename { lane: 1, name: "twin".to_owned() }),
        SessionCommand::Lane(LaneCommand::Move { from: 2, to: 0 }),
        SessionCommand::Lane(LaneCommand::Remove(0)),
        SessionCommand::Lane(LaneCommand::PutBack),
        SessionCommand::LaneEnabled { lane: 1, enabled: false },
        SessionCommand::Lane(LaneCommand::Weights { lane: 1, path: Some("nowhere.safetensors".into()) }),
        SessionCommand::Source(source),
    ];
    let mut stages = vec![edited(&harness)];
    for edit in edits {
        harness.state_mut().ask(edit.into());
        harness.run_steps(60);
        stages.push(edited(&harness));
    }
    for stage in stages.iter().rev().skip(1) {
        chord(&mut harness, CTRL, Key::Z);
        assert_eq!(edited(&harness), *stage);
    }
    chord(&mut harness, CTRL, Key::Z);
    assert_eq!(edited(&harness), stages[0], "there is nothing before the first edit");
    for (i, stage) in stages.iter().enumerate().skip(1) {
        if i % 2 == 0 {
            chord(&mut harness, CTRL, Key::Y);
        } else {
            chord(&mut harness, CTRL_SHIFT, Key::Z);
        }
        assert_eq!(edited(&harness), *stage);
    }
    settle(&mut harness);
}

#[test]
fn undo_brings_back_the_numbers_and_what_was_looked_at() {
    let mut harness = window(small());
    let held = |h: &Harness<'_, App>| h.state().runs().current().unwrap().traces[0].channel("cached_count").unwrap().wholes(0).to_vec();
    let outputs = |h: &Harness<'_, App>| {
        let values = h.state().runs().current().unwrap().traces[0].channel("outputs").unwrap().reals(0).to_vec();
        values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    harness.state_mut().ask(TimeCommand::Seek(512).into());
    harness.state_mut().ask(ViewCommand::Choose(Subject::Token(77)).into());
    let (before, said) = (outputs(&harness), harness.state().selection().clone());
    harness.state_mut().ask(SessionCommand::LaneParam { lane: 0, name: "cache", value: Some(32.into()) }.into());
    settle(&mut harness);
    assert_eq!(held(&harness).last(), Some(&32));
    click(&mut harness, "Edit");
    assert!(says(&harness, "Undo: LoLA cache 32"), "the menu says what would be taken back");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    undo(&mut harness);
    assert_eq!(held(&harness).last(), Some(&16));
    assert!(outputs(&harness) == before, "the same numbers, bit for bit");
    assert_eq!((harness.state().timeline().writes(), harness.state().selection()), (512, &said));
    // An edit that leaves no room for the playhead or the selection.
    harness.state_mut().ask(TimeCommand::Seek(1008).into());
    harness.state_mut().ask(ViewCommand::Choose(Subject::Token(1000)).into());
    harness.state_mut().ask(SessionCommand::TaskParam { name: "T", value: Some(512.into()) }.into());
    settle(&mut harness);
    assert_eq!((harness.state().timeline().total(), harness.state().selection().token), (512, None));
    undo(&mut harness);
    assert_eq!((harness.state().timeline().writes(), harness.state().selection().token), (1008, Some(1000)));
}

#[test]
fn panels_that_were_moved_go_back_too() {
    let mut harness = window(small());
    let shown = |h: &Harness<'_, App>| h.state().session().view.layout;
    harness.state_mut().ask(WindowCommand::TogglePanel("counts").into());
    harness.run_steps(3);
    assert!(shown(&harness).is_some());
    undo(&mut harness);
    assert_eq!(shown(&harness), None);
    chord(&mut harness, CTRL, Key::Y);
    assert!(shown(&harness).is_some());
}

#[test]
fn what_was_looked_at_is_found_again() {
    let mut harness = window(small());
    let look = |h: &Harness<'_, App>| (h.state().selection().subject, h.state().timeline().writes());
    for (token, writes) in [(5, 256), (600, 640), (9, 320)] {
        harness.state_mut().ask(TimeCommand::Seek(writes).into());
        harness.run_steps(1);
        harness.state_mut().ask(ViewCommand::Choose(Subject::Token(token)).into());
        harness.run_steps(1);
    }
    // The playhead had moved on when the next token was chosen: that is where it was left.
    chord(&mut harness, Modifiers::ALT, Key::ArrowLeft);
    assert_eq!(look(&harness), (Some(Subject::Token(600)), 320));
    click(&mut harness, "Look back");
    assert_eq!(look(&harness), (Some(Subject::Token(5)), 640));
    chord(&mut harness, Modifiers::ALT, Key::ArrowRight);
    chord(&mut harness, Modifiers::ALT, Key::ArrowRight);
    assert_eq!(look(&harness), (Some(Subject::Token(9)), 320));
    harness.key_press(Key::Home);
    harness.run_steps(2);
    assert_eq!(look(&harness), (Some(Subject::Token(9)), 0));
    chord(&mut harness, Modifiers::ALT, Key::ArrowLeft);
    assert_eq!(look(&harness), (Some(Subject::Token(9)), 320), "a jump of the playhead is a visit of its own");
    assert!(harness.query_by_label("Look forward").is_some());
}

/// What can be done, by the titles that the palette lists for what is typed.
fn palette(harness: &mut Harness<'_, App>, text: &str) {
    chord(harness, CTRL, Key::P);
    harness.run_steps(2);
    assert!(harness.get_by_label("What to do").is_focused());
    harness.event(eframe::egui::Event::Text(text.to_owned()));
    harness.run_steps(2);
}

#[test]
fn the_palette_runs_what_was_found_by_keyboard_alone() {
    let mut harness = window(small());
    palette(&mut harness, "step forw");
    assert!(says(&harness, "Step forward (command)"));
    harness.key_press(Key::Escape);
    harness.run_steps(2);
    assert!(harness.query_by_label("What to do").is_none(), "Escape closes it");
    assert_eq!(harness.state().timeline().writes(), 1024, "and does nothing");
    palette(&mut harness, "go to the start");
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert_eq!(harness.state().timeline().writes(), 0);
    assert!(harness.query_by_label("What to do").is_none());
    palette(&mut harness, "hide");
    harness.key_press(Key::ArrowDown);
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert!(harness.state().session().view.layout.is_some(), "the second one: a panel is hidden");
    undo(&mut harness);
    palette(&mut harness, "switch lane linear off");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    assert!(!harness.state().session().lanes[1].enabled);
}

#[test]
fn panels_are_closed_split_maximised_and_given_windows() {
    let mut harness = window(small());
    let layout = |h: &Harness<'_, App>| h.state().session().view.layout.unwrap_or_default();
    click(&mut harness, "Close Growth");
    assert!(layout(&harness).contains("Panel(name:\"growth\",shown:false)"), "{}", layout(&harness));
    undo(&mut harness);
    let (before, tab) = (layout(&harness), harness.get_by_label("Reads").rect());
    harness.get_by_label("Reads").click_secondary();
    harness.run_steps(3);
    click(&mut harness, "Split right");
    assert_ne!(layout(&harness), before);
    let moved = harness.get_by_label("Reads").rect();
    assert!(moved.left() > tab.left() + 100.0 && (moved.top() - tab.top()).abs() < 1.0, "{tab} {moved}");
    undo(&mut harness);
    assert_eq!(layout(&harness), before);
    // Nothing under the pointer, nothing pressed: the first panel that is seen.
    harness.hover_at(eframe::egui::pos2(500.0, 300.0));
    harness.run_steps(2);
    chord(&mut harness, CTRL, Key::M);
    assert!(harness.query_all_by_label_contains("Restore ").next().is_some(), "it fills the centre");
    chord(&mut harness, CTRL, Key::M);
    assert!(harness.query_all_by_label_contains("Restore ").next().is_none());
    // Without windows of the system, a detached panel lies over the others.
    harness.state_mut().ask(WindowCommand::Panel { name: Some("growth"), act: mnemoscope::app::command::PanelAct::Detach }.into());
    harness.run_steps(3);
    assert!(layout(&harness).contains("Panel(name:\"growth\",shown:false,detached:true)"), "{}", layout(&harness));
    assert!(harness.query_by_label("Close Growth").is_none());
    click(&mut harness, "Put back Growth");
    harness.run_steps(2);
    assert!(harness.query_by_label("Close Growth").is_some() && layout(&harness) == before);
    click(&mut harness, "View");
    click(&mut harness, "Layout");
    click(&mut harness, "Debug LoLA");
    assert!(harness.query_by_label("Close Growth").is_none() && harness.query_by_label("Close Cache").is_some());
}
