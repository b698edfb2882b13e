//! The program, run as from a shell.

use assert_cmd::Command;

/// Runs the program; its exit code, and what it wrote on standard output and on standard error.
pub fn mnemoscope(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope")).args(args).env_remove("RUST_LOG").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
