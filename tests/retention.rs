//! The retention map: what each memory recalls, against what is known of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mnemoscope::engine::{Devices, RunError, headless};
use mnemoscope::layer::workload::Workload;
use mnemoscope::layer::{KINDS, LayerKind};
use mnemoscope::metric::retention::{Follow, MOST_READS, Probes, RetentionError, RetentionMap, Which, by_age, run};
use mnemoscope::param::Params;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, MAX_LANES, Session, Source, TaskSource};
use mnemoscope::stream::{Labels, Stream, StreamParts, Targets};
use mnemoscope::trace::{Axis, Values};
use ndarray::{Array3, concatenate, s};

/// A session on a stream of its own.
fn plan_on(stream: Stream, lanes: Vec<LaneSpec>) -> Plan {
    let session = Session { lanes, backend: BackendChoice::Cpu, ..Session::default() };
    Plan::on_stream(&session, None, &Arc::new(stream)).unwrap()
}

fn random(writes: usize, reads: usize, beta: f32) -> Stream {
    Workload { writes, reads, dk: 32, dv: 8, kv_heads: 1, query_heads: 1, beta, seed: 5 }.stream().unwrap()
}

fn needles(t: i64, lanes: Vec<LaneSpec>) -> Plan {
    let params = Params::default().with("T", t).with("needles", 8);
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
    Plan::new(&Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }, None).unwrap()
}

fn map_of(plan: &Plan, follow: Follow) -> RetentionMap {
    let probes = Arc::new(Probes::new(plan, follow.tokens(&plan.stream)));
    let mut map = RetentionMap::new(Arc::clone(&probes), plan.lanes.len());
    let (mut parts, mut reached) = (0, 0);
    let told = (
        |part| {
            map.absorb(part);
            parts += 1;
        },
        |p: headless::Progress| reached = p.writes,
    );
    run(&mut Devices::default(), plan, &probes, BackendChoice::Cpu, told, &AtomicBool::new(false)).unwrap();
    assert!(parts > plan.lanes.len() && reached == plan.stream.writes(), "partial maps come before the end");
    for lane in 0..plan.lanes.len() {
        assert_eq!(map.done(lane), probes.columns().len());
    }
    map
}

const EVERY: Follow = Follow { which: Which::Even, count: 512, seed: 0 };

/// Calls `each` with (step's writes, token, error) wherever an error is defined, and checks that it is exactly after the write.
fn each_error(map: &RetentionMap, lane: usize, mut each: impl FnMut(usize, usize, f32)) {
    for (c, column) in map.probes().columns().iter().enumerate() {
        for (t, &token) in map.probes().tokens().iter().enumerate() {
            let error = map.error(lane, 0, c, t);
            assert_eq!(error.is_some(), token < column.writes, "token {token} after {} writes", column.writes);
            if let Some(error) = error {
                each(column.writes, token, error);
            }
        }
    }
}

#[test]
fn full_attention_forgets_nothing_and_a_window_exactly_what_leaves_it() {
    let sharp = |name: &str, layer: &str, params: Params| LaneSpec::new(name, layer, params.with("beta", 80.0));
    let lanes = vec![sharp("full", "full", Params::default()), sharp("window", "window", Params::default().with("window", 100))];
    // A T that no step divides: the last step is shorter.
    let plan = plan_on(random(300, 3, 1.0), lanes);
    let map = map_of(&plan, EVERY);
    assert_eq!((map.probes().tokens().len(), map.probes().stride(), plan.step), (300, 1, 64));
    assert_eq!(map.probes().columns().iter().map(|c| c.writes).collect::<Vec<_>>(), [64, 128, 192, 256, 300]);
    each_error(&map, 0, |writes, token, error| assert!(error < 1e-3, "token {token} after {writes}: {error}"));
    each_error(&map, 1, |writes, token, error| {
        // A read sees the last 100 writes; what it gets for a key that is not there is another token's value.
        let there = token + 100 >= writes;
        assert_eq!(error < 0.05, there, "token {token} after {writes}: {error}");
    });
    for bin in by_age(&map, (1, 0), usize::MAX, |_| true) {
        // No bin holds both ages of 100 and of 101 but the one from 91 to 107.
        if !bin.ages.contains(&100) {
            assert_eq!(bin.quartiles[1] < 0.05, bin.ages.end <= 101, "{bin:?}");
        }
        assert!(bin.quartiles[0] <= bin.quartiles[1] && bin.quartiles[1] <= bin.quartiles[2]);
    }
}

