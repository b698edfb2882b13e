//! `LoLA` on the CPU, in either precision: what the GPU kernels are held against.

use std::ops::Range;
use std::sync::Arc;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::config::{Config, Recorded, Score, Step};
use super::hand::EMPTY;
use super::score::{self, add_kernel_errors};
use super::trace::{HeadTrace, channel, kept_whole};
use crate::layer::feature::FeatureMap;
use crate::layer::real::{EPSILON, Real, cast};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::session::hand::{self, Hand};
use crate::stream::Stream;
use crate::trace::{TraceBlock, Values};

/// Features that are held at once, by each thread: 1 to 2 MiB.
const FEATURE_NUMBERS: usize = 1 << 18;
/// Logits that are held at once, by each thread.
const LOGIT_NUMBERS: usize = 1 << 20;
/// Reads that are answered together, at most.
const READ_ROWS: usize = 64;

/// What the heads share.
#[derive(Debug)]
struct Shared<R> {
    config: Config,
    stream: Arc<Stream>,
    map: FeatureMap<R>,
    /// w of each query head.
    linear_weights: Vec<f64>,
    /// Which pairs are kept by hand, and from when on.
    hands: Arc<[Hand]>,
}

/// One key/value head's memory (the window is the stream itself).
#[derive(Debug, Clone)]
struct Head<R> {
    /// H [D, dv].
    state: Array2<R>,
    /// s [D].
    normaliser: Array1<R>,
    /// The ids in the cache, ascending.
    cached: Vec<usize>,
    /// What each write is scored by, for the scores that are not made at the update: drawn once, or the attention received so
    /// far. Else empty.
    given: Vec<R>,
}

/// A running layer.
#[derive(Debug)]
pub struct Lola<R> {
    shared: Shared<R>,
    heads: Vec<Head<R>>,
    position: usize,
}

/// What one key/value head wrote: its steps, and its query heads' reads one after the other.
struct HeadOutput<R> {
    steps: HeadTrace<R>,
    /// For each query head of the group, [reads, dv].
    outputs: Vec<Vec<R>>,
    /// For each query head of the group, [reads, 3].
    shares: Vec<Vec<R>>,
    /// For each query head of the group, the state's part of the normaliser `[reads]`.
    normalisers: Vec<Vec<R>>,
}

impl<R: Real> Lola<R> {
    /// A layer at the start of its stream.
    ///
    /// # Errors
    /// If the feature map's arrays do not fit.
    pub fn new(setup: &Setup) -> Result<Self, LayerError> {
        Self::with(Config::new(setup), setup)
    }

    pub(super) fn with(config: Config, setup: &Setup) -> Result<Self, LayerError> {
        let map = FeatureMap::new(super::NAME, setup)?;
        let linear_weights = Config::linear_weights(setup)?;
        let stream = Arc::clone(&setup.stream);
        let empty = Head {
            state: Array2::zeros((map.dim(), stream.value_dim())),
            normaliser: Array1::zeros(map.dim()),
            cached: Vec::new(),
            given: Vec::new(),
        };
        let mut heads = vec![empty; stream.kv_heads()];
        let (writes, all) = (stream.writes(), heads.len());
        match config.score {
            Score::Random => {
                let drawn = score::random(setup.params.int("seed").unsigned_abs(), all, writes);
                heads.iter_mut().zip(drawn.chunks(writes)).for_each(|(h, own)| h.given = own.iter().map(|&x| R::from_f32(x)).collect());
            }
            Score::Attention => heads.iter_mut().for_each(|h| h.given = vec![R::zero(); writes]),
            Score::Sre | Score::Fifo | Score::Kernel => {}
        }
        let hands = Arc::clone(&setup.hands);
        Ok(Self { shared: Shared { config, stream, map, linear_weights, hands }, heads, position: 0 })
    }
}

