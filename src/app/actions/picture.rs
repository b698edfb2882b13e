//! Pictures that the window takes of itself and of its panels: asked for, drawn, handed to the threads that write them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::emath::TSTransform;
use eframe::egui::epaint::ClippedShape;
use eframe::egui::{ColorImage, Context, Id, LayerId, Order as Layer, Pos2, Rect, Theme, Ui, UiBuilder, Vec2, pos2, vec2};

use crate::app::app::{App, Exporting};
use crate::app::command::{Command, PictureAct};
use crate::app::jobs::{Done, Purpose};
use crate::app::offscreen::{Setting, Stage};
use crate::app::picture::caption::session_hash;
use crate::app::picture::film::{self, Target};
use crate::app::picture::form::{self, Format, Order, Pressed};
use crate::app::picture::mirror::Mirror;
use crate::app::picture::scene::Scene;
use crate::app::picture::svg::Outlines;
use crate::app::picture::{FIGURE, Subject, file};
use crate::app::{tabs, theme};
use crate::widget::baked;

/// Frames in a row at rest before a panel that is drawn apart is taken.
const CALM: usize = 4;

/// What becomes of a still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) enum To {
    File(PathBuf),
    Clipboard,
}

/// A still that is being taken.
#[derive(Debug)]
struct Shot {
    order: Order,
    to: To,
    hash: String,
    /// Frames in a row at rest.
    calm: usize,
    /// What a panel drew, once it is taken.
    shapes: Option<Vec<ClippedShape>>,
    /// True if descriptions for screen readers are made for this picture alone.
    describing: bool,
}

/// What the window is doing about pictures.
#[derive(Debug, Default)]
pub(in crate::app) struct Desk {
    /// What is being asked about.
    form: Option<Order>,
    /// What waits for a path.
    waiting: Option<Order>,
    shot: Option<Shot>,
}

impl Desk {
    /// True while a question is open: keys belong to it.
    pub fn asks(&self) -> bool {
        self.form.is_some()
    }

    /// True while a picture is being taken.
    pub fn busy(&self) -> bool {
        self.shot.is_some()
    }
}

impl App {
    /// Carries out a command about pictures.
    pub(in crate::app) fn picture_command(&mut self, act: PictureAct) {
        if self.runs.current().is_none() {
            return;
        }
        let panel = |name: Option<&'static str>| name.or_else(|| self.layout.in_use()).map_or(Subject::Window, Subject::Panel);
        let (dark, steps) = (self.is_dark(), self.timeline.steps());
        let still = |subject| Order { size: self.size_of(subject), ..Order::still(subject, dark, steps) };
        match act {
            PictureAct::ExportWindow => self.desk.form = Some(still(Subject::Window)),
            PictureAct::ExportPanel(name) => self.desk.form = Some(still(panel(name))),
            PictureAct::Animate(name) => {
                let order = still(panel(name));
                self.desk.form = Some(Order { format: Format::Apng, scale: 1.0, ..order });
            }
            PictureAct::CopyWindow => self.take(Order { scale: self.ctx.pixels_per_point(), ..still(Subject::Window) }, To::Clipboard),
            // What is copied looks as it does on screen.
            PictureAct::CopyPanel(name) => {
                let order = still(panel(name));
                self.take(Order { dark, ..order }, To::Clipboard);
            }
        }
    }

    fn is_dark(&self) -> bool {
        self.ctx.theme() == Theme::Dark
    }

    /// A figure is as large as the panel was on screen, with room for the caption; within reason.
    fn size_of(&self, subject: Subject) -> [u32; 2] {
        let seen = match subject {
            Subject::Panel(name) => self.ctx.data(|data| data.get_temp::<Vec2>(tabs::size_id(name))),
            Subject::Window => None,
        };
        seen.map_or(FIGURE, |s| [(s.x as u32 + 20).clamp(400, 2000), (s.y as u32 + 60).clamp(300, 2000)])
    }

