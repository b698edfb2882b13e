//! The whole window on a session, driven as a person drives it.
#![allow(dead_code, reason = "not every file of tests needs all of it")]

use std::time::{Duration, Instant};

use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::app::{App, Options};
use mnemoscope::session::{BackendChoice, Session};

/// The bundled capture, on the CPU.
pub fn session() -> Session {
    Session { backend: BackendChoice::Cpu, ..Session::default() }
}

/// A window without preferences in a theme.
pub fn options(theme: ThemeChoice) -> Options {
    Options { theme: Some(theme), without_times: true, own_dialogs: true, ..Options::default() }
}

/// A window on a session, its run complete and on screen.
pub fn window(session: Session) -> Harness<'static, App> {
    let harness = window_of(session, 900.0);
    assert_eq!(harness.state().problem(), None);
    harness
}

/// A window so high on a session, as soon as nothing is under way.
pub fn window_of(session: Session, height: f32) -> Harness<'static, App> {
    let builder = Harness::builder().with_size(vec2(1440.0, height)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options(ThemeChoice::Dark)).unwrap());
    settle(&mut harness);
    harness
}

/// Lets frames pass until nothing is under way.
pub fn settle(harness: &mut Harness<'_, App>) {
    wait(harness, App::at_rest);
    harness.run_steps(3);
}

/// Lets frames pass until `so` holds.
pub fn wait(harness: &mut Harness<'_, App>, so: impl Fn(&App) -> bool) {
    let start = Instant::now();
    loop {
        harness.step();
        if so(harness.state()) {
            return;
        }
        assert!(start.elapsed() < Duration::from_mins(2), "the window does not come to rest");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Presses a key with modifiers.
pub fn chord(harness: &mut Harness<'_, App>, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    harness.run_steps(2);
}

/// Clicks what has this label.
pub fn click(harness: &mut Harness<'_, App>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

/// Asks the only panel with this view for it: on its row of views, or in the menu that stands for it where it has no room.
pub fn choose_view(harness: &mut Harness<'_, App>, view: &str) {
    if harness.query_by_label(view).is_none() {
        click(harness, "What is shown here");
    }
    click(harness, view);
}

/// True if something in the window says these words.
pub fn says(harness: &Harness<'_, App>, words: &str) -> bool {
    harness.query_all_by_label_contains(words).next().is_some()
}

/// True if pictures can be made here; without an adapter they are skipped with a word, or fail where one is demanded.
pub fn adapter() -> bool {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor.with_env());
    let found =
        !pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12)).is_empty();
    assert!(found || std::env::var_os("MNEMOSCOPE_REQUIRE_GPU").is_none(), "MNEMOSCOPE_REQUIRE_GPU is set, but there is no adapter");
    if !found {
        eprintln!("skipped: there is no adapter to paint with");
    }
    found
}
