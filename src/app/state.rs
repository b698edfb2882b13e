//! The run as the window holds it: the plan, what the engine has written so far, and the run that is about to replace it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{BackendInfo, Event, Request, RunId, cpu_info};
use crate::layer::Snapshot;
use crate::session::plan::{Plan, PlanLane};
use crate::session::saved::{Made, Saved};
use crate::trace::LaneTrace;

/// How long the old pictures may stay after the new run's first numbers, while it catches up with the playhead.
const CATCH_UP: Duration = Duration::from_millis(200);

/// One run: a plan and what is known of it. Filled by `Run::apply` alone.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its number at the engine.
    pub id: RunId,
    /// What runs.
    pub plan: Arc<Plan>,
    /// What each lane has written. Shared with an export while one is under way.
    pub traces: Arc<Vec<LaneTrace>>,
    /// The last state of each lane, once the run is complete.
    pub states: Vec<Arc<Snapshot>>,
    /// Seconds that each lane's layer took so far, and the chunks it did in them.
    pub spent: Vec<(f64, usize)>,
    /// Writes that every lane has reached.
    pub reached: usize,
    /// Where it computes.
    pub backend: Option<BackendInfo>,
    /// What the user should know of it.
    pub banners: Vec<String>,
    /// How it was made, if it was read from a file and not computed here.
    pub saved: Option<Made>,
    /// True when nothing more will come.
    pub ended: bool,
    /// Why it ended early.
    pub error: Option<String>,
    first_block: Option<Instant>,
}

impl Run {
    /// A run of which nothing is known yet.
    #[must_use]
    pub fn new(id: RunId, plan: Arc<Plan>) -> Self {
        let traces = Arc::new(plan.lanes.iter().map(PlanLane::trace).collect());
        let spent = vec![(0.0, 0); plan.lanes.len()];
        Self {
            id,
            plan,
            traces,
            states: Vec::new(),
            spent,
            reached: 0,
            backend: None,
            banners: Vec::new(),
            saved: None,
            ended: false,
            error: None,
            first_block: None,
        }
    }

    /// Takes in what the engine said of this run.
    fn apply(&mut self, event: Event) {
        match event {
            Event::Started { backend, .. } => self.backend = Some(backend),
            Event::Block { lane, block, chunks, seconds, .. } => {
                self.first_block.get_or_insert_with(Instant::now);
                let Some(trace) = Arc::make_mut(&mut self.traces).get_mut(lane) else { return };
                if let Err(error) = trace.append(&block) {
                    // A mistake in a layer: what was written before it is right and stays.
                    self.error.get_or_insert_with(|| format!("lane {}: {error}", self.plan.lanes[lane].name));
                }
                self.spent[lane] = (self.spent[lane].0 + seconds, chunks);
            }
            Event::Reached { writes, .. } => self.reached = writes,
            Event::State { .. } => {}
            Event::Banner { text, .. } => self.banners.push(text),
            Event::Ended { error, states, .. } => {
                self.ended = true;
                self.states = states;
                if error.is_some() {
                    self.error = error;
                }
            }
        }
    }

    /// True when its pictures are worth more than the old ones.
    fn presentable(&self, wanted: usize) -> bool {
        let caught_up = self.reached > 0 && self.reached >= wanted.min(self.plan.stream.writes());
        self.ended || caught_up || self.first_block.is_some_and(|at| at.elapsed() > CATCH_UP)
    }

    /// True if it ran to its end: all of it is there, and nothing went wrong.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.ended && self.error.is_none() && self.reached >= self.plan.stream.writes()
    }

    /// Seconds a chunk of lane number `lane`, as measured; `None` before the first.
    #[must_use]
    pub fn seconds_per_chunk(&self, lane: usize) -> Option<f64> {
        self.spent.get(lane).filter(|(_, chunks)| *chunks > 0).map(|(seconds, chunks)| seconds / *chunks as f64)
    }
}

/// The run on screen and the one that is to replace it.
#[derive(Debug, Default)]
pub struct Runs {
    current: Option<Run>,
    next: Option<Run>,
    last_id: RunId,
}

/// What a batch of events has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Something on screen is to be drawn again.
    pub any: bool,
    /// Another run is on screen.
    pub swapped: bool,
}

impl Runs {
    /// The run on screen.
    #[must_use]
    pub fn current(&self) -> Option<&Run> {
        self.current.as_ref()
    }

    /// The number of the newest run, on screen or about to be.
    #[must_use]
    pub fn newest(&self) -> RunId {
        self.last_id
    }

    /// True while another run is computing towards the screen.
    #[must_use]
    pub fn waiting(&self) -> bool {
        self.next.is_some()
    }

