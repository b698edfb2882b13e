//! Any channel: what a lane writes of itself, drawn by its extent alone, for what no panel draws yet.

mod draw;
pub(super) mod reduced;

use eframe::egui::{ComboBox, Label, RichText, TextureHandle, Ui};

use self::reduced::{Across, Reduced};
use super::common::{Canvas, Key, chunks_seen, head_of, words, writes_seen};
use super::{LaneChoice, Look, Panel};
use crate::app::command::Command;
use crate::panel::choices::Choices;
use crate::trace::{Axis, Channel, ChannelSpec, Tolerance, Width};
use crate::widget::cached::Cached;
use crate::widget::heatmap::{Grid, Rule};
use crate::widget::palette::Ink;
use crate::widget::range::{RangeControl, Spread};
use crate::widget::symlog::{Shades, SymlogControl};

/// The text behind the panel's `?`.
pub const HELP: &str = "Any channel of any lane: every named array that a layer writes while it runs, drawn by its extent alone. What a channel holds is said under the \
choice, with its unit and how near two implementations must be.\n\n\
To the right runs the channel's axis: a write, a read or a step (a chunk of the lane). Upwards, for a channel of one number an entry: the heads; of several: their \
components, of the head shown; for lists of ids: the ids, and a cell tells how often its own were listed; for lists of real numbers: the place in the list. A \
channel of one number an entry is drawn as a line too, of the head shown.\n\n\
Where a cell stands for several numbers it shows their largest, mean or smallest, as chosen. The formula: max, mean or min over the cell's numbers; but NaN before \
everything, and an infinity before every finite number, in colours that are in no map, so that neither is averaged away. Both are counted beside the range.\n\n\
The range: numbers by size, over the colours that they have; drag an end or the middle, type an end, or move a focused end by arrows. Its menu has linear, \
logarithmic, symmetric about zero, fit, 1% to 99% and reset. By itself it fits the numbers, and is symmetric where they have both signs. `symlog` beside it colours a map by a symmetric logarithm: f(x) = x / c up to the threshold c, \
beyond it sign(x) (1 + ln(|x| / c)), so that numbers of both signs over many powers of ten are told apart. Until one of the two is chosen, it is `symlog` where 99 of 100 numbers \
are nearer to zero than 5% of the largest.\n\n\
Only what lies before the playhead is drawn. Hover for the exact value with its indices; click to select the write, the read or the step.";

/// How a channel is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    /// A line where there is one number an entry, else a map.
    #[default]
    Suited,
    Map,
    Line,
}

