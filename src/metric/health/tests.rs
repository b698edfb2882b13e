//! The figures of codebook health against values worked out by hand, and against their definitions on anything.

use ndarray::{Array2, array};
use proptest::prelude::*;

use super::*;

#[test]
fn perplexity_counts_equal_rows_and_sees_a_crowd_in_one() {
    assert!((perplexity(&[3, 3, 3, 3]) - 4.0).abs() < 1e-12);
    assert!((perplexity(&[9, 0, 0]) - 1.0).abs() < 1e-12);
    // p = 3/4, 1/4: H = 0.5623351446 nats, exp(H) = 1.7547653506.
    assert!((perplexity(&[3, 1]) - 1.754_765_350_6).abs() < 1e-9);
    assert!(perplexity(&[]).abs() < 1e-12);
}

#[test]
fn gini_is_zero_for_equal_rows_and_a_third_for_one_two_five() {
    assert!(gini(&[7, 7, 7]).abs() < 1e-12);
    assert!(gini(&[5]).abs() < 1e-12 && gini(&[]).abs() < 1e-12);
    // |1-2| + |1-5| + |2-5| = 8 over each pair once; twice that over 2 n sum c = 2 * 3 * 8: 16 / 48 = 1/3.
    assert!((gini(&[5, 1, 2]) - 1.0 / 3.0).abs() < 1e-12);
    // One of four rows has all: 1 - 1/n.
    assert!((gini(&[0, 0, 9, 0]) - 0.75).abs() < 1e-12);
}

#[test]
fn one_row_is_as_even_as_it_can_be() {
    let mut usage = Usage::new(4);
    for _ in 0..1000 {
        (0..3).for_each(|_| usage.push(0));
        assert_eq!(usage.end_step(), Step { rows: 1, perplexity: 1.0, gini: 0.0, unused: 0 });
    }
    assert_eq!(Usage::new(1).end_step(), Step { rows: 0, perplexity: 0.0, gini: 0.0, unused: 0 }, "nothing was written");
}

#[test]
fn a_row_is_unused_once_it_has_had_no_write_for_the_window() {
    // Row 0 in step 0, row 1 in steps 1 to 4, row 0 again in step 5; after two steps without a write a row is unused.
    let mut usage = Usage::new(2);
    let unused: Vec<u32> = [0, 1, 1, 1, 1, 0, 1]
        .map(|row| {
            usage.push(row);
            usage.end_step().unused
        })
        .to_vec();
    assert_eq!(unused, [0, 0, 1, 1, 1, 0, 0]);
}

#[test]
fn half_floats_stall_at_2048_and_the_figures_with_them() {
    // One write a step: 60000 of them to row 0, of which 2048 count, and one to each of 63 other rows.
    let mut usage = Usage::new(8).counted(Counting::Half);
    let mut last = None;
    for row in std::iter::repeat_n(0, 60_000).chain(1..64) {
        usage.push(row);
        last = Some(usage.end_step());
    }
    let step = last.unwrap();
    assert_eq!(usage.counts[..3], [2048, 1, 1]);
    // p = 2048/2111 and 63 times 1/2111: H = 0.02939 + 0.22845 nats, exp(H) = 1.2941. Gini: 63 pairs of 2047 apart over 64 * 2111.
    assert!((step.perplexity - 1.294).abs() < 1e-3, "{step:?}");
    assert!((step.gini - 63.0 * 2047.0 / (64.0 * 2111.0)).abs() < 1e-9, "{step:?}");
    assert_eq!((step.rows, step.unused), (64, 56), "the last eight steps had a write each");
    // Three in one step are added in one go: 2048 + 3 = 2051, between 2050 and 2052 the one whose last bit is 0.
    (0..3).for_each(|_| usage.push(0));
    usage.end_step();
    assert_eq!((usage.counts[0], usage.total), (2052, 2052 + 63));
    // Exactly counted, nearly all is in one row.
    let mut exact = Usage::new(8);
    std::iter::repeat_n(0, 60_000).chain(1..64).for_each(|row| exact.push(row));
    assert!(exact.end_step().perplexity < 1.02);
}

