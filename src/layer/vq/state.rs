//! One head's codes on the CPU: means and counts by code, and the codes in use as a dictionary that reads attend to.

use std::sync::Arc;

use crate::layer::ovq::attend::Dictionary;
use crate::layer::ovq::rows::Row;
use crate::layer::ovq::state::log_count;
use crate::layer::{LayerError, Snapshot, StateArray};
use crate::trace::Values;

const NONE: u32 = u32::MAX;

/// The state of one key/value head.
#[derive(Debug, Clone)]
pub(super) struct HeadState<R> {
    dk: usize,
    dv: usize,
    /// The codebook, [N, dk].
    pub(super) codebook: Arc<Vec<R>>,
    /// Writes of each code `[N]`.
    pub(super) counts: Vec<u32>,
    /// The mean of their values, [N, dv]; zero for a code that is not in use.
    pub(super) means: Vec<R>,
    /// The codes in use, ascending, as rows of their own: keys [n, dk], values [n, dv], log counts `[n]`.
    keys: Vec<R>,
    values: Vec<R>,
    log_counts: Vec<R>,
    /// Of each code, its row among those in use, or `NONE` `[N]`.
    slots: Vec<u32>,
    /// Of the update: codes with members in the chunk, and how many; sums of their values; of each code, its place there.
    touched: Vec<(usize, u32)>,
    sums: Vec<R>,
    places: Vec<u32>,
}

impl<R: Row> HeadState<R> {
    /// No code in use.
    pub(super) fn new(codebook: &Arc<Vec<R>>, dk: usize, dv: usize) -> Self {
        let codes = codebook.len() / dk;
        Self {
            dk,
            dv,
            codebook: Arc::clone(codebook),
            counts: vec![0; codes],
            means: vec![R::zero(); codes * dv],
            keys: Vec::new(),
            values: Vec::new(),
            log_counts: Vec::new(),
            slots: vec![NONE; codes],
            touched: Vec::new(),
            sums: Vec::new(),
            places: vec![NONE; codes],
        }
    }

    /// Codes in use.
    pub(super) fn in_use(&self) -> usize {
        self.log_counts.len()
    }

    /// The codes in use, as reads see them.
    pub(super) fn dictionary(&self) -> Dictionary<'_, R> {
        Dictionary { keys: &self.keys, values: &self.values, log_counts: Some(&self.log_counts), rows: self.in_use() }
    }

    /// Adds a chunk's writes to their codes: `values` [writes, dv], `codes` `[writes]`, summed in the order of the stream.
    pub(super) fn update(&mut self, values: &[f32], codes: &[i32]) {
        let dv = self.dv;
        self.touched.clear();
        self.sums.clear();
        for (&code, value) in codes.iter().zip(values.chunks(dv)) {
            let code = code as usize;
            if self.places[code] == NONE {
                self.places[code] = self.touched.len() as u32;
                self.touched.push((code, 0));
                self.sums.resize(self.touched.len() * dv, R::zero());
            }
            let place = self.places[code] as usize;
            self.touched[place].1 += 1;
            for (s, &x) in self.sums[place * dv..(place + 1) * dv].iter_mut().zip(value) {
                *s = *s + R::from_f32(x);
            }
        }
        let mut founded = false;
        for (place, &(code, members)) in self.touched.iter().enumerate() {
            self.places[code] = NONE;
            founded |= self.counts[code] == 0;
            self.counts[code] += members;
            // Exact in either precision: counts stay below 2^24.
            let (m, c) = (R::from_f64(f64::from(members)), R::from_f64(f64::from(self.counts[code])));
            let mean = &mut self.means[code * dv..(code + 1) * dv];
            for (x, &sum) in mean.iter_mut().zip(&self.sums[place * dv..(place + 1) * dv]) {
                *x = *x + m / c * (sum / m - *x);
            }
            if self.slots[code] != NONE {
                let slot = self.slots[code] as usize;
                self.values[slot * dv..(slot + 1) * dv].copy_from_slice(mean);
                self.log_counts[slot] = log_count(self.counts[code]);
            }
        }
        if founded {
            self.gather();
        }
    }

    /// Lays the codes in use out anew, by code: the order of a sum must not depend on how the state came about.
    fn gather(&mut self) {
        let (dk, dv) = (self.dk, self.dv);
        self.keys.clear();
        self.values.clear();
        self.log_counts.clear();
        self.slots.fill(NONE);
        for code in (0..self.counts.len()).filter(|&c| self.counts[c] > 0) {
            self.slots[code] = self.log_counts.len() as u32;
            self.keys.extend_from_slice(&self.codebook[code * dk..(code + 1) * dk]);
            self.values.extend_from_slice(&self.means[code * dv..(code + 1) * dv]);
            self.log_counts.push(log_count(self.counts[code]));
        }
    }
}

/// `values` [heads, N, dv], the means by code, and `counts` [heads, N], after `position` chunks.
pub(super) fn snapshot<R: Row>(heads: &[HeadState<R>], position: usize) -> Snapshot {
    let Some(first) = heads.first() else { return Snapshot { position, arrays: Vec::new() } };
    let (h, n) = (heads.len(), first.counts.len());
    let counts = heads.iter().flat_map(|s| s.counts.iter().map(|&c| c as i32)).collect();
    let means = heads.iter().flat_map(|s| s.means.iter().copied()).collect();
    Snapshot {
        position,
        arrays: vec![
            StateArray { name: "values", shape: vec![h, n, first.dv], values: R::values(means) },
            StateArray { name: "counts", shape: vec![h, n], values: Values::I32(counts) },
        ],
    }
}

/// The counts of a snapshot [heads, N], none of them negative.
pub(super) fn counts_of(snapshot: &Snapshot, shape: [usize; 2]) -> Result<&[i32], LayerError> {
    let found = snapshot.array("counts").filter(|a| a.shape == shape).and_then(|a| a.values.as_i32());
    found
        .filter(|counts| counts.len() == shape[0] * shape[1] && counts.iter().all(|&c| c >= 0))
        .ok_or_else(|| LayerError::Restore(format!("it has no `counts` of shape {shape:?}")))
}

/// Puts a [`snapshot`] back.
pub(super) fn restore<R: Row>(heads: &mut [HeadState<R>], snapshot: &Snapshot) -> Result<(), LayerError> {
    let Some((n, dv)) = heads.first().map(|s| (s.counts.len(), s.dv)) else { return Ok(()) };
    let means = snapshot.numbers::<R>("values", &[heads.len(), n, dv])?;
    let counts = counts_of(snapshot, [heads.len(), n])?;
    if means.len() != heads.len() * n * dv {
        return Err(LayerError::Restore("`values` is cut short".to_owned()));
    }
    for (state, (means, counts)) in heads.iter_mut().zip(means.chunks(n * dv).zip(counts.chunks(n))) {
        state.means.copy_from_slice(means);
        state.counts = counts.iter().map(|c| c.unsigned_abs()).collect();
        state.gather();
    }
    Ok(())
}
