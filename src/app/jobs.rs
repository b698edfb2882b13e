//! What must not hold up the window: reading and checking sessions, file dialogs, writing files. Each on a thread, each
//! with an answer in [`Done`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use eframe::egui::{Color32, ColorImage};

use crate::app::session_panel::Problem;
use crate::engine::sweep::{Row, file as sweep_file};
use crate::export::{self, Progress};
use crate::layer::Snapshot;
use crate::param::ParamError;
use crate::session::plan::{Plan, PlanError};
use crate::session::{Session, Source};
use crate::stream::capture::Capture;
use crate::trace::LaneTrace;

/// An answer within this time came from no person: there is no dialog on this system.
const AT_ONCE: Duration = Duration::from_millis(300);

/// What a path is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A session or a capture to open.
    Open,
    /// Where to save the session.
    SaveSession,
    /// Where to write the window as a picture.
    Picture,
    /// The folder for the trace.
    Trace,
    /// Where to write the rows of the sweep.
    Sweep,
    /// Where to write the list of events.
    Events,
}

impl Purpose {
    /// What the dialog is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Open => "Open a session or a capture",
            Self::SaveSession => "Save the session",
            Self::Picture => "Export the window as PNG",
            Self::Trace => "Export the trace to a folder",
            Self::Sweep => "Export the sweep as Parquet",
            Self::Events => "Export the events as CSV",
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

/// An answer of a job.
#[derive(Debug)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Done {
    /// A session was checked; `ticket` says which.
    Planned { ticket: u64, result: Result<Prepared, Problem> },
    /// A file was opened, or not.
    Opened { path: PathBuf, result: Result<Box<(Session, Prepared)>, String> },
    /// A file dialog was answered; `at_once` if no person can have done it.
    Picked { purpose: Purpose, path: Option<PathBuf>, at_once: bool },
    /// An export of the trace has come so far, from 0 to 1.
    Progress(f32),
    /// A file was written, or not; with sentences on what was left out of it.
    Written { purpose: Purpose, path: PathBuf, result: Result<Vec<String>, String> },
}

enum Task {
    Plan { ticket: u64, session: Box<Session>, base: Option<PathBuf>, cancel: Arc<AtomicBool> },
    Open(PathBuf),
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

    /// Saves a session.
    pub fn save(&self, session: Session, path: PathBuf, base: Option<PathBuf>) {
        self.run(move || {
            let result = session.save(&path, base.as_deref()).map(|()| Vec::new()).map_err(|e| e.to_string());
            Done::Written { purpose: Purpose::SaveSession, path, result }
        });
    }

    /// Writes a run's trace and its lanes' last states into a folder; `cancel` ends it early.
    pub fn export(
        &self,
        plan: Arc<Plan>,
        traces: Arc<Vec<LaneTrace>>,
        states: Vec<Arc<Snapshot>>,
        folder: PathBuf,
        cancel: Arc<AtomicBool>,
    ) {
        let (outbox, wake) = self.outbox();
        self.run(move || {
            let mut told = 0;
            let mut progress = |p: Progress| {
                let percent = p.done * 100 / p.total.max(1);
                if percent > told && outbox.send(Done::Progress(percent.min(100) as f32 / 100.0)).is_ok() {
                    told = percent;
                    wake();
                }
            };
            let result = export::trace(&plan, &traces, &states, &folder, &mut progress, &cancel);
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
    let plan = Plan::with_cancel(session, base, cancel).map_err(|e| problem(session, &e))?;
    let layers = match &session.source {
        Source::Capture(c) => Capture::open(&crate::session::file::resolve(&c.path, base)).map_or_else(|_| Vec::new(), |c| c.layers()),
        Source::Task(_) => Vec::new(),
    };
    Ok(Prepared { plan: Arc::new(plan), layers })
}

fn open(path: &Path) -> Result<(Session, Prepared), String> {
    let session = Session::open(path).map_err(|e| e.to_string())?;
    let prepared = prepare(&session, path.parent(), &AtomicBool::new(false)).map_err(|p| format!("{}: {}", path.display(), p.message))?;
    Ok((session, prepared))
}

/// The problem, at the lane that it is about.
fn problem(session: &Session, error: &PlanError) -> Problem {
    let owner = match error {
        PlanError::Param(
            ParamError::Unknown { owner, .. }
            | ParamError::Type { owner, .. }
            | ParamError::Range { owner, .. }
            | ParamError::Conflict { owner, .. },
        ) => Some(owner),
        PlanError::UnknownLayer { lane, .. }
        | PlanError::TraceTooLarge { lane, .. }
        | PlanError::Weights { lane, .. }
        | PlanError::Fit { lane, .. } => Some(lane),
        _ => None,
    };
    let lane = owner.and_then(|owner| session.lanes.iter().position(|l| l.name == *owner));
    Problem { lane, message: error.to_string() }
}

async fn dialog(purpose: Purpose, name: String) -> Option<PathBuf> {
    let dialog = rfd::AsyncFileDialog::new().set_title(purpose.title());
    let picked = match purpose {
        Purpose::Open => dialog.add_filter("Sessions and captures", &["ron", "safetensors"]).pick_file().await,
        Purpose::SaveSession => dialog.add_filter("Session", &["ron"]).set_file_name(name).save_file().await,
        Purpose::Picture => dialog.add_filter("PNG", &["png"]).set_file_name(name).save_file().await,
        Purpose::Trace => dialog.pick_folder().await,
        Purpose::Events => dialog.add_filter("CSV", &["csv"]).set_file_name(name).save_file().await,
        Purpose::Sweep => dialog.add_filter("Parquet", &["parquet"]).set_file_name(name).save_file().await,
    };
    picked.map(|file| file.path().to_owned())
}

/// Writes a picture as PNG, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn write_png(path: &Path, picture: &ColorImage) -> Result<(), String> {
    let [width, height] = picture.size;
    let rgba: Vec<u8> = picture.pixels.iter().flat_map(Color32::to_srgba_unmultiplied).collect();
    let encode = |out: &mut dyn std::io::Write| {
        use image::ImageEncoder;
        let encoder = image::codecs::png::PngEncoder::new(out);
        encoder.write_image(&rgba, width as u32, height as u32, image::ExtendedColorType::Rgba8).map_err(std::io::Error::other)
    };
    export::write_atomic(path, |out| encode(out)).map_err(|e| e.to_string())
}
