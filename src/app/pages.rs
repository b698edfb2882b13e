//! The rows of the centre where it is too low for all of them: as many as can be read are shown, the others are a step away.

use eframe::egui::{Align, Event, Layout, MouseWheelUnit, Panel, Role, Sense, Ui, WidgetInfo, vec2};
use egui_tiles::{Container, LinearDir, Tile, TileId, Tiles, Tree};

use crate::app::command::{Command, WindowCommand};
use crate::app::icon::{self, Icon};
use crate::app::layout::Pane;
use crate::app::sizes::{self, GAP, least};

/// How wide the strip is that goes through the rows, in points.
const STRIP: f32 = 22.0;

/// Which rows are seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rows {
    /// The first that is seen.
    pub first: usize,
    /// How many are seen.
    pub seen: usize,
    /// How many there are; 0 where all have room.
    pub all: usize,
}

/// Hides the rows of the tree that have no room in so many points of height, from the one that is wanted first on; the tiles that were
/// hidden are put into `hidden`, for [`show`]. A row that holds the tile `reveal` is seen.
pub fn hide(tree: &mut Tree<Pane>, height: f32, wanted: usize, reveal: Option<TileId>, hidden: &mut Vec<TileId>) -> Rows {
    let mut rows = Rows::default();
    if let Some(root) = tree.root() {
        below(&mut tree.tiles, (root, height), (wanted, reveal), hidden, &mut rows);
    }
    rows
}

/// Shows again what was hidden.
pub fn show(tree: &mut Tree<Pane>, hidden: &[TileId]) {
    for tile in hidden {
        tree.tiles.set_visible(*tile, true);
    }
}

fn below(
    tiles: &mut Tiles<Pane>,
    (tile, height): (TileId, f32),
    (wanted, reveal): (usize, Option<TileId>),
    hidden: &mut Vec<TileId>,
    rows: &mut Rows,
) {
    let Some(Tile::Container(Container::Linear(linear))) = tiles.get(tile) else { return };
    let children: Vec<TileId> = linear.children.iter().copied().filter(|c| tiles.is_visible_in_layout(*c)).collect();
    if linear.dir == LinearDir::Horizontal {
        for child in children {
            below(tiles, (child, height), (wanted, reveal), hidden, rows);
        }
        return;
    }
    let high: Vec<f32> = children.iter().map(|c| least(tiles, *c).y).collect();
    let shares: Vec<f32> = children.iter().map(|c| linear.shares[*c]).collect();
    let revealed = reveal.and_then(|tile| children.iter().position(|c| *c == tile || sizes::holds(tiles, *c, tile)));
    let seen = window(&high, height, wanted, revealed);
    if seen.len() < children.len() && children.len() > rows.all {
        *rows = Rows { first: seen.start, seen: seen.len(), all: children.len() };
    }
    let all: f32 = shares[seen.clone()].iter().sum();
    for (at, child) in children.into_iter().enumerate() {
        if seen.contains(&at) {
            below(tiles, (child, height * shares[at] / all.max(f32::MIN_POSITIVE)), (wanted, reveal), hidden, rows);
        } else {
            tiles.set_visible(child, false);
            hidden.push(child);
        }
    }
}

/// Which of the rows that are so high at least are seen in `height` points: all, or as many as fit from `wanted` on (at least one), no
/// fewer at the end than at the start, and `revealed` among them.
fn window(high: &[f32], height: f32, wanted: usize, revealed: Option<usize>) -> std::ops::Range<usize> {
    let need = |from: usize, to: usize| high[from..to].iter().sum::<f32>() + GAP * (to - from).saturating_sub(1) as f32;
    let count = high.len();
    if count == 0 || need(0, count) <= height {
        return 0..count;
    }
    let to = |from: usize| (from + 1..=count).rev().find(|to| need(from, *to) <= height).unwrap_or(from + 1);
    let last = (0..count).find(|from| to(*from) == count).unwrap_or(count - 1);
    let mut from = wanted.min(last);
    if let Some(row) = revealed {
        from = from.min(row);
        while to(from) <= row {
            from += 1;
        }
    }
    from..to(from)
}

