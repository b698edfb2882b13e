//! Effective attention of the selected read, for every lane.
//!
//! For each lane it asks the layer what every visible token weighs in the read's output, and holds the sum of the weights times
//! the values against the output that the lane recorded: what is drawn is only as good as that difference.

use std::sync::{Arc, Weak};

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::layer::effective::{Effective, ReadOf, Store};
use crate::metric::query_used;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;
use crate::widget::envelope::Envelope;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Stop; what was found stays.
    Stop,
    /// The weights behind this read of this query head, in every lane of the run on screen. Begins once the run is over.
    Read {
        /// The read.
        read: usize,
        /// The query head.
        query_head: usize,
    },
}

/// What every visible token weighs in a lane's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// The weights `[after]`.
    pub envelope: Envelope,
    /// Where each token is `[after]`.
    pub stores: Vec<Store>,
    /// The stores that hold a token, and the sum of the weights of each.
    pub shares: Vec<(Store, f64)>,
    /// How far the sum of the weights times the values is from the output that the lane recorded: the largest difference of a
    /// number over the largest number of a value. `None` where the trace has no output.
    pub difference: Option<f64>,
}

impl Weights {
    /// Weights, held against what the lane recorded.
    #[must_use]
    pub fn new(plan: &PlanLane, trace: &LaneTrace, query_head: usize, read: usize, effective: Effective) -> Self {
        let difference = difference(plan, trace, query_head, read, &effective);
        let held = |store: &Store| effective.stores.contains(store);
        let shares = Store::ALL.into_iter().filter(held).map(|s| (s, effective.share(s))).collect();
        Self { envelope: Envelope::new(effective.weights), stores: effective.stores, shares, difference }
    }
}

fn difference(plan: &PlanLane, trace: &LaneTrace, query_head: usize, read: usize, effective: &Effective) -> Option<f64> {
    let stream = &plan.setup.stream;
    let outputs = trace.channel("outputs").filter(|c| query_head < c.heads() && read < c.len())?;
    let (values, range) = (outputs.values(query_head), outputs.range(query_head, read));
    let written = stream.values().index_axis(ndarray::Axis(0), stream.kv_head_of(query_head));
    let mut sum = vec![0.0; range.len()];
    let mut largest = 0.0_f64;
    for (weight, value) in effective.weights.iter().zip(written.rows()) {
        for (to, &v) in sum.iter_mut().zip(value) {
            *to += weight * f64::from(v);
            largest = largest.max(f64::from(v).abs());
        }
    }
    let off = sum.iter().zip(range).map(|(s, at)| (s - values.get(at).unwrap_or(f64::NAN)).abs());
    // A sum that is no number must not pass for a small one.
    let off = off.fold(0.0, |most: f64, d| if d.is_nan() { f64::NAN } else { most.max(d) });
    Some(off / largest.max(f64::MIN_POSITIVE))
}

/// A lane's weights; `None` where its layer does not say them, or its trace does not hold what they depend on.
#[must_use]
pub fn weights_of(plan: &PlanLane, trace: &LaneTrace, query_head: usize, read: usize) -> Option<Weights> {
    // Of a read that follows another it is the one that the lane's own answer led to.
    let query = query_used(&plan.setup.stream, trace, query_head, read);
    let effective = plan.kind.effective(&plan.setup, trace, ReadOf { query_head, read, query: &query })?;
    Some(Weights::new(plan, trace, query_head, read, effective))
}

/// What was found of a lane.
#[derive(Debug, Clone)]
pub enum Finding {
    /// Its layer does not say what tokens weigh, or its trace does not hold what that depends on.
    Unknown,
    /// The weights.
    Known(Arc<Weights>),
}

impl Finding {
    /// The weights, where they are known.
    #[must_use]
    pub fn weights(&self) -> Option<&Weights> {
        if let Self::Known(weights) = self { Some(weights) } else { None }
    }
}

/// A finding, and the lane that it is of.
type Found = (usize, Finding);

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    /// What the findings are of: the run's plan, the read, the query head.
    of: Option<(Weak<Plan>, usize, usize)>,
    /// By lane: nothing yet, or what was found.
    lanes: Vec<Option<Finding>>,
    work: Option<Work<Found>>,
}

