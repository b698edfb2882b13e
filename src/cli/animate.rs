//! `mnemoscope animate`: playback as an animation, of the window or a panel, with no display.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::picture::{PictureError, Shared};
use super::source::Bar;
use super::{CliError, out, source};
use crate::app::picture::film::{self, FPS, Reel, Target};

/// What the animation is of, and where it goes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    shared: Shared,
    /// The first frame's step (0 is the start)
    #[arg(long, value_name = "STEP", default_value_t = 0)]
    from: usize,
    /// The last frame's step; the last there is, where it is not given
    #[arg(long, value_name = "STEP")]
    to: Option<usize>,
    /// Steps from one frame to the next
    #[arg(long, value_name = "STEPS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Frames a second
    #[arg(long, default_value_t = 8.0, value_parser = fps)]
    fps: f32,
    /// A file `.png` (or `.apng`) for one APNG, or a folder for numbered PNGs
    #[arg(long, value_name = "FILE.png|DIR")]
    out: PathBuf,
}

impl Args {
    /// Runs the session to its end, and writes a frame for each step that is wanted.
    pub fn execute(&self) -> Result<(), CliError> {
        let cancel = source::interrupted()?;
        Ok(self.shoot(&cancel)?)
    }

    fn shoot(&self, cancel: &AtomicBool) -> Result<(), PictureError> {
        let target = Target::of(&self.out);
        if let Target::Folder(folder) = &target {
            let what = "an animation is one PNG (.png or .apng) or a folder of PNGs";
            out::folder("--out", folder, what).map_err(PictureError::Usage)?;
        }
        let (mut stage, mut app) = self.shared.open(false, cancel)?;
        let steps = app.timeline().steps();
        let to = self.to.unwrap_or(steps);
        for (option, step) in [("--from", self.from), ("--to", to)] {
            if step > steps {
                return Err(PictureError::Step { option, step, steps });
            }
        }
        if self.from > to {
            return Err(PictureError::Usage(format!("--from is {}, after --to, which is {to}", self.from)));
        }
        let reel = Reel { from: self.from, to, every: self.every as usize };
        let bar = Bar::new("frames");
        let mut progress = |done: usize, of: usize| bar.show(done as u64, of as u64);
        film::shoot(&mut stage, &mut app, reel, self.fps, &target, &mut progress, cancel)?;
        Ok(())
    }
}

fn fps(text: &str) -> Result<f32, String> {
    let wanted = || format!("`{text}` is no rate; it is a number of frames a second from {} to {}", FPS.start(), FPS.end());
    text.parse().ok().filter(|f| FPS.contains(f)).ok_or_else(wanted)
}
