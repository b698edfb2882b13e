//! What part of a run leaves, and what that means along every axis.
//!
//! The exact meaning stands on the page of [`Request`]; [`Cut`] is what it comes to in a plan.

use std::ops::Range;

use super::ExportError;
use crate::session::plan::Plan;
use crate::trace::{Along, Axis};

/// Which writes are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Writes {
    /// The whole run.
    #[default]
    All,
    /// Those from the first number on, up to the second, which is not one of them.
    Range(Range<usize>),
    /// These, in any order.
    Tokens(Vec<usize>),
}

/// Formats of arrays; none at all is no mistake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArrayFormats {
    /// `trace.npz`, for `numpy.load`.
    pub npz: bool,
    /// `trace.safetensors`.
    pub safetensors: bool,
}

/// Formats of tables; none at all is no mistake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableFormats {
    /// Comma-separated values.
    pub csv: bool,
    /// A JSON object a line.
    pub jsonl: bool,
    /// Parquet.
    pub parquet: bool,
}

impl TableFormats {
    /// The endings of the formats asked for.
    #[must_use]
    pub fn endings(self) -> Vec<&'static str> {
        let all = [(self.csv, "csv"), (self.jsonl, "jsonl"), (self.parquet, "parquet")];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, ending)| ending).collect()
    }
}

/// What is to leave, and how.
///
/// It names lanes and **writes**; what else leaves follows from these:
///
/// - **Writes**: those that were asked for.
/// - **Reads**: those whose newest visible write is one of them, so of the writes from A on and before B the reads with
///   A < `after` <= B: what the timeline shows between the boundaries A and B.
/// - **Steps** of a lane: the chunks that hold at least one of them. A chunk is whole or absent: at the ends of a stretch a chunk of
///   the lane may reach beyond it.
/// - **Ends** of steps: before the first of those steps, then after each.
/// - An array along two axes (steps and writes) is cut along both; lists leave whole, with their step.
/// - **Events** leave with their write, their read, or their step; **centroids** are those after the last of the lane's steps; stays in
///   the **cache** leave if they overlap the lane's steps, of single tokens if they are theirs.
/// - A lane's **last state** leaves if its last step is among the steps.
///
/// Numbers of writes, reads, steps and rows inside the arrays and tables are always those of the whole run, never counted anew; the
/// arrays `writes`, `reads` and `<lane>.steps` say which entry is which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The lanes, by their numbers in the plan; nothing: all.
    pub lanes: Option<Vec<usize>>,
    /// The writes.
    pub writes: Writes,
    /// Formats of arrays.
    pub arrays: ArrayFormats,
    /// Formats of tables.
    pub tables: TableFormats,
}

impl Default for Request {
    /// All of the run, as NPZ and CSV.
    fn default() -> Self {
        Self {
            lanes: None,
            writes: Writes::All,
            arrays: ArrayFormats { npz: true, safetensors: false },
            tables: TableFormats { csv: true, ..TableFormats::default() },
        }
    }
}

/// Indices in ascending order, as stretches that neither touch nor are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Runs(Vec<Range<usize>>);

impl Runs {
    /// One stretch; none where it is empty.
    pub fn one(range: Range<usize>) -> Self {
        Self(if range.is_empty() { Vec::new() } else { vec![range] })
    }

