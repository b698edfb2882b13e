//! What must not hold up the window: reading and checking sessions, file dialogs, writing files. Each on a thread, each
//! with an answer in [`Done`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use eframe::egui::ColorImage;

use crate::app::autosave::{self, Crashed};
use crate::app::lesson::Playing;
use crate::app::session_panel::Problem;
use crate::engine::sweep::{Row, file as sweep_file};
use crate::engine::{BackendInfo, RunId};
use crate::export::{self, ExportError, Progress};
use crate::layer::Snapshot;
use crate::session::file::SessionError;
use crate::session::lesson::Lesson;
use crate::session::plan::{Plan, PlanError};
use crate::session::saved::{self, Saved, Saving};
use crate::session::{Session, Source, place, view};
use crate::stream::capture::{BUNDLED, Capture};
use crate::trace::LaneTrace;

/// An answer within this time came from no person: there is no dialog on this system.
const AT_ONCE: Duration = Duration::from_millis(300);

/// What a path is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A session or a capture to open.
    Open,
    /// The capture of a session that is not where the session says.
    Capture,
    /// Where to save the session.
    SaveSession,
    /// Where to save the session with its trace.
    SavedTrace,
    /// Where to write a picture as PNG.
    Picture,
    /// Where to write a picture as SVG.
    Vector,
    /// Where to write an animation as APNG.
    Animation,
    /// The folder for an animation's frames.
    Frames,
    /// The folder for the trace.
    Trace,
    /// Where to write the rows of the sweep.
    Sweep,
    /// Where to write the list of events.
    Events,
    /// A lesson to play.
    OpenLesson,
    /// Where to save the lesson that is being made.
    SaveLesson,
}

impl Purpose {
    /// What the dialog is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Open => "Open a session or a capture",
            Self::Capture => "Find the session's capture",
            Self::SaveSession => "Save the session",
            Self::SavedTrace => "Save the session with its trace",
            Self::Picture => "Export the picture as PNG",
            Self::Vector => "Export the picture as SVG",
            Self::Animation => "Export the animation as APNG",
            Self::Frames => "Export the animation's frames to a folder",
            Self::Trace => "Export the trace to a folder",
            Self::Sweep => "Export the sweep as Parquet",
            Self::Events => "Export the events as CSV",
            Self::OpenLesson => "Open a lesson",
            Self::SaveLesson => "Save the lesson",
        }
    }

    /// What one who types the path should know, if there is something.
    #[must_use]
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::SaveSession => Some(
                "A name that ends in .mnemo saves the trace as well, so that the file opens without computing. \
                 A name without an ending gets .ron: the session alone.",
            ),
            Self::SavedTrace => Some("The session and its trace in one file, whose name ends in .mnemo."),
            Self::Picture | Self::Animation => Some("A name without an ending gets .png."),
            Self::Vector => Some("A name without an ending gets .svg."),
            Self::Frames => Some("A folder, for frame-0001.png and so on."),
            Self::SaveLesson => Some("A name without an ending gets .ron."),
            Self::Events => Some("A name without an ending gets .csv."),
            Self::Sweep => Some("A name without an ending gets .parquet."),
            Self::Open | Self::Capture | Self::Trace | Self::OpenLesson => None,
        }
    }
}

/// A session checked and loaded, with what else the window wants to know of it.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Ready to run.
    pub plan: Arc<Plan>,
    /// The layers in the capture, if it is one.
    pub layers: Vec<u32>,
}

/// A file that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The session.
    pub session: Session,
    /// The session as it is in its file: what is edited is told by it.
    pub kept: Session,
    /// How to run it.
    pub run: ToRun,
}

/// How an opened session comes to be seen.
#[derive(Debug)]
pub enum ToRun {
    /// It is run.
    Plan(Box<Prepared>),
    /// Its trace was in the file.
    Saved(Box<Saved>, Vec<u32>),
    /// It cannot run as it is; why is found out once more, for the window to say.
    Not,
}

/// Why a file was not opened.
#[derive(Debug)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Refused {
    /// In words.
    Words(String),
    /// Its capture is missing or is another file, and the user may know better. `kept` is the session as the file has it.
    Capture { session: Box<Session>, kept: Box<Session>, error: Box<PlanError> },
}

