//! What a run exports, read back with other code than wrote it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mnemoscope::engine::headless;
use mnemoscope::export::{self, ExportError, Written};
use mnemoscope::param::Params;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use mnemoscope::stream::Targets;
use mnemoscope::trace::{LaneTrace, Width};
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
    export::trace(plan, traces, &[], dir, &mut progress, &AtomicBool::new(false)).unwrap()
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
        let mut seen = 1;
        if let Targets::Codes { target, .. } = plan.stream.targets() {
            assert_eq!(array::<i64>(&mut npz, "target").1, target.iter().map(|&c| i64::from(c)).collect::<Vec<_>>());
            let at = plan.stream.labels().answer_at.as_ref().unwrap();
            assert_eq!(array::<i64>(&mut npz, "answer_at").1, at.iter().map(|&i| i64::from(i)).collect::<Vec<_>>());
            seen += 2;
        }
        for (lane, trace) in plan.lanes.iter().zip(&traces) {
            let derived = lane.kind.derived(&lane.setup, trace, 0);
            for channel in trace.channels().iter().filter(|c| !derived.iter().any(|d| d.name == c.spec().name)) {
                let (name, heads, n) = (format!("{}.{}", lane.name, channel.spec().name), channel.heads(), channel.len());
                let flat = |h: usize| (0..channel.values(h).len()).map(move |i| channel.values(h).get(i).unwrap());
                let expected: Vec<f64> = (0..heads).flat_map(flat).collect();
                let (shape, got) = if channel.values(0).as_i32().is_some() {
                    let (shape, got) = array::<i32>(&mut npz, &name);
                    (shape, got.into_iter().map(f64::from).collect::<Vec<_>>())
                } else {
                    let (shape, got) = array::<f32>(&mut npz, &name);
                    (shape, got.into_iter().map(f64::from).collect())
                };
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
                let shape = if d.values.as_i32().is_some() { array::<i32>(&mut npz, &name).0 } else { array::<f32>(&mut npz, &name).0 };
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
        let mut table = csv::Reader::from_path(dir.join("tokens.csv")).unwrap();
        let titles = table.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
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
    let error = export::trace(&plan, &traces, &[], folder.path(), &mut |_| {}, &AtomicBool::new(true));
    assert_eq!(error, Err(ExportError::Cancelled));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_run_on_its_way_is_exported_as_far_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, _) = needles();
    let empty: Vec<LaneTrace> = plan.lanes.iter().map(|l| LaneTrace::new(&l.channels, 1, 1)).collect();
    write(&plan, &empty, folder.path());
    let mut table = csv::Reader::from_path(folder.path().join("tokens.csv")).unwrap();
    let at = table.headers().unwrap().iter().position(|t| t == "OVQ.assignments").unwrap();
    assert!(table.records().all(|r| r.unwrap()[at].is_empty()));
}
