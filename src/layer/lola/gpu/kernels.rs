//! `LoLA`'s kernels and buffers: sizes, constants, and the parameters of a step, which WGSL gets from the Rust struct itself.

use std::sync::Arc;

use ndarray::{Array2, Array3};

use crate::gpu::{Bound, Constant, Gpu, GpuError, GpuStream, INDEX, KernelSpec, NUMBERS};
use crate::layer::feature::gpu::{BoundFeatures, GpuFeatures, Rows};
use crate::layer::feature::{self, Map};
use crate::layer::lola::NAME;
use crate::layer::lola::config::{Config, Score};
use crate::layer::lola::score::{self, MOST_LOGIT};
use crate::layer::real::EPSILON;
use crate::layer::{LayerError, Setup};

/// Threads of the kernels that work on four rows at a time.
const GROUP: usize = 64;
/// Threads of the one workgroup a head that splits the candidates.
const WIDE: usize = 256;
/// Queries of one dispatch of `kernel` or `attend`: a thread each.
pub(super) const QUERIES: usize = GROUP;
/// Rows of four that one workgroup takes.
pub(super) const TILE: usize = 4;
/// Side of the tile of H that one workgroup of `fold` owns.
const SIDE: usize = 16;
/// The bits that a pair kept by hand has for a score where it is ranked: above those of every number that is not negative.
pub(super) const FIRST: u32 = 0xff80_0000;
/// Numbers in a step's record before its lists: the scores at the cut, and how many stayed.
pub(super) const RECORD_LISTS: usize = 3;

/// A `#[repr(C)]` struct of parameters and the WGSL that declares its twin.
macro_rules! parameters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ident,)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub(super) struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $name {
            /// The same struct in WGSL, and the variable `step` that holds it.
            const WGSL: &str = concat!("struct Step {\n", $("    ", stringify!($field), ": ", stringify!($type), ",\n",)* "}\nvar<immediate> step: Step;\n");
        }
    };
}

parameters! {
    /// The parameters of every dispatch of one step.
    StepParameters {
        /// T.
        writes: u32,
        /// R.
        reads: u32,
        /// The oldest raw write.
        raw_start: u32,
        /// Pairs in the cache before the update.
        cached: u32,
        /// Candidates.
        candidates: u32,
        /// Of these, kept.
        kept: u32,
        /// Of these, folded.
        folded: u32,
        /// The size of the cache.
        cache: u32,
        /// Room for candidates, a head.
        candidate_stride: u32,
        /// Room for folded pairs, a head.
        fold_stride: u32,
        /// The chunk's first read.
        first_read: u32,
        /// The chunk's reads.
        read_count: u32,
        /// The first read's place in the block.
        read_at: u32,
        /// Reads of the block.
        block_reads: u32,
        /// Tiles of reads that earlier dispatches of this chunk took.
        tile_at: u32,
        /// Where this step's record begins.
        record_at: u32,
        /// The length of one head's record.
        record_stride: u32,
        /// Room for admitted, and for displaced ids.
        events: u32,
        /// The first candidate whose score is recorded.
        recorded_from: u32,
        /// 0 while nothing was folded.
        has_state: u32,
        /// Raw pairs.
        raw_count: u32,
        /// The first of the queries that this dispatch scores or counts by.
        query_at: u32,
        /// How many they are, at most [`QUERIES`].
        query_count: u32,
        /// Whose they are: the query head, counted within its group.
        member: u32,
        /// 1 for the first of an update's dispatches.
        fresh: u32,
        /// The part of one query in a mean over the chunk's.
        share: f32,
        /// The logit scale.
        beta: f32,
        /// sqrt(beta), the factor of taylor2's first order and of FAVOR+'s logits.
        first_order: f32,
        /// beta / sqrt(2), the factor of taylor2's second order.
        second_order: f32,
        /// W of Hedgehog without weights.
        sharpness: f32,
        /// sqrt(m) of FAVOR+.
        feature_scale: f32,
    }
}

