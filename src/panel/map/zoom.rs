//! The map's zoom: which part of the map is seen, and how wheel, pointer and keys move it.

use eframe::egui::{CursorIcon, EventFilter, Key, PointerButton, Pos2, Response, Role, Sense, Ui, Vec2, WidgetInfo};

use crate::app::study::map::{Bounds, Keys};
use crate::metric::projection::Basis;
use crate::widget::chart::Chart;

/// The furthest: a point of the screen is then a few steps of float32, in which keys are kept, and nothing more comes apart.
const MOST: f64 = 4096.0;
/// What a press of + or - zooms by.
const PRESS: f64 = 1.5;
/// The share of the plot that an arrow moves by.
const ARROW: f64 = 0.1;
/// Points of the wheel that zoom by a factor of e: a notch, of 50 points or so, is about 1.3.
const WHEEL: f64 = 200.0;

/// The smallest and the largest number to the right, and upwards.
pub(super) type Window = [[f64; 2]; 2];

/// What is zoomed into: other keys, or the same along other components, are seen whole.
type Of = (Basis, [usize; 2], Bounds);

/// The zoom.
#[derive(Debug, Clone, Default)]
pub(super) struct Zoom {
    held: Option<Held>,
    /// The place of the map that the pointer took hold of.
    grip: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    of: Of,
    /// Above 1.
    factor: f64,
    /// What is in the middle of the plot.
    middle: [f64; 2],
}

impl Zoom {
    /// How many times larger than the whole map.
    pub(super) fn factor(&self) -> f64 {
        self.held.map_or(1.0, |h| h.factor)
    }

    /// True if only a part of the map is seen.
    pub(super) fn zoomed(&self) -> bool {
        self.held.is_some()
    }

    /// The whole map again.
    pub(super) fn fit(&mut self) {
        self.held = None;
    }

    /// The part of the map that is seen, of the `whole` that these keys take.
    pub(super) fn window(&mut self, keys: &Keys, whole: Window) -> Window {
        let of = of(keys);
        self.held = self.held.filter(|h| h.of == of);
        self.held.map_or(whole, |h| window(&h, whole))
    }

    /// Zooms by a factor; what is at this share of the plot, to the right and upwards, stays there.
    fn about(&mut self, keys: &Keys, whole: Window, by: f64, share: [f64; 2]) {
        let seen = self.window(keys, whole);
        let factor = (self.factor() * by).clamp(1.0, MOST);
        if factor < 1.0 + 1e-6 {
            self.fit();
            return;
        }
        let middle = std::array::from_fn(|i| {
            let stays = seen[i][0] + share[i] * (seen[i][1] - seen[i][0]);
            stays + (0.5 - share[i]) * (whole[i][1] - whole[i][0]) / factor
        });
        self.hold(Held { of: of(keys), factor, middle }, whole);
    }

    /// Moves what is seen by these shares of the plot.
    fn pan(&mut self, whole: Window, shares: [f64; 2]) {
        if let Some(mut held) = self.held {
            let span = |i: usize| (whole[i][1] - whole[i][0]) / held.factor;
            held.middle = std::array::from_fn(|i| held.middle[i] + shares[i] * span(i));
            self.hold(held, whole);
        }
    }

    /// Never beyond the edges of the whole: the middle is that of what is seen.
    fn hold(&mut self, held: Held, whole: Window) {
        let middle = window(&held, whole).map(|[low, high]| f64::midpoint(low, high));
        self.held = Some(Held { middle, ..held });
    }

