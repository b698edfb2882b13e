//! Online vector-quantised attention (OVQ): a dictionary of centroids that grows with the stream and follows it.
//!
//! Alonso, Figliolia, Millidge, arXiv 2602.03922; LAYERS.md, "OVQ". Keys and queries are unit vectors. The state is a key
//! dictionary Dk [N, dk], a value dictionary Dv [N, dv] and counts c `[N]`, of which the first n rows are in use. A chunk of
//! writes goes through three stages:
//!
//! 1. **Predict.** Every read of the chunk is softmax over `[beta q.Dk_j + log c_j, j < n]` and `[beta q.k_i, i in the chunk,
//!    i < after]`, applied to `[Dv ; v]`: the chunk's own pairs are used raw.
//! 2. **Grow.** The number of rows after t writes is a function of t alone ([`Growth`]); the m rows that the chunk adds are
//!    founded by those m of its tokens whose largest similarity to the centroids of stage 1 is smallest, in ascending
//!    order of it, each with its own key and value. In the first chunk the first token founds row 0 and the similarity is
//!    to its key.
//! 3. **Update.** Every other token goes to its nearest centroid *of stage 1*: `c_j += members`,
//!    `Dk_j += (members / c_j) (mean of the members' keys - Dk_j)`, the same for Dv. That is the running mean.
//!
//! The ablations of the founding are in `founding.rs`. Equal scores: the lower index wins. The rate of a constant-rate run replaces `members / c_j`, but for rows just founded.

pub(super) mod attend;
pub mod counting;
mod cpu;
pub(super) mod effective;
mod founding;
mod gpu;
mod growth;
mod hand;
mod kernels;
mod replay;
pub(super) mod rows;
pub(super) mod runner;
mod share;
pub(super) mod state;
mod trace;

use std::sync::Arc;

use crate::gpu::GpuStream;
use crate::layer::effective::{Effective, ReadOf};
use crate::layer::handed::handed;
use crate::layer::replay::DictionaryAt;
use crate::layer::{Cost, Derived, Layer, LayerError, LayerKind, Precision, Setup};
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::session::hand::{Act, Hand};
use crate::trace::{ChannelSpec, LaneTrace};

pub use counting::Counting;
use founding::Founding;
pub use growth::Growth;

/// The kind `ovq`.
#[derive(Debug, Clone, Copy)]
pub struct OvqKind;

/// Writes that a stream may have here, T.
const MAX_WRITES: usize = 131_072;
/// Numbers that a key or a value may have here, dk and dv.
const MAX_DIM: usize = 256;

static PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "n_max",
        title: "centroids N",
        doc: "Room in the dictionary: the most centroids it can ever hold. Memory and time of a read grow with it.",
        kind: ParamKind::Int { min: 1, max: 16_384, default: 512, log: true },
    },
    ParamSpec {
        name: "chunk",
        title: "chunk C",
        doc: "Writes that enter the dictionary together. Until then they are attended to as they are.",
        kind: ParamKind::Int { min: 1, max: 1024, default: 64, log: true },
    },
    ParamSpec {
        name: "beta",
        title: "logit scale",
        doc: "What dot products are multiplied with before the softmax. Left alone: the stream's own.",
        kind: ParamKind::AutoFloat { min: 1e-3, max: 1e4, auto: "the stream", log: true },
    },
    ParamSpec {
        name: "growth",
        title: "growth",
        doc: "How many rows are in use after t of T writes.",
        kind: ParamKind::Choice {
            options: &[
                ("plateau", "t N / (t + N): fast at first, never quite N (the paper's)"),
                ("saturating", "min(t, N): every write founds a row until N are in use"),
                ("linear", "t N / T: reaches N at the end of the stream"),
            ],
        },
    },
    ParamSpec {
        name: "founding",
        title: "founding",
        doc: "Which tokens of a chunk found the new rows.",
        kind: ParamKind::Choice {
            options: &[
                ("spread", "those least similar to every centroid (the paper's spread-maximising choice)"),
                ("random", "seeded, whatever their similarity"),
                ("farthest-point", "one after the other, each the least similar to every centroid and to the founders before it"),
            ],
        },
    },
    ParamSpec {
        name: "seed",
        title: "seed",
        doc: "Draws the founders where founding is random. Left alone: the session's.",
        kind: ParamKind::Int { min: 0, max: i64::MAX, default: 0, log: false },
    },
    ParamSpec {
        name: "rate",
        title: "learning rate",
        doc: "How far a centroid moves towards the mean of the chunk's tokens assigned to it.",
        kind: ParamKind::Choice {
            options: &[
                ("adaptive", "members / count: the running mean (the paper's)"),
                ("constant", "the constant rate below, whatever the count"),
            ],
        },
    },
    ParamSpec {
        name: "constant_rate",
        title: "constant rate",
        doc: "The rate used when the learning rate is constant. Rows just founded start at their members' mean all the same.",
        kind: ParamKind::Float { min: 0.0, max: 1.0, default: 0.2, log: false },
    },
    ParamSpec {
        name: "normalise_centroids",
        title: "unit centroids",
        doc: "Scales every key centroid back to length 1 after an update (an ablation; the paper does not).",
        kind: ParamKind::Bool { default: false },
    },
    ParamSpec {
        name: "count_bias",
        title: "count bias",
        doc: "Adds log count to a centroid's logit, so that it weighs as much as its members would (off is an ablation).",
        kind: ParamKind::Bool { default: true },
    },
    ParamSpec {
        name: "counts",
        title: "counts in",
        doc: "The kind of number that counts are kept in. Half floats are a trap: from 2048 on they cannot count one by one.",
        kind: ParamKind::Choice {
            options: &[
                ("float32", "exact up to 16 777 216 (also where they are whole numbers)"),
                ("float16", "every chunk's sum is rounded to a half float: a row that gets one write a chunk stalls at 2048 (an ablation)"),
            ],
        },
    },
];

/// The parameters, and what follows from them and the stream's length alone.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) chunk: usize,
    beta: f64,
    founding: Founding,
    /// The rows' keys are given and never move, and a chunk's own writes are attended to under them (VQ attention).
    fixed: bool,
    /// `None` is the adaptive rate.
    constant_rate: Option<f64>,
    normalise_centroids: bool,
    count_bias: bool,
    counting: Counting,
    /// Rows in use after each chunk, [chunks + 1], see [`Growth::sizes`].
    pub(super) sizes: Vec<usize>,
    /// What is done by hand: rows that are moved, and rows that are dead.
    hands: Arc<[Hand]>,
}

impl Config {
    fn new(setup: &Setup) -> Self {
        let p = &setup.params;
        Self {
            chunk: setup.chunk,
            beta: setup.beta(),
            founding: Founding::of(p),
            fixed: false,
            constant_rate: (p.choice("rate") == "constant").then(|| p.float("constant_rate")),
            normalise_centroids: p.flag("normalise_centroids"),
            count_bias: p.flag("count_bias"),
            counting: Counting::of(p),
            sizes: sizes(setup),
            hands: Arc::clone(&setup.hands),
        }
    }
}

impl Config {
    /// For VQ attention with `codes` codes.
    pub(super) fn fixed(setup: &Setup, codes: usize) -> Self {
        Self {
            chunk: setup.chunk,
            beta: setup.beta(),
            founding: Founding::Spread,
            fixed: true,
            constant_rate: None,
            normalise_centroids: false,
            count_bias: true,
            counting: Counting::Exact,
            sizes: vec![codes; setup.stream.chunks(setup.chunk) + 1],
            hands: Arc::default(),
        }
    }

    /// True if a row may be dead: in use, with a count of 0.
    fn may_have_dead_rows(&self) -> bool {
        self.hands.iter().any(|h| matches!(h.what, Act::Delete { .. }))
    }
}

/// Rows in use after each chunk, a leading 0 first.
fn sizes(setup: &Setup) -> Vec<usize> {
    growth(&setup.params).sizes(setup.params.size("n_max"), setup.chunk, setup.stream.writes())
}

fn growth(params: &Resolved) -> Growth {
    match params.choice("growth") {
        "saturating" => Growth::Saturating,
        "linear" => Growth::Linear,
        _ => Growth::Plateau,
    }
}

