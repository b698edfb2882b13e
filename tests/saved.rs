//! Sessions saved with their trace: what comes back is what was, bit for bit, and what is damaged is refused.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use mnemoscope::engine::headless::{self, RunResult};
use mnemoscope::export::ExportError;
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::param::Params;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::saved::{self, Saving, trace_hash};
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use mnemoscope::trace::LaneTrace;
use proptest::prelude::*;

fn lane(name: &str, layer: &str, params: Params) -> LaneSpec {
    LaneSpec::new(name, layer, params)
}

fn task(name: &str, params: Params, lanes: Vec<LaneSpec>) -> Session {
    let source = Source::Task(TaskSource { name: name.to_owned(), params });
    Session { source, lanes, backend: BackendChoice::Cpu, title: "mine".to_owned(), ..Session::default() }
}

/// A few tokens of the bundled capture by layers that take it in every way there is.
fn capture() -> Session {
    let source = Source::Capture(CaptureSource { tokens: Some(160), ..CaptureSource::bundled() });
    let lola = Params::default().with("window", 32).with("cache", 16).with("chunk", 32).with("fmap", "hedgehog");
    let lanes = vec![
        lane("OVQ", "ovq", Params::default().with("n_max", 24).with("chunk", 32)),
        LaneSpec { weights: Some("bundled".into()), ..lane("LoLA", "lola", lola) },
        LaneSpec { enabled: false, ..lane("off", "window", Params::default()) },
        lane("VQ", "vq", Params::default().with("codes", 16)),
        lane("delta", "deltanet", Params::default()),
        lane("full", "full", Params::default()),
    ];
    Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }
}

fn sessions() -> Vec<Session> {
    let few = |lanes: &[&str]| lanes.iter().map(|l| lane(l, l, Params::default())).collect::<Vec<_>>();
    let short = Params::default().with("T", 256);
    vec![
        capture(),
        task("variable_tracking", short.clone(), few(&["full", "ovq"])),
        task("regression", Params::default(), few(&["linear", "mamba2"])),
        task("drift", short.clone().with("dk", 8), few(&["lola", "gated_deltanet"])),
    ]
}

fn run(plan: &Arc<Plan>, backend: BackendChoice) -> RunResult {
    headless::run(plan, backend, |_| {}, &AtomicBool::new(false)).unwrap()
}

fn save(path: &Path, session: &Session, plan: &Plan, result: &RunResult, cancel: bool) -> Result<Session, ExportError> {
    let chunks = plan.lanes.iter().map(|lane| lane.setup.stream.chunks(lane.setup.chunk));
    let spent: Vec<(f64, usize)> = result.seconds.iter().copied().zip(chunks).collect();
    let (traces, states, backend) = (&result.traces[..], &result.states[..], &result.backend);
    let saving = Saving { session, base: None, plan, traces, states, backend, spent: &spent };
    saved::save(path, saving, &mut |_| {}, &AtomicBool::new(cancel))
}

fn same(a: &LaneTrace, b: &LaneTrace) {
    assert_eq!(a.channels().len(), b.channels().len());
    for (a, b) in a.channels().iter().zip(b.channels()) {
        assert_eq!((a.spec(), a.len(), a.heads()), (b.spec(), b.len(), b.heads()));
        for head in 0..a.heads() {
            // By bits: a NaN is one.
            let bits = |c: &mnemoscope::trace::Channel| {
                let values = c.values(head);
                (0..values.len()).map(|i| values.get(i).unwrap().to_bits()).collect::<Vec<_>>()
            };
            assert_eq!((bits(a), a.lengths(head)), (bits(b), b.lengths(head)), "{}", a.spec().name);
        }
    }
}