impl<R: Real> Layer for Lola<R> {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let shared = &self.shared;
        let steps = self.position..self.position.saturating_add(chunks).min(shared.config.steps());
        let written: Vec<_> = self.heads.par_iter_mut().enumerate().map(|(h, head)| head.run(shared, h, steps.clone(), record)).collect();
        self.position = steps.end;
        if record == Record::StateOnly || steps.is_empty() {
            return Ok(());
        }
        let writes = shared.config.step(steps.start).writes.start..shared.config.step(steps.end - 1).writes.end;
        let reads = shared.stream.reads_within(writes);
        let joined = |part: fn(&HeadOutput<R>) -> &Vec<Vec<R>>| R::values(written.iter().flat_map(|w| part(w).concat()).collect());
        out.push(channel::OUTPUTS, reads.clone(), joined(|w| &w.outputs));
        out.push(channel::SHARES, reads.clone(), joined(|w| &w.shares));
        out.push(channel::NORMALISER, reads, joined(|w| &w.normalisers));
        let traces: Vec<_> = written.into_iter().map(|w| w.steps).collect();
        HeadTrace::write(&traces, steps, &shared.hands, out);
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let (heads, d, dv) = (self.heads.len(), self.shared.map.dim(), self.shared.stream.value_dim());
        let state = self.heads.iter().flat_map(|h| h.state.iter().copied()).collect();
        let normaliser = self.heads.iter().flat_map(|h| h.normaliser.iter().copied()).collect();
        let n = self.shared.config.cached(self.position);
        // Places that hands have emptied come last.
        let places = |h: &Head<R>| h.cached.iter().map(|&id| id as i32).chain(std::iter::repeat(EMPTY)).take(n).collect::<Vec<_>>();
        let cached: Vec<Vec<i32>> = self.heads.iter().map(places).collect();
        let mut arrays = vec![
            StateArray { name: "state", shape: vec![heads, d, dv], values: R::values(state) },
            StateArray { name: "normaliser", shape: vec![heads, d], values: R::values(normaliser) },
            StateArray { name: "cached", shape: vec![heads, n], values: Values::I32(cached.concat()) },
        ];
        if self.shared.config.score == Score::Attention {
            let of_head = |(h, ids): (&Head<R>, &Vec<i32>)| {
                let kept = kept_whole(&self.shared.config, self.position, ids);
                kept.into_iter().map(|id| h.given.get(id).copied().unwrap_or_else(R::zero)).collect::<Vec<_>>()
            };
            let received: Vec<R> = self.heads.iter().zip(&cached).flat_map(of_head).collect();
            arrays.push(StateArray { name: "received", shape: vec![heads, received.len() / heads], values: R::values(received) });
        }
        Ok(Snapshot { position: self.position, arrays })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let (heads, d, dv) = (self.heads.len(), self.shared.map.dim(), self.shared.stream.value_dim());
        let state = real_array::<R>(snapshot, "state", &[heads, d, dv])?;
        let normaliser = real_array::<R>(snapshot, "normaliser", &[heads, d])?;
        let config = &self.shared.config;
        let cached = super::trace::cached_ids(config, snapshot)?;
        let kept: Vec<Vec<usize>> = cached.iter().map(|ids| kept_whole(config, snapshot.position, ids)).collect();
        let received = match config.score {
            Score::Attention => real_array::<R>(snapshot, "received", &[heads, kept[0].len()])?,
            _ => &[],
        };
        for (h, head) in self.heads.iter_mut().enumerate() {
            head.state.iter_mut().zip(&state[h * d * dv..]).for_each(|(to, &from)| *to = from);
            head.normaliser.iter_mut().zip(&normaliser[h * d..]).for_each(|(to, &from)| *to = from);
            head.cached = cached[h].iter().filter(|id| **id != EMPTY).map(|&id| id as usize).collect();
            if !received.is_empty() || config.score == Score::Attention {
                head.given.fill(R::zero());
                for (&id, &sum) in kept[h].iter().zip(&received[h * kept[h].len()..]) {
                    head.given.get_mut(id).into_iter().for_each(|given| *given = sum);
                }
            }
        }
        self.position = snapshot.position;
        Ok(())
    }
}

/// An array of a snapshot in this precision and shape.
fn real_array<'a, R: Real>(snapshot: &'a Snapshot, name: &str, shape: &[usize]) -> Result<&'a [R], LayerError> {
    let array = snapshot.array(name).filter(|a| a.shape == shape);
    let numbers = array.and_then(|a| R::of_values(&a.values)).filter(|v| v.len() == shape.iter().product::<usize>());
    numbers.ok_or_else(|| LayerError::Restore(format!("`{name}` must be there with shape {shape:?}, in this layer's precision")))
}

