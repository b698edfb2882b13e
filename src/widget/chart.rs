//! A plot area with axes: paper, grid, ticks, labels with units, and the way from values to points and back.
//!
//! Everything that is drawn against axes goes through it, so that all plots of the window look alike.

use std::sync::Arc;

use eframe::egui::{Color32, FontId, Galley, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};

use super::heatmap::Colours;
use super::legend::{draw_head, elided, head_rows, in_words, whole_on_hover};
use super::line::{self, Dash};
use super::palette::{Ink, Map, blend};
use super::ticks::{Scale, labels, ticks};

/// The size of the letters on axes and legends.
pub const SMALL: f32 = 11.0;
const TICK: f32 = 4.0;
/// The room, in points, in which a name that is cut can still be guessed.
const LETTERS: f32 = 28.0;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What runs along it, with its unit: `step (64 writes each)`.
    pub label: String,
    /// The value at its start.
    pub min: f64,
    /// The value at its end.
    pub max: f64,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// True if only whole numbers have a meaning.
    pub whole: bool,
    /// The names of kinds, where the axis has these in place of numbers: kind `i` takes the place from i to i + 1.
    pub names: Vec<String>,
    /// Where the numbers of an upward axis end before the axis does: what is drawn beyond has no measure in it.
    pub until: Option<f64>,
}

impl Axis {
    /// A linear axis of whole numbers from 0.
    #[must_use]
    pub fn count(label: impl Into<String>, max: usize) -> Self {
        Self { label: label.into(), min: 0.0, max: max.max(1) as f64, scale: Scale::Linear, whole: true, names: Vec::new(), until: None }
    }

    /// An axis of real numbers.
    #[must_use]
    pub fn real(label: impl Into<String>, min: f64, max: f64, scale: Scale) -> Self {
        Self { label: label.into(), min, max, scale, whole: false, names: Vec::new(), until: None }
    }

    /// An axis of kinds with these names.
    #[must_use]
    pub fn kinds(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { names: names.clone(), ..Self::count(label, names.len()) }
    }

    /// Where a value lies: 0 at the start, 1 at the end. On a logarithmic axis what is not above zero lies at minus infinity.
    #[must_use]
    pub fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Log if value > 0.0 => (value / self.min).ln() / (self.max / self.min).ln(),
            Scale::Log => f64::NEG_INFINITY,
        }
    }

    /// The value at a share of the way, the inverse of [`Axis::share`].
    #[must_use]
    pub fn value(&self, share: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.min + share * (self.max - self.min),
            Scale::Log => self.min * (self.max / self.min).powf(share),
        }
    }
}

/// A plot area on screen with its axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The area, in points.
    pub rect: Rect,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
}

/// What a line of a legend shows before its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A small filled circle.
    Dot,
    /// An open circle.
    Ring,
    /// A filled diamond.
    Diamond,
    /// A filled square.
    Square,
    /// A square with stripes.
    Stripes,
    /// A square with dots.
    Dotted,
    /// A line with these dashes.
    Line(Dash),
    /// A line with these dashes and a sign on it.
    Marked(Dash, &'static Sign),
    /// A triangle that points up.
    Up,
    /// An open triangle that points down.
    Down,
    /// A colour map from its start to its end, as a heatmap shows it.
    Ramp(Map),
    /// From this colour to the entry's own.
    Shade(Color32),
}

/// A line of a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The sign.
    pub sign: Sign,
    /// Its colour.
    pub colour: Color32,
    /// What it means.
    pub text: String,
}

impl Entry {
    /// A line of a legend.
    #[must_use]
    pub fn new(sign: Sign, colour: Color32, text: impl Into<String>) -> Self {
        Self { sign, colour, text: text.into() }
    }

    /// The room that the sign takes before its words.
    pub(super) fn room(&self) -> f32 {
        match self.sign {
            Sign::Line(_) | Sign::Marked(..) => 29.0,
            Sign::Ramp(_) | Sign::Shade(_) => 37.0,
            _ => 16.0,
        }
    }
}

impl Chart {
    /// Takes `size` of `ui`, draws paper, grid, ticks and labels, and returns what the pointer does over the plot area.
    ///
    /// `describe` says in a sentence what is drawn: screen readers read it, and after it the whole legend in words; tests find the plot by
    /// it. `legend` stands above the plot at the right, the name of the upward axis at the left; in a narrow plot the legend has a row of
    /// its own, in a low one it is cut, and what is cut is on hover.
    pub fn show(ui: &mut Ui, size: Vec2, x: Axis, y: Axis, legend: &[Entry], describe: &str) -> (Response, Self) {
        let rows = head_rows(ui, size, &y.label, legend);
        Self::show_under(ui, size, x, y, legend, describe, rows)
    }

