//! Sweeps: what is varied, which pieces there are, and a file that survives being stopped, shared and run again.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use assert_cmd::Command;
use mnemoscope::engine::sweep::file::{Shard, Store, read, shard_files, shard_path, write};
use mnemoscope::engine::sweep::{Axis, Points, Row, Scorer, Spec, SpecError, Sweep, SweepError, Tally, Witness, pieces};
use mnemoscope::engine::{BackendInfo, Devices, LayerFactory, RunError};
use mnemoscope::export::WriteError;
use mnemoscope::layer::{Layer, LayerError, LayerKind, Setup};
use mnemoscope::param::ParamValue;
use mnemoscope::session::{BackendChoice, Session};
use proptest::prelude::*;

const NEEDLES: &str = r#"(
    source: Task(name: "needles", params: {"T": 256, "needles": 4, "dk": 16, "dv": 16}),
    seed: 7,
    lanes: [
        (name: "full", layer: "full"),
        (name: "OVQ", layer: "ovq", params: {"chunk": 32}),
        (name: "LoLA", layer: "lola", params: {"chunk": 32, "window": 32}),
        (name: "off", layer: "window", enabled: false),
    ],
    backend: cpu,
)"#;

fn session() -> Session {
    Session::from_ron(NEEDLES, "test").unwrap()
}

fn spec(vary: &[&str], seeds: u64) -> Spec {
    Spec::new(vary.iter().map(|v| Axis::parse(&session(), v).unwrap()).collect(), seeds).unwrap()
}

fn ints(values: &[i64]) -> Vec<ParamValue> {
    values.iter().map(|&v| ParamValue::Int(v)).collect()
}

fn whole(text: &str) -> Vec<ParamValue> {
    Points::parse(text).unwrap().values(true)
}

#[test]
fn values_are_lists_and_ranges() {
    assert_eq!(whole("64..4096:log2"), ints(&[64, 128, 256, 512, 1024, 2048, 4096]));
    assert_eq!(whole("3..20:log2"), ints(&[3, 6, 12]));
    assert_eq!(whole("1..1000:log4"), ints(&[1, 10, 100, 1000]));
    // Rounded, and what comes out twice is there once.
    assert_eq!(whole("0..2:9"), ints(&[0, 1, 2]));
    assert_eq!(whole("64, 128,64"), ints(&[64, 128]));
    let reals = Points::parse("0..1:5").unwrap().values(false);
    assert_eq!(reals, [0.0, 0.25, 0.5, 0.75, 1.0].map(ParamValue::Float));
    assert_eq!(whole("plateau,linear"), [ParamValue::from("plateau"), ParamValue::from("linear")]);
    assert!(Points::parse("1..9:log3").unwrap().is_log() && Points::parse("64,128,256").unwrap().is_log());
    assert!(!Points::parse("0..1:5").unwrap().is_log() && !Points::parse("1,2,3,4").unwrap().is_log());
}

#[test]
fn what_cannot_be_varied_is_said_with_what_would_be_right() {
    let message = |text: &str| Axis::parse(&session(), text).unwrap_err().to_string();
    for (text, part) in [
        ("OVQ.n_max", "must be LANE.PARAMETER=VALUES"),
        ("ovq.n_max=1,2", "there is no lane `ovq`; the session has `full`, `OVQ`, `LoLA`, `off` (did you mean `OVQ`?)"),
        ("OVQ+LoLa.chunk=1,2", "did you mean `LoLA`?"),
        ("OVQ.nmax=1,2", "OVQ has no parameter `nmax`"),
        ("OVQ.n_max=0,64", "OVQ.n_max is 0, but must be from 1 to 16384"),
        ("OVQ.n_max=64..65536:log2", "OVQ.n_max is 32768, but must be from 1 to 16384"),
        ("OVQ.growth=plato", "must be one of plateau"),
        ("OVQ.n_max=64..128", "a range needs a rule after a colon"),
        ("OVQ.n_max=128..64:5", "from the smaller number to the larger"),
        ("OVQ.n_max=0..64:log2", "begins above 0"),
        ("OVQ.n_max=1..64:1", "at least 2 points"),
        ("OVQ.n_max=1..64:log", "`log` is no rule"),
        ("OVQ.n_max=1..64:5000", "5000 points are more than 1000"),
        ("OVQ.n_max=64,,128", "a value is missing"),
        ("OVQ.n_max=x..128:3", "`x` is no number"),
        ("task.needls=1,2", "task needles has no parameter `needls`"),
    ] {
        assert!(message(text).contains(part), "{text}: {}", message(text));
    }
    assert_eq!(Axis::parse(&Session::default(), "task.T=1,2"), Err(SpecError::NoTask));
    let axis = |text: &str| Axis::parse(&session(), text).unwrap();
    assert!(matches!(Spec::new(vec![], 1), Err(SpecError::Axes(0))));
    let twice = Spec::new(vec![axis("OVQ.n_max=1,2"), axis("OVQ.n_max=3,4")], 1).unwrap_err();
    assert_eq!(twice.to_string(), "OVQ.n_max is varied twice");
}

