//! Points in a picture of pixels: many points become density, but a point that matters is always drawn.
//!
//! The picture is made once and drawn as a texture; where its points lie in a column depends only on that column, so that the part
//! before a playhead can be shown without making it again. How large marks are depends on how many there are nearby.

use std::ops::Range;

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
/// touches. Then come diamonds, smaller (and in a great crowd paler) where there are many, and rings over all of them.
#[must_use]
pub fn draw(width: usize, height: usize, scale: f32, points: &[Point], inks: Inks) -> ColorImage {
    draw_by(width, height, scale, points, inks, &Stamps::suited(points.len(), [width, height], scale))
}

/// Like [`draw`], for plain points that lie all over the picture: where they crowd, each is a pale disc and not a grain, so that what is
/// seen is how many there are and not a noise of single ones. Rings and diamonds are as they are.
#[must_use]
pub fn draw_field(width: usize, height: usize, scale: f32, points: &[Point], inks: Inks) -> ColorImage {
    draw_by(width, height, scale, points, inks, &Stamps::field(points.len(), [width, height], scale))
}

/// A part of a picture, for its columns at an edge in time: see [`draw_part`].
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// The columns of the whole picture that are drawn.
    pub columns: Range<usize>,
    /// The points in and near these columns ([`neighbourhood`]), in the places that they have in the whole picture.
    pub points: &'a [Point],
    /// How many of them, the first ones, are drawn; the others only count as neighbours.
    pub drawn: usize,
    /// How many points the whole picture has.
    pub total: usize,
}

/// Columns of the picture that [`draw`] makes of `width` x `height` pixels, without the ink of some of its points: those that are
/// drawn are as they are in the whole picture, to the pixel.
#[must_use]
pub fn draw_part(whole: [usize; 2], scale: f32, part: &Part<'_>, inks: Inks) -> ColorImage {
    draw_part_by(whole, scale, part, inks, &Stamps::suited(part.total, whole, scale))
}

/// The same of the picture that [`draw_field`] makes.
#[must_use]
pub fn draw_field_part(whole: [usize; 2], scale: f32, part: &Part<'_>, inks: Inks) -> ColorImage {
    draw_part_by(whole, scale, part, inks, &Stamps::field(part.total, whole, scale))
}

fn draw_part_by(whole: [usize; 2], scale: f32, part: &Part<'_>, inks: Inks, stamps: &Stamps) -> ColorImage {
    let crowds = Crowds::of(part.points, whole, scale);
    let drawn = &part.points[..part.drawn.min(part.points.len())];
    draw_columns((part.columns.clone(), whole[1]), scale, drawn, inks, stamps, &crowds)
}

/// The columns of a picture `width` wide in which marks before the edge at `at` (in columns) and marks after it may meet: before them no
/// later mark leaves any ink, after them none of the earlier ones does.
#[must_use]
pub fn edge(at: f64, width: usize, scale: f32) -> Range<usize> {
    let (at, reach) = (at.clamp(0.0, width as f64), reach(scale));
    (at.floor() as usize).saturating_sub(reach)..(at.ceil() as usize + reach).min(width)
}

/// The entries, of the first `all`, that lie in these columns of a picture `width` wide or at most so many `around` them; `entry` says
/// which lies at a share of the width.
#[must_use]
pub fn near(columns: &Range<usize>, around: usize, width: usize, entry: impl Fn(f64) -> f64, all: usize) -> Range<usize> {
    let at = |column: usize| entry(column as f64 / width.max(1) as f64).max(0.0);
    let start = (at(columns.start.saturating_sub(around)).floor() as usize).saturating_sub(1);
    start.min(all)..(at(columns.end + around).ceil() as usize).min(all)
}

/// How far the ink of a point reaches from it, in whole pixels of a picture with `scale` of them a point of the screen: beyond that no
/// mark of any kind leaves any.
#[must_use]
pub fn reach(scale: f32) -> usize {
    ((DIAMOND[0] + 1.0 + HALF_LINE) * scale + 0.5).ceil() as usize
}

/// How far from a column points lie that have a part in how marks in it look, in whole pixels.
#[must_use]
pub fn neighbourhood(scale: f32) -> usize {
    reach(scale) + (PLACE * scale).ceil() as usize
}

fn draw_by(width: usize, height: usize, scale: f32, points: &[Point], inks: Inks, stamps: &Stamps) -> ColorImage {
    draw_columns((0..width, height), scale, points, inks, stamps, &Crowds::of(points, [width, height], scale))
}

