//! The look of the window: two designed themes, lane and role colours that stay apart for every kind of colour vision.
//!
//! Lane colours are those of Okabe and Ito (2008), lightened or darkened per theme until each has a contrast of 3 to 1
//! against the theme's canvas (held by a test). Crimson is not among them: it belongs to marked tokens, everywhere.

use eframe::egui::{
    self, Color32, Context, CornerRadius, FontFamily, FontId, Margin, Shadow, Stroke, Style, TextStyle, Theme, Visuals,
    style::{Selection, WidgetVisuals, Widgets},
    vec2,
};
use serde::{Deserialize, Serialize};

/// Which theme the window has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// As the desktop says.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl ThemeChoice {
    /// What egui calls it.
    #[must_use]
    pub fn preference(self) -> egui::ThemePreference {
        match self {
            Self::System => egui::ThemePreference::System,
            Self::Light => egui::ThemePreference::Light,
            Self::Dark => egui::ThemePreference::Dark,
        }
    }
}

/// The colours that one theme is made of.
#[derive(Debug, Clone, Copy)]
struct Palette {
    /// Where pictures are drawn.
    canvas: Color32,
    /// Side panels and bars.
    surface: Color32,
    /// Controls at rest.
    control: Color32,
    /// Controls under the pointer.
    control_hover: Color32,
    /// Controls pressed.
    control_active: Color32,
    /// Thin lines between things.
    line: Color32,
    /// Text.
    text: Color32,
    /// Text that explains.
    muted: Color32,
    /// Headings.
    strong: Color32,
    /// The one accent: the playhead, what is switched on, links.
    accent: Color32,
    /// Behind what is selected.
    accent_soft: Color32,
    /// Warnings.
    warn: Color32,
    /// Errors.
    error: Color32,
}

const DARK: Palette = Palette {
    canvas: Color32::from_rgb(17, 20, 26),
    surface: Color32::from_rgb(25, 29, 36),
    control: Color32::from_rgb(41, 47, 57),
    control_hover: Color32::from_rgb(54, 62, 75),
    control_active: Color32::from_rgb(68, 78, 94),
    line: Color32::from_rgb(48, 55, 66),
    text: Color32::from_rgb(205, 211, 221),
    muted: Color32::from_rgb(143, 152, 167),
    strong: Color32::from_rgb(240, 243, 248),
    accent: Color32::from_rgb(92, 167, 255),
    accent_soft: Color32::from_rgb(33, 64, 104),
    warn: Color32::from_rgb(236, 178, 76),
    error: Color32::from_rgb(255, 119, 107),
};

const LIGHT: Palette = Palette {
    canvas: Color32::from_rgb(255, 255, 255),
    surface: Color32::from_rgb(244, 246, 249),
    control: Color32::from_rgb(228, 232, 238),
    control_hover: Color32::from_rgb(214, 220, 229),
    control_active: Color32::from_rgb(197, 205, 217),
    line: Color32::from_rgb(214, 219, 227),
    text: Color32::from_rgb(45, 52, 64),
    muted: Color32::from_rgb(97, 106, 121),
    strong: Color32::from_rgb(18, 23, 31),
    accent: Color32::from_rgb(20, 98, 196),
    accent_soft: Color32::from_rgb(205, 224, 250),
    warn: Color32::from_rgb(148, 92, 0),
    error: Color32::from_rgb(186, 38, 28),
};

/// Text on the soft accent of the light theme: the accent itself is too light for it.
const SELECTED_LIGHT: Color32 = Color32::from_rgb(14, 82, 170);

fn palette(dark: bool) -> &'static Palette {
    if dark { &DARK } else { &LIGHT }
}

/// Okabe and Ito's colours without vermillion and black, and a violet,, as they are on the dark canvas.
const LANES_DARK: [Color32; 8] = [
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(230, 159, 0),
    Color32::from_rgb(0, 178, 128),
    Color32::from_rgb(158, 138, 224),
    Color32::from_rgb(240, 228, 66),
    Color32::from_rgb(62, 140, 220),
    Color32::from_rgb(176, 184, 196),
    Color32::from_rgb(204, 121, 167),
];

/// The same, darkened for the light canvas.
const LANES_LIGHT: [Color32; 8] = [
    Color32::from_rgb(33, 128, 184),
    Color32::from_rgb(186, 118, 0),
    Color32::from_rgb(0, 138, 101),
    Color32::from_rgb(108, 84, 186),
    Color32::from_rgb(140, 128, 0),
    Color32::from_rgb(0, 90, 158),
    Color32::from_rgb(98, 107, 122),
    Color32::from_rgb(176, 82, 134),
];

