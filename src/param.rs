//! Parameters of layers and tasks as data: one description serves the sliders of the window, `--set` on the command
//! line, the session file and the checks, so that none of them can disagree about a name, a default or a limit.
//!
//! A [`ParamSpec`] describes one parameter; [`Params`] holds what a user set (and nothing else); [`Resolved`] is the
//! checked combination of both, and the only thing that layers and tasks read.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The kind of a parameter, with its limits (both ends included) and its default.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum ParamKind {
    /// A whole number. `log` asks for a logarithmic slider.
    Int { min: i64, max: i64, default: i64, log: bool },
    /// A real number. `log` asks for a logarithmic slider.
    Float { min: f64, max: f64, default: f64, log: bool },
    /// A real number that, left alone, is taken from the stream (the `beta` of a capture). `auto` says from where.
    AutoFloat { min: f64, max: f64, auto: &'static str, log: bool },
    /// One of a few words, each with its explanation. The first is the default.
    Choice { options: &'static [(&'static str, &'static str)] },
    /// Yes or no.
    Bool { default: bool },
    /// Any text of at most `max_bytes` bytes, over several lines.
    Text { default: &'static str, max_bytes: usize },
}

/// One parameter of a layer or task: its name as in LAYERS.md and the reference, its explanation and its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamSpec {
    /// The name in session files, on the command line and in the reference (`n_max`, `chunk`, ..).
    pub name: &'static str,
    /// The name on a slider.
    pub title: &'static str,
    /// One or two sentences for the hover.
    pub doc: &'static str,
    /// Type, limits, default.
    pub kind: ParamKind,
}

/// A value as a user writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a value must be a number, a word in quotes, true or false")]
pub enum ParamValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A word.
    Text(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(v) => v.fmt(f),
            Self::Int(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Text(v) => v.fmt(f),
        }
    }
}

impl ParamValue {
    /// Reads a value from the command line: `true`, `12`, `0.5`, anything else is a word.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Ok(v) = text.parse::<bool>() {
            Self::Bool(v)
        } else if let Ok(v) = text.parse::<i64>() {
            Self::Int(v)
        } else if let Ok(v) = text.parse::<f64>() {
            Self::Float(v)
        } else {
            Self::Text(text.to_owned())
        }
    }

    /// The value as a real number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

/// What a user set, by name; parameters that are absent are at their defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(pub BTreeMap<String, ParamValue>);

impl Params {
    /// The same with one more value set; for building defaults and tests.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<ParamValue>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Sets one value.
    pub fn set(&mut self, name: &str, value: impl Into<ParamValue>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// What the user set for `name`, if anything.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.get(name)
    }
}

impl From<bool> for ParamValue {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}
impl From<i64> for ParamValue {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}
impl From<i32> for ParamValue {
    fn from(v: i32) -> Self {
        Self::Int(i64::from(v))
    }
}
impl From<f64> for ParamValue {
    fn from(v: f64) -> Self {
        Self::Float(v)
    }
}
impl From<&str> for ParamValue {
    fn from(v: &str) -> Self {
        Self::Text(v.to_owned())
    }
}

/// A parameter that cannot be used, in words that name it, its value and its limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum ParamError {
    /// Not a parameter of this owner.
    #[error("{owner} has no parameter `{name}`; it has {known}{}", nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default())]
    Unknown { owner: String, name: String, known: String, nearest: Option<String> },
    /// The value has the wrong type.
    #[error("{owner}.{name} is `{value}`, but must be {expected}")]
    Type { owner: String, name: String, value: String, expected: String },
    /// The value lies outside the limits.
    #[error("{owner}.{name} is {value}, but must be from {min} to {max}")]
    Range { owner: String, name: String, value: String, min: String, max: String },
    /// The value is fine alone, but not with the stream or another parameter.
    #[error("{owner}.{name} is {value}, but {reason}")]
    Conflict { owner: String, name: String, value: String, reason: String },
}

impl ParamError {
    /// What it complains of: whose parameter, its name, and the value; none where there is no such parameter.
    #[must_use]
    pub fn about(&self) -> (&str, &str, Option<&str>) {
        match self {
            Self::Unknown { owner, name, .. } => (owner, name, None),
            Self::Type { owner, name, value, .. } | Self::Range { owner, name, value, .. } | Self::Conflict { owner, name, value, .. } => {
                (owner, name, Some(value))
            }
        }
    }
}

/// Checked parameters: every name of the specs has a value of its type within its limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    owner: String,
    values: BTreeMap<&'static str, Option<ParamValue>>,
}

impl Resolved {
    /// Checks `params` against `specs`.
    ///
    /// `owner` is what messages call the thing that has the parameters (a lane's name, `task needles`).
    ///
    /// # Errors
    /// The first [`ParamError`] found: an unknown name, a wrong type, a value outside its limits.
    pub fn new(owner: &str, specs: &[ParamSpec], params: &Params) -> Result<Self, ParamError> {
        if let Some(name) = params.0.keys().find(|n| !specs.iter().any(|s| s.name == n.as_str())) {
            return Err(unknown(owner, specs, name));
        }
        let mut values = BTreeMap::new();
        for spec in specs {
            values.insert(spec.name, check(owner, spec, params.get(spec.name))?);
        }
        Ok(Self { owner: owner.to_owned(), values })
    }

