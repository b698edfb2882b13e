//! Events as sentences.

use super::{Event, EventKind, LaneEvents, Place};
use crate::metric::ANSWER;
use crate::session::hand;
use crate::stream::Targets;
use crate::trace::{Channel, Values, Width};

impl Place {
    /// `write 12`, `read 3`, `chunk 7`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Write(i) => format!("write {i}"),
            Self::Read(i) => format!("read {i}"),
            Self::Chunk(i) => format!("chunk {i}"),
        }
    }
}

impl LaneEvents<'_> {
    /// The event in a sentence, with its exact number.
    #[must_use]
    pub fn sentence(&self, event: &Event) -> String {
        let place = event.place.words();
        let value = exact(event.value, self.trace.channel(event.channel));
        match event.kind {
            EventKind::Founder => self.founder(event, &place),
            EventKind::Admission => format!("{} entered the cache in {place}{}", written(event), self.score(event)),
            EventKind::Eviction => self.eviction(event, &place),
            EventKind::Tie => {
                format!(
                    "the {} of {place} is {value}, below {}: rounding could have chosen otherwise",
                    self.title(event),
                    self.criteria.margin
                )
            }
            EventKind::NotFinite => format!("{} of {} is {value}", self.named(event), whose(event, &place)),
            EventKind::SmallNormaliser => format!("the normaliser of {place} is {value}, below {}", self.criteria.normaliser),
            EventKind::WrongAnswer => self.wrong(event, &place),
            EventKind::Threshold => {
                let (side, limit) =
                    self.criteria.threshold.as_ref().map_or(("beyond", f64::NAN), |t| (if t.above { "above" } else { "below" }, t.value));
                format!("{} of {} is {value}, {side} {limit}", self.named(event), whose(event, &place))
            }
        }
    }

    fn founder(&self, event: &Event, place: &str) -> String {
        let Place::Write(write) = event.place else { return place.to_owned() };
        let row = self.trace.channel("assignments").and_then(|c| c.wholes_at(event.head, write).first());
        let row = row.map_or_else(|| "a row".to_owned(), |r| format!("row {r}"));
        let similarity = self.trace.channel("similarity").and_then(|c| {
            let x = c.values(event.head).get(c.range(event.head, write).start)?;
            // There is no centroid before the first chunk: there the similarity is to the key that founds row 0.
            let to = if write < self.plan.setup.chunk { "the first key" } else { "the nearest centroid" };
            Some(format!("; its similarity to {to} was {}", exact(x, Some(c))))
        });
        format!("{place} founded {row}{}", similarity.unwrap_or_default())
    }

    /// The update folded it, or a hand after it: the channel lists both.
    fn eviction(&self, event: &Event, place: &str) -> String {
        let by_hand = match (event.place, event.write) {
            (Place::Chunk(chunk), Some(write)) => hand::evicted(self.trace, event.head, write, chunk),
            _ => false,
        };
        let (write, score) = (written(event), self.score(event));
        if by_hand {
            format!("{write} was evicted from the cache by hand at the end of {place}{score}, and folded into the state")
        } else {
            format!("{write} was folded from the cache into the state in {place}{score}")
        }
    }

    /// The score of the candidate that an event is about, in its chunk.
    fn score(&self, event: &Event) -> String {
        let score = || {
            let (Place::Chunk(chunk), Some(write)) = (event.place, event.write) else { return None };
            let (ids, scores) = (self.trace.channel("candidates")?, self.trace.channel("candidate_scores")?);
            let at = ids.wholes_at(event.head, chunk).iter().position(|id| usize::try_from(*id) == Ok(write))?;
            scores.values(event.head).get(scores.range(event.head, chunk).start + at).map(|x| exact(x, Some(scores)))
        };
        score().map_or_else(String::new, |s| format!(" with score {s}"))
    }

    fn wrong(&self, event: &Event, place: &str) -> String {
        let Place::Read(read) = event.place else { return place.to_owned() };
        let answer = self.trace.channel(ANSWER).and_then(|c| c.wholes_at(event.head, read).first());
        let answer = match answer {
            Some(code) if *code >= 0 => format!("answered code {code}"),
            _ => "has no answer".to_owned(),
        };
        match self.stream.targets() {
            Targets::Codes { target, .. } => {
                format!("{place} {answer}; right is {}", target.get(read).map_or_else(|| "unknown".to_owned(), u32::to_string))
            }
            _ => format!("{place} {answer}, which is wrong"),
        }
    }

    fn title(&self, event: &Event) -> &'static str {
        self.trace.channel(event.channel).map_or(event.channel, |c| c.spec().title)
    }

    /// `output[5]`, or `threshold` where there is only one number.
    fn named(&self, event: &Event) -> String {
        let width = self.trace.channel(event.channel).map(|c| c.spec().width);
        match width {
            Some(Width::Fixed(w)) if w > 1 => format!("{}[{}]", event.channel, event.component),
            _ => event.channel.to_owned(),
        }
    }
}

