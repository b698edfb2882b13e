//! The equations of a token's way into a dictionary: assignment or founding, growth, update.

use crate::layer::ovq::Counting;
use crate::panel::Subject;

use super::dictionary;
use super::equation::{Equation, Piece, Shown, num};
use super::exact::{Exact, LaneAt};
use super::layers::missing;

/// Assignment, growth and update around a token of a lane with a dictionary.
pub(super) fn dictionary_write(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, heading: impl Fn(&str) -> String) -> Vec<Equation> {
    let step = write / lane.chunk();
    let fixed = lane.plan.kind.name() == "vq";
    let mut all = Vec::new();
    let Some(at) = dictionary::assigned(lane, exact, write) else { return all };
    let key = if fixed { r"\b<code>" } else { r"\b<Dk>" };
    let mut e = Equation::new(heading(if at.founded { "Founding" } else { "Assignment" }));
    let row = e.term(
        "j",
        at.row as f64,
        if fixed { "the code that stands for the token" } else { "the row that it went to" },
        Some("assignments"),
    );
    e.selects(Subject::Centroid { lane: lane.number, row: at.row });
    // Before the first chunk there is no centroid: its similarities are to the stream's first key.
    let first = !fixed && step == 0;
    let sim = similarity(&mut e, at.similarity, fixed, first);
    if at.founded {
        founding(&mut e, lane, write, &row, (&sim, at.similarity));
    } else if first {
        e.line(&format!("{} = {}", row.s, row.v));
        e.line(&format!("{} = {}", sim.s, sim.v));
        e.say("Before the first chunk there is no centroid: those of its tokens that found none go to the first key's row.");
    } else {
        assignment(&mut e, lane, &at, (&row, &sim), key);
        if at.second.is_none() && !fixed && exact.missing() {
            e.say("Which row is the second nearest is known once the exact state before the step is here.");
        }
    }
    all.push(e);
    if fixed {
        all.push(code_update(lane, write, at.row, heading("Update")));
        return all;
    }
    all.extend(growth(lane, step));
    if !at.founded {
        all.push(update(lane, exact, at.row, step));
    }
    all
}

/// The term of a token's similarity: to a code, to the first key in the first chunk, else to a centroid.
fn similarity(e: &mut Equation, value: f64, fixed: bool, first: bool) -> Shown {
    let (symbol, what) = match (fixed, first) {
        (true, _) => (r"\b<k>*\b<code>", "the similarity to the nearest code (channel similarity)"),
        (false, true) => (r"\b<k>*\b<k>_<0>", "the similarity to the first key, which founds row 0 (channel similarity)"),
        (false, false) => (r"\b<k>*\b<Dk>", "the similarity to the nearest centroid before the chunk (channel similarity)"),
    };
    e.term(symbol, value, what, Some("assignments"))
}

/// The lines of a token that founded a row. Its similarity is given as it is shown, and as a number.
fn founding(e: &mut Equation, lane: &LaneAt<'_>, write: usize, row: &Shown, (sim, similarity): (&Shown, f64)) {
    let step = write / lane.chunk();
    let j = &row.v;
    e.line(&format!(r"\b<Dk>_<{j}> \to \b<k>, ~ \b<Dv>_<{j}> \to \b<v>, ~ c_<{j}> \to 1~\t< (and 1 more for each later member)>"));
    let most = if step == 0 { "" } else { r"\t<max>_<j> " };
    e.line(&format!("{most}{} = {}", sim.s, sim.v));
    if write == 0 {
        e.say("The first key founds row 0, whatever its similarity, which is to itself.");
        return;
    }
    match lane.plan.setup.params.choice("founding") {
        "random" => e.say("Chance chose it: random founding does not look at similarities, so there is no margin."),
        "farthest-point" => {
            let what = "the smallest gap in similarity between a founder of the chunk and the runner-up of its round, over all its rounds (channel select_margin)";
            if let Some(gap) = lane.number("select_margin", step).filter(|m| m.is_finite()) {
                let m = e.term(r"\t<founding margin of the chunk>", gap, what, None);
                e.line(&format!("{} = {}", m.s, m.v));
            }
            e.say(
                "It was the least similar to every centroid and to the founders of the chunk that were chosen before it; how near the next was in its round is not in the trace.",
            );
        }
        _ => founding_margin(e, lane, write, (sim, similarity)),
    }
}

