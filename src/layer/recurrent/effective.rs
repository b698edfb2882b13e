//! Effective attention of the recurrent layers: what each write weighs in a read's output, by the recursion backwards.
//!
//! With u the query, the last write j that is visible adds `b (k.u) v` to the output, and what it left of the state before it
//! answers to `a (u - e b k (k.u))` instead of u; and so on down to the first write. Exact; weights may be negative.

use super::Config;
use crate::layer::Setup;
use crate::layer::effective::{Effective, ReadOf, Store};
use crate::session::hand;

pub(super) fn effective(config: &Config, setup: &Setup, read: ReadOf<'_>) -> Effective {
    let stream = &*setup.stream;
    let head = stream.kv_head_of(read.query_head);
    let after = stream.after()[read.read] as usize;
    let keys = stream.keys_of(head);
    let scale = config.scale(ndarray::aview1(read.query));
    let mut u: Vec<f64> = read.query.iter().map(|&x| f64::from(x) * scale).collect();
    let mut weights = vec![0.0; after];
    // Forgotten before the read's chunk began: the recursion ends there.
    let gone = hand::forgotten(&setup.hands, head, (after.max(1) - 1) / setup.chunk).map_or(0, |step| step * setup.chunk);
    for write in (gone..after).rev() {
        let key = keys.row(write);
        let scale = config.scale(key);
        let (decay, rate) = (config.decay::<f64>(stream, head, write), config.rate::<f64>(stream, head, write));
        let weight = rate * scale * key.iter().zip(&u).map(|(&k, u)| f64::from(k) * u).sum::<f64>();
        weights[write] = weight;
        let taken = if config.rule.erases() { weight * scale } else { 0.0 };
        for (u, &k) in u.iter_mut().zip(key) {
            *u = decay * (*u - taken * f64::from(k));
        }
    }
    let mut stores = vec![Store::State; after];
    stores[..gone].fill(Store::Gone);
    Effective { weights, stores }
}
