//! Scores over two parameters, as a map with a number in every cell.

use eframe::egui::{Color32, FontId, Rect, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2};

use super::super::common::facts;
use super::model::{Along, Model};
use super::{Heading, figures, point_facts, quiet_line};
use crate::metric::Scored;
use crate::widget::chart::SMALL;
use crate::widget::heatmap::Colours;
use crate::widget::palette::{Ink, Map};

/// Room for the values at the left.
const LEFT: f32 = 64.0;

/// Draws the map of a lane; the point that was clicked.
pub fn draw(ui: &mut Ui, size: Vec2, model: &Model, of: &Heading<'_>, lane: &str, x: &Along, y: &Along) -> Option<usize> {
    let what = model.scored.name();
    let top = ui.cursor().top();
    quiet_line(ui, &format!("{}: {what} of {lane}, {} to the right, {} upwards.", of.title, x.title, y.title), of.whole);
    let size = vec2(size.x, (size.y - (ui.cursor().top() - top)).max(80.0));
    let (outer, response) = ui.allocate_exact_size(size, Sense::CLICK);
    let cells: Vec<(usize, usize, usize)> = model
        .points
        .iter()
        .enumerate()
        .filter_map(|(i, p)| {
            let at = |along: &Along| p.value(&along.title).and_then(|v| along.places.iter().position(|(known, _)| known == v));
            (p.lane == lane).then(|| Some((i, at(x)?, at(y)?))).flatten()
        })
        .collect();
    let scored: Vec<String> =
        cells.iter().map(|(i, _, _)| format!("{} {}", model.points[*i].settings(), figures(&model.points[*i]))).collect();
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Sweep, map of {lane}: {}", scored.join("; "))));
    let ink = Ink::of(ui);
    let painter = ui.painter_at(outer);
    let font = FontId::proportional(SMALL);
    let line = ui.fonts_mut(|f| f.row_height(&font)).ceil();
    let area = Rect::from_min_max(outer.min + vec2(LEFT, 2.0), outer.max - vec2(2.0, line + 4.0));
    let each = vec2(area.width() / x.places.len().max(1) as f32, area.height() / y.places.len().max(1) as f32);
    let cell = |column: usize, row: usize| {
        let corner = pos2(area.left() + column as f32 * each.x, area.bottom() - (row + 1) as f32 * each.y);
        Rect::from_min_size(corner, each).shrink(0.5)
    };
    painter.rect_filled(area, 0.0, ink.paper);
    painter.rect_stroke(area, 0.0, Stroke::new(1.0, ink.frame), StrokeKind::Outside);
    names(&painter, &font, &ink, area, each, x, y);
    let colours = colours(model, &cells, &ink);
    let mut under = None;
    for &(i, column, row) in &cells {
        let (point, rect) = (&model.points[i], cell(column, row));
        let score = point.score();
        let fill = colours.of(score.map(|s| s as f32));
        painter.rect_filled(rect, 0.0, fill);
        let text = painter.layout_no_wrap(score.map_or_else(|| "–".to_owned(), |s| format!("{s:.2}")), font.clone(), legible(fill, &ink));
        if text.size().x + 4.0 < rect.width() && text.size().y < rect.height() {
            painter.galley(rect.center() - text.size() / 2.0, text, ink.text);
        }
        if response.hover_pos().is_some_and(|p| rect.contains(p)) {
            painter.rect_stroke(rect, 0.0, Stroke::new(2.0, ink.select), StrokeKind::Inside);
            under = Some(i);
        }
    }
    let i = under?;
    facts(&response, &model.points[i].title(), &point_facts(model, &model.points[i]));
    response.clicked().then_some(i)
}

/// Accuracies from 0 to 1; errors from the smallest to the largest. Brighter, or darker on light paper, is more.
fn colours(model: &Model, cells: &[(usize, usize, usize)], ink: &Ink) -> Colours {
    let scores = || cells.iter().filter_map(|(i, _, _)| model.points[*i].score());
    let (min, max) =
        if model.scored == Scored::Accuracy { (0.0, 1.0) } else { (scores().fold(f64::INFINITY, f64::min), scores().fold(0.0, f64::max)) };
    Colours { map: Map::Cividis, min: min as f32, max: max as f32, log: false, paper: (!ink.dark).then_some(ink.paper) }
}

/// Black or white, whichever stands out from a colour.
fn legible(fill: Color32, ink: &Ink) -> Color32 {
    if fill.a() == 0 {
        return ink.text;
    }
    let light = 0.299 * f32::from(fill.r()) + 0.587 * f32::from(fill.g()) + 0.114 * f32::from(fill.b());
    if light > 140.0 { Color32::BLACK } else { Color32::WHITE }
}

/// The values of both parameters along the sides.
fn names(painter: &eframe::egui::Painter, font: &FontId, ink: &Ink, area: Rect, each: Vec2, x: &Along, y: &Along) {
    let mut free = f32::NEG_INFINITY;
    for (column, (value, _)) in x.places.iter().enumerate() {
        let text = painter.layout_no_wrap(value.to_string(), font.clone(), ink.quiet);
        let left = area.left() + (column as f32 + 0.5) * each.x - text.size().x / 2.0;
        if left > free {
            free = left + text.size().x + 6.0;
            painter.galley(pos2(left, area.bottom() + 3.0), text, ink.quiet);
        }
    }
    let mut free = f32::INFINITY;
    for (row, (value, _)) in y.places.iter().enumerate() {
        let text = painter.layout_no_wrap(value.to_string(), font.clone(), ink.quiet);
        let top = area.bottom() - (row as f32 + 0.5) * each.y - text.size().y / 2.0;
        if top + text.size().y < free {
            free = top - 1.0;
            painter.galley(pos2(area.left() - 5.0 - text.size().x, top), text, ink.quiet);
        }
    }
}
