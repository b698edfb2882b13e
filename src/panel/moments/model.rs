//! What differs between two sides: one lane at two moments, or two lanes at one. No drawing.

use std::collections::{BTreeMap, BTreeSet};

use crate::layer::{Snapshot, StateArray};
use crate::metric::ANSWER;
use crate::metric::health::perplexity;
use crate::panel::Look;
use crate::panel::common::head_of;
use crate::panel::growth::rows_of;
use crate::trace::Channel;
use crate::widget::heatmap::Grid;

/// Rows and reads that are named one by one.
pub(super) const NAMED: usize = 12;

/// One side: a lane after some writes, with its exact state where that has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    pub lane: usize,
    pub chunks: usize,
    pub state: Option<&'a Snapshot>,
}

/// A quantity of both sides; `None` where a side has none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    pub name: &'static str,
    pub hint: &'static str,
    pub a: Option<f64>,
    pub b: Option<f64>,
}

/// Who is cached where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Caches {
    pub both: usize,
    pub only_a: Vec<usize>,
    pub only_b: Vec<usize>,
}

/// The linear states' difference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct States {
    /// The state (H, or S of a delta layer) of B minus that of A, a row a feature (or a number of a key), a column a number of a value.
    pub grid: Grid,
    /// The largest size of a number in it.
    pub most: f32,
    /// Its length.
    pub norm: f64,
}

/// All that differs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Model {
    pub quantities: Vec<Quantity>,
    /// The writes that founded a row between the two moments; of one lane at two moments only.
    pub founders: Option<Vec<usize>>,
    /// The rows whose keys are furthest apart, with the distance; of one lane only.
    pub moved: Option<Vec<(usize, f64)>>,
    pub caches: Option<Caches>,
    pub states: Option<States>,
    /// Writes whose rows have other founders, and how many writes were compared; of two lanes only.
    pub assigned: Option<(Vec<usize>, usize)>,
    /// Reads answered otherwise, and how many were compared; of two lanes only.
    pub answers: Option<(Vec<usize>, usize)>,
}

impl Model {
    pub fn new(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Self {
        let one = a.lane == b.lane;
        let mut model =
            Self { quantities: quantities(look, a, b), caches: caches(look, a, b), states: states(look, a, b), ..Self::default() };
        if one {
            model.founders = founders(look, a.lane, a.chunks.min(b.chunks)..a.chunks.max(b.chunks));
            model.moved = moved(look, a, b);
        } else {
            model.assigned = assigned(look, a, b);
            model.answers = answers(look, a, b);
        }
        model
    }
}

/// The number that a channel along the steps holds after so many chunks.
fn at_step(look: &Look<'_>, side: Side<'_>, name: &str) -> Option<f64> {
    let channel = look.lanes[side.lane].trace.channel(name)?;
    let head = head_of(channel, look);
    channel.values(head).get(channel.range(head, side.chunks.checked_sub(1)?).start)
}

/// One head's numbers of an array of a state, with the shape that is left.
fn of_head<'a>(look: &Look<'_>, state: Option<&'a Snapshot>, name: &str) -> Option<(Vec<f64>, &'a [usize])> {
    let array: &StateArray = state?.array(name)?;
    let (heads, shape) = array.shape.split_first()?;
    let head = look.head_among(*heads);
    let each: usize = shape.iter().product();
    let numbers = (head * each..(head + 1) * each).map(|i| array.values.get(i)).collect::<Option<Vec<f64>>>()?;
    Some((numbers, shape))
}

fn norm(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The middle of numbers: of an even number of them the mean of the two.
#[must_use]
pub(super) fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { f64::midpoint(sorted[n / 2 - 1], upper) })
}

