//! One row per parameter, made from its [`ParamSpec`]: the name, a control that fits its kind, and a dot that says it
//! differs from its default and puts it back.

use eframe::egui::{
    self, Align, Checkbox, ComboBox, CursorIcon, Direction, DragValue, Label, Layout, Response, Sense, Slider, SliderClamping, TextEdit,
    Ui, UiBuilder, Widget, vec2,
};

use crate::app::theme;
use crate::param::{ParamKind, ParamSpec, ParamValue};

/// Room for the names of parameters.
pub const NAME_WIDTH: f32 = 112.0;
/// Room for six digits.
const NUMBER_WIDTH: f32 = 60.0;
/// A longer text than this scrolls.
const TEXT_HEIGHT: f32 = 160.0;
/// A slider with less room than this says nothing.
const SLIDER_WIDTH: f32 = 24.0;

/// What a row is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Whose parameter it is: a lane's name, `task`. Part of the control's accessible name.
    pub owner: &'a str,
    /// The parameter.
    pub spec: &'a ParamSpec,
    /// What the user set, if anything.
    pub value: Option<&'a ParamValue>,
    /// The value in use where it is left to the stream.
    pub used: Option<f64>,
}

/// A change that a row asks for: another value, or the default.
pub type Change = Option<ParamValue>;

/// Draws a row; what it asks for, if the user changed it.
pub fn row(ui: &mut Ui, row: Row<'_>) -> Option<Change> {
    let spec = row.spec;
    let changed = row.value.is_some() && row.value != spec.default_value().as_ref();
    let mut out = None;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        if dot(ui, &row, changed) {
            out = Some(None);
        }
        let name = ui
            .allocate_ui_with_layout(vec2(NAME_WIDTH, 20.0), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(NAME_WIDTH);
                ui.add(Label::new(spec.title).truncate().selectable(false).sense(Sense::hover()))
            })
            .inner;
        name.on_hover_ui(|ui| help(ui, &row, changed));
        if !is_text(spec)
            && let Some(change) = control(ui, &row)
        {
            out = Some(change);
        }
    });
    // A text has the whole width, below its name.
    if is_text(spec) {
        ui.horizontal(|ui| {
            ui.add_space(12.0);
            if let Some(change) = control(ui, &row) {
                out = Some(change);
            }
        });
    }
    out
}

fn is_text(spec: &ParamSpec) -> bool {
    matches!(spec.kind, ParamKind::Text { .. })
}

/// The accessible name of a row's control: `LoLA window`.
#[must_use]
pub fn accessible_name(owner: &str, spec: &ParamSpec) -> String {
    format!("{owner} {}", spec.title)
}

fn dot(ui: &mut Ui, row: &Row<'_>, changed: bool) -> bool {
    let (rect, response) = ui.allocate_exact_size(vec2(8.0, 20.0), if changed { Sense::click() } else { Sense::hover() });
    if !changed {
        return false;
    }
    ui.painter().circle_filled(rect.center(), 3.0, theme::accent(ui.visuals().dark_mode));
    let name = format!("Default {}", accessible_name(row.owner, row.spec));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &name));
    let hint = format!("{}. A click on the dot puts the default back", set_here(row));
    response.on_hover_text(hint).on_hover_cursor(CursorIcon::PointingHand).clicked()
}

/// What a parameter that is not the default's is set to, in words: `window is set to 256 here; its default is 64`. Of a text only that it
/// is another one.
fn set_here(row: &Row<'_>) -> String {
    let title = row.spec.title;
    if is_text(row.spec) {
        return format!("{title} is another text than the default's");
    }
    let own = row.value.map_or_else(|| "auto".to_owned(), ToString::to_string);
    let default = row.spec.default_value().map_or_else(|| "auto".to_owned(), |v| v.to_string());
    format!("{title} is set to {own} here; its default is {default}")
}

/// What the dots before parameters mean, for a tooltip of what they belong to.
pub const DOTS: &str =
    "A blue dot before a parameter: it is set to something else than its default. A click on the dot puts the default back.";

