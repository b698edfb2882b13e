//! How a dictionary counts: exactly, or as one that keeps its counts in half floats (LAYERS.md, "Traps others fell into").

use half::f16;

use crate::param::Resolved;

/// The kind of number that counts are kept in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Counting {
    /// Whole numbers, or float32, in which every count that a stream can bring about is exact.
    #[default]
    Exact,
    /// Half floats: 11 bits, so that every count up to 2048 is exact and beyond it only every second, from 4096 on every fourth.
    /// What a chunk adds to a row is added in one go and rounded once, to nearest, ties to even; the largest is 65504.
    Half,
}

impl Counting {
    /// As OVQ's parameters say.
    #[must_use]
    pub fn of(params: &Resolved) -> Self {
        if params.choice("counts") == "float16" { Self::Half } else { Self::Exact }
    }

    /// A row's count once `members` more writes have gone to it.
    #[must_use]
    pub fn add(self, count: u32, members: u32) -> u32 {
        match self {
            Self::Exact => count + members,
            Self::Half => half(count + members),
        }
    }

    /// The largest count of a row in a stream of `writes` writes. In half floats that may be more than there are writes: 3 more
    /// than 2048 are 4 more, every time.
    #[must_use]
    pub(super) fn largest(self, writes: usize) -> u32 {
        match self {
            Self::Exact => writes as u32,
            Self::Half => LARGEST,
        }
    }

    /// Adds the writes of one chunk to the counts of their rows; every row must be one of `counts`.
    pub(super) fn add_chunk(self, counts: &mut [i32], rows: &[i32]) {
        if self == Self::Exact {
            rows.iter().for_each(|&row| counts[row as usize] += 1);
            return;
        }
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        for members in sorted.chunk_by(|a, b| a == b) {
            let count = &mut counts[members[0] as usize];
            *count = self.add(count.unsigned_abs(), members.len() as u32) as i32;
        }
    }

    /// The counts of the rows `0..rows` (more, if a write went to a row beyond) after these writes, in chunks of `chunk`. A write
    /// to no row (a negative one) counts nowhere.
    #[must_use]
    pub fn tally(self, assignments: &[i32], rows: usize, chunk: usize) -> Vec<u32> {
        let most = assignments.iter().max().map_or(0, |&row| usize::try_from(row + 1).unwrap_or(0));
        let mut counts = vec![0_i32; rows.max(most)];
        for chunk in assignments.chunks(chunk.max(1)) {
            let own: Vec<i32> = chunk.iter().copied().filter(|&row| row >= 0).collect();
            self.add_chunk(&mut counts, &own);
        }
        counts.into_iter().map(i32::unsigned_abs).collect()
    }
}

/// The largest half float.
const LARGEST: u32 = 65_504;

/// The half float nearest to a whole number, of two the one whose last bit is 0; 65504 for all that is larger, where a
/// computation in half floats would go on with infinity. `shaders/ovq/half.wgsl` is its twin.
#[must_use]
pub fn half(count: u32) -> u32 {
    // A count has fewer than 24 bits, so that float32 holds it exactly.
    let rounded = f16::from_f32(count as f32).to_f32();
    if rounded.is_finite() { rounded as u32 } else { LARGEST }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_count_by_twos_from_2048_and_by_fours_from_4096() {
        assert!((0..=2048).all(|c| half(c) == c));
        // Between two neighbours the one with an even last bit: 2048 = 1024 * 2, 2050 = 1025 * 2, 2052 = 1026 * 2.
        assert_eq!([2049, 2050, 2051, 2052, 2053].map(half), [2048, 2050, 2052, 2052, 2052]);
        assert_eq!([4097, 4098, 4099, 4100, 4102].map(half), [4096, 4096, 4100, 4100, 4104]);
        assert_eq!([8195, 8196, 8197, 65_519, 65_520, 131_072].map(half), [8192, 8192, 8200, 65_504, 65_504, 65_504]);
    }

    #[test]
    fn one_by_one_a_count_stalls_and_by_threes_it_runs_ahead() {
        let grow = |members: u32, times: u32| (0..times).fold(0, |count, _| Counting::Half.add(count, members));
        assert_eq!(grow(1, 5000), 2048);
        // From 4096 on, two more are a tie that goes back down.
        assert_eq!(grow(2, 5000), 4096);
        // 64 more are a multiple of every spacing below 65536.
        assert_eq!(grow(64, 1000), 64_000);
        // Past 2048 (first 2049 -> 2048), 3 more are 4 more: 683 times 3 is 2049.
        assert_eq!(grow(3, 683), 2048);
        assert_eq!(grow(3, 683 + 100), 2048 + 400);
        assert_eq!(Counting::Exact.add(2048, 1), 2049);
    }

    #[test]
    fn a_tally_adds_chunk_by_chunk() {
        let writes: Vec<i32> = (0..4096).map(|i| i % 2).chain([2, -1]).collect();
        assert_eq!(Counting::Exact.tally(&writes, 5, 64), [2048, 2048, 1, 0, 0]);
        let writes = vec![0; 3000];
        assert_eq!(Counting::Half.tally(&writes, 1, 1), [2048]);
        // 46 chunks of 64, then 56: 2944, 3000.
        assert_eq!(Counting::Half.tally(&writes, 1, 64), [3000]);
        assert_eq!(Counting::Half.tally(&[], 2, 64), [0, 0]);
    }
}
