//! Linear attention on the CPU: matrix products over blocks of writes, key/value heads in parallel.

use std::ops::Range;
use std::sync::Arc;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, Axis, s};
use rayon::prelude::*;

use super::{Epsilon, NAME, NORMALISER, trace};
use crate::layer::feature::FeatureMap;
use crate::layer::real::{Real, cast};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::stream::Stream;
use crate::trace::TraceBlock;

/// Numbers in the features of one block of writes, or of reads: what bounds their memory where D is large.
const FEATURE_NUMBERS: usize = 1 << 22;

/// What one key/value head has added up.
#[derive(Debug, Clone)]
struct Head<R> {
    /// H [D, dv].
    state: Array2<R>,
    /// s [D].
    normaliser: Array1<R>,
}

/// A running linear-attention layer.
#[derive(Debug)]
pub(super) struct LinearCpu<R> {
    stream: Arc<Stream>,
    map: FeatureMap<R>,
    epsilon: Epsilon,
    chunk: usize,
    position: usize,
    heads: Vec<Head<R>>,
}

impl<R: Real> LinearCpu<R> {
    /// # Errors
    /// If the feature map's arrays do not fit.
    pub(super) fn new(setup: &Setup) -> Result<Self, LayerError> {
        let stream = Arc::clone(&setup.stream);
        let map = FeatureMap::new(NAME, setup)?;
        let empty = Head { state: Array2::zeros((map.dim(), stream.value_dim())), normaliser: Array1::zeros(map.dim()) };
        let heads = vec![empty; stream.kv_heads()];
        Ok(Self { stream, map, epsilon: Epsilon::of(&setup.params), chunk: setup.chunk, position: 0, heads })
    }
}

/// What the reads of one key/value head's query heads get, one head after the other.
struct Answers<'a, R> {
    /// `[query heads, reads, dv]`.
    outputs: &'a mut [R],
    /// `[query heads, reads]`.
    normalisers: &'a mut [R],
}

/// What the heads share while they run.
struct Run<'a, R> {
    stream: &'a Stream,
    map: &'a FeatureMap<R>,
    epsilon: Epsilon,
    /// Rows of features made at once.
    rows: usize,
    /// All reads of the run.
    reads: Range<usize>,
    record: Record,
}

impl<R: Real> Run<'_, R> {
    /// Runs one key/value head over the chunks.
    fn head(&self, index: usize, head: &mut Head<R>, chunks: impl Iterator<Item = Range<usize>>, out: &mut Answers<'_, R>) {
        for chunk in chunks {
            for start in chunk.clone().step_by(self.rows) {
                let block = start..(start + self.rows).min(chunk.end);
                let rows = |a: &ndarray::Array3<f32>| cast::<R>(a.slice(s![index, block.clone(), ..]));
                let values = rows(self.stream.values());
                let features = self.map.keys(index, &rows(self.stream.keys()).view());
                if self.record == Record::All {
                    self.reads(index, head, &block, &features, &values, out);
                }
                general_mat_mul(R::one(), &features.t(), &values, R::one(), &mut head.state);
                head.normaliser.zip_mut_with(&features.sum_axis(Axis(0)), |s, &phi| *s = *s + phi);
            }
        }
    }

    /// The reads of a block of writes, before the block enters the state.
    fn reads(
        &self,
        index: usize,
        head: &Head<R>,
        block: &Range<usize>,
        features: &Array2<R>,
        values: &Array2<R>,
        out: &mut Answers<'_, R>,
    ) {
        let (stream, dv) = (self.stream, values.ncols());
        let group = stream.query_heads() / stream.kv_heads();
        let all = stream.reads_within(block.clone());
        for start in all.clone().step_by(self.rows) {
            let reads = start..(start + self.rows).min(all.end);
            for member in 0..group {
                let query_head = index * group + member;
                let queries = cast::<R>(stream.queries().slice(s![query_head, reads.clone(), ..]));
                let phi = self.map.queries(query_head, &queries.view());
                let at = member * self.reads.len() + reads.start - self.reads.start;
                let seen = Seen { after: &stream.after()[reads.clone()], start: block.start, epsilon: self.epsilon };
                let own = &mut Answers {
                    outputs: &mut out.outputs[at * dv..(at + reads.len()) * dv],
                    normalisers: &mut out.normalisers[at..at + reads.len()],
                };
                head.read(&phi, features, values, seen, own);
            }
        }
    }
}

/// What reads see: so many writes, of which those before `start` are in the state.
#[derive(Debug, Clone, Copy)]
struct Seen<'a> {
    after: &'a [u32],
    start: usize,
    epsilon: Epsilon,
}

