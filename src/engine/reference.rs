//! Full attention's outputs, which a capture's reads are measured against ([`Targets::FullAttention`]).
//!
//! They are those of a lane, where one is full attention on the stream as it is; else a hidden layer computes them.

use std::ops::Range;

use super::factory::LayerFactory;
use crate::layer::{self, Layer, LayerError, LayerKind, Record, Setup};
use crate::param::{Params, Resolved};
use crate::session::plan::{Plan, PlanLane};
use crate::stream::Targets;
use crate::trace::{ChannelSpec, TraceBlock, Values};

/// The layer that answers as a transformer would.
const FULL: &str = "full";
/// The channel that holds a layer's answers to reads.
const OUTPUTS: &str = "outputs";

/// The place of the answers among a layer's channels.
pub fn outputs_channel(channels: &[ChannelSpec]) -> Option<usize> {
    channels.iter().position(|c| c.name == OUTPUTS)
}

/// Where the outputs come from.
enum From {
    Lane(usize),
    Hidden {
        kind: &'static dyn LayerKind,
        setup: Setup,
        layer: Box<dyn Layer>,
        /// Chunks whose outputs have been taken: a lost layer's own position says nothing.
        done: usize,
    },
}

/// Full attention's outputs of the newest reads.
pub struct Reference {
    from: From,
    channel: usize,
    dv: usize,
    /// The read that `rows` begin with.
    start: usize,
    /// By query head: [reads held, dv].
    rows: Vec<Vec<f32>>,
}

impl Reference {
    /// The reference that a plan needs: `None` where its targets are others, or there is no layer of that name.
    pub fn new(plan: &Plan, factory: &mut dyn LayerFactory) -> Result<Option<Self>, LayerError> {
        if !matches!(plan.stream.targets(), Targets::FullAttention) {
            return Ok(None);
        }
        let Some(kind) = layer::kind(FULL) else { return Ok(None) };
        Self::of_kind(plan, kind, factory)
    }

    /// The same, with the layer `kind` in the part of full attention.
    pub fn of_kind(plan: &Plan, kind: &'static dyn LayerKind, factory: &mut dyn LayerFactory) -> Result<Option<Self>, LayerError> {
        let (from, channels) = if let Some(index) = plan.lanes.iter().position(|lane| is_reference(plan, lane, kind)) {
            (From::Lane(index), plan.lanes[index].channels.clone())
        } else {
            let params = Resolved::new("the reference", kind.params(), &Params::default())?;
            let setup = Setup {
                stream: plan.stream.clone(),
                params,
                arrays: std::sync::Arc::default(),
                chunk: plan.step,
                hands: std::sync::Arc::default(),
            };
            kind.check(&setup)?;
            let channels = kind.channels(&setup);
            (From::Hidden { kind, layer: factory.build(kind, &setup)?, setup, done: 0 }, channels)
        };
        let Some(channel) = outputs_channel(&channels) else { return Ok(None) };
        let rows = vec![Vec::new(); plan.stream.query_heads()];
        Ok(Some(Self { from, channel, dv: plan.stream.value_dim(), start: 0, rows }))
    }

    /// The lane whose outputs these are, if it is one.
    pub fn lane(&self) -> Option<usize> {
        if let From::Lane(index) = self.from { Some(index) } else { None }
    }

    /// Lets the hidden layer, if it is one, see `writes` writes.
    pub fn advance(&mut self, writes: usize) -> Result<(), LayerError> {
        let From::Hidden { setup, layer, done, .. } = &mut self.from else { return Ok(()) };
        let chunks = writes.div_ceil(setup.chunk);
        let mut block = TraceBlock::default();
        layer.advance(chunks.saturating_sub(*done), Record::All, &mut block)?;
        *done = chunks.max(*done);
        self.absorb(&block);
        Ok(())
    }

    /// Takes the outputs out of a block of the reference's layer.
    pub fn absorb(&mut self, block: &TraceBlock) {
        for piece in block.pieces.iter().filter(|p| p.channel == self.channel) {
            let Some(values) = piece.values.as_f32() else { continue };
            let per_head = piece.range.len() * self.dv;
            for (head, rows) in self.rows.iter_mut().enumerate() {
                rows.extend_from_slice(&values[head * per_head..(head + 1) * per_head]);
            }
        }
    }

