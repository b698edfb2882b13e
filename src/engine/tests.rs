//! The engine as the window sees it, on the tiny layer and the failing machine of `testing`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::lane::Keep;
use super::run::Run;
use super::testing::{DECAY, Fault, Machine, plan};
use super::*;
use crate::layer::{LayerKind, Precision, Record};
use crate::session::BackendChoice;
use crate::trace::LaneTrace;

const PATIENCE: Duration = Duration::from_secs(20);

fn engine(fault: Fault, delay: Duration) -> Engine {
    Engine::spawn_with(Machine::new(fault, delay), || ()).unwrap()
}

/// What the window has of a run.
struct Seen {
    traces: Vec<LaneTrace>,
    backend: Option<BackendInfo>,
    banners: Vec<String>,
    reached: Vec<usize>,
    states: Vec<(usize, Arc<Snapshot>)>,
    ended: Option<Result<(), String>>,
}

impl Seen {
    fn new(plan: &Plan) -> Self {
        let trace = |l: &crate::session::plan::PlanLane| l.trace();
        let traces = plan.lanes.iter().map(trace).collect();
        Self { traces, backend: None, banners: vec![], reached: vec![], states: vec![], ended: None }
    }

    /// Takes events until `until` is satisfied; events of other runs than `id` must not come.
    fn take(&mut self, engine: &Engine, id: RunId, until: impl Fn(&Self) -> bool) {
        while !until(self) {
            match engine.recv_timeout(PATIENCE).expect("the engine fell silent") {
                Event::Started { id: of, backend } => {
                    assert_eq!(of, id);
                    self.backend = Some(backend);
                }
                Event::Block { id: of, lane, block, .. } => {
                    assert_eq!(of, id);
                    self.traces[lane].append(&block).unwrap();
                }
                Event::Reached { writes, .. } => self.reached.push(writes),
                Event::State { lane, snapshot, .. } => self.states.push((lane, snapshot)),
                Event::Banner { text, backend, .. } => {
                    self.banners.push(text);
                    self.backend = backend.or(self.backend.take());
                }
                Event::Ended { id: of, error, .. } => {
                    assert_eq!(of, id);
                    self.ended = Some(error.map_or(Ok(()), Err));
                }
            }
        }
    }
}

/// The traces of an undisturbed run, in one go.
fn undisturbed(plan: &Plan) -> Vec<LaneTrace> {
    let mut seen = Seen::new(plan);
    for (lane, trace) in plan.lanes.iter().zip(&mut seen.traces) {
        let mut layer = DECAY.cpu(&lane.setup, Precision::Single).unwrap();
        let mut block = TraceBlock::default();
        layer.advance(usize::MAX, Record::All, &mut block).unwrap();
        trace.append(&block).unwrap();
    }
    seen.traces
}

fn assert_same(plan: &Plan, traces: &[LaneTrace]) {
    let expected = undisturbed(plan);
    for (trace, expected) in traces.iter().zip(&expected) {
        for (channel, expected) in trace.channels().iter().zip(expected.channels()) {
            assert!(!expected.is_empty());
            assert_eq!(channel.len(), expected.len(), "{}", channel.spec().name);
            for head in 0..channel.heads() {
                assert_eq!(channel.values(head), expected.values(head), "{} of head {head}", channel.spec().name);
            }
        }
    }
}

/// Every state of a lane by an uninterrupted layer.
fn states(plan: &Plan, lane: usize) -> Vec<Snapshot> {
    let setup = &plan.lanes[lane].setup;
    let mut layer = DECAY.cpu(setup, Precision::Single).unwrap();
    let mut all = vec![layer.snapshot().unwrap()];
    for _ in 0..setup.stream.chunks(setup.chunk) {
        layer.advance(1, Record::StateOnly, &mut TraceBlock::default()).unwrap();
        all.push(layer.snapshot().unwrap());
    }
    all
}

