//! Scores and sizes in words, the same in the table, on hover and in what is copied.

use crate::metric::Summary;
use crate::widget::ticks::number;

/// The figures of a lane in words: `0.96 (0.81 to 0.99)`, or `0.414, cos 0.930`.
#[must_use]
pub fn figures(summary: Option<Summary>) -> String {
    match summary {
        None | Some(Summary::Recall { reads: 0, .. } | Summary::Error { reads: 0, .. }) => "–".to_owned(),
        Some(s @ Summary::Recall { correct, reads }) => {
            let (low, high) = s.interval().unwrap_or((0.0, 1.0));
            // Half a hundredth counts upwards: 1 of 8 is 0.13.
            let hundredths = (200 * correct + reads) / (2 * reads);
            format!("{}.{:02} ({low:.2} to {high:.2})", hundredths / 100, hundredths % 100)
        }
        Some(Summary::Error { relative, cosine, .. }) => format!("{relative:.3}, cos {}", fixed(cosine, 3)),
    }
}

/// A number with so many digits behind the point; what is rounded to nothing has no sign.
#[must_use]
pub fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(size) if size.chars().all(|c| matches!(c, '0' | '.')) => size.to_owned(),
        _ => text,
    }
}

/// The same with how many reads it is of: `0.96 (0.81 to 0.99), 24 of 25 reads`.
#[must_use]
pub fn counted(summary: Option<Summary>) -> String {
    match summary {
        None | Some(Summary::Recall { reads: 0, .. } | Summary::Error { reads: 0, .. }) => figures(None),
        Some(Summary::Recall { reads, correct }) => format!("{}, {correct} of {}", figures(summary), of_reads(reads)),
        Some(Summary::Error { reads, .. }) => format!("{}, {}", figures(summary), of_reads(reads)),
    }
}

fn of_reads(reads: u64) -> String {
    format!("{reads} {}", if reads == 1 { "read" } else { "reads" })
}

/// A difference with its sign, to so many digits; one that is too small for them is `+<0.01`, and only none at all is `0`.
#[must_use]
pub fn signed(difference: f64, digits: usize) -> String {
    let least = 10_f64.powi(-(digits as i32));
    let sign = if difference < 0.0 { "-" } else { "+" };
    match difference.abs() {
        0.0 => "0".to_owned(),
        size if size < least / 2.0 => format!("{sign}<{least:.digits$}"),
        size => format!("{sign}{size:.digits$}"),
    }
}

/// Numbers as bytes of float32: `80 KiB`.
#[must_use]
pub fn bytes(numbers: u64) -> String {
    let bytes = numbers * 4;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", number(bytes as f64 / 1024.0)),
        _ => format!("{} MiB", number(bytes as f64 / 1_048_576.0)),
    }
}

/// `8.3%`, `100%`, `<0.1%`.
#[must_use]
pub fn percent(share: f64) -> String {
    let p = 100.0 * share;
    if p >= 99.95 || p == 0.0 {
        format!("{p:.0}%")
    } else if p < 0.1 {
        "<0.1%".to_owned()
    } else if p < 10.0 {
        format!("{p:.1}%")
    } else {
        format!("{p:.0}%")
    }
}

/// Many, shortly: `950`, `12.3 k`, `4.2 M`.
#[must_use]
pub fn many(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{:.1} k", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} M", n as f64 / 1e6),
        _ => format!("{:.1} G", n as f64 / 1e9),
    }
}

/// A time: `1.24 ms`; `–` where it was not measured.
#[must_use]
pub fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "–".to_owned(),
        Some(s) if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        Some(s) if s < 1.0 => format!("{:.2} ms", s * 1e3),
        Some(s) => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(figures(None), "–");
        // 24 of 25: Wilson's interval is .805 to .993.
        assert_eq!(figures(Some(Summary::Recall { correct: 24, reads: 25 })), "0.96 (0.80 to 0.99)");
        // 1 of 8 is half-way between two hundredths: upwards. Wilson's interval is .022 to .471.
        assert_eq!(figures(Some(Summary::Recall { correct: 1, reads: 8 })), "0.13 (0.02 to 0.47)");
        assert_eq!(figures(Some(Summary::Recall { correct: 8, reads: 8 })), "1.00 (0.68 to 1.00)");
        assert_eq!(figures(Some(Summary::Error { relative: 0.414, cosine: 0.93, reads: 9 })), "0.414, cos 0.930");
        assert_eq!(counted(Some(Summary::Recall { correct: 8, reads: 8 })), "1.00 (0.68 to 1.00), 8 of 8 reads");
        assert_eq!(counted(Some(Summary::Error { relative: 0.414, cosine: 0.93, reads: 1 })), "0.414, cos 0.930, 1 read");
        assert_eq!(counted(Some(Summary::Recall { correct: 0, reads: 0 })), "–");
        assert_eq!((bytes(20_544), bytes(200), bytes(1 << 20)), ("80.25 KiB".into(), "800 B".into(), "4 MiB".into()));
        let zeros = [(-0.0004, 3), (-0.0, 2), (-0.0006, 3), (0.004, 2), (-1.0, 0)].map(|(x, n)| fixed(x, n));
        assert_eq!(zeros, ["0.000", "0.00", "-0.001", "0.00", "-1"]);
        let differences = [(0.0, 2), (-0.0625, 2), (0.004, 2), (-0.0004, 3), (0.005, 2), (1.0, 2)].map(|(d, n)| signed(d, n));
        assert_eq!(differences, ["0", "-0.06", "+<0.01", "-<0.001", "+0.01", "+1.00"]);
        let percents = [0.083, 1.0, 0.0004, 0.5].map(percent);
        assert_eq!(percents, ["8.3%", "100%", "<0.1%", "50%"]);
        assert_eq!([950, 12_345, 4_200_000].map(many), ["950", "12.3 k", "4.2 M"]);
        let times = [None, Some(2.5e-5), Some(0.001_24), Some(1.5)].map(time);
        assert_eq!(times, ["–", "25 µs", "1.24 ms", "1.50 s"]);
    }
}
