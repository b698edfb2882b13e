//! Carrying out what was asked for: commands, answers of jobs, dropped files. Grouped by who owns what is changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eframe::egui::{Context, ViewportCommand};

use crate::app::app::{App, Exporting};
use crate::app::command::{Command, LaneCommand, SessionCommand, ViewCommand, WindowCommand};
use crate::app::dialogs::{Answer, Dialog, Next};
use crate::app::jobs::{Done, Prepared, Purpose};
use crate::app::layout::PanelLayout;
use crate::app::menu::MenuLook;
use crate::app::theme;
use crate::param::{ParamValue, Params};
use crate::session::plan::check_names;
use crate::session::{LaneSpec, Session, Source, lanes};

impl App {
    /// Carries out one command, as a key or a menu would have it.
    pub fn ask(&mut self, command: Command) {
        self.carry_out_all(vec![command]);
    }

    /// Carries out commands, and paints again if one of them changed something.
    pub(super) fn carry_out_all(&mut self, commands: Vec<Command>) {
        let mut changed = false;
        for command in commands {
            changed |= match command {
                Command::Time(command) => {
                    let before = self.timeline.clone();
                    self.timeline.command(command);
                    self.timeline != before
                }
                Command::Session(command) => self.session_command(command),
                Command::View(command) => self.view_command(command),
                Command::Study(command) => {
                    let wake: crate::app::study::Wake = self.jobs.outbox().1;
                    let base = self.base();
                    self.studies.command(command, &self.runs, &self.session, base, &wake);
                    true
                }
                Command::Window(command) => {
                    self.window_command(command);
                    true
                }
            };
        }
        if changed {
            self.ctx.request_repaint();
        }
    }

    /// Has the session as set checked and, if it can, run.
    pub(super) fn replan(&mut self) {
        self.ticket += 1;
        self.planning = true;
        self.jobs.plan(self.ticket, self.session.clone(), self.base());
    }

    /// The folder that the session's paths are relative to.
    fn base(&self) -> Option<PathBuf> {
        self.path.as_deref().and_then(Path::parent).map(Path::to_owned)
    }

    fn session_command(&mut self, command: SessionCommand) -> bool {
        if self.opening.is_some() {
            return false;
        }
        // A colour is no number: the run on screen is shown in it as it is.
        let same_run = matches!(command, SessionCommand::Lane(LaneCommand::Recolour { .. }));
        let session = &mut self.session;
        let before = session.clone();
        match command {
            SessionCommand::Source(source) => session.take_source(source),
            SessionCommand::Lanes(lanes) => session.lanes = lanes,
            // The lanes are those of this source: nothing of them is changed for it.
            SessionCommand::Whole { source, seed, lanes } => (session.source, session.seed, session.lanes) = (source, seed, lanes),
            SessionCommand::Lane(command) => edit_lanes(&mut session.lanes, &mut self.removed, command),
            SessionCommand::LaneParam { lane, name, value } => {
                if let Some(lane) = session.lanes.get_mut(lane) {
                    set(&mut lane.params, name, value);
                }
            }
            SessionCommand::TaskParam { name, value } => {
                if let Source::Task(task) = &mut session.source {
                    set(&mut task.params, name, value);
                }
            }
            SessionCommand::LaneEnabled { lane, enabled } => lanes::enable(&mut session.lanes, lane, enabled),
            SessionCommand::Backend(backend) => session.backend = backend,
            SessionCommand::Seed(seed) => session.seed = seed,
            SessionCommand::NewSeed => session.seed = session.seed.wrapping_add(1),
            SessionCommand::Reset => {
                self.replan();
                return true;
            }
        }
        let changed = *session != before;
        if changed && !same_run {
            self.replan();
        }
        changed
    }

    fn view_command(&mut self, command: ViewCommand) -> bool {
        match command {
            ViewCommand::Hover(write) => self.selection.hovered = Some(write),
            ViewCommand::Select(token) => self.selection.token = token,
            ViewCommand::SelectRead(read) => self.selection.read = read,
            ViewCommand::KvHead(head) => self.session.view.kv_head = head,
            ViewCommand::QueryHead(head) => self.session.view.query_head = head,
        }
        true
    }

