//! Shapes as elements: circles, lines, rectangles, curves.

use eframe::egui::epaint::{BandShape, ColorMode, PathShape, PathStroke, RectShape, Shape};
use eframe::egui::{Color32, Pos2, Rect, Stroke, StrokeKind};

use super::pen::{Pen, frame};
use super::{number, painted};

impl Pen<'_> {
    /// Writes one shape; the clip is in force.
    pub(super) fn shape(&mut self, shape: &Shape) {
        match shape {
            // A callback paints with the device's own commands; no panel uses one.
            Shape::Noop | Shape::Callback(_) => {}
            Shape::Vec(shapes) => shapes.iter().for_each(|s| self.shape(s)),
            Shape::Circle(c) => {
                let style = fill_and_stroke(c.fill, c.stroke);
                if !style.is_empty() {
                    let (x, y, r) = (number(c.center.x), number(c.center.y), number(c.radius));
                    self.body += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"{style}/>\n");
                }
            }
            Shape::Ellipse(e) => {
                let (x, y) = (number(e.center.x), number(e.center.y));
                let turn = turned(e.angle, e.center);
                let (rx, ry, style) = (number(e.radius.x), number(e.radius.y), fill_and_stroke(e.fill, e.stroke));
                self.body += &format!("<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{rx}\" ry=\"{ry}\"{turn}{style}/>\n");
            }
            Shape::LineSegment { points, stroke } => self.segment(*points, *stroke),
            Shape::Path(path) => self.path(path),
            Shape::Band(band) => self.band(band),
            Shape::Rect(rect) => self.rect(rect),
            Shape::Text(text) => self.text(text),
            Shape::Mesh(mesh) => self.mesh(mesh),
            Shape::QuadraticBezier(b) => {
                let [a, c, d] = b.points.map(point);
                self.curve(&format!("M{a} Q{c} {d}"), b.closed, b.fill, &b.stroke);
            }
            Shape::CubicBezier(b) => {
                let [a, c, d, e] = b.points.map(point);
                self.curve(&format!("M{a} C{c} {d} {e}"), b.closed, b.fill, &b.stroke);
            }
        }
    }

    /// Lines along an axis lie on whole pixels, as they do in the window: one point wide, they are sharp.
    fn segment(&mut self, [mut a, mut b]: [Pos2; 2], stroke: Stroke) {
        if stroke.is_empty() {
            return;
        }
        let straight = |a: f32, b: f32| (a - b).abs() < 1e-3;
        if straight(a.x, b.x) {
            stroke.round_center_to_pixel(1.0, &mut a.x);
            b.x = a.x;
        }
        if straight(a.y, b.y) {
            stroke.round_center_to_pixel(1.0, &mut a.y);
            b.y = a.y;
        }
        let style = stroked(stroke);
        let to = format!("M{}L{}", point(a), point(b));
        // Many lines in one stroke (a grid, dashes) are one element, if none covers another half.
        let end = format!("\"{style}/>\n");
        let goes_on = self.line.as_ref().is_some_and(|(same, at)| *same == style && *at == self.body.len());
        if goes_on && stroke.color.a() == 255 {
            self.body.truncate(self.body.len() - end.len());
            self.body += &to;
        } else {
            self.body += &format!("<path d=\"{to}");
        }
        self.body += &end;
        self.line = Some((style, self.body.len()));
    }

    fn path(&mut self, path: &PathShape) {
        let stroke = plain(&path.stroke, path.points.first().copied());
        let style = fill_and_stroke(if path.closed { path.fill } else { Color32::TRANSPARENT }, stroke);
        if style.is_empty() || path.points.len() < 2 {
            return;
        }
        let end = if path.closed { "Z" } else { "" };
        self.body += &format!("<path d=\"{}{end}\"{style}/>\n", through(path.points.iter().copied()));
    }

    fn band(&mut self, band: &BandShape) {
        let upper = band.points.iter().map(|p| Pos2::new(p.x, p.y.min));
        let lower = band.points.iter().rev().map(|p| Pos2::new(p.x, p.y.max));
        let (turn, style) = (turned(band.angle, Pos2::ZERO), fill_and_stroke(band.fill, band.stroke));
        self.body += &format!("<path d=\"{}Z\"{turn}{style}/>\n", through(upper.chain(lower)));
    }

    fn rect(&mut self, shape: &RectShape) {
        // A blurred rectangle is a shadow under a menu: paper has none.
        if shape.blur_width > 0.0 {
            return;
        }
        if let Some(brush) = shape.brush.as_ref().filter(|b| b.uv != Rect::ZERO) {
            self.picture(brush.fill_texture_id, brush.uv, shape.rect, shape.fill);
            return;
        }
        let turn = turned(shape.angle, shape.rect.center());
        let radius = shape.corner_radius.average();
        if shape.fill != Color32::TRANSPARENT {
            let round = rounded(radius);
            // Bars side by side end on the same pixel, so that no seams are seen between them; what is thinner might be lost that way.
            let crisp = round.is_empty() && turn.is_empty() && shape.rect.width() >= 1.0 && shape.rect.height() >= 1.0;
            let edges = if crisp { " shape-rendering=\"crispEdges\"" } else { "" };
            self.body += &format!("<rect{}{round}{turn}{edges}{}/>\n", frame(shape.rect), painted("fill", shape.fill));
        }
        if !shape.stroke.is_empty() {
            let half = shape.stroke.width / 2.0;
            let (rect, round) = match shape.stroke_kind {
                StrokeKind::Inside => (shape.rect.shrink(half), rounded(radius - half)),
                StrokeKind::Middle => (shape.rect, rounded(radius)),
                StrokeKind::Outside => (shape.rect.expand(half), rounded(if radius > 0.0 { radius + half } else { 0.0 })),
            };
            self.body += &format!("<rect{}{round}{turn}{}/>\n", frame(rect), stroked(shape.stroke));
        }
    }

    fn curve(&mut self, d: &str, closed: bool, fill: Color32, stroke: &PathStroke) {
        let style = fill_and_stroke(fill, plain(stroke, None));
        let end = if closed { "Z" } else { "" };
        self.body += &format!("<path d=\"{d}{end}\"{style}/>\n");
    }
}

