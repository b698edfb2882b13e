//! `LoLA`: pairs that are evicted or kept, and a state that is forgotten.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::stream::{Shape, random};

const WINDOW: usize = 10;
const CHUNK: usize = 6;

/// What a run does, by the definitions, in float64 and one pair at a time.
struct Expected {
    /// [query heads][reads][dv].
    outputs: Vec<Vec<Vec<f64>>>,
    /// The cached ids after each step [heads][steps], with the hands of the next step done.
    cached: Vec<Vec<BTreeSet<usize>>>,
    /// The score at the cut [heads][steps]: infinite where all of a full cache are kept by hand, NaN where it is not full.
    threshold: Vec<Vec<f64>>,
    /// The smallest difference that decided between two candidates.
    margin: f64,
}

fn row(array: &ndarray::Array3<f32>, head: usize, at: usize) -> Vec<f64> {
    array.slice(ndarray::s![head, at, ..]).iter().map(|&x| f64::from(x)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn phi(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| if x > 0.0 { x + 1.0 } else { x.exp() }).collect()
}

/// The state of one head.
struct Memory {
    state: Vec<Vec<f64>>,
    sum: Vec<f64>,
    cached: BTreeSet<usize>,
}

impl Memory {
    fn fold(&mut self, s: &Stream, head: usize, write: usize) {
        let (phi, value) = (phi(&row(s.keys(), head, write)), row(s.values(), head, write));
        for (i, p) in phi.iter().enumerate() {
            self.sum[i] += p;
            value.iter().enumerate().for_each(|(j, v)| self.state[i][j] += p * v);
        }
    }

    fn error(&self, s: &Stream, head: usize, write: usize) -> f64 {
        let (phi, value) = (phi(&row(s.keys(), head, write)), row(s.values(), head, write));
        let whole = dot(&phi, &self.sum) + 1e-6;
        (0..value.len()).map(|j| (phi.iter().zip(&self.state).map(|(p, h)| p * h[j]).sum::<f64>() / whole - value[j]).powi(2)).sum()
    }
}

fn expected(s: &Stream, cache: usize, score: &str, hands: &[Hand]) -> Expected {
    let (steps, dv) = (s.chunks(CHUNK), s.value_dim());
    let mut all =
        Expected { outputs: vec![vec![Vec::new(); s.reads()]; s.query_heads()], cached: vec![], threshold: vec![], margin: f64::MAX };
    for head in 0..s.kv_heads() {
        let mut m = Memory { state: vec![vec![0.0; dv]; s.key_dim()], sum: vec![0.0; s.key_dim()], cached: BTreeSet::new() };
        let (mut tables, mut cuts) = (Vec::new(), Vec::new());
        for step in 0..steps {
            let now = |h: &&Hand| h.kv_head == head && h.step == step;
            for write in hands.iter().filter(now).filter_map(|h| if let Act::Evict { write } = h.what { Some(write) } else { None }) {
                if m.cached.remove(&write) {
                    m.fold(s, head, write);
                }
            }
            if hands.iter().filter(now).any(|h| h.what == Act::Forget) {
                m.state.iter_mut().flatten().chain(&mut m.sum).for_each(|x| *x = 0.0);
            }
            if step > 0 {
                tables.push(m.cached.clone());
            }
            let (start, end) = (step * CHUNK, ((step + 1) * CHUNK).min(s.writes()));
            let oldest = start.saturating_sub(WINDOW);
            for (query_head, read) in
                (0..s.query_heads()).filter(|q| s.kv_head_of(*q) == head).flat_map(|q| s.reads_within(start..end).map(move |r| (q, r)))
            {
                let query = row(s.queries(), query_head, read);
                let (mut sum, mut whole) = (vec![0.0; dv], 1e-6);
                let features = phi(&query);
                for id in (oldest..s.after()[read] as usize).chain(m.cached.iter().copied()) {
                    let weight = (f64::from(s.beta()) * dot(&query, &row(s.keys(), head, id))).exp();
                    whole += weight;
                    sum.iter_mut().zip(row(s.values(), head, id)).for_each(|(x, v)| *x += weight * v);
                }
                whole += dot(&features, &m.sum);
                (0..dv).for_each(|j| sum[j] += features.iter().zip(&m.state).map(|(p, h)| p * h[j]).sum::<f64>());
                all.outputs[query_head][read] = sum.iter().map(|x| x / whole).collect();
            }
            let mut ids: Vec<usize> = m.cached.iter().copied().chain(oldest..end.saturating_sub(WINDOW)).collect();
            let of = |id: usize| if score == "fifo" { id as f64 } else { m.error(s, head, id) };
            let kept = |id: usize| hands.iter().any(|h| h.kv_head == head && h.step <= step && h.what == Act::Keep { write: id });
            ids.sort_by(|&a, &b| kept(b).cmp(&kept(a)).then(of(b).total_cmp(&of(a))).then(a.cmp(&b)));
            let room = cache.min(ids.len());
            let cut = |id: usize| if kept(id) { f64::INFINITY } else { of(id) };
            cuts.push(if room == cache && room > 0 { cut(ids[room - 1]) } else { f64::NAN });
            if room > 0 && room < ids.len() {
                all.margin = all.margin.min(cut(ids[room - 1]) - cut(ids[room]));
            }
            m.cached = ids[..room].iter().copied().collect();
            let mut folded = ids[room..].to_vec();
            folded.sort_unstable();
            folded.iter().for_each(|&id| m.fold(s, head, id));
        }
        tables.push(m.cached.clone());
        all.cached.push(tables);
        all.threshold.push(cuts);
    }
    all
}

/// Runs a lane with these hands and holds it against the definitions; false if rounding may have decided something.
fn agrees(shape: Shape, cache: usize, score: &str, hands: &[Hand]) -> bool {
    let stream = Arc::new(random(shape, 0.4));
    let params = Params::default().with("window", WINDOW as i64).with("chunk", CHUNK as i64).with("cache", cache as i64);
    let setup = setup("lola", &stream, &params.with("score", score).with("fmap", "elu1"), CHUNK, hands);
    let expected = expected(&stream, cache, score, hands);
    if expected.margin < 1e-4 {
        return false;
    }
    let trace = hold(kind("lola"), &setup);
    same_outputs(&trace, &expected.outputs);
    for head in 0..stream.kv_heads() {
        let derived = kind("lola").derived(&setup, &trace, head);
        let table = derived.iter().find(|d| d.name == "cached").unwrap().values.as_i32().unwrap();
        for (step, ids) in expected.cached[head].iter().enumerate() {
            let found: BTreeSet<usize> =
                table[step * cache..(step + 1) * cache].iter().filter_map(|&id| usize::try_from(id).ok()).collect();
            assert_eq!(&found, ids, "head {head}, step {step}");
            let channel = |name: &str| trace.channel(name).unwrap().values(head).get(step).unwrap();
            assert_eq!(channel("cached_count") as usize, ids.len(), "head {head}, step {step}");
            let (cut, wanted) = (channel("threshold"), expected.threshold[head][step]);
            let same = cut == wanted || (cut.is_nan() && wanted.is_nan()) || (cut - wanted).abs() < 1e-9 * wanted.abs().max(1.0);
            assert!(same, "head {head}, step {step}: {cut} for {wanted}");
        }
    }
    true
}

const SHAPE: Shape = Shape { kv_heads: 2, group: 1, writes: 80, reads: 60, dk: 5, dv: 4, seed: 3 };

/// The writes in the cache of a head of the lane without hands, after `step` steps.
fn cached_at(cache: usize, step: usize, head: usize) -> Vec<usize> {
    expected(&random(SHAPE, 0.4), cache, "sre", &[]).cached[head][step - 1].iter().copied().collect()
}

#[test]
fn a_pair_that_is_evicted_is_folded_at_once_and_its_place_is_filled_again() {
    // Three at once from a full cache: an update has six to fill them with.
    let ids = cached_at(8, 6, 0);
    assert_eq!(ids.len(), 8);
    let evicted: Vec<Hand> = [1, 4, 7].iter().map(|&i| hand(6, 0, Act::Evict { write: ids[i] })).collect();
    assert!(agrees(SHAPE, 8, "sre", &evicted));
    // All of it, from a cache that is larger than what comes in: it stays short for some steps.
    let ids = cached_at(20, 7, 1);
    let evicted: Vec<Hand> = ids.iter().map(|&write| hand(7, 1, Act::Evict { write })).collect();
    assert!(evicted.len() == 20 && agrees(SHAPE, 20, "sre", &evicted));
    // From one that is not full yet, and again later.
    let ids = cached_at(40, 4, 0);
    assert_eq!(ids, (0..14).collect::<Vec<_>>());
    assert!(agrees(
        SHAPE,
        40,
        "sre",
        &[hand(4, 0, Act::Evict { write: 3 }), hand(4, 0, Act::Evict { write: 9 }), hand(9, 0, Act::Evict { write: 20 })]
    ));
}

#[test]
fn a_pair_that_is_kept_stays_to_the_end() {
    // One that the scores alone would have folded when it left the window.
    let without = expected(&random(SHAPE, 0.4), 8, "sre", &[]);
    let folded = (10..30).find(|w| without.cached[0].iter().all(|c| !c.contains(w))).unwrap();
    let step = folded / CHUNK + 1;
    let hands = [hand(step, 0, Act::Keep { write: folded })];
    assert!(expected(&random(SHAPE, 0.4), 8, "sre", &hands).cached[0].last().unwrap().contains(&folded));
    assert!(agrees(SHAPE, 8, "sre", &hands));
    // Too late: it is in the state, and nothing returns from there.
    let late = [hand(9, 0, Act::Keep { write: folded })];
    let (a, b) = (expected(&random(SHAPE, 0.4), 8, "sre", &late).cached, without.cached);
    assert!(a == b && agrees(SHAPE, 8, "sre", &late));
}

#[test]
fn who_took_a_pair_out_of_the_cache_is_what_happened_and_not_what_was_asked_for() {
    // By age, the newest stay: after six steps of 6 writes, with a window of 10, the writes 0 to 25 have left it, and 18 to 25 are cached;
    // the seventh update admits 26 to 31 and displaces 18 to 23.
    let stream = Arc::new(random(SHAPE, 0.4));
    let params = Params::default().with("window", WINDOW as i64).with("chunk", CHUNK as i64).with("cache", 8).with("score", "fifo");
    let run = |hands: &[Hand]| hold(kind("lola"), &setup("lola", &stream, &params, CHUNK, hands));
    let (keep, evict) = (hand(6, 0, Act::Keep { write: 18 }), hand(7, 0, Act::Evict { write: 18 }));
    let displaced = |trace: &LaneTrace| trace.channel("displaced").unwrap().wholes_at(0, 6).to_vec();
    // Kept, it stays in that update, and 24 goes in its stead: it is the hand that takes it out then.
    let kept = run(&[keep, evict]);
    assert_eq!(displaced(&kept), [18, 19, 20, 21, 22, 23, 24]);
    assert_eq!((17..26).filter(|&w| evicted(&kept, 0, w, 6)).collect::<Vec<_>>(), [18]);
    assert!(!evicted(&kept, 1, 18, 6) && !evicted(&kept, 0, 18, 5) && !evicted(&kept, 0, 18, 7));
    // The Keep removed, the update displaces it, and the hand finds nothing.
    let gone = run(&[evict]);
    assert_eq!(displaced(&gone), [18, 19, 20, 21, 22, 23]);
    assert!((0..40).all(|w| !evicted(&gone, 0, w, 6)));
    assert_eq!(gone.channel("cached_count").unwrap().wholes_at(0, 6), [8]);
    // A lane from which nobody is evicted records nothing of it.
    assert!(run(&[keep]).channel("evicted").is_none());
}

#[test]
fn a_cache_kept_whole_by_hand_admits_nothing() {
    let ids = cached_at(3, 5, 0);
    let hands: Vec<Hand> = ids.iter().map(|&write| hand(5, 0, Act::Keep { write })).collect();
    assert!(agrees(SHAPE, 3, "sre", &hands));
    // And when one of them is evicted after all, the others stay.
    let evicted = hand(7, 0, Act::Evict { write: ids[1] });
    assert!(agrees(SHAPE, 3, "sre", &[hands, vec![evicted]].concat()));
}

#[test]
fn a_state_that_is_forgotten_recalls_zero() {
    let ids = cached_at(8, 8, 0);
    // With the pair that is evicted at the same step, whichever comes first in the list.
    let hands = [hand(8, 0, Act::Forget), hand(8, 0, Act::Evict { write: ids[2] }), hand(5, 1, Act::Forget), hand(10, 1, Act::Forget)];
    assert!(agrees(SHAPE, 8, "sre", &hands));
}

#[test]
fn the_other_scores_take_hands_too() {
    let ids: Vec<usize> = expected(&random(SHAPE, 0.4), 8, "fifo", &[]).cached[0][6].iter().copied().collect();
    let hands = [hand(7, 0, Act::Evict { write: ids[0] }), hand(7, 0, Act::Keep { write: ids[3] }), hand(7, 1, Act::Keep { write: 40 })];
    assert!(agrees(SHAPE, 8, "fifo", &hands));
    // Of these there is no second computation here: the implementations agree, and restored runs are the same.
    for score in ["random", "attention", "kernel"] {
        let stream = Arc::new(random(SHAPE, 0.4));
        let params = Params::default().with("window", WINDOW as i64).with("chunk", CHUNK as i64).with("cache", 8).with("score", score);
        let setup = |hands: &[Hand]| setup("lola", &stream, &params, CHUNK, hands);
        let plain = hold(kind("lola"), &setup(&[]));
        let derived = kind("lola").derived(&setup(&[]), &plain, 0);
        let table = derived.iter().find(|d| d.name == "cached").unwrap().values.as_i32().unwrap();
        let hands: Vec<Hand> = table[6 * 8..6 * 8 + 3].iter().map(|&id| hand(7, 0, Act::Evict { write: id as usize })).collect();
        let keep = hand(7, 0, Act::Keep { write: table[6 * 8 + 5] as usize });
        let trace = hold(kind("lola"), &setup(&[hands.clone(), vec![keep]].concat()));
        let left = trace.channel("displaced").unwrap().wholes_at(0, 6).to_vec();
        assert!(hands.iter().all(|h| matches!(h.what, Act::Evict { write } if left.contains(&(write as i32)))), "{score}");
    }
}

/// A random hand of a lane of `steps` steps: writes that may be anywhere.
fn any_hand(steps: usize) -> impl Strategy<Value = Hand> {
    (1..steps, 0..2_usize, 0..8_u8, 0.0..1.0_f64).prop_map(|(step, kv_head, what, share)| {
        let write = (share * (step * CHUNK) as f64) as usize;
        let what = match what {
            0 => Act::Forget,
            1..5 => Act::Evict { write },
            _ => Act::Keep { write },
        };
        hand(step, kv_head, what)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_hands_do_what_the_definitions_say(
        hands in proptest::collection::vec(any_hand(14), 0..12), cache in 12..30_usize, seed in 0..1000_u64, fifo in any::<bool>(),
    ) {
        let score = if fifo { "fifo" } else { "sre" };
        agrees(Shape { seed, ..SHAPE }, cache, score, &hands);
    }
}
