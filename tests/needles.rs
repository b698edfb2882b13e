//! The needles task scores what TASKS.md says: full attention 1, LoLCATs 0, LoLA with a cache of 64 about .96, and the same cache
//! filled first in, first out 0.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mnemoscope::engine::headless;
use mnemoscope::metric::{Running, Summary};
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, LaneSpec, Session};

/// Accuracy of every lane over the seeds, and its correct answers and reads.
fn recall(mut session: Session, seeds: std::ops::Range<u64>) -> Vec<(String, f64, u64)> {
    let mut totals: Vec<(String, u64, u64)> = session.lanes.iter().map(|l| (l.name.clone(), 0, 0)).collect();
    for seed in seeds {
        session.seed = seed;
        let plan = Arc::new(Plan::new(&session, None).unwrap());
        let result = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        for (lane, trace) in plan.lanes.iter().zip(&result.traces) {
            let mut running = Running::new(plan.stream.targets()).unwrap();
            running.update(trace);
            let Summary::Recall { correct, reads } = running.over(0..1, 0..plan.stream.reads()) else { panic!("recall has codes") };
            totals[lane.index].1 += correct;
            totals[lane.index].2 += reads;
        }
    }
    totals.into_iter().map(|(name, correct, reads)| (name, correct as f64 / reads as f64, reads)).collect()
}

#[test]
fn lola_keeps_the_needles_and_lolcats_loses_them() {
    let mut session = Session::open(Path::new("sessions/needles.ron")).unwrap();
    // The same cache with other scores: SRE is what finds the needles.
    let lola = session.lanes.iter().find(|l| l.name == "LoLA").unwrap().clone();
    session.lanes.push(LaneSpec { name: "FIFO".to_owned(), params: lola.params.with("score", "fifo"), ..session.lanes[0].clone() });
    session.lanes.last_mut().unwrap().layer = "lola".to_owned();
    let scores = recall(session, 0..8);
    println!("{scores:?}");
    let of = |name: &str| scores.iter().find(|s| s.0 == name).unwrap().1;
    assert_eq!((of("full"), of("OVQ 1024")), (1.0, 1.0), "{scores:?}");
    assert!(of("LoLA") >= 0.9, "{scores:?}");
    // By chance an answer is right once in 128.
    assert!(of("LoLCATs") <= 0.05 && of("linear") <= 0.05 && of("FIFO") <= 0.05, "{scores:?}");
}
