//! `LoLA`'s settings, and the arithmetic that follows from a position alone: how many writes are in which memory.
//!
//! Membership depends on the data, sizes never do. Both implementations take their sizes from [`Step`].

use std::ops::Range;

pub use super::score::Score;
use crate::layer::{Cost, LayerError, Setup, feature};

/// Which candidates' scores a trace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Those of every candidate, at every step.
    All,
    /// Only those of the writes that leave the window at the step: T in all. See [`Config::room`].
    Leaving,
}

/// The most candidates that the trace of one lane holds, over all steps and heads: 128 MiB of ids and scores.
pub const MAX_RECORDED: usize = 1 << 24;

/// The largest `linear_weight`.
pub const MAX_WEIGHT: f64 = 1e6;

/// Checked settings and the stream's sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Newest pairs kept whole.
    pub window: usize,
    /// Older pairs kept whole.
    pub cache: usize,
    /// Writes between two updates.
    pub chunk: usize,
    /// The logit scale.
    pub beta: f64,
    /// What decides who stays in the cache.
    pub score: Score,
    /// T.
    pub writes: usize,
    /// Hkv.
    pub kv_heads: usize,
    /// Which candidates are recorded, see [`Config::room`].
    pub recorded: Recorded,
}

/// The sizes of one chunk and of the update after it. Ranges are of write ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The writes of the chunk.
    pub writes: Range<usize>,
    /// The raw pairs that its reads may see: the window, then the chunk.
    pub raw: Range<usize>,
    /// Pairs in the cache before the update.
    pub cached: usize,
    /// The writes that leave the window at the update.
    pub leaving: Range<usize>,
    /// Candidates for the cache: the cached ones and those that leave.
    pub candidates: usize,
    /// Pairs in the cache after the update.
    pub kept: usize,
    /// Pairs that the update folds into the state.
    pub folded: usize,
}

