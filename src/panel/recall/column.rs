//! The columns of the recall panel's table: what they say of a line, and how they sort lines.

use std::cmp::Ordering;

use super::table::Line;
use super::words::{bytes, figures, many, percent, time};
use crate::metric::Scored;
use crate::widget::ticks::grouped;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The lane's name, in the session's order.
    Lane,
    /// Accuracy, relative error, or relative squared error.
    Score,
    /// The score's difference from the lane without what was done by hand.
    Change,
    /// Numbers held.
    Numbers,
    /// The same in bytes.
    Bytes,
    /// The share of full attention's.
    Share,
    /// Multiply-adds a write.
    Write,
    /// Multiply-adds a read.
    Read,
    /// Time a step.
    Time,
}

/// In a wide panel.
const WIDE: [Column; 9] =
    [Column::Lane, Column::Score, Column::Change, Column::Numbers, Column::Bytes, Column::Share, Column::Write, Column::Read, Column::Time];
/// In a narrow one.
const NARROW: [Column; 5] = [Column::Lane, Column::Score, Column::Change, Column::Bytes, Column::Share];

/// The columns of a table: those in which some line has something to say.
pub(super) fn columns(wide: bool, lines: &[Line]) -> Vec<Column> {
    let all: &[Column] = if wide { &WIDE } else { &NARROW };
    let says = |column: Column| lines.iter().any(|l| !matches!(column.text(l).as_str(), "" | "–"));
    all.iter().copied().filter(|c| *c == Column::Lane || says(*c)).collect()
}

impl Column {
    /// What stands at its head.
    pub(super) fn head(self, scored: Scored) -> &'static str {
        match self {
            Self::Lane => "lane",
            Self::Score => match scored {
                Scored::Accuracy => "accuracy, 95%",
                Scored::Relative => "rel. error, cosine",
                Scored::RelativeSquared => "rel. sq. error, cosine",
            },
            Self::Change => "by hand",
            Self::Numbers => "numbers held",
            Self::Bytes => "state",
            Self::Share => "of full",
            Self::Write => "madds/write",
            Self::Read => "madds/read",
            Self::Time => "time/step",
        }
    }

    /// What it says, in a sentence.
    pub(super) fn hint(self, scored: Scored) -> &'static str {
        match self {
            Self::Lane => "The session's order",
            Self::Score => match scored {
                Scored::Accuracy => "The accuracy over the reads that every lane has answered at the playhead, with Wilson's 95% interval",
                Scored::Relative => {
                    "The relative error |o - y| / |y| over the reads that every lane has answered at the playhead, and their mean cosine"
                }
                Scored::RelativeSquared => {
                    "The relative squared error, sum |o - y|^2 / sum |y|^2, over the reads that every lane has answered at the playhead, and their mean cosine"
                }
            },
            Self::Change => {
                "What was done by hand has changed in the score so far: the branch's own minus that of the same lane without it"
            }
            Self::Numbers => "Numbers that the memory holds at the end of the stream, over all key/value heads of the lane",
            Self::Bytes => "The memory at the end of the stream in bytes of float32, over all key/value heads of the lane",
            Self::Share => "Its share of what full attention keeps of the stream: T (dk + dv) numbers a key/value head",
            Self::Write => "Multiply-adds to write one token, over all key/value heads",
            Self::Read => "Multiply-adds to answer one read, over all query heads",
            Self::Time => "What a step of the timeline took, as measured, on average",
        }
    }

    /// What it says of a line; `–` where nothing is known, empty where there is nothing to know.
    pub(super) fn text(self, line: &Line) -> String {
        match self {
            Self::Lane => line.name.clone(),
            Self::Score => figures(line.summary),
            Self::Change => line.change.as_ref().map_or_else(String::new, |c| c.short(line.summary)),
            Self::Numbers => grouped(line.all),
            Self::Bytes => bytes(line.all),
            Self::Share => percent(line.share),
            Self::Write => many(line.write),
            Self::Read => many(line.read),
            Self::Time => time(line.seconds),
        }
    }

    /// The order of two lines, the smaller first; what is not known is smallest.
    fn order(self, a: &Line, b: &Line) -> Ordering {
        let known = |x: Option<f64>| x.filter(|v| !v.is_nan()).unwrap_or(f64::NEG_INFINITY);
        let score = |l: &Line| known(l.summary.and_then(|s| s.headline()));
        match self {
            Self::Lane => a.lane.cmp(&b.lane),
            Self::Score => score(a).total_cmp(&score(b)),
            Self::Change => {
                let change = |l: &Line| known(l.change.as_ref().and_then(|c| c.difference(l.summary)));
                change(a).total_cmp(&change(b))
            }
            Self::Numbers | Self::Bytes => a.all.cmp(&b.all),
            Self::Share => a.share.total_cmp(&b.share),
            Self::Write => a.write.cmp(&b.write),
            Self::Read => a.read.cmp(&b.read),
            Self::Time => known(a.seconds).total_cmp(&known(b.seconds)),
        }
    }
}