impl Study {
    /// Takes in what has been found; true if there is news.
    pub fn receive(&mut self) -> bool {
        let Some(work) = &mut self.work else { return false };
        let (found, news) = work.receive();
        for (lane, finding) in found {
            self.lanes[lane] = Some(finding);
        }
        news
    }

    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        match ask {
            Ask::Stop => {
                if let Some(work) = &self.work {
                    work.cancel();
                }
            }
            // Traces of a run that goes on are written to: holding them here would have each block copy them.
            Ask::Read { read, query_head } => {
                if let Some(run) = runs.current().filter(|r| r.ended) {
                    self.start(&run.plan, &run.traces, read, query_head, wake);
                }
            }
        }
    }

    /// Begins to look for the weights behind a read in a run that is over; whatever was sought before is given up.
    pub fn start(&mut self, plan: &Arc<Plan>, traces: &Arc<Vec<LaneTrace>>, read: usize, query_head: usize, wake: &Wake) {
        self.of = Some((Arc::downgrade(plan), read, query_head));
        self.lanes = vec![None; plan.lanes.len()];
        let (plan, traces) = (Arc::clone(plan), Arc::clone(traces));
        let job = move |teller: &Teller<Found>| {
            for (index, (lane, trace)) in plan.lanes.iter().zip(traces.iter()).enumerate() {
                if teller.cancelled() {
                    return Ok(());
                }
                let weights = weights_of(lane, trace, query_head, read);
                teller.part((index, weights.map_or(Finding::Unknown, |w| Finding::Known(Arc::new(w)))));
                teller.share((index + 1) as f32 / plan.lanes.len() as f32);
            }
            Ok(())
        };
        self.work = Some(Work::start("effective attention", wake, job));
    }

    /// True if what is held, or is being sought, is of this read.
    #[must_use]
    pub fn is_of(&self, plan: &Arc<Plan>, read: usize, query_head: usize) -> bool {
        self.of.as_ref().is_some_and(|(p, r, h)| Weak::as_ptr(p) == Arc::as_ptr(plan) && (*r, *h) == (read, query_head))
    }

    /// What was found of a lane; `None` before anything was.
    #[must_use]
    pub fn lane(&self, lane: usize) -> Option<&Finding> {
        self.lanes.get(lane)?.as_ref()
    }

    /// True while it works.
    #[must_use]
    pub fn running(&self) -> bool {
        self.work.as_ref().is_some_and(Work::running)
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.work.as_ref().and_then(Work::error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::headless;
    use crate::param::Params;
    use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn run() -> (Arc<Plan>, Arc<Vec<LaneTrace>>) {
        let params = Params::default().with("T", 256).with("needles", 4).with("dk", 8).with("dv", 8);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let lola = Params::default().with("window", 32).with("chunk", 32).with("cache", 16);
        let lanes = vec![LaneSpec::new("full", "full", Params::default()), LaneSpec::new("LoLA", "lola", lola)];
        let plan = Arc::new(Plan::new(&Session { source, lanes, ..Session::default() }, None).unwrap());
        let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        (plan, Arc::new(run.traces))
    }

    #[test]
    fn every_lanes_weights_are_found_in_the_background_and_reproduce_its_output() {
        let (plan, traces) = run();
        let (mut study, wake): (Study, Wake) = (Study::default(), Arc::new(|| {}));
        study.start(&plan, &traces, 2, 0, &wake);
        let start = Instant::now();
        while study.running() && start.elapsed() < Duration::from_secs(20) {
            study.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(study.is_of(&plan, 2, 0) && !study.is_of(&plan, 1, 0) && study.error().is_none());
        let full = study.lane(0).unwrap().weights().unwrap();
        assert_eq!((full.envelope.values().len(), full.shares.len()), (256, 1));
        assert!((full.shares[0].1 - 1.0).abs() < 1e-9, "softmax weights add up to 1");
        let stores: Vec<Store> = study.lane(1).unwrap().weights().unwrap().shares.iter().map(|s| s.0).collect();
        assert_eq!(stores, [Store::Window, Store::Cache, Store::State]);
        for lane in 0..2 {
            let difference = study.lane(lane).unwrap().weights().unwrap().difference.unwrap();
            assert!(difference < 1e-5, "lane {lane}: {difference}");
        }
    }

    #[test]
    fn weights_that_are_wrong_do_not_reproduce_the_output() {
        let (plan, traces) = run();
        let lane = &plan.lanes[0];
        let query = query_used(&lane.setup.stream, &traces[0], 0, 2);
        let mut effective = lane.kind.effective(&lane.setup, &traces[0], ReadOf { query_head: 0, read: 2, query: &query }).unwrap();
        effective.weights[7] += 0.1;
        let moved = Weights::new(lane, &traces[0], 0, 2, effective.clone()).difference.unwrap();
        assert!(moved > 1e-2, "{moved}");
        effective.weights[7] = f64::NAN;
        assert!(Weights::new(lane, &traces[0], 0, 2, effective).difference.unwrap().is_nan());
    }
}
