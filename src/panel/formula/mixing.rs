//! The numbers of a read: what the parts of the memory add to its output, for every layer that divides by a sum of weights.

use crate::layer::effective::Store;
use crate::layer::feature::FeatureMap;
use crate::layer::real::EPSILON;
use crate::layer::{Snapshot, linear as linear_attention, lola};
use crate::metric::query_used;

use super::exact::{Exact, LaneAt, Rows, add, dot, norm};

/// What a weight belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// A write.
    Token(usize),
    /// A row of the dictionary or codebook.
    Row(usize),
}

/// One weight of a softmax.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// What it is of.
    pub of: Of,
    /// The memory that it is in.
    pub store: Store,
    /// The dot product of the query and its key.
    pub product: f64,
    /// How many writes it stands for.
    pub count: f64,
    /// `beta q.k + log count` (without the count where the layer leaves it out).
    pub logit: f64,
    /// Its share of the normaliser.
    pub share: f64,
}

/// One memory's part of a read.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The memory.
    pub store: Store,
    /// How many terms.
    pub terms: usize,
    /// The sum of its weights, `e^(-m)` times what the formula says.
    pub sum: f64,
    /// Its share of the normaliser.
    pub share: f64,
    /// What it adds to the output, divided by the normaliser already.
    pub adds: Vec<f64>,
}

/// A read as a mix of memories over one normaliser.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// The logit scale.
    pub beta: f64,
    /// What was taken out of every exponent: the largest logit (of LoLA at least 0; of a state alone 0).
    pub top: f64,
    /// The parts, whose sums and the epsilon make the normaliser.
    pub parts: Vec<Part>,
    /// The epsilon's part of the normaliser; 0 where there is none.
    pub epsilon: f64,
    /// The normaliser, `e^(-top)` times what the formula says.
    pub normaliser: f64,
    /// The largest weights of what is kept whole or as centroids, the largest first.
    pub largest: Vec<Weight>,
    /// The output: the sum of what the parts add.
    pub output: Vec<f64>,
    /// `phi(q)^T s`, where there is a state.
    pub phi_s: Option<f64>,
}

/// The largest weights that are kept.
const LARGEST: usize = 5;
/// Numbers of keys beyond which the softmax of all of them is left to the study: it would take longer than a frame.
pub const MOST_NUMBERS: usize = 1 << 20;

/// A term of a softmax before it is one: what it is of, its memory, q.k, its count, the count's part of the logit, its value.
struct Term {
    of: Of,
    store: Store,
    product: f64,
    count: f64,
    bias: f64,
    value: Vec<f64>,
}

/// The state's part, if there is one: its memory's weight and what it adds before division.
struct StatePart {
    phi_s: f64,
    phi_h: Vec<f64>,
    weight: f64,
}

fn mix(beta: f64, least: f64, terms: &[Term], state: Option<StatePart>, epsilon: f64, stores: &[Store], dv: usize) -> Mix {
    let logit = |t: &Term| beta * t.product + t.bias;
    let top = terms.iter().map(logit).fold(least, f64::max);
    let top = if top.is_finite() { top } else { 0.0 };
    let scale = (-top).exp();
    let mut parts: Vec<Part> = stores.iter().map(|&store| Part { store, terms: 0, sum: 0.0, share: 0.0, adds: vec![0.0; dv] }).collect();
    for term in terms {
        let weight = (logit(term) - top).exp();
        if let Some(part) = parts.iter_mut().find(|p| p.store == term.store) {
            part.terms += 1;
            part.sum += weight;
            add(&mut part.adds, &term.value, weight);
        }
    }
    let phi_s = state.as_ref().map(|s| s.phi_s);
    if let Some(state) = state {
        let weight = state.weight * scale;
        let mut adds = vec![0.0; dv];
        add(&mut adds, &state.phi_h, weight);
        parts.push(Part { store: Store::State, terms: 0, sum: weight * state.phi_s, share: 0.0, adds });
    }
    let epsilon = epsilon * scale;
    let normaliser = parts.iter().map(|p| p.sum).sum::<f64>() + epsilon;
    let mut output = vec![0.0; dv];
    for part in &mut parts {
        part.share = part.sum / normaliser;
        part.adds.iter_mut().for_each(|x| *x /= normaliser);
        add(&mut output, &part.adds, 1.0);
    }
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by(|&a, &b| logit(&terms[b]).total_cmp(&logit(&terms[a])).then(a.cmp(&b)));
    let largest = order.iter().take(LARGEST).map(|&i| {
        let t = &terms[i];
        Weight { of: t.of, store: t.store, product: t.product, count: t.count, logit: logit(t), share: (logit(t) - top).exp() / normaliser }
    });
    let largest = largest.collect();
    Mix { beta, top, parts, epsilon, normaliser, largest, output, phi_s }
}

