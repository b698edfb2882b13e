//! The sweep panel on a small task: pictures that were looked at in both themes, its form, and what a click opens.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui::{self, Vec2, accesskit::Role, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, SessionCommand};
use mnemoscope::app::states::States;
use mnemoscope::app::study::sweep::Ask;
use mnemoscope::app::study::{Studies, StudyCommand, Wake};
use mnemoscope::app::theme;
use mnemoscope::engine::sweep::{Axis, Spec};
use mnemoscope::panel::{LaneLook, Look, PANELS, Panel, Selection, WindowLane};
use mnemoscope::param::ParamValue;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{LaneSpec, Session, Source};
use mnemoscope::trace::LaneTrace;

const NEEDLES: &str = r#"(
    source: Task(name: "needles", params: {"T": 512, "needles": 16, "dk": 16, "dv": 16}),
    lanes: [
        (name: "OVQ", layer: "ovq", params: {"chunk": 32, "n_max": 64}),
        (name: "LoLA", layer: "lola", params: {"chunk": 32, "window": 32, "cache": 64}),
        (name: "linear", layer: "linear"),
        (name: "full", layer: "full"),
    ],
    backend: cpu,
)"#;

fn session() -> Session {
    Session::from_ron(NEEDLES, "test").unwrap()
}

/// The panel with what it is given, and what it asked for last.
struct Shown {
    panel: Box<dyn Panel>,
    plan: Arc<Plan>,
    traces: Vec<LaneTrace>,
    studies: Studies,
    commands: Vec<Command>,
}

impl Shown {
    /// The panel after a sweep of these axes, or before any.
    fn new(vary: &[&str], seeds: u64) -> Self {
        Self::of(&session(), vary, seeds)
    }

    /// The same of another session.
    fn of(session: &Session, vary: &[&str], seeds: u64) -> Self {
        let plan = Arc::new(Plan::new(session, None).unwrap());
        let mut studies = Studies::default();
        if !vary.is_empty() {
            let wake: Wake = Arc::new(|| {});
            let axes = vary.iter().map(|v| Axis::parse(session, v).unwrap()).collect();
            studies.sweep.start(Spec::new(axes, seeds).unwrap(), session, None, &wake);
            let start = Instant::now();
            while studies.sweep.running() && start.elapsed() < Duration::from_mins(2) {
                studies.receive();
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!((studies.sweep.running(), studies.sweep.error()), (false, None));
        }
        let entry = PANELS.iter().find(|p| p.name == "sweep").unwrap();
        let traces = plan.lanes.iter().map(mnemoscope::session::plan::PlanLane::trace).collect();
        Self { panel: (entry.make)(), plan, traces, studies, commands: Vec::new() }
    }

    /// Puts another session on screen.
    fn put(&mut self, session: &Session) {
        self.plan = Arc::new(Plan::new(session, None).unwrap());
        self.traces = self.plan.lanes.iter().map(mnemoscope::session::plan::PlanLane::trace).collect();
    }

    /// The session that was asked for last, by one command.
    fn asked(&mut self) -> (Source, u64, Vec<LaneSpec>) {
        match std::mem::take(&mut self.commands).as_slice() {
            [Command::Session(SessionCommand::Whole { source, seed, lanes })] => (source.clone(), *seed, lanes.clone()),
            commands => panic!("{commands:?}"),
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui) {
        let dark = ui.visuals().dark_mode;
        let look =
            |(i, trace)| LaneLook { plan: &self.plan.lanes[i], trace, spent: (0.0, 0), place: i, colour: theme::lane_colour(i, dark) };
        let lanes: Vec<LaneLook<'_>> = self.traces.iter().enumerate().map(look).collect();
        let look = Look {
            plan: &self.plan,
            session: &self.plan.session,
            lanes: &lanes,
            writes: 0,
            reached: 0,
            kv_head: 0,
            query_head: 0,
            selection: &Selection::default(),
            lane: WindowLane::default(),
            states: &States::default(),
            studies: &self.studies,
        };
        let frame = egui::Frame::central_panel(ui.style());
        let commands = &mut self.commands;
        frame.show(ui, |ui| self.panel.ui(ui, &look, commands));
    }
}

fn harness(shown: Shown, size: Vec2, dark: bool) -> Harness<'static, Shown> {
    panel::draw(shown, size, dark, Shown::ui)
}

const SIZE: Vec2 = vec2(620.0, 380.0);
const CURVE: [&str; 2] = ["OVQ.n_max=4..256:log2", "LoLA.cache=0,16,64,256"];
const GRID: [&str; 2] = ["LoLA.cache=0,8,32,128", "LoLA.window=8,32,128"];

fn choose(harness: &mut Harness<'_, Shown>, label: &str) {
    harness.get_all_by_label(label).next().unwrap().click();
    harness.run();
}

#[test]
fn every_view_in_both_themes() {
    let mut results = SnapshotResults::new();
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        let mut shown = harness(Shown::new(&CURVE, 3), SIZE, dark);
        results.add(shown.try_snapshot(format!("sweep_state_{theme}")));
        choose(&mut shown, "n_max");
        results.add(shown.try_snapshot(format!("sweep_parameter_{theme}")));
        let mut shown = harness(Shown::new(&GRID, 2), SIZE, dark);
        choose(&mut shown, "map");
        results.add(shown.try_snapshot(format!("sweep_map_{theme}")));
    }
}

