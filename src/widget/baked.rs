//! Shapes that are mostly the same from frame to frame, made into triangles once: bars, grids, dashed lines.

use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::epaint::{Mesh, TessellationOptions, Tessellator};
use eframe::egui::{Context, Id, Painter, Shape};

/// The shapes that were drawn last, for which pixels and how, and their triangles, once they have been drawn twice.
#[derive(Debug, Default)]
struct Baked {
    of: Vec<Shape>,
    on: Option<(u32, TessellationOptions)>,
    mesh: Option<Arc<Mesh>>,
}

impl Baked {
    /// The triangles; `None` for shapes that are new: those that change with every frame would be made and kept for nothing.
    fn mesh(&mut self, painter: &Painter, shapes: &[Shape]) -> Option<Arc<Mesh>> {
        let pixels = painter.pixels_per_point();
        let on = (pixels.to_bits(), painter.ctx().tessellation_options(|options| *options));
        if self.on != Some(on) || self.of != shapes {
            *self = Self { of: shapes.to_vec(), on: Some(on), mesh: None };
            return None;
        }
        let bake = || {
            // None of the shapes is text or a disc: what these are drawn with is not needed.
            let mut tessellator = Tessellator::new(pixels, on.1, [1, 1], Vec::new());
            let mut mesh = Mesh::default();
            for shape in shapes {
                tessellator.tessellate_shape(shape.clone(), &mut mesh);
            }
            Arc::new(mesh)
        };
        Some(Arc::clone(self.mesh.get_or_insert_with(bake)))
    }
}

fn unbaked() -> Id {
    Id::unique("shapes are left as they are")
}

/// Leaves shapes as they are from now on, or no longer: for pictures of them in vectors or at another scale.
pub fn leave(ctx: &Context, on: bool) {
    ctx.data_mut(|data| data.insert_temp(unbaked(), on));
}

/// Draws lines, rectangles and polygons, pixel for pixel as [`Painter::extend`] would.
///
/// Where they are those that were drawn for `id` in the frame before, their triangles are taken from there: comparing costs a small part
/// of making them. Shapes of other kinds among them are drawn all the same, anew each time.
pub fn draw(painter: &Painter, id: Id, shapes: Vec<Shape>) {
    let plain = |shape: &Shape| match shape {
        Shape::LineSegment { .. } | Shape::Path(_) => true,
        Shape::Rect(rect) => rect.brush.is_none(),
        _ => false,
    };
    if shapes.is_empty() {
        return;
    }
    if !shapes.iter().all(plain) || painter.ctx().data(|data| data.get_temp(unbaked()).unwrap_or(false)) {
        painter.extend(shapes);
        return;
    }
    let baked = painter.ctx().data_mut(|data| Arc::clone(data.get_temp_mut_or_default::<Arc<Mutex<Baked>>>(id)));
    let mesh = baked.lock().unwrap_or_else(PoisonError::into_inner).mesh(painter, &shapes);
    match mesh {
        Some(mesh) => drop(painter.add(Shape::Mesh(mesh))),
        None => painter.extend(shapes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::epaint::{ClippedPrimitive, Primitive, Vertex};
    use eframe::egui::{Color32, RawInput, Rect, Stroke, StrokeKind, pos2, vec2};

    fn shapes(at: f32) -> Vec<Shape> {
        let rect = Rect::from_min_size(pos2(at, 20.3), vec2(30.2, 17.9));
        let thin = Rect::from_min_size(pos2(at + 40.0, 20.0), vec2(1.3, 9.0));
        let mut all = vec![
            Shape::rect_filled(rect, 0.0, Color32::RED),
            Shape::rect_filled(thin, 0.0, Color32::GREEN),
            Shape::rect_stroke(rect.translate(vec2(3.0, 40.0)), 2.0, Stroke::new(1.5, Color32::BLUE), StrokeKind::Outside),
            Shape::line_segment([pos2(at, 90.0), pos2(at + 50.0, 90.0)], Stroke::new(1.0, Color32::WHITE)),
            Shape::convex_polygon(vec![pos2(at, 99.0), pos2(at + 9.0, 99.5), pos2(at + 4.0, 107.0)], Color32::GOLD, Stroke::NONE),
        ];
        all.extend(Shape::dashed_line(&[pos2(at, 110.0), pos2(at + 70.0, 133.0)], Stroke::new(1.2, Color32::KHAKI), 5.0, 3.0));
        all
    }

    /// What a frame that draws so is on screen: its triangles, each by its corners.
    fn frame(ctx: &Context, pixels: f32, draw: impl Fn(&Painter)) -> Vec<Vertex> {
        ctx.set_pixels_per_point(pixels);
        let mut all = Vec::new();
        // The first of them may lay itself out twice; in the last the triangles are those that were made before it.
        for _ in 0..4 {
            let mut output = ctx.run_ui(RawInput::default(), |ui| draw(ui.painter()));
            output.textures_delta.clear();
            all = ctx.tessellate(output.shapes, output.pixels_per_point);
        }
        let corners = |p: &ClippedPrimitive| match &p.primitive {
            Primitive::Mesh(mesh) => mesh.indices.iter().map(|i| mesh.vertices[*i as usize]).collect::<Vec<_>>(),
            Primitive::Callback(_) => Vec::new(),
        };
        all.iter().flat_map(corners).collect()
    }

    #[test]
    fn baked_shapes_are_the_same_triangles_in_every_frame() {
        let ctx = Context::default();
        for (at, pixels) in [(10.0, 1.0), (10.0, 1.0), (11.7, 1.0), (11.7, 1.5), (10.0, 2.0)] {
            let plain = frame(&ctx, pixels, |painter| painter.extend(shapes(at)));
            let baked = frame(&ctx, pixels, |painter| draw(painter, Id::unique("baked"), shapes(at)));
            assert!(plain.len() > 100, "{}", plain.len());
            assert_eq!(plain, baked, "at {at}, {pixels} pixels a point");
        }
    }

    #[test]
    fn shapes_are_left_as_they_are_where_that_is_wanted() {
        let ctx = Context::default();
        let kinds = |on| {
            leave(&ctx, on);
            // What is drawn once is not baked.
            let frames = [(); 2].map(|()| {
                let mut output = ctx.run_ui(RawInput::default(), |ui| draw(ui.painter(), Id::unique("left"), shapes(10.0)));
                output.textures_delta.clear();
                output.shapes.iter().filter(|s| matches!(s.shape, Shape::Mesh(_))).count()
            });
            frames[1]
        };
        assert_eq!((kinds(false), kinds(true), kinds(false)), (1, 0, 1));
    }

    #[test]
    fn a_disc_among_them_is_drawn_too() {
        let ctx = Context::default();
        let with_disc = || {
            let mut all = shapes(10.0);
            all.push(Shape::circle_filled(pos2(200.0, 50.0), 2.5, Color32::RED));
            all
        };
        let plain = frame(&ctx, 1.0, |painter| painter.extend(with_disc()));
        let baked = frame(&ctx, 1.0, |painter| draw(painter, Id::unique("baked"), with_disc()));
        assert_eq!(plain, baked);
        assert!(frame(&ctx, 1.0, |painter| draw(painter, Id::unique("none"), Vec::new())).is_empty());
    }
}
