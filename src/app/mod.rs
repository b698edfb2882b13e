//! The window: what is looked at, commands, keys, layout, theme.

pub mod command;
