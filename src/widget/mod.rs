//! Widgets: colour maps, axes, heatmap, raster, caches. They know no layer and no stream.

pub mod cached;
pub mod chart;
pub mod heatmap;
pub mod palette;
pub mod plot;
pub mod raster;
pub mod ticks;
