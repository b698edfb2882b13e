//! Full, sliding-window and linear attention: identities of LAYERS.md, one implementation against another, and a plain
//! loop over the definition.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "common/stream.rs"]
mod common;

use std::sync::Arc;

use common::Shape;
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::effective::{ReadOf, Store};
use mnemoscope::layer::{self, Arrays, Layer, LayerKind, Precision, Record, Setup, Snapshot};
use mnemoscope::param::{ParamError, Params, Resolved};
use mnemoscope::stream::{Labels, Stream, StreamParts, Targets};
use mnemoscope::trace::{LaneTrace, TraceBlock, Values};
use ndarray::Array3;
use proptest::prelude::*;

const SMALL: Shape = Shape { kv_heads: 2, group: 2, writes: 150, reads: 0, dk: 5, dv: 3, seed: 1 };

fn stream(shape: Shape) -> Stream {
    common::random(shape, 1.0 / (shape.dk as f32).sqrt())
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

    fn name(&self) -> &'static str {
        match self {
            Self::Single => "CPU, float32",
            Self::Double => "CPU, float64",
            Self::Gpu(_) => "GPU",
        }
    }

    /// The engines that work in float32.
    fn single() -> Vec<Self> {
        std::iter::once(Self::Single).chain(gpu_or_skip().map(Self::Gpu)).collect()
    }
}

fn advance(layer: &mut dyn Layer, chunks: usize, record: Record, trace: &mut LaneTrace) {
    let mut block = TraceBlock::default();
    layer.advance(chunks, record, &mut block).unwrap();
    trace.append(&block).unwrap();
}

/// Outputs of a whole run by query head, and the state at its end.
fn run(kind: &dyn LayerKind, engine: &Engine, setup: &Setup) -> (Vec<Vec<f64>>, Snapshot) {
    let mut layer = engine.build(kind, setup);
    let heads = setup.stream.query_heads();
    let mut trace = LaneTrace::new(&kind.channels(setup), setup.stream.kv_heads(), heads);
    advance(&mut *layer, usize::MAX, Record::All, &mut trace);
    (outputs(&trace, heads), layer.snapshot().unwrap())
}

fn outputs(trace: &LaneTrace, heads: usize) -> Vec<Vec<f64>> {
    let channel = trace.channel("outputs").unwrap();
    (0..heads).map(|h| (0..channel.values(h).len()).map(|i| channel.values(h).get(i).unwrap()).collect()).collect()
}

