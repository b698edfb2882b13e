//! The retention map: with which error each lane recalls the values of followed tokens, step by step.
//!
//! **Definition.** At step s of the timeline, `writes_at(s)` writes have been made. The lane is asked with the key `k_i` of a followed
//! token i by a read with `after = writes_at(s)`: what the model itself would get right after the step's last write. As any
//! read (LAYERS.md, "A stream"), it sees the memory as it was when the lane's current chunk began, and the chunk's own raw writes. With
//! its output o and the token's value v,
//!
//! ```text
//! error(i, s) = |o - v_i|^2 / |v_i|^2        for i < writes_at(s)
//! ```
//!
//! 0 is perfect recall, 1 is what an empty memory (o = 0) gets; it can be larger. Before the token is written, and for a value of
//! length 0, it is not defined. Keys and values are those of the lane's own stream (normalised keys, where it has them).
//!
//! **How.** [`Probes::plan`] adds these reads to every lane's stream and marks them silent ([`Stream::with_silent`]), so that no
//! memory depends on them; the stream's own reads stay, for LoLA's attention score counts them. The plan runs like any other;
//! its outputs are reduced to errors block by block and dropped. A chain of reads ([`Stream::chain`]) is left out: its later hops
//! are silent already, and nobody asks for their answers here.

mod curve;
mod follow;
mod reduce;

use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array3, s};
use thiserror::Error;

pub use curve::{AgeBin, by_age, spearman};
pub use follow::{Follow, MOST_TOKENS, Which};
pub use reduce::{Part, RetentionMap, run};

use crate::engine::RunError;
use crate::param::ParamError;
use crate::session::plan::{Plan, PlanLane};
use crate::stream::{Labels, Stream, StreamError, StreamParts, Targets};

/// The most reads that are added, of each query head.
pub const MOST_READS: usize = 1 << 19;
/// The most numbers in the queries that are added, all query heads together: 64 MiB.
const MOST_QUERY_NUMBERS: usize = 1 << 24;
/// The most errors of a lane, all query heads together: 8 MiB.
const MOST_ERRORS: usize = 1 << 21;

/// Why a retention map cannot be made.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum RetentionError {
    /// The stream with the added reads.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A layer does not take that stream.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A step at which followed tokens are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Steps of the timeline done: from 1.
    pub step: usize,
    /// Writes made: what its reads see.
    pub writes: usize,
    /// Its reads in the probe stream: one for each followed token that is written, ascending.
    pub reads: Range<usize>,
}

/// Which reads are added to a plan's streams, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probes {
    tokens: Vec<usize>,
    columns: Vec<Column>,
    originals: Vec<usize>,
    stride: usize,
    heads: usize,
}

/// What a map will cost, known before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Reads added, of each query head.
    pub reads: usize,
    /// Multiply-adds of all lanes, at most: reads as dear as at the end of the stream.
    pub madds: u64,
    /// Bytes of the streams with the added reads and of the errors.
    pub bytes: u64,
}

impl Probes {
    /// Reads for the tokens `tokens` (others than writes of the stream are left out) at every step of the plan, or at every j-th
    /// ([`Probes::stride`]) where every one would be too many ([`MOST_READS`]); always at the last step.
    #[must_use]
    pub fn new(plan: &Plan, mut tokens: Vec<usize>) -> Self {
        tokens.retain(|t| *t < plan.stream.writes());
        tokens.sort_unstable();
        tokens.dedup();
        let stream = &plan.stream;
        let heads = stream.query_heads();
        let most_reads = MOST_READS.min(MOST_QUERY_NUMBERS / (heads * stream.key_dim()));
        let count = |step: usize| tokens.partition_point(|t| *t < plan.writes_at(step));
        let fits = |stride: &usize| {
            let steps = || steps(plan.steps(), *stride);
            steps().map(count).sum::<usize>() <= most_reads && steps().count() * tokens.len() * heads <= MOST_ERRORS
        };
        let last = plan.steps().max(1);
        let stride = (1..=last).find(fits).unwrap_or(last);
        let mut columns: Vec<Column> = Vec::new();
        let mut originals = Vec::with_capacity(stream.reads());
        let mut next = 0;
        let mut rest = stream.after().iter().peekable();
        for step in steps(if tokens.is_empty() { 0 } else { plan.steps() }, stride) {
            let writes = plan.writes_at(step);
            while rest.next_if(|after| (**after as usize) < writes).is_some() {
                originals.push(next);
                next += 1;
            }
            columns.push(Column { step, writes, reads: next..next + count(step) });
            next += count(step);
        }
        originals.extend(rest.enumerate().map(|(i, _)| next + i));
        Self { tokens, columns, originals, stride, heads }
    }

    /// The followed tokens, ascending.
    #[must_use]
    pub fn tokens(&self) -> &[usize] {
        &self.tokens
    }

