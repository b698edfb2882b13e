//! What makes the window good to work with: undo, the way back, the palette, panels, screen readers.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use common::{chord, click, says, session, settle, window};
use eframe::egui::accesskit::{self, Role};
use eframe::egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use mnemoscope::app::App;
use mnemoscope::app::arrangement::{Arrangement, Node};
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

/// The pointer goes down at `from`, over to `to` in a few frames, and up.
fn drag(harness: &mut Harness<'_, App>, from: Pos2, to: Pos2) {
    harness.hover_at(from);
    harness.run_steps(2);
    harness.drag_at(from);
    harness.run_steps(1);
    for part in [0.2, 0.5, 0.8, 1.0] {
        harness.hover_at(from + (to - from) * part);
        harness.run_steps(2);
    }
    harness.event(Event::PointerButton { pos: to, button: PointerButton::Primary, pressed: false, modifiers: Modifiers::NONE });
    harness.run_steps(3);
}

fn layout(harness: &Harness<'_, App>) -> Option<String> {
    harness.state().session().view.layout
}

/// The line of a border: across for one between neighbours of a row, down for one of a column.
fn line(harness: &Harness<'_, App>, border: &str) -> Pos2 {
    harness.get_by_label(border).rect().center()
}

/// What would be taken back, as the menu says it.
fn undoes(harness: &mut Harness<'_, App>) -> String {
    click(harness, "Edit");
    let said = harness.get_by_label_contains("Undo").accesskit_node().label().unwrap_or_default();
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    said.trim_end_matches(" Ctrl+Z").to_owned()
}

const BESIDE: &str = "Border right of Growth, left of Assignments";
const BELOW: &str = "Border below Assignments, above Counts";

#[test]
fn a_border_that_is_dragged_is_taken_back_in_one_step() {
    let mut harness = window(small());
    let (at, below) = (line(&harness, BESIDE), line(&harness, BELOW));
    assert_eq!(layout(&harness), None);
    drag(&mut harness, at, at + vec2(60.0, 5.0));
    let moved = line(&harness, BESIDE);
    assert!((moved.x - at.x - 60.0).abs() < 1.5, "{at} {moved}");
    assert!((line(&harness, BELOW) - below).length() < 0.5, "the others stay");
    let wide = layout(&harness);
    assert!(wide.is_some());
    drag(&mut harness, below, below - vec2(0.0, 40.0));
    assert!((line(&harness, BELOW).y - below.y + 40.0).abs() < 1.5);
    assert_eq!(undoes(&mut harness), "Undo: move a border");
    undo(&mut harness);
    assert_eq!(layout(&harness), wide, "one drag");
    undo(&mut harness);
    assert_eq!(layout(&harness), None, "and one");
    assert!((line(&harness, BESIDE) - at).length() < 0.5 && (line(&harness, BELOW) - below).length() < 0.5);
    chord(&mut harness, CTRL, Key::Y);
    assert_eq!(layout(&harness), wide);
    assert!((line(&harness, BESIDE).x - moved.x).abs() < 0.5);
    // No tile becomes too small to be found again.
    let moved = line(&harness, BESIDE);
    drag(&mut harness, moved, pos2(0.0, moved.y));
    let growth = harness.get_by_label("Close Growth").rect();
    assert!((line(&harness, BESIDE).x - growth.right()).abs() < 30.0 && growth.left() > 296.0, "{growth}");
}

#[test]
fn a_border_is_moved_by_keys_and_by_assistive_programs() {
    let mut harness = window(small());
    let at = line(&harness, BESIDE);
    harness.get_by_label(BESIDE).focus();
    harness.run_steps(2);
    harness.key_press(Key::ArrowRight);
    harness.run_steps(2);
    assert!((line(&harness, BESIDE).x - at.x - 24.0).abs() < 1.0);
    assert!(harness.get_by_label(BESIDE).is_focused(), "the arrow is the border's");
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowLeft);
    harness.run_steps(2);
    assert!((line(&harness, BESIDE).x - at.x - 20.0).abs() < 1.0);
    assert_eq!(harness.state().timeline().writes(), 1024, "and not the timeline's");
    undo(&mut harness);
    assert_eq!(layout(&harness), None, "presses that follow each other at once are one edit");
    let below = line(&harness, BELOW);
    harness.get_by_label(BELOW).decrement_accesskit();
    harness.run_steps(3);
    assert!((line(&harness, BELOW).y - below.y + 24.0).abs() < 1.0);
    assert_eq!(harness.get_by_label(BELOW).accesskit_node().orientation(), Some(accesskit::Orientation::Horizontal));
}

