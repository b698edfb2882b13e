//! `events`: one row an event, of every head, in the order in which they are seen: [`crate::metric::events`] with its default
//! criteria. The columns are those of the list that the window and `mnemoscope events` export ([`crate::export::events`]).
//!
//! An event leaves if what it is of does: its write, its read, or its lane's step.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

use crate::export::columns::{Cells, Source, Table};
use crate::export::cut::Cut;
use crate::export::events::Row;
use crate::export::parquet::Column;
use crate::metric::events::{Criteria, Event, HeadsShown, Hit, LaneEvents, Place};
use crate::session::plan::Plan;
use crate::trace::{Heads, LaneTrace};

/// What counts as an event where nobody says otherwise.
static CRITERIA: LazyLock<Criteria> = LazyLock::new(Criteria::default);

/// An event's place in a run, with the query head that it was found with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    hit: Hit,
    query: u16,
}

/// Rows of a stretch.
type Group<'a> = Rc<Vec<Option<Row<'a>>>>;

struct Rows<'a> {
    plan: &'a Plan,
    /// All lanes, by query head.
    lanes: Vec<Vec<LaneEvents<'a>>>,
    found: Vec<Found>,
    /// The stretch that was made last: every column asks for the same.
    last: RefCell<(Range<usize>, Group<'a>)>,
}

impl<'a> Rows<'a> {
    fn group(&self, range: Range<usize>) -> Group<'a> {
        if self.last.borrow().0 != range {
            let row = |found: &Found| Row::of(self.plan, &self.lanes[usize::from(found.query)], found.hit);
            let rows = self.found[range.clone()].iter().map(row).collect();
            *self.last.borrow_mut() = (range, Rc::new(rows));
        }
        Rc::clone(&self.last.borrow().1)
    }
}

/// True for an event that other query heads of the same key/value head find too: it counts once.
fn again(plan: &Plan, trace: &LaneTrace, event: &Event, query: usize) -> bool {
    let group = plan.stream.query_heads() / plan.stream.kv_heads();
    let shared = trace.channel(event.channel).is_some_and(|c| c.spec().heads == Heads::KeyValue && c.heads() == plan.stream.kv_heads());
    shared && !query.is_multiple_of(group)
}

fn collect<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &Cut) -> Rows<'a> {
    let of_query = |query| {
        let heads = HeadsShown { kv: plan.stream.kv_head_of(query), query };
        (0..plan.lanes.len()).map(|lane| LaneEvents::new(plan, lane, &traces[lane], heads, &CRITERIA)).collect::<Vec<_>>()
    };
    let lanes: Vec<Vec<LaneEvents<'a>>> = (0..plan.stream.query_heads()).map(of_query).collect();
    let mut found = Vec::new();
    for (query, &lane) in (0..lanes.len()).flat_map(|q| cut.lanes.iter().map(move |l| (q, l))) {
        let events = &lanes[query][lane];
        for hit in (0..events.scans()).flat_map(|scan| events.forwards(scan, 0)) {
            let Some(event) = events.event(hit) else { continue };
            let leaves = match event.place {
                Place::Write(write) => cut.writes.contains(write),
                Place::Read(read) => cut.reads.contains(read),
                Place::Chunk(step) => cut.steps[lane].contains(step),
            };
            if leaves && !again(plan, &traces[lane], &event, query) {
                found.push(Found { hit, query: query as u16 });
            }
        }
    }
    found.sort_unstable();
    Rows { plan, lanes, found, last: RefCell::new((0..0, Rc::default())) }
}

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let rows = Rc::new(collect(plan, traces, cut));
    let whole = |name, unit, meaning, of: fn(&Row<'a>) -> Option<usize>| {
        let rows = Rc::clone(&rows);
        let cell = move |row: &Option<Row<'a>>| row.as_ref().and_then(of).map(|x| x as i64);
        Source::new(name, Cells::Integer, unit, meaning, move |range| Column::Integer(rows.group(range).iter().map(cell).collect()))
    };
    let text = |name, meaning, of: for<'r> fn(&'r Row<'a>) -> Option<&'r str>| {
        let rows = Rc::clone(&rows);
        let cell = move |row: &Option<Row<'a>>| row.as_ref().and_then(of).map(str::to_owned);
        Source::new(name, Cells::Text, "", meaning, move |range| Column::Text(rows.group(range).iter().map(cell).collect()))
    };
    let values = Rc::clone(&rows);
    let columns = vec![
        whole("writes_seen", "writes", "The boundary of the timeline from which on the event is seen.", |e| Some(e.writes_seen)),
        text("lane", "The lane.", |e| Some(e.lane)),
        text(
            "kind",
            "What happened: `founder`, `admission`, `eviction`, `tie`, `not-finite`, `small-normaliser` or `wrong-answer`.",
            |e| Some(e.kind),
        ),
        text("place", "What `index` counts: `write`, `read` or `chunk`.", |e| Some(e.place)),
        whole("index", "write, read or step", "The write, the read, or the chunk of the lane, from 0.", |e| Some(e.index)),
        whole("write", "write", "The write that it is about, where it is about one.", |e| e.write),
        text("text", "The text of that write.", |e| e.text),
        text("channel", "The channel that tells it.", |e| Some(e.channel)),
        whole("head", "head", "The head of the channel, from 0.", |e| Some(e.head)),
        whole("component", "1", "Which number of the channel's entry.", |e| Some(e.component)),
        Source::new("value", Cells::Real, "as the channel", "The number.", move |range| {
            Column::Real(values.group(range).iter().map(|row| row.as_ref().map(|e| e.value)).collect())
        }),
        text("sentence", "The event in words.", |e| Some(&e.sentence)),
    ];
    let about = "One row an event of any head, in the order in which they are seen on the timeline.";
    Table { name: "events", about, rows: rows.found.len(), columns }
}
