//! Every panel as a person sees it, filling the centre of the window with all that is computed for it beside the run: on a real model's
//! needle, on in-context recall and on 65536 tokens, in both themes. Pictures that were looked at.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/window.rs"]
mod common;

use std::path::Path;
use std::time::Duration;

use common::{adapter, options, session, settle};
use eframe::egui::{Event, Theme, vec2};
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, SnapshotResults, try_image_snapshot};
use image::imageops::crop_imm;
use mnemoscope::app::App;
use mnemoscope::app::command::{PanelAct, ViewCommand, WindowCommand};
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::panel::{PANELS, Pin, Subject};
use mnemoscope::param::Params;
use mnemoscope::session::{BackendChoice, LaneSpec, Session, Source, TaskSource, View};

/// The window, and the part of it that the panel fills: the session is at its left, the inspector at its right, the timeline below.
const WINDOW: [f32; 2] = [1220.0, 620.0];
const CENTRE: [u32; 4] = [296, 28, 614, 456];

/// The bundled capture with a token of the needle selected, three quarters in, and an earlier moment pinned.
fn capture() -> (Session, Subject, usize) {
    let view = View { position: Some(1536), ..View::default() };
    (Session { view, ..session() }, Subject::Token(705), 768)
}

/// In-context recall as it ships, at its end, where it is asked.
fn recall() -> (Session, Subject, usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/in_context_recall.ron");
    (Session { backend: BackendChoice::Cpu, ..Session::open(&path).unwrap() }, Subject::Read(100), 2048)
}

/// Needles in 65536 tokens, at their end, where they are asked for.
fn long() -> (Session, Subject, usize) {
    let needles = TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 65_536) };
    let session = Session { source: Source::Task(needles), lanes: LaneSpec::first_four(), ..session() };
    (session, Subject::Token(29_905), 16_384)
}

/// The window on a session in a theme, its run complete and on screen.
fn window(session: &Session, dark: bool) -> Harness<'static, App> {
    let (choice, of_window) = if dark { (ThemeChoice::Dark, Theme::Dark) } else { (ThemeChoice::Light, Theme::Light) };
    let session = session.clone();
    let builder = Harness::builder().with_size(vec2(WINDOW[0], WINDOW[1])).with_step_dt(1.0 / 60.0).with_theme(of_window).wgpu();
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options(choice)).unwrap());
    settle(&mut harness);
    assert_eq!(harness.state().problem(), None);
    harness
}

/// Fills the centre with a panel, or gives it back its place.
fn maximise(harness: &mut Harness<'_, App>, panel: &'static str) {
    harness.state_mut().ask(WindowCommand::Panel { name: Some(panel), act: PanelAct::Maximise }.into());
    rest(harness);
}

/// Waits until nothing changes any more.
fn rest(harness: &mut Harness<'_, App>) {
    settle(harness);
    // What comes to rest only when a moment has passed: exact states, sizes that were animated.
    harness.run_steps(20);
    settle(harness);
    // Retention begins by itself on a stream that is short enough.
    while harness.query_all_by_label("Stop").next().is_some() {
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Compares what is in the centre with the picture that was looked at.
fn picture(harness: &mut Harness<'_, App>, name: &str, dark: bool, results: &mut SnapshotResults) {
    let whole = harness.render().unwrap();
    let [x, y, width, height] = CENTRE;
    let theme = if dark { "dark" } else { "light" };
    results.add(try_image_snapshot(&crop_imm(&whole, x, y, width, height).to_image(), format!("gallery_{name}_{theme}")));
}

/// A picture of every panel of the window on this session.
fn pictures(name: &str, (session, subject, pin): (Session, Subject, usize), results: &mut SnapshotResults) {
    for dark in [false, true] {
        let mut harness = window(&session, dark);
        harness.state_mut().ask(ViewCommand::Choose(subject).into());
        harness.state_mut().ask(ViewCommand::Pin(Some(Pin::Moment(pin))).into());
        for panel in PANELS {
            harness.state_mut().ask(WindowCommand::ShowPanel(panel.name).into());
            maximise(&mut harness, panel.name);
            picture(&mut harness, &format!("{name}_{}", panel.name), dark, results);
            if (name, panel.name) == ("long", "map") {
                zoomed(&mut harness, dark, results);
            }
            maximise(&mut harness, panel.name);
        }
    }
}

/// The dictionary map, zoomed into the cluster of the selected token.
fn zoomed(harness: &mut Harness<'_, App>, dark: bool, results: &mut SnapshotResults) {
    let rect = harness.get_by_label_contains("Dictionary map of lane").rect();
    harness.hover_at(rect.min + rect.size() * vec2(0.333, 0.645));
    harness.run_steps(2);
    harness.event(Event::Zoom(16.0));
    harness.remove_cursor();
    rest(harness);
    picture(harness, "long_map_zoomed", dark, results);
    harness.get_by_label("fit").click();
    rest(harness);
}

/// Clicks `start` in a panel and takes a picture of what came of it.
fn after(session: &Session, panel: &'static str, start: &str, name: &str, results: &mut SnapshotResults) {
    for dark in [false, true] {
        let mut harness = window(session, dark);
        harness.state_mut().ask(WindowCommand::ShowPanel(panel).into());
        maximise(&mut harness, panel);
        harness.get_by_label(start).click();
        harness.run_steps(3);
        harness.remove_cursor();
        rest(&mut harness);
        picture(&mut harness, name, dark, results);
    }
}

#[test]
fn every_panel_on_a_real_needle() {
    if adapter() {
        pictures("capture", capture(), &mut SnapshotResults::new());
    }
}

#[test]
fn every_panel_on_in_context_recall() {
    if adapter() {
        pictures("recall", recall(), &mut SnapshotResults::new());
    }
}

#[test]
fn every_panel_on_65536_tokens() {
    if adapter() {
        pictures("long", long(), &mut SnapshotResults::new());
    }
}

/// Without full attention, whose 65536 rows for each of the 48358 questions are most of the work.
#[test]
fn what_of_65536_tokens_is_retained() {
    if adapter() {
        let (mut session, ..) = long();
        session.lanes.retain(|l| l.layer != "full");
        after(&session, "retention", "Follow", "long_retention_followed", &mut SnapshotResults::new());
    }
}

/// Rows of OVQ against accuracy, three seeds each.
#[test]
fn a_sweep_with_its_results() {
    if adapter() {
        let params = Params::default().with("T", 512).with("needles", 16).with("dk", 16).with("dv", 16);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let ovq = LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 64).with("chunk", 32));
        let lola = LaneSpec::new("LoLA", "lola", Params::default().with("window", 32).with("cache", 64).with("chunk", 32));
        let lanes = vec![ovq, lola, LaneSpec::new("full", "full", Params::default())];
        after(&Session { source, lanes, ..session() }, "sweep", "Start", "sweep_done", &mut SnapshotResults::new());
    }
}