#[test]
fn what_was_saved_is_there_again_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mnemo");
    for session in sessions() {
        let plan = Arc::new(Plan::new(&session, None).unwrap());
        let result = run(&plan, BackendChoice::Cpu);
        let placed = save(&path, &session, &plan, &result, false).unwrap();
        assert!(saved::is_saved(&path) && !saved::is_saved(Path::new("sessions/needles.ron")));
        let found = saved::open(&path).unwrap();
        assert_eq!((&found.session, &placed), (&session, &session));
        assert_eq!((saved::read_session(&path).unwrap(), Session::open(&path).unwrap()), (session.clone(), session.clone()));
        assert!(*found.plan.stream == *plan.stream, "{:?}", plan.stream);
        assert_eq!((found.plan.step, found.plan.lanes.len(), found.spent.len()), (plan.step, plan.lanes.len(), plan.lanes.len()));
        for (a, b) in found.plan.lanes.iter().zip(&plan.lanes) {
            assert!(*a.setup.stream == *b.setup.stream, "{}", a.name);
            assert_eq!((&a.name, a.index, a.colour, a.setup.chunk), (&b.name, b.index, b.colour, b.setup.chunk));
            assert_eq!((&a.setup.params, &a.setup.arrays, &a.notes), (&b.setup.params, &b.setup.arrays, &b.notes));
            assert_eq!((&a.channels, a.own_channels), (&b.channels, b.own_channels));
        }
        found.traces.iter().zip(&result.traces).for_each(|(a, b)| same(a, b));
        assert_eq!(found.states.len(), result.states.len());
        for (a, b) in found.states.iter().zip(&result.states) {
            assert_eq!(**a, **b);
        }
        assert_eq!(found.made.trace_sha256, trace_hash(&plan, &result.traces));
        assert!(found.made.is_of(&result.backend) && found.made.elsewhere(&result.backend).is_none());
        // The same once more, by the plan that came back: the same bits.
        let again = run(&found.plan, BackendChoice::Cpu);
        assert!(found.made.compare(&again.backend, &trace_hash(&found.plan, &again.traces)).contains("bit for bit (made on CPU"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left in the folder");
}

#[test]
fn the_same_session_gives_the_same_trace_on_software_vulkan_too() {
    if gpu_or_skip().is_none() {
        return;
    }
    let plan = Arc::new(Plan::new(&capture(), None).unwrap());
    let [one, two] = [run(&plan, BackendChoice::Gpu), run(&plan, BackendChoice::Gpu)];
    let hash = trace_hash(&plan, &one.traces);
    assert_eq!(hash, trace_hash(&plan, &two.traces));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mnemo");
    save(&path, &capture(), &plan, &one, false).unwrap();
    let found = saved::open(&path).unwrap();
    assert!(found.made.gpu && found.made.trace_sha256 == hash);
    // What was made on a GPU says so on the CPU.
    let cpu = run(&plan, BackendChoice::Cpu);
    let words = found.made.elsewhere(&cpu.backend).unwrap();
    assert!(words.starts_with(&format!("the trace in the file was made on {}, this is CPU", one.backend.adapter)), "{words}");
}

#[test]
fn one_number_more_or_less_is_another_trace() {
    let session = task("needles", Params::default().with("T", 300), vec![lane("a", "ovq", Params::default())]);
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let hash = |seed| {
        let plan = Arc::new(Plan::new(&Session { seed, ..session.clone() }, None).unwrap());
        trace_hash(&plan, &run(&plan, BackendChoice::Cpu).traces)
    };
    assert_eq!(hash(0), trace_hash(&plan, &run(&plan, BackendChoice::Cpu).traces));
    assert_ne!(hash(0), hash(1));
}

#[test]
fn a_saving_that_is_cancelled_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mnemo");
    std::fs::write(&path, "before").unwrap();
    let session = task("needles", Params::default().with("T", 300), vec![lane("a", "full", Params::default())]);
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let result = run(&plan, BackendChoice::Cpu);
    assert_eq!(save(&path, &session, &plan, &result, true), Err(ExportError::Cancelled));
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A small file, and what is in it.
static SMALL: LazyLock<(Vec<u8>, Session, String)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mnemo");
    let params = Params::default().with("T", 64).with("dk", 4).with("dv", 2).with("needles", 2);
    let lanes = vec![lane("OVQ", "ovq", Params::default().with("n_max", 4).with("chunk", 16))];
    let session = task("needles", params, lanes);
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let result = run(&plan, BackendChoice::Cpu);
    save(&path, &session, &plan, &result, false).unwrap();
    (std::fs::read(&path).unwrap(), session, trace_hash(&plan, &result.traces))
});

/// What opening a file with these bytes gives, as the sentence where it is refused.
fn opened(bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mnemo");
    std::fs::write(&path, bytes).unwrap();
    let found = saved::open(&path).map_err(|e| e.to_string())?;
    // What is not refused is what was saved.
    assert_eq!((&found.session, trace_hash(&found.plan, &found.traces)), (&SMALL.1, SMALL.2.clone()));
    Ok(())
}

