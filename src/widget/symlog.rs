//! Symmetric logarithm: colours for numbers of both signs over many powers of ten, beside the linear ones of [`super::range`].
//!
//! Up to a threshold c differences count, beyond it ratios: f(x) = x / c where |x| <= c, else sign(x) (1 + ln(|x| / c)). Value and
//! slope are those of both sides at c; f is odd, so that zero is in the middle of the map.

use eframe::egui::{Color32, DragValue, FontId, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::chart::SMALL;
use super::palette::{Ink, Map};
use super::range::{Range, RangeControl, Reading, Spread};
use super::ticks::number;

/// The powers of ten below the largest number that are logarithmic, unless another threshold is chosen.
const DECADES: i32 = 3;
/// The height of the bar's colours, and of the whole.
const HEIGHTS: [f32; 2] = [10.0, 26.0];

/// Numbers as places between -1 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Symlog {
    /// c: up to it numbers are linear; above 0.
    pub threshold: f32,
    /// What has the place 1; not below the threshold.
    pub most: f32,
}

impl Symlog {
    /// What suits numbers that reach `most` from zero: three powers of ten are logarithmic.
    #[must_use]
    pub fn suited(most: f32) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let power = most.log10().floor() as i32 - DECADES;
        Self { threshold: 10_f64.powi(power).max(f64::from(f32::MIN_POSITIVE)) as f32, most }
    }

    /// The place of a number: -1 to 1 within the range, beyond it further out; NaN and infinities stay what they are.
    #[must_use]
    pub fn place(self, value: f64) -> f64 {
        let c = f64::from(self.threshold);
        let f = |x: f64| if x.abs() <= c { x / c } else { x.signum() * (1.0 + (x.abs() / c).ln()) };
        if value.is_finite() { f(value) / f(f64::from(self.most)) } else { value }
    }

    /// The number at a place, the inverse of [`Symlog::place`].
    #[must_use]
    pub fn value(self, place: f64) -> f64 {
        let c = f64::from(self.threshold);
        let end = if self.most > self.threshold { 1.0 + (f64::from(self.most) / c).ln() } else { f64::from(self.most) / c };
        let f = place * end;
        if f.abs() <= 1.0 { f * c } else { f.signum() * c * (f.abs() - 1.0).exp() }
    }

    /// The colour of a number, of the map with two arms; transparent without one.
    #[must_use]
    pub fn colour(self, value: Option<f32>) -> Color32 {
        value.map_or(Color32::TRANSPARENT, |v| Map::PurpleOrange.colour(f64::midpoint(self.place(f64::from(v)), 1.0)))
    }

    /// Numbers that are marked along the map, those first that must not be missing: zero, the ends, the threshold, and the powers of ten
    /// beyond it from the largest.
    #[must_use]
    pub fn ticks(self) -> Vec<f64> {
        let (c, most) = (f64::from(self.threshold), f64::from(self.most));
        let mut ticks = vec![0.0, most, -most, c, -c];
        let (low, high) = ((c.log10() + 1e-6).floor() as i32 + 1, (most.log10() - 1e-6).ceil() as i32 - 1);
        for power in (low..=high).rev() {
            ticks.extend([10_f64.powi(power), -10_f64.powi(power)]);
        }
        ticks
    }

    /// In words: `linear to ±1, then logarithmic to ±1476`.
    #[must_use]
    pub fn words(self) -> String {
        format!("linear to ±{}, then logarithmic to ±{}", number(f64::from(self.threshold)), number(f64::from(self.most)))
    }
}

/// What a picture is coloured by: a range, or a symmetric logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shades {
    /// As the range control says.
    Range(Range),
    /// A symmetric logarithm.
    Symlog(Symlog),
}

impl Shades {
    /// The colour of a number on this paper; transparent without one.
    pub fn colour(self, ink: &Ink) -> impl Fn(Option<f32>) -> Color32 {
        let colours = if let Self::Range(range) = self { Some(range.colours(ink)) } else { None };
        move |value| match (self, colours) {
            (Self::Symlog(symlog), _) => symlog.colour(value),
            (_, Some(colours)) => colours.of(value),
            _ => Color32::TRANSPARENT,
        }
    }

