//! Where a value stands in the text of a session: the line and column of `lanes[1].params.n_max`.
//!
//! What RON itself finds wrong has its place. What is found wrong later (a number outside its limits, two lanes of one name) knows only
//! the way to the value: [`Way::of`] has it for every [`PlanError`], and [`find`] looks it up in the text.

use std::fmt;
use std::path::Path;

use super::Session;
use super::file::{is_capture, read_text};
use super::plan::PlanError;
use super::saved::is_saved;
use crate::layer::kind;
use crate::param::{ParamError, ParamValue};
use crate::session::Source;
use crate::stream::capture::CaptureError;
use crate::task::{TaskError, task};

/// Brackets within brackets that are followed; a session has about eight.
const DEPTH: usize = 100;

/// A step on the way from the top of a file to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A field of a struct, a key of a map, or a variant.
    Field(String),
    /// A place in a list, from 0.
    Index(usize),
}

/// The way from the top of a file to a value. Displayed as `lanes[1].params.n_max`; empty at the top.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way(Vec<Step>);

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Way {
    /// The way to a field of the top.
    #[must_use]
    pub fn to(field: &str) -> Self {
        Self::default().field(field)
    }

    /// On to a field, a key of a map, or into a variant.
    #[must_use]
    pub fn field(mut self, name: &str) -> Self {
        self.0.push(Step::Field(name.to_owned()));
        self
    }

    /// On to a place in a list.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// True at the top.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The way to what an error is about; empty where it is about no field.
    #[must_use]
    pub fn of(error: &PlanError, session: &Session) -> Self {
        let lane =
            |name: &str| session.lanes.iter().position(|l| l.name == name).map_or_else(Self::default, |at| Self::to("lanes").index(at));
        match error {
            PlanError::Param(error) | PlanError::Task(TaskError::Param(error)) => Self::of_param(error, session),
            PlanError::Task(TaskError::Stream(_)) => Self::to("source"),
            PlanError::UnknownTask { .. } => Self::to("source").field("Task").field("name"),
            PlanError::UnknownLayer { lane: name, .. } => lane(name).field("layer"),
            PlanError::Weights { lane: name, .. } => lane(name).field("weights"),
            PlanError::LaneName { index, .. } => Self::to("lanes").index(*index).field("name"),
            PlanError::Hand { lane: name, index, .. } => lane(name).field("hands").index(*index),
            PlanError::Fit { lane: name, .. } | PlanError::TraceTooLarge { lane: name, .. } => lane(name),
            PlanError::TooManyLanes { .. } | PlanError::NoLane => Self::to("lanes"),
            PlanError::Capture(error) => Self::of_capture(match error {
                CaptureError::Wanted { field, .. } => field,
                CaptureError::Layer { .. } => "layer",
                _ => "path",
            }),
            PlanError::CaptureMissing { .. } | PlanError::CaptureUnread { .. } => Self::of_capture("path"),
            PlanError::CaptureDiffers { .. } => Self::of_capture("sha256"),
            PlanError::View { way, .. } => way.clone(),
            PlanError::Cancelled => Self::default(),
        }
    }

    fn of_capture(field: &str) -> Self {
        Self::to("source").field("Capture").field(field)
    }

    fn of_param(error: &ParamError, session: &Session) -> Self {
        let (owner, name, value) = error.about();
        // A text that is too long is named with its unit, `text (bytes)`.
        let name = name.split(" (").next().unwrap_or(name);
        if let Some(at) = session.lanes.iter().position(|l| l.name == owner) {
            let lane = Self::to("lanes").index(at);
            let known = kind(&session.lanes[at].layer).is_some_and(|k| k.params().iter().any(|p| p.name == name));
            return if known || value.is_none() { lane.field("params").field(name) } else { lane };
        }
        match &session.source {
            Source::Task(task) if owner == format!("task {}", task.name) => Self::to("source").field("Task").field("params").field(name),
            _ => Self::default(),
        }
    }
}

/// A value of RON and where it begins, in bytes.
struct Value {
    at: usize,
    variant: Option<String>,
    shape: Shape,
}

enum Shape {
    /// `(a: .., b: ..)` or `{"a": .., "b": ..}`.
    Fields(Vec<(String, Value)>),
    /// `(.., ..)`.
    Tuple(Vec<Value>),
    /// `[.., ..]`.
    List(Vec<Value>),
    /// A number, a text, a word.
    Leaf,
}

