//! Random draws that give the same bits on every platform and with every version of the libraries.
//!
//! The bits come from `ChaCha8`, whose output is specified. Whole numbers are taken from them here, because a library's method
//! may change with its version. Normal numbers need a logarithm: the one of the operating system differs from platform to
//! platform in the last bit (and a ziggurat, which compares with an exponential, may then draw one more number and shift the
//! whole stream), so the polar method is used with the logarithm of the crate `libm`, which is plain arithmetic. Everything
//! else is additions, products, divisions and square roots, which IEEE 754 fixes.

use ndarray::{Array2, ArrayView2};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seeded source of draws.
#[derive(Debug, Clone)]
pub struct Draw {
    bits: ChaCha8Rng,
    /// The second number of the polar method's pair.
    spare: Option<f64>,
}

impl Draw {
    /// The source of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { bits: ChaCha8Rng::seed_from_u64(seed), spare: None }
    }

    /// The source of a seed for something besides the stream. A layer's seed is the session's, unless it has one of its own, and so
    /// is the task's: what a layer draws must not be made of the numbers that the stream's keys are made of.
    #[must_use]
    pub fn apart(seed: u64, purpose: &str) -> Self {
        // FNV-1a of the purpose, from the seed on.
        let start = seed ^ 0xcbf2_9ce4_8422_2325;
        Self::new(purpose.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }

    /// A number from 0 up to 1, 1 excluded, in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `limit`, all equally likely (Lemire's method, arXiv 1805.10941). 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = limit as u64;
        loop {
            let product = u128::from(self.bits.next_u64()) * u128::from(limit);
            let low = product as u64;
            // The first `2^64 mod limit` values of the low half would be drawn once too often.
            if low >= limit || low >= limit.wrapping_neg().checked_rem(limit).unwrap_or(0) {
                return (product >> 64) as usize;
            }
        }
    }

    /// `count` whole numbers below `limit`, each drawn anew.
    pub fn many_below(&mut self, limit: usize, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.below(limit)).collect()
    }

    /// A standard normal number (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * libm::log(s) / s).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Standard normal numbers [rows, columns].
    pub fn normals(&mut self, rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_simple_fn((rows, columns), || self.normal())
    }

    /// Random directions: rows of length 1 [rows, columns].
    pub fn directions(&mut self, rows: usize, columns: usize) -> Array2<f64> {
        unit(self.normals(rows, columns))
    }

    /// `x` with normal noise added whose length is `noise` on average, at length 1 again.
    pub fn jitter(&mut self, x: &ArrayView2<'_, f64>, noise: f64) -> Array2<f64> {
        let scale = noise / (x.ncols() as f64).sqrt();
        unit(x + &(self.normals(x.nrows(), x.ncols()) * scale))
    }

    /// `count` different numbers of `from..to`, ascending (Floyd's method). All of them where there are fewer.
    pub fn different(&mut self, from: usize, to: usize, count: usize) -> Vec<usize> {
        let room = to.saturating_sub(from);
        let mut taken = std::collections::BTreeSet::new();
        for last in room - count.min(room)..room {
            let drawn = self.below(last + 1);
            if !taken.insert(drawn) {
                taken.insert(last);
            }
        }
        taken.into_iter().map(|i| from + i).collect()
    }

    /// The numbers below `count` in a random order (Fisher-Yates).
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

/// Rows divided by their length (at least 1e-12).
#[must_use]
pub fn unit(mut rows: Array2<f64>) -> Array2<f64> {
    for mut row in rows.rows_mut() {
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
        row.mapv_inplace(|x| x / length);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draws_of_a_seed_never_change() {
        let mut draw = Draw::new(7);
        assert_eq!(draw.many_below(1000, 4), PINNED_BELOW);
        assert_eq!([draw.normal(), draw.normal(), draw.normal()].map(f64::to_bits), PINNED_NORMAL);
    }
    const PINNED_BELOW: [usize; 4] = [157, 167, 704, 726];
    const PINNED_NORMAL: [u64; 3] = [4_608_096_388_953_056_386, 13_833_575_157_373_920_126, 13_831_638_255_094_310_354];

    #[test]
    fn normal_numbers_have_the_moments_of_a_normal() {
        let mut draw = Draw::new(1);
        let x: Vec<f64> = (0..200_000).map(|_| draw.normal()).collect();
        let moment = |p: i32| x.iter().map(|v| v.powi(p)).sum::<f64>() / x.len() as f64;
        // Standard errors: .0022, .0032, .0087, .022. Five of them.
        for (p, expected, error) in [(1, 0.0, 0.011), (2, 1.0, 0.016), (3, 0.0, 0.044), (4, 3.0, 0.11)] {
            assert!((moment(p) - expected).abs() < error, "moment {p}: {}", moment(p));
        }
        let beyond = x.iter().filter(|v| v.abs() > 1.959_964).count() as f64 / x.len() as f64;
        assert!((beyond - 0.05).abs() < 0.0025, "{beyond}");
    }

    #[test]
    fn whole_numbers_are_equally_likely() {
        let mut draw = Draw::new(2);
        let mut counts = [0_u32; 7];
        for i in draw.many_below(7, 70_000) {
            counts[i] += 1;
        }
        // Chi squared with 6 degrees of freedom: above 27.9 once in 10 000 seeds.
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 27.9, "{counts:?}");
    }

    #[test]
    fn different_numbers_are_different_and_every_set_comes() {
        let mut draw = Draw::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *seen.entry(draw.different(10, 14, 2)).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.keys().cloned().collect::<Vec<_>>(), [[10, 11], [10, 12], [10, 13], [11, 12], [11, 13], [12, 13]]);
        // 1000 each, standard deviation 29.
        assert!(seen.values().all(|&n| n.abs_diff(1000) < 150), "{seen:?}");
        assert_eq!(draw.different(2, 4, 9), [2, 3]);
        assert_eq!(draw.different(4, 4, 1), [] as [usize; 0]);
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut draw = Draw::new(5);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *seen.entry(draw.permutation(3)).or_insert(0_u32) += 1;
        }
        // Six orders, 1000 each, standard deviation 29.
        assert!(seen.len() == 6 && seen.values().all(|&n| n.abs_diff(1000) < 150), "{seen:?}");
        assert_eq!(draw.permutation(0), [] as [usize; 0]);
    }

    #[test]
    fn jitter_is_as_long_as_it_says() {
        let mut draw = Draw::new(4);
        let x = draw.directions(2000, 64);
        let moved = draw.jitter(&x.view(), 0.1);
        let cosine = (&x * &moved).sum() / 2000.0;
        // 1 / sqrt(1 + .01) for noise at right angles.
        assert!((cosine - 1.0 / 1.01_f64.sqrt()).abs() < 2e-4, "{cosine}");
        assert!(moved.rows().into_iter().all(|r| (r.dot(&r) - 1.0).abs() < 1e-12));
    }
}
