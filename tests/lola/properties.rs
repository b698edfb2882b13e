//! The identities of LAYERS.md on random small streams: `LoLA` where it is something simpler, the partition of the writes, the
//! exactness of snapshots, and the GPU against the CPU.

use mnemoscope::gpu::Gpu;
use mnemoscope::layer::lola::residency::{Place, Residency};
use mnemoscope::layer::real::EPSILON;
use mnemoscope::trace::{Axis as TraceAxis, Tolerance};
use ndarray::{Array3, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

/// A stream's sizes, a lane's parameters, and the seed of the numbers.
#[derive(Debug, Clone)]
struct Case {
    heads: (usize, usize),
    dims: (usize, usize),
    writes: usize,
    reads: usize,
    window: usize,
    cache: usize,
    chunk: usize,
    fmap: &'static str,
    score: &'static str,
    linear_weight: f64,
    weights: bool,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let maps = prop::sample::select(vec!["elu1", "relu", "hedgehog", "taylor2", "favor"]);
    let lane =
        (0..40_usize, 0..30_usize, 1..18_usize, maps, prop::sample::select(vec!["sre", "sre", "fifo", "random", "attention", "kernel"]));
    let stream = (1..3_usize, 1..4_usize, 1..8_usize, 1..8_usize, 1..70_usize, 0..50_usize);
    (lane, stream, prop::sample::select(vec![1.0, 0.25, 7.0]), any::<bool>(), any::<u64>()).prop_map(
        |((window, cache, chunk, fmap, score), (hkv, group, dk, dv, writes, reads), linear_weight, weights, seed)| Case {
            heads: (hkv, hkv * group),
            dims: (dk, dv),
            writes,
            reads,
            window,
            cache,
            chunk,
            fmap,
            score,
            linear_weight,
            weights,
            seed,
        },
    )
}

impl Case {
    fn setup(&self) -> Setup {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let (hkv, hq) = self.heads;
        let (dk, dv) = self.dims;
        let mut normal =
            |shape, scale: f32| Array3::from_shape_simple_fn(shape, || scale * Distribution::<f32>::sample(&StandardNormal, &mut rng));
        let (keys, values) = (normal((hkv, self.writes, dk), 0.7), normal((hkv, self.writes, dv), 0.5));
        let queries = normal((hq, self.reads, dk), 0.7);
        let mut arrays = Arrays::new();
        if self.weights && self.fmap == "hedgehog" {
            arrays.insert("weights_q".to_owned(), normal((hq, dk, 3), 1.0).into_dyn());
            arrays.insert("weights_k".to_owned(), normal((hkv, dk, 3), 1.0).into_dyn());
        }
        let mut after: Vec<u32> = (0..self.reads).map(|_| rng.random_range(1..=self.writes as u32)).collect();
        after.sort_unstable();
        let (targets, labels) = (Targets::None, Labels::default());
        let stream = Stream::new(StreamParts { keys, values, queries, after, beta: 0.8, targets, labels }).unwrap();
        let silent = (0..self.reads).map(|r| (self.seed as usize + r).is_multiple_of(3)).collect();
        let stream = stream.with_silent(silent).unwrap();
        let params = Params::default()
            .with("window", self.window as i64)
            .with("cache", self.cache as i64)
            .with("chunk", self.chunk as i64)
            .with("fmap", self.fmap)
            .with("features", 9)
            .with("score", self.score)
            .with("linear_weight", self.linear_weight);
        setup(stream, &params, arrays)
    }
}

/// Attention over chosen writes, softmax with the layer's epsilon, and a linear part of the others if there are any.
fn by_hand(setup: &Setup, folded: impl Fn(usize) -> usize) -> Vec<f64> {
    let stream = &setup.stream;
    let mut out = Vec::new();
    for h in 0..stream.query_heads() {
        let kv = stream.kv_head_of(h);
        for (r, &after) in stream.after().iter().enumerate() {
            let after = after as usize;
            let dot = |i: usize, phi: &dyn Fn(f64) -> f64| {
                let pairs = stream
                    .queries()
                    .slice(s![h, r, ..])
                    .into_iter()
                    .zip(stream.keys().slice(s![kv, i, ..]))
                    .map(|(&q, &k)| (f64::from(q), f64::from(k)))
                    .collect::<Vec<_>>();
                pairs.into_iter().map(|(q, k)| phi(q) * phi(k)).sum::<f64>()
            };
            let elu1 = |x: f64| if x > 0.0 { x + 1.0 } else { x.exp() };
            let (mut sum, mut whole) = (vec![0.0; stream.value_dim()], EPSILON);
            for i in 0..after {
                let weight = if i < folded(after) {
                    setup.params.auto_float("linear_weight").unwrap() * dot(i, &elu1)
                } else {
                    (setup.beta() * dot(i, &|x| x)).exp()
                };
                whole += weight;
                sum.iter_mut().zip(stream.values().slice(s![kv, i, ..])).for_each(|(s, &v)| *s += weight * f64::from(v));
            }
            out.extend(sum.into_iter().map(|x| x / whole));
        }
    }
    out
}

fn outputs(trace: &LaneTrace) -> Vec<f64> {
    let channel = trace.channel("outputs").unwrap();
    (0..channel.heads()).flat_map(|h| wide(channel.values(h))).collect()
}

fn close(found: &[f64], expected: &[f64], limit: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        prop_assert!((a - b).abs() <= limit, "number {}: {} and {}", i, a, b);
    }
    Ok(())
}

