//! The window: what is looked at, commands, keys, layout, theme.
//!
//! Each frame receives (what the engine and other threads have to say), carries out (what was asked for), and paints.
//! [`app`] is the window itself; everything that can be told without a picture is in a module of its own, and tested
//! there: [`timeline`] (time), [`state`] (runs), [`ribbon`] and [`facts`] (what pictures and the inspector say),
//! [`commands`] (names and keys), [`prefs`].

mod actions;
#[allow(clippy::module_inception, reason = "the window is what this module is about")]
pub mod app;
pub mod arrangement;
pub mod autosave;
pub mod bookmarks;
pub mod borders;
pub mod command;
pub mod commands;
pub mod dialogs;
pub mod export_dialog;
pub mod facts;
pub mod focus;
pub mod frame_bench;
pub mod hand;
pub mod history;
pub mod icon;
pub mod inspector;
pub mod jobs;
pub mod lanes_panel;
pub mod layout;
pub mod lesson;
pub mod menu;
pub mod neighbours;
mod notices;
pub mod offscreen;
pub mod pages;
mod paint;
pub mod palette;
pub mod params;
pub mod picture;
pub mod prefs;
pub mod presets;
mod read_row;
pub mod ribbon;
pub mod search;
pub mod second_cursor;
pub mod session_panel;
pub mod sides;
mod sizes;
pub mod start;
pub mod state;
pub mod states;
pub mod status_bar;
pub mod study;
mod tabs;
#[cfg(test)]
mod testing;
pub mod theme;
pub mod timeline;
pub mod timeline_bar;
pub mod undo;
mod wake;

use std::path::PathBuf;

use eframe::egui::ViewportBuilder;
use thiserror::Error;

pub use app::{App, Options};

use crate::session::Session;

/// Why there is no window.
#[derive(Debug, Error)]
pub enum AppError {
    /// The system has no display.
    #[error(
        "there is no display to open a window on ({0}); without one, `mnemoscope run SESSION --out DIR` computes and writes the trace, and `mnemoscope screenshot SESSION --out FILE.png` draws the window into a file"
    )]
    NoDisplay(String),
    /// The window could not be opened for another reason.
    #[error("the window cannot be opened: {0}")]
    Window(String),
}

/// Opens the window on a file, or on the bundled capture, and returns when it is closed.
///
/// Until a file has been read and checked nothing runs. If it cannot be opened, that is said over the bundled capture.
///
/// # Errors
/// If there is no window: no display, no adapter to paint with.
pub fn run(file: Option<PathBuf>) -> Result<(), AppError> {
    let options = eframe::NativeOptions { viewport: viewport(), ..eframe::NativeOptions::default() };
    let created = eframe::run_native(
        "Mnemoscope",
        options,
        Box::new(|cc| {
            let (preferences, autosave) = (prefs::Preferences::path(), prefs::autosave_folder());
            let options = Options { preferences, autosave, start_page: file.is_none(), ..Options::default() };
            let app = match file {
                Some(file) => App::opening(&cc.egui_ctx, file, options)?,
                None => App::new(&cc.egui_ctx, Session::default(), None, options)?,
            };
            Ok(Box::new(app))
        }),
    );
    created.map_err(|error| match error {
        eframe::Error::WinitEventLoop(e) => AppError::NoDisplay(reason(&e.to_string())),
        eframe::Error::Winit(e) => AppError::NoDisplay(reason(&e.to_string())),
        other => AppError::Window(other.to_string()),
    })
}

/// The window library's reason without the place in its own source, which helps nobody here:
/// `os error at ../mod.rs:765: neither .. is set.`
fn reason(text: &str) -> String {
    let after_place = text.rsplit_once(".rs:").and_then(|(_, rest)| rest.split_once(": ")).map_or(text, |(_, reason)| reason);
    after_place.trim_end_matches('.').to_owned()
}

fn viewport() -> ViewportBuilder {
    let viewport = ViewportBuilder::default()
        .with_title("Mnemoscope")
        .with_app_id("mnemoscope")
        .with_inner_size([1440.0, 900.0])
        .with_min_inner_size([900.0, 600.0]);
    match eframe::icon_data::from_png_bytes(include_bytes!("../../assets/icon.png")) {
        Ok(icon) => viewport.with_icon(icon),
        Err(error) => {
            log::error!("the icon cannot be read: {error}");
            viewport
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_no_window_is_said_without_a_place_in_somebodys_source() {
        let text = "os error at /somewhere/linux/mod.rs:765: neither WAYLAND_DISPLAY nor DISPLAY is set.";
        assert_eq!(reason(text), "neither WAYLAND_DISPLAY nor DISPLAY is set");
        assert_eq!(reason("the event loop ended"), "the event loop ended");
        let message = AppError::NoDisplay(reason(text)).to_string();
        assert!(message.contains("no display") && message.contains("mnemoscope screenshot"), "{message}");
    }
}
