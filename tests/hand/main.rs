//! Interventions by hand: every layer that takes them against an independent recomputation in float64, one implementation against
//! the other, restored runs against uninterrupted ones, and what a session says of them.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]
#![allow(clippy::float_cmp, reason = "exactness is what is tested here")]

#[path = "../common/outcome.rs"]
mod outcome;
#[path = "../common/stream.rs"]
mod stream;

mod lola;
mod ovq;
mod session;
mod state;
#[cfg(feature = "gui")]
mod window;

use std::collections::BTreeSet;
use std::sync::Arc;

use mnemoscope::gpu::{GpuStream, testing::gpu_or_skip};
use mnemoscope::layer::effective::ReadOf;
use mnemoscope::layer::{self, LayerKind, Precision, Record, Setup};
use mnemoscope::param::{Params, Resolved};
use mnemoscope::session::hand::{Act, Hand, check, evicted};
use mnemoscope::stream::Stream;
use mnemoscope::trace::{LaneTrace, TraceBlock};
use outcome::{assert_same, assert_same_state, bits, finish};

const fn hand(step: usize, kv_head: usize, what: Act) -> Hand {
    Hand { step, kv_head, what }
}

/// A lane of layer `name`, with these hands, each of which is checked.
fn setup(name: &str, stream: &Arc<Stream>, params: &Params, chunk: usize, hands: &[Hand]) -> Setup {
    let kind = kind(name);
    let params = Resolved::new(name, kind.params(), params).unwrap();
    let chunk = kind.chunk(&params).unwrap_or(chunk);
    let setup = Setup { stream: Arc::clone(stream), params, arrays: Arc::default(), chunk, hands: hands.into() };
    kind.check(&setup).unwrap();
    hands.iter().for_each(|h| check(kind, &setup, h).unwrap());
    setup
}

fn kind(name: &str) -> &'static dyn LayerKind {
    layer::kind(name).unwrap()
}

/// The float64 outcome, after it has been held against what must hold of every implementation: several chunks a call are one at a
/// time, a rerun and a run restored at any step are the same bits, effective attention gives the outputs, and float32 on the CPU and
/// on the GPU choose alike and come near.
fn hold(kind: &dyn LayerKind, setup: &Setup) -> LaneTrace {
    hold_on(kind, setup, true)
}

/// The same, without the GPU where another test has its kernels.
fn hold_on(kind: &dyn LayerKind, setup: &Setup, on_gpu: bool) -> LaneTrace {
    let cpu = |precision| kind.cpu(setup, precision).unwrap();
    let double = finish(kind, setup, cpu(Precision::Double), 3);
    let single = finish(kind, setup, cpu(Precision::Single), 1);
    assert_same(&single, &finish(kind, setup, cpu(Precision::Single), usize::MAX));
    near(&double.0, &single.0, "CPU");
    restores(setup, &|| cpu(Precision::Single), 6);
    weights_give_the_outputs(kind, setup, &single.0);
    if let Some(gpu) = on_gpu.then(gpu_or_skip).flatten() {
        let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
        let make = || kind.gpu(setup, &stream).unwrap();
        let on_gpu = finish(kind, setup, make(), 2);
        assert_same(&on_gpu, &finish(kind, setup, make(), usize::MAX));
        near(&double.0, &on_gpu.0, "GPU");
        restores(setup, &make, 1);
        weights_give_the_outputs(kind, setup, &on_gpu.0);
    }
    double.0
}

/// Whole numbers are the same, real ones within 2e-4 of the double ones (in proportion where they are large).
fn near(double: &LaneTrace, other: &LaneTrace, what: &str) {
    for (a, b) in double.channels().iter().zip(other.channels()) {
        for head in 0..a.heads() {
            let (name, x, y) = (a.spec().name, a.values(head), b.values(head));
            assert_eq!(x.len(), y.len(), "{what}: {name} of head {head}");
            for i in 0..x.len() {
                let (x, y) = (x.get(i).unwrap(), y.get(i).unwrap());
                let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 2e-4 * x.abs().max(1.0);
                assert!(close, "{what}: {name} of head {head} at {i}: {y} for {x}");
            }
        }
    }
}

/// A run that is taken up at a step, in a layer of its own, goes on as if it had not been left: at each step where a hand acts, and at
/// some others.
fn restores(setup: &Setup, make: &dyn Fn() -> Box<dyn layer::Layer>, others: usize) {
    let chunks = setup.stream.chunks(setup.chunk);
    let advance = |layer: &mut Box<dyn layer::Layer>, n: usize, record: Record| {
        let mut block = TraceBlock::default();
        layer.advance(n, record, &mut block).unwrap();
        block
    };
    let mut whole = make();
    advance(&mut whole, chunks, Record::StateOnly);
    let end = whole.snapshot().unwrap();
    let steps: BTreeSet<usize> = (1..chunks).step_by((chunks / others).max(1)).chain(setup.hands.iter().map(|h| h.step)).collect();
    for at in steps {
        let mut first = make();
        advance(&mut first, at, Record::All);
        let state = first.snapshot().unwrap();
        let mut second = make();
        second.restore(&state).unwrap();
        assert_same_state(&state, &second.snapshot().unwrap());
        let (a, b) = (advance(&mut second, 1, Record::All), advance(&mut first, 1, Record::All));
        assert_eq!(a.pieces.len(), b.pieces.len(), "after {at}");
        for (a, b) in a.pieces.iter().zip(&b.pieces) {
            assert_eq!((a.channel, &a.range, &a.lengths), (b.channel, &b.range, &b.lengths), "after {at}");
            assert_eq!(bits(&a.values), bits(&b.values), "after {at}: channel {}", a.channel);
        }
        advance(&mut second, chunks, Record::StateOnly);
        assert_same_state(&end, &second.snapshot().unwrap());
    }
}

/// The weights of effective attention times the values are what was returned.
fn weights_give_the_outputs(kind: &dyn LayerKind, setup: &Setup, trace: &LaneTrace) {
    let stream = &setup.stream;
    let outputs = trace.channel("outputs").unwrap();
    for head in 0..stream.query_heads() {
        let values = stream.values().index_axis(ndarray::Axis(0), stream.kv_head_of(head));
        for read in (0..stream.reads()).step_by(3) {
            let query: Vec<f32> = stream.queries().slice(ndarray::s![head, read, ..]).to_vec();
            let found = kind.effective(setup, trace, ReadOf { query_head: head, read, query: &query }).unwrap();
            for (j, &returned) in outputs.reals_at(head, read).iter().enumerate() {
                let sum: f64 = found.weights.iter().zip(values.column(j)).map(|(w, &v)| w * f64::from(v)).sum();
                let off = (sum - f64::from(returned)).abs();
                assert!(off < 3e-4 * sum.abs().max(1.0), "head {head}, read {read}, number {j}: {sum} for {returned}");
            }
        }
    }
}

/// Holds the outputs of a float64 run against those recomputed, [query heads][reads][dv].
fn same_outputs(trace: &LaneTrace, expected: &[Vec<Vec<f64>>]) {
    let outputs = trace.channel("outputs").unwrap();
    for (head, reads) in expected.iter().enumerate() {
        let flat: Vec<f64> = reads.concat();
        assert_eq!(flat.len(), outputs.values(head).len());
        for (i, x) in flat.iter().enumerate() {
            let y = outputs.values(head).get(i).unwrap();
            assert!((x - y).abs() < 1e-9 * x.abs().max(1.0), "query head {head}, number {i}: {y} for {x}");
        }
    }
}
