//! Scores without traces: many lanes, many parameters, many seeds.
//!
//! ```text
//! spec    OVQ.n_max=64..4096:log2 -> axes, checked against a session
//! pieces  axes x seeds -> a lane with its values, on a stream; lanes that no axis touches are there once a stream
//! score   lanes on a stream, in groups -> scores; nothing else of a run is kept
//! work    pieces -> rows, to whoever wants them: a file, the window
//! row     a row of results, and rows as a table; key: what a row depends on
//! file    rows that are done already, shards, and the file written whole each time
//! ```
//!
//! `mnemoscope compare` prints scores; `mnemoscope sweep` and the window's sweep panel run pieces.

pub mod file;
mod key;
mod pieces;
mod row;
mod score;
pub mod spec;
mod tally;
mod work;

pub use pieces::{Piece, Values, is_of_task, pieces};
pub use row::{Row, RowError, RowScore, from_table, to_table};
pub use score::{Job, Score, Scorer, Tell};
pub use spec::{Axis, Owner, Points, Spec, SpecError};
pub use tally::Tally;
pub use work::{Sweep, SweepError, Witness};
