//! Novelty of keys: how far each is from everything that its head has seen before.
//!
//! novelty(i) = 1 - max over j < i of `cos(k_i`, `k_j)`: 0 for a key that came before in the same direction, 1 for one at right angles to all
//! that came before, 2 for the opposite of a single one. The first key has nothing before it and so no novelty. A key of length 0
//! has no direction; its cosine with any other counts as 0.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use rayon::prelude::*;

/// Keys whose novelty is computed together: a product of matrices each.
pub const BLOCK: usize = 256;

/// Earlier keys that one product of matrices takes in: with a block of keys they fill 1 MiB.
const COLUMNS: usize = 1024;

/// The keys `[T, dk]` at length 1; those of length 0 stay as they are.
#[must_use]
pub fn unit_keys(keys: ArrayView2<'_, f32>) -> Array2<f32> {
    let mut unit = keys.as_standard_layout().into_owned();
    for mut row in unit.rows_mut() {
        let norm = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        if norm > 0.0 {
            row.mapv_inplace(|x| (f64::from(x) / norm) as f32);
        }
    }
    unit
}

/// The novelty of the keys `rows`, of keys at length 1 `[T, dk]` (see [`unit_keys`]): every earlier key is looked at. NaN for the
/// first key of all. Products are in float32, so that a novelty is known to about 1e-6.
#[must_use]
pub fn novelty(unit: ArrayView2<'_, f32>, rows: Range<usize>) -> Vec<f32> {
    let own = unit.slice(s![rows.clone(), ..]);
    let starts: Vec<usize> = (0..rows.end).step_by(COLUMNS).collect();
    let largest = |start: usize| {
        let end = (start + COLUMNS).min(rows.end);
        let products = own.dot(&unit.slice(s![start..end, ..]).t());
        let before = |(products, row): (ndarray::ArrayView1<'_, f32>, usize)| {
            let earlier = row.clamp(start, end) - start;
            products.iter().take(earlier).fold(f32::NEG_INFINITY, |most, &p| if p > most { p } else { most })
        };
        products.rows().into_iter().zip(rows.clone()).map(before).collect::<Vec<f32>>()
    };
    let none = || vec![f32::NEG_INFINITY; rows.len()];
    let larger = |a: Vec<f32>, b: Vec<f32>| a.into_iter().zip(b).map(|(x, y)| x.max(y)).collect();
    let most: Vec<f32> = starts.into_par_iter().map(largest).reduce(none, larger);
    most.into_iter().map(|m| if m == f32::NEG_INFINITY { f32::NAN } else { (1.0 - m).clamp(0.0, 2.0) }).collect()
}

/// Multiply-adds that the novelty of all of `writes` keys of `dk` numbers takes.
#[must_use]
pub fn madds(writes: usize, dk: usize) -> u64 {
    let pairs = (writes as u64) * (writes as u64).saturating_sub(1) / 2;
    pairs * dk as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr2;
    use proptest::prelude::*;

    #[test]
    fn a_key_is_as_new_as_it_is_far_from_the_nearest_before_it() {
        // Angles 0, 90, 60 and 240 degrees, then the first key again, five times as long, then one of length 0, and 60 degrees again.
        let at = |degrees: f32, length: f32| [degrees.to_radians().cos() * length, degrees.to_radians().sin() * length];
        let keys = arr2(&[at(0.0, 1.0), at(90.0, 2.0), at(60.0, 1.0), at(240.0, 1.0), at(0.0, 5.0), [0.0, 0.0], at(60.0, 3.0)]);
        let found = novelty(unit_keys(keys.view()).view(), 0..7);
        assert!(found[0].is_nan(), "nothing is before the first");
        // 60 degrees is 30 from 90 and 60 from 0; 240 is 120 from 0 and more from the others.
        let expected = [1.0, 1.0 - 0.75_f32.sqrt(), 1.5, 0.0, 1.0, 0.0];
        for (f, e) in found[1..].iter().zip(expected) {
            assert!((f - e).abs() < 1e-6, "{found:?}");
        }
        assert_eq!(madds(4, 10), 60);
    }

    proptest! {
        /// The same as looking at each pair in float64, however the keys are cut into blocks.
        #[test]
        fn blocks_give_what_every_pair_gives(seed in 0_u32..1000, n in 1_usize..40, cut in 0_usize..40) {
            let noise = |i: usize| f32::from(((i as u32 + 7919 * seed).wrapping_mul(2_654_435_761) >> 16) as u16) / 32768.0 - 1.0;
            let keys = Array2::from_shape_fn((n, 3), |(i, j)| noise(3 * i + j));
            let unit = unit_keys(keys.view());
            let cut = cut.min(n);
            let mut found = novelty(unit.view(), 0..cut);
            found.extend(novelty(unit.view(), cut..n));
            prop_assert_eq!(found.len(), n);
            for (i, novel) in found.iter().enumerate().skip(1) {
                let cosine = |j: usize| {
                    let dot = |a: usize, b: usize| (0..3).map(|c| f64::from(keys[[a, c]]) * f64::from(keys[[b, c]])).sum::<f64>();
                    dot(i, j) / (dot(i, i) * dot(j, j)).sqrt()
                };
                let most = (0..i).map(cosine).fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((f64::from(*novel) - (1.0 - most)).abs() < 1e-5, "key {} of {}: {} for {}", i, n, novel, 1.0 - most);
            }
        }
    }
}
