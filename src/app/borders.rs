//! The borders between the tiles of the centre: dragged by the pointer, moved by arrows, named for those who do not see them.
//!
//! The tiles' crate has borders of its own, which have no names and no keys: they are switched off, and these take their place.

use eframe::egui::{CursorIcon, EventFilter, Key, Rect, Role, Sense, Stroke, Ui, WidgetInfo, accesskit, pos2, vec2};
use egui_tiles::{Container, LinearDir, Tile, TileId, Tree};

use crate::app::command::{Command, WindowCommand};
use crate::app::layout::{Pane, entry};

/// How far an arrow moves a border, and with Shift, in points.
const STEPS: [f32; 2] = [24.0, 4.0];

/// A border between two neighbours of a row or of a column.
#[derive(Debug)]
struct Border {
    tiles: [TileId; 2],
    rects: [Rect; 2],
    /// True between neighbours of a row.
    upright: bool,
    /// `Border right of Growth, left of Assignments`.
    name: String,
}

/// Draws the borders of a tree that has just been drawn, and asks for what is done to them.
pub fn ui(ui: &Ui, tree: &Tree<Pane>, commands: &mut Vec<Command>) {
    let mut all = Vec::new();
    if let Some(root) = tree.root() {
        below(tree, root, &mut all);
    }
    for border in all {
        if let Some(by) = border.ui(ui) {
            commands.push(WindowCommand::MoveBorder { between: border.tiles, by }.into());
        }
    }
}

/// The borders within a tile that is seen.
fn below(tree: &Tree<Pane>, tile: TileId, out: &mut Vec<Border>) {
    match tree.tiles.get(tile) {
        Some(Tile::Container(Container::Linear(linear))) => {
            let seen: Vec<(TileId, Rect)> = linear.children.iter().filter_map(|c| Some((*c, tree.tiles.rect(*c)?))).collect();
            let upright = linear.dir == LinearDir::Horizontal;
            for pair in seen.windows(2) {
                let [(first, a), (second, b)] = [pair[0], pair[1]];
                // What is last before a border is last before no other of its direction: the name is this one's alone.
                let (before, after) = (leaf(tree, first, true), leaf(tree, second, false));
                let name = if upright {
                    format!("Border right of {before}, left of {after}")
                } else {
                    format!("Border below {before}, above {after}")
                };
                out.push(Border { tiles: [first, second], rects: [a, b], upright, name });
            }
            seen.into_iter().for_each(|(child, _)| below(tree, child, out));
        }
        Some(Tile::Container(Container::Tabs(tabs))) => tabs.active.into_iter().for_each(|child| below(tree, child, out)),
        _ => {}
    }
}

/// The title of the first or the last panel that is seen of a tile.
fn leaf(tree: &Tree<Pane>, tile: TileId, last: bool) -> String {
    match tree.tiles.get(tile) {
        Some(Tile::Pane(Pane(name))) => entry(name).map_or_else(|| name.clone(), |e| e.title.to_owned()),
        Some(Tile::Container(Container::Tabs(tabs))) => tabs.active.map_or_else(String::new, |active| leaf(tree, active, last)),
        Some(Tile::Container(container)) => {
            let mut seen = container.children().filter(|c| tree.tiles.rect(**c).is_some());
            let child = if last { seen.last() } else { seen.next() };
            child.map_or_else(String::new, |child| leaf(tree, *child, last))
        }
        None => String::new(),
    }
}

impl Border {
    /// Draws it; by how many points it is to move, if it is.
    fn ui(&self, ui: &Ui) -> Option<f32> {
        let [first, second] = self.rects;
        let (line, side): (f32, fn(Rect) -> f32) = if self.upright {
            (f32::midpoint(first.right(), second.left()), |r| r.width())
        } else {
            (f32::midpoint(first.bottom(), second.top()), |r| r.height())
        };
        let whole = first.union(second);
        let thick = 2.0 * ui.style().interaction.resize_grab_radius_side;
        let (centre, size, cursor) = if self.upright {
            (pos2(line, whole.center().y), vec2(thick, whole.height()), CursorIcon::ResizeHorizontal)
        } else {
            (pos2(whole.center().x, line), vec2(whole.width(), thick), CursorIcon::ResizeVertical)
        };
        let id = ui.scope_id().with(("border", &self.name));
        let response = ui.interact(Rect::from_center_size(centre, size), id, Sense::click_and_drag()).on_hover_and_drag_cursor(cursor);
        let share = f64::from(side(first) / (side(first) + side(second)) * 100.0).round();
        response.widget_info(|| WidgetInfo { value: Some(share), ..WidgetInfo::labeled(Role::Splitter, true, &self.name) });
        ui.ctx().accesskit_node_builder(id, |node| {
            let across = if self.upright { accesskit::Orientation::Vertical } else { accesskit::Orientation::Horizontal };
            node.set_orientation(across);
            node.set_min_numeric_value(0.0);
            node.set_max_numeric_value(100.0);
            node.add_action(accesskit::Action::Increment);
            node.add_action(accesskit::Action::Decrement);
        });
        let visuals = &ui.visuals().widgets;
        let stroke = match (response.dragged(), response.hovered() || response.has_focus()) {
            (true, _) => Some(visuals.active.fg_stroke),
            (false, true) => Some(visuals.hovered.fg_stroke),
            (false, false) => None,
        };
        if let Some(stroke) = stroke {
            self.paint(ui, whole, line, stroke);
        }
        let mut by = self.keys(ui, response.has_focus(), id);
        if let (true, Some(pointer)) = (response.dragged(), response.interact_pointer_pos()) {
            by += if self.upright { pointer.x } else { pointer.y } - line;
        }
        if response.double_clicked() {
            by = (side(second) - side(first)) / 2.0;
        }
        (by.abs() >= 0.5).then_some(by)
    }

    fn paint(&self, ui: &Ui, whole: Rect, line: f32, stroke: Stroke) {
        if self.upright {
            ui.painter().vline(line, whole.y_range(), stroke);
        } else {
            ui.painter().hline(whole.x_range(), line, stroke);
        }
    }

    /// By how many points keys and assistive programs move it.
    fn keys(&self, ui: &Ui, focused: bool, id: eframe::egui::Id) -> f32 {
        let (more, less) = if self.upright { (Key::ArrowRight, Key::ArrowLeft) } else { (Key::ArrowDown, Key::ArrowUp) };
        if focused {
            let filter = EventFilter { horizontal_arrows: self.upright, vertical_arrows: !self.upright, ..EventFilter::default() };
            ui.memory_mut(|m| m.set_focus_lock_filter(id, filter));
        }
        ui.input(|input| {
            let asked = |action| input.num_accesskit_action_requests(id, action) as f32;
            let requests = asked(accesskit::Action::Increment) - asked(accesskit::Action::Decrement);
            let plain = !input.modifiers.command && !input.modifiers.alt;
            let presses = if focused && plain { input.num_presses(more) as f32 - input.num_presses(less) as f32 } else { 0.0 };
            requests * STEPS[0] + presses * STEPS[usize::from(input.modifiers.shift)]
        })
    }
}
