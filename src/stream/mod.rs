//! A stream: the writes that a memory is given, the reads that ask it, and what is known about both.
//!
//! A stream has T **writes** (a key of dk numbers and a value of dv numbers for each key/value head) and R **reads** (a
//! query for each query head, and `after`: how many writes it may see). An ordinary causal sequence has R = T and
//! `after = i + 1`; a recall task has few reads. With grouped queries (GQA), query head h reads key/value head
//! `h / (Hq / Hkv)`. See LAYERS.md, "A stream".

pub mod capture;
mod extras;
mod repeat;

use std::ops::Range;

use ndarray::{Array, Array2, Array3, ArrayView2, Axis, Dimension, s};
use thiserror::Error;

use extras::Extras;
pub use extras::{Chain, Gates};

/// Why a stream cannot be made of the arrays given.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum StreamError {
    /// Two arrays do not fit together.
    #[error("{field} is {found}, but {expected} is expected")]
    Shape { field: &'static str, found: String, expected: String },
    /// A read may see too few, too many, or fewer writes than the read before it.
    #[error("after[{read}] is {value}, but must be from {min} to {max} (reads are in the order of what they may see)")]
    After { read: usize, value: u32, min: u32, max: usize },
    /// A logit scale that no softmax can use.
    #[error("the logit scale is {0}, but must be a finite number")]
    Beta(f32),
    /// A number that is not finite.
    #[error("{field} holds {value} at [head {head}, row {row}, column {column}], but every number must be finite")]
    NotFinite { field: &'static str, head: usize, row: usize, column: usize, value: f32 },
}

/// What a read should return.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Targets {
    /// Nothing is known.
    #[default]
    None,
    /// Recall: of the codes, the one with the largest dot product with the output is the answer.
    Codes {
        /// The possible values [V, dv].
        codebook: Array2<f32>,
        /// The right code of each read `[R]`, smaller than V.
        target: Vec<u32>,
    },
    /// Regression: the vector wanted [R, dv]; error is the mean square over the targets' mean square.
    Values(Array2<f32>),
    /// A capture: what full attention returns on the same stream with the stream's own logit scale.
    FullAttention,
}

/// Names of what tokens are for: `needle`, `hay`, `pair`, `filler`, ..
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// The names, in the order in which legends show them. Never empty in a stream.
    pub names: Vec<String>,
    /// The role of each write `[T]`.
    pub of_write: Vec<u8>,
    /// The role of each read `[R]`.
    pub of_read: Vec<u8>,
    /// The role whose writes are to be marked in every panel (the needle), if there is one.
    pub marked: Option<u8>,
}

/// What is known of a stream besides its numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// One line for the title of the window: `SmolLM2-135M-Instruct, layer 12, key/value head 0`.
    pub title: String,
    /// A sentence or two on what it is and where it comes from.
    pub about: String,
    /// The text of each write `[T]`, where the source has it.
    pub tokens: Option<Vec<String>>,
    /// The text of each read `[R]`, where it differs from the write before it.
    pub read_tokens: Option<Vec<String>>,
    /// Roles of writes and reads.
    pub roles: Roles,
    /// What has been done to the numbers since they were read, for the screen (`keys and queries normalised ..`).
    pub notes: Vec<String>,
    /// The write that holds the answer of each read `[R]`, where it is one write.
    pub answer_at: Option<Vec<u32>>,
}

/// The arrays a stream is made of; see [`Stream::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct StreamParts {
    /// [Hkv, T, dk].
    pub keys: Array3<f32>,
    /// [Hkv, T, dv].
    pub values: Array3<f32>,
    /// [Hq, R, dk].
    pub queries: Array3<f32>,
    /// How many writes each read may see `[R]`: from 1 to T, never decreasing.
    pub after: Vec<u32>,
    /// The source's logit scale (`1 / sqrt(dk)` for a plain transformer head).
    pub beta: f32,
    /// What the reads should return.
    pub targets: Targets,
    /// Names, texts, roles.
    pub labels: Labels,
}

/// A checked stream. See the module's page.
#[derive(Clone, PartialEq)]
pub struct Stream {
    parts: StreamParts,
    extras: Extras,
}

