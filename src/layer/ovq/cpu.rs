//! OVQ on the CPU, in float32 and float64: the twin that the kernels are held against.
//!
//! Stage 1 and the similarities of stage 2 only read the state, so for each chunk they run side by side as jobs, cut into
//! blocks of reads and tokens, for all heads; the update of each head follows. Blocks and tiles are of fixed size, so
//! results depend neither on the number of threads nor on how many chunks a call advances.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::attend::{Nearest, Pool, Reads, SERIAL_MADDS, block, cast_rows};
use super::rows::Row;
use super::state::{HeadState, Placed, rows_of};
use super::{Config, trace};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot};
use crate::stream::Stream;
use crate::trace::{TraceBlock, Values};

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
    Nearest { head: usize, writes: Range<usize>, found: Nearest<'a, R> },
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
                jobs.push(Job::Nearest { head, writes, found: Nearest { assignments, similarity, margin } });
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
        let (stream, beta) = (&*self.stream, R::from_f64(self.config.beta));
        match job {
            Job::Predict { head, reads, out } => {
                let kv = stream.kv_head_of(head);
                let raw = |writes: Range<usize>, keys: &mut Vec<R>| {
                    keys.extend(rows_of(stream.keys(), kv, writes).iter().map(|&x| R::from_f32(x)));
                };
                let dictionary = self.heads[kv].dictionary(self.config.count_bias);
                Reads { stream, beta, head, start: chunk.start }.answer(reads, &dictionary, &raw, out, &mut scratch);
            }
            Job::Nearest { head, writes, mut found } => {
                let keys = |writes: Range<usize>| rows_of(stream.keys(), head, writes);
                // Before there is any centroid the chunk's first key stands in for one.
                let mut first = Vec::new();
                let state = &self.heads[head];
                let rows = if state.rows() == 0 { cast_rows(keys(chunk.start..chunk.start + 1), &mut first) } else { &state.dict_k };
                found.find(keys(writes), stream.key_dim(), rows, &state.dead, &mut scratch);
            }
        }
        self.scratch.put(scratch);
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
        super::state::restore(&mut self.heads, snapshot, rows, &self.config)?;
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
