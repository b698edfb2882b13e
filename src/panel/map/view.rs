//! What the map is of: a lane's keys, the memory that each is in, and the rows of its dictionary at the playhead.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{Pos2, Rect};

use super::lists::Sets;
use crate::app::study::map::{Ask, Bounds, Keys, Trails};
use crate::layer::Snapshot;
use crate::layer::effective::Store;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::Look;
use crate::session::hand;
use crate::session::plan::PlanLane;
use crate::stream::Stream;
use crate::widget::chart::Chart;

/// Where a lane's tokens are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Memory<'a> {
    /// In the rows of a dictionary: which one took each write, and whether the write founded it.
    Rows { rows: &'a [i32], founders: &'a [i32] },
    /// In window, cache or state, after so many chunks.
    Places { index: &'a Residency, chunks: usize },
    /// All in one store, but for those before a write, which are gone.
    Kept { store: Store, from: usize },
}

impl<'a> Memory<'a> {
    /// The memory of a lane without a cache.
    pub(super) fn of(look: &Look<'a>, lane: usize, head: usize, seen: usize) -> Self {
        let (plan, trace) = (look.lanes[lane].plan, look.lanes[lane].trace);
        if let Some(rows) = trace.channel("assignments").filter(|c| head < c.heads()) {
            let founders = trace.channel("is_new").map_or(&[][..], |c| c.wholes(head));
            return Self::Rows { rows: rows.wholes(head), founders };
        }
        match plan.kind.name() {
            "full" => Self::Kept { store: Store::Whole, from: 0 },
            "window" => Self::Kept { store: Store::Window, from: seen.saturating_sub(plan.setup.params.size("window")) },
            _ => {
                let chunk = plan.setup.chunk;
                let forgotten = hand::forgotten(&plan.setup.hands, head, seen.div_ceil(chunk));
                Self::Kept { store: Store::State, from: forgotten.map_or(0, |step| (step * chunk).min(seen)) }
            }
        }
    }

    /// The store that a write is in.
    pub(super) fn store(&self, write: usize) -> Store {
        match self {
            Self::Rows { .. } => Store::Centroid,
            Self::Places { index, chunks } => match index.at(write, *chunks) {
                Place::Window | Place::NotYet => Store::Window,
                Place::Cache => Store::Cache,
                Place::State => Store::State,
                Place::Gone => Store::Gone,
            },
            Self::Kept { store, from } => {
                if write < *from {
                    Store::Gone
                } else {
                    *store
                }
            }
        }
    }

    /// The row that took a write.
    pub(super) fn row(&self, write: usize) -> Option<usize> {
        if let Self::Rows { rows, .. } = self { rows.get(write).and_then(|&r| usize::try_from(r).ok()) } else { None }
    }

    /// True if a write founded its row.
    pub(super) fn founder(&self, write: usize) -> bool {
        matches!(self, Self::Rows { founders, .. } if founders.get(write) == Some(&1))
    }

    /// The first `seen` writes that a row took, ascending.
    pub(super) fn members(&self, row: usize, seen: usize) -> Vec<usize> {
        let (Self::Rows { rows, .. }, Ok(row)) = (self, i32::try_from(row)) else { return Vec::new() };
        rows[..seen.min(rows.len())].iter().enumerate().filter(|(_, r)| **r == row).map(|(write, _)| write).collect()
    }

    /// The writes in the sliding window, of `seen`.
    pub(super) fn window(&self, seen: usize) -> Range<usize> {
        match self {
            Self::Places { index, chunks } => {
                let all = index.window_range(*chunks);
                all.start.min(seen)..all.end.min(seen)
            }
            Self::Kept { store: Store::Window, from } => (*from).min(seen)..seen,
            _ => 0..0,
        }
    }
}

/// What is drawn, of which lane.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) look: &'a Look<'a>,
    pub(super) lane: usize,
    pub(super) head: usize,
    /// Writes that are in the lane's memory.
    pub(super) seen: usize,
    /// Chunks that it has done.
    pub(super) chunks: usize,
    pub(super) keys: &'a Arc<Keys>,
    pub(super) trails: Option<&'a Arc<Trails>>,
    pub(super) memory: Memory<'a>,
    pub(super) sets: Sets<'a>,
}

