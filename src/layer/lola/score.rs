//! What decides who stays in the sparse cache, besides the self-recall error: the ablations of LAYERS.md, "`LoLA`".
//!
//! - `random`: a number from 0 up to 1 for each pair, drawn once by `seed`.
//! - `attention`: the softmax weight that a pair has received from the reads of its head group while it was kept whole, raw or
//!   cached: its part of each read's normaliser, summed. Heavy hitters stay.
//! - `kernel`: the mean of (e^(beta q.k) - phi(q).phi(k))^2 over the queries of the chunk that ends with the update, of all query
//!   heads of the group: how badly the feature map stands in for the softmax. A chunk without a query gives 0 to every candidate.
//!
//! Reads that only look ([`Stream::is_silent`]) count in none of them.

use ndarray::{Array2, ArrayView2};

use crate::layer::feature::{FeatureMap, Map};
use crate::layer::real::Real;
use crate::stream::Stream;
use crate::task::random::Draw;

/// What a candidate's score is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    /// Self-recall error.
    Sre,
    /// The write's index.
    Fifo,
    /// A number drawn once.
    Random,
    /// The softmax weight received so far.
    Attention,
    /// The feature map's squared error on the chunk's queries.
    Kernel,
}

/// Logits above this count as this in the kernel's error: float32 holds the squares of what they give, and a sum of them.
pub(super) const MOST_LOGIT: f64 = 43.0;

/// What of a relative margin is told as the margin of the scores that sum exponentials.
const OF_RELATIVE: f64 = 0.1;

impl Score {
    /// The score that the parameter `score` names.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "fifo" => Self::Fifo,
            "random" => Self::Random,
            "attention" => Self::Attention,
            "kernel" => Self::Kernel,
            _ => Self::Sre,
        }
    }

    /// The unit of a score.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Sre => "squared value units",
            Self::Fifo => "tokens",
            Self::Random | Self::Kernel => "1",
            Self::Attention => "reads",
        }
    }

    /// How clearly the smallest score kept was ahead of the largest one folded.
    ///
    /// The scores that sum exponentials of logits have no scale of their own, and float32 knows them to 1e-4 of themselves. For
    /// them it is a tenth of the difference as a part of the score kept, so that 1e-5, which counts as a tie, is a tie there too.
    pub(super) fn margin<R: Real>(self, kept: R, folded: R) -> R {
        match self {
            Self::Attention | Self::Kernel if kept > R::zero() => R::from_f64(OF_RELATIVE) * ((kept - folded) / kept),
            _ => kept - folded,
        }
    }
}

/// The numbers of `random` [heads, writes], exact in float32, so that every implementation has the same.
pub(super) fn random(seed: u64, heads: usize, writes: usize) -> Vec<f32> {
    const STEPS: usize = 1 << 24;
    let of_head = |head: usize| {
        // A source for each head: its numbers are the same however many heads and writes there are.
        let mut draw = Draw::apart(seed, &format!("random score of head {head}"));
        (0..writes).map(move |_| draw.below(STEPS) as f32 / STEPS as f32)
    };
    (0..heads).flat_map(of_head).collect()
}

/// Reads of the range that count.
pub(super) fn counted(stream: &Stream, reads: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
    reads.filter(|&r| !stream.is_silent(r))
}

/// Adds to `errors` `[n]` the squared errors of phi(q).phi(k) as e^(beta q.k), summed over the queries [r, dk] of one query head,
/// times `share`, for the keys [n, dk].
pub(super) fn add_kernel_errors<R: Real>(
    errors: &mut [R],
    map: &FeatureMap<R>,
    (head, keys): (usize, &ArrayView2<'_, R>),
    (query_head, queries): (usize, &ArrayView2<'_, R>),
    (beta, share): (f64, R),
) {
    let mut logits = keys.dot(&queries.t());
    let beta = R::from_f64(beta);
    logits.mapv_inplace(|x| beta * x);
    let products: Array2<R> = if map.map() == Map::Taylor2 {
        let half = R::from_f64(0.5);
        logits.mapv(|z| R::one() + z + half * z * z)
    } else {
        map.keys(head, keys).dot(&map.queries(query_head, queries).t())
    };
    let most = R::from_f64(MOST_LOGIT);
    for (error, (logits, products)) in errors.iter_mut().zip(logits.rows().into_iter().zip(products.rows())) {
        let sum: R = logits.iter().zip(products).map(|(&z, &p)| (z.min(most).exp() - p).powi(2) * share).sum();
        *error = *error + sum;
    }
}