    /// What messages call the owner of these parameters.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// A whole number that cannot be negative, as a size.
    ///
    /// # Panics
    /// If `name` is no whole-number parameter of the specs: a mistake in the program, caught by the registry's test.
    #[must_use]
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).unwrap_or_else(|_| panic!("`{name}` is declared with a negative minimum"))
    }

    /// A whole number.
    ///
    /// # Panics
    /// As [`Resolved::size`].
    #[must_use]
    pub fn int(&self, name: &str) -> i64 {
        match self.values.get(name) {
            Some(Some(ParamValue::Int(v))) => *v,
            other => panic!("`{name}` is not a whole-number parameter: {other:?}"),
        }
    }

    /// A real number.
    ///
    /// # Panics
    /// As [`Resolved::size`].
    #[must_use]
    pub fn float(&self, name: &str) -> f64 {
        self.auto_float(name).unwrap_or_else(|| panic!("`{name}` has no default of its own"))
    }

    /// A real number, or `None` where it is to be taken from the stream.
    ///
    /// # Panics
    /// As [`Resolved::size`].
    #[must_use]
    pub fn auto_float(&self, name: &str) -> Option<f64> {
        match self.values.get(name) {
            Some(Some(ParamValue::Float(v))) => Some(*v),
            Some(None) => None,
            other => panic!("`{name}` is not a real-number parameter: {other:?}"),
        }
    }

    /// A real number, or `None` where it is to be taken from the stream or there is no such parameter.
    #[must_use]
    pub fn set_float(&self, name: &str) -> Option<f64> {
        if let Some(Some(ParamValue::Float(v))) = self.values.get(name) { Some(*v) } else { None }
    }

    /// The word chosen.
    ///
    /// # Panics
    /// As [`Resolved::size`].
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Some(ParamValue::Text(v))) => v,
            other => panic!("`{name}` is not a choice: {other:?}"),
        }
    }

    /// Yes or no.
    ///
    /// # Panics
    /// As [`Resolved::size`].
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Some(ParamValue::Bool(v))) => *v,
            other => panic!("`{name}` is not a yes-or-no parameter: {other:?}"),
        }
    }

    /// The text typed.
    ///
    /// # Panics
    /// As [`Resolved::size`].
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Some(ParamValue::Text(v))) => v,
            other => panic!("`{name}` is not a text: {other:?}"),
        }
    }

    /// An error that says why the value of `name` cannot be used here.
    #[must_use]
    pub fn conflict(&self, name: &str, reason: impl Into<String>) -> ParamError {
        let value = self.values.get(name).and_then(Option::as_ref).map_or_else(|| "auto".to_owned(), ToString::to_string);
        ParamError::Conflict { owner: self.owner.clone(), name: name.to_owned(), value, reason: reason.into() }
    }
}

/// Every parameter as it was checked; `auto` where the stream decides.
#[must_use]
pub fn every(specs: &[ParamSpec], resolved: &Resolved) -> Params {
    let value = |spec: &ParamSpec| match spec.kind {
        ParamKind::Int { .. } => ParamValue::Int(resolved.int(spec.name)),
        ParamKind::Float { .. } => ParamValue::Float(resolved.float(spec.name)),
        ParamKind::AutoFloat { .. } => resolved.auto_float(spec.name).map_or(ParamValue::from("auto"), ParamValue::Float),
        ParamKind::Choice { .. } => ParamValue::from(resolved.choice(spec.name)),
        ParamKind::Bool { .. } => ParamValue::Bool(resolved.flag(spec.name)),
        ParamKind::Text { .. } => ParamValue::from(resolved.text(spec.name)),
    };
    Params(specs.iter().map(|spec| (spec.name.to_owned(), value(spec))).collect())
}

impl ParamSpec {
    /// The value a user gets who sets nothing; `None` where it is taken from the stream.
    #[must_use]
    pub fn default_value(&self) -> Option<ParamValue> {
        match self.kind {
            ParamKind::Int { default, .. } => Some(ParamValue::Int(default)),
            ParamKind::Float { default, .. } => Some(ParamValue::Float(default)),
            ParamKind::AutoFloat { .. } => None,
            ParamKind::Choice { options } => options.first().map(|(name, _)| ParamValue::from(*name)),
            ParamKind::Bool { default } => Some(ParamValue::Bool(default)),
            ParamKind::Text { default, .. } => Some(ParamValue::from(default)),
        }
    }
}

fn unknown(owner: &str, specs: &[ParamSpec], name: &str) -> ParamError {
    let known = specs.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
    let nearest = nearest(name, specs.iter().map(|s| s.name)).map(str::to_owned);
    ParamError::Unknown { owner: owner.to_owned(), name: name.to_owned(), known, nearest }
}

