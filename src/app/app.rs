//! The window's state and its frame: receive, carry out, paint.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use eframe::egui::{self, Context, Key, Modifiers, Popup, Ui, ViewportCommand};

use crate::app::actions::Basis;
use crate::app::actions::Desk;
use crate::app::autosave::{Autosave, Crashed};
use crate::app::command::{Command, ViewCommand};
use crate::app::commands;
use crate::app::dialogs::{Dialog, Dialogs, LostCapture, Next};
use crate::app::export_dialog::ExportForm;
use crate::app::focus;
use crate::app::history::History;
use crate::app::inspector::Inspector;
use crate::app::jobs::{Jobs, Prepared};
use crate::app::layout::PanelLayout;
use crate::app::lesson::editor::{self, Moment};
use crate::app::lesson::{Editing, Playing};
use crate::app::palette::Palette;
use crate::app::picture::mirror::Mirror;
use crate::app::prefs::Preferences;
use crate::app::session_panel::Problem;
use crate::app::sides::Sides;
use crate::app::start::StartPage;
use crate::app::state::{Run, Runs};
use crate::app::states::States;
use crate::app::study::Studies;
use crate::app::theme;
use crate::app::timeline::Timeline;
use crate::app::timeline_bar::TimelineBar;
use crate::app::undo::{Hand, Undo};
use crate::app::wake::Waker;
use crate::engine::{Engine, Event};
use crate::panel::{Selection, Subject};
use crate::session::plan::Plan;
use crate::session::saved::{Made, Saved};
use crate::session::{LaneSpec, Session, View, lanes};

/// At most this long a frame is spent on taking in what the engine wrote.
const RECEIVE: Duration = Duration::from_millis(3);

/// How a window differs from another with the same session.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where preferences are kept; `None`: they are neither read nor written.
    pub preferences: Option<PathBuf>,
    /// The folder that edits are saved to by themselves, and looked for after a crash; `None`: neither.
    pub autosave: Option<PathBuf>,
    /// Ask for paths in fields of our own, never in dialogs of the system: for tests.
    pub own_dialogs: bool,
    /// This theme instead of the preferred one.
    pub theme: Option<theme::ThemeChoice>,
    /// Leave out what differs from run to run (times): for pictures that are compared.
    pub without_times: bool,
    /// Begin with the start page, if the preferences say so too.
    pub start_page: bool,
}

/// A window that shows one panel, as a figure: for pictures.
#[derive(Debug, Clone)]
pub struct Alone {
    /// The panel's name.
    pub panel: &'static str,
    /// The hash of the session, for the caption.
    pub session: String,
}

/// An export that is under way.
#[derive(Debug)]
pub(super) struct Exporting {
    pub share: f32,
    pub cancel: Arc<AtomicBool>,
}

