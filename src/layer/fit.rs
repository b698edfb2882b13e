//! Fitting: what a layer must be given before its stream begins, learnt from keys that are not the stream's own.
//!
//! A layer says with [`LayerKind::fit`](super::LayerKind::fit) what it needs; whoever makes a plan offers [`Samples`]. The arrays
//! that come out are part of the lane's setup, and the notes say on screen what they were fitted on.

use ndarray::Array3;
use thiserror::Error;

use super::Arrays;
use crate::param::ParamError;

/// Where keys to fit on can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Another draw of the task: the same parameters, another seed.
    Draw,
    /// Another key/value head of the same layer of the capture.
    Head,
    /// Another part of the source: tokens that the stream leaves out, or else the first half of its own.
    Part,
}

/// Keys to fit on.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// [heads or 1, n, dk], as the source has them: not normalised for any lane.
    pub keys: Array3<f32>,
    /// What they are, to follow "fitted on .. keys of": `another draw of the task (seed 7)`.
    pub from: String,
}

/// Keys that a layer may fit on.
pub trait Samples {
    /// Where they best come from: another draw, else another head, else another part.
    fn best(&self) -> Origin;

    /// Keys from there; at least `wanted` of them a head, where the source leaves a choice.
    ///
    /// # Errors
    /// [`FitError::Nothing`] if there are none, with the reason; else why the source cannot be read.
    fn sample(&self, origin: Origin, wanted: usize) -> Result<Sample, FitError>;
}

/// What was fitted.
#[derive(Debug, Clone, Default)]
pub struct Fitted {
    /// The arrays, to be added to the setup's.
    pub arrays: Arrays,
    /// What they were fitted on and how well, for the screen.
    pub notes: Vec<String>,
}

/// Why nothing was fitted.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum FitError {
    /// A parameter that cannot be with these keys.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The source has no such keys.
    #[error("{0}")]
    Nothing(String),
    /// The source cannot be read.
    #[error("there are no keys to fit on: {0}")]
    Source(String),
    /// It was given up: nobody wants it any more.
    #[error("fitting was given up")]
    Cancelled,
}
