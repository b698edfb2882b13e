//! What a `LoLA` lane records, and the reference's arrays that are made from it.
//!
//! All of it is linear in T for fixed parameters: events instead of a table of tokens by steps.

use crate::layer::full::trace::read_normaliser;
use crate::layer::real::Real;
use crate::layer::{Derived, LayerError, Setup, Snapshot};
use crate::session::hand::{EVICTED, Hand, any_evicts};
use crate::trace::{Along, Axis, Channel, ChannelSpec, Heads, Kind, LaneTrace, Tolerance, TraceBlock, Values, Width};

use super::config::{Config, Recorded, Score};
use super::hand::EMPTY;
use super::residency::Residency;

/// The channels' places in the list, and so the numbers of pieces.
pub(super) mod channel {
    pub(in super::super) const OUTPUTS: usize = 0;
    pub(in super::super) const SHARES: usize = 1;
    pub(in super::super) const NORMALISER: usize = 2;
    pub(in super::super) const CANDIDATES: usize = 3;
    pub(in super::super) const CANDIDATE_SCORES: usize = 4;
    pub(in super::super) const ADMITTED: usize = 5;
    pub(in super::super) const DISPLACED: usize = 6;
    pub(in super::super) const SELECT_MARGIN: usize = 7;
    pub(in super::super) const THRESHOLD: usize = 8;
    pub(in super::super) const CACHED_COUNT: usize = 9;
    /// Only where a hand evicts.
    pub(in super::super) const EVICTED: usize = 10;
}

/// The most numbers in a derived table of steps by tokens (`cached`, `scores`); a larger one is left out.
pub const MAX_TABLE: usize = 1 << 26;

const CHOICE: Tolerance = Tolerance::Choice { margin: Some("select_margin") };
const NEAR: Tolerance = Tolerance::Near { abs: 1e-4, rel: 1e-4 };

/// A channel with one entry a step for each key/value head, of whole numbers in lists.
const fn list(name: &'static str, title: &'static str, meaning: &'static str) -> ChannelSpec {
    ChannelSpec {
        name,
        title,
        meaning,
        unit: "tokens",
        axis: Axis::Step,
        heads: Heads::KeyValue,
        width: Width::Ragged,
        kind: Kind::Whole,
        tolerance: CHOICE,
    }
}

/// A channel of real numbers.
const fn real(name: &'static str, title: &'static str, meaning: &'static str, unit: &'static str) -> ChannelSpec {
    ChannelSpec { kind: Kind::Real, width: Width::Fixed(1), tolerance: NEAR, unit, ..list(name, title, meaning) }
}

/// The channels of a lane with this setup.
pub(super) fn channels(setup: &Setup) -> Vec<ChannelSpec> {
    let read = |width, spec: ChannelSpec| ChannelSpec { axis: Axis::Read, heads: Heads::Query, width: Width::Fixed(width), ..spec };
    let Config { recorded, score, .. } = Config::new(setup);
    let unit = score.unit();
    let (candidates, scores) = match recorded {
        Recorded::All => (
            "Ids of the candidates for the cache at this step, ascending: the cached pairs and those that leave the window.",
            "The score of each candidate against the memory before this update, in the order of `candidates`.",
        ),
        Recorded::Leaving => (
            "Ids of the writes that leave the window at this step, ascending. The cached candidates are not recorded: together \
             they would exceed the limit on a lane's trace.",
            "The score of each write that leaves the window, against the memory before this update, in the order of `candidates`.",
        ),
    };
    let mut all = vec![
        read(setup.stream.value_dim(), real("outputs", "output", "What the layer returns for each read.", "value units")),
        read(
            3,
            real(
                "shares",
                "share of the normaliser",
                "Parts of each read's normaliser: window, cache, state; with the epsilon they sum to 1.",
                "1",
            ),
        ),
        read_normaliser(
            "The state's part of each read's normaliser before it is divided: w phi(q)^T s, with s as it was before the update.",
        ),
        list("candidates", "candidates", candidates),
        ChannelSpec { width: Width::Ragged, ..real("candidate_scores", "score", scores, unit) },
        list("admitted", "admitted", "Ids that entered the cache at this step, ascending."),
        list("displaced", "displaced", "Ids that were folded from the cache into the state at this step, ascending."),
        real(
            "select_margin",
            "margin of the selection",
            match score {
                Score::Sre | Score::Fifo | Score::Random => {
                    "Smallest score kept minus largest score folded at this step; infinite where nothing had to be chosen."
                }
                Score::Attention | Score::Kernel => {
                    "A tenth of the difference of smallest score kept and largest score folded at this step, as a part of the former (these \
                     scores have no scale of their own); infinite where nothing had to be chosen."
                }
            },
            if matches!(score, Score::Attention | Score::Kernel) { "1" } else { unit },
        ),
        real(
            "threshold",
            "admission threshold",
            "The smallest score in the cache after this step (of the pairs that no hand keeps), which the next candidates have to beat; NaN while the cache is not full \
             (and always with none).",
            unit,
        ),
        ChannelSpec {
            width: Width::Fixed(1),
            tolerance: Tolerance::Choice { margin: None },
            ..list("cached_count", "pairs in the cache", "How many pairs the cache holds after this step.")
        },
    ];
    if any_evicts(&setup.hands) {
        let meaning = "Ids that a hand found in the cache after the update of this step and folded into the state, ascending. They are among \
                       `displaced` too.";
        all.push(list(EVICTED, "evicted by hand", meaning));
    }
    all
}