impl<R: Real> Head<R> {
    /// Runs the steps `steps`; `index` is this head's place among the key/value heads.
    fn run(&mut self, shared: &Shared<R>, index: usize, steps: Range<usize>, record: Record) -> HeadOutput<R> {
        let group = shared.stream.query_heads() / shared.stream.kv_heads();
        let empty = || vec![Vec::new(); group];
        let mut out = HeadOutput { steps: HeadTrace::default(), outputs: empty(), shares: empty(), normalisers: empty() };
        for step in steps {
            let step = shared.config.step(step);
            // What the reads attend to is part of this memory.
            if record == Record::All || shared.config.score == Score::Attention {
                self.read(shared, index, &step, &mut out);
            }
            self.update(shared, index, &step, (record == Record::All).then_some(&mut out.steps));
        }
        out
    }

    /// Answers the chunk's reads with the state as it is before the update.
    fn read(&mut self, shared: &Shared<R>, index: usize, step: &Step, out: &mut HeadOutput<R>) {
        let stream = &shared.stream;
        let reads = stream.reads_within(step.writes.clone());
        if reads.is_empty() {
            return;
        }
        let ids: Vec<usize> = step.raw.clone().chain(self.cached.iter().copied()).collect();
        let pairs = Pairs {
            keys: gather(&stream.keys_of(index), &ids),
            values: gather(&stream.values().index_axis(Axis(0), index), &ids),
            raw: step.raw.clone(),
        };
        let rows = (LOGIT_NUMBERS / ids.len().max(1)).clamp(1, READ_ROWS);
        let tiles: Vec<Range<usize>> = reads.clone().step_by(rows).map(|r| r..(r + rows).min(reads.end)).collect();
        for local in 0..out.outputs.len() {
            let query_head = index * out.outputs.len() + local;
            let this = &*self;
            let answers: Vec<_> = tiles.par_iter().map(|tile| this.answer(shared, query_head, tile.clone(), &pairs)).collect();
            for answer in answers {
                out.outputs[local].extend(answer.outputs);
                out.shares[local].extend(answer.shares);
                out.normalisers[local].extend(answer.normalisers);
                // In the order of heads, reads and pairs, whoever was done first.
                ids.iter().zip(answer.received).for_each(|(&id, weight)| self.given[id] = self.given[id] + weight);
            }
        }
    }

    /// What some reads of one query head get.
    fn answer(&self, shared: &Shared<R>, query_head: usize, tile: Range<usize>, pairs: &Pairs<R>) -> Answer<R> {
        let stream = &shared.stream;
        let queries: Array2<R> = cast(stream.queries().slice(s![query_head, tile.clone(), ..]));
        let features = shared.map.queries(query_head, &queries.view());
        let mut weights = queries.dot(&pairs.keys.t());
        let (beta, zero) = (R::from_f64(shared.config.beta), R::zero());
        // The largest logit, or 0 if that is larger, is taken out of every part: e^(-m) of the state's weight and of the epsilon.
        let mut scales = Vec::with_capacity(tile.len());
        let mut shares = Vec::with_capacity(3 * tile.len());
        for (mut row, read) in weights.rows_mut().into_iter().zip(tile.clone()) {
            let after = stream.after()[read] as usize;
            // The chunk's writes that this read may not see yet; the cached pairs come after them.
            let (hidden, cached) = (after - pairs.raw.start, pairs.raw.len());
            row.mapv_inplace(|x| beta * x);
            let visible = row.iter().enumerate().filter(|&(i, _)| i < hidden || i >= cached).map(|(_, &x)| x);
            let top = visible.fold(zero, R::max);
            for (i, x) in row.iter_mut().enumerate() {
                *x = if i < hidden || i >= cached { (*x - top).exp() } else { zero };
            }
            shares.extend([row.slice(s![..hidden]).sum(), row.slice(s![cached..]).sum(), zero]);
            scales.push((-top).exp());
        }
        let mut outputs = weights.dot(&pairs.values);
        let from_state = features.dot(&self.state);
        let of_state = features.dot(&self.normaliser);
        let mut received = vec![zero; if shared.config.score == Score::Attention { pairs.keys.nrows() } else { 0 }];
        let (weight, epsilon) = (R::from_f64(shared.linear_weights[query_head]), R::from_f64(EPSILON));
        let normalisers = of_state.iter().map(|&x| weight * x).collect();
        for (r, mut row) in outputs.rows_mut().into_iter().enumerate() {
            let linear = weight * scales[r];
            let share = &mut shares[3 * r..3 * r + 3];
            share[2] = linear * of_state[r];
            let whole = share[0] + share[1] + share[2] + epsilon * scales[r];
            row.zip_mut_with(&from_state.row(r), |o, &x| *o = (*o + linear * x) / whole);
            for x in share {
                *x = *x / whole;
            }
            if !received.is_empty() && !stream.is_silent(tile.start + r) {
                received.iter_mut().zip(weights.row(r)).for_each(|(sum, &w)| *sum = *sum + w / whole);
            }
        }
        Answer { outputs: outputs.into_iter().collect(), shares, normalisers, received }
    }

