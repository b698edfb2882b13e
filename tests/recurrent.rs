//! `DeltaNet`, Gated `DeltaNet` and Mamba-2: identities, a plain loop over the definition, gates, and one implementation
//! against another.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "common/stream.rs"]
mod common;

use std::sync::Arc;

use common::Shape;
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::effective::{ReadOf, Store};
use mnemoscope::layer::{self, Arrays, Layer, LayerKind, Precision, Record, Setup, Snapshot};
use mnemoscope::param::{Params, Resolved};
use mnemoscope::stream::{Gates, Labels, Stream, StreamParts, Targets};
use mnemoscope::trace::{LaneTrace, TraceBlock, Values};
use ndarray::{Array2, Array3, s};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Uniform};

const SMALL: Shape = Shape { kv_heads: 2, group: 2, writes: 90, reads: 0, dk: 5, dv: 3, seed: 1 };

fn stream(shape: Shape) -> Stream {
    common::random(shape, 1.0)
}

/// Gates that differ from write to write and head to head, exact in float32.
fn gates(stream: &Stream) -> Gates {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut of = |from: f32, to: f32| -> Array2<f32> {
        let range = Uniform::new_inclusive(from, to).unwrap();
        Array2::from_shape_simple_fn((stream.kv_heads(), stream.writes()), || range.sample(&mut rng))
    };
    Gates { decay: Some(of(0.8, 1.0)), rate: Some(of(0.0, 1.5)) }
}

fn setup(kind: &dyn LayerKind, stream: &Stream, params: &Params, chunk: usize) -> Setup {
    let params = Resolved::new(kind.name(), kind.params(), params).unwrap();
    let setup = Setup { stream: Arc::new(stream.clone()), params, arrays: Arc::new(Arrays::new()), chunk, hands: Arc::default() };
    kind.check(&setup).unwrap();
    setup
}

#[derive(Clone)]
enum Engine {
    Single,
    Double,
    Gpu(Arc<Gpu>),
}

impl Engine {
    fn build(&self, kind: &dyn LayerKind, setup: &Setup) -> Box<dyn Layer> {
        match self {
            Self::Single => kind.cpu(setup, Precision::Single).unwrap(),
            Self::Double => kind.cpu(setup, Precision::Double).unwrap(),
            Self::Gpu(gpu) => kind.gpu(setup, &GpuStream::new(gpu, &setup.stream).unwrap()).unwrap(),
        }
    }

    /// The engines that work in float32.
    fn single() -> Vec<Self> {
        std::iter::once(Self::Single).chain(gpu_or_skip().map(Self::Gpu)).collect()
    }

    /// All of them, with what each may be off by.
    fn all() -> Vec<(Self, f64)> {
        std::iter::once((Self::Double, 1e-12)).chain(Self::single().into_iter().map(|e| (e, 2e-5))).collect()
    }
}

fn advance(layer: &mut dyn Layer, chunks: usize, record: Record, trace: &mut LaneTrace) {
    let mut block = TraceBlock::default();
    layer.advance(chunks, record, &mut block).unwrap();
    trace.append(&block).unwrap();
}

/// A channel's numbers by head.
type Numbers = Vec<Vec<f64>>;

fn numbers(trace: &LaneTrace, name: &str) -> Numbers {
    let channel = trace.channel(name).unwrap();
    (0..channel.heads()).map(|h| (0..channel.values(h).len()).map(|i| channel.values(h).get(i).unwrap()).collect()).collect()
}

fn every_number(trace: &LaneTrace) -> Vec<Numbers> {
    trace.channels().iter().map(|c| numbers(trace, c.spec().name)).collect()
}

/// A whole run, and the state at its end.
fn run(kind: &dyn LayerKind, engine: &Engine, setup: &Setup) -> (LaneTrace, Snapshot) {
    let mut layer = engine.build(kind, setup);
    let mut trace = LaneTrace::new(&kind.channels(setup), setup.stream.kv_heads(), setup.stream.query_heads());
    advance(&mut *layer, usize::MAX, Record::All, &mut trace);
    (trace, layer.snapshot().unwrap())
}

fn kind(name: &str) -> &'static dyn LayerKind {
    layer::kind(name).unwrap()
}

