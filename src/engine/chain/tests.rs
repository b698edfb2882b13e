//! Chains on real layers: against a plain loop in float64, on both backends, and over the loss of a device.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ndarray::{Array2, ArrayView1};

use super::super::testing::{Fault, Machine};
use super::super::{headless, headless::RunResult};
use super::*;
use crate::gpu::testing::gpu_or_skip;
use crate::metric::{ANSWER, ANSWER_MARGIN, CORRECT, query_used};
use crate::param::Params;
use crate::session::plan::Plan;
use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
use crate::stream::Stream;

const CHAINS: usize = 6;
const HOPS: usize = 4;

/// A window that holds the newest assignment of three of the six chains.
fn window(stream: &Stream) -> usize {
    let mut newest = stream.labels().answer_at.clone().unwrap()[..CHAINS].to_vec();
    newest.sort_unstable();
    stream.writes() - newest[CHAINS / 2] as usize
}

fn plan() -> Arc<Plan> {
    let full = plan_with(1);
    plan_with(window(&full.stream))
}

fn plan_with(window: usize) -> Arc<Plan> {
    let params = Params::default().with("T", 230).with("chains", CHAINS as i64).with("hops", HOPS as i64).with("fillers", 8);
    let params = params.with("dk", 16).with("dv", 12).with("values", 20);
    let lola = Params::default().with("window", 16).with("cache", 24).with("chunk", 32).with("fmap", "elu1");
    let lanes = vec![
        LaneSpec::new("full", "full", Params::default().with("beta", 60.0)),
        LaneSpec::new("window", "window", Params::default().with("window", window as i64)),
        LaneSpec::new("linear", "linear", Params::default().with("fmap", "elu1")),
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 64).with("chunk", 50)),
        LaneSpec::new("LoLA", "lola", lola.clone()),
        // A memory that depends on its reads: those of the later hops must not count.
        LaneSpec::new("LoLA attention", "lola", lola.with("score", "attention")),
    ];
    let source = Source::Task(TaskSource { name: "variable_tracking".to_owned(), params });
    Arc::new(Plan::new(&Session { source, lanes, seed: 4, ..Session::default() }, None).unwrap())
}

fn run(plan: &Arc<Plan>, backend: BackendChoice) -> RunResult {
    headless::run(plan, backend, |_| {}, &AtomicBool::new(false)).unwrap()
}

fn answers(result: &RunResult, lane: usize) -> Vec<i32> {
    result.traces[lane].channel(ANSWER).unwrap().wholes(0).to_vec()
}

fn correct(result: &RunResult, lane: usize, hop: usize) -> i32 {
    result.traces[lane].channel(CORRECT).unwrap().wholes(0)[hop * CHAINS..(hop + 1) * CHAINS].iter().sum()
}

/// Softmax attention over the last `window` writes in float64.
fn windowed(stream: &Stream, window: usize, query: ArrayView1<'_, f32>) -> Vec<f64> {
    let t = stream.writes();
    let score = |i: usize| {
        let dot: f64 = stream.keys_of(0).row(i).iter().zip(query).map(|(&k, &q)| f64::from(k) * f64::from(q)).sum();
        (f64::from(stream.beta()) * dot).exp()
    };
    let weights: Vec<f64> = (t - window..t).map(score).collect();
    let sum: f64 = weights.iter().sum();
    let value = |d: usize| weights.iter().zip(t - window..t).map(|(w, i)| w * f64::from(stream.values()[[0, i, d]])).sum::<f64>() / sum;
    (0..stream.value_dim()).map(value).collect()
}

/// The same read by read, each asking what the answer before it leads to.
fn by_hand(stream: &Stream, window: usize) -> Vec<i32> {
    let Targets::Codes { codebook, .. } = stream.targets() else { panic!("codes") };
    let query_of_code: &Array2<f32> = &stream.chain().unwrap().query_of_code;
    let mut answers: Vec<i32> = Vec::new();
    for read in 0..stream.reads() {
        let query = if read < CHAINS { stream.query(0, read) } else { query_of_code.row(answers[read - CHAINS] as usize) };
        let output = windowed(stream, window, query);
        let dot = |code: usize| codebook.row(code).iter().zip(&output).map(|(&c, o)| f64::from(c) * o).sum::<f64>();
        let best = (0..codebook.nrows()).max_by(|&a, &b| dot(a).total_cmp(&dot(b))).unwrap();
        answers.push(best as i32);
    }
    answers
}

/// The reads of every chain, hop by hop, as far as no answer hangs on rounding.
fn comparable(margins: &[f32]) -> Vec<usize> {
    let reads = |chain| (0..HOPS).map(move |hop| hop * CHAINS + chain);
    (0..CHAINS).flat_map(|chain| reads(chain).take_while(|&r| margins[r] > 1e-4)).collect()
}

#[test]
fn a_perfect_memory_gets_every_hop_right() {
    let (plan, result) = (plan(), run(&plan(), BackendChoice::Cpu));
    assert!((0..HOPS).all(|hop| correct(&result, 0, hop) == CHAINS as i32));
    // It was asked the right questions: the stream's own.
    for read in 0..plan.stream.reads() {
        assert_eq!(query_used(&plan.stream, &result.traces[0], 0, read), plan.stream.query(0, read).to_vec());
    }
}