proptest! {
    /// A range's points begin and end where it says, grow, lie evenly by its rule, and its text is read back.
    #[test]
    fn ranges_are_even(from in 0.001_f64..1e3, factor in 1.01_f64..1e3, count in 2usize..50) {
        let to = from * factor;
        for text in [format!("{from}..{to}:{count}"), format!("{from}..{to}:log{}", count.max(3))] {
            let points = Points::parse(&text).unwrap();
            prop_assert_eq!(Points::parse(&points.to_string()).unwrap(), points.clone());
            let v: Vec<f64> = points.values(false).iter().map(|v| if let ParamValue::Float(x) = v { *x } else { f64::NAN }).collect();
            let count = if points.is_log() { count.max(3) } else { count };
            prop_assert_eq!((v.len(), v[0], v[count - 1]), (count, from, to));
            let gap = |w: &[f64]| if points.is_log() { (w[1] / w[0]).ln() } else { w[1] - w[0] };
            let first = gap(&v[..2]);
            prop_assert!(first > 0.0 && v.windows(2).all(|w| (gap(w) / first - 1.0).abs() < 1e-6), "{:?}", v);
        }
        // Doubling: every point but the last can be doubled within the range, the last cannot.
        let v = Points::parse(&format!("{from}..{to}:log2")).unwrap().values(false);
        let last = if let Some(ParamValue::Float(x)) = v.last() { *x } else { f64::NAN };
        prop_assert!(last <= to && 2.0 * last > to && (last / from).log2().fract() == 0.0);
    }

    /// Whatever is typed, it is read or refused, and never more points than are allowed.
    #[test]
    fn no_text_breaks_it(text in "[0-9a-z.,:+-]{0,16}") {
        if let Ok(points) = Points::parse(&text) {
            prop_assert!(points.values(true).len() <= 1000 && points.values(false).len() <= 1000);
        }
    }
}

/// The pieces as `lane parameter value ..`, of the first seed.
fn listed(vary: &[&str]) -> Vec<String> {
    let text = |(name, value): &(String, ParamValue)| format!(" {name} {value}");
    pieces(&session(), &spec(vary, 1)).iter().map(|p| p.lane.name.clone() + &p.varied.iter().map(text).collect::<String>()).collect()
}

#[test]
fn lanes_that_no_axis_touches_run_once_a_stream() {
    assert_eq!(listed(&["OVQ.n_max=8,16"]), ["full", "OVQ n_max 8", "OVQ n_max 16", "LoLA"]);
    // Two axes: a grid only for what both touch.
    assert_eq!(listed(&["OVQ.n_max=8,16", "LoLA.cache=0,4"]), ["full", "OVQ n_max 8", "OVQ n_max 16", "LoLA cache 0", "LoLA cache 4"]);
    let grid = ["OVQ n_max 8 chunk 16", "OVQ n_max 8 chunk 32", "OVQ n_max 16 chunk 16", "OVQ n_max 16 chunk 32"];
    assert_eq!(listed(&["OVQ.n_max=8,16", "OVQ.chunk=16,32"])[1..5], grid);
    // Several lanes on one axis; a lane that is switched off takes part where it is varied.
    assert_eq!(listed(&["OVQ+LoLA.chunk=16,32"]), ["full", "OVQ chunk 16", "OVQ chunk 32", "LoLA chunk 16", "LoLA chunk 32"]);
    assert_eq!(listed(&["off.window=8,16"])[3..], ["off window 8", "off window 16"]);
    let of_task =
        ["full task.T 64", "OVQ n_max 8 task.T 64", "LoLA task.T 64", "full task.T 128", "OVQ n_max 8 task.T 128", "LoLA task.T 128"];
    assert_eq!(listed(&["OVQ.n_max=8", "task.T=64,128"]), of_task);
    let all = pieces(&session(), &spec(&["OVQ.n_max=8,16"], 3));
    assert_eq!(all.iter().map(|p| p.seed).collect::<Vec<_>>(), [7, 7, 7, 7, 8, 8, 8, 8, 9, 9, 9, 9]);
}

