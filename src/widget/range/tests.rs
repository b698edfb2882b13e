//! Counts, ranges and places on numbers small enough to be worked out by hand.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]

use super::model::{Extent, with_end};
use super::spread::BARS;
use super::{Range, RangeControl, Reading, Spread};
use crate::widget::palette::{Ink, Map};

fn spread(numbers: &[f32]) -> Spread {
    Spread::of(numbers.iter().copied())
}

#[test]
fn what_is_no_number_is_counted_and_no_end() {
    let s = spread(&[1.0, f32::NAN, -2.0, f32::INFINITY, 0.5, f32::NEG_INFINITY]);
    assert_eq!((s.finite, s.nan, s.infinite, s.ends, s.least), (3, 1, 2, Some([-2.0, 1.0]), Some(0.5)));
    assert_eq!(s.loud(), "1 NaN, 2 infinite");
    assert_eq!(s.bars.iter().sum::<u32>(), 3);
    assert_eq!(s.log_bars.iter().sum::<u32>(), 2, "a number below zero has no logarithm");
    assert_eq!((s.bars[0], s.bars[BARS - 1]), (1, 1));
    let none = spread(&[f32::NAN]);
    assert_eq!((none.ends, none.middle), (None, None));
    assert_eq!(RangeControl::default().range(&none), Range { min: 0.0, max: 1.0, reading: Reading::Linear });
}

#[test]
fn the_range_follows_the_numbers_until_it_is_chosen() {
    let (positive, signed) = (spread(&[1.0, 4.0, 100.0]), spread(&[-3.0, 2.0]));
    let mut control = RangeControl::default();
    assert_eq!(control.range(&positive), Range { min: 1.0, max: 100.0, reading: Reading::Linear });
    assert_eq!(control.range(&signed), Range { min: -3.0, max: 3.0, reading: Reading::Symmetric });
    control.read(Reading::Log);
    assert_eq!(control.range(&positive).reading, Reading::Log);
    assert_eq!(control.range(&signed), Range { min: 2.0, max: 2.0, reading: Reading::Log }, "from the least above zero");
    assert_eq!(control.range(&spread(&[-3.0, -1.0])).reading, Reading::Linear, "no ratio below zero");
    control.choose([50.0, 2.0]);
    assert_eq!(control.range(&positive), Range { min: 2.0, max: 50.0, reading: Reading::Log });
    control.choose([f32::NAN, 1.0]);
    assert_eq!((control.range(&positive).min, control.range(&positive).max), (2.0, 50.0), "no number is no end");
    control.fit();
    assert_eq!(control.range(&positive).max, 100.0);
    control.reset();
    assert_eq!(control, RangeControl::default());
}

#[test]
fn percentiles_leave_the_far_ends_out() {
    // 0 to 999, and one that is a million.
    let numbers: Vec<f32> = (0..1000).map(|i| i as f32).chain([1e6]).collect();
    let mut control = RangeControl::default();
    control.clip();
    let range = control.range(&spread(&numbers));
    assert_eq!((range.min, range.max), (10.0, 990.0));
}

#[test]
fn a_few_large_numbers_crowd_the_others() {
    // A thousand numbers of both signs up to 49.95, and five that are larger: of 1005 the 99th percentile is the 995th, 49.7.
    let crowd = |largest: f32| -> Vec<f32> {
        let small = (0..500).flat_map(|i| [i as f32 * 0.1, (i as f32 + 0.5) * -0.1]);
        small.chain(std::iter::repeat_n(-largest, 5)).collect()
    };
    let s = spread(&crowd(1000.0));
    assert_eq!((s.reach(), s.is_crowded()), (1000.0, true));
    assert!(s.far.is_some_and(|far| (far - 49.7).abs() < 0.2), "{:?}", s.far);
    assert!(!spread(&crowd(900.0)).is_crowded(), "5% of 900 is 45");
    // Flags are no crowd, whatever their number: nothing lies between.
    let flags: Vec<f32> = (0..1000).map(|i| f32::from(u8::from(i == 3))).collect();
    assert!(!spread(&flags).is_crowded() && !spread(&[]).is_crowded() && !spread(&[2.0]).is_crowded());
}

#[test]
fn an_end_never_passes_the_other_and_about_zero_both_move() {
    let linear = Range { min: 1.0, max: 4.0, reading: Reading::Linear };
    assert_eq!((with_end(linear, true, 9.0), with_end(linear, false, 0.0)), ([4.0, 4.0], [1.0, 1.0]));
    let about = Range { min: -4.0, max: 4.0, reading: Reading::Symmetric };
    assert_eq!(with_end(about, true, -2.0), [-2.0, 2.0]);
    let log = Range { min: 1.0, max: 4.0, reading: Reading::Log };
    assert_eq!(with_end(log, true, -2.0), [1.0, 4.0], "no place for it");
}

#[test]
fn places_go_there_and_back_and_zero_is_in_the_middle() {
    let range = Range { min: -3.0, max: 3.0, reading: Reading::Symmetric };
    let axis = Extent::new(&spread(&[-3.0, 2.0]), range);
    assert!((axis.share(0.0) - 0.5).abs() < 1e-9 && (axis.value(1.0) - 3.0).abs() < 1e-6);
    let log = Extent::new(&spread(&[1.0, 100.0]), Range { min: 1.0, max: 100.0, reading: Reading::Log });
    assert!((log.share(10.0) - 0.5).abs() < 1e-9 && (log.value(0.5) - 10.0).abs() < 1e-4);
    let flat = Extent::new(&spread(&[7.0, 7.0]), Range { min: 7.0, max: 7.0, reading: Reading::Linear });
    assert!((flat.share(7.0) - 0.5).abs() < 1e-9);
}

#[test]
fn zero_has_the_middle_colour_of_the_diverging_map() {
    let visuals = eframe::egui::Visuals::dark();
    let ink = Ink::for_visuals(&visuals);
    let range = RangeControl::default().range(&spread(&[-1.0, 5.0]));
    assert_eq!(range.colours(&ink).of(Some(0.0)), Map::PurpleOrange.colour(0.5));
    assert_eq!(range.colours(&ink).of(Some(-5.0)), Map::PurpleOrange.colour(0.0));
}
