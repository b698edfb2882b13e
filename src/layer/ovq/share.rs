//! How a chunk's work is shared out over the GPU's workgroups, and the buffers which that takes: functions of the setup
//! and the adapter's limits alone, so that results do not depend on how many chunks a call advances.

use bytemuck::{Pod, Zeroable};

use super::Config;
use crate::gpu::{Gpu, GpuError};
use crate::stream::Stream;

/// Left rows (writes or reads) of a workgroup of `look`.
pub(super) const BLOCK: usize = 32;
/// Threads of a workgroup of `look`: 16 for every 4 left rows, as the kernel has it.
pub(super) const THREADS: usize = 128;
/// Dictionary rows of a tile, as in `look.wgsl`.
const ROWS: usize = 64;
/// Workgroups that a dispatch of `look` should have for each of its two parts, to keep a large GPU busy.
const WORKGROUPS: usize = 512;
/// The most splits of one dictionary.
const SPLITS: usize = 64;
/// Tiles that one workgroup goes over where there may be more workgroups: few enough for the loops of software adapters
/// (at most 1200 iterations a tile, see [`Gpu::loop_limit`]).
const TILES: usize = 32;
/// The most threads of `settle` that work on four numbers of one read.
const SETTLE_PARTS: usize = 16;
/// Bytes for the reads' partial sums, and for the outputs of one submission.
const ROOM: usize = 32 << 20;
/// Chunks of one submission: enough for its cost not to show, few enough for results to come while later ones run.
const CHUNKS: usize = 32;

/// Multiply-adds that the writes of one submission, and its reads, are each kept below where a single chunk or dispatch
/// allows it: drivers give up on submissions of some seconds, and a small GPU does this in one.
const WORK: usize = 1 << 37;

/// What `look` and `settle` are told of a chunk; the WGSL twin is `shaders/ovq/step.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
pub(in crate::layer) struct Step {
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) rows: u32,
    pub(super) founders: u32,
    pub(super) chunk: u32,
    pub(super) token_blocks: u32,
    pub(super) token_splits: u32,
    pub(super) token_tiles: u32,
    pub(super) read_start: u32,
    pub(super) read_count: u32,
    pub(super) read_blocks: u32,
    pub(super) read_splits: u32,
    pub(super) read_tiles: u32,
    pub(super) visible: u32,
    pub(super) window: u32,
}

/// Sizes that hold for a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::layer) struct Share {
    pub(in crate::layer) heads: usize,
    pub(in crate::layer) query_heads: usize,
    /// Vectors of four numbers in a key and in a value.
    pub(in crate::layer) dk4: usize,
    pub(in crate::layer) dv4: usize,
    /// Columns, in fours, that pass through workgroup memory at a time.
    pub(super) slice: usize,
    /// Threads of a workgroup of `settle`.
    pub(super) settle: usize,
    /// Of those, the threads that work on four numbers of one read.
    pub(super) settle_parts: usize,
    /// Rows of each head's dictionary.
    pub(in crate::layer) capacity: usize,
    /// The most splits of a block of writes, and of a block of reads.
    pub(super) token_splits: usize,
    pub(super) read_splits: usize,
    /// The most reads that one dispatch answers.
    pub(super) pass: usize,
    /// The most reads whose outputs one submission holds.
    pub(super) window: usize,
    /// The most chunks of one submission.
    pub(super) chunks: usize,
}

