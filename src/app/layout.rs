//! The arrangement of the panels in the centre: tiles that can be moved, resized, stacked, hidden and maximised, saved
//! with the session.

use std::collections::BTreeMap;

use eframe::egui::{self, Color32, Frame, Id, Margin, Popup, Rect, Stroke, Ui, Visuals, WidgetText, vec2};
use egui_tiles::{Behavior, SimplificationOptions, TabState, Tabs, TileId, Tiles, Tree, UiResponse};

use crate::app::arrangement::Node;
use crate::app::command::Command;
use crate::app::icon::{self, Icon};
use crate::app::theme;
use crate::panel::{Look, PANELS, Panel, PanelEntry};

/// The panel that has its own place, under the inspector.
pub const RECALL: &str = "recall";

/// The arrangement as designed: rows of cells, each cell one or more panels in tabs. Panels that are not named here are
/// added as tabs of the last cell.
const DESIGN: &[&[&[&str]]] =
    &[&[&["growth"], &["assignments"]], &[&["counts"], &["sre"]], &[&["residency"], &["shares", "reads", "retention", "sweep"]]];

/// A panel in the tree, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane(pub(super) String);

/// The panels and where they are.
pub struct PanelLayout {
    tree: Tree<Pane>,
    panels: BTreeMap<&'static str, Box<dyn Panel>>,
    maximised: Option<&'static str>,
}

impl std::fmt::Debug for PanelLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PanelLayout").field("tree", &self.tree).field("maximised", &self.maximised).finish_non_exhaustive()
    }
}

/// The panels that the centre can show.
pub fn entries() -> impl Iterator<Item = &'static PanelEntry> {
    PANELS.iter().filter(|p| p.name != RECALL)
}

fn entry(name: &str) -> Option<&'static PanelEntry> {
    PANELS.iter().find(|p| p.name == name)
}

impl PanelLayout {
    /// The arrangement that a session saved, or the designed one where there is none or it cannot be understood.
    #[must_use]
    pub fn new(saved: Option<&str>) -> Self {
        Self { tree: tree_of(saved), panels: BTreeMap::new(), maximised: None }
    }

    /// Arranges the panels as they were saved, or as designed; what each panel shows stays.
    pub fn restore(&mut self, saved: Option<&str>) {
        self.tree = tree_of(saved);
        self.maximised = None;
    }

    /// The arrangement for the session file; `None` where it is the designed one.
    #[must_use]
    pub fn save(&self) -> Option<String> {
        let node = Node::of(&self.tree)?;
        if Some(&node) == Node::of(&designed()).as_ref() {
            return None;
        }
        ron::to_string(&node).map_err(|error| log::error!("the layout cannot be written: {error}")).ok()
    }

    /// Puts the panels back as designed.
    pub fn reset(&mut self) {
        self.tree = designed();
        self.maximised = None;
    }

    /// True if the panel is shown.
    #[must_use]
    pub fn shows(&self, name: &str) -> bool {
        self.tile(name).is_some_and(|tile| self.tree.is_visible(tile))
    }

    /// Shows the panel, or hides it.
    pub fn toggle(&mut self, name: &str) {
        if let Some(tile) = self.tile(name) {
            let show = !self.tree.is_visible(tile);
            self.tree.set_visible(tile, show);
            if show {
                self.tree.make_active(|id, _| id == tile);
            }
            if !show && self.maximised == entry(name).map(|e| e.name) {
                self.maximised = None;
            }
        }
    }

    /// Shows the panel in front of those it shares its place with; another that fills the centre makes way.
    pub fn bring(&mut self, name: &str) {
        if let Some(tile) = self.tile(name) {
            self.tree.set_visible(tile, true);
            self.tree.make_active(|id, _| id == tile);
            if self.maximised.is_some_and(|m| m != name) {
                self.maximised = None;
            }
        }
    }

    fn tile(&self, name: &str) -> Option<TileId> {
        self.tree.tiles.find_pane(&Pane(name.to_owned()))
    }