#[test]
fn the_nearest_pair_differs_by_length_and_by_angle() {
    // Rows 0 and 1 are long and at 60 degrees: dot 2 * 1 * 1/2 = 1. Rows 2 and 3 are short and parallel: dot 0.02, cosine 1.
    let keys = array![[2.0_f32, 0.0], [0.5, 0.75_f32.sqrt()], [0.0, -0.1], [0.0, -0.2]];
    let found = nearest_pairs(keys.view(), &[1, 1, 1, 1]).unwrap();
    assert_eq!((found.dot.rows, found.cosine.rows), ((0, 1), (2, 3)));
    assert!((found.dot.similarity - 1.0).abs() < 1e-7 && (found.cosine.similarity - 1.0).abs() < 1e-7);
    // A code without a write is no row in use.
    let found = nearest_pairs(keys.view(), &[1, 0, 1, 4]).unwrap();
    assert_eq!(found.dot.rows, (2, 3));
    assert!((found.dot.similarity - 0.02).abs() < 1e-8);
    assert!(nearest_pairs(keys.view(), &[0, 3, 0, 0]).is_none(), "one row is near to none");
}

#[test]
fn a_row_that_is_no_number_is_not_passed_over() {
    let mut keys = Array2::<f32>::eye(300);
    keys[[250, 7]] = f32::NAN;
    let found = nearest_pairs(keys.view(), &[1; 300]).unwrap();
    assert!(found.dot.similarity.is_nan() && found.dot.rows == (0, 250));
    let error = quantisation(keys.view(), &[0, 1, 250], keys.view(), &[1; 300]).unwrap();
    assert!(error.worst.is_nan() && error.mean.is_nan() && error.at == 2);
}

#[test]
fn quantisation_is_one_minus_the_dot_product_with_the_row_as_it_is() {
    let keys = array![[1.0_f32, 0.0], [0.0, 1.0], [0.6, 0.8], [0.0, -1.0]];
    let dictionary = array![[0.8_f32, 0.4], [0.0, 1.0]];
    // 1 - 0.8, 1 - 1, 1 - (0.48 + 0.32); the fourth write is not seen yet.
    let error = quantisation(keys.view(), &[0, 1, 0], dictionary.view(), &[2, 1]).unwrap();
    assert!((error.mean - 0.4 / 3.0).abs() < 1e-7 && (error.worst - 0.2).abs() < 1e-7, "{error:?}");
    assert_eq!(quantisation(keys.view(), &[0, 1, 0, 1], dictionary.view(), &[2, 2]).unwrap().at, 3, "2 is the worst there is");
    let left = quantisation(keys.view(), &[0, 1, 0, 1], dictionary.view(), &[2, 0]).unwrap();
    assert!((left.mean - 0.2).abs() < 1e-7 && left.at == 0, "row 1 was taken away: {left:?}");
    assert!(quantisation(keys.view(), &[], dictionary.view(), &[1, 1]).is_none());
}

#[test]
fn moments_are_evenly_apart_and_the_last_is_one() {
    assert_eq!(sampled(5, 256), [1, 2, 3, 4, 5]);
    assert_eq!(sampled(10, 4), [3, 5, 8, 10]);
    assert_eq!((sampled(0, 4), sampled(9, 0)), (vec![], vec![9]));
}

