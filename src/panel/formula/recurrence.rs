//! The numbers of a write and of a read of the recurrent layers: DeltaNet, Gated DeltaNet and Mamba-2.

use super::exact::{Exact, LaneAt, Rows, add, distance, norm};
use super::mixing::query;

/// A write: `S <- a S; S <- S + b k (v - e S^T k)^T`.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The decay a; 1 where there is none.
    pub decay: f64,
    /// How strongly it enters: b, or dt of Mamba-2.
    pub rate: f64,
    /// The length of the key as it came, before it was scaled (the delta rule's keys have length 1).
    pub key: f64,
    /// The length of the value.
    pub value: f64,
    /// The length of `S^T k`, what the decayed state answers to the key just before the write.
    pub answered: f64,
    /// `|v - S^T k|`: the write error, where the rule erases.
    pub error: f64,
    /// |S| before the write, undecayed.
    pub before: f64,
    /// |S| after it.
    pub after: f64,
}

/// A read: `S^T q`.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// |S| as the read's last write left it.
    pub state: f64,
    /// The length of the query as it is used.
    pub query: f64,
    /// The output.
    pub output: Vec<f64>,
}

/// True for the delta rule: a write takes away what the state answers to its key, and keys and queries have length 1.
#[must_use]
pub fn erases(lane: &LaneAt<'_>) -> bool {
    lane.plan.kind.name() != "mamba2"
}

/// True where there is a decay a.
#[must_use]
pub fn decays(lane: &LaneAt<'_>) -> bool {
    lane.plan.kind.name() != "deltanet"
}

/// A key or query as it is used.
#[must_use]
pub fn scaled(lane: &LaneAt<'_>, row: &[f64]) -> Vec<f64> {
    let scale = if erases(lane) { 1.0 / norm(row).max(1e-12) } else { 1.0 };
    row.iter().map(|x| x * scale).collect()
}

/// a and b of a write: the stream's own where it has any, else the parameters.
#[must_use]
pub fn gates(lane: &LaneAt<'_>, write: usize) -> (f64, f64) {
    let (own, params) = (lane.stream().gates(), &lane.plan.setup.params);
    let decay = match own.and_then(|g| g.decay.as_ref()) {
        _ if !decays(lane) => 1.0,
        Some(decay) => f64::from(decay[[lane.kv, write]]),
        None => params.float("decay"),
    };
    let rate = own.and_then(|g| g.rate.as_ref()).map(|g| f64::from(g[[lane.kv, write]]));
    (decay, rate.unwrap_or_else(|| params.float(if erases(lane) { "rate" } else { "step" })))
}

/// The state after the first `writes` writes: that of the last whole chunk, and the writes since made again.
fn state_at(lane: &LaneAt<'_>, exact: &Exact<'_>, writes: usize) -> Option<Rows> {
    let chunks = writes / lane.chunk();
    let mut state = if chunks == 0 { Rows::zeros(lane) } else { Rows::of(exact.at(lane.number, chunks)?, "state", lane.kv)? };
    for write in lane.written(chunks)..writes {
        step(lane, &mut state, write);
    }
    Some(state)
}

/// Carries a write out.
fn step(lane: &LaneAt<'_>, state: &mut Rows, write: usize) -> Write {
    let (decay, rate) = gates(lane, write);
    let (raw, value) = (lane.key(write), lane.value(write));
    let key = scaled(lane, &raw);
    let before = norm(state.all());
    state.all_mut().iter_mut().for_each(|x| *x *= decay);
    let answer = state.transposed_times(&key);
    let mut change = value.clone();
    if erases(lane) {
        add(&mut change, &answer, -1.0);
    }
    let dv = value.len();
    for (row, k) in state.all_mut().chunks_mut(dv).zip(&key) {
        add(row, &change, rate * k);
    }
    Write {
        decay,
        rate,
        key: norm(&raw),
        value: norm(&value),
        answered: norm(&answer),
        error: distance(&value, &answer),
        before,
        after: norm(state.all()),
    }
}

/// The numbers of a write; `None` where the state before its chunk is not here.
#[must_use]
pub fn write(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize) -> Option<Write> {
    let mut state = state_at(lane, exact, write)?;
    Some(step(lane, &mut state, write))
}

/// The numbers of a read; `None` where the state before its chunk is not here.
#[must_use]
pub fn read(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize) -> Option<Read> {
    let after = lane.after(read)?;
    let query: Vec<f64> = query(lane, read).iter().map(|&x| f64::from(x)).collect();
    let query = scaled(lane, &query);
    // A read that sees its chunk to its end is told from the state before that chunk too: the one after may be yet to come.
    let chunks = (after - 1) / lane.chunk();
    let mut state = state_at(lane, exact, lane.written(chunks))?;
    for write in lane.written(chunks)..after {
        step(lane, &mut state, write);
    }
    Some(Read { state: norm(state.all()), query: norm(&query), output: state.transposed_times(&query) })
}
