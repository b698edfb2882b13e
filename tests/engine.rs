//! The engine on real layers: the bundled capture and the needles task, states at any step, and a GPU that goes away.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use mnemoscope::engine::{BackendInfo, Engine, Event, LayerFactory, Request, cpu_info, headless, lockstep};
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::{Layer, LayerError, LayerKind, Precision, Record, Setup, Snapshot};
use mnemoscope::metric::Running;
use mnemoscope::param::Params;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use mnemoscope::trace::{Kind, LaneTrace, Tolerance, TraceBlock};

const PATIENCE: Duration = Duration::from_mins(2);

/// The bundled capture's first tokens, seen by the four lanes of the default session and by what is given.
fn capture(tokens: Option<usize>, more: Vec<LaneSpec>) -> Arc<Plan> {
    let source = Source::Capture(CaptureSource { tokens, ..CaptureSource::bundled() });
    let mut session = Session { source, backend: BackendChoice::Cpu, ..Session::default() };
    session.lanes.extend(more);
    Arc::new(Plan::new(&session, None).unwrap())
}

fn run(plan: &Arc<Plan>, backend: BackendChoice) -> headless::RunResult {
    headless::run(plan, backend, |_| (), &AtomicBool::new(false)).unwrap()
}

fn assert_same(a: &[LaneTrace], b: &[LaneTrace]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        for (a, b) in a.channels().iter().zip(b.channels()) {
            assert!(!a.is_empty() && a.len() == b.len(), "{}: {} and {}", a.spec().name, a.len(), b.len());
            for head in 0..a.heads() {
                // By bits: thresholds are NaN while a cache is not full.
                assert_eq!(format!("{:?}", a.values(head)), format!("{:?}", b.values(head)), "{}", a.spec().name);
            }
        }
    }
}

/// Takes events until the run has ended.
fn take(engine: &Engine, plan: &Plan) -> Vec<LaneTrace> {
    let mut traces: Vec<LaneTrace> = plan.lanes.iter().map(mnemoscope::session::plan::PlanLane::trace).collect();
    loop {
        match engine.recv_timeout(PATIENCE).expect("the engine fell silent") {
            Event::Block { lane, block, .. } => traces[lane].append(&block).unwrap(),
            Event::Ended { error, .. } => {
                assert_eq!(error, None);
                return traces;
            }
            _ => {}
        }
    }
}

fn state(engine: &Engine, lane: usize, chunks: usize) -> Arc<Snapshot> {
    engine.send(Request::States { id: 1, wanted: vec![(lane, chunks)] });
    loop {
        if let Event::State { lane: of, snapshot, .. } = engine.recv_timeout(PATIENCE).expect("the engine fell silent") {
            assert_eq!((of, snapshot.position), (lane, chunks));
            return snapshot;
        }
    }
}

#[test]
fn the_window_gets_what_a_headless_run_gets_and_any_state_with_it() {
    let plan = capture(Some(500), vec![LaneSpec::new("window", "window", Params::default())]);
    let engine = Engine::spawn(|| ()).unwrap();
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    let traces = take(&engine, &plan);
    assert_same(&traces, &run(&plan, BackendChoice::Cpu).traces);
    for (index, lane) in plan.lanes.iter().enumerate() {
        let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
        let total = plan.stream.chunks(lane.setup.chunk);
        let mut expected = vec![layer.snapshot().unwrap()];
        for _ in 0..total {
            layer.advance(1, Record::All, &mut TraceBlock::default()).unwrap();
            expected.push(layer.snapshot().unwrap());
        }
        for chunks in (0..=total).rev().step_by(3).chain(0..=total) {
            assert_eq!(state(&engine, index, chunks).as_ref(), &expected[chunks], "{} after {chunks} chunks", lane.name);
        }
    }
}

/// The share of the marked writes (the needle) that sit in a LoLA lane's cache when the stream ends.
fn cached_share(plan: &Plan, trace: &LaneTrace) -> (usize, usize) {
    let (admitted, displaced) = (trace.channel("admitted").unwrap(), trace.channel("displaced").unwrap());
    let mut cached: std::collections::BTreeSet<i32> = admitted.wholes(0).iter().copied().collect();
    // Nothing returns to the cache once it was folded, so the order of events does not matter.
    for id in displaced.wholes(0) {
        assert!(cached.remove(id));
    }
    let roles = &plan.stream.labels().roles;
    let marked: Vec<i32> = (0..plan.stream.writes() as i32).filter(|&i| Some(roles.of_write[i as usize]) == roles.marked).collect();
    (marked.iter().filter(|i| cached.contains(i)).count(), marked.len())
}

