//! CPU and GPU side by side: every channel of every lane, chunk by chunk, by the channels' own tolerances.
//!
//! Rounding may turn a choice whose margin is at most [`CHOICE_MARGIN`](crate::trace::CHOICE_MARGIN): a **tie**. From a tie
//! on the two would rightly go different ways, and nothing could be compared any more. So a tie is counted and shown, what
//! differs in the same chunk of the same head is excused, and before the next chunk the second implementation is put into
//! the state of the first. A choice that differs with a larger margin, or a number that differs by more than its
//! tolerance, is a failure.
//!
//! Where reads follow others ([`Chain`](crate::stream::Chain)), both are asked the stream's own queries, which the right answers
//! lead to, whatever they answer: what is compared is the layers.

mod compare;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::BackendInfo;
use super::factory::{Devices, LayerFactory};
use super::headless::Progress;
use super::run::RunError;
use crate::layer::{Layer, LayerError, Record};
use crate::session::BackendChoice;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::{LaneTrace, TraceBlock};
use compare::Comparison;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The first implementation, whose word counts: the CPU.
    pub first: String,
    /// The second: the GPU's adapter.
    pub second: String,
    /// One report a lane, in the plan's order.
    pub lanes: Vec<LaneReport>,
}

impl Report {
    /// True if no lane failed.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.lanes.iter().all(LaneReport::passes)
    }
}

/// What a comparison found in one lane.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaneReport {
    /// The lane's name.
    pub lane: String,
    /// Its layer's name.
    pub layer: &'static str,
    /// Chunks compared.
    pub chunks: usize,
    /// Chunks in which a tie fell the other way; after each, the second implementation went on from the first's state.
    pub tied_chunks: usize,
    /// Why the comparison stopped early, if it did: that is a failure.
    pub stopped: Option<String>,
    /// Seconds of the first implementation, chunk by chunk and with every channel read back.
    pub first_seconds: f64,
    /// Seconds of the second.
    pub second_seconds: f64,
    /// One report a channel of the layer.
    pub channels: Vec<ChannelReport>,
}

impl LaneReport {
    /// True if no channel failed and every chunk was compared.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.stopped.is_none() && self.channels.iter().all(|c| c.failures == 0)
    }
}

/// What a comparison found in one channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ChannelReport {
    /// The channel's name.
    pub name: &'static str,
    /// True for choices (ids, members, flags), false for numbers that must be near.
    pub choice: bool,
    /// Numbers compared.
    pub compared: u64,
    /// The largest difference of two numbers that are not excused; infinite where one alone is not a number.
    pub largest: f64,
    /// Where it is.
    pub largest_at: Option<Place>,
    /// Entries in which a choice with a margin of at most 1e-5 fell the other way.
    pub ties: u64,
    /// The first choice that differs, tie or not.
    pub first_difference: Option<Place>,
    /// Entries that differ in a chunk in which their head had a tie.
    pub excused: u64,
    /// Entries that differ by more than they may.
    pub failures: u64,
    /// The first of those.
    pub first_failure: Option<Place>,
}

/// One place where two implementations differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Place {
    /// The chunk, from 0.
    pub step: usize,
    /// The head, of the kind that the channel has.
    pub head: usize,
    /// The entry along the channel's axis.
    pub entry: usize,
    /// The first implementation's number; absent where its list is shorter.
    pub first: Option<f64>,
    /// The second's.
    pub second: Option<f64>,
    /// The choice's margin, the smaller of both; absent where the channel names none.
    pub margin: Option<f64>,
}

/// Compares the CPU with the GPU on a plan. The GPU may be a software adapter.
///
/// # Errors
/// If there is no GPU, a lane cannot be built or goes on no longer, or `cancel` was set.
pub fn run(plan: &Arc<Plan>, progress: impl FnMut(Progress), cancel: &AtomicBool) -> Result<Report, RunError> {
    run_with(&mut Devices::default(), &mut Devices::default(), plan, progress, cancel)
}

