//! The map's pictures, each kept for as long as nothing of it changes: while time passes only what is new is drawn anew.

use std::sync::{Arc, Weak};

use eframe::egui::{Color32, Mesh, Rect, Shape, TextureHandle, TextureId, TextureOptions, Ui, pos2};

use super::glyph::Atlas;
use super::hover::Rows;
use super::layers;
use super::lists::Inside;
use super::view::{Frame, Size, Source, View};
use crate::panel::common::{Key, canvas, texture};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart};
use crate::widget::density::Density;
use crate::widget::palette::Ink;

/// How far beyond the plot, in points, a token may be and still show its mark.
const ROOM: f32 = 8.0;

/// What the map keeps of its pictures.
#[derive(Default)]
pub(super) struct Canvas {
    atlas: Option<Atlas>,
    inside: Cached<Key<Frame>, Option<Vec<u32>>>,
    density: Option<Grown>,
    centroids: Cached<Key<(Frame, Source, TextureId, Size, Color32)>, Arc<Mesh>>,
    founders: Cached<Key<(Frame, TextureId, bool)>, Arc<Mesh>>,
    tokens: Cached<Key<(Frame, TextureId)>, Arc<Mesh>>,
    group: Cached<Key<(Frame, TextureId, Same)>, Arc<Mesh>>,
}

/// A group of tokens, equal only to itself: its address is not used again while this lives.
struct Same(Weak<[usize]>);

impl PartialEq for Same {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

/// The tokens that are drawn as density, as far as they have come.
struct Grown {
    of: Key<Frame>,
    done: usize,
    density: Density,
    texture: TextureHandle,
}

impl Canvas {
    /// Paints the map; the marks come back, for what is looked at.
    pub(super) fn paint(&mut self, ui: &Ui, view: &View<'_>, chart: &Chart, frame: Frame, (rows, zoomed): (Rows<'_>, bool)) -> &Atlas {
        let Self { atlas, inside, density, centroids, founders, tokens, group } = self;
        let ink = Ink::of(ui);
        let atlas = match atlas.take() {
            Some(kept) if (kept.scale() - frame.scale).abs() < f32::EPSILON => atlas.insert(kept),
            _ => atlas.insert(Atlas::new(ui.ctx(), frame.scale)),
        };
        let painter = chart.painter(ui);
        let draw = |mesh: &Arc<Mesh>| {
            painter.add(Shape::mesh(Arc::clone(mesh)));
        };
        // Which writes are on the part that is seen does not change while time passes.
        let some = inside.get(of(view, 0, frame), || zoomed.then(|| on(chart, &view.keys.points)));
        let inside = Inside::new(some.as_deref(), view.keys.points.len());
        let dense = layers::dense(inside.len(), inside.before(view.seen));
        if let Some(picture) = grow(density, ui, view, chart, (frame, inside, dense)) {
            painter.image(picture, chart.rect, Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)), Color32::WHITE);
        }
        // The size of the discs changes when trails come, and the colour whenever the lane is given another.
        let colour = view.look.lanes[view.lane].colour;
        let of_rows = of(view, rows.source.chunks(view), (frame, rows.source, atlas.id(), rows.size, colour));
        draw(centroids.get(of_rows, || Arc::new(layers::centroids(rows.all, rows.size, chart, atlas, colour))));
        let crowded = layers::crowded(view, inside);
        let until = if dense > 0 { inside.first(dense).min(view.seen) } else { 0 };
        let of_founders = of(view, until, (frame, atlas.id(), crowded));
        draw(founders.get(of_founders, || Arc::new(layers::founders(view, chart, atlas, until, crowded, &ink))));
        let of_tokens = of(view, view.seen, (frame, atlas.id()));
        draw(tokens.get(of_tokens, || Arc::new(layers::tokens(view, chart, atlas, (inside, dense), &ink))));
        let chosen = &view.look.selection.group;
        if !chosen.is_empty() {
            let of_group = of(view, view.seen, (frame, atlas.id(), Same(Arc::downgrade(chosen))));
            draw(group.get(of_group, || Arc::new(layers::group(view, chart, atlas, &ink))));
        }
        atlas
    }
}

fn of<E: PartialEq>(view: &View<'_>, covered: usize, extra: E) -> Key<E> {
    Key::new(view.look, view.lane, view.head, covered, extra)
}

/// The tokens on the part of the map that is seen, or so near to it that their marks are.
fn on(chart: &Chart, points: &[[f32; 2]]) -> Vec<u32> {
    let bounds = |axis: &Axis, side: f32| {
        let room = f64::from(ROOM / side) * (axis.max - axis.min);
        axis.min - room..=axis.max + room
    };
    let (x, y) = (bounds(&chart.x, chart.rect.width()), bounds(&chart.y, chart.rect.height()));
    let seen = |p: &[f32; 2]| x.contains(&f64::from(p[0])) && y.contains(&f64::from(p[1]));
    points.iter().enumerate().filter(|(_, p)| seen(p)).map(|(write, _)| write as u32).collect()
}

/// The picture of the first `dense` tokens of those inside.
fn grow(
    held: &mut Option<Grown>,
    ui: &Ui,
    view: &View<'_>,
    chart: &Chart,
    (frame, inside, dense): (Frame, Inside<'_>, usize),
) -> Option<TextureId> {
    if dense == 0 {
        *held = None;
        return None;
    }
    let (key, size) = (of(view, 0, frame), canvas(ui, chart.rect).0);
    let kept = held.take().filter(|g| g.of == key && g.done <= dense);
    let grown = held.insert(kept.unwrap_or_else(|| {
        let density = Density::new(size, frame.scale, inside.len(), Ink::of(ui).plain);
        let texture = texture(ui, "keys", density.image().clone());
        Grown { of: key, done: 0, density, texture }
    }));
    if grown.done < dense {
        grown.density.add(layers::pixels(view, chart, size, inside.writes(grown.done..dense)));
        grown.texture.set(grown.density.image().clone(), TextureOptions::NEAREST);
        grown.done = dense;
    }
    Some(grown.texture.id())
}
