//! Lockstep on hand-made traces, and on two machines of which one errs on demand.

use std::time::Duration;

use super::super::testing::{DECAY, Fault, Machine, plan};
use super::compare::Comparison;
use super::*;
use crate::layer::{LayerKind, Setup, Snapshot};
use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, Values, Width};

fn spec(name: &'static str, axis: Axis, width: Width, tolerance: Tolerance) -> ChannelSpec {
    let kind = if matches!(tolerance, Tolerance::Near { .. }) { Kind::Real } else { Kind::Whole };
    ChannelSpec { name, title: name, meaning: "", unit: "1", axis, heads: Heads::KeyValue, width, kind, tolerance }
}

/// Outputs (near 1e-4 + 1% of the number), choices a write with margins a step, and lists a step.
fn lane() -> PlanLane {
    let mut lane = plan(8, &[2]).lanes[0].clone();
    lane.channels = vec![
        spec("near", Axis::Write, Width::Fixed(1), Tolerance::Near { abs: 1e-4, rel: 0.01 }),
        spec("choice", Axis::Write, Width::Fixed(1), Tolerance::Choice { margin: Some("margin") }),
        spec("margin", Axis::Step, Width::Fixed(1), Tolerance::Near { abs: 1e-4, rel: 0.0 }),
        spec("list", Axis::Step, Width::Ragged, Tolerance::Choice { margin: None }),
    ];
    lane.own_channels = 4;
    lane
}

/// One step's numbers of both heads: two writes of `near` and `choice` each, a margin, a list.
struct Step {
    near: [f32; 4],
    choice: [i32; 4],
    margin: [f32; 2],
    list: (Vec<i32>, Vec<u32>),
}

fn same() -> Step {
    Step { near: [1.0, 2.0, 3.0, 4.0], choice: [5, 6, 7, 8], margin: [0.5, 1e-6], list: (vec![1, 2, 3], vec![1, 2]) }
}

fn compare(steps: impl IntoIterator<Item = (Step, Step)>) -> (Vec<bool>, Vec<ChannelReport>) {
    let lane = lane();
    let mut traces = [(); 2].map(|()| own_trace(&lane));
    let mut comparison = Comparison::new(&lane);
    let mut tied = Vec::new();
    for (step, (a, b)) in steps.into_iter().enumerate() {
        for (trace, s) in traces.iter_mut().zip([a, b]) {
            let mut block = TraceBlock::default();
            block.push(0, step * 2..step * 2 + 2, Values::F32(s.near.to_vec()));
            block.push(1, step * 2..step * 2 + 2, Values::I32(s.choice.to_vec()));
            block.push(2, step..step + 1, Values::F32(s.margin.to_vec()));
            block.push_ragged(3, step..step + 1, Values::I32(s.list.0), s.list.1);
            trace.append(&block).unwrap();
        }
        tied.push(comparison.step(step, &traces));
    }
    (tied, comparison.into_reports())
}

#[test]
fn equal_traces_differ_nowhere() {
    let (tied, reports) = compare([(same(), same()), (same(), same())]);
    assert_eq!(tied, [false, false]);
    assert!(reports.iter().all(|r| r.largest == 0.0 && r.failures == 0 && r.first_difference.is_none()));
    assert_eq!(reports.iter().map(|r| r.compared).collect::<Vec<_>>(), [8, 8, 4, 6]);
}

#[test]
fn numbers_may_differ_by_their_tolerance_and_no_more() {
    // The fourth number may be off by 1e-4 + 0.04, the first by 1e-4 + 0.01.
    let (_, reports) = compare([(same(), same()), (same(), Step { near: [1.02, 2.0, 3.0, 4.03], ..same() })]);
    let near = &reports[0];
    assert_eq!(near.failures, 1);
    approx::assert_relative_eq!(near.largest, 0.03, epsilon = 1e-6);
    assert_eq!(near.largest_at.map(|p| (p.step, p.head, p.entry)), Some((1, 1, 3)));
    assert_eq!(near.first_failure.map(|p| (p.step, p.head, p.entry)), Some((1, 0, 2)));
}

