//! A row of a sweep's results, and rows as a table.

use thiserror::Error;

use super::pieces::Values;
use super::{Piece, Tally};
use crate::export::parquet::{Column, Table};
use crate::layer::Cost;
use crate::metric::Summary;
use crate::param::{ParamValue, Params};

/// What a table of this form says of itself under [`KIND`].
const FORM: &str = "sweep 1";
/// The key in the file's metadata.
const KIND: &str = "mnemoscope";

/// What a piece of work scored.
#[derive(Debug, Clone, PartialEq)]
pub struct RowScore {
    /// What its answers add up to; `None` where the stream's targets are unknown.
    pub tally: Option<Tally>,
    /// What its memory costs, per head.
    pub cost: Cost,
    /// The share of full attention's memory.
    pub memory_share: f64,
    /// Seconds that the layer took.
    pub seconds: f64,
    /// The adapter that it ran on.
    pub ran_on: String,
}

/// One lane at one point with one seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The session's file, as it was named.
    pub session: String,
    /// What the result depends on, hashed: rows of equal keys are the same work.
    pub key: String,
    /// The lane.
    pub lane: String,
    /// Its layer.
    pub layer: String,
    /// The seed.
    pub seed: u64,
    /// What is varied, at most two: `n_max` 64; empty for a lane that no axis touches.
    pub varied: Values,
    /// What the user set of the layer's parameters, the varied among them.
    pub set: Params,
    /// Every parameter of the layer, defaults filled in; empty where they cannot be together.
    pub params: Params,
    /// The task's name, or the capture's title.
    pub source: String,
    /// The task's parameters, defaults filled in.
    pub source_params: Params,
    /// Writes of the stream, T.
    pub writes: Option<u64>,
    /// Writes a step of layers with no chunk of their own.
    pub step: u64,
    /// The backend that was asked for: true for a GPU.
    pub gpu: bool,
    /// The program's version.
    pub version: String,
    /// The score, or why there is none.
    pub score: Result<RowScore, String>,
}

impl Row {
    /// True if this is a result of `piece` (of the same session).
    #[must_use]
    pub fn is_of(&self, piece: &Piece) -> bool {
        self.lane == piece.lane.name && self.seed == piece.seed && self.varied == piece.varied
    }

    /// What its answers add up to, if it has been scored.
    #[must_use]
    pub fn tally(&self) -> Option<&Tally> {
        self.score.as_ref().ok().and_then(|s| s.tally.as_ref())
    }
}

