//! `mnemoscope events`: what happened in the lanes of a run, a row an event, as the window's panel Events lists it.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};

use super::source::{self, Backend, Source, interrupted, known};
use super::talk::{self, say};
use super::{CliError, out};
use crate::engine::headless::RunResult;
use crate::engine::{BackendInfo, RunError};
use crate::export::events::{Row, rows};
use crate::export::{ExportError, write_atomic};
use crate::metric::events::{Criteria, EventKind, HeadsShown, Hit, LaneEvents, Threshold};
use crate::session::plan::Plan;
use crate::trace::Width;

/// What `events` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Only events of these kinds, joined by commas.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    kind: Vec<EventKind>,

    /// Only events of this lane. May be given several times.
    #[arg(long, value_name = "NAME")]
    lane: Vec<String>,

    /// The query head, counted from 0 over all of them, with the key/value head that it reads; the session's, where absent.
    #[arg(long, value_name = "N")]
    head: Option<usize>,

    /// A choice with a margin below this is a tie.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = size, default_value_t = Criteria::default().margin)]
    under: f64,

    /// A read's normaliser below this is small.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = size, default_value_t = Criteria::default().normaliser)]
    normaliser: f64,

    /// Numbers of a channel beyond a value are events: `state_norm>100`, `outputs[3]<-2`.
    #[arg(long, value_name = "CHANNEL>X", value_parser = threshold)]
    threshold: Option<Threshold>,

    /// Where to compute; what the session says, where absent.
    #[arg(long)]
    backend: Option<Backend>,

    /// Write JSON: what was run and looked for, how many there are, and every event.
    #[arg(long)]
    json: bool,

    /// Write to this file (`.csv`, or `.json` with --json), and its name to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Which events are wanted of a run.
struct Wanted {
    /// By their numbers in the plan.
    lanes: Vec<usize>,
    kinds: Vec<EventKind>,
    heads: HeadsShown,
    criteria: Criteria,
}

/// How many there are, by wanted lane and wanted kind.
type Counts = Vec<Vec<usize>>;

