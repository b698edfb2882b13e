//! What every token weighs in the output of the selected read, lane by lane: bars over the tokens, split by the memory that each
//! token comes from.

use eframe::egui::{Align2, Color32, FontId, Label, Rect, Response, RichText, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::answer::Codes;
use crate::app::command::Command;
use crate::app::study::effective::Weights;
use crate::layer::effective::Store;
use crate::panel::Look;
use crate::panel::common::{facts, point_at, token_name};
use crate::widget::chart::{SMALL, Sign, sign, triangle};
use crate::widget::palette::{Ink, category};
use crate::widget::ticks::{Scale, number, ticks};

/// A sum of weights and values that differs from the recorded output by more than this does not reproduce it.
pub const LOUD: f64 = 1e-3;
/// Room at the left of a strip for its scale.
const SCALE: f32 = 46.0;
/// The largest bars that have the mark of their store at their end.
const MARKED: usize = 5;

/// The colour and the mark of a store.
#[must_use]
pub fn look_of(store: Store, ink: &Ink) -> (Color32, Sign) {
    match store {
        Store::Whole => (ink.plain, Sign::Dot),
        Store::Window => (ink.window, Sign::Square),
        Store::Chunk => (if ink.dark { category(4) } else { category(0) }, Sign::Up),
        Store::Centroid => (category(2), Sign::Ring),
        Store::Cache => (ink.cache, Sign::Diamond),
        Store::State => (ink.limit, Sign::Down),
        Store::Gone => (ink.frame, Sign::Dotted),
    }
}

/// The shares of the stores in a bar of `width`; negative ones are striped. What it says is on hover.
pub fn shares(ui: &mut Ui, weights: &Weights, width: f32, lane: &str) {
    let (rect, response) = ui.allocate_exact_size(vec2(width, 12.0), Sense::hover());
    let ink = Ink::of(ui);
    let words: Vec<String> = weights.shares.iter().map(|(s, w)| format!("{} {}", s.name(), number(*w))).collect();
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("The weight of {lane} came from: {}", words.join(", "))));
    let total: f64 = weights.shares.iter().map(|(_, w)| w.abs()).sum();
    let mut left = rect.left();
    for (store, share) in &weights.shares {
        let part = if total > 0.0 { (share.abs() / total) as f32 * rect.width() } else { 0.0 };
        let area = Rect::from_min_max(pos2(left, rect.top()), pos2(left + part, rect.bottom()));
        let (colour, mark) = look_of(*store, &ink);
        ui.painter().rect_filled(area, 0.0, colour);
        let painter = ui.painter().with_clip_rect(area.intersect(ui.clip_rect()));
        if *share < 0.0 {
            let mut x = area.left() - 12.0;
            while x < area.right() {
                painter.line_segment([pos2(x, area.bottom()), pos2(x + 12.0, area.top())], Stroke::new(1.5, ink.paper));
                x += 5.0;
            }
        }
        if part > 16.0 {
            sign(&painter, area.center(), mark, ink.paper, &ink);
        }
        left += part;
    }
    ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Outside);
    let rows: Vec<(&str, String)> = weights.shares.iter().map(|(s, w)| (s.name(), number(*w))).collect();
    let sum: f64 = weights.shares.iter().map(|(_, w)| w).sum();
    let rows: Vec<(&str, String)> = rows.into_iter().chain([("all", number(sum))]).collect();
    facts(&response, "sum of the weights by memory", &rows);
}

/// The marks of the stores that occur.
pub fn legend(ui: &mut Ui, stores: &[Store]) {
    let ink = Ink::of(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for store in stores {
            let (colour, mark) = look_of(*store, &ink);
            let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
            sign(ui.painter(), rect.center(), mark, colour, &ink);
            ui.add(Label::new(RichText::new(store.name()).size(SMALL).color(ink.quiet)).extend());
            ui.add_space(6.0);
        }
        let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
        ui.painter().add(triangle(rect.center(), 4.0, true, ink.mark, Stroke::NONE));
        ui.add(Label::new(RichText::new("the answer").size(SMALL).color(ink.quiet)).extend());
    });
}