    /// What wheel, pinch, pointer and keys ask for on the plot; it is seen in the next frame.
    ///
    /// The response that comes back is the one that was given, sensing drags too; with it whether the pointer is moving the map: then it
    /// draws no lasso.
    pub(super) fn ui(&mut self, ui: &Ui, response: &Response, chart: &Chart, keys: &Keys, whole: Window) -> (Response, bool) {
        let response = response.interact(Sense::CLICK | Sense::DRAG);
        let before = self.held.map(|h| (h.factor, h.middle));
        if let Some(pointer) = response.hover_pos() {
            let (wheel, pinch) = ui.input(|i| (f64::from(i.smooth_scroll_delta().y), f64::from(i.zoom_delta())));
            let by = pinch * (wheel / WHEEL).exp();
            if (by - 1.0).abs() > 1e-6 {
                self.about(keys, whole, by, share(chart, pointer));
                // What scrolls around the map stands still.
                ui.input_mut(|i| i.smooth_scroll_delta = Vec2::ZERO);
            }
        }
        if response.double_clicked() {
            self.fit();
        }
        let moving = self.drag(ui, &response, chart, whole);
        self.keys(ui, &response, keys, whole);
        if before != self.held.map(|h| (h.factor, h.middle)) {
            ui.ctx().request_repaint();
        }
        (response, moving)
    }

    /// The map follows the middle button, or the first with Ctrl: true while it does.
    fn drag(&mut self, ui: &Ui, response: &Response, chart: &Chart, whole: Window) -> bool {
        if response.drag_started() {
            let moves = response.dragged_by(PointerButton::Middle)
                || response.dragged_by(PointerButton::Primary) && ui.input(|i| i.modifiers.command);
            let from = ui.input(|i| i.pointer.press_origin()).filter(|_| moves);
            self.grip = from.map(|from| <[f64; 2]>::from(chart.values_at(from)));
        }
        let Some(grip) = self.grip else { return false };
        if let Some(pointer) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            // What the pointer took hold of stays under it.
            let here = <[f64; 2]>::from(chart.values_at(pointer));
            let span = [chart.x.max - chart.x.min, chart.y.max - chart.y.min];
            self.pan(whole, std::array::from_fn(|i| (grip[i] - here[i]) / span[i]));
            ui.ctx().set_cursor_icon(if self.zoomed() { CursorIcon::Grabbing } else { CursorIcon::Default });
        } else {
            self.grip = None;
        }
        true
    }

    /// What is pressed while the map has the focus. A plot takes none, so that it lies over this one as a stop of its own.
    fn keys(&mut self, ui: &Ui, response: &Response, keys: &Keys, whole: Window) {
        let stop = ui.interact(response.rect, response.id.with("keys"), Sense::focusable_noninteractive());
        let says = format!("{}: + and - zoom, arrows move the map, 0 shows all of it", super::controls::zoom_words(self.factor()));
        stop.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &says));
        if !stop.has_focus() {
            return;
        }
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|m| m.set_focus_lock_filter(stop.id, filter));
        let presses = |key: Key| ui.input(|i| if i.modifiers.command || i.modifiers.alt { 0 } else { i.num_presses(key) }) as f64;
        let larger = presses(Key::Plus) + presses(Key::Equals) - presses(Key::Minus);
        if larger != 0.0 {
            self.about(keys, whole, PRESS.powf(larger), [0.5; 2]);
        }
        let right = presses(Key::ArrowRight) - presses(Key::ArrowLeft);
        let up = presses(Key::ArrowUp) - presses(Key::ArrowDown);
        if right != 0.0 || up != 0.0 {
            self.pan(whole, [right * ARROW, up * ARROW]);
        }
        if presses(Key::Num0) > 0.0 {
            self.fit();
        }
    }
}

fn of(keys: &Keys) -> Of {
    (keys.ask.basis, keys.ask.components, keys.bounds)
}

fn window(held: &Held, whole: Window) -> Window {
    std::array::from_fn(|i| {
        let [low, high] = whole[i];
        let span = (high - low) / held.factor;
        let start = (held.middle[i] - span / 2.0).clamp(low, (high - span).max(low));
        [start, start + span]
    })
}

