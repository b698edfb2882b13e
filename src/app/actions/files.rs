//! Opening, saving, exporting, and what becomes of edits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::{Context, ViewportCommand};

use crate::app::app::{App, Exporting};
use crate::app::dialogs::{CaptureChoice, Dialog, Instead, LostCapture, Next};
use crate::app::export_dialog::{ExportForm, What};
use crate::app::jobs::{Done, Opened, Purpose, Refused, SaveTrace, ToRun};
use crate::app::layout::PanelLayout;
use crate::engine::RunId;
use crate::export::ExportError;
use crate::panel::choices;
use crate::session::plan::PlanError;
use crate::session::saved::{self, Made, Saved};
use crate::session::{Session, Source, gallery, view};

impl App {
    /// Files dropped on the window: the first is opened.
    pub(in crate::app) fn dropped(&mut self, ctx: &Context) {
        let path = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
        if let Some(path) = path {
            self.open(path);
        }
    }

    /// Opens a session or a capture, after asking what becomes of edits that are not saved. What is on screen stays until the
    /// file has been read and checked.
    pub fn open(&mut self, path: PathBuf) {
        if !self.ask_first(Next::Open(path.clone())) {
            self.open_now(path);
        }
    }

    /// Asks what becomes of the edits, if there are any; true if it asks.
    pub(in crate::app) fn ask_first(&mut self, next: Next) -> bool {
        if !self.edited() {
            return false;
        }
        // A session that was never saved has no file of its own: a capture's is not one.
        let file = self.path.as_deref().filter(|p| is_session(p));
        let name = file.map_or_else(|| "This session".into(), |p| p.file_name().unwrap_or(p.as_os_str()).to_string_lossy()).into_owned();
        self.dialogs.push(Dialog::Unsaved { name, next });
        true
    }

    /// The window is asked to close: not before the edits are saved or given up.
    pub(in crate::app) fn close_asked(&mut self, ctx: &Context) {
        if self.leaving || !ctx.input(|i| i.viewport().close_requested()) {
            return;
        }
        if self.dialogs.asks_to_close() || self.ask_about_lesson(Instead::Close) || self.ask_first(Next::Close) {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
        }
    }

    pub(in crate::app) fn open_now(&mut self, path: PathBuf) {
        self.notice = Some(format!("Opening {}", path.display()));
        self.jobs.open(path);
    }

    /// A path was given, in our own field or in the system's dialog.
    pub(super) fn path_given(&mut self, purpose: Purpose, path: PathBuf) {
        match purpose {
            Purpose::Open => self.open(path),
            Purpose::Capture => self.capture_found(&path),
            Purpose::SavedTrace => self.save_with_trace(for_trace(path)),
            Purpose::SaveSession => self.save_to(with_extension(path, "ron")),
            Purpose::Picture | Purpose::Animation => self.picture_path(with_extension(path, "png")),
            Purpose::Vector => self.picture_path(with_extension(path, "svg")),
            Purpose::Frames => self.picture_path(path),
            Purpose::Trace => {
                self.dialogs.choose_folder(&path);
            }
            Purpose::OpenLesson => self.open_lesson(path),
            Purpose::SaveLesson => self.save_lesson(with_extension(path, "ron")),
            Purpose::Events => self.export_events(with_extension(path, "csv")),
            Purpose::Sweep => self.jobs.save_sweep(self.studies.sweep.rows().to_vec(), with_extension(path, "parquet")),
        }
    }

    pub(in crate::app) fn save_to(&mut self, path: PathBuf) {
        if has_trace(&path) {
            self.save_with_trace(path);
            return;
        }
        let session = self.to_save();
        self.saving = Some(session.clone());
        self.jobs.save(session, path, self.base());
    }

    /// The session as it is to be in a file: what it looks at is in its stream and among its lanes, whatever they were before they were
    /// edited. A file that looks at what it does not have is not opened again.
    fn to_save(&self) -> Session {
        let mut session = self.session();
        // One that is still loading has the view of its file.
        if let Some(run) = self.runs.current().filter(|_| self.next_view.is_none()) {
            if view::same_size(&run.plan.session.source, &session.source) {
                view::keep_within(&mut session.view, &run.plan.stream);
            } else {
                // The stream that it was edited to have is not there yet.
                view::forget_stream(&mut session.view);
            }
        }
        choices::forget_lost_lanes(&mut session.view.choices, &session.lanes);
        session
    }

    /// Asks what of the run on screen is to be exported, how, and where.
    pub(in crate::app) fn ask_export(&mut self) {
        let Some(run) = self.runs.current().filter(|r| r.ended) else {
            self.dialogs.error("Export the trace", "The run is not complete; its trace can be exported when it is.");
            return;
        };
        let total = run.plan.stream.writes();
        let seen = self.timeline.writes();
        let names = run.plan.lanes.iter().map(|l| l.name.clone());
        // The formats and the folder are those of the last time; what is exported is asked anew.
        let last = self.export_form.as_deref();
        let everything = crate::export::Request::default();
        let beside = self.path.as_deref().filter(|p| is_session(p)).map(|p| p.with_extension("trace").display().to_string());
        let form = ExportForm {
            run: run.id,
            total,
            what: What::All,
            from: 0,
            to: if seen == 0 { total } else { seen },
            selected: self.selection.tokens().to_vec(),
            lanes: names.map(|name| (name, true)).collect(),
            arrays: last.map_or(everything.arrays, |f| f.arrays),
            tables: last.map_or(everything.tables, |f| f.tables),
            folder: last.map(|f| f.folder.clone()).or(beside).unwrap_or_default(),
            fresh: true,
        };
        self.dialogs.push(Dialog::Export(Box::new(form)));
    }

