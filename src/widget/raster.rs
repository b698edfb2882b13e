//! Points in a picture of pixels: many points become density, but a point that matters is always drawn.
//!
//! The picture is made once and drawn as a texture; its columns depend only on points of the same columns, so that the part
//! before a playhead can be shown without making it again.

use eframe::egui::{Color32, ColorImage};

/// How a point is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A small disc: one of many. Where several meet, the picture shows how many.
    Plain,
    /// A ring: an event that must never be lost.
    Ring,
    /// A diamond: a marked one, which must never be lost either.
    Diamond,
    /// A diamond within a ring.
    RingedDiamond,
}

/// A point, in pixels of the picture from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Downwards.
    pub y: f32,
    /// How it is drawn.
    pub mark: Mark,
}

/// The colours of the marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inks {
    /// [`Mark::Plain`].
    pub plain: Color32,
    /// [`Mark::Ring`].
    pub ring: Color32,
    /// [`Mark::Diamond`], and the diamond of [`Mark::RingedDiamond`].
    pub diamond: Color32,
}

/// Draws points into a picture of `width` x `height` pixels, transparent where nothing is.
///
/// `scale` is pixels a screen point. Plain points come first, as density: each adds its share of ink to the pixels it
/// touches. Then come rings, then diamonds, each in full strength over what is there.
#[must_use]
pub fn draw(width: usize, height: usize, scale: f32, points: &[Point], inks: Inks) -> ColorImage {
    draw_part([width, height], scale, points, inks, (points.len(), [width, height]))
}

/// How far from its point, in pixels, any mark reaches in a picture of this `scale`.
#[must_use]
pub fn reach(scale: f32) -> f32 {
    // The largest ring, and the largest disc's stamp, whose middle may be anywhere in a pixel.
    (5.0 * scale + 0.5).max(1.5 * scale + 2.5)
}

/// Draws points into a picture that is a part of a larger one, of `whole` points and pixels, and has discs of the size that these have there.
#[must_use]
pub fn draw_part([width, height]: [usize; 2], scale: f32, points: &[Point], inks: Inks, whole: (usize, [usize; 2])) -> ColorImage {
    let mut picture = Picture { width, height, ink: vec![0.0; width * height], pixels: Vec::new() };
    let stamps = Stamps::suited(whole.0, whole.1, scale);
    for point in points.iter().filter(|p| p.mark == Mark::Plain) {
        stamps.press([width, height], [point.x, point.y], |pixel, ink| picture.ink[pixel] += ink);
    }
    picture.settle(inks.plain);
    for mark in [Mark::Ring, Mark::RingedDiamond, Mark::Diamond] {
        for point in points.iter().filter(|p| p.mark == mark) {
            if mark != Mark::Diamond {
                let (r, half) = (if mark == Mark::Ring { 2.6 } else { 4.4 } * scale, 0.55 * scale);
                picture.over(point, r + half + 0.5, inks.ring, |dx, dy| half + 0.5 - (dx.hypot(dy) - r).abs());
            }
            if mark != Mark::Ring {
                let r = 3.4 * scale;
                picture.over(point, r + 0.5, inks.diamond, |dx, dy| (r - dx.abs() - dy.abs()) * std::f32::consts::FRAC_1_SQRT_2 + 0.5);
            }
        }
    }
    ColorImage::new([width, height], picture.pixels)
}

/// Positions of a point within a pixel, along one side, that have a stamp of their own.
const FINE: usize = 4;

/// A plain point's ink on the pixels around it, drawn once for each of the positions within a pixel: a picture of a long
/// stream has tens of thousands of them.
pub(super) struct Stamps {
    side: usize,
    /// `[FINE, FINE, side, side]`.
    ink: Vec<f32>,
}