/// The definition, read by read and write by write, in float64. `weight(q, k)` is what a key weighs for a query.
fn by_definition(stream: &Stream, window: usize, epsilon: f64, weight: impl Fn(&[f64], &[f64]) -> f64) -> Vec<Vec<f64>> {
    let wide = |row: ndarray::ArrayView1<'_, f32>| row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let row = |a: &Array3<f32>, h: usize, i: usize| wide(a.slice(ndarray::s![h, i, ..]));
    let read = |h: usize, r: usize| {
        let (q, after) = (row(stream.queries(), h, r), stream.after()[r] as usize);
        let mut out = vec![0.0; stream.value_dim()];
        let mut sum = epsilon;
        for i in after.saturating_sub(window)..after {
            let w = weight(&q, &row(stream.keys(), stream.kv_head_of(h), i));
            sum += w;
            out.iter_mut().zip(row(stream.values(), stream.kv_head_of(h), i)).for_each(|(o, v)| *o += w * v);
        }
        out.into_iter().map(|x| x / sum).collect::<Vec<_>>()
    };
    (0..stream.query_heads()).map(|h| (0..stream.reads()).flat_map(|r| read(h, r)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn elu1(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| if x > 0.0 { x + 1.0 } else { x.exp() }).collect()
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

fn kind(name: &str) -> &'static dyn LayerKind {
    layer::kind(name).unwrap()
}

/// Every layer of this file with parameters that exercise it.
fn all() -> Vec<(&'static dyn LayerKind, Params)> {
    let maps = ["elu1", "relu", "hedgehog", "taylor2", "favor"];
    let linear = maps.map(|m| (kind("linear"), Params::default().with("fmap", m).with("features", 16)));
    // Large enough to matter, and larger for every further write.
    let misplaced = (kind("linear"), Params::default().with("epsilon", 0.25).with("epsilon_at", "mean"));
    let plain = [(kind("full"), Params::default()), (kind("window"), Params::default().with("window", 20)), misplaced];
    plain.into_iter().chain(linear).collect()
}

#[test]
fn blocks_spans_and_heads_give_what_the_definition_says() {
    // Longer than a block of keys (256) and some spans (512) of either implementation, with few and ragged reads.
    let long = Shape { writes: 2100, reads: 23, ..SMALL };
    for (shape, window) in [(SMALL, 20), (long, 1100), (Shape { writes: 1, ..SMALL }, 1)] {
        let s = stream(shape);
        let beta = f64::from(s.beta());
        let full = by_definition(&s, usize::MAX, 0.0, |q, k| (beta * dot(q, k)).exp());
        let windowed = by_definition(&s, window, 0.0, |q, k| (beta * dot(q, k)).exp());
        let linear = by_definition(&s, usize::MAX, 1e-6, |q, k| dot(&elu1(q), &elu1(k)));
        let params = Params::default().with("window", window as i64);
        let cases = [("full", Params::default(), full), ("window", params, windowed), ("linear", Params::default(), linear)];
        for (name, params, expected) in cases {
            let setup = setup(kind(name), &s, &params, 64);
            assert_near(&run(kind(name), &Engine::Double, &setup).0, &expected, 1e-12, name);
            for engine in Engine::single() {
                assert_near(&run(kind(name), &engine, &setup).0, &expected, 2e-5, name);
            }
        }
    }
}

/// What a layer returned, from effective attention: weights times values.
#[test]
fn effective_attention_gives_the_outputs() {
    let s = stream(SMALL);
    for (kind, params) in all() {
        let setup = setup(kind, &s, &params, 40);
        let heads = s.query_heads();
        for engine in Engine::single() {
            let mut trace = LaneTrace::new(&kind.channels(&setup), s.kv_heads(), heads);
            advance(&mut *engine.build(kind, &setup), usize::MAX, Record::All, &mut trace);
            let read = |query_head: usize, read: usize| {
                let query = s.query(query_head, read).to_vec();
                let found = kind.effective(&setup, &trace, ReadOf { query_head, read, query: &query }).unwrap();
                assert_eq!(found.weights.len(), s.after()[read] as usize);
                let values = s.values().index_axis(ndarray::Axis(0), s.kv_head_of(query_head)).mapv(f64::from);
                values.columns().into_iter().map(|c| found.weights.iter().zip(c).map(|(w, v)| w * v).sum()).collect::<Vec<f64>>()
            };
            let expected: Vec<Vec<f64>> = (0..heads).map(|h| (0..s.reads()).flat_map(|r| read(h, r)).collect()).collect();
            assert_near(&outputs(&trace, heads), &expected, 1e-4, &format!("{} {params:?} on {}", kind.name(), engine.name()));
        }
    }
}

/// (H / t) / (s / t + epsilon) is H / (s + t epsilon): a read after t writes, with the epsilon in the mean, is one with t times as
/// much in the sum. A quarter times a whole number is exact, so that the two are the same bits.
#[test]
fn an_epsilon_in_the_mean_is_t_times_as_much_in_the_sum() {
    let s = stream(Shape { writes: 70, reads: 9, ..SMALL });
    let linear = kind("linear");
    let outputs = |engine: &Engine, epsilon: f64, at: &str| {
        let params = Params::default().with("epsilon", epsilon).with("epsilon_at", at);
        run(linear, engine, &setup(linear, &s, &params, 20)).0
    };
    for engine in Engine::single().into_iter().chain([Engine::Double]) {
        let mean = outputs(&engine, 0.25, "mean");
        assert_ne!(mean, outputs(&engine, 0.25, "sum"), "{}", engine.name());
        for (read, &after) in s.after().iter().enumerate() {
            let sum = outputs(&engine, 0.25 * f64::from(after), "sum");
            for (m, s) in mean.iter().zip(&sum) {
                let of = read * SMALL.dv..(read + 1) * SMALL.dv;
                assert_eq!(m[of.clone()], s[of], "read {read} after {after} writes on {}", engine.name());
            }
        }
    }
    // And in the sum it is what the definition says.
    let expected = by_definition(&s, usize::MAX, 0.25, |q, k| dot(&elu1(q), &elu1(k)));
    assert_near(&outputs(&Engine::Double, 0.25, "sum"), &expected, 1e-12, "an epsilon of a quarter");
}

#[test]
fn what_left_the_window_is_gone() {
    let s = stream(SMALL);
    let setup = setup(kind("window"), &s, &Params::default().with("window", 20), 40);
    let query = s.query(0, 59).to_vec();
    let read = ReadOf { query_head: 0, read: 59, query: &query };
    let found = kind("window").effective(&setup, &LaneTrace::new(&[], 2, 4), read).unwrap();
    assert!(found.stores[..40].iter().all(|s| *s == Store::Gone) && found.weights[..40].iter().all(|w| w.to_bits() == 0));
    assert!(found.stores[40..].iter().all(|s| *s == Store::Window) && found.weights[40..].iter().all(|w| *w > 0.0));
    approx::assert_relative_eq!(found.share(Store::Window), 1.0, max_relative = 1e-12);
}

#[test]
fn the_smallest_and_the_largest_dimensions_work() {
    for (dk, dv, writes) in [(1, 1, 70), (256, 256, 1100), (1, 256, 70), (256, 1, 70)] {
        let s = stream(Shape { kv_heads: 1, group: 1, writes, reads: 9, dk, dv, seed: 3 });
        for (kind, params) in all() {
            if dk == 256 && params.get("fmap") == Some(&"taylor2".into()) {
                // 65793 features: the next test.
                continue;
            }
            let setup = setup(kind, &s, &params, writes.min(1024));
            let double = run(kind, &Engine::Double, &setup).0;
            for engine in Engine::single() {
                assert_near(&run(kind, &engine, &setup).0, &double, 1e-4, &format!("{} {params:?} {dk} {dv}", kind.name()));
            }
        }
    }
}

#[test]
fn the_largest_feature_map_works() {
    let s = stream(Shape { kv_heads: 1, group: 1, writes: 3, reads: 2, dk: 256, dv: 2, seed: 3 });
    let setup = setup(kind("linear"), &s, &Params::default().with("fmap", "taylor2"), 2);
    let double = run(kind("linear"), &Engine::Double, &setup).0;
    for engine in Engine::single() {
        assert_near(&run(kind("linear"), &engine, &setup).0, &double, 1e-4, engine.name());
    }
}

#[test]
fn a_stream_without_reads_only_moves_the_state() {
    let mut s = SMALL;
    s.reads = 1;
    let s = stream(s);
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
    for (kind, params) in all() {
        let (with, without) = (setup(kind, &s, &params, 40), setup(kind, &none, &params.clone().with("beta", f64::from(s.beta())), 40));
        for engine in Engine::single() {
            let (outputs, state) = run(kind, &engine, &without);
            assert!(outputs.iter().all(Vec::is_empty));
            assert_eq!(state, run(kind, &engine, &with).1, "{}", kind.name());
        }
    }
}

#[test]
fn what_is_too_large_is_named_with_its_limit() {
    let s = stream(Shape { dk: 257, writes: 4, ..SMALL });
    let resolved = Resolved::new("my lane", &[], &Params::default()).unwrap();
    let setup = Setup { stream: Arc::new(s), params: resolved, arrays: Arc::default(), chunk: 4, hands: Arc::default() };
    let error = kind("full").check(&setup).unwrap_err();
    assert_eq!(error.to_string(), "my lane.dk (numbers in a key) is 257, but must be from 1 to 256");
    let s = stream(Shape { kv_heads: 20, group: 1, dk: 256, dv: 255, writes: 2, reads: 1, seed: 1 });
    let params = Resolved::new("my lane", kind("linear").params(), &Params::default().with("fmap", "taylor2")).unwrap();
    let setup = Setup { stream: Arc::new(s), params, arrays: Arc::default(), chunk: 4, hands: Arc::default() };
    let error = kind("linear").check(&setup).unwrap_err();
    assert!(matches!(&error, ParamError::Conflict { name, value, .. } if name == "fmap" && value == "taylor2"), "{error}");
    assert!(error.to_string().ends_with("= 336860160 numbers; at most 268435456"), "{error}");
}

#[test]
fn the_state_is_what_was_added_up() {
    let s = stream(SMALL);
    let setup = setup(kind("linear"), &s, &Params::default().with("fmap", "relu"), 40);
    let (_, state) = run(kind("linear"), &Engine::Double, &setup);
    let expected = |head: usize, j: usize, column: Option<usize>| -> f64 {
        (0..s.writes())
            .map(|i| f64::from(s.keys()[[head, i, j]].max(0.0)) * column.map_or(1.0, |c| f64::from(s.values()[[head, i, c]])))
            .sum()
    };
    let (h, n) = (state.array("state").unwrap(), state.array("normaliser").unwrap());
    assert_eq!((h.shape.as_slice(), n.shape.as_slice()), ([2, 5, 3].as_slice(), [2, 5].as_slice()));
    for (index, (head, j)) in (0..2).flat_map(|h| (0..5).map(move |j| (h, j))).enumerate() {
        approx::assert_relative_eq!(n.values.get(index).unwrap(), expected(head, j, None), max_relative = 1e-12);
        for c in 0..3 {
            approx::assert_relative_eq!(h.values.get(index * 3 + c).unwrap(), expected(head, j, Some(c)), epsilon = 1e-12);
        }
    }
    let numbers: usize = state.arrays.iter().map(|a| a.values.len()).sum();
    assert_eq!(kind("linear").cost(&setup).state_numbers * 2, numbers as u64);
}

#[test]
fn states_of_others_are_refused() {
    let s = stream(SMALL);
    let setup = setup(kind("linear"), &s, &Params::default(), 40);
    for engine in Engine::single() {
        let mut layer = engine.build(kind("linear"), &setup);
        let good = layer.snapshot().unwrap();
        let mut bad = good.clone();
        bad.arrays[0].shape = vec![2, 3, 5];
        assert!(layer.restore(&bad).unwrap_err().to_string().contains("`state` is [2, 3, 5]"));
        bad = good.clone();
        bad.arrays[1].values = Values::F64(vec![0.0; 10]);
        assert!(layer.restore(&bad).is_err());
        bad = good.clone();
        bad.position = 5;
        assert!(layer.restore(&bad).is_err());
        layer.restore(&good).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_window_over_everything_is_full_attention(writes in 1_usize..400, beyond in 0_usize..50, seed in any::<u64>()) {
        let s = stream(Shape { writes, reads: 7, seed, ..SMALL });
        let full = setup(kind("full"), &s, &Params::default(), 64);
        let window = setup(kind("window"), &s, &Params::default().with("window", (writes + beyond) as i64), 64);
        for engine in Engine::single() {
            prop_assert_eq!(run(kind("full"), &engine, &full), run(kind("window"), &engine, &window));
        }
    }

    #[test]
    fn linear_attention_does_not_depend_on_the_chunk(writes in 1_usize..200, a in 1_usize..250, b in 1_usize..250, seed in any::<u64>()) {
        let s = stream(Shape { writes, seed, ..SMALL });
        let run = |chunk| run(kind("linear"), &Engine::Double, &setup(kind("linear"), &s, &Params::default(), chunk)).0;
        assert_near(&run(a), &run(b), 1e-12, "linear");
    }

    #[test]
    fn a_head_is_the_same_alone(kv in 0_usize..2, member in 0_usize..2, seed in any::<u64>()) {
        let s = stream(Shape { seed, ..SMALL });
        let head = |a: &Array3<f32>, h: usize| a.slice(ndarray::s![h..=h, .., ..]).to_owned();
        let alone = Stream::new(StreamParts {
            keys: head(s.keys(), kv),
            values: head(s.values(), kv),
            queries: head(s.queries(), kv * 2 + member),
            after: s.after().to_vec(),
            beta: s.beta(),
            targets: Targets::None,
            labels: Labels::default(),
        }).unwrap();
        for (kind, params) in all() {
            for engine in Engine::single() {
                let together = run(kind, &engine, &setup(kind, &s, &params, 40)).0;
                let alone = run(kind, &engine, &setup(kind, &alone, &params, 40)).0;
                prop_assert_eq!(&together[kv * 2 + member], &alone[0], "{}", kind.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whole, in pieces, again, and restored in the middle, after a replay that records nothing: the same bits.
    #[test]
    fn runs_are_the_same_bit_for_bit(chunk in 1_usize..80, at in 0_usize..3, seed in any::<u64>()) {
        let s = stream(Shape { seed, ..SMALL });
        for (kind, params) in all() {
            let setup = setup(kind, &s, &params, chunk);
            for engine in Engine::single() {
                let whole = run(kind, &engine, &setup);
                prop_assert_eq!(&whole, &run(kind, &engine, &setup), "{} again", kind.name());
                let half = s.chunks(chunk).min(at);
                let heads = s.query_heads();
                let mut trace = LaneTrace::new(&kind.channels(&setup), s.kv_heads(), heads);
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
                prop_assert_eq!(&whole, &(outputs(&trace, heads), second.snapshot().unwrap()), "{} restored", kind.name());
            }
        }
    }
}