#[test]
fn a_number_on_one_side_only_is_the_largest_difference() {
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let with = || Step { near: [1.0, odd, 3.0, 4.0], ..same() };
        for sides in [(same(), with()), (with(), same())] {
            let (_, reports) = compare([sides]);
            assert_eq!((reports[0].largest, reports[0].failures), (f64::INFINITY, 1), "{odd}");
        }
    }
    // Two infinities of the same sign are the same number, of different signs as far apart as can be.
    let infinite = |x| Step { near: [x; 4], ..same() };
    assert_eq!(compare([(infinite(f32::INFINITY), infinite(f32::INFINITY))]).1[0].failures, 0);
    assert_eq!(compare([(infinite(f32::INFINITY), infinite(f32::NEG_INFINITY))]).1[0].failures, 4);
    let nan = || Step { near: [f32::NAN; 4], margin: [f32::INFINITY; 2], ..same() };
    assert!(compare([(nan(), nan())]).1.iter().all(|r| r.failures == 0));
}

#[test]
fn a_choice_by_a_hair_is_a_tie_and_excuses_its_head_alone() {
    // Head 1 has a margin of 1e-6: its choice may turn, and what follows from it in the same step is excused.
    let turned = || Step { choice: [5, 6, 9, 8], near: [1.0, 2.0, 30.0, 4.0], list: (vec![1, 9, 3], vec![1, 2]), ..same() };
    let (tied, reports) = compare([(same(), same()), (same(), turned())]);
    assert_eq!(tied, [false, true]);
    let choice = &reports[1];
    assert_eq!((choice.ties, choice.failures), (1, 0));
    let place = choice.first_difference.unwrap();
    assert_eq!((place.step, place.head, place.entry, place.first, place.second), (1, 1, 2, Some(7.0), Some(9.0)));
    approx::assert_relative_eq!(place.margin.unwrap(), 1e-6, max_relative = 1e-6);
    assert_eq!(reports.iter().map(|r| (r.excused, r.failures)).collect::<Vec<_>>(), [(1, 0), (0, 0), (0, 0), (1, 0)]);
    // In head 0, with its margin of 0.5, the same is a failure, and the other head's tie is no excuse.
    let wrong = Step { choice: [0, 6, 9, 8], near: [10.0, 2.0, 3.0, 4.0], ..same() };
    let (tied, reports) = compare([(same(), wrong)]);
    assert_eq!(tied, [true]);
    assert_eq!((reports[0].failures, reports[1].failures, reports[1].ties), (1, 1, 1));
}

#[test]
fn lists_of_different_lengths_differ() {
    let (_, reports) = compare([(same(), Step { list: (vec![1, 2], vec![1, 1]), ..same() })]);
    let list = &reports[3];
    assert_eq!(list.failures, 1);
    assert_eq!(list.first_failure.map(|p| (p.head, p.first, p.second)), Some((1, Some(3.0), None)));
}

/// Three writes of one chunk and one head: rows, who founded one, similarities, margins of the assignment.
fn rows_differ(rows: [[i32; 3]; 2], is_new: [i32; 3], similarity: [f32; 3]) -> ChannelReport {
    let mut lane = plan(3, &[3]).lanes[0].clone();
    let near = Tolerance::Near { abs: 1e-5, rel: 0.0 };
    lane.channels = vec![
        spec("assignments", Axis::Write, Width::Fixed(1), Tolerance::Choice { margin: Some("assign_margin") }),
        spec("is_new", Axis::Write, Width::Fixed(1), Tolerance::Choice { margin: None }),
        spec("similarity", Axis::Write, Width::Fixed(1), near),
        spec("assign_margin", Axis::Write, Width::Fixed(1), near),
    ];
    lane.own_channels = 4;
    let traces = rows.map(|rows| {
        let mut block = TraceBlock::default();
        block.push(0, 0..3, Values::I32([rows, rows].concat()));
        block.push(1, 0..3, Values::I32([is_new, is_new].concat()));
        block.push(2, 0..3, Values::F32([similarity, similarity].concat()));
        block.push(3, 0..3, Values::F32(vec![1.0; 6]));
        let mut trace = own_trace(&lane);
        trace.append(&block).unwrap();
        trace
    });
    let mut comparison = Comparison::new(&lane);
    comparison.step(0, &traces);
    comparison.into_reports().swap_remove(0)
}

