//! The command line: what it writes, what it says, and with which exit code.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "common/cli.rs"]
mod common;

use std::path::Path;

use common::mnemoscope;
use mnemoscope::gpu::testing::gpu_or_skip;

/// A session of few tokens, so that tests are quick.
const SHORT: &str = r#"(
    source: Capture(path: "bundled", tokens: 160),
    lanes: [
        (name: "OVQ", layer: "ovq", params: {"chunk": 64, "n_max": 32}),
        (name: "LoLA", layer: "lola", params: {"chunk": 32, "window": 32, "cache": 16}),
        (name: "full", layer: "full"),
    ],
    backend: cpu,
)"#;

fn folder() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.ron");
    std::fs::write(&path, SHORT).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn run_writes_the_trace_and_the_table_and_names_them() {
    let (dir, session) = folder();
    let out = dir.path().join("deep/out");
    let (code, stdout, stderr) = mnemoscope(&["run", &session, "--out", out.to_str().unwrap(), "--set", "LoLA.cache=8"]);
    assert_eq!(code, 0, "{stderr}");
    // Standard output is data: the files' names, and nothing else.
    let files: Vec<&Path> = stdout.lines().map(Path::new).collect();
    let tables = ["tokens", "reads", "steps", "events", "centroids", "cache"].map(|t| format!("{t}.csv"));
    let names = std::iter::once("trace.npz").chain(tables.iter().map(String::as_str)).chain(["README.md", "columns.json"]);
    assert_eq!(files, names.map(|name| out.join(name)).collect::<Vec<_>>());
    assert!(stderr.contains("CPU") && stderr.contains("asked for"), "{stderr}");
    assert!(stderr.contains("relative error 0.000"), "full attention against itself: {stderr}");
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(files[0]).unwrap()).unwrap();
    let names = npz.names().unwrap();
    let of = |lane: &str| names.iter().filter(|n| n.starts_with(lane)).count();
    assert!(of("OVQ") > 5 && of("LoLA") > 5 && of("full") > 0, "{names:?}");
    // A row a token; one token's text is a line break, which the quotes of CSV hold.
    let rows: Vec<_> = csv::Reader::from_path(files[1]).unwrap().into_records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 160);
    assert_eq!((&rows[159][0], rows.iter().filter(|r| r[1].contains('\n')).count() > 0), ("159", true));
    // Nothing but those files is left in the folder.
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), files.len());
    // `--set` was heard: the cache never holds more than 8 pairs.
    let count = names.iter().find(|n| n.starts_with("LoLA") && n.contains("cached_count")).unwrap();
    let counts: ndarray::ArrayD<i32> = npz.by_name(count).unwrap();
    assert_eq!(counts.iter().max(), Some(&8), "{counts:?}");
}

