//! Two moments: a pinned moment beside the current one, or a pinned lane beside another at the same moment, and what differs.

mod model;
mod parts;

use std::sync::{Arc, Weak};

use eframe::egui::{ComboBox, Grid, RichText, ScrollArea, TextureHandle, Ui};

use super::common::{Canvas, Key, lane_link, plural, swatch, words};
use super::{LaneChoice, Look, Panel, Pin};
use crate::app::command::{Command, ViewCommand};
use crate::metric::{Running, Scored, Summary};
use crate::panel::choices::Choices;
use crate::panel::recall::{figures, reads_at};
use crate::session::plan::Plan;
use crate::widget::cached::Cached;
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;
use crate::widget::ticks::number;

use model::{Model, Side};

/// The text behind the panel's `?`.
pub const HELP: &str = "A moment that is held, A, beside the one at the playhead, B, with the difference; or two lanes at the same moment.\n\n\
P pins the moment at the playhead as A (and lets it go again); on the timeline its handle can be dragged. With a lane pinned in its place, A is that lane \
and B the lane chosen here, both at the playhead.\n\n\
The formula is B - A throughout. Scores: accuracy, on a capture the relative error (a root), on regression the relative squared error, of all reads answered up to A and up to B, and of those between alone; \
lanes answer a read once their chunk is over, and only reads that every lane named has answered count, so that scores beside each other are of the same reads. Then, for the lane chosen: rows in use n (without those deleted by hand), the counts c \
of its rows (their median, largest, and perplexity exp(H(c / sum c))), the cache's pairs and threshold, the lengths |H| (|S| of delta layers) and |s| of the linear state; each at A, at B, \
and B - A. Below: who founded a row between A and B; the centroids that moved furthest, |Dk at B - Dk at A|; who is cached at both, only at A (it went, if A is earlier), only at B \
(it came); and the state at B minus that at A as a heatmap, purple below zero, orange above it, with its length |H_B - H_A|.\n\n\
Of two lanes: who is cached by which, which writes went to a row with another founder, and which reads were answered otherwise.\n\n\
Hover for the number of a cell. States are exact: the engine runs to both moments. Names are links.";

/// What the model depends on besides lane, head and chunks of B.
type Extra = (usize, usize, bool, bool, usize, usize);

/// See [`HELP`].
#[derive(Default)]
pub struct Moments {
    lane: LaneChoice,
    plan: Weak<Plan>,
    scores: Vec<Option<Running>>,
    model: Cached<Key<Extra>, Model>,
    picture: Cached<Key<(Extra, Canvas)>, TextureHandle>,
}

impl Panel for Moments {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        ui.spacing_mut().item_spacing.y = 3.0;
        pins(ui, look, commands);
        let pin = look.selection.pin.filter(|p| !matches!(p, Pin::Lane(lane) if *lane >= look.lanes.len()));
        let Some(pin) = pin else {
            let text = "Nothing is pinned. Pin the moment at the playhead (P), move on, and what has changed stands here; or pin a lane, to see another beside it.";
            words(ui, text);
            return;
        };
        self.update(look);
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            match pin {
                Pin::Moment(writes) => self.two_moments(ui, look, writes, commands),
                Pin::Lane(lane) => self.two_lanes(ui, look, lane, commands),
            }
            crate::app::focus::follow(ui);
        });
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.lane);
    }
}

