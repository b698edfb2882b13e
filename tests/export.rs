//! What a run exports, read back with other code than wrote it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mnemoscope::engine::headless;
use mnemoscope::export::{self, ArrayFormats, ExportError, Request, TableFormats, Writes, Written};
use mnemoscope::param::Params;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use mnemoscope::stream::Targets;
use mnemoscope::trace::{Along, Axis, LaneTrace, Width};
use ndarray::{Array1, Array2, Array3, IxDyn, OwnedRepr};
use ndarray_npy::{NpzReader, ReadableElement};

fn lanes() -> Vec<LaneSpec> {
    vec![
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 32).with("chunk", 48)),
        LaneSpec::new("Lo LA", "lola", Params::default().with("window", 32).with("cache", 12).with("chunk", 20)),
        LaneSpec::new("full", "full", Params::default()),
    ]
}

fn run(source: Source) -> (Arc<Plan>, Vec<LaneTrace>) {
    let plan = Arc::new(Plan::new(&Session { source, lanes: lanes(), ..Session::default() }, None).unwrap());
    let result = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
    (plan, result.traces)
}

fn needles() -> (Arc<Plan>, Vec<LaneTrace>) {
    let params = Params::default().with("T", 250).with("needles", 5).with("dk", 16).with("dv", 6);
    run(Source::Task(TaskSource { name: "needles".to_owned(), params }))
}

/// Two key/value heads of a small capture whose texts need every kind of quoting.
fn capture(folder: &Path) -> (Arc<Plan>, Vec<LaneTrace>) {
    use safetensors::tensor::{Dtype, TensorView};
    let numbers = |heads: usize, dim: usize| -> Vec<u8> {
        let noise = |i: usize| ((i * 7919 + 13) % 1009) as f32 / 504.5 - 1.0;
        (0..heads * 60 * dim).flat_map(|i| noise(i + 17 * heads).to_le_bytes()).collect()
    };
    let (q, k, v) = (numbers(4, 8), numbers(2, 8), numbers(2, 5));
    let tensor = |shape: &[usize], data| TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap();
    let tensors =
        [("layers.3.q", tensor(&[4, 60, 8], &q)), ("layers.3.k", tensor(&[2, 60, 8], &k)), ("layers.3.v", tensor(&[2, 60, 5], &v))];
    let texts: Vec<&str> = ["a,b", "\"", "\n", " é", "", "plain"].into_iter().cycle().take(60).collect();
    let meta = std::collections::HashMap::from([("tokens".to_owned(), serde_json::to_string(&texts).unwrap())]);
    let path = folder.join("c.safetensors");
    std::fs::write(&path, safetensors::serialize(tensors, Some(meta)).unwrap()).unwrap();
    run(Source::Capture(CaptureSource::of(path)))
}

fn write(plan: &Plan, traces: &[LaneTrace], dir: &Path) -> Written {
    let mut last = 0;
    let mut progress = |p: export::Progress| {
        assert!(p.done >= last && p.done <= p.total, "progress runs forwards: {p:?} after {last}");
        last = p.done;
    };
    export::trace(plan, traces, &[], &Request::default(), dir, &mut progress, &AtomicBool::new(false)).unwrap()
}

fn array<A: ReadableElement>(npz: &mut NpzReader<std::fs::File>, name: &str) -> (Vec<usize>, Vec<A>) {
    let array = npz.by_name::<OwnedRepr<A>, IxDyn>(&format!("{name}.npy")).unwrap_or_else(|e| panic!("{name}: {e}"));
    (array.shape().to_vec(), array.into_iter().collect())
}