#[test]
fn a_memory_that_errs_is_asked_by_its_own_answers() {
    let (plan, result) = (plan(), run(&plan(), BackendChoice::Cpu));
    let found = answers(&result, 1);
    let margins = result.traces[1].channel(ANSWER_MARGIN).unwrap().reals(0);
    let (by_hand, reads) = (by_hand(&plan.stream, window(&plan.stream)), comparable(margins));
    assert!(reads.len() > 3 * CHAINS, "nearly all can be compared: {margins:?}");
    for read in reads {
        assert_eq!(found[read], by_hand[read], "read {read}");
    }
    // It errs at the first hop, but not everywhere, and some later question is its own.
    let first = correct(&result, 1, 0);
    assert!((CHAINS as i32 / 2..CHAINS as i32).contains(&first), "{first}");
    let other = |read: usize| query_used(&plan.stream, &result.traces[1], 0, read) != plan.stream.query(0, read).to_vec();
    let asked: Vec<bool> = (CHAINS..plan.stream.reads()).map(other).collect();
    let Targets::Codes { target, .. } = plan.stream.targets() else { panic!("codes") };
    let wrong: Vec<bool> = (0..plan.stream.reads() - CHAINS).map(|r| found[r] as u32 != target[r]).collect();
    assert_eq!(asked, wrong);
    assert!(wrong.iter().any(|w| *w));
}

/// What a lane wrote for reads that do not follow others, and its state at the end, do not depend on the later hops.
#[test]
fn earlier_reads_and_states_are_those_of_a_run_without_a_chain() {
    let with = plan();
    let mut without = with.as_ref().clone();
    let unchained = |stream: &Stream| {
        let Targets::Codes { codebook, target } = stream.targets() else { panic!("codes") };
        Arc::new(
            Stream::new(crate::stream::StreamParts {
                keys: stream.keys().clone(),
                values: stream.values().clone(),
                queries: stream.queries().clone(),
                after: stream.after().to_vec(),
                beta: stream.beta(),
                targets: Targets::Codes { codebook: codebook.clone(), target: target.clone() },
                labels: stream.labels().clone(),
            })
            // Only the first hop's reads are known beforehand: the others count for no memory.
            .and_then(|s| s.with_silent((0..stream.reads()).map(|r| r >= CHAINS).collect()))
            .unwrap(),
        )
    };
    without.stream = unchained(&with.stream);
    for lane in &mut without.lanes {
        lane.setup.stream = unchained(&lane.setup.stream);
    }
    let (a, b) = (run(&with, BackendChoice::Cpu), run(&Arc::new(without), BackendChoice::Cpu));
    assert_eq!(a.states, b.states);
    for (lane, (x, y)) in a.traces.iter().zip(&b.traces).enumerate() {
        let dv = with.stream.value_dim();
        let outputs = |t: &crate::trace::LaneTrace| t.channel("outputs").unwrap().reals(0).to_vec();
        assert_eq!(outputs(x)[..CHAINS * dv], outputs(y)[..CHAINS * dv]);
        // Later hops differ only after a wrong answer.
        let all_right = (0..HOPS - 1).all(|hop| correct(&b, lane, hop) == CHAINS as i32);
        assert_eq!(outputs(x) == outputs(y), all_right, "{}", with.lanes[lane].name);
    }
}

#[test]
fn the_gpu_follows_its_own_answers_too() {
    if gpu_or_skip().is_none() {
        return;
    }
    let plan = plan();
    let (cpu, gpu) = (run(&plan, BackendChoice::Cpu), run(&plan, BackendChoice::Gpu));
    assert!(gpu.backend.gpu);
    for (lane, spec) in plan.lanes.iter().enumerate() {
        let margins = cpu.traces[lane].channel(ANSWER_MARGIN).unwrap().reals(0);
        for read in comparable(margins) {
            assert_eq!(answers(&gpu, lane)[read], answers(&cpu, lane)[read], "{} read {read}", spec.name);
        }
    }
}

#[test]
fn a_device_lost_between_two_hops_changes_no_answer() {
    let mut plan = plan().as_ref().clone();
    plan.lanes.truncate(2);
    let plan = Arc::new(plan);
    let last = plan.stream.chunks(plan.lanes[1].setup.chunk) - 1;
    // Built: full, window, and then window again for the second hop; full errs nowhere.
    let mut machine = Machine::new(Fault::Lost { built: 2, at: last }, Duration::ZERO);
    let cancel = AtomicBool::new(false);
    let result = headless::run_with(&mut machine, &plan, BackendChoice::Gpu, |_| {}, &cancel).unwrap();
    assert!(!result.backend.gpu && result.notes.len() == 1, "{:?}", result.notes);
    let expected = run(&plan, BackendChoice::Cpu);
    for lane in 0..2 {
        assert_eq!(answers(&result, lane), answers(&expected, lane));
    }
    assert_eq!(result.states, expected.states);
}
