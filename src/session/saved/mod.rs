//! A session together with what its run has written, in one file: it opens at once, without computing anything, and without the files
//! that the session names.
//!
//! The file (`.mnemo`) is a zip archive, stored without compression, so that its arrays are read as they lie there. Every entry has the
//! checksum that zip gives it. It holds
//!
//! - `session.ron`: the session, as [`Session::save`] writes it.
//! - `trace.json`: what the arrays are (`Manifest`): lanes, channels, labels of the stream; the program and the adapter that the trace was
//!   made with; the SHA-256 of `session.ron`, which ties the trace to it, and that of the trace.
//! - `*.npy`: the arrays, little-endian, row-major, as NumPy writes them (`numpy.load` opens the file). `stream/keys` [heads, T, dk],
//!   `stream/values`, `stream/queries`, `stream/after`, and what else the stream has; for lane number i `lanes/i/arrays/NAME` (what it was
//!   fitted to, or learned), `lanes/i/channels/NAME/h` (all numbers of head h; with `lanes/i/channels/NAME/h.lengths`, the length of each
//!   list, where the channel has lists), and `lanes/i/state/NAME` (the last state).
//!
//! Exact states at other moments are not in it: they are computed when they are asked for, and that is said.
//!
//! The same session gives the same trace, bit for bit, on one backend: [`Made`] says on which this one was made, and
//! [`trace_hash`] is how two are compared.

mod arrays;
mod read;
mod stream;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use read::{open, read_session};
pub use write::{Saving, save};

use super::Session;
use super::hash::hex;
use super::plan::Plan;
use crate::engine::BackendInfo;
use crate::layer::Snapshot;
use crate::trace::{LaneTrace, Values};

/// The extension of the file.
pub const EXTENSION: &str = "mnemo";

/// The format that this program writes.
const FORMAT: u32 = 1;

/// The name of the session in the archive.
const SESSION: &str = "session.ron";

/// The name of what describes the arrays.
const MANIFEST: &str = "trace.json";

/// What a zip archive begins with.
const MAGIC: &[u8; 4] = b"PK\x03\x04";

/// How a trace was made, and what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The version of the program.
    pub program: String,
    /// True on a GPU adapter.
    pub gpu: bool,
    /// The adapter's name and interface, or the CPU's.
    pub adapter: String,
    /// The SHA-256 of the trace: [`trace_hash`].
    pub trace_sha256: String,
}

impl Made {
    /// True if a backend is the one that it was made on: the same adapter, or the CPU, whatever its number of threads.
    #[must_use]
    pub fn is_of(&self, backend: &BackendInfo) -> bool {
        backend.is_on(self.gpu, &self.adapter)
    }

    /// What is to be said where a trace is shown, or made again, on a backend: that it was made elsewhere. `None` where it was made here.
    #[must_use]
    pub fn elsewhere(&self, backend: &BackendInfo) -> Option<String> {
        (!self.is_of(backend)).then(|| {
            format!(
                "the trace in the file was made on {}, this is {}: numbers may differ in their last digits, and choices that are nearly ties may fall otherwise",
                self.adapter, backend.adapter
            )
        })
    }

    /// Where it was made, as a backend.
    #[must_use]
    pub fn backend(&self) -> BackendInfo {
        let reason = format!("the trace was read from a file; Mnemoscope {} wrote it", self.program);
        BackendInfo { gpu: self.gpu, adapter: self.adapter.clone(), reason }
    }

    /// What a run of the same session gives against this one, in a sentence; `found` is the hash of its trace.
    #[must_use]
    pub fn compare(&self, backend: &BackendInfo, found: &str) -> String {
        if found == self.trace_sha256 {
            return format!("The trace is that of the file, bit for bit (made on {}).", self.adapter);
        }
        match self.elsewhere(backend) {
            Some(elsewhere) => format!("The trace is not that of the file, bit for bit: {elsewhere}."),
            None if self.program == env!("CARGO_PKG_VERSION") => {
                format!(
                    "The trace is NOT that of the file, although both were made on {}: it should be the same, bit for bit.",
                    self.adapter
                )
            }
            None => format!("The trace is not that of the file, which Mnemoscope {} made on the same backend.", self.program),
        }
    }
}

/// What a file holds, ready to be shown.
#[derive(Debug, Clone)]
pub struct Saved {
    /// The session.
    pub session: Session,
    /// Its plan, with the stream as it was.
    pub plan: Arc<Plan>,
    /// What each lane has written, in the plan's order.
    pub traces: Vec<LaneTrace>,
    /// The last state of each lane, in the plan's order.
    pub states: Vec<Arc<Snapshot>>,
    /// Seconds that each lane's layer took, and its chunks.
    pub spent: Vec<(f64, usize)>,
    /// How it was made.
    pub made: Made,
}

/// The content of `trace.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    made: Made,
    session_sha256: String,
    stream: stream::Described,
    lanes: Vec<Lane>,
}

/// One lane.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lane {
    name: String,
    layer: String,
    /// True if the lane has a key/value head for each query head.
    repeated: bool,
    notes: Vec<String>,
    seconds: f64,
    chunks: usize,
    /// Arrays that the layer is built from.
    arrays: Vec<arrays::Described>,
    channels: Vec<Channel>,
    /// The last state: after so many chunks, these arrays.
    state: Option<State>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    position: usize,
    arrays: Vec<arrays::Described>,
}

/// One channel: its name, and its numbers head by head.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Channel {
    name: String,
    /// Entries along its axis.
    entries: usize,
    heads: Vec<arrays::Described>,
    /// Of a channel of lists: the length of each list, head by head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lengths: Vec<arrays::Described>,
}

/// True for a file that begins as an archive does: no session and no capture begins so.
#[must_use]
pub fn is_saved(path: &Path) -> bool {
    let mut head = [0; 4];
    File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok() && &head == MAGIC
}

/// The SHA-256 of traces: of every number of every channel of every lane, in the plan's order, with names and sizes.
///
/// Equal hashes mean equal bits. How a run was cut into blocks changes nothing.
#[must_use]
pub fn trace_hash(plan: &Plan, traces: &[LaneTrace]) -> String {
    let mut hasher = Sha256::new();
    let size = |hasher: &mut Sha256, size: usize| hasher.update((size as u64).to_le_bytes());
    for (lane, trace) in plan.lanes.iter().zip(traces) {
        size(&mut hasher, lane.name.len());
        hasher.update(&lane.name);
        for channel in trace.channels() {
            hasher.update(channel.spec().name);
            for head in 0..channel.heads() {
                let values = channel.values(head);
                size(&mut hasher, values.len());
                each_block(values, |bytes| hasher.update(bytes));
                for length in channel.lengths(head).into_iter().flatten() {
                    hasher.update(length.to_le_bytes());
                }
            }
        }
    }
    hex(&hasher.finalize())
}

/// Hands out the numbers as bytes, little-endian, a block at a time.
fn each_block(values: &Values, mut with: impl FnMut(&[u8])) {
    fn blocks<T: Copy, const N: usize>(numbers: &[T], bytes: fn(T) -> [u8; N], with: &mut impl FnMut(&[u8])) {
        let mut buffer = Vec::with_capacity(N * 4096);
        for run in numbers.chunks(4096) {
            buffer.clear();
            buffer.extend(run.iter().flat_map(|&x| bytes(x)));
            with(&buffer);
        }
    }
    match values {
        Values::F32(v) => blocks(v, f32::to_le_bytes, &mut with),
        Values::F64(v) => blocks(v, f64::to_le_bytes, &mut with),
        Values::I32(v) => blocks(v, i32::to_le_bytes, &mut with),
    }
}
