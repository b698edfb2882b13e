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
fn what_is_no_number_is_loud_where_it_lies_and_nowhere_else() {
    let s = stream(1, &[1, 2, 3, 4], Targets::Values(array![[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]));
    let mut running = Running::new(s.targets()).unwrap();
    running.update(&trace(&s, &[vec![f32::NAN, 1.0, f32::INFINITY, 3.0], vec![2.0; 4], vec![0.5; 4]]));
    let relative = |reads| running.over(0..1, reads).headline().unwrap();
    assert!(relative(0..2).is_nan() && relative(0..4).is_nan());
    assert_eq!((relative(1..2), relative(3..4)), (0.5, 1.5));
    assert_eq!(relative(1..4), f64::INFINITY);
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

/// Eight writes; six reads with roles 0 or 1, of which reads 1, 3 and 4 are right.
fn binned() -> (Stream, LaneTrace) {
    let labels = Labels {
        roles: crate::stream::Roles {
            names: vec!["early".to_owned(), "late".to_owned()],
            of_write: vec![0; 32],
            of_read: vec![0, 1, 0, 1, 1, 0],
            marked: None,
        },
        answer_at: Some(vec![0, 3, 4, 0, 31, 15]),
        ..Labels::default()
    };
    let stream = Stream::new(StreamParts {
        keys: Array3::ones((1, 32, 2)),
        values: Array3::ones((1, 32, 2)),
        queries: Array3::ones((1, 6, 2)),
        after: vec![1, 5, 8, 9, 32, 32],
        beta: 1.0,
        targets: Targets::Codes { codebook: array![[1.0, 0.0], [0.0, 1.0]], target: vec![0; 6] },
        labels,
    })
    .unwrap();
    let mut trace = LaneTrace::new(&channels(&stream), 1, 1);
    let mut block = TraceBlock::default();
    block.push(1, 0..6, Values::I32(vec![0, 1, 0, 1, 1, 0]));
    trace.append(&block).unwrap();
    (stream, trace)
}

#[test]
fn reads_fall_into_bins_by_age_position_and_role() {
    use breakdown::{Bins, Breakdown, By};
    let (stream, trace) = binned();
    let scores = |by: By, reads: usize| {
        let bins = Bins::new(&stream, by).unwrap();
        let mut sums = Breakdown::new(&stream, &bins, 0).unwrap();
        sums.update(&bins, &trace, 6);
        // Backwards too, as the playhead goes.
        sums.update(&bins, &trace, reads);
        let each = bins.bins.iter().enumerate().map(|(i, bin)| match sums.summary(i) {
            Summary::Recall { correct, reads } => (bin.name.clone(), correct, reads),
            Summary::Error { .. } => panic!("codes"),
        });
        each.collect::<Vec<_>>()
    };
    let named = |list: &[(&str, u64, u64)]| list.iter().map(|(n, c, r)| ((*n).to_owned(), *c, *r)).collect::<Vec<_>>();
    // Ages 1, 2, 4, 9, 1, 17.
    assert_eq!(scores(By::Age, 6), named(&[("1", 1, 2), ("2 to 3", 1, 1), ("4 to 7", 0, 1), ("8 to 15", 1, 1), ("16 to 31", 0, 1)]));
    // Bins of two writes: the newest write that each sees is 0, 4, 7, 8, 31, 31.
    assert_eq!(scores(By::Read, 6), named(&[("0 to 1", 0, 1), ("4 to 5", 1, 1), ("6 to 7", 0, 1), ("8 to 9", 1, 1), ("30 to 31", 1, 2)]));
    assert_eq!(
        scores(By::Answer, 4),
        named(&[("0 to 1", 1, 2), ("2 to 3", 1, 1), ("4 to 5", 0, 1), ("14 to 15", 0, 0), ("30 to 31", 0, 0)])
    );
    assert_eq!(scores(By::Role, 6), named(&[("early", 0, 3), ("late", 3, 3)]));
    assert_eq!(scores(By::Role, 2), named(&[("early", 0, 1), ("late", 1, 1)]));
}

#[test]
fn errors_by_bin_are_those_of_all_the_bins_reads() {
    use breakdown::{Bins, Breakdown, By};
    let s = stream(1, &[1, 4, 4], Targets::Values(array![[3.0, 4.0], [0.0, 2.0], [0.0, 1.0]]));
    let mut trace = LaneTrace::new(&channels(&s), 1, 1);
    let mut block = TraceBlock::default();
    for (place, values) in [[9.0, 4.0, 1.0], [25.0, 4.0, 1.0], [0.5, 0.25, 0.75]].into_iter().enumerate() {
        block.push(place, 0..3, Values::F32(values.to_vec()));
    }
    trace.append(&block).unwrap();
    let bins = Bins::new(&s, By::Read).unwrap();
    let mut sums = Breakdown::new(&s, &bins, 0).unwrap();
    sums.update(&bins, &trace, 3);
    assert_eq!(sums.summary(0), Summary::Error { relative: 9.0 / 25.0, cosine: 0.5, reads: 1 });
    assert_eq!(sums.summary(1), Summary::Error { relative: 5.0 / 5.0, cosine: 0.5, reads: 2 });
    assert!(Bins::new(&s, By::Age).is_none() && Bins::new(&s, By::Answer).is_none(), "nobody knows which write holds the answer");
}
