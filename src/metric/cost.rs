//! What a memory costs beside what full attention would keep.

use crate::layer::Cost;
use crate::stream::Stream;

/// Numbers that full attention keeps of a stream, per key/value head: T (dk + dv).
#[must_use]
pub fn full_attention_numbers(stream: &Stream) -> u64 {
    (stream.writes() * (stream.key_dim() + stream.value_dim())) as u64
}

/// The share of full attention's memory that a layer holds at the end of the stream; above 1 where it holds more.
#[must_use]
pub fn memory_share(cost: &Cost, stream: &Stream) -> f64 {
    cost.state_numbers as f64 / full_attention_numbers(stream) as f64
}
