//! Scores of any number of lanes on one stream: run in groups, of which nothing but the metric's channels is kept.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Tally;
use crate::engine::lane::Keep;
use crate::engine::run::{Run, RunError, Sink, Stop};
use crate::engine::{BackendInfo, LayerFactory};
use crate::layer::{self, Cost};
use crate::metric;
use crate::param::{Params, Resolved, every};
use crate::session::plan::{Plan, PlanError, PlanLane};
use crate::session::{BackendChoice, LaneSpec, MAX_LANES, Session};
use crate::stream::Stream;
use crate::trace::{LaneTrace, TraceBlock};

/// Writes a step for layers that have no chunk of their own, where no lane of the session has one.
const DEFAULT_STEP: usize = 64;

/// Writes a step of a session: the smallest chunk of its lanes that are switched on.
#[must_use]
pub fn step_of(session: &Session) -> usize {
    let chunk = |lane: &LaneSpec| {
        let kind = layer::kind(&lane.layer)?;
        kind.chunk(&Resolved::new(&lane.name, kind.params(), &lane.params).ok()?)
    };
    session.lanes.iter().filter(|l| l.enabled).filter_map(chunk).min().unwrap_or(DEFAULT_STEP).max(1)
}

/// What a lane scored on one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// What its answers add up to; `None` where the stream's targets are unknown.
    pub tally: Option<Tally>,
    /// What its memory costs, per key/value head of the stream (reads: per query head).
    pub cost: Cost,
    /// The share of full attention's memory that it holds at the end of the stream.
    pub memory_share: f64,
    /// Every parameter of the layer, checked, defaults filled in; `auto` where the stream decides.
    pub params: Params,
    /// Seconds that its layer took for the whole stream.
    pub seconds: f64,
    /// Where it ran.
    pub backend: BackendInfo,
    /// What was done to the stream for it, and what happened to the device.
    pub notes: Vec<String>,
}

/// A stream that lanes are scored on.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    session: &'a Session,
    base_dir: Option<&'a Path>,
    stream: Arc<Stream>,
    step: usize,
}

impl<'a> Job<'a> {
    /// `stream` is the session's, from [`crate::session::plan::load_stream`]; the session's own lanes matter only for the
    /// step: it is that of the session, so that a score does not depend on which lanes happen to run beside it.
    #[must_use]
    pub fn new(session: &'a Session, base_dir: Option<&'a Path>, stream: Arc<Stream>) -> Self {
        Self { session, base_dir, stream, step: step_of(session) }
    }

    /// Writes a step, of layers that have no chunk of their own.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// One lane alone as a plan.
    fn plan(&self, lane: &LaneSpec, cancel: &AtomicBool) -> Result<Plan, PlanError> {
        let lane = LaneSpec { enabled: true, ..lane.clone() };
        let session = Session { lanes: vec![lane], ..self.session.clone() };
        let mut plan = Plan::on_stream_with_cancel(&session, self.base_dir, &self.stream, cancel)?;
        for lane in plan.lanes.iter_mut().filter(|l| l.kind.chunk(&l.setup.params).is_none()) {
            lane.setup.chunk = self.step;
        }
        Ok(plan)
    }
}

/// A backend, open for as many jobs as there are.
pub struct Scorer<'f> {
    factory: &'f mut dyn LayerFactory,
    /// What was asked for.
    backend: BackendChoice,
    /// What a group of lanes is given: one that does not fit on a real GPU goes there lane by lane before any of it goes to
    /// the CPU.
    of_groups: BackendChoice,
    opened: BackendInfo,
}

/// Who is told the writes done and to be done, over all lanes.
pub type Tell<'a> = dyn FnMut(u64, u64) + 'a;

impl<'f> Scorer<'f> {
    /// Opens a backend.
    ///
    /// # Errors
    /// [`RunError::Backend`] where there is no such device.
    pub fn open(factory: &'f mut dyn LayerFactory, backend: BackendChoice) -> Result<Self, RunError> {
        let opened = factory.open(backend).map_err(|e| RunError::Backend(Box::new(e)))?;
        Ok(Self { factory, backend, of_groups: if opened.gpu { BackendChoice::Gpu } else { backend }, opened })
    }

    /// What was opened. A lane that does not fit there may still run elsewhere: [`Score::backend`] says where it did.
    #[must_use]
    pub fn backend(&self) -> &BackendInfo {
        &self.opened
    }

    /// Scores every lane of `lanes`, switched on or not, in that order. A lane that cannot run has a sentence in place of a
    /// score. Setting `cancel` ends the work within one block.
    ///
    /// # Errors
    /// What is no single lane's fault: [`RunError::Cancelled`], and [`RunError::Backend`] where the device has gone.
    pub fn score(
        &mut self,
        job: &Job<'_>,
        lanes: &[LaneSpec],
        tell: &mut Tell<'_>,
        cancel: &AtomicBool,
    ) -> Result<Vec<Result<Score, String>>, RunError> {
        let mut scores: Vec<Result<Score, String>> = Vec::with_capacity(lanes.len());
        let mut able: Vec<(usize, Plan)> = Vec::with_capacity(lanes.len());
        for (at, lane) in lanes.iter().enumerate() {
            match job.plan(lane, cancel) {
                Ok(plan) => {
                    able.push((at, plan));
                    scores.push(Err("it has not run".to_owned()));
                }
                Err(PlanError::Cancelled) => return Err(RunError::Cancelled),
                Err(error) => scores.push(Err(error.to_string())),
            }
        }
        let writes = job.stream.writes() as u64;
        let (mut done, total) = (0, writes * able.len() as u64);
        for group in able.chunks(MAX_LANES) {
            for (at, score) in self.group(group, &mut |seen| tell(done + seen, total), cancel)? {
                scores[at] = score;
            }
            done += writes * group.len() as u64;
            tell(done, total);
        }
        Ok(scores)
    }

