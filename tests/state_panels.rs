//! The panels of a state and of any channel: on the bundled capture, on in-context recall and on a long stream, in both themes.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::path::Path;
use std::sync::LazyLock;

use eframe::egui::{self, Role, Vec2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::study::StudyCommand;
use mnemoscope::app::study::spectrum::Ask;
use mnemoscope::panel::Subject;
use mnemoscope::panel::channel::ChannelPanel;
use mnemoscope::param::Params;
use mnemoscope::session::{LaneSpec, Session};
use mnemoscope::widget::symlog::Symlog;
use panel::{Run, Shown, harness, task, wait, wake};

/// Runs a session with these lanes; the states after so many writes, and the singular values of its first lane.
fn run(session: Session, lanes: Vec<LaneSpec>, moments: &[usize]) -> Run {
    let mut run = Run::session(session, lanes).with_states(moments);
    run.studies.spectrum.start(&run.plan, &run.traces, 0, 0, &wake());
    wait(&mut run.studies, |s| s.spectrum.running());
    assert!(run.studies.spectrum.error().is_none());
    run
}

fn lola(cache: i64) -> Params {
    Params::default().with("window", 64).with("chunk", 64).with("cache", cache)
}

/// The bundled needle prompt of a real model. The moments are those that the tests look at.
static CAPTURE: LazyLock<Run> = LazyLock::new(|| {
    let lanes = vec![
        LaneSpec::new("LoLA", "lola", lola(128)),
        LaneSpec::new("linear", "linear", Params::default()),
        LaneSpec::new("delta", "deltanet", Params::default()),
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 256).with("chunk", 64)),
    ];
    run(Session::default(), lanes, &[1600, 2048])
});

static RECALL: LazyLock<Run> = LazyLock::new(|| {
    let session = Session::open(Path::new("sessions/in_context_recall.ron")).unwrap();
    let sharp = Params::default().with("fmap", "hedgehog").with("sharpness", 20.0);
    let lanes = vec![LaneSpec::new("linear", "linear", sharp), LaneSpec::new("gated", "gated_deltanet", Params::default())];
    run(session, lanes, &[3072, 4096])
});

/// A long stream of small keys.
static LONG: LazyLock<Run> = LazyLock::new(|| {
    let params = Params::default().with("T", 65_536).with("dk", 8).with("dv", 8);
    let session = Session { source: task("needles", params), ..Session::default() };
    let sharp = |p: Params| p.with("fmap", "hedgehog").with("sharpness", 20.0);
    let lanes = vec![LaneSpec::new("linear", "linear", sharp(Params::default())), LaneSpec::new("LoLA", "lola", sharp(lola(64)))];
    run(session, lanes, &[50_048])
});

/// The state panel on a run.
fn of_state(run: &Run) -> Shown<'_> {
    Shown::new("state", run).studied()
}

/// A channel of a lane.
fn of_channel<'a>(run: &'a Run, channel: &'static str, lane: usize) -> Shown<'a> {
    let mut shown = Shown::with(Box::new(ChannelPanel::showing(channel)), run).studied();
    shown.lanes = vec![lane];
    shown
}

const SIZE: Vec2 = vec2(560.0, 330.0);
const VIEWS: [&str; 4] = ["Heatmap", "Spectrum", "Collisions", "Normaliser"];

fn label(harness: &Harness<'_, Shown<'_>>, part: &str) -> String {
    harness.get_by_label_contains(part).accesskit_node().label().unwrap()
}

fn click(harness: &mut Harness<'_, Shown<'_>>, pos: egui::Pos2) {
    for pressed in [true, false] {
        harness.event(egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers: egui::Modifiers::NONE });
        harness.step();
    }
}

#[test]
fn every_view_of_a_state_in_both_themes() {
    let mut results = SnapshotResults::new();
    for (name, run, writes) in [("capture", &*CAPTURE, 1600), ("recall", &RECALL, 3072), ("long", &LONG, 50_048)] {
        for dark in [false, true] {
            for view in VIEWS {
                let mut shown = of_state(run);
                shown.writes = writes;
                let mut harness = harness(shown, SIZE, dark);
                harness.get_by_label(view).click();
                harness.run();
                let theme = if dark { "dark" } else { "light" };
                results.add(harness.try_snapshot(format!("state_{name}_{}_{theme}", view.to_lowercase())));
            }
        }
    }
}

