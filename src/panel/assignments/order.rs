//! In which order the rows of a dictionary are drawn. All but the order of birth depend on the playhead: an order is that of one step,
//! and says of which.

use eframe::egui::Ui;
use ndarray::{ArrayView2, Axis};

use super::codebook;
use crate::layer::Snapshot;
use crate::panel::Look;
use crate::panel::common::{Key, chunks_seen};
use crate::widget::cached::Cached;

/// Seconds that an order stays while the playhead moves on: with each, all points have new places.
const STAYS: f64 = 0.4;
/// Keys of the stream that the principal component is found from.
const SAMPLE: usize = 1024;
/// Rounds of the power iteration.
const ROUNDS: usize = 32;

/// By what rows are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// The order in which they were founded: their numbers.
    #[default]
    Birth,
    /// The fullest first.
    Count,
    /// The one that took a write last first.
    LastUse,
    /// By dot product with the selected row; along the keys' first principal component without one.
    Similarity,
}

impl By {
    /// All, in the order of the menu.
    pub const ALL: [Self; 4] = [Self::Birth, Self::Count, Self::LastUse, Self::Similarity];

    /// The name in the menu.
    pub fn title(self) -> &'static str {
        match self {
            Self::Birth => "by birth",
            Self::Count => "by count",
            Self::LastUse => "by last use",
            Self::Similarity => "by similarity",
        }
    }

    /// What it means.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Birth => "Rows by their number: in the order in which they were founded (VQ attention: as in the codebook)",
            Self::Count => "The row with the most writes lowest",
            Self::LastUse => "The row that took a write last lowest; rows without a write on top",
            Self::Similarity => {
                "The selected row lowest, then those most similar to it (dot product); with no row selected along the first principal component of the stream's keys"
            }
        }
    }
}

/// An order of rows as it was after some chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Chunks done.
    pub chunks: usize,
    /// The row at each place, from below.
    rows: Vec<u32>,
    /// The place of each row.
    places: Vec<u32>,
}

impl Order {
    /// Rows from below.
    pub fn new(chunks: usize, rows: Vec<u32>) -> Self {
        let mut places = vec![0; rows.len()];
        for (place, &row) in rows.iter().enumerate() {
            places[row as usize] = place as u32;
        }
        Self { chunks, rows, places }
    }

    /// The place of a row. Rows founded since lie above the others, in the order of their birth.
    pub fn place(&self, row: usize) -> usize {
        self.places.get(row).map_or(row, |&p| p as usize)
    }

    /// The row at a place, the inverse of [`Order::place`].
    pub fn row(&self, place: usize) -> usize {
        self.rows.get(place).map_or(place, |&r| r as usize)
    }
}

/// `n` rows by how many of the `assignments` name them, the most first; equal ones by row.
pub fn by_count(assignments: &[i32], n: usize) -> Vec<u32> {
    let mut counts = vec![0_u32; n];
    for &row in assignments {
        if let Some(count) = usize::try_from(row).ok().and_then(|r| counts.get_mut(r)) {
            *count += 1;
        }
    }
    let mut rows: Vec<u32> = (0..n as u32).collect();
    rows.sort_by_key(|&row| (std::cmp::Reverse(counts[row as usize]), row));
    rows
}

/// `n` rows by the last of the `assignments` that names them, the newest first; those that none names last, by row.
pub fn by_last_use(assignments: &[i32], n: usize) -> Vec<u32> {
    let mut last = vec![0_usize; n];
    for (write, &row) in assignments.iter().enumerate() {
        if let Some(last) = usize::try_from(row).ok().and_then(|r| last.get_mut(r)) {
            *last = write + 1;
        }
    }
    let mut rows: Vec<u32> = (0..n as u32).collect();
    rows.sort_by_key(|&row| (std::cmp::Reverse(last[row as usize]), row));
    rows
}

/// Rows by a number, the largest first; equal ones by row, those without a number last.
fn by_number(numbers: &[f64]) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..numbers.len() as u32).collect();
    let of = |row: u32| if numbers[row as usize].is_nan() { f64::NEG_INFINITY } else { numbers[row as usize] };
    rows.sort_by(|&a, &b| of(b).total_cmp(&of(a)).then(a.cmp(&b)));
    rows
}

/// The rows of `keys` [n, dk] by their dot product with one of them, which comes first itself; `None` for a row that is not among them.
pub fn by_similarity(keys: ArrayView2<'_, f32>, anchor: usize) -> Option<Vec<u32>> {
    let own = (anchor < keys.nrows()).then(|| keys.row(anchor))?;
    let mut numbers: Vec<f64> = keys.rows().into_iter().map(|r| f64::from(r.dot(&own))).collect();
    numbers[anchor] = f64::INFINITY;
    Some(by_number(&numbers))
}

/// The rows of `keys` [n, dk] along a direction `[dk]`.
pub fn along(keys: ArrayView2<'_, f32>, direction: &[f32]) -> Vec<u32> {
    let dot = |row: ndarray::ArrayView1<'_, f32>| row.iter().zip(direction).map(|(&x, &d)| f64::from(x) * f64::from(d)).sum::<f64>();
    by_number(&keys.rows().into_iter().map(dot).collect::<Vec<_>>())
}

