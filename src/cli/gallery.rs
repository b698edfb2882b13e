//! `mnemoscope gallery`: the sessions inside the program.

use std::io::Write;

use serde_json::{Value, json};

use super::{CliError, table};
use crate::session::gallery::{PREFIX, Section, Shipped, shipped};

/// What `gallery` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON, with the captions.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints a line a session, section by section.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let all = Section::ALL.iter().flat_map(|section| shipped().iter().filter(move |s| s.section == *section));
        if self.json {
            let all: Vec<Value> = all.map(as_json).collect();
            writeln!(out, "{:#}", Value::from(all))?;
            return Ok(());
        }
        let rows: Vec<Vec<String>> =
            all.map(|s| vec![format!("{PREFIX}{}", s.name), s.section.name().to_owned(), s.session.title.clone()]).collect();
        table::write(out, &["session", "about", "title"], &rows)?;
        Ok(())
    }
}

fn as_json(one: &Shipped) -> Value {
    let lanes: Vec<&str> = one.session.lanes.iter().filter(|l| l.enabled).map(|l| l.name.as_str()).collect();
    json!({
        "name": format!("{PREFIX}{}", one.name), "section": one.section.name(), "title": one.session.title,
        "caption": one.session.caption, "lanes": lanes,
    })
}
