//! Hands in the window: a branch, its line in the list of lanes, and back.

use std::time::{Duration, Instant};

use eframe::egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use mnemoscope::app::command::{SessionCommand, TimeCommand};
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::app::{App, Options};
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

use super::*;

fn settle(harness: &mut Harness<'_, App>) {
    let start = Instant::now();
    loop {
        harness.step();
        if harness.state().at_rest() {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(4), "the window does not come to rest");
        std::thread::sleep(Duration::from_millis(5));
    }
    harness.run_steps(4);
}

#[test]
fn a_hand_makes_a_branch_whose_line_takes_it_away_again() {
    let params = Params::default().with("T", 256).with("dk", 8).with("dv", 8);
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
    let lola = Params::default().with("window", 32).with("chunk", 32).with("cache", 16);
    let lanes = vec![LaneSpec::new("LoLA", "lola", lola), LaneSpec::new("full", "full", Params::default())];
    let session = Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() };
    let options = Options { preferences: None, theme: Some(ThemeChoice::Dark), without_times: true };
    let builder = Harness::builder().with_size(vec2(1440.0, 1400.0)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options).unwrap());
    settle(&mut harness);
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
