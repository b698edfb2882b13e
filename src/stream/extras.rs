//! What a stream may have besides its numbers and labels: gates of its own, reads that only look, reads that follow others.

use std::ops::Range;

use ndarray::{Array2, Axis, s};

use super::{Stream, StreamError, Targets, length, normalise_rows};

/// Gates of each write, where the source has them: for layers with a decay and a write strength (LAYERS.md, "Baselines").
///
/// A layer that has gates takes these instead of its constant parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gates {
    /// a: what the state is multiplied with before each write [Hkv, T], from 0 to 1.
    pub decay: Option<Array2<f32>>,
    /// How strongly each write enters [Hkv, T]: b of Gated `DeltaNet`, dt of Mamba-2; not negative.
    pub rate: Option<Array2<f32>>,
}

/// Reads that follow one another: the answer to one, snapped to the nearest code, is the next one's query.
///
/// The stream holds the query that the *right* answer leads to; a run puts the one that the lane's own answer leads to in its
/// place. All of them see the whole stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// The reads of each hop: read `hops[h].start + i` follows read `hops[h - 1].start + i`. Of equal length, one after the
    /// other, and the last reads of the stream.
    pub hops: Vec<Range<usize>>,
    /// The query that each code leads to [V, dk], for every query head alike.
    pub query_of_code: Array2<f32>,
}

/// See the module's page.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Extras {
    pub(super) gates: Option<Gates>,
    pub(super) silent: Option<Vec<bool>>,
    pub(super) chain: Option<Chain>,
}

impl Extras {
    /// The same for a stream whose queries have been normalised: those that codes lead to are normalised too.
    pub(super) fn normalised(&self) -> Self {
        let mut extras = self.clone();
        if let Some(chain) = &mut extras.chain {
            normalise_rows(&mut chain.query_of_code);
        }
        extras
    }

    /// What is left of them for the first `writes` writes and `reads` reads.
    pub(super) fn truncated(&self, writes: usize, reads: usize) -> Self {
        let cut = |gate: &Option<Array2<f32>>| gate.as_ref().map(|g| g.slice(s![.., ..writes]).to_owned());
        Self {
            gates: self.gates.as_ref().map(|g| Gates { decay: cut(&g.decay), rate: cut(&g.rate) }),
            silent: self.silent.as_ref().map(|v| v[..reads].to_vec()),
            // A chain sees the whole stream, so a shorter one has none of its reads.
            chain: self.chain.clone().filter(|c| c.hops.last().is_some_and(|h| h.end <= reads)),
        }
    }
}

impl Stream {
    /// The same stream with gates of its own.
    ///
    /// # Errors
    /// If a gate is not [Hkv, T], a decay lies outside 0 to 1, or a rate is negative or not finite.
    pub fn with_gates(mut self, gates: Gates) -> Result<Self, StreamError> {
        let expected = (self.kv_heads(), self.writes());
        for (field, gate, max) in [("gates.decay", &gates.decay, 1.0), ("gates.rate", &gates.rate, f32::MAX)] {
            let Some(gate) = gate else { continue };
            if gate.dim() != expected {
                let (found, expected) = (format!("{:?}", gate.shape()), format!("[{}, {}]", expected.0, expected.1));
                return Err(StreamError::Shape { field, found, expected });
            }
            if let Some(((head, write), value)) = gate.indexed_iter().find(|(_, v)| !(0.0..=max).contains(*v)) {
                let found = format!("{value} at [head {head}, write {write}]");
                let expected = if max > 1.0 { "a number not below 0".to_owned() } else { "a number from 0 to 1".to_owned() };
                return Err(StreamError::Shape { field, found, expected });
            }
        }
        self.extras.gates = Some(gates);
        Ok(self)
    }

    /// The source's own gates, if it has any.
    #[must_use]
    pub fn gates(&self) -> Option<&Gates> {
        self.extras.gates.as_ref()
    }

    /// The same stream with some reads `[R]` that only look: a layer whose memory depends on its reads must not count them.
    ///
    /// # Errors
    /// If there are not as many as reads.
    pub fn with_silent(mut self, silent: Vec<bool>) -> Result<Self, StreamError> {
        length("silent", silent.len(), self.reads())?;
        self.extras.silent = Some(silent);
        Ok(self)
    }

    /// True for a read that only looks: no memory may depend on it.
    #[must_use]
    pub fn is_silent(&self, read: usize) -> bool {
        self.extras.silent.as_ref().is_some_and(|s| s.get(read).copied().unwrap_or(false))
    }

    /// The same stream with reads that follow others. The reads of the second hop and later become silent: no memory may depend
    /// on queries that are not known before it is read.
    ///
    /// # Errors
    /// If the hops are not as [`Chain`] says, or the stream's targets are no codes.
    pub fn with_chain(mut self, chain: Chain) -> Result<Self, StreamError> {
        let shape = |found: String, expected: String| Err(StreamError::Shape { field: "chain", found, expected });
        let Targets::Codes { codebook, .. } = self.targets() else {
            return shape("on a stream without codes".to_owned(), "codes as targets".to_owned());
        };
        let expected = (codebook.nrows(), self.key_dim());
        if chain.query_of_code.dim() != expected {
            return shape(format!("{:?}", chain.query_of_code.shape()), format!("queries [{}, {}]", expected.0, expected.1));
        }
        let each = chain.hops.first().map_or(0, Range::len);
        let joined = chain.hops.windows(2).all(|w| w[0].end == w[1].start && w[1].len() == each);
        let last = chain.hops.last().map_or(0, |h| h.end) == self.reads();
        let start = chain.hops.first().map_or(0, |h| h.start);
        let whole = self.after().get(start..).is_some_and(|a| a.iter().all(|&a| a as usize == self.writes()));
        if each == 0 || !joined || !last || !whole {
            return shape(
                format!("hops {:?}", chain.hops),
                "hops of equal length at the end, each of which sees the whole stream".to_owned(),
            );
        }
        let later = start + each;
        let silent = self.extras.silent.get_or_insert_with(|| vec![false; self.parts.after.len()]);
        silent[later..].fill(true);
        self.extras.chain = Some(chain);
        Ok(self)
    }

    /// The reads that follow others, if there are any.
    #[must_use]
    pub fn chain(&self) -> Option<&Chain> {
        self.extras.chain.as_ref()
    }

    /// The read whose answer leads to `read`, if it follows one.
    #[must_use]
    pub fn follows(&self, read: usize) -> Option<usize> {
        let hops = &self.chain()?.hops;
        let hop = hops.iter().position(|h| h.contains(&read))?;
        Some(read - hops.get(hop.checked_sub(1)?)?.len())
    }

    /// The same stream with other queries [Hq, R, dk] at the same reads: what a chain's later hops ask depends on the lane.
    ///
    /// # Errors
    /// If the queries have another shape.
    pub fn with_queries(&self, queries: ndarray::Array3<f32>) -> Result<Self, StreamError> {
        let mut stream = self.clone();
        if queries.dim() != stream.parts.queries.dim() {
            let (found, expected) = (format!("{:?}", queries.shape()), format!("{:?}", stream.parts.queries.shape()));
            return Err(StreamError::Shape { field: "queries", found, expected });
        }
        stream.parts.queries = queries.as_standard_layout().into_owned();
        Ok(stream)
    }

    /// The query of a read `[dk]`, as the stream has it.
    #[must_use]
    pub fn query(&self, query_head: usize, read: usize) -> ndarray::ArrayView1<'_, f32> {
        self.parts.queries.index_axis(Axis(0), query_head).slice_move(s![read, ..])
    }
}
