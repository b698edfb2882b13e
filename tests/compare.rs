//! `mnemoscope compare`: its numbers are those of a run, in every format.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assert_cmd::Command;
use mnemoscope::engine::headless;
use mnemoscope::metric::{Running, Summary};
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, Session};
use serde_json::Value;

fn mnemoscope(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope")).args(args).env_remove("RUST_LOG").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Ten lanes, more than run at once, one of them switched off; needles of few tokens.
const NEEDLES: &str = r#"(
    source: Task(name: "needles", params: {"T": 256, "needles": 4, "dk": 16, "dv": 16}),
    seed: 7,
    lanes: [
        (name: "full", layer: "full"),
        (name: "OVQ", layer: "ovq", params: {"chunk": 32, "n_max": 64}),
        (name: "w8", layer: "window", params: {"window": 8}),
        (name: "off", layer: "window", params: {"window": 256}, enabled: false),
        (name: "l1", layer: "linear", params: {"fmap": "elu1"}),
        (name: "l2", layer: "linear", params: {"fmap": "relu"}, enabled: false),
        (name: "l3", layer: "linear", params: {"fmap": "hedgehog"}, enabled: false),
        (name: "l4", layer: "linear", params: {"fmap": "taylor2"}, enabled: false),
        (name: "LoLA", layer: "lola", params: {"chunk": 32, "window": 32, "cache": 16}),
        (name: "LoLCATs", layer: "lola", params: {"chunk": 32, "window": 32, "cache": 0}),
    ],
    backend: cpu,
)"#;

const CAPTURE: &str = r#"(
    source: Capture(path: "bundled", tokens: 160),
    lanes: [
        (name: "OVQ", layer: "ovq", params: {"chunk": 32, "n_max": 32}),
        (name: "linear", layer: "linear"),
        (name: "full", layer: "full"),
    ],
    backend: cpu,
)"#;

fn file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.ron");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

/// Every enabled lane's summary over all heads and reads, as the window's own run has it.
fn run(text: &str, seed: u64) -> Vec<(String, Summary)> {
    let session = Session { seed, ..Session::from_ron(text, "test").unwrap() };
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let result = headless::run(&plan, BackendChoice::Cpu, |_| (), &AtomicBool::new(false)).unwrap();
    let summary = |trace| {
        let mut running = Running::new(plan.stream.targets()).unwrap();
        running.update(trace);
        running.over(0..plan.stream.query_heads(), 0..plan.stream.reads())
    };
    plan.lanes.iter().map(|l| l.name.clone()).zip(result.traces.iter().map(summary)).collect()
}

fn lane<'a>(all: &'a Value, name: &str) -> &'a Value {
    all["lanes"].as_array().unwrap().iter().find(|l| l["name"] == name).unwrap()
}

#[test]
fn accuracies_are_those_of_the_runs_added_up() {
    let (_dir, session) = file(NEEDLES);
    let (code, stdout, stderr) = mnemoscope(&["compare", &session, "--seeds", "2", "--format", "json"]);
    assert_eq!(code, 0, "{stderr}");
    let all: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&all["seeds"], all["lanes"].as_array().unwrap().len()), (&serde_json::json!([7, 8]), 10));
    let runs = [run(NEEDLES, 7), run(NEEDLES, 8)];
    for (at, (name, _)) in runs[0].iter().enumerate() {
        let of = |summary: Summary| if let Summary::Recall { correct, reads } = summary { (correct, reads) } else { panic!("codes") };
        let (a, b) = (of(runs[0][at].1), of(runs[1][at].1));
        let score = &lane(&all, name)["score"];
        assert_eq!((score["correct"].as_u64(), score["reads"].as_u64()), (Some(a.0 + b.0), Some(a.1 + b.1)), "{name}");
        assert_eq!(lane(&all, name)["seeds"][0]["score"]["correct"], a.0, "{name}");
        let interval = Summary::Recall { correct: a.0 + b.0, reads: a.1 + b.1 }.interval().unwrap();
        assert_eq!((score["interval"][0].as_f64(), score["interval"][1].as_f64()), (Some(interval.0), Some(interval.1)));
    }
    // A window over everything is full attention, also where it is switched off.
    assert_eq!(lane(&all, "off")["score"], lane(&all, "full")["score"]);
    assert_eq!(lane(&all, "full")["score"]["accuracy"], 1.0);
    assert_eq!((lane(&all, "full")["memory_share"].as_f64(), lane(&all, "full")["state_numbers"].as_u64()), (Some(1.0), Some(256 * 32)));
    // Defaults are filled in, and told apart from what was set.
    assert_eq!((&lane(&all, "OVQ")["params"]["growth"], &lane(&all, "OVQ")["set"]["growth"]), (&"plateau".into(), &Value::Null));
    let (_, stdout, _) = mnemoscope(&["compare", &session, "--enabled", "--format", "json"]);
    let all: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(all["lanes"].as_array().unwrap().len(), 6);
}

#[test]
fn errors_against_full_attention_are_those_of_the_run() {
    let (_dir, session) = file(CAPTURE);
    let (code, stdout, stderr) = mnemoscope(&["compare", &session, "--format", "json"]);
    assert_eq!(code, 0, "{stderr}");
    let all: Value = serde_json::from_str(&stdout).unwrap();
    for (name, summary) in run(CAPTURE, 0) {
        let Summary::Error { relative, cosine, reads } = summary else { panic!("vectors") };
        let score = &lane(&all, &name)["score"];
        assert_eq!(score["reads"].as_u64(), Some(reads), "{name}");
        approx::assert_relative_eq!(score["relative_error"].as_f64().unwrap(), relative, max_relative = 1e-12);
        approx::assert_relative_eq!(score["cosine"].as_f64().unwrap(), cosine, max_relative = 1e-12);
    }
    assert_eq!(lane(&all, "full")["score"]["relative_error"].as_f64(), Some(0.0));
}

