//! Which tokens of a chunk found its new rows (LAYERS.md, "OVQ", stage 2 and the ablations).
//!
//! In the very first chunk the first token founds row 0 whatever the rule, and the others' similarities are to its key. Rows
//! are numbered in the order in which their founders are chosen.

use super::rows::Row;
use crate::param::Resolved;

/// Threads of a workgroup of `farthest`.
pub(super) const THREADS: usize = 256;
/// Iterations of loops that a thread of `farthest` may run in a dispatch, see [`crate::gpu::Gpu::check_loops`].
const LOOPS: usize = 30_000;

/// The rule of the founding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Founding {
    /// The least similar to every centroid of stage 1, in ascending order of that similarity.
    Spread,
    /// Those of the smallest [`priority`] under this seed, in ascending order of it.
    Random(u64),
    /// Greedy k-centre: again and again the one that is least similar to every centroid of stage 1 and every founder so far.
    FarthestPoint,
}

impl Founding {
    pub(super) fn of(params: &Resolved) -> Self {
        match params.choice("founding") {
            "random" => Self::Random(params.int("seed").cast_unsigned()),
            "farthest-point" => Self::FarthestPoint,
            _ => Self::Spread,
        }
    }
}

/// The priority of a write under random founding: a hash of seed, key/value head and write, of 24 bits, so that it is exact
/// in float32. `shaders/ovq/priority.wgsl` is its twin.
pub(super) fn priority(seed: u64, head: usize, write: usize) -> u32 {
    /// The last step of `MurmurHash3` (32 bits).
    fn scramble(mut x: u32) -> u32 {
        x ^= x >> 16;
        x = x.wrapping_mul(0x85eb_ca6b);
        x ^= x >> 13;
        x = x.wrapping_mul(0xc2b2_ae35);
        x ^ (x >> 16)
    }
    let seed = scramble(scramble(seed as u32 ^ 0x9e37_79b9) ^ (seed >> 32) as u32);
    scramble(scramble(seed ^ head as u32) ^ write as u32) >> 8
}

/// Rounds of `farthest` in one dispatch over a chunk of `length` writes of `dk` numbers.
pub(super) fn rounds_each(length: usize, dk: usize) -> usize {
    // Two passes over a thread's writes, one with a product each; the founder's key; the tree of THREADS.
    let own = length.div_ceil(THREADS);
    let round = own * (dk + 2) + dk.div_ceil(THREADS) + THREADS.ilog2() as usize + 1;
    ((LOOPS - own) / round).max(1)
}

/// Puts the founders of a chunk, the first `cut` after the `given` ones at its start, into `order`, and returns the margin of
/// the choice in similarity: how much it takes to change it or its order; infinite where nothing does.
///
/// `similarity` `[tokens]` is to the nearest centroid of stage 1; `keys` is [tokens, dk]. The margin of `Spread` is the gap
/// between the last founder and the first that is none; of `FarthestPoint` the smallest gap between a founder and the runner-up
/// of its round; random founding does not look at similarities, so nothing is close in it.
pub(super) fn choose<R: Row>(rule: Founding, given: usize, cut: usize, similarity: &[R], keys: Keys<'_>, order: &mut Vec<u32>) -> R {
    order.clear();
    order.extend(given as u32..similarity.len() as u32);
    let key = |i: &u32| similarity[*i as usize];
    match rule {
        Founding::Spread => {
            order.sort_unstable_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b)));
            if 0 < cut && cut < order.len() { key(&order[cut]) - key(&order[cut - 1]) } else { R::infinity() }
        }
        Founding::Random(seed) => {
            order.sort_unstable_by_key(|&i| (priority(seed, keys.head, keys.start + i as usize), i));
            R::infinity()
        }
        Founding::FarthestPoint => farthest_point(given, cut, similarity, &keys, order),
    }
}

/// The chunk's keys, and where they are from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys<'a> {
    /// [tokens, dk].
    pub(super) rows: &'a [f32],
    pub(super) dk: usize,
    /// The key/value head.
    pub(super) head: usize,
    /// The chunk's first write.
    pub(super) start: usize,
}

impl Keys<'_> {
    fn product<R: Row>(&self, a: usize, b: usize) -> R {
        let row = |i: usize| &self.rows[i * self.dk..(i + 1) * self.dk];
        row(a).iter().zip(row(b)).map(|(&x, &y)| R::from_f32(x) * R::from_f32(y)).sum()
    }
}

