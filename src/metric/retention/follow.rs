//! Which tokens a retention map follows.

use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

use crate::stream::Stream;

/// The most tokens that are followed.
pub const MOST_TOKENS: usize = 512;

/// How the tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// All tokens of the marked role (the needle), then others, evenly spread; only those where no role is marked.
    Marked,
    /// Evenly spread over the stream; all of them, where it has no more.
    Even,
    /// Drawn at random by the seed.
    Random,
    /// Those of this role, evenly spread among them.
    Role(u8),
}

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Follow {
    /// How the tokens are chosen.
    pub which: Which,
    /// At most so many, and never more than [`MOST_TOKENS`].
    pub count: usize,
    /// The seed of [`Which::Random`].
    pub seed: u64,
}

impl Default for Follow {
    fn default() -> Self {
        Self { which: Which::Marked, count: 96, seed: 0 }
    }
}

impl Follow {
    /// The tokens of a stream that are followed, ascending.
    #[must_use]
    pub fn tokens(&self, stream: &Stream) -> Vec<usize> {
        let (count, t) = (self.count.clamp(1, MOST_TOKENS), stream.writes());
        let roles = &stream.labels().roles;
        let of_role = |role: u8, there: bool| -> Vec<usize> { (0..t).filter(|&i| (roles.of_write[i] == role) == there).collect() };
        let all = || -> Vec<usize> { (0..t).collect() };
        let mut tokens = match self.which {
            Which::Marked => match roles.marked {
                Some(role) => {
                    let mut tokens = even(&of_role(role, true), count);
                    let rest = count - tokens.len();
                    tokens.extend(even(&of_role(role, false), rest));
                    tokens
                }
                None => even(&all(), count),
            },
            Which::Even => even(&all(), count),
            Which::Random => sample(&mut ChaCha8Rng::seed_from_u64(self.seed), t, count.min(t)).into_vec(),
            Which::Role(role) => even(&of_role(role, true), count),
        };
        tokens.sort_unstable();
        tokens
    }
}

/// `count` of a list, evenly spread, the first among them; all, where there are no more.
fn even(list: &[usize], count: usize) -> Vec<usize> {
    let n = count.min(list.len());
    (0..n).map(|i| list[i * list.len() / n]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_sample_is_spread_and_never_repeats() {
        assert_eq!(even(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 4), [1, 3, 6, 8]);
        assert_eq!(even(&[4, 5], 7), [4, 5]);
        assert!(even(&[], 3).is_empty() && even(&[1], 0).is_empty());
    }
}
