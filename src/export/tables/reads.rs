//! `reads`: one row a read.
//!
//! Columns: `read`, `after`, `text`, `role`, `target`, `answer_at`, then for every lane its channels along the reads,
//! `<lane>.<name>`, with several query heads `<lane>.<name>.h0` and so on. Of a channel of up to [`WIDEST`] numbers a read (LoLA's
//! shares) each is a column, `<lane>.<name>.c0`, `.c1`; wider ones (the outputs) are in the arrays alone.

use super::text_of;
use crate::export::columns::{Cells, Source, Table, numbers};
use crate::export::cut::Cut;
use crate::export::inventory::fits;
use crate::session::plan::Plan;
use crate::stream::Targets;
use crate::trace::{Axis, Channel, LaneTrace, Width};

/// The widest channel that is laid out in columns.
const WIDEST: usize = 4;

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let (stream, reads) = (&*plan.stream, &cut.reads);
    let (labels, after) = (stream.labels(), stream.after());
    let role = move |r: usize| labels.roles.of_read.get(r).and_then(|role| labels.roles.names.get(usize::from(*role))).cloned();
    let text = move |r: usize| match &labels.read_tokens {
        Some(texts) => texts.get(r).cloned(),
        None => text_of(stream, after[r] as usize - 1),
    };
    let target = move |r: usize| match stream.targets() {
        Targets::Codes { target, .. } => target.get(r).map(|t| i64::from(*t)),
        Targets::None | Targets::Values(_) | Targets::FullAttention => None,
    };
    let answer = move |r: usize| labels.answer_at.as_ref().and_then(|at| at.get(r)).map(|w| i64::from(*w));
    let about_text = "The read's text: its own, or that of the newest write that it sees; none where the source has no texts.";
    let mut columns = vec![
        Source::whole_along("read", "read", "The read's number in the run, from 0.", reads, |r| Some(r as i64)),
        Source::whole_along("after", "writes", "How many writes the read may see.", reads, move |r| Some(i64::from(after[r]))),
        Source::text_along("text", "", about_text, reads, text),
        Source::text_along("role", "", "What the read is for.", reads, role),
        Source::whole_along("target", "code", "The right code; none where no code is.", reads, target),
        Source::whole_along("answer_at", "write", "The write that holds the answer, where it is one.", reads, answer),
    ];
    for &lane in &cut.lanes {
        for channel in traces[lane].channels().iter().filter(|c| fits(c, Axis::Read, WIDEST)) {
            columns.extend(of_channel(&plan.lanes[lane].name, channel, cut));
        }
    }
    Table { name: "reads", about: "One row a read, in the order of the stream.", rows: reads.len(), columns }
}

fn of_channel<'a>(lane: &str, channel: &'a Channel, cut: &'a Cut) -> Vec<Source<'a>> {
    let (spec, heads, reads) = (channel.spec(), channel.heads(), &cut.reads);
    let Width::Fixed(width) = spec.width else { return Vec::new() };
    let mut columns = Vec::new();
    for (component, head) in (0..width).flat_map(|c| (0..heads).map(move |h| (c, h))) {
        let part = if width == 1 { spec.name.to_owned() } else { format!("{}.c{component}", spec.name) };
        let meaning = if width == 1 { spec.meaning.to_owned() } else { format!("{} Number {component} of {width}.", spec.meaning) };
        let values = channel.values(head);
        let make = move |rows| numbers(values, reads.slice(rows).map(|r| r * width + component));
        columns.push(Source::new(super::title(lane, &part, head, heads), Cells::of(values), spec.unit, meaning, make));
    }
    columns
}