/// The first principal component `[dk]` of keys [T, dk]: of 1024 of them, evenly apart. Its largest number is positive.
///
/// By power iteration from the key farthest from the mean: where two components are equally large, a direction between them.
pub fn principal(keys: ArrayView2<'_, f32>) -> Vec<f32> {
    let (t, dk) = keys.dim();
    let n = t.min(SAMPLE);
    let picked: Vec<usize> = (0..n).map(|i| i * t / n).collect();
    let mut own = keys.select(Axis(0), &picked);
    if let Some(mean) = own.mean_axis(Axis(0)) {
        own -= &mean;
    }
    let far = own.rows().into_iter().map(|r| r.dot(&r)).enumerate().fold((0, 0.0), |best, now| if now.1 > best.1 { now } else { best });
    if far.1 <= 0.0 {
        return vec![0.0; dk];
    }
    let mut axis = own.row(far.0).to_owned();
    for _ in 0..ROUNDS {
        let next = own.t().dot(&own.dot(&axis));
        let length = next.dot(&next).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        axis = next / length;
    }
    let largest = axis.iter().copied().fold(0.0_f32, |a, b| if b.abs() > a.abs() { b } else { a });
    axis.iter().map(|&x| if largest < 0.0 { -x } else { x }).collect()
}

/// What an order is made of besides the run.
type Made = Key<(By, Option<usize>)>;

/// The choice of an order, and the order as it was made last.
#[derive(Debug, Default)]
pub struct Sorting {
    /// By what rows are sorted.
    pub by: By,
    held: Option<(Made, Order)>,
    axis: Cached<Key<()>, Vec<f32>>,
    /// When the order was made, in seconds of the window.
    made_at: f64,
    /// Counts orders.
    generation: u64,
    /// The playhead of the last frame.
    writes: usize,
    /// The chunks after which a state is waited for.
    wanted: Option<usize>,
}

/// A head of a lane, and where its writes went.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The lane's number.
    pub lane: usize,
    /// The head.
    pub head: usize,
    /// Where all writes so far went.
    pub assignments: &'a [i32],
    /// Writes seen.
    pub seen: usize,
    /// Rows in use then.
    pub rows: usize,
    /// The row that others are compared with, where one is selected.
    pub anchor: Option<usize>,
    /// The rows that hands have deleted by then, and after how many chunks each.
    pub deleted: &'a [(usize, usize)],
}

impl Sorting {
    /// The order in which rows are drawn now; `None`: that of their birth.
    pub fn order(&self) -> Option<&Order> {
        self.held.as_ref().map(|(_, order)| order)
    }

    /// Changes with every order: for pictures.
    pub fn generation(&self) -> Option<u64> {
        self.held.as_ref().map(|_| self.generation)
    }

    /// Makes the order of the playhead's step, unless one was made just before: while the playhead moves, an order stays for a moment.
    pub fn update(&mut self, ui: &Ui, look: &Look<'_>, placed: Placed<'_>) {
        let chunks = chunks_seen(look, placed.lane);
        let moving = std::mem::replace(&mut self.writes, look.writes) != look.writes;
        if self.by == By::Birth || placed.rows == 0 {
            (self.held, self.wanted) = (None, None);
            return;
        }
        // Nothing is similar to a row that is gone: its key is zero.
        let is_there = |row: &usize| placed.deleted.iter().all(|(deleted, _)| deleted != row);
        let anchor = placed.anchor.filter(|_| self.by == By::Similarity).filter(is_there);
        let key = |chunks: usize| Key::new(look, placed.lane, placed.head, chunks, (self.by, anchor));
        match &self.held {
            Some((held, _)) if *held == key(chunks) => {
                self.wanted = None;
                return;
            }
            Some((held, order)) if *held == key(order.chunks) => {
                let age = ui.input(|i| i.time) - self.made_at;
                if (0.0..STAYS).contains(&age) {
                    look.states.put_off();
                    let left = std::time::Duration::from_secs_f64(STAYS - age);
                    ui.ctx().request_repaint_after(left);
                    return;
                }
            }
            // Another run, lane, head or rule: the old order means nothing here.
            _ => (self.held, self.wanted) = (None, None),
        }
        if !moving {
            self.wanted = Some(chunks);
        }
        let wanted = *self.wanted.get_or_insert(chunks);
        if let Some(order) = self.make(look, placed, (chunks, wanted), anchor) {
            if self.held.as_ref().is_none_or(|(_, held)| held.chunks != order.chunks) {
                self.held = Some((Key::new(look, placed.lane, placed.head, order.chunks, (self.by, anchor)), order));
                self.generation += 1;
                self.made_at = ui.input(|i| i.time);
            }
            self.wanted = self.wanted.filter(|w| self.order().is_some_and(|o| o.chunks != *w));
        }
    }

