//! The window without a screen: the same [`App`], laid out for a window that is not there. For `mnemoscope screenshot` and
//! `animate`, and for animations that the window makes beside itself.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use eframe::egui::accesskit::Role;
use eframe::egui::{self, Context, FullOutput, RawInput, Rect, ViewportId, vec2};
use image::RgbaImage;
use thiserror::Error;

use crate::app::app::{Alone, App, Options};
use crate::app::picture::Subject;
use crate::app::picture::caption::Caption;
use crate::app::picture::painter::{PaintError, Painter, check_size};
use crate::app::picture::svg::{self, Outlines, Page};
use crate::app::picture::textures::Textures;
use crate::app::state::Run;
use crate::app::theme::{self, ThemeChoice};
use crate::session::Session;
use crate::session::saved::Saved;
use crate::widget::baked;

/// The longest side of a texture where no device says so.
const TEXTURE_SIDE: usize = 8192;
/// Frames in a row in which nothing was under way before the window counts as settled: sizes of texts and scroll bars settle late.
const CALM: usize = 4;
/// Seconds from one frame to the next, by the clock of the stage. What waits for a moment to pass waits by that clock, and a moment is
/// a few frames.
const SECONDS: f64 = 0.1;
/// A frame that asks for another one within this time is not the last: something in it is still to come.
const SOON: Duration = Duration::from_secs(1);
/// The most frames of a window with nothing under way that are made because the one before asked for another: some never end (a cursor
/// that blinks).
const ASKED: usize = 240;

/// Why a window does not come to rest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unsettled {
    /// The session cannot run, or its run failed.
    #[error("{0}")]
    Run(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// What a stage is to show.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The window, or a panel.
    pub subject: Subject,
    /// Width and height in points.
    pub size: [u32; 2],
    /// Pixels a point.
    pub scale: f32,
    /// True for the dark theme.
    pub dark: bool,
    /// The hash of the session, for captions.
    pub session: String,
}

/// A context that believes it has a window of a certain size.
pub struct Stage {
    setting: Setting,
    ctx: Context,
    frames: u32,
    /// The letters are to be laid into a texture of their own, in this frame and again in the next.
    anew: bool,
    /// The last frame asked for another one soon.
    asks: bool,
    output: Option<FullOutput>,
    /// What paints. Without it there are pictures as SVG only.
    painter: Option<Painter>,
    textures: Textures,
    plots: Vec<String>,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("setting", &self.setting).finish_non_exhaustive()
    }
}

impl Stage {
    /// A stage that paints.
    ///
    /// # Errors
    /// If there is no adapter, or the size is beyond its limits.
    pub fn painting(setting: Setting) -> Result<Self, PaintError> {
        let painter = Painter::open()?;
        painter.check(pixels(&setting))?;
        Ok(Self { painter: Some(painter), ..Self::of(setting) })
    }

    /// A stage for SVG, which needs no adapter and looks for none.
    ///
    /// # Errors
    /// If the size is beyond what a texture can have.
    pub fn drawing(setting: Setting) -> Result<Self, PaintError> {
        check_size(pixels(&setting), TEXTURE_SIDE as u32)?;
        Ok(Self::of(setting))
    }

    fn of(setting: Setting) -> Self {
        let ctx = Context::default();
        // The sentences for screen readers go into the description of a picture.
        ctx.enable_accesskit();
        baked::leave(&ctx, true);
        Self {
            setting,
            ctx,
            frames: 0,
            anew: false,
            asks: false,
            output: None,
            painter: None,
            textures: Textures::default(),
            plots: Vec::new(),
        }
    }

