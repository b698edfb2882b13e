//! What a step of a lesson asks for, and whether it is so: judged on the trace, the playhead and what is selected, never on a
//! number that the lesson's author wrote down of what the layer did.

use serde::{Deserialize, Serialize};

use crate::layer;
use crate::metric::events::{Criteria, EventKind, HeadsShown, LaneEvents};
use crate::metric::running::Running;
use crate::param::ParamValue;
use crate::session::plan::{Plan, PlanLane};
use crate::session::{OWNER_OF_TASK, Session, Source};
use crate::task::task;
use crate::trace::LaneTrace;

/// A condition. Lanes are named as in the session; the heads are those shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Check {
    /// The playhead stands at least so many and at most so many writes in.
    Playhead { from: usize, to: usize },
    /// The playhead stands at the step in which something happens in a lane (`founder`, `admission`, `eviction`, ..) to one of the
    /// writes of a role or to one write; with neither, to any. With `first`, only the first time counts.
    Event {
        lane: String,
        kind: String,
        #[serde(default)]
        role: Option<String>,
        #[serde(default)]
        token: Option<usize>,
        #[serde(default)]
        first: bool,
    },
    /// A token is selected: this one, one of this role, or any.
    Token {
        #[serde(default)]
        index: Option<usize>,
        #[serde(default)]
        role: Option<String>,
    },
    /// A read is selected: this one, or any.
    Read {
        #[serde(default)]
        index: Option<usize>,
    },
    /// Something of this kind is selected: `token`, `centroid`, `slot`, `read`, `step`, `lane`.
    Selected(String),
    /// A moment is pinned.
    Pinned,
    /// A parameter (`LoLA.cache`, `task.T`) is set in these limits, and the run of it is complete.
    Param {
        name: String,
        #[serde(default)]
        least: Option<f64>,
        #[serde(default)]
        most: Option<f64>,
        #[serde(default)]
        word: Option<String>,
    },
    /// A lane is switched on, or off.
    Lane { name: String, on: bool },
    /// The query head shown is one of these, counted within its group.
    QueryHead { from: usize, to: usize },
    /// The stream comes from this task, and its run is complete.
    Source(String),
    /// There are at least so many lanes that are branches by hand.
    Branches(usize),
    /// What a lane scores over all reads of the run (the accuracy; else the relative error), once it is complete.
    Score {
        lane: String,
        #[serde(default)]
        least: Option<f64>,
        #[serde(default)]
        most: Option<f64>,
    },
    /// A panel is seen.
    Panel(String),
    /// A question with answers to choose from; `right` counts from 0.
    Choose { options: Vec<String>, right: usize },
    /// A number to be found and typed.
    Number { is: f64, within: f64 },
    /// All of these.
    All(Vec<Check>),
}

/// What the learner has answered, where a step asks a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The option that was chosen last.
    pub chosen: Option<usize>,
    /// The number that was entered last.
    pub number: Option<f64>,
}

/// What a condition is judged on.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The session as it is set.
    pub session: &'a Session,
    /// The plan that is on screen.
    pub plan: &'a Plan,
    /// What its lanes have written.
    pub traces: &'a [LaneTrace],
    /// True if the run on screen is complete, and is that of the session as it is set.
    pub complete: bool,
    /// The playhead: writes seen.
    pub writes: usize,
    /// The heads shown.
    pub heads: HeadsShown,
    /// The kind of what is selected (`token`, `centroid`, ..).
    pub subject: Option<&'a str>,
    /// The token selected.
    pub token: Option<usize>,
    /// The read selected.
    pub read: Option<usize>,
    /// True if a moment is pinned.
    pub pinned: bool,
    /// Tells whether a panel is seen.
    pub panel: &'a dyn Fn(&str) -> bool,
    /// What was answered.
    pub answer: &'a Answer,
}

