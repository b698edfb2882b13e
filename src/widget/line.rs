//! Lines with dashes, so that they stay apart without colour.

use eframe::egui::{Painter, Pos2, Shape, Stroke};

/// The dashes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// None.
    Solid,
    /// Long dashes.
    Long,
    /// Dots.
    Dots,
    /// Dash and dot.
    DashDot,
}

impl Dash {
    /// The dashes of the line number `index`: they repeat after four. A lane's number here is its place in the palette.
    #[must_use]
    pub fn of(index: usize) -> Self {
        [Self::Solid, Self::Long, Self::Dots, Self::DashDot][index % 4]
    }
}

/// Draws a line through points. Points closer than a third of a point of the screen to the last one drawn are passed over,
/// but for the last: nothing of it could be seen.
pub fn draw(painter: &Painter, points: &[Pos2], stroke: Stroke, dash: Dash) {
    painter.extend(shapes(points, stroke, dash));
}

/// What [`draw`] draws.
#[must_use]
pub fn shapes(points: &[Pos2], stroke: Stroke, dash: Dash) -> Vec<Shape> {
    let points = thin(points);
    if points.len() < 2 {
        return points.first().map(|only| Shape::circle_filled(*only, stroke.width.max(1.5), stroke.color)).into_iter().collect();
    }
    let w = stroke.width;
    match dash {
        Dash::Solid => vec![Shape::line(points, stroke)],
        Dash::Long => Shape::dashed_line(&points, stroke, 5.0 * w.max(1.2), 3.0 * w.max(1.2)),
        Dash::Dots => Shape::dotted_line(&points, stroke.color, 3.2 * w.max(1.2), 0.75 * w),
        Dash::DashDot => {
            let w = w.max(1.2);
            Shape::dashed_line_with_offset(&points, stroke, &[6.0 * w, 1.0 * w], &[2.5 * w, 2.5 * w], 0.0)
        }
    }
}

fn thin(points: &[Pos2]) -> Vec<Pos2> {
    let mut kept: Vec<Pos2> = Vec::with_capacity(points.len());
    for (i, p) in points.iter().enumerate() {
        if i + 1 == points.len() || kept.last().is_none_or(|last| (last.x - p.x).abs() + (last.y - p.y).abs() > 0.33) {
            kept.push(*p);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn a_thinned_line_keeps_its_ends_and_its_steps() {
        let points: Vec<Pos2> = (0..1000).map(|i| pos2(i as f32 * 0.01, if i < 500 { 0.0 } else { 40.0 })).collect();
        let kept = thin(&points);
        assert!(kept.len() < 40);
        assert_eq!((kept[0], *kept.last().unwrap()), (points[0], points[999]));
        assert!(kept.windows(2).any(|w| (w[1].y - w[0].y) > 39.0), "the step is still upright");
    }
}
