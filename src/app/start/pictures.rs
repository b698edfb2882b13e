//! The pictures of the cards: decoded on a thread of their own when the page is first shown, so that no frame waits for them.

use std::collections::BTreeMap;

use crossbeam_channel::{Receiver, unbounded};
use eframe::egui::{ColorImage, Context, TextureHandle, TextureOptions};

/// Pixels of a picture, width and height.
pub(super) const SIZE: [usize; 2] = [480, 300];

/// A picture by the name of its card.
type Decoded = (&'static str, ColorImage);

/// Those that are there, and the thread that makes the others.
#[derive(Default)]
pub(super) struct Pictures {
    there: BTreeMap<&'static str, TextureHandle>,
    to_come: Option<Receiver<Decoded>>,
}

impl std::fmt::Debug for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pictures").field("there", &self.there.len()).finish_non_exhaustive()
    }
}

impl Pictures {
    /// Begins to decode these PNGs. One that cannot be read leaves its card without a picture.
    pub(super) fn load(&mut self, ctx: &Context, files: Vec<(&'static str, &'static [u8])>) {
        let (sender, receiver) = unbounded();
        let wake = ctx.clone();
        let work = move || {
            for (name, bytes) in files {
                match decode(bytes).map(|image| sender.send((name, image))) {
                    Ok(Ok(())) => {}
                    // The page is gone, and with it the window.
                    Ok(Err(_)) => return,
                    Err(error) => log::error!("the picture of {name} cannot be read: {error}"),
                }
            }
            drop(sender);
            wake.request_repaint();
        };
        match std::thread::Builder::new().name("pictures".to_owned()).spawn(work) {
            Ok(_) => self.to_come = Some(receiver),
            Err(error) => log::error!("no thread for the pictures: {error}"),
        }
    }

    /// Takes in what has been decoded.
    pub(super) fn receive(&mut self, ctx: &Context) {
        use crossbeam_channel::TryRecvError;
        while let Some(receiver) = &self.to_come {
            match receiver.try_recv() {
                Ok((name, image)) => {
                    self.there.insert(name, ctx.load_texture(name, image, TextureOptions::LINEAR));
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.to_come = None,
            }
        }
    }

    /// The picture of a card, once it is there.
    pub(super) fn of(&self, name: &str) -> Option<&TextureHandle> {
        self.there.get(name)
    }

    /// True when no more are to come.
    pub(super) fn complete(&self) -> bool {
        self.to_come.is_none()
    }
}

fn decode(png: &[u8]) -> Result<ColorImage, image::ImageError> {
    let picture = image::load_from_memory_with_format(png, image::ImageFormat::Png)?.into_rgba8();
    let size = [picture.width() as usize, picture.height() as usize];
    Ok(ColorImage::from_rgba_unmultiplied(size, picture.as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::gallery::shipped;
    use crate::session::lesson::{lessons, picture};

    #[test]
    fn every_shipped_picture_can_be_read_and_has_the_size() {
        let of_lessons = lessons().iter().map(|(name, _)| (*name, picture(name).unwrap()));
        for (name, png) in shipped().iter().map(|one| (one.name, one.picture)).chain(of_lessons) {
            assert_eq!(decode(png).unwrap().size, SIZE, "{name}");
        }
    }
}
