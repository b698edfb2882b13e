//! The equation of a read's answer: where its weight is, the largest term with all that makes it, and what the lane recorded.

use std::fmt::Write as _;

use crate::layer::effective::Store;
use crate::layer::real::EPSILON;
use crate::panel::Subject;
use crate::panel::common::token_name;

use super::equation::{Equation, Piece, Shown, num};
use super::exact::{Exact, LaneAt, norm};
use super::layers::missing;
use super::mixing::{self, Mix, Of, Weight};
use super::recurrence;

/// The largest logit, which is taken out of every exponent: not m, which is LAYERS.md's number of new rows.
const TOP: &str = r"z_<\t<max>>";

/// A number in the notation with six significant digits: what stands in an exponent, or below a fraction line, is reckoned with,
/// and four digits of it do not give the four of the share.
fn fine(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 || !size.is_finite() {
        return num(x);
    }
    let text = if (1e-4..1e7).contains(&size) {
        let digits = (5 - size.log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{x:.5e}")
    };
    format!(r"\t<{}>", text.replace('-', "−"))
}

/// A term whose value is shown with six digits.
fn fine_term(e: &mut Equation, symbol: &str, value: f64, what: impl Into<String>, panel: Option<&'static str>) -> Shown {
    e.named(symbol, &fine(value), format!("{value}"), what, panel)
}

/// What is added to phi.s over `t` writes, by its sign and by its number: where linear attention adds the epsilon to the mean over
/// them, it is t times as much.
pub(super) fn epsilon(lane: &LaneAt<'_>, t: usize) -> (String, String) {
    // The usual epsilon is written as everybody writes it.
    let number = |x: f64| if x.to_bits() == EPSILON.to_bits() { r"\t<1e−6>".to_owned() } else { num(x) };
    let params = &lane.plan.setup.params;
    if lane.plan.kind.name() != "linear" {
        return (r"\eps".to_owned(), number(EPSILON));
    }
    let value = number(params.float("epsilon"));
    if params.choice("epsilon_at") == "mean" {
        (r"t \eps".to_owned(), format!(r"{} \times {value}", num(t as f64)))
    } else {
        (r"\eps".to_owned(), value)
    }
}

/// How a store is named in a formula, and the panel that draws it.
fn store(store: Store) -> (&'static str, Option<&'static str>) {
    match store {
        Store::Centroid => ("centroids", Some("assignments")),
        Store::Window => ("window", Some("shares")),
        Store::Cache => ("cache", Some("residency")),
        Store::State => ("state", Some("shares")),
        Store::Chunk => ("chunk", Some("reads")),
        _ => ("all", Some("reads")),
    }
}

/// The read of a layer that divides by a sum of weights.
pub(super) fn mixed(lane: &LaneAt<'_>, read: usize, mix: &Mix, heading: String) -> Equation {
    let mut e = Equation::new(heading);
    match lane.plan.kind.name() {
        "ovq" => {
            e.line(r"\b<o> = \sum_<j> p_j \b<Dv>_j ~+ \sum_<i> p_i \b<v>_i");
            let bias = if lane.plan.setup.params.flag("count_bias") { r" + \t<log> c_j" } else { "" };
            e.line(&format!(
                r"p_j = \frac<1><Z> e^<\beta \b<q>*\b<Dk>_j{bias} - {TOP}>~\t<    >p_i = \frac<1><Z> e^<\beta \b<q>*\b<k>_i - {TOP}>"
            ));
        }
        "vq" => {
            e.line(&format!(r"\b<o> = \sum_<c> p_c \b<V>_c~\t<    >p_c = \frac<1><Z> e^<\beta \b<q>*\b<code>_c + \t<log> n_c - {TOP}>"));
        }
        "lola" => e.line(
            r"\b<o> = \frac<\sum_<i> e^<\beta \b<q>*\b<k>_i> \b<v>_i + w \phi(\b<q>)^<\t<T>> \b<H>><\sum_<i> e^<\beta \b<q>*\b<k>_i> + w \phi(\b<q>)^<\t<T>> \b<s> + \eps>",
        ),
        "linear" => {
            let (sign, _) = epsilon(lane, 0);
            e.line(&format!(r"\b<o> = \frac<\phi(\b<q>)^<\t<T>> \b<H>><\phi(\b<q>)^<\t<T>> \b<s> + {sign}>"));
        }
        _ => e.line(&format!(r"\b<o> = \sum_<i> p_i \b<v>_i~\t<    >p_i = \frac<1><Z> e^<\beta \b<q>*\b<k>_i - {TOP}>")),
    }
    if lane.plan.kind.name() == "linear" {
        ratio(&mut e, lane, lane.after(read).unwrap_or_default(), mix);
    } else {
        shares(&mut e, lane, mix);
    }
    if let Some(first) = mix.largest.first() {
        largest(&mut e, lane, mix, first);
    }
    output(&mut e, lane, read, &mix.output);
    others(&mut e, lane, mix);
    e
}

/// The numerator and the normaliser of linear attention, of a read that sees `t` writes.
fn ratio(e: &mut Equation, lane: &LaneAt<'_>, t: usize, mix: &Mix) {
    let part = mix.parts.first().map_or(0.0, |p| norm(&p.adds) * mix.normaliser);
    let top = e.term(
        r"|\phi(\b<q>)^<\t<T>> \b<H>|",
        part,
        "length of the numerator: the features of the query times the state H",
        Some("retention"),
    );
    let below = e.term(
        r"\phi(\b<q>)^<\t<T>> \b<s>",
        mix.phi_s.unwrap_or(f64::NAN),
        "how much has been written under keys like this query: phi(q) times the sum s of the features of all keys",
        Some("reads"),
    );
    let (sign, number) = epsilon(lane, t);
    let what = if lane.plan.setup.params.choice("epsilon_at") == "mean" {
        "keeps an empty state from dividing by zero; added to the mean over the t writes that the read sees, it is t times as much in the sum"
    } else {
        "keeps an empty state from dividing by zero"
    };
    let eps = e.named(&sign, &number, mix.epsilon.to_string(), what, None);
    e.line(&format!(
        r"|\b<o>| = \frac<{}><{} + {}> = \frac<{}><{} + {}>~ = {}",
        top.s,
        below.s,
        eps.s,
        top.v,
        below.v,
        eps.v,
        num(norm(&mix.output))
    ));
}

/// The normaliser by its parts, and their shares.
fn shares(e: &mut Equation, lane: &LaneAt<'_>, mix: &Mix) {
    let what = "taken out of every exponent, so that none overflows: the largest logit (of LoLA at least 0)";
    let top = fine_term(e, TOP, mix.top, what, None);
    match &mix.parts[..] {
        // Of one memory, with no epsilon, the normaliser is that memory's sum.
        [only] if mix.epsilon == 0.0 => {
            let what = format!("the normaliser: the sum of e^(logit - z_max) over {} terms", only.terms);
            let z = fine_term(e, "Z", mix.normaliser, what, store(only.store).1);
            e.line(&format!(r"{} = {}~\t<    >({} = {})", z.s, z.v, top.s, top.v));
        }
        _ => normaliser(e, mix, &top),
    }
    if let (Some(w), Some(phi)) = (mixing::linear_weight(lane), mix.phi_s) {
        let w = fine_term(e, "w", w, "the weight of the state: (1 - g) / g of a LoLCATs gate g", None);
        let what = "how much has been folded under keys like this query";
        let phi = fine_term(e, r"\phi(\b<q>)^<\t<T>> \b<s>", phi, what, Some("shares"));
        e.line(&format!(r"Z_<\t<state>> = {} {} e^<-{TOP}> = {} \times {} \times e^<{}>", w.s, phi.s, w.v, phi.v, fine(-mix.top)));
    }
    if mix.parts.len() < 2 {
        return;
    }
    let mut text = Vec::new();
    for part in &mix.parts {
        let (title, panel) = store(part.store);
        let what = format!(
            "the part of the normaliser, and so of all weight, that belongs to {title}; it adds a vector of length {:.4} to the output",
            norm(&part.adds)
        );
        let share = e.term(&format!(r"\t<share of {title}>"), part.share, what, panel);
        text.push(format!(r"{}\t< ({title})>", share.v));
    }
    let rest = if mix.epsilon > 0.0 { format!(" ~+ {}", num(mix.epsilon / mix.normaliser)) } else { String::new() };
    e.line(&format!(r"\t<shares: >{}{rest} ~= 1", text.join(" ~+ ")));
}

/// The normaliser as a sum over the memories, and the epsilon.
fn normaliser(e: &mut Equation, mix: &Mix, top: &Shown) {
    let mut sums = Vec::new();
    for part in &mix.parts {
        let (title, panel) = store(part.store);
        let what = if part.store == Store::State {
            "the state's part of the normaliser: w phi(q).s, times e^(-z_max)".to_owned()
        } else {
            format!("the sum of e^(logit - z_max) over {} terms", part.terms)
        };
        sums.push(fine_term(e, &format!(r"Z_<\t<{title}>>"), part.sum, what, panel));
    }
    if mix.epsilon > 0.0 {
        let what = "the epsilon 1e-6, with z_max taken out too";
        sums.push(fine_term(e, &format!(r"\eps e^<-{TOP}>"), mix.epsilon, what, None));
    }
    let z = fine_term(e, "Z", mix.normaliser, "the normaliser: the sum of all of them", None);
    let join = |of: Vec<&str>| of.join(" ~+ ");
    let (symbols, values) = (join(sums.iter().map(|x| x.s.as_str()).collect()), join(sums.iter().map(|x| x.v.as_str()).collect()));
    e.line(&format!(r"{} = {symbols} ~= {values} ~= {}~\t<    >({} = {})", z.s, z.v, top.s, top.v));
}

fn of_name(lane: &LaneAt<'_>, of: Of) -> (String, Subject) {
    match of {
        Of::Token(write) => (token_name(lane.stream(), write), Subject::Token(write)),
        Of::Row(row) => {
            let name = if lane.plan.kind.name() == "vq" { "code" } else { "centroid" };
            (format!("{name} {row}"), Subject::Centroid { lane: lane.number, row })
        }
    }
}

/// The largest term, with all that makes it.
fn largest(e: &mut Equation, lane: &LaneAt<'_>, mix: &Mix, first: &Weight) {
    let (name, subject) = of_name(lane, first.of);
    let beta = fine_term(e, r"\beta", mix.beta, "the logit scale", None);
    let row = matches!(first.of, Of::Row(_));
    let index = match first.of {
        Of::Token(i) | Of::Row(i) => i,
    };
    let fixed = lane.plan.kind.name() == "vq";
    let symbol = match (row, fixed) {
        (true, true) => r"\b<q>*\b<code>",
        (true, false) => r"\b<q>*\b<Dk>",
        (false, _) => r"\b<q>*\b<k>",
    };
    let product = fine_term(
        e,
        &format!("{symbol}_<{index}>"),
        first.product,
        format!("the dot product of the query and the key of {name}"),
        Some(if row { "assignments" } else { "reads" }),
    );
    e.selects(subject);
    let counted = row && (fixed || lane.plan.setup.params.flag("count_bias"));
    let (mut s, mut v) = (format!("{} {}", beta.s, product.s), format!(r"{} \times {}", beta.v, product.v));
    if counted {
        let symbol = if fixed { "n" } else { "c" };
        let c = e.term(&format!("{symbol}_<{index}>"), first.count, format!("how many tokens {name} stands for"), Some("counts"));
        e.selects(subject);
        let _ = write!(s, r" + \t<log >{}", c.s);
        let _ = write!(v, r" + \t<log >{}", c.v);
    }
    let share = e.term(&format!("p_<{index}>"), first.share, format!("the weight of {name}, the largest there is"), Some("reads"));
    e.selects(subject);
    let (top, whole) = (fine(mix.top), fine(mix.normaliser));
    e.line(&format!(r"{} = \frac<e^<{s} - {TOP}>><Z> ~= \frac<e^<{v} - {top}>><{whole}> ~= {}", share.s, share.v));
}

/// What the lane recorded, beside what the numbers give.
fn output(e: &mut Equation, lane: &LaneAt<'_>, read: usize, output: &[f64]) {
    let Some(recorded) = lane.output(read) else { return };
    let o = e.term(r"|\b<o>|", norm(&recorded), "the length of the output that the lane recorded", Some("reads"));
    let off = e.term(
        r"|\b<o> - \b<o>\t<'>|",
        super::exact::distance(&recorded, output),
        "how far the output made of the numbers shown here, in float64, is from the one recorded: rounding, where nothing is wrong",
        None,
    );
    e.line(&format!(r"\t<recorded: >{} = {}~\t<, off by >{}", o.s, o.v, off.v));
}

/// The largest weights after the first, as links.
fn others(e: &mut Equation, lane: &LaneAt<'_>, mix: &Mix) {
    if mix.largest.is_empty() {
        return;
    }
    let mut words = vec![Piece::Words("Largest weights: ".to_owned())];
    for (i, weight) in mix.largest.iter().enumerate() {
        let (name, subject) = of_name(lane, weight.of);
        words.push(Piece::Link(name, subject));
        let end = if i + 1 == mix.largest.len() { "." } else { ", " };
        words.push(Piece::Words(format!(" {:.4} ({}){end}", weight.share, store(weight.store).0)));
    }
    e.words.push(words);
}

/// The read of a recurrent layer.
pub(super) fn state_read(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize, heading: String) -> Equation {
    let Some(r) = recurrence::read(lane, exact, read) else { return missing(heading, exact) };
    let mut e = Equation::new(heading);
    e.line(r"\b<o> = \b<S>^<\t<T>> \b<q>");
    let s = e.term(r"|\b<S>|", r.state, "the length of the state as the read's last visible write left it", Some("retention"));
    let q = e.term(r"|\b<q>|", r.query, "the length of the query as it is used (the delta rule takes it at length 1)", None);
    let o = e.term(r"|\b<S>^<\t<T>> \b<q>|", norm(&r.output), "the length of what the state answers", Some("reads"));
    e.line(&format!(r"{} = {}~\t<,  >{} = {}~\t<,  >{} = {}", s.s, s.v, q.s, q.v, o.s, o.v));
    output(&mut e, lane, read, &r.output);
    e
}
