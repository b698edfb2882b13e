//! `LoLA` on the GPU: sizes are arithmetic on the host, membership is data on the device.
//!
//! A step is up to six dispatches: the chunk's reads; the candidates' scores; their ranks, by counting who is better; the
//! split into kept and folded; the folded keys' features; the fold. Many steps go into one submission, and all they record
//! comes back in one readback. No float atomics, and every sum has one order: two runs are the same bits.

mod kernels;

use std::ops::Range;
use std::sync::Arc;

use super::config::{Config, Recorded, Score, Step};
use super::hand::{EMPTY, kept};
use super::score::counted;
use super::trace::{HeadTrace, cached_ids, channel, kept_whole};
use crate::gpu::{Batch, Bound, GpuStream};
use crate::layer::feature::Map;
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::trace::{TraceBlock, Values};
use kernels::{Buffers, FIRST, Kernels, QUERIES, RECORD_LISTS, Shape, StepParameters, TILE};

/// Steps in one submission, at most.
const BLOCK_STEPS: usize = 128;
/// Numbers that one readback of outputs, and one of records, is kept below where a single step allows it (16 MiB each).
const BLOCK_NUMBERS: usize = 1 << 22;

/// Multiply-adds that one submission is kept below where a single step allows it: drivers give up on submissions of some
/// seconds, and a small GPU does this in one.
const BLOCK_WORK: u64 = 1 << 37;

/// A running layer.
#[derive(Debug)]
pub struct Lola {
    setup: Setup,
    config: Config,
    shape: Shape,
    stream: Arc<GpuStream>,
    buffers: Buffers,
    kernels: Kernels,
    /// What all steps have in common.
    common: StepParameters,
    room: Room,
    position: usize,
    /// The cached ids of each head, as far as they are known here.
    mirror: Option<Vec<Vec<i32>>>,
}

/// What one submission may write.
#[derive(Debug, Clone, Copy)]
struct Room {
    reads: usize,
    record: usize,
}

impl Lola {
    /// A layer at the start of its stream.
    ///
    /// # Errors
    /// If the feature map's arrays do not fit, or the adapter's limits do not allow the buffers.
    pub fn new(setup: &Setup, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        Self::with(Config::new(setup), setup, stream)
    }

    pub(super) fn with(config: Config, setup: &Setup, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        let shape = Shape::new(&config, setup)?;
        // Outputs, shares and, where attention is counted, the largest logit and the normaliser.
        let answer = shape.query_heads * (shape.dv + 4 + if config.score == Score::Attention { 2 } else { 0 });
        let reads_of = |s: &Step| setup.stream.reads_within(s.writes.clone()).len();
        let all = || (0..config.steps()).map(|s| config.step(s));
        let room = Room {
            reads: (BLOCK_NUMBERS / answer).min(setup.stream.reads()).max(all().map(|s| reads_of(&s)).max().unwrap_or(0)),
            record: BLOCK_NUMBERS
                .min(all().map(|s| record_numbers(&config, &s)).sum())
                .max(all().map(|s| record_numbers(&config, &s)).max().unwrap_or(0)),
        };
        let (buffers, kernels) = kernels::build(stream, setup, &config, &shape, room.reads * answer, room.record)?;
        let beta = config.beta;
        let common = StepParameters {
            writes: config.writes as u32,
            reads: setup.stream.reads() as u32,
            cache: config.cache as u32,
            candidate_stride: shape.candidates as u32,
            fold_stride: shape.folded as u32,
            events: events(&config) as u32,
            beta: beta as f32,
            first_order: beta.sqrt() as f32,
            second_order: (beta / std::f64::consts::SQRT_2) as f32,
            sharpness: setup.params.float("sharpness") as f32,
            feature_scale: (shape.features as f64).sqrt() as f32,
            ..StepParameters::default()
        };
        let mirror = Some(vec![Vec::new(); shape.heads]);
        Ok(Self { setup: setup.clone(), config, shape, stream: Arc::clone(stream), buffers, kernels, common, room, position: 0, mirror })
    }