/// What one key/value head wrote in one call of `advance`, step after step.
#[derive(Debug, Clone, Default)]
pub(super) struct HeadTrace<R> {
    pub candidates: Vec<i32>,
    pub scores: Vec<R>,
    pub candidate_lengths: Vec<u32>,
    pub admitted: Vec<i32>,
    pub admitted_lengths: Vec<u32>,
    pub displaced: Vec<i32>,
    pub displaced_lengths: Vec<u32>,
    pub select_margin: Vec<R>,
    pub threshold: Vec<R>,
    pub cached_count: Vec<i32>,
}

impl<R: Real> HeadTrace<R> {
    /// Appends the step channels of all heads, for the steps `steps`, to a block; for these hands, which come after it, a list that is empty
    /// yet.
    pub(super) fn write(heads: &[Self], steps: std::ops::Range<usize>, hands: &[Hand], out: &mut TraceBlock) {
        let whole = |part: fn(&Self) -> &Vec<i32>| Values::I32(heads.iter().flat_map(|h| part(h).iter().copied()).collect());
        let real = |part: fn(&Self) -> &Vec<R>| R::values(heads.iter().flat_map(|h| part(h).iter().copied()).collect());
        let lengths = |part: fn(&Self) -> &Vec<u32>| heads.iter().flat_map(|h| part(h).iter().copied()).collect::<Vec<_>>();
        out.push_ragged(channel::CANDIDATES, steps.clone(), whole(|h| &h.candidates), lengths(|h| &h.candidate_lengths));
        out.push_ragged(channel::CANDIDATE_SCORES, steps.clone(), real(|h| &h.scores), lengths(|h| &h.candidate_lengths));
        out.push_ragged(channel::ADMITTED, steps.clone(), whole(|h| &h.admitted), lengths(|h| &h.admitted_lengths));
        out.push_ragged(channel::DISPLACED, steps.clone(), whole(|h| &h.displaced), lengths(|h| &h.displaced_lengths));
        out.push(channel::SELECT_MARGIN, steps.clone(), real(|h| &h.select_margin));
        out.push(channel::THRESHOLD, steps.clone(), real(|h| &h.threshold));
        if any_evicts(hands) {
            out.push_ragged(channel::EVICTED, steps.clone(), Values::I32(Vec::new()), vec![0; heads.len() * steps.len()]);
        }
        out.push(channel::CACHED_COUNT, steps, whole(|h| &h.cached_count));
    }
}

