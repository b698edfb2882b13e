//! How alike the features of chosen tokens are: which tokens, and their Gram matrix. No drawing.

use ndarray::{Array2, ArrayView2, Axis};

use crate::layer::Setup;
use crate::layer::feature::{FeatureMap, Map};
use crate::stream::Stream;

/// Tokens in a picture, at most.
pub const MOST: usize = 64;
/// Multiply-adds of the search for near keys in one frame, about.
const PORTION: usize = 1_000_000;

/// The Gram matrix of phi(k) of some tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Gram {
    /// The tokens, in the order of rows and columns.
    pub tokens: Vec<usize>,
    /// `phi(k_i).phi(k_j)` [n, n].
    pub raw: Array2<f64>,
}

impl Gram {
    /// Of tokens of a key/value head of a lane's stream. Without a feature map phi(k) = k, or k / |k| where `unit`.
    #[must_use]
    pub fn of(setup: &Setup, map: Option<&FeatureMap<f64>>, unit: bool, head: usize, tokens: Vec<usize>) -> Self {
        let keys = setup.stream.keys_of(head).select(Axis(0), &tokens).mapv(f64::from);
        let raw = match map {
            // The dk^2 features are never made: their product is a polynomial of the keys'.
            Some(map) if map.map() == Map::Taylor2 => {
                let beta = setup.beta();
                keys.dot(&keys.t()).mapv(|x| {
                    let z = beta * x;
                    1.0 + z + 0.5 * z * z
                })
            }
            Some(map) => {
                let features = map.keys(head, &keys.view());
                features.dot(&features.t())
            }
            None if unit => cosines(keys.dot(&keys.t()).view()),
            None => keys.dot(&keys.t()),
        };
        Self { tokens, raw }
    }

    /// `G_ij` / `sqrt(G_ii` `G_jj`) [n, n]; 0 where one of the two is of length 0.
    #[must_use]
    pub fn cosines(&self) -> Array2<f64> {
        cosines(self.raw.view())
    }
}

fn cosines(gram: ArrayView2<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn(gram.dim(), |(i, j)| {
        let lengths = (gram[[i, i]] * gram[[j, j]]).sqrt();
        if lengths > 0.0 { gram[[i, j]] / lengths } else { 0.0 }
    })
}

/// The mean off the diagonal, and the largest with its place; `None` for less than two tokens.
#[must_use]
pub fn off_diagonal(matrix: &Array2<f64>) -> Option<(f64, f64, [usize; 2])> {
    let n = matrix.nrows();
    let (mut sum, mut most, mut at) = (0.0, f64::NEG_INFINITY, [0, 0]);
    for i in 0..n {
        for j in 0..i {
            sum += matrix[[i, j]];
            if matrix[[i, j]] > most {
                (most, at) = (matrix[[i, j]], [j, i]);
            }
        }
    }
    (n > 1).then(|| (sum / (n * (n - 1) / 2) as f64, most, at))
}

/// The places off the diagonal of a symmetric matrix, each once as row < column, with their numbers: those furthest from zero first, at most
/// `most`. What is no number comes first of all.
#[must_use]
pub fn furthest(matrix: &Array2<f64>, most: usize) -> Vec<([usize; 2], f64)> {
    let n = matrix.nrows();
    let mut all: Vec<_> = (0..n).flat_map(|i| (i + 1..n).map(move |j| [i, j])).map(|at| (at, matrix[at])).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    all.truncate(most);
    all
}

/// At most `most` of a list, evenly, its ends among them.
#[must_use]
pub fn thinned(list: &[usize], most: usize) -> Vec<usize> {
    if list.len() <= most {
        return list.to_vec();
    }
    (0..most).map(|i| list[i * (list.len() - 1) / (most - 1).max(1)]).collect()
}

/// The keys nearest to those of some tokens, among the writes before the playhead: searched a little each frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Near {
    tokens: Vec<usize>,
    /// One over the length of each token's key.
    scales: Vec<f32>,
    /// By token: the nearest others so far with their cosines, the nearest first.
    best: Vec<Vec<(f32, usize)>>,
    each: usize,
    done: usize,
}

impl Near {
    /// Nothing searched yet. `each` is how many are kept for each token.
    #[must_use]
    pub fn new(stream: &Stream, head: usize, tokens: &[usize], each: usize) -> Self {
        let keys = stream.keys_of(head);
        let scales = tokens.iter().map(|&t| scale(keys.row(t).dot(&keys.row(t)))).collect();
        Self { tokens: tokens.to_vec(), scales, best: vec![Vec::new(); tokens.len()], each, done: 0 }
    }

    /// The tokens whose neighbours are sought.
    #[must_use]
    pub fn tokens(&self) -> &[usize] {
        &self.tokens
    }

    /// Writes that have been looked at.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// Searches on among the first `writes` writes; true if there is more to do.
    pub fn extend(&mut self, stream: &Stream, head: usize, writes: usize) -> bool {
        let keys = stream.keys_of(head);
        let portion = PORTION / (self.tokens.len() * stream.key_dim()).max(1) + 1;
        let end = writes.min(self.done + portion);
        for write in self.done..end {
            if self.tokens.binary_search(&write).is_ok() {
                continue;
            }
            let key = keys.row(write);
            let own = scale(key.dot(&key));
            for ((token, scale), best) in self.tokens.iter().zip(&self.scales).zip(&mut self.best) {
                let cosine = key.dot(&keys.row(*token)) * scale * own;
                let place = best.partition_point(|(c, _)| *c >= cosine);
                if place < self.each {
                    best.insert(place, (cosine, write));
                    best.truncate(self.each);
                }
            }
        }
        self.done = self.done.max(end);
        self.done < writes
    }

