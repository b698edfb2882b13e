//! The heatmaps of the retention panel: token x step, one for each lane, below each other on one axis of steps.

use eframe::egui::{
    Align2, Color32, EventFilter, FontId, Key as Press, Painter, Rect, Response, Role, ScrollArea, Sense, Shape, Stroke, TextureHandle, Ui,
    Vec2, WidgetInfo, pos2, vec2,
};

use super::rows::{Order, Rows};
use super::{Retention, column_at, error_words, median};
use crate::app::command::{Command, ViewCommand};
use crate::app::facts::Index;
use crate::app::study::retention::Finding;
use crate::panel::Look;
use crate::panel::common::{Canvas, Key, canvas, cover, facts, is_marked, marked_name, point_at, texture, token_name};
use crate::stream::Targets;
use crate::widget::baked;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, SMALL, Sign, sign};
use crate::widget::heatmap::{Colours, Grid, Rule, draw};
use crate::widget::line;
use crate::widget::palette::{Ink, Map, blend};
use crate::widget::ticks::{Scale, number, ticks};

/// Room for the line above each map.
const TITLE: f32 = 15.0;
/// Room for the numbers of the axis of steps.
const AXIS: f32 = 18.0;
/// Room for the marks of marked rows.
const MARKS: f32 = 8.0;
/// The least height of a map.
const LEAST: f32 = 30.0;
/// Between the stripes of what is not written yet.
const STRIPES: f32 = 8.0;

/// What a picture depends on besides lane, head and columns covered: where it is drawn, and the rows.
pub(super) type PictureKey = Key<(Canvas, u64, Order, usize)>;
/// The picture of each lane.
pub(super) type Pictures = Vec<Cached<PictureKey, TextureHandle>>;

/// What the maps share.
pub(super) struct Held<'a> {
    pub finding: &'a Finding,
    pub rows: &'a Rows,
    /// How often the rows have been made.
    pub made: usize,
    pub order: Order,
}

impl Held<'_> {
    /// The value of the axis of steps at which the first column begins (below 0 where fewer steps than a stride come first).
    fn start(&self) -> f64 {
        let probes = self.finding.map.probes();
        probes.columns().first().map_or(0.0, |c| c.step as f64 - probes.stride() as f64)
    }
}

impl Retention {
    /// The maps of all lanes.
    pub(super) fn maps(&mut self, ui: &mut Ui, look: &Look<'_>, finding: &Finding, commands: &mut Vec<Command>) {
        legend(ui, look);
        let lanes = look.lanes.len();
        let known = (0..lanes).map(|l| finding.map.done(l)).min().unwrap_or(0);
        // Rows by error move while the map grows: not more often than the pictures are made again.
        let known = if self.order == Order::Error { cover(known, 0, finding.map.probes().columns().len()) } else { 0 };
        let key = Key::new(look, 0, look.query_head, known, (finding.number, self.order));
        self.rows.get(key.clone(), || Rows::new(&look.plan.stream, &finding.map, look.query_head, self.order));
        let made = self.rows.made();
        let Self { rows, pictures, index, order, .. } = self;
        let rows = rows.get(key, Rows::default);
        let held = Held { finding, rows, made, order: *order };
        pictures.resize_with(lanes, Cached::default);
        let each = (ui.available_height() - AXIS) / lanes as f32 - TITLE;
        ui.spacing_mut().item_spacing.y = 0.0;
        let scroll = ScrollArea::vertical().auto_shrink([false, false]).max_height(ui.available_height() - AXIS).min_scrolled_height(0.0);
        let chart = scroll.show(ui, |ui| {
            let mut last = None;
            for (lane, picture) in pictures.iter_mut().enumerate() {
                let size = vec2(ui.available_width(), TITLE + each.max(LEAST));
                last = Some(strip(ui, look, &held, (lane, size), (picture, index), commands));
            }
            crate::app::focus::follow(ui);
            last
        });
        // The axis stays in sight, however many maps there are to scroll through.
        let (outer, _) = ui.allocate_exact_size(vec2(ui.available_width(), AXIS), Sense::hover());
        if let Some(chart) = chart.inner {
            let rect = Rect::from_x_y_ranges(chart.rect.x_range(), outer.top()..=outer.top());
            axis(ui, look, &Chart { rect, ..chart }, &Ink::of(ui));
        }
    }
}

