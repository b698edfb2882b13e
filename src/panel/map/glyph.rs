//! Small marks by the thousand: their shapes stand in one texture, and a picture of many is one mesh of tinted squares.
//!
//! The texture is drawn at the screen's own resolution, so that a mark's edge is as smooth as one that egui draws itself.

use eframe::egui::{Color32, ColorImage, Context, Mesh, Pos2, Rect, TextureHandle, TextureId, TextureOptions, pos2, vec2};

use crate::app::picture::svg::{Mark, Outline, Outlines};

/// A mark. Sizes are in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glyph {
    /// One of few tokens.
    Dot,
    /// One of many.
    Speck,
    /// A founder.
    Ring,
    /// A selected one of a group.
    Hoop,
    /// The marked role.
    Diamond,
    /// What lies behind a diamond, in the colour of the paper.
    DiamondEdge,
    /// In the sparse cache.
    Square,
    /// What lies behind a square.
    SquareEdge,
    /// In the sliding window.
    Triangle,
    /// A centroid: faint, with a rim; one of [`BLOBS`].
    Blob(u8),
}

/// The radii of centroids that have a picture of their own; those between are scaled.
const BLOBS: [f32; 12] = [1.6, 2.2, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.5, 15.5, 19.0, 23.0];
/// How much of the paper a centroid covers within its rim.
const FAINT: f32 = 0.22;
/// Half of the width of a ring's line and of a centroid's rim.
const LINE: f32 = 0.55;

const PLAIN: [Glyph; 9] = [
    Glyph::Dot,
    Glyph::Speck,
    Glyph::Ring,
    Glyph::Hoop,
    Glyph::Diamond,
    Glyph::DiamondEdge,
    Glyph::Square,
    Glyph::SquareEdge,
    Glyph::Triangle,
];

impl Glyph {
    fn all() -> impl Iterator<Item = Self> {
        PLAIN.into_iter().chain((0..BLOBS.len() as u8).map(Self::Blob))
    }

    fn place(self) -> usize {
        match self {
            Self::Blob(which) => PLAIN.len() + usize::from(which).min(BLOBS.len() - 1),
            other => PLAIN.iter().position(|g| *g == other).unwrap_or(0),
        }
    }

    /// The blob whose radius is nearest.
    pub(super) fn blob(radius: f32) -> Self {
        let above = BLOBS.partition_point(|b| *b < radius).min(BLOBS.len() - 1);
        let below = above.saturating_sub(1);
        let nearest = if radius - BLOBS[below] <= BLOBS[above] - radius { below } else { above };
        Self::Blob(nearest as u8)
    }

    /// From its middle to its edge, in points.
    pub(super) fn radius(self) -> f32 {
        match self {
            Self::Dot => 1.5,
            Self::Speck => 0.95,
            Self::Ring => 3.0,
            Self::Hoop => 4.6,
            Self::Diamond => 4.2,
            Self::DiamondEdge => 5.6,
            Self::Square => 2.3,
            Self::SquareEdge => 3.2,
            Self::Triangle => 3.4,
            Self::Blob(which) => BLOBS[usize::from(which).min(BLOBS.len() - 1)],
        }
    }

    /// Its lines and areas, about its middle: what [`Glyph::cover`] draws.
    fn outlines(self) -> Vec<Outline> {
        let r = self.radius();
        let polygon = |points: &[(f32, f32)]| vec![Outline::Polygon(points.iter().map(|&(x, y)| pos2(x * r, y * r)).collect())];
        match self {
            Self::Dot | Self::Speck => vec![Outline::Disc(r, 1.0)],
            Self::Ring => vec![Outline::Ring(r, 2.0 * LINE)],
            Self::Hoop => vec![Outline::Ring(r, 1.8)],
            Self::Diamond | Self::DiamondEdge => polygon(&[(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]),
            Self::Square | Self::SquareEdge => polygon(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
            Self::Triangle => polygon(&[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)]),
            Self::Blob(_) => vec![Outline::Disc(r, FAINT), Outline::Ring(r - LINE, 2.0 * LINE)],
        }
    }

    /// How much of a pixel is covered whose middle is (x, y) pixels from the mark's, y downwards; `scale` is pixels a point.
    fn cover(self, x: f32, y: f32, scale: f32) -> f32 {
        let (r, line) = (self.radius() * scale, LINE * scale);
        let d = x.hypot(y);
        let ring = |radius: f32, half: f32| (half + 0.5 - (d - radius).abs()).clamp(0.0, 1.0);
        let inside = match self {
            Self::Dot | Self::Speck => r + 0.5 - d,
            Self::Ring => ring(r, line),
            Self::Hoop => ring(r, 0.9 * scale),
            Self::Diamond | Self::DiamondEdge => (r - x.abs() - y.abs()) * std::f32::consts::FRAC_1_SQRT_2 + 0.5,
            Self::Square | Self::SquareEdge => r + 0.5 - x.abs().max(y.abs()),
            // Its corners are (0, -r), (r, 0.8 r) and (-r, 0.8 r), as of the triangle in legends.
            Self::Triangle => (0.8 * r - y).min(((y + r) - 1.8 * x.abs()) / 2.06) + 0.5,
            Self::Blob(_) => (FAINT * (r + 0.5 - d).clamp(0.0, 1.0)).max(ring(r - line, line)),
        };
        inside.clamp(0.0, 1.0)
    }
}

/// The marks in a texture.
pub(super) struct Atlas {
    texture: TextureHandle,
    scale: f32,
    /// By [`Glyph::place`]: half of the side of its square, in pixels, and where that is in the texture.
    cells: Vec<(usize, Rect)>,
}

impl std::fmt::Debug for Atlas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Atlas").field("scale", &self.scale).finish_non_exhaustive()
    }
}

