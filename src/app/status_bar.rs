//! The line at the bottom: where it computes and why there, how long a step and a frame take, and the last word said.

use eframe::egui::{Align, Label, Layout, ProgressBar, RichText, Sense, Ui, vec2};

use crate::app::command::{Command, WindowCommand};
use crate::app::state::Run;
use crate::app::theme;

/// What the status bar is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Status<'a> {
    /// The run on screen.
    pub run: Option<&'a Run>,
    /// True while a run computes.
    pub computing: bool,
    /// How far an export is, from 0 to 1, while one is under way.
    pub exporting: Option<f32>,
    /// The last thing that was done: `Saved ..`.
    pub notice: Option<&'a str>,
    /// The window's own work for a frame, in seconds, averaged; `None` hides it (pictures in tests).
    pub frame_seconds: Option<f64>,
}

/// Draws it.
pub fn ui(ui: &mut Ui, status: Status<'_>, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let dark = ui.visuals().dark_mode;
        let (rect, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
        let colour = if status.computing { theme::accent(dark) } else { ui.visuals().weak_text_color() };
        ui.painter().circle_filled(rect.center(), 3.5, colour);
        match status.run.and_then(|r| r.backend.as_ref().map(|b| (r, b))) {
            Some((run, backend)) => {
                let words = if backend.gpu { format!("GPU: {}", backend.adapter) } else { backend.adapter.clone() };
                let text = RichText::new(words).small();
                ui.add(Label::new(text)).on_hover_text(format!("Why here: {}", backend.reason));
                if status.frame_seconds.is_some() {
                    step_time(ui, run);
                }
            }
            None => {
                ui.label(RichText::new("starting").small().weak());
            }
        }
        let word = if status.computing { "computing" } else { "" };
        ui.label(RichText::new(word).small().weak());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if let Some(seconds) = status.frame_seconds {
                let text = RichText::new(format!("frame {}", milliseconds(seconds))).small().weak();
                ui.label(text).on_hover_text("The window's own work for a frame, averaged");
            }
            if let Some(share) = status.exporting {
                if ui.small_button("Cancel export").clicked() {
                    commands.push(Command::Window(WindowCommand::CancelExport));
                }
                ui.add(ProgressBar::new(share).desired_width(120.0).desired_height(10.0)).accessible_name("Export progress");
            } else if let Some(notice) = status.notice {
                ui.add(Label::new(RichText::new(notice).small()).truncate());
            }
        });
    });
}

/// The time of a step, lane by lane on hover.
fn step_time(ui: &mut Ui, run: &Run) {
    let times: Vec<_> = run.plan.lanes.iter().enumerate().filter_map(|(i, l)| run.seconds_per_chunk(i).map(|s| (l, s))).collect();
    if times.is_empty() {
        return;
    }
    let total: f64 = times.iter().map(|(_, s)| s).sum();
    let response = ui.label(RichText::new(format!("step {}", milliseconds(total))).small().weak());
    response.on_hover_ui(|ui| {
        ui.label("Time a chunk, as measured, all heads together:");
        for (lane, seconds) in times {
            ui.label(format!("{}  {}  ({} writes a chunk)", lane.name, milliseconds(seconds), lane.setup.chunk));
        }
    });
}

/// A time in milliseconds, with as many digits as it deserves.
#[must_use]
pub fn milliseconds(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms >= 100.0 {
        format!("{ms:.0} ms")
    } else if ms >= 10.0 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.2} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times_are_said_in_milliseconds() {
        assert_eq!(milliseconds(0.001_234), "1.23 ms");
        assert_eq!(milliseconds(0.0345), "34.5 ms");
        assert_eq!(milliseconds(1.5), "1500 ms");
    }
}