/// Draws these columns of a picture; `points` are in places of the whole one.
fn draw_columns(
    (columns, height): (Range<usize>, usize),
    scale: f32,
    points: &[Point],
    inks: Inks,
    stamps: &Stamps,
    crowds: &Crowds,
) -> ColorImage {
    let width = columns.len();
    let left = columns.start as f32;
    let mut picture = Picture { width, height, ink: vec![0.0; width * height], pixels: Vec::new() };
    for point in points.iter().filter(|p| p.mark == Mark::Plain) {
        stamps.press([width, height], [point.x - left, point.y], |pixel, ink| picture.ink[pixel] += ink);
    }
    picture.settle(inks.plain);
    for mark in [Mark::Diamond, Mark::RingedDiamond, Mark::Ring] {
        for whole in points.iter().filter(|p| p.mark == mark) {
            let (radius, strength) = if mark == Mark::Ring { (0.0, 1.0) } else { diamond(crowds.at(whole)) };
            let point = &Point { x: whole.x - left, ..*whole };
            if mark != Mark::Diamond {
                let (r, half) = (if mark == Mark::Ring { RING } else { (radius + 1.0).max(RING) } * scale, HALF_LINE * scale);
                picture.over(point, r + half + 0.5, inks.ring, |dx, dy| half + 0.5 - (dx.hypot(dy) - r).abs());
            }
            if mark != Mark::Ring {
                let r = radius * scale;
                picture.over(point, r + 0.5, inks.diamond, |dx, dy| {
                    ((r - dx.abs() - dy.abs()) * std::f32::consts::FRAC_1_SQRT_2 + 0.5).clamp(0.0, 1.0) * strength
                });
            }
        }
    }
    ColorImage::new([width, height], picture.pixels)
}

/// The radius of a ring, in points of the screen.
const RING: f32 = 2.6;
/// Half the width of its line.
const HALF_LINE: f32 = 0.55;
/// The largest and the smallest radius of a diamond.
const DIAMOND: [f32; 2] = [3.4, 1.0];
/// How much of a crowded place diamonds cover at most, as long as they can still be made smaller.
const COVER: f32 = 0.35;

/// Radius and strength of a diamond where there are `crowd` of them a square point: of radius r it covers 2 r^2. The smallest ones
/// become paler, so that a place full of them is no slab.
fn diamond(crowd: f32) -> (f32, f32) {
    let [largest, least] = DIAMOND;
    let radius = if crowd > 0.0 { (COVER / 2.0 / crowd).sqrt() } else { largest };
    let strength = (radius / least).powi(2).clamp(0.25, 1.0);
    (radius.clamp(least, largest), strength)
}

/// The side of a place that diamonds are counted in, in points of the screen.
const PLACE: f32 = 24.0;

/// How many diamonds there are, place by place.
struct Crowds {
    /// Pixels along the side of a place.
    side: f32,
    columns: usize,
    /// `[rows, columns]`.
    counts: Vec<u32>,
    /// Square points of a place.
    area: f32,
}

impl Crowds {
    fn of(points: &[Point], [width, height]: [usize; 2], scale: f32) -> Self {
        let side = (PLACE * scale).max(1.0);
        let [columns, rows] = [width, height].map(|pixels| (pixels as f32 / side).ceil().max(1.0) as usize);
        let mut crowds = Self { side, columns, counts: vec![0; columns * rows], area: PLACE * PLACE };
        for point in points.iter().filter(|p| matches!(p.mark, Mark::Diamond | Mark::RingedDiamond)) {
            if let Some(place) = crowds.place(point) {
                crowds.counts[place] += 1;
            }
        }
        crowds
    }

    fn place(&self, point: &Point) -> Option<usize> {
        let cell = |at: f32| (0.0..1e6).contains(&at).then_some((at / self.side) as usize);
        let (column, row) = (cell(point.x)?, cell(point.y)?);
        (column < self.columns).then_some(row * self.columns + column).filter(|place| *place < self.counts.len())
    }

    /// Diamonds a square point around one; a lone one has no crowd.
    fn at(&self, point: &Point) -> f32 {
        let n = self.place(point).map_or(1, |place| self.counts[place]);
        n.saturating_sub(1) as f32 / self.area
    }
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

