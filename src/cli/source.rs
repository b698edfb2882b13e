//! What subcommands that run something have in common: the session, changes to it, and how long it takes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use indicatif::{ProgressBar, ProgressStyle};

use super::{CliError, set};
use crate::engine::RunError;
use crate::engine::headless::{self, RunResult};
use crate::export::{ExportError, WriteError};
use crate::param::nearest;
use crate::session::plan::Plan;
use crate::session::saved::is_saved;
use crate::session::{self, BackendChoice, Session, view};
use crate::stream::Stream;

/// A session or capture, with changes.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// A session (RON, or with its trace), or a capture (safetensors); `bundled` is the capture inside the program, `gallery:NAME` a session
    /// inside it (`mnemoscope gallery` lists them).
    #[arg(default_value = "bundled", value_name = "SESSION|CAPTURE")]
    pub session: PathBuf,

    /// Change a lane's parameter, or the task's (`task.needles=4`). May be given several times.
    #[arg(long, value_name = "LANE.PARAM=VALUE")]
    pub set: Vec<String>,

    /// Another seed for the task and all that is drawn.
    #[arg(long)]
    pub seed: Option<u64>,

    /// Take a capture that is not the file that the session was made with (it names its capture by a SHA-256).
    #[arg(long)]
    pub any_capture: bool,
}

impl Source {
    /// The session with its changes, and the folder that its paths are relative to.
    pub fn open(&self) -> Result<(Session, Option<&Path>), CliError> {
        let mut session = Session::open(&self.session)?;
        for change in &self.set {
            set::apply(&mut session, change)?;
        }
        if let Some(seed) = self.seed {
            session.seed = seed;
        }
        if let (true, session::Source::Capture(capture)) = (self.any_capture, &mut session.source) {
            capture.sha256 = None;
        }
        Ok((session, self.session.parent()))
    }

    /// The session checked and loaded, to run on `backend` where that is given.
    pub fn plan(&self, backend: Option<BackendChoice>) -> Result<Arc<Plan>, CliError> {
        let (mut session, base) = self.open()?;
        session.backend = backend.unwrap_or(session.backend);
        let plan = Plan::new(&session, base).map_err(|e| CliError::plan(&self.session, e))?;
        self.check_view(&session, &plan.stream)?;
        Ok(Arc::new(plan))
    }

    /// Holds what the file looks at against its stream, where the stream is the file's own: one that was made shorter here (`--set`, another
    /// capture) makes no file wrong, and what a window has saved with its trace is as it was.
    pub fn check_view(&self, session: &Session, stream: &Stream) -> Result<(), CliError> {
        if is_saved(&self.session) {
            return Ok(());
        }
        let own = Session::open(&self.session)?;
        if own.source != session.source {
            return Ok(());
        }
        view::check(&own, stream).map_err(|e| CliError::plan(&self.session, e))
    }
}

/// `--backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// A real GPU where there is one, else the CPU.
    Auto,
    /// A GPU adapter, software ones too.
    Gpu,
    /// The CPU.
    Cpu,
}

impl From<Backend> for BackendChoice {
    fn from(backend: Backend) -> Self {
        match backend {
            Backend::Auto => Self::Auto,
            Backend::Gpu => Self::Gpu,
            Backend::Cpu => Self::Cpu,
        }
    }
}

/// Set by Ctrl-C (and by a scheduler's SIGTERM): what runs ends at its next block, and nothing half is left behind. A second
/// one ends the program at once.
pub fn interrupted() -> Result<Arc<AtomicBool>, CliError> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::clone(FLAG.get_or_init(Arc::default));
    let raised = Arc::clone(&flag);
    let handler = move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(handler).map_err(|e| CliError::Usage(format!("Ctrl-C cannot be caught: {e}")))?;
    Ok(flag)
}

/// Runs a plan to its end, with a bar that counts tokens.
pub fn run(plan: &Arc<Plan>, cancel: &AtomicBool) -> Result<RunResult, RunError> {
    let bar = Bar::new("tokens");
    headless::run(plan, plan.session.backend, |p| bar.show(p.writes as u64, p.total as u64), cancel)
}

/// Makes a folder, if it is not there.
pub fn make_folder(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder).map_err(|e| ExportError::Write(WriteError::of(folder, &e)))?;
    Ok(())
}

/// Makes the folder that a file is to be in, if it is not there.
pub fn make_folder_of(file: &Path) -> Result<(), CliError> {
    file.parent().filter(|p| !p.as_os_str().is_empty()).map_or(Ok(()), make_folder)
}

/// `` `a`, `b` (did you mean `a`?)``: names that there are, and the nearest of them to one that there is not.
pub fn known<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let lower = name.to_lowercase();
    let near = names.clone().find(|n| n.to_lowercase() == lower).or_else(|| nearest(name, names.clone()));
    let quoted: Vec<String> = names.map(|n| format!("`{n}`")).collect();
    format!("{}{}", quoted.join(", "), near.map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default())
}

/// A progress bar on standard error; nothing where that is no terminal.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that counts `unit`.
    pub fn new(unit: &'static str) -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {unit}  {{eta}} left")) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Moves it.
    pub fn show(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