impl Config {
    /// The settings that `setup` describes.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let p = &setup.params;
        let config = Self {
            window: p.size("window"),
            cache: p.size("cache"),
            chunk: setup.chunk,
            beta: setup.beta(),
            score: Score::of(p.choice("score")),
            writes: setup.stream.writes(),
            kv_heads: setup.stream.kv_heads(),
            recorded: Recorded::All,
        };
        Self { recorded: config.room(), ..config }
    }

    /// Steps in the whole stream.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.writes.div_ceil(self.chunk)
    }

    /// Writes in all after `steps` steps.
    #[must_use]
    pub fn written(&self, steps: usize) -> usize {
        (steps * self.chunk).min(self.writes)
    }

    /// The writes that have left the window after `steps` steps: all ids below this.
    #[must_use]
    pub fn outside_window(&self, steps: usize) -> usize {
        self.written(steps).saturating_sub(self.window)
    }

    /// Pairs in the cache after `steps` steps, or places where hands have emptied some. Nothing else is folded before the cache is
    /// full, and a full one stays full.
    #[must_use]
    pub fn cached(&self, steps: usize) -> usize {
        self.outside_window(steps).min(self.cache)
    }

    /// The sizes of step `index`.
    #[must_use]
    pub fn step(&self, index: usize) -> Step {
        let writes = self.written(index)..self.written(index + 1);
        let leaving = self.outside_window(index)..self.outside_window(index + 1);
        let cached = self.cached(index);
        let candidates = cached + leaving.len();
        let kept = candidates.min(self.cache);
        Step { raw: leaving.start..writes.end, writes, cached, candidates, kept, folded: candidates - kept, leaving }
    }

    /// Which candidates are recorded: all, while all heads and steps together hold at most [`MAX_RECORDED`]; else
    /// only those that leave the window. A cache of 16384 that is scored anew after every single write would fill the memory;
    /// the threshold, the margin and the events are recorded in full either way.
    #[must_use]
    pub fn room(&self) -> Recorded {
        let all = self.kv_heads * (self.writes + self.steps() * self.cache.min(self.writes));
        if all <= MAX_RECORDED { Recorded::All } else { Recorded::Leaving }
    }

    /// w, the factor on the state's part of a read, of each query head: the parameter, else the exponential of the array
    /// `log_linear_weight` `[query heads]`, else 1.
    ///
    /// # Errors
    /// [`LayerError::Array`] if the array has another shape.
    pub fn linear_weights(setup: &Setup) -> Result<Vec<f64>, LayerError> {
        let heads = setup.stream.query_heads();
        let given = setup.params.auto_float("linear_weight");
        match (given, setup.arrays.get("log_linear_weight")) {
            (Some(weight), _) => Ok(vec![weight; heads]),
            (None, None) => Ok(vec![1.0; heads]),
            (None, Some(logs)) if logs.shape() == [heads] => {
                // The limits of the parameter: above them float32 has no room for the state's part of a read.
                match logs.iter().find(|x| x.is_nan() || **x > MAX_WEIGHT.ln() as f32) {
                    None => Ok(logs.iter().map(|&x| f64::from(x).exp()).collect()),
                    Some(x) => Err(LayerError::Array {
                        layer: super::NAME,
                        name: "log_linear_weight",
                        expected: format!("[{heads}], at most ln {MAX_WEIGHT}"),
                        found: format!("but found {x}"),
                    }),
                }
            }
            (None, Some(logs)) => Err(LayerError::Array {
                layer: super::NAME,
                name: "log_linear_weight",
                expected: format!("[{heads}]"),
                found: format!("but found {:?}", logs.shape()),
            }),
        }
    }

    /// LAYERS.md, "Numbers that must hold", and the multiply-adds of the formulas as they stand. A read sees the window, the cache and,
    /// of its own chunk, the pairs before it: half a chunk on average, as for OVQ. There is room for a whole one.
    pub(super) fn cost(&self, setup: &Setup) -> Cost {
        let features = feature::feature_dim(super::NAME, setup).unwrap_or(setup.stream.key_dim());
        let (dk, dv, d) = (setup.stream.key_dim() as u64, setup.stream.value_dim() as u64, features as u64);
        let pairs = (self.window + self.chunk + self.cache).min(self.writes) as u64;
        let seen = (self.window + self.cache + self.chunk.min(self.writes).div_ceil(2)).min(self.writes) as u64;
        let linear = d * (dv + 1);
        // Every pair is folded once, and scored once in each update it is a candidate of.
        let times = 1 + self.cached(self.steps()).div_ceil(self.chunk) as u64;
        let scored = match self.score {
            // Without a cache nothing is chosen, and no score is needed.
            Score::Sre | Score::Kernel if self.cache == 0 => 0,
            Score::Sre => times * linear,
            // Two products with each of the chunk's queries, of all query heads of the group.
            Score::Kernel => {
                let (s, steps) = (&setup.stream, self.steps().max(1) as u64);
                let queries = (s.reads() * (s.query_heads() / s.kv_heads())) as u64 / steps;
                times * queries * (dk + d)
            }
            // What is summed for `attention` is made for the read.
            Score::Fifo | Score::Random | Score::Attention => 0,
        };
        // A sum for each pair that is kept whole.
        let sums = if self.score == Score::Attention { pairs } else { 0 };
        let phi = feature::map_madds(super::NAME, setup);
        Cost {
            state_numbers: pairs * (dk + dv) + linear + sums,
            write_madds: linear + phi + scored,
            read_madds: seen * (dk + dv) + linear + phi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(window: usize, cache: usize, chunk: usize, writes: usize) -> Config {
        Config { window, cache, chunk, beta: 1.0, score: Score::Sre, writes, kv_heads: 1, recorded: Recorded::All }
    }

    #[test]
    fn sizes_follow_from_the_position() {
        // T = 10, chunks of 4, 4 and 2; window 3; cache 2.
        let c = config(3, 2, 4, 10);
        let first = c.step(0);
        assert_eq!((first.writes.clone(), first.raw.clone(), first.leaving.clone()), (0..4, 0..4, 0..1));
        assert_eq!((first.cached, first.candidates, first.kept, first.folded), (0, 1, 1, 0));
        let second = c.step(1);
        assert_eq!((second.raw.clone(), second.leaving.clone()), (1..8, 1..5));
        assert_eq!((second.cached, second.candidates, second.kept, second.folded), (1, 5, 2, 3));
        let last = c.step(2);
        assert_eq!((last.writes.clone(), last.raw.clone(), last.leaving.clone()), (8..10, 5..10, 5..7));
        assert_eq!((last.cached, last.candidates, last.kept, last.folded), (2, 4, 2, 2));
    }

    #[test]
    fn a_trace_that_would_be_too_large_holds_only_those_that_leave() {
        assert_eq!(config(64, 128, 1, 8192).room(), Recorded::All);
        assert_eq!(config(64, 16_384, 1, 131_072).room(), Recorded::Leaving);
        assert_eq!(config(64, 16_384, 1, 16).room(), Recorded::All);
    }
}
