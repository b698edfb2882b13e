//! How the scores of a step are spread: their quantiles, found a few steps a frame, for a long run has many. No drawing.

use std::sync::{Arc, Weak};

use crate::panel::Look;
use crate::session::plan::Plan;
use crate::trace::Channel;

/// The quantiles that are kept.
pub const QUANTILES: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];

/// Scores that are sorted in one frame: about a millisecond's work.
const A_FRAME: usize = 1 << 15;

/// The finite scores of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Their [`QUANTILES`]; NaN where there are none.
    pub at: [f32; 7],
    /// How many there are.
    pub count: usize,
    /// How many others are NaN.
    pub nan: usize,
    /// How many others are infinite.
    pub infinite: usize,
}

impl Spread {
    /// The quantiles of some scores. Between two scores a quantile is interpolated: of n scores in order, counted from 0, the
    /// quantile p lies at p (n - 1).
    #[must_use]
    pub fn new(scores: impl Iterator<Item = f32>) -> Self {
        let (mut finite, mut nan, mut infinite) = (Vec::new(), 0, 0);
        for s in scores {
            if s.is_finite() {
                finite.push(s);
            } else {
                nan += usize::from(s.is_nan());
                infinite += usize::from(s.is_infinite());
            }
        }
        finite.sort_unstable_by(f32::total_cmp);
        let quantile = |p: f64| {
            let place = p * finite.len().saturating_sub(1) as f64;
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            match (finite.get(low), finite.get(high)) {
                (Some(&a), Some(&b)) => (f64::from(a) + (f64::from(b) - f64::from(a)) * place.fract()) as f32,
                _ => f32::NAN,
            }
        };
        Self { at: QUANTILES.map(quantile), count: finite.len(), nan, infinite }
    }
}

/// The spreads of a lane's steps, from the first on, as far as they were found.
#[derive(Debug, Default)]
pub struct Spreads {
    of: Option<(Weak<Plan>, usize, usize)>,
    list: Vec<Spread>,
}

impl Spreads {
    /// Finds those of more steps, up to `until` of them, in the time that a frame has for it; those that are known.
    pub fn extend(&mut self, look: &Look<'_>, (lane, head): (usize, usize), scores: &Channel, until: usize) -> &[Spread] {
        let same = self.of.as_ref().is_some_and(|(p, l, h)| Weak::as_ptr(p) == Arc::as_ptr(look.plan) && (*l, *h) == (lane, head));
        // A run that started again in the same plan has fewer steps than are known.
        if !same || self.list.len() > scores.len() {
            self.of = Some((Arc::downgrade(look.plan), lane, head));
            self.list.clear();
        }
        let values = scores.values(head);
        let mut sorted = 0;
        while self.list.len() < until.min(scores.len()) && sorted < A_FRAME {
            let range = scores.range(head, self.list.len());
            sorted += range.len() + 16;
            self.list.push(Spread::new(range.map(|at| values.get(at).map_or(f32::NAN, |s| s as f32))));
        }
        &self.list
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_lie_between_the_scores() {
        // 0, 10, .. 200: twenty steps of ten between them, so that .05 is one step up.
        let spread = Spread::new((0..21).rev().map(|i| 10.0 * i as f32).chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]));
        assert_eq!(spread.at, [0.0, 10.0, 50.0, 100.0, 150.0, 190.0, 200.0]);
        assert_eq!((spread.count, spread.nan, spread.infinite), (21, 1, 2));
        assert_eq!(Spread::new([1.0, 4.0].into_iter()).at[3], 2.5, "half-way between two");
        assert_eq!(Spread::new([7.0].into_iter()).at, [7.0; 7]);
        assert!(Spread::new(std::iter::empty()).at[3].is_nan());
    }

    proptest! {
        #[test]
        fn quantiles_are_in_order_and_hold_their_share(scores in proptest::collection::vec(-50_i32..50, 1..80)) {
            let spread = Spread::new(scores.iter().map(|s| *s as f32));
            prop_assert!(spread.at.windows(2).all(|w| w[0] <= w[1]));
            for (p, q) in QUANTILES.into_iter().zip(spread.at) {
                let below = scores.iter().filter(|s| (**s as f32) < q).count() as f64;
                let up_to = scores.iter().filter(|s| (**s as f32) <= q).count() as f64;
                prop_assert!(below <= p * (scores.len() - 1) as f64 + 1.0 && up_to >= p * (scores.len() - 1) as f64, "{} {}", p, q);
            }
        }
    }
}
