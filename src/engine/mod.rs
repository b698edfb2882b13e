//! The engine: a thread that owns the device and the layers, runs a plan ahead of the playhead, and keeps keyframes.
//!
//! The window sends [`Request`]s and receives [`Event`]s; it never waits. The channel of events is bounded: when the
//! window is slow the engine waits, never the other way round.
//!
//! ```text
//! Engine (handle) -> worker (thread, requests, events) --.
//! headless::run (command line, tests, exports) ----------+-> run (one plan: lanes, blocks, keyframes, device lost)
//!                                                              '-> factory (who builds layers, on which device)
//! ```
//!
//! - `run` advances every lane of a plan together in blocks and hands what they wrote to a [`Sink`]; it knows no thread.
//! - `lane` advances one layer; `keyframe` keeps states and says where; a state between two keyframes is replayed, bit for bit.
//! - `chain` runs a lane's last chunk again where its own answers lead to other questions than the right ones.
//! - [`headless`] is the same loop with a [`Sink`] that appends to traces.
//! - [`lockstep`] runs a plan on the CPU and on the GPU side by side and compares every channel.

mod chain;
mod factory;
mod handle;
pub mod headless;
mod keyframe;
mod lane;
pub mod lockstep;
mod reference;
mod run;
pub mod sweep;
mod worker;

use std::sync::Arc;

pub use factory::{Devices, LayerFactory, cpu_info};
pub use handle::Engine;
pub use run::{RunError, Sink, Stop};

use crate::layer::Snapshot;
use crate::session::plan::Plan;
use crate::trace::TraceBlock;

/// Counts runs: what belongs to an older run is thrown away.
pub type RunId = u64;

/// What the window asks of the engine.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Request {
    /// Run this plan from the start; whatever ran before is cancelled.
    Run { id: RunId, plan: Arc<Plan> },
    /// A complete run whose trace is known, read from a file that was made on `made`: nothing is computed until a state is asked for. Then
    /// the plan is run once more, without a word, and states are answered as it reaches them. Whatever ran before is cancelled.
    Hold { id: RunId, plan: Arc<Plan>, made: BackendInfo },
    /// The exact states of lanes, each `(lane, chunks)`: after so many of its chunks. Answered one by one between blocks, also
    /// after the run has ended; a state not reached yet is answered when it is. A newer request takes the place of what is
    /// unanswered of an older one.
    States { id: RunId, wanted: Vec<(usize, usize)> },
    /// Cancel the run; what has been computed stays, and its states can still be asked for.
    Cancel,
}

/// Where a run computes, and why there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendInfo {
    /// True on a GPU adapter.
    pub gpu: bool,
    /// The adapter's name and interface, or the CPU's.
    pub adapter: String,
    /// Why this one: `asked for`, `a real GPU`, `no GPU adapter: ..`.
    pub reason: String,
}

impl BackendInfo {
    /// True on the same adapter, or on the CPU, whatever its number of threads, as is said of another.
    #[must_use]
    pub fn is_on(&self, gpu: bool, adapter: &str) -> bool {
        self.gpu == gpu && (!gpu || self.adapter == adapter)
    }
}

/// What the engine tells the window.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Event {
    /// A run has begun.
    Started { id: RunId, backend: BackendInfo },
    /// A lane wrote: pieces of its channels, the metric's included. `lane` counts the plan's lanes, `chunks` is how many
    /// the lane has done now, `seconds` what its layer took for this block.
    Block { id: RunId, lane: usize, block: TraceBlock, chunks: usize, seconds: f64 },
    /// Every lane has reached this many writes.
    Reached { id: RunId, writes: usize },
    /// The answer to [`Request::States`]; the snapshot's position says after how many chunks.
    State { id: RunId, lane: usize, snapshot: Arc<Snapshot> },
    /// Something the user should know, that stops nothing (the device was lost and the run goes on on the CPU). Where the
    /// backend has changed with it, `backend` is the new one.
    Banner { id: RunId, text: String, backend: Option<BackendInfo> },
    /// The run is over: complete, cancelled with [`Request::Cancel`], or stopped by an error. A run that a newer one
    /// replaced ends without a word. A complete one hands out the last state of each lane, in the plan's order.
    Ended { id: RunId, error: Option<String>, states: Vec<Arc<Snapshot>> },
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
