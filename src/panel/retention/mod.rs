//! Retention: what each lane still recalls of followed tokens: the map, the forgetting curve, and LoLA's score against the loss.

mod curve;
mod map;
mod rows;
mod scatter;

use std::sync::{Arc, Weak};

use eframe::egui::{Button, ComboBox, DragValue, Label, ProgressBar, RichText, Ui};

use self::map::Pictures;
use self::rows::{Order, Rows};
use self::scatter::Dot;
use super::common::{Key, marked_name, plural, words};
use super::row::{Tab, tabs};
use super::{LaneChoice, Look, Panel};
use crate::app::command::Command;
use crate::app::facts::Index;
use crate::app::study::StudyCommand;
use crate::app::study::retention::{Ask, Finding};
use crate::metric::retention::{AgeBin, Estimate, Follow, MOST_TOKENS, Probes, Which};
use crate::panel::choices::Choices;
use crate::session::plan::Plan;
use crate::widget::cached::Cached;
use crate::widget::palette::Ink;
use crate::widget::ticks::{grouped, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "What each lane still recalls of followed tokens: at every step each of them is asked for with its own key.\n\n\
The formula: error = |o - v|^2 / |v|^2, where v is the token's value and o the output of a read with the token's key k right after the step's last \
write: what the model itself would get. As every read it sees the memory as it was when the lane's chunk began, and that chunk's own raw writes. 0 is perfect recall; 1 \
is what an empty memory gets; more is possible, and is drawn as 1. It is not defined before the write, nor for a value of length 0. The reads are \
added to the stream in a run beside the one on screen, and no memory depends on them. On a capture a key is no query of the model's: what is asked is \
whether the pair could be found by its own key.\n\n\
Map: a row for each followed token, a column for each step, up to the playhead; all lanes on one scale. Rows of the marked role (the needle) are marked at the left; by role \
they come first and are widened to a third of the height. Striped is where there is no error: before the write, and of a value of length 0. Where a pixel stands for several rows it shows the mean of their errors, none counted above 1. Arrows up and down in a focused map select the row above or below.\n\n\
By age: the median error by the number of writes since the token's own, itself counted, with the quartiles as a band, over all tokens and steps computed, wherever the playhead is.\n\n\
Score and loss: for a LoLA lane, the score a token had on leaving the window (SRE, where that is the lane's score) against its true error at the playhead, and Spearman's rank correlation: does \
the score predict the loss? Errors of at most 0.001 stand in a row of their own at the lower edge, where some are larger: they are as good as none. Cached tokens are recalled whole, so the question is about those folded. Hover for the exact numbers; click to select a token.";

/// A map that needs no more multiply-adds than this is made unasked.
const QUICK: u64 = 8_000_000_000;

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    #[default]
    Map,
    Age,
    Score,
}

const VIEWS: [Tab<View>; 3] = [
    (View::Map, "Map", "Token by step, for every lane"),
    (View::Age, "By age", "The forgetting curve"),
    (View::Score, "Score and loss", "LoLA's score against the true error later"),
];

/// Whose errors a forgetting curve has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Group {
    /// Of tokens of the marked role; of all, where no role is marked.
    #[default]
    Marked,
    Others,
    All,
}

/// See [`HELP`].
#[derive(Default)]
pub struct Retention {
    view: View,
    order: Order,
    group: Group,
    follow: Follow,
    /// What was last asked for unasked, so that it is not again.
    asked: Option<(Weak<Plan>, Follow)>,
    lane: LaneChoice,
    index: Index,
    rows: Cached<Key<(u64, Order)>, Rows>,
    pictures: Pictures,
    curves: Cached<Key<(u64, Group)>, Vec<Vec<AgeBin>>>,
    dots: Cached<Key<(u64, usize, usize)>, Vec<Dot>>,
    costs: Cached<Key<Follow>, Costs>,
}

/// What a map would be, and cost.
#[derive(Debug, Clone, Copy)]
struct Costs {
    tokens: usize,
    stride: usize,
    estimate: Estimate,
}

impl Panel for Retention {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        if look.lanes.is_empty() {
            words(ui, "No lane is switched on.");
            return;
        }
        self.controls(ui, look, commands);
        let costs = self.costs(look);
        self.ask_unasked(look, costs, commands);
        match look.studies.retention.of(look.plan) {
            None => words(ui, &nothing(look, costs)),
            Some(finding) => {
                status(ui, look, finding);
                match self.view {
                    View::Map => self.maps(ui, look, finding, commands),
                    View::Age => self.ages(ui, look, finding),
                    View::Score => self.scores(ui, look, finding, commands),
                }
            }
        }
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("view", &mut self.view, VIEWS.map(|(view, name, _)| (view, name)));
        choices.lane("lane", &mut self.lane);
        choices.one_of("order", &mut self.order, Order::ALL.map(|order| (order, order.title())));
        let groups = [(Group::Marked, "marked"), (Group::Others, "others"), (Group::All, "all")];
        choices.one_of("curves of", &mut self.group, groups);
        let roles = (0..=u8::MAX).map(|role| (Which::Role(role), format!("role {role}")));
        let ways = [(Which::Marked, "marked"), (Which::Even, "evenly"), (Which::Random, "at random")]
            .map(|(which, name)| (which, name.to_owned()));
        choices.one_of("tokens", &mut self.follow.which, ways.into_iter().chain(roles));
        choices.number("count", &mut self.follow.count, 1..=MOST_TOKENS);
        choices.number("seed", &mut self.follow.seed, 0..=u64::MAX);
    }
}

