//! What a layer leaves when it has run to its end, and two of them held against each other bit for bit.

use mnemoscope::layer::{Layer, LayerKind, Record, Setup, Snapshot};
use mnemoscope::trace::{LaneTrace, TraceBlock, Values};

/// Everything a layer wrote, and its state at the end.
pub type Outcome = (LaneTrace, Snapshot);

/// Runs to the end, `batch` chunks a call.
pub fn finish(kind: &dyn LayerKind, setup: &Setup, mut layer: Box<dyn Layer>, batch: usize) -> Outcome {
    let mut trace = LaneTrace::new(&kind.channels(setup), setup.stream.kv_heads(), setup.stream.query_heads());
    while layer.position() < setup.stream.chunks(setup.chunk) {
        let mut block = TraceBlock::default();
        layer.advance(batch, Record::All, &mut block).unwrap();
        trace.append(&block).unwrap();
    }
    let snapshot = layer.snapshot().unwrap();
    (trace, snapshot)
}

/// Numbers by their bits, so that infinities and signs of zeros count too.
pub fn bits(values: &Values) -> Vec<u64> {
    match values {
        Values::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Values::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        Values::I32(v) => v.iter().map(|&x| u64::from(x.cast_unsigned())).collect(),
    }
}

/// Bit for bit.
pub fn assert_same(a: &Outcome, b: &Outcome) {
    for (x, y) in a.0.channels().iter().zip(b.0.channels()) {
        for head in 0..x.heads() {
            assert_eq!(bits(x.values(head)), bits(y.values(head)), "{} of head {head}", x.spec().name);
        }
    }
    assert_same_state(&a.1, &b.1);
}

pub fn assert_same_state(a: &Snapshot, b: &Snapshot) {
    assert_eq!(a.position, b.position);
    for (x, y) in a.arrays.iter().zip(&b.arrays) {
        assert_eq!((x.name, &x.shape, bits(&x.values)), (y.name, &y.shape, bits(&y.values)));
    }
}
