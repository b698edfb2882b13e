//! For the engine's tests: a tiny layer whose every number can be foretold, and a machine whose device fails on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ndarray::Array3;

use super::{BackendInfo, LayerFactory, cpu_info};
use crate::gpu::{GpuError, GpuStream};
use crate::layer::effective::{Effective, ReadOf};
use crate::layer::{Cost, Layer, LayerError, LayerKind, Precision, Record, Setup, Snapshot, StateArray};
use crate::param::{ParamError, ParamSpec, Params, Resolved};
use crate::session::plan::{Plan, PlanLane};
use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
use crate::stream::{Labels, Stream, StreamParts, Targets};
use crate::trace::{Axis, ChannelSpec, Heads, Kind, LaneTrace, Tolerance, TraceBlock, Values, Width};

/// `s <- 0.9 s + v`: rounding makes the state depend on every write and on their order. A read returns the state at the
/// start of its chunk.
#[derive(Debug)]
pub struct DecayKind;

pub static DECAY: DecayKind = DecayKind;

fn channel(name: &'static str, axis: Axis, heads: Heads, width: Width, kind: Kind) -> ChannelSpec {
    let tolerance = match kind {
        Kind::Real => Tolerance::Near { abs: 1e-4, rel: 0.0 },
        Kind::Whole => Tolerance::Choice { margin: None },
    };
    ChannelSpec { name, title: name, meaning: "", unit: "1", axis, heads, width, kind, tolerance }
}

impl LayerKind for DecayKind {
    fn name(&self) -> &'static str {
        "decay"
    }
    fn title(&self) -> &'static str {
        "Decay"
    }
    fn about(&self) -> &'static str {
        "For tests."
    }
    fn params(&self) -> &'static [ParamSpec] {
        &[]
    }
    fn chunk(&self, _params: &Resolved) -> Option<usize> {
        None
    }
    fn check(&self, _setup: &Setup) -> Result<(), ParamError> {
        Ok(())
    }
    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        vec![
            channel("outputs", Axis::Read, Heads::Query, Width::Fixed(setup.stream.value_dim()), Kind::Real),
            channel("sizes", Axis::Step, Heads::KeyValue, Width::Fixed(1), Kind::Whole),
        ]
    }
    /// Nobody asks it.
    fn effective(&self, _: &Setup, _: &LaneTrace, _: ReadOf<'_>) -> Option<Effective> {
        None
    }
    fn cost(&self, setup: &Setup) -> Cost {
        let dv = setup.stream.value_dim() as u64;
        Cost { state_numbers: dv, write_madds: dv, read_madds: dv }
    }
    fn cpu(&self, setup: &Setup, _precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        let state = vec![0.0; setup.stream.kv_heads() * setup.stream.value_dim()];
        Ok(Box::new(Decay { setup: setup.clone(), position: 0, state }))
    }
    fn gpu(&self, _setup: &Setup, _stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Err(GpuError::NoAdapter("the test layer has none".to_owned()).into())
    }
}

struct Decay {
    setup: Setup,
    position: usize,
    state: Vec<f32>,
}

impl Layer for Decay {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let stream = Arc::clone(&self.setup.stream);
        let (writes, dv, chunk) = (stream.writes(), stream.value_dim(), self.setup.chunk);
        for _ in 0..chunks {
            let (from, to) = (self.position * chunk, ((self.position + 1) * chunk).min(writes));
            if from >= writes {
                break;
            }
            if record == Record::All {
                let reads = stream.reads_within(from..to);
                let per_head = |h: usize| self.state[h * dv..(h + 1) * dv].repeat(reads.len());
                let outputs = (0..stream.query_heads()).flat_map(|h| per_head(stream.kv_head_of(h))).collect();
                out.push(0, reads, Values::F32(outputs));
                let sizes = vec![to as i32; stream.kv_heads()];
                out.push(1, self.position..self.position + 1, Values::I32(sizes));
            }
            for h in 0..stream.kv_heads() {
                for i in from..to {
                    for d in 0..dv {
                        let s = &mut self.state[h * dv + d];
                        *s = 0.9 * *s + stream.values()[[h, i, d]];
                    }
                }
            }
            self.position += 1;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let shape = vec![self.setup.stream.kv_heads(), self.setup.stream.value_dim()];
        Ok(Snapshot { position: self.position, arrays: vec![StateArray { name: "state", shape, values: Values::F32(self.state.clone()) }] })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let state = snapshot.array("state").and_then(|a| a.values.as_f32());
        self.state = state.ok_or_else(|| LayerError::Restore("no `state`".to_owned()))?.to_vec();
        self.position = snapshot.position;
        Ok(())
    }
}

/// What goes wrong with a layer on the machine's pretended GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The device is lost when the n-th layer built (0 first) is to go beyond so many chunks.
    Lost { built: usize, at: usize },
    /// As [`Fault::Lost`] at the first layer built, and no state of the lost device can be restored.
    LostWithUnreadableStates { at: usize },
    /// The layer panics there.
    Panic { at: usize },
    /// No layer fits the device.
    TooSmall,
}