    /// Exports of the run with this number, if it is still on screen.
    pub(in crate::app) fn export_trace(&mut self, id: RunId, request: crate::export::Request, folder: PathBuf) {
        let Some(run) = self.runs.current().filter(|r| r.ended && r.id == id) else {
            self.dialogs.error("Export the trace: not written", "Another run has come on screen meanwhile; export again.");
            return;
        };
        let cancel = Arc::new(AtomicBool::new(false));
        self.jobs.export(Arc::clone(&run.plan), Arc::clone(&run.traces), run.states.clone(), request, folder, Arc::clone(&cancel));
        self.exporting = Some(Exporting { share: 0.0, cancel });
    }

    /// Goes on with a session that was opened; `path` is its file, if it has one.
    pub(in crate::app) fn adopt(&mut self, path: Option<PathBuf>, opened: Opened) {
        let Opened { session, kept, run } = opened;
        self.playing = None;
        // Whatever is still being checked belongs to the session that is leaving.
        self.ticket += 1;
        self.planning = false;
        self.opening = None;
        self.removed = None;
        self.undo.clear();
        self.history.clear();
        self.looked_at = None;
        // Its run goes too: nothing of it may stand under the new session's name.
        self.runs.clear();
        self.layout = PanelLayout::of(&session.view);
        self.next_view = Some(session.view.clone());
        self.kept = kept;
        self.session = session;
        self.came_with = None;
        if let Some(path) = &path {
            let trace = match &run {
                ToRun::Saved(saved, _) => format!(" with its trace, made on {}", saved.made.adapter),
                _ => String::new(),
            };
            self.notice = Some(format!("Opened {}{trace}", path.display()));
        }
        self.start_page.close();
        // One that is in the program has no file to be saved to, and is no further away than the start page.
        self.path = path.filter(|p| gallery::name_in(p).is_none());
        if let Some(path) = &self.path {
            self.preferences.remember(path);
            self.save_preferences();
        }
        match run {
            ToRun::Plan(prepared) => self.start(*prepared),
            ToRun::Saved(saved, layers) => self.show_saved(*saved, layers),
            ToRun::Not => self.replan(),
        }
    }

    /// Shows a trace that was read from a file. Nothing is computed.
    pub(in crate::app) fn show_saved(&mut self, saved: Saved, layers: Vec<u32>) {
        self.layers = layers;
        self.problem = None;
        self.came_with = Some(Box::new((saved.session.clone(), saved.made.clone())));
        let request = self.runs.hold(saved);
        self.engine.send(request);
    }

    /// Once the session that came with a trace has been run here, says whether the trace is the same.
    pub(in crate::app) fn compare_with_file(&mut self) {
        let Some(run) = self.runs.current().filter(|r| r.saved.is_none() && r.complete()) else { return };
        let like = |came: &(Session, Made)| {
            // Where it is computed is no change of what is.
            let backend = run.plan.session.backend;
            run.plan.session.runs_as(&Session { backend, ..came.0.clone() })
        };
        let (Some(came), Some(backend)) = (self.came_with.take_if(|came| like(came)), run.backend.clone()) else { return };
        let (id, plan, traces) = (run.id, Arc::clone(&run.plan), Arc::clone(&run.traces));
        self.jobs.run(move || Done::Compared { run: id, words: came.1.compare(&backend, &saved::trace_hash(&plan, &traces)) });
    }

    /// A file was not opened: in words, or with a question about its capture.
    pub(in crate::app) fn refused(&mut self, path: PathBuf, refused: Refused) {
        self.notice = None;
        match refused {
            Refused::Words(message) => {
                self.dialogs.error("The file cannot be opened", message);
                self.give_up_opening(&path);
            }
            Refused::Capture { session, kept, error } => {
                let found = if let PlanError::CaptureDiffers { found, .. } = error.as_ref() { Some(found.clone()) } else { None };
                let message = error.to_string();
                self.dialogs.push(Dialog::Capture(LostCapture { path, session, kept, message, found }));
            }
        }
    }

    /// The file that the window was started on is not opened: the bundled capture is shown.
    fn give_up_opening(&mut self, path: &Path) {
        if self.opening.take_if(|p| *p == path).is_some() {
            self.replan();
        }
    }

