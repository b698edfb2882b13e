//! What the panel says in words of the last step and of the state that scored it.

use super::Sre;
use super::blind::{self, Crowd, admitted_blindly, blind, crowds};
use super::model::{Candidate, Fate, Tally, candidates};
use crate::app::facts::Index;
use crate::panel::Look;
use crate::panel::common::{Key, chunk_noun, chunk_short, chunks_seen, plural};
use crate::panel::residency::by_hand;
use crate::session::hand;
use crate::widget::cached::Cached;
use crate::widget::ticks::number;

/// What a lane's score is called, with its unit: `self-recall error (squared value units)`.
pub(super) fn score_label(look: &Look<'_>, lane: usize, unit: &str) -> String {
    let plan = look.lanes[lane].plan;
    let chosen = if plan.kind.params().iter().any(|p| p.name == "score") { plan.setup.params.choice("score") } else { "" };
    label_of(chosen, unit)
}

fn label_of(score: &str, unit: &str) -> String {
    match score {
        "sre" => format!("self-recall error ({unit})"),
        // An index is a place among the tokens: a unit would say nothing more.
        "fifo" => "the write's index, as the score".to_owned(),
        "random" => "a number drawn once, as the score".to_owned(),
        "attention" => format!("attention received ({unit})"),
        "kernel" => "squared error of phi(q).phi(k)".to_owned(),
        _ if unit == "1" => "score".to_owned(),
        _ => format!("score ({unit})"),
    }
}

/// The sentence under the lane's name.
pub(super) fn sentence(look: &Look<'_>, lane: usize, index: &mut Index, step_list: &mut Cached<Key<()>, Vec<Candidate>>) -> Option<String> {
    let trace = look.lanes[lane].trace;
    let (ids, scores) = (trace.channel("candidates")?, trace.channel("candidate_scores")?);
    let (index, head) = index.of(look, lane)?;
    let chunks = chunks_seen(look, lane).min(index.steps());
    let step = chunks.checked_sub(1)?;
    let list = step_list.get(Key::new(look, lane, head, step + 1, ()), || candidates(ids, scores, index, head, step));
    let evictions = trace.channel(hand::EVICTED);
    let tally = Tally::of(list, |c| hand::evicted_in(evictions, head, c.write, step));
    let kept = list.iter().filter(|c| c.fate == Fate::Kept).count();
    let threshold = trace.channel("threshold").and_then(|c| c.values(head).get(step)).filter(|t| !t.is_nan());
    let params = &look.lanes[lane].plan.setup.params;
    let no_cache = look.lanes[lane].plan.kind.params().iter().any(|p| p.name == "cache") && params.size("cache") == 0;
    let limit = match threshold {
        Some(t) => format!("threshold {}", number(t)),
        None if no_cache => "there is no cache".to_owned(),
        None => "the cache is not full".to_owned(),
    };
    let count = plural(list.len(), "candidate", "candidates");
    let name = chunk_short(look.plan, look.lanes[lane].plan, step);
    let mut text = format!("{name}: {count}, {}; {limit}", tally.words());
    // Of a very large cache a lane records only the candidates that come from the window. Both are counted after the hands.
    let cached = trace.channel("cached_count").and_then(|c| c.values(head).get(step)).map_or(0, |n| n as usize);
    if kept < cached {
        text = format!("{text} ({} more stay in the cache; their scores are not recorded)", cached - kept);
    }
    Some(text + &by_hand(look, lane, head, step))
}

/// What is to be said of steps that scored against an empty state, and of a cache full of copies.
pub(super) fn of_the_state(look: &Look<'_>, lane: usize, panel: &mut Sre) -> Option<Vec<String>> {
    let trace = look.lanes[lane].trace;
    let (ids, scores, admitted) = (trace.channel("candidates")?, trace.channel("candidate_scores")?, trace.channel("admitted")?);
    let (index, head) = panel.index.of(look, lane)?;
    let done = chunks_seen(look, lane).min(index.steps());
    let step = done.checked_sub(1)?;
    let list = panel.step.get(Key::new(look, lane, head, done, ()), || candidates(ids, scores, index, head, step));
    let blind = blind(look, lane, trace, index, head);
    let cached = trace.channel("cached_count").and_then(|c| c.values(head).get(step)).map_or(0, |n| n as usize);
    let noun = chunk_noun(look.plan, look.lanes[lane].plan);
    let first = blind::sentence(list, (step, noun), &blind, (admitted_blindly(admitted, index, head, &blind, done), cached));
    // Before the state holds anything, of a lane with another score too, there is nothing that it could have learnt.
    let learning = blind.iter().any(|steps| steps.end <= step) && !blind.iter().any(|steps| steps.contains(&step));
    let crowds: &[Crowd] =
        if learning { panel.crowds.get(Key::new(look, lane, head, done, ()), || crowds(&look.plan.stream, index, done)) } else { &[] };
    Some(first.into_iter().chain(blind::crowd_sentence(crowds, cached)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::LayerKind as _;
    use crate::layer::lola::LolaKind;
    use crate::param::ParamKind;

    #[test]
    fn every_score_of_lola_has_a_name_of_its_own() {
        let spec = LolaKind.params().iter().find(|p| p.name == "score").unwrap();
        let ParamKind::Choice { options } = &spec.kind else { panic!("a choice") };
        let mut names: Vec<String> = options.iter().map(|(name, _)| label_of(name, "1")).collect();
        assert!(!names.contains(&"score".to_owned()), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), options.len());
        assert_eq!(label_of("sre", "squared value units"), "self-recall error (squared value units)");
    }
}