/// The key of the colours.
fn legend(ui: &mut Ui, look: &Look<'_>) {
    let words = match look.plan.stream.targets() {
        // A model's key is none of its queries.
        Targets::FullAttention => {
            "relative squared error, 0 to 1 or more, when asked with the token's own key, which even full attention need not answer with its value"
        }
        _ => "relative squared error: 0, recalled, to 1 or more, lost",
    };
    let ink = Ink::of(ui);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        // Without a sign: the stripes of what is blank.
        let mut entry = |kind: Option<Sign>, colour: Color32, width: f32, text: &str| {
            let (rect, _) = ui.allocate_exact_size(vec2(width, 12.0), Sense::hover());
            match kind {
                Some(kind) => sign(ui.painter(), rect.center(), kind, colour, &ink),
                None => blank(ui.painter(), rect, &ink),
            }
            let label = eframe::egui::Label::new(eframe::egui::RichText::new(text).size(SMALL).color(ink.quiet));
            ui.add(label.truncate());
        };
        if let Some(name) = marked_name(&look.plan.stream) {
            entry(Some(Sign::Square), ink.mark, 12.0, name);
        }
        entry(None, ink.plain, 20.0, "not written yet");
        entry(Some(Sign::Ramp(Map::Cividis)), ink.plain, 34.0, words);
    });
}

/// The colour of the stripes: the map has blue, grey and yellow, and nothing violet.
fn stripe(ink: &Ink) -> Color32 {
    blend(ink.paper, ink.limit, 0.5)
}

/// Sparse stripes over `rect`, as shapes that keep within it when they are drawn with its clip.
fn stripes(rect: Rect, ink: &Ink) -> Vec<Shape> {
    let (stroke, high) = (Stroke::new(1.0, stripe(ink)), rect.height());
    // From the edge of the screen's own pattern, so that stripes stand still while the area grows.
    let first = (rect.left() / STRIPES).floor() as i32;
    let last = ((rect.right() + high) / STRIPES).ceil() as i32;
    let line = |i: i32| {
        let at = i as f32 * STRIPES;
        Shape::line_segment([pos2(at, rect.top()), pos2(at - high, rect.bottom())], stroke)
    };
    (first..=last).map(line).collect()
}

/// A small area as it is where nothing is written yet, for the key.
fn blank(painter: &Painter, rect: Rect, ink: &Ink) {
    painter.rect_filled(rect, 1.0, ink.paper);
    painter.with_clip_rect(rect.intersect(painter.clip_rect())).extend(stripes(rect, ink));
    painter.rect_stroke(rect, 1.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Inside);
}

/// One lane: its name and what it recalls now, and its map, whose chart is returned.
fn strip(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    (lane, size): (usize, Vec2),
    (picture, index): (&mut Cached<PictureKey, TextureHandle>, &mut Index),
    commands: &mut Vec<Command>,
) -> Chart {
    let ink = Ink::of(ui);
    let (outer, _) = ui.allocate_exact_size(size, Sense::hover());
    let rect = Rect::from_min_max(outer.min + vec2(MARKS, TITLE), pos2(outer.right() - 4.0, outer.bottom() - 2.0));
    let rect = Rect::from_min_max(rect.min.round(), rect.max.round());
    let steps = look.plan.steps();
    let chart = Chart { rect, x: Axis::count("step", steps), y: Axis::count("", held.rows.tokens.len()) };
    let response = ui.interact(rect, ui.scope_id().with(("map", lane)), Sense::click());
    let now = summary(look, held.finding, lane);
    let described =
        format!("Retention of {} tokens in lane {}: {now}", held.finding.map.probes().tokens().len(), look.lanes[lane].plan.name);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &described));
    title(ui, look, lane, outer, &now);
    let painter = ui.painter_at(outer);
    painter.rect_filled(rect, 0.0, ink.paper);
    paint(ui, look, held, (lane, &chart), picture);
    painter.rect_stroke(rect, 0.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Outside);
    marks(ui, look, held, &chart, &ink);
    chart.playhead(ui, playhead(look));
    if response.has_focus() {
        painter.rect_stroke(rect, 0.0, Stroke::new(1.5, ink.select), eframe::egui::StrokeKind::Outside);
        keys(ui, look, held, &response, commands);
    }
    hover(look, held, (lane, &chart, &response), index, commands);
    chart
}

