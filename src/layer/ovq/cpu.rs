//! OVQ on the CPU, in float32 and float64: the twin that the kernels are held against.
//!
//! Stage 1 and the similarities of stage 2 only read the state, so for each chunk they run side by side as jobs, cut into
//! blocks of reads and tokens, for all heads; the update of each head follows. Blocks and tiles are of fixed size, so
//! results depend neither on the number of threads nor on how many chunks a call advances.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{ArrayView2, ArrayViewMut2, linalg::general_mat_mul};
use rayon::prelude::*;

use super::rows::Row;
use super::state::{HeadState, Placed, rows_of};
use super::{Config, trace};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot};
use crate::stream::Stream;
use crate::trace::{TraceBlock, Values};

/// Reads or tokens in a job: enough for the matrix products to be worth their packing, few enough to share a chunk out.
const BLOCK: usize = 64;
/// Dictionary rows taken at a time, so that a block's logits stay in the second-level cache.
const TILE: usize = 512;
/// Multiply-adds under which a chunk is not worth handing to other threads.
const SERIAL_MADDS: usize = 200_000;

/// OVQ over one stream, all heads.
#[derive(Debug)]
pub(super) struct OvqCpu<R: Row> {
    stream: Arc<Stream>,
    config: Config,
    heads: Vec<HeadState<R>>,
    position: usize,
    scratch: Pool<R>,
}

/// What `advance` collects: every array is [heads, entries, width] over its whole range.
struct Written<R> {
    reads: Range<usize>,
    writes: Range<usize>,
    outputs: Vec<R>,
    placed: Vec<Placed<R>>,
}

