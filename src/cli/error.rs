//! What can go wrong on the command line, and the exit code of each kind.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::engine::RunError;
use crate::export::ExportError;
use crate::gpu::GpuError;
use crate::layer::LayerError;
use crate::session::file::SessionError;
use crate::session::place;
use crate::session::plan::PlanError;

/// Why a subcommand did not do what it was asked to.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum CliError {
    /// The command line asks for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A session or capture cannot be read.
    #[error(transparent)]
    Session(Box<SessionError>),
    /// The session in a file cannot run.
    #[error("{file}: {source}{}", if matches!(**source, PlanError::CaptureDiffers { .. }) { "; `--any-capture` takes it all the same" } else { "" })]
    Plan { file: String, source: Box<PlanError> },
    /// CPU and GPU do not agree on these lanes.
    #[error("CPU and GPU do not agree on: {0}")]
    Verify(String),
    /// A run stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Some lanes have no score.
    #[error("these lanes cannot run: {0}")]
    Lanes(String),
    /// What is there already cannot be read.
    #[error(transparent)]
    SweepFile(#[from] crate::engine::sweep::file::FileError),
    /// A trace cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A layer cannot be built or go on.
    #[error(transparent)]
    Layer(Box<LayerError>),
    /// There is no device as asked for.
    #[error("{0}; `mnemoscope devices` lists what is here, `--backend cpu` needs none")]
    Device(Box<GpuError>),
    /// Standard output is closed or full.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    /// There is no picture.
    #[cfg(feature = "gui")]
    #[error(transparent)]
    Picture(Box<super::picture::PictureError>),
    /// There is no window.
    #[error("{0}")]
    Window(String),
}

/// The large ones are boxed: every result of a subcommand would carry their size.
macro_rules! boxed {
    ($($(#[$meta:meta])* $variant:ident($error:ty)),* $(,)?) => {
        $($(#[$meta])* impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::$variant(Box::new(error))
            }
        })*
    };
}

boxed!(
    Session(SessionError),
    Layer(LayerError),
    Device(GpuError),
    #[cfg(feature = "gui")]
    Picture(super::picture::PictureError),
);

impl CliError {
    /// A session that cannot run, with the file that it was read from and the place in it.
    #[must_use]
    pub fn plan(file: &Path, error: PlanError) -> Self {
        Self::Plan { file: place::prefix(file, &error), source: Box::new(error) }
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Verify(_) => 1,
            Self::Usage(_) | Self::Export(ExportError::Request { .. }) => 2,
            Self::Session(_) | Self::Plan { .. } | Self::SweepFile(_) => 3,
            Self::Run(RunError::Cancelled) | Self::Export(ExportError::Cancelled) => 130,
            Self::Device(_) | Self::Run(RunError::Backend(_)) => 4,
            Self::Run(_) | Self::Lanes(_) | Self::Layer(_) => 5,
            Self::Output(_) | Self::Export(_) => 6,
            #[cfg(feature = "gui")]
            Self::Picture(error) => error.code(),
            Self::Window(_) => 7,
        }
    }

    /// True if the reader of standard output has gone (`| head`): nothing to complain about.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}