/// The line and column, both from 1, at which the value at the end of a way begins; of a way that goes further than the text, the last
/// value on it. `None` for a text that is no RON.
#[must_use]
pub fn find(text: &str, way: &Way) -> Option<(usize, usize)> {
    let mut scan = Scan { text, at: 0 };
    scan.header()?;
    let value = scan.value(0)?;
    let before = text.get(..walk(&value, &way.0, false))?;
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
    Some((line, column))
}

/// Follows the way as far as it goes. `inside`: the variant's name has been part of it.
fn walk(value: &Value, way: &[Step], inside: bool) -> usize {
    let Some((step, rest)) = way.split_first() else { return value.at };
    match (step, &value.shape) {
        (Step::Field(name), Shape::Fields(fields)) if fields.iter().any(|(n, _)| n == name) => {
            let found = fields.iter().find(|(n, _)| n == name);
            found.map_or(value.at, |(_, inner)| walk(inner, rest, false))
        }
        (Step::Index(index), Shape::List(items)) => items.get(*index).map_or(value.at, |inner| walk(inner, rest, false)),
        (Step::Field(name), _) if !inside && value.variant.as_ref() == Some(name) => walk(value, rest, true),
        // `Some(..)`, and the long form of a variant: `Capture((..))`.
        (_, Shape::Tuple(items)) if items.len() == 1 => walk(&items[0], way, false),
        _ => value.at,
    }
}

/// Reads RON for where things are. What it does not understand it gives up on, with `None`.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    /// Steps over what `of` holds for.
    fn run(&mut self, of: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !of(c)).unwrap_or(rest.len());
    }

    /// Steps over blanks and comments.
    fn blanks(&mut self) -> Option<()> {
        loop {
            self.run(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.run(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                let mut depth = 0_usize;
                loop {
                    let rest = self.rest();
                    if rest.starts_with("/*") {
                        depth += 1;
                        self.at += 2;
                    } else if rest.starts_with("*/") {
                        depth -= 1;
                        self.at += 2;
                    } else {
                        self.at += rest.chars().next()?.len_utf8();
                    }
                    if depth == 0 {
                        break;
                    }
                }
            } else {
                return Some(());
            }
        }
    }

    /// Steps over `#![enable(..)]`.
    fn header(&mut self) -> Option<()> {
        self.blanks()?;
        while self.rest().starts_with("#!") {
            let end = self.rest().find(']')?;
            self.at += end + 1;
            self.blanks()?;
        }
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        self.blanks()?;
        let at = self.at;
        let leaf = |variant| Some(Value { at, variant, shape: Shape::Leaf });
        if self.text_literal()? {
            return leaf(None);
        }
        let word = self.word();
        self.blanks()?;
        if self.eat('(') {
            let shape = self.round(depth)?;
            return Some(Value { at, variant: word, shape });
        }
        if word.is_some() {
            return leaf(word);
        }
        if self.eat('[') {
            let mut items = Vec::new();
            while !self.closes(']')? {
                items.push(self.value(depth + 1)?);
                self.comma(']')?;
            }
            return Some(Value { at, variant: None, shape: Shape::List(items) });
        }
        if self.eat('{') {
            let mut fields = Vec::new();
            while !self.closes('}')? {
                let from = self.at;
                self.value(depth + 1)?;
                let key = &self.text[from..self.at];
                let name = ron::from_str::<String>(key).unwrap_or_else(|_| key.trim().to_owned());
                self.blanks()?;
                if !self.eat(':') {
                    return None;
                }
                fields.push((name, self.value(depth + 1)?));
                self.comma('}')?;
            }
            return Some(Value { at, variant: None, shape: Shape::Fields(fields) });
        }
        self.run(|c| c.is_alphanumeric() || "+-._".contains(c));
        if self.at == at { None } else { leaf(None) }
    }

    /// What is inside of round brackets, the first of which is behind.
    fn round(&mut self, depth: usize) -> Option<Shape> {
        let (mut fields, mut items) = (Vec::new(), Vec::new());
        while !self.closes(')')? {
            let from = self.at;
            let name = if self.text_literal()? { None } else { self.word() };
            self.blanks()?;
            if let (Some(name), true) = (name, self.eat(':')) {
                fields.push((name, self.value(depth + 1)?));
            } else {
                self.at = from;
                items.push(self.value(depth + 1)?);
            }
            self.comma(')')?;
        }
        Some(if fields.is_empty() { Shape::Tuple(items) } else { Shape::Fields(fields) })
    }

    /// True, and the bracket stepped over, at the end of what it closes.
    fn closes(&mut self, bracket: char) -> Option<bool> {
        self.blanks()?;
        Some(self.eat(bracket))
    }

    /// A comma, unless the bracket comes next.
    fn comma(&mut self, bracket: char) -> Option<()> {
        self.blanks()?;
        (self.eat(',') || self.peek() == Some(bracket)).then_some(())
    }

    /// Steps over a text in quotes, a raw one, or a letter in single ones; false where there is none. `None` where it has no end.
    fn text_literal(&mut self) -> Option<bool> {
        let rest = self.rest();
        let body = rest.strip_prefix('b').unwrap_or(rest);
        let raw = body.strip_prefix('r').map(|r| (r, r.len() - r.trim_start_matches('#').len()));
        if let Some((body, hashes)) = raw.filter(|(r, hashes)| r[*hashes..].starts_with('"')) {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = self.at + (rest.len() - body.len()) + hashes + 1;
            self.at = from + self.text.get(from..)?.find(&end)? + end.len();
            return Some(true);
        }
        let Some(quote) = body.chars().next().filter(|c| ['"', '\''].contains(c)) else { return Some(false) };
        self.at += rest.len() - body.len() + 1;
        loop {
            let c = self.peek()?;
            self.at += c.len_utf8();
            if c == '\\' {
                self.at += self.peek()?.len_utf8();
            } else if c == quote {
                return Some(true);
            }
        }
    }

    /// A name, stepped over; a number is none.
    fn word(&mut self) -> Option<String> {
        let raw = self.rest().starts_with("r#");
        let from = self.at + if raw { 2 } else { 0 };
        let first = self.text.get(from..)?.chars().next()?;
        if !(first.is_alphabetic() || first == '_') {
            return None;
        }
        self.at = from;
        self.run(|c| c.is_alphanumeric() || c == '_' || (raw && ".+-".contains(c)));
        Some(self.text[from..self.at].to_owned())
    }
}