/// `entered` [T], `left` [T], `cached` [S, cache] and `scores` [S, T] of one head, as the reference has them. A table of more
/// than [`MAX_TABLE`] numbers is left out, and so are `scores` where not all were recorded.
pub(super) fn derived(config: &Config, trace: &LaneTrace, kv_head: usize) -> Vec<Derived> {
    let (Some(admitted), Some(displaced)) = (trace.channel("admitted"), trace.channel("displaced")) else { return Vec::new() };
    let mut index = Residency::new(config.window, config.chunk, config.writes);
    index.extend(admitted, displaced, kv_head);
    let steps = index.steps();
    let events = |of: &dyn Fn(usize) -> Option<usize>| Values::I32((0..config.writes).map(|w| of(w).map_or(-1, |s| s as i32)).collect());
    let mut arrays = vec![
        Derived {
            name: "entered",
            meaning: "The step at which each write entered the cache; -1: never.",
            unit: "step",
            axes: &[Along::Axis(Axis::Write)],
            shape: vec![config.writes],
            values: events(&|w| index.entered(w)),
        },
        Derived {
            name: "left",
            meaning: "The step at which each write was folded from the cache into the state; -1: never.",
            unit: "step",
            axes: &[Along::Axis(Axis::Write)],
            shape: vec![config.writes],
            values: events(&|w| index.left(w)),
        },
    ];
    if steps * config.cache <= MAX_TABLE {
        arrays.push(Derived {
            name: "cached",
            meaning: "The ids in the cache after each step, ascending, then -1.",
            unit: "tokens",
            axes: &[Along::Axis(Axis::Step), Along::Own("place in the cache")],
            shape: vec![steps, config.cache],
            values: Values::I32(cached_table(config, admitted, displaced, kv_head, steps)),
        });
    }
    if let (Recorded::All, Some(ids), Some(scores)) = (config.recorded, trace.channel("candidates"), trace.channel("candidate_scores"))
        && steps * config.writes <= MAX_TABLE
    {
        arrays.push(Derived {
            name: "scores",
            meaning: "The score of each candidate at each step; NaN where a write was no candidate.",
            unit: config.score.unit(),
            axes: &[Along::Axis(Axis::Step), Along::Axis(Axis::Write)],
            shape: vec![steps, config.writes],
            values: score_table(config, ids, scores, kv_head, steps),
        });
    }
    arrays
}

fn cached_table(config: &Config, admitted: &Channel, displaced: &Channel, head: usize, steps: usize) -> Vec<i32> {
    let mut table = Vec::with_capacity(steps * config.cache);
    let mut cached = std::collections::BTreeSet::new();
    for step in 0..steps {
        cached.extend(admitted.wholes_at(head, step));
        for id in displaced.wholes_at(head, step) {
            cached.remove(id);
        }
        table.extend(cached.iter().copied().chain(std::iter::repeat(-1)).take(config.cache));
    }
    table
}

fn score_table(config: &Config, ids: &Channel, scores: &Channel, head: usize, steps: usize) -> Values {
    let places = |step: usize| {
        let range = scores.range(head, step);
        ids.wholes_at(head, step).iter().map(move |&id| step * config.writes + id as usize).zip(range)
    };
    let steps = 0..steps.min(ids.len()).min(scores.len());
    let size = steps.len() * config.writes;
    match scores.values(head) {
        Values::F64(from) => {
            let mut table = vec![f64::NAN; size];
            steps.flat_map(places).for_each(|(to, at)| table[to] = from[at]);
            Values::F64(table)
        }
        Values::F32(from) => {
            let mut table = vec![f32::NAN; size];
            steps.flat_map(places).for_each(|(to, at)| table[to] = from[at]);
            Values::F32(table)
        }
        Values::I32(_) => Values::F32(vec![f32::NAN; size]),
    }
}

/// The cached ids of each head in a snapshot; [`EMPTY`] where a hand has emptied a place.
///
/// # Errors
/// If there are not as many as belong to the snapshot's position, or one is outside the stream.
pub(super) fn cached_ids(config: &Config, snapshot: &Snapshot) -> Result<Vec<Vec<i32>>, LayerError> {
    let n = config.cached(snapshot.position);
    let ids = snapshot.array("cached").and_then(|a| a.values.as_i32());
    let outside = config.outside_window(snapshot.position) as i32;
    match ids {
        Some(ids)
            if snapshot.position <= config.steps()
                && ids.len() == n * config.kv_heads
                && ids.iter().all(|&id| (EMPTY..outside).contains(&id)) =>
        {
            Ok((0..config.kv_heads).map(|h| ids[h * n..(h + 1) * n].to_vec()).collect())
        }
        _ => Err(LayerError::Restore(format!("`cached` must hold {n} ids below {outside} for each of {} heads", config.kv_heads))),
    }
}

/// The writes whose received attention is part of the state after `position` steps: the cached ids, then those in the window. Outside
/// the stream where a place of the cache is empty.
pub(super) fn kept_whole(config: &Config, position: usize, cached: &[i32]) -> Vec<usize> {
    let window = config.outside_window(position)..config.written(position);
    cached.iter().map(|&id| id as usize).chain(window).collect()
}