fn all() -> [&'static dyn LayerKind; 3] {
    ["deltanet", "gated_deltanet", "mamba2"].map(kind)
}

fn assert_near(found: &[Vec<f64>], expected: &[Vec<f64>], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (h, (f, e)) in found.iter().zip(expected).enumerate() {
        assert_eq!(f.len(), e.len(), "{what}, head {h}");
        for (i, (f, e)) in f.iter().zip(e).enumerate() {
            assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{what}, head {h}, number {i}: {f} but {e}");
        }
    }
}

/// What the definition says, in float64, with whole matrices.
struct Expected {
    /// [query heads][reads * dv].
    outputs: Numbers,
    /// [heads][writes].
    errors: Numbers,
    /// |S| after each write [heads][writes].
    norms: Numbers,
    /// [heads][dk * dv].
    state: Numbers,
}

fn by_definition(stream: &Stream, erases: bool, gate: impl Fn(usize, usize) -> (f64, f64)) -> Expected {
    let row = |a: &Array3<f32>, h: usize, i: usize| -> Vec<f64> {
        let row: Vec<f64> = a.slice(s![h, i, ..]).iter().map(|&x| f64::from(x)).collect();
        let length = if erases { row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12) } else { 1.0 };
        row.into_iter().map(|x| x / length).collect()
    };
    let (dk, dv) = (stream.key_dim(), stream.value_dim());
    let answer = |state: &[f64], x: &[f64]| -> Vec<f64> { (0..dv).map(|c| (0..dk).map(|j| x[j] * state[j * dv + c]).sum()).collect() };
    let mut expected =
        Expected { outputs: vec![Vec::new(); stream.query_heads()], errors: Vec::new(), norms: Vec::new(), state: Vec::new() };
    for head in 0..stream.kv_heads() {
        let mut state = vec![0.0; dk * dv];
        let (mut errors, mut norms) = (Vec::new(), Vec::new());
        for write in 0..stream.writes() {
            let (a, b) = gate(head, write);
            let (k, mut v) = (row(stream.keys(), head, write), stream.values().slice(s![head, write, ..]).mapv(f64::from).to_vec());
            for x in &mut state {
                *x *= a;
            }
            if erases {
                v.iter_mut().zip(answer(&state, &k)).for_each(|(v, a)| *v -= a);
                errors.push(v.iter().map(|x| x * x).sum::<f64>().sqrt());
            }
            for (j, k) in k.iter().enumerate() {
                for (c, v) in v.iter().enumerate() {
                    state[j * dv + c] += b * k * v;
                }
            }
            norms.push(state.iter().map(|x| x * x).sum::<f64>().sqrt());
            for (read, _) in stream.after().iter().enumerate().filter(|(_, a)| **a as usize == write + 1) {
                for query_head in (0..stream.query_heads()).filter(|&h| stream.kv_head_of(h) == head) {
                    expected.outputs[query_head].extend(answer(&state, &row(stream.queries(), query_head, read)));
                }
            }
        }
        expected.errors.push(errors);
        expected.norms.push(norms);
        expected.state.push(state);
    }
    expected
}

