//! One run of a plan: its layers, advanced together in blocks, with keyframes; it knows no thread and no window.

use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use super::BackendInfo;
use super::factory::LayerFactory;
use super::lane::{Keep, Lane};
use super::reference::{Reference, outputs_channel};
use crate::gpu::GpuError;
use crate::layer::{LayerError, Snapshot};
use crate::metric;
use crate::session::BackendChoice;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::{StoreError, TraceBlock};

/// A block that took less, in seconds, is followed by one of twice the steps.
const SHORT_BLOCK: f64 = 0.010;
/// A block that took more, in seconds, is followed by one of half the steps.
const LONG_BLOCK: f64 = 0.020;
/// Bytes that a block's traces may have, all lanes together, as far as the last block foretells it.
const BLOCK_BYTES: usize = 4 << 20;

/// Why a run did not end by itself.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum RunError {
    /// A layer cannot be built or go on.
    #[error("lane `{lane}`: {source}")]
    Layer { lane: String, source: Box<LayerError> },
    /// The backend that was asked for is not there.
    #[error(transparent)]
    Backend(Box<LayerError>),
    /// A layer's trace does not fit its own channels: a mistake in the program.
    #[error("lane `{lane}` wrote a trace that does not fit its channels: {source}")]
    Store { lane: String, source: StoreError },
    /// Full attention, which a capture's reads are measured against, cannot be built or go on.
    #[error("full attention, which the lanes are measured against: {0}")]
    Reference(Box<LayerError>),
    /// The sink asked for it.
    #[error("cancelled")]
    Cancelled,
}

impl RunError {
    pub(super) fn layer(lane: &PlanLane, source: LayerError) -> Self {
        Self::Layer { lane: lane.name.clone(), source: Box::new(source) }
    }

    fn reference(source: LayerError) -> Self {
        Self::Reference(Box::new(source))
    }

    /// The device's trouble, if that is what it is.
    #[must_use]
    pub fn gpu(&self) -> Option<&GpuError> {
        match self {
            Self::Layer { source, .. } | Self::Backend(source) | Self::Reference(source) => match source.as_ref() {
                LayerError::Gpu(error) => Some(error),
                _ => None,
            },
            Self::Store { .. } | Self::Cancelled => None,
        }
    }
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

/// A plan being run.
pub struct Run {
    plan: Arc<Plan>,
    lanes: Vec<Lane>,
    reference: Option<Reference>,
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
        let mut backend = factory.open(choice).map_err(|e| RunError::Backend(Box::new(e)))?;
        let mut built = build(&plan, factory, backend.gpu);
        if backend.gpu
            && choice == BackendChoice::Auto
            && let Err(error) = &built
            && error.gpu().is_some()
        {
            backend = factory.fall_back(&format!("the GPU cannot run this: {error}"));
            built = build(&plan, factory, backend.gpu);
        }
        let (lanes, reference) = built?;
        Ok(Self { plan, lanes, reference, backend, keep, reached: 0, steps: 1 })
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
        self.advance_reference(target, factory, sink)?;
        for index in self.order() {
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
        self.forget_reference();
        self.reached = target;
        self.steps = next_steps(self.steps, seconds, bytes).min(self.plan.steps().max(1));
        sink.reached(target).map_err(|_| RunError::Cancelled)?;
        Ok(!self.is_complete())
    }

    /// The lanes in the order in which they run: the one that others are measured against comes first.
    fn order(&self) -> Vec<usize> {
        let first = self.reference.as_ref().and_then(Reference::lane);
        first.into_iter().chain((0..self.lanes.len()).filter(|i| Some(*i) != first)).collect()
    }