#[test]
fn lola_keeps_the_needles_and_lolcats_loses_them() {
    let lola = |name: &str, cache: i64| {
        let params = Params::default().with("window", 64).with("chunk", 32).with("fmap", "hedgehog").with("sharpness", 20.0);
        LaneSpec::new(name, "lola", params.with("cache", cache))
    };
    let plan = needles(1024, vec![lola("LoLA", 32), lola("LoLCATs", 0)]);
    let follow = Follow::default();
    let map = map_of(&plan, follow);
    let roles = &plan.stream.labels().roles;
    let is_needle = |t: usize| roles.of_write[map.probes().tokens()[t]] == 1;
    assert_eq!((0..map.probes().tokens().len()).filter(|&t| is_needle(t)).count(), 8, "all of the marked role are followed");
    assert_eq!(map.probes().tokens().len(), follow.count);
    let last = map.probes().columns().len() - 1;
    let median = |lane: usize| {
        let mut errors: Vec<f32> = (0..follow.count).filter(|&t| is_needle(t)).map(|t| map.error(lane, 0, last, t).unwrap()).collect();
        errors.sort_by(f32::total_cmp);
        f32::midpoint(errors[3], errors[4])
    };
    println!("LoLA {}, LoLCATs {}", median(0), median(1));
    assert!(median(0) < 0.1, "LoLA {}", median(0));
    assert!(median(1) > 0.5, "LoLCATs {}", median(1));
}

/// The stream with one more read, an ordinary one, after `after` writes with the key of `token`; and that read's place.
fn with_read(stream: &Stream, token: usize, after: usize) -> (Stream, usize) {
    let at = stream.after().partition_point(|&a| (a as usize) < after);
    let key = stream.keys().slice(s![.., token..=token, ..]).to_owned();
    let queries =
        concatenate![ndarray::Axis(1), stream.queries().slice(s![.., ..at, ..]), key.view(), stream.queries().slice(s![.., at.., ..])];
    let mut seen = stream.after().to_vec();
    seen.insert(at, after as u32);
    let parts = StreamParts {
        keys: stream.keys().clone(),
        values: stream.values().clone(),
        queries,
        after: seen,
        beta: stream.beta(),
        targets: Targets::None,
        labels: Labels::default(),
    };
    (Stream::new(parts).unwrap(), at)
}

#[test]
fn a_probe_gets_what_an_ordinary_read_at_its_place_gets() {
    let lanes = || {
        vec![
            LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 40).with("chunk", 32)),
            // A larger chunk than the step: the read at a step within the chunk sees part of it raw.
            LaneSpec::new("OVQ 96", "ovq", Params::default().with("n_max", 40).with("chunk", 96)),
        ]
    };
    let stream = random(200, 40, 8.0);
    let plan = plan_on(stream.clone(), lanes());
    let map = map_of(&plan, Follow { which: Which::Even, count: 10, seed: 0 });
    assert_eq!(map.probes().tokens(), [0, 20, 40, 60, 80, 100, 120, 140, 160, 180]);
    for (c, t) in [(0, 1), (1, 3), (3, 0), (3, 5), (6, 9), (6, 2)] {
        let (token, after) = (map.probes().tokens()[t], map.probes().columns()[c].writes);
        let (asked, at) = with_read(&stream, token, after);
        let plan = Arc::new(plan_on(asked, lanes()));
        let result = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        for (lane, trace) in result.traces.iter().enumerate() {
            let output = trace.channel("outputs").unwrap().reals_at(0, at);
            let value = stream.values().slice(s![0, token, ..]);
            let error: f64 = output.iter().zip(value).map(|(o, v)| (f64::from(*o) - f64::from(*v)).powi(2)).sum();
            let length: f64 = value.iter().map(|v| f64::from(*v).powi(2)).sum();
            assert_eq!(map.error(lane, 0, c, t), Some((error / length) as f32), "lane {lane}, token {token} after {after}");
        }
    }
}