/// The query of a read as the lane saw it.
#[must_use]
pub fn query(lane: &LaneAt<'_>, read: usize) -> Vec<f32> {
    query_used(lane.stream(), lane.trace, lane.query_head, read)
}

fn wide(query: &[f32]) -> Vec<f64> {
    query.iter().map(|&x| f64::from(x)).collect()
}

fn token_terms<'t>(
    lane: &'t LaneAt<'_>,
    query: &'t [f64],
    writes: impl Iterator<Item = usize> + 't,
    store: Store,
) -> impl Iterator<Item = Term> + 't {
    writes.map(move |write| Term {
        of: Of::Token(write),
        store,
        product: dot(query, &lane.key(write)),
        count: 1.0,
        bias: 0.0,
        value: lane.value(write),
    })
}

/// Full attention, or the sliding window: softmax over what is kept. `None` where that is too much for a frame.
#[must_use]
pub fn softmax(lane: &LaneAt<'_>, read: usize) -> Option<Mix> {
    let after = lane.after(read)?;
    let (start, store) = match lane.plan.kind.name() {
        "window" => (after.saturating_sub(lane.plan.setup.params.size("window")), Store::Window),
        _ => (0, Store::Whole),
    };
    if (after - start) * lane.stream().key_dim() > MOST_NUMBERS {
        return None;
    }
    let query = wide(&query(lane, read));
    let terms: Vec<Term> = token_terms(lane, &query, start..after, store).collect();
    Some(mix(lane.plan.setup.beta(), f64::NEG_INFINITY, &terms, None, 0.0, &[store], lane.stream().value_dim()))
}

/// OVQ, stage 1: softmax over the centroids of the state before the read's chunk and the chunk's own pairs.
#[must_use]
pub fn ovq(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize) -> Option<Mix> {
    let after = lane.after(read)?;
    let chunks = (after - 1) / lane.chunk();
    let query = wide(&query(lane, read));
    let mut terms = Vec::new();
    // Before the first chunk there is no row, and no state needs to be asked for.
    if chunks > 0 {
        let state = exact.at(lane.number, chunks)?;
        let (keys, values, counts) = dictionary(state, lane.kv)?;
        let bias = lane.plan.setup.params.flag("count_bias");
        for row in 0..keys.len() {
            let count = counts.row(row)[0];
            // Deleted by hand: it weighs nothing, with the counts in the logits or without.
            if count <= 0.0 {
                continue;
            }
            let bias = if bias { count.ln() } else { 0.0 };
            let product = dot(&query, keys.row(row));
            terms.push(Term { of: Of::Row(row), store: Store::Centroid, product, count, bias, value: values.row(row).to_vec() });
        }
    }
    terms.extend(token_terms(lane, &query, lane.written(chunks)..after, Store::Chunk));
    let beta = lane.plan.setup.beta();
    Some(mix(beta, f64::NEG_INFINITY, &terms, None, 0.0, &[Store::Centroid, Store::Chunk], lane.stream().value_dim()))
}

/// `dict_k`, `dict_v` and `counts` of a head of an OVQ state.
#[must_use]
pub fn dictionary(state: &Snapshot, head: usize) -> Option<(Rows, Rows, Rows)> {
    Some((Rows::of(state, "dict_k", head)?, Rows::of(state, "dict_v", head)?, Rows::of(state, "counts", head)?))
}

/// The code `row` of a VQ lane's codebook.
#[must_use]
pub fn code(lane: &LaneAt<'_>, row: usize) -> Option<Vec<f64>> {
    let book = lane.plan.setup.arrays.get("codebook")?;
    let (heads, all, dk) = match *book.shape() {
        [heads, all, dk] => (heads, all, dk),
        [all, dk] => (1, all, dk),
        _ => return None,
    };
    let at = lane.kv.min(heads.checked_sub(1)?) * all + row;
    (row < all).then(|| book.iter().skip(at * dk).take(dk).map(|&x| f64::from(x)).collect())
}

