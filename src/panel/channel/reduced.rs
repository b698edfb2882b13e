//! Any channel as a grid of few enough cells to draw: read once, a little each frame, whatever its length. No drawing.

use crate::trace::{Channel, Kind, Width};
use crate::widget::heatmap::{Grid, Pool, Rule};

/// Cells along the axis of entries, at most.
const COLUMNS: usize = 512;
/// Cells across, at most.
const ROWS: usize = 256;
/// Numbers that one call of [`Reduced::extend`] reads.
pub const PORTION: usize = 200_000;

/// What stands across the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// A channel of one number an entry: its heads.
    Heads,
    /// The components of one head's entries.
    Components,
    /// Lists of whole numbers of one head: the numbers themselves; a cell counts how often its own were in the list.
    Ids,
    /// Lists of real numbers of one head: the places in the list.
    Places,
}

impl Across {
    /// What suits a channel.
    #[must_use]
    pub fn of(channel: &Channel) -> Self {
        match (channel.spec().width, channel.spec().kind) {
            (Width::Fixed(1), _) => Self::Heads,
            (Width::Fixed(_), _) => Self::Components,
            (Width::Ragged, Kind::Whole) => Self::Ids,
            (Width::Ragged, Kind::Real) => Self::Places,
        }
    }
}

/// A channel's numbers by cell, as far as they have been read.
#[derive(Debug, Clone)]
pub struct Reduced {
    across: Across,
    head: usize,
    /// Entries that the channel will have.
    entries: usize,
    /// Rows that stand across.
    rows: usize,
    columns: usize,
    bins: usize,
    /// `[bins, columns]`.
    cells: Vec<Pool>,
    done: usize,
    /// Numbers that are NaN, and that are infinite, so far.
    pub loud: [usize; 2],
}

impl Reduced {
    /// Nothing read yet. `entries` is how many the channel will have, `head` which head is read (all, where heads stand across) and
    /// `ids` how many ids there can be.
    #[must_use]
    pub fn new(channel: &Channel, head: usize, entries: usize, ids: usize) -> Self {
        let across = Across::of(channel);
        let rows = match (across, channel.spec().width) {
            (Across::Heads, _) => channel.heads(),
            (Across::Components, Width::Fixed(width)) => width,
            (Across::Ids, _) => ids,
            _ => (0..channel.len()).map(|i| channel.range(head, i).len()).max().unwrap_or(0),
        };
        let (rows, entries) = (rows.max(1), entries.max(1));
        let (bins, columns) = (rows.min(ROWS), entries.min(COLUMNS));
        Self { across, head, entries, rows, columns, bins, cells: vec![Pool::default(); bins * columns], done: 0, loud: [0; 2] }
    }

    /// Entries read so far.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// Rows that stand across.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many entries, and how many rows, stand behind a cell.
    #[must_use]
    pub fn behind(&self) -> [f64; 2] {
        [self.entries as f64 / self.columns as f64, self.rows as f64 / self.bins as f64]
    }

    /// The entries of column `column`.
    #[must_use]
    pub fn entries_of(&self, column: usize) -> std::ops::Range<usize> {
        let start = |c: usize| (c * self.entries).div_ceil(self.columns);
        start(column)..start(column + 1)
    }

    /// Where a picture of `pixels` columns of the screen is to end, in entries, so that nothing of the entries from `seen` on is in it: what
    /// stands behind one column, or one pixel, is one number.
    #[must_use]
    pub fn until(&self, seen: usize, pixels: usize) -> f64 {
        if seen >= self.entries {
            return self.entries as f64;
        }
        let whole = (0..self.columns).take_while(|c| self.entries_of(*c).end <= seen).count();
        if pixels >= self.columns {
            return self.entries_of(whole).start as f64;
        }
        (whole * pixels / self.columns) as f64 / pixels.max(1) as f64 * self.entries as f64
    }

    /// Columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What was read of a row's bin in a column.
    #[must_use]
    pub fn pool(&self, bin: usize, column: usize) -> &Pool {
        &self.cells[bin * self.columns + column]
    }

