//! Reading a session with its trace: everything is checked before anything of it is shown.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use serde::Deserialize;
use zip::ZipArchive;

use super::arrays::{entry, get, reals, sizes};
use super::{FORMAT, Lane, MANIFEST, Manifest, SESSION, Saved, stream, trace_hash};
use crate::layer::{Arrays, Precision, Snapshot, StateArray};
use crate::session::file::{MAX_BYTES, SessionError};
use crate::session::plan::{Plan, PlanLane, Restored};
use crate::session::{Session, hash};
use crate::trace::{LaneTrace, Values};

/// A manifest larger than this is none: texts of all tokens are in it.
const MAX_MANIFEST: u64 = 256 << 20;

/// What is read of a manifest of whatever format.
#[derive(Deserialize)]
struct Outline {
    format: u64,
}

/// Opens the file: the session, its plan and its trace, complete.
///
/// # Errors
/// If it cannot be read, is damaged in any place, or the trace in it is not of the session in it.
pub fn open(path: &Path) -> Result<Saved, SessionError> {
    read(path).map_err(|reason| broken(path, reason))?
}

/// The session in the file alone.
///
/// # Errors
/// If it cannot be read, or the session in it cannot be understood.
pub fn read_session(path: &Path) -> Result<Session, SessionError> {
    let read = || -> Result<String, String> {
        let (mut zip, _) = archive(path)?;
        text(&mut zip)
    };
    let text = read().map_err(|reason| broken(path, reason))?;
    Session::from_ron(&text, &inner(path))
}

/// What messages call the session in a file.
fn inner(path: &Path) -> String {
    format!("{}/{SESSION}", path.display())
}

fn broken(path: &Path, reason: String) -> SessionError {
    SessionError::Saved { file: path.display().to_string(), reason }
}

type Archive = ZipArchive<BufReader<File>>;

/// The archive, and how many bytes it has: no entry has more.
fn archive(path: &Path) -> Result<(Archive, u64), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let bytes = file.metadata().map_err(|e| e.to_string())?.len();
    let zip = ZipArchive::new(BufReader::with_capacity(1 << 16, file)).map_err(|e| e.to_string())?;
    Ok((zip, bytes))
}

fn text<R: Read + Seek>(zip: &mut ZipArchive<R>) -> Result<String, String> {
    let bytes = entry(zip, SESSION, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|_| format!("`{SESSION}` is no text"))
}

fn manifest(zip: &mut Archive, limit: u64) -> Result<Manifest, String> {
    let json = entry(zip, MANIFEST, MAX_MANIFEST.min(limit))?;
    // The format first: a newer file may have fields that this program does not know.
    if serde_json::from_slice::<Outline>(&json).is_ok_and(|o| o.format > u64::from(FORMAT)) {
        return Err("a newer Mnemoscope wrote it, and this one does not know its format".to_owned());
    }
    serde_json::from_slice(&json).map_err(|e| format!("`{MANIFEST}` cannot be understood: {e}"))
}

/// What is wrong with the archive is a reason; what is wrong with the session in it has its place.
fn read(path: &Path) -> Result<Result<Saved, SessionError>, String> {
    let (mut zip, limit) = archive(path)?;
    let text = text(&mut zip)?;
    let manifest = manifest(&mut zip, limit)?;
    if hash::of_bytes(&text) != manifest.session_sha256 {
        return Err(format!("the trace in it is not of the session in it: `{SESSION}` was changed after the trace was saved with it"));
    }
    let session = match Session::from_ron(&text, &inner(path)) {
        Ok(session) => session,
        Err(error) => return Ok(Err(error)),
    };
    let stream = Arc::new(stream::read(&mut zip, &manifest.stream, limit)?);
    let mut restored = Vec::new();
    for (at, lane) in manifest.lanes.iter().enumerate() {
        restored.push(Restored { arrays: arrays_of(&mut zip, at, lane, limit)?, notes: lane.notes.clone(), repeated: lane.repeated });
    }
    let plan = Plan::restored(&session, &stream, restored).map_err(|e| e.to_string())?;
    let (mut traces, mut states, mut spent) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (lane, about)) in plan.lanes.iter().zip(&manifest.lanes).enumerate() {
        if (lane.name.as_str(), lane.kind.name()) != (about.name.as_str(), about.layer.as_str()) {
            return Err(format!("lane {at} of the trace is `{}`, but that of the session is `{}`", about.name, lane.name));
        }
        traces.push(trace(&mut zip, at, lane, about, limit)?);
        states.extend(state(&mut zip, at, lane, about, limit)?.map(Arc::new));
        if about.chunks > lane.setup.stream.chunks(lane.setup.chunk) || !about.seconds.is_finite() {
            return Err(format!("lane `{}` is said to have done {} chunks in {} seconds", about.name, about.chunks, about.seconds));
        }
        spent.push((about.seconds, about.chunks));
    }
    if states.len() != plan.lanes.len() {
        states.clear();
    }
    if trace_hash(&plan, &traces) != manifest.made.trace_sha256 {
        return Err("the trace in it is not the one that was saved: its SHA-256 is another".to_owned());
    }
    Ok(Ok(Saved { session, plan: Arc::new(plan), traces, states, spent, made: manifest.made }))
}