fn help(ui: &mut Ui, row: &Row<'_>, changed: bool) {
    let spec = row.spec;
    ui.strong(format!("{}  ({})", spec.title, spec.name));
    ui.label(spec.doc);
    let limits = match spec.kind {
        ParamKind::Int { min, max, default, .. } => format!("{min} to {max}, default {default}"),
        ParamKind::Float { min, max, default, .. } => format!("{min} to {max}, default {default}"),
        ParamKind::AutoFloat { min, max, auto, .. } => format!("{min} to {max}, or auto: {auto}"),
        ParamKind::Choice { options } => options.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        ParamKind::Bool { default } => format!("default {default}"),
        ParamKind::Text { max_bytes, .. } => format!("text of at most {max_bytes} bytes"),
    };
    ui.weak(limits);
    if changed {
        ui.label(format!("{}: hence the dot before it.", set_here(row)));
    }
}

fn control(ui: &mut Ui, row: &Row<'_>) -> Option<Change> {
    let name = accessible_name(row.owner, row.spec);
    match row.spec.kind {
        ParamKind::Int { min, max, default, log } => {
            let before = if let Some(ParamValue::Int(v)) = row.value { *v } else { default };
            let mut v = before;
            number(ui, &name, &mut v, min..=max, log);
            (v != before).then_some(Some(ParamValue::Int(v)))
        }
        ParamKind::Float { min, max, default, log } => {
            let before = row.value.and_then(ParamValue::number).unwrap_or(default);
            let mut v = before;
            number(ui, &name, &mut v, min..=max, log);
            (v.to_bits() != before.to_bits()).then_some(Some(ParamValue::Float(v)))
        }
        ParamKind::AutoFloat { min, max, auto, log } => auto_float(ui, row, &name, min..=max, auto, log),
        ParamKind::Choice { options } => choice(ui, row, &name, options),
        ParamKind::Bool { default } => {
            let before = if let Some(ParamValue::Bool(v)) = row.value { *v } else { default };
            let mut v = before;
            ui.add(Checkbox::without_text(&mut v)).accessible_name(name);
            (v != before).then_some(Some(ParamValue::Bool(v)))
        }
        ParamKind::Text { default, max_bytes } => text(ui, row, &name, default, max_bytes),
    }
}

/// A field of several lines. Every change is passed on at once: a text is a stream in less time than a key press takes, and the
/// run starts again in the background.
fn text(ui: &mut Ui, row: &Row<'_>, name: &str, default: &str, max_bytes: usize) -> Option<Change> {
    let before = if let Some(ParamValue::Text(text)) = row.value { text.as_str() } else { default };
    let mut text = before.to_owned();
    let width = ui.available_width();
    // A row is one line high: without its own least height the field would be squeezed into that.
    let area = egui::ScrollArea::vertical().id_salt((row.owner, row.spec.name)).max_height(TEXT_HEIGHT);
    area.min_scrolled_height(TEXT_HEIGHT).show(ui, |ui| {
        let field = TextEdit::multiline(&mut text).id_salt((row.owner, row.spec.name, "field"));
        let field = field.desired_rows(6).desired_width(width).char_limit(max_bytes);
        ui.add(field).widget_info(|| egui::WidgetInfo::labeled(egui::Role::MultilineTextInput, true, name));
    });
    (text != before).then_some(Some(ParamValue::Text(text)))
}

/// A slider and a number field on what is left of the row.
fn number<N: egui::emath::Numeric>(ui: &mut Ui, name: &str, value: &mut N, range: std::ops::RangeInclusive<N>, log: bool) {
    let (min, max) = (*range.start(), *range.end());
    let span = max.to_f64() - min.to_f64();
    let slider_width = ui.available_width() - NUMBER_WIDTH - ui.spacing().item_spacing.x;
    // The smallest step that a logarithmic slider over zero tells apart.
    let smallest = if N::INTEGRAL { 1.0 } else { (span * 1e-6).max(1e-6) };
    if slider_width >= SLIDER_WIDTH {
        ui.spacing_mut().slider_width = slider_width;
        // What a session asks for is said to be wrong, not mended in silence: only an edit is kept within the limits.
        let slider = Slider::new(value, range.clone()).clamping(SliderClamping::Edits).show_value(false);
        ui.add(slider.logarithmic(log).smallest_positive(smallest)).accessible_name(name);
    }
    let speed = if N::INTEGRAL { (value.to_f64().abs() * 0.01).max(0.2) } else { (value.to_f64().abs() * 0.01).max(span * 1e-4) };
    let field = DragValue::new(value)
        .range(range)
        .clamp_existing_to_range(false)
        .speed(speed)
        .custom_formatter(|v, _| short(v))
        .update_while_editing(false);
    exactly(ui, NUMBER_WIDTH, field).accessible_name(format!("{name} value"));
}