#[test]
fn every_channel_is_in_the_archive_as_it_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for (plan, traces) in [needles(), capture(folder.path())] {
        let dir = folder.path().join("out");
        assert_eq!(write(&plan, &traces, &dir).left_out, [] as [&str; 0]);
        let mut npz = NpzReader::new(std::fs::File::open(dir.join("trace.npz")).unwrap()).unwrap();
        assert_eq!(array::<i64>(&mut npz, "after").1, plan.stream.after().iter().map(|&a| i64::from(a)).collect::<Vec<_>>());
        let (writes, reads) = (plan.stream.writes(), plan.stream.reads());
        assert_eq!(array::<i64>(&mut npz, "writes").1, (0..writes as i64).collect::<Vec<_>>());
        assert_eq!(array::<i64>(&mut npz, "reads").1, (0..reads as i64).collect::<Vec<_>>());
        // The metadata, writes, reads, after.
        let mut seen = 4;
        if let Targets::Codes { target, .. } = plan.stream.targets() {
            assert_eq!(array::<i64>(&mut npz, "target").1, target.iter().map(|&c| i64::from(c)).collect::<Vec<_>>());
            let at = plan.stream.labels().answer_at.as_ref().unwrap();
            assert_eq!(array::<i64>(&mut npz, "answer_at").1, at.iter().map(|&i| i64::from(i)).collect::<Vec<_>>());
            seen += 2;
        }
        for (lane, trace) in plan.lanes.iter().zip(&traces) {
            let derived = lane.kind.derived(&lane.setup, trace, 0);
            let steps = plan.stream.chunks(lane.setup.chunk) as i64;
            assert_eq!(array::<i64>(&mut npz, &format!("{}.steps", lane.name)).1, (0..steps).collect::<Vec<_>>());
            seen += 1;
            for channel in trace.channels().iter().filter(|c| !derived.iter().any(|d| d.name == c.spec().name)) {
                let (name, heads, n) = (format!("{}.{}", lane.name, channel.spec().name), channel.heads(), channel.len());
                let flat = |h: usize| (0..channel.values(h).len()).map(move |i| channel.values(h).get(i).unwrap());
                let expected: Vec<f64> = (0..heads).flat_map(flat).collect();
                let (shape, got) = numbers_of(&mut npz, channel.values(0).as_i32().is_some(), &name);
                assert!(got.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()) && got.len() == expected.len(), "{name}");
                seen += 1;
                match channel.spec().width {
                    Width::Fixed(1) => assert_eq!(shape, [heads, n], "{name}"),
                    Width::Fixed(w) => assert_eq!(shape, [heads, n, w], "{name}"),
                    Width::Ragged => {
                        let (shape, offsets) = array::<i64>(&mut npz, &format!("{name}_offsets"));
                        assert_eq!(shape, [heads, n + 1], "{name}");
                        for (h, i) in (0..heads).flat_map(|h| (0..n).map(move |i| (h, i))) {
                            let at = h * (n + 1) + i;
                            let list = &got[offsets[at] as usize..offsets[at + 1] as usize];
                            let range = channel.range(h, i);
                            assert_eq!(list, range.map(|r| channel.values(h).get(r).unwrap()).collect::<Vec<_>>(), "{name} [{h}, {i}]");
                        }
                        seen += 1;
                    }
                }
            }
            for d in &derived {
                let name = format!("{}.{}", lane.name, d.name);
                let shape = numbers_of(&mut npz, d.values.as_i32().is_some(), &name).0;
                assert_eq!(shape[1..], d.shape, "{name}");
                assert_eq!(shape[0], plan.stream.kv_heads(), "{name}");
                seen += 1;
            }
        }
        assert_eq!(npz.len(), seen, "nothing else is in the archive");
    }
}

