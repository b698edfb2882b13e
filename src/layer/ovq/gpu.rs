//! OVQ on the GPU: three dispatches a chunk, all heads in each.
//!
//! `look` does all that only reads the state (stage 1 and the similarities of stage 2), shared out widely; `settle` puts
//! its parts together and decides where the writes go; `learn` moves the rows. How many rows there are after each chunk
//! is known beforehand, so the GPU never waits for the host between chunks: many go into one submission.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::kernels::{Buffers, Kernels};
use super::share::{Share, Step};
use super::state::log_count;
use super::{Config, trace};
use crate::gpu::{Batch, GpuError, GpuStream, Pending, ReadId};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::trace::{TraceBlock, Values};

/// Submissions on their way at once: while one runs, the next is prepared and the last one's results are taken.
const IN_FLIGHT: usize = 3;

/// OVQ over one stream, all heads.
#[derive(Debug)]
pub(super) struct OvqGpu {
    stream: Arc<GpuStream>,
    config: Config,
    share: Share,
    buffers: Buffers,
    kernels: Kernels,
    position: usize,
}

/// What `learn` is told of a chunk.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Learn {
    start: u32,
    length: u32,
    rows: u32,
}

/// A submission and what it was asked to read.
struct Flight {
    pending: Pending,
    steps: Range<usize>,
    writes: Range<usize>,
    reads: Range<usize>,
    /// One a query head.
    outputs: Vec<ReadId>,
    /// One a key/value head: assignments, similarity, margin, founding margin.
    placed: Vec<[ReadId; 4]>,
}

/// The numbers of an `advance`, [heads, entries, width] each.
struct Collected {
    steps: Range<usize>,
    writes: Range<usize>,
    reads: Range<usize>,
    outputs: Vec<f32>,
    assignments: Vec<i32>,
    similarity: Vec<f32>,
    margin: Vec<f32>,
    select_margin: Vec<f32>,
}

impl OvqGpu {
    pub(super) fn new(setup: &Setup, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        let config = Config::new(setup);
        let share = Share::new(&stream.gpu, &stream.stream, &config)?;
        Self::with_share(config, share, stream)
    }

    fn with_share(config: Config, share: Share, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        let buffers = Buffers::new(stream, &config, &share)?;
        let kernels = Kernels::new(stream, &config, &share, &buffers)?;
        Ok(Self { stream: Arc::clone(stream), config, share, buffers, kernels, position: 0 })
    }

    fn chunk(&self, index: usize) -> Range<usize> {
        self.stream.stream.chunk_range(self.config.chunk, index)
    }

    /// What the dispatches of the chunk `index` have in common.
    fn step(&self, index: usize) -> Step {
        let chunk = self.chunk(index);
        let (before, then) = (self.config.sizes[index], self.config.sizes[index + 1]);
        Step {
            start: chunk.start as u32,
            length: chunk.len() as u32,
            rows: before as u32,
            founders: (then - before) as u32,
            chunk: index as u32,
            ..Step::default()
        }
    }

    /// Adds `look` and `settle` for some reads of a chunk (perhaps none), and with `tokens` for its writes.
    fn look(&self, batch: &mut Batch, mut step: Step, reads: Range<usize>, window: usize, tokens: bool) {
        if tokens {
            self.share.tokens(&mut step);
        }
        if let Some(&last) = self.stream.stream.after()[reads.clone()].last() {
            (step.read_start, step.read_count, step.window) = (reads.start as u32, reads.len() as u32, window as u32);
            step.visible = last - step.start;
            self.share.reads(&mut step);
        }
        let gpu = &self.stream.gpu;
        batch.dispatch(&self.kernels.look, &step, gpu.groups(self.share.look_groups(&step)));
        batch.dispatch(&self.kernels.settle, &step, gpu.groups(self.share.settle_groups(&step)));
    }

    fn learn(&self, batch: &mut Batch, step: &Step) {
        let groups = self.stream.gpu.groups(self.share.heads * step.length as usize);
        batch.dispatch(&self.kernels.learn, &Learn { start: step.start, length: step.length, rows: step.rows }, groups);
    }