/// The window. See the module's page.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a thing of its own: none follows from another")]
pub struct App {
    pub(super) session: Session,
    pub(super) path: Option<PathBuf>,
    /// The session as it was opened or saved last; it is edited where it differs from this.
    pub(super) kept: Session,
    /// The file that the window was started on, until it has been opened or refused; nothing runs meanwhile.
    pub(super) opening: Option<PathBuf>,
    /// What is being written to the session's file.
    pub(super) saving: Option<Session>,
    /// What is to be done once that has been written.
    pub(super) after_saving: Option<Next>,
    /// True once the user has agreed to close the window, whatever is not saved.
    pub(super) leaving: bool,
    pub(super) runs: Runs,
    pub(super) timeline: Timeline,
    pub(super) selection: Selection,
    pub(super) layout: PanelLayout,
    pub(super) dialogs: Dialogs,
    pub(super) preferences: Preferences,
    pub(super) options: Options,
    pub(super) jobs: Jobs,
    pub(super) engine: Engine,
    pub(super) ctx: Context,
    waker: Arc<Waker>,
    /// The newest question to the thread that checks sessions; older answers are thrown away.
    pub(super) ticket: u64,
    pub(super) planning: bool,
    pub(super) problem: Option<Problem>,
    pub(super) layers: Vec<u32>,
    /// The view that a session just opened asks for, until its run is on screen.
    pub(super) next_view: Option<View>,
    pub(super) notice: Option<String>,
    pub(super) exporting: Option<Exporting>,
    /// The last export, for the next to begin with.
    pub(super) export_form: Option<Box<ExportForm>>,
    pub(super) dismissed: usize,
    pub(super) title: String,
    pub(super) studies: Studies,
    pub(super) states: States,
    /// The lanes of the run on screen, by name.
    lane_names: Vec<String>,
    /// The lane that was removed last, and its place.
    pub(super) removed: Option<(usize, LaneSpec)>,
    pub(super) palette: Palette,
    pub(super) undo: Undo,
    pub(super) history: History,
    /// The hand on the window, for what belongs to one drag.
    pub(super) hand: Hand,
    /// What comes back with the run of an edit that was taken back: the playhead, what was selected.
    pub(super) looked_at: Option<(Option<usize>, Selection)>,
    pub(super) bar: TimelineBar,
    pub(super) inspector: Inspector,
    /// Keeps the edits of this window.
    pub(super) autosave: Option<Autosave>,
    /// The edits of windows that crashed, which are still to be asked about.
    pub(super) crashed: Vec<Crashed>,
    /// True while those of one of them are made ready.
    pub(super) recovering: bool,
    /// The session that came with its trace, and how that was made: once it has been run here, the two traces are compared.
    pub(super) came_with: Option<Box<(Session, Made)>>,
    /// The session whose capture is being looked for.
    pub(super) finding: Option<LostCapture>,
    /// Pictures that are being taken.
    pub(super) desk: Desk,
    /// The panel that is shown alone, if one is.
    pub(super) alone: Option<Alone>,
    /// The lesson that is played.
    pub(super) playing: Option<Playing>,
    /// What its step was judged on last.
    pub(super) judged: Option<Basis>,
    /// The lesson that is being made.
    pub(super) editing: Option<Editing>,
    /// What the editor can record, and what that was read from.
    pub(super) moment: Option<(Basis, Moment)>,
    /// True while the window is shown to a room: large text, few controls.
    pub(super) presenting: bool,
    pub(super) start_page: StartPage,
    /// The sides of the window that are seen.
    pub(super) sides: Sides,
    last_time: f64,
    pub(super) frame_seconds: f64,
}

impl App {
    /// A window on a session. `path` is the file that the session came from, if it came from one.
    ///
    /// # Errors
    /// If the operating system gives no threads.
    pub fn new(ctx: &Context, session: Session, path: Option<PathBuf>, options: Options) -> std::io::Result<Self> {
        let mut app = Self::idle(ctx, session, path, options)?;
        app.replan();
        Ok(app)
    }

    /// A window on a file, which shows nothing until the file has been read and checked, and then its run. If the file
    /// cannot be opened, a dialog says so and the bundled capture is shown.
    ///
    /// # Errors
    /// If the operating system gives no threads.
    pub fn opening(ctx: &Context, file: PathBuf, options: Options) -> std::io::Result<Self> {
        let mut app = Self::idle(ctx, Session::default(), None, options)?;
        app.opening = Some(file.clone());
        app.open(file);
        Ok(app)
    }

    /// A window on a session with the complete run of another window, which is not computed again.
    ///
    /// # Errors
    /// If the operating system gives no threads.
    pub fn with_run(ctx: &Context, session: Session, path: Option<PathBuf>, run: Run, options: Options) -> std::io::Result<Self> {
        let mut app = Self::idle(ctx, session, path, options)?;
        let request = app.runs.adopt(run);
        app.engine.send(request);
        app.presented();
        Ok(app)
    }

