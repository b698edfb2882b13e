//! What leaves the program: one file a format.
//!
//! [`trace`] writes what a run recorded into a folder, a **bundle**: arrays as `trace.npz` and `trace.safetensors`, [`tables`] as CSV,
//! JSON Lines and Parquet, and beside them `README.md` and `columns.json`, which say what every name means. A [`Request`] says which
//! part of the run, and which formats.
//!
//! ```text
//! Request + Plan -> Cut            which writes, reads and steps leave (cut)
//! traces + Cut   -> Inventory      every array: name, shape, meaning, where its numbers are
//!                -> tables         every table: columns with their cells, made a stretch of rows at a time (columns)
//! both           -> formats        npz, safetensors; delimited, parquet
//!                -> readme         README.md, columns.json, the metadata in the files
//! all of it      -> Folder         staged beside the place, then put there together, or not at all
//! ```
//!
//! Every other file is there whole or not at all, too ([`write_atomic`]).

mod atomic;
mod columns;
mod cut;
mod delimited;
pub mod events;
mod folder;
mod inventory;
pub(crate) mod npz;
pub mod parquet;
mod readme;
mod safetensors;
pub mod tables;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

pub use atomic::{WriteError, write_atomic};
pub use cut::{ArrayFormats, Request, TableFormats, Writes};
pub use folder::Folder;

use crate::layer::Snapshot;
use crate::session::file::SessionError;
use crate::session::plan::Plan;
use crate::trace::{Axis, LaneTrace};
use columns::Table;
use cut::Cut;
use folder::Staging;
use inventory::Inventory;
use readme::Bundle;

/// Rows that are made and written at a time: a row group of Parquet.
const GROUP: usize = 1 << 16;

/// What a cell of a table takes, roughly.
const CELL_BYTES: u64 = 8;

/// The arrays for `numpy.load`.
const NPZ: &str = "trace.npz";

/// The arrays in a file of any size.
const SAFETENSORS: &str = "trace.safetensors";

/// What says for programs what is in a bundle.
const COLUMNS: &str = "columns.json";

/// What says it for people.
const README: &str = "README.md";

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
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum ExportError {
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It asks for what the run does not have.
    #[error("{reason}")]
    Request { reason: String },
    /// A file of that name is there, and no export wrote it.
    #[error("{file} is there, and is not of an earlier export: choose another folder")]
    NotOurs { file: String },
    /// Somebody set the flag. Nothing is left of what was being written.
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

/// Writes a bundle into the folder `dir`, which is made if it is not there.
///
/// `traces` belong to `plan.lanes`, in that order; a run that has not ended yet is written as far as it is. `states` are the
/// lanes' last states in the same order, or none. What leaves is what `request` asks for; what that means along every axis stands
/// on the page of [`Request`] and in the bundle's README. `progress` is called every few thousand numbers; setting `cancel` ends
/// the export there.
///
/// The bundle is there whole or not at all: if anything fails, what was in the folder stays as it was. A bundle that was there before is
/// replaced as a whole, those of its files that the new one does not have included.
///
/// # Errors
/// If the request does not fit the run, a file cannot be written, one would take the place of a `README.md` or `columns.json` that no
/// export wrote, or the export was cancelled.
pub fn trace(
    plan: &Plan,
    traces: &[LaneTrace],
    states: &[Arc<Snapshot>],
    request: &Request,
    dir: &Path,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Written, ExportError> {
    let cut = Cut::new(request, plan)?;
    let old = earlier(dir)?;
    let folder = Folder::make(dir)?;
    let inventory = Inventory::new(plan, traces, states, &cut);
    let tables = if request.tables.endings().is_empty() { Vec::new() } else { tables::all(plan, traces, &cut) };
    let bundle = describe(plan, traces, request, &cut, &inventory, &tables)?;
    let mut staging = Staging::begin(&folder)?;
    let mut watch = Watch { progress, cancel, state: Progress { done: 0, total: volume(request, &inventory, &tables) } };
    let written = write_all(&bundle, &mut staging, &mut watch);
    written.map_err(|e| watch.error(e))?;
    if cancel.load(Ordering::Relaxed) {
        return Err(ExportError::Cancelled);
    }
    let files = staging.commit(&old)?;
    Ok(Written { files, left_out: inventory.left_out().to_vec() })
}

/// The files of an earlier bundle in a folder, by its own list: those that a bundle can have.
///
/// # Errors
/// [`ExportError::NotOurs`] if `README.md` or `columns.json` is there and no export wrote it.
pub fn earlier(dir: &Path) -> Result<Vec<String>, ExportError> {
    let listed = std::fs::read(dir.join(COLUMNS)).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    let ours = listed.as_ref().is_some_and(|v| v["mnemoscope"].as_str().is_some_and(|kind| kind.starts_with("bundle ")));
    let foreign = [README, COLUMNS].into_iter().map(|name| dir.join(name)).find(|path| !ours && path.exists());
    if let Some(path) = foreign {
        return Err(ExportError::NotOurs { file: path.display().to_string() });
    }
    let names = listed.as_ref().and_then(|v| v["files"].as_array()).into_iter().flatten().filter_map(|n| n.as_str());
    let possible = possible_files();
    Ok(names.filter(|name| possible.iter().any(|p| p == name)).map(str::to_owned).collect())
}

/// Every name that a file of a bundle can have.
fn possible_files() -> Vec<String> {
    let arrays = ArrayFormats { npz: true, safetensors: true };
    let formats = TableFormats { csv: true, jsonl: true, parquet: true };
    files(arrays, formats, tables::TABLES.into_iter())
}

/// The files of a bundle with these tables in these formats.
fn files<'t>(arrays: ArrayFormats, formats: TableFormats, tables: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    files.extend(arrays.npz.then(|| NPZ.to_owned()));
    files.extend(arrays.safetensors.then(|| SAFETENSORS.to_owned()));
    for table in tables {
        files.extend(formats.endings().iter().map(|ending| format!("{table}.{ending}")));
    }
    files.extend([README, COLUMNS].map(str::to_owned));
    files
}

fn describe<'a>(
    plan: &'a Plan,
    traces: &[LaneTrace],
    request: &'a Request,
    cut: &'a Cut,
    inventory: &'a Inventory<'a>,
    tables: &'a [Table<'a>],
) -> Result<Bundle<'a>, ExportError> {
    let session = plan.session.to_ron().map_err(|e| match e {
        SessionError::Write(e) => e,
        other => WriteError { file: README.to_owned(), reason: other.to_string() },
    })?;
    let sha256 = readme::sha256(&session);
    let total = plan.stream.writes();
    let whole = |at: &usize| {
        let (lane, trace) = (&plan.lanes[*at], &traces[*at]);
        let expected = [(Axis::Write, total), (Axis::Read, plan.stream.reads()), (Axis::Step, plan.stream.chunks(lane.setup.chunk))];
        expected.into_iter().all(|(axis, count)| trace.complete(axis).is_none_or(|held| held == count))
    };
    let files = files(request.arrays, request.tables, tables.iter().map(|t| t.name));
    let complete = cut.lanes.iter().all(whole);
    Ok(Bundle { plan, request, cut, inventory, tables, session, sha256, complete, files })
}

