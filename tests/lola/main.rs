//! `LoLA`: the identities of LAYERS.md, one implementation against the other, and a real model's stream. (The golden files
//! are tests/golden.rs's.)

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]
#![allow(clippy::float_cmp, reason = "exactness is what is tested here")]

use std::sync::Arc;

use mnemoscope::gpu::{GpuStream, testing::gpu_or_skip};
use mnemoscope::layer::{self, Arrays, Layer, LayerKind, Precision, Record, Setup};
use mnemoscope::param::{Params, Resolved};
use mnemoscope::stream::{Labels, Stream, StreamParts, Targets};
use mnemoscope::trace::{CHOICE_MARGIN, LaneTrace, TraceBlock, Values};

fn kind() -> &'static dyn LayerKind {
    layer::kind("lola").unwrap()
}

fn setup(stream: Stream, params: &Params, arrays: Arrays) -> Setup {
    let params = Resolved::new("lola", kind().params(), params).unwrap();
    let chunk = kind().chunk(&params).unwrap();
    let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::new(arrays), chunk, hands: Arc::default() };
    kind().check(&setup).unwrap();
    setup
}

/// Runs a layer to its end, `batch` chunks at a time.
fn run(layer: &mut dyn Layer, setup: &Setup, batch: usize) -> LaneTrace {
    let mut trace = LaneTrace::new(&kind().channels(setup), setup.stream.kv_heads(), setup.stream.query_heads());
    let chunks = setup.stream.chunks(setup.chunk);
    while layer.position() < chunks {
        let mut block = TraceBlock::default();
        layer.advance(batch, Record::All, &mut block).unwrap();
        trace.append(&block).unwrap();
    }
    trace
}

fn wide(values: &Values) -> Vec<f64> {
    (0..values.len()).map(|i| values.get(i).unwrap()).collect()
}

mod capture;
mod effective;
mod properties;
mod scores;
mod weights;
