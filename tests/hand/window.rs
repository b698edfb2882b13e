//! Hands in the window: a branch, its line in the list of lanes, and back.

#[path = "../common/window.rs"]
mod common;
#[path = "../common/panel.rs"]
mod panel;

use common::{chord, click, says, settle, window_of};
use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::App;
use mnemoscope::app::command::{SessionCommand, TimeCommand, ViewCommand};
use mnemoscope::app::facts::Index;
use mnemoscope::app::hand::{buttons, offers, spare};
use mnemoscope::panel::Subject;
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

use super::*;

const CTRL: Modifiers = Modifiers { command: true, ctrl: true, ..Modifiers::NONE };

/// These lanes on a short task, with the playhead after 128 of 256 writes and something selected.
fn seen(lanes: Vec<LaneSpec>, subject: Subject) -> Harness<'static, App> {
    let params = Params::default().with("T", 256).with("dk", 8).with("dv", 8);
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
    let mut harness = window_of(Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }, 1400.0);
    harness.state_mut().ask(TimeCommand::Seek(128).into());
    harness.state_mut().ask(ViewCommand::Choose(subject).into());
    settle(&mut harness);
    harness
}

fn lola() -> LaneSpec {
    LaneSpec::new("LoLA", "lola", Params::default().with("window", 32).with("chunk", 32).with("cache", 16))
}

/// The lanes that run.
fn running(harness: &Harness<'_, App>) -> Vec<String> {
    harness.state().runs().current().unwrap().plan.lanes.iter().map(|l| l.name.clone()).collect()
}

#[test]
fn with_eight_lanes_one_is_switched_off_beside_the_hand_and_the_branch_is_two_clicks_away() {
    let others = (1..8).map(|i| LaneSpec::new(&format!("w{i}"), "window", Params::default()));
    let mut harness = seen([lola()].into_iter().chain(others).collect(), Subject::Lane(0));
    let before = harness.state().session().lanes;
    assert!(says(&harness, "8 lanes run, the most at once, and a branch is one more."));
    assert!(harness.get_by_label("LoLA: forget the state").accesskit_node().is_disabled());
    // Every other lane may make room; the one that the hand is laid on stays.
    assert_eq!(harness.query_all_by_label_contains("off to make room for a branch").count(), 7);
    assert!(harness.query_by_label("Switch LoLA off to make room for a branch").is_none());
    harness.get_by_label("Switch w3 off to make room for a branch").click_accesskit();
    harness.run_steps(3);
    settle(&mut harness);
    assert!(!harness.state().session().lanes[3].enabled && running(&harness).len() == 7);
    assert!(!says(&harness, "a branch is one more") && harness.state().selection().subject == Some(Subject::Lane(0)));
    harness.get_by_label("LoLA: forget the state").click_accesskit();
    harness.run_steps(3);
    settle(&mut harness);
    assert_eq!(running(&harness), ["LoLA", "LoLA · forget @ 4", "w1", "w2", "w4", "w5", "w6", "w7"]);
    for _ in 0..2 {
        chord(&mut harness, CTRL, Key::Z);
        settle(&mut harness);
    }
    assert_eq!(harness.state().session().lanes, before, "both are taken back");
}

#[test]
fn hands_without_room_in_pictures() {
    let others = (1..7).map(|i| LaneSpec::new(&format!("window of {}", 16 * i), "window", Params::default()));
    let ovq = LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 64).with("chunk", 32));
    let params = Params::default().with("T", 256).with("dk", 8).with("dv", 8);
    let run = panel::Run::new(panel::task("needles", params), [lola(), ovq].into_iter().chain(others).collect());
    let mut results = SnapshotResults::new();
    for (dark, theme) in [(true, "dark"), (false, "light")] {
        let given = panel::Given { writes: 128, ..panel::Given::new(&run) };
        let mut harness = panel::draw(given, vec2(308.0, 220.0), dark, |given, ui| {
            let subject = Subject::Centroid { lane: 1, row: 0 };
            given.show(ui, |ui, look| {
                let all = offers(look, &mut Index::default(), subject);
                // What is still to be chosen comes before what there is no room for.
                let said: Vec<(&str, bool)> = all.iter().map(|o| (o.refused.as_deref().unwrap_or_default(), o.crowded)).collect();
                assert!(said[0].0.starts_with("Select a token too: the key of centroid 0 moves onto its key") && !said[0].1, "{said:?}");
                assert!(said[1].0.starts_with("8 lanes run already") && said[1].1 && said.len() == 2, "{said:?}");
                assert_eq!(spare(8, &all), [0, 2, 3, 4, 5, 6, 7]);
                buttons(ui, look, &mut Index::default(), subject, &mut Vec::new());
            });
        });
        results.add(harness.try_snapshot(format!("hand_without_room_{theme}")));
    }
}

