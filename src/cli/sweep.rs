//! `mnemoscope sweep`: scores over ranges of parameters, into a Parquet file that is never half.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::source::{Backend, Bar, Source, interrupted, make_folder_of};
use super::talk::say;
use super::{CliError, out};
use crate::engine::sweep::file::{Shard, Store};
use crate::engine::sweep::{Axis, Row, Scorer, Spec, Sweep, SweepError, Witness};
use crate::engine::{Devices, RunError};
use crate::export::{ExportError, WriteError};

/// The file is written anew when the last time is so long ago.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// What `sweep` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// What is varied, and over which values; given twice, a grid.
    #[arg(long, required = true, value_name = "LANE.PARAM=VALUES")]
    vary: Vec<String>,

    /// Run so many seeds: the session's own, and those that follow it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,

    /// Do one part of the work, for several processes to share it: 2/8 is the second of eight.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,

    /// Where to compute; what the session says, where absent.
    #[arg(long)]
    backend: Option<Backend>,

    /// The Parquet file; what it holds already is not computed again.
    #[arg(long, value_name = "FILE.parquet")]
    out: PathBuf,

    /// Print JSON: the file, how many rows it has, what was done here and what could not run.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Does what is missing, writes the file and prints its name.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        out::file("--out", &self.out, "the name of a sweep's table", &["parquet"]).map_err(CliError::Usage)?;
        let (session, base) = self.source.open()?;
        let usage = |e: crate::engine::sweep::SpecError| CliError::Usage(format!("--vary: {e}"));
        let axes = self.vary.iter().map(|v| Axis::parse(&session, v)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
        let spec = Spec::new(axes, self.seeds).map_err(usage)?;
        let name = self.source.session.display().to_string();
        let sweep = Sweep::new(&session, base, &name, &spec).map_err(|e| self.failed(e))?;
        let cancel = interrupted()?;
        let mut devices = Devices::default();
        let mut scorer = Scorer::open(&mut devices, self.backend.map_or(session.backend, Into::into))?;
        make_folder_of(&self.out)?;
        let store = Store::open(&self.out, self.shard, &sweep, scorer.backend().gpu)?;
        let missing = store.missing(&sweep, self.shard);
        let backend = scorer.backend();
        say!("On {} ({}).", backend.adapter, backend.reason);
        let done_before = store.done();
        say!("{} pieces of work, {} done before, {} to do here.", sweep.pieces().len(), done_before, missing.len());
        // Before the work, not after it: a file that cannot be written is said at once.
        let mut keeper =
            Keeper { store, bar: Bar::new("pieces"), saved: Instant::now(), scored: 0, failed: Vec::new(), unable: Vec::new() };
        keeper.save()?;
        let end = sweep.run(&mut scorer, &missing, &mut keeper, &cancel);
        // Whatever ended it: what is done is kept.
        keeper.save()?;
        let Keeper { store, bar, scored, failed, unable, .. } = keeper;
        drop(bar);
        for sentence in &failed {
            say!("{sentence}");
        }
        if let Err(SweepError::Run(RunError::Cancelled)) = &end {
            say!("Stopped with {scored} more pieces done; the same command goes on from there.");
        }
        end.map_err(|e| self.failed(e))?;
        if self.json {
            let all = serde_json::json!({
                "version": env!("CARGO_PKG_VERSION"), "file": store.path().display().to_string(), "pieces": sweep.pieces().len(),
                "done_before": done_before, "missing": missing.len(), "scored": scored, "failed": failed, "unable": unable,
                "backend": super::compare::backend(scorer.backend()),
            });
            writeln!(out, "{all:#}")?;
        } else {
            writeln!(out, "{}", store.path().display())?;
        }
        // Some points may well be impossible; if all are, something is wrong.
        if scored == 0 && !unable.is_empty() { Err(CliError::Lanes(unable.join(", "))) } else { Ok(()) }
    }

    fn failed(&self, error: SweepError) -> CliError {
        match error {
            SweepError::Plan(error) => CliError::plan(&self.source.session, *error),
            SweepError::Run(error) => error.into(),
            SweepError::Write(error) => ExportError::Write(error).into(),
        }
    }
}

/// Puts rows into the file.
struct Keeper {
    store: Store,
    bar: Bar,
    saved: Instant,
    scored: usize,
    /// Why a point could not run, each sentence once.
    failed: Vec<String>,
    /// The lanes with such points.
    unable: Vec<String>,
}

impl Keeper {
    fn save(&mut self) -> Result<(), CliError> {
        self.store.save().map_err(ExportError::Write)?;
        Ok(())
    }
}

impl Witness for Keeper {
    fn rows(&mut self, rows: Vec<Row>) -> Result<(), WriteError> {
        for row in rows {
            match &row.score {
                Ok(_) => self.scored += 1,
                Err(reason) => {
                    if !self.unable.contains(&row.lane) {
                        self.unable.push(row.lane.clone());
                    }
                    let sentence = format!("{} cannot run: {reason}", row.lane);
                    if !self.failed.contains(&sentence) {
                        self.failed.push(sentence);
                    }
                }
            }
            self.store.put(row);
        }
        if self.saved.elapsed() >= SAVE_EVERY {
            self.store.save()?;
            self.saved = Instant::now();
        }
        Ok(())
    }

    fn progress(&mut self, done: f64, total: usize) {
        self.bar.show(done as u64, total as u64);
    }
}
