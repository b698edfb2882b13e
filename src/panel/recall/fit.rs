//! Which columns of the table have room beside the names of lanes.

/// Between columns, where there is room, and where there is not.
const GAPS: [f32; 2] = [16.0, 8.0];

/// How many columns of these widths, beside the names, have room in `room`, at least two of them, and the gap left of each.
pub(super) fn fitting(widths: &[f32], room: f32) -> (usize, f32) {
    let fits = |kept: usize, gap: f32| widths[..kept].iter().map(|w| w + gap).sum::<f32>() <= room;
    let least = widths.len().min(2);
    let [wide, narrow] = GAPS;
    if widths.len() > 3 && fits(widths.len(), wide) {
        return (widths.len(), wide);
    }
    ((least..=widths.len()).rev().find(|kept| fits(*kept, narrow)).unwrap_or(least), narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_give_way_before_names_do() {
        let widths = [90.0, 60.0, 40.0, 40.0, 60.0];
        assert_eq!(fitting(&widths, 370.0), (5, 16.0), "290 and five gaps of 16");
        assert_eq!(fitting(&widths, 369.0), (5, 8.0), "closer together first");
        assert_eq!(fitting(&widths, 329.0), (4, 8.0), "290 and five gaps of 8 are 330");
        assert_eq!(fitting(&widths, 10.0), (2, 8.0), "the score is always there, and what comes after it");
        assert_eq!(fitting(&widths[..1], 10.0), (1, 8.0));
    }
}
