//! Scores without traces: many lanes, many parameters, many seeds.
//!
//! [`Scorer`] runs any number of lanes on one stream in groups and keeps what they scored; `mnemoscope compare` prints that.

mod score;
mod tally;

pub use score::{Job, Score, Scorer, Tell};
pub use tally::Tally;
