//! What is varied: `OVQ.n_max=64..4096:log2`, read and checked against a session.

use std::fmt;

use thiserror::Error;

use crate::layer;
use crate::param::{ParamError, ParamKind, ParamSpec, ParamValue, Params, Resolved, nearest};
use crate::session::{LaneSpec, Session, Source};
use crate::task::task;

/// The name under which the task's parameters are varied.
pub const TASK: &str = "task";
/// The most points along one axis.
pub const MAX_POINTS: usize = 1000;

/// Why something cannot be varied like that.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum SpecError {
    /// It is not of the form.
    #[error("`{text}` must be LANE.PARAMETER=VALUES, for example `OVQ.n_max=64..4096:log2`")]
    Form { text: String },
    /// The values cannot be read.
    #[error(
        "`{text}`: {reason}; values are a list `64,128,256`, `0..1:5` (5 points, evenly), `64..4096:log2` (doubling) or `1..1000:log7` (7 points, evenly in the logarithm)"
    )]
    Values { text: String, reason: String },
    /// There is no such lane.
    #[error("there is no lane `{name}`; the session has {known}{}", nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default())]
    Lane { name: String, known: String, nearest: Option<String> },
    /// A lane or the session has something that does not exist.
    #[error("{owner} has the {what} `{name}`, which does not exist")]
    Missing { owner: String, what: &'static str, name: String },
    /// The session has no task.
    #[error("the session has a capture, not a task: nothing of it can be varied")]
    NoTask,
    /// A value cannot be that of the parameter.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// One parameter of a lane is varied twice.
    #[error("{owner}.{name} is varied twice")]
    Twice { owner: String, name: String },
    /// Too many or too few parameters are varied.
    #[error("{0} parameters are varied, but it must be one or two")]
    Axes(usize),
}

/// Values as they are written: a list, or a range with a rule.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Points {
    /// These.
    List(Vec<ParamValue>),
    /// So many from `from` to `to`, evenly.
    Linear { from: f64, to: f64, count: usize },
    /// `from`, twice that, and so on, up to `to`.
    Doubling { from: f64, to: f64 },
    /// So many from `from` to `to`, evenly in their logarithm.
    Log { from: f64, to: f64, count: usize },
}

impl Points {
    /// Reads `64,128`, `0..1:5`, `64..4096:log2` or `1..1000:log7`.
    ///
    /// # Errors
    /// [`SpecError::Values`].
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        let wrong = |reason: String| SpecError::Values { text: text.to_owned(), reason };
        let Some((from, rest)) = text.split_once("..") else {
            let list: Vec<&str> = text.split(',').map(str::trim).collect();
            if list.iter().any(|v| v.is_empty()) {
                return Err(wrong("a value is missing".to_owned()));
            }
            return limit(list.len()).map_err(wrong).map(|_| Self::List(list.into_iter().map(ParamValue::parse).collect()));
        };
        let Some((to, rule)) = rest.split_once(':') else {
            return Err(wrong("a range needs a rule after a colon".to_owned()));
        };
        let number = |t: &str| {
            let value = t.trim().parse::<f64>().ok().filter(|v| v.is_finite());
            value.ok_or_else(|| wrong(format!("`{}` is no number", t.trim())))
        };
        let (from, to) = (number(from)?, number(to)?);
        if from >= to {
            return Err(wrong("a range goes from the smaller number to the larger".to_owned()));
        }
        let rule = rule.trim();
        let count = |t: &str| {
            let count = t.parse::<usize>().map_err(|_| format!("`{rule}` is no rule"))?;
            if count < 2 { Err("a range has at least 2 points".to_owned()) } else { limit(count) }
        };
        let Some(log) = rule.strip_prefix("log") else {
            return Ok(Self::Linear { from, to, count: count(rule).map_err(wrong)? });
        };
        if from <= 0.0 {
            return Err(wrong("a logarithmic range begins above 0".to_owned()));
        }
        match log {
            "2" => limit(1 + (to / from).log2().floor() as usize).map_err(wrong).map(|_| Self::Doubling { from, to }),
            other => Ok(Self::Log { from, to, count: count(other).map_err(wrong)? }),
        }
    }

    /// The values, in order. Whole-number parameters are rounded where a range falls between; what comes out twice is there once.
    #[must_use]
    pub fn values(&self, whole: bool) -> Vec<ParamValue> {
        let reals: Vec<f64> = match *self {
            Self::List(ref values) => return without_twins(values.clone()),
            Self::Linear { from, to, count } => even(count, |share| from + (to - from) * share, to),
            Self::Doubling { from, to } => std::iter::successors(Some(from), |x| Some(2.0 * x)).take_while(|x| *x <= to).collect(),
            Self::Log { from, to, count } => even(count, |share| from * (to / from).powf(share), to),
        };
        let value = |x: f64| if whole { ParamValue::Int(x.round() as i64) } else { ParamValue::Float(x) };
        without_twins(reals.into_iter().map(value).collect())
    }

    /// True where the points are even on a logarithmic axis.
    #[must_use]
    pub fn is_log(&self) -> bool {
        match self {
            Self::Doubling { .. } | Self::Log { .. } => true,
            Self::Linear { .. } => false,
            Self::List(values) => {
                let reals: Option<Vec<f64>> = values.iter().map(ParamValue::number).collect();
                // Growing by a factor each time, as 64, 128, 256 do.
                reals.is_some_and(|r| {
                    r.len() > 2 && r[0] > 0.0 && r.windows(3).all(|w| w[0] < w[1] && (w[1] / w[0] - w[2] / w[1]).abs() < 0.5)
                })
            }
        }
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(values) => f.write_str(&values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
            Self::Linear { from, to, count } => write!(f, "{from}..{to}:{count}"),
            Self::Doubling { from, to } => write!(f, "{from}..{to}:log2"),
            Self::Log { from, to, count } => write!(f, "{from}..{to}:log{count}"),
        }
    }
}

