//! Animations: a picture for each of some steps, as one APNG or as numbered PNGs in a folder. Written frame by frame, and there whole or
//! not at all.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use image::RgbaImage;
use png::{BlendOp, DisposeOp, EncodingError, Writer};
use thiserror::Error;

use super::caption::Caption;
use super::file::{self, encoder, opaque};
use super::painter::PaintError;
use crate::app::App;
use crate::app::command::TimeCommand;
use crate::app::offscreen::{Stage, Unsettled};
use crate::export::{WriteError, write_atomic};

/// Frames a second that an animation can have.
pub const FPS: std::ops::RangeInclusive<f32> = 0.1..=60.0;

/// Why there is no animation.
#[derive(Debug, Error)]
pub enum FilmError {
    /// The session does not run, or it was cancelled.
    #[error(transparent)]
    Unsettled(#[from] Unsettled),
    /// A frame cannot be painted.
    #[error(transparent)]
    Paint(#[from] PaintError),
    /// The file, or a file of the folder.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// There is an animation in the folder already.
    #[error("{0} holds frames already; an animation goes into a folder without any")]
    Frames(String),
}

/// Which steps: from the first to the last, of every so many one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reel {
    /// The first, counted in steps that are done.
    pub from: usize,
    /// The last.
    pub to: usize,
    /// How many steps from one frame to the next; at least 1.
    pub every: usize,
}

impl Reel {
    /// The steps of its frames. The last step is always one of them: an animation ends where it says it does.
    #[must_use]
    pub fn steps(self) -> Vec<usize> {
        let mut steps: Vec<usize> = (self.from..=self.to).step_by(self.every.max(1)).collect();
        if steps.last().is_some_and(|last| *last != self.to) {
            steps.push(self.to);
        }
        steps
    }
}

/// Where an animation goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One APNG.
    File(PathBuf),
    /// Numbered PNGs in a folder, which is made if it is not there.
    Folder(PathBuf),
}

impl Target {
    /// What a path means: with `.png` or `.apng` a file, else a folder.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let file = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png") || e.eq_ignore_ascii_case("apng"));
        if file { Self::File(path.to_owned()) } else { Self::Folder(path.to_owned()) }
    }
}

