//! Memory layers: what every layer is to the rest of the program, and the one list of them.
//!
//! A layer is a folder here: `mod.rs` (the mathematics as documentation, parameters, limits, its [`LayerKind`]), `cpu.rs`
//! (generic over float32 and float64), `gpu.rs` (its kernels are in `shaders/<layer>/`), `trace.rs` (its channels). It
//! becomes part of the program by one line in [`KINDS`].
//!
//! A layer runs over its stream in chunks. It writes trace blocks, and its whole state can be taken out and put back at
//! any chunk boundary: a restored run equals an uninterrupted one, bit for bit.

pub mod effective;
pub mod feature;
pub mod fit;
pub mod full;
mod handed;
pub mod linear;
pub mod lola;
pub mod ovq;
pub mod real;
pub mod recurrent;
pub mod replay;
pub mod vq;
pub mod window;
pub mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ndarray::{Array3, ArrayD};
use thiserror::Error;

use crate::gpu::{GpuError, GpuStream};
use crate::param::{ParamError, ParamSpec, Resolved};
use crate::session::hand::{Act, Hand};
use crate::stream::Stream;
use crate::trace::{Along, ChannelSpec, LaneTrace, TraceBlock, Values};

/// Every layer there is, in the order in which menus show them. Adding a layer is one line here.
pub static KINDS: &[&dyn LayerKind] = &[
    &full::FullKind,
    &window::WindowKind,
    &linear::LinearKind,
    &recurrent::DELTANET,
    &recurrent::GATED_DELTANET,
    &recurrent::MAMBA2,
    &ovq::OvqKind,
    &vq::VqKind,
    &lola::LolaKind,
];

/// The layer with this name (`ovq`), if there is one.
#[must_use]
pub fn kind(name: &str) -> Option<&'static dyn LayerKind> {
    KINDS.iter().copied().find(|k| k.name() == name)
}

/// Named arrays that a layer needs besides its stream and parameters: `projection` [m, dk] of FAVOR+, `weights_q` and
/// `weights_k` [heads or 1, dk, d] of Hedgehog, `codebook` [heads or 1, N, dk] of VQ attention.
pub type Arrays = BTreeMap<String, ArrayD<f32>>;

/// All that a layer is built from. Parameters have been checked with [`LayerKind::check`].
#[derive(Debug, Clone)]
pub struct Setup {
    /// The stream as this lane sees it (normalised, where the layer wants unit vectors).
    pub stream: Arc<Stream>,
    /// Checked parameters.
    pub params: Resolved,
    /// Arrays, if any.
    pub arrays: Arc<Arrays>,
    /// Writes a step: the layer's own chunk, or the run's step where the layer has none of its own.
    pub chunk: usize,
    /// What is done to the memory by hand; checked with [`crate::session::plan`].
    pub hands: Arc<[Hand]>,
}

impl Setup {
    /// The logit scale: the parameter `beta`, or the stream's where that is `auto` or the layer has no such parameter.
    #[must_use]
    pub fn beta(&self) -> f64 {
        self.params.set_float("beta").unwrap_or_else(|| f64::from(self.stream.beta()))
    }
}

/// What a layer costs, per key/value head (state, writes) and per query head (reads), at the end of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Numbers held, as in LAYERS.md, "Numbers that must hold".
    pub state_numbers: u64,
    /// Multiply-adds to write one token.
    pub write_madds: u64,
    /// Multiply-adds to answer one read. Of its own chunk, where a layer keeps that whole, it sees what lies before it: half of it on
    /// average.
    pub read_madds: u64,
}

/// An array that belongs to the trace but is made from channels: `entered` and `left` from events, say. One head's.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// The reference's name.
    pub name: &'static str,
    /// What it holds, in a sentence.
    pub meaning: &'static str,
    /// The unit, as of a channel.
    pub unit: &'static str,
    /// What each dimension of the shape runs along.
    pub axes: &'static [Along],
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers, row-major.
    pub values: Values,
}

/// Single or double precision on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// float32: what the explorer runs, and what the GPU is held against.
    Single,
    /// float64: held against the golden files to 1e-9.
    Double,
}

