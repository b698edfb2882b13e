//! `centroids`: one row for each row of a dictionary or codebook that stands for a write, as it is after the last step that leaves.

use std::rc::Rc;

use super::text_of;
use crate::export::columns::{Source, Table};
use crate::export::cut::Cut;
use crate::session::hand::Act;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;

/// A row of a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Centroid {
    lane: usize,
    head: usize,
    row: usize,
    founder: Option<usize>,
    count: Option<i64>,
    members: usize,
    last: usize,
    deleted: Option<usize>,
}

/// The rows of one head of a lane after the step `last_step`.
fn of_head(own: &PlanLane, trace: &LaneTrace, lane: usize, head: usize, last_step: usize) -> Vec<Centroid> {
    let Some(assignments) = trace.channel("assignments").filter(|c| head < c.heads()) else { return Vec::new() };
    let assigned = assignments.wholes(head);
    let end = own.setup.stream.chunk_range(own.setup.chunk, last_step).end.min(assigned.len());
    let founders = trace.channel("is_new").map_or(&[][..], |c| c.wholes(head));
    let mut rows: Vec<Option<Centroid>> = Vec::new();
    for (write, &row) in assigned[..end].iter().enumerate() {
        let Ok(row) = usize::try_from(row) else { continue };
        if rows.len() <= row {
            rows.resize(row + 1, None);
        }
        let none = Centroid { lane, head, row, founder: None, count: None, members: 0, last: write, deleted: None };
        let centroid = rows[row].get_or_insert(none);
        centroid.members += 1;
        centroid.last = write;
        if founders.get(write) == Some(&1) {
            centroid.founder = Some(write);
        }
    }
    let derived = own.kind.derived(&own.setup, trace, head);
    let counts = derived.iter().find(|d| d.name == "counts" && d.shape.len() == 2 && last_step < d.shape[0]);
    for centroid in rows.iter_mut().flatten() {
        let count = counts.and_then(|c| c.values.get(last_step * c.shape[1] + centroid.row));
        centroid.count = count.map(|c| c as i64);
        let deleted = own.setup.hands.iter().filter(|h| h.kv_head == head && h.step <= last_step + 1);
        centroid.deleted = deleted.filter(|h| h.what == Act::Delete { row: centroid.row }).map(|h| h.step).min();
    }
    rows.into_iter().flatten().collect()
}

/// The step of a write in the centroid's lane.
fn step_of(plan: &Plan, centroid: &Centroid, write: usize) -> i64 {
    (write / plan.lanes[centroid.lane].setup.chunk) as i64
}

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let mut all = Vec::new();
    for &lane in &cut.lanes {
        let heads = traces[lane].channel("assignments").map_or(0, crate::trace::Channel::heads);
        for (head, last) in (0..heads).filter_map(|h| Some((h, cut.steps[lane].last()?))) {
            all.extend(of_head(&plan.lanes[lane], &traces[lane], lane, head, last));
        }
    }
    let all = Rc::new(all);
    let whole = |name, unit, meaning, of: fn(&Plan, &Centroid) -> Option<i64>| {
        let all = Rc::clone(&all);
        Source::whole(name, unit, meaning, move |row| of(plan, &all[row]))
    };
    let (lanes, texts) = (Rc::clone(&all), Rc::clone(&all));
    let columns = vec![
        Source::text("lane", "", "The lane.", move |row| Some(plan.lanes[lanes[row].lane].name.clone())),
        whole("head", "head", "The key/value head of the lane, from 0.", |_, c| Some(c.head as i64)),
        whole("row", "row", "The row of the dictionary or codebook, from 0.", |_, c| Some(c.row as i64)),
        whole("founder", "write", "The write that founded the row; none in a codebook that was fitted beforehand.", |_, c| {
            c.founder.map(|w| w as i64)
        }),
        Source::text("text", "", "The text of the founder.", move |row| text_of(&plan.stream, texts[row].founder?)),
        whole("born", "step", "The step in which the row was founded.", |plan, c| c.founder.map(|w| step_of(plan, c, w))),
        whole(
            "count",
            "tokens",
            "How many writes the row stands for, as the layer counts them: 0 once a hand has deleted it; none where the layer records no counts, or too many.",
            |_, c| c.count,
        ),
        whole("members", "tokens", "How many writes have gone to the row so far, its founder among them.", |_, c| Some(c.members as i64)),
        whole("last_write", "write", "The last write that went to the row.", |_, c| Some(c.last as i64)),
        whole("last_step", "step", "The step of that write.", |plan, c| Some(step_of(plan, c, c.last))),
        whole("deleted", "steps", "After how many steps a hand deleted the row; none if none did.", |_, c| c.deleted.map(|s| s as i64)),
    ];
    let about = "One row for each row of a dictionary (OVQ) or codebook (VQ) that has taken a write, as it is after the last step of the lane that is in this bundle; lane by lane and head by head.";
    Table { name: "centroids", about, rows: all.len(), columns }
}
