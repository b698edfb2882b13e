//! The recurrent layers on the CPU: write by write, with blocks of the state's columns in parallel.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayView1, s};
use rayon::prelude::*;

use super::{Config, trace};
use crate::layer::real::Real;
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::stream::Stream;
use crate::trace::TraceBlock;

/// Columns of the state that one task runs.
const COLUMNS: usize = 32;

/// Some columns of one key/value head's state.
#[derive(Debug, Clone)]
struct Block<R> {
    head: usize,
    columns: Range<usize>,
    /// [dk, columns].
    state: Vec<R>,
}

/// What a block's columns add to the trace of a run.
struct Written<R> {
    /// [query heads of the head, reads, columns].
    outputs: Vec<R>,
    /// Sum of squares over the columns of v - S^T k of each write.
    errors: Vec<R>,
    /// Sum of squares of the block's numbers after each chunk.
    squares: Vec<R>,
}

/// A running recurrent layer.
#[derive(Debug)]
pub(super) struct RecurrentCpu<R> {
    stream: Arc<Stream>,
    config: Config,
    chunk: usize,
    position: usize,
    /// Head by head, and in a head by columns.
    blocks: Vec<Block<R>>,
}

impl<R: Real> RecurrentCpu<R> {
    pub(super) fn new(config: Config, setup: &Setup) -> Self {
        let stream = Arc::clone(&setup.stream);
        let (dk, dv) = (stream.key_dim(), stream.value_dim());
        let starts = (0..stream.kv_heads()).flat_map(|head| (0..dv).step_by(COLUMNS).map(move |start| (head, start)));
        let block = |(head, start): (usize, usize)| {
            let columns = start..(start + COLUMNS).min(dv);
            Block { head, state: vec![R::zero(); dk * columns.len()], columns }
        };
        let blocks = starts.map(block).collect();
        Self { stream, config, chunk: setup.chunk, position: 0, blocks }
    }

    fn blocks_per_head(&self) -> usize {
        self.stream.value_dim().div_ceil(COLUMNS)
    }
}

/// What the blocks share while they run.
struct Run<'a> {
    stream: &'a Stream,
    config: &'a Config,
    chunks: Vec<Range<usize>>,
    /// All reads of the run.
    reads: Range<usize>,
    record: Record,
}

impl Run<'_> {
    /// A key or query as the rule takes it.
    fn row<R: Real>(&self, row: ArrayView1<'_, f32>, into: &mut [R]) {
        let scale = self.config.scale(row);
        into.iter_mut().zip(row).for_each(|(to, &x)| *to = R::from_f64(f64::from(x) * scale));
    }

    fn block<R: Real>(&self, block: &mut Block<R>) -> Written<R> {
        let (stream, config, head) = (self.stream, self.config, block.head);
        let group = stream.query_heads() / stream.kv_heads();
        let width = block.columns.len();
        let mut written = Written { outputs: vec![R::zero(); group * self.reads.len() * width], errors: Vec::new(), squares: Vec::new() };
        let (mut row, mut change) = (vec![R::zero(); stream.key_dim()], vec![R::zero(); width]);
        let mut next = self.reads.start;
        for chunk in &self.chunks {
            for write in chunk.clone() {
                self.row(stream.keys().slice(s![head, write, ..]), &mut row);
                let values = stream.values().slice(s![head, write, block.columns.clone()]);
                change.iter_mut().zip(values).for_each(|(to, &v)| *to = R::from_f32(v));
                let (decay, rate) = (config.decay(stream, head, write), config.rate(stream, head, write));
                if config.rule.erases() {
                    written.errors.push(block.replace(&row, decay, rate, &mut change));
                } else {
                    block.add(&row, decay, rate, &mut change);
                }
                while next < self.reads.end && stream.after()[next] as usize == write + 1 {
                    for member in 0..group {
                        self.row(stream.queries().slice(s![head * group + member, next, ..]), &mut row);
                        let at = (member * self.reads.len() + next - self.reads.start) * width;
                        block.answer(&row, &mut written.outputs[at..at + width]);
                    }
                    next += 1;
                }
            }
            if self.record == Record::All {
                written.squares.push(block.state.iter().map(|&x| x * x).sum());
            }
        }
        written
    }
}

