//! What VQ attention must do on any stream (LAYERS.md, "Baselines"), the GPU against its CPU twin, and the codebook's fit.

#![allow(clippy::needless_range_loop, reason = "indices are those of the formulas")]
#![allow(clippy::result_large_err, reason = "a test's own closures hand the plan's error through")]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(clippy::float_cmp, reason = "choices are equal or wrong")]

#[path = "common/outcome.rs"]
mod outcome;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mnemoscope::engine;
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::effective::{ReadOf, Store};
use mnemoscope::layer::workload::Workload;
use mnemoscope::layer::{Layer, LayerKind, Precision, Record, Setup, kind};
use mnemoscope::param::Params;
use mnemoscope::session::plan::{Plan, PlanError};
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use mnemoscope::stream::{Stream, StreamParts};
use mnemoscope::trace::{LaneTrace, TraceBlock, Values};
use ndarray::{Array3, ArrayView1, Axis, s};
use outcome::{Outcome, assert_same, assert_same_state, bits, finish};
use proptest::prelude::*;

fn vq() -> &'static dyn LayerKind {
    kind("vq").unwrap()
}

fn cpu(setup: &Setup, precision: Precision, batch: usize) -> Outcome {
    finish(vq(), setup, vq().cpu(setup, precision).unwrap(), batch)
}

fn on_gpu(gpu: &Arc<Gpu>, setup: &Setup, batch: usize) -> Outcome {
    let stream = GpuStream::new(gpu, &setup.stream).unwrap();
    finish(vq(), setup, vq().gpu(setup, &stream).unwrap(), batch)
}

/// Small sizes of every shape: several heads, odd dimensions, ragged last chunks, one code, more codes than writes.
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
    (workload, 1..120_i64, 1..40_usize).prop_map(|(workload, codes, chunk)| {
        let params = Params::default().with("codes", codes).with("iterations", 2);
        Setup { chunk, ..workload.setup(vq(), &params).unwrap() }
    })
}