    /// Reads on, about [`PORTION`] numbers; true if there is more to be read at once.
    pub fn extend(&mut self, channel: &Channel) -> bool {
        let mut left = PORTION;
        while self.done < channel.len().min(self.entries) {
            let entry = self.done;
            let read = match self.across {
                Across::Heads => self.heads(channel, entry),
                Across::Components | Across::Places => {
                    let range = channel.range(self.head, entry);
                    if range.len() > self.rows {
                        // A longer list than any before: all of it again, with room for it.
                        *self = Self::new(channel, self.head, self.entries, self.rows);
                        continue;
                    }
                    self.list(channel, entry, range)
                }
                Across::Ids => self.ids(channel, entry),
            };
            self.done += 1;
            left = left.saturating_sub(read.max(1));
            if left == 0 {
                return self.done < channel.len().min(self.entries);
            }
        }
        false
    }

    fn add(&mut self, row: usize, entry: usize, value: f32) {
        if value.is_nan() {
            self.loud[0] += 1;
        } else if value.is_infinite() {
            self.loud[1] += 1;
        }
        let (bin, column) = (row * self.bins / self.rows, entry * self.columns / self.entries);
        self.cells[bin * self.columns + column].add(value);
    }

    fn heads(&mut self, channel: &Channel, entry: usize) -> usize {
        for head in 0..self.rows {
            if let Some(value) = channel.values(head).get(entry) {
                self.add(head, entry, value as f32);
            }
        }
        self.rows
    }

    fn list(&mut self, channel: &Channel, entry: usize, range: std::ops::Range<usize>) -> usize {
        let read = range.len();
        let reals = channel.reals(self.head);
        if let Some(list) = reals.get(range.clone()) {
            list.iter().enumerate().for_each(|(row, &value)| self.add(row, entry, value));
        } else {
            let values = channel.values(self.head);
            range.enumerate().for_each(|(row, at)| self.add(row, entry, values.get(at).map_or(f32::NAN, |v| v as f32)));
        }
        read
    }

    fn ids(&mut self, channel: &Channel, entry: usize) -> usize {
        let list = channel.wholes_at(self.head, entry);
        for id in list.iter().filter_map(|&id| usize::try_from(id).ok()) {
            if id < self.rows {
                self.add(id, entry, 1.0);
            }
        }
        list.len()
    }

