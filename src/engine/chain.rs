//! Reads that follow one another ([`Chain`]): what a lane's later reads ask depends on what the lane answered.
//!
//! No layer knows of it. The lane's last chunk, to which all of these reads belong, is run with the stream's own queries, which
//! the right answers lead to. Hop by hop it is then seen what the lane's answers lead to. Where that is something else than was
//! asked, the chunk is run again, from the state before it, by a layer built on the stream with those queries. Reads after the
//! first hop are silent ([`Stream::is_silent`](crate::stream::Stream::is_silent)), so the state after the chunk is the same in
//! every run of it, and so are the outputs of the reads that ask the same; only the last run's block is kept.

use std::sync::Arc;
use std::time::Instant;

use ndarray::{Array3, s};

use super::factory::LayerFactory;
use super::reference::outputs_channel;
use crate::layer::{LayerError, Record, Setup, Snapshot};
use crate::metric::{nearest_code, query_of};
use crate::session::plan::PlanLane;
use crate::stream::{Chain, Targets};
use crate::trace::TraceBlock;

/// Runs the last chunk of a lane again as often as its answers ask for other reads, at most once a hop.
///
/// `before` is the lane's state before that chunk, `block` what the chunk wrote with the stream's own queries. What it wrote at
/// last, and the seconds that the layers took.
pub fn follow(
    plan: &PlanLane,
    before: &Snapshot,
    mut block: TraceBlock,
    factory: &mut dyn LayerFactory,
) -> Result<(TraceBlock, f64), LayerError> {
    let stream = &plan.setup.stream;
    let (Some(chain), Targets::Codes { codebook, .. }, Some(channel)) = (stream.chain(), stream.targets(), outputs_channel(&plan.channels))
    else {
        return Ok((block, 0.0));
    };
    let mut seconds = 0.0;
    let mut queries = stream.queries().clone();
    let mut output = vec![0.0; stream.value_dim()];
    for hop in 1..chain.hops.len() {
        let mut answer = |head: usize, read: usize| {
            fill_output(&block, channel, head, read, &mut output);
            nearest_code(codebook, &output).0
        };
        if !ask(chain, hop, &mut answer, &mut queries) {
            continue;
        }
        let asking = stream.with_queries(queries.clone()).expect("a stream's own queries, changed row by row, keep their shape");
        let setup = Setup { stream: Arc::new(asking), ..plan.setup.clone() };
        let mut layer = factory.build_apart(plan.kind, &setup)?;
        layer.restore(before)?;
        block = TraceBlock::default();
        let start = Instant::now();
        layer.advance(1, Record::All, &mut block)?;
        seconds += start.elapsed().as_secs_f64();
    }
    Ok((block, seconds))
}

/// Puts what the answers to the hop before lead to in the place of the hop's queries [Hq, R, dk]; true if anything changed.
fn ask(chain: &Chain, hop: usize, answer: &mut dyn FnMut(usize, usize) -> i32, queries: &mut Array3<f32>) -> bool {
    let mut changed = false;
    for head in 0..queries.dim().0 {
        for (before, read) in chain.hops[hop - 1].clone().zip(chain.hops[hop].clone()) {
            let led_to = query_of(chain, answer(head, before));
            let mut query = queries.slice_mut(s![head, read, ..]);
            if query.iter().zip(&led_to).any(|(a, b)| a.to_bits() != b.to_bits()) {
                query.iter_mut().zip(led_to).for_each(|(to, from)| *to = from);
                changed = true;
            }
        }
    }
    changed
}

/// Copies a read's output [dv] of one query head, widened, out of the pieces [Hq, reads, dv] of `channel`. One that is not there
/// is no number.
fn fill_output(block: &TraceBlock, channel: usize, head: usize, read: usize, to: &mut [f64]) {
    let piece = block.pieces.iter().find(|p| p.channel == channel && p.range.contains(&read));
    let dv = to.len();
    for (d, to) in to.iter_mut().enumerate() {
        let value = piece.and_then(|p| p.values.get((head * p.range.len() + read - p.range.start) * dv + d));
        *to = value.unwrap_or(f64::NAN);
    }
}

#[cfg(test)]
mod tests;