    /// The steps at which they are asked for, ascending.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Every how many steps that is.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Query heads.
    #[must_use]
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Where each read of the stream is in the probe stream `[R]`.
    #[must_use]
    pub fn originals(&self) -> &[usize] {
        &self.originals
    }

    /// Reads added, of each query head.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.columns.iter().map(|c| c.reads.len()).sum()
    }

    /// A stream with the added reads: every query head asks with the key of the key/value head that it reads. It knows no
    /// targets, texts or roles.
    ///
    /// # Errors
    /// If the stream has other reads than the plan's.
    pub fn stream(&self, of: &Stream) -> Result<Stream, StreamError> {
        let reads = self.originals.len() + self.reads();
        if of.reads() != self.originals.len() {
            let (found, expected) = (format!("of length {}", of.reads()), format!("length {}", self.originals.len()));
            return Err(StreamError::Shape { field: "after", found, expected });
        }
        let mut queries = Array3::zeros((of.query_heads(), reads, of.key_dim()));
        let (mut after, mut silent) = (vec![0; reads], vec![true; reads]);
        for (read, &at) in self.originals.iter().enumerate() {
            queries.slice_mut(s![.., at, ..]).assign(&of.queries().slice(s![.., read, ..]));
            after[at] = of.after()[read];
            silent[at] = of.is_silent(read);
        }
        for column in &self.columns {
            after[column.reads.clone()].fill(column.writes as u32);
        }
        for h in 0..of.query_heads() {
            let keys = of.keys_of(of.kv_head_of(h));
            for column in &self.columns {
                for (read, &token) in column.reads.clone().zip(&self.tokens) {
                    queries.slice_mut(s![h, read, ..]).assign(&keys.row(token));
                }
            }
        }
        let stream = Stream::new(StreamParts {
            keys: of.keys().clone(),
            values: of.values().clone(),
            queries,
            after,
            beta: of.beta(),
            targets: Targets::None,
            labels: Labels::default(),
        })?;
        let stream = match of.gates() {
            Some(gates) => stream.with_gates(gates.clone())?,
            None => stream,
        };
        stream.with_silent(silent)
    }

    /// The plan with the added reads in every lane's stream.
    ///
    /// # Errors
    /// If a layer does not take the longer stream.
    pub fn plan(&self, plan: &Plan) -> Result<Plan, RetentionError> {
        let mut made: Vec<(Arc<Stream>, Arc<Stream>)> = Vec::new();
        let mut stream_of = |of: &Arc<Stream>| -> Result<Arc<Stream>, StreamError> {
            if let Some((_, stream)) = made.iter().find(|(from, _)| Arc::ptr_eq(from, of)) {
                return Ok(Arc::clone(stream));
            }
            let stream = Arc::new(self.stream(of)?);
            made.push((Arc::clone(of), Arc::clone(&stream)));
            Ok(stream)
        };
        let stream = stream_of(&plan.stream)?;
        let mut lanes = Vec::with_capacity(plan.lanes.len());
        for lane in &plan.lanes {
            let mut setup = lane.setup.clone();
            setup.stream = stream_of(&lane.setup.stream)?;
            lane.kind.check(&setup)?;
            let channels = lane.kind.channels(&setup);
            let own_channels = channels.len();
            lanes.push(PlanLane { setup, channels, own_channels, ..lane.clone() });
        }
        Ok(Plan { session: plan.session.clone(), stream, lanes, step: plan.step })
    }

    /// What the map costs, before it is made.
    #[must_use]
    pub fn estimate(&self, plan: &Plan) -> Estimate {
        let reads = self.reads();
        let mut streams: Vec<&Arc<Stream>> = vec![&plan.stream];
        let mut madds = 0_u64;
        for lane in &plan.lanes {
            let (stream, cost) = (&lane.setup.stream, lane.kind.cost(&lane.setup));
            if !streams.iter().any(|s| Arc::ptr_eq(s, stream)) {
                streams.push(stream);
            }
            let writes = (stream.writes() * stream.kv_heads()) as u64 * cost.write_madds;
            let asked = ((reads + stream.reads()) * stream.query_heads()) as u64 * cost.read_madds;
            madds = madds.saturating_add(writes.saturating_add(asked));
        }
        let numbers = |s: &Stream| s.keys().len() + s.values().len() + s.queries().len() + s.query_heads() * reads * s.key_dim();
        let errors = plan.lanes.len() * self.heads * self.columns.len() * self.tokens.len();
        let bytes = 4 * (streams.iter().map(|s| numbers(s)).sum::<usize>() + errors) as u64;
        Estimate { reads, madds, bytes }
    }
}

/// Every `stride`-th of the steps 1 to `last`, the last among them, ascending.
fn steps(last: usize, stride: usize) -> impl Iterator<Item = usize> {
    let first = if last == 0 { 1 } else { (last - 1) % stride + 1 };
    (first..=last).step_by(stride)
}