#[test]
fn every_kind_of_channel_in_both_themes() {
    let mut results = SnapshotResults::new();
    let cases = [("outputs", 1), ("candidates", 0), ("candidate_scores", 0), ("threshold", 0), ("write_error", 2), ("assignments", 3)];
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        for (channel, lane) in cases {
            let mut shown = of_channel(&CAPTURE, channel, lane);
            shown.writes = 1600;
            results.add(harness(shown, SIZE, dark).try_snapshot(format!("channel_{channel}_{theme}")));
        }
        results.add(harness(of_channel(&LONG, "candidate_scores", 1), SIZE, dark).try_snapshot(format!("channel_long_{theme}")));
    }
}

#[test]
fn small_cells_still_make_sense() {
    let mut results = SnapshotResults::new();
    let small = vec2(300.0, 150.0);
    for view in VIEWS {
        let mut shown = of_state(&CAPTURE);
        shown.writes = 1600;
        let mut harness = harness(shown, small, true);
        panel::choose_view(&mut harness, view);
        // The pointer goes away: what it is over would be in the picture.
        harness.event(egui::Event::PointerGone);
        harness.run();
        results.add(harness.try_snapshot(format!("state_small_{}", view.to_lowercase())));
    }
    results.add(harness(of_channel(&CAPTURE, "outputs", 1), small, true).try_snapshot("channel_small"));
}

#[test]
fn the_heatmap_is_the_engines_state_to_the_last_digit() {
    let run = &*CAPTURE;
    let mut shown = of_state(run);
    (shown.writes, shown.lanes) = (1600, vec![1]);
    let mut harness = harness(shown, SIZE, true);
    let state = &run.states.iter().find(|(at, _)| *at == (1, 25)).unwrap().1;
    let (h, s) = (state.array("state").unwrap(), state.array("normaliser").unwrap());
    assert_eq!(h.shape[1..], [64, 64]);
    let rect = harness.get_by_label_contains("State H of lane linear after 25 of its chunks: 64 rows, 64 columns").rect();
    // Feature 3, value component 17: rows count from the bottom.
    harness.hover_at(egui::pos2(rect.left() + 17.5 / 64.0 * rect.width(), rect.bottom() - 3.5 / 64.0 * rect.height()));
    harness.run();
    harness.get_by_label("H[3, 17]");
    harness.get_by_label(&(h.values.get(3 * 64 + 17).unwrap() as f32).to_string());
    harness.get_by_label(&(s.values.get(3).unwrap() as f32).to_string());
    // A moment that nobody has computed: the nearest before it, with its own step said.
    harness.state_mut().writes = 2000;
    harness.run();
    harness.get_by_label_contains("after step 24; the playhead's is being computed.");
    harness.state_mut().writes = 0;
    harness.run();
    harness.get_by_label("No chunk has been read yet: H is zero.");
}

#[test]
fn a_symmetric_logarithm_says_its_threshold_and_leaves_the_numbers_exact() {
    let run = &*CAPTURE;
    let state = &run.states.iter().find(|(at, _)| *at == (0, 25)).unwrap().1;
    let h = &state.array("state").unwrap().values;
    let most = (0..64 * 64).map(|i| (h.get(i).unwrap() as f32).abs()).fold(0.0, f32::max);
    // Three powers of ten below the largest.
    let words = Symlog::suited(most).words();
    let mut results = SnapshotResults::new();
    for dark in [false, true] {
        let mut shown = of_state(run);
        shown.writes = 1600;
        let mut harness = harness(shown, SIZE, dark);
        harness.get_by_label("symlog").click();
        harness.run();
        harness.get_by_label(&format!("Colours of H: {words}"));
        harness.remove_cursor();
        harness.run();
        results.add(harness.try_snapshot(format!("state_symlog_{}", if dark { "dark" } else { "light" })));
        let rect = harness.get_by_label_contains("State H of lane LoLA after 25 of its chunks").rect();
        harness.hover_at(egui::pos2(rect.left() + 17.5 / 64.0 * rect.width(), rect.bottom() - 3.5 / 64.0 * rect.height()));
        harness.run();
        harness.get_by_label(&(h.get(3 * 64 + 17).unwrap() as f32).to_string());
        harness.get_by_label(&words);
        // And back to the range.
        harness.get_by_role_and_label(Role::Button, "linear").click();
        harness.run();
        harness.get_by_label_contains("Histogram of H:");
    }
}

