//! The arrangement of the panels in the centre: tiles that can be moved, resized, stacked, hidden and maximised, saved
//! with the session.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use eframe::egui::{self, Context, Frame, Id, Margin, Memory, Ui, ViewportBuilder, ViewportClass, ViewportId};
use egui_tiles::{TileId, Tree};

use crate::app::arrangement::{Arrangement, Node};
use crate::app::command::{Command, PanelAct, WindowCommand};
use crate::app::icon::Icon;
use crate::app::pages::{self, Rows};
use crate::app::tabs::{self, Centre};
use crate::app::{borders, commands, focus, presets, sizes};
use crate::panel::{Look, PANELS, Panel, PanelEntry, WindowLane, choices};
use crate::session::{Chosen, View};

/// The panel that has its own place, under the inspector.
pub const RECALL: &str = "recall";

/// A panel in the tree, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane(pub(super) String);

/// The panels and where they are.
pub struct PanelLayout {
    tree: Tree<Pane>,
    /// Looked into for what is chosen in them, which their visitor may also change.
    panels: RefCell<Panels>,
    /// The lane that panels of one lane show until another is chosen in them, by name.
    lane: Option<String>,
    /// How often such a lane was asked for.
    lanes_asked: u64,
    maximised: Option<&'static str>,
    /// Panels in windows of their own; in the tree they are hidden.
    detached: BTreeSet<&'static str>,
    /// The panel that was pressed, shown, or given the focus last.
    used: Option<&'static str>,
    /// The widget that had the focus in the last frame.
    focused: Option<Id>,
    /// The panel under the pointer.
    under: Option<&'static str>,
    /// The arrangement that the drag of a tab found, while one is under way.
    #[allow(clippy::option_option, reason = "no drag; a drag that found the designed arrangement, which is saved as none; or another")]
    found: Option<Option<String>>,
    /// The panel whose row is to be seen, where the centre is too low for all rows.
    reveal: Option<&'static str>,
    /// The rows that are seen there.
    rows: Rows,
}

impl std::fmt::Debug for PanelLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PanelLayout")
            .field("tree", &self.tree)
            .field("maximised", &self.maximised)
            .field("detached", &self.detached)
            .finish_non_exhaustive()
    }
}

/// The panels that the centre can show.
pub fn entries() -> impl Iterator<Item = &'static PanelEntry> {
    PANELS.iter().filter(|p| p.name != RECALL)
}

/// The panels that have been drawn, by name, each with the seconds that its last picture took.
pub(super) type Panels = BTreeMap<&'static str, (Box<dyn Panel>, f64)>;

pub(super) fn entry(name: &str) -> Option<&'static PanelEntry> {
    PANELS.iter().find(|p| p.name == name)
}

impl PanelLayout {
    /// The arrangement that a session saved, or the designed one where there is none or it cannot be understood.
    #[must_use]
    pub fn new(saved: Option<&str>) -> Self {
        let mut layout = Self {
            tree: tree_of(&presets::designed()),
            panels: RefCell::default(),
            lane: None,
            lanes_asked: 0,
            maximised: None,
            detached: BTreeSet::new(),
            used: None,
            focused: None,
            under: None,
            found: None,
            reveal: None,
            rows: Rows::default(),
        };
        layout.restore(saved);
        layout
    }

    /// The panels as the view of a session has them: their arrangement, and what is chosen inside them.
    #[must_use]
    pub fn of(view: &View) -> Self {
        let mut layout = Self::new(view.layout.as_deref());
        layout.choose(&view.choices);
        layout
    }

    /// Arranges the panels as they were saved, or as designed; what each panel shows stays.
    pub fn restore(&mut self, saved: Option<&str>) {
        let read = |text: &str| {
            Arrangement::read(text)
                .inspect_err(|error| log::warn!("the session's layout cannot be understood ({error}); the panels are arranged as designed"))
                .ok()
        };
        let Arrangement { lane, of } = saved.and_then(read).unwrap_or_else(|| Arrangement { lane: None, of: presets::designed() });
        self.lane = lane;
        self.arrange(&of);
    }

