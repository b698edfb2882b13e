//! Heatmaps: a grid of numbers as a picture, made smaller by a rule that is chosen and can be named on hover.

use std::ops::Range;

use eframe::egui::{Color32, ColorImage};

use super::palette::{Map, blend};

/// What a pixel shows that stands for several cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The largest: for what must not be overlooked when it is high.
    Max,
    /// The mean of the numbers there are.
    Mean,
    /// The smallest.
    Min,
    /// The one furthest from zero, with its sign.
    Far,
}

impl Rule {
    /// Every rule, in the order of menus.
    pub const ALL: [Self; 4] = [Self::Max, Self::Mean, Self::Min, Self::Far];

    /// How it is named on hover.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Max => "largest",
            Self::Mean => "mean",
            Self::Min => "smallest",
            Self::Far => "furthest from 0",
        }
    }
}

/// A grid of numbers `[rows, columns]`, row-major; `None` is a cell without one.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// The numbers.
    pub cells: Vec<Option<f32>>,
}

impl Grid {
    /// A grid without numbers.
    #[must_use]
    pub fn empty(rows: usize, columns: usize) -> Self {
        Self { rows, columns, cells: vec![None; rows * columns] }
    }

    /// The number in a cell.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> Option<f32> {
        if row < self.rows && column < self.columns { self.cells[row * self.columns + column] } else { None }
    }

    /// What the cells of a block come to. NaN wins over everything, and an infinity over every number, whatever the rule: neither
    /// is ever averaged away. `None` for a block without numbers.
    #[must_use]
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>, rule: Rule) -> Option<f32> {
        let mut held = Pool::default();
        for row in rows.start..rows.end.min(self.rows) {
            for value in self.cells[row * self.columns..][columns.start..columns.end.min(self.columns)].iter().flatten() {
                if value.is_nan() {
                    return Some(f32::NAN);
                }
                held.add(*value);
            }
        }
        held.value(rule)
    }
}

/// Numbers that stand behind one cell, taken in one by one: what every rule makes of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    /// The smallest of the finite numbers.
    pub min: f32,
    /// The largest of the finite numbers.
    pub max: f32,
    sum: f64,
    /// How many there are, those that are not finite too.
    pub n: u32,
    /// NaN where there is one, else an infinity where there is one, else 0.
    loud: f32,
}

impl Default for Pool {
    fn default() -> Self {
        Self { min: f32::INFINITY, max: f32::NEG_INFINITY, sum: 0.0, n: 0, loud: 0.0 }
    }
}

impl Pool {
    /// Takes in a number.
    pub fn add(&mut self, value: f32) {
        self.n += 1;
        if value.is_finite() {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            self.sum += f64::from(value);
        } else if value.is_nan() || self.loud == 0.0 {
            self.loud = value;
        }
    }

    /// What they come to: NaN where one of them is, an infinity where one of them is, else what the rule says; `None` without any.
    #[must_use]
    pub fn value(&self, rule: Rule) -> Option<f32> {
        if self.loud != 0.0 {
            return Some(self.loud);
        }
        (self.n > 0).then(|| match rule {
            Rule::Far if -self.min > self.max => self.min,
            Rule::Max | Rule::Far => self.max,
            Rule::Min => self.min,
            Rule::Mean => (self.sum / f64::from(self.n)) as f32,
        })
    }
}

/// The cells that pixel `index` of `pixels` stands for, of `cells` along one side: at least one, and every cell is in one.
#[must_use]
pub fn cells_of(index: usize, pixels: usize, cells: usize) -> Range<usize> {
    let start = index * cells / pixels.max(1);
    let end = ((index + 1) * cells).div_ceil(pixels.max(1));
    start.min(cells.saturating_sub(1))..if cells <= pixels { start.min(cells.saturating_sub(1)) + 1 } else { end.min(cells) }
}

/// How numbers become colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colours {
    /// The map.
    pub map: Map,
    /// The number at the map's start.
    pub min: f32,
    /// The number at the map's end.
    pub max: f32,
    /// True: ratios count, not differences (a number at or below zero is at the map's start).
    pub log: bool,
    /// Light paper, where there is some: the map is read from its end, so that more is darker, as ink is, and its start fades
    /// into the paper.
    pub paper: Option<Color32>,
}

impl Colours {
    /// The colour of a number; transparent without one.
    #[must_use]
    pub fn of(&self, value: Option<f32>) -> Color32 {
        let Some(value) = value else { return Color32::TRANSPARENT };
        if !value.is_finite() {
            return self.map.colour(f64::from(value));
        }
        let (v, lo, hi) = (f64::from(value), f64::from(self.min), f64::from(self.max));
        let t = match (self.log, v > 0.0) {
            (true, true) => (v / lo).ln() / (hi / lo).ln(),
            (true, false) => 0.0,
            (false, _) => (v - lo) / (hi - lo),
        };
        // A grid of equal numbers has no range: all of it is at the map's end.
        let t = if t.is_nan() { 1.0 } else { t.clamp(0.0, 1.0) };
        match self.paper {
            Some(paper) => blend(paper, self.map.colour(1.0 - t), 0.4 + 0.6 * t as f32),
            None => self.map.colour(t),
        }
    }
}