/// A widget in exactly this width: what does not fit is cut off, and moves nothing.
pub fn exactly(ui: &mut Ui, width: f32, widget: impl Widget) -> Response {
    let (_, rect) = ui.allocate_space(vec2(width, 20.0));
    let mut inside = ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::centered_and_justified(Direction::LeftToRight)));
    inside.shrink_clip_rect(rect.expand(1.0));
    inside.spacing_mut().interact_size.x = 0.0;
    inside.spacing_mut().button_padding.x = 4.0;
    inside.add(widget)
}

/// A number in at most about six characters.
fn short(v: f64) -> String {
    if v == 0.0 || (v.fract() == 0.0 && v.abs() < 1e7) {
        return format!("{v}");
    }
    let digits = if v.abs() >= 100.0 {
        1
    } else if v.abs() >= 1.0 {
        3
    } else if v.abs() >= 1e-3 {
        4
    } else {
        return format!("{v:.1e}");
    };
    let text = format!("{v:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn auto_float(ui: &mut Ui, row: &Row<'_>, name: &str, range: std::ops::RangeInclusive<f64>, auto: &str, log: bool) -> Option<Change> {
    let set = row.value.and_then(ParamValue::number);
    let mut on = set.is_none();
    let mut out = None;
    let hint = format!("Taken from {auto}");
    if ui.add(Checkbox::new(&mut on, "auto")).on_hover_text(hint).accessible_name(format!("{name} auto")).changed() {
        let start = row.used.unwrap_or(1.0).clamp(*range.start(), *range.end());
        out = Some(if on { None } else { Some(ParamValue::Float(start)) });
    }
    match set {
        Some(before) => {
            let mut v = before;
            number(ui, name, &mut v, range, log);
            if v.to_bits() != before.to_bits() {
                out = Some(Some(ParamValue::Float(v)));
            }
        }
        None => {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.weak(row.used.map_or_else(|| "…".to_owned(), short)).on_hover_text(auto);
            });
        }
    }
    out
}

fn choice(ui: &mut Ui, row: &Row<'_>, name: &str, options: &[(&str, &str)]) -> Option<Change> {
    let first = options.first().map_or("", |(name, _)| *name);
    let before = if let Some(ParamValue::Text(word)) = row.value { word.as_str() } else { first };
    let mut out = None;
    let width = ui.available_width();
    let combo = ComboBox::from_id_salt((row.owner, row.spec.name)).selected_text(before).width(width);
    let response = combo.show_ui(ui, |ui| {
        for (word, doc) in options {
            let mut line = ui.selectable_label(*word == before, *word);
            if !doc.is_empty() {
                line = line.on_hover_text(*doc);
            }
            if line.clicked() && *word != before {
                out = Some(Some(ParamValue::from(*word)));
            }
        }
    });
    let doc = options.iter().find(|(word, _)| *word == before).map_or("", |(_, doc)| *doc);
    let response = response.response.accessible_name(name);
    if !doc.is_empty() {
        response.on_hover_text(doc);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Row, set_here, short};
    use crate::layer::kind;
    use crate::param::ParamValue;

    #[test]
    fn the_dot_says_what_is_set_and_what_the_default_is() {
        let spec = kind("lola").unwrap().params().iter().find(|p| p.name == "window").unwrap();
        let default = spec.default_value().unwrap();
        let value = ParamValue::Int(4321);
        let row = Row { owner: "LoLA", spec, value: Some(&value), used: None };
        assert_eq!(set_here(&row), format!("{} is set to 4321 here; its default is {default}", spec.title));
    }

    #[test]
    fn numbers_are_short_and_not_wrong() {
        for (v, text) in [(0.0, "0"), (8.0, "8"), (16384.0, "16384"), (0.125, "0.125"), (31.68, "31.68"), (1.0 / 3.0, "0.3333")] {
            assert_eq!(short(v), text);
        }
        assert_eq!(short(123.456), "123.5");
        assert_eq!(short(1.5e-5), "1.5e-5");
        assert_eq!(short(0.999), "0.999");
    }
}
