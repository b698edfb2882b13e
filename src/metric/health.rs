//! The health of a codebook: how evenly its rows are used, which are not, how near two of them lie, and how far members are from
//! the row that stands for them (LAYERS.md, "Worth plotting").
//!
//! What the counts tell is kept up write by write ([`Usage`]), so that every step of a long run costs no more than its writes.
//! What needs the centroids themselves is computed for one moment at a time ([`nearest_pairs`], [`quantisation`]).

use ndarray::{Array2, ArrayView2, s};

use crate::layer::ovq::Counting;

/// exp(H) of the shares of `counts`, H = -sum p ln p: how many equally full rows are as even. 0 where nothing is counted.
#[must_use]
pub fn perplexity(counts: &[u32]) -> f64 {
    let total: f64 = counts.iter().map(|&c| f64::from(c)).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let entropy: f64 = counts.iter().filter(|&&c| c > 0).map(|&c| f64::from(c) / total).map(|p| -p * p.ln()).sum();
    entropy.exp()
}

/// The Gini coefficient of `counts`, `sum_i sum_j |c_i - c_j| / (2 n sum c)`: 0 where all are equal, near 1 where one row of many holds
/// all. 0 where nothing is counted.
#[must_use]
pub fn gini(counts: &[u32]) -> f64 {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let (n, total) = (sorted.len() as f64, sorted.iter().map(|&c| f64::from(c)).sum::<f64>());
    if total <= 0.0 {
        return 0.0;
    }
    // The i-th smallest of n is the larger one of i pairs and the smaller one of n - 1 - i.
    let pairs: f64 = sorted.iter().enumerate().map(|(i, &c)| (2.0 * i as f64 - (n - 1.0)) * f64::from(c)).sum();
    pairs / (n * total)
}

/// What the counts tell after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Rows in use, n: those that hold a write.
    pub rows: u32,
    /// [`perplexity`] of the counts: from 1 to n.
    pub perplexity: f64,
    /// [`gini`] of the counts of the rows in use: from 0 to 1 - 1/n.
    pub gini: f64,
    /// Rows in use that took no write in the last w steps, this one included.
    pub unused: u32,
}

impl Step {
    /// Perplexity over n: 1 where all rows in use are equally full.
    #[must_use]
    pub fn evenness(&self) -> f64 {
        self.perplexity / f64::from(self.rows.max(1))
    }
}

/// The use of a dictionary's rows, kept up write by write. A write costs the same however many rows there are.
///
/// The counts are the layer's own: where it keeps them in half floats ([`Usage::counted`]) they are rounded after each step, as it does.
#[derive(Debug, Clone)]
pub struct Usage {
    window: usize,
    step: usize,
    counting: Counting,
    /// The rows that took a write in the step under way, each as often as it did; only where counts are rounded.
    touched: Vec<usize>,
    /// Sum of the counts.
    total: u64,
    counts: Vec<u32>,
    /// How many rows hold at least c writes, at place c.
    at_least: Vec<u32>,
    /// sum c ln c.
    sum: f64,
    /// Sum of `|c_i - c_j|` over all pairs of rows in use.
    differences: u64,
    /// The step in which each row took a write last.
    last: Vec<u32>,
    /// How many rows took a write last in each step.
    lasts: Vec<u32>,
    /// Rows that took a write in the last `window` steps.
    recent: u32,
}

impl Usage {
    /// No row is in use. A row counts as unused after `window` steps without a write (at least 1).
    #[must_use]
    pub fn new(window: usize) -> Self {
        Self {
            window: window.max(1),
            step: 0,
            counting: Counting::Exact,
            touched: Vec::new(),
            total: 0,
            counts: Vec::new(),
            at_least: vec![0; 2],
            sum: 0.0,
            differences: 0,
            last: Vec::new(),
            lasts: vec![0],
            recent: 0,
        }
    }

    /// The same for a layer that counts like this. Set before the first write.
    #[must_use]
    pub fn counted(self, counting: Counting) -> Self {
        Self { counting, ..self }
    }

    /// A write of the step that is under way went to `row`.
    pub fn push(&mut self, row: usize) {
        if row >= self.counts.len() {
            self.counts.resize(row + 1, 0);
            self.last.resize(row + 1, 0);
        }
        let is_new = self.counts[row] == 0;
        self.raise(row);
        if self.counting != Counting::Exact {
            self.touched.push(row);
        }
        let before = self.last[row] as usize;
        if !is_new && before == self.step {
            return;
        }
        if !is_new {
            self.lasts[before] -= 1;
            self.recent -= u32::from(before + self.window > self.step);
        }
        self.last[row] = self.step as u32;
        self.lasts[self.step] += 1;
        self.recent += 1;
    }