impl View<'_> {
    pub(super) fn stream(&self) -> &Stream {
        &self.look.plan.stream
    }

    pub(super) fn plan(&self) -> &PlanLane {
        self.look.lanes[self.lane].plan
    }

    /// True for a dictionary in which no write ever founds a row: the codebook of VQ attention.
    pub(super) fn fixed(&self) -> bool {
        matches!(self.memory, Memory::Rows { founders: [], .. })
    }

    /// True if a hand forgets the state of this head at some step: then what was in it has a sign of its own.
    pub(super) fn forgets(&self) -> bool {
        hand::forgotten(&self.plan().setup.hands, self.head, usize::MAX).is_some()
    }

    /// After how many chunks a hand deleted a row, where it has by now: what was in it is nowhere.
    pub(super) fn deleted(&self, row: usize) -> Option<usize> {
        hand::deleted(&self.plan().setup.hands, self.head, row).filter(|step| *step <= self.chunks)
    }

    /// Where a write's key is on screen.
    pub(super) fn key(&self, chart: &Chart, write: usize) -> Pos2 {
        at(chart, self.keys.points[write])
    }
}

/// A place on screen.
pub(super) fn at(chart: &Chart, place: [f32; 2]) -> Pos2 {
    chart.pos(f64::from(place[0]), f64::from(place[1]))
}

/// Where the places of the rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The lane has no dictionary, or nothing is in it yet.
    Nothing,
    /// The lane's own state at the playhead.
    Exact,
    /// The trace, by the update of the layer itself.
    Replayed,
    /// The lane's own state after fewer chunks: the one of the playhead is being computed.
    Before(usize),
    /// Nothing is known yet.
    Awaited,
}

impl Source {
    /// The best that there is. While the playhead moves a replay is preferred, so that the engine is not asked for every step.
    pub(super) fn of(view: &View<'_>, moving: bool) -> Self {
        let (states, lane, chunks) = (view.look.states, view.lane, view.chunks);
        let replayed = view.trails.is_some_and(|t| t.chunks >= chunks);
        match view.memory {
            Memory::Rows { .. } if chunks > 0 => {}
            _ => return Self::Nothing,
        }
        if !(moving && replayed) && states.at(lane, chunks).is_some() {
            Self::Exact
        } else if replayed {
            Self::Replayed
        } else {
            states.before(lane, chunks).map_or(Self::Awaited, |s| Self::Before(s.position))
        }
    }

    /// After how many chunks the rows are shown.
    pub(super) fn chunks(self, view: &View<'_>) -> usize {
        match self {
            Self::Exact | Self::Replayed => view.chunks,
            Self::Before(chunks) => chunks,
            Self::Nothing | Self::Awaited => 0,
        }
    }

    /// In words, after the number of centroids.
    pub(super) fn words(self, view: &View<'_>) -> String {
        match self {
            Self::Nothing | Self::Exact | Self::Replayed => String::new(),
            Self::Before(chunks) => format!("as after {chunks} chunks: those after {} are being computed", view.chunks),
            Self::Awaited => "are being computed".to_owned(),
        }
    }
}

/// A row of the dictionary: the place of its key, and its count.
pub(super) type Row = ([f32; 2], u32);

