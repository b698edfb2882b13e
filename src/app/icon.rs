//! Buttons with painted icons: the same on every system, whatever its fonts hold.

use eframe::egui::{Color32, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2};

/// What is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// A triangle.
    Play,
    /// Two bars.
    Pause,
    /// A triangle and a bar, to the right.
    Forward,
    /// A triangle and a bar, to the left.
    Back,
    /// Two triangles to a bar, on the right.
    End,
    /// Two triangles to a bar, on the left.
    Home,
    /// A loop.
    Repeat,
    /// A question mark.
    Help,
    /// A square that fills the space.
    Maximise,
    /// An arrow that comes back.
    Restore,
    /// An arrow to the left.
    ArrowLeft,
    /// An arrow to the right.
    ArrowRight,
    /// An arrow upwards.
    ArrowUp,
    /// An arrow downwards.
    ArrowDown,
    /// A cross.
    Close,
}

/// A button with an icon. `name` is what screen readers and tests call it; `lit` shows that what it stands for is on.
pub fn button(ui: &mut Ui, icon: Icon, name: &str, lit: bool) -> Response {
    sized(ui, icon, name, lit, vec2(28.0, 22.0))
}

/// The same in another size.
pub fn sized(ui: &mut Ui, icon: Icon, name: &str, lit: bool, size: Vec2) -> Response {
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, name));
    if ui.is_rect_visible(rect) {
        let visuals = ui.style().interact_selectable(&response, lit);
        let quiet = !response.hovered() && !response.has_focus() && !lit && size.x < 24.0;
        if !quiet {
            ui.painter().rect(rect, visuals.corner_radius, visuals.weak_bg_fill, visuals.bg_stroke, StrokeKind::Inside);
        }
        if response.has_focus() {
            let stroke = Stroke::new(1.5, ui.visuals().hyperlink_color);
            ui.painter().rect_stroke(rect, visuals.corner_radius, stroke, StrokeKind::Inside);
        }
        paint(ui, icon, rect, if quiet { ui.visuals().weak_text_color() } else { visuals.text_color() });
    }
    response
}

fn paint(ui: &Ui, icon: Icon, rect: Rect, colour: Color32) {
    let c = rect.center();
    let r = (rect.height() * 0.26).round();
    let painter = ui.painter();
    // A triangle that points right (`d` = 1) or left (-1), its base at x and r wide.
    let triangle = |x: f32, d: f32| {
        let points = vec![pos2(x, c.y - r), pos2(x + d * r * 1.5, c.y), pos2(x, c.y + r)];
        painter.add(Shape::convex_polygon(points, colour, Stroke::NONE));
    };
    let bar = |x: f32| {
        painter.rect_filled(Rect::from_center_size(pos2(x, c.y), vec2(2.0, 2.0 * r)), 0.0, colour);
    };
    match icon {
        Icon::Play => triangle(c.x - r * 0.6, 1.0),
        Icon::Pause => {
            bar(c.x - 2.5);
            bar(c.x + 2.5);
        }
        Icon::Forward => {
            bar(c.x - r * 0.9);
            triangle(c.x - r * 0.3, 1.0);
        }
        Icon::Back => {
            bar(c.x + r * 0.9);
            triangle(c.x + r * 0.3, -1.0);
        }
        Icon::End => {
            triangle(c.x - r * 0.9, 1.0);
            bar(c.x + r * 0.9);
        }
        Icon::Home => {
            triangle(c.x + r * 0.9, -1.0);
            bar(c.x - r * 0.9);
        }
        Icon::Repeat | Icon::Restore => arc(ui, c, r, colour),
        Icon::Help => {
            let font = eframe::egui::FontId::proportional(rect.height() * 0.66);
            painter.text(c, eframe::egui::Align2::CENTER_CENTER, "?", font, colour);
        }
        Icon::Close => {
            for d in [vec2(r, r), vec2(r, -r)] {
                painter.line_segment([c - 0.9 * d, c + 0.9 * d], Stroke::new(1.4, colour));
            }
        }
        Icon::ArrowLeft => arrow(ui, c, vec2(-r, 0.0), colour),
        Icon::ArrowRight => arrow(ui, c, vec2(r, 0.0), colour),
        Icon::ArrowUp => arrow(ui, c, vec2(0.0, -r), colour),
        Icon::ArrowDown => arrow(ui, c, vec2(0.0, r), colour),
        Icon::Maximise => {
            painter.rect_stroke(Rect::from_center_size(c, Vec2::splat(2.0 * r)), 1.0, Stroke::new(1.3, colour), StrokeKind::Inside);
        }
    }
}

/// A shaft and a head that points along `r`.
fn arrow(ui: &Ui, c: Pos2, r: Vec2, colour: Color32) {
    let (stroke, tip) = (Stroke::new(1.5, colour), c + r);
    ui.painter().line_segment([c - r, tip], stroke);
    ui.painter().add(Shape::line(vec![tip - r - r.rot90(), tip, tip - r + r.rot90()], stroke));
}

/// Three quarters of a circle with an arrow head at its end.
fn arc(ui: &Ui, c: Pos2, r: f32, colour: Color32) {
    let at = |turn: f32| c + r * Vec2::angled(turn * std::f32::consts::TAU);
    let points: Vec<Pos2> = (0..=18u8).map(|i| at(-0.15 + 0.72 * f32::from(i) / 18.0)).collect();
    ui.painter().add(Shape::line(points, Stroke::new(1.5, colour)));
    let tip = at(-0.15);
    let head = vec![tip + vec2(-3.6, -0.6), tip + vec2(1.2, 1.8), tip + vec2(1.6, -3.4)];
    ui.painter().add(Shape::convex_polygon(head, colour, Stroke::NONE));
}
