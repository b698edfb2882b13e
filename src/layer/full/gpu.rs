//! Softmax attention on the GPU: tiles of reads by spans of keys (`shaders/attention/tile.wgsl`), then a pass that joins
//! the spans (`combine.wgsl`), so that few reads of a long stream fill the device as well as many.

use std::ops::Range;
use std::sync::Arc;

use super::{trace, visible};
use crate::gpu::{Bound, Constant, GpuError, GpuStream, KernelSpec, NUMBERS};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot};
use crate::trace::{TraceBlock, Values};

/// Threads of a workgroup, and keys of a tile.
const GROUP: usize = 64;
/// Keys of a span, at multiples of it: fixed, for a read's answer must not depend on how it is computed; and short enough
/// for the loops of software adapters (8 tiles x at most 4500 iterations, see [`crate::gpu::Gpu::loop_limit`]).
const SPAN: usize = 512;
/// Reads of a tile: as many as fit into 16 KiB of workgroup storage, the least that any adapter has.
const TILES: [usize; 4] = [8, 4, 2, 1];
/// Bytes that the partial sums of one batch of reads may take.
const PARTIAL_BYTES: usize = 64 << 20;

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct TileStep {
    first_read: u32,
    batch_reads: u32,
    reads: u32,
    writes: u32,
    window: u32,
    first_span: u32,
    spans: u32,
    heads_per_key: u32,
    beta: f32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct CombineStep {
    first_read: u32,
    batch_reads: u32,
    window: u32,
    first_span: u32,
    spans: u32,
}

/// Softmax attention over the last `window` writes, or over all.
#[derive(Debug)]
pub(in crate::layer) struct AttentionGpu {
    stream: Arc<GpuStream>,
    window: Option<usize>,
    beta: f32,
    chunk: usize,
    position: usize,
    /// Reads of a tile.
    tile_reads: usize,
    /// Numbers that the buffer of partial sums holds.
    partial_numbers: usize,
    tile: Bound,
    combine: Bound,
    outputs: wgpu::Buffer,
}

impl AttentionGpu {
    /// # Errors
    /// If the adapter's limits do not allow it, or the device is lost.
    pub(in crate::layer) fn new(setup: &Setup, stream: &Arc<GpuStream>, window: Option<usize>) -> Result<Self, LayerError> {
        let (gpu, s) = (&stream.gpu, &setup.stream);
        let (dk, dv) = (s.key_dim(), s.value_dim());
        let bytes = |reads: usize| 4 * reads * (dk + GROUP + 5);
        let tile_reads = TILES.into_iter().find(|&t| bytes(t) <= gpu.workgroup_bytes().min(16 << 10)).unwrap_or(1);
        let constants: [(&str, Constant); 6] = [
            ("GROUP", GROUP.into()),
            ("QT", tile_reads.into()),
            ("DK", dk.into()),
            ("DV", dv.into()),
            ("COLUMNS", dv.div_ceil(GROUP).into()),
            ("SPAN", SPAN.into()),
        ];
        let kernel = |name, source| gpu.kernel(&KernelSpec { name, source: &[NUMBERS, source], constants: &constants });
        let tile = kernel("attention/tile", include_str!("../../../shaders/attention/tile.wgsl"))?;
        let combine = kernel("attention/combine", include_str!("../../../shaders/attention/combine.wgsl"))?;
        // At least one read of every head, at most all of them at once.
        let (heads, spans) = (s.query_heads(), s.writes().div_ceil(SPAN) + 1);
        let of_read = heads * spans * (dv + 2);
        let partial_numbers = (PARTIAL_BYTES / 4).clamp(of_read, of_read * s.reads().max(1));
        let partial = gpu.zeroed("the partial sums of attention", partial_numbers)?;
        // A batch of reads of one span is the largest: its outputs are smaller than its partial sums.
        let outputs = gpu.zeroed("the outputs of attention", partial_numbers.min(heads * s.reads() * dv))?;
        Ok(Self {
            window,
            beta: setup.beta() as f32,
            chunk: setup.chunk,
            position: 0,
            tile_reads,
            partial_numbers,
            tile: tile.bind(gpu, &[&stream.keys, &stream.values, &stream.queries, &stream.after, &partial])?,
            combine: combine.bind(gpu, &[&partial, &stream.after, &outputs])?,
            outputs,
            stream: Arc::clone(stream),
        })
    }

    /// Spans that the reads `reads` see between them.
    fn spans(&self, reads: &Range<usize>) -> Range<usize> {
        let after = self.stream.stream.after();
        let (first, last) = (visible(self.window, after[reads.start]), visible(self.window, after[reads.end - 1]));
        first.start / SPAN..last.end.div_ceil(SPAN)
    }

    /// The longest batch from `start` on whose partial sums fit.
    fn batch(&self, start: usize, end: usize) -> Range<usize> {
        let s = &self.stream.stream;
        let numbers = |n: usize| s.query_heads() * n * self.spans(&(start..start + n)).len() * (s.value_dim() + 2);
        let most = (self.stream.gpu.limits().max_compute_workgroups_per_dimension as usize).min(end - start);
        // More reads see more spans: what fits is found by halving.
        let (mut fits, mut too_many) = (1, most + 1);
        while too_many - fits > 1 {
            let middle = usize::midpoint(fits, too_many);
            if numbers(middle) <= self.partial_numbers {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        start..start + fits
    }

    /// Outputs of one batch of reads, `[query heads, reads, dv]`.
    fn run(&self, reads: &Range<usize>) -> Result<Vec<f32>, GpuError> {
        let s = &self.stream.stream;
        let (spans, heads) = (self.spans(reads), s.query_heads());
        let window = self.window.map_or(u32::MAX, |w| w as u32);
        let (first_read, batch_reads) = (reads.start as u32, reads.len() as u32);
        let mut batch = self.stream.gpu.batch();
        let step = TileStep {
            first_read,
            batch_reads,
            reads: s.reads() as u32,
            writes: s.writes() as u32,
            window,
            first_span: spans.start as u32,
            spans: spans.len() as u32,
            heads_per_key: (heads / s.kv_heads()) as u32,
            beta: self.beta,
        };
        batch.dispatch(&self.tile, &step, [reads.len().div_ceil(self.tile_reads) as u32, step.spans, heads as u32]);
        let step = CombineStep { first_read, batch_reads, window, first_span: step.first_span, spans: step.spans };
        batch.dispatch(&self.combine, &step, [batch_reads, 1, heads as u32]);
        let id = batch.read(&self.outputs, 0..heads * reads.len() * s.value_dim());
        Ok(batch.submit()?.wait()?.f32(&id))
    }

    /// Outputs of the reads `reads`, `[query heads, reads, dv]`, in as many batches as it takes.
    fn outputs(&self, reads: Range<usize>) -> Result<Vec<f32>, GpuError> {
        let s = &self.stream.stream;
        let (heads, dv) = (s.query_heads(), s.value_dim());
        let mut out = vec![0.0; heads * reads.len() * dv];
        let mut at = reads.start;
        while at < reads.end {
            let batch = self.batch(at, reads.end);
            let numbers = self.run(&batch)?;
            for (head, rows) in numbers.chunks(batch.len() * dv).enumerate() {
                let to = (head * reads.len() + at - reads.start) * dv;
                out[to..to + rows.len()].copy_from_slice(rows);
            }
            at = batch.end;
        }
        Ok(out)
    }
}

impl Layer for AttentionGpu {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let stream = &self.stream.stream;
        let end = self.position.saturating_add(chunks).min(stream.chunks(self.chunk));
        if record == Record::All && end > self.position {
            let writes = stream.chunk_range(self.chunk, self.position).start..stream.chunk_range(self.chunk, end - 1).end;
            let reads = stream.reads_within(writes);
            out.push(trace::OUTPUTS, reads.clone(), Values::F32(self.outputs(reads)?));
        }
        self.position = end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        Ok(Snapshot { position: self.position, arrays: Vec::new() })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        self.position = super::restored(snapshot, &self.stream.stream, self.chunk)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::LayerKind;
    use crate::layer::full::{FullKind, tests::setup};

    #[test]
    fn small_buffers_cut_reads_into_batches_with_the_same_bits() {
        let Some(gpu) = crate::gpu::testing::gpu_or_skip() else { return };
        // 1200 writes: three spans. 41 reads of two heads.
        let setup = setup(FullKind.params(), 1200, 41);
        let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
        for window in [None, Some(700)] {
            let mut layer = AttentionGpu::new(&setup, &stream, window).unwrap();
            let whole = layer.outputs(0..41).unwrap();
            assert_eq!(layer.batch(0, 41), 0..41);
            // Room for three reads that see all three spans, for more that see fewer.
            layer.partial_numbers = 2 * 3 * 3 * (2 + 2);
            assert_eq!(layer.batch(38, 41), 38..41);
            assert!(layer.batch(30, 41).len() <= 4 && layer.batch(0, 41).len() >= 9);
            assert_eq!(layer.outputs(0..41).unwrap(), whole);
        }
    }
}
