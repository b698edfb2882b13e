//! A linear state that is forgotten: linear attention and the recurrent layers.

use super::*;
use crate::stream::{Shape, random};

const SHAPE: Shape = Shape { kv_heads: 2, group: 2, writes: 90, reads: 40, dk: 6, dv: 5, seed: 11 };
const CHUNK: usize = 8;

/// The first write that is still in the state of a head for a read that sees `after` writes.
fn since(hands: &[Hand], head: usize, after: usize) -> usize {
    let chunk = (after - 1) / CHUNK;
    hands.iter().filter(|h| h.kv_head == head && h.step <= chunk).map(|h| h.step * CHUNK).max().unwrap_or(0)
}

fn row(array: &ndarray::Array3<f32>, head: usize, at: usize) -> Vec<f64> {
    array.slice(ndarray::s![head, at, ..]).iter().map(|&x| f64::from(x)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// What reads of `s` get, each from the writes from `since` on, by `answer(keys, values, query)`.
fn expected(s: &Stream, hands: &[Hand], answer: impl Fn(&[Vec<f64>], &[Vec<f64>], &[f64]) -> Vec<f64>) -> Vec<Vec<Vec<f64>>> {
    let of_read = |query_head: usize, read: usize| {
        let (head, after) = (s.kv_head_of(query_head), s.after()[read] as usize);
        let writes = since(hands, head, after)..after;
        let keys: Vec<_> = writes.clone().map(|w| row(s.keys(), head, w)).collect();
        let values: Vec<_> = writes.map(|w| row(s.values(), head, w)).collect();
        answer(&keys, &values, &row(s.queries(), query_head, read))
    };
    (0..s.query_heads()).map(|h| (0..s.reads()).map(|r| of_read(h, r)).collect()).collect()
}

fn elu1(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| if x > 0.0 { x + 1.0 } else { x.exp() }).collect()
}

fn unit(x: &[f64]) -> Vec<f64> {
    let norm = dot(x, x).sqrt().max(1e-12);
    x.iter().map(|x| x / norm).collect()
}

const HANDS: [Hand; 3] = [hand(3, 0, Act::Forget), hand(7, 0, Act::Forget), hand(5, 1, Act::Forget)];

#[test]
fn linear_attention_goes_on_from_nothing() {
    let stream = Arc::new(random(SHAPE, 0.4));
    let setup = setup("linear", &stream, &Params::default().with("fmap", "elu1"), CHUNK, &HANDS);
    let answer = |keys: &[Vec<f64>], values: &[Vec<f64>], query: &[f64]| {
        let weights: Vec<f64> = keys.iter().map(|k| dot(&elu1(k), &elu1(query))).collect();
        let whole = weights.iter().sum::<f64>() + 1e-6;
        (0..SHAPE.dv).map(|j| weights.iter().zip(values).map(|(w, v)| w * v[j]).sum::<f64>() / whole).collect()
    };
    same_outputs(&hold(kind("linear"), &setup), &expected(&stream, &HANDS, answer));
    assert!(expected(&stream, &HANDS, answer) != expected(&stream, &[], answer));
}

#[test]
fn the_recurrent_layers_go_on_from_nothing() {
    let stream = Arc::new(random(SHAPE, 0.4));
    for (name, decay, rate, erases) in [("deltanet", 1.0, 0.7, 1.0), ("gated_deltanet", 0.9, 0.7, 1.0), ("mamba2", 0.9, 0.7, 0.0)] {
        let mut params = Params::default().with(if name == "mamba2" { "step" } else { "rate" }, rate);
        if name != "deltanet" {
            params.set("decay", decay);
        }
        let setup = setup(name, &stream, &params, CHUNK, &HANDS);
        let answer = |keys: &[Vec<f64>], values: &[Vec<f64>], query: &[f64]| {
            let scaled = |x: &[f64]| if erases > 0.0 { unit(x) } else { x.to_vec() };
            let mut s = vec![vec![0.0; SHAPE.dv]; SHAPE.dk];
            for (key, value) in keys.iter().zip(values) {
                let key = scaled(key);
                s.iter_mut().flatten().for_each(|x| *x *= decay);
                for j in 0..SHAPE.dv {
                    let was: f64 = (0..SHAPE.dk).map(|i| s[i][j] * key[i]).sum();
                    (0..SHAPE.dk).for_each(|i| s[i][j] += rate * key[i] * (value[j] - erases * was));
                }
            }
            let query = scaled(query);
            (0..SHAPE.dv).map(|j| (0..SHAPE.dk).map(|i| s[i][j] * query[i]).sum()).collect()
        };
        let trace = hold(kind(name), &setup);
        same_outputs(&trace, &expected(&stream, &HANDS, answer));
        // The state after three chunks is the one with the hand in it.
        let norm = trace.channel("state_norm").unwrap();
        assert_eq!((norm.values(0).get(2), norm.values(0).get(6), norm.values(1).get(4)), (Some(0.0), Some(0.0), Some(0.0)));
        assert!(norm.values(0).get(3).unwrap() > 0.1 && norm.values(1).get(2).unwrap() > 0.1);
    }
}