fn limit(count: usize) -> Result<usize, String> {
    if count <= MAX_POINTS { Ok(count) } else { Err(format!("{count} points are more than {MAX_POINTS}")) }
}

/// Points at even shares of the way; the last is exactly `to`.
fn even(count: usize, at: impl Fn(f64) -> f64, to: f64) -> Vec<f64> {
    (0..count).map(|i| if i + 1 == count { to } else { at(i as f64 / (count - 1) as f64) }).collect()
}

fn without_twins(values: Vec<ParamValue>) -> Vec<ParamValue> {
    let mut kept: Vec<ParamValue> = Vec::with_capacity(values.len());
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

/// Whose parameter is varied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The task's.
    Task,
    /// These lanes', by name.
    Lanes(Vec<String>),
}

/// One parameter, and the values that it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Whose it is.
    pub owner: Owner,
    /// Its name.
    pub param: &'static str,
    /// The values, of the parameter's type and within its limits.
    pub values: Vec<ParamValue>,
    /// True where they are even on a logarithmic axis.
    pub log: bool,
}

impl Axis {
    /// Reads `LANE.PARAM=VALUES`; several lanes are joined by `+` (`OVQ+VQ.n_max=64..4096:log2`), and the task is `task`.
    ///
    /// # Errors
    /// If it has another form, or the session has no such lane, parameter or value.
    pub fn parse(session: &Session, text: &str) -> Result<Self, SpecError> {
        let form = || SpecError::Form { text: text.to_owned() };
        let (place, values) = text.split_once('=').ok_or_else(form)?;
        let (owner, param) = place.rsplit_once('.').ok_or_else(form)?;
        let owner = owner.trim();
        let named = |name: &str| session.lanes.iter().any(|l| l.name == name);
        let lanes = if named(owner) {
            vec![owner.to_owned()]
        } else if owner == TASK {
            return Self::new(session, Owner::Task, param.trim(), &Points::parse(values)?);
        } else {
            owner.split('+').map(|name| name.trim().to_owned()).collect()
        };
        Self::new(session, Owner::Lanes(lanes), param.trim(), &Points::parse(values)?)
    }

