//! How the numbers of a picture are spread: what a histogram is drawn from and a range is fitted to.

use super::model::Reading;

/// Bars of a histogram.
pub(super) const BARS: usize = 96;
/// Numbers that percentiles are taken of, at most.
const SAMPLE: usize = 8192;

/// The part of the way to the largest number within which others are crowded.
const CROWDED: f32 = 0.05;

/// How numbers are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// How many are finite.
    pub finite: usize,
    /// How many are NaN.
    pub nan: usize,
    /// How many are infinite.
    pub infinite: usize,
    /// The smallest and the largest finite number; `None` without one.
    pub ends: Option<[f32; 2]>,
    /// The smallest number above zero; `None` without one.
    pub least: Option<f32>,
    /// The 1st and the 99th percentile of the finite numbers (of an even sample of them, where there are more than 8192).
    pub middle: Option<[f32; 2]>,
    /// The 99th percentile of how far the finite numbers are from zero (of the same sample).
    pub far: Option<f32>,
    /// Finite numbers by place between the ends `[BARS]`.
    pub(super) bars: Vec<u32>,
    /// Those above zero by the place of their logarithm between the least and the largest `[BARS]`.
    pub(super) log_bars: Vec<u32>,
}

impl Spread {
    /// Looks at all numbers, twice.
    #[must_use]
    pub fn of(numbers: impl Iterator<Item = f32> + Clone) -> Self {
        let (mut finite, mut nan, mut infinite) = (0, 0, 0);
        let (mut low, mut high, mut least) = (f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY);
        for value in numbers.clone() {
            if value.is_finite() {
                finite += 1;
                (low, high) = (low.min(value), high.max(value));
                if value > 0.0 {
                    least = least.min(value);
                }
            } else if value.is_nan() {
                nan += 1;
            } else {
                infinite += 1;
            }
        }
        let mut new = Self {
            finite,
            nan,
            infinite,
            ends: (finite > 0).then_some([low, high]),
            least: least.is_finite().then_some(least),
            middle: None,
            far: None,
            bars: vec![0; BARS],
            log_bars: vec![0; BARS],
        };
        let every = finite.div_ceil(SAMPLE).max(1);
        let mut sample = Vec::with_capacity(finite.min(SAMPLE + 1));
        let place = |share: f64| ((share * BARS as f64) as usize).min(BARS - 1);
        let (width, decades) = (f64::from(high) - f64::from(low), (f64::from(high) / f64::from(least)).ln());
        for (i, value) in numbers.filter(|v| v.is_finite()).enumerate() {
            if i % every == 0 {
                sample.push(value);
            }
            new.bars[if width > 0.0 { place((f64::from(value) - f64::from(low)) / width) } else { BARS / 2 }] += 1;
            if value > 0.0 {
                new.log_bars[if decades > 0.0 { place((f64::from(value) / f64::from(least)).ln() / decades) } else { BARS / 2 }] += 1;
            }
        }
        new.middle = percentiles(&mut sample);
        sample.iter_mut().for_each(|x| *x = x.abs());
        new.far = percentiles(&mut sample).map(|[_, far]| far);
        new
    }

    /// Where nothing was counted.
    #[must_use]
    pub fn nothing() -> Self {
        Self::of(std::iter::empty())
    }

    /// The reading that suits the numbers: about zero where they have both signs.
    #[must_use]
    pub fn reading(&self) -> Reading {
        if self.ends.is_some_and(|[low, high]| low < 0.0 && high > 0.0) { Reading::Symmetric } else { Reading::Linear }
    }

    /// How far the number furthest from zero is; 0 without any.
    #[must_use]
    pub fn reach(&self) -> f32 {
        self.ends.map_or(0.0, |[low, high]| low.abs().max(high.abs()))
    }

    /// True if a few numbers are so large that all others would have one colour of a linear range: 99 of 100 are nearer to zero than
    /// a twentieth of the largest. Where these are all zero there is nothing to be told apart.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.far.is_some_and(|far| far > 0.0 && far < CROWDED * self.reach())
    }

    /// What is no number, in words; empty where all are finite.
    #[must_use]
    pub fn loud(&self) -> String {
        let mut words = Vec::new();
        if self.nan > 0 {
            words.push(format!("{} NaN", self.nan));
        }
        if self.infinite > 0 {
            words.push(format!("{} infinite", self.infinite));
        }
        words.join(", ")
    }
}

fn percentiles(sample: &mut [f32]) -> Option<[f32; 2]> {
    let last = sample.len().checked_sub(1)?;
    let mut at = |share: f64| {
        let place = (share * last as f64).round() as usize;
        *sample.select_nth_unstable_by(place, f32::total_cmp).1
    };
    Some([at(0.01), at(0.99)])
}
