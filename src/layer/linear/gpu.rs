//! Linear attention on the GPU: features of many chunks at once, then a read and an update for each block of writes.

use std::ops::Range;
use std::sync::Arc;

use super::{Epsilon, NAME, NORMALISER, trace};
use crate::gpu::{Bound, Constant, GpuError, GpuStream, INDEX, KernelSpec};
use crate::layer::feature::gpu::{BoundFeatures, GpuFeatures, Rows};
use crate::layer::{Layer, LayerError, Record, Setup, Snapshot, StateArray};
use crate::trace::{TraceBlock, Values};

/// Threads of a workgroup.
const GROUP: usize = 64;
/// Numbers in the features of one batch of keys, or of queries (32 MiB).
const FEATURE_NUMBERS: usize = 8 << 20;
/// Features that one workgroup of a read sums over: short enough for the loops of software adapters, see
/// [`crate::gpu::Gpu::loop_limit`].
const SLICE: usize = 256;
/// Rows of one dispatch: what any adapter allows along a dimension.
const ROWS: usize = 65_535;
/// Blocks in one submission, so that drivers that allow a submission two seconds are content.
const BLOCKS: usize = 256;

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct ReadStep {
    batch_first_read: u32,
    batch_reads: u32,
    first_read: u32,
    batch_first_write: u32,
    batch_writes: u32,
    first_write: u32,
    writes: u32,
    heads_per_key: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct UpdateStep {
    heads: u32,
    batch_first_write: u32,
    batch_writes: u32,
    first_write: u32,
    block_writes: u32,
    writes: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct CombineStep {
    rows: u32,
    batch_first_read: u32,
    batch_reads: u32,
}

/// A block of writes with some or all of its reads; the last part of it enters the state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    writes: Range<usize>,
    reads: Range<usize>,
    enters: bool,
}

/// A running linear-attention layer.
#[derive(Debug)]
pub(super) struct LinearGpu {
    stream: Arc<GpuStream>,
    chunk: usize,
    position: usize,
    features: usize,
    /// Writes of a block, and what the feature buffers hold.
    block: usize,
    write_rows: usize,
    read_rows: usize,
    keys: BoundFeatures,
    queries: BoundFeatures,
    read: Bound,
    combine: Bound,
    update: Bound,
    state: wgpu::Buffer,
    normaliser: wgpu::Buffer,
    outputs: wgpu::Buffer,
}

impl LinearGpu {
    /// # Errors
    /// If the adapter's limits do not allow it, or the device is lost.
    pub(super) fn new(setup: &Setup, stream: &Arc<GpuStream>) -> Result<Self, LayerError> {
        let (gpu, s) = (&stream.gpu, &*setup.stream);
        let map = GpuFeatures::new(NAME, setup, gpu)?;
        let (d, dv, hkv, hq) = (map.dim(), s.value_dim(), s.kv_heads(), s.query_heads());
        let write_rows = (FEATURE_NUMBERS / (hkv * d)).clamp(1, s.writes().min(ROWS));
        let slices = d.div_ceil(SLICE);
        let read_rows = (FEATURE_NUMBERS / (hq * d.max(slices * (dv + 1)))).clamp(1, s.reads().clamp(1, ROWS));
        let block = setup.chunk.min(write_rows);
        let key_features = gpu.zeroed("the features of the keys", hkv * write_rows * d)?;
        let query_features = gpu.zeroed("the features of the queries", hq * read_rows * d)?;
        let state = gpu.zeroed("the state of linear attention", hkv * d * dv)?;
        let normaliser = gpu.zeroed("the normaliser of linear attention", hkv * d)?;
        let parts = gpu.zeroed("the partial sums of linear attention", hq * read_rows * slices * (dv + 1))?;
        let outputs = gpu.zeroed("the outputs of linear attention", hq * read_rows * (dv + 1))?;
        let epsilon = Epsilon::of(&setup.params);
        let constants = [
            ("GROUP", GROUP.into()),
            ("D", d.into()),
            ("DV", dv.into()),
            ("BLOCK", block.into()),
            ("SLICE", d.min(SLICE).into()),
            ("SLICES", slices.into()),
            ("EPSILON", Constant::F32(epsilon.value as f32)),
            ("OF_MEAN", Constant::Bool(epsilon.of_mean)),
        ];
        let kernel = |name, source| gpu.kernel(&KernelSpec { name, source: &[INDEX, source], constants: &constants });
        let read = kernel("linear/read", include_str!("../../../shaders/linear/read.wgsl"))?;
        let combine = kernel("linear/combine", include_str!("../../../shaders/linear/combine.wgsl"))?;
        let update = kernel("linear/update", include_str!("../../../shaders/linear/update.wgsl"))?;
        let of_read = [&query_features, &key_features, &stream.values, &stream.after, &state, &normaliser, &parts];
        Ok(Self {
            chunk: setup.chunk,
            position: 0,
            features: d,
            block,
            write_rows,
            read_rows,
            keys: map.bind(gpu, Rows::Keys, &stream.keys, hkv, s.writes(), &key_features)?,
            queries: map.bind(gpu, Rows::Queries, &stream.queries, hq, s.reads(), &query_features)?,
            read: read.bind(gpu, &of_read)?,
            combine: combine.bind(gpu, &[&parts, &outputs, &stream.after])?,
            update: update.bind(gpu, &[&key_features, &stream.values, &state, &normaliser])?,
            state,
            normaliser,
            outputs,
            stream: Arc::clone(stream),
        })
    }

    /// The chunks `start..end` cut into parts whose writes are one block and whose reads fit the buffers.
    ///
    /// Where blocks end depends on the chunk alone, so that many chunks at once give the bits of one at a time.
    fn parts(&self, start: usize, end: usize, record: Record) -> Vec<Part> {
        let s = &self.stream.stream;
        let mut parts = Vec::new();
        for chunk in (start..end).map(|c| s.chunk_range(self.chunk, c)) {
            for at in chunk.clone().step_by(self.block) {
                let writes = at..(at + self.block).min(chunk.end);
                let mut reads = match record {
                    Record::All => s.reads_within(writes.clone()),
                    Record::StateOnly => 0..0,
                };
                while reads.len() > self.read_rows {
                    parts.push(Part { writes: writes.clone(), reads: reads.start..reads.start + self.read_rows, enters: false });
                    reads.start += self.read_rows;
                }
                parts.push(Part { writes, reads, enters: true });
            }
        }
        parts
    }

    /// How many of the parts, from the first on, fit into one batch.
    fn fitting(&self, parts: &[Part]) -> usize {
        let fits =
            |p: &Part| p.writes.end - parts[0].writes.start <= self.write_rows && p.reads.end - parts[0].reads.start <= self.read_rows;
        parts.iter().take(BLOCKS).take_while(|p| fits(p)).count()
    }

    /// Runs parts that fit into one batch; outputs of their reads and what they were divided by, `[query heads, reads, dv + 1]`.
    fn run(&self, parts: &[Part]) -> Result<Vec<f32>, GpuError> {
        let s = &self.stream.stream;
        let (hkv, hq, last) = (s.kv_heads(), s.query_heads(), &parts[parts.len() - 1]);
        let (writes, reads) = (parts[0].writes.start..last.writes.end, parts[0].reads.start..last.reads.end);
        let mut batch = self.stream.gpu.batch();
        self.keys.dispatch(&mut batch, &writes);
        self.queries.dispatch(&mut batch, &reads);
        for part in parts {
            let step = ReadStep {
                batch_first_read: reads.start as u32,
                batch_reads: reads.len() as u32,
                first_read: part.reads.start as u32,
                batch_first_write: writes.start as u32,
                batch_writes: writes.len() as u32,
                first_write: part.writes.start as u32,
                writes: s.writes() as u32,
                heads_per_key: (hq / hkv) as u32,
            };
            batch.dispatch(&self.read, &step, [part.reads.len() as u32, self.features.div_ceil(SLICE) as u32, hq as u32]);
            if part.enters {
                let step = UpdateStep {
                    heads: hkv as u32,
                    batch_first_write: step.batch_first_write,
                    batch_writes: step.batch_writes,
                    first_write: step.first_write,
                    block_writes: part.writes.len() as u32,
                    writes: step.writes,
                };
                let numbers = hkv * self.features * (s.value_dim() + 1);
                batch.dispatch(&self.update, &step, self.stream.gpu.groups(numbers.div_ceil(GROUP)));
            }
        }
        let rows = hq * reads.len();
        let numbers = rows * (s.value_dim() + 1);
        let step = CombineStep { rows: rows as u32, batch_first_read: reads.start as u32, batch_reads: reads.len() as u32 };
        batch.dispatch(&self.combine, &step, self.stream.gpu.groups(numbers.div_ceil(GROUP)));
        let id = batch.read(&self.outputs, 0..numbers);
        Ok(batch.submit()?.wait()?.f32(&id))
    }
}

impl Layer for LinearGpu {
    fn position(&self) -> usize {
        self.position
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let s = &*self.stream.stream;
        let end = self.position.saturating_add(chunks).min(s.chunks(self.chunk));
        let parts = self.parts(self.position, end, record);
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(()) };
        let reads = first.reads.start..last.reads.end;
        let dv = s.value_dim();
        let mut outputs = vec![0.0; s.query_heads() * reads.len() * dv];
        let mut normalisers = vec![0.0; s.query_heads() * reads.len()];
        let mut rest = parts.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.fitting(rest));
            let start = now[0].reads.start;
            let count = now[now.len() - 1].reads.end - start;
            for (at, row) in self.run(now)?.chunks_exact(dv + 1).enumerate() {
                let at = at / count * reads.len() + at % count + start - reads.start;
                outputs[at * dv..(at + 1) * dv].copy_from_slice(&row[..dv]);
                normalisers[at] = row[dv];
            }
            rest = later;
        }
        if record == Record::All {
            out.push(trace::OUTPUTS, reads.clone(), Values::F32(outputs));
            out.push(NORMALISER, reads, Values::F32(normalisers));
        }
        self.position = end;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        let s = &self.stream.stream;
        let (h, d, dv) = (s.kv_heads(), self.features, s.value_dim());
        let mut batch = self.stream.gpu.batch();
        let (state, normaliser) = (batch.read(&self.state, 0..h * d * dv), batch.read(&self.normaliser, 0..h * d));
        let read = batch.submit()?.wait()?;
        let arrays = vec![
            StateArray { name: "state", shape: vec![h, d, dv], values: Values::F32(read.f32(&state)) },
            StateArray { name: "normaliser", shape: vec![h, d], values: Values::F32(read.f32(&normaliser)) },
        ];
        Ok(Snapshot { position: self.position, arrays })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        let s = &self.stream.stream;
        let (h, d, dv) = (s.kv_heads(), self.features, s.value_dim());
        snapshot.check_position(s, self.chunk)?;
        let state = snapshot.numbers::<f32>("state", &[h, d, dv])?;
        let normaliser = snapshot.numbers::<f32>("normaliser", &[h, d])?;
        self.stream.gpu.check()?;
        self.stream.gpu.write(&self.state, 0, state);
        self.stream.gpu.write(&self.normaliser, 0, normaliser);
        self.position = snapshot.position;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, ArrayD};

    use super::*;
    use crate::layer::full::tests::setup;
    use crate::layer::linear::LinearKind;
    use crate::layer::{Arrays, LayerKind};
    use crate::param::{Params, Resolved};
    use crate::stream::{Labels, Stream, StreamParts, Targets};

    #[test]
    fn small_buffers_cut_a_run_into_batches_with_the_same_bits() {
        let Some(gpu) = crate::gpu::testing::gpu_or_skip() else { return };
        let setup = setup(LinearKind.params(), 450, 140);
        let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
        let run = |write_rows: usize, read_rows: usize| {
            let mut layer = LinearGpu::new(&setup, &stream).unwrap();
            // The buffers stay large; what is used of them shrinks. Blocks (100) must still fit.
            (layer.write_rows, layer.read_rows) = (write_rows, read_rows);
            let mut block = TraceBlock::default();
            layer.advance(usize::MAX, Record::All, &mut block).unwrap();
            (block, layer.snapshot().unwrap())
        };
        let whole = run(450, 140);
        // A chunk of 100 writes has about 31 reads: 10 rows cut it, 40 hold one, 70 two.
        for (write_rows, read_rows) in [(100, 140), (250, 140), (450, 10), (450, 40), (200, 70)] {
            assert_eq!(run(write_rows, read_rows), whole, "{write_rows} {read_rows}");
        }
    }

    #[test]
    fn a_run_of_the_state_alone_has_no_reads() {
        let Some(gpu) = crate::gpu::testing::gpu_or_skip() else { return };
        let setup = setup(LinearKind.params(), 450, 140);
        let mut layer = LinearGpu::new(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap();
        // One part a chunk, and no read from the first part's first to the last part's last: nothing is made or read back.
        let parts = layer.parts(0, 5, Record::StateOnly);
        assert_eq!((parts.len(), parts[0].reads.start..parts[4].reads.end), (5, 0..0));
        assert_eq!(layer.run(&parts).unwrap(), Vec::<f32>::new());
        layer.position = 5;
        let mut whole = LinearGpu::new(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap();
        whole.advance(5, Record::All, &mut TraceBlock::default()).unwrap();
        assert_eq!(layer.snapshot().unwrap(), whole.snapshot().unwrap());
    }

    /// Software adapters end long loops early, without a word: such a map is refused there, and whole elsewhere.
    #[test]
    fn a_map_of_very_many_features_is_whole_or_refused() {
        let Some(gpu) = crate::gpu::testing::gpu_or_skip() else { return };
        // 17000 directions of 256 numbers: 266 products of 256 for a thread.
        let (m, dk) = (17_000_usize, 256);
        let stream = Stream::new(StreamParts {
            keys: Array3::zeros((1, 1, dk)),
            values: Array3::ones((1, 1, 1)),
            queries: Array3::zeros((1, 0, dk)),
            after: Vec::new(),
            beta: 1.0,
            targets: Targets::None,
            labels: Labels::default(),
        })
        .unwrap();
        let params = Resolved::new("linear", LinearKind.params(), &Params::default().with("fmap", "favor")).unwrap();
        let arrays = Arrays::from([("projection".to_owned(), ArrayD::ones(vec![m, dk]))]);
        let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::new(arrays), chunk: 1, hands: Arc::default() };
        match LinearGpu::new(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()) {
            Err(error) => {
                assert!(gpu.loop_limit().unwrap() < 70_000, "{error}");
                assert!(error.to_string().starts_with("a feature map of 17000 features needs "), "{error}");
            }
            Ok(mut layer) => {
                layer.advance(1, Record::StateOnly, &mut TraceBlock::default()).unwrap();
                // phi(0) is exp(0) / sqrt(m) everywhere.
                let snapshot = layer.snapshot().unwrap();
                let sums = snapshot.array("normaliser").unwrap().values.as_f32().unwrap();
                assert!(sums.iter().all(|x| (x * (m as f32).sqrt() - 1.0).abs() < 1e-5));
            }
        }
    }
}
