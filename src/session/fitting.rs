//! Keys for the layers that are fitted before their stream begins: another draw of the task, another head or another part of
//! the capture.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ndarray::{Axis, s};

use super::file::resolve;
use super::plan::PlanError;
use super::{CaptureSource, Session, Source, TaskSource};
use crate::layer::fit::{FitError, Origin, Sample, Samples};
use crate::layer::{LayerKind, Setup};
use crate::param::Resolved;
use crate::stream::Stream;
use crate::stream::capture::{Capture, MAX_TOKENS};
use crate::task::task;

/// What a plan can fit on: the session's source, and its stream as the source gives it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionSamples<'a> {
    pub(super) session: &'a Session,
    pub(super) base: Option<&'a Path>,
    pub(super) stream: &'a Arc<Stream>,
}

/// Fits a lane, and checks it again with what came of it. What it was fitted on is added to `notes`.
///
/// # Errors
/// If there is nothing to fit on, the parameters do not go with it, or `cancel` was set.
pub(super) fn fit(
    kind: &'static dyn LayerKind,
    mut setup: Setup,
    samples: &SessionSamples<'_>,
    notes: &mut Vec<String>,
    cancel: &AtomicBool,
) -> Result<Setup, PlanError> {
    let fitted = kind.fit(&setup, samples, cancel).map_err(|error| match error {
        FitError::Param(error) => PlanError::Param(error),
        FitError::Cancelled => PlanError::Cancelled,
        other => PlanError::Fit { lane: setup.params.owner().to_owned(), reason: other.to_string() },
    })?;
    if !fitted.arrays.is_empty() {
        Arc::make_mut(&mut setup.arrays).extend(fitted.arrays);
        kind.check(&setup)?;
    }
    notes.extend(fitted.notes);
    Ok(setup)
}

impl Samples for SessionSamples<'_> {
    fn best(&self) -> Origin {
        match &self.session.source {
            Source::Task(_) => Origin::Draw,
            Source::Capture(source) => match self.other_heads(source) {
                Ok(_) => Origin::Head,
                Err(_) => Origin::Part,
            },
        }
    }

    fn sample(&self, origin: Origin, wanted: usize) -> Result<Sample, FitError> {
        match (origin, &self.session.source) {
            (Origin::Draw, Source::Task(source)) => draw(source, self.session.seed),
            (Origin::Draw, Source::Capture(_)) => {
                Err(FitError::Nothing("a capture cannot be drawn again: fit on another `head`, or on a `part` of it".to_owned()))
            }
            (Origin::Head, Source::Capture(source)) => self.head(source),
            (Origin::Head, Source::Task(_)) => {
                Err(FitError::Nothing("a task has one head: fit on another `draw`, or on a `part` of the stream".to_owned()))
            }
            (Origin::Part, Source::Capture(source)) => self.part(source, wanted),
            (Origin::Part, Source::Task(_)) => self.first_half(),
        }
    }
}

impl SessionSamples<'_> {
    fn open(&self, source: &CaptureSource) -> Result<Capture, FitError> {
        let capture = if source.is_bundled() { Capture::bundled() } else { Capture::open(&resolve(&source.path, self.base)) };
        capture.map_err(|e| FitError::Source(e.to_string()))
    }

    /// The capture, and for each of the stream's key/value heads another one of the file's: one that the stream leaves out
    /// where there is any, else the next.
    fn other_heads(&self, source: &CaptureSource) -> Result<(Capture, Vec<u32>), FitError> {
        let capture = self.open(source)?;
        let (heads, _) = layer_sizes(&capture, source);
        let own = source.kv_heads.clone().unwrap_or_else(|| (0..heads).collect());
        let unused: Vec<u32> = (0..heads).filter(|h| !own.contains(h)).collect();
        if heads < 2 {
            return Err(FitError::Nothing("the capture's layer has no other key/value head: fit on a `part` of it".to_owned()));
        }
        let other = |(i, &head): (usize, &u32)| if unused.is_empty() { (head + 1) % heads } else { unused[i % unused.len()] };
        let others = own.iter().enumerate().map(other).collect();
        Ok((capture, others))
    }

    /// As many tokens of other heads as the stream has.
    fn head(&self, source: &CaptureSource) -> Result<Sample, FitError> {
        let (capture, others) = self.other_heads(source)?;
        // A stream is made of different heads; some of these may be the same.
        let mut distinct = others.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let wanted = CaptureSource { kv_heads: Some(distinct.clone()), ..source.clone() };
        let stream = capture.stream(&wanted).map_err(|e| FitError::Source(e.to_string()))?;
        let places: Vec<usize> = others.iter().filter_map(|h| distinct.iter().position(|d| d == h)).collect();
        let from = match others.as_slice() {
            [one] => format!("key/value head {one} of the same layer"),
            several => {
                let list = several.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
                format!("other key/value heads of the same layer ({list}, in the order of the lane's)")
            }
        };
        Ok(Sample { keys: stream.keys().select(Axis(0), &places), from })
    }

    /// Tokens behind those of the stream if they are enough, else the stream's first half.
    fn part(&self, source: &CaptureSource, wanted: usize) -> Result<Sample, FitError> {
        let used = self.stream.writes();
        let capture = self.open(source)?;
        let total = layer_sizes(&capture, source).1.min(MAX_TOKENS);
        if total.saturating_sub(used) < wanted {
            return self.first_half();
        }
        let all = CaptureSource { tokens: Some(total), ..source.clone() };
        let stream = capture.stream(&all).map_err(|e| FitError::Source(e.to_string()))?;
        let from = format!("the capture's tokens {used} to {}, which the stream leaves out", total - 1);
        Ok(Sample { keys: stream.keys().slice(s![.., used.., ..]).to_owned(), from })
    }

    fn first_half(&self) -> Result<Sample, FitError> {
        let half = self.stream.writes() / 2;
        if half == 0 {
            return Err(FitError::Nothing("a stream of one token has no other part".to_owned()));
        }
        let from = "the first half of this very stream, for the capture has no other head or part (so only from the second half on are the keys new to the codebook)".to_owned();
        Ok(Sample { keys: self.stream.keys().slice(s![.., ..half, ..]).to_owned(), from })
    }
}

