//! State: the linear state of a lane from inside: its numbers, its singular values through time, which tokens collide in it, and
//! how large the normaliser of each read is.

mod collide;
mod gram;
mod heat;
mod normaliser;
mod spectrum;

use std::borrow::Cow;

use eframe::egui::Ui;

use super::common::{Key, words};
use super::row::{Tab, tabs};
use super::{LaneChoice, Look, Panel};
use crate::app::command::Command;
use crate::app::study::spectrum::has_state;
use crate::panel::choices::Choices;
use crate::trace::Values;
use crate::widget::cached::Cached;

/// The text behind the panel's `?`.
pub const HELP: &str = "The linear state of a lane, from inside. Linear attention and LoLA hold H (features x value components) and s (features); DeltaNet, Gated \
DeltaNet and Mamba-2 hold S (key components x value components) and no s.\n\n\
The formula: H = sum phi(k) v^T and s = sum phi(k), over the writes in the state; read phi(q)^T H / (phi(q)^T s + 1e-6). For the others S <- a S, then \
S <- S + b k (v - S^T k)^T (DeltaNet: a = 1, keys of length 1), or S <- a S + dt k v^T (Mamba-2); read S^T q.\n\n\
Heatmap: the exact state at the playhead, taken from the engine, with s as a strip of its own colours beside it. |H| is the Frobenius norm, the root of the sum of squares. \
`symlog` colours by a symmetric logarithm, for states of which a few numbers are far larger than all others: f(x) = x / c up to the threshold c, beyond it sign(x) (1 + ln(|x| / c)); \
c is three powers of ten below the largest until another is chosen. Until `linear` or `symlog` is chosen, it is `symlog` where 99 of 100 numbers are nearer to zero than 5% of the largest.\n\n\
Spectrum: through the run, the singular values s_1 >= s_2 >= .. of the state and its Frobenius norm |S|_F = sqrt(sum s_i^2). Effective rank = exp(-sum p_i ln p_i) with p_i = s_i / sum s \
(Roy and Vetterli 2007): how many equally strong directions would be as even. Stable rank = |S|_F^2 / s_1^2: how many of the strongest one's size. A state of low rank returns \
mixtures, whatever it is asked. The states are made again in float64 from what the run recorded; of a long run an even sample of at most 128 steps.\n\n\
Collisions: the Gram matrix phi(k_i).phi(k_j) of chosen tokens: the selected group, else the marked tokens with the keys nearest to them, else the newest. As a cosine it is \
G_ij / sqrt(G_ii G_jj): near 1 off the diagonal, reading with one key returns the other's value too. Layers without a feature map have phi(k) = k (DeltaNet: at length 1). Beside the matrix, where there is room, the pairs furthest from zero. `hold` keeps the tokens as they are.\n\n\
Normaliser: what each read of the state is divided by, as the lane recorded it: phi(q)^T s (linear attention, without the epsilon), or the state's part of the sum, \
w phi(q)^T s (LoLA), on a logarithmic axis; the lowest hundredth of the reads is marked: where it is small, small errors of the state are divided by little.\n\n\
Hover for the exact number and its indices; click to select the token, the read or the step.";

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    #[default]
    Heatmap,
    Spectrum,
    Collisions,
    Normaliser,
}

const VIEWS: [Tab<View>; 4] = [
    (View::Heatmap, "Heatmap", "The state's numbers at the playhead"),
    (View::Spectrum, "Spectrum", "Norm, singular values and effective rank through the run"),
    (View::Collisions, "Collisions", "How alike the features of chosen tokens are"),
    (View::Normaliser, "Normaliser", "What each read's output was divided by"),
];

/// See [`HELP`].
#[derive(Default)]
pub struct StatePanel {
    view: View,
    lane: LaneChoice,
    /// Which lanes have a state.
    lanes: Cached<Key<()>, Vec<usize>>,
    heat: heat::Heat,
    spectrum: spectrum::Through,
    collide: collide::Collide,
    normaliser: normaliser::Sizes,
}

impl Panel for StatePanel {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let with_state = || (0..look.lanes.len()).filter(|&l| has_state(look.lanes[l].plan)).collect();
        let lanes = self.lanes.get(Key::new(look, 0, 0, look.lanes.len(), ()), with_state);
        let Self { lane, view, .. } = self;
        let none = "No lane here keeps a linear state; add a linear, LoLA, DeltaNet or Mamba-2 lane.";
        let lane = lane.row(ui, look, lanes, none, |ui, _| tabs(ui, view, &VIEWS, 0.0));
        let Some(lane) = lane else { return };
        match self.view {
            View::Heatmap => self.heat.ui(ui, look, lane),
            View::Spectrum => self.spectrum.ui(ui, look, lane, commands),
            View::Collisions => self.collide.ui(ui, look, lane, commands),
            View::Normaliser => self.normaliser.ui(ui, look, lane, commands),
        }
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("view", &mut self.view, VIEWS.map(|(view, name, _)| (view, name)));
        choices.lane("lane", &mut self.lane);
        self.heat.choices(choices);
        self.spectrum.choices(choices);
        self.collide.choices(choices);
    }
}

/// The letter of a lane's state: H beside a normaliser, else S.
fn letter(look: &Look<'_>, lane: usize) -> &'static str {
    if has_map(look, lane) { "H" } else { "S" }
}

/// True if the lane's layer has a feature map.
fn has_map(look: &Look<'_>, lane: usize) -> bool {
    look.lanes[lane].plan.kind.params().iter().any(|p| p.name == "fmap")
}

/// One head's numbers of an array of a state.
fn numbers_of(values: &Values, head: usize, each: usize) -> Cow<'_, [f32]> {
    let range = head * each..(head + 1) * each;
    match values.as_f32().and_then(|v| v.get(range.clone())) {
        Some(own) => Cow::Borrowed(own),
        None => Cow::Owned(range.map(|i| values.get(i).map_or(f32::NAN, |x| x as f32)).collect()),
    }
}

/// Says in words why a view is empty.
fn empty(ui: &mut Ui, text: &str) {
    words(ui, text);
}
