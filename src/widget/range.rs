//! The range of a heatmap's colours, chosen over a histogram of its numbers: both ends are dragged, typed or moved by arrows,
//! and what is no number is counted beside it in its own loud colour.
//!
//! [`Spread`] is what is known of the numbers, made once for each picture; [`RangeControl`] is what the user chose, kept by the
//! panel; [`Range`] is what comes of both, and what [`Colours`] are made of.

use eframe::egui::{
    Color32, DragValue, EventFilter, Key, Rect, Response, RichText, Role, Sense, Stroke, Ui, WidgetInfo, WidgetText, pos2, vec2,
};

use super::heatmap::Colours;
use super::palette::{INFINITE, Ink, Map, NAN, blend};
use super::ticks::number;

/// Bars of a histogram.
const BARS: usize = 96;
/// Numbers that percentiles are taken of, at most.
const SAMPLE: usize = 8192;
/// The height of the control.
const HEIGHT: f32 = 20.0;
/// The height of the strip of colours under the histogram.
const RAMP: f32 = 5.0;

/// How numbers are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// How many are finite.
    pub finite: usize,
    /// How many are NaN.
    pub nan: usize,
    /// How many are infinite.
    pub infinite: usize,
    /// The smallest and the largest finite number; `None` without one.
    pub ends: Option<[f32; 2]>,
    /// The smallest number above zero; `None` without one.
    pub least: Option<f32>,
    /// The 1st and the 99th percentile of the finite numbers (of an even sample of them, where there are more than 8192).
    pub middle: Option<[f32; 2]>,
    /// Finite numbers by place between the ends `[BARS]`.
    bars: Vec<u32>,
    /// Those above zero by the place of their logarithm between the least and the largest `[BARS]`.
    log_bars: Vec<u32>,
}

impl Spread {
    /// Looks at all numbers, twice.
    #[must_use]
    pub fn of(numbers: impl Iterator<Item = f32> + Clone) -> Self {
        let (mut finite, mut nan, mut infinite) = (0, 0, 0);
        let (mut low, mut high, mut least) = (f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY);
        for value in numbers.clone() {
            if value.is_finite() {
                finite += 1;
                (low, high) = (low.min(value), high.max(value));
                if value > 0.0 {
                    least = least.min(value);
                }
            } else if value.is_nan() {
                nan += 1;
            } else {
                infinite += 1;
            }
        }
        let mut new = Self {
            finite,
            nan,
            infinite,
            ends: (finite > 0).then_some([low, high]),
            least: least.is_finite().then_some(least),
            middle: None,
            bars: vec![0; BARS],
            log_bars: vec![0; BARS],
        };
        let every = finite.div_ceil(SAMPLE).max(1);
        let mut sample = Vec::with_capacity(finite.min(SAMPLE + 1));
        let place = |share: f64| ((share * BARS as f64) as usize).min(BARS - 1);
        let (width, decades) = (f64::from(high) - f64::from(low), (f64::from(high) / f64::from(least)).ln());
        for (i, value) in numbers.filter(|v| v.is_finite()).enumerate() {
            if i % every == 0 {
                sample.push(value);
            }
            new.bars[if width > 0.0 { place((f64::from(value) - f64::from(low)) / width) } else { BARS / 2 }] += 1;
            if value > 0.0 {
                new.log_bars[if decades > 0.0 { place((f64::from(value) / f64::from(least)).ln() / decades) } else { BARS / 2 }] += 1;
            }
        }
        new.middle = percentiles(&mut sample);
        new
    }

    /// Where nothing was counted.
    #[must_use]
    pub fn nothing() -> Self {
        Self::of(std::iter::empty())
    }

    /// The reading that suits the numbers: about zero where they have both signs.
    #[must_use]
    pub fn reading(&self) -> Reading {
        if self.ends.is_some_and(|[low, high]| low < 0.0 && high > 0.0) { Reading::Symmetric } else { Reading::Linear }
    }

    /// What is no number, in words; empty where all are finite.
    #[must_use]
    pub fn loud(&self) -> String {
        let mut words = Vec::new();
        if self.nan > 0 {
            words.push(format!("{} NaN", self.nan));
        }
        if self.infinite > 0 {
            words.push(format!("{} infinite", self.infinite));
        }
        words.join(", ")
    }
}

fn percentiles(sample: &mut [f32]) -> Option<[f32; 2]> {
    let last = sample.len().checked_sub(1)?;
    let mut at = |share: f64| {
        let place = (share * last as f64).round() as usize;
        *sample.select_nth_unstable_by(place, f32::total_cmp).1
    };
    Some([at(0.01), at(0.99)])
}