fn wide(row: ArrayView1<'_, f32>) -> Vec<f64> {
    row.iter().map(|&x| f64::from(x)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The codebook of a key/value head, in float64.
fn book(setup: &Setup, kv: usize) -> Vec<Vec<f64>> {
    let book = setup.arrays["codebook"].clone().into_dimensionality::<ndarray::Ix3>().unwrap();
    let own = book.index_axis(Axis(0), kv.min(book.dim().0 - 1));
    own.rows().into_iter().map(wide).collect()
}

/// The page's sentence, read by read: means and counts of the codes of the first `after` writes, softmax with log count.
fn by_the_page(setup: &Setup) -> (Vec<Vec<i32>>, Vec<Vec<f64>>) {
    let stream = &setup.stream;
    let mut codes = Vec::new();
    for kv in 0..stream.kv_heads() {
        let book = book(setup, kv);
        let nearest = |key: Vec<f64>| {
            let similarity: Vec<f64> = book.iter().map(|c| dot(c, &key)).collect();
            (0..book.len()).fold(0, |best, c| if similarity[c] > similarity[best] { c } else { best }) as i32
        };
        codes.push(stream.keys_of(kv).rows().into_iter().map(|k| nearest(wide(k))).collect::<Vec<_>>());
    }
    let mut outputs = Vec::new();
    for head in 0..stream.query_heads() {
        let kv = stream.kv_head_of(head);
        let book = book(setup, kv);
        let mut all = Vec::new();
        for (read, &after) in stream.after().iter().enumerate() {
            let query = wide(stream.query(head, read));
            let (mut sums, mut counts) = (vec![vec![0.0; stream.value_dim()]; book.len()], vec![0.0_f64; book.len()]);
            for i in 0..after as usize {
                let code = codes[kv][i] as usize;
                counts[code] += 1.0;
                for (s, v) in sums[code].iter_mut().zip(stream.values().slice(s![kv, i, ..])) {
                    *s += f64::from(*v);
                }
            }
            let used: Vec<usize> = (0..book.len()).filter(|&c| counts[c] > 0.0).collect();
            let weight: Vec<f64> = used.iter().map(|&c| (setup.beta() * dot(&book[c], &query) + counts[c].ln()).exp()).collect();
            let total: f64 = weight.iter().sum();
            for d in 0..stream.value_dim() {
                all.push(used.iter().zip(&weight).map(|(&c, w)| w / total * sums[c][d] / counts[c]).sum());
            }
        }
        outputs.push(all);
    }
    (codes, outputs)
}

fn assert_near(values: &Values, expected: &[f64], within: f64) {
    assert_eq!(values.len(), expected.len());
    for (i, want) in expected.iter().enumerate() {
        let got = values.get(i).unwrap();
        assert!((got - want).abs() <= within, "[{i}]: {got}, {want} expected");
    }
}

/// Multiplies what every read's tokens weigh with the values, and holds that against what the layer returned.
fn check_effective(setup: &Setup, trace: &LaneTrace) {
    let stream = &setup.stream;
    let dv = stream.value_dim();
    for query_head in 0..stream.query_heads() {
        let values = stream.values().index_axis(Axis(0), stream.kv_head_of(query_head));
        for read in 0..stream.reads() {
            let query = stream.query(query_head, read).to_vec();
            let found = vq().effective(setup, trace, ReadOf { query_head, read, query: &query }).unwrap();
            assert_eq!(found.weights.len(), stream.after()[read] as usize);
            assert!((found.share(Store::Centroid) - 1.0).abs() < 1e-9);
            for d in 0..dv {
                let sum: f64 = found.weights.iter().zip(values.column(d)).map(|(w, &v)| w * f64::from(v)).sum();
                let returned = trace.channel("outputs").unwrap().values(query_head).get(read * dv + d).unwrap();
                assert!((sum - returned).abs() < 1e-4, "read {read} of head {query_head}: {sum}, {returned} returned");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_the_page_says_whatever_the_chunk(setup in setups(), other in 1..100_usize) {
        let (codes, outputs) = by_the_page(&setup);
        for chunk in [setup.chunk, other] {
            let setup = Setup { chunk, ..setup.clone() };
            let (trace, snapshot) = cpu(&setup, Precision::Double, 3);
            for kv in 0..setup.stream.kv_heads() {
                prop_assert_eq!(trace.channel("assignments").unwrap().wholes(kv), &codes[kv]);
                // Counts sum to the writes seen, and the codes in use are those that some write has.
                let sizes = trace.channel("sizes").unwrap().wholes(kv);
                for (step, &size) in sizes.iter().enumerate() {
                    let seen = &codes[kv][..setup.stream.chunk_range(chunk, step).end];
                    prop_assert_eq!(size as usize, seen.iter().collect::<std::collections::BTreeSet<_>>().len());
                }
                let n = setup.params.size("codes");
                let counts = &snapshot.array("counts").unwrap().values.as_i32().unwrap()[kv * n..(kv + 1) * n];
                prop_assert_eq!(counts.iter().sum::<i32>() as usize, setup.stream.writes());
                prop_assert!((0..n).all(|c| counts[c] as usize == codes[kv].iter().filter(|&&x| x as usize == c).count()));
            }
            for head in 0..setup.stream.query_heads() {
                assert_near(trace.channel("outputs").unwrap().values(head), &outputs[head], 1e-9);
            }
            check_effective(&setup, &trace);
        }
    }

    #[test]
    fn a_codebook_of_the_keys_themselves_is_full_attention(setup in setups(), distinct in 1..12_usize) {
        // Unit keys, each repeated: with all of them in the codebook, nothing is lost.
        let s = &setup.stream;
        let keys = Array3::from_shape_fn(s.keys().dim(), |(h, i, d)| s.keys()[[h, i % distinct.min(s.writes()), d]]);
        let parts = StreamParts { keys, values: s.values().clone(), queries: s.queries().clone(), after: s.after().to_vec(), beta: s.beta(), targets: s.targets().clone(), labels: s.labels().clone() };
        let stream = Arc::new(Stream::new(parts).unwrap());
        let codebook = stream.keys().slice(s![.., ..distinct.min(stream.writes()), ..]).to_owned().into_dyn();
        let arrays = Arc::new([("codebook".to_owned(), codebook)].into_iter().collect());
        let setup = Setup { stream: Arc::clone(&stream), arrays, ..setup };
        let full = kind("full").unwrap();
        let resolved = mnemoscope::param::Resolved::new("full", full.params(), &Params::default()).unwrap();
        let of_full = Setup { params: resolved, ..setup.clone() };
        let expected = finish(full, &of_full, full.cpu(&of_full, Precision::Double).unwrap(), 1);
        let (trace, _) = cpu(&setup, Precision::Double, 1);
        for head in 0..stream.query_heads() {
            let expected = expected.0.channel("outputs").unwrap().values(head);
            let expected: Vec<f64> = (0..expected.len()).map(|i| expected.get(i).unwrap()).collect();
            assert_near(trace.channel("outputs").unwrap().values(head), &expected, 1e-9);
        }
    }

    #[test]
    fn several_chunks_a_call_give_the_same_bits_as_one(setup in setups(), batch in 2..9_usize) {
        assert_same(&cpu(&setup, Precision::Single, 1), &cpu(&setup, Precision::Single, batch));
    }

    #[test]
    fn a_restored_run_equals_an_uninterrupted_one(setup in setups(), part in 0.0..1.0_f64) {
        let at = (setup.stream.chunks(setup.chunk) as f64 * part) as usize;
        check_restore(&setup, at, &|| vq().cpu(&setup, Precision::Single).unwrap());
    }
}

/// Stops after `at` chunks, puts the state into another layer that has run elsewhere, and goes on there.
fn check_restore(setup: &Setup, at: usize, build: &dyn Fn() -> Box<dyn Layer>) {
    let whole = finish(vq(), setup, build(), 2);
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

/// Streams of fixed seeds in which no code is closer than float32 can tell.
fn gpu_setups() -> Vec<Setup> {
    let setup = |workload: Workload, codes: i64, chunk: usize| {
        let params = Params::default().with("codes", codes).with("iterations", 2);
        Setup { chunk, ..workload.setup(vq(), &params).unwrap() }
    };
    let base = Workload::causal(70);
    vec![
        // Grouped queries, dimensions that are no multiples of 4, a ragged last chunk, more than one tile of codes.
        setup(Workload { dk: 5, dv: 3, kv_heads: 2, query_heads: 6, ..base }, 100, 16),
        setup(Workload { dk: 1, dv: 1, seed: 1, ..Workload::causal(12) }, 1, 1),
        setup(Workload { dk: 256, dv: 256, reads: 9, ..base }, 30, 33),
        setup(Workload { dk: 8, dv: 4, kv_heads: 3, query_heads: 3, ..Workload::causal(90) }, 10, 64),
    ]
}

#[test]
fn the_gpu_agrees_with_its_twin_and_every_way_to_run_it_gives_the_same_bits() {
    let Some(gpu) = gpu_or_skip() else { return };
    for setup in gpu_setups() {
        let (ours, reference) = (on_gpu(&gpu, &setup, 3), cpu(&setup, Precision::Single, 3));
        for (x, y) in ours.0.channels().iter().zip(reference.0.channels()) {
            for head in 0..x.heads() {
                let (a, b) = (x.values(head), y.values(head));
                assert_eq!(a.len(), b.len());
                for i in 0..a.len() {
                    let (a, b) = (a.get(i).unwrap(), b.get(i).unwrap());
                    assert!(a == b || (a - b).abs() < 1e-5, "{} of head {head} at {i}: {a} and {b}", x.spec().name);
                }
            }
        }
        for (x, y) in ours.1.arrays.iter().zip(&reference.1.arrays) {
            assert_eq!((x.name, &x.shape), (y.name, &y.shape));
            assert!((0..x.values.len()).all(|i| (x.values.get(i).unwrap() - y.values.get(i).unwrap()).abs() < 1e-5), "{}", x.name);
        }
        check_effective(&setup, &ours.0);
    }
    let setup = &gpu_setups()[0];
    let once = on_gpu(&gpu, setup, 5);
    assert_same(&once, &on_gpu(&gpu, setup, 1));
    let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
    check_restore(setup, 2, &|| vq().gpu(setup, &stream).unwrap());
}

#[test]
fn a_state_or_codebook_that_does_not_fit_is_refused() {
    let setup = |codes: i64| Workload::causal(300).setup(vq(), &Params::default().with("codes", codes)).unwrap();
    let (_, snapshot) = cpu(&setup(32), Precision::Single, 9);
    let error = vq().cpu(&setup(64), Precision::Single).unwrap().restore(&snapshot).unwrap_err().to_string();
    assert!(error.contains("`values` is [1, 32, 64], but [1, 64, 64] is held here"), "{error}");
    let error = vq().cpu(&setup(32), Precision::Double).unwrap().restore(&snapshot).unwrap_err().to_string();
    assert!(error.contains("another precision"), "{error}");
    let without = Setup { arrays: Arc::default(), ..setup(8) };
    let error = vq().cpu(&without, Precision::Single).err().unwrap().to_string();
    assert_eq!(error, "vq needs the array `codebook` of shape [1 or 1, 8, 64], but there is none");
    let wrong: Arc<_> = Arc::new([("codebook".to_owned(), ndarray::ArrayD::zeros(vec![2, 8, 64]))].into_iter().collect());
    assert!(vq().check(&Setup { arrays: wrong, ..setup(8) }).unwrap_err().to_string().contains("but found [2, 8, 64]"));
    let error = Workload::causal(4).setup(vq(), &Params::default().with("codes", 16_385)).unwrap_err().to_string();
    assert_eq!(error, "vq.codes is 16385, but must be from 1 to 16384");
    let error = Workload::causal(4).setup(vq(), &Params::default().with("codes", 2000)).unwrap_err().to_string();
    assert!(error.starts_with("vq.codes is 2000, but there are only 1024 keys to fit them on"), "{error}");
}

fn needles(t: i64, params: Params) -> Session {
    let source = TaskSource { name: "needles".to_owned(), params: Params::default().with("T", t) };
    Session { source: Source::Task(source), lanes: vec![LaneSpec::new("VQ", "vq", params)], seed: 1, ..Session::default() }
}

#[test]
fn a_plan_says_what_the_codebook_was_fitted_on() {
    let plan = Plan::new(&needles(1000, Params::default().with("codes", 64)), None).unwrap();
    let note = plan.lanes[0].notes.last().unwrap();
    assert!(note.starts_with("codebook of 64 codes fitted to 1000 keys of another draw of the task (seed "), "{note}");
    assert!(
        note.contains("iterations of k-means, after which the mean similarity of those keys (not of this stream's) to their codes is 0.9"),
        "{note}"
    );
    let codebook = &plan.lanes[0].setup.arrays["codebook"];
    assert_eq!(codebook.shape(), [1, 64, 64]);
    assert!(codebook.rows().into_iter().all(|r| (r.dot(&r) - 1.0).abs() < 1e-5));
    // The same again is the same codebook; another seed is another start.
    let again = Plan::new(&needles(1000, Params::default().with("codes", 64)), None).unwrap();
    assert_eq!(&again.lanes[0].setup.arrays["codebook"], codebook);
    let other = Plan::new(&needles(1000, Params::default().with("codes", 64).with("seed", 5)), None).unwrap();
    assert_ne!(&other.lanes[0].setup.arrays["codebook"], codebook);

    let capture = |tokens, codes: i64| {
        let source = Source::Capture(CaptureSource { tokens, ..CaptureSource::bundled() });
        let params = Params::default().with("codes", codes).with("iterations", 1);
        Plan::new(&Session { source, lanes: vec![LaneSpec::new("VQ", "vq", params)], ..Session::default() }, None)
    };
    let plan = capture(None, 100).unwrap();
    let [normalised, note] = plan.lanes[0].notes.as_slice() else { panic!("{:?}", plan.lanes[0].notes) };
    assert!(normalised.starts_with("keys and queries normalised to length 1"), "{normalised}");
    assert!(note.starts_with("codebook of 100 codes fitted to 1024 keys of the first half of this very stream"), "{note}");
    let plan = capture(Some(1000), 100).unwrap();
    assert!(plan.lanes[0].notes[1].contains("1048 keys of the capture's tokens 1000 to 2047"), "{:?}", plan.lanes[0].notes);
    let error = capture(None, 1025).unwrap_err().to_string();
    assert!(error.starts_with("VQ.codes is 1025, but there are only 1024 keys to fit them on, of the first half"), "{error}");
}

#[test]
fn what_cannot_be_fitted_on_is_named_and_a_fit_can_be_given_up() {
    let error = Plan::new(&needles(300, Params::default().with("codes", 8).with("fit", "head")), None).unwrap_err().to_string();
    assert!(error.starts_with("VQ.fit is head, but a task has one head"), "{error}");
    let error = Plan::new(&needles(300, Params::default()), None).unwrap_err().to_string();
    assert!(error.starts_with("VQ.codes is 512, but there are only 300 keys to fit them on, of another draw"), "{error}");
    let lane = |fit| LaneSpec::new("VQ", "vq", Params::default().with("codes", 8).with("fit", fit));
    let error = Plan::new(&Session { lanes: vec![lane("draw")], ..Session::default() }, None).unwrap_err().to_string();
    assert!(error.starts_with("VQ.fit is draw, but a capture cannot be drawn again"), "{error}");
    let session = needles(700, Params::default().with("codes", 100));
    assert_eq!(Plan::with_cancel(&session, None, &AtomicBool::new(true)).err(), Some(PlanError::Cancelled));
}

/// TASKS.md: of eight needles, VQ attention with a codebook of T / 4 finds .04.
#[test]
fn a_fixed_codebook_loses_the_needles() {
    let (mut right, mut asked) = (0, 0);
    for seed in 0..3 {
        let session = Session { seed, ..needles(4096, Params::default().with("codes", 1024)) };
        let plan = Arc::new(Plan::new(&session, None).unwrap());
        let result = engine::headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        let correct = result.traces[0].channel("correct").unwrap().wholes(0);
        right += correct.iter().sum::<i32>();
        asked += correct.len();
    }
    println!("{right} of {asked} needles found");
    // By chance none of 24; all lost would be right too.
    assert!(asked == 24 && right <= 4, "{right} of {asked}");
}

/// `cargo test --release --test vq how_long -- --ignored --nocapture`
#[test]
#[ignore = "prints how long a large codebook and effective attention on a long stream take"]
fn how_long_it_takes() {
    let start = std::time::Instant::now();
    let source = TaskSource { name: "regression".to_owned(), params: Params::default().with("T", 8192) };
    let lane = LaneSpec::new("VQ", "vq", Params::default().with("codes", 2048));
    let plan = Plan::new(&Session { source: Source::Task(source), lanes: vec![lane], ..Session::default() }, None).unwrap();
    println!("{:?}: {:?}", start.elapsed(), plan.lanes[0].notes);
    let setup = Workload { reads: 8, ..Workload::causal(65_536) }.setup(vq(), &Params::default().with("codes", 2048).with("iterations", 1));
    let error = setup.as_ref().err().map(ToString::to_string);
    let Ok(setup) = setup else { panic!("{error:?}") };
    let (trace, _) = cpu(&setup, Precision::Single, 64);
    let query = setup.stream.query(0, 7).to_vec();
    let start = std::time::Instant::now();
    let found = vq().effective(&setup, &trace, ReadOf { query_head: 0, read: 7, query: &query }).unwrap();
    println!("{} tokens: {:?}", found.weights.len(), start.elapsed());
}
