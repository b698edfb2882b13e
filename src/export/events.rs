//! Events as a table: one row an event, for `pandas.read_csv`.
//!
//! Columns: `writes_seen` (the boundary of the timeline from which on it is seen), `lane`, `kind`, `place` (`write`, `read` or
//! `chunk`), `index` (of that), `write` (the write that it is about), `text` (of that), `channel`, `head`, `component`, `value`,
//! `sentence`. What there is none of is empty.

use std::io;
use std::path::Path;

use super::{WriteError, write_atomic};
use crate::metric::events::{Criteria, HeadsShown, Hit, LaneEvents, Place};
use crate::session::plan::Plan;
use crate::trace::LaneTrace;

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

fn rows(out: &mut impl io::Write, plan: &Plan, lanes: &[LaneEvents<'_>], hits: impl Iterator<Item = Hit>) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "writes_seen",
        "lane",
        "kind",
        "place",
        "index",
        "write",
        "text",
        "channel",
        "head",
        "component",
        "value",
        "sentence",
    ])?;
    let tokens = plan.stream.labels().tokens.as_ref();
    for hit in hits {
        let lane = usize::from(hit.lane);
        let Some((events, event)) = lanes.get(lane).and_then(|l| Some((l, l.event(hit)?))) else { continue };
        let (place, index) = match event.place {
            Place::Write(i) => ("write", i),
            Place::Read(i) => ("read", i),
            Place::Chunk(i) => ("chunk", i),
        };
        let text = event.write.and_then(|w| tokens?.get(w)).map_or("", String::as_str);
        table.write_record([
            event.seen.to_string().as_str(),
            plan.lanes[lane].name.as_str(),
            event.kind.name(),
            place,
            &index.to_string(),
            &event.write.map_or_else(String::new, |w| w.to_string()),
            text,
            event.channel,
            &event.head.to_string(),
            &event.component.to_string(),
            &event.value.to_string(),
            &events.sentence(&event),
        ])?;
    }
    table.flush()
}