/// An answer of a job.
#[derive(Debug)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Done {
    /// A session was checked; `ticket` says which.
    Planned { ticket: u64, result: Result<Prepared, Problem> },
    /// A file was opened, or not.
    Opened { path: PathBuf, result: Result<Box<Opened>, Refused> },
    /// The sessions of windows that crashed were looked for.
    Crashed(Vec<Crashed>),
    /// One of them can be gone on with, or not.
    Recovered { crashed: Box<Crashed>, opened: Box<Opened> },
    /// A lesson was checked and loaded with its session, or not.
    Lesson { result: Result<Box<(Playing, Session, Prepared)>, String> },
    /// A lesson was read from a file.
    LessonRead { path: PathBuf, lesson: Arc<Lesson> },
    /// A file dialog was answered; `at_once` if no person can have done it.
    Picked { purpose: Purpose, path: Option<PathBuf>, at_once: bool },
    /// An export of the trace has come so far, from 0 to 1.
    Progress(f32),
    /// A file was written, or not; with sentences on what was left out of it.
    Written { purpose: Purpose, path: PathBuf, result: Result<Vec<String>, String> },
    /// A run was held against the trace that its session came with.
    Compared { run: RunId, words: String },
    /// A session was saved with its trace, or not; the session as it is in the file.
    SavedTrace { path: PathBuf, result: Result<Box<Session>, ExportError> },
    /// A picture for the clipboard is there, or not.
    Copied(Result<Box<ColorImage>, String>),
}

enum Task {
    Plan { ticket: u64, session: Box<Session>, base: Option<PathBuf>, cancel: Arc<AtomicBool> },
    Open(PathBuf),
    OpenSession { path: PathBuf, session: Box<Session>, kept: Box<Session> },
}

/// What is saved with a trace, and where to.
#[derive(Debug)]
pub struct SaveTrace {
    /// The session as it is set.
    pub session: Session,
    /// The folder that its paths are relative to.
    pub base: Option<PathBuf>,
    /// Where to.
    pub path: PathBuf,
    /// The plan that ran.
    pub plan: Arc<Plan>,
    /// What each lane has written.
    pub traces: Arc<Vec<LaneTrace>>,
    /// The lanes' last states.
    pub states: Vec<Arc<Snapshot>>,
    /// Where it ran.
    pub backend: BackendInfo,
    /// Seconds that each lane's layer took, and its chunks.
    pub spent: Vec<(f64, usize)>,
}

/// The threads' other end. Threads end when this is dropped.
pub struct Jobs {
    tasks: Sender<Task>,
    outbox: Sender<Done>,
    inbox: Receiver<Done>,
    wake: Arc<dyn Fn() + Send + Sync>,
    /// Ends the check that was asked for last.
    newest: Mutex<Arc<AtomicBool>>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

impl Jobs {
    /// Starts the thread that checks sessions; `wake` is called after every answer.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn spawn(wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let (tasks, queue) = unbounded();
        let (outbox, inbox) = unbounded();
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
        let (out, woken) = (outbox.clone(), Arc::clone(&wake));
        thread::Builder::new().name("plans".to_owned()).spawn(move || work(&queue, &out, &*woken))?;
        Ok(Self { tasks, outbox, inbox, wake, newest: Mutex::default() })
    }

    /// The next answer, if there is one.
    #[must_use]
    pub fn next(&self) -> Option<Done> {
        self.inbox.try_recv().ok()
    }

    /// Checks a session. Of several the newest alone is checked: one that is under way is given up, without an answer.
    pub fn plan(&self, ticket: u64, session: Session, base: Option<PathBuf>) {
        let cancel = Arc::new(AtomicBool::new(false));
        let older = std::mem::replace(&mut *self.newest.lock().unwrap_or_else(PoisonError::into_inner), Arc::clone(&cancel));
        older.store(true, Ordering::Relaxed);
        self.task(Task::Plan { ticket, session: Box::new(session), base, cancel });
    }

    /// Opens a session or a capture.
    pub fn open(&self, path: PathBuf) {
        self.task(Task::Open(path));
    }

    /// Opens a session whose capture was found elsewhere, or is taken although it is another. `path` is the session's file, `kept` the
    /// session as it is in it.
    pub fn open_session(&self, path: PathBuf, session: Box<Session>, kept: Box<Session>) {
        self.task(Task::OpenSession { path, session, kept });
    }

    /// Looks for the sessions of windows that crashed.
    pub fn look_for_crashed(&self, folder: PathBuf) {
        self.run(move || Done::Crashed(autosave::crashed(&folder)));
    }

    /// Makes the session of a window that crashed ready to be gone on with.
    pub fn recover(&self, crashed: Box<Crashed>) {
        self.run(move || {
            let session = crashed.kept.session.clone();
            // As it is in its file, so that it is known to be edited.
            let kept = crashed.kept.path.as_deref().and_then(|p| Session::open(p).ok()).unwrap_or_default();
            let run = match prepare(&session, crashed.kept.path.as_deref().and_then(Path::parent), &AtomicBool::new(false)) {
                Ok(prepared) => ToRun::Plan(Box::new(prepared)),
                Err(_) => ToRun::Not,
            };
            Done::Recovered { crashed, opened: Box::new(Opened { session, kept, run }) }
        });
    }