    /// Scores the candidates, keeps the best in the cache and folds the others into the state.
    fn update(&mut self, shared: &Shared<R>, index: usize, step: &Step, trace: Option<&mut HeadTrace<R>>) {
        let ids: Vec<usize> = self.cached.iter().copied().chain(step.leaving.clone()).collect();
        let scores = match shared.config.score {
            Score::Sre => self.self_recall_errors(shared, index, &ids),
            Score::Fifo => ids.iter().map(|&id| R::from_f64(id as f64)).collect(),
            Score::Random | Score::Attention => ids.iter().map(|&id| self.given[id]).collect(),
            Score::Kernel => kernel_errors(shared, index, step, &ids),
        };
        // Without hands as many as [`Step::kept`]; a hand may have emptied a place.
        let places = shared.config.cache.min(ids.len());
        let update = step.writes.start / shared.config.chunk;
        let by_hand: Vec<bool> = ids.iter().map(|&id| hand::keeps(&shared.hands, index, id, update)).collect();
        let order = ranking(&scores, &by_hand);
        let mut keep = vec![false; ids.len()];
        order[..places].iter().for_each(|&at| keep[at] = true);
        let (kept, folded): (Vec<_>, Vec<_>) = ids.iter().zip(&keep).partition(|&(_, &keep)| keep);
        let folded: Vec<usize> = folded.into_iter().map(|(&id, _)| id).collect();
        if let Some(trace) = trace {
            let (was, scores, by_hand) = (self.cached.len(), &scores, &by_hand);
            trace.record(&shared.config, &Selection { ids: &ids, was, scores, keep: &keep, order: &order, by_hand });
        }
        self.cached = kept.into_iter().map(|(&id, _)| id).collect();
        self.fold(shared, index, &folded);
    }

    /// SRE of each write in `ids` against the present state.
    fn self_recall_errors(&self, shared: &Shared<R>, index: usize, ids: &[usize]) -> Vec<R> {
        let stream = &shared.stream;
        let epsilon = R::from_f64(EPSILON);
        let score = |ids: &[usize]| -> Vec<R> {
            let features = shared.map.keys(index, &gather(&stream.keys_of(index), ids).view());
            let recalled = features.dot(&self.state);
            let whole = features.dot(&self.normaliser);
            let values = stream.values().index_axis(Axis(0), index);
            let rows = recalled.rows().into_iter().zip(&whole).zip(ids);
            rows.map(|((row, &whole), &id)| {
                let error = |(&x, &v): (&R, &f32)| (x / (whole + epsilon) - R::from_f32(v)).powi(2);
                row.iter().zip(values.row(id)).map(error).sum()
            })
            .collect()
        };
        ids.par_chunks(feature_rows(shared.map.dim())).map(score).collect::<Vec<_>>().concat()
    }

    /// H += phi(k) v^T and s += phi(k), in the order of `ids`.
    fn fold(&mut self, shared: &Shared<R>, index: usize, ids: &[usize]) {
        for ids in ids.chunks(feature_rows(shared.map.dim())) {
            let features = shared.map.keys(index, &gather(&shared.stream.keys_of(index), ids).view());
            let values: Array2<R> = gather(&shared.stream.values().index_axis(Axis(0), index), ids);
            general_mat_mul(R::one(), &features.t(), &values, R::one(), &mut self.state);
            self.normaliser.zip_mut_with(&features.sum_axis(Axis(0)), |s, &phi| *s = *s + phi);
        }
    }
}