    /// What is chosen inside the panels, where it is not what they show by themselves.
    #[must_use]
    pub fn choices(&self) -> Chosen {
        let mut panels = self.panels.borrow_mut();
        let told = panels.iter_mut().filter_map(|(name, (panel, _))| {
            let choice = choices::told(entry(name)?, &mut **panel, self.lane());
            (!choice.is_empty()).then(|| ((*name).to_owned(), choice))
        });
        told.collect()
    }

    /// Chooses inside the panels what is named; all else in them stays. What no panel can show is left out.
    pub fn choose(&mut self, chosen: &Chosen) {
        for (name, wanted) in chosen {
            let Some(entry) = entry(name) else { continue };
            let window = WindowLane { name: self.lane.as_deref(), asked: self.lanes_asked };
            let (panel, _) = made(self.panels.get_mut(), entry);
            for wrong in choices::make(entry, &mut **panel, wanted, window) {
                log::warn!("in the panel {name}: {}", wrong.reason);
            }
        }
    }

    /// Has every panel of one lane show this one, whatever was chosen in it; `None`: each shows its own.
    pub fn show_lane(&mut self, lane: Option<String>) {
        self.lanes_asked += u64::from(lane.is_some());
        self.lane = lane;
    }

    /// A lane is called otherwise now: panels show it as before.
    pub fn rename_lane(&mut self, from: &str, to: &str) {
        if let Some(lane) = self.lane.as_mut().filter(|lane| *lane == from) {
            to.clone_into(lane);
        }
        for (panel, _) in self.panels.get_mut().values_mut() {
            choices::rename(&mut **panel, from, to);
        }
    }

