//! The raster: every token a point at the row that took it, and the tokens that are selected together over it.

use std::sync::Arc;

use eframe::egui::ColorImage;

use super::{Rows, mark_of};
use crate::panel::common::{Canvas, is_marked};
use crate::stream::Stream;
use crate::widget::chart::Axis;
use crate::widget::palette::Ink;
use crate::widget::raster::{Inks, Mark, Point, draw, draw_field};

/// Where points lie: the axes, and the pixels of the picture.
#[derive(Clone, Copy)]
pub struct Area<'a> {
    /// Tokens.
    pub x: &'a Axis,
    /// Rows, in the order in which they are drawn.
    pub y: &'a Axis,
    /// Pixels, and the theme.
    pub canvas: Canvas,
    /// Pixels a point of the screen.
    pub scale: f32,
}

impl Area<'_> {
    /// A token is a column one unit wide, a row one unit high: the point is in its middle.
    fn point(&self, write: usize, place: usize, mark: Mark) -> Point {
        let [width, height] = self.canvas.0;
        Point {
            x: (self.x.share(write as f64 + 0.5) * width as f64) as f32,
            y: ((1.0 - self.y.share(place as f64 + 0.5)) * height as f64) as f32,
            mark,
        }
    }
}

/// The first `covered` tokens. Tokens of the marked role are drawn over all others, and founders over these, each of them.
pub fn tokens(rows: &Rows<'_>, covered: usize, stream: &Stream, area: Area<'_>, ink: Ink) -> ColorImage {
    let points: Vec<Point> = (0..covered)
        .filter_map(|write| Some(area.point(write, rows.place(write)?, mark_of(rows.founder(write), is_marked(stream, write)))))
        .collect();
    let [width, height] = area.canvas.0;
    draw_field(width, height, area.scale, &points, Inks { plain: ink.plain, ring: ink.window, diamond: ink.mark })
}

/// A ring around each token of a group.
pub fn group(rows: &Rows<'_>, group: &[usize], area: Area<'_>, ink: Ink) -> ColorImage {
    let points: Vec<Point> = group.iter().filter_map(|&write| Some(area.point(write, rows.place(write)?, Mark::Ring))).collect();
    let [width, height] = area.canvas.0;
    draw(width, height, area.scale, &points, Inks { plain: ink.select, ring: ink.select, diamond: ink.select })
}

/// A group of tokens, equal to itself alone: looking at all of them in every frame would take too long.
#[derive(Debug, Clone)]
pub struct Group(pub Arc<[usize]>);

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::assignments::order::Order;
    use eframe::egui::{Color32, Visuals};

    /// 65536 tokens in 1000 x 500 pixels, rows in an order of their own: every founder's ring is there, whatever lies over and under it.
    #[test]
    fn no_founder_is_lost_at_65536_tokens_in_any_order() {
        const T: usize = 65_536;
        let n = |t: usize| t * 2048 / (t + 2048);
        let is_new: Vec<i32> = (0..T).map(|i| i32::from(i == 0 || n(i + 1) > n(i))).collect();
        let mut rows = 0;
        let assignments: Vec<i32> = (0..T)
            .map(|i| {
                rows += is_new[i];
                if is_new[i] == 1 { rows - 1 } else { (i as i32).wrapping_mul(7919).rem_euclid(rows) }
            })
            .collect();
        let shuffled = Order::new(1, (0..rows as u32).map(|r| (r * 1009) % rows as u32).collect());
        let ink = Ink::for_visuals(&Visuals::dark());
        let (x, y) = (Axis::count("token", T), Axis::count("centroid", rows as usize));
        let area = Area { x: &x, y: &y, canvas: ([1000, 500], true), scale: 1.5 };
        for order in [None, Some(&shuffled)] {
            let of = Rows { assignments: &assignments, is_new: &is_new, order, deleted: &[] };
            let points: Vec<Point> = (0..T).map(|w| area.point(w, of.place(w).unwrap(), mark_of(of.founder(w), false))).collect();
            let image = draw_field(1000, 500, 1.5, &points, Inks { plain: ink.plain, ring: ink.window, diamond: ink.mark });
            let is_ring = |c: Color32| {
                let [r, g, b, a] = c.to_array();
                let near = |x: u8, y: u8| x.abs_diff(y) < 40;
                a > 200 && near(r, ink.window.r()) && near(g, ink.window.g()) && near(b, ink.window.b())
            };
            let mut founders = 0;
            for point in points.iter().filter(|p| p.mark == Mark::Ring) {
                founders += 1;
                // The ring has a radius of 2.6 points: 3.9 pixels.
                let seen = (0..16).any(|i| {
                    let (s, c) = (f32::from(i as u8) * std::f32::consts::TAU / 16.0).sin_cos();
                    let (px, py) = (point.x + 3.9 * c, point.y + 3.9 * s);
                    px >= 0.0 && py >= 0.0 && px < 1000.0 && py < 500.0 && is_ring(image.pixels[py as usize * 1000 + px as usize])
                });
                assert!(seen, "the founder at {point:?}");
            }
            assert_eq!(founders, rows, "each of them");
        }
    }
}