    /// The steps from `from` on, no further than `end`, that one submission has room for.
    fn block(&self, from: usize, end: usize) -> Range<usize> {
        let (mut reads, mut record, mut work, mut to) = (0, 0, 0, from);
        while to < end && to - from < BLOCK_STEPS {
            let step = self.config.step(to);
            let own = self.stream.stream.reads_within(step.writes.clone()).len();
            reads += own;
            record += record_numbers(&self.config, &step);
            work += self.work(&step, own);
            if to > from && (reads > self.room.reads || record > self.room.record || work > BLOCK_WORK) {
                break;
            }
            to += 1;
        }
        from..to
    }

    /// About how many multiply-adds a step takes.
    fn work(&self, step: &Step, reads: usize) -> u64 {
        let Shape { dk, dv, heads, query_heads, .. } = self.shape;
        let linear = self.shape.state_numbers();
        let read = (step.raw.len() + step.cached) * (dk + dv) + linear;
        let update = (step.candidates + step.folded) * linear + step.candidates * step.candidates;
        let scores = match self.config.score {
            Score::Attention => (step.raw.len() + step.cached) * dk,
            Score::Kernel => step.candidates * (dk + self.shape.features),
            Score::Sre | Score::Fifo | Score::Random => 0,
        };
        (query_heads * reads * (read + scores) + heads * update) as u64
    }

    /// Adds one step's dispatches. `parameters` says where its reads and its record go.
    fn encode(&self, batch: &mut Batch, step: &Step, parameters: StepParameters, record: Record) {
        let (k, shape) = (&self.kernels, &self.shape);
        if record == Record::All || k.attend.is_some() {
            let tiles = (parameters.read_count as usize).div_ceil(TILE);
            let most = self.stream.gpu.limits().max_compute_workgroups_per_dimension as usize;
            for at in (0..tiles).step_by(most) {
                let groups = [(tiles - at).min(most) as u32, shape.query_heads as u32, 1];
                batch.dispatch(&k.read, &StepParameters { tile_at: at as u32, ..parameters }, groups);
            }
        }
        if let Some(attend) = &k.attend {
            for part in self.by_queries(parameters) {
                batch.dispatch(attend, &part, shape.pair_groups(step.raw.len() + step.cached));
            }
        }
        if step.candidates > 0 {
            match &k.kernel {
                Some(kernel) => self.kernel_scores(batch, kernel, step, parameters),
                None => batch.dispatch(&k.score, &parameters, shape.row_groups(step.candidates)),
            }
            if step.kept == self.config.cache && step.kept > 0 {
                if let Some(favour) = &k.favour {
                    batch.dispatch(favour, &parameters, shape.rank_groups(step.candidates));
                }
                batch.dispatch(&k.rank, &parameters, shape.rank_groups(step.candidates));
            }
            batch.dispatch(&k.compact, &parameters, [shape.heads as u32, 1, 1]);
        }
        if step.folded > 0 {
            if shape.map != Map::Taylor2 {
                batch.dispatch(&k.features, &parameters, shape.row_groups(step.folded));
            }
            batch.dispatch(&k.fold, &parameters, shape.fold_groups());
        }
    }

    /// The parameters of dispatches that go over the chunk's reads of one query head after the other, [`QUERIES`] at a time.
    fn by_queries(&self, parameters: StepParameters) -> impl Iterator<Item = StepParameters> {
        let group = (self.shape.query_heads / self.shape.heads) as u32;
        let reads = parameters.first_read..parameters.first_read + parameters.read_count;
        reads.clone().step_by(QUERIES).flat_map(move |at| {
            let query_count = (reads.end - at).min(QUERIES as u32);
            (0..group).map(move |member| StepParameters { query_at: at, query_count, member, ..parameters })
        })
    }

