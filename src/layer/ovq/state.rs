//! One head's dictionary on the CPU, and stages 2 and 3: which tokens found rows, and how rows move.

use std::ops::Range;

use ndarray::Array3;

use super::Config;
use super::attend::Dictionary;
use super::founding::{self, Founding, Keys};
use super::rows::Row;
use crate::layer::real::Real;
use crate::layer::{LayerError, Snapshot, StateArray};
use crate::session::hand::{self, Act};
use crate::stream::Stream;
use crate::trace::Values;

/// The dictionary of one key/value head; only rows in use are held.
#[derive(Debug, Clone)]
pub(super) struct HeadState<R> {
    dk: usize,
    dv: usize,
    /// Key centroids, [n, dk] row-major.
    pub(super) dict_k: Vec<R>,
    /// Value centroids, [n, dv] row-major.
    pub(super) dict_v: Vec<R>,
    /// Writes assigned so far, [n]; what is left of their number where it is kept in half floats.
    pub(super) counts: Vec<u32>,
    /// log counts, [n]; of a dead row the smallest number there is.
    pub(super) log_counts: Vec<R>,
    /// Rows that a hand has deleted, ascending.
    pub(super) dead: Vec<u32>,
    /// What takes dead rows out of a softmax without log counts [n]: 0, or the smallest number there is. Empty where no row is dead.
    mask: Vec<R>,
    /// Of the update: for each row its place among the rows that the chunk changes, or `NONE`. [capacity]
    slots: Vec<u32>,
    /// Of the update: changed rows with their members.
    touched: Vec<(usize, u32)>,
    /// Of the update: sums of members' keys and values, [touched, dk + dv].
    sums: Vec<R>,
    /// Of founding: tokens in the order of their similarity.
    order: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Where the writes of one head went, over some chunks.
#[derive(Debug, Clone)]
pub(super) struct Placed<R> {
    pub(super) assignments: Vec<i32>,
    pub(super) similarity: Vec<R>,
    pub(super) is_new: Vec<i32>,
    pub(super) margin: Vec<R>,
    /// One a chunk.
    pub(super) select_margin: Vec<R>,
}

impl<R: Row> Placed<R> {
    pub(super) fn new(writes: usize, chunks: usize) -> Self {
        Self {
            assignments: vec![0; writes],
            similarity: vec![R::zero(); writes],
            is_new: vec![0; writes],
            margin: vec![R::infinity(); writes],
            select_margin: vec![R::infinity(); chunks],
        }
    }
}

impl<R: Row> HeadState<R> {
    /// An empty dictionary with room for `capacity` rows.
    pub(super) fn new(dk: usize, dv: usize, capacity: usize) -> Self {
        Self {
            dk,
            dv,
            dict_k: Vec::with_capacity(capacity * dk),
            dict_v: Vec::with_capacity(capacity * dv),
            counts: Vec::with_capacity(capacity),
            log_counts: Vec::with_capacity(capacity),
            dead: Vec::new(),
            mask: Vec::new(),
            slots: vec![NONE; capacity],
            touched: Vec::new(),
            sums: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Rows in use.
    pub(super) fn rows(&self) -> usize {
        self.counts.len()
    }

    /// The rows in use, as reads see them.
    pub(super) fn dictionary(&self, count_bias: bool) -> Dictionary<'_, R> {
        let mask = (!self.dead.is_empty()).then_some(&self.mask[..]);
        let log_counts = if count_bias { Some(&self.log_counts[..]) } else { mask };
        Dictionary { keys: &self.dict_k, values: &self.dict_v, log_counts, rows: self.rows() }
    }

    /// Stages 2 and 3 for the chunk `step`, once the nearest centroids stand in `placed` at `local`. Returns the founding
    /// margin.
    pub(super) fn learn(
        &mut self,
        stream: &Stream,
        config: &Config,
        head: usize,
        step: usize,
        placed: &mut Placed<R>,
        local: Range<usize>,
    ) -> R {
        let new = config.sizes[step + 1] - config.sizes[step];
        let assignments = &mut placed.assignments[local.clone()];
        let start = stream.chunk_range(config.chunk, step).start;
        let rows = rows_of(stream.keys(), head, start..start + assignments.len());
        let keys = Keys { rows, dk: self.dk, head, start };
        let margin = self.found(config.founding, new, assignments, &placed.similarity[local.clone()], keys, &mut placed.is_new[local]);
        self.update(stream, config, head, start, assignments);
        margin
    }

    /// Stage 2: gives the `new` tokens that `rule` chooses rows of their own (to be filled by the update), and returns the
    /// margin of that choice.
    fn found(&mut self, rule: Founding, new: usize, assignments: &mut [i32], similarity: &[R], keys: Keys<'_>, is_new: &mut [i32]) -> R {
        let n = self.rows();
        // The very first token founds row 0 whatever its similarity, which is to itself.
        let given = usize::from(n == 0);
        let cut = new - given;
        let margin = founding::choose(rule, given, cut, similarity, keys, &mut self.order);
        if given == 1 {
            is_new[0] = 1;
        }
        for (rank, &i) in self.order[..cut].iter().enumerate() {
            assignments[i as usize] = (n + given + rank) as i32;
            is_new[i as usize] = 1;
        }
        self.grow(n + new);
        margin
    }

    /// Makes room for `rows` rows in use, to be filled by the update.
    fn grow(&mut self, rows: usize) {
        self.dict_k.resize(rows * self.dk, R::zero());
        self.dict_v.resize(rows * self.dv, R::zero());
        self.counts.resize(rows, 0);
        self.log_counts.resize(rows, R::zero());
        if !self.dead.is_empty() {
            self.mask.resize(rows, R::zero());
        }
    }

    /// Finds the dead rows anew: those in use whose count is 0.
    fn bury(&mut self) {
        self.dead = (0..self.rows() as u32).filter(|&row| self.counts[row as usize] == 0).collect();
        self.mask.clear();
        if !self.dead.is_empty() {
            self.mask.resize(self.rows(), R::zero());
        }
        for &row in &self.dead {
            let row = row as usize;
            (self.log_counts[row], self.mask[row]) = (R::min_value(), R::min_value());
            self.dict_k[row * self.dk..(row + 1) * self.dk].fill(R::zero());
            self.dict_v[row * self.dv..(row + 1) * self.dv].fill(R::zero());
        }
    }

    /// What hands do after `chunks` chunks.
    pub(super) fn lay_hands(&mut self, stream: &Stream, config: &Config, head: usize, chunks: usize) {
        for hand in hand::at_step(&config.hands, chunks).iter().filter(|h| h.kv_head == head) {
            match hand.what {
                Act::Delete { row } => {
                    self.counts[row] = 0;
                    self.bury();
                }
                Act::Move { row, to } if self.counts[row] > 0 => {
                    let key = rows_of(stream.keys(), head, to..to + 1);
                    let own = &mut self.dict_k[row * self.dk..(row + 1) * self.dk];
                    own.iter_mut().zip(key).for_each(|(d, &k)| *d = R::from_f32(k));
                }
                _ => {}
            }
        }
    }

    /// Stage 3 of the chunk that begins with the write `start`, where it is known which of the `rows` rows then in use took each of its writes.
    pub(super) fn follow(&mut self, stream: &Stream, config: &Config, head: usize, start: usize, assignments: &[i32], rows: usize) {
        self.grow(rows);
        self.update(stream, config, head, start, assignments);
    }

    /// Stage 3: every row moves towards the mean of the tokens assigned to it, summed in the tokens' order.
    fn update(&mut self, stream: &Stream, config: &Config, head: usize, start: usize, assignments: &[i32]) {
        let (dk, dv) = (self.dk, self.dv);
        let width = dk + dv;
        self.touched.clear();
        self.sums.clear();
        let chunk = start..start + assignments.len();
        let keys = rows_of(stream.keys(), head, chunk.clone()).chunks(dk);
        let values = rows_of(stream.values(), head, chunk).chunks(dv);
        for (&row, (key, value)) in assignments.iter().zip(keys.zip(values)) {
            let row = row as usize;
            if self.slots[row] == NONE {
                self.slots[row] = self.touched.len() as u32;
                self.touched.push((row, 0));
                self.sums.resize(self.touched.len() * width, R::zero());
            }
            let slot = self.slots[row] as usize;
            self.touched[slot].1 += 1;
            let sum = &mut self.sums[slot * width..(slot + 1) * width];
            for (s, &x) in sum.iter_mut().zip(key.iter().chain(value)) {
                *s = *s + R::from_f32(x);
            }
        }
        for (slot, &(row, members)) in self.touched.iter().enumerate() {
            self.slots[row] = NONE;
            self.counts[row] = config.counting.add(self.counts[row], members);
            let count = self.counts[row];
            // Exact in either precision: counts stay below 2^24.
            let (m, c) = (R::from_f64(f64::from(members)), R::from_f64(f64::from(count)));
            let rate = match config.constant_rate {
                Some(rate) if count != members => R::from_f64(rate),
                _ => m / c,
            };
            let (key, value) = self.sums[slot * width..(slot + 1) * width].split_at(dk);
            let dict_k = &mut self.dict_k[row * dk..(row + 1) * dk];
            let dict_v = &mut self.dict_v[row * dv..(row + 1) * dv];
            for (d, &sum) in dict_k.iter_mut().zip(key).chain(dict_v.iter_mut().zip(value)) {
                *d = *d + rate * (sum / m - *d);
            }
            if config.normalise_centroids {
                let norm = dict_k.iter().map(|&x| x * x).sum::<R>().sqrt().max(R::from_f64(1e-12));
                for x in dict_k {
                    *x = *x / norm;
                }
            }
            self.log_counts[row] = log_count(count);
        }
    }
}

/// Rows of one head of a stream's array [heads, rows, numbers].
pub(in crate::layer) fn rows_of(array: &Array3<f32>, head: usize, rows: Range<usize>) -> &[f32] {
    let (_, all, dim) = array.dim();
    let numbers = array.as_slice().expect("a stream's arrays are in standard layout, see Stream::new");
    &numbers[(head * all + rows.start) * dim..(head * all + rows.end) * dim]
}

/// `dict_k` [heads, n, dk], `dict_v` [heads, n, dv] and `counts` [heads, n] after `position` chunks; only rows in use.
pub(super) fn snapshot<R: Row>(heads: &[HeadState<R>], position: usize) -> Snapshot {
    let Some(first) = heads.first() else { return Snapshot { position, arrays: Vec::new() } };
    let (h, n) = (heads.len(), first.rows());
    let reals = |of: fn(&HeadState<R>) -> &[R]| R::values(heads.iter().flat_map(|s| of(s).iter().copied()).collect());
    let counts = heads.iter().flat_map(|s| s.counts.iter().map(|&c| c as i32)).collect();
    Snapshot {
        position,
        arrays: vec![
            StateArray { name: "dict_k", shape: vec![h, n, first.dk], values: reals(|s| &s.dict_k) },
            StateArray { name: "dict_v", shape: vec![h, n, first.dv], values: reals(|s| &s.dict_v) },
            StateArray { name: "counts", shape: vec![h, n], values: Values::I32(counts) },
        ],
    }
}

/// log count, rounded once; 0 for a row that holds nothing.
pub(in crate::layer) fn log_count<R: Real>(count: u32) -> R {
    R::from_f64(f64::from(count.max(1)).ln())
}

/// The numbers of a [`snapshot`].
pub(super) struct Arrays<'a, R> {
    pub(super) dict_k: &'a [R],
    pub(super) dict_v: &'a [R],
    pub(super) counts: &'a [i32],
}

/// Takes a snapshot apart, if it has these sizes and this precision, and no row in use without a count unless some may be dead.
pub(super) fn arrays<'a, R: Real>(
    snapshot: &'a Snapshot,
    [heads, rows, dk, dv]: [usize; 4],
    config: &Config,
) -> Result<Arrays<'a, R>, LayerError> {
    let find = |name: &'static str, shape: &[usize]| {
        snapshot
            .array(name)
            .filter(|a| a.shape == shape && a.values.len() == shape.iter().product::<usize>())
            .ok_or_else(|| LayerError::Restore(format!("it has no `{name}` of shape {shape:?}")))
    };
    let precision = |name: &str| LayerError::Restore(format!("`{name}` has another precision"));
    let dict_k = R::of_values(&find("dict_k", &[heads, rows, dk])?.values).ok_or_else(|| precision("dict_k"))?;
    let dict_v = R::of_values(&find("dict_v", &[heads, rows, dv])?.values).ok_or_else(|| precision("dict_v"))?;
    let counts = find("counts", &[heads, rows])?.values.as_i32().ok_or_else(|| precision("counts"))?;
    match counts.iter().find(|&&c| c < i32::from(!config.may_have_dead_rows())) {
        None => Ok(Arrays { dict_k, dict_v, counts }),
        Some(c) => Err(LayerError::Restore(format!("a row in use has the count {c}"))),
    }
}

/// Puts a [`snapshot`] back, in which every head has `rows` rows.
pub(super) fn restore<R: Row>(heads: &mut [HeadState<R>], snapshot: &Snapshot, rows: usize, config: &Config) -> Result<(), LayerError> {
    let Some((dk, dv)) = heads.first().map(|s| (s.dk, s.dv)) else { return Ok(()) };
    let all = arrays::<R>(snapshot, [heads.len(), rows, dk, dv], config)?;
    for (i, state) in heads.iter_mut().enumerate() {
        state.dict_k.clear();
        state.dict_k.extend_from_slice(&all.dict_k[i * rows * dk..(i + 1) * rows * dk]);
        state.dict_v.clear();
        state.dict_v.extend_from_slice(&all.dict_v[i * rows * dv..(i + 1) * rows * dv]);
        state.counts = all.counts[i * rows..(i + 1) * rows].iter().map(|&c| c as u32).collect();
        state.log_counts = state.counts.iter().map(|&c| log_count(c)).collect();
        state.bury();
    }
    Ok(())
}
