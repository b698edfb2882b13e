//! What OVQ and VQ do with a dictionary on the CPU: attention over its rows and a chunk's own pairs, and the nearest row of
//! each write. Blocks and tiles are of fixed size, so results depend neither on the number of threads nor on how many chunks a
//! call advances.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ndarray::{ArrayView2, ArrayViewMut2, linalg::general_mat_mul};

use super::rows::Row;
use super::state::rows_of;
use crate::stream::Stream;

/// Reads or tokens in a job: enough for the matrix products to be worth their packing, few enough to share a chunk out.
pub(in crate::layer) const BLOCK: usize = 64;
/// Dictionary rows taken at a time, so that a block's logits stay in the second-level cache.
const TILE: usize = 512;
/// Multiply-adds under which a chunk is not worth handing to other threads.
pub(in crate::layer) const SERIAL_MADDS: usize = 200_000;

/// The rows of a dictionary that are in use.
#[derive(Debug, Clone, Copy)]
pub(in crate::layer) struct Dictionary<'a, R> {
    /// [n, dk] row-major.
    pub(in crate::layer) keys: &'a [R],
    /// [n, dv] row-major.
    pub(in crate::layer) values: &'a [R],
    /// log counts `[n]`, where they are added to the logits; of a row that weighs nothing the smallest number there is.
    pub(in crate::layer) log_counts: Option<&'a [R]>,
    /// n.
    pub(in crate::layer) rows: usize,
}

/// Fills the (emptied) buffer with the keys under which the chunk's own writes are attended to; the range is of the stream.
pub(in crate::layer) type ChunkKeys<'a, R> = &'a (dyn Fn(Range<usize>, &mut Vec<R>) + Sync);

/// The reads of one job, and how they look.
#[derive(Debug, Clone, Copy)]
pub(in crate::layer) struct Reads<'a, R> {
    pub(in crate::layer) stream: &'a Stream,
    /// The logit scale.
    pub(in crate::layer) beta: R,
    /// The query head.
    pub(in crate::layer) head: usize,
    /// The chunk's first write.
    pub(in crate::layer) start: usize,
}

impl<R: Row> Reads<'_, R> {
    /// Softmax over the dictionary and the chunk's own writes before `after`, tile by tile with a running maximum, for the
    /// reads `reads` of the chunk; `out` is [reads, dv], zero.
    pub(in crate::layer) fn answer(
        &self,
        reads: Range<usize>,
        dictionary: &Dictionary<'_, R>,
        chunk_keys: ChunkKeys<'_, R>,
        out: &mut [R],
        scratch: &mut Scratch<R>,
    ) {
        let Self { stream, beta, head, start: chunk_start } = *self;
        let (dk, dv, count) = (stream.key_dim(), stream.value_dim(), reads.len());
        let kv = stream.kv_head_of(head);
        let Scratch { logits, left, keys, values, softmax } = scratch;
        let queries = (cast_rows(rows_of(stream.queries(), head, reads.clone()), left), count, dk);
        softmax.start(count);
        for tile in tiles(dictionary.rows) {
            let width = tile.len();
            let logits = room(logits, count * width);
            matmul(beta, queries, &Transposed((&dictionary.keys[tile.start * dk..], width, dk)), R::zero(), logits);
            for (row, (logits, out)) in logits.chunks_mut(width).zip(out.chunks_mut(dv)).enumerate() {
                let max = match dictionary.log_counts {
                    Some(log_counts) => R::add_and_max(logits, &log_counts[tile.clone()]),
                    None => R::largest(logits),
                };
                softmax.absorb(row, logits, max, out);
            }
            matmul(R::one(), (logits, count, width), &Plain((&dictionary.values[tile.start * dv..], width, dv)), R::one(), out);
        }
        // The chunk's own pairs, as far as the last of these reads may see.
        let visible: &[u32] = &stream.after()[reads];
        for tile in tiles(visible.last().map_or(0, |&after| after as usize - chunk_start)) {
            let (start, width) = (chunk_start + tile.start, tile.len());
            keys.clear();
            chunk_keys(start..start + width, keys);
            let values = cast_rows(rows_of(stream.values(), kv, start..start + width), values);
            let logits = room(logits, count * width);
            matmul(beta, queries, &Transposed((&keys[..], width, dk)), R::zero(), logits);
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
}

/// What is found of each write: its nearest row, the similarity to it, and its lead over the second.
#[derive(Debug)]
pub(in crate::layer) struct Nearest<'a, R> {
    pub(in crate::layer) assignments: &'a mut [i32],
    pub(in crate::layer) similarity: &'a mut [R],
    /// Infinite where there is no second row.
    pub(in crate::layer) margin: &'a mut [R],
}

