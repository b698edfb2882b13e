//! The sides of the window, the session at the left and the inspector with recall at the right: each folds to a rail, by a key or
//! where the window is too narrow for it, and is unfolded from there.

use eframe::egui::{Frame, Panel, Ui, vec2};

use crate::app::app::App;
use crate::app::command::{Command, WindowCommand};
use crate::app::commands::{command, keys_text};
use crate::app::icon::{self, Icon};
use crate::app::layout::RECALL;
use crate::app::prefs::Preferences;

/// How wide a rail is, in points.
const RAIL: f32 = 24.0;

/// A side of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The stream and the lanes, at the left.
    Session,
    /// The inspector and recall, at the right.
    Inspector,
}

impl Side {
    /// What is in it.
    fn title(self) -> &'static str {
        match self {
            Self::Session => "session panel",
            Self::Inspector => "inspector and recall",
        }
    }

    /// The name of the command that folds and unfolds it.
    fn command(self) -> &'static str {
        match self {
            Self::Session => "session-panel",
            Self::Inspector => "inspector",
        }
    }

    /// In a window narrower than this, in points, it is folded unless it was asked for: the panels of the centre would be slits.
    fn least(self) -> f32 {
        match self {
            Self::Session => 1040.0,
            Self::Inspector => 760.0,
        }
    }

    /// What was chosen of it.
    fn of(self, preferences: &Preferences) -> Option<bool> {
        match self {
            Self::Session => preferences.session_panel,
            Self::Inspector => preferences.inspector,
        }
    }

    /// True if it is shown in a window as wide as this, in points.
    fn is_shown(self, preferences: &Preferences, width: f32) -> bool {
        self.of(preferences).unwrap_or(width >= self.least())
    }
}

/// Which sides were drawn last, by [`Side`], and in how wide a window.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    session: bool,
    inspector: bool,
    width: f32,
}

impl Default for Sides {
    fn default() -> Self {
        Self { session: true, inspector: true, width: f32::INFINITY }
    }
}

impl Sides {
    /// True if the side is seen.
    #[must_use]
    pub fn is_shown(self, side: Side) -> bool {
        match side {
            Side::Session => self.session,
            Side::Inspector => self.inspector,
        }
    }

    /// For a window as wide as this: as chosen, or where there is room. What the step of a lesson points at (`marked`) is shown too.
    pub(super) fn lay(preferences: &Preferences, width: f32, marked: &[String]) -> Self {
        let marks = |names: [&str; 2]| marked.iter().any(|name| names.contains(&name.as_str()));
        Self {
            session: Side::Session.is_shown(preferences, width) || marks(["lanes"; 2]),
            inspector: Side::Inspector.is_shown(preferences, width) || marks(["inspector", RECALL]),
            width,
        }
    }
}

impl App {
    /// Folds a side, or unfolds it, for this window and the next ones. A choice that the width makes by itself is none.
    pub(in crate::app) fn show_side(&mut self, side: Side, shown: bool) {
        let chosen = (shown != (self.sides.width >= side.least())).then_some(shown);
        match side {
            Side::Session => self.preferences.session_panel = chosen,
            Side::Inspector => self.preferences.inspector = chosen,
        }
        self.save_preferences();
    }
}

/// The rail in place of a side that is folded.
pub(super) fn rail(ui: &mut Ui, side: Side, frame: Frame, asked: &mut Vec<Command>) {
    let (panel, icon) = match side {
        Side::Session => (Panel::left("session rail"), Icon::ArrowRight),
        Side::Inspector => (Panel::right("inspector rail"), Icon::ArrowLeft),
    };
    panel.frame(frame.inner_margin(2)).exact_size(RAIL).resizable(false).show(ui, |ui| {
        let name = format!("Show the {}", side.title());
        let keys = command(side.command()).map_or_else(String::new, |c| keys_text(ui.ctx(), c));
        let pressed = icon::sized(ui, icon, &name, false, vec2(20.0, 20.0));
        if pressed.on_hover_text(format!("{name} ({keys})")).clicked() {
            asked.push(WindowCommand::ToggleSide(side).into());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rail_tells_the_keys_of_its_own_command() {
        for side in [Side::Session, Side::Inspector] {
            assert_eq!((command(side.command()).unwrap().make)(), WindowCommand::ToggleSide(side).into());
        }
    }

    #[test]
    fn sides_give_way_in_a_narrow_window_unless_they_are_asked_for() {
        let mut preferences = Preferences::default();
        let shown = |preferences: &Preferences, width: f32, marked: &[String]| {
            let sides = Sides::lay(preferences, width, marked);
            [Side::Session, Side::Inspector].map(|side| sides.is_shown(side))
        };
        assert_eq!([1280.0, 1000.0, 700.0].map(|w| shown(&preferences, w, &[])), [[true; 2], [false, true], [false; 2]]);
        // What a lesson points at is seen.
        assert_eq!(shown(&preferences, 700.0, &["lanes".to_owned()]), [true, false]);
        assert_eq!(shown(&preferences, 700.0, &[RECALL.to_owned()]), [false, true]);
        (preferences.session_panel, preferences.inspector) = (Some(true), Some(false));
        assert_eq!([1280.0, 700.0].map(|w| shown(&preferences, w, &[])), [[true, false]; 2]);
    }
}
