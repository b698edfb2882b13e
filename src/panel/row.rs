//! Rows of controls and words that know what fits on a line: what is never broken over two, and the choice of a view.

use eframe::egui::{Align, ComboBox, Label, Layout, TextStyle, TextWrapMode, Ui, WidgetText, vec2};

/// The width of the square of [`super::common::swatch`], in points.
pub(in crate::panel) const SWATCH: f32 = 10.0;

/// The width of a text on one line, in points; without a size of its own it is as large as that of a button.
pub(in crate::panel) fn width_of(ui: &Ui, text: impl Into<WidgetText>) -> f32 {
    text.into().into_galley(ui, Some(TextWrapMode::Extend), f32::INFINITY, TextStyle::Button).size().x
}

/// The width of a button with this text.
pub(in crate::panel) fn button_width(ui: &Ui, text: impl Into<WidgetText>) -> f32 {
    width_of(ui, text) + 2.0 * ui.spacing().button_padding.x
}

/// The width of buttons with these texts beside each other.
pub(in crate::panel) fn buttons_width<'t>(ui: &Ui, texts: impl IntoIterator<Item = &'t str>) -> f32 {
    let gap = ui.spacing().item_spacing.x;
    let each = texts.into_iter().map(|text| button_width(ui, text) + gap);
    (each.sum::<f32>() - gap).max(0.0)
}

/// What belongs together (a colour and the name beside it) and takes `width` points: a row that wraps takes it to its next line whole.
pub(in crate::panel) fn unbroken<R>(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(width, ui.spacing().interact_size.y);
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), add).inner
}

/// How many lines things of these widths take, `gap` apart, in rows of `room` points.
pub(in crate::panel) fn lines(widths: impl IntoIterator<Item = f32>, gap: f32, room: f32) -> usize {
    let (mut lines, mut at) = (0, f32::INFINITY);
    for width in widths {
        if at + gap + width > room {
            lines += 1;
            at = width;
        } else {
            at += gap + width;
        }
    }
    lines
}

/// A sentence in which no line ends between a name and the number after it: `window 0.57` stays together, wherever it is broken.
pub(in crate::panel) fn glued(sentence: &str) -> String {
    let mut glued = String::with_capacity(sentence.len() + 8);
    for (i, word) in sentence.split(' ').enumerate() {
        let number = word.trim_start_matches(['-', '−', '+', '±']).starts_with(|c: char| c.is_ascii_digit());
        if i > 0 {
            glued.push(if number { '\u{a0}' } else { ' ' });
        }
        glued += word;
    }
    glued
}

/// A sentence above a plot: on as many lines as it takes where these leave the plot `plot` points of height, else on one, the whole of it
/// on hover.
pub(in crate::panel) fn sentence(ui: &mut Ui, text: impl Into<WidgetText>, plot: f32) {
    let text = text.into();
    let high = text.clone().into_galley(ui, Some(TextWrapMode::Wrap), ui.available_width(), TextStyle::Body).size().y;
    let label = Label::new(text);
    ui.add(if ui.available_height() - high >= plot { label.wrap() } else { label.truncate() });
}

/// A view, its name and what it shows.
pub(in crate::panel) type Tab<T> = (T, &'static str, &'static str);

/// The choice of a view, on one line: side by side where what is left of the line has room for all of them and for `beside` points of what
/// follows, else a menu.
pub(in crate::panel) fn tabs<T: Copy + PartialEq>(ui: &mut Ui, view: &mut T, all: &[(T, &str, &str)], beside: f32) {
    let wanted = buttons_width(ui, all.iter().map(|tab| tab.1)) + beside;
    // Sizes are rounded to pixels.
    if wanted <= ui.available_size_before_wrap().x + 1.0 {
        choices(ui, view, all);
        return;
    }
    let (name, hint) = all.iter().find(|tab| tab.0 == *view).map_or(("", ""), |tab| (tab.1, tab.2));
    // A panel may have another such choice below: they are told apart by their first view.
    let salt = all.first().map_or("", |tab| tab.1);
    let menu = ComboBox::from_id_salt(("view", salt)).selected_text(name).width(70.0).show_ui(ui, |ui| choices(ui, view, all));
    menu.response.accessible_name("What is shown here").on_hover_text(hint);
}

fn choices<T: Copy + PartialEq>(ui: &mut Ui, view: &mut T, all: &[(T, &str, &str)]) {
    for (value, name, hint) in all {
        ui.selectable_value(view, *value, *name).on_hover_text(*hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_name() {
        let said = glued("mean of 2048 reads: window 0.57, cache -0.04, state 0.39");
        assert_eq!(said, "mean of\u{a0}2048 reads: window\u{a0}0.57, cache\u{a0}-0.04, state\u{a0}0.39");
        assert_eq!(glued("n 409 of N 512 (3 writes wait)"), "n\u{a0}409 of N\u{a0}512 (3 writes wait)");
        assert_eq!(glued("12 rows - of no name"), "12 rows - of no name", "a dash is no number, and nothing stands before the first word");
    }

    #[test]
    fn lines_are_full_before_another_is_begun() {
        assert_eq!(lines([40.0, 40.0, 20.0], 10.0, 120.0), 1, "40 + 10 + 40 + 10 + 20");
        assert_eq!(lines([40.0, 40.0, 20.0], 10.0, 119.0), 2);
        assert_eq!(lines([200.0, 20.0, 20.0], 10.0, 100.0), 2, "what is wider than a line has one of its own");
        assert_eq!(lines([], 10.0, 100.0), 0);
    }
}
