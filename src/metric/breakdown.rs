//! Scores by what reads have in common: how old what they ask for is, where they stand, what they are.
//!
//! The reads of a stream are put into bins once; a [`Breakdown`] then adds up each lane's scores by bin, read by read.

use super::running::{Measure, Summary};
use crate::stream::Stream;
use crate::trace::LaneTrace;

/// Bins along the stream.
const ALONG: usize = 16;

/// What reads are put into bins by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// The age of what is asked for: `after - answer_at`, how many writes there have been from the one that holds the answer on,
    /// that one counted. Bins of powers of two.
    Age,
    /// Where the read stands in the stream: the writes that it sees. Sixteen equal bins.
    Read,
    /// Where the write that holds the answer stands. Sixteen equal bins.
    Answer,
    /// The role of the read: its phase, its hop. One bin each.
    Role,
}

impl By {
    /// Every way, in the order of menus.
    pub const ALL: [Self; 4] = [Self::Age, Self::Read, Self::Answer, Self::Role];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Read => "read position",
            Self::Answer => "answer position",
            Self::Role => "role",
        }
    }
}

/// A bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Bin {
    /// The numbers that it holds, from and to, the latter excluded; for a role its number and the next.
    pub range: std::ops::Range<usize>,
    /// What it is called: `8 to 15`, `phase 2`.
    pub name: String,
}

/// The bins of a stream's reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    /// What they are made by.
    pub by: By,
    /// The bins that have reads, ascending.
    pub bins: Vec<Bin>,
    /// The bin of each read `[R]`, by its place in `bins`.
    of_read: Vec<u32>,
}

impl Bins {
    /// The bins of a stream; `None` where the stream does not know what they are made of (which write holds the answer), or has no
    /// reads.
    #[must_use]
    pub fn new(stream: &Stream, by: By) -> Option<Self> {
        let labels = stream.labels();
        let answers = labels.answer_at.as_deref();
        let whole = |read: usize| stream.after()[read] as usize;
        let values: Vec<usize> = match by {
            By::Age => {
                let answers = answers?;
                (0..stream.reads()).map(|r| whole(r).saturating_sub(answers[r] as usize).max(1)).collect()
            }
            By::Read => (0..stream.reads()).map(|r| whole(r) - 1).collect(),
            By::Answer => answers?.iter().map(|&a| a as usize).collect(),
            By::Role => labels.roles.of_read.iter().map(|&r| usize::from(r)).collect(),
        };
        if values.is_empty() {
            return None;
        }
        let width = stream.writes().div_ceil(ALONG).max(1);
        let start = |value: usize| match by {
            By::Age => 1 << value.ilog2(),
            By::Read | By::Answer => value / width * width,
            By::Role => value,
        };
        let mut starts: Vec<usize> = values.iter().map(|&v| start(v)).collect();
        starts.sort_unstable();
        starts.dedup();
        let of_read = values.iter().map(|&v| starts.partition_point(|&s| s < start(v)) as u32).collect();
        let bin = |&from: &usize| {
            let to = match by {
                By::Age => from * 2,
                By::Read | By::Answer => (from + width).min(stream.writes()),
                By::Role => from + 1,
            };
            let name = match by {
                By::Role => labels.roles.names.get(from).cloned().unwrap_or_default(),
                _ if to - from == 1 => from.to_string(),
                _ => format!("{from} to {}", to - 1),
            };
            Bin { range: from..to, name }
        };
        Some(Self { by, bins: starts.iter().map(bin).collect(), of_read })
    }

    /// The bin of a read, by its place in `bins`.
    #[must_use]
    pub fn of(&self, read: usize) -> Option<usize> {
        self.of_read.get(read).map(|&b| b as usize)
    }
}

/// One lane's scores by bin, for one query head, over the first reads of the stream.
#[derive(Debug, Clone)]
pub struct Breakdown {
    measure: Measure,
    head: usize,
    /// By bin: the sums of the measure's channels.
    sums: Vec<Vec<f64>>,
    counts: Vec<u64>,
    reads: usize,
}

impl Breakdown {
    /// Nothing added up yet; `None` where nothing is measured on the stream.
    #[must_use]
    pub fn new(stream: &Stream, bins: &Bins, query_head: usize) -> Option<Self> {
        let measure = Measure::of(stream.targets())?;
        let sums = vec![vec![0.0; measure.channels.len()]; bins.bins.len()];
        Some(Self { measure, head: query_head, sums, counts: vec![0; bins.bins.len()], reads: 0 })
    }

    /// Makes it cover the first `reads` reads that the trace holds: those that are missing are added; where it covers more, it
    /// starts again.
    pub fn update(&mut self, bins: &Bins, trace: &LaneTrace, reads: usize) {
        let channels: Option<Vec<_>> = self.measure.channels.iter().map(|c| trace.channel(c)).collect();
        let Some(channels) = channels.filter(|c| c.iter().all(|c| self.head < c.heads())) else { return };
        let reads = channels.iter().map(|c| c.len()).min().unwrap_or(0).min(reads);
        if reads < self.reads {
            self.sums.iter_mut().flatten().for_each(|s| *s = 0.0);
            self.counts.fill(0);
            self.reads = 0;
        }
        let values: Vec<_> = channels.iter().map(|c| c.values(self.head)).collect();
        for read in self.reads..reads {
            let Some(bin) = bins.of(read) else { continue };
            for (sum, values) in self.sums[bin].iter_mut().zip(&values) {
                *sum += values.get(read).unwrap_or(0.0);
            }
            self.counts[bin] += 1;
        }
        self.reads = reads;
    }

    /// The reads that are added up.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// The summary of a bin, by its place.
    #[must_use]
    pub fn summary(&self, bin: usize) -> Summary {
        self.measure.summary(&self.sums[bin], self.counts[bin])
    }
}
