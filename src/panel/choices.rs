//! What is chosen inside panels, by name: the view, the order, the lane. Sessions keep it, lessons set it, pictures show it.
//!
//! A panel names its choices once, in [`Panel::choices`]; the same lines tell them, make them, and follow a lane to its new name, so
//! that what is written and what is read cannot differ. The values are the words on screen, in lower case.

use super::{LaneChoice, PANELS, Panel, PanelEntry, WindowLane};
use crate::param::nearest;
use crate::session::{Choice, Chosen, LaneSpec};
use crate::widget::range::RangeControl;
use crate::widget::symlog::SymlogControl;

/// A visit to the choices of one panel.
#[derive(Debug)]
pub struct Choices<'a> {
    act: Act<'a>,
    /// The lane that the window asks panels to show.
    window: WindowLane<'a>,
}

#[derive(Debug)]
enum Act<'a> {
    /// Writes down what is chosen.
    Tell(Choice),
    /// Chooses what is named; what is not named stays.
    Make { wanted: &'a Choice, names: Vec<&'static str>, wrong: Vec<Wrong> },
    /// A lane is called otherwise now.
    Rename { from: &'a str, to: &'a str },
    /// Writes down which choices are lanes.
    Lanes(Vec<&'static str>),
}

/// A choice that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The panel.
    pub panel: String,
    /// The choice within it, if the panel is there.
    pub name: Option<String>,
    /// Why, in a sentence.
    pub reason: String,
}

impl Choices<'_> {
    /// One of some things, by their names.
    pub fn one_of<T: Copy + PartialEq, N: AsRef<str>>(&mut self, name: &'static str, now: &mut T, all: impl IntoIterator<Item = (T, N)>) {
        let all: Vec<(T, String)> = all.into_iter().map(|(value, title)| (value, title.as_ref().to_lowercase())).collect();
        self.value(
            name,
            now,
            |now| all.iter().find(|(value, _)| value == now).map(|(_, title)| title.clone()),
            |text| {
                let title = text.to_lowercase();
                all.iter()
                    .find(|(_, known)| *known == title)
                    .map(|(value, _)| *value)
                    .ok_or_else(|| none_of(text, all.iter().map(|a| a.1.as_str())))
            },
        );
    }

    /// A whole number within limits.
    pub fn number<T>(&mut self, name: &'static str, now: &mut T, limits: std::ops::RangeInclusive<T>)
    where
        T: Copy + PartialOrd + std::fmt::Display + std::str::FromStr,
    {
        self.value(
            name,
            now,
            |now| Some(now.to_string()),
            |text| {
                let number = text.trim().parse().ok().filter(|n| limits.contains(n));
                number.ok_or_else(|| format!("`{text}` is no whole number from {} to {}", limits.start(), limits.end()))
            },
        );
    }

    /// Free words, where anything may be chosen that a run turns out to have.
    pub fn words(&mut self, name: &'static str, now: &mut Option<String>) {
        self.value(name, now, Clone::clone, |text| Ok(Some(text.to_owned())));
    }

    /// A lane, where one was chosen by hand.
    pub fn lane(&mut self, name: &'static str, now: &mut LaneChoice) {
        if let Act::Rename { from, to } = self.act {
            now.rename(from, to);
            return;
        }
        if let Act::Lanes(names) = &mut self.act {
            names.push(name);
            return;
        }
        let window = self.window;
        let mut own = now.by_hand(window).map(str::to_owned);
        self.words(name, &mut own);
        if let (Act::Make { wanted, .. }, Some(own)) = (&self.act, own)
            && wanted.contains_key(name)
        {
            now.set_for(window, &own);
        }
    }

    /// How a range of colours was chosen.
    pub fn range(&mut self, name: &'static str, now: &mut RangeControl) {
        let wanted = "a range is written as `0.5 to 2, log`: its ends or `clipped`, its reading (linear, log, symmetric about 0), or both";
        self.value(name, now, RangeControl::words, |text| {
            RangeControl::of_words(text).ok_or_else(|| format!("`{text}` is no range: {wanted}"))
        });
    }

    /// Whether colours go by a symmetric logarithm; by itself it is what suits the numbers.
    pub fn symlog(&mut self, name: &'static str, now: &mut SymlogControl) {
        let mut on = now.chosen();
        self.one_of(name, &mut on, [(None, "suited"), (Some(false), "off"), (Some(true), "on")]);
        now.choose(on);
    }

    /// Any other choice: how it is told, if it is anything, and how it is read; a text that cannot be read is answered with a sentence.
    pub fn value<T>(
        &mut self,
        name: &'static str,
        now: &mut T,
        tell: impl FnOnce(&T) -> Option<String>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) {
        match &mut self.act {
            Act::Tell(told) => told.extend(tell(now).map(|text| (name.to_owned(), text))),
            Act::Make { wanted, names, wrong } => {
                names.push(name);
                match wanted.get(name).map(|text| read(text)) {
                    Some(Ok(value)) => *now = value,
                    Some(Err(reason)) => wrong.push(Wrong { panel: String::new(), name: Some(name.to_owned()), reason }),
                    None => {}
                }
            }
            Act::Rename { .. } | Act::Lanes(_) => {}
        }
    }
}