/// How a message about a session file begins: `a.ron:5:17: in lanes[1].params.n_max`, as far as that can be told; the file's name at
/// least. Where what was wrong came from elsewhere (`--set`), the file is not blamed for it.
#[must_use]
pub fn prefix(path: &Path, error: &PlanError) -> String {
    let file = path.display().to_string();
    let text = match is_capture(path) {
        Ok(false) if !is_saved(path) => read_text(path).ok(),
        _ => None,
    };
    let session = text.as_deref().and_then(|text| Session::from_ron(text, &file).ok());
    let (Some(text), Some(session)) = (text, session) else { return file };
    let way = Way::of(error, &session);
    if way.is_empty() || !agrees(error, &session) {
        return file;
    }
    match find(&text, &way) {
        Some((line, column)) => format!("{file}:{line}:{column}: in `{way}`"),
        None => format!("{file}: in `{way}`"),
    }
}

/// True unless the value that an error complains of is another one in the file.
fn agrees(error: &PlanError, session: &Session) -> bool {
    let (PlanError::Param(error) | PlanError::Task(TaskError::Param(error))) = error else { return true };
    let (owner, name, value) = error.about();
    let (params, specs) = match (session.lanes.iter().find(|l| l.name == owner), &session.source) {
        (Some(lane), _) => (&lane.params, kind(&lane.layer).map_or(&[][..], |k| k.params())),
        (None, Source::Task(source)) => (&source.params, task(&source.name).map_or(&[][..], |t| t.params())),
        (None, Source::Capture(_)) => return false,
    };
    let Some(value) = value else { return params.get(name).is_some() };
    let default = || specs.iter().find(|s| s.name == name).map_or_else(|| value.to_owned(), |s| words(s.default_value().as_ref()));
    let set = params.get(name).map_or_else(default, |set| words(Some(set)));
    // A text is complained of by its length.
    set == value || set.parse::<f64>().is_ok_and(|set| Ok(set) == value.parse::<f64>()) || name.ends_with(" (bytes)")
}

