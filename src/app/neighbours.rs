//! The keys nearest to a token's own: which tokens a memory is likely to confuse with it. No drawing.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::session::plan::Plan;
use crate::stream::Stream;

/// How many are shown.
const SHOWN: usize = 3;
/// Numbers in the keys of a head beyond which nothing is searched: it would take longer than a frame.
const MOST_NUMBERS: usize = 8 << 20;

/// A token, or several with one text, whose key is near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// The write; of several with the same text the one that is nearest.
    pub write: usize,
    /// Cosine of its key and the token's own; 0 where one has length 0.
    pub cosine: f32,
    /// Dot product of the keys.
    pub dot: f32,
    /// How many writes have its text.
    pub of_text: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Neighbours {
    /// The nearest, by cosine; tokens with a text count once for all with that text.
    pub nearest: Vec<Neighbour>,
    /// The nearest of those with the token's own text, if there are any.
    pub same_text: Option<Neighbour>,
}

/// Searches the keys of a key/value head for those nearest to the key of `write`; nothing on a stream of too many numbers.
#[must_use]
pub fn search(stream: &Stream, kv_head: usize, write: usize) -> Neighbours {
    if stream.writes() * stream.key_dim() > MOST_NUMBERS || write >= stream.writes() || kv_head >= stream.kv_heads() {
        return Neighbours::default();
    }
    let keys = stream.keys_of(kv_head);
    let own = keys.row(write);
    let length = own.dot(&own).sqrt();
    let texts = stream.labels().tokens.as_ref();
    let mut of_text: BTreeMap<&str, Neighbour> = BTreeMap::new();
    let mut alone = Vec::new();
    for (other, key) in keys.rows().into_iter().enumerate().filter(|(i, _)| *i != write) {
        let (dot, lengths) = (key.dot(&own), length * key.dot(&key).sqrt());
        let found = Neighbour { write: other, cosine: if lengths > 0.0 { dot / lengths } else { 0.0 }, dot, of_text: 1 };
        let Some(texts) = texts else {
            alone.push(found);
            continue;
        };
        let held = of_text.entry(texts[other].as_str()).or_insert(Neighbour { of_text: 0, ..found });
        let n = held.of_text + 1;
        *held = if found.cosine > held.cosine { found } else { *held };
        held.of_text = n;
    }
    let same_text = texts.and_then(|t| of_text.remove(t[write].as_str()));
    let mut nearest: Vec<Neighbour> = if texts.is_some() { of_text.into_values().collect() } else { alone };
    nearest.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.write.cmp(&b.write)));
    nearest.truncate(SHOWN);
    Neighbours { nearest, same_text }
}

/// The last search, kept while the selection stays.
#[derive(Debug, Default)]
pub struct Kept {
    of: Option<(Weak<Plan>, usize, usize)>,
    found: Neighbours,
}

impl Kept {
    /// The neighbours of `write` in the stream of `plan`.
    pub fn of(&mut self, plan: &Arc<Plan>, kv_head: usize, write: usize) -> &Neighbours {
        let same = self.of.as_ref().is_some_and(|(p, h, w)| Weak::as_ptr(p) == Arc::as_ptr(plan) && (*h, *w) == (kv_head, write));
        if !same {
            self.of = Some((Arc::downgrade(plan), kv_head, write));
            self.found = search(&plan.stream, kv_head, write);
        }
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Labels, StreamParts, Targets};
    use ndarray::{Array3, arr2};

    fn stream(tokens: Option<[&str; 6]>) -> Stream {
        // The angles of the keys to the first: 0, 10, 20, 30, 60 and 180 degrees; the fourth is twice as long.
        let angles = [0.0_f32, 10.0, 20.0, 30.0, 60.0, 180.0].map(f32::to_radians);
        let mut keys = arr2(&angles.map(|a| [a.cos(), a.sin()]));
        keys.row_mut(3).mapv_inplace(|x| 2.0 * x);
        let labels = Labels { tokens: tokens.map(|t| t.map(str::to_owned).to_vec()), ..Labels::default() };
        let parts = StreamParts {
            keys: keys.insert_axis(ndarray::Axis(0)),
            values: Array3::zeros((1, 6, 1)),
            queries: Array3::zeros((1, 0, 2)),
            after: Vec::new(),
            beta: 1.0,
            targets: Targets::None,
            labels,
        };
        Stream::new(parts).unwrap()
    }

    #[test]
    fn the_nearest_are_those_at_the_smallest_angle() {
        let found = search(&stream(None), 0, 0);
        assert_eq!(found.nearest.iter().map(|n| n.write).collect::<Vec<_>>(), [1, 2, 3]);
        assert!((found.nearest[2].cosine - 0.75_f32.sqrt()).abs() < 1e-6, "cos 30");
        assert!((found.nearest[2].dot - 2.0 * 0.75_f32.sqrt()).abs() < 1e-6, "twice as long");
        assert_eq!(found.same_text, None);
    }

    #[test]
    fn a_word_said_often_is_one_neighbour_and_the_own_word_is_apart() {
        let found = search(&stream(Some(["sun", "sun", "moon", "moon", "star", "rain"])), 0, 0);
        assert_eq!(found.nearest.iter().map(|n| (n.write, n.of_text)).collect::<Vec<_>>(), [(2, 2), (4, 1), (5, 1)]);
        assert_eq!(found.same_text.map(|n| (n.write, n.of_text)), Some((1, 1)));
        assert!((found.nearest[2].cosine + 1.0).abs() < 1e-6);
    }
}
