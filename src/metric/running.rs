//! Summaries over any range of reads, at the cost of two look-ups: prefix sums that grow with the trace.

use std::ops::Range;

use super::{CORRECT, COSINE, ERROR_SQ, TARGET_SQ};
use crate::stream::Targets;
use crate::trace::{Channel, LaneTrace};

/// The normal distribution's quantile of a 95% interval.
const Z_95: f64 = 1.959_963_984_540_054;

/// What a score is, which the reads of a stream decide (TASKS.md): two of these are called an error, and one of them is the other's square.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scored {
    /// Codes: the share of reads answered rightly.
    Accuracy,
    /// A capture, against full attention's outputs: |o - y| / |y| over all reads at once, a root.
    Relative,
    /// Values, as of regression: sum |o - y|^2 / sum |y|^2, no root.
    RelativeSquared,
}

impl Scored {
    /// What is measured on streams with these targets.
    #[must_use]
    pub fn of(targets: &Targets) -> Self {
        match targets {
            Targets::Codes { .. } | Targets::None => Self::Accuracy,
            Targets::FullAttention => Self::Relative,
            Targets::Values(_) => Self::RelativeSquared,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Relative => "relative error",
            Self::RelativeSquared => "relative squared error",
        }
    }
}

/// What the reads of a range scored, all their heads together.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Summary {
    /// Codes: how many reads were answered rightly.
    Recall { correct: u64, reads: u64 },
    /// Vectors: the relative error (see [`super`] for its two meanings), the mean cosine, and how many reads there were.
    Error { relative: f64, cosine: f64, reads: u64 },
}

impl Summary {
    /// The number that a recall panel leads with: the accuracy, or the relative error. `None` without reads.
    #[must_use]
    pub fn headline(&self) -> Option<f64> {
        match *self {
            Self::Recall { reads: 0, .. } | Self::Error { reads: 0, .. } => None,
            Self::Recall { correct, reads } => Some(correct as f64 / reads as f64),
            Self::Error { relative, .. } => Some(relative),
        }
    }

    /// Wilson's 95% interval of an accuracy; `None` for errors and without reads.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let Self::Recall { correct, reads } = *self else { return None };
        (reads > 0).then(|| wilson(correct, reads))
    }
}

/// Wilson's score interval at 95% for `correct` of `reads` (which is not 0).
fn wilson(correct: u64, reads: u64) -> (f64, f64) {
    let (n, p) = (reads as f64, correct as f64 / reads as f64);
    let z2 = Z_95 * Z_95;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At the ends the interval ends exactly there; rounding must not say otherwise.
    let low = if correct == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if correct == reads { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// What is summed up on a stream, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measure {
    /// The channels whose sums are needed.
    pub channels: &'static [&'static str],
    /// True where the relative error is a root.
    root: bool,
}

impl Measure {
    /// What is measured on streams with these targets; `None` where nothing is.
    pub fn of(targets: &Targets) -> Option<Self> {
        let channels: &'static [&'static str] = match targets {
            Targets::None => return None,
            Targets::Codes { .. } => &[CORRECT],
            Targets::Values(_) | Targets::FullAttention => &[ERROR_SQ, TARGET_SQ, COSINE],
        };
        Some(Self { channels, root: matches!(targets, Targets::FullAttention) })
    }

    /// The summary of `reads` reads whose channels add up to `sums`.
    pub fn summary(self, sums: &[f64], reads: u64) -> Summary {
        match *sums {
            [error, target, cosine] => {
                let ratio = error / target;
                Summary::Error { relative: if self.root { ratio.sqrt() } else { ratio }, cosine: cosine / reads as f64, reads }
            }
            _ => Summary::Recall { correct: sums.first().map_or(0, |s| s.round() as u64), reads },
        }
    }
}

/// Prefix sums of the metric channels of one lane. Belongs to one run of one lane: make a new one when the run starts again.
#[derive(Debug, Clone)]
pub struct Running {
    measure: Measure,
    /// By channel and head.
    sums: Vec<Vec<Prefix>>,
}

/// Sums of the first i numbers of a channel, i from 0. What is not finite is counted apart: one NaN must not make every later
/// difference of sums one.
#[derive(Debug, Clone)]
struct Prefix {
    finite: Vec<f64>,
    infinite: Vec<u32>,
    nan: Vec<u32>,
}

impl Default for Prefix {
    fn default() -> Self {
        Self { finite: vec![0.0], infinite: vec![0], nan: vec![0] }
    }
}

impl Prefix {
    /// Numbers summed.
    fn len(&self) -> usize {
        self.finite.len() - 1
    }

    fn extend(&mut self, channel: &Channel, head: usize) {
        let values = channel.values(head);
        for index in self.len()..channel.len() {
            let x = values.get(index).unwrap_or(0.0);
            let (sum, infinite, nan) = (self.finite[index], self.infinite[index], self.nan[index]);
            self.finite.push(if x.is_finite() { sum + x } else { sum });
            self.infinite.push(infinite + u32::from(x.is_infinite()));
            self.nan.push(nan + u32::from(x.is_nan()));
        }
    }

    /// The sum of the numbers `range`. The infinite ones are squares: positive.
    fn over(&self, range: &Range<usize>) -> f64 {
        let (start, end) = (range.start, range.end);
        if self.nan[end] > self.nan[start] {
            f64::NAN
        } else if self.infinite[end] > self.infinite[start] {
            f64::INFINITY
        } else {
            self.finite[end] - self.finite[start]
        }
    }
}

impl Running {
    /// Empty sums for a stream's targets; `None` where nothing is measured.
    #[must_use]
    pub fn new(targets: &Targets) -> Option<Self> {
        let measure = Measure::of(targets)?;
        Some(Self { measure, sums: vec![Vec::new(); measure.channels.len()] })
    }

    /// Adds the reads that the trace has and the sums do not.
    pub fn update(&mut self, trace: &LaneTrace) {
        for (name, sums) in self.measure.channels.iter().zip(&mut self.sums) {
            let Some(channel) = trace.channel(name) else { continue };
            sums.resize_with(channel.heads(), Prefix::default);
            for (head, column) in sums.iter_mut().enumerate() {
                column.extend(channel, head);
            }
        }
    }

    /// Reads that are summed, the same for every head.
    #[must_use]
    pub fn reads(&self) -> usize {
        let least = |sums: &Vec<Prefix>| sums.iter().map(Prefix::len).min().unwrap_or(0);
        self.sums.iter().map(least).min().unwrap_or(0)
    }

    /// The summary of the reads `reads` of the query heads `heads`; what is not summed yet is left out.
    #[must_use]
    pub fn over(&self, heads: Range<usize>, reads: Range<usize>) -> Summary {
        let end = reads.end.min(self.reads());
        let start = reads.start.min(end);
        let heads = heads.start..heads.end.min(self.sums.first().map_or(0, Vec::len));
        let total = |at: usize| heads.clone().map(|h| self.sums[at][h].over(&(start..end))).sum::<f64>();
        let totals: Vec<f64> = (0..self.sums.len()).map(total).collect();
        self.measure.summary(&totals, (heads.len() * (end - start)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_errors_have_names_of_their_own() {
        let names = [Targets::FullAttention, Targets::Values(ndarray::Array2::zeros((1, 1)))].map(|t| Scored::of(&t).name());
        assert_eq!(names, ["relative error", "relative squared error"]);
    }
}