/// The sizes that everything on the device follows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub dk: usize,
    pub dv: usize,
    /// D.
    pub features: usize,
    pub map: Map,
    pub heads: usize,
    pub query_heads: usize,
    /// Room for candidates, a head.
    pub candidates: usize,
    /// Room for folded pairs, a head.
    pub folded: usize,
    /// The most pairs, raw and cached, that one read sees.
    pub pairs: usize,
}

/// The feature map's numbers: W [heads, dk, E] or FAVOR+'s directions transposed [1, dk, m], if it has any.
struct Weights {
    keys: wgpu::Buffer,
    /// After the map's numbers w of each query head: one binding fewer, of which adapters promise only eight.
    queries: wgpu::Buffer,
    key_heads: usize,
    query_heads: usize,
    /// Where w begins in `queries`.
    linear_at: usize,
    columns: usize,
    weighted: bool,
}

/// What stays on the device.
#[derive(Debug)]
pub(super) struct Buffers {
    /// For each head H [D, dv], then s [D].
    pub state: wgpu::Buffer,
    /// Ids in the cache [heads, cache].
    pub cached: wgpu::Buffer,
    /// Outputs and shares of a block.
    pub answers: wgpu::Buffer,
    /// What a block's updates record.
    pub record: wgpu::Buffer,
    /// What each write is scored by [heads, T], where that is drawn once or is the attention received so far.
    pub given: wgpu::Buffer,
    /// Which writes hands keep [heads, T], where there are hands.
    pub kept: wgpu::Buffer,
}

/// The kernels, bound to their buffers.
#[derive(Debug)]
pub(super) struct Kernels {
    pub read: Bound,
    pub score: Bound,
    pub rank: Bound,
    /// Only where there are hands.
    pub favour: Option<Bound>,
    pub compact: Bound,
    pub features: Bound,
    pub fold: Bound,
    /// Only where the score is the attention received.
    pub attend: Option<Bound>,
    /// Only where the score is the kernel's error.
    pub kernel: Option<Bound>,
    /// The features of the queries that `kernel` scores by; `taylor2` needs none.
    pub queries: Option<BoundFeatures>,
}

impl Shape {
    pub(super) fn new(config: &Config, setup: &Setup) -> Result<Self, LayerError> {
        let stream = &setup.stream;
        let steps = || (0..config.steps()).map(|s| config.step(s));
        Ok(Self {
            dk: stream.key_dim(),
            dv: stream.value_dim(),
            features: feature::feature_dim(NAME, setup)?,
            map: Map::of(setup),
            heads: stream.kv_heads(),
            query_heads: stream.query_heads(),
            candidates: steps().map(|s| s.candidates).max().unwrap_or(0),
            folded: steps().map(|s| s.folded).max().unwrap_or(0),
            pairs: steps().map(|s| s.raw.len() + s.cached).max().unwrap_or(0),
        })
    }

    /// Numbers of state a head: H and s.
    pub(super) fn state_numbers(&self) -> usize {
        self.features * (self.dv + 1)
    }

    /// Workgroups of `fold` over H.
    pub(super) fn fold_groups(&self) -> [u32; 3] {
        [self.dv.div_ceil(SIDE) as u32, self.features.div_ceil(SIDE) as u32, self.heads as u32]
    }

    /// Workgroups of `rank`.
    pub(super) fn rank_groups(&self, candidates: usize) -> [u32; 3] {
        [candidates.div_ceil(GROUP) as u32, self.heads as u32, 1]
    }

    /// Workgroups of `attend`.
    pub(super) fn pair_groups(&self, pairs: usize) -> [u32; 3] {
        [pairs.div_ceil(GROUP) as u32, self.heads as u32, 1]
    }

    /// Workgroups of a kernel that takes [`TILE`] rows of every head.
    pub(super) fn row_groups(&self, rows: usize) -> [u32; 3] {
        [rows.div_ceil(TILE) as u32, self.heads as u32, 1]
    }