    /// Adds the dispatches that score the candidates by the kernel's error.
    fn kernel_scores(&self, batch: &mut Batch, kernel: &Bound, step: &Step, parameters: StepParameters) {
        let groups = self.shape.row_groups(step.candidates);
        let reads = parameters.first_read as usize..(parameters.first_read + parameters.read_count) as usize;
        let queries = counted(&self.stream.stream, reads).count() * (self.shape.query_heads / self.shape.heads);
        let parameters = StepParameters { share: 1.0 / queries.max(1) as f32, ..parameters };
        if parameters.read_count == 0 {
            // No query: every score is 0.
            batch.dispatch(kernel, &StepParameters { query_at: 0, query_count: 0, fresh: 1, ..parameters }, groups);
        }
        for part in self.by_queries(parameters) {
            if let (Some(features), 0) = (&self.kernels.queries, part.member) {
                features.dispatch(batch, &(part.query_at as usize..(part.query_at + part.query_count) as usize));
            }
            let fresh = u32::from(part.query_at == parameters.first_read && part.member == 0);
            batch.dispatch(kernel, &StepParameters { fresh, ..part }, groups);
        }
    }

    fn parameters(&self, index: usize, step: &Step) -> StepParameters {
        StepParameters {
            raw_start: step.raw.start as u32,
            raw_count: step.raw.len() as u32,
            cached: step.cached as u32,
            candidates: step.candidates as u32,
            kept: step.kept as u32,
            folded: step.folded as u32,
            record_stride: (record_numbers(&self.config, step) / self.shape.heads) as u32,
            recorded_from: recorded_from(&self.config, step) as u32,
            // Nothing is folded before the cache is full, but by hand.
            has_state: u32::from(self.config.outside_window(index) > self.config.cache || self.has_hands()),
            ..self.common
        }
    }

    /// Runs the steps of one submission.
    fn run(&mut self, steps: Range<usize>, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let stream = Arc::clone(&self.stream.stream);
        let first = self.config.step(steps.start).writes.start;
        let reads = stream.reads_within(first..self.config.step(steps.end - 1).writes.end);
        if record == Record::All && (self.config.recorded == Recorded::All || self.has_hands()) && self.mirror.is_none() {
            self.mirror = Some(self.read_cached()?);
        }
        let mut batch = self.stream.gpu.batch();
        let mut at = 0;
        for index in steps.clone() {
            let step = self.config.step(index);
            let own = stream.reads_within(step.writes.clone());
            let parameters = StepParameters {
                first_read: own.start as u32,
                read_count: own.len() as u32,
                read_at: (own.start - reads.start) as u32,
                block_reads: reads.len() as u32,
                record_at: at as u32,
                ..self.parameters(index, &step)
            };
            self.encode(&mut batch, &step, parameters, record);
            if record == Record::All {
                at += record_numbers(&self.config, &step);
            }
        }
        self.position = steps.end;
        if record == Record::StateOnly {
            self.mirror = None;
            // Waited for, as with a record: a long replay must not pile up submissions, and its trouble is this call's.
            batch.submit()?.wait()?;
            return Ok(());
        }
        let outputs = self.shape.query_heads * reads.len() * self.shape.dv;
        let shares = outputs + self.shape.query_heads * reads.len() * 3;
        let normalisers = shares + self.shape.query_heads * reads.len();
        let [outputs, shares, normalisers] =
            [0..outputs, outputs..shares, shares..normalisers].map(|part| batch.read(&self.buffers.answers, part));
        let numbers = batch.read(&self.buffers.record, 0..at);
        let back = batch.submit()?.wait()?;
        out.push(channel::OUTPUTS, reads.clone(), Values::F32(back.f32(&outputs)));
        out.push(channel::SHARES, reads.clone(), Values::F32(back.f32(&shares)));
        out.push(channel::NORMALISER, reads, Values::F32(back.f32(&normalisers)));
        let traces = self.unpack(steps.clone(), &back.u32(&numbers));
        HeadTrace::write(&traces, steps, &self.setup.hands, out);
        Ok(())
    }

    /// Turns what a block recorded into each head's trace.
    fn unpack(&mut self, steps: Range<usize>, record: &[u32]) -> Vec<HeadTrace<f32>> {
        let mut traces = vec![HeadTrace::default(); self.shape.heads];
        let mut at = 0;
        for index in steps {
            let step = self.config.step(index);
            let length = record_numbers(&self.config, &step) / self.shape.heads;
            for (head, trace) in traces.iter_mut().enumerate() {
                let cached = self.mirror.as_mut().map(|m| &mut m[head]);
                unpack_step(&self.config, &step, &record[at..at + length], cached, trace);
                at += length;
            }
        }
        if self.config.recorded == Recorded::Leaving && !self.has_hands() {
            self.mirror = None;
        }
        traces
    }