#[test]
fn errors_are_sentences_with_the_code_of_their_kind() {
    let (dir, session) = folder();
    let out = dir.path().join("out").to_str().unwrap().to_owned();
    let broken = dir.path().join("broken.ron");
    std::fs::write(&broken, "(lanes: [(name: \"a\", layr: \"ovq\")])").unwrap();
    let named = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let beyond = beyond(dir.path());
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["run", &session], 2, &["--out"]),
        (&["run", &session, "--out", &out, "--set", "LoLA.cache=99999"], 2, &["LoLA.cache is 99999", "from 0 to 16384"]),
        (&["run", &session, "--out", &out, "--set", "lola.cache=9"], 2, &["no lane `lola`", "did you mean `LoLA`?"]),
        (&["run", &session, "--out", &out, "--set", "OVQ.n_mxa=9"], 2, &["no parameter `n_mxa`", "did you mean `n_max`?"]),
        (&["run", "missing.ron", "--out", &out], 3, &["missing.ron"]),
        (&["run", broken.to_str().unwrap(), "--out", &out], 3, &["broken.ron:1:", "did you mean `layer`?"]),
        (&["run", &session, "--out", &session], 6, &["short.ron"]),
        (&["events", &session, "--kind", "foundr"], 2, &["foundr", "founder"]),
        (&["events", &session, "--kind", "threshold"], 2, &["--threshold"]),
        (&["events", &session, "--lane", "lola"], 2, &["no lane that runs", "did you mean `LoLA`?"]),
        (&["events", &session, "--head", "9"], 2, &["--head 9", "query heads 0 to 2"]),
        (&["events", &session, "--under", "-1"], 2, &["from 0 on"]),
        (&["events", &session, "--threshold", "cached_cout>1"], 2, &["none of these lanes", "did you mean `cached_count`?"]),
        (&["events", &session, "--threshold", "cached_count[3]>1"], 2, &["cached_count[3]", "[0] to [0]"]),
        (&["events", "missing.ron"], 3, &["missing.ron"]),
        (&["events", &session, "--out", &format!("{session}/events.csv")], 6, &["short.ron"]),
        (&["run", &session, "--out", &out, "--from", "100", "--to", "100"], 2, &["the writes are 0 to 159"]),
        (&["run", &session, "--out", &out, "--to", "161"], 2, &["the writes are 0 to 159", "at most 160"]),
        (&["run", &session, "--out", &out, "--lane", "LoLa"], 2, &["no lane `LoLa` runs", "did you mean `LoLA`?"]),
        (&["run", &session, "--out", &out, "--arrays", "npz,none"], 2, &["`none` stands alone"]),
        (&["run", &session, "--out", &out, "--tables", "xlsx"], 2, &["xlsx", "parquet"]),
        (&["compare", &session, "--json", "--format", "csv"], 2, &["--json"]),
        (&["completions", "tcsh"], 2, &["tcsh", "fish"]),
        (&["man", "rum"], 2, &["did you mean `run`?"]),
        (&["bench", "ovk"], 2, &["no layer `ovk`", "did you mean `ovq`?"]),
        (&["verfy"], 2, &["did you mean `mnemoscope verify`?"]),
        // A name does not say another thing than what would be there.
        (&["run", &session, "--out", &named("x.csv")], 2, &["x.csv: a trace goes into a folder", "ends in .csv is that of a file"]),
        (&["run", &session, "--save", &named("x.zip")], 2, &["--save is", "x.zip: ", "ends in .mnemo"]),
        (&["events", &session, "--out", &named("x.parquet")], 2, &["x.parquet: ", "ends in .csv"]),
        (&["events", &session, "--json", "--out", &named("x.csv")], 2, &["with --json its name ends in .json"]),
        (&["sweep", &session, "--vary", "OVQ.n_max=8", "--out", &named("x.csv")], 2, &["x.csv: ", "ends in .parquet"]),
        (&["man", "--out", &named("pages.txt")], 2, &["pages.txt: the pages go into a folder"]),
        // A session that looks at what its stream does not have; where it cannot run, nothing else is said of it.
        (&["run", &beyond, "--out", &out], 3, &["beyond.ron:1:", "in `view.token`: the token 600 is selected"]),
        (&["compare", &beyond], 3, &["beyond.ron:1:", "in `view.token`"]),
        (&["inspect", &beyond], 3, &["beyond.ron:1:", "in `view.token`"]),
        (&["inspect", broken.to_str().unwrap(), "--json"], 3, &["broken.ron:1:"]),
    ];
    for (args, expected, words) in cases {
        let (code, stdout, stderr) = mnemoscope(args);
        assert_eq!(code, *expected, "{args:?}: {stderr}");
        assert_eq!(stdout, "", "{args:?}");
        for word in *words {
            assert!(stderr.contains(word), "{args:?}: `{word}` is not in: {stderr}");
        }
    }
    assert!(!Path::new(&out).exists(), "a run that cannot begin leaves no folder");
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["beyond.ron", "broken.ron", "short.ron"]);
}

/// A session with a token selected that its stream does not have.
fn beyond(folder: &Path) -> String {
    let path = folder.join("beyond.ron");
    let text =
        r#"(source: Task(name: "needles", params: {"T": 600}), lanes: [(name: "full", layer: "full")], view: (token: 600), backend: cpu)"#;
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A stream that `--set` makes shorter makes no file wrong: what is looked at is then the nearest.
#[test]
fn a_view_is_held_against_the_stream_of_the_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let session = beyond(dir.path());
    let out = dir.path().join("out").to_str().unwrap().to_owned();
    for other in ["task.T=300", "task.T=700"] {
        let (code, _, stderr) = mnemoscope(&["run", &session, "--out", &out, "--set", other, "--arrays", "none"]);
        assert_eq!(code, 0, "{other}: {stderr}");
    }
    let (code, _, stderr) = mnemoscope(&["run", &session, "--out", &out, "--set", "task.T=600"]);
    assert!(code == 3 && stderr.contains("in `view.token`"), "set to what it is, nothing has changed: {stderr}");
}