/// What the cells are made of.
type CellKey = Key<&'static str>;
/// What a grid is made of, and its picture: entries read are in the key.
type GridKey = Key<(&'static str, Rule, usize)>;
type PictureKey = Key<(Canvas, &'static str, Rule, (u32, u32, u8), usize)>;

/// See [`HELP`].
pub struct ChannelPanel {
    lane: LaneChoice,
    /// The name of the channel; the lane's first, until one is chosen that it has.
    channel: Option<String>,
    rule: Rule,
    view: View,
    range: RangeControl,
    symlog: SymlogControl,
    /// What the range was chosen for.
    of: Option<(&'static str, &'static str)>,
    reduced: Option<(CellKey, Reduced)>,
    grid: Cached<GridKey, (Grid, Spread)>,
    picture: Cached<PictureKey, TextureHandle>,
}

impl Default for ChannelPanel {
    fn default() -> Self {
        Self {
            lane: LaneChoice::default(),
            channel: None,
            rule: Rule::Max,
            view: View::Suited,
            range: RangeControl::default(),
            symlog: SymlogControl::default(),
            of: None,
            reduced: None,
            grid: Cached::default(),
            picture: Cached::default(),
        }
    }
}

impl ChannelPanel {
    /// One that begins with the channel of this name, in lanes that have it.
    #[must_use]
    pub fn showing(channel: &'static str) -> Self {
        Self { channel: Some(channel.to_owned()), ..Self::default() }
    }
}

/// What is drawn.
struct Drawn<'a> {
    lane: usize,
    channel: &'a Channel,
    head: usize,
    across: Across,
    /// Entries in all.
    entries: usize,
    /// Entries before the playhead that are in the trace.
    seen: usize,
    /// Entries that went into the cells.
    covered: usize,
    rule: Rule,
}

impl Panel for ChannelPanel {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes: Vec<usize> = (0..look.lanes.len()).filter(|&l| !look.lanes[l].trace.channels().is_empty()).collect();
        let Self { lane, channel, rule, view, .. } = self;
        let lane = lane.row(ui, look, &lanes, "No lane is switched on.", |ui, lane| {
            let Some(here) = chosen(look, lane, channel.as_deref()) else { return };
            choose(ui, look, lane, here, channel);
            let here = chosen(look, lane, channel.as_deref()).unwrap_or(here);
            if here.spec().width == Width::Fixed(1) {
                let line = *view != View::Map;
                if ui.selectable_label(line, "line").on_hover_text("The head shown, as a line").clicked() {
                    *view = View::Line;
                }
                if ui.selectable_label(!line, "map").on_hover_text("Every head, as rows of a map").clicked() {
                    *view = View::Map;
                }
            }
            if Across::of(here) != Across::Ids {
                choose_rule(ui, rule);
            }
        });
        let Some(lane) = lane else { return };
        let Some(channel) = chosen(look, lane, self.channel.as_deref()) else {
            words(ui, "This lane writes no channel.");
            return;
        };
        let spec = channel.spec();
        let of = (look.lanes[lane].plan.kind.name(), spec.name);
        if self.of != Some(of) {
            // A range that was chosen for other numbers is of no use for these; one that a session brings is for the first.
            if self.of.replace(of).is_some() {
                self.range.reset();
                self.symlog.fit();
                self.symlog.look_again();
            }
        }
        let head = head_of(channel, look);
        let entries = look.lanes[lane].plan.entries(spec.axis);
        let seen = seen(look, lane, spec.axis).min(channel.len());
        self.read(ui, look, (lane, head, entries), channel);
        let Some((_, reduced)) = &self.reduced else { return };
        let covered =
            if reduced.done() >= entries { entries } else { super::common::cover(reduced.done(), seen.min(reduced.done()), entries) };
        let rule = self.rule;
        let drawn = Drawn { lane, channel, head, across: Across::of(channel), entries, seen, covered, rule };
        let key = Key::new(look, lane, head, covered, (spec.name, rule, reduced.rows()));
        let (grid, spread) = self.grid.get(key, || grid_of(reduced, rule));
        if ui.available_height() > 150.0 {
            meaning(ui, spec);
        }
        // A line has the range as its axis, which knows no such logarithm.
        let line = drawn.across == Across::Heads && self.view != View::Map;
        let shades = if line {
            Shades::Range(self.range.show(ui, spec.title, spread))
        } else {
            self.symlog.show(ui, spec.title, spread, &mut self.range)
        };
        if seen == 0 {
            words(ui, "Nothing of this channel lies before the playhead yet.");
            return;
        }
        if reduced.done() < seen {
            ui.label(RichText::new(format!("reading: {} of {seen}", reduced.done())).color(Ink::of(ui).quiet));
        }
        match shades {
            Shades::Range(range) if line => draw::line(ui, look, &drawn, (reduced, range), commands),
            _ => draw::map(ui, look, &drawn, (reduced, grid, shades), &mut self.picture, commands),
        }
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.lane);
        choices.words("channel", &mut self.channel);
        choices.one_of("rule", &mut self.rule, Rule::ALL.map(|rule| (rule, rule.title())));
        choices.one_of("view", &mut self.view, [(View::Suited, "suited"), (View::Map, "map"), (View::Line, "line")]);
        choices.range("range", &mut self.range);
        choices.symlog("symlog", &mut self.symlog);
    }
}