impl<R: Real> Head<R> {
    /// Answers reads with features `phi` [reads, D]; each sees the state and the writes of the block before its `after`.
    fn read(&self, phi: &Array2<R>, features: &Array2<R>, values: &Array2<R>, seen: Seen<'_>, out: &mut Answers<'_, R>) {
        let mut numerator = phi.dot(&self.state);
        let mut normaliser = phi.dot(&self.normaliser);
        let mut weights = phi.dot(&features.t());
        for ((mut row, normaliser), &after) in weights.rows_mut().into_iter().zip(&mut normaliser).zip(seen.after) {
            let seen = after as usize - seen.start;
            row.slice_mut(s![seen..]).fill(R::zero());
            *normaliser = *normaliser + row.slice(s![..seen]).iter().copied().sum();
        }
        general_mat_mul(R::one(), &weights, values, R::one(), &mut numerator);
        let each = numerator.rows().into_iter().zip(&normaliser).zip(seen.after);
        for (((row, normaliser), &after), out) in each.zip(out.outputs.chunks_mut(values.ncols())) {
            let whole = *normaliser + seen.epsilon.of_sum(after);
            for (x, out) in row.iter().zip(out) {
                *out = *x / whole;
            }
        }
        out.normalisers.iter_mut().zip(&normaliser).for_each(|(to, from)| *to = *from);
    }
}

impl<R: Real> Layer for LinearCpu<R> {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let stream = &*self.stream;
        let (start, end) = (self.position, self.position.saturating_add(chunks).min(stream.chunks(self.chunk)));
        if start == end {
            return Ok(());
        }
        let writes = stream.chunk_range(self.chunk, start).start..stream.chunk_range(self.chunk, end - 1).end;
        let reads = if record == Record::All { stream.reads_within(writes) } else { 0..0 };
        let mut outputs = vec![R::zero(); stream.query_heads() * reads.len() * stream.value_dim()];
        let mut normalisers = vec![R::zero(); stream.query_heads() * reads.len()];
        let own = normalisers.len() / stream.kv_heads();
        let rows = (FEATURE_NUMBERS / self.map.dim()).clamp(1, self.chunk);
        let run = Run { stream, map: &self.map, epsilon: self.epsilon, rows, reads: reads.clone(), record };
        let chunk = self.chunk;
        let mut answers: Vec<Answers<'_, R>> = Vec::with_capacity(self.heads.len());
        let (mut outputs_left, mut normalisers_left) = (outputs.as_mut_slice(), normalisers.as_mut_slice());
        for _ in 0..self.heads.len() {
            let (outputs, rest) = outputs_left.split_at_mut(own * stream.value_dim());
            let (normalisers, others) = normalisers_left.split_at_mut(own);
            answers.push(Answers { outputs, normalisers });
            (outputs_left, normalisers_left) = (rest, others);
        }
        self.heads.par_iter_mut().zip(answers).enumerate().for_each(|(index, (head, mut out))| {
            run.head(index, head, (start..end).map(|c| stream.chunk_range(chunk, c)), &mut out);
        });
        if record == Record::All {
            out.push(trace::OUTPUTS, reads.clone(), R::values(outputs));
            out.push(NORMALISER, reads, R::values(normalisers));
        }
        self.position = end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let (h, d, dv) = (self.heads.len(), self.map.dim(), self.stream.value_dim());
        let state = self.heads.iter().flat_map(|h| h.state.iter().copied()).collect();
        let normaliser = self.heads.iter().flat_map(|h| h.normaliser.iter().copied()).collect();
        let arrays = vec![
            StateArray { name: "state", shape: vec![h, d, dv], values: R::values(state) },
            StateArray { name: "normaliser", shape: vec![h, d], values: R::values(normaliser) },
        ];
        Ok(Snapshot { position: self.position, arrays })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let (h, d, dv) = (self.heads.len(), self.map.dim(), self.stream.value_dim());
        snapshot.check_position(&self.stream, self.chunk)?;
        let state = snapshot.numbers::<R>("state", &[h, d, dv])?;
        let normaliser = snapshot.numbers::<R>("normaliser", &[h, d])?;
        for ((head, state), normaliser) in self.heads.iter_mut().zip(state.chunks(d * dv)).zip(normaliser.chunks(d)) {
            head.state.iter_mut().zip(state).for_each(|(to, from)| *to = *from);
            head.normaliser.iter_mut().zip(normaliser).for_each(|(to, from)| *to = *from);
        }
        self.position = snapshot.position;
        Ok(())
    }
}
