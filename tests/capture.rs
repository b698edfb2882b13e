//! Captures that are damaged, or none at all: a sentence, never a crash; and whatever is read is what was written.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::HashMap;
use std::path::Path;

use mnemoscope::session::{CaptureSource, Session};
use mnemoscope::stream::capture::Capture;
use proptest::prelude::*;
use proptest::sample::Index;
use safetensors::tensor::{Dtype, TensorView};

/// A small whole capture: two key/value heads, four query heads.
fn whole() -> Vec<u8> {
    let bytes = |n: usize| (0..n).flat_map(|i| (i as f32 * 0.25 - 3.0).to_le_bytes()).collect::<Vec<u8>>();
    let (q, k, v) = (bytes(4 * 5 * 3), bytes(2 * 5 * 3), bytes(2 * 5 * 2));
    let tensor = |shape: [usize; 3], data| TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap();
    let tensors = [("layers.2.q", tensor([4, 5, 3], &q)), ("layers.2.k", tensor([2, 5, 3], &k)), ("layers.2.v", tensor([2, 5, 2], &v))];
    let meta =
        [("tokens", r#"["a","b","c","d","e"]"#), ("needle", "[1,3]"), ("answer", "c"), ("scale", "3^-0.5"), ("token_ids", "[1,2,3,4,5]")];
    let meta: HashMap<String, String> = meta.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    safetensors::serialize(tensors, Some(meta)).unwrap()
}

/// Reads a file in every way there is. Whatever comes back, it comes back.
fn read(bytes: &[u8], extension: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("x{extension}"));
    std::fs::write(&path, bytes).unwrap();
    match Capture::open(&path) {
        Ok(capture) => {
            let _ = capture.summary();
            for layer in capture.layers() {
                match capture.stream(&CaptureSource { layer: Some(layer), ..CaptureSource::of(&path) }) {
                    // A damaged file that is read nonetheless is a stream like any other.
                    Ok(stream) => assert!(stream.keys().iter().all(|x| x.is_finite())),
                    Err(error) => names(&error.to_string(), &path),
                }
            }
        }
        Err(error) => names(&error.to_string(), &path),
    }
    if let Err(error) = Session::open(&path) {
        names(&error.to_string(), &path);
    }
}

fn names(message: &str, path: &Path) {
    assert!(message.starts_with(&path.display().to_string()), "names no file: {message}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), extension in prop::sample::select(vec!["", ".safetensors", ".ron"])) {
        read(&bytes, extension);
    }

    /// A header's length that is right, and then anything.
    #[test]
    fn random_headers_never_panic(header in "\\{[ -~]{0,120}\\}", tail in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend(tail);
        read(&bytes, "");
    }

    #[test]
    fn a_capture_cut_anywhere_never_panics(at in any::<Index>()) {
        let bytes = whole();
        let at = at.index(bytes.len());
        read(&bytes[..at], ".safetensors");
        prop_assert!(at == bytes.len() || read_error(&bytes[..at]).contains("truncated") || at < 16);
    }

    #[test]
    fn a_capture_with_other_bytes_never_panics(changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6)) {
        let mut bytes = whole();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read(&bytes, "");
    }

    /// The header's words exchanged: other shapes, types, names and metadata.
    #[test]
    fn a_capture_with_another_header_never_panics(
        (from, to) in prop::sample::select(vec![
            ("[4,5,3]", "[5,4,3]"), ("[4,5,3]", "[60]"), ("[4,5,3]", "[4,0,3]"), ("[2,5,3]", "[3,2,5]"), ("[2,5,2]", "[2,2,5]"), ("[2,5,2]", "[]"),
            ("F32", "I32"), ("F32", "F64"), ("F32", "F16"), ("layers.2.q", "layers.3.q"), ("layers.2.q", "layers.02.q"), ("layers.2.q", "layers.99999999999.q"),
            ("[1,3]", "[3,1]"), ("[1,3]", "[0,99999999999999999999]"), ("3^-0.5", "1/0"), ("3^-0.5", "-1"), ("3^-0.5", "1e-300"), ("[1,2,3,4,5]", "{}"), ("\\\"e\\\"", "9"),
        ]),
        every in any::<bool>(),
    ) {
        let bytes = whole();
        let length = u64::from_le_bytes(*bytes.first_chunk::<8>().unwrap()) as usize;
        let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
        prop_assert!(header.contains(from), "{from} is not in {header}");
        let header = if every { header.replace(from, to) } else { header.replacen(from, to, 1) };
        let mut changed = (header.len() as u64).to_le_bytes().to_vec();
        changed.extend_from_slice(header.as_bytes());
        changed.extend_from_slice(&bytes[8 + length..]);
        read(&changed, ".safetensors");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any part of the bundled capture is that part of the whole.
    #[test]
    fn a_part_is_a_part(tokens in 1_usize..2048) {
        let capture = Capture::bundled().unwrap();
        let whole = capture.stream(&CaptureSource::bundled()).unwrap();
        let part = capture.stream(&CaptureSource { tokens: Some(tokens), ..CaptureSource::bundled() }).unwrap();
        let expected = whole.truncated(tokens);
        prop_assert_eq!(part.keys(), expected.keys());
        prop_assert_eq!(part.queries(), expected.queries());
        prop_assert_eq!(&part.labels().roles, &expected.labels().roles);
        prop_assert_eq!(part.after(), expected.after());
    }
}

fn read_error(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Capture::open(file.path()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn the_whole_capture_is_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), whole()).unwrap();
    let capture = Capture::open(file.path()).unwrap();
    let stream = capture.stream(&CaptureSource::of(file.path())).unwrap();
    assert_eq!((stream.kv_heads(), stream.query_heads(), stream.writes(), stream.key_dim(), stream.value_dim()), (2, 4, 5, 3, 2));
    assert_eq!(capture.facts().answer_tokens, Some(2..3));
}
