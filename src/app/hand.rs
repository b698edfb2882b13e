//! What can be done by hand to what is looked at: buttons that branch the run from the playhead into a new lane.
//!
//! A branch is the lane once more with one intervention added, at the lane's own step at the playhead
//! ([`crate::session::hand`]). Both lanes run, and every panel shows the difference. The same is in the palette of commands.

use eframe::egui::{Button, Label, RichText, Sense, Ui, vec2};

use crate::app::command::{Command, SessionCommand};
use crate::app::facts::Index;
use crate::app::palette::Item;
use crate::app::timeline_bar::token_text;
use crate::layer::lola::residency::Place;
use crate::panel::common::head_of;
use crate::panel::{Look, Subject};
use crate::session::MAX_LANES;
use crate::session::hand::{self, Act, Hand};
use crate::session::plan::Plan;

/// Something that can be done, in one lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The lane, numbered as panels see it.
    pub lane: usize,
    /// What would be done; nothing where something is still to be chosen for it.
    pub hand: Option<Hand>,
    /// On the button.
    pub label: String,
    /// What it does, in a sentence.
    pub hint: String,
    /// Why it cannot be done now, if it cannot.
    pub refused: Option<String>,
    /// True where it can as soon as one lane less runs.
    pub crowded: bool,
}

/// Buttons for all that can be done to `subject` at the playhead; nothing where nothing makes sense.
pub fn buttons(ui: &mut Ui, look: &Look<'_>, index: &mut Index, subject: Subject, commands: &mut Vec<Command>) {
    let offers = offers(look, index, subject);
    if offers.is_empty() {
        return;
    }
    ui.add_space(8.0);
    ui.label(RichText::new("By hand").strong()).on_hover_text(
        "Changes a memory at the playhead and lets the run go on from there, in a new lane beside the old one. What these do is the program's own invention, not the papers'.",
    );
    if crowded(look.plan) {
        make_room(ui, look, &offers, commands);
    }
    for number in 0..look.lanes.len() {
        let of_lane: Vec<&Offer> = offers.iter().filter(|o| o.lane == number).collect();
        if of_lane.is_empty() {
            continue;
        }
        let lane = &look.lanes[number];
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            ui.painter().rect_filled(rect, 2.0, lane.colour);
            ui.add(Label::new(RichText::new(&lane.plan.name).small()).truncate());
            for offer in of_lane {
                let button = ui.add_enabled(offer.refused.is_none(), Button::new(RichText::new(&offer.label).small()).small());
                let button = button.accessible_name(format!("{}: {}", lane.plan.name, offer.label));
                let button = button.on_hover_text(&offer.hint);
                let button = button.on_disabled_hover_text(offer.refused.as_deref().unwrap_or_default());
                if let (true, Some(hand)) = (button.clicked(), offer.hand) {
                    commands.push(Command::Session(SessionCommand::Hand { lane: lane.plan.index, hand }));
                }
            }
        });
    }
}

/// True where no more lanes can run, so that there is no room for a branch.
fn crowded(plan: &Plan) -> bool {
    plan.session.lanes.iter().filter(|l| l.enabled).count() >= MAX_LANES
}

/// The lanes that may make room for a branch: those that no offer is of; where there is an offer of every lane, all of them.
#[must_use]
pub fn spare(lanes: usize, offers: &[Offer]) -> Vec<usize> {
    let without: Vec<usize> = (0..lanes).filter(|n| offers.iter().all(|o| o.lane != *n)).collect();
    if without.is_empty() { (0..lanes).collect() } else { without }
}

/// Says that there is no room for a branch, with a button for each lane that may make room.
fn make_room(ui: &mut Ui, look: &Look<'_>, offers: &[Offer], commands: &mut Vec<Command>) {
    let text = format!("{MAX_LANES} lanes run, the most at once, and a branch is one more. Switch one off to make room:");
    ui.add(Label::new(RichText::new(text).small()).wrap());
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 3.0);
        for number in spare(look.lanes.len(), offers) {
            let lane = &look.lanes[number];
            let button = ui.add(Button::new(RichText::new(format!("{} off", lane.plan.name)).small()).small());
            let button = button.accessible_name(format!("Switch {} off to make room for a branch", lane.plan.name));
            let hint =
                format!("{} stops running and stays in the list of lanes; Undo, or its check mark there, has it run again", lane.plan.name);
            if button.on_hover_text(hint).clicked() {
                commands.push(Command::Session(SessionCommand::ShownLaneOff { lane: lane.plan.index }));
            }
        }
    });
}

/// What can be done to `subject` at the playhead, for the palette of commands. What waits only for room is listed too, and says so.
#[must_use]
pub fn items(look: &Look<'_>, index: &mut Index, subject: Subject) -> Vec<Item> {
    let item = |offer: Offer| {
        let lane = &look.lanes[offer.lane].plan;
        let hand = offer.hand.filter(|_| offer.refused.is_none() || offer.crowded)?;
        let room = if offer.crowded { ": switch a lane off first" } else { "" };
        let title = format!("By hand: {} in {}{room}", offer.label, lane.name);
        let command = Command::Session(SessionCommand::Hand { lane: lane.index, hand });
        Some(Item { title, kind: "by hand", keys: String::new(), command })
    };
    offers(look, index, subject).into_iter().filter_map(item).collect()
}