/// A value as messages have it.
fn words(value: Option<&ParamValue>) -> String {
    value.map_or_else(|| "auto".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "#![enable(implicit_some)]\n// a ( in a comment\n(\n    seed: 3, /* nested /* ( */ */ source: Capture((path: r#\"a\"b,(\"#, layer: Some(12))),\n    lanes: [\n        (name: \"a, (b\", layer: \"ovq\"),\n        (name: 'x', \"quoted\": 1),\n    ],\n)";

    fn at(text: &str, way: Way) -> Option<(usize, usize)> {
        find(text, &way)
    }

    fn lane(index: usize) -> Way {
        Way::to("lanes").index(index)
    }

    #[test]
    fn values_are_found_through_comments_texts_and_the_long_form() {
        let text = TEXT.replace("(name: 'x', \"quoted\": 1)", "(params: {\"n_max\": 5, \"é\": [1,\n 2]}, é: Some(7))");
        assert_eq!(at(&text, Way::default()), Some((3, 1)));
        assert_eq!(at(&text, Way::to("seed")), Some((4, 11)));
        assert_eq!(at(&text, Way::to("source").field("Capture").field("layer")), Some((4, 77)));
        assert_eq!(at(&text, lane(0).field("layer")), Some((6, 32)));
        assert_eq!(at(&text, lane(1).field("params").field("n_max")), Some((7, 28)));
        assert_eq!(at(&text, lane(1).field("params").field("é").index(1)), Some((8, 2)));
        assert_eq!(at(&text, lane(1).field("é")), Some((8, 10)));
        // What is not there: the last value on the way.
        assert_eq!(at(&text, lane(0).field("params").field("n_max")), Some((6, 9)));
        assert_eq!(at(&text, lane(9)), Some((5, 12)));
        assert_eq!(lane(1).field("params").field("n_max").to_string(), "lanes[1].params.n_max");
    }

    #[test]
    fn the_short_form_is_found_too() {
        let text = "(source: Task(name: \"needles\", params: {\"T\": 1}), bookmarks: [(position: 4)])";
        assert_eq!(at(text, Way::to("source").field("Task").field("params").field("T")), Some((1, 46)));
        assert_eq!(at(text, Way::to("bookmarks").index(0).field("position")), Some((1, 74)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the text, there is a place in it or none, and no crash.
        #[test]
        fn any_text_gives_a_place_in_it_or_none(cuts in prop::collection::vec((any::<prop::sample::Index>(), "[\\PC(){}\\[\\]\"'r#:,/*\\\\\n]{0,4}"), 0..6)) {
            let mut text: Vec<char> = TEXT.chars().collect();
            for (at, with) in cuts {
                let at = at.index(text.len());
                text.splice(at..(at + 1).min(text.len()), with.chars());
            }
            let text: String = text.into_iter().collect();
            for way in [Way::default(), lane(1).field("params").field("x"), Way::to("source").field("Capture").field("path")] {
                if let Some((line, column)) = find(&text, &way) {
                    let found = text.split('\n').nth(line - 1);
                    prop_assert!(found.is_some_and(|l| column <= l.chars().count().max(1)), "{line}:{column}");
                }
            }
        }

        /// A number that is put anywhere into a session that was written is found there.
        #[test]
        fn what_was_written_is_found(lanes in 1_usize..6, wanted in any::<prop::sample::Index>(), name in "\\PC{1,12}", value in 1_i64..9999) {
            use crate::param::Params;
            use crate::session::LaneSpec;
            let one = |i: usize| LaneSpec::new(&format!("{i} {name}"), "ovq", Params::default().with("a", 1).with("n_max", value));
            let session = Session { lanes: (0..lanes).map(one).collect(), notes: name.clone(), ..Session::default() };
            let text = session.to_ron().unwrap();
            let (line, column) = find(&text, &lane(wanted.index(lanes)).field("params").field("n_max")).unwrap();
            let found: String = text.split('\n').nth(line - 1).unwrap().chars().skip(column - 1).take_while(char::is_ascii_digit).collect();
            prop_assert_eq!(found, value.to_string());
            // Each lane has a line of its own for it.
            let before = text.split('\n').take(line).filter(|l| l.contains("\"n_max\"")).count();
            prop_assert_eq!(before, wanted.index(lanes) + 1);
        }
    }
}
