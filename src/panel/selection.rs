//! What is selected: one selection for the whole window, whatever panel it was made in.

use std::sync::Arc;

#[cfg(doc)]
use crate::session::lesson::check::SUBJECTS;

/// Something that can be looked at by itself: what the inspector speaks of, and what links lead to.
///
/// Lanes are numbered as in [`crate::panel::Look::lanes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Subject {
    /// A write.
    Token(usize),
    /// A row of a lane's dictionary or codebook.
    Centroid { lane: usize, row: usize },
    /// A pair in a lane's sparse cache, by the write that it holds.
    Slot { lane: usize, write: usize },
    /// A read.
    Read(usize),
    /// A step of the timeline, counted from 0.
    Step(usize),
    /// A lane.
    Lane(usize),
}

impl Subject {
    /// What kind of thing it is, in a word: one of [`SUBJECTS`].
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Centroid { .. } => "centroid",
            Self::Slot { .. } => "slot",
            Self::Read(_) => "read",
            Self::Step(_) => "step",
            Self::Lane(_) => "lane",
        }
    }
}

/// A second moment, held beside the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// The memory as it was after this many writes: a boundary of the timeline.
    Moment(usize),
    /// The lane with this number, beside the others at the same moment.
    Lane(usize),
}

/// What is selected. Panels read it and ask for changes with [`crate::app::command::ViewCommand`]s.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The write under the pointer, anywhere; it goes away with the pointer.
    pub hovered: Option<usize>,
    /// The row of a lane's dictionary under the pointer, `(lane, row)`; it goes away with the pointer.
    pub hovered_row: Option<(usize, usize)>,
    /// The write that was clicked; it stays.
    pub token: Option<usize>,
    /// The writes that are selected together, ascending, where there are several; `token` is one of them then.
    pub group: Arc<[usize]>,
    /// The row of a lane's dictionary that was clicked, `(lane, row)`; it stays.
    pub row: Option<(usize, usize)>,
    /// The read that was clicked; it stays.
    pub read: Option<usize>,
    /// The lane that was chosen last.
    pub lane: Option<usize>,
    /// What was chosen last of all these: what the inspector speaks of while the pointer is over nothing.
    pub subject: Option<Subject>,
    /// The second moment.
    pub pin: Option<Pin>,
}

impl Selection {
    /// The write to be marked: the hovered one, else the clicked one.
    #[must_use]
    pub fn current(&self) -> Option<usize> {
        self.hovered.or(self.token)
    }

    /// The row of the dictionary of lane `lane` to be marked: the hovered one, else the clicked one.
    #[must_use]
    pub fn current_row(&self, lane: usize) -> Option<usize> {
        [self.hovered_row, self.row].into_iter().flatten().find(|(l, _)| *l == lane).map(|(_, row)| row)
    }

    /// Every write that is selected, ascending: the group, or the one.
    #[must_use]
    pub fn tokens(&self) -> &[usize] {
        if self.group.is_empty() { self.token.as_slice() } else { &self.group }
    }

    /// True for a write that is selected.
    #[must_use]
    pub fn holds(&self, write: usize) -> bool {
        self.tokens().binary_search(&write).is_ok()
    }

    /// Takes `subject` as what was chosen; what else was chosen before stays, but for a group of tokens, which a single one ends.
    pub fn choose(&mut self, subject: Subject) {
        match subject {
            Subject::Token(write) | Subject::Slot { write, .. } => {
                self.token = Some(write);
                self.group = Arc::default();
            }
            Subject::Centroid { lane, row } => self.row = Some((lane, row)),
            Subject::Read(read) => self.read = Some(read),
            Subject::Step(_) => {}
            Subject::Lane(lane) => self.lane = Some(lane),
        }
        if let Subject::Centroid { lane, .. } | Subject::Slot { lane, .. } = subject {
            self.lane = Some(lane);
        }
        self.subject = Some(subject);
    }

    /// Takes these writes (in any order) as those selected together. The token stays if it is among them.
    pub fn choose_group(&mut self, writes: &[usize]) {
        let mut sorted = writes.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        self.token = self.token.filter(|t| sorted.binary_search(t).is_ok()).or(sorted.first().copied());
        self.subject = self.token.map(Subject::Token);
        self.group = if sorted.len() > 1 { sorted.into() } else { Arc::default() };
    }

    /// Adds every write from the token to `write`, as a click with Shift does.
    pub fn extend_to(&mut self, write: usize) {
        let from = self.token.unwrap_or(write);
        let mut all = self.tokens().to_vec();
        all.extend(from.min(write)..=from.max(write));
        self.choose_group(&all);
    }

