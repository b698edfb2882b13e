//! What a lane answered to a read, what would be right, and both in words.

use std::collections::HashMap;

use crate::metric::{ANSWER, ANSWER_MARGIN, CORRECT, COSINE, ERROR_SQ, TARGET_SQ};
use crate::panel::Look;
use crate::panel::common::{quoted, token_name, writes_seen};
use crate::panel::recall::fixed;
use crate::stream::{Stream, Targets};
use crate::widget::ticks::number;

/// A lane's answer to a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// The lane has not come to it.
    NotYet,
    /// A code, -1 for none; whether it is the right one; by how much it beat the second.
    Code(i32, bool, f32),
    /// Whether it was the right code, where the trace does not say which one it was.
    Scored(bool),
    /// The relative error |o - y| / |y| (of one read always the root, on regression too), and the cosine.
    Error(f32, f32),
    /// Nothing is measured.
    Nothing,
}

/// What a lane answered to a read, as far as it has come at the playhead.
#[must_use]
pub fn answer(look: &Look<'_>, lane: usize, read: usize) -> Answer {
    if look.plan.stream.after().get(read).is_none_or(|&a| a as usize > writes_seen(look, lane)) {
        return Answer::NotYet;
    }
    let trace = look.lanes[lane].trace;
    let channel = |name: &str| trace.channel(name).filter(|c| look.query_head < c.heads());
    let real = |name: &str| channel(name).and_then(|c| c.reals(look.query_head).get(read).copied());
    let whole = |name: &str| channel(name).and_then(|c| c.wholes(look.query_head).get(read).copied());
    match look.plan.stream.targets() {
        Targets::None => Answer::Nothing,
        Targets::Codes { .. } => match (whole(ANSWER), whole(CORRECT)) {
            (Some(code), Some(right)) => Answer::Code(code, right == 1, real(ANSWER_MARGIN).unwrap_or(f32::NAN)),
            (None, Some(right)) => Answer::Scored(right == 1),
            _ => Answer::NotYet,
        },
        Targets::Values(_) | Targets::FullAttention => match (real(ERROR_SQ), real(TARGET_SQ)) {
            (Some(error), Some(target)) => Answer::Error((error / target).sqrt(), real(COSINE).unwrap_or(f32::NAN)),
            _ => Answer::NotYet,
        },
    }
}

impl Answer {
    /// Whether it is the right code, where there are codes.
    #[must_use]
    pub fn right(self) -> Option<bool> {
        match self {
            Self::Code(_, right, _) | Self::Scored(right) => Some(right),
            Self::NotYet | Self::Error(..) | Self::Nothing => None,
        }
    }

    /// What is seen of it in `room`, by the `width` of texts: the cell, the `wide` one if it may be, or whether it is right where the code
    /// has no room.
    #[must_use]
    pub fn fitting(self, wide: bool, room: f32, width: impl Fn(&str) -> f32) -> String {
        let mut cells = wide.then(|| self.cell(true)).into_iter().chain([self.cell(false)]);
        let sign = || match self.right() {
            Some(true) => "✔".to_owned(),
            Some(false) => "×".to_owned(),
            None => self.cell(false),
        };
        cells.find(|text| width(text) <= room).unwrap_or_else(sign)
    }

    /// In a narrow cell, and with the margin or cosine in a wide one. A wrong code has a cross before it.
    #[must_use]
    pub fn cell(self, wide: bool) -> String {
        match self {
            Self::NotYet => "…".to_owned(),
            Self::Nothing => "–".to_owned(),
            Self::Scored(right) => if right { "right" } else { "× wrong" }.to_owned(),
            Self::Code(code, right, margin) => {
                let code = if code < 0 { "none".to_owned() } else { code.to_string() };
                let cross = if right { "" } else { "× " };
                if wide { format!("{cross}{code}  +{}", short(margin)) } else { format!("{cross}{code}") }
            }
            Self::Error(error, cosine) => {
                if wide {
                    format!("{}  cos {}", short(error), short(cosine))
                } else {
                    short(error)
                }
            }
        }
    }

    /// As a sentence.
    #[must_use]
    pub fn sentence(self, codes: &Codes, stream: &Stream) -> String {
        match self {
            Self::NotYet => "not answered yet".to_owned(),
            Self::Nothing => "nothing is measured".to_owned(),
            Self::Scored(right) => if right { "right" } else { "wrong" }.to_owned(),
            Self::Code(code, right, margin) => {
                let what = if right { "right" } else { "wrong" };
                let name = usize::try_from(code).map_or_else(|_| "no code".to_owned(), |code| codes.name(stream, code));
                format!("{what}: {name}, margin {}", number(f64::from(margin)))
            }
            Self::Error(error, cosine) => format!("relative error {}, cosine {}", number(f64::from(error)), number(f64::from(cosine))),
        }
    }
}

/// Two digits behind the point, so that numbers below each other have their points there too.
fn short(x: f32) -> String {
    fixed(f64::from(x), 2)
}

/// Which write holds which code.
#[derive(Debug, Clone, Default)]
pub struct Codes {
    holder: HashMap<u32, u32>,
}

