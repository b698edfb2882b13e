//! `mnemoscope run`: computes a session with no window and writes its trace.

use std::io::Write;
use std::path::PathBuf;

use super::source::{Backend, Bar, Source, interrupted};
use super::{CliError, table};
use crate::engine::headless::{self, RunResult};
use crate::export;
use crate::metric::{Running, Summary};
use crate::session::plan::Plan;

/// What `run` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Where to compute; what the session says, where absent.
    #[arg(long)]
    backend: Option<Backend>,

    /// The folder for `trace.npz` and `tokens.csv`; made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Args {
    /// Runs, writes, and prints the names of the files.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let plan = self.source.plan(self.backend.map(Into::into))?;
        // Before the work, not after it: a folder that cannot be is said at once.
        let failed = |e: std::io::Error| export::WriteError { file: self.out.display().to_string(), reason: e.to_string() };
        std::fs::create_dir_all(&self.out).map_err(|e| export::ExportError::Write(failed(e)))?;
        let cancel = interrupted()?;
        let bar = Bar::new("tokens");
        let result = headless::run(&plan, plan.session.backend, |p| bar.show(p.writes as u64, p.total as u64), &cancel)?;
        drop(bar);
        tell(&plan, &result)?;
        let bar = Bar::new("bytes");
        let written = export::trace(&plan, &result.traces, &result.states, &self.out, &mut |p| bar.show(p.done, p.total), &cancel)?;
        drop(bar);
        for sentence in &written.left_out {
            eprintln!("{sentence}");
        }
        for file in &written.files {
            writeln!(out, "{}", file.display())?;
        }
        Ok(())
    }
}

/// Backend, notes, and a line a lane, on standard error.
fn tell(plan: &Plan, result: &RunResult) -> std::io::Result<()> {
    eprintln!("{}, on {} ({}).", plan.stream.labels().title, result.backend.adapter, result.backend.reason);
    for note in result.notes.iter().chain(plan.lanes.iter().flat_map(|l| &l.notes)) {
        eprintln!("{note}");
    }
    let row = |((lane, trace), seconds): ((&crate::session::plan::PlanLane, &crate::trace::LaneTrace), &f64)| {
        let summary = Running::new(plan.stream.targets()).map(|mut running| {
            running.update(trace);
            running.over(0..plan.stream.query_heads(), 0..plan.stream.reads())
        });
        vec![lane.name.clone(), lane.kind.name().to_owned(), format!("{:.0}", seconds * 1e3), summary.map(score).unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> = plan.lanes.iter().zip(&result.traces).zip(&result.seconds).map(row).collect();
    let heads = plan.stream.query_heads();
    let score = if heads > 1 { format!("score, {heads} query heads together") } else { "score".to_owned() };
    table::write(&mut std::io::stderr().lock(), &["lane", "layer", ">ms", &score], &rows)
}

/// A lane's score in words.
fn score(summary: Summary) -> String {
    let Some(headline) = summary.headline() else { return "no reads".to_owned() };
    match summary {
        Summary::Recall { correct, reads } => format!("{correct} of {reads} reads right ({headline:.3})"),
        Summary::Error { cosine, .. } => format!("relative error {headline:.3}, mean cosine {cosine:.3}"),
    }
}