#[test]
fn the_arrays_have_the_references_names_and_shapes() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    write(&plan, &traces, folder.path());
    let mut npz = NpzReader::new(std::fs::File::open(folder.path().join("trace.npz")).unwrap()).unwrap();
    // 250 writes: 6 chunks of 48, 13 of 20. Five reads at the end.
    let outputs: Array3<f32> = npz.by_name("OVQ.outputs.npy").unwrap();
    assert_eq!(outputs.dim(), (1, 5, 6));
    let sizes: Array2<i32> = npz.by_name("OVQ.sizes.npy").unwrap();
    assert_eq!((sizes.dim(), sizes[[0, 0]]), ((1, 7), 0));
    let counts: Array3<i32> = npz.by_name("OVQ.counts.npy").unwrap();
    assert_eq!(counts.dim(), (1, 6, 32));
    assert_eq!(counts.slice(ndarray::s![0, 5, ..]).sum(), 250, "every write is in one row");
    let cached: Array3<i32> = npz.by_name("Lo LA.cached.npy").unwrap();
    assert_eq!(cached.dim(), (1, 13, 12));
    let scores: Array3<f32> = npz.by_name("Lo LA.scores.npy").unwrap();
    assert_eq!(scores.dim(), (1, 13, 250));
    let correct: Array2<i32> = npz.by_name("full.correct.npy").unwrap();
    assert_eq!(correct, Array2::<i32>::ones((1, 5)), "full attention finds every needle");
    let after: Array1<i64> = npz.by_name("after.npy").unwrap();
    assert_eq!(after.to_vec(), [250; 5]);
}

#[test]
fn the_table_has_a_row_for_every_write() {
    let folder = tempfile::tempdir().unwrap();
    for (plan, traces) in [needles(), capture(folder.path())] {
        let dir = folder.path().join("out");
        write(&plan, &traces, &dir);
        let (titles, rows) = table(&dir, "tokens");
        assert_eq!(rows.len(), plan.stream.writes());
        let labels = plan.stream.labels();
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(row[0].parse(), Ok(i));
            assert_eq!(row[1], labels.tokens.as_ref().unwrap()[i]);
            assert_eq!(row[2], labels.roles.names[usize::from(labels.roles.of_write[i])]);
        }
        let heads = plan.stream.kv_heads();
        let column = |name: &str, head: usize| {
            let title = if heads == 1 { name.to_owned() } else { format!("{name}.h{head}") };
            let at = titles.iter().position(|t| t == title).unwrap_or_else(|| panic!("{title} is not among {titles:?}"));
            rows.iter().map(|r| r[at].to_owned()).collect::<Vec<_>>()
        };
        for head in 0..heads {
            let assigned = traces[0].channel("assignments").unwrap().wholes(head);
            assert_eq!(column("OVQ.assignments", head), assigned.iter().map(i32::to_string).collect::<Vec<_>>());
            let similar = traces[0].channel("similarity").unwrap().reals(head);
            let read: Vec<f32> = column("OVQ.similarity", head).iter().map(|t| t.parse().unwrap()).collect();
            assert_eq!(read.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), similar.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
            // Every write that left the cache had entered it before.
            let events = column("Lo LA.entered", head).into_iter().zip(column("Lo LA.left", head));
            let events: Vec<(i32, i32)> = events.map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).collect();
            assert!(events.iter().any(|e| e.0 >= 0) && events.iter().all(|&(entered, left)| left == -1 || (0..left).contains(&entered)));
        }
    }
}

#[test]
fn a_cancelled_export_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    let error = export::trace(&plan, &traces, &[], &Request::default(), folder.path(), &mut |_| {}, &AtomicBool::new(true));
    assert_eq!(error, Err(ExportError::Cancelled));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Every file of a folder with its content.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |e: std::fs::DirEntry| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap());
    let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| read(e.unwrap())).collect();
    all.sort();
    all
}

