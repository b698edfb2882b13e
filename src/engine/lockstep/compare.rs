//! Comparing what two implementations wrote for the same chunk.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{ChannelReport, Place};
use crate::session::plan::PlanLane;
use crate::trace::{Axis, CHOICE_MARGIN, Channel, ChannelSpec, Heads, LaneTrace, Tolerance};

/// The reports of one lane's channels, as they grow chunk by chunk.
pub struct Comparison {
    specs: Vec<ChannelSpec>,
    reports: Vec<ChannelReport>,
    /// Entries of each channel that have been compared.
    compared: Vec<usize>,
    /// Query heads that share a key/value head.
    group: usize,
}

/// One entry that differs in one number or more.
struct Difference {
    place: Place,
    /// A tie, by its margin.
    tie: bool,
    /// The largest difference of its numbers.
    size: f64,
    /// By more than it may.
    beyond: bool,
}

impl Comparison {
    /// Nothing compared yet.
    pub fn new(lane: &PlanLane) -> Self {
        let specs = lane.channels[..lane.own_channels].to_vec();
        let report = |s: &ChannelSpec| ChannelReport {
            name: s.name,
            choice: matches!(s.tolerance, Tolerance::Choice { .. }),
            ..ChannelReport::default()
        };
        let stream = &lane.setup.stream;
        Self {
            reports: specs.iter().map(report).collect(),
            compared: vec![0; specs.len()],
            group: stream.query_heads() / stream.kv_heads(),
            specs,
        }
    }

    /// Compares what both have written since the last call, chunk `step`; true if there was a tie.
    pub fn step(&mut self, step: usize, traces: &[LaneTrace; 2]) -> bool {
        let mut found: Vec<(usize, Difference)> = Vec::new();
        for index in 0..self.specs.len() {
            let pair = traces.each_ref().map(|t| &t.channels()[index]);
            let new = self.compared[index]..pair[0].len().max(pair[1].len());
            self.compared[index] = new.end;
            let margins = self.margins(index, traces);
            for head in 0..pair[0].heads() {
                for entry in new.clone() {
                    let values = pair.map(|c| numbers(c, head, entry));
                    self.reports[index].compared += values[0].len() as u64;
                    let margin = margins.map(|m| m.map(|c| numbers(c, head, margin_entry(&self.specs[index], c, step, entry))));
                    if let Some(difference) = differ(&self.specs[index], Place::at(step, head, entry), &values, margin.as_ref()) {
                        let gap = self.founding_gap(index, traces, [step, head, entry], &new);
                        found.push((index, difference.with_gap(gap)));
                    }
                }
            }
        }
        let tied: BTreeSet<usize> = found.iter().filter(|(_, d)| d.tie).map(|(i, d)| self.kv_head(*i, d.place.head)).collect();
        for (index, difference) in found {
            let excused = tied.contains(&self.kv_head(index, difference.place.head));
            self.reports[index].add(&difference, excused);
        }
        !tied.is_empty()
    }

    pub fn into_reports(self) -> Vec<ChannelReport> {
        self.reports
    }

    fn kv_head(&self, channel: usize, head: usize) -> usize {
        match self.specs[channel].heads {
            Heads::KeyValue => head,
            Heads::Query => head / self.group,
        }
    }

    /// For a write that founded a row on both sides: how near its similarity is to that of another founder of its chunk.
    ///
    /// Founders take their rows in the order in which they were chosen, by similarity (LAYERS.md, OVQ, "Grow"), and rounding may
    /// exchange two of them; the margin of the assignment says nothing about that. With farthest-point founding similarities
    /// change from founder to founder, and the margin of the founding covers their order.
    fn founding_gap(&self, channel: usize, traces: &[LaneTrace; 2], [step, head, entry]: [usize; 3], chunk: &Range<usize>) -> Option<f64> {
        if self.specs[channel].axis != Axis::Write || !self.reports[channel].choice {
            return None;
        }
        let flags = [traces[0].channel("is_new")?, traces[1].channel("is_new")?];
        if flags[0].spec().name == self.specs[channel].name {
            return None;
        }
        let similarity = traces[0].channel("similarity")?.values(head);
        let founded = |e: usize| flags.iter().all(|f| f.wholes(head).get(e) == Some(&1));
        let own = similarity.get(entry).filter(|_| founded(entry))?;
        let others = chunk.clone().filter(|&e| e != entry && founded(e)).filter_map(|e| similarity.get(e));
        let of_founding = traces.iter().filter_map(|t| t.channel("select_margin")?.values(head).get(step));
        others.map(|other| (other - own).abs()).chain(of_founding).reduce(f64::min)
    }

