//! OVQ's buffers and kernels on the GPU, made for the sizes of one run.

use super::share::{BLOCK, Share, THREADS};
use super::state::log_count;
use super::{Config, Counting, Founding};
use crate::gpu::{Bound, Constant, Gpu, GpuError, GpuStream, INDEX, Kernel, KernelSpec, NUMBERS};
use crate::stream::Stream;

/// Threads of a workgroup of `learn`.
const LEARN: usize = 128;

const STEP: &str = include_str!("../../../shaders/ovq/step.wgsl");
const HALF: &str = include_str!("../../../shaders/ovq/half.wgsl");
const NEARER: &str = include_str!("../../../shaders/ovq/nearer.wgsl");

/// The state and what a run writes.
#[derive(Debug)]
pub(in crate::layer) struct Buffers {
    /// f32 [heads, capacity, 4 dk4].
    pub(in crate::layer) dict_k: wgpu::Buffer,
    /// f32 [heads, capacity, 4 dv4].
    pub(in crate::layer) dict_v: wgpu::Buffer,
    /// u32 [heads, capacity].
    pub(in crate::layer) counts: wgpu::Buffer,
    /// f32 [heads, capacity].
    pub(in crate::layer) log_counts: wgpu::Buffer,
    /// f32 [T + 1] (of half floats, all there are): the logarithm of every count there can be, so that it has the same bits everywhere.
    pub(super) logs: wgpu::Buffer,
    /// f32 [query heads, window, dv].
    pub(super) outputs: wgpu::Buffer,
    /// u32 [heads, T].
    pub(super) assignments: wgpu::Buffer,
    /// f32 [heads, T].
    pub(super) similarity: wgpu::Buffer,
    /// f32 [heads, T].
    pub(super) margin: wgpu::Buffer,
    /// f32 [heads, chunks].
    pub(super) select_margin: wgpu::Buffer,
}

impl Buffers {
    pub(super) fn new(stream: &GpuStream, config: &Config, share: &Share) -> Result<Self, GpuError> {
        let (gpu, s) = (&stream.gpu, &stream.stream);
        let (rows, t, chunks) = (share.heads * share.capacity, s.writes(), config.sizes.len() - 1);
        let logs: Vec<f32> = (0..=config.counting.largest(t)).map(log_count).collect();
        Ok(Self {
            dict_k: gpu.zeroed("OVQ's key dictionary", rows * share.dk4 * 4)?,
            dict_v: gpu.zeroed("OVQ's value dictionary", rows * share.dv4 * 4)?,
            counts: gpu.zeroed("OVQ's counts", rows)?,
            // Of a row that holds nothing: so small that it has no weight. OVQ looks at rows in use alone.
            log_counts: gpu.filled("OVQ's log counts", rows, f32::MIN)?,
            logs: gpu.upload("OVQ's table of logarithms", &logs)?,
            outputs: gpu.zeroed("OVQ's outputs", share.query_heads * share.window * s.value_dim())?,
            assignments: gpu.zeroed("OVQ's assignments", share.heads * t)?,
            similarity: gpu.zeroed("OVQ's similarities", share.heads * t)?,
            margin: gpu.zeroed("OVQ's margins", share.heads * t)?,
            select_margin: gpu.zeroed("OVQ's founding margins", share.heads * chunks)?,
        })
    }
}

/// The kernels, compiled for the run's sizes and bound.
#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) look: Bound,
    pub(super) settle: Bound,
    /// For farthest-point founding alone.
    pub(super) farthest: Option<Bound>,
    pub(super) learn: Bound,
}

