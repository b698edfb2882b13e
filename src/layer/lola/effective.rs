//! Effective attention of a `LoLA` lane: the pairs kept whole by softmax, those folded by their features, over one normaliser.

use ndarray::s;

use super::config::Config;
use super::residency::{Place, Residency};
use crate::layer::Setup;
use crate::layer::effective::{Effective, ReadOf, Store};
use crate::layer::feature::FeatureMap;
use crate::layer::full::effective::logits;
use crate::layer::real::EPSILON;
use crate::trace::LaneTrace;

/// The weight of every write that a read may see. Raw writes, those of the newest chunk among them, are the window's: they have
/// not been chosen for anything yet. `None` before the trace holds the updates that the read's chunk began after.
pub(super) fn of(setup: &Setup, trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
    let (stream, config) = (&setup.stream, Config::new(setup));
    let (head, after) = (stream.kv_head_of(read.query_head), stream.after()[read.read] as usize);
    let chunk = (after - 1) / config.chunk;
    let mut index = Residency::new(config.window, config.chunk, config.writes).with_hands(&setup.hands, head);
    index.extend(trace.channel("admitted")?, trace.channel("displaced")?, head);
    if index.steps() < chunk {
        return None;
    }
    let raw = config.step(chunk).raw.start;
    let stores: Vec<Store> = (0..after)
        .map(|write| match index.at(write, chunk) {
            Place::Cache if write < raw => Store::Cache,
            Place::State if write < raw => Store::State,
            Place::Gone if write < raw => Store::Gone,
            _ => Store::Window,
        })
        .collect();
    let keys = stream.keys_of(head);
    let keys = keys.slice(s![..after, ..]);
    let logits = logits(config.beta, read.query, &keys);
    let whole = |store: &Store| matches!(store, Store::Window | Store::Cache);
    // The largest logit of a pair kept whole, or 0 if that is larger, is taken out of every part, as the layer does.
    let top = logits.iter().zip(&stores).filter(|(_, s)| whole(s)).map(|(z, _)| *z).fold(0.0, f64::max);
    let scale = (-top).exp();
    let linear = Config::linear_weights(setup).ok()?[read.query_head] * scale;
    let mut weights: Vec<f64> = logits.iter().map(|z| (z - top).exp()).collect();
    if stores.contains(&Store::State) {
        let products = FeatureMap::<f64>::new(super::NAME, setup).ok()?.products(read.query_head, read.query, head, &keys);
        let folded = weights.iter_mut().zip(products).zip(&stores).filter(|(_, s)| !whole(s));
        for ((weight, product), _) in folded {
            *weight = linear * product;
        }
    }
    weights.iter_mut().zip(&stores).filter(|(_, s)| **s == Store::Gone).for_each(|(w, _)| *w = 0.0);
    let normaliser = weights.iter().sum::<f64>() + EPSILON * scale;
    for w in &mut weights {
        *w /= normaliser;
    }
    Some(Effective { weights, stores })
}
