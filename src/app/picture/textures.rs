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
pub struct Textures(HashMap<TextureId, Texture>);

impl Textures {
    /// The texture of this name.
    #[must_use]
    pub fn get(&self, id: TextureId) -> Option<&Texture> {
        self.0.get(&id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (TextureId, &Texture)> {
        self.0.iter().map(|(id, texture)| (*id, texture))
    }

    /// Takes in what has changed in a frame. What was freed was still painted in that frame: [`Textures::forget`] takes it away.
    pub fn update(&mut self, delta: &TexturesDelta) {
        for (&id, images) in delta.set.iter().filter(|(id, _)| **id != TextureId::default()) {
            for change in images {
                let ImageData::Color(image) = &change.image;
                match (change.pos, self.0.get_mut(&id)) {
                    (Some(at), Some(texture)) => replace(Arc::make_mut(&mut texture.image), at, image),
                    _ => drop(self.0.insert(id, Texture { image: Arc::clone(image), magnified: change.options.magnification })),
                }
            }
        }
    }

    /// Takes away textures that have been freed.
    pub fn forget(&mut self, freed: impl IntoIterator<Item = TextureId>) {
        for id in freed {
            self.0.remove(&id);
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
        textures.forget([id]);
        assert!(textures.get(id).is_none());
        delta.clear();
    }
}
