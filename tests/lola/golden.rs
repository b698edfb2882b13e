//! `LoLA` against the golden files: every channel, on every implementation.

use super::*;

struct Golden {
    setup: Setup,
    file: Vec<u8>,
}

fn folder() -> PathBuf {
    std::env::var_os("MNEMOSCOPE_GOLDEN").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), PathBuf::from)
}

fn numbers(file: &[u8], name: &str) -> (Vec<usize>, Vec<f64>) {
    let tensors = SafeTensors::deserialize(file).unwrap();
    let t = tensors.tensor(name).unwrap();
    let data = match t.dtype() {
        Dtype::F32 => t.data().chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect(),
        Dtype::F64 => t.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
        Dtype::I64 => t.data().chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64).collect(),
        other => panic!("{name} is {other:?}"),
    };
    (t.shape().to_vec(), data)
}

fn matrix(file: &[u8], name: &str) -> ArrayD<f32> {
    let (shape, data) = numbers(file, name);
    ArrayD::from_shape_vec(shape, data.into_iter().map(|x| x as f32).collect()).unwrap()
}

fn load(path: &std::path::Path) -> Golden {
    let file = std::fs::read(path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&file).unwrap();
    let case: serde_json::Value = serde_json::from_str(&metadata.metadata().as_ref().unwrap()["case"]).unwrap();
    let mut params = Params::default();
    for (name, value) in case["params"].as_object().unwrap() {
        let value = match value {
            serde_json::Value::Number(n) if n.is_i64() => ParamValue::Int(n.as_i64().unwrap()),
            serde_json::Value::Number(n) => ParamValue::Float(n.as_f64().unwrap()),
            serde_json::Value::String(s) => ParamValue::Text(s.clone()),
            other => panic!("{name} is {other}"),
        };
        params.set(name, value);
    }
    let three = |name: &str| matrix(&file, name).insert_axis(Axis(0)).into_dimensionality().unwrap();
    let stream = Stream::new(StreamParts {
        keys: three("keys"),
        values: three("values"),
        queries: three("queries"),
        after: numbers(&file, "after").1.into_iter().map(|a| a as u32).collect(),
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap();
    let names = SafeTensors::deserialize(&file).unwrap().names().into_iter().map(ToOwned::to_owned).collect::<Vec<_>>();
    let arrays = names
        .iter()
        .filter(|n| ["projection", "weights_q", "weights_k"].contains(&n.as_str()))
        .map(|n| (n.clone(), matrix(&file, n)))
        .collect();
    Golden { setup: setup(stream, &params, arrays), file }
}

fn largest_difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let difference = |(&a, &b): (&f64, &f64)| if a.is_nan() && b.is_nan() || a == b { 0.0 } else { (a - b).abs() };
    found.iter().zip(expected).map(difference).fold(0.0, |a, b| if b.is_nan() { f64::NAN } else { f64::max(a, b) })
}

/// How much of a channel can be compared when rounding may flip the choice made at step `close` (the end of the stream if
/// none is that close): what was written before that choice was made.
fn comparable(channel: &str, setup: &Setup, close: usize, values: Vec<f64>) -> Vec<f64> {
    let steps = setup.stream.chunks(setup.chunk);
    if close == steps {
        return values;
    }
    let before = |n: f64| if n < close as f64 { n } else { -1.0 };
    let rows = |per_step: usize, steps: usize| values[..per_step * steps].to_vec();
    match channel {
        "entered" | "left" => values.into_iter().map(before).collect(),
        "cached" | "select_margin" => rows(values.len() / steps, close),
        "scores" => rows(values.len() / steps, close + 1),
        "outputs" | "shares" => {
            let seen = setup.stream.reads_within(0..setup.stream.chunk_range(setup.chunk, close).end).end;
            rows(values.len() / setup.stream.reads(), seen)
        }
        _ => Vec::new(),
    }
}

/// Holds one implementation against every file; a choice with a margin of `margin` or less may fall either way.
pub fn check(name: &str, near: f64, margin: f64, make: impl Fn(&Setup) -> Box<dyn Layer>) {
    let mut files: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.file_stem().unwrap().to_str().unwrap().starts_with("lol"));
    files.sort();
    assert!(!files.is_empty(), "no golden files in {}", folder().display());
    for path in files {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let Golden { setup, file } = load(&path);
        let mut layer = make(&setup);
        let trace = run(&mut *layer, &setup, 7);
        let snapshot = layer.snapshot().unwrap();
        let mut found: Vec<(&str, Vec<f64>)> =
            ["outputs", "shares", "select_margin"].map(|n| (n, wide(trace.channel(n).unwrap().values(0)))).into();
        found.extend(kind().derived(&setup, &trace, 0).iter().map(|d| (d.name, wide(&d.values))));
        found.extend(["state", "normaliser"].map(|n| (n, wide(&snapshot.array(n).unwrap().values))));
        let margins = numbers(&file, "expect.select_margin").1;
        let close = margins.iter().position(|&m| m <= margin).unwrap_or(margins.len());
        for (channel, found) in found {
            let expected = comparable(channel, &setup, close, numbers(&file, &format!("expect.{channel}")).1);
            let found = comparable(channel, &setup, close, found);
            let difference = largest_difference(&found, &expected);
            let largest = expected.iter().filter(|x| x.is_finite()).fold(0.0, |a: f64, b| a.max(b.abs()));
            println!("{name:8} {stem:26} {channel:14} {difference:.1e} of {largest:.1e}");
            let limit = match channel {
                "entered" | "left" | "cached" => 0.0,
                "outputs" | "shares" => near,
                _ => near * (1.0 + largest),
            };
            assert!(difference <= limit, "{stem}: {channel} differs by {difference:e}, more than {limit:e}");
        }
    }
}

#[test]
fn in_double_precision() {
    check("cpu f64", 1e-9, 0.0, |s| kind().cpu(s, Precision::Double).unwrap());
}

#[test]
fn on_the_gpu() {
    let Some(gpu) = gpu_or_skip() else { return };
    check("gpu", 1e-4, CHOICE_MARGIN, |s| kind().gpu(s, &GpuStream::new(&gpu, &s.stream).unwrap()).unwrap());
}

#[test]
fn in_single_precision() {
    check("cpu f32", 1e-4, CHOICE_MARGIN, |s| kind().cpu(s, Precision::Single).unwrap());
}
