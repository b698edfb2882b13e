//! Where the names of lines stand: beside the lines' ends, moved up or down until none hides another.

use eframe::egui::{Pos2, Rect, Vec2, pos2};

/// Between the end of a line and its name.
const GAP: f32 = 9.0;
/// Between names.
const APART: f32 = 1.0;

/// The places of names in `within`, each beside its line's `end`: at its right where there is room, else at its left. Those that would
/// overlap are moved apart by as little as may be (least squares), in the order of their ends; where there is no room for all, the first are kept.
pub(super) fn place(names: &[(Pos2, Vec2)], within: Rect) -> Vec<Option<Rect>> {
    let beside = |&(end, size): &(Pos2, Vec2)| {
        let right = end.x + GAP + size.x <= within.right();
        let left = if right { end.x + GAP } else { end.x - GAP - size.x };
        Rect::from_min_size(pos2(left, end.y - size.y / 2.0), size)
    };
    let fits = |r: &Rect| r.left() >= within.left() && r.right() <= within.right() && r.height() <= within.height();
    let mut places: Vec<Option<Rect>> = names.iter().map(beside).map(|r| Some(r).filter(fits)).collect();
    for column in columns(&places) {
        stack(&mut places, column, within);
    }
    places
}

/// The names whose widths overlap, or are joined by others that do.
fn columns(places: &[Option<Rect>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..places.len()).filter(|i| places[*i].is_some()).collect();
    let x = |i: usize| places[i].map_or([0.0; 2], |r| [r.left(), r.right()]);
    order.sort_by(|a, b| x(*a)[0].total_cmp(&x(*b)[0]));
    let (mut columns, mut reach): (Vec<Vec<usize>>, f32) = (Vec::new(), f32::NEG_INFINITY);
    for i in order {
        let [left, right] = x(i);
        match columns.last_mut() {
            Some(column) if left <= reach => column.push(i),
            _ => columns.push(vec![i]),
        }
        reach = reach.max(right);
    }
    columns
}

/// Moves the names of a column apart.
fn stack(places: &mut [Option<Rect>], mut column: Vec<usize>, within: Rect) {
    let height = column.iter().filter_map(|i| places[*i]).map(|r| r.height()).fold(0.0, f32::max) + APART;
    let room = (((within.height() + APART) / height) as usize).max(1);
    column.sort_unstable();
    for left_out in column.drain(room.min(column.len())..) {
        places[left_out] = None;
    }
    let middle = |i: usize| places[i].map_or(0.0, |r| r.center().y);
    column.sort_by(|a, b| middle(*a).total_cmp(&middle(*b)));
    // With number i moved up by i heights, what must be is an ascending row: neighbours out of order are drawn together to their mean.
    let mut blocks: Vec<(f32, usize)> = Vec::new();
    for (i, &name) in column.iter().enumerate() {
        blocks.push((middle(name) - i as f32 * height, 1));
        while let [.., (a, n), (b, m)] = blocks[..]
            && a > b
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push(((a * n as f32 + b * m as f32) / (n + m) as f32, n + m));
        }
    }
    let half = (height - APART) / 2.0;
    let lowest = within.bottom() - half - column.len().saturating_sub(1) as f32 * height;
    let rows = blocks.iter().flat_map(|&(at, n)| std::iter::repeat_n(at, n)).enumerate();
    let to: Vec<f32> = rows.map(|(i, at)| at.clamp((within.top() + half).min(lowest), lowest) + i as f32 * height).collect();
    for (name, to) in column.into_iter().zip(to) {
        places[name] = places[name].map(|r| Rect::from_center_size(pos2(r.center().x, to), r.size()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::vec2;
    use proptest::prelude::*;

    const WITHIN: Rect = Rect { min: pos2(0.0, 0.0), max: pos2(300.0, 100.0) };

    #[test]
    fn names_stay_beside_their_lines_where_there_is_room_and_move_apart_evenly_where_there_is_none() {
        let size = vec2(40.0, 13.0);
        // Far apart: right of their ends, at their heights. Near the right edge: left of it.
        let free = place(&[(pos2(100.0, 20.0), size), (pos2(100.0, 60.0), size), (pos2(280.0, 20.0), size)], WITHIN);
        let at = |left: f32, middle: f32| Some(Rect::from_min_size(pos2(left, middle - 6.5), size));
        assert_eq!(free, [at(109.0, 20.0), at(109.0, 60.0), at(231.0, 20.0)]);
        // Two at 50 and 52: 14 apart, about 51. The order is that of their ends, whichever is given first.
        let two = place(&[(pos2(100.0, 52.0), size), (pos2(100.0, 50.0), size)], WITHIN);
        assert_eq!(two, [at(109.0, 58.0), at(109.0, 44.0)]);
        // At the lower edge they go up.
        let low = place(&[(pos2(100.0, 99.0), size), (pos2(100.0, 98.0), size)], WITHIN);
        assert_eq!(low, [at(109.0, 93.5), at(109.0, 79.5)]);
        // Seven of 13 with a point between them fit into 100: the eighth is left out.
        let many = place(&[(pos2(100.0, 50.0), size); 8], WITHIN);
        assert_eq!(many.iter().filter(|p| p.is_some()).count(), 7);
        assert_eq!((many[7], place(&[(pos2(20.0, 5.0), vec2(400.0, 13.0))], WITHIN)), (None, vec![None]));
    }

    proptest! {
        /// However lines end: no name hides another, and all are within.
        #[test]
        fn no_name_hides_another(ends in prop::collection::vec((0.0_f32..300.0, 0.0_f32..100.0, 10.0_f32..90.0), 1..14)) {
            let names: Vec<_> = ends.iter().map(|&(x, y, wide)| (pos2(x, y), vec2(wide, 13.0))).collect();
            let places: Vec<Rect> = place(&names, WITHIN).into_iter().flatten().collect();
            prop_assert!(!places.is_empty());
            for (i, a) in places.iter().enumerate() {
                prop_assert!(WITHIN.expand(0.01).contains_rect(*a), "{a:?}");
                prop_assert!(places[..i].iter().all(|b| !a.shrink(0.01).intersects(*b)), "{places:?}");
            }
        }
    }
}