    /// The lane that panels of one lane show until another is chosen in them.
    #[must_use]
    pub fn lane(&self) -> WindowLane<'_> {
        WindowLane { name: self.lane.as_deref(), asked: self.lanes_asked }
    }

    /// Arranges the panels so.
    pub fn arrange(&mut self, node: &Node) {
        self.tree = tree_of(node);
        self.detached = node.detached().into_iter().filter_map(|name| entry(name).map(|e| e.name)).collect();
        self.maximised = None;
    }

    /// The arrangement as it is.
    fn node(&self) -> Option<Node> {
        let mut node = Node::of(&self.tree)?;
        node.detach(|name| self.detached.contains(name));
        Some(node)
    }

    /// The arrangement for the session file; `None` where it is the designed one.
    #[must_use]
    pub fn save(&self) -> Option<String> {
        let node = self.node()?;
        if self.lane.is_none() && Some(&node) == Node::of(&tree_of(&presets::designed())).as_ref() {
            return None;
        }
        Arrangement { lane: self.lane.clone(), of: node }.write().map_err(|error| log::error!("the layout cannot be written: {error}")).ok()
    }

    /// Puts the panels back as designed.
    pub fn reset(&mut self) {
        self.restore(None);
    }

    /// True if the panel is shown, here or in a window of its own.
    #[must_use]
    pub fn shows(&self, name: &str) -> bool {
        self.detached.contains(name) || self.tile(name).is_some_and(|tile| self.tree.is_visible(tile))
    }

    /// Shows the panel, or hides it.
    pub fn toggle(&mut self, name: &str) {
        if self.shows(name) {
            self.close(name);
        } else {
            self.bring(name);
        }
    }

    /// Hides the panel; its place is kept.
    pub fn close(&mut self, name: &str) {
        self.detached.remove(name);
        if let Some(tile) = self.tile(name) {
            self.tree.set_visible(tile, false);
        }
        if self.maximised == Some(name) {
            self.maximised = None;
        }
    }

    /// Shows the panel in front of those it shares its place with; another that fills the centre makes way. One that is in a window of
    /// its own stays there.
    pub fn bring(&mut self, name: &str) {
        if self.detached.contains(name) {
            return;
        }
        if let Some(tile) = self.tile(name) {
            self.tree.set_visible(tile, true);
            self.tree.make_active(|id, _| id == tile);
            self.used = entry(name).map(|e| e.name).or(self.used);
            // Of several that are brought at once the first is seen.
            self.reveal = self.reveal.or(self.used);
            if self.maximised.is_some_and(|m| m != name) {
                self.maximised = None;
            }
        }
    }

    /// Makes the panel fill the centre, or puts it back among the others if it does.
    pub fn maximise(&mut self, name: &'static str) {
        self.maximised = if self.maximised == Some(name) { None } else { Some(name) };
        self.used = Some(name);
        if self.maximised.is_some() && self.detached.contains(name) {
            self.put_back(name);
            self.maximised = Some(name);
        }
    }

    /// Takes the panel out of its tabs into a cell of its own, beside them (`row`) or below.
    pub fn split(&mut self, name: &str, row: bool) {
        if let Some(mut node) = self.node()
            && node.split(name, row)
        {
            self.arrange(&node);
        }
    }

    /// Makes the panel's tile wider or narrower (`row`), taller or lower; false if there is no border that could move.
    pub fn resize(&mut self, name: &str, row: bool, more: bool) -> bool {
        let tile = self.tile(name).filter(|_| self.maximised.is_none() && !self.detached.contains(name));
        tile.is_some_and(|tile| sizes::resize(&mut self.tree, tile, row, more))
    }

    /// Moves the border between two neighbours by so many points; false if it cannot move.
    pub fn move_border(&mut self, [first, second]: [TileId; 2], by: f32) -> bool {
        sizes::move_border(&mut self.tree, first, second, by)
    }

    /// Goes to the next row of panels, or the one before, where the centre is too low for all of them.
    pub fn turn(&mut self, down: bool) {
        self.rows.first = if down { self.rows.first + 1 } else { self.rows.first.saturating_sub(1) };
    }

    /// Gives the panel a window of its own.
    pub fn detach(&mut self, name: &'static str) {
        if let Some(tile) = self.tile(name) {
            self.close(name);
            self.tree.set_visible(tile, false);
            self.detached.insert(name);
        }
    }

    /// Puts the panel back from a window of its own.
    pub fn put_back(&mut self, name: &str) {
        if self.detached.remove(name) {
            self.bring(name);
        }
    }

    /// True if the panel is in a window of its own.
    #[must_use]
    pub fn is_detached(&self, name: &str) -> bool {
        self.detached.contains(name)
    }

    /// The panel that is in use: the one that fills the centre, else the one that was pressed, shown or given the focus last (its tab
    /// is marked), else the one under the pointer, else the first that is seen.
    #[must_use]
    pub fn in_use(&self) -> Option<&'static str> {
        let active = self.tree.active_tiles();
        // One behind another's tab is not seen.
        let seen = |name: &&'static str| self.detached.contains(name) || self.tile(name).is_some_and(|tile| active.contains(&tile));
        let first = || {
            let names = active.iter().filter_map(|id| self.tree.tiles.get_pane(id)).filter_map(|pane| entry(&pane.0));
            names.map(|e| e.name).find(|name| self.shows(name))
        };
        self.maximised.or(self.used.filter(seen)).or(self.under.filter(seen)).or_else(first)
    }

    /// True if the panel is seen: shown, and not behind another's tab.
    #[must_use]
    pub fn is_seen(&self, name: &str) -> bool {
        match self.maximised {
            Some(alone) => alone == name,
            None => name == RECALL || self.detached.contains(name) || self.in_front(name).is_some(),
        }
    }

    /// Where a panel of the tree was drawn last, while it is seen.
    #[must_use]
    pub fn rect(&self, name: &str) -> Option<eframe::egui::Rect> {
        if self.maximised.is_some() {
            return None;
        }
        self.in_front(name).and_then(|tile| self.tree.tiles.rect(tile))
    }

    /// The panel's tile, where it is not behind another's tab.
    fn in_front(&self, name: &str) -> Option<TileId> {
        self.tile(name).filter(|tile| self.tree.active_tiles().contains(tile))
    }

    fn tile(&self, name: &str) -> Option<TileId> {
        self.tree.tiles.find_pane(&Pane(name.to_owned()))
    }

    /// Draws the panels into all of `ui`.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        // What a drag found is kept from its beginning: on its way it brings tabs to the front.
        if self.maximised.is_some() || self.tree.dragged_id(ui.ctx()).is_none() {
            self.found = None;
        } else if self.found.is_none() {
            self.found = Some(self.save());
        }
        let Self { tree, panels, maximised, used, under, focused, found, reveal, rows, .. } = self;
        *under = None;
        // A focus that stays where it was does not take the place of a panel that was pressed since.
        let focus = ui.memory(Memory::focused);
        let focus_moved = std::mem::replace(focused, focus) != focus;
        if maximised.is_none() && !tree.root().is_some_and(|root| tree.is_visible_in_layout(root) && seen(tree)) {
            ui.centered_and_justified(|ui| ui.weak("Every panel is closed. View > Panels shows them again, View > Layout arranges them."));
            return;
        }
        let panels = panels.get_mut();
        let mut behavior = Centre { panels, look, commands, maximised, used, under, focus_moved, dropped: false };
        if let Some(name) = *behavior.maximised {
            behavior.alone(ui, name);
            return;
        }
        let mut hidden = Vec::new();
        let reveal = reveal.take().and_then(|name| tree.tiles.find_pane(&Pane(name.to_owned())));
        *rows = pages::hide(tree, ui.available_height(), rows.first, reveal, &mut hidden);
        if rows.all > 0 {
            pages::strip(ui, *rows, behavior.commands);
        }
        tree.ui(&mut behavior, ui);
        borders::ui(ui, tree, behavior.commands);
        pages::show(tree, &hidden);
        let Centre { commands, used, dropped, .. } = behavior;
        if let Some(was) = found.take_if(|_| dropped) {
            commands.push(WindowCommand::Dropped { name: *used, was }.into());
        }
    }

    /// Draws the panels that have windows of their own; where the system has one window only, they lie over the others.
    pub fn windows(&mut self, ctx: &Context, look: &Look<'_>, commands: &mut Vec<Command>) {
        for name in self.detached.clone() {
            if let Some(entry) = entry(name) {
                window(self.panels.get_mut(), entry, ctx, look, commands);
            }
        }
    }

    /// How long each panel's last picture took, in seconds.
    pub fn seconds(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let seconds: Vec<_> = self.panels.borrow().iter().map(|(name, (_, seconds))| (*name, *seconds)).collect();
        seconds.into_iter()
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
                if tabs::small(ui, Icon::Maximise, &format!("Maximise {}", entry.title)).on_hover_text("Fill the centre").clicked() {
                    self.maximised = Some(entry.name);
                }
                tabs::help(ui, entry);
            });
        });
    }

    /// Draws one panel outside the tree.
    pub fn panel(&mut self, ui: &mut Ui, name: &str, look: &Look<'_>, commands: &mut Vec<Command>) {
        if let Some(entry) = entry(name) {
            draw(self.panels.get_mut(), entry, ui, look, commands);
        }
    }
}