#[test]
fn the_palette_has_the_hands_of_what_is_selected() {
    let mut harness = seen(vec![lola(), LaneSpec::new("full", "full", Params::default())], Subject::Lane(0));
    chord(&mut harness, CTRL, Key::P);
    harness.run_steps(2);
    harness.event(eframe::egui::Event::Text("forget lola".to_owned()));
    harness.run_steps(2);
    assert!(harness.query_by_label("By hand: forget the state in LoLA (by hand)").is_some());
    chord(&mut harness, Modifiers::NONE, Key::Enter);
    settle(&mut harness);
    assert_eq!(running(&harness), ["LoLA", "LoLA · forget @ 4", "full"]);
    // What is selected has nothing more to be done to: full attention has no state.
    harness.state_mut().ask(ViewCommand::Choose(Subject::Lane(2)).into());
    settle(&mut harness);
    chord(&mut harness, CTRL, Key::P);
    assert_eq!(harness.query_all_by_label_contains("By hand: ").count(), 0);
}

#[test]
fn with_eight_lanes_the_palette_says_what_a_hand_waits_for() {
    let others = (1..8).map(|i| LaneSpec::new(&format!("w{i}"), "window", Params::default()));
    let mut harness = seen([lola()].into_iter().chain(others).collect(), Subject::Lane(0));
    chord(&mut harness, CTRL, Key::P);
    assert!(says(&harness, "By hand: forget the state in LoLA: switch a lane off first"));
}

#[test]
fn a_centroid_waits_for_a_token_to_be_moved_onto() {
    let ovq = LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 64).with("chunk", 32));
    let mut harness = seen(vec![ovq], Subject::Centroid { lane: 0, row: 0 });
    assert!(harness.get_by_label("OVQ: move centroid 0").accesskit_node().is_disabled());
    // A token beside it: the centroid stays selected, and can be moved.
    harness.state_mut().ask(ViewCommand::Choose(Subject::Token(100)).into());
    settle(&mut harness);
    click(&mut harness, "OVQ: move centroid 0 to token 100");
    settle(&mut harness);
    assert_eq!(running(&harness), ["OVQ", "OVQ · move 0 to 100 @ 4"]);
    assert_eq!(harness.state().session().lanes[1].hands, [hand(4, 0, Act::Move { row: 0, to: 100 })]);
}

#[test]
fn a_hand_makes_a_branch_whose_line_takes_it_away_again() {
    let params = Params::default().with("T", 256).with("dk", 8).with("dv", 8);
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
    let lola = Params::default().with("window", 32).with("chunk", 32).with("cache", 16);
    let lanes = vec![LaneSpec::new("LoLA", "lola", lola), LaneSpec::new("full", "full", Params::default())];
    let session = Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() };
    let mut harness = window_of(session, 1400.0);
    harness.state_mut().ask(TimeCommand::Seek(128).into());
    settle(&mut harness);
    let forget = hand(4, 0, Act::Forget);
    harness.state_mut().ask(SessionCommand::Hand { lane: 0, hand: forget }.into());
    settle(&mut harness);
    let names = |h: &Harness<'_, App>| h.state().runs().current().unwrap().plan.lanes.iter().map(|l| l.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&harness), ["LoLA", "LoLA · forget @ 4", "full"]);
    assert_eq!(harness.state().session().lanes[1].hands, [forget]);
    assert!(harness.query_by_label("forget the state at step 4").is_some(), "its line");
    harness.get_by_label("Do not forget the state at step 4 in LoLA · forget @ 4").click_accesskit();
    harness.run_steps(4);
    settle(&mut harness);
    assert!(harness.state().session().lanes[1].hands.is_empty());
    let run = harness.state().runs().current().unwrap();
    assert!(run.plan.lanes[1].setup.hands.is_empty() && run.plan.lanes.len() == 3);
}