/// Quiet colours for roles that are not marked.
const ROLES_DARK: [Color32; 10] = [
    Color32::from_rgb(66, 76, 92),
    Color32::from_rgb(84, 122, 152),
    Color32::from_rgb(92, 138, 118),
    Color32::from_rgb(146, 126, 84),
    Color32::from_rgb(138, 108, 140),
    Color32::from_rgb(116, 124, 140),
    Color32::from_rgb(146, 96, 84),
    Color32::from_rgb(64, 140, 150),
    Color32::from_rgb(108, 104, 168),
    Color32::from_rgb(150, 152, 96),
];

const ROLES_LIGHT: [Color32; 10] = [
    Color32::from_rgb(205, 212, 222),
    Color32::from_rgb(148, 184, 212),
    Color32::from_rgb(152, 200, 178),
    Color32::from_rgb(216, 194, 142),
    Color32::from_rgb(206, 172, 206),
    Color32::from_rgb(170, 178, 192),
    Color32::from_rgb(226, 170, 156),
    Color32::from_rgb(124, 192, 200),
    Color32::from_rgb(170, 166, 220),
    Color32::from_rgb(196, 198, 130),
];

/// The colour of the session's lane number `index`, the same in every panel.
#[must_use]
pub fn lane_colour(index: usize, dark: bool) -> Color32 {
    let colours = if dark { &LANES_DARK } else { &LANES_LIGHT };
    colours[index % colours.len()]
}

/// The colour of marked tokens (the needle), in every panel.
#[must_use]
pub fn marked_colour(dark: bool) -> Color32 {
    if dark { Color32::from_rgb(255, 105, 150) } else { Color32::from_rgb(200, 16, 84) }
}

/// The colour of a role in the timeline: crimson for the marked one, quiet for the others.
#[must_use]
pub fn role_colour(role: u8, marked: Option<u8>, dark: bool) -> Color32 {
    if marked == Some(role) {
        return marked_colour(dark);
    }
    let colours = if dark { &ROLES_DARK } else { &ROLES_LIGHT };
    colours[role as usize % colours.len()]
}

/// The accent of a theme: the playhead, and what is switched on.
#[must_use]
pub fn accent(dark: bool) -> Color32 {
    palette(dark).accent
}

/// The colour of the canvas that pictures are drawn on.
#[must_use]
pub fn canvas(dark: bool) -> Color32 {
    palette(dark).canvas
}

/// Text that explains rather than says: units, hints, captions.
#[must_use]
pub fn muted(dark: bool) -> Color32 {
    palette(dark).muted
}

/// Sets both themes' styles; `scale` is the size of text against the designed one.
pub fn install(ctx: &Context, choice: ThemeChoice, scale: f32) {
    for theme in [Theme::Dark, Theme::Light] {
        ctx.style_mut_of(theme, |style| design(style, theme == Theme::Dark));
    }
    ctx.set_theme(choice.preference());
    ctx.set_zoom_factor(scale);
}

fn design(style: &mut Style, dark: bool) {
    let font = |size: f32| FontId::new(size, FontFamily::Proportional);
    style.text_styles = [
        (TextStyle::Small, font(11.0)),
        (TextStyle::Body, font(13.0)),
        (TextStyle::Button, font(13.0)),
        (TextStyle::Heading, font(15.0)),
        (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
    ]
    .into();
    style.animation_time = 0.08;
    let s = &mut style.spacing;
    s.item_spacing = vec2(6.0, 4.0);
    // Colours are numbers here: what lies at the edge of a list must not be darker for it.
    s.scroll.fade.strength = 0.0;
    s.button_padding = vec2(7.0, 2.0);
    s.interact_size = vec2(32.0, 20.0);
    s.slider_rail_height = 4.0;
    s.icon_width = 14.0;
    s.icon_width_inner = 8.0;
    s.indent = 12.0;
    s.tooltip_width = 360.0;
    s.menu_margin = Margin::same(6);
    s.window_margin = Margin::same(12);
    style.visuals = visuals(dark);
}

/// The visuals of a theme.
pub(crate) fn visuals(dark: bool) -> Visuals {
    let p = palette(dark);
    let shadow = Shadow { offset: [0, 4], blur: 16, spread: 0, color: Color32::from_black_alpha(if dark { 120 } else { 40 }) };
    let widget = |fill: Color32, line: Color32, text: Color32| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, line),
        corner_radius: CornerRadius::same(4),
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    Visuals {
        dark_mode: dark,
        weak_text_color: Some(p.muted),
        widgets: Widgets {
            noninteractive: widget(p.surface, p.line, p.text),
            inactive: widget(p.control, Color32::TRANSPARENT, p.text),
            hovered: widget(p.control_hover, p.muted, p.strong),
            active: widget(p.control_active, p.accent, p.strong),
            open: widget(p.control_hover, p.line, p.strong),
        },
        selection: Selection { bg_fill: p.accent_soft, stroke: Stroke::new(1.5, if dark { p.strong } else { SELECTED_LIGHT }) },
        hyperlink_color: p.accent,
        faint_bg_color: if dark { Color32::from_rgb(30, 35, 43) } else { Color32::from_rgb(236, 239, 244) },
        extreme_bg_color: p.canvas,
        code_bg_color: p.control,
        warn_fg_color: p.warn,
        error_fg_color: p.error,
        window_corner_radius: CornerRadius::same(8),
        window_shadow: shadow,
        window_fill: p.surface,
        window_stroke: Stroke::new(1.0, p.line),
        menu_corner_radius: CornerRadius::same(6),
        panel_fill: p.surface,
        popup_shadow: shadow,
        slider_trailing_fill: true,
        collapsing_header_frame: false,
        indent_has_left_vline: false,
        ..if dark { Visuals::dark() } else { Visuals::light() }
    }
}

