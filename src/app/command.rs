//! Commands: everything that a user can do, grouped by who carries it out.

use crate::param::ParamValue;
use crate::session::{BackendChoice, Source};

/// What a panel, a key or a menu asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// For the timeline.
    Time(TimeCommand),
    /// For the session: these restart the run.
    Session(SessionCommand),
    /// For what is looked at.
    View(ViewCommand),
}

/// Moves the playhead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeCommand {
    /// To this many writes seen (rounded to a step of the timeline).
    Seek(usize),
    /// By so many steps.
    Step(i64),
    /// To the start.
    Home,
    /// To the end.
    End,
    /// Play or pause.
    TogglePlay,
    /// Steps a second.
    Speed(f32),
    /// Double or halve the speed.
    Faster,
    /// Halve the speed.
    Slower,
    /// Play from the start again at the end, or not.
    ToggleRepeat,
}

/// Changes what runs.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum SessionCommand {
    /// Another source.
    Source(Source),
    /// One parameter of a lane, by the lane's place in the session.
    LaneParam { lane: usize, name: &'static str, value: Option<ParamValue> },
    /// One parameter of the task.
    TaskParam { name: &'static str, value: Option<ParamValue> },
    /// Switches a lane on or off.
    LaneEnabled { lane: usize, enabled: bool },
    /// Where to compute.
    Backend(BackendChoice),
    /// Another seed.
    Seed(u64),
    /// Run again from the start, with the same seed.
    Reset,
}

/// Changes what is looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewCommand {
    /// The pointer is over this write (sent every frame while it is).
    Hover(usize),
    /// This write was clicked.
    Select(Option<usize>),
    /// The key/value head shown.
    KvHead(usize),
    /// The query head shown, within its group.
    QueryHead(usize),
}