    /// Draws the panels into all of `ui`.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let Self { tree, panels, maximised } = self;
        let mut behavior = Centre { panels, look, commands, maximised };
        if let Some(name) = *behavior.maximised {
            behavior.alone(ui, name);
        } else {
            tree.ui(&mut behavior, ui);
        }
    }

    /// The panel that fills the centre, if one does.
    #[must_use]
    pub fn maximised(&self) -> Option<&'static str> {
        self.maximised
    }

    /// The heading of a panel outside the tree: its name, its help, and the button that makes it fill the centre.
    pub fn heading(&mut self, ui: &mut Ui, entry: &'static PanelEntry) {
        ui.horizontal(|ui| {
            ui.label(egui::RichText::new(entry.title.to_uppercase()).small().strong());
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if small(ui, Icon::Maximise, &format!("Maximise {}", entry.title)).on_hover_text("Fill the centre").clicked() {
                    self.maximised = Some(entry.name);
                }
                help(ui, entry);
            });
        });
    }

    /// Draws one panel outside the tree.
    pub fn panel(&mut self, ui: &mut Ui, name: &str, look: &Look<'_>, commands: &mut Vec<Command>) {
        if let Some(entry) = entry(name) {
            draw(&mut self.panels, entry, ui, look, commands);
        }
    }
}

fn draw(
    panels: &mut BTreeMap<&'static str, Box<dyn Panel>>,
    entry: &PanelEntry,
    ui: &mut Ui,
    look: &Look<'_>,
    commands: &mut Vec<Command>,
) {
    let panel = panels.entry(entry.name).or_insert_with(entry.make);
    ui.push_id(entry.name, |ui| panel.ui(ui, look, commands));
}

fn tree_of(saved: Option<&str>) -> Tree<Pane> {
    let read = |text: &str| match ron::from_str::<Node>(text) {
        // Panels that the file does not know are added below the others, so there must be a column or a row for them.
        Ok(node @ (Node::Row(_) | Node::Column(_))) => Some(complete(node.tree())),
        Ok(node) => Some(complete(Node::Column(vec![(1.0, node)]).tree())),
        Err(error) => {
            log::warn!("the session's layout cannot be understood ({error}); the panels are arranged as designed");
            None
        }
    };
    saved.and_then(read).unwrap_or_else(designed)
}

fn designed() -> Tree<Pane> {
    let mut tiles = Tiles::default();
    let mut rest: Vec<&str> = entries().map(|e| e.name).collect();
    for name in DESIGN.iter().copied().flatten().copied().flatten() {
        rest.retain(|r| r != name);
    }
    let mut rows = Vec::new();
    for (r, row) in DESIGN.iter().enumerate() {
        let mut cells = Vec::new();
        for (c, cell) in row.iter().enumerate() {
            let last = r + 1 == DESIGN.len() && c + 1 == row.len();
            let names = cell.iter().copied().filter(|n| entry(n).is_some()).chain(rest.iter().copied().filter(|_| last));
            let panes: Vec<TileId> = names.map(|n| tiles.insert_pane(Pane(n.to_owned()))).collect();
            if !panes.is_empty() {
                cells.push(tiles.insert_tab_tile(panes));
            }
        }
        if !cells.is_empty() {
            rows.push(tiles.insert_horizontal_tile(cells));
        }
    }
    let root = tiles.insert_vertical_tile(rows);
    Tree::new(Id::unique("panels"), root, tiles)
}

/// Adds the panels that a saved tree does not know, hidden; those it knows and we do not are left out when drawn.
fn complete(mut tree: Tree<Pane>) -> Tree<Pane> {
    for e in entries() {
        if tree.tiles.find_pane(&Pane(e.name.to_owned())).is_none()
            && let Some(root) = tree.root()
        {
            let pane = tree.tiles.insert_pane(Pane(e.name.to_owned()));
            tree.tiles.set_visible(pane, false);
            let cell = tree.tiles.insert_tab_tile(vec![pane]);
            if let Some(egui_tiles::Tile::Container(container)) = tree.tiles.get_mut(root) {
                container.add_child(cell);
            }
        }
    }
    tree
}

/// What the tree asks of us while it is drawn.
struct Centre<'a, 'b> {
    panels: &'a mut BTreeMap<&'static str, Box<dyn Panel>>,
    look: &'a Look<'b>,
    commands: &'a mut Vec<Command>,
    maximised: &'a mut Option<&'static str>,
}

impl Centre<'_, '_> {
    /// A maximised panel under a bar of its own.
    fn alone(&mut self, ui: &mut Ui, name: &'static str) {
        let Some(entry) = entry(name) else {
            *self.maximised = None;
            return;
        };
        ui.horizontal(|ui| {
            ui.add_space(8.0);
            ui.strong(entry.title);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.add_space(6.0);
                if small(ui, Icon::Restore, &format!("Restore {}", entry.title)).on_hover_text("Back among the others").clicked() {
                    *self.maximised = None;
                }
                help(ui, entry);
            });
        });
        self.pane(ui, entry);
    }

    fn pane(&mut self, ui: &mut Ui, entry: &'static PanelEntry) {
        let fill = theme::canvas(ui.visuals().dark_mode);
        Frame::new().fill(fill).inner_margin(Margin { left: 6, right: 6, top: 4, bottom: 4 }).show(ui, |ui| {
            ui.set_min_size(ui.available_size());
            draw(self.panels, entry, ui, self.look, self.commands);
        });
    }
}