#[test]
fn the_form_starts_what_it_says() {
    let mut shown = harness(Shown::new(&[], 1), SIZE, true);
    shown.get_by_label_contains("Choose what varies");
    shown.get_by_label("The first parameter: n_max");
    choose(&mut shown, "Start");
    let commands = std::mem::take(&mut shown.state_mut().commands);
    let [Command::Study(StudyCommand::Sweep(Ask::Start(spec)))] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!((spec.seeds, spec.axes.len(), spec.axes[0].param), (3, 1, "n_max"));
    assert_eq!(spec.axes[0], Axis::parse(&session(), "OVQ.n_max=8..512:log2").unwrap());
    choose(&mut shown, "and another");
    shown.get_by_label("The second parameter: cache");
    choose(&mut shown, "Start");
    let commands = std::mem::take(&mut shown.state_mut().commands);
    let [Command::Study(StudyCommand::Sweep(Ask::Start(spec)))] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(spec.axes.iter().map(|a| a.param).collect::<Vec<_>>(), ["n_max", "cache"]);
}

/// The plot's description and its place.
fn plot(harness: &Harness<'_, Shown>, start: &str) -> (String, egui::Rect) {
    let is_plot = |n: &egui_kittest::Node<'_>| n.accesskit_node().role() == Role::Image;
    let node =
        harness.get_all_by_role(Role::Image).find(|n| is_plot(n) && n.accesskit_node().label().is_some_and(|l| l.starts_with(start)));
    let node = node.unwrap();
    (node.accesskit_node().label().unwrap(), node.rect())
}

#[test]
fn a_point_is_told_on_hover_and_opens_as_lanes_on_click() {
    let mut shown = harness(Shown::new(&CURVE, 2), SIZE, false);
    choose(&mut shown, "n_max");
    let (text, rect) = plot(&shown, "Sweep, accuracy against n_max: 13 points; best ");
    assert!(text.contains("1.000"), "full attention answers everything: {text}");
    // n_max 256 is the last of the seven values, 4 the first; the axis has 4% of room at both ends, in the logarithm.
    let room = 64_f64.powf(0.04).ln();
    let share = (room + 64_f64.ln()) / (64_f64.ln() + 2.0 * room);
    let x = rect.left() + share as f32 * rect.width();
    let rows = shown.state().studies.sweep.rows().to_vec();
    let of = |n: i64| rows.iter().filter(move |r| r.lane == "OVQ" && r.varied[0].1 == ParamValue::Int(n));
    let tally = mnemoscope::engine::sweep::Tally::total(of(256).filter_map(|r| r.tally())).unwrap();
    let score = tally.summary().headline().unwrap();
    let y = rect.bottom() - (score / 1.05) as f32 * rect.height();
    shown.hover_at(egui::pos2(x, y));
    shown.run();
    shown.get_by_label("OVQ, n_max 256");
    for pressed in [true, false] {
        let pos = egui::pos2(x, y);
        shown.event(egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers: egui::Modifiers::NONE });
        shown.step();
    }
    let mut expected = session();
    expected.lanes[0].params.set("n_max", 256);
    // The name would say nothing of the new size otherwise.
    expected.lanes[0].name = "OVQ, n_max 256".to_owned();
    assert_eq!(shown.state_mut().asked(), (expected.source, 0, expected.lanes));
}

#[test]
fn a_point_of_another_task_is_opened_with_it_by_menu() {
    let mut shown = harness(Shown::new(&["task.needles=8,16", "OVQ.n_max=16"], 1), SIZE, true);
    choose(&mut shown, "Open a point of the sweep");
    let label = shown.state().studies.sweep.rows().iter().find(|r| r.lane == "OVQ").map(|r| r.varied.len());
    assert_eq!(label, Some(2));
    shown.get_all_by_label_contains("OVQ, task.needles 8, n_max 16: ").next().unwrap().click();
    shown.run();
    let (Source::Task(task), 0, lanes) = shown.state_mut().asked() else { panic!("a task with seed 0") };
    assert_eq!((task.params.get("needles"), task.params.get("T")), (Some(&ParamValue::Int(8)), Some(&ParamValue::Int(512))));
    assert_eq!(lanes[0].params.get("n_max"), Some(&ParamValue::Int(16)));
}