impl Check {
    /// True if it is so now.
    #[must_use]
    pub fn holds(&self, seen: &Seen<'_>) -> bool {
        match self {
            Self::Playhead { from, to } => (*from..=*to).contains(&seen.writes),
            Self::Event { lane, kind, role, token, first } => event(seen, lane, kind, *first, &|write| {
                token.is_none_or(|t| t == write) && role.as_deref().is_none_or(|r| has_role(seen.plan, write, r))
            }),
            Self::Token { index, role } => seen.token.is_some_and(|token| {
                index.is_none_or(|i| i == token) && role.as_deref().is_none_or(|role| has_role(seen.plan, token, role))
            }),
            Self::Read { index } => seen.read.is_some_and(|read| index.is_none_or(|i| i == read)),
            Self::Selected(kind) => seen.subject == Some(kind),
            Self::Pinned => seen.pinned,
            Self::Param { name, least, most, word } => seen.complete && param(seen, name, *least, *most, word.as_deref()),
            Self::Lane { name, on } => seen.session.lanes.iter().any(|l| l.name == *name && l.enabled == *on),
            Self::QueryHead { from, to } => (*from..=*to).contains(&seen.session.view.query_head),
            Self::Source(name) => seen.complete && matches!(&seen.session.source, Source::Task(task) if task.name == *name),
            Self::Branches(least) => {
                seen.complete && seen.session.lanes.iter().filter(|l| l.enabled && !l.hands.is_empty()).count() >= *least
            }
            Self::Score { lane, least, most } => {
                score(seen, lane).is_some_and(|s| least.is_none_or(|l| s >= l) && most.is_none_or(|m| s <= m))
            }
            Self::Panel(name) => (seen.panel)(name),
            Self::Choose { right, .. } => seen.answer.chosen == Some(*right),
            Self::Number { is, within } => seen.answer.number.is_some_and(|n| (n - is).abs() <= *within),
            Self::All(all) => all.iter().all(|c| c.holds(seen)),
        }
    }

    /// The question with answers to choose from, if it holds one.
    #[must_use]
    pub fn options(&self) -> Option<&[String]> {
        match self {
            Self::Choose { options, .. } => Some(options),
            Self::All(all) => all.iter().find_map(Self::options),
            _ => None,
        }
    }

    /// The place of the right one among [`Self::options`].
    #[must_use]
    pub fn right(&self) -> Option<usize> {
        match self {
            Self::Choose { right, .. } => Some(*right),
            Self::All(all) => all.iter().find_map(Self::right),
            _ => None,
        }
    }

    /// True if it asks whether a panel is seen.
    #[must_use]
    pub fn asks_panel(&self) -> bool {
        match self {
            Self::Panel(_) => true,
            Self::All(all) => all.iter().any(Self::asks_panel),
            _ => false,
        }
    }

    /// True if it asks for a number.
    #[must_use]
    pub fn asks_number(&self) -> bool {
        match self {
            Self::Number { .. } => true,
            Self::All(all) => all.iter().any(Self::asks_number),
            _ => false,
        }
    }

    /// What is wrong with it in this lesson's session, in words, if anything is: names of lanes, panels, kinds and roles that there are none of.
    ///
    /// # Errors
    /// The sentence.
    pub fn sound(&self, session: &Session) -> Result<(), String> {
        let lane = |name: &str| {
            let names = || session.lanes.iter().map(|l| l.name.as_str()).collect::<Vec<_>>().join(", ");
            if session.lanes.iter().any(|l| l.name == name) {
                Ok(())
            } else {
                Err(format!("there is no lane `{name}`; there are {}", names()))
            }
        };
        match self {
            Self::Playhead { from, to } if from > to => Err(format!("no playhead stands from {from} to {to}")),
            Self::Event { lane: name, kind: wanted, .. } => lane(name).and_then(|()| kind(wanted).map(|_| ())),
            Self::Lane { name, .. } | Self::Score { lane: name, .. } => lane(name),
            Self::Param { name, .. } => match name.rsplit_once('.') {
                Some((OWNER_OF_TASK, _)) => Ok(()),
                Some((owner, _)) => lane(owner),
                None => Err(format!("`{name}` is no parameter; one is written as LoLA.cache")),
            },
            Self::Source(name) if task(name).is_none() => Err(format!("there is no task `{name}`")),
            Self::Selected(wanted) if !SUBJECTS.contains(&wanted.as_str()) => {
                Err(format!("`{wanted}` cannot be selected; there are {}", SUBJECTS.join(", ")))
            }
            Self::Choose { options, right } if *right >= options.len() || options.len() < 2 => {
                Err(format!("`right` is {right}, but there are {} options, counted from 0 (two at least are needed)", options.len()))
            }
            Self::Number { is, within } if !is.is_finite() || *within < 0.0 || within.is_nan() => Err("the number is none".to_owned()),
            Self::All(all) => all.iter().try_for_each(|c| c.sound(session)),
            _ => Ok(()),
        }
    }
}

