//! What leaves the program: one file a format.
//!
//! [`trace`] writes what a run recorded into a folder: `trace.npz` ([`npz`]) and `tokens.csv` ([`table`]), as the command line
//! and the window do. Every file is there whole or not at all ([`write_atomic`]).

mod atomic;
pub mod events;
pub mod npz;
pub mod parquet;
pub mod table;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

pub use atomic::{WriteError, write_atomic};

use crate::layer::Snapshot;
use crate::session::plan::Plan;
use crate::trace::LaneTrace;

/// How far an export is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written, roughly.
    pub done: u64,
    /// Bytes to be written, roughly.
    pub total: u64,
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Sentences on arrays that were left out because of their size: for standard error, or a line in the window.
    pub left_out: Vec<String>,
}

/// Why an export failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExportError {
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Somebody set the flag. Nothing is left of the file that was being written.
    #[error("the export was cancelled")]
    Cancelled,
}

/// Watches an export: tells how far it is, and stops it when the flag is set.
pub(crate) struct Watch<'a> {
    progress: &'a mut dyn FnMut(Progress),
    cancel: &'a AtomicBool,
    state: Progress,
}

impl Watch<'_> {
    /// So many bytes more are written. An error once the flag is set.
    pub(crate) fn wrote(&mut self, bytes: u64) -> io::Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("cancelled"));
        }
        self.state.done = (self.state.done + bytes).min(self.state.total);
        (self.progress)(self.state);
        Ok(())
    }

    fn error(&self, error: WriteError) -> ExportError {
        if self.cancel.load(Ordering::Relaxed) { ExportError::Cancelled } else { ExportError::Write(error) }
    }
}

/// Writes `trace.npz` and `tokens.csv` into the folder `dir`, which is made if it is not there.
///
/// `traces` belong to `plan.lanes`, in that order; a run that has not ended yet is written as far as it is. `states` are the
/// lanes' last states in the same order, or none. `progress` is called
/// for every array and every few thousand rows; setting `cancel` ends the export there.
///
/// # Errors
/// If a file cannot be written, or the export was cancelled.
pub fn trace(
    plan: &Plan,
    traces: &[LaneTrace],
    states: &[Arc<Snapshot>],
    dir: &Path,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Written, ExportError> {
    std::fs::create_dir_all(dir).map_err(|e| WriteError { file: dir.display().to_string(), reason: e.to_string() })?;
    let arrays: u64 = traces.iter().map(|t| t.bytes() as u64).chain(states.iter().map(|s| s.bytes() as u64)).sum();
    // A cell of the table has about eight letters.
    let cells = (plan.stream.writes() * (3 + table::columns(plan).len()) * 8) as u64;
    let mut watch = Watch { progress, cancel, state: Progress { done: 0, total: arrays + cells } };
    let (npz_path, csv_path) = (dir.join("trace.npz"), dir.join("tokens.csv"));
    let mut left_out = Vec::new();
    write_atomic(&npz_path, |out| npz::write(out, plan, traces, states, &mut left_out, &mut watch)).map_err(|e| watch.error(e))?;
    write_atomic(&csv_path, |out| table::write(out, plan, traces, &mut watch)).map_err(|e| watch.error(e))?;
    Ok(Written { files: vec![npz_path, csv_path], left_out })
}