#[test]
fn the_spectrum_says_what_the_study_found_before_the_playhead() {
    let run = &*CAPTURE;
    let mut shown = of_state(run);
    shown.writes = 1600;
    let mut harness = harness(shown, SIZE, true);
    harness.get_by_label("Spectrum").click();
    harness.run();
    let finding = run.studies.spectrum.of(&run.plan, 0, 0).unwrap();
    let sample = finding.samples.iter().rfind(|s| s.chunks <= 25).unwrap();
    let rank = mnemoscope::widget::ticks::number(sample.effective_rank);
    let said = label(&harness, "Rank of the state of lane LoLA");
    assert!(said.ends_with(&format!("; after step 24 the effective rank is {rank}")), "{said}");
    // The norm of the replayed state is that of the engine's own.
    let state = &run.states.iter().find(|(at, _)| *at == (0, 25)).unwrap().1;
    let values = &state.array("state").unwrap().values;
    let norm = (0..64 * 64).map(|i| values.get(i).unwrap().powi(2)).sum::<f64>().sqrt();
    assert!((sample.frobenius - norm).abs() < 1e-4 * norm, "{} {norm}", sample.frobenius);
    // Another lane has not been looked at: it is asked for, and nothing of the first is drawn.
    harness.state_mut().lanes = vec![2];
    harness.run();
    harness.get_by_label("The singular values are being sought.");
    assert_eq!(harness.state().commands, [Command::Study(StudyCommand::Spectrum(Ask::Follow { lane: 2, head: 0 }))]);
}

#[test]
fn the_spectrum_of_a_sample_says_which_step_it_is_of() {
    let run = &*LONG;
    let finding = run.studies.spectrum.of(&run.plan, 0, 0).unwrap();
    assert!(finding.planned < finding.chunks, "an even sample, not every step");
    // A playhead that stands one step after a sample, where there is none.
    let place = finding.samples.windows(2).rposition(|two| two[1].chunks > two[0].chunks + 1).unwrap();
    let sample = &finding.samples[place];
    let lane = &run.plan.lanes[0];
    let mut shown = of_state(run);
    (shown.lanes, shown.writes) = (vec![0], (sample.chunks + 1) * lane.setup.chunk);
    let mut harness = harness(shown, SIZE, true);
    harness.get_by_label("Spectrum").click();
    harness.run();
    let after = mnemoscope::panel::common::chunk_short(&run.plan, lane, sample.chunks - 1);
    for (plot, figure, value) in [("Size", "norm", sample.frobenius), ("Rank", "effective rank", sample.effective_rank)] {
        let said = label(&harness, &format!("{plot} of the state of lane linear"));
        let value = mnemoscope::widget::ticks::number(value);
        assert!(said.ends_with(&format!("; after {after} the {figure} is {value}")), "{said}");
        assert!(!said.contains("playhead"), "{said}");
    }
}

#[test]
fn collisions_are_of_the_group_and_a_click_selects() {
    let mut shown = of_state(&CAPTURE);
    shown.selection.choose_group(&[5, 700, 701, 1900]);
    shown.writes = 1600;
    let mut harness = harness(shown, SIZE, false);
    harness.get_by_label("Collisions").click();
    harness.run();
    harness.get_by_label_contains("3 selected tokens; phi = elu1 (64 features)");
    let rect = harness.get_by_label_contains("Collisions of 3 tokens in lane LoLA").rect();
    // The second row from the top, in the second column: the token with itself.
    harness.hover_at(rect.center());
    harness.run();
    harness.get_by_label("1.000000");
    assert_eq!(harness.state().commands, [Command::View(ViewCommand::Hover(700))]);
    click(&mut harness, rect.center());
    assert!(harness.state().commands.contains(&Command::View(ViewCommand::Select(Some(700)))), "{:?}", harness.state().commands);
    // Held, the tokens stay when the group goes.
    harness.get_by_label("hold").click();
    harness.run();
    harness.state_mut().selection.clear();
    harness.run();
    harness.get_by_label_contains("3 tokens held");
    harness.get_by_label("hold").click();
    harness.run();
    harness.get_by_label_contains("21 needle tokens and ");
}

