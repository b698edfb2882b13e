//! A panel alone in a window of its own, as the tests of panels draw it: what it is given, what it asks for.
#![allow(dead_code, reason = "not every file of tests needs all of it")]

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use eframe::egui::{Context, Frame, Rect, Theme, Ui, UiBuilder, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use mnemoscope::app::command::Command;
use mnemoscope::app::states::{At, States};
use mnemoscope::app::study::{Studies, Wake};
use mnemoscope::app::theme::{self, ThemeChoice};
use mnemoscope::engine::headless;
use mnemoscope::layer::{Precision, Record, Snapshot};
use mnemoscope::panel::{LaneLook, Look, PANELS, Panel, Selection, WindowLane};
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use mnemoscope::trace::{LaneTrace, TraceBlock};

/// Draws `shown` with `ui` in points of 1.5 pixels, and lets it settle.
pub fn draw<'a, S: 'a>(shown: S, size: Vec2, dark: bool, ui: impl Fn(&mut S, &mut Ui) + 'a) -> Harness<'a, S> {
    let (theme, choice) = if dark { (Theme::Dark, ThemeChoice::Dark) } else { (Theme::Light, ThemeChoice::Light) };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_pixels_per_point(1.5)
        .with_theme(theme)
        .with_max_steps(12)
        .with_context_setup(move |ctx| theme::install(ctx, choice, 1.0))
        .wgpu()
        .build_ui_state(move |at, shown: &mut S| ui(shown, at), shown);
    harness.run();
    harness
}

/// The capture inside the program.
pub fn bundled() -> Source {
    Source::Capture(CaptureSource::bundled())
}

/// A task with these parameters.
pub fn task(name: &str, params: mnemoscope::param::Params) -> Source {
    Source::Task(TaskSource { name: name.to_owned(), params })
}

/// For studies that nobody has to be woken for.
pub fn wake() -> Wake {
    Arc::new(|| {})
}

/// Takes in what studies find for as long as one is `running`.
pub fn wait(studies: &mut Studies, running: impl Fn(&Studies) -> bool) {
    let start = Instant::now();
    while running(studies) {
        assert!(start.elapsed() < Duration::from_mins(5), "a study does not end");
        studies.receive();
        std::thread::sleep(Duration::from_millis(1));
    }
    studies.receive();
}

/// A plan, what its run wrote, the exact states at some moments as the engine would give them, and what studies have found of it.
pub struct Run {
    pub plan: Arc<Plan>,
    pub traces: Arc<Vec<LaneTrace>>,
    pub states: Vec<(At, Arc<Snapshot>)>,
    pub studies: Studies,
}

impl Run {
    /// A plan with these traces.
    pub fn of(plan: Arc<Plan>, traces: Vec<LaneTrace>) -> Self {
        Self { plan, traces: Arc::new(traces), states: Vec::new(), studies: Studies::default() }
    }

    /// A plan run to its end on the CPU.
    pub fn on(plan: Plan) -> Self {
        let plan = Arc::new(plan);
        let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        Self::of(plan, run.traces)
    }

    /// A session with other lanes, run to its end on the CPU.
    pub fn session(session: Session, lanes: Vec<LaneSpec>) -> Self {
        Self::on(Plan::new(&Session { lanes, backend: BackendChoice::Cpu, ..session }, None).unwrap())
    }

    /// These lanes on a source, run to their end on the CPU.
    pub fn new(source: Source, lanes: Vec<LaneSpec>) -> Self {
        Self::session(Session { source, ..Session::default() }, lanes)
    }

    /// With the exact states of every lane after so many writes, ascending.
    pub fn with_states(self, moments: &[usize]) -> Self {
        Self { states: states(&self.plan, moments), ..self }
    }
}

/// The exact states of every lane of a plan after so many writes, ascending.
pub fn states(plan: &Plan, moments: &[usize]) -> Vec<(At, Arc<Snapshot>)> {
    let mut all = Vec::new();
    for (number, lane) in plan.lanes.iter().enumerate() {
        let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
        for &writes in moments {
            let chunks = lane.chunks_at(writes);
            layer.advance(chunks - layer.position(), Record::StateOnly, &mut TraceBlock::default()).unwrap();
            all.push(((number, chunks), Arc::new(layer.snapshot().unwrap())));
        }
    }
    all
}

/// What a panel is given.
pub struct Given<'a> {
    pub run: &'a Run,
    /// The lanes that are on, all at first.
    pub lanes: Vec<usize>,
    pub writes: usize,
    pub reached: usize,
    pub selection: Selection,
    pub states: States,
    /// What studies have found, unless it is `found`.
    pub studies: Studies,
    /// What studies have found that others look at too.
    pub found: Option<&'a Studies>,
}

impl<'a> Given<'a> {
    /// All of a run, at its end.
    pub fn new(run: &'a Run) -> Self {
        let writes = run.plan.stream.writes();
        Self {
            run,
            lanes: (0..run.traces.len()).collect(),
            writes,
            reached: writes,
            selection: Selection::default(),
            states: States::fixed(run.states.iter().cloned()),
            studies: Studies::default(),
            found: None,
        }
    }

    /// Draws with it.
    pub fn show<R>(&self, ui: &mut Ui, draw: impl FnOnce(&mut Ui, &Look<'_>) -> R) -> R {
        let dark = ui.visuals().dark_mode;
        let lane = |&i: &usize| {
            let plan = &self.run.plan.lanes[i];
            let colour = theme::lane_colour(plan.colour, dark);
            LaneLook { plan, trace: &self.run.traces[i], spent: (0.0, 0), place: plan.colour, colour }
        };
        let lanes: Vec<LaneLook<'_>> = self.lanes.iter().map(lane).collect();
        let look = Look {
            plan: &self.run.plan,
            session: &self.run.plan.session,
            lanes: &lanes,
            writes: self.writes,
            reached: self.reached,
            kv_head: 0,
            query_head: 0,
            selection: &self.selection,
            lane: WindowLane::default(),
            states: &self.states,
            studies: self.found.unwrap_or(&self.studies),
        };
        Frame::central_panel(ui.style()).show(ui, |ui| draw(ui, &look)).inner
    }
}

/// Carries out, after a frame, what the panel asked for, as the window would.
pub type After<'a> = Box<dyn FnMut(&mut Shown<'a>, &Context) + 'a>;

/// A panel with what it is given, and what it asked for.
pub struct Shown<'a> {
    pub panel: Box<dyn Panel>,
    pub given: Given<'a>,
    /// What it asked for in the last frame.
    pub commands: Vec<Command>,
    /// All that it asked for so far.
    pub all: Vec<Command>,
    /// What the last frame's `ui` took.
    pub spent: Duration,
    /// Draws it into a part of the window.
    pub within: Option<Vec2>,
    after: Option<After<'a>>,
}

