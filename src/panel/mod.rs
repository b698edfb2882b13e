//! Panels: each draws one view of the run, knows no other panel, and changes nothing itself.
//!
//! A panel is one file here and one line in [`PANELS`]. It reads [`Look`] and pushes [`Command`]s. It never names a layer's
//! `cpu` or `gpu` module: it reads channels by name.

pub mod assignments;
pub mod channel;
pub mod choices;
pub mod common;
pub mod counts;
pub mod events;
pub mod formula;
pub mod growth;
pub mod health;
mod lane_choice;
pub mod map;
pub mod moments;
pub mod notes;
pub mod reads;
pub mod recall;
pub mod residency;
pub mod retention;
mod row;
mod selection;
pub mod shares;
pub mod sre;
pub mod state;
pub mod sweep;

use std::sync::Arc;

pub use lane_choice::LaneChoice;
pub use selection::{Pin, Selection, Subject};

use crate::app::command::Command;
use crate::app::states::States;
use crate::app::study::Studies;
use crate::session::Session;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;
use crate::widget::chart::Sign;
use crate::widget::line::Dash;

/// Every panel there is, in the order of the View menu. Adding one is one line here.
pub static PANELS: &[PanelEntry] = &[
    PanelEntry { name: "growth", title: "Growth", help: growth::HELP, make: || Box::new(growth::Growth::default()) },
    PanelEntry {
        name: "assignments",
        title: "Assignments",
        help: assignments::HELP,
        make: || Box::new(assignments::Assignments::default()),
    },
    PanelEntry { name: "map", title: "Dictionary map", help: map::HELP, make: || Box::new(map::DictionaryMap::default()) },
    PanelEntry { name: "health", title: "Codebook health", help: health::HELP, make: || Box::new(health::Health::default()) },
    PanelEntry { name: "counts", title: "Counts", help: counts::HELP, make: || Box::new(counts::Counts::default()) },
    PanelEntry { name: "sre", title: "Scores", help: sre::HELP, make: || Box::new(sre::Sre::default()) },
    PanelEntry { name: "residency", title: "Cache", help: residency::HELP, make: || Box::new(residency::ResidencyPanel::default()) },
    PanelEntry { name: "retention", title: "Retention", help: retention::HELP, make: || Box::new(retention::Retention::default()) },
    PanelEntry { name: "shares", title: "Shares", help: shares::HELP, make: || Box::new(shares::Shares::default()) },
    PanelEntry { name: "reads", title: "Reads", help: reads::HELP, make: || Box::new(reads::Reads::default()) },
    PanelEntry { name: "events", title: "Events", help: events::HELP, make: || Box::new(events::Events::default()) },
    PanelEntry { name: "moments", title: "Two moments", help: moments::HELP, make: || Box::new(moments::Moments::default()) },
    PanelEntry { name: notes::NAME, title: "Notes", help: notes::HELP, make: || Box::new(notes::Notes) },
    PanelEntry { name: "formula", title: "Formula", help: formula::HELP, make: || Box::new(formula::Formula::default()) },
    PanelEntry { name: "sweep", title: "Sweep", help: sweep::HELP, make: || Box::new(sweep::SweepPanel::default()) },
    PanelEntry { name: "state", title: "State", help: state::HELP, make: || Box::new(state::StatePanel::default()) },
    PanelEntry { name: "channel", title: "Any channel", help: channel::HELP, make: || Box::new(channel::ChannelPanel::default()) },
    PanelEntry { name: "recall", title: "Recall", help: recall::HELP, make: || Box::new(recall::Recall::default()) },
];

/// A line of the list of panels.
#[derive(Debug, Clone, Copy)]
pub struct PanelEntry {
    /// The name in layouts and on the command line (`assignments`).
    pub name: &'static str,
    /// The name on its tab.
    pub title: &'static str,
    /// What it shows and how to read it: the text behind its `?`.
    pub help: &'static str,
    /// Makes one.
    pub make: fn() -> Box<dyn Panel>,
}