/// A kind of layer: its description, its checks, and how to build one. Stateless.
pub trait LayerKind: Send + Sync {
    /// The name in session files and on the command line.
    fn name(&self) -> &'static str;
    /// The name on screen.
    fn title(&self) -> &'static str;
    /// A paragraph: what it keeps, what it forgets, and its paper.
    fn about(&self) -> &'static str;
    /// Its parameters.
    fn params(&self) -> &'static [ParamSpec];
    /// Whether the parameter `name` has any effect while the others are as in `params`: one without is not offered.
    fn applies(&self, _name: &str, _params: &Resolved) -> bool {
        true
    }
    /// The value in use, for a query head of the lane's stream, of a parameter that is left to the stream or to learned weights.
    fn in_use(&self, setup: &Setup, name: &str, _query_head: usize) -> Option<f64> {
        (name == "beta").then(|| setup.beta())
    }
    /// True if it expects keys and queries of length 1 (a capture's are normalised for it).
    fn wants_unit_vectors(&self) -> bool {
        false
    }
    /// The chunk it asks for, where chunks are part of its mathematics.
    fn chunk(&self, params: &Resolved) -> Option<usize>;
    /// Checks parameters against each other, the stream and the arrays.
    ///
    /// # Errors
    /// What cannot be, naming parameter, value and limit.
    fn check(&self, setup: &Setup) -> Result<(), ParamError>;
    /// Fits what it must be given before the stream begins, on keys that are not the stream's own. Called for every plan, after
    /// [`LayerKind::check`], which is then called again if there are arrays; it must end soon once `cancel` is set.
    ///
    /// # Errors
    /// If there is nothing to fit on, the parameters do not go with it, or it was cancelled.
    fn fit(&self, _setup: &Setup, _samples: &dyn fit::Samples, _cancel: &AtomicBool) -> Result<fit::Fitted, fit::FitError> {
        Ok(fit::Fitted::default())
    }
    /// Checks that something can be done to this layer's memory by hand; step, head and writes are known to be in the stream.
    ///
    /// # Errors
    /// Why it cannot, with the limit.
    fn check_hand(&self, _setup: &Setup, hand: &Hand) -> Result<(), String> {
        Err(cannot(self.title(), hand))
    }
    /// The channels it writes, in the order in which pieces number them.
    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec>;
    /// What a lane has to say on screen about how it takes its stream, in sentences.
    fn notes(&self, _setup: &Setup) -> Vec<String> {
        Vec::new()
    }
    /// What it costs.
    fn cost(&self, setup: &Setup) -> Cost;
    /// Arrays of the reference that are made from this layer's channels, for one key/value head of a finished trace.
    ///
    /// Exports and the golden tests look a name up here first, then among the channels, then in the snapshot: an array
    /// here replaces a channel of the same name (OVQ's `sizes` with its leading 0).
    fn derived(&self, _setup: &Setup, _trace: &LaneTrace, _kv_head: usize) -> Vec<Derived> {
        Vec::new()
    }
    /// What every visible token weighs in the output of a read, from the lane's trace; `None` while the trace does not hold the
    /// steps that the read depends on.
    fn effective(&self, setup: &Setup, trace: &LaneTrace, read: effective::ReadOf<'_>) -> Option<effective::Effective>;
    /// Replays the dictionary of a key/value head from the lane's trace: calls `visit` after each chunk that the trace holds, until it
    /// returns false. False, and nothing called, for a layer without a dictionary.
    fn replay_dictionary(
        &self,
        _setup: &Setup,
        _trace: &LaneTrace,
        _kv_head: usize,
        _visit: &mut dyn FnMut(replay::DictionaryAt<'_>) -> bool,
    ) -> bool {
        false
    }
    /// Replays the linear state of a head from the lane's trace: calls `visit` after each chunk that the trace holds, until it returns
    /// false. False, and nothing called, for a layer without one.
    fn replay_state(
        &self,
        _setup: &Setup,
        _trace: &LaneTrace,
        _kv_head: usize,
        _visit: &mut dyn FnMut(replay::StateAt<'_>) -> bool,
    ) -> bool {
        false
    }
    /// Builds one on the CPU, at the start of its stream.
    ///
    /// # Errors
    /// If it cannot be built.
    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError>;
    /// Builds one on the GPU, at the start of its stream. `stream` is `setup.stream`, uploaded.
    ///
    /// # Errors
    /// If the device's limits do not allow it, or the device is lost.
    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError>;
}

impl std::fmt::Debug for dyn LayerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LayerKind({})", self.name())
    }
}

/// What a run over some chunks is to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Outputs of the reads and every channel.
    All,
    /// Nothing: only the state moves on. For the replay from a keyframe.
    StateOnly,
}

/// A running layer: a stream, a position in it, and a state. All heads advance together.
pub trait Layer: Send {
    /// Chunks done, and so the position in the stream.
    fn position(&self) -> usize;

    /// Runs the next `chunks` chunks (no further than the stream's end) and appends what they wrote to `out`.
    ///
    /// Several chunks in one call give the same bits as one at a time.
    ///
    /// # Errors
    /// If the device is lost; the state is then not to be used any more.
    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError>;

    /// The whole state at this position, as named arrays that panels and exporters read too.
    ///
    /// # Errors
    /// If the device is lost.
    fn snapshot(&mut self) -> Result<Snapshot, LayerError>;

    /// Puts a state back that this same setup and implementation gave out.
    ///
    /// # Errors
    /// If the arrays do not fit this layer, or the device is lost.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError>;
}

/// One array of a state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateArray {
    /// The reference's name: `dict_k`, `counts`, `state`, `normaliser`, `cached`, ..
    pub name: &'static str,
    /// The shape, heads first: `[heads, ..]`. Only what is in use (n rows, not N) where that is the same for all heads.
    pub shape: Vec<usize>,
    /// The numbers, row-major.
    pub values: Values,
}

