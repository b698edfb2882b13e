//! What is said of a centroid or code: count, founder, members, neighbours, drift.

use crate::app::facts::number;
use crate::panel::Look;
use crate::panel::common::plural;
use crate::panel::formula::dictionary::update;
use crate::panel::formula::exact::{Exact, LaneAt, distance, dot, norm};
use crate::panel::formula::mixing::dictionary;

use super::page::{Page, Say};

/// The page of row `row` of a lane's dictionary.
#[must_use]
pub fn page(look: &Look<'_>, exact: &Exact<'_>, lane: &LaneAt<'_>, row: usize) -> Page {
    let fixed = lane.plan.kind.name() == "vq";
    let mut page = Page { title: format!("{} {row}", if fixed { "Code" } else { "Centroid" }), ..Page::default() };
    let done = lane.plan.chunks_at(look.writes);
    let seen = lane.written(done);
    let rows = lane.wholes("assignments");
    let members: Vec<usize> = (0..seen.min(rows.len())).filter(|&w| usize::try_from(rows[w]) == Ok(row)).collect();
    page.lane(look, lane, members.first().map_or(done.saturating_sub(1), |first| first / lane.chunk()));
    if members.is_empty() {
        page.say(unused(look, lane, row, fixed));
        return page;
    }
    let (count, deleted) = (plural(members.len(), "token", "tokens"), lane.deleted(row, done));
    page.say(match deleted {
        Some(chunks) => Say::deleted(look, lane, row, chunks).t(format!(" It stood for {count}.")),
        None => Say::new(format!("It stands for {count} after {}.", plural(seen, "write", "writes"))),
    });
    let is_new = lane.wholes("is_new");
    let founder = members.iter().copied().find(|&w| is_new.get(w) == Some(&1));
    if let Some(founder) = founder {
        page.fact("founded by", Say::default().token(look, founder).t(" in ").step(look, lane, founder / lane.chunk()));
        founding(&mut page, lane, founder);
    } else if !fixed {
        page.say("Its founder was taken from it by a hand.");
    }
    if let Some(&last) = members.last() {
        page.fact("last used", Say::default().token(look, last).t(" in ").step(look, lane, last / lane.chunk()));
    }
    let others: Vec<usize> = members.iter().rev().copied().filter(|w| Some(*w) != founder).collect();
    page.fact("newest members", Say::default().tokens(look, &others, 6));
    if deleted.is_some() {
        return page;
    }
    if let Some(state) = exact.at(lane.number, done) {
        if !fixed {
            geometry(&mut page, look, lane, state, row, founder);
            last_update(&mut page, look, lane, exact, row, &members);
        }
    } else {
        page.fact("nearest other, drift", "the exact state of this step is being computed");
    }
    page
}

/// A row that no token has gone to yet.
fn unused(look: &Look<'_>, lane: &LaneAt<'_>, row: usize, fixed: bool) -> Say {
    let later = lane.wholes("assignments").iter().position(|&r| usize::try_from(r) == Ok(row));
    match later {
        Some(write) if fixed => Say::new("It stands for no token yet: the first comes in ").step(look, lane, write / lane.chunk()).t("."),
        Some(write) => Say::new("Not founded yet: it will be in ").step(look, lane, write / lane.chunk()).t("."),
        None => Say::new("No token has gone to it, as far as the run has come."),
    }
}

/// How near its founder was to what there was before it. Before the first chunk there is no centroid: there the channel holds the
/// similarity to the first key.
fn founding(page: &mut Page, lane: &LaneAt<'_>, founder: usize) {
    let Some(similarity) = lane.number("similarity", founder) else { return };
    let similarity = number(similarity as f32);
    if founder == 0 {
        page.fact("its similarity then", "none: the first key founds row 0");
    } else if founder < lane.chunk() {
        page.fact("its similarity then", format!("{similarity}, to the first key"));
    } else {
        page.fact("its best similarity then", similarity);
    }
}

/// The nearest other centroid, and how far it has drifted from its founder.
fn geometry(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, state: &crate::layer::Snapshot, row: usize, founder: Option<usize>) {
    let Some((keys, values, counts)) = dictionary(state, lane.kv) else { return };
    if row >= keys.len() {
        return;
    }
    let own = keys.row(row);
    // A row that a hand deleted has a key of zeros and is nobody's neighbour.
    let alive = |r: &usize| counts.row(*r).first().is_some_and(|c| *c > 0.0);
    let others = (0..keys.len()).filter(|r| *r != row && alive(r)).map(|r| (r, dot(own, keys.row(r))));
    let nearest = others.reduce(|best, x| if x.1 > best.1 { x } else { best });
    if let Some((other, similarity)) = nearest {
        let cosine = similarity / (norm(own) * norm(keys.row(other))).max(f64::MIN_POSITIVE);
        let say =
            Say::default().row(lane, other).t(format!(", dot product {}, cosine {}", number(similarity as f32), number(cosine as f32)));
        page.fact("nearest other", say);
    }
    page.fact("length of its key", format!("{} (1 for a single unit key; shorter, the more its members differ)", number(norm(own) as f32)));
    if let Some(founder) = founder {
        let (key, value) = (lane.key(founder), lane.value(founder));
        let cosine = dot(own, &key) / (norm(own) * norm(&key)).max(f64::MIN_POSITIVE);
        page.fact(
            "drift since founding",
            Say::new(format!(
                "key {} (cosine {}), value {}, from ",
                number(distance(own, &key) as f32),
                number(cosine as f32),
                number(distance(values.row(row), &value) as f32)
            ))
            .token(look, founder),
        );
    }
}

fn last_update(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, exact: &Exact<'_>, row: usize, members: &[usize]) {
    let Some(step) = members.last().map(|w| w / lane.chunk()) else { return };
    let Some(u) = update(lane, exact, row, step) else { return };
    page.fact(
        "last update",
        Say::new(format!(
            "rate {}, its key moved by {}, its value by {}, in ",
            number(u.rate as f32),
            number(u.moved as f32),
            number(u.value_moved as f32)
        ))
        .step(look, lane, step),
    );
}