/// The text without its last column, which is measured.
fn without_times(text: &str) -> String {
    let rows = text.lines().map(|l| l.trim_end().rsplit_once("  ").map_or(l, |(rest, _)| rest).trim_end().to_owned());
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_text_is_a_table_a_person_can_read() {
    let (_dir, session) = file(NEEDLES);
    let (code, stdout, stderr) = mnemoscope(&["compare", &session, "--enabled"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(without_times(&stdout), TABLE.trim(), "{stdout}");
    assert!(stderr.contains("CPU") && stderr.contains("A step is 32 tokens"), "{stderr}");
    assert!(!stderr.contains("Over 100%"), "{stderr}");
    // 512 (16 + 16 + 1) + 32 (16 + 16) numbers, of 256 (16 + 16).
    let (_, stdout, stderr) = mnemoscope(&["compare", &session, "--enabled", "--set", "OVQ.n_max=512"]);
    let note = "Over 100% of full: rows that are reserved are counted, filled or not, against the keys and values of 256 tokens.";
    assert!(stdout.contains("218.8%") && stderr.lines().any(|l| l == note), "{stdout}{stderr}");
    let (_, stdout, _) = mnemoscope(&["compare", &session, "--enabled", "--format", "markdown"]);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("| lane | layer | set | accuracy (95%) | reads |"), "{stdout}");
    assert_eq!((lines[1], lines.len()), ("|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|", 8));
}

/// Sizes as in LAYERS.md, `Numbers that must hold`: OVQ 64 (16 + 16 + 1) + 32 (16 + 16), LoLA (32 + 32 + 16) (16 + 16) + 16 (16 + 1).
/// A read sees half a chunk on average: OVQ (51 + 16) (16 + 16), LoLA (32 + 16 + 16) (16 + 16) + 16 (16 + 1).
const TABLE: &str = "
lane     layer   set                                  accuracy (95%)          reads  numbers     bytes  of full  madds a token  madds a read
full     full                                         1.000 (0.510 to 1.000)      4     8192  32.0 KiB   100.0%              0          8192
OVQ      ovq     chunk = 32, n_max = 64               1.000 (0.510 to 1.000)      4     3136  12.2 KiB    38.3%            848          2144
w8       window  window = 8                           0.250 (0.046 to 0.699)      4      256   1.0 KiB     3.1%              0           256
l1       linear  fmap = elu1                          0.000 (0.000 to 0.490)      4      272   1.1 KiB     3.3%            272           272
LoLA     lola    cache = 16, chunk = 32, window = 32  0.500 (0.150 to 0.850)      4     2832  11.1 KiB    34.6%            816          2320
LoLCATs  lola    cache = 0, chunk = 32, window = 32   0.250 (0.046 to 0.699)      4     2320   9.1 KiB    28.3%            272          1808
";

#[test]
fn csv_has_a_row_a_lane_with_every_digit() {
    let (_dir, session) = file(NEEDLES);
    let (code, stdout, stderr) = mnemoscope(&["compare", &session, "--set", "OVQ.chunk=1024", "--format", "csv"]);
    assert_eq!(code, 0, "{stderr}");
    let mut reader = csv::Reader::from_reader(stdout.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name: &str| heads.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 10);
    for row in &rows {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert!((number("accuracy") - number("correct") / number("reads")).abs() < 1e-15);
        assert!(number("accuracy_low") <= number("accuracy") && number("accuracy") <= number("accuracy_high"));
        assert!((number("state_bytes") - 4.0 * number("state_numbers")).abs() < 1e-9 && number("seconds") > 0.0);
        assert_eq!((&row[column("relative_error")], &row[column("error")], &row[column("backend")]), ("", "", "cpu"));
    }
    assert_eq!(&rows[2][column("set")], r#"{"window":8}"#);
    // A chunk longer than the stream: of its 256 writes a read sees half on average, (51 + 128) (16 + 16).
    assert_eq!((&rows[1][column("lane")], &rows[1][column("read_madds")]), ("OVQ", "5728"));
}

#[test]
fn a_lane_that_cannot_run_has_a_row_and_a_code() {
    let broken = NEEDLES.replace(r#""l2", layer: "linear""#, r#""l2", layer: "linaer""#).replace(r#""window": 8}"#, r#""window": 0}"#);
    let (_dir, session) = file(&broken);
    let (code, stdout, stderr) = mnemoscope(&["compare", &session, "--format", "json"]);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.ends_with("mnemoscope: these lanes cannot run: w8, l2\n"), "{stderr}");
    let all: Value = serde_json::from_str(&stdout).unwrap();
    let error = |name: &str| lane(&all, name)["error"].as_str().map(str::to_owned);
    assert!(error("l2").unwrap().contains("did you mean `linear`?"));
    assert!(error("w8").unwrap().starts_with("w8.window is 0, but must be from 1"));
    assert_eq!((error("full"), &lane(&all, "full")["score"]["accuracy"]), (None, &Value::from(1.0)));
    assert_eq!(lane(&all, "w8")["score"], Value::Null);
    let (_, stdout, _) = mnemoscope(&["compare", &session]);
    assert!(stdout.lines().any(|l| l.starts_with("w8") && l.contains("cannot run")), "{stdout}");
}