/// Grouped queries, a chunk that divides nothing, several blocks of columns, and gates that differ for each write.
#[test]
fn all_that_is_written_is_what_the_definition_says() {
    for shape in [SMALL, Shape { kv_heads: 3, group: 3, writes: 130, reads: 31, dk: 19, dv: 37, seed: 2 }] {
        let plain = stream(shape);
        let own = gates(&plain);
        let gated = plain.clone().with_gates(own.clone()).unwrap();
        let (decay, rate) = (own.decay.unwrap(), own.rate.unwrap());
        for kind in all() {
            let delta = kind.name() == "deltanet";
            let params = if delta { Params::default().with("rate", 0.75) } else { Params::default().with("decay", 0.9375) };
            let constant = |_, _| if delta { (1.0, 0.75) } else { (0.9375, 1.0) };
            let varying = |h, i| (if delta { 1.0 } else { f64::from(decay[[h, i]]) }, f64::from(rate[[h, i]]));
            let erases = kind.name() != "mamba2";
            for (stream, expected) in [(&plain, by_definition(&plain, erases, constant)), (&gated, by_definition(&gated, erases, varying))]
            {
                let setup = setup(kind, stream, &params, 41);
                for (engine, tolerance) in Engine::all() {
                    let (trace, snapshot) = run(kind, &engine, &setup);
                    assert_near(&numbers(&trace, "outputs"), &expected.outputs, tolerance, kind.name());
                    let ends: Vec<usize> = (0..stream.chunks(41)).map(|c| stream.chunk_range(41, c).end - 1).collect();
                    let norms: Numbers = expected.norms.iter().map(|n| ends.iter().map(|&i| n[i]).collect()).collect();
                    assert_near(&numbers(&trace, "state_norm"), &norms, tolerance, kind.name());
                    if erases {
                        assert_near(&numbers(&trace, "write_error"), &expected.errors, tolerance, kind.name());
                    } else {
                        assert!(trace.channel("write_error").is_none());
                    }
                    let state = snapshot.array("state").unwrap();
                    assert_eq!(state.shape, [stream.kv_heads(), stream.key_dim(), stream.value_dim()]);
                    let held: Vec<f64> = (0..state.values.len()).map(|i| state.values.get(i).unwrap()).collect();
                    assert_near(&[held], &[expected.state.concat()], tolerance, kind.name());
                    assert_eq!(kind.cost(&setup).state_numbers as usize * stream.kv_heads(), state.values.len());
                }
            }
        }
    }
}