    fn constants(&self, config: &Config, weights: &Weights, weight_heads: usize) -> Vec<(&'static str, Constant)> {
        let columns = self.dv.next_power_of_two().min(GROUP);
        vec![
            ("GROUP", GROUP.into()),
            ("WIDE", WIDE.into()),
            ("DK", self.dk.into()),
            ("DV", self.dv.into()),
            ("D", self.features.into()),
            ("E", weights.columns.into()),
            ("LOGITS", if self.map == Map::Hedgehog { weights.columns } else { 1 }.into()),
            ("MAP", (self.map as usize).into()),
            ("WEIGHTED", Constant::Bool(weights.weighted)),
            ("WEIGHT_HEADS", weight_heads.into()),
            ("LINEAR_AT", weights.linear_at.into()),
            ("HEADS", self.heads.into()),
            ("QUERY_HEADS", self.query_heads.into()),
            ("PARTS", (GROUP / columns).into()),
            ("SLOTS", self.dv.div_ceil(columns).into()),
            ("FIFO", Constant::Bool(config.score == Score::Fifo)),
            ("GIVEN", Constant::Bool(matches!(config.score, Score::Random | Score::Attention))),
            ("ATTENTION", Constant::Bool(config.score == Score::Attention)),
            ("MOST_LOGIT", Constant::F32(MOST_LOGIT as f32)),
            ("FIRST", Constant::U32(FIRST)),
            ("EPSILON", Constant::F32(EPSILON as f32)),
            ("RECORD_KEPT", 0.into()),
            ("RECORD_FOLDED", 1.into()),
            ("RECORD_STAYED", 2.into()),
            ("RECORD_LISTS", RECORD_LISTS.into()),
        ]
    }
}

impl Weights {
    fn upload(gpu: &Gpu, setup: &Setup, shape: &Shape) -> Result<Self, LayerError> {
        let whole = |a: &Array3<f32>| a.iter().copied().collect::<Vec<_>>();
        let linear: Vec<f32> = Config::linear_weights(setup)?.into_iter().map(|w| w as f32).collect();
        let build = |name, [keys, queries]: [Vec<f32>; 2], heads: [usize; 2], columns| -> Result<Self, LayerError> {
            let (weighted, linear_at) = (!queries.is_empty(), queries.len());
            let keys = if weighted { gpu.upload(name, &keys)? } else { gpu.zeroed("no weights", 1)? };
            let queries = gpu.upload(name, &[queries, linear].concat())?;
            Ok(Self { keys, queries, key_heads: heads[0], query_heads: heads[1], linear_at, columns, weighted })
        };
        match shape.map {
            Map::Hedgehog => match feature::weights(NAME, setup)? {
                Some([q, k]) => build("the weights of Hedgehog", [whole(&k), whole(&q)], [k.dim().0, q.dim().0], k.dim().2),
                None => build("no weights", [Vec::new(), Vec::new()], [1, 1], shape.dk),
            },
            Map::Favor => {
                let projection: Array2<f32> = feature::projection(NAME, setup)?;
                // Neighbouring threads make neighbouring features: the directions side by side.
                let directions: Vec<f32> = projection.t().iter().copied().collect();
                build("the projection of FAVOR+", [directions.clone(), directions], [1, 1], projection.nrows())
            }
            _ => build("no weights", [Vec::new(), Vec::new()], [1, 1], 1),
        }
    }
}