    /// Asks for what the chunks `steps` and the reads `reads` (at the window's start) wrote, and submits.
    fn submit(&self, mut batch: Batch, steps: Range<usize>, reads: Range<usize>, record: Record) -> Result<Flight, GpuError> {
        let (mut outputs, mut placed) = (Vec::new(), Vec::new());
        // No steps where one chunk's reads fill a submission: then no writes either.
        let start = self.chunk(steps.start).start;
        let writes = start..steps.clone().last().map_or(start, |step| self.chunk(step).end);
        if record == Record::All {
            let (t, dv) = (self.stream.stream.writes(), self.stream.stream.value_dim());
            let chunks = self.config.sizes.len() - 1;
            for head in 0..self.share.query_heads {
                let at = head * self.share.window * dv;
                outputs.push(batch.read(&self.buffers.outputs, at..at + reads.len() * dv));
            }
            for head in 0..self.share.heads {
                let of_write = head * t + writes.start..head * t + writes.end;
                let of_step = head * chunks + steps.start..head * chunks + steps.end;
                placed.push([
                    batch.read(&self.buffers.assignments, of_write.clone()),
                    batch.read(&self.buffers.similarity, of_write.clone()),
                    batch.read(&self.buffers.margin, of_write),
                    batch.read(&self.buffers.select_margin, of_step),
                ]);
            }
        }
        Ok(Flight { pending: batch.submit()?, steps, writes, reads, outputs, placed })
    }

    /// Runs the chunks `steps`, some chunks and a window of reads a submission, and hands each to `done` in order.
    ///
    /// How a chunk's reads are cut into dispatches depends on the chunk alone, never on what else is in the submission.
    fn run(&self, steps: Range<usize>, record: Record, mut done: impl FnMut(Flight) -> Result<(), GpuError>) -> Result<(), GpuError> {
        let gpu = &self.stream.gpu;
        let reads_of = |index: usize| match record {
            Record::All => self.stream.stream.reads_within(self.chunk(index)),
            Record::StateOnly => 0..0,
        };
        let mut flying = VecDeque::new();
        let mut batch = gpu.batch();
        let mut first_step = steps.start;
        let first_read = reads_of(steps.start).start;
        let mut window = first_read..first_read;
        for index in steps.clone() {
            let step = self.step(index);
            let mut rest = reads_of(index);
            let mut tokens = true;
            while tokens || !rest.is_empty() {
                let count = rest.len().min(self.share.pass);
                if window.len() + count > self.share.window {
                    let full = std::mem::replace(&mut batch, gpu.batch());
                    flying.push_back(self.submit(full, first_step..index, window.clone(), record)?);
                    (first_step, window) = (index, window.end..window.end);
                }
                self.look(&mut batch, step, rest.start..rest.start + count, window.len(), tokens);
                (rest.start, window.end, tokens) = (rest.start + count, window.end + count, false);
            }
            self.learn(&mut batch, &step);
            if index + 1 - first_step >= self.share.chunks || index + 1 == steps.end {
                let full = std::mem::replace(&mut batch, gpu.batch());
                flying.push_back(self.submit(full, first_step..index + 1, window.clone(), record)?);
                (first_step, window) = (index + 1, window.end..window.end);
            }
            while flying.len() >= IN_FLIGHT {
                flying.pop_front().map_or(Ok(()), &mut done)?;
            }
        }
        flying.into_iter().try_for_each(done)
    }

    fn push(&self, all: Collected, out: &mut TraceBlock) {
        let Collected { steps, writes, reads, outputs, mut assignments, similarity, mut margin, mut select_margin } = all;
        let mut is_new = vec![0_i32; assignments.len()];
        for (local, step) in steps.clone().enumerate() {
            let (chunk, before) = (self.chunk(step), self.config.sizes[step]);
            let cut = (self.config.sizes[step + 1] - before).saturating_sub(usize::from(before == 0));
            let ranked = chunk.len() - usize::from(before == 0);
            for head in 0..self.share.heads {
                let own = head * writes.len() + chunk.start - writes.start..head * writes.len() + chunk.end - writes.start;
                for (flag, &row) in is_new[own.clone()].iter_mut().zip(&assignments[own.clone()]) {
                    // In the first chunk row 0 is both the first founder's and what the others go to.
                    *flag = i32::from(row as usize >= before.max(1));
                }
                if before == 0 {
                    is_new[own.start] = 1;
                }
                // What has no second or no edge has an infinite margin; kernels cannot be trusted with infinities.
                if before <= 1 {
                    margin[own].fill(f32::INFINITY);
                }
                if cut == 0 || cut >= ranked {
                    select_margin[head * steps.len() + local] = f32::INFINITY;
                }
            }
        }
        let sizes: Vec<i32> = self.config.sizes[steps.start + 1..=steps.end].iter().map(|&n| n as i32).collect();
        out.push(trace::OUTPUTS, reads, Values::F32(outputs));
        out.push(trace::ASSIGNMENTS, writes.clone(), Values::I32(std::mem::take(&mut assignments)));
        out.push(trace::SIMILARITY, writes.clone(), Values::F32(similarity));
        out.push(trace::IS_NEW, writes.clone(), Values::I32(is_new));
        out.push(trace::ASSIGN_MARGIN, writes, Values::F32(margin));
        out.push(trace::SELECT_MARGIN, steps.clone(), Values::F32(select_margin));
        out.push(trace::SIZES, steps, Values::I32(sizes.repeat(self.share.heads)));
    }
}

