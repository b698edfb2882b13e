//! Widgets: heatmap, raster, ruler, colour maps. They know no layer.