/// How numbers become places along a colour map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Differences count.
    Linear,
    /// Ratios count; what is not above zero is at the map's start.
    Log,
    /// Differences count, zero is in the middle, and the map has two arms.
    Symmetric,
}

impl Reading {
    /// Every reading, in the order of menus.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Log, Self::Symmetric];

    /// The name in a menu.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
            Self::Symmetric => "symmetric about 0",
        }
    }
}

/// What a picture is coloured by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The number at the map's start.
    pub min: f32,
    /// The number at the map's end.
    pub max: f32,
    /// How numbers between them are placed.
    pub reading: Reading,
}

impl Range {
    /// The colours of the range on this paper.
    #[must_use]
    pub fn colours(&self, ink: &Ink) -> Colours {
        let signed = self.reading == Reading::Symmetric;
        let map = if signed { Map::PurpleOrange } else { Map::Cividis };
        // The diverging map is lightest in its middle: it needs no paper.
        let paper = (!ink.dark && !signed).then_some(ink.paper);
        Colours { map, min: self.min, max: self.max, log: self.reading == Reading::Log, paper }
    }

    /// The range in bits: what a cached picture is held under.
    #[must_use]
    pub fn key(&self) -> (u32, u32, Reading) {
        (self.min.to_bits(), self.max.to_bits(), self.reading)
    }
}

/// Where the ends come from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Ends {
    /// The smallest and the largest finite number, whatever they become.
    #[default]
    Fit,
    /// The 1st and the 99th percentile, whatever they become.
    Middle,
    /// Chosen by hand.
    Own([f32; 2]),
}

/// What the user chose. By itself it follows the numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RangeControl {
    ends: Ends,
    /// `None`: what suits the numbers.
    reading: Option<Reading>,
    /// Where the pointer took hold of the middle, and the ends as they were then.
    grip: Option<(f64, [f32; 2])>,
}

impl RangeControl {
    /// A control that reads numbers in this way until another is chosen.
    #[must_use]
    pub fn with(reading: Reading) -> Self {
        Self { reading: Some(reading), ..Self::default() }
    }

    /// The range for these numbers.
    #[must_use]
    pub fn range(&self, spread: &Spread) -> Range {
        let mut reading = self.reading.unwrap_or_else(|| spread.reading());
        let fit = spread.ends.unwrap_or([0.0, 1.0]);
        if reading == Reading::Log && spread.least.is_none() && !matches!(self.ends, Ends::Own([low, _]) if low > 0.0) {
            // Nothing is above zero: there are no ratios.
            reading = Reading::Linear;
        }
        let [mut min, mut max] = match self.ends {
            Ends::Fit => fit,
            Ends::Middle => spread.middle.unwrap_or(fit),
            Ends::Own(own) => own,
        };
        match reading {
            Reading::Linear => {}
            Reading::Log => {
                let least = spread.least.unwrap_or(min.max(f32::MIN_POSITIVE));
                min = if min > 0.0 { min } else { least };
                max = max.max(min);
            }
            Reading::Symmetric => {
                max = min.abs().max(max.abs());
                min = -max;
            }
        }
        Range { min, max, reading }
    }

    /// Ends chosen by hand. Below each other they are put in order.
    pub fn choose(&mut self, [a, b]: [f32; 2]) {
        if a.is_finite() && b.is_finite() {
            self.ends = Ends::Own([a.min(b), a.max(b)]);
        }
    }

    /// Another reading.
    pub fn read(&mut self, reading: Reading) {
        self.reading = Some(reading);
    }

    /// The ends follow the smallest and the largest finite number.
    pub fn fit(&mut self) {
        self.ends = Ends::Fit;
    }

    /// The ends follow the 1st and the 99th percentile.
    pub fn clip(&mut self) {
        self.ends = Ends::Middle;
    }