/// Where tokens are along a strip.
#[derive(Debug, Clone, Copy)]
struct Along {
    left: f32,
    width: f32,
    /// Tokens that the read sees.
    tokens: usize,
}

impl Along {
    fn x(self, token: usize) -> f32 {
        self.left + self.width * token as f32 / self.tokens.max(1) as f32
    }

    /// The tokens behind the column number `column` of `columns`.
    fn behind(self, column: usize, columns: usize) -> std::ops::Range<usize> {
        let from = column * self.tokens / columns;
        from..((column + 1) * self.tokens / columns).max(from + 1).min(self.tokens)
    }
}

/// One lane's weights over the tokens.
pub fn strip(ui: &mut Ui, look: &Look<'_>, weights: &Weights, read: usize, lane: usize, height: f32, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let (outer, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let rect = Rect::from_min_max(outer.min + vec2(SCALE, 0.0), outer.max - vec2(6.0, 0.0)).round_to_pixels_of(ui);
    let name = look.lanes[lane].plan.name.as_str();
    let response = ui.interact(rect, ui.scope_id().with(("strip", lane)), Sense::CLICK);
    let along = Along { left: rect.left(), width: rect.width(), tokens: weights.envelope.values().len() };
    let (most, least) = weights.envelope.extremes(0..along.tokens).map_or((0.0, 0.0), |(max, min)| {
        let values = weights.envelope.values();
        (values[max], values[min])
    });
    let biggest = most.abs().max(least.abs());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, describe(look, weights, name, read)));
    ui.painter().rect_filled(rect, 0.0, ink.paper);
    // Nothing below zero: the line is at the bottom; else in the middle, and both halves have the same scale.
    let zero = if least < 0.0 { rect.center().y } else { rect.bottom() };
    let scale = if biggest > 0.0 { f64::from(zero - rect.top() - 3.0) / biggest } else { 0.0 };
    let y = |weight: f64| zero - (weight * scale) as f32;
    bars(ui, weights, rect, along, &ink, y);
    ui.painter().hline(rect.x_range(), zero, Stroke::new(1.0, ink.frame));
    ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Outside);
    let font = FontId::proportional(SMALL - 1.0);
    ui.painter().text(pos2(rect.left() - 4.0, rect.top()), Align2::RIGHT_TOP, number(biggest), font.clone(), ink.quiet);
    if least < 0.0 {
        ui.painter().text(pos2(rect.left() - 4.0, rect.bottom()), Align2::RIGHT_BOTTOM, format!("-{}", number(biggest)), font, ink.quiet);
    }
    marks(ui, look, rect, along, read, &ink);
    hover(look, weights, &response, rect, along, read, commands);
}

trait Rounded {
    fn round_to_pixels_of(self, ui: &Ui) -> Self;
}

impl Rounded for Rect {
    fn round_to_pixels_of(self, ui: &Ui) -> Self {
        let scale = ui.pixels_per_point();
        let round = |v: f32| (v * scale).round() / scale;
        Self::from_min_max(pos2(round(self.left()), round(self.top())), pos2(round(self.right()), round(self.bottom())))
    }
}