    /// In bits: what a cached picture is held under.
    #[must_use]
    pub fn key(self) -> (u32, u32, u8) {
        match self {
            Self::Range(range) => {
                let (min, max, reading) = range.key();
                (min, max, reading as u8)
            }
            Self::Symlog(symlog) => (symlog.threshold.to_bits(), symlog.most.to_bits(), u8::MAX),
        }
    }

    /// What is said of the scale beside an exact number; nothing of a range, which stands above the picture.
    #[must_use]
    pub fn words(self) -> Option<String> {
        if let Self::Symlog(symlog) = self { Some(symlog.words()) } else { None }
    }
}

/// The choice between the two, with what was chosen of the second. By itself it is what suits the numbers: the logarithm where a few of
/// them crowd all others ([`Spread::is_crowded`]), but not where somebody chose a range.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SymlogControl {
    /// `None`: what suits the numbers.
    chosen: Option<bool>,
    /// True once it suited the numbers: what suits some steps of a run is not given up for the others, or colours would go to and fro
    /// while the playhead moves.
    suits: bool,
    threshold: Option<f32>,
    most: Option<f32>,
}

impl SymlogControl {
    /// The symmetric logarithm for these numbers; `None` where it is not chosen.
    #[must_use]
    pub fn symlog(&self, spread: &Spread) -> Option<Symlog> {
        if !self.is_on() {
            return None;
        }
        let suited = Symlog::suited(self.most.unwrap_or(spread.reach()));
        Some(Symlog { threshold: self.threshold.unwrap_or(suited.threshold).min(suited.most), ..suited })
    }

    /// True if it is chosen, or suits the numbers where nobody chose.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.chosen.unwrap_or(self.suits)
    }

    /// What was chosen: it, the range, or neither.
    #[must_use]
    pub fn chosen(&self) -> Option<bool> {
        self.chosen
    }

    /// Chooses it, the range, or what suits the numbers.
    pub fn choose(&mut self, on: Option<bool>) {
        self.chosen = on;
    }

    /// Looks whether it suits these numbers; `fitted` if nobody chose anything of their range.
    fn watch(&mut self, spread: &Spread, fitted: bool) {
        self.suits = fitted && (self.suits || spread.is_crowded());
    }

    /// The numbers are others from now on, of another channel or lane: what suited the last ones may not suit them.
    pub fn look_again(&mut self) {
        self.suits = false;
    }

    /// The threshold and the end follow the numbers again.
    pub fn fit(&mut self) {
        (self.threshold, self.most) = (None, None);
    }

    /// Draws the choice and what is chosen in one row: the range control, or the bar of the logarithm with its threshold.
    ///
    /// `name` is what the numbers are; screen readers and tests find the parts by it.
    pub fn show(&mut self, ui: &mut Ui, name: &str, spread: &Spread, range: &mut RangeControl) -> Shades {
        self.watch(spread, range.words().is_none());
        ui.horizontal(|ui| {
            self.switch(ui, range.range(spread).reading);
            if let Some(symlog) = self.symlog(spread) {
                self.controls(ui, name, symlog);
                return Shades::Symlog(symlog);
            }
            Shades::Range(range.show(ui, name, spread))
        })
        .inner
    }

    /// The two parts of the choice; the first is called as the range reads numbers.
    fn switch(&mut self, ui: &mut Ui, reading: Reading) {
        let range = if reading == Reading::Log { "log" } else { "linear" };
        let by_itself = if self.chosen.is_none() && self.suits {
            ". Chosen by itself: 99 of 100 of these numbers are nearer to zero than 5% of the largest; a click holds it, or the other"
        } else {
            ""
        };
        let mut now = self.is_on();
        let parts = [
            (false, range, "Colours by the range beside it"),
            (true, "symlog", "Colours by a symmetric logarithm: linear around zero, logarithmic beyond a threshold"),
        ];
        for (value, title, hint) in parts {
            if ui.selectable_value(&mut now, value, title).on_hover_text(format!("{hint}{by_itself}")).clicked() {
                self.chosen = Some(value);
            }
        }
    }

    fn controls(&mut self, ui: &mut Ui, name: &str, symlog: Symlog) {
        let typed = |ui: &mut Ui, value: f32, prefix: &str, what: &str, hint: &str| {
            let mut new = value;
            let drag = DragValue::new(&mut new).prefix(prefix.to_owned()).speed(f64::from(value) / 50.0);
            let response = ui.add(drag.custom_formatter(|v, _| number(v))).on_hover_text(hint);
            let info = || WidgetInfo { label: Some(format!("{what}, {name}")), ..WidgetInfo::drag_value(true, f64::from(value)) };
            response.widget_info(info);
            (response.changed() && new.is_finite() && new > 0.0).then_some(new)
        };
        let hint = "Up to this number, of either sign, colours are linear; beyond it logarithmic";
        if let Some(new) = typed(ui, symlog.threshold, "linear to ±", "linear threshold", hint) {
            self.threshold = Some(new);
        }
        if let Some(new) = typed(ui, symlog.most, "to ±", "ends", "The numbers at both ends of the colours") {
            self.most = Some(new);
        }
        if (self.threshold, self.most) != (None, None)
            && ui
                .button("fit")
                .on_hover_text("The ends reach to the number furthest from zero, the threshold three powers of ten less")
                .clicked()
        {
            self.fit();
        }
        bar(ui, name, symlog);
    }
}