/// Sizes only: messages that print a plan would otherwise print its every number.
impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("title", &self.parts.labels.title)
            .field("keys", &self.parts.keys.dim())
            .field("values", &self.parts.values.dim())
            .field("queries", &self.parts.queries.dim())
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// Checks that the arrays fit together, that every number is finite and that the reads are in order.
    ///
    /// Missing roles become one role, `token`.
    ///
    /// # Errors
    /// The first thing that does not fit, by field.
    pub fn new(mut parts: StreamParts) -> Result<Self, StreamError> {
        let (hkv, t, dk) = parts.keys.dim();
        let (hq, r, _) = parts.queries.dim();
        check(hkv > 0 && t > 0 && dk > 0, "keys", &parts.keys, "at least one head, write and dimension")?;
        let dv = parts.values.dim().2;
        check(parts.values.dim() == (hkv, t, dv) && dv > 0, "values", &parts.values, &format!("[{hkv}, {t}, dv]"))?;
        check(
            parts.queries.dim().2 == dk && hq > 0 && hq % hkv == 0,
            "queries",
            &parts.queries,
            &format!("[a multiple of {hkv} heads, R, {dk}]"),
        )?;
        length("after", parts.after.len(), r)?;
        if !parts.beta.is_finite() {
            return Err(StreamError::Beta(parts.beta));
        }
        let mut last = 1;
        for (read, &value) in parts.after.iter().enumerate() {
            if value < last || value as usize > t {
                return Err(StreamError::After { read, value, min: last, max: t });
            }
            last = value;
        }
        for (field, array) in [("keys", &parts.keys), ("values", &parts.values), ("queries", &parts.queries)] {
            if let Some(((head, row, column), &value)) = array.indexed_iter().find(|(_, v)| !v.is_finite()) {
                return Err(StreamError::NotFinite { field, head, row, column, value });
            }
        }
        check_targets(&parts.targets, r, dv)?;
        let labels = &mut parts.labels;
        if labels.roles.names.is_empty() {
            labels.roles = Roles { names: vec!["token".to_owned()], of_write: vec![0; t], of_read: vec![0; r], marked: None };
        }
        length("roles.of_write", labels.roles.of_write.len(), t)?;
        length("roles.of_read", labels.roles.of_read.len(), r)?;
        let roles = &labels.roles;
        if let Some(&role) =
            roles.of_write.iter().chain(&roles.of_read).chain(&roles.marked).find(|&&r| usize::from(r) >= roles.names.len())
        {
            let (found, expected) = (format!("a list with the role {role}"), format!("one of {} roles", roles.names.len()));
            return Err(StreamError::Shape { field: "roles", found, expected });
        }
        if let Some(tokens) = &labels.tokens {
            length("tokens", tokens.len(), t)?;
        }
        if let Some(tokens) = &labels.read_tokens {
            length("read_tokens", tokens.len(), r)?;
        }
        if let Some(at) = &labels.answer_at {
            length("answer_at", at.len(), r)?;
        }
        // Rows are read as slices everywhere; a transposed or sliced array of a loader would break that silently.
        for array in [&mut parts.keys, &mut parts.values, &mut parts.queries] {
            if !array.is_standard_layout() {
                *array = array.as_standard_layout().into_owned();
            }
        }
        Ok(Self { parts, extras: Extras::default() })
    }

    /// Writes, T.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.parts.keys.dim().1
    }

    /// Reads, R.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.parts.after.len()
    }

    /// Numbers in a key, dk.
    #[must_use]
    pub fn key_dim(&self) -> usize {
        self.parts.keys.dim().2
    }

    /// Numbers in a value, dv.
    #[must_use]
    pub fn value_dim(&self) -> usize {
        self.parts.values.dim().2
    }

    /// Key/value heads, Hkv.
    #[must_use]
    pub fn kv_heads(&self) -> usize {
        self.parts.keys.dim().0
    }

    /// Query heads, Hq: a multiple of Hkv.
    #[must_use]
    pub fn query_heads(&self) -> usize {
        self.parts.queries.dim().0
    }

    /// The key/value head that query head `h` reads.
    #[must_use]
    pub fn kv_head_of(&self, h: usize) -> usize {
        h / (self.query_heads() / self.kv_heads())
    }

    /// Keys [Hkv, T, dk], in standard layout.
    #[must_use]
    pub fn keys(&self) -> &Array3<f32> {
        &self.parts.keys
    }

    /// Values [Hkv, T, dv], in standard layout.
    #[must_use]
    pub fn values(&self) -> &Array3<f32> {
        &self.parts.values
    }

    /// Queries [Hq, R, dk], in standard layout.
    #[must_use]
    pub fn queries(&self) -> &Array3<f32> {
        &self.parts.queries
    }

    /// Keys of one key/value head [T, dk].
    #[must_use]
    pub fn keys_of(&self, head: usize) -> ArrayView2<'_, f32> {
        self.parts.keys.index_axis(Axis(0), head)
    }

    /// How many writes each read may see `[R]`, never decreasing.
    #[must_use]
    pub fn after(&self) -> &[u32] {
        &self.parts.after
    }

    /// The source's logit scale.
    #[must_use]
    pub fn beta(&self) -> f32 {
        self.parts.beta
    }

    /// What the reads should return.
    #[must_use]
    pub fn targets(&self) -> &Targets {
        &self.parts.targets
    }

    /// Names, texts, roles.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.parts.labels
    }

    /// The reads that belong to the writes `writes`: those with `writes.start < after <= writes.end`.
    #[must_use]
    pub fn reads_within(&self, writes: Range<usize>) -> Range<usize> {
        let below = |limit: usize| self.parts.after.partition_point(|&a| a as usize <= limit);
        below(writes.start)..below(writes.end)
    }

    /// The chunk `index` of a stream cut into chunks of `chunk` writes; the last may be shorter.
    #[must_use]
    pub fn chunk_range(&self, chunk: usize, index: usize) -> Range<usize> {
        let t = self.writes();
        (index * chunk).min(t)..((index + 1) * chunk).min(t)
    }

    /// Chunks of `chunk` writes in the stream, a shorter last one counted.
    #[must_use]
    pub fn chunks(&self, chunk: usize) -> usize {
        self.writes().div_ceil(chunk)
    }

    /// True when every key and query has norm 1 within `tolerance`.
    #[must_use]
    pub fn is_unit(&self, tolerance: f32) -> bool {
        [&self.parts.keys, &self.parts.queries]
            .iter()
            .all(|a| a.rows().into_iter().all(|row| (row.dot(&row).sqrt() - 1.0).abs() <= tolerance))
    }

    /// The same stream with keys and queries of norm 1, and the logit scale multiplied by the product of their mean
    /// norms, so that logits keep their mean scale. A note in the labels says so. OVQ expects unit vectors (LAYERS.md).
    #[must_use]
    pub fn normalised(&self) -> Self {
        let mut parts = self.parts.clone();
        let key_norm = normalise_rows(&mut parts.keys);
        let query_norm = normalise_rows(&mut parts.queries);
        parts.beta = self.parts.beta * key_norm * query_norm;
        parts.labels.notes.push(format!(
            "keys and queries normalised to length 1 (mean lengths {key_norm:.3} and {query_norm:.3}); beta {:.4} became {:.4}, which keeps the logits' mean scale",
            self.parts.beta, parts.beta
        ));
        Self { parts, extras: self.extras.normalised() }
    }

    /// The first `writes` writes and the reads that see no more than those, for previews and short checks.
    #[must_use]
    pub fn truncated(&self, writes: usize) -> Self {
        let t = writes.clamp(1, self.writes());
        let r = self.reads_within(0..t).end;
        let p = &self.parts;
        let mut labels = p.labels.clone();
        labels.tokens = labels.tokens.map(|mut v| {
            v.truncate(t);
            v
        });
        labels.read_tokens = labels.read_tokens.map(|mut v| {
            v.truncate(r);
            v
        });
        labels.answer_at = labels.answer_at.map(|mut v| {
            v.truncate(r);
            v
        });
        labels.roles.of_write.truncate(t);
        labels.roles.of_read.truncate(r);
        let targets = match &p.targets {
            Targets::Codes { codebook, target } => Targets::Codes { codebook: codebook.clone(), target: target[..r].to_vec() },
            Targets::Values(v) => Targets::Values(v.slice(s![..r, ..]).to_owned()),
            other => other.clone(),
        };
        Self {
            parts: StreamParts {
                keys: p.keys.slice(s![.., ..t, ..]).to_owned(),
                values: p.values.slice(s![.., ..t, ..]).to_owned(),
                queries: p.queries.slice(s![.., ..r, ..]).to_owned(),
                after: p.after[..r].to_vec(),
                beta: p.beta,
                targets,
                labels,
            },
            extras: self.extras.truncated(t, r),
        }
    }
}

