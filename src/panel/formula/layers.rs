//! The equations of each layer, filled with the numbers of a read, a token or a step.

use crate::panel::common::token_name;

use super::answers::{mixed, state_read};
use super::equation::Equation;
use super::exact::{Exact, LaneAt};
use super::mixing;
use super::rows::dictionary_write;
pub use super::rows::growth;
pub use super::writes::scores;
use super::writes::{linear_write, lola_write, state_write};

/// Of what the equations are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The read, and whether it was selected.
    pub read: Option<(usize, bool)>,
    /// The token, and whether it was selected.
    pub token: Option<(usize, bool)>,
    /// Chunks of the lane that are done.
    pub done: usize,
    /// The chunk of the lane that ends in the selected step.
    pub step: Option<usize>,
}

fn selected(by: bool, default: &str) -> String {
    if by { "selected".to_owned() } else { default.to_owned() }
}

/// Every equation of a lane's layer.
#[must_use]
pub fn equations(lane: &LaneAt<'_>, exact: &Exact<'_>, chosen: Chosen) -> Vec<Equation> {
    let name = lane.plan.kind.name();
    let mut all = Vec::new();
    if !lane.plan.setup.hands.is_empty() {
        let mut e = Equation::new("By hand");
        e.say("This lane's memory was changed by hand: across the step where that happened, what the layer's own equations say does not hold.");
        all.push(e);
    }
    if let Some((read, by)) = chosen.read {
        let which = selected(by, "the last that this lane has answered");
        let heading = |what: &str| format!("{what} of read {read} ({which})");
        if lane.after(read).is_some_and(|after| after > lane.written(chosen.done)) {
            let mut later = Equation::new(heading("Answer"));
            later.say("This lane has not answered it yet at the playhead: it answers the reads of a chunk when the chunk is whole.");
            all.push(later);
        } else if matches!(name, "deltanet" | "gated_deltanet" | "mamba2") {
            all.push(state_read(lane, exact, read, heading("Answer")));
        } else {
            let what = if name == "ovq" { "Prediction" } else { "Answer" };
            let mix = mixing::of(lane, exact, read);
            all.push(mix.map_or_else(|| missing(heading(what), exact), |mix| mixed(lane, read, &mix, heading(what))));
        }
    } else {
        let mut none = Equation::new("Answer");
        none.say("No read has been answered yet.");
        all.push(none);
    }
    // Of a token's own step the growth is told with the token.
    let own = chosen.token.map(|(write, _)| write / lane.chunk());
    if let Some(step) = chosen.step.filter(|s| name == "ovq" && *s < chosen.done && Some(*s) != own) {
        all.extend(growth(lane, step));
    }
    if let Some((write, by)) = chosen.token {
        let default = match name {
            "ovq" => "the newest founder",
            "lola" => "the newest that was admitted",
            _ => "the newest",
        };
        let which = selected(by, default);
        let heading = |what: &str| format!("{what}: {} ({which})", token_name(lane.stream(), write));
        if write >= lane.written(chosen.done) {
            let mut later = Equation::new(heading("Write"));
            later.say("It is not in this lane's memory yet at the playhead.");
            all.push(later);
        } else {
            match name {
                "ovq" | "vq" => all.extend(dictionary_write(lane, exact, write, heading)),
                "lola" => all.extend(lola_write(lane, exact, write, chosen.done, heading)),
                "linear" => all.extend(linear_write(lane, exact, write, chosen.done, heading)),
                "deltanet" | "gated_deltanet" | "mamba2" => all.extend(state_write(lane, exact, write, chosen.done, heading)),
                _ => {}
            }
        }
    }
    all
}

pub(super) fn missing(heading: String, exact: &Exact<'_>) -> Equation {
    let mut e = Equation::new(heading);
    e.say(if exact.missing() {
        "The exact state that the numbers are made of is being computed."
    } else {
        "It sees too many tokens to be summed up while you wait: select the read and open the panel Reads, which weighs them in the background."
    });
    e
}