    /// The tokens and their nearest, in the order of the stream, at most `most`: nearer ones before farther.
    #[must_use]
    pub fn with_tokens(&self, most: usize) -> Vec<usize> {
        let mut all = self.tokens.clone();
        let mut others: Vec<(f32, usize)> = self.best.iter().flatten().copied().collect();
        others.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, write) in others {
            if all.len() < most && !all.contains(&write) {
                all.push(write);
            }
        }
        all.sort_unstable();
        all
    }
}

fn scale(square: f32) -> f32 {
    if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;
    use crate::layer::kind;
    use crate::param::{Params, Resolved};
    use crate::stream::{Labels, StreamParts, Targets};
    use ndarray::{Array3, array};
    use std::sync::Arc;

    fn stream(keys: Vec<[f32; 2]>) -> Stream {
        let n = keys.len();
        let keys = Array3::from_shape_fn((1, n, 2), |(_, i, j)| keys[i][j]);
        let (values, queries) = (Array3::ones((1, n, 1)), Array3::ones((1, n, 2)));
        let after = (1..=n as u32).collect();
        Stream::new(StreamParts { keys, values, queries, after, beta: 2.0, targets: Targets::None, labels: Labels::default() }).unwrap()
    }

    fn setup(layer: &str, params: &Params, stream: Stream) -> Setup {
        let kind = kind(layer).unwrap();
        let params = Resolved::new("x", kind.params(), params).unwrap();
        Setup { stream: Arc::new(stream), params, arrays: Arc::default(), chunk: 2, hands: Arc::default() }
    }

    #[test]
    fn a_gram_matrix_is_the_products_of_features() {
        // elu1 of (1, 0) is (2, 1), of (0, 1) it is (1, 2): products 5, 4, 5.
        let s = setup("linear", &Params::default(), stream(vec![[1.0, 0.0], [9.0, 9.0], [0.0, 1.0]]));
        let map = FeatureMap::<f64>::new("linear", &s).unwrap();
        let g = Gram::of(&s, Some(&map), false, 0, vec![0, 2]);
        assert_eq!(g.raw, array![[5.0, 4.0], [4.0, 5.0]]);
        assert!((g.cosines()[[0, 1]] - 0.8).abs() < 1e-12);
        let (mean, most, at) = off_diagonal(&g.cosines()).unwrap();
        assert!((mean - 0.8).abs() < 1e-12 && (most - 0.8).abs() < 1e-12 && at == [0, 1]);
    }

    #[test]
    fn taylors_closed_form_is_the_product_of_its_features() {
        let s = setup("linear", &Params::default().with("fmap", "taylor2"), stream(vec![[0.3, -0.2], [0.5, 0.7]]));
        let map = FeatureMap::<f64>::new("linear", &s).unwrap();
        let features = map.keys(0, &s.stream.keys_of(0).mapv(f64::from).view());
        let g = Gram::of(&s, Some(&map), false, 0, vec![0, 1]);
        assert!((&g.raw - &features.dot(&features.t())).iter().all(|d| d.abs() < 1e-12));
    }

    #[test]
    fn without_a_map_keys_are_taken_as_they_are_or_at_length_one() {
        let s = setup("deltanet", &Params::default(), stream(vec![[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]]));
        assert_eq!(Gram::of(&s, None, false, 0, vec![0, 1]).raw, array![[25.0, 8.0], [8.0, 4.0]]);
        let unit = Gram::of(&s, None, true, 0, vec![0, 1, 2]);
        assert!((unit.raw[[0, 1]] - 0.8).abs() < 1e-12 && (unit.raw[[0, 0]] - 1.0).abs() < 1e-12);
        assert_eq!(unit.cosines()[[2, 2]], 0.0, "a key of length 0 resembles nothing");
    }

    #[test]
    fn the_nearest_keys_are_found_bit_by_bit_and_only_before_the_playhead() {
        let turn = |degrees: f32| [degrees.to_radians().cos(), degrees.to_radians().sin()];
        let s = stream([0.0, 50.0, 10.0, 90.0, 30.0, 1.0].map(turn).to_vec());
        let mut near = Near::new(&s, 0, &[0, 3], 1);
        while near.extend(&s, 0, 5) {}
        assert_eq!((near.with_tokens(8), near.done()), (vec![0, 1, 2, 3], 5), "10 degrees for 0, 50 for 90");
        near.extend(&s, 0, 6);
        assert_eq!(near.with_tokens(8), [0, 1, 3, 5]);
        assert_eq!(near.with_tokens(3), [0, 3, 5], "the nearest first");
    }

    #[test]
    fn the_furthest_pairs_are_listed_once_and_in_order() {
        let gram = array![[9.0, 0.5, -0.9], [0.5, 9.0, 0.5], [-0.9, 0.5, 9.0]];
        assert_eq!(furthest(&gram, 8), [([0, 2], -0.9), ([0, 1], 0.5), ([1, 2], 0.5)], "by size, then by place; never the diagonal");
        assert_eq!((furthest(&gram, 1).len(), furthest(&array![[1.0]], 8).len()), (1, 0));
        let odd = array![[1.0, f64::NAN, 7.0], [f64::NAN, 1.0, 2.0], [7.0, 2.0, 1.0]];
        assert_eq!(furthest(&odd, 2).iter().map(|p| p.0).collect::<Vec<_>>(), [[0, 1], [0, 2]]);
    }

    #[test]
    fn a_thinned_list_keeps_its_ends() {
        assert_eq!(thinned(&[1, 2, 3], 5), [1, 2, 3]);
        let list: Vec<usize> = (0..1000).collect();
        let thin = thinned(&list, 64);
        assert_eq!((thin.len(), thin[0], thin[63]), (64, 0, 999));
    }
}
