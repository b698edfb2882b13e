//! The window: what is looked at, commands, keys, layout, theme.

pub mod command;
pub mod commands;
pub mod icon;
pub mod params;
pub mod prefs;
pub mod ribbon;
pub mod session_panel;
pub mod state;
#[cfg(test)]
mod testing;
pub mod theme;
pub mod timeline;
pub mod timeline_bar;
