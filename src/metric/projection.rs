//! Keys in two dimensions: onto their principal components, or onto directions drawn at random.
//!
//! With the mean m and the covariance C = (1/T) sum (`k_i` - `m)(k_i` - m)^T of T keys, a component is a unit vector u, the place of a key
//! along it u.(k - m), and the share of the variance that it explains u^T C u / tr C. All components are orthogonal to each other and
//! there are dk of them, so that their shares sum to 1. Principal components are the eigenvectors of C, the largest eigenvalue first;
//! their sign, which the eigenvectors leave open, is the one with which the largest number of u is positive. All in float64.

use std::sync::atomic::{AtomicBool, Ordering};

use nalgebra::{DMatrix, SymmetricEigen};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use crate::task::random::Draw;

/// Keys that are taken into the covariance at a time.
const BLOCK: usize = 1024;

/// Which directions keys are projected onto.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The principal components of the keys.
    #[default]
    Principal,
    /// Orthogonal directions drawn at random from this seed: whatever structure is seen there was not sought.
    Random(u64),
}

/// A way from keys to their components.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    mean: Array1<f64>,
    /// [components, dk], each of length 1 and orthogonal to the others.
    directions: Array2<f64>,
    shares: Vec<f64>,
}

impl Projection {
    /// The components of `keys` [T, dk]: dk of them. `None` once `cancel` is set.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "a view is a pointer and a shape")]
    pub fn new(keys: ArrayView2<'_, f32>, basis: Basis, cancel: &AtomicBool) -> Option<Self> {
        let (mean, covariance) = moments(keys, cancel)?;
        let total = covariance.diag().sum();
        let directions = match basis {
            Basis::Principal => principal(&covariance),
            Basis::Random(seed) => random(keys.ncols(), seed),
        };
        let share = |u: ndarray::ArrayView1<'_, f64>| {
            let variance = u.dot(&covariance.dot(&u)).max(0.0);
            if total > 0.0 { variance / total } else { 0.0 }
        };
        let shares = directions.rows().into_iter().map(share).collect();
        Some(Self { mean, directions, shares })
    }

    /// How many components there are: dk.
    #[must_use]
    pub fn components(&self) -> usize {
        self.shares.len()
    }

    /// The share of the variance that a component explains; 0 for all where the keys do not vary, and for one that there is not.
    #[must_use]
    pub fn share(&self, component: usize) -> f64 {
        self.shares.get(component).copied().unwrap_or(0.0)
    }

    /// The direction of a component `[dk]`.
    #[must_use]
    pub fn direction(&self, component: usize) -> ndarray::ArrayView1<'_, f64> {
        self.directions.row(component)
    }

    /// Where a vector `[dk]` lies along two components, each smaller than [`Projection::components`].
    #[must_use]
    pub fn place(&self, key: &[f32], components: [usize; 2]) -> [f32; 2] {
        components.map(|component| {
            let direction = self.directions.row(component);
            let along = key.iter().zip(&self.mean).zip(direction).map(|((&k, m), u)| (f64::from(k) - m) * u);
            along.sum::<f64>() as f32
        })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "a view is a pointer and a shape")]
/// The mean `[dk]` and the covariance [dk, dk] of keys.
fn moments(keys: ArrayView2<'_, f32>, cancel: &AtomicBool) -> Option<(Array1<f64>, Array2<f64>)> {
    let (writes, dk) = keys.dim();
    let n = writes.max(1) as f64;
    let mut mean = Array1::zeros(dk);
    for key in keys.rows() {
        mean.zip_mut_with(&key, |m, &k| *m += f64::from(k));
    }
    mean /= n;
    let mut covariance = Array2::zeros((dk, dk));
    for block in keys.axis_chunks_iter(Axis(0), BLOCK) {
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let centred = block.mapv(f64::from) - &mean;
        covariance += &centred.t().dot(&centred);
    }
    Some((mean, covariance / n))
}

/// The eigenvectors of a covariance as rows, the largest eigenvalue first.
fn principal(covariance: &Array2<f64>) -> Array2<f64> {
    let dk = covariance.nrows();
    let eigen = SymmetricEigen::new(DMatrix::from_fn(dk, dk, |i, j| covariance[[i, j]]));
    let mut order: Vec<usize> = (0..dk).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let mut directions = Array2::zeros((dk, dk));
    for (mut row, &which) in directions.rows_mut().into_iter().zip(&order) {
        let vector = eigen.eigenvectors.column(which);
        // The first of those that rounding cannot tell from the largest, so that the sign does not hang on the last bit.
        let largest = vector.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let sign = vector.iter().find(|x| x.abs() >= largest * (1.0 - 1e-9)).map_or(1.0, |x| x.signum());
        for (to, x) in row.iter_mut().zip(vector.iter()) {
            *to = sign * x;
        }
    }
    directions
}

