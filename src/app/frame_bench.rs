//! How long the window's own work for a frame takes (input, layout, shapes, tessellation; no GPU and no display), with every panel
//! open at once. The benchmark and `mnemoscope bench` measure with it.

use std::time::{Duration, Instant};

use eframe::egui::epaint::Primitive;
use eframe::egui::{Context, Event, Pos2, RawInput, Rect, Vec2, pos2, vec2};
use serde::Serialize;
use thiserror::Error;

use crate::app::command::TimeCommand;
use crate::app::theme::ThemeChoice;
use crate::app::{App, Options, presets};
use crate::param::Params;
use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};

/// Points of the window: an ordinary screen.
const SIZE: Vec2 = vec2(1920.0, 1080.0);

/// A run that takes longer than this is given up.
const PATIENCE: Duration = Duration::from_mins(10);

/// Between frames, which a display keeps further apart still: a frame that followed at once would wait for the threads that have just been
/// woken by the one before, and that is no work of its own.
const PAUSE: Duration = Duration::from_millis(3);

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum FrameError {
    /// No threads.
    #[error("the window cannot be made: {0}")]
    Threads(#[from] std::io::Error),
    /// The session cannot run.
    #[error("the session that is measured cannot run: {0}")]
    Session(String),
    /// It takes too long.
    #[error("the run of {0} writes did not come to its end in ten minutes")]
    Slow(usize),
}

/// How the times of many frames are spread, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the frames took no longer.
    pub median: f64,
    /// 99 of 100 frames took no longer.
    pub p99: f64,
    /// The longest one.
    pub longest: f64,
}

impl Spread {
    /// Of these times, in any order; zeros where there are none.
    #[must_use]
    pub fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        // The nearest rank: the smallest time that at least this share of the frames did not exceed.
        let rank = |share: f64| seconds.get(((share * seconds.len() as f64).ceil() as usize).saturating_sub(1)).copied().unwrap_or(0.0);
        Self { median: rank(0.5), p99: rank(0.99), longest: rank(1.0) }
    }
}

/// What one kind of frame took, all in all and panel by panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// What the stream is.
    pub stream: String,
    /// Its writes.
    pub writes: usize,
    /// What happens: `rest` draws the same moment again, `playing` moves the playhead by a step a frame, `hover` moves the pointer
    /// over the panels.
    pub what: &'static str,
    /// The frames.
    pub frame: Spread,
    /// Each panel's part of them, by name.
    pub panels: Vec<(&'static str, Spread)>,
}

/// A window with every panel in a cell of its own, its run complete.
#[derive(Debug)]
pub struct Window {
    ctx: Context,
    app: App,
    time: f64,
    at: usize,
    pointer: Option<Pos2>,
}

/// What the window is measured on: the bundled capture, and 65536 tokens of needles, with the first four lanes.
#[must_use]
pub fn sessions() -> [(&'static str, Session); 2] {
    let bundled = Session { backend: BackendChoice::Cpu, ..Session::default() };
    let needles = TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 65_536) };
    let long = Session { source: Source::Task(needles), lanes: LaneSpec::first_four(), ..bundled.clone() };
    [("bundled", bundled), ("needles", long)]
}

impl Window {
    /// Runs a session to its end.
    ///
    /// # Errors
    /// If the session cannot run, or not in ten minutes.
    pub fn new(mut session: Session) -> Result<Self, FrameError> {
        session.view.layout = ron::to_string(&presets::all_at_once()).ok();
        let ctx = Context::default();
        let options = Options { theme: Some(ThemeChoice::Dark), without_times: true, ..Options::default() };
        let app = App::new(&ctx, session, None, options)?;
        let mut window = Self { ctx, app, time: 0.0, at: 0, pointer: None };
        window.settle()?;
        Ok(window)
    }

    /// Lets frames pass until nothing is under way.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn settle(&mut self) -> Result<(), FrameError> {
        let start = Instant::now();
        let mut calm = 0;
        while calm < 10 {
            self.frame();
            calm = if self.app.at_rest() { calm + 1 } else { 0 };
            if let Some(problem) = self.app.problem() {
                return Err(FrameError::Session(problem.message.clone()));
            }
            if start.elapsed() > PATIENCE {
                return Err(FrameError::Slow(self.app.timeline().total()));
            }
            if calm == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }

