//! What is in the textures, kept on this side of the device: for pictures that are made without one.

use std::collections::HashMap;
use std::sync::Arc;

use eframe::egui::{ColorImage, ImageData, TextureFilter, TextureId, TexturesDelta};

/// One texture.
#[derive(Debug, Clone)]
pub struct Texture {
    /// Its pixels.
    pub image: Arc<ColorImage>,
    /// How it is drawn larger than it is.
    pub magnified: TextureFilter,
}

/// The textures of a context, without the one that letters are in.
#[derive(Debug, Clone, Default)]
pub struct Textures {
    held: HashMap<TextureId, Texture>,
    /// What the last frame freed: it still painted it.
    freed: Vec<TextureId>,
}

impl Textures {
    /// The texture of this name.
    #[must_use]
    pub fn get(&self, id: TextureId) -> Option<&Texture> {
        self.held.get(&id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (TextureId, &Texture)> {
        self.held.iter().map(|(id, texture)| (*id, texture))
    }

    /// Takes in what has changed in a frame. What was freed in it is still painted in it: it goes with the next one.
    pub fn update(&mut self, delta: &TexturesDelta) {
        for id in self.freed.drain(..) {
            self.held.remove(&id);
        }
        self.freed.extend(delta.free.iter().copied());
        for (&id, images) in delta.set.iter().filter(|(id, _)| **id != TextureId::default()) {
            for change in images {
                let ImageData::Color(image) = &change.image;
                match (change.pos, self.held.get_mut(&id)) {
                    (Some(at), Some(texture)) => replace(Arc::make_mut(&mut texture.image), at, image),
                    _ => drop(self.held.insert(id, Texture { image: Arc::clone(image), magnified: change.options.magnification })),
                }
            }
        }
    }
}

/// Puts a smaller picture into a larger one.
fn replace(whole: &mut ColorImage, [left, top]: [usize; 2], part: &ColorImage) {
    for (row, pixels) in part.pixels.chunks_exact(part.size[0].max(1)).enumerate() {
        let start = (top + row) * whole.size[0] + left;
        if let Some(target) = whole.pixels.get_mut(start..start + pixels.len()) {
            target.copy_from_slice(pixels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::epaint::ImageDelta;
    use eframe::egui::{Color32, TextureOptions};

    #[test]
    fn a_part_of_a_texture_is_replaced_where_it_lies() {
        let id = TextureId::Managed(3);
        let mut delta = TexturesDelta::default();
        delta.push(id, ImageDelta::full(ColorImage::filled([3, 2], Color32::BLACK), TextureOptions::NEAREST));
        delta.push(id, ImageDelta::partial([1, 1], ColorImage::filled([2, 1], Color32::WHITE), TextureOptions::NEAREST));
        let mut textures = Textures::default();
        textures.update(&delta);
        let white: Vec<bool> = textures.get(id).unwrap().image.pixels.iter().map(|p| *p == Color32::WHITE).collect();
        assert_eq!(white, [false, false, false, false, true, true]);
        delta.clear();
        delta.free(id);
        textures.update(&delta);
        assert!(textures.get(id).is_some(), "the frame that frees it still paints it");
        delta.clear();
        textures.update(&delta);
        assert!(textures.get(id).is_none());
    }
}