/// Whoever has stopped listening (`2>&1 | head -1`) misses what is said, and nothing else changes.
#[cfg(unix)]
#[test]
fn with_nobody_listening_the_work_is_done_and_the_code_is_the_same() {
    let (dir, session) = folder();
    let out = dir.path().join("out").to_str().unwrap().to_owned();
    let cases: [(&[&str], i32); 4] = [
        (&["run", &session, "--out", &out], 0),
        (&["events", &session], 0),
        (&["run", "missing.ron", "--out", &out], 3),
        (&["run", &session, "--out", &out, "--set", "LoLA.cache=99999"], 2),
    ];
    for (args, expected) in cases {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope"));
        command.args(args).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{args:?}");
    }
    assert!(Path::new(&out).join("trace.npz").exists());
}

/// The subcommands, as the program lists them.
fn subcommands() -> Vec<String> {
    let (code, stdout, _) = mnemoscope(&["--help"]);
    assert_eq!(code, 0);
    let listed = stdout.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let names: Vec<String> = listed
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .map(str::to_owned)
        .filter(|n| n != "help")
        .collect();
    for known in ["run", "compare", "sweep", "verify", "inspect", "events", "devices", "bench", "completions", "man"] {
        assert!(names.iter().any(|n| n == known), "{known} is not among {names:?}");
    }
    names
}

#[test]
fn every_help_has_examples_and_exit_codes() {
    let codes = "Exit codes: 0 done; 1 a check failed; 2 wrong use; 3 a session or capture cannot be read; 4 no such device; 5 the run failed; 6 a file cannot be written; 7 no window; 130 interrupted.";
    for subcommand in subcommands() {
        let (code, stdout, stderr) = mnemoscope(&[&subcommand, "--help"]);
        assert_eq!((code, stderr.as_str()), (0, ""));
        let example = format!("  mnemoscope {subcommand}");
        let one_line = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stdout.contains("Examples:") && stdout.contains(&example) && one_line.contains(codes), "{stdout}");
    }
}

/// The rows of a CSV with names, each as its cells by name.
fn table(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).into_deserialize().map(Result::unwrap).collect()
}