impl Retention {
    fn costs(&mut self, look: &Look<'_>) -> Costs {
        let follow = self.follow;
        *self.costs.get(Key::new(look, 0, 0, 0, follow), || {
            let probes = Probes::new(look.plan, follow.tokens(&look.plan.stream));
            Costs { tokens: probes.tokens().len(), stride: probes.stride(), estimate: probes.estimate(look.plan) }
        })
    }

    /// Asks for a map by itself once the run on screen is whole, where that is quick.
    fn ask_unasked(&mut self, look: &Look<'_>, costs: Costs, commands: &mut Vec<Command>) {
        let study = &look.studies.retention;
        let same = |asked: &(Weak<Plan>, Follow)| Weak::as_ptr(&asked.0) == Arc::as_ptr(look.plan) && asked.1 == self.follow;
        if self.asked.as_ref().is_some_and(same) || look.reached < look.plan.stream.writes() || costs.tokens == 0 {
            return;
        }
        if study.of(look.plan).is_some_and(|f| f.follow == self.follow) {
            return;
        }
        if study.quick().unwrap_or(costs.estimate.madds < QUICK) {
            self.asked = Some((Arc::downgrade(look.plan), self.follow));
            commands.push(Command::Study(StudyCommand::Retention(Ask::Follow(self.follow))));
        }
    }

    fn controls(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let study = &look.studies.retention;
        let here = study.of(look.plan);
        ui.horizontal_wrapped(|ui| {
            tabs(ui, &mut self.view, &VIEWS, 0.0);
            ui.separator();
            which(ui, look, &mut self.follow);
            let count = DragValue::new(&mut self.follow.count).range(1..=MOST_TOKENS).speed(1.0);
            ui.add(count).on_hover_text("At most so many tokens are followed");
            if self.follow.which == Which::Random {
                ui.add(DragValue::new(&mut self.follow.seed).prefix("seed ")).on_hover_text("The seed of the sample");
            }
            match self.view {
                View::Map => order(ui, &mut self.order),
                View::Age if marked_name(&look.plan.stream).is_some() => group(ui, look, &mut self.group),
                _ => {}
            }
            if study.running() && here.is_some() {
                if ui.button("Stop").on_hover_text("What was found stays").clicked() {
                    commands.push(Command::Study(StudyCommand::Retention(Ask::Stop)));
                }
            } else if here.is_none_or(|f| f.follow != self.follow || f.done.is_none()) {
                let ready = look.reached >= look.plan.stream.writes();
                if ui.add_enabled(ready, Button::new("Follow")).on_disabled_hover_text("The run on screen is not whole yet").clicked() {
                    commands.push(Command::Study(StudyCommand::Retention(Ask::Follow(self.follow))));
                }
            }
        });
    }
}

/// The choice of tokens.
fn which(ui: &mut Ui, look: &Look<'_>, follow: &mut Follow) {
    let stream = &look.plan.stream;
    let roles = &stream.labels().roles;
    let marked = marked_name(stream);
    let title = |which: Which| match (which, marked) {
        (Which::Marked, Some(name)) => format!("{name} and others"),
        (Which::Marked | Which::Even, _) => "evenly".to_owned(),
        (Which::Random, _) => "at random".to_owned(),
        (Which::Role(role), _) => format!("only {}", roles.names.get(usize::from(role)).map_or("token", String::as_str)),
    };
    let mut all = if marked.is_some() { vec![Which::Marked] } else { Vec::new() };
    all.extend([Which::Even, Which::Random]);
    let there = |role: &u8| roles.of_write.contains(role);
    all.extend((0..roles.names.len() as u8).filter(there).map(Which::Role));
    let response = ComboBox::from_id_salt("which").selected_text(title(follow.which)).width(110.0).show_ui(ui, |ui| {
        for which in all {
            ui.selectable_value(&mut follow.which, which, title(which));
        }
    });
    response.response.on_hover_text("Which tokens are followed");
}

fn order(ui: &mut Ui, order: &mut Order) {
    let response = ComboBox::from_id_salt("order").selected_text(order.title()).width(80.0).show_ui(ui, |ui| {
        for choice in Order::ALL {
            ui.selectable_value(order, choice, choice.title());
        }
    });
    response.response.on_hover_text("The order of the rows");
}

