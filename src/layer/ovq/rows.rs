//! The inner loops over a row of logits or similarities: where a run on the CPU spends what the matrix products leave.
//!
//! The float32 loops are written in [`LANES`] independent lanes, so that they vectorise and give the same bits whatever
//! the instruction set; the one compiled for the machine's widest vectors is chosen when first called.

use multiversion::multiversion;

use crate::layer::real::Real;

/// Independent accumulators of a float32 loop: the width of AVX-512. Part of the arithmetic (the order of a sum), not tuned to a machine.
const LANES: usize = 16;

/// Loops over one row that need to know the precision.
pub(in crate::layer) trait Row: Real {
    /// Adds `bias` (as long as `row`) and returns the largest element; negative infinity for an empty row.
    fn add_and_max(row: &mut [Self], bias: &[Self]) -> Self;
    /// The largest element; negative infinity for an empty row.
    fn largest(row: &[Self]) -> Self;
    /// Replaces every x by exp(x - max), where no x is above `max`, and returns the sum.
    fn exp_and_sum(row: &mut [Self], max: Self) -> Self;
    /// The two largest elements, equal ones counted separately; negative infinity where there is none.
    fn top_two(row: &[Self]) -> (Self, Self);
}

impl Row for f64 {
    fn add_and_max(row: &mut [Self], bias: &[Self]) -> Self {
        for (x, b) in row.iter_mut().zip(bias) {
            *x += b;
        }
        Self::largest(row)
    }
    fn largest(row: &[Self]) -> Self {
        row.iter().fold(Self::NEG_INFINITY, |best, &x| if x > best { x } else { best })
    }
    fn exp_and_sum(row: &mut [Self], max: Self) -> Self {
        for x in row.iter_mut() {
            *x = (*x - max).exp();
        }
        row.iter().sum()
    }
    fn top_two(row: &[Self]) -> (Self, Self) {
        row.iter().fold((Self::NEG_INFINITY, Self::NEG_INFINITY), |(best, second), &x| {
            if x > best {
                (x, best)
            } else if x > second {
                (best, x)
            } else {
                (best, second)
            }
        })
    }
}

impl Row for f32 {
    fn add_and_max(row: &mut [Self], bias: &[Self]) -> Self {
        add_and_max(row, bias)
    }
    fn largest(row: &[Self]) -> Self {
        largest(row)
    }
    fn exp_and_sum(row: &mut [Self], max: Self) -> Self {
        exp_and_sum(row, max)
    }
    fn top_two(row: &[Self]) -> (Self, Self) {
        top_two(row)
    }
}

/// The larger of two numbers that are not NaN, as one instruction.
#[inline(always)]
#[allow(clippy::inline_always, reason = "must be compiled into each version of its callers to vectorise")]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "must be compiled into each version of its callers to vectorise")]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[multiversion(targets = "simd")]
fn add_and_max(row: &mut [f32], bias: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (rows, row_rest) = row.as_chunks_mut::<LANES>();
    let (biases, bias_rest) = bias.as_chunks::<LANES>();
    for (x, b) in rows.iter_mut().zip(biases) {
        for i in 0..LANES {
            x[i] += b[i];
            lanes[i] = larger(lanes[i], x[i]);
        }
    }
    let mut best = lanes.iter().fold(f32::NEG_INFINITY, |a, &b| larger(a, b));
    for (x, b) in row_rest.iter_mut().zip(bias_rest) {
        *x += b;
        best = larger(best, *x);
    }
    best
}

#[multiversion(targets = "simd")]
fn largest(row: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    for x in rows {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], x[i]);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b))
}

#[multiversion(targets = "simd")]
fn exp_and_sum(row: &mut [f32], max: f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (rows, rest) = row.as_chunks_mut::<LANES>();
    for x in rows {
        for i in 0..LANES {
            x[i] = exp(x[i] - max);
            lanes[i] += x[i];
        }
    }
    let mut sum = lanes.iter().sum::<f32>();
    for x in rest {
        *x = exp(*x - max);
        sum += *x;
    }
    sum
}

#[multiversion(targets = "simd")]
fn top_two(row: &[f32]) -> (f32, f32) {
    let mut best = [f32::NEG_INFINITY; LANES];
    let mut second = [f32::NEG_INFINITY; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    for x in rows {
        for i in 0..LANES {
            second[i] = larger(second[i], smaller(best[i], x[i]));
            best[i] = larger(best[i], x[i]);
        }
    }
    let (mut b, mut s) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for &x in best.iter().chain(&second).chain(rest) {
        s = larger(s, smaller(b, x));
        b = larger(b, x);
    }
    (b, s)
}

/// exp(x) for x at most 0, within 2 units in the last place; below -87.3 (where it is under 1.3e-38) it stays there.
///
/// x = n ln 2 + r with n the nearest whole number, exp(r) by its Taylor polynomial of degree 7 on [-0.35, 0.35]
/// (remainder below 6e-9), and 2^n written into the exponent. ln 2 is subtracted in two parts, the first with few enough
/// bits for n ln 2 to be exact.
#[inline(always)]
#[allow(clippy::inline_always, reason = "must be compiled into each version of its callers to vectorise")]
fn exp(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it rounds to a whole number, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = larger(x, -87.3);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut p = 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    let p = (p * r * r + r) + 1.0;
    // The low 23 bits of `shifted` hold 2^22 + n; adding 127 makes n an exponent.
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(exponent)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "maxima and exact values are equal or wrong")]
mod tests {
    use super::*;

    /// The float32 loops against the plain float64 ones.
    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let mut worst = 0.0_f64;
        for i in 0..2_000_000_u32 {
            let x = -87.2 * i as f32 / 2_000_000.0;
            let exact = f64::from(x).exp();
            let ulp = f64::from(f32::from_bits((exact as f32).to_bits() + 1)) - f64::from(exact as f32);
            worst = worst.max((f64::from(exp(x)) - exact).abs() / ulp);
        }
        assert!(worst < 2.0, "{worst} units in the last place");
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1000.0) < 1.3e-38 && exp(f32::NEG_INFINITY) < 1.3e-38);
    }

    #[test]
    fn loops_agree_with_the_plain_ones_at_every_length() {
        for n in [0, 1, 2, 15, 16, 17, 40, 64, 100] {
            let row: Vec<f32> = (0..n).map(|i: i32| ((i * 37) % 23) as f32 * 0.25 - 3.0).collect();
            let bias: Vec<f32> = (0..n).map(|i: i32| ((i * 7) % 5) as f32).collect();
            let wide = |v: &[f32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            let two = top_two(&row);
            assert_eq!((f64::from(two.0), f64::from(two.1)), <f64 as Row>::top_two(&wide(&row)), "{n}");
            assert_eq!(f64::from(largest(&row)), <f64 as Row>::largest(&wide(&row)), "{n}");
            let (mut a, mut b) = (row.clone(), wide(&row));
            assert_eq!(f64::from(add_and_max(&mut a, &bias)), <f64 as Row>::add_and_max(&mut b, &wide(&bias)), "{n}");
            assert_eq!(wide(&a), b, "{n}");
            let sums = (exp_and_sum(&mut a, 10.0), <f64 as Row>::exp_and_sum(&mut b, 10.0));
            approx::assert_relative_eq!(f64::from(sums.0), sums.1, max_relative = 1e-6);
        }
    }

    #[test]
    fn equal_elements_are_both_of_the_top_two() {
        assert_eq!(top_two(&[1.0, 3.0, 2.0, 3.0]), (3.0, 3.0));
        assert_eq!(top_two(&[1.0]), (1.0, f32::NEG_INFINITY));
    }
}