/// VQ attention: softmax over the codes in use among the writes that the read may see, with log count, over the means of their values.
#[must_use]
pub fn vq(lane: &LaneAt<'_>, read: usize) -> Option<Mix> {
    let after = lane.after(read)?;
    if after * lane.stream().value_dim() > MOST_NUMBERS {
        return None;
    }
    let codes = lane.wholes("assignments").get(..after)?;
    let dv = lane.stream().value_dim();
    let mut of_code: std::collections::BTreeMap<usize, (f64, Vec<f64>)> = std::collections::BTreeMap::new();
    for (write, &code) in codes.iter().enumerate() {
        let (count, sum) = of_code.entry(usize::try_from(code).ok()?).or_insert_with(|| (0.0, vec![0.0; dv]));
        *count += 1.0;
        add(sum, &lane.value(write), 1.0);
    }
    let query = wide(&query(lane, read));
    let terms = of_code.into_iter().map(|(row, (count, mut value))| {
        value.iter_mut().for_each(|x| *x /= count);
        let product = dot(&query, &code(lane, row)?);
        Some(Term { of: Of::Row(row), store: Store::Centroid, product, count, bias: count.ln(), value })
    });
    let terms = terms.collect::<Option<Vec<_>>>()?;
    Some(mix(lane.plan.setup.beta(), f64::NEG_INFINITY, &terms, None, 0.0, &[Store::Centroid], dv))
}

/// phi of a query.
fn phi_q(lane: &LaneAt<'_>, map: &FeatureMap<f64>, query: &[f64]) -> Vec<f64> {
    let query = ndarray::aview1(query);
    map.queries(lane.query_head, &query.insert_axis(ndarray::Axis(0))).row(0).to_vec()
}

/// LoLA: the window and the chunk, the sparse cache and the state before the read's chunk, over one normaliser.
#[must_use]
pub fn lola(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize) -> Option<Mix> {
    let after = lane.after(read)?;
    let config = lola::config::Config::new(&lane.plan.setup);
    let chunks = (after - 1) / config.chunk;
    let query = wide(&query(lane, read));
    let mut terms: Vec<Term> = token_terms(lane, &query, config.outside_window(chunks)..after, Store::Window).collect();
    let mut state = StatePart { phi_s: 0.0, phi_h: vec![0.0; lane.stream().value_dim()], weight: linear_weight(lane)? };
    if chunks > 0 {
        let held = exact.at(lane.number, chunks)?;
        let cached = Rows::of(held, "cached", lane.kv)?;
        // A place that a hand has emptied holds -1.
        let cached = cached.all().iter().filter(|id| **id >= 0.0).map(|&id| id as usize);
        terms.extend(token_terms(lane, &query, cached, Store::Cache));
        let phi = phi_q(lane, &FeatureMap::new(lola::NAME, &lane.plan.setup).ok()?, &query);
        state.phi_s = dot(&phi, Rows::of(held, "normaliser", lane.kv)?.all());
        state.phi_h = Rows::of(held, "state", lane.kv)?.transposed_times(&phi);
    }
    Some(mix(config.beta, 0.0, &terms, Some(state), EPSILON, &[Store::Window, Store::Cache], lane.stream().value_dim()))
}

/// w of a LoLA lane.
#[must_use]
pub fn linear_weight(lane: &LaneAt<'_>) -> Option<f64> {
    lane.plan.kind.in_use(&lane.plan.setup, "linear_weight", lane.query_head)
}