impl ChannelPanel {
    /// Reads the channel on, a little each frame.
    fn read(&mut self, ui: &Ui, look: &Look<'_>, (lane, head, entries): (usize, usize, usize), channel: &Channel) {
        // All heads stand across: whichever is shown, the cells are the same.
        let own = if Across::of(channel) == Across::Heads { 0 } else { head };
        let key = Key::new(look, lane, own, 0, channel.spec().name);
        if self.reduced.as_ref().is_none_or(|(held, _)| *held != key) {
            self.reduced = Some((key, Reduced::new(channel, own, entries, ids(look, channel, own))));
        }
        let Some((_, reduced)) = &mut self.reduced else { return };
        if reduced.extend(channel) {
            ui.ctx().request_repaint();
        }
    }
}

/// The cells, how they are spread, and all that is no number behind them.
fn grid_of(reduced: &Reduced, rule: Rule) -> (Grid, Spread) {
    let grid = reduced.grid(rule);
    let mut spread = Spread::of(grid.cells.iter().flatten().copied());
    [spread.nan, spread.infinite] = reduced.loud;
    (grid, spread)
}

/// How many ids a channel of lists can name: writes, where it names tokens, else as many as it does.
fn ids(look: &Look<'_>, channel: &Channel, head: usize) -> usize {
    if Across::of(channel) != Across::Ids {
        return 0;
    }
    if channel.spec().unit == "tokens" {
        return look.plan.stream.writes();
    }
    channel.wholes(head).iter().max().map_or(1, |&most| most.max(0) as usize + 1)
}

/// The channel that is shown of a lane.
fn chosen<'a>(look: &Look<'a>, lane: usize, name: Option<&str>) -> Option<&'a Channel> {
    let trace = look.lanes[lane].trace;
    name.and_then(|n| trace.channel(n)).or(trace.channels().first())
}

fn choose(ui: &mut Ui, look: &Look<'_>, lane: usize, here: &Channel, name: &mut Option<String>) {
    let mut chosen = here.spec().name;
    let response = ComboBox::from_id_salt("channel").selected_text(here.spec().title).width(90.0).show_ui(ui, |ui| {
        for channel in look.lanes[lane].trace.channels() {
            let spec = channel.spec();
            ui.selectable_value(&mut chosen, spec.name, format!("{} ({})", spec.title, spec.name)).on_hover_text(spec.meaning);
        }
    });
    response.response.on_hover_text(format!("The channel shown: {}\n{}", here.spec().name, sentence(here.spec())));
    if chosen != here.spec().name {
        *name = Some(chosen.to_owned());
    }
}

fn choose_rule(ui: &mut Ui, rule: &mut Rule) {
    let response = ComboBox::from_id_salt("rule").selected_text(rule.title()).width(60.0).show_ui(ui, |ui| {
        for choice in Rule::ALL {
            ui.selectable_value(rule, choice, choice.title());
        }
    });
    response.response.on_hover_text("What a cell shows that stands for several numbers");
}

/// What a channel is, in a sentence.
fn sentence(spec: &ChannelSpec) -> String {
    let near = match spec.tolerance {
        Tolerance::Near { abs, rel } => format!("CPU and GPU agree within {abs} + {rel} of the number"),
        Tolerance::Choice { margin: Some(margin) } => format!("CPU and GPU agree wherever `{margin}` exceeds 1e-5"),
        Tolerance::Choice { margin: None } => "CPU and GPU agree exactly".to_owned(),
    };
    let unit = if spec.unit == "1" { "a plain number".to_owned() } else { format!("in {}", spec.unit) };
    format!("{} ({unit}; {near})", spec.meaning.trim_end_matches('.'))
}

fn meaning(ui: &mut Ui, spec: &ChannelSpec) {
    let text = sentence(spec);
    ui.add(Label::new(RichText::new(&text).color(Ink::of(ui).quiet)).truncate()).on_hover_text(text);
}

/// Entries before the playhead.
fn seen(look: &Look<'_>, lane: usize, axis: Axis) -> usize {
    match axis {
        Axis::Write => writes_seen(look, lane),
        Axis::Read => look.plan.stream.reads_within(0..writes_seen(look, lane)).end,
        Axis::Step => chunks_seen(look, lane),
    }
}