    /// True while the newest run computes.
    #[must_use]
    pub fn computing(&self) -> bool {
        self.next.as_ref().or(self.current.as_ref()).is_some_and(|r| !r.ended)
    }

    /// Begins a run; what is on screen stays until the new one is presentable.
    pub fn start(&mut self, plan: Arc<Plan>) -> Request {
        self.last_id += 1;
        self.next = Some(Run::new(self.last_id, Arc::clone(&plan)));
        Request::Run { id: self.last_id, plan }
    }

    /// Takes a complete run whose trace was read from a file; it is shown at once.
    pub fn hold(&mut self, saved: Saved) -> Request {
        let Saved { plan, traces, states, spent, made, .. } = saved;
        self.last_id += 1;
        let (reached, backend) = (plan.stream.writes(), made.backend());
        let mut run = Run::new(self.last_id, Arc::clone(&plan));
        (run.traces, run.states, run.spent, run.reached, run.ended) = (Arc::new(traces), states, spent, reached, true);
        (run.backend, run.saved) = (Some(backend.clone()), Some(made));
        self.next = Some(run);
        Request::Hold { id: self.last_id, plan, made: backend }
    }

    /// Puts a complete run of another window on screen; nothing of it is computed again, but for states that are asked for.
    pub fn adopt(&mut self, run: Run) -> Request {
        let made = run.backend.clone().unwrap_or_else(|| cpu_info("another window's run"));
        self.last_id = run.id;
        let plan = Arc::clone(&run.plan);
        self.next = None;
        self.current = Some(run);
        Request::Hold { id: self.last_id, plan, made }
    }

    /// Says something of a run, in a line across the window.
    pub fn tell(&mut self, id: RunId, text: String) {
        if let Some(run) = [&mut self.next, &mut self.current].into_iter().flatten().find(|r| r.id == id) {
            run.banners.push(text);
        }
    }

    /// Forgets both: what they show is of another session.
    pub fn clear(&mut self) {
        self.current = None;
        self.next = None;
    }

    /// Takes in an event; events of older runs are thrown away.
    pub fn apply(&mut self, event: Event) {
        let id = id_of(&event);
        if let Some(run) = [&mut self.next, &mut self.current].into_iter().flatten().find(|r| r.id == id) {
            run.apply(event);
        }
    }

    /// Puts the next run on screen if it is presentable, or if nothing is on screen; true if it did.
    pub fn present(&mut self, wanted: usize) -> bool {
        let ready = self.next.as_ref().is_some_and(|n| self.current.is_none() || n.presentable(wanted));
        if ready {
            self.current = self.next.take();
        }
        ready
    }
}

fn id_of(event: &Event) -> RunId {
    match event {
        Event::Started { id, .. }
        | Event::Block { id, .. }
        | Event::Reached { id, .. }
        | Event::State { id, .. }
        | Event::Banner { id, .. }
        | Event::Ended { id, .. } => *id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::plan;

    #[test]
    fn the_old_run_stays_until_the_new_one_has_caught_up() {
        let mut runs = Runs::default();
        runs.start(plan(256, 64));
        assert!(runs.present(256));
        runs.apply(Event::Reached { id: 1, writes: 256 });
        runs.apply(Event::Ended { id: 1, error: None, states: Vec::new() });
        runs.start(plan(512, 64));
        assert!(!runs.present(256), "nothing has come yet");
        runs.apply(Event::Reached { id: 2, writes: 128 });
        assert!(!runs.present(256), "the playhead is further");
        assert_eq!(runs.current().unwrap().id, 1);
        runs.apply(Event::Reached { id: 2, writes: 256 });
        assert!(runs.present(256));
        assert_eq!((runs.current().unwrap().id, runs.current().unwrap().reached), (2, 256));
    }

    #[test]
    fn events_of_older_runs_are_thrown_away() {
        let mut runs = Runs::default();
        for _ in 0..3 {
            runs.start(plan(256, 64));
        }
        runs.present(0);
        runs.apply(Event::Reached { id: 2, writes: 64 });
        assert_eq!(runs.current().unwrap().reached, 0);
        runs.apply(Event::Reached { id: 3, writes: 64 });
        assert_eq!(runs.current().unwrap().reached, 64);
    }

    #[test]
    fn a_run_that_fails_at_once_is_shown_with_its_reason() {
        let mut runs = Runs::default();
        runs.start(plan(256, 64));
        runs.present(0);
        runs.start(plan(256, 64));
        runs.apply(Event::Ended { id: 2, error: Some("no memory".to_owned()), states: Vec::new() });
        assert!(runs.present(256));
        assert_eq!(runs.current().unwrap().error.as_deref(), Some("no memory"));
    }
}