impl Stamps {
    /// For so many points in a picture of `width` x `height` pixels, `scale` of them a screen point: few are discs that one can see; where
    /// they crowd, smaller ones show more of the structure.
    pub(super) fn suited(points: usize, [width, height]: [usize; 2], scale: f32) -> Self {
        let crowd = points as f32 / (width.max(1) * height.max(1)) as f32 * scale * scale;
        let radius = if crowd > 0.05 {
            0.7
        } else if crowd > 0.01 {
            1.1
        } else {
            1.5
        };
        Self::new(radius * scale, if crowd > 0.05 { 0.55 } else { 0.85 })
    }

    fn new(radius: f32, strength: f32) -> Self {
        let half = (radius + 0.5).ceil() as usize;
        let side = 2 * half + 1;
        let mut ink = Vec::with_capacity(FINE * FINE * side * side);
        for fine in 0..FINE * FINE {
            let middle = |i: usize| half as f32 + (i as f32 + 0.5) / FINE as f32;
            let (my, mx) = (middle(fine / FINE), middle(fine % FINE));
            for pixel in 0..side * side {
                let (dy, dx) = ((pixel / side) as f32 + 0.5 - my, (pixel % side) as f32 + 0.5 - mx);
                ink.push((radius + 0.5 - dx.hypot(dy)).clamp(0.0, 1.0) * strength);
            }
        }
        Self { side, ink }
    }

    /// Calls `each` with every pixel of the picture that a point at (x, y) touches, and the ink that it adds there.
    pub(super) fn press(&self, [width, height]: [usize; 2], [x, y]: [f32; 2], mut each: impl FnMut(usize, f32)) {
        if !(x.abs() < 1e6 && y.abs() < 1e6) {
            return;
        }
        let (cell_x, cell_y) = (x.floor(), y.floor());
        let fine = |at: f32, cell: f32| (((at - cell) * FINE as f32) as usize).min(FINE - 1);
        let stamp = (fine(y, cell_y) * FINE + fine(x, cell_x)) * self.side * self.side;
        let half = (self.side / 2) as i64;
        let (left, top) = (cell_x as i64 - half, cell_y as i64 - half);
        for row in 0..self.side {
            let y = top + row as i64;
            if y < 0 || y >= height as i64 {
                continue;
            }
            for column in 0..self.side {
                let x = left + column as i64;
                if x >= 0 && x < width as i64 {
                    each(y as usize * width + x as usize, self.ink[stamp + row * self.side + column]);
                }
            }
        }
    }
}

/// The colours of ink, in steps that [`inked`] tells: `1 - e^-ink` of it covers the paper, so that density never saturates at once and a
/// single point is still seen.
pub(super) fn inks(colour: Color32) -> Vec<Color32> {
    (0..512).map(|i| faded(colour, 1.0 - (-1.6 * i as f32 / STEPS).exp())).collect()
}

/// Steps of ink a full disc: finer ones are the same colour.
const STEPS: f32 = 64.0;

/// Which of the [`inks`] so much ink has.
pub(super) fn inked(ink: f32) -> usize {
    ((ink * STEPS + 0.5) as usize).min(511)
}

struct Picture {
    width: usize,
    height: usize,
    ink: Vec<f32>,
    pixels: Vec<Color32>,
}

impl Picture {
    /// Calls `each` with every pixel within `reach` of the point: its index and its offset from it.
    fn around(&self, point: &Point, reach: f32, mut each: impl FnMut(usize, f32, f32)) {
        let span = |at: f32, size: usize| {
            let low = (at - reach).floor().max(0.0) as usize;
            let high = (at + reach).ceil().min(size as f32).max(0.0) as usize;
            low..high
        };
        for y in span(point.y, self.height) {
            for x in span(point.x, self.width) {
                each(y * self.width + x, x as f32 + 0.5 - point.x, y as f32 + 0.5 - point.y);
            }
        }
    }

    /// Turns the ink of the plain points into colour.
    fn settle(&mut self, colour: Color32) {
        let table = inks(colour);
        self.pixels = self.ink.iter().map(|ink| table[inked(*ink)]).collect();
    }