#[test]
fn the_needle_of_a_real_prompt_sits_in_lolas_cache_when_it_ends() {
    let plan = capture(None, Vec::new());
    let result = run(&plan, BackendChoice::Cpu);
    let lola = plan.lanes.iter().position(|l| l.name == "LoLA").unwrap();
    let setup = &plan.lanes[lola].setup.params;
    assert_eq!((setup.size("window"), setup.size("cache"), setup.size("chunk"), setup.choice("fmap")), (64, 128, 64, "hedgehog"));
    // Layer 12, head 0, of the project's table: .90 of 21 tokens.
    assert_eq!(cached_share(&plan, &result.traces[lola]), (19, 21));
    // A capture is measured against full attention, so full attention's own error is zero and every other's is not.
    for (lane, trace) in plan.lanes.iter().zip(&result.traces) {
        let mut running = Running::new(plan.stream.targets()).unwrap();
        running.update(trace);
        assert_eq!(running.reads(), plan.stream.reads());
        let error = running.over(0..3, 0..plan.stream.reads()).headline().unwrap();
        assert_eq!(error == 0.0, lane.kind.name() == "full", "{}: {error}", lane.name);
    }
}

#[test]
fn needles_are_found_by_lola_and_lost_without_its_cache() {
    let session = Session::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/needles.ron"))).unwrap();
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let result = run(&plan, BackendChoice::Cpu);
    let accuracy = |name: &str| {
        let index = plan.lanes.iter().position(|l| l.name == name).unwrap();
        let mut running = Running::new(plan.stream.targets()).unwrap();
        running.update(&result.traces[index]);
        running.over(0..1, 0..plan.stream.reads()).headline().unwrap()
    };
    // TASKS.md: full 1, LoLA .96, LoLCATs 0; one seed has few reads, so LoLA may miss some.
    assert_eq!((accuracy("full"), accuracy("LoLCATs")), (1.0, 0.0));
    assert!(accuracy("LoLA 64") >= 0.8, "{}", accuracy("LoLA 64"));
    // The shipped seed shows TASKS.md's surprise: the larger cache does worse. By how much is a matter of ties, which rounding breaks.
    assert!(accuracy("LoLA 512") < accuracy("LoLA 64"), "{}", accuracy("LoLA 512"));
}

#[test]
fn the_reference_is_computed_behind_the_scenes_where_no_lane_is_full_attention() {
    let with = capture(Some(300), Vec::new());
    let mut session = with.session.clone();
    session.lanes.retain(|l| l.layer != "full");
    let without = Arc::new(Plan::new(&session, None).unwrap());
    let (with, without) = (run(&with, BackendChoice::Cpu), run(&without, BackendChoice::Cpu));
    assert_same(&with.traces[..3], &without.traces);
}

/// A GPU of its own that is lost when a layer is to go beyond a chunk; then the CPU.
struct Doomed {
    gpu: Option<Arc<Gpu>>,
    at: usize,
}

struct DoomedLayer {
    inner: Box<dyn Layer>,
    gpu: Arc<Gpu>,
    at: usize,
}

impl LayerFactory for Doomed {
    fn open(&mut self, _choice: BackendChoice) -> Result<BackendInfo, LayerError> {
        let (gpu, reason) = Gpu::open(BackendChoice::Gpu)?;
        let info = BackendInfo { gpu: true, adapter: gpu.adapter().title(), reason };
        self.gpu = Some(gpu);
        Ok(info)
    }
    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        let Some(gpu) = &self.gpu else { return kind.cpu(setup, Precision::Single) };
        let inner = kind.gpu(setup, &GpuStream::new(gpu, &setup.stream)?)?;
        Ok(Box::new(DoomedLayer { inner, gpu: Arc::clone(gpu), at: self.at }))
    }
    fn fall_back(&mut self, reason: &str) -> BackendInfo {
        self.gpu = None;
        cpu_info(reason)
    }
}

