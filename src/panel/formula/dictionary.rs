//! The numbers of a dictionary's life: growth, assignment and update (OVQ), and the same of a fixed codebook (VQ attention).

use super::exact::{Exact, LaneAt, Rows, add, distance, dot, norm};
use super::mixing::{code, dictionary};

/// The growth of a dictionary in one chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// Writes so far, with this chunk.
    pub t: usize,
    /// N.
    pub n_max: usize,
    /// Writes in the whole stream, T.
    pub total: usize,
    /// Writes in the chunk.
    pub writes: usize,
    /// What the formula gives before it is rounded down.
    pub exact: f64,
    /// N(t).
    pub target: usize,
    /// Rows before the chunk.
    pub before: usize,
    /// Rows after it.
    pub after: usize,
}

/// The growth in step `step` of an OVQ lane, by its trace.
#[must_use]
pub fn growth(lane: &LaneAt<'_>, step: usize) -> Option<Growth> {
    let sizes = lane.wholes("sizes");
    let after = *sizes.get(step)? as usize;
    let before = step.checked_sub(1).map_or(0, |s| sizes[s] as usize);
    let params = &lane.plan.setup.params;
    let (n_max, t, total) = (params.size("n_max"), lane.written(step + 1), lane.stream().writes());
    let (tf, nf) = (t as f64, n_max as f64);
    let exact = match params.choice("growth") {
        "saturating" => tf.min(nf),
        "linear" => (tf * nf / total as f64).min(tf).min(nf),
        _ => tf * nf / (tf + nf),
    };
    let target = match params.choice("growth") {
        "saturating" => t.min(n_max),
        "linear" => (t * n_max / total).min(t).min(n_max),
        _ => t * n_max / (t + n_max),
    };
    Some(Growth { t, n_max, total, writes: t - lane.written(step), exact, target, before, after })
}

/// Where a write went.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned {
    /// The row.
    pub row: usize,
    /// It founded the row.
    pub founded: bool,
    /// The similarity to the nearest centroid before the chunk (in the first chunk to the first key), as the trace has it.
    pub similarity: f64,
    /// By how much it beat the second nearest, as the trace has it; infinite where there is no second.
    pub margin: f64,
    /// The nearest and the second nearest row and their similarity, computed from the exact state before the chunk, where that is here.
    pub nearest: Option<(usize, f64)>,
    /// The second nearest.
    pub second: Option<(usize, f64)>,
}

/// Where a write of an OVQ or VQ lane went.
#[must_use]
pub fn assigned(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize) -> Option<Assigned> {
    let row = usize::try_from(*lane.wholes("assignments").get(write)?).ok()?;
    let founded = lane.wholes("is_new").get(write) == Some(&1);
    let (similarity, margin) = (lane.number("similarity", write)?, lane.number("assign_margin", write)?);
    let key = lane.key(write);
    let ranked = similarities(lane, exact, &key, write / lane.chunk());
    let best = |not: Option<usize>| {
        // Deleted rows are nobody's nearest.
        let rows = ranked.as_deref()?.iter().enumerate().filter(|(r, s)| Some(*r) != not && **s > f64::NEG_INFINITY);
        rows.fold(None, |best: Option<(usize, f64)>, (r, &s)| if best.is_none_or(|b| s > b.1) { Some((r, s)) } else { best })
    };
    let nearest = best(None);
    let second = nearest.and_then(|n| best(Some(n.0)));
    Some(Assigned { row, founded, similarity, margin, nearest, second })
}

/// Of the chunk of an OVQ lane's write, the least similar token that founded no row, and its similarity, both by the trace: the one
/// that spread-maximising founding refused first. `None` where every token of the chunk founded a row.
#[must_use]
pub fn refused(lane: &LaneAt<'_>, write: usize) -> Option<(usize, f64)> {
    let (step, is_new) = (write / lane.chunk(), lane.wholes("is_new"));
    let others = (lane.written(step)..lane.written(step + 1)).filter(|w| is_new.get(*w) == Some(&0));
    let others = others.filter_map(|w| Some((w, lane.number("similarity", w)?)));
    // Of equal ones the first: the lower index wins.
    others.reduce(|first, next| if next.1 < first.1 { next } else { first })
}