    fn over(&mut self, point: &Point, reach: f32, colour: Color32, edge: impl Fn(f32, f32) -> f32) {
        let mut touched = Vec::with_capacity(256);
        self.around(point, reach, |i, dx, dy| touched.push((i, edge(dx, dy).clamp(0.0, 1.0))));
        for (i, cover) in touched.into_iter().filter(|(_, cover)| *cover > 0.0) {
            let (old, new) = (self.pixels[i], faded(colour, cover));
            let mix = |o: u8, n: u8| (f32::from(o) * (1.0 - cover) + f32::from(n)).round().min(255.0) as u8;
            self.pixels[i] = Color32::from_rgba_premultiplied(
                mix(old.r(), new.r()),
                mix(old.g(), new.g()),
                mix(old.b(), new.b()),
                mix(old.a(), new.a()),
            );
        }
    }
}

/// An opaque colour with this much cover, premultiplied.
fn faded(colour: Color32, cover: f32) -> Color32 {
    let part = |c: u8| (f32::from(c) * cover).round() as u8;
    Color32::from_rgba_premultiplied(part(colour.r()), part(colour.g()), part(colour.b()), part(255))
}

/// The point nearest to `at` within `reach` pixels, by index; equally near ones: the first.
pub fn nearest(points: impl Iterator<Item = (usize, [f32; 2])>, at: [f32; 2], reach: f32) -> Option<usize> {
    let distance = |p: [f32; 2]| (p[0] - at[0]).hypot(p[1] - at[1]);
    points
        .map(|(i, p)| (i, distance(p)))
        .filter(|(_, d)| *d <= reach)
        .min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
        .map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INKS: Inks = Inks { plain: Color32::from_rgb(100, 100, 100), ring: Color32::BLUE, diamond: Color32::RED };

    #[test]
    fn a_founder_and_a_needle_survive_ten_thousand_points_on_them() {
        let mut points = vec![Point { x: 20.0, y: 20.0, mark: Mark::Ring }, Point { x: 50.0, y: 20.0, mark: Mark::Diamond }];
        for i in 0..10_000 {
            points.push(Point { x: (i % 100) as f32, y: (i / 100 % 40) as f32, mark: Mark::Plain });
        }
        let image = draw(100, 40, 1.0, &points, INKS);
        let at = |x: usize, y: usize| image.pixels[y * 100 + x];
        assert_eq!(at(50, 20), Color32::RED, "the diamond's middle is solid");
        // The ring is 2.6 pixels from its middle: two pixels to its right it is nearly solid blue.
        let ring = at(22, 20);
        assert!(ring.b() > 200 && ring.r() < 60, "{ring:?}");
    }

    #[test]
    fn a_single_point_is_seen_and_more_points_are_darker() {
        let alpha = |n: usize| {
            let image = draw(9, 9, 1.0, &vec![Point { x: 4.5, y: 4.5, mark: Mark::Plain }; n], INKS);
            (image.pixels[4 * 9 + 4].a(), image.pixels[0].a())
        };
        assert!(alpha(1).0 > 100, "{:?}", alpha(1));
        assert!(alpha(3).0 > alpha(1).0);
        assert_eq!(alpha(1).1, 0, "nothing far away");
    }

    #[test]
    fn points_off_the_picture_do_no_harm() {
        let away = [(-50.0, 3.0), (3.0, -50.0), (500.0, 3.0), (3.0, 500.0)];
        let points: Vec<Point> = away.iter().map(|&(x, y)| Point { x, y, mark: Mark::RingedDiamond }).collect();
        assert!(draw(8, 8, 2.0, &points, INKS).pixels.iter().all(|p| p.a() == 0));
    }

    #[test]
    fn the_nearest_point_is_found_within_reach() {
        let points = [[0.0, 0.0], [10.0, 0.0], [10.0, 1.0], [10.0, 1.0]];
        let find = |at, reach| nearest(points.iter().copied().enumerate(), at, reach);
        assert_eq!(find([9.0, 1.0], 5.0), Some(2), "equally near: the first");
        assert_eq!(find([5.0, 5.0], 2.0), None);
    }
}