/// All that can be done to `subject` at the playhead, lane by lane.
#[must_use]
pub fn offers(look: &Look<'_>, index: &mut Index, subject: Subject) -> Vec<Offer> {
    let lanes = |one: Option<usize>| (0..look.lanes.len()).filter(move |n| one.is_none_or(|o| o == *n));
    let row = look.selection.row;
    let token = look.selection.token.filter(|w| *w < look.plan.stream.writes());
    match subject {
        Subject::Token(write) => {
            let moved = |n| row.filter(|(lane, _)| *lane == n).and_then(|(_, row)| of_move(look, n, row, Some(write)));
            lanes(None).flat_map(|n| of_write(look, index, n, write).into_iter().chain(moved(n))).collect()
        }
        Subject::Slot { lane, write } => lanes(Some(lane)).flat_map(|n| of_write(look, index, n, write)).collect(),
        Subject::Centroid { lane, row } => {
            let own = |n| of_move(look, n, row, token).into_iter().chain(of_row(look, n, row));
            lanes(Some(lane)).flat_map(own).collect()
        }
        Subject::Lane(lane) => lanes(Some(lane)).filter_map(|n| of_state(look, n)).collect(),
        Subject::Read(_) | Subject::Step(_) => Vec::new(),
    }
}

/// An offer, with what speaks against it.
fn offer(look: &Look<'_>, number: usize, what: Act, label: String, effect: &str) -> Offer {
    let lane = &look.lanes[number];
    let (step, kv_head) = (lane.plan.chunks_at(look.writes), look.head_of_lane(number));
    let hand = Hand { step, kv_head, what };
    let wrong = if step == 0 || step >= lane.plan.setup.stream.chunks(lane.plan.setup.chunk) {
        Some("Move the playhead: before the first step there is no memory, and after the last nothing is read".to_owned())
    } else {
        hand::check(lane.plan.kind, &lane.plan.setup, &hand).err()
    };
    let crowded = wrong.is_none() && crowded(look.plan);
    let refused = wrong.or_else(|| crowded.then(|| format!("{MAX_LANES} lanes run already, and a branch is one more: switch one off")));
    let heads = lane.plan.setup.stream.kv_heads();
    let of_head = if heads > 1 { format!(" (key/value head {kv_head})") } else { String::new() };
    let hint = format!("{effect} A branch of {} from its step {step} on{of_head}, in a new lane.", lane.plan.name);
    Offer { lane: number, hand: Some(hand), label, hint, refused, crowded }
}

/// What can be done to a write where there is a sparse cache.
fn of_write(look: &Look<'_>, index: &mut Index, number: usize, write: usize) -> Vec<Offer> {
    let lane = &look.lanes[number];
    let step = lane.plan.chunks_at(look.writes);
    let name = token_text(look.plan, write).map_or_else(|| format!("token {write}"), |text| format!("token {write} {text}"));
    let mut all = Vec::new();
    let place = index.residency(look, number).map(|r| r.at(write, step));
    if place == Some(Place::Cache) {
        let effect = format!("The pair of {name} leaves the cache and is folded into the state.");
        all.push(offer(look, number, Act::Evict { write }, format!("evict {write}"), &effect));
    }
    let kept = hand::keeps(&lane.plan.setup.hands, look.head_of_lane(number), write, step);
    if matches!(place, Some(Place::Cache | Place::Window)) && !kept && lane.plan.setup.params.size("cache") > 0 {
        let effect = format!("The pair of {name} stays in the cache to the end, whatever its score.");
        all.push(offer(look, number, Act::Keep { write }, format!("keep {write}"), &effect));
    }
    all
}

/// The key of a row of a lane's dictionary to that of a write; without one it is said how to choose it.
fn of_move(look: &Look<'_>, number: usize, row: usize, token: Option<usize>) -> Option<Offer> {
    if !grows(look, number, row) {
        return None;
    }
    let Some(to) = token else {
        let why = format!("Select a token too: the key of centroid {row} moves onto its key. The centroid stays selected beside it.");
        let label = format!("move centroid {row}");
        return Some(Offer { lane: number, hand: None, label, hint: String::new(), refused: Some(why), crowded: false });
    };
    let effect = format!("The key of centroid {row} becomes that of token {to}; its value and its count stay.");
    Some(offer(look, number, Act::Move { row, to }, format!("move centroid {row} to token {to}"), &effect))
}

/// A row of a lane's dictionary away.
fn of_row(look: &Look<'_>, number: usize, row: usize) -> Option<Offer> {
    let effect = format!("Centroid {row} and what it holds leave the memory; no write goes to it any more.");
    grows(look, number, row).then(|| offer(look, number, Act::Delete { row }, format!("delete centroid {row}"), &effect))
}

/// True for a row that is in use at the playhead in a dictionary that grows, and not deleted yet.
fn grows(look: &Look<'_>, number: usize, row: usize) -> bool {
    let lane = &look.lanes[number];
    let Some(sizes) = lane.trace.channel("sizes") else { return false };
    let step = lane.plan.chunks_at(look.writes);
    let in_use = step.checked_sub(1).and_then(|s| sizes.wholes_at(head_of(sizes, look), s).first().copied()).unwrap_or(0);
    let dead = hand::deleted(&lane.plan.setup.hands, look.head_of_lane(number), row).is_some_and(|at| at <= step);
    row < in_use as usize && !dead
}

/// The linear state of a lane, if it has one.
fn of_state(look: &Look<'_>, number: usize) -> Option<Offer> {
    let lane = &look.lanes[number];
    let probe = Hand { step: 1, kv_head: 0, what: Act::Forget };
    lane.plan.kind.check_hand(&lane.plan.setup, &probe).ok()?;
    Some(offer(look, number, Act::Forget, "forget the state".to_owned(), "The linear state becomes zero; what is kept whole stays."))
}