pub(super) fn point(p: Pos2) -> String {
    format!("{} {}", number(p.x), number(p.y))
}

/// A line through points, as SVG's path language has it.
fn through(points: impl Iterator<Item = Pos2>) -> String {
    let mut out = String::new();
    for (i, p) in points.filter(|p| p.is_finite()).enumerate() {
        out.push(if i == 0 { 'M' } else { 'L' });
        out += &point(p);
    }
    out
}

fn rounded(radius: f32) -> String {
    if radius > 0.0 { format!(" rx=\"{}\"", number(radius)) } else { String::new() }
}

pub(super) fn turned(angle: f32, about: Pos2) -> String {
    if angle == 0.0 {
        return String::new();
    }
    format!(" transform=\"rotate({} {})\"", number(angle.to_degrees()), point(about))
}

fn stroked(stroke: Stroke) -> String {
    if stroke.is_empty() {
        return String::new();
    }
    format!("{} stroke-width=\"{}\"", painted("stroke", stroke.color), number(stroke.width))
}

fn fill_and_stroke(fill: Color32, stroke: Stroke) -> String {
    let fill = if fill == Color32::TRANSPARENT { String::new() } else { painted("fill", fill) };
    fill + &stroked(stroke)
}

/// A stroke in one colour: where a path has several, that of its start.
fn plain(stroke: &PathStroke, start: Option<Pos2>) -> Stroke {
    let colour = match &stroke.color {
        ColorMode::Solid(colour) => *colour,
        ColorMode::UV(colours) => colours(Rect::EVERYTHING, start.unwrap_or_default()),
    };
    Stroke::new(stroke.width, colour)
}