/// The strip at the right of the centre that goes through the rows.
pub fn strip(ui: &mut Ui, rows: Rows, commands: &mut Vec<Command>) {
    Panel::right("rows of panels").exact_size(STRIP).resizable(false).show_separator_line(false).show(ui, |ui| {
        let said = if rows.seen == 1 {
            format!("Row {} of {} of the panels", rows.first + 1, rows.all)
        } else {
            format!("Rows {} to {} of {} of the panels", rows.first + 1, rows.first + rows.seen, rows.all)
        };
        ui.with_layout(Layout::top_down(Align::Center), |ui| {
            let ends = [
                (Icon::ArrowUp, "Panels above", false, rows.first > 0),
                (Icon::ArrowDown, "Panels below", true, rows.first + rows.seen < rows.all),
            ];
            for (at, (icon, name, down, able)) in ends.into_iter().enumerate() {
                let button = ui.add_enabled_ui(able, |ui| icon::sized(ui, icon, name, false, vec2(20.0, 20.0))).inner;
                if button.on_hover_text(format!("{name}: {said}")).clicked() {
                    commands.push(WindowCommand::Rows { down }.into());
                }
                if at == 0 {
                    dots(ui, rows, &said);
                }
            }
        });
        if ui.rect_contains_pointer(ui.max_rect()) {
            // A notch of a wheel is a row; what a touchpad sends has no notches.
            let notch = |event: &Event| match event {
                Event::MouseWheel { unit: MouseWheelUnit::Line, delta, .. } if delta.y != 0.0 => Some(delta.y < 0.0),
                _ => None,
            };
            let turned: Vec<bool> = ui.input(|i| i.events.iter().filter_map(notch).collect());
            commands.extend(turned.into_iter().map(|down| Command::from(WindowCommand::Rows { down })));
        }
    });
}

/// A dot for each row, filled for those that are seen.
fn dots(ui: &mut Ui, rows: Rows, said: &str) {
    let (rect, response) = ui.allocate_exact_size(vec2(20.0, 9.0 * rows.all as f32 + 4.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, said));
    let (lit, dim) = (ui.visuals().strong_text_color(), ui.visuals().weak_text_color());
    for row in 0..rows.all {
        let at = rect.center_top() + vec2(0.0, 6.5 + 9.0 * row as f32);
        if (rows.first..rows.first + rows.seen).contains(&row) {
            ui.painter().circle_filled(at, 3.0, lit);
        } else {
            ui.painter().circle_stroke(at, 2.5, (1.0, dim));
        }
    }
    response.on_hover_text(said);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_are_seen_as_can_be_read() {
        let high = [168.0; 4];
        let seen = |height: f32, wanted: usize, revealed: Option<usize>| window(&high, height, wanted, revealed);
        assert_eq!(seen(4.0 * 168.0 + 3.0 * GAP, 0, None), 0..4, "all of them, to the point");
        assert_eq!(seen(4.0 * 168.0 + 3.0 * GAP - 1.0, 0, None), 0..3);
        assert_eq!(seen(340.0, 1, None), 1..3);
        assert_eq!(seen(340.0, 9, None), 2..4, "the last page is full");
        assert_eq!(seen(50.0, 2, None), 2..3, "one at least");
        assert_eq!((seen(340.0, 0, Some(3)), seen(340.0, 2, Some(0)), seen(340.0, 1, Some(2))), (2..4, 0..2, 1..3));
        assert_eq!(window(&[], 100.0, 0, None), 0..0);
        // A row that is higher than the others takes the room of two.
        assert_eq!(window(&[340.0, 168.0, 168.0], 345.0, 0, None), 0..1);
        assert_eq!(window(&[340.0, 168.0, 168.0], 345.0, 5, None), 1..3);
    }
}
