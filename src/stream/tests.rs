//! Tests of what makes a stream, and of what does not.

use super::*;

fn parts(hkv: usize, hq: usize, t: usize) -> StreamParts {
    StreamParts {
        keys: Array3::from_shape_fn((hkv, t, 3), |(h, i, d)| (h + 2 * i + d) as f32 + 1.0),
        values: Array3::ones((hkv, t, 2)),
        queries: Array3::ones((hq, t, 3)),
        after: (1..=t as u32).collect(),
        beta: 0.5,
        targets: Targets::None,
        labels: Labels::default(),
    }
}

#[test]
fn grouped_queries_read_their_own_head() {
    let stream = Stream::new(parts(3, 9, 4)).unwrap();
    assert_eq!((0..9).map(|h| stream.kv_head_of(h)).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn reads_belong_to_the_chunk_that_shows_them_their_last_write() {
    let mut p = parts(1, 1, 10);
    p.queries = Array3::ones((1, 4, 3));
    p.after = vec![1, 4, 5, 10];
    let stream = Stream::new(p).unwrap();
    assert_eq!((0..3).map(|c| stream.reads_within(stream.chunk_range(4, c))).collect::<Vec<_>>(), [0..2, 2..3, 3..4]);
    assert_eq!(stream.chunks(4), 3);
}

#[test]
fn what_does_not_fit_is_named() {
    let mut p = parts(2, 3, 4);
    assert_eq!(Stream::new(p.clone()).unwrap_err().to_string(), "queries is [3, 4, 3], but [a multiple of 2 heads, R, 3] is expected");
    p = parts(1, 1, 4);
    p.after = vec![1, 3, 2, 4];
    assert!(matches!(Stream::new(p.clone()), Err(StreamError::After { read: 2, value: 2, min: 3, .. })));
    p = parts(1, 1, 4);
    p.beta = f32::INFINITY;
    assert_eq!(Stream::new(p).unwrap_err().to_string(), "the logit scale is inf, but must be a finite number");
    p = parts(1, 1, 4);
    p.values[[0, 2, 1]] = f32::NAN;
    assert!(matches!(Stream::new(p), Err(StreamError::NotFinite { field: "values", head: 0, row: 2, column: 1, .. })));
    p = parts(1, 1, 2);
    p.labels.roles = Roles { names: vec!["hay".to_owned()], of_write: vec![0, 1], of_read: vec![0, 0], marked: None };
    assert_eq!(Stream::new(p).unwrap_err().to_string(), "roles is a list with the role 1, but one of 1 roles is expected");
}

#[test]
fn normalising_keeps_the_mean_scale_of_logits() {
    let stream = Stream::new(parts(1, 1, 5)).unwrap();
    let unit = stream.normalised();
    assert!(unit.is_unit(1e-6) && !stream.is_unit(1e-6));
    let mean_norm = stream.keys().rows().into_iter().map(|r| r.dot(&r).sqrt()).sum::<f32>() / 5.0;
    approx::assert_relative_eq!(unit.beta(), 0.5 * mean_norm * 3.0_f32.sqrt(), max_relative = 1e-6);
    assert_eq!(unit.labels().notes.len(), 1);
}