    /// The window on a session, as this stage shows it. `path` is the session's file, if it has one.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn app(&self, session: Session, path: Option<PathBuf>) -> std::io::Result<App> {
        self.app_on(session, path, None)
    }

    /// The same, with the complete run of another window, where there is one.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn app_on(&self, session: Session, path: Option<PathBuf>, run: Option<Run>) -> std::io::Result<App> {
        self.dressed(|ctx, options| match run {
            Some(run) => App::with_run(ctx, session, path, run, options),
            None => App::new(ctx, session, path, options),
        })
    }

    /// The window on a session with its trace, as it was read from the file `path`.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn app_showing(&self, saved: Saved, path: PathBuf) -> std::io::Result<App> {
        self.dressed(|ctx, options| App::showing(ctx, saved, path, options))
    }

    fn dressed(&self, make: impl FnOnce(&Context, Options) -> std::io::Result<App>) -> std::io::Result<App> {
        let theme = if self.setting.dark { ThemeChoice::Dark } else { ThemeChoice::Light };
        // Times differ from run to run: a picture of the same session is the same picture.
        let options = Options { theme: Some(theme), without_times: true, ..Options::default() };
        let mut app = make(&self.ctx, options)?;
        // Nothing moves in a picture.
        self.ctx.all_styles_mut(|style| style.animation_time = 0.0);
        app.show_alone(self.alone());
        Ok(app)
    }

    /// Another picture of the same window.
    pub fn show(&mut self, app: &mut App, subject: Subject) {
        self.setting.subject = subject;
        app.show_alone(self.alone());
    }

    fn alone(&self) -> Option<Alone> {
        match self.setting.subject {
            Subject::Window => None,
            Subject::Panel(panel) => Some(Alone { panel, session: self.setting.session.clone() }),
        }
    }

    /// Runs a frame without painting it.
    pub fn frame(&mut self, app: &mut App) {
        let [width, height] = self.setting.size.map(|s| s as f32);
        let side = self.painter.as_ref().map_or(TEXTURE_SIDE, |p| p.limit() as usize);
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(egui::Pos2::ZERO, vec2(width, height))),
            // Another limit has the letters laid into a texture of their own again.
            max_texture_side: Some(side - usize::from(self.anew)),
            // A clock of its own, so that how fast this machine is decides nothing.
            time: Some(f64::from(self.frames) * SECONDS),
            ..RawInput::default()
        };
        self.frames += 1;
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point = Some(self.setting.scale);
        let mut output = self.ctx.run_ui(input, |ui| app.frame(ui));
        self.asks = output.viewport_output.get(&ViewportId::ROOT).is_some_and(|v| v.repaint_delay < SOON);
        self.plots = plots(&output).into_iter().map(|(_, words)| words).collect();
        match &mut self.painter {
            Some(painter) => painter.update(&output.textures_delta),
            None => self.textures.update(&output.textures_delta),
        }
        output.textures_delta.clear();
        self.output = Some(output);
    }

    /// Runs frames until the window has been at rest for a few that asked for no other; `cancel` ends it early.
    ///
    /// # Errors
    /// If the session cannot run, its run failed, or it was cancelled.
    pub fn settle(&mut self, app: &mut App, cancel: &AtomicBool) -> Result<(), Unsettled> {
        let (mut calm, mut asked) = (0, 0);
        while calm < CALM {
            if cancel.load(Ordering::Relaxed) {
                return Err(Unsettled::Cancelled);
            }
            self.frame(app);
            let failed = app.problem().map(|p| p.message.clone()).or_else(|| app.runs().current().and_then(|r| r.error.clone()));
            if let Some(message) = failed {
                return Err(Unsettled::Run(message));
            }
            if !app.complete() {
                calm = 0;
                std::thread::sleep(Duration::from_millis(2));
            } else if self.asks && asked < ASKED {
                (calm, asked) = (0, asked + 1);
            } else {
                calm += 1;
            }
        }
        // At rest with nothing on screen is no rest.
        if app.runs().current().is_none() {
            return Err(Unsettled::Run("there is no run to show".to_owned()));
        }
        // Letters lie in their texture in the order in which they were drawn first, and that followed how the run came in. Where they lie
        // decides how the last bit of a pixel is rounded: the same session gives the same picture only if they lie alike.
        for anew in [true, false] {
            self.anew = anew;
            self.frame(app);
        }
        Ok(())
    }

    /// The words that go with the picture, with a sentence for each plot in it.
    #[must_use]
    pub fn caption(&self, app: &App) -> Option<Caption> {
        let caption = app.caption(self.setting.subject, &self.setting.session)?;
        Some(Caption { plots: self.plots.clone(), ..caption })
    }

    /// Paints the last frame and reads it back.
    ///
    /// # Errors
    /// If the stage has nothing to paint with, or the device fails.
    pub fn picture(&mut self) -> Result<RgbaImage, PaintError> {
        let shapes = self.output.as_ref().map_or_else(Vec::new, |o| o.shapes.clone());
        let (size, scale, paper) = (pixels(&self.setting), self.ctx.pixels_per_point(), theme::canvas(self.setting.dark));
        match &mut self.painter {
            Some(painter) => painter.paint(&self.ctx, shapes, size, scale, paper),
            None => Err(PaintError::Adapter("this stage is for SVG".to_owned())),
        }
    }

    /// The last frame as SVG.
    #[must_use]
    pub fn svg(&self, caption: &Caption) -> String {
        let shapes = self.output.as_ref().map_or(&[][..], |o| &o.shapes);
        let [width, height] = self.setting.size.map(|s| s as f32);
        let (outlines, paper) = (Outlines::of(&self.ctx), theme::canvas(self.setting.dark));
        let page = Page { size: vec2(width, height), shapes, textures: &self.textures, outlines: &outlines, paper, caption };
        svg::document(&page)
    }
}

/// The size of a picture in pixels.
fn pixels(setting: &Setting) -> [u32; 2] {
    setting.size.map(|s| (s as f32 * setting.scale).round() as u32)
}

/// What each plot of a frame shows, as screen readers have it: each once, from top to bottom and from left to right, with its
/// left edge.
#[must_use]
pub fn plots(output: &FullOutput) -> Vec<(f32, String)> {
    let nodes = output.platform_output.accesskit_update.iter().flat_map(|update| &update.nodes);
    let mut found: Vec<(i64, i64, &str)> = nodes
        .filter(|(_, node)| node.role() == Role::Image)
        .filter_map(|(_, node)| {
            let (at, label) = (node.bounds()?, node.label()?);
            Some((at.y0 as i64, at.x0 as i64, label))
        })
        .filter(|(.., label)| !label.is_empty())
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, x, label)| (x as f32, label.to_owned())).collect()
}