/// Makes the buffers and compiles the kernels. `answers` and `record` are the numbers that a block may need.
pub(super) fn build(
    stream: &Arc<GpuStream>,
    setup: &Setup,
    config: &Config,
    shape: &Shape,
    answers: usize,
    record: usize,
) -> Result<(Buffers, Kernels), LayerError> {
    let gpu = &stream.gpu;
    let weights = Weights::upload(gpu, setup, shape)?;
    check_workgroup(gpu, shape, &weights)?;
    check_loops(gpu, shape, &weights, config.score)?;
    let by_hand = !setup.hands.is_empty();
    let buffers = Buffers {
        state: gpu.zeroed("LoLA's linear state", shape.heads * shape.state_numbers())?,
        cached: gpu.zeroed("LoLA's cache", shape.heads * config.cache)?,
        answers: gpu.zeroed("the outputs of a block of LoLA", answers)?,
        record: gpu.zeroed("the trace of a block of LoLA", record)?,
        given: given(gpu, setup, config, shape)?,
        kept: gpu.zeroed("what hands keep in LoLA's cache", if by_hand { shape.heads * config.writes } else { 1 })?,
    };
    let scores = gpu.zeroed("LoLA's scores", shape.heads * shape.candidates)?;
    let ranks = gpu.zeroed("LoLA's ranks", shape.heads * shape.candidates)?;
    let folded = gpu.zeroed("LoLA's folded ids", shape.heads * shape.folded)?;
    let held = if shape.map == Map::Taylor2 { 0 } else { shape.features };
    let features = gpu.zeroed("the features of LoLA's folded keys", shape.heads * shape.folded * held)?;
    let made = config.score == Score::Kernel && shape.map != Map::Taylor2;
    let query_features =
        gpu.zeroed("the features of LoLA's queries", if made { shape.query_heads * QUERIES * shape.features } else { 0 })?;
    let kernel = |name: &str, weight_heads: usize, source: &[&str], buffers: &[&wgpu::Buffer]| {
        let parts: Vec<&str> = [INDEX, NUMBERS, StepParameters::WGSL].iter().chain(source).copied().collect();
        let spec = KernelSpec { name, source: &parts, constants: &shape.constants(config, &weights, weight_heads) };
        gpu.kernel(&spec)?.bind(gpu, buffers)
    };
    let (q, k) = (weights.query_heads, weights.key_heads);
    let b = &buffers;
    let kernels = Kernels {
        read: kernel(
            "lola/read",
            q,
            &[REDUCE, PHI, RECALL, READ],
            &[&stream.keys, &stream.values, &stream.queries, &stream.after, &b.cached, &b.state, &weights.queries, &b.answers],
        )?,
        score: kernel(
            "lola/score",
            k,
            &[REDUCE, PHI, RECALL, SCORE],
            &[&stream.keys, &stream.values, &b.cached, &b.state, &weights.keys, &scores, &b.record, &b.given],
        )?,
        rank: kernel("lola/rank", k, &[RANK], &[&scores, &ranks, &b.record])?,
        favour: if by_hand { Some(kernel("lola/favour", k, &[FAVOUR], &[&b.cached, &b.kept, &scores])?) } else { None },
        compact: kernel("lola/compact", k, &[COMPACT], &[&ranks, &b.cached, &folded, &b.record])?,
        features: kernel("lola/features", k, &[REDUCE, PHI, FEATURES], &[&stream.keys, &folded, &weights.keys, &features])?,
        fold: kernel("lola/fold", k, &[FOLD], &[&stream.keys, &stream.values, &folded, &features, &b.state])?,
        attend: match config.score {
            Score::Attention => {
                let silent = silent(gpu, setup)?;
                let buffers = [&stream.keys, &stream.queries, &stream.after, &silent, &b.cached, &b.answers, &b.given];
                Some(kernel("lola/attend", k, &[ATTEND], &buffers)?)
            }
            _ => None,
        },
        kernel: match config.score {
            Score::Kernel => {
                let silent = silent(gpu, setup)?;
                let buffers = [&stream.keys, &b.cached, &weights.keys, &stream.queries, &query_features, &silent, &scores, &b.record];
                Some(kernel("lola/kernel", k, &[REDUCE, PHI, KERNEL], &buffers)?)
            }
            _ => None,
        },
        queries: match config.score {
            Score::Kernel if shape.map != Map::Taylor2 => {
                let (heads, reads) = (shape.query_heads, setup.stream.reads());
                let map = GpuFeatures::new(NAME, setup, gpu)?;
                Some(map.bind(gpu, Rows::Queries, &stream.queries, heads, reads, &query_features)?)
            }
            _ => None,
        },
    };
    Ok((buffers, kernels))
}

/// What each write is scored by, as far as that is known beforehand.
fn given(gpu: &Gpu, setup: &Setup, config: &Config, shape: &Shape) -> Result<wgpu::Buffer, GpuError> {
    let numbers = shape.heads * config.writes;
    match config.score {
        Score::Random => {
            gpu.upload("LoLA's random scores", &score::random(setup.params.int("seed").unsigned_abs(), shape.heads, config.writes))
        }
        Score::Attention => gpu.zeroed("the attention that LoLA's pairs received", numbers),
        Score::Sre | Score::Fifo | Score::Kernel => gpu.zeroed("no scores", 1),
    }
}