    /// For a picture that is full of points: from one in ten square points on, large pale discs, paler the more there are.
    fn field(points: usize, size: [usize; 2], scale: f32) -> Self {
        let crowd = points as f32 / (size[0].max(1) * size[1].max(1)) as f32 * scale * scale;
        if crowd < 0.1 { Self::suited(points, size, scale) } else { Self::new(1.6 * scale, (0.02 / crowd).clamp(0.05, 0.2)) }
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
    fn crowded_diamonds_are_smaller_and_never_a_slab_and_a_founder_lies_over_them() {
        // A lone one is whole; 1 a square point would cover it twice over with the smallest, at full strength.
        assert_eq!(diamond(0.0), (DIAMOND[0], 1.0));
        let (radius, strength) = diamond(0.04);
        assert!((2.0 * radius * radius * 0.04 - COVER).abs() < 1e-5 && strength > 0.999, "{radius}");
        assert_eq!(diamond(1.0), (DIAMOND[1], 0.25));
        // 96 x 96 pixels, a diamond every four: a slab of red, were they of full size.
        let mut points: Vec<Point> =
            (0..576).map(|i| ((i % 24) as f32, (i / 24) as f32)).map(|(x, y)| at(x * 4.0 + 2.0, y * 4.0 + 2.0)).collect();
        points.push(Point { x: 48.0, y: 48.0, mark: Mark::Ring });
        let image = draw(96, 96, 1.0, &points, INKS);
        let red = image.pixels.iter().filter(|c| c.r() > 128).count();
        assert!((576..96 * 96 / 2).contains(&red), "each is seen, and paper between them: {red}");
        let ring = image.pixels[48 * 96 + 50];
        assert!(ring.b() > 200 && ring.r() < 80, "{ring:?}");
        // One alone is as large as ever.
        let lone = draw(96, 96, 1.0, &[at(48.5, 48.5)], INKS);
        assert!(lone.pixels[48 * 96 + 51].r() > 128, "three pixels from its middle");
    }

    fn at(x: f32, y: f32) -> Point {
        Point { x, y, mark: Mark::Diamond }
    }

    #[test]
    fn a_full_field_is_a_density_and_no_noise() {
        // 40000 points in 400 x 300 pixels, one in three, wherever they fall: nearly the same grey all over, twice as many a darker one.
        let spread = |n: usize| -> Vec<Point> {
            let part = |i: usize, step: f64, size: f64| ((i as f64 * step).fract() * size) as f32;
            let place = |i: usize| (part(i, 0.754_877_666_246_692_7, 400.0), part(i, 0.569_840_290_998_053_2, 300.0));
            (0..n).map(place).map(|(x, y)| Point { x, y, mark: Mark::Plain }).collect()
        };
        let inner = |image: &ColorImage| -> Vec<f64> {
            let rows = (20..280).flat_map(|y| (20..380).map(move |x| y * 400 + x));
            rows.map(|i| f64::from(image.pixels[i].a())).collect()
        };
        let grey = |points: &[Point], field: bool| {
            let image = if field { draw_field(400, 300, 1.0, points, INKS) } else { draw(400, 300, 1.0, points, INKS) };
            let all = inner(&image);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            (mean, (all.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt() / mean)
        };
        let points = spread(40_000);
        let (field, grains) = (grey(&points, true), grey(&points, false));
        assert!(field.1 < 0.5 * grains.1, "less noise: {field:?}, {grains:?}");
        assert!((20.0..120.0).contains(&field.0), "neither paper nor a slab: {field:?}");
        // In one picture, twice as many are seen as more: the right half of it has all of them once more.
        let twice: Vec<Point> = points.iter().copied().chain(points.iter().filter(|p| p.x > 200.0).copied()).collect();
        let image = draw_field(400, 300, 1.0, &twice, INKS);
        let mean = |columns: std::ops::Range<usize>| {
            let all: Vec<f64> =
                (20..280).flat_map(|y| columns.clone().map(move |x| y * 400 + x)).map(|i| f64::from(image.pixels[i].a())).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        assert!(mean(220..380) > 1.5 * mean(20..180));
    }

    #[test]
    fn a_part_of_a_picture_is_that_picture_without_the_points_that_are_left_out() {
        let scale = 1.5;
        let all: Vec<Point> = (0..4000)
            .map(|i| {
                let mark = match i % 97 {
                    0 => Mark::Ring,
                    1 => Mark::Diamond,
                    2 => Mark::RingedDiamond,
                    _ => Mark::Plain,
                };
                Point { x: i as f32 * 0.1 + 0.05, y: (i * 53 % 200) as f32 + 0.3, mark }
            })
            .collect();
        let (size, seen) = ([400, 200], 1987);
        let edge = 198.7_f32;
        assert!(all[seen - 1].x < edge && all[seen].x > edge);
        let whole = draw_field(400, 200, scale, &all, INKS);
        let columns = 198 - reach(scale)..199 + reach(scale);
        let near = |from: f32| all.partition_point(|p| p.x < from);
        let from = near(columns.start as f32 - neighbourhood(scale) as f32);
        let until = near(columns.end as f32 + neighbourhood(scale) as f32);
        let part = Part { columns: columns.clone(), points: &all[from..until], drawn: seen - from, total: all.len() };
        let part = draw_field_part(size, scale, &part, INKS);
        assert_eq!(part.size, [columns.len(), 200]);
        // What it should be: all points as they are in the whole picture, but the later ones without ink.
        let crowds = Crowds::of(&all, size, scale);
        let stamps = Stamps::field(all.len(), size, scale);
        let expected = draw_columns((0..400, 200), scale, &all[..seen], INKS, &stamps, &crowds);
        for y in 0..200 {
            for x in 0..400 {
                let shown = match x {
                    _ if x < columns.start => whole.pixels[y * 400 + x],
                    _ if x < columns.end => part.pixels[y * columns.len() + x - columns.start],
                    _ => Color32::TRANSPARENT,
                };
                assert_eq!(shown, expected.pixels[y * 400 + x], "{x}, {y}");
            }
        }
        // The part matters: the whole picture has ink of later points before the edge.
        assert!((0..200).any(|y| (columns.start..198).any(|x| whole.pixels[y * 400 + x] != expected.pixels[y * 400 + x])));
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
