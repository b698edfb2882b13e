//! What OVQ must do on any stream (LAYERS.md, "Numbers that must hold"), and the GPU against its CPU twin.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(clippy::float_cmp, reason = "infinities and choices are equal or wrong")]

#[path = "common/outcome.rs"]
mod outcome;

use std::sync::Arc;

use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::effective::{ReadOf, Store};
use mnemoscope::layer::workload::Workload;
use mnemoscope::layer::{Layer, LayerKind, Precision, Record, Setup, kind};
use mnemoscope::param::{ParamError, Params, Resolved};
use mnemoscope::stream::{Stream, StreamParts};
use mnemoscope::trace::{LaneTrace, TraceBlock};
use ndarray::{Array3, Axis};
use outcome::{Outcome, assert_same, assert_same_state, bits, finish};
use proptest::prelude::*;

fn ovq() -> &'static dyn LayerKind {
    kind("ovq").unwrap()
}

fn cpu(setup: &Setup, precision: Precision, batch: usize) -> Outcome {
    finish(ovq(), setup, ovq().cpu(setup, precision).unwrap(), batch)
}

fn on_gpu(gpu: &Arc<Gpu>, setup: &Setup, batch: usize) -> Outcome {
    let stream = GpuStream::new(gpu, &setup.stream).unwrap();
    finish(ovq(), setup, ovq().gpu(setup, &stream).unwrap(), batch)
}

