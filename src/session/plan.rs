//! The plan: a session that has been checked and loaded. Everything that can be wrong with a session is found here, once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use super::file::resolve;
use super::fitting::{self, SessionSamples};
use super::hand::{self, Hand};
use super::memory::{MAX_TRACE_BYTES, in_words};
use super::place::Way;
use super::weights::{self, Learned, WeightsError};
use super::{LaneSpec, MAX_LANES, Session, Source, hash, lanes};
use crate::layer::{Arrays, KINDS, LayerKind, Setup, kind};
use crate::metric;
use crate::param::{ParamError, ParamKind, ParamValue, Params, Resolved, nearest};
use crate::stream::Stream;
use crate::stream::capture::{Capture, CaptureError};
use crate::task::{TASKS, TaskError, task};
use crate::trace::{ChannelSpec, LaneTrace};

/// The timeline's step where no lane has a chunk of its own.
const DEFAULT_STEP: usize = 64;

/// Keys and queries whose lengths differ from 1 by no more than this are unit vectors already.
const UNIT_TOLERANCE: f32 = 1e-4;

/// Why a session cannot run. Every message names what is wrong and what would be right.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum PlanError {
    /// The capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture is not where the session says.
    #[error("the capture {name} is not there ({file}): put it there, or name the place where it is")]
    CaptureMissing { name: String, file: String },
    /// The capture is another file than the one that the session was made with.
    #[error(
        "{file} is not the capture that the session was made with: the SHA-256 of its content begins with {}, that of the session's capture with {}",
        hash::short(found),
        hash::short(expected)
    )]
    CaptureDiffers { file: String, expected: String, found: String },
    /// The capture's content cannot be compared.
    #[error("{file}: cannot be read: {reason}")]
    CaptureUnread { file: String, reason: String },
    /// The task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A parameter of the task or of a lane.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The learned feature maps of a lane.
    #[error("lane `{lane}`: {source}")]
    Weights { lane: String, source: WeightsError },
    /// There is no such task.
    #[error("there is no task `{name}`{}", hint(nearest.as_ref(), known))]
    UnknownTask { name: String, nearest: Option<String>, known: String },
    /// There is no such layer.
    #[error("lane `{lane}`: there is no layer `{name}`{}", hint(nearest.as_ref(), known))]
    UnknownLayer { lane: String, name: String, nearest: Option<String>, known: String },
    /// A lane's name cannot be used.
    #[error("lane {index} is named `{name}`, but {reason}")]
    LaneName { index: usize, name: String, reason: &'static str },
    /// Too many lanes are switched on.
    #[error("{found} lanes are enabled, but at most {MAX_LANES} run at once; switch some off")]
    TooManyLanes { found: usize },
    /// Something cannot be done to a lane's memory by hand.
    #[error("lane `{lane}`: hands[{index}] ({hand}): {reason}")]
    Hand { lane: String, index: usize, hand: Hand, reason: String },
    /// There are no keys to fit a lane on.
    #[error("lane `{lane}`: {reason}")]
    Fit { lane: String, reason: String },
    /// What is looked at is not there: [`super::view::check`].
    #[error("{reason}")]
    View { way: Way, reason: String },
    /// It was given up for a newer one.
    #[error("the plan was given up")]
    Cancelled,
    /// Nothing runs.
    #[error("no lane is enabled; at least one must be")]
    NoLane,
    /// The trace would not fit into memory.
    #[error(
        "the trace would hold {}, but the limit is {}; most of it is `{channel}` of lane `{lane}` with {}: fewer tokens or heads, a larger chunk or a smaller memory help",
        in_words(*total), in_words(*limit), in_words(*largest)
    )]
    TraceTooLarge { total: u64, limit: u64, lane: String, channel: &'static str, largest: u64 },
}

fn hint(nearest: Option<&String>, known: &str) -> String {
    nearest.map_or_else(|| format!("; there are {known}"), |n| format!("; did you mean `{n}`?"))
}