    /// Takes `write` into the group, or out of it, as a click with Ctrl does.
    pub fn toggle(&mut self, write: usize) {
        let mut all = self.tokens().to_vec();
        match all.binary_search(&write) {
            Ok(at) => drop(all.remove(at)),
            Err(at) => all.insert(at, write),
        }
        self.choose_group(&all);
    }

    /// Nothing is selected any more; the pin stays.
    pub fn clear(&mut self) {
        *self = Self { hovered: self.hovered, hovered_row: self.hovered_row, pin: self.pin, ..Self::default() };
    }

    /// Lets go of what another run does not have: writes from `writes` on, reads from `reads` on, and what belongs to a lane that is
    /// gone. `lanes` says which number a lane has now; what belongs to it goes with it.
    pub fn keep_within(&mut self, writes: usize, reads: usize, lanes: &dyn Fn(usize) -> Option<usize>) {
        (self.hovered, self.hovered_row) = (None, None);
        if self.tokens().last().is_some_and(|t| *t >= writes) {
            let left: Vec<usize> = self.tokens().iter().copied().filter(|t| *t < writes).collect();
            let subject = self.subject;
            self.choose_group(&left);
            self.subject = subject;
        }
        self.read = self.read.filter(|r| *r < reads);
        self.row = self.row.and_then(|(lane, row)| Some((lanes(lane)?, row)));
        self.lane = self.lane.and_then(lanes);
        self.pin = self.pin.and_then(|pin| match pin {
            Pin::Moment(at) => (at <= writes).then_some(pin),
            Pin::Lane(lane) => lanes(lane).map(Pin::Lane),
        });
        self.subject = self.subject.and_then(|subject| match subject {
            Subject::Token(write) => (write < writes).then_some(subject),
            // Without its lane, a pair is still a token.
            Subject::Slot { lane, write } if write < writes => {
                Some(lanes(lane).map_or(Subject::Token(write), |lane| Subject::Slot { lane, write }))
            }
            Subject::Slot { .. } => None,
            Subject::Read(read) => (read < reads).then_some(subject),
            Subject::Step(step) => (step < writes).then_some(subject),
            Subject::Centroid { lane, row } => lanes(lane).map(|lane| Subject::Centroid { lane, row }),
            Subject::Lane(lane) => lanes(lane).map(Subject::Lane),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_with_shift_adds_a_stretch_and_one_with_ctrl_a_single_token() {
        let mut s = Selection::default();
        s.choose(Subject::Token(5));
        assert_eq!((s.tokens(), s.group.len()), (&[5][..], 0));
        s.extend_to(8);
        assert_eq!((s.tokens(), s.token), (&[5, 6, 7, 8][..], Some(5)));
        s.toggle(6);
        s.toggle(20);
        assert_eq!(s.tokens(), [5, 7, 8, 20]);
        assert!(s.holds(20) && !s.holds(6));
        s.choose(Subject::Token(1));
        assert_eq!(s.tokens(), [1], "a single click ends the group");
        s.toggle(1);
        assert_eq!((s.tokens().len(), s.token, s.subject), (0, None, None));
    }

    #[test]
    fn what_was_chosen_stays_until_the_run_has_it_no_more() {
        let mut s = Selection { pin: Some(Pin::Moment(64)), ..Selection::default() };
        s.choose(Subject::Read(3));
        s.choose(Subject::Centroid { lane: 1, row: 7 });
        s.choose_group(&[90, 10, 10, 40]);
        assert_eq!((s.tokens(), s.read, s.row, s.lane), (&[10, 40, 90][..], Some(3), Some((1, 7)), Some(1)));
        s.keep_within(64, 3, &Some::<usize>);
        assert_eq!((s.tokens(), s.read, s.row, s.pin), (&[10, 40][..], None, Some((1, 7)), Some(Pin::Moment(64))));
        s.keep_within(20, 3, &|_| None);
        assert_eq!((s.tokens(), s.row, s.lane, s.pin), (&[10][..], None, None, None));
    }

    #[test]
    fn what_belongs_to_a_lane_goes_with_it_to_its_new_number() {
        let mut s = Selection { pin: Some(Pin::Lane(1)), ..Selection::default() };
        s.choose(Subject::Centroid { lane: 1, row: 7 });
        // Another lane has come before it, and lane 0 is gone.
        let lanes = |lane: usize| (lane > 0).then_some(lane + 1);
        s.keep_within(64, 3, &lanes);
        assert_eq!((s.subject, s.row), (Some(Subject::Centroid { lane: 2, row: 7 }), Some((2, 7))));
        assert_eq!((s.lane, s.pin), (Some(2), Some(Pin::Lane(2))));
        s.choose(Subject::Slot { lane: 0, write: 9 });
        s.keep_within(64, 3, &lanes);
        assert_eq!((s.subject, s.lane, s.token), (Some(Subject::Token(9)), None, Some(9)), "a pair whose lane is gone is a token");
    }
}
