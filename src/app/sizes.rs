//! Sizes of the tiles of the centre: a border moves, or a panel is made wider, narrower, taller or lower.

use eframe::egui::{Vec2, vec2};
use egui_tiles::{Container, LinearDir, Tile, TileId, Tiles, Tree};

use crate::app::layout::Pane;

/// No tile is made smaller than this, in points.
pub const LEAST: f32 = 80.0;

/// What a panel with its tabs takes at least, unless its borders were moved closer: below this its plot could not be read.
const READABLE: Vec2 = vec2(220.0, 168.0);

/// Points between tiles.
pub const GAP: f32 = 4.0;

/// The least room in which every panel that is seen of a tile has [`READABLE`], if its tiles were as large as each other.
pub fn least(tiles: &Tiles<Pane>, tile: TileId) -> Vec2 {
    let Some(Tile::Container(Container::Linear(linear))) = tiles.get(tile) else { return READABLE };
    let seen: Vec<Vec2> = linear.children.iter().filter(|c| tiles.is_visible_in_layout(**c)).map(|c| least(tiles, *c)).collect();
    let gaps = GAP * seen.len().saturating_sub(1) as f32;
    let (sum, most) = seen.iter().fold((Vec2::ZERO, Vec2::ZERO), |(sum, most), size| (sum + *size, most.max(*size)));
    match linear.dir {
        LinearDir::Horizontal => vec2(sum.x + gaps, most.y),
        LinearDir::Vertical => vec2(most.x, sum.y + gaps),
    }
}

/// True if a tile is somewhere within another.
pub fn holds(tiles: &Tiles<Pane>, outer: TileId, inner: TileId) -> bool {
    let mut at = inner;
    while let Some(parent) = tiles.parent_of(at) {
        if parent == outer {
            return true;
        }
        at = parent;
    }
    false
}

/// How much wider or taller a panel is made at once: this part of what the row or column has.
const STEP: f32 = 0.05;

/// How long the side of each visible tile of a row or a column is, in points.
struct Sides {
    parent: TileId,
    children: Vec<TileId>,
    points: Vec<f32>,
    /// Points a share.
    scale: f32,
}

impl Sides {
    /// Of a row or a column that has been drawn; `None` for another container, or where no point would be given to a share.
    fn of(tiles: &Tiles<Pane>, parent: TileId) -> Option<(Self, LinearDir)> {
        let Container::Linear(linear) = tiles.get_container(parent)? else { return None };
        let children: Vec<TileId> = linear.children.iter().copied().filter(|c| tiles.is_visible_in_layout(*c)).collect();
        let side = |child: &TileId| {
            let rect = tiles.rect(*child)?;
            Some(if linear.dir == LinearDir::Horizontal { rect.width() } else { rect.height() })
        };
        let drawn: f32 = children.iter().filter_map(side).sum();
        let shares: f32 = children.iter().map(|c| linear.shares[*c]).sum();
        let scale = drawn / shares;
        // By their shares, not as they were drawn: several moves may come between two pictures.
        let points = children.iter().map(|c| linear.shares[*c] * scale).collect();
        (scale.is_finite() && scale > 0.0).then_some((Self { parent, children, points, scale }, linear.dir))
    }

    /// Gives the tiles the sides that they have here; true if that changes any by half a point.
    fn set(self, tiles: &mut Tiles<Pane>) -> bool {
        let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(self.parent) else { return false };
        let mut changed = false;
        for (child, points) in self.children.iter().zip(self.points) {
            let share = points / self.scale;
            if (share - linear.shares[*child]).abs() * self.scale >= 0.5 {
                linear.shares.set_share(*child, share);
                changed = true;
            }
        }
        changed
    }
}

/// Moves the border between two neighbours of a row (to the right) or of a column (downwards) by so many points. Those it moves
/// towards keep [`LEAST`] each, and what lies beyond the first of them is pushed on. False if it cannot move.
pub fn move_border(tree: &mut Tree<Pane>, first: TileId, second: TileId, by: f32) -> bool {
    let Some((mut sides, _)) = tree.tiles.parent_of(first).and_then(|parent| Sides::of(&tree.tiles, parent)) else { return false };
    let Some(at) = sides.children.windows(2).position(|pair| pair == [first, second]) else { return false };
    if by > 0.0 {
        let after = at + 1..sides.points.len();
        shift(&mut sides.points, at, after, by);
    } else {
        shift(&mut sides.points, at + 1, (0..=at).rev(), -by);
    }
    sides.set(&mut tree.tiles)
}

/// Makes a tile wider (`row`) or taller by a step, or narrower or lower: the border after it moves, or the one before it where it is the
/// last. What has a border there is the tile, or what it is in. False if nothing has, or it cannot move.
pub fn resize(tree: &mut Tree<Pane>, tile: TileId, row: bool, more: bool) -> bool {
    let wanted = if row { LinearDir::Horizontal } else { LinearDir::Vertical };
    let mut child = tile;
    while let Some(parent) = tree.tiles.parent_of(child) {
        if let Some((mut sides, dir)) = Sides::of(&tree.tiles, parent)
            && let Some(at) = sides.children.iter().position(|c| *c == child)
            && dir == wanted
            && sides.children.len() > 1
        {
            let (count, by) = (sides.points.len(), sides.points.iter().sum::<f32>() * STEP);
            if more {
                shift(&mut sides.points, at, (at + 1..count).chain((0..at).rev()), by);
            } else {
                let neighbour = if at + 1 < count { at + 1 } else { at - 1 };
                shift(&mut sides.points, neighbour, std::iter::once(at), by);
            }
            return sides.set(&mut tree.tiles);
        }
        child = parent;
    }
    false
}

/// Gives up to `by` points to the side `to` from the others, in the order in which they are named; each keeps [`LEAST`].
fn shift(sides: &mut [f32], to: usize, from: impl Iterator<Item = usize>, by: f32) {
    let mut left = by;
    for other in from {
        let taken = (sides[other] - LEAST).clamp(0.0, left);
        sides[other] -= taken;
        sides[to] += taken;
        left -= taken;
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn a_border_pushes_what_lies_beyond_and_nothing_becomes_too_small() {
        let moved = |to: usize, from: &[usize], by: f32| {
            let mut sides = [200.0, 100.0, 300.0];
            shift(&mut sides, to, from.iter().copied(), by);
            sides
        };
        assert_eq!(moved(0, &[1, 2], 15.0), [215.0, 85.0, 300.0]);
        assert_eq!(moved(0, &[1, 2], 50.0), [250.0, 80.0, 270.0], "20 points of the neighbour, 30 of what is behind it");
        assert_eq!(moved(0, &[1, 2], 900.0), [440.0, 80.0, 80.0]);
        assert_eq!(moved(2, &[1, 0], 900.0), [80.0, 80.0, 440.0]);
        let mut small = [40.0, 60.0];
        shift(&mut small, 0, std::iter::once(1), 10.0);
        assert_eq!(small, [40.0, 60.0], "one that is too small already gives nothing");
    }
}
