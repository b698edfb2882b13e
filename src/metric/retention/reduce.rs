//! Running a plan with probe reads: every block's outputs become errors at once, and are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Column, Probes, RetentionError};
use crate::engine::headless::{Progress, run_into};
use crate::engine::{BackendInfo, LayerFactory, Sink, Stop};
use crate::session::BackendChoice;
use crate::session::plan::Plan;
use crate::stream::Stream;
use crate::trace::{StoreError, TraceBlock, Values};

/// In place of an error that is not defined: none is negative.
const UNDEFINED: f32 = -1.0;

/// The errors of a lane at some more of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The lane, by its place in the plan.
    pub lane: usize,
    /// Columns that the lane has completed with this part.
    pub done: usize,
    /// [columns that are new, query heads, tokens]; -1 where an error is not defined.
    pub errors: Vec<f32>,
}

/// The errors of every lane, as far as they are known.
#[derive(Debug, Clone, PartialEq)]
pub struct RetentionMap {
    probes: Arc<Probes>,
    lanes: Vec<Vec<f32>>,
}

impl RetentionMap {
    /// A map of `lanes` lanes of which nothing is known yet.
    #[must_use]
    pub fn new(probes: Arc<Probes>, lanes: usize) -> Self {
        Self { probes, lanes: vec![Vec::new(); lanes] }
    }

    /// Adds what has been found. Parts of a lane come in order.
    pub fn absorb(&mut self, part: Part) {
        let Some(lane) = self.lanes.get_mut(part.lane) else { return };
        lane.extend(part.errors);
        debug_assert_eq!(lane.len(), part.done * self.probes.heads * self.probes.tokens.len());
    }

    /// Who is asked for, and when.
    #[must_use]
    pub fn probes(&self) -> &Probes {
        &self.probes
    }

    /// Columns that a lane has completed.
    #[must_use]
    pub fn done(&self, lane: usize) -> usize {
        let each = self.probes.heads * self.probes.tokens.len();
        self.lanes.get(lane).map_or(0, |l| l.len() / each.max(1))
    }

    /// The error of the followed token number `token` at column number `column`: `None` before its write, where its value has
    /// length 0, and where it is not known yet.
    #[must_use]
    pub fn error(&self, lane: usize, head: usize, column: usize, token: usize) -> Option<f32> {
        let (heads, tokens) = (self.probes.heads, self.probes.tokens.len());
        if head >= heads || token >= tokens {
            return None;
        }
        let error = *self.lanes.get(lane)?.get((column * heads + head) * tokens + token)?;
        // A comparison that NaN passes: an output that is no number must be seen.
        if error < 0.0 { None } else { Some(error) }
    }
}

/// Runs the plan with the probes and hands the errors of every lane out as they come.
///
/// `progress` is called after each block. Setting `cancel` ends the run within one block.
///
/// # Errors
/// If a layer does not take the longer stream, a lane cannot go on, the backend asked for is not there, or the run was cancelled.
pub fn run(
    factory: &mut dyn LayerFactory,
    plan: &Plan,
    probes: &Probes,
    backend: BackendChoice,
    (mut part, mut progress): (impl FnMut(Part), impl FnMut(Progress)),
    cancel: &AtomicBool,
) -> Result<BackendInfo, RetentionError> {
    let asked = Arc::new(probes.plan(plan)?);
    let outputs = asked.lanes.iter().map(|l| l.channels.iter().position(|c| c.name == "outputs")).collect();
    let done = vec![0; asked.lanes.len()];
    let mut sink = Reduce { plan: &asked, probes, outputs, done, part: &mut part, progress: &mut progress, cancel };
    Ok(run_into(factory, &asked, backend, &mut sink)?)
}

struct Reduce<'a> {
    plan: &'a Plan,
    probes: &'a Probes,
    /// The channel of each lane's outputs.
    outputs: Vec<Option<usize>>,
    /// Columns that each lane has completed.
    done: Vec<usize>,
    part: &'a mut dyn FnMut(Part),
    progress: &'a mut dyn FnMut(Progress),
    cancel: &'a AtomicBool,
}

impl Sink for Reduce<'_> {
    fn block(&mut self, lane: usize, block: TraceBlock, _chunks: usize, _seconds: f64) -> Result<(), Stop> {
        let stream = &self.plan.lanes[lane].setup.stream;
        let mut errors = Vec::new();
        for piece in block.pieces.iter().filter(|p| Some(p.channel) == self.outputs[lane]) {
            let expected = stream.query_heads() * piece.range.len() * stream.value_dim();
            if piece.values.len() != expected {
                let (found, expected) = (piece.values.len().to_string(), expected.to_string());
                return Err(Stop::Store(StoreError::Shape { channel: "outputs", found, expected }));
            }
            while let Some(column) = self.probes.columns.get(self.done[lane]).filter(|c| c.reads.end <= piece.range.end) {
                // A step's reads see the same writes, so they are of one chunk, and a piece has whole chunks.
                if column.reads.start < piece.range.start && !column.reads.is_empty() {
                    let (start, held) = (piece.range.start, column.reads.start);
                    return Err(Stop::Store(StoreError::Gap { channel: "outputs", start, held }));
                }
                reduce(stream, self.probes, column, (&piece.values, piece.range.start, piece.range.len()), &mut errors);
                self.done[lane] += 1;
            }
        }
        if !errors.is_empty() {
            (self.part)(Part { lane, done: self.done[lane], errors });
        }
        Ok(())
    }

    fn reached(&mut self, writes: usize) -> Result<(), Stop> {
        (self.progress)(Progress { writes, total: self.plan.stream.writes() });
        self.poll()
    }

    fn moved(&mut self, _text: &str, _backend: &BackendInfo) -> Result<(), Stop> {
        Ok(())
    }

    fn poll(&mut self) -> Result<(), Stop> {
        if self.cancel.load(Ordering::Relaxed) { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

/// Appends the errors of one column [query heads, tokens]. `values` are the outputs [query heads, `reads`, dv] of the reads from
/// `start` on.
fn reduce(stream: &Stream, probes: &Probes, column: &Column, (values, start, reads): (&Values, usize, usize), errors: &mut Vec<f32>) {
    let dv = stream.value_dim();
    for head in 0..stream.query_heads() {
        let wanted = stream.values().index_axis(ndarray::Axis(0), stream.kv_head_of(head));
        for (row, &token) in probes.tokens.iter().enumerate() {
            if row >= column.reads.len() {
                errors.push(UNDEFINED);
                continue;
            }
            let at = (head * reads + column.reads.start + row - start) * dv;
            let (mut error, mut length) = (0.0_f64, 0.0_f64);
            for (j, &v) in wanted.row(token).iter().enumerate() {
                let (o, v) = (values.get(at + j).unwrap_or(f64::NAN), f64::from(v));
                error += (o - v) * (o - v);
                length += v * v;
            }
            let error = (error / length) as f32;
            // One NaN for all: those of infinities have a sign, by which they would be sorted below every number.
            errors.push(if length > 0.0 { if error.is_nan() { f32::NAN } else { error } } else { UNDEFINED });
        }
    }
}
