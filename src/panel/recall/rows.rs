//! Rows by lane: their names at the left, and an axis along them.

use eframe::egui::{Align, Align2, FontId, Layout, Rect, Response, Sense, Ui, UiBuilder, pos2, vec2};

use crate::panel::Look;
use crate::widget::chart::{Axis, Chart, SMALL, sign};
use crate::widget::cut;
use crate::widget::palette::Ink;
use crate::widget::ticks::Scale;

/// Rows lower than this have their lane's mark at the left and not its name, which is on hover.
const NAMED: f32 = 11.0;
/// What a mark takes at the left.
const MARK: f32 = 14.0;
/// Names take this part of the width at most.
const SHARE: f32 = 0.35;
/// What stands above and below the rows, and what stands left of them inside the chart.
const AROUND: [f32; 2] = [38.0, 14.0];

/// The rows on screen: lane number i lies from i to i + 1 on the upward axis of the chart, the first one at the top.
pub(super) struct Rows {
    /// What the pointer does over them.
    pub response: Response,
    /// The chart that they are.
    pub chart: Chart,
}

impl Rows {
    /// Takes `height` of `ui` and draws the names and the empty rows. `x` makes the axis along them for about so many points; `label`
    /// stands above, `describe` is for screen readers.
    pub fn show(ui: &mut Ui, look: &Look<'_>, height: f32, x: impl FnOnce(f32) -> Axis, label: &str, describe: &str) -> Self {
        let (outer, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let font = FontId::proportional(SMALL);
        let names: Vec<&str> = look.lanes.iter().map(|l| l.plan.name.as_str()).collect();
        let wide = |c: char| ui.fonts_mut(|f| f.glyph_width(&font, c));
        let lanes = names.len().max(1) as f32;
        let named = (height - AROUND[0]) / lanes >= NAMED;
        let longest = names.iter().map(|n| n.chars().map(wide).sum::<f32>()).fold(0.0, f32::max).ceil();
        let room = if named { (longest + 2.0).min(outer.width() * SHARE) } else { 0.0 };
        let shown = cut::names(&names, room, &wide);
        let place = outer.with_min_x(outer.left() + MARK + room);
        let mut inside = ui.new_child(UiBuilder::new().id_salt("rows by lane").max_rect(place).layout(Layout::top_down(Align::Min)));
        // Upside down, so that the first lane is at the top; such an axis has no numbers.
        let y = Axis::real(label, f64::from(lanes), 0.0, Scale::Linear);
        let (response, chart) = Chart::show(&mut inside, place.size(), x(place.width() - AROUND[1]), y, &[], describe);
        let ink = Ink::of(ui);
        for (index, (lane, shown)) in look.lanes.iter().zip(shown).enumerate() {
            let (top, bottom) = (chart.y_of(index as f64), chart.y_of(index as f64 + 1.0));
            let middle = f32::midpoint(top, bottom);
            sign(ui.painter(), pos2(outer.left() + 6.0, middle), lane.mark(), lane.colour, &ink);
            if named {
                ui.painter().text(pos2(outer.left() + MARK, middle), Align2::LEFT_CENTER, &shown, font.clone(), ink.text);
            }
            if !named || shown != lane.plan.name {
                let at = Rect::from_min_max(pos2(outer.left(), top), pos2(place.left(), bottom));
                ui.interact(at, ui.scope_id().with(("name of a row", index)), Sense::hover()).on_hover_text(&lane.plan.name);
            }
        }
        Self { response, chart }
    }

    /// The middle of a lane's row at a value of the axis.
    pub fn at(&self, lane: usize, x: f64) -> eframe::egui::Pos2 {
        self.chart.pos(x, lane as f64 + 0.5)
    }

    /// The height of a row, in points.
    pub fn pitch(&self) -> f32 {
        self.chart.y_of(1.0) - self.chart.y_of(0.0)
    }
}
