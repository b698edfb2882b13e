//! The three kinds: their parameters, limits and descriptions.

use std::sync::Arc;

use super::{Config, Rule, cpu, effective, gpu, replay, trace};
use crate::gpu::GpuStream;
use crate::layer::effective::{Effective, ReadOf};
use crate::layer::handed::{clear, handed, set_last};
use crate::layer::replay::StateAt;
use crate::layer::{Cost, Layer, LayerError, LayerKind, Precision, Setup, Snapshot, cannot, check_sizes};
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::session::hand::{Act, Hand};
use crate::trace::{ChannelSpec, LaneTrace, TraceBlock};

/// The largest b of the delta rule: beyond, a write enlarges what it should replace, and the state grows without end.
const MAX_RATE: f64 = 2.0;

/// Keys and queries whose lengths differ from 1 by no more than this are unit vectors.
const UNIT_TOLERANCE: f32 = 1e-4;

const DECAY: ParamSpec = ParamSpec {
    name: "decay",
    title: "decay a",
    doc: "What the state is multiplied with before each write; 1 forgets nothing by itself. A stream with a decay of its own for each \
          write is run with that instead.",
    kind: ParamKind::Float { min: 0.0, max: 1.0, default: 0.999, log: false },
};

const RATE: ParamSpec = ParamSpec {
    name: "rate",
    title: "write strength b",
    doc: "How much of the difference between a write's value and what the state answers to its key is put right: 1 is all of it. A \
          stream with a rate of its own for each write is run with that instead.",
    kind: ParamKind::Float { min: 0.0, max: MAX_RATE, default: 1.0, log: false },
};

const STEP: ParamSpec = ParamSpec {
    name: "step",
    title: "step dt",
    doc: "What each write is multiplied with as it is added. A stream with a rate of its own for each write is run with that instead.",
    kind: ParamKind::Float { min: 1e-4, max: 100.0, default: 1.0, log: true },
};

/// The kind `deltanet`.
pub static DELTANET: RecurrentKind = RecurrentKind { rule: Rule::Delta };
/// The kind `gated_deltanet`.
pub static GATED_DELTANET: RecurrentKind = RecurrentKind { rule: Rule::GatedDelta };
/// The kind `mamba2`.
pub static MAMBA2: RecurrentKind = RecurrentKind { rule: Rule::Mamba2 };

/// One of [`DELTANET`], [`GATED_DELTANET`] and [`MAMBA2`].
#[derive(Debug, Clone, Copy)]
pub struct RecurrentKind {
    rule: Rule,
}

impl RecurrentKind {
    fn config(self, setup: &Setup) -> Config {
        Config::new(self.rule, &setup.params)
    }
}

