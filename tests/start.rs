//! The start page: it opens what is shipped, by pointer and by keyboard, in both themes and at every width.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use common::{adapter, chord, options, says, session, settle, wait};
use eframe::egui::accesskit::{Node, Role};
use eframe::egui::{Key, Modifiers, Theme, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, try_image_snapshot};
use mnemoscope::app::command::{SessionCommand, ViewCommand, WindowCommand};
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::app::{App, Options};
use mnemoscope::session::Source;
use mnemoscope::session::gallery::shipped;
use mnemoscope::session::lesson::lessons;

/// A window that begins with its start page.
fn start(size: [f32; 2], theme: ThemeChoice) -> Harness<'static, App> {
    let of_window = if theme == ThemeChoice::Light { Theme::Light } else { Theme::Dark };
    let builder = Harness::builder().with_size(vec2(size[0], size[1])).with_step_dt(1.0 / 60.0).with_theme(of_window);
    let options = Options { start_page: true, ..options(theme) };
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session(), None, options).unwrap());
    settle(&mut harness);
    wait(&mut harness, App::start_page_complete);
    harness.run_steps(3);
    assert!(harness.state().shows_start_page());
    harness
}

fn focused(harness: &Harness<'_, App>) -> Option<Node> {
    let mut all = harness.root().children_recursive();
    all.find(|node| node.accesskit_node().is_focused()).map(|node| node.accesskit_node().data().clone())
}

#[test]
fn a_window_shows_it_only_where_it_is_asked_to() {
    let harness = common::window(session());
    assert!(!harness.state().shows_start_page(), "windows of tests and pictures begin without it");
    let mut harness = start([1440.0, 900.0], ThemeChoice::Dark);
    assert!(harness.state().runs().current().is_some_and(|r| r.ended), "the bundled capture has run behind it");
    for one in shipped() {
        let label = format!("Open {}", one.session.title);
        let card = harness.get_by_label(&label);
        let node = card.accesskit_node().data().clone();
        assert_eq!(node.role(), Role::Button);
        assert!(node.description().unwrap().starts_with(&one.session.caption), "{}", one.name);
    }
    // Keys that are about what lies behind it rest.
    let moment = harness.state().timeline().wanted();
    chord(&mut harness, Modifiers::NONE, Key::Home);
    assert_eq!(harness.state().timeline().wanted(), moment);
    chord(&mut harness, Modifiers::NONE, Key::Escape);
    assert!(!harness.state().shows_start_page());
    chord(&mut harness, Modifiers::NONE, Key::Home);
    assert_eq!(harness.state().timeline().wanted(), 0);
    chord(&mut harness, Modifiers::COMMAND | Modifiers::CTRL, Key::G);
    assert!(harness.state().shows_start_page());
}

#[test]
fn a_lesson_takes_its_place_and_is_still_there_after_another_look_at_it() {
    let mut harness = start([1440.0, 900.0], ThemeChoice::Dark);
    let (_, lesson) = &lessons()[0];
    harness.get_by_label(&format!("Open {}", lesson.title)).focus();
    harness.run_steps(2);
    chord(&mut harness, Modifiers::NONE, Key::Enter);
    wait(&mut harness, |app| !app.shows_start_page());
    settle(&mut harness);
    let title = &lesson.steps[0].title;
    assert!(harness.query_by_label(title).is_some());
    for shown in [true, false] {
        chord(&mut harness, Modifiers::COMMAND | Modifiers::CTRL, Key::G);
        assert_eq!(harness.state().shows_start_page(), shown);
        assert!(harness.query_by_label(title).is_some());
    }
}

#[test]
fn the_keyboard_reaches_every_card_and_enter_opens_it() {
    let mut harness = start([1440.0, 900.0], ThemeChoice::Dark);
    // Away and back: who asks for it by a key finds the focus on its first card.
    chord(&mut harness, Modifiers::COMMAND | Modifiers::CTRL, Key::G);
    chord(&mut harness, Modifiers::COMMAND | Modifiers::CTRL, Key::G);
    let mut reached = Vec::new();
    for _ in 0..shipped().len() + lessons().len() {
        let node = focused(&harness).unwrap();
        reached.push(node.label().unwrap_or_default().to_owned());
        // What has the focus is seen: it is scrolled to.
        harness.run_steps(20);
        let bounds = focused(&harness).unwrap().bounds().unwrap();
        assert!(bounds.y0 >= 0.0 && bounds.y1 <= 900.0, "{reached:?}: {bounds:?}");
        chord(&mut harness, Modifiers::NONE, Key::Tab);
    }
    let titles = shipped().iter().map(|s| &s.session.title).chain(lessons().iter().map(|(_, lesson)| &lesson.title));
    let mut titles: Vec<String> = titles.map(|title| format!("Open {title}")).collect();
    titles.sort();
    reached.sort();
    assert_eq!(reached, titles);
    let ties = shipped().iter().find(|s| s.name == "ties").unwrap();
    let label = format!("Open {}", ties.session.title);
    harness.get_by_label(&label).focus();
    harness.run_steps(2);
    chord(&mut harness, Modifiers::NONE, Key::Enter);
    wait(&mut harness, |app| !app.shows_start_page());
    settle(&mut harness);
    let found = harness.state().session();
    assert_eq!((found.title.as_str(), &found.lanes), (ties.session.title.as_str(), &ties.session.lanes));
    assert_eq!(harness.state().timeline().writes(), 192, "its view is that of the file");
    assert_eq!(harness.state().selection().token, Some(131));
    assert!(!harness.state().edited() && says(&harness, &ties.session.title));
}

