//! The list of lanes in the window, driven as a person drives it.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use common::{says, settle, window_of};
use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use mnemoscope::app::App;
use mnemoscope::app::command::{LaneCommand, SessionCommand};
use mnemoscope::param::Params;
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource, lanes};

/// A short task: its runs take no time.
fn session(lanes: Vec<LaneSpec>) -> Session {
    let params = Params::default().with("T", 256).with("dk", 8).with("dv", 8);
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
    Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }
}

fn two() -> Vec<LaneSpec> {
    let lola = |cache: i64| Params::default().with("window", 64).with("chunk", 64).with("cache", cache);
    vec![LaneSpec::new("LoLA", "lola", lola(128)), LaneSpec::new("LoLCATs", "lola", lola(0))]
}

fn window(session: Session) -> Harness<'static, App> {
    window_of(session, 1400.0)
}

fn click(harness: &mut Harness<'_, App>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(4);
    settle(harness);
}

fn names(harness: &Harness<'_, App>) -> Vec<String> {
    harness.state().session().lanes.iter().map(|l| l.name.clone()).collect()
}

#[test]
fn a_lane_is_duplicated_moved_renamed_removed_and_put_back() {
    let mut harness = window(session(two()));
    click(&mut harness, "Menu of LoLA");
    click(&mut harness, "Duplicate");
    assert_eq!(names(&harness), ["LoLA", "LoLA 2", "LoLCATs"]);
    assert!(says(&harness, "as LoLA"), "the copy says what it is a copy of");
    let run = |h: &Harness<'_, App>| {
        h.state().runs().current().unwrap().plan.lanes.iter().map(|l| (l.name.clone(), l.colour)).collect::<Vec<_>>()
    };
    let pairs = |p: &[(&str, usize)]| p.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect::<Vec<_>>();
    assert_eq!(run(&harness), pairs(&[("LoLA", 0), ("LoLA 2", 2), ("LoLCATs", 1)]));
    click(&mut harness, "Menu of LoLCATs");
    click(&mut harness, "Move up");
    assert_eq!(run(&harness), pairs(&[("LoLA", 0), ("LoLCATs", 1), ("LoLA 2", 2)]), "colours stay with their lanes");
    click(&mut harness, "Menu of LoLA 2");
    click(&mut harness, "Rename");
    let field = harness.get_by_label("New name of LoLA 2");
    field.type_text("LoLCATs");
    harness.run_steps(2);
    // What was typed follows the old name: `LoLA 2LoLCATs` can be used; with a dot it cannot.
    harness.get_by_label("New name of LoLA 2").type_text(".");
    harness.run_steps(2);
    assert!(says(&harness, "a name has none of `.`"), "the plan's own sentence");
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(names(&harness), ["LoLA", "LoLCATs", "LoLA 2"], "it is refused");
    harness.key_press(Key::Backspace);
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    settle(&mut harness);
    assert_eq!(names(&harness), ["LoLA", "LoLCATs", "LoLA 2LoLCATs"]);
    click(&mut harness, "Menu of LoLCATs");
    click(&mut harness, "Remove");
    assert_eq!(names(&harness), ["LoLA", "LoLA 2LoLCATs"]);
    assert!(says(&harness, "LoLCATs was removed."));
    click(&mut harness, "Put back");
    assert_eq!(run(&harness), pairs(&[("LoLA", 0), ("LoLCATs", 1), ("LoLA 2LoLCATs", 2)]));
    assert!(!says(&harness, "was removed"));
}

#[test]
fn what_differs_from_the_twin_is_said_at_the_parameter_and_at_the_name() {
    let harness = window(session(two()));
    assert!(harness.query_by_label("≠ LoLA has 128").is_some());
    assert!(says(&harness, "cache 0"), "the subtitle");
}

#[test]
fn another_colour_runs_nothing_again() {
    let mut harness = window(session(two()));
    let before = harness.state().runs().newest();
    click(&mut harness, "Colour of LoLA");
    click(&mut harness, "Colour 2 for LoLA");
    assert_eq!(lanes::colours(&harness.state().session().lanes), [1, 0], "LoLCATs had it: they are exchanged");
    assert_eq!(harness.state().runs().newest(), before);
}

#[test]
fn a_ninth_lane_is_refused_in_words_at_the_list_and_the_others_go_on() {
    let many = (0..8).map(|i| LaneSpec::new(&format!("w{i}"), "window", Params::default())).collect();
    let mut harness = window(session(many));
    assert!(says(&harness, "8 of 8 on"));
    // A new one comes switched off.
    harness.state_mut().ask(LaneCommand::Add("full").into());
    settle(&mut harness);
    assert!(says(&harness, "8 of 9 on") && harness.state().problem().is_none());
    harness.state_mut().ask(SessionCommand::LaneEnabled { lane: 8, enabled: true }.into());
    settle(&mut harness);
    assert!(says(&harness, "9 lanes are enabled, but at most 8 run at once; switch some off"));
    assert_eq!(harness.state().runs().current().unwrap().plan.lanes.len(), 8);
    harness.get_by_label("Lane w3").click_accesskit();
    harness.run_steps(3);
    settle(&mut harness);
    assert_eq!(harness.state().problem(), None);
    let run = harness.state().runs().current().unwrap();
    let mut colours: Vec<usize> = run.plan.lanes.iter().map(|l| l.colour).collect();
    colours.sort_unstable();
    colours.dedup();
    assert_eq!(colours.len(), 8, "each has a colour of its own");
}

#[test]
fn fifteen_lanes_of_which_seven_are_off_are_folded_and_within_reach() {
    let lane = |i: usize| LaneSpec { enabled: i >= 7, ..LaneSpec::new(&format!("w{i}"), "window", Params::default()) };
    let mut harness = window(session((0..15).map(lane).collect()));
    assert!(says(&harness, "8 of 15 on"));
    assert!(harness.query_by_label("w0 window").is_none(), "a lane that is off is folded");
    assert!(harness.query_by_label("w7 window").is_some());
    harness.get_by_label("Lane w7").click_accesskit();
    harness.run_steps(20);
    settle(&mut harness);
    assert!(harness.query_by_label("w7 window").is_none(), "switching it off folds it");
    harness.get_by_label("Lane w0").click_accesskit();
    harness.run_steps(20);
    settle(&mut harness);
    assert!(harness.query_by_label("w0 window").is_some(), "and switching it on unfolds it");
}
