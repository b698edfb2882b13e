//! OVQ: centroids that are moved or deleted.

use proptest::prelude::*;

use super::*;
use crate::stream::{Shape, random};

const CHUNK: usize = 7;
const ROOM: usize = 24;
const SHAPE: Shape = Shape { kv_heads: 2, group: 2, writes: 90, reads: 50, dk: 5, dv: 4, seed: 8 };

/// What differs between the lanes.
#[derive(Debug, Clone, Copy)]
struct Rule {
    count_bias: bool,
    /// The constant rate, if it is one.
    rate: Option<f64>,
}

/// What a run does, by the definitions, in float64.
struct Expected {
    /// [query heads][reads][dv].
    outputs: Vec<Vec<Vec<f64>>>,
    /// [heads][writes].
    rows: Vec<Vec<usize>>,
    /// After the last chunk [heads][rows].
    counts: Vec<Vec<usize>>,
    /// The smallest difference that decided between two centroids or two founders.
    margin: f64,
}

#[derive(Clone)]
struct Row {
    key: Vec<f64>,
    value: Vec<f64>,
    count: usize,
}

fn wide(array: &ndarray::Array3<f32>, head: usize, at: usize) -> Vec<f64> {
    array.slice(ndarray::s![head, at, ..]).iter().map(|&x| f64::from(x)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The nearest of the rows that are alive, and by how much it is.
fn nearest(rows: &[Row], key: &[f64]) -> (usize, f64, f64) {
    let mut all: Vec<(f64, usize)> = rows.iter().enumerate().filter(|(_, r)| r.count > 0).map(|(j, r)| (dot(&r.key, key), j)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    (all[0].1, all[0].0, all.get(1).map_or(f64::MAX, |second| all[0].0 - second.0))
}

fn answer(s: &Stream, rows: &[Row], rule: Rule, query_head: usize, read: usize, start: usize) -> Vec<f64> {
    let (head, query, beta) = (s.kv_head_of(query_head), wide(s.queries(), query_head, read), f64::from(s.beta()));
    let (mut sum, mut whole) = (vec![0.0; s.value_dim()], 0.0);
    let mut add = |weight: f64, value: &[f64]| {
        whole += weight;
        sum.iter_mut().zip(value).for_each(|(x, v)| *x += weight * v);
    };
    for row in rows.iter().filter(|r| r.count > 0) {
        add((beta * dot(&query, &row.key)).exp() * if rule.count_bias { row.count as f64 } else { 1.0 }, &row.value);
    }
    for id in start..s.after()[read] as usize {
        add((beta * dot(&query, &wide(s.keys(), head, id))).exp(), &wide(s.values(), head, id));
    }
    sum.iter().map(|x| x / whole).collect()
}

fn expected(s: &Stream, rule: Rule, hands: &[Hand]) -> Expected {
    let mut all =
        Expected { outputs: vec![vec![Vec::new(); s.reads()]; s.query_heads()], rows: Vec::new(), counts: Vec::new(), margin: f64::MAX };
    for head in 0..s.kv_heads() {
        let (mut rows, mut went): (Vec<Row>, Vec<usize>) = (Vec::new(), Vec::new());
        for step in 0..s.chunks(CHUNK) {
            for hand in hands.iter().filter(|h| h.kv_head == head && h.step == step) {
                match hand.what {
                    Act::Delete { row } => rows[row] = Row { key: vec![0.0; s.key_dim()], value: vec![0.0; s.value_dim()], count: 0 },
                    Act::Move { row, to } if rows[row].count > 0 => rows[row].key = wide(s.keys(), head, to),
                    _ => {}
                }
            }
            let (start, end) = (step * CHUNK, ((step + 1) * CHUNK).min(s.writes()));
            for query_head in (0..s.query_heads()).filter(|q| s.kv_head_of(*q) == head) {
                for read in s.reads_within(start..end) {
                    all.outputs[query_head][read] = answer(s, &rows, rule, query_head, read, start);
                }
            }
            let key = |id: usize| wide(s.keys(), head, id);
            let first = rows.is_empty();
            let stage1 = if first { vec![Row { key: key(0), value: vec![], count: 1 }] } else { rows.clone() };
            let new = (end * ROOM / (end + ROOM) - rows.len()).max(usize::from(first));
            let mut order: Vec<usize> = (start + usize::from(first)..end).collect();
            let near: Vec<(usize, f64, f64)> = (start..end).map(|id| nearest(&stage1, &key(id))).collect();
            let similarity = |id: usize| near[id - start].1;
            order.sort_by(|&a, &b| similarity(a).total_cmp(&similarity(b)).then(a.cmp(&b)));
            let cut = new - usize::from(first);
            all.margin =
                order[..(cut + 1).min(order.len())].windows(2).map(|w| similarity(w[1]) - similarity(w[0])).fold(all.margin, f64::min);
            let mut row_of: Vec<usize> = near.iter().map(|n| n.0).collect();
            for (rank, &id) in order[..cut].iter().enumerate() {
                row_of[id - start] = rows.len() + usize::from(first) + rank;
            }
            let founders: Vec<usize> = order[..cut].to_vec();
            all.margin = (start..end).filter(|id| !founders.contains(id)).map(|id| near[id - start].2).fold(all.margin, f64::min);
            let was = rows.len();
            rows.resize(was + new, Row { key: vec![0.0; s.key_dim()], value: vec![0.0; s.value_dim()], count: 0 });
            for (j, row) in rows.iter_mut().enumerate() {
                let members: Vec<usize> = (start..end).filter(|id| row_of[id - start] == j).collect();
                let m = members.len();
                if m == 0 {
                    continue;
                }
                row.count += m;
                let rate = rule.rate.filter(|_| row.count != m).unwrap_or(m as f64 / row.count as f64);
                for (numbers, array) in [(&mut row.key, s.keys()), (&mut row.value, s.values())] {
                    for (d, x) in numbers.iter_mut().enumerate() {
                        let mean = members.iter().map(|&id| f64::from(array[[head, id, d]])).sum::<f64>() / m as f64;
                        *x += rate * (mean - *x);
                    }
                }
            }
            went.extend(row_of);
        }
        all.counts.push(rows.iter().map(|r| r.count).collect());
        all.rows.push(went);
    }
    all
}

/// Runs a lane with these hands and holds it against the definitions; false if rounding may have decided something.
fn agrees(shape: Shape, rule: Rule, hands: &[Hand]) -> bool {
    let stream = Arc::new(random(shape, 3.0).normalised());
    let params = Params::default().with("n_max", ROOM as i64).with("chunk", CHUNK as i64).with("count_bias", rule.count_bias);
    let params = match rule.rate {
        Some(rate) => params.with("rate", "constant").with("constant_rate", rate),
        None => params,
    };
    let setup = setup("ovq", &stream, &params, CHUNK, hands);
    let expected = expected(&stream, rule, hands);
    if expected.margin < 1e-4 {
        return false;
    }
    // Hands know nothing of the rate.
    let trace = hold_on(kind("ovq"), &setup, rule.rate.is_none());
    same_outputs(&trace, &expected.outputs);
    let mut layer = kind("ovq").cpu(&setup, Precision::Single).unwrap();
    let mut states = Vec::new();
    while layer.position() < stream.chunks(CHUNK) {
        layer.advance(1, Record::StateOnly, &mut TraceBlock::default()).unwrap();
        states.push(layer.snapshot().unwrap());
    }
    for head in 0..stream.kv_heads() {
        let found: Vec<usize> = trace.channel("assignments").unwrap().wholes(head).iter().map(|&r| r as usize).collect();
        assert_eq!(found, expected.rows[head]);
        // The counts that are derived from the trace, and the dictionary replayed from it, are those of every state.
        let single = finish(kind("ovq"), &setup, kind("ovq").cpu(&setup, Precision::Single).unwrap(), 1).0;
        let derived = kind("ovq").derived(&setup, &single, head);
        let counts = derived.iter().find(|d| d.name == "counts").unwrap().values.as_i32().unwrap();
        let mut seen = 0;
        kind("ovq").replay_dictionary(&setup, &single, head, &mut |at| {
            let state = &states[at.chunks - 1];
            let n = at.counts.len();
            let own = |name: &str| &state.array(name).unwrap().values;
            let of_head: Vec<i32> = own("counts").as_i32().unwrap()[head * n..(head + 1) * n].to_vec();
            assert_eq!(at.counts.iter().map(|&c| c as i32).collect::<Vec<_>>(), of_head, "after {}", at.chunks);
            assert_eq!(counts[(at.chunks - 1) * ROOM..][..n], of_head, "after {}", at.chunks);
            for (view, name) in [(at.keys, "dict_k"), (at.values, "dict_v")] {
                let numbers = &own(name).as_f32().unwrap()[head * view.len()..(head + 1) * view.len()];
                assert!(view.iter().zip(numbers).all(|(a, b)| (a - b).abs() < 1e-6), "{name} after {}", at.chunks);
            }
            seen += 1;
            true
        });
        assert_eq!(seen, states.len());
        let last = counts[(seen - 1) * ROOM..].iter().take(expected.counts[head].len());
        assert_eq!(last.map(|&c| c as usize).collect::<Vec<_>>(), expected.counts[head]);
    }
    true
}

const PLAIN: Rule = Rule { count_bias: true, rate: None };
const RULES: [Rule; 4] = [
    PLAIN,
    Rule { count_bias: false, rate: None },
    Rule { count_bias: true, rate: Some(0.3) },
    Rule { count_bias: false, rate: Some(0.3) },
];

/// Streams of which rounding decides nothing under the hands that are tried.
fn hold_rules(hands: &[Hand]) {
    for rule in RULES {
        let held = (0..20).filter(|&seed| agrees(Shape { seed, ..SHAPE }, rule, hands)).take(1).count();
        assert_eq!(held, 1, "{rule:?}");
    }
}

#[test]
fn a_centroid_that_is_deleted_takes_its_members_with_it() {
    hold_rules(&[hand(4, 0, Act::Delete { row: 2 })]);
    hold_rules(&[hand(3, 1, Act::Delete { row: 0 }), hand(3, 1, Act::Delete { row: 5 }), hand(9, 1, Act::Delete { row: 11 })]);
}

#[test]
fn with_one_centroid_alive_all_go_to_it() {
    // After the first chunk there are 7 * 24 / 31 = 5 rows.
    hold_rules(&[1, 2, 3, 4].map(|row| hand(1, 0, Act::Delete { row })));
}

#[test]
fn a_centroid_that_is_moved_keeps_value_and_count() {
    hold_rules(&[hand(5, 0, Act::Move { row: 1, to: 30 }), hand(6, 1, Act::Move { row: 3, to: 2 })]);
    // And is deleted later, or just then: the order of the list is that of the acts.
    hold_rules(&[hand(5, 0, Act::Move { row: 1, to: 30 }), hand(8, 0, Act::Delete { row: 1 }), hand(9, 0, Act::Move { row: 1, to: 9 })]);
}

#[test]
fn the_other_foundings_take_hands_too() {
    // Of these there is no second computation here: the implementations agree, and restored runs are the same.
    let stream = Arc::new(random(SHAPE, 3.0).normalised());
    let hands = [hand(4, 0, Act::Delete { row: 2 }), hand(5, 1, Act::Move { row: 1, to: 3 }), hand(2, 1, Act::Delete { row: 0 })];
    for founding in ["random", "farthest-point"] {
        let params = Params::default().with("n_max", ROOM as i64).with("chunk", CHUNK as i64).with("founding", founding);
        let setup = setup("ovq", &stream, &params.with("normalise_centroids", true).with("seed", 4), CHUNK, &hands);
        let trace = hold(kind("ovq"), &setup);
        assert!(trace.channel("assignments").unwrap().wholes(0)[4 * CHUNK..].iter().all(|&row| row != 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn random_hands_do_what_the_definitions_say(
        acts in proptest::collection::vec((1..12_usize, 0..2_usize, any::<bool>(), 0.0..1.0_f64, 0.0..1.0_f64), 0..4), seed in 0..1000_u64, rule in 0..4_usize,
    ) {
        let hands: Vec<Hand> = acts.iter().map(|&(step, kv_head, delete, row, to)| {
            // Fewer than there are rows: five after the first chunk.
            let row = (row * (step * CHUNK * ROOM / (step * CHUNK + ROOM)) as f64) as usize;
            hand(step, kv_head, if delete { Act::Delete { row } } else { Act::Move { row, to: (to * (step * CHUNK) as f64) as usize } })
        }).collect();
        agrees(Shape { seed, ..SHAPE }, RULES[rule], &hands);
    }
}
