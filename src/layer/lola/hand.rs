//! What hands do to `LoLA`: its state changed at a moment, and pairs that stay in the cache from there on.
//!
//! A pair that is evicted leaves an empty place in the cache until the next update: the sizes in [`super::config::Step`] are then those
//! of places, of which a few are empty. A state's array `cached` has -1 there.

use ndarray::Array2;

use super::NAME;
use super::trace::channel;
use crate::layer::feature::FeatureMap;
use crate::layer::handed::{add_last, clear, insert_last};
use crate::layer::real::Real;
use crate::layer::{LayerError, Setup, Snapshot};
use crate::session::hand::{Act, Hand};
use crate::trace::{TraceBlock, Values};

/// The id of an empty place.
pub(super) const EMPTY: i32 = -1;

/// Checks a hand against the layer's limits.
pub(super) fn check(setup: &Setup, hand: &Hand) -> Result<(), String> {
    let cache = setup.params.size("cache");
    match hand.what {
        Act::Evict { .. } | Act::Keep { .. } if cache == 0 => Err("there is no cache: `cache` is 0".to_owned()),
        Act::Keep { .. } => {
            // Together with those of the session: the same write twice is one place.
            let of_head = setup.hands.iter().chain([hand]).filter(|h| h.kv_head == hand.kv_head);
            let mut kept: Vec<usize> = of_head.filter_map(|h| if let Act::Keep { write } = h.what { Some(write) } else { None }).collect();
            kept.sort_unstable();
            kept.dedup();
            if kept.len() <= cache { Ok(()) } else { Err(format!("{} tokens kept by hand, but the cache has {cache} places", kept.len())) }
        }
        Act::Evict { .. } | Act::Forget => Ok(()),
        Act::Move { .. } | Act::Delete { .. } => Err("LoLA has no dictionary".to_owned()),
    }
}

/// For each write [heads, T] whether it is kept in the updates from number `update` on; nothing where no hand keeps any.
pub(super) fn kept(setup: &Setup, update: usize) -> Vec<u32> {
    if !setup.hands.iter().any(|h| matches!(h.what, Act::Keep { .. })) {
        return Vec::new();
    }
    let (heads, writes) = (setup.stream.kv_heads(), setup.stream.writes());
    let mut flags = vec![0; heads * writes];
    for hand in setup.hands.iter().filter(|h| h.step <= update) {
        if let Act::Keep { write } = hand.what {
            flags[hand.kv_head * writes + write] = 1;
        }
    }
    flags
}

/// Changes a state as a hand says, and the events of the update before it.
pub(super) fn lay(setup: &Setup, hand: &Hand, state: &mut Snapshot, written: &mut TraceBlock) -> Result<(), LayerError> {
    match hand.what {
        Act::Forget => {
            clear(state, "state", hand.kv_head);
            clear(state, "normaliser", hand.kv_head);
        }
        Act::Evict { write } => {
            if empty(hand.kv_head, write, state) {
                let double = matches!(state.array("state").map(|a| &a.values), Some(Values::F64(_)));
                if double {
                    fold::<f64>(setup, hand.kv_head, write, state)?;
                } else {
                    fold::<f32>(setup, hand.kv_head, write, state)?;
                }
                insert_last(written, channel::DISPLACED, hand.kv_head, write as i32);
                insert_last(written, channel::EVICTED, hand.kv_head, write as i32);
                add_last(written, channel::CACHED_COUNT, hand.kv_head, -1);
            }
        }
        Act::Keep { .. } | Act::Move { .. } | Act::Delete { .. } => {}
    }
    Ok(())
}

/// Empties the place of a write in the cache; false if it has none.
fn empty(kv_head: usize, write: usize, state: &mut Snapshot) -> bool {
    let Some(cached) = state.arrays.iter_mut().find(|a| a.name == "cached") else { return false };
    let places = cached.shape[1];
    let Values::I32(ids) = &mut cached.values else { return false };
    let Some(place) = ids[kv_head * places..(kv_head + 1) * places].iter().position(|id| *id == write as i32) else { return false };
    ids[kv_head * places + place] = EMPTY;
    // What it received of the reads' attention goes with it.
    if let Some(received) = state.arrays.iter_mut().find(|a| a.name == "received") {
        let at = kv_head * received.shape[1] + place;
        match &mut received.values {
            Values::F32(v) => v[at] = 0.0,
            Values::F64(v) => v[at] = 0.0,
            Values::I32(_) => {}
        }
    }
    true
}

/// H += phi(k) v^T and s += phi(k).
fn fold<R: Real>(setup: &Setup, kv_head: usize, write: usize, state: &mut Snapshot) -> Result<(), LayerError> {
    let stream = &setup.stream;
    let key = stream.keys_of(kv_head);
    let key = Array2::from_shape_fn((1, stream.key_dim()), |(_, i)| R::from_f32(key[[write, i]]));
    let phi = FeatureMap::<R>::new(NAME, setup)?.keys(kv_head, &key.view());
    let (d, dv) = (phi.ncols(), stream.value_dim());
    let add = |name: &'static str, state: &mut Snapshot, each: usize, what: &dyn Fn(usize) -> R| {
        let missing = || LayerError::Restore(format!("`{name}` is missing"));
        let array = state.arrays.iter_mut().find(|a| a.name == name).ok_or_else(missing)?;
        let mut numbers = R::of_values(&array.values).ok_or_else(missing)?.to_vec();
        for (i, x) in numbers[kv_head * each..(kv_head + 1) * each].iter_mut().enumerate() {
            *x = *x + what(i);
        }
        array.values = R::values(numbers);
        Ok::<(), LayerError>(())
    };
    let value = |i: usize| R::from_f32(stream.values()[[kv_head, write, i]]);
    add("state", state, d * dv, &|i| phi[[0, i / dv]] * value(i % dv))?;
    add("normaliser", state, d, &|i| phi[[0, i]])
}
