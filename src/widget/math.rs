//! Formulas: a small notation, and its layout on the window's own fonts.
//!
//! [`parse`] reads `\frac<t N><t + N>`: letters are variables (italic), `\b<q>` a bold vector, `\t<words>` upright words, `\phi`
//! and its kin greek letters, `x^<2>`, `x_<j>` scripts, `\sum_<j>` a sum with its index below, `#3<..>` the term number 3, which
//! answers the pointer, and `~` a place where a long line may be broken. Groups stand in `<` and `>`, so that formulas can be
//! written with `format!`. [`Math::layout`] gives galleys with places; nothing here knows what a formula means.
//!
//! No font is added: the window's own have every sign used here, which a test checks.

use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Color32, FontFamily, FontId, Galley, Painter, Pos2, Rect, Ui, Vec2, pos2, vec2};

/// A formula, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Math {
    /// A letter or word in one face.
    Text { text: String, face: Face },
    /// Parts one after the other.
    Row(Vec<Math>),
    /// A fraction.
    Frac(Box<Math>, Box<Math>),
    /// A base with what stands above and below its right edge.
    Script { base: Box<Math>, above: Option<Box<Math>>, below: Option<Box<Math>> },
    /// A sum over an index.
    Sum(Option<Box<Math>>),
    /// A term by its number.
    Term(usize, Box<Math>),
    /// A place where a line may be broken.
    Break,
}

/// How letters are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Numbers, operators, words.
    Upright,
    /// Variables.
    Italic,
    /// Vectors and matrices.
    Bold,
}

/// Signs by their names in the notation.
const SIGNS: &[(&str, &str)] = &[
    ("phi", "φ"),
    ("beta", "β"),
    ("eps", "ε"),
    ("dot", "·"),
    ("times", "×"),
    ("to", "←"),
    ("minus", "−"),
    ("le", "≤"),
    ("ge", "≥"),
    ("ne", "≠"),
    ("lt", "<"),
    ("gt", ">"),
    ("approx", "≈"),
    ("lfloor", "⌊"),
    ("rfloor", "⌋"),
    ("bar", "|"),
];

/// Reads the notation. What it does not know stands as it is written.
#[must_use]
pub fn parse(text: &str) -> Math {
    let mut chars: Vec<char> = text.chars().collect();
    // So that every group ends, however the text does.
    chars.push('>');
    let mut at = 0;
    let mut all = Vec::new();
    while at + 1 < chars.len() {
        match group(&chars, &mut at) {
            Math::Row(parts) => all.extend(parts),
            other => all.push(other),
        }
    }
    Math::Row(all)
}

/// The parts up to the `>` that ends the group, and past it.
fn group(chars: &[char], at: &mut usize) -> Math {
    let mut parts: Vec<Math> = Vec::new();
    while let Some(&c) = chars.get(*at) {
        *at += 1;
        match c {
            '>' => break,
            '~' => parts.push(Math::Break),
            '^' | '_' => {
                let script = Box::new(argument(chars, at));
                let base = parts.pop().unwrap_or_else(|| Math::Row(Vec::new()));
                parts.push(scripted(base, script, c == '^'));
            }
            '#' => {
                let digits: String = chars[*at..].iter().take_while(|c| c.is_ascii_digit()).collect();
                *at += digits.len();
                let body = Box::new(argument(chars, at));
                parts.push(digits.parse().map_or_else(|_| (*body).clone(), |n| Math::Term(n, body.clone())));
            }
            '\\' => parts.push(named(chars, at)),
            ' ' => parts.push(upright(" ")),
            c if c.is_alphabetic() => parts.push(Math::Text { text: c.to_string(), face: Face::Italic }),
            c if c.is_ascii_digit() => {
                let more: String = chars[*at..].iter().take_while(|c| c.is_ascii_digit() || **c == '.').collect();
                *at += more.chars().count();
                parts.push(upright(&format!("{c}{more}")));
            }
            '*' => parts.push(upright("·")),
            '-' => parts.push(upright("−")),
            c => parts.push(upright(&c.to_string())),
        }
    }
    if parts.len() == 1 { parts.remove(0) } else { Math::Row(parts) }
}

/// What follows a command: a group, or one letter.
fn argument(chars: &[char], at: &mut usize) -> Math {
    if chars.get(*at) == Some(&'<') {
        *at += 1;
        return group(chars, at);
    }
    let Some(c) = chars.get(*at) else { return Math::Row(Vec::new()) };
    *at += 1;
    let face = if c.is_alphabetic() { Face::Italic } else { Face::Upright };
    Math::Text { text: c.to_string(), face }
}

/// What stands in a group, letter by letter.
fn verbatim(chars: &[char], at: &mut usize) -> String {
    *at += 1;
    let text: String = chars[(*at).min(chars.len())..].iter().take_while(|c| **c != '>').collect();
    *at += text.chars().count() + 1;
    text
}

