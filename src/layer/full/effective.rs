//! Effective attention of the softmax layers: their weights by definition, in float64.

use ndarray::{ArrayView1, ArrayView2, s};

use super::visible;
use crate::layer::Setup;
use crate::layer::effective::{Effective, ReadOf, Store};

/// Softmax over the last `window` writes that the read may see, or over all of them; those before the window weigh nothing.
pub(in crate::layer) fn softmax(setup: &Setup, window: Option<usize>, read: ReadOf<'_>) -> Effective {
    let stream = &setup.stream;
    let seen = visible(window, stream.after()[read.read]);
    let head = stream.kv_head_of(read.query_head);
    let mut logits = logits(setup.beta(), read.query, &stream.keys_of(head).slice(s![seen.clone(), ..]));
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for z in &mut logits {
        *z = (*z - top).exp();
    }
    let whole: f64 = logits.iter().sum();
    let gone = seen.start;
    let store = if window.is_some() { Store::Window } else { Store::Whole };
    Effective {
        weights: std::iter::repeat_n(0.0, gone).chain(logits.into_iter().map(|w| w / whole)).collect(),
        stores: std::iter::repeat_n(Store::Gone, gone).chain(std::iter::repeat_n(store, seen.len())).collect(),
    }
}

/// beta q.k of a query [dk] with each of the keys [n, dk], in float64.
pub(in crate::layer) fn logits(beta: f64, query: &[f32], keys: &ArrayView2<'_, f32>) -> Vec<f64> {
    let dot = |key: ArrayView1<'_, f32>| key.iter().zip(query).map(|(&k, &q)| f64::from(k) * f64::from(q)).sum::<f64>();
    keys.rows().into_iter().map(|key| beta * dot(key)).collect()
}
