//! The window: what is looked at, commands, keys, layout, theme.

pub mod command;
pub mod commands;
pub mod theme;
pub mod timeline;