/// `write 12 in chunk 3` for a number of a list, else the place.
fn whose(event: &Event, place: &str) -> String {
    match (event.place, event.write) {
        (Place::Chunk(_), Some(write)) => format!("write {write} in {place}"),
        _ => place.to_owned(),
    }
}

fn written(event: &Event) -> String {
    event.write.map_or_else(|| "a write".to_owned(), |w| format!("write {w}"))
}

/// A number in the fewest digits that give it back, in the precision of its channel.
fn exact(value: f64, channel: Option<&Channel>) -> String {
    let single = channel.is_some_and(|c| (0..c.heads()).all(|h| matches!(c.values(h), Values::F32(_))));
    if value.is_infinite() {
        return if value > 0.0 { "infinity" } else { "-infinity" }.to_owned();
    }
    let size = value.abs();
    let small = size > 0.0 && !(1e-4..1e9).contains(&size);
    match (single, small) {
        (true, true) => format!("{:e}", value as f32),
        (true, false) => format!("{}", value as f32),
        (false, true) => format!("{value:e}"),
        (false, false) => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Criteria, HeadsShown};
    use super::*;
    use crate::param::Params;
    use crate::session::hand::{Act, Hand};
    use crate::session::plan::Plan;
    use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
    use crate::trace::TraceBlock;

    #[test]
    fn what_a_hand_took_out_of_the_cache_is_not_told_of_the_update() {
        let params = Params::default().with("window", 8).with("chunk", 32).with("cache", 16);
        let hands = vec![Hand { step: 1, kv_head: 0, what: Act::Evict { write: 2 } }];
        let lane = LaneSpec { hands, ..LaneSpec::new("lola", "lola", params) };
        let params = Params::default().with("T", 128).with("needles", 4);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let session = Session { source, lanes: vec![lane], backend: BackendChoice::Cpu, ..Session::default() };
        let plan = Plan::new(&session, None).unwrap();
        let mut trace = plan.lanes[0].trace();
        let at = |name: &str| plan.lanes[0].channels.iter().position(|c| c.name == name).unwrap();
        let mut block = TraceBlock::default();
        block.push_ragged(at("candidates"), 0..1, Values::I32(vec![1, 2]), vec![2]);
        block.push_ragged(at("candidate_scores"), 0..1, Values::F32(vec![2.0, 0.75]), vec![2]);
        block.push_ragged(at("admitted"), 0..1, Values::I32(vec![]), vec![0]);
        block.push_ragged(at("displaced"), 0..1, Values::I32(vec![1, 2]), vec![2]);
        block.push_ragged(at("evicted"), 0..1, Values::I32(vec![2]), vec![1]);
        trace.append(&block).unwrap();
        let criteria = Criteria::default();
        let events = LaneEvents::new(&plan, 0, &trace, HeadsShown::default(), &criteria);
        let told = |write: usize| {
            let (kind, place) = (EventKind::Eviction, Place::Chunk(0));
            events.sentence(&Event { kind, channel: "displaced", head: 0, place, write: Some(write), component: 0, value: 0.0, seen: 32 })
        };
        assert_eq!(told(1), "write 1 was folded from the cache into the state in chunk 0 with score 2");
        assert_eq!(told(2), "write 2 was evicted from the cache by hand at the end of chunk 0 with score 0.75, and folded into the state");
    }
}