/// One lane, ready to be built.
#[derive(Debug, Clone)]
pub struct PlanLane {
    /// The lane's name.
    pub name: String,
    /// Its place in the session's list (disabled lanes have no [`PlanLane`]).
    pub index: usize,
    /// Its colour, by its place in the palette.
    pub colour: usize,
    /// The layer.
    pub kind: &'static dyn LayerKind,
    /// What it is built from.
    pub setup: Setup,
    /// The layer's channels, then the metric's ([`crate::metric::channels`]): what the lane's trace holds.
    pub channels: Vec<ChannelSpec>,
    /// How many of `channels` are the layer's own.
    pub own_channels: usize,
    /// What was done to the stream for this lane, for the screen.
    pub notes: Vec<String>,
}

impl PlanLane {
    /// An empty trace for this lane's channels and heads.
    #[must_use]
    pub fn trace(&self) -> LaneTrace {
        LaneTrace::new(&self.channels, self.setup.stream.kv_heads(), self.setup.stream.query_heads())
    }

    /// Chunks that this lane has completed when `writes` writes of the stream have been seen.
    #[must_use]
    pub fn chunks_at(&self, writes: usize) -> usize {
        let total = self.setup.stream.writes();
        if writes >= total { total.div_ceil(self.setup.chunk) } else { writes / self.setup.chunk }
    }
}

/// A session checked and loaded.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The session it was made from.
    pub session: Session,
    /// The stream, as the source gives it.
    pub stream: Arc<Stream>,
    /// The lanes that run.
    pub lanes: Vec<PlanLane>,
    /// Writes a step of the timeline: the smallest chunk of the lanes (64 where no lane has one).
    pub step: usize,
}

impl Plan {
    /// Loads a session's stream and checks everything in it. `base_dir` is the folder that paths in it are relative to: the
    /// session file's own.
    ///
    /// # Errors
    /// The first thing that is wrong, by its field.
    pub fn new(session: &Session, base_dir: Option<&Path>) -> Result<Self, PlanError> {
        Self::with_cancel(session, base_dir, &AtomicBool::new(false))
    }

    /// The same; fitting a lane, which can take seconds, ends once `cancel` is set.
    ///
    /// # Errors
    /// As [`Plan::new`], and [`PlanError::Cancelled`].
    pub fn with_cancel(session: &Session, base_dir: Option<&Path>, cancel: &AtomicBool) -> Result<Self, PlanError> {
        // A lane that is switched off runs at the next click: what is wrong with it is wrong now.
        let mut off = session.lanes.iter().enumerate().filter(|(_, l)| !l.enabled).peekable();
        if off.peek().is_some() {
            check_names(&session.lanes)?;
        }
        for (at, lane) in off {
            resolve_lane(session, at, lane, 0)?;
        }
        let plan = Self::on(session, base_dir, |base| load_checked(session, base, cancel), cancel)?;
        plan.check_memory(MAX_TRACE_BYTES)?;
        Ok(plan)
    }