    /// One frame as it comes; the number of vertices, so that nothing is left out.
    pub fn frame(&mut self) -> usize {
        self.time += 1.0 / 60.0;
        let events = self.pointer.map(Event::PointerMoved).into_iter().collect();
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, SIZE));
        let input = RawInput { screen_rect, time: Some(self.time), events, ..RawInput::default() };
        let mut output = self.ctx.run_ui(input, |ui| self.app.frame(ui));
        output.textures_delta.clear();
        let meshes = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        meshes.iter().map(|m| if let Primitive::Mesh(mesh) = &m.primitive { mesh.vertices.len() } else { 0 }).sum()
    }

    /// The playhead a step on, from the start again at the end, and a frame.
    pub fn played(&mut self) -> usize {
        let time = self.app.timeline();
        self.at = (self.at + time.step()) % time.total().max(1);
        self.app.ask(TimeCommand::Seek(self.at).into());
        self.frame()
    }

    /// The pointer elsewhere, all over the window in turn, and a frame.
    pub fn hovered(&mut self) -> usize {
        self.at += 1;
        // Two strides without a common measure: every panel is passed, at many places.
        let along = |stride: f32, side: f32| (self.at as f32 * stride).rem_euclid(side);
        self.pointer = Some(pos2(along(37.0, SIZE.x), along(23.0, SIZE.y)));
        self.frame()
    }

    /// The times of `frames` frames of each kind, playing first, so that nothing is asked for the first time while at rest.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn measure(&mut self, stream: &str, frames: usize) -> Result<Vec<Measured>, FrameError> {
        let kinds: [(&'static str, fn(&mut Self) -> usize); 3] =
            [("playing", Self::played), ("hover", Self::hovered), ("rest", Self::frame)];
        let mut all = Vec::new();
        for (what, draw) in kinds {
            if what != "playing" {
                self.app.ask(TimeCommand::Seek(self.app.timeline().total() / 2).into());
                self.settle()?;
            }
            let (mut whole, mut parts) = (Vec::new(), std::collections::BTreeMap::<&'static str, Vec<f64>>::new());
            for _ in 0..frames {
                let start = Instant::now();
                std::hint::black_box(draw(self));
                whole.push(start.elapsed().as_secs_f64());
                for (name, seconds) in self.app.panel_seconds() {
                    parts.entry(name).or_default().push(seconds);
                }
                std::thread::sleep(PAUSE);
            }
            self.pointer = None;
            let panels = parts.into_iter().map(|(name, seconds)| (name, Spread::of(seconds))).collect();
            let writes = self.app.timeline().total();
            all.push(Measured { stream: stream.to_owned(), writes, what, frame: Spread::of(whole), panels });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let spread = Spread::of((1..=200).rev().map(f64::from).collect());
        assert_eq!(spread, Spread { median: 100.0, p99: 198.0, longest: 200.0 });
        assert_eq!(Spread::of(vec![3.0]), Spread { median: 3.0, p99: 3.0, longest: 3.0 });
        assert_eq!(Spread::of(Vec::new()).p99.to_bits(), 0f64.to_bits());
    }

    #[test]
    fn every_panel_is_drawn_and_timed() {
        let (_, mut session) = sessions().into_iter().next_back().unwrap();
        if let Source::Task(task) = &mut session.source {
            task.params.set("T", 1024);
        }
        let mut window = Window::new(session).unwrap();
        let measured = window.measure("needles", 3).unwrap();
        assert_eq!(measured.iter().map(|m| m.what).collect::<Vec<_>>(), ["playing", "hover", "rest"]);
        for m in measured {
            let names: Vec<&str> = m.panels.iter().map(|(name, _)| *name).collect();
            assert!(crate::panel::PANELS.iter().all(|p| names.contains(&p.name)), "{names:?}");
            let sum: f64 = m.panels.iter().map(|(_, s)| s.median).sum();
            assert!(m.frame.median > 0.0 && sum <= m.frame.longest * 1.5, "{sum} {:?}", m.frame);
        }
    }
}