/// Wherever an export is cancelled, what was there stays: nothing more, nothing less, and no folder that it made.
#[test]
fn a_cancelled_export_leaves_the_old_one() {
    let root = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    let dir = root.path().join("out");
    write(&plan, &traces, &dir);
    let before = content(&dir);
    let mut told = 0_u64;
    export::trace(&plan, &traces, &[], &everything(), &root.path().join("count"), &mut |_| told += 1, &AtomicBool::new(false)).unwrap();
    for stop in [0, 1, told / 3, told / 2, told - 1] {
        for place in [dir.clone(), root.path().join("new/folder")] {
            let (cancel, mut count) = (AtomicBool::new(false), 0);
            let mut progress = |_| {
                if count == stop {
                    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                count += 1;
            };
            let error = export::trace(&plan, &traces, &[], &everything(), &place, &mut progress, &cancel);
            assert_eq!(error, Err(ExportError::Cancelled), "after {stop} of {told}");
        }
        assert!(content(&dir) == before, "after {stop} of {told}");
        assert!(!root.path().join("new").exists());
    }
}

/// A bundle takes the place of an earlier one as a whole, and of nothing else.
#[test]
fn a_bundle_replaces_an_earlier_one_and_nothing_of_the_users() {
    let root = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    let run = |request: &Request, dir: &Path| export::trace(&plan, &traces, &[], request, dir, &mut |_| {}, &AtomicBool::new(false));
    let dir = root.path().join("out");
    assert_eq!(run(&everything(), &dir).unwrap().files.len(), 2 + 3 * 6 + 2);
    std::fs::write(dir.join("notes.txt"), "mine").unwrap();
    let few = Request { arrays: ArrayFormats::default(), tables: TableFormats { jsonl: true, ..TableFormats::default() }, ..everything() };
    run(&few, &dir).unwrap();
    let names: Vec<String> = content(&dir).into_iter().map(|(name, _)| name).collect();
    let left = [
        "README.md",
        "cache.jsonl",
        "centroids.jsonl",
        "columns.json",
        "events.jsonl",
        "notes.txt",
        "reads.jsonl",
        "steps.jsonl",
        "tokens.jsonl",
    ];
    assert_eq!(names, left);
    // A README that no export wrote is somebody's own.
    let own = root.path().join("project");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("README.md"), "mine").unwrap();
    let error = run(&few, &own).unwrap_err().to_string();
    assert!(error.contains("README.md is there, and is not of an earlier export"), "{error}");
    assert_eq!(content(&own), [("README.md".to_owned(), b"mine".to_vec())]);
}

fn everything() -> Request {
    Request {
        arrays: ArrayFormats { npz: true, safetensors: true },
        tables: TableFormats { csv: true, jsonl: true, parquet: true },
        ..Request::default()
    }
}

/// The indices that a cut leaves, as anybody would count them.
struct Chosen {
    writes: Vec<usize>,
    reads: Vec<usize>,
    steps: Vec<Vec<usize>>,
}

fn chosen(plan: &Plan, writes: Vec<usize>) -> Chosen {
    let newest = |r: &usize| plan.stream.after()[*r] as usize - 1;
    let reads = (0..plan.stream.reads()).filter(|r| writes.contains(&newest(r))).collect();
    let of_lane = |chunk: usize| (0..plan.stream.chunks(chunk)).filter(|s| writes.iter().any(|w| w / chunk == *s)).collect();
    Chosen { reads, steps: plan.lanes.iter().map(|l| of_lane(l.setup.chunk)).collect(), writes }
}

/// Every channel of a part of a run is the whole one's entries of the writes, reads and steps that belong to it.
#[test]
fn a_part_is_the_whole_run_cut_along_every_axis() {
    let folder = tempfile::tempdir().unwrap();
    for (at, (plan, traces)) in [needles(), capture(folder.path())].into_iter().enumerate() {
        let all = plan.stream.writes();
        let parts = [
            (Writes::Range(21..55), (21..55).collect::<Vec<_>>()),
            (Writes::Range(0..1), vec![0]),
            (Writes::Range(all - 1..all), vec![all - 1]),
            (Writes::Tokens(vec![44, 3, 45, 3, all - 1]), vec![3, 44, 45, all - 1]),
        ];
        for (writes, indices) in parts {
            let dir = folder.path().join(format!("part{at}"));
            let request = Request { writes: writes.clone(), lanes: Some(vec![1, 0]), ..everything() };
            export::trace(&plan, &traces, &[], &request, &dir, &mut |_| {}, &AtomicBool::new(false)).unwrap();
            check_part(&plan, &traces, &dir, &chosen(&plan, indices));
        }
    }
}