#[test]
fn the_pairs_that_collide_most_stand_beside_the_matrix_and_are_links() {
    let mut shown = of_state(&CAPTURE);
    shown.selection.choose_group(&[5, 700, 701]);
    shown.writes = 1600;
    let mut wide = harness(shown, vec2(760.0, 330.0), false);
    wide.get_by_label("Collisions").click();
    wide.run();
    wide.get_by_label("largest cosines of two");
    // Three tokens are three pairs: each is named twice.
    let texts = CAPTURE.plan.stream.labels().tokens.clone().unwrap();
    let name = mnemoscope::panel::common::quoted(&texts[700]);
    assert_eq!(wide.query_all_by_label(&format!("{name} 700")).count(), 2);
    wide.get_all_by_label(&format!("{name} 700")).next().unwrap().click();
    wide.run();
    let chosen = Command::View(ViewCommand::Choose(Subject::Token(700)));
    assert!(wide.state().all.contains(&chosen), "{:?}", wide.state().all);
    // In a narrow panel the matrix has all there is.
    let mut narrow = harness(of_state(&CAPTURE), vec2(320.0, 330.0), false);
    panel::choose_view(&mut narrow, "Collisions");
    narrow.run();
    assert!(narrow.query_by_label("largest cosines of two").is_none());
}

#[test]
fn a_layer_without_a_feature_map_says_what_stands_in_for_it() {
    let mut delta = of_state(&CAPTURE);
    delta.lanes = vec![2];
    let mut harness = harness(delta, SIZE, false);
    harness.get_by_label("Collisions").click();
    harness.run();
    harness.get_by_label_contains("phi(k) = k / |k|: no feature map");
}

#[test]
fn the_normalisers_of_a_lane_are_those_it_recorded() {
    let run = &*CAPTURE;
    let Some(channel) = run.traces[1].channel("read_normaliser") else { return };
    let mut shown = of_state(run);
    (shown.writes, shown.lanes) = (1600, vec![1]);
    let mut harness = harness(shown, SIZE, true);
    harness.get_by_label("Normaliser").click();
    harness.run();
    let numbers = &channel.reals(0)[..1600];
    let least = numbers.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let said = label(&harness, "Normaliser of 1600 of 2048 reads of lane linear");
    let smallest = mnemoscope::widget::ticks::number(f64::from(least.1));
    assert!(
        said.contains("lowest 1%: 16 reads of 1600") && said.contains(&format!("the smallest {smallest} at read {}", least.0)),
        "{said}"
    );
    harness.state_mut().lanes = vec![2];
    harness.run();
    harness.get_by_label_contains("This lane records no normaliser");
}

#[test]
fn a_channel_is_exact_on_hover_and_a_click_selects_its_entry() {
    let run = &*CAPTURE;
    let mut shown = of_channel(run, "outputs", 1);
    shown.writes = 1600;
    let mut harness = harness(shown, SIZE, true);
    let rect = harness.get_by_label_contains("Map of output of lane linear: 1600 of 2048 reads, 64 rows").rect();
    let (read, component) = (800, 40);
    let at = egui::pos2(
        rect.left() + (read as f32 + 0.5) / 2048.0 * rect.width(),
        rect.bottom() - (component as f32 + 0.5) / 64.0 * rect.height(),
    );
    harness.hover_at(at);
    harness.run();
    let value = run.traces[1].channel("outputs").unwrap().reals_at(0, read)[component];
    harness.get_by_label(&format!("{value} value units"));
    click(&mut harness, at);
    assert!(harness.state().commands.contains(&Command::View(ViewCommand::SelectRead(Some(read)))), "{:?}", harness.state().commands);
    harness.hover_at(egui::pos2(rect.right() - 3.0, rect.center().y));
    harness.run();
    harness.get_by_label("after the playhead");
}

