//! `cache`: one row for each stay of a pair in a sparse cache.
//!
//! Of a stretch of the timeline the stays that overlap its steps leave, of older writes too; of single tokens theirs. What a row says of
//! its stay is true of the whole run, also of what lies outside the stretch.

use std::collections::HashMap;
use std::rc::Rc;

use super::{role_of, text_of};
use crate::export::columns::{Source, Table};
use crate::export::cut::Cut;
use crate::session::hand::evicted;
use crate::session::plan::Plan;
use crate::trace::{Channel, LaneTrace};

/// A pair's stay in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stay {
    lane: usize,
    head: usize,
    write: usize,
    entered: usize,
    left: Option<usize>,
}

impl Stay {
    fn is_in(&self, cut: &Cut) -> bool {
        if cut.of_tokens {
            return cut.writes.contains(self.write);
        }
        let steps = &cut.steps[self.lane];
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return false };
        self.entered <= last && self.left.is_none_or(|left| left >= first)
    }
}

fn stays(trace: &LaneTrace, lane: usize) -> Vec<Stay> {
    let (Some(admitted), Some(displaced)) = (trace.channel("admitted"), trace.channel("displaced")) else { return Vec::new() };
    let mut all: Vec<Stay> = Vec::new();
    for head in 0..admitted.heads() {
        let mut here: HashMap<i32, usize> = HashMap::new();
        for step in 0..admitted.len().min(displaced.len()) {
            for &id in admitted.wholes_at(head, step) {
                let Ok(write) = usize::try_from(id) else { continue };
                here.insert(id, all.len());
                all.push(Stay { lane, head, write, entered: step, left: None });
            }
            for id in displaced.wholes_at(head, step) {
                if let Some(at) = here.remove(id) {
                    all[at].left = Some(step);
                }
            }
        }
    }
    all
}

struct Rows<'a> {
    plan: &'a Plan,
    traces: &'a [LaneTrace],
    stays: Vec<Stay>,
}

impl<'a> Rows<'a> {
    fn channel(&self, stay: &Stay, name: &str) -> Option<&'a Channel> {
        self.traces[stay.lane].channel(name)
    }

    /// The score that the pair had as a candidate at a step.
    fn score(&self, stay: &Stay, step: usize) -> Option<f64> {
        let (ids, scores) = (self.channel(stay, "candidates")?, self.channel(stay, "candidate_scores")?);
        let (own, range) = (ids.wholes_at(stay.head, step), scores.range(stay.head, step));
        let at = own.binary_search(&i32::try_from(stay.write).ok()?).ok()?;
        if range.len() == own.len() { scores.values(stay.head).get(range.start + at) } else { None }
    }

    fn by_hand(&self, stay: &Stay) -> bool {
        stay.left.is_some_and(|step| evicted(&self.traces[stay.lane], stay.head, stay.write, step))
    }

    /// The writes that entered when it left.
    fn successors(&self, stay: &Stay) -> Option<String> {
        let entered = self.channel(stay, "admitted")?.wholes_at(stay.head, stay.left.filter(|_| !self.by_hand(stay))?);
        Some(entered.iter().map(i32::to_string).collect::<Vec<_>>().join(" "))
    }

    fn seen(&self, stay: &Stay, step: usize) -> i64 {
        let setup = &self.plan.lanes[stay.lane].setup;
        setup.stream.chunk_range(setup.chunk, step).end as i64
    }
}

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let stays = cut.lanes.iter().flat_map(|&lane| stays(&traces[lane], lane)).filter(|stay| stay.is_in(cut)).collect();
    let rows = Rc::new(Rows { plan, traces, stays });
    let whole = |name, unit, meaning, of: fn(&Rows<'a>, &Stay) -> Option<i64>| {
        let rows = Rc::clone(&rows);
        Source::whole(name, unit, meaning, move |row| of(&rows, &rows.stays[row]))
    };
    let text = |name, meaning, of: fn(&Rows<'a>, &Stay) -> Option<String>| {
        let rows = Rc::clone(&rows);
        Source::text(name, "", meaning, move |row| of(&rows, &rows.stays[row]))
    };
    let columns = vec![
        text("lane", "The lane.", |rows, stay| Some(rows.plan.lanes[stay.lane].name.clone())),
        whole("head", "head", "The head of the lane, from 0: a key/value head, or with learned maps a query head.", |_, s| {
            Some(s.head as i64)
        }),
        whole("write", "write", "The write whose pair it is.", |_, s| Some(s.write as i64)),
        text("text", "Its text.", |rows, stay| text_of(&rows.plan.stream, stay.write)),
        text("role", "What it is for.", |rows, stay| role_of(&rows.plan.stream, stay.write)),
        whole("entered", "step", "The step of the lane at which it entered the cache.", |_, s| Some(s.entered as i64)),
        whole("entered_writes", "writes", "Writes seen after that step.", |rows, s| Some(rows.seen(s, s.entered))),
        whole(
            "left",
            "step",
            "The step at which it was folded into the state; none if it was still in the cache at the end of the run.",
            |_, s| s.left.map(|step| step as i64),
        ),
        whole("left_writes", "writes", "Writes seen after that step.", |rows, s| s.left.map(|step| rows.seen(s, step))),
        score(&rows, "score_at_entry", "The score with which it was chosen; none where the run does not record it.", |s| Some(s.entered)),
        score(
            &rows,
            "score_at_leaving",
            "Its score when it was no longer chosen; none while it stays, where a hand took it out, and where the run does not record it.",
            |s| s.left,
        ),
        text(
            "displaced_by",
            "The writes that entered in the step in which it left, with spaces between them: several may leave and enter together, and nothing says which took whose place. None while it stays, and where a hand took it out.",
            Rows::successors,
        ),
        whole("by_hand", "flag", "1 where a hand took it out of the cache, else 0.", |rows, s| Some(i64::from(rows.by_hand(s)))),
    ];
    let about = "One row for each stay of a pair in a sparse cache (LoLA): of a stretch of the timeline those that overlap its steps, of single tokens theirs. What it says of the stay is true of the whole run.";
    Table { name: "cache", about, rows: rows.stays.len(), columns }
}

/// A column of scores.
fn score<'a>(rows: &Rc<Rows<'a>>, name: &str, meaning: &str, step: fn(&Stay) -> Option<usize>) -> Source<'a> {
    let channels: Vec<&Channel> = rows.traces.iter().filter_map(|t| t.channel("candidate_scores")).collect();
    let mut units: Vec<&str> = channels.iter().map(|c| c.spec().unit).collect();
    units.dedup();
    let unit = if units.is_empty() { "1".to_owned() } else { units.join(" or ") };
    let own = Rc::clone(rows);
    let value = move |row: usize| {
        let stay = &own.stays[row];
        own.score(stay, step(stay)?).filter(|_| Some(stay.entered) == step(stay) || !own.by_hand(stay))
    };
    Source::real(name, &unit, meaning, channels.into_iter(), value)
}
