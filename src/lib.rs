//! Mnemoscope: an explorer of how attention layers remember.
//!
//! (The page on the flow of data, the glossary and the "how to add" sections come here.)

#[cfg(feature = "gui")]
pub mod app;
pub mod cli;
pub mod engine;
pub mod export;
pub mod gpu;
pub mod layer;
pub mod metric;
#[cfg(feature = "gui")]
pub mod panel;
pub mod param;
pub mod session;
pub mod stream;
pub mod task;
pub mod trace;
#[cfg(feature = "gui")]
pub mod widget;
