//! The control on screen: two fields, the histogram with its handles over the colours, a menu, and what is no number.

use eframe::egui::{
    DragValue, EventFilter, Key, Rect, Response, RichText, Role, Sense, Shape, Stroke, Ui, WidgetInfo, WidgetText, pos2, vec2,
};

use super::model::{Ends, Extent, with_end};
use super::spread::BARS;
use super::{Range, RangeControl, Reading, Spread};
use crate::widget::baked;
use crate::widget::palette::{INFINITE, Ink, NAN, blend};
use crate::widget::ticks::number;

/// The height of the control.
const HEIGHT: f32 = 20.0;
/// The width from which the name of the reading about zero is written out, and that from which it is cut and not a sign.
const WHOLE: f32 = 210.0;
const SHORT: f32 = 190.0;
/// The height of the strip of colours under the histogram.
const RAMP: f32 = 5.0;

impl RangeControl {
    /// Draws the control in one row, in as much room as there is but no more than 300 points, and returns the range.
    ///
    /// `name` is what the numbers are; screen readers and tests find the parts by it.
    pub fn show(&mut self, ui: &mut Ui, name: &str, spread: &Spread) -> Range {
        let range = self.range(spread);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            self.typed(ui, name, range, true);
            // The reading about zero has a long name, where there is room for it.
            let symmetric = range.reading == Reading::Symmetric;
            let (short, taken) = match ui.available_width() {
                _ if !symmetric => ("", 108.0),
                width if width >= WHOLE => ("symmetric", 158.0),
                width if width >= SHORT => ("sym.", 122.0),
                _ => ("±", 106.0),
            };
            let room = (ui.available_width() - taken).clamp(36.0, 160.0);
            self.strip(ui, name, spread, range, room);
            self.typed(ui, name, range, false);
            self.menu(ui, range, short);
            loud(ui, spread);
        });
        self.range(spread)
    }

    /// One end as a number that is typed or dragged.
    fn typed(&mut self, ui: &mut Ui, name: &str, range: Range, low: bool) {
        let mut value = if low { range.min } else { range.max };
        let speed = (f64::from(range.max - range.min).abs() / 200.0).max(1e-6);
        let shown = DragValue::new(&mut value).speed(speed).custom_formatter(|v, _| short(v));
        let response = ui.scope(|ui| {
            ui.spacing_mut().interact_size.x = 34.0;
            ui.add(shown)
        });
        let end = if low { "lower" } else { "upper" };
        let response = response.inner.on_hover_text(format!("The {end} end of the colours: drag it, or click to type"));
        response.widget_info(|| WidgetInfo { label: Some(format!("{end} end, {name}")), ..WidgetInfo::drag_value(true, f64::from(value)) });
        if response.changed() {
            self.choose(with_end(range, low, value));
        }
    }

    /// The histogram with its two handles, over the colours as they are.
    fn strip(&mut self, ui: &mut Ui, name: &str, spread: &Spread, range: Range, width: f32) {
        let ink = Ink::of(ui);
        let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::click_and_drag());
        let describe = describe(name, spread, range);
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &describe));
        let axis = Extent::new(spread, range);
        let inner = rect.shrink2(vec2(4.0, 0.0));
        let x_of = |value: f32| inner.left() + axis.share(value).clamp(0.0, 1.0) as f32 * inner.width();
        let value_at = |x: f32| axis.value(f64::from((x - inner.left()) / inner.width()));
        let painter = ui.painter_at(rect.expand(1.0));
        painter.rect_filled(rect, 2.0, ink.paper);
        let mut shapes = bars(spread, range, &axis, inner, &ink);
        shapes.extend(ramp(range, inner, &x_of, &ink));
        baked::draw(&painter, response.id.with("bars"), shapes);
        painter.rect_stroke(rect, 2.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Inside);
        self.middle(&response, range, &axis, inner);
        if response.double_clicked() {
            self.fit();
        }
        response.on_hover_text("Numbers by size, over the colours they have. Drag an end, or the middle; a double click fits the ends");
        for low in [true, false] {
            let at = x_of(if low { range.min } else { range.max });
            let grip = Rect::from_center_size(pos2(at, rect.center().y), vec2(9.0, HEIGHT));
            let handle = ui.interact(grip, ui.scope_id().with((name, "end", low)), Sense::drag());
            self.handle(ui, &handle, name, range, low, &axis, value_at);
            let colour = if handle.has_focus() || handle.hovered() || handle.dragged() { ink.select } else { ink.text };
            let width = if handle.has_focus() { 3.0 } else { 1.6 };
            painter.vline(at, rect.y_range(), Stroke::new(width, colour));
            let knob = Rect::from_center_size(pos2(at, rect.bottom() - 3.0), vec2(6.0, 6.0));
            painter.rect(knob, 1.0, colour, Stroke::new(1.0, ink.paper), eframe::egui::StrokeKind::Inside);
        }
    }

    /// The middle moved as a whole.
    fn middle(&mut self, response: &Response, range: Range, axis: &Extent, inner: Rect) {
        let Some(pointer) = response.interact_pointer_pos().filter(|_| response.dragged()) else {
            self.grip = None;
            return;
        };
        let share = f64::from((pointer.x - inner.left()) / inner.width());
        let (start, [low, high]) = *self.grip.get_or_insert((share, [range.min, range.max]));
        if range.reading == Reading::Symmetric {
            // Zero stays in the middle: what is dragged is how far the ends are from it.
            let reach = (axis.value(share)).abs();
            self.choose([-reach, reach]);
        } else {
            let moved = |end: f32| axis.value(axis.share(end) + share - start);
            self.choose([moved(low), moved(high)]);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one place calls it")]
    fn handle(&mut self, ui: &Ui, handle: &Response, name: &str, range: Range, low: bool, axis: &Extent, value_at: impl Fn(f32) -> f32) {
        let value = if low { range.min } else { range.max };
        let end = if low { "lower" } else { "upper" };
        handle.widget_info(|| WidgetInfo::slider(true, f64::from(value), format!("{end} handle, {name}")));
        let mut to = None;
        if let Some(pointer) = handle.interact_pointer_pos().filter(|_| handle.dragged()) {
            to = Some(value_at(pointer.x));
        }
        if handle.has_focus() {
            let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
            ui.memory_mut(|m| m.set_focus_lock_filter(handle.id, filter));
            let steps = ui.input(|i| i.num_presses(Key::ArrowRight) as f64 - i.num_presses(Key::ArrowLeft) as f64);
            if steps != 0.0 {
                // A fiftieth of the way, or with Shift a five-hundredth.
                let by = if ui.input(|i| i.modifiers.shift) { 0.002 } else { 0.02 };
                to = Some(axis.value(axis.share(value) + steps * by));
            }
        }
        if let Some(to) = to {
            self.choose(with_end(range, low, to));
        }
    }

    /// What is done to the range as a whole.
    /// `symmetric` is what the reading about zero is called.
    fn menu(&mut self, ui: &mut Ui, range: Range, symmetric: &str) {
        let title = match range.reading {
            Reading::Linear => "lin",
            Reading::Log => "log",
            Reading::Symmetric => symmetric,
        };
        let response = ui.menu_button(title, |ui| {
            for reading in Reading::ALL {
                if ui.radio(range.reading == reading, reading.title()).clicked() {
                    self.read(reading);
                }
            }
            ui.separator();
            let entry = |ui: &mut Ui, chosen: bool, text: &str, hint: &str| {
                ui.selectable_label(chosen, WidgetText::from(text)).on_hover_text(hint).clicked()
            };
            if entry(ui, self.ends == Ends::Fit, "Fit", "From the smallest to the largest finite number") {
                self.fit();
            }
            if entry(ui, self.ends == Ends::Middle, "Fit 1% to 99%", "Without the hundredth at each end") {
                self.clip();
            }
            if entry(ui, false, "Reset", "As it was at first: ends that fit, read as suits the numbers") {
                self.reset();
            }
        });
        response.response.on_hover_text("How the colours are spread: linear, log or symmetric about zero; fit, reset");
    }
}
/// A number in few letters.
fn short(value: f64) -> String {
    let text = number(value);
    if text.chars().count() <= 6 { text } else { number(format!("{value:.1e}").parse().unwrap_or(value)) }
}

/// In words, for screen readers.
fn describe(name: &str, spread: &Spread, range: Range) -> String {
    let ends = spread.ends.map_or_else(
        || "no finite number".to_owned(),
        |[low, high]| format!("{} finite numbers from {} to {}", spread.finite, number(f64::from(low)), number(f64::from(high))),
    );
    let loud = spread.loud();
    let loud = if loud.is_empty() { loud } else { format!("; {loud}") };
    let (min, max) = (number(f64::from(range.min)), number(f64::from(range.max)));
    format!("Histogram of {name}: {ends}{loud}; colours from {min} to {max}, {}", range.reading.title())
}

/// What is no number, counted in its own colour.
fn loud(ui: &mut Ui, spread: &Spread) {
    let ink = Ink::of(ui);
    for (n, name, colour) in [(spread.nan, "NaN", NAN), (spread.infinite, "infinite", INFINITE)] {
        if n > 0 {
            let (rect, _) = ui.allocate_exact_size(vec2(9.0, 9.0), Sense::hover());
            ui.painter().rect(rect, 1.0, colour, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Inside);
            ui.label(RichText::new(format!("{n} {name}")).strong()).on_hover_text("Drawn in this colour, which is in no map");
        }
    }
}

/// The bars: heights by the square root of the counts, so that rare numbers are seen beside common ones.
fn bars(spread: &Spread, range: Range, axis: &Extent, inner: Rect, ink: &Ink) -> Vec<Shape> {
    let mut all = Vec::with_capacity(BARS + STEPS + 2);
    let (Some([low, high]), counts) = (spread.ends, if axis.log { &spread.log_bars } else { &spread.bars }) else { return all };
    let start = if axis.log { spread.least.unwrap_or(low) } else { low };
    let own = Extent { low: f64::from(start), high: f64::from(high), log: axis.log };
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let floor = inner.bottom() - RAMP;
    let flat = start >= high;
    for (i, &count) in counts.iter().enumerate().filter(|(_, c)| **c > 0) {
        let ends = if flat { [start; 2] } else { [i, i + 1].map(|i| own.value(i as f64 / BARS as f64)) };
        let [from, to] = ends.map(|v| inner.left() + axis.share(v) as f32 * inner.width());
        let height = (floor - inner.top() - 1.0) * (f64::from(count) / f64::from(most)).sqrt() as f32;
        let outside = ends[1] < range.min || ends[0] > range.max;
        let colour = if outside { blend(ink.paper, ink.plain, 0.5) } else { ink.plain };
        let bar = Rect::from_min_max(pos2(from, floor - height.max(1.0)), pos2(to.max(from + 1.0), floor));
        all.push(Shape::rect_filled(bar, 0.0, colour));
    }
    all
}

/// Rectangles that the colours along the control are drawn with.
const STEPS: usize = 48;

/// The colours along the control.
fn ramp(range: Range, inner: Rect, x_of: &impl Fn(f32) -> f32, ink: &Ink) -> impl Iterator<Item = Shape> {
    let colours = range.colours(ink);
    let strip = Rect::from_min_max(pos2(inner.left(), inner.bottom() - RAMP), inner.max);
    let ends = [
        (Rect::from_min_max(strip.min, pos2(x_of(range.min), strip.bottom())), colours.of(Some(range.min))),
        (Rect::from_min_max(pos2(x_of(range.max), strip.top()), strip.max), colours.of(Some(range.max))),
    ];
    let own = Extent { low: f64::from(range.min), high: f64::from(range.max), log: range.reading == Reading::Log && range.min > 0.0 };
    let step = move |i: usize| {
        let [from, to, middle] = [0.0, 1.0, 0.5].map(|d| own.value((i as f64 + d) / STEPS as f64));
        (Rect::from_min_max(pos2(x_of(from), strip.top()), pos2(x_of(to), strip.bottom())), colours.of(Some(middle)))
    };
    ends.into_iter().chain((0..STEPS).map(step)).map(|(rect, colour)| Shape::rect_filled(rect, 0.0, colour))
}