impl LayerKind for OvqKind {
    fn name(&self) -> &'static str {
        "ovq"
    }

    fn title(&self) -> &'static str {
        "OVQ"
    }

    fn about(&self) -> &'static str {
        "Online vector-quantised attention: keeps a dictionary of key and value centroids with counts. Each chunk founds rows at its \
         least familiar tokens and moves the nearest centroids towards the others; reads attend to centroids, weighted by count, and to \
         the newest chunk as it is. What it forgets: the difference between tokens that share a centroid. \
         Alonso, Figliolia, Millidge, arXiv 2602.03922."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn applies(&self, name: &str, params: &Resolved) -> bool {
        match name {
            "constant_rate" => params.choice("rate") == "constant",
            "seed" => params.choice("founding") == "random",
            _ => true,
        }
    }

    fn wants_unit_vectors(&self) -> bool {
        true
    }

    fn chunk(&self, params: &Resolved) -> Option<usize> {
        Some(params.size("chunk"))
    }

    fn check(&self, setup: &Setup) -> Result<(), ParamError> {
        let s = &setup.stream;
        let limits = [
            ("stream's T (writes)", s.writes(), MAX_WRITES),
            ("stream's dk", s.key_dim(), MAX_DIM),
            ("stream's dv", s.value_dim(), MAX_DIM),
        ];
        match limits.into_iter().find(|(_, value, max)| value > max) {
            None => Ok(()),
            Some((name, value, max)) => Err(ParamError::Range {
                owner: setup.params.owner().to_owned(),
                name: name.to_owned(),
                value: value.to_string(),
                min: "1".to_owned(),
                max: max.to_string(),
            }),
        }
    }

    fn check_hand(&self, setup: &Setup, hand: &Hand) -> Result<(), String> {
        hand::check(setup, hand)
    }

    fn channels(&self, setup: &Setup) -> Vec<ChannelSpec> {
        trace::channels(setup.stream.value_dim())
    }

    fn cost(&self, setup: &Setup) -> Cost {
        let (dk, dv) = (setup.stream.key_dim() as u64, setup.stream.value_dim() as u64);
        let (n_max, chunk) = (setup.params.size("n_max") as u64, setup.chunk as u64);
        let n = sizes(setup).last().copied().unwrap_or(0) as u64;
        // After each founder, every token of its chunk is held against it.
        let farthest = setup.params.choice("founding") == "farthest-point";
        let founding = if farthest { n * chunk * dk / setup.stream.writes() as u64 } else { 0 };
        Cost {
            state_numbers: n_max * (dk + dv + 1) + chunk * (dk + dv),
            // Similarity to every centroid, then one row moved.
            write_madds: n * dk + dk + dv + founding,
            // Logits and values of every centroid and of the chunk's own pairs that the read sees: half a chunk, on average.
            read_madds: (n + chunk.min(setup.stream.writes() as u64).div_ceil(2)) * (dk + dv),
        }
    }

    fn derived(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize) -> Vec<Derived> {
        trace::derived(setup, trace, kv_head)
    }

    fn effective(&self, setup: &Setup, trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
        effective::effective(setup, &Config::new(setup), trace, read)
    }

    fn replay_dictionary(&self, setup: &Setup, trace: &LaneTrace, kv_head: usize, visit: &mut dyn FnMut(DictionaryAt<'_>) -> bool) -> bool {
        replay::replay(setup, &Config::new(setup), trace, kv_head, visit)
    }

    fn cpu(&self, setup: &Setup, precision: Precision) -> Result<Box<dyn Layer>, LayerError> {
        let layer: Box<dyn Layer> = match precision {
            Precision::Single => Box::new(cpu::OvqCpu::<f32>::new(setup)),
            Precision::Double => Box::new(cpu::OvqCpu::<f64>::new(setup)),
        };
        Ok(handed(layer, setup, hand::lay))
    }

    fn gpu(&self, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Box<dyn Layer>, LayerError> {
        Ok(handed(Box::new(gpu::OvqGpu::new(setup, stream)?), setup, hand::lay))
    }
}