/// Divides every row by its norm (at least 1e-12) and returns the mean norm.
fn normalise_rows<D: Dimension>(array: &mut Array<f32, D>) -> f32 {
    let mut sum = 0.0_f64;
    let mut rows = 0_u32;
    for mut row in array.rows_mut() {
        let norm = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        sum += norm;
        rows += 1;
        let scale = 1.0 / norm.max(1e-12) as f32;
        row.mapv_inplace(|x| x * scale);
    }
    (sum / f64::from(rows.max(1))) as f32
}

fn check(ok: bool, field: &'static str, array: &Array3<f32>, expected: &str) -> Result<(), StreamError> {
    if ok { Ok(()) } else { Err(StreamError::Shape { field, found: format!("{:?}", array.shape()), expected: expected.to_owned() }) }
}

fn length(field: &'static str, found: usize, expected: usize) -> Result<(), StreamError> {
    if found == expected {
        Ok(())
    } else {
        Err(StreamError::Shape { field, found: format!("of length {found}"), expected: format!("length {expected}") })
    }
}

fn check_targets(targets: &Targets, reads: usize, dv: usize) -> Result<(), StreamError> {
    let shape = |field, found: String, expected: String| Err(StreamError::Shape { field, found, expected });
    match targets {
        Targets::None | Targets::FullAttention => Ok(()),
        Targets::Codes { codebook, target } => {
            length("targets.target", target.len(), reads)?;
            if codebook.ncols() != dv {
                return shape("targets.codebook", format!("{:?}", codebook.shape()), format!("[V, {dv}]"));
            }
            match target.iter().find(|&&c| c as usize >= codebook.nrows()) {
                Some(c) => shape("targets.target", format!("the code {c}"), format!("one of {} codes", codebook.nrows())),
                None => Ok(()),
            }
        }
        Targets::Values(v) if v.dim() == (reads, dv) => Ok(()),
        Targets::Values(v) => shape("targets.values", format!("{:?}", v.shape()), format!("[{reads}, {dv}]")),
    }
}

#[cfg(test)]
mod tests;
