//! Tests of the measures, on numbers that can be checked by hand.

#![allow(clippy::float_cmp, reason = "the numbers are exact in binary")]

use ndarray::{Array3, array};
use proptest::prelude::*;

use super::*;
use crate::layer::Cost;
use crate::stream::{Labels, StreamParts};
use crate::trace::{LaneTrace, TraceBlock, Values};

fn stream(heads: usize, after: &[u32], targets: Targets) -> Stream {
    Stream::new(StreamParts {
        keys: Array3::ones((1, 4, 2)),
        values: Array3::ones((1, 4, 2)),
        queries: Array3::ones((heads, after.len(), 2)),
        after: after.to_vec(),
        beta: 1.0,
        targets,
        labels: Labels::default(),
    })
    .unwrap()
}

fn codes() -> Targets {
    Targets::Codes { codebook: array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], target: vec![1, 0, 2] }
}

#[test]
fn the_nearest_code_is_the_answer_and_the_lower_wins_a_tie() {
    let s = stream(2, &[1, 2, 4], codes());
    // Reads 1 and 2 of two heads.
    let outputs = Values::F32(vec![0.75, 0.25, 0.0, 1.0, 0.0, 0.5, 3.0, -1.0]);
    let pieces = score(&s, 1..3, &outputs, None, 5);
    assert_eq!(pieces.iter().map(|p| (p.channel, p.range.clone())).collect::<Vec<_>>(), [(5, 1..3), (6, 1..3), (7, 1..3)]);
    // Codes 0 and 2 are the same vector: 0 wins.
    assert_eq!(pieces[0].values, Values::I32(vec![0, 1, 1, 0]));
    assert_eq!(pieces[1].values, Values::I32(vec![1, 0, 0, 0]));
    assert_eq!(pieces[2].values, Values::F32(vec![0.0, 1.0, 0.5, 0.0]));
}

#[test]
fn an_output_that_is_no_number_is_no_answer() {
    let s = stream(1, &[1, 2, 4], codes());
    let pieces = score(&s, 0..1, &Values::F32(vec![f32::NAN, 0.0]), None, 0);
    assert_eq!((&pieces[0].values, &pieces[1].values), (&Values::I32(vec![-1]), &Values::I32(vec![0])));
    assert!(pieces[2].values.get(0).unwrap().is_nan());
}

#[test]
fn errors_are_squared_distances() {
    let s = stream(1, &[1, 4], Targets::Values(array![[3.0, 4.0], [0.0, 2.0]]));
    let pieces = score(&s, 0..2, &Values::F64(vec![3.0, 1.0, 0.0, 0.0]), None, 0);
    assert_eq!(pieces[0].values, Values::F32(vec![9.0, 4.0]));
    assert_eq!(pieces[1].values, Values::F32(vec![25.0, 4.0]));
    // (9 + 4) / (sqrt 10 * 5); a zero output has no direction.
    assert_eq!(pieces[2].values, Values::F32(vec![(13.0 / (10.0_f64.sqrt() * 5.0)) as f32, 0.0]));
}

#[test]
fn a_captures_target_is_what_full_attention_returned() {
    let s = stream(2, &[1, 4], Targets::FullAttention);
    let full = Values::F32(vec![1.0, 0.0, 0.0, 1.0]);
    let pieces = score(&s, 1..2, &Values::F32(vec![1.0, 0.0, 1.0, 0.0]), Some(&full), 0);
    assert_eq!(pieces[0].values, Values::F32(vec![0.0, 2.0]));
    assert_eq!(pieces[2].values, Values::F32(vec![1.0, 0.0]));
}