impl Share {
    /// Shares the work of `config` over `stream` out on `gpu`.
    ///
    /// # Errors
    /// If workgroups have too little memory here.
    pub(super) fn new(gpu: &Gpu, stream: &Stream, config: &Config) -> Result<Self, GpuError> {
        let (dk4, dv4) = (stream.key_dim().div_ceil(4), stream.value_dim().div_ceil(4));
        let bytes = gpu.workgroup_bytes();
        let limit = |needed: usize, what: &str, limit: usize, unit| GpuError::Limit {
            what: what.to_owned(),
            needed: needed as u64,
            limit: limit as u64,
            unit,
            adapter: gpu.adapter().title(),
        };
        let threads = gpu.limits().max_compute_invocations_per_workgroup as usize;
        if threads < 256 {
            return Err(limit(256, "kernel ovq/settle", threads, "threads in a workgroup"));
        }
        let slice = [16, 8, 4].into_iter().find(|&w| (w == 4 || w / 2 < dk4.max(dv4)) && look_bytes(w) <= bytes);
        let slice = slice.ok_or_else(|| limit(look_bytes(4), "kernel ovq/look", bytes, "bytes of workgroup storage"))?;
        let settle = if threads >= 512 && settle_bytes(512, config.chunk) <= bytes { 512 } else { 256 };
        if settle_bytes(settle, config.chunk) > bytes {
            return Err(limit(settle_bytes(settle, config.chunk), "kernel ovq/settle", bytes, "bytes of workgroup storage"));
        }
        let capacity = config.sizes.last().copied().unwrap_or(1).max(1);
        let (heads, query_heads) = (stream.kv_heads(), stream.query_heads());
        let tiles = capacity.div_ceil(ROWS);
        let token_splits = tiles.min(SPLITS);
        let read_splits = (tiles + config.chunk.div_ceil(ROWS)).min(SPLITS);
        let most_reads = (0..stream.chunks(config.chunk)).map(|c| stream.reads_within(stream.chunk_range(config.chunk, c)).len()).max();
        let most_reads = most_reads.unwrap_or(0).max(1).next_multiple_of(BLOCK);
        let fitting = |per_read: usize| (ROOM / per_read / BLOCK * BLOCK).max(BLOCK);
        let pass = fitting(query_heads * read_splits * dv4 * 16).min(most_reads);
        let of_chunk = config.chunk * heads * capacity * stream.key_dim();
        let of_read = query_heads * (capacity + config.chunk) * (stream.key_dim() + stream.value_dim());
        let window = fitting(query_heads * stream.value_dim() * 4).min(WORK / of_read / BLOCK * BLOCK);
        Ok(Self {
            heads,
            query_heads,
            dk4,
            dv4,
            slice,
            settle,
            settle_parts: (settle / dv4).min(SETTLE_PARTS),
            capacity,
            token_splits,
            read_splits,
            pass,
            window: window.min(CHUNKS * most_reads).max(pass),
            chunks: (WORK / of_chunk).clamp(1, CHUNKS),
        })
    }

    /// vec4 of workgroup memory for the left rows of `look`: also one a thread.
    pub(super) fn left(&self) -> usize {
        left(self.slice)
    }

    /// vec4 of workgroup memory for the right rows of `look`: also one a thread.
    pub(super) fn right(&self) -> usize {
        right(self.slice)
    }

    /// Fills in how `step`'s writes are shared out; its chunk is set.
    pub(super) fn tokens(&self, step: &mut Step) {
        let blocks = (step.length as usize).div_ceil(BLOCK);
        let tiles = (step.rows as usize).max(1).div_ceil(ROWS);
        let (splits, each) = split(tiles, self.heads * blocks, self.token_splits);
        (step.token_blocks, step.token_splits, step.token_tiles) = (blocks as u32, splits as u32, each as u32);
    }

    /// Fills in how `step`'s reads are shared out; its chunk, reads and visible writes are set.
    pub(super) fn reads(&self, step: &mut Step) {
        let blocks = (step.read_count as usize).div_ceil(BLOCK);
        let tiles = (step.rows as usize).div_ceil(ROWS) + (step.visible as usize).div_ceil(ROWS);
        let (splits, each) = split(tiles, self.query_heads * blocks, self.read_splits);
        (step.read_blocks, step.read_splits, step.read_tiles) = (blocks as u32, splits as u32, each as u32);
    }

    /// Workgroups of `look` for a step.
    pub(super) fn look_groups(&self, step: &Step) -> usize {
        self.heads * (step.token_blocks * step.token_splits) as usize + self.query_heads * (step.read_blocks * step.read_splits) as usize
    }

    /// Workgroups of `settle` for a step.
    pub(super) fn settle_groups(&self, step: &Step) -> usize {
        // As AT_ONCE in `settle.wgsl`.
        let at_once = self.settle / (self.dv4 * self.settle_parts);
        let heads = if step.token_blocks > 0 { self.heads } else { 0 };
        heads + self.query_heads * (step.read_count as usize).div_ceil(at_once)
    }
}

/// Splits of at most `most` of equally many of the `tiles` (the last one may have fewer), and the tiles of each.
fn split(tiles: usize, blocks: usize, most: usize) -> (usize, usize) {
    let wanted = WORKGROUPS.div_ceil(blocks.max(1)).max(tiles.div_ceil(TILES)).min(most).min(tiles).max(1);
    let each = tiles.div_ceil(wanted).max(1);
    (tiles.div_ceil(each).max(1), each)
}

fn left(slice: usize) -> usize {
    (BLOCK * (slice + 1)).max(THREADS)
}

fn right(slice: usize) -> usize {
    (ROWS * (slice + 1)).max(THREADS)
}

fn look_bytes(slice: usize) -> usize {
    16 * (left(slice) + right(slice) + BLOCK * (ROWS / 4 + 1))
}

