//! The tables: one file a table, each a list of columns that every format is written from.
//!
//! | table | a row is |
//! |---|---|
//! | `tokens` | a write |
//! | `reads` | a read |
//! | `steps` | a step of a lane, for each of its heads |
//! | `events` | something that happened: a founder, an admission, an eviction, a tie, a wrong answer |
//! | `centroids` | a row of a dictionary, at the end of what leaves |
//! | `cache` | a pair's stay in a sparse cache |

mod cache;
mod centroids;
mod events;
mod reads;
mod steps;
mod tokens;

use super::columns::Table;
use super::cut::Cut;
use crate::session::plan::Plan;
use crate::stream::Stream;
use crate::trace::LaneTrace;

/// The names of all tables, in the order in which they are written.
pub const TABLES: [&str; 6] = ["tokens", "reads", "steps", "events", "centroids", "cache"];

/// The tables of what leaves of these traces, which belong to the plan's lanes.
pub(crate) fn all<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Vec<Table<'a>> {
    vec![
        tokens::table(plan, traces, cut),
        reads::table(plan, traces, cut),
        steps::table(plan, traces, cut),
        events::table(plan, traces, cut),
        centroids::table(plan, traces, cut),
        cache::table(plan, traces, cut),
    ]
}

/// The text of a write, where the source has texts.
fn text_of(stream: &Stream, write: usize) -> Option<String> {
    stream.labels().tokens.as_ref().and_then(|t| t.get(write)).cloned()
}

/// The role of a write.
fn role_of(stream: &Stream, write: usize) -> Option<String> {
    let roles = &stream.labels().roles;
    roles.of_write.get(write).and_then(|r| roles.names.get(usize::from(*r))).cloned()
}

/// `<lane>.<name>`, with the head where there are several.
fn title(lane: &str, name: &str, head: usize, heads: usize) -> String {
    if heads == 1 { format!("{lane}.{name}") } else { format!("{lane}.{name}.h{head}") }
}
