//! What is said of a pair in a sparse cache: its score, its rank, who is next to go.

use crate::app::facts::{Index, number};
use crate::layer::lola::residency::Place;
use crate::panel::formula::exact::LaneAt;
use crate::panel::{Look, Subject};
use crate::session::hand;

use super::page::{Page, Say};

/// What is said of a threshold beside the score of a pair that it does not hold for.
const KEPT: &str = ", of the pairs not kept by hand: a hand keeps this one, whatever its score";

/// The page of the pair `write` in the cache of a lane.
#[must_use]
pub fn page(look: &Look<'_>, index: &mut Index, lane: &LaneAt<'_>, write: usize) -> Page {
    let text = crate::app::timeline_bar::token_text(look.plan, write);
    let mut page = Page { title: "Cache slot".to_owned(), text, ..Page::default() };
    let done = lane.plan.chunks_at(look.writes);
    page.lane(look, lane, done.saturating_sub(1));
    page.say(Say::new("It holds ").token(look, write).t(", key and value as they were written."));
    let Some(residency) = index.residency(look, lane.number) else {
        page.say("This lane has no sparse cache.");
        return page;
    };
    let (entered, left) = (residency.entered(write).filter(|s| *s < done), residency.left(write).filter(|s| *s < done));
    if let Some(step) = entered {
        page.fact("admitted", Say::new("in ").step(look, lane, step));
    }
    if residency.at(write, done) != Place::Cache {
        page.say(match (entered, left) {
            (_, Some(step)) if lane.evicted(write, step) => {
                Say::new("It is no longer in the cache: a hand evicted it at the end of ").step(look, lane, step).t(".")
            }
            (_, Some(step)) => Say::new("It is no longer in the cache: it was displaced in ").step(look, lane, step).t("."),
            (None, None) => Say::new("It is not in the cache at this step."),
            (Some(_), None) => Say::new("It has not left the cache, as far as the run has come."),
        });
        return page;
    }
    let cached: Vec<usize> = (0..residency.window_range(done).start).filter(|&w| residency.at(w, done) == Place::Cache).collect();
    let room = lane.plan.setup.params.size("cache");
    page.fact("pairs in the cache", format!("{} of {room}", cached.len()));
    let Some(step) = done.checked_sub(1) else { return page };
    let (Some(ids), Some(scores)) = (lane.numbers("candidates", step), lane.numbers("candidate_scores", step)) else { return page };
    let score = |write: usize| {
        let place = ids.binary_search_by(|id| id.total_cmp(&(write as f64))).ok()?;
        scores.get(place).copied()
    };
    let mut ranked: Vec<(usize, f64)> = cached.iter().filter_map(|&w| Some((w, score(w)?))).collect();
    // The largest first; of equal ones the older stays longer.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let Some(place) = ranked.iter().position(|(w, _)| *w == write) else {
        page.fact("score now", "not recorded: the trace holds only the scores of those that leave the window");
        return page;
    };
    page.fact("score now", Say::new(format!("{}, given in ", number(ranked[place].1 as f32))).step(look, lane, step));
    page.fact("rank", format!("{} of {}, by that score", place + 1, ranked.len()));
    // Infinite where every pair is kept by hand.
    if let Some(threshold) = lane.number("threshold", step).filter(|t| t.is_finite()) {
        let kept = hand::keeps(&lane.plan.setup.hands, lane.kv, write, step);
        page.fact("admission threshold", format!("{}{}", number(threshold as f32), if kept { KEPT } else { "" }));
    }
    next(&mut page, look, lane, (write, done), &ranked, cached.len() < room);
    page
}

/// Whether the pair can be displaced, and who is the next to be; `ranked` has the largest score first.
fn next(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, (write, done): (usize, usize), ranked: &[(usize, f64)], room: bool) {
    let kept = |write: usize| hand::keeps(&lane.plan.setup.hands, lane.kv, write, done);
    if kept(write) {
        page.fact("will be displaced", "kept by hand: never");
    }
    let say = match last(ranked, kept) {
        _ if room => Say::new("nobody, while there is room"),
        None => Say::new("nobody: all are kept by hand"),
        Some((last, _)) if last == write => Say::new("this one, if scores stay as they are (all are scored anew at every update)"),
        Some((last, score)) => Say::default()
            .link(crate::panel::common::token_name(&look.plan.stream, last), Subject::Slot { lane: lane.number, write: last })
            .t(format!(" with {}, if scores stay as they are", number(score as f32))),
    };
    page.fact("next to be displaced", say);
}

/// The last of those that are not kept by hand.
fn last(ranked: &[(usize, f64)], kept: impl Fn(usize) -> bool) -> Option<(usize, f64)> {
    ranked.iter().rev().copied().find(|(write, _)| !kept(*write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_kept_by_hand_is_not_the_next_to_go() {
        let ranked = [(7, 3.0), (2, 2.0), (5, 1.0)];
        assert_eq!(last(&ranked, |_| false), Some((5, 1.0)));
        assert_eq!(last(&ranked, |write| write == 5), Some((2, 2.0)));
        assert_eq!(last(&ranked, |_| true), None);
    }
}
