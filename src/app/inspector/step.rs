//! What is said of a step: which writes it holds, and what it did to every lane.

use crate::app::facts::number;
use crate::panel::Look;
use crate::panel::common::plural;
use crate::panel::formula::exact::LaneAt;

use super::page::{Page, Part, Say, step_of};

/// The page of a step of the timeline.
#[must_use]
pub fn page(look: &Look<'_>, step: usize) -> Page {
    let mut page = Page { title: format!("Step {step}"), ..Page::default() };
    let stream = &look.plan.stream;
    let writes = look.plan.writes_at(step)..look.plan.writes_at(step + 1);
    if writes.is_empty() {
        page.say("The stream ends before it.");
        return page;
    }
    let say = Say::new(format!("{}: ", plural(writes.len(), "write", "writes")))
        .token(look, writes.start)
        .t(" to ")
        .token(look, writes.end - 1)
        .t(".");
    page.say(say);
    let reads = stream.reads_within(writes.clone());
    if reads.is_empty() {
        page.fact("reads", "none");
    } else {
        let mut say = Say::new(format!("{}: ", plural(reads.len(), "read", "reads")))
            .link(format!("read {}", reads.start), crate::panel::Subject::Read(reads.start));
        if reads.len() > 1 {
            say = say.t(" to ").link(format!("read {}", reads.end - 1), crate::panel::Subject::Read(reads.end - 1));
        }
        page.fact("reads", say);
    }
    if look.writes != writes.end {
        let at = if look.writes > writes.start && look.writes < writes.end {
            "in the middle of it"
        } else if look.writes < writes.end {
            "before it"
        } else {
            "after it"
        };
        page.say(Say(vec![
            Part::Words(format!("The playhead is {at}; ")),
            Part::Step("go to just after it".to_owned(), step),
            Part::Words(".".to_owned()),
        ]));
    }
    for number in 0..look.lanes.len() {
        let Some(lane) = LaneAt::of(look, number) else { continue };
        // The chunk of the lane that ends in this step, if one does.
        let (before, after) = (lane.plan.chunks_at(writes.start), lane.plan.chunks_at(writes.end));
        page.lane(look, &lane, before);
        if before == after {
            let mut say = Say::new("Its memory does not change in this step: its chunk ends in ");
            say = say.step(look, &lane, after).t(".");
            page.say(say);
            continue;
        }
        // A step is the smallest chunk of all lanes: no more than one ends in it.
        of_lane(&mut page, look, &lane, after - 1);
    }
    page
}

fn of_lane(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, chunk: usize) {
    debug_assert!(step_of(look, lane, chunk) < look.plan.steps());
    let writes = lane.written(chunk)..lane.written(chunk + 1);
    let before = page.items.len();
    if let Some(after) = lane.number("sizes", chunk) {
        let old = chunk.checked_sub(1).and_then(|c| lane.number("sizes", c)).unwrap_or(0.0);
        page.fact("rows in use", Say::new(format!("from {old} to {after} (")).panel("growth", "growth").t(")"));
    }
    let is_new = lane.wholes("is_new");
    if writes.end <= is_new.len() {
        let founders: Vec<usize> = writes.clone().filter(|&w| is_new[w] == 1).collect();
        page.fact(format!("founders ({})", founders.len()), Say::default().tokens(look, &founders, 6));
    }
    if let Some(margin) = lane.number("select_margin", chunk) {
        // Infinite where all or none founded, or were admitted, and where chance decided.
        let random = lane.plan.kind.name() == "ovq" && lane.plan.setup.params.choice("founding") == "random";
        let without = if random { "none: chance chose the founders" } else { "nothing had to be chosen" };
        page.fact("margin of the choice", if margin.is_finite() { number(margin as f32) } else { without.to_owned() });
    }
    moves(page, look, lane, chunk);
    if let Some(threshold) = lane.number("threshold", chunk) {
        let text = if threshold.is_nan() { "none: the cache is not full".to_owned() } else { number(threshold as f32) };
        let size = lane.plan.setup.params.size("cache");
        page.fact("admission threshold", if size == 0 { "there is no cache".to_owned() } else { text });
    }
    if let Some(norm) = lane.number("state_norm", chunk) {
        page.fact("length of the state, |S|", number(norm as f32));
    }
    let errors: Vec<(usize, f64)> = writes.filter_map(|w| Some((w, lane.number("write_error", w)?))).collect();
    if let Some(worst) = errors.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }) {
        let mean = errors.iter().map(|e| e.1).sum::<f64>() / errors.len() as f64;
        page.fact(
            "write error",
            Say::new(format!("mean {}, largest {} at ", number(mean as f32), number(worst.1 as f32))).token(look, worst.0),
        );
    }
    if page.items.len() == before {
        let computed = lane.trace.complete(crate::trace::Axis::Read).is_some_and(|n| n > 0 || lane.stream().reads() == 0);
        page.say(if computed { "Its writes were added; this layer tells no more of a step." } else { "Not computed yet." });
    }
}

/// Who came into the cache in a chunk, and who went from it.
fn moves(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, chunk: usize) {
    for name in ["admitted", "displaced"] {
        let Some(ids) = lane.numbers(name, chunk) else { continue };
        let writes: Vec<usize> = ids.iter().map(|&id| id as usize).collect();
        let mut say = Say::default().tokens(look, &writes, 6);
        // What a hand does after the chunk is listed with it.
        let by_hand: Vec<usize> = writes.iter().copied().filter(|&w| name == "displaced" && lane.evicted(w, chunk)).collect();
        if !by_hand.is_empty() {
            say = say.t("; of them by hand: ").tokens(look, &by_hand, 6);
        }
        page.fact(format!("{name} ({})", writes.len()), say);
    }
}