/// Bytes that will be written, roughly.
fn volume(request: &Request, inventory: &Inventory<'_>, tables: &[Table<'_>]) -> u64 {
    let arrays: u64 = inventory.entries().iter().map(inventory::Entry::bytes).sum();
    let cells: u64 = tables.iter().map(|t| (t.rows * t.columns.len()) as u64).sum();
    let formats = u64::from(request.arrays.npz) + u64::from(request.arrays.safetensors);
    arrays * formats + cells * CELL_BYTES
}

fn write_all(bundle: &Bundle<'_>, staging: &mut Staging<'_>, watch: &mut Watch<'_>) -> Result<(), WriteError> {
    let metadata = bundle.array_metadata();
    if bundle.request.arrays.npz {
        let mut out = staging.create(NPZ)?;
        npz::write(&mut out, bundle.inventory, &metadata, watch).map_err(|e| staging.error(NPZ, &e))?;
        staging.end(NPZ, out)?;
    }
    if bundle.request.arrays.safetensors {
        let mut out = staging.create(SAFETENSORS)?;
        let texts = bundle.texts(&metadata);
        safetensors::write(&mut out, bundle.inventory, &texts, watch).map_err(|e| staging.error(SAFETENSORS, &e))?;
        staging.end(SAFETENSORS, out)?;
    }
    for table in bundle.tables {
        write_table(bundle, table, staging, watch)?;
    }
    for (name, text) in [(README, bundle.readme()), (COLUMNS, bundle.json())] {
        let mut out = staging.create(name)?;
        io::Write::write_all(&mut out, text.as_bytes()).map_err(|e| staging.error(name, &e))?;
        staging.end(name, out)?;
    }
    Ok(())
}

/// Writes a table in every format that is asked for, [`GROUP`] rows at a time.
fn write_table(bundle: &Bundle<'_>, table: &Table<'_>, staging: &mut Staging<'_>, watch: &mut Watch<'_>) -> Result<(), WriteError> {
    let formats = bundle.request.tables;
    let name = |ending: &str| format!("{}.{ending}", table.name);
    let titles = || table.columns.iter().map(|c| c.name.as_str());
    let mut csv = if formats.csv { Some(staging.create(&name("csv"))?) } else { None };
    let mut jsonl = if formats.jsonl { Some(staging.create(&name("jsonl"))?) } else { None };
    let mut parquet = if formats.parquet { Some(staging.create(&name("parquet"))?) } else { None };
    let mut write = || -> io::Result<()> {
        let kinds: Vec<parquet::Column> = table.columns.iter().map(|c| c.cells.none()).collect();
        if let Some(out) = &mut csv {
            delimited::csv_head(out, titles())?;
        }
        let metadata = bundle.parquet_metadata(table);
        let begin = |out| parquet::Stream::new(out, titles().zip(&kinds), &metadata);
        let mut stream = parquet.as_mut().map(begin).transpose()?;
        for start in (0..table.rows).step_by(GROUP) {
            let rows = start..(start + GROUP).min(table.rows);
            let cells: Vec<parquet::Column> = table.columns.iter().map(|c| c.cells(rows.clone())).collect();
            if let Some(out) = &mut csv {
                delimited::csv_rows(out, &cells)?;
            }
            if let Some(out) = &mut jsonl {
                delimited::json_rows(out, titles(), &cells)?;
            }
            if let Some(stream) = &mut stream {
                stream.group(cells.iter())?;
            }
            watch.wrote((rows.len() * table.columns.len()) as u64 * CELL_BYTES)?;
        }
        stream.map_or(Ok(()), parquet::Stream::finish)
    };
    write().map_err(|e| staging.error(table.name, &e))?;
    for (ending, out) in [("csv", csv), ("jsonl", jsonl), ("parquet", parquet)] {
        if let Some(out) = out {
            staging.end(&name(ending), out)?;
        }
    }
    Ok(())
}