#[test]
fn events_are_listed_in_their_order_and_counted() {
    let (dir, session) = folder();
    let (code, stdout, stderr) = mnemoscope(&["events", &session, "--kind", "founder,admission,eviction"]);
    assert_eq!(code, 0, "{stderr}");
    let rows = table(&stdout);
    // N(t) = floor(32 t / (t + 32)): 21 centroids after 64 writes, 25 after 128, 26 after all 160.
    let founders: Vec<usize> = rows.iter().filter(|r| r["kind"] == "founder").map(|r| r["writes_seen"].parse().unwrap()).collect();
    let at = |writes: usize| founders.iter().filter(|w| **w == writes).count();
    assert_eq!((at(64), at(128), at(160), founders.len()), (21, 4, 1, 26));
    // Whoever leaves the cache was in it, and at the end it is full: 16 pairs more came in than went.
    let mut held = std::collections::BTreeSet::new();
    for row in rows.iter().filter(|r| r["kind"] != "founder") {
        assert_eq!(row["lane"], "LoLA");
        let write: usize = row["write"].parse().unwrap();
        assert!(if row["kind"] == "admission" { held.insert(write) } else { held.remove(&write) }, "{row:?}");
    }
    assert_eq!(held.len(), 16);
    let seen: Vec<usize> = rows.iter().map(|r| r["writes_seen"].parse().unwrap()).collect();
    assert!(seen.is_sorted(), "{seen:?}");
    let first = rows.iter().find(|r| r["kind"] == "founder").unwrap();
    assert!(first["sentence"].starts_with(&format!("write {} founded row ", first["write"])), "{first:?}");
    assert!(!first["text"].is_empty() && first["place"] == "write" && first["index"] == first["write"], "{first:?}");
    // What it says of them is talk.
    assert!(stderr.contains(&format!("{} events of query head 0 and key/value head 0.", rows.len())), "{stderr}");
    assert!(stderr.contains("founders") && stderr.contains("26") && !stderr.contains("wrong answers"), "{stderr}");
    // One lane, another head, in a file.
    let file = dir.path().join("new/founders.csv");
    let args = ["events", &session, "--lane", "OVQ", "--head", "2", "--kind", "founder", "--out", file.to_str().unwrap()];
    let (code, stdout, stderr) = mnemoscope(&args);
    assert_eq!((code, stdout.trim_end()), (0, file.to_str().unwrap()), "{stderr}");
    let rows = table(&std::fs::read_to_string(&file).unwrap());
    // Three query heads read the one key/value head, which is what founds.
    assert_eq!((rows.len(), rows[0]["head"].as_str(), rows[0]["lane"].as_str()), (26, "0", "OVQ"));
    assert!(stderr.contains("26 events of query head 2 and key/value head 0."), "{stderr}");
    // Numbers of a query head are that head's: no output lies above what is beyond all, and each lies below it.
    let args = ["events", &session, "--lane", "full", "--head", "2", "--kind", "threshold", "--threshold", "outputs[3]<1e30"];
    let (_, stdout, _) = mnemoscope(&args);
    let rows = table(&stdout);
    assert_eq!(rows.len(), 160, "a read a token");
    assert!(rows.iter().all(|r| r["head"] == "2" && r["component"] == "3" && r["place"] == "read"));
}

#[test]
fn what_is_an_event_can_be_said_and_json_says_what_was_looked_for() {
    let (_dir, session) = folder();
    // Every margin that is finite is below this; a row's margin is its value.
    let (code, stdout, stderr) = mnemoscope(&["events", &session, "--kind", "tie", "--under", "1e30", "--json", "--lane", "LoLA"]);
    assert_eq!(code, 0, "{stderr}");
    let all: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let events = all["events"].as_array().unwrap();
    assert_eq!((all["tie_below"].as_f64(), all["counts"]["LoLA"]["tie"].as_u64()), (Some(1e30), Some(events.len() as u64)));
    let margins: Vec<f64> = events.iter().map(|e| e["value"].as_f64().unwrap()).collect();
    assert!(events.iter().all(|e| e["channel"] == "select_margin" && e["place"] == "chunk"), "{events:?}");
    // The same with a bound between them finds exactly those below it.
    let bound = margins.iter().sum::<f64>() / margins.len() as f64;
    let (_, stdout, _) = mnemoscope(&["events", &session, "--kind", "tie", "--under", &bound.to_string(), "--lane", "LoLA"]);
    let below = margins.iter().filter(|m| **m < bound).count();
    assert!(below > 0 && below < margins.len(), "{margins:?}");
    assert_eq!(table(&stdout).len(), below);
    // A threshold on any channel.
    let (_, stdout, _) = mnemoscope(&["events", &session, "--threshold", "cached_count>15", "--kind", "threshold"]);
    // 32 writes have left the window after two of the five chunks: 16 of them are cached from then on.
    let counts: Vec<(String, String)> = table(&stdout).iter().map(|r| (r["index"].clone(), r["value"].clone())).collect();
    assert_eq!(counts, ["1", "2", "3", "4"].map(|i| (i.to_owned(), "16".to_owned())), "{stdout}");
}

/// The words of a command line, as a shell splits them: what stands in quotes is one.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in command.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// Every example of a help is a command line that the program understands, up to a file that is not there.
#[test]
fn every_example_is_understood() {
    for subcommand in subcommands() {
        let (_, stdout, _) = mnemoscope(&[&subcommand, "--help"]);
        let examples = stdout.lines().filter_map(|l| l.strip_prefix("  mnemoscope ")).collect::<Vec<_>>();
        assert!(!examples.is_empty(), "{subcommand}");
        for example in examples {
            // What stands behind the command: a pipe, a file, or what it does.
            let command = example.split(" | ").next().unwrap().split(" > ").next().unwrap().split(" >> ").next().unwrap();
            let command = command.split("   ").next().unwrap();
            let words = words(command);
            let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
            // Help comes before anything is done, but after what does not exist has been refused.
            args.push("--help");
            let (code, stdout, stderr) = mnemoscope(&args);
            assert_eq!((code, stderr.as_str()), (0, ""), "{example}");
            assert!(stdout.contains("Usage: mnemoscope"), "{example}");
        }
    }
}

