//! The channel `read_normaliser` of the layers with a linear state, where every number in it can be counted.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::sync::Arc;

use mnemoscope::gpu::GpuStream;
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::layer::{Arrays, Layer, Precision, Record, Setup, kind};
use mnemoscope::param::{Params, Resolved};
use mnemoscope::stream::{Labels, Stream, StreamParts, Targets};
use mnemoscope::trace::{LaneTrace, TraceBlock};
use ndarray::Array3;

const WRITES: usize = 90;
const DK: usize = 5;

/// Keys and queries of zeros: with `elu1` every feature is 1, and every logit is 0.
fn zeros() -> Arc<Stream> {
    let stream = Stream::new(StreamParts {
        keys: Array3::zeros((1, WRITES, DK)),
        values: Array3::ones((1, WRITES, 3)),
        queries: Array3::zeros((2, WRITES, DK)),
        after: (1..=WRITES as u32).collect(),
        beta: 0.5,
        targets: Targets::None,
        labels: Labels::default(),
    });
    Arc::new(stream.unwrap())
}

/// The trace of a layer on every implementation there is.
fn traces(layer: &str, params: &Params, chunk: usize) -> Vec<LaneTrace> {
    let kind = kind(layer).unwrap();
    let params = Resolved::new(layer, kind.params(), params).unwrap();
    let setup = Setup { stream: zeros(), params, arrays: Arc::new(Arrays::new()), chunk, hands: Arc::default() };
    kind.check(&setup).unwrap();
    let run = |mut layer: Box<dyn Layer>| {
        let mut block = TraceBlock::default();
        layer.advance(usize::MAX, Record::All, &mut block).unwrap();
        let mut trace = LaneTrace::new(&kind.channels(&setup), 1, 2);
        trace.append(&block).unwrap();
        trace
    };
    let mut all = vec![run(kind.cpu(&setup, Precision::Single).unwrap()), run(kind.cpu(&setup, Precision::Double).unwrap())];
    all.extend(gpu_or_skip().map(|gpu| run(kind.gpu(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap())));
    all
}

fn number(trace: &LaneTrace, channel: &str, head: usize, index: usize) -> f64 {
    trace.channel(channel).unwrap().values(head).get(index).unwrap()
}

#[test]
fn linear_attention_divides_by_one_a_feature_and_write_that_is_seen() {
    // 17 does not divide 90, nor do blocks end with reads.
    for trace in traces("linear", &Params::default().with("fmap", "elu1"), 17) {
        for head in 0..2 {
            for read in 0..WRITES {
                let expected = (DK * (read + 1)) as f64;
                assert!((number(&trace, "read_normaliser", head, read) - expected).abs() < 1e-3, "head {head}, read {read}");
            }
        }
    }
}

#[test]
fn lola_counts_in_the_normaliser_what_is_in_its_state() {
    let (window, cache, chunk) = (10, 7, 20);
    let params = Params::default().with("fmap", "elu1").with("window", window).with("cache", cache).with("chunk", chunk);
    for trace in traces("lola", &params, chunk as usize) {
        for head in 0..2 {
            for read in 0..WRITES {
                // The update of a chunk comes after its reads: what had left the window by the chunk's start, but for the cached.
                let started = read / 20 * 20;
                let folded = started.saturating_sub(10).saturating_sub(7);
                let found = number(&trace, "read_normaliser", head, read);
                assert!((found - (DK * folded) as f64).abs() < 1e-3, "head {head}, read {read}: {found}");
                // Each pair that is kept whole weighs e^0 = 1 beside it.
                let shares = [0, 1, 2].map(|part| number(&trace, "shares", head, 3 * read + part));
                let raw = (read + 1 - started.saturating_sub(10)) as f64;
                assert!((shares[2] * raw - shares[0] * found).abs() < 1e-3 * found.max(1.0), "head {head}, read {read}: {shares:?}");
            }
        }
    }
}
