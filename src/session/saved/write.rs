//! Writing a session with its trace: streamed, with progress, all of it or nothing.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::ZipWriter;

use super::arrays::{put, stored};
use super::{Channel, FORMAT, Lane, MANIFEST, Made, Manifest, SESSION, State, stream, trace_hash};
use crate::engine::BackendInfo;
use crate::export::{ExportError, Progress, WriteError, write_atomic};
use crate::layer::Snapshot;
use crate::session::file::SessionError;
use crate::session::plan::{Plan, PlanLane};
use crate::session::{Session, hash};
use crate::trace::{LaneTrace, Values};

/// What is saved: a session, and its run once it is complete.
#[derive(Debug, Clone, Copy)]
pub struct Saving<'a> {
    /// The session as it is set: `plan` is of it.
    pub session: &'a Session,
    /// The folder that its paths are relative to.
    pub base: Option<&'a Path>,
    /// The plan that ran.
    pub plan: &'a Plan,
    /// What each lane has written, in the plan's order.
    pub traces: &'a [LaneTrace],
    /// The last state of each lane, in the plan's order, or none.
    pub states: &'a [Arc<Snapshot>],
    /// Where it ran.
    pub backend: &'a BackendInfo,
    /// Seconds that each lane's layer took, and its chunks.
    pub spent: &'a [(f64, usize)],
}

/// Counts what is written, and stops when it is told to.
struct Watched<'a, 'f, W> {
    inner: &'a mut W,
    progress: &'f mut dyn FnMut(Progress),
    cancel: &'f AtomicBool,
    state: Progress,
    /// True once writing has failed: what the archive still writes as it is dropped goes nowhere, for the file is thrown away.
    failed: bool,
}

impl<W: Write> Write for Watched<'_, '_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed {
            return Ok(bytes.len());
        }
        if self.cancel.load(Ordering::Relaxed) {
            self.failed = true;
            return Err(io::Error::other("cancelled"));
        }
        let written = self.inner.write(bytes).inspect_err(|_| self.failed = true)?;
        self.state.done = (self.state.done + written as u64).min(self.state.total);
        (self.progress)(self.state);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Seek> Seek for Watched<'_, '_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Writes the file, whole or not at all; the session as it is in it, with its paths as seen from there.
///
/// # Errors
/// If it cannot be written, or `cancel` was set: then nothing is left of it.
pub fn save(path: &Path, saving: Saving<'_>, progress: &mut dyn FnMut(Progress), cancel: &AtomicBool) -> Result<Session, ExportError> {
    let session = saving.session.placed(path, saving.base);
    let failed = |reason: String| ExportError::Write(WriteError { file: path.display().to_string(), reason });
    let text = session.to_ron().map_err(|e| match e {
        SessionError::Write(e) => ExportError::Write(e),
        other => failed(other.to_string()),
    })?;
    let parts = saving.plan.stream.keys().len() + saving.plan.stream.values().len() + saving.plan.stream.queries().len();
    let states: u64 = saving.states.iter().map(|s| s.bytes() as u64).sum();
    let total = saving.traces.iter().map(|t| t.bytes() as u64).sum::<u64>() + states + 4 * parts as u64;
    let fill = |out: &mut BufWriter<&mut File>| {
        let mut watched = Watched { inner: out, progress, cancel, state: Progress { done: 0, total: total.max(1) }, failed: false };
        archive(&mut watched, &text, &saving)
    };
    match write_atomic(path, fill) {
        Ok(()) => Ok(session),
        Err(_) if cancel.load(Ordering::Relaxed) => Err(ExportError::Cancelled),
        Err(error) => Err(ExportError::Write(error)),
    }
}

fn archive<W: Write + Seek>(out: &mut W, text: &str, saving: &Saving<'_>) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    zip.start_file(SESSION, stored(text.len() as u64)).map_err(io::Error::other)?;
    zip.write_all(text.as_bytes())?;
    let stream = stream::write(&mut zip, &saving.plan.stream)?;
    let mut lanes = Vec::new();
    for (at, (lane, trace)) in saving.plan.lanes.iter().zip(saving.traces).enumerate() {
        let spent = saving.spent.get(at).copied().unwrap_or_default();
        lanes.push(write_lane(&mut zip, at, lane, trace, saving.states.get(at).map(Arc::as_ref), spent, saving.plan)?);
    }
    let made = Made {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        gpu: saving.backend.gpu,
        adapter: saving.backend.adapter.clone(),
        trace_sha256: trace_hash(saving.plan, saving.traces),
    };
    let manifest = Manifest { format: FORMAT, made, session_sha256: hash::of_bytes(text), stream, lanes };
    let json = serde_json::to_vec_pretty(&manifest).map_err(io::Error::other)?;
    zip.start_file(MANIFEST, stored(json.len() as u64)).map_err(io::Error::other)?;
    zip.write_all(&json)?;
    zip.finish().map_err(io::Error::other)?.flush()
}

fn write_lane<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    at: usize,
    lane: &PlanLane,
    trace: &LaneTrace,
    state: Option<&Snapshot>,
    (seconds, chunks): (f64, usize),
    plan: &Plan,
) -> io::Result<Lane> {
    let folder = format!("lanes/{at}/arrays");
    let mut arrays = Vec::new();
    for (name, array) in lane.setup.arrays.iter() {
        let values = Values::F32(array.iter().copied().collect());
        arrays.push(put(zip, &folder, name, array.shape().to_vec(), &values)?);
    }
    let mut channels = Vec::new();
    for channel in trace.channels() {
        let name = channel.spec().name;
        let folder = format!("lanes/{at}/channels/{name}");
        let (mut heads, mut lengths) = (Vec::new(), Vec::new());
        for head in 0..channel.heads() {
            let values = channel.values(head);
            heads.push(put(zip, &folder, &head.to_string(), vec![values.len()], values)?);
            if let Some(of_head) = channel.lengths(head) {
                let values = Values::I32(of_head.iter().map(|&n| n as i32).collect());
                lengths.push(put(zip, &folder, &format!("{head}.lengths"), vec![values.len()], &values)?);
            }
        }
        channels.push(Channel { name: name.to_owned(), entries: channel.len(), heads, lengths });
    }
    let folder = format!("lanes/{at}/state");
    let state = match state {
        None => None,
        Some(state) => {
            let each = state.arrays.iter().map(|a| put(zip, &folder, a.name, a.shape.clone(), &a.values));
            Some(State { position: state.position, arrays: each.collect::<io::Result<_>>()? })
        }
    };
    let repeated = lane.setup.stream.kv_heads() > plan.stream.kv_heads();
    let (name, layer) = (lane.name.clone(), lane.kind.name().to_owned());
    Ok(Lane { name, layer, repeated, notes: lane.notes.clone(), seconds, chunks, arrays, channels, state })
}