/// Counts the layers that are built.
#[derive(Default)]
struct Counting {
    devices: Devices,
    built: Vec<String>,
}

impl LayerFactory for Counting {
    fn open(&mut self, choice: BackendChoice) -> Result<BackendInfo, LayerError> {
        self.devices.open(choice)
    }
    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        self.built.push(kind.name().to_owned());
        self.devices.build(kind, setup)
    }
    fn fall_back(&mut self, reason: &str) -> BackendInfo {
        self.devices.fall_back(reason)
    }
}

/// Puts rows into a store, saves it each time, and raises a flag after so many.
struct Saving<'a> {
    store: Store,
    stop_after: usize,
    cancel: &'a AtomicBool,
}

impl Witness for Saving<'_> {
    fn rows(&mut self, rows: Vec<Row>) -> Result<(), WriteError> {
        self.stop_after = self.stop_after.saturating_sub(rows.len());
        for row in rows {
            self.store.put(row);
        }
        if self.stop_after == 0 {
            self.cancel.store(true, Ordering::Relaxed);
        }
        self.store.save()
    }
    fn progress(&mut self, done: f64, total: usize) {
        assert!(done <= total as f64 + 1e-9);
    }
}

/// Runs what is missing of a sweep, and stops after so many rows; the layers that were built.
fn run(path: &Path, vary: &[&str], seeds: u64, shard: Option<Shard>, stop_after: usize) -> Vec<String> {
    let session = session();
    let sweep = Sweep::new(&session, None, "test.ron", &spec(vary, seeds)).unwrap();
    let mut factory = Counting::default();
    let cancel = AtomicBool::new(false);
    let store = Store::open(path, shard, &sweep, false).unwrap();
    let missing = store.missing(&sweep, shard);
    let mut saving = Saving { store, stop_after, cancel: &cancel };
    let mut scorer = Scorer::open(&mut factory, BackendChoice::Cpu).unwrap();
    let end = sweep.run(&mut scorer, &missing, &mut saving, &cancel);
    assert!(matches!(end, Ok(()) | Err(SweepError::Run(RunError::Cancelled))), "{end:?}");
    saving.store.save().unwrap();
    factory.built
}

/// Rows without what is measured.
fn timeless(mut rows: Vec<Row>) -> Vec<Row> {
    rows.iter_mut().filter_map(|r| r.score.as_mut().ok()).for_each(|s| s.seconds = 0.0);
    rows
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    (dir, path)
}

const VARY: [&str; 1] = ["OVQ.n_max=8,16,32"];

#[test]
fn a_stopped_sweep_goes_on_where_it_was() {
    let (dir, path) = file();
    assert_eq!(run(&path, &VARY, 2, None, 4).len(), 4);
    // What is there is a valid file, and nothing else is left in the folder.
    assert_eq!((read(&path).unwrap().len(), std::fs::read_dir(dir.path()).unwrap().count()), (4, 1));
    assert_eq!(run(&path, &VARY, 2, None, usize::MAX).len(), 6);
    assert_eq!(run(&path, &VARY, 2, None, usize::MAX), [] as [&str; 0]);
    let rows = read(&path).unwrap();
    assert_eq!(rows.len(), 10);
    // One more value and one more seed: only those are run, and the file keeps the order of the pieces.
    let more = ["OVQ.n_max=8,16,32,64"];
    assert_eq!(run(&path, &more, 3, None, usize::MAX).len(), 2 + 6);
    let all = read(&path).unwrap();
    let sweep = pieces(&session(), &spec(&more, 3));
    assert_eq!(all.len(), sweep.len());
    assert!(all.iter().zip(&sweep).all(|(row, piece)| row.is_of(piece)));
    assert!(timeless(rows).iter().all(|row| timeless(all.clone()).contains(row)));
}