/// What a lane's layer is built from.
fn arrays_of(zip: &mut Archive, at: usize, lane: &Lane, limit: u64) -> Result<Arrays, String> {
    let folder = format!("lanes/{at}/arrays");
    let mut out = Arrays::new();
    for about in &lane.arrays {
        let numbers = reals(zip, &folder, about, limit)?;
        let array = ArrayD::from_shape_vec(IxDyn(&about.shape), numbers).map_err(|e| e.to_string())?;
        out.insert(about.name.clone(), array);
    }
    Ok(out)
}

/// A lane's trace. Every channel that the layer has must be there, for all of the stream.
fn trace(zip: &mut Archive, at: usize, lane: &PlanLane, about: &Lane, limit: u64) -> Result<LaneTrace, String> {
    let stream = &lane.setup.stream;
    let mut channels = Vec::new();
    for spec in &lane.channels {
        let found = about.channels.iter().find(|c| c.name == spec.name);
        let channel =
            found.ok_or_else(|| format!("lane `{}` has no channel `{}`: another Mnemoscope wrote the file", lane.name, spec.name))?;
        let most = lane.entries(spec.axis);
        let folder = format!("lanes/{at}/channels/{}", spec.name);
        let mut heads = Vec::new();
        for (head, values) in channel.heads.iter().enumerate() {
            let values = get(zip, &folder, values, limit)?;
            let lengths = channel.lengths.get(head).map(|l| sizes(zip, &folder, l, limit)).transpose()?;
            heads.push((values, lengths));
        }
        if channel.entries > most {
            return Err(format!("`{}` of lane `{}` has {} entries, but there are {most}", spec.name, lane.name, channel.entries));
        }
        channels.push((channel.entries, heads));
    }
    LaneTrace::restored(&lane.channels, stream.kv_heads(), stream.query_heads(), channels).map_err(|e| format!("lane `{}`: {e}", lane.name))
}

/// A lane's last state. Its arrays are called as those of a new layer of its kind are.
fn state(zip: &mut Archive, at: usize, lane: &PlanLane, about: &Lane, limit: u64) -> Result<Option<Snapshot>, String> {
    let Some(state) = &about.state else { return Ok(None) };
    let failed = |e: crate::layer::LayerError| format!("lane `{}`: {e}", lane.name);
    let known = lane.kind.cpu(&lane.setup, Precision::Single).and_then(|mut layer| layer.snapshot()).map_err(failed)?;
    let folder = format!("lanes/{at}/state");
    let mut arrays = Vec::new();
    for array in &state.arrays {
        let Some(name) = known.arrays.iter().map(|a| a.name).find(|name| *name == array.name) else {
            return Err(format!("lane `{}` has a state with `{}`, which its layer has not", lane.name, array.name));
        };
        let values: Values = get(zip, &folder, array, limit)?;
        arrays.push(StateArray { name, shape: array.shape.clone(), values });
    }
    let snapshot = Snapshot { position: state.position, arrays };
    snapshot.check_position(&lane.setup.stream, lane.setup.chunk).map_err(failed)?;
    Ok(Some(snapshot))
}
