//! The retention map: what each lane still recalls of followed tokens, step by step.

use super::Wake;
use crate::app::state::Runs;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Stop; what was found stays.
    Stop,
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {}

impl Study {
    pub(super) fn receive(&mut self) -> bool {
        false
    }

    pub(super) fn command(&mut self, ask: Ask, _runs: &Runs, _wake: &Wake) {
        match ask {
            Ask::Stop => {}
        }
    }
}
