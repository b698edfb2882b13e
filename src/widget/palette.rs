//! Colours: perceptual maps that survive colour blindness and grey printing, a loud colour for what is no number, and the
//! inks of a plot in the light and the dark theme.

use std::sync::LazyLock;

use eframe::egui::{Color32, Ui, Visuals};

use crate::app::theme::{contrast, marked_colour};

/// What is drawn for NaN: in no map, in no theme, impossible to overlook.
pub const NAN: Color32 = Color32::from_rgb(255, 0, 200);
/// What is drawn for an infinity of either sign.
pub const INFINITE: Color32 = Color32::from_rgb(0, 255, 90);

/// A sequential colour map, from the library `colorous`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Map {
    /// Made for colour-blind readers (Nuñez, Anderton, Renslow 2018): blue to yellow.
    #[default]
    Cividis,
    /// Violet to yellow through green.
    Viridis,
    /// Diverging: purple below the middle, orange above it, the middle light (`ColorBrewer`'s `PuOr`, safe for colour-blind readers).
    /// For numbers with a sign, over a range as far below zero as above.
    PurpleOrange,
}

/// 256 colours a map: a lookup costs nothing, and an eye cannot tell more apart.
static TABLES: LazyLock<[[Color32; 256]; 3]> = LazyLock::new(|| {
    [colorous::CIVIDIS, colorous::VIRIDIS, colorous::PURPLE_ORANGE].map(|gradient| {
        std::array::from_fn(|i| {
            let c = gradient.eval_continuous(i as f64 / 255.0);
            Color32::from_rgb(c.r, c.g, c.b)
        })
    })
});

impl Map {
    /// The sequential maps, in the order of menus.
    pub const ALL: [Self; 2] = [Self::Cividis, Self::Viridis];

    /// The name on screen.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Cividis => "cividis",
            Self::Viridis => "viridis",
            Self::PurpleOrange => "purple to orange",
        }
    }

    /// The colour at `t` from 0 to 1. Values outside are at the ends; NaN and infinities have [`NAN`] and [`INFINITE`].
    #[must_use]
    pub fn colour(self, t: f64) -> Color32 {
        if t.is_nan() {
            NAN
        } else if t.is_infinite() {
            INFINITE
        } else {
            TABLES[self as usize][(t.clamp(0.0, 1.0) * 255.0).round() as usize]
        }
    }
}

/// Eight colours that stay apart for every kind of colour vision (Okabe and Ito), without their black, which a dark
/// background would swallow, and with the yellow last, which a light one would.
pub const CATEGORIES: [Color32; 8] = [
    Color32::from_rgb(0, 114, 178),
    Color32::from_rgb(213, 94, 0),
    Color32::from_rgb(0, 158, 115),
    Color32::from_rgb(204, 121, 167),
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(230, 159, 0),
    Color32::from_rgb(140, 140, 140),
    Color32::from_rgb(240, 228, 66),
];

/// The colour of the category `index`; they repeat after eight.
#[must_use]
pub fn category(index: usize) -> Color32 {
    CATEGORIES[index % CATEGORIES.len()]
}

/// The inks of a plot, matched to the theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ink {
    /// True in the dark theme.
    pub dark: bool,
    /// The paper of a plot.
    pub paper: Color32,
    /// Titles and numbers.
    pub text: Color32,
    /// Axis labels and ticks: readable, but second.
    pub quiet: Color32,
    /// Grid lines.
    pub grid: Color32,
    /// The line around a plot.
    pub frame: Color32,
    /// The marked role: the needle.
    pub mark: Color32,
    /// The selected or hovered token.
    pub select: Color32,
    /// What is many and ordinary: tokens that are neither founders nor marked.
    pub plain: Color32,
    /// Founders, and the sliding window: what is new.
    pub window: Color32,
    /// The sparse cache: what is kept whole.
    pub cache: Color32,
    /// The state: what has been folded.
    pub state: Color32,
    /// A threshold.
    pub limit: Color32,
}

impl Ink {
    /// The inks for the theme of `ui`.
    #[must_use]
    pub fn of(ui: &Ui) -> Self {
        Self::for_visuals(ui.visuals())
    }

    /// The inks for these visuals.
    #[must_use]
    pub fn for_visuals(visuals: &Visuals) -> Self {
        let rgb = Color32::from_rgb;
        let text = visuals.text_color();
        let paper = visuals.extreme_bg_color;
        let quiet = blend(paper, text, 0.88);
        if visuals.dark_mode {
            Self {
                dark: true,
                paper,
                text,
                quiet,
                grid: blend(paper, text, 0.10),
                frame: blend(paper, text, 0.28),
                mark: marked_colour(true),
                select: rgb(255, 255, 255),
                plain: rgb(126, 138, 158),
                window: rgb(84, 153, 245),
                cache: rgb(250, 210, 72),
                state: rgb(66, 74, 90),
                limit: rgb(216, 140, 242),
            }
        } else {
            Self {
                dark: false,
                paper,
                text,
                quiet,
                grid: blend(paper, text, 0.10),
                frame: blend(paper, text, 0.35),
                mark: marked_colour(false),
                select: rgb(0, 0, 0),
                plain: rgb(132, 142, 160),
                window: rgb(40, 106, 210),
                cache: rgb(236, 184, 0),
                state: rgb(214, 218, 227),
                limit: rgb(142, 40, 160),
            }
        }
    }
}

