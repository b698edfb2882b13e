//! The table of the recall panel as it is copied: as Markdown or CSV, with every number in full.

use std::fmt::Write as _;

use super::table::Line;
use crate::metric::{Scored, Summary};

/// The heads of what is copied, and the cells of a line: numbers as they are, not shortened.
fn cells(line: Option<&Line>, scored: Scored, branches: bool) -> Vec<String> {
    let Some(line) = line else {
        let score: &[&str] = match scored {
            Scored::Accuracy => &["accuracy", "low_95", "high_95"],
            Scored::Relative => &["relative_error", "cosine"],
            Scored::RelativeSquared => &["relative_squared_error", "cosine"],
        };
        let rest = ["reads", "state_numbers", "state_bytes", "share_of_full", "heads", "madds_a_write", "madds_a_read", "seconds_a_step"];
        let change: &[&str] = if branches { &["compared_with", "difference"] } else { &[] };
        return ["lane", "layer"].iter().chain(score).chain(&rest).chain(change).map(|s| (*s).to_owned()).collect();
    };
    let four = |x: f64| format!("{x:.4}");
    let mut out = vec![line.name.clone(), line.layer.to_owned()];
    let reads = match line.summary {
        Some(s @ Summary::Recall { reads, .. }) if reads > 0 => {
            let (low, high) = s.interval().unwrap_or((0.0, 1.0));
            out.extend([s.headline().unwrap_or(0.0), low, high].map(four));
            reads
        }
        Some(Summary::Error { relative, cosine, reads }) if reads > 0 => {
            out.extend([relative, cosine].map(four));
            reads
        }
        _ => {
            out.extend(vec![String::new(); if scored == Scored::Accuracy { 3 } else { 2 }]);
            0
        }
    };
    out.extend([reads, line.all, line.all * 4].map(|n| n.to_string()));
    out.push(four(line.share));
    out.push(line.heads.to_string());
    out.extend([line.write, line.read].map(|n| n.to_string()));
    out.push(line.seconds.map_or_else(String::new, |s| format!("{s:.3e}")));
    if branches {
        let change = line.change.as_ref();
        out.push(change.map_or_else(String::new, |c| c.name.clone()));
        out.push(change.and_then(|c| c.difference(line.summary)).map_or_else(String::new, |d| format!("{d:+.4}")));
    }
    out
}

/// The table as Markdown.
#[must_use]
pub fn markdown(lines: &[Line], scored: Scored) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "));
    let branches = lines.iter().any(|l| l.change.is_some());
    let heads = cells(None, scored, branches);
    let mut out = row(&heads);
    let _ = writeln!(out, "|---|---|{}", "---:|".repeat(heads.len() - 2));
    for line in lines {
        out += &row(&cells(Some(line), scored, branches));
    }
    out
}

/// The table as CSV (RFC 4180, but for line ends of one character).
#[must_use]
pub fn csv(lines: &[Line], scored: Scored) -> String {
    let branches = lines.iter().any(|l| l.change.is_some());
    let quoted = |c: &String| if c.contains([',', '"', '\n', '\r']) { format!("\"{}\"", c.replace('"', "\"\"")) } else { c.clone() };
    std::iter::once(None)
        .chain(lines.iter().map(Some))
        .fold(String::new(), |out, line| out + &cells(line, scored, branches).iter().map(quoted).collect::<Vec<_>>().join(",") + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::change::Change;
    use super::super::table::tests::line;
    use super::*;

    #[test]
    fn what_is_copied_has_every_number_and_survives_odd_names() {
        let lines = [line(0, "a, \"b\" | c", 4, 500), line(1, "d", 100, 100)];
        // 4 of 8: Wilson's interval is .2152 to .7848.
        assert_eq!(
            csv(&lines, Scored::Accuracy),
            "lane,layer,accuracy,low_95,high_95,reads,state_numbers,state_bytes,share_of_full,heads,madds_a_write,madds_a_read,seconds_a_step\n\
             \"a, \"\"b\"\" | c\",ovq,0.5000,0.2152,0.7848,8,500,2000,0.5000,2,30,40,\nd,ovq,,,,0,100,400,0.1000,2,30,40,\n"
        );
        let markdown = markdown(&lines, Scored::Accuracy);
        assert!(markdown.contains("|---|---|---:|") && markdown.contains("| a, \"b\" \\| c | ovq | 0.5000 | 0.2152 |"), "{markdown}");
        assert_eq!(markdown.lines().count(), 4);
        // A branch says what it is compared with, and by how much it differs: 4 of 8 less 6 of 8.
        let mut branch = lines[0].clone();
        let base = Some(Summary::Recall { correct: 6, reads: 8 });
        branch.change = Some(Change { lane: 1, name: "d".to_owned(), hands: Vec::new(), summary: base });
        let copied = csv(&[branch, lines[1].clone()], Scored::Accuracy);
        let ends: Vec<bool> =
            copied.lines().zip([",compared_with,difference", ",d,-0.2500", ",,"]).map(|(l, end)| l.ends_with(end)).collect();
        assert_eq!(ends, [true; 3], "{copied}");
        let heads = [Scored::Relative, Scored::RelativeSquared].map(|scored| csv(&[], scored));
        assert!(heads[0].starts_with("lane,layer,relative_error,cosine,reads,"), "{}", heads[0]);
        assert!(heads[1].starts_with("lane,layer,relative_squared_error,cosine,reads,"), "{}", heads[1]);
    }
}