#[test]
fn a_run_delivers_the_whole_trace_of_every_lane() {
    // 101 writes: no chunk divides them, and lanes of different chunks must still advance together.
    let plan = plan(101, &[4, 6, 32]);
    let engine = engine(Fault::None, Duration::ZERO);
    engine.send(Request::Run { id: 7, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 7, |s| s.ended.is_some());
    assert_eq!(seen.ended, Some(Ok(())));
    assert_eq!(seen.backend.as_ref().map(|b| b.gpu), Some(true));
    assert_same(&plan, &seen.traces);
    // The first block is one step, and nothing is told twice.
    assert_eq!(seen.reached.first(), Some(&4));
    assert_eq!(seen.reached.last(), Some(&101));
    assert!(seen.reached.is_sorted_by(|a, b| a < b), "{:?}", seen.reached);
}

#[test]
fn a_newer_run_replaces_the_current_one_within_a_block() {
    let (slow, quick) = (plan(4000, &[1]), plan(40, &[4]));
    let engine = engine(Fault::None, Duration::from_millis(2));
    engine.send(Request::Run { id: 1, plan: Arc::clone(&slow) });
    let mut seen = Seen::new(&slow);
    seen.take(&engine, 1, |s| s.reached.len() > 5);
    let asked = Instant::now();
    engine.send(Request::Run { id: 2, plan: Arc::clone(&quick) });
    loop {
        match engine.recv_timeout(PATIENCE).expect("the engine fell silent") {
            Event::Started { id, .. } => {
                assert_eq!(id, 2);
                break;
            }
            Event::Ended { .. } => panic!("a replaced run ends without a word"),
            _ => {}
        }
    }
    // The whole of run 1 would take 8 seconds.
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    let mut seen = Seen::new(&quick);
    seen.take(&engine, 2, |s| s.ended.is_some());
    assert_same(&quick, &seen.traces);
}

#[test]
fn the_engine_waits_for_a_slow_window_and_still_hears_it() {
    let plan = plan(100_000, &[1]);
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let machine = Machine::new(Fault::None, Duration::from_micros(200));
    let engine = Engine::spawn_with(machine, move || {
        count.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    // Nobody drains: the channel fills (64 events), and the engine stands still.
    let start = Instant::now();
    while woken.load(Ordering::Relaxed) < 64 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(woken.load(Ordering::Relaxed), 64);
    // It hears a cancel all the same, and says so as soon as there is room.
    engine.send(Request::Cancel);
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 1, |s| s.ended.is_some());
    assert_eq!(seen.ended, Some(Ok(())));
    assert!(seen.reached.last().is_some_and(|&w| w < 100_000));
}

#[test]
fn a_window_that_goes_away_stops_a_run_that_waits_for_it() {
    let engine = engine(Fault::None, Duration::from_micros(100));
    engine.send(Request::Run { id: 1, plan: plan(100_000, &[1]) });
    std::thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    drop(engine);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn a_state_at_any_step_is_that_of_an_uninterrupted_run() {
    let plan = plan(203, &[3, 7]);
    // Chunks of 3 ms: a keyframe every second chunk, so that every other state is replayed.
    let engine = engine(Fault::None, Duration::from_millis(3));
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    // One that is not reached yet is answered when it is; a newer request takes an older one's place.
    engine.send(Request::States { id: 1, wanted: vec![(0, 50)] });
    engine.send(Request::States { id: 1, wanted: vec![(0, 11)] });
    seen.take(&engine, 1, |s| s.ended.is_some());
    assert_eq!(seen.states.iter().map(|(l, s)| (*l, s.position)).collect::<Vec<_>>(), [(0, 11)]);
    for lane in 0..2 {
        let expected = states(&plan, lane);
        // Forwards, backwards, and by leaps.
        let n = expected.len();
        let order = (0..n).chain((0..n).rev()).chain((0..n).map(|i| i * 13 % n));
        for chunks in order {
            engine.send(Request::States { id: 1, wanted: vec![(lane, chunks)] });
            let before = seen.states.len();
            seen.take(&engine, 1, |s| s.states.len() > before);
            let (of, state) = seen.states.last().unwrap();
            assert_eq!((*of, state.as_ref()), (lane, &expected[chunks]), "lane {lane} after {chunks} chunks");
        }
    }
}

/// A sink that wants nothing.
struct Quiet;
impl Sink for Quiet {
    fn block(&mut self, _: usize, _: TraceBlock, _: usize, _: f64) -> Result<(), Stop> {
        Ok(())
    }
    fn reached(&mut self, _: usize) -> Result<(), Stop> {
        Ok(())
    }
    fn moved(&mut self, _: &str, _: &BackendInfo) -> Result<(), Stop> {
        Ok(())
    }
    fn poll(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}

#[test]
fn keyframes_are_fewer_than_chunks_and_states_are_kept_after_a_cancel() {
    let plan = plan(2000, &[1]);
    let mut machine = Machine::new(Fault::None, Duration::ZERO);
    let mut run = Run::new(Arc::clone(&plan), BackendChoice::Cpu, Keep::Keyframes, &mut machine).unwrap();
    while run.advance(&mut machine, &mut Quiet).unwrap() {}
    let expected = states(&plan, 0);
    for chunks in [1999, 0, 1000, 1001, 3, 2000] {
        assert_eq!(run.state(0, chunks, &mut machine).unwrap().as_deref(), Some(&expected[chunks]));
    }
    assert_eq!(run.state(0, 2001, &mut machine).unwrap(), None);

    let engine = engine(Fault::None, Duration::from_millis(1));
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 1, |s| s.reached.last().is_some_and(|&w| w > 20));
    engine.send(Request::Cancel);
    engine.send(Request::States { id: 1, wanted: vec![(0, 17)] });
    seen.take(&engine, 1, |s| s.ended.is_some() && !s.states.is_empty());
    assert_eq!(seen.states[0].1.as_ref(), &expected[17]);
}

#[test]
fn a_lost_device_is_a_banner_and_the_run_goes_on_on_the_cpu() {
    let plan = plan(101, &[4, 6]);
    // At the first chunk, in the middle, at the last; in the first lane and in the second.
    for (built, at) in [(0, 0), (0, 13), (0, 25), (1, 9), (1, 16)] {
        let engine = engine(Fault::Lost { built, at }, Duration::ZERO);
        engine.send(Request::Run { id: 3, plan: Arc::clone(&plan) });
        let mut seen = Seen::new(&plan);
        seen.take(&engine, 3, |s| s.ended.is_some());
        assert_eq!(seen.ended, Some(Ok(())), "lost in layer {built} at chunk {at}");
        assert_same(&plan, &seen.traces);
        assert_eq!(seen.banners.len(), 1);
        assert!(seen.banners[0].contains("lost") && seen.banners[0].contains("CPU"), "{}", seen.banners[0]);
        let backend = seen.backend.unwrap();
        assert!(!backend.gpu && backend.reason.contains("lost"), "{backend:?}");
    }
}

#[test]
fn states_that_do_not_fit_the_cpu_are_recomputed_from_the_start() {
    let plan = plan(101, &[4, 6]);
    let engine = engine(Fault::LostWithUnreadableStates { at: 13 }, Duration::ZERO);
    engine.send(Request::Run { id: 3, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 3, |s| s.ended.is_some());
    assert_eq!(seen.ended, Some(Ok(())));
    assert_same(&plan, &seen.traces);
}

#[test]
fn a_device_lost_while_a_state_is_replayed_moves_the_run_as_well() {
    let plan = plan(101, &[4]);
    // The second layer built is the replay's; chunks this quick have no keyframe but the start.
    let engine = engine(Fault::Lost { built: 1, at: 12 }, Duration::ZERO);
    engine.send(Request::Run { id: 3, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 3, |s| s.ended.is_some());
    engine.send(Request::States { id: 3, wanted: vec![(0, 13)] });
    seen.take(&engine, 3, |s| !s.states.is_empty());
    assert_eq!(seen.states[0].1.as_ref(), &states(&plan, 0)[13]);
    assert_eq!((seen.banners.len(), seen.backend.map(|b| b.gpu)), (1, Some(false)));
}

#[test]
fn a_panic_ends_the_run_with_a_message_and_the_engine_lives() {
    let plan = plan(40, &[4]);
    let engine = engine(Fault::Panic { at: 5 }, Duration::ZERO);
    engine.send(Request::Run { id: 1, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 1, |s| s.ended.is_some());
    assert!(seen.ended.unwrap().unwrap_err().contains("told to panic"));
    engine.send(Request::Run { id: 2, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 2, |s| s.ended.is_some());
    assert_eq!(seen.ended, Some(Ok(())));
}

#[test]
fn what_the_gpu_cannot_hold_runs_on_the_cpu_unless_the_gpu_was_asked_for() {
    let plan = plan(40, &[4]);
    let cancel = AtomicBool::new(false);
    let run = |choice| headless::run_with(&mut Machine::new(Fault::TooSmall, Duration::ZERO), &plan, choice, |_| (), &cancel);
    let result = run(BackendChoice::Auto).unwrap();
    assert!(!result.backend.gpu && result.backend.reason.contains("decay0"), "{:?}", result.backend);
    assert_same(&plan, &result.traces);
    assert!(matches!(run(BackendChoice::Gpu), Err(RunError::Layer { .. })));
}

#[test]
fn a_headless_run_gives_the_same_traces_and_can_be_cancelled() {
    let plan = plan(101, &[4, 6]);
    let cancel = AtomicBool::new(false);
    let mut told = Vec::new();
    let mut machine = Machine::new(Fault::None, Duration::ZERO);
    let result = headless::run_with(&mut machine, &plan, BackendChoice::Auto, |p| told.push(p), &cancel).unwrap();
    assert_same(&plan, &result.traces);
    assert_eq!(told.last(), Some(&headless::Progress { writes: 101, total: 101 }));
    let stopped = headless::run_with(&mut machine, &plan, BackendChoice::Auto, |_| cancel.store(true, Ordering::Relaxed), &cancel);
    assert!(matches!(stopped, Err(RunError::Cancelled)));
}

#[test]
fn a_run_that_is_known_computes_nothing_until_a_state_is_asked_for_and_then_says_no_more_than_that() {
    let plan = plan(101, &[4, 6]);
    let engine = engine(Fault::None, Duration::ZERO);
    let pretended = BackendInfo { gpu: true, adapter: "pretended".to_owned(), reason: "then".to_owned() };
    engine.send(Request::Hold { id: 5, plan: Arc::clone(&plan), made: pretended.clone() });
    assert!(engine.recv_timeout(Duration::from_millis(200)).is_none(), "nothing is computed");
    // Of another run.
    engine.send(Request::States { id: 4, wanted: vec![(0, 3)] });
    assert!(engine.recv_timeout(Duration::from_millis(200)).is_none());
    let mut seen = Seen::new(&plan);
    engine.send(Request::States { id: 5, wanted: vec![(0, 26), (1, 3)] });
    seen.take(&engine, 5, |s| s.states.len() == 2);
    engine.send(Request::States { id: 5, wanted: vec![(0, 7)] });
    seen.take(&engine, 5, |s| s.states.len() == 3);
    for (lane, state) in &seen.states {
        assert_eq!(**state, states(&plan, *lane)[state.position]);
    }
    assert_eq!(seen.states[2].1.position, 7);
    // No blocks, no word on where it runs: that is where it was made.
    assert!(seen.traces.iter().all(|t| t.bytes() == 0) && seen.reached.is_empty() && seen.banners.is_empty());
    assert_eq!((seen.backend.clone(), seen.ended.clone()), (None, None));
    // Made elsewhere: that is said once. A run that is asked for takes its place.
    let elsewhere = BackendInfo { adapter: "another".to_owned(), ..pretended };
    engine.send(Request::Hold { id: 6, plan: Arc::clone(&plan), made: elsewhere });
    engine.send(Request::States { id: 6, wanted: vec![(0, 2)] });
    seen.take(&engine, 6, |s| s.states.len() == 4);
    assert_eq!(seen.banners.len(), 1);
    assert!(
        seen.banners[0].starts_with("Exact states are computed again, on pretended; the trace was made on another: "),
        "{}",
        seen.banners[0]
    );
    engine.send(Request::Run { id: 7, plan: Arc::clone(&plan) });
    let mut seen = Seen::new(&plan);
    seen.take(&engine, 7, |s| s.ended.is_some());
    assert_same(&plan, &seen.traces);
}
