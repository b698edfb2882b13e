//! A lasso: a line drawn around points with the pointer, which takes those inside it. For any plot of points.
//!
//! A plot keeps one [`Lasso`] and hands it the response of its area in every frame, before it looks at hover and clicks:
//!
//! ```ignore
//! let (response, caught) = self.lasso.ui(ui, &response, chart.rect);
//! if let Some(caught) = caught {
//!     let points = (0..seen).map(|write| (write, place(write)));
//!     commands.push(ViewCommand::Group(caught.take(points, look.selection.tokens()).into()).into());
//! }
//! if !self.lasso.drawing() { /* hover and clicks, with the response that came back */ }
//! ```
//!
//! A drag draws the line, letting go closes it and takes what is inside; with Shift that is added to what was selected before.
//! Escape gives up. A drag too small to be seen takes nothing, and clicks stay what they were.

use eframe::egui::{Key, Modifiers, Pos2, Rect, Response, Sense, Stroke, Ui};

use super::line::{self, Dash};
use super::palette::Ink;

/// How to use one, for the text behind a panel's `?`.
pub const HOW: &str = "Drag around points to select them together, with Shift to add them to the selection; Escape gives up.";

/// The way, in points, that the pointer goes from one corner of the outline to the next.
const STRIDE: f32 = 2.5;
/// An outline that is narrower or lower than this takes nothing.
const SMALLEST: f32 = 3.0;

/// The line being drawn.
#[derive(Debug, Clone, Default)]
pub struct Lasso {
    outline: Vec<Pos2>,
    /// Escape was pressed: the rest of the drag draws nothing.
    given_up: bool,
}

/// A line that was closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Caught {
    outline: Vec<Pos2>,
    bounds: Rect,
    add: bool,
}

impl Lasso {
    /// Draws the line while the pointer is dragged over the plot `rect`, and returns what it was closed around when the pointer lets go.
    ///
    /// The response that comes back is the one that was given, sensing drags too.
    pub fn ui(&mut self, ui: &Ui, response: &Response, rect: Rect) -> (Response, Option<Caught>) {
        let response = response.interact(Sense::CLICK | Sense::DRAG);
        if response.drag_started() {
            self.given_up = false;
            self.outline.clear();
            self.outline.extend(ui.input(|i| i.pointer.press_origin()));
        }
        if !response.dragged() && !response.drag_stopped() {
            self.outline.clear();
            return (response, None);
        }
        if !self.given_up && ui.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Escape) || i.consume_key(Modifiers::SHIFT, Key::Escape)) {
            self.given_up = true;
            self.outline.clear();
        }
        if self.given_up {
            return (response, None);
        }
        if let Some(at) = response.interact_pointer_pos()
            && self.outline.last().is_none_or(|last| last.distance(at) >= STRIDE)
        {
            self.outline.push(at);
        }
        if response.drag_stopped() {
            let add = ui.input(|i| i.modifiers.shift);
            let caught = Caught::new(std::mem::take(&mut self.outline), add);
            return (response, caught);
        }
        self.draw(ui, rect);
        (response, None)
    }

    /// True while a line is being drawn: what hovers would only be in the way.
    #[must_use]
    pub fn drawing(&self) -> bool {
        !self.outline.is_empty()
    }

    fn draw(&self, ui: &Ui, rect: Rect) {
        let (Some(first), Some(last)) = (self.outline.first(), self.outline.last()) else { return };
        let ink = Ink::of(ui);
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        let closing = [*last, *first];
        for stroke in [Stroke::new(4.0, ink.paper), Stroke::new(1.6, ink.select)] {
            line::draw(&painter, &self.outline, stroke, Dash::Solid);
            line::draw(&painter, &closing, Stroke::new(stroke.width * 0.7, stroke.color), Dash::Long);
        }
    }
}

impl Caught {
    /// The line through `outline`, closed; `None` where it is too small to have been meant.
    #[must_use]
    pub fn new(outline: Vec<Pos2>, add: bool) -> Option<Self> {
        let bounds = Rect::from_points(&outline);
        let large = outline.len() > 2 && bounds.width() >= SMALLEST && bounds.height() >= SMALLEST;
        large.then_some(Self { outline, bounds, add })
    }

    /// True if the line goes around `at`: where it crosses itself, what it goes around twice in one direction is inside too.
    #[must_use]
    pub fn holds(&self, at: Pos2) -> bool {
        if !self.bounds.contains(at) {
            return false;
        }
        // The winding number: edges that cross the ray from `at` to the right, upwards less downwards.
        let mut winding = 0;
        for (i, a) in self.outline.iter().enumerate() {
            let b = self.outline[(i + 1) % self.outline.len()];
            let side = f64::from(b.x - a.x) * f64::from(at.y - a.y) - f64::from(at.x - a.x) * f64::from(b.y - a.y);
            if a.y <= at.y && b.y > at.y && side > 0.0 {
                winding += 1;
            } else if a.y > at.y && b.y <= at.y && side < 0.0 {
                winding -= 1;
            }
        }
        winding != 0
    }

    /// The points inside by their number, ascending; where Shift was held with those of `before`.
    pub fn take(&self, points: impl Iterator<Item = (usize, Pos2)>, before: &[usize]) -> Vec<usize> {
        let mut all: Vec<usize> = points.filter(|(_, at)| self.holds(*at)).map(|(number, _)| number).collect();
        if self.add {
            all.extend_from_slice(before);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    fn around(points: &[(f32, f32)]) -> Caught {
        Caught::new(points.iter().map(|&(x, y)| pos2(x, y)).collect(), false).unwrap()
    }

    #[test]
    fn a_line_holds_what_it_goes_around_whichever_way_it_was_drawn() {
        // The letter L: 10 wide, 10 high, its upper right quarter open.
        let mut corners = vec![(0.0, 0.0), (5.0, 0.0), (5.0, 5.0), (10.0, 5.0), (10.0, 10.0), (0.0, 10.0)];
        for _ in 0..2 {
            let l = around(&corners);
            assert!(l.holds(pos2(2.0, 2.0)) && l.holds(pos2(2.0, 8.0)) && l.holds(pos2(8.0, 8.0)));
            assert!(!l.holds(pos2(8.0, 2.0)) && !l.holds(pos2(-1.0, 5.0)) && !l.holds(pos2(5.0, 11.0)));
            corners.reverse();
        }
        // A line that goes around its middle twice: the middle is inside.
        let square = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (2.0, 2.0), (8.0, 2.0), (8.0, 8.0), (2.0, 8.0)];
        assert!(around(&square).holds(pos2(5.0, 5.0)));
    }

    #[test]
    fn shift_adds_and_a_line_too_small_takes_nothing() {
        let corners: Vec<Pos2> = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)].map(|(x, y)| pos2(x, y)).to_vec();
        let points = || [(7, pos2(5.0, 5.0)), (3, pos2(1.0, 9.0)), (4, pos2(50.0, 5.0))].into_iter();
        let caught = |add| Caught::new(corners.clone(), add).unwrap();
        assert_eq!(caught(false).take(points(), &[7, 90]), [3, 7]);
        assert_eq!(caught(true).take(points(), &[7, 90]), [3, 7, 90]);
        assert_eq!(Caught::new(corners.iter().map(|c| pos2(c.x * 0.1, c.y)).collect(), false), None);
        assert_eq!(Caught::new(corners[..2].to_vec(), false), None);
    }
}
