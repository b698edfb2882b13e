//! Events over time: a row a kind, brighter where there are more.

use eframe::egui::{Align2, FontId, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, Ui, WidgetInfo, pos2, vec2};

use crate::app::study::events::Shown;
use crate::metric::events::EventKind;
use crate::panel::Look;
use crate::panel::common::{facts, playheads, texture};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart};
use crate::widget::heatmap::{Colours, Grid, Rule, draw};
use crate::widget::palette::{Ink, Map};

const ROW: f32 = 11.0;
/// The room of the names, and in a narrow cell what stands between them and the picture.
const NAMES: f32 = 92.0;
const GAP: f32 = 6.0;
/// A cell narrower than this has room for names or for a picture, not for both: then there is no strip.
const LEAST: f32 = 150.0;

/// See the module's page.
#[derive(Default)]
pub(super) struct Strip {
    picture: Cached<Key, TextureHandle>,
}

/// Which list, how wide in pixels, and the theme.
type Key = (u64, usize, bool);

/// The height of a strip of so many kinds.
pub(super) fn height(kinds: usize) -> f32 {
    ROW * kinds as f32 + 6.0
}

fn kinds(shown: &Shown) -> Vec<EventKind> {
    EventKind::ALL.into_iter().filter(|k| shown.density[*k as usize].iter().any(|n| *n > 0)).collect()
}

impl Strip {
    /// Draws it, whole or not at all: where `below` points are left under it.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, shown: &Shown, below: f32) {
        let kinds = kinds(shown);
        let wanted = height(kinds.len()) + ui.spacing().item_spacing.y + below;
        if ui.available_height() < wanted || ui.available_width() < LEAST {
            return;
        }
        let ink = Ink::of(ui);
        let font = FontId::proportional(10.5);
        let width = |kind: &EventKind| ui.painter().layout_no_wrap(kind.title().to_owned(), font.clone(), ink.quiet).size().x;
        let names = if ui.available_width() < 260.0 { kinds.iter().map(width).fold(0.0, f32::max) + GAP } else { NAMES };
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height(kinds.len())), Sense::hover());
        let plot = Rect::from_min_max(pos2(rect.left() + names, rect.top() + 5.0), pos2(rect.right() - 6.0, rect.bottom() - 1.0));
        response.widget_info(|| {
            let each = kinds.iter().map(|k| format!("{} {}", shown.density[*k as usize].iter().sum::<u32>(), k.title()));
            WidgetInfo::labeled(Role::Image, true, format!("Events over the stream: {}", each.collect::<Vec<_>>().join(", ")))
        });
        let writes = look.plan.stream.writes();
        let chart = Chart { rect: plot, x: Axis::count("", writes), y: Axis::count("", kinds.len()) };
        ui.painter().rect_filled(plot, 0.0, ink.paper);
        let pixels = (plot.width() * ui.pixels_per_point()).max(1.0) as usize;
        let picture = self.picture.get((shown.number, pixels, ink.dark), || texture(ui, "events", picture(shown, &kinds, pixels, &ink)));
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        ui.painter().image(picture.id(), plot, uv, eframe::egui::Color32::WHITE);
        for (i, kind) in kinds.iter().enumerate() {
            let y = plot.top() + (i as f32 + 0.5) * ROW;
            ui.painter().text(pos2(rect.left(), y), Align2::LEFT_CENTER, kind.title(), font.clone(), ink.quiet);
            ui.painter().hline(plot.x_range(), plot.top() + i as f32 * ROW, Stroke::new(1.0, ink.grid));
        }
        ui.painter().rect_stroke(plot, 0.0, Stroke::new(1.0, ink.frame), StrokeKind::Outside);
        playheads(ui, look, &chart, |w| w as f64);
        let Some(pointer) = response.hover_pos().filter(|p| plot.contains(*p)) else { return };
        let stretches = shown.density[0].len();
        let stretch = (((pointer.x - plot.left()) / plot.width() * stretches as f32) as usize).min(stretches - 1);
        let (from, to) = ((stretch * writes).div_ceil(stretches), ((stretch + 1) * writes).div_ceil(stretches));
        let rows: Vec<(&str, String)> = kinds.iter().map(|k| (k.title(), shown.density[*k as usize][stretch].to_string())).collect();
        facts(&response, &format!("seen from writes {} to {to} on", from + 1), &rows);
    }
}

/// The density as a picture: by the root of the number over the largest of its kind, so that one event is seen beside hundreds.
fn picture(shown: &Shown, kinds: &[EventKind], pixels: usize, ink: &Ink) -> eframe::egui::ColorImage {
    let stretches = shown.density[0].len();
    let mut grid = Grid::empty(kinds.len(), stretches);
    for (i, kind) in kinds.iter().enumerate() {
        let row = &shown.density[*kind as usize];
        let most = row.iter().copied().max().unwrap_or(1).max(1);
        // Row 0 of a grid is at the bottom.
        let at = (kinds.len() - 1 - i) * stretches;
        for (cell, n) in grid.cells[at..at + stretches].iter_mut().zip(row) {
            *cell = (*n > 0).then(|| 0.25 + 0.75 * (*n as f32 / most as f32).sqrt());
        }
    }
    let colours = Colours { map: Map::Cividis, min: 0.0, max: 1.0, log: false, paper: (!ink.dark).then_some(ink.paper) };
    draw(&grid, pixels, kinds.len().max(1), Rule::Max, colours)
}
