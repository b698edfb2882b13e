//! Scores against the size of the state, or against a parameter.

use eframe::egui::{Color32, FontId, Label, Painter, Pos2, Rect, Response, RichText, Sense, Stroke, Ui, Vec2, pos2, vec2};

use super::super::common::{facts, plural};
use super::model::{Along, Model, Point};
use super::{Heading, Styles, point_facts, quiet_line};
use crate::metric::Scored;
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::Scale;

/// How near the pointer must be to a point, in points of the screen.
const REACH: f32 = 14.0;
/// Errors above this, twice the target's own size, lie at the edge of the plot.
const LARGEST_ERROR: f64 = 2.0;

/// Draws the points, against the size of the state or along a parameter; the point that was clicked.
pub fn draw(ui: &mut Ui, size: Vec2, model: &Model, of: &Heading<'_>, styles: &Styles, along: Option<&Along>) -> Option<usize> {
    let what = model.scored.name();
    let fronts = if along.is_none() { model.fronts() } else { Vec::new() };
    let top = ui.cursor().top();
    if let Some(along) = along {
        quiet_line(ui, &format!("{}: {what} against {}.", of.title, along.title), of.whole);
    } else {
        let names: Vec<String> = fronts.iter().flatten().map(|&i| model.points[i].title()).collect();
        quiet_line(ui, &format!("{}: on the front {}.", of.title, names.join("; ")), of.whole);
    }
    let row = ui.fonts_mut(|f| f.row_height(&FontId::proportional(SMALL))).ceil();
    let below = row + ui.spacing().item_spacing.y;
    let size = vec2(size.x, (size.y - (ui.cursor().top() - top) - below).max(80.0));
    let mut x = along.map_or_else(|| state_axis(model), parameter_axis);
    let top = highest(model);
    let beyond = model.points.iter().any(|p| p.score().is_some_and(|s| s > top));
    let label = if beyond { format!("{what} (above {top}: at the edge)") } else { what.to_owned() };
    let y = Axis::real(label, 0.0, top * 1.05, Scale::Linear);
    let describe = describe(model, what, along);
    let legend = legend(model, styles, along.is_none(), ui);
    // The name of the axis has a row of its own: beside the ticks it would take the place of the last ones' numbers.
    let name = std::mem::take(&mut x.label);
    let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
    let (place, _) = ui.allocate_exact_size(vec2(size.x, row), Sense::hover());
    let place = place.with_min_x(chart.rect.left());
    ui.put(place, Label::new(RichText::new(name).size(SMALL).color(Ink::of(ui).quiet)).truncate());
    let painter = ui.painter().with_clip_rect(chart.rect.expand(5.0).intersect(ui.clip_rect()));
    let ink = Ink::of(ui);
    for front in &fronts {
        draw_front(&chart, &painter, &ink, model, front);
    }
    let lines = model.lines(along.map(|a| a.title.as_str()));
    let mut places: Vec<(usize, Pos2)> = Vec::new();
    for line in &lines {
        places.extend(draw_line(&chart, &painter, model, styles, line, along));
    }
    for &(i, at) in &places {
        draw_point(&chart, &painter, &ink, &model.points[i], at, styles);
    }
    name_front(&chart, &painter, &ink, model, &fronts, &places);
    pick(ui, &response, model, &lines, &places, along.is_some(), &chart)
}

/// Where a point lies along the x axis; nowhere for a lane that the parameter does not touch.
fn x_of(point: &Point, along: Option<&Along>) -> Option<f64> {
    match along {
        None => Some(point.numbers.max(1) as f64),
        Some(along) => point.value(&along.title).and_then(|v| along.place(v)),
    }
}

fn state_axis(model: &Model) -> Axis {
    let numbers = || model.points.iter().map(|p| p.numbers.max(1) as f64);
    let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(1.0, f64::max));
    Axis::real("numbers held, per head", low / 1.3, high * 1.3, Scale::Log)
}

fn parameter_axis(along: &Along) -> Axis {
    let (low, high) = along.range();
    let scale = if along.log { Scale::Log } else { Scale::Linear };
    Axis { whole: along.words, ..Axis::real(along.label(), low, high, scale) }
}

fn highest(model: &Model) -> f64 {
    if model.scored == Scored::Accuracy {
        return 1.0;
    }
    let tops = model.points.iter().filter_map(|p| p.bar().map(|b| b.1).or_else(|| p.score()));
    // An error far above the others (a state that has run away) would press them onto the axis.
    tops.fold(0.1, f64::max).min(LARGEST_ERROR)
}

fn describe(model: &Model, what: &str, along: Option<&Along>) -> String {
    let against = along.map_or("the size of the state", |a| a.title.as_str());
    let best = |a: &&Point, b: &&Point| a.score().partial_cmp(&b.score()).unwrap_or(std::cmp::Ordering::Equal);
    let scored = || model.points.iter().filter(|p| p.score().is_some());
    let top = if model.scored == Scored::Accuracy { scored().max_by(best) } else { scored().min_by(best) };
    let top = top.map(|p| format!("; best {}, {}", p.title(), super::figures(p))).unwrap_or_default();
    format!("Sweep, {what} against {against}: {}{top}", plural(model.points.len(), "point", "points"))
}

fn legend(model: &Model, styles: &Styles, front: bool, ui: &Ui) -> Vec<Entry> {
    let mut names: Vec<&str> = Vec::new();
    for point in &model.points {
        if !names.contains(&point.lane.as_str()) {
            names.push(&point.lane);
        }
    }
    let entry = |name: &&str| {
        let (colour, dash, mark) = styles.of(name);
        Entry::new(Sign::Marked(dash, mark), colour, *name)
    };
    let mut all: Vec<Entry> = names.iter().map(entry).collect();
    if front {
        all.push(Entry::new(Sign::Square, front_colour(&Ink::of(ui)), "front"));
    }
    all
}