/// A machine with a pretended GPU (the CPU's layers, under another name) and a fault in it.
#[derive(Debug)]
pub struct Machine {
    pub fault: Fault,
    /// What every chunk takes longer.
    pub delay: Duration,
    gpu: bool,
    built: Arc<AtomicUsize>,
}

impl Machine {
    pub fn new(fault: Fault, delay: Duration) -> Self {
        Self { fault, delay, gpu: false, built: Arc::default() }
    }
}

impl LayerFactory for Machine {
    fn open(&mut self, choice: BackendChoice) -> Result<BackendInfo, LayerError> {
        self.gpu = choice != BackendChoice::Cpu;
        let pretended = BackendInfo { gpu: true, adapter: "pretended".to_owned(), reason: "a test".to_owned() };
        Ok(if self.gpu { pretended } else { cpu_info("asked for") })
    }

    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        let inner = kind.cpu(setup, Precision::Single)?;
        let number = self.built.fetch_add(1, Ordering::Relaxed);
        if !self.gpu {
            let unreadable = matches!(self.fault, Fault::LostWithUnreadableStates { .. });
            return Ok(Box::new(Faulty { inner, panics: false, fail_at: None, delay: Duration::ZERO, unreadable }));
        }
        let fail_at = match self.fault {
            Fault::Lost { built, at } if built == number => Some(at),
            Fault::LostWithUnreadableStates { at } | Fault::Panic { at } if number == 0 => Some(at),
            Fault::TooSmall => {
                let (what, adapter) = ("the test layer".to_owned(), "pretended".to_owned());
                return Err(GpuError::Limit { what, needed: 2, limit: 1, unit: "bytes", adapter }.into());
            }
            _ => None,
        };
        let panics = matches!(self.fault, Fault::Panic { .. });
        Ok(Box::new(Faulty { inner, panics, fail_at, delay: self.delay, unreadable: false }))
    }

    fn fall_back(&mut self, reason: &str) -> BackendInfo {
        self.gpu = false;
        cpu_info(reason)
    }
}

struct Faulty {
    inner: Box<dyn Layer>,
    panics: bool,
    fail_at: Option<usize>,
    delay: Duration,
    unreadable: bool,
}

impl Layer for Faulty {
    fn position(&self) -> usize {
        self.inner.position()
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        for _ in 0..chunks {
            if self.fail_at == Some(self.inner.position()) {
                assert!(!self.panics, "this layer was told to panic");
                return Err(GpuError::Lost("told to".to_owned()).into());
            }
            std::thread::sleep(self.delay);
            self.inner.advance(1, record, out)?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        self.inner.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        if self.unreadable {
            return Err(LayerError::Restore("told to".to_owned()));
        }
        self.inner.restore(snapshot)
    }
}

/// A causal stream of `writes` tokens, two key/value heads with two query heads each, whose values are a simple sequence.
pub fn stream(writes: usize) -> Stream {
    let number = |(h, i, d): (usize, usize, usize)| ((h * 31 + i * 7 + d * 3) % 17) as f32 / 17.0 - 0.4;
    let parts = StreamParts {
        keys: Array3::from_shape_fn((2, writes, 3), number),
        values: Array3::from_shape_fn((2, writes, 2), number),
        queries: Array3::from_shape_fn((4, writes, 3), number),
        after: (1..=writes as u32).collect(),
        beta: 0.5,
        targets: Targets::None,
        labels: Labels::default(),
    };
    Stream::new(parts).unwrap()
}

/// A plan of test layers with these chunks over a stream of `writes` tokens.
pub fn plan(writes: usize, chunks: &[usize]) -> Arc<Plan> {
    let stream = Arc::new(stream(writes));
    let lanes = chunks.iter().enumerate().map(|(index, &chunk)| lane(&stream, index, chunk)).collect::<Vec<_>>();
    let spec = |l: &PlanLane| LaneSpec::new(&l.name, "decay", Params::default());
    let session = Session {
        source: Source::Task(TaskSource { name: "none".to_owned(), params: Params::default() }),
        lanes: lanes.iter().map(spec).collect(),
        ..Session::default()
    };
    let step = chunks.iter().copied().min().unwrap_or(64);
    Arc::new(Plan { session, stream, lanes, step })
}

fn lane(stream: &Arc<Stream>, index: usize, chunk: usize) -> PlanLane {
    let params = Resolved::new("decay", &[], &Params::default()).unwrap();
    let setup = Setup { stream: Arc::clone(stream), params, arrays: Arc::default(), chunk, hands: Arc::default() };
    let channels = DECAY.channels(&setup);
    let own_channels = channels.len();
    PlanLane { name: format!("decay{index}"), index, colour: index, kind: &DECAY, setup, channels, own_channels, notes: Vec::new() }
}