/// The candidate with the smallest edit distance to `name`, if it is near enough to be a slip of the finger.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates.map(|c| (edit_distance(name, c), c)).filter(|(d, c)| *d <= 1 + c.len() / 3).min_by_key(|(d, _)| *d).map(|(_, c)| c)
}

/// Levenshtein distance, for names of a few letters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

fn check(owner: &str, spec: &ParamSpec, value: Option<&ParamValue>) -> Result<Option<ParamValue>, ParamError> {
    let Some(value) = value else { return Ok(spec.default_value()) };
    let wrong =
        |expected: String| ParamError::Type { owner: owner.to_owned(), name: spec.name.to_owned(), value: value.to_string(), expected };
    let outside = |min: String, max: String| ParamError::Range {
        owner: owner.to_owned(),
        name: spec.name.to_owned(),
        value: value.to_string(),
        min,
        max,
    };
    match (spec.kind, value) {
        (ParamKind::Int { min, max, .. }, ParamValue::Int(v)) => {
            if (min..=max).contains(v) {
                Ok(Some(value.clone()))
            } else {
                Err(outside(min.to_string(), max.to_string()))
            }
        }
        // `1e9` on the command line is a whole number too.
        (ParamKind::Int { .. }, ParamValue::Float(v)) if v.fract() == 0.0 && v.abs() < 9e15 => {
            check(owner, spec, Some(&ParamValue::Int(*v as i64)))
        }
        (ParamKind::Int { .. }, _) => Err(wrong("a whole number".to_owned())),
        (ParamKind::AutoFloat { .. }, ParamValue::Text(word)) if word == "auto" => Ok(None),
        (ParamKind::Float { min, max, .. } | ParamKind::AutoFloat { min, max, .. }, ParamValue::Int(_) | ParamValue::Float(_)) => {
            let v = match value {
                ParamValue::Int(v) => *v as f64,
                ParamValue::Float(v) => *v,
                _ => unreachable!("matched above"),
            };
            if (min..=max).contains(&v) { Ok(Some(ParamValue::Float(v))) } else { Err(outside(min.to_string(), max.to_string())) }
        }
        (ParamKind::Float { .. } | ParamKind::AutoFloat { .. }, _) => Err(wrong("a number".to_owned())),
        (ParamKind::Choice { options }, ParamValue::Text(word)) if options.iter().any(|(o, _)| o == word) => Ok(Some(value.clone())),
        (ParamKind::Choice { options }, _) => {
            Err(wrong(format!("one of {}", options.iter().map(|(o, _)| *o).collect::<Vec<_>>().join(", "))))
        }
        (ParamKind::Bool { .. }, ParamValue::Bool(_)) => Ok(Some(value.clone())),
        (ParamKind::Bool { .. }, _) => Err(wrong("true or false".to_owned())),
        (ParamKind::Text { max_bytes, .. }, ParamValue::Text(text)) if text.len() <= max_bytes => Ok(Some(value.clone())),
        (ParamKind::Text { max_bytes, .. }, ParamValue::Text(text)) => Err(ParamError::Range {
            owner: owner.to_owned(),
            name: format!("{} (bytes)", spec.name),
            value: text.len().to_string(),
            min: "0".to_owned(),
            max: max_bytes.to_string(),
        }),
        // A text that looks like a number or a truth value on the command line is still a text.
        (ParamKind::Text { .. }, other) => Ok(Some(ParamValue::Text(other.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[ParamSpec] = &[
        ParamSpec { name: "n_max", title: "N", doc: "", kind: ParamKind::Int { min: 1, max: 16384, default: 512, log: true } },
        ParamSpec {
            name: "beta",
            title: "beta",
            doc: "",
            kind: ParamKind::AutoFloat { min: 0.0, max: 1e4, auto: "the stream", log: true },
        },
        ParamSpec { name: "growth", title: "growth", doc: "", kind: ParamKind::Choice { options: &[("plateau", ""), ("linear", "")] } },
    ];

    #[test]
    fn absent_values_are_defaults() {
        let r = Resolved::new("OVQ", SPECS, &Params::default()).unwrap();
        assert_eq!((r.size("n_max"), r.auto_float("beta"), r.choice("growth")), (512, None, "plateau"));
    }

    #[test]
    fn whole_numbers_pass_where_reals_are_wanted() {
        let r = Resolved::new("OVQ", SPECS, &Params::default().with("beta", 8)).unwrap();
        assert_eq!(r.auto_float("beta"), Some(8.0));
    }

    #[test]
    fn messages_name_parameter_value_and_limit() {
        let message = |p: Params| Resolved::new("OVQ", SPECS, &p).unwrap_err().to_string();
        assert_eq!(message(Params::default().with("n_max", 0)), "OVQ.n_max is 0, but must be from 1 to 16384");
        assert_eq!(message(Params::default().with("growth", "plato")), "OVQ.growth is `plato`, but must be one of plateau, linear");
        assert!(message(Params::default().with("n_mx", 3)).ends_with("(did you mean `n_max`?)"));
        assert_eq!(message(Params::default().with("beta", f64::NAN)), "OVQ.beta is NaN, but must be from 0 to 10000");
    }
}
