//! What every token weighs in a read of OVQ: its centroid's softmax weight, times its share of the centroid's value; the newest
//! chunk's own pairs weigh what the softmax gives them.
//!
//! The dictionary is computed anew, in float64, from where the trace says that the writes went: no state is needed.

use std::ops::Range;

use super::state::rows_of;
use super::{Config, Counting};
use crate::layer::Setup;
use crate::layer::effective::{Effective, ReadOf, Store};
use crate::session::hand::{self, Act};
use crate::trace::LaneTrace;

/// A dictionary after some chunks. A row that a hand has deleted is in it as if it had not.
struct Dictionary {
    /// [n, dk].
    keys: Vec<f64>,
    counts: Vec<u32>,
}

/// See the module's page.
pub(super) fn effective(setup: &Setup, config: &Config, trace: &LaneTrace, read: ReadOf<'_>) -> Option<Effective> {
    let stream = &setup.stream;
    let after = *stream.after().get(read.read)? as usize;
    let kv = stream.kv_head_of(read.query_head);
    // The read's own chunk begins with the last multiple of C below `after`.
    let step = after.checked_sub(1)? / config.chunk;
    let start = step * config.chunk;
    let rows = trace.channel("assignments")?.wholes(kv).get(..start)?;
    if read.query.len() != stream.key_dim() {
        return None;
    }
    let dictionary = Dictionary::new(setup, config, kv, rows);
    let query: Vec<f64> = read.query.iter().map(|&x| f64::from(x)).collect();
    let product = |key: &mut dyn Iterator<Item = f64>| config.beta * query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>();
    let dk = stream.key_dim();
    let bias = |count: u32| if config.count_bias { f64::from(count).ln() } else { 0.0 };
    let mut logits: Vec<f64> =
        dictionary.keys.chunks(dk).zip(&dictionary.counts).map(|(k, &c)| product(&mut k.iter().copied()) + bias(c)).collect();
    let dead = hand::dead_rows(&setup.hands, kv, step);
    dead.iter().for_each(|&row| logits[row] = f64::NEG_INFINITY);
    let own = rows_of(stream.keys(), kv, start..after);
    logits.extend(own.chunks(dk).map(|k| product(&mut k.iter().map(|&x| f64::from(x)))));
    softmax(&mut logits);
    let (centroids, chunk) = logits.split_at(dictionary.counts.len());
    let mut weights: Vec<f64> =
        shares(config, rows, &dictionary.counts).iter().zip(rows).map(|(s, &row)| s * centroids[row as usize]).collect();
    weights.extend_from_slice(chunk);
    let mut stores = vec![Store::Centroid; start];
    stores.resize(after, Store::Chunk);
    let of_dead = |write: &usize| dead.binary_search(&(rows[*write] as usize)).is_ok();
    (0..start).filter(|w| !dead.is_empty() && of_dead(w)).for_each(|w| stores[w] = Store::Gone);
    Some(Effective { weights, stores })
}

/// Replaces logits by their softmax.
pub(in crate::layer) fn softmax(logits: &mut [f64]) {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for x in logits.iter_mut() {
        *x = (*x - max).exp();
        sum += *x;
    }
    for x in logits.iter_mut() {
        *x /= sum;
    }
}

/// The chunks of the first `writes` writes, all of them whole or the stream's last.
fn chunks(writes: usize, chunk: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    (0..writes.div_ceil(chunk)).map(move |i| i * chunk..((i + 1) * chunk).min(writes))
}

