//! A sweep over parameters and seeds.

use super::Wake;
use crate::session::Session;

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

    pub(super) fn command(&mut self, ask: Ask, _session: &Session, _wake: &Wake) {
        match ask {
            Ask::Stop => {}
        }
    }
}
