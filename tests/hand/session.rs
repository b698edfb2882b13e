//! Hands in a session: the file, what is refused, and a run of them on both devices.

use std::sync::atomic::AtomicBool;

use mnemoscope::engine::headless;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

use super::*;

/// 400 writes: LoLA of 64 a step has 7 steps.
fn session(layer: &str, params: Params, hands: &[Hand]) -> Session {
    let task = Params::default().with("T", 400).with("pairs", 90).with("dk", 8).with("dv", 8);
    let source = Source::Task(TaskSource { name: "multi_query".to_owned(), params: task });
    let lane = LaneSpec { hands: hands.to_vec(), ..LaneSpec::new("a", layer, params) };
    Session { source, lanes: vec![LaneSpec::new("plain", layer, lane.params.clone()), lane], ..Session::default() }
}

fn lola() -> Params {
    Params::default().with("window", 64).with("cache", 32).with("chunk", 64)
}

fn refused(layer: &str, params: Params, act: Hand) -> String {
    Plan::new(&session(layer, params, &[act]), None).unwrap_err().to_string()
}

#[test]
fn a_file_holds_hands_and_leaves_out_the_empty_list() {
    let hands = [hand(3, 0, Act::Evict { write: 70 }), hand(4, 0, Act::Forget), hand(5, 0, Act::Move { row: 2, to: 9 })];
    let session = session("lola", lola(), &hands);
    let text = session.to_ron().unwrap();
    assert_eq!((text.matches("hands").count(), Session::from_ron(&text, "a.ron").unwrap()), (1, session));
    let short =
        "(lanes: [(name: \"a\", layer: \"lola\", hands: [(step: 3, what: Evict(write: 70)), (step: 4, kv_head: 1, what: Forget)])])";
    assert_eq!(Session::from_ron(short, "a.ron").unwrap().lanes[0].hands, [hands[0], hand(4, 1, Act::Forget)]);
    let message = |text: &str| Session::from_ron(text, "a.ron").unwrap_err().to_string();
    let wrong = message("(lanes: [(name: \"a\", layer: \"lola\", hands: [(step: 3, what: Evict(wirte: 70))])])");
    assert!(wrong.contains("in `lanes[0].hands[0].what") && wrong.contains("did you mean `write`?"), "{wrong}");
    let wrong = message("(lanes: [(name: \"a\", layer: \"lola\", hands: [(step: 3, what: Evct(write: 70))])])");
    assert!(wrong.contains("`Evct` is not possible here; did you mean `Evict`?"), "{wrong}");
}

#[test]
fn what_cannot_be_is_refused_with_lane_entry_and_limit() {
    let ovq = || Params::default().with("n_max", 20).with("chunk", 50);
    for (layer, params, act, words) in [
        ("lola", lola(), hand(0, 0, Act::Forget), "lane `a`: hands[0] (forget the state at step 0): step is from 1 to 6: "),
        ("lola", lola(), hand(7, 0, Act::Forget), "step is from 1 to 6: "),
        ("lola", lola(), hand(2, 1, Act::Forget), "kv_head 1 of 1"),
        ("lola", lola(), hand(2, 0, Act::Keep { write: 128 }), "after 2 steps there are the writes 0 to 127; 128 is not among them"),
        ("lola", lola().with("cache", 0), hand(2, 0, Act::Keep { write: 8 }), "there is no cache: `cache` is 0"),
        ("lola", lola(), hand(2, 0, Act::Delete { row: 0 }), "LoLA has no dictionary"),
        ("full", Params::default(), hand(2, 0, Act::Forget), "Full attention has no linear state to forget"),
        ("linear", Params::default(), hand(2, 0, Act::Evict { write: 1 }), "Linear attention has no sparse cache, as LoLA has"),
        // 50 * 20 / 70 = 14 rows after the first of eight chunks.
        ("ovq", ovq(), hand(1, 0, Act::Delete { row: 14 }), "after 1 steps there are the rows 0 to 13; 14 is not among them"),
        ("ovq", ovq(), hand(8, 0, Act::Delete { row: 0 }), "step is from 1 to 7: "),
        ("ovq", ovq(), hand(1, 0, Act::Forget), "its centroids can be moved or deleted"),
    ] {
        let message = refused(layer, params, act);
        assert!(message.contains(words), "{message}\n{words}");
    }
    let few = session("ovq", Params::default().with("n_max", 1).with("chunk", 50), &[hand(1, 0, Act::Delete { row: 0 })]);
    assert!(Plan::new(&few, None).unwrap_err().to_string().ends_with("all 1 rows would be deleted; one must stay"));
    let kept: Vec<Hand> = (0..33).map(|write| hand(1, 0, Act::Keep { write })).collect();
    let error = Plan::new(&session("lola", lola(), &kept), None).unwrap_err().to_string();
    assert!(error.contains("33 tokens kept by hand, but the cache has 32 places"), "{error}");
    let many = vec![hand(1, 0, Act::Forget); 65];
    let error = Plan::new(&session("lola", lola(), &many), None).unwrap_err().to_string();
    assert!(error.starts_with("lane `a`: hands[64] (forget the state at step 1): a lane has at most 64 of them"), "{error}");
}

/// What a session says is done in a run, from its step on and not before, the same on the GPU; another source takes none of it along.
#[test]
fn a_lane_differs_from_its_twin_from_the_hand_on() {
    let plan = |hands: &[Hand]| Arc::new(Plan::new(&session("lola", lola(), hands), None).unwrap());
    let first = plan(&[hand(3, 0, Act::Forget)]);
    assert!(first.lanes[1].notes.contains(&"by hand: forget the state at step 3, after 192 writes, in key/value head 0".to_owned()));
    for backend in [Some(BackendChoice::Cpu), gpu_or_skip().map(|_| BackendChoice::Gpu)].into_iter().flatten() {
        let result = headless::run(&first, backend, |_| {}, &AtomicBool::new(false)).unwrap();
        let [plain, other] = &result.traces[..] else { panic!("two lanes") };
        let scores = |trace: &LaneTrace, step: usize| trace.channel("candidate_scores").unwrap().reals_at(0, step).to_vec();
        assert!((0..3).all(|step| scores(plain, step) == scores(other, step)));
        assert!(scores(plain, 3) != scores(other, 3));
        // A state of nothing recalls zero: the scores are |v|^2.
        let values = first.stream.values();
        let ids = other.channel("candidates").unwrap().wholes_at(0, 3).to_vec();
        for (id, score) in ids.iter().zip(scores(other, 3)) {
            let square: f32 = values.slice(ndarray::s![0, *id as usize, ..]).iter().map(|v| v * v).sum();
            assert!((square - score).abs() < 1e-5 * square.max(1.0), "{id}: {score} for {square}");
        }
    }
    let mut session = session("lola", lola(), &[hand(3, 0, Act::Forget)]);
    session.take_source(Source::Task(TaskSource { name: "drift".to_owned(), params: Params::default() }));
    assert!(session.lanes.iter().all(|l| l.hands.is_empty()));
}

/// The shipped example: two needles that the cache loses are found where hands keep them, and one that it has is lost where it is
/// evicted. Eight questions a needle, all with the same end.
#[test]
fn needles_that_are_kept_are_found_and_one_that_is_evicted_is_not() {
    let session = Session::open(std::path::Path::new("sessions/needle_kept.ron")).unwrap();
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let result = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
    let right = |trace: &LaneTrace| trace.channel("correct").unwrap().wholes(0).iter().sum::<i32>();
    assert_eq!(result.traces.iter().map(right).collect::<Vec<_>>(), [32, 16, 32, 8]);
}