/// `x` is none of these, with the nearest.
fn none_of<'a>(text: &str, all: impl Iterator<Item = &'a str> + Clone) -> String {
    let lower = text.to_lowercase();
    // Names of lanes have capitals.
    let near =
        all.clone().find(|a| a.to_lowercase() == lower).or_else(|| nearest(text, all.clone())).or_else(|| nearest(&lower, all.clone()));
    none_but(text, all, near)
}

/// `x` is none of these, with the one that was found to be the nearest.
fn none_but<'a>(text: &str, all: impl Iterator<Item = &'a str>, near: Option<&str>) -> String {
    let list = all.map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ");
    match near {
        Some(near) => format!("`{text}` is none of {list}; the nearest is `{near}`"),
        None => format!("`{text}` is none of {list}"),
    }
}

/// What a panel shows, choice by choice, those as they are by themselves included.
#[must_use]
pub fn whole(panel: &mut dyn Panel, window: WindowLane<'_>) -> Choice {
    let mut choices = Choices { act: Act::Tell(Choice::new()), window };
    panel.choices(&mut choices);
    match choices.act {
        Act::Tell(told) => told,
        _ => Choice::new(),
    }
}

/// What was chosen in a panel: all that is not as in a new one.
#[must_use]
pub fn told(entry: &PanelEntry, panel: &mut dyn Panel, window: WindowLane<'_>) -> Choice {
    let new = whole(&mut *(entry.make)(), window);
    let mut now = whole(panel, window);
    now.retain(|name, value| new.get(name) != Some(value));
    now
}

/// Chooses in a panel what is named; returns what cannot be chosen.
pub fn make(entry: &PanelEntry, panel: &mut dyn Panel, wanted: &Choice, window: WindowLane<'_>) -> Vec<Wrong> {
    let mut choices = Choices { act: Act::Make { wanted, names: Vec::new(), wrong: Vec::new() }, window };
    panel.choices(&mut choices);
    let Act::Make { names, mut wrong, .. } = choices.act else { return Vec::new() };
    for unknown in wanted.keys().filter(|name| !names.contains(&name.as_str())) {
        let reason = if names.is_empty() {
            format!("nothing is chosen inside the panel `{}`", entry.name)
        } else {
            none_of(unknown, names.iter().copied())
        };
        wrong.push(Wrong { panel: String::new(), name: Some(unknown.clone()), reason });
    }
    wrong.iter_mut().for_each(|w| entry.name.clone_into(&mut w.panel));
    wrong
}

/// A lane is called otherwise now.
pub fn rename(panel: &mut dyn Panel, from: &str, to: &str) {
    panel.choices(&mut Choices { act: Act::Rename { from, to }, window: WindowLane::default() });
}

/// What no panel can be made to show, of what a session or a lesson asks for.
#[must_use]
pub fn wrong(chosen: &Chosen) -> Vec<Wrong> {
    let mut all = Vec::new();
    for (name, wanted) in chosen {
        match PANELS.iter().find(|p| p.name == name) {
            Some(entry) => all.extend(make(entry, &mut *(entry.make)(), wanted, WindowLane::default())),
            None => all.push(Wrong { panel: name.clone(), name: None, reason: no_panel(name) }),
        }
    }
    all
}