#[test]
fn what_is_no_number_is_counted_and_steps_can_be_chosen() {
    let run = &*CAPTURE;
    let threshold = run.traces[0].channel("threshold").unwrap();
    let nan = (0..threshold.heads()).map(|h| threshold.reals(h).iter().filter(|t| t.is_nan()).count()).sum::<usize>();
    assert!(nan > 0, "while the cache is not full there is no threshold");
    let mut harness = harness(of_channel(run, "threshold", 0), SIZE, false);
    harness.get_by_label(&format!("{nan} NaN"));
    let rect = harness.get_by_label_contains("Line of admission threshold of lane LoLA, head 0: 32 of 32 steps").rect();
    let at = egui::pos2(rect.left() + 20.5 / 32.0 * rect.width(), rect.center().y);
    harness.hover_at(at);
    harness.run();
    harness.get_by_label("step 20");
    harness.get_by_label(&format!("{} squared value units", threshold.reals(0)[20]));
    click(&mut harness, at);
    assert!(harness.state().commands.contains(&Command::View(ViewCommand::Choose(Subject::Step(20)))), "{:?}", harness.state().commands);
}

#[test]
fn the_range_is_moved_by_keys_and_the_pointer_and_put_back() {
    let mut shown = of_state(&CAPTURE);
    (shown.writes, shown.lanes) = (1600, vec![1]);
    let mut harness = harness(shown, SIZE, true);
    harness.get_by_role_and_label(Role::Button, "linear").click();
    harness.run();
    let range = |harness: &Harness<'_, Shown<'_>>| {
        let said = label(harness, "Histogram of H: 4096 finite numbers from ");
        said.split_once("; colours from ").unwrap().1.to_owned()
    };
    let first = range(&harness);
    assert!(first.ends_with("symmetric about 0"), "{first}");
    harness.get_by_label("upper handle, H").focus();
    harness.step();
    harness.key_press(egui::Key::ArrowLeft);
    harness.run();
    let moved = range(&harness);
    assert_ne!(moved, first);
    let handle = harness.get_by_label("upper handle, H").rect().center();
    harness.drag_at(handle);
    harness.step();
    harness.hover_at(handle - vec2(20.0, 0.0));
    harness.step();
    harness.drop_at(handle - vec2(20.0, 0.0));
    harness.run();
    assert_ne!(range(&harness), moved);
    harness.get_by_label("symmetric").click();
    harness.run();
    harness.get_by_label("Reset").click();
    harness.run();
    assert_eq!(range(&harness), first);
}

#[test]
fn panels_are_sound_at_every_step_and_size() {
    for size in [vec2(120.0, 90.0), vec2(300.0, 150.0), vec2(420.0, 260.0)] {
        for view in VIEWS {
            let mut shown = of_state(&CAPTURE);
            shown.selection.token = Some(700);
            let mut harness = harness(shown, SIZE, false);
            panel::choose_view(&mut harness, view);
            harness.step();
            harness.state_mut().within = Some(size);
            for writes in [0, 1, 64, 65, 1000, 2047, 2048, 512, 0] {
                harness.state_mut().writes = writes;
                harness.step();
            }
        }
    }
    for (lane, trace) in CAPTURE.traces.iter().enumerate() {
        for channel in trace.channels() {
            let mut harness = harness(of_channel(&CAPTURE, channel.spec().name, lane), vec2(300.0, 150.0), false);
            for writes in [0, 1, 64, 1000, 2048] {
                harness.state_mut().writes = writes;
                harness.step();
            }
        }
    }
}

#[test]
#[ignore = "prints times; for a person, in a release build"]
fn times_on_a_long_stream() {
    let mut cases: Vec<(String, Shown<'_>, Option<&str>)> =
        VIEWS.iter().map(|v| (format!("state {v}"), of_state(&LONG), Some(*v))).collect();
    cases.extend(["candidate_scores", "candidates", "threshold"].map(|c| (format!("channel {c}"), of_channel(&LONG, c, 1), None)));
    for (name, shown, view) in cases {
        let mut harness = harness(shown, SIZE, true);
        if let Some(view) = view {
            harness.get_by_label(view).click();
            harness.run();
        }
        let mut time = |before: &dyn Fn(&mut Shown<'_>, usize)| {
            let mut all: Vec<f64> = (0..60)
                .map(|frame| {
                    before(harness.state_mut(), frame);
                    harness.step();
                    harness.state().spent.as_secs_f64() * 1e3
                })
                .collect();
            all.sort_by(f64::total_cmp);
            all[30]
        };
        let rest = time(&|_, _| {});
        let playing = time(&|shown, frame| shown.writes = 20_000 + 64 * frame);
        println!("{name:24} at rest {rest:.3} ms, playing {playing:.3} ms");
    }
}
