//! SVG from what egui would paint: shapes before they are made into triangles.
//!
//! Marks stay vectors, letters stay text (in runs, each where the window has it), what is a picture in the window (a heatmap) is
//! embedded as PNG. The same shapes give the same bytes. Nothing here needs a device.

mod image;
mod marks;
mod mesh;
mod pen;
mod shapes;
mod text;

use std::fmt::Write as _;

use eframe::egui::epaint::ClippedShape;
use eframe::egui::{Color32, Vec2};

pub use marks::{Mark, Outline, Outlines};

use super::caption::{Caption, PROGRAM};
use super::textures::Textures;
use pen::Pen;

/// The letters of the window. Where they are not installed others take their place, of those that are about as wide.
const FAMILY: &str = "'Ubuntu Light', Ubuntu, 'Noto Sans', 'Open Sans', Roboto, Arial, 'Nimbus Sans', 'DejaVu Sans Condensed', sans-serif";

/// A picture as shapes.
#[derive(Debug)]
pub struct Page<'a> {
    /// Width and height in points.
    pub size: Vec2,
    /// What is painted, from back to front.
    pub shapes: &'a [ClippedShape],
    /// What the textures hold.
    pub textures: &'a Textures,
    /// Which textures are marks with a known outline.
    pub outlines: &'a Outlines,
    /// The paper.
    pub paper: Color32,
    /// What it is of.
    pub caption: &'a Caption,
}

/// The page as an SVG document.
#[must_use]
pub fn document(page: &Page<'_>) -> String {
    let Vec2 { x: width, y: height } = page.size;
    let mut pen = Pen::new(page);
    for shape in page.shapes {
        pen.clipped(shape);
    }
    let (defs, body) = pen.done();
    let (width, height) = (number(width), number(height));
    let Caption { title, session, step, .. } = page.caption;
    let mut out = String::with_capacity(body.len() + defs.len() + 4096);
    out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out += &format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\" xml:space=\"preserve\" role=\"img\" aria-labelledby=\"title desc\" \
         data-session-sha256=\"{}\" data-step=\"{step}\" data-program=\"{PROGRAM}\">\n",
        escaped(session)
    );
    let description = escaped(&page.caption.description());
    out += &format!("<title id=\"title\">{}</title>\n<desc id=\"desc\">{description}</desc>\n", escaped(title));
    out += &format!(
        "<metadata><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\
         <rdf:Description rdf:about=\"\"><dc:format>image/svg+xml</dc:format><dc:title>{}</dc:title><dc:description>{description}\
         </dc:description><dc:creator>{PROGRAM}</dc:creator><dc:source>session sha256:{}, step {step}</dc:source></rdf:Description>\
         </rdf:RDF></metadata>\n",
        escaped(title),
        escaped(session)
    );
    if !defs.is_empty() {
        out += &format!("<defs>\n{defs}</defs>\n");
    }
    let (paper, _) = ink(page.paper);
    out += &format!("<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n");
    out += &format!("<g fill=\"none\" stroke-linejoin=\"round\" font-family=\"{FAMILY}\">\n{body}</g>\n</svg>\n");
    out
}

/// A coordinate in points, to a hundredth.
fn number(value: f32) -> String {
    let mut text = format!("{:.2}", if value.is_finite() { value } else { 0.0 });
    let kept = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(kept);
    if text == "-0" { "0".to_owned() } else { text }
}

/// A colour, and how much of it covers what lies behind (1: all).
fn ink(colour: Color32) -> (String, f32) {
    let [r, g, b, a] = colour.to_srgba_unmultiplied();
    (format!("#{r:02x}{g:02x}{b:02x}"), f32::from(a) / 255.0)
}

/// ` fill="#rrggbb"`, with its opacity where it is not all.
fn painted(what: &str, colour: Color32) -> String {
    let (colour, cover) = ink(colour);
    let mut out = format!(" {what}=\"{colour}\"");
    if cover < 1.0 {
        // To a thousandth: a 255th is four of them.
        write!(out, " {what}-opacity=\"{}\"", number3(cover)).unwrap_or_default();
    }
    out
}

fn number3(value: f32) -> String {
    format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text for XML: what has a meaning there is written as an entity, what cannot stand in a document is shown as U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_minus_nothing() {
        let texts = [1.0, 0.5, -0.001, 12.345, -3.1, f32::NAN, 100.0].map(number);
        assert_eq!(texts, ["1", "0.5", "0", "12.35", "-3.1", "0", "100"]);
    }

    #[test]
    fn a_colour_is_what_it_was_before_it_was_premultiplied() {
        assert_eq!(painted("fill", Color32::from_rgb(1, 2, 255)), " fill=\"#0102ff\"");
        // 200 at half strength is kept as 100.4, rounded to 100: of it comes 199. One in 255 is what eight bits lose.
        assert_eq!(painted("stroke", Color32::from_rgba_unmultiplied(200, 100, 50, 128)), " stroke=\"#c76432\" stroke-opacity=\"0.502\"");
    }

    #[test]
    fn what_xml_cannot_say_is_shown_as_such() {
        assert_eq!(escaped("a<b & \"c\"\u{1}\u{8}\n"), "a&lt;b &amp; &quot;c&quot;\u{fffd}\u{fffd}\n");
    }
}
