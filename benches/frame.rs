//! The window's own work for a frame (input, layout, shapes, tessellation; no GPU), with every panel open.
//!
//! `rest` draws the same moment again; `playing` moves the playhead by a step a frame, so that every picture of the moment
//! is made anew; `hover` marks another token each frame. On the bundled capture (2048 tokens) and on 65536 tokens of needles.
#![allow(missing_docs, reason = "criterion's macros define public items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use eframe::egui::{Context, Pos2, RawInput, Rect, vec2};
use mnemoscope::app::command::{TimeCommand, ViewCommand};
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::app::{App, Options};
use mnemoscope::param::Params;
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

struct Window {
    ctx: Context,
    app: App,
    time: f64,
}

impl Window {
    fn new(session: Session) -> Self {
        let ctx = Context::default();
        let options = Options { preferences: None, theme: Some(ThemeChoice::Dark), without_times: true };
        let app = App::new(&ctx, session, None, options).expect("the machine gives threads");
        let mut window = Self { ctx, app, time: 0.0 };
        while !window.app.at_rest() {
            window.frame();
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(window.app.problem().is_none(), "{:?}", window.app.problem());
        for _ in 0..10 {
            window.frame();
        }
        window
    }

    /// One frame; the number of vertices, so that nothing is left out.
    fn frame(&mut self) -> usize {
        self.time += 1.0 / 60.0;
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(1440.0, 900.0)));
        let input = RawInput { screen_rect, time: Some(self.time), ..RawInput::default() };
        let mut output = self.ctx.run_ui(input, |ui| self.app.frame(ui));
        output.textures_delta.clear();
        let meshes = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        meshes.iter().map(|m| if let eframe::egui::epaint::Primitive::Mesh(mesh) = &m.primitive { mesh.vertices.len() } else { 0 }).sum()
    }
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("frame");
    group.sample_size(30).measurement_time(Duration::from_secs(4)).warm_up_time(Duration::from_secs(1));
    let bundled = Session { backend: BackendChoice::Cpu, ..Session::default() };
    let needles = TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 65_536) };
    let long = Session { source: Source::Task(needles), lanes: LaneSpec::first_four(), ..bundled.clone() };
    for (name, session) in [("bundled 2048", bundled), ("needles 65536", long)] {
        let mut window = Window::new(session);
        let (total, step) = (window.app.timeline().total(), window.app.timeline().step());
        group.bench_function(BenchmarkId::new("rest", name), |b| b.iter(|| black_box(window.frame())));
        let mut at = 0;
        group.bench_function(BenchmarkId::new("playing", name), |b| {
            b.iter(|| {
                at = (at + step) % total;
                window.app.ask(TimeCommand::Seek(at).into());
                black_box(window.frame())
            });
        });
        let mut token = 0;
        group.bench_function(BenchmarkId::new("hover", name), |b| {
            b.iter(|| {
                token = (token + 37) % total;
                window.app.ask(ViewCommand::Select(Some(token)).into());
                black_box(window.frame())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