/// The panel, made if it is not yet there.
fn made<'a>(panels: &'a mut Panels, entry: &PanelEntry) -> &'a mut (Box<dyn Panel>, f64) {
    panels.entry(entry.name).or_insert_with(|| ((entry.make)(), 0.0))
}

pub(super) fn draw(panels: &mut Panels, entry: &PanelEntry, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
    let (panel, seconds) = made(panels, entry);
    let start = Instant::now();
    ui.push_id(entry.name, |ui| panel.ui(ui, look, commands));
    *seconds = start.elapsed().as_secs_f64();
}

/// A window of its own for a panel. Closing it puts the panel back.
fn window(panels: &mut Panels, entry: &'static PanelEntry, ctx: &Context, look: &Look<'_>, commands: &mut Vec<Command>) {
    let title = format!("{} · Mnemoscope", entry.title);
    let builder = ViewportBuilder::default().with_title(title).with_app_id("mnemoscope").with_inner_size([640.0, 440.0]);
    let id = ViewportId::from_hash_of(("panel", entry.name));
    ctx.show_viewport_immediate(id, builder.with_min_inner_size([240.0, 160.0]), |ui, class| {
        let apart = class != ViewportClass::EmbeddedWindow;
        let mut back = apart && ui.input(|i| i.viewport().close_requested());
        if apart {
            commands::pressed(ui.ctx(), commands);
        }
        let fill = ui.visuals().panel_fill;
        Frame::new().fill(fill).inner_margin(Margin::symmetric(6, 4)).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.strong(entry.title);
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    back |=
                        tabs::small(ui, Icon::Restore, &format!("Put back {}", entry.title)).on_hover_text("Among the others").clicked();
                    tabs::help(ui, entry);
                });
            });
            tabs::pane(panels, ui, entry, look, commands);
        });
        if apart {
            focus::outline(ui.ctx());
        }
        if back {
            commands.push(WindowCommand::Panel { name: Some(entry.name), act: PanelAct::PutBack }.into());
        }
    });
}