    /// The outputs of some reads, [Hq, reads, dv]; `None` if not all of them are held.
    pub fn outputs(&self, reads: &Range<usize>) -> Option<Values> {
        let (from, to) = (reads.start.checked_sub(self.start)? * self.dv, reads.end.checked_sub(self.start)? * self.dv);
        let mut all = Vec::with_capacity(self.rows.len() * (to - from));
        for rows in &self.rows {
            all.extend_from_slice(rows.get(from..to)?);
        }
        Some(Values::F32(all))
    }

    /// Drops the outputs of the reads before `read`: no lane is still to be measured on them.
    pub fn forget_before(&mut self, read: usize) {
        let drop = read.saturating_sub(self.start) * self.dv;
        for rows in &mut self.rows {
            rows.drain(..drop.min(rows.len()));
        }
        self.start = self.start.max(read);
    }

    /// Builds the hidden layer again, on the backend that is open now, where it stood.
    pub fn rebuild(&mut self, factory: &mut dyn LayerFactory) -> Result<(), LayerError> {
        let From::Hidden { kind, setup, layer, done } = &mut self.from else { return Ok(()) };
        *layer = factory.build(*kind, setup)?;
        layer.advance(*done, Record::StateOnly, &mut TraceBlock::default())
    }
}

/// True if a lane's outputs are what full attention returns on the stream as it is, and never lag behind another lane's.
fn is_reference(plan: &Plan, lane: &PlanLane, kind: &'static dyn LayerKind) -> bool {
    let same_stream = std::sync::Arc::ptr_eq(&lane.setup.stream, &plan.stream);
    let same_beta =
        kind.params().iter().all(|p| p.name != "beta") || lane.setup.beta().to_bits() == f64::from(plan.stream.beta()).to_bits();
    lane.kind.name() == kind.name() && same_stream && same_beta && lane.setup.chunk == plan.step
}

#[cfg(test)]
mod tests {
    use super::super::testing::{DECAY, Fault, Machine, plan};
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_lane_on_the_plain_stream_is_taken_before_a_hidden_layer() {
        let mut machine = Machine::new(Fault::None, Duration::ZERO);
        let reference = |chunks: &[usize], machine: &mut Machine| Reference::of_kind(&plan(40, chunks), &DECAY, machine).unwrap().unwrap();
        // A lane of a longer chunk than the step would answer too late for the others.
        assert_eq!(reference(&[8, 4], &mut machine).lane(), Some(1));
        let mut other = plan(40, &[4]).as_ref().clone();
        other.stream = std::sync::Arc::new(other.stream.normalised());
        assert_eq!(Reference::of_kind(&other, &DECAY, &mut machine).unwrap().unwrap().lane(), None);
    }

    #[test]
    fn outputs_are_those_of_the_reads_asked_for_and_survive_forgetting() {
        let mut machine = Machine::new(Fault::None, Duration::ZERO);
        let mut plan = plan(41, &[4]).as_ref().clone();
        // The whole trace of the layer, to compare with.
        let mut block = TraceBlock::default();
        DECAY.cpu(&plan.lanes[0].setup, crate::layer::Precision::Single).unwrap().advance(11, Record::All, &mut block).unwrap();
        let mut all = crate::trace::LaneTrace::new(&plan.lanes[0].channels, 2, 4);
        all.append(&block).unwrap();
        let expected = |reads: Range<usize>| {
            let rows = |h| all.channels()[0].reals(h)[reads.start * 2..reads.end * 2].to_vec();
            Some(Values::F32((0..4).flat_map(rows).collect()))
        };
        plan.lanes.clear();
        let mut reference = Reference::of_kind(&plan, &DECAY, &mut machine).unwrap().unwrap();
        reference.advance(12).unwrap();
        assert_eq!(reference.outputs(&(3..9)), expected(3..9));
        assert_eq!(reference.outputs(&(3..13)), None);
        reference.forget_before(8);
        assert_eq!(reference.outputs(&(7..9)), None);
        reference.rebuild(&mut machine).unwrap();
        reference.advance(41).unwrap();
        assert_eq!(reference.outputs(&(8..41)), expected(8..41));
    }
}
