//! Studies: long questions about a run that the window answers in the background, beside the run itself. Each has a thread of
//! its own, tells how far it is and what it has found so far, and can be stopped.

pub mod effective;
pub mod events;
pub mod health;
pub mod map;
pub mod novelty;
pub mod retention;
pub mod spectrum;
pub mod sweep;
pub mod work;

use std::sync::Arc;

use super::state::Runs;

/// Wakes the window.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// What is asked of a study.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyCommand {
    /// The weights of the tokens behind a read.
    Effective(effective::Ask),
    /// The events of the run.
    Events(events::Ask),
    /// Keys and centroids in two dimensions.
    Map(map::Ask),
    /// What codebook health needs the centroids for.
    Health(health::Ask),
    /// How new each key is to its head.
    Novelty(novelty::Ask),
    /// What is still recalled of followed tokens, step by step.
    Retention(retention::Ask),
    /// The singular values of a lane's linear state.
    Spectrum(spectrum::Ask),
    /// Scores over a range of parameters.
    Sweep(sweep::Ask),
}

/// Every study of the window, as panels see them.
#[derive(Debug, Default)]
pub struct Studies {
    /// Effective attention of the selected read.
    pub effective: effective::Study,
    /// Events of the run, their filter and the one gone to last.
    pub events: events::Study,
    /// The dictionary map.
    pub map: map::Study,
    /// The health of the dictionaries.
    pub health: health::Study,
    /// The novelty of keys.
    pub novelty: novelty::Study,
    /// The retention map.
    pub retention: retention::Study,
    /// The singular values of a lane's linear state.
    pub spectrum: spectrum::Study,
    /// The sweep.
    pub sweep: sweep::Study,
}

impl Studies {
    /// Takes in what the studies have found; true if there is news to paint.
    pub fn receive(&mut self) -> bool {
        // Every one takes in its own, whatever the others have.
        let news = [
            self.effective.receive(),
            self.events.receive(),
            self.map.receive(),
            self.health.receive(),
            self.novelty.receive(),
            self.retention.receive(),
            self.spectrum.receive(),
            self.sweep.receive(),
        ];
        news.contains(&true)
    }

    /// True while one that panels ask for by themselves is at work: a picture taken now would be of something unfinished. Those that
    /// only a user starts (retention, sweep) do not count.
    #[must_use]
    pub fn running(&self) -> bool {
        let Self { effective, events, map, health, novelty, spectrum, retention: _, sweep: _ } = self;
        effective.running() || events.running() || map.running() || health.running() || novelty.busy() || spectrum.running()
    }

    /// Carries out a command; `runs` is what is on screen, `session` the session as set, with paths relative to `base`.
    pub fn command(
        &mut self,
        command: StudyCommand,
        runs: &Runs,
        session: &crate::session::Session,
        base: Option<std::path::PathBuf>,
        wake: &Wake,
    ) {
        match command {
            StudyCommand::Effective(ask) => self.effective.command(ask, runs, wake),
            StudyCommand::Events(ask) => self.events.command(ask, runs, wake),
            StudyCommand::Map(ask) => self.map.command(ask, runs, wake),
            StudyCommand::Health(ask) => self.health.command(ask, runs, wake),
            StudyCommand::Novelty(ask) => self.novelty.command(ask, runs, wake),
            StudyCommand::Retention(ask) => self.retention.command(ask, runs, wake),
            StudyCommand::Spectrum(ask) => self.spectrum.command(ask, runs, wake),
            StudyCommand::Sweep(ask) => self.sweep.command(ask, session, base, wake),
        }
    }
}