impl PanelEntry {
    /// The panel whose tab is called so, in whatever case.
    #[must_use]
    pub fn titled(title: &str) -> Option<&'static Self> {
        let title = title.trim().to_lowercase();
        PANELS.iter().find(|p| p.title.to_lowercase() == title)
    }
}

/// One lane as panels see it.
#[derive(Debug, Clone, Copy)]
pub struct LaneLook<'a> {
    /// Its plan: name, layer, parameters, channels.
    pub plan: &'a PlanLane,
    /// What it has written so far.
    pub trace: &'a LaneTrace,
    /// Seconds that its layer took so far, and the chunks that it did in them.
    pub spent: (f64, usize),
    /// Its place in the palette: its colour, its dashes and its mark go by it, so that none of them changes when lanes come or go.
    pub place: usize,
    /// Its colour, the same in every panel.
    pub colour: eframe::egui::Color32,
}

/// The lane that panels of one lane show until another is chosen in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowLane<'a> {
    /// The lane, by its name; `None`: each panel shows its own.
    pub name: Option<&'a str>,
    /// How often such a lane was asked for: what was chosen in a panel before the last time holds no more.
    pub asked: u64,
}

/// The marks of lanes, by their place in the palette: with them and their dashes lanes are told apart without colour.
pub const MARKS: [Sign; crate::session::lanes::PALETTE] =
    [Sign::Dot, Sign::Diamond, Sign::Square, Sign::Up, Sign::Ring, Sign::Down, Sign::Stripes, Sign::Dotted];

impl LaneLook<'_> {
    /// The dashes of its lines.
    #[must_use]
    pub fn dash(&self) -> Dash {
        Dash::of(self.place)
    }

    /// Its mark.
    #[must_use]
    pub fn mark(&self) -> Sign {
        MARKS[self.place % MARKS.len()]
    }
}

/// All that a panel may look at.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The plan that runs: stream, step size, session.
    pub plan: &'a Arc<Plan>,
    /// The session as it is set by now: its title, notes and bookmarks, which no run waits for.
    pub session: &'a Session,
    /// The lanes, in order.
    pub lanes: &'a [LaneLook<'a>],
    /// The playhead: writes seen. Panels show the memory as it was then.
    pub writes: usize,
    /// Writes that every lane has reached; the playhead is never beyond.
    pub reached: usize,
    /// The key/value head shown.
    pub kv_head: usize,
    /// The query head shown (an index over all query heads, one that reads `kv_head`).
    pub query_head: usize,
    /// What is selected.
    pub selection: &'a Selection,
    /// The lane that panels of one lane show.
    pub lane: WindowLane<'a>,
    /// Long questions, answered in the background.
    pub studies: &'a Studies,
    /// Exact states of the lanes, asked for by looking them up.
    pub states: &'a States,
}

impl Look<'_> {
    /// The head that is looked at among the `heads` key/value heads of a lane: one with a state for each query head has as many as there
    /// are query heads.
    #[must_use]
    pub fn head_among(&self, heads: usize) -> usize {
        let head = if heads == self.plan.stream.kv_heads() { self.kv_head } else { self.query_head };
        head.min(heads.saturating_sub(1))
    }

    /// The head that is looked at of lane number `lane`, in its own stream.
    #[must_use]
    pub fn head_of_lane(&self, lane: usize) -> usize {
        self.head_among(self.lanes[lane].plan.setup.stream.kv_heads())
    }

    /// The number of lane number `lane` in its plan: what the engine's states and the studies know it by.
    #[must_use]
    pub fn number_in_plan(&self, lane: usize) -> usize {
        self.plan.lanes.iter().position(|l| std::ptr::eq(l, self.lanes[lane].plan)).unwrap_or(lane)
    }
}

/// A panel.
pub trait Panel {
    /// Draws itself into `ui`, all of it, and pushes what the user asked for.
    fn ui(&mut self, ui: &mut eframe::egui::Ui, look: &Look<'_>, commands: &mut Vec<Command>);

    /// Names what can be chosen inside it, choice by choice: sessions keep it by these names. What only filters a list, or where a picture
    /// is zoomed to, is none of it.
    fn choices(&mut self, _choices: &mut choices::Choices<'_>) {}
}