/// A command after its backslash.
fn named(chars: &[char], at: &mut usize) -> Math {
    let name: String = chars[*at..].iter().take_while(|c| c.is_alphabetic()).collect();
    *at += name.chars().count();
    match name.as_str() {
        "frac" => Math::Frac(Box::new(argument(chars, at)), Box::new(argument(chars, at))),
        "b" => Math::Text { text: verbatim(chars, at), face: Face::Bold },
        "t" => upright(&verbatim(chars, at)),
        "sum" => {
            let below = chars.get(*at) == Some(&'_');
            if below {
                *at += 1;
            }
            Math::Sum(below.then(|| Box::new(argument(chars, at))))
        }
        name => {
            let sign = SIGNS.iter().find(|(n, _)| *n == name).map_or(name, |(_, s)| s);
            Math::Text { text: sign.to_owned(), face: if matches!(sign, "φ" | "β" | "ε") { Face::Italic } else { Face::Upright } }
        }
    }
}

fn upright(text: &str) -> Math {
    Math::Text { text: text.to_owned(), face: Face::Upright }
}

fn scripted(base: Math, script: Box<Math>, up: bool) -> Math {
    let (base, mut above, mut below) = match base {
        Math::Script { base, above, below } => (base, above, below),
        base => (Box::new(base), None, None),
    };
    *(if up { &mut above } else { &mut below }) = Some(script);
    Math::Script { base, above, below }
}

impl Math {
    /// As a line of plain text: for screen readers and tests.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Text { text, .. } => text.clone(),
            Self::Row(parts) => parts.iter().map(Self::plain).collect(),
            Self::Frac(a, b) => format!("({}) / ({})", a.plain(), b.plain()),
            Self::Script { base, above, below } => {
                let part = |sign: &str, m: &Option<Box<Self>>| m.as_ref().map_or_else(String::new, |m| format!("{sign}{}", m.plain()));
                format!("{}{}{}", base.plain(), part("_", below), part("^", above))
            }
            Self::Sum(below) => format!("sum over {} of ", below.as_ref().map_or_else(|| "all".to_owned(), |b| b.plain())),
            Self::Term(_, body) => body.plain(),
            Self::Break => String::new(),
        }
    }

    /// The pieces between the places where a line may be broken.
    pub fn pieces(&self) -> impl Iterator<Item = &[Self]> {
        let parts = if let Self::Row(parts) = self { parts } else { std::slice::from_ref(self) };
        parts.split(|p| *p == Self::Break).filter(|p| !p.is_empty())
    }

    /// Lays parts out one after the other in one line, in letters of `size` points.
    #[must_use]
    pub fn layout_row(parts: &[Self], ui: &Ui, size: f32, colour: Color32) -> Laid {
        let mut all = Laid::empty(size);
        for part in parts {
            let laid = part.layout(ui, size, colour);
            let x = all.width;
            all.put(laid, vec2(x, 0.0));
        }
        all
    }

    /// Lays the formula out in one line, in letters of `size` points.
    #[must_use]
    pub fn layout(&self, ui: &Ui, size: f32, colour: Color32) -> Laid {
        match self {
            Self::Text { text, face } => letters(ui, text, *face, size, colour),
            Self::Row(parts) => Self::layout_row(parts, ui, size, colour),
            Self::Frac(above, below) => fraction(&above.layout(ui, size * 0.92, colour), &below.layout(ui, size * 0.92, colour), size),
            Self::Script { base, above, below } => {
                let mut all = base.layout(ui, size, colour);
                let (x, up, down) = (all.width + 0.5, all.ascent * 0.55, (all.descent - size * 0.22).max(0.0) + size * 0.28);
                for (part, y) in [(above, -up), (below, down)] {
                    if let Some(part) = part {
                        all.put(part.layout(ui, (size * 0.72).max(8.0), colour), vec2(x, y));
                    }
                }
                all
            }
            Self::Sum(below) => {
                let sign = letters(ui, "Σ", Face::Upright, size * 1.45, colour);
                let Some(below) = below else { return sign };
                let index = below.layout(ui, (size * 0.68).max(8.0), colour);
                let width = sign.width.max(index.width);
                let mut all = Laid::empty(size);
                let (a, b) = ((width - sign.width) / 2.0, (width - index.width) / 2.0);
                let y = sign.descent + index.ascent - size * 0.1;
                all.put(sign, vec2(a, 0.0));
                all.put(index, vec2(b, y));
                all.width = width + size * 0.15;
                all
            }
            Self::Term(number, body) => {
                let mut all = body.layout(ui, size, colour);
                let area = Rect::from_min_max(pos2(0.0, -all.ascent), pos2(all.width, all.descent));
                all.terms.push((*number, area));
                all
            }
            Self::Break => Laid::empty(size),
        }
    }
}