fn front_colour(ink: &Ink) -> Color32 {
    blend(ink.paper, ink.text, 0.32)
}

/// The front as a heavy stair: what is reached with so many numbers stays reached with more.
fn draw_front(chart: &Chart, painter: &Painter, ink: &Ink, model: &Model, front: &[usize]) {
    let mut stair: Vec<Pos2> = Vec::new();
    for &i in front {
        let Some(score) = model.points[i].score() else { continue };
        let at = chart.pos(model.points[i].numbers.max(1) as f64, score);
        if let Some(last) = stair.last().copied() {
            stair.push(pos2(at.x, last.y));
        }
        stair.push(at);
    }
    if let Some(last) = stair.last().copied() {
        stair.push(pos2(chart.rect.right(), last.y));
    }
    line::draw(painter, &stair, Stroke::new(5.0, front_colour(ink)), Dash::Solid);
}

/// One line; where its points lie. A lane that the parameter does not touch is a level line over the whole width.
fn draw_line(
    chart: &Chart,
    painter: &Painter,
    model: &Model,
    styles: &Styles,
    line: &[usize],
    along: Option<&Along>,
) -> Vec<(usize, Pos2)> {
    let Some(first) = line.first() else { return Vec::new() };
    let (colour, dash, _) = styles.of(&model.points[*first].lane);
    let mut places: Vec<(usize, Pos2)> = Vec::new();
    for &i in line {
        let Some(score) = model.points[i].score() else { continue };
        if let Some(x) = x_of(&model.points[i], along) {
            let at = chart.pos(x, score);
            places.push((i, pos2(at.x, at.y.max(chart.rect.top()))));
        } else {
            let y = chart.y_of(score);
            line::draw(painter, &[pos2(chart.rect.left(), y), pos2(chart.rect.right(), y)], Stroke::new(1.4, colour), dash);
        }
    }
    places.sort_by(|a, b| a.1.x.total_cmp(&b.1.x));
    if places.len() > 1 {
        let points: Vec<Pos2> = places.iter().map(|p| p.1).collect();
        line::draw(painter, &points, Stroke::new(1.6, colour), dash);
    }
    places
}

/// A point's sign and its error bar.
fn draw_point(chart: &Chart, painter: &Painter, ink: &Ink, point: &Point, at: Pos2, styles: &Styles) {
    let (colour, _, mark) = styles.of(&point.lane);
    if let Some((low, high)) = point.bar() {
        let (top, bottom) = (chart.y_of(high).max(chart.rect.top()), chart.y_of(low).min(chart.rect.bottom()));
        let stroke = Stroke::new(1.0, colour);
        painter.vline(at.x, top..=bottom, stroke);
        for y in [top, bottom] {
            painter.hline(at.x - 3.0..=at.x + 3.0, y, stroke);
        }
    }
    sign(painter, at, *mark, colour, ink);
}

/// The names of the points on the front, where there is room beside them.
fn name_front(chart: &Chart, painter: &Painter, ink: &Ink, model: &Model, fronts: &[Vec<usize>], places: &[(usize, Pos2)]) {
    let mut taken: Vec<Rect> = places.iter().map(|(_, at)| Rect::from_center_size(*at, vec2(9.0, 9.0))).collect();
    for &i in fronts.iter().flatten() {
        let Some(at) = places.iter().find(|(p, _)| *p == i).map(|(_, at)| *at) else { continue };
        let text = painter.layout_no_wrap(model.points[i].title(), FontId::proportional(SMALL), ink.text);
        let size = text.size();
        let beside = [
            at + vec2(7.0, 4.0),
            at + vec2(-size.x - 7.0, -size.y - 4.0),
            at + vec2(7.0, -size.y - 4.0),
            at + vec2(-size.x - 7.0, 4.0),
            at + vec2(-size.x / 2.0, 8.0),
        ];
        let free = |corner: &&Pos2| {
            let rect = Rect::from_min_size(**corner, size);
            chart.rect.contains_rect(rect) && !taken.iter().any(|t| t.intersects(rect))
        };
        if let Some(corner) = beside.iter().find(free).copied() {
            let rect = Rect::from_min_size(corner, size);
            painter.rect_filled(rect.expand(1.0), 2.0, ink.paper.gamma_multiply(0.75));
            painter.galley(corner, text, ink.text);
            taken.push(rect);
        }
    }
}

/// The point under the pointer: its facts, a ring, and whether it was clicked.
fn pick(
    ui: &Ui,
    response: &Response,
    model: &Model,
    lines: &[Vec<usize>],
    places: &[(usize, Pos2)],
    level: bool,
    chart: &Chart,
) -> Option<usize> {
    let pointer = response.hover_pos()?;
    let near = places.iter().map(|(i, at)| (*i, at.distance(pointer), *at)).filter(|(_, d, _)| *d < REACH);
    let near = near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _, at)| (i, Some(at)));
    // A level line is as near as its height.
    let levels = || {
        let all = lines.iter().flatten().filter(|i| !places.iter().any(|(p, _)| p == *i));
        let away = |i: usize| model.points[i].score().map(|s| (i, (chart.y_of(s) - pointer.y).abs()));
        all.filter_map(|&i| away(i)).filter(|(_, d)| *d < REACH / 2.0).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| (i, None))
    };
    let (i, at) = near.or_else(|| if level { levels() } else { None })?;
    if let Some(at) = at {
        super::super::common::select_ring(ui, chart, at);
    }
    let point = &model.points[i];
    facts(response, &point.title(), &point_facts(model, point));
    response.clicked().then_some(i)
}
