//! Sessions with their trace on the command line: writing one, and holding a run against the trace that a file has.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::source::Bar;
use super::{CliError, out};
use crate::engine::headless::RunResult;
use crate::export::{ExportError, WriteError};
use crate::session::plan::Plan;
use crate::session::saved::{self, EXTENSION, Saving};

/// Checks, before the work, that a session with its trace can be called so.
pub fn check_name(path: &Path) -> Result<(), CliError> {
    out::file("--save", path, "the name of a session with its trace", &[EXTENSION]).map_err(CliError::Usage)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    if folder.is_some_and(|f| !f.is_dir()) {
        let error = WriteError { file: path.display().to_string(), reason: "its folder is not there".to_owned() };
        return Err(ExportError::Write(error).into());
    }
    Ok(())
}

/// Writes a run and its session into one file. `base` is the folder that the session's paths are relative to.
pub fn write(path: &Path, base: Option<&Path>, plan: &Plan, result: &RunResult, cancel: &AtomicBool) -> Result<(), CliError> {
    let chunks = plan.lanes.iter().map(|lane| lane.setup.stream.chunks(lane.setup.chunk));
    let spent: Vec<(f64, usize)> = result.seconds.iter().copied().zip(chunks).collect();
    let saving = Saving {
        session: &plan.session,
        base,
        plan,
        traces: &result.traces,
        states: &result.states,
        backend: &result.backend,
        spent: &spent,
    };
    let bar = Bar::new("bytes");
    saved::save(path, saving, &mut |p| bar.show(p.done, p.total), cancel)?;
    Ok(())
}

/// What the run of a session that came with its trace gives against that trace, in a sentence; `None` where the file has no trace, or
/// the session was changed.
pub fn compare(path: &Path, plan: &Plan, result: &RunResult) -> Result<Option<String>, CliError> {
    if !saved::is_saved(path) {
        return Ok(None);
    }
    let mut session = saved::read_session(path)?;
    // Where it is to be computed is no change of what is.
    session.backend = plan.session.backend;
    if !plan.session.runs_as(&session) {
        return Ok(None);
    }
    // All of it is read: of a file that is damaged nothing can be said, whatever hash it has written down.
    let made = saved::open(path)?.made;
    Ok(Some(made.compare(&result.backend, &saved::trace_hash(plan, &result.traces))))
}