/// By how much a founder was less similar than the token of its chunk that was refused first.
fn founding_margin(e: &mut Equation, lane: &LaneAt<'_>, write: usize, (sim, similarity): (&Shown, f64)) {
    let Some((other, least)) = dictionary::refused(lane, write) else {
        e.say("Every token of its chunk founded a row: none was refused, and there is no margin.");
        return;
    };
    let to = if write < lane.chunk() { r"\b<k>_<0>" } else { r"\b<Dk>" };
    let what = "the similarity of the least similar token of the chunk that founded no row (channel similarity)";
    let refused = e.term(&format!(r"\b<k>_<{other}>*{to}"), least, what, Some("assignments"));
    e.selects(Subject::Token(other));
    let m = e.term(r"\t<margin>", least - similarity, "how much more similar the chunk's first token was that founded no row", None);
    let own = if similarity < 0.0 { format!("({})", sim.v) } else { sim.v.clone() };
    e.line(&format!("{} = {} - {} ~= {} - {own} ~= {}", m.s, refused.s, sim.s, refused.v, m.v));
}

/// The lines of a token that went to the row that was nearest.
fn assignment(e: &mut Equation, lane: &LaneAt<'_>, at: &dictionary::Assigned, (row, sim): (&Shown, &Shown), key: &str) {
    let fixed = lane.plan.kind.name() == "vq";
    e.line(&format!(r"{} = \t<argmax>_<j> \b<k>*{key}_j = {}", row.s, row.v));
    let margin = e.term(r"\t<margin>", at.margin, "by how much it beat the second nearest (channel assign_margin)", Some("assignments"));
    let second = if at.margin.is_finite() {
        format!(r"~\t<,  second >{} = {}", num(at.similarity - at.margin), format_args!(r"{} - {}", sim.v, margin.v))
    } else {
        r"~\t<,  and there is no second>".to_owned()
    };
    e.line(&format!(r"{}_<{}> = {}{second}", sim.s, at.row, sim.v));
    if let Some((other, similarity)) = at.second {
        e.words.push(vec![
            Piece::Words("The second nearest is ".to_owned()),
            Piece::Link(
                format!("{} {other}", if fixed { "code" } else { "centroid" }),
                Subject::Centroid { lane: lane.number, row: other },
            ),
            Piece::Words(format!(" at {similarity:.4}, from {}.", if fixed { "the codebook" } else { "the exact state before the step" })),
        ]);
    }
}

/// The growth of an OVQ dictionary in a step.
#[must_use]
pub fn growth(lane: &LaneAt<'_>, step: usize) -> Option<Equation> {
    let g = dictionary::growth(lane, step)?;
    let mut e = Equation::new(format!("Growth in step {step}"));
    let t = e.term("t", g.t as f64, "writes so far, with this chunk", Some("growth"));
    let n_max = e.term("N", g.n_max as f64, "the room in the dictionary (the parameter n_max)", Some("growth"));
    let target = e.term("N(t)", g.target as f64, "rows that should be in use", Some("growth"));
    let exact = num(g.exact);
    match lane.plan.setup.params.choice("growth") {
        "saturating" => e.line(&format!(r"{} = \t<min>({}, {}) ~= \t<min>({}, {}) ~= {}", target.s, t.s, n_max.s, t.v, n_max.v, target.v)),
        "linear" => {
            let total = e.term("T", g.total as f64, "writes in the whole stream", None);
            e.line(&format!(
                r"{} = \lfloor\frac<{} {}><{}>\rfloor ~= \lfloor\frac<{} \times {}><{}>\rfloor ~= \lfloor{exact}\rfloor = {}",
                target.s, t.s, n_max.s, total.s, t.v, n_max.v, total.v, target.v
            ));
        }
        _ => e.line(&format!(
            r"{} = \lfloor\frac<{} {}><{} + {}>\rfloor ~= \lfloor\frac<{} \times {}><{} + {}>\rfloor ~= \lfloor{exact}\rfloor = {}",
            target.s, t.s, n_max.s, t.s, n_max.s, t.v, n_max.v, t.v, n_max.v, target.v
        )),
    }
    let before = e.term("n", g.before as f64, "rows in use before the chunk", Some("growth"));
    let m = e.term("m", g.after.saturating_sub(g.before) as f64, "rows founded in the chunk", Some("growth"));
    let after = e.term(r"n\t<'>", g.after as f64, "rows in use after the chunk (channel sizes)", Some("growth"));
    let difference = |a: &str, b: &str| if g.target < g.before { format!(r"\t<max>(0, {a} - {b})") } else { format!("{a} - {b}") };
    let (by_name, by_number) = (difference(&target.s, &before.s), difference(&target.v, &before.v));
    e.line(&format!(r"{} = {by_name} = {by_number} = {}~\t<,  >{} = {} + {} = {}", m.s, m.v, after.s, before.v, m.v, after.v));
    if lane.plan.setup.hands.is_empty() && g.after.saturating_sub(g.before) != g.target.saturating_sub(g.before) {
        e.say(format!("A chunk founds at most one row a write ({} here), and the first chunk at least one.", g.writes));
    }
    Some(e)
}