    /// The cells by a rule; of lists of ids, how often a cell's ids were in them.
    #[must_use]
    pub fn grid(&self, rule: Rule) -> Grid {
        let value = |pool: &Pool| match self.across {
            Across::Ids => (pool.n > 0).then_some(pool.n as f32),
            _ => pool.value(rule),
        };
        Grid { rows: self.bins, columns: self.columns, cells: self.cells.iter().map(value).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Axis, ChannelSpec, Heads, LaneTrace, Tolerance, TraceBlock, Values};

    fn trace(width: Width, kind: Kind, heads: usize, entries: usize, values: Values, lengths: Option<Vec<u32>>) -> LaneTrace {
        let spec = ChannelSpec {
            name: "x",
            title: "x",
            meaning: "",
            unit: "tokens",
            axis: Axis::Step,
            heads: Heads::KeyValue,
            width,
            kind,
            tolerance: Tolerance::Choice { margin: None },
        };
        let mut trace = LaneTrace::new(&[spec], heads, heads);
        let mut block = TraceBlock::default();
        match lengths {
            Some(lengths) => block.push_ragged(0, 0..entries, values, lengths),
            None => block.push(0, 0..entries, values),
        }
        trace.append(&block).unwrap();
        trace
    }

    fn read(channel: &Channel, head: usize, entries: usize, ids: usize) -> Reduced {
        let mut reduced = Reduced::new(channel, head, entries, ids);
        while reduced.extend(channel) {}
        reduced
    }

    #[test]
    fn a_short_channel_is_drawn_number_by_number() {
        // Two heads of three entries of two numbers.
        let numbers = vec![0.0, 1.0, 2.0, 3.0, f32::NAN, 5.0, 10.0, 11.0, 12.0, 13.0, f32::INFINITY, 15.0];
        let trace = trace(Width::Fixed(2), Kind::Real, 2, 3, Values::F32(numbers), None);
        let reduced = read(&trace.channels()[0], 0, 4, 0);
        let grid = reduced.grid(Rule::Mean);
        assert_eq!((grid.rows, grid.columns, reduced.loud), (2, 4, [1, 0]));
        assert_eq!((grid.get(1, 1), grid.get(0, 1), grid.get(1, 2), grid.get(0, 3)), (Some(3.0), Some(2.0), Some(5.0), None));
        assert!(grid.get(0, 2).is_some_and(f32::is_nan));
        assert_eq!(read(&trace.channels()[0], 1, 4, 0).loud, [0, 1]);
    }

    #[test]
    fn heads_stand_across_where_an_entry_is_one_number() {
        let trace = trace(Width::Fixed(1), Kind::Whole, 3, 2, Values::I32(vec![1, 2, 3, 4, 5, 6]), None);
        let grid = read(&trace.channels()[0], 0, 2, 0).grid(Rule::Max);
        assert_eq!((grid.rows, grid.get(0, 1), grid.get(2, 0)), (3, Some(2.0), Some(5.0)));
    }

    #[test]
    fn nothing_of_a_long_channel_is_lost() {
        let n = 3000;
        let numbers: Vec<f32> = (0..n).map(|i| if i == 1234 { 9.0 } else { 0.0 }).collect();
        let trace = trace(Width::Fixed(1), Kind::Real, 1, n, Values::F32(numbers), None);
        let reduced = read(&trace.channels()[0], 0, n, 0);
        let grid = reduced.grid(Rule::Max);
        assert_eq!((reduced.done(), grid.columns), (n, COLUMNS));
        let column = grid.cells.iter().position(|c| *c == Some(9.0)).unwrap();
        assert!(reduced.entries_of(column).contains(&1234), "{column}: {:?}", reduced.entries_of(column));
        let counted: u32 = (0..COLUMNS).map(|c| reduced.pool(0, c).n).sum();
        assert_eq!(counted as usize, n);
        assert!((0..COLUMNS).all(|c| reduced.entries_of(c).len() == reduced.pool(0, c).n as usize), "each cell counts its own");
    }

    #[test]
    fn lists_are_counted_by_id_or_shown_by_place() {
        let ids = trace(Width::Ragged, Kind::Whole, 1, 3, Values::I32(vec![7, 8, 7, -1]), Some(vec![2, 0, 2]));
        let grid = read(&ids.channels()[0], 0, 3, 10).grid(Rule::Mean);
        assert_eq!(
            (grid.rows, grid.get(7, 0), grid.get(8, 0), grid.get(7, 2), grid.get(7, 1)),
            (10, Some(1.0), Some(1.0), Some(1.0), None)
        );
        let scores = trace(Width::Ragged, Kind::Real, 1, 2, Values::F32(vec![0.5, 1.5, 2.5]), Some(vec![1, 2]));
        let grid = read(&scores.channels()[0], 0, 2, 0).grid(Rule::Max);
        assert_eq!((grid.rows, grid.get(0, 0), grid.get(1, 0), grid.get(1, 1)), (2, Some(0.5), None, Some(2.5)));
    }

    #[test]
    fn a_list_longer_than_any_before_makes_room_for_itself() {
        let mut trace = trace(Width::Ragged, Kind::Real, 1, 1, Values::F32(vec![1.0]), Some(vec![1]));
        let mut reduced = Reduced::new(&trace.channels()[0], 0, 2, 0);
        reduced.extend(&trace.channels()[0]);
        let mut block = TraceBlock::default();
        block.push_ragged(0, 1..2, Values::F32(vec![2.0, f32::NAN, 4.0]), vec![3]);
        trace.append(&block).unwrap();
        while reduced.extend(&trace.channels()[0]) {}
        let grid = reduced.grid(Rule::Max);
        assert_eq!((reduced.rows(), reduced.done(), reduced.loud), (3, 2, [1, 0]));
        assert_eq!((grid.get(0, 0), grid.get(0, 1), grid.get(2, 1)), (Some(1.0), Some(2.0), Some(4.0)));
    }
}
