//! `tokens`: one row a write.
//!
//! Columns: `index`, `text` (none where the source has no texts), `role`, then for every lane its channels along the writes and its
//! derived arrays with a number for each write, `<lane>.<name>` (OVQ: `assignments`, `similarity`, `is_new`; LoLA: `entered`,
//! `left`); with several key/value heads in the lane `<lane>.<name>.h0`, `.h1` and so on
//! (a lane with learned maps has one for each query head). What a run has not reached is empty. Texts are as they
//! are, quoted where CSV asks for it; a text such as `None` or `NA` stays one with `keep_default_na=False`.

use std::sync::Arc;

use super::{role_of, text_of, title};
use crate::export::columns::{Cells, Source, Table, numbers};
use crate::export::cut::Cut;
use crate::export::inventory::fits;
use crate::session::plan::Plan;
use crate::trace::{Along, Axis, LaneTrace};

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let (stream, writes) = (&*plan.stream, &cut.writes);
    let mut columns = vec![
        Source::whole_along("index", "write", "The write's number in the run, from 0.", writes, |w| Some(w as i64)),
        Source::text_along("text", "", "The token's text; none where the source has no texts.", writes, move |w| text_of(stream, w)),
        Source::text_along("role", "", "What the token is for: `needle`, `hay`, `pair`, ..", writes, move |w| role_of(stream, w)),
    ];
    for &lane in &cut.lanes {
        columns.extend(of_lane(plan, lane, &traces[lane], cut));
    }
    Table { name: "tokens", about: "One row a write, in the order of the stream.", rows: writes.len(), columns }
}

fn of_lane<'a>(plan: &'a Plan, lane: usize, trace: &'a LaneTrace, cut: &'a Cut) -> Vec<Source<'a>> {
    let (own, writes) = (&plan.lanes[lane], &cut.writes);
    let mut columns = Vec::new();
    for channel in trace.channels().iter().filter(|c| fits(c, Axis::Write, 1)) {
        let (spec, heads) = (channel.spec(), channel.heads());
        for head in 0..heads {
            let values = channel.values(head);
            let name = title(&own.name, spec.name, head, heads);
            let make = move |rows| numbers(values, writes.slice(rows));
            columns.push(Source::new(name, Cells::of(values), spec.unit, spec.meaning, make));
        }
    }
    let heads = own.setup.stream.kv_heads();
    let mut derived = Vec::new();
    for head in 0..heads {
        let arrays = own.kind.derived(&own.setup, trace, head).into_iter();
        for (at, array) in arrays.filter(|d| d.axes == [Along::Axis(Axis::Write)]).enumerate() {
            let (name, values) = (title(&own.name, array.name, head, heads), Arc::new(array.values));
            let cells = Cells::of(&values);
            let make = move |rows| numbers(&values, writes.slice(rows));
            derived.push(((at, head), Source::new(name, cells, array.unit, array.meaning, make)));
        }
    }
    derived.sort_by_key(|(place, _)| *place);
    columns.extend(derived.into_iter().map(|(_, source)| source));
    columns
}