    /// The order after `chunks` chunks; where that needs a state, after `wanted` or as near before as one is here.
    fn make(&mut self, look: &Look<'_>, placed: Placed<'_>, (chunks, wanted): (usize, usize), anchor: Option<usize>) -> Option<Order> {
        let Placed { lane, head, assignments, seen, rows, deleted, .. } = placed;
        let plan = look.lanes[lane].plan;
        match self.by {
            By::Birth => None,
            By::Count => Some(Order::new(chunks, gone_last(by_count(&assignments[..seen], rows), deleted))),
            By::LastUse => Some(Order::new(chunks, gone_last(by_last_use(&assignments[..seen], rows), deleted))),
            By::Similarity => {
                let stream = &plan.setup.stream;
                let axis = self.axis.get(Key::new(look, lane, head, 0, ()), || principal(stream.keys_of(head.min(stream.kv_heads() - 1))));
                let sort = |keys: ArrayView2<'_, f32>| anchor.and_then(|a| by_similarity(keys, a)).unwrap_or_else(|| along(keys, axis));
                if let Some(codes) = codebook(plan, head) {
                    return Some(Order::new(chunks, sort(codes)));
                }
                let state = look.states.at(lane, wanted).or_else(|| look.states.before(lane, chunks))?;
                if self.held.as_ref().is_some_and(|(_, held)| held.chunks == state.position) {
                    return None;
                }
                Some(Order::new(state.position, gone_last(sort(keys_in(state, head)?), deleted)))
            }
        }
    }
}

/// The same rows, those that hands have deleted after all others: they hold nothing.
pub fn gone_last(mut rows: Vec<u32>, deleted: &[(usize, usize)]) -> Vec<u32> {
    rows.sort_by_key(|&row| deleted.iter().any(|(gone, _)| *gone == row as usize));
    rows
}

/// The keys of a dictionary's rows in a state [n, dk]; `None` where it has none.
fn keys_in(state: &Snapshot, head: usize) -> Option<ArrayView2<'_, f32>> {
    let array = state.array("dict_k")?;
    let [heads, n, dk] = array.shape[..] else { return None };
    let numbers = array.values.as_f32()?.get(head * n * dk..(head + 1) * n * dk).filter(|_| head < heads && n > 0)?;
    ArrayView2::from_shape((n, dk), numbers).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    #[test]
    fn the_fullest_and_the_newest_come_first_and_equal_ones_by_row() {
        let assignments = [0, 1, 1, 3, 0, 1];
        assert_eq!(by_count(&assignments, 5), [1, 0, 3, 2, 4]);
        assert_eq!(by_last_use(&assignments, 5), [1, 0, 3, 2, 4]);
        assert_eq!(by_last_use(&assignments[..5], 5), [0, 3, 1, 2, 4]);
        assert_eq!(gone_last(by_count(&assignments, 5), &[(1, 4), (2, 7)]), [0, 3, 4, 1, 2], "what a deleted row held is gone");
    }

    #[test]
    fn rows_founded_since_lie_on_top() {
        let order = Order::new(4, vec![2, 0, 1]);
        assert_eq!([0, 1, 2, 3, 9].map(|row| order.place(row)), [1, 2, 0, 3, 9]);
        assert_eq!([0, 1, 2, 3].map(|place| order.row(place)), [2, 0, 1, 3]);
    }

    #[test]
    fn similarity_is_to_the_selected_row_which_comes_first() {
        let keys = array![[0.5_f32, 0.0], [1.0, 0.0], [0.0, 1.0], [0.9, 0.4]];
        // With row 0: 0.25 itself, 0.5, 0, 0.45.
        assert_eq!(by_similarity(keys.view(), 0).unwrap(), [0, 1, 3, 2]);
        assert_eq!(by_similarity(keys.view(), 4), None);
        assert_eq!(along(keys.view(), &[0.0, 1.0]), [2, 3, 0, 1]);
    }

    #[test]
    fn the_principal_component_is_the_direction_of_the_largest_spread() {
        // Keys along (3, 4) / 5 with a little across it, around a mean that has no part in it.
        let keys = Array2::from_shape_fn((3000, 2), |(i, c)| {
            let (t, s) = ((i % 101) as f32 / 50.0 - 1.0, (i % 7) as f32 / 30.0 - 0.1);
            [3.0 * t - 4.0 * s, 4.0 * t + 3.0 * s][c] / 5.0 + [7.0, -2.0][c]
        });
        let axis = principal(keys.view());
        assert!((axis[0] - 0.6).abs() < 0.01 && (axis[1] - 0.8).abs() < 0.01, "{axis:?}");
        assert_eq!(principal(Array2::from_elem((5, 3), 2.0).view()), [0.0; 3], "keys that are all the same have none");
    }

    proptest! {
        #[test]
        fn an_order_is_a_permutation_and_its_own_inverse(assignments in proptest::collection::vec(0_i32..20, 0..200), n in 1_usize..20) {
            for rows in [by_count(&assignments, n), by_last_use(&assignments, n)] {
                let mut all = rows.clone();
                all.sort_unstable();
                prop_assert_eq!(all, (0..n as u32).collect::<Vec<_>>());
                let order = Order::new(0, rows);
                for row in 0..n + 3 {
                    prop_assert_eq!(order.row(order.place(row)), row);
                }
            }
        }
    }
}