/// Small sizes of every shape: several heads, odd dimensions, a ragged last chunk, streams shorter than a chunk.
fn setups() -> impl Strategy<Value = Setup> {
    let workload = (1..90_usize, 0..40_usize, 1..9_usize, 1..7_usize, 1..3_usize, 1..4_usize, 0..1000_u64).prop_map(
        |(writes, reads, dk, dv, kv_heads, group, seed)| Workload {
            reads: if reads < 20 { writes } else { reads },
            dk,
            dv,
            kv_heads,
            query_heads: kv_heads * group,
            seed,
            ..Workload::causal(writes)
        },
    );
    let words = (prop::sample::select(vec!["plateau", "saturating", "linear"]), prop::sample::select(vec!["adaptive", "constant"]));
    let founding = prop::sample::select(vec!["spread", "spread", "random", "farthest-point"]);
    (workload, 1..70_i64, 1..40_i64, words, founding, any::<bool>(), any::<bool>()).prop_map(
        |(workload, n_max, chunk, (growth, rate), founding, unit, bias)| {
            let params = Params::default()
                .with("n_max", n_max)
                .with("chunk", chunk)
                .with("growth", growth)
                .with("rate", rate)
                .with("founding", founding)
                .with("seed", n_max)
                .with("normalise_centroids", unit)
                .with("count_bias", bias);
            workload.setup(ovq(), &params).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn counts_sum_to_the_writes_and_rows_never_exceed_n(setup in setups()) {
        let (trace, snapshot) = cpu(&setup, Precision::Single, 3);
        let (writes, n_max) = (setup.stream.writes(), setup.params.size("n_max"));
        for head in 0..setup.stream.kv_heads() {
            let sizes = trace.channel("sizes").unwrap().wholes(head);
            prop_assert!(sizes.windows(2).all(|w| w[0] <= w[1]) && sizes.iter().all(|&n| n >= 1 && n as usize <= n_max));
            let assignments = trace.channel("assignments").unwrap().wholes(head);
            let founders = trace.channel("is_new").unwrap().wholes(head);
            let derived = ovq().derived(&setup, &trace, head);
            let counts = derived.iter().find(|d| d.name == "counts").unwrap().values.as_i32().unwrap().to_vec();
            for (step, &n) in sizes.iter().enumerate() {
                let seen = setup.stream.chunk_range(setup.chunk, step).end;
                // Every row in use was founded by one write, every write is in a row in use.
                prop_assert_eq!(founders[..seen].iter().sum::<i32>(), n);
                prop_assert!(assignments[..seen].iter().all(|&row| 0 <= row && row < n));
                prop_assert_eq!(counts[step * n_max..(step + 1) * n_max].iter().sum::<i32>() as usize, seen);
            }
            let rows = *sizes.last().unwrap() as usize;
            let state = snapshot.array("counts").unwrap().values.as_i32().unwrap();
            prop_assert_eq!(&state[head * rows..(head + 1) * rows], &counts[counts.len() - n_max..][..rows]);
            prop_assert_eq!(state[head * rows..(head + 1) * rows].iter().sum::<i32>() as usize, writes);
        }
    }

    #[test]
    fn it_does_what_the_page_says(setup in setups()) {
        // Keys of one number are all 1 or -1: ties that the rounding of a mean decides.
        prop_assume!(setup.stream.key_dim() > 1);
        let (trace, _) = cpu(&setup, Precision::Double, 3);
        check_page(&setup, &trace, [1e-9, 1e-12]);
        check_effective(&setup, &trace);
        check_effective(&setup, &cpu(&setup, Precision::Single, 2).0);
    }

    #[test]
    fn a_chunk_that_holds_the_stream_is_full_attention(setup in setups(), more in 0..50_i64) {
        let chunk = setup.stream.writes() as i64 + more;
        let params = Resolved::new("ovq", ovq().params(), &Params::default().with("chunk", chunk)).unwrap();
        let setup = Setup { params, chunk: chunk as usize, ..setup };
        let full = kind("full").unwrap();
        let of_full = Resolved::new("full", full.params(), &Params::default()).unwrap();
        let full_setup = Setup { params: of_full, chunk: 7, ..setup.clone() };
        let expected = finish(full, &full_setup, full.cpu(&full_setup, Precision::Double).unwrap(), 1);
        let (trace, _) = cpu(&setup, Precision::Double, 1);
        for head in 0..setup.stream.query_heads() {
            let (a, b) = (trace.channel("outputs").unwrap().values(head), expected.0.channel("outputs").unwrap().values(head));
            prop_assert_eq!(a.len(), b.len());
            for i in 0..a.len() {
                prop_assert!((a.get(i).unwrap() - b.get(i).unwrap()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn several_chunks_a_call_give_the_same_bits_as_one(setup in setups(), batch in 2..9_usize) {
        assert_same(&cpu(&setup, Precision::Single, 1), &cpu(&setup, Precision::Single, batch));
    }

    #[test]
    fn a_restored_run_equals_an_uninterrupted_one(setup in setups(), part in 0.0..1.0_f64) {
        let chunks = setup.stream.chunks(setup.chunk);
        check_restore(&setup, (chunks as f64 * part) as usize, &|| ovq().cpu(&setup, Precision::Single).unwrap());
    }

    #[test]
    fn heads_are_independent_streams(setup in setups()) {
        // A random choice is each head's own: alone, every head is the first.
        prop_assume!(setup.params.choice("founding") != "random");
        let (together, _) = cpu(&setup, Precision::Single, 4);
        let s = &setup.stream;
        let group = s.query_heads() / s.kv_heads();
        for head in 0..s.kv_heads() {
            let slice = |array: &Array3<f32>, heads: std::ops::Range<usize>| array.select(Axis(0), &heads.collect::<Vec<_>>());
            let alone = Stream::new(StreamParts {
                keys: slice(s.keys(), head..head + 1),
                values: slice(s.values(), head..head + 1),
                queries: slice(s.queries(), head * group..(head + 1) * group),
                after: s.after().to_vec(),
                beta: s.beta(),
                targets: s.targets().clone(),
                labels: s.labels().clone(),
            }).unwrap();
            let (one, _) = cpu(&Setup { stream: Arc::new(alone), ..setup.clone() }, Precision::Single, 4);
            prop_assert_eq!(one.channel("assignments").unwrap().values(0), together.channel("assignments").unwrap().values(head));
            for q in 0..group {
                let own = together.channel("outputs").unwrap().values(head * group + q);
                prop_assert_eq!(one.channel("outputs").unwrap().values(q), own);
            }
        }
    }
}

/// What LAYERS.md says of one key/value head, word by word, in float64.
#[derive(Debug, Default)]
struct Page {
    assignments: Vec<i32>,
    is_new: Vec<i32>,
    similarity: Vec<f64>,
    select_margin: Vec<f64>,
    /// By query head of this key/value head, [reads, dv].
    outputs: Vec<Vec<f64>>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The priority of a write, as `founding.rs` says: seed, head and write go through the last step of `MurmurHash3` one by one.
fn priority(seed: u64, head: u32, write: u32) -> u32 {
    let scramble = |x: u32| {
        let x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
        let x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        x ^ (x >> 16)
    };
    let words = [(seed & 0xffff_ffff) as u32 ^ 0x9e37_79b9, (seed >> 32) as u32, head, write];
    words.into_iter().fold(0, |hash, word| scramble(hash ^ word)) >> 8
}

/// The founders of a chunk in the order of their rows, without the first write of the stream, and the margin of the choice.
fn founders(setup: &Setup, kv: usize, tokens: &[usize], keys: &[Vec<f64>], similarity: &[f64], cut: usize) -> (Vec<usize>, f64) {
    let mut left = tokens.to_vec();
    match setup.params.choice("founding") {
        "random" => {
            let seed = setup.params.int("seed").cast_unsigned();
            left.sort_by_key(|&i| (priority(seed, kv as u32, i as u32), i));
            (left[..cut].to_vec(), f64::INFINITY)
        }
        "spread" => {
            left.sort_by(|&a, &b| similarity[a].total_cmp(&similarity[b]).then(a.cmp(&b)));
            let margin = if 0 < cut && cut < left.len() { similarity[left[cut]] - similarity[left[cut - 1]] } else { f64::INFINITY };
            (left[..cut].to_vec(), margin)
        }
        _ => {
            let (mut chosen, mut margin) = (Vec::new(), f64::INFINITY);
            for _ in 0..cut {
                let best = |&i: &usize| chosen.iter().map(|&f: &usize| dot(&keys[i], &keys[f])).fold(similarity[i], f64::max);
                let mut ranked: Vec<(f64, usize)> = left.iter().map(|i| (best(i), *i)).collect();
                ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                if let Some(second) = ranked.get(1) {
                    margin = margin.min(second.0 - ranked[0].0);
                }
                chosen.push(ranked[0].1);
                left.retain(|&i| i != ranked[0].1);
            }
            (chosen, margin)
        }
    }
}

fn by_the_page(setup: &Setup, kv: usize) -> Page {
    let (s, p) = (&setup.stream, &setup.params);
    let wide = |array: &Array3<f32>, head: usize| -> Vec<Vec<f64>> {
        array.index_axis(Axis(0), head).rows().into_iter().map(|r| r.iter().map(|&x| f64::from(x)).collect()).collect()
    };
    let (keys, values) = (wide(s.keys(), kv), wide(s.values(), kv));
    let group = s.query_heads() / s.kv_heads();
    let queries: Vec<_> = (kv * group..(kv + 1) * group).map(|h| wide(s.queries(), h)).collect();
    let (total, n_max, chunk, dv) = (s.writes(), p.size("n_max"), setup.chunk, s.value_dim());
    let mut page = Page { outputs: vec![Vec::new(); group], ..Page::default() };
    let (mut dict_k, mut dict_v, mut counts): (Vec<Vec<f64>>, Vec<Vec<f64>>, Vec<f64>) = Default::default();
    for lo in (0..total).step_by(chunk) {
        let hi = (lo + chunk).min(total);
        // 1. Predict.
        for (queries, out) in queries.iter().zip(&mut page.outputs) {
            for (q, &after) in queries.iter().zip(s.after()).filter(|(_, a)| lo < **a as usize && **a as usize <= hi) {
                let bias = |c: f64| if p.flag("count_bias") { c.ln() } else { 0.0 };
                let rows = dict_k.iter().zip(&dict_v).zip(&counts).map(|((k, v), &c)| (setup.beta() * dot(q, k) + bias(c), v));
                let all: Vec<_> = rows.chain((lo..after as usize).map(|i| (setup.beta() * dot(q, &keys[i]), &values[i]))).collect();
                let max = all.iter().map(|(l, _)| *l).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = all.iter().map(|(l, _)| (l - max).exp()).sum();
                out.extend((0..dv).map(|d| all.iter().map(|(l, v)| (l - max).exp() / sum * v[d]).sum::<f64>()));
            }
        }
        // 2. Grow.
        let n = dict_k.len();
        let wanted = match p.choice("growth") {
            "plateau" => hi * n_max / (hi + n_max),
            "saturating" => hi.min(n_max),
            _ => hi * n_max / total,
        };
        let m = wanted.saturating_sub(n).clamp(usize::from(n == 0), hi - lo);
        for key in &keys[lo..hi] {
            let rows = if n == 0 { &keys[lo..=lo] } else { &dict_k[..] };
            let nearest = (0..rows.len()).fold(0, |best, j| if dot(key, &rows[j]) > dot(key, &rows[best]) { j } else { best });
            page.similarity.push(dot(key, &rows[nearest]));
            page.assignments.push(nearest as i32);
            page.is_new.push(0);
        }
        let given = usize::from(n == 0);
        let tokens: Vec<usize> = (lo + given..hi).collect();
        let (chosen, margin) = founders(setup, kv, &tokens, &keys, &page.similarity, m - given);
        page.select_margin.push(margin);
        for (j, &i) in (lo..lo + given).collect::<Vec<_>>().iter().chain(&chosen).enumerate() {
            (page.assignments[i], page.is_new[i]) = ((n + j) as i32, 1);
            dict_k.push(vec![0.0; keys[i].len()]);
            dict_v.push(vec![0.0; dv]);
            counts.push(0.0);
        }
        // 3. Update.
        for j in 0..dict_k.len() {
            let members: Vec<usize> = (lo..hi).filter(|&i| page.assignments[i] == j as i32).collect();
            if members.is_empty() {
                continue;
            }
            let m = members.len() as f64;
            let just_founded = counts[j] == 0.0;
            counts[j] = if p.choice("counts") == "float16" { half_by_the_page(counts[j] + m) } else { counts[j] + m };
            let rate = if p.choice("rate") == "constant" && !just_founded { p.float("constant_rate") } else { m / counts[j] };
            for (row, of) in [(&mut dict_k[j], &keys), (&mut dict_v[j], &values)] {
                for (d, x) in row.iter_mut().enumerate() {
                    *x += rate * (members.iter().map(|&i| of[i][d]).sum::<f64>() / m - *x);
                }
            }
            if p.flag("normalise_centroids") {
                let norm = dot(&dict_k[j], &dict_k[j]).sqrt().max(1e-12);
                dict_k[j].iter_mut().for_each(|x| *x /= norm);
            }
        }
    }
    page
}

/// A whole number in 11 bits: the nearest multiple of the last bit's worth, of two the one that is even in it.
fn half_by_the_page(x: f64) -> f64 {
    let unit = 2_f64.powf((x.log2().floor() - 10.0).max(0.0));
    (x / unit).round_ties_even() * unit
}

/// Holds a trace against the page: choices exactly, numbers as closely as `near` for outputs and for similarities.
fn check_page(setup: &Setup, trace: &LaneTrace, near: [f64; 2]) {
    let group = setup.stream.query_heads() / setup.stream.kv_heads();
    for kv in 0..setup.stream.kv_heads() {
        let page = by_the_page(setup, kv);
        let close = |name: &str, head: usize, expected: &[f64], within: f64| {
            let found = trace.channel(name).unwrap().values(head);
            assert_eq!(found.len(), expected.len(), "{name}");
            for (i, &want) in expected.iter().enumerate() {
                let got = found.get(i).unwrap();
                assert!(got == want || (got - want).abs() <= within, "{name} of head {head} at {i}: {got}, {want} expected");
            }
        };
        assert_eq!(trace.channel("assignments").unwrap().wholes(kv), page.assignments);
        assert_eq!(trace.channel("is_new").unwrap().wholes(kv), page.is_new);
        close("similarity", kv, &page.similarity, near[1]);
        close("select_margin", kv, &page.select_margin, 2.0 * near[1]);
        for (i, outputs) in page.outputs.iter().enumerate() {
            close("outputs", kv * group + i, outputs, near[0]);
        }
    }
}

/// Multiplies what every read's tokens weigh with the values, and holds that against what the layer returned.
fn check_effective(setup: &Setup, trace: &LaneTrace) {
    let stream = &setup.stream;
    let dv = stream.value_dim();
    for query_head in 0..stream.query_heads() {
        let values = stream.values().index_axis(Axis(0), stream.kv_head_of(query_head));
        for (read, &after) in stream.after().iter().enumerate() {
            let query = stream.query(query_head, read).to_vec();
            let found = ovq().effective(setup, trace, ReadOf { query_head, read, query: &query }).unwrap();
            assert_eq!((found.weights.len(), found.stores.len()), (after as usize, after as usize));
            let of_chunk = found.stores.iter().filter(|s| **s == Store::Chunk).count();
            assert_eq!(of_chunk, (after as usize - 1) % setup.chunk + 1);
            assert!((found.share(Store::Chunk) + found.share(Store::Centroid) - 1.0).abs() < 1e-9);
            for d in 0..dv {
                let sum: f64 = found.weights.iter().zip(values.column(d)).map(|(w, &v)| w * f64::from(v)).sum();
                let returned = trace.channel("outputs").unwrap().values(query_head).get(read * dv + d).unwrap();
                assert!((sum - returned).abs() < 1e-4, "read {read} of head {query_head}: {sum}, {returned} returned");
            }
        }
    }
}

/// Stops after `at` chunks, puts the state into another layer that has run elsewhere, and goes on there.
fn check_restore(setup: &Setup, at: usize, build: &dyn Fn() -> Box<dyn Layer>) {
    let whole = finish(ovq(), setup, build(), 2);
    let mut first = build();
    first.advance(at, Record::StateOnly, &mut TraceBlock::default()).unwrap();
    let snapshot = first.snapshot().unwrap();
    let mut second = build();
    second.advance(usize::MAX / 2, Record::StateOnly, &mut TraceBlock::default()).unwrap();
    second.restore(&snapshot).unwrap();
    assert_eq!(second.position(), at);
    assert_same_state(&second.snapshot().unwrap(), &snapshot);
    let mut block = TraceBlock::default();
    second.advance(usize::MAX / 2, Record::All, &mut block).unwrap();
    assert_same_state(&second.snapshot().unwrap(), &whole.1);
    for piece in &block.pieces {
        let channel = &whole.0.channels()[piece.channel];
        let width = if piece.range.is_empty() { 0 } else { piece.values.len() / piece.range.len() / channel.heads() };
        for head in 0..channel.heads() {
            let own = piece.values.slice(head * piece.range.len() * width..(head + 1) * piece.range.len() * width);
            let expected = channel.values(head).slice(piece.range.start * width..piece.range.end * width);
            assert_eq!(bits(&own), bits(&expected), "{} of head {head}", channel.spec().name);
        }
    }
}

#[test]
fn equal_keys_go_to_the_lower_row_and_found_in_the_order_of_the_stream() {
    // Four copies each of two orthogonal keys, in chunks of 4, every write founding a row until 5 are in use.
    let mut keys = Array3::zeros((1, 8, 2));
    for i in 0..8 {
        keys[[0, i, i / 4]] = 1.0;
    }
    let base = Workload { dk: 2, dv: 1, ..Workload::causal(8) }.stream().unwrap();
    let stream = Stream::new(StreamParts {
        queries: keys.clone(),
        keys,
        values: base.values().clone(),
        after: base.after().to_vec(),
        beta: 1.0,
        targets: base.targets().clone(),
        labels: base.labels().clone(),
    })
    .unwrap();
    let params = Params::default().with("n_max", 5).with("chunk", 4).with("growth", "saturating");
    let params = Resolved::new("ovq", ovq().params(), &params).unwrap();
    let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::default(), chunk: 4, hands: Arc::default() };
    let check = |(trace, _): Outcome| {
        // The first chunk founds rows 0 to 3 with the same key; in the second all are equally far, so its first founds row
        // 4, and the others go to the lowest of four equally near rows.
        assert_eq!(trace.channel("assignments").unwrap().wholes(0), [0, 1, 2, 3, 4, 0, 0, 0]);
        assert_eq!(trace.channel("is_new").unwrap().wholes(0), [1, 1, 1, 1, 1, 0, 0, 0]);
        assert_eq!(trace.channel("similarity").unwrap().reals(0), [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(trace.channel("assign_margin").unwrap().reals(0)[4..], [0.0; 4]);
        assert_eq!(trace.channel("select_margin").unwrap().reals(0), [f32::INFINITY, 0.0]);
    };
    check(cpu(&setup, Precision::Single, 1));
    if let Some(gpu) = gpu_or_skip() {
        check(on_gpu(&gpu, &setup, 2));
    }
}

/// One row gets everything. One write a chunk: in half floats its count stalls at 2048, and with it the learning rate. 64 a chunk: every
/// sum is a half float, and nothing changes, to the bit.
#[test]
fn counts_in_half_floats_stall_where_a_chunk_adds_one() {
    let run = |counts: &str, chunk: i64| {
        let workload = Workload { dk: 3, dv: 2, reads: 12, ..Workload::causal(2200) };
        let params = Params::default().with("n_max", 1).with("chunk", chunk).with("counts", counts);
        let setup = workload.setup(ovq(), &params).unwrap();
        let outcome = cpu(&setup, Precision::Single, 3);
        let derived = ovq().derived(&setup, &outcome.0, 0);
        let told = derived.iter().find(|d| d.name == "counts").unwrap().values.as_i32().unwrap().last().copied();
        let held = outcome.1.array("counts").unwrap().values.as_i32().unwrap().to_vec();
        assert_eq!(held, [told.unwrap()], "what is told of the counts is what the layer has");
        check_effective(&setup, &outcome.0);
        (held[0], outcome)
    };
    assert_eq!([run("float32", 1).0, run("float16", 1).0], [2200, 2048]);
    let ((a, exact), (b, half)) = (run("float32", 64), run("float16", 64));
    assert_eq!([a, b], [2200, 2200]);
    assert_same(&exact, &half);
    // Three a chunk: 682 chunks make 2046, the next 2048 (of 2049), and each of the 50 that follow four more (2051 is 2052); one write is left,
    // and lost.
    assert_eq!(run("float16", 3).0, 2048 + 4 * 50);
}

#[test]
fn what_is_beyond_a_limit_is_named() {
    let setup = |workload: Workload| workload.setup(ovq(), &Params::default());
    let error = setup(Workload { dk: 257, ..Workload::causal(4) }).unwrap_err();
    assert_eq!(error.to_string(), "ovq.stream's dk is 257, but must be from 1 to 256");
    let error = setup(Workload { dk: 1, dv: 1, reads: 1, ..Workload::causal(131_073) }).unwrap_err();
    assert_eq!(error.to_string(), "ovq.stream's T (writes) is 131073, but must be from 1 to 131072");
    let error = Workload::causal(4).setup(ovq(), &Params::default().with("n_max", 16_385)).unwrap_err();
    assert!(matches!(error, ParamError::Range { ref name, .. } if name == "n_max"), "{error}");
}

#[test]
fn a_state_of_another_run_is_refused() {
    let setup = |n: i64| Workload::causal(300).setup(ovq(), &Params::default().with("n_max", n)).unwrap();
    let (_, snapshot) = cpu(&setup(32), Precision::Single, 9);
    let mut other = ovq().cpu(&setup(64), Precision::Single).unwrap();
    assert!(other.restore(&snapshot).unwrap_err().to_string().contains("dict_k"));
    let mut double = ovq().cpu(&setup(32), Precision::Double).unwrap();
    assert!(double.restore(&snapshot).unwrap_err().to_string().contains("precision"));
}

/// Streams of fixed seeds in which no choice is closer than float32 can tell.
fn gpu_setups() -> Vec<Setup> {
    let setup = |workload: Workload, params: Params| workload.setup(ovq(), &params).unwrap();
    let base = Workload::causal(70);
    vec![
        // Grouped queries, dimensions that are no multiples of 4, a ragged last chunk.
        setup(Workload { dk: 5, dv: 3, kv_heads: 2, query_heads: 6, ..base }, Params::default().with("n_max", 24).with("chunk", 16)),
        // Token by token, one number a key.
        setup(
            Workload { dk: 1, dv: 1, seed: 1, ..Workload::causal(12) },
            Params::default().with("n_max", 6).with("chunk", 1).with("growth", "saturating"),
        ),
        // The largest dimensions, unit centroids, few reads.
        setup(
            Workload { dk: 256, dv: 256, reads: 9, ..base },
            Params::default().with("n_max", 30).with("chunk", 33).with("growth", "linear").with("normalise_centroids", true),
        ),
        // A constant rate without count bias, and a stream shorter than a chunk.
        setup(
            Workload { dk: 8, dv: 4, kv_heads: 3, query_heads: 3, ..Workload::causal(90) },
            Params::default().with("n_max", 10).with("chunk", 20).with("rate", "constant").with("count_bias", false),
        ),
        setup(Workload { dk: 8, dv: 4, ..Workload::causal(20) }, Params::default().with("chunk", 64)),
        setup(
            Workload { dk: 6, dv: 3, kv_heads: 2, query_heads: 4, ..base },
            Params::default().with("n_max", 24).with("chunk", 16).with("founding", "random").with("seed", (1_i64 << 40) + 7),
        ),
        setup(
            Workload { dk: 6, dv: 3, kv_heads: 2, query_heads: 4, ..base },
            Params::default().with("n_max", 24).with("chunk", 16).with("founding", "farthest-point").with("rate", "constant"),
        ),
        // Counts in half floats, beyond what they can tell apart: every chunk of three counts for four.
        setup(
            Workload { dk: 2, dv: 2, reads: 20, ..Workload::causal(2300) },
            Params::default().with("n_max", 1).with("chunk", 3).with("counts", "float16"),
        ),
        // So many rounds of such keys that they need two dispatches; every write of the first chunk founds a row.
        setup(
            Workload { dk: 256, dv: 2, reads: 20, ..Workload::causal(150) },
            Params::default().with("n_max", 140).with("chunk", 130).with("growth", "saturating").with("founding", "farthest-point"),
        ),
    ]
}

#[test]
fn the_gpu_agrees_with_its_twin() {
    let Some(gpu) = gpu_or_skip() else { return };
    for setup in gpu_setups() {
        let (ours, reference) = (on_gpu(&gpu, &setup, 3), cpu(&setup, Precision::Single, 3));
        for (x, y) in ours.0.channels().iter().zip(reference.0.channels()) {
            for head in 0..x.heads() {
                let (a, b) = (x.values(head), y.values(head));
                assert_eq!(a.len(), b.len());
                for i in 0..a.len() {
                    let (a, b) = (a.get(i).unwrap(), b.get(i).unwrap());
                    // Choices and infinities exactly; numbers of unit scale closely.
                    assert!(a == b || (a - b).abs() < 1e-5, "{} of head {head} at {i}: {a} and {b}", x.spec().name);
                }
            }
        }
        for (x, y) in ours.1.arrays.iter().zip(&reference.1.arrays) {
            assert_eq!((x.name, &x.shape), (y.name, &y.shape));
            assert!((0..x.values.len()).all(|i| (x.values.get(i).unwrap() - y.values.get(i).unwrap()).abs() < 1e-5), "{}", x.name);
        }
        check_effective(&setup, &ours.0);
        if setup.stream.key_dim() > 1 {
            check_page(&setup, &ours.0, [1e-4, 1e-5]);
            check_page(&setup, &reference.0, [1e-4, 1e-5]);
        }
    }
}

/// `cargo test --release --test ovq how_long -- --ignored --nocapture`
#[test]
#[ignore = "prints how long effective attention takes on a long stream"]
fn how_long_effective_attention_takes() {
    let workload = Workload { reads: 8, ..Workload::causal(65_536) };
    let setup = workload.setup(ovq(), &Params::default().with("n_max", 2048).with("chunk", 128)).unwrap();
    let (trace, _) = cpu(&setup, Precision::Single, 64);
    let query = setup.stream.query(0, 7).to_vec();
    let start = std::time::Instant::now();
    let found = ovq().effective(&setup, &trace, ReadOf { query_head: 0, read: 7, query: &query }).unwrap();
    println!("{} tokens: {:?}", found.weights.len(), start.elapsed());
}

#[test]
fn the_gpu_gives_the_same_bits_again_in_steps_and_restored() {
    let Some(gpu) = gpu_or_skip() else { return };
    let setup = &gpu_setups()[0];
    let once = on_gpu(&gpu, setup, 5);
    assert_same(&once, &on_gpu(&gpu, setup, 5));
    assert_same(&once, &on_gpu(&gpu, setup, 1));
    let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
    check_restore(setup, 2, &|| ovq().gpu(setup, &stream).unwrap());
}