/// The contrast of two opaque colours as WCAG 2 defines it: from 1 (the same) to 21 (black on white).
#[must_use]
pub fn contrast(a: Color32, b: Color32) -> f32 {
    let luminance = |c: Color32| {
        let linear = |u: u8| {
            let x = f32::from(u) / 255.0;
            if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b())
    };
    let (la, lb) = (luminance(a), luminance(b));
    (la.max(lb) + 0.05) / (la.min(lb) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_of_black_on_white_is_21() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-3);
        assert!((contrast(Color32::RED, Color32::RED) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn text_is_readable_in_both_themes() {
        for dark in [false, true] {
            let p = palette(dark);
            for ground in [p.surface, p.canvas] {
                assert!(contrast(p.text, ground) >= 7.0, "text, dark: {dark}");
                for (name, colour) in [("muted", p.muted), ("accent", p.accent), ("warn", p.warn), ("error", p.error)] {
                    assert!(contrast(colour, ground) >= 4.5, "{name}, dark: {dark}: {}", contrast(colour, ground));
                }
            }
            assert!(contrast(p.strong, p.accent_soft) >= 7.0);
        }
    }

    #[test]
    fn every_text_is_readable_on_every_ground_that_it_is_written_on() {
        for dark in [false, true] {
            let (p, v) = (palette(dark), visuals(dark));
            let tinted = |colour| crate::widget::palette::blend(p.surface, colour, crate::app::notices::TINT);
            let w = &v.widgets;
            let mut pairs: Vec<(&str, Color32, Color32)> = vec![
                ("selected", v.selection.stroke.color, v.selection.bg_fill),
                ("warning strip", p.warn, tinted(p.warn)),
                ("error strip", p.error, tinted(p.error)),
                ("code", p.text, v.code_bg_color),
                ("hint in a field", p.muted, v.extreme_bg_color),
            ];
            for (name, widget) in [("at rest", w.inactive), ("hovered", w.hovered), ("pressed", w.active), ("open", w.open)] {
                pairs.push((name, widget.fg_stroke.color, widget.weak_bg_fill));
            }
            for ground in [p.surface, p.canvas, v.faint_bg_color] {
                let inks = [("text", p.text), ("muted", p.muted), ("strong", p.strong), ("accent", p.accent)];
                pairs.extend(inks.into_iter().chain([("warn", p.warn), ("error", p.error)]).map(|(name, ink)| (name, ink, ground)));
            }
            for (name, ink, ground) in pairs {
                assert!(contrast(ink, ground) >= 4.5, "{name}, dark: {dark}: {} of {ink:?} on {ground:?}", contrast(ink, ground));
            }
            // Graphical objects: the outline of the focus, what is chosen, marks.
            for ground in [p.surface, p.canvas, p.control] {
                assert!(contrast(p.accent, ground) >= 3.0 && contrast(marked_colour(dark), ground) >= 3.0, "dark: {dark}");
            }
        }
    }

    #[test]
    fn panels_mark_tokens_in_the_same_colour() {
        for dark in [false, true] {
            assert_eq!(crate::widget::palette::Ink::for_visuals(&visuals(dark)).mark, marked_colour(dark));
        }
    }

    #[test]
    fn lane_colours_stand_out_from_the_canvas_and_from_the_marked_colour() {
        for dark in [false, true] {
            for index in 0..LANES_DARK.len() {
                let colour = lane_colour(index, dark);
                let found = contrast(colour, canvas(dark));
                assert!(found >= 3.0, "lane {index}, dark: {dark}: {found}");
                assert_ne!(colour, marked_colour(dark));
            }
            assert!(contrast(marked_colour(dark), canvas(dark)) >= 3.0);
        }
    }
}