/// The share of the plot at a point, to the right and upwards.
fn share(chart: &Chart, point: Pos2) -> [f64; 2] {
    let (x, y) = chart.values_at(point);
    [chart.x.share(x), chart.y.share(y)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::study::map::Ask;
    use crate::metric::projection::Projection;
    use ndarray::Array2;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn keys(components: [usize; 2]) -> Keys {
        let all = Array2::from_shape_fn((4, 2), |(i, j)| if i % 2 == j { 1.0 } else { -0.5 });
        let projection = Projection::new(all.view(), Basis::Principal, &AtomicBool::new(false)).unwrap();
        let ask = Ask { lane: 0, head: 0, basis: Basis::Principal, components };
        Keys { ask, projection: Arc::new(projection), points: Vec::new(), bounds: [[0.0, 8.0], [-2.0, 2.0]] }
    }

    const WHOLE: Window = [[0.0, 8.0], [-2.0, 2.0]];

    #[test]
    fn what_is_under_the_pointer_stays_there_and_edges_hold() {
        let (keys, mut zoom) = (keys([0, 1]), Zoom::default());
        assert_eq!((zoom.window(&keys, WHOLE), zoom.factor(), zoom.zoomed()), (WHOLE, 1.0, false));
        // At (2, 1), a quarter and three quarters of the way: four times larger, the window is 2 wide and 1 high around it.
        zoom.about(&keys, WHOLE, 4.0, [0.25, 0.75]);
        assert_eq!(zoom.window(&keys, WHOLE), [[1.5, 3.5], [0.25, 1.25]]);
        // Half a window to the left and up.
        zoom.pan(WHOLE, [-0.5, 0.5]);
        assert_eq!(zoom.window(&keys, WHOLE), [[0.5, 2.5], [0.75, 1.75]]);
        // No further than the edges, and back from there at once.
        zoom.pan(WHOLE, [-9.0, 9.0]);
        assert_eq!(zoom.window(&keys, WHOLE), [[0.0, 2.0], [1.0, 2.0]]);
        zoom.pan(WHOLE, [0.5, 0.0]);
        assert_eq!(zoom.window(&keys, WHOLE)[0].map(f64::to_bits), [1f64, 3.0].map(f64::to_bits));
        zoom.about(&keys, WHOLE, 0.25, [0.5, 0.5]);
        assert_eq!((zoom.window(&keys, WHOLE), zoom.zoomed()), (WHOLE, false));
    }

    #[test]
    fn other_keys_are_seen_whole_and_the_zoom_ends_at_float32() {
        let mut zoom = Zoom::default();
        zoom.about(&keys([0, 1]), WHOLE, 1e9, [0.5, 0.5]);
        assert_eq!(zoom.factor().to_bits(), 4096f64.to_bits());
        let window = zoom.window(&keys([0, 1]), WHOLE);
        assert!((window[0][1] - window[0][0] - 8.0 / 4096.0).abs() < 1e-12, "{window:?}");
        assert_eq!(zoom.window(&keys([1, 0]), WHOLE), WHOLE);
        assert_eq!(zoom.factor().to_bits(), 1f64.to_bits());
    }

    proptest! {
        /// Wherever the pointer is and whatever it does, the window is within the whole, of its shape, and as large as the factor says.
        #[test]
        fn a_window_is_a_part_of_the_whole(acts in prop::collection::vec((0.3_f64..4.0, 0.0_f64..1.0, 0.0_f64..1.0, any::<bool>()), 1..20)) {
            let (keys, mut zoom) = (keys([0, 1]), Zoom::default());
            for (by, x, y, pan) in acts {
                if pan { zoom.pan(WHOLE, [x - by, y]) } else { zoom.about(&keys, WHOLE, by, [x, y]) }
                let window = zoom.window(&keys, WHOLE);
                for i in 0..2 {
                    let [low, high] = window[i];
                    prop_assert!(low >= WHOLE[i][0] - 1e-9 && high <= WHOLE[i][1] + 1e-9, "{window:?}");
                    prop_assert!(((high - low) * zoom.factor() - (WHOLE[i][1] - WHOLE[i][0])).abs() < 1e-6);
                }
            }
        }
    }
}
