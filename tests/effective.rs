//! Effective attention of every layer there is, on the CPU and on the GPU: the weights of the tokens, times their values, are what
//! the lane returned.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mnemoscope::engine::headless;
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::layer::KINDS;
use mnemoscope::layer::effective::ReadOf;
use mnemoscope::metric::query_used;
use mnemoscope::param::Params;
use mnemoscope::session::plan::{Plan, PlanLane};
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, MAX_LANES, Session, Source, TaskSource};
use mnemoscope::trace::LaneTrace;

/// A lane of every layer, and of those ablations that weigh tokens otherwise, in groups that run at once.
fn every_layer() -> Vec<Vec<LaneSpec>> {
    let codes = Params::default().with("codes", 24);
    let params = |name: &str| if name == "vq" { codes.clone() } else { Params::default() };
    let mut lanes: Vec<LaneSpec> = KINDS.iter().map(|k| LaneSpec::new(k.name(), k.name(), params(k.name()))).collect();
    let ovq = Params::default().with("n_max", 40).with("chunk", 16);
    let lola = Params::default().with("window", 16).with("cache", 24).with("chunk", 32);
    lanes.push(LaneSpec::new("constant rate", "ovq", ovq.clone().with("rate", "constant")));
    lanes.push(LaneSpec::new("unit centroids", "ovq", ovq.clone().with("normalise_centroids", true)));
    lanes.push(LaneSpec::new("farthest", "ovq", ovq.with("founding", "farthest-point").with("count_bias", false)));
    lanes.push(LaneSpec::new("attention", "lola", lola.clone().with("score", "attention").with("linear_weight", 3.0)));
    lanes.push(LaneSpec::new("favor", "lola", lola.with("fmap", "favor")));
    lanes.chunks(MAX_LANES).map(<[LaneSpec]>::to_vec).collect()
}

/// Holds every read of a lane, of every query head, to its weights. Mamba-2's outputs are sums that grow: the difference counts in
/// proportion to the largest.
fn reproduces(lane: &PlanLane, trace: &LaneTrace) {
    let stream = &lane.setup.stream;
    let dv = stream.value_dim();
    let outputs = trace.channel("outputs").unwrap();
    for head in 0..stream.query_heads() {
        let values = stream.values().index_axis(ndarray::Axis(0), stream.kv_head_of(head)).to_owned();
        let scale = outputs.reals(head).iter().fold(1.0_f32, |m, x| m.max(x.abs()));
        for read in (0..stream.reads()).step_by(7) {
            let query = query_used(stream, trace, head, read);
            let ask = ReadOf { query_head: head, read, query: &query };
            let found = lane.kind.effective(&lane.setup, trace, ask).unwrap_or_else(|| panic!("{}: read {read} has none", lane.name));
            let after = stream.after()[read] as usize;
            assert_eq!((found.weights.len(), found.stores.len()), (after, after), "{}", lane.name);
            for (j, &returned) in outputs.reals_at(head, read).iter().enumerate() {
                let sum: f64 = found.weights.iter().zip(values.column(j)).map(|(w, &v)| w * f64::from(v)).sum();
                let off = (sum - f64::from(returned)).abs() / f64::from(scale);
                assert!(off < 1e-4, "{}, head {head}, read {read}, number {j} of {dv}: {sum} for {returned}", lane.name);
            }
        }
    }
}

fn hold(source: &Source) {
    for lanes in every_layer() {
        let session = Session { source: source.clone(), lanes, ..Session::default() };
        let plan = Arc::new(Plan::new(&session, None).unwrap());
        for backend in [Some(BackendChoice::Cpu), gpu_or_skip().map(|_| BackendChoice::Gpu)].into_iter().flatten() {
            let result = headless::run(&plan, backend, |_| {}, &AtomicBool::new(false)).unwrap();
            for (lane, trace) in plan.lanes.iter().zip(&result.traces) {
                reproduces(lane, trace);
            }
        }
    }
}

#[test]
fn every_lane_of_a_task() {
    let params = Params::default().with("T", 300).with("pairs", 70).with("dk", 16).with("dv", 12);
    hold(&Source::Task(TaskSource { name: "multi_query".to_owned(), params }));
}

#[test]
fn every_lane_of_a_capture_with_grouped_queries() {
    hold(&Source::Capture(CaptureSource { tokens: Some(200), ..CaptureSource::bundled() }));
}

#[test]
fn every_lane_that_follows_its_own_answers() {
    let params = Params::default().with("T", 230).with("chains", 4).with("hops", 3).with("dk", 16).with("dv", 12).with("values", 20);
    hold(&Source::Task(TaskSource { name: "variable_tracking".to_owned(), params }));
}
