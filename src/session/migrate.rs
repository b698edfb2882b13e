//! Older versions of the session file: each is read in the shape that it had, and made into the next, step by step.
//!
//! A version that makes way gets a type of its own here, with what a file of it could hold, and a step to the version after it.
//! `tests/sessions` keeps a file of each version.

use std::path::PathBuf;

use serde::Deserialize;

use super::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource, VERSION, View};

/// Fields that came later than version 1, with the version that they came with: for what is said of an older file that has them.
const CAME_LATER: &[(&str, u32)] = &[("title", 2), ("caption", 2), ("notes", 2), ("bookmarks", 2), ("sha256", 2)];

/// The version that a field came with, if that is later than `version`.
pub(super) fn came_later(field: &str, version: u32) -> Option<u32> {
    CAME_LATER.iter().find(|(name, since)| *name == field && *since > version).map(|(_, since)| *since)
}

/// A session as version 1 had it: without title, caption, notes, bookmarks, and without the hash of a capture. Lanes, the view and the
/// names of backends were as they are in version 2.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename = "Session")]
pub(super) struct Version1 {
    #[allow(dead_code, reason = "read before, to know that this is what the file is to be read as")]
    version: u32,
    source: Source1,
    seed: u64,
    lanes: Vec<LaneSpec>,
    backend: BackendChoice,
    view: View,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "Source")]
enum Source1 {
    Capture(Capture1),
    Task(TaskSource),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "CaptureSource")]
struct Capture1 {
    path: PathBuf,
    #[serde(default)]
    layer: Option<u32>,
    #[serde(default)]
    kv_heads: Option<Vec<u32>>,
    #[serde(default)]
    tokens: Option<usize>,
}

impl Default for Version1 {
    /// What a file of version 1 leaves out is as it is today: the defaults are those of the layers, not of the file.
    fn default() -> Self {
        let Session { source, seed, lanes, backend, view, .. } = Session::default();
        let source = match source {
            Source::Capture(c) => Source1::Capture(Capture1 { path: c.path, layer: c.layer, kv_heads: c.kv_heads, tokens: c.tokens }),
            Source::Task(task) => Source1::Task(task),
        };
        Self { version: 1, source, seed, lanes, backend, view }
    }
}

/// Version 1 becomes version 2: what was new is empty.
impl From<Version1> for Session {
    fn from(old: Version1) -> Self {
        let source = match old.source {
            Source1::Capture(Capture1 { path, layer, kv_heads, tokens }) => {
                Source::Capture(CaptureSource { path, layer, kv_heads, tokens, sha256: None })
            }
            Source1::Task(task) => Source::Task(task),
        };
        Self {
            version: VERSION,
            title: String::new(),
            caption: String::new(),
            source,
            seed: old.seed,
            lanes: old.lanes,
            backend: old.backend,
            view: old.view,
            bookmarks: Vec::new(),
            notes: String::new(),
        }
    }
}
