//! Who builds layers, and on which device: the seam between the run and the machine.

use super::BackendInfo;
use crate::layer::{Layer, LayerError, LayerKind, Precision, Setup};
use crate::session::BackendChoice;

/// Builds the layers of a run on one backend. [`Devices`] is the real one; tests give one whose layers fail.
pub trait LayerFactory: Send {
    /// Opens a backend, if it is not open already; layers built from now on are on it.
    ///
    /// # Errors
    /// If what was asked for is not there ([`BackendChoice::Auto`] and [`BackendChoice::Cpu`] always are).
    fn open(&mut self, choice: BackendChoice) -> Result<BackendInfo, LayerError>;

    /// Builds a layer on the open backend, at the start of its stream.
    ///
    /// # Errors
    /// If it cannot be built there.
    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError>;

    /// Gives the backend up for the CPU, because of `reason`.
    fn fall_back(&mut self, reason: &str) -> BackendInfo;
}

/// This machine's devices.
#[derive(Debug, Default)]
pub struct Devices {}

impl LayerFactory for Devices {
    fn open(&mut self, _choice: BackendChoice) -> Result<BackendInfo, LayerError> {
        Ok(cpu_info("asked for"))
    }

    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        kind.cpu(setup, Precision::Single)
    }

    fn fall_back(&mut self, reason: &str) -> BackendInfo {
        cpu_info(reason)
    }
}

/// The CPU as a backend.
#[must_use]
pub fn cpu_info(reason: &str) -> BackendInfo {
    let threads = rayon::current_num_threads();
    BackendInfo { gpu: false, adapter: format!("CPU, {threads} thread{}", if threads == 1 { "" } else { "s" }), reason: reason.to_owned() }
}
