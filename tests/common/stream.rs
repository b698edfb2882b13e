//! Random streams of any shape: standard normal keys, values and queries.

use mnemoscope::stream::{Labels, Stream, StreamParts, Targets};
use ndarray::Array3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// The shape of a random stream.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub kv_heads: usize,
    pub group: usize,
    pub writes: usize,
    /// Reads; 0 is a causal sequence instead.
    pub reads: usize,
    pub dk: usize,
    pub dv: usize,
    pub seed: u64,
}

/// The stream of a shape, with this logit scale.
pub fn random(shape: Shape, beta: f32) -> Stream {
    let Shape { kv_heads, group, writes, reads, dk, dv, seed } = shape;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut array =
        |heads, rows, columns| -> Array3<f32> { Array3::from_shape_simple_fn((heads, rows, columns), || StandardNormal.sample(&mut rng)) };
    let after: Vec<u32> = match reads {
        0 => (1..=writes as u32).collect(),
        n => (0..n).map(|r| (1 + r * (writes - 1) / (n - 1).max(1)) as u32).collect(),
    };
    Stream::new(StreamParts {
        keys: array(kv_heads, writes, dk),
        values: array(kv_heads, writes, dv),
        queries: array(kv_heads * group, after.len(), dk),
        after,
        beta,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap()
}