fn quantities(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Vec<Quantity> {
    let rows = |side: Side<'_>| {
        let sizes = look.lanes[side.lane].trace.channel("sizes")?;
        let hands = &look.lanes[side.lane].plan.setup.hands;
        rows_of(sizes, hands, head_of(sizes, look), side.chunks).map(|rows| rows.in_use() as f64)
    };
    let counts = |side: Side<'_>, of: &dyn Fn(&[f64]) -> Option<f64>| {
        let used: Vec<f64> = of_head(look, side.state, "counts")?.0.into_iter().filter(|c| *c > 0.0).collect();
        of(&used)
    };
    let both = |of: &dyn Fn(Side<'_>) -> Option<f64>| (of(a), of(b));
    let cached = |side: Side<'_>| {
        let lane = &look.lanes[side.lane];
        lane.trace.channel("cached_count").filter(|_| lane.plan.setup.params.size("cache") > 0)?;
        if side.chunks == 0 { Some(0.0) } else { at_step(look, side, "cached_count") }
    };
    let length = |side: Side<'_>, name: &str| of_head(look, side.state, name).map(|(numbers, _)| norm(&numbers));
    let all: [(&'static str, &'static str, (Option<f64>, Option<f64>)); 8] = [
        ("rows in use, n", "Rows of the dictionary that are in use; those deleted by hand are not", both(&rows)),
        ("count, median", "The middle of the counts of the rows in use: how many writes a row stands for", both(&|s| counts(s, &median))),
        ("count, largest", "The largest count of a row", both(&|s| counts(s, &|c| c.iter().copied().max_by(f64::total_cmp)))),
        (
            "perplexity of the counts",
            "exp(H(c / sum c)): as many rows as would be used if all were used alike",
            both(&|s| counts(s, &|c| Some(perplexity(&c.iter().map(|c| *c as u32).collect::<Vec<_>>())))),
        ),
        ("pairs in the cache", "How many pairs the sparse cache holds", both(&cached)),
        (
            "admission threshold",
            "The smallest score in the cache, of the pairs that are not kept by hand; none while it is not full or all are kept",
            both(&|s| at_step(look, s, "threshold").filter(|t| t.is_finite())),
        ),
        (
            "length of the state",
            "|H| (|S| of a delta layer): the root of the sum of the squares of the linear state's numbers",
            both(&|s| length(s, "state")),
        ),
        ("length of the normaliser", "|s|, the same of the sum of features", both(&|s| length(s, "normaliser"))),
    ];
    all.into_iter().filter(|(_, _, (a, b))| a.is_some() || b.is_some()).map(|(name, hint, (a, b))| Quantity { name, hint, a, b }).collect()
}

fn founders(look: &Look<'_>, lane: usize, chunks: std::ops::Range<usize>) -> Option<Vec<usize>> {
    let channel = look.lanes[lane].trace.channel("is_new")?;
    let chunk = look.lanes[lane].plan.setup.chunk;
    let writes = (chunks.start * chunk).min(channel.len())..(chunks.end * chunk).min(channel.len());
    let start = writes.start;
    let flags = channel.wholes(head_of(channel, look)).get(writes)?;
    Some(flags.iter().enumerate().filter(|(_, f)| **f != 0).map(|(i, _)| start + i).collect())
}

