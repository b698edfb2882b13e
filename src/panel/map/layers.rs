//! What lies on the map, from the paper upwards, each as one mesh or one picture: centroids, tokens, the selected group.

use std::ops::Range;

use eframe::egui::{Color32, Mesh, Pos2};

use super::glyph::{Atlas, Glyph, Marks};
use super::lists::Inside;
use super::view::{Memory, Row, Size, View, at};
use crate::layer::effective::Store;
use crate::panel::common::marked_name;
use crate::widget::chart::{Chart, Entry, Sign};
use crate::widget::palette::Ink;

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

/// The places of tokens in a picture of `width` x `height` pixels of the whole plot.
pub(super) fn pixels<'a>(
    view: &'a View<'_>,
    chart: &'a Chart,
    [width, height]: [usize; 2],
    writes: impl Iterator<Item = usize> + 'a,
) -> impl Iterator<Item = [f32; 2]> + 'a {
    writes.map(move |write| {
        let place = view.keys.points[write];
        let x = (chart.x.share(f64::from(place[0])) * width as f64) as f32;
        [x, ((1.0 - chart.y.share(f64::from(place[1]))) * height as f64) as f32]
    })
}

/// The centroids, the largest at the bottom.
pub(super) fn centroids(rows: &[Row], size: Size, chart: &Chart, atlas: &Atlas, colour: Color32) -> Mesh {
    let mut order: Vec<usize> = (0..rows.len()).filter(|&r| rows[r].1 > 0).collect();
    order.sort_unstable_by_key(|&r| (std::cmp::Reverse(rows[r].1), r));
    let mut marks = atlas.mesh(chart.rect);
    for row in order {
        marks.blob(at(chart, rows[row].0), size.radius(rows[row].1), colour);
    }
    marks.done()
}

/// True if founders' rings are small: there are very many of them.
pub(super) fn crowded(view: &View<'_>, inside: Inside<'_>) -> bool {
    inside.len().min(view.sets.founders.len()) > CROWD
}

/// Rings around the founders among `writes`.
fn rings(marks: &mut Marks<'_>, view: &View<'_>, chart: &Chart, writes: Range<usize>, crowded: bool, ink: &Ink) {
    let founders = view.sets.founders;
    let place = |write: usize| founders.partition_point(|f| *f < write);
    for &write in &founders[place(writes.start)..place(writes.end)] {
        marks.scaled(view.key(chart, write), Glyph::Ring, if crowded { 0.55 } else { 1.0 }, ink.window);
    }
}

/// The founders before `until`: nothing changes of them while time passes.
pub(super) fn founders(view: &View<'_>, chart: &Chart, atlas: &Atlas, until: usize, crowded: bool, ink: &Ink) -> Mesh {
    let mut marks = atlas.mesh(chart.rect);
    rings(&mut marks, view, chart, 0..until, crowded, ink);
    marks.done()
}

/// The tokens from number `from` of those inside on; of those before it what must not be lost in the density, but for founders.
pub(super) fn tokens(view: &View<'_>, chart: &Chart, atlas: &Atlas, (inside, from): (Inside<'_>, usize), ink: &Ink) -> Mesh {
    let mut marks = atlas.mesh(chart.rect);
    let dot = if inside.len() > MANY { Glyph::Speck } else { Glyph::Dot };
    let place = |write: usize| view.key(chart, write);
    let many = |write: &usize| !matches!(view.memory.store(*write), Store::Window | Store::Cache);
    let forgets = view.forgets();
    for write in inside.writes(from..inside.before(view.seen)).filter(many) {
        if forgets && view.memory.store(write) == Store::Gone {
            marks.scaled(place(write), Glyph::Ring, 0.55, ink.quiet);
        } else {
            marks.push(place(write), dot, ink.plain);
        }
    }
    rings(&mut marks, view, chart, inside.first(from).min(view.seen)..view.seen, crowded(view, inside), ink);
    for &write in view.sets.cached {
        marks.push(place(write), Glyph::SquareEdge, ink.text);
        marks.push(place(write), Glyph::Square, ink.cache);
    }
    for write in view.memory.window(view.seen) {
        marks.push(place(write), Glyph::Triangle, ink.window);
    }
    for &write in view.sets.marked {
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
    let mut marks = atlas.mesh(chart.rect);
    for &write in view.look.selection.group.iter().filter(|w| **w < view.seen) {
        marks.push(view.key(chart, write), Glyph::Hoop, ink.select);
    }
    marks.done()
}

/// Dots on their way from the keys of `tokens` to their rows, `part` of it done.
pub(super) fn flight(tokens: impl Iterator<Item = (Pos2, Pos2)>, part: f32, chart: &Chart, atlas: &Atlas, ink: &Ink) -> Mesh {
    let mut marks = atlas.mesh(chart.rect);
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