/// The same between any two builders of layers: the first is opened as the CPU, the second as the GPU.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    first: &mut dyn LayerFactory,
    second: &mut dyn LayerFactory,
    plan: &Arc<Plan>,
    mut progress: impl FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Report, RunError> {
    let open = |factory: &mut dyn LayerFactory, choice| factory.open(choice).map_err(|e| RunError::Backend(Box::new(e)));
    let (cpu, gpu): (BackendInfo, BackendInfo) = (open(first, BackendChoice::Cpu)?, open(second, BackendChoice::Gpu)?);
    let chunks = |lane: &PlanLane| lane.setup.stream.chunks(lane.setup.chunk);
    let total = plan.lanes.iter().map(chunks).sum();
    let mut done = 0;
    let mut lanes = Vec::new();
    for lane in &plan.lanes {
        let failed = |source| RunError::layer(lane, source);
        let mut pair = Pair {
            first: first.build(lane.kind, &lane.setup).map_err(failed)?,
            second: second.build(lane.kind, &lane.setup).map_err(failed)?,
            traces: [(); 2].map(|()| own_trace(lane)),
            comparison: Comparison::new(lane),
            seconds: [0.0; 2],
            tied_chunks: 0,
            stopped: None,
        };
        for step in 0..chunks(lane) {
            if cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            pair.step(step).map_err(|stop| stop.in_lane(lane))?;
            done += 1;
            progress(Progress { writes: done, total });
            if pair.stopped.is_some() {
                break;
            }
        }
        lanes.push(pair.report(lane));
    }
    Ok(Report { first: cpu.adapter, second: gpu.adapter, lanes })
}

/// A trace of the layer's own channels.
fn own_trace(lane: &PlanLane) -> LaneTrace {
    let stream = &lane.setup.stream;
    LaneTrace::new(&lane.channels[..lane.own_channels], stream.kv_heads(), stream.query_heads())
}

/// Why a step failed: the layer, or its trace.
enum Trouble {
    Layer(LayerError),
    Store(crate::trace::StoreError),
}

impl Trouble {
    fn in_lane(self, lane: &PlanLane) -> RunError {
        match self {
            Self::Layer(source) => RunError::layer(lane, source),
            Self::Store(source) => RunError::Store { lane: lane.name.clone(), source },
        }
    }
}

/// Two implementations of one lane.
struct Pair {
    first: Box<dyn Layer>,
    second: Box<dyn Layer>,
    traces: [LaneTrace; 2],
    comparison: Comparison,
    seconds: [f64; 2],
    tied_chunks: usize,
    stopped: Option<String>,
}

impl Pair {
    fn step(&mut self, step: usize) -> Result<(), Trouble> {
        let sides = [&mut self.first, &mut self.second];
        for ((layer, trace), seconds) in sides.into_iter().zip(&mut self.traces).zip(&mut self.seconds) {
            let mut block = TraceBlock::default();
            let start = Instant::now();
            layer.advance(1, Record::All, &mut block).map_err(Trouble::Layer)?;
            *seconds += start.elapsed().as_secs_f64();
            trace.append(&block).map_err(Trouble::Store)?;
        }
        if self.comparison.step(step, &self.traces) {
            self.tied_chunks += 1;
            let state = self.first.snapshot().map_err(Trouble::Layer)?;
            if let Err(error) = self.second.restore(&state) {
                self.stopped = Some(format!("after the tie in step {step} the two could not be put together again: {error}"));
            }
        }
        Ok(())
    }

    fn report(self, lane: &PlanLane) -> LaneReport {
        LaneReport {
            lane: lane.name.clone(),
            layer: lane.kind.name(),
            chunks: self.first.position(),
            tied_chunks: self.tied_chunks,
            stopped: self.stopped,
            first_seconds: self.seconds[0],
            second_seconds: self.seconds[1],
            channels: self.comparison.into_reports(),
        }
    }
}

#[cfg(test)]
mod tests;
