//! An equation with its numbers: lines in the notation of [`crate::widget::math`], and what each of their terms is.

use std::sync::Arc;

use crate::panel::Subject;
use crate::widget::math::{Math, parse};
use crate::widget::ticks::number;

/// A term of an equation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Its symbol, as LAYERS.md writes it.
    pub symbol: String,
    /// What it is.
    pub what: String,
    /// Its exact value, in words where it is a vector.
    pub value: String,
    /// The panel that draws it.
    pub panel: Option<&'static str>,
    /// What a click selects besides.
    pub subject: Option<Subject>,
}

/// A piece of a sentence: words, or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words.
    Words(String),
    /// A name that selects what it stands for.
    Link(String, Subject),
}

/// An equation with its numbers filled in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Equation {
    /// What it is, and of which read, token or step.
    pub heading: String,
    /// Its lines.
    pub lines: Vec<Arc<Math>>,
    /// Its terms, by their numbers in the lines.
    pub terms: Vec<Term>,
    /// What is said under it.
    pub words: Vec<Vec<Piece>>,
}

/// A term as it stands in a line: by its symbol and by its value.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The symbol.
    pub s: String,
    /// The value.
    pub v: String,
}

/// A number in the notation.
#[must_use]
pub fn num(x: f64) -> String {
    format!("\\t<{}>", number(x).replace('-', "−"))
}

impl Equation {
    /// An equation with nothing in it yet.
    #[must_use]
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), ..Self::default() }
    }

    /// Adds a term: `symbol` in the notation, its value, what it is, the panel that draws it.
    pub fn term(&mut self, symbol: &str, value: f64, what: impl Into<String>, panel: Option<&'static str>) -> Shown {
        let exact = if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value}") };
        self.named(symbol, &num(value), exact, what, panel)
    }

    /// The same with a value in words, shown as `shown`.
    pub fn named(
        &mut self,
        symbol: &str,
        shown: &str,
        value: impl Into<String>,
        what: impl Into<String>,
        panel: Option<&'static str>,
    ) -> Shown {
        let n = self.terms.len();
        self.terms.push(Term { symbol: parse(symbol).plain(), what: what.into(), value: value.into(), panel, subject: None });
        Shown { s: format!("#{n}<{symbol}>"), v: format!("#{n}<{shown}>") }
    }

    /// What a click on the term added last selects.
    pub fn selects(&mut self, subject: Subject) {
        if let Some(term) = self.terms.last_mut() {
            term.subject = Some(subject);
        }
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        self.lines.push(Arc::new(parse(text)));
    }

    /// Adds a sentence.
    pub fn say(&mut self, words: impl Into<String>) {
        self.words.push(vec![Piece::Words(words.into())]);
    }

    /// The value of a term by its symbol, as it is told; for tests.
    #[must_use]
    pub fn value(&self, symbol: &str) -> Option<f64> {
        self.terms.iter().find(|t| t.symbol == symbol)?.value.parse().ok()
    }

    /// All of it as text, for a screen reader.
    #[must_use]
    pub fn plain(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.plain()).collect();
        format!("{}: {}", self.heading, lines.join("; "))
    }
}