/// One piece of work that only reads the state.
enum Job<'a, R> {
    /// Stage 1 for the reads `reads` of query head `head`.
    Predict { head: usize, reads: Range<usize>, out: &'a mut [R] },
    /// The nearest centroid of the writes `writes` of key/value head `head`.
    Nearest { head: usize, writes: Range<usize>, assignments: &'a mut [i32], similarity: &'a mut [R], margin: &'a mut [R] },
}

impl<R: Row> OvqCpu<R> {
    pub(super) fn new(setup: &Setup) -> Self {
        let stream = Arc::clone(&setup.stream);
        let config = Config::new(setup);
        let rows = config.sizes.last().copied().unwrap_or(0);
        let heads = (0..stream.kv_heads()).map(|_| HeadState::new(stream.key_dim(), stream.value_dim(), rows)).collect();
        Self { stream, config, heads, position: 0, scratch: Pool::default() }
    }

    fn chunk(&self, index: usize) -> Range<usize> {
        self.stream.chunk_range(self.config.chunk, index)
    }

    /// Room for what the chunks `chunks` write.
    fn written(&self, chunks: Range<usize>, record: Record) -> Written<R> {
        let writes = self.chunk(chunks.start).start..self.chunk(chunks.end.max(1) - 1).end;
        let reads = match record {
            Record::All => self.stream.reads_within(writes.clone()),
            Record::StateOnly => 0..0,
        };
        Written {
            outputs: vec![R::zero(); self.stream.query_heads() * reads.len() * self.stream.value_dim()],
            placed: vec![Placed::new(writes.len(), chunks.len()); self.heads.len()],
            reads,
            writes,
        }
    }

    /// Stages 1 and 2 up to the nearest centroids for one chunk, as jobs over the state as it is.
    fn read_state(&self, chunk: &Range<usize>, record: Record, written: &mut Written<R>) {
        let dv = self.stream.value_dim();
        let mut jobs = Vec::new();
        for (head, placed) in written.placed.iter_mut().enumerate() {
            let local = chunk.start - written.writes.start..chunk.end - written.writes.start;
            let size = block(chunk.len());
            let parts = placed.assignments[local.clone()]
                .chunks_mut(size)
                .zip(placed.similarity[local.clone()].chunks_mut(size))
                .zip(placed.margin[local].chunks_mut(size));
            for (i, ((assignments, similarity), margin)) in parts.enumerate() {
                let writes = chunk.start + i * size..(chunk.start + (i + 1) * size).min(chunk.end);
                jobs.push(Job::Nearest { head, writes, assignments, similarity, margin });
            }
        }
        if record == Record::All && !written.reads.is_empty() {
            let reads = self.stream.reads_within(chunk.clone());
            let local = (reads.start - written.reads.start) * dv..(reads.end - written.reads.start) * dv;
            let size = block(reads.len());
            for (head, outputs) in written.outputs.chunks_mut(written.reads.len() * dv).enumerate() {
                for (i, out) in outputs[local.clone()].chunks_mut(size * dv).enumerate() {
                    let reads = reads.start + i * size..(reads.start + (i + 1) * size).min(reads.end);
                    jobs.push(Job::Predict { head, reads, out });
                }
            }
        }
        let rows = self.heads[0].rows() + chunk.len();
        if jobs.len() < 2 || jobs.len() * block(chunk.len()) * rows * (self.stream.key_dim() + dv) < SERIAL_MADDS {
            for job in jobs {
                self.run(job, chunk);
            }
        } else {
            // The last pushed are the longest: predictions. They go first.
            jobs.into_par_iter().rev().with_max_len(1).for_each(|job| self.run(job, chunk));
        }
    }

    fn run(&self, job: Job<'_, R>, chunk: &Range<usize>) {
        let mut scratch = self.scratch.take();
        match job {
            Job::Predict { head, reads, out } => self.predict(head, reads, chunk, out, &mut scratch),
            Job::Nearest { head, writes, assignments, similarity, margin } => {
                self.nearest(head, writes, chunk.start, &mut scratch, assignments, similarity, margin);
            }
        }
        self.scratch.put(scratch);
    }

    /// Stage 1: softmax over the dictionary and the chunk's own writes before `after`, tile by tile with a running maximum.
    fn predict(&self, head: usize, reads: Range<usize>, chunk: &Range<usize>, out: &mut [R], scratch: &mut Scratch<R>) {
        let (stream, beta) = (&*self.stream, R::from_f64(self.config.beta));
        let (dk, dv, count) = (stream.key_dim(), stream.value_dim(), reads.len());
        let kv = stream.kv_head_of(head);
        let state = &self.heads[kv];
        let Scratch { logits, left, keys, values, softmax } = scratch;
        let queries = (cast_rows(rows_of(stream.queries(), head, reads.clone()), left), count, dk);
        softmax.start(count);
        for tile in tiles(state.rows()) {
            let width = tile.len();
            let logits = room(logits, count * width);
            matmul(beta, queries, &Transposed((&state.dict_k[tile.start * dk..], width, dk)), R::zero(), logits);
            for (row, (logits, out)) in logits.chunks_mut(width).zip(out.chunks_mut(dv)).enumerate() {
                let max = if self.config.count_bias { R::add_and_max(logits, &state.log_counts[tile.clone()]) } else { R::largest(logits) };
                softmax.absorb(row, logits, max, out);
            }
            matmul(R::one(), (logits, count, width), &Plain((&state.dict_v[tile.start * dv..], width, dv)), R::one(), out);
        }
        // The chunk's own pairs, as far as the last of these reads may see.
        let visible: &[u32] = &stream.after()[reads];
        for tile in tiles(visible.last().map_or(0, |&after| after as usize - chunk.start)) {
            let (start, width) = (chunk.start + tile.start, tile.len());
            let keys = cast_rows(rows_of(stream.keys(), kv, start..start + width), keys);
            let values = cast_rows(rows_of(stream.values(), kv, start..start + width), values);
            let logits = room(logits, count * width);
            matmul(beta, queries, &Transposed((keys, width, dk)), R::zero(), logits);
            for (row, (logits, out)) in logits.chunks_mut(width).zip(out.chunks_mut(dv)).enumerate() {
                let (seen, hidden) = logits.split_at_mut((visible[row] as usize).saturating_sub(start).min(width));
                hidden.fill(R::zero());
                if !seen.is_empty() {
                    softmax.absorb(row, seen, R::largest(seen), out);
                }
            }
            matmul(R::one(), (logits, count, width), &Plain((values, width, dv)), R::one(), out);
        }
        softmax.finish(out, dv);
    }

    /// The nearest centroid of each write, its similarity and its lead over the second. Before there is any centroid the
    /// chunk's first key stands in for one.
    #[allow(clippy::too_many_arguments, reason = "three results of one pass")]
    fn nearest(
        &self,
        head: usize,
        writes: Range<usize>,
        first: usize,
        scratch: &mut Scratch<R>,
        assignments: &mut [i32],
        similarity: &mut [R],
        margin: &mut [R],
    ) {
        let (dk, count) = (self.stream.key_dim(), writes.len());
        let state = &self.heads[head];
        let Scratch { logits, left, keys, .. } = scratch;
        let keys_of = |rows: Range<usize>| rows_of(self.stream.keys(), head, rows);
        let tokens = cast_rows(keys_of(writes), left);
        let dictionary = if state.rows() == 0 { cast_rows(keys_of(first..first + 1), keys) } else { &state.dict_k[..] };
        similarity.fill(R::neg_infinity());
        // `margin` holds the second best until the last tile.
        margin.fill(R::neg_infinity());
        for tile in tiles(dictionary.len() / dk) {
            let width = tile.len();
            let logits = room(logits, count * width);
            matmul(R::one(), (tokens, count, dk), &Transposed((&dictionary[tile.start * dk..tile.end * dk], width, dk)), R::zero(), logits);
            for (i, row) in logits.chunks(width).enumerate() {
                let (best, second) = R::top_two(row);
                let lower = if best > similarity[i] { similarity[i] } else { best };
                margin[i] = [lower, second].into_iter().fold(margin[i], |a, b| if b > a { b } else { a });
                if best > similarity[i] {
                    similarity[i] = best;
                    assignments[i] = (tile.start + row.iter().position(|&x| x == best).unwrap_or(0)) as i32;
                }
            }
        }
        // With a single centroid the second best is negative infinity, and the margin infinite as it should be.
        for (m, &mut s) in margin.iter_mut().zip(similarity) {
            *m = s - *m;
        }
    }
}

impl<R: Row> Layer for OvqCpu<R> {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let steps = self.position..self.position.saturating_add(chunks).min(self.config.sizes.len() - 1);
        if steps.is_empty() {
            return Ok(());
        }
        let mut written = self.written(steps.clone(), record);
        for step in steps.clone() {
            let chunk = self.chunk(step);
            self.read_state(&chunk, record, &mut written);
            let (stream, config) = (&self.stream, &self.config);
            let local = chunk.start - written.writes.start..chunk.end - written.writes.start;
            let update = |(head, (state, placed)): (usize, (&mut HeadState<R>, &mut Placed<R>))| {
                placed.select_margin[step - steps.start] = state.learn(stream, config, head, step, placed, local.clone());
            };
            if self.heads.len() == 1 {
                self.heads.iter_mut().zip(&mut written.placed).enumerate().for_each(update);
            } else {
                self.heads.par_iter_mut().zip(&mut written.placed).enumerate().for_each(update);
            }
        }
        self.position = steps.end;
        if record == Record::All {
            self.push(steps, written, out);
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        Ok(super::state::snapshot(&self.heads, self.position))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let Some(&rows) = self.config.sizes.get(snapshot.position) else {
            return Err(LayerError::Restore(format!("position {} is beyond the stream", snapshot.position)));
        };
        super::state::restore(&mut self.heads, snapshot, rows)?;
        self.position = snapshot.position;
        Ok(())
    }
}

impl<R: Row> OvqCpu<R> {
    fn push(&self, steps: Range<usize>, written: Written<R>, out: &mut TraceBlock) {
        let Written { reads, writes, outputs, placed } = written;
        let reals = |of: fn(&Placed<R>) -> &[R]| R::values(placed.iter().flat_map(|p| of(p).iter().copied()).collect());
        let wholes = |of: fn(&Placed<R>) -> &[i32]| Values::I32(placed.iter().flat_map(|p| of(p).iter().copied()).collect());
        out.push(trace::OUTPUTS, reads, R::values(outputs));
        out.push(trace::ASSIGNMENTS, writes.clone(), wholes(|p| &p.assignments));
        out.push(trace::SIMILARITY, writes.clone(), reals(|p| &p.similarity));
        out.push(trace::IS_NEW, writes.clone(), wholes(|p| &p.is_new));
        out.push(trace::ASSIGN_MARGIN, writes, reals(|p| &p.margin));
        out.push(trace::SELECT_MARGIN, steps.clone(), reals(|p| &p.select_margin));
        let sizes: Vec<i32> = self.config.sizes[steps.start + 1..=steps.end].iter().map(|&n| n as i32).collect();
        out.push(trace::SIZES, steps, Values::I32(sizes.repeat(self.heads.len())));
    }
}

/// The size of nearly equal blocks of at most [`BLOCK`] that `len` is cut into.
fn block(len: usize) -> usize {
    len.div_ceil(len.div_ceil(BLOCK).max(1)).max(1)
}

/// 0..len cut into tiles of [`TILE`], the last one shorter.
fn tiles(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(TILE).map(move |start| start..(start + TILE).min(len))
}

/// The running maximum and sum of a block of softmax rows.
#[derive(Debug, Default)]
struct Softmax<R> {
    max: Vec<R>,
    sum: Vec<R>,
}

impl<R: Row> Softmax<R> {
    fn start(&mut self, rows: usize) {
        self.max.clear();
        self.max.resize(rows, R::neg_infinity());
        self.sum.clear();
        self.sum.resize(rows, R::zero());
    }

    /// Turns logits into weights under the maximum so far, scaling what was summed under an older one.
    fn absorb(&mut self, r: usize, logits: &mut [R], max: R, out: &mut [R]) {
        if max > self.max[r] {
            let scale = (self.max[r] - max).exp();
            self.sum[r] = self.sum[r] * scale;
            for x in out {
                *x = *x * scale;
            }
            self.max[r] = max;
        }
        self.sum[r] = self.sum[r] + R::exp_and_sum(logits, self.max[r]);
    }

    fn finish(&self, out: &mut [R], dv: usize) {
        for (out, &sum) in out.chunks_mut(dv).zip(&self.sum) {
            for x in out {
                *x = *x / sum;
            }
        }
    }
}

/// A job's buffers, kept between jobs.
#[derive(Debug, Default)]
struct Scratch<R> {
    logits: Vec<R>,
    left: Vec<R>,
    keys: Vec<R>,
    values: Vec<R>,
    softmax: Softmax<R>,
}

/// As many [`Scratch`]es as jobs have run at once.
#[derive(Debug, Default)]
struct Pool<R>(Mutex<Vec<Scratch<R>>>);

impl<R: Row> Pool<R> {
    fn take(&self) -> Scratch<R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put(&self, scratch: Scratch<R>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }
}

/// The first `len` numbers of `buffer`, which grows where it must.
fn room<R: Row>(buffer: &mut Vec<R>, len: usize) -> &mut [R] {
    if buffer.len() < len {
        buffer.resize(len, R::zero());
    }
    &mut buffer[..len]
}

/// The stream's numbers in precision `R`.
fn cast_rows<'a, R: Row>(rows: &[f32], buffer: &'a mut Vec<R>) -> &'a [R] {
    buffer.clear();
    buffer.extend(rows.iter().map(|&x| R::from_f32(x)));
    buffer
}

/// A row-major matrix: numbers, rows, columns.
type Matrix<'a, R> = (&'a [R], usize, usize);

/// The right-hand side of a product.
enum Right<'a, R> {
    Plain(Matrix<'a, R>),
    Transposed(Matrix<'a, R>),
}
use Right::{Plain, Transposed};

/// out = alpha left right + beta out, all row-major.
fn matmul<R: Row>(alpha: R, left: Matrix<'_, R>, right: &Right<'_, R>, beta: R, out: &mut [R]) {
    fn view<R: Row>((numbers, rows, columns): Matrix<'_, R>) -> ArrayView2<'_, R> {
        ArrayView2::from_shape((rows, columns), &numbers[..rows * columns]).expect("the slice has rows * columns numbers")
    }
    let left = view(left);
    let right = match *right {
        Plain(m) => view(m),
        Transposed(m) => view(m).reversed_axes(),
    };
    let shape = (left.nrows(), right.ncols());
    let mut out = ArrayViewMut2::from_shape(shape, &mut out[..shape.0 * shape.1]).expect("the slice has rows * columns numbers");
    general_mat_mul(alpha, &left, &right, beta, &mut out);
}
