//! What lies on the map, from the paper upwards, each as one mesh or one picture: centroids, tokens, the selected group.

use eframe::egui::{Color32, ColorImage, Mesh, Pos2};

use super::glyph::{Atlas, Glyph};
use super::view::{Memory, Row, Size, View, at};
use crate::layer::effective::Store;
use crate::panel::common::{marked, marked_name};
use crate::widget::chart::{Chart, Entry, Sign};
use crate::widget::palette::Ink;
use crate::widget::raster::{self, Inks, Mark, Point};

/// A stream of more tokens than this is drawn as density, but for the newest.
const LONG: usize = 4096;
/// The density covers whole blocks of so many tokens; those after it are drawn one by one.
const BLOCK: usize = 1024;
/// A stream of more tokens than this has small ones.
const MANY: usize = 1500;

/// More founders than this have small rings.
const CROWD: usize = 600;

/// How many of the seen tokens are drawn as density.
pub(super) fn dense(total: usize, seen: usize) -> usize {
    if total > LONG { seen / BLOCK * BLOCK } else { 0 }
}

/// The first `count` tokens as density.
pub(super) fn density(view: &View<'_>, chart: &Chart, [width, height]: [usize; 2], scale: f32, count: usize, ink: Ink) -> ColorImage {
    let point = |place: &[f32; 2]| Point {
        x: (chart.x.share(f64::from(place[0])) * width as f64) as f32,
        y: ((1.0 - chart.y.share(f64::from(place[1]))) * height as f64) as f32,
        mark: Mark::Plain,
    };
    let points: Vec<Point> = view.keys.points[..count].iter().map(point).collect();
    raster::draw(width, height, scale, &points, Inks { plain: ink.plain, ring: ink.window, diamond: ink.mark })
}

/// The centroids, the largest at the bottom.
pub(super) fn centroids(rows: &[Row], size: Size, chart: &Chart, atlas: &Atlas, colour: Color32) -> Mesh {
    let mut order: Vec<usize> = (0..rows.len()).filter(|&r| rows[r].1 > 0).collect();
    order.sort_by_key(|&r| std::cmp::Reverse(rows[r].1));
    let mut marks = atlas.mesh();
    for row in order {
        marks.blob(at(chart, rows[row].0), size.radius(rows[row].1), colour);
    }
    marks.done()
}

/// The tokens from `from` on; of those before it what must not be lost in the density.
pub(super) fn tokens(view: &View<'_>, chart: &Chart, atlas: &Atlas, from: usize, ink: &Ink) -> Mesh {
    let mut marks = atlas.mesh();
    let dot = if view.keys.points.len() > MANY { Glyph::Speck } else { Glyph::Dot };
    let place = |write: usize| view.key(chart, write);
    let many = |write: &usize| !matches!(view.memory.store(*write), Store::Window | Store::Cache);
    let forgets = view.forgets();
    for write in (from..view.seen).filter(many) {
        if forgets && view.memory.store(write) == Store::Gone {
            marks.scaled(place(write), Glyph::Ring, 0.55, ink.quiet);
        } else {
            marks.push(place(write), dot, ink.plain);
        }
    }
    match view.memory {
        Memory::Rows { founders, .. } => {
            let founders: Vec<usize> = (0..view.seen.min(founders.len())).filter(|w| founders[*w] == 1).collect();
            let factor = if founders.len() > CROWD { 0.55 } else { 1.0 };
            for write in founders {
                marks.scaled(place(write), Glyph::Ring, factor, ink.window);
            }
        }
        Memory::Places { .. } | Memory::Kept { store: Store::Window, .. } => {
            for write in 0..view.seen {
                match view.memory.store(write) {
                    Store::Window => marks.push(place(write), Glyph::Triangle, ink.window),
                    Store::Cache => {
                        marks.push(place(write), Glyph::SquareEdge, ink.text);
                        marks.push(place(write), Glyph::Square, ink.cache);
                    }
                    _ => {}
                }
            }
        }
        Memory::Kept { .. } => {}
    }
    for write in marked(view.stream()).map(|(_, all)| all).unwrap_or_default().into_iter().filter(|w| *w < view.seen) {
        let to = place(write);
        marks.push(to, Glyph::DiamondEdge, ink.paper);
        marks.push(to, Glyph::Diamond, ink.mark);
        match view.memory.store(write) {
            Store::Cache => marks.push(to, Glyph::Square, ink.cache),
            Store::Window => marks.scaled(to, Glyph::Triangle, 0.65, ink.window),
            _ if view.memory.founder(write) => marks.push(to, Glyph::Ring, ink.window),
            _ => {}
        }
    }
    marks.done()
}

/// A hoop around every token of the selected group that is on the map.
pub(super) fn group(view: &View<'_>, chart: &Chart, atlas: &Atlas, ink: &Ink) -> Mesh {
    let mut marks = atlas.mesh();
    for &write in view.look.selection.group.iter().filter(|w| **w < view.seen) {
        marks.push(view.key(chart, write), Glyph::Hoop, ink.select);
    }
    marks.done()
}

/// Dots on their way from the keys of `tokens` to their rows, `part` of it done.
pub(super) fn flight(tokens: impl Iterator<Item = (Pos2, Pos2)>, part: f32, atlas: &Atlas, ink: &Ink) -> Mesh {
    let mut marks = atlas.mesh();
    for (from, to) in tokens {
        marks.push(from + (to - from) * part, Glyph::Dot, ink.select);
    }
    marks.done()
}

/// What the signs mean.
pub(super) fn legend(view: &View<'_>, colour: Color32, ink: &Ink) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |sign: Sign, colour: Color32, text: &str| entries.push(Entry::new(sign, colour, text));
    match view.memory {
        Memory::Rows { .. } => {
            add(Sign::Dot, ink.plain, "token");
            if !view.fixed() {
                add(Sign::Ring, ink.window, "founder");
            }
            add(Sign::Ring, colour, if view.fixed() { "code, area: count" } else { "centroid, area: count" });
        }
        Memory::Places { .. } => {
            add(Sign::Up, ink.window, "window");
            add(Sign::Square, ink.cache, "cache");
            add(Sign::Dot, ink.plain, "state");
            if view.forgets() {
                add(Sign::Ring, ink.quiet, "forgotten");
            }
        }
        Memory::Kept { store: Store::Window, .. } => {
            add(Sign::Up, ink.window, "window");
            add(Sign::Dot, ink.plain, "gone");
        }
        Memory::Kept { store, .. } => {
            add(Sign::Dot, ink.plain, store.name());
            if view.forgets() {
                add(Sign::Ring, ink.quiet, "forgotten");
            }
        }
    }
    if let Some(name) = marked_name(view.stream()) {
        add(Sign::Diamond, ink.mark, name);
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_begins_with_long_streams_and_leaves_the_newest_to_be_drawn() {
        assert_eq!((dense(4096, 4096), dense(2048, 100)), (0, 0));
        assert_eq!((dense(65_536, 1023), dense(65_536, 5000), dense(65_536, 65_536)), (0, 4096, 65_536));
    }
}