    /// The count of `row` is one more.
    fn raise(&mut self, row: usize) {
        let count = self.counts[row];
        let c = count as usize;
        if c + 2 > self.at_least.len() {
            self.at_least.push(0);
        }
        let fuller = u64::from(self.at_least[c + 1]);
        // A row that is new differs from every other one by all that it holds.
        let rows = u64::from(self.at_least[1]) + u64::from(c == 0);
        self.differences += if c == 0 { self.total } else { 0 };
        // One more here: nearer by one to the fuller rows, farther by one from the others.
        self.differences = self.differences + (rows - 1 - fuller) - fuller;
        self.sum += c_ln_c(count + 1) - c_ln_c(count);
        self.at_least[c + 1] += 1;
        self.counts[row] += 1;
        self.total += 1;
    }

    /// The count of `row`, which is 2 or more, is one less: what [`Usage::raise`] does, undone.
    fn lower(&mut self, row: usize) {
        let count = self.counts[row];
        self.at_least[count as usize] -= 1;
        let fuller = u64::from(self.at_least[count as usize]);
        let rows = u64::from(self.at_least[1]);
        self.differences = self.differences + fuller - (rows - 1 - fuller);
        self.sum -= c_ln_c(count) - c_ln_c(count - 1);
        self.counts[row] -= 1;
        self.total -= 1;
    }

    /// Rounds the counts of the rows that took a write in this step, as the layer does once a chunk is over: what a chunk adds to a row
    /// is added in one go, so that the count rounded is that before it and all of its members together.
    fn round(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for &row in &touched {
            let rounded = self.counting.add(0, self.counts[row]);
            while self.counts[row] < rounded {
                self.raise(row);
            }
            while self.counts[row] > rounded {
                self.lower(row);
            }
        }
        touched.clear();
        self.touched = touched;
    }

    /// `row` is taken out of the memory with all that it holds; what it held counts for nothing any more.
    pub fn remove(&mut self, row: usize) {
        let Some(count) = self.counts.get(row).copied().filter(|&c| c > 0) else { return };
        self.counts[row] = 0;
        let others = self.counts.iter().filter(|&&c| c > 0);
        self.differences -= others.map(|&c| u64::from(c.abs_diff(count))).sum::<u64>();
        self.at_least[1..=count as usize].iter_mut().for_each(|n| *n -= 1);
        self.sum -= c_ln_c(count);
        self.total -= u64::from(count);
        let last = self.last[row] as usize;
        self.lasts[last] -= 1;
        self.recent -= u32::from(last + self.window > self.step);
    }

    /// The step is over: what the counts tell after it.
    pub fn end_step(&mut self) -> Step {
        self.round();
        let now = self.now();
        self.step += 1;
        self.lasts.push(0);
        if let Some(out) = self.step.checked_sub(self.window) {
            self.recent -= self.lasts[out];
        }
        now
    }

    fn now(&self) -> Step {
        let rows = self.at_least[1];
        Step { rows, perplexity: self.perplexity(), gini: self.gini(), unused: rows - self.recent }
    }

    fn perplexity(&self) -> f64 {
        match (self.total, self.at_least[1]) {
            (0, _) => 0.0,
            // Exactly: sums of logarithms are not.
            (_, 1) => 1.0,
            (t, n) => ((t as f64).ln() - self.sum / t as f64).exp().clamp(1.0, f64::from(n)),
        }
    }

    fn gini(&self) -> f64 {
        let n = u64::from(self.at_least[1]);
        if self.total == 0 { 0.0 } else { self.differences as f64 / (n as f64 * self.total as f64) }
    }
}

fn c_ln_c(count: u32) -> f64 {
    if count < 2 { 0.0 } else { f64::from(count) * f64::from(count).ln() }
}

/// Two rows of a dictionary, the lower first, and how similar they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The rows.
    pub rows: (usize, usize),
    /// Their similarity; NaN where a row holds what is no number.
    pub similarity: f64,
}

/// The two most similar rows, by either measure. Equally similar ones: the first, where float32 tells them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// By dot product, the layer's own measure: centroids are means and so shorter than 1.
    pub dot: Pair,
    /// By the cosine of the angle between them; 0 for a row of length 0.
    pub cosine: Pair,
}

/// Rows that are held against all others in one product of matrices.
const BLOCK: usize = 128;