/// How badly phi(q).phi(k) stands in for e^(beta q.k), for each write in `ids`, on the queries of the step's chunk.
fn kernel_errors<R: Real>(shared: &Shared<R>, index: usize, step: &Step, ids: &[usize]) -> Vec<R> {
    let stream = &shared.stream;
    let reads: Vec<usize> = score::counted(stream, stream.reads_within(step.writes.clone())).collect();
    let group = stream.query_heads() / stream.kv_heads();
    let share = R::one() / R::from_f64((reads.len() * group).max(1) as f64);
    let rows = feature_rows(shared.map.dim().max(reads.len()));
    let errors = |ids: &[usize]| {
        let keys: Array2<R> = gather(&stream.keys_of(index), ids);
        let mut errors = vec![R::zero(); ids.len()];
        for query_head in index * group..(index + 1) * group {
            for reads in reads.chunks(READ_ROWS) {
                let queries: Array2<R> = gather(&stream.queries().index_axis(Axis(0), query_head), reads);
                let (keys, queries) = ((index, &keys.view()), (query_head, &queries.view()));
                add_kernel_errors(&mut errors, &shared.map, keys, queries, (shared.config.beta, share));
            }
        }
        errors
    };
    ids.par_chunks(rows).map(errors).collect::<Vec<_>>().concat()
}

/// What some reads of one query head got.
struct Answer<R> {
    /// [reads, dv].
    outputs: Vec<R>,
    /// [reads, 3].
    shares: Vec<R>,
    /// The state's part of the normaliser `[reads]`.
    normalisers: Vec<R>,
    /// What each pair got of the reads' weight, where that is counted.
    received: Vec<R>,
}

/// The pairs that a chunk's reads see whole: the raw ones, then the cached ones.
struct Pairs<R> {
    keys: Array2<R>,
    values: Array2<R>,
    raw: Range<usize>,
}

/// One update's candidates, in the order of their ids, and what became of them.
pub(super) struct Selection<'a, R> {
    pub ids: &'a [usize],
    /// How many of them, the first, were in the cache.
    pub was: usize,
    pub scores: &'a [R],
    pub keep: &'a [bool],
    /// Places in the lists above, best first.
    pub order: &'a [usize],
    /// Those that a hand keeps.
    pub by_hand: &'a [bool],
}

impl<R: Real> HeadTrace<R> {
    /// Records one update.
    fn record(&mut self, config: &Config, selection: &Selection<'_, R>) {
        let Selection { ids, was, scores, keep, order, by_hand } = *selection;
        let kept = config.cache.min(ids.len());
        let recorded = if config.recorded == Recorded::All { 0..ids.len() } else { was..ids.len() };
        self.candidates.extend(ids[recorded.clone()].iter().map(|&id| id as i32));
        self.scores.extend(&scores[recorded.clone()]);
        self.candidate_lengths.push(recorded.len() as u32);
        let (old, new) = (0..was, was..ids.len());
        let before = self.admitted.len();
        self.admitted.extend(new.filter(|&at| keep[at]).map(|at| ids[at] as i32));
        self.admitted_lengths.push((self.admitted.len() - before) as u32);
        let before = self.displaced.len();
        self.displaced.extend(old.filter(|&at| !keep[at]).map(|at| ids[at] as i32));
        self.displaced_lengths.push((self.displaced.len() - before) as u32);
        let worst = (config.cache > 0 && kept == config.cache).then(|| order[kept - 1]);
        // Where hands keep all of them, no score is enough.
        self.threshold.push(worst.map_or_else(R::nan, |at| if by_hand[at] { R::infinity() } else { scores[at] }));
        self.select_margin.push(match worst {
            Some(at) if kept < ids.len() && !by_hand[at] => config.score.margin(scores[at], scores[order[kept]]),
            _ => R::infinity(),
        });
        self.cached_count.push(kept as i32);
    }
}

/// Places of the scores: first those that a hand keeps, then the largest first; equal ones by place, which is by id; one that is no
/// number counts as the smallest.
fn ranking<R: Real>(scores: &[R], by_hand: &[bool]) -> Vec<usize> {
    let key = |&at: &usize| if scores[at].is_nan() { R::neg_infinity() } else { scores[at] };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| {
        let by_score = key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal);
        by_hand[*b].cmp(&by_hand[*a]).then(by_score).then(a.cmp(b))
    });
    order
}

/// How many rows of D features are made at once.
fn feature_rows(d: usize) -> usize {
    (FEATURE_NUMBERS / d).max(1)
}

/// The rows `ids` of an array [T, n], in precision `R`.
fn gather<R: Real>(rows: &ArrayView2<'_, f32>, ids: &[usize]) -> Array2<R> {
    Array2::from_shape_fn((ids.len(), rows.ncols()), |(i, j)| R::from_f32(rows[[ids[i], j]]))
}
