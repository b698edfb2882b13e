//! Cache: which of LoLA's three memories holds each token, who came and went, how full they are, how old their members; and the text
//! itself in the colours of the memories.

mod age;
mod events;
mod held;
mod map;
mod marked;
mod occupancy;
mod picture;
mod text;
mod text_rows;

use std::ops::Range;

use eframe::egui::{Label, RichText, Ui};

pub(super) use self::events::{Exchange, heading, last_step, lists, short_name};
pub(super) use self::held::{Held as Memories, by_hand, lanes};
pub use self::picture::cells;

use self::age::Age;
use self::events::Events;
use self::held::{Held, held};
use self::occupancy::Occupancy;
use self::text::Text;
use super::common::{Key, plural, words};
use super::row::{Tab, tabs};
use super::{LaneChoice, Look, Panel};
use crate::app::command::Command;
use crate::app::facts::Index;
use crate::app::ribbon::runs_of;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::choices::Choices;
use crate::widget::cached::Cached;
use crate::widget::palette::Ink;

/// The text behind the panel's `?`.
pub const HELP: &str = "Where each token is remembered: raw in the sliding window, whole in the sparse cache, or folded into the linear state, from which nothing \
returns. Every view goes up to the playhead; a dashed line is the pinned moment.\n\n\
Map: token by step. Striped blue is the window, plain yellow the cache, dotted grey the state. Read a row from left to right: a token is written, passes through the window, and then either stays whole (a yellow line as long as it is \
cached) or is folded. Where a hand forgets the state, what was in it is striped in a faint grey: nowhere any more. The rows of the marked role (the needle) are drawn higher than the others, so that their own colours can be read (of a row of several tokens each memory has its share of the height: window, cache, state from above), and outlined: solid while a token of the row is raw, dashed once all are folded. Where a pixel stands for several tokens yellow covers it in the share of them that are cached, but is never fainter than 12% while any is; under it, the pixel is blue if any is in the window, else grey.\n\n\
Events: every entry into the cache (a dot) and every eviction from it (a ring), and beside them who came and who went in the last step, by falling score. The algorithm pairs nobody: the candidates of a step are compared all \
together, so those who came stand against all of those who went.\n\n\
Occupancy: how many tokens each memory holds after each step, stacked, or as lines on a logarithmic axis where the state would hide the others.\n\n\
Age: how many steps ago the pairs in the cache were written (bars, and a triangle for each) and how many ago they came in (dashed line). A pair that stays from the beginning is at the right end.\n\n\
Text: the stream's tokens, each in the colour and with the line of the memory that holds it now; of any lane, with the memories that lane has. Click selects, with Shift all up to there, with Ctrl one more.\n\n\
The formula: pairs that leave the window and pairs already cached are scored by SRE(k, v) = |phi(k)^T H / (phi(k)^T s + 1e-6) - v|^2, how badly \
the state recalls them; the `cache` highest stay (equal ones: the older), all others are folded: H += phi(k) v^T, s += phi(k). (With another score, fifo say, that one decides.)\n\n\
Hover for the token, since when it is there, and who came when it went; click to select it.";

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    #[default]
    Map,
    Events,
    Occupancy,
    Age,
    Text,
}

const TABS: [Tab<View>; 5] = [
    (View::Map, "Map", "Token by step: which memory holds it"),
    (View::Events, "Events", "Who came into the cache and who went"),
    (View::Occupancy, "Occupancy", "How many tokens each memory holds"),
    (View::Age, "Age", "How long the pairs have been in the cache"),
    (View::Text, "Text", "The text, coloured by memory; for every lane"),
];

/// See [`HELP`].
#[derive(Default)]
pub struct ResidencyPanel {
    view: View,
    lane: LaneChoice,
    /// The text view has a choice of its own: every lane has tokens.
    text_lane: LaneChoice,
    index: Index,
    runs: Cached<Key<()>, Runs>,
    said: Cached<Key<usize>, String>,
    map: map::Drawn,
    events: Events,
    occupancy: Occupancy,
    age: Age,
    text: Text,
}

impl Panel for ResidencyPanel {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let is_text = self.view == View::Text;
        let mut lanes = lanes(look, &[]);
        if is_text {
            // Those that keep a cache come first: they are what the panel is about.
            let others: Vec<usize> = (0..look.lanes.len()).filter(|l| !lanes.contains(l)).collect();
            lanes.extend(others);
        }
        if lanes.is_empty() {
            ui.horizontal(|ui| tabs(ui, &mut self.view, &TABS, 0.0));
            words(ui, if is_text { "No lane is switched on." } else { "No lane here keeps a sparse cache; add a LoLA lane." });
            return;
        }
        let Self { view, lane: choice, text_lane, .. } = self;
        let choice = if is_text { text_lane } else { choice };
        let Some(lane) = choice.row(ui, look, &lanes, "", |ui, _| tabs(ui, view, &TABS, 0.0)) else { return };
        if self.view == View::Text {
            // The view may have been chosen just now, of a lane that it shows as well.
            self.text.show(ui, look, lane, &mut self.index, commands);
            return;
        }
        let Some(held) = held(&mut self.index, look, lane) else { return };
        if held.index.steps() == 0 {
            words(ui, "Not computed yet.");
            return;
        }
        let roles = &look.plan.stream.labels().roles;
        let runs = self.runs.get(Key::new(look, 0, 0, 0, ()), || roles.marked.map_or_else(Vec::new, |role| runs_of(roles, role)));
        let said = self.said.get(Key::new(look, held.lane, held.head, held.chunks, look.writes), || count_words(look, &held, runs));
        sentence(ui, look, said);
        match self.view {
            View::Map => map::show(ui, look, &held, (runs, said), &mut self.map, commands),
            View::Events => self.events.show(ui, look, &held, commands),
            View::Occupancy => self.occupancy.show(ui, look, &held),
            View::Age => self.age.show(ui, look, &held, commands),
            View::Text => {}
        }
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("view", &mut self.view, TABS.map(|(view, name, _)| (view, name)));
        choices.lane("lane", &mut self.lane);
        choices.lane("lane of the text", &mut self.text_lane);
        self.occupancy.choices(choices);
    }
}