    /// True where a place of the cache may be empty, or a pair be kept whatever its score.
    fn has_hands(&self) -> bool {
        !self.setup.hands.is_empty()
    }

    fn read_cached(&self) -> Result<Vec<Vec<i32>>, LayerError> {
        let (n, cache) = (self.config.cached(self.position), self.config.cache);
        let mut batch = self.stream.gpu.batch();
        let ids: Vec<_> = (0..self.shape.heads).map(|h| batch.read(&self.buffers.cached, h * cache..h * cache + n)).collect();
        let back = batch.submit()?.wait()?;
        Ok(ids.iter().map(|id| back.i32(id)).collect())
    }
}

/// Room for the ids that enter the cache in one step, and for those that leave it.
fn events(config: &Config) -> usize {
    config.chunk.min(config.cache)
}

/// The first candidate whose score is recorded.
fn recorded_from(config: &Config, step: &Step) -> usize {
    if config.recorded == Recorded::All { 0 } else { step.cached }
}

/// Numbers that one step records, over all heads.
fn record_numbers(config: &Config, step: &Step) -> usize {
    config.kv_heads * (RECORD_LISTS + 2 * events(config) + step.candidates - recorded_from(config, step))
}

/// Turns one head's record of one step into its trace, and moves its cached ids on. Empty places, of which hands make some, are
/// candidates to the device, and none here.
fn unpack_step(config: &Config, step: &Step, record: &[u32], cached: Option<&mut Vec<i32>>, trace: &mut HeadTrace<f32>) {
    let room = events(config);
    let stayed = if step.candidates > 0 { record[2] as usize } else { step.cached };
    let list = |from: usize, n: usize| record[from..from + n].iter().map(|&id| id as i32).collect::<Vec<_>>();
    let admitted = list(RECORD_LISTS, step.kept - stayed);
    let mut displaced = list(RECORD_LISTS + room, step.cached - stayed);
    let dropped = displaced.iter().filter(|id| **id == EMPTY).count();
    displaced.retain(|id| *id != EMPTY);
    let empty = cached.as_ref().map_or(0, |ids| ids.iter().filter(|id| **id == EMPTY).count());
    let scores = &record[RECORD_LISTS + 2 * room..];
    let before = trace.candidates.len();
    if let Some(cached) = cached {
        if config.recorded == Recorded::All {
            let own = cached.iter().zip(scores).filter(|(id, _)| **id != EMPTY);
            let (ids, scores): (Vec<i32>, Vec<f32>) = own.map(|(id, bits)| (*id, f32::from_bits(*bits))).unzip();
            trace.candidates.extend(ids);
            trace.scores.extend(scores);
        }
        // Both lists are in order. Of the empty places the last are dropped first.
        let (mut gone, mut spared) = (displaced.iter().peekable(), empty - dropped);
        cached.retain(|id| {
            if *id != EMPTY {
                return gone.next_if_eq(&id).is_none();
            }
            let stays = spared > 0;
            spared = spared.saturating_sub(1);
            stays
        });
        cached.extend(&admitted);
    }
    let leaving = &scores[scores.len() - step.leaving.len()..];
    trace.candidates.extend(step.leaving.clone().map(|id| id as i32));
    trace.scores.extend(leaving.iter().map(|&bits| f32::from_bits(bits)));
    trace.candidate_lengths.push((trace.candidates.len() - before) as u32);
    let (kept, folded) = (step.kept - (empty - dropped), step.folded - dropped);
    let full = config.cache > 0 && kept == config.cache;
    // Where hands keep all of them, no score is enough.
    let threshold = if record[0] == FIRST { f32::INFINITY } else { f32::from_bits(record[0]) };
    trace.threshold.push(if full { threshold } else { f32::NAN });
    let contested = full && folded > 0 && record[0] != FIRST;
    trace.select_margin.push(if contested { config.score.margin(threshold, f32::from_bits(record[1])) } else { f32::INFINITY });
    trace.cached_count.push(kept as i32);
    trace.admitted_lengths.push(admitted.len() as u32);
    trace.admitted.extend(admitted);
    trace.displaced_lengths.push(displaced.len() as u32);
    trace.displaced.extend(displaced);
}

