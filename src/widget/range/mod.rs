//! The range of a heatmap's colours, chosen over a histogram of its numbers: both ends are dragged, typed or moved by arrows,
//! and what is no number is counted beside it in its own loud colour.
//!
//! [`Spread`] is what is known of the numbers, made once for each picture; [`RangeControl`] is what the user chose, kept by the
//! panel; [`Range`] is what comes of both, and what [`Colours`](super::heatmap::Colours) are made of.

mod draw;
mod model;
mod spread;
#[cfg(test)]
mod tests;

pub use model::{Range, RangeControl, Reading};
pub use spread::Spread;
