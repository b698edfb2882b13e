//! The recurrent layers on the GPU: many writes and the reads between them in one dispatch, a workgroup for a few columns.

use std::ops::Range;
use std::sync::Arc;

use ndarray::s;

use super::{Config, trace};
use crate::gpu::{Bound, Constant, GpuError, GpuStream, KernelSpec};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::trace::{TraceBlock, Values};

/// Threads that share a column's rows, and columns of a workgroup.
const ROWS: usize = 16;
const COLUMNS: usize = 4;
/// Numbers of the keys that a workgroup fetches at once (8 KiB).
const TILE_NUMBERS: usize = 2048;
/// Answers that a workgroup works out at once.
const SET: usize = 4;
/// Iterations of loops that a thread may run in one dispatch: software adapters end them early, see
/// [`crate::gpu::Gpu::loop_limit`]. Below this every device is fine.
const LOOPS: usize = 30_000;
/// Numbers of the outputs, and of the errors, of one batch (32 MiB each).
const NUMBERS: usize = 8 << 20;
/// Parts in one submission, so that drivers that allow a submission two seconds are content.
const PARTS: usize = 256;
/// The slot of parts that do not end a chunk.
const NONE: u32 = u32::MAX;

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Step {
    writes: u32,
    reads: u32,
    heads_per_key: u32,
    first_write: u32,
    end_write: u32,
    first_read: u32,
    end_read: u32,
    batch_first_write: u32,
    batch_writes: u32,
    batch_first_read: u32,
    batch_reads: u32,
    norm_slot: u32,
    record: u32,
}

/// Writes of one chunk and reads between or after them: what one dispatch does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    writes: Range<usize>,
    reads: Range<usize>,
    ends_chunk: bool,
    /// Iterations of loops, no fewer than a thread runs.
    loops: usize,
}

/// How many loops what a part holds costs a thread.
#[derive(Debug, Clone, Copy)]
struct Loops {
    part: usize,
    write: usize,
    read: usize,
}

impl Loops {
    /// For a thread with `per` rows of its column, and `group` query heads a key/value head.
    fn new(per: usize, group: usize) -> Self {
        Self {
            part: 3 * per + ROWS * (COLUMNS + 1) + 8,
            // Two passes over the rows, a sum of shares, an error, and a share of the fetch.
            write: 2 * per + ROWS + COLUMNS + per.div_ceil(COLUMNS) + 8,
            read: group.div_ceil(SET) * (SET * (per + 1) + ROWS + 2) + 1,
        }
    }
}

/// What a batch gives back.
struct Answers {
    /// [query heads, reads of the batch, dv].
    outputs: Vec<f32>,
    /// |v - S^T k| [heads, writes of the batch]; nothing where it is not wanted.
    errors: Vec<f32>,
    /// |S| [chunks of the batch, heads].
    norms: Vec<f32>,
}

/// A running recurrent layer.
#[derive(Debug)]
pub(super) struct RecurrentGpu {
    stream: Arc<GpuStream>,
    config: Config,
    chunk: usize,
    position: usize,
    /// Writes and reads that the buffers of a batch have room for.
    write_rows: usize,
    read_rows: usize,
    /// Blocks of columns.
    blocks: usize,
    loops: Loops,
    most_loops: usize,
    /// Where the states' squares begin in `measures`.
    norms_at: usize,
    advance: Bound,
    state: wgpu::Buffer,
    outputs: wgpu::Buffer,
    measures: wgpu::Buffer,
}

impl RecurrentGpu {
    /// # Errors
    /// If the adapter's limits do not allow it, or the device is lost.
    pub(super) fn new(config: Config, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        let (gpu, s) = (&stream.gpu, &*setup.stream);
        let (dk, dv, hkv, hq) = (s.key_dim(), s.value_dim(), s.kv_heads(), s.query_heads());
        let (per, blocks) = (dk.div_ceil(ROWS), dv.div_ceil(COLUMNS));
        let loops = Loops::new(per, hq / hkv);
        gpu.check_loops("reading a key/value head by so many query heads", loops.part + loops.write + loops.read)?;
        let write_rows = (NUMBERS / (hkv * blocks)).clamp(1, s.writes());
        let read_rows = (NUMBERS / (hq * dv)).clamp(1, s.reads().max(1));
        let norms_at = hkv * write_rows * blocks;
        let gates = gpu.upload("the gates of a recurrent layer", &gates(&config, setup))?;
        let state = gpu.zeroed("the state of a recurrent layer", hkv * dk * dv)?;
        let outputs = gpu.zeroed("the outputs of a recurrent layer", hq * read_rows * dv)?;
        let measures = gpu.zeroed("the errors of a recurrent layer", norms_at + PARTS * hkv * blocks)?;
        let constants = [
            ("DK", dk.into()),
            ("DV", dv.into()),
            ("ROWS", ROWS.into()),
            ("COLUMNS", COLUMNS.into()),
            ("PER", per.into()),
            ("TILE", (TILE_NUMBERS / (per * ROWS)).into()),
            ("SET", SET.into()),
            ("BLOCKS", blocks.into()),
            ("ERASES", Constant::Bool(config.rule.erases())),
            ("QUERY_SCALES", (3 * hkv * s.writes()).into()),
            ("NORMS", norms_at.into()),
        ];
        let source = include_str!("../../../shaders/recurrent/advance.wgsl");
        let kernel = gpu.kernel(&KernelSpec { name: "recurrent/advance", source: &[source], constants: &constants })?;
        let buffers = [&stream.keys, &stream.values, &stream.queries, &stream.after, &gates, &state, &outputs, &measures];
        Ok(Self {
            advance: kernel.bind(gpu, &buffers)?,
            config,
            chunk: setup.chunk,
            position: 0,
            write_rows,
            read_rows,
            blocks,
            loops,
            most_loops: LOOPS,
            norms_at,
            state,
            outputs,
            measures,
            stream: Arc::clone(stream),
        })
    }