/// Where the playhead is on the axis of steps: a last step that is shorter counts as a whole one.
fn playhead(look: &Look<'_>) -> f64 {
    let (steps, step) = (look.plan.steps() as f64, look.plan.step as f64);
    if look.writes >= look.plan.stream.writes() { steps } else { look.writes as f64 / step }
}

/// The median error at the playhead, of the marked role and of the others.
fn summary(look: &Look<'_>, finding: &Finding, lane: usize) -> String {
    let Some(column) = column_at(finding, lane, look.writes) else { return "not known yet".to_owned() };
    let of = |marked: bool| median(finding, lane, look.query_head, column, |write| is_marked(&look.plan.stream, write) == marked);
    // Two decimals: as much as a title needs.
    match (marked_name(&look.plan.stream), of(true), of(false)) {
        (Some(name), Some(m), Some(o)) => format!("median error now: {name} {m:.2}, others {o:.2}"),
        (Some(name), Some(m), None) => format!("median error now: {name} {m:.2}"),
        (_, _, Some(o)) => format!("median error now: {o:.2}"),
        _ => "no followed token is written yet".to_owned(),
    }
}

fn title(ui: &Ui, look: &Look<'_>, lane: usize, outer: Rect, now: &str) {
    let ink = Ink::of(ui);
    let painter = ui.painter_at(outer);
    let middle = outer.top() + TITLE / 2.0;
    let left = outer.left() + 2.0;
    let of_lane = &look.lanes[lane];
    line::draw(&painter, &[pos2(left, middle), pos2(left + 22.0, middle)], Stroke::new(2.2, of_lane.colour), of_lane.dash());
    let font = FontId::proportional(SMALL);
    let name = painter.text(pos2(left + 27.0, middle), Align2::LEFT_CENTER, &look.lanes[lane].plan.name, font.clone(), ink.text);
    let room = outer.right() - 4.0 - name.right() - 10.0;
    let words = painter.layout_no_wrap(now.to_owned(), font, ink.quiet);
    // A sentence that does not fit is left out: it is on the map for screen readers, and its numbers are on hover.
    if words.size().x <= room {
        painter.galley(pos2(outer.right() - 4.0 - words.size().x, middle - words.size().y / 2.0), words, ink.quiet);
    }
}

/// The map up to the playhead.
fn paint(ui: &Ui, look: &Look<'_>, held: &Held<'_>, (lane, chart): (usize, &Chart), cached: &mut Cached<PictureKey, TextureHandle>) {
    let (map, ink) = (&held.finding.map, Ink::of(ui));
    let columns = map.probes().columns();
    let seen = columns.partition_point(|c| c.writes <= look.writes);
    let covered = cover(map.done(lane), seen.min(map.done(lane)), columns.len());
    let (start, end) = (held.start(), look.plan.steps() as f64);
    let whole = Rect::from_x_y_ranges(chart.x_of(start)..=chart.x_of(end), chart.rect.y_range());
    let canvas = canvas(ui, whole);
    // Blank must look like no error at all: not like recalled, which is almost black on a dark screen, nor like any grey of the map. What
    // is not computed yet, or after the playhead, is paper.
    let known = covered.checked_sub(1).map_or(start, |last| columns[last].step as f64).min(playhead(look));
    let area = chart.rect.intersect(Rect::from_x_y_ranges(whole.left()..=chart.x_of(known), chart.rect.y_range()));
    if area.is_positive() {
        let id = ui.scope_id().with(("blank", lane));
        baked::draw(&ui.painter().with_clip_rect(area.intersect(ui.clip_rect())), id, stripes(area, &ink));
    }
    let key = Key::new(look, lane, look.query_head, covered, (canvas, held.finding.number, held.order, held.made));
    let picture = cached.get(key, || {
        let grid = grid(held, lane, look.query_head, covered);
        texture(ui, "retention", draw(&grid, canvas.0[0], canvas.0[1], Rule::Mean, colours(&ink)))
    });
    let share = ((playhead(look) - start) / (end - start).max(1.0)).clamp(0.0, 1.0) as f32;
    let mut rect = whole;
    rect.set_width(whole.width() * share);
    let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(share, 1.0));
    chart.painter(ui).image(picture.id(), rect, uv, Color32::WHITE);
}