/// Data for programs: JSON and nothing else on standard output, whatever is said beside it.
#[test]
fn standard_output_is_data_alone() {
    let (dir, session) = folder();
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (run, sweep) = (out("run"), out("s.parquet"));
    let cases: &[&[&str]] = &[
        &["run", &session, "--out", &run, "--json", "--arrays", "none", "--tables", "none"],
        &["compare", &session, "--json"],
        &["sweep", &session, "--vary", "OVQ.n_max=8,16", "--out", &sweep, "--json"],
        &["inspect", &session, "--json"],
        &["devices", "--json"],
        &["bench", "full", "--tokens", "64", "--repeat", "1", "--json"],
    ];
    let mut read = Vec::new();
    for args in cases {
        let (code, stdout, stderr) = mnemoscope(args);
        assert_eq!(code, 0, "{args:?}: {stderr}");
        let value: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {stdout}"));
        assert!(value.is_object(), "{args:?}");
        read.push(value);
    }
    let files: Vec<&str> = read[0]["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    assert_eq!(files, ["README.md", "columns.json"].map(|name| format!("{run}/{name}")));
    let names: Vec<&str> = read[0]["lanes"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["OVQ", "LoLA", "full"]);
    assert_eq!(read[0]["lanes"][2]["score"]["relative_error"].as_f64(), Some(0.0), "full attention against itself");
    assert_eq!((read[2]["pieces"].as_u64(), read[2]["scored"].as_u64()), (Some(4), Some(4)), "{}", read[2]);
    // Every subcommand that computes or lists something has it.
    for subcommand in ["run", "compare", "sweep", "verify", "inspect", "events", "devices", "bench"] {
        assert!(mnemoscope(&[subcommand, "--help"]).1.contains("--json"), "{subcommand}");
    }
}

#[test]
fn a_part_of_a_run_is_written_in_the_formats_asked_for() {
    let (dir, session) = folder();
    let out = dir.path().join("part");
    let args = ["run", &session, "--out", out.to_str().unwrap(), "--from", "40", "--to", "100", "--lane", "LoLA", "--lane", "OVQ"];
    let formats = ["--arrays", "safetensors", "--tables", "jsonl,parquet"];
    let (code, stdout, stderr) = mnemoscope(&[&args[..], &formats[..]].concat());
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout.lines().count(), 1 + 2 * 6 + 2);
    let file = std::fs::read(out.join("trace.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&file).unwrap();
    assert_eq!(tensors.tensor("writes").unwrap().shape(), [60]);
    // Chunks of 64 and of 32: 0 and 1; 1 to 3.
    assert_eq!(tensors.tensor("OVQ.steps").unwrap().shape(), [2]);
    assert_eq!(tensors.tensor("LoLA.steps").unwrap().shape(), [3]);
    assert!(tensors.names().iter().all(|n| !n.starts_with("full.")));
    let lines = std::fs::read_to_string(out.join("tokens.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((first["index"].as_u64(), lines.lines().count()), (Some(40), 60));
    let readme = std::fs::read_to_string(out.join("README.md")).unwrap();
    assert!(readme.contains("the writes 40 to 100 of 160"), "{readme}");
}

/// Each script is one that its shell reads, where the shell is here, and knows every subcommand.
#[test]
fn completions_are_scripts_of_their_shells() {
    for (shell, check) in [("bash", Some("bash")), ("zsh", Some("zsh")), ("fish", Some("fish")), ("powershell", None)] {
        let (code, stdout, stderr) = mnemoscope(&["completions", shell]);
        assert_eq!((code, stderr.as_str()), (0, ""));
        for subcommand in subcommands() {
            assert!(stdout.contains(&subcommand), "{shell} does not know {subcommand}");
        }
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, &stdout).unwrap();
        if let Some(program) = check
            && let Ok(read) = std::process::Command::new(program).arg("-n").arg(&script).output()
        {
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
}

#[test]
fn the_manual_has_a_page_for_every_subcommand() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("man1");
    let (code, stdout, _) = mnemoscope(&["man", "--out", out.to_str().unwrap()]);
    assert_eq!(code, 0);
    let mut expected: Vec<String> = subcommands().iter().map(|s| format!("mnemoscope-{s}.1")).collect();
    expected.push("mnemoscope.1".to_owned());
    expected.sort();
    let mut names: Vec<String> = std::fs::read_dir(&out).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!((names, stdout.lines().count()), (expected.clone(), expected.len()));
    let page = std::fs::read_to_string(out.join("mnemoscope-run.1")).unwrap();
    assert_eq!(mnemoscope(&["man", "run"]).1, page);
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"] {
        assert!(page.lines().any(|l| l == format!(".SH {section}") || l == format!(".SH \"{section}\"")), "{section}: {page}");
    }
    assert!(page.contains("\\-\\-arrays") && page.contains("  mnemoscope run \\-\\-out out"), "{page}");
    let (code, stdout, stderr) = mnemoscope(&["man"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.contains(".TH MNEMOSCOPE") && stdout.contains("mnemoscope\\-run"), "{stdout}");
}

#[test]
fn devices_says_what_each_choice_takes() {
    let (code, stdout, stderr) = mnemoscope(&["devices", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let all: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let choices = all["choices"].as_array().unwrap();
    assert_eq!(choices.iter().map(|c| c["backend"].as_str().unwrap()).collect::<Vec<_>>(), ["auto", "gpu", "cpu"]);
    assert_eq!((choices[2]["gpu"].as_bool(), choices[2]["reason"].as_str()), (Some(false), Some("asked for")));
    // The CPU is taken by itself exactly where no adapter is real and usable.
    let real = |a: &serde_json::Value| a["real"] == true && a["unusable"].is_null();
    assert_eq!(choices[0]["gpu"].as_bool().unwrap(), all["adapters"].as_array().unwrap().iter().any(real));
    let (code, stdout, _) = mnemoscope(&["devices"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("--backend auto") && stdout.contains("because"), "{stdout}");
}

#[test]
fn verify_compares_every_channel_and_fails_with_a_code() {
    let (_dir, session) = folder();
    if gpu_or_skip().is_none() {
        let (code, _, stderr) = mnemoscope(&["verify", &session]);
        assert_eq!(code, 4, "{stderr}");
        return;
    }
    let (code, stdout, stderr) = mnemoscope(&["verify", &session, "--json"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let lanes = report["lanes"].as_array().unwrap();
    assert_eq!(lanes.iter().map(|l| l["lane"].as_str().unwrap()).collect::<Vec<_>>(), ["OVQ", "LoLA", "full"]);
    for channel in lanes.iter().flat_map(|l| l["channels"].as_array().unwrap()) {
        assert_eq!(channel["failures"], 0, "{channel}");
    }
}

#[cfg(unix)]
#[test]
fn a_terminated_run_leaves_no_half_file() {
    let (dir, _) = folder();
    let out = dir.path().join("out");
    // Long enough to be caught at work.
    let long = dir.path().join("long.ron");
    std::fs::write(&long, "(lanes: [(name: \"a\", layer: \"ovq\", params: {\"chunk\": 1, \"n_max\": 16384})], backend: cpu)").unwrap();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope"))
        .args(["run", long.to_str().unwrap(), "--out", out.to_str().unwrap()])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The folder is made when all checks are over.
    let start = std::time::Instant::now();
    while !out.exists() && start.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let code = child.wait().unwrap().code();
    // Caught before the handler was set, at work, or at the end: in no case is there half a file.
    let files: Vec<_> = std::fs::read_dir(&out).into_iter().flatten().map(|f| f.unwrap().file_name()).collect();
    match code {
        Some(0) => assert_eq!(files.len(), 9, "{files:?}"),
        // No file of the trace; the folder, or a folder of unfinished files, only where the handler was not set yet.
        _ => assert!(files.iter().all(|f| f.to_string_lossy().ends_with(".part")), "{code:?}: {files:?}"),
    }
}
