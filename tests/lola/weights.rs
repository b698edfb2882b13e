//! Learned Hedgehog maps on real streams: TASKS.md's figures, a state a query head, and the GPU.

use std::path::{Path, PathBuf};

use mnemoscope::layer::lola::residency::{Place, Residency};
use mnemoscope::session::plan::{Plan, PlanLane};
use mnemoscope::session::{CaptureSource, LaneSpec, Session, Source};

use super::*;

/// A capture's lanes: full attention, the window alone, `LoLCATs` and `LoLA` with the weights of a file.
fn plan(capture: CaptureSource, weights: &Path) -> Plan {
    let lola = |name: &str, cache: i64| LaneSpec {
        weights: Some(weights.to_owned()),
        ..LaneSpec::new(name, "lola", Params::default().with("window", 64).with("cache", cache).with("chunk", 64).with("fmap", "hedgehog"))
    };
    let lanes = vec![
        LaneSpec::new("full", "full", Params::default()),
        LaneSpec::new("window", "window", Params::default().with("window", 64)),
        lola("LoLCATs", 0),
        lola("LoLA", 128),
    ];
    Plan::new(&Session { source: Source::Capture(capture), lanes, ..Session::default() }, None).unwrap()
}

fn run_lane(lane: &PlanLane) -> LaneTrace {
    let mut trace = lane.trace();
    let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
    let mut block = TraceBlock::default();
    layer.advance(usize::MAX, Record::All, &mut block).unwrap();
    trace.append(&block).unwrap();
    trace
}

/// The relative error |o - y| / |y| of the last 64 reads of one query head against full attention.
fn error(full: &LaneTrace, lane: &LaneTrace, head: usize) -> f64 {
    let (y, o) = (full.channel("outputs").unwrap(), lane.channel("outputs").unwrap());
    let last = y.len() - 64..y.len();
    let pairs =
        || last.clone().flat_map(|r| o.reals_at(head, r).iter().zip(y.reals_at(head, r)).map(|(o, y)| (f64::from(*o), f64::from(*y))));
    let distance: f64 = pairs().map(|(o, y)| (o - y).powi(2)).sum();
    let length: f64 = pairs().map(|(_, y)| y * y).sum();
    (distance / length).sqrt()
}

/// Of the needle's tokens, those in a head's cache when the prompt ends.
fn cached(plan: &Plan, trace: &LaneTrace, head: usize) -> (usize, usize) {
    let roles = &plan.stream.labels().roles;
    let needle: Vec<usize> = (0..plan.stream.writes()).filter(|&w| Some(roles.of_write[w]) == roles.marked).collect();
    let mut index = Residency::new(64, 64, plan.stream.writes());
    index.extend(trace.channel("admitted").unwrap(), trace.channel("displaced").unwrap(), head);
    let steps = index.steps();
    (needle.iter().filter(|&&w| index.at(w, steps) == Place::Cache).count(), needle.len())
}

/// TASKS.md, "Real streams": the errors of window, `LoLCATs` and `LoLA`, and the share of the needle in `LoLA`'s cache, of one query head.
fn check(plan: &Plan, head: usize, errors: [f64; 3], needle: Option<f64>) {
    let traces: Vec<LaneTrace> = plan.lanes.iter().map(run_lane).collect();
    for (at, expected) in errors.into_iter().enumerate() {
        let found = error(&traces[0], &traces[at + 1], head);
        println!("{}, query head {head}, {}: {found:.4}", plan.stream.labels().title, plan.lanes[at + 1].name);
        // Two digits are known.
        assert!((found - expected).abs() <= 0.0055, "{}: {found:.4} where {expected} is expected", plan.lanes[at + 1].name);
    }
    let (found, of) = cached(plan, &traces[3], head);
    println!("{found} of {of} needle tokens cached");
    if let Some(needle) = needle {
        let share = found as f64 / of as f64;
        assert!((share - needle).abs() < 0.006, "{found} of {of} where {needle} of them are expected");
    }
}

