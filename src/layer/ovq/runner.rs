//! The GPU's run over chunks that OVQ and VQ share: three to five dispatches a chunk, all heads in each.
//!
//! `look` does all that only reads the state (stage 1 and the similarities of stage 2), shared out widely; `settle` puts
//! its parts together and decides where the writes go (with `farthest` for farthest-point founding); `learn` moves the rows. How
//! many rows there are after each chunk is known beforehand, so the GPU never waits for the host between chunks: many go into
//! one submission. With fixed rows (VQ) the chunk's own writes are attended to under their rows' keys, so their rows are
//! found first and reads follow.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::kernels::{Buffers, Kernels};
use super::share::{Share, Step};
use super::state::log_count;
use super::{Config, founding};
use crate::gpu::{Batch, GpuError, GpuStream, Pending, ReadId};
use crate::layer::Record;
use crate::trace::Values;

/// Submissions on their way at once: while one runs, the next is prepared and the last one's results are taken.
const IN_FLIGHT: usize = 3;

/// The stream, the state and the kernels of one run, all heads.
#[derive(Debug)]
pub(in crate::layer) struct Runner {
    pub(in crate::layer) stream: Arc<GpuStream>,
    pub(in crate::layer) config: Config,
    pub(in crate::layer) share: Share,
    pub(in crate::layer) buffers: Buffers,
    kernels: Kernels,
}

/// What a run hands back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::layer) enum Take {
    /// Nothing.
    Nothing,
    /// Where writes went.
    Placed,
    /// Where writes went, and the outputs of reads.
    All,
}

impl From<Record> for Take {
    fn from(record: Record) -> Self {
        match record {
            Record::All => Self::All,
            Record::StateOnly => Self::Nothing,
        }
    }
}

/// What `learn` is told of a chunk.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Learn {
    start: u32,
    length: u32,
    rows: u32,
}

/// What `farthest` is told of a chunk: the rounds from `first` on, `rounds` of them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Farthest {
    start: u32,
    length: u32,
    rows: u32,
    chunk: u32,
    first: u32,
    rounds: u32,
    last: u32,
}

/// A submission and what it was asked to read.
pub(in crate::layer) struct Flight {
    pub(in crate::layer) pending: Pending,
    steps: Range<usize>,
    writes: Range<usize>,
    reads: Range<usize>,
    /// One a query head.
    outputs: Vec<ReadId>,
    /// One a key/value head: assignments, similarity, margin, founding margin.
    placed: Vec<[ReadId; 4]>,
}

/// The numbers of an `advance`, [heads, entries, width] each.
#[derive(Debug)]
pub(in crate::layer) struct Collected {
    pub(in crate::layer) steps: Range<usize>,
    pub(in crate::layer) writes: Range<usize>,
    pub(in crate::layer) reads: Range<usize>,
    pub(in crate::layer) outputs: Vec<f32>,
    pub(in crate::layer) assignments: Vec<i32>,
    pub(in crate::layer) similarity: Vec<f32>,
    pub(in crate::layer) margin: Vec<f32>,
    pub(in crate::layer) select_margin: Vec<f32>,
}

impl Runner {
    pub(in crate::layer) fn new(config: Config, stream: &Arc<GpuStream>) -> Result<Self, GpuError> {
        let share = Share::new(&stream.gpu, &stream.stream, &config)?;
        Self::with_share(config, share, stream)
    }

    pub(super) fn with_share(config: Config, share: Share, stream: &Arc<GpuStream>) -> Result<Self, GpuError> {
        let buffers = Buffers::new(stream, &config, &share)?;
        let kernels = Kernels::new(stream, &config, &share, &buffers)?;
        Ok(Self { stream: Arc::clone(stream), config, share, buffers, kernels })
    }

