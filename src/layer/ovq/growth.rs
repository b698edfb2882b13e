//! How many centroids there are after each chunk: a function of the writes seen alone, known before the run.

/// How the dictionary grows towards its capacity N (LAYERS.md, "OVQ"; growth other than `Plateau` is an ablation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// floor(t N / (t + N)): fast at first, never quite N.
    Plateau,
    /// min(t, N): every write founds a row until N are in use.
    Saturating,
    /// floor(t N / T): N at the stream's end.
    Linear,
}

impl Growth {
    /// Rows that should be in use after `seen` of `total` writes, with room for `n_max`.
    #[must_use]
    pub fn target(self, seen: usize, n_max: usize, total: usize) -> usize {
        match self {
            Self::Plateau => (seen * n_max) / (seen + n_max),
            Self::Saturating => seen.min(n_max),
            Self::Linear => ((seen * n_max) / total).min(seen).min(n_max),
        }
    }

    /// Rows in use after each chunk, a leading 0 for the start of the stream: the reference's `sizes`, [chunks + 1].
    ///
    /// A chunk founds at most one row a write, and the first chunk at least one.
    #[must_use]
    pub fn sizes(self, n_max: usize, chunk: usize, total: usize) -> Vec<usize> {
        let mut sizes = vec![0];
        let mut n = 0;
        for lo in (0..total).step_by(chunk) {
            let hi = (lo + chunk).min(total);
            let new = self.target(hi, n_max, total).saturating_sub(n).min(hi - lo);
            n += if n == 0 { new.max(1) } else { new };
            sizes.push(n);
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_formulas() {
        // 100 * 50 / 150 = 33.3, 200 * 50 / 250 = 40, 250 * 50 / 300 = 41.7
        assert_eq!(Growth::Plateau.sizes(50, 100, 250), [0, 33, 40, 41]);
        assert_eq!(Growth::Saturating.sizes(50, 20, 70), [0, 20, 40, 50, 50]);
        assert_eq!(Growth::Linear.sizes(50, 100, 250), [0, 20, 40, 50]);
    }

    #[test]
    fn the_first_chunk_founds_a_row_and_none_founds_more_than_it_has_writes() {
        assert_eq!(Growth::Plateau.sizes(1, 4, 12), [0, 1, 1, 1]);
        assert_eq!(Growth::Linear.sizes(4, 10, 100)[..4], [0, 1, 1, 1]);
        assert_eq!(Growth::Saturating.sizes(16384, 1, 5), [0, 1, 2, 3, 4, 5]);
    }
}