#[test]
fn the_bundled_weights_give_the_tables_figures() {
    let plan = plan(CaptureSource::bundled(), Path::new("bundled"));
    check(&plan, 0, [1.23, 0.20, 0.20], Some(0.90));
    // One state for each of the three query heads; the lane says so.
    let lane = &plan.lanes[3];
    assert_eq!((plan.stream.kv_heads(), lane.setup.stream.kv_heads(), lane.setup.stream.query_heads()), (1, 3, 3));
    assert!(Arc::ptr_eq(&lane.setup.stream, &plan.lanes[2].setup.stream), "the repeated stream is made once");
    assert_eq!(
        lane.notes,
        [
            "Hedgehog maps learned for SmolLM2-135M-Instruct, from the bundled weights: layer 12, query heads 0, 1, 2, with the factor of each state; \
          each query head has its own, so keys and values are repeated and one state is kept for each query head"
        ]
    );
    assert_eq!(lane.setup.arrays["weights_k"].shape(), [3, 64, 64]);
    // exp(3.9160104), as the file has it for query head 0.
    approx::assert_relative_eq!(f64::from(lane.setup.arrays["log_linear_weight"][0]).exp(), 50.1998, max_relative = 1e-5);
}

/// The figures of the other layers and heads, where their files are: `MNEMOSCOPE_DATA` names the folder.
#[test]
fn the_whole_files_give_the_tables_figures() {
    let Some(data) = std::env::var_os("MNEMOSCOPE_DATA").map(PathBuf::from) else {
        eprintln!("skipped: MNEMOSCOPE_DATA names no folder of captures");
        return;
    };
    let (capture, weights) = (data.join("smollm2_needle_2k.safetensors"), data.join("smollm2_hedgehog.safetensors"));
    let of = |layer| plan(CaptureSource { layer: Some(layer), ..CaptureSource::of(&capture) }, &weights);
    let twelve = of(12);
    check(&twelve, 0, [1.23, 0.20, 0.20], Some(0.90));
    check(&twelve, 3, [1.17, 0.55, 0.54], Some(0.95));
    check(&of(20), 3, [0.68, 0.47, 0.36], None);
}

#[test]
fn the_gpu_keeps_a_state_a_query_head_too() {
    let Some(gpu) = gpu_or_skip() else { return };
    let source = CaptureSource { tokens: Some(320), ..CaptureSource::bundled() };
    let plan = plan(source, Path::new("bundled"));
    let lane = &plan.lanes[3];
    let cpu = run_lane(lane);
    let mut layer = lane.kind.gpu(&lane.setup, &GpuStream::new(&gpu, &lane.setup.stream).unwrap()).unwrap();
    let mut block = TraceBlock::default();
    layer.advance(usize::MAX, Record::All, &mut block).unwrap();
    let mut trace = lane.trace();
    trace.append(&block).unwrap();
    for head in 0..3 {
        let margins = cpu.channel("select_margin").unwrap().reals(head);
        assert!(margins.iter().all(|&m| f64::from(m) > CHOICE_MARGIN), "head {head} has a tie: another length shows more");
        assert_eq!(cpu.channel("admitted").unwrap().wholes(head), trace.channel("admitted").unwrap().wholes(head));
        let outputs = |t: &LaneTrace| wide(t.channel("outputs").unwrap().values(head));
        for (a, b) in outputs(&cpu).into_iter().zip(outputs(&trace)) {
            assert!((a - b).abs() <= 1e-4 + 1e-4 * a.abs(), "head {head}: {a} and {b}");
        }
    }
    // The heads read the same keys, and cache others.
    assert_ne!(cpu.channel("admitted").unwrap().wholes(0), cpu.channel("admitted").unwrap().wholes(1));
}

#[test]
fn linear_attention_takes_them_and_another_map_does_not() {
    let lane = |layer: &str, fmap: &str| LaneSpec {
        weights: Some("bundled".into()),
        ..LaneSpec::new(layer, layer, Params::default().with("fmap", fmap))
    };
    let lanes = vec![lane("linear", "hedgehog"), lane("lola", "elu1")];
    let plan = Plan::new(&Session { lanes, ..Session::default() }, None).unwrap();
    let [linear, lola] = &plan.lanes[..] else { panic!("two lanes") };
    assert_eq!((linear.setup.stream.kv_heads(), linear.setup.arrays.len()), (3, 3));
    assert!(Arc::ptr_eq(&lola.setup.stream, &plan.stream) && lola.setup.arrays.is_empty());
    assert_eq!(lola.notes, ["the weights of bundled are not used: the feature map is elu1"]);
    // A state of 128 x 65 numbers a query head, where full attention keeps 2048 x 128 for the one key/value head.
    let cost = linear.kind.cost(&linear.setup);
    assert_eq!(cost.state_numbers, 128 * 65);
    let share = mnemoscope::metric::memory_share(&cost, &linear.setup.stream, &plan.stream);
    approx::assert_relative_eq!(share, 3.0 * 128.0 * 65.0 / (2048.0 * 128.0), max_relative = 1e-12);
}