impl Layer for DoomedLayer {
    fn position(&self) -> usize {
        self.inner.position()
    }
    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        if self.inner.position() + chunks > self.at {
            self.gpu.lose();
        }
        self.inner.advance(chunks, record, out)
    }
    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        self.inner.snapshot()
    }
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        self.inner.restore(snapshot)
    }
}

/// Real numbers of two traces within their tolerances; whole numbers equal.
fn assert_near(a: &LaneTrace, b: &LaneTrace) {
    for (a, b) in a.channels().iter().zip(b.channels()) {
        let spec = a.spec();
        assert_eq!(a.len(), b.len(), "{}", spec.name);
        for head in 0..a.heads() {
            if spec.kind == Kind::Whole {
                assert_eq!(a.wholes(head), b.wholes(head), "{}", spec.name);
                continue;
            }
            let Tolerance::Near { abs, rel } = spec.tolerance else { panic!("{}", spec.name) };
            for (i, (x, y)) in a.reals(head).iter().zip(b.reals(head)).enumerate() {
                let (x, y) = (f64::from(*x), f64::from(*y));
                let same = x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
                assert!(same || (x - y).abs() <= abs + rel * x.abs(), "{} of head {head} at {i}: {x} and {y}", spec.name);
            }
        }
    }
}

#[test]
fn a_run_whose_gpu_is_lost_is_finished_by_the_cpu_from_the_gpus_states() {
    if gpu_or_skip().is_none() {
        return;
    }
    let plan = capture(Some(256), Vec::new());
    let expected = run(&plan, BackendChoice::Cpu).traces;
    // The window's way: keyframes of the GPU are restored into layers of the CPU.
    let engine = Engine::spawn_with(Doomed { gpu: None, at: 2 }, || ()).unwrap();
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    let traces = take(&engine, &plan);
    for (a, b) in expected.iter().zip(&traces) {
        assert_near(a, b);
    }
    // Headless, with no keyframes: from the start.
    let mut doomed = Doomed { gpu: None, at: 2 };
    let result = headless::run_with(&mut doomed, &plan, BackendChoice::Gpu, |_| (), &AtomicBool::new(false)).unwrap();
    assert!(!result.backend.gpu && result.notes.len() == 1 && result.notes[0].contains("lost"), "{:?} {:?}", result.backend, result.notes);
    for (a, b) in expected.iter().zip(&result.traces) {
        assert_near(a, b);
    }
}

#[test]
fn lockstep_agrees_on_the_capture_and_on_needles() {
    if gpu_or_skip().is_none() {
        return;
    }
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 300) });
    let needles = Session { source, lanes: LaneSpec::first_four(), ..Session::default() };
    for plan in [capture(Some(192), Vec::new()), Arc::new(Plan::new(&needles, None).unwrap())] {
        let report = lockstep::run(&plan, |_| (), &AtomicBool::new(false)).unwrap();
        assert!(report.passes(), "{report:#?}");
        assert!(report.lanes.iter().all(|l| l.chunks > 0 && l.channels.iter().any(|c| c.compared > 0)));
    }
}

/// The promise of time travel. Only an optimised build is held to it, and only when asked: other programs' load counts too.
#[test]
#[ignore = "a measurement: cargo test --release --test engine -- --ignored --nocapture"]
fn any_state_of_8192_tokens_comes_within_16_ms() {
    let lanes = vec![
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 2048).with("chunk", 128)),
        LaneSpec::new("LoLA", "lola", Params::default()),
        LaneSpec::new("linear", "linear", Params::default().with("fmap", "taylor2")),
    ];
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 8192) });
    let session = Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() };
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let engine = Engine::spawn(|| ()).unwrap();
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    take(&engine, &plan);
    for (index, lane) in plan.lanes.iter().enumerate() {
        let total = plan.stream.chunks(lane.setup.chunk);
        // Backwards, so that no replay starts where the last one ended.
        let mut times: Vec<f64> = (0..=total)
            .rev()
            .map(|chunks| {
                let start = Instant::now();
                state(&engine, index, chunks);
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{}: {} states, median {:.2} ms, slowest {:.2} ms",
            lane.name,
            times.len(),
            times[times.len() / 2],
            times[times.len() - 1]
        );
        assert!(cfg!(debug_assertions) || times[times.len() * 99 / 100] < 16.0, "{}: {times:?}", lane.name);
    }
}