fn trace(stream: &Stream, columns: &[Vec<f32>]) -> LaneTrace {
    let specs = channels(stream);
    let mut trace = LaneTrace::new(&specs, 1, stream.query_heads());
    let mut block = TraceBlock::default();
    for (at, column) in columns.iter().enumerate() {
        let values = match specs[at].kind {
            Kind::Real => Values::F32(column.clone()),
            Kind::Whole => Values::I32(column.iter().map(|&x| x as i32).collect()),
        };
        block.push(at, 0..column.len() / stream.query_heads(), values);
    }
    trace.append(&block).unwrap();
    trace
}

#[test]
fn relative_error_is_a_ratio_for_values_and_its_root_for_captures() {
    let columns = [vec![1.0, 4.0, 9.0, 2.0], vec![2.0, 2.0, 4.0, 8.0], vec![0.5, 0.5, 1.0, 0.0]];
    let of = |targets: Targets, reads| {
        let s = stream(2, &[1, 4], targets);
        let mut running = Running::new(s.targets()).unwrap();
        running.update(&trace(&s, &columns));
        running.over(0..2, reads)
    };
    let values = || Targets::Values(array![[1.0, 1.0], [1.0, 1.0]]);
    assert_eq!(of(values(), 0..2), Summary::Error { relative: 1.0, cosine: 0.5, reads: 4 });
    // Read 1 of both heads: (4 + 2) / (2 + 8).
    assert_eq!(of(values(), 1..2), Summary::Error { relative: 0.6, cosine: 0.25, reads: 2 });
    assert_eq!(of(Targets::FullAttention, 1..9).headline(), Some(0.6_f64.sqrt()));
    assert_eq!(of(values(), 2..2).headline(), None);
}

#[test]
fn wilsons_interval_is_the_textbooks() {
    // Newcombe 1998, table of method 3: 81 of 263 gives .2553 to .3662; 15 of 148 .0624 to .1605; 0 of 20 0 to .1611.
    for (correct, reads, low, high) in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (29, 29, 0.8830, 1.0)] {
        let (a, b) = Summary::Recall { correct, reads }.interval().unwrap();
        approx::assert_abs_diff_eq!(a, low, epsilon = 5e-5);
        approx::assert_abs_diff_eq!(b, high, epsilon = 5e-5);
    }
    assert_eq!(Summary::Recall { correct: 0, reads: 0 }.interval(), None);
}

#[test]
fn a_share_of_memory_is_against_all_pairs() {
    let s = stream(1, &[4], Targets::None);
    let cost = Cost { state_numbers: 4, ..Cost::default() };
    assert_eq!(memory_share(&cost, &s, &s), 0.25);
    // A state for each of two query heads is twice as much, of what full attention keeps once.
    let two = stream(2, &[4], Targets::None);
    assert_eq!((held(&cost, &two.repeated()), memory_share(&cost, &two.repeated(), &two)), (8, 0.5));
    assert!(channels(&s).is_empty() && Running::new(s.targets()).is_none());
}

proptest! {
    /// Sums over any range are those of a plain loop, however the trace came in.
    #[test]
    fn ranges_add_up(right in prop::collection::vec(prop::bool::ANY, 1..40), cut in 0usize..40, from in 0usize..45, to in 0usize..45) {
        let after = vec![4; right.len()];
        let s = stream(1, &after, Targets::Codes { codebook: array![[1.0, 0.0]], target: vec![0; right.len()] });
        let mut running = Running::new(s.targets()).unwrap();
        let mut trace = LaneTrace::new(&channels(&s), 1, 1);
        let cut = cut.min(right.len());
        for range in [0..cut, cut..right.len()] {
            let mut block = TraceBlock::default();
            block.push(1, range.clone(), Values::I32(right[range].iter().map(|&r| i32::from(r)).collect()));
            trace.append(&block).unwrap();
            running.update(&trace);
        }
        let held = from.min(to).min(right.len())..to.min(right.len());
        let expected = Summary::Recall { correct: right[held.clone()].iter().filter(|&&r| r).count() as u64, reads: held.len() as u64 };
        prop_assert_eq!(running.over(0..1, from.min(to)..to), expected);
    }
}