/// For each read 1 if it only looks.
fn silent(gpu: &Gpu, setup: &Setup) -> Result<wgpu::Buffer, GpuError> {
    let flags: Vec<u32> = (0..setup.stream.reads()).map(|r| u32::from(setup.stream.is_silent(r))).collect();
    gpu.upload("which reads only look", &flags)
}

/// The largest kernel holds four rows, Hedgehog's logits, and two arrays of one entry a thread, four numbers each.
fn check_workgroup(gpu: &Gpu, shape: &Shape, weights: &Weights) -> Result<(), GpuError> {
    let logits = if shape.map == Map::Hedgehog { weights.columns } else { 1 };
    let needed = (shape.dk + logits + 2 * GROUP) * 16 + GROUP * 4;
    if needed <= gpu.workgroup_bytes() {
        return Ok(());
    }
    Err(GpuError::Limit {
        what: format!("LoLA with dk = {} and {logits} columns of Hedgehog weights", shape.dk),
        needed: needed as u64,
        limit: gpu.workgroup_bytes() as u64,
        unit: "bytes of workgroup storage",
        adapter: gpu.adapter().title(),
    })
}

/// A read walks over all its pairs, and over all features: on software adapters that may be too far.
fn check_loops(gpu: &Arc<Gpu>, shape: &Shape, weights: &Weights, score: Score) -> Result<(), GpuError> {
    let products = if weights.weighted { weights.columns } else { 0 };
    let (pairs, linear) = loops(shape, products);
    let by_queries = match score {
        Score::Attention => QUERIES * (shape.dk + 1),
        Score::Kernel if shape.map != Map::Taylor2 => {
            shape.features + shape.features.div_ceil(GROUP) * 2 + products.div_ceil(GROUP) * shape.dk + 2 * shape.dk + 4 * GROUP
        }
        Score::Kernel | Score::Sre | Score::Fifo | Score::Random => 0,
    };
    gpu.check_loops(&format!("LoLA's scores of {} features", shape.features), by_queries)?;
    gpu.check_loops(&format!("LoLA's read of {} pairs and {} features", shape.pairs, shape.features), pairs + linear)
}

/// At most so many iterations does a thread of `read` run over the pairs, and over the features of which `products` are
/// products with a matrix; `score` runs the latter.
fn loops(shape: &Shape, products: usize) -> (usize, usize) {
    let columns = shape.dv.next_power_of_two().min(GROUP);
    let reduce = GROUP.ilog2() as usize;
    // The values of one tile of pairs, or rows of H, and the tile itself.
    let tile = 1 + shape.dv.div_ceil(columns) * (1 + columns);
    let pairs = shape.pairs.div_ceil(GROUP) * (tile + shape.dk + reduce);
    let features = shape.features.div_ceil(GROUP) * tile + products.div_ceil(GROUP) * (2 + shape.dk);
    // Loading the vectors, and what happens once: four sums, parts of columns, four rows of answers.
    (pairs, features + shape.dk.div_ceil(GROUP) + 4 * reduce + shape.dv.div_ceil(columns) * (GROUP / columns + 8))
}

const REDUCE: &str = include_str!("../../../../shaders/lola/reduce.wgsl");
const PHI: &str = include_str!("../../../../shaders/lola/phi.wgsl");
const RECALL: &str = include_str!("../../../../shaders/lola/recall.wgsl");
const READ: &str = include_str!("../../../../shaders/lola/read.wgsl");
const ATTEND: &str = include_str!("../../../../shaders/lola/attend.wgsl");
const KERNEL: &str = include_str!("../../../../shaders/lola/kernel.wgsl");
const SCORE: &str = include_str!("../../../../shaders/lola/score.wgsl");
const FAVOUR: &str = include_str!("../../../../shaders/lola/favour.wgsl");
const RANK: &str = include_str!("../../../../shaders/lola/rank.wgsl");
const COMPACT: &str = include_str!("../../../../shaders/lola/compact.wgsl");
const FEATURES: &str = include_str!("../../../../shaders/lola/features.wgsl");
const FOLD: &str = include_str!("../../../../shaders/lola/fold.wgsl");
