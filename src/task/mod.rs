//! Tasks: synthetic streams with known answers, and the one list of them. See TASKS.md.
//!
//! A task is one file here and one line in [`TASKS`]. The same seed gives the same stream on every platform.

mod common;
pub mod drift;
pub mod free_text;
pub mod in_context_recall;
pub mod multi_query;
pub mod needles;
pub mod positional_recall;
pub mod random;
pub mod regression;
pub mod variable_tracking;

use thiserror::Error;

use crate::param::{ParamError, ParamSpec, Resolved};
use crate::stream::{Stream, StreamError};

/// Every task there is, in the order of TASKS.md. Adding one is one line here.
pub static TASKS: &[&dyn Task] = &[
    &in_context_recall::InContextRecall,
    &needles::Needles,
    &positional_recall::PositionalRecall,
    &multi_query::MultiQuery,
    &drift::Drift,
    &regression::Regression,
    &variable_tracking::VariableTracking,
    &free_text::FreeText,
];

/// The task with this name (`needles`), if there is one.
#[must_use]
pub fn task(name: &str) -> Option<&'static dyn Task> {
    TASKS.iter().copied().find(|t| t.name() == name)
}

/// Why a task gives no stream.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TaskError {
    /// A parameter.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The stream made is not one: a mistake in the task.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// A generator of streams.
pub trait Task: Send + Sync {
    /// The name in session files and on the command line.
    fn name(&self) -> &'static str;
    /// The name on screen.
    fn title(&self) -> &'static str;
    /// What it tests, and the paper it comes from.
    fn about(&self) -> &'static str;
    /// Its parameters.
    fn params(&self) -> &'static [ParamSpec];
    /// Makes the stream.
    ///
    /// # Errors
    /// If parameters cannot be together.
    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError>;
}

impl std::fmt::Debug for dyn Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Task({})", self.name())
    }
}
