//! Recurrent layers: `DeltaNet`, Gated `DeltaNet` and Mamba-2. One matrix that every write changes, and no normaliser.
//!
//! LAYERS.md, "Baselines"; arXiv 2406.06484, 2412.06464, 2405.21060. The state S [dk, dv] begins at zero. A write does
//!
//! ```text
//! S <- a S
//! S <- S + b k (v - e S^T k)^T
//! ```
//!
//! and a read returns S^T q: it sees exactly the first `after` writes, whatever the chunk, since reads are answered between
//! the writes of theirs. The decay a is from 0 to 1; b is how strongly a write enters.
//!
//! - The **delta rule** has e = 1, and keys and queries are scaled to length 1 here (`x / max(|x|, 1e-12)`): with b = 1 a write
//!   replaces what the state answers to its key. With a = 1 it is `DeltaNet`.
//! - **Mamba-2** has e = 0 and takes keys and queries as they are: with a = 1 and b = 1 it is linear attention with neither
//!   feature map nor normaliser. Its b is called dt, the step.
//!
//! Where the stream has gates of its own ([`Gates`](crate::stream::Gates)), a and b are those, write by write.
//!
//! The columns of S do not know each other: both implementations deal them out. Every sum has a fixed order.

mod cpu;
mod effective;
mod gpu;
mod kind;
mod replay;
mod trace;

use ndarray::ArrayView1;

use super::real::Real;
use crate::param::Resolved;
use crate::stream::Stream;

pub use kind::{DELTANET, GATED_DELTANET, MAMBA2, RecurrentKind};

/// What a write does to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// `DeltaNet`: the delta rule, no decay.
    Delta,
    /// Gated `DeltaNet`: the delta rule after a decay.
    GatedDelta,
    /// Mamba-2: a decay, and a sum.
    Mamba2,
}

impl Rule {
    /// e = 1: a write takes away what the state answers to its key, and keys and queries have length 1.
    fn erases(self) -> bool {
        self != Self::Mamba2
    }

    /// There is an a.
    fn decays(self) -> bool {
        self != Self::Delta
    }

    /// What b is called.
    fn rate_name(self) -> &'static str {
        if self == Self::Mamba2 { "step" } else { "rate" }
    }
}

/// A rule with its parameters.
#[derive(Debug, Clone, Copy)]
struct Config {
    rule: Rule,
    decay: f64,
    rate: f64,
}

impl Config {
    fn new(rule: Rule, params: &Resolved) -> Self {
        let decay = if rule.decays() { params.float("decay") } else { 1.0 };
        Self { rule, decay, rate: params.float(rule.rate_name()) }
    }

    /// a of a write: the stream's own, if it has any and the rule has a decay.
    fn decay<R: Real>(&self, stream: &Stream, kv_head: usize, write: usize) -> R {
        let own = stream.gates().and_then(|g| g.decay.as_ref()).filter(|_| self.rule.decays());
        own.map_or_else(|| R::from_f64(self.decay), |g| R::from_f32(g[[kv_head, write]]))
    }

    /// b of a write: the stream's own, if it has any.
    fn rate<R: Real>(&self, stream: &Stream, kv_head: usize, write: usize) -> R {
        let own = stream.gates().and_then(|g| g.rate.as_ref());
        own.map_or_else(|| R::from_f64(self.rate), |g| R::from_f32(g[[kv_head, write]]))
    }

    /// What a key or query is multiplied with before it is used: one over its length, or 1.
    fn scale(&self, row: ArrayView1<'_, f32>) -> f64 {
        if !self.rule.erases() {
            return 1.0;
        }
        let square: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        1.0 / square.sqrt().max(1e-12)
    }
}
