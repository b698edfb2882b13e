//! Something that the window has drawn, taken away to be painted or written elsewhere, at another scale if need be.

use eframe::egui::epaint::{ClippedShape, Shape};
use eframe::egui::{Color32, Context, Pos2, RawInput, Rect, Vec2, ViewportId};
use image::RgbaImage;

use super::caption::Caption;
use super::painter::{PaintError, Painter};
use super::svg::{self, Outlines, Page};
use super::textures::Textures;

/// Shapes with all that they need.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Width and height in points.
    pub size: Vec2,
    /// What is painted, from back to front, from the corner of the picture on.
    pub shapes: Vec<ClippedShape>,
    /// What the textures hold.
    pub textures: Textures,
    /// Which textures are marks with a known outline.
    pub outlines: Outlines,
    /// Behind it all.
    pub paper: Color32,
    /// What it is of.
    pub caption: Caption,
}

impl Scene {
    /// It as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let Self { size, shapes, textures, outlines, paper, caption } = self;
        svg::document(&Page { size: *size, shapes, textures, outlines, paper: *paper, caption })
    }

    /// It in pixels, `scale` of them a point. Letters and lines are drawn anew for that scale; what is a picture in the window is
    /// enlarged. Opens a device of its own.
    ///
    /// # Errors
    /// If there is no adapter, the size is beyond it, or it fails.
    pub fn picture(self, scale: f32) -> Result<RgbaImage, PaintError> {
        let mut painter = Painter::open()?;
        let pixels = [self.size.x, self.size.y].map(|s| (s * scale).round() as u32);
        painter.check(pixels)?;
        let ctx = Context::default();
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            max_texture_side: Some(painter.limit() as usize),
            ..RawInput::default()
        };
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point = Some(scale);
        let mut shapes = self.shapes;
        // Letters are pictures in an atlas that is made for one scale: they are laid out again for this one.
        let mut output = ctx.run_ui(input, |ui| shapes.iter_mut().for_each(|s| set(ui.ctx(), &mut s.shape)));
        painter.update(&output.textures_delta);
        output.textures_delta.clear();
        painter.adopt(&self.textures);
        painter.paint(&ctx, shapes, pixels, scale, self.paper)
    }
}

fn set(ctx: &Context, shape: &mut Shape) {
    match shape {
        Shape::Vec(shapes) => shapes.iter_mut().for_each(|s| set(ctx, s)),
        Shape::Text(text) => text.galley = ctx.fonts_mut(|f| f.layout_job((*text.galley.job).clone())),
        _ => {}
    }
}