/// Why a table is no sweep.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RowError {
    /// It is another kind of table.
    #[error("it is no sweep of this program")]
    Kind,
    /// A newer program wrote it, or a damaged one.
    #[error("it is a sweep in the form `{0}`, but this program knows `{FORM}`")]
    Form(String),
    /// A column is not there or of another type.
    #[error("the column `{0}` is missing or of another type")]
    Column(&'static str),
    /// A value cannot be.
    #[error("row {row}: `{column}` is missing or cannot be read")]
    #[allow(missing_docs, reason = "the message explains them")]
    Value { row: usize, column: &'static str },
}

/// How a column is filled.
enum Fill {
    Text(fn(&Row) -> Option<String>),
    Real(fn(&Row) -> Option<f64>),
    Whole(fn(&Row) -> Option<u64>),
    Flag(fn(&Row) -> Option<bool>),
}

/// The columns: name, meaning, values.
const COLUMNS: &[(&str, &str, Fill)] = &[
    ("session", "the session's file, as it was named", Fill::Text(|r| Some(r.session.clone()))),
    ("key", "hash of all that the result depends on: rows of equal keys are the same work", Fill::Text(|r| Some(r.key.clone()))),
    ("lane", "the lane's name", Fill::Text(|r| Some(r.lane.clone()))),
    ("layer", "the layer", Fill::Text(|r| Some(r.layer.clone()))),
    ("seed", "the seed of the task and of all that is drawn", Fill::Whole(|r| Some(r.seed))),
    ("x_name", "the first parameter that is varied; none for a lane that is not varied", Fill::Text(|r| name(r, 0))),
    ("x", "its value, where that is a number", Fill::Real(|r| r.varied.first()?.1.number())),
    ("x_text", "its value as a word", Fill::Text(|r| Some(exact(&r.varied.first()?.1)))),
    ("y_name", "the second parameter that is varied", Fill::Text(|r| name(r, 1))),
    ("y", "its value, where that is a number", Fill::Real(|r| r.varied.get(1)?.1.number())),
    ("y_text", "its value as a word", Fill::Text(|r| Some(exact(&r.varied.get(1)?.1)))),
    ("set", "the layer's parameters that differ from the defaults, as JSON", Fill::Text(|r| json(&r.set))),
    ("params", "every parameter of the layer, as JSON", Fill::Text(|r| json(&r.params))),
    ("source", "the task, or the capture", Fill::Text(|r| Some(r.source.clone()))),
    ("source_params", "every parameter of the task, as JSON", Fill::Text(|r| json(&r.source_params))),
    ("writes", "tokens of the stream, T", Fill::Whole(|r| r.writes)),
    ("reads", "reads scored, all query heads together", Fill::Whole(|r| Some(r.tally()?.reads()))),
    ("correct", "reads answered rightly", Fill::Whole(correct)),
    ("accuracy", "correct / reads", Fill::Real(|r| correct(r).and(r.tally()?.summary().headline()))),
    ("accuracy_low", "lower end of Wilson's 95% interval", Fill::Real(|r| Some(r.tally()?.summary().interval()?.0))),
    ("accuracy_high", "upper end of Wilson's 95% interval", Fill::Real(|r| Some(r.tally()?.summary().interval()?.1))),
    ("relative_error", "error_sq / target_sq, or its root where relative_is_root", Fill::Real(|r| errors(r).map(|e| e.0))),
    ("relative_is_root", "true against full attention, false for regression", Fill::Flag(|r| sums(r).map(|s| s.3))),
    ("cosine", "mean cosine of outputs and targets", Fill::Real(|r| errors(r).map(|e| e.1))),
    ("error_sq", "sum of squared errors", Fill::Real(|r| sums(r).map(|s| s.0))),
    ("target_sq", "sum of squared targets", Fill::Real(|r| sums(r).map(|s| s.1))),
    ("cosine_sum", "sum of cosines", Fill::Real(|r| sums(r).map(|s| s.2))),
    ("state_numbers", "numbers that the memory holds at the end, per head", Fill::Whole(|r| Some(scored(r)?.cost.state_numbers))),
    ("state_bytes", "the same in bytes of float32", Fill::Whole(|r| Some(scored(r)?.cost.state_numbers * 4))),
    ("memory_share", "the share of what full attention keeps", Fill::Real(|r| Some(scored(r)?.memory_share))),
    ("write_madds", "multiply-adds a token, per head", Fill::Whole(|r| Some(scored(r)?.cost.write_madds))),
    ("read_madds", "multiply-adds a read, per head", Fill::Whole(|r| Some(scored(r)?.cost.read_madds))),
    ("seconds", "what the layer took for the whole stream, as measured", Fill::Real(|r| Some(scored(r)?.seconds))),
    ("step", "tokens a step of layers with no chunk of their own", Fill::Whole(|r| Some(r.step))),
    ("backend", "the backend that was asked for: cpu or gpu", Fill::Text(|r| Some(if r.gpu { "gpu" } else { "cpu" }.to_owned()))),
    ("ran_on", "the adapter that it ran on", Fill::Text(|r| Some(scored(r)?.ran_on.clone()))),
    ("error", "why there is no score", Fill::Text(|r| r.score.as_ref().err().cloned())),
    ("version", "the program's version", Fill::Text(|r| Some(r.version.clone()))),
];

fn scored(row: &Row) -> Option<&RowScore> {
    row.score.as_ref().ok()
}

fn name(row: &Row, at: usize) -> Option<String> {
    row.varied.get(at).map(|(name, _)| name.clone())
}

/// A value that [`ParamValue::parse`] gives back.
fn exact(value: &ParamValue) -> String {
    if let ParamValue::Float(v) = value { format!("{v:?}") } else { value.to_string() }
}

fn json(params: &Params) -> Option<String> {
    serde_json::to_string(params).ok()
}

fn correct(row: &Row) -> Option<u64> {
    if let Tally::Recall { correct, .. } = *row.tally()? { Some(correct) } else { None }
}

fn sums(row: &Row) -> Option<(f64, f64, f64, bool)> {
    let Tally::Error { error_sq, target_sq, cosine, root, .. } = *row.tally()? else { return None };
    Some((error_sq, target_sq, cosine, root))
}

fn errors(row: &Row) -> Option<(f64, f64)> {
    let Summary::Error { relative, cosine, .. } = row.tally()?.summary() else { return None };
    Some((relative, cosine))
}

/// Rows as a table, with the meaning of its columns.
#[must_use]
pub fn to_table(rows: &[Row]) -> Table {
    let column = |fill: &Fill| match fill {
        Fill::Text(of) => Column::Text(rows.iter().map(of).collect()),
        Fill::Real(of) => Column::Real(rows.iter().map(of).collect()),
        Fill::Whole(of) => Column::Whole(rows.iter().map(of).collect()),
        Fill::Flag(of) => Column::Flag(rows.iter().map(of).collect()),
    };
    let mut metadata = vec![(KIND.to_owned(), FORM.to_owned())];
    metadata.extend(COLUMNS.iter().map(|(name, meaning, _)| ((*name).to_owned(), (*meaning).to_owned())));
    Table { columns: COLUMNS.iter().map(|(name, _, fill)| ((*name).to_owned(), column(fill))).collect(), metadata }
}

/// The rows of a table that [`to_table`] made.
///
/// # Errors
/// If it is another table, or one of its values cannot be.
pub fn from_table(table: &Table) -> Result<Vec<Row>, RowError> {
    match table.meta(KIND) {
        None => return Err(RowError::Kind),
        Some(form) if form != FORM => return Err(RowError::Form(form.to_owned())),
        Some(_) => {}
    }
    for (name, _, fill) in COLUMNS {
        let fits = match (fill, table.column(name)) {
            (Fill::Text(_), Some(Column::Text(v))) => v.len() == table.rows(),
            (Fill::Real(_), Some(Column::Real(v))) => v.len() == table.rows(),
            (Fill::Whole(_), Some(Column::Whole(v))) => v.len() == table.rows(),
            (Fill::Flag(_), Some(Column::Flag(v))) => v.len() == table.rows(),
            _ => false,
        };
        if !fits {
            return Err(RowError::Column(name));
        }
    }
    (0..table.rows()).map(|row| Reader { table, row }.read()).collect()
}

/// One row of a table whose columns are all there.
struct Reader<'a> {
    table: &'a Table,
    row: usize,
}

