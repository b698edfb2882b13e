//! Runs without a window: the same loop, with traces in place of the channel. The command line, exports and tests use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BackendInfo;
use super::factory::{Devices, LayerFactory};
use super::lane::Keep;
use super::run::{Run, RunError, Sink, Stop};
use crate::layer::Snapshot;
use crate::session::BackendChoice;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::{LaneTrace, TraceBlock};

/// What a run without a window leaves.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// One trace a lane, in the plan's order.
    pub traces: Vec<LaneTrace>,
    /// The last state of each lane, in the plan's order.
    pub states: Vec<Arc<Snapshot>>,
    /// Where it ended: the CPU, if a device was lost on the way.
    pub backend: BackendInfo,
    /// Seconds that each lane's layer took, in the plan's order.
    pub seconds: Vec<f64>,
    /// What the user should know: that a device was lost, say.
    pub notes: Vec<String>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Writes that every lane has seen.
    pub writes: usize,
    /// Writes of the stream.
    pub total: usize,
}

impl Progress {
    /// The part of the stream that is done, from 0 to 1.
    #[must_use]
    pub fn share(self) -> f32 {
        self.writes as f32 / self.total.max(1) as f32
    }
}

/// Runs a plan to its end on this machine's devices.
///
/// `progress` is called after each block, of 10 to 20 ms where a single step does not take longer. Setting `cancel` ends
/// the run within one block.
///
/// # Errors
/// If a lane cannot be built or go on, the backend asked for is not there, or the run was cancelled.
pub fn run(plan: &Arc<Plan>, backend: BackendChoice, progress: impl FnMut(Progress), cancel: &AtomicBool) -> Result<RunResult, RunError> {
    run_with(&mut Devices::default(), plan, backend, progress, cancel)
}

/// The same, with another builder of layers.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    factory: &mut dyn LayerFactory,
    plan: &Arc<Plan>,
    backend: BackendChoice,
    progress: impl FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<RunResult, RunError> {
    let traces = plan.lanes.iter().map(PlanLane::trace).collect();
    let seconds = vec![0.0; plan.lanes.len()];
    let mut sink = TraceSink { traces, seconds, notes: Vec::new(), total: plan.stream.writes(), progress, cancel };
    let mut run = Run::new(Arc::clone(plan), backend, Keep::Nothing, factory)?;
    while run.advance(factory, &mut sink)? {
        sink.poll().map_err(|_| RunError::Cancelled)?;
    }
    let states = run.last_states(factory, &mut sink)?;
    Ok(RunResult { traces: sink.traces, states, backend: run.backend().clone(), seconds: sink.seconds, notes: sink.notes })
}

/// Runs a plan to its end into a sink of the caller's, which may stop it; where it ended is returned.
///
/// # Errors
/// If a lane cannot be built or go on, the backend asked for is not there, or the sink stopped the run.
pub fn run_into(
    factory: &mut dyn LayerFactory,
    plan: &Arc<Plan>,
    backend: BackendChoice,
    sink: &mut dyn Sink,
) -> Result<BackendInfo, RunError> {
    let mut run = Run::new(Arc::clone(plan), backend, Keep::Nothing, factory)?;
    while run.advance(factory, sink)? {
        sink.poll().map_err(|_| RunError::Cancelled)?;
    }
    Ok(run.backend().clone())
}

/// Appends to traces.
struct TraceSink<'a, P> {
    traces: Vec<LaneTrace>,
    seconds: Vec<f64>,
    notes: Vec<String>,
    total: usize,
    progress: P,
    cancel: &'a AtomicBool,
}

impl<P: FnMut(Progress)> Sink for TraceSink<'_, P> {
    fn block(&mut self, lane: usize, block: TraceBlock, _chunks: usize, seconds: f64) -> Result<(), Stop> {
        self.seconds[lane] += seconds;
        self.traces[lane].append(&block).map_err(Stop::Store)
    }

    fn reached(&mut self, writes: usize) -> Result<(), Stop> {
        (self.progress)(Progress { writes, total: self.total });
        Ok(())
    }

    fn moved(&mut self, text: &str, _backend: &BackendInfo) -> Result<(), Stop> {
        self.notes.push(text.to_owned());
        Ok(())
    }

    fn poll(&mut self) -> Result<(), Stop> {
        if self.cancel.load(Ordering::Relaxed) { Err(Stop::Cancelled) } else { Ok(()) }
    }
}
