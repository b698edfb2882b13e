//! What OVQ must do on any stream (LAYERS.md, "Numbers that must hold"), and the GPU against its CPU twin.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(clippy::float_cmp, reason = "infinities and choices are equal or wrong")]

use std::sync::Arc;

use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::workload::Workload;
use mnemoscope::layer::{Layer, LayerKind, Precision, Record, Setup, Snapshot, kind};
use mnemoscope::param::{ParamError, Params, Resolved};
use mnemoscope::stream::{Stream, StreamParts};
use mnemoscope::trace::{LaneTrace, TraceBlock, Values};
use ndarray::{Array3, Axis};
use proptest::prelude::*;

fn ovq() -> &'static dyn LayerKind {
    kind("ovq").unwrap()
}

/// Everything a layer wrote, and its state at the end.
type Outcome = (LaneTrace, Snapshot);

/// Runs to the end, `batch` chunks a call.
fn finish(kind: &dyn LayerKind, setup: &Setup, mut layer: Box<dyn Layer>, batch: usize) -> Outcome {
    let mut trace = LaneTrace::new(&kind.channels(setup), setup.stream.kv_heads(), setup.stream.query_heads());
    while layer.position() < setup.stream.chunks(setup.chunk) {
        let mut block = TraceBlock::default();
        layer.advance(batch, Record::All, &mut block).unwrap();
        trace.append(&block).unwrap();
    }
    let snapshot = layer.snapshot().unwrap();
    (trace, snapshot)
}

fn cpu(setup: &Setup, precision: Precision, batch: usize) -> Outcome {
    finish(ovq(), setup, ovq().cpu(setup, precision).unwrap(), batch)
}

fn on_gpu(gpu: &Arc<Gpu>, setup: &Setup, batch: usize) -> Outcome {
    let stream = GpuStream::new(gpu, &setup.stream).unwrap();
    finish(ovq(), setup, ovq().gpu(setup, &stream).unwrap(), batch)
}

/// Numbers by their bits, so that infinities and signs of zeros count too.
fn bits(values: &Values) -> Vec<u64> {
    match values {
        Values::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Values::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        Values::I32(v) => v.iter().map(|&x| u64::from(x.cast_unsigned())).collect(),
    }
}

/// Bit for bit.
fn assert_same(a: &Outcome, b: &Outcome) {
    for (x, y) in a.0.channels().iter().zip(b.0.channels()) {
        for head in 0..x.heads() {
            assert_eq!(bits(x.values(head)), bits(y.values(head)), "{} of head {head}", x.spec().name);
        }
    }
    assert_same_state(&a.1, &b.1);
}

fn assert_same_state(a: &Snapshot, b: &Snapshot) {
    assert_eq!(a.position, b.position);
    for (x, y) in a.arrays.iter().zip(&b.arrays) {
        assert_eq!((x.name, &x.shape, bits(&x.values)), (y.name, &y.shape, bits(&y.values)));
    }
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
    (workload, 1..70_i64, 1..40_i64, words, any::<bool>(), any::<bool>()).prop_map(
        |(workload, n_max, chunk, (growth, rate), unit, bias)| {
            let params = Params::default()
                .with("n_max", n_max)
                .with("chunk", chunk)
                .with("growth", growth)
                .with("rate", rate)
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
    let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::default(), chunk: 4 };
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
    }
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
