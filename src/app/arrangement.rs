//! An arrangement of panels as a session file has it: rows and columns with shares, tabs, panels by name. The same
//! arrangement gives the same text, and it says nothing of how the window's tiles are numbered.

use eframe::egui::Id;
use egui_tiles::{Container, Linear, LinearDir, Tabs, Tile, TileId, Tiles, Tree};
use serde::{Deserialize, Serialize};

use crate::app::layout::Pane;

/// A part of an arrangement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Node {
    /// A panel, by its name; hidden ones keep their place, and those in a window of their own too.
    Panel {
        name: String,
        shown: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        detached: bool,
    },
    /// Panels behind each other; `active` is the place of the one in front.
    Tabs { active: usize, of: Vec<Node> },
    /// Beside each other, each with its share of the width.
    Row(Vec<(f32, Node)>),
    /// Above each other, each with its share of the height.
    Column(Vec<(f32, Node)>),
}

/// An arrangement with the lane that its panels show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrangement {
    /// The lane, by its name; `None` where each panel shows its own.
    pub lane: Option<String>,
    /// The panels.
    pub of: Node,
}

impl Arrangement {
    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// If the text is none of an arrangement.
    pub fn read(text: &str) -> Result<Self, ron::error::SpannedError> {
        match ron::from_str::<Node>(text) {
            Ok(of) => Ok(Self { lane: None, of }),
            Err(error) => ron::from_str(text).map_err(|_| error),
        }
    }

    /// As a text; without a lane it is that of the panels alone, as it was before there were lanes in it.
    ///
    /// # Errors
    /// If a share is no number that RON can write.
    pub fn write(&self) -> Result<String, ron::Error> {
        if self.lane.is_some() { ron::to_string(self) } else { ron::to_string(&self.of) }
    }
}

impl Node {
    /// A panel that is shown.
    #[must_use]
    pub fn panel(name: &str) -> Self {
        Self::Panel { name: name.to_owned(), shown: true, detached: false }
    }

    /// The panels in it, hidden ones too, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Panel { name, .. } => vec![name],
            Self::Tabs { of, .. } => of.iter().flat_map(Self::names).collect(),
            Self::Row(parts) | Self::Column(parts) => parts.iter().flat_map(|(_, node)| node.names()).collect(),
        }
    }

    /// The panels that are in a window of their own.
    #[must_use]
    pub fn detached(&self) -> Vec<&str> {
        match self {
            Self::Panel { name, detached, .. } => detached.then_some(name.as_str()).into_iter().collect(),
            Self::Tabs { of, .. } => of.iter().flat_map(Self::detached).collect(),
            Self::Row(parts) | Self::Column(parts) => parts.iter().flat_map(|(_, node)| node.detached()).collect(),
        }
    }

    /// Says which panels are in a window of their own.
    pub fn detach(&mut self, names: impl Fn(&str) -> bool + Copy) {
        match self {
            Self::Panel { name, detached, .. } => *detached = names(name),
            Self::Tabs { of, .. } => of.iter_mut().for_each(|node| node.detach(names)),
            Self::Row(parts) | Self::Column(parts) => parts.iter_mut().for_each(|(_, node)| node.detach(names)),
        }
    }

    /// Takes a panel out of its tabs into a cell of its own beside them (`row`) or below; false if it is alone there already.
    pub fn split(&mut self, panel: &str, row: bool) -> bool {
        let is = |node: &Self| matches!(node, Self::Panel { name, .. } if name == panel);
        match self {
            Self::Panel { .. } => false,
            Self::Row(parts) | Self::Column(parts) => parts.iter_mut().any(|(_, node)| node.split(panel, row)),
            Self::Tabs { active, of } => {
                let shown = |node: &Self| matches!(node, Self::Panel { shown: true, .. });
                let Some(at) = of.iter().position(is).filter(|at| of.iter().enumerate().any(|(i, n)| i != *at && shown(n))) else {
                    return false;
                };
                let taken = Self::Tabs { active: 0, of: vec![of.remove(at)] };
                if *active > at || *active == of.len() {
                    *active -= 1;
                }
                let parts = vec![(1.0, std::mem::replace(self, Self::Row(Vec::new()))), (1.0, taken)];
                *self = if row { Self::Row(parts) } else { Self::Column(parts) };
                true
            }
        }
    }

    /// The arrangement of a tree; `None` for an empty one.
    #[must_use]
    pub fn of(tree: &Tree<Pane>) -> Option<Self> {
        Self::below(&tree.tiles, tree.root()?)
    }

    fn below(tiles: &Tiles<Pane>, id: TileId) -> Option<Self> {
        match tiles.get(id)? {
            Tile::Pane(Pane(name)) => Some(Self::Panel { name: name.clone(), shown: tiles.is_visible(id), detached: false }),
            Tile::Container(Container::Tabs(tabs)) => {
                let active = tabs.children.iter().position(|c| Some(*c) == tabs.active).unwrap_or(0);
                Some(Self::Tabs { active, of: tabs.children.iter().filter_map(|c| Self::below(tiles, *c)).collect() })
            }
            Tile::Container(Container::Linear(linear)) => {
                // More digits than these are noise of moving a border there and back.
                let share = |c: &TileId| (linear.shares[*c] * 1e4).round() / 1e4;
                let part = |c: &TileId| Some((share(c), Self::below(tiles, *c)?));
                let parts = linear.children.iter().filter_map(part).collect();
                Some(if linear.dir == LinearDir::Horizontal { Self::Row(parts) } else { Self::Column(parts) })
            }
            // Tiles dropped into a grid: their order is kept, as a row.
            Tile::Container(Container::Grid(grid)) => {
                Some(Self::Row(grid.children().filter_map(|c| Some((1.0, Self::below(tiles, *c)?))).collect()))
            }
        }
    }

    /// The tree of an arrangement.
    #[must_use]
    pub fn tree(&self) -> Tree<Pane> {
        let mut tiles = Tiles::default();
        let root = self.insert(&mut tiles);
        Tree::new(Id::unique("panels"), root, tiles)
    }

    fn insert(&self, tiles: &mut Tiles<Pane>) -> TileId {
        match self {
            Self::Panel { name, shown, detached } => {
                let id = tiles.insert_pane(Pane(name.clone()));
                tiles.set_visible(id, *shown && !detached);
                id
            }
            Self::Tabs { active, of } => {
                let mut tabs = Tabs::new(of.iter().map(|n| n.insert(tiles)).collect());
                if let Some(child) = tabs.children.get(*active).copied() {
                    tabs.set_active(child);
                }
                tiles.insert_container(tabs)
            }
            Self::Row(parts) => linear(tiles, LinearDir::Horizontal, parts),
            Self::Column(parts) => linear(tiles, LinearDir::Vertical, parts),
        }
    }
}

