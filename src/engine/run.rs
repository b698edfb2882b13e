//! One run of a plan: its layers, advanced together in blocks, with keyframes; it knows no thread and no window.

use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use super::BackendInfo;
use super::factory::LayerFactory;
use super::keyframe::Keyframes;
use crate::gpu::GpuError;
use crate::layer::{Layer, LayerError, Record, Snapshot};
use crate::session::BackendChoice;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::{StoreError, TraceBlock};

/// A block that took less, in seconds, is followed by one of twice the steps.
const SHORT_BLOCK: f64 = 0.010;
/// A block that took more, in seconds, is followed by one of half the steps.
const LONG_BLOCK: f64 = 0.020;
/// Bytes that a block's traces may have, all lanes together, as far as the last block foretells it.
const BLOCK_BYTES: usize = 4 << 20;
/// Chunks replayed between two looks at whether to stop.
const REPLAY_CHUNKS: usize = 16;

/// Why a run did not end by itself.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum RunError {
    /// A layer cannot be built or go on.
    #[error("lane `{lane}`: {source}")]
    Layer { lane: String, source: LayerError },
    /// The backend that was asked for is not there.
    #[error(transparent)]
    Backend(LayerError),
    /// A layer's trace does not fit its own channels: a mistake in the program.
    #[error("lane `{lane}` wrote a trace that does not fit its channels: {source}")]
    Store { lane: String, source: StoreError },
    /// The sink asked for it.
    #[error("cancelled")]
    Cancelled,
}

/// What a sink answers when the run is not to go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The user, or a newer run.
    Cancelled,
    /// What was written cannot be used.
    Store(StoreError),
}

/// Where a run's results go: to the window's channel, or into traces.
pub trait Sink {
    /// A lane has written a block and has now done `chunks` chunks; its layer took `seconds` for it.
    ///
    /// # Errors
    /// To stop the run.
    fn block(&mut self, lane: usize, block: TraceBlock, chunks: usize, seconds: f64) -> Result<(), Stop>;

    /// Every lane has seen so many writes.
    ///
    /// # Errors
    /// To stop the run.
    fn reached(&mut self, writes: usize) -> Result<(), Stop>;

    /// The backend has changed, for a reason that the user should read.
    ///
    /// # Errors
    /// To stop the run.
    fn moved(&mut self, text: &str, backend: &BackendInfo) -> Result<(), Stop>;

    /// Asked now and then during long work.
    ///
    /// # Errors
    /// To stop the run.
    fn poll(&mut self) -> Result<(), Stop>;
}

/// Whether a run keeps states for time travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The window: any state can be asked for.
    Keyframes,
    /// Headless: the trace alone is wanted.
    Nothing,
}

/// One lane of a run.
struct Lane {
    layer: Box<dyn Layer>,
    /// Chunks whose traces the sink has.
    done: usize,
    keyframes: Keyframes,
    /// A second layer for replays, so that the running one need not go back; made when first needed.
    scratch: Option<Box<dyn Layer>>,
    /// What a chunk took lately, in seconds; 0 before it is known.
    pace: f64,
}

/// A plan being run.
pub struct Run {
    plan: Arc<Plan>,
    lanes: Vec<Lane>,
    backend: BackendInfo,
    keep: Keep,
    /// Writes that every lane has seen.
    reached: usize,
    /// Steps of the next block.
    steps: usize,
}

impl Run {
    /// Opens the backend and builds every lane. With [`BackendChoice::Auto`] a plan that the GPU cannot hold goes to the CPU.
    pub fn new(plan: Arc<Plan>, choice: BackendChoice, keep: Keep, factory: &mut dyn LayerFactory) -> Result<Self, RunError> {
        let mut backend = factory.open(choice).map_err(RunError::Backend)?;
        let lanes = match build_lanes(&plan, factory, backend.gpu) {
            Err(RunError::Layer { lane, source: source @ LayerError::Gpu(_) }) if backend.gpu && choice == BackendChoice::Auto => {
                backend = factory.fall_back(&format!("the GPU cannot run lane `{lane}`: {source}"));
                build_lanes(&plan, factory, backend.gpu)
            }
            other => other,
        }?;
        Ok(Self { plan, lanes, backend, keep, reached: 0, steps: 1 })
    }

    /// Where it runs now.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    /// True at the end of the stream.
    pub fn is_complete(&self) -> bool {
        self.reached >= self.plan.stream.writes()
    }