/// A layer's whole state at a chunk boundary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Chunks done.
    pub position: usize,
    /// The arrays.
    pub arrays: Vec<StateArray>,
}

impl Snapshot {
    /// An array by its name.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&StateArray> {
        self.arrays.iter().find(|a| a.name == name)
    }

    /// The real numbers of an array, if it is there in precision `R` with this shape.
    ///
    /// # Errors
    /// [`LayerError::Restore`] that names the array.
    pub fn numbers<R: real::Real>(&self, name: &str, shape: &[usize]) -> Result<&[R], LayerError> {
        let fail = |what: String| LayerError::Restore(format!("`{name}` {what}"));
        let array = self.array(name).ok_or_else(|| fail("is missing".to_owned()))?;
        if array.shape != shape {
            return Err(fail(format!("is {:?}, but {shape:?} is held here", array.shape)));
        }
        R::of_values(&array.values).ok_or_else(|| fail("is in another precision".to_owned()))
    }

    /// Checks that the position lies within a stream cut into chunks of `chunk` writes.
    ///
    /// # Errors
    /// [`LayerError::Restore`] if it lies beyond its end.
    pub fn check_position(&self, stream: &Stream, chunk: usize) -> Result<(), LayerError> {
        let chunks = stream.chunks(chunk);
        if self.position <= chunks { Ok(()) } else { Err(LayerError::Restore(format!("chunk {} of {chunks}", self.position))) }
    }

    /// Bytes of numbers held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.arrays.iter().map(|a| a.values.bytes()).sum()
    }
}

/// Why a layer cannot be built or go on.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum LayerError {
    /// A parameter.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An array that the layer needs is missing or has the wrong shape.
    #[error("{layer} needs the array `{name}` of shape {expected}, {found}")]
    Array { layer: &'static str, name: &'static str, expected: String, found: String },
    /// A snapshot of another layer.
    #[error("this state cannot be restored here: {0}")]
    Restore(String),
}

/// `[heads or 1, rows, columns]` from the named arrays, or `None` where it is absent.
///
/// # Errors
/// If it is there with another shape.
pub fn named_array(
    arrays: &Arrays,
    layer: &'static str,
    name: &'static str,
    heads: usize,
    rows: usize,
    columns: Option<usize>,
) -> Result<Option<Array3<f32>>, LayerError> {
    let Some(array) = arrays.get(name) else { return Ok(None) };
    let expected = format!("[{heads} or 1, {rows}, {}]", columns.map_or_else(|| "any".to_owned(), |c| c.to_string()));
    let wrong = || LayerError::Array { layer, name, expected: expected.clone(), found: format!("but found {:?}", array.shape()) };
    let mut array = array.clone();
    if array.ndim() == 2 {
        array = array.insert_axis(ndarray::Axis(0));
    }
    let array = array.into_dimensionality::<ndarray::Ix3>().map_err(|_| wrong())?;
    let (h, r, c) = array.dim();
    if (h == 1 || h == heads) && r == rows && columns.is_none_or(|x| x == c) { Ok(Some(array)) } else { Err(wrong()) }
}

/// Why a layer refuses what it has nothing for.
fn cannot(title: &str, hand: &Hand) -> String {
    let what = match hand.what {
        Act::Evict { .. } | Act::Keep { .. } => "has no sparse cache, as LoLA has",
        Act::Move { .. } | Act::Delete { .. } => "has no dictionary that grows, as OVQ has",
        Act::Forget => "has no linear state to forget",
    };
    format!("{title} {what}")
}

/// The largest dk and dv.
pub const MAX_DIM: usize = 256;
/// The largest chunk.
pub const MAX_CHUNK: usize = 1024;
/// The longest stream.
pub const MAX_WRITES: usize = 131_072;

/// Checks what every layer asks of a stream: dk and dv from 1 to [`MAX_DIM`], T to [`MAX_WRITES`], the chunk from 1 to
/// [`MAX_CHUNK`].
///
/// # Errors
/// [`ParamError::Range`] that names what is too large, its value and the limit.
pub fn check_sizes(setup: &Setup) -> Result<(), ParamError> {
    let stream = &setup.stream;
    for (name, value, max) in [
        ("dk (numbers in a key)", stream.key_dim(), MAX_DIM),
        ("dv (numbers in a value)", stream.value_dim(), MAX_DIM),
        ("T (writes in the stream)", stream.writes(), MAX_WRITES),
        ("chunk", setup.chunk, MAX_CHUNK),
    ] {
        if value == 0 || value > max {
            let owner = setup.params.owner().to_owned();
            return Err(ParamError::Range {
                owner,
                name: name.to_owned(),
                value: value.to_string(),
                min: "1".to_owned(),
                max: max.to_string(),
            });
        }
    }
    Ok(())
}