/// Linear attention: the state before the read's chunk, and the chunk's writes that the read may see added to it.
#[must_use]
pub fn linear(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize) -> Option<Mix> {
    let after = lane.after(read)?;
    let chunks = (after - 1) / lane.chunk();
    let (dv, raw) = (lane.stream().value_dim(), query(lane, read));
    let map = FeatureMap::<f64>::new("linear", &lane.plan.setup).ok()?;
    let mut state = StatePart { phi_s: 0.0, phi_h: vec![0.0; dv], weight: 1.0 };
    if chunks > 0 {
        let held = exact.at(lane.number, chunks)?;
        let phi = phi_q(lane, &map, &wide(&raw));
        state.phi_s = dot(&phi, Rows::of(held, "normaliser", lane.kv)?.all());
        state.phi_h = Rows::of(held, "state", lane.kv)?.transposed_times(&phi);
    }
    let start = lane.written(chunks);
    let keys = lane.stream().keys_of(lane.kv);
    for (product, write) in
        map.products(lane.query_head, &raw, lane.kv, &keys.slice(ndarray::s![start..after, ..])).iter().zip(start..after)
    {
        state.phi_s += product;
        add(&mut state.phi_h, &lane.value(write), *product);
    }
    let epsilon = linear_attention::epsilon(&lane.plan.setup.params, after);
    Some(mix(lane.plan.setup.beta(), 0.0, &[], Some(state), epsilon, &[], dv))
}

/// The numbers of a read in a lane of any layer that has a normaliser; `None` where a state is not here or the sum is too long.
#[must_use]
pub fn of(lane: &LaneAt<'_>, exact: &Exact<'_>, read: usize) -> Option<Mix> {
    match lane.plan.kind.name() {
        "full" | "window" => softmax(lane, read),
        "ovq" => ovq(lane, exact, read),
        "vq" => vq(lane, read),
        "lola" => lola(lane, exact, read),
        "linear" => linear(lane, exact, read),
        _ => None,
    }
}

/// What a linear state answers to a write's own key.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfRecall {
    /// Chunks after which the state is taken.
    pub chunks: usize,
    /// `phi(k)^T s`; `None` of a delta or Mamba-2 state, which has no normaliser.
    pub phi_s: Option<f64>,
    /// What is added to it.
    pub epsilon: f64,
    /// The length of `phi(k)^T H` (of `S^T k`).
    pub numerator: f64,
    /// The length of what is recalled.
    pub recalled: f64,
    /// The length of the value.
    pub value: f64,
    /// The squared distance of the two: SRE(k, v) of LAYERS.md.
    pub error: f64,
    /// What is recalled and the value: their cosine.
    pub cosine: f64,
}

/// SRE of a write against a lane's linear state after `chunks` chunks. `None` for a lane without one, or where it is not here.
#[must_use]
pub fn self_recall(lane: &LaneAt<'_>, exact: &Exact<'_>, write: usize, chunks: usize) -> Option<SelfRecall> {
    let (key, value) = (lane.key(write), lane.value(write));
    let name = lane.plan.kind.name();
    let (phi_s, numerator) = match name {
        "lola" | "linear" => {
            let own = if name == "lola" { lola::NAME } else { "linear" };
            let map = FeatureMap::<f64>::new(own, &lane.plan.setup).ok()?;
            let phi = map.keys(lane.kv, &ndarray::aview1(&key).insert_axis(ndarray::Axis(0))).row(0).to_vec();
            if chunks == 0 {
                (Some(0.0), vec![0.0; value.len()])
            } else {
                let state = exact.at(lane.number, chunks)?;
                let s = dot(&phi, Rows::of(state, "normaliser", lane.kv)?.all());
                (Some(s), Rows::of(state, "state", lane.kv)?.transposed_times(&phi))
            }
        }
        "deltanet" | "gated_deltanet" | "mamba2" => {
            let key = super::recurrence::scaled(lane, &key);
            let state = if chunks == 0 { None } else { Some(exact.at(lane.number, chunks)?) };
            (None, state.map_or_else(|| Some(vec![0.0; value.len()]), |s| Some(Rows::of(s, "state", lane.kv)?.transposed_times(&key)))?)
        }
        _ => return None,
    };
    // A read of its own key after these chunks would divide by this.
    let epsilon = if name == "linear" { linear_attention::epsilon(&lane.plan.setup.params, lane.written(chunks)) } else { EPSILON };
    let whole = phi_s.map_or(1.0, |s| s + epsilon);
    let recalled: Vec<f64> = numerator.iter().map(|x| x / whole).collect();
    let off = super::exact::distance(&recalled, &value);
    let lengths = norm(&recalled) * norm(&value);
    Some(SelfRecall {
        epsilon,
        chunks,
        phi_s,
        numerator: norm(&numerator),
        recalled: norm(&recalled),
        value: norm(&value),
        error: off * off,
        cosine: if lengths > 0.0 { dot(&recalled, &value) / lengths } else { 0.0 },
    })
}