    /// Draws the question, if one is open.
    pub(in crate::app) fn ask_about_picture(&mut self, ctx: &Context) {
        let Some(order) = &mut self.desk.form else { return };
        let Some(pressed) = form::ui(ctx, order, self.timeline.steps()) else { return };
        let order = self.desk.form.take().filter(|_| pressed != Pressed::Cancel);
        if let Some(order) = order {
            let (purpose, extension) = match order.format {
                Format::Png => (Purpose::Picture, "png"),
                Format::Svg => (Purpose::Vector, "svg"),
                Format::Apng => (Purpose::Animation, "png"),
                Format::Frames => (Purpose::Frames, ""),
            };
            let name = match order.subject {
                Subject::Window => self.suggested(extension),
                Subject::Panel(panel) => format!("{}-{panel}.{extension}", self.stem()),
            };
            self.desk.waiting = Some(order);
            if pressed == Pressed::ExportToPath {
                self.ask_path(purpose, None);
            } else {
                self.pick(purpose, name);
            }
        }
        ctx.request_repaint();
    }

    /// The path that a picture waited for.
    pub(in crate::app) fn picture_path(&mut self, path: PathBuf) {
        let Some(order) = self.desk.waiting.take() else { return };
        if order.moves() {
            let target = if order.format == Format::Frames { Target::Folder(path) } else { Target::File(path) };
            self.animate(&order, target);
        } else {
            self.take(order, To::File(path));
        }
    }

    fn take(&mut self, order: Order, to: To) {
        if self.desk.shot.is_some() {
            return;
        }
        let hash = session_hash(&self.session);
        self.desk.shot = Some(Shot { order, to, hash, calm: 0, shapes: None, describing: false });
        self.ctx.request_repaint();
    }

    /// At the end of a frame's painting: draws the panel whose picture is wanted beside the window, where nobody sees it, until it is at
    /// rest; then has the frame taken.
    pub(in crate::app) fn draw_for_picture(&mut self, ui: &Ui, asked: &mut Vec<Command>) {
        let Some(mut shot) = self.desk.shot.take() else { return };
        let ctx = ui.ctx().clone();
        baked::leave(&ctx, true);
        // The words of plots are made only for somebody who listens.
        if !shot.describing && !Mirror::describes(&ctx) {
            shot.describing = true;
            ctx.enable_accesskit();
        }
        let shapes = match shot.order.subject {
            Subject::Window => Vec::new(),
            subject @ Subject::Panel(_) => self.draw_apart(&ctx, subject, &shot, asked),
        };
        // A menu that asked for it is gone after a frame or two; what a panel asks for comes when it comes.
        let rest = self.at_rest() || shot.order.subject == Subject::Window;
        shot.calm = if rest { shot.calm + 1 } else { 0 };
        if shot.calm > CALM {
            shot.shapes = Some(shapes);
            Mirror::want(&ctx);
        }
        self.desk.shot = Some(shot);
        ctx.request_repaint();
    }

    fn draw_apart(&mut self, ctx: &Context, subject: Subject, shot: &Shot, asked: &mut Vec<Command>) -> Vec<ClippedShape> {
        let size = vec2(shot.order.size[0] as f32, shot.order.size[1] as f32);
        let corner = pos2(ctx.content_rect().right().ceil() + 64.0, 0.0);
        let rect = Rect::from_min_size(corner, size);
        let layer = LayerId::new(Layer::Background, Id::unique("figure"));
        let style = ctx.style_of(if shot.order.dark { Theme::Dark } else { Theme::Light });
        let mut apart = Ui::new(ctx.clone(), Id::unique("figure"), UiBuilder::new().layer_id(layer).max_rect(rect).style(style));
        apart.set_clip_rect(rect);
        self.figure(&mut apart, subject, &shot.hash, asked);
        // Taken out of what the window paints.
        let list = ctx.graphics_mut(|graphics| std::mem::take(graphics.entry(layer)));
        let mut shapes: Vec<ClippedShape> = list.all_entries().cloned().collect();
        shapes.iter_mut().for_each(|s| s.transform(TSTransform::from_translation(Pos2::ZERO - corner)));
        shapes
    }