    /// Like [`Chart::show`], with `rows` rows (see [`head_rows`]) above the plot: so that plots side by side are as high.
    pub fn show_under(ui: &mut Ui, size: Vec2, x: Axis, y: Axis, legend: &[Entry], describe: &str, rows: usize) -> (Response, Self) {
        let ink = Ink::of(ui);
        let (outer, space) = ui.allocate_exact_size(size, Sense::hover());
        let painter = ui.painter_at(outer);
        let font = FontId::proportional(SMALL);
        let line = ui.fonts_mut(|f| f.row_height(&font)).ceil();
        let measured = y.until.map_or(1.0, |end| y.share(end).clamp(0.0, 1.0)) as f32;
        let y_wanted = wanted((outer.height() - 2.0 * line) * measured, 2.4 * line);
        let y_ticks = ticks(y.min, y.until.unwrap_or(y.max), y.scale, y_wanted, y.whole);
        let y_texts: Vec<_> = labels(&y_ticks).into_iter().map(|v| painter.layout_no_wrap(v, font.clone(), ink.quiet)).collect();
        let left = y_texts.iter().map(|g| g.size().x).fold(0.0, f32::max) + TICK + 4.0;
        let head = rows.max(1) as f32 * line + 4.0;
        let rect = Rect::from_min_max(outer.min + vec2(left, head), outer.max - vec2(6.0, line + TICK + 2.0));
        let rect = Rect::from_min_size(rect.min.round(), rect.size().max(vec2(8.0, 8.0)).round());
        // No stop of the Tab key: keys do nothing in a plot, and what a click selects is had from lists, links, the search and the palette too.
        let response = ui.interact(rect, space.id.with("plot"), Sense::CLICK);
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, describe));
        if !legend.is_empty() {
            ui.ctx().accesskit_node_builder(response.id, |node| node.set_description(in_words(legend)));
        }
        let chart = Self { rect, x, y };
        painter.rect_filled(rect, 0.0, ink.paper);
        let mut above = f32::INFINITY;
        for (value, text) in y_ticks.iter().zip(y_texts) {
            let at = chart.y_of(*value);
            painter.hline(rect.x_range(), at, Stroke::new(1.0, ink.grid));
            // In a low plot two numbers may be all that there is room for.
            if at + line * 0.9 <= above {
                painter.galley(pos2(rect.left() - TICK - text.size().x, at - text.size().y / 2.0), text, ink.quiet);
                above = at;
            }
        }
        chart.draw_x(ui, &painter, &ink, &font, wanted(rect.width(), 56.0));
        painter.rect_stroke(rect, 0.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Outside);
        let words = Rect::from_min_max(outer.min + vec2(2.0, 0.0), pos2(rect.right(), rect.top()));
        draw_head(ui, &painter, &ink, words, &chart.y.label, legend, rows);
        (response, chart)
    }

    fn draw_x(&self, ui: &Ui, painter: &Painter, ink: &Ink, font: &FontId, wanted: usize) {
        if !self.x.names.is_empty() {
            self.draw_kinds(ui, painter, ink);
            return;
        }
        let top = self.rect.bottom() + TICK;
        let texts_of = |wanted: usize| -> Vec<(f32, Arc<Galley>)> {
            let values = ticks(self.x.min, self.x.max, self.x.scale, wanted, self.x.whole);
            let texts = labels(&values).into_iter().map(|text| painter.layout_no_wrap(text, font.clone(), ink.quiet));
            values.iter().zip(texts).map(|(value, text)| (self.x_of(*value), text)).collect()
        };
        let left_of = |at: f32, text: &Galley| (at - text.size().x / 2.0).max(self.rect.left() - 12.0);
        // What is left for the name beyond the second number.
        let room_of = |texts: &[(f32, Arc<Galley>)]| {
            texts.get(1).map_or(f32::INFINITY, |(at, text)| self.rect.right() - (left_of(*at, text) + text.size().x + 9.0))
        };
        // A scale is read off two numbers: the name gives way to the second, as long as some letters of it are left; where it stands at
        // the end of the axis, a finer step puts another before it.
        let mut texts = texts_of(wanted);
        if room_of(&texts) < LETTERS && !self.x.label.is_empty() {
            let more = texts_of(2 * wanted.max(2));
            if room_of(&more) >= LETTERS {
                texts = more;
            }
        }
        let room = Some(room_of(&texts)).filter(|room| *room >= LETTERS).map_or(self.rect.width(), |room| room.min(self.rect.width()));
        let label = elided(painter, &self.x.label, room, ink.quiet);
        let label_left = self.rect.right() - label.size().x;
        let mut free = f32::NEG_INFINITY;
        for (at, text) in texts {
            painter.vline(at, self.rect.y_range(), Stroke::new(1.0, ink.grid));
            painter.vline(at, self.rect.bottom()..=self.rect.bottom() + TICK - 1.0, Stroke::new(1.0, ink.frame));
            let mut left = left_of(at, &text);
            if self.x.label.is_empty() {
                // Nothing stands in the way: the last number is drawn too, as far to the right as there is room.
                left = left.min(self.rect.right() + 6.0 - text.size().x);
            }
            let right = left + text.size().x;
            if left >= free && (self.x.label.is_empty() || right + 8.0 < label_left) {
                painter.galley(pos2(left, top), text, ink.quiet);
                free = right + 2.0;
            }
        }
        let place = Rect::from_min_size(pos2(label_left, top), label.size());
        whole_on_hover(ui, place, &label, &self.x.label);
        painter.galley(place.min, label, ink.quiet);
    }

    /// The names of kinds, each in its own place, cut where it is too narrow.
    fn draw_kinds(&self, ui: &Ui, painter: &Painter, ink: &Ink) {
        let top = self.rect.bottom() + TICK;
        for (i, name) in self.x.names.iter().enumerate() {
            let (from, to) = (self.x_of(i as f64), self.x_of(i as f64 + 1.0));
            if i > 0 {
                painter.vline(from, self.rect.y_range(), Stroke::new(1.0, ink.grid));
            }
            let text = elided(painter, name, to - from - 4.0, ink.quiet);
            let at = pos2((from + to - text.size().x) / 2.0, top);
            whole_on_hover(ui, Rect::from_min_size(at, text.size()), &text, name);
            painter.galley(at, text, ink.quiet);
        }
    }

    /// Where a value lies along the screen's width.
    #[must_use]
    pub fn x_of(&self, value: f64) -> f32 {
        self.rect.left() + (self.x.share(value) * f64::from(self.rect.width())) as f32
    }

    /// Where a value lies along the screen's height.
    #[must_use]
    pub fn y_of(&self, value: f64) -> f32 {
        self.rect.bottom() - (self.y.share(value) * f64::from(self.rect.height())) as f32
    }

    /// Where a pair of values lies.
    #[must_use]
    pub fn pos(&self, x: f64, y: f64) -> Pos2 {
        pos2(self.x_of(x), self.y_of(y))
    }

    /// The values at a point.
    #[must_use]
    pub fn values_at(&self, point: Pos2) -> (f64, f64) {
        let x = f64::from((point.x - self.rect.left()) / self.rect.width());
        let y = f64::from((self.rect.bottom() - point.y) / self.rect.height());
        (self.x.value(x), self.y.value(y))
    }

    /// A painter that keeps within the plot area.
    #[must_use]
    pub fn painter(&self, ui: &Ui) -> Painter {
        ui.painter().with_clip_rect(self.rect.intersect(ui.clip_rect()))
    }

    /// The playhead: an upright line at `x`, and nothing to its right but paper.
    pub fn playhead(&self, ui: &Ui, x: f64) {
        let ink = Ink::of(ui);
        let at = self.x_of(x).round();
        let painter = ui.painter().with_clip_rect(self.rect.expand(5.0).intersect(ui.clip_rect()));
        painter.vline(at, self.rect.y_range(), Stroke::new(1.5, ink.text));
        let tip = pos2(at, self.rect.top() + 5.0);
        painter.add(Shape::convex_polygon(vec![tip + vec2(-4.5, -6.0), tip + vec2(4.5, -6.0), tip], ink.text, Stroke::NONE));
    }
}

