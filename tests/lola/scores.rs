//! The scores that decide who stays in the cache, against a plain float64 loop over LAYERS.md's definitions.

use std::collections::BTreeSet;

use mnemoscope::layer::real::EPSILON;
use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

const WRITES: usize = 90;
const READS: usize = 110;

/// Two key/value heads of two query heads each; reads that are not as many as writes, some of which only look.
fn lane(score: &str, fmap: &str, silent: bool) -> Setup {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut normal =
        |shape, scale: f32| Array3::from_shape_simple_fn(shape, || scale * Distribution::<f32>::sample(&StandardNormal, &mut rng));
    let (keys, values, queries) = (normal((2, WRITES, 5), 0.8), normal((2, WRITES, 4), 1.0), normal((4, READS, 5), 0.8));
    // No read falls into the writes 31 to 44: a chunk without a query.
    let mut after: Vec<u32> =
        (0..READS).map(|_| rng.random_range(1..=(WRITES - 14) as u32)).map(|a| if a > 30 { a + 14 } else { a }).collect();
    after.sort_unstable();
    let (targets, labels) = (Targets::None, Labels::default());
    let mut stream = Stream::new(StreamParts { keys, values, queries, after, beta: 0.9, targets, labels }).unwrap();
    if silent {
        stream = stream.with_silent((0..READS).map(|r| r % 5 == 2).collect()).unwrap();
    }
    let params = Params::default().with("window", 9).with("cache", 11).with("chunk", 7).with("linear_weight", 0.7).with("seed", 4);
    setup(stream, &params.with("score", score).with("fmap", fmap), Arrays::new())
}