impl LayerKind for RecurrentKind {
    fn name(&self) -> &'static str {
        match self.rule {
            Rule::Delta => "deltanet",
            Rule::GatedDelta => "gated_deltanet",
            Rule::Mamba2 => "mamba2",
        }
    }

    fn title(&self) -> &'static str {
        match self.rule {
            Rule::Delta => "DeltaNet",
            Rule::GatedDelta => "Gated DeltaNet",
            Rule::Mamba2 => "Mamba-2",
        }
    }

    fn about(&self) -> &'static str {
        match self.rule {
            Rule::Delta => {
                "Keeps one matrix. A write first asks it what it answers to the write's key, and adds the difference to the value: the \
                 newest value of a key replaces the older one, at the cost of all keys that resemble it. Yang et al., arXiv 2406.06484."
            }
            Rule::GatedDelta => {
                "DeltaNet whose matrix decays a little before each write: room for what is new, and nothing old lasts. \
                 Yang, Kautz, Hatamizadeh, arXiv 2412.06464."
            }
            Rule::Mamba2 => {
                "Keeps one matrix that decays before each write and to which every write is added: a linear attention that forgets what is \
                 old, with neither feature map nor normaliser (its state-space dual form). Dao, Gu, arXiv 2405.21060."
            }
        }
    }

    fn params(&self) -> &'static [ParamSpec] {
        match self.rule {
            Rule::Delta => &[RATE],
            Rule::GatedDelta => &[DECAY, RATE],
            Rule::Mamba2 => &[DECAY, STEP],
        }
    }

    fn chunk(&self, _params: &Resolved) -> Option<usize> {
        None
    }

    fn check(&self, setup: &Setup) -> Result<(), ParamError> {
        check_sizes(setup)?;
        let Some(rates) = setup.stream.gates().and_then(|g| g.rate.as_ref()).filter(|_| self.rule.erases()) else { return Ok(()) };
        match rates.indexed_iter().find(|(_, rate)| f64::from(**rate) > MAX_RATE) {
            None => Ok(()),
            Some(((head, write), rate)) => Err(setup.params.conflict(
                "rate",
                format!(
                    "the stream's own rate is {rate} at [head {head}, write {write}]: over {MAX_RATE} the delta rule grows without end"
                ),
            )),
        }
    }

    fn check_hand(&self, _setup: &Setup, hand: &Hand) -> Result<(), String> {
        if hand.what == Act::Forget { Ok(()) } else { Err(cannot(self.title(), hand)) }
    }

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        trace::channels(&self.config(setup), setup)
    }

    fn notes(&self, setup: &Setup) -> Vec<String> {
        let mut notes = Vec::new();
        if self.rule.erases() && !setup.stream.is_unit(UNIT_TOLERANCE) {
            notes.push("the delta rule takes keys and queries at length 1: they are normalised inside the layer".to_owned());
        }
        if !self.rule.erases() && !setup.stream.is_unit(UNIT_TOLERANCE) {
            notes.push(
                "nothing is normalised: the state is a sum that grows with the keys' lengths and the stream's, and so do its outputs"
                    .to_owned(),
            );
        }
        let Some(gates) = setup.stream.gates() else { return notes };
        let decay = (gates.decay.is_some() && self.rule.decays()).then_some("decay");
        let rate = gates.rate.is_some().then_some(self.rule.rate_name());
        let replaced: Vec<&str> = decay.into_iter().chain(rate).collect();
        if !replaced.is_empty() {
            notes.push(format!("{}: the stream's own for each write, in place of the parameter", replaced.join(" and ")));
        }
        notes
    }

    fn cost(&self, setup: &Setup) -> Cost {
        let numbers = (setup.stream.key_dim() * setup.stream.value_dim()) as u64;
        // Every product of the formulas with a number of S or for one: a S, S^T k and k (..)^T.
        let products = u64::from(self.rule.decays()) + u64::from(self.rule.erases()) + 1;
        Cost { state_numbers: numbers, write_madds: products * numbers, read_madds: numbers }
    }

    fn effective(&self, setup: &Setup, _trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        Some(effective::effective(&self.config(setup), setup, read))
    }

    fn replay_state(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(StateAt<'_>) -> bool) -> bool {
        replay::replay(&self.config(setup), setup, trace, kv_head, visit)
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        let config = self.config(setup);
        let layer: Box<dyn Layer> = match precision {
            Precision::Single => Box::new(cpu::RecurrentCpu::<f32>::new(config, setup)),
            Precision::Double => Box::new(cpu::RecurrentCpu::<f64>::new(config, setup)),
        };
        Ok(handed(layer, setup, lay))
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(handed(Box::new(gpu::RecurrentGpu::new(self.config(setup), setup, stream)?), setup, lay))
    }
}

/// `Forget`: S of the head is zero, and so is its norm after the chunk.
#[allow(clippy::unnecessary_wraps, reason = "what every layer that hands act on has: others can fail")]
fn lay(_setup: &Setup, hand: &Hand, state: &mut Snapshot, written: &mut TraceBlock) -> Result<(), LayerError> {
    if hand.what == Act::Forget {
        clear(state, "state", hand.kv_head);
        set_last(written, trace::STATE_NORM, hand.kv_head, 0.0);
    }
    Ok(())
}