    /// Runs a group together, or where that fails every lane by itself.
    fn group(&mut self, group: &[(usize, Plan)], tell: &mut dyn FnMut(u64), cancel: &AtomicBool) -> Result<Vec<Found>, RunError> {
        let count = group.len() as u64;
        let choice = if count > 1 { self.of_groups } else { self.backend };
        match run_group(self.factory, &merged(group), choice, &mut |seen| tell(seen * count), cancel) {
            Ok(found) => Ok(group.iter().zip(found).map(|((at, _), score)| (*at, Ok(score))).collect()),
            Err(error @ RunError::Cancelled) => Err(error),
            // With a group, a device that is not there can only be one that has gone: alone, each lane may go to the CPU.
            Err(error @ RunError::Backend(_)) if count == 1 => Err(error),
            Err(error) if count == 1 => Ok(vec![(group[0].0, Err(error.to_string()))]),
            Err(_) => {
                let mut all = Vec::with_capacity(group.len());
                for member in group {
                    all.extend(self.group(std::slice::from_ref(member), tell, cancel)?);
                }
                Ok(all)
            }
        }
    }
}

/// A lane's place in the list, and its score.
type Found = (usize, Result<Score, String>);

/// The lanes of plans on one stream as one plan.
fn merged(members: &[(usize, Plan)]) -> Arc<Plan> {
    let mut plan = members[0].1.clone();
    plan.lanes = members.iter().flat_map(|(_, p)| p.lanes.iter().cloned()).collect();
    for (index, lane) in plan.lanes.iter_mut().enumerate() {
        lane.index = index;
    }
    plan.session.lanes = members.iter().flat_map(|(_, p)| p.session.lanes.iter().cloned()).collect();
    plan.step = plan.lanes.iter().map(|l| l.setup.chunk).min().unwrap_or(plan.step);
    Arc::new(plan)
}

/// Runs a plan to its end, and scores its lanes.
fn run_group(
    factory: &mut dyn LayerFactory,
    plan: &Arc<Plan>,
    backend: BackendChoice,
    progress: &mut dyn FnMut(u64),
    cancel: &AtomicBool,
) -> Result<Vec<Score>, RunError> {
    let measured = |lane: &PlanLane| {
        let stream = &lane.setup.stream;
        LaneTrace::new(&lane.channels[lane.own_channels..], stream.kv_heads(), stream.query_heads())
    };
    let traces = plan.lanes.iter().map(measured).collect();
    let own = plan.lanes.iter().map(|l| l.own_channels).collect();
    let mut sink = ScoreSink { traces, own, seconds: vec![0.0; plan.lanes.len()], notes: Vec::new(), progress, cancel };
    let mut run = Run::new(Arc::clone(plan), backend, Keep::Nothing, factory)?;
    while run.advance(factory, &mut sink)? {
        sink.poll().map_err(|_| RunError::Cancelled)?;
    }
    let of_lane = |((lane, trace), &seconds): ((&PlanLane, &LaneTrace), &f64)| {
        let cost = lane.kind.cost(&lane.setup);
        Score {
            tally: Tally::of(&plan.stream, trace),
            cost: metric::per_given_head(cost, &lane.setup.stream, &plan.stream),
            memory_share: metric::memory_share(&cost, &lane.setup.stream, &plan.stream),
            params: every(lane.kind.params(), &lane.setup.params),
            seconds,
            backend: run.backend().clone(),
            notes: lane.notes.iter().chain(&sink.notes).cloned().collect(),
        }
    };
    Ok(plan.lanes.iter().zip(&sink.traces).zip(&sink.seconds).map(of_lane).collect())
}

/// Keeps the metric's channels, and lets the rest go.
struct ScoreSink<'a> {
    traces: Vec<LaneTrace>,
    /// By lane: channels of the layer itself, which come before the metric's.
    own: Vec<usize>,
    seconds: Vec<f64>,
    notes: Vec<String>,
    progress: &'a mut dyn FnMut(u64),
    cancel: &'a AtomicBool,
}

impl Sink for ScoreSink<'_> {
    fn block(&mut self, lane: usize, mut block: TraceBlock, _chunks: usize, seconds: f64) -> Result<(), Stop> {
        self.seconds[lane] += seconds;
        let own = self.own[lane];
        block.pieces.retain(|p| p.channel >= own);
        block.pieces.iter_mut().for_each(|p| p.channel -= own);
        self.traces[lane].append(&block).map_err(Stop::Store)
    }

    fn reached(&mut self, writes: usize) -> Result<(), Stop> {
        (self.progress)(writes as u64);
        Ok(())
    }

    fn moved(&mut self, text: &str, _backend: &BackendInfo) -> Result<(), Stop> {
        self.notes.push(text.to_owned());
        Ok(())
    }

    fn poll(&mut self) -> Result<(), Stop> {
        if self.cancel.load(Ordering::Relaxed) { Err(Stop::Cancelled) } else { Ok(()) }
    }
}
