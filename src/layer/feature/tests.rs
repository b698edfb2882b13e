//! Identities that the feature maps must satisfy, whatever the numbers.

use std::sync::Arc;

use approx::assert_relative_eq;
use ndarray::{Array3, array};

use super::*;
use crate::layer::Arrays;
use crate::param::{Params, Resolved};
use crate::stream::{Labels, Stream, StreamParts, Targets};

const SPECS: &[ParamSpec] = &[
    FMAP,
    SHARPNESS,
    FEATURES,
    PROJECTION,
    SEED,
    ParamSpec { name: "beta", title: "", doc: "", kind: ParamKind::AutoFloat { min: 0.0, max: 1e4, auto: "the stream", log: true } },
];

fn setup(dk: usize, params: &Params, arrays: Arrays) -> Setup {
    let stream = Stream::new(StreamParts {
        keys: Array3::from_elem((2, 3, dk), 0.5),
        values: Array3::ones((2, 3, 2)),
        queries: Array3::ones((4, 3, dk)),
        after: vec![1, 2, 3],
        beta: 2.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    Setup {
        stream: Arc::new(stream),
        params: Resolved::new("linear", SPECS, params).unwrap(),
        arrays: Arc::new(arrays),
        chunk: 1,
        hands: Arc::default(),
    }
}

fn map(name: &str, dk: usize) -> FeatureMap<f64> {
    FeatureMap::new("linear", &setup(dk, &Params::default().with("fmap", name), Arrays::new())).unwrap()
}

#[test]
fn taylor2_expands_the_exponential_to_second_order() {
    let m = map("taylor2", 3);
    let (q, k) = (array![[0.3, -0.2, 0.5]], array![[-0.4, 0.1, 0.9]]);
    let z = 2.0 * (q.row(0).dot(&k.row(0)));
    assert_eq!(m.dim(), 13);
    assert_relative_eq!(m.queries(0, &q.view()).row(0).dot(&m.keys(0, &k.view()).row(0)), 1.0 + z + z * z / 2.0, max_relative = 1e-14);
}

#[test]
fn favor_is_right_on_average() {
    let params = Params::default().with("fmap", "favor").with("features", 4096).with("beta", 1.0);
    let m = FeatureMap::<f64>::new("linear", &setup(2, &params, Arrays::new())).unwrap();
    let (q, k) = (array![[0.6, 0.8]], array![[0.8, -0.6]]);
    // q.k = 0, so the mean is 1. A term's standard deviation is sqrt(e^2 - 1) = 2.5, the mean's 0.04: five of them.
    assert_relative_eq!(m.queries(0, &q.view()).row(0).dot(&m.keys(0, &k.view()).row(0)), 1.0, epsilon = 0.2);
}

/// A task and a layer on it have the same seed, unless told otherwise: FAVOR+'s directions must have nothing to do with the keys.
#[test]
fn favors_directions_are_none_of_a_tasks_keys() {
    for task in crate::task::TASKS {
        let short = task.params().iter().any(|p| p.name == "T");
        let params = if short { Params::default().with("T", 600) } else { Params::default() };
        let resolved = Resolved::new(task.name(), task.params(), &params).unwrap();
        for seed in [0, 3] {
            let stream = Arc::new(task.generate(&resolved, seed).unwrap());
            let keys = stream.keys_of(0).to_owned();
            for (projection, features) in [("orthogonal", 192), ("gaussian", 384)] {
                let drawn = Params::default().with("fmap", "favor").with("projection", projection).with("features", features);
                let params = Resolved::new("linear", SPECS, &drawn.with("seed", seed as i64)).unwrap();
                let setup = Setup { stream: Arc::clone(&stream), params, arrays: Arc::default(), chunk: 1, hands: Arc::default() };
                let mut rows = super::projection("linear", &setup).unwrap();
                for mut row in rows.rows_mut() {
                    let norm = row.dot(&row).sqrt();
                    row /= norm;
                }
                // Keys of length 1 of 62 or 64 numbers: an independent cosine has a standard deviation of 1/8, and six of them
                // come once in 10^9 draws.
                let nearest = rows.dot(&keys.t()).iter().fold(0.0_f32, |m, x| m.max(x.abs()));
                assert!(nearest < 0.75, "{} with seed {seed}, {projection}: {nearest}", task.name());
            }
        }
    }
}

#[test]
fn hedgehog_halves_are_distributions_and_survive_large_logits() {
    let params = Params::default().with("fmap", "hedgehog").with("sharpness", 1000.0);
    let m = FeatureMap::<f32>::new("linear", &setup(2, &params, Arrays::new())).unwrap();
    assert_eq!(m.keys(0, &array![[3.0, -3.0]].view()), array![[1.0, 0.0, 0.0, 1.0]]);
}

#[test]
fn elu1_and_relu_meet_their_definitions() {
    let x = array![[2.0, 0.0, -1.0]];
    assert_eq!(map("elu1", 3).keys(0, &x.view()), array![[3.0, 1.0, (-1.0_f64).exp()]]);
    assert_eq!(map("relu", 3).keys(0, &x.view()), array![[2.0, 0.0, 0.0]]);
}

#[test]
fn weights_are_taken_by_head() {
    let mut arrays = Arrays::new();
    arrays.insert("weights_k".to_owned(), Array3::from_shape_fn((2, 2, 3), |(h, i, j)| (h * 6 + i * 3 + j) as f32).into_dyn());
    arrays.insert("weights_q".to_owned(), Array3::from_shape_fn((1, 2, 3), |(_, i, j)| (i + j) as f32).into_dyn());
    let params = Params::default().with("fmap", "hedgehog");
    let m = FeatureMap::<f64>::new("linear", &setup(2, &params, arrays.clone())).unwrap();
    assert_eq!(m.dim(), 6);
    // Head 1 of the keys: x W = [6 + 9, 7 + 10, 8 + 11]; its softmax has ratios e^2.
    let phi = m.keys(1, &array![[1.0, 1.0]].view());
    assert_relative_eq!(phi[[0, 1]] / phi[[0, 0]], 2.0_f64.exp(), max_relative = 1e-12);
    // Queries share one: x W = [1, 3, 5] on every head.
    assert_eq!(m.queries(3, &array![[1.0, 1.0]].view()), m.queries(0, &array![[1.0, 1.0]].view()));
    arrays.remove("weights_q");
    let error = FeatureMap::<f64>::new("linear", &setup(2, &params, arrays)).unwrap_err();
    assert_eq!(error.to_string(), "linear needs the array `weights_q` of shape [heads or 1, dk, d], but it is missing");
}

#[test]
fn the_default_projection_follows_its_seed() {
    let draw =
        |seed: i64| projection("linear", &setup(4, &Params::default().with("fmap", "favor").with("seed", seed), Arrays::new())).unwrap();
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    assert_eq!(draw(7).dim(), (128, 4));
}
