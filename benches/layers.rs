//! A step of each layer, on the CPU and on a real GPU where there is one, and the project's two OVQ figures.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mnemoscope::layer::workload::{Workload, ovq_figure_params, run_to_end};
use mnemoscope::layer::{self, KINDS, Layer, LayerKind, Precision, Record, Setup};
use mnemoscope::param::Params;
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

criterion_group!(layers, steps_on_the_cpu, ovq_issue_cpu);
criterion_main!(layers);
