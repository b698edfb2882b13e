//! The choice among the lanes that a panel of one lane can show: its own, the window's, or the first there is.

use std::collections::BTreeMap;

use eframe::egui::{ComboBox, Label, RichText, Ui};

use super::common::{own_steps, swatch, waiting, words};
use super::{Look, WindowLane};
use crate::widget::palette::Ink;

/// A lane that a panel shows.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    /// True if it was chosen; else it was what there was to be shown first.
    by_hand: bool,
}

/// The choice among lanes that have the channels of a panel.
#[derive(Debug, Clone, Default)]
pub struct LaneChoice {
    /// The lane that was chosen here, by the one that the window asked for then (none: no name). Where the window asks for what it asked
    /// for before, as after an undo, the panel shows what it did.
    names: BTreeMap<String, Named>,
    /// How often the window had asked for a lane when one was last chosen here.
    asked: u64,
}

impl LaneChoice {
    /// Chooses a lane by its name.
    pub fn set(&mut self, look: &Look<'_>, name: &str) {
        self.set_for(look.lane, name);
    }

    /// Chooses a lane by its name, under what the window asks for.
    pub fn set_for(&mut self, window: WindowLane<'_>, name: &str) {
        self.put(window, name, true);
    }

    fn put(&mut self, window: WindowLane<'_>, name: &str, by_hand: bool) {
        let holds = self.by_hand(window).is_some();
        self.asked = window.asked;
        let under = window.name.unwrap_or_default();
        match self.names.get_mut(under) {
            Some(now) if now.name == name => now.by_hand = by_hand || holds,
            // What was chosen comes back with its lane: that it is not there now is no choice.
            Some(_) if holds && !by_hand => {}
            Some(now) => *now = Named { name: name.to_owned(), by_hand },
            None => drop(self.names.insert(under.to_owned(), Named { name: name.to_owned(), by_hand })),
        }
    }

    /// The lane that was chosen here by hand, under what the window asks for.
    #[must_use]
    pub fn by_hand(&self, window: WindowLane<'_>) -> Option<&str> {
        self.own(window).filter(|now| now.by_hand).map(|now| now.name.as_str())
    }

    /// A lane is called otherwise now: what was chosen stays chosen.
    pub fn rename(&mut self, from: &str, to: &str) {
        for now in self.names.values_mut().filter(|now| now.name == from) {
            to.clone_into(&mut now.name);
        }
        if let Some(now) = self.names.remove(from) {
            self.names.insert(to.to_owned(), now);
        }
    }

    /// What the panel shows under what the window asks for, if that was asked for before it was chosen.
    fn own(&self, window: WindowLane<'_>) -> Option<&Named> {
        let holds_still = window.name.is_none() || self.asked == window.asked;
        self.names.get(window.name.unwrap_or_default()).filter(|_| holds_still)
    }

    /// The lane chosen among `lanes`: the window's if it asks for one of these, or else the first (whose cache is not empty by its own
    /// parameters), until another is chosen here.
    #[must_use]
    pub fn chosen(&self, look: &Look<'_>, lanes: &[usize]) -> Option<usize> {
        let called = |name: &str| lanes.iter().copied().find(|&i| look.lanes[i].plan.name == name);
        let own = self.own(look.lane).and_then(|now| called(&now.name));
        let named = own.or(look.lane.name.and_then(called));
        // A cache of nothing has nothing to show, where another lane has one.
        let holds = |&&lane: &&usize| {
            let plan = look.lanes[lane].plan;
            plan.kind.params().iter().all(|p| p.name != "cache") || plan.setup.params.size("cache") > 0
        };
        named.or(lanes.iter().find(holds).or(lanes.first()).copied())
    }

    /// The panel's first row: the choice of a lane, where there is one, what `beside` adds, and how many writes wait.
    ///
    /// Without a lane the panel says `none` instead, and `None` is returned.
    pub fn row(&mut self, ui: &mut Ui, look: &Look<'_>, lanes: &[usize], none: &str, beside: impl FnOnce(&mut Ui, usize)) -> Option<usize> {
        let Some(lane) = self.chosen(look, lanes) else {
            words(ui, none);
            return None;
        };
        ui.horizontal_wrapped(|ui| {
            let lane = self.choose(ui, look, lanes, lane);
            beside(ui, lane);
            let waiting = waiting(look, lane);
            if !waiting.is_empty() {
                ui.label(RichText::new(waiting).color(Ink::of(ui).quiet));
            }
            if let Some((short, whole)) = own_steps(look, lane) {
                ui.label(RichText::new(short).color(Ink::of(ui).quiet)).on_hover_text(whole);
            }
            Some(lane)
        })
        .inner
    }

    /// Like [`LaneChoice::row`], but one line high, for a sentence that may be cut: the whole of it is on hover.
    pub fn line(
        &mut self,
        ui: &mut Ui,
        look: &Look<'_>,
        lanes: &[usize],
        none: &str,
        sentence: impl FnOnce(usize) -> String,
    ) -> Option<usize> {
        let Some(lane) = self.chosen(look, lanes) else {
            words(ui, none);
            return None;
        };
        ui.horizontal(|ui| {
            let lane = self.choose(ui, look, lanes, lane);
            let text = format!("{} {}", sentence(lane), waiting(look, lane));
            let text =
                own_steps(look, lane).map_or_else(|| text.trim_end().to_owned(), |(short, _)| format!("{}; {short}", text.trim_end()));
            ui.add(Label::new(text).truncate());
            Some(lane)
        })
        .inner
    }

    fn choose(&mut self, ui: &mut Ui, look: &Look<'_>, lanes: &[usize], mut chosen: usize) -> usize {
        let was = chosen;
        swatch(ui, look.lanes[chosen].colour);
        let name = look.lanes[chosen].plan.name.as_str();
        if lanes.len() == 1 {
            ui.label(RichText::new(name).strong());
            return chosen;
        }
        let response = ComboBox::from_id_salt("lane").selected_text(name).width(60.0).show_ui(ui, |ui| {
            for &lane in lanes {
                ui.selectable_value(&mut chosen, lane, look.lanes[lane].plan.name.as_str());
            }
        });
        response.response.on_hover_text("The lane shown here");
        self.put(look.lane, &look.lanes[chosen].plan.name, chosen != was);
        chosen
    }
}