    pub(in crate::layer) fn chunk(&self, index: usize) -> Range<usize> {
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

    /// Adds the rounds of farthest-point founding, as many a dispatch as its loops may have.
    fn farthest(&self, batch: &mut Batch, step: &Step) {
        let Some(kernel) = &self.kernels.farthest else { return };
        let total = step.founders - u32::from(step.rows == 0);
        let each = founding::rounds_each(step.length as usize, self.stream.stream.key_dim()) as u32;
        for first in (0..total).step_by(each as usize) {
            let rounds = each.min(total - first);
            let (start, length, rows, chunk, last) = (step.start, step.length, step.rows, step.chunk, total);
            let told = Farthest { start, length, rows, chunk, first, rounds, last };
            batch.dispatch(kernel, &told, self.stream.gpu.groups(self.share.heads));
        }
    }

    fn learn(&self, batch: &mut Batch, step: &Step) {
        let groups = self.stream.gpu.groups(self.share.heads * step.length as usize);
        batch.dispatch(&self.kernels.learn, &Learn { start: step.start, length: step.length, rows: step.rows }, groups);
    }

    /// Asks for what the chunks `steps` and the reads `reads` (at the window's start) wrote, and submits.
    fn submit(&self, mut batch: Batch, steps: Range<usize>, reads: Range<usize>, take: Take) -> Result<Flight, GpuError> {
        let (mut outputs, mut placed) = (Vec::new(), Vec::new());
        // No steps where one chunk's reads fill a submission: then no writes either.
        let start = self.chunk(steps.start).start;
        let writes = start..steps.clone().last().map_or(start, |step| self.chunk(step).end);
        if take != Take::Nothing {
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
    pub(in crate::layer) fn run(
        &self,
        steps: Range<usize>,
        take: Take,
        mut done: impl FnMut(Flight) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let gpu = &self.stream.gpu;
        let reads_of = |index: usize| match take {
            Take::All => self.stream.stream.reads_within(self.chunk(index)),
            Take::Placed | Take::Nothing => 0..0,
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
            if self.config.fixed {
                self.look(&mut batch, step, 0..0, 0, true);
                tokens = false;
            }
            while tokens || !rest.is_empty() {
                let count = rest.len().min(self.share.pass);
                if window.len() + count > self.share.window {
                    let full = std::mem::replace(&mut batch, gpu.batch());
                    flying.push_back(self.submit(full, first_step..index, window.clone(), take)?);
                    (first_step, window) = (index, window.end..window.end);
                }
                self.look(&mut batch, step, rest.start..rest.start + count, window.len(), tokens);
                (rest.start, window.end, tokens) = (rest.start + count, window.end + count, false);
            }
            self.farthest(&mut batch, &step);
            self.learn(&mut batch, &step);
            if index + 1 - first_step >= self.share.chunks || index + 1 == steps.end {
                let full = std::mem::replace(&mut batch, gpu.batch());
                flying.push_back(self.submit(full, first_step..index + 1, window.clone(), take)?);
                (first_step, window) = (index + 1, window.end..window.end);
            }
            while flying.len() >= IN_FLIGHT {
                flying.pop_front().map_or(Ok(()), &mut done)?;
            }
        }
        flying.into_iter().try_for_each(done)
    }

    /// Runs the chunks `steps` and puts together what `take` asks for.
    pub(in crate::layer) fn collect(&self, steps: Range<usize>, take: Take) -> Result<Collected, GpuError> {
        let stream = &self.stream.stream;
        let writes = self.chunk(steps.start).start..self.chunk(steps.end - 1).end;
        let reads = if take == Take::All { stream.reads_within(writes.clone()) } else { 0..0 };
        let dv = stream.value_dim();
        let mut all = Collected::new(steps.clone(), writes, reads, self.share.heads, self.share.query_heads, dv);
        self.run(steps, take, |flight| all.take(flight, dv))?;
        Ok(all)
    }

    /// The first `rows` rows of every head: keys [heads, rows, dk] (none where they are fixed), values [heads, rows, dv] and
    /// counts [heads, rows].
    pub(in crate::layer) fn rows(&self, rows: usize) -> Result<[Values; 3], GpuError> {
        let stream = &self.stream.stream;
        let (heads, capacity) = (self.share.heads, self.share.capacity);
        let mut batch = self.stream.gpu.batch();
        let mut ids = Vec::new();
        for head in 0..heads {
            let mut read = |buffer, rows: usize, width: usize| {
                let start = head * capacity;
                batch.read(buffer, start * width..(start + rows) * width)
            };
            ids.push([
                read(&self.buffers.dict_k, if self.config.fixed { 0 } else { rows }, self.share.dk4 * 4),
                read(&self.buffers.dict_v, rows, self.share.dv4 * 4),
                read(&self.buffers.counts, rows, 1),
            ]);
        }
        let back = batch.submit()?.wait()?;
        let reals = |which: usize, dim: usize| {
            let width = dim.next_multiple_of(4);
            let numbers = ids.iter().flat_map(|id| back.f32(&id[which]).chunks(width).flat_map(|r| r[..dim].to_vec()).collect::<Vec<_>>());
            Values::F32(numbers.collect())
        };
        let counts = Values::I32(ids.iter().flat_map(|id| back.i32(&id[2])).collect());
        Ok([reals(0, stream.key_dim()), reals(1, stream.value_dim()), counts])
    }

    /// Puts the first `rows` rows of every head back, as [`Runner::rows`] gives them out; no keys leaves those there are.
    pub(in crate::layer) fn put_rows(&self, rows: usize, keys: &[f32], values: &[f32], counts: &[i32]) -> Result<(), GpuError> {
        let stream = &self.stream.stream;
        let (dk, dv, capacity) = (stream.key_dim(), stream.value_dim(), self.share.capacity);
        let gpu = &self.stream.gpu;
        gpu.check()?;
        for head in 0..self.share.heads {
            let own = head * rows..(head + 1) * rows;
            if !keys.is_empty() {
                gpu.write(&self.buffers.dict_k, head * capacity * self.share.dk4 * 4, &padded(&keys[own.start * dk..own.end * dk], dk));
            }
            gpu.write(&self.buffers.dict_v, head * capacity * self.share.dv4 * 4, &padded(&values[own.start * dv..own.end * dv], dv));
            gpu.write(&self.buffers.counts, head * capacity, &counts[own.clone()]);
            let logs: Vec<f32> = counts[own].iter().map(|&c| if c == 0 { f32::MIN } else { log_count(c.unsigned_abs()) }).collect();
            gpu.write(&self.buffers.log_counts, head * capacity, &logs);
        }
        Ok(())
    }

    /// Rows in use after the chunks `steps`, for every head alike.
    pub(super) fn sizes(&self, steps: &Range<usize>) -> Values {
        let sizes: Vec<i32> = self.config.sizes[steps.start + 1..=steps.end].iter().map(|&n| n as i32).collect();
        Values::I32(sizes.repeat(self.share.heads))
    }
}

/// Rows of `dim` numbers, each filled up with zeros to a multiple of four.
pub(in crate::layer) fn padded(numbers: &[f32], dim: usize) -> Vec<f32> {
    let zeros = dim.next_multiple_of(4) - dim;
    numbers.chunks(dim).flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, zeros))).collect()
}

impl Collected {
    pub(super) fn new(steps: Range<usize>, writes: Range<usize>, reads: Range<usize>, heads: usize, query_heads: usize, dv: usize) -> Self {
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
