//! `mnemoscope screenshot`: the window as a PNG, with no display.

use std::path::PathBuf;

use clap::ValueEnum;
use image::{ExtendedColorType, ImageEncoder};
use thiserror::Error;

use super::CliError;
use crate::app::command::{TimeCommand, ViewCommand};
use crate::app::offscreen::{OffscreenError, Stage};
use crate::app::theme::ThemeChoice;
use crate::app::{App, Options};
use crate::export::{WriteError, write_atomic};
use crate::session::Session;
use crate::session::file::SessionError;

/// What the picture is of, and where it goes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A session, a capture, or `bundled`
    session: PathBuf,
    /// How many steps of the timeline are done (0 is the start); the session's own, or all, where it is not given
    #[arg(long)]
    step: Option<usize>,
    /// Width and height in points
    #[arg(long, value_name = "WxH", default_value = "1440x900", value_parser = size)]
    size: [u32; 2],
    /// Pixels a point
    #[arg(long, default_value_t = 1.0, value_parser = scale)]
    scale: f32,
    /// The theme
    #[arg(long, value_enum, default_value_t = Theme::Dark)]
    theme: Theme,
    /// Mark and inspect this token (an index of a write)
    #[arg(long)]
    token: Option<usize>,
    /// The PNG to write
    #[arg(long)]
    out: PathBuf,
}

/// The themes that a picture can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Theme {
    /// Dark text on white.
    Light,
    /// Light text on black.
    Dark,
}

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum ScreenshotError {
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session cannot run.
    #[error("{0}")]
    Run(String),
    /// There are fewer steps.
    #[error("--step is {step}, but the timeline has {steps} steps: from 0 to {steps} can be done")]
    #[allow(missing_docs, reason = "the message explains them")]
    Step { step: usize, steps: usize },
    /// There are fewer tokens.
    #[error("--token is {token}, but the stream has the writes 0 to {last}")]
    #[allow(missing_docs, reason = "the message explains them")]
    Token { token: usize, last: usize },
    /// No threads.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
    /// Nothing to paint with.
    #[error(transparent)]
    Offscreen(#[from] OffscreenError),
    /// The file.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ScreenshotError {
    /// The exit code, of the kinds that the command line documents.
    pub fn code(&self) -> u8 {
        match self {
            Self::Step { .. } | Self::Token { .. } | Self::Offscreen(OffscreenError::Size { .. }) => 2,
            Self::Session(_) => 3,
            Self::Offscreen(_) => 4,
            Self::Run(_) | Self::Thread(_) => 5,
            Self::Write(_) => 6,
        }
    }
}

impl Args {
    /// Runs the session to its end, puts the playhead where it is wanted, and writes the window as a PNG.
    pub fn execute(&self) -> Result<(), CliError> {
        self.draw().map_err(|e| CliError::Screenshot(Box::new(e)))
    }

    fn draw(&self) -> Result<(), ScreenshotError> {
        let session = Session::open(&self.session)?;
        let mut stage = Stage::new(self.size, self.scale)?;
        let theme = match self.theme {
            Theme::Light => ThemeChoice::Light,
            Theme::Dark => ThemeChoice::Dark,
        };
        let options = Options { theme: Some(theme), ..Options::default() };
        let mut app = App::new(stage.context(), session, Some(self.session.clone()), options)?;
        stage.settle(&mut app);
        let failed = app.problem().map(|p| p.message.clone()).or_else(|| app.runs().current().and_then(|r| r.error.clone()));
        if let Some(message) = failed {
            return Err(ScreenshotError::Run(message));
        }
        self.look(&mut app)?;
        stage.settle(&mut app);
        let picture = stage.picture()?;
        write_atomic(&self.out, |out| {
            let encoder = image::codecs::png::PngEncoder::new(out);
            let (width, height) = (picture.width(), picture.height());
            encoder.write_image(picture.as_raw(), width, height, ExtendedColorType::Rgba8).map_err(std::io::Error::other)
        })?;
        Ok(())
    }

    /// Puts the playhead and the selection where they are wanted.
    fn look(&self, app: &mut App) -> Result<(), ScreenshotError> {
        let (step, steps, total) = (app.timeline().step(), app.timeline().steps(), app.timeline().total());
        if let Some(wanted) = self.step {
            if wanted > steps {
                return Err(ScreenshotError::Step { step: wanted, steps });
            }
            app.ask(TimeCommand::Seek((wanted * step).min(total)).into());
        }
        if let Some(token) = self.token {
            if token >= total {
                return Err(ScreenshotError::Token { token, last: total.saturating_sub(1) });
            }
            app.ask(ViewCommand::Select(Some(token)).into());
        }
        Ok(())
    }
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let parts = text.split_once(['x', 'X', '×']).and_then(|(w, h)| Some([w.trim().parse().ok()?, h.trim().parse().ok()?]));
    parts.filter(|[w, h]: &[u32; 2]| *w > 0 && *h > 0).ok_or_else(|| format!("`{text}` is no size; one is written as 1440x900"))
}

fn scale(text: &str) -> Result<f32, String> {
    let wanted = || format!("`{text}` is no scale; it is a number from 0.5 to 4");
    text.parse().ok().filter(|s| (0.5..=4.0).contains(s)).ok_or_else(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused_with_an_example() {
        assert_eq!(size("1440x900"), Ok([1440, 900]));
        assert_eq!(size("800X600"), Ok([800, 600]));
        for wrong in ["", "1440", "0x5", "axb", "-1x4", "1x2x3"] {
            assert!(size(wrong).is_err_and(|e| e.contains("1440x900")), "{wrong}");
        }
        assert!(scale("2").is_ok_and(|s| s.to_bits() == 2f32.to_bits()));
        assert!(scale("9").is_err() && scale("NaN").is_err());
    }
}