fn phi(fmap: &str, x: &[f64], beta: f64) -> Vec<f64> {
    match fmap {
        "elu1" => x.iter().map(|&x| if x > 0.0 { x + 1.0 } else { x.exp() }).collect(),
        "hedgehog" => {
            let half = |sign: f64| {
                let e: Vec<f64> = x.iter().map(|x| (sign * x).exp()).collect();
                let sum: f64 = e.iter().sum();
                e.into_iter().map(move |e| e / sum)
            };
            half(1.0).chain(half(-1.0)).collect()
        }
        "taylor2" => {
            let second = x.iter().flat_map(|a| x.iter().map(move |b| beta / 2.0_f64.sqrt() * a * b));
            std::iter::once(1.0).chain(x.iter().map(|x| beta.sqrt() * x)).chain(second).collect()
        }
        other => panic!("{other}"),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// One head's candidates with their scores, and the cache after each step.
type Steps = Vec<(Vec<(usize, f64)>, BTreeSet<usize>)>;

/// LAYERS.md, "`LoLA`", one head of keys with the plainest loops there are.
fn by_definition(setup: &Setup, fmap: &str, score: &str, head: usize) -> Steps {
    let (s, beta) = (&setup.stream, setup.beta());
    let row = |a: &Array3<f32>, h: usize, i: usize| a.slice(ndarray::s![h, i, ..]).iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let (keys, features): (Vec<_>, Vec<_>) =
        (0..WRITES).map(|i| row(s.keys(), head, i)).map(|k| (phi(fmap, &k, beta), k)).map(|(f, k)| (k, f)).unzip();
    let (mut cached, mut folded, mut integrated) = (BTreeSet::new(), Vec::new(), 0);
    let mut received = vec![0.0; WRITES];
    let mut steps = Vec::new();
    for lo in (0..WRITES).step_by(7) {
        let hi = (lo + 7).min(WRITES);
        let (mut squares, mut queries) = (vec![0.0; WRITES], 0);
        for r in (0..READS).filter(|&r| (lo + 1..=hi).contains(&(s.after()[r] as usize)) && !s.is_silent(r)) {
            for query_head in [2 * head, 2 * head + 1] {
                let q = row(s.queries(), query_head, r);
                let phi_q = phi(fmap, &q, beta);
                let e = |i: usize| (beta * dot(&q, &keys[i])).exp();
                let seen: Vec<usize> = (integrated..s.after()[r] as usize).chain(cached.iter().copied()).collect();
                let state: f64 = folded.iter().map(|&i: &usize| dot(&phi_q, &features[i])).sum();
                let whole = seen.iter().map(|&i| e(i)).sum::<f64>() + 0.7 * state + EPSILON;
                for &i in &seen {
                    received[i] += e(i) / whole;
                }
                (0..WRITES).for_each(|i| squares[i] += (e(i) - dot(&phi_q, &features[i])).powi(2));
                queries += 1;
            }
        }
        let leave = integrated.max(hi.saturating_sub(9));
        let of = |i: usize| match score {
            "attention" => received[i],
            "kernel" if queries == 0 => 0.0,
            "kernel" => squares[i] / f64::from(queries),
            other => panic!("{other}"),
        };
        let candidates: Vec<(usize, f64)> = cached.iter().copied().chain(integrated..leave).map(|i| (i, of(i))).collect();
        let mut ranked = candidates.clone();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        cached = ranked.iter().take(11).map(|c| c.0).collect();
        folded.extend(ranked.iter().skip(11).map(|c| c.0));
        integrated = leave;
        steps.push((candidates, cached.clone()));
    }
    steps
}

/// Holds a trace against the definition, until a choice comes that rounding may flip.
fn check(setup: &Setup, trace: &LaneTrace, expected: &[Steps], tolerance: f64, what: &str) {
    for (head, steps) in expected.iter().enumerate() {
        let channel = |name: &str| trace.channel(name).unwrap();
        let margins = wide(channel("select_margin").values(head));
        let mut cached = BTreeSet::new();
        let mut held = 0;
        for (step, (candidates, after)) in steps.iter().enumerate() {
            let ids: Vec<usize> = channel("candidates").wholes_at(head, step).iter().map(|&i| i as usize).collect();
            let scores = channel("candidate_scores");
            let found = wide(&scores.values(head).slice(scores.range(head, step)));
            assert_eq!(ids, candidates.iter().map(|c| c.0).collect::<Vec<_>>(), "{what}, head {head}, step {step}");
            for ((id, expected), found) in candidates.iter().zip(found) {
                let near = (found - expected).abs() <= tolerance * (1.0 + expected.abs());
                assert!(near, "{what}, head {head}, step {step}, write {id}: {found} but {expected}");
            }
            // Equal scores (a chunk without a query gives 0 to all) are decided by the ids, which are exact.
            if margins[step] <= CHOICE_MARGIN && margins[step] != 0.0 && tolerance > 1e-8 {
                break;
            }
            cached.extend(channel("admitted").wholes_at(head, step).iter().map(|&i| i as usize));
            channel("displaced").wholes_at(head, step).iter().for_each(|&i| assert!(cached.remove(&(i as usize))));
            assert_eq!(&cached, after, "{what}, head {head}, step {step}");
            held += 1;
        }
        assert!(held > 5, "{what}, head {head}: ties from step {held} on");
    }
    assert_eq!(trace.channel("outputs").unwrap().len(), setup.stream.reads());
}

#[test]
fn attention_and_kernel_are_what_layers_md_says() {
    let gpu = gpu_or_skip();
    for (score, fmap) in
        [("attention", "elu1"), ("attention", "hedgehog"), ("kernel", "elu1"), ("kernel", "hedgehog"), ("kernel", "taylor2")]
    {
        let setup = lane(score, fmap, true);
        let expected = [0, 1].map(|head| by_definition(&setup, fmap, score, head));
        let what = format!("{score}, {fmap}");
        let cpu = |precision| run(&mut *kind().cpu(&setup, precision).unwrap(), &setup, 3);
        check(&setup, &cpu(Precision::Double), &expected, 1e-10, &what);
        check(&setup, &cpu(Precision::Single), &expected, 1e-4, &what);
        let Some(gpu) = &gpu else { continue };
        let mut layer = kind().gpu(&setup, &GpuStream::new(gpu, &setup.stream).unwrap()).unwrap();
        check(&setup, &run(&mut *layer, &setup, 3), &expected, 1e-4, &format!("{what} on the GPU"));
    }
}

/// What only looks changes no memory: the same choices as without those reads.
#[test]
fn silent_reads_do_not_count() {
    for score in ["attention", "kernel"] {
        let with = lane(score, "elu1", true);
        let all = &with.stream;
        let loud: Vec<usize> = (0..READS).filter(|&r| !all.is_silent(r)).collect();
        let stream = Stream::new(StreamParts {
            keys: all.keys().clone(),
            values: all.values().clone(),
            queries: all.queries().select(ndarray::Axis(1), &loud),
            after: loud.iter().map(|&r| all.after()[r]).collect(),
            beta: all.beta(),
            targets: Targets::None,
            labels: Labels::default(),
        })
        .unwrap();
        let without = Setup { stream: Arc::new(stream), ..with.clone() };
        let traces = [&with, &without, &lane(score, "elu1", false)].map(|s| run(&mut *kind().cpu(s, Precision::Double).unwrap(), s, 3));
        let scores = |t: &LaneTrace| (0..2).flat_map(|h| wide(t.channel("candidate_scores").unwrap().values(h))).collect::<Vec<_>>();
        for (a, b) in scores(&traces[0]).into_iter().zip(scores(&traces[1])) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{score}: {a} with silent reads, {b} without them");
        }
        assert_ne!(scores(&traces[0]), scores(&traces[2]), "{score}: were they not silent, they would count");
    }
}

/// Drawn once: the same in every precision and place, a candidate's score never changes, and the seed decides.
#[test]
fn random_scores_are_drawn_once_by_the_seed() {
    let setup = lane("random", "elu1", true);
    let trace = run(&mut *kind().cpu(&setup, Precision::Single).unwrap(), &setup, 3);
    let scores = |t: &LaneTrace, head: usize| -> Vec<(i32, f64)> {
        let (ids, scores) = (t.channel("candidates").unwrap(), t.channel("candidate_scores").unwrap());
        ids.wholes(head).iter().copied().zip(wide(scores.values(head))).collect()
    };
    for head in 0..2 {
        let mut of = std::collections::BTreeMap::new();
        for (id, score) in scores(&trace, head) {
            assert!((0.0..1.0).contains(&score));
            assert_eq!(*of.entry(id).or_insert(score), score, "write {id} is drawn anew");
        }
        // Uniform: the mean of 81 numbers is within four deviations of a half.
        let mean = of.values().sum::<f64>() / of.len() as f64;
        assert!(of.len() == 81 && (mean - 0.5).abs() < 4.0 / (12.0_f64 * 81.0).sqrt(), "{mean} of {}", of.len());
    }
    assert_ne!(scores(&trace, 0), scores(&trace, 1), "each head has its own");
    let double = run(&mut *kind().cpu(&setup, Precision::Double).unwrap(), &setup, 3);
    assert_eq!(scores(&double, 1), scores(&trace, 1));
    let params = Params::default().with("window", 9).with("cache", 11).with("chunk", 7).with("score", "random").with("seed", 5);
    let other = super::setup(setup.stream.as_ref().clone(), &params, Arrays::new());
    assert_ne!(scores(&run(&mut *kind().cpu(&other, Precision::Single).unwrap(), &other, 3), 0), scores(&trace, 0));
    let Some(gpu) = gpu_or_skip() else { return };
    let mut layer = kind().gpu(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap();
    let on_gpu = run(&mut *layer, &setup, 3);
    for head in 0..2 {
        assert_eq!(scores(&on_gpu, head), scores(&trace, head));
    }
}

/// The attention received is part of the state: one state of either place and precision fits the other.
#[test]
fn the_attention_received_is_part_of_the_state() {
    let setup = lane("attention", "elu1", true);
    let mut layer = kind().cpu(&setup, Precision::Single).unwrap();
    layer.advance(6, Record::StateOnly, &mut TraceBlock::default()).unwrap();
    let snapshot = layer.snapshot().unwrap();
    // 42 writes: 9 in the window, 11 cached.
    assert_eq!(snapshot.array("received").unwrap().shape, [2, 20]);
    let mut without = snapshot.clone();
    without.arrays.retain(|a| a.name != "received");
    assert!(layer.restore(&without).unwrap_err().to_string().contains("`received`"));
    let Some(gpu) = gpu_or_skip() else { return };
    let mut other = kind().gpu(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap();
    other.restore(&snapshot).unwrap();
    assert_eq!(other.snapshot().unwrap(), snapshot);
    assert!(other.restore(&without).is_err());
}
