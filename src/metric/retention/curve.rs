//! What a retention map says in few numbers: the forgetting curve by age, and rank correlation.

use std::ops::Range;

use super::RetentionMap;

/// Bins an octave of age.
const FINE: f64 = 4.0;

/// The errors of one lane at some ages.
#[derive(Debug, Clone, PartialEq)]
pub struct AgeBin {
    /// The ages, in writes: 1 is right after the token's own write.
    pub ages: Range<usize>,
    /// Errors that went in: one for each token and step.
    pub n: usize,
    /// The lower quartile, the median and the upper quartile.
    pub quartiles: [f32; 3],
}

impl AgeBin {
    /// The geometric middle of its ages.
    #[must_use]
    pub fn middle(&self) -> f64 {
        (self.ages.start as f64 * (self.ages.end - 1) as f64).sqrt()
    }
}

/// The forgetting curve of a lane: quartiles of the errors by age, writes since the token's own (itself counted), in
/// bins of a quarter of an octave, over the first `columns` columns and the followed tokens that `keep` lets pass (by number). Bins
/// without errors are left out. An output that is no number counts as larger than all.
#[must_use]
pub fn by_age(map: &RetentionMap, (lane, head): (usize, usize), columns: usize, keep: impl Fn(usize) -> bool) -> Vec<AgeBin> {
    let probes = map.probes();
    let mut bins: Vec<Vec<f32>> = Vec::new();
    let kept: Vec<usize> = (0..probes.tokens().len()).filter(|&t| keep(t)).collect();
    for (number, column) in probes.columns().iter().enumerate().take(map.done(lane).min(columns)) {
        for &token in &kept {
            let Some(error) = map.error(lane, head, number, token) else { continue };
            let bin = bin_of(column.writes - probes.tokens()[token]);
            if bins.len() <= bin {
                bins.resize_with(bin + 1, Vec::new);
            }
            bins[bin].push(error);
        }
    }
    let made = bins.into_iter().enumerate().filter(|(_, errors)| !errors.is_empty()).map(|(bin, mut errors)| {
        errors.sort_by(f32::total_cmp);
        AgeBin { ages: ages_of(bin), n: errors.len(), quartiles: [0.25, 0.5, 0.75].map(|q| quantile(&errors, q)) }
    });
    made.collect()
}

fn bin_of(age: usize) -> usize {
    // A little more than the logarithm: rounding must not put 2 into the bin below it.
    ((age.max(1) as f64).log2() * FINE + 1e-9) as usize
}

fn ages_of(bin: usize) -> Range<usize> {
    let edge = |bin: usize| (2_f64.powf(bin as f64 / FINE) - 1e-6).ceil() as usize;
    edge(bin)..edge(bin + 1).max(edge(bin) + 1)
}

/// The quantile `q` of ascending numbers (at least one), linear between neighbours.
fn quantile(sorted: &[f32], q: f64) -> f32 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    // Equal neighbours as they are: the difference of two infinities is no number.
    if low.total_cmp(&high).is_eq() { low } else { low + (high - low) * at.fract() as f32 }
}

/// Spearman's rank correlation; equal numbers share the mean of their ranks. `None` for fewer than three pairs, or where one side
/// is all equal.
#[must_use]
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let x = ranks(&pairs.iter().map(|p| p.0).collect::<Vec<_>>());
    let y = ranks(&pairs.iter().map(|p| p.1).collect::<Vec<_>>());
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(&y) {
        xy += (a - mean) * (b - mean);
        xx += (a - mean) * (a - mean);
        yy += (b - mean) * (b - mean);
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

/// The ranks from 1 of some numbers; what is no number comes last.
fn ranks(values: &[f64]) -> Vec<f64> {
    // A NaN has a sign, by which it would be sorted below every number.
    let values: Vec<f64> = values.iter().map(|&v| if v.is_nan() { f64::NAN } else { v }).collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for group in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let start = order.partition_point(|&i| values[i].total_cmp(&values[group[0]]).is_lt());
        let rank = start as f64 + (group.len() + 1) as f64 / 2.0;
        for &i in group {
            ranks[i] = rank;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_age_is_in_the_bin_that_says_so() {
        for age in 1..5000 {
            assert!(ages_of(bin_of(age)).contains(&age), "{age} in {:?}", ages_of(bin_of(age)));
        }
        assert_eq!((bin_of(1), bin_of(2), bin_of(64)), (0, 4, 24));
    }

    #[test]
    fn ranks_of_equal_numbers_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[-f64::NAN, 1.0, f64::NAN, f64::INFINITY]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn rank_correlation_sees_order_alone() {
        let pairs = |y: [f64; 4]| [1.0, 10.0, 100.0, 1000.0].into_iter().zip(y).collect::<Vec<_>>();
        assert_eq!(spearman(&pairs([0.1, 0.2, 7.0, 8.0])), Some(1.0));
        assert_eq!(spearman(&pairs([4.0, 3.0, 2.0, 1.0])), Some(-1.0));
        // Ranks 1 2 3 4 against 2 1 4 3: 1 - 6 (4 x 1) / (4 x 15) = .6.
        assert!((spearman(&pairs([2.0, 1.0, 4.0, 3.0])).unwrap() - 0.6).abs() < 1e-12);
        assert_eq!((spearman(&pairs([1.0; 4])), spearman(&pairs([1.0, 2.0, 3.0, 4.0])[..2])), (None, None));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        for (q, expected) in [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (1.0, 4.0_f32)] {
            assert_eq!(quantile(&[1.0, 2.0, 4.0], q).to_bits(), expected.to_bits(), "{q}");
        }
        assert!(quantile(&[1.0, f32::INFINITY, f32::INFINITY], 0.75).is_infinite());
    }
}
