//! A sweep at work: its pieces, what is done already, and the rows that come out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::pieces::pieces;
use super::row::RowScore;
use super::score::step_of;
use super::spec::Owner;
use super::{Job, Piece, Row, Score, Scorer, Spec, key};
use crate::engine::RunError;
use crate::export::WriteError;
use crate::layer;
use crate::param::{Params, Resolved, every};
use crate::session::plan::{PlanError, check_names, load_stream};
use crate::session::{MAX_LANES, Session, Source};
use crate::stream::Stream;

/// Why a sweep did not come to its end.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SweepError {
    /// The session's own stream or names.
    #[error(transparent)]
    Plan(Box<PlanError>),
    /// The device, or it was cancelled.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The rows cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<PlanError> for SweepError {
    fn from(error: PlanError) -> Self {
        Self::Plan(Box::new(error))
    }
}

/// Who takes the results in.
pub trait Witness {
    /// Rows are done; they come in the order of the pieces.
    ///
    /// # Errors
    /// To end the sweep.
    fn rows(&mut self, rows: Vec<Row>) -> Result<(), WriteError>;

    /// How many pieces are done, parts of pieces counted, of how many.
    fn progress(&mut self, done: f64, total: usize);
}

/// A session and what is varied in it.
#[derive(Debug)]
pub struct Sweep {
    session: Session,
    base_dir: Option<PathBuf>,
    /// The session's file, as rows name it.
    name: String,
    pieces: Vec<Piece>,
    step: usize,
    /// The stream of a capture, which is the same for every piece, and its hash.
    capture: Option<(Arc<Stream>, String)>,
    /// The hash of the whole capture file, where a lane is fitted on it.
    file: Option<String>,
}

impl Sweep {
    /// Lays a sweep out. `name` is what rows call the session; paths in it are relative to `base_dir`.
    ///
    /// # Errors
    /// If the session's stream cannot be made as it is, before anything is varied. With a varied task that is found out point
    /// by point.
    pub fn new(session: &Session, base_dir: Option<&Path>, name: &str, spec: &Spec) -> Result<Self, SweepError> {
        check_names(&session.lanes)?;
        let pieces = pieces(session, spec);
        let (mut capture, mut file) = (None, None);
        if let Source::Capture(source) = &session.source {
            file = pieces.iter().any(|p| key::is_fitted(&p.lane)).then(|| key::of_file(source, base_dir));
            let stream = load_stream(session, base_dir)?;
            let hash = key::of_capture(&stream);
            capture = Some((stream, hash));
        } else if !spec.axes.iter().any(|a| a.owner == Owner::Task) {
            load_stream(session, base_dir)?;
        }
        let base_dir = base_dir.map(Path::to_owned);
        Ok(Self { session: session.clone(), base_dir, name: name.to_owned(), pieces, step: step_of(session), capture, file })
    }

    /// All pieces, in the order in which they run.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The key of a piece's row, on a GPU or not.
    #[must_use]
    pub fn key(&self, piece: &Piece, gpu: bool) -> String {
        let stream = self.capture.as_ref().map_or("", |(_, hash)| hash.as_str());
        let fitted = self.file.as_deref().filter(|_| key::is_fitted(&piece.lane)).unwrap_or_default();
        let hash = &format!("{stream}{fitted}");
        key::of_piece(piece, &piece.session(&self.session), self.base_dir.as_deref(), hash, self.step, gpu)
    }

    /// Runs pieces of this sweep, in their order. A piece that cannot run is a row with a sentence in place of a score.
    ///
    /// # Errors
    /// If it was cancelled (`cancel` is looked at between blocks), the device has gone, or the witness ends it.
    pub fn run(
        &self,
        scorer: &mut Scorer<'_>,
        pieces: &[&Piece],
        witness: &mut dyn Witness,
        cancel: &AtomicBool,
    ) -> Result<(), SweepError> {
        let mut done = 0;
        for of_stream in pieces.chunk_by(|a, b| a.seed == b.seed && a.task == b.task) {
            let session = of_stream[0].session(&self.session);
            let stream = match &self.capture {
                Some((stream, _)) => Ok(Arc::clone(stream)),
                None => load_stream(&session, self.base_dir.as_deref()),
            };
            let job = stream.map(|stream| Job::new(&session, self.base_dir.as_deref(), stream));
            // Full attention, which the lanes of a capture are measured against, is run once a group; on a task a lane by
            // itself costs no more, and less is lost when the sweep is stopped.
            let group = if self.capture.is_some() { MAX_LANES } else { 1 };
            for group in of_stream.chunks(group) {
                if cancel.load(Ordering::Relaxed) {
                    return Err(RunError::Cancelled.into());
                }
                let rows = self.group(
                    scorer,
                    &session,
                    &job,
                    group,
                    &mut |share| {
                        witness.progress(done as f64 + share * group.len() as f64, pieces.len());
                    },
                    cancel,
                )?;
                done += group.len();
                witness.rows(rows)?;
                witness.progress(done as f64, pieces.len());
            }
        }
        Ok(())
    }

    fn group(
        &self,
        scorer: &mut Scorer<'_>,
        session: &Session,
        job: &Result<Job<'_>, PlanError>,
        group: &[&Piece],
        tell: &mut dyn FnMut(f64),
        cancel: &AtomicBool,
    ) -> Result<Vec<Row>, SweepError> {
        let lanes: Vec<_> = group.iter().map(|p| p.lane.clone()).collect();
        let scores = match job {
            Ok(job) => scorer.score(job, &lanes, &mut |done, total| tell(done as f64 / total.max(1) as f64), cancel)?,
            Err(error) => vec![Err(error.to_string()); group.len()],
        };
        let stream = job.as_ref().ok().map(Job::stream);
        let gpu = scorer.backend().gpu;
        Ok(group.iter().zip(scores).map(|(piece, score)| self.row(piece, session, stream, gpu, score)).collect())
    }

    fn row(&self, piece: &Piece, session: &Session, stream: Option<&Arc<Stream>>, gpu: bool, score: Result<Score, String>) -> Row {
        let source = match &session.source {
            Source::Task(source) => source.name.clone(),
            Source::Capture(_) => stream.map(|s| s.labels().title.clone()).unwrap_or_default(),
        };
        let params = score.as_ref().map_or_else(|_| Self::params(piece), |s| s.params.clone());
        let of = |s: Score| RowScore {
            tally: s.tally,
            cost: s.cost,
            memory_share: s.memory_share,
            seconds: s.seconds,
            ran_on: s.backend.adapter,
        };
        Row {
            session: self.name.clone(),
            key: self.key(piece, gpu),
            lane: piece.lane.name.clone(),
            layer: piece.lane.layer.clone(),
            seed: piece.seed,
            varied: piece.varied.clone(),
            set: piece.lane.params.clone(),
            params,
            source,
            source_params: key::task_params(session),
            writes: stream.map(|s| s.writes() as u64),
            step: self.step as u64,
            gpu,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            score: score.map(of),
        }
    }

    /// The parameters of a piece that did not run, as far as they are known.
    fn params(piece: &Piece) -> Params {
        let lane = &piece.lane;
        let of = |kind: &dyn layer::LayerKind| Some(every(kind.params(), &Resolved::new(&lane.name, kind.params(), &lane.params).ok()?));
        layer::kind(&lane.layer).and_then(of).unwrap_or_else(|| lane.params.clone())
    }
}