/// A bar for every token, or for every column of pixels the largest and the smallest weight behind it; marks at the largest.
fn bars(ui: &Ui, weights: &Weights, rect: Rect, along: Along, ink: &Ink, y: impl Fn(f64) -> f32) {
    let painter = ui.painter().with_clip_rect(rect.expand(5.0).intersect(ui.clip_rect()));
    let values = weights.envelope.values();
    let columns = ((rect.width() * ui.pixels_per_point()) as usize).min(along.tokens).max(1);
    let zero = y(0.0);
    let mut ends: Vec<(f64, usize, f32)> = Vec::new();
    for column in 0..columns {
        let range = along.behind(column, columns);
        // By column, not by token: edges between pixels would leave stripes.
        let edge = |column: usize| rect.left() + rect.width() * column as f32 / columns as f32;
        let (left, right) = (edge(column), edge(column + 1));
        let Some((max, min)) = weights.envelope.extremes(range) else { continue };
        for token in if values[min] < 0.0 && max != min { vec![max, min] } else { vec![max] } {
            let weight = values[token];
            if !weight.is_finite() {
                painter.rect_filled(Rect::from_x_y_ranges(left..=right.max(left + 1.0), rect.y_range()), 0.0, crate::widget::palette::NAN);
            } else if weight != 0.0 {
                let end = y(weight);
                // A weight that is too small for a pixel is not nothing.
                let end = if (end - zero).abs() < 0.7 { zero - 0.7 * weight.signum() as f32 } else { end };
                let bar = Rect::from_x_y_ranges(left..=right.max(left + 1.0), end.min(zero)..=end.max(zero));
                painter.rect_filled(bar, 0.0, look_of(weights.stores[token], ink).0);
                ends.push((weight.abs(), token, f32::midpoint(left, right)));
            }
        }
    }
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let first = ends.first().map_or(0.0, |e| e.0);
    for (_, token, x) in ends.into_iter().take(MARKED).filter(|e| e.0 > first * 0.05) {
        let (colour, mark) = look_of(weights.stores[token], ink);
        let at = pos2(x, y(values[token]).clamp(rect.top() + 4.0, rect.bottom() - 4.0));
        painter.circle_filled(at, 5.5, ink.paper);
        sign(&painter, at, mark, colour, ink);
    }
}

/// The answer's token, and the selected one.
fn marks(ui: &Ui, look: &Look<'_>, rect: Rect, along: Along, read: usize, ink: &Ink) {
    let middle = |token: usize| f32::midpoint(along.x(token), along.x(token + 1));
    if let Some(&at) = look.plan.stream.labels().answer_at.as_ref().and_then(|a| a.get(read)) {
        let painter = ui.painter().with_clip_rect(rect.expand(6.0).intersect(ui.clip_rect()));
        let x = middle(at as usize);
        painter.vline(x, rect.y_range(), Stroke::new(1.0, ink.mark.gamma_multiply(0.45)));
        painter.add(triangle(pos2(x, rect.bottom() + 2.5), 4.0, true, ink.mark, Stroke::NONE));
    }
    if let Some(token) = look.selection.current().filter(|t| *t < along.tokens) {
        let stroke = Stroke::new(1.0, ink.select.gamma_multiply(0.7));
        ui.painter().add(Shape::line_segment([pos2(middle(token), rect.top()), pos2(middle(token), rect.bottom())], stroke));
    }
}

/// The token with the largest weight behind the pointer.
fn hover(look: &Look<'_>, weights: &Weights, response: &Response, rect: Rect, along: Along, read: usize, commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    let values = weights.envelope.values();
    let columns = (rect.width() as usize).min(along.tokens).max(1);
    let column = (((pointer.x - rect.left()) / rect.width() * columns as f32).max(0.0) as usize).min(columns - 1);
    let range = along.behind(column, columns);
    let Some((max, min)) = weights.envelope.extremes(range.clone()) else { return };
    let token = if -values[min] > values[max] { min } else { max };
    let total: f64 = weights.shares.iter().map(|(_, w)| w).sum();
    let mut rows = vec![
        ("weight", number(values[token])),
        ("share of all", format!("{:.1}%", 100.0 * values[token] / total)),
        ("from", weights.stores[token].name().to_owned()),
    ];
    let answer = look.plan.stream.labels().answer_at.as_ref().and_then(|a| a.get(read)).map(|&a| a as usize);
    if answer == Some(token) {
        rows.push(("it", "holds the right answer".to_owned()));
    }
    if range.len() > 1 {
        rows.push(("here", format!("the largest of {} tokens behind this pixel", range.len())));
    }
    facts(response, &token_name(&look.plan.stream, token), &rows);
    point_at(response, Some(token), commands);
}

