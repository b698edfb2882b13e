//! `mnemoscope man`: the manual's pages, made from the command line's own description.

use std::io::Write;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use super::source::make_folder;
use super::{CODES, CliError, NAME, out};
use crate::export::{ExportError, write_atomic};
use crate::param::nearest;

/// What `man` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The subcommand whose page is printed; the program's own, where absent.
    #[arg(value_name = "SUBCOMMAND", conflicts_with = "out")]
    subcommand: Option<String>,

    /// Write every page into this folder instead, as `mnemoscope.1`, `mnemoscope-run.1` and so on; made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Args {
    /// Prints a page, or writes all of them and prints the names of the files.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let mut program = super::command().disable_help_subcommand(true);
        program.build();
        let Some(folder) = &self.out else {
            let page = match &self.subcommand {
                None => page(&program)?,
                Some(name) => page(program.find_subcommand(name).ok_or_else(|| unknown(name, &program))?)?,
            };
            return Ok(out.write_all(&page)?);
        };
        out::folder("--out", folder, "the pages go into a folder").map_err(CliError::Usage)?;
        make_folder(folder)?;
        for command in std::iter::once(&program).chain(program.get_subcommands()) {
            let (text, path) = (page(command)?, folder.join(format!("{}.1", title(command))));
            write_atomic(&path, |file| file.write_all(&text)).map_err(ExportError::Write)?;
            writeln!(out, "{}", path.display())?;
        }
        Ok(())
    }
}

fn unknown(name: &str, program: &Command) -> CliError {
    let names = || program.get_subcommands().map(Command::get_name);
    let hint = nearest(name, names()).map_or_else(String::new, |n| format!("; did you mean `{n}`?"));
    CliError::Usage(format!("there is no subcommand `{name}`{hint}"))
}

/// `mnemoscope`, `mnemoscope-run`.
fn title(command: &Command) -> String {
    let name = command.get_name();
    if name == NAME { NAME.to_owned() } else { format!("{NAME}-{name}") }
}

/// A page in roff, the language of man pages.
fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let title = title(command);
    let described = command.clone().after_help("").after_long_help("");
    let man =
        Man::new(described).title(title.to_uppercase()).manual("Mnemoscope").source(format!("mnemoscope {}", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(&mut text)?;
    }
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(help) = command.get_after_help() {
        write_help(&mut text, &help.to_string())?;
    }
    writeln!(text, ".SH EXIT STATUS")?;
    for (code, meaning) in CODES {
        writeln!(text, ".TP\n{code}\n{}", literal(meaning))?;
    }
    Ok(text)
}

/// What the help ends with: the examples, each in a line of its own, then what is said beside them.
fn write_help(text: &mut Vec<u8>, help: &str) -> std::io::Result<()> {
    let help = help.strip_prefix("Examples:\n").unwrap_or(help);
    let (examples, notes) = help.split_once("\n\n").unwrap_or((help, ""));
    writeln!(text, ".SH EXAMPLES\n.nf")?;
    examples.lines().try_for_each(|line| writeln!(text, "{}", literal(line)))?;
    writeln!(text, ".fi")?;
    if !notes.is_empty() {
        writeln!(text, ".SH NOTES")?;
    }
    for line in notes.lines() {
        if line.is_empty() { writeln!(text, ".PP")? } else { writeln!(text, "{}", literal(line))? }
    }
    Ok(())
}

/// A line whose every mark stands for itself.
fn literal(line: &str) -> String {
    let escaped = line.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_examples_are_no_requests() {
        assert_eq!(literal(".x --a\\"), "\\&.x \\-\\-a\\e");
        let mut text = Vec::new();
        write_help(&mut text, "Examples:\n  a b\n\nOne\ntwo.\n\nThree.").unwrap();
        let expected = ".SH EXAMPLES\n.nf\n  a b\n.fi\n.SH NOTES\nOne\ntwo.\n.PP\nThree.\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
