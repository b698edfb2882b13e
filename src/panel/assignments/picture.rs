//! The raster: every token a point at the row that took it, and the tokens that are selected together over it.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{ColorImage, TextureHandle, Ui};

use super::{Rows, mark_of};
use crate::panel::Look;
use crate::panel::common::{Canvas, Key, canvas, is_marked, paint_columns, texture};
use crate::stream::Stream;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart};
use crate::widget::palette::Ink;
use crate::widget::raster::{Inks, Mark, Part, Point, draw, draw_field, draw_field_part, edge, near, neighbourhood, reach};

/// What a picture depends on besides the tokens in it: the canvas, the end of the axis of rows, and which order they are in.
type Way = (Canvas, usize, Option<u64>);

/// What is kept of them from frame to frame: the tokens, with later ones among them, and the few columns at the playhead, without these.
#[derive(Debug, Default)]
pub struct Pictures {
    tokens: Cached<Key<Way>, Picture>,
    edge: Cached<Key<(Way, usize)>, Picture>,
    group: Cached<Key<(Way, Group)>, Picture>,
    group_edge: Cached<Key<(Way, Group)>, Picture>,
}

/// What is drawn: of which lane and head the first `seen` tokens, of `covered` that a picture is made of; `order` is the end of the axis of
/// rows, and which order they are in.
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    pub lane: usize,
    pub head: usize,
    pub seen: usize,
    pub covered: usize,
    pub order: (usize, Option<u64>),
}

/// A picture, and how many points are in it.
struct Picture(TextureHandle, usize);

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Picture")
    }
}

impl Pictures {
    /// Paints all that the playhead has seen, and nothing else. A picture for each place of the playhead would take too long: the one of all
    /// tokens is shown up to where the first later one could leave ink, and what is left is drawn for itself.
    pub fn paint(&mut self, ui: &Ui, look: &Look<'_>, chart: &Chart, rows: &Rows<'_>, drawn: Drawn) {
        let Drawn { lane, head, seen, covered, order: (top, generation) } = drawn;
        let canvas = canvas(ui, chart.rect);
        let area = Area { x: &chart.x, y: &chart.y, canvas, scale: ui.pixels_per_point() };
        let (stream, ink, way) = (&look.plan.stream, Ink::of(ui), (canvas, top, generation));
        let whole = self.tokens.get(Key::new(look, lane, head, covered, way), || {
            let (image, points) = tokens(rows, covered, stream, area, ink);
            Picture(texture(ui, "assignments", image), points)
        });
        let width = canvas.0[0];
        // Where all that is in the picture is seen, there is nothing to leave out.
        let edge = (seen < covered).then(|| area.edge(seen));
        let until = edge.as_ref().map_or(width, |edge| edge.start);
        paint_columns(ui, chart, &whole.0, 0..until, (0, width));
        if let Some(columns) = &edge {
            let picture = self.edge.get(Key::new(look, lane, head, seen, (way, covered)), || {
                Picture(texture(ui, "assignments at the playhead", edge_of(rows, [seen, covered], whole.1, stream, (area, ink))), 0)
            });
            paint_columns(ui, chart, &picture.0, columns.clone(), (columns.start, width));
        }
        if look.selection.group.is_empty() {
            return;
        }
        let chosen = Group(Arc::clone(&look.selection.group));
        let picture = self.group.get(Key::new(look, lane, head, covered, (way, chosen.clone())), || {
            Picture(texture(ui, "group", group(rows, &chosen.0, area, ink)), 0)
        });
        // A token may be selected that no picture covers yet.
        let columns = area.edge(seen);
        paint_columns(ui, chart, &picture.0, 0..columns.start, (0, width));
        let picture = self.group_edge.get(Key::new(look, lane, head, seen, (way, chosen.clone())), || {
            Picture(texture(ui, "group at the playhead", group_edge(rows, &chosen.0, seen, area, ink)), 0)
        });
        paint_columns(ui, chart, &picture.0, columns.clone(), (columns.start, width));
    }
}

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

    /// The columns in which marks of the first `seen` tokens and of later ones may meet: before them no later token leaves any ink, after
    /// them none of the first does.
    pub fn edge(&self, seen: usize) -> Range<usize> {
        let width = self.canvas.0[0];
        edge(self.x.share(seen as f64) * width as f64, width, self.scale)
    }

    /// The tokens, of the first `all`, that lie in these columns or at most so many pixels `around` them.
    fn near(&self, columns: &Range<usize>, around: usize, all: usize) -> Range<usize> {
        near(columns, around, self.canvas.0[0], |share| self.x.value(share), all)
    }
}

/// The points of some tokens, in their order.
fn points(rows: &Rows<'_>, tokens: Range<usize>, stream: &Stream, area: Area<'_>) -> Vec<Point> {
    let mark = |write: usize| mark_of(rows.founder(write), is_marked(stream, write));
    tokens.filter_map(|write| Some(area.point(write, rows.place(write)?, mark(write)))).collect()
}

fn inks(ink: &Ink) -> Inks {
    Inks { plain: ink.plain, ring: ink.window, diamond: ink.mark }
}

