//! The equations of a token's write and of its recall: the delta rule, the linear state, the score and the selection of a sparse cache.

use super::answers::epsilon;
use super::equation::{Equation, num};
use super::exact::{Exact, LaneAt, norm};
use super::layers::missing;
use super::{mixing, recurrence};
use crate::layer::lola::config::{Config, Recorded};
use crate::session::hand;

/// The write of a recurrent layer.
pub(super) fn state_write(
    lane: &LaneAt<'_>,
    exact: &Exact<'_>,
    write: usize,
    done: usize,
    heading: impl Fn(&str) -> String,
) -> Vec<Equation> {
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
        let (sign, eps) = epsilon(lane, lane.written(r.chunks));
        e.line(&format!(r"\t<SRE>(\b<k>, \b<v>) = |\frac<\phi(\b<k>)^<\t<T>> \b<H>><\phi(\b<k>)^<\t<T>> \b<s> + {sign}> - \b<v>|^<2>"));
        let top = e.term(r"|\phi(\b<k>)^<\t<T>> \b<H>|", r.numerator, "the length of the numerator", panel);
        let below = e.term(r"\phi(\b<k>)^<\t<T>> \b<s>", phi_s, "how much has been folded under keys like this one", panel);
        let got = e.term(r"|\b<r>|", r.recalled, "the length of what is recalled, r", panel);
        let (by_name, by_number) = (format!(r"\frac<{}><{} + {sign}>", top.s, below.s), format!(r"\frac<{}><{} + {eps}>", top.v, below.v));
        e.line(&format!("{} = {by_name} ~= {by_number} ~= {}", got.s, got.v));
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
pub(super) fn linear_write(
    lane: &LaneAt<'_>,
    exact: &Exact<'_>,
    write: usize,
    done: usize,
    heading: impl Fn(&str) -> String,
) -> Vec<Equation> {
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
pub(super) fn lola_write(
    lane: &LaneAt<'_>,
    exact: &Exact<'_>,
    write: usize,
    done: usize,
    heading: impl Fn(&str) -> String,
) -> Vec<Equation> {
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
            "attention" => r"\t<score>(i) = \sum_<\t<reads>> \frac<e^<\beta \b<q>*\b<k>_i - z_<\t<max>>>><Z>",
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
    // Not C: that is the chunk.
    let cache = e.term(r"\t<cache>", size as f64, "the room in the sparse cache (the parameter cache)", Some("residency"));
    let number = e.term(
        r"\t<candidates>",
        candidates as f64,
        "the candidates of the step that the trace holds: the cached pairs and those that leave the window",
        Some("sre"),
    );
    e.line(&format!(r"\t<kept> = \t<the >{} = {}\t< largest of >{}\t< >{}", cache.s, cache.v, number.v, number.s));
    if Config::new(&lane.plan.setup).recorded == Recorded::Leaving {
        e.say("The trace holds only those that leave the window; the pairs in the cache were candidates too.");
    }
    let own = e.term(r"\t<score>", score, "the token's own score", Some("sre"));
    let hands = &lane.plan.setup.hands;
    let mut ids = lane.numbers("candidates", step).unwrap_or_default().into_iter();
    if ids.any(|id| hand::keeps(hands, lane.kv, id as usize, step)) {
        e.say("Pairs kept by hand come before every other, whatever their score; the others compete for the rest.");
    }
    // Infinite where every pair in the cache is kept by hand.
    let threshold = lane.number("threshold", step).filter(|t| t.is_finite());
    if let Some(threshold) = threshold {
        let t = e.term(
            r"\t<threshold>",
            threshold,
            "the smallest score in the cache after the step, of the pairs not kept by hand: what the next candidates have to beat",
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
    e.say(fate(lane, write, step));
    e
}

/// What became of a candidate of a step.
fn fate(lane: &LaneAt<'_>, write: usize, step: usize) -> String {
    let added = "its phi(k) times v was added to H, and phi(k) to s.";
    let folded = format!("folded into the state: {added}");
    let listed = |name: &str| lane.numbers(name, step).is_some_and(|ids| ids.contains(&(write as f64)));
    let (admitted, displaced) = (listed("admitted"), listed("displaced"));
    let evicted = displaced && lane.evicted(write, step);
    let kept = if hand::keeps(&lane.plan.setup.hands, lane.kv, write, step) { ": it is kept by hand, whatever its score" } else { "" };
    match (admitted, displaced, super::cached_before(lane, write, step)) {
        (true, _, _) if evicted => {
            format!("It was admitted to the sparse cache{kept}. At the end of the step a hand evicted it, and it was {folded}")
        }
        (_, true, _) if evicted => format!("A hand evicted it from the cache at the end of the step, and it was {folded}"),
        (true, _, _) => format!("It was admitted to the sparse cache{kept}."),
        (_, true, _) => format!("It was displaced from the cache and {folded}"),
        (_, _, true) => format!("It stayed in the cache{kept}."),
        _ => format!("It left the window and was folded into the state at once: {added}"),
    }
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
