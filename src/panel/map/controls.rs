//! The map's choices: onto what the keys are projected, and which components are shown.

use eframe::egui::{Button, ComboBox, DragValue, RichText, Ui};

use super::zoom::Zoom;
use crate::metric::projection::{Basis, Projection};
use crate::panel::choices::Choices;
use crate::widget::palette::Ink;

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) random: bool,
    pub(super) seed: u64,
    pub(super) components: [usize; 2],
}

impl Default for Choice {
    fn default() -> Self {
        Self { random: false, seed: 0, components: [0, 1] }
    }
}

const DIRECTIONS: [(bool, &str, &str); 2] = [
    (false, "PCA", "Principal components of the keys of the whole stream: the directions along which they differ most"),
    (true, "random", "Directions drawn at random: what is seen here too was not put in by the choice of directions"),
];

impl Choice {
    /// See [`crate::panel::Panel::choices`].
    pub(super) fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("directions", &mut self.random, DIRECTIONS.map(|(random, name, _)| (random, name)));
        choices.number("seed", &mut self.seed, 0..=u64::MAX);
        // What keys have fewer of is shown as their last: see `within`.
        let [x, y] = &mut self.components;
        choices.number("x", x, 0..=usize::from(u16::MAX));
        choices.number("y", y, 0..=usize::from(u16::MAX));
    }

    pub(super) fn basis(&self) -> Basis {
        if self.random { Basis::Random(self.seed) } else { Basis::Principal }
    }

    /// The components chosen, as far as keys of `dk` numbers have them.
    pub(super) fn within(&self, dk: usize) -> [usize; 2] {
        self.components.map(|c| c.min(dk.saturating_sub(1)))
    }

    /// The controls; `known` is the projection chosen, where it is there already.
    pub(super) fn ui(&mut self, ui: &mut Ui, dk: usize, known: Option<&Projection>) {
        ui.separator();
        for (random, name, hint) in DIRECTIONS {
            ui.selectable_value(&mut self.random, random, name).on_hover_text(hint);
        }
        if self.random {
            ui.add(DragValue::new(&mut self.seed).prefix("seed ")).on_hover_text("The seed of the directions");
        }
        let shown = self.within(dk);
        for (i, (axis, hint)) in [("x", "The component to the right"), ("y", "The component upwards")].into_iter().enumerate() {
            let text = format!("{axis}: {}", title(shown[i], known));
            let response = ComboBox::from_id_salt(axis).selected_text(text).width(88.0).show_ui(ui, |ui| {
                for component in 0..dk {
                    ui.selectable_value(&mut self.components[i], component, title(component, known));
                }
            });
            response.response.on_hover_text(format!("{hint}, with its share of the keys' variance"));
        }
    }
}

/// How far the map is zoomed, and the way back.
pub(super) fn zoom(ui: &mut Ui, zoom: &mut Zoom) {
    let fit = ui.add_enabled(zoom.zoomed(), Button::new("fit"));
    if fit.on_hover_text("The whole map again: a double click on it does the same").clicked() {
        zoom.fit();
    }
    let words = RichText::new(zoom_words(zoom.factor())).color(Ink::of(ui).quiet);
    ui.label(words).on_hover_text("The wheel or a pinch zooms at the pointer; the middle button, or Ctrl with the first, drags the map");
}

/// `zoom 4.0x`.
pub(super) fn zoom_words(factor: f64) -> String {
    if factor < 99.95 { format!("zoom {factor:.1}x") } else { format!("zoom {factor:.0}x") }
}

/// `1 (23.4%)`: components are counted from 1, as everybody does.
fn title(component: usize, known: Option<&Projection>) -> String {
    match known {
        Some(p) => format!("{} ({})", component + 1, percent(p.share(component))),
        None => (component + 1).to_string(),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// The words at an axis.
pub(super) fn axis(component: usize, projection: &Projection, basis: Basis) -> String {
    let kind = if basis == Basis::Principal { "component" } else { "random direction" };
    format!("{kind} {} ({} of variance)", component + 1, percent(projection.share(component)))
}
