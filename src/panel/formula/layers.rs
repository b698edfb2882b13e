//! The equations of each layer, filled with the numbers of a read, a token or a step.

use std::fmt::Write as _;

use crate::layer::effective::Store;
use crate::panel::Subject;
use crate::panel::common::token_name;

use super::dictionary;
use super::equation::{Equation, Piece, num};
use super::exact::{Exact, LaneAt, norm};
use super::mixing::{self, Mix, Of, Weight};
use super::recurrence;

/// Of what the equations are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The read, and whether it was selected.
    pub read: Option<(usize, bool)>,
    /// The token, and whether it was selected.
    pub token: Option<(usize, bool)>,
    /// Chunks of the lane that are done.
    pub done: usize,
}

fn selected(by: bool, default: &str) -> String {
    if by { "selected".to_owned() } else { default.to_owned() }
}

/// Every equation of a lane's layer.
#[must_use]
pub fn equations(lane: &LaneAt<'_>, exact: &Exact<'_>, chosen: Chosen) -> Vec<Equation> {
    let name = lane.plan.kind.name();
    let mut all = Vec::new();
    if !lane.plan.setup.hands.is_empty() {
        let mut e = Equation::new("By hand");
        e.say("This lane's memory was changed by hand: across the step where that happened, what the layer's own equations say does not hold.");
        all.push(e);
    }
    if let Some((read, by)) = chosen.read {
        let which = selected(by, "the last before the playhead");
        let heading = |what: &str| format!("{what} of read {read} ({which})");
        if lane.after(read).is_some_and(|after| after > lane.written(chosen.done)) {
            let mut later = Equation::new(heading("Answer"));
            later.say("The playhead stands before this read.");
            all.push(later);
        } else if matches!(name, "deltanet" | "gated_deltanet" | "mamba2") {
            all.push(state_read(lane, exact, read, heading("Answer")));
        } else {
            let what = if name == "ovq" { "Prediction" } else { "Answer" };
            let mix = mixing::of(lane, exact, read);
            all.push(mix.map_or_else(|| missing(heading(what), exact), |mix| mixed(lane, read, &mix, heading(what))));
        }
    } else {
        let mut none = Equation::new("Answer");
        none.say("No read has been answered yet.");
        all.push(none);
    }
    if let Some((write, by)) = chosen.token {
        let default = match name {
            "ovq" => "the newest founder",
            "lola" => "the newest that was admitted",
            _ => "the newest",
        };
        let which = selected(by, default);
        let heading = |what: &str| format!("{what}: {} ({which})", token_name(lane.stream(), write));
        if write >= lane.written(chosen.done) {
            let mut later = Equation::new(heading("Write"));
            later.say("It is not in this lane's memory yet at the playhead.");
            all.push(later);
        } else {
            match name {
                "ovq" | "vq" => all.extend(dictionary_write(lane, exact, write, heading)),
                "lola" => all.extend(lola_write(lane, exact, write, chosen.done, heading)),
                "linear" => all.extend(linear_write(lane, exact, write, chosen.done, heading)),
                "deltanet" | "gated_deltanet" | "mamba2" => all.extend(state_write(lane, exact, write, chosen.done, heading)),
                _ => {}
            }
        }
    }
    all
}

