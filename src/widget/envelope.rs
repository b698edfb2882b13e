//! The largest and the smallest of any stretch of a long row of numbers, found without looking at all of them: what a picture
//! needs that has fewer pixels than there are numbers and must lose no extreme.

use std::ops::Range;

/// Blocks of a level are this many times as long as those of the level below.
const STEP: usize = 16;

/// A row of numbers with where the extremes of its blocks are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Envelope {
    values: Vec<f64>,
    /// By level, of blocks of 16, 256, .. numbers: where the largest and the smallest of each block are.
    levels: Vec<Vec<(u32, u32)>>,
}

impl Envelope {
    /// Finds the extremes of all blocks.
    #[must_use]
    pub fn new(values: Vec<f64>) -> Self {
        let mut new = Self { values, levels: Vec::new() };
        let mut size = STEP;
        while size < new.values.len() {
            let blocks = new.values.len().div_ceil(size);
            let level = (0..blocks).filter_map(|b| new.extremes(b * size..((b + 1) * size).min(new.values.len())));
            let level = level.map(|(max, min)| (max as u32, min as u32)).collect();
            new.levels.push(level);
            size *= STEP;
        }
        new
    }

    /// The numbers.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Where the largest and the smallest number of `range` are; of equal ones the first. `None` for no numbers.
    #[must_use]
    pub fn extremes(&self, range: Range<usize>) -> Option<(usize, usize)> {
        let end = range.end.min(self.values.len());
        let mut at = range.start;
        let mut found: Option<(usize, usize)> = None;
        while at < end {
            let (mut size, mut max, mut min) = (1, at, at);
            let mut block = STEP;
            for level in &self.levels {
                // The last block of a level may be shorter, and is whole if all of it lies within.
                let whole = at.is_multiple_of(block) && (at + block).min(self.values.len()) <= end;
                let Some((a, b)) = level.get(at / block).filter(|_| whole) else { break };
                (size, max, min) = (block, *a as usize, *b as usize);
                block *= STEP;
            }
            let (most, least) = found.unwrap_or((max, min));
            let better = |new: usize, old: usize, sign: f64| if self.values[new] * sign > self.values[old] * sign { new } else { old };
            found = Some((better(max, most, 1.0), better(min, least, -1.0)));
            at += size;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_number_in_a_hundred_thousand_is_found_at_once() {
        let mut values = vec![0.0; 100_000];
        (values[54_321], values[12_345]) = (1.0, -1.0);
        let envelope = Envelope::new(values);
        assert_eq!(envelope.extremes(0..100_000), Some((54_321, 12_345)));
        assert_eq!(envelope.extremes(54_322..100_000), Some((54_322, 54_322)), "equal ones: the first");
        assert_eq!((envelope.extremes(5..5), Envelope::default().extremes(0..9)), (None, None));
    }

    proptest! {
        /// The same as looking at every number.
        #[test]
        fn extremes_are_those_of_all_numbers(values in proptest::collection::vec(-5_i32..5, 1..900), a in 0_usize..900, b in 0_usize..900) {
            let (a, b) = (a.min(b).min(values.len()), a.max(b).min(values.len()));
            let reals: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
            let first = |best: Option<i32>| best.and_then(|best| (a..b).find(|&i| values[i] == best));
            let part = &values[a..b];
            let expected = first(part.iter().copied().max()).zip(first(part.iter().copied().min()));
            prop_assert_eq!(Envelope::new(reals).extremes(a..b), expected);
        }
    }
}