#[test]
fn a_tab_that_is_dragged_is_taken_back_in_one_step() {
    let mut harness = window(small());
    let beside = |text: Option<String>, other: &str| {
        fn together(node: &Node, other: &str) -> bool {
            match node {
                Node::Panel { .. } => false,
                Node::Tabs { of, .. } => ["health", other].iter().all(|name| of.iter().any(|n| n.names() == [*name])),
                Node::Row(parts) | Node::Column(parts) => parts.iter().any(|(_, n)| together(n, other)),
            }
        }
        together(&Arrangement::read(&text.unwrap()).unwrap().of, other)
    };
    let (tab, counts) = (harness.get_by_label("Codebook health").rect().center(), harness.get_by_label("Counts").rect());
    // Between the tabs of another cell.
    drag(&mut harness, tab, counts.right_center() + vec2(2.0, 0.0));
    let dropped = layout(&harness);
    assert!(beside(dropped.clone(), "counts") && !beside(dropped.clone(), "growth"), "{dropped:?}");
    assert_eq!(undoes(&mut harness), "Undo: move Codebook health");
    undo(&mut harness);
    assert_eq!(layout(&harness), None);
    chord(&mut harness, CTRL, Key::Y);
    assert_eq!(layout(&harness), dropped);
    // Given up with Escape, a drag changes nothing and leaves nothing to take back.
    undo(&mut harness);
    let from = harness.get_by_label("Codebook health").rect().center();
    harness.drag_at(from);
    harness.run_steps(1);
    harness.hover_at(from + vec2(100.0, 200.0));
    harness.run_steps(2);
    harness.key_press(Key::Escape);
    harness.run_steps(1);
    harness.drop_at(from + vec2(100.0, 200.0));
    harness.run_steps(3);
    assert_eq!((layout(&harness), undoes(&mut harness).as_str()), (None, "Undo"));
}

#[test]
fn the_panel_in_use_is_made_wider_narrower_taller_and_lower() {
    let mut harness = window(small());
    harness.state_mut().ask(WindowCommand::ShowPanel("growth").into());
    harness.run_steps(3);
    let (at, below) = (line(&harness, BESIDE), line(&harness, BELOW));
    // Two cells of a row have equal parts at first; a step is a twentieth of the row.
    let row = 2.0 * (at.x - harness.get_by_label(BELOW).rect().left());
    chord(&mut harness, CTRL_SHIFT, Key::ArrowRight);
    let wider = line(&harness, BESIDE).x - at.x;
    assert!((wider - row / 20.0).abs() < 2.0, "{wider} of {row}");
    let text = layout(&harness);
    chord(&mut harness, CTRL_SHIFT, Key::ArrowDown);
    let column = 3.0 * (below.y - harness.get_by_label(BESIDE).rect().top());
    let taller = line(&harness, BELOW).y - below.y;
    assert!((taller - column / 20.0).abs() < 3.0, "{taller} of {column}");
    assert_eq!(undoes(&mut harness), "Undo: Growth taller");
    undo(&mut harness);
    assert_eq!(layout(&harness), text);
    undo(&mut harness);
    assert_eq!(layout(&harness), None);
    // What is last has its border before it, so that it grows to the left and shrinks to the right.
    harness.state_mut().ask(WindowCommand::ShowPanel("assignments").into());
    harness.run_steps(3);
    chord(&mut harness, CTRL_SHIFT, Key::ArrowRight);
    assert!((at.x - line(&harness, BESIDE).x - row / 20.0).abs() < 2.0);
    harness.run_steps(60);
    chord(&mut harness, CTRL_SHIFT, Key::ArrowLeft);
    assert!((line(&harness, BESIDE).x - at.x).abs() < 2.0);
    palette(&mut harness, "make the panel shorter");
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert!(line(&harness, BELOW).y < below.y - 5.0);
    // A panel that fills the centre has no border.
    chord(&mut harness, CTRL, Key::M);
    chord(&mut harness, CTRL_SHIFT, Key::ArrowRight);
    assert!(says(&harness, "Assignments cannot be made wider: there is no border beside it that could move"));
}

