//! Conformance: every layer against every golden file of its kind, on the CPU in both precisions and on the GPU.
//!
//! `cargo test --test golden -- --nocapture` prints the largest difference by file and array. `MNEMOSCOPE_GOLDEN` names
//! another folder of such files.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "golden/case.rs"]
mod case;
#[path = "golden/compare.rs"]
mod compare;

use case::Case;
use compare::{Found, Outcome, compare, find};
use mnemoscope::gpu::testing::gpu_or_skip;
use mnemoscope::gpu::{Gpu, GpuStream};
use mnemoscope::layer::{Layer, LayerError, Precision, Record, Snapshot};
use mnemoscope::trace::{Axis, LaneTrace, Tolerance, TraceBlock, Values};
use std::sync::Arc;

#[derive(Clone)]
enum Engine {
    Cpu(Precision),
    Gpu(Arc<Gpu>),
}

impl Engine {
    fn build(&self, case: &Case) -> Result<Box<dyn Layer>, LayerError> {
        match self {
            Self::Cpu(precision) => case.kind.cpu(&case.setup, *precision),
            Self::Gpu(gpu) => case.kind.gpu(&case.setup, &GpuStream::new(gpu, &case.setup.stream)?),
        }
    }
}

/// Runs to the end, `batch` chunks at a time.
fn run(case: &Case, engine: &Engine, batch: usize) -> Result<(LaneTrace, Snapshot), LayerError> {
    let mut layer = engine.build(case)?;
    let mut trace = LaneTrace::new(&case.kind.channels(&case.setup), 1, 1);
    while layer.position() < case.setup.stream.chunks(case.setup.chunk) {
        let mut block = TraceBlock::default();
        layer.advance(batch, Record::All, &mut block)?;
        trace.append(&block).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    }
    Ok((trace, layer.snapshot()?))
}

/// The bits of numbers, NaNs included.
fn bits(values: &Values) -> Vec<u64> {
    match values {
        Values::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Values::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        Values::I32(v) => v.iter().map(|&x| u64::from(x.cast_unsigned())).collect(),
    }
}

/// What differs, bit for bit, between two runs of the same thing.
fn differing(a: &(LaneTrace, Snapshot), b: &(LaneTrace, Snapshot)) -> Option<String> {
    for (x, y) in a.0.channels().iter().zip(b.0.channels()) {
        let same = x.len() == y.len()
            && bits(x.values(0)) == bits(y.values(0))
            && (0..x.len()).all(|entry| x.range(0, entry) == y.range(0, entry));
        if !same {
            return Some(format!("channel `{}`", x.spec().name));
        }
    }
    let other =
        a.1.arrays.iter().zip(&b.1.arrays).find(|(x, y)| x.name != y.name || x.shape != y.shape || bits(&x.values) != bits(&y.values));
    other.map(|(x, _)| format!("state `{}`", x.name))
}

/// Everything that is wrong with a case, in lines that begin with its name.
fn failures(case: &Case, engine: &Engine) -> Vec<String> {
    let fail = |what: String| format!("{}: {what}", case.name);
    let runs = run(case, engine, usize::MAX / 2).and_then(|whole| Ok((whole, run(case, engine, 1)?)));
    let (whole, stepped) = match runs {
        Ok(runs) => runs,
        Err(error) => return vec![fail(error.to_string())],
    };
    let mut failures: Vec<_> =
        differing(&whole, &stepped).map(|what| fail(format!("{what} differs between one call and chunk by chunk"))).into_iter().collect();
    let derived = case.kind.derived(&case.setup, &whole.0, 0);
    let double = matches!(engine, Engine::Cpu(Precision::Double));
    let mut found = Vec::new();
    for (name, expected) in &case.expected {
        match find(name, &whole.0, &derived, &whole.1) {
            Some(array) => found.push((name, expected, array)),
            None => failures.push(fail(format!("`{name}` is expected, but neither a channel, nor made from one, nor in the state"))),
        }
    }
    let until = first_flip(case, &found, double);
    if until < usize::MAX {
        println!("  {}: a choice with a margin under 1e-5 fell the other way at step {until}; compared up to there", case.name);
    }
    for (name, expected, array) in &found {
        let outcome = compare(case, expected, array, double, until);
        println!("  {:32} {name:16} {:9.2e}", case.name, outcome.largest);
        failures.extend(outcome.wrong.map(|what| fail(format!("{name}{what}"))));
    }
    failures
}

/// The first step at which a close choice fell the other way; `usize::MAX` if none did.
fn first_flip(case: &Case, found: &[(&String, &case::Expected, Found)], double: bool) -> usize {
    let choices = found.iter().filter(|(_, _, f)| matches!(f.tolerance, Tolerance::Choice { margin: Some(_) }));
    choices.filter_map(|(_, e, f)| compare(case, e, f, double, usize::MAX).flipped).min().unwrap_or(usize::MAX)
}

fn conform(engine: &Engine) {
    let mut all = Vec::new();
    for path in case::files() {
        match case::read(&path) {
            Some(case) => {
                all.extend(failures(&case, engine));
                if let Some(twin) = case::twin(&path, &case) {
                    println!("  {}, as {}:", twin.name, twin.kind.name());
                    all.extend(failures(&twin, engine));
                }
            }
            None => println!("  {}: its layer is not built", path.display()),
        }
    }
    assert!(all.is_empty(), "{} failures:\n{}", all.len(), all.join("\n"));
}

#[test]
fn cpu_in_single_precision() {
    conform(&Engine::Cpu(Precision::Single));
}

#[test]
fn cpu_in_double_precision() {
    conform(&Engine::Cpu(Precision::Double));
}

#[test]
fn gpu() {
    if let Some(gpu) = gpu_or_skip() {
        println!("  on {}", gpu.adapter().title());
        conform(&Engine::Gpu(gpu));
    }
}

/// The rule itself: what is off, missing or NaN on one side is found.
#[test]
fn differences_are_found() {
    let path = case::files().into_iter().find(|p| p.ends_with("full_causal.safetensors"));
    let Some(case) = path.and_then(|p| case::read(&p)) else {
        assert!(std::env::var_os("MNEMOSCOPE_GOLDEN").is_some(), "only another folder need not have this file");
        return;
    };
    let expected = &case.expected["outputs"];
    let outcome = |change: &dyn Fn(&mut Vec<f64>)| -> Outcome {
        let mut numbers = expected.numbers.clone();
        change(&mut numbers);
        let tolerance = Tolerance::Near { abs: 1e-4, rel: 0.0 };
        let found = Found { values: Values::F64(numbers), tolerance, axis: Some(Axis::Read) };
        compare(&case, expected, &found, false, usize::MAX)
    };
    assert!(outcome(&|_| {}).wrong.is_none());
    assert!(outcome(&|v| v[100] += 0.9e-4).wrong.is_none());
    assert!(outcome(&|v| v[100] += 1.1e-4).wrong.is_some_and(|w| w.starts_with("[100] (step 0)")));
    assert!(outcome(&|v| v[5] = f64::NAN).wrong.is_some());
    assert!(outcome(&|v| v.truncate(9)).wrong.is_some());
}