impl<R: Real> Block<R> {
    /// The delta rule. `value` is used up; returns the sum of squares of what the state was wrong by.
    fn replace(&mut self, key: &[R], decay: R, rate: R, value: &mut [R]) -> R {
        let mut answer = [R::zero(); COLUMNS];
        let answer = &mut answer[..value.len()];
        for (row, &k) in self.state.chunks_exact_mut(value.len()).zip(key) {
            for (s, a) in row.iter_mut().zip(answer.iter_mut()) {
                *s = *s * decay;
                *a = *a + k * *s;
            }
        }
        let mut error = R::zero();
        for (v, &a) in value.iter_mut().zip(&*answer) {
            let off = *v - a;
            error = error + off * off;
            *v = rate * off;
        }
        for (row, &k) in self.state.chunks_exact_mut(value.len()).zip(key) {
            for (s, &d) in row.iter_mut().zip(&*value) {
                *s = *s + k * d;
            }
        }
        error
    }

    /// Mamba-2's sum. `value` is used up.
    fn add(&mut self, key: &[R], decay: R, rate: R, value: &mut [R]) {
        for v in value.iter_mut() {
            *v = rate * *v;
        }
        for (row, &k) in self.state.chunks_exact_mut(value.len()).zip(key) {
            for (s, &d) in row.iter_mut().zip(&*value) {
                *s = *s * decay + k * d;
            }
        }
    }

    /// S^T q over the block's columns; `out` is zero.
    fn answer(&self, query: &[R], out: &mut [R]) {
        for (row, &q) in self.state.chunks_exact(out.len()).zip(query) {
            for (o, &s) in out.iter_mut().zip(row) {
                *o = *o + q * s;
            }
        }
    }
}

/// Sums of squares of all blocks of each head, and their roots: `[heads, entries]`.
fn roots<'a, R: Real>(written: &'a [Written<R>], per_head: usize, squares: impl Fn(&'a Written<R>) -> &'a [R]) -> Vec<R> {
    let head = |blocks: &'a [Written<R>]| {
        let entries = blocks.first().map_or(0, |b| squares(b).len());
        (0..entries).map(|i| blocks.iter().map(|b| squares(b)[i]).sum::<R>().sqrt()).collect::<Vec<_>>()
    };
    written.chunks(per_head).flat_map(head).collect()
}

impl<R: Real> Layer for RecurrentCpu<R> {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let stream = &*self.stream;
        let (start, end) = (self.position, self.position.saturating_add(chunks).min(stream.chunks(self.chunk)));
        if start == end {
            return Ok(());
        }
        let chunks: Vec<_> = (start..end).map(|c| stream.chunk_range(self.chunk, c)).collect();
        let writes = chunks[0].start..chunks[chunks.len() - 1].end;
        let reads = if record == Record::All { stream.reads_within(writes.clone()) } else { 0..0 };
        let run = Run { stream, config: &self.config, chunks, reads: reads.clone(), record };
        let written: Vec<_> = self.blocks.par_iter_mut().map(|block| run.block(block)).collect();
        if record == Record::All {
            let (dv, group) = (stream.value_dim(), stream.query_heads() / stream.kv_heads());
            let mut outputs = vec![R::zero(); stream.query_heads() * reads.len() * dv];
            for (block, written) in self.blocks.iter().zip(&written) {
                let rows = outputs.chunks_exact_mut(dv).skip(block.head * group * reads.len());
                for (row, own) in rows.zip(written.outputs.chunks_exact(block.columns.len())) {
                    row[block.columns.clone()].copy_from_slice(own);
                }
            }
            let per_head = self.blocks_per_head();
            out.push(trace::OUTPUTS, reads, R::values(outputs));
            out.push(trace::STATE_NORM, start..end, R::values(roots(&written, per_head, |w| &w.squares)));
            if self.config.rule.erases() {
                out.push(trace::WRITE_ERROR, writes, R::values(roots(&written, per_head, |w| &w.errors)));
            }
        }
        self.position = end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let (h, dk, dv) = (self.stream.kv_heads(), self.stream.key_dim(), self.stream.value_dim());
        let mut state = vec![R::zero(); h * dk * dv];
        for block in &self.blocks {
            let rows = state.chunks_exact_mut(dv).skip(block.head * dk);
            for (row, own) in rows.zip(block.state.chunks_exact(block.columns.len())) {
                row[block.columns.clone()].copy_from_slice(own);
            }
        }
        let arrays = vec![StateArray { name: "state", shape: vec![h, dk, dv], values: R::values(state) }];
        Ok(Snapshot { position: self.position, arrays })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let (h, dk, dv) = (self.stream.kv_heads(), self.stream.key_dim(), self.stream.value_dim());
        snapshot.check_position(&self.stream, self.chunk)?;
        let state = snapshot.numbers::<R>("state", &[h, dk, dv])?;
        for block in &mut self.blocks {
            let rows = state.chunks_exact(dv).skip(block.head * dk);
            for (own, row) in block.state.chunks_exact_mut(block.columns.len()).zip(rows) {
                own.copy_from_slice(&row[block.columns.clone()]);
            }
        }
        self.position = snapshot.position;
        Ok(())
    }
}
