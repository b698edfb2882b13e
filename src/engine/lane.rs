//! One lane of a run: its layer, its keyframes, and the replays between them.

use std::sync::Arc;
use std::time::Instant;

use super::chain;
use super::factory::LayerFactory;
use super::keyframe::Keyframes;
use super::run::{RunError, Sink};
use crate::layer::{Layer, LayerError, Record, Snapshot};
use crate::session::plan::PlanLane;
use crate::trace::TraceBlock;

/// Chunks replayed between two looks at whether to stop.
const REPLAY_CHUNKS: usize = 16;

/// Whether a run keeps states for time travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The window: any state can be asked for.
    Keyframes,
    /// Headless: the trace alone is wanted.
    Nothing,
}

/// One lane of a run.
pub struct Lane {
    pub layer: Box<dyn Layer>,
    /// Chunks whose traces the sink has.
    pub done: usize,
    keyframes: Keyframes,
    /// A second layer for replays, so that the running one need not go back; made when first needed.
    pub scratch: Option<Box<dyn Layer>>,
    /// What a chunk took lately, in seconds; 0 before it is known.
    pace: f64,
}

impl Lane {
    /// A lane at its start, on the backend that is open.
    pub fn new(plan: &PlanLane, factory: &mut dyn LayerFactory, gpu: bool) -> Result<Self, LayerError> {
        let layer = factory.build(plan.kind, &plan.setup)?;
        let keyframes = Keyframes::new(plan.kind, &plan.setup, gpu);
        Ok(Self { layer, done: 0, keyframes, scratch: None, pace: 0.0 })
    }

    /// Advances the layer to `chunks`, with a keyframe wherever one is due; what it wrote, and the seconds it took.
    ///
    /// Reads that follow others all belong to the last chunk: it is run by itself, and again as its answers ask for it.
    pub fn record(
        &mut self,
        plan: &PlanLane,
        chunks: usize,
        keep: Keep,
        factory: &mut dyn LayerFactory,
    ) -> Result<(TraceBlock, f64), LayerError> {
        let stream = &plan.setup.stream;
        let total = stream.chunks(plan.setup.chunk);
        let chained = stream.chain().is_some() && chunks >= total;
        let mut block = TraceBlock::default();
        let mut seconds = self.advance(if chained { total - 1 } else { chunks }, keep, &mut block)?;
        if chained {
            let before = self.layer.snapshot()?;
            let mut last = TraceBlock::default();
            seconds += self.advance(total, keep, &mut last)?;
            let (last, again) = chain::follow(plan, &before, last, factory)?;
            seconds += again;
            block.pieces.extend(last.pieces);
        }
        // A chunk of the replay records nothing, so this errs on the side of keyframes that lie too close.
        self.keyframes.adapt(self.pace);
        Ok((block, seconds))
    }

    /// The same without regard to what reads ask; the seconds it took.
    fn advance(&mut self, chunks: usize, keep: Keep, block: &mut TraceBlock) -> Result<f64, LayerError> {
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
            self.layer.advance(end - position, Record::All, block)?;
            let took = start.elapsed().as_secs_f64();
            seconds += took;
            self.pace = took / (end - position) as f64;
        }
        Ok(seconds)
    }

    /// A new layer in the state that the sink knows: from the last keyframe, or from the start if it does not fit.
    pub fn rebuild(&self, plan: &PlanLane, factory: &mut dyn LayerFactory, sink: &mut dyn Sink) -> Result<Box<dyn Layer>, RunError> {
        let failed = |source| RunError::layer(plan, source);
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
    pub fn state(&mut self, plan: &PlanLane, chunks: usize, factory: &mut dyn LayerFactory) -> Result<Arc<Snapshot>, LayerError> {
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