/// Runs the plan with and without the probes: every channel must be the same, bit for bit.
fn probes_change_nothing(plan: &Plan) {
    let probes = Probes::new(plan, Follow { which: Which::Random, count: 20, seed: 3 }.tokens(&plan.stream));
    let asked = Arc::new(probes.plan(plan).unwrap());
    let go = |plan: &Arc<Plan>| headless::run(plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
    let (plain, probed) = (go(&Arc::new(plan.clone())), go(&asked));
    let same = |a: &Values, b: &Values| match (a, b) {
        (Values::F32(a), Values::F32(b)) => a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits())),
        _ => a == b,
    };
    for (lane, (a, b)) in plan.lanes.iter().zip(plain.traces.iter().zip(&probed.traces)) {
        for spec in &lane.channels[..lane.own_channels] {
            let (a, b) = (a.channel(spec.name).unwrap(), b.channel(spec.name).unwrap());
            for head in 0..a.heads() {
                let place = format!("{} {} head {head}", lane.name, spec.name);
                if spec.axis != Axis::Read {
                    assert!(same(a.values(head), b.values(head)), "{place}");
                    continue;
                }
                for (read, &at) in probes.originals().iter().enumerate() {
                    let (a, b) = (a.values(head).slice(a.range(head, read)), b.values(head).slice(b.range(head, at)));
                    assert!(same(&a, &b), "{place} read {read}: {a:?} and {b:?}");
                }
            }
        }
    }
}

/// A lane of every layer there is, in groups that run at once.
fn every_layer() -> Vec<Vec<LaneSpec>> {
    let params = |k: &dyn LayerKind| {
        // A codebook is fitted on as many keys as the stream has: fewer than the default asks for.
        if k.params().iter().any(|p| p.name == "codes") { Params::default().with("codes", 32) } else { Params::default() }
    };
    let mut lanes: Vec<LaneSpec> = KINDS.iter().map(|k| LaneSpec::new(k.name(), k.name(), params(*k))).collect();
    // The scores that depend on the reads.
    let lola = Params::default().with("window", 16).with("cache", 24).with("chunk", 32);
    lanes.extend(["attention", "kernel"].map(|score| LaneSpec::new(score, "lola", lola.clone().with("score", score))));
    lanes.chunks(MAX_LANES).map(<[LaneSpec]>::to_vec).collect()
}

#[test]
fn probes_leave_every_layers_own_reads_and_memory_as_they_are() {
    for lanes in every_layer() {
        probes_change_nothing(&needles(500, lanes.clone()));
        // Grouped queries, and a normalised stream for those that want one.
        let source = Source::Capture(CaptureSource { tokens: Some(300), ..CaptureSource::bundled() });
        let session = Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() };
        probes_change_nothing(&Plan::new(&session, None).unwrap());
    }
}

#[test]
fn a_query_head_asks_with_the_key_of_its_own_key_value_head() {
    let stream = Workload { writes: 40, reads: 4, dk: 8, dv: 4, kv_heads: 2, query_heads: 4, beta: 1.0, seed: 1 }.stream().unwrap();
    let plan = plan_on(stream.clone(), vec![LaneSpec::new("full", "full", Params::default())]);
    let probes = Probes::new(&plan, vec![3, 30, 17, 3]);
    assert_eq!(probes.tokens(), [3, 17, 30]);
    let asked = probes.stream(&stream).unwrap();
    let column = &probes.columns()[0];
    assert_eq!((column.writes, column.reads.len(), asked.reads()), (40, 3, 7));
    for head in 0..4 {
        for (read, token) in column.reads.clone().zip([3, 17, 30]) {
            assert_eq!(asked.query(head, read), stream.keys().slice(s![head / 2, token, ..]));
            assert!(asked.is_silent(read));
        }
    }
    // The reads of the stream see 10, 20, 30 and 40 writes; the probes come before the one that sees as many.
    assert_eq!((probes.originals(), asked.is_silent(0), asked.is_silent(6)), (&[0, 1, 2, 6][..], false, false));
    assert_eq!(asked.after(), [10, 20, 30, 40, 40, 40, 40]);
}