impl Args {
    /// Runs, lists, and says how many there are of what.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        if let Some(file) = &self.out {
            let (what, kind) = if self.json { ("with --json its name", "json") } else { ("the name of a table of events", "csv") };
            out::file("--out", file, what, &[kind]).map_err(CliError::Usage)?;
        }
        let plan = self.source.plan(self.backend.map(Into::into))?;
        let wanted = self.wanted(&plan)?;
        // Before the work, not after it: a folder that cannot be is said at once.
        self.out.as_deref().map_or(Ok(()), source::make_folder_of)?;
        let cancel = interrupted()?;
        let result = source::run(&plan, &cancel)?;
        let RunResult { traces, backend, notes, .. } = &result;
        say!("{}, on {} ({}).", plan.stream.labels().title, backend.adapter, backend.reason);
        notes.iter().for_each(|note| say!("{note}"));
        let event = |(l, trace)| LaneEvents::new(&plan, l, trace, wanted.heads, &wanted.criteria);
        let lanes: Vec<LaneEvents<'_>> = traces.iter().enumerate().map(event).collect();
        let (mut hits, mut counts) = (Vec::new(), vec![vec![0; wanted.kinds.len()]; wanted.lanes.len()]);
        for (lane, counts) in wanted.lanes.iter().map(|l| &lanes[*l]).zip(&mut counts) {
            for scan in 0..lane.scans() {
                if cancel.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(RunError::Cancelled.into());
                }
                if let Some(at) = wanted.kinds.iter().position(|k| *k == lane.kind(scan)) {
                    let before = hits.len();
                    hits.extend(lane.forwards(scan, 0));
                    counts[at] += hits.len() - before;
                }
            }
        }
        hits.sort_unstable();
        tell(&plan, &wanted, &counts);
        let fill = |mut out: &mut dyn Write| {
            if self.json {
                self.json(out, &plan, &wanted, backend, &lanes, &hits, &counts)
            } else {
                rows(&mut out, &plan, &lanes, hits.iter().copied())
            }
        };
        match &self.out {
            None => {
                // At once, so that an error is standard output's own: its reader may have gone.
                let mut text = Vec::new();
                fill(&mut text)?;
                out.write_all(&text)?;
            }
            Some(path) => {
                write_atomic(path, |file| fill(file)).map_err(ExportError::Write)?;
                writeln!(out, "{}", path.display())?;
            }
        }
        Ok(())
    }

    fn wanted(&self, plan: &Plan) -> Result<Wanted, CliError> {
        let usage = |text: String| Err(CliError::Usage(text));
        let mut lanes: Vec<usize> = Vec::new();
        for name in &self.lane {
            match plan.lanes.iter().position(|l| l.name == *name) {
                Some(lane) => lanes.push(lane),
                None => {
                    return usage(format!(
                        "--lane {name}: no lane that runs is called so; there are {}",
                        known(name, plan.lanes.iter().map(|l| l.name.as_str()))
                    ));
                }
            }
        }
        lanes.sort_unstable();
        lanes.dedup();
        if lanes.is_empty() {
            lanes = (0..plan.lanes.len()).collect();
        }
        let heads = match self.head {
            None => HeadsShown::of(&plan.stream, &plan.session.view),
            Some(head) => match HeadsShown::of_query(&plan.stream, head) {
                Some(heads) => heads,
                None => return usage(format!("--head {head}: the stream has the query heads 0 to {}", plan.stream.query_heads() - 1)),
            },
        };
        let asks = |kind| self.kind.is_empty() || self.kind.contains(&kind);
        match &self.threshold {
            None if self.kind.contains(&EventKind::Threshold) => {
                return usage("--kind threshold needs a --threshold, for example `--threshold 'state_norm>100'`".to_owned());
            }
            Some(_) if !asks(EventKind::Threshold) => {
                return usage("a --threshold is given, but --kind leaves the kind `threshold` out".to_owned());
            }
            Some(threshold) => check(threshold, plan, &lanes)?,
            None => {}
        }
        let kinds = EventKind::ALL.into_iter().filter(|k| asks(*k) && (*k != EventKind::Threshold || self.threshold.is_some())).collect();
        let criteria = Criteria { margin: self.under, normaliser: self.normaliser, threshold: self.threshold.clone() };
        Ok(Wanted { lanes, kinds, heads, criteria })
    }

    #[allow(clippy::too_many_arguments, reason = "one document of all that there is to say; one place calls it")]
    fn json(
        &self,
        out: &mut dyn Write,
        plan: &Plan,
        wanted: &Wanted,
        backend: &BackendInfo,
        lanes: &[LaneEvents<'_>],
        hits: &[Hit],
        counts: &Counts,
    ) -> std::io::Result<()> {
        let of_lane = |counts: &Vec<usize>| -> Map<String, Value> {
            wanted.kinds.iter().zip(counts).map(|(kind, n)| (kind.name().to_owned(), json!(n))).collect()
        };
        let counts: Map<String, Value> =
            wanted.lanes.iter().zip(counts).map(|(l, n)| (plan.lanes[*l].name.clone(), Value::Object(of_lane(n)))).collect();
        let threshold = wanted.criteria.threshold.as_ref().map(|t| {
            json!({ "channel": t.channel, "component": t.component, "side": if t.above { "above" } else { "below" }, "value": t.value })
        });
        let document = json!({
            "session": self.source.session.display().to_string(),
            "stream": plan.stream.labels().title,
            "writes": plan.stream.writes(),
            "writes_a_step": plan.step,
            "seed": plan.session.seed,
            "backend": backend.adapter,
            "kv_head": wanted.heads.kv,
            "query_head": wanted.heads.query,
            "tie_below": wanted.criteria.margin,
            "normaliser_below": wanted.criteria.normaliser,
            "threshold": threshold,
            "counts": counts,
            "events": hits.iter().filter_map(|hit| Row::of(plan, lanes, *hit)).collect::<Vec<_>>(),
        });
        writeln!(out, "{document:#}")
    }
}