fn check_part(plan: &Plan, traces: &[LaneTrace], dir: &Path, part: &Chosen) {
    let mut npz = NpzReader::new(std::fs::File::open(dir.join("trace.npz")).unwrap()).unwrap();
    let long = |of: &[usize]| of.iter().map(|i| *i as i64).collect::<Vec<_>>();
    assert_eq!(array::<i64>(&mut npz, "writes").1, long(&part.writes));
    assert_eq!(array::<i64>(&mut npz, "reads").1, long(&part.reads));
    let after: Vec<i64> = part.reads.iter().map(|r| i64::from(plan.stream.after()[*r])).collect();
    assert_eq!(array::<i64>(&mut npz, "after").1, after);
    assert!(npz.names().unwrap().iter().all(|n| !n.starts_with("full.")), "a lane that was not asked for");
    let file = std::fs::read(dir.join("trace.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&file).unwrap();
    for (lane, trace) in [0, 1].map(|l| (l, &traces[l])) {
        let own = &plan.lanes[lane];
        assert_eq!(array::<i64>(&mut npz, &format!("{}.steps", own.name)).1, long(&part.steps[lane]));
        let derived = own.kind.derived(&own.setup, trace, 0);
        for channel in trace.channels().iter().filter(|c| !derived.iter().any(|d| d.name == c.spec().name)) {
            let indices = match channel.spec().axis {
                Axis::Write => &part.writes,
                Axis::Read => &part.reads,
                Axis::Step => &part.steps[lane],
            };
            let numbers = |h: usize, i: &usize| channel.range(h, *i).map(move |at| channel.values(h).get(at).unwrap()).collect::<Vec<_>>();
            let expected: Vec<f64> = (0..channel.heads()).flat_map(|h| indices.iter().flat_map(move |i| numbers(h, i))).collect();
            let name = format!("{}.{}", own.name, channel.spec().name);
            let (shape, got) = numbers_of(&mut npz, channel.values(0).as_i32().is_some(), &name);
            let tensor = tensors.tensor(&name).unwrap();
            assert_eq!(tensor.shape(), shape, "{name}");
            let bits: Vec<u64> = got.iter().map(|x| x.to_bits()).collect();
            assert_eq!(bits, expected.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), "{name}");
            let of_tensor = tensor.data().chunks(4).map(|b| [b[0], b[1], b[2], b[3]]);
            let whole = channel.values(0).as_i32().is_some();
            let wide = of_tensor.map(|b| if whole { f64::from(i32::from_le_bytes(b)) } else { f64::from(f32::from_le_bytes(b)) });
            assert_eq!(wide.map(f64::to_bits).collect::<Vec<_>>(), bits, "{name}");
        }
        for d in &derived {
            let name = format!("{}.{}", own.name, d.name);
            let (shape, got) = numbers_of(&mut npz, d.values.as_i32().is_some(), &name);
            let along = |(axis, size): (&Along, &usize)| match axis {
                Along::Axis(Axis::Write) => part.writes.clone(),
                Along::Axis(Axis::Read) => part.reads.clone(),
                Along::Axis(Axis::Step) => part.steps[lane].clone(),
                Along::Ends => part.steps[lane].iter().copied().take(1).chain(part.steps[lane].iter().map(|s| s + 1)).collect(),
                Along::Own(_) => (0..*size).collect(),
            };
            // Where a step follows one that is left out, its beginning is not there: only its end is.
            let mut cuts: Vec<Vec<usize>> = d.axes.iter().zip(&d.shape).map(along).collect();
            cuts.iter_mut().for_each(Vec::dedup);
            let mut places = vec![0];
            for (cut, size) in cuts.iter().zip(&d.shape) {
                places = places.iter().flat_map(|at| cut.iter().map(move |i| at * size + i)).collect();
            }
            assert_eq!(shape[1..], cuts.iter().map(Vec::len).collect::<Vec<_>>(), "{name}");
            let first: Vec<u64> = places.iter().map(|at| d.values.get(*at).unwrap().to_bits()).collect();
            assert_eq!(got[..first.len()].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), first, "{name}");
        }
    }
}