/// `dk` orthonormal rows, all directions equally likely: Gaussian rows made orthogonal one after the other.
fn random(dk: usize, seed: u64) -> Array2<f64> {
    let mut draw = Draw::apart(seed, "projection");
    let mut directions = Array2::zeros((dk, dk));
    for done in 0..dk {
        let mut row = Array1::from_shape_simple_fn(dk, || draw.normal());
        // Twice: once leaves what rounding has left of the earlier rows.
        for _ in 0..2 {
            let before = directions.slice(s![..done, ..]);
            let along = before.dot(&row);
            row = row - before.t().dot(&along);
            let norm = row.dot(&row).sqrt();
            row /= norm.max(f64::MIN_POSITIVE);
        }
        directions.row_mut(done).assign(&row);
    }
    directions
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    fn new(keys: &Array2<f32>, basis: Basis) -> Projection {
        Projection::new(keys.view(), basis, &AtomicBool::new(false)).unwrap()
    }

    /// Points on the ellipse with half-axes 5 along (3, 4) / 5 and 1 across it, around (2, -1).
    fn ellipse() -> Array2<f32> {
        let point = |i: usize| {
            let angle = i as f64 / 400.0 * std::f64::consts::TAU;
            let (a, b) = (5.0 * angle.cos(), angle.sin());
            [(2.0 + 0.6 * a - 0.8 * b) as f32, (-1.0 + 0.8 * a + 0.6 * b) as f32]
        };
        Array2::from_shape_fn((400, 2), |(i, j)| point(i)[j])
    }

    #[test]
    fn an_ellipse_lies_along_its_axes() {
        let p = new(&ellipse(), Basis::Principal);
        // The variance along an axis of half-length a is a^2 / 2: 12.5 and 0.5 of 13.
        assert_abs_diff_eq!(p.share(0), 25.0 / 26.0, epsilon = 1e-6);
        assert_abs_diff_eq!(p.share(1), 1.0 / 26.0, epsilon = 1e-6);
        // The signs: 0.8 is the larger number of both.
        assert_abs_diff_eq!(p.direction(0)[0], 0.6, epsilon = 1e-6);
        assert_abs_diff_eq!(p.direction(0)[1], 0.8, epsilon = 1e-6);
        assert_abs_diff_eq!(p.direction(1)[0], 0.8, epsilon = 1e-6);
        assert_abs_diff_eq!(p.direction(1)[1], -0.6, epsilon = 1e-6);
        // Its end on the long axis is 5 from the middle, and the middle is the origin.
        let end = p.place(&[5.0, 3.0], [0, 1]);
        assert_abs_diff_eq!(end[0], 5.0, epsilon = 1e-5);
        assert_abs_diff_eq!(end[1], 0.0, epsilon = 1e-5);
        assert_eq!(p.place(&[2.0, -1.0], [1, 0]).map(|x| x.abs() < 1e-5), [true, true]);
    }

    #[test]
    fn components_are_orthonormal_and_their_shares_sum_to_one() {
        let mut draw = Draw::new(5);
        let keys = Array2::from_shape_simple_fn((3000, 12), || draw.normal() as f32) * Array1::from_iter((1..=12).map(|i| i as f32));
        for basis in [Basis::Principal, Basis::Random(3), Basis::Random(4)] {
            let p = new(&keys, basis);
            assert_eq!(p.components(), 12);
            assert_abs_diff_eq!((0..12).map(|c| p.share(c)).sum::<f64>(), 1.0, epsilon = 1e-12);
            for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
                let expected = f64::from(u8::from(a == b));
                assert_abs_diff_eq!(p.direction(a).dot(&p.direction(b)), expected, epsilon = 1e-12);
            }
        }
        let p = new(&keys, Basis::Principal);
        assert!((1..12).all(|c| p.share(c) <= p.share(c - 1)), "the largest first");
        // The variances are nearly 1, 4, .. 144 of 650 in all.
        assert_abs_diff_eq!(p.share(0), 144.0 / 650.0, epsilon = 0.02);
        // The variance of the places is what the share says.
        let places: Vec<f64> = keys.rows().into_iter().map(|k| f64::from(p.place(k.as_slice().unwrap(), [0, 0])[0])).collect();
        let variance = places.iter().map(|x| x * x).sum::<f64>() / 3000.0;
        let (_, covariance) = moments(keys.view(), &AtomicBool::new(false)).unwrap();
        assert_abs_diff_eq!(variance / covariance.diag().sum(), p.share(0), epsilon = 1e-6);
    }

    #[test]
    fn the_same_seed_draws_the_same_directions_and_another_others() {
        let keys = ellipse();
        assert_eq!(new(&keys, Basis::Random(7)), new(&keys, Basis::Random(7)));
        assert_ne!(new(&keys, Basis::Random(7)), new(&keys, Basis::Random(8)));
        assert_eq!(new(&keys, Basis::Principal), new(&keys, Basis::Principal));
    }

    #[test]
    fn keys_that_do_not_vary_explain_nothing_and_a_cancelled_one_is_none() {
        let keys = Array2::from_elem((10, 3), 0.5_f32);
        for basis in [Basis::Principal, Basis::Random(1)] {
            let p = new(&keys, basis);
            assert!((0..3).all(|c| p.share(c) == 0.0));
            assert_eq!(p.place(&[0.5, 0.5, 0.5], [0, 2]), [0.0, 0.0]);
        }
        assert!(Projection::new(keys.view(), Basis::Principal, &AtomicBool::new(true)).is_none());
        // One key of one number.
        assert_eq!(new(&Array2::zeros((1, 1)), Basis::Principal).components(), 1);
    }
}