    fn advance_reference(&mut self, target: usize, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<(), RunError> {
        loop {
            let Some(reference) = &mut self.reference else { return Ok(()) };
            match reference.advance(target) {
                Err(LayerError::Gpu(error)) if self.backend.gpu && is_over(&error) => self.move_to_cpu(&error, factory, sink)?,
                other => return other.map_err(RunError::reference),
            }
        }
    }

    /// Drops what every lane has been measured on.
    fn forget_reference(&mut self) {
        let Some(reference) = &mut self.reference else { return };
        let read = |(lane, plan): (&Lane, &PlanLane)| {
            let setup = &plan.setup;
            setup.stream.reads_within(0..(lane.done * setup.chunk).min(setup.stream.writes())).end
        };
        let least = self.lanes.iter().zip(&self.plan.lanes).map(read).min().unwrap_or(0);
        reference.forget_before(least);
    }

    /// Appends the metric's channels to a lane's block.
    fn measure(&mut self, index: usize, block: &mut TraceBlock) {
        let lane = &self.plan.lanes[index];
        if let Some(reference) = self.reference.as_mut().filter(|r| r.lane() == Some(index)) {
            reference.absorb(block);
        }
        if lane.channels.len() == lane.own_channels {
            return;
        }
        let Some(channel) = outputs_channel(&lane.channels) else { return };
        let mut measured = Vec::new();
        for piece in block.pieces.iter().filter(|p| p.channel == channel) {
            let reference = self.reference.as_ref().and_then(|r| r.outputs(&piece.range));
            measured.extend(metric::score(&self.plan.stream, piece.range.clone(), &piece.values, reference.as_ref(), lane.own_channels));
        }
        block.pieces.append(&mut measured);
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
            match self.lanes[index].record(&self.plan.lanes[index], chunks, self.keep, factory) {
                Err(LayerError::Gpu(error)) if self.backend.gpu && is_over(&error) => self.move_to_cpu(&error, factory, sink)?,
                Err(source) => return Err(RunError::layer(&self.plan.lanes[index], source)),
                Ok((mut block, seconds)) => {
                    self.measure(index, &mut block);
                    return Ok((block, seconds));
                }
            }
        }
    }

    /// Rebuilds every lane on the CPU as it was when its last block was handed over.
    fn move_to_cpu(&mut self, error: &GpuError, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<(), RunError> {
        self.backend = factory.fall_back(&error.to_string());
        let at = self.reached;
        let text = format!("After {at} tokens {error}. The run goes on on the CPU from the last keyframe.");
        if let Some(reference) = &mut self.reference {
            reference.rebuild(factory).map_err(RunError::reference)?;
        }
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
        lane.state(plan, chunks, factory).map(Some).map_err(|source| RunError::layer(plan, source))
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
            Err(error) if self.backend.gpu && error.gpu().is_some_and(is_over) => {
                if let Some(error) = error.gpu() {
                    self.move_to_cpu(error, factory, sink)?;
                }
                self.state(index, chunks, factory)
            }
            other => other,
        }
    }

    /// The last state of every lane of a complete run, in the plan's order.
    pub fn last_states(&mut self, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<Vec<Arc<Snapshot>>, RunError> {
        let total = self.plan.stream.writes();
        let mut states = Vec::with_capacity(self.lanes.len());
        for index in 0..self.lanes.len() {
            let chunks = self.plan.lanes[index].chunks_at(total);
            states.extend(self.state_or_move(index, chunks, factory, sink)?);
        }
        Ok(states)
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

/// True for what ends all work on a device: it is lost, or it refuses commands (no memory left).
fn is_over(error: &GpuError) -> bool {
    matches!(error, GpuError::Lost(_) | GpuError::Refused(_))
}

/// Builds the layers of a plan.
fn build(plan: &Plan, factory: &mut dyn LayerFactory, gpu: bool) -> Result<(Vec<Lane>, Option<Reference>), RunError> {
    let lanes = build_lanes(plan, factory, gpu)?;
    let reference = Reference::new(plan, factory).map_err(RunError::reference)?;
    Ok((lanes, reference))
}

fn build_lanes(plan: &Plan, factory: &mut dyn LayerFactory, gpu: bool) -> Result<Vec<Lane>, RunError> {
    let mut build = |lane: &PlanLane| Lane::new(lane, factory, gpu).map_err(|source| RunError::layer(lane, source));
    plan.lanes.iter().map(&mut build).collect()
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