fn colours(ink: &Ink) -> Colours {
    Colours { map: Map::Cividis, min: 0.0, max: 1.0, log: false, paper: (!ink.dark).then_some(ink.paper) }
}

/// The errors of a lane [rows, columns], row 0 at the bottom. Errors above 1 are at 1 before a pixel's mean is taken, so that
/// one that is far off does not hide that its neighbours are recalled.
fn grid(held: &Held<'_>, lane: usize, head: usize, covered: usize) -> Grid {
    let map = &held.finding.map;
    let columns = map.probes().columns().len();
    let mut grid = Grid::empty(held.rows.tokens.len(), columns);
    for (row, &token) in held.rows.tokens.iter().rev().enumerate() {
        for column in 0..covered {
            grid.cells[row * columns + column] = map.error(lane, head, column, token).map(|e| if e.is_nan() { e } else { e.min(1.0) });
        }
    }
    grid
}

/// Marks of the marked rows, borders between roles, and the row of the selected token.
fn marks(ui: &Ui, look: &Look<'_>, held: &Held<'_>, chart: &Chart, ink: &Ink) {
    let rows = held.rows.tokens.len();
    let y = |row: usize| chart.y_of((rows - row) as f64);
    for stretch in held.rows.marked_stretches() {
        let (top, bottom) = (y(stretch.start), y(stretch.end));
        let bar = Rect::from_x_y_ranges(chart.rect.left() - MARKS + 2.0..=chart.rect.left() - 2.0, top..=bottom.max(top + 1.5));
        ui.painter().with_clip_rect(chart.rect.expand2(vec2(MARKS, 1.0)).intersect(ui.clip_rect())).rect_filled(bar, 0.0, ink.mark);
    }
    let painter = chart.painter(ui);
    for &border in &held.rows.borders {
        painter.hline(chart.rect.x_range(), y(border), Stroke::new(1.0, ink.text.gamma_multiply(0.7)));
    }
    let followed = held.finding.map.probes().tokens();
    let selected = look.selection.current().and_then(|t| followed.binary_search(&t).ok()).and_then(|t| held.rows.of(t));
    if let Some(range) = selected {
        let (top, bottom) = (y(range.start), y(range.end).max(y(range.start) + 2.0));
        for (width, colour) in [(3.0, ink.paper), (1.4, ink.select)] {
            painter.hline(chart.rect.x_range(), top, Stroke::new(width, colour));
            painter.hline(chart.rect.x_range(), bottom, Stroke::new(width, colour));
        }
    }
}

fn axis(ui: &Ui, look: &Look<'_>, chart: &Chart, ink: &Ink) {
    let painter = ui.painter();
    let font = FontId::proportional(SMALL);
    let top = chart.rect.bottom() + 4.0;
    let label = painter.layout_no_wrap(format!("step of {} writes", look.plan.step), font.clone(), ink.quiet);
    let edge = chart.rect.right() - label.size().x;
    painter.galley(pos2(edge, top), label, ink.quiet);
    let wanted = (chart.rect.width() / 56.0).floor().clamp(1.0, 12.0) as usize;
    for value in ticks(chart.x.min, chart.x.max, Scale::Linear, wanted, true) {
        let at = chart.x_of(value);
        painter.vline(at, chart.rect.bottom()..=chart.rect.bottom() + 3.0, Stroke::new(1.0, ink.frame));
        let text = painter.layout_no_wrap(number(value), font.clone(), ink.quiet);
        let left = at - text.size().x / 2.0;
        if left + text.size().x + 8.0 < edge {
            painter.galley(pos2(left.max(chart.rect.left() - MARKS), top), text, ink.quiet);
        }
    }
}