    fn window_command(&mut self, command: WindowCommand) {
        match command {
            // There is nothing to save yet.
            WindowCommand::Save | WindowCommand::SaveAs | WindowCommand::SaveAsPath if self.opening.is_some() => {}
            WindowCommand::Open => self.jobs.pick(Purpose::Open, String::new()),
            WindowCommand::OpenPath => self.ask_path(Purpose::Open, None),
            WindowCommand::OpenFile(path) => self.open(path),
            WindowCommand::Save => match self.path.clone().filter(|p| is_session(p)) {
                Some(path) => self.save_to(path),
                None => self.jobs.pick(Purpose::SaveSession, self.suggested("ron")),
            },
            WindowCommand::SaveAs => self.jobs.pick(Purpose::SaveSession, self.suggested("ron")),
            WindowCommand::SaveAsPath => self.ask_path(Purpose::SaveSession, None),
            WindowCommand::ExportPicture => self.jobs.pick(Purpose::Picture, self.suggested("png")),
            WindowCommand::ExportTrace if self.exporting.is_some() => {}
            WindowCommand::ExportTrace => self.jobs.pick(Purpose::Trace, String::new()),
            WindowCommand::ExportSweep => self.jobs.pick(Purpose::Sweep, self.suggested("parquet")),
            WindowCommand::CancelExport => {
                if let Some(export) = &self.exporting {
                    export.cancel.store(true, Ordering::Relaxed);
                }
            }
            WindowCommand::Theme(choice) => {
                self.preferences.theme = choice;
                self.options.theme = None;
                self.restyle();
            }
            WindowCommand::Larger => self.rescale(1),
            WindowCommand::Smaller => self.rescale(-1),
            WindowCommand::NormalSize => {
                self.preferences.scale = 1.0;
                self.restyle();
            }
            WindowCommand::TogglePanel(name) => self.layout.toggle(name),
            WindowCommand::ResetLayout => self.layout.reset(),
            WindowCommand::ToggleKeys => self.dialogs.toggle_keys(),
            WindowCommand::Quit => self.ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    fn rescale(&mut self, tenths: i8) {
        self.preferences.rescale(tenths);
        self.restyle();
    }

    fn restyle(&mut self) {
        theme::install(&self.ctx, self.options.theme.unwrap_or(self.preferences.theme), self.preferences.scale);
        self.save_preferences();
    }

    fn save_preferences(&self) {
        if let Some(path) = &self.options.preferences
            && let Err(error) = self.preferences.save(path)
        {
            log::warn!("{}: {error}; preferences are not kept", path.display());
        }
    }

    /// What the menu is drawn from.
    pub(super) fn menu_look(&self) -> MenuLook<'_> {
        let (theme, edited) = (self.options.theme.unwrap_or(self.preferences.theme), self.edited());
        let session = self.path.as_deref().or(self.opening.as_deref());
        let title = self.runs.current().map_or("", |r| r.plan.stream.labels().title.as_str());
        MenuLook { preferences: &self.preferences, theme, layout: &self.layout, session, edited, title }
    }

    /// Files dropped on the window: the first is opened.
    pub(super) fn dropped(&mut self, ctx: &Context) {
        let path = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
        if let Some(path) = path {
            self.open(path);
        }
    }

    /// Opens a session or a capture, after asking what becomes of edits to the session's own file. What is on screen
    /// stays until the file has been read and checked.
    pub fn open(&mut self, path: PathBuf) {
        if !self.ask_first(Next::Open(path.clone())) {
            self.open_now(path);
        }
    }

    /// Asks what becomes of the edits, if the session has a file of its own and differs from it; true if it asks.
    fn ask_first(&mut self, next: Next) -> bool {
        let Some(path) = self.path.as_deref().filter(|p| is_session(p) && self.edited()) else { return false };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        self.dialogs.push(Dialog::Unsaved { name, next });
        true
    }

    /// The window is asked to close: not before the edits are saved or given up.
    pub(super) fn close_asked(&mut self, ctx: &Context) {
        if self.leaving || !ctx.input(|i| i.viewport().close_requested()) {
            return;
        }
        if self.dialogs.asks_to_close() || self.ask_first(Next::Close) {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
        }
    }

    /// A dialog was answered.
    pub(super) fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Path { purpose, path } => self.path_given(purpose, path),
            Answer::Leave { save: false, next } => self.go_on(next),
            Answer::Leave { save: true, next } => {
                if let Some(path) = self.path.clone() {
                    self.after_saving = Some(next);
                    self.save_to(path);
                }
            }
        }
    }

    fn go_on(&mut self, next: Next) {
        match next {
            Next::Open(path) => self.open_now(path),
            Next::Close => {
                self.leaving = true;
                self.ctx.send_viewport_cmd(ViewportCommand::Close);
            }
        }
    }

    fn open_now(&mut self, path: PathBuf) {
        self.notice = Some(format!("Opening {}", path.display()));
        self.jobs.open(path);
    }

    /// A path was given, in our own field or in the system's dialog.
    pub(super) fn path_given(&mut self, purpose: Purpose, path: PathBuf) {
        match purpose {
            Purpose::Open => self.open(path),
            Purpose::SaveSession => self.save_to(with_extension(path, "ron")),
            Purpose::Picture => self.export_picture(with_extension(path, "png")),
            Purpose::Trace => self.export_trace(path),
            Purpose::Sweep => self.jobs.save_sweep(self.studies.sweep.rows().to_vec(), with_extension(path, "parquet")),
        }
    }

    fn save_to(&mut self, path: PathBuf) {
        let session = self.session();
        self.saving = Some(session.clone());
        self.jobs.save(session, path, self.base());
    }

    fn export_picture(&mut self, path: PathBuf) {
        let (outbox, wake) = self.jobs.outbox();
        self.ctx.request_screenshot(move |picture| {
            std::thread::spawn(move || {
                let result = crate::app::jobs::write_png(&path, &picture).map(|()| Vec::new());
                if outbox.send(Done::Written { purpose: Purpose::Picture, path, result }).is_ok() {
                    wake();
                }
            });
        });
    }

    fn export_trace(&mut self, folder: PathBuf) {
        let Some(run) = self.runs.current().filter(|r| r.ended) else {
            self.dialogs.error("Export the trace: not written", "The run is not complete; its trace can be exported when it is.");
            return;
        };
        let cancel = Arc::new(AtomicBool::new(false));
        self.jobs.export(Arc::clone(&run.plan), Arc::clone(&run.traces), run.states.clone(), folder, Arc::clone(&cancel));
        self.exporting = Some(Exporting { share: 0.0, cancel });
    }

    fn ask_path(&mut self, purpose: Purpose, note: Option<String>) {
        let text = match (purpose, &self.path) {
            (Purpose::Open | Purpose::SaveSession, Some(path)) => path.display().to_string(),
            _ => String::new(),
        };
        self.dialogs.push(Dialog::Path { purpose, text, note });
    }

    fn suggested(&self, extension: &str) -> String {
        let stem = self.path.as_deref().and_then(Path::file_stem).map_or_else(|| "session".into(), |s| s.to_string_lossy().into_owned());
        format!("{stem}.{extension}")
    }

    /// Takes in the answer of a job.
    pub(super) fn done(&mut self, done: Done) {
        match done {
            Done::Planned { ticket, .. } if ticket != self.ticket => {}
            Done::Planned { result, .. } => {
                self.planning = false;
                match result {
                    Ok(prepared) => self.start(prepared),
                    Err(problem) => self.problem = Some(problem),
                }
            }
            Done::Opened { path, result } => match result {
                Ok(opened) => self.adopt(path, opened.0, opened.1),
                Err(message) => {
                    self.notice = None;
                    self.dialogs.error("The file cannot be opened", message);
                    if self.opening.take_if(|p| *p == path).is_some() {
                        self.replan();
                    }
                }
            },
            Done::Picked { purpose, path: Some(path), .. } => self.path_given(purpose, path),
            Done::Picked { purpose, path: None, at_once: true } => {
                let note = "This system offers no file dialog, or it closed at once. The path can be typed here.";
                self.ask_path(purpose, Some(note.to_owned()));
            }
            Done::Picked { .. } => {}
            Done::Progress(share) => {
                if let Some(export) = &mut self.exporting {
                    export.share = share;
                }
            }
            Done::Written { purpose, path, result } => self.written(purpose, &path, result),
        }
        self.ctx.request_repaint();
    }

    fn adopt(&mut self, path: PathBuf, session: Session, prepared: Prepared) {
        // Whatever is still being checked belongs to the session that is leaving.
        self.ticket += 1;
        self.planning = false;
        self.opening = None;
        self.removed = None;
        // Its run goes too: nothing of it may stand under the new session's name.
        self.runs.clear();
        self.layout = PanelLayout::new(session.view.layout.as_deref());
        self.next_view = Some(session.view.clone());
        self.kept = session.clone();
        self.session = session;
        self.notice = Some(format!("Opened {}", path.display()));
        self.preferences.remember(&path);
        self.path = Some(path);
        self.save_preferences();
        self.start(prepared);
    }

    fn written(&mut self, purpose: Purpose, path: &Path, result: Result<Vec<String>, String>) {
        if purpose == Purpose::Trace {
            self.exporting = None;
        }
        match result {
            Ok(left_out) => {
                self.notice = Some(format!("Wrote {}", path.display()));
                if !left_out.is_empty() {
                    self.dialogs.error("Written, with something left out", left_out.join("\n"));
                }
                if purpose == Purpose::SaveSession {
                    // The capture's path in the file may be another now, as seen from the file's folder.
                    if let Ok(Session { source, .. }) = Session::open(path)
                        && let Some(saved) = &mut self.saving
                    {
                        // What was edited while the file was written stays edited.
                        if self.session.source == saved.source {
                            self.session.source = source.clone();
                        }
                        saved.source = source;
                    }
                    if let Some(saved) = self.saving.take() {
                        self.kept = saved;
                    }
                    self.path = Some(path.to_owned());
                    self.preferences.remember(path);
                    self.save_preferences();
                    if let Some(next) = self.after_saving.take() {
                        self.go_on(next);
                    }
                }
            }
            Err(message) => {
                if purpose == Purpose::SaveSession {
                    self.after_saving = None;
                }
                self.notice = None;
                self.dialogs.error(format!("{}: not written", purpose.title()), message);
            }
        }
    }
}

