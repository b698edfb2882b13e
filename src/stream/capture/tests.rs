//! Tests of what is understood of a capture, and of what is said of a broken one.

#![allow(clippy::float_cmp, reason = "the numbers are exact in binary")]

use std::collections::HashMap;
use std::path::PathBuf;

use half::{bf16, f16};
use safetensors::tensor::{Dtype, TensorView};

use super::*;

/// A capture in a file: `numbers` of each tensor as bytes.
fn write(tensors: &[(&str, Dtype, &[usize], Vec<u8>)], meta: &[(&str, &str)]) -> tempfile::NamedTempFile {
    let views = tensors.iter().map(|(name, dtype, shape, data)| (*name, TensorView::new(*dtype, shape.to_vec(), data).unwrap()));
    let meta: HashMap<String, String> = meta.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), safetensors::serialize(views, Some(meta)).unwrap()).unwrap();
    file
}

fn f32s(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Two key/value heads, four query heads, three tokens, dk 2, dv 1: every number says where it stands (head * 100 + token * 10 + column).
fn counted(heads: usize, dim: usize) -> Vec<u8> {
    f32s((0..heads * 3 * dim).map(|i| (i / (3 * dim) * 100 + i / dim % 3 * 10 + i % dim) as f32))
}

fn small(meta: &[(&str, &str)]) -> tempfile::NamedTempFile {
    write(
        &[
            ("layers.7.q", Dtype::F32, &[4, 3, 2], counted(4, 2)),
            ("layers.7.k", Dtype::F32, &[2, 3, 2], counted(2, 2)),
            ("layers.7.v", Dtype::F32, &[2, 3, 1], counted(2, 1)),
            ("layers.10.k", Dtype::F32, &[2, 3, 2], counted(2, 2)),
        ],
        meta,
    )
}

fn source() -> CaptureSource {
    CaptureSource { path: PathBuf::new(), layer: None, kv_heads: None, tokens: None, sha256: None }
}

fn message(file: &tempfile::NamedTempFile, source: &CaptureSource) -> String {
    let error = Capture::open(file.path()).and_then(|c| c.stream(source)).unwrap_err().to_string();
    let name = file.path().display().to_string();
    error.strip_prefix(&name).unwrap_or_else(|| panic!("names no file: {error}")).to_owned()
}

#[test]
fn the_bundled_capture_is_the_needle_prompt() {
    let capture = Capture::open(Path::new(BUNDLED)).unwrap();
    let stream = capture.stream(&source()).unwrap();
    assert_eq!((stream.kv_heads(), stream.query_heads(), stream.writes(), stream.reads()), (1, 3, 2048, 2048));
    assert_eq!((stream.key_dim(), stream.value_dim(), stream.beta()), (64, 64, 0.125));
    assert_eq!(stream.targets(), &Targets::FullAttention);
    let labels = stream.labels();
    assert_eq!(labels.title, "SmolLM2-135M-Instruct, layer 12, key/value head 0");
    assert_eq!(labels.roles.names[labels.roles.marked.unwrap() as usize], "needle");
    let marked: Vec<usize> = (0..2048).filter(|&i| labels.roles.of_write[i] == 1).collect();
    assert_eq!(marked, (699..720).collect::<Vec<_>>());
    let tokens = labels.tokens.as_ref().unwrap();
    assert_eq!(tokens[699..720].concat(), " One of the special magic numbers for long-context is: 6433012.");
    assert_eq!(capture.facts().answer_tokens, Some(712..719));
    assert_eq!(stream.after()[..3], [1, 2, 3]);
}

#[test]
fn a_part_of_heads_and_tokens_is_what_the_file_says() {
    let file = small(&[("scale", "0.25"), ("tokens", r#"["a","b","c"]"#), ("needle", "[1,3]")]);
    let capture = Capture::open(file.path()).unwrap();
    assert_eq!(capture.layers(), [7, 10]);
    let stream = capture.stream(&CaptureSource { kv_heads: Some(vec![1]), tokens: Some(2), ..source() }).unwrap();
    assert_eq!(stream.keys().as_slice().unwrap(), [100., 101., 110., 111.]);
    assert_eq!(stream.values().as_slice().unwrap(), [100., 110.]);
    // Query heads 2 and 3 read key/value head 1.
    assert_eq!(stream.queries().as_slice().unwrap(), [200., 201., 210., 211., 300., 301., 310., 311.]);
    assert_eq!((stream.beta(), stream.labels().roles.of_write.as_slice()), (0.25, [0, 1].as_slice()));
    assert_eq!(stream.labels().tokens.as_deref(), Some(["a".to_owned(), "b".to_owned()].as_slice()));
}

#[test]
fn every_type_is_converted() {
    let numbers = [0.5_f32, -2.0, 1.5, 0.0, 3.0, -0.25];
    let halves = numbers.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect();
    let brains = numbers.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect();
    let doubles = numbers.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect();
    let shape = &[1, 3, 2];
    let file = write(
        &[
            ("layers.0.q", Dtype::F16, shape, halves),
            ("layers.0.k", Dtype::BF16, shape, brains),
            ("layers.0.v", Dtype::F64, shape, doubles),
        ],
        &[],
    );
    let stream = Capture::open(file.path()).unwrap().stream(&source()).unwrap();
    for array in [stream.queries(), stream.keys(), stream.values()] {
        assert_eq!(array.as_slice().unwrap(), numbers);
    }
    assert_eq!(stream.beta(), 1.0 / 2.0_f32.sqrt());
    assert_eq!(stream.labels().notes, ["the capture names no logit scale; beta is 1/sqrt(dk)"]);
}

#[test]
fn what_is_wanted_and_absent_is_named() {
    let file = small(&[]);
    let of = |source: CaptureSource| message(&file, &source);
    assert_eq!(of(CaptureSource { layer: Some(3), ..source() }), ": holds no layer 3; its layers are 7, 10");
    assert_eq!(of(CaptureSource { layer: Some(10), ..source() }), ": the tensor `layers.10.q` is missing; layer 10 has layers.10.k");
    assert_eq!(
        of(CaptureSource { kv_heads: Some(vec![0, 2]), ..source() }),
        ": kv_heads is [0, 2], but a list of different heads from 0 to 1 is expected"
    );
    assert_eq!(of(CaptureSource { tokens: Some(4), ..source() }), ": tokens is 4, but a number from 1 to 3 is expected");
    let other = write(&[("weight", Dtype::F32, &[1], f32s([1.0]))], &[]);
    assert!(message(&other, &source()).contains("holds no tensors `layers.N.q`") && message(&other, &source()).ends_with("are weight"));
}

#[test]
fn wrong_types_and_shapes_are_named() {
    let with = |name: &str, dtype, shape: &[usize], data: Vec<u8>| {
        let mut tensors = vec![
            ("layers.7.q", Dtype::F32, &[4usize, 3, 2][..], counted(4, 2)),
            ("layers.7.k", Dtype::F32, &[2, 3, 2], counted(2, 2)),
            ("layers.7.v", Dtype::F32, &[2, 3, 1], counted(2, 1)),
        ];
        let slot = tensors.iter_mut().find(|t| t.0 == name).unwrap();
        (slot.1, slot.2, slot.3) = (dtype, shape, data);
        message(&write(&tensors, &[]), &source())
    };
    assert_eq!(
        with("layers.7.v", Dtype::I32, &[2, 3, 1], counted(2, 1)),
        ": `layers.7.v` is of type I32, but F16, BF16, F32 or F64 is expected"
    );
    assert_eq!(
        with("layers.7.k", Dtype::F32, &[6, 2], counted(2, 2)),
        ": `layers.7.k` is [6, 2], but [heads, tokens, dim], none of them 0, is expected"
    );
    assert_eq!(
        with("layers.7.q", Dtype::F32, &[3, 3, 2], counted(3, 2)),
        ": `layers.7.q` is [3, 3, 2], but [a multiple of the 2 key/value heads, 3, 2] is expected"
    );
    assert_eq!(with("layers.7.v", Dtype::F32, &[1, 3, 1], counted(1, 1)), ": `layers.7.v` is [1, 3, 1], but [2, 3, dv] is expected");
    let wide = f32s(vec![0.0; 2 * 3 * 257]);
    assert_eq!(
        with("layers.7.v", Dtype::F32, &[2, 3, 257], wide),
        ": `layers.7.v` is [2, 3, 257], but [heads, tokens, at most 256] is expected"
    );
}

/// [`small`]'s layer 7 with one gate more.
fn gated(name: &str, shape: &[usize], numbers: &[f32]) -> tempfile::NamedTempFile {
    write(
        &[
            ("layers.7.q", Dtype::F32, &[4, 3, 2], counted(4, 2)),
            ("layers.7.k", Dtype::F32, &[2, 3, 2], counted(2, 2)),
            ("layers.7.v", Dtype::F32, &[2, 3, 1], counted(2, 1)),
            ("layers.7.rate", Dtype::F32, &[2, 3], f32s([0.0, 0.25, 0.5, 1.0, 2.0, 30.0])),
            (name, Dtype::F32, shape, f32s(numbers.iter().copied())),
        ],
        &[],
    )
}

#[test]
fn gates_of_a_layer_are_the_streams() {
    let decay = [1.0, 0.5, 0.25, 0.0, 0.125, 0.75];
    let file = gated("layers.7.decay", &[2, 3], &decay);
    let capture = Capture::open(file.path()).unwrap();
    let gates = capture.stream(&source()).unwrap().gates().cloned().unwrap();
    assert_eq!(gates.decay.unwrap(), ndarray::arr2(&[[1.0, 0.5, 0.25], [0.0, 0.125, 0.75]]));
    assert_eq!(gates.rate.unwrap(), ndarray::arr2(&[[0.0, 0.25, 0.5], [1.0, 2.0, 30.0]]));
    let part = capture.stream(&CaptureSource { kv_heads: Some(vec![1]), tokens: Some(2), ..source() }).unwrap();
    assert_eq!(part.gates().unwrap().decay.as_ref().unwrap(), ndarray::arr2(&[[0.0, 0.125]]));
    assert_eq!(part.gates().unwrap().rate.as_ref().unwrap(), ndarray::arr2(&[[1.0, 2.0]]));
    let summary = capture.summary();
    assert_eq!((summary.layers[0].gates.as_slice(), summary.ignored().count()), (["decay", "rate"].as_slice(), 0));
    // Gates of a layer that is not there are no layer, and one of the two is enough.
    let other = gated("layers.8.decay", &[2, 3], &decay);
    let capture = Capture::open(other.path()).unwrap();
    assert_eq!((capture.layers(), capture.summary().ignored().count()), (vec![7], 1));
    let gates = capture.stream(&source()).unwrap().gates().cloned().unwrap();
    assert!(gates.decay.is_none() && gates.rate.is_some());
    assert!(Capture::open(small(&[]).path()).unwrap().stream(&source()).unwrap().gates().is_none());
}

#[test]
fn gates_that_cannot_be_are_named() {
    let of = |shape: &[usize], numbers: &[f32]| message(&gated("layers.7.decay", shape, numbers), &source());
    let fine = [0.5; 6];
    assert_eq!(of(&[2, 3, 1], &fine), ": `layers.7.decay` is [2, 3, 1], but [2, 3], a number for each token, is expected");
    assert_eq!(of(&[3, 2], &fine), ": `layers.7.decay` is [3, 2], but [2, 3], a number for each token, is expected");
    let at_four = |x: f32| [0.5, 0.5, 0.5, 0.5, x, 0.5];
    let expected = ": `layers.7.decay` is 1.5 at [head 1, token 1], but a number from 0 to 1 is expected";
    assert_eq!(of(&[2, 3], &at_four(1.5)), expected);
    assert!(of(&[2, 3], &at_four(-0.5)).contains("is -0.5 at [head 1, token 1]"));
    assert!(of(&[2, 3], &at_four(f32::NAN)).contains("`layers.7.decay` holds NaN at [head 1, token 1, column 0]"));
    // The file's own head is named, also where it is the only one wanted.
    let file = gated("layers.7.decay", &[2, 3], &at_four(1.5));
    assert_eq!(message(&file, &CaptureSource { kv_heads: Some(vec![1]), ..source() }), expected);
}

#[test]
fn a_number_that_is_not_finite_is_found_in_the_files_own_tensor() {
    let mut numbers: Vec<f32> = (0..12).map(|i| i as f32).collect();
    numbers[9] = f32::NAN;
    let file = write(
        &[
            ("layers.7.q", Dtype::F32, &[4, 3, 2], counted(4, 2)),
            ("layers.7.k", Dtype::F32, &[2, 3, 2], f32s(numbers)),
            ("layers.7.v", Dtype::F32, &[2, 3, 1], counted(2, 1)),
        ],
        &[],
    );
    // Number 9 of [2, 3, 2] is head 1, token 1, column 1.
    let expected = ": `layers.7.k` holds NaN at [head 1, token 1, column 1], but every number must be finite in float32";
    assert_eq!(message(&file, &source()), expected);
    // The other head can be run.
    assert!(Capture::open(file.path()).unwrap().stream(&CaptureSource { kv_heads: Some(vec![0]), ..source() }).is_ok());
}

#[test]
fn metadata_that_cannot_be_understood_is_named() {
    let of = |key: &str, value: &str| message(&small(&[(key, value)]), &source());
    assert_eq!(of("tokens", r#"["a", 2]"#), ": the metadata's `tokens` is `[\"a\", 2]`, but a JSON list of texts is expected");
    assert_eq!(of("tokens", r#"["a"]"#), ": the metadata's `tokens` is a list of 1, but one of 3, a text for each token is expected");
    assert_eq!(of("needle", "[2, 1]"), ": the metadata's `needle` is `[2, 1]`, but a JSON pair [from, to) of token numbers is expected");
    assert_eq!(of("needle", "[2, 9]"), ": the metadata's `needle` is [2, 9], but a span within 3 tokens is expected");
    assert!(of("scale", "big").starts_with(": the metadata's `scale` is `big`"));
    assert!(of("scale", &"1/".repeat(100_000)).starts_with(": the metadata's `scale` is `1/1/"));
}

#[test]
fn a_file_cut_short_tells_its_sizes() {
    let file = small(&[]);
    let whole = std::fs::read(file.path()).unwrap();
    let cut = |bytes: usize| {
        std::fs::write(file.path(), &whole[..bytes]).unwrap();
        message(&file, &source())
    };
    let n = whole.len();
    assert_eq!(cut(n - 5), format!(": holds {} bytes, but its header tells of {n}: it is truncated", n - 5));
    let header = u64::from_le_bytes(*whole.first_chunk::<8>().unwrap()) as usize + 8;
    assert_eq!(cut(40), format!(": holds 40 bytes, but its header tells of {header}: it is truncated"));
    assert_eq!(cut(3), ": is not a safetensors file: it holds 3 bytes, fewer than the 8 of a header's length");
    assert_eq!(cut(0), ": is not a safetensors file: it holds 0 bytes, fewer than the 8 of a header's length");
    std::fs::write(file.path(), b"PK\x03\x04 something else altogether").unwrap();
    assert!(message(&file, &source()).starts_with(": is not a safetensors file"));
}

#[test]
fn the_summary_tells_what_can_be_used_and_what_cannot() {
    let summary = Capture::open(small(&[("model", "Tiny")]).path()).unwrap().summary();
    let layer = &summary.layers[0];
    assert_eq!((layer.layer, layer.tokens, layer.query_heads, layer.kv_heads, layer.group), (7, 3, 4, 2, 2));
    assert_eq!((layer.key_dim, layer.value_dim, &layer.problem), (2, 1, &None));
    assert!(summary.layers[1].problem.as_ref().unwrap().contains("`layers.10.q` is missing"));
    assert_eq!((summary.tensors.len(), summary.ignored().count()), (4, 0));
}
