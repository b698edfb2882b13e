//! Hands in the window: a branch, its line in the list of lanes, and back.

#[path = "../common/window.rs"]
mod common;

use common::{settle, window_of};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use mnemoscope::app::App;
use mnemoscope::app::command::{SessionCommand, TimeCommand};
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

use super::*;

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