/// The grid as a picture of `width` x `height` pixels, row 0 at the bottom.
#[must_use]
pub fn draw(grid: &Grid, width: usize, height: usize, rule: Rule, colours: Colours) -> ColorImage {
    draw_by(grid, width, height, rule, |value| colours.of(value))
}

/// Like [`draw`], with any way from numbers to colours.
#[must_use]
pub fn draw_by(grid: &Grid, width: usize, height: usize, rule: Rule, colour: impl Fn(Option<f32>) -> Color32) -> ColorImage {
    let mut image = ColorImage::filled([width, height], Color32::TRANSPARENT);
    let columns: Vec<_> = (0..width).map(|x| cells_of(x, width, grid.columns)).collect();
    let mut above: Option<Range<usize>> = None;
    for y in 0..height {
        let rows = cells_of(height - 1 - y, height, grid.rows);
        // Pixels that stand for the same cells as their neighbour have its colour.
        if above.as_ref() == Some(&rows) {
            image.pixels.copy_within((y - 1) * width..y * width, y * width);
            continue;
        }
        for x in 0..width {
            image.pixels[y * width + x] = if x > 0 && columns[x] == columns[x - 1] {
                image.pixels[y * width + x - 1]
            } else {
                colour(grid.block(rows.clone(), columns[x].clone(), rule))
            };
        }
        above = Some(rows);
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widget::palette::NAN;
    use proptest::prelude::*;

    fn grid(rows: usize, columns: usize, of: impl Fn(usize, usize) -> f32) -> Grid {
        Grid { rows, columns, cells: (0..rows * columns).map(|i| Some(of(i / columns, i % columns))).collect() }
    }

    #[test]
    fn a_block_follows_its_rule() {
        let g = grid(2, 3, |r, c| (3 * r + c) as f32);
        assert_eq!(g.block(0..2, 1..3, Rule::Max), Some(5.0));
        assert_eq!(g.block(0..2, 1..3, Rule::Min), Some(1.0));
        assert_eq!(g.block(0..2, 1..3, Rule::Mean), Some(3.0));
        let signed = grid(1, 3, |_, c| [-4.0, 3.0, 1.0][c]);
        assert_eq!((signed.block(0..1, 0..3, Rule::Far), signed.block(0..1, 1..3, Rule::Far)), (Some(-4.0), Some(3.0)));
        assert_eq!(Grid::empty(2, 2).block(0..2, 0..2, Rule::Mean), None);
    }

    #[test]
    fn an_infinity_is_seen_whatever_the_rule_and_nan_before_it() {
        let mut g = grid(1, 4, |_, c| c as f32);
        g.cells[1] = Some(f32::INFINITY);
        for rule in Rule::ALL {
            assert_eq!(g.block(0..1, 0..4, rule), Some(f32::INFINITY), "{rule:?}");
            assert_eq!(g.block(0..1, 2..4, rule).map(f32::is_finite), Some(true));
        }
        let mut pool = Pool::default();
        for value in [1.0, f32::NEG_INFINITY, f32::NAN, f32::INFINITY, -3.0] {
            pool.add(value);
        }
        assert!(pool.value(Rule::Min).is_some_and(f32::is_nan));
        assert_eq!((pool.min, pool.max, pool.n), (-3.0, 1.0, 5), "the finite ones' extremes are known all the same");
        assert_eq!(Pool::default().value(Rule::Mean), None);
    }

    #[test]
    fn one_nan_among_a_million_is_loud() {
        let mut g = grid(1000, 1000, |_, _| 0.5);
        g.cells[123_456] = Some(f32::NAN);
        let colours = Colours { map: Map::Cividis, min: 0.0, max: 1.0, log: false, paper: None };
        for rule in [Rule::Max, Rule::Mean, Rule::Min] {
            let image = draw(&g, 50, 40, rule, colours);
            assert_eq!(image.pixels.iter().filter(|c| **c == NAN).count(), 1, "{rule:?}");
        }
    }

    #[test]
    fn row_zero_is_at_the_bottom() {
        let g = grid(2, 1, |r, _| r as f32);
        let image = draw(&g, 1, 2, Rule::Max, Colours { map: Map::Cividis, min: 0.0, max: 1.0, log: false, paper: None });
        assert_eq!(image.pixels, [Map::Cividis.colour(1.0), Map::Cividis.colour(0.0)]);
    }

    #[test]
    fn a_log_range_is_half_way_at_the_geometric_mean() {
        let colours = Colours { map: Map::Viridis, min: 1.0, max: 100.0, log: true, paper: None };
        assert_eq!(colours.of(Some(10.0)), Map::Viridis.colour(0.5));
        assert_eq!(colours.of(Some(0.0)), Map::Viridis.colour(0.0));
        assert_eq!(colours.of(None), Color32::TRANSPARENT);
    }

    proptest! {
        /// Whatever the sizes, every cell is behind a pixel: the largest number of the grid is in the picture.
        #[test]
        fn every_cell_is_behind_a_pixel(cells in 1_usize..200, pixels in 1_usize..200) {
            let mut seen = vec![false; cells];
            for i in 0..pixels {
                let range = cells_of(i, pixels, cells);
                prop_assert!(!range.is_empty() && range.end <= cells);
                range.for_each(|c| seen[c] = true);
            }
            prop_assert!(seen.iter().all(|s| *s));
        }
    }
}
