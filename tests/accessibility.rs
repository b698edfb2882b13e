//! What a screen reader and a keyboard get of the whole window, with every panel open: names, sentences, an order, a focus that is seen;
//! and what eyes get: contrast, and text of every size.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{chord, click, options, session, settle};
use eframe::egui::accesskit::{Action, Node, NodeId, Role};
use eframe::egui::{Key, Modifiers, Rect, Shape, Theme, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, SnapshotOptions};
use mnemoscope::app::command::{PictureAct, ViewCommand, WindowCommand};
use mnemoscope::app::theme::{self, ThemeChoice};
use mnemoscope::app::{App, presets};
use mnemoscope::panel::Subject;
use mnemoscope::session::Session;

/// A window with every panel in a cell of its own, with a token of the needle selected.
fn everything(session: Session) -> Harness<'static, App> {
    let mut session = session;
    session.view.layout = Some(ron::to_string(&presets::all_at_once()).unwrap());
    session.view.position = Some(1024);
    let builder = Harness::builder().with_size(vec2(1920.0, 1200.0)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options(ThemeChoice::Dark)).unwrap());
    settle(&mut harness);
    harness.state_mut().ask(ViewCommand::Choose(Subject::Token(705)).into());
    settle(&mut harness);
    harness
}

/// The nodes of the last frame, in the order of its tree.
fn nodes(harness: &Harness<'_, App>) -> Vec<(NodeId, Node)> {
    let all = harness.root().children_recursive();
    all.map(|node| (node.accesskit_node().locate().0, node.accesskit_node().data().clone())).collect()
}

/// The node that has the focus.
fn focused(harness: &Harness<'_, App>) -> Option<(NodeId, Node)> {
    let mut all = harness.root().children_recursive();
    let node = all.find(|node| node.accesskit_node().is_focused())?.accesskit_node();
    Some((node.locate().0, node.data().clone()))
}

/// True for what can be worked with, or must say what it shows.
fn is_control(node: &Node) -> bool {
    let roles = [
        Role::Button,
        Role::DefaultButton,
        Role::CheckBox,
        Role::RadioButton,
        Role::Slider,
        Role::SpinButton,
        Role::ComboBox,
        Role::TextInput,
        Role::MultilineTextInput,
        Role::Link,
        Role::Tab,
        Role::Canvas,
        Role::Switch,
        Role::Image,
        Role::Splitter,
    ];
    roles.contains(&node.role())
}

fn name(node: &Node) -> &str {
    node.label().unwrap_or_default()
}

/// What is nameless, or a plot without a sentence, with what stands before it.
fn faults(harness: &Harness<'_, App>) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = String::new();
    for (_, node) in &nodes(harness) {
        let named = name(node).trim();
        // What can be clicked and says nothing of itself at all is a control too.
        // Except the ground behind the tabs of tiles, to which their crate gives no name; a keyboard has the commands of the menu View
        // for what it does: other arrangements, split.
        let bounds = node.bounds().unwrap_or_default();
        let tiles = (bounds.height() - 24.0).abs() < 0.01 && before.starts_with("About ");
        let mute = node.role() == Role::Unknown && node.supports_action(Action::Click) && !tiles;
        let short = node.role() == Role::Image && named.split_whitespace().count() < 4;
        if ((is_control(node) || mute) && named.is_empty()) || short {
            found.push(format!("{:?} `{named}` at {:?} after `{before}`", node.role(), node.bounds()));
        }
        let said = if named.is_empty() { node.value().unwrap_or_default() } else { named };
        if !said.trim().is_empty() {
            said.clone_into(&mut before);
        }
    }
    found
}

#[test]
fn every_control_has_a_name_and_every_plot_a_sentence() {
    let mut harness = everything(session());
    let mut all: Vec<String> = faults(&harness).into_iter().map(|f| format!("window: {f}")).collect();
    let count = nodes(&harness).iter().filter(|(_, n)| is_control(n)).count();
    assert!(count > 100, "the tree is read: {count}");
    for menu in ["File", "Edit", "Run", "View", "Help"] {
        click(&mut harness, menu);
        all.extend(faults(&harness).into_iter().map(|f| format!("menu {menu}: {f}")));
        harness.key_press(Key::Escape);
        harness.run_steps(3);
    }
    let asking = [PictureAct::ExportPanel(None), PictureAct::Animate(None)].map(WindowCommand::Picture);
    for command in [WindowCommand::ToggleKeys, WindowCommand::TogglePalette, WindowCommand::OpenPath].into_iter().chain(asking) {
        harness.state_mut().ask(command.clone().into());
        harness.run_steps(3);
        all.extend(faults(&harness).into_iter().map(|f| format!("{command:?}: {f}")));
        harness.key_press(Key::Escape);
        harness.run_steps(3);
    }
    for subject in [Subject::Centroid { lane: 0, row: 3 }, Subject::Read(900), Subject::Step(4), Subject::Lane(1)] {
        harness.state_mut().ask(ViewCommand::Choose(subject).into());
        settle(&mut harness);
        all.extend(faults(&harness).into_iter().map(|f| format!("{subject:?}: {f}")));
    }
    all.sort();
    all.dedup();
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// Where the focus is drawn: outlines in the accent of two points.
fn outlines(shapes: &[eframe::egui::epaint::ClippedShape], dark: bool) -> Vec<Rect> {
    fn walk(shape: &Shape, dark: bool, out: &mut Vec<Rect>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| walk(s, dark, out)),
            Shape::Rect(r) if r.stroke.color == theme::accent(dark) && r.stroke.width >= 2.0 => out.push(r.rect),
            _ => {}
        }
    }
    let mut out = Vec::new();
    shapes.iter().for_each(|s| walk(&s.shape, dark, &mut out));
    out
}

