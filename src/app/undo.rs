//! Undo and redo: what there was before each edit, and, once it has been taken back, after it.
//!
//! An edit keeps what it found, not what it did: taking it back is putting that there again, whatever the edit was. Numbers are
//! computed from a session and its seed alone, so the run that follows is the one there was.

use egui_tiles::TileId;

use crate::panel::Selection;
use crate::session::{LaneSpec, Session};

/// Edits that can be taken back; the oldest are forgotten.
pub const KEPT: usize = 200;

/// Edits of one thing that follow each other faster than this are one, in seconds.
const TOGETHER: f64 = 0.7;

/// What an edit found, or what taking it back found.
#[derive(Debug, Clone, PartialEq)]
pub enum Was {
    /// A session, and what was looked at in it.
    Session(Box<Before>),
    /// The arrangement of the panels, as the layout writes itself; `None` is the designed one.
    Layout(Option<String>),
}

/// A session as it was, and what was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Before {
    /// The session. Its view is not put back: nobody wants to look elsewhere for having taken an edit back.
    pub session: Session,
    /// The lane that could be put back, and its place.
    pub removed: Option<(usize, LaneSpec)>,
    /// The playhead: writes seen. It is put back where the edit left no room for it.
    pub writes: usize,
    /// What was selected. It is put back where the edit left nothing of it.
    pub selection: Selection,
}