impl Atlas {
    /// The marks for a screen of `scale` pixels a point.
    pub(super) fn new(ctx: &Context, scale: f32) -> Self {
        let halves: Vec<usize> = Glyph::all().map(|g| (g.radius() * scale + LINE * scale + 1.5).ceil() as usize).collect();
        // An empty pixel between the cells, for the interpolation at their edges.
        let width = halves.iter().map(|h| 2 * h + 1).sum::<usize>().max(1);
        let height = halves.iter().map(|h| 2 * h).max().unwrap_or(1);
        let mut image = ColorImage::filled([width, height], Color32::TRANSPARENT);
        let (mut left, mut cells) = (0, Vec::with_capacity(halves.len()));
        for (glyph, half) in Glyph::all().zip(halves) {
            for (row, column) in (0..2 * half).flat_map(|y| (0..2 * half).map(move |x| (y, x))) {
                let off = |i: usize| i as f32 + 0.5 - half as f32;
                let cover = glyph.cover(off(column), off(row), scale);
                image.pixels[row * width + left + column] = Color32::from_white_alpha((cover * 255.0).round() as u8);
            }
            let uv = |x: usize, y: usize| pos2(x as f32 / width as f32, y as f32 / height as f32);
            cells.push((half, Rect::from_min_max(uv(left, 0), uv(left + 2 * half, 2 * half))));
            left += 2 * half + 1;
        }
        let texture = ctx.load_texture("marks", image, TextureOptions::LINEAR);
        // In a picture of vectors each square is the mark that it shows.
        let mark = |(glyph, (half, uv)): (Glyph, &(usize, Rect))| {
            let side = 2.0 * *half as f32 / scale;
            Mark { uv: *uv, side, outlines: glyph.outlines() }
        };
        Outlines::insert(ctx, texture.id(), Glyph::all().zip(&cells).map(mark).collect());
        Self { texture, scale, cells }
    }

    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// An empty mesh for marks; those of which nothing would be within `clip` are left out.
    pub(super) fn mesh(&self, clip: Rect) -> Marks<'_> {
        Marks { atlas: self, clip, mesh: Mesh::with_texture(self.texture.id()) }
    }

    /// Which texture the marks are in: another one needs other meshes.
    pub(super) fn id(&self) -> TextureId {
        self.texture.id()
    }
}

/// Marks that are drawn at once, the later ones over the earlier.
pub(super) struct Marks<'a> {
    atlas: &'a Atlas,
    clip: Rect,
    mesh: Mesh,
}

impl Marks<'_> {
    /// Adds a mark.
    pub(super) fn push(&mut self, at: Pos2, glyph: Glyph, colour: Color32) {
        self.scaled(at, glyph, 1.0, colour);
    }

    /// Adds a centroid of this radius.
    pub(super) fn blob(&mut self, at: Pos2, radius: f32, colour: Color32) {
        let glyph = Glyph::blob(radius);
        self.scaled(at, glyph, radius / glyph.radius(), colour);
    }

    /// Adds a mark that is `factor` times as large.
    pub(super) fn scaled(&mut self, at: Pos2, glyph: Glyph, factor: f32, colour: Color32) {
        let (half, uv) = self.atlas.cells[glyph.place()];
        let side = 2.0 * half as f32 / self.atlas.scale * factor;
        let place = Rect::from_center_size(at, vec2(side, side));
        if self.clip.intersects(place) {
            self.mesh.add_rect_with_uv(place, uv, colour);
        }
    }

    /// The mesh of all of them.
    pub(super) fn done(self) -> Mesh {
        self.mesh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_covers_its_middle_or_its_line_and_nothing_beyond_its_edge() {
        for glyph in Glyph::all() {
            for scale in [1.0, 2.0] {
                let r = glyph.radius() * scale;
                let middle = glyph.cover(0.0, 0.0, scale);
                match glyph {
                    Glyph::Ring | Glyph::Hoop => assert_eq!((middle, glyph.cover(r, 0.0, scale)), (0.0, 1.0)),
                    Glyph::Blob(_) if r > 5.0 => assert!((middle - FAINT).abs() < 1e-6 && glyph.cover(r - LINE * scale, 0.0, scale) > 0.99),
                    _ => assert!(middle > 0.2, "{glyph:?}"),
                }
                let beyond = r + (LINE * scale) + 1.5;
                assert!(
                    [(beyond, 0.0), (0.0, beyond), (-beyond, 0.0), (0.0, -beyond)].iter().all(|&(x, y)| glyph.cover(x, y, scale) == 0.0)
                );
            }
        }
    }

    #[test]
    fn every_mark_has_a_place_of_its_own_and_blobs_come_in_the_nearest_size() {
        let places: Vec<usize> = Glyph::all().map(Glyph::place).collect();
        assert_eq!(places, (0..PLAIN.len() + BLOBS.len()).collect::<Vec<_>>());
        assert_eq!((Glyph::blob(0.1), Glyph::blob(10.2), Glyph::blob(99.0)), (Glyph::Blob(0), Glyph::Blob(7), Glyph::Blob(11)));
    }
}