/// How many numbers an axis has room for, each with so many points of its own; two where that is nearly so.
fn wanted(points: f32, each: f32) -> usize {
    let many = (points / each).floor().clamp(1.0, 12.0) as usize;
    if points >= each { many.max(2) } else { many }
}

/// Draws the sign of a legend or a mark, about nine points in size.
pub fn sign(painter: &Painter, at: Pos2, which: Sign, colour: Color32, ink: &Ink) {
    let square = Rect::from_center_size(at, vec2(10.0, 9.0));
    match which {
        Sign::Dot => drop(painter.circle_filled(at, 2.6, colour)),
        Sign::Ring => drop(painter.circle_stroke(at, 3.5, Stroke::new(1.3, colour))),
        Sign::Diamond => drop(painter.add(diamond(at, 4.5, colour, Stroke::NONE))),
        Sign::Square => drop(painter.rect_filled(square, 1.0, colour)),
        Sign::Stripes => {
            painter.rect_filled(square, 1.0, colour);
            let clipped = painter.with_clip_rect(square);
            for i in -2..3 {
                let x = at.x + i as f32 * 4.0;
                clipped.line_segment([pos2(x - 5.0, at.y + 5.0), pos2(x + 5.0, at.y - 5.0)], Stroke::new(1.0, ink.paper));
            }
        }
        Sign::Dotted => {
            painter.rect_filled(square, 1.0, colour);
            for (dx, dy) in [(-2.5, -2.0), (2.5, -2.0), (0.0, 1.5), (-4.0, 2.5), (4.0, 2.5)] {
                painter.circle_filled(at + vec2(dx, dy), 0.8, ink.quiet);
            }
        }
        Sign::Line(dash) => line::draw(painter, &[at - vec2(11.7, 0.0), at + vec2(11.7, 0.0)], Stroke::new(1.8, colour), dash),
        Sign::Marked(dash, mark) => {
            sign(painter, at, Sign::Line(dash), colour, ink);
            sign(painter, at, *mark, colour, ink);
        }
        Sign::Ramp(map) => {
            let colours = Colours { map, min: 0.0, max: 1.0, log: false, paper: (!ink.dark).then_some(ink.paper) };
            strips(painter, at, |share| colours.of(Some(share)));
        }
        Sign::Shade(from) => strips(painter, at, |share| blend(from, colour, share)),
        Sign::Up => drop(painter.add(triangle(at, 4.0, true, colour, Stroke::NONE))),
        Sign::Down => drop(painter.add(triangle(at, 4.0, false, Color32::TRANSPARENT, Stroke::new(1.2, colour)))),
    }
}

