//! Interventions by hand: at one moment of a run a lane's memory is changed from outside, and the run goes on from there.
//!
//! These are ours, not the papers': questions of the form "and what if it had not been kept?". A lane holds a list of them
//! ([`LaneSpec::hands`](super::LaneSpec)); they are part of what it is built from, so every replay and every export has them.
//!
//! **When.** `step` counts the lane's own chunks. A hand acts between two chunks: on the memory as it is after `step` chunks, before
//! anything of chunk number `step` (from 0) is read or written. The state that is shown after `step` chunks is the one with the hand
//! in it. Step 0 has no memory to act on, and after the last chunk nobody reads: `step` is from 1 to one less than there are chunks.
//!
//! **Where.** `kv_head` is a head of the stream as the lane takes it; the other heads go on as they were.
//!
//! **What**, see [`Act`]. Of several at the same step those that evict, keep, move or delete act in the order of the list, and
//! `Forget` comes last: with them it forgets what they have put into the state.
//!
//! An act that finds nothing to act on (a write that is not in the cache just then) changes nothing; what is impossible whatever
//! the run does is refused when the plan is made.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::LaneSpec;
use crate::layer::{LayerKind, Setup, kind};
use crate::param::Resolved;
use crate::trace::{Channel, LaneTrace};

/// What stands between the name of a lane and what is done by hand in a branch of it.
pub const BRANCH: &str = " · ";

/// The most hands of one lane.
pub const MAX_HANDS: usize = 64;

/// What a hand does. Every field is a number of the lane's own: writes from 0, rows of the dictionary from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Act {
    /// `LoLA`: the write leaves the sparse cache, if it is in it, and is folded into the state at once: H += phi(k) v^T, s += phi(k).
    /// Its place is free until the next update, whose candidates it is not among: nothing returns from the state.
    Evict { write: usize },
    /// `LoLA`: from here on the write stays in the cache. As a candidate it comes before every other, whatever its score (which
    /// is recorded as it is); the others compete for the rest. If it is in the state already, nothing changes.
    Keep { write: usize },
    /// OVQ: the key of the row becomes the key of the write `to`. Its value and its count stay: what the row holds is found
    /// elsewhere. Later members pull it from there, at the rate of its count.
    Move { row: usize, to: usize },
    /// OVQ: the row and its members leave the memory. Its count is 0, it weighs nothing in any read, and no write goes to it any more;
    /// the other rows keep their numbers, and growth goes on as if it were there.
    Delete { row: usize },
    /// Linear attention, `DeltaNet`, Gated `DeltaNet`, Mamba-2 and `LoLA`: the linear state is zero: H and s, or S. `LoLA`'s window and cache stay.
    Forget,
}

/// One intervention. See the module's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hand {
    /// After so many of the lane's chunks.
    pub step: usize,
    /// The key/value head.
    #[serde(default)]
    pub kv_head: usize,
    /// What is done.
    pub what: Act,
}

impl std::fmt::Display for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Evict { write } => write!(f, "evict token {write}"),
            Self::Keep { write } => write!(f, "keep token {write}"),
            Self::Move { row, to } => write!(f, "move centroid {row} to token {to}"),
            Self::Delete { row } => write!(f, "delete centroid {row}"),
            Self::Forget => f.write_str("forget the state"),
        }
    }
}

impl std::fmt::Display for Hand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at step {}", self.what, self.step)
    }
}

impl Act {
    /// What is done, in a word or two, for the name of a lane: `evict 702`.
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            Self::Evict { write } => format!("evict {write}"),
            Self::Keep { write } => format!("keep {write}"),
            Self::Move { row, to } => format!("move {row} to {to}"),
            Self::Delete { row } => format!("delete {row}"),
            Self::Forget => "forget".to_owned(),
        }
    }

    /// Its place among those of one step: `Forget` comes last.
    fn rank(self) -> u8 {
        u8::from(self == Self::Forget)
    }
}

/// The hands of one step, in the order in which they act.
#[must_use]
pub fn at_step(hands: &[Hand], step: usize) -> Vec<Hand> {
    let mut all: Vec<Hand> = hands.iter().copied().filter(|h| h.step == step).collect();
    all.sort_by_key(|h| h.what.rank());
    all
}

/// The last step, no later than after `chunks` chunks, at which the state of a head was forgotten.
#[must_use]
pub fn forgotten(hands: &[Hand], kv_head: usize, chunks: usize) -> Option<usize> {
    let of_head = hands.iter().filter(|h| h.kv_head == kv_head && h.what == Act::Forget && h.step <= chunks);
    of_head.map(|h| h.step).max()
}

/// The step at which a row of a head's dictionary was deleted, if it was.
#[must_use]
pub fn deleted(hands: &[Hand], kv_head: usize, row: usize) -> Option<usize> {
    let of_row = hands.iter().filter(|h| h.kv_head == kv_head && h.what == Act::Delete { row });
    of_row.map(|h| h.step).min()
}