fn group(ui: &mut Ui, look: &Look<'_>, group: &mut Group) {
    let name = marked_name(&look.plan.stream).unwrap_or("marked");
    let title = |group: Group| match group {
        Group::All => "all followed".to_owned(),
        Group::Marked => format!("only {name}"),
        Group::Others => "only others".to_owned(),
    };
    let response = ComboBox::from_id_salt("group").selected_text(title(*group)).width(80.0).show_ui(ui, |ui| {
        for choice in [Group::Marked, Group::Others, Group::All] {
            ui.selectable_value(group, choice, title(choice));
        }
    });
    response.response.on_hover_text("Whose errors the curves have");
}

/// What is said where there is no map of the run on screen.
fn nothing(look: &Look<'_>, costs: Costs) -> String {
    let study = &look.studies.retention;
    let stale = if study.finding().is_some() { "The map that was made belongs to an earlier run. " } else { "" };
    if costs.tokens == 0 {
        return format!("{stale}No write of this stream has that role, so there is nothing to follow.");
    }
    if look.reached < look.plan.stream.writes() {
        return format!("{stale}A map is made when the run is whole.");
    }
    let Costs { tokens, stride, estimate } = costs;
    let every = if stride == 1 { "every step".to_owned() } else { format!("every {stride} steps (more reads than a map has otherwise)") };
    format!(
        "{stale}Not followed yet. {} at {every}: {} for each query head, at most {} million multiply-adds{}, {} MiB.",
        plural(tokens, "token", "tokens"),
        plural(estimate.reads, "read", "reads"),
        grouped(estimate.madds.div_ceil(1_000_000)),
        about(look, estimate.madds),
        number((estimate.bytes as f64 / 1_048_576.0 * 10.0).round() / 10.0),
    )
}

/// The time that so many multiply-adds take, at the pace of the run on screen.
fn about(look: &Look<'_>, madds: u64) -> String {
    let (mut seconds, mut done) = (0.0, 0_u64);
    for lane in look.lanes {
        let (stream, cost) = (&lane.plan.setup.stream, lane.plan.kind.cost(&lane.plan.setup));
        seconds += lane.spent.0;
        done += (stream.writes() * stream.kv_heads()) as u64 * cost.write_madds;
        done += (stream.reads() * stream.query_heads()) as u64 * cost.read_madds;
    }
    if seconds <= 0.0 || done == 0 {
        return String::new();
    }
    format!(", about {} s at the pace of this run", number((seconds * madds as f64 / done as f64).max(0.1).ceil()))
}

/// A line on how far the map is, or what went wrong.
fn status(ui: &mut Ui, look: &Look<'_>, finding: &Finding) {
    let study = &look.studies.retention;
    if let Some(error) = study.error() {
        ui.add(Label::new(RichText::new(format!("The map could not be finished: {error}")).color(ui.visuals().error_fg_color)).truncate());
        return;
    }
    if study.running() {
        ui.add(ProgressBar::new(study.share()).desired_height(6.0)).on_hover_text("Asking for the followed tokens");
        return;
    }
    let probes = finding.map.probes();
    let followed = plural(probes.tokens().len(), "token", "tokens");
    let at = match probes.stride() {
        1 => format!("every one of {}", plural(probes.columns().len(), "step", "steps")),
        j => format!("every {j} steps, {} times", probes.columns().len()),
    };
    let stopped = if finding.done.is_none() { "Stopped: " } else { "" };
    let text = format!("{stopped}{followed} asked for at {at}: {} for each query head", plural(probes.reads(), "read", "reads"));
    let label = ui.add(Label::new(RichText::new(text).color(Ink::of(ui).quiet)).truncate());
    if let Some((backend, seconds)) = &finding.done {
        label.on_hover_text(format!("Made in {seconds:.2} s on {}", backend.adapter));
    }
}

/// The last column of a lane that lies before the playhead and is known.
fn column_at(finding: &Finding, lane: usize, writes: usize) -> Option<usize> {
    let columns = finding.map.probes().columns();
    columns.partition_point(|c| c.writes <= writes).min(finding.map.done(lane)).checked_sub(1)
}

/// The median error at a column of the followed writes that `keep` lets pass; an output that is no number counts as larger than all.
fn median(finding: &Finding, lane: usize, head: usize, column: usize, keep: impl Fn(usize) -> bool) -> Option<f32> {
    let tokens = finding.map.probes().tokens();
    let of = |(t, write): (usize, &usize)| if keep(*write) { finding.map.error(lane, head, column, t) } else { None };
    let mut errors: Vec<f32> = tokens.iter().enumerate().filter_map(of).collect();
    errors.sort_by(f32::total_cmp);
    let n = errors.len();
    let (low, high) = (*errors.get(n.checked_sub(1)? / 2)?, *errors.get(n / 2)?);
    Some(if low.total_cmp(&high).is_eq() { low } else { f32::midpoint(low, high) })
}

/// An error in words, or why there is none.
fn error_words(error: Option<f32>, written: bool, known: bool) -> String {
    match error {
        Some(error) => number(f64::from(error)),
        None if !known => "not known yet".to_owned(),
        None if written => "not defined: its value has length 0".to_owned(),
        None => "not written yet".to_owned(),
    }
}

/// `1 error`, `20 errors`.
fn number_of_errors(n: usize) -> String {
    plural(n, "error", "errors")
}
