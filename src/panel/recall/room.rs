//! How the table and the view below it share the height of the panel.

use super::LINE;

/// Between the rows of the panel.
pub(super) const GAP: f32 = 2.0;
/// A view is at least this high, or it is not shown at all.
const LOWEST: f32 = 90.0;
/// What a line takes that says why there is no view.
const NOTE: f32 = 18.0;
/// Fewer lanes than this in sight, where there are more, are no table.
const LEAST: usize = 2;

/// What the table and the view get.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Room {
    /// The lanes of the table that are in sight; it scrolls to the others.
    pub rows: usize,
    /// The height of the view below; `None` where there is no room for one.
    pub view: Option<f32>,
}

/// Shares the `left` points of a panel of `height` between a table of so many lanes, with its heads, and a view.
pub(super) fn shared(height: f32, left: f32, lanes: usize) -> Room {
    let line = LINE + GAP;
    // The heads are a line of the table too.
    let rows_in = |points: f32| ((points.max(0.0) / line) as usize).saturating_sub(1).min(lanes);
    let rows = rows_in((left - LOWEST).min(height / 2.0));
    if rows >= LEAST.min(lanes) {
        return Room { rows, view: Some(left - (rows + 1) as f32 * line) };
    }
    Room { rows: rows_in(left - NOTE).max(1), view: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_keeps_its_height_and_the_table_scrolls_in_half_of_it_at_most() {
        // 5 lanes and the heads are 6 lines of 17 points: 102.
        assert_eq!(shared(290.0, 262.0, 5), Room { rows: 5, view: Some(160.0) });
        // 8 lanes in 200 points: of the 172 below the first row 82 are free, 4 lines and so 3 lanes.
        assert_eq!(shared(200.0, 172.0, 8), Room { rows: 3, view: Some(104.0) });
        // 40 lanes: never more than half of the panel, which is 17 lines of 600 points.
        assert_eq!(shared(600.0, 572.0, 40), Room { rows: 16, view: Some(283.0) });
        for height in 200_u16..400 {
            for lanes in 1..20 {
                let height = f32::from(height);
                let view = shared(height, height - 28.0, lanes).view;
                assert!(view.is_some_and(|v| v >= LOWEST), "{lanes} lanes in {height}: {view:?}");
            }
        }
    }

    #[test]
    fn a_low_panel_has_its_table_and_no_part_of_a_view() {
        // 132 points less 18 for the line that says so are 6 lines.
        assert_eq!(shared(160.0, 132.0, 8), Room { rows: 5, view: None });
        assert_eq!(shared(160.0, 132.0, 1), Room { rows: 1, view: Some(98.0) }, "one lane leaves room");
        assert_eq!(shared(40.0, 12.0, 8), Room { rows: 1, view: None });
        assert_eq!(shared(20.0, -8.0, 8), Room { rows: 1, view: None });
    }
}