fn missing(heading: String, exact: &Exact<'_>) -> Equation {
    let mut e = Equation::new(heading);
    e.say(if exact.missing() {
        "The exact state that the numbers are made of is being computed."
    } else {
        "It sees too many tokens to be summed up while you wait: select the read and open the panel Reads, which weighs them in the background."
    });
    e
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
fn mixed(lane: &LaneAt<'_>, read: usize, mix: &Mix, heading: String) -> Equation {
    let mut e = Equation::new(heading);
    match lane.plan.kind.name() {
        "ovq" => {
            e.line(r"\b<o> = \sum_<j> p_j \b<Dv>_j ~+ \sum_<i> p_i \b<v>_i");
            let bias = if lane.plan.setup.params.flag("count_bias") { r" + \t<log> c_j" } else { "" };
            e.line(&format!(r"p_j = \frac<1><Z> e^<\beta \b<q>*\b<Dk>_j{bias} - m>~\t<    >p_i = \frac<1><Z> e^<\beta \b<q>*\b<k>_i - m>"));
        }
        "vq" => {
            e.line(r"\b<o> = \sum_<c> p_c \b<V>_c~\t<    >p_c = \frac<1><Z> e^<\beta \b<q>*\b<code>_c + \t<log> n_c - m>");
        }
        "lola" => e.line(
            r"\b<o> = \frac<\sum_<i> e^<\beta \b<q>*\b<k>_i> \b<v>_i + w \phi(\b<q>)^<\t<T>> \b<H>><\sum_<i> e^<\beta \b<q>*\b<k>_i> + w \phi(\b<q>)^<\t<T>> \b<s> + \eps>",
        ),
        "linear" => e.line(r"\b<o> = \frac<\phi(\b<q>)^<\t<T>> \b<H>><\phi(\b<q>)^<\t<T>> \b<s> + \eps>"),
        _ => e.line(r"\b<o> = \sum_<i> p_i \b<v>_i~\t<    >p_i = \frac<1><Z> e^<\beta \b<q>*\b<k>_i - m>"),
    }
    shares(&mut e, lane, mix);
    if let Some(first) = mix.largest.first() {
        largest(&mut e, lane, mix, first);
    }
    output(&mut e, lane, read, &mix.output);
    others(&mut e, lane, mix);
    e
}

/// The normaliser by its parts, and their shares.
fn shares(e: &mut Equation, lane: &LaneAt<'_>, mix: &Mix) {
    let name = lane.plan.kind.name();
    if name == "linear" {
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
        let eps = e.term(r"\eps", crate::layer::real::EPSILON, "keeps an empty state from dividing by zero", None);
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
        return;
    }
    let top = e.term("m", mix.top, "taken out of every exponent, so that none overflows: the largest logit (of LoLA at least 0)", None);
    let mut sums = Vec::new();
    let mut parts = Vec::new();
    for part in &mix.parts {
        let (title, panel) = store(part.store);
        let symbol = format!(r"Z_<\t<{title}>>");
        let what = if part.store == Store::State {
            "the state's part of the normaliser: w phi(q).s, times e^(-m)".to_owned()
        } else {
            format!("the sum of e^(logit - m) over {} terms", part.terms)
        };
        sums.push(e.term(&symbol, part.sum, what, panel));
        let symbol = format!(r"\t<share of {title}>");
        let what = format!(
            "the part of the normaliser, and so of all weight, that belongs to {title}; it adds a vector of length {:.4} to the output",
            norm(&part.adds)
        );
        parts.push(e.term(&symbol, part.share, what, panel));
    }
    let join = |of: Vec<&str>| of.join(" ~+ ");
    let eps = (mix.epsilon > 0.0).then(|| e.term(r"\eps e^<-m>", mix.epsilon, "the epsilon 1e-6, with m taken out too", None));
    let z = e.term("Z", mix.normaliser, "the normaliser: the sum of all of them", None);
    let with = |mut list: Vec<String>, tail: Option<String>| {
        list.extend(tail);
        list
    };
    let symbols = with(sums.iter().map(|s| s.s.clone()).collect(), eps.as_ref().map(|x| x.s.clone()));
    let values = with(sums.iter().map(|s| s.v.clone()).collect(), eps.as_ref().map(|x| x.v.clone()));
    e.line(&format!(
        r"{} = {} ~= {} ~= {}~\t<    >({} = {})",
        z.s,
        join(symbols.iter().map(String::as_str).collect()),
        join(values.iter().map(String::as_str).collect()),
        z.v,
        top.s,
        top.v
    ));
    if let (Some(w), Some(phi)) = (mixing::linear_weight(lane), mix.phi_s) {
        let w = e.term("w", w, "the weight of the state: (1 - g) / g of a LoLCATs gate g", None);
        let phi = e.term(r"\phi(\b<q>)^<\t<T>> \b<s>", phi, "how much has been folded under keys like this query", Some("shares"));
        e.line(&format!(r"Z_<\t<state>> = {} {} e^<-m> = {} \times {} \times e^<{}>", w.s, phi.s, w.v, phi.v, num(-mix.top)));
    }
    if parts.len() > 1 {
        let rest = if mix.epsilon > 0.0 { format!(" ~+ {}", num(mix.epsilon / mix.normaliser)) } else { String::new() };
        let text: Vec<String> = parts.iter().zip(&mix.parts).map(|(p, part)| format!(r"{}\t< ({})>", p.v, store(part.store).0)).collect();
        e.line(&format!(r"\t<shares: >{}{rest} ~= 1", join(text.iter().map(String::as_str).collect())));
    }
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
    let beta = e.term(r"\beta", mix.beta, "the logit scale", None);
    let row = matches!(first.of, Of::Row(_));
    let index = match first.of {
        Of::Token(i) | Of::Row(i) => i,
    };
    let symbol = if row { r"\b<q>*\b<Dk>" } else { r"\b<q>*\b<k>" };
    let product = e.term(
        &format!("{symbol}_<{index}>"),
        first.product,
        format!("the dot product of the query and the key of {name}"),
        Some(if row { "assignments" } else { "reads" }),
    );
    e.selects(subject);
    let counted = row && (lane.plan.kind.name() == "vq" || lane.plan.setup.params.flag("count_bias"));
    let (mut s, mut v) = (format!("{} {}", beta.s, product.s), format!(r"{} \times {}", beta.v, product.v));
    if counted {
        let c = e.term(&format!("c_<{index}>"), first.count, format!("how many tokens {name} stands for"), Some("counts"));
        e.selects(subject);
        let _ = write!(s, r" + \t<log >{}", c.s);
        let _ = write!(v, r" + \t<log >{}", c.v);
    }
    let share = e.term(&format!("p_<{index}>"), first.share, format!("the weight of {name}, the largest there is"), Some("reads"));
    e.selects(subject);
    e.line(&format!(r"{} = \frac<e^<{s} - m>><Z> ~= \frac<e^<{v} - {}>><{}> ~= {}", share.s, num(mix.top), num(mix.normaliser), share.v));
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
fn state_read(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize, heading: String) -> Equation {
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

/// The write of a recurrent layer.
fn state_write(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, done: usize, heading: impl Fn(&str) -> String) -> Vec<Equation> {
    let Some(w) = recurrence::write(lane, exact, write) else { return vec![missing(heading("Write"), exact)] };
    let mut e = Equation::new(heading("Write"));
    let erases = recurrence::erases(lane);
    let b = if erases { "b" } else { "dt" };
    let bold = if erases { r"(\b<v> - \b<S>^<\t<T>> \b<k>)^<\t<T>>" } else { r"\b<v>^<\t<T>>" };
    if recurrence::decays(lane) {
        let a = e.term("a", w.decay, "the decay: what the state is multiplied with before the write", None);
        e.line(&format!(r"\b<S> \to {} \b<S> = {} \b<S>", a.s, a.v));
    }
    let rate = e.term(&format!(r"\t<{b}>"), w.rate, "how strongly the write enters", None);
    e.line(&format!(r"\b<S> \to \b<S> + {} \b<k> {bold} = \b<S> + {} \b<k> {bold}", rate.s, rate.v));
    let v = e.term(r"|\b<v>|", w.value, "the length of the value", None);
    if erases {
        let answer = e.term(
            r"|\b<S>^<\t<T>> \b<k>|",
            w.answered,
            "the length of what the decayed state answers to the key, just before the write",
            Some("retention"),
        );
        let error = e.term(r"|\b<v> - \b<S>^<\t<T>> \b<k>|", w.error, "the write error: how far that is from the value", None);
        e.line(&format!(r"{} = {}~\t<,  >{} = {}", v.s, v.v, answer.s, answer.v));
        let recorded = lane.number("write_error", write).unwrap_or(f64::NAN);
        let traced = e.term(r"\t<recorded>", recorded, "the write error that the lane recorded (channel write_error)", None);
        e.line(&format!(r"{} = {}~\t<,  recorded >{}", error.s, error.v, traced.v));
    } else {
        e.line(&format!(r"{} = {}", v.s, v.v));
    }
    let before = e.term(r"|\b<S>_<\t<before>>|", w.before, "the length of the state before the write", None);
    let after = e.term(r"|\b<S>_<\t<after>>|", w.after, "the length of the state after it", None);
    e.line(&format!(r"{} = {}~\t<,  >{} = {}", before.s, before.v, after.s, after.v));
    if (w.key - 1.0).abs() > 1e-4 {
        e.say(if erases {
            format!("The key came with length {:.4} and was scaled to length 1.", w.key)
        } else {
            format!("The key has length {:.4}: nothing is normalised here.", w.key)
        });
    }
    vec![e, recall_now(lane, exact, write, done, heading("Recalled now"))]
}

/// SRE of a token against the state at the playhead.
fn recall_now(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, chunks: usize, heading: String) -> Equation {
    match mixing::self_recall(lane, exact, write, chunks) {
        Some(recall) => sre(lane, &recall, heading, None),
        None => missing(heading, exact),
    }
}

/// The self-recall error with its numbers, beside what was recorded.
fn sre(lane: &LaneAt<'_>, r: &mixing::SelfRecall, heading: String, recorded: Option<f64>) -> Equation {
    let mut e = Equation::new(heading);
    let panel = if lane.plan.kind.name() == "lola" { Some("sre") } else { Some("retention") };
    let error = e.term(
        "SRE",
        r.error,
        "self-recall error: the squared distance of what the state answers to the token's own key from its value",
        panel,
    );
    if let Some(phi_s) = r.phi_s {
        e.line(r"\t<SRE>(\b<k>, \b<v>) = |\frac<\phi(\b<k>)^<\t<T>> \b<H>><\phi(\b<k>)^<\t<T>> \b<s> + \eps> - \b<v>|^<2>");
        let top = e.term(r"|\phi(\b<k>)^<\t<T>> \b<H>|", r.numerator, "the length of the numerator", panel);
        let below = e.term(r"\phi(\b<k>)^<\t<T>> \b<s>", phi_s, "how much has been folded under keys like this one", panel);
        let got = e.term(r"|\b<r>|", r.recalled, "the length of what is recalled, r", panel);
        e.line(&format!(r"{} = \frac<{}><{} + \eps> ~= \frac<{}><{} + \t<1e−6>> ~= {}", got.s, top.s, below.s, top.v, below.v, got.v));
    } else {
        e.line(r"\t<SRE>(\b<k>, \b<v>) = |\b<S>^<\t<T>> \b<k> - \b<v>|^<2>");
        let got = e.term(r"|\b<r>|", r.recalled, "the length of what is recalled, r", panel);
        e.line(&format!("{} = {}", got.s, got.v));
    }
    let v = e.term(r"|\b<v>|", r.value, "the length of the value", None);
    let cos = e.term(r"\t<cos>", r.cosine, "the cosine of what is recalled and the value", None);
    // |r - v|^2 = |r|^2 + |v|^2 - 2 |r| |v| cos: the numbers can be checked by hand.
    e.line(&format!(
        r"= |\b<r>|^<2> + {}^<2> - 2 |\b<r>| {} {} ~= {}^<2> + {}^<2> - 2 \times {} \times {} \times {} ~= {}",
        v.s,
        v.s,
        cos.s,
        num(r.recalled),
        v.v,
        num(r.recalled),
        v.v,
        cos.v,
        error.v
    ));
    if let Some(recorded) = recorded {
        let t = e.term(r"\t<recorded>", recorded, "the score that the lane recorded at that step (channel candidate_scores)", panel);
        e.line(&format!(r"\t<recorded: >{}", t.v));
    }
    if r.chunks == 0 {
        e.say("The state is empty: it recalls zero, and the error is |v|².");
    }
    e
}

/// The write of linear attention.
fn linear_write(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, done: usize, heading: impl Fn(&str) -> String) -> Vec<Equation> {
    let mut e = Equation::new(heading("Write"));
    e.line(r"\b<H> \to \b<H> + \phi(\b<k>) \b<v>^<\t<T>>~\t<    >\b<s> \to \b<s> + \phi(\b<k>)");
    if let Ok(map) = crate::layer::feature::FeatureMap::<f64>::new("linear", &lane.plan.setup) {
        let key = lane.key(write);
        let phi = map.keys(lane.kv, &ndarray::aview1(&key).insert_axis(ndarray::Axis(0))).row(0).to_vec();
        let f = e.term(r"|\phi(\b<k>)|", norm(&phi), format!("the length of the key's {} features", phi.len()), None);
        let v = e.term(r"|\b<v>|", norm(&lane.value(write)), "the length of the value", None);
        e.line(&format!(r"{} = {}~\t<,  >{} = {}", f.s, f.v, v.s, v.v));
    }
    vec![e, recall_now(lane, exact, write, done, heading("Recalled now"))]
}

/// Score and selection of a token in a LoLA lane.
fn lola_write(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, done: usize, heading: impl Fn(&str) -> String) -> Vec<Equation> {
    let kind = lane.plan.setup.params.choice("score").to_owned();
    let scores = scores(lane, write, done);
    let Some(&(step, score)) = scores.last() else {
        let mut e = recall_now(lane, exact, write, done, heading("Recalled by the state now"));
        e.say("It has not left the window yet, and was not scored.");
        return vec![e];
    };
    let mut all = Vec::new();
    let title = format!("Score in step {step}");
    if kind == "sre" {
        let recall = mixing::self_recall(lane, exact, write, step);
        all.push(recall.map_or_else(|| missing(heading(&title), exact), |r| sre(lane, &r, heading(&title), Some(score))));
    } else {
        let mut e = Equation::new(heading(&title));
        let text = match kind.as_str() {
            "fifo" => r"\t<score>(i) = i",
            "random" => r"\t<score>(i) = \t<a number drawn once by the seed>",
            "attention" => r"\t<score>(i) = \sum_<\t<reads>> \frac<e^<\beta \b<q>*\b<k>_i - m>><Z>",
            _ => r"\t<score>(i) = \t<mean over the chunk's queries of> (e^<\beta \b<q>*\b<k>_i> - \phi(\b<q>)*\phi(\b<k>_i))^<2>",
        };
        e.line(text);
        let s = e.term(r"\t<score>", score, "the score that the lane recorded at that step (channel candidate_scores)", Some("sre"));
        e.line(&format!("{} = {}", s.s, s.v));
        all.push(e);
    }
    all.push(selection(lane, write, step, score, heading("Selection")));
    all
}

fn selection(lane: &LaneAt<'_>, write: usize, step: usize, score: f64, heading: String) -> Equation {
    let mut e = Equation::new(format!("{heading}, step {step}"));
    let size = lane.plan.setup.params.size("cache");
    let candidates = lane.numbers("candidates", step).map_or(0, |c| c.len());
    let cache = e.term("C", size as f64, "the room in the sparse cache (the parameter cache)", Some("residency"));
    let number = e.term(
        "n",
        candidates as f64,
        "the candidates of the step that the trace holds: the cached pairs and those that leave the window",
        Some("sre"),
    );
    e.line(&format!(r"\t<kept> = \t<the >{} = {}\t< largest of >{} = {}\t< scores>", cache.s, cache.v, number.s, number.v));
    let own = e.term(r"\t<score>", score, "the token's own score", Some("sre"));
    let threshold = lane.number("threshold", step).filter(|t| !t.is_nan());
    if let Some(threshold) = threshold {
        let t = e.term(
            r"\t<threshold>",
            threshold,
            "the smallest score in the cache after the step: what the next candidates have to beat",
            Some("sre"),
        );
        let sign = if score > threshold {
            r"\gt"
        } else if score < threshold {
            r"\lt"
        } else {
            "="
        };
        e.line(&format!(r"{} = {} ~{sign} {} = {}", own.s, own.v, t.s, t.v));
    } else {
        e.line(&format!(r"{} = {}~\t<,  and there is no threshold>", own.s, own.v));
    }
    let listed = |name: &str| lane.numbers(name, step).is_some_and(|ids| ids.contains(&(write as f64)));
    let cached_before = super::cached_before(lane, write, step);
    e.say(match (listed("admitted"), listed("displaced"), cached_before) {
        (true, _, _) => "It was admitted to the sparse cache.",
        (_, true, _) => "It was displaced from the cache and folded into the state: its phi(k) times v was added to H, and phi(k) to s.",
        (_, _, true) => "It stayed in the cache.",
        _ => "It left the window and was folded into the state at once: its phi(k) times v was added to H, and phi(k) to s.",
    });
    e
}

/// Every score that a token was given in the lane's first `done` steps, with the step.
#[must_use]
pub fn scores(lane: &LaneAt<'_>, write: usize, done: usize) -> Vec<(usize, f64)> {
    let (Some(ids), Some(values)) = (lane.trace.channel("candidates"), lane.trace.channel("candidate_scores")) else { return Vec::new() };
    let steps = done.min(ids.len()).min(values.len());
    // Nothing is a candidate before it was written.
    (write / lane.chunk()..steps)
        .filter_map(|step| {
            let place = ids.wholes_at(lane.kv, step).binary_search(&(write as i32)).ok()?;
            let at = values.range(lane.kv, step);
            Some((step, values.values(lane.kv).get(at.start + place)?))
        })
        .collect()
}

/// Assignment, growth and update around a token of a lane with a dictionary.
fn dictionary_write(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, heading: impl Fn(&str) -> String) -> Vec<Equation> {
    let step = write / lane.chunk();
    let fixed = lane.plan.kind.name() == "vq";
    let mut all = Vec::new();
    let Some(at) = dictionary::assigned(lane, exact, write) else { return all };
    let row_of = |row: usize| Subject::Centroid { lane: lane.number, row };
    let key = if fixed { r"\b<code>" } else { r"\b<Dk>" };
    let mut e = Equation::new(heading(if at.founded { "Founding" } else { "Assignment" }));
    let row = e.term(
        "j",
        at.row as f64,
        if fixed { "the code that stands for the token" } else { "the row that it went to" },
        Some("assignments"),
    );
    e.selects(row_of(at.row));
    let sim = e.term(
        &format!(r"\b<k>*{key}"),
        at.similarity,
        "the similarity to the nearest centroid before the chunk (channel similarity)",
        Some("assignments"),
    );
    if at.founded {
        let m = e.term(
            r"\t<margin>",
            lane.number("select_margin", step).unwrap_or(f64::NAN),
            "how much more similar the chunk's first token was that founded no row (channel select_margin)",
            None,
        );
        e.line(&format!(r"\b<Dk>_<{}> \to \b<k>, ~ \b<Dv>_<{}> \to \b<v>, ~ c_<{}> \to 1\t<+>", row.v, row.v, row.v));
        e.line(&format!(r"\t<max>_<j> {} = {}~\t<,  founding margin >{}", sim.s, sim.v, m.v));
    } else {
        e.line(&format!(r"{} = \t<argmax>_<j> \b<k>*{key}_j = {}", row.s, row.v));
        let margin =
            e.term(r"\t<margin>", at.margin, "by how much it beat the second nearest (channel assign_margin)", Some("assignments"));
        let second = if at.margin.is_finite() {
            format!(r"~\t<,  second >{} = {}", num(at.similarity - at.margin), format_args!(r"{} - {}", sim.v, margin.v))
        } else {
            r"~\t<,  and there is no second>".to_owned()
        };
        e.line(&format!(r"{}_<{}> = {}{second}", sim.s, at.row, sim.v));
        if let Some((other, similarity)) = at.second {
            e.words.push(vec![
                Piece::Words("The second nearest is ".to_owned()),
                Piece::Link(format!("{} {other}", if fixed { "code" } else { "centroid" }), row_of(other)),
                Piece::Words(format!(" at {similarity:.4}, from the exact state before the step.")),
            ]);
        } else if !fixed && step > 0 && exact.missing() {
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
    e.line(&format!(
        r"{} = {} - {} = {} - {} = {}~\t<,  >{} = {} + {} = {}",
        m.s, target.s, before.s, target.v, before.v, m.v, after.s, before.v, m.v, after.v
    ));
    if lane.plan.setup.hands.is_empty() && g.after.saturating_sub(g.before) != g.target.saturating_sub(g.before) {
        e.say(format!("A chunk founds at most one row a write ({} here), and the first chunk at least one.", g.writes));
    }
    Some(e)
}

fn update(lane: &LaneAt<'_>, exact: &Exact<'_>, row: usize, step: usize) -> Equation {
    let heading = format!("Update of centroid {row} in step {step}");
    let Some(u) = dictionary::update(lane, exact, row, step) else { return missing(heading, exact) };
    let mut e = Equation::new(heading);
    let subject = Subject::Centroid { lane: lane.number, row };
    let m = e.term("m", u.members.len() as f64, "tokens of the chunk that went to this row", Some("assignments"));
    let before = e.term("c", u.before as f64, "its count before", Some("counts"));
    e.selects(subject);
    let after = e.term(r"c\t<'>", u.after as f64, "its count after", Some("counts"));
    e.selects(subject);
    e.line(&format!("{} = {} + {} = {} + {} = {}", after.s, before.s, m.s, before.v, m.v, after.v));
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