impl Collected {
    fn new(steps: Range<usize>, writes: Range<usize>, reads: Range<usize>, heads: usize, query_heads: usize, dv: usize) -> Self {
        let of_write = heads * writes.len();
        Self {
            outputs: vec![0.0; query_heads * reads.len() * dv],
            assignments: vec![0; of_write],
            similarity: vec![0.0; of_write],
            margin: vec![0.0; of_write],
            select_margin: vec![0.0; heads * steps.len()],
            steps,
            writes,
            reads,
        }
    }

    /// Puts what a submission read in its place.
    fn take(&mut self, flight: Flight, dv: usize) -> Result<(), GpuError> {
        let Flight { pending, steps, writes, reads, outputs, placed } = flight;
        let back = pending.wait()?;
        for (head, id) in outputs.iter().enumerate() {
            let at = (head * self.reads.len() + reads.start - self.reads.start) * dv;
            self.outputs[at..at + reads.len() * dv].copy_from_slice(&back.f32(id));
        }
        for (head, [assignments, similarity, margin, select_margin]) in placed.iter().enumerate() {
            let at = head * self.writes.len() + writes.start - self.writes.start;
            let own = at..at + writes.len();
            self.assignments[own.clone()].copy_from_slice(&back.i32(assignments));
            self.similarity[own.clone()].copy_from_slice(&back.f32(similarity));
            self.margin[own].copy_from_slice(&back.f32(margin));
            let at = head * self.steps.len() + steps.start - self.steps.start;
            self.select_margin[at..at + steps.len()].copy_from_slice(&back.f32(select_margin));
        }
        Ok(())
    }
}