impl Dictionary {
    /// Stage 3, chunk by chunk, for writes that went to the rows `rows`.
    fn new(setup: &Setup, config: &Config, kv: usize, rows: &[i32]) -> Self {
        let dk = setup.stream.key_dim();
        let n = rows.iter().max().map_or(0, |&r| r as usize + 1);
        let (mut keys, mut counts) = (vec![0.0; n * dk], vec![0_u32; n]);
        let (mut sums, mut members) = (vec![0.0; n * dk], vec![0_u32; n]);
        let mut touched = Vec::new();
        let moved = config.hands.iter().any(|h| h.kv_head == kv && matches!(h.what, Act::Move { .. }));
        if config.constant_rate.is_none() && config.counting == Counting::Exact && !config.normalise_centroids && !moved {
            // Whatever the chunks: the mean of all members.
            for (&row, key) in rows.iter().zip(rows_of(setup.stream.keys(), kv, 0..rows.len()).chunks(dk)) {
                let row = row as usize;
                counts[row] += 1;
                for (k, &x) in keys[row * dk..(row + 1) * dk].iter_mut().zip(key) {
                    *k += f64::from(x);
                }
            }
            for (key, &count) in keys.chunks_mut(dk).zip(&counts) {
                for k in key {
                    *k /= f64::from(count);
                }
            }
            return Self { keys, counts };
        }
        for (index, chunk) in chunks(rows.len(), config.chunk).enumerate() {
            for (&row, key) in rows[chunk.clone()].iter().zip(rows_of(setup.stream.keys(), kv, chunk).chunks(dk)) {
                let row = row as usize;
                if members[row] == 0 {
                    touched.push(row);
                }
                members[row] += 1;
                for (s, &x) in sums[row * dk..(row + 1) * dk].iter_mut().zip(key) {
                    *s += f64::from(x);
                }
            }
            for row in touched.drain(..) {
                let m = std::mem::take(&mut members[row]);
                counts[row] = config.counting.add(counts[row], m);
                let rate = rate(config, m, counts[row]);
                let (key, sum) = (&mut keys[row * dk..(row + 1) * dk], &mut sums[row * dk..(row + 1) * dk]);
                for (k, s) in key.iter_mut().zip(sum) {
                    *k += rate * (*s / f64::from(m) - *k);
                    *s = 0.0;
                }
                if config.normalise_centroids {
                    let norm = key.iter().map(|k| k * k).sum::<f64>().sqrt().max(1e-12);
                    for k in key {
                        *k /= norm;
                    }
                }
            }
            for hand in hand::at_step(&config.hands, index + 1).iter().filter(|h| h.kv_head == kv) {
                if let Act::Move { row, to } = hand.what {
                    let key = rows_of(setup.stream.keys(), kv, to..to + 1);
                    keys[row * dk..(row + 1) * dk].iter_mut().zip(key).for_each(|(d, &k)| *d = f64::from(k));
                }
            }
        }
        Self { keys, counts }
    }
}

/// How far a row goes to the mean of `members` of a chunk that make its count `count`.
fn rate(config: &Config, members: u32, count: u32) -> f64 {
    match config.constant_rate {
        Some(rate) if count != members => rate,
        _ => f64::from(members) / f64::from(count),
    }
}

/// What part of its row's value each write is `[writes]`: at the adaptive rate 1 / count, at another one what later chunks
/// have left of it.
fn shares(config: &Config, rows: &[i32], counts: &[u32]) -> Vec<f64> {
    let mut shares = vec![0.0; rows.len()];
    if config.constant_rate.is_none() && config.counting == Counting::Exact {
        for (share, &row) in shares.iter_mut().zip(rows) {
            *share = 1.0 / f64::from(counts[row as usize]);
        }
        return shares;
    }
    // Forwards: what each write is of its row's value when its chunk has entered.
    let (mut counts, mut members, mut each) = (vec![0_u32; counts.len()], vec![0_u32; counts.len()], vec![0.0; counts.len()]);
    for chunk in chunks(rows.len(), config.chunk) {
        let of_chunk = &rows[chunk.clone()];
        of_chunk.iter().for_each(|&row| members[row as usize] += 1);
        for (share, &row) in shares[chunk].iter_mut().zip(of_chunk) {
            let row = row as usize;
            let m = std::mem::take(&mut members[row]);
            if m > 0 {
                counts[row] = config.counting.add(counts[row], m);
                each[row] = rate(config, m, counts[row]) / f64::from(m);
            }
            *share = each[row];
        }
    }
    // Backwards: what the chunks after it have left of that.
    let (mut left, mut taken) = (vec![1.0; counts.len()], vec![0.0; counts.len()]);
    for chunk in chunks(rows.len(), config.chunk).rev() {
        let of_chunk = &rows[chunk.clone()];
        for (share, &row) in shares[chunk].iter_mut().zip(of_chunk) {
            taken[row as usize] += *share;
            *share *= left[row as usize];
        }
        for &row in of_chunk {
            left[row as usize] *= 1.0 - std::mem::take(&mut taken[row as usize]);
        }
    }
    shares
}