/// Constants that stand in front of every kernel.
type Constants = Vec<(&'static str, Constant)>;

impl Kernels {
    pub(super) fn new(stream: &GpuStream, config: &Config, share: &Share, b: &Buffers) -> Result<Self, GpuError> {
        let gpu = &stream.gpu;
        let token_stats = share.heads * config.chunk * share.token_splits;
        let answers = share.query_heads * share.pass * share.read_splits;
        let stats = gpu.zeroed("OVQ's partial results", (token_stats + answers) * 4)?;
        let sums = gpu.zeroed("OVQ's partial sums", answers * share.dv4 * 4)?;
        let aligned = stream.stream.key_dim().is_multiple_of(4) && stream.stream.value_dim().is_multiple_of(4);
        let sizes = sizes(&stream.stream, config, share, token_stats);
        let look = look(gpu, config, share, &sizes, aligned)?;
        let settle = settle(gpu, config, share, &sizes)?;
        let learn = learn(gpu, config, &sizes)?;
        let s = stream;
        let mut seen = vec![&s.keys, &s.values, &s.queries, &s.after, &b.dict_k, &b.dict_v, &b.log_counts, &stats, &sums];
        if config.fixed {
            seen.push(&b.assignments);
        }
        let farthest = match config.founding {
            Founding::FarthestPoint => {
                let best = gpu.zeroed("OVQ's similarities to founders", share.heads * config.chunk)?;
                let bound = [&s.keys, &b.similarity, &best, &b.assignments, &b.select_margin];
                Some(farthest(gpu, &sizes)?.bind(gpu, &bound)?)
            }
            _ => None,
        };
        Ok(Self {
            look: look.bind(gpu, &seen)?,
            farthest,
            settle: settle.bind(gpu, &[&stats, &sums, &b.outputs, &b.assignments, &b.similarity, &b.margin, &b.select_margin])?,
            learn: learn.bind(gpu, &[&s.keys, &s.values, &b.assignments, &b.logs, &b.dict_k, &b.dict_v, &b.counts, &b.log_counts])?,
        })
    }
}

fn sizes(s: &Stream, config: &Config, share: &Share, token_stats: usize) -> Constants {
    vec![
        ("DK", s.key_dim().into()),
        ("DV", s.value_dim().into()),
        ("DK4", share.dk4.into()),
        ("DV4", share.dv4.into()),
        ("HEADS", share.heads.into()),
        ("QUERY_HEADS", share.query_heads.into()),
        ("QUERIES_EACH", (share.query_heads / share.heads).into()),
        ("WRITES", s.writes().into()),
        ("READS", s.reads().into()),
        ("CAPACITY", share.capacity.into()),
        ("CHUNK", config.chunk.into()),
        ("CHUNKS", (config.sizes.len() - 1).into()),
        ("PASS", share.pass.into()),
        ("WINDOW", share.window.into()),
        ("READ_STATS", token_stats.into()),
    ]
}

fn kernel(gpu: &Gpu, name: &str, source: &[&str], sizes: &Constants, more: &[(&'static str, Constant)]) -> Result<Kernel, GpuError> {
    gpu.kernel(&KernelSpec { name, source, constants: &[sizes, more].concat() })
}

fn look(gpu: &Gpu, config: &Config, share: &Share, sizes: &Constants, aligned: bool) -> Result<Kernel, GpuError> {
    let rows = if aligned { include_str!("../../../shaders/ovq/stream4.wgsl") } else { include_str!("../../../shaders/ovq/stream1.wgsl") };
    let own = if config.fixed { include_str!("../../../shaders/vq/coded.wgsl") } else { include_str!("../../../shaders/ovq/raw.wgsl") };
    let source = [INDEX, NUMBERS, STEP, NEARER, rows, own, include_str!("../../../shaders/ovq/look.wgsl")];
    let more = [
        ("BLOCK", BLOCK.into()),
        ("THREADS", THREADS.into()),
        ("W4", share.slice.into()),
        ("LEFT", share.left().into()),
        ("RIGHT", share.right().into()),
        ("BETA", Constant::F32(config.beta as f32)),
        ("COUNT_BIAS", Constant::Bool(config.count_bias)),
        ("DEAD_ROWS", Constant::Bool(config.may_have_dead_rows())),
    ];
    kernel(gpu, "ovq/look", &source, sizes, &more)
}

fn settle(gpu: &Gpu, config: &Config, share: &Share, sizes: &Constants) -> Result<Kernel, GpuError> {
    let priority = include_str!("../../../shaders/ovq/priority.wgsl");
    let source = [INDEX, NUMBERS, STEP, NEARER, priority, include_str!("../../../shaders/ovq/settle.wgsl")];
    let seed = if let Founding::Random(seed) = config.founding { seed } else { 0 };
    let more = [
        ("THREADS", share.settle.into()),
        ("SHARE", share.settle_parts.into()),
        ("RANDOM", Constant::Bool(matches!(config.founding, Founding::Random(_)))),
        ("FARTHEST", Constant::Bool(config.founding == Founding::FarthestPoint)),
        ("SEED_LOW", Constant::U32(seed as u32)),
        ("SEED_HIGH", Constant::U32((seed >> 32) as u32)),
    ];
    kernel(gpu, "ovq/settle", &source, sizes, &more)
}

fn farthest(gpu: &Gpu, sizes: &Constants) -> Result<Kernel, GpuError> {
    let source = [INDEX, NUMBERS, include_str!("../../../shaders/ovq/farthest.wgsl")];
    kernel(gpu, "ovq/farthest", &source, sizes, &[("THREADS", super::founding::THREADS.into())])
}

fn learn(gpu: &Gpu, config: &Config, sizes: &Constants) -> Result<Kernel, GpuError> {
    let source = [INDEX, HALF, include_str!("../../../shaders/ovq/learn.wgsl")];
    let more = [
        ("THREADS", LEARN.into()),
        ("CONSTANT", Constant::Bool(config.constant_rate.is_some())),
        ("CONSTANT_RATE", Constant::F32(config.constant_rate.unwrap_or(0.0) as f32)),
        ("NORMALISE", Constant::Bool(config.normalise_centroids)),
        ("FIXED", Constant::Bool(config.fixed)),
        ("HALF_COUNTS", Constant::Bool(config.counting == Counting::Half)),
    ];
    kernel(gpu, "ovq/learn", &source, sizes, &more)
}

#[cfg(test)]
mod tests {
    use super::super::counting::half;
    use super::*;
    use crate::gpu::testing::gpu_or_skip;

    /// Every count that a stream of the most writes (131 072) can bring about, and more.
    #[test]
    fn half_floats_are_the_same_numbers_on_the_gpu() {
        const COUNTS: usize = 1 << 18;
        let Some(gpu) = gpu_or_skip() else { return };
        let main = "
            @group(0) @binding(0) var<storage, read_write> halves: array<u32>;
            var<immediate> first: u32;
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
                let count = first + group.x * 64u + lane;
                halves[count] = half_of(count);
            }";
        let kernel = gpu.kernel(&KernelSpec { name: "ovq/half", source: &[HALF, main], constants: &[] }).unwrap();
        let halves = gpu.zeroed("half floats", COUNTS).unwrap();
        let bound = kernel.bind(&gpu, &[&halves]).unwrap();
        let mut batch = gpu.batch();
        batch.dispatch(&bound, &0_u32, [(COUNTS / 64) as u32, 1, 1]);
        let id = batch.read(&halves, 0..COUNTS);
        let found = batch.submit().unwrap().wait().unwrap().i32(&id);
        assert!((0..COUNTS as u32).all(|count| found[count as usize].unsigned_abs() == half(count)));
    }
}