fn moved(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Option<Vec<(usize, f64)>> {
    let ((before, shape), (after, _)) = (of_head(look, a.state, "dict_k")?, of_head(look, b.state, "dict_k")?);
    let dk = *shape.get(1)?;
    if dk == 0 {
        return None;
    }
    let distance = |(x, y): (&[f64], &[f64])| x.iter().zip(y).map(|(p, q)| (p - q) * (p - q)).sum::<f64>().sqrt();
    let mut rows: Vec<(usize, f64)> = before.chunks_exact(dk).zip(after.chunks_exact(dk)).map(distance).enumerate().collect();
    // The key of a row that a hand deleted is zero: it went nowhere.
    let counts = [a, b].map(|side| of_head(look, side.state, "counts").map_or_else(Vec::new, |(counts, _)| counts));
    rows.retain(|(row, _)| counts.iter().all(|c| c.get(*row).is_none_or(|c| *c > 0.0)));
    rows.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
    rows.truncate(8);
    rows.retain(|(_, d)| *d > 0.0);
    Some(rows)
}

fn caches(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Option<Caches> {
    let held = |side: Side<'_>| {
        let ids = of_head(look, side.state, "cached")?.0;
        // A place that a hand has emptied holds -1.
        Some(ids.into_iter().filter(|id| *id >= 0.0).map(|id| id as usize).collect::<BTreeSet<_>>())
    };
    let (a, b) = (held(a)?, held(b)?);
    let only = |x: &BTreeSet<usize>, y: &BTreeSet<usize>| x.difference(y).copied().collect();
    Some(Caches { both: a.intersection(&b).count(), only_a: only(&a, &b), only_b: only(&b, &a) })
}

fn states(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Option<States> {
    let ((before, shape), (after, other)) = (of_head(look, a.state, "state")?, of_head(look, b.state, "state")?);
    if shape != other || shape.len() != 2 {
        return None;
    }
    let off: Vec<f64> = after.iter().zip(&before).map(|(x, y)| x - y).collect();
    let most = off.iter().fold(0.0_f64, |m, x| m.max(x.abs())) as f32;
    let grid = Grid { rows: shape[0], columns: shape[1], cells: off.iter().map(|x| Some(*x as f32)).collect() };
    Some(States { grid, most, norm: norm(&off) })
}

/// The write that founded the row of each write, for as many writes as the lane has in its dictionary.
fn founder_of_each(look: &Look<'_>, side: Side<'_>) -> Option<Vec<usize>> {
    let trace = look.lanes[side.lane].trace;
    let (rows, new) = (trace.channel("assignments")?, trace.channel("is_new")?);
    let head = |c: &Channel| head_of(c, look);
    let writes = (side.chunks * look.lanes[side.lane].plan.setup.chunk).min(rows.len()).min(new.len());
    let (rows, new) = (&rows.wholes(head(rows))[..writes], &new.wholes(head(new))[..writes]);
    let founded: BTreeMap<i32, usize> =
        rows.iter().zip(new).enumerate().filter(|(_, (_, n))| **n != 0).map(|(i, (r, _))| (*r, i)).collect();
    Some(rows.iter().map(|row| founded.get(row).copied().unwrap_or(usize::MAX)).collect())
}

fn assigned(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Option<(Vec<usize>, usize)> {
    let (a, b) = (founder_of_each(look, a)?, founder_of_each(look, b)?);
    let compared = a.len().min(b.len());
    Some(((0..compared).filter(|i| a[*i] != b[*i]).collect(), compared))
}

fn answers(look: &Look<'_>, a: Side<'_>, b: Side<'_>) -> Option<(Vec<usize>, usize)> {
    let held = |side: Side<'_>| {
        let channel = look.lanes[side.lane].trace.channel(ANSWER)?;
        let whole = (side.chunks * look.lanes[side.lane].plan.setup.chunk).min(look.plan.stream.writes());
        let seen = look.plan.stream.reads_within(0..whole).end.min(channel.len());
        channel.wholes(head_of(channel, look)).get(..seen)
    };
    let (a, b) = (held(a)?, held(b)?);
    let differ = a.iter().zip(b).enumerate().filter(|(_, (x, y))| x != y).map(|(i, _)| i).collect();
    Some((differ, a.len().min(b.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perplexity_counts_the_rows_that_are_used_alike() {
        assert!((perplexity(&[5, 5, 5, 5]) - 4.0).abs() < 1e-12);
        assert!((perplexity(&[9, 0]) - 1.0).abs() < 1e-12);
        // H(1/4, 3/4) = 0.5623.
        assert!((perplexity(&[1, 3]) - 0.562_335_1_f64.exp()).abs() < 1e-6);
        assert!(perplexity(&[]).abs() < 1e-12);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0]), median(&[])), (Some(2.0), Some(2.5), None));
    }
}
