//! Python, where it is here.

use std::process::Command;

/// True if Python has these modules. Where it has to have them, they are missed aloud.
pub fn has(modules: &str) -> bool {
    let import = format!("import {modules}");
    let tried = Command::new("python3").args(["-c", &import]).env_remove("MPLBACKEND").output();
    let there = tried.is_ok_and(|o| o.status.success());
    if !there {
        assert!(std::env::var_os("MNEMOSCOPE_REQUIRE_PYTHON").is_none(), "python3 with {modules} is required, and not here");
        eprintln!("skipped: python3 with {modules} is not here");
    }
    there
}