    pub(in crate::app) fn capture_chosen(&mut self, lost: LostCapture, choice: CaptureChoice) {
        match choice {
            CaptureChoice::Find => {
                self.finding = Some(lost);
                self.pick(Purpose::Capture, String::new());
            }
            CaptureChoice::Take => {
                let LostCapture { path, mut session, kept, found, .. } = lost;
                if let Source::Capture(capture) = &mut session.source {
                    capture.sha256 = found;
                }
                self.jobs.open_session(path, session, kept);
            }
            CaptureChoice::Without => {
                let LostCapture { path, session, kept, .. } = lost;
                self.adopt(Some(path), Opened { session: *session, kept: *kept, run: ToRun::Not });
            }
            CaptureChoice::Leave => self.give_up_opening(&lost.path),
        }
    }

    /// A file was given for a session's capture.
    fn capture_found(&mut self, file: &Path) {
        let Some(LostCapture { path, mut session, kept, .. }) = self.finding.take() else { return };
        if let Source::Capture(capture) = &mut session.source {
            capture.path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        }
        self.jobs.open_session(path, session, kept);
    }

    /// Saves the session with what its run has written, if the run is complete and of the session as it is set.
    pub fn save_with_trace(&mut self, path: PathBuf) {
        let Some((run, backend)) = self.run_of_session().and_then(|r| Some((r, r.backend.clone()?))) else {
            let message = "The run is not complete, or is not that of the session as it is set; it can be saved with its trace when it is.";
            self.dialogs.error("Save with trace: not written", message);
            self.after_saving = None;
            return;
        };
        let cancel = Arc::new(AtomicBool::new(false));
        let session = self.to_save();
        let save = SaveTrace {
            session: session.clone(),
            base: self.base(),
            path,
            plan: Arc::clone(&run.plan),
            traces: Arc::clone(&run.traces),
            states: run.states.clone(),
            backend,
            spent: run.spent.clone(),
        };
        self.saving = Some(session);
        self.jobs.save_with_trace(save, Arc::clone(&cancel));
        self.exporting = Some(Exporting { share: 0.0, cancel });
    }

    pub(in crate::app) fn saved_with_trace(&mut self, path: &Path, result: Result<Box<Session>, ExportError>) {
        self.exporting = None;
        match result {
            Ok(session) => {
                self.notice = Some(format!("Wrote {}", path.display()));
                self.is_saved(path, session.source);
            }
            Err(error) => {
                (self.saving, self.after_saving) = (None, None);
                self.notice = None;
                if error == ExportError::Cancelled {
                    self.notice = Some("Saving with the trace was cancelled".to_owned());
                } else {
                    self.dialogs.error(format!("{}: not written", Purpose::SavedTrace.title()), error.to_string());
                }
            }
        }
    }

    /// The session is in the file `path` now, where its source is called so.
    fn is_saved(&mut self, path: &Path, source: Source) {
        if let Some(saved) = &mut self.saving {
            // What was edited while the file was written stays edited.
            if self.session.source == saved.source {
                self.session.source = source.clone();
            }
            let old = std::mem::replace(&mut saved.source, source);
            let source = &saved.source;
            self.undo.each_session(|s| {
                if s.source == old {
                    s.source.clone_from(source);
                }
            });
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

    pub(in crate::app) fn written(&mut self, purpose: Purpose, path: &Path, result: Result<Vec<String>, String>) {
        if matches!(purpose, Purpose::Trace | Purpose::Animation) {
            self.exporting = None;
        }
        if let (Purpose::SaveLesson, Some(editing)) = (purpose, &mut self.editing) {
            editing.saved(path, result.is_ok());
        }
        match result {
            Ok(left_out) => {
                self.notice = Some(format!("Wrote {}", path.display()));
                if !left_out.is_empty() {
                    self.dialogs.error("Written, with something left out", left_out.join("\n"));
                }
                if purpose == Purpose::SaveSession {
                    // The capture's path in the file may be another now, as seen from the file's folder; and it has its hash.
                    let source = Session::open(path).map_or_else(|_| self.session.source.clone(), |s| s.source);
                    self.is_saved(path, source);
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

/// True for a file that a session may be saved over: a capture may not.
pub(super) fn is_session(path: &Path) -> bool {
    path.extension().is_none_or(|e| e != "safetensors")
}

/// True for a file that holds a session with its trace.
pub(super) fn has_trace(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == saved::EXTENSION)
}

/// The path with the ending of a session with its trace, by which such a file is told when it is saved again.
fn for_trace(path: PathBuf) -> PathBuf {
    // Of a session without its trace the name is kept, of anything else the whole name.
    if path.extension().is_none_or(|e| e == "ron" || e == saved::EXTENSION) {
        return path.with_extension(saved::EXTENSION);
    }
    let mut name = path.into_os_string();
    name.push(".");
    name.push(saved::EXTENSION);
    name.into()
}

fn with_extension(path: PathBuf, extension: &str) -> PathBuf {
    if path.extension().is_some() { path } else { path.with_extension(extension) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_with_its_trace_is_always_called_so() {
        for (given, made) in [("a", "a.mnemo"), ("a.mnemo", "a.mnemo"), ("b/a.ron", "b/a.mnemo"), ("cache.64", "cache.64.mnemo")] {
            let path = for_trace(given.into());
            assert_eq!(path, PathBuf::from(made), "{given}");
            assert!(has_trace(&path), "Ctrl+S writes the trace again, not a session without it over it");
        }
    }
}
