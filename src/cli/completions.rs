//! `mnemoscope completions`: what a shell completes, made from the command line's own description.

use std::io::Write;

use clap_complete::Shell;

use super::CliError;

/// What `completions` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    shell: Wanted,
}

/// Shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Wanted {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// `PowerShell`.
    #[value(name = "powershell")]
    PowerShell,
}

impl From<Wanted> for Shell {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Bash => Self::Bash,
            Wanted::Zsh => Self::Zsh,
            Wanted::Fish => Self::Fish,
            Wanted::PowerShell => Self::PowerShell,
        }
    }
}

impl Args {
    /// Prints the script.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(Shell::from(self.shell), &mut super::command(), super::NAME, &mut script);
        Ok(out.write_all(&script)?)
    }
}
