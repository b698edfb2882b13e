//! The quantities of codebook health: their names, formulas and numbers.

use crate::app::study::health::Measured;
use crate::metric::health::Step;
use crate::widget::ticks::number;

/// A quantity, drawn over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// n, and the plateau curve.
    Rows,
    /// Perplexity over n.
    Evenness,
    /// Gini.
    Gini,
    /// Rows without a write in the last w chunks.
    Unused,
    /// The largest dot product of two rows.
    Dot,
    /// The largest cosine of two rows.
    Cosine,
    /// Quantisation error, mean.
    Error,
    /// Quantisation error, worst.
    Worst,
}

/// One step of a lane, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub enum At<'a> {
    /// What the counts tell.
    Counted(&'a Step),
    /// What the centroids tell.
    Measured(&'a Measured),
}

impl Quantity {
    /// All, in the order in which they are drawn.
    pub const ALL: [Self; 8] = [Self::Rows, Self::Evenness, Self::Gini, Self::Unused, Self::Dot, Self::Cosine, Self::Error, Self::Worst];

    /// The name, with the unit.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rows => "n, rows",
            Self::Evenness => "perplexity / n",
            Self::Gini => "Gini of counts",
            Self::Unused => "unused rows",
            Self::Dot => "nearest pair, dot",
            Self::Cosine => "nearest pair, cosine",
            Self::Error => "mean error 1 - k.D",
            Self::Worst => "worst error 1 - k.D",
        }
    }

    /// What it is, how to read it, and its formula.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Rows => {
                "Rows in use, n: those that hold a write. Thin: the plateau curve t N / (t + N), t writes seen, for a lane with room for N. Unit: rows."
            }
            Self::Evenness => {
                "exp(H) / n with H = -sum p_j ln p_j, p_j = c_j / sum c over the rows in use, c the counts as the layer keeps them: 1 if all are equally full, 1 / n if one holds nearly everything. Unit: share of n."
            }
            Self::Gini => {
                "sum_i sum_j |c_i - c_j| / (2 n sum c) over the rows in use: 0 if all counts are equal, up to 1 - 1/n if one row holds nearly everything. No unit."
            }
            Self::Unused => {
                "Rows in use that no write went to in the last chunks (as many as are set above the charts), the one at the step included. Many: the dictionary carries rows that the stream has left. Unit: rows."
            }
            Self::Dot => {
                "The largest D_i.D_j of two rows in use, i and j different: the layer's own similarity. A centroid is a mean and shorter than 1, so even twins stay below 1. No unit."
            }
            Self::Cosine => {
                "The largest D_i.D_j / (|D_i| |D_j|) of two rows in use: near 1, two rows stand for the same direction and one of them is spent. No unit."
            }
            Self::Error => {
                "The mean of 1 - k.D_j over all writes so far, j the row that each is in, D_j as it is at that step: how much of a unit key its centroid misses. No unit."
            }
            Self::Worst => "The largest 1 - k.D_j of all writes so far: the member that its row stands for worst. No unit.",
        }
    }

    /// True if it needs the centroids themselves, which the study replays.
    pub fn needs_study(self) -> bool {
        matches!(self, Self::Dot | Self::Cosine | Self::Error | Self::Worst)
    }

    /// Its number; `None` where there is none (the nearest pair of one row).
    pub fn of(self, at: At<'_>) -> Option<f64> {
        match (self, at) {
            (Self::Rows, At::Counted(s)) => Some(f64::from(s.rows)),
            (Self::Evenness, At::Counted(s)) => Some(s.evenness()),
            (Self::Gini, At::Counted(s)) => Some(s.gini),
            (Self::Unused, At::Counted(s)) => Some(f64::from(s.unused)),
            (Self::Dot, At::Measured(m)) => m.nearest.map(|n| n.dot.similarity),
            (Self::Cosine, At::Measured(m)) => m.nearest.map(|n| n.cosine.similarity),
            (Self::Error, At::Measured(m)) => m.quantisation.map(|q| q.mean),
            (Self::Worst, At::Measured(m)) => m.quantisation.map(|q| q.worst),
            _ => None,
        }
    }

    /// Its number in words, with what it belongs to.
    pub fn tell(self, at: At<'_>) -> String {
        let Some(value) = self.of(at) else {
            return if matches!(self, Self::Dot | Self::Cosine) { "one row has no pair" } else { "none" }.to_owned();
        };
        let value = number(value);
        match (self, at) {
            (Self::Evenness, At::Counted(s)) => format!("{value} (as even as {} of {} rows)", number(s.perplexity), s.rows),
            (Self::Unused, At::Counted(s)) => format!("{value} of {}", s.rows),
            (Self::Dot | Self::Cosine, At::Measured(Measured { nearest: Some(n), .. })) => {
                let (a, b) = if self == Self::Dot { n.dot.rows } else { n.cosine.rows };
                format!("{value}, rows {a} and {b}")
            }
            (Self::Worst, At::Measured(Measured { quantisation: Some(q), .. })) => format!("{value}, token {}", q.at),
            _ => value,
        }
    }

    /// Limits of its axis where the numbers drawn lie between `low` and `high`.
    pub fn limits(self, low: f64, high: f64) -> (f64, f64) {
        match self {
            Self::Evenness | Self::Gini => (0.0, 1.0),
            Self::Rows | Self::Unused => (0.0, high.max(1.0) * 1.06),
            Self::Dot | Self::Cosine => {
                let pad = ((high - low) * 0.06).max(1e-3);
                (low - pad, high + pad)
            }
            Self::Error | Self::Worst => (low.min(0.0), if high > 0.0 { high * 1.06 } else { 1e-3 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::health::{Nearest, Pair, Quantisation};

    #[test]
    fn a_number_is_told_with_what_it_belongs_to() {
        let step = Step { rows: 4, perplexity: 2.0, gini: 0.25, unused: 1 };
        let pair = |rows, similarity| Pair { rows, similarity };
        let measured = Measured {
            chunks: 3,
            nearest: Some(Nearest { dot: pair((0, 2), 0.5), cosine: pair((1, 3), 0.75) }),
            quantisation: Some(Quantisation { mean: 0.125, worst: 0.5, at: 17 }),
        };
        let told = Quantity::ALL.map(|q| q.tell(if q.needs_study() { At::Measured(&measured) } else { At::Counted(&step) }));
        let expected =
            ["4", "0.5 (as even as 2 of 4 rows)", "0.25", "1 of 4", "0.5, rows 0 and 2", "0.75, rows 1 and 3", "0.125", "0.5, token 17"];
        assert_eq!(told, expected);
        let alone = Measured { nearest: None, ..measured };
        assert_eq!(Quantity::Dot.tell(At::Measured(&alone)), "one row has no pair");
        assert_eq!(Quantity::Rows.of(At::Measured(&measured)), None);
    }
}