/// What was edited, where an edit of the same thing right after it is the same edit: a slider that is dragged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    /// A parameter of a lane, by the lane's place.
    Lane(usize, &'static str),
    /// A parameter of the task.
    Task(&'static str),
    /// The seed.
    Seed,
    /// The colour of a lane, by its place.
    Colour(usize),
    /// A border between panels.
    Border([TileId; 2]),
    /// The size of a panel: the width (true) or the height.
    Size(&'static str, bool),
    /// The title.
    Title,
    /// The caption.
    Caption,
    /// The notes.
    Notes,
    /// The bookmark at so many writes.
    Bookmark(usize),
}

/// The hand on the window when an edit was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hand {
    /// How often a button of the pointer has gone down so far.
    pub presses: u64,
    /// True while one is down.
    pub held: bool,
    /// The time, in seconds.
    pub seconds: f64,
}

impl Hand {
    /// True if an edit with the hand as it is `now` goes on with one made with it as it was then.
    fn goes_on(self, now: Self) -> bool {
        (self.held && now.held && self.presses == now.presses) || now.seconds - self.seconds < TOGETHER
    }
}

/// One edit.
#[derive(Debug, Clone, PartialEq)]
struct Edit {
    title: String,
    was: Was,
    of: Option<(Thing, Hand)>,
}

/// The edits. See the module's page.
#[derive(Debug, Default)]
pub struct Undo {
    done: Vec<Edit>,
    undone: Vec<Edit>,
}

impl Undo {
    /// Takes in an edit: what it is called (`LoLA cache 128`), what it found, what it left, and, where it may go on with the last
    /// one, what it was of. What had been taken back is forgotten.
    pub fn record(&mut self, title: String, was: Was, now: &Was, of: Option<(Thing, Hand)>) {
        self.undone.clear();
        if let (Some((thing, hand)), Some(last)) = (of, self.done.last_mut())
            && let Some((before, then)) = last.of
            && thing == before
            && then.goes_on(hand)
        {
            if same(&last.was, now) {
                self.done.pop();
            } else {
                (last.title, last.of) = (title, of);
            }
            return;
        }
        self.done.push(Edit { title, was, of });
        if self.done.len() > KEPT {
            self.done.remove(0);
        }
    }

    /// What the last edit found, and its title; `now` says what there is, to be put back by [`Self::redo`].
    pub fn undo(&mut self, now: impl FnOnce(&Was) -> Was) -> Option<(String, Was)> {
        Self::step(&mut self.done, &mut self.undone, now)
    }

    /// What there was when the last edit was taken back, and its title.
    pub fn redo(&mut self, now: impl FnOnce(&Was) -> Was) -> Option<(String, Was)> {
        Self::step(&mut self.undone, &mut self.done, now)
    }

    fn step(from: &mut Vec<Edit>, to: &mut Vec<Edit>, now: impl FnOnce(&Was) -> Was) -> Option<(String, Was)> {
        let Edit { title, was, .. } = from.pop()?;
        to.push(Edit { title: title.clone(), was: now(&was), of: None });
        Some((title, was))
    }

    /// The title of the edit that would be taken back.
    #[must_use]
    pub fn undoes(&self) -> Option<&str> {
        self.done.last().map(|e| e.title.as_str())
    }

    /// The title of the edit that would be made again.
    #[must_use]
    pub fn redoes(&self) -> Option<&str> {
        self.undone.last().map(|e| e.title.as_str())
    }

    /// Forgets everything: another session is edited now.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Changes every session that is kept: where a file lies, as seen from another folder.
    pub fn each_session(&mut self, mut change: impl FnMut(&mut Session)) {
        for edit in self.done.iter_mut().chain(&mut self.undone) {
            if let Was::Session(before) = &mut edit.was {
                change(&mut before.session);
            }
        }
    }
}

/// True if nothing would change by putting one in the place of the other.
fn same(a: &Was, b: &Was) -> bool {
    match (a, b) {
        (Was::Session(a), Was::Session(b)) => a.removed == b.removed && a.session.is_but_for_view(&b.session),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(seed: u64) -> Was {
        let session = Session { seed, ..Session::default() };
        Was::Session(Box::new(Before { session, removed: None, writes: 0, selection: Selection::default() }))
    }

    fn of(was: &Was) -> u64 {
        let Was::Session(before) = was else { panic!("a session") };
        before.session.seed
    }

    /// An edit of the seed from one to the other.
    fn edit(undo: &mut Undo, from: u64, to: u64, of: Option<(Thing, Hand)>) {
        undo.record(format!("seed {to}"), seed(from), &seed(to), of);
    }

    #[test]
    fn edits_are_taken_back_from_the_last_and_made_again_in_their_order() {
        let mut undo = Undo::default();
        for n in 0..3 {
            edit(&mut undo, n, n + 1, None);
        }
        assert_eq!((undo.undoes(), undo.redoes()), (Some("seed 3"), None));
        let mut now = 3;
        for n in (0..3).rev() {
            let (title, was) = undo.undo(|_| seed(now)).unwrap();
            now = of(&was);
            assert_eq!((title, now), (format!("seed {}", n + 1), n));
        }
        assert!(undo.undo(|_| seed(0)).is_none());
        for n in 0..3 {
            let (title, was) = undo.redo(|_| seed(now)).unwrap();
            now = of(&was);
            assert_eq!((title, now), (format!("seed {}", n + 1), n + 1));
        }
        assert!(undo.redo(|_| seed(3)).is_none());
        undo.undo(|_| seed(3)).unwrap();
        edit(&mut undo, 2, 9, None);
        assert_eq!((undo.undoes(), undo.redoes()), (Some("seed 9"), None), "another edit ends what could be made again");
    }

    #[test]
    fn a_drag_is_one_edit_and_one_that_comes_back_is_none() {
        let mut undo = Undo::default();
        let at = |presses, held, seconds| Some((Thing::Seed, Hand { presses, held, seconds }));
        edit(&mut undo, 0, 1, None);
        edit(&mut undo, 1, 2, at(1, true, 0.0));
        edit(&mut undo, 2, 3, at(1, true, 5.0));
        assert_eq!(undo.undoes(), Some("seed 3"));
        edit(&mut undo, 3, 4, at(2, true, 9.0));
        assert_eq!(undo.done.len(), 3, "the button was let go of between");
        edit(&mut undo, 4, 3, at(2, true, 9.1));
        assert_eq!((undo.done.len(), undo.undoes()), (2, Some("seed 3")), "it is where it began");
        assert_eq!(undo.undo(|_| seed(3)).map(|(_, was)| of(&was)), Some(1));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut undo = Undo::default();
        for n in 0..KEPT as u64 + 10 {
            edit(&mut undo, n, n + 1, None);
        }
        let mut last = 0;
        let mut count = 0;
        while let Some((_, was)) = undo.undo(|_| seed(0)) {
            (last, count) = (of(&was), count + 1);
        }
        assert_eq!((count, last), (KEPT, 10));
    }
}