    /// The same on the session's stream, loaded before with [`load_stream`]: for many runs on one stream, of which only the
    /// scores are kept. Whether the whole traces would fit into memory is not checked.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn on_stream(session: &Session, base_dir: Option<&Path>, stream: &Arc<Stream>) -> Result<Self, PlanError> {
        Self::on_stream_with_cancel(session, base_dir, stream, &AtomicBool::new(false))
    }

    /// The same; fitting a lane, which can take seconds, ends once `cancel` is set.
    ///
    /// # Errors
    /// As [`Plan::with_cancel`].
    pub fn on_stream_with_cancel(
        session: &Session,
        base_dir: Option<&Path>,
        stream: &Arc<Stream>,
        cancel: &AtomicBool,
    ) -> Result<Self, PlanError> {
        Self::on(session, base_dir, |_| Ok(Arc::clone(stream)), cancel)
    }

    fn on(
        session: &Session,
        base_dir: Option<&Path>,
        stream: impl FnOnce(Option<&Path>) -> Result<Arc<Stream>, PlanError>,
        cancel: &AtomicBool,
    ) -> Result<Self, PlanError> {
        let (resolved, step) = resolve_lanes(session)?;
        let stream = stream(base_dir)?;
        let mut made = Made::default();
        let samples = SessionSamples { session, base: base_dir, stream: &stream };
        let lanes = resolved.into_iter().map(|r| r.plan(&samples, &mut made, step, cancel)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { session: session.clone(), stream, lanes, step })
    }

    /// A plan as it was, made of what was saved of it: the stream, and for each lane that runs what it was fitted to. Nothing is read or
    /// fitted again.
    ///
    /// # Errors
    /// The first thing that does not fit together.
    pub(super) fn restored(session: &Session, stream: &Arc<Stream>, saved: Vec<Restored>) -> Result<Self, PlanError> {
        let (resolved, step) = resolve_lanes(session)?;
        if resolved.len() != saved.len() {
            return Err(PlanError::NoLane);
        }
        let mut made = Made::default();
        let lanes = resolved.into_iter().zip(saved).map(|(lane, saved)| lane.restore(saved, stream, &mut made, step));
        Ok(Self { session: session.clone(), stream: Arc::clone(stream), lanes: lanes.collect::<Result<_, _>>()?, step })
    }

    fn check_memory(&self, limit: u64) -> Result<(), PlanError> {
        let total: u64 = self.lanes.iter().map(PlanLane::trace_bytes).sum();
        if total <= limit {
            return Ok(());
        }
        let largest = |lane: &PlanLane| lane.largest_channel().map_or(0, |(_, bytes)| bytes);
        let Some(lane) = self.lanes.iter().max_by_key(|l| largest(l)) else { return Err(PlanError::NoLane) };
        let (channel, largest) = lane.largest_channel().unwrap_or(("outputs", 0));
        Err(PlanError::TraceTooLarge { total, limit, lane: lane.name.clone(), channel, largest })
    }

    /// Steps of the timeline.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.stream.writes().div_ceil(self.step)
    }

    /// Writes seen after `step` steps.
    #[must_use]
    pub fn writes_at(&self, step: usize) -> usize {
        (step * self.step).min(self.stream.writes())
    }

    /// The step that a number of writes seen belongs to, rounded up.
    #[must_use]
    pub fn step_at(&self, writes: usize) -> usize {
        writes.div_ceil(self.step)
    }
}

/// What was saved of a lane's plan.
#[derive(Debug)]
pub(super) struct Restored {
    /// What the layer is built from.
    pub arrays: Arrays,
    /// What was said of it.
    pub notes: Vec<String>,
    /// True if it has a key/value head for each query head.
    pub repeated: bool,
}

/// The lanes that run, checked as a list and each by itself, and the step of the timeline.
fn resolve_lanes(session: &Session) -> Result<(Vec<ResolvedLane>, usize), PlanError> {
    check_enabled(&session.lanes)?;
    check_names(&session.lanes)?;
    let colours = lanes::colours(&session.lanes);
    let enabled = session.lanes.iter().enumerate().filter(|(_, l)| l.enabled);
    let resolved = enabled.map(|(at, lane)| resolve_lane(session, at, lane, colours[at])).collect::<Result<Vec<_>, _>>()?;
    let chunks = resolved.iter().filter_map(|r| r.kind.chunk(&r.params));
    let step = chunks.min().unwrap_or(DEFAULT_STEP).max(1);
    Ok((resolved, step))
}

/// An enabled lane whose parameters are checked by themselves; the stream comes next.
struct ResolvedLane {
    index: usize,
    colour: usize,
    name: String,
    kind: &'static dyn LayerKind,
    params: Resolved,
    weights: Option<PathBuf>,
    hands: Vec<Hand>,
}

/// Streams made from the source's, once for all lanes that want them.
#[derive(Default)]
struct Made {
    /// With keys and queries of length 1.
    unit: Option<Arc<Stream>>,
    /// With a key/value head for each query head.
    repeated: Option<Arc<Stream>>,
}

impl ResolvedLane {
    /// The lane's learned feature maps, if it has any.
    fn learned(&self, from: &SessionSamples<'_>) -> Result<Learned, PlanError> {
        let Some(path) = &self.weights else { return Ok(Learned::default()) };
        weights::load(path, from.base, &from.session.source, self.kind, &self.params, from.stream)
            .map_err(|source| PlanError::Weights { lane: self.name.clone(), source })
    }