    /// The chunks `start..end` cut into parts of few enough loops that fit the buffers.
    ///
    /// Where parts end changes no bit: the state is put away and fetched as it is.
    fn parts(&self, start: usize, end: usize, record: Record) -> Vec<Part> {
        let s = &self.stream.stream;
        let mut parts = Vec::new();
        for chunk in (start..end).map(|c| s.chunk_range(self.chunk, c)) {
            let reads = match record {
                Record::All => s.reads_within(chunk.clone()),
                Record::StateOnly => 0..0,
            };
            let empty =
                |write: usize, read: usize| Part { writes: write..write, reads: read..read, ends_chunk: false, loops: self.loops.part };
            let mut part = empty(chunk.start, reads.start);
            let mut cut = |part: &mut Part| {
                let next = empty(part.writes.end, part.reads.end);
                parts.push(std::mem::replace(part, next));
            };
            for write in chunk.clone() {
                if part.writes.len() == self.write_rows || part.loops + self.loops.write > self.most_loops {
                    cut(&mut part);
                }
                part.writes.end = write + 1;
                part.loops += self.loops.write;
                while part.reads.end < reads.end && s.after()[part.reads.end] as usize == write + 1 {
                    if part.reads.len() == self.read_rows || part.loops + self.loops.read > self.most_loops {
                        cut(&mut part);
                    }
                    part.reads.end += 1;
                    part.loops += self.loops.read;
                }
            }
            part.ends_chunk = true;
            parts.push(part);
        }
        parts
    }

    /// How many of the parts, from the first on, fit into one batch.
    fn fitting(&self, parts: &[Part]) -> usize {
        let fits =
            |p: &Part| p.writes.end - parts[0].writes.start <= self.write_rows && p.reads.end - parts[0].reads.start <= self.read_rows;
        parts.iter().take(PARTS).take_while(|p| fits(p)).count()
    }

    /// Runs parts that fit into one batch.
    fn run(&self, parts: &[Part], record: Record) -> Result<Answers, GpuError> {
        let s = &self.stream.stream;
        let (hkv, hq, dv, last) = (s.kv_heads(), s.query_heads(), s.value_dim(), &parts[parts.len() - 1]);
        let (writes, reads) = (parts[0].writes.start..last.writes.end, parts[0].reads.start..last.reads.end);
        let recorded = record == Record::All;
        let mut chunks = 0;
        let mut batch = self.stream.gpu.batch();
        for part in parts {
            let slot = if recorded && part.ends_chunk { chunks } else { NONE };
            chunks += u32::from(slot != NONE);
            let step = Step {
                writes: s.writes() as u32,
                reads: s.reads() as u32,
                heads_per_key: (hq / hkv) as u32,
                first_write: part.writes.start as u32,
                end_write: part.writes.end as u32,
                first_read: part.reads.start as u32,
                end_read: part.reads.end as u32,
                batch_first_write: writes.start as u32,
                batch_writes: writes.len() as u32,
                batch_first_read: reads.start as u32,
                batch_reads: reads.len() as u32,
                norm_slot: slot,
                record: u32::from(recorded),
            };
            batch.dispatch(&self.advance, &step, [self.blocks as u32, hkv as u32, 1]);
        }
        let errors = if recorded && self.config.rule.erases() { hkv * writes.len() * self.blocks } else { 0 };
        let outputs = batch.read(&self.outputs, 0..hq * reads.len() * dv);
        let errors = batch.read(&self.measures, 0..errors);
        let norms = batch.read(&self.measures, self.norms_at..self.norms_at + chunks as usize * hkv * self.blocks);
        let read = batch.submit()?.wait()?;
        let roots = |sums: Vec<f32>| -> Vec<f32> {
            sums.chunks_exact(self.blocks).map(|b| b.iter().map(|&x| f64::from(x)).sum::<f64>().sqrt() as f32).collect()
        };
        Ok(Answers { outputs: read.f32(&outputs), errors: roots(read.f32(&errors)), norms: roots(read.f32(&norms)) })
    }
}

