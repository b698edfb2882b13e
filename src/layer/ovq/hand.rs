//! What hands do to OVQ's dictionary: a row whose key is moved, and a row that is deleted with its members.
//!
//! A dead row keeps its number: its count is 0, its key and value are zero, it weighs nothing in a read and is nobody's nearest.

use super::sizes;
use super::state::rows_of;
use crate::layer::{LayerError, Setup, Snapshot};
use crate::session::hand::{Act, Hand, dead_rows};
use crate::trace::{TraceBlock, Values};

/// Checks a hand against the layer's limits: the row is in use then, and the last one alive is not deleted.
pub(super) fn check(setup: &Setup, hand: &Hand) -> Result<(), String> {
    let (Act::Move { row, .. } | Act::Delete { row }) = hand.what else {
        return Err("OVQ has a dictionary: its centroids can be moved or deleted".to_owned());
    };
    let in_use = sizes(setup).get(hand.step).copied().unwrap_or(0);
    if row >= in_use {
        return Err(format!("after {} steps there are the rows 0 to {}; {row} is not among them", hand.step, in_use.saturating_sub(1)));
    }
    let hands: Vec<Hand> = setup.hands.iter().copied().chain([*hand]).collect();
    let dead = dead_rows(&hands, hand.kv_head, hand.step).len();
    if dead < in_use { Ok(()) } else { Err(format!("all {in_use} rows would be deleted; one must stay")) }
}

/// Changes a state as a hand says. A dead row cannot be moved.
#[allow(clippy::unnecessary_wraps, reason = "what every layer that hands act on has: others can fail")]
pub(super) fn lay(setup: &Setup, hand: &Hand, state: &mut Snapshot, _written: &mut TraceBlock) -> Result<(), LayerError> {
    match hand.what {
        Act::Delete { row } => {
            fill(state, "counts", hand.kv_head, row, None);
            fill(state, "dict_k", hand.kv_head, row, None);
            fill(state, "dict_v", hand.kv_head, row, None);
        }
        Act::Move { row, to } if alive(state, hand.kv_head, row) => {
            let key = rows_of(setup.stream.keys(), hand.kv_head, to..to + 1);
            fill(state, "dict_k", hand.kv_head, row, Some(key));
        }
        _ => {}
    }
    Ok(())
}

fn alive(state: &Snapshot, kv_head: usize, row: usize) -> bool {
    let Some(counts) = state.array("counts") else { return false };
    row < counts.shape[1] && counts.values.get(kv_head * counts.shape[1] + row).is_some_and(|c| c > 0.0)
}

/// Writes a row of a state's array `[heads, rows, ..]`: these numbers, or zeros.
fn fill(state: &mut Snapshot, name: &str, kv_head: usize, row: usize, with: Option<&[f32]>) {
    let Some(array) = state.arrays.iter_mut().find(|a| a.name == name) else { return };
    let (rows, width) = (array.shape[1], array.shape[2..].iter().product::<usize>());
    if row >= rows {
        return;
    }
    let own = (kv_head * rows + row) * width..(kv_head * rows + row + 1) * width;
    let number = |i: usize| with.map_or(0.0, |w| w[i]);
    match &mut array.values {
        Values::F32(v) => v[own].iter_mut().enumerate().for_each(|(i, x)| *x = number(i)),
        Values::F64(v) => v[own].iter_mut().enumerate().for_each(|(i, x)| *x = f64::from(number(i))),
        Values::I32(v) => v[own].fill(0),
    }
}
