//! What the user chose and the range that comes of it, with no drawing.

use super::Spread;
use crate::widget::heatmap::Colours;
use crate::widget::palette::{Ink, Map};

/// How numbers become places along a colour map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Differences count.
    Linear,
    /// Ratios count; what is not above zero is at the map's start.
    Log,
    /// Differences count, zero is in the middle, and the map has two arms.
    Symmetric,
}

impl Reading {
    /// Every reading, in the order of menus.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Log, Self::Symmetric];

    /// The name in a menu.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
            Self::Symmetric => "symmetric about 0",
        }
    }
}

/// What a picture is coloured by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The number at the map's start.
    pub min: f32,
    /// The number at the map's end.
    pub max: f32,
    /// How numbers between them are placed.
    pub reading: Reading,
}

impl Range {
    /// The colours of the range on this paper.
    #[must_use]
    pub fn colours(&self, ink: &Ink) -> Colours {
        let signed = self.reading == Reading::Symmetric;
        let map = if signed { Map::PurpleOrange } else { Map::Cividis };
        // The diverging map is lightest in its middle: it needs no paper.
        let paper = (!ink.dark && !signed).then_some(ink.paper);
        Colours { map, min: self.min, max: self.max, log: self.reading == Reading::Log, paper }
    }

    /// The range in bits: what a cached picture is held under.
    #[must_use]
    pub fn key(&self) -> (u32, u32, Reading) {
        (self.min.to_bits(), self.max.to_bits(), self.reading)
    }
}

/// Where the ends come from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Ends {
    /// The smallest and the largest finite number, whatever they become.
    #[default]
    Fit,
    /// The 1st and the 99th percentile, whatever they become.
    Middle,
    /// Chosen by hand.
    Own([f32; 2]),
}

/// What ends at the percentiles are called.
const CLIPPED: &str = "clipped";

/// What the user chose. By itself it follows the numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RangeControl {
    pub(super) ends: Ends,
    /// `None`: what suits the numbers.
    reading: Option<Reading>,
    /// Where the pointer took hold of the middle, and the ends as they were then.
    pub(super) grip: Option<(f64, [f32; 2])>,
}

impl RangeControl {
    /// A control that reads numbers in this way until another is chosen.
    #[must_use]
    pub fn with(reading: Reading) -> Self {
        Self { reading: Some(reading), ..Self::default() }
    }

    /// The range for these numbers.
    #[must_use]
    pub fn range(&self, spread: &Spread) -> Range {
        let mut reading = self.reading.unwrap_or_else(|| spread.reading());
        let fit = spread.ends.unwrap_or([0.0, 1.0]);
        if reading == Reading::Log && spread.least.is_none() && !matches!(self.ends, Ends::Own([low, _]) if low > 0.0) {
            // Nothing is above zero: there are no ratios.
            reading = Reading::Linear;
        }
        let [mut min, mut max] = match self.ends {
            Ends::Fit => fit,
            Ends::Middle => spread.middle.unwrap_or(fit),
            Ends::Own(own) => own,
        };
        match reading {
            Reading::Linear => {}
            Reading::Log => {
                let least = spread.least.unwrap_or(min.max(f32::MIN_POSITIVE));
                min = if min > 0.0 { min } else { least };
                max = max.max(min);
            }
            Reading::Symmetric => {
                max = min.abs().max(max.abs());
                min = -max;
            }
        }
        Range { min, max, reading }
    }

    /// Ends chosen by hand. Below each other they are put in order.
    pub fn choose(&mut self, [a, b]: [f32; 2]) {
        if a.is_finite() && b.is_finite() {
            self.ends = Ends::Own([a.min(b), a.max(b)]);
        }
    }

    /// Another reading.
    pub fn read(&mut self, reading: Reading) {
        self.reading = Some(reading);
    }

    /// The ends follow the smallest and the largest finite number.
    pub fn fit(&mut self) {
        self.ends = Ends::Fit;
    }

    /// The ends follow the 1st and the 99th percentile.
    pub fn clip(&mut self) {
        self.ends = Ends::Middle;
    }

    /// What was chosen, in words: `0.5 to 2, log`, `clipped`; `None` where nothing was.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let ends = match self.ends {
            Ends::Fit => None,
            Ends::Middle => Some(CLIPPED.to_owned()),
            Ends::Own([low, high]) => Some(format!("{low} to {high}")),
        };
        let parts: Vec<String> = ends.into_iter().chain(self.reading.map(|r| r.title().to_owned())).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// What such words choose, if they are such words.
    #[must_use]
    pub fn of_words(text: &str) -> Option<Self> {
        let mut all = Self::default();
        for part in text.split(", ") {
            if part == CLIPPED {
                all.clip();
            } else if let Some(reading) = Reading::ALL.into_iter().find(|r| r.title() == part) {
                all.read(reading);
            } else {
                let (low, high) = part.split_once(" to ")?;
                let ends: [f32; 2] = [low.parse().ok()?, high.parse().ok()?];
                ends.iter().all(|e| e.is_finite()).then(|| all.choose(ends))?;
            }
        }
        Some(all)
    }

    /// Everything as it was at first.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// The ends with one of them moved. About zero both move.
pub(super) fn with_end(range: Range, low: bool, value: f32) -> [f32; 2] {
    match (range.reading, low) {
        (Reading::Symmetric, _) => [-value.abs(), value.abs()],
        (Reading::Log, _) if value <= 0.0 => [range.min, range.max],
        (_, true) => [value.min(range.max), range.max],
        (_, false) => [range.min, value.max(range.min)],
    }
}
/// What the control's width stands for: all numbers, and the range where it reaches beyond them.
pub(super) struct Extent {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

impl Extent {
    pub(super) fn new(spread: &Spread, range: Range) -> Self {
        let [mut low, mut high] = spread.ends.unwrap_or([range.min, range.max]).map(f64::from);
        let log = range.reading == Reading::Log;
        if log {
            low = spread.least.map_or(f64::from(range.min), f64::from);
        }
        if range.reading == Reading::Symmetric {
            high = low.abs().max(high.abs());
            low = -high;
        }
        (low, high) = (low.min(f64::from(range.min)), high.max(f64::from(range.max)));
        if low >= high {
            // Equal numbers: they stand in the middle of a control that can still be moved.
            let half = if low == 0.0 { 0.5 } else { low.abs() * 0.5 };
            (low, high) = (low - half, high + half);
        }
        Self { low, high, log: log && low > 0.0 }
    }

    pub(super) fn share(&self, value: f32) -> f64 {
        let value = f64::from(value);
        if self.log { (value / self.low).ln() / (self.high / self.low).ln() } else { (value - self.low) / (self.high - self.low) }
    }

    pub(super) fn value(&self, share: f64) -> f32 {
        let share = share.clamp(0.0, 1.0);
        let value = if self.log { self.low * (self.high / self.low).powf(share) } else { self.low + share * (self.high - self.low) };
        value as f32
    }
}
