//! The retention map: what each lane still recalls of followed tokens, step by step.

use std::sync::Arc;
use std::time::Instant;

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::engine::{BackendInfo, Devices};
use crate::metric::retention::{Follow, Part, Probes, RetentionError, RetentionMap, run};
use crate::session::plan::Plan;

/// A map that took no longer, in seconds, is made again by itself.
const QUICK: f64 = 1.0;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Follow these tokens through the run on screen.
    Follow(Follow),
    /// Stop; what was found stays.
    Stop,
}

/// What has been found so far.
#[derive(Debug)]
pub struct Finding {
    /// Which map this is: counts those of the window.
    pub number: u64,
    /// The plan that it belongs to.
    pub plan: Arc<Plan>,
    /// What was asked for.
    pub follow: Follow,
    /// The errors that are known.
    pub map: RetentionMap,
    /// Where it was computed and in how many seconds, once it is whole.
    pub done: Option<(BackendInfo, f64)>,
}

/// What the thread tells.
enum Told {
    Part(Part),
    Done(BackendInfo, f64),
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    finding: Option<Finding>,
    work: Option<Work<Told>>,
    /// Seconds that the last whole map took.
    last: Option<f64>,
    number: u64,
}

impl Study {
    /// The newest map, of whatever plan.
    #[must_use]
    pub fn finding(&self) -> Option<&Finding> {
        self.finding.as_ref()
    }

    /// The newest map, if it belongs to this plan.
    #[must_use]
    pub fn of(&self, plan: &Arc<Plan>) -> Option<&Finding> {
        self.finding.as_ref().filter(|f| Arc::ptr_eq(&f.plan, plan))
    }

    /// True while it computes.
    #[must_use]
    pub fn running(&self) -> bool {
        self.work.as_ref().is_some_and(Work::running)
    }

    /// How far it is, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f32 {
        self.work.as_ref().map_or(0.0, Work::share)
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.work.as_ref().and_then(Work::error)
    }

    /// Whether the last whole map was made so quickly that the next may be made unasked; `None` before the first.
    #[must_use]
    pub fn quick(&self) -> Option<bool> {
        self.last.map(|seconds| seconds < QUICK)
    }

    pub(super) fn receive(&mut self) -> bool {
        let (Some(work), Some(finding)) = (&mut self.work, &mut self.finding) else { return false };
        let (told, news) = work.receive();
        for told in told {
            match told {
                Told::Part(part) => finding.map.absorb(part),
                Told::Done(backend, seconds) => {
                    self.last = Some(seconds);
                    finding.done = Some((backend, seconds));
                }
            }
        }
        news
    }

    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        match ask {
            Ask::Stop => self.work.iter().for_each(Work::cancel),
            Ask::Follow(follow) => {
                if let Some(run) = runs.current() {
                    self.start(&run.plan, follow, wake);
                }
            }
        }
    }

    fn start(&mut self, plan: &Arc<Plan>, follow: Follow, wake: &Wake) {
        let probes = Arc::new(Probes::new(plan, follow.tokens(&plan.stream)));
        let map = RetentionMap::new(Arc::clone(&probes), plan.lanes.len());
        self.number += 1;
        self.finding = Some(Finding { number: self.number, plan: Arc::clone(plan), follow, map, done: None });
        let plan = Arc::clone(plan);
        // The work before it, if there is one, is dropped and so stops.
        self.work = Some(Work::start("retention", wake, move |teller| compute(&plan, &probes, teller)));
    }
}

fn compute(plan: &Plan, probes: &Probes, teller: &Teller<Told>) -> Result<(), String> {
    let start = Instant::now();
    let told = (|part| teller.part(Told::Part(part)), |p: crate::engine::headless::Progress| teller.share(p.share()));
    match run(&mut Devices::default(), plan, probes, plan.session.backend, told, teller.flag()) {
        Ok(backend) => {
            teller.part(Told::Done(backend, start.elapsed().as_secs_f64()));
            Ok(())
        }
        Err(RetentionError::Run(crate::engine::RunError::Cancelled)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