/// A bar around `at` of the colours of the shares from 0 to 1.
fn strips(painter: &Painter, at: Pos2, colour: impl Fn(f32) -> Color32) {
    for i in 0..16_u8 {
        let left = at.x - 15.0 + f32::from(i) * 30.0 / 16.0;
        let strip = Rect::from_min_max(pos2(left, at.y - 4.5), pos2(left + 30.0 / 16.0 + 0.2, at.y + 4.5));
        painter.rect_filled(strip, 0.0, colour(f32::from(i) / 15.0));
    }
}

/// A diamond around `at`.
pub fn diamond(at: Pos2, radius: f32, fill: Color32, stroke: Stroke) -> Shape {
    let corners = vec![at - vec2(0.0, radius), at + vec2(radius, 0.0), at + vec2(0.0, radius), at - vec2(radius, 0.0)];
    Shape::convex_polygon(corners, fill, stroke)
}

/// A triangle around `at` that points up or down.
pub fn triangle(at: Pos2, radius: f32, up: bool, fill: Color32, stroke: Stroke) -> Shape {
    let s = if up { radius } else { -radius };
    Shape::convex_polygon(vec![at + vec2(0.0, -s), at + vec2(radius, s * 0.8), at + vec2(-radius, s * 0.8)], fill, stroke)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_goes_there_and_back() {
        for axis in [Axis::count("x", 2048), Axis::real("y", 0.5, 50.0, Scale::Log)] {
            for share in [0.0, 0.25, 1.0] {
                assert!((axis.share(axis.value(share)) - share).abs() < 1e-12);
            }
        }
        // 5 is half-way between 0.5 and 50 where ratios count.
        assert!((Axis::real("", 0.5, 50.0, Scale::Log).share(5.0) - 0.5).abs() < 1e-12);
        assert!(Axis::real("", 0.5, 50.0, Scale::Log).share(0.0) < -1e300, "zero has no place");
    }

    #[test]
    fn an_axis_with_room_for_one_number_and_more_has_two() {
        assert_eq!([20.0, 56.0, 111.0, 112.0, 170.0, 9000.0].map(|points| wanted(points, 56.0)), [1, 2, 2, 2, 3, 12]);
    }

    #[test]
    fn a_chart_goes_there_and_back() {
        let rect = Rect::from_min_size(pos2(10.0, 20.0), vec2(200.0, 100.0));
        let chart = Chart { rect, x: Axis::count("", 64), y: Axis::real("", 1.0, 100.0, Scale::Log) };
        assert_eq!(chart.pos(32.0, 10.0), pos2(110.0, 70.0));
        let (x, y) = chart.values_at(pos2(110.0, 70.0));
        assert!((x - 32.0).abs() < 1e-4 && (y - 10.0).abs() < 1e-4);
    }
}
