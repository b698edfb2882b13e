//! A sweep over parameters and seeds: pieces of work run in the background, whose rows arrive as they are done.

use std::path::PathBuf;

use super::Wake;
use super::work::{Teller, Work};
use crate::engine::sweep::{Row, Scorer, Spec, Sweep, Witness};
use crate::engine::{BackendInfo, Devices, RunError};
use crate::export::WriteError;
use crate::session::Session;

/// What can be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Start, in place of what was there.
    Start(Spec),
    /// Stop; what was found stays.
    Stop,
}

/// What the thread finds.
enum Found {
    Backend(BackendInfo),
    Pieces(usize),
    Rows(Vec<Row>),
}

/// What was asked, and what came out.
#[derive(Debug)]
struct Asked {
    session: Session,
    spec: Spec,
    work: Work<Found>,
    backend: Option<BackendInfo>,
    pieces: usize,
    stopped: bool,
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    asked: Option<Asked>,
    rows: Vec<Row>,
    generation: u64,
}

impl Study {
    pub(super) fn receive(&mut self) -> bool {
        let Some(asked) = &mut self.asked else { return false };
        let (found, news) = asked.work.receive();
        for found in found {
            match found {
                Found::Backend(backend) => asked.backend = Some(backend),
                Found::Pieces(pieces) => asked.pieces = pieces,
                Found::Rows(rows) => {
                    self.generation += 1;
                    self.rows.extend(rows);
                }
            }
        }
        news
    }

    pub(super) fn command(&mut self, ask: Ask, session: &Session, base: Option<PathBuf>, wake: &Wake) {
        match ask {
            Ask::Start(spec) => self.start(spec, session, base, wake),
            Ask::Stop => self.stop(),
        }
    }

    /// Starts a sweep of a session, whose paths are relative to `base`. What was there is stopped and forgotten.
    pub fn start(&mut self, spec: Spec, session: &Session, base: Option<PathBuf>, wake: &Wake) {
        let (own, session) = (session.clone(), session.clone());
        let copy = spec.clone();
        let work = Work::start("sweep", wake, move |teller| run(&own, &copy, base, teller));
        self.asked = Some(Asked { session, spec, work, backend: None, pieces: 0, stopped: false });
        self.rows.clear();
        self.generation += 1;
    }

    fn stop(&mut self) {
        if let Some(asked) = self.asked.as_mut().filter(|a| a.work.running()) {
            asked.work.cancel();
            asked.stopped = true;
        }
    }

    /// The rows so far.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Changes whenever the rows do.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The session that is swept, as it was set when the sweep began, and what is varied.
    #[must_use]
    pub fn asked(&self) -> Option<(&Session, &Spec)> {
        self.asked.as_ref().map(|a| (&a.session, &a.spec))
    }

    /// Where it computes, once that is known.
    #[must_use]
    pub fn backend(&self) -> Option<&BackendInfo> {
        self.asked.as_ref()?.backend.as_ref()
    }

    /// Pieces of work in all; 0 before that is known.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.asked.as_ref().map_or(0, |a| a.pieces)
    }

    /// True while it computes.
    #[must_use]
    pub fn running(&self) -> bool {
        self.asked.as_ref().is_some_and(|a| a.work.running())
    }

    /// How far it is, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f32 {
        self.asked.as_ref().map_or(0.0, |a| a.work.share())
    }

    /// True if it was stopped before its end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.asked.as_ref().is_some_and(|a| a.stopped)
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.asked.as_ref()?.work.error()
    }
}

/// Hands rows to the window.
struct Told<'a>(&'a Teller<Found>);

impl Witness for Told<'_> {
    fn rows(&mut self, rows: Vec<Row>) -> Result<(), WriteError> {
        self.0.part(Found::Rows(rows));
        Ok(())
    }

    fn progress(&mut self, done: f64, total: usize) {
        self.0.share((done / total.max(1) as f64) as f32);
    }
}

fn run(session: &Session, spec: &Spec, base: Option<PathBuf>, teller: &Teller<Found>) -> Result<(), String> {
    let sweep = Sweep::new(session, base.as_deref(), "", spec).map_err(|e| e.to_string())?;
    teller.part(Found::Pieces(sweep.pieces().len()));
    let mut devices = Devices::default();
    let mut scorer = Scorer::open(&mut devices, session.backend).map_err(|e| e.to_string())?;
    teller.part(Found::Backend(scorer.backend().clone()));
    let pieces: Vec<_> = sweep.pieces().iter().collect();
    match sweep.run(&mut scorer, &pieces, &mut Told(teller), teller.flag()) {
        Ok(()) | Err(crate::engine::sweep::SweepError::Run(RunError::Cancelled)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sweep::Axis;
    use crate::param::Params;
    use crate::session::{BackendChoice, LaneSpec, Source, TaskSource};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn session() -> Session {
        let params = Params::default().with("T", 128).with("needles", 2).with("dk", 8).with("dv", 8);
        let lanes = vec![LaneSpec::new("w", "window", Params::default()), LaneSpec::new("full", "full", Params::default())];
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }
    }

    fn wait(study: &mut Study) {
        let start = Instant::now();
        while study.running() && start.elapsed() < Duration::from_mins(1) {
            study.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
        study.receive();
    }

    #[test]
    fn rows_arrive_and_a_new_sweep_begins_without_them() {
        let (session, wake): (Session, Wake) = (session(), Arc::new(|| {}));
        let spec = |values: &str| Spec::new(vec![Axis::parse(&session, &format!("w.window={values}")).unwrap()], 2).unwrap();
        let mut study = Study::default();
        study.command(Ask::Start(spec("8..128:log2")), &session, None, &wake);
        wait(&mut study);
        assert_eq!((study.rows().len(), study.pieces(), study.error()), (12, 12, None));
        assert!((study.share() - 1.0).abs() < 1e-6 && !study.stopped());
        let before = study.generation();
        study.command(Ask::Start(spec("8")), &session, None, &wake);
        assert!(study.rows().is_empty() && study.generation() > before);
        wait(&mut study);
        assert_eq!(study.rows().len(), 4);
        study.command(Ask::Stop, &session, None, &wake);
        assert!(!study.stopped(), "there was nothing to stop");
    }

    #[test]
    fn a_sweep_that_cannot_be_says_why() {
        let wake: Wake = Arc::new(|| {});
        let good = session();
        let spec = Spec::new(vec![Axis::parse(&good, "w.window=8,16").unwrap()], 1).unwrap();
        let mut broken = session();
        broken.source = Source::Task(TaskSource { name: "needels".to_owned(), params: Params::default() });
        let mut study = Study::default();
        study.command(Ask::Start(spec), &broken, None, &wake);
        wait(&mut study);
        assert!(study.error().unwrap().contains("did you mean `needles`?") && study.rows().is_empty());
    }
}