/// Carries out an edit to the list of lanes; `removed` is the lane that was taken out last and its place.
fn edit_lanes(all: &mut Vec<LaneSpec>, removed: &mut Option<(usize, LaneSpec)>, command: LaneCommand) {
    match command {
        LaneCommand::Add(layer) => {
            if let Some(kind) = crate::layer::kind(layer) {
                lanes::add(all, kind);
            }
        }
        LaneCommand::Duplicate(lane) => lanes::duplicate(all, lane),
        LaneCommand::Rename { lane, name } => {
            let mut renamed = all.clone();
            if let Some(spec) = renamed.get_mut(lane) {
                spec.name = name;
            }
            if check_names(&renamed).is_ok() {
                *all = renamed;
            }
        }
        LaneCommand::Remove(lane) => {
            if let Some(spec) = lanes::remove(all, lane) {
                *removed = Some((lane, spec));
            }
        }
        LaneCommand::PutBack => {
            if let Some((at, spec)) = removed.take() {
                lanes::put_back(all, at, spec);
            }
        }
        LaneCommand::Move { from, to } => lanes::shift(all, from, to),
        LaneCommand::Recolour { lane, place } => lanes::recolour(all, lane, place),
        LaneCommand::Weights { lane, path } => {
            if let Some(spec) = all.get_mut(lane) {
                spec.weights = path;
            }
        }
    }
}

fn set(params: &mut Params, name: &str, value: Option<ParamValue>) {
    match value {
        Some(value) => params.set(name, value),
        None => {
            params.0.remove(name);
        }
    }
}

/// True for a file that a session may be saved over: a capture may not.
fn is_session(path: &Path) -> bool {
    path.extension().is_none_or(|e| e != "safetensors")
}

fn with_extension(path: PathBuf, extension: &str) -> PathBuf {
    if path.extension().is_some() { path } else { path.with_extension(extension) }
}
