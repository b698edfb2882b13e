//! The codebook: k-means on keys from elsewhere, kept so that another lane's slider does not fit it again.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{Array3, ArrayView2, Axis};

use super::kmeans::{self, Codes};
use super::{CODEBOOK, MAX_KEYS};
use crate::layer::Setup;
use crate::layer::fit::{FitError, Fitted, Origin, Sample, Samples};
use crate::param::Resolved;

/// Codebooks kept, of all heads and lanes together.
const KEPT: usize = 64;
/// Bytes of codebooks kept.
const KEPT_BYTES: usize = 128 << 20;

/// What a fit depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cause {
    /// Of the keys' bits.
    keys: u64,
    count: usize,
    dk: usize,
    codes: usize,
    iterations: usize,
    seed: u64,
}

static CACHE: Mutex<VecDeque<(Cause, Arc<Codes>)>> = Mutex::new(VecDeque::new());

/// Fits the codebook of every key/value head.
pub(super) fn fit(setup: &Setup, samples: &dyn Samples, cancel: &AtomicBool) -> Result<Fitted, FitError> {
    if setup.arrays.contains_key(CODEBOOK) {
        return Ok(Fitted::default());
    }
    let p = &setup.params;
    let origin = match p.choice("fit") {
        "draw" => Origin::Draw,
        "head" => Origin::Head,
        "part" => Origin::Part,
        _ => samples.best(),
    };
    let codes = p.size("codes");
    let sample = match samples.sample(origin, codes) {
        Err(FitError::Nothing(reason)) => return Err(p.conflict("fit", reason).into()),
        other => other?,
    };
    let (heads, n, dk) = sample.keys.dim();
    if n < codes {
        return Err(p.conflict("codes", format!("there are only {n} keys to fit them on, of {}", sample.from)).into());
    }
    if dk != setup.stream.key_dim() {
        let own = setup.stream.key_dim();
        return Err(p.conflict("fit", format!("the keys to fit on have {dk} numbers, those of the stream {own}")).into());
    }
    let books = sample.keys.axis_iter(Axis(0)).map(|keys| book(keys, p, cancel)).collect::<Result<Vec<_>, _>>()?;
    let numbers = books.iter().flat_map(|b| b.rows.iter().copied()).collect();
    let book = Array3::from_shape_vec((heads, codes, dk), numbers).map_err(|e| FitError::Source(e.to_string()))?;
    let mut fitted = Fitted { notes: vec![note(&sample, codes, &books)], ..Fitted::default() };
    fitted.arrays.insert(CODEBOOK.to_owned(), book.into_dyn());
    Ok(fitted)
}

/// The codebook of one head, from the cache where it is there.
fn book(keys: ArrayView2<'_, f32>, p: &Resolved, cancel: &AtomicBool) -> Result<Arc<Codes>, FitError> {
    let keys = unit_rows(keys);
    let mut hasher = DefaultHasher::new();
    bytemuck::cast_slice::<f32, u8>(keys.as_slice().unwrap_or_default()).hash(&mut hasher);
    let cause = Cause {
        keys: hasher.finish(),
        count: keys.nrows(),
        dk: keys.ncols(),
        codes: p.size("codes"),
        iterations: p.size("iterations"),
        seed: p.int("seed").cast_unsigned(),
    };
    if let Some((_, codes)) = cache().iter().find(|(c, _)| *c == cause) {
        return Ok(Arc::clone(codes));
    }
    let numbers = keys.as_slice().unwrap_or_default();
    let codes = kmeans::fit(numbers, cause.dk, cause.codes, cause.iterations, cause.seed, cancel).ok_or(FitError::Cancelled)?;
    let codes = Arc::new(codes);
    let mut cache = cache();
    cache.push_front((cause, Arc::clone(&codes)));
    let bytes = |c: &VecDeque<(Cause, Arc<Codes>)>| c.iter().map(|(_, b)| b.rows.len() * 4).sum::<usize>();
    while cache.len() > 1 && (cache.len() > KEPT || bytes(&cache) > KEPT_BYTES) {
        cache.pop_back();
    }
    Ok(codes)
}

/// What is in the cache is whole at any time.
fn cache() -> std::sync::MutexGuard<'static, VecDeque<(Cause, Arc<Codes>)>> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// At most [`MAX_KEYS`] of the rows, evenly spread, at length 1: as the lane sees its own keys.
fn unit_rows(keys: ArrayView2<'_, f32>) -> ndarray::Array2<f32> {
    let n = keys.nrows();
    let taken = n.min(MAX_KEYS);
    let picked: Vec<usize> = (0..taken).map(|i| i * n / taken).collect();
    let mut keys = keys.select(Axis(0), &picked);
    for mut row in keys.rows_mut() {
        let norm = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt().max(1e-12);
        row.mapv_inplace(|x| (f64::from(x) / norm) as f32);
    }
    keys
}

/// `codebook of 512 codes fitted to 2048 keys of ..: 10 iterations of k-means, after which ..`.
fn note(sample: &Sample, codes: usize, books: &[Arc<Codes>]) -> String {
    let range = |mut of: Vec<f64>, digits: usize| {
        of.sort_by(f64::total_cmp);
        let text = |x: Option<&f64>| x.map_or_else(String::new, |x| format!("{x:.digits$}"));
        let (low, high) = (text(of.first()), text(of.last()));
        if low == high { low } else { format!("{low} to {high}") }
    };
    let n = sample.keys.dim().1;
    let sampled = if n > MAX_KEYS { format!("{MAX_KEYS} keys, evenly taken from the {n}") } else { format!("{n} keys") };
    let each = if books.len() > 1 { " a head" } else { "" };
    let iterations = range(books.iter().map(|b| b.iterations as f64).collect(), 0);
    let similarity = range(books.iter().map(|b| b.similarity).collect(), 3);
    format!(
        "codebook of {codes} codes{each} fitted to {sampled}{each} of {}: {iterations} iterations of k-means, after which the mean similarity of those keys (not of this stream's) to their codes is {similarity}",
        sample.from
    )
}
