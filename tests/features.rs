//! Holds the promise that the command line builds without the window's crates.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::Command;

/// What `--no-default-features` must not bring in, directly or through anything.
const WINDOW: &[&str] = &["egui", "eframe", "egui-wgpu", "egui-winit", "egui_tiles", "winit", "rfd"];

fn tree(features: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    names.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_command_line_builds_without_the_window() {
    let without = tree(&["--no-default-features"]);
    assert!(without.iter().any(|n| n == "wgpu"), "the list is of something else: {without:?}");
    let found: Vec<_> = without.iter().filter(|n| WINDOW.contains(&n.as_str())).collect();
    assert!(found.is_empty(), "brought in without the feature `gui`: {found:?}");
    let with = tree(&[]);
    assert!(WINDOW.iter().all(|w| with.iter().any(|n| n == w)), "a name in WINDOW is no longer a dependency: {with:?}");
}