fn numbers_of(npz: &mut NpzReader<std::fs::File>, whole: bool, name: &str) -> (Vec<usize>, Vec<f64>) {
    if whole {
        let (shape, got) = array::<i32>(npz, name);
        (shape, got.into_iter().map(f64::from).collect())
    } else {
        let (shape, got) = array::<f32>(npz, name);
        (shape, got.into_iter().map(f64::from).collect())
    }
}

#[test]
fn what_the_run_does_not_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    let cases = [
        (Writes::Range(5..5), None, "the writes from 5 on and before 5 were asked for; the last one is 249"),
        (Writes::Range(0..251), None, "the writes from 0 on and before 251 were asked for; the last one is 249"),
        (Writes::Tokens(vec![1, 250]), None, "the token 250 was asked for; the last one is 249"),
        (Writes::Tokens(Vec::new()), None, "no token is selected"),
        (Writes::All, Some(vec![3]), "there is no lane number 3"),
        (Writes::All, Some(Vec::new()), "no lane was asked for"),
    ];
    for (writes, lanes, words) in cases {
        let request = Request { writes, lanes, ..Request::default() };
        let error = export::trace(&plan, &traces, &[], &request, folder.path(), &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(content(folder.path()).len(), 0);
}

/// A bundle's table as CSV: titles and rows.
fn table(dir: &Path, name: &str) -> (csv::StringRecord, Vec<csv::StringRecord>) {
    let mut table = csv::Reader::from_path(dir.join(format!("{name}.csv"))).unwrap();
    (table.headers().unwrap().clone(), table.records().map(Result::unwrap).collect())
}

/// The list of events that the window exports, and the table of a bundle, are the same of one head.
#[test]
fn the_table_of_events_is_the_list_of_events() {
    use mnemoscope::metric::events::{Criteria, HeadsShown, LaneEvents};
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    write(&plan, &traces, folder.path());
    let (heads, criteria) = (HeadsShown::default(), Criteria::default());
    let lanes: Vec<LaneEvents<'_>> = (0..3).map(|l| LaneEvents::new(&plan, l, &traces[l], heads, &criteria)).collect();
    let mut hits: Vec<_> = lanes.iter().flat_map(|l| (0..l.scans()).flat_map(move |s| l.forwards(s, 0))).collect();
    hits.sort_unstable();
    assert!(hits.len() > 50, "{}", hits.len());
    let path = folder.path().join("list.csv");
    export::events::write(&path, &plan, &traces, heads, &criteria, hits.into_iter()).unwrap();
    let (list, events) = (table(folder.path(), "list"), table(folder.path(), "events"));
    assert_eq!(list.0, events.0);
    assert_eq!(list.1.len(), events.1.len());
    let value = list.0.iter().position(|t| t == "value").unwrap();
    for (a, b) in list.1.iter().zip(&events.1) {
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            // A real number has a point in the table, also where it is whole.
            if at == value {
                assert_eq!(a.parse::<f64>().unwrap().to_bits(), b.parse::<f64>().unwrap().to_bits());
            } else {
                assert_eq!(a, b);
            }
        }
    }
}

