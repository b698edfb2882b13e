//! Widgets: colour maps, axes, heatmap, range control, raster, caches. They know no layer and no stream.

pub mod baked;
pub mod cached;
pub mod chart;
pub mod cut;
pub mod density;
pub mod envelope;
pub mod heatmap;
pub mod lasso;
pub mod legend;
pub mod line;
pub mod math;
pub mod palette;
pub mod range;
pub mod raster;
pub mod symlog;
pub mod ticks;