/// The colours with their ticks.
fn bar(ui: &mut Ui, name: &str, symlog: Symlog) -> Response {
    let ink = Ink::of(ui);
    let width = ui.available_width().clamp(60.0, 300.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHTS[1]), Sense::hover());
    let describe = format!("Colours of {name}: {}", symlog.words());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &describe));
    let strip = Rect::from_min_max(rect.min + vec2(4.0, 0.0), pos2(rect.right() - 4.0, rect.top() + HEIGHTS[0]));
    let painter = ui.painter_at(rect);
    let x_of = |place: f64| strip.left() + (f64::midpoint(place, 1.0) * f64::from(strip.width())) as f32;
    let steps = (strip.width() as usize).max(1);
    for i in 0..steps {
        let [from, to] = [i, i + 1].map(|i| strip.left() + strip.width() * i as f32 / steps as f32);
        let colour = Map::PurpleOrange.colour((i as f64 + 0.5) / steps as f64);
        painter.rect_filled(Rect::from_min_max(pos2(from, strip.top()), pos2(to, strip.bottom())), 0.0, colour);
    }
    painter.rect_stroke(strip, 0.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Outside);
    let mut taken: Vec<Rect> = Vec::new();
    for tick in symlog.ticks() {
        let at = x_of(symlog.place(tick));
        painter.vline(at, strip.bottom()..=strip.bottom() + 3.0, Stroke::new(1.0, ink.text));
        let text = painter.layout_no_wrap(number(tick), FontId::proportional(SMALL), ink.quiet);
        let left = (at - text.size().x / 2.0).clamp(rect.left(), (rect.right() - text.size().x).max(rect.left()));
        let place = Rect::from_min_size(pos2(left, strip.bottom() + 2.0), text.size());
        // The most important come first; one for which there is no room has its tick alone.
        if taken.iter().all(|t| !t.expand2(vec2(4.0, 0.0)).intersects(place)) {
            painter.galley(place.min, text, ink.quiet);
            taken.push(place);
        }
    }
    if let Some(pointer) = response.hover_pos() {
        let place = f64::from((pointer.x - strip.left()) / strip.width()).clamp(0.0, 1.0) * 2.0 - 1.0;
        return response.on_hover_text_at_pointer(format!("{}: {}", number(symlog.value(place)), symlog.words()));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widget::palette::{INFINITE, NAN};
    use proptest::prelude::*;

    #[test]
    fn places_are_linear_within_the_threshold_and_logarithmic_beyond_it() {
        // c = 1, the end e^3: f(e^3) = 1 + 3 = 4.
        let scale = Symlog { threshold: 1.0, most: 3_f32.exp() };
        let near = |value: f64, place: f64| assert!((scale.place(value) - place).abs() < 1e-6, "{value}: {}", scale.place(value));
        near(0.0, 0.0);
        near(0.5, 0.125);
        near(1.0, 0.25);
        near(1_f64.exp(), 0.5);
        near(-2_f64.exp(), -0.75);
        near(3_f64.exp(), 1.0);
        assert!(scale.place(f64::NAN).is_nan() && scale.place(f64::INFINITY).is_infinite());
        // One that is linear all the way.
        assert!((Symlog { threshold: 2.0, most: 2.0 }.place(1.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_threshold_is_three_powers_of_ten_below_the_largest() {
        assert_eq!(Symlog::suited(1476.0), Symlog { threshold: 1.0, most: 1476.0 });
        assert_eq!(Symlog::suited(0.05), Symlog { threshold: 1e-5, most: 0.05 });
        assert_eq!((Symlog::suited(0.0).most, Symlog::suited(f32::NAN).most), (1.0, 1.0), "nothing to be seen, nothing to divide by");
        assert_eq!(Symlog::suited(1476.0).ticks(), [0.0, 1476.0, -1476.0, 1.0, -1.0, 1000.0, -1000.0, 100.0, -100.0, 10.0, -10.0]);
        assert_eq!(Symlog::suited(1476.0).words(), "linear to ±1, then logarithmic to ±1476");
        let spread = Spread::of([-1476.0_f32, 3.0, f32::INFINITY].into_iter());
        let mut control = SymlogControl::default();
        assert_eq!(control.symlog(&spread), None);
        control.choose(Some(true));
        assert_eq!(control.symlog(&spread), Some(Symlog { threshold: 1.0, most: 1476.0 }));
        control.threshold = Some(1e9);
        assert_eq!(control.symlog(&spread), Some(Symlog { threshold: 1476.0, most: 1476.0 }), "no further than the end");
    }

    #[test]
    fn crowded_numbers_choose_it_by_themselves_until_somebody_chooses() {
        let numbers = |largest: f32| Spread::of((0..500_u16).map(|i| f32::from(i) * 0.01).chain([largest]));
        let (crowded, even) = (numbers(-1000.0), numbers(6.0));
        assert!(crowded.is_crowded() && !even.is_crowded());
        let mut control = SymlogControl::default();
        let sees = |control: &mut SymlogControl, spread: &Spread, fitted: bool| {
            control.watch(spread, fitted);
            control.is_on()
        };
        assert!(!sees(&mut control, &even, true));
        assert!(sees(&mut control, &crowded, true));
        assert!(sees(&mut control, &even, true), "it stays for the other steps of the run");
        assert!(!sees(&mut control, &crowded, false), "a range was chosen");
        assert!(sees(&mut control, &crowded, true));
        control.look_again();
        assert!(!sees(&mut control, &even, true), "those of another channel are another matter");
        // What is chosen holds, whatever the numbers are.
        control.choose(Some(false));
        assert!(!sees(&mut control, &crowded, true));
        control.choose(Some(true));
        assert!(sees(&mut control, &even, true));
    }

    #[test]
    fn small_numbers_have_colours_that_a_linear_range_does_not_give_them_and_what_is_none_stays_loud() {
        let scale = Symlog::suited(1476.0);
        assert_eq!(scale.colour(Some(0.0)), Map::PurpleOrange.colour(0.5));
        assert_eq!(
            (scale.colour(Some(1476.0)), scale.colour(Some(-9999.0))),
            (Map::PurpleOrange.colour(1.0), Map::PurpleOrange.colour(0.0))
        );
        // 10 of 1476: (1 + ln 10) / (1 + ln 1476) = 0.398 of the way, where a linear range has 0.007.
        assert_eq!(scale.colour(Some(10.0)), Map::PurpleOrange.colour(0.5 + 0.5 * 0.398));
        assert_eq!(
            (scale.colour(Some(f32::NAN)), scale.colour(Some(f32::NEG_INFINITY)), scale.colour(None)),
            (NAN, INFINITE, Color32::TRANSPARENT)
        );
        let shades = Shades::Symlog(scale);
        assert_eq!(shades.colour(&Ink::for_visuals(&eframe::egui::Visuals::dark()))(Some(10.0)), scale.colour(Some(10.0)));
    }

    proptest! {
        /// There and back, odd, and larger for what is larger.
        #[test]
        fn a_place_goes_back_to_its_number(threshold in 1e-6_f32..10.0, times in 1.0_f32..1e6, a in -1.0_f64..1.0, b in -1.0_f64..1.0) {
            let scale = Symlog { threshold, most: threshold * times };
            let (x, y) = (a * f64::from(scale.most), b * f64::from(scale.most));
            prop_assert!((scale.value(scale.place(x)) - x).abs() <= 1e-9 * f64::from(scale.most), "{x}: {}", scale.value(scale.place(x)));
            prop_assert!((scale.place(-x) + scale.place(x)).abs() < 1e-12);
            prop_assert!(x >= y || scale.place(x) < scale.place(y));
        }
    }
}