/// The tree of an arrangement, with every panel in it. Panels that the arrangement does not know are added below the others, so
/// there is a column or a row for them.
fn tree_of(node: &Node) -> Tree<Pane> {
    match node {
        Node::Row(_) | Node::Column(_) => complete(node.tree()),
        _ => complete(Node::Column(vec![(1.0, node.clone())]).tree()),
    }
}

/// True if a panel is shown.
fn seen(tree: &Tree<Pane>) -> bool {
    tree.tiles.iter().any(|(id, tile)| matches!(tile, egui_tiles::Tile::Pane(_)) && tree.is_visible(*id))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_is_in_the_designed_arrangement_once() {
        let tree = tree_of(&presets::designed());
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
        let stranger = Node::panel("of another version");
        let text = ron::to_string(&Node::Column(vec![(1.0, stranger)])).unwrap();
        let mut layout = PanelLayout::new(Some(&text));
        for e in entries() {
            assert!(!layout.shows(e.name));
            layout.toggle(e.name);
            assert!(layout.shows(e.name));
        }
    }

    #[test]
    fn a_panel_in_a_window_of_its_own_comes_back_with_the_session_and_goes_back_to_its_place() {
        let mut layout = PanelLayout::new(None);
        layout.detach("growth");
        assert!(layout.shows("growth") && layout.is_detached("growth"));
        let text = layout.save().unwrap();
        let mut again = PanelLayout::new(Some(&text));
        assert!(again.is_detached("growth") && again.shows("growth"));
        again.put_back("growth");
        assert!(!again.is_detached("growth") && again.shows("growth"));
        assert_eq!(again.save(), None, "all is as designed again");
        again.detach("growth");
        again.toggle("growth");
        assert!(!again.shows("growth"));
    }

    #[test]
    fn the_panel_that_was_shown_last_is_the_one_in_use() {
        let mut layout = PanelLayout::new(None);
        for name in ["growth", "reads", "growth"] {
            layout.bring(name);
            assert_eq!(layout.in_use(), Some(name));
        }
        layout.close("growth");
        assert_ne!(layout.in_use(), Some("growth"));
    }

    #[test]
    fn presets_hide_what_they_do_not_name_and_it_can_be_shown() {
        let mut layout = PanelLayout::new(None);
        for preset in presets::PRESETS {
            layout.arrange(&preset.node());
            let named = preset.node();
            let named = named.names();
            for e in entries() {
                assert_eq!(layout.shows(e.name), named.contains(&e.name), "{} in {}", e.name, preset.name);
            }
            let text = layout.save().unwrap();
            assert_eq!(PanelLayout::new(Some(&text)).save(), Some(text));
        }
        layout.reset();
        assert_eq!(layout.save(), None);
    }
}