impl Codes {
    /// Looks for the codes among the values written, of the first head; where an answer is known to be at a write, that write comes
    /// first.
    #[must_use]
    pub fn new(stream: &Stream) -> Self {
        let Targets::Codes { codebook, target } = stream.targets() else { return Self::default() };
        let bits = |row: &[f32]| -> Vec<u32> { row.iter().take(8).map(|v| v.to_bits()).collect() };
        let mut code_of = HashMap::new();
        for (code, row) in codebook.rows().into_iter().enumerate() {
            if let Some(row) = row.to_slice() {
                code_of.entry(bits(row)).or_insert((code as u32, row));
            }
        }
        let mut holder = HashMap::new();
        for (read, &at) in stream.labels().answer_at.iter().flatten().enumerate() {
            holder.entry(target[read]).or_insert(at);
        }
        for (write, row) in stream.values().index_axis(ndarray::Axis(0), 0).rows().into_iter().enumerate() {
            let Some(row) = row.as_slice() else { continue };
            if let Some((code, whole)) = code_of.get(&bits(row))
                && *whole == row
            {
                holder.entry(*code).or_insert(write as u32);
            }
        }
        Self { holder }
    }

    /// The first write that holds a code.
    #[must_use]
    pub fn holder(&self, code: usize) -> Option<usize> {
        self.holder.get(&u32::try_from(code).ok()?).map(|&w| w as usize)
    }

    /// `code 17 (token 42 'a = 17')`.
    #[must_use]
    pub fn name(&self, stream: &Stream, code: usize) -> String {
        match self.holder(code) {
            Some(write) => format!("code {code} ({})", token_name(stream, write)),
            None => format!("code {code} (held by no write)"),
        }
    }
}

/// What a read is called: its text where it has one, else that of the newest write that it sees.
#[must_use]
pub fn read_text(stream: &Stream, read: usize) -> String {
    let labels = stream.labels();
    if let Some(text) = labels.read_tokens.as_ref().and_then(|t| t.get(read)) {
        return quoted(text);
    }
    let newest = stream.after().get(read).map_or(0, |&a| a as usize - 1);
    labels.tokens.as_ref().and_then(|t| t.get(newest)).map_or_else(String::new, |t| quoted(t))
}

/// The name of a read's role.
#[must_use]
pub fn role_of(stream: &Stream, read: usize) -> &str {
    let roles = &stream.labels().roles;
    roles.of_read.get(read).and_then(|&r| roles.names.get(usize::from(r))).map_or("read", String::as_str)
}

/// The right answer to a read in a few words, and in full.
#[must_use]
pub fn right(stream: &Stream, codes: &Codes, read: usize) -> (String, String) {
    let at = stream.labels().answer_at.as_ref().and_then(|a| a.get(read)).map(|&a| token_name(stream, a as usize));
    match stream.targets() {
        Targets::Codes { target, .. } => {
            let code = target[read] as usize;
            let whole = at.map_or_else(|| codes.name(stream, code), |at| format!("code {code} ({at})"));
            (code.to_string(), whole)
        }
        Targets::Values(_) => ("a vector".to_owned(), at.unwrap_or_else(|| "a vector that no write holds".to_owned())),
        Targets::FullAttention => ("full's".to_owned(), "what full attention returns".to_owned()),
        Targets::None => ("–".to_owned(), "not known".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_tell_wrong_from_right_without_colour() {
        assert_eq!(Answer::Code(17, true, 0.314).cell(true), "17  +0.31");
        assert_eq!(Answer::Code(4, false, 0.02).cell(false), "× 4");
        assert_eq!(Answer::Code(-1, false, f32::NAN).cell(false), "× none");
        assert_eq!(Answer::Error(1.25, 0.5).cell(true), "1.25  cos 0.50");
        assert_eq!(Answer::NotYet.cell(true), "…");
    }

    #[test]
    fn numbers_have_a_zero_before_the_point_and_nothing_has_no_sign() {
        assert_eq!(Answer::Error(0.69, -0.001).cell(true), "0.69  cos 0.00");
        assert_eq!(Answer::Error(0.69, -0.25).cell(true), "0.69  cos -0.25");
        assert_eq!(Answer::Error(0.004, 1.0).cell(false), "0.00");
    }

    #[test]
    fn a_cell_that_is_too_narrow_still_tells_right_from_wrong() {
        let fitting = |answer: Answer, room: f32| answer.fitting(true, room, |text| text.chars().count() as f32);
        let (good, bad) = (Answer::Code(114, true, 0.5), Answer::Code(114, false, 0.5));
        assert_eq!([10.0, 9.0, 3.0, 2.0].map(|room| fitting(good, room)), ["114  +0.50", "114", "114", "✔"]);
        assert_eq!([12.0, 11.0, 5.0, 4.0].map(|room| fitting(bad, room)), ["× 114  +0.50", "× 114", "× 114", "×"]);
        assert_eq!(good.fitting(false, 20.0, |_| 1.0), "114", "no margin where a column has no room for all of them");
    }
}