/// What can be selected, as [`Check::Selected`] names it.
pub const SUBJECTS: [&str; 6] = ["token", "centroid", "slot", "read", "step", "lane"];

fn kind(name: &str) -> Result<EventKind, String> {
    let names = || EventKind::ALL.map(EventKind::name).join(", ");
    EventKind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| format!("there is no event `{name}`; there are {}", names()))
}

fn has_role(plan: &Plan, write: usize, role: &str) -> bool {
    let roles = &plan.stream.labels().roles;
    roles.of_write.get(write).and_then(|r| roles.names.get(usize::from(*r))).is_some_and(|name| name == role)
}

/// A lane of the plan and its number.
fn lane<'a>(plan: &'a Plan, name: &str) -> Option<(usize, &'a PlanLane)> {
    plan.lanes.iter().enumerate().find(|(_, l)| l.name == name)
}

/// True if the event is seen for the first time where the playhead stands.
fn event(seen: &Seen<'_>, name: &str, wanted: &str, first: bool, about: &dyn Fn(usize) -> bool) -> bool {
    let (Some((number, _)), Ok(kind)) = (lane(seen.plan, name), kind(wanted)) else { return false };
    let (Some(trace), criteria) = (seen.traces.get(number), Criteria::default()) else { return false };
    let events = LaneEvents::new(seen.plan, number, trace, seen.heads, &criteria);
    let of_kind = |scan: &usize| events.kind(*scan) == kind;
    let fits = |hit: &crate::metric::events::Hit| events.event(*hit).is_some_and(|e| e.write.is_none_or(about));
    let mut at = (0..events.scans()).filter(of_kind).flat_map(|scan| events.forwards(scan, 0).filter(fits).map(|hit| hit.seen as usize));
    if first { at.min() == Some(seen.writes) } else { at.any(|w| w == seen.writes) }
}

fn param(seen: &Seen<'_>, name: &str, least: Option<f64>, most: Option<f64>, word: Option<&str>) -> bool {
    let Some(value) = value_of(seen.session, name) else { return false };
    let within = |n: f64| least.is_none_or(|l| n >= l) && most.is_none_or(|m| n <= m);
    ((least.is_none() && most.is_none()) || value.number().is_some_and(within)) && word.is_none_or(|w| value.to_string() == w)
}

/// What a parameter is set to; its default where it was left alone.
fn value_of(session: &Session, name: &str) -> Option<ParamValue> {
    let (owner, param) = name.rsplit_once('.')?;
    let (params, specs) = match &session.source {
        Source::Task(source) if owner == OWNER_OF_TASK => (&source.params, task(&source.name)?.params()),
        _ => {
            let lane = session.lanes.iter().find(|l| l.name == owner)?;
            (&lane.params, layer::kind(&lane.layer)?.params())
        }
    };
    params.get(param).cloned().or_else(|| specs.iter().find(|s| s.name == param)?.default_value())
}

fn score(seen: &Seen<'_>, name: &str) -> Option<f64> {
    let (number, _) = lane(seen.plan, name).filter(|_| seen.complete)?;
    let mut running = Running::new(seen.plan.stream.targets())?;
    running.update(seen.traces.get(number)?);
    running.over(0..seen.plan.stream.query_heads(), 0..seen.plan.stream.reads()).headline()
}
