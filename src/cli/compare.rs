//! `mnemoscope compare`: the recall table of a session, over one or more seeds.

use std::io::Write;
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::inspect::settings;
use super::source::{Backend, Bar, Source, interrupted};
use super::talk::say;
use super::{CliError, table};
use crate::engine::sweep::{Job, Score, Scorer, Tally};
use crate::engine::{BackendInfo, Devices};
use crate::metric::{Scored, Summary};
use crate::session::plan::{check_names, load_stream};
use crate::session::{self, LaneSpec, Session};
use crate::stream::Stream;

/// Bytes of a number of a state, float32.
const NUMBER: u64 = 4;

/// What `compare` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Run so many seeds: the session's own, and those that follow it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,

    /// Where to compute; what the session says, where absent.
    #[arg(long)]
    backend: Option<Backend>,

    /// How to print the table.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Print JSON: the same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Leave lanes out that are switched off.
    #[arg(long)]
    enabled: bool,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns.
    Text,
    /// A row a lane, every digit.
    Csv,
    /// Everything, the seeds one by one too.
    Json,
    /// A table for a page.
    Markdown,
}

/// A lane, and what it scored on each seed.
struct Row {
    lane: LaneSpec,
    /// By seed; a sentence where it cannot run.
    scores: Vec<Result<Score, String>>,
}

/// Everything that is printed.
struct Table {
    session: String,
    stream: Arc<Stream>,
    seeds: Vec<u64>,
    step: usize,
    backend: BackendInfo,
    rows: Vec<Row>,
}

impl Args {
    /// Runs every lane on every seed, and prints the table.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let table = self.measure()?;
        let title = table.stream.labels().title.as_str();
        say!("{title}, on {} ({}).", table.backend.adapter, table.backend.reason);
        table.tell_notes();
        match if self.json { Format::Json } else { self.format } {
            Format::Text => table.text(out)?,
            Format::Csv => table.csv(out)?,
            Format::Json => table.json(out)?,
            Format::Markdown => table.markdown(out)?,
        }
        let unable: Vec<&str> = table.rows.iter().filter(|r| r.error().is_some()).map(|r| r.lane.name.as_str()).collect();
        if unable.is_empty() { Ok(()) } else { Err(CliError::Lanes(unable.join(", "))) }
    }

    fn measure(&self) -> Result<Table, CliError> {
        let (session, base) = self.source.open()?;
        let failed = |error| CliError::plan(&self.source.session, error);
        check_names(&session.lanes).map_err(failed)?;
        let lanes: Vec<LaneSpec> = session.lanes.iter().filter(|l| l.enabled || !self.enabled).cloned().collect();
        if lanes.is_empty() {
            return Err(CliError::Usage("the session has no lane to run".to_owned()));
        }
        let cancel = interrupted()?;
        let mut devices = Devices::default();
        let mut scorer = Scorer::open(&mut devices, self.backend.map_or(session.backend, Into::into))?;
        let seeds: Vec<u64> = (0..self.seeds).map(|i| session.seed.wrapping_add(i)).collect();
        let mut rows: Vec<Row> = lanes.iter().map(|l| Row { lane: l.clone(), scores: Vec::new() }).collect();
        let of_task = matches!(session.source, session::Source::Task(_));
        let stream = load_stream(&session, base).map_err(failed)?;
        self.source.check_view(&session, &stream)?;
        let bar = Bar::new("tokens");
        let mut step = 0;
        for (at, &seed) in seeds.iter().enumerate() {
            let session = Session { seed, ..session.clone() };
            // Only a task has another stream for another seed.
            let stream = if at > 0 && of_task { load_stream(&session, base).map_err(failed)? } else { Arc::clone(&stream) };
            let job = Job::new(&session, base, stream);
            step = job.step();
            let (before, count) = (at as u64, seeds.len() as u64);
            let mut tell = |done, all| bar.show(before * all + done, count * all);
            let scores = scorer.score(&job, &lanes, &mut tell, &cancel)?;
            rows.iter_mut().zip(scores).for_each(|(row, score)| row.scores.push(score));
        }
        drop(bar);
        let backend = scorer.backend().clone();
        Ok(Table { session: self.source.session.display().to_string(), stream, seeds, step, backend, rows })
    }
}

impl Row {
    /// Why the lane has no score, if it has none: the first seed's sentence.
    fn error(&self) -> Option<&str> {
        self.scores.iter().find_map(|s| s.as_ref().err()).map(String::as_str)
    }

    /// The scores, if every seed has one.
    fn all(&self) -> Option<Vec<&Score>> {
        self.scores.iter().map(|s| s.as_ref().ok()).collect()
    }

    /// All seeds together.
    fn summary(&self) -> Option<Summary> {
        Tally::total(self.all()?.iter().filter_map(|s| s.tally.as_ref())).map(|t| t.summary())
    }