/// Centroids and stays in the cache of a part are those that the whole trace gives at its end.
#[test]
fn tables_of_a_part_say_what_the_memory_holds_there() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    let request = Request { writes: Writes::Range(100..150), ..Request::default() };
    export::trace(&plan, &traces, &[], &request, folder.path(), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let column = |(titles, rows): &(csv::StringRecord, Vec<csv::StringRecord>), name: &str| {
        let at = titles.iter().position(|t| t == name).unwrap();
        rows.iter().map(|r| r[at].parse::<i64>().ok()).collect::<Vec<_>>()
    };
    // Chunks of 48: the writes 100 to 149 lie in the chunks 2 and 3, at whose end 192 writes are seen.
    let centroids = table(folder.path(), "centroids");
    let sizes = traces[0].channel("sizes").unwrap().wholes(0);
    assert_eq!(centroids.1.len(), sizes[3] as usize);
    assert_eq!(column(&centroids, "count").iter().flatten().sum::<i64>(), 192);
    assert_eq!(column(&centroids, "count"), column(&centroids, "members"));
    let assigned = traces[0].channel("assignments").unwrap().wholes(0);
    for (row, last) in column(&centroids, "row").into_iter().zip(column(&centroids, "last_write")) {
        let newest = assigned[..192].iter().rposition(|&r| Some(i64::from(r)) == row);
        assert_eq!(newest.map(|w| w as i64), last);
    }
    // Chunks of 20: the steps 5 to 7.
    let cache = table(folder.path(), "cache");
    let derived = plan.lanes[1].kind.derived(&plan.lanes[1].setup, &traces[1], 0);
    let whole = |name: &str| derived.iter().find(|d| d.name == name).unwrap().values.as_i32().unwrap().to_vec();
    let (entered, left) = (whole("entered"), whole("left"));
    let stays = (0..250).filter(|&w| (0..=7).contains(&entered[w]) && (left[w] == -1 || left[w] >= 5));
    let mut expected: Vec<(i64, i64, Option<i64>)> =
        stays.map(|w| (i64::from(entered[w]), w as i64, (left[w] >= 0).then_some(i64::from(left[w])))).collect();
    expected.sort_unstable();
    let rows = column(&cache, "entered").into_iter().zip(column(&cache, "write")).zip(column(&cache, "left"));
    let mut found: Vec<_> = rows.map(|((entered, write), left)| (entered.unwrap(), write.unwrap(), left)).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!(found.iter().any(|(entered, ..)| *entered < 5), "pairs of before the part that are still there");
    let steps = table(folder.path(), "steps");
    assert_eq!(column(&steps, "step"), [2, 3, 5, 6, 7].map(Some));
    assert_eq!(column(&steps, "from"), [96, 144, 100, 120, 140].map(Some));
    assert_eq!(column(&steps, "to"), [144, 192, 120, 140, 160].map(Some));
    assert_eq!(column(&steps, "sizes"), [Some(i64::from(sizes[2])), Some(i64::from(sizes[3])), None, None, None]);
}