fn settle_bytes(threads: usize, chunk: usize) -> usize {
    // Four and two numbers a thread; score and row of every write; two edges (rounded up).
    threads * 24 + chunk * 8 + 16
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::Array3;

    use super::*;
    use crate::layer::ovq::OvqKind;
    use crate::layer::{LayerKind, Setup};
    use crate::param::{Params, Resolved};
    use crate::stream::{Labels, StreamParts, Targets};

    #[test]
    fn splits_cover_every_tile_once() {
        for tiles in 0..300 {
            for (blocks, most) in [(1, 64), (4, 64), (36, 64), (1000, 64), (4, 3)] {
                let (splits, each) = split(tiles, blocks, most);
                assert!(splits <= most && splits * each >= tiles && (splits - 1) * each < tiles.max(1), "{tiles} {blocks} {most}");
            }
        }
        // 32 tiles and 4 blocks: one tile a workgroup.
        assert_eq!(split(32, 4, 64), (32, 1));
    }

    /// However many heads and blocks there are: a thread's loops stay below what software adapters run to their end.
    #[test]
    fn no_workgroup_has_more_tiles_than_its_loops_may_take() {
        // The largest dictionary and chunk: 256 + 16 tiles.
        for tiles in 0..=272 {
            for blocks in [1, 10, 512, 5000, 100_000] {
                let (_, each) = split(tiles, blocks, tiles.clamp(1, SPLITS));
                assert!(each <= TILES && each * 1200 < 1 << 16, "{tiles} {blocks}: {each}");
            }
        }
    }

    /// A small GPU must be done with a submission before its driver takes it for one that hangs.
    #[test]
    fn submissions_of_large_dictionaries_are_short() {
        let Some(gpu) = crate::gpu::testing::gpu_or_skip() else { return };
        let (heads, dk, dv) = (8, 256, 8);
        // The last `reads` writes are each followed by a read.
        let share = |writes: usize, reads: usize, n_max: i64, chunk: usize| {
            let stream = Stream::new(StreamParts {
                keys: Array3::zeros((heads, writes, dk)),
                values: Array3::zeros((heads, writes, dv)),
                queries: Array3::zeros((heads, reads, dk)),
                after: (writes - reads + 1..=writes).map(|after| after as u32).collect(),
                beta: 1.0,
                targets: Targets::None,
                labels: Labels::default(),
            })
            .unwrap();
            let params = Params::default().with("n_max", n_max).with("chunk", chunk as i64).with("growth", "saturating");
            let params = Resolved::new("ovq", OvqKind.params(), &params).unwrap();
            let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::default(), chunk, hands: Arc::default() };
            Share::new(&gpu, &setup.stream, &Config::new(&setup)).unwrap()
        };
        let large = share(4096, 1024, 4096, 1024);
        // A chunk's writes: 1024 x 8 heads x 4096 rows x 256 = 2^33 multiply-adds, so 16 chunks are 2^37.
        assert_eq!(large.chunks, 16);
        // A read: 8 heads x (4096 + 1024) x (256 + 8) = 2^37 / 12710.01; blocks of 32 make it 12704, where 32768 have room.
        assert_eq!(large.window, 12_704);
        // Small ones are as long as their outputs allow.
        let small = share(512, 512, 256, 64);
        assert_eq!((small.chunks, small.window), (CHUNKS, CHUNKS * 64));
    }

    /// Sizes that stand in the kernels.
    #[test]
    fn kernels_have_the_same_sizes() {
        let look = include_str!("../../../shaders/ovq/look.wgsl");
        assert!(look.contains(&format!("const ROWS: u32 = {ROWS}u;")));
        assert_eq!(THREADS, BLOCK / 4 * 16);
    }

    #[test]
    fn step_has_the_fields_of_its_twin() {
        let names =
            |text: &str| -> Vec<String> { text.split(':').filter_map(|part| part.split_whitespace().last()).map(str::to_owned).collect() };
        let (_, wgsl) = include_str!("../../../shaders/ovq/step.wgsl").split_once("struct Step {").unwrap();
        let fields = wgsl.split_once('}').unwrap().0.lines().filter_map(|line| line.split_once(": u32,")).map(|(name, _)| name.trim());
        // `Step { start: 0, length: 0, .. }`: the word before each colon.
        let mut ours = names(&format!("{:?}", Step::default()));
        ours.pop();
        assert_eq!(fields.collect::<Vec<_>>(), ours);
    }

    /// What the smallest usual adapter has (16 KiB) is enough, also for the largest chunk.
    #[test]
    fn workgroup_memory_fits_small_adapters() {
        assert_eq!(look_bytes(4), 16 * (160 + 320 + 544));
        assert!(look_bytes(4) <= 16_384 && settle_bytes(256, 1024) <= 16_384);
        assert!(look_bytes(16) <= 49_152);
    }
}