    /// The axis, checked against a session.
    ///
    /// # Errors
    /// If the session has no such lane, parameter or value.
    pub fn new(session: &Session, owner: Owner, param: &str, points: &Points) -> Result<Self, SpecError> {
        let mut found: Option<(&'static ParamSpec, Vec<ParamValue>)> = None;
        for (name, specs, set) in owners(session, &owner)? {
            // The first wrong name or value of the session itself is an error of `unknown` alike.
            let spec = specs.iter().find(|s| s.name == param);
            let Some(spec) = spec else {
                Resolved::new(&name, specs, &Params::default().with(param, 0))?;
                return Err(SpecError::Form { text: param.to_owned() });
            };
            let values = typed(spec.kind, points.values(matches!(spec.kind, ParamKind::Int { .. })));
            for value in &values {
                Resolved::new(&name, specs, &set.clone().with(param, value.clone()))?;
            }
            found.get_or_insert((spec, values));
        }
        let (spec, values) = found.ok_or_else(|| SpecError::Form { text: param.to_owned() })?;
        Ok(Self { owner, param: spec.name, values, log: points.is_log() })
    }

    /// True if the lane has this parameter varied.
    #[must_use]
    pub fn touches(&self, lane: &str) -> bool {
        matches!(&self.owner, Owner::Lanes(names) if names.iter().any(|n| n == lane))
    }

    /// The name of the parameter in rows: `n_max`, `task.T`.
    #[must_use]
    pub fn title(&self) -> String {
        if self.owner == Owner::Task { format!("{TASK}.{}", self.param) } else { self.param.to_owned() }
    }
}

/// A whole number is a real one where that is wanted: 1 and 1.0 are one point.
fn typed(kind: ParamKind, values: Vec<ParamValue>) -> Vec<ParamValue> {
    let wants_real = matches!(kind, ParamKind::Float { .. } | ParamKind::AutoFloat { .. });
    let value = |v: ParamValue| match v {
        ParamValue::Int(n) if wants_real => ParamValue::Float(n as f64),
        other => other,
    };
    without_twins(values.into_iter().map(value).collect())
}

/// Whose parameters, which there are, and what is set.
type Owned<'a> = (String, &'static [ParamSpec], &'a Params);

fn owners<'a>(session: &'a Session, owner: &Owner) -> Result<Vec<Owned<'a>>, SpecError> {
    let missing = |owner: &str, what, name: &str| SpecError::Missing { owner: owner.to_owned(), what, name: name.to_owned() };
    match owner {
        Owner::Task => {
            let Source::Task(source) = &session.source else { return Err(SpecError::NoTask) };
            let task = task(&source.name).ok_or_else(|| missing("the session", "task", &source.name))?;
            Ok(vec![(format!("task {}", source.name), task.params(), &source.params)])
        }
        Owner::Lanes(names) => {
            let of = |name: &String| {
                let lane = session.lanes.iter().find(|l| l.name == *name).ok_or_else(|| no_lane(&session.lanes, name))?;
                let kind = layer::kind(&lane.layer).ok_or_else(|| missing(&format!("lane `{name}`"), "layer", &lane.layer))?;
                Ok((lane.name.clone(), kind.params(), &lane.params))
            };
            names.iter().map(of).collect()
        }
    }
}

fn no_lane(lanes: &[LaneSpec], name: &str) -> SpecError {
    let names = || lanes.iter().map(|l| l.name.as_str());
    let lower = name.to_lowercase();
    let near = names().find(|n| n.to_lowercase() == lower).or_else(|| nearest(name, names())).map(str::to_owned);
    let known = names().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    SpecError::Lane { name: name.to_owned(), known, nearest: near }
}

/// What a sweep does: one or two axes, and how many seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// One axis, or two that make a grid for what both touch.
    pub axes: Vec<Axis>,
    /// Seeds: the session's own, and those that follow it.
    pub seeds: u64,
}

impl Spec {
    /// Puts axes together.
    ///
    /// # Errors
    /// If there is none, or more than two, or a parameter is varied twice.
    pub fn new(axes: Vec<Axis>, seeds: u64) -> Result<Self, SpecError> {
        if !(1..=2).contains(&axes.len()) {
            return Err(SpecError::Axes(axes.len()));
        }
        let names = |axis: &Axis| match &axis.owner {
            Owner::Task => vec![TASK.to_owned()],
            Owner::Lanes(names) => names.clone(),
        };
        let mut seen: Vec<(String, &str)> = Vec::new();
        for (owner, name) in axes.iter().flat_map(|a| names(a).into_iter().map(move |n| (n, a.param))) {
            if seen.contains(&(owner.clone(), name)) {
                return Err(SpecError::Twice { owner, name: name.to_owned() });
            }
            seen.push((owner, name));
        }
        Ok(Self { axes, seeds: seeds.max(1) })
    }
}