    /// Checks the lane against its stream.
    fn plan(self, samples: &SessionSamples<'_>, made: &mut Made, step: usize, cancel: &AtomicBool) -> Result<PlanLane, PlanError> {
        let stream = samples.stream;
        let learned = self.learned(samples)?;
        let mut notes = Vec::new();
        notes.extend(Some(learned.note).filter(|n| !n.is_empty()));
        let own = self.own_stream(stream, !learned.arrays.is_empty(), made);
        if made.unit.as_ref().is_some_and(|unit| Arc::ptr_eq(unit, &own)) {
            notes.extend_from_slice(&own.labels().notes[stream.labels().notes.len()..]);
        }
        let setup = self.setup(own, learned.arrays, step)?;
        let setup = fitting::fit(self.kind, setup, samples, &mut notes, cancel)?;
        self.check_hands(&setup)?;
        notes.extend(self.kind.notes(&setup));
        notes.extend(setup.hands.iter().map(|h| hand::note(h, setup.chunk)));
        Ok(self.finish(stream, setup, notes))
    }

    /// The stream as the lane takes it. `learned`: it has maps for each query head.
    fn own_stream(&self, stream: &Arc<Stream>, learned: bool, made: &mut Made) -> Arc<Stream> {
        if self.kind.wants_unit_vectors() && !stream.is_unit(UNIT_TOLERANCE) {
            Arc::clone(made.unit.get_or_insert_with(|| Arc::new(stream.normalised())))
        } else if learned && stream.kv_heads() < stream.query_heads() {
            Arc::clone(made.repeated.get_or_insert_with(|| Arc::new(stream.repeated().into_owned())))
        } else {
            Arc::clone(stream)
        }
    }

    /// What the layer is built from, checked against its own stream; what it is fitted to comes next.
    fn setup(&self, stream: Arc<Stream>, arrays: Arrays, step: usize) -> Result<Setup, PlanError> {
        let chunk = self.kind.chunk(&self.params).unwrap_or(step);
        let (params, hands) = (self.params.clone(), self.hands.clone().into());
        let setup = Setup { stream, params, arrays: Arc::new(arrays), chunk, hands };
        self.kind.check(&setup)?;
        Ok(setup)
    }

    fn check_hands(&self, setup: &Setup) -> Result<(), PlanError> {
        match hand::first_wrong(self.kind, setup) {
            Some((index, hand, reason)) => Err(PlanError::Hand { lane: self.name.clone(), index, hand, reason }),
            None => Ok(()),
        }
    }

    /// The lane as it was planned before.
    fn restore(self, saved: Restored, stream: &Arc<Stream>, made: &mut Made, step: usize) -> Result<PlanLane, PlanError> {
        let own = self.own_stream(stream, saved.repeated, made);
        let setup = self.setup(own, saved.arrays, step)?;
        self.check_hands(&setup)?;
        Ok(self.finish(stream, setup, saved.notes))
    }

    fn finish(self, stream: &Stream, setup: Setup, notes: Vec<String>) -> PlanLane {
        let mut channels = self.kind.channels(&setup);
        let own_channels = channels.len();
        channels.extend(metric::channels(stream));
        PlanLane { name: self.name, index: self.index, colour: self.colour, kind: self.kind, setup, channels, own_channels, notes }
    }
}

fn resolve_lane(session: &Session, index: usize, lane: &LaneSpec, colour: usize) -> Result<ResolvedLane, PlanError> {
    let kind = kind(&lane.layer).ok_or_else(|| {
        let names = || KINDS.iter().map(|k| k.name());
        PlanError::UnknownLayer {
            lane: lane.name.clone(),
            name: lane.layer.clone(),
            nearest: nearest(&lane.layer, names()).map(str::to_owned),
            known: names().collect::<Vec<_>>().join(", "),
        }
    })?;
    let params = with_seed(&lane.params, kind, session.seed);
    let params = Resolved::new(&lane.name, kind.params(), &params)?;
    let (weights, hands) = (lane.weights.clone(), lane.hands.clone());
    Ok(ResolvedLane { index, colour, name: lane.name.clone(), kind, params, weights, hands })
}

/// The session's seed for a layer that draws something and was given no seed of its own.
fn with_seed(params: &Params, kind: &dyn LayerKind, seed: u64) -> Params {
    let draws = kind.params().iter().any(|p| p.name == "seed" && matches!(p.kind, ParamKind::Int { .. }));
    if draws && params.get("seed").is_none() {
        params.clone().with("seed", ParamValue::Int((seed & i64::MAX as u64) as i64))
    } else {
        params.clone()
    }
}

