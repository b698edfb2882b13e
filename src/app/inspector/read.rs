//! What is said of a read: what it asks, what it may see, and what every lane answered.

use crate::app::facts::number;
use crate::metric::{ANSWER, ANSWER_MARGIN, CORRECT, COSINE, ERROR_SQ, TARGET_SQ};
use crate::panel::common::{quoted, token_name};
use crate::panel::formula::exact::LaneAt;
use crate::panel::{Look, Subject};
use crate::stream::Targets;

use super::page::{Item, Page, Part, Say};

/// The page of a read.
#[must_use]
pub fn page(look: &Look<'_>, read: usize) -> Page {
    let stream = &look.plan.stream;
    let labels = stream.labels();
    let text = labels.read_tokens.as_ref().and_then(|t| t.get(read)).map(|t| quoted(t));
    let mut page = Page { title: format!("Read {read}"), text, ..Page::default() };
    let role = labels.roles.of_read.get(read).and_then(|&r| labels.roles.names.get(usize::from(r)));
    page.fact("role", role.map_or("read", String::as_str));
    let after = stream.after().get(read).map_or(0, |&a| a as usize);
    if let Some(newest) = after.checked_sub(1) {
        let step = newest / look.plan.step;
        let mut say = Say::new(format!("the first {after} of {} writes; the newest is ", stream.writes())).token(look, newest).t(", in ");
        say.0.push(Part::Step(format!("step {step}"), step));
        page.fact("may see", say);
    }
    if let Some(before) = stream.follows(read) {
        page.fact("asked with", Say::new("the lane's own answer to ").link(format!("read {before}"), Subject::Read(before)));
    }
    page.fact("right answer", right(look, read));
    if after > look.writes {
        page.say("The playhead stands before this read.");
        return page;
    }
    for number in 0..look.lanes.len() {
        let Some(lane) = LaneAt::of(look, number) else { continue };
        page.items.push(Item::Lane(number));
        if after > lane.written(lane.plan.chunks_at(look.writes)) {
            page.say("It has not come to this read yet.");
            continue;
        }
        answer(&mut page, look, &lane, read);
        weights(&mut page, look, &lane, read);
    }
    page.say(Say::new("The panels ").panel("Reads", "reads").t(" and ").panel("Formula", "formula").t(" show how the answers came about."));
    page
}

fn right(look: &Look<'_>, read: usize) -> Say {
    let stream = &look.plan.stream;
    let at = stream.labels().answer_at.as_ref().and_then(|a| a.get(read)).map(|&w| w as usize);
    let named = |say: Say| match at {
        Some(write) => say.t(", of ").link(token_name(stream, write), Subject::Token(write)),
        None => say,
    };
    match stream.targets() {
        Targets::Codes { target, .. } => named(Say::new(format!("code {}", target.get(read).copied().unwrap_or_default()))),
        Targets::Values(_) => named(Say::new("a vector")),
        Targets::FullAttention => Say::new("what full attention returns"),
        Targets::None => Say::new("not known"),
    }
}

fn answer(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, read: usize) {
    let get = |name: &str| lane.number(name, read);
    if let Some(correct) = get(CORRECT) {
        let code = get(ANSWER).map_or_else(String::new, |c| if c < 0.0 { " (no code)".to_owned() } else { format!(" (code {c:.0})") });
        let margin = get(ANSWER_MARGIN).map_or_else(String::new, |m| format!(", ahead of the second by {}", number(m as f32)));
        page.fact("answer", format!("{}{code}{margin}", if correct > 0.5 { "right" } else { "wrong" }));
    } else if let (Some(error), Some(target)) = (get(ERROR_SQ), get(TARGET_SQ)) {
        let cosine = get(COSINE).map_or_else(String::new, |c| format!(", cosine {}", number(c as f32)));
        let relative = if target > 0.0 { number((error / target).sqrt() as f32) } else { "-".to_owned() };
        let of = if matches!(look.plan.stream.targets(), Targets::FullAttention) { "full attention's output" } else { "the target" };
        page.fact("error", format!("{relative} of the length of {of}{cosine}"));
    }
    if let Some([w, c, s]) = lane.numbers("shares", read).as_deref().and_then(|s| <[f64; 3]>::try_from(s).ok()) {
        page.fact(
            "its weight from",
            Say::new(format!("window {:.1}%, cache {:.1}%, state {:.1}% (", w * 100.0, c * 100.0, s * 100.0))
                .panel("shares", "shares")
                .t(")"),
        );
    }
}

/// The tokens that weigh most, where they have been weighed.
fn weights(page: &mut Page, look: &Look<'_>, lane: &LaneAt<'_>, read: usize) {
    let study = &look.studies.effective;
    if !study.is_of(look.plan, read, look.query_head) {
        return;
    }
    let Some(weights) = study.lane(lane.number).and_then(|f| f.weights()) else { return };
    let values = weights.envelope.values();
    let mut order: Vec<usize> = (0..values.len()).collect();
    let large = |a: &usize, b: &usize| values[*b].abs().total_cmp(&values[*a].abs());
    if order.len() > 3 {
        order.select_nth_unstable_by(2, large);
        order.truncate(3);
    }
    order.sort_by(large);
    let mut say = Say::default();
    for (i, write) in order.into_iter().enumerate() {
        say = if i > 0 { say.t(", ") } else { say };
        say = say.token(look, write).t(format!(" {:.3} ({})", values[write], weights.stores[write].name()));
    }
    page.fact("weighs most", say);
}
