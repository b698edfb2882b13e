//! What is said of a token: what it is, its life in every lane, and how well it is recalled now.

use crate::app::facts::{self, Index, number};
use crate::layer::lola::residency::Place;
use crate::panel::formula::dictionary::assigned;
use crate::panel::formula::exact::{Exact, LaneAt, Rows, distance, dot};
use crate::panel::formula::mixing::self_recall;
use crate::panel::{Look, Subject};

use super::life::life;
use super::page::{Item, Page, Say};

/// The page of a token.
#[must_use]
pub fn page(look: &Look<'_>, index: &mut Index, exact: &Exact<'_>, write: usize) -> Page {
    let text = crate::app::timeline_bar::token_text(look.plan, write);
    let mut page = Page { title: format!("Token {write}"), text, ..Page::default() };
    for number in 0..look.lanes.len() {
        let Some(lane) = LaneAt::of(look, number) else { continue };
        page.lane(look, &lane, write / lane.chunk());
        of_lane(&mut page, look, &lane, index, exact, write);
    }
    page
}

fn of_lane(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, index: &mut Index, exact: &Exact<'_>, write: usize) {
    let done = lane.plan.chunks_at(look.writes);
    if write >= lane.written(done) {
        page.say(index.facts(look, lane.number, write).place);
        return;
    }
    let hands = lane.plan.setup.hands.len();
    if hands > 0 {
        page.fact(
            "by hand",
            format!("this lane's memory was changed {}", if hands == 1 { "once".to_owned() } else { format!("{hands} times") }),
        );
    }
    let residency = index.residency(look, lane.number).cloned();
    page.say(place(look, lane, index, write, done));
    let life = life(look, lane, residency.as_ref(), exact, write, done);
    let words: Vec<Say> = life.events.iter().map(|e| e.say.clone()).collect();
    page.items.push(Item::Life(life));
    for say in words {
        page.say(say);
    }
    if residency.is_some_and(|r| r.at(write, done) == Place::Cache) {
        page.fact("its place there", Say::default().link("score and rank in the cache", Subject::Slot { lane: lane.number, write }));
    }
    recall(page, look, lane, exact, write, done);
    for (name, read, value) in facts::reads(look, &look.lanes[lane.number], write) {
        page.fact(name, Say::default().link(format!("read {read}"), Subject::Read(read)).t(format!(": {value}")));
    }
}

/// Where it is now.
fn place(look: &Look<'_>, lane: &LaneAt<'_>, index: &mut Index, write: usize, done: usize) -> Say {
    let seen = lane.written(done);
    if let Some(&row) = lane.wholes("assignments").get(write) {
        let row = usize::try_from(row).unwrap_or_default();
        if let Some(chunks) = lane.deleted(row, done) {
            return Say::deleted(look, lane, row, chunks);
        }
        let count = lane.wholes("assignments").iter().take(seen).filter(|&&r| usize::try_from(r) == Ok(row)).count();
        return Say::new("In ")
            .row(lane, row)
            .t(format!(", which stands for {} now.", crate::panel::common::plural(count, "token", "tokens")));
    }
    Say::new(index.facts(look, lane.number, write).place)
}

/// Its recall error now, and where the number is from.
fn recall(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, done: usize) {
    let kind = lane.plan.kind.name();
    if matches!(kind, "lola" | "linear" | "deltanet" | "gated_deltanet" | "mamba2") {
        let say = match self_recall(lane, exact, write, done) {
            Some(r) => Say::new(format!(
                "{} (SRE against the exact state of this step alone; cosine of what it returns with the value {})",
                number(r.error as f32),
                number(r.cosine as f32)
            )),
            None => Say::new("the exact state of this step is being computed"),
        };
        page.fact("recall error now", say);
    }
    let deleted = || assigned(lane, exact, write).is_some_and(|a| lane.deleted(a.row, done).is_some());
    if kind == "ovq" && !deleted() {
        let off = exact.at(lane.number, done).and_then(|state| {
            let row = assigned(lane, exact, write)?.row;
            let (keys, values) = (Rows::of(state, "dict_k", lane.kv)?, Rows::of(state, "dict_v", lane.kv)?);
            let value = distance(values.row(row), &lane.value(write));
            Some((1.0 - dot(&lane.key(write), keys.row(row)), value * value))
        });
        page.fact(
            "lost in its centroid",
            off.map_or_else(
                || Say::new("the exact state of this step is being computed"),
                |(key, value)| {
                    // Below this a length of 1 is off by rounding alone, and 1 - k.Dk may come out below 0.
                    let key = if key.abs() < 1e-6 { "0".to_owned() } else { number(key as f32) };
                    Say::new(format!("1 - k.Dk = {key}, |v - Dv|² = {} (from the exact state of this step)", number(value as f32)))
                },
            ),
        );
    }
    if let Some(found) = look.studies.retention.of(look.plan) {
        let probes = found.map.probes();
        let column = probes.columns().partition_point(|c| c.writes <= look.writes).checked_sub(1);
        let error = column.and_then(|column| {
            let token = probes.tokens().binary_search(&write).ok()?;
            Some((probes.columns()[column].step, found.map.error(lane.number, look.query_head, column, token)?))
        });
        if let Some((step, error)) = error {
            page.fact(
                "asked for by its key",
                Say::new(format!("relative error {} after {step} steps (", number(error))).panel("retention study", "retention").t(")"),
            );
        }
    }
}
