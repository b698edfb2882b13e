//! `events`: one row an event, of every head, in the order in which they are seen: [`crate::metric::events`] with its default
//! criteria. The columns are those of the list that the window exports ([`crate::export::events`]).
//!
//! An event leaves if what it is of does: its write, its read, or its lane's step.

use std::rc::Rc;

use super::text_of;
use crate::export::columns::{Cells, Source, Table};
use crate::export::cut::Cut;
use crate::export::parquet::Column;
use crate::metric::events::{Criteria, Event, HeadsShown, Hit, LaneEvents, Place};
use crate::session::plan::Plan;
use crate::trace::{Heads, LaneTrace};

/// An event's place in a run with the heads that it was found with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    hit: Hit,
    query: u16,
}

struct Rows<'a> {
    plan: &'a Plan,
    traces: &'a [LaneTrace],
    criteria: Criteria,
    found: Vec<Found>,
}

impl Rows<'_> {
    /// The event of a row, and its sentence.
    fn with<T>(&self, row: usize, of: impl Fn(&LaneEvents<'_>, &Event) -> T) -> Option<T> {
        let found = self.found.get(row)?;
        let lane = usize::from(found.hit.lane);
        let heads = heads(self.plan, usize::from(found.query));
        let events = LaneEvents::new(self.plan, lane, &self.traces[lane], heads, &self.criteria);
        let event = events.event(found.hit)?;
        Some(of(&events, &event))
    }
}

fn heads(plan: &Plan, query: usize) -> HeadsShown {
    HeadsShown { kv: plan.stream.kv_head_of(query), query }
}

/// True for a scan that other query heads of the same key/value head have too: it is gone through once.
fn again(plan: &Plan, trace: &LaneTrace, event: &Event, query: usize) -> bool {
    let group = plan.stream.query_heads() / plan.stream.kv_heads();
    let shared = trace.channel(event.channel).is_some_and(|c| c.spec().heads == Heads::KeyValue && c.heads() == plan.stream.kv_heads());
    shared && query % group != 0
}

fn collect(plan: &Plan, traces: &[LaneTrace], cut: &Cut, criteria: &Criteria) -> Vec<Found> {
    let mut all = Vec::new();
    for (&lane, query) in cut.lanes.iter().flat_map(|l| (0..plan.stream.query_heads()).map(move |q| (l, q))) {
        let events = LaneEvents::new(plan, lane, &traces[lane], heads(plan, query), criteria);
        for hit in (0..events.scans()).flat_map(|scan| events.forwards(scan, 0)) {
            let Some(event) = events.event(hit) else { continue };
            let leaves = match event.place {
                Place::Write(write) => cut.writes.contains(write),
                Place::Read(read) => cut.reads.contains(read),
                Place::Chunk(step) => cut.steps[lane].contains(step),
            };
            if leaves && !again(plan, &traces[lane], &event, query) {
                all.push(Found { hit, query: query as u16 });
            }
        }
    }
    all.sort_unstable();
    all
}

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let criteria = Criteria::default();
    let found = collect(plan, traces, cut, &criteria);
    let rows = Rc::new(Rows { plan, traces, criteria, found });
    let whole = |name, unit, meaning, of: fn(&Event) -> Option<usize>| {
        let rows = Rc::clone(&rows);
        Source::whole(name, unit, meaning, move |row| rows.with(row, |_, e| of(e)).flatten().map(|x| x as i64))
    };
    let text = |name, meaning, of: fn(&Event) -> &'static str| {
        let rows = Rc::clone(&rows);
        Source::text(name, "", meaning, move |row| rows.with(row, |_, e| of(e).to_owned()))
    };
    let (lanes, texts, values, sentences) = (Rc::clone(&rows), Rc::clone(&rows), Rc::clone(&rows), Rc::clone(&rows));
    let columns = vec![
        whole("writes_seen", "writes", "The boundary of the timeline from which on the event is seen.", |e| Some(e.seen)),
        Source::text("lane", "", "The lane.", move |row| {
            lanes.found.get(row).map(|f| lanes.plan.lanes[usize::from(f.hit.lane)].name.clone())
        }),
        text(
            "kind",
            "What happened: `founder`, `admission`, `eviction`, `tie`, `not-finite`, `small-normaliser` or `wrong-answer`.",
            |e| e.kind.name(),
        ),
        text("place", "What `index` counts: `write`, `read` or `chunk`.", |e| match e.place {
            Place::Write(_) => "write",
            Place::Read(_) => "read",
            Place::Chunk(_) => "chunk",
        }),
        whole("index", "write, read or step", "The write, the read, or the chunk of the lane, from 0.", |e| {
            let (Place::Write(i) | Place::Read(i) | Place::Chunk(i)) = e.place;
            Some(i)
        }),
        whole("write", "write", "The write that it is about, where it is about one.", |e| e.write),
        Source::text("text", "", "The text of that write.", move |row| {
            texts.with(row, |_, e| text_of(&texts.plan.stream, e.write?)).flatten()
        }),
        text("channel", "The channel that tells it.", |e| e.channel),
        whole("head", "head", "The head of the channel, from 0.", |e| Some(e.head)),
        whole("component", "1", "Which number of the channel's entry.", |e| Some(e.component)),
        Source::new("value", Cells::Real, "as the channel", "The number.", move |range| {
            Column::Real(range.map(|row| values.with(row, |_, e| e.value)).collect())
        }),
        Source::text("sentence", "", "The event in words.", move |row| sentences.with(row, |events, e| events.sentence(e))),
    ];
    let about = "One row an event of any head, in the order in which they are seen on the timeline.";
    Table { name: "events", about, rows: rows.found.len(), columns }
}
