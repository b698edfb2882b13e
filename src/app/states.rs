//! Exact states for panels: a panel says which it wants by looking it up; the window asks the engine for those that it does not
//! hold, and keeps those that were looked at last.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{Request, RunId};
use crate::layer::Snapshot;

/// A state: the lane's number in its plan, and after how many of its chunks.
pub type At = (usize, usize);

/// Bytes of states that are kept.
const LIMIT: usize = 192 << 20;

/// The states of one run that the window holds. Panels see them as `Look::states`.
#[derive(Debug, Default)]
pub struct States {
    run: RunId,
    held: BTreeMap<At, (Arc<Snapshot>, u64)>,
    bytes: usize,
    /// Counts frames, so that what was looked at last is known.
    now: u64,
    /// What this frame looked at.
    wanted: RefCell<BTreeSet<At>>,
    /// What the engine was asked for last.
    asked: BTreeSet<At>,
    /// The last frame in which a panel put something off.
    put_off: Cell<Option<u64>>,
}

impl States {
    /// States that are all there is, for a panel without an engine behind it.
    #[must_use]
    pub fn fixed(states: impl IntoIterator<Item = (At, Arc<Snapshot>)>) -> Self {
        Self { held: states.into_iter().map(|(at, state)| (at, (state, 0))).collect(), ..Self::default() }
    }

    /// The state of lane number `lane` after `chunks` of its chunks. `None`: it is not here; it has been asked for, and the window
    /// is painted again when it comes.
    #[must_use]
    pub fn at(&self, lane: usize, chunks: usize) -> Option<&Arc<Snapshot>> {
        self.wanted.borrow_mut().insert((lane, chunks));
        self.held.get(&(lane, chunks)).map(|(state, _)| state)
    }

    /// The state of a lane as near before `chunks` as one is held, without asking for any: what can be shown, with its own position
    /// said, until [`States::at`] has the right one.
    #[must_use]
    pub fn before(&self, lane: usize, chunks: usize) -> Option<&Arc<Snapshot>> {
        self.held.range((lane, 0)..=(lane, chunks)).next_back().map(|(_, (state, _))| state)
    }

    /// Says that a panel has put off what it will show, until the playhead has stood still for a moment: what is on screen is not yet
    /// what stays there. To be said in every frame in which that is so.
    pub fn put_off(&self) {
        self.put_off.set(Some(self.now));
    }

    /// True if the engine has been asked for states that have not come, or if in this frame or the last one a panel has put something
    /// off (see [`States::put_off`]).
    #[must_use]
    pub fn waiting(&self) -> bool {
        self.computing() || self.put_off.get().is_some_and(|frame| frame + 1 >= self.now)
    }

    /// True if the engine has been asked for states that have not come.
    fn computing(&self) -> bool {
        self.asked.iter().any(|at| !self.held.contains_key(at))
    }

    /// Another run is on screen: nothing of the old one is of use.
    pub fn begin(&mut self, run: RunId) {
        if run != self.run {
            *self = Self { run, ..Self::default() };
        }
    }

    /// Takes in a state that the engine gave out.
    pub fn take(&mut self, run: RunId, lane: usize, state: &Arc<Snapshot>) {
        if run != self.run {
            return;
        }
        self.bytes += state.bytes();
        if let Some((old, _)) = self.held.insert((lane, state.position), (Arc::clone(state), self.now)) {
            self.bytes -= old.bytes();
        }
        while self.bytes > LIMIT && self.held.len() > 1 {
            // What this frame or the last one looked at stays, however much it is: else it would be asked for without end.
            let idle = self.held.iter().filter(|(_, (_, seen))| *seen + 1 < self.now);
            let Some((&oldest, _)) = idle.min_by_key(|(_, (_, seen))| *seen) else { break };
            if let Some((gone, _)) = self.held.remove(&oldest) {
                self.bytes -= gone.bytes();
            }
        }
    }

    /// The end of a frame: what the engine is to be asked for, if panels looked for other states than those asked for before.
    pub fn ask(&mut self) -> Option<Request> {
        self.now += 1;
        let wanted = std::mem::take(&mut *self.wanted.borrow_mut());
        for at in &wanted {
            if let Some((_, seen)) = self.held.get_mut(at) {
                *seen = self.now;
            }
        }
        let missing: BTreeSet<At> = wanted.into_iter().filter(|at| !self.held.contains_key(at)).collect();
        if missing == self.asked || (missing.is_empty() && !self.computing()) {
            self.asked = missing;
            return None;
        }
        self.asked.clone_from(&missing);
        Some(Request::States { id: self.run, wanted: missing.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(position: usize) -> Arc<Snapshot> {
        Arc::new(Snapshot { position, arrays: Vec::new() })
    }

    #[test]
    fn a_state_is_asked_for_once_and_then_held() {
        let mut states = States::default();
        states.begin(4);
        assert!(states.at(0, 7).is_none());
        let Some(Request::States { id: 4, wanted }) = states.ask() else { panic!("nothing asked for") };
        assert_eq!(wanted, [(0, 7)]);
        assert!(states.at(0, 7).is_none() && states.waiting());
        assert!(states.ask().is_none(), "not twice");
        states.take(3, 0, &state(7));
        assert!(states.at(0, 7).is_none(), "of another run");
        states.take(4, 0, &state(7));
        assert_eq!(states.at(0, 7).map(|s| s.position), Some(7));
        assert!(states.ask().is_none() && !states.waiting());
        assert_eq!((states.before(0, 9).map(|s| s.position), states.before(0, 6).map(|s| s.position)), (Some(7), None));
        states.begin(5);
        assert!(states.before(0, 9).is_none());
    }

    #[test]
    fn what_is_put_off_is_waited_for_until_a_frame_has_passed_without() {
        let mut states = States::default();
        assert!(!states.waiting());
        states.put_off();
        assert!(states.waiting(), "in the frame itself");
        assert!(states.ask().is_none() && states.waiting(), "and until the end of the next");
        states.put_off();
        assert!(states.ask().is_none() && states.waiting());
        assert!(states.ask().is_none() && !states.waiting(), "a frame has passed in which nobody put anything off");
    }

    #[test]
    fn what_nobody_looks_for_any_more_is_no_longer_asked_for() {
        let mut states = States::default();
        states.begin(1);
        assert!(states.at(0, 7).is_none() && states.ask().is_some());
        let Some(Request::States { wanted, .. }) = states.ask() else { panic!("the engine still works on it") };
        assert!(wanted.is_empty() && states.ask().is_none());
    }
}
