//! `mnemoscope run`: computes a session with no window and writes its trace.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::source::{self, Backend, Bar, Source, interrupted};
use super::talk::{self, say};
use super::{CliError, out, saved};
use crate::engine::headless::RunResult;
use crate::export::{self, ArrayFormats, Request, TableFormats, Writes, Written};
use crate::metric::{Running, Scored, Summary};
use crate::param::nearest;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;

/// What `run` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Where to compute; what the session says, where absent.
    #[arg(long)]
    backend: Option<Backend>,

    /// The folder for the trace; made if it is not there. A trace that is there already is replaced as a whole.
    #[arg(long, value_name = "DIR", required_unless_present = "save")]
    out: Option<PathBuf>,

    /// Write the session and its trace into one file that opens at once (FILE.mnemo).
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Formats of the arrays.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMATS", default_value = "npz")]
    arrays: Vec<Arrays>,

    /// Formats of the tables.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMATS", default_value = "csv")]
    tables: Vec<Tables>,

    /// Only what belongs to the writes from this one on.
    #[arg(long, value_name = "W")]
    from: Option<usize>,

    /// Only what belongs to the writes before this one.
    #[arg(long, value_name = "W")]
    to: Option<usize>,

    /// Only this lane's; may be given several times. All lanes are run, for full attention may be what others are held against.
    #[arg(long = "lane", value_name = "NAME")]
    lanes: Vec<String>,

    /// Print JSON: the files, the lanes with their scores and times, the backend.
    #[arg(long)]
    json: bool,
}

/// `--arrays`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrays {
    /// `trace.npz`, for `numpy.load`.
    Npz,
    /// `trace.safetensors`, for arrays of any size.
    Safetensors,
    /// No arrays.
    None,
}

/// `--tables`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tables {
    /// Comma-separated values.
    Csv,
    /// JSON Lines: an object a line.
    Jsonl,
    /// Parquet.
    Parquet,
    /// No tables.
    None,
}

impl Args {
    /// Runs, writes, and prints the names of the files.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        if let Some(folder) = &self.out {
            out::folder("--out", folder, "a trace goes into a folder").map_err(CliError::Usage)?;
        }
        let plan = self.source.plan(self.backend.map(Into::into))?;
        let request = self.request(&plan)?;
        // Before the work, not after it: a folder that cannot be is said at once.
        let _folder = match &self.out {
            Some(folder) => {
                export::earlier(folder)?;
                Some(export::Folder::make(folder).map_err(export::ExportError::from)?)
            }
            None => None,
        };
        if let Some(file) = &self.save {
            saved::check_name(file)?;
        }
        let cancel = interrupted()?;
        let result = source::run(&plan, &cancel)?;
        tell(&plan, &result);
        if let Some(sentence) = saved::compare(&self.source.session, &plan, &result)? {
            say!("{sentence}");
        }
        if let Some(file) = &self.save {
            saved::write(file, self.source.session.parent(), &plan, &result, &cancel)?;
            if self.json {
                say!("Wrote {}", file.display());
            } else {
                writeln!(out, "{}", file.display())?;
            }
        }
        let Some(folder) = &self.out else { return Ok(()) };
        let bar = Bar::new("bytes");
        let mut progress = |p: export::Progress| bar.show(p.done, p.total);
        let written = export::trace(&plan, &result.traces, &result.states, &request, folder, &mut progress, &cancel)?;
        drop(bar);
        for sentence in &written.left_out {
            say!("{sentence}");
        }
        if self.json {
            writeln!(out, "{:#}", as_json(&plan, &result, &written))?;
        } else {
            for file in &written.files {
                writeln!(out, "{}", file.display())?;
            }
        }
        Ok(())
    }

    /// What is to leave of the plan's run.
    fn request(&self, plan: &Plan) -> Result<Request, CliError> {
        let alone = |none: bool, count: usize, option: &str| match (none, count) {
            (true, 2..) => Err(CliError::Usage(format!("--{option}: `none` stands alone"))),
            _ => Ok(()),
        };
        alone(self.arrays.contains(&Arrays::None), self.arrays.len(), "arrays")?;
        alone(self.tables.contains(&Tables::None), self.tables.len(), "tables")?;
        let total = plan.stream.writes();
        let (from, to) = (self.from.unwrap_or(0), self.to.unwrap_or(total));
        if from >= to || to > total {
            return Err(CliError::Usage(format!(
                "--from {from} --to {to}: the writes are {}; --from is the first that is kept, --to the one before which it ends, at most {total}",
                if total == 1 { "0 alone".to_owned() } else { format!("0 to {}", total.saturating_sub(1)) }
            )));
        }
        let find = |name: &String| {
            plan.lanes.iter().position(|l| l.name == *name).ok_or_else(|| {
                let names = || plan.lanes.iter().map(|l| l.name.as_str());
                let hint = nearest(name, names())
                    .map_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")), |n| format!("did you mean `{n}`?"));
                CliError::Usage(format!("--lane: no lane `{name}` runs; {hint}"))
            })
        };
        let lanes = self.lanes.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        Ok(Request {
            lanes: (!lanes.is_empty()).then_some(lanes),
            writes: if self.from.is_some() || self.to.is_some() { Writes::Range(from..to) } else { Writes::All },
            arrays: ArrayFormats { npz: self.arrays.contains(&Arrays::Npz), safetensors: self.arrays.contains(&Arrays::Safetensors) },
            tables: TableFormats {
                csv: self.tables.contains(&Tables::Csv),
                jsonl: self.tables.contains(&Tables::Jsonl),
                parquet: self.tables.contains(&Tables::Parquet),
            },
        })
    }
}