/// The most similar two of the rows of `keys` [n, dk] that hold a write (`counts` `[n]`). `None` for fewer than two.
///
/// The pairs are found in float32; the similarity returned is that of the pair found, in float64.
#[must_use]
pub fn nearest_pairs(keys: ArrayView2<'_, f32>, counts: &[u32]) -> Option<Nearest> {
    let used: Vec<usize> = (0..keys.nrows()).filter(|&r| counts.get(r).is_some_and(|&c| c > 0)).collect();
    if used.len() < 2 {
        return None;
    }
    let own: Array2<f32> = keys.select(ndarray::Axis(0), &used);
    let inverse: Vec<f32> = own.rows().into_iter().map(|r| r.dot(&r).sqrt()).map(|l| if l == 0.0 { 0.0 } else { 1.0 / l }).collect();
    let (mut dot, mut cosine) = (Best::default(), Best::default());
    for start in (0..used.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(used.len());
        let gram = own.slice(s![start..end, ..]).dot(&own.slice(s![start.., ..]).t());
        for (i, row) in gram.rows().into_iter().enumerate() {
            for (j, &d) in row.iter().enumerate().skip(i + 1) {
                dot.see(d, start + i, start + j);
                cosine.see(d * inverse[start + i] * inverse[start + j], start + i, start + j);
            }
        }
    }
    let exact = |best: Best, by_length: bool| {
        let (a, b) = (own.row(best.rows.0), own.row(best.rows.1));
        let product = |x: ndarray::ArrayView1<'_, f32>, y: ndarray::ArrayView1<'_, f32>| {
            x.iter().zip(y).map(|(&p, &q)| f64::from(p) * f64::from(q)).sum::<f64>()
        };
        let lengths = if by_length { (product(a, a) * product(b, b)).sqrt() } else { 1.0 };
        let similarity = if lengths == 0.0 { 0.0 } else { product(a, b) / lengths };
        Pair { rows: (used[best.rows.0], used[best.rows.1]), similarity }
    };
    Some(Nearest { dot: exact(dot, false), cosine: exact(cosine, true) })
}

/// The largest number so far and where it was; the first NaN is kept for ever.
struct Best {
    value: f32,
    rows: (usize, usize),
}

impl Default for Best {
    fn default() -> Self {
        Self { value: f32::NEG_INFINITY, rows: (0, 1) }
    }
}

impl Best {
    fn see(&mut self, value: f32, i: usize, j: usize) {
        if value > self.value || (value.is_nan() && !self.value.is_nan()) {
            (self.value, self.rows) = (value, (i, j));
        }
    }
}

/// How far keys are from the rows that stand for them: 1 - k.Dk over all members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantisation {
    /// The mean over the members.
    pub mean: f64,
    /// The largest; NaN if any is no number.
    pub worst: f64,
    /// The write whose error is the largest, the first of equal ones.
    pub at: usize,
}

/// The quantisation error of the first `assignments.len()` rows of `keys` [T, dk] (unit vectors), each against the row of `dictionary`
/// [n, dk] that it was assigned to, as that row is now. Rows that hold nothing (`counts` `[n]`) have no members any more. `None` without
/// a member.
#[must_use]
pub fn quantisation(
    keys: ArrayView2<'_, f32>,
    assignments: &[i32],
    dictionary: ArrayView2<'_, f32>,
    counts: &[u32],
) -> Option<Quantisation> {
    let (mut sum, mut members) = (0.0, 0_usize);
    let mut worst = (f64::NEG_INFINITY, 0);
    for (write, (key, &row)) in keys.rows().into_iter().zip(assignments).enumerate() {
        let Some(row) = usize::try_from(row).ok().filter(|&r| r < dictionary.nrows() && counts.get(r).is_some_and(|&c| c > 0)) else {
            continue;
        };
        let dot: f64 = key.iter().zip(dictionary.row(row)).map(|(&k, &d)| f64::from(k) * f64::from(d)).sum();
        let error = 1.0 - dot;
        sum += error;
        members += 1;
        if error > worst.0 || (error.is_nan() && !worst.0.is_nan()) {
            worst = (error, write);
        }
    }
    (members > 0).then(|| Quantisation { mean: sum / members as f64, worst: worst.0, at: worst.1 })
}

/// Which of `chunks` moments (1 is after the first chunk) are looked at where only `most` can be: evenly apart, the last always.
#[must_use]
pub fn sampled(chunks: usize, most: usize) -> Vec<usize> {
    let n = chunks.min(most.max(1));
    (1..=n).map(|i| (i * chunks).div_ceil(n)).collect()
}

#[cfg(test)]
mod tests;
