//! The formula with its numbers: the equation of a lane's layer, typeset, with the values of a read, a token and a step in it.

mod answers;
pub mod dictionary;
mod draw;
pub mod equation;
pub mod exact;
pub mod layers;
pub mod mixing;
pub mod recurrence;
mod rows;
mod writes;

use eframe::egui::{RichText, ScrollArea, Ui};

use super::common::{chunks_seen, nothing_written};
use super::{LaneChoice, Look, Panel, Subject};
use crate::app::command::Command;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::choices::Choices;
use crate::widget::palette::Ink;

use equation::Equation;
use exact::{Kept, LaneAt, Rest, RunKey};
use layers::Chosen;

/// The text behind the panel's `?`.
pub const HELP: &str = "The formula of a lane's layer, and below each line the same with the numbers of this moment in place of the symbols.\n\n\
Of which read and which token: the selected ones. Without a selection, of the last read that the lane has answered at the playhead (it answers the reads of a chunk when the chunk is whole), and of the newest token that founded a centroid or was admitted to the cache. With a step selected, its growth is told too.\n\n\
How to read it: bold letters are vectors (q a query, k a key, v a value, o an output, Dk and Dv a centroid's key and value) or the state (H and s of linear attention and LoLA, S of the delta rule and Mamba-2); \
other letters are numbers; bars are lengths. φ is the feature map, β the logit scale, c a count, n rows in use, N the room for them, t writes so far, m the rows that a chunk founds, ε = 1e-6 (of linear attention as set, and t ε where it is added to the mean over t writes). z_max, the largest logit, is taken out of every exponent, so that nothing overflows, and changes no share.\n\n\
Hover for what a term is, with its symbol and its exact value; click it, and the panel that draws it comes to the front.\n\n\
Where the numbers come from: choices, similarities, scores, errors and outputs are those of the trace; what is made of the memory itself comes from the exact state before the step, which the engine gives out, and is computed in float64. \
Where neither has a value, none is shown.";

/// What the equations depend on.
type Of = (RunKey, usize, Chosen);

/// See [`HELP`].
#[derive(Debug, Default)]
pub struct Formula {
    choice: LaneChoice,
    rest: Rest,
    kept: Kept<Of, (Vec<Equation>, bool, u64)>,
    /// How often equations were made.
    made: u64,
    drawn: draw::Drawn,
    /// The lane that was selected when the choice was last made by hand.
    followed: Option<usize>,
}

impl Panel for Formula {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes: Vec<usize> = (0..look.lanes.len()).collect();
        if look.selection.lane != self.followed {
            self.followed = look.selection.lane;
            if let Some(lane) = look.selection.lane.and_then(|l| look.lanes.get(l)) {
                self.choice.set(look, &lane.plan.name);
            }
        }
        let Some(number) = self.choice.row(ui, look, &lanes, "No lane is switched on.", |ui, lane| {
            // A lane that is called what its layer is called needs that name once.
            let plan = look.lanes[lane].plan;
            if !plan.kind.title().eq_ignore_ascii_case(&plan.name) {
                ui.label(RichText::new(plan.kind.title()).color(Ink::of(ui).quiet));
            }
        }) else {
            return;
        };
        let Some(lane) = LaneAt::of(look, number) else { return };
        let ask = self.rest.rested(ui, look);
        let chosen = chosen(look, &lane);
        let key = (RunKey::new(look), number, chosen);
        let Self { kept, made, drawn, .. } = self;
        let (equations, missing, made) = kept.get(look.states, ask, key, |exact| {
            *made += 1;
            let all = layers::equations(&lane, exact, chosen);
            (all, exact.missing(), *made)
        });
        if chosen.done == 0 {
            nothing_written(ui);
            return;
        }
        if *missing {
            ui.label(RichText::new("Waiting for the exact state of this step…").small().color(Ink::of(ui).quiet));
        }
        ScrollArea::both().auto_shrink(false).show(ui, |ui| {
            let lines = drawn.lines(ui, *made, equations);
            for (i, (equation, lines)) in equations.iter().zip(lines).enumerate() {
                draw::equation(ui, i, equation, lines, commands);
            }
            crate::app::focus::follow(ui);
        });
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.choice);
    }
}

/// The selected read and token, or the newest there are.
fn chosen(look: &Look<'_>, lane: &LaneAt<'_>) -> Chosen {
    let done = chunks_seen(look, lane.number);
    let written = lane.written(done);
    let read = match look.selection.read.filter(|r| *r < lane.stream().reads()) {
        Some(read) => Some((read, true)),
        None => lane.stream().after().partition_point(|&a| a as usize <= written).checked_sub(1).map(|r| (r, false)),
    };
    let token = match look.selection.token.filter(|t| *t < lane.stream().writes()) {
        Some(token) => Some((token, true)),
        None => newest(lane, done).map(|t| (t, false)),
    };
    let step = match look.selection.subject {
        Some(Subject::Step(step)) => {
            let [before, after] = [step, step + 1].map(|s| lane.plan.chunks_at(look.plan.writes_at(s)));
            (before < after).then(|| after - 1)
        }
        _ => None,
    };
    Chosen { read, token, done, step }
}

/// The newest token of note: a founder, one that was admitted to the cache, or just the newest.
fn newest(lane: &LaneAt<'_>, done: usize) -> Option<usize> {
    let written = lane.written(done);
    let founders = lane.wholes("is_new");
    if !founders.is_empty() {
        return founders[..written.min(founders.len())].iter().rposition(|&f| f == 1);
    }
    if let Some(admitted) = lane.trace.channel("admitted") {
        let last = (0..done.min(admitted.len())).rev().find_map(|s| admitted.wholes_at(lane.kv, s).last().copied());
        return last.map(|id| id as usize).or(written.checked_sub(1));
    }
    written.checked_sub(1)
}

/// Whether a token was in the sparse cache before a step.
fn cached_before(lane: &LaneAt<'_>, write: usize, step: usize) -> bool {
    let (Some(admitted), Some(displaced)) = (lane.trace.channel("admitted"), lane.trace.channel("displaced")) else { return false };
    let mut index = Residency::new(lane.plan.setup.params.size("window"), lane.chunk(), lane.stream().writes());
    index.extend(admitted, displaced, lane.kv);
    index.at(write, step) == Place::Cache
}
