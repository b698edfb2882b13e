//! Very many points as density, in a picture that grows: points are added as they come, and only what they touch is drawn again.

use eframe::egui::{Color32, ColorImage};

use super::raster::{Stamps, inked, inks};

/// The picture. See [`super::raster::draw`], which draws the same of all points at once.
pub struct Density {
    /// `[height, width]`.
    ink: Vec<f32>,
    colours: Vec<Color32>,
    stamps: Stamps,
    image: ColorImage,
}

impl Density {
    /// Without points yet, for about `expected` of them in `size` (width and height in pixels), `scale` pixels a screen point.
    #[must_use]
    pub fn new(size: [usize; 2], scale: f32, expected: usize, colour: Color32) -> Self {
        Self {
            ink: vec![0.0; size[0] * size[1]],
            colours: inks(colour),
            stamps: Stamps::suited(expected, size, scale),
            image: ColorImage::filled(size, Color32::TRANSPARENT),
        }
    }

    /// Adds points, in pixels from the top left corner; of those outside nothing is seen.
    pub fn add(&mut self, points: impl Iterator<Item = [f32; 2]>) {
        let Self { ink, colours, stamps, image } = self;
        let size = image.size;
        for point in points {
            stamps.press(size, point, |pixel, more| {
                ink[pixel] += more;
                image.pixels[pixel] = colours[inked(ink[pixel])];
            });
        }
    }

    /// The picture, transparent where no point is.
    #[must_use]
    pub fn image(&self) -> &ColorImage {
        &self.image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widget::raster::{self, Inks, Mark, Point};

    #[test]
    fn a_picture_that_grew_is_the_one_of_all_points_at_once() {
        let place = |i: usize| [(i * 37 % 101) as f32 * 0.61, (i * 53 % 89) as f32 * 0.47];
        let colour = Color32::from_rgb(120, 130, 140);
        let mut grown = Density::new([60, 40], 1.5, 500, colour);
        grown.add((0..20).map(place));
        let early = grown.image().clone();
        grown.add((20..500).map(place));
        let points: Vec<Point> = (0..500).map(place).map(|[x, y]| Point { x, y, mark: Mark::Plain }).collect();
        let whole = raster::draw(60, 40, 1.5, &points, Inks { plain: colour, ring: colour, diamond: colour });
        assert_eq!(grown.image().pixels, whole.pixels);
        assert!(early.pixels.iter().zip(&whole.pixels).all(|(a, b)| a.a() <= b.a()) && early != whole, "density only grows");
    }
}
