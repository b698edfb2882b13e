//! A sweep's file: what is done already is kept, and every write is the whole file anew.
//!
//! Nothing can be appended to a Parquet file in place, and no lock of a network file system is trusted: rows that are there are
//! read, new ones are put behind them, and the file is written whole under another name that then takes its place. Processes
//! that share a sweep write a file each ([`shard_path`]); whoever comes later reads them all.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::row::{RowError, from_table, to_table};
use super::{Piece, Row, Sweep};
use crate::export::parquet::{ReadError, Table};
use crate::export::{WriteError, write_atomic};

/// Why a file's rows cannot be had. The file stays as it is.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum FileError {
    /// It is no table.
    #[error("{0}; nothing was overwritten")]
    Read(#[from] ReadError),
    /// It is a table, but no sweep.
    #[error("{file}: {source}; nothing was overwritten")]
    Rows { file: String, source: RowError },
    /// The folder cannot be looked through for shards.
    #[error("{folder}: cannot be read: {reason}")]
    Folder { folder: String, reason: String },
}

/// One of several processes that share a sweep, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub index: usize,
    /// Of how many.
    pub count: usize,
}

impl Shard {
    /// Reads `2/8`.
    ///
    /// # Errors
    /// A sentence, if it has another form or there is no such shard.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no shard; the second of eight is written as 2/8");
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let (index, count) = (index.trim().parse().map_err(|_| wrong())?, count.trim().parse().map_err(|_| wrong())?);
        if (1..=count).contains(&index) {
            Ok(Self { index, count })
        } else {
            Err(format!("`{text}` is no shard: shards of {count} are counted from 1 to {count}"))
        }
    }

    /// True if the piece at this place among all pieces is this shard's.
    #[must_use]
    pub fn has(&self, place: usize) -> bool {
        place % self.count == self.index - 1
    }
}

/// The rows of a file.
///
/// # Errors
/// If it cannot be read, or is no sweep.
pub fn read(path: &Path) -> Result<Vec<Row>, FileError> {
    let table = Table::read(path)?;
    from_table(&table).map_err(|source| FileError::Rows { file: path.display().to_string(), source })
}

/// Writes rows as a file, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), WriteError> {
    write_atomic(path, |out| to_table(rows).write(out))
}

/// The file that a shard writes, beside the sweep's: `a.shard-2-of-8.parquet` for `a.parquet`.
#[must_use]
pub fn shard_path(path: &Path, shard: Shard) -> PathBuf {
    path.with_file_name(format!("{}.shard-{}-of-{}.parquet", stem(path), shard.index, shard.count))
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".parquet").unwrap_or(&name).to_owned()
}

/// The shards' files that lie beside a sweep's file, by name.
///
/// # Errors
/// If the folder is there and cannot be read.
pub fn shard_files(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let failed = |e: std::io::Error| FileError::Folder { folder: folder.display().to_string(), reason: e.to_string() };
    let start = format!("{}.shard-", stem(path));
    let is_shard = |name: &str| {
        let middle = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".parquet"));
        middle.and_then(|m| m.split_once("-of-")).is_some_and(|(i, n)| i.parse::<usize>().is_ok() && n.parse::<usize>().is_ok())
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_str().is_some_and(is_shard) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// What a file is to hold: rows that were there, rows of this sweep, in order.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Rows that stay in front: other sweeps', or pieces that this one does not have.
    others: Vec<Row>,
    /// By the place of the piece: its row, if it is in this file.
    own: Vec<Option<Row>>,
    /// Places by key.
    places: HashMap<String, usize>,
    /// Places that are done, here or in another shard's file.
    done: HashSet<usize>,
}

impl Store {
    /// Opens the file of a sweep, or of one shard of it: reads what is there and in the other files of the same sweep.
    ///
    /// A row without a score does not count as done: it is tried again.
    ///
    /// # Errors
    /// If a file is there and is no sweep.
    pub fn open(path: &Path, shard: Option<Shard>, sweep: &Sweep, gpu: bool) -> Result<Self, FileError> {
        let places = sweep.pieces().iter().enumerate().map(|(place, piece)| (sweep.key(piece, gpu), place)).collect();
        let own_path = shard.map_or_else(|| path.to_owned(), |s| shard_path(path, s));
        let own = vec![None; sweep.pieces().len()];
        let mut store = Self { path: own_path, others: Vec::new(), own, places, done: HashSet::new() };
        if store.path.exists() {
            read(&store.path)?.into_iter().for_each(|row| store.put(row));
        }
        let mut rest = shard_files(path)?;
        if shard.is_some() && path.exists() {
            rest.push(path.to_owned());
        }
        rest.retain(|f| f.file_name() != store.path.file_name());
        for file in &rest {
            for row in read(file)? {
                if shard.is_none() {
                    store.take(row);
                } else if let (Some(&place), true) = (store.places.get(&row.key), row.score.is_ok()) {
                    store.done.insert(place);
                }
            }
        }
        Ok(store)
    }

    /// The file that is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a row in: in the place of its piece, else in front.
    pub fn put(&mut self, row: Row) {
        if let Some(&place) = self.places.get(&row.key) {
            if row.score.is_ok() {
                self.done.insert(place);
            }
            self.own[place] = Some(row);
        } else {
            self.others.push(row);
        }
    }

    /// Takes a row of another file in, unless there is a better one.
    fn take(&mut self, row: Row) {
        let there = match self.places.get(&row.key) {
            Some(&place) => self.own[place].as_ref(),
            None => self.others.iter().find(|other| other.key == row.key),
        };
        if there.is_none_or(|there| there.score.is_err() && row.score.is_ok()) {
            self.others.retain(|other| other.key != row.key);
            self.put(row);
        }
    }

    /// The pieces of a sweep that are to be done, those of a shard if one is given.
    #[must_use]
    pub fn missing<'s>(&self, sweep: &'s Sweep, shard: Option<Shard>) -> Vec<&'s Piece> {
        let wanted = |place: &usize| !self.done.contains(place) && shard.is_none_or(|s| s.has(*place));
        sweep.pieces().iter().enumerate().filter(|(place, _)| wanted(place)).map(|(_, piece)| piece).collect()
    }

    /// Pieces that are done, here or in another shard's file.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// The rows of the file.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.others.iter().chain(self.own.iter().flatten()).cloned().collect()
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self) -> Result<(), WriteError> {
        write(&self.path, &self.rows())
    }
}
