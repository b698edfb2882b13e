//! What answers add up to, over reads, heads and seeds.

use crate::metric::{COSINE, ERROR_SQ, Running, Scored, Summary, TARGET_SQ};
use crate::stream::{Stream, Targets};
use crate::trace::LaneTrace;

/// Sums that can be added to those of another seed, and give a [`Summary`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Tally {
    /// Codes: reads answered rightly, of how many.
    Recall { correct: u64, reads: u64 },
    /// Vectors: the sums of squared errors, of squared targets and of cosines, of how many reads. `root`: the relative error is
    /// the root of the ratio, as against full attention.
    Error { error_sq: f64, target_sq: f64, cosine: f64, reads: u64, root: bool },
}

impl Tally {
    /// What it is of.
    #[must_use]
    pub fn scored(self) -> Scored {
        match self {
            Self::Recall { .. } => Scored::Accuracy,
            Self::Error { root: true, .. } => Scored::Relative,
            Self::Error { root: false, .. } => Scored::RelativeSquared,
        }
    }

    /// Adds up the metric channels of a lane's trace, all query heads and reads; `None` where the stream's targets are unknown.
    #[must_use]
    pub fn of(stream: &Stream, trace: &LaneTrace) -> Option<Self> {
        let mut running = Running::new(stream.targets())?;
        running.update(trace);
        let sum = |name: &str| {
            let channel = trace.channel(name)?;
            Some((0..channel.heads()).map(|h| channel.reals(h).iter().map(|&x| f64::from(x)).sum::<f64>()).sum::<f64>())
        };
        Some(match running.over(0..stream.query_heads(), 0..stream.reads()) {
            Summary::Recall { correct, reads } => Self::Recall { correct, reads },
            Summary::Error { reads, .. } => Self::Error {
                error_sq: sum(ERROR_SQ).unwrap_or(0.0),
                target_sq: sum(TARGET_SQ).unwrap_or(0.0),
                cosine: sum(COSINE).unwrap_or(0.0),
                reads,
                root: matches!(stream.targets(), Targets::FullAttention),
            },
        })
    }

    /// Both together; `None` where they are of different kinds.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Option<Self> {
        match (*self, *other) {
            (Self::Recall { correct, reads }, Self::Recall { correct: c, reads: r }) => {
                Some(Self::Recall { correct: correct + c, reads: reads + r })
            }
            (
                Self::Error { error_sq, target_sq, cosine, reads, root },
                Self::Error { error_sq: e, target_sq: t, cosine: c, reads: r, root: other },
            ) if root == other => {
                Some(Self::Error { error_sq: error_sq + e, target_sq: target_sq + t, cosine: cosine + c, reads: reads + r, root })
            }
            _ => None,
        }
    }

    /// All of them together; `None` for none, and where they are of different kinds.
    pub fn total<'a>(mut tallies: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let first = *tallies.next()?;
        tallies.try_fold(first, |sum, next| sum.plus(next))
    }

    /// Reads that were scored, all query heads together.
    #[must_use]
    pub fn reads(&self) -> u64 {
        match *self {
            Self::Recall { reads, .. } | Self::Error { reads, .. } => reads,
        }
    }

    /// Accuracy, or relative error and mean cosine.
    #[must_use]
    pub fn summary(&self) -> Summary {
        match *self {
            Self::Recall { correct, reads } => Summary::Recall { correct, reads },
            Self::Error { error_sq, target_sq, cosine, reads, root } => {
                let ratio = error_sq / target_sq;
                Summary::Error { relative: if root { ratio.sqrt() } else { ratio }, cosine: cosine / reads as f64, reads }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp, reason = "the numbers are exact in binary")]
    fn tallies_pool_reads_and_not_ratios() {
        let recall = |correct, reads| Tally::Recall { correct, reads };
        // 1 of 2 and 1 of 6 are 2 of 8, not the mean of the two accuracies.
        assert_eq!(Tally::total([recall(1, 2), recall(1, 6)].iter()), Some(recall(2, 8)));
        let error = |error_sq, root| Tally::Error { error_sq, target_sq: 8.0, cosine: 1.0, reads: 2, root };
        let both = error(1.0, true).plus(&error(3.0, true)).unwrap();
        assert_eq!(both.summary(), Summary::Error { relative: 0.5, cosine: 0.5, reads: 4 });
        assert_eq!(error(2.0, false).summary().headline(), Some(0.25));
        assert_eq!(error(1.0, true).plus(&error(1.0, false)), None);
        assert_eq!(recall(1, 1).plus(&error(1.0, false)), None);
        assert_eq!(Tally::total([].iter()), None);
    }
}
