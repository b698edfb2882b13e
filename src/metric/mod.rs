//! What is measured of a lane's answers, the same for every layer: recall, error, cosine.
//!
//! The engine appends these channels to the layer's own, so that panels and exporters treat them alike. Which ones there are
//! depends on the stream's targets (TASKS.md):
//!
//! - codes: `answer`, `correct`, `answer_margin`; summed up as **accuracy**, with Wilson's 95% interval;
//! - values (regression): `error_sq`, `target_sq`, `cosine`; summed up as the **relative error**, the sum of squared errors over
//!   the sum of squared targets;
//! - a capture, whose targets are what full attention returns: the same channels, and the relative error is the *root* of that
//!   ratio, |o - y| / |y| over all reads at once (with it the figures of TASKS.md come out).

pub mod breakdown;
mod cost;
pub mod events;
pub mod health;
pub mod novelty;
pub mod projection;
mod query;
pub mod retention;
pub mod running;
mod score;
pub mod spectrum;

pub use cost::{full_attention_numbers, held, memory_share, per_given_head};
pub use query::{query_of, query_used};
pub use running::{Running, Scored, Summary};
pub use score::{nearest_code, score};

use crate::stream::{Stream, Targets};
use crate::trace::{Axis, ChannelSpec, Heads, Kind, Tolerance, Width};

/// The code that an output was nearest to.
pub const ANSWER: &str = "answer";
/// 1 where the answer is right.
pub const CORRECT: &str = "correct";
/// How close the answer was.
pub const ANSWER_MARGIN: &str = "answer_margin";
/// The squared error of an output.
pub const ERROR_SQ: &str = "error_sq";
/// The squared length of what an output should be.
pub const TARGET_SQ: &str = "target_sq";
/// The cosine of an output and what it should be.
pub const COSINE: &str = "cosine";

/// The channels that are measured on a stream, in the order in which [`score`] numbers them. None without targets.
#[must_use]
pub fn channels(stream: &Stream) -> Vec<ChannelSpec> {
    match stream.targets() {
        Targets::None => Vec::new(),
        Targets::Codes { .. } => code_channels(),
        Targets::Values(_) => error_channels(false),
        Targets::FullAttention => error_channels(true),
    }
}

fn read_channel(name: &'static str, title: &'static str, meaning: &'static str, unit: &'static str) -> ChannelSpec {
    ChannelSpec {
        name,
        title,
        meaning,
        unit,
        axis: Axis::Read,
        heads: Heads::Query,
        width: Width::Fixed(1),
        kind: Kind::Real,
        // Outputs agree within 1e-4 (LAYERS.md); squares and dot products of unit-scale values of up to 256 numbers follow.
        tolerance: Tolerance::Near { abs: 2e-3, rel: 2e-3 },
    }
}

fn code_channels() -> Vec<ChannelSpec> {
    let choice = Tolerance::Choice { margin: Some(ANSWER_MARGIN) };
    vec![
        ChannelSpec {
            kind: Kind::Whole,
            tolerance: choice,
            ..read_channel(
                ANSWER,
                "answer",
                "The code with the largest dot product with the read's output; of equal ones the lower.",
                "code",
            )
        },
        ChannelSpec {
            kind: Kind::Whole,
            tolerance: choice,
            ..read_channel(CORRECT, "correct", "1 where the answer is the right code, else 0.", "1")
        },
        read_channel(
            ANSWER_MARGIN,
            "answer margin",
            "The largest dot product of the output with a code minus the second largest: how near the answer was to being another.",
            "value units squared",
        ),
    ]
}

fn error_channels(of_full_attention: bool) -> Vec<ChannelSpec> {
    let (error, target, cosine) = if of_full_attention {
        (
            "|o - y|^2: squared distance of the read's output o to the output y of full attention.",
            "|y|^2: squared length of full attention's output.",
            "Cosine of the read's output and full attention's; 0 where one of them is zero.",
        )
    } else {
        (
            "|o - y|^2: squared distance of the read's output o to its target y.",
            "|y|^2: squared length of the read's target.",
            "Cosine of the read's output and its target; 0 where one of them is zero.",
        )
    };
    vec![
        read_channel(ERROR_SQ, "squared error", error, "value units squared"),
        read_channel(TARGET_SQ, "squared target", target, "value units squared"),
        read_channel(COSINE, "cosine", cosine, "1"),
    ]
}

#[cfg(test)]
mod tests;