/// There is no panel of this name; one whose tab is called so is the nearest.
fn no_panel(name: &str) -> String {
    let names = PANELS.iter().map(|p| p.name);
    match PanelEntry::titled(name) {
        Some(entry) => none_but(name, names, Some(entry.name)),
        None => none_of(name, names),
    }
}

/// The choices of lanes that are not among `lanes`.
#[must_use]
pub fn lost_lanes(chosen: &Chosen, lanes: &[LaneSpec]) -> Vec<Wrong> {
    let mut lost = Vec::new();
    for (panel, choice) in chosen {
        let Some(entry) = PANELS.iter().find(|p| p.name == panel) else { continue };
        for name in of_lanes(entry) {
            let Some(lane) = choice.get(name).filter(|lane| lanes.iter().all(|l| l.name != **lane)) else { continue };
            let reason = format!("there is no such lane: {}", none_of(lane, lanes.iter().map(|l| l.name.as_str())));
            lost.push(Wrong { panel: panel.clone(), name: Some(name.to_owned()), reason });
        }
    }
    lost
}

/// Leaves the choices out whose lanes are gone.
pub fn forget_lost_lanes(chosen: &mut Chosen, lanes: &[LaneSpec]) {
    for Wrong { panel, name, .. } in lost_lanes(chosen, lanes) {
        if let (Some(choice), Some(name)) = (chosen.get_mut(&panel), name) {
            choice.remove(&name);
        }
    }
    chosen.retain(|_, choice| !choice.is_empty());
}

/// Which choices of a panel are lanes.
fn of_lanes(entry: &PanelEntry) -> Vec<&'static str> {
    let mut choices = Choices { act: Act::Lanes(Vec::new()), window: WindowLane::default() };
    let mut panel = (entry.make)();
    panel.choices(&mut choices);
    match choices.act {
        Act::Lanes(names) => names,
        _ => Vec::new(),
    }
}