    /// Saves a session with what its run has written; `cancel` ends it early.
    pub fn save_with_trace(&self, save: SaveTrace, cancel: Arc<AtomicBool>) {
        let mut progress = self.progress();
        self.run(move || {
            let SaveTrace { session, base, path, plan, traces, states, backend, spent } = save;
            let saving = Saving {
                session: &session,
                base: base.as_deref(),
                plan: &plan,
                traces: &traces,
                states: &states,
                backend: &backend,
                spent: &spent,
            };
            let result = saved::save(&path, saving, &mut progress, &cancel).map(Box::new);
            Done::SavedTrace { path, result }
        });
    }

    /// Tells the window of an export's progress, a percent at a time.
    fn progress(&self) -> impl FnMut(Progress) + Send + 'static {
        let (outbox, wake) = self.outbox();
        let mut told = 0;
        move |p: Progress| {
            let percent = p.done * 100 / p.total.max(1);
            if percent > told && outbox.send(Done::Progress(percent.min(100) as f32 / 100.0)).is_ok() {
                told = percent;
                wake();
            }
        }
    }

    /// Saves a session.
    pub fn save(&self, session: Session, path: PathBuf, base: Option<PathBuf>) {
        self.run(move || {
            let result = session.save(&path, base.as_deref()).map(|()| Vec::new()).map_err(|e| e.to_string());
            Done::Written { purpose: Purpose::SaveSession, path, result }
        });
    }

    /// Writes what is asked for of a run's trace and its lanes' last states into a folder; `cancel` ends it early.
    pub fn export(
        &self,
        plan: Arc<Plan>,
        traces: Arc<Vec<LaneTrace>>,
        states: Vec<Arc<Snapshot>>,
        request: export::Request,
        folder: PathBuf,
        cancel: Arc<AtomicBool>,
    ) {
        let mut progress = self.progress();
        self.run(move || {
            let result = export::trace(&plan, &traces, &states, &request, &folder, &mut progress, &cancel);
            let result = result.map(|w| w.left_out).map_err(|e| e.to_string());
            Done::Written { purpose: Purpose::Trace, path: folder, result }
        });
    }

    /// Writes the rows of a sweep.
    pub fn save_sweep(&self, rows: Vec<Row>, path: PathBuf) {
        self.run(move || {
            let result = sweep_file::write(&path, &rows).map(|()| Vec::new()).map_err(|e| e.to_string());
            Done::Written { purpose: Purpose::Sweep, path, result }
        });
    }

    /// Asks the user for a path, in a dialog of the system.
    pub fn pick(&self, purpose: Purpose, name: String) {
        self.run(move || {
            let start = Instant::now();
            let path = pollster::block_on(dialog(purpose, name));
            Done::Picked { purpose, path, at_once: start.elapsed() < AT_ONCE }
        });
    }

    /// Runs something on a thread of its own and passes on its answer.
    pub fn run(&self, job: impl FnOnce() -> Done + Send + 'static) {
        let (outbox, wake) = (self.outbox.clone(), Arc::clone(&self.wake));
        let spawned = thread::Builder::new().name("job".to_owned()).spawn(move || {
            // The window may have been closed meanwhile; then nobody wants the answer.
            if outbox.send(job()).is_ok() {
                wake();
            }
        });
        if let Err(error) = spawned {
            log::error!("no thread for a job: {error}");
        }
    }

    /// A sender of answers for code that is called from elsewhere, with the call that wakes the window.
    #[must_use]
    pub fn outbox(&self) -> (Sender<Done>, Arc<dyn Fn() + Send + Sync>) {
        (self.outbox.clone(), Arc::clone(&self.wake))
    }

    fn task(&self, task: Task) {
        if self.tasks.send(task).is_err() {
            log::error!("the thread that checks sessions has ended");
        }
    }
}

fn work(queue: &Receiver<Task>, outbox: &Sender<Done>, wake: &(dyn Fn() + Send + Sync)) {
    while let Ok(first) = queue.recv() {
        let waiting: Vec<Task> = std::iter::once(first).chain(queue.try_iter()).collect();
        let newest = waiting.iter().rposition(|t| matches!(t, Task::Plan { .. }));
        for (i, task) in waiting.into_iter().enumerate() {
            let done = match task {
                Task::Plan { .. } if Some(i) != newest => continue,
                Task::Plan { ticket, session, base, cancel } => match prepare(&session, base.as_deref(), &cancel) {
                    // A newer one is on its way.
                    Err(_) if cancel.load(Ordering::Relaxed) => continue,
                    result => Done::Planned { ticket, result },
                },
                Task::Open(path) => {
                    let result = open(&path).map(Box::new);
                    Done::Opened { path, result }
                }
                Task::OpenSession { path, session, kept } => {
                    let result = open_session(&path, *session, *kept).map(Box::new);
                    Done::Opened { path, result }
                }
            };
            if outbox.send(done).is_err() {
                return;
            }
            wake();
        }
    }
}

