//! Every panel on the bundled capture with real layers, in both themes: pictures that were looked at, and what a screen
//! reader and the pointer get.

#![cfg(feature = "gui")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use eframe::egui::{self, Theme, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::theme::{self, ThemeChoice};
use mnemoscope::engine::headless;
use mnemoscope::layer::{Setup, kind};
use mnemoscope::panel::{LaneLook, Look, PANELS, Panel, Selection};
use mnemoscope::param::{Params, Resolved};
use mnemoscope::session::plan::{Plan, PlanLane};
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, VERSION, View};
use mnemoscope::stream::Stream;
use mnemoscope::stream::capture::{BUNDLED, Capture};
use mnemoscope::trace::LaneTrace;

/// A plan and what its run wrote.
struct Run {
    plan: Arc<Plan>,
    traces: Vec<LaneTrace>,
}

fn lane(name: &str, layer: &str, params: Params) -> LaneSpec {
    LaneSpec { name: name.to_owned(), layer: layer.to_owned(), params, enabled: true }
}

fn plan(stream: Stream, source: CaptureSource, lanes: Vec<LaneSpec>) -> Plan {
    let stream = Arc::new(stream);
    let unit = Arc::new(stream.normalised());
    let lanes_made = lanes.iter().enumerate().map(|(index, spec)| {
        let kind = kind(&spec.layer).unwrap();
        let params = Resolved::new(&spec.name, kind.params(), &spec.params).unwrap();
        let chunk = kind.chunk(&params).unwrap_or(64);
        let own = if kind.wants_unit_vectors() { &unit } else { &stream };
        let setup = Setup { stream: Arc::clone(own), params, arrays: Arc::default(), chunk };
        kind.check(&setup).unwrap();
        let mut channels = kind.channels(&setup);
        let own_channels = channels.len();
        channels.extend(mnemoscope::metric::channels(&stream));
        PlanLane { name: spec.name.clone(), index, kind, setup, channels, own_channels, notes: Vec::new() }
    });
    let lanes_made: Vec<PlanLane> = lanes_made.collect();
    let step = lanes_made.iter().map(|l| l.setup.chunk).min().unwrap();
    let session =
        Session { version: VERSION, source: Source::Capture(source), seed: 0, lanes, backend: BackendChoice::Cpu, view: View::default() };
    Plan { session, stream, lanes: lanes_made, step }
}

/// The bundled needle prompt over four memories, as the program opens it.
static CAPTURE: LazyLock<Run> = LazyLock::new(|| {
    let source = CaptureSource { path: PathBuf::from(BUNDLED), layer: None, kv_heads: None, tokens: None };
    let stream = Capture::bundled().unwrap().stream(&source).unwrap();
    let lanes = vec![
        lane("OVQ", "ovq", Params::default().with("n_max", 512).with("chunk", 64)),
        lane("LoLA", "lola", Params::default().with("window", 64).with("cache", 128).with("chunk", 64)),
        lane("LoLCATs", "lola", Params::default().with("window", 64).with("cache", 0).with("chunk", 64)),
        lane("full", "full", Params::default()),
    ];
    let plan = Arc::new(plan(stream, source, lanes));
    let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
    Run { plan, traces: run.traces }
});

/// A panel with what it is given, and what it asked for last.
struct Shown<'a> {
    panel: Box<dyn Panel>,
    run: &'a Run,
    writes: usize,
    selection: Selection,
    lanes: Vec<usize>,
    commands: Vec<Command>,
}

impl<'a> Shown<'a> {
    fn new(name: &str, run: &'a Run) -> Self {
        let entry = PANELS.iter().find(|p| p.name == name).unwrap();
        let writes = run.plan.stream.writes();
        let lanes = (0..run.traces.len()).collect();
        Self { panel: (entry.make)(), run, writes, selection: Selection::default(), lanes, commands: Vec::new() }
    }

    fn ui(&mut self, ui: &mut egui::Ui) {
        let dark = ui.visuals().dark_mode;
        let looks: Vec<LaneLook<'_>> = self
            .lanes
            .iter()
            .map(|&i| LaneLook { plan: &self.run.plan.lanes[i], trace: &self.run.traces[i], colour: theme::lane_colour(i, dark) })
            .collect();
        let look = Look {
            plan: &self.run.plan,
            lanes: &looks,
            writes: self.writes,
            reached: self.run.plan.stream.writes(),
            kv_head: 0,
            query_head: 0,
            selection: self.selection,
        };
        self.commands.clear();
        egui::Frame::central_panel(ui.style()).show(ui, |ui| self.panel.ui(ui, &look, &mut self.commands));
    }
}

fn harness<'a>(shown: Shown<'a>, size: Vec2, dark: bool) -> Harness<'a, Shown<'a>> {
    let theme = if dark { Theme::Dark } else { Theme::Light };
    let choice = if dark { ThemeChoice::Dark } else { ThemeChoice::Light };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_pixels_per_point(1.5)
        .with_theme(theme)
        .with_max_steps(12)
        .with_context_setup(move |ctx| theme::install(ctx, choice, 1.0))
        .wgpu()
        .build_ui_state(|ui, shown: &mut Shown<'_>| shown.ui(ui), shown);
    harness.run();
    harness
}

/// The size at which a panel is usually shown.
fn usual(name: &str) -> Vec2 {
    if name == "recall" { vec2(300.0, 420.0) } else { vec2(560.0, 330.0) }
}

#[test]
fn every_panel_on_the_bundled_capture_in_both_themes() {
    let mut results = SnapshotResults::new();
    // A token of the needle, which SRE keeps.
    let needle =
        CAPTURE.plan.stream.labels().roles.marked.and_then(|m| CAPTURE.plan.stream.labels().roles.of_write.iter().position(|&r| r == m));
    for entry in PANELS {
        for dark in [false, true] {
            let mut shown = Shown::new(entry.name, &CAPTURE);
            shown.writes = 1600;
            shown.selection.token = needle.map(|n| n + 4);
            let mut harness = harness(shown, usual(entry.name), dark);
            let theme = if dark { "dark" } else { "light" };
            results.add(harness.try_snapshot(format!("panel_{}_{theme}", entry.name)));
        }
    }
}
