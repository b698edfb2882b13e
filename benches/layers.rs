//! A step of each layer, on the CPU and on a real GPU where there is one, and the project's two OVQ figures.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::workload::{Workload, ovq_figure_params, run_to_end};
use mnemoscope::layer::{self, KINDS, Layer, LayerError, LayerKind, Precision, Record, Setup};
use mnemoscope::param::Params;
use mnemoscope::session::BackendChoice;
use mnemoscope::trace::TraceBlock;

/// Writes seen before the step that is timed: memories are filled.
const SEEN: usize = 4096;

fn setup(kind: &dyn LayerKind, writes: usize, params: &Params) -> Setup {
    Workload::causal(writes).setup(kind, params).unwrap_or_else(|e| panic!("{e}"))
}

fn cpu(kind: &dyn LayerKind, setup: &Setup) -> Box<dyn Layer> {
    kind.cpu(setup, Precision::Single).unwrap_or_else(|e| panic!("{e}"))
}

/// One step after `SEEN` writes, by putting the state back before each.
fn time_step(c: &mut Criterion, name: &str, layer: &mut dyn Layer, setup: &Setup) {
    let mut block = TraceBlock::default();
    layer.advance(SEEN / setup.chunk, Record::StateOnly, &mut block).unwrap_or_else(|e| panic!("{e}"));
    let before = layer.snapshot().unwrap_or_else(|e| panic!("{e}"));
    c.benchmark_group("step").sample_size(20).measurement_time(Duration::from_secs(2)).bench_function(name, |b| {
        b.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                layer.restore(&before).unwrap_or_else(|e| panic!("{e}"));
                let start = std::time::Instant::now();
                let mut block = TraceBlock::default();
                layer.advance(1, Record::All, &mut block).unwrap_or_else(|e| panic!("{e}"));
                black_box(block);
                total += start.elapsed();
            }
            total
        });
    });
}

fn steps_on_the_cpu(c: &mut Criterion) {
    for &kind in KINDS {
        let setup = setup(kind, SEEN + 1024, &Params::default());
        time_step(c, &format!("{}/cpu", kind.name()), &mut *cpu(kind, &setup), &setup);
    }
}

/// T = 16384, N = 2048, chunk 128, dk = dv = 64, every token read, traces recorded: the whole run.
fn ovq_issue_cpu(c: &mut Criterion) {
    let Some(kind) = layer::kind("ovq") else { return };
    let setup = setup(kind, 16_384, &ovq_figure_params());
    c.benchmark_group("run").sample_size(10).bench_function("ovq_issue_cpu", |b| {
        b.iter_batched_ref(
            || cpu(kind, &setup),
            |layer| run_to_end(&mut **layer, &setup, 16).unwrap_or_else(|e| panic!("{e}")),
            BatchSize::PerIteration,
        );
    });
}

/// The device, if it is a piece of hardware: figures of a software adapter say nothing.
fn real_gpu() -> Option<Arc<Gpu>> {
    match Gpu::open(BackendChoice::Auto) {
        Ok((gpu, _)) => {
            println!("on {}", gpu.adapter().title());
            Some(gpu)
        }
        Err(error) => {
            println!("no GPU figures: {error}");
            None
        }
    }
}

fn on_gpu(gpu: &Arc<Gpu>, kind: &dyn LayerKind, setup: &Setup) -> Box<dyn Layer> {
    GpuStream::new(gpu, &setup.stream).map_err(LayerError::from).and_then(|s| kind.gpu(setup, &s)).unwrap_or_else(|e| panic!("{e}"))
}

fn steps_on_the_gpu(c: &mut Criterion) {
    let Some(gpu) = real_gpu() else { return };
    for &kind in KINDS {
        let setup = setup(kind, SEEN + 1024, &Params::default());
        time_step(c, &format!("{}/gpu", kind.name()), &mut *on_gpu(&gpu, kind, &setup), &setup);
    }
}

/// T = 65536, N = 2048, chunk 128, dk = dv = 64, every token read, traces recorded and read back: the whole run.
fn ovq_issue_gpu(c: &mut Criterion) {
    let (Some(gpu), Some(kind)) = (real_gpu(), layer::kind("ovq")) else { return };
    let setup = setup(kind, 65_536, &ovq_figure_params());
    let mut layer = on_gpu(&gpu, kind, &setup);
    let start = layer.snapshot().unwrap_or_else(|e| panic!("{e}"));
    c.benchmark_group("run").sample_size(20).bench_function("ovq_issue_gpu", |b| {
        b.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                layer.restore(&start).unwrap_or_else(|e| panic!("{e}"));
                let (time, block) = run_to_end(&mut *layer, &setup, usize::MAX / 2).unwrap_or_else(|e| panic!("{e}"));
                black_box(block);
                total += time;
            }
            total
        });
    });
}

criterion_group!(layers, steps_on_the_cpu, ovq_issue_cpu, steps_on_the_gpu, ovq_issue_gpu);
criterion_main!(layers);
