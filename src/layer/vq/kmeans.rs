//! Seeded k-means on unit vectors: codes are unit vectors too, and a key belongs to the code with the largest dot product, the
//! rule by which the layer itself chooses. For vectors of length 1 that is the nearest one in Euclidean distance as well.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::layer::ovq::attend::{Nearest, Pool};
use crate::task::random::Draw;

/// Keys that one matrix product takes.
const BLOCK: usize = 128;

/// Codes, and how well they stand for the keys they were fitted on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Codes {
    /// [codes, dk], rows of length 1.
    pub(super) rows: Vec<f32>,
    /// The mean dot product of a key with its code.
    pub(super) similarity: f64,
    /// How often codes were moved: fewer than allowed if nothing changed any more.
    pub(super) iterations: usize,
}

/// Lloyd's iterations from `codes` different keys, drawn with `seed`; `None` once `cancel` is set.
///
/// `keys` is [n, dk] with rows of length 1 (or 0), and n is at least `codes`. The draw is the same on every platform; the
/// products round as the processor's vector instructions do. Equal products: the lower code. A code to which no key belongs is
/// put on the key that is worst off (of equal ones the earlier), a different one for each.
pub(super) fn fit(keys: &[f32], dk: usize, codes: usize, iterations: usize, seed: u64, cancel: &AtomicBool) -> Option<Codes> {
    let n = keys.len() / dk;
    let mut rows: Vec<f32> =
        Draw::apart(seed, "codebook").different(0, n, codes).into_iter().flat_map(|i| &keys[i * dk..(i + 1) * dk]).copied().collect();
    let (mut assignments, mut similarity, mut margin) = (vec![-1_i32; n], vec![0.0_f32; n], vec![0.0_f32; n]);
    let pool = Pool::default();
    let mut done = 0;
    loop {
        let before = assignments.clone();
        let parts = assignments.par_chunks_mut(BLOCK).zip(similarity.par_chunks_mut(BLOCK)).zip(margin.par_chunks_mut(BLOCK));
        parts.zip(keys.par_chunks(BLOCK * dk)).for_each(|(((assignments, similarity), margin), keys)| {
            if !cancel.load(Ordering::Relaxed) {
                let mut scratch = pool.take();
                Nearest { assignments, similarity, margin }.find(keys, dk, &rows, &[], &mut scratch);
                pool.put(scratch);
            }
        });
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        if done == iterations || assignments == before {
            let similarity = similarity.iter().map(|&s| f64::from(s)).sum::<f64>() / n as f64;
            return Some(Codes { rows, similarity, iterations: done });
        }
        step(keys, dk, &mut rows, &assignments, &similarity);
        done += 1;
    }
}

/// Moves every code to the direction of its members' mean.
fn step(keys: &[f32], dk: usize, rows: &mut [f32], assignments: &[i32], similarity: &[f32]) {
    let codes = rows.len() / dk;
    let (mut sums, mut members) = (vec![0.0_f64; rows.len()], vec![0_usize; codes]);
    for (key, &code) in keys.chunks(dk).zip(assignments) {
        let code = code as usize;
        members[code] += 1;
        for (s, &x) in sums[code * dk..(code + 1) * dk].iter_mut().zip(key) {
            *s += f64::from(x);
        }
    }
    let empty: Vec<usize> = (0..codes).filter(|&c| members[c] == 0).collect();
    let mut worst: Vec<usize> = if empty.is_empty() { Vec::new() } else { (0..similarity.len()).collect() };
    worst.sort_unstable_by(|&a, &b| similarity[a].total_cmp(&similarity[b]).then(a.cmp(&b)));
    for (&code, key) in empty.iter().zip(worst) {
        rows[code * dk..(code + 1) * dk].copy_from_slice(&keys[key * dk..(key + 1) * dk]);
    }
    for ((row, sum), _) in rows.chunks_mut(dk).zip(sums.chunks(dk)).zip(&members).filter(|(_, m)| **m > 0) {
        let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Members that cancel each other out have no direction: the code stays where it is.
        if norm > 1e-12 {
            for (r, s) in row.iter_mut().zip(sum) {
                *r = (s / norm) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> AtomicBool {
        AtomicBool::new(false)
    }

    /// Two groups of directions in the plane: whatever the start, the codes are the groups' mean directions.
    #[test]
    fn two_groups_give_their_mean_directions() {
        let angles = [0.1_f32, 0.2, 0.3, 2.0, 2.1, 2.2];
        let keys: Vec<f32> = angles.iter().flat_map(|a| [a.cos(), a.sin()]).collect();
        for seed in 0..20 {
            let codes = fit(&keys, 2, 2, 25, seed, &never()).unwrap();
            let mut found: Vec<f32> = codes.rows.chunks(2).map(|r| r[1].atan2(r[0])).collect();
            found.sort_by(f32::total_cmp);
            assert!((found[0] - 0.2).abs() < 1e-6 && (found[1] - 2.1).abs() < 1e-6, "seed {seed}: {found:?}");
            // Each group: one key on the code, two at 0.1 from it.
            let expected = (1.0 + 2.0 * 0.1_f64.cos()) / 3.0;
            assert!((codes.similarity - expected).abs() < 1e-6 && codes.iterations < 25, "{codes:?}");
        }
    }

    #[test]
    fn as_many_codes_as_keys_are_the_keys() {
        let keys = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
        let codes = fit(&keys, 2, 4, 10, 3, &never()).unwrap();
        assert_eq!((codes.rows, codes.similarity), (keys.to_vec(), 1.0));
    }

    /// More codes than different keys: the codes that are left over stay finite and of length 1.
    #[test]
    fn repeated_keys_leave_no_code_undefined() {
        let keys: Vec<f32> = (0..40).flat_map(|i| if i % 2 == 0 { [1.0, 0.0] } else { [0.0, 1.0] }).collect();
        let codes = fit(&keys, 2, 9, 25, 0, &never()).unwrap();
        assert!(codes.rows.chunks(2).all(|r| r == [1.0, 0.0] || r == [0.0, 1.0]), "{:?}", codes.rows);
        assert!((codes.similarity - 1.0).abs() < 1e-12);
        // Keys that cancel out have no mean direction.
        let codes = fit(&[1.0, 0.0, -1.0, 0.0], 2, 1, 5, 0, &never()).unwrap();
        assert!(codes.rows.iter().all(|x| x.is_finite()) && codes.similarity.abs() < 1e-12);
    }

    #[test]
    fn more_iterations_never_fit_worse_and_a_seed_gives_the_same_codes() {
        let keys: Vec<f32> = Draw::new(1).directions(300, 5).iter().map(|&x| x as f32).collect();
        let quality = |iterations| fit(&keys, 5, 12, iterations, 7, &never()).unwrap().similarity;
        let all: Vec<f64> = (0..8).map(quality).collect();
        assert!(all.windows(2).all(|w| w[1] >= w[0] - 1e-6) && all[7] > all[0] + 0.01, "{all:?}");
        assert_eq!(fit(&keys, 5, 12, 5, 7, &never()), fit(&keys, 5, 12, 5, 7, &never()));
    }

    #[test]
    fn a_fit_that_nobody_wants_ends() {
        assert_eq!(fit(&[1.0; 64], 1, 4, 25, 0, &AtomicBool::new(true)), None);
    }
}
