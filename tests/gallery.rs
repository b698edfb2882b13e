//! Every panel as a person sees it, filling the centre of the window with all that is computed for it beside the run: on a real model's
//! needle, on in-context recall and on 65536 tokens, in both themes. Pictures that were looked at.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/window.rs"]
mod common;

use std::path::Path;
use std::time::Duration;

use common::{adapter, options, session, settle};
use eframe::egui::{Theme, vec2};
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

/// A picture of every panel of the window on this session.
fn pictures(name: &str, (session, subject, pin): (Session, Subject, usize), results: &mut SnapshotResults) {
    for (theme, choice, of_window) in [("light", ThemeChoice::Light, Theme::Light), ("dark", ThemeChoice::Dark, Theme::Dark)] {
        let session = session.clone();
        let builder = Harness::builder().with_size(vec2(WINDOW[0], WINDOW[1])).with_step_dt(1.0 / 60.0).with_theme(of_window).wgpu();
        let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options(choice)).unwrap());
        settle(&mut harness);
        assert_eq!(harness.state().problem(), None);
        harness.state_mut().ask(ViewCommand::Choose(subject).into());
        harness.state_mut().ask(ViewCommand::Pin(Some(Pin::Moment(pin))).into());
        for panel in PANELS {
            let maximise = |harness: &mut Harness<'_, App>| {
                harness.state_mut().ask(WindowCommand::Panel { name: Some(panel.name), act: PanelAct::Maximise }.into());
            };
            harness.state_mut().ask(WindowCommand::ShowPanel(panel.name).into());
            maximise(&mut harness);
            settle(&mut harness);
            // What comes to rest only when a moment has passed: exact states, sizes that were animated.
            harness.run_steps(20);
            settle(&mut harness);
            // Retention begins by itself on a stream that is short enough.
            while harness.query_all_by_label("Stop").next().is_some() {
                harness.step();
                std::thread::sleep(Duration::from_millis(5));
            }
            let whole = harness.render().unwrap();
            let [x, y, width, height] = CENTRE;
            results.add(try_image_snapshot(
                &crop_imm(&whole, x, y, width, height).to_image(),
                format!("gallery_{name}_{}_{theme}", panel.name),
            ));
            maximise(&mut harness);
        }
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
