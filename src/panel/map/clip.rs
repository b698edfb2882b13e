//! Lines cut off around the plot: far zoomed in, their ends lie a million points away, and dashes up to there would never end.

use eframe::egui::{Pos2, Rect};

/// The parts of a line of several points that lie in `rect`.
pub(super) fn clip(line: &[Pos2], rect: Rect) -> Vec<Vec<Pos2>> {
    let mut parts: Vec<Vec<Pos2>> = Vec::new();
    // Where the part before ends as the line goes on: at one of its own points.
    let mut goes_on = false;
    for ends in line.windows(2) {
        let Some([from, to]) = segment([ends[0], ends[1]], rect) else {
            goes_on = false;
            continue;
        };
        match parts.last_mut() {
            Some(part) if goes_on && from == ends[0] => part.push(to),
            _ => parts.push(vec![from, to]),
        }
        goes_on = to == ends[1];
    }
    if let ([only], true) = (line, line.first().is_some_and(|p| rect.contains(*p))) {
        parts.push(vec![*only]);
    }
    parts
}

/// The part of a straight line that lies in `rect` (Liang and Barsky).
fn segment([from, to]: [Pos2; 2], rect: Rect) -> Option<[Pos2; 2]> {
    // In f64: of two million points a share in float32 is off by a tenth of one.
    let wide = |p: Pos2| [f64::from(p.x), f64::from(p.y)];
    let (origin, target) = (wide(from), wide(to));
    let (mut start, mut end) = (0.0_f64, 1.0_f64);
    for (i, range) in [rect.x_range(), rect.y_range()].into_iter().enumerate() {
        let (by, low, high) = (target[i] - origin[i], f64::from(range.min), f64::from(range.max));
        if by == 0.0 {
            if origin[i] < low || origin[i] > high {
                return None;
            }
            continue;
        }
        let (a, b) = ((low - origin[i]) / by, (high - origin[i]) / by);
        (start, end) = (start.max(a.min(b)), end.min(a.max(b)));
    }
    let at = |share: f64| {
        let [x, y] = std::array::from_fn(|i| (origin[i] + (target[i] - origin[i]) * share) as f32);
        Pos2 { x, y }
    };
    (start <= end).then(|| [if start > 0.0 { at(start) } else { from }, if end < 1.0 { at(end) } else { to }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn only_what_is_within_is_left_and_a_line_that_stays_within_is_one() {
        let rect = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 10.0));
        let whole = [pos2(1.0, 1.0), pos2(5.0, 2.0), pos2(5.0, 9.0)];
        assert_eq!(clip(&whole, rect), [whole.to_vec()]);
        // In from the left, out to the right, and back in from below.
        let line = [pos2(-5.0, 5.0), pos2(5.0, 5.0), pos2(15.0, 5.0), pos2(15.0, 20.0), pos2(5.0, 20.0), pos2(5.0, 8.0)];
        let parts = [vec![pos2(0.0, 5.0), pos2(5.0, 5.0), pos2(10.0, 5.0)], vec![pos2(5.0, 10.0), pos2(5.0, 8.0)]];
        assert_eq!(clip(&line, rect), parts);
        assert!(clip(&[pos2(-1.0, -1.0), pos2(-9.0, 5.0)], rect).is_empty());
        assert_eq!((clip(&whole[..1], rect), clip(&[pos2(11.0, 0.0)], rect)), (vec![vec![pos2(1.0, 1.0)]], vec![]));
        // A line of two million points that crosses is as long as the plot is wide.
        assert_eq!(clip(&[pos2(-1e6, 3.0), pos2(1e6, 3.0)], rect), [vec![pos2(0.0, 3.0), pos2(10.0, 3.0)]]);
    }
}
