//! The token ribbon's picture, without egui's painter: which role colours which stretch of it, and where reads are.
//!
//! Where several tokens fall on one pixel the rarest role of the stream wins, so that a needle of one token in a
//! hundred thousand is still seen.

use crate::stream::Roles;

/// A stretch of the ribbon in one role, in pixels from its left edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Left edge.
    pub from: f32,
    /// Right edge.
    pub to: f32,
    /// The role of its tokens.
    pub role: u8,
}

/// Cuts a ribbon `width` pixels wide into stretches of one role.
#[must_use]
pub fn stretches(roles: &Roles, width: usize) -> Vec<Stretch> {
    let tokens = roles.of_write.len();
    if tokens == 0 || width == 0 {
        return Vec::new();
    }
    let mut totals = [0usize; 256];
    for &role in &roles.of_write {
        totals[role as usize] += 1;
    }
    let mut out: Vec<Stretch> = Vec::new();
    let mut push = |from: f32, to: f32, role: u8| match out.last_mut() {
        Some(last) if last.role == role => last.to = to,
        _ => out.push(Stretch { from, to, role }),
    };
    if tokens <= width {
        let scale = width as f32 / tokens as f32;
        for (i, &role) in roles.of_write.iter().enumerate() {
            push(i as f32 * scale, (i + 1) as f32 * scale, role);
        }
    } else {
        for x in 0..width {
            let range = x * tokens / width..(x + 1) * tokens / width;
            if let Some(&role) = roles.of_write[range].iter().min_by_key(|r| totals[**r as usize]) {
                push(x as f32, x as f32 + 1.0, role);
            }
        }
    }
    out
}

/// The reads that fall on one pixel of the row of reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTick {
    /// The pixel, from the left edge.
    pub x: usize,
    /// The reads: neighbours, for reads are in the order of what they see.
    pub reads: std::ops::Range<usize>,
    /// Their roles, each once, ascending.
    pub roles: Vec<u8>,
}

/// Where the reads of a stream of `writes` writes are, along a row `width` pixels wide: after the last write that each sees.
#[must_use]
pub fn read_ticks(roles: &Roles, after: &[u32], writes: usize, width: usize) -> Vec<ReadTick> {
    let mut out: Vec<ReadTick> = Vec::new();
    if width == 0 || writes == 0 {
        return out;
    }
    for (read, (&after, &role)) in after.iter().zip(&roles.of_read).enumerate() {
        let x = (after as usize * width / writes).min(width - 1);
        match out.last_mut() {
            Some(last) if last.x == x => {
                last.reads.end = read + 1;
                if let Err(at) = last.roles.binary_search(&role) {
                    last.roles.insert(at, role);
                }
            }
            _ => out.push(ReadTick { x, reads: read..read + 1, roles: vec![role] }),
        }
    }
    out
}

/// Where these stretches of writes are on screen, each from its left to its right edge: stretches nearer than a point are one. `x` says
/// where the left edge of a write is; the stretches ascend.
pub fn pixel_runs(stretches: impl Iterator<Item = std::ops::Range<usize>>, x: impl Fn(usize) -> f32) -> Vec<[f32; 2]> {
    let mut out: Vec<[f32; 2]> = Vec::new();
    for stretch in stretches {
        let (from, to) = (x(stretch.start), x(stretch.end));
        match out.last_mut() {
            Some(last) if from - last[1] < 1.0 => last[1] = last[1].max(to),
            _ => out.push([from, to]),
        }
    }
    out
}

/// The runs of neighbouring writes with role `role`, ascending.
#[must_use]
pub fn runs_of(roles: &Roles, role: u8) -> Vec<std::ops::Range<usize>> {
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    for i in (0..roles.of_write.len()).filter(|&i| roles.of_write[i] == role) {
        match out.last_mut() {
            Some(last) if last.end == i => last.end += 1,
            _ => out.push(i..i + 1),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn roles(of_write: Vec<u8>) -> Roles {
        Roles { names: vec!["hay".to_owned(), "needle".to_owned()], of_write, of_read: Vec::new(), marked: Some(1) }
    }

    #[test]
    fn one_token_in_a_hundred_thousand_is_seen() {
        let mut of_write = vec![0; 100_000];
        of_write[54_321] = 1;
        let found = stretches(&roles(of_write), 900);
        assert_eq!(found.len(), 3);
        assert_eq!((found[1].role, found[1].from, found[1].to), (1, 488.0, 489.0));
    }

    #[test]
    fn stretches_that_touch_on_screen_are_one() {
        let runs = |scale: f32| pixel_runs([0..2, 2..3, 10..11, 90..100].into_iter(), move |w| w as f32 * scale);
        assert_eq!(runs(1.0), [[0.0, 3.0], [10.0, 11.0], [90.0, 100.0]]);
        // At a tenth of a point a write the first three are within one point.
        assert_eq!(runs(0.1).len(), 2);
    }

    #[test]
    fn few_tokens_are_wide() {
        let found = stretches(&roles(vec![0, 0, 1, 0]), 400);
        assert_eq!(found[1], Stretch { from: 200.0, to: 300.0, role: 1 });
    }

    #[test]
    fn reads_at_one_pixel_are_together_and_none_of_their_roles_is_lost() {
        let roles = Roles { of_read: vec![1, 0, 1, 2, 2], ..roles(vec![0; 1000]) };
        let found = read_ticks(&roles, &[10, 11, 500, 1000, 1000], 1000, 100);
        let plain: Vec<_> = found.iter().map(|t| (t.x, t.reads.clone(), t.roles.clone())).collect();
        assert_eq!(plain, [(1, 0..2, vec![0, 1]), (50, 2..3, vec![1]), (99, 3..5, vec![2])]);
        assert!(read_ticks(&roles, &[1], 1, 0).is_empty());
    }

    #[test]
    fn runs_are_found() {
        assert_eq!(runs_of(&roles(vec![1, 0, 1, 1, 0, 1]), 1), [0..1, 2..4, 5..6]);
        assert_eq!(runs_of(&roles(vec![0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1]), 1), [3..6, 9..10, 11..13]);
        assert!(runs_of(&roles(Vec::new()), 1).is_empty());
    }

    proptest! {
        /// The stretches tile the ribbon, and every role that occurs is on it when there is room for all tokens.
        #[test]
        fn stretches_tile_the_ribbon(of_write in proptest::collection::vec(0u8..4, 1..400), width in 1usize..600) {
            let roles = roles(of_write);
            let found = stretches(&roles, width);
            prop_assert_eq!(found[0].from.to_bits(), 0f32.to_bits());
            prop_assert!((found[found.len() - 1].to - width as f32).abs() < 1e-2);
            for pair in found.windows(2) {
                prop_assert_eq!(pair[0].to.to_bits(), pair[1].from.to_bits());
                prop_assert_ne!(pair[0].role, pair[1].role);
            }
            if roles.of_write.len() <= width {
                for role in &roles.of_write {
                    prop_assert!(found.iter().any(|s| s.role == *role));
                }
            }
        }
    }
}