    fn idle(ctx: &Context, session: Session, path: Option<PathBuf>, options: Options) -> std::io::Result<Self> {
        let waker = Arc::new(Waker::new(ctx));
        let wake = || {
            let waker = Arc::clone(&waker);
            move || waker.wake()
        };
        let preferences = options.preferences.as_deref().map(Preferences::load).unwrap_or_default();
        theme::install(ctx, options.theme.unwrap_or(preferences.theme), preferences.scale);
        Mirror::install(ctx);
        let view = session.view.clone();
        let autosave = options.autosave.clone();
        let start_page = StartPage::new(options.start_page && preferences.start_page);
        let mut app = Self {
            layout: PanelLayout::of(&view),
            timeline: Timeline::new(0, 1, view.position, view.speed, view.repeat),
            selection: selected(&view),
            next_view: Some(view),
            kept: session.clone(),
            opening: None,
            saving: None,
            after_saving: None,
            leaving: false,
            session,
            path,
            runs: Runs::default(),
            dialogs: Dialogs::default(),
            preferences,
            options,
            jobs: Jobs::spawn(wake())?,
            engine: Engine::spawn(wake())?,
            ctx: ctx.clone(),
            waker,
            ticket: 0,
            planning: false,
            problem: None,
            layers: Vec::new(),
            notice: None,
            exporting: None,
            export_form: None,
            dismissed: 0,
            title: String::new(),
            studies: Studies::default(),
            states: States::default(),
            lane_names: Vec::new(),
            removed: None,
            palette: Palette::default(),
            undo: Undo::default(),
            history: History::default(),
            hand: Hand::default(),
            looked_at: None,
            bar: TimelineBar::default(),
            inspector: Inspector::default(),
            autosave: None,
            crashed: Vec::new(),
            recovering: false,
            came_with: None,
            finding: None,
            desk: Desk::default(),
            alone: None,
            playing: None,
            judged: None,
            editing: None,
            moment: None,
            presenting: false,
            start_page,
            sides: Sides::default(),
            last_time: 0.0,
            frame_seconds: 0.0,
        };
        if let Some(folder) = autosave {
            app.autosave = Some(Autosave::new(&folder)?);
            app.jobs.look_for_crashed(folder);
        }
        Ok(app)
    }

    /// A window on a session with its trace, as it was read from the file `path`: it is shown at once.
    ///
    /// # Errors
    /// If the operating system gives no threads.
    pub fn showing(ctx: &Context, saved: Saved, path: PathBuf, options: Options) -> std::io::Result<Self> {
        let mut app = Self::idle(ctx, saved.session.clone(), Some(path), options)?;
        app.show_saved(saved, Vec::new());
        Ok(app)
    }

