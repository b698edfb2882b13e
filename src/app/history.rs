//! Back and forward through what was looked at, as a browser does it: what was selected, and where the playhead stood.

use crate::panel::Selection;

/// Visits that are kept.
const KEPT: usize = 200;

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// What was selected; without what was hovered and without the second moment, which are no part of it.
    pub selection: Selection,
    /// Where the playhead stood, or was to stand: writes.
    pub writes: usize,
}

/// The visits. The current one follows the playhead, so that coming back to it finds the memory as it was when it was left.
#[derive(Debug, Default)]
pub struct History {
    visits: Vec<Visit>,
    /// The place of the current visit; there is one where there are visits.
    at: usize,
    /// True while nothing is selected: going back leads to the current visit then, not to the one before.
    away: bool,
}

impl History {
    /// What is looked at now; to be said after every change.
    pub fn look(&mut self, selection: &Selection, writes: usize) {
        self.away = selection.subject.is_none();
        if self.away {
            return;
        }
        let here = Visit { selection: plain(selection), writes };
        match self.visits.get_mut(self.at) {
            Some(now) if now.selection == here.selection => now.writes = writes,
            now => {
                if now.is_some() {
                    self.at += 1;
                }
                self.visits.truncate(self.at);
                self.visits.push(here);
                if self.visits.len() > KEPT {
                    self.visits.remove(0);
                    self.at -= 1;
                }
            }
        }
    }

    /// The playhead jumps away from here: the way back leads to where it stands now.
    pub fn leave(&mut self, selection: &Selection, writes: usize) {
        self.look(selection, writes);
        if let Some(now) = self.visits.get(self.at).filter(|_| !self.away).cloned() {
            self.visits.truncate(self.at + 1);
            self.visits.push(now);
            self.at += 1;
        }
    }

    /// The visit before, if there is one.
    pub fn back(&mut self) -> Option<&Visit> {
        if !std::mem::take(&mut self.away) {
            self.at = self.at.checked_sub(1)?;
        }
        self.visits.get(self.at)
    }

    /// The visit after, if there is one.
    pub fn forward(&mut self) -> Option<&Visit> {
        self.visits.get(self.at + 1)?;
        self.at += 1;
        self.away = false;
        self.visits.get(self.at)
    }

    /// True if there is a visit before.
    #[must_use]
    pub fn can_go_back(&self) -> bool {
        if self.away { !self.visits.is_empty() } else { self.at > 0 }
    }

    /// True if there is a visit after.
    #[must_use]
    pub fn can_go_forward(&self) -> bool {
        self.at + 1 < self.visits.len()
    }

    /// Lets go of the visits to what another run does not have; see [`Selection::keep_within`].
    pub fn keep_within(&mut self, writes: usize, reads: usize, lanes: &dyn Fn(usize) -> Option<usize>) {
        let mut at = 0;
        let mut kept: Vec<Visit> = Vec::new();
        for (place, mut visit) in std::mem::take(&mut self.visits).into_iter().enumerate() {
            visit.selection.keep_within(writes, reads, lanes);
            visit.writes = visit.writes.min(writes);
            if visit.selection.subject.is_some() && kept.last() != Some(&visit) {
                kept.push(visit);
            }
            if place <= self.at {
                at = kept.len().saturating_sub(1);
            }
        }
        (self.visits, self.at) = (kept, at);
    }

    /// Forgets everything: another session is looked at now.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

fn plain(selection: &Selection) -> Selection {
    Selection { hovered: None, hovered_row: None, pin: None, ..selection.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::Subject;

    fn of(subject: Subject) -> Selection {
        let mut selection = Selection::default();
        selection.choose(subject);
        selection
    }

    fn said(visit: Option<&Visit>) -> Option<(Option<Subject>, usize)> {
        visit.map(|v| (v.selection.subject, v.writes))
    }

    #[test]
    fn the_way_back_and_forward_is_that_of_a_browser() {
        let mut history = History::default();
        assert!(!history.can_go_back() && history.back().is_none() && history.forward().is_none());
        let (a, b, c) = (Subject::Token(5), Subject::Centroid { lane: 0, row: 2 }, Subject::Read(1));
        history.look(&of(a), 64);
        history.look(&of(a), 128);
        assert!(!history.can_go_back(), "the playhead alone is no visit");
        history.look(&of(b), 128);
        history.look(&of(c), 256);
        assert_eq!(said(history.back()), Some((Some(b), 128)));
        assert_eq!(said(history.back()), Some((Some(a), 128)));
        assert!(history.back().is_none() && !history.can_go_back());
        assert_eq!(said(history.forward()), Some((Some(b), 128)));
        history.look(&of(a), 512);
        assert!(!history.can_go_forward(), "another way from here ends the old one");
        assert_eq!(said(history.back()), Some((Some(b), 128)));
    }

    #[test]
    fn what_was_let_go_of_is_one_step_back() {
        let mut history = History::default();
        history.look(&of(Subject::Token(5)), 64);
        history.look(&of(Subject::Token(6)), 64);
        history.look(&Selection::default(), 64);
        assert_eq!(said(history.back()), Some((Some(Subject::Token(6)), 64)));
        assert_eq!(said(history.back()), Some((Some(Subject::Token(5)), 64)));
    }

    #[test]
    fn a_jump_of_the_playhead_can_be_taken_back() {
        let mut history = History::default();
        let token = of(Subject::Token(5));
        history.look(&token, 640);
        history.leave(&token, 640);
        history.look(&token, 0);
        assert_eq!(said(history.back()), Some((Some(Subject::Token(5)), 640)));
        assert_eq!(said(history.forward()), Some((Some(Subject::Token(5)), 0)));
    }

    #[test]
    fn visits_to_what_another_run_does_not_have_are_forgotten() {
        let mut history = History::default();
        for subject in [Subject::Token(5), Subject::Token(900), Subject::Lane(1), Subject::Token(7)] {
            history.look(&of(subject), 1000);
        }
        history.keep_within(512, 0, &|_| None);
        assert_eq!(said(history.back()), Some((Some(Subject::Token(5)), 512)));
        assert!(!history.can_go_back());
    }
}
