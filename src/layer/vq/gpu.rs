//! VQ attention on the GPU: OVQ's kernels over a dictionary whose keys never move, see [`Runner`].

use std::sync::Arc;

use ndarray::{Array3, Axis};

use super::{state, trace};
use crate::gpu::GpuStream;
use crate::layer::ovq::Config;
use crate::layer::ovq::runner::{Collected, Runner, Take, padded};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::trace::{TraceBlock, Values};

/// VQ attention over one stream, all heads.
#[derive(Debug)]
pub(super) struct VqGpu {
    runner: Runner,
    codes: usize,
    /// Of each head's codes, which are in use `[N]`, and how many.
    used: Vec<(Vec<bool>, i32)>,
    position: usize,
}

impl VqGpu {
    pub(super) fn new(setup: &Setup, codebook: &Array3<f32>, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        let (books, codes, dk) = codebook.dim();
        let runner = Runner::new(Config::fixed(setup, codes), stream)?;
        let heads = runner.share.heads;
        for head in 0..heads {
            let numbers: Vec<f32> = codebook.index_axis(Axis(0), head.min(books - 1)).iter().copied().collect();
            stream.gpu.write(&runner.buffers.dict_k, head * codes * runner.share.dk4 * 4, &padded(&numbers, dk));
        }
        Ok(Self { runner, codes, used: vec![(vec![false; codes], 0); heads], position: 0 })
    }

    /// Takes note of the codes that the chunks came to use: how many there are after each, for every head.
    fn count(&mut self, all: &Collected) -> Vec<i32> {
        let mut sizes = Vec::with_capacity(self.used.len() * all.steps.len());
        for ((used, in_use), codes) in self.used.iter_mut().zip(all.assignments.chunks(all.writes.len())) {
            for step in all.steps.clone() {
                let chunk = self.runner.chunk(step);
                for &code in &codes[chunk.start - all.writes.start..chunk.end - all.writes.start] {
                    *in_use += i32::from(!std::mem::replace(&mut used[code as usize], true));
                }
                sizes.push(*in_use);
            }
        }
        sizes
    }
}

impl Layer for VqGpu {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let steps = self.position..self.position.saturating_add(chunks).min(self.runner.config.sizes.len() - 1);
        if steps.is_empty() {
            return Ok(());
        }
        // Which codes are in use is known from where the writes went.
        let all = self.runner.collect(steps.clone(), if record == Record::All { Take::All } else { Take::Placed })?;
        let sizes = self.count(&all);
        self.position = steps.end;
        if record == Record::All {
            let Collected { steps, writes, reads, outputs, assignments, similarity, mut margin, .. } = all;
            // Kernels cannot be trusted with infinities.
            if self.codes == 1 {
                margin.fill(f32::INFINITY);
            }
            out.push(trace::OUTPUTS, reads, Values::F32(outputs));
            out.push(trace::ASSIGNMENTS, writes.clone(), Values::I32(assignments));
            out.push(trace::SIMILARITY, writes.clone(), Values::F32(similarity));
            out.push(trace::ASSIGN_MARGIN, writes, Values::F32(margin));
            out.push(trace::SIZES, steps, Values::I32(sizes));
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let (heads, dv) = (self.runner.share.heads, self.runner.stream.stream.value_dim());
        let [_, values, counts] = self.runner.rows(self.codes)?;
        Ok(Snapshot {
            position: self.position,
            arrays: vec![
                StateArray { name: "values", shape: vec![heads, self.codes, dv], values },
                StateArray { name: "counts", shape: vec![heads, self.codes], values: counts },
            ],
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let stream = &self.runner.stream.stream;
        let (heads, dv) = (self.runner.share.heads, stream.value_dim());
        snapshot.check_position(stream, self.runner.config.chunk)?;
        let values = snapshot.numbers::<f32>("values", &[heads, self.codes, dv])?;
        let counts = state::counts_of(snapshot, [heads, self.codes])?;
        if values.len() != heads * self.codes * dv {
            return Err(LayerError::Restore("`values` is cut short".to_owned()));
        }
        self.runner.put_rows(self.codes, &[], values, counts)?;
        for ((used, in_use), counts) in self.used.iter_mut().zip(counts.chunks(self.codes)) {
            *used = counts.iter().map(|&c| c > 0).collect();
            *in_use = used.iter().map(|&u| i32::from(u)).sum();
        }
        self.position = snapshot.position;
        Ok(())
    }
}