fn check_enabled(lanes: &[LaneSpec]) -> Result<(), PlanError> {
    if !lanes.iter().any(|l| l.enabled) {
        return Err(PlanError::NoLane);
    }
    let found = lanes.iter().filter(|l| l.enabled).count();
    if found > MAX_LANES {
        return Err(PlanError::TooManyLanes { found });
    }
    Ok(())
}

/// Checks the lanes' names: they end up in `--set lane.param=value` and in the arrays of an export.
///
/// # Errors
/// [`PlanError::LaneName`] for the first that cannot be used, or is there twice.
pub fn check_names(lanes: &[LaneSpec]) -> Result<(), PlanError> {
    for (index, lane) in lanes.iter().enumerate() {
        let name = lane.name.as_str();
        let reason = if name.is_empty() || name.len() > 64 {
            "a name has from 1 to 64 bytes"
        } else if name.contains(|c: char| c.is_control() || "./\\=:".contains(c)) || name.trim() != name {
            "a name has none of `.`, `/`, `\\`, `=`, `:`, no control characters, and no space at its ends"
        } else if lanes[..index].iter().any(|l| l.name == lane.name) {
            "an earlier lane has that name"
        } else {
            continue;
        };
        return Err(PlanError::LaneName { index, name: lane.name.clone(), reason });
    }
    Ok(())
}

/// Loads the stream of a session's source; a task's with the session's seed.
///
/// # Errors
/// If the capture cannot be read or is another than the session names, or the task cannot be as it is set.
pub fn load_stream(session: &Session, base_dir: Option<&Path>) -> Result<Arc<Stream>, PlanError> {
    load_checked(session, base_dir, &AtomicBool::new(false))
}

fn load_checked(session: &Session, base_dir: Option<&Path>, cancel: &AtomicBool) -> Result<Arc<Stream>, PlanError> {
    hash::check(&session.source, base_dir, cancel)?;
    load(session, base_dir).map(Arc::new)
}

fn load(session: &Session, base_dir: Option<&Path>) -> Result<Stream, PlanError> {
    match &session.source {
        Source::Capture(source) if source.is_bundled() => Ok(Capture::bundled()?.stream(source)?),
        Source::Capture(source) => Ok(Capture::open(&resolve(&source.path, base_dir))?.stream(source)?),
        Source::Task(source) => {
            let task = task(&source.name).ok_or_else(|| {
                let names = || TASKS.iter().map(|t| t.name());
                PlanError::UnknownTask {
                    name: source.name.clone(),
                    nearest: nearest(&source.name, names()).map(str::to_owned),
                    known: names().collect::<Vec<_>>().join(", "),
                }
            })?;
            let params = Resolved::new(&format!("task {}", source.name), task.params(), &source.params)?;
            Ok(task.generate(&params, session.seed)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::TaskSource;

    #[test]
    fn a_trace_that_does_not_fit_names_what_fills_it() {
        let params = Params::default().with("T", 1000).with("needles", 10).with("dv", 16);
        let lanes = vec![LaneSpec::new("a", "ovq", Params::default().with("chunk", 100)), LaneSpec::new("b", "lola", Params::default())];
        let session = Session { source: Source::Task(TaskSource { name: "needles".to_owned(), params }), lanes, ..Session::default() };
        let plan = Plan::new(&session, None).unwrap();
        // OVQ: outputs 10 x 16; assignments, similarity, founders and margin of 1000 writes; sizes and margin of 10 steps;
        // the answer, whether it is right and its margin for 10 reads.
        assert_eq!(plan.lanes[0].trace_bytes(), 4 * (160 + 4 * 1000 + 2 * 10 + 3 * 10));
        plan.check_memory(1 << 20).unwrap();
        let alone = Plan { lanes: plan.lanes[..1].to_vec(), ..plan };
        let error = alone.check_memory(4096).unwrap_err().to_string();
        let start = "the trace would hold 16.4 KiB, but the limit is 4.0 KiB; most of it is `";
        assert!(error.starts_with(start) && error.contains("` of lane `a` with 3.9 KiB: "), "{error}");
    }
}
