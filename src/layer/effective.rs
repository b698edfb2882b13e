//! Effective attention: what weight every original token has in a read's output, for any layer.
//!
//! Every layer here returns a weighted sum of the values written: softmax layers by their definition; OVQ and VQ because a
//! centroid's value is a weighted mean of its members'; linear, delta and Mamba-2 layers because they are linear in the
//! values (their weights may be negative); `LoLA` in its three parts. So `sum_i weight_i v_i` is the output, which the tests hold
//! against what each layer returned. It is computed from the stream and from what a lane has written, in float64.

/// The memory from which a token reaches a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Store {
    /// Kept whole, as full attention keeps everything.
    Whole,
    /// Kept whole in a sliding window.
    Window,
    /// In the newest chunk, as it is, before it enters the memory.
    Chunk,
    /// As a member of a centroid or code.
    Centroid,
    /// Kept whole in the sparse cache.
    Cache,
    /// Summed into the state.
    State,
    /// Nowhere any more: the layer cannot return it.
    Gone,
}

impl Store {
    /// Every store, in the order in which legends show them.
    pub const ALL: [Self; 7] = [Self::Whole, Self::Window, Self::Chunk, Self::Centroid, Self::Cache, Self::State, Self::Gone];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "kept whole",
            Self::Window => "window",
            Self::Chunk => "raw chunk",
            Self::Centroid => "centroids",
            Self::Cache => "cache",
            Self::State => "state",
            Self::Gone => "gone",
        }
    }
}

/// What every visible token weighs in the output of one read of one query head.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The weight of each write that the read may see `[after]`: the output is their sum times the values.
    pub weights: Vec<f64>,
    /// Where each of them is `[after]`.
    pub stores: Vec<Store>,
}

impl Effective {
    /// The sum of the weights of a store.
    #[must_use]
    pub fn share(&self, store: Store) -> f64 {
        self.weights.iter().zip(&self.stores).filter(|(_, s)| **s == store).map(|(w, _)| w).sum()
    }
}

/// One read of one query head: what effective attention is asked about.
#[derive(Debug, Clone, Copy)]
pub struct ReadOf<'a> {
    /// The query head.
    pub query_head: usize,
    /// The read's index.
    pub read: usize,
    /// Its query `[dk]`, as the lane saw it: that of the lane's own stream, or the one that the lane's answer led to.
    pub query: &'a [f32],
}