#[test]
fn scores_are_those_of_compare_and_the_rows_say_what_they_are() {
    let (_dir, path) = file();
    run(&path, &VARY, 1, None, usize::MAX);
    let rows = read(&path).unwrap();
    let full = &rows[0];
    assert_eq!((full.lane.as_str(), full.varied.len(), full.tally()), ("full", 0, Some(&Tally::Recall { correct: 4, reads: 4 })));
    assert_eq!((full.seed, full.writes, full.source.as_str(), full.step), (7, Some(256), "needles", 32));
    assert_eq!(full.source_params.get("T"), Some(&ParamValue::Int(256)));
    let ovq = &rows[2];
    assert_eq!(ovq.varied, [("n_max".to_owned(), ParamValue::Int(16))]);
    assert_eq!((ovq.params.get("n_max"), ovq.params.get("growth")), (Some(&ParamValue::Int(16)), Some(&ParamValue::from("plateau"))));
    // N (dk + dv + 1) + C (dk + dv), LAYERS.md.
    assert_eq!(ovq.score.as_ref().unwrap().cost.state_numbers, 16 * 33 + 32 * 32);
}

#[test]
fn shards_together_are_the_whole() {
    let (_dir, path) = file();
    run(&path, &VARY, 2, None, usize::MAX);
    let whole = timeless(read(&path).unwrap());
    let (_other, path) = file();
    let shards = [1, 2, 3].map(|index| Shard { index, count: 3 });
    let built: usize = shards[..2].iter().map(|s| run(&path, &VARY, 2, Some(*s), usize::MAX).len()).sum();
    assert!(!path.exists(), "a shard writes its own file alone");
    assert_eq!(shard_files(&path).unwrap(), [shard_path(&path, shards[0]), shard_path(&path, shards[1])]);
    // No two shards did the same, and the third is missing; without a shard, that is what is done.
    let third = whole.len() / 3;
    assert_eq!(built, whole.len() - third);
    assert_eq!(run(&path, &VARY, 2, None, usize::MAX).len(), third);
    assert_eq!(timeless(read(&path).unwrap()), whole);
    // A shard that comes too late finds everything done in the others' files.
    assert_eq!(run(&path, &VARY, 2, Some(shards[2]), usize::MAX), [] as [&str; 0]);
}

#[test]
fn rows_of_other_sweeps_stay() {
    let (_dir, path) = file();
    run(&path, &["LoLA.cache=0,8"], 1, None, usize::MAX);
    let before = read(&path).unwrap();
    run(&path, &VARY, 1, None, usize::MAX);
    let after = read(&path).unwrap();
    // `full` is the same work in both, and there once; LoLA with its own cache is other work than with 0 or 8.
    assert_eq!(after.len(), before.len() + 4);
    assert!(before.iter().all(|row| after.contains(row)));
}

#[test]
fn a_point_that_cannot_run_is_a_row_with_its_reason() {
    let (_dir, path) = file();
    // 256 tokens have no room for 4096 needles.
    let vary = ["task.needles=4,4096"];
    run(&path, &vary, 1, None, usize::MAX);
    let rows = read(&path).unwrap();
    assert_eq!(rows.len(), 6);
    assert!(rows[..3].iter().all(|r| r.score.is_ok()), "{rows:?}");
    for row in &rows[3..] {
        assert!(row.score.as_ref().unwrap_err().contains("needles"), "{:?}", row.score);
        assert_eq!((row.tally(), row.writes), (None, None));
    }
    // It is tried again, and again it cannot.
    assert_eq!(run(&path, &vary, 1, None, usize::MAX), [] as [&str; 0]);
    assert_eq!(read(&path).unwrap(), rows);
}

#[test]
fn a_capture_has_errors_to_add_up_and_shares_full_attention() {
    let (_dir, path) = file();
    let text = r#"(source: Capture(path: "bundled", tokens: 130), lanes: [(name: "w", layer: "window"), (name: "l", layer: "linear")], backend: cpu)"#;
    let session = Session::from_ron(text, "test").unwrap();
    let axis = Axis::parse(&session, "w.window=8..512:log2").unwrap();
    let sweep = Sweep::new(&session, None, "c.ron", &Spec::new(vec![axis], 1).unwrap()).unwrap();
    let mut factory = Counting::default();
    let cancel = AtomicBool::new(false);
    let mut saving = Saving { store: Store::open(&path, None, &sweep, false).unwrap(), stop_after: usize::MAX, cancel: &cancel };
    let mut scorer = Scorer::open(&mut factory, BackendChoice::Cpu).unwrap();
    sweep.run(&mut scorer, &sweep.pieces().iter().collect::<Vec<_>>(), &mut saving, &cancel).unwrap();
    // Seven windows and one linear lane are one group, with one hidden full attention.
    assert_eq!(factory.built.iter().filter(|name| *name == "full").count(), 1);
    let rows = read(&path).unwrap();
    let error = |row: &Row| row.tally().unwrap().summary().headline().unwrap();
    let errors: Vec<f64> = rows[..7].iter().map(error).collect();
    // The longer the window, the nearer to full attention; one that holds all is full attention.
    assert!(errors.windows(2).all(|w| w[1] <= w[0]), "{errors:?}");
    assert!(errors[6] < 1e-6 && errors[0] > 0.1, "{errors:?}");
    assert!(matches!(rows[0].tally(), Some(Tally::Error { root: true, .. })));
}

