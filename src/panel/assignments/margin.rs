//! The margin left of the raster, where rows themselves are hovered and chosen.

use eframe::egui::{CursorIcon, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::Rows;
use crate::app::command::{Command, ViewCommand};
use crate::panel::common::{facts, plural, token_name};
use crate::panel::{Look, Subject};
use crate::widget::chart::Chart;
use crate::widget::palette::{Ink, blend};

/// The band that is drawn, in points.
const BAND: f32 = 4.0;
/// What answers the pointer, left of the plot.
const REACH: f32 = 30.0;

/// Draws the margin; hovering it tells of the row at that height, a click selects it. Of `highest` rows on the axis there are `now` at the
/// playhead.
pub fn show(
    ui: &Ui,
    look: &Look<'_>,
    lane: usize,
    chart: &Chart,
    (rows, seen, [now, highest]): (&Rows<'_>, usize, [usize; 2]),
    marked: Option<usize>,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let (left, y) = (chart.rect.left(), chart.rect.y_range());
    let area = Rect::from_min_max(pos2((left - REACH).max(ui.min_rect().left()), y.min), pos2(left - 1.0, y.max));
    // Like the plot that it belongs to no stop of the Tab key; were it one, the plot's second response (the lasso's) would follow it
    // under the same id, and Tab would go to and fro between the two for ever.
    let response = ui.interact(area, ui.scope_id().with("margin of rows"), Sense::CLICK);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Margin of the {}", plural(now, "row", "rows"))));
    let band = Rect::from_min_max(pos2(left - 1.0 - BAND, y.min), pos2(left - 1.0, y.max));
    let painter = ui.painter();
    painter.rect_filled(band, 1.0, blend(ink.paper, ink.text, if response.hovered() { 0.3 } else { 0.14 }));
    if let Some(row) = marked {
        let at = pos2(left - 1.0, chart.y_of(rows.place_of(row) as f64 + 0.5));
        let corners = vec![at, at + vec2(-7.0, -4.5), at + vec2(-7.0, 4.5)];
        painter.add(Shape::convex_polygon(corners, ink.select, Stroke::new(1.0, ink.paper)));
    }
    let Some(pointer) = response.hover_pos() else { return };
    let place = chart.values_at(pos2(left, pointer.y)).1.floor().max(0.0) as usize;
    let row = rows.row_at(place.min(highest.saturating_sub(1)));
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    let mut told = Vec::new();
    let members = || (0..seen).filter(|w| rows.row(*w) == Some(row));
    told.push(("row now holds", rows.holds(row, seen)));
    if let Some(founder) = members().find(|w| rows.founder(*w)) {
        told.push(("founded by", token_name(&look.plan.stream, founder)));
    }
    if let Some(last) = members().next_back() {
        told.push(("last", token_name(&look.plan.stream, last)));
    } else {
        let text = if row < now { "holds no token before the playhead" } else { "not founded before the playhead" };
        told.push(("state", text.to_owned()));
    }
    if let Some(order) = rows.order {
        told.push(("rank", format!("{place} from below, as of {}", rows.as_of(order))));
    }
    let each = highest as f32 / (chart.rect.height() * ui.pixels_per_point()).max(1.0);
    if each > 1.0 {
        told.push(("drawn", format!("{each:.1} rows in each pixel; this one is at the pointer's tip")));
    }
    facts(&response, &format!("row {row}"), &told);
    commands.push(Command::View(ViewCommand::HoverRow { lane, row }));
    if response.clicked() {
        commands.push(Command::View(ViewCommand::Choose(Subject::Centroid { lane, row })));
    }
}
