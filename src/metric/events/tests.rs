//! Tests of events, on a trace made by hand and on runs of every layer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;
use crate::engine::headless;
use crate::param::Params;
use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
use crate::trace::{ChannelSpec, TraceBlock, Values};

fn plan(writes: i64, lanes: Vec<LaneSpec>) -> Arc<Plan> {
    let source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default().with("T", writes).with("needles", 4) });
    Arc::new(Plan::new(&Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }, None).unwrap())
}

fn lola() -> LaneSpec {
    LaneSpec::new("lola", "lola", Params::default().with("window", 32).with("chunk", 32).with("cache", 16))
}

fn ovq() -> LaneSpec {
    LaneSpec::new("ovq", "ovq", Params::default().with("n_max", 64).with("chunk", 48))
}

fn run(plan: &Arc<Plan>) -> Vec<LaneTrace> {
    headless::run(plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap().traces
}

fn of_kind(events: &LaneEvents<'_>, kind: EventKind) -> Vec<Event> {
    let scans = (0..events.scans()).filter(|&s| events.kind(s) == kind);
    scans.flat_map(|s| events.forwards(s, 0).collect::<Vec<_>>()).map(|h| events.event(h).unwrap()).collect()
}

fn place(channels: &[ChannelSpec], name: &str) -> usize {
    channels.iter().position(|c| c.name == name).unwrap()
}

/// A LoLA trace of four chunks of 32, of which only the step channels are written.
fn by_hand(plan: &Plan) -> LaneTrace {
    let mut trace = plan.lanes[0].trace();
    let at = |name| place(&plan.lanes[0].channels, name);
    let mut block = TraceBlock::default();
    block.push_ragged(at("candidates"), 0..4, Values::I32(vec![0, 1, 2, 1, 2, 40]), vec![0, 3, 3, 0]);
    block.push_ragged(at("candidate_scores"), 0..4, Values::F32(vec![0.5, 2.0, 1.0, 2.0, 0.75, 3.5]), vec![0, 3, 3, 0]);
    block.push_ragged(at("admitted"), 0..4, Values::I32(vec![1, 2, 40]), vec![0, 2, 1, 0]);
    block.push_ragged(at("displaced"), 0..4, Values::I32(vec![2]), vec![0, 0, 1, 0]);
    block.push(at("select_margin"), 0..4, Values::F32(vec![f32::INFINITY, 0.5, 1e-7, f32::NAN]));
    block.push(at("threshold"), 0..4, Values::F32(vec![f32::NAN, 1.0, 2.0, f32::INFINITY]));
    trace.append(&block).unwrap();
    trace
}

#[test]
fn a_cache_made_by_hand_tells_who_came_and_went() {
    let plan = plan(128, vec![lola()]);
    let trace = by_hand(&plan);
    let criteria = Criteria {
        threshold: Some(Threshold { channel: "candidate_scores".to_owned(), component: None, above: true, value: 1.5 }),
        ..Criteria::default()
    };
    let events = LaneEvents::new(&plan, 0, &trace, HeadsShown::default(), &criteria);
    let told = |kind| of_kind(&events, kind).iter().map(|e| (e.seen, events.sentence(e))).collect::<Vec<_>>();
    // Chunk 1 ends after 64 writes, chunk 2 after 96.
    assert_eq!(
        told(EventKind::Admission),
        [
            (64, "write 1 entered the cache in chunk 1 with score 2".to_owned()),
            (64, "write 2 entered the cache in chunk 1 with score 1".to_owned()),
            (96, "write 40 entered the cache in chunk 2 with score 3.5".to_owned()),
        ]
    );
    assert_eq!(told(EventKind::Eviction), [(96, "write 2 was folded from the cache into the state in chunk 2 with score 0.75".to_owned())]);
    let tie = "the margin of the selection of chunk 2 is 1e-7, below 0.00001: rounding could have chosen otherwise";
    assert_eq!(told(EventKind::Tie), [(96, tie.to_owned())]);
    // An infinite margin and a threshold that is NaN mean "none"; the other way round they are mistakes.
    assert_eq!(
        told(EventKind::NotFinite),
        [(128, "select_margin of chunk 3 is NaN".to_owned()), (128, "threshold of chunk 3 is infinity".to_owned())]
    );
    assert_eq!(
        told(EventKind::Threshold),
        [
            (64, "candidate_scores of write 1 in chunk 1 is 2, above 1.5".to_owned()),
            (96, "candidate_scores of write 1 in chunk 2 is 2, above 1.5".to_owned()),
            (96, "candidate_scores of write 40 in chunk 2 is 3.5, above 1.5".to_owned()),
        ]
    );
    assert_eq!(of_kind(&events, EventKind::Threshold)[2].write, Some(40));
}

#[test]
fn next_goes_through_what_is_seen_at_one_moment_and_previous_goes_back_through_it() {
    let plan = plan(128, vec![lola()]);
    let trace = by_hand(&plan);
    let criteria = Criteria::default();
    let lanes = [LaneEvents::new(&plan, 0, &trace, HeadsShown::default(), &criteria)];
    let wanted = |k| matches!(k, EventKind::Admission | EventKind::Eviction);
    let write = |hit: Hit| (lanes[0].event(hit).unwrap().kind, lanes[0].event(hit).unwrap().write.unwrap());
    let (mut there, mut from) = (Vec::new(), From::Moment(0));
    while let Some(hit) = next(&lanes, from, wanted) {
        there.push(hit);
        from = From::Hit(hit);
    }
    let expected = [(EventKind::Admission, 1), (EventKind::Admission, 2), (EventKind::Admission, 40), (EventKind::Eviction, 2)];
    assert_eq!(there.iter().map(|h| write(*h)).collect::<Vec<_>>(), expected);
    let (mut back, mut from) = (Vec::new(), From::Moment(128));
    while let Some(hit) = previous(&lanes, from, wanted) {
        back.push(hit);
        from = From::Hit(hit);
    }
    back.reverse();
    assert_eq!(back, there);
    // From a moment, what is seen there is passed over.
    assert_eq!(next(&lanes, From::Moment(64), wanted).map(write), Some((EventKind::Admission, 40)));
    assert_eq!(previous(&lanes, From::Moment(96), wanted).map(write), Some((EventKind::Admission, 2)));
    assert_eq!(previous(&lanes, From::Moment(64), wanted), None);
}

#[test]
fn counts_of_events_add_up_to_what_the_run_says() {
    let plan = plan(512, vec![ovq(), lola()]);
    let traces = run(&plan);
    let criteria = Criteria::default();
    let events: Vec<_> = (0..2).map(|l| LaneEvents::new(&plan, l, &traces[l], HeadsShown::default(), &criteria)).collect();
    // Every row of the dictionary has one founder: N(512) = 512 * 64 / 576 = 56.
    assert_eq!(of_kind(&events[0], EventKind::Founder).len(), 56);
    let last = *traces[0].channel("sizes").unwrap().wholes(0).last().unwrap();
    assert_eq!(last, 56);
    // What came minus what went is there.
    let (came, went) = (of_kind(&events[1], EventKind::Admission), of_kind(&events[1], EventKind::Eviction));
    let held = *traces[1].channel("cached_count").unwrap().wholes(0).last().unwrap();
    assert_eq!(came.len() - went.len(), held as usize);
    assert!(!went.is_empty());
    for (lane, trace) in events.iter().zip(&traces) {
        let right: i32 = trace.channel("correct").unwrap().wholes(0).iter().sum();
        assert_eq!(of_kind(lane, EventKind::WrongAnswer).len(), plan.stream.reads() - right as usize);
        for event in of_kind(lane, EventKind::WrongAnswer) {
            assert!(lane.sentence(&event).contains("; right is "), "{}", lane.sentence(&event));
        }
    }
    // OVQ's chunk of 48 ends between boundaries of the timeline's steps of 32: a founder of the first is seen from 64 on.
    assert_eq!(plan.step, 32);
    let founders = of_kind(&events[0], EventKind::Founder);
    assert!(founders.iter().filter(|f| f.write < Some(48)).all(|f| f.seen == 64));
    assert!(founders.iter().all(|f| plan.lanes[0].chunks_at(f.seen) * 48 > f.write.unwrap()), "seen from there on");
    assert!(founders.iter().all(|f| plan.lanes[0].chunks_at(f.seen - 32) * 48 <= f.write.unwrap()), "and not before");
}

#[test]
fn no_layer_writes_a_number_that_is_none_unless_its_channel_says_so() {
    let lanes: Vec<LaneSpec> = crate::layer::KINDS
        .iter()
        .map(|k| LaneSpec::new(k.name(), k.name(), Params::default()))
        .chain([LaneSpec::new("fifo", "lola", Params::default().with("cache", 16).with("score", "fifo"))])
        .collect();
    for lanes in lanes.chunks(4) {
        let plan = plan(1024, lanes.to_vec());
        for (lane, trace) in run(&plan).iter().enumerate() {
            let criteria = Criteria::default();
            let events = LaneEvents::new(&plan, lane, trace, HeadsShown::default(), &criteria);
            let found = of_kind(&events, EventKind::NotFinite);
            assert!(found.is_empty(), "{}: {}", plan.lanes[lane].name, events.sentence(&found[0]));
        }
    }
}

#[test]
fn one_nan_among_outputs_is_found_with_its_place() {
    let plan = plan(256, vec![ovq()]);
    let traces = run(&plan);
    let outputs = traces[0].channel("outputs").unwrap();
    let (reads, dv) = (outputs.len(), plan.stream.value_dim());
    let mut values = outputs.reals(0).to_vec();
    values[(reads - 1) * dv + 5] = f32::NAN;
    let mut trace = plan.lanes[0].trace();
    let mut block = TraceBlock::default();
    block.push(0, 0..reads, Values::F32(values));
    trace.append(&block).unwrap();
    let criteria = Criteria::default();
    let lanes = [LaneEvents::new(&plan, 0, &trace, HeadsShown::default(), &criteria)];
    let hit = next(&lanes, From::Moment(0), |k| k == EventKind::NotFinite).unwrap();
    let event = lanes[0].event(hit).unwrap();
    assert_eq!((event.place, event.component), (Place::Read(reads - 1), 5));
    assert_eq!(lanes[0].sentence(&event), format!("outputs[5] of read {} is NaN", reads - 1));
}

proptest! {
    /// Whatever the position, going on and going back meet there and leave nothing out.
    #[test]
    fn forwards_and_backwards_meet(at in 0_usize..40, value in -1.0_f64..1.0) {
        let plan = plan(128, vec![lola()]);
        let trace = by_hand(&plan);
        let threshold = Threshold { channel: "candidate_scores".to_owned(), component: None, above: true, value };
        let criteria = Criteria { threshold: Some(threshold), ..Criteria::default() };
        let events = LaneEvents::new(&plan, 0, &trace, HeadsShown::default(), &criteria);
        for scan in 0..events.scans() {
            let whole: Vec<Hit> = events.forwards(scan, 0).collect();
            let mut parts: Vec<Hit> = events.backwards(scan, at).collect();
            parts.reverse();
            parts.extend(events.forwards(scan, at));
            prop_assert_eq!(&parts, &whole);
            prop_assert!(whole.windows(2).all(|w| w[0] < w[1]), "in the order of hits");
        }
    }
}