/// A formula laid out: places are from the left end of its base line.
#[derive(Debug, Clone, Default)]
pub struct Laid {
    /// Its width in points.
    pub width: f32,
    /// How far it reaches above its base line.
    pub ascent: f32,
    /// How far it reaches below.
    pub descent: f32,
    /// The terms and where they are; a term within another comes before it.
    pub terms: Vec<(usize, Rect)>,
    galleys: Vec<(Arc<Galley>, Vec2, bool)>,
    bars: Vec<(Vec2, f32)>,
}

impl Laid {
    fn empty(size: f32) -> Self {
        Self { ascent: size * 0.75, descent: size * 0.22, ..Self::default() }
    }

    /// Its height.
    #[must_use]
    pub fn height(&self) -> f32 {
        self.ascent + self.descent
    }

    /// A blank of this width.
    #[must_use]
    pub fn of_width(width: f32) -> Self {
        Self { width, ..Self::default() }
    }

    fn put(&mut self, other: Self, by: Vec2) {
        self.width = self.width.max(by.x + other.width);
        self.ascent = self.ascent.max(other.ascent - by.y);
        self.descent = self.descent.max(other.descent + by.y);
        self.terms.extend(other.terms.into_iter().map(|(n, r)| (n, r.translate(by))));
        self.galleys.extend(other.galleys.into_iter().map(|(g, p, bold)| (g, p + by, bold)));
        self.bars.extend(other.bars.into_iter().map(|(p, w)| (p + by, w)));
    }

    /// Paints it with the left end of its base line at `at`.
    pub fn paint(&self, painter: &Painter, at: Pos2, colour: Color32) {
        let pixel = 1.0 / painter.pixels_per_point();
        for (galley, by, bold) in &self.galleys {
            painter.galley(at + *by, Arc::clone(galley), colour);
            if *bold {
                // The window's fonts have no bold face: the letter is drawn twice, a pixel apart (letters stand on whole pixels).
                painter.galley(at + *by + vec2(pixel, 0.0), Arc::clone(galley), colour);
            }
        }
        for (by, width) in &self.bars {
            let start = at + *by;
            painter.hline(start.x..=start.x + width, start.y, eframe::egui::Stroke::new(1.0, colour));
        }
    }
}

fn fraction(above: &Laid, below: &Laid, size: f32) -> Laid {
    let (width, middle) = (above.width.max(below.width) + 6.0, size * 0.3);
    let mut all = Laid::empty(size);
    all.put(above.clone(), vec2((width - above.width) / 2.0, -middle - above.descent - 1.5));
    all.put(below.clone(), vec2((width - below.width) / 2.0, -middle + below.ascent + 1.5));
    all.bars.push((vec2(1.0, -middle), width - 2.0));
    all.width = width + 1.0;
    all
}

fn letters(ui: &Ui, text: &str, face: Face, size: f32, colour: Color32) -> Laid {
    let format =
        TextFormat { font_id: FontId::new(size, family(text)), color: colour, italics: face == Face::Italic, ..TextFormat::default() };
    let galley = ui.fonts_mut(|f| f.layout_job(LayoutJob::single_section(text.to_owned(), format)));
    let base = galley.rows.first().and_then(|r| r.glyphs.first()).map_or(size * 0.95, |g| g.pos.y);
    let width = galley.rect.width() + if face == Face::Upright { 0.0 } else { 0.8 };
    let mut laid = Laid { width, ..Laid::empty(size) };
    laid.galleys.push((galley, vec2(0.0, -base), face == Face::Bold));
    laid
}

/// The family that has a sign: arrows and floor brackets are only in the fixed-width one.
#[must_use]
pub fn family(text: &str) -> FontFamily {
    if text.contains(['⌊', '⌋', '←']) { FontFamily::Monospace } else { FontFamily::Proportional }
}

/// Every sign of the notation that is not a letter of the alphabet, for the check of the fonts.
#[must_use]
pub fn signs() -> String {
    SIGNS.iter().map(|(_, s)| *s).chain(["Σ", "²", "…"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_reads_fractions_scripts_and_terms() {
        assert_eq!(parse(r"N(t) = \lfloor\frac<t N><t + N>\rfloor").plain(), "N(t) = ⌊(t N) / (t + N)⌋");
        assert_eq!(parse(r"\b<q>*\b<D>_j^<2>").plain(), "q·D_j^2");
        assert_eq!(parse(r"\sum_<j> p_j").plain(), "sum over j of  p_j");
        let Math::Row(parts) = parse("a #12<b c>~d") else { panic!("not a row") };
        assert!(parts.iter().any(|p| matches!(p, Math::Term(12, body) if body.plain() == "b c")));
        assert_eq!(parse("a~b~~c").pieces().count(), 3);
    }

    #[test]
    fn what_is_cut_short_is_still_read() {
        for text in ["", "<", ">", "\\", "#", "#3", "x^", "\\frac<a", "\\b<q", "a>b"] {
            let _ = parse(text).plain();
        }
        assert_eq!(parse("a>b").plain(), "ab", "a group that was never begun ends nothing");
        assert_eq!(parse("\\t<two words> 1.25").plain(), "two words 1.25");
    }
}