    /// True when nothing is under way: no session being checked, no run computing, no read being weighed, nothing put off until the
    /// playhead has stood still for a moment. For tests and pictures.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        let asked = self.studies.running() || self.states.waiting() || self.recovering;
        self.opening.is_none() && !self.planning && !self.runs.waiting() && !self.runs.computing() && !self.timeline.playing() && !asked
    }

    /// True if, besides, no map of retention is being made: a picture that nobody waits for in front of a window has all of it.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.at_rest() && !self.studies.retention.running()
    }

    /// Shows one panel as a figure in place of everything else, or everything again.
    pub fn show_alone(&mut self, alone: Option<Alone>) {
        self.alone = alone;
    }

    /// Selects what another window has selected.
    pub fn select(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// True while a picture of the window or of a panel is being taken.
    #[must_use]
    pub fn taking_picture(&self) -> bool {
        self.desk.busy()
    }

    /// The time of the run on screen.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What is selected.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The lesson that is played, if one is.
    #[must_use]
    pub fn playing(&self) -> Option<&Playing> {
        self.playing.as_ref()
    }

    /// The lesson in the editor, if one is being made.
    #[must_use]
    pub fn editing(&self) -> Option<&Editing> {
        self.editing.as_ref()
    }

    /// True if a panel is seen: shown, and not behind another.
    #[must_use]
    pub fn shows(&self, panel: &str) -> bool {
        self.layout.is_seen(panel)
    }

    /// True while the window is shown to a room.
    #[must_use]
    pub fn presenting(&self) -> bool {
        self.presenting
    }

    /// True while the start page is shown.
    #[must_use]
    pub fn shows_start_page(&self) -> bool {
        self.start_page.is_open()
    }

    /// True unless pictures of the start page are still to come.
    #[must_use]
    pub fn start_page_complete(&self) -> bool {
        self.start_page.complete()
    }

    /// The runs: the one on screen and the one to come.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The run on screen, if it is complete and that of the session as it is set.
    #[must_use]
    pub fn run_of_session(&self) -> Option<&Run> {
        let of_session = !self.planning && !self.runs.waiting() && self.problem.is_none();
        self.runs.current().filter(|r| of_session && r.complete())
    }

    /// Why the session as set cannot run, if it cannot.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// How long each panel's last picture took, in seconds.
    pub fn panel_seconds(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.layout.seconds()
    }

    /// True if what the session computes differs from what was opened or saved last. Where the playhead stands and how
    /// the panels lie is no edit, and what is tried out in a lesson is none either.
    #[must_use]
    pub fn edited(&self) -> bool {
        self.playing.is_none() && !self.session.is_but_for_view(&self.kept)
    }

    /// The session as it would be saved now.
    #[must_use]
    pub fn session(&self) -> Session {
        let at_end = self.timeline.wanted() >= self.timeline.total();
        // A session that is still loading keeps the view it asks for.
        let view = self.next_view.clone().unwrap_or_else(|| View {
            position: (!at_end).then(|| self.timeline.writes()),
            speed: self.timeline.speed(),
            repeat: self.timeline.repeat(),
            token: self.selection.token,
            read: self.selection.read,
            layout: self.layout.save(),
            choices: self.layout.choices(),
            ..self.session.view.clone()
        });
        Session { view, ..self.session.clone() }
    }

    /// Shows a dialog, for a picture of it.
    pub fn show_dialog(&mut self, dialog: Dialog) {
        self.dialogs.push(dialog);
    }

    /// One frame: receive, carry out what was asked for, paint.
    pub fn frame(&mut self, ui: &mut Ui) {
        let start = Instant::now();
        self.waker.begin();
        self.finish_picture();
        self.receive();
        self.hand = ui.input(|i| Hand {
            presses: self.hand.presses + u64::from(i.pointer.any_pressed()),
            held: i.pointer.any_down(),
            seconds: i.time,
        });
        let asked = self.keys(ui.ctx());
        self.dropped(ui.ctx());
        self.carry_out_all(asked);
        self.tick(ui.ctx());
        self.judge_lesson();
        let mut asked = Vec::new();
        self.paint(ui, &mut asked);
        self.draw_for_picture(ui, &mut asked);
        self.hover(&mut asked);
        if let Some(request) = self.states.ask() {
            self.engine.send(request);
        }
        self.carry_out_all(asked);
        self.history.look(&self.selection, self.timeline.wanted());
        self.entitle();
        self.close_asked(ui.ctx());
        if let Some(answer) = self.dialogs.ui(ui.ctx()) {
            self.answered(answer);
            ui.ctx().request_repaint();
        }
        self.ask_about_picture(ui.ctx());
        self.paint_editor(ui.ctx());
        if let Some(command) = self.palette.ui(ui.ctx()) {
            self.carry_out_all(vec![command]);
        }
        self.keep_edits();
        self.ask_about_crashed();
        focus::outline(ui.ctx());
        self.waker.end();
        self.frame_seconds += (start.elapsed().as_secs_f64() - self.frame_seconds) * 0.1;
    }

    /// The commands whose keys were pressed; dialogs and the palette have their keys for themselves.
    fn keys(&mut self, ctx: &Context) -> Vec<Command> {
        let mut asked = Vec::new();
        if self.dialogs.any() || self.palette.is_open() || self.desk.asks() {
            return asked;
        }
        // Escape closes the search's field, and leaves selected what it found.
        if self.bar.search.typing() && ctx.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Escape)) {
            self.bar.search.close();
        }
        self.presenting_keys(ctx, &mut asked);
        if self.start_page.is_open() && !Popup::is_any_open(ctx) && ctx.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Escape)) {
            self.start_page.close();
        }
        let mut of_editor = Vec::new();
        if let Some(editing) = &self.editing {
            editor::keys(ctx, editing, &mut of_editor);
        }
        commands::pressed(ctx, &mut asked);
        if self.start_page.is_open() {
            // The others are about what lies behind it.
            asked.retain(|c| matches!(c, Command::Window(_)));
        }
        asked.append(&mut of_editor);
        asked
    }

    fn receive(&mut self) {
        let Self { engine, runs, states, .. } = self;
        let more = engine.drain(RECEIVE, |event| {
            if let Event::State { id, lane, snapshot } = &event {
                states.take(*id, *lane, snapshot);
            }
            runs.apply(event);
        });
        let wanted = self.next_view.as_ref().map_or(self.timeline.wanted(), |v| v.position.unwrap_or(usize::MAX));
        let before = self.runs.current().map(|run| Arc::clone(&run.plan));
        if self.runs.present(wanted) {
            if let (Some(before), Some(now)) = (before, self.runs.current()) {
                for (from, to) in lanes::renamed(&before.session.lanes, &now.plan.session.lanes) {
                    self.layout.rename_lane(from, to);
                }
            }
            self.presented();
        }
        if let Some(run) = self.runs.current() {
            self.timeline.reach(run.reached);
        }
        while let Some(done) = self.jobs.next() {
            self.done(done);
        }
        self.compare_with_file();
        if self.studies.receive() || more {
            self.ctx.request_repaint();
        } else if self.runs.waiting() {
            // The old pictures make way after a moment even if no event comes to say so.
            self.ctx.request_repaint_after(Duration::from_millis(50));
        }
    }

    /// Another run has come on screen.
    fn presented(&mut self) {
        let Some(run) = self.runs.current() else { return };
        let (total, step) = (run.plan.stream.writes(), run.plan.step);
        if let Some(view) = self.next_view.take() {
            self.timeline = Timeline::new(total, step, view.position, view.speed, view.repeat);
            self.selection = selected(&view);
        } else {
            self.timeline.retarget(total, step, run.reached);
        }
        let lanes: Vec<String> = run.plan.lanes.iter().map(|l| l.name.clone()).collect();
        let reads = run.plan.stream.reads();
        self.states.begin(run.id);
        // What a file held of the states is there.
        for (lane, state) in run.states.iter().enumerate().filter(|_| run.saved.is_some()) {
            self.states.take(run.id, lane, state);
        }
        // A branch comes between lanes and an undo takes one out: what is looked at goes with the lane of its name.
        let before = std::mem::take(&mut self.lane_names);
        let now_at = |lane: usize| before.get(lane).and_then(|name| lanes.iter().position(|l| l == name));
        self.selection.keep_within(total, reads, &now_at);
        self.history.keep_within(total, reads, &now_at);
        self.lane_names = lanes;
        self.dismissed = 0;
        self.look_again();
    }

    /// What is on screen: the session by its title, else the stream by its own.
    pub(super) fn titled<'a>(&'a self, plan: &'a Plan) -> &'a str {
        if self.session.title.is_empty() { &plan.stream.labels().title } else { &self.session.title }
    }

    /// The window's title: the file, whether it is edited, and what the stream on screen is.
    fn entitle(&mut self) {
        let Some(run) = self.runs.current() else { return };
        let file = self.path.as_deref().and_then(Path::file_name).map(|n| n.to_string_lossy());
        let mark = if file.is_some() && self.edited() { " •" } else { "" };
        let file = file.map_or_else(String::new, |n| format!("{n}{mark} · "));
        let title = format!("{file}{} · Mnemoscope", self.titled(&run.plan));
        if title != self.title {
            self.ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Starts the run of a checked session.
    pub(super) fn start(&mut self, prepared: Prepared) {
        self.layers = prepared.layers;
        self.problem = None;
        let request = self.runs.start(prepared.plan);
        self.engine.send(request);
    }

    fn tick(&mut self, ctx: &Context) {
        let now = ctx.input(|i| i.time);
        let passed = (now - self.last_time).clamp(0.0, 0.25);
        self.last_time = now;
        self.timeline.tick(passed);
        if let Some(seconds) = self.timeline.until_next() {
            ctx.request_repaint_after(Duration::from_secs_f64(seconds.min(1.0)));
        }
    }

    /// Takes what the pointer is over out of the commands: it is sent every frame, and goes away with the pointer.
    fn hover(&mut self, asked: &mut Vec<Command>) {
        let (mut hovered, mut row) = (None, None);
        asked.retain(|c| {
            match c {
                Command::View(ViewCommand::Hover(write)) => hovered = Some(*write),
                Command::View(ViewCommand::HoverRow { lane, row: r }) => row = Some((*lane, *r)),
                _ => return true,
            }
            false
        });
        if (hovered, row) != (self.selection.hovered, self.selection.hovered_row) {
            (self.selection.hovered, self.selection.hovered_row) = (hovered, row);
            self.ctx.request_repaint();
        }
    }
}

/// What a session's view says is selected.
fn selected(view: &View) -> Selection {
    let mut selection = Selection::default();
    if let Some(token) = view.token {
        selection.choose(Subject::Token(token));
    }
    if let Some(read) = view.read {
        selection.choose(Subject::Read(read));
        // The token is what the inspector was last about, where there is one.
        selection.subject = view.token.map_or(Some(Subject::Read(read)), |t| Some(Subject::Token(t)));
    }
    selection
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.frame(ui);
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}