    /// At the start of a frame: what was taken in the last one goes to a thread that writes it.
    pub(in crate::app) fn finish_picture(&mut self) {
        let Some((taken, textures)) = self.desk.shot.as_ref().and_then(|_| Mirror::take(&self.ctx)) else { return };
        let Some(shot) = self.desk.shot.take() else { return };
        baked::leave(&self.ctx, false);
        if shot.describing {
            self.ctx.disable_accesskit();
        }
        let Shot { order, to, hash, shapes, .. } = shot;
        let Some(mut caption) = self.caption(order.subject, &hash) else { return };
        let window = order.subject == Subject::Window;
        let (shapes, size) = if window {
            (taken.shapes, self.ctx.content_rect().size())
        } else {
            (shapes.unwrap_or_default(), vec2(order.size[0] as f32, order.size[1] as f32))
        };
        // Plots of the window lie left of its right edge, those of a panel that is drawn apart right of it.
        let edge = self.ctx.content_rect().right();
        caption.plots = taken.plots.into_iter().filter(|(x, _)| (*x > edge) != window).map(|(_, words)| words).collect();
        let paper = theme::canvas(if window { self.is_dark() } else { order.dark });
        let scene = Scene { size, shapes, textures, outlines: Outlines::of(&self.ctx), paper, caption };
        self.jobs.run(move || write(scene, &order, to));
    }

    fn animate(&mut self, order: &Order, target: Target) {
        if self.exporting.is_some() {
            self.dialogs.error("Export an animation: not begun", "Another export is under way; when it is done, this one can begin.");
            return;
        }
        let (subject, fps, reel) = (order.subject, order.fps, order.reel);
        let size = match subject {
            Subject::Window => [self.ctx.content_rect().width(), self.ctx.content_rect().height()].map(|s| s.round() as u32),
            Subject::Panel(_) => order.size,
        };
        let dark = if subject == Subject::Window { self.is_dark() } else { order.dark };
        let setting = Setting { subject, size, scale: order.scale, dark, session: session_hash(&self.session) };
        let (session, path) = (self.session(), self.path.clone());
        // A run that is complete is not computed again.
        let run = self.runs.current().filter(|r| r.ended && r.error.is_none()).cloned();
        let selection = self.selection.clone();
        let cancel = Arc::new(AtomicBool::new(false));
        self.exporting = Some(Exporting { share: 0.0, cancel: Arc::clone(&cancel) });
        let (outbox, wake) = self.jobs.outbox();
        self.jobs.run(move || {
            let mut progress = |done: usize, of: usize| {
                if outbox.send(Done::Progress(done as f32 / of.max(1) as f32)).is_ok() {
                    wake();
                }
            };
            let made = || -> Result<(), String> {
                let mut stage = Stage::painting(setting).map_err(|e| e.to_string())?;
                let mut app = stage.app_on(session, path, run).map_err(|e| e.to_string())?;
                stage.settle(&mut app, &cancel).map_err(|e| e.to_string())?;
                app.select(selection);
                film::shoot(&mut stage, &mut app, reel, fps, &target, &mut progress, &cancel).map_err(|e| e.to_string())
            };
            let result = made().map(|()| Vec::new());
            let path = match target {
                Target::File(path) | Target::Folder(path) => path,
            };
            Done::Written { purpose: Purpose::Animation, path, result }
        });
    }
}

fn write(scene: Scene, order: &Order, to: To) -> Done {
    let caption = scene.caption.clone();
    match to {
        To::Clipboard => Done::Copied(scene.picture(order.scale).map_err(|e| e.to_string()).map(|picture| {
            let size = [picture.width() as usize, picture.height() as usize];
            Box::new(ColorImage::from_rgba_unmultiplied(size, picture.as_raw()))
        })),
        To::File(path) if order.format == Format::Svg => {
            let result = file::write_text(&path, &scene.svg()).map(|()| Vec::new()).map_err(|e| e.to_string());
            Done::Written { purpose: Purpose::Vector, path, result }
        }
        To::File(path) => {
            let picture = scene.picture(order.scale).map_err(|e| e.to_string());
            let result = picture.and_then(|p| file::write_png(&path, &p, &caption).map_err(|e| e.to_string())).map(|()| Vec::new());
            Done::Written { purpose: Purpose::Picture, path, result }
        }
    }
}
