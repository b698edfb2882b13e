//! Ticks: round numbers along an axis, linear or logarithmic, and how numbers are written.

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal lengths.
    Linear,
    /// Equal ratios are equal lengths; only numbers above zero have a place.
    Log,
}

/// Significant digits of a number that is not whole: what a hover says must be enough to compare by.
const SIGNIFICANT: i32 = 4;
/// Numbers smaller than this are written with a power of ten.
const SMALLEST: f64 = 1e-4;
/// Numbers from here on are written with a power of ten.
const LARGEST: f64 = 1e7;
/// Between groups of three digits.
const GROUP: char = '\u{a0}';
/// The sign of what is below zero.
const MINUS: char = '\u{2212}';

/// Round numbers within `min..=max`, about `wanted` of them, in ascending order: never more than two above it.
///
/// Linear: steps of 1, 2 or 5 times a power of ten (whole numbers only, with `whole`). Logarithmic: powers of ten, with 2 and
/// 5 between them where there is room. A scale is read off two numbers: where two are wanted there are at least two, by finer steps than
/// that or, at last, at the ends of the axis; but for an axis of no length, or of whole numbers that has no two of them.
#[must_use]
pub fn ticks(min: f64, max: f64, scale: Scale, wanted: usize, whole: bool) -> Vec<f64> {
    if !(min.is_finite() && max.is_finite() && min <= max) || wanted == 0 || (scale == Scale::Log && min <= 0.0) {
        return Vec::new();
    }
    let first = match scale {
        Scale::Linear => linear(min, max, wanted, whole),
        Scale::Log => logarithmic(min, max, wanted, whole),
    };
    if first.len() >= 2 || wanted < 2 || min >= max { first } else { finer(min, max, scale, wanted, whole).unwrap_or(first) }
}

fn linear(min: f64, max: f64, wanted: usize, whole: bool) -> Vec<f64> {
    let span = max - min;
    if span <= 0.0 {
        return vec![min];
    }
    let raw = span / wanted as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let mut step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw * 0.999_999).unwrap_or(10.0 * power);
    if whole {
        step = step.max(1.0).round();
    }
    let first = (min / step - 1e-9).ceil() as i64;
    let last = (max / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn logarithmic(min: f64, max: f64, wanted: usize, whole: bool) -> Vec<f64> {
    let decades = (max / min).log10().max(1e-9);
    if decades * 3.0 <= wanted as f64 {
        let few = multiples(min, max, &[1.0, 2.0, 5.0], 1, whole);
        // Less than half a decade: no power of ten may be in sight, so the axis is read like a linear one.
        return if few.len() >= 2 { few } else { linear(min, max, wanted, whole) };
    }
    let every = ((decades / wanted as f64).ceil() as i32).max(1);
    multiples(min, max, &[1.0], every, whole)
}

/// These multiples of every so manieth power of ten, within the axis.
fn multiples(min: f64, max: f64, of: &[f64], every: i32, whole: bool) -> Vec<f64> {
    let (low, high) = ((min.log10() - 1e-9).floor() as i32, (max.log10() + 1e-9).ceil() as i32);
    let powers = (low..=high).filter(|e| e.rem_euclid(every) == 0).map(|e| 10_f64.powi(e));
    let all = powers.flat_map(|power| of.iter().map(move |m| m * power));
    all.filter(|v| *v >= min * 0.999_999 && *v <= max * 1.000_001 && (!whole || *v >= 0.999)).collect()
}

/// At least two numbers of an axis that has no two by the usual steps; `None` where there are no two whole ones.
fn finer(min: f64, max: f64, scale: Scale, wanted: usize, whole: bool) -> Option<Vec<f64>> {
    let share = |v: f64| match scale {
        Scale::Linear => (v - min) / (max - min),
        Scale::Log => (v / min).ln() / (max / min).ln(),
    };
    let decades: [&[f64]; 3] = [&[1.0], &[1.0, 5.0], &[1.0, 2.0, 5.0]];
    let powers = decades.into_iter().filter(|_| scale == Scale::Log).map(|of| multiples(min, max, of, 1, whole));
    let steps = [2, 4, 8, 16].into_iter().map(|more| linear(min, max, wanted * more, whole));
    match powers.chain(steps).find(|list| list.len() >= 2) {
        Some(list) => Some(spread(&list, share, 0.9 / wanted as f64)),
        None => (!whole).then(|| vec![min, max]),
    }
}

/// Those of two or more numbers that are at least a `gap` apart on the axis; if that is one alone, the first and the last.
fn spread(list: &[f64], share: impl Fn(f64) -> f64, gap: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    for &value in list {
        if kept.last().is_none_or(|last| share(value) - share(*last) >= gap) {
            kept.push(value);
        }
    }
    if kept.len() >= 2 { kept } else { list.first().into_iter().chain(list.last()).copied().collect() }
}

/// A number for an axis or a label, one way everywhere: whole numbers whole, others with four significant digits, without the zeros that
/// say nothing; groups of three from 10 000 on; powers of ten (`1.23e−5`, which can be typed back in) below 0.0001 and from ten
/// million on; a true minus. It is for reading: what a program reads back is never written with it.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let text = if size.is_infinite() {
        "infinity".to_owned()
    } else if is_power(value) {
        power(size, 2)
    } else if size.fract() == 0.0 {
        grouped(size as u64)
    } else {
        let digits = (SIGNIFICANT - 1 - size.log10().floor() as i32).clamp(0, 8) as usize;
        trimmed(&fixed(size, digits)).to_owned()
    };
    signed(value, text)
}