fn small(ui: &mut Ui, icon: Icon, name: &str) -> egui::Response {
    icon::sized(ui, icon, name, false, vec2(20.0, 18.0))
}

/// The `?` of a panel: its help on hover, and on a click for as long as it is wanted.
fn help(ui: &mut Ui, entry: &PanelEntry) {
    let response = small(ui, Icon::Help, &format!("About {}", entry.title));
    let popup = Popup::from_toggle_button_response(&response).width(340.0).accessible_name(format!("Help on {}", entry.title));
    let shown = popup.show(|ui| {
        ui.strong(entry.title);
        ui.label(entry.help);
    });
    if shown.is_none() {
        response.on_hover_text(entry.help);
    }
}

impl Behavior<Pane> for Centre<'_, '_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        if let Some(entry) = entry(&pane.0) {
            self.pane(ui, entry);
        }
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        entry(&pane.0).map_or_else(|| pane.0.clone(), |e| e.title.to_owned()).into()
    }

    fn retain_pane(&mut self, pane: &Pane) -> bool {
        entry(&pane.0).is_some()
    }

    fn top_bar_right_ui(&mut self, tiles: &Tiles<Pane>, ui: &mut Ui, _id: TileId, tabs: &Tabs, _scroll: &mut f32) {
        let active = tabs.active.and_then(|id| tiles.get_pane(&id)).and_then(|pane| entry(&pane.0));
        if let Some(entry) = active {
            ui.add_space(4.0);
            if small(ui, Icon::Maximise, &format!("Maximise {}", entry.title)).on_hover_text("Fill the centre").clicked() {
                *self.maximised = Some(entry.name);
            }
            help(ui, entry);
        }
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        4.0
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        24.0
    }

    fn min_size(&self) -> f32 {
        80.0
    }

    fn tab_bar_color(&self, visuals: &Visuals) -> Color32 {
        visuals.panel_fill
    }

    fn tab_bg_color(&self, visuals: &Visuals, _tiles: &Tiles<Pane>, _tile: TileId, state: &TabState) -> Color32 {
        if state.active { theme::canvas(visuals.dark_mode) } else { Color32::TRANSPARENT }
    }

    fn tab_outline_stroke(&self, _visuals: &Visuals, _tiles: &Tiles<Pane>, _tile: TileId, _state: &TabState) -> Stroke {
        Stroke::NONE
    }

    fn tab_bar_hline_stroke(&self, _visuals: &Visuals) -> Stroke {
        Stroke::NONE
    }

    fn tab_text_color(&self, visuals: &Visuals, _tiles: &Tiles<Pane>, _tile: TileId, state: &TabState) -> Color32 {
        if state.active { visuals.strong_text_color() } else { visuals.weak_text_color() }
    }

    fn paint_on_top_of_tile(&self, _painter: &egui::Painter, _style: &egui::Style, _tile: TileId, _rect: Rect) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_is_in_the_designed_arrangement_once() {
        let tree = designed();
        for e in entries() {
            let found = tree.tiles.tiles().filter(|t| matches!(t, egui_tiles::Tile::Pane(Pane(name)) if name == e.name)).count();
            assert_eq!(found, 1, "{}", e.name);
        }
    }

    #[test]
    fn an_arrangement_comes_back_as_it_was() {
        let mut layout = PanelLayout::new(None);
        assert_eq!(layout.save(), None);
        let Some(first) = entries().next() else { return };
        layout.toggle(first.name);
        assert!(!layout.shows(first.name));
        let text = layout.save().unwrap();
        let again = PanelLayout::new(Some(&text));
        assert!(!again.shows(first.name));
        assert_eq!(again.save(), Some(text));
    }

    #[test]
    fn a_broken_arrangement_is_the_designed_one() {
        for text in ["", "(", "(id: 3)", "nonsense"] {
            assert_eq!(PanelLayout::new(Some(text)).save(), None, "{text}");
        }
    }

    #[test]
    fn panels_that_a_saved_arrangement_does_not_know_are_added_hidden() {
        let stranger = Node::Panel { name: "of another version".to_owned(), shown: true };
        let text = ron::to_string(&Node::Column(vec![(1.0, stranger)])).unwrap();
        let mut layout = PanelLayout::new(Some(&text));
        for e in entries() {
            assert!(!layout.shows(e.name));
            layout.toggle(e.name);
            assert!(layout.shows(e.name));
        }
    }
}