fn describe(look: &Look<'_>, weights: &Weights, name: &str, read: usize) -> String {
    let values = weights.envelope.values();
    let largest = weights.envelope.extremes(0..values.len()).map(|(max, min)| if -values[min] > values[max] { min } else { max });
    let largest = largest.map_or_else(String::new, |token| {
        format!(
            "; the largest, {}, is that of {} ({})",
            number(values[token]),
            token_name(&look.plan.stream, token),
            weights.stores[token].name()
        )
    });
    format!("Weights of {name} over {} tokens for read {read}{largest}", values.len())
}

/// The tokens' numbers under the strips.
pub fn ruler(ui: &mut Ui, tokens: usize) {
    let ink = Ink::of(ui);
    let (outer, _) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
    let along = Along { left: outer.left() + SCALE, width: outer.width() - SCALE - 6.0, tokens };
    let font = FontId::proportional(SMALL - 1.0);
    let label = ui.painter().text(outer.right_bottom() - vec2(6.0, 0.0), Align2::RIGHT_BOTTOM, "token", font.clone(), ink.quiet);
    for value in ticks(0.0, tokens as f64, Scale::Linear, (along.width / 70.0).clamp(1.0, 12.0) as usize, true) {
        let x = along.x(value as usize);
        ui.painter().vline(x, outer.top() + 3.0..=outer.top() + 6.0, Stroke::new(1.0, ink.frame));
        if x + 18.0 < label.left() {
            ui.painter().text(pos2(x, outer.bottom()), Align2::CENTER_BOTTOM, number(value), font.clone(), ink.quiet);
        }
    }
}

/// How well the weights reproduce what the lane returned, in words, and whether that is bad.
#[must_use]
pub fn faith(weights: &Weights) -> (String, bool) {
    match weights.difference {
        None => ("no output to hold them against".to_owned(), false),
        Some(d) if d <= LOUD => (format!("reproduces the output to {d:.0e}"), false),
        Some(d) => (format!("does NOT reproduce the output: off by {}", number(d)), true),
    }
}

/// What is right for a read, for the strips' heading.
#[must_use]
pub fn heading(look: &Look<'_>, codes: &Codes, read: usize) -> String {
    let stream = &look.plan.stream;
    let (_, right) = super::answer::right(stream, codes, read);
    let role = super::answer::role_of(stream, read);
    let follows = stream.follows(read).map_or_else(String::new, |before| format!(", asks for what read {before} answered"));
    format!(
        "read {read} {} ({role}{follows}) after {} writes; right: {right}",
        super::answer::read_text(stream, read),
        stream.after()[read]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widget::envelope::Envelope;

    #[test]
    fn every_token_is_behind_some_column() {
        for (tokens, columns) in [(1, 1), (100, 7), (65_536, 801), (10, 10)] {
            let along = Along { left: 0.0, width: 100.0, tokens };
            let mut next = 0;
            for column in 0..columns {
                let range = along.behind(column, columns);
                assert_eq!(range.start, next, "{tokens} tokens, column {column}");
                next = range.end;
            }
            assert_eq!(next, tokens);
        }
    }

    #[test]
    fn a_difference_that_is_no_number_is_loud() {
        let of = |difference| Weights { envelope: Envelope::default(), stores: Vec::new(), shares: Vec::new(), difference };
        assert_eq!(faith(&of(Some(2.3e-6))), ("reproduces the output to 2e-6".to_owned(), false));
        for bad in [f64::NAN, 0.01, f64::INFINITY] {
            assert!(faith(&of(Some(bad))).1, "{bad}");
        }
    }
}
