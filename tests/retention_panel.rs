//! The retention panel, the study behind it, and what the scores panel says of a cache that was filled blindly: on needles.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use eframe::egui::{self, Vec2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::state::Runs;
use mnemoscope::app::study::retention::Ask;
use mnemoscope::app::study::{Studies, StudyCommand};
use mnemoscope::metric::retention::{Follow, Which};
use mnemoscope::param::Params;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, LaneSpec, Session};
use panel::{Run, Shown, harness, wait, wake};

fn follow(plan: &Arc<Plan>, studies: &mut Studies, follow: Follow) {
    let mut runs = Runs::default();
    runs.start(Arc::clone(plan));
    runs.present(0);
    studies.command(StudyCommand::Retention(Ask::Follow(follow)), &runs, &plan.session, None, &wake());
}

fn needles(lanes: impl Fn(&mut Vec<LaneSpec>)) -> Plan {
    let mut session = Session::open(Path::new("sessions/needles.ron")).unwrap();
    session.backend = BackendChoice::Cpu;
    let hedgehog = |cache: i64| {
        Params::default().with("window", 256).with("chunk", 64).with("fmap", "hedgehog").with("sharpness", 20.0).with("cache", cache)
    };
    session.lanes = vec![
        LaneSpec::new("full", "full", Params::default()),
        LaneSpec::new("OVQ 1024", "ovq", Params::default().with("n_max", 1024).with("chunk", 128)),
        LaneSpec::new("LoLA", "lola", hedgehog(64)),
        LaneSpec::new("LoLCATs", "lola", hedgehog(0)),
        LaneSpec::new("linear", "linear", Params::default().with("fmap", "elu1")),
    ];
    lanes(&mut session.lanes);
    Plan::new(&session, None).unwrap()
}

/// The needles of the session that is shipped, over five memories.
static NEEDLES: LazyLock<Run> = LazyLock::new(|| {
    let mut run = Run::on(needles(|_| {}));
    follow(&run.plan, &mut run.studies, Follow::default());
    wait(&mut run.studies, |s| s.retention.running());
    run
});

const SIZE: Vec2 = vec2(620.0, 420.0);

#[test]
fn the_map_shows_lola_keeping_the_needles_and_lolcats_losing_them() {
    let mut results = SnapshotResults::new();
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        for (view, name) in [("Map", "map"), ("By age", "age"), ("Score and loss", "score")] {
            let mut harness = harness(Shown::new("retention", &NEEDLES).studied(), SIZE, dark);
            harness.get_by_label(view).click();
            harness.run();
            results.add(harness.try_snapshot(format!("retention_needles_{name}_{theme}")));
        }
    }
    let harness = harness(Shown::new("retention", &NEEDLES).studied(), SIZE, true);
    let said = |lane: &str| {
        let start = format!("Retention of 96 tokens in lane {lane}: median error now: needle ");
        let label = harness.get_by_label_contains(&start).accesskit_node().label().unwrap();
        label[start.len()..].split(',').next().unwrap().replace('−', "-").parse::<f64>().unwrap()
    };
    assert!(said("full") < 0.05 && said("LoLA") < 0.05, "{} {}", said("full"), said("LoLA"));
    assert!(said("LoLCATs") > 0.5 && said("linear") > 0.5, "{} {}", said("LoLCATs"), said("linear"));
}

#[test]
fn the_errors_of_the_map_are_those_that_hover_and_playhead_tell() {
    let map = &NEEDLES.studies.retention.of(&NEEDLES.plan).unwrap().map;
    let column = 31;
    let write = map.probes().columns()[column].writes;
    let mut shown = Shown::new("retention", &NEEDLES).studied();
    shown.writes = write + 10;
    let mut harness = harness(shown, SIZE, true);
    // The row at the bottom: by role, the last of the hay.
    let rect = harness.get_by_label_contains("Retention of 96 tokens in lane OVQ").rect();
    let token = map.probes().tokens().len() - 1;
    assert!(map.probes().tokens()[token] > write, "it is not written yet");
    let x = |step: f32| rect.left() + (step / 64.0) * rect.width();
    harness.hover_at(egui::pos2(x(31.5), rect.bottom() - 0.4));
    harness.run();
    assert_eq!(harness.get_all_by_label("not written yet").count(), 2, "in the legend, and at the pointer");
    let first = NEEDLES.plan.stream.labels().roles.of_write.iter().position(|&r| r == 1).unwrap();
    assert_eq!(map.probes().tokens().iter().position(|&t| t == first), map.probes().tokens().binary_search(&first).ok());
    harness.hover_at(egui::pos2(x(31.5), rect.top() + 1.0));
    harness.run();
    assert_eq!(harness.state().commands.first(), Some(&Command::View(ViewCommand::Hover(first))), "the first needle's row is on top");
    let ovq = NEEDLES.plan.lanes.iter().position(|l| l.name == "OVQ 1024").unwrap();
    match map.error(ovq, 0, column, map.probes().tokens().binary_search(&first).unwrap()) {
        Some(error) => drop(harness.get_by_label(&mnemoscope::widget::ticks::number(f64::from(error)))),
        None => drop(harness.get_by_label("not written yet")),
    }
    harness.hover_at(egui::pos2(x(50.0), rect.top() + 1.0));
    harness.run();
    harness.get_by_label("after the playhead");
}

