//! What a memory costs beside what full attention would keep.

use crate::layer::Cost;
use crate::stream::Stream;

/// Numbers that full attention keeps of a stream, per key/value head: T (dk + dv).
#[must_use]
pub fn full_attention_numbers(stream: &Stream) -> u64 {
    (stream.writes() * (stream.key_dim() + stream.value_dim())) as u64
}

/// Numbers that a lane holds in all at the end of its stream `own`: a state for each of its key/value heads, of which a lane with
/// maps of its own for every query head has as many as query heads.
#[must_use]
pub fn held(cost: &Cost, own: &Stream) -> u64 {
    cost.state_numbers * own.kv_heads() as u64
}

/// The share of full attention's memory that a lane holds at the end of its stream `own`, over all heads; above 1 where it holds
/// more. Full attention would keep the keys and values of the `given` stream, where none is repeated.
#[must_use]
pub fn memory_share(cost: &Cost, own: &Stream, given: &Stream) -> f64 {
    held(cost, own) as f64 / (full_attention_numbers(given) * given.kv_heads() as u64) as f64
}

/// The same cost per key/value head of the `given` stream: that of as many states as a lane keeps for it on its own stream. A
/// read costs what it did.
#[must_use]
pub fn per_given_head(cost: Cost, own: &Stream, given: &Stream) -> Cost {
    let states = (own.kv_heads() / given.kv_heads()) as u64;
    Cost { state_numbers: cost.state_numbers * states, write_madds: cost.write_madds * states, ..cost }
}
