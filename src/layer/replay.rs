//! A memory's insides through the whole of a run, made again from the lane's trace: for pictures that need every step at once
//! (trails of centroids, the health of a codebook, the singular values of a state), where asking the engine for each would
//! be slow.
//!
//! What the layer chose is taken from the trace, never chosen again, so that a replay follows the run on screen even where
//! rounding decided; its numbers are near to the layer's own, and tests hold them against its snapshots at every step.

use ndarray::ArrayView2;

/// A dictionary after some chunks: one key/value head's rows in use. Of a fixed codebook every code has its row, one that stands for no
/// write too, with the count 0.
#[derive(Debug, Clone, Copy)]
pub struct DictionaryAt<'a> {
    /// Chunks done.
    pub chunks: usize,
    /// The rows' keys [n, dk].
    pub keys: ArrayView2<'a, f32>,
    /// The rows' values [n, dv].
    pub values: ArrayView2<'a, f32>,
    /// How many writes each row stands for `[n]`.
    pub counts: &'a [u32],
}

/// A linear state after some chunks: one head's.
#[derive(Debug, Clone, Copy)]
pub struct StateAt<'a> {
    /// Chunks done.
    pub chunks: usize,
    /// The state: H of features by values [d, dv], or S of keys by values [dk, dv].
    pub state: ArrayView2<'a, f64>,
    /// The sum s of the features `[d]`, where the layer has one.
    pub normaliser: Option<&'a [f64]>,
}