impl Layer for OvqGpu {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let steps = self.position..self.position.saturating_add(chunks).min(self.config.sizes.len() - 1);
        if steps.is_empty() {
            return Ok(());
        }
        if record == Record::StateOnly {
            self.run(steps.clone(), record, |flight| flight.pending.wait().map(drop))?;
        } else {
            let stream = &self.stream.stream;
            let writes = self.chunk(steps.start).start..self.chunk(steps.end - 1).end;
            let reads = stream.reads_within(writes.clone());
            let dv = stream.value_dim();
            let mut all = Collected::new(steps.clone(), writes, reads, self.share.heads, self.share.query_heads, dv);
            self.run(steps.clone(), record, |flight| all.take(flight, dv))?;
            self.push(all, out);
        }
        self.position = steps.end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let stream = &self.stream.stream;
        let (heads, rows, capacity) = (self.share.heads, self.config.sizes[self.position], self.share.capacity);
        let mut batch = self.stream.gpu.batch();
        let mut ids = Vec::new();
        for head in 0..heads {
            let mut read = |buffer, width: usize| batch.read(buffer, head * capacity * width..(head * capacity + rows) * width);
            ids.push([
                read(&self.buffers.dict_k, self.share.dk4 * 4),
                read(&self.buffers.dict_v, self.share.dv4 * 4),
                read(&self.buffers.counts, 1),
            ]);
        }
        let back = batch.submit()?.wait()?;
        let reals = |which: usize, dim: usize| {
            let width = dim.next_multiple_of(4);
            let numbers = ids.iter().flat_map(|id| back.f32(&id[which]).chunks(width).flat_map(|r| r[..dim].to_vec()).collect::<Vec<_>>());
            Values::F32(numbers.collect())
        };
        let (dk, dv) = (stream.key_dim(), stream.value_dim());
        let counts = Values::I32(ids.iter().flat_map(|id| back.i32(&id[2])).collect());
        Ok(Snapshot {
            position: self.position,
            arrays: vec![
                StateArray { name: "dict_k", shape: vec![heads, rows, dk], values: reals(0, dk) },
                StateArray { name: "dict_v", shape: vec![heads, rows, dv], values: reals(1, dv) },
                StateArray { name: "counts", shape: vec![heads, rows], values: counts },
            ],
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let stream = &self.stream.stream;
        let Some(&rows) = self.config.sizes.get(snapshot.position) else {
            return Err(LayerError::Restore(format!("position {} is beyond the stream", snapshot.position)));
        };
        let (dk, dv, heads, capacity) = (stream.key_dim(), stream.value_dim(), self.share.heads, self.share.capacity);
        let arrays = super::state::arrays::<f32>(snapshot, [heads, rows, dk, dv])?;
        let gpu = &self.stream.gpu;
        gpu.check()?;
        let padded = |numbers: &[f32], dim: usize| -> Vec<f32> {
            let zeros = dim.next_multiple_of(4) - dim;
            numbers.chunks(dim).flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, zeros))).collect()
        };
        for head in 0..heads {
            let own = head * rows..(head + 1) * rows;
            let numbers = |all: &[f32], dim: usize| padded(&all[own.start * dim..own.end * dim], dim);
            gpu.write(&self.buffers.dict_k, head * capacity * self.share.dk4 * 4, &numbers(arrays.dict_k, dk));
            gpu.write(&self.buffers.dict_v, head * capacity * self.share.dv4 * 4, &numbers(arrays.dict_v, dv));
            gpu.write(&self.buffers.counts, head * capacity, &arrays.counts[own.clone()]);
            let logs: Vec<f32> = arrays.counts[own].iter().map(|&c| log_count(c as u32)).collect();
            gpu.write(&self.buffers.log_counts, head * capacity, &logs);
        }
        self.position = snapshot.position;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "infinities and choices are equal or wrong")]
mod tests {
    use super::*;
    use crate::gpu::testing::gpu_or_skip;
    use crate::layer::workload::Workload;
    use crate::layer::{LayerKind, Precision};
    use crate::param::Params;

    /// Shares of work that only large streams or small adapters bring about, on a small stream: several tiles a split,
    /// several slices of columns, several dispatches for a chunk's reads, submissions cut within a chunk.
    #[test]
    fn every_way_to_share_the_work_gives_the_twins_results() {
        let Some(gpu) = gpu_or_skip() else { return };
        let workload = Workload { dk: 24, dv: 20, reads: 150, ..Workload::causal(300) };
        let params = Params::default().with("n_max", 200).with("chunk", 80).with("growth", "saturating");
        let setup = workload.setup(&crate::layer::ovq::OvqKind, &params).unwrap();
        let mut expected = TraceBlock::default();
        crate::layer::ovq::OvqKind.cpu(&setup, Precision::Single).unwrap().advance(4, Record::All, &mut expected).unwrap();
        let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
        let config = Config::new(&setup);
        let share = Share::new(&gpu, &setup.stream, &config).unwrap();
        let cramped =
            Share { slice: 4, settle: 256, settle_parts: 3, token_splits: 2, read_splits: 3, pass: 32, window: 32, chunks: 3, ..share };
        for share in [share, cramped] {
            let mut layer = OvqGpu::with_share(config.clone(), share, &stream).unwrap();
            let mut block = TraceBlock::default();
            layer.advance(4, Record::All, &mut block).unwrap();
            assert_eq!(block.pieces.len(), expected.pieces.len());
            for (a, b) in block.pieces.iter().zip(&expected.pieces) {
                assert_eq!((a.channel, &a.range, a.values.len()), (b.channel, &b.range, b.values.len()));
                for i in 0..a.values.len() {
                    let (x, y) = (a.values.get(i).unwrap(), b.values.get(i).unwrap());
                    assert!(x == y || (x - y).abs() < 1e-5, "channel {} at {i}: {x} and {y}", a.channel);
                }
            }
        }
    }
}