/// The rows of the dictionary; those that stand for no write have the count 0.
pub(super) fn rows(view: &View<'_>, source: Source) -> Vec<Row> {
    match (source, view.trails) {
        (Source::Replayed, Some(trails)) => {
            (0..trails.rows.len()).map(|row| trails.at(row, view.chunks).map_or(([0.0; 2], 0), |m| (m.at, m.count))).collect()
        }
        (Source::Exact | Source::Before(_), _) => {
            let state = view.look.states.before(view.lane, source.chunks(view));
            state.and_then(|s| rows_of(s, view.plan(), view.head, view.keys)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The rows of a state: its own keys, or those of the codebook that the lane was given.
fn rows_of(state: &Snapshot, plan: &PlanLane, head: usize, keys: &Keys) -> Option<Vec<Row>> {
    let of_counts = state.array("counts")?;
    let n = *of_counts.shape.last()?;
    let counts = of_counts.values.as_i32()?.get(head * n..(head + 1) * n)?;
    let dk = plan.setup.stream.key_dim();
    let (all, from) = if let Some(dictionary) = state.array("dict_k") {
        (dictionary.values.as_f32()?, head)
    } else {
        let book = plan.setup.arrays.get("codebook")?;
        (book.as_slice()?, if book.len() == n * dk { 0 } else { head })
    };
    let own = all.get(from * n * dk..(from + 1) * n * dk)?;
    let place = |(key, &count): (&[f32], &i32)| (keys.projection.place(key, keys.ask.components), count.max(0).unsigned_abs());
    Some(own.chunks(dk).zip(counts).map(place).collect())
}

/// The range of the axes: that of the keys, and of the rows wherever they are known to go, with room around.
pub(super) fn range(keys: &Keys, trails: Option<&Arc<Trails>>) -> [[f64; 2]; 2] {
    let join = |a: Bounds, b: Bounds| std::array::from_fn(|i| [a[i][0].min(b[i][0]), a[i][1].max(b[i][1])]);
    let bounds: Bounds = trails.map_or(keys.bounds, |t| join(keys.bounds, t.bounds));
    bounds.map(|[low, high]| {
        let (low, high) = (f64::from(low), f64::from(high));
        let span = high - low;
        // Keys that do not vary are in the middle of something.
        let room = if span > 1e-9 { span * 0.05 } else { 0.5 };
        [low - room, high + room]
    })
}

/// All that a mesh on screen depends on besides its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub(super) rect: Rect,
    pub(super) range: [[f64; 2]; 2],
    pub(super) dark: bool,
    pub(super) scale: f32,
    pub(super) ask: Ask,
}

/// How large centroids are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    /// The largest count.
    pub(super) most: u32,
    /// Its radius, in points.
    pub(super) largest: f32,
}

impl Size {
    /// For a stream of `writes` tokens on the plot `rect`: all discs together never take more than half of it.
    pub(super) fn new(most: u32, writes: usize, rect: Rect) -> Self {
        let most = most.max(1);
        // With the counts' sum T, the discs' areas sum to pi largest^2 T / most.
        let half = (0.5 * f64::from(rect.area()) * f64::from(most) / (std::f64::consts::PI * writes.max(1) as f64)).sqrt() as f32;
        Self { most, largest: (rect.size().min_elem() / 13.0).clamp(7.0, 23.0).min(half) }
    }

    /// The radius, in points, of a centroid with `count` members: areas are as counts, down to a dot that can still be seen.
    pub(super) fn radius(self, count: u32) -> f32 {
        (self.largest * (f64::from(count) / f64::from(self.most)).sqrt() as f32).max(1.6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    #[test]
    fn a_centroids_area_is_as_its_count() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 260.0));
        let size = Size::new(100, 1000, rect);
        assert!((size.radius(100) - 20.0).abs() < 1e-4);
        assert!((size.radius(25) - 10.0).abs() < 1e-4, "a quarter of the members, a quarter of the area");
        assert!((Size::new(100_000, 200_000, rect).radius(1) - 1.6).abs() < 1e-4, "never out of sight");
        // 2048 centroids of 32 tokens each: their discs cover half of 104000 square points.
        let many = Size::new(32, 65_536, rect).radius(32);
        assert!((2048.0 * std::f32::consts::PI * many * many - 52_000.0).abs() < 1.0, "{many}");
    }

    #[test]
    fn a_token_is_in_one_store_and_in_one_row() {
        let memory = Memory::Rows { rows: &[0, 1, 0, 2], founders: &[1, 1, 0, 1] };
        assert_eq!((memory.members(0, 4), memory.members(0, 2), memory.members(7, 4)), (vec![0, 2], vec![0], vec![]));
        assert_eq!((memory.row(3), memory.row(4), memory.founder(1), memory.founder(2)), (Some(2), None, true, false));
        let window = Memory::Kept { store: Store::Window, from: 3 };
        assert_eq!([2, 3].map(|w| window.store(w)), [Store::Gone, Store::Window]);
        let mut index = Residency::new(2, 2, 6);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        let places = Memory::Places { index: &index, chunks: 2 };
        assert_eq!([0, 1, 2].map(|w| places.store(w)), [Store::Cache, Store::State, Store::Window]);
        let forget = hand::Hand { step: 2, kv_head: 0, what: hand::Act::Forget };
        let index = index.with_hands(&[forget], 0);
        let places = Memory::Places { index: &index, chunks: 2 };
        assert_eq!([0, 1, 2].map(|w| places.store(w)), [Store::Cache, Store::Gone, Store::Window]);
    }
}
