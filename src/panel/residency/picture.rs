//! The picture of cache residency: three colours with three textures, and no cached token ever lost.

use std::ops::Range;

use eframe::egui::{Color32, ColorImage};

use crate::layer::lola::residency::Residency;
use crate::widget::palette::{Ink, blend};

/// The tokens (or steps) that pixel `index` of `pixels` stands for: each is behind every pixel that it touches.
#[must_use]
pub fn cells(index: usize, pixels: usize, cells: usize) -> Range<usize> {
    let pixels = pixels.max(1);
    let start = (index * cells / pixels).min(cells.saturating_sub(1));
    start..((index + 1) * cells).div_ceil(pixels).clamp(start + 1, cells.max(1))
}

/// The pixels that cell `index` of `cells` touches: the inverse of [`cells`].
fn pixels_of(index: usize, pixels: usize, cells: usize) -> Range<usize> {
    index * pixels / cells..((index + 1) * pixels).div_ceil(cells).min(pixels)
}

/// The least strength of the cache's colour where any token behind the pixel is cached.
const LEAST: f32 = 0.12;

/// How strongly the cache's colour covers a pixel that stands for `tokens` tokens, `kept` of them cached.
pub(super) fn strength(kept: u16, tokens: usize) -> f32 {
    LEAST + (1.0 - LEAST) * (f32::from(kept) / tokens as f32).min(1.0)
}

/// Draws the first `covered` steps, tokens upwards and steps to the right, into `width` x `height` pixels; transparent where nothing is written yet.
///
/// A pixel that stands for several tokens has the window's colour if one of them is in it, else the state's; the cache's comes
/// over it in the share of them that are cached, but never so faint that a cached token is not seen ([`LEAST`]): a strength that
/// does not follow the share would make a cache of a few tokens look like all of them. The window is striped, the cache
/// plain, the state dotted, and what was forgotten with the state striped in a faint grey: a pixel of whose tokens none is in the window
/// or the state.
#[must_use]
pub fn picture(
    index: &Residency,
    covered: usize,
    writes: usize,
    steps: usize,
    [width, height]: [usize; 2],
    scale: f32,
    ink: &Ink,
) -> ColorImage {
    let covered = covered.min(index.steps());
    let cached = cached(index, covered, writes, steps, [width, height]);
    // Where nothing is ever forgotten, what is neither in the window nor cached is in the state.
    let folded = (!index.forgets().is_empty()).then(|| folded(index, writes, steps, [width, height]));
    let mut image = ColorImage::filled([width, height], Color32::TRANSPARENT);
    let period = ((6.0 * scale).round() as usize).max(3);
    let columns: Vec<Option<Range<usize>>> = (0..width)
        .map(|x| {
            let last = cells(x, width, steps).end;
            (last <= covered).then(|| index.window_range(last))
        })
        .collect();
    for y in 0..height {
        let up = height - 1 - y;
        let tokens = cells(up, height, writes);
        for (x, window) in columns.iter().enumerate() {
            let Some(window) = window else { break };
            let kept = cached[y * width + x];
            let base = if tokens.start >= window.end {
                continue;
            } else if tokens.end > window.start {
                let stripe = (x + y) % period < period.div_ceil(3);
                if stripe { blend(ink.window, ink.paper, 0.35) } else { ink.window }
            } else if folded.as_ref().is_some_and(|f| f[y * width + x] == 0) {
                forgotten(x + y, period, ink)
            } else {
                let dot = x % period == period / 2 && y % period == (x / period % 2) * (period / 2);
                if dot { blend(ink.state, ink.text, 0.45) } else { ink.state }
            };
            image.pixels[y * width + x] = if kept == 0 { base } else { blend(base, ink.cache, strength(kept, tokens.len())) };
        }
    }
    image
}

/// The colour of what was forgotten with the state.
pub(super) fn faint(ink: &Ink) -> Color32 {
    blend(ink.paper, ink.state, 0.4)
}

/// A pixel of what was forgotten: striped along `across`, in a grey fainter than the state's.
pub(super) fn forgotten(across: usize, period: usize, ink: &Ink) -> Color32 {
    if across % period < period.div_ceil(3) { ink.paper } else { faint(ink) }
}

/// How many cached tokens are behind each pixel.
fn cached(index: &Residency, covered: usize, writes: usize, steps: usize, [width, height]: [usize; 2]) -> Vec<u16> {
    // Differences along a row: +1 where a token enters the cache, -1 where it leaves; summed up at the end.
    let mut changes = vec![0_i32; (width + 1) * height];
    for token in 0..writes {
        let Some(entered) = index.entered(token) else { continue };
        let left = index.left(token).unwrap_or(steps).min(covered);
        if left <= entered {
            continue;
        }
        let (from, to) = (pixels_of(entered, width, steps).start, pixels_of(left - 1, width, steps).end);
        for up in pixels_of(token, height, writes) {
            let row = (height - 1 - up) * (width + 1);
            changes[row + from] += 1;
            changes[row + to] -= 1;
        }
    }
    summed(&changes, width)
}

