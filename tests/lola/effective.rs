//! Effective attention: the weights of a read times the values are what the layer returned, and their parts its shares.

use mnemoscope::layer::effective::{Effective, ReadOf, Store};
use ndarray::{Array3, s};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

/// Two key/value heads of two query heads each, causal, unit-scale values; with Hedgehog weights of each head.
fn lane(fmap: &str, params: Params) -> Setup {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut normal = |shape| Array3::<f32>::from_shape_simple_fn(shape, || StandardNormal.sample(&mut rng));
    let mut arrays = Arrays::new();
    if fmap == "hedgehog" {
        arrays.insert("weights_q".to_owned(), normal((4, 6, 5)).into_dyn());
        arrays.insert("weights_k".to_owned(), normal((2, 6, 5)).into_dyn());
    }
    let stream = Stream::new(StreamParts {
        keys: normal((2, 90, 6)),
        values: normal((2, 90, 4)),
        queries: normal((4, 90, 6)),
        after: (1..=90).collect(),
        beta: 0.6,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    setup(stream, &params.with("fmap", fmap).with("features", 24), arrays)
}

fn of(setup: &Setup, trace: &LaneTrace, query_head: usize, read: usize) -> Option<Effective> {
    let query = setup.stream.query(query_head, read).to_vec();
    kind().effective(setup, trace, ReadOf { query_head, read, query: &query })
}

fn check(setup: &Setup, trace: &LaneTrace, what: &str) {
    let stream = &setup.stream;
    let (outputs, shares) = (trace.channel("outputs").unwrap(), trace.channel("shares").unwrap());
    let mut seen = [false; 3];
    for head in 0..stream.query_heads() {
        let values = stream.values().slice(s![stream.kv_head_of(head), .., ..]).mapv(f64::from);
        for read in 0..stream.reads() {
            let found = of(setup, trace, head, read).unwrap();
            let after = stream.after()[read] as usize;
            assert_eq!((found.weights.len(), found.stores.len()), (after, after));
            for (column, &output) in outputs.reals_at(head, read).iter().enumerate() {
                let sum: f64 = found.weights.iter().zip(values.column(column)).map(|(w, v)| w * v).sum();
                assert!((sum - f64::from(output)).abs() < 1e-4, "{what}, head {head}, read {read}: {sum} but {output}");
            }
            for (at, store) in [Store::Window, Store::Cache, Store::State].into_iter().enumerate() {
                let (share, recorded) = (found.share(store), f64::from(shares.reals_at(head, read)[at]));
                assert!((share - recorded).abs() < 1e-4, "{what}, head {head}, read {read}, {store:?}: {share} but {recorded}");
                seen[at] |= recorded > 0.01;
            }
        }
    }
    assert_eq!(seen, [true; 3], "{what}: a share that is never there shows nothing");
}

#[test]
fn it_gives_outputs_and_shares_for_every_map() {
    let gpu = gpu_or_skip();
    for fmap in ["elu1", "relu", "hedgehog", "taylor2", "favor"] {
        let setup = lane(fmap, Params::default().with("window", 7).with("cache", 6).with("chunk", 8).with("linear_weight", 0.5));
        check(&setup, &run(&mut *kind().cpu(&setup, Precision::Single).unwrap(), &setup, 4), fmap);
        let Some(gpu) = &gpu else { continue };
        let mut layer = kind().gpu(&setup, &GpuStream::new(gpu, &setup.stream).unwrap()).unwrap();
        check(&setup, &run(&mut *layer, &setup, 4), &format!("{fmap} on the GPU"));
    }
}

/// A read's chunk began after the updates of the chunks before it; while the trace lacks one of them nothing can be said.
#[test]
fn it_waits_for_the_steps_that_the_read_depends_on() {
    let setup = lane("elu1", Params::default().with("window", 7).with("cache", 6).with("chunk", 8));
    let mut layer = kind().cpu(&setup, Precision::Single).unwrap();
    let mut trace = LaneTrace::new(&kind().channels(&setup), 2, 4);
    let mut block = TraceBlock::default();
    layer.advance(3, Record::All, &mut block).unwrap();
    trace.append(&block).unwrap();
    // Read 31 sees 32 writes, the last of chunk 3; read 32 is the first of chunk 4.
    assert!(of(&setup, &trace, 0, 31).is_some());
    assert!(of(&setup, &trace, 0, 32).is_none());
}