fn update(lane: &LaneAt<'_>, exact: &Exact<'_>, row: usize, step: usize) -> Equation {
    let heading = format!("Update of centroid {row} in step {step}");
    if lane.deleted(row, step + 1).is_some() {
        let mut e = Equation::new(heading);
        e.say("A hand deleted the row at the end of this step: nothing is left of it to compare.");
        return e;
    }
    if step == 0 {
        let mut e = Equation::new(heading);
        e.say("The row was founded in this very step: there is nothing before it to compare with.");
        return e;
    }
    let Some(u) = dictionary::update(lane, exact, row, step) else { return missing(heading, exact) };
    let mut e = Equation::new(heading);
    let subject = Subject::Centroid { lane: lane.number, row };
    // Not m: that is the number of rows that a chunk founds.
    let m = e.term(r"\t<members>", u.members.len() as f64, "tokens of the chunk that went to this row", Some("assignments"));
    let before = e.term("c", u.before as f64, "its count before", Some("counts"));
    e.selects(subject);
    let after = e.term(r"c\t<'>", u.after as f64, "its count after", Some("counts"));
    e.selects(subject);
    let sum = u.before + u.members.len();
    if sum != u.after && Counting::of(&lane.plan.setup.params) == Counting::Half {
        e.line(&format!(r"{} = \t<half>({} + {}) = \t<half>({} + {}) = {}", after.s, before.s, m.s, before.v, m.v, after.v));
        e.say(format!("Counts are half floats here, in which {sum} does not exist: it is rounded to {}, the nearest that does.", u.after));
    } else {
        e.line(&format!("{} = {} + {} = {} + {} = {}", after.s, before.s, m.s, before.v, m.v, after.v));
    }
    let constant = lane.plan.setup.params.choice("rate") == "constant";
    let rate = e.term("r", u.rate, "how far the row goes towards the mean of these tokens", None);
    if constant {
        e.line(&format!(r"{} = {}\t<  (constant)>", rate.s, rate.v));
    } else {
        e.line(&format!(r"{} = \frac<{}><{}> = \frac<{}><{}> = {}", rate.s, m.s, after.s, m.v, after.v, rate.v));
    }
    for (symbol, [old, mean, new], moved, what) in [(r"\b<Dk>", u.key, u.moved, "key"), (r"\b<Dv>", u.value, u.value_moved, "value")] {
        let letter = if what == "key" { r"\b<k>" } else { r"\b<v>" };
        e.line(&format!(r"{symbol} \to {symbol} + {} (\t<mean >{letter} - {symbol})", rate.v));
        if let Some(length) = u.scaled.filter(|_| what == "key") {
            let l =
                e.term(r"\t<length>", length, "the length of the row's key once it has moved, before it is scaled back to length 1", None);
            e.line(&format!(r"\t<then scaled to length 1: >{symbol} \to \frac<{symbol}><{}> = \frac<{symbol}><{}>", l.s, l.v));
        }
        let o = e.term(&format!("|{symbol}|"), old, format!("the length of the row's {what} before"), None);
        let mean = e.term(&format!(r"|\t<mean >{letter}|"), mean, format!("the length of the mean of the tokens' {what}s"), None);
        let n = e.term(&format!(r"|{symbol}\t<'>|"), new, format!("the length of the row's {what} after"), None);
        let d = e.term(r"\t<moved>", moved, format!("how far the row's {what} moved"), None);
        e.line(&format!(r"{} = {}~\t<,  >{} = {}~\t<,  >{} = {}~\t<,  moved >{}", o.s, o.v, mean.s, mean.v, n.s, n.v, d.v));
    }
    e
}

/// What a write did to its code's value.
fn code_update(lane: &LaneAt<'_>, write: usize, row: usize, heading: String) -> Equation {
    let mut e = Equation::new(heading);
    let codes = &lane.wholes("assignments")[..=write];
    let count = codes.iter().filter(|c| usize::try_from(**c) == Ok(row)).count();
    let n = e.term(&format!("n_<{row}>"), count as f64, "how many tokens the code stood for, with this one", Some("counts"));
    e.selects(Subject::Centroid { lane: lane.number, row });
    e.line(&format!(
        r"\b<V>_<{row}> \to \b<V>_<{row}> + \frac<1><{}> (\b<v> - \b<V>_<{row}>) ~= \b<V>_<{row}> + {} (\b<v> - \b<V>_<{row}>)",
        n.s,
        num(1.0 / count as f64)
    ));
    e.line(&format!("{} = {}", n.s, n.v));
    e.say("The code's key never moves: the codebook was fitted before the stream began.");
    e
}
