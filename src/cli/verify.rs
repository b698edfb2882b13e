//! `mnemoscope verify`: CPU and GPU side by side on a session.

use std::io::Write;

use super::source::{Bar, Source, interrupted};
use super::talk::say;
use super::{CliError, table};
use crate::engine::lockstep::{self, ChannelReport, LaneReport, Place, Report};

/// What `verify` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Compares and prints; a failed comparison is an error.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let plan = self.source.plan(None)?;
        let cancel = interrupted()?;
        let bar = Bar::new("chunks");
        let report = lockstep::run(&plan, |p| bar.show(p.writes as u64, p.total as u64), &cancel)?;
        drop(bar);
        say!("First: {}. Second: {}.", report.first, report.second);
        if self.json {
            let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
            writeln!(out, "{text}")?;
        } else {
            print(out, &report)?;
        }
        let failed: Vec<&str> = report.lanes.iter().filter(|l| !l.passes()).map(|l| l.lane.as_str()).collect();
        if failed.is_empty() { Ok(()) } else { Err(CliError::Verify(failed.join(", "))) }
    }
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    for lane in &report.lanes {
        let ties = if lane.tied_chunks == 0 { String::new() } else { format!(", ties in {}", lane.tied_chunks) };
        let times = format!("{:.0} ms and {:.0} ms", lane.first_seconds * 1e3, lane.second_seconds * 1e3);
        writeln!(out, "{} ({}): {} chunks{ties}, {times}, {}", lane.lane, lane.layer, lane.chunks, verdict(lane))?;
        let rows: Vec<Vec<String>> = lane.channels.iter().map(row).collect();
        let heads =
            ["channel", ">compared", ">largest difference", ">ties", ">excused", ">failures", "first failure, or else where it differs"];
        table::write(out, &heads, &rows)?;
        writeln!(out)?;
    }
    let failed = report.lanes.iter().filter(|l| !l.passes()).count();
    if failed == 0 {
        writeln!(out, "All {} lanes agree.", report.lanes.len())
    } else {
        writeln!(out, "{failed} of {} lanes do not agree.", report.lanes.len())
    }
}

fn verdict(lane: &LaneReport) -> String {
    match &lane.stopped {
        Some(reason) => format!("STOPPED: {reason}"),
        None if lane.passes() => "agrees".to_owned(),
        None => "DOES NOT AGREE".to_owned(),
    }
}

fn row(channel: &ChannelReport) -> Vec<String> {
    let largest = if channel.choice { "-".to_owned() } else { format!("{:.2e}", channel.largest) };
    let place = channel.first_failure.or(channel.first_difference).or(channel.largest_at);
    let counts = [channel.ties, channel.excused, channel.failures].map(|n| if n == 0 { "-".to_owned() } else { n.to_string() });
    let [ties, excused, failures] = counts;
    let place = place.map(|p| describe(&p)).unwrap_or_default();
    vec![channel.name.to_owned(), channel.compared.to_string(), largest, ties, excused, failures, place]
}

fn describe(place: &Place) -> String {
    let number = |n: Option<f64>| n.map_or_else(|| "nothing".to_owned(), |n| n.to_string());
    let margin = place.margin.map(|m| format!(", margin {m:.1e}")).unwrap_or_default();
    format!("step {}, head {}, entry {}: {} and {}{margin}", place.step, place.head, place.entry, number(place.first), number(place.second))
}
