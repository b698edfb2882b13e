//! What was done by hand has changed in a lane's score: a branch beside the lane that is the same without it.

use super::words::signed;
use crate::metric::{CORRECT, Summary};
use crate::panel::Look;
use crate::panel::common::plural;
use crate::session::hand::{self, Hand};

/// What a branch is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The lane's place among those that run.
    pub lane: usize,
    /// Its name.
    pub name: String,
    /// What was done by hand to the branch and not to it.
    pub hands: Vec<Hand>,
    /// Its score over the reads that the branch's is of: those that every lane has answered.
    pub summary: Option<Summary>,
}

/// For each lane, the one that it is compared with, and what was done by hand to it and not to that one: see [`hand::base`].
#[must_use]
pub fn bases(look: &Look<'_>) -> Vec<Option<(usize, Vec<Hand>)>> {
    let specs = &look.plan.session.lanes;
    let base = |index: usize| {
        let at = hand::base(specs, index)?;
        let hands = hand::without(&specs[index].hands, &specs[at].hands)?;
        Some((look.lanes.iter().position(|l| l.plan.index == at)?, hands))
    };
    look.lanes.iter().map(|l| base(l.plan.index)).collect()
}

impl Change {
    /// The branch's score minus that of the lane that it is compared with. `None` before the first read, and where one has no number.
    #[must_use]
    pub fn difference(&self, own: Option<Summary>) -> Option<f64> {
        let (own, base) = (own?.headline()?, self.summary?.headline()?);
        (own.is_finite() && base.is_finite()).then_some(own - base)
    }

    /// The difference, shortly, with its sign.
    #[must_use]
    pub fn short(&self, own: Option<Summary>) -> String {
        let digits = if matches!(own, Some(Summary::Error { .. })) { 3 } else { 2 };
        self.difference(own).map_or_else(|| "–".to_owned(), |d| signed(d, digits))
    }

    /// The difference with what it is made of, and whether it is for the better.
    #[must_use]
    pub fn in_words(&self, own: Option<Summary>) -> String {
        let Some(difference) = self.difference(own) else { return "no read yet that both have a score for".to_owned() };
        match (own, self.summary) {
            (Some(Summary::Recall { correct, reads }), Some(Summary::Recall { correct: base, reads: of })) => {
                let more = i128::from(correct) - i128::from(base);
                let counted = if reads == of { format!(", {more:+} right") } else { String::new() };
                format!("{difference:+.4}: {correct} of {reads} right, {base} of {of} there{counted}")
            }
            (Some(Summary::Error { relative, cosine, .. }), Some(Summary::Error { relative: base, cosine: there, .. })) => {
                let word = match difference {
                    d if d > 0.0 => ", worse",
                    d if d < 0.0 => ", better",
                    _ => "",
                };
                format!("{difference:+.4e}: {relative:.6}, {base:.6} there{word}; cosine {:+.4e}", cosine - there)
            }
            _ => format!("{difference:+.4}"),
        }
    }

    /// What is said of it on hover.
    #[must_use]
    pub fn rows(&self, look: &Look<'_>, own: (usize, Option<Summary>), seen: usize) -> Vec<(&'static str, String)> {
        let hands: Vec<String> = self.hands.iter().map(ToString::to_string).collect();
        let mut rows = vec![
            ("compared with", format!("{}: the same layer, parameters and weights, without: {}", self.name, hands.join(", "))),
            ("difference from it", self.in_words(own.1)),
        ];
        let (setup, stream) = (&look.lanes[own.0].plan.setup, &look.plan.stream);
        let first = self.hands.iter().map(|h| h.step).min().unwrap_or(0);
        let before = stream.reads_within(0..(first * setup.chunk).min(stream.writes())).end.min(seen);
        rows.push((
            "reads after the hand",
            if seen > before {
                format!("{} of {seen}: those before it are answered alike", seen - before)
            } else {
                "none yet: those before it are answered alike".to_owned()
            },
        ));
        if let (Some(a), Some(b)) = (Self::answers(look, own.0), Self::answers(look, self.lane)) {
            let turned = |from: i32| {
                let reads: Vec<usize> = (before..seen.min(a.len()).min(b.len())).filter(|&r| b[r] == from && a[r] == 1 - from).collect();
                listed(&reads)
            };
            rows.push(("right there, wrong here", turned(1)));
            rows.push(("wrong there, right here", turned(0)));
        }
        rows
    }

    /// For each read whether a lane answered it rightly, on a task with codes.
    fn answers<'a>(look: &Look<'a>, lane: usize) -> Option<&'a [i32]> {
        let lane: &crate::panel::LaneLook<'a> = look.lanes.get(lane)?;
        lane.trace.channel(CORRECT).map(|c| c.wholes(look.query_head))
    }
}

/// Reads by number, a few of them.
fn listed(reads: &[usize]) -> String {
    const MOST: usize = 6;
    if reads.is_empty() {
        return "none".to_owned();
    }
    let some: Vec<String> = reads.iter().take(MOST).map(ToString::to_string).collect();
    let more = reads.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{rest}", plural(reads.len(), "read", "reads"), some.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn against(summary: Summary) -> Change {
        Change { lane: 0, name: "LoLA".to_owned(), hands: Vec::new(), summary: Some(summary) }
    }

    #[test]
    fn a_difference_has_its_sign_and_its_parts() {
        let of = |correct, reads| Summary::Recall { correct, reads };
        let change = against(of(16, 16));
        // 15 of 16 are a sixteenth less.
        assert_eq!(change.difference(Some(of(15, 16))), Some(-0.0625));
        assert_eq!((change.short(Some(of(15, 16))), change.short(Some(of(16, 16)))), ("-0.06".to_owned(), "0".to_owned()));
        assert_eq!(change.in_words(Some(of(15, 16))), "-0.0625: 15 of 16 right, 16 of 16 there, -1 right");
        assert_eq!(against(of(1, 3)).short(Some(of(2, 3))), "+0.33");
        assert_eq!((change.short(None), change.short(Some(of(0, 0)))), ("–".to_owned(), "–".to_owned()));
        let error = |relative, cosine| Summary::Error { relative, cosine, reads: 9 };
        let change = against(error(0.5, 0.75));
        assert_eq!(
            (change.short(Some(error(0.625, 0.5))), change.short(Some(error(0.25, 0.5)))),
            ("+0.125".to_owned(), "-0.250".to_owned())
        );
        let words = change.in_words(Some(error(0.625, 0.5)));
        assert_eq!(words, "+1.2500e-1: 0.625000, 0.500000 there, worse; cosine -2.5000e-1");
        // What is too small for its digits is no zero.
        assert_eq!(change.short(Some(error(0.5001, 0.75))), "+<0.001");
        assert_eq!(change.short(Some(error(f64::NAN, 0.75))), "–");
    }

    #[test]
    fn reads_are_listed_up_to_a_few() {
        assert_eq!(
            (listed(&[]), listed(&[3]), listed(&[1, 2, 3, 4, 5, 6, 7, 9])),
            ("none".to_owned(), "1 read: 3".to_owned(), "8 reads: 1, 2, 3, 4, 5, 6 and 2 more".to_owned())
        );
    }
}