/// The buttons that pin, and what A and B are.
fn pins(ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let pin = look.selection.pin;
        let mut push = |pin| commands.push(Command::View(ViewCommand::Pin(pin)));
        if ui.button("Pin this moment").on_hover_text("Hold the moment at the playhead as A (P)").clicked() {
            push(Some(Pin::Moment(look.writes)));
        }
        let name = |lane: usize| look.lanes.get(lane).map_or("a lane", |l| l.plan.name.as_str());
        let mut chosen = match pin {
            Some(Pin::Lane(lane)) => Some(lane),
            _ => None,
        };
        let before = chosen;
        let combo = ComboBox::from_id_salt("pin lane").selected_text(chosen.map_or("Pin a lane", name)).width(80.0).truncate();
        let response = combo.show_ui(ui, |ui| {
            for lane in 0..look.lanes.len() {
                ui.selectable_value(&mut chosen, Some(lane), name(lane));
            }
        });
        response.response.accessible_name("Pin a lane").on_hover_text("Hold a lane as A, to see another beside it");
        if chosen != before {
            push(chosen.map(Pin::Lane));
        }
        if pin.is_some() && ui.button("Let go").on_hover_text("Nothing is pinned any more (P)").clicked() {
            push(None);
        }
        let moment =
            |writes: usize| format!("{} ({} done)", plural(writes, "write", "writes"), plural(look.plan.step_at(writes), "step", "steps"));
        let text = match pin {
            Some(Pin::Moment(a)) => format!("A: after {}. B, the playhead: after {}.", moment(a), moment(look.writes)),
            Some(Pin::Lane(lane)) => format!("A: {}. Both after {}.", name(lane), moment(look.writes)),
            None => String::new(),
        };
        ui.label(RichText::new(text).size(SMALL).color(Ink::of(ui).quiet));
    });
}

/// Reads that all of these lanes have answered after so many writes of the stream: those of their whole chunks.
fn answered(look: &Look<'_>, lanes: &[usize], writes: usize) -> usize {
    lanes.iter().map(|&lane| reads_at(look, &look.lanes[lane], writes)).min().unwrap_or(0)
}

/// True if one of these lanes has answered more reads than another after so many writes.
fn uneven(look: &Look<'_>, lanes: &[usize], writes: usize) -> bool {
    let fewest = answered(look, lanes, writes);
    lanes.iter().any(|&lane| reads_at(look, &look.lanes[lane], writes) > fewest)
}

/// B minus A in words, with its sign.
fn difference(a: Option<f64>, b: Option<f64>) -> String {
    match (a, b) {
        (Some(a), Some(b)) if b > a => format!("+{}", number(b - a)),
        (Some(a), Some(b)) => number(b - a),
        _ => String::new(),
    }
}

/// A line of numbers of the table.
fn line(ui: &mut Ui, cells: &[&str]) {
    for cell in cells {
        ui.label(RichText::new(*cell).size(SMALL));
    }
    ui.end_row();
}

impl Moments {
    fn update(&mut self, look: &Look<'_>) {
        if Weak::as_ptr(&self.plan) != Arc::as_ptr(look.plan) || self.scores.len() != look.lanes.len() {
            self.plan = Arc::downgrade(look.plan);
            self.scores = look.lanes.iter().map(|_| Running::new(look.plan.stream.targets())).collect();
        }
        for (running, lane) in self.scores.iter_mut().zip(look.lanes) {
            if let Some(running) = running {
                running.update(lane.trace);
            }
        }
    }

    /// The score of a lane over the reads that all the lanes `among` answered between two moments, for the query head shown.
    fn score(&self, look: &Look<'_>, lane: usize, among: &[usize], writes: std::ops::Range<usize>) -> Option<Summary> {
        let reads = answered(look, among, writes.start)..answered(look, among, writes.end);
        let running = self.scores.get(lane)?.as_ref().filter(|_| !reads.is_empty())?;
        Some(running.over(look.query_head..look.query_head + 1, reads))
    }