/// How many tokens behind each pixel are in the state, and not forgotten, after the last step that it stands for.
fn folded(index: &Residency, writes: usize, steps: usize, [width, height]: [usize; 2]) -> Vec<u16> {
    let mut changes = vec![0_i32; (width + 1) * height];
    // The first column whose last step is this one or a later one.
    let column = |chunks: usize| pixels_of(chunks.saturating_sub(1).min(steps.saturating_sub(1)), width, steps).start;
    for token in 0..writes {
        let Some(from) = index.folded(token) else { continue };
        let (from, to) = (column(from), index.forgotten(token).map_or(width, column));
        for up in pixels_of(token, height, writes) {
            let row = (height - 1 - up) * (width + 1);
            changes[row + from] += 1;
            changes[row + to] -= 1;
        }
    }
    summed(&changes, width)
}

/// The sums along rows of differences, each a column longer than the picture.
fn summed(changes: &[i32], width: usize) -> Vec<u16> {
    let mut counts = Vec::with_capacity(changes.len());
    for row in changes.chunks_exact(width + 1) {
        let mut held = 0;
        counts.extend(row[..width].iter().map(|change| {
            held += change;
            u16::try_from(held).unwrap_or(u16::MAX)
        }));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::lola::residency::Place;
    use crate::session::hand::{Act, Hand};
    use eframe::egui::Visuals;
    use proptest::prelude::*;

    /// Window 2, chunk 2, eight writes: 0 is cached from step 1 on, 2 in step 2 only.
    fn index() -> Residency {
        let mut index = Residency::new(2, 2, 8);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        index.push(&[2], &[]);
        index.push(&[], &[2]);
        index
    }

    #[test]
    fn every_pixel_of_a_large_picture_is_where_its_token_is() {
        // The state is forgotten after three of the four steps; then 2 comes into it.
        let forget = Hand { step: 3, kv_head: 0, what: Act::Forget };
        for index in [index(), index().with_hands(&[forget], 0)] {
            every_pixel(&index);
        }
    }

    fn every_pixel(index: &Residency) {
        let ink = Ink::for_visuals(&Visuals::light());
        let (width, height) = (40, 80);
        let image = picture(index, 4, 8, 4, [width, height], 1.0, &ink);
        for y in 0..height {
            for x in 0..width {
                let (token, step) = ((height - 1 - y) * 8 / height, x * 4 / width);
                let pixel = image.pixels[y * width + x];
                let stripe = blend(ink.window, ink.paper, 0.35);
                let dot = blend(ink.state, ink.text, 0.45);
                let expected: &[Color32] = match index.at(token, step + 1) {
                    Place::NotYet => &[Color32::TRANSPARENT],
                    Place::Window => &[ink.window, stripe],
                    Place::Cache => &[ink.cache],
                    Place::State => &[ink.state, dot],
                    Place::Gone => &[faint(&ink), ink.paper],
                };
                assert!(expected.contains(&pixel), "token {token} after step {step}: {pixel:?}");
            }
        }
    }

    #[test]
    fn a_single_cached_token_among_thousands_in_one_row_of_pixels_is_seen() {
        let mut index = Residency::new(1, 1000, 4000);
        index.push(&[], &[]);
        index.push(&[17], &[]);
        index.push(&[], &[17]);
        index.push(&[], &[]);
        let ink = Ink::for_visuals(&Visuals::dark());
        let image = picture(&index, 4, 4000, 4, [4, 1], 1.0, &ink);
        // The newest token is in the window, so that is what the others' colour comes over: striped in the first two columns.
        let base = |x: usize| if x < 2 { blend(ink.window, ink.paper, 0.35) } else { ink.window };
        assert_eq!([0, 2, 3].map(|x| image.pixels[x]), [0, 2, 3].map(base), "no cached token in these steps");
        let apart: i32 = (0..3).map(|c| (i32::from(image.pixels[1][c]) - i32::from(base(1)[c])).abs()).sum();
        assert!(apart > 40, "{apart}: {:?} over {:?}", image.pixels[1], base(1));
    }

    #[test]
    fn a_few_cached_tokens_do_not_look_like_all_of_them() {
        for (kept, expected) in [(0, 0.12), (1, 0.208), (5, 0.56), (10, 1.0)] {
            approx::assert_relative_eq!(strength(kept, 10), expected);
        }
    }

    #[test]
    fn a_window_of_one_token_among_thousands_is_seen() {
        let mut index = Residency::new(1, 1000, 4000);
        (0..4).for_each(|_| index.push(&[], &[]));
        let ink = Ink::for_visuals(&Visuals::light());
        let image = picture(&index, 4, 4000, 4, [4, 4], 1.0, &ink);
        // After step 2, token 2999 is the window: the third row from below.
        let window = [ink.window, blend(ink.window, ink.paper, 0.35)];
        assert!(window.contains(&image.pixels[4 + 2]) && !window.contains(&image.pixels[2 * 4 + 2]));
    }

    #[test]
    fn steps_that_are_not_computed_stay_empty() {
        let mut index = Residency::new(2, 2, 8);
        index.push(&[], &[]);
        let image = picture(&index, 4, 8, 4, [8, 8], 1.0, &Ink::for_visuals(&Visuals::light()));
        assert!((0..8).all(|y| (2..8).all(|x| image.pixels[y * 8 + x] == Color32::TRANSPARENT)));
        assert_ne!(image.pixels[7 * 8], Color32::TRANSPARENT, "token 0 after step 0");
    }

    proptest! {
        #[test]
        fn cells_and_pixels_are_inverse(n in 1_usize..300, pixels in 1_usize..300) {
            for p in 0..pixels {
                for c in cells(p, pixels, n) {
                    prop_assert!(pixels_of(c, pixels, n).contains(&p), "cell {} of {} at pixel {} of {}", c, n, p, pixels);
                }
            }
        }
    }
}
