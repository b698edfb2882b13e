//! One panel alone, as a figure: the panel, and under it a caption.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{FontId, Rect, TextStyle, Ui, UiBuilder, Vec2, pos2};

use super::caption::Caption;
use crate::app::command::Command;
use crate::app::layout::PanelLayout;
use crate::app::theme;
use crate::panel::Look;

/// Between the figure's edge and what is in it, in points.
const MARGIN: f32 = 10.0;
/// Between the panel and its caption.
const GAP: f32 = 8.0;

/// Draws a panel and its caption into all of `ui`.
pub fn ui(ui: &mut Ui, name: &str, caption: &Caption, layout: &mut PanelLayout, look: &Look<'_>, commands: &mut Vec<Command>) {
    let whole = ui.max_rect();
    ui.painter().rect_filled(whole, 0.0, theme::canvas(ui.visuals().dark_mode));
    let inner = whole.shrink(MARGIN);
    let words = ui.painter().layout_job(words(ui, caption, inner.width()));
    // In a low figure the panel comes first.
    let panel = (inner.height() - words.size().y - GAP).max(inner.height() * 0.5);
    let panel = Rect::from_min_size(inner.min, Vec2::new(inner.width(), panel));
    ui.painter().with_clip_rect(whole).galley(pos2(inner.left(), panel.bottom() + GAP), words, ui.visuals().text_color());
    ui.scope_builder(UiBuilder::new().max_rect(panel), |ui| {
        ui.shrink_clip_rect(panel);
        layout.panel(ui, name, look, commands);
    });
    ui.advance_cursor_after_rect(whole);
}

fn words(ui: &Ui, caption: &Caption, width: f32) -> LayoutJob {
    let font = |style: &TextStyle| ui.style().text_styles.get(style).cloned().unwrap_or_else(|| FontId::proportional(12.0));
    let mut job = LayoutJob::default();
    job.append(&format!("{}. ", caption.name), 0.0, TextFormat::simple(font(&TextStyle::Body), ui.visuals().strong_text_color()));
    job.append(&caption.text, 0.0, TextFormat::simple(font(&TextStyle::Small), ui.visuals().weak_text_color()));
    job.wrap.max_width = width;
    job
}
