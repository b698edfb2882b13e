//! No subcommand: the window, or a sentence on why there is none.

use std::path::PathBuf;

use clap::CommandFactory;

use super::{Cli, CliError};
use crate::param::nearest;
use crate::session::gallery;
use crate::stream::capture::BUNDLED;

/// Opens the window on a file, or on the bundled capture.
pub fn open(file: Option<PathBuf>) -> Result<(), CliError> {
    // A mistyped subcommand arrives here as a file: say so instead of opening a window on nothing.
    if let Some(name) = file.as_ref().filter(|f| f.extension().is_none() && !f.exists()).and_then(|f| f.to_str())
        && name != BUNDLED
        && gallery::name_in(name.as_ref()).is_none()
    {
        let command = Cli::command();
        let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let hint = nearest(name, known.iter().copied())
            .map_or_else(|| format!("the subcommands are {}", known.join(", ")), |n| format!("did you mean `mnemoscope {n}`?"));
        return Err(CliError::Usage(format!("`{name}` is neither a file nor a subcommand; {hint}")));
    }
    // A name that is not shipped is said here, not in a window.
    if let Some(name) = file.as_deref().and_then(gallery::name_in) {
        gallery::open(name)?;
    }
    show(file)
}

#[cfg(not(feature = "gui"))]
fn show(_file: Option<PathBuf>) -> Result<(), CliError> {
    let text = "this program was built without its window (feature `gui`); `mnemoscope run SESSION --out DIR` computes and writes \
                the trace, `mnemoscope --help` lists what else it does";
    Err(CliError::Window(text.to_owned()))
}

#[cfg(feature = "gui")]
fn show(file: Option<PathBuf>) -> Result<(), CliError> {
    crate::app::run(file).map_err(|e| CliError::Window(e.to_string()))
}
