//! Tables as columns: each with its kind, unit, meaning, and a way to its cells. One source for every format.
//!
//! Cells are made for a stretch of rows at a time, so that a table of any length is never in memory whole.

use std::ops::Range;

use super::cut::Runs;
use super::parquet::Column;
use crate::trace::{Channel, Values};

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Texts.
    Text,
    /// float64.
    Real,
    /// float32.
    Single,
    /// Whole numbers.
    Integer,
}

impl Cells {
    /// Its name in `columns.json` and the README.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Real => "float64",
            Self::Single => "float32",
            Self::Integer => "int64",
        }
    }

    /// No cell at all.
    pub fn none(self) -> Column {
        match self {
            Self::Text => Column::Text(Vec::new()),
            Self::Real => Column::Real(Vec::new()),
            Self::Single => Column::Single(Vec::new()),
            Self::Integer => Column::Integer(Vec::new()),
        }
    }

    /// What a trace's numbers are as cells.
    pub fn of(values: &Values) -> Self {
        match values {
            Values::F32(_) => Self::Single,
            Values::F64(_) => Self::Real,
            Values::I32(_) => Self::Integer,
        }
    }
}

/// A column of a table.
pub(crate) struct Source<'a> {
    /// Its name, one of its own in the table.
    pub name: String,
    /// What its cells are.
    pub cells: Cells,
    /// The unit.
    pub unit: String,
    /// What it holds, in a sentence.
    pub meaning: String,
    make: Box<dyn Fn(Range<usize>) -> Column + 'a>,
}

impl<'a> Source<'a> {
    /// A column whose cells `make` makes for a range of rows; they must be of the kind `cells`.
    pub fn new(
        name: impl Into<String>,
        cells: Cells,
        unit: impl Into<String>,
        meaning: impl Into<String>,
        make: impl Fn(Range<usize>) -> Column + 'a,
    ) -> Self {
        Self { name: name.into(), cells, unit: unit.into(), meaning: meaning.into(), make: Box::new(make) }
    }

    /// A column of texts.
    pub fn text(name: &str, unit: &str, meaning: &str, cell: impl Fn(usize) -> Option<String> + 'a) -> Self {
        Self::new(name, Cells::Text, unit, meaning, move |rows| Column::Text(rows.map(&cell).collect()))
    }

    /// A column of whole numbers.
    pub fn whole(name: &str, unit: &str, meaning: &str, cell: impl Fn(usize) -> Option<i64> + 'a) -> Self {
        Self::new(name, Cells::Integer, unit, meaning, move |rows| Column::Integer(rows.map(&cell).collect()))
    }

    /// A column of texts, with a row for each of these indices.
    pub fn text_along(name: &str, unit: &str, meaning: &str, along: &'a Runs, cell: impl Fn(usize) -> Option<String> + 'a) -> Self {
        Self::new(name, Cells::Text, unit, meaning, move |rows| Column::Text(along.slice(rows).map(&cell).collect()))
    }

    /// A column of whole numbers, with a row for each of these indices.
    pub fn whole_along(name: &str, unit: &str, meaning: &str, along: &'a Runs, cell: impl Fn(usize) -> Option<i64> + 'a) -> Self {
        Self::new(name, Cells::Integer, unit, meaning, move |rows| Column::Integer(along.slice(rows).map(&cell).collect()))
    }

    /// A column of numbers of these channels: float64 where one of them has such numbers, else float32.
    pub fn real<'c>(
        name: &str,
        unit: &str,
        meaning: &str,
        mut channels: impl Iterator<Item = &'c Channel>,
        cell: impl Fn(usize) -> Option<f64> + 'a,
    ) -> Self {
        if channels.any(|c| (0..c.heads()).any(|h| matches!(c.values(h), Values::F64(_)))) {
            Self::new(name, Cells::Real, unit, meaning, move |rows| Column::Real(rows.map(&cell).collect()))
        } else {
            Self::new(name, Cells::Single, unit, meaning, move |rows| Column::Single(rows.map(|r| cell(r).map(|x| x as f32)).collect()))
        }
    }

    /// The cells of these rows.
    pub fn cells(&self, rows: Range<usize>) -> Column {
        (self.make)(rows)
    }
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("cells", &self.cells).finish_non_exhaustive()
    }
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// Its name, and its files'.
    pub name: &'static str,
    /// What a row is, in a sentence or two.
    pub about: &'static str,
    /// Rows.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<Source<'a>>,
}

/// Numbers of a trace as cells; none where the trace has not come that far.
pub(crate) fn numbers(values: &Values, at: impl Iterator<Item = usize>) -> Column {
    match values {
        Values::F32(v) => Column::Single(at.map(|i| v.get(i).copied()).collect()),
        Values::F64(v) => Column::Real(at.map(|i| v.get(i).copied()).collect()),
        Values::I32(v) => Column::Integer(at.map(|i| v.get(i).copied().map(i64::from)).collect()),
    }
}
