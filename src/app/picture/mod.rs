//! Pictures: the window, or one panel as a figure with a caption, as PNG, as SVG, or as an animation from step to step.
//!
//! - [`caption`] says what a picture is of: in words under a figure, and in every file's metadata.
//! - [`figure`] lays one panel out alone, with its caption.
//! - [`svg`] turns what egui would paint into vector marks and real text. It needs no adapter.
//! - [`painter`] paints on a device, for PNG.
//! - [`mod@file`] and [`film`] write the files.
//! - [`mirror`] and [`scene`] take what the window has drawn away from it; [`form`] asks how it is wanted.
//!
//! [`crate::app::offscreen::Stage`] is where a window is drawn that nobody sees.

pub mod caption;
pub mod figure;
pub mod file;
pub mod film;
pub mod form;
pub mod mirror;
pub mod painter;
pub mod scene;
pub mod svg;
pub mod textures;

use crate::app::layout::entry;
use crate::panel::{PANELS, PanelEntry};
use crate::param::nearest;

/// Width and height of a figure in points, where nobody asks for others.
pub const FIGURE: [u32; 2] = [800, 520];

/// What a picture is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Subject {
    /// The whole window.
    #[default]
    Window,
    /// One panel alone, by its name in [`PANELS`].
    Panel(&'static str),
}

impl Subject {
    /// The panel of this name, or whose tab is called so.
    ///
    /// # Errors
    /// A sentence with the name of the nearest, or with all names.
    pub fn panel(name: &str) -> Result<Self, String> {
        let called = |name: &str| entry(name).or_else(|| PanelEntry::titled(name));
        if let Some(entry) = called(name) {
            return Ok(Self::Panel(entry.name));
        }
        let titles: Vec<String> = PANELS.iter().map(|p| p.title.to_lowercase()).collect();
        let names = || PANELS.iter().map(|p| p.name);
        let near = nearest(&name.to_lowercase(), names().chain(titles.iter().map(String::as_str)));
        Err(match near.and_then(called) {
            Some(near) => format!("there is no panel `{name}`; the nearest name is `{}`", near.name),
            None => format!("there is no panel `{name}`; the panels are {}", names().collect::<Vec<_>>().join(", ")),
        })
    }

    /// What it is called: the panel's title, or the program's name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Window => "Mnemoscope",
            Self::Panel(name) => entry(name).map_or(name, |p| p.title),
        }
    }

    /// Width and height in points where nobody asks for others.
    #[must_use]
    pub fn size(self) -> [u32; 2] {
        match self {
            Self::Window => [1440, 900],
            Self::Panel(_) => FIGURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_that_is_not_there_is_answered_with_the_nearest_name() {
        assert_eq!(Subject::panel("growth"), Ok(Subject::Panel("growth")));
        let titled = ["Cache", "scores", "Codebook health", "two moments"].map(Subject::panel);
        assert_eq!(
            titled,
            ["residency", "sre", "health", "moments"].map(|name| Ok(Subject::Panel(name))),
            "the title of a tab names it too"
        );
        assert_eq!(Subject::panel("cahce").unwrap_err(), "there is no panel `cahce`; the nearest name is `residency`");
        assert_eq!(Subject::panel("groth").unwrap_err(), "there is no panel `groth`; the nearest name is `growth`");
        let all = Subject::panel("nothing like it").unwrap_err();
        assert!(PANELS.iter().all(|p| all.contains(p.name)), "{all}");
    }
}
