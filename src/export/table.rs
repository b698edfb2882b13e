//! `tokens.csv`: one row a write, for `pandas.read_csv`.
//!
//! Columns: `index`, `text` (empty where the source has none), `role`, then for every lane its channels along the writes and its
//! derived arrays with a number for each write, `<lane>.<name>` (OVQ: `assignments`, `similarity`, `is_new`; LoLA: `entered`,
//! `left`); with several key/value heads in the lane `<lane>.<name>.h0`, `.h1` and so on
//! (a lane with learned maps has one for each query head). What a run has not reached is empty. Texts are as they
//! are, quoted where CSV asks for it; a text such as `None` or `NA` stays one with `keep_default_na=False`.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::Watch;
use crate::session::plan::Plan;
use crate::trace::{Axis, LaneTrace, Values, Width};

/// A column of numbers, as far as there are any.
struct Column {
    title: String,
    values: Values,
}

/// The titles of the lanes' columns that a plan's channels give; derived arrays come on top.
pub(crate) fn columns(plan: &Plan) -> Vec<String> {
    plan.lanes
        .iter()
        .flat_map(|lane| lane.channels.iter().map(move |c| (lane, c)))
        .filter(|(_, c)| c.axis == Axis::Write && c.width == Width::Fixed(1))
        .flat_map(|(lane, c)| {
            let heads = lane.setup.stream.kv_heads();
            (0..heads).map(move |h| title(&lane.name, c.name, h, heads))
        })
        .collect()
}

fn title(lane: &str, name: &str, head: usize, heads: usize) -> String {
    if heads == 1 { format!("{lane}.{name}") } else { format!("{lane}.{name}.h{head}") }
}

/// Writes the table.
///
/// # Errors
/// If `out` cannot be written to, or the export was cancelled.
pub(crate) fn write(out: &mut impl Write, plan: &Plan, traces: &[LaneTrace], watch: &mut Watch<'_>) -> io::Result<()> {
    let columns = gather(plan, traces);
    let mut table = csv::Writer::from_writer(out);
    let titles = ["index", "text", "role"].into_iter().chain(columns.iter().map(|c| c.title.as_str()));
    table.write_record(titles)?;
    let labels = plan.stream.labels();
    let mut cell = String::new();
    for write in 0..plan.stream.writes() {
        cell.clear();
        let _ = write!(cell, "{write}");
        table.write_field(&cell)?;
        table.write_field(labels.tokens.as_ref().map_or("", |t| t[write].as_str()))?;
        table.write_field(&labels.roles.names[usize::from(labels.roles.of_write[write])])?;
        for column in &columns {
            cell.clear();
            number(&column.values, write, &mut cell);
            table.write_field(&cell)?;
        }
        table.write_record(None::<&[u8]>)?;
        if write % 4096 == 4095 {
            watch.wrote(4096 * 8 * (3 + columns.len() as u64))?;
        }
    }
    table.flush()
}

/// Appends a number in the fewest digits that give it back; nothing where there is none.
fn number(values: &Values, index: usize, cell: &mut String) {
    let _ = match values {
        Values::F32(v) => v.get(index).map(|x| write!(cell, "{x}")),
        Values::F64(v) => v.get(index).map(|x| write!(cell, "{x}")),
        Values::I32(v) => v.get(index).map(|x| write!(cell, "{x}")),
    };
}

fn gather(plan: &Plan, traces: &[LaneTrace]) -> Vec<Column> {
    let writes = plan.stream.writes();
    let mut columns = Vec::new();
    for (lane, trace) in plan.lanes.iter().zip(traces) {
        for channel in trace.channels().iter().filter(|c| c.spec().axis == Axis::Write && c.spec().width == Width::Fixed(1)) {
            for head in 0..channel.heads() {
                let title = title(&lane.name, channel.spec().name, head, channel.heads());
                columns.push(Column { title, values: channel.values(head).clone() });
            }
        }
        let heads = lane.setup.stream.kv_heads();
        let of_writes = |head| lane.kind.derived(&lane.setup, trace, head).into_iter().filter(|d| d.shape == [writes]);
        let mut derived: Vec<(usize, usize, Column)> = Vec::new();
        for head in 0..heads {
            for (at, array) in of_writes(head).enumerate() {
                derived.push((at, head, Column { title: title(&lane.name, array.name, head, heads), values: array.values }));
            }
        }
        derived.sort_by_key(|(at, head, _)| (*at, *head));
        columns.extend(derived.into_iter().map(|(_, _, c)| c));
    }
    columns
}
