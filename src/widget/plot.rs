//! `egui_plot` in the dress of this program: the same paper, letters and numbers as [`super::chart`].

use eframe::egui::{FontId, TextStyle, Ui, Vec2};
use egui_plot::Plot;

use super::chart::SMALL;
use super::palette::Ink;
use super::ticks::number;

/// A plot that fills `size`: dragging pans, the wheel with Ctrl zooms, a double click shows everything again.
///
/// The plain wheel is left to whatever scrolls around the plot.
#[must_use]
pub fn plot<'a>(ui: &Ui, name: &'a str, size: Vec2) -> Plot<'a> {
    let ink = Ink::of(ui);
    Plot::new(name)
        .width(size.x)
        .height(size.y)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .show_crosshair(false)
        .grid_color(ink.grid)
        .set_margin_fraction(Vec2::new(0.0, 0.06))
        .y_axis_min_width(26.0)
        .x_axis_formatter(|mark, _| number(mark.value))
        .y_axis_formatter(|mark, _| number(mark.value))
        .label_formatter(|_| None)
}

/// Runs `add` with the small letters of axes.
pub fn small<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.scope(|ui| {
        for style in [TextStyle::Body, TextStyle::Small] {
            ui.style_mut().text_styles.insert(style, FontId::proportional(SMALL));
        }
        add(ui)
    })
    .inner
}