#[test]
fn a_long_stream_is_asked_at_every_few_steps_and_at_the_last() {
    let rows = Array3::from_elem((1, 65_536, 8), 0.125_f32.sqrt());
    let parts = StreamParts {
        keys: rows.clone(),
        values: rows,
        queries: Array3::zeros((1, 0, 8)),
        after: Vec::new(),
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    };
    let lane = LaneSpec::new("ovq", "ovq", Params::default().with("chunk", 16).with("n_max", 16));
    let plan = plan_on(Stream::new(parts).unwrap(), vec![lane]);
    let probes = Probes::new(&plan, EVERY.tokens(&plan.stream));
    // 4096 steps with half of 512 tokens each are 2^20 reads, every second 2^19 and a few more: every third.
    assert_eq!(probes.stride(), 3);
    assert!(probes.reads() <= MOST_READS && probes.reads() * 3 > 2 * MOST_READS - 3 * 4096);
    assert_eq!((probes.columns()[0].step, probes.columns().last().unwrap().step), (1, 4096));
    let estimate = probes.estimate(&plan);
    assert_eq!(estimate.reads, probes.reads());
    // Keys and values of 65536 x 8, queries of 8 numbers a read, an error a token and column.
    assert_eq!(estimate.bytes as usize, 4 * (2 * 65_536 * 8 + 8 * probes.reads() + 512 * probes.columns().len()));
}

#[test]
fn a_map_can_be_stopped() {
    let plan = plan_on(random(300, 3, 1.0), vec![LaneSpec::new("full", "full", Params::default())]);
    let probes = Probes::new(&plan, EVERY.tokens(&plan.stream));
    let stop = AtomicBool::new(true);
    let ended = run(&mut Devices::default(), &plan, &probes, BackendChoice::Cpu, (|_| {}, |_| {}), &stop);
    assert_eq!(ended.unwrap_err(), RetentionError::Run(RunError::Cancelled));
}

#[test]
fn a_value_of_length_zero_has_no_error_and_a_role_can_be_followed() {
    let rows = Array3::from_elem((1, 8, 4), 0.5_f32);
    let mut values = rows.clone();
    values.slice_mut(s![0, 2, ..]).fill(0.0);
    let labels = Labels {
        roles: mnemoscope::stream::Roles {
            names: vec!["a".to_owned(), "b".to_owned()],
            of_write: vec![0, 1, 1, 0, 0, 1, 0, 0],
            of_read: Vec::new(),
            marked: None,
        },
        ..Labels::default()
    };
    let queries = Array3::zeros((1, 0, 4));
    let parts = StreamParts { keys: rows, values, queries, after: Vec::new(), beta: 1.0, targets: Targets::None, labels };
    let plan = plan_on(Stream::new(parts).unwrap(), vec![LaneSpec::new("full", "full", Params::default())]);
    let follow = Follow { which: Which::Role(1), count: 9, seed: 0 };
    let probes = Probes::new(&plan, follow.tokens(&plan.stream));
    assert_eq!(probes.tokens(), [1, 2, 5]);
    let mut map = RetentionMap::new(Arc::new(probes.clone()), 1);
    run(&mut Devices::default(), &plan, &probes, BackendChoice::Cpu, (|p| map.absorb(p), |_| {}), &AtomicBool::new(false)).unwrap();
    // Equal keys: the mean of the eight values, 7/8 of each of the others: an error of 1/64.
    let errors: Vec<_> = (0..3).map(|t| map.error(0, 0, 0, t)).collect();
    assert!(errors[1].is_none());
    assert!((errors[0].unwrap() - 1.0 / 64.0).abs() < 1e-5 && errors[0] == errors[2], "{errors:?}");
}