/// How many of these writes are in the window, the cache and the state after `chunks` chunks, how many were forgotten with the state, and
/// how many are not written.
#[must_use]
pub fn whereabouts(index: &Residency, writes: impl Iterator<Item = usize>, chunks: usize) -> [usize; 5] {
    let mut counts = [0; 5];
    for write in writes {
        counts[slot(index.at(write, chunks))] += 1;
    }
    counts
}

/// Where a place is counted.
fn slot(place: Place) -> usize {
    match place {
        Place::Window => 0,
        Place::Cache => 1,
        Place::State => 2,
        Place::Gone => 3,
        Place::NotYet => 4,
    }
}

/// `needle: 19 of 21 tokens in the cache, 2 in the state`: the sentence that the panel is about.
///
/// `counts` are those of [`whereabouts`]; `waiting` of the last of them are written and wait for the end of the chunk.
#[must_use]
pub fn marked_words(name: &str, counts: [usize; 5], waiting: usize) -> String {
    let [window, cache, state, gone, not_held] = counts;
    let not_yet = not_held.saturating_sub(waiting);
    let total = counts.iter().sum::<usize>();
    let mut text = format!("{name}: {cache} of {} in the cache", plural(total, "token", "tokens"));
    for (n, place) in [
        (window, "in the window"),
        (state, "in the state"),
        (gone, "forgotten with the state"),
        (waiting, "waiting for the end of the chunk"),
        (not_yet, "not written yet"),
    ] {
        if n > 0 {
            text = format!("{text}, {n} {place}");
        }
    }
    text
}

fn count_words(look: &Look<'_>, held: &Held<'_>, runs: &Runs) -> String {
    if !runs.is_empty() {
        let (name, writes) = (marked_role(look), || runs.iter().cloned().flatten());
        let waiting = writes().filter(|&w| w < look.writes && held.index.at(w, held.chunks) == Place::NotYet).count();
        return marked_words(name, whereabouts(held.index, writes(), held.chunks), waiting);
    }
    let [window, cache, state, gone] = held.occupancy(held.chunks);
    let forgotten = if gone > 0 { format!(", {gone} forgotten with it") } else { String::new() };
    format!("{window} in the window, {cache} in the cache, {state} in the state{forgotten}")
}

/// The marked writes of a stream, ascending, as runs of neighbours.
pub(super) type Runs = Vec<Range<usize>>;

/// The name of the marked role, whose writes [`Runs`] are.
pub(super) fn marked_role<'a>(look: &Look<'a>) -> &'a str {
    let roles = &look.plan.stream.labels().roles;
    roles.marked.and_then(|role| roles.names.get(role as usize)).map_or("marked", String::as_str)
}

fn sentence(ui: &mut Ui, look: &Look<'_>, said: &str) {
    let text = RichText::new(said);
    let is_marked = look.plan.stream.labels().roles.marked.is_some();
    ui.add(Label::new(if is_marked { text.strong().color(Ink::of(ui).mark) } else { text }).truncate());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::hand::{Act, Hand};

    #[test]
    fn the_sentence_counts_every_token_once() {
        // Window 2, chunk 2, six writes, three chunks: 4 and 5 in the window, 0 and 2 cached, 1 and 3 folded.
        let mut index = Residency::new(2, 2, 8);
        index.push(&[], &[]);
        index.push(&[0], &[]);
        index.push(&[2], &[]);
        assert_eq!(whereabouts(&index, 0..8, 3), [2, 2, 2, 0, 2]);
        assert_eq!(
            marked_words("needle", whereabouts(&index, [0, 2, 3].into_iter(), 3), 0),
            "needle: 2 of 3 tokens in the cache, 1 in the state"
        );
        let later = whereabouts(&index, [4, 5].into_iter(), 2);
        assert_eq!(marked_words("needle", later, 0), "needle: 0 of 2 tokens in the cache, 2 not written yet");
        assert_eq!(
            marked_words("needle", later, 1),
            "needle: 0 of 2 tokens in the cache, 1 waiting for the end of the chunk, 1 not written yet"
        );
        let forget = Hand { step: 2, kv_head: 0, what: Act::Forget };
        let index = index.with_hands(&[forget], 0);
        assert_eq!(whereabouts(&index, 0..8, 3), [2, 2, 1, 1, 2]);
        assert_eq!(
            marked_words("needle", whereabouts(&index, [0, 1].into_iter(), 3), 0),
            "needle: 1 of 2 tokens in the cache, 1 forgotten with the state"
        );
    }
}