    /// Stretches whose starts ascend and which may touch or overlap.
    pub fn joined(ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut all: Vec<Range<usize>> = Vec::new();
        for range in ranges.into_iter().filter(|r| !r.is_empty()) {
            match all.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => all.push(range),
            }
        }
        Self(all)
    }

    /// These indices, in any order.
    fn of(indices: &[usize]) -> Self {
        let mut sorted = indices.to_vec();
        sorted.sort_unstable();
        Self::joined(sorted.into_iter().map(|i| i..i + 1))
    }

    /// The stretches.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    /// How many indices there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(Range::len).sum()
    }

    /// The first index.
    pub fn first(&self) -> Option<usize> {
        self.0.first().map(|r| r.start)
    }

    /// The last index.
    pub fn last(&self) -> Option<usize> {
        self.0.last().map(|r| r.end - 1)
    }

    /// True for one of the indices.
    pub fn contains(&self, index: usize) -> bool {
        let at = self.0.partition_point(|r| r.end <= index);
        self.0.get(at).is_some_and(|r| r.contains(&index))
    }

    /// The indices below `limit`.
    pub fn below(&self, limit: usize) -> Self {
        Self::joined(self.0.iter().map(|r| r.start.min(limit)..r.end.min(limit)))
    }

    /// True if every index from 0 to `count` is one.
    fn is_all(&self, count: usize) -> bool {
        self.len() == count && self.last().is_none_or(|last| last + 1 == count)
    }

    /// The indices.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// The indices at these places among them.
    pub fn slice(&self, places: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let mut before = 0;
        self.0.iter().flat_map(move |run| {
            let own = before..before + run.len();
            before = own.end;
            let part = places.start.clamp(own.start, own.end)..places.end.clamp(own.start, own.end);
            run.start + part.start - own.start..run.start + part.end - own.start
        })
    }
}

/// What leaves along every axis. See the module's page.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// The lanes, by their numbers in the plan, ascending.
    pub lanes: Vec<usize>,
    /// The writes.
    pub writes: Runs,
    /// The reads.
    pub reads: Runs,
    /// The steps of each lane of the plan, by its number.
    pub steps: Vec<Runs>,
    /// True where single tokens were asked for, and no stretch of the timeline.
    pub of_tokens: bool,
}

impl Cut {
    /// What a request comes to.
    ///
    /// # Errors
    /// [`ExportError::Request`] if it asks for nothing, or for what the run does not have.
    pub fn new(request: &Request, plan: &Plan) -> Result<Self, ExportError> {
        let total = plan.stream.writes();
        let wrong = |reason: String| Err(ExportError::Request { reason });
        let writes = match &request.writes {
            Writes::All => Runs::one(0..total),
            Writes::Range(range) if range.start >= range.end || range.end > total => {
                return wrong(format!(
                    "the writes from {} on and before {} were asked for; the last one is {}, and the first must be below the second",
                    range.start,
                    range.end,
                    total.saturating_sub(1)
                ));
            }
            Writes::Range(range) => Runs::one(range.clone()),
            Writes::Tokens(tokens) => match tokens.iter().find(|t| **t >= total) {
                Some(token) => return wrong(format!("the token {token} was asked for; the last one is {}", total - 1)),
                None if tokens.is_empty() => return wrong("no token is selected".to_owned()),
                None => Runs::of(tokens),
            },
        };
        let mut lanes = request.lanes.clone().unwrap_or_else(|| (0..plan.lanes.len()).collect());
        lanes.sort_unstable();
        lanes.dedup();
        if let Some(lane) = lanes.iter().find(|l| **l >= plan.lanes.len()) {
            return wrong(format!("there is no lane number {lane}"));
        }
        if lanes.is_empty() {
            return wrong("no lane was asked for".to_owned());
        }
        let reads = Runs::joined(writes.ranges().iter().map(|r| plan.stream.reads_within(r.clone())));
        let steps = plan.lanes.iter().map(|lane| {
            let chunk = lane.setup.chunk;
            Runs::joined(writes.ranges().iter().map(|r| r.start / chunk..(r.end - 1) / chunk + 1))
        });
        let of_tokens = matches!(request.writes, Writes::Tokens(_));
        Ok(Self { lanes, reads, steps: steps.collect(), writes, of_tokens })
    }

    /// The indices along an axis of a lane.
    pub fn along(&self, axis: Axis, lane: usize) -> &Runs {
        match axis {
            Axis::Write => &self.writes,
            Axis::Read => &self.reads,
            Axis::Step => &self.steps[lane],
        }
    }

