//! The engine: a thread that owns the device and the layers, runs a plan ahead of the playhead, and keeps keyframes.
//!
//! The window sends [`Request`]s and receives [`Event`]s; it never waits. The channel of events is bounded: when the
//! window is slow the engine waits, never the other way round.

use std::sync::Arc;

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
    /// The exact state of a lane after so many of its chunks.
    State { id: RunId, lane: usize, chunks: usize },
    /// Cancel the run; what has been computed stays.
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

/// What the engine tells the window.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Event {
    /// A run has begun.
    Started { id: RunId, backend: BackendInfo },
    /// A lane wrote: pieces of its channels, the metric's included.
    Block { id: RunId, lane: usize, block: TraceBlock, chunks: usize, seconds: f64 },
    /// Every lane has reached this many writes.
    Reached { id: RunId, writes: usize },
    /// The answer to [`Request::State`].
    State { id: RunId, lane: usize, snapshot: Arc<Snapshot> },
    /// Something the user should know, that stops nothing (the device was lost and the run goes on on the CPU).
    Banner { id: RunId, text: String },
    /// The run is over: complete, or stopped by an error.
    Ended { id: RunId, error: Option<String> },
}
