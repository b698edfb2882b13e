//! Events as a table: one row an event, for `pandas.read_csv`; or each as a value of its own, for JSON.
//!
//! Columns: `writes_seen` (the boundary of the timeline from which on it is seen), `lane`, `kind`, `place` (`write`, `read` or
//! `chunk`), `index` (of that), `write` (the write that it is about), `text` (of that), `channel`, `head`, `component`, `value`,
//! `sentence`. What there is none of is empty.

use std::io;
use std::path::Path;

use serde::{Serialize, Serializer};

use super::{WriteError, write_atomic};
use crate::metric::events::{Criteria, HeadsShown, Hit, LaneEvents, Place};
use crate::session::plan::Plan;
use crate::trace::LaneTrace;

/// The columns, in their order.
const COLUMNS: [&str; 12] =
    ["writes_seen", "lane", "kind", "place", "index", "write", "text", "channel", "head", "component", "value", "sentence"];

/// One event with all that is known of it; the fields are the columns of the module's page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row<'a> {
    /// The boundary of the timeline from which on it is seen, in writes.
    pub writes_seen: usize,
    /// The lane's name.
    pub lane: &'a str,
    /// The kind of event, by its name in files.
    pub kind: &'static str,
    /// What it belongs to: `write`, `read` or `chunk` (of the lane).
    pub place: &'static str,
    /// Which of these.
    pub index: usize,
    /// The write that it is about, where it is about one.
    pub write: Option<usize>,
    /// The text of that write, where tokens have texts.
    pub text: Option<&'a str>,
    /// The channel that tells it.
    pub channel: &'static str,
    /// The head of the channel.
    pub head: usize,
    /// Which number of the channel's entry.
    pub component: usize,
    /// The number. JSON has no NaN and no infinity: there they are strings.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// The event in words.
    pub sentence: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() { serializer.serialize_f64(*value) } else { serializer.serialize_str(&value.to_string()) }
}

impl<'a> Row<'a> {
    /// The row of an event of these lanes, which are all of the plan's, in order; `None` for one of another trace.
    #[must_use]
    pub fn of(plan: &'a Plan, lanes: &[LaneEvents<'_>], hit: Hit) -> Option<Self> {
        let lane = usize::from(hit.lane);
        let (events, spec) = (lanes.get(lane)?, plan.lanes.get(lane)?);
        let event = events.event(hit)?;
        let (place, index) = match event.place {
            Place::Write(i) => ("write", i),
            Place::Read(i) => ("read", i),
            Place::Chunk(i) => ("chunk", i),
        };
        let text = event.write.and_then(|w| plan.stream.labels().tokens.as_ref()?.get(w)).map(String::as_str);
        Some(Self {
            writes_seen: event.seen,
            lane: &spec.name,
            kind: event.kind.name(),
            place,
            index,
            write: event.write,
            text,
            channel: event.channel,
            head: event.head,
            component: event.component,
            value: event.value,
            sentence: events.sentence(&event),
        })
    }
}

/// Writes these events of a run to a file, which is there whole or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    path: &Path,
    plan: &Plan,
    traces: &[LaneTrace],
    heads: HeadsShown,
    criteria: &Criteria,
    hits: impl Iterator<Item = Hit>,
) -> Result<(), WriteError> {
    let lanes: Vec<LaneEvents<'_>> = (0..traces.len()).map(|l| LaneEvents::new(plan, l, &traces[l], heads, criteria)).collect();
    write_atomic(path, |out| rows(out, plan, &lanes, hits))
}

/// Writes these events of all lanes of a run as CSV, with a first row of columns' names.
///
/// # Errors
/// If `out` cannot be written to.
pub fn rows(out: &mut impl io::Write, plan: &Plan, lanes: &[LaneEvents<'_>], hits: impl Iterator<Item = Hit>) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS)?;
    for row in hits.filter_map(|hit| Row::of(plan, lanes, hit)) {
        table.write_record([
            row.writes_seen.to_string().as_str(),
            row.lane,
            row.kind,
            row.place,
            &row.index.to_string(),
            &row.write.map_or_else(String::new, |w| w.to_string()),
            row.text.unwrap_or_default(),
            row.channel,
            &row.head.to_string(),
            &row.component.to_string(),
            &row.value.to_string(),
            &row.sentence,
        ])?;
    }
    table.flush()
}