    /// The indices along a dimension of `size` entries of a lane's array.
    pub fn along_dimension(&self, along: Along, lane: usize, size: usize) -> Runs {
        match along {
            Along::Axis(axis) => self.along(axis, lane).below(size),
            Along::Ends => {
                let steps = &self.steps[lane];
                let ends = steps.first().into_iter().map(|s| s..s + 1).chain(steps.ranges().iter().map(|r| r.start + 1..r.end + 1));
                Runs::joined(ends).below(size)
            }
            Along::Own(_) => Runs::one(0..size),
        }
    }

    /// True if the last of the lane's `chunks` steps leaves.
    pub fn has_end(&self, lane: usize, chunks: usize) -> bool {
        self.steps[lane].last().is_some_and(|last| last + 1 >= chunks)
    }
}

/// Calls `visit` with every stretch of the numbers of a row-major array of this shape that the cuts of its dimensions leave, in order.
pub(crate) fn stretches<E>(
    shape: &[usize],
    cuts: &[Runs],
    start: usize,
    visit: &mut dyn FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let (Some((_, inner)), Some((cut, inner_cuts))) = (shape.split_first(), cuts.split_first()) else { return visit(start..start + 1) };
    let size: usize = inner.iter().product();
    let whole = inner_cuts.iter().zip(inner).all(|(cut, size)| cut.is_all(*size));
    for run in cut.ranges() {
        if whole {
            visit(start + run.start * size..start + run.end * size)?;
        } else {
            run.clone().try_for_each(|i| stretches(inner, inner_cuts, start + i * size, visit))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn collected(shape: &[usize], cuts: &[Runs]) -> Vec<usize> {
        let mut all = Vec::new();
        stretches::<()>(shape, cuts, 0, &mut |range| {
            all.extend(range);
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn runs_are_what_was_put_in() {
        let runs = Runs::of(&[7, 3, 4, 9, 3]);
        assert_eq!(runs.ranges(), [3..5, 7..8, 9..10]);
        assert_eq!((runs.len(), runs.first(), runs.last()), (4, Some(3), Some(9)));
        assert_eq!((0..11).filter(|&i| runs.contains(i)).collect::<Vec<_>>(), [3, 4, 7, 9]);
        assert_eq!(runs.below(8).iter().collect::<Vec<_>>(), [3, 4, 7]);
        assert_eq!(runs.slice(1..3).collect::<Vec<_>>(), [4, 7]);
        assert_eq!(runs.slice(0..9).collect::<Vec<_>>(), [3, 4, 7, 9]);
        assert_eq!(Runs::joined([0..4, 2..3, 4..6, 8..8]).ranges(), std::slice::from_ref(&(0..6)));
    }

    #[test]
    fn a_table_is_cut_along_both_its_dimensions() {
        // 3 x 4: rows 0 and 2, columns 1 and 2.
        assert_eq!(collected(&[3, 4], &[Runs::of(&[0, 2]), Runs::of(&[1, 2])]), [1, 2, 9, 10]);
        assert_eq!(collected(&[3, 4], &[Runs::of(&[1, 2]), Runs::one(0..4)]), (4..12).collect::<Vec<_>>());
        assert_eq!(collected(&[], &[]), [0]);
    }

    proptest! {
        #[test]
        fn stretches_are_the_entries_of_the_chosen_indices(
            shape in proptest::collection::vec(1usize..5, 1..4), picks in proptest::collection::vec(proptest::collection::vec(0usize..5, 0..5), 3)
        ) {
            let cuts: Vec<Runs> = shape.iter().zip(&picks).map(|(&n, pick)| Runs::of(pick).below(n)).collect();
            let mut expected = vec![0usize];
            for (n, cut) in shape.iter().zip(&cuts) {
                expected = expected.iter().flat_map(|at| cut.iter().map(move |i| at * n + i)).collect();
            }
            prop_assert_eq!(collected(&shape, &cuts), expected);
        }
    }
}
