//! Seeded random streams of given sizes, for benches, tests and `mnemoscope bench`: where only the sizes matter.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::layer::fit::{FitError, Origin, Sample, Samples};
use crate::layer::{Arrays, Layer, LayerError, LayerKind, Record, Setup};
use crate::param::{ParamError, Params, Resolved};
use crate::stream::{Labels, Stream, StreamError, StreamParts, Targets};
use crate::trace::TraceBlock;

/// Writes a step for layers that have no chunk of their own.
const STEP: usize = 64;

/// The sizes of a stream, and the seed of its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// Writes, T.
    pub writes: usize,
    /// Reads, R, spread evenly over the stream; as many as writes is the causal sequence.
    pub reads: usize,
    /// Numbers in a key, dk.
    pub dk: usize,
    /// Numbers in a value, dv.
    pub dv: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Query heads, a multiple of the key/value heads.
    pub query_heads: usize,
    /// The logit scale.
    pub beta: f32,
    /// The seed.
    pub seed: u64,
}

impl Workload {
    /// A causal sequence of one head, dk = dv = 64, as the OVQ figures of the project are measured on.
    #[must_use]
    pub fn causal(writes: usize) -> Self {
        Self { writes, reads: writes, dk: 64, dv: 64, kv_heads: 1, query_heads: 1, beta: 8.0, seed: 0 }
    }

    /// The stream: keys and queries are independent unit vectors, values standard normal.
    ///
    /// # Errors
    /// If a size is 0 or the query heads are no multiple of the key/value heads.
    pub fn stream(&self) -> Result<Stream, StreamError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut normal = |shape| Array3::from_shape_simple_fn(shape, || -> f32 { StandardNormal.sample(&mut rng) });
        let mut keys = normal((self.kv_heads, self.writes, self.dk));
        let values = normal((self.kv_heads, self.writes, self.dv));
        let mut queries = normal((self.query_heads, self.reads, self.dk));
        for array in [&mut keys, &mut queries] {
            for mut row in array.rows_mut() {
                let norm = row.dot(&row).sqrt().max(1e-12);
                row /= norm;
            }
        }
        // Read r of R sees ceil((r + 1) T / R) writes: r + 1 of them where R = T.
        let after = (1..=self.reads).map(|r| (r * self.writes).div_ceil(self.reads) as u32).collect();
        Stream::new(StreamParts { keys, values, queries, after, beta: self.beta, targets: Targets::None, labels: Labels::default() })
    }

    /// Everything a layer of `kind` is built from, on this workload's stream, checked.
    ///
    /// # Errors
    /// If the parameters do not fit the layer or the stream.
    ///
    /// # Panics
    /// If the sizes make no stream, see [`Workload::stream`].
    pub fn setup(&self, kind: &dyn LayerKind, params: &Params) -> Result<Setup, ParamError> {
        let stream = self.stream().unwrap_or_else(|e| panic!("{self:?}: {e}"));
        let params = Resolved::new(kind.name(), kind.params(), params)?;
        let chunk = kind.chunk(&params).unwrap_or(STEP);
        let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::new(Arrays::new()), chunk, hands: Arc::default() };
        kind.check(&setup)?;
        match kind.fit(&setup, &Redrawn(*self), &AtomicBool::new(false)) {
            Ok(fitted) => {
                let setup = Setup { arrays: Arc::new(fitted.arrays), ..setup };
                kind.check(&setup)?;
                Ok(setup)
            }
            Err(FitError::Param(error)) => Err(error),
            Err(other) => panic!("{self:?}: {other}"),
        }
    }
}

/// Keys of the same sizes under another seed, wherever they are asked to come from; at least 1024 of them.
struct Redrawn(Workload);

impl Samples for Redrawn {
    fn best(&self) -> Origin {
        Origin::Draw
    }

    fn sample(&self, _origin: Origin, _wanted: usize) -> Result<Sample, FitError> {
        let other = Workload { writes: self.0.writes.max(1024), reads: 1, seed: self.0.seed.wrapping_add(1), ..self.0 };
        let stream = other.stream().map_err(|e| FitError::Source(e.to_string()))?;
        Ok(Sample { keys: stream.keys().clone(), from: format!("another random stream (seed {})", other.seed) })
    }
}

/// The parameters under which the project's OVQ figures are measured: N = 2048, chunk 128.
#[must_use]
pub fn ovq_figure_params() -> Params {
    Params::default().with("n_max", 2048).with("chunk", 128)
}

/// Runs a layer from its position to the end of its stream, `chunks` chunks a call, everything recorded, and returns
/// the time that took and what was written.
///
/// # Errors
/// If the layer fails.
pub fn run_to_end(layer: &mut dyn Layer, setup: &Setup, chunks: usize) -> Result<(Duration, TraceBlock), LayerError> {
    let total = setup.stream.chunks(setup.chunk);
    let mut block = TraceBlock::default();
    let start = Instant::now();
    while layer.position() < total {
        layer.advance(chunks, Record::All, &mut block)?;
    }
    Ok((start.elapsed(), block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuStream;
    use crate::gpu::testing::gpu_or_skip;
    use crate::layer::{KINDS, Precision};

    #[test]
    fn sizes_and_reads_are_as_asked_for() {
        let workload = Workload { writes: 10, reads: 3, kv_heads: 2, query_heads: 4, dk: 3, dv: 5, ..Workload::causal(10) };
        let stream = workload.stream().unwrap();
        assert_eq!((stream.writes(), stream.kv_heads(), stream.query_heads(), stream.key_dim(), stream.value_dim()), (10, 2, 4, 3, 5));
        assert_eq!(stream.after(), [4, 7, 10]);
        assert!(stream.is_unit(1e-6));
        assert_eq!(Workload::causal(4).stream().unwrap().after(), [1, 2, 3, 4]);
        assert_eq!(stream, workload.stream().unwrap());
    }

    /// `usize::MAX` chunks are "all that are left", also for a layer that is on its way.
    #[test]
    fn too_many_chunks_run_to_the_end() {
        let workload = Workload { dk: 4, dv: 4, ..Workload::causal(200) };
        let gpu = gpu_or_skip();
        for kind in KINDS {
            let setup = workload.setup(*kind, &Params::default()).unwrap();
            let total = setup.stream.chunks(setup.chunk);
            let mut layers = vec![kind.cpu(&setup, Precision::Single).unwrap()];
            if let Some(gpu) = &gpu {
                layers.push(kind.gpu(&setup, &GpuStream::new(gpu, &setup.stream).unwrap()).unwrap());
            }
            for mut layer in layers {
                for chunks in [1, usize::MAX, usize::MAX] {
                    layer.advance(chunks, Record::StateOnly, &mut TraceBlock::default()).unwrap();
                }
                assert_eq!(layer.position(), total, "{}", kind.name());
            }
        }
    }
}
