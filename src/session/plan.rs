//! The plan: a session that has been checked and loaded. Everything that can be wrong with a session is found here, once.

use std::sync::Arc;

use crate::layer::{LayerKind, Setup};
use crate::session::Session;
use crate::stream::Stream;
use crate::trace::ChannelSpec;

/// One lane, ready to be built.
#[derive(Debug, Clone)]
pub struct PlanLane {
    /// The lane's name.
    pub name: String,
    /// Its place in the session's list (disabled lanes have no [`PlanLane`]).
    pub index: usize,
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