fn summary(plan: &Plan, trace: &LaneTrace) -> Option<Summary> {
    Running::new(plan.stream.targets()).map(|mut running| {
        running.update(trace);
        running.over(0..plan.stream.query_heads(), 0..plan.stream.reads())
    })
}

fn as_json(plan: &Plan, result: &RunResult, written: &Written) -> Value {
    let lane = |((lane, trace), seconds): ((&PlanLane, &LaneTrace), &f64)| {
        let score = summary(plan, trace);
        json!({
            "name": lane.name, "layer": lane.kind.name(), "chunk": lane.setup.chunk, "seconds": seconds, "notes": lane.notes,
            "score": super::compare::summary_json(score),
        })
    };
    let lanes = plan.lanes.iter().zip(&result.traces).zip(&result.seconds).map(lane);
    json!({
        "version": env!("CARGO_PKG_VERSION"), "title": plan.stream.labels().title,
        "files": written.files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>(), "left_out": written.left_out,
        "backend": super::compare::backend(&result.backend), "notes": result.notes, "lanes": lanes.collect::<Vec<Value>>(),
    })
}

/// Backend, notes, and a line a lane, on standard error.
fn tell(plan: &Plan, result: &RunResult) {
    say!("{}, on {} ({}).", plan.stream.labels().title, result.backend.adapter, result.backend.reason);
    for note in result.notes.iter().chain(plan.lanes.iter().flat_map(|l| &l.notes)) {
        say!("{note}");
    }
    let row = |((lane, trace), seconds): ((&PlanLane, &LaneTrace), &f64)| {
        let score = summary(plan, trace).map(|s| score(s, Scored::of(plan.stream.targets()))).unwrap_or_default();
        vec![lane.name.clone(), lane.kind.name().to_owned(), format!("{:.0}", seconds * 1e3), score]
    };
    let rows: Vec<Vec<String>> = plan.lanes.iter().zip(&result.traces).zip(&result.seconds).map(row).collect();
    let heads = plan.stream.query_heads();
    let score = if heads > 1 { format!("score, {heads} query heads together") } else { "score".to_owned() };
    talk::table(&["lane", "layer", ">ms", &score], &rows);
}

/// A lane's score in words.
fn score(summary: Summary, scored: Scored) -> String {
    let Some(headline) = summary.headline() else { return "no reads".to_owned() };
    match summary {
        Summary::Recall { correct, reads } => format!("{correct} of {reads} reads right ({headline:.3})"),
        Summary::Error { cosine, .. } => format!("{} {headline:.3}, mean cosine {cosine:.3}", scored.name()),
    }
}