    /// Seconds of all seeds together.
    fn seconds(&self) -> Option<f64> {
        Some(self.all()?.iter().map(|s| s.seconds).sum())
    }

    /// What the user set, in short.
    fn settings(&self) -> String {
        let weights = self.lane.weights.iter().map(|w| format!("weights = {}", w.display()));
        let hands = self.lane.hands.iter().map(ToString::to_string);
        Some(settings(self.lane.params.0.iter()))
            .filter(|s| !s.is_empty())
            .into_iter()
            .chain(weights)
            .chain(hands)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Table {
    /// Notes on the stream and the lanes, and why a lane cannot run, each once.
    fn tell_notes(&self) {
        for row in &self.rows {
            if let Some(error) = row.error() {
                say!("{} cannot run: {error}", row.lane.name);
            }
            let mut said: Vec<&str> = Vec::new();
            for note in row.scores.iter().flatten().flat_map(|s| &s.notes) {
                if !said.contains(&note.as_str()) {
                    say!("{}: {note}", row.lane.name);
                    said.push(note);
                }
            }
        }
        let unit = if self.step == 1 { "token" } else { "tokens" };
        say!("A step is {} {unit}; bytes are of float32.", self.step);
        if self.rows.iter().filter_map(Row::all).flatten().any(|s| s.memory_share > 1.0) {
            let tokens = self.stream.writes();
            say!("Over 100% of full: rows that are reserved are counted, filled or not, against the keys and values of {tokens} tokens.");
        }
    }

    /// True where the relative error is a root: on a capture.
    fn is_root(&self) -> bool {
        Scored::of(self.stream.targets()) == Scored::Relative
    }

    /// Steps of all seeds together.
    fn steps(&self) -> f64 {
        (self.stream.writes().div_ceil(self.step.max(1)) * self.seeds.len()) as f64
    }

    fn heads(&self) -> [&'static str; 11] {
        let recall = self.rows.iter().any(|r| matches!(r.summary(), Some(Summary::Recall { .. })));
        let score = if recall { "accuracy (95%)" } else { Scored::of(self.stream.targets()).name() };
        ["lane", "layer", "set", score, ">reads", ">numbers", ">bytes", ">of full", ">madds a token", ">madds a read", ">ms a step"]
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let mut cells = vec![row.lane.name.clone(), row.lane.layer.clone(), row.settings()];
        let first = row.all().and_then(|all| all.first().copied());
        let Some(score) = first else {
            cells.push("cannot run".to_owned());
            cells.resize(11, "-".to_owned());
            return cells;
        };
        let reads = row.summary().map_or(0, |s| match s {
            Summary::Recall { reads, .. } | Summary::Error { reads, .. } => reads,
        });
        let numbers = score.cost.state_numbers;
        cells.extend([
            row.summary().map_or_else(|| "-".to_owned(), figures),
            reads.to_string(),
            numbers.to_string(),
            table::bytes(numbers * NUMBER),
            format!("{:.1}%", 100.0 * score.memory_share),
            score.cost.write_madds.to_string(),
            score.cost.read_madds.to_string(),
            format!("{:.3}", 1e3 * row.seconds().unwrap_or(0.0) / self.steps()),
        ]);
        cells
    }

    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        table::write(out, &self.heads(), &self.rows.iter().map(|r| self.cells(r)).collect::<Vec<_>>())
    }

    fn markdown(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let heads = self.heads();
        let line = |cells: &[String]| format!("| {} |", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "));
        writeln!(out, "{}", line(&heads.map(|h| h.trim_start_matches('>').to_owned())))?;
        writeln!(out, "|{}", heads.map(|h| if h.starts_with('>') { "---:|" } else { "---|" }).concat())?;
        for row in &self.rows {
            writeln!(out, "{}", line(&self.cells(row)))?;
        }
        Ok(())
    }

    fn csv(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(COLUMNS).map_err(std::io::Error::from)?;
        for row in &self.rows {
            csv.write_record(self.record(row)).map_err(std::io::Error::from)?;
        }
        Ok(csv.flush()?)
    }

    /// The fields of [`COLUMNS`]; empty where there is nothing to say.
    fn record(&self, row: &Row) -> Vec<String> {
        let set = serde_json::to_string(&row.lane.params).unwrap_or_default();
        let seeds = self.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let mut record = vec![row.lane.name.clone(), row.lane.layer.clone(), row.lane.enabled.to_string(), set, seeds];
        let number = |n: Option<f64>| n.map(|n| n.to_string()).unwrap_or_default();
        let summary = row.summary();
        let interval = summary.and_then(|s| s.interval());
        let (reads, correct, relative, cosine) = match summary {
            Some(Summary::Recall { correct, reads }) => (Some(reads), Some(correct), None, None),
            Some(Summary::Error { relative, cosine, reads }) => (Some(reads), None, Some(relative), Some(cosine)),
            None => (None, None, None, None),
        };
        let accuracy = summary.filter(|_| correct.is_some()).and_then(|s| s.headline());
        record.extend([reads, correct].map(|n| n.map(|n| n.to_string()).unwrap_or_default()));
        record.extend([accuracy, interval.map(|i| i.0), interval.map(|i| i.1), relative].map(number));
        record.push(relative.map(|_| self.is_root().to_string()).unwrap_or_default());
        record.push(number(cosine));
        let first = row.all().and_then(|all| all.first().copied());
        let cost = first.map(|s| s.cost);
        let costs = [cost.map(|c| c.state_numbers), cost.map(|c| c.state_numbers * NUMBER)];
        record.extend(costs.map(|n| n.map(|n| n.to_string()).unwrap_or_default()));
        record.push(number(first.map(|s| s.memory_share)));
        record.extend([cost.map(|c| c.write_madds), cost.map(|c| c.read_madds)].map(|n| n.map(|n| n.to_string()).unwrap_or_default()));
        record.push(number(row.seconds()));
        record.push(self.step.to_string());
        record.push(number(row.seconds().map(|s| s / self.steps())));
        record.push(first.map(|s| if s.backend.gpu { "gpu" } else { "cpu" }.to_owned()).unwrap_or_default());
        record.push(row.error().unwrap_or_default().to_owned());
        record
    }

    fn json(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let stream = &self.stream;
        let all = json!({
            "version": env!("CARGO_PKG_VERSION"), "session": self.session, "title": stream.labels().title,
            "relative_is_root": self.is_root(), "writes": stream.writes(), "reads": stream.reads(), "query_heads": stream.query_heads(), "kv_heads": stream.kv_heads(),
            "seeds": self.seeds, "step": self.step, "backend": backend(&self.backend),
            "lanes": self.rows.iter().map(|r| self.lane_json(r)).collect::<Vec<Value>>(),
        });
        writeln!(out, "{all:#}")
    }

    fn lane_json(&self, row: &Row) -> Value {
        let first = row.all().and_then(|all| all.first().copied());
        let seed = |(seed, score): (&u64, &Result<Score, String>)| match score {
            Ok(score) => json!({
                "seed": seed, "score": summary_json(score.tally.map(|t| t.summary())), "seconds": score.seconds,
                "backend": backend(&score.backend), "notes": score.notes,
            }),
            Err(error) => json!({ "seed": seed, "error": error }),
        };
        json!({
            "name": row.lane.name, "layer": row.lane.layer, "enabled": row.lane.enabled, "weights": row.lane.weights, "hands": row.lane.hands,
            "set": row.lane.params, "params": first.map(|s| &s.params), "error": row.error(), "score": summary_json(row.summary()),
            "state_numbers": first.map(|s| s.cost.state_numbers), "state_bytes": first.map(|s| s.cost.state_numbers * NUMBER),
            "memory_share": first.map(|s| s.memory_share), "write_madds": first.map(|s| s.cost.write_madds),
            "read_madds": first.map(|s| s.cost.read_madds), "seconds": row.seconds(),
            "seconds_a_step": row.seconds().map(|s| s / self.steps()),
            "seeds": self.seeds.iter().zip(&row.scores).map(seed).collect::<Vec<Value>>(),
        })
    }
}

/// The columns of `--format csv`.
const COLUMNS: [&str; 23] = [
    "lane",
    "layer",
    "enabled",
    "set",
    "seeds",
    "reads",
    "correct",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "relative_error",
    "relative_is_root",
    "cosine",
    "state_numbers",
    "state_bytes",
    "memory_share",
    "write_madds",
    "read_madds",
    "seconds",
    "step",
    "seconds_a_step",
    "backend",
    "error",
];

pub(super) fn backend(info: &BackendInfo) -> Value {
    json!({ "gpu": info.gpu, "adapter": info.adapter, "reason": info.reason })
}

pub(super) fn summary_json(summary: Option<Summary>) -> Value {
    let Some(summary) = summary else { return Value::Null };
    match summary {
        Summary::Recall { correct, reads } => {
            let interval = summary.interval().map(|(low, high)| [low, high]);
            json!({ "correct": correct, "reads": reads, "accuracy": summary.headline(), "interval": interval })
        }
        Summary::Error { relative, cosine, reads } => json!({ "relative_error": relative, "cosine": cosine, "reads": reads }),
    }
}

/// `0.960 (0.805 to 0.993)`, or `0.414, cosine 0.930`.
fn figures(summary: Summary) -> String {
    let Some(headline) = summary.headline() else { return "no reads".to_owned() };
    match summary {
        Summary::Recall { .. } => {
            let (low, high) = summary.interval().unwrap_or((0.0, 1.0));
            format!("{headline:.3} ({low:.3} to {high:.3})")
        }
        Summary::Error { cosine, .. } => format!("{headline:.3}, cosine {cosine:.3}"),
    }
}
