//! `mnemoscope screenshot`: the window or a panel as PNG or SVG, with no display.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::picture::{PictureError, Shared};
use super::{CliError, out, source};
use crate::app::App;
use crate::app::command::{TimeCommand, ViewCommand};
use crate::app::offscreen::{Stage, Unsettled};
use crate::app::picture::file;

/// What the picture is of, and where it goes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    shared: Shared,
    /// How many steps of the timeline are done (0 is the start); the session's own, or all, where it is not given
    #[arg(long)]
    step: Option<usize>,
    /// Mark and inspect this token (an index of a write)
    #[arg(long)]
    token: Option<usize>,
    /// The file to write: `.png`, or `.svg` for vectors
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Args {
    /// Runs the session to its end, puts the playhead where it is wanted, and writes the picture.
    pub fn execute(&self) -> Result<(), CliError> {
        let cancel = source::interrupted()?;
        Ok(self.draw(&cancel)?)
    }

    fn draw(&self, cancel: &AtomicBool) -> Result<(), PictureError> {
        let svg = self.is_svg()?;
        let (mut stage, mut app) = self.shared.open(svg, cancel)?;
        self.look(&mut app)?;
        stage.settle(&mut app, cancel)?;
        self.write(&mut stage, &app, svg)
    }

    fn write(&self, stage: &mut Stage, app: &App, svg: bool) -> Result<(), PictureError> {
        let mut caption = stage.caption(app).ok_or_else(|| Unsettled::Run("there is no run to show".to_owned()))?;
        caption.about = self.shared.lesson_words().unwrap_or(caption.about);
        if svg {
            file::write_text(&self.out, &stage.svg(&caption))?;
        } else {
            file::write_png(&self.out, &stage.picture()?, &caption)?;
        }
        Ok(())
    }

    fn is_svg(&self) -> Result<bool, PictureError> {
        out::file("--out", &self.out, "a picture's name", &["png", "svg"]).map_err(PictureError::Usage)?;
        Ok(out::ends_in(&self.out, "svg"))
    }

    /// Puts the playhead and the selection where they are wanted.
    fn look(&self, app: &mut App) -> Result<(), PictureError> {
        let (step, steps, total) = (app.timeline().step(), app.timeline().steps(), app.timeline().total());
        if let Some(wanted) = self.step {
            if wanted > steps {
                return Err(PictureError::Step { option: "--step", step: wanted, steps });
            }
            app.ask(TimeCommand::Seek((wanted * step).min(total)).into());
        }
        if let Some(token) = self.token {
            if token >= total {
                return Err(PictureError::Token { token, last: total.saturating_sub(1) });
            }
            app.ask(ViewCommand::Select(Some(token)).into());
        }
        Ok(())
    }
}