    /// Runs the next block on every lane; true if more is to come.
    ///
    /// The first block is one step, so that pictures come at once; then blocks grow until they take 10 to 20 ms, or until
    /// their traces reach [`BLOCK_BYTES`].
    pub fn advance(&mut self, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<bool, RunError> {
        if self.is_complete() {
            return Ok(false);
        }
        let target = self.plan.writes_at(self.plan.step_at(self.reached) + self.steps);
        let (mut seconds, mut bytes) = (0.0, 0);
        for index in 0..self.lanes.len() {
            let chunks = self.plan.lanes[index].chunks_at(target);
            if chunks == self.lanes[index].done {
                continue;
            }
            let start = Instant::now();
            let (block, own) = self.lane_block(index, chunks, factory, sink)?;
            seconds += start.elapsed().as_secs_f64();
            bytes += block.bytes();
            self.lanes[index].done = chunks;
            sink.block(index, block, chunks, own).map_err(|stop| self.stopped(index, stop))?;
        }
        self.reached = target;
        self.steps = next_steps(self.steps, seconds, bytes).min(self.plan.steps().max(1));
        sink.reached(target).map_err(|_| RunError::Cancelled)?;
        Ok(!self.is_complete())
    }

    fn stopped(&self, lane: usize, stop: Stop) -> RunError {
        match stop {
            Stop::Cancelled => RunError::Cancelled,
            Stop::Store(source) => RunError::Store { lane: self.plan.lanes[lane].name.clone(), source },
        }
    }

    /// One lane's block, and what the layer took for it; where the device is lost, everything moves to the CPU and the
    /// lane is tried again there.
    fn lane_block(
        &mut self,
        index: usize,
        chunks: usize,
        factory: &mut dyn LayerFactory,
        sink: &mut dyn Sink,
    ) -> Result<(TraceBlock, f64), RunError> {
        loop {
            match self.lanes[index].record(chunks, self.keep) {
                Err(LayerError::Gpu(GpuError::Lost(reason))) if self.backend.gpu => self.move_to_cpu(&reason, factory, sink)?,
                Err(source) => return Err(RunError::Layer { lane: self.plan.lanes[index].name.clone(), source }),
                Ok(done) => return Ok(done),
            }
        }
    }

    /// Rebuilds every lane on the CPU as it was when its last block was handed over.
    fn move_to_cpu(&mut self, reason: &str, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<(), RunError> {
        self.backend = factory.fall_back(&format!("the GPU device was lost: {reason}"));
        let at = self.reached;
        let text = format!("The GPU device was lost after {at} tokens ({reason}). The run goes on on the CPU from the last keyframe.");
        for index in 0..self.lanes.len() {
            let (plan, lane) = (&self.plan.lanes[index], &mut self.lanes[index]);
            lane.scratch = None;
            lane.layer = lane.rebuild(plan, factory, sink)?;
        }
        sink.moved(&text, &self.backend).map_err(|_| RunError::Cancelled)
    }

    /// True if a lane has done so many chunks.
    pub fn has_reached(&self, index: usize, chunks: usize) -> bool {
        self.lanes.get(index).is_some_and(|lane| chunks <= lane.done)
    }

    /// The state of a lane after `chunks` chunks, bit for bit what an uninterrupted run has there. `None` if the lane has
    /// not got so far.
    pub fn state(&mut self, index: usize, chunks: usize, factory: &mut dyn LayerFactory) -> Result<Option<Arc<Snapshot>>, RunError> {
        let (Some(lane), Some(plan)) = (self.lanes.get_mut(index), self.plan.lanes.get(index)) else { return Ok(None) };
        if chunks > lane.done {
            return Ok(None);
        }
        lane.state(plan, chunks, factory).map(Some).map_err(|source| RunError::Layer { lane: plan.name.clone(), source })
    }

    /// The same, moving to the CPU first if the device is found lost.
    pub fn state_or_move(
        &mut self,
        index: usize,
        chunks: usize,
        factory: &mut dyn LayerFactory,
        sink: &mut dyn Sink,
    ) -> Result<Option<Arc<Snapshot>>, RunError> {
        match self.state(index, chunks, factory) {
            Err(RunError::Layer { source: LayerError::Gpu(GpuError::Lost(reason)), .. }) if self.backend.gpu => {
                self.move_to_cpu(&reason, factory, sink)?;
                self.state(index, chunks, factory)
            }
            other => other,
        }
    }
}

/// The steps of the next block, by what one of `steps` steps took and wrote.
fn next_steps(steps: usize, seconds: f64, bytes: usize) -> usize {
    if seconds > LONG_BLOCK || bytes > BLOCK_BYTES {
        (steps / 2).max(1)
    } else if seconds < SHORT_BLOCK && bytes * 2 <= BLOCK_BYTES {
        steps * 2
    } else {
        steps
    }
}

fn build_lanes(plan: &Plan, factory: &mut dyn LayerFactory, gpu: bool) -> Result<Vec<Lane>, RunError> {
    let build = |lane: &PlanLane| {
        let layer = factory.build(lane.kind, &lane.setup).map_err(|source| RunError::Layer { lane: lane.name.clone(), source })?;
        let keyframes = Keyframes::new(lane.kind, &lane.setup, gpu);
        Ok(Lane { layer, done: 0, keyframes, scratch: None, pace: 0.0 })
    };
    plan.lanes.iter().map(build).collect()
}

impl Lane {
    /// Advances the layer to `chunks`, with a keyframe wherever one is due; what it wrote, and the seconds it took.
    fn record(&mut self, chunks: usize, keep: Keep) -> Result<(TraceBlock, f64), LayerError> {
        let mut block = TraceBlock::default();
        let mut seconds = 0.0;
        while self.layer.position() < chunks {
            let position = self.layer.position();
            let end = match keep {
                Keep::Keyframes => {
                    if self.keyframes.is_due(position) {
                        self.keyframes.keep(Arc::new(self.layer.snapshot()?));
                    }
                    self.keyframes.next_due(position).min(chunks)
                }
                Keep::Nothing => chunks,
            };
            let start = Instant::now();
            self.layer.advance(end - position, Record::All, &mut block)?;
            let took = start.elapsed().as_secs_f64();
            seconds += took;
            self.pace = took / (end - position) as f64;
        }
        // A chunk of the replay records nothing, so this errs on the side of keyframes that lie too close.
        self.keyframes.adapt(self.pace);
        Ok((block, seconds))
    }

    /// A new layer in the state that the sink knows: from the last keyframe, or from the start if it does not fit.
    fn rebuild(&self, plan: &PlanLane, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<Box<dyn Layer>, RunError> {
        let failed = |source| RunError::Layer { lane: plan.name.clone(), source };
        let mut layer = factory.build(plan.kind, &plan.setup).map_err(failed)?;
        if let Some(keyframe) = self.keyframes.before(self.done)
            && layer.restore(keyframe).is_err()
        {
            // A keyframe of the GPU may not fit the CPU's layer, or be damaged: the start always fits.
            layer = factory.build(plan.kind, &plan.setup).map_err(failed)?;
        }
        while layer.position() < self.done {
            sink.poll().map_err(|_| RunError::Cancelled)?;
            let chunks = (self.done - layer.position()).min(REPLAY_CHUNKS);
            layer.advance(chunks, Record::StateOnly, &mut TraceBlock::default()).map_err(failed)?;
        }
        Ok(layer)
    }

    /// The state after `chunks` chunks, which are not more than are done.
    fn state(&mut self, plan: &PlanLane, chunks: usize, factory: &mut dyn LayerFactory) -> Result<Arc<Snapshot>, LayerError> {
        let keyframe = self.keyframes.before(chunks);
        if let Some(exact) = keyframe.filter(|k| k.position == chunks) {
            return Ok(Arc::clone(exact));
        }
        if self.layer.position() == chunks {
            return self.layer.snapshot().map(Arc::new);
        }
        let mut scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => factory.build(plan.kind, &plan.setup)?,
        };
        // Scrubbing forwards, the last replay often ended between the keyframe and the place that is wanted now.
        let here = scratch.position();
        match keyframe {
            Some(keyframe) if here > chunks || here < keyframe.position => scratch.restore(keyframe)?,
            None if here > chunks => scratch = factory.build(plan.kind, &plan.setup)?,
            _ => {}
        }
        scratch.advance(chunks - scratch.position(), Record::StateOnly, &mut TraceBlock::default())?;
        let snapshot = scratch.snapshot().map(Arc::new)?;
        self.scratch = Some(scratch);
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_while_they_are_quick_and_small() {
        assert_eq!(next_steps(1, 0.001, 100), 2);
        assert_eq!(next_steps(8, 0.015, 100), 8);
        assert_eq!(next_steps(8, 0.025, 100), 4);
        assert_eq!(next_steps(1, 3.0, 100), 1);
        // 3 MiB: twice that would be over the limit of 4 MiB; 5 MiB is over it already.
        assert_eq!(next_steps(8, 0.001, 3 << 20), 8);
        assert_eq!(next_steps(8, 0.001, 5 << 20), 4);
    }
}