/// The small file with one entry changed, and its checksums right.
fn with_entry(name: &str, change: impl Fn(String) -> String) -> Vec<u8> {
    let mut old = zip::ZipArchive::new(Cursor::new(&SMALL.0)).unwrap();
    let mut new = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for index in 0..old.len() {
        let mut entry = old.by_index(index).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if entry.name() == name {
            bytes = change(String::from_utf8(bytes).unwrap()).into_bytes();
        }
        new.start_file(entry.name(), stored).unwrap();
        new.write_all(&bytes).unwrap();
    }
    new.finish().unwrap().into_inner()
}

#[test]
fn what_does_not_belong_together_is_refused_by_a_sentence() {
    opened(&SMALL.0).unwrap();
    opened(&with_entry("session.ron", |t| t)).unwrap();
    let refused = |name: &str, from: &str, to: &str| {
        let bytes = with_entry(name, |text| {
            assert!(text.contains(from), "{from} is not in\n{text}");
            text.replacen(from, to, 1)
        });
        opened(&bytes).unwrap_err()
    };
    let other = refused("session.ron", "seed: 0", "seed: 1");
    assert!(
        other.ends_with("the trace in it is not of the session in it: `session.ron` was changed after the trace was saved with it"),
        "{other}"
    );
    let newer = refused("trace.json", "\"format\": 1", "\"format\": 2");
    assert!(newer.ends_with("a newer Mnemoscope wrote it, and this one does not know its format"), "{newer}");
    for (from, to) in [
        ("\"layer\": \"ovq\"", "\"layer\": \"vq\""),
        ("\"name\": \"assignments\"", "\"name\": \"assignment\""),
        ("\"trace_sha256\": \"", "\"trace_sha256\": \"0"),
        ("\"chunks\": 4", "\"chunks\": 99999999"),
        ("\"position\": 4", "\"position\": 5"),
        ("64,", "18446744073709551615,"),
        ("64,", "63,"),
        ("\"<f4\"", "\"<i4\""),
        ("\"targets\": \"codes\"", "\"targets\": \"none\", \"more\": 1"),
    ] {
        let words = refused("trace.json", from, to);
        assert!(words.contains("a.mnemo: is no session with its trace, or is damaged: ") && words.len() < 600, "{from} {to}: {words}");
    }
    for bytes in [&b""[..], b"PK", b"PK\x03\x04", &SMALL.0[..SMALL.0.len() / 2], &SMALL.0[10..]] {
        assert!(opened(bytes).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file with a few bits changed, or cut anywhere, is refused, or what was changed says nothing: never a crash, never other numbers.
    #[test]
    fn a_damaged_file_is_refused(flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 1..4), cut in prop::option::of(any::<prop::sample::Index>())) {
        let mut bytes = SMALL.0.clone();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = opened(&bytes);
    }

    /// The end of the archive says where everything is: it is damaged more often.
    #[test]
    fn a_damaged_directory_is_refused(flips in prop::collection::vec((0_usize..2000, any::<u8>()), 1..4)) {
        let mut bytes = SMALL.0.clone();
        let length = bytes.len();
        for (back, value) in flips {
            bytes[length - 1 - back.min(length - 1)] = value;
        }
        let _ = opened(&bytes);
    }
}

#[test]
fn a_capture_is_not_needed_to_look_at_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, path) = (folder.path().join("c.safetensors"), folder.path().join("a.mnemo"));
    std::fs::copy("assets/smollm2_needle_2k_layer12_kv0.safetensors", &capture).unwrap();
    let source = Source::Capture(CaptureSource { tokens: Some(96), ..CaptureSource::of(&capture) });
    let session =
        Session { source, lanes: vec![lane("full", "full", Params::default())], backend: BackendChoice::Cpu, ..Session::default() };
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let result = run(&plan, BackendChoice::Cpu);
    let placed = save(&path, &session, &plan, &result, false).unwrap();
    std::fs::remove_file(&capture).unwrap();
    let found = saved::open(&path).unwrap();
    assert_eq!(found.session, placed);
    let Source::Capture(source) = found.session.source else { panic!("a capture") };
    assert_eq!((source.path, source.sha256.map(|h| h.len())), (PathBuf::from("c.safetensors"), Some(64)));
    assert_eq!(found.plan.stream.labels().tokens, plan.stream.labels().tokens);
}
