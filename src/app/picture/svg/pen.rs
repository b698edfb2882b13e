//! The document while it is written: the body, what it refers to, and the clip that is in force.

use std::collections::{BTreeMap, HashMap};

use eframe::egui::epaint::{ClippedShape, Shape};
use eframe::egui::{Pos2, Rect, TextureId, Vec2, emath::TSTransform};

use super::{Page, number};

/// Where the document has got to.
pub(super) struct Pen<'a> {
    pub(super) page: &'a Page<'a>,
    pub(super) body: String,
    pub(super) defs: String,
    /// Clips by their edges in hundredths of a point.
    clips: BTreeMap<[i64; 4], usize>,
    /// The clip of the group that is open.
    open: Option<usize>,
    /// Pictures that are used again and again, by texture, part of it, and tint.
    pub(super) pictures: HashMap<(TextureId, [usize; 4], [u8; 4]), usize>,
    /// The stroke of the line that was written last, and where in the body it ends.
    pub(super) line: Option<(String, usize)>,
}

impl<'a> Pen<'a> {
    pub(super) fn new(page: &'a Page<'a>) -> Self {
        let (body, defs) = (String::new(), String::new());
        Self { page, body, defs, clips: BTreeMap::new(), open: None, pictures: HashMap::new(), line: None }
    }

    /// What is to stand under `defs`, and the body.
    pub(super) fn done(mut self) -> (String, String) {
        self.clip(None);
        (self.defs, self.body)
    }

    /// Writes a shape within its clip.
    pub(super) fn clipped(&mut self, shape: &ClippedShape) {
        self.leaf(&shape.shape, shape.clip_rect, shape.transform_after_tessellation);
    }

    fn leaf(&mut self, shape: &Shape, clip: Rect, transform: TSTransform) {
        if let Shape::Vec(shapes) = shape {
            shapes.iter().for_each(|s| self.leaf(s, clip, transform));
            return;
        }
        let clip = clip.intersect(Rect::from_min_size(Pos2::ZERO, self.page.size));
        let bounds = transform * shape.visual_bounding_rect();
        // What cannot be seen is not in the document. (A line has no area, but is seen.)
        let seen = bounds.is_finite() && clip.is_positive() && bounds.min.x <= clip.max.x && bounds.min.y <= clip.max.y;
        if !seen || bounds.max.x < clip.min.x || bounds.max.y < clip.min.y {
            return;
        }
        self.clip((!clip.contains_rect(bounds)).then_some(clip));
        if transform == TSTransform::IDENTITY {
            self.shape(shape);
        } else {
            let (Vec2 { x, y }, scale) = (transform.translation, transform.scaling);
            self.body += &format!("<g transform=\"translate({} {}) scale({scale})\">", number(x), number(y));
            self.shape(shape);
            self.body += "</g>\n";
        }
    }

    /// Opens the group of a clip, closing another that is open.
    pub(super) fn clip(&mut self, clip: Option<Rect>) {
        let wanted = clip.map(|rect| self.clip_number(rect));
        if wanted == self.open {
            return;
        }
        if self.open.is_some() {
            self.body += "</g>\n";
        }
        if let Some(number) = wanted {
            self.body += &format!("<g clip-path=\"url(#c{number})\">\n");
        }
        self.open = wanted;
    }

    /// The number of a clip, which is defined when it is first wanted.
    pub(super) fn clip_number(&mut self, rect: Rect) -> usize {
        let key = [rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(|v| (f64::from(v) * 100.0).round() as i64);
        let next = self.clips.len();
        *self.clips.entry(key).or_insert_with(|| {
            self.defs += &format!("<clipPath id=\"c{next}\"><rect{}/></clipPath>\n", frame(rect));
            next
        })
    }
}

/// ` x=".." y=".." width=".." height=".."`.
pub(super) fn frame(rect: Rect) -> String {
    let [x, y, w, h] = [rect.left(), rect.top(), rect.width().max(0.0), rect.height().max(0.0)].map(number);
    format!(" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"")
}
