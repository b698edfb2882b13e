//! VQ attention on the CPU, in float32 and float64: the twin that the kernels are held against.
//!
//! For each chunk: the code of every write, side by side in blocks; then every read over the codes in use and the chunk's own
//! writes under the keys of their codes, side by side in blocks; then the update of each head.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array3, Axis};
use rayon::prelude::*;

use super::state::HeadState;
use super::{state, trace};
use crate::layer::ovq::attend::{Nearest, Pool, Reads, SERIAL_MADDS, block};
use crate::layer::ovq::rows::Row;
use crate::layer::ovq::state::rows_of;
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot};
use crate::stream::Stream;
use crate::trace::{TraceBlock, Values};

/// VQ attention over one stream, all heads.
#[derive(Debug)]
pub(super) struct VqCpu<R: Row> {
    stream: Arc<Stream>,
    chunk: usize,
    beta: R,
    heads: Vec<HeadState<R>>,
    position: usize,
    scratch: Pool<R>,
}

/// Where the writes of one head went, over some chunks.
#[derive(Debug, Clone)]
struct Placed<R> {
    codes: Vec<i32>,
    similarity: Vec<R>,
    margin: Vec<R>,
    /// Codes in use after each chunk.
    sizes: Vec<i32>,
}

impl<R: Row> VqCpu<R> {
    pub(super) fn new(setup: &Setup, codebook: &Array3<f32>) -> Self {
        let stream = Arc::clone(&setup.stream);
        let books: Vec<Arc<Vec<R>>> =
            codebook.axis_iter(Axis(0)).map(|book| Arc::new(book.iter().map(|&x| R::from_f32(x)).collect())).collect();
        let book = |head: usize| &books[head.min(books.len() - 1)];
        let heads = (0..stream.kv_heads()).map(|h| HeadState::new(book(h), stream.key_dim(), stream.value_dim())).collect();
        Self { stream, chunk: setup.chunk, beta: R::from_f64(setup.beta()), heads, position: 0, scratch: Pool::default() }
    }

    fn chunk(&self, index: usize) -> Range<usize> {
        self.stream.chunk_range(self.chunk, index)
    }

    /// The codes of the chunk's writes, which stand at `local` in `placed`.
    fn quantise(&self, chunk: &Range<usize>, placed: &mut [Placed<R>], local: &Range<usize>) {
        let (dk, size) = (self.stream.key_dim(), block(chunk.len()));
        let mut jobs = Vec::new();
        for (head, placed) in placed.iter_mut().enumerate() {
            let keys = rows_of(self.stream.keys(), head, chunk.clone());
            let parts = placed.codes[local.clone()]
                .chunks_mut(size)
                .zip(placed.similarity[local.clone()].chunks_mut(size))
                .zip(placed.margin[local.clone()].chunks_mut(size));
            for (((assignments, similarity), margin), keys) in parts.zip(keys.chunks(size * dk)) {
                jobs.push((head, keys, Nearest { assignments, similarity, margin }));
            }
        }
        let run = |(head, keys, mut found): (usize, &[f32], Nearest<'_, R>)| {
            let mut scratch = self.scratch.take();
            found.find(keys, dk, &self.heads[head].codebook, &[], &mut scratch);
            self.scratch.put(scratch);
        };
        let codes = self.heads[0].counts.len();
        if jobs.len() * size * codes * dk < SERIAL_MADDS {
            jobs.into_iter().for_each(run);
        } else {
            jobs.into_par_iter().with_max_len(1).for_each(run);
        }
    }