fn farthest_point<R: Row>(given: usize, cut: usize, similarity: &[R], keys: &Keys<'_>, order: &mut Vec<u32>) -> R {
    let mut best = similarity.to_vec();
    let mut left: Vec<u32> = std::mem::take(order);
    debug_assert_eq!(left.len() + given, best.len());
    let mut margin = R::infinity();
    for round in 0..cut.min(left.len()) {
        let (mut at, mut second) = (0, R::infinity());
        for (place, &i) in left.iter().enumerate().skip(1) {
            let (value, lowest) = (best[i as usize], best[left[at] as usize]);
            // `left` stays in the order of the stream: of equal ones the earlier is met first.
            if value < lowest {
                (at, second) = (place, lowest);
            } else if value < second {
                second = value;
            }
        }
        let founder = left.remove(at);
        margin = margin.min(second - best[founder as usize]);
        order.push(founder);
        // Nobody asks for the similarities to the last founder.
        if round + 1 < cut {
            for &i in &left {
                best[i as usize] = best[i as usize].max(keys.product(i as usize, founder as usize));
            }
        }
    }
    margin
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The priorities of a seed never change: sessions depend on them.
    #[test]
    fn priorities_are_pinned_and_spread_evenly() {
        let all: Vec<u32> = (0..40_000).map(|i| priority(5, 1, i)).collect();
        assert!(all.iter().all(|&p| p < 1 << 24));
        // Sixteen bins of 2500, standard deviation 48: chi squared with 15 degrees of freedom is above 44 once in 10 000.
        let mut bins = [0_u32; 16];
        for p in &all {
            bins[(p >> 20) as usize] += 1;
        }
        let chi: f64 = bins.iter().map(|&b| (f64::from(b) - 2500.0).powi(2) / 2500.0).sum();
        assert!(chi < 44.0, "{bins:?}");
        assert_ne!(priority(5, 1, 7), priority(5, 0, 7));
        assert_ne!(priority(5, 1, 7), priority(6, 1, 7));
        assert_ne!(priority(5, 1, 7), priority(5 + (1 << 32), 1, 7));
    }

    /// On a line of directions at 0, 10, .. 90 degrees with a centroid at 0: the farthest is at 90; then the one in the middle,
    /// 40 or 50, equally far from both ends (up to rounding); then 20 or 70, and so on.
    #[test]
    fn farthest_points_halve_the_gaps() {
        let angle = |i: usize| (i as f64 * 10.0).to_radians();
        let keys: Vec<f32> = (0..10).flat_map(|i| [angle(i).cos() as f32, angle(i).sin() as f32]).collect();
        let similarity: Vec<f64> = (0..10).map(|i| angle(i).cos()).collect();
        let keys = Keys { rows: &keys, dk: 2, head: 0, start: 0 };
        let mut order = Vec::new();
        let margin = choose(Founding::FarthestPoint, 1, 2, &similarity, keys, &mut order);
        // Of 40 and 50 degrees: both 40 from the nearer end; float32 decides, and the margin says so.
        assert_eq!(order[0], 9);
        assert!(order[1] == 4 || order[1] == 5);
        assert!(margin < 1e-6);
        let margin = choose(Founding::FarthestPoint, 1, 1, &similarity, keys, &mut order);
        assert!((margin - (80.0_f64.to_radians().cos() - 90.0_f64.to_radians().cos())).abs() < 1e-12);
        // Spread takes neighbours of the farthest; all of them leave no margin.
        choose(Founding::Spread, 1, 3, &similarity, keys, &mut order);
        assert_eq!(order[..3], [9, 8, 7]);
        assert!(choose(Founding::FarthestPoint, 1, 9, &similarity, keys, &mut order).is_finite());
        order.sort_unstable();
        assert_eq!(order, (1..10).collect::<Vec<_>>());
        assert!(choose(Founding::FarthestPoint, 9, 1, &similarity, keys, &mut order).is_infinite());
    }

    /// However large the chunk: the loops of a dispatch stay below what software adapters run to their end.
    #[test]
    fn rounds_keep_loops_short() {
        for (length, dk) in [(1_usize, 1), (64, 64), (1024, 256), (1024, 1)] {
            let own = length.div_ceil(THREADS);
            let each = rounds_each(length, dk);
            assert!(each >= 1 && own + each * (own * (dk + 2) + 10) < 1 << 15, "{length} {dk}: {each}");
        }
    }
}
