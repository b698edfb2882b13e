//! What a lane was asked: the stream's query, or in a chain of reads what the lane's own answer led to.

use super::ANSWER;
use crate::stream::{Chain, Stream};
use crate::trace::LaneTrace;

/// The query `[dk]` of a read as the lane saw it, by its trace: the stream's own, or where the read follows another
/// ([`Stream::follows`]) the one that the lane's answer to that one led to.
///
/// `stream` is the lane's own (normalised, where the layer wants that). While the trace does not hold the answer yet, it is the
/// stream's own query, which the right answer leads to.
#[must_use]
pub fn query_used(stream: &Stream, trace: &LaneTrace, query_head: usize, read: usize) -> Vec<f32> {
    let led_to = || {
        let before = stream.follows(read)?;
        let answer = trace.channel(ANSWER)?.wholes_at(query_head, before).first()?;
        Some(query_of(stream.chain()?, *answer))
    };
    led_to().unwrap_or_else(|| stream.query(query_head, read).to_vec())
}

/// The query `[dk]` that an answer leads to: that of its code; zeros, which ask for nothing, after none (-1).
#[must_use]
pub fn query_of(chain: &Chain, answer: i32) -> Vec<f32> {
    match usize::try_from(answer) {
        Ok(code) => chain.query_of_code.row(code).to_vec(),
        Err(_) => vec![0.0; chain.query_of_code.ncols()],
    }
}
