//! Still pictures on disk: PNG and SVG, each with the words that belong to it, there whole or not at all.

use std::io::Write;
use std::path::Path;

use image::RgbaImage;
use png::{BitDepth, ColorType, Encoder, EncodingError};

use super::caption::{Caption, PROGRAM};
use crate::export::{WriteError, write_atomic};

/// Writes a picture as PNG.
///
/// # Errors
/// If it cannot be written.
pub fn write_png(path: &Path, picture: &RgbaImage, caption: &Caption) -> Result<(), WriteError> {
    write_atomic(path, |out| png(out, picture, caption).map_err(std::io::Error::other))
}

/// Writes a document of text.
///
/// # Errors
/// If it cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), WriteError> {
    write_atomic(path, |out| out.write_all(text.as_bytes()))
}

/// A picture as PNG into `out`.
///
/// # Errors
/// If `out` fails.
pub fn png(out: impl Write, picture: &RgbaImage, caption: &Caption) -> Result<(), EncodingError> {
    let encoder = encoder(out, [picture.width(), picture.height()], caption)?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&opaque(picture, [0, 0, picture.width(), picture.height()]))?;
    writer.finish()
}

/// An encoder with the words of a caption.
///
/// # Errors
/// If a word cannot be written.
pub fn encoder<'a, W: Write>(out: W, [width, height]: [u32; 2], caption: &Caption) -> Result<Encoder<'a, W>, EncodingError> {
    let mut encoder = Encoder::new(out, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let step = caption.step.to_string();
    let description = caption.description();
    let words = [
        ("Title", caption.title.as_str()),
        ("Description", &description),
        ("Software", PROGRAM),
        ("Session-SHA256", &caption.session),
        ("Step", &step),
    ];
    for (keyword, text) in words {
        // The older kind of text holds Latin-1 alone.
        if text.chars().all(|c| u32::from(c) < 256) {
            encoder.add_text_chunk(keyword.to_owned(), text.to_owned())?;
        } else {
            encoder.add_itxt_chunk(keyword.to_owned(), text.to_owned())?;
        }
    }
    Ok(encoder)
}

/// Part of a picture (left, top, width, height) without its alpha, which is everywhere full.
pub(super) fn opaque(picture: &RgbaImage, [left, top, width, height]: [u32; 4]) -> Vec<u8> {
    let mut out = Vec::with_capacity((width * height * 3) as usize);
    for y in top..top + height {
        for x in left..left + width {
            out.extend(&picture.get_pixel(x, y).0[..3]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caption() -> Caption {
        Caption {
            title: "Growth · a session".into(),
            name: "Growth".into(),
            text: "Two lanes.".into(),
            about: "See the — of it".into(),
            plots: vec!["A plot of 3 lines".into()],
            session: "ab12".into(),
            step: 7,
        }
    }

    #[test]
    fn a_png_says_what_it_is_of() {
        let mut bytes = Vec::new();
        let picture = RgbaImage::from_fn(3, 2, |x, y| image::Rgba([x as u8, y as u8, 9, 255]));
        png(&mut bytes, &picture, &caption()).unwrap();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, [0, 0, 9, 1, 0, 9, 2, 0, 9, 0, 1, 9, 1, 1, 9, 2, 1, 9]);
        let info = reader.info();
        let said = |key: &str| info.uncompressed_latin1_text.iter().find(|t| t.keyword == key).map(|t| t.text.as_str());
        assert_eq!((said("Title"), said("Software"), said("Step")), (Some("Growth · a session"), Some(PROGRAM), Some("7")));
        assert_eq!(said("Session-SHA256"), Some("ab12"));
        // A dash is no Latin-1.
        let long = info.utf8_text.iter().find(|t| t.keyword == "Description").map(|t| t.get_text().unwrap());
        assert_eq!(long.as_deref(), Some("Two lanes.\nSee the — of it\nA plot of 3 lines"));
    }
}