#[test]
fn hovering_a_card_says_only_what_the_card_does_not() {
    let mut harness = start([1440.0, 900.0], ThemeChoice::Dark);
    let mut told = |title: &str, words: &str| {
        let label = format!("Open {title}");
        // With the focus it is scrolled to.
        harness.get_by_label(&label).focus();
        harness.run_steps(10);
        let (card, screen) = (harness.get_by_label(&label).rect(), harness.ctx.content_rect());
        assert!(screen.contains_rect(card), "{label} at {card}");
        harness.get_by_label(&label).hover();
        harness.run_steps(60);
        says(&harness, words)
    };
    let (_, lesson) = &lessons()[0];
    assert!(!told(&lesson.title, &lesson.about), "all of it is on the card");
    let long = shipped().iter().max_by_key(|s| s.session.caption.len()).unwrap();
    assert!(told(&long.session.title, &long.session.caption), "a card has no room for {}", long.session.caption);
}

/// Opening a card asks what becomes of edits, as every opening does.
#[test]
fn edits_are_asked_about_before_a_card_is_opened() {
    let mut harness = start([1440.0, 900.0], ThemeChoice::Dark);
    harness.state_mut().ask(SessionCommand::Seed(7).into());
    settle(&mut harness);
    harness.state_mut().ask(WindowCommand::OpenFile("gallery:ties".into()).into());
    harness.run_steps(3);
    assert!(harness.state().shows_start_page() && says(&harness, "edits that are not saved"));
    common::click(&mut harness, "Cancel");
    assert!(harness.state().shows_start_page() && matches!(harness.state().session().source, Source::Capture(_)));
    harness.state_mut().ask(WindowCommand::OpenFile("gallery:ties".into()).into());
    harness.run_steps(3);
    common::click(&mut harness, "Discard");
    wait(&mut harness, |app| !app.shows_start_page());
    settle(&mut harness);
    assert!(matches!(harness.state().session().source, Source::Task(_)));
    // It is nobody's file: what is saved is asked for a place, and a wrong name is said.
    harness.state_mut().ask(ViewCommand::Select(None).into());
    harness.state_mut().ask(WindowCommand::OpenFile("gallery:tie".into()).into());
    wait(&mut harness, App::at_rest);
    harness.run_steps(30);
    assert!(says(&harness, "did you mean `gallery:ties`?"));
}

#[test]
fn it_is_kept_away_by_the_preferences() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("preferences.ron");
    let begin = |shows: bool| {
        let options = Options { start_page: true, preferences: Some(file.clone()), ..options(ThemeChoice::Dark) };
        let builder = Harness::builder().with_size(vec2(1440.0, 900.0)).with_step_dt(1.0 / 60.0);
        let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session(), None, options).unwrap());
        settle(&mut harness);
        assert_eq!(harness.state().shows_start_page(), shows);
        harness
    };
    let mut harness = begin(true);
    common::click(&mut harness, "Begin with this page");
    drop(harness);
    let mut harness = begin(false);
    chord(&mut harness, Modifiers::COMMAND | Modifiers::CTRL, Key::G);
    common::click(&mut harness, "Begin with this page");
    drop(harness);
    begin(true);
}

#[test]
fn pictures_of_it() {
    if !adapter() {
        return;
    }
    let mut results = egui_kittest::SnapshotResults::new();
    for (name, size, theme) in [
        ("light", [1440.0, 900.0], ThemeChoice::Light),
        ("dark", [1440.0, 900.0], ThemeChoice::Dark),
        ("narrow", [900.0, 900.0], ThemeChoice::Light),
    ] {
        let mut harness = start(size, theme);
        results.add(try_image_snapshot(&harness.render().unwrap(), format!("start_page_{name}")));
    }
}