fn double(setup: &Setup) -> Box<dyn Layer> {
    kind().cpu(setup, Precision::Double).unwrap()
}

fn single(setup: &Setup) -> Box<dyn Layer> {
    kind().cpu(setup, Precision::Single).unwrap()
}

/// Every number of a trace, by its bits: NaN equals NaN, 0 is not -0.
fn bits(trace: &LaneTrace) -> Vec<Vec<u64>> {
    let column = |values: &Values| match values {
        Values::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Values::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        Values::I32(v) => v.iter().map(|&x| x as u64).collect::<Vec<_>>(),
    };
    trace.channels().iter().flat_map(|c| (0..c.heads()).map(|h| column(c.values(h)))).collect()
}

/// The same bits for any batch size, and from a snapshot on.
fn exact(setup: &Setup, at: usize, make: &dyn Fn(&Setup) -> Box<dyn Layer>) -> Result<LaneTrace, TestCaseError> {
    let mut layer = make(setup);
    let whole = run(&mut *layer, setup, usize::MAX >> 1);
    let end = layer.snapshot().unwrap();
    prop_assert_eq!(&bits(&run(&mut *make(setup), setup, 1)), &bits(&whole));

    let at = at % (setup.stream.chunks(setup.chunk) + 1);
    let mut first = make(setup);
    let mut nothing = TraceBlock::default();
    first.advance(at, Record::StateOnly, &mut nothing).unwrap();
    prop_assert!(nothing.pieces.is_empty());
    let middle = first.snapshot().unwrap();
    prop_assert_eq!(middle.position, at);
    let mut second = make(setup);
    // A state of its own is there already, to be replaced.
    second.advance(3, Record::All, &mut TraceBlock::default()).unwrap();
    second.restore(&middle).unwrap();
    prop_assert_eq!(&second.snapshot().unwrap(), &middle);
    for mut layer in [first, second] {
        let mut block = TraceBlock::default();
        layer.advance(usize::MAX >> 1, Record::All, &mut block).unwrap();
        prop_assert_eq!(&layer.snapshot().unwrap(), &end);
        // What the last chunks wrote is the end of what the whole run wrote.
        for piece in &block.pieces {
            let channel = &whole.channels()[piece.channel];
            let heads = channel.heads();
            let tail = |h: usize| {
                let end = channel.values(h).len();
                if piece.range.is_empty() { end..end } else { channel.range(h, piece.range.start).start..end }
            };
            let expected: Vec<f64> = (0..heads).flat_map(|h| wide(&channel.values(h).slice(tail(h)))).collect();
            let expected_bits: Vec<u64> = expected.iter().map(|x| x.to_bits()).collect();
            let found: Vec<u64> = wide(&piece.values).iter().map(|x| x.to_bits()).collect();
            prop_assert_eq!(found, expected_bits, "channel {}", channel.spec().name);
        }
    }
    Ok(whole)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_window_or_a_cache_as_long_as_the_stream_is_full_attention(case in case(), use_window: bool) {
        let long = if use_window { Case { window: case.writes, ..case } } else { Case { cache: case.writes, ..case } };
        let setup = long.setup();
        close(&outputs(&run(&mut *double(&setup), &setup, 3)), &by_hand(&setup, |_| 0), 1e-12)?;
    }

    #[test]
    fn without_a_cache_it_is_lolcats(case in case()) {
        let setup = Case { cache: 0, fmap: "elu1", ..case }.setup();
        let (chunk, window) = (setup.chunk, setup.params.size("window"));
        // A read sees the state as it was when its chunk began.
        let folded = |after: usize| ((after - 1) / chunk * chunk).saturating_sub(window);
        close(&outputs(&run(&mut *double(&setup), &setup, 3)), &by_hand(&setup, folded), 1e-12)?;
    }

    #[test]
    fn shares_sum_to_one_but_for_the_epsilon(case in case()) {
        let setup = case.setup();
        let trace = run(&mut *single(&setup), &setup, 5);
        let shares = trace.channel("shares").unwrap();
        for h in 0..shares.heads() {
            for share in shares.reals(h).chunks(3) {
                prop_assert!(share.iter().all(|&x| (0.0..=1.0 + 1e-6).contains(&x)), "{:?}", share);
                prop_assert!((share.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{:?}", share);
            }
        }
    }

    #[test]
    fn every_write_is_in_one_memory(case in case()) {
        let setup = case.setup();
        let mut layer = single(&setup);
        let mut trace = LaneTrace::new(&kind().channels(&setup), setup.stream.kv_heads(), setup.stream.query_heads());
        let mut index = vec![Residency::new(case.window, case.chunk, case.writes); setup.stream.kv_heads()];
        for step in 1..=setup.stream.chunks(setup.chunk) {
            let mut block = TraceBlock::default();
            layer.advance(1, Record::All, &mut block).unwrap();
            trace.append(&block).unwrap();
            let snapshot = layer.snapshot().unwrap();
            let cached = snapshot.array("cached").unwrap();
            let seen = (step * case.chunk).min(case.writes);
            for (h, index) in index.iter_mut().enumerate() {
                index.extend(trace.channel("admitted").unwrap(), trace.channel("displaced").unwrap(), h);
                let n = cached.shape[1];
                let ids = &cached.values.as_i32().unwrap()[h * n..(h + 1) * n];
                for write in 0..case.writes {
                    let expected = if write >= seen {
                        Place::NotYet
                    } else if write + case.window >= seen {
                        Place::Window
                    } else if ids.contains(&(write as i32)) {
                        Place::Cache
                    } else {
                        Place::State
                    };
                    prop_assert_eq!(index.at(write, step), expected, "write {} after {} chunks", write, step);
                    if let Some(since) = index.since(write, step) {
                        prop_assert_eq!(index.at(write, since), expected);
                        prop_assert!(since == 0 || index.at(write, since - 1) != expected);
                    }
                }
            }
        }
    }

    #[test]
    fn batches_and_snapshots_change_no_bit_on_the_cpu(case in case(), at in 0..80_usize) {
        let setup = case.setup();
        exact(&setup, at, &double)?;
        exact(&setup, at, &single)?;
    }
}

/// Holds the GPU's trace against the CPU's, head by head, until a choice comes that rounding may flip.
fn lockstep(setup: &Setup, cpu: &LaneTrace, gpu: &LaneTrace) -> Result<(), TestCaseError> {
    let group = setup.stream.query_heads() / setup.stream.kv_heads();
    for head in 0..setup.stream.kv_heads() {
        let margins = cpu.channel("select_margin").unwrap().reals(head);
        let flip = margins.iter().position(|&m| f64::from(m) <= CHOICE_MARGIN).unwrap_or(margins.len());
        let reads = setup.stream.reads_within(0..setup.stream.chunk_range(setup.chunk, flip).end.max(1)).end;
        for (a, b) in cpu.channels().iter().zip(gpu.channels()) {
            let spec = a.spec();
            prop_assert_eq!(a.len(), b.len(), "{}", spec.name);
            let (rows, entries) = match spec.axis {
                TraceAxis::Step => (head..head + 1, flip),
                _ => (head * group..(head + 1) * group, if flip == margins.len() { a.len() } else { reads }),
            };
            for row in rows {
                for entry in 0..entries {
                    let (x, y) = (a.values(row).slice(a.range(row, entry)), b.values(row).slice(b.range(row, entry)));
                    prop_assert_eq!(x.len(), y.len(), "{} at {}", spec.name, entry);
                    for (x, y) in wide(&x).into_iter().zip(wide(&y)) {
                        let same = match spec.tolerance {
                            Tolerance::Near { abs, rel } => {
                                x == y || (x.is_nan() && y.is_nan()) || ((x - y).is_finite() && (x - y).abs() <= abs + rel * x.abs())
                            }
                            Tolerance::Choice { .. } => x == y,
                        };
                        prop_assert!(same, "{} of head {} at {}: {} on the CPU, {} on the GPU", spec.name, row, entry, x, y);
                    }
                }
            }
        }
    }
    Ok(())
}

fn on(gpu: &Arc<Gpu>, setup: &Setup) -> Box<dyn Layer> {
    kind().gpu(setup, &GpuStream::new(gpu, &setup.stream).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_gpu_is_exact_in_itself_and_near_the_cpu(case in case(), at in 0..80_usize) {
        let Some(gpu) = gpu_or_skip() else { return Ok(()) };
        let setup = case.setup();
        let trace = exact(&setup, at, &|s| on(&gpu, s))?;
        lockstep(&setup, &run(&mut *single(&setup), &setup, 4), &trace)?;
    }
}

/// Sizes at the edges of the kernels' tiles: values wider than a workgroup, more candidates than one block of the split,
/// more folded pairs than one tile.
#[test]
fn the_gpu_meets_the_cpu_where_tiles_end() {
    let Some(gpu) = gpu_or_skip() else { return };
    let base = Case {
        heads: (1, 2),
        dims: (3, 5),
        writes: 700,
        reads: 9,
        window: 30,
        cache: 270,
        chunk: 300,
        fmap: "elu1",
        score: "sre",
        linear_weight: 1.0,
        weights: false,
        seed: 3,
    };
    let wide = Case { dims: (256, 256), writes: 40, cache: 4, window: 5, chunk: 20, ..base.clone() };
    let odd = Case { dims: (65, 129), fmap: "hedgehog", ..wide.clone() };
    let expansion = Case { dims: (17, 63), fmap: "taylor2", ..wide.clone() };
    for case in [base, wide, odd, expansion] {
        let setup = case.setup();
        let (cpu, gpu) = (run(&mut *single(&setup), &setup, 4), run(&mut *on(&gpu, &setup), &setup, 4));
        lockstep(&setup, &cpu, &gpu).unwrap();
        assert!(!cpu.channel("displaced").unwrap().wholes(0).is_empty(), "{case:?} displaces nothing: it shows little");
    }
}