/// Arrows up and down select the token of the row above or below.
fn keys(ui: &Ui, look: &Look<'_>, held: &Held<'_>, response: &Response, commands: &mut Vec<Command>) {
    let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|m| m.set_focus_lock_filter(response.id, filter));
    let (up, down) = ui.input(|i| (i.key_pressed(Press::ArrowUp), i.key_pressed(Press::ArrowDown)));
    if !(up || down) {
        return;
    }
    let followed = held.finding.map.probes().tokens();
    let here = look.selection.token.and_then(|t| followed.binary_search(&t).ok()).and_then(|t| held.rows.of(t));
    let row = match here {
        Some(range) if up => range.start.saturating_sub(1),
        Some(range) => range.end.min(held.rows.tokens.len() - 1),
        None => 0,
    };
    if let Some(&token) = held.rows.tokens.get(row) {
        commands.push(Command::View(ViewCommand::Select(followed.get(token).copied())));
    }
}

fn hover(
    look: &Look<'_>,
    held: &Held<'_>,
    (lane, chart, response): (usize, &Chart, &Response),
    index: &mut Index,
    commands: &mut Vec<Command>,
) {
    let Some(pointer) = response.hover_pos() else { return };
    let map = &held.finding.map;
    let rows = held.rows.tokens.len();
    if rows == 0 {
        return;
    }
    let (x, y) = chart.values_at(pointer);
    let row = (rows - 1).saturating_sub(y.max(0.0) as usize);
    let (token, column) = (held.rows.tokens[row], map.probes().columns().partition_point(|c| (c.step as f64) < x));
    let write = map.probes().tokens()[token];
    let mut told = Vec::new();
    let Some(at) = map.probes().columns().get(column).filter(|c| c.writes <= look.writes) else {
        told.push(("here", "after the playhead".to_owned()));
        facts(response, &token_name(&look.plan.stream, write), &told);
        point_at(response, Some(write), commands);
        return;
    };
    told.push(("after step", format!("{} ({} writes)", at.step - 1, at.writes)));
    told.push(("lane", look.lanes[lane].plan.name.clone()));
    let error = map.error(lane, look.query_head, column, token);
    told.push(("error", error_words(error, write < at.writes, column < map.done(lane))));
    // The same window, as it was after that step.
    let then = Look { writes: at.writes, ..*look };
    let place = index.facts(&then, lane, write);
    told.push(("where it is then", place.place));
    let extra: Vec<(String, String)> = place.rows.into_iter().take(2).collect();
    told.extend(extra.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let pixels = (chart.rect.height() * response.ctx.pixels_per_point()) as usize;
    if rows > pixels {
        told.push(("drawn", format!("the {} of the {:.1} rows in each pixel", Rule::Mean.title(), rows as f64 / pixels.max(1) as f64)));
    }
    facts(response, &token_name(&look.plan.stream, write), &told);
    point_at(response, Some(write), commands);
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::Visuals;

    #[test]
    fn the_stripes_of_what_is_not_written_have_no_colour_of_the_map() {
        for dark in [false, true] {
            let ink = Ink::for_visuals(&crate::app::theme::visuals(dark));
            let (colours, stripe) = (colours(&ink), stripe(&ink));
            let far = |c: Color32| {
                let part = |a: u8, b: u8| f32::from(a.abs_diff(b)).powi(2);
                (part(c.r(), stripe.r()) + part(c.g(), stripe.g()) + part(c.b(), stripe.b())).sqrt()
            };
            for i in 0..=100_u8 {
                let error = f32::from(i) / 100.0;
                assert!(far(colours.of(Some(error))) > 20.0, "dark {}: an error of {error} looks like {stripe:?}", ink.dark);
            }
            assert!(far(ink.paper) > 50.0, "they are seen: {stripe:?}");
        }
    }

    #[test]
    fn stripes_cover_an_area_from_edge_to_edge() {
        let rect = Rect::from_min_size(pos2(13.0, 5.0), vec2(50.0, 20.0));
        let ink = Ink::for_visuals(&Visuals::dark());
        let ends: Vec<_> = stripes(rect, &ink)
            .iter()
            .map(|s| if let Shape::LineSegment { points, .. } = s { *points } else { panic!("a line") })
            .collect();
        assert!(ends.first().is_some_and(|[top, _]| top.x <= rect.left()), "{ends:?}");
        assert!(ends.last().is_some_and(|[_, bottom]| bottom.x >= rect.right()), "{ends:?}");
        assert!(ends.windows(2).all(|w| (w[1][0].x - w[0][0].x - STRIPES).abs() < 1e-4));
    }
}
