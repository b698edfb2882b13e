//! Marks that the window draws by the thousand as squares of one texture: what each square shows, as a vector.

use std::collections::HashMap;
use std::sync::Arc;

use eframe::egui::{Color32, Context, Id, Pos2, Rect, TextureId, vec2};

use super::pen::Pen;
use super::shapes::point;
use super::{number, painted};

/// What a square shows, about its middle, in the points of a square that is not scaled.
#[derive(Debug, Clone, PartialEq)]
pub enum Outline {
    /// A filled circle of this radius, with this much cover.
    Disc(f32, f32),
    /// A circle: its radius and the width of its line.
    Ring(f32, f32),
    /// A filled polygon.
    Polygon(Vec<Pos2>),
}

/// One square of a texture.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where it is in the texture.
    pub uv: Rect,
    /// The length of its side where it is not scaled, in points.
    pub side: f32,
    /// What it shows, from back to front.
    pub outlines: Vec<Outline>,
}

/// The textures whose squares are marks.
#[derive(Debug, Clone, Default)]
pub struct Outlines(HashMap<TextureId, Arc<Vec<Mark>>>);

impl Outlines {
    fn id() -> Id {
        Id::unique("outlines of marks")
    }

    /// Says what the squares of a texture show.
    pub fn insert(ctx: &Context, texture: TextureId, marks: Vec<Mark>) {
        ctx.data_mut(|data| {
            let mut all = data.get_temp::<Self>(Self::id()).unwrap_or_default();
            all.0.insert(texture, Arc::new(marks));
            data.insert_temp(Self::id(), all);
        });
    }

    /// What is known in a context.
    #[must_use]
    pub fn of(ctx: &Context) -> Self {
        ctx.data(|data| data.get_temp::<Self>(Self::id())).unwrap_or_default()
    }
}

impl Pen<'_> {
    /// Writes the mark that a square of a texture shows; false if it is none.
    pub(super) fn mark(&mut self, texture: TextureId, uv: Rect, rect: Rect, tint: Color32) -> bool {
        let Some(marks) = self.page.outlines.0.get(&texture) else { return false };
        let near = |m: &&Mark| (m.uv.min - uv.min).length() < 1e-4 && (m.uv.max - uv.max).length() < 1e-4;
        let Some(mark) = marks.iter().find(near) else { return false };
        let (middle, scale) = (rect.center(), rect.width() / mark.side.max(1e-6));
        let (x, y) = (number(middle.x), number(middle.y));
        for outline in &mark.outlines {
            match outline {
                Outline::Disc(radius, cover) => {
                    let fill = painted("fill", tint.gamma_multiply(*cover));
                    self.body += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"{fill}/>\n", number(radius * scale));
                }
                Outline::Ring(radius, width) => {
                    let (r, w) = (number(radius * scale), number(width * scale));
                    self.body += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"{} stroke-width=\"{w}\"/>\n", painted("stroke", tint));
                }
                Outline::Polygon(points) => {
                    let place = |p: &Pos2| point(middle + vec2(p.x, p.y) * scale);
                    let d: Vec<String> = points.iter().map(place).collect();
                    self.body += &format!("<path d=\"M{}Z\"{}/>\n", d.join("L"), painted("fill", tint));
                }
            }
        }
        true
    }
}