/// A session with nothing of the swept one.
fn other() -> Session {
    let text = r#"(source: Task(name: "multi_query", params: {}), seed: 7, lanes: [(name: "w", layer: "window")], backend: cpu)"#;
    Session::from_ron(text, "test").unwrap()
}

#[test]
fn results_of_another_session_say_so_and_open_their_own() {
    let mut shown = harness(Shown::new(&["OVQ.n_max=16,64"], 2), SIZE, true);
    shown.get_by_label_contains("needles, 2 seeds: on the front ");
    let loud = "Of needles, seed 0: not the session as set";
    assert!(shown.query_by_label_contains(loud).is_none());
    shown.state_mut().put(&other());
    shown.run();
    shown.get_by_label("Of needles, seed 0: not the session as set, which has multi_query, seed 7.");
    shown.get_by_label_contains("needles, 2 seeds: on the front ");
    choose(&mut shown, "Open a point of the sweep");
    shown.get_all_by_label_contains("OVQ, n_max 16: ").next().unwrap().click();
    shown.run();
    let (source, seed, lanes) = shown.state_mut().asked();
    let swept = session();
    assert_eq!((&source, seed, &lanes[1..]), (&swept.source, 0, &swept.lanes[1..]));
    assert_eq!((lanes[0].name.as_str(), lanes[0].params.get("n_max")), ("OVQ, n_max 16", Some(&ParamValue::Int(16))));
    // What was opened is of the sweep; only its seed could be another.
    shown.state_mut().put(&Session { source, seed, lanes, ..session() });
    shown.run();
    assert!(shown.query_by_label_contains(loud).is_none());
    choose(&mut shown, "Open a point of the sweep");
    choose(&mut shown, "the session as it was swept");
    assert_eq!(shown.state_mut().asked(), (swept.source, 0, swept.lanes));
}

#[test]
fn what_is_opened_can_run() {
    let text = r#"(
        source: Task(name: "needles", params: {"T": 1024, "needles": 8, "dk": 8, "dv": 8}),
        lanes: [(name: "OVQ 64", layer: "ovq", params: {"n_max": 64}), (name: "VQ 800", layer: "vq", params: {"codes": 800})],
        backend: cpu,
    )"#;
    let session = Session::from_ron(text, "test").unwrap();
    let mut shown = harness(Shown::of(&session, &["task.T=512,1024", "OVQ 64.n_max=32,64"], 1), SIZE, false);
    choose(&mut shown, "Open a point of the sweep");
    shown.get_all_by_label_contains("OVQ 64, task.T 512, n_max 32: ").next().unwrap().click();
    shown.run();
    let (source, seed, lanes) = shown.state_mut().asked();
    // 800 centroids cannot be fitted on 512 keys.
    assert_eq!(lanes.iter().map(|l| (l.name.as_str(), l.enabled)).collect::<Vec<_>>(), [("OVQ 32", true), ("VQ 800", false)]);
    shown.state_mut().put(&Session { source, seed, lanes, ..session });
    shown.run();
    shown.get_by_label("VQ 800 is switched off in what was opened: it cannot run there.");
}

#[test]
fn two_parameters_fit_into_a_cell_of_the_window() {
    let size = vec2(400.0, 250.0);
    let mut results = SnapshotResults::new();
    let mut shown = harness(Shown::new(&GRID, 2), size, true);
    for view in ["state size", "cache"] {
        choose(&mut shown, view);
        let (_, rect) = plot(&shown, "Sweep, accuracy against ");
        // Below the plot come the ticks' numbers and the axis' name, a row each of 11 points' letters.
        assert!(rect.height() > 60.0 && rect.bottom() + 30.0 < size.y, "{view}: {rect}");
    }
    results.add(shown.try_snapshot("sweep_low_dark"));
    // With all that can stand above it.
    let mut elsewhere = session();
    elsewhere.seed = 3;
    shown.state_mut().put(&elsewhere);
    shown.run();
    shown.get_by_label("Of needles, seed 0: not the session as set, which has seed 3.");
    let (_, rect) = plot(&shown, "Sweep, accuracy against ");
    assert!(rect.height() > 40.0 && rect.bottom() + 30.0 < size.y, "{rect}");
    results.add(shown.try_snapshot("sweep_low_elsewhere_dark"));
    choose(&mut shown, "Show what varies");
    shown.get_by_label("Values of the first parameter");
}

#[test]
fn what_cannot_run_is_counted_in_words() {
    let shown = harness(Shown::new(&["task.needles=16,4096"], 1), SIZE, false);
    shown.get_by_label("4 runs cannot be");
}
