//! Arrangements of the panels for a purpose, each a line of one table: rows of cells, each cell panels in tabs, the first in front.
//! Panels that are not named are hidden, but for the default arrangement, where they are tabs of the last cell.

use crate::app::arrangement::Node;
use crate::app::layout::entries;

/// Rows of cells of panels, by name.
type Rows = &'static [&'static [&'static [&'static str]]];

/// One arrangement.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name for commands (`teach`).
    pub name: &'static str,
    /// What the menu calls it.
    pub title: &'static str,
    /// The layer whose lane the panels show, where they show one lane; by its name.
    pub layer: Option<&'static str>,
    /// The panels.
    rows: Rows,
}

/// The arrangement as designed: what belongs together lies behind each other.
const DESIGN: Rows = &[
    &[&["growth", "health"], &["assignments", "map"]],
    &[&["counts", "state", "channel"], &["sre", "events"]],
    &[&["residency", "moments"], &["shares", "reads", "retention", "sweep", "formula"]],
];

/// Every arrangement but the designed one. Adding one is one line here and one in the table of commands.
pub static PRESETS: &[Preset] = &[
    Preset { name: "teach", title: "Teach", layer: None, rows: &[&[&["map"], &["residency"]], &[&["growth"], &["formula"]]] },
    Preset {
        name: "debug-ovq",
        title: "Debug OVQ",
        layer: Some("ovq"),
        rows: &[
            &[&["growth"], &["assignments"], &["map"]],
            &[&["counts"], &["health"], &["events"]],
            &[&["shares", "reads", "channel"], &["formula", "moments"]],
        ],
    },
    Preset {
        name: "debug-lola",
        title: "Debug LoLA",
        layer: Some("lola"),
        rows: &[
            &[&["residency"], &["sre"]],
            &[&["state"], &["retention", "events"]],
            &[&["shares", "reads", "channel"], &["formula", "moments"]],
        ],
    },
    Preset {
        name: "compare",
        title: "Compare",
        layer: None,
        rows: &[&[&["retention"], &["reads"]], &[&["shares"], &["sweep", "moments", "health"]]],
    },
];

/// The arrangement with this name.
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}

impl Preset {
    /// Its panels, where there are such.
    #[must_use]
    pub fn node(&self) -> Node {
        arranged(self.rows, &[])
    }
}

/// The arrangement as designed, with every panel in it.
#[must_use]
pub fn designed() -> Node {
    let named: Vec<&str> = DESIGN.iter().copied().flatten().copied().flatten().copied().collect();
    let rest: Vec<&str> = entries().map(|e| e.name).filter(|n| !named.contains(n)).collect();
    arranged(DESIGN, &rest)
}

/// Every panel in a cell of its own, none behind another: for measuring.
#[must_use]
pub fn all_at_once() -> Node {
    let names: Vec<&str> = entries().map(|e| e.name).collect();
    let columns = (names.len() as f32).sqrt().ceil().max(1.0) as usize;
    let cell = |name: &&str| (1.0, Node::Tabs { active: 0, of: vec![Node::panel(name)] });
    Node::Column(names.chunks(columns).map(|row| (1.0, Node::Row(row.iter().map(cell).collect()))).collect())
}

/// The rows with the panels that there are; `rest` in the last cell.
fn arranged(rows: Rows, rest: &[&str]) -> Node {
    let there = |name: &&&str| entries().any(|e| e.name == **name);
    let mut out = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        let mut cells = Vec::new();
        for (c, cell) in row.iter().enumerate() {
            let last = r + 1 == rows.len() && c + 1 == row.len();
            let names = cell.iter().filter(there).chain(rest.iter().filter(|_| last));
            let of: Vec<Node> = names.map(|n| Node::panel(n)).collect();
            if !of.is_empty() {
                cells.push((1.0, Node::Tabs { active: 0, of }));
            }
        }
        if !cells.is_empty() {
            out.push((1.0, Node::Row(cells)));
        }
    }
    Node::Column(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_arrangement_names_a_panel_twice() {
        for (title, rows) in PRESETS.iter().map(|p| (p.title, p.rows)).chain([("designed", DESIGN)]) {
            let names: Vec<&str> = rows.iter().copied().flatten().copied().flatten().copied().collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{title}");
        }
    }

    #[test]
    fn every_layer_in_the_table_is_one() {
        for layer in PRESETS.iter().filter_map(|p| p.layer) {
            assert!(crate::layer::kind(layer).is_some(), "{layer}");
        }
    }

    #[test]
    fn every_name_in_the_table_is_a_panel() {
        for (title, rows) in PRESETS.iter().map(|p| (p.title, p.rows)).chain([("designed", DESIGN)]) {
            for name in rows.iter().copied().flatten().copied().flatten().copied() {
                assert!(entries().any(|e| e.name == name), "{name} in {title}");
            }
        }
    }

    #[test]
    fn every_panel_is_in_the_designed_arrangement_and_in_the_one_with_all_once() {
        for node in [designed(), all_at_once()] {
            let mut found = node.names();
            found.sort_unstable();
            let mut known: Vec<&str> = entries().map(|e| e.name).collect();
            known.sort_unstable();
            assert_eq!(found, known);
        }
    }
}
