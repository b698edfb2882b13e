//! FAVOR+'s directions in orthogonal blocks (arXiv 2009.14794, section 3.3): as right on average as independent Gaussian rows, since
//! each row by itself is one, and with less noise, since no two of a block look the same way.

use ndarray::Array2;

use crate::task::random::Draw;

/// What is left of a row after its projections on the rows before it must be more than this part of it, or it is drawn again.
const LEFT: f64 = 1e-6;

/// [rows, dk]: blocks of up to dk rows that are orthogonal to each other, each as long as a Gaussian row of its own.
///
/// Sums run in one order, so that a seed's numbers are the same everywhere.
pub(super) fn orthogonal(draw: &mut Draw, rows: usize, dk: usize) -> Array2<f64> {
    let mut all = Vec::with_capacity(rows * dk);
    while all.len() < rows * dk {
        let block = (rows - all.len() / dk).min(dk);
        for row in basis(draw, block, dk) {
            let length = norm(&gaussian(draw, dk));
            all.extend(row.into_iter().map(|x| x * length));
        }
    }
    Array2::from_shape_vec((rows, dk), all).unwrap_or_else(|e| unreachable!("whole rows: {e}"))
}

/// `count` (at most dk) random rows of length 1, orthogonal to each other: Gaussian rows by Gram-Schmidt.
fn basis(draw: &mut Draw, count: usize, dk: usize) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(count);
    while rows.len() < count {
        let mut row = gaussian(draw, dk);
        let before = norm(&row);
        // Twice: what rounding leaves of a projection the first time is gone after the second.
        for other in rows.iter().chain(&rows) {
            let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
        }
        let left = norm(&row);
        if left > LEFT * before {
            rows.push(row.into_iter().map(|x| x / left).collect());
        }
    }
    rows
}

fn gaussian(draw: &mut Draw, dk: usize) -> Vec<f64> {
    (0..dk).map(|_| draw.normal()).collect()
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn rows_of_a_block_are_orthogonal_and_as_long_as_gaussian_rows() {
        let (dk, m) = (16, 40);
        let rows = orthogonal(&mut Draw::new(3), m, dk);
        let row = |i: usize| rows.row(i).to_vec();
        for i in 0..m {
            for j in 0..i {
                let cosine = dot(&row(i), &row(j)) / (norm(&row(i)) * norm(&row(j)));
                if i / dk == j / dk {
                    assert!(cosine.abs() < 1e-14, "rows {i} and {j} of one block: {cosine}");
                }
            }
        }
        // Rows of two blocks know nothing of each other.
        assert!(dot(&row(0), &row(dk)).abs() > 1e-3);
        // |w|^2 of a Gaussian row has mean dk and variance 2 dk: over 4000 rows the mean is within 5 of its deviations.
        let many = orthogonal(&mut Draw::new(4), 4000, dk);
        let mean = many.rows().into_iter().map(|r| r.dot(&r)).sum::<f64>() / 4000.0;
        assert!((mean - 16.0).abs() < 5.0 * (32.0_f64 / 4000.0).sqrt(), "{mean}");
        let spread = many.rows().into_iter().map(|r| (r.dot(&r) - mean).powi(2)).sum::<f64>() / 4000.0;
        assert!((24.0..40.0).contains(&spread), "{spread}: lengths of their own, not all sqrt(dk)");
    }

    /// The estimate of exp(q.k) by m positive features, for one draw of directions.
    fn estimate(w: &Array2<f64>, q: &[f64], k: &[f64]) -> f64 {
        let phi = |x: &[f64], w: &[f64]| (dot(w, x) - 0.5 * dot(x, x)).exp();
        w.rows().into_iter().map(|w| phi(q, &w.to_vec()) * phi(k, &w.to_vec())).sum::<f64>() / w.nrows() as f64
    }

    #[test]
    fn orthogonal_blocks_are_right_on_average_with_less_noise() {
        let dk = 8;
        let q: Vec<f64> = (0..dk).map(|i| 0.3 * f64::from(i as u8 + 1).sin()).collect();
        let k: Vec<f64> = (0..dk).map(|i| 0.3 * f64::from(2 * i as u8 + 1).cos()).collect();
        let (exact, draws) = (dot(&q, &k).exp(), 20_000_u64);
        let run = |make: &dyn Fn(&mut Draw) -> Array2<f64>| {
            let all: Vec<f64> = (0..draws).map(|seed| estimate(&make(&mut Draw::new(seed)), &q, &k)).collect();
            let mean = all.iter().sum::<f64>() / draws as f64;
            (mean, all.iter().map(|x| (x - exact).powi(2)).sum::<f64>() / draws as f64)
        };
        let (blocks, plain) = (run(&|draw| orthogonal(draw, dk, dk)), run(&|draw| draw.normals(dk, dk)));
        for (mean, variance) in [blocks, plain] {
            let deviation = (variance / draws as f64).sqrt();
            assert!((mean - exact).abs() < 4.0 * deviation, "{mean} where {exact} is expected, within {deviation}");
        }
        assert!(blocks.1 < 0.95 * plain.1, "orthogonal {} and Gaussian {}", blocks.1, plain.1);
    }
}