#[test]
fn a_map_is_asked_for_once_and_an_earlier_runs_is_not_drawn() {
    let plan = needles(|lanes| lanes.truncate(1));
    let traces = vec![plan.lanes[0].trace()];
    let run = Run::of(Arc::new(plan), traces);
    let mut harness = harness(Shown::new("retention", &run), SIZE, true);
    // One full lane is little work: it was asked for in the first frame, and not again.
    harness.get_by_label_contains("Not followed yet. 96 tokens at every step: ");
    harness.step();
    assert_eq!(harness.state().commands, []);
    harness.get_by_label("Follow").click();
    harness.run();
    drop(harness);
    let mut shown = Shown::new("retention", &run);
    shown.found = Some(&NEEDLES.studies);
    let mut frames = Vec::new();
    let mut harness = Harness::builder().with_size(SIZE).build_ui_state(
        |ui, shown: &mut Shown<'_>| {
            shown.ui(ui);
            frames.push(shown.commands.clone());
        },
        shown,
    );
    harness.run();
    harness.get_by_label_contains("The map that was made belongs to an earlier run.");
    drop(harness);
    let asked = frames.iter().flatten().filter(|c| matches!(c, Command::Study(StudyCommand::Retention(Ask::Follow(_))))).count();
    let quick = NEEDLES.studies.retention.quick().unwrap();
    assert_eq!(asked, usize::from(quick), "a quick map is made again by itself, once");
}

#[test]
fn a_study_can_be_stopped_and_keeps_what_it_found() {
    let plan = Arc::new(needles(|_| {}));
    let mut studies = Studies::default();
    follow(&plan, &mut studies, Follow { which: Which::Even, count: 512, seed: 0 });
    let start = Instant::now();
    while studies.retention.of(&plan).unwrap().map.done(0) == 0 && start.elapsed() < Duration::from_mins(1) {
        studies.receive();
        std::thread::sleep(Duration::from_millis(1));
    }
    let runs = Runs::default();
    studies.command(StudyCommand::Retention(Ask::Stop), &runs, &plan.session, None, &wake());
    wait(&mut studies, |s| s.retention.running());
    let finding = studies.retention.of(&plan).unwrap();
    assert!(finding.map.done(0) > 0 && finding.done.is_none() && studies.retention.error().is_none());
    assert!(studies.retention.quick().is_none(), "a stopped map says nothing of how long one takes");
}

#[test]
fn the_panel_is_sound_at_every_step_and_size_and_quick() {
    for view in ["Map", "By age", "Score and loss"] {
        for size in [vec2(160.0, 110.0), vec2(420.0, 260.0), SIZE] {
            let mut shown = Shown::new("retention", &NEEDLES).studied();
            shown.selection.token = Some(2000);
            let mut harness = harness(shown, SIZE, false);
            panel::choose_view(&mut harness, view);
            harness.step();
            harness.state_mut().within = Some(size);
            for writes in [0, 1, 63, 64, 65, 2000, 4095, 4096, 512] {
                harness.state_mut().writes = writes;
                harness.step();
            }
            let mut spent: Vec<Duration> = (0..20)
                .map(|_| {
                    harness.step();
                    harness.state().spent
                })
                .collect();
            spent.sort();
            println!("{view} {size}: {:?}", spent[10]);
        }
    }
}

#[test]
fn the_scores_panel_says_how_a_large_cache_was_filled() {
    // TASKS.md: T/8 = 512 pairs do worse than 64.
    let plan = needles(|lanes| {
        lanes.retain(|l| l.name == "LoLA");
        lanes[0].params = lanes[0].params.clone().with("cache", 512);
    });
    let run = Run::on(plan);
    let mut shown = Shown::new("sre", &run);
    // Window 256 and chunk 64: writes leave from step 4 on, 64 a step, so the cache is full after step 11.
    shown.writes = 10 * 64;
    let mut harness = harness(shown, vec2(560.0, 330.0), true);
    let empty = "The state is empty: it recalls zero, so every score is |v|^2 = 1.00; equal scores keep the older writes.";
    harness.get_by_label(empty);
    // Step 12 is the first that folds; it still scores against nothing. From step 13 on there is something to score against.
    harness.state_mut().writes = 13 * 64;
    harness.run();
    harness.get_by_label(empty);
    harness.state_mut().writes = 14 * 64;
    harness.run();
    assert!(harness.query_by_label(empty).is_none());
    let said = |harness: &Harness<'_, Shown<'_>>| {
        let label =
            harness.get_by_label_contains("were admitted while the state was empty (steps 4 to 12)").accesskit_node().value().unwrap();
        label.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    println!("at step 13 {} of 512", said(&harness));
    assert!(said(&harness) > 384, "{}", said(&harness));
    let mut results = SnapshotResults::new();
    results.add(harness.try_snapshot("sre_large_cache_dark"));
    harness.state_mut().writes = 4096;
    harness.run();
    // Almost all are copies of two of the sixteen sentences (which, ties decide): none of them was ever folded.
    let crowds = harness.get_by_label_contains("Of 512 cached pairs ").accesskit_node().value().unwrap();
    let words: Vec<&str> = crowds.split(' ').collect();
    let of: Vec<usize> = words.windows(2).filter(|w| w[1] == "are").map(|w| w[0].parse().unwrap()).collect();
    assert!(of.len() == 2 && of.iter().sum::<usize>() > 400, "{crowds}");
    assert_eq!(crowds.matches("(0 in the state)").count(), 2, "{crowds}");
    results.add(harness.try_snapshot("sre_large_cache_end_dark"));
}