#[test]
fn a_file_that_is_no_sweep_is_left_alone() {
    let (_dir, path) = file();
    let sweep = Sweep::new(&session(), None, "test.ron", &spec(&VARY, 1)).unwrap();
    std::fs::write(&path, "not a table").unwrap();
    let error = Store::open(&path, None, &sweep, false).unwrap_err().to_string();
    assert!(error.starts_with(path.to_str().unwrap()) && error.ends_with("nothing was overwritten"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"not a table");
    // Parquet, but another table.
    let table = mnemoscope::export::parquet::Table::default();
    let other = mnemoscope::export::parquet::Table {
        columns: vec![("a".to_owned(), mnemoscope::export::parquet::Column::Real(vec![Some(1.0)]))],
        ..table
    };
    let mut bytes = Vec::new();
    other.write(&mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let error = Store::open(&path, None, &sweep, false).unwrap_err().to_string();
    assert!(error.contains("it is no sweep of this program"), "{error}");
    write(&path, &[]).unwrap();
    assert_eq!(Store::open(&path, None, &sweep, false).unwrap().rows(), []);
}

#[test]
fn shards_are_counted_from_one() {
    assert_eq!(Shard::parse("2/8"), Ok(Shard { index: 2, count: 8 }));
    for wrong in ["", "2", "0/8", "9/8", "a/b", "1/0", "-1/3"] {
        assert!(Shard::parse(wrong).is_err(), "{wrong}");
    }
    let path = Path::new("out/a.b.parquet");
    assert_eq!(shard_path(path, Shard { index: 2, count: 8 }), Path::new("out/a.b.shard-2-of-8.parquet"));
}

fn mnemoscope(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope")).args(args).env_remove("RUST_LOG").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_line_writes_the_file_and_names_it() {
    let (dir, path) = file();
    let session = dir.path().join("s.ron");
    std::fs::write(&session, NEEDLES).unwrap();
    let (session, out) = (session.to_str().unwrap(), path.to_str().unwrap());
    let sweep = |rest: &[&str]| mnemoscope(&[&["sweep", session, "--vary", "OVQ.n_max=8..32:log2", "--out", out], rest].concat());
    let (code, stdout, stderr) = sweep(&["--shard", "1/2"]);
    assert_eq!((code, stdout.trim()), (0, out.replace(".parquet", ".shard-1-of-2.parquet").as_str()), "{stderr}");
    let (code, stdout, stderr) = sweep(&[]);
    assert_eq!((code, stdout.trim()), (0, out), "{stderr}");
    assert!(stderr.contains("5 pieces of work, 3 done before, 2 to do here."), "{stderr}");
    assert_eq!(read(&path).unwrap().len(), 5);
    let (code, _, stderr) = mnemoscope(&["sweep", session, "--vary", "OVQ.n_mx=8", "--out", out]);
    assert!(code == 2 && stderr.contains("--vary: OVQ has no parameter `n_mx`"), "{stderr}");
    let (code, _, stderr) = mnemoscope(&["sweep", session, "--vary", "OVQ.n_max=8", "--shard", "3/2", "--out", out]);
    assert!(code == 2 && stderr.contains("from 1 to 2"), "{stderr}");
    let text = dir.path().join("text.parquet");
    std::fs::write(&text, NEEDLES).unwrap();
    let (code, _, stderr) = mnemoscope(&["sweep", session, "--vary", "OVQ.n_max=8", "--out", text.to_str().unwrap()]);
    assert!(code == 3 && stderr.contains("nothing was overwritten"), "{stderr}");
    let (code, _, stderr) = mnemoscope(&["sweep", session, "--vary", "OVQ.n_max=8", "--out", session]);
    assert!(code == 2 && stderr.contains("the name of a sweep's table ends in .parquet"), "{stderr}");
    assert_eq!(std::fs::read_to_string(session).unwrap(), NEEDLES);
}