/// True if an outline is that of a node: all of the node, or all that is seen of it.
fn surrounds(outline: Rect, node: &Node) -> bool {
    node.bounds().is_some_and(|b| {
        let bounds = Rect::from_min_max(pos2(b.x0 as f32, b.y0 as f32), pos2(b.x1 as f32, b.y1 as f32));
        bounds.expand(2.0).contains_rect(outline) && outline.is_positive()
    })
}

/// True if an outline of the focus surrounds what is there.
fn is_outlined(harness: &Harness<'_, App>, node: &Node) -> bool {
    outlines(&harness.output().shapes, true).into_iter().any(|r| surrounds(r, node))
}

#[test]
fn tab_comes_to_every_control_and_the_focus_is_seen() {
    let mut harness = everything(session());
    // What shows and does nothing needs no stop, and neither does a plot, unless keys do something in it. The rows of the list of
    // reads have theirs in the list, which the arrows go through; rows of events outside what is seen have none until they are seen.
    let wanted: BTreeSet<NodeId> = nodes(&harness)
        .into_iter()
        .filter(|(_, n)| is_control(n) && !n.is_disabled())
        .filter(|(_, n)| {
            n.supports_action(Action::Focus)
                || n.supports_action(Action::Click)
                    && n.role() != Role::Image
                    && !name(n).starts_with("Read ")
                    && !name(n).starts_with("Event ")
        })
        .map(|(id, _)| id)
        .collect();
    let mut visited = BTreeSet::new();
    let mut unseen = Vec::new();
    for _ in 0..2 * wanted.len() + 60 {
        harness.key_press(Key::Tab);
        harness.run_steps(2);
        if focused(&harness).is_some_and(|(id, _)| visited.insert(id)) {
            let seen = |harness: &Harness<'_, App>| focused(harness).is_none_or(|(_, node)| is_outlined(harness, &node));
            if !seen(&harness) {
                // It lies at a fold: what holds it scrolls there, which takes some frames.
                harness.run_steps(60);
            }
            if let Some((_, node)) = focused(&harness).filter(|(_, node)| !is_outlined(&harness, node)) {
                unseen.push(format!("{:?} {} {:?}", node.role(), name(&node), node.bounds()));
            }
        }
        if visited.is_superset(&wanted) {
            break;
        }
    }
    let all: BTreeMap<NodeId, Node> = nodes(&harness).into_iter().collect();
    let missed: Vec<String> = wanted
        .difference(&visited)
        .filter_map(|id| all.get(id))
        .filter(|n| is_control(n))
        .map(|n| format!("{:?} {}", n.role(), name(n)))
        .collect();
    assert!(wanted.len() > 100, "the tree is read: {}", wanted.len());
    assert!(missed.is_empty() && unseen.is_empty(), "Tab never comes to {missed:#?}; the focus is not seen on {unseen:#?}");
}

#[test]
fn escape_and_keys_work_wherever_the_focus_is() {
    let mut harness = everything(session());
    for _ in 0..12 {
        harness.key_press(Key::Tab);
        harness.step();
    }
    chord(&mut harness, Modifiers { command: true, ctrl: true, ..Modifiers::NONE }, Key::P);
    assert!(harness.query_by_label("What to do").is_some());
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label("What to do").is_none(), "Escape closes the palette");
    harness.key_press(Key::F1);
    harness.run_steps(3);
    assert!(common::says(&harness, "Tab goes from control to control"));
}

/// What must be seen in a window so wide, in points: where a side is folded, what unfolds it.
fn landmarks(width: f32) -> [&'static str; 8] {
    let session = if width < 1040.0 { "Show the session panel" } else { "Source" };
    let inspector = if width < 760.0 { "Show the inspector and recall" } else { "Maximise Recall" };
    ["File", "Help", "Play", "Playhead", "Token ribbon", session, "Speed", inspector]
}