/// a, b and the scale of the key of every write `[Hkv, T, 3]`, then the scale of every query `[Hq, R]`.
fn gates(config: &Config, setup: &Setup) -> Vec<f32> {
    let s = &*setup.stream;
    let mut numbers = Vec::with_capacity(3 * s.kv_heads() * s.writes() + s.query_heads() * s.reads());
    for (head, write) in (0..s.kv_heads()).flat_map(|head| (0..s.writes()).map(move |write| (head, write))) {
        let scale = config.scale(s.keys().slice(s![head, write, ..])) as f32;
        numbers.extend([config.decay(s, head, write), config.rate(s, head, write), scale]);
    }
    numbers.extend(s.queries().rows().into_iter().map(|row| config.scale(row) as f32));
    numbers
}

/// Copies `[heads, rows of a batch, width]` to its place in `[heads, all rows, width]`.
fn place(all: &mut [f32], rows: usize, width: usize, batch: &[f32], at: Range<usize>) {
    for (head, own) in batch.chunks((at.len() * width).max(1)).enumerate() {
        let start = (head * rows + at.start) * width;
        all[start..start + own.len()].copy_from_slice(own);
    }
}

impl Layer for RecurrentGpu {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let s = &*self.stream.stream;
        let (hkv, dv) = (s.kv_heads(), s.value_dim());
        let (start, end) = (self.position, self.position.saturating_add(chunks).min(s.chunks(self.chunk)));
        let parts = self.parts(start, end, record);
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(()) };
        let (writes, reads) = (first.writes.start..last.writes.end, first.reads.start..last.reads.end);
        let mut outputs = vec![0.0; s.query_heads() * reads.len() * dv];
        let (mut errors, mut norms) = (vec![0.0; hkv * writes.len()], Vec::new());
        let mut rest = parts.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.fitting(rest));
            let answers = self.run(now, record)?;
            let span = |of: fn(&Part) -> &Range<usize>, from: usize| of(&now[0]).start - from..of(&now[now.len() - 1]).end - from;
            place(&mut outputs, reads.len(), dv, &answers.outputs, span(|p| &p.reads, reads.start));
            place(&mut errors, writes.len(), 1, &answers.errors, span(|p| &p.writes, writes.start));
            norms.extend(answers.norms);
            rest = later;
        }
        if record == Record::All {
            // From [chunks, heads] to [heads, chunks].
            let by_head = (0..hkv).flat_map(|head| norms.iter().skip(head).step_by(hkv).copied()).collect();
            out.push(trace::OUTPUTS, reads, Values::F32(outputs));
            out.push(trace::STATE_NORM, start..end, Values::F32(by_head));
            if self.config.rule.erases() {
                out.push(trace::WRITE_ERROR, writes, Values::F32(errors));
            }
        }
        self.position = end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let s = &self.stream.stream;
        let shape = vec![s.kv_heads(), s.key_dim(), s.value_dim()];
        let mut batch = self.stream.gpu.batch();
        let state = batch.read(&self.state, 0..shape.iter().product());
        let read = batch.submit()?.wait()?;
        let arrays = vec![StateArray { name: "state", shape, values: Values::F32(read.f32(&state)) }];
        Ok(Snapshot { position: self.position, arrays })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let s = &self.stream.stream;
        snapshot.check_position(s, self.chunk)?;
        let state = snapshot.numbers::<f32>("state", &[s.kv_heads(), s.key_dim(), s.value_dim()])?;
        self.stream.gpu.check()?;
        self.stream.gpu.write(&self.state, 0, state);
        self.position = snapshot.position;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::LayerKind;
    use crate::layer::full::tests::setup;
    use crate::layer::recurrent::{GATED_DELTANET, Rule};

    #[test]
    fn how_a_run_is_cut_changes_no_bit() {
        let Some(gpu) = crate::gpu::testing::gpu_or_skip() else { return };
        let setup = setup(GATED_DELTANET.params(), 250, 140);
        let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
        let config = Config::new(Rule::GatedDelta, &setup.params);
        let run = |write_rows: usize, read_rows: usize, most_loops: usize| {
            let mut layer = RecurrentGpu::new(config, &setup, &stream).unwrap();
            // The buffers stay large; what is used of them shrinks.
            (layer.write_rows, layer.read_rows, layer.most_loops) = (write_rows, read_rows, most_loops);
            let mut block = TraceBlock::default();
            layer.advance(usize::MAX, Record::All, &mut block).unwrap();
            let cuts = layer.parts(0, 3, Record::All).len();
            (block, layer.snapshot().unwrap(), cuts)
        };
        let whole = run(250, 140, LOOPS);
        assert_eq!(whole.2, 3, "a part a chunk");
        for (write_rows, read_rows, most_loops) in [(100, 140, LOOPS), (30, 140, LOOPS), (250, 1, LOOPS), (7, 3, LOOPS), (250, 140, 200)] {
            let cut = run(write_rows, read_rows, most_loops);
            assert_eq!((&cut.0, &cut.1), (&whole.0, &whole.1), "{write_rows} {read_rows} {most_loops}");
        }
        assert!(run(250, 140, 200).2 > 50);
    }
}
