//! The command line on sessions with their trace, and on captures that are not the session's: what it writes, what it says, with which exit code.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "common/cli.rs"]
mod common;

use std::path::Path;

use common::mnemoscope;
use mnemoscope::session::Session;
use mnemoscope::session::saved;

const SHORT: &str = r#"(
    title: "Short",
    source: Capture(path: "bundled", tokens: 160),
    lanes: [
        (name: "OVQ", layer: "ovq", params: {"chunk": 64, "n_max": 32}),
        (name: "full", layer: "full"),
    ],
    backend: cpu,
    bookmarks: [(position: 9000, caption: "far")],
)"#;

#[test]
fn a_session_is_saved_with_its_trace_run_again_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    let (session, file) = (dir.path().join("s.ron"), dir.path().join("s.mnemo"));
    std::fs::write(&session, SHORT).unwrap();
    let [session, name] = [&session, &file].map(|p| p.to_str().unwrap().to_owned());
    let (code, stdout, stderr) = mnemoscope(&["run", &session, "--save", &name]);
    assert_eq!((code, stdout.trim()), (0, name.as_str()), "{stderr}");
    let found = saved::open(&file).unwrap();
    assert_eq!((found.session.title.as_str(), found.plan.lanes.len(), found.made.gpu), ("Short", 2, false));

    // Run again from the file: the same bits. Its trace is exported as any other.
    let out = dir.path().join("out");
    let (code, _, stderr) = mnemoscope(&["run", &name, "--out", out.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("The trace is that of the file, bit for bit (made on CPU"), "{stderr}");
    assert!(out.join("trace.npz").exists());
    // Another seed is another session: nothing is compared.
    let (code, _, stderr) = mnemoscope(&["run", &name, "--seed", "4", "--out", out.to_str().unwrap()]);
    assert!(code == 0 && !stderr.contains("bit for bit"), "{stderr}");

    let (code, stdout, _) = mnemoscope(&["inspect", &name]);
    assert!(code == 0 && stdout.contains("with its trace, made on CPU") && stdout.contains("title: Short"), "{stdout}");
    assert!(stdout.contains("bookmark at 9000 (beyond the end of the stream): far"), "{stdout}");
    let (_, stdout, _) = mnemoscope(&["inspect", &name, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["trace"]["trace_sha256"].as_str().map(str::len), Some(64));

    // A damaged file is refused, whatever is done with it.
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (code, _, stderr) = mnemoscope(&["inspect", &name]);
    assert!(code == 3 && stderr.contains("s.mnemo: is no session with its trace, or is damaged: "), "{stderr}");
    let again = dir.path().join("again").display().to_string();
    let (code, _, stderr) = mnemoscope(&["run", &name, "--out", &again]);
    assert!(code == 3 && stderr.contains("or is damaged: ") && !stderr.contains("bit for bit"), "{stderr}");
    let (code, _, stderr) = mnemoscope(&["run", &session]);
    assert!(code == 2 && stderr.contains("--out"), "{stderr}");
}

#[test]
fn another_capture_than_the_sessions_is_refused_unless_it_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (capture, file) = (dir.path().join("c.safetensors"), dir.path().join("s.ron"));
    std::fs::copy("assets/smollm2_needle_2k_layer12_kv0.safetensors", &capture).unwrap();
    let mut session = Session::from_ron(SHORT, "s").unwrap();
    let mnemoscope::session::Source::Capture(source) = &mut session.source else { panic!("a capture") };
    source.path.clone_from(&capture);
    session.save(&file, None).unwrap();
    let out = dir.path().join("out");
    let run = |more: &[&str]| {
        let mut args = vec!["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
        args.extend(more);
        mnemoscope(&args)
    };
    assert_eq!(run(&[]).0, 0);
    let mut bytes = std::fs::read(&capture).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::write(&capture, bytes).unwrap();
    let (code, _, stderr) = run(&[]);
    assert!(code == 3 && stderr.contains("s.ron:") && stderr.contains("in `source.Capture.sha256`"), "{stderr}");
    assert!(stderr.contains("is not the capture that the session was made with") && stderr.contains("--any-capture"), "{stderr}");
    assert_eq!(run(&["--any-capture"]).0, 0);
    std::fs::remove_file(&capture).unwrap();
    let (code, _, stderr) = run(&[]);
    assert!(code == 3 && stderr.contains("the capture c.safetensors is not there"), "{stderr}");
    assert!(!Path::new("c.safetensors").exists());
}
