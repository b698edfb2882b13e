//! Lines across the window, and what stands in the centre while there is no run: what is going on, and what went wrong.

use std::path::Path;

use eframe::egui::{Align, CentralPanel, Color32, Frame, Label, Layout, Margin, Panel, RichText, Ui};

use crate::app::session_panel::Problem;
use crate::app::state::Run;

/// How much of a word's own colour is behind it: no more than leaves it readable.
pub(super) const TINT: f32 = 0.07;

fn strip(colour: Color32) -> Frame {
    Frame::new().fill(colour.gamma_multiply(TINT)).inner_margin(Margin::symmetric(8, 3))
}

/// Lines for what the user should know of a run (the device was lost, the run stopped), without the first `dismissed`; true if the
/// one on top is dismissed.
pub fn strips(ui: &mut Ui, run: &Run, dismissed: usize) -> bool {
    let banners = run.banners.iter().map(|b| (false, b.clone()));
    let words: Vec<(bool, String)> =
        banners.chain(run.error.iter().map(|e| (true, format!("The run stopped: {e}")))).skip(dismissed).collect();
    let mut dismiss = false;
    for (i, (bad, text)) in words.into_iter().enumerate() {
        let colour = if bad { ui.visuals().error_fg_color } else { ui.visuals().warn_fg_color };
        Panel::top(format!("strip {i}")).frame(strip(colour)).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.add(Label::new(RichText::new(text).color(colour)).truncate());
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    dismiss |= i == 0 && ui.small_button("dismiss").clicked();
                });
            });
        });
    }
    dismiss
}

/// A line over the centre: what is below is not of the session as set.
pub fn stale(ui: &mut Ui, problem: &Problem) {
    let colour = ui.visuals().error_fg_color;
    Panel::top("stale").frame(strip(colour)).show(ui, |ui| {
        let text = format!("Showing the last run that could be made; the session has a problem: {}", problem.message);
        ui.add(Label::new(RichText::new(&text).color(colour)).truncate()).on_hover_text(text);
    });
}

/// The centre before the first run: what is going on, or why nothing is.
pub fn loading(ui: &mut Ui, file: Option<&Path>, problem: Option<&Problem>) {
    CentralPanel::default().show(ui, |ui| {
        ui.centered_and_justified(|ui| match problem {
            Some(problem) => ui.colored_label(ui.visuals().error_fg_color, &problem.message),
            None => match file.and_then(Path::file_name) {
                Some(name) => ui.weak(format!("Loading {}…", name.to_string_lossy())),
                None => ui.weak("Loading the stream…"),
            },
        });
    });
}
