//! OVQ on the GPU, see [`Runner`].

use std::sync::Arc;

use super::runner::{Collected, Runner, Take};
use super::{Config, Founding, trace};
use crate::gpu::GpuStream;
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::session::hand;
use crate::trace::{TraceBlock, Values};

/// OVQ over one stream, all heads.
#[derive(Debug)]
pub(super) struct OvqGpu {
    runner: Runner,
    position: usize,
}

impl OvqGpu {
    pub(super) fn new(setup: &Setup, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        Ok(Self { runner: Runner::new(Config::new(setup), stream)?, position: 0 })
    }

    fn push(&self, all: Collected, out: &mut TraceBlock) {
        let Collected { steps, writes, reads, outputs, mut assignments, similarity, mut margin, mut select_margin } = all;
        let mut is_new = vec![0_i32; assignments.len()];
        for (local, step) in steps.clone().enumerate() {
            let (chunk, before) = (self.runner.chunk(step), self.runner.config.sizes[step]);
            let cut = (self.runner.config.sizes[step + 1] - before).saturating_sub(usize::from(before == 0));
            let ranked = chunk.len() - usize::from(before == 0);
            for head in 0..self.runner.share.heads {
                let own = head * writes.len() + chunk.start - writes.start..head * writes.len() + chunk.end - writes.start;
                for (flag, &row) in is_new[own.clone()].iter_mut().zip(&assignments[own.clone()]) {
                    // In the first chunk row 0 is both the first founder's and what the others go to.
                    *flag = i32::from(row as usize >= before.max(1));
                }
                if before == 0 {
                    is_new[own.start] = 1;
                }
                // What has no second or no edge has an infinite margin; kernels cannot be trusted with infinities.
                let dead = hand::dead_rows(&self.runner.config.hands, head, step).len();
                if before <= dead + 1 {
                    margin[own].fill(f32::INFINITY);
                }
                let margin = &mut select_margin[head * steps.len() + local];
                let none = match self.runner.config.founding {
                    Founding::Spread => cut >= ranked,
                    Founding::Random(_) => true,
                    // The largest number there is, where no round had a second candidate.
                    Founding::FarthestPoint => *margin >= f32::MAX,
                };
                if none || cut == 0 {
                    *margin = f32::INFINITY;
                }
            }
        }
        out.push(trace::OUTPUTS, reads, Values::F32(outputs));
        out.push(trace::ASSIGNMENTS, writes.clone(), Values::I32(std::mem::take(&mut assignments)));
        out.push(trace::SIMILARITY, writes.clone(), Values::F32(similarity));
        out.push(trace::IS_NEW, writes.clone(), Values::I32(is_new));
        out.push(trace::ASSIGN_MARGIN, writes, Values::F32(margin));
        out.push(trace::SELECT_MARGIN, steps.clone(), Values::F32(select_margin));
        out.push(trace::SIZES, steps.clone(), self.runner.sizes(&steps));
    }
}

impl Layer for OvqGpu {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let steps = self.position..self.position.saturating_add(chunks).min(self.runner.config.sizes.len() - 1);
        if steps.is_empty() {
            return Ok(());
        }
        if record == Record::StateOnly {
            self.runner.run(steps.clone(), Take::Nothing, |flight| flight.pending.wait().map(drop))?;
        } else {
            let all = self.runner.collect(steps.clone(), record.into())?;
            self.push(all, out);
        }
        self.position = steps.end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let stream = &self.runner.stream.stream;
        let (heads, rows) = (self.runner.share.heads, self.runner.config.sizes[self.position]);
        let [dict_k, dict_v, counts] = self.runner.rows(rows)?;
        Ok(Snapshot {
            position: self.position,
            arrays: vec![
                StateArray { name: "dict_k", shape: vec![heads, rows, stream.key_dim()], values: dict_k },
                StateArray { name: "dict_v", shape: vec![heads, rows, stream.value_dim()], values: dict_v },
                StateArray { name: "counts", shape: vec![heads, rows], values: counts },
            ],
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let stream = &self.runner.stream.stream;
        let Some(&rows) = self.runner.config.sizes.get(snapshot.position) else {
            return Err(LayerError::Restore(format!("position {} is beyond the stream", snapshot.position)));
        };
        let sizes = [self.runner.share.heads, rows, stream.key_dim(), stream.value_dim()];
        let arrays = super::state::arrays::<f32>(snapshot, sizes, &self.runner.config)?;
        self.runner.put_rows(rows, arrays.dict_k, arrays.dict_v, arrays.counts)?;
        self.position = snapshot.position;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "infinities and choices are equal or wrong")]
mod tests {
    use super::super::share::Share;
    use super::*;
    use crate::gpu::testing::gpu_or_skip;
    use crate::layer::workload::Workload;
    use crate::layer::{LayerKind, Precision};
    use crate::param::Params;

    /// Shares of work that only large streams or small adapters bring about, on a small stream: several tiles a split,
    /// several slices of columns, several dispatches for a chunk's reads, submissions cut within a chunk.
    #[test]
    fn every_way_to_share_the_work_gives_the_twins_results() {
        let Some(gpu) = gpu_or_skip() else { return };
        let workload = Workload { dk: 24, dv: 20, reads: 150, ..Workload::causal(300) };
        let params = Params::default().with("n_max", 200).with("chunk", 80).with("growth", "saturating");
        let setup = workload.setup(&crate::layer::ovq::OvqKind, &params).unwrap();
        let mut expected = TraceBlock::default();
        crate::layer::ovq::OvqKind.cpu(&setup, Precision::Single).unwrap().advance(4, Record::All, &mut expected).unwrap();
        let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
        let config = Config::new(&setup);
        let share = Share::new(&gpu, &setup.stream, &config).unwrap();
        let cramped =
            Share { slice: 4, settle: 256, settle_parts: 3, token_splits: 2, read_splits: 3, pass: 32, window: 32, chunks: 3, ..share };
        for share in [share, cramped] {
            let mut layer = OvqGpu { runner: Runner::with_share(config.clone(), share, &stream).unwrap(), position: 0 };
            let mut block = TraceBlock::default();
            layer.advance(4, Record::All, &mut block).unwrap();
            assert_eq!(block.pieces.len(), expected.pieces.len());
            for (a, b) in block.pieces.iter().zip(&expected.pieces) {
                assert_eq!((a.channel, &a.range, a.values.len()), (b.channel, &b.range, b.values.len()));
                for i in 0..a.values.len() {
                    let (x, y) = (a.values.get(i).unwrap(), b.values.get(i).unwrap());
                    assert!(x == y || (x - y).abs() < 1e-5, "channel {} at {i}: {x} and {y}", a.channel);
                }
            }
        }
    }
}