    /// Everything as it was at first.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Draws the control in one row, in as much room as there is but no more than 300 points, and returns the range.
    ///
    /// `name` is what the numbers are; screen readers and tests find the parts by it.
    pub fn show(&mut self, ui: &mut Ui, name: &str, spread: &Spread) -> Range {
        let range = self.range(spread);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            self.typed(ui, name, range, true);
            let room = (ui.available_width() - 108.0).clamp(48.0, 160.0);
            self.strip(ui, name, spread, range, room);
            self.typed(ui, name, range, false);
            self.menu(ui, range);
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
        bars(&painter, spread, range, &axis, inner, &ink);
        ramp(&painter, range, inner, &x_of, &ink);
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
    fn menu(&mut self, ui: &mut Ui, range: Range) {
        let title = match range.reading {
            Reading::Linear => "lin",
            Reading::Log => "log",
            Reading::Symmetric => "\u{b1}",
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

/// The ends with one of them moved. About zero both move.
fn with_end(range: Range, low: bool, value: f32) -> [f32; 2] {
    match (range.reading, low) {
        (Reading::Symmetric, _) => [-value.abs(), value.abs()],
        (Reading::Log, _) if value <= 0.0 => [range.min, range.max],
        (_, true) => [value.min(range.max), range.max],
        (_, false) => [range.min, value.max(range.min)],
    }
}

/// A number in few letters.
fn short(value: f64) -> String {
    let text = number(value);
    if text.len() <= 6 { text } else { number(format!("{value:.1e}").parse().unwrap_or(value)) }
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

/// What the control's width stands for: all numbers, and the range where it reaches beyond them.
struct Extent {
    low: f64,
    high: f64,
    log: bool,
}

impl Extent {
    fn new(spread: &Spread, range: Range) -> Self {
        let [mut low, mut high] = spread.ends.unwrap_or([range.min, range.max]).map(f64::from);
        let log = range.reading == Reading::Log;
        if log {
            low = spread.least.map_or(f64::from(range.min), f64::from);
        }
        if range.reading == Reading::Symmetric {
            high = low.abs().max(high.abs());
            low = -high;
        }
        (low, high) = (low.min(f64::from(range.min)), high.max(f64::from(range.max)));
        if low >= high {
            // Equal numbers: they stand in the middle of a control that can still be moved.
            let half = if low == 0.0 { 0.5 } else { low.abs() * 0.5 };
            (low, high) = (low - half, high + half);
        }
        Self { low, high, log: log && low > 0.0 }
    }

    fn share(&self, value: f32) -> f64 {
        let value = f64::from(value);
        if self.log { (value / self.low).ln() / (self.high / self.low).ln() } else { (value - self.low) / (self.high - self.low) }
    }

    fn value(&self, share: f64) -> f32 {
        let share = share.clamp(0.0, 1.0);
        let value = if self.log { self.low * (self.high / self.low).powf(share) } else { self.low + share * (self.high - self.low) };
        value as f32
    }
}

/// The bars: heights by the square root of the counts, so that rare numbers are seen beside common ones.
fn bars(painter: &eframe::egui::Painter, spread: &Spread, range: Range, axis: &Extent, inner: Rect, ink: &Ink) {
    let (Some([low, high]), counts) = (spread.ends, if axis.log { &spread.log_bars } else { &spread.bars }) else { return };
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
        painter.rect_filled(bar, 0.0, colour);
    }
}

/// The colours along the control.
fn ramp(painter: &eframe::egui::Painter, range: Range, inner: Rect, x_of: &impl Fn(f32) -> f32, ink: &Ink) {
    const STEPS: usize = 48;
    let colours = range.colours(ink);
    let strip = Rect::from_min_max(pos2(inner.left(), inner.bottom() - RAMP), inner.max);
    painter.rect_filled(Rect::from_min_max(strip.min, pos2(x_of(range.min), strip.bottom())), 0.0, colours.of(Some(range.min)));
    painter.rect_filled(Rect::from_min_max(pos2(x_of(range.max), strip.top()), strip.max), 0.0, colours.of(Some(range.max)));
    let own = Extent { low: f64::from(range.min), high: f64::from(range.max), log: range.reading == Reading::Log && range.min > 0.0 };
    for i in 0..STEPS {
        let [from, to, middle] = [0.0, 1.0, 0.5].map(|d| own.value((i as f64 + d) / STEPS as f64));
        let rect = Rect::from_min_max(pos2(x_of(from), strip.top()), pos2(x_of(to), strip.bottom()));
        let colour: Color32 = colours.of(Some(middle));
        painter.rect_filled(rect, 0.0, colour);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    fn spread(numbers: &[f32]) -> Spread {
        Spread::of(numbers.iter().copied())
    }

    #[test]
    fn what_is_no_number_is_counted_and_no_end() {
        let s = spread(&[1.0, f32::NAN, -2.0, f32::INFINITY, 0.5, f32::NEG_INFINITY]);
        assert_eq!((s.finite, s.nan, s.infinite, s.ends, s.least), (3, 1, 2, Some([-2.0, 1.0]), Some(0.5)));
        assert_eq!(s.loud(), "1 NaN, 2 infinite");
        assert_eq!(s.bars.iter().sum::<u32>(), 3);
        assert_eq!(s.log_bars.iter().sum::<u32>(), 2, "a number below zero has no logarithm");
        assert_eq!((s.bars[0], s.bars[BARS - 1]), (1, 1));
        let none = spread(&[f32::NAN]);
        assert_eq!((none.ends, none.middle), (None, None));
        assert_eq!(RangeControl::default().range(&none), Range { min: 0.0, max: 1.0, reading: Reading::Linear });
    }

    #[test]
    fn the_range_follows_the_numbers_until_it_is_chosen() {
        let (positive, signed) = (spread(&[1.0, 4.0, 100.0]), spread(&[-3.0, 2.0]));
        let mut control = RangeControl::default();
        assert_eq!(control.range(&positive), Range { min: 1.0, max: 100.0, reading: Reading::Linear });
        assert_eq!(control.range(&signed), Range { min: -3.0, max: 3.0, reading: Reading::Symmetric });
        control.read(Reading::Log);
        assert_eq!(control.range(&positive).reading, Reading::Log);
        assert_eq!(control.range(&signed), Range { min: 2.0, max: 2.0, reading: Reading::Log }, "from the least above zero");
        assert_eq!(control.range(&spread(&[-3.0, -1.0])).reading, Reading::Linear, "no ratio below zero");
        control.choose([50.0, 2.0]);
        assert_eq!(control.range(&positive), Range { min: 2.0, max: 50.0, reading: Reading::Log });
        control.choose([f32::NAN, 1.0]);
        assert_eq!((control.range(&positive).min, control.range(&positive).max), (2.0, 50.0), "no number is no end");
        control.fit();
        assert_eq!(control.range(&positive).max, 100.0);
        control.reset();
        assert_eq!(control, RangeControl::default());
    }

    #[test]
    fn percentiles_leave_the_far_ends_out() {
        // 0 to 999, and one that is a million.
        let numbers: Vec<f32> = (0..1000).map(|i| i as f32).chain([1e6]).collect();
        let mut control = RangeControl::default();
        control.clip();
        let range = control.range(&spread(&numbers));
        assert_eq!((range.min, range.max), (10.0, 990.0));
    }

    #[test]
    fn an_end_never_passes_the_other_and_about_zero_both_move() {
        let linear = Range { min: 1.0, max: 4.0, reading: Reading::Linear };
        assert_eq!((with_end(linear, true, 9.0), with_end(linear, false, 0.0)), ([4.0, 4.0], [1.0, 1.0]));
        let about = Range { min: -4.0, max: 4.0, reading: Reading::Symmetric };
        assert_eq!(with_end(about, true, -2.0), [-2.0, 2.0]);
        let log = Range { min: 1.0, max: 4.0, reading: Reading::Log };
        assert_eq!(with_end(log, true, -2.0), [1.0, 4.0], "no place for it");
    }

    #[test]
    fn places_go_there_and_back_and_zero_is_in_the_middle() {
        let range = Range { min: -3.0, max: 3.0, reading: Reading::Symmetric };
        let axis = Extent::new(&spread(&[-3.0, 2.0]), range);
        assert!((axis.share(0.0) - 0.5).abs() < 1e-9 && (axis.value(1.0) - 3.0).abs() < 1e-6);
        let log = Extent::new(&spread(&[1.0, 100.0]), Range { min: 1.0, max: 100.0, reading: Reading::Log });
        assert!((log.share(10.0) - 0.5).abs() < 1e-9 && (log.value(0.5) - 10.0).abs() < 1e-4);
        let flat = Extent::new(&spread(&[7.0, 7.0]), Range { min: 7.0, max: 7.0, reading: Reading::Linear });
        assert!((flat.share(7.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn zero_has_the_middle_colour_of_the_diverging_map() {
        let visuals = eframe::egui::Visuals::dark();
        let ink = Ink::for_visuals(&visuals);
        let range = RangeControl::default().range(&spread(&[-1.0, 5.0]));
        assert_eq!(range.colours(&ink).of(Some(0.0)), Map::PurpleOrange.colour(0.5));
        assert_eq!(range.colours(&ink).of(Some(-5.0)), Map::PurpleOrange.colour(0.0));
    }
}
