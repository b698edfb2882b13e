//! Softmax attention on the CPU: blocks of reads by blocks of keys, two matrix products each, reads in parallel.

use std::ops::Range;
use std::sync::Arc;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::{trace, visible};
use crate::layer::ovq::rows::Row;
use crate::layer::real::cast;
use crate::layer::{Layer, LayerError, Precision, Record, Setup, Snapshot};
use crate::stream::Stream;
use crate::trace::TraceBlock;

/// Reads that share one product.
const READS: usize = 64;
/// Keys that share one product. Blocks lie at multiples of it, whatever is read.
const KEYS: usize = 256;

/// Softmax attention over the last `window` writes, or over all.
#[derive(Debug)]
struct AttentionCpu<R> {
    stream: Arc<Stream>,
    window: Option<usize>,
    beta: R,
    chunk: usize,
    position: usize,
}

/// Builds it in the precision asked for.
pub(in crate::layer) fn build(setup: &Setup, window: Option<usize>, precision: Precision) -> Box<dyn Layer> {
    fn new<R: Row>(setup: &Setup, window: Option<usize>) -> AttentionCpu<R> {
        AttentionCpu { stream: Arc::clone(&setup.stream), window, beta: R::from_f64(setup.beta()), chunk: setup.chunk, position: 0 }
    }
    match precision {
        Precision::Single => Box::new(new::<f32>(setup, window)),
        Precision::Double => Box::new(new::<f64>(setup, window)),
    }
}

impl<R: Row> AttentionCpu<R> {
    /// Outputs of the reads `reads`, `[query heads, reads, dv]`.
    fn outputs(&self, reads: Range<usize>) -> Vec<R> {
        let (stream, dv) = (&*self.stream, self.stream.value_dim());
        let mut out = vec![R::zero(); stream.query_heads() * reads.len() * dv];
        if reads.is_empty() {
            return out;
        }
        out.par_chunks_mut(reads.len() * dv)
            .enumerate()
            .flat_map(|(head, out)| out.par_chunks_mut(READS * dv).enumerate().map(move |(block, out)| (head, block, out)))
            .for_each(|(head, block, out)| {
                let start = reads.start + block * READS;
                self.block(head, start..start + out.len() / dv, out);
            });
        out
    }

    /// Outputs of up to [`READS`] reads of one query head, `[reads, dv]`.
    fn block(&self, head: usize, reads: Range<usize>, out: &mut [R]) {
        let stream = &*self.stream;
        let kv = stream.kv_head_of(head);
        let queries = cast::<R>(stream.queries().slice(s![head, reads.clone(), ..]));
        let ranges: Vec<_> = stream.after()[reads].iter().map(|&a| visible(self.window, a)).collect();
        // `after` never decreases, so the first range starts first and the last ends last.
        let (first, last) = (ranges[0].start, ranges[ranges.len() - 1].end);
        let mut state = Online::new(queries.nrows(), stream.value_dim());
        for start in (first / KEYS * KEYS..last).step_by(KEYS) {
            let end = (start + KEYS).min(last);
            let rows = |a: &ndarray::Array3<f32>| cast::<R>(a.slice(s![kv, start..end, ..]));
            let (keys, values) = (rows(stream.keys()), rows(stream.values()));
            let mut logits = Array2::zeros((queries.nrows(), end - start));
            general_mat_mul(self.beta, &queries, &keys.t(), R::zero(), &mut logits);
            state.add(&mut logits, &values.view(), |r| within(&ranges[r], start..end));
        }
        state.finish(out);
    }
}

/// The part of `range` inside `block`, counted from the block's start; empty if they do not meet.
fn within(range: &Range<usize>, block: Range<usize>) -> Range<usize> {
    let (start, end) = (range.start.max(block.start), range.end.min(block.end));
    if start < end { start - block.start..end - block.start } else { 0..0 }
}

/// Softmax sums of some reads over the blocks seen so far, each relative to the largest logit so far.
struct Online<R> {
    max: Vec<R>,
    normaliser: Vec<R>,
    /// [reads, dv].
    numerator: Array2<R>,
}

impl<R: Row> Online<R> {
    fn new(reads: usize, dv: usize) -> Self {
        Self { max: vec![R::neg_infinity(); reads], normaliser: vec![R::zero(); reads], numerator: Array2::zeros((reads, dv)) }
    }

    /// Adds a block of `logits` [reads, keys] with its `values` [keys, dv]; read r sees the keys `visible(r)` of it.
    /// The logits become weights; those not seen become 0, whatever they were.
    fn add(&mut self, logits: &mut Array2<R>, values: &ArrayView2<'_, R>, visible: impl Fn(usize) -> Range<usize>) {
        for (r, mut row) in logits.axis_iter_mut(Axis(0)).enumerate() {
            let seen = visible(r);
            let Some(row) = row.as_slice_mut() else { continue };
            row[..seen.start].fill(R::zero());
            row[seen.end..].fill(R::zero());
            let row = &mut row[seen];
            if row.is_empty() {
                continue;
            }
            let largest = R::largest(row);
            if largest > self.max[r] {
                // Before the first key seen the sums are 0 and the maximum is minus infinity: their factor is exp(-inf) = 0.
                let factor = (self.max[r] - largest).exp();
                self.normaliser[r] = self.normaliser[r] * factor;
                self.numerator.row_mut(r).mapv_inplace(|x| x * factor);
                self.max[r] = largest;
            }
            self.normaliser[r] = self.normaliser[r] + R::exp_and_sum(row, self.max[r]);
        }
        general_mat_mul(R::one(), logits, values, R::one(), &mut self.numerator);
    }

    /// Every read sees at least one write, so no normaliser is 0.
    fn finish(self, out: &mut [R]) {
        let dv = self.numerator.ncols();
        for ((row, normaliser), out) in self.numerator.rows().into_iter().zip(&self.normaliser).zip(out.chunks_mut(dv)) {
            for (x, out) in row.iter().zip(out) {
                *out = *x / *normaliser;
            }
        }
    }
}

impl<R: Row> Layer for AttentionCpu<R> {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let end = self.position.saturating_add(chunks).min(self.stream.chunks(self.chunk));
        if record == Record::All && end > self.position {
            let writes = self.stream.chunk_range(self.chunk, self.position).start..self.stream.chunk_range(self.chunk, end - 1).end;
            let reads = self.stream.reads_within(writes);
            out.push(trace::OUTPUTS, reads.clone(), R::values(self.outputs(reads)));
        }
        self.position = end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        Ok(Snapshot { position: self.position, arrays: Vec::new() })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        self.position = super::restored(snapshot, &self.stream, self.chunk)?;
        Ok(())
    }
}