/// What each panel named here shows by itself, of what is chosen in it.
#[must_use]
pub fn as_new(chosen: &Chosen) -> Chosen {
    let mut all = Chosen::new();
    for (name, choice) in chosen {
        let Some(entry) = PANELS.iter().find(|p| p.name == name) else { continue };
        let new = whole(&mut *(entry.make)(), WindowLane::default());
        all.insert(name.clone(), new.into_iter().filter(|(name, _)| choice.contains_key(name)).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn chosen(panel: &str, name: &str, value: &str) -> Chosen {
        BTreeMap::from([(panel.to_owned(), Choice::from([(name.to_owned(), value.to_owned())]))])
    }

    #[test]
    fn a_new_panel_has_nothing_to_tell_and_reads_all_that_it_tells() {
        for entry in PANELS {
            let mut panel = (entry.make)();
            assert_eq!(told(entry, &mut *panel, WindowLane::default()), Choice::new(), "{}", entry.name);
            let all = whole(&mut *panel, WindowLane::default());
            assert_eq!(make(entry, &mut *panel, &all, WindowLane::default()), [], "{}", entry.name);
            assert_eq!(told(entry, &mut *panel, WindowLane::default()), Choice::new(), "{}", entry.name);
        }
    }

    #[test]
    fn what_is_chosen_is_told_and_made_again_in_another_panel() {
        let asked = [
            ("state", "view", "collisions"),
            ("state", "gram", "raw"),
            ("state", "lane", "linear"),
            ("state", "range", "0.5 to 2, log"),
            ("state", "symlog", "on"),
            ("channel", "symlog", "off"),
            ("residency", "view", "text"),
            ("residency", "occupancy", "logarithmic"),
            ("sre", "view", "key, value"),
            ("map", "directions", "random"),
            ("map", "y", "3"),
            ("counts", "view", "histogram"),
            ("health", "figures", "gini of counts"),
            ("health", "w", "12"),
            ("assignments", "order", "by last use"),
            ("retention", "tokens", "role 2"),
            ("recall", "view", "by age"),
            ("channel", "channel", "outputs"),
            ("channel", "rule", "mean"),
            ("sweep", "view", "second parameter"),
        ];
        for (name, choice, value) in asked {
            let entry = PANELS.iter().find(|p| p.name == name).unwrap();
            let wanted = Choice::from([(choice.to_owned(), value.to_owned())]);
            let mut panel = (entry.make)();
            assert_eq!(make(entry, &mut *panel, &wanted, WindowLane::default()), []);
            assert_eq!(told(entry, &mut *panel, WindowLane::default()), wanted, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_chosen_is_named_with_the_nearest() {
        let only = |chosen: &Chosen| {
            let all = wrong(chosen);
            assert_eq!(all.len(), 1);
            all[0].reason.clone()
        };
        assert!(only(&chosen("stat", "view", "x")).ends_with("the nearest is `state`"));
        assert!(only(&chosen("Cache", "view", "x")).ends_with("the nearest is `residency`"), "a panel's title is not its name here");
        assert!(only(&chosen("state", "vew", "x")).ends_with("the nearest is `view`"));
        assert_eq!(
            only(&chosen("state", "view", "Colisions")),
            "`Colisions` is none of `heatmap`, `spectrum`, `collisions`, `normaliser`; the nearest is `collisions`"
        );
        assert_eq!(only(&chosen("health", "w", "0")), "`0` is no whole number from 1 to 4096");
        assert_eq!(only(&chosen("notes", "view", "x")), "nothing is chosen inside the panel `notes`");
        assert_eq!(wrong(&chosen("state", "view", "Collisions")), [], "upper case is the same");
    }

    #[test]
    fn a_lane_is_followed_to_its_new_name() {
        let entry = PANELS.iter().find(|p| p.name == "shares").unwrap();
        let mut panel = (entry.make)();
        let lane = |name: &str| Choice::from([("lane".to_owned(), name.to_owned())]);
        make(entry, &mut *panel, &lane("LoLA"), WindowLane::default());
        rename(&mut *panel, "another", "x");
        assert_eq!(told(entry, &mut *panel, WindowLane::default()), lane("LoLA"));
        rename(&mut *panel, "LoLA", "mine");
        assert_eq!(told(entry, &mut *panel, WindowLane::default()), lane("mine"));
    }

    #[test]
    fn a_choice_of_a_lane_that_is_gone_is_found_and_forgotten() {
        use crate::param::Params;
        let lanes = [LaneSpec::new("LoLA", "lola", Params::default())];
        let mut all = chosen("residency", "lane of the text", "Lola");
        assert_eq!(
            lost_lanes(&all, &lanes).into_iter().map(|w| (w.panel, w.name, w.reason)).collect::<Vec<_>>(),
            [(
                "residency".to_owned(),
                Some("lane of the text".to_owned()),
                "there is no such lane: `Lola` is none of `LoLA`; the nearest is `LoLA`".to_owned()
            )]
        );
        crate::session::put_over(&mut all, &chosen("residency", "lane", "LoLA"));
        crate::session::put_over(&mut all, &chosen("shares", "lane", "gone"));
        crate::session::put_over(&mut all, &chosen("state", "view", "collisions"));
        forget_lost_lanes(&mut all, &lanes);
        let mut kept = chosen("residency", "lane", "LoLA");
        kept.extend(chosen("state", "view", "collisions"));
        assert_eq!(all, kept);
    }

    #[test]
    fn a_range_is_told_in_words_that_are_read_again() {
        use crate::widget::range::Reading;
        let mut range = RangeControl::default();
        assert_eq!(range.words(), None);
        range.choose([-0.25, 1e-7]);
        assert_eq!(range.words().as_deref(), Some("-0.25 to 0.0000001"));
        assert_eq!(RangeControl::of_words("-0.25 to 0.0000001"), Some(range));
        range.clip();
        range.read(Reading::Symmetric);
        assert_eq!(range.words().as_deref(), Some("clipped, symmetric about 0"));
        assert_eq!(RangeControl::of_words("clipped, symmetric about 0"), Some(range));
        for wrong in ["", "1 to", "a to b", "nan to 1", "0 to inf", "clipd"] {
            assert_eq!(RangeControl::of_words(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn choices_are_put_over_others_name_by_name() {
        use crate::session::put_over;
        let mut all = chosen("state", "view", "spectrum");
        put_over(&mut all, &chosen("state", "lane", "linear"));
        put_over(&mut all, &chosen("state", "view", "collisions"));
        assert_eq!(all["state"].len(), 2);
        assert_eq!(all["state"]["view"], "collisions");
        assert_eq!(as_new(&all), chosen("state", "view", "heatmap"), "a lane is none by itself");
    }
}