/// The rows of a head's dictionary that are deleted after `chunks` chunks, ascending.
#[must_use]
pub fn dead_rows(hands: &[Hand], kv_head: usize, chunks: usize) -> Vec<usize> {
    let dead = |h: &Hand| if let Act::Delete { row } = h.what { Some(row) } else { None };
    let mut rows: Vec<usize> = hands.iter().filter(|h| h.kv_head == kv_head && h.step <= chunks).filter_map(dead).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// True if a hand keeps this write in the cache of a head during the update number `update` (from 0).
#[must_use]
pub fn keeps(hands: &[Hand], kv_head: usize, write: usize, update: usize) -> bool {
    hands.iter().any(|h| h.kv_head == kv_head && h.step <= update && h.what == Act::Keep { write })
}

/// What a lane says of a hand, with what it depends on in the run.
#[must_use]
pub fn note(hand: &Hand, chunk: usize) -> String {
    let only = match hand.what {
        Act::Evict { .. } => ", if it is in the cache then",
        Act::Keep { .. } => ", unless it is in the state by then",
        Act::Move { .. } | Act::Delete { .. } | Act::Forget => "",
    };
    format!("by hand: {hand}, after {} writes, in key/value head {}{only}", hand.step * chunk, hand.kv_head)
}

/// The first of a lane's hands that cannot be whatever the run does, with the reason.
#[must_use]
pub fn first_wrong(kind: &dyn LayerKind, setup: &Setup) -> Option<(usize, Hand, String)> {
    if let Some(hand) = setup.hands.get(MAX_HANDS) {
        return Some((MAX_HANDS, *hand, format!("a lane has at most {MAX_HANDS} of them")));
    }
    setup.hands.iter().enumerate().find_map(|(i, hand)| check(kind, setup, hand).err().map(|reason| (i, *hand, reason)))
}

/// Checks one hand against a lane that it is, or might be, part of.
///
/// # Errors
/// Why it cannot be, with the limit.
pub fn check(kind: &dyn LayerKind, setup: &Setup, hand: &Hand) -> Result<(), String> {
    let (stream, step) = (&setup.stream, hand.step);
    let chunks = stream.chunks(setup.chunk);
    if step == 0 || step >= chunks {
        let limit = if chunks < 2 { "the lane has a single step".to_owned() } else { format!("step is from 1 to {}", chunks - 1) };
        return Err(format!("{limit}: before the first there is no memory, and after the last nothing is read"));
    }
    if hand.kv_head >= stream.kv_heads() {
        return Err(format!("kv_head {} of {}", hand.kv_head, stream.kv_heads()));
    }
    if let Act::Evict { write } | Act::Keep { write } | Act::Move { to: write, .. } = hand.what {
        let written = step * setup.chunk;
        if write >= written {
            return Err(format!("after {step} steps there are the writes 0 to {}; {write} is not among them", written - 1));
        }
    }
    kind.check_hand(setup, hand)
}

/// The lane that shows what was done by hand to a lane: one that runs, is the same (layer, parameters, weights), and to which only a part of
/// it was done, or nothing. Of several the one with most of it in common; then the one whose name the lane's begins with, then the one
/// nearest before it in the list, then after it. `None` where no hand is laid on the lane, or no such lane runs.
///
/// The session does not say what a lane is a branch of: it may have been changed since, and then it is nothing to compare with.
#[must_use]
pub fn base(lanes: &[LaneSpec], lane: usize) -> Option<usize> {
    let own = lanes.get(lane).filter(|l| !l.hands.is_empty())?;
    let specs = kind(&own.layer)?.params();
    let resolved = |l: &LaneSpec| Resolved::new(&own.layer, specs, &l.params).ok();
    let params = resolved(own)?;
    let same = |l: &LaneSpec| l.layer == own.layer && l.weights == own.weights && resolved(l).as_ref() == Some(&params);
    let fits = |l: &LaneSpec| l.enabled && l.hands.len() < own.hands.len() && without(&own.hands, &l.hands).is_some() && same(l);
    let named = |l: &LaneSpec| own.name.strip_prefix(l.name.as_str()).is_some_and(|rest| rest.starts_with(BRANCH));
    let order = |i: usize| (lanes[i].hands.len(), named(&lanes[i]), i < lane, Reverse(i.abs_diff(lane)));
    (0..lanes.len()).filter(|i| *i != lane && fits(&lanes[*i])).max_by_key(|i| order(*i))
}

/// What is left of `hands` when each of `some` is taken out of them once; `None` if one of them is not there.
#[must_use]
pub fn without(hands: &[Hand], some: &[Hand]) -> Option<Vec<Hand>> {
    let mut left = hands.to_vec();
    for hand in some {
        let at = left.iter().position(|h| h == hand)?;
        left.remove(at);
    }
    Some(left)
}

/// The channel in which a lane that hands evict from records whom they found in the cache.
pub const EVICTED: &str = "evicted";

/// True if some hand evicts: then the lane records [`EVICTED`].
#[must_use]
pub fn any_evicts(hands: &[Hand]) -> bool {
    hands.iter().any(|h| matches!(h.what, Act::Evict { .. }))
}

/// True if it was a hand that took a write out of the cache of a head at the end of its step number `step` (from 0), and not the update of
/// that step, which `displaced` lists too: by what was recorded, for a hand that finds its write gone does nothing.
#[must_use]
pub fn evicted(trace: &LaneTrace, kv_head: usize, write: usize, step: usize) -> bool {
    evicted_in(trace.channel(EVICTED), kv_head, write, step)
}

/// The same, of the lane's channel [`EVICTED`], if it has one.
#[must_use]
pub fn evicted_in(channel: Option<&Channel>, kv_head: usize, write: usize, step: usize) -> bool {
    channel.is_some_and(|c| i32::try_from(write).is_ok_and(|write| c.wholes_at(kv_head, step).binary_search(&write).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Params;

    const fn hand(step: usize, kv_head: usize, what: Act) -> Hand {
        Hand { step, kv_head, what }
    }

    #[test]
    fn of_one_step_forgetting_comes_last() {
        let all =
            [hand(2, 0, Act::Forget), hand(3, 0, Act::Forget), hand(2, 0, Act::Evict { write: 5 }), hand(2, 1, Act::Keep { write: 4 })];
        assert_eq!(at_step(&all, 2), [all[2], all[3], all[0]]);
        assert_eq!(
            (forgotten(&all, 0, 1), forgotten(&all, 0, 2), forgotten(&all, 0, 9), forgotten(&all, 1, 9)),
            (None, Some(2), Some(3), None)
        );
        assert!(any_evicts(&all) && !any_evicts(&all[..2]));
        assert!(keeps(&all, 1, 4, 2) && keeps(&all, 1, 4, 7) && !keeps(&all, 1, 4, 1) && !keeps(&all, 0, 4, 7) && !keeps(&all, 1, 5, 7));
    }

    #[test]
    fn deleted_rows_are_told_by_head_and_step() {
        let all = [hand(4, 0, Act::Delete { row: 9 }), hand(2, 0, Act::Delete { row: 3 }), hand(1, 1, Act::Delete { row: 0 })];
        assert_eq!((deleted(&all, 0, 9), deleted(&all, 0, 0), deleted(&all, 1, 0)), (Some(4), None, Some(1)));
        assert_eq!((dead_rows(&all, 0, 3), dead_rows(&all, 0, 4), dead_rows(&all, 1, 4)), (vec![3], vec![3, 9], vec![0]));
    }

    #[test]
    fn a_branch_is_compared_with_the_lane_that_is_nearest_to_it() {
        let (evict, keep) = (hand(24, 0, Act::Evict { write: 702 }), hand(9, 0, Act::Keep { write: 5 }));
        let lane = |name: &str, cache: i64, hands: &[Hand]| LaneSpec {
            hands: hands.to_vec(),
            ..LaneSpec::new(name, "lola", Params::default().with("cache", cache))
        };
        let mut all = vec![
            lane("LoLA", 64, &[]),
            lane("LoLA · evict 702 @ 24", 64, &[evict]),
            lane("LoLA · evict 702 @ 24 · keep 5 @ 9", 64, &[evict, keep]),
            lane("other", 128, &[]),
            lane("other · keep 5 @ 9", 64, &[keep]),
        ];
        let bases = |all: &[LaneSpec]| (0..all.len()).map(|i| base(all, i)).collect::<Vec<_>>();
        // Both single branches are a part of the double one, whose name says which of them it is of. The last lane has come to be one of LoLA.
        assert_eq!(bases(&all), [None, Some(0), Some(1), None, Some(0)]);
        assert_eq!(without(&all[2].hands, &all[1].hands), Some(vec![keep]));
        assert_eq!((without(&[evict], &[keep]), without(&[evict], &[evict, evict])), (None, None));
        // With the lane between switched off, the other part of it; with that gone too, the lane itself.
        all[1].enabled = false;
        assert_eq!(base(&all, 2), Some(4));
        all[4].params.set("cache", 32);
        assert_eq!(bases(&all), [None, Some(0), Some(0), None, None]);
        // A default that is written out is the same lane; other weights are another.
        let window = kind("lola")
            .and_then(|k| k.params().iter().find(|p| p.name == "window"))
            .and_then(crate::param::ParamSpec::default_value)
            .unwrap();
        all[0].params.set("window", window);
        assert_eq!(base(&all, 2), Some(0));
        all[0].weights = Some("mine.safetensors".into());
        assert_eq!(base(&all, 2), None);
    }

    #[test]
    fn a_hand_says_itself() {
        assert_eq!(hand(24, 0, Act::Evict { write: 702 }).to_string(), "evict token 702 at step 24");
        assert_eq!(Act::Move { row: 3, to: 7 }.short(), "move 3 to 7");
    }
}