/// The lanes that choices of a lane show, in the order in which they are drawn.
fn lanes_shown(harness: &Harness<'_, App>) -> Vec<String> {
    let lanes: Vec<String> = harness.state().session().lanes.iter().map(|l| l.name.clone()).collect();
    let shown = |node: egui_kittest::Node<'_>| node.value().filter(|v| lanes.contains(v));
    harness.query_all_by_role(Role::ComboBox).filter_map(shown).collect()
}

#[test]
fn a_preset_for_a_layer_shows_a_lane_of_it_and_is_taken_back_whole() {
    let p = Params::default;
    let lanes = vec![
        LaneSpec::new("linear", "linear", p()),
        LaneSpec::new("OVQ a", "ovq", p().with("n_max", 64)),
        LaneSpec::new("OVQ b", "ovq", p().with("n_max", 32)),
        LaneSpec::new("LoLA", "lola", p().with("window", 16).with("cache", 16)),
    ];
    let mut harness = window(Session { lanes, ..small() });
    harness.state_mut().ask(WindowCommand::ShowPanel("formula").into());
    harness.run_steps(3);
    let (before, text) = (lanes_shown(&harness), layout(&harness));
    assert_eq!(before.last().map(String::as_str), Some("linear"), "the formula shows the first lane: {before:?}");
    let arrange = |harness: &mut Harness<'_, App>, name| {
        harness.state_mut().ask(WindowCommand::Arrange(name).into());
        settle(harness);
    };
    arrange(&mut harness, "debug-ovq");
    let shown = lanes_shown(&harness);
    assert!(shown.len() >= 3 && shown.iter().all(|lane| lane == "OVQ a" || lane == "LoLA"), "shares have LoLA alone: {shown:?}");
    assert_eq!(shown.last().map(String::as_str), Some("OVQ a"));
    // By another name it is the same lane.
    let rename = |name: &str| SessionCommand::Lane(LaneCommand::Rename { lane: 1, name: name.to_owned() });
    harness.state_mut().ask(rename("mine").into());
    settle(&mut harness);
    let called = |name: &str| shown.iter().map(|lane| if lane == "OVQ a" { name } else { lane }.to_owned()).collect::<Vec<_>>();
    assert_eq!(lanes_shown(&harness), called("mine"));
    undo(&mut harness);
    settle(&mut harness);
    assert_eq!(lanes_shown(&harness), shown, "taken back, too");
    arrange(&mut harness, "debug-lola");
    let lola = lanes_shown(&harness);
    assert!(lola.len() >= 2 && lola.iter().all(|lane| lane == "LoLA"), "{lola:?}");
    let saved = layout(&harness).unwrap();
    assert_eq!(Arrangement::read(&saved).unwrap().lane.as_deref(), Some("LoLA"));
    undo(&mut harness);
    assert_eq!(lanes_shown(&harness), shown, "arrangement and lane are one step");
    undo(&mut harness);
    assert_eq!((lanes_shown(&harness), layout(&harness)), (before, text));
    chord(&mut harness, CTRL, Key::Y);
    harness.run_steps(3);
    assert_eq!(lanes_shown(&harness), shown);
    // The lane that is selected is meant, where it is one of the layer.
    harness.state_mut().ask(ViewCommand::Choose(Subject::Lane(2)).into());
    arrange(&mut harness, "debug-ovq");
    assert!(lanes_shown(&harness).contains(&"OVQ b".to_owned()), "{:?}", lanes_shown(&harness));
    // Without such a lane, panels show what they did, and that is said.
    harness.state_mut().ask(SessionCommand::LaneEnabled { lane: 3, enabled: false }.into());
    settle(&mut harness);
    arrange(&mut harness, "debug-lola");
    assert!(says(&harness, "No lane of LoLA is switched on"));
    assert_eq!(Arrangement::read(&layout(&harness).unwrap()).unwrap().lane, None);
}

#[test]
fn a_click_on_a_lanes_name_opens_its_page() {
    let mut harness = window(small());
    let name = harness.get_all_by_label("linear").find(|n| n.rect().right() < 296.0).unwrap().rect().center();
    for pressed in [true, false] {
        harness.hover_at(name);
        harness.event(Event::PointerButton { pos: name, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE });
        harness.run_steps(1);
    }
    harness.run_steps(3);
    assert_eq!(harness.state().selection().subject, Some(Subject::Lane(1)));
    assert!(says(&harness, "What it costs"));
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