fn linear(tiles: &mut Tiles<Pane>, dir: LinearDir, parts: &[(f32, Node)]) -> TileId {
    let children: Vec<TileId> = parts.iter().map(|(_, node)| node.insert(tiles)).collect();
    let mut linear = Linear::new(dir, children.clone());
    for (child, (share, _)) in children.into_iter().zip(parts) {
        // A share that a hand has written wrongly must not make a panel vanish.
        linear.shares.set_share(child, if share.is_finite() && *share > 0.0 { *share } else { 1.0 });
    }
    tiles.insert_container(linear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrangement_survives_the_tree_and_the_text() {
        let panel = |name: &str, shown| Node::Panel { name: name.to_owned(), shown, detached: false };
        let cell = Node::Tabs { active: 1, of: vec![panel("a", true), panel("b", true), panel("c", false)] };
        let node = Node::Column(vec![(2.0, Node::Row(vec![(0.5, cell), (1.5, panel("d", true))])), (1.0, panel("e", true))]);
        assert_eq!(Node::of(&node.tree()), Some(node.clone()));
        let text = ron::to_string(&node).unwrap();
        assert_eq!(ron::from_str::<Node>(&text).unwrap(), node);
    }

    #[test]
    fn shares_that_cannot_be_are_one() {
        let node = |share| Node::Row(vec![(share, Node::panel("a"))]);
        for share in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(Node::of(&node(share).tree()), Some(node(1.0)));
        }
    }

    #[test]
    fn arrangements_of_before_there_were_windows_for_panels_are_read() {
        let old = "Column([(1.0,Tabs(active:0,of:[Panel(name:\"a\",shown:true),Panel(name:\"b\",shown:false)]))])";
        let mut node = ron::from_str::<Node>(old).unwrap();
        assert_eq!(ron::to_string(&node).unwrap(), old, "and written as they were");
        node.detach(|name| name == "b");
        let text = ron::to_string(&node).unwrap();
        assert_eq!((ron::from_str::<Node>(&text).unwrap().detached(), node.names()), (vec!["b"], vec!["a", "b"]));
    }

    #[test]
    fn the_lane_that_panels_show_is_written_where_there_is_one() {
        let of = Node::Row(vec![(1.0, Node::panel("a"))]);
        let plain = Arrangement { lane: None, of: of.clone() };
        assert_eq!(plain.write().unwrap(), ron::to_string(&of).unwrap());
        let shown = Arrangement { lane: Some("OVQ \"1\"".to_owned()), of };
        for arrangement in [plain, shown] {
            assert_eq!(Arrangement::read(&arrangement.write().unwrap()).unwrap(), arrangement);
        }
        assert!(Arrangement::read("(lane: Some(\"a\"))").is_err());
    }

    #[test]
    fn a_panel_is_split_from_its_tabs() {
        let tabs = |active, names: &[&str]| Node::Tabs { active, of: names.iter().map(|n| Node::panel(n)).collect() };
        let mut node = Node::Column(vec![(1.0, tabs(2, &["a", "b", "c"])), (2.0, tabs(0, &["d"]))]);
        assert!(!node.split("d", true), "it is alone");
        assert!(!node.split("e", true), "there is none");
        assert!(node.split("c", true));
        let beside = Node::Row(vec![(1.0, tabs(1, &["a", "b"])), (1.0, tabs(0, &["c"]))]);
        assert_eq!(node, Node::Column(vec![(1.0, beside), (2.0, tabs(0, &["d"]))]));
        assert!(node.split("a", false));
        assert_eq!(node.names(), ["b", "a", "c", "d"]);
    }
}