/// The first `covered` tokens, and how many points that is. Tokens of the marked role are drawn over all others, and founders over these,
/// each of them.
pub fn tokens(rows: &Rows<'_>, covered: usize, stream: &Stream, area: Area<'_>, ink: Ink) -> (ColorImage, usize) {
    let points = points(rows, 0..covered, stream, area);
    let [width, height] = area.canvas.0;
    (draw_field(width, height, area.scale, &points, inks(&ink)), points.len())
}

/// The columns at the playhead ([`Area::edge`]) with the first `seen` tokens alone, as they look among the `total` points of the first
/// `covered` tokens.
fn edge_of(rows: &Rows<'_>, [seen, covered]: [usize; 2], total: usize, stream: &Stream, (area, ink): (Area<'_>, Ink)) -> ColorImage {
    let columns = area.edge(seen);
    // What leaves ink here lies within a mark's reach; how large a diamond is, other diamonds decide, further away as well.
    let first = area.near(&columns, reach(area.scale), covered).start.min(seen);
    let wide = area.near(&columns, neighbourhood(area.scale), covered);
    let mut all = points(rows, first..seen, stream, area);
    let drawn = all.len();
    let others = [wide.start..first, seen..wide.end];
    let marked = others.into_iter().flatten().filter(|write| is_marked(stream, *write));
    all.extend(marked.filter_map(|write| Some(area.point(write, rows.place(write)?, mark_of(rows.founder(write), true)))));
    draw_field_part(area.canvas.0, area.scale, &Part { columns, points: &all, drawn, total }, inks(&ink))
}

/// A ring around each token of a group.
pub fn group(rows: &Rows<'_>, group: &[usize], area: Area<'_>, ink: Ink) -> ColorImage {
    let points: Vec<Point> = group.iter().filter_map(|&write| Some(area.point(write, rows.place(write)?, Mark::Ring))).collect();
    let [width, height] = area.canvas.0;
    draw(width, height, area.scale, &points, Inks { plain: ink.select, ring: ink.select, diamond: ink.select })
}

/// The same of those that are among the first `seen` tokens, in the columns at the playhead.
fn group_edge(rows: &Rows<'_>, group: &[usize], seen: usize, area: Area<'_>, ink: Ink) -> ColorImage {
    let columns = area.edge(seen);
    let near = area.near(&columns, reach(area.scale), seen);
    let of = |write: &usize| Some(area.point(*write, rows.place(*write)?, Mark::Ring));
    let points: Vec<Point> = group.iter().filter(|write| near.contains(*write)).filter_map(of).collect();
    let part = Part { columns, points: &points, drawn: points.len(), total: points.len() };
    draw_field_part(area.canvas.0, area.scale, &part, Inks { plain: ink.select, ring: ink.select, diamond: ink.select })
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
    use crate::panel::common::testing::blank;
    use crate::stream::Labels;
    use eframe::egui::{Color32, Visuals};

    /// Between two founders, a token apart: the ring of the first is whole, on both sides of the playhead, and the second leaves no ink.
    #[test]
    fn a_founder_after_the_playhead_leaves_no_ink() {
        const T: usize = 2048;
        let (seen, covered) = (64, 128);
        // Its tokens have no roles.
        let stream = &blank(T, Labels::default());
        // No other token has a row: none is drawn.
        let (mut assignments, mut is_new) = (vec![-1; covered], vec![0; covered]);
        (assignments[63], assignments[64]) = (62, 700);
        (is_new[63], is_new[64]) = (1, 1);
        let rows = Rows { assignments: &assignments, is_new: &is_new, order: None, deleted: &[], noun: "step" };
        let ink = Ink::for_visuals(&Visuals::dark());
        let (x, y) = (Axis::count("token", T), Axis::count("centroid", 1000));
        let area = Area { x: &x, y: &y, canvas: ([1000, 500], true), scale: 1.5 };
        let (whole, total) = tokens(&rows, covered, stream, area, ink);
        assert_eq!(total, 2);
        let (columns, edge) = (area.edge(seen), edge_of(&rows, [seen, covered], total, stream, (area, ink)));
        // The playhead lies at pixel 31.25; a mark reaches 8 pixels at most.
        assert_eq!((columns.clone(), edge.size), (23..40, [17, 500]));
        let expected = draw_field(1000, 500, 1.5, &[area.point(63, 62, Mark::Ring)], inks(&ink));
        let later = area.point(64, 700, Mark::Ring);
        let at = (later.y + 3.9) as usize * 1000 + later.x as usize;
        assert!(whole.pixels[at].a() > 0 && expected.pixels[at].a() == 0);
        for y in 0..500 {
            for x in 0..1000 {
                let shown = match x {
                    _ if x < columns.start => whole.pixels[y * 1000 + x],
                    _ if x < columns.end => edge.pixels[y * 17 + x - columns.start],
                    _ => Color32::TRANSPARENT,
                };
                assert_eq!(shown, expected.pixels[y * 1000 + x], "{x}, {y}");
            }
        }
        // Of a group the same.
        let group = group_edge(&rows, &[63, 64], seen, area, ink);
        assert!(group.pixels.iter().enumerate().all(|(i, c)| c.a() == 0 || (i / 17).abs_diff(later.y as usize) > 8));
        assert!(group.pixels.iter().any(|c| c.a() > 200));
    }

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
            let of = Rows { assignments: &assignments, is_new: &is_new, order, deleted: &[], noun: "step" };
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