/// A pair that a hand takes out of the cache is displaced by nobody.
#[test]
fn the_cache_says_what_a_hand_took_out() {
    use mnemoscope::session::hand::{Act, Hand};
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    // Some pair that was in the cache before step 6 and stays beyond it.
    let of_lola = |trace: &LaneTrace, name: &str, step| trace.channel(name).unwrap().wholes_at(0, step).to_vec();
    let gone: Vec<i32> = (0..7).flat_map(|s| of_lola(&traces[1], "displaced", s)).collect();
    let write = (0..6).flat_map(|s| of_lola(&traces[1], "admitted", s)).find(|w| !gone.contains(w)).unwrap() as usize;
    let mut session = plan.session.clone();
    session.lanes[1].hands.push(Hand { step: 6, kv_head: 0, what: Act::Evict { write } });
    let plan = Arc::new(Plan::new(&session, None).unwrap());
    let traces = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap().traces;
    export::trace(&plan, &traces, &[], &Request::default(), folder.path(), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let (titles, rows) = table(folder.path(), "cache");
    let cell = |row: &csv::StringRecord, name: &str| row[titles.iter().position(|t| t == name).unwrap()].to_owned();
    let by_hand: Vec<_> = rows.iter().filter(|r| cell(r, "by_hand") == "1").collect();
    assert_eq!(by_hand.len(), 1);
    let told = ["write", "left", "displaced_by", "score_at_leaving"].map(|name| cell(by_hand[0], name));
    assert_eq!(told, [write.to_string(), "5".to_owned(), String::new(), String::new()]);
    assert!(!cell(by_hand[0], "score_at_entry").is_empty());
    // Everybody else who left was displaced by those who came in that step.
    let others = rows.iter().filter(|r| cell(r, "by_hand") == "0" && !cell(r, "left").is_empty());
    for row in others {
        let step: usize = cell(row, "left").parse().unwrap();
        let came = of_lola(&traces[1], "admitted", step).iter().map(i32::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(cell(row, "displaced_by"), came);
    }
}

/// Every array and every column is in the README, and nothing else is.
#[test]
fn the_readme_names_all_there_is() {
    let folder = tempfile::tempdir().unwrap();
    for (plan, traces) in [needles(), capture(folder.path())] {
        let dir = folder.path().join("out");
        let states: Vec<_> = plan.lanes.iter().map(|l| Arc::new(end_of(l))).collect();
        export::trace(&plan, &traces, &states, &everything(), &dir, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        let readme = std::fs::read_to_string(dir.join("README.md")).unwrap();
        let named: std::collections::BTreeSet<String> =
            readme.lines().filter_map(|l| Some(l.strip_prefix("| `")?.split_once("` |")?.0.to_owned())).collect();
        let npz = NpzReader::new(std::fs::File::open(dir.join("trace.npz")).unwrap()).unwrap().names().unwrap();
        let mut expected: std::collections::BTreeSet<String> =
            npz.into_iter().map(|n| n.trim_end_matches(".npy").to_owned()).filter(|n| n != "metadata").collect();
        assert!(expected.iter().any(|n| n.contains(".final.")));
        expected.extend(plan.lanes.iter().map(|l| l.name.clone()));
        for name in export::tables::TABLES {
            assert!(readme.contains(&format!("\n### {name}\n")), "{name}");
            expected.extend(table(&dir, name).0.iter().map(str::to_owned));
        }
        assert_eq!(named, expected);
        // Names that a list of files gives are there, and no others.
        let files: std::collections::BTreeSet<String> = content(&dir).into_iter().map(|(name, _)| name).collect();
        let about: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("columns.json")).unwrap()).unwrap();
        let listed = about["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap().to_owned()).collect();
        assert_eq!(files, listed);
        assert!(files.iter().all(|f| readme.contains(&format!("- `{f}`\n"))));
        for what in about["arrays"].as_object().unwrap().values() {
            assert!(!what["meaning"].as_str().unwrap().is_empty() && !what["unit"].as_str().unwrap().is_empty(), "{what}");
        }
    }
}

/// The state of a lane at the end of its stream.
fn end_of(lane: &mnemoscope::session::plan::PlanLane) -> mnemoscope::layer::Snapshot {
    use mnemoscope::layer::{Precision, Record};
    let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
    let chunks = lane.setup.stream.chunks(lane.setup.chunk);
    layer.advance(chunks, Record::StateOnly, &mut mnemoscope::trace::TraceBlock::default()).unwrap();
    layer.snapshot().unwrap()
}

/// The last state leaves with the last step, and only then.
#[test]
fn the_last_state_leaves_with_the_last_step() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, traces) = needles();
    let states: Vec<_> = plan.lanes.iter().map(|l| Arc::new(end_of(l))).collect();
    // OVQ's last chunk of 48 begins at the write 240.
    for (range, there) in [(0..240, false), (0..241, true), (249..250, true)] {
        let request = Request { writes: Writes::Range(range.clone()), ..Request::default() };
        export::trace(&plan, &traces, &states, &request, folder.path(), &mut |_| {}, &AtomicBool::new(false)).unwrap();
        let npz = NpzReader::new(std::fs::File::open(folder.path().join("trace.npz")).unwrap()).unwrap().names().unwrap();
        assert_eq!(npz.iter().any(|n| n.starts_with("OVQ.final.")), there, "{range:?}");
    }
}

#[test]
fn a_run_on_its_way_is_exported_as_far_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, _) = needles();
    let empty: Vec<LaneTrace> = plan.lanes.iter().map(|l| LaneTrace::new(&l.channels, 1, 1)).collect();
    write(&plan, &empty, folder.path());
    let (titles, rows) = table(folder.path(), "tokens");
    let at = titles.iter().position(|t| t == "OVQ.assignments").unwrap();
    assert!(rows.iter().all(|r| r[at].is_empty()));
}