/// How many there are of each kind in each lane, on standard error. Kinds that no lane has are left out of the table.
fn tell(plan: &Plan, wanted: &Wanted, counts: &Counts) {
    let (kv, query) = (wanted.heads.kv, wanted.heads.query);
    let all: usize = counts.iter().flatten().sum();
    let what = if all == 1 { "event" } else { "events" };
    say!("{all} {what} of query head {query} and key/value head {kv}.");
    let some: Vec<usize> = (0..wanted.kinds.len()).filter(|k| counts.iter().any(|lane| lane[*k] > 0)).collect();
    if some.is_empty() {
        return;
    }
    let heads: Vec<String> =
        std::iter::once("lane".to_owned()).chain(some.iter().map(|k| format!(">{}", wanted.kinds[*k].title()))).collect();
    let row = |(lane, counts): (&usize, &Vec<usize>)| {
        std::iter::once(plan.lanes[*lane].name.clone()).chain(some.iter().map(|k| counts[*k].to_string())).collect()
    };
    let rows: Vec<Vec<String>> = wanted.lanes.iter().zip(counts).map(row).collect();
    talk::table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
}

/// The kinds of events, by their names in files.
fn kinds() -> impl TypedValueParser<Value = EventKind> {
    PossibleValuesParser::new(EventKind::ALL.map(EventKind::name))
        .try_map(|name| EventKind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| format!("there is no kind `{name}`")))
}

/// A size: a number that is not below zero.
fn size(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "it must be a number".to_owned())?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err("it must be a number from 0 on".to_owned()) }
}

/// `CHANNEL>X`, `CHANNEL<X`, `CHANNEL[COMPONENT]>X`.
fn threshold(text: &str) -> Result<Threshold, String> {
    let form = || "it must be CHANNEL>X or CHANNEL<X, for example `state_norm>100` or `outputs[3]<-2`".to_owned();
    let at = text.find(['<', '>']).ok_or_else(form)?;
    let (name, value) = (text[..at].trim(), text[at + 1..].trim());
    let value: f64 = value.parse().map_err(|_| form())?;
    let (channel, component) = match name.strip_suffix(']').map(|n| n.split_once('[')) {
        None => (name, None),
        Some(Some((channel, number))) => (channel, Some(number.trim().parse().map_err(|_| form())?)),
        Some(None) => return Err(form()),
    };
    if channel.is_empty() || value.is_nan() {
        return Err(form());
    }
    Ok(Threshold { channel: channel.to_owned(), component, above: text[at..].starts_with('>'), value })
}

/// True to its word: a channel that no lane has, or a number that its entries do not have, would find nothing without saying why.
fn check(threshold: &Threshold, plan: &Plan, lanes: &[usize]) -> Result<(), CliError> {
    let channels = || lanes.iter().flat_map(|l| plan.lanes[*l].channels.iter());
    let name = threshold.channel.as_str();
    let mut found = channels().filter(|c| c.name == name).peekable();
    if found.peek().is_none() {
        let mut names: Vec<&str> = channels().map(|c| c.name).collect();
        names.sort_unstable();
        names.dedup();
        return Err(CliError::Usage(format!(
            "--threshold {name}: none of these lanes has such a channel; there are {}",
            known(name, names.into_iter())
        )));
    }
    let width = |width| if let Width::Fixed(width) = width { width } else { 1 };
    let widest = found.map(|c| width(c.width)).max().unwrap_or(1);
    match threshold.component {
        Some(component) if component >= widest => {
            Err(CliError::Usage(format!("--threshold {name}[{component}]: its entries have the numbers [0] to [{}]", widest - 1)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_and_what_is_none_is_refused() {
        let t = |channel: &str, component, above, value| Threshold { channel: channel.to_owned(), component, above, value };
        assert_eq!(threshold("state_norm>100"), Ok(t("state_norm", None, true, 100.0)));
        assert_eq!(threshold(" outputs[3] < -2e-1 "), Ok(t("outputs", Some(3), false, -0.2)));
        for wrong in ["state_norm", "state_norm>", ">3", "a]>3", "a[]>3", "a[-1]>3", "a>nan", "[2]>3"] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_not_below_zero() {
        assert_eq!((size("1e-4"), size("0")), (Ok(1e-4), Ok(0.0)));
        for wrong in ["-1", "nan", "inf", "", "x"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