/// The least contrast with the paper of a mark that stands by itself (WCAG 2, graphical objects).
const LEAST: f32 = 3.0;

impl Ink {
    /// The line around an area of this colour: where the colour by itself has too little contrast with the paper, as much of the text's
    /// is mixed in as makes it 3 to 1.
    #[must_use]
    pub fn edge(&self, colour: Color32) -> Color32 {
        let mut mixed = (0..=10_u8).map(|tenth| blend(colour, self.text, f32::from(tenth) / 10.0));
        mixed.find(|c| contrast(*c, self.paper) >= LEAST).unwrap_or(self.text)
    }
}

/// `a` with a share `t` of `b` (0 to 1) mixed in, in gamma space, opaque.
#[must_use]
pub fn blend(a: Color32, b: Color32, t: f32) -> Color32 {
    let mix = |x: u8, y: u8| (f32::from(x) + (f32::from(y) - f32::from(x)) * t.clamp(0.0, 1.0)).round() as u8;
    Color32::from_rgb(mix(a.r(), b.r()), mix(a.g(), b.g()), mix(a.b(), b.b()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::theme;

    /// Relative luminance of sRGB, as WCAG defines it.
    fn luminance(c: Color32) -> f64 {
        let linear = |x: u8| {
            let x = f64::from(x) / 255.0;
            if x <= 0.040_45 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b())
    }

    #[test]
    fn maps_grow_brighter_all_the_way_and_keep_their_ends() {
        for map in Map::ALL {
            // Sixteen steps: finer ones may be equal in eight bits.
            let steps: Vec<f64> = (0..=16).map(|i| luminance(map.colour(f64::from(i) / 16.0))).collect();
            assert!(steps.windows(2).all(|w| w[1] > w[0]), "{}: {steps:?}", map.title());
            assert_eq!((map.colour(-3.0), map.colour(7.0)), (map.colour(0.0), map.colour(1.0)));
        }
    }

    #[test]
    fn the_diverging_map_is_purple_below_orange_above_and_lightest_in_the_middle() {
        let map = Map::PurpleOrange;
        let (low, middle, high) = (map.colour(0.1), map.colour(0.5), map.colour(0.9));
        assert!(low.b() > low.g() && high.r() > high.b(), "{low:?} {high:?}");
        for end in [0.0, 1.0] {
            let steps: Vec<f64> = (0..=8).map(|i| luminance(map.colour(end + (0.5 - end) * f64::from(i) / 8.0))).collect();
            assert!(steps.windows(2).all(|w| w[1] > w[0]), "{steps:?}");
        }
        assert!(luminance(middle) > 0.85);
    }

    #[test]
    fn what_is_no_number_is_in_no_map() {
        for map in [Map::Cividis, Map::Viridis, Map::PurpleOrange] {
            assert_eq!((map.colour(f64::NAN), map.colour(f64::NEG_INFINITY)), (NAN, INFINITE));
            assert!((0..=255).all(|i| ![NAN, INFINITE].contains(&map.colour(f64::from(i) / 255.0))));
        }
    }

    #[test]
    fn marks_and_words_stand_out_from_the_paper_in_both_themes() {
        // In the program's own themes, and in those of its library.
        for visuals in [theme::visuals(false), theme::visuals(true), Visuals::light(), Visuals::dark()] {
            let ink = Ink::for_visuals(&visuals);
            // WCAG: 4.5 for text, 3 for graphical objects.
            assert!(contrast(ink.quiet, ink.paper) > 4.5, "{}", contrast(ink.quiet, ink.paper));
            for (name, c) in
                [("mark", ink.mark), ("select", ink.select), ("plain", ink.plain), ("window", ink.window), ("limit", ink.limit)]
            {
                assert!(contrast(c, ink.paper) > LEAST, "{name}, dark {}: {}", ink.dark, contrast(c, ink.paper));
                assert_eq!(ink.edge(c), c, "{name} needs no line around it");
            }
            // Areas that are pale by themselves, as the yellow of the cache is on white, have an edge that is not.
            for (name, c) in [("cache", ink.cache), ("state", ink.state)] {
                assert!(contrast(ink.edge(c), ink.paper) >= LEAST, "{name}, dark {}: {:?}", ink.dark, ink.edge(c));
            }
        }
    }
}