    /// Both sides' margin channels of a choice, if it names one.
    fn margins<'a>(&self, channel: usize, traces: &'a [LaneTrace; 2]) -> Option<[&'a Channel; 2]> {
        let Tolerance::Choice { margin: Some(name) } = self.specs[channel].tolerance else { return None };
        Some([traces[0].channel(name)?, traces[1].channel(name)?])
    }
}

impl Difference {
    /// The same, a tie if another choice behind it was as near as this.
    fn with_gap(mut self, gap: Option<f64>) -> Self {
        if let Some(gap) = gap.filter(|g| self.beyond && *g <= CHOICE_MARGIN) {
            (self.tie, self.beyond, self.place.margin) = (true, false, Some(gap));
        }
        self
    }
}

impl Place {
    fn at(step: usize, head: usize, entry: usize) -> Self {
        Self { step, head, entry, first: None, second: None, margin: None }
    }
}

impl ChannelReport {
    fn add(&mut self, difference: &Difference, excused: bool) {
        if self.choice {
            self.first_difference.get_or_insert(difference.place);
        }
        if difference.tie {
            self.ties += 1;
        } else if excused && difference.beyond {
            self.excused += 1;
        } else {
            // Not a number against a number is the largest difference there is.
            if difference.size > self.largest || (difference.size > 0.0 && self.largest_at.is_none()) {
                (self.largest, self.largest_at) = (difference.size, Some(difference.place));
            }
            if difference.beyond {
                self.failures += 1;
                self.first_failure.get_or_insert(difference.place);
            }
        }
    }
}

/// One entry's numbers; none where it is not held.
fn numbers(channel: &Channel, head: usize, entry: usize) -> Vec<f64> {
    let range: Range<usize> = channel.range(head, entry);
    let values = channel.values(head);
    range.filter_map(|i| values.get(i)).collect()
}

/// The entry of a margin channel that belongs to an entry of a choice: the same one, or the step's where margins are by step.
fn margin_entry(choice: &ChannelSpec, margin: &Channel, step: usize, entry: usize) -> usize {
    if margin.spec().axis == choice.axis || margin.spec().axis != Axis::Step { entry } else { step }
}

/// How far two numbers lie apart: 0 for two that are not numbers, infinity where one alone is not.
fn distance(a: f64, b: f64) -> f64 {
    if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
        0.0
    } else if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        (a - b).abs()
    }
}

/// Compares one entry: its numbers on both sides, and for a choice the margins on both sides.
fn differ(spec: &ChannelSpec, place: Place, values: &[Vec<f64>; 2], margins: Option<&[Vec<f64>; 2]>) -> Option<Difference> {
    let [first, second] = values;
    let count = first.len().max(second.len());
    let margin_at = |i: usize| margins.and_then(|m| margin(m, i, count));
    let mut worst: Option<Difference> = None;
    for i in 0..count {
        let (a, b) = (first.get(i).copied(), second.get(i).copied());
        let size = if let (Some(a), Some(b)) = (a, b) { distance(a, b) } else { f64::INFINITY };
        if size == 0.0 {
            continue;
        }
        let (tie, beyond, margin) = match spec.tolerance {
            // Nothing is near to what is infinite or no number, whichever side has it.
            Tolerance::Near { abs, rel } => (false, !size.is_finite() || size > abs + rel * a.unwrap_or(0.0).abs(), None),
            Tolerance::Choice { .. } => {
                let margin = margin_at(i);
                let tie = margin.is_some_and(|m| m <= CHOICE_MARGIN);
                (tie, !tie, margin)
            }
        };
        // An entry is a tie only if every number of it that differs is one.
        let graver = worst.as_ref().is_none_or(|w| (beyond, size) > (w.beyond, w.size));
        if graver {
            worst = Some(Difference { place: Place { first: a, second: b, margin, ..place }, tie, size, beyond });
        }
    }
    worst
}

/// The margin of number `i` of an entry of `count`: its own where there are as many margins, else the entry's smallest.
/// Of both sides' the smaller.
fn margin(margins: &[Vec<f64>; 2], i: usize, count: usize) -> Option<f64> {
    let of = |side: &Vec<f64>| if side.len() == count { side.get(i).copied() } else { side.iter().copied().reduce(f64::min) };
    match (of(&margins[0]), of(&margins[1])) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
