//! Ticks: round numbers along an axis, linear or logarithmic, and how numbers are written.

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal lengths.
    Linear,
    /// Equal ratios are equal lengths; only numbers above zero have a place.
    Log,
}

/// Round numbers within `min..=max`, about `wanted` of them, in ascending order.
///
/// Linear: steps of 1, 2 or 5 times a power of ten (whole numbers only, with `whole`). Logarithmic: powers of ten, with 2 and
/// 5 between them where there is room.
#[must_use]
pub fn ticks(min: f64, max: f64, scale: Scale, wanted: usize, whole: bool) -> Vec<f64> {
    if !(min.is_finite() && max.is_finite() && min <= max) || wanted == 0 {
        return Vec::new();
    }
    match scale {
        Scale::Linear => linear(min, max, wanted, whole),
        Scale::Log if min > 0.0 => logarithmic(min, max, wanted),
        Scale::Log => Vec::new(),
    }
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

fn logarithmic(min: f64, max: f64, wanted: usize) -> Vec<f64> {
    let (low, high) = ((min.log10() - 1e-9).floor() as i32, (max.log10() + 1e-9).ceil() as i32);
    let decades = (max / min).log10().max(1e-9);
    let within = |list: Vec<f64>| list.into_iter().filter(|v| *v >= min * 0.999_999 && *v <= max * 1.000_001).collect::<Vec<_>>();
    let fill = |multiples: &[f64]| within((low..=high).flat_map(|e| multiples.iter().map(move |m| m * 10_f64.powi(e))).collect());
    if decades * 3.0 <= wanted as f64 {
        let few = fill(&[1.0, 2.0, 5.0]);
        // Less than half a decade: no power of ten may be in sight, so the axis is read like a linear one.
        return if few.len() >= 2 { few } else { linear(min, max, wanted, false) };
    }
    let every = ((decades / wanted as f64).ceil() as i32).max(1);
    within((low..=high).filter(|e| e.rem_euclid(every) == 0).map(|e| 10_f64.powi(e)).collect())
}

/// A number for an axis or a label: whole numbers whole, others with as many digits as tell them apart.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "infinity" } else { "-infinity" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    if value.fract() == 0.0 {
        return (value as i64).to_string();
    }
    // Four significant digits, without the zeros that say nothing.
    let digits = (3 - size.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The numbers of [`ticks`] along one axis as they are written at it: like [`number`], with more digits where that would not tell them
/// apart, or would put one in a wrong place.
#[must_use]
pub fn labels(ticks: &[f64]) -> Vec<String> {
    let step = ticks.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let plain: Vec<String> = ticks.iter().map(|t| number(*t)).collect();
    let off = |(text, tick): (&String, &f64)| text.parse::<f64>().is_ok_and(|shown| (shown - tick).abs() > step * 1e-3);
    let apart = step.is_finite() && step > 0.0;
    if !apart || !plain.iter().zip(ticks).any(off) {
        return plain;
    }
    // As many decimals as the step has: it is 1, 2 or 5 times a power of ten.
    let digits = (-(step * 1.000_001).log10().floor()).clamp(0.0, 17.0) as usize;
    ticks.iter().map(|t| format!("{t:.digits$}")).collect()
}

/// A whole number of many digits in groups of three, for sentences and tables: `1 048 576`. No line ends between the groups.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn ticks_of_a_narrow_axis_are_told_apart() {
        let of = |min: f64, max: f64| labels(&ticks(min, max, Scale::Linear, 4, false));
        assert_eq!(of(-1.0, 1.0), ["-1", "-0.5", "0", "0.5", "1"]);
        assert_eq!(of(1.2341, 1.2349), ["1.2342", "1.2344", "1.2346", "1.2348"], "four digits would say 1.234 and 1.235");
        assert_eq!(of(-0.412_16, -0.412_04), ["-0.41215", "-0.41210", "-0.41205"]);
        assert_eq!(labels(&ticks(1.0, 1000.0, Scale::Log, 4, false)), ["1", "10", "100", "1000"]);
        assert_eq!((labels(&[0.333_333]), labels(&[])), (vec!["0.3333".to_owned()], vec![]));
    }

    #[test]
    fn numbers_read_well() {
        let cases =
            [(0.0, "0"), (2048.0, "2048"), (0.5, "0.5"), (13.6789, "13.68"), (0.012_34, "0.01234"), (1e9, "1.00e9"), (1.0 / 3.0, "0.3333")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!((grouped(7), grouped(1_048_576), grouped(999)), ("7".into(), "1\u{a0}048\u{a0}576".into(), "999".into()));
    }
}
