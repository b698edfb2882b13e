//! The window's own work for a frame, with every panel open; see [`mnemoscope::app::frame_bench`].
//!
//! `rest` draws the same moment again; `playing` moves the playhead by a step a frame, so that every picture of the moment
//! is made anew; `hover` moves the pointer over the panels. On the bundled capture (2048 tokens) and on 65536 tokens of needles.
#![allow(missing_docs, reason = "criterion's macros define public items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mnemoscope::app::frame_bench::{Window, sessions};

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("frame");
    group.sample_size(30).measurement_time(Duration::from_secs(4)).warm_up_time(Duration::from_secs(1));
    for (name, session) in sessions() {
        let mut window = Window::new(session).expect("the session runs here");
        group.bench_function(BenchmarkId::new("rest", name), |b| b.iter(|| black_box(window.frame())));
        group.bench_function(BenchmarkId::new("playing", name), |b| b.iter(|| black_box(window.played())));
        group.bench_function(BenchmarkId::new("hover", name), |b| b.iter(|| black_box(window.hovered())));
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