impl Layer for Lola {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let end = self.position.saturating_add(chunks).min(self.config.steps());
        while self.position < end {
            self.run(self.block(self.position, end), record, out)?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let Shape { heads, features, dv, .. } = self.shape;
        let length = self.shape.state_numbers();
        let mut batch = self.stream.gpu.batch();
        let all = batch.read(&self.buffers.state, 0..heads * length);
        let counts = self.config.score == Score::Attention;
        let received = batch.read(&self.buffers.given, 0..if counts { heads * self.config.writes } else { 0 });
        let back = batch.submit()?.wait()?;
        let (numbers, received) = (back.f32(&all), back.f32(&received));
        let part = |range: Range<usize>| (0..heads).flat_map(|h| &numbers[h * length..][range.clone()]).copied().collect::<Vec<f32>>();
        let cached = match &self.mirror {
            Some(ids) => ids.clone(),
            None => self.read_cached()?,
        };
        let n = self.config.cached(self.position);
        let mut arrays = vec![
            StateArray { name: "state", shape: vec![heads, features, dv], values: Values::F32(part(0..features * dv)) },
            StateArray { name: "normaliser", shape: vec![heads, features], values: Values::F32(part(features * dv..length)) },
            StateArray { name: "cached", shape: vec![heads, n], values: Values::I32(cached.concat()) },
        ];
        if counts {
            let own = |(head, ids): (usize, &Vec<i32>)| {
                let received = &received[head * self.config.writes..];
                let kept = kept_whole(&self.config, self.position, ids);
                kept.into_iter().map(|id| if id < self.config.writes { received[id] } else { 0.0 }).collect::<Vec<_>>()
            };
            let kept: Vec<f32> = cached.iter().enumerate().flat_map(own).collect();
            arrays.push(StateArray { name: "received", shape: vec![heads, kept.len() / heads], values: Values::F32(kept) });
        }
        Ok(Snapshot { position: self.position, arrays })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let Shape { heads, features, dv, .. } = self.shape;
        let numbers = |name: &str, length: usize| {
            let found = snapshot.array(name).and_then(|a| a.values.as_f32()).filter(|v| v.len() == heads * length);
            found.ok_or_else(|| LayerError::Restore(format!("`{name}` must hold {heads} x {length} float32 numbers")))
        };
        let (state, normaliser) = (numbers("state", features * dv)?, numbers("normaliser", features)?);
        let cached = cached_ids(&self.config, snapshot)?;
        let gpu = &self.stream.gpu;
        if self.config.score == Score::Attention {
            let kept: Vec<_> = cached.iter().map(|ids| kept_whole(&self.config, snapshot.position, ids)).collect();
            let received = numbers("received", kept[0].len())?;
            let mut all = vec![0.0_f32; heads * self.config.writes];
            for (head, ids) in kept.iter().enumerate() {
                let own = ids.iter().zip(&received[head * ids.len()..]).filter(|(id, _)| **id < self.config.writes);
                own.for_each(|(&id, &sum)| all[head * self.config.writes + id] = sum);
            }
            gpu.write(&self.buffers.given, 0, &all);
        }
        for (head, ids) in cached.iter().enumerate() {
            let at = head * self.shape.state_numbers();
            gpu.write(&self.buffers.state, at, &state[head * features * dv..][..features * dv]);
            gpu.write(&self.buffers.state, at + features * dv, &normaliser[head * features..][..features]);
            gpu.write(&self.buffers.cached, head * self.config.cache, ids);
        }
        // A run is cut where a hand acts, and its state put back: what is kept from there on becomes known here.
        let kept = kept(&self.setup, snapshot.position);
        if !kept.is_empty() {
            gpu.write(&self.buffers.kept, 0, &kept);
        }
        self.mirror = Some(cached);
        self.position = snapshot.position;
        Ok(())
    }
}