#[test]
fn founders_of_nearly_the_same_similarity_may_exchange_their_rows() {
    let exchanged = [[4, 5, 0], [5, 4, 0]];
    let report = rows_differ(exchanged, [1, 1, 0], [0.25, 0.250_001, 0.9]);
    // Two writes in each of two heads.
    assert_eq!((report.ties, report.failures), (4, 0));
    // Not if their similarities are apart, and not if they founded nothing.
    let report = rows_differ(exchanged, [1, 1, 0], [0.25, 0.26, 0.9]);
    assert_eq!((report.ties, report.failures), (0, 4));
    let report = rows_differ(exchanged, [0, 0, 1], [0.25, 0.250_001, 0.9]);
    assert_eq!((report.ties, report.failures), (0, 4));
}

/// A machine whose layers add to their outputs, or to their state, at one chunk.
struct Erring {
    inner: Machine,
    at: usize,
    outputs: f32,
    state: f32,
}

struct ErringLayer {
    inner: Box<dyn Layer>,
    at: usize,
    outputs: f32,
    state: f32,
}

impl LayerFactory for Erring {
    fn open(&mut self, choice: BackendChoice) -> Result<BackendInfo, LayerError> {
        self.inner.open(choice)
    }
    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        let inner = self.inner.build(kind, setup)?;
        Ok(Box::new(ErringLayer { inner, at: self.at, outputs: self.outputs, state: self.state }))
    }
    fn fall_back(&mut self, reason: &str) -> BackendInfo {
        self.inner.fall_back(reason)
    }
}

impl Layer for ErringLayer {
    fn position(&self) -> usize {
        self.inner.position()
    }
    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let here = self.position() == self.at;
        self.inner.advance(chunks, record, out)?;
        if here {
            if let Some(Values::F32(numbers)) = out.pieces.first_mut().map(|p| &mut p.values) {
                numbers[0] += self.outputs;
            }
            let mut state = self.inner.snapshot()?;
            if let Values::F32(numbers) = &mut state.arrays[0].values {
                for x in numbers.iter_mut() {
                    *x += self.state;
                }
            }
            self.inner.restore(&state)?;
        }
        Ok(())
    }
    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        self.inner.snapshot()
    }
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        self.inner.restore(snapshot)
    }
}

fn lockstep(outputs: f32, state: f32) -> Report {
    let machine = || Machine::new(Fault::None, Duration::ZERO);
    let mut second = Erring { inner: machine(), at: 5, outputs, state };
    run_with(&mut machine(), &mut second, &plan(41, &[4]), |_| (), &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_wrong_output_or_a_wrong_state_fails_at_its_step() {
    assert_eq!(DECAY.channels(&plan(8, &[4]).lanes[0].setup)[0].tolerance, Tolerance::Near { abs: 1e-4, rel: 0.0 });
    let right = lockstep(5e-5, 0.0);
    assert!(right.passes() && right.lanes[0].chunks == 11, "{right:?}");
    let output = lockstep(2e-4, 0.0);
    assert!(!output.passes());
    assert_eq!(output.lanes[0].channels[0].first_failure.map(|p| p.step), Some(5));
    // A state that is wrong after step 5 shows in the outputs of the next.
    let state = lockstep(0.0, 0.01);
    assert!(!state.passes());
    assert_eq!(state.lanes[0].channels[0].first_failure.map(|p| p.step), Some(6));
}