impl<'a> Deref for Shown<'a> {
    type Target = Given<'a>;
    fn deref(&self) -> &Given<'a> {
        &self.given
    }
}

impl DerefMut for Shown<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.given
    }
}

impl<'a> Shown<'a> {
    /// The panel of this name on a run.
    pub fn new(name: &str, run: &'a Run) -> Self {
        Self::with((PANELS.iter().find(|p| p.name == name).unwrap().make)(), run)
    }

    /// A panel on a run.
    pub fn with(panel: Box<dyn Panel>, run: &'a Run) -> Self {
        Self { panel, given: Given::new(run), commands: Vec::new(), all: Vec::new(), spent: Duration::ZERO, within: None, after: None }
    }

    /// With what the run's own studies have found.
    pub fn studied(mut self) -> Self {
        let run = self.given.run;
        self.given.found = Some(&run.studies);
        self
    }

    /// With something that answers what it asks for.
    pub fn answered(mut self, after: impl FnMut(&mut Self, &Context) + 'a) -> Self {
        self.after = Some(Box::new(after));
        self
    }

    pub fn ui(&mut self, ui: &mut Ui) {
        let Self { panel, given, commands, spent, within, .. } = self;
        commands.clear();
        given.show(ui, |ui, look| {
            let rect = Rect::from_min_size(ui.max_rect().min, within.unwrap_or(ui.available_size()));
            ui.scope_builder(UiBuilder::new().max_rect(rect), |ui| {
                let start = Instant::now();
                panel.ui(ui, look, commands);
                *spent = start.elapsed();
            });
        });
        self.all.extend(self.commands.iter().cloned());
        if let Some(mut after) = self.after.take() {
            after(self, ui.ctx());
            self.after = Some(after);
        }
    }
}

/// Asks a panel for a view by its name: on the row of views, or in the menu that stands for it where it has no room.
pub fn choose_view<S>(harness: &mut Harness<'_, S>, view: &str) {
    if harness.query_by_label(view).is_none() {
        harness.get_by_label("What is shown here").click();
        harness.run_steps(3);
    }
    harness.get_by_label(view).click();
}

/// A panel on a screen of `size`.
pub fn harness(shown: Shown<'_>, size: Vec2, dark: bool) -> Harness<'_, Shown<'_>> {
    draw(shown, size, dark, Shown::ui)
}