proptest! {
    /// Write by write comes to the same as from the counts.
    #[test]
    fn usage_is_that_of_the_counts(rows in proptest::collection::vec(0_usize..12, 1..300), chunk in 1_usize..9, window in 1_usize..7) {
        let mut usage = Usage::new(window);
        let steps: Vec<&[usize]> = rows.chunks(chunk).collect();
        for (step, chunk) in steps.iter().enumerate() {
            chunk.iter().for_each(|&row| usage.push(row));
            let now = usage.end_step();
            let mut counts = [0_u32; 12];
            steps[..=step].iter().flat_map(|c| c.iter()).for_each(|&row| counts[row] += 1);
            let used: Vec<u32> = counts.into_iter().filter(|&c| c > 0).collect();
            let recent: std::collections::BTreeSet<usize> =
                steps[(step + 1).saturating_sub(window)..=step].iter().flat_map(|c| c.iter().copied()).collect();
            prop_assert_eq!(now.rows as usize, used.len());
            prop_assert_eq!(now.unused as usize, used.len() - recent.len());
            prop_assert!((now.perplexity - perplexity(&used)).abs() < 1e-9, "{} {}", now.perplexity, perplexity(&used));
            prop_assert!((now.gini - gini(&used)).abs() < 1e-12, "{} {}", now.gini, gini(&used));
            let n = used.len() as f64;
            prop_assert!((1.0..=n).contains(&now.perplexity) && (0.0..=1.0 - 1.0 / n + 1e-12).contains(&now.gini));
        }
    }

    /// What is rounded after each step is what the layer's own counts come to.
    #[test]
    fn usage_in_half_floats_is_that_of_the_layers_counts(
        first in proptest::collection::vec(2000_u32..9000, 3),
        rows in proptest::collection::vec(0_i32..5, 1..120),
        chunk in 1_usize..9,
    ) {
        // A first chunk each that fills three rows beyond where half floats are exact; then chunks of anything.
        let mut usage = Usage::new(4).counted(Counting::Half);
        let mut counts = [0_u32; 5];
        for (row, &members) in first.iter().enumerate() {
            (0..members).for_each(|_| usage.push(row));
            usage.end_step();
            counts[row] = Counting::Half.add(0, members);
        }
        for chunk in rows.chunks(chunk) {
            chunk.iter().for_each(|&row| usage.push(row as usize));
            let now = usage.end_step();
            for row in 0..5 {
                let members = chunk.iter().filter(|&&r| r == row).count() as u32;
                counts[row as usize] = Counting::Half.add(counts[row as usize], members);
            }
            let used: Vec<u32> = counts.into_iter().filter(|&c| c > 0).collect();
            prop_assert_eq!(now.rows as usize, used.len());
            prop_assert!((now.perplexity - perplexity(&used)).abs() < 1e-9, "{} {}", now.perplexity, perplexity(&used));
            prop_assert!((now.gini - gini(&used)).abs() < 1e-12, "{} {}", now.gini, gini(&used));
        }
    }

    /// A row that is taken away leaves what the other rows alone would have come to.
    #[test]
    fn a_row_taken_away_counts_for_nothing(rows in proptest::collection::vec(0_usize..6, 1..120), more in proptest::collection::vec(1_usize..6, 1..20)) {
        let mut usage = Usage::new(3);
        let mut without = Usage::new(3);
        for chunk in rows.chunks(5) {
            chunk.iter().for_each(|&row| usage.push(row));
            chunk.iter().filter(|&&row| row != 0).for_each(|&row| without.push(row));
            usage.end_step();
            without.end_step();
        }
        usage.remove(0);
        for chunk in more.chunks(4) {
            for row in chunk {
                usage.push(*row);
                without.push(*row);
            }
            let (a, b) = (usage.end_step(), without.end_step());
            prop_assert_eq!((a.rows, a.unused), (b.rows, b.unused));
            prop_assert!((a.perplexity - b.perplexity).abs() < 1e-9 && (a.gini - b.gini).abs() < 1e-12);
        }
    }

    /// The pair found in blocks is that of the definition.
    #[test]
    fn the_nearest_pair_is_that_of_the_definition(numbers in proptest::collection::vec(-1.0_f32..1.0, 8..900)) {
        let n = numbers.len() / 4;
        let keys = Array2::from_shape_vec((n, 4), numbers[..4 * n].to_vec()).unwrap();
        let found = nearest_pairs(keys.view(), &vec![1; n]).unwrap();
        let dot = |i: usize, j: usize| keys.row(i).iter().zip(keys.row(j)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
        let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let best = pairs().map(|(i, j)| dot(i, j)).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!((found.dot.similarity - best).abs() < 1e-5, "{:?} {best}", found.dot);
        let cosine = |i: usize, j: usize| {
            let lengths = (dot(i, i) * dot(j, j)).sqrt();
            if lengths == 0.0 { 0.0 } else { dot(i, j) / lengths }
        };
        let best = pairs().map(|(i, j)| cosine(i, j)).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!((found.cosine.similarity - best).abs() < 1e-5, "{:?} {best}", found.cosine);
        prop_assert!(found.cosine.similarity <= 1.0 + 1e-9);
    }
}
