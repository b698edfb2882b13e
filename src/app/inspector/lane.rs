//! What is said of a lane: its layer, what is set in it, what it costs and how long it took.

use crate::metric::{full_attention_numbers, held};
use crate::panel::Look;
use crate::panel::common::chunk_name;
use crate::panel::formula::exact::LaneAt;
use crate::param::{ParamKind, ParamValue};
use crate::widget::ticks::{grouped, number};

use super::page::{Item, Page, Say};

/// The page of a lane.
#[must_use]
pub fn page(look: &Look<'_>, lane: &LaneAt<'_>) -> Page {
    let plan = lane.plan;
    let mut page = Page { title: plan.name.clone(), text: Some(plan.kind.title().to_owned()), ..Page::default() };
    page.items.push(Item::Lane(lane.number));
    page.say(plan.kind.about());
    page.items.push(Item::Heading("Set otherwise than by default".to_owned()));
    let set = differing(lane);
    if set.is_empty() {
        page.say("Nothing.");
    }
    for (name, value) in set {
        page.fact(name, value);
    }
    for (name, title) in [("beta", "logit scale in use"), ("linear_weight", "state weight in use")] {
        if let Some(value) =
            plan.kind.in_use(&plan.setup, name, lane.query_head).filter(|_| plan.kind.params().iter().any(|p| p.name == name))
        {
            page.fact(title, number(value));
        }
    }
    page.items.push(Item::Heading("What it costs".to_owned()));
    let cost = plan.kind.cost(&plan.setup);
    let (own, given) = (&plan.setup.stream, &look.plan.stream);
    let all = full_attention_numbers(given) * given.kv_heads() as u64;
    let numbers = held(&cost, own);
    page.fact(
        "memory",
        format!("{} numbers, {:.1}% of what full attention keeps of this stream", grouped(numbers), 100.0 * numbers as f64 / all as f64),
    );
    page.fact("a write", format!("{} multiply-adds of each head", grouped(cost.write_madds)));
    page.fact("a read", format!("{} multiply-adds of each head", grouped(cost.read_madds)));
    let (seconds, chunks) = look.lanes[lane.number].spent;
    if chunks > 0 {
        page.fact("time", format!("{} s for {chunks} chunks of {} writes", number((seconds * 1e3).round() / 1e3), lane.chunk()));
    }
    page.fact("chunk", Say::new(format!("{} writes", lane.chunk())));
    if lane.chunk() != look.plan.step {
        let chunk = plan.chunks_at(look.writes).saturating_sub(1);
        page.fact("in steps", chunk_name(look.plan, plan, chunk));
    }
    if !plan.notes.is_empty() {
        page.items.push(Item::Heading("Notes".to_owned()));
        for note in &plan.notes {
            page.say(note.clone());
        }
    }
    page.say(Say::new("Its equation with the numbers of this moment: ").panel("Formula", "formula").t("."));
    page
}

/// The parameters that have an effect and differ from their defaults, by title, with their values.
fn differing(lane: &LaneAt<'_>) -> Vec<(String, String)> {
    let (plan, params) = (lane.plan, &lane.plan.setup.params);
    let mut all = Vec::new();
    for spec in plan.kind.params().iter().filter(|s| plan.kind.applies(s.name, params)) {
        let value = match spec.kind {
            ParamKind::Int { .. } => Some(ParamValue::Int(params.int(spec.name))),
            ParamKind::Float { .. } => Some(ParamValue::Float(params.float(spec.name))),
            ParamKind::AutoFloat { .. } => params.set_float(spec.name).map(ParamValue::Float),
            ParamKind::Choice { .. } => Some(ParamValue::from(params.choice(spec.name))),
            ParamKind::Bool { .. } => Some(ParamValue::Bool(params.flag(spec.name))),
            ParamKind::Text { .. } => None,
        };
        if let Some(value) = value.filter(|v| Some(v) != spec.default_value().as_ref()) {
            all.push((spec.title.to_owned(), value.to_string()));
        }
    }
    all
}
