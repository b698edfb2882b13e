//! A panel alone in a window of its own, as the tests of panels draw it.

use eframe::egui::{Theme, Ui, Vec2};
use egui_kittest::Harness;
use mnemoscope::app::theme::{self, ThemeChoice};

/// Draws `shown` with `ui` in points of 1.5 pixels, and lets it settle.
pub fn harness<'a, S: 'a>(shown: S, size: Vec2, dark: bool, ui: impl Fn(&mut S, &mut Ui) + 'a) -> Harness<'a, S> {
    let (theme, choice) = if dark { (Theme::Dark, ThemeChoice::Dark) } else { (Theme::Light, ThemeChoice::Light) };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_pixels_per_point(1.5)
        .with_theme(theme)
        .with_max_steps(12)
        .with_context_setup(move |ctx| theme::install(ctx, choice, 1.0))
        .wgpu()
        .build_ui_state(move |at, shown: &mut S| ui(shown, at), shown);
    harness.run();
    harness
}