    /// The chunk's reads, into `outputs` [query heads, `all`, dv].
    fn answer(&self, chunk: &Range<usize>, placed: &[Placed<R>], first_write: usize, outputs: &mut [R], all: &Range<usize>) {
        let (stream, dk, dv) = (&*self.stream, self.stream.key_dim(), self.stream.value_dim());
        let reads = stream.reads_within(chunk.clone());
        if reads.is_empty() {
            return;
        }
        let local = (reads.start - all.start) * dv..(reads.end - all.start) * dv;
        let size = block(reads.len());
        let mut jobs = Vec::new();
        for (head, outputs) in outputs.chunks_mut(all.len() * dv).enumerate() {
            for (i, out) in outputs[local.clone()].chunks_mut(size * dv).enumerate() {
                jobs.push((head, reads.start + i * size..(reads.start + (i + 1) * size).min(reads.end), out));
            }
        }
        let run = |(head, reads, out): (usize, Range<usize>, &mut [R])| {
            let kv = stream.kv_head_of(head);
            let book = &self.heads[kv].codebook;
            let coded = |writes: Range<usize>, keys: &mut Vec<R>| {
                for &code in &placed[kv].codes[writes.start - first_write..writes.end - first_write] {
                    keys.extend_from_slice(&book[code as usize * dk..(code as usize + 1) * dk]);
                }
            };
            let mut scratch = self.scratch.take();
            let reader = Reads { stream, beta: self.beta, head, start: chunk.start };
            reader.answer(reads, &self.heads[kv].dictionary(), &coded, out, &mut scratch);
            self.scratch.put(scratch);
        };
        let rows = self.heads[0].in_use() + chunk.len();
        if jobs.len() * size * rows * (dk + dv) < SERIAL_MADDS {
            jobs.into_iter().for_each(run);
        } else {
            jobs.into_par_iter().with_max_len(1).for_each(run);
        }
    }

    fn push(steps: Range<usize>, writes: Range<usize>, reads: Range<usize>, outputs: Vec<R>, placed: &[Placed<R>], out: &mut TraceBlock) {
        let reals = |of: fn(&Placed<R>) -> &[R]| R::values(placed.iter().flat_map(|p| of(p).iter().copied()).collect());
        let wholes = |of: fn(&Placed<R>) -> &[i32]| Values::I32(placed.iter().flat_map(|p| of(p).iter().copied()).collect());
        out.push(trace::OUTPUTS, reads, R::values(outputs));
        out.push(trace::ASSIGNMENTS, writes.clone(), wholes(|p| &p.codes));
        out.push(trace::SIMILARITY, writes.clone(), reals(|p| &p.similarity));
        out.push(trace::ASSIGN_MARGIN, writes, reals(|p| &p.margin));
        out.push(trace::SIZES, steps, wholes(|p| &p.sizes));
    }
}

impl<R: Row> Layer for VqCpu<R> {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let steps = self.position..self.position.saturating_add(chunks).min(self.stream.chunks(self.chunk));
        if steps.is_empty() {
            return Ok(());
        }
        let writes = self.chunk(steps.start).start..self.chunk(steps.end - 1).end;
        let reads = if record == Record::All { self.stream.reads_within(writes.clone()) } else { 0..0 };
        let mut outputs = vec![R::zero(); self.stream.query_heads() * reads.len() * self.stream.value_dim()];
        let (none, empty) = (vec![0; writes.len()], vec![R::zero(); writes.len()]);
        let placed = Placed { codes: none, similarity: empty.clone(), margin: empty, sizes: vec![0; steps.len()] };
        let mut placed = vec![placed; self.heads.len()];
        for step in steps.clone() {
            let chunk = self.chunk(step);
            let local = chunk.start - writes.start..chunk.end - writes.start;
            self.quantise(&chunk, &mut placed, &local);
            if !reads.is_empty() {
                self.answer(&chunk, &placed, writes.start, &mut outputs, &reads);
            }
            for (head, (state, placed)) in self.heads.iter_mut().zip(&mut placed).enumerate() {
                state.update(rows_of(self.stream.values(), head, chunk.clone()), &placed.codes[local.clone()]);
                placed.sizes[step - steps.start] = state.in_use() as i32;
            }
        }
        self.position = steps.end;
        if record == Record::All {
            Self::push(steps, writes, reads, outputs, &placed, out);
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        Ok(state::snapshot(&self.heads, self.position))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        snapshot.check_position(&self.stream, self.chunk)?;
        state::restore(&mut self.heads, snapshot)?;
        self.position = snapshot.position;
        Ok(())
    }
}
