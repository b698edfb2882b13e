//! Draws a token's life as a thin strip: a bar coloured by memory, marks for what happened, scores as a small curve.

use eframe::egui::{Align2, FontId, Painter, Pos2, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::life::{Event, Kind, Life, Place};
use crate::widget::palette::Ink;

/// Height of the whole strip.
const HEIGHT: f32 = 34.0;
/// Height of its bar.
const BAR: f32 = 7.0;

/// Draws the strip over the width of `ui`; it says what a mark is to the pointer.
pub fn strip(ui: &mut Ui, life: &Life, name: &str) {
    let ink = Ink::of(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let said: Vec<&str> = life.events.iter().map(|e| e.kind.name()).collect();
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("Life in {name}: {}", said.join(", "))));
    let area = rect.shrink2(vec2(6.0, 0.0));
    let x = |writes: usize| area.left() + area.width() * writes as f32 / life.total.max(1) as f32;
    let middle = rect.top() + 15.0;
    let painter = ui.painter_at(rect);
    painter.hline(area.x_range(), middle, Stroke::new(1.0, ink.grid));
    for (range, place) in &life.places {
        let bar =
            Rect::from_min_max(pos2(x(range.start), middle - BAR / 2.0), pos2(x(range.end).max(x(range.start) + 1.0), middle + BAR / 2.0));
        let colour = match place {
            Place::Whole => ink.window,
            Place::Cache => ink.cache,
            Place::Folded => ink.state,
            Place::Gone => {
                // Nothing but a thin line where the bar was.
                painter.hline(bar.x_range(), middle, Stroke::new(1.6, ink.mark));
                continue;
            }
        };
        painter.rect_filled(bar, 1.0, colour);
        // Told by more than colour: what is kept whole in the cache has a line around it.
        if *place == Place::Cache {
            painter.rect_stroke(bar, 1.0, Stroke::new(1.0, ink.text), eframe::egui::StrokeKind::Inside);
        }
    }
    curve(&painter, &ink, life, rect, &x);
    for event in &life.events {
        mark(&painter, &ink, pos2(x(event.at), middle), event.kind);
    }
    painter.vline(x(life.now), rect.top() + 4.0..=rect.top() + 26.0, Stroke::new(1.0, ink.select.gamma_multiply(0.6)));
    let small = FontId::proportional(9.0);
    painter.text(pos2(area.left(), rect.bottom()), Align2::LEFT_BOTTOM, "0", small.clone(), ink.quiet);
    painter.text(pos2(area.right(), rect.bottom()), Align2::RIGHT_BOTTOM, life.total.to_string(), small, ink.quiet);
    let Some(pointer) = response.hover_pos() else { return };
    let near: Vec<&Event> = life.events.iter().filter(|e| (x(e.at) - pointer.x).abs() < 6.0).collect();
    let write = ((pointer.x - area.left()) / area.width() * life.total as f32).clamp(0.0, life.total as f32) as usize;
    response.on_hover_ui_at_pointer(|ui| {
        if near.is_empty() {
            ui.label(format!("after write {write}: {}", place_at(life, write)));
        }
        for event in near {
            ui.label(event.say.plain());
        }
        if let Some((at, score)) = life.scores.iter().min_by_key(|(at, _)| at.abs_diff(write)) {
            ui.label(format!("score {} after write {at}", crate::app::facts::number(*score as f32)));
        }
    });
}

fn place_at(life: &Life, write: usize) -> &'static str {
    match life.places.iter().find(|(range, _)| range.contains(&write)) {
        Some((_, Place::Whole)) => "kept whole",
        Some((_, Place::Cache)) => "in the sparse cache",
        Some((_, Place::Folded)) => "merged or folded",
        Some((_, Place::Gone)) => "nowhere any more",
        None if life.places.first().is_some_and(|(range, _)| write < range.start) => "not written yet",
        None => "not in memory, or after the playhead",
    }
}

/// Scores under the bar, from the smallest to the largest of the token's own.
fn curve(painter: &Painter, ink: &Ink, life: &Life, rect: Rect, x: &dyn Fn(usize) -> f32) {
    let most = life.scores.iter().map(|s| s.1).filter(|s| s.is_finite()).fold(0.0, f64::max);
    if life.scores.len() < 2 || most <= 0.0 {
        return;
    }
    let (bottom, high) = (rect.top() + 33.0, 10.0);
    let points: Vec<Pos2> = life
        .scores
        .iter()
        .filter(|s| s.1.is_finite())
        .map(|(at, score)| pos2(x(*at), bottom - high * (score / most).clamp(0.0, 1.0) as f32))
        .collect();
    painter.add(Shape::line(points, Stroke::new(1.0, ink.limit)));
}

/// A mark: each kind has a shape of its own.
pub fn mark(painter: &Painter, ink: &Ink, at: Pos2, kind: Kind) {
    let outline = Stroke::new(1.2, ink.paper);
    let triangle = |up: bool, colour| {
        let d = if up { -1.0 } else { 1.0 };
        let points = vec![at + vec2(0.0, 5.5 * d), at + vec2(4.8, -3.5 * d), at + vec2(-4.8, -3.5 * d)];
        painter.add(Shape::convex_polygon(points, colour, outline));
    };
    match kind {
        Kind::Written => drop(painter.circle(at, 3.6, ink.text, outline)),
        Kind::Founded => {
            let points = vec![at + vec2(0.0, -5.6), at + vec2(5.6, 0.0), at + vec2(0.0, 5.6), at + vec2(-5.6, 0.0)];
            painter.add(Shape::convex_polygon(points, ink.window, outline));
        }
        Kind::Assigned => drop(painter.circle(at, 4.2, ink.plain, outline)),
        Kind::Joined => drop(painter.circle(at, 3.8, ink.paper, Stroke::new(1.4, ink.plain))),
        Kind::Left => drop(painter.vline(at.x, at.y - 7.0..=at.y + 7.0, Stroke::new(1.8, ink.window))),
        Kind::Scored => drop(painter.vline(at.x, at.y - 9.0..=at.y - 4.5, Stroke::new(1.4, ink.limit))),
        Kind::Cached => triangle(true, ink.cache),
        Kind::Displaced => triangle(false, ink.limit),
        Kind::Folded => {
            let square = Rect::from_center_size(at, vec2(7.0, 7.0));
            painter.rect(square, 0.0, ink.state, Stroke::new(1.2, ink.text), eframe::egui::StrokeKind::Inside);
        }
        Kind::Gone => {
            let stroke = Stroke::new(1.6, ink.mark);
            painter.line_segment([at + vec2(-3.5, -3.5), at + vec2(3.5, 3.5)], stroke);
            painter.line_segment([at + vec2(-3.5, 3.5), at + vec2(3.5, -3.5)], stroke);
        }
    }
}