/// True if a number is written with a power of ten.
fn is_power(value: f64) -> bool {
    let size = value.abs();
    size > 0.0 && !(SMALLEST..LARGEST).contains(&size)
}

/// A number above zero with a power of ten and at most so many decimals before it: `1e9`, `1.23e−5`.
fn power(size: f64, decimals: usize) -> String {
    let text = format!("{size:.decimals$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{}", trimmed(digits), exponent.replace('-', &MINUS.to_string()))
}

/// A number above zero with so many decimals, its whole part in groups.
fn fixed(size: f64, decimals: usize) -> String {
    let text = format!("{size:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", in_groups(whole)),
        None => in_groups(&text),
    }
}

/// Without the zeros that end its decimals.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// With a minus if the number is below zero and what is written of it is not nothing.
fn signed(value: f64, text: String) -> String {
    let nothing = !text.bytes().any(|c| matches!(c, b'1'..=b'9' | b'i'));
    if value < 0.0 && !nothing { format!("{MINUS}{text}") } else { text }
}

/// The numbers of [`ticks`] along one axis as they are written at it: like [`number`], with more digits where that would not tell them
/// apart, or would put one in a wrong place; and where one is written with a power of ten, so are all that are below 1 or from 10 000 on.
#[must_use]
pub fn labels(ticks: &[f64]) -> Vec<String> {
    let step = ticks.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let apart = step.is_finite() && step > 0.0;
    // The place of the step's first digit: it is 1, 2 or 5 times a power of ten.
    let place = if apart { (step * 1.000_001).log10().floor() } else { f64::NEG_INFINITY };
    if ticks.iter().any(|t| is_power(*t)) {
        let write = |t: &f64| {
            let size = t.abs();
            if size == 0.0 || (1.0..1e4).contains(&size) {
                return number(*t);
            }
            // One more than the step needs: of a finer step every second or third number may have been kept.
            let decimals = if apart { (size.log10().floor() - place + 1.0).clamp(0.0, 15.0) as usize } else { 2 };
            signed(*t, power(size, decimals))
        };
        return ticks.iter().map(write).collect();
    }
    let plain: Vec<String> = ticks.iter().map(|t| number(*t)).collect();
    let off = |(text, tick): (&String, &f64)| read(text).is_some_and(|shown| (shown - tick).abs() > step * 1e-3);
    let wrong = |texts: &[String]| texts.iter().zip(ticks).any(off);
    if !apart || !wrong(&plain) {
        return plain;
    }
    // As many decimals as the step has; more where not all numbers are multiples of it.
    let digits = (-place).clamp(0.0, 15.0) as usize;
    let with = |digits: usize| ticks.iter().map(|t| signed(*t, fixed(t.abs(), digits))).collect::<Vec<_>>();
    (digits..digits + 2).map(with).find(|texts| !wrong(texts)).unwrap_or_else(|| with(digits + 2))
}