/// Takes and writes the frames. The window on the stage has its run complete. `progress` is told how many frames are done, of how many;
/// setting `cancel` ends it before the next one, and nothing is left.
///
/// # Errors
/// If a frame cannot be made or written, or it was cancelled.
pub fn shoot(
    stage: &mut Stage,
    app: &mut App,
    reel: Reel,
    fps: f32,
    target: &Target,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<(), FilmError> {
    let steps = reel.steps();
    let mut done = 0;
    let mut take = |app: &mut App, step: usize| -> Result<(RgbaImage, Caption), FilmError> {
        if cancel.load(Ordering::Relaxed) {
            return Err(Unsettled::Cancelled.into());
        }
        let writes = (step * app.timeline().step()).min(app.timeline().total());
        app.ask(TimeCommand::Seek(writes).into());
        stage.settle(app, cancel)?;
        let picture = stage.picture()?;
        let caption = stage.caption(app).ok_or_else(|| Unsettled::Run("there is no run to show".to_owned()))?;
        done += 1;
        progress(done, steps.len());
        Ok((picture, caption))
    };
    match target {
        Target::File(path) => apng(path, &steps, fps, |step| take(app, step)),
        Target::Folder(path) => numbered(path, &steps, |step| take(app, step)),
    }
}

fn apng(
    path: &Path,
    steps: &[usize],
    fps: f32,
    mut take: impl FnMut(usize) -> Result<(RgbaImage, Caption), FilmError>,
) -> Result<(), FilmError> {
    // The file's own closure can only say that it failed: why, is kept here.
    let mut failed = None;
    let other = |e: EncodingError| std::io::Error::other(e);
    let written = write_atomic(path, |out| {
        let mut next = |step: usize| take(step).map_err(|e| std::io::Error::other(failed.insert(e).to_string()));
        let Some((first, rest)) = steps.split_first() else { return Ok(()) };
        let (picture, caption) = next(*first)?;
        let mut strip = Strip::begin(out, &picture, &caption, steps.len(), fps).map_err(other)?;
        strip.push(picture).map_err(other)?;
        for step in rest {
            strip.push(next(*step)?.0).map_err(other)?;
        }
        strip.writer.finish().map_err(other)
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// An APNG while it is written: each frame holds only the part that differs from the one before.
struct Strip<W: Write> {
    writer: Writer<W>,
    last: Option<RgbaImage>,
}

impl<W: Write> Strip<W> {
    fn begin(out: W, picture: &RgbaImage, caption: &Caption, frames: usize, fps: f32) -> Result<Self, EncodingError> {
        let mut encoder = encoder(out, [picture.width(), picture.height()], caption)?;
        encoder.set_animated(frames as u32, 0)?;
        // Thousands of a frame: at 60 frames a second the fraction still has its parts below 2^16.
        encoder.set_frame_delay(1000, (fps.clamp(*FPS.start(), *FPS.end()) * 1000.0).round() as u16)?;
        encoder.set_blend_op(BlendOp::Source)?;
        encoder.set_dispose_op(DisposeOp::None)?;
        Ok(Self { writer: encoder.write_header()?, last: None })
    }

    fn push(&mut self, picture: RgbaImage) -> Result<(), EncodingError> {
        let part = self.last.as_ref().map_or([0, 0, picture.width(), picture.height()], |last| changed(last, &picture));
        let [left, top, width, height] = part;
        self.writer.reset_frame_position()?;
        self.writer.set_frame_dimension(width, height)?;
        self.writer.set_frame_position(left, top)?;
        self.writer.write_image_data(&opaque(&picture, part))?;
        self.last = Some(picture);
        Ok(())
    }
}

/// The smallest part (left, top, width, height) outside of which two pictures of one size are the same; a pixel if they are the same.
fn changed(a: &RgbaImage, b: &RgbaImage) -> [u32; 4] {
    let (mut low, mut high) = ([u32::MAX; 2], [0; 2]);
    for (x, y, pixel) in b.enumerate_pixels() {
        if a.get_pixel(x, y) != pixel {
            low = [low[0].min(x), low[1].min(y)];
            high = [high[0].max(x), high[1].max(y)];
        }
    }
    if low[0] == u32::MAX { [0, 0, 1, 1] } else { [low[0], low[1], high[0] - low[0] + 1, high[1] - low[1] + 1] }
}

/// Frames are named from 1 on, with as many digits as the last needs and at least four.
fn numbered(
    folder: &Path,
    steps: &[usize],
    mut take: impl FnMut(usize) -> Result<(RgbaImage, Caption), FilmError>,
) -> Result<(), FilmError> {
    let failed = |e: std::io::Error| WriteError::of(folder, &e);
    let new = !folder.exists();
    std::fs::create_dir_all(folder).map_err(failed)?;
    let written = (|| {
        let mut there = std::fs::read_dir(folder).map_err(failed)?.flatten();
        if there.any(|e| is_frame(&e.file_name().to_string_lossy())) {
            return Err(FilmError::Frames(folder.display().to_string()));
        }
        // In a folder of their own until they are all there: it goes with everything in it, whatever happens.
        let making = tempfile::Builder::new().prefix(".mnemoscope-").suffix(".part").tempdir_in(folder);
        let making = making.map_err(|e| WriteError::beside(folder, folder, &e))?;
        let digits = steps.len().to_string().len().max(4);
        let names: Vec<String> = (1..=steps.len()).map(|i| format!("frame-{i:0digits$}.png")).collect();
        for (name, &step) in names.iter().zip(steps) {
            let (picture, caption) = take(step)?;
            file::write_png(&making.path().join(name), &picture, &caption)?;
        }
        for name in &names {
            std::fs::rename(making.path().join(name), folder.join(name)).map_err(failed)?;
        }
        Ok(())
    })();
    if written.is_err() && new {
        // Only if it is empty; what else somebody has put there meanwhile stays.
        std::fs::remove_dir(folder).unwrap_or_default();
    }
    written
}

fn is_frame(name: &str) -> bool {
    name.strip_prefix("frame-").and_then(|n| n.strip_suffix(".png")).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_animation_ends_at_its_last_step() {
        let steps = |from, to, every| Reel { from, to, every }.steps();
        assert_eq!(steps(0, 10, 4), [0, 4, 8, 10]);
        assert_eq!(steps(2, 8, 3), [2, 5, 8]);
        assert_eq!(steps(5, 5, 0), [5]);
    }

    #[test]
    fn only_what_differs_is_in_a_frame() {
        let blank = RgbaImage::new(8, 6);
        let mut other = blank.clone();
        other.put_pixel(2, 1, image::Rgba([1, 0, 0, 255]));
        other.put_pixel(5, 4, image::Rgba([1, 0, 0, 255]));
        assert_eq!(changed(&blank, &other), [2, 1, 4, 4]);
        assert_eq!(changed(&blank, &blank), [0, 0, 1, 1]);
    }

    #[test]
    fn a_name_ending_in_png_is_a_file() {
        assert_eq!(Target::of(Path::new("a/b.PNG")), Target::File("a/b.PNG".into()));
        assert_eq!(Target::of(Path::new("a/frames")), Target::Folder("a/frames".into()));
        assert!(is_frame("frame-0001.png") && !is_frame("frame-.png") && !is_frame("frames.png"));
    }
}