/// Key/value heads and tokens of the capture's layer; 0 for a layer that cannot be used.
fn layer_sizes(capture: &Capture, source: &CaptureSource) -> (u32, usize) {
    let layers = capture.summary().layers;
    let found = layers.iter().find(|l| source.layer.is_none_or(|wanted| wanted == l.layer));
    found.map_or((0, 0), |l| (l.kv_heads as u32, l.tokens))
}

/// The task under another seed.
fn draw(source: &TaskSource, seed: u64) -> Result<Sample, FitError> {
    let failed = |reason: String| FitError::Source(reason);
    let task = task(&source.name).ok_or_else(|| failed(format!("there is no task `{}`", source.name)))?;
    let params = Resolved::new(&format!("task {}", source.name), task.params(), &source.params)?;
    let other = other_seed(seed);
    let stream = task.generate(&params, other).map_err(|e| failed(e.to_string()))?;
    Ok(Sample { keys: stream.keys().clone(), from: format!("another draw of the task (seed {other})") })
}

/// A seed of 32 bits that is not `seed`, and that no simple series of seeds comes to (a step of `SplitMix64`).
fn other_seed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let other = (z ^ (z >> 31)) >> 32;
    if other == seed { other + 1 } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_seed_is_another() {
        let seeds: std::collections::BTreeSet<u64> = (0..1000).map(other_seed).collect();
        assert_eq!(seeds.len(), 1000);
        assert!((0..1000).all(|s| other_seed(s) != s) && seeds.iter().all(|s| *s > 1000));
    }

    #[test]
    fn a_capture_of_one_head_gives_another_part_of_itself() {
        let session = Session::default();
        let Source::Capture(source) = &session.source else { panic!("the default is the bundled capture") };
        let stream = Arc::new(Capture::bundled().unwrap().stream(source).unwrap());
        let samples = SessionSamples { session: &session, base: None, stream: &stream };
        assert_eq!(samples.best(), Origin::Part);
        let half = samples.sample(Origin::Part, 512).unwrap();
        assert_eq!(half.keys, stream.keys().slice(s![.., ..1024, ..]));
        assert!(half.from.contains("first half of this very stream"));
        for origin in [Origin::Draw, Origin::Head] {
            assert!(matches!(samples.sample(origin, 1), Err(FitError::Nothing(_))));
        }
        // Where the stream leaves enough tokens out, they are the part.
        let short = Session { source: Source::Capture(CaptureSource { tokens: Some(500), ..source.clone() }), ..session.clone() };
        let cut = Arc::new(stream.truncated(500));
        let samples = SessionSamples { session: &short, base: None, stream: &cut };
        let rest = samples.sample(Origin::Part, 512).unwrap();
        assert_eq!(rest.keys, stream.keys().slice(s![.., 500.., ..]));
        assert_eq!(rest.from, "the capture's tokens 500 to 2047, which the stream leaves out");
        // Too few of them: the first half again.
        assert_eq!(samples.sample(Origin::Part, 1600).unwrap().keys.dim().1, 250);
    }

    #[test]
    fn a_task_is_drawn_again_with_the_same_parameters() {
        let params = crate::param::Params::default().with("T", 300).with("needles", 4);
        let source = TaskSource { name: "needles".to_owned(), params };
        let session = Session { source: Source::Task(source.clone()), seed: 3, ..Session::default() };
        let stream = super::super::plan::load_stream(&session, None).unwrap();
        let samples = SessionSamples { session: &session, base: None, stream: &stream };
        assert_eq!(samples.best(), Origin::Draw);
        let drawn = samples.sample(Origin::Draw, 10).unwrap();
        let again = super::super::plan::load_stream(&Session { seed: other_seed(3), ..session.clone() }, None).unwrap();
        assert_eq!(&drawn.keys, again.keys());
        assert_ne!(&drawn.keys, stream.keys());
        assert!(drawn.from.ends_with(&format!("(seed {})", other_seed(3))));
        assert_eq!(samples.sample(Origin::Part, 10).unwrap().keys.dim().1, 150);
        assert!(samples.sample(Origin::Head, 10).is_err());
    }
}