/// What the table is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: Column,
    /// The largest first.
    pub down: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Lane, down: false }
    }
}

impl Sort {
    /// True if lines are in the order of this column. The order of the session is no column's.
    #[must_use]
    pub fn is_by(self, column: Column) -> bool {
        self.column == column && self != Self::default()
    }

    /// After a click on a head: that column, or the other way round.
    #[must_use]
    pub fn clicked(self, column: Column) -> Self {
        Self { column, down: if self.column == column { !self.down } else { matches!(column, Column::Score | Column::Change) } }
    }

    /// Sorts lines; equal ones stay in the session's order.
    pub fn apply(self, lines: &mut [Line]) {
        lines.sort_by(|a, b| {
            let order = self.column.order(a, b);
            let order = if self.down { order.reverse() } else { order };
            order.then(a.lane.cmp(&b.lane))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::line;
    use super::*;

    #[test]
    fn lines_are_sorted_by_any_column_both_ways_and_ties_keep_the_order() {
        let mut lines = vec![line(0, "a", 4, 500), line(1, "b", 8, 100), line(2, "c", 100, 500), line(3, "d", 4, 50)];
        let names = |lines: &[Line]| lines.iter().map(|l| l.name.clone()).collect::<String>();
        let score = Sort::default().clicked(Column::Score);
        score.apply(&mut lines);
        assert_eq!(names(&lines), "badc", "the best first; what has no score last");
        score.clicked(Column::Score).apply(&mut lines);
        assert_eq!(names(&lines), "cadb");
        Sort::default().clicked(Column::Bytes).apply(&mut lines);
        assert_eq!(names(&lines), "dbac", "the smallest first");
        Sort::default().apply(&mut lines);
        assert_eq!(names(&lines), "abcd");
    }

    #[test]
    fn the_order_of_the_session_is_no_columns() {
        let all = |sort: Sort| WIDE.iter().filter(|c| sort.is_by(**c)).count();
        assert_eq!(all(Sort::default()), 0);
        let bytes = Sort::default().clicked(Column::Bytes);
        assert!(bytes.is_by(Column::Bytes) && all(bytes) == 1);
        // A click on the lanes' head goes back to it, a second one turns it round.
        let back = bytes.clicked(Column::Lane);
        assert_eq!(all(back), 0);
        assert!(back.clicked(Column::Lane).is_by(Column::Lane));
    }

    #[test]
    fn a_column_that_says_nothing_is_left_out() {
        let mut lines = vec![line(0, "a", 4, 500), line(1, "b", 100, 100)];
        let without = [Column::Lane, Column::Score, Column::Numbers, Column::Bytes, Column::Share, Column::Write, Column::Read];
        assert_eq!(columns(true, &lines), without, "no branch, and no time was measured");
        lines[1].seconds = Some(0.001);
        assert_eq!(columns(true, &lines)[7..], [Column::Time], "one line has a time");
        lines[0].summary = None;
        assert_eq!(columns(false, &lines), [Column::Lane, Column::Bytes, Column::Share], "no read yet");
    }
}