/// One key twice: the delta rule returns the newer value, Mamba-2 the sum; a key of no length writes nothing.
#[test]
fn a_write_replaces_or_adds() {
    let stream = Stream::new(StreamParts {
        keys: Array3::from_shape_vec((1, 3, 2), vec![0.0, 4.0, 0.0, 4.0, 0.0, 0.0]).unwrap(),
        values: Array3::from_shape_vec((1, 3, 1), vec![3.0, 8.0, 5.0]).unwrap(),
        queries: Array3::from_shape_vec((1, 3, 2), vec![0.0, 2.0, 0.0, 2.0, 0.0, 2.0]).unwrap(),
        after: vec![1, 2, 3],
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    for (name, params, expected, errors) in [
        ("deltanet", Params::default(), [3.0, 8.0, 8.0], [3.0, 5.0, 5.0]),
        // Half of 3 is put right: 1.5. Decayed to 0.75 it is 7.25 off 8, and half of that is put right. The third write only decays.
        ("gated_deltanet", Params::default().with("decay", 0.5).with("rate", 0.5), [1.5, 4.375, 2.1875], [3.0, 7.25, 5.0]),
        // q.k = 8: 24, then half of it and 64.
        ("mamba2", Params::default().with("decay", 0.5), [24.0, 76.0, 38.0], [0.0; 3]),
    ] {
        let setup = setup(kind(name), &stream, &params, 2);
        for (engine, _) in Engine::all() {
            let trace = run(kind(name), &engine, &setup).0;
            assert_eq!(numbers(&trace, "outputs"), [expected], "{name}");
            if name != "mamba2" {
                assert_eq!(numbers(&trace, "write_error"), [errors], "{name}");
            }
        }
    }
}

#[test]
fn gates_of_one_number_are_the_parameter() {
    let plain = stream(SMALL);
    let same = |x: f32| Some(Array2::from_elem((2, plain.writes()), x));
    let gated = plain.clone().with_gates(Gates { decay: same(0.98), rate: same(0.7) }).unwrap();
    for kind in all() {
        let mut params = Params::default().with(if kind.name() == "mamba2" { "step" } else { "rate" }, 0.7);
        if kind.name() != "deltanet" {
            params.set("decay", 0.98);
        }
        for engine in Engine::single() {
            let (a, b) =
                (run(kind, &engine, &setup(kind, &plain, &params, 20)), run(kind, &engine, &setup(kind, &gated, &Params::default(), 20)));
            assert_eq!((every_number(&a.0), a.1), (every_number(&b.0), b.1), "{}", kind.name());
        }
    }
}

#[test]
fn what_the_gates_replace_is_said_and_checked() {
    let plain = stream(SMALL);
    let own = gates(&plain);
    let only_decay = plain.clone().with_gates(Gates { rate: None, ..own.clone() }).unwrap();
    let gated = plain.clone().with_gates(own).unwrap();
    let as_is = |name: &str, stream: &Stream| kind(name).notes(&setup(kind(name), stream, &Params::default(), 8)).concat();
    // What a layer does to keys that are not of length 1 is said too.
    assert!(as_is("deltanet", &plain).contains("they are normalised inside the layer"));
    assert!(as_is("mamba2", &plain).contains("nothing is normalised"));
    let notes = |name: &str, stream: &Stream| as_is(name, &stream.normalised());
    assert!(all().iter().all(|k| notes(k.name(), &plain).is_empty()));
    assert_eq!(notes("deltanet", &only_decay), "");
    assert_eq!(notes("deltanet", &gated), "rate: the stream's own for each write, in place of the parameter");
    assert_eq!(notes("mamba2", &gated), "decay and step: the stream's own for each write, in place of the parameter");
    let mut rates = Array2::from_elem((2, plain.writes()), 2.0);
    rates[[1, 7]] = 2.5;
    let wild = Arc::new(plain.with_gates(Gates { decay: None, rate: Some(rates) }).unwrap());
    let check = |name: &str| {
        let params = Resolved::new("my lane", kind(name).params(), &Params::default()).unwrap();
        kind(name).check(&Setup { stream: Arc::clone(&wild), params, arrays: Arc::default(), chunk: 4, hands: Arc::default() })
    };
    let error = check("gated_deltanet").unwrap_err().to_string();
    let expected = "my lane.rate is 1, but the stream's own rate is 2.5 at [head 1, write 7]: over 2 the delta rule grows without end";
    assert_eq!(error, expected);
    check("mamba2").unwrap();
}

#[test]
fn gated_without_decay_is_deltanet() {
    let s = stream(Shape { dk: 20, dv: 7, ..SMALL });
    let (delta, gated) = (kind("deltanet"), kind("gated_deltanet"));
    let params = Params::default().with("rate", 0.9);
    for (engine, _) in Engine::all() {
        let a = run(delta, &engine, &setup(delta, &s, &params, 20));
        let b = run(gated, &engine, &setup(gated, &s, &params.clone().with("decay", 1.0), 20));
        assert_eq!((every_number(&a.0), a.1), (every_number(&b.0), b.1));
    }
}

#[test]
fn mamba2_without_decay_is_linear_attention_with_nothing_around_it() {
    let s = stream(SMALL);
    let mamba = kind("mamba2");
    let wide = |row: ndarray::ArrayView1<'_, f32>| row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let sum = |h: usize, r: usize| {
        let q = wide(s.query(h, r));
        let mut out = vec![0.0; s.value_dim()];
        for i in 0..s.after()[r] as usize {
            let weight: f64 = wide(s.keys().slice(s![s.kv_head_of(h), i, ..])).iter().zip(&q).map(|(k, q)| k * q).sum();
            out.iter_mut().zip(s.values().slice(s![s.kv_head_of(h), i, ..])).for_each(|(o, &v)| *o += weight * f64::from(v));
        }
        out
    };
    let expected: Numbers = (0..s.query_heads()).map(|h| (0..s.reads()).flat_map(|r| sum(h, r)).collect()).collect();
    let setup = setup(mamba, &s, &Params::default().with("decay", 1.0), 33);
    for (engine, tolerance) in Engine::all() {
        assert_near(&numbers(&run(mamba, &engine, &setup).0, "outputs"), &expected, tolerance, "mamba2");
    }
}

/// Reads ask; nothing depends on their being there, silent or not.
#[test]
fn reads_change_nothing() {
    let s = stream(SMALL);
    let silent = s.clone().with_silent(vec![true; s.reads()]).unwrap();
    let none = Stream::new(StreamParts {
        keys: s.keys().clone(),
        values: s.values().clone(),
        queries: Array3::zeros((4, 0, 5)),
        after: Vec::new(),
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    for kind in all() {
        for engine in Engine::single() {
            let run = |stream: &Stream| run(kind, &engine, &setup(kind, stream, &Params::default(), 40));
            let (all, quiet, without) = (run(&s), run(&silent), run(&none));
            assert_eq!((every_number(&all.0), &all.1), (every_number(&quiet.0), &quiet.1), "{}", kind.name());
            assert_eq!((&every_number(&all.0)[1..], &all.1), (&every_number(&without.0)[1..], &without.1), "{}", kind.name());
        }
    }
}

/// Also more loops than software adapters run in one dispatch, and one workgroup's columns more or less.
#[test]
fn the_smallest_and_the_largest_sizes_work() {
    let cases = [(1, 1, 70, 1), (256, 256, 40, 1024), (1, 256, 70, 64), (256, 1, 1100, 1024), (17, 5, 1, 8), (16, 4, 3, 1)];
    for (dk, dv, writes, chunk) in cases {
        let reads = if writes > 100 { 9 } else { 0 };
        let s = stream(Shape { kv_heads: 1, group: 1, writes, reads, dk, dv, seed: 3 });
        for kind in all() {
            let setup = setup(kind, &s, &Params::default(), chunk);
            let double = run(kind, &Engine::Double, &setup).0;
            for engine in Engine::single() {
                let trace = run(kind, &engine, &setup).0;
                for spec in kind.channels(&setup) {
                    let what = format!("{} {} {dk} {dv}", kind.name(), spec.name);
                    // Sums of a thousand terms of Mamba-2 are larger than what is left of them.
                    let tolerance = if kind.name() == "mamba2" { 2e-4 } else { 2e-5 };
                    assert_near(&numbers(&trace, spec.name), &numbers(&double, spec.name), tolerance, &what);
                }
            }
        }
    }
}

/// Many reads at one place: more than a workgroup answers at once, and more query heads than that.
#[test]
fn many_reads_after_one_write_are_all_answered() {
    let mut parts_of = stream(Shape { kv_heads: 1, group: 9, writes: 12, reads: 300, dk: 6, dv: 5, seed: 4 });
    let after: Vec<u32> = (0..300).map(|r| if r < 5 { 1 } else { 7 + (r / 200) * 5 }).collect();
    parts_of = Stream::new(StreamParts {
        keys: parts_of.keys().clone(),
        values: parts_of.values().clone(),
        queries: parts_of.queries().clone(),
        after,
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    let expected = by_definition(&parts_of, true, |_, _| (1.0, 1.0)).outputs;
    let setup = setup(kind("deltanet"), &parts_of, &Params::default(), 5);
    for (engine, tolerance) in Engine::all() {
        assert_near(&numbers(&run(kind("deltanet"), &engine, &setup).0, "outputs"), &expected, tolerance, "deltanet");
    }
}

#[test]
fn effective_weights_times_values_are_the_output() {
    let plain = stream(Shape { writes: 60, reads: 7, ..SMALL });
    let gated = plain.clone().with_gates(gates(&plain)).unwrap();
    for (kind, stream) in all().into_iter().flat_map(|k| [(k, &plain), (k, &gated)]) {
        let setup = setup(kind, stream, &Params::default(), 16);
        let empty = LaneTrace::new(&[], 2, 4);
        let sum = |query_head: usize, read: usize| {
            let query = stream.query(query_head, read).to_vec();
            let effective = kind.effective(&setup, &empty, ReadOf { query_head, read, query: &query }).unwrap();
            let after = stream.after()[read] as usize;
            assert_eq!((effective.weights.len(), effective.stores.len()), (after, after));
            assert!(effective.stores.iter().all(|s| *s == Store::State));
            let mut out = vec![0.0; stream.value_dim()];
            for (i, w) in effective.weights.iter().enumerate() {
                out.iter_mut()
                    .zip(stream.values().slice(s![stream.kv_head_of(query_head), i, ..]))
                    .for_each(|(o, &v)| *o += w * f64::from(v));
            }
            out
        };
        let sums: Numbers = (0..4).map(|h| (0..stream.reads()).flat_map(|r| sum(h, r)).collect()).collect();
        for (engine, tolerance) in Engine::all() {
            assert_near(&numbers(&run(kind, &engine, &setup).0, "outputs"), &sums, tolerance, kind.name());
        }
    }
}

#[test]
fn states_of_others_are_refused() {
    let s = stream(SMALL);
    let setup = setup(kind("deltanet"), &s, &Params::default(), 40);
    for engine in Engine::single() {
        let mut layer = engine.build(kind("deltanet"), &setup);
        let good = layer.snapshot().unwrap();
        let mut bad = good.clone();
        bad.arrays[0].shape = vec![2, 3, 5];
        assert!(layer.restore(&bad).unwrap_err().to_string().contains("`state` is [2, 3, 5]"));
        bad = good.clone();
        bad.arrays[0].values = Values::F64(vec![0.0; 30]);
        assert!(layer.restore(&bad).is_err());
        bad = good.clone();
        bad.position = 4;
        assert!(layer.restore(&bad).is_err());
        layer.restore(&good).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reads are answered between writes, so that a chunk is only a place to stop at.
    #[test]
    fn the_chunk_changes_no_bit(a in 1_usize..120, b in 1_usize..120, seed in any::<u64>()) {
        let s = stream(Shape { seed, dv: 37, ..SMALL });
        for kind in all() {
            for engine in Engine::single() {
                let run = |chunk| run(kind, &engine, &setup(kind, &s, &Params::default(), chunk));
                let (a, b) = (run(a), run(b));
                prop_assert_eq!(numbers(&a.0, "outputs"), numbers(&b.0, "outputs"));
                prop_assert_eq!(&a.1.arrays, &b.1.arrays);
                if kind.name() != "mamba2" {
                    prop_assert_eq!(numbers(&a.0, "write_error"), numbers(&b.0, "write_error"));
                }
            }
        }
    }

    #[test]
    fn a_head_is_the_same_alone(kv in 0_usize..2, member in 0_usize..2, seed in any::<u64>()) {
        let s = stream(Shape { seed, ..SMALL });
        let head = |a: &Array3<f32>, h: usize| a.slice(s![h..=h, .., ..]).to_owned();
        let alone = Stream::new(StreamParts {
            keys: head(s.keys(), kv),
            values: head(s.values(), kv),
            queries: head(s.queries(), kv * 2 + member),
            after: s.after().to_vec(),
            beta: s.beta(),
            targets: Targets::None,
            labels: Labels::default(),
        }).unwrap();
        for kind in all() {
            for engine in Engine::single() {
                let together = numbers(&run(kind, &engine, &setup(kind, &s, &Params::default(), 40)).0, "outputs");
                let alone = numbers(&run(kind, &engine, &setup(kind, &alone, &Params::default(), 40)).0, "outputs");
                prop_assert_eq!(&together[kv * 2 + member], &alone[0], "{}", kind.name());
            }
        }
    }

    /// Whole, in pieces, again, and restored in the middle, after a replay that records nothing: the same bits.
    #[test]
    fn runs_are_the_same_bit_for_bit(chunk in 1_usize..60, at in 0_usize..3, seed in any::<u64>()) {
        let s = stream(Shape { seed, ..SMALL });
        let s = s.clone().with_gates(gates(&s)).unwrap();
        for kind in all() {
            let setup = setup(kind, &s, &Params::default(), chunk);
            for engine in Engine::single() {
                let whole = run(kind, &engine, &setup);
                let whole = (every_number(&whole.0), whole.1);
                let half = s.chunks(chunk).min(at);
                let mut trace = LaneTrace::new(&kind.channels(&setup), s.kv_heads(), s.query_heads());
                let mut first = engine.build(kind, &setup);
                for _ in 0..half {
                    advance(&mut *first, 1, Record::All, &mut trace);
                }
                let snapshot = first.snapshot().unwrap();
                let mut quiet = engine.build(kind, &setup);
                advance(&mut *quiet, half, Record::StateOnly, &mut LaneTrace::new(&[], 1, 1));
                prop_assert_eq!(&snapshot, &quiet.snapshot().unwrap(), "{} quietly", kind.name());
                let mut second = engine.build(kind, &setup);
                advance(&mut *second, 1, Record::StateOnly, &mut LaneTrace::new(&[], 1, 1));
                second.restore(&snapshot).unwrap();
                advance(&mut *second, usize::MAX, Record::All, &mut trace);
                prop_assert_eq!(&whole, &(every_number(&trace), second.snapshot().unwrap()), "{} restored", kind.name());
            }
        }
    }
}