impl Reader<'_> {
    fn missing(&self, column: &'static str) -> RowError {
        RowError::Value { row: self.row, column }
    }

    fn text_or_none(&self, column: &'static str) -> Option<String> {
        if let Some(Column::Text(v)) = self.table.column(column) { v[self.row].clone() } else { None }
    }

    fn text(&self, column: &'static str) -> Result<String, RowError> {
        self.text_or_none(column).ok_or_else(|| self.missing(column))
    }

    fn real_or_none(&self, column: &'static str) -> Option<f64> {
        if let Some(Column::Real(v)) = self.table.column(column) { v[self.row] } else { None }
    }

    fn real(&self, column: &'static str) -> Result<f64, RowError> {
        self.real_or_none(column).ok_or_else(|| self.missing(column))
    }

    fn whole_or_none(&self, column: &'static str) -> Option<u64> {
        if let Some(Column::Whole(v)) = self.table.column(column) { v[self.row] } else { None }
    }

    fn whole(&self, column: &'static str) -> Result<u64, RowError> {
        self.whole_or_none(column).ok_or_else(|| self.missing(column))
    }

    fn params(&self, column: &'static str) -> Result<Params, RowError> {
        serde_json::from_str(&self.text(column)?).map_err(|_| self.missing(column))
    }

    fn read(&self) -> Result<Row, RowError> {
        let value = |name: &'static str, text: &'static str| Some((self.text_or_none(name)?, ParamValue::parse(&self.text_or_none(text)?)));
        let error = self.text_or_none("error");
        Ok(Row {
            session: self.text("session")?,
            key: self.text("key")?,
            lane: self.text("lane")?,
            layer: self.text("layer")?,
            seed: self.whole("seed")?,
            varied: value("x_name", "x_text").into_iter().chain(value("y_name", "y_text")).collect(),
            set: self.params("set")?,
            params: self.params("params")?,
            source: self.text("source")?,
            source_params: self.params("source_params")?,
            writes: self.whole_or_none("writes"),
            step: self.whole("step")?,
            gpu: self.text("backend")? == "gpu",
            version: self.text("version")?,
            score: if let Some(error) = error { Err(error) } else { Ok(self.score()?) },
        })
    }

    fn score(&self) -> Result<RowScore, RowError> {
        let cost = Cost {
            state_numbers: self.whole("state_numbers")?,
            write_madds: self.whole("write_madds")?,
            read_madds: self.whole("read_madds")?,
        };
        Ok(RowScore {
            tally: self.tally()?,
            cost,
            memory_share: self.real("memory_share")?,
            seconds: self.real("seconds")?,
            ran_on: self.text("ran_on")?,
        })
    }

    fn tally(&self) -> Result<Option<Tally>, RowError> {
        let Some(reads) = self.whole_or_none("reads") else { return Ok(None) };
        if let Some(correct) = self.whole_or_none("correct") {
            return Ok(Some(Tally::Recall { correct, reads }));
        }
        let Some(Column::Flag(root)) = self.table.column("relative_is_root") else { return Ok(None) };
        let root = root[self.row].ok_or_else(|| self.missing("relative_is_root"))?;
        let (error_sq, target_sq) = (self.real("error_sq")?, self.real("target_sq")?);
        Ok(Some(Tally::Error { error_sq, target_sq, cosine: self.real("cosine_sum")?, reads, root }))
    }
}