#[test]
fn every_size_of_text_leaves_the_window_whole() {
    let mut harness = common::window(session());
    harness.state_mut().ask(ViewCommand::Choose(Subject::Token(705)).into());
    let mut seen = Vec::new();
    for (command, times) in [(WindowCommand::Smaller, 2), (WindowCommand::Larger, 6), (WindowCommand::Larger, 6)] {
        for _ in 0..times {
            harness.state_mut().ask(command.clone().into());
        }
        settle(&mut harness);
        harness.run_steps(5);
        let scale = harness.ctx.zoom_factor();
        seen.push((scale * 10.0).round() as i32);
        let screen = harness.ctx.content_rect();
        let mut places = Vec::new();
        for label in landmarks(screen.width()) {
            let rect = harness.get_by_label(label).rect();
            assert!(screen.expand(1.0).contains_rect(rect) && rect.is_positive(), "{label} at {scale}: {rect}");
            places.push((label, rect));
        }
        for (i, (a, x)) in places.iter().enumerate() {
            for (b, y) in &places[..i] {
                assert!(!x.shrink(1.0).intersects(y.shrink(1.0)), "{a} lies over {b} at {scale}: {x} {y}");
            }
        }
        let centre = harness.get_by_label("Close Growth").rect();
        assert!(centre.is_positive() && screen.contains_rect(centre), "the panels have room at {scale}");
    }
    assert_eq!(seen, [8, 14, 20]);
}

#[test]
fn a_small_window_shows_the_panels_that_can_be_read_and_the_way_to_the_others() {
    let mut harness = Harness::builder()
        .with_size(vec2(900.0, 600.0))
        .with_step_dt(1.0 / 60.0)
        .build_eframe(|cc| App::new(&cc.egui_ctx, session(), None, options(ThemeChoice::Light)).unwrap());
    settle(&mut harness);
    let panels =
        |harness: &Harness<'_, App>| ["Growth", "Scores", "Cache"].map(|p| harness.query_by_label(&format!("Close {p}")).is_some());
    assert_eq!(panels(&harness), [true, true, false], "two rows of three");
    harness.get_by_label("Rows 1 to 2 of 3 of the panels");
    let tall =
        |harness: &Harness<'_, App>| harness.get_by_label("Close Scores").rect().top() - harness.get_by_label("Close Growth").rect().top();
    assert!(tall(&harness) >= 168.0, "a row can be read: {}", tall(&harness));
    harness.get_by_label("Panels below").click();
    harness.run_steps(3);
    assert_eq!(panels(&harness), [false, true, true]);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::PageUp);
    harness.run_steps(3);
    assert_eq!(panels(&harness), [true, true, false]);
    // A panel that is asked for is seen.
    harness.state_mut().ask(WindowCommand::ShowPanel("reads").into());
    harness.run_steps(3);
    assert!(harness.query_by_label("Close Reads").is_some());
    assert_eq!(panels(&harness), [false, true, true]);
    // Nothing is hidden for good.
    harness.set_size(vec2(900.0, 1000.0));
    harness.run_steps(3);
    assert_eq!(panels(&harness), [true, true, true]);
    harness.set_size(vec2(900.0, 600.0));

    // The session's panel has no room beside them until it is asked for.
    assert!(harness.query_by_label("Source").is_none());
    harness.key_press(Key::F6);
    harness.run_steps(3);
    assert!(harness.query_by_label("Source").is_some() && harness.query_by_label("Show the session panel").is_none());
    harness.key_press(Key::F7);
    harness.run_steps(3);
    assert!(harness.query_by_label("Maximise Recall").is_none());
    harness.get_by_label("Show the inspector and recall").click();
    harness.run_steps(3);
    harness.get_by_label("Maximise Recall");
}

/// The window with text of 1.6 times the designed size.
fn picture(dark: bool, name: &str) {
    if !common::adapter() {
        return;
    }
    let (theme, choice) = if dark { (Theme::Dark, ThemeChoice::Dark) } else { (Theme::Light, ThemeChoice::Light) };
    let builder = Harness::builder().with_size(vec2(1440.0, 900.0)).with_step_dt(1.0 / 60.0).with_render_cursor(false).wgpu();
    let mut asked = session();
    asked.view.position = Some(1024);
    asked.view.token = Some(705);
    let mut harness = builder.with_theme(theme).build_eframe(|cc| App::new(&cc.egui_ctx, asked, None, options(choice)).unwrap());
    for _ in 0..6 {
        harness.state_mut().ask(WindowCommand::Larger.into());
    }
    settle(&mut harness);
    harness.run_steps(5);
    harness.snapshot_options(name, &SnapshotOptions::new().threshold(2.5).max_failed_pixels(400));
}

#[test]
fn large_text_looks_as_designed() {
    picture(true, "window_large_text_dark");
}
