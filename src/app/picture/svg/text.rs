//! Letters as text, in runs: each word of one style is where the window has it, and as wide. Not every renderer takes a run's width;
//! where another font is wider, a word's end is off by a little, and not a line's by much.

use eframe::egui::epaint::TextShape;
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Color32, FontFamily, Pos2, Rect};

use super::pen::{Pen, frame};
use super::shapes::turned;
use super::{escaped, number, painted};

/// A word in one style.
struct Run {
    /// Its start on the baseline.
    at: Pos2,
    /// Where its last letter that is seen ends.
    end: f32,
    /// Above and below, where its background is.
    top_and_bottom: (f32, f32),
    text: String,
    /// True if something that is not seen comes after it: words are apart where they are copied.
    space: bool,
    section: usize,
}

impl Pen<'_> {
    pub(super) fn text(&mut self, shape: &TextShape) {
        let job = &shape.galley.job;
        let colour = |own: Color32| {
            let own = if own == Color32::PLACEHOLDER { shape.fallback_color } else { own };
            own.gamma_multiply(shape.opacity_factor)
        };
        let runs = runs(shape);
        let turn = turned(shape.angle, shape.pos);
        let mut written: Vec<Word<'_>> = Vec::with_capacity(runs.len());
        for run in &runs {
            let Some(format) = job.sections.get(run.section).map(|s| &s.format) else { continue };
            let ink = colour(shape.override_text_color.unwrap_or(format.color));
            if format.background != Color32::TRANSPARENT {
                let (top, bottom) = run.top_and_bottom;
                let rect = Rect::from_min_max(Pos2::new(run.at.x, top), Pos2::new(run.end, bottom)).expand(format.expand_bg);
                self.body += &format!("<rect{}{turn}{}/>\n", frame(rect), painted("fill", colour(format.background)));
            }
            if ink != Color32::TRANSPARENT {
                let underlined = !shape.underline.is_empty() || !format.underline.is_empty();
                written.push(Word { run, style: style(format, underlined) + &painted("fill", ink) });
            }
        }
        let Some(first) = written.first() else { return };
        if written.len() == 1 {
            let place = first.place(None);
            self.body += &format!("<text{turn}{place}{}>{}</text>\n", first.style, escaped(&first.run.text));
            return;
        }
        // One element, so that it is selected and copied as one; the style that all of it has is said once.
        let same = written.iter().all(|w| w.style == first.style);
        let mut spans = String::new();
        for (i, word) in written.iter().enumerate() {
            let before = i.checked_sub(1).map(|b| written[b].run);
            let style = if same { "" } else { &word.style };
            spans += &format!("<tspan{}{style}>{}</tspan>", word.place(before), escaped(&word.run.text));
            if word.run.space && i + 1 < written.len() {
                spans.push(' ');
            }
        }
        let style = if same { &first.style } else { "" };
        self.body += &format!("<text{turn}{style}>{spans}</text>\n");
    }
}

/// A run that is written, with what it looks like.
struct Word<'a> {
    run: &'a Run,
    style: String,
}

impl Word<'_> {
    /// Where it stands, and how wide it is; the height of the run before it holds on.
    fn place(&self, before: Option<&Run>) -> String {
        let Run { at, end, text, .. } = self.run;
        let mut out = format!(" x=\"{}\"", number(at.x));
        if before.is_none_or(|b| (b.at.y - at.y).abs() > 1e-3) {
            out += &format!(" y=\"{}\"", number(at.y));
        }
        // Of another font, the letters are drawn as wide as the window's, by renderers that can.
        if *end > at.x && text.chars().nth(1).is_some() {
            out += &format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", number(end - at.x));
        }
        out
    }
}

fn style(format: &TextFormat, underlined: bool) -> String {
    let mut out = format!(" font-size=\"{}\"", number(format.font_id.size));
    if format.font_id.family == FontFamily::Monospace {
        out += " font-family=\"Hack, 'DejaVu Sans Mono', 'Noto Sans Mono', monospace\"";
    }
    if format.italics {
        out += " font-style=\"italic\"";
    }
    if underlined {
        out += " text-decoration=\"underline\"";
    } else if !format.strikethrough.is_empty() {
        out += " text-decoration=\"line-through\"";
    }
    out
}

/// The runs of a text. A row's letters stand in the order of the text, but do not say which style they are of: that is found by
/// going through both together.
fn runs(shape: &TextShape) -> Vec<Run> {
    let galley = &shape.galley;
    let mut letters = galley.job.text.char_indices().peekable();
    let (mut out, mut section) = (Vec::<Run>::new(), 0);
    for row in &galley.rows {
        let mut fresh = true;
        for glyph in &row.row.glyphs {
            // Where a text is cut short, an ellipsis stands for the rest: it has the style of what it follows.
            if let Some((byte, _)) = letters.next_if(|(_, c)| *c == glyph.chr) {
                section = section_of(&galley.job, section, byte);
            }
            let at = shape.pos + row.pos.to_vec2() + glyph.pos.to_vec2();
            let end = at.x + glyph.advance_width;
            let top = shape.pos.y + row.pos.y;
            if glyph.chr.is_whitespace() {
                fresh = true;
                out.last_mut().into_iter().for_each(|run| run.space = true);
                continue;
            }
            if let Some(run) = out.last_mut().filter(|run| !fresh && run.section == section) {
                run.text.push(glyph.chr);
                run.end = end;
            } else {
                let top_and_bottom = (top, top + row.row.size.y);
                out.push(Run { at, end, top_and_bottom, text: glyph.chr.to_string(), space: false, section });
                fresh = false;
            }
        }
        if row.ends_with_newline {
            letters.next_if(|(_, c)| *c == '\n');
        }
        // A row ends a word, whether or not a space does.
        out.last_mut().into_iter().for_each(|run| run.space = true);
    }
    out
}

/// The section that a letter is in, at or after the section `from`.
fn section_of(job: &LayoutJob, from: usize, byte: usize) -> usize {
    (from..job.sections.len()).find(|&i| byte < job.sections[i].byte_range.end.0).unwrap_or(from)
}
