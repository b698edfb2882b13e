//! Parts of textures as embedded PNGs.

use eframe::egui::{Color32, ColorImage, Rect, TextureFilter, TextureId, pos2, vec2};

use super::number;
use super::pen::{Pen, frame};
use crate::app::picture::textures::Texture;

impl Pen<'_> {
    /// A part of a texture, once.
    pub(super) fn picture(&mut self, id: TextureId, uv: Rect, rect: Rect, tint: Color32) {
        let Some(texture) = self.page.textures.get(id) else { return };
        let Some((cells, place)) = part_of(texture, uv, rect) else { return };
        let data = data_url(&texture.image, cells, tint);
        let mode = rendering(texture, cells, place);
        // Where an edge lies within a pixel of the texture, the whole pixel is there and the rest of it is cut off.
        let cut = (place.min - rect.min).length() > 0.01 || (place.max - rect.max).length() > 0.01;
        if cut {
            let clip = self.clip_number(rect);
            self.body += &format!("<g clip-path=\"url(#c{clip})\">");
        }
        self.body += &format!("<image{} preserveAspectRatio=\"none\"{mode} xlink:href=\"{data}\"/>", frame(place));
        self.body += if cut { "</g>\n" } else { "\n" };
    }

    /// A part of a texture that is used again and again: defined once, and put where it is wanted.
    pub(super) fn stamp(&mut self, id: TextureId, uv: Rect, rect: Rect, tint: Color32) {
        let Some(texture) = self.page.textures.get(id) else { return };
        let Some((cells, place)) = part_of(texture, uv, rect) else { return };
        let next = self.pictures.len();
        let mut fresh = false;
        let known = *self.pictures.entry((id, cells, tint.to_array())).or_insert_with(|| {
            fresh = true;
            next
        });
        let [_, _, wide, high] = cells;
        if fresh {
            let data = data_url(&texture.image, cells, tint);
            self.defs += &format!("<image id=\"p{known}\" width=\"{wide}\" height=\"{high}\" xlink:href=\"{data}\"/>\n");
        }
        let (sx, sy) = (place.width() / wide as f32, place.height() / high as f32);
        let (x, y) = (number(place.left()), number(place.top()));
        self.body += &format!("<use xlink:href=\"#p{known}\" transform=\"matrix({sx:.4} 0 0 {sy:.4} {x} {y})\"/>\n");
    }
}

/// The whole pixels of a texture that a part of it touches (left, top, width, height), and where they lie.
fn part_of(texture: &Texture, uv: Rect, rect: Rect) -> Option<([usize; 4], Rect)> {
    let [wide, high] = texture.image.size;
    let (size, low, high_end) = (vec2(wide as f32, high as f32), uv.min.to_vec2(), uv.max.to_vec2());
    let (from, to) = (low * size, high_end * size);
    // A hair beyond a pixel's edge is rounding.
    let down = |v: f32| (v + 1e-3).floor().max(0.0) as usize;
    let up = |v: f32, most: usize| ((v - 1e-3).ceil().max(0.0) as usize).min(most);
    let cells = [down(from.x), down(from.y), up(to.x, wide), up(to.y, high)];
    let (columns, rows) = (cells[2].checked_sub(cells[0])?, cells[3].checked_sub(cells[1])?);
    if columns == 0 || rows == 0 || to.x <= from.x || to.y <= from.y {
        return None;
    }
    let each = vec2(rect.width() / (to.x - from.x), rect.height() / (to.y - from.y));
    let at = |x: usize, y: usize| pos2(rect.left() + (x as f32 - from.x) * each.x, rect.top() + (y as f32 - from.y) * each.y);
    Some(([cells[0], cells[1], columns, rows], Rect::from_min_max(at(cells[0], cells[1]), at(cells[2], cells[3]))))
}

/// How it is drawn at another size. Cells larger than a point keep their edges, as in the window; finer ones are averaged, so that none
/// is lost where the figure is drawn small.
fn rendering(texture: &Texture, [_, _, columns, rows]: [usize; 4], place: Rect) -> &'static str {
    let coarse = place.width() >= columns as f32 && place.height() >= rows as f32;
    if coarse && texture.magnified == TextureFilter::Nearest { " style=\"image-rendering:pixelated\"" } else { "" }
}

/// A part of a picture as a PNG in a URL.
fn data_url(image: &ColorImage, [left, top, wide, high]: [usize; 4], tint: Color32) -> String {
    let mut rgba = Vec::with_capacity(wide * high * 4);
    for row in top..top + high {
        let start = row * image.size[0] + left;
        for pixel in &image.pixels[start..start + wide] {
            let product = if tint == Color32::WHITE { *pixel } else { *pixel * tint };
            rgba.extend(product.to_srgba_unmultiplied());
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, wide as u32, high as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    // Writing to memory does not fail, and the sizes are those of a picture that is there.
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&rgba));
    if let Err(error) = written {
        log::error!("a picture cannot be embedded: {error}");
    }
    format!("data:image/png;base64,{}", base64(&bytes))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit > three.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::Pos2;
    use std::sync::Arc;

    #[test]
    fn base64_is_as_its_rfc_has_it() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn the_part_before_a_playhead_ends_within_a_pixel_and_lies_where_it_did() {
        let image = Arc::new(ColorImage::filled([10, 4], Color32::RED));
        let texture = Texture { image, magnified: TextureFilter::Nearest };
        let rect = Rect::from_min_size(Pos2::new(100.0, 50.0), vec2(45.0, 40.0));
        let uv = Rect::from_min_max(Pos2::ZERO, Pos2::new(0.45, 1.0));
        // 4.5 pixels of ten points each: the fifth pixel is there, and reaches beyond the rectangle.
        let (cells, place) = part_of(&texture, uv, rect).unwrap();
        assert_eq!((cells, place.left(), place.right()), ([0, 0, 5, 4], 100.0, 150.0));
        assert_eq!(rendering(&texture, cells, place), " style=\"image-rendering:pixelated\"");
        assert_eq!(part_of(&texture, Rect::ZERO, rect), None);
    }
}