/// Checks and loads a session. `base` is the folder that its paths are relative to.
///
/// # Errors
/// Why it cannot run, or that `cancel` was set.
pub fn prepare(session: &Session, base: Option<&Path>, cancel: &AtomicBool) -> Result<Prepared, Problem> {
    planned(session, base, cancel).map_err(|e| problem(session, &e))
}

fn planned(session: &Session, base: Option<&Path>, cancel: &AtomicBool) -> Result<Prepared, PlanError> {
    let plan = Plan::with_cancel(session, base, cancel)?;
    Ok(Prepared { plan: Arc::new(plan), layers: layers(session, base) })
}

/// The layers in a session's capture; none where it has no capture, or that cannot be read.
fn layers(session: &Session, base: Option<&Path>) -> Vec<u32> {
    match &session.source {
        Source::Capture(c) => Capture::open(&crate::session::file::resolve(&c.path, base)).map_or_else(|_| Vec::new(), |c| c.layers()),
        Source::Task(_) => Vec::new(),
    }
}

fn open(path: &Path) -> Result<Opened, Refused> {
    let words = |e: SessionError| Refused::Words(e.to_string());
    if path.as_os_str() != BUNDLED && saved::is_saved(path) {
        let saved = saved::open(path).map_err(words)?;
        let (session, layers) = (saved.session.clone(), layers(&saved.session, path.parent()));
        return Ok(Opened { kept: session.clone(), session, run: ToRun::Saved(Box::new(saved), layers) });
    }
    let session = Session::open(path).map_err(words)?;
    open_session(path, session.clone(), session)
}

fn open_session(path: &Path, session: Session, kept: Session) -> Result<Opened, Refused> {
    let looked_at = |prepared: Prepared| -> Result<Prepared, PlanError> {
        // Of a capture that was found in the place of the session's own the file cannot know.
        if session.source == kept.source {
            view::check(&session, &prepared.plan.stream)?;
        }
        Ok(prepared)
    };
    match planned(&session, path.parent(), &AtomicBool::new(false)).and_then(looked_at) {
        Ok(prepared) => Ok(Opened { session, kept, run: ToRun::Plan(Box::new(prepared)) }),
        Err(error @ (PlanError::CaptureMissing { .. } | PlanError::CaptureDiffers { .. })) => {
            Err(Refused::Capture { session: Box::new(session), kept: Box::new(kept), error: Box::new(error) })
        }
        Err(error) => Err(Refused::Words(format!("{}: {error}", place::prefix(path, &error)))),
    }
}

/// The problem, at the lane that it is about.
fn problem(session: &Session, error: &PlanError) -> Problem {
    let owner = match error {
        PlanError::Param(error) => Some(error.about().0),
        PlanError::UnknownLayer { lane, .. }
        | PlanError::TraceTooLarge { lane, .. }
        | PlanError::Weights { lane, .. }
        | PlanError::Fit { lane, .. } => Some(lane.as_str()),
        _ => None,
    };
    let lane = owner.and_then(|owner| session.lanes.iter().position(|l| l.name == owner));
    Problem { lane, message: error.to_string() }
}

async fn dialog(purpose: Purpose, name: String) -> Option<PathBuf> {
    let dialog = rfd::AsyncFileDialog::new().set_title(purpose.title());
    let picked = match purpose {
        Purpose::Open => dialog.add_filter("Sessions and captures", &["ron", saved::EXTENSION, "safetensors"]).pick_file().await,
        Purpose::Capture => dialog.add_filter("Captures", &["safetensors"]).pick_file().await,
        Purpose::SavedTrace => dialog.add_filter("Session with its trace", &[saved::EXTENSION]).set_file_name(name).save_file().await,
        Purpose::SaveSession => dialog.add_filter("Session", &["ron"]).set_file_name(name).save_file().await,
        Purpose::Picture => dialog.add_filter("PNG", &["png"]).set_file_name(name).save_file().await,
        Purpose::Vector => dialog.add_filter("SVG", &["svg"]).set_file_name(name).save_file().await,
        Purpose::Animation => dialog.add_filter("APNG", &["png", "apng"]).set_file_name(name).save_file().await,
        Purpose::Trace | Purpose::Frames => dialog.pick_folder().await,
        Purpose::OpenLesson => dialog.add_filter("Lesson", &["ron"]).pick_file().await,
        Purpose::SaveLesson => dialog.add_filter("Lesson", &["ron"]).set_file_name(name).save_file().await,
        Purpose::Events => dialog.add_filter("CSV", &["csv"]).set_file_name(name).save_file().await,
        Purpose::Sweep => dialog.add_filter("Parquet", &["parquet"]).set_file_name(name).save_file().await,
    };
    picked.map(|file| file.path().to_owned())
}