/// The similarity of a key to every row before step `step`.
fn similarities(lane: &LaneAt<'_>, exact: &Exact<'_>, key: &[f64], step: usize) -> Option<Vec<f64>> {
    if lane.plan.kind.name() == "vq" {
        let book = lane.plan.setup.arrays.get("codebook")?;
        let rows = book.shape().get(book.ndim().checked_sub(2)?).copied()?;
        return (0..rows).map(|row| Some(dot(key, &code(lane, row)?))).collect();
    }
    let state = exact.at(lane.number, step)?;
    let (keys, counts) = (Rows::of(state, "dict_k", lane.kv)?, Rows::of(state, "counts", lane.kv)?);
    // A row that stands for nothing (deleted by hand) takes no token.
    let similarity = |(k, c): (&[f64], &f64)| if *c > 0.0 { dot(key, k) } else { f64::NEG_INFINITY };
    Some(keys.rows().zip(counts.all()).map(similarity).collect())
}

/// What a chunk did to a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The row.
    pub row: usize,
    /// The chunk's writes that went to it.
    pub members: Vec<usize>,
    /// Its count before.
    pub before: usize,
    /// Its count after.
    pub after: usize,
    /// How far it went towards the members' mean.
    pub rate: f64,
    /// The length of its key before, of the members' mean, and after.
    pub key: [f64; 3],
    /// The same of its value.
    pub value: [f64; 3],
    /// How far its key moved.
    pub moved: f64,
    /// How far its value moved.
    pub value_moved: f64,
    /// The length of its key once it had moved, where it was then scaled back to length 1.
    pub scaled: Option<f64>,
    /// How far the key after is from where the formula puts it.
    pub off: f64,
}

/// What step `step` did to a row of an OVQ lane, from the states before and after; `None` where one is not here, no write went to
/// the row, the row was founded in the step, or a hand deleted it at the step's end.
#[must_use]
pub fn update(lane: &LaneAt<'_>, exact: &Exact<'_>, row: usize, step: usize) -> Option<Update> {
    let writes = lane.written(step)..lane.written(step + 1);
    let assignments = lane.wholes("assignments").get(writes.clone())?;
    let members: Vec<usize> = writes.zip(assignments).filter(|(_, r)| usize::try_from(**r) == Ok(row)).map(|(w, _)| w).collect();
    let (old, new) = (exact.at(lane.number, step), exact.at(lane.number, step + 1));
    let (old, new) = (dictionary(old?, lane.kv)?, dictionary(new?, lane.kv)?);
    if members.is_empty() || row >= old.0.len() {
        return None;
    }
    let mean = |of: &dyn Fn(usize) -> Vec<f64>, width: usize| {
        let mut mean = vec![0.0; width];
        for &write in &members {
            add(&mut mean, &of(write), 1.0 / members.len() as f64);
        }
        mean
    };
    let (key, value) = (mean(&|w| lane.key(w), lane.stream().key_dim()), mean(&|w| lane.value(w), lane.stream().value_dim()));
    let (before, after) = (old.2.row(row)[0] as usize, new.2.row(row)[0] as usize);
    if after == 0 {
        return None;
    }
    let params = &lane.plan.setup.params;
    let rate = if params.choice("rate") == "constant" { params.float("constant_rate") } else { members.len() as f64 / after as f64 };
    let mut put = old.0.row(row).to_vec();
    let mut step_to = key.clone();
    add(&mut step_to, &put, -1.0);
    add(&mut put, &step_to, rate);
    let scaled = params.flag("normalise_centroids").then(|| norm(&put));
    if let Some(length) = scaled {
        put.iter_mut().for_each(|x| *x /= length.max(1e-12));
    }
    Some(Update {
        row,
        members,
        before,
        after,
        rate,
        key: [norm(old.0.row(row)), norm(&key), norm(new.0.row(row))],
        value: [norm(old.1.row(row)), norm(&value), norm(new.1.row(row))],
        moved: distance(old.0.row(row), new.0.row(row)),
        value_moved: distance(old.1.row(row), new.1.row(row)),
        scaled,
        off: distance(&put, new.0.row(row)),
    })
}