impl<R: Row> Nearest<'_, R> {
    /// The nearest of the rows `dictionary` [n, dk] of each of the keys `keys` [writes, dk]; of equally near ones the lower.
    /// Those in `dead`, ascending, are no candidates.
    pub(in crate::layer) fn find(&mut self, keys: &[f32], dk: usize, dictionary: &[R], dead: &[u32], scratch: &mut Scratch<R>) {
        let Self { assignments, similarity, margin } = self;
        let count = keys.len() / dk;
        let Scratch { logits, left, .. } = scratch;
        let tokens = cast_rows(keys, left);
        similarity.fill(R::neg_infinity());
        // `margin` holds the second best until the last tile.
        margin.fill(R::neg_infinity());
        for tile in tiles(dictionary.len() / dk) {
            let width = tile.len();
            let logits = room(logits, count * width);
            matmul(R::one(), (tokens, count, dk), &Transposed((&dictionary[tile.start * dk..tile.end * dk], width, dk)), R::zero(), logits);
            let among = dead.partition_point(|&d| (d as usize) < tile.start)..dead.partition_point(|&d| (d as usize) < tile.end);
            for (i, row) in logits.chunks_mut(width).enumerate() {
                dead[among.clone()].iter().for_each(|&d| row[d as usize - tile.start] = R::neg_infinity());
                let (best, second) = R::top_two(row);
                let lower = if best > similarity[i] { similarity[i] } else { best };
                margin[i] = [lower, second].into_iter().fold(margin[i], |a, b| if b > a { b } else { a });
                if best > similarity[i] {
                    similarity[i] = best;
                    assignments[i] = (tile.start + row.iter().position(|&x| x == best).unwrap_or(0)) as i32;
                }
            }
        }
        // With a single row the second best is negative infinity, and the margin infinite as it should be.
        for (m, &mut s) in margin.iter_mut().zip(similarity.iter_mut()) {
            *m = s - *m;
        }
    }
}

/// The size of nearly equal blocks of at most [`BLOCK`] that `len` is cut into.
pub(in crate::layer) fn block(len: usize) -> usize {
    len.div_ceil(len.div_ceil(BLOCK).max(1)).max(1)
}

/// 0..len cut into tiles of [`TILE`], the last one shorter.
fn tiles(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(TILE).map(move |start| start..(start + TILE).min(len))
}

/// The running maximum and sum of a block of softmax rows.
#[derive(Debug, Default)]
pub(in crate::layer) struct Softmax<R> {
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
pub(in crate::layer) struct Scratch<R> {
    logits: Vec<R>,
    left: Vec<R>,
    keys: Vec<R>,
    values: Vec<R>,
    softmax: Softmax<R>,
}

/// As many [`Scratch`]es as jobs have run at once.
#[derive(Debug, Default)]
pub(in crate::layer) struct Pool<R>(Mutex<Vec<Scratch<R>>>);

impl<R: Row> Pool<R> {
    pub(in crate::layer) fn take(&self) -> Scratch<R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(in crate::layer) fn put(&self, scratch: Scratch<R>) {
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
pub(in crate::layer) fn cast_rows<'a, R: Row>(rows: &[f32], buffer: &'a mut Vec<R>) -> &'a [R] {
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