    fn two_moments(&mut self, ui: &mut Ui, look: &Look<'_>, pinned: usize, commands: &mut Vec<Command>) {
        let (from, to) = (pinned.min(look.writes), pinned.max(look.writes));
        let headline = |s: Option<Summary>| s.and_then(|s| s.headline());
        let all: Vec<usize> = (0..look.lanes.len()).collect();
        let any = all.iter().any(|&l| self.score(look, l, &all, 0..to).is_some());
        if any {
            Grid::new("scores of moments").num_columns(5).spacing([12.0, 2.0]).striped(true).show(ui, |ui| {
                line(ui, &[Scored::of(look.plan.stream.targets()).name(), "up to A", "up to B", "B - A", "between"]);
                for (index, lane) in look.lanes.iter().enumerate() {
                    let [a, b, between] = [0..pinned, 0..look.writes, from..to].map(|r| self.score(look, index, &all, r));
                    ui.horizontal(|ui| {
                        swatch(ui, lane.colour);
                        drop(lane_link(ui, RichText::new(&lane.plan.name).size(SMALL), index, commands));
                    });
                    line(ui, &[&figures(a), &figures(b), &difference(headline(a), headline(b)), &figures(between)]);
                }
            });
        } else {
            ui.label(RichText::new("No read has been answered by every lane by then.").size(SMALL));
        }
        let moments = [pinned, look.writes];
        if moments.iter().any(|&writes| uneven(look, &all, writes)) {
            let [a, b] = moments.map(|writes| answered(look, &all, writes));
            ui.label(RichText::new(format!("Of the reads that every lane has answered: {a} up to A, {b} up to B.")).size(SMALL));
        }
        ui.separator();
        let Some(lane) = self.lane.row(ui, look, &all, "No lane is switched on.", |_, _| {}) else { return };
        let plan = look.lanes[lane].plan;
        self.sides(ui, look, (lane, plan.chunks_at(pinned)), (lane, plan.chunks_at(look.writes)), commands);
    }

    fn two_lanes(&mut self, ui: &mut Ui, look: &Look<'_>, pinned: usize, commands: &mut Vec<Command>) {
        let others: Vec<usize> = (0..look.lanes.len()).filter(|l| *l != pinned).collect();
        let none = "There is no other lane to see beside this one.";
        let Some(lane) = self.lane.row(ui, look, &others, none, |ui, _| drop(ui.label("is B"))) else { return };
        let both = [pinned, lane];
        let [a, b] = both.map(|l| self.score(look, l, &both, 0..look.writes));
        let headline = |s: Option<Summary>| s.and_then(|s| s.headline());
        if a.is_some() || b.is_some() {
            Grid::new("scores of lanes").num_columns(4).spacing([12.0, 2.0]).show(ui, |ui| {
                line(ui, &["", "A", "B", "B - A"]);
                let name = format!("{} so far", Scored::of(look.plan.stream.targets()).name());
                line(ui, &[&name, &figures(a), &figures(b), &difference(headline(a), headline(b))]);
            });
        }
        if uneven(look, &both, look.writes) {
            let reads = plural(answered(look, &both, look.writes), "read", "reads");
            ui.label(RichText::new(format!("Of the {reads} that both lanes have answered.")).size(SMALL));
        }
        let chunks = |lane: usize| look.lanes[lane].plan.chunks_at(look.writes);
        self.sides(ui, look, (pinned, chunks(pinned)), (lane, chunks(lane)), commands);
    }

    /// The details of two sides, each a lane after so many chunks.
    fn sides(&mut self, ui: &mut Ui, look: &Look<'_>, a: (usize, usize), b: (usize, usize), commands: &mut Vec<Command>) {
        let state = |(lane, chunks): (usize, usize)| look.states.at(lane, chunks).map(|s| &**s);
        let side = |at: (usize, usize)| Side { lane: at.0, chunks: at.1, state: state(at) };
        let (a, b) = (side(a), side(b));
        if a.state.is_none() || b.state.is_none() {
            ui.label(RichText::new("The exact states are being computed.").size(SMALL).color(Ink::of(ui).quiet));
        }
        let extra = (a.lane, a.chunks, a.state.is_some(), b.state.is_some(), look.query_head, look.lanes.len());
        let key = || Key::new(look, b.lane, look.kv_head, b.chunks, extra);
        let model = self.model.get(key(), || Model::new(look, a, b));
        parts::quantities(ui, model);
        parts::lists(ui, look, model, (a.lane, b.lane), commands);
        if let Some(states) = &model.states {
            let picture = &mut self.picture;
            parts::heatmap(ui, states, |canvas, draw| {
                picture.get(Key::new(look, b.lane, look.kv_head, b.chunks, (extra, canvas)), draw).id()
            });
        }
    }
}
