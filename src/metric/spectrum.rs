//! The singular values of a state, and what they come to: how large it is, and how many directions it uses.
//!
//! With singular values `s_1 >= s_2 >= ..` of a matrix S and `p_i = s_i / sum s`:
//!
//! - **Frobenius norm** `|S|_F = sqrt(sum s_i^2)`: the root of the sum of the squares of its numbers.
//! - **Effective rank** `exp(H)`, `H = -sum p_i ln p_i` (Roy and Vetterli, "The effective rank", 2007): how many equally strong
//!   directions would be as even. 1 for a matrix of rank one, d for the identity of d rows.
//! - **Stable rank** `|S|_F^2 / |S|_2^2 = sum s_i^2 / s_1^2`: never above the rank, and moved little by what is small.

use nalgebra::DMatrix;
use ndarray::ArrayView2;

/// Passes of the decomposition before it is given up; a matrix of finite numbers needs a few dozen.
const MOST_PASSES: usize = 10_000;

/// The singular values of a matrix, the largest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spectrum {
    values: Vec<f64>,
}

impl Spectrum {
    /// Of a matrix of any shape, in float64. A matrix that holds a number that is not finite has only NaN.
    #[must_use]
    pub fn of(matrix: ArrayView2<'_, f64>) -> Self {
        let least = matrix.nrows().min(matrix.ncols());
        if matrix.iter().any(|x| !x.is_finite()) {
            return Self { values: vec![f64::NAN; least] };
        }
        // Tall: the decomposition works along the columns.
        let tall = if matrix.nrows() >= matrix.ncols() { matrix } else { matrix.reversed_axes() };
        let own = DMatrix::from_fn(tall.nrows(), tall.ncols(), |row, column| tall[[row, column]]);
        match own.try_svd(false, false, f64::EPSILON * 5.0, MOST_PASSES) {
            Some(svd) => Self::from_values(svd.singular_values.iter().copied().collect()),
            None => Self { values: vec![f64::NAN; least] },
        }
    }

    /// Of singular values in any order.
    #[must_use]
    pub fn from_values(mut values: Vec<f64>) -> Self {
        values.sort_by(|a, b| b.total_cmp(a));
        Self { values }
    }

    /// The singular values, the largest first.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// `|S|_F`.
    #[must_use]
    pub fn frobenius(&self) -> f64 {
        self.values.iter().map(|s| s * s).sum::<f64>().sqrt()
    }

    /// The effective rank; 0 for a matrix of zeros.
    #[must_use]
    pub fn effective_rank(&self) -> f64 {
        let sum: f64 = self.values.iter().sum();
        if sum == 0.0 {
            return 0.0;
        }
        let share = |s: &f64| s / sum;
        // 0 ln 0 = 0; NaN goes on.
        let entropy: f64 = self.values.iter().map(share).filter(|p| *p != 0.0).map(|p| -p * p.ln()).sum();
        entropy.exp()
    }

    /// The stable rank; 0 for a matrix of zeros.
    #[must_use]
    pub fn stable_rank(&self) -> f64 {
        match self.values.first() {
            Some(&largest) if largest != 0.0 => self.values.iter().map(|s| (s / largest).powi(2)).sum(),
            _ => 0.0,
        }
    }

    /// The singular value below which the share `part` of them lies (0.5: the median); NaN without any.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let Some(last) = self.values.len().checked_sub(1) else { return f64::NAN };
        self.values[((1.0 - part.clamp(0.0, 1.0)) * last as f64).round() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * (1.0 + b.abs())
    }

    #[test]
    fn the_identity_uses_every_direction() {
        let s = Spectrum::of(Array2::<f64>::eye(7).view());
        assert!(s.values().iter().all(|v| near(*v, 1.0)) && s.values().len() == 7);
        assert!(near(s.effective_rank(), 7.0) && near(s.stable_rank(), 7.0) && near(s.frobenius(), 7.0_f64.sqrt()));
    }

    #[test]
    fn a_product_of_two_vectors_has_rank_one() {
        let (u, v) = ([1.0, 2.0, 2.0], [3.0, 0.0, 4.0, 0.0]);
        let s = Spectrum::of(Array2::from_shape_fn((3, 4), |(i, j)| u[i] * v[j]).view());
        // |u| |v| = 3 * 5.
        assert!(near(s.values()[0], 15.0) && s.values()[1] < 1e-12, "{:?}", s.values());
        assert!((s.effective_rank() - 1.0).abs() < 1e-6 && near(s.stable_rank(), 1.0) && near(s.frobenius(), 15.0));
    }

    #[test]
    fn known_values_and_ranks_of_a_diagonal() {
        // 3 and 1: p = 3/4, 1/4, exp(H) = 4 / 3^(3/4) = 1.754765350603; stable rank 10/9.
        let s = Spectrum::of(array![[0.0, -3.0], [1.0, 0.0]].view());
        assert!(near(s.values()[0], 3.0) && near(s.values()[1], 1.0));
        assert!(near(s.effective_rank(), 4.0 / 3.0_f64.powf(0.75)) && near(s.stable_rank(), 10.0 / 9.0));
        assert_eq!((s.quantile(1.0), s.quantile(0.0)), (s.values()[0], s.values()[1]));
    }

    #[test]
    fn zeros_have_no_rank_and_nan_is_not_hidden() {
        let s = Spectrum::of(Array2::<f64>::zeros((4, 2)).view());
        assert_eq!((s.frobenius(), s.effective_rank(), s.stable_rank()), (0.0, 0.0, 0.0));
        let s = Spectrum::of(array![[1.0, f64::NAN], [0.0, 1.0]].view());
        assert!(s.frobenius().is_nan() && s.effective_rank().is_nan() && s.stable_rank().is_nan());
    }

    proptest! {
        /// The norm is that of the numbers, no rank is above the least side, and scale and transposition change no rank.
        #[test]
        fn norms_and_ranks_hold_for_any_matrix(rows in 1_usize..9, columns in 1_usize..9, seed in proptest::collection::vec(-2.0_f64..2.0, 81)) {
            let m = Array2::from_shape_fn((rows, columns), |(i, j)| seed[9 * i + j]);
            let s = Spectrum::of(m.view());
            let norm = m.iter().map(|x| x * x).sum::<f64>().sqrt();
            prop_assert!((s.frobenius() - norm).abs() < 1e-9 * (1.0 + norm));
            let least = rows.min(columns) as f64;
            prop_assert!(s.stable_rank() <= least + 1e-9 && s.effective_rank() <= least + 1e-9);
            prop_assert!(s.stable_rank() <= s.effective_rank() * s.effective_rank() + 1e-9);
            let t = Spectrum::of((&m.t() * 3.0).view());
            prop_assert!((t.effective_rank() - s.effective_rank()).abs() < 1e-7);
        }
    }
}
