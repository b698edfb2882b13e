//! What the public interface does not reach: a trace that holds only the scores of the writes that leave the window.

use std::sync::Arc;

use ndarray::Array3;

use super::config::{Config, Recorded};
use super::*;
use crate::gpu::testing::gpu_or_skip;
use crate::layer::{Arrays, Record};
use crate::param::Params;
use crate::stream::{Labels, Stream, StreamParts, Targets};
use crate::trace::TraceBlock;

fn setup() -> Setup {
    let wave = |h: usize, i: usize, d: usize| ((h * 31 + i * 7 + d * 13) as f32).sin();
    let stream = Stream::new(StreamParts {
        keys: Array3::from_shape_fn((2, 50, 3), |(h, i, d)| wave(h, i, d)),
        values: Array3::from_shape_fn((2, 50, 4), |(h, i, d)| wave(h + 2, 3 * i, d)),
        queries: Array3::ones((2, 1, 3)),
        after: vec![50],
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    let params = Params::default().with("window", 5).with("cache", 8).with("chunk", 4);
    Setup {
        stream: Arc::new(stream),
        params: Resolved::new(NAME, PARAMS, &params).unwrap(),
        arrays: Arc::new(Arrays::new()),
        chunk: 4,
        hands: Arc::default(),
    }
}

fn trace(setup: &Setup, mut layer: impl Layer) -> LaneTrace {
    let mut trace = LaneTrace::new(&LolaKind.channels(setup), 2, 2);
    while layer.position() < 13 {
        let mut block = TraceBlock::default();
        layer.advance(3, Record::All, &mut block).unwrap();
        trace.append(&block).unwrap();
    }
    trace
}

/// The thinner trace must be the full one without the scores of the cached candidates, and nothing else.
fn compare(all: &LaneTrace, thin: &LaneTrace, config: &Config) {
    for (a, b) in all.channels().iter().zip(thin.channels()) {
        for head in 0..2 {
            if !a.spec().name.starts_with("candidate") {
                assert_eq!(format!("{:?}", a.values(head)), format!("{:?}", b.values(head)), "{}", a.spec().name);
                continue;
            }
            for step in 0..a.len() {
                let skip = config.step(step).cached;
                let range = a.range(head, step);
                let expected = a.values(head).slice(range.start + skip..range.end);
                assert_eq!(b.values(head).slice(b.range(head, step)), expected, "{} at step {step}", a.spec().name);
            }
        }
    }
}

#[test]
fn a_thin_trace_lacks_only_the_cached_candidates() {
    let setup = setup();
    let full = Config::new(&setup);
    assert_eq!(full.recorded, Recorded::All);
    let thin = Config { recorded: Recorded::Leaving, ..full };
    let cpu = |config| trace(&setup, cpu::Lola::<f32>::with(config, &setup).unwrap());
    compare(&cpu(full), &cpu(thin), &full);
    assert!(trace::derived(&thin, &cpu(thin), 0).iter().all(|d| d.name != "scores"), "a table with holes is no table");
    let Some(gpu) = gpu_or_skip() else { return };
    let stream = GpuStream::new(&gpu, &setup.stream).unwrap();
    let gpu = |config| trace(&setup, gpu::Lola::with(config, &setup, &stream).unwrap());
    compare(&gpu(full), &gpu(thin), &full);
}

#[test]
fn equal_scores_keep_the_older_write() {
    // Every value has norm 1 and the state is empty, so all the first scores are equal.
    let stream = Stream::new(StreamParts {
        keys: Array3::ones((1, 6, 2)),
        values: Array3::ones((1, 6, 1)),
        queries: Array3::ones((1, 0, 2)),
        after: Vec::new(),
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    let params = Params::default().with("window", 0).with("cache", 2).with("chunk", 6);
    let params = Resolved::new(NAME, PARAMS, &params).unwrap();
    let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::new(Arrays::new()), chunk: 6, hands: Arc::default() };
    let check = |mut layer: Box<dyn Layer>| {
        let mut block = TraceBlock::default();
        layer.advance(1, Record::All, &mut block).unwrap();
        let snapshot = layer.snapshot().unwrap();
        assert_eq!(snapshot.array("cached").unwrap().values.as_i32().unwrap(), [0, 1]);
        // elu(1) + 1 = 2 for each of the four folded keys.
        assert_eq!(snapshot.array("normaliser").unwrap().values.as_f32().unwrap(), [8.0, 8.0]);
    };
    check(LolaKind.cpu(&setup, Precision::Single).unwrap());
    let Some(gpu) = gpu_or_skip() else { return };
    check(LolaKind.gpu(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap());
}

#[test]
fn limits_are_named() {
    let error = Resolved::new("lola", PARAMS, &Params::default().with("cache", 20_000)).unwrap_err();
    assert_eq!(error.to_string(), "lola.cache is 20000, but must be from 0 to 16384");
    LolaKind.check(&setup()).unwrap();
}

/// Software adapters end long loops early, without a word: such a read is refused there, and whole elsewhere.
#[test]
fn a_read_of_very_many_pairs_is_whole_or_refused() {
    let Some(gpu) = gpu_or_skip() else { return };
    // 266 tiles of 64 pairs, 256 numbers in a key. The query is 0, so the answer is the mean of all values.
    let (writes, dk) = (17_000, 256);
    let stream = Stream::new(StreamParts {
        keys: Array3::ones((1, writes, dk)),
        values: Array3::from_shape_fn((1, writes, 1), |(_, i, _)| if i < 16_900 { 0.0 } else { 17.0 }),
        queries: Array3::zeros((1, 1, dk)),
        after: vec![writes as u32],
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    let params = Params::default().with("window", writes as i64).with("chunk", 1024);
    let params = Resolved::new(NAME, PARAMS, &params).unwrap();
    let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::new(Arrays::new()), chunk: 1024, hands: Arc::default() };
    match LolaKind.gpu(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()) {
        Err(error) => {
            assert!(gpu.loop_limit().unwrap() < 71_000, "{error}");
            assert!(error.to_string().starts_with("LoLA's read of 17000 pairs and 256 features needs "), "{error}");
        }
        Ok(mut layer) => {
            let mut block = TraceBlock::default();
            layer.advance(usize::MAX, Record::All, &mut block).unwrap();
            let outputs = block.pieces[0].values.as_f32().unwrap();
            assert!((outputs[0] - 0.1).abs() < 1e-4, "{outputs:?}");
        }
    }
}

#[test]
fn a_run_of_the_state_alone_is_done_when_it_returns() {
    if gpu_or_skip().is_none() {
        return;
    }
    // A device of its own, where nothing else is on its way.
    let (gpu, _) = crate::gpu::Gpu::open(crate::session::BackendChoice::Gpu).unwrap();
    let workload = crate::layer::workload::Workload { reads: 1, ..crate::layer::workload::Workload::causal(2048) };
    let setup = workload.setup(&LolaKind, &Params::default().with("chunk", 1).with("window", 0)).unwrap();
    let mut layer = LolaKind.gpu(&setup, &GpuStream::new(&gpu, &setup.stream).unwrap()).unwrap();
    layer.advance(600, Record::StateOnly, &mut TraceBlock::default()).unwrap();
    let status = gpu.device.poll(wgpu::PollType::Poll).unwrap();
    assert!(status.is_queue_empty(), "{status:?}");
}