/// What [`number`] has written.
fn read(text: &str) -> Option<f64> {
    text.replace(MINUS, "-").replace(GROUP, "").parse().ok()
}

/// A whole number, from 10 000 on in groups of three digits with spaces between them at which no line ends, for sentences and tables: `1 048 576`.
#[must_use]
pub fn grouped(value: u64) -> String {
    in_groups(&value.to_string())
}

/// Digits in groups of three; four digits are one group.
fn in_groups(digits: &str) -> String {
    if digits.len() < 5 {
        return digits.to_owned();
    }
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(GROUP);
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn linear_ticks_are_round_and_within() {
        assert_eq!(ticks(0.0, 2048.0, Scale::Linear, 5, true), [0.0, 500.0, 1000.0, 1500.0, 2000.0]);
        assert_eq!(ticks(0.0, 1.0, Scale::Linear, 5, false).len(), 6);
        // Four tokens: never a tick at half a token.
        assert_eq!(ticks(0.0, 4.0, Scale::Linear, 10, true), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(ticks(-1.0, 1.0, Scale::Linear, 2, false), [-1.0, 0.0, 1.0]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_with_two_and_five_where_there_is_room() {
        assert_eq!(ticks(1.0, 1000.0, Scale::Log, 4, false), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(1.0, 10.0, Scale::Log, 5, false), [1.0, 2.0, 5.0, 10.0]);
        assert!(ticks(3.1, 4.4, Scale::Log, 4, false).len() >= 2, "less than half a decade still has ticks");
        assert!(ticks(0.0, 10.0, Scale::Log, 4, false).is_empty(), "zero has no place on a logarithmic axis");
        // Counts: half a write is no place for a tick.
        assert_eq!(ticks(0.4, 12.0, Scale::Log, 5, true), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn a_scale_has_two_numbers() {
        // By steps of 0.5 only 1 is in sight; by 0.2 there are 0.8, 1 and 1.2, of which two are far enough apart.
        assert_eq!(labels(&ticks(0.63, 1.35, Scale::Linear, 2, false)), ["0.8", "1.2"]);
        // 10 alone is a power of ten; halves of them are 5, 10, 50, and 5 to 10 is a fifth of the axis.
        assert_eq!(ticks(2.0, 50.0, Scale::Log, 2, false), [5.0, 50.0]);
        assert_eq!(ticks(2.0, 50.0, Scale::Log, 4, false), [5.0, 50.0]);
        assert_eq!(ticks(2.0, 300.0, Scale::Log, 2, false), [10.0, 100.0], "not 100 alone, every second power");
        assert_eq!(ticks(0.2, 1.7, Scale::Linear, 4, true), [1.0], "there is but one whole number");
        assert_eq!(ticks(5.0, 5.0, Scale::Linear, 4, false), [5.0], "nor has an axis of no length two");
    }

    proptest! {
        #[test]
        fn every_axis_has_two_ticks_that_are_told_apart(
            start in -1e5_f64..1e5, span in -3.0_f64..5.0, wanted in 2_usize..13, whole: bool, log: bool,
        ) {
            let span = 10_f64.powf(span);
            // A logarithmic axis from 1e-5 on, over up to eight decades or nearly none.
            let (min, max, scale) = if log {
                let min = 10_f64.powf(start / 2e4);
                (min, min * (1.0 + span), Scale::Log)
            } else {
                (start, start + span, Scale::Linear)
            };
            let list = ticks(min, max, scale, wanted, whole);
            let near = 1e-6 * min.abs().max(max.abs());
            prop_assert!(list.windows(2).all(|w| w[0] < w[1]), "{list:?}");
            prop_assert!(list.iter().all(|t| *t >= min - near && *t <= max + near), "{list:?} in {min}..{max}");
            prop_assert!(list.len() <= wanted + 2, "{wanted} wanted: {list:?}");
            if whole {
                prop_assert!(list.iter().all(|t| (t - t.round()).abs() < 1e-6), "{list:?}");
            }
            if !whole || max.floor() - min.ceil() >= 1.0 {
                prop_assert!(list.len() >= 2, "{list:?} in {min}..{max}");
            }
            let texts = labels(&list);
            let different: std::collections::BTreeSet<&String> = texts.iter().collect();
            prop_assert_eq!(different.len(), list.len(), "{:?}", texts);
        }

        #[test]
        fn a_number_is_read_back_to_four_digits(digits in -9.999_f64..9.999, exponent in -12_i32..12) {
            let value = digits * 10_f64.powi(exponent);
            let text = number(value);
            // A power of ten has three digits, of which the last is off by half at most.
            let near = if is_power(value) { 0.005 } else { 0.0005 };
            prop_assert!((read(&text).unwrap() - value).abs() <= value.abs() * near * 1.001, "{value} as {text}");
            prop_assert!(!text.contains('-') && !text.starts_with('.'), "{text}");
        }
    }

    #[test]
    fn ticks_of_a_narrow_axis_are_told_apart() {
        let of = |min: f64, max: f64| labels(&ticks(min, max, Scale::Linear, 4, false));
        assert_eq!(of(-1.0, 1.0), ["−1", "−0.5", "0", "0.5", "1"]);
        assert_eq!(of(1.2341, 1.2349), ["1.2342", "1.2344", "1.2346", "1.2348"], "four digits would say 1.234 and 1.235");
        assert_eq!(of(-0.412_16, -0.412_04), ["−0.41215", "−0.41210", "−0.41205"]);
        assert_eq!(labels(&ticks(1.0, 1000.0, Scale::Log, 4, false)), ["1", "10", "100", "1000"]);
        assert_eq!((labels(&[0.333_333]), labels(&[])), (vec!["0.3333".to_owned()], vec![]));
        // Every second number of a step of 0.005: a hundredth apart, but no hundredths.
        assert_eq!(labels(&[24_992.505, 24_992.515]), ["24\u{a0}992.505", "24\u{a0}992.515"]);
    }

    #[test]
    fn an_axis_is_written_in_one_way() {
        // By itself 0.0001 has no power of ten; beside 0.00001 it has.
        assert_eq!(labels(&[1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0]), ["1e−5", "1e−4", "1e−3", "1e−2", "1e−1", "1", "10"]);
        assert_eq!(labels(&[0.0, 5e-5, 1e-4, 1.5e-4]), ["0", "5e−5", "1e−4", "1.5e−4"]);
        assert_eq!(labels(&[1.0, 100.0, 1e4, 1e6, 1e8]), ["1", "100", "1e4", "1e6", "1e8"]);
        assert_eq!(labels(&[-2e-5, 0.0, 2e-5]), ["−2e−5", "0", "2e−5"]);
        assert_eq!(labels(&[1e-4, 1e-3, 0.01]), ["0.0001", "0.001", "0.01"], "none needs a power of ten");
        assert_eq!(labels(&[5000.0, 10_000.0, 15_000.0]), ["5000", "10\u{a0}000", "15\u{a0}000"]);
    }

    #[test]
    fn numbers_read_well() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (2048.0, "2048"),
            (65_536.0, "65\u{a0}536"),
            (-12_345.6, "−12\u{a0}346"),
            (0.5, "0.5"),
            (-0.5, "−0.5"),
            (13.6789, "13.68"),
            (0.012_34, "0.01234"),
            (1e9, "1e9"),
            (-0.000_012_3, "−1.23e−5"),
            (1.0 / 3.0, "0.3333"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "−infinity"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        let groups = [7, 999, 4160, 9999, 10_000, 1_048_576].map(grouped);
        assert_eq!(groups, ["7", "999", "4160", "9999", "10\u{a0}000", "1\u{a0}048\u{a0}576"]);
    }
}
