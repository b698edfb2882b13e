//! The dictionary map: keys and centroids in two dimensions.

mod canvas;
mod clip;
mod controls;
mod flight;
mod glyph;
mod hover;
mod layers;
mod lists;
mod view;
mod zoom;

use std::mem::take;
use std::sync::Arc;

use eframe::egui::{Response, RichText, Shape, Ui, vec2};

use self::canvas::Canvas;
use self::controls::Choice;
use self::flight::Flight;
use self::glyph::Atlas;
use self::hover::Rows;
use self::lists::Lists;
use self::view::{Frame, Memory, Row, Size, Source, View};
use self::zoom::{Window, Zoom};
use super::common::{Key, chunks_seen, lanes_with, nothing_written, plural, words, writes_seen};
use super::{LaneChoice, Look, Panel};
use crate::app::command::{Command, ViewCommand};
use crate::app::facts::Index;
use crate::app::study::StudyCommand;
use crate::app::study::map::{Ask, Keys};
use crate::layer::effective::Store;
use crate::panel::choices::Choices;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart};
use crate::widget::lasso::Lasso;
use crate::widget::palette::Ink;
use crate::widget::ticks::Scale;

/// The text behind the panel's `?`.
pub const HELP: &str = "Keys and centroids in two dimensions, up to the playhead: what a lane's dictionary covers, and what it does not.\n\n\
A dot is a token, at the place of its key; where there are very many, dots become density. A ringed dot is a founder: it opened a row of the dictionary with its own key. \
A diamond is a token of the marked role (the needle); none is ever lost. A disc is a centroid at its exact place now, its area as its count c_j. When the playhead goes one step \
forward, the step's tokens fly to the centroids that took them. Hover a centroid: spokes lead to its members, and the dashed line is its way through time, from the open circle where it was founded. \
VQ attention: the codes of its codebook, which never move. A lane without a dictionary shows its keys by the memory that holds them: a triangle is in the sliding window, a square whole in the sparse cache, a dot in the state; a faint ring was in the state when a hand forgot it.\n\n\
Distances on the map are not those of all dk dimensions: two keys that lie together here may differ along every other component. The share of the variance at the axes says how much of the whole is seen.\n\n\
The formula: with the mean m of all T keys of the head, as the lane sees them (unit vectors for OVQ), and their covariance C = (1/T) sum (k_i - m)(k_i - m)^T, the place along a component u is u.(k_i - m), and of a centroid u.(D_j - m). \
PCA: u is an eigenvector of C, the share of the variance its eigenvalue over the sum of all. Random: orthogonal directions drawn from a seed; the share is u^T C u / tr C. The components are those of the whole stream, so that the map stands still while time passes; tokens after the playhead are not drawn.\n\n\
Hover for the exact count, founder, birth and members; click to select a token or a centroid, with Shift or Ctrl several tokens. Drag around points to select them together, with Shift to add them to the selection; Escape gives up.\n\n\
The wheel, or a pinch, zooms at the pointer; the middle button, or Ctrl with the first, drags the map; a double click or `fit` shows all of it again. With the map in focus (Tab) + and - zoom, arrows move, 0 shows all. \
Marks keep their size, so that points which lie together come apart; where no more than 4096 tokens are in sight each is drawn by itself.";

/// See [`HELP`].
#[derive(Default)]
pub struct DictionaryMap {
    lane: LaneChoice,
    choice: Choice,
    zoom: Zoom,
    index: Index,
    lists: Lists,
    lasso: Lasso,
    flight: Flight,
    rows: Cached<Key<(Ask, Source)>, Vec<Row>>,
    /// The largest count of the trails.
    most: Cached<Key<Ask>, u32>,
    canvas: Canvas,
}

impl Panel for DictionaryMap {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = in_order(look);
        let Some(lane) = self.lane.chosen(look, &lanes) else {
            words(ui, "No lane is switched on.");
            return;
        };
        // The lane may change in the row of controls: then the next frame draws the other.
        let head = look.head_of_lane(lane);
        let number = look.number_in_plan(lane);
        let known = look.studies.map.keys(look.plan, number, head).cloned();
        let now = ui.input(|i| i.time);
        let (seen, chunks) = (writes_seen(look, lane), chunks_seen(look, lane));
        let moving = self.flight.watch([lane, head], seen, look.reached, look.lanes[lane].plan.setup.chunk, now);
        let Some(keys) = known else {
            self.controls(ui, look, (&lanes, lane), None, "");
            self.ask(look, lane, commands);
            match look.studies.map.error() {
                Some(error) => words(ui, &format!("The keys could not be projected: {error}")),
                None => words(ui, "Projecting the keys…"),
            }
            return;
        };
        let trails = look.studies.map.trails(look.plan, keys.ask);
        let (mut index, mut lists, mut rows) = (take(&mut self.index), take(&mut self.lists), take(&mut self.rows));
        let memory = match index.residency(look, lane) {
            Some(index) => Memory::Places { index, chunks: chunks.min(index.steps()) },
            None => Memory::of(look, lane, head, seen),
        };
        let seen = computed(look, lane, memory).min(seen).min(keys.points.len());
        let sets = lists.sets(look, lane, head, seen, memory);
        let view = View { look, lane, head, seen, chunks, keys: &keys, trails, memory, sets };
        let source = Source::of(&view, moving);
        let of_rows = Key::new(look, lane, head, source.chunks(&view), (keys.ask, source));
        let all = rows.get(of_rows, || view::rows(&view, source));
        let sentence = sentence(&view, source, all);
        self.controls(ui, look, (&lanes, lane), Some(&keys), &sentence);
        self.ask(look, lane, commands);
        if seen == 0 {
            nothing_written(ui);
        } else {
            self.draw(ui, &view, (all, source), &sentence, commands);
        }
        (self.index, self.lists, self.rows) = (index, lists, rows);
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.lane);
        self.choice.choices(choices);
    }
}

/// The lanes: those with a dictionary first, then those with a cache.
fn in_order(look: &Look<'_>) -> Vec<usize> {
    let (rows, caches) = (lanes_with(look, &["assignments"]), lanes_with(look, &["admitted", "displaced"]));
    let rest = (0..look.lanes.len()).filter(|l| !rows.contains(l) && !caches.contains(l));
    rows.iter().chain(&caches).copied().chain(rest).collect()
}

/// Writes of which the trace says where they went.
fn computed(look: &Look<'_>, lane: usize, memory: Memory<'_>) -> usize {
    match memory {
        Memory::Rows { rows, .. } => rows.len(),
        Memory::Places { chunks, .. } => chunks * look.lanes[lane].plan.setup.chunk,
        Memory::Kept { .. } => look.writes,
    }
}

/// What is in the lane's memory now.
fn sentence(view: &View<'_>, source: Source, rows: &[Row]) -> String {
    match view.memory {
        Memory::Rows { .. } => {
            let n = rows.iter().filter(|r| r.1 > 0).count();
            let noun = if view.fixed() { ["code in use", "codes in use"] } else { ["centroid", "centroids"] };
            match source {
                Source::Awaited => format!("The {} {}", noun[1], source.words(view)),
                _ => format!("{} {}", plural(n, noun[0], noun[1]), source.words(view)).trim_end().to_owned(),
            }
        }
        Memory::Kept { store, from } => {
            let gone = if from > 0 { format!("{from} {}, ", Store::Gone.name()) } else { String::new() };
            format!("{gone}{} {}", view.seen - from.min(view.seen), store.name())
        }
        Memory::Places { .. } => {
            let (window, cache, gone) = (view.memory.window(view.seen).len(), view.sets.cached.len(), view.sets.gone);
            let state = view.seen.saturating_sub(window + cache + gone);
            let all = [(Store::Window, window), (Store::Cache, cache), (Store::State, state), (Store::Gone, gone)];
            all.iter().filter(|(_, n)| *n > 0).map(|(store, n)| format!("{n} {}", store.name())).collect::<Vec<_>>().join(", ")
        }
    }
}

impl DictionaryMap {
    /// The row of controls, and what is in the memory.
    fn controls(&mut self, ui: &mut Ui, look: &Look<'_>, (lanes, lane): (&[usize], usize), known: Option<&Arc<Keys>>, sentence: &str) {
        let dk = look.lanes[lane].plan.setup.stream.key_dim();
        let Self { lane: lane_choice, choice, zoom, .. } = self;
        lane_choice.row(ui, look, lanes, "", |ui, _| {
            let same = known.filter(|k| k.ask.basis == choice.basis());
            choice.ui(ui, dk, same.map(|k| &*k.projection));
            ui.label(RichText::new(sentence).color(Ink::of(ui).quiet));
            controls::zoom(ui, zoom);
        });
    }

    /// Asks for the map that is chosen, unless it is there or under way.
    fn ask(&self, look: &Look<'_>, lane: usize, commands: &mut Vec<Command>) {
        let dk = look.lanes[lane].plan.setup.stream.key_dim();
        let (lane, head) = (look.number_in_plan(lane), look.head_of_lane(lane));
        let ask = Ask { lane, head, basis: self.choice.basis(), components: self.choice.within(dk) };
        let whole = look.reached >= look.plan.stream.writes();
        if !look.studies.map.has(look.plan, ask, whole) {
            commands.push(StudyCommand::Map(ask).into());
        }
    }

    fn draw(&mut self, ui: &mut Ui, view: &View<'_>, (rows, source): (&[Row], Source), sentence: &str, commands: &mut Vec<Command>) {
        let whole = view::range(view.keys, view.trails);
        let seen = self.zoom.window(view.keys, whole);
        let (response, chart, frame) = chart(ui, view, (seen, self.zoom.factor()), sentence);
        let counts = || rows.iter().map(|r| r.1).max().unwrap_or(1);
        let most = view.trails.map_or_else(counts, |trails| {
            *self.most.get(Key::new(view.look, view.lane, view.head, trails.chunks, trails.ask), || trails.most())
        });
        let shown = Rows { all: rows, size: Size::new(most, view.keys.points.len(), chart.rect), source };
        let atlas = self.canvas.paint(ui, view, &chart, frame, (shown, self.zoom.zoomed()));
        fly(ui, view, &chart, shown, atlas, &mut self.flight);
        hover::mark(ui, view, &chart, shown, atlas);
        let (response, moving) = self.zoom.ui(ui, &response, &chart, view.keys, whole);
        if moving {
            return;
        }
        let (response, caught) = self.lasso.ui(ui, &response, chart.rect);
        if let Some(caught) = caught {
            let points = (0..view.seen).map(|write| (write, view.key(&chart, write)));
            commands.push(ViewCommand::Group(caught.take(points, view.look.selection.tokens()).into()).into());
        } else if !self.lasso.drawing() {
            hover::hover(view, &response, &chart, shown, commands);
        }
    }
}

/// The axes over the part of the map that is seen, and all that meshes on them depend on.
fn chart(ui: &mut Ui, view: &View<'_>, (range, factor): (Window, f64), sentence: &str) -> (Response, Chart, Frame) {
    let (ask, ink) = (view.keys.ask, Ink::of(ui));
    let projection = &view.keys.projection;
    let title = |i: usize| controls::axis(ask.components[i].min(projection.components().saturating_sub(1)), projection, ask.basis);
    let axis = |i: usize| Axis::real(title(i), range[i][0], range[i][1], Scale::Linear);
    let lane = view.look.lanes[view.lane];
    let zoom = if factor > 1.0 { format!("; {}", controls::zoom_words(factor)) } else { String::new() };
    let describe = format!(
        "Dictionary map of lane {}: {} of {} along {} and {}; {sentence}{zoom}",
        lane.plan.name,
        view.seen,
        plural(view.keys.points.len(), "token", "tokens"),
        title(0),
        title(1),
    );
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let legend = layers::legend(view, lane.colour, &ink);
    let (response, chart) = Chart::show(ui, size, axis(0), axis(1), &legend, &describe);
    let frame = Frame { rect: chart.rect, range, dark: ink.dark, scale: ui.pixels_per_point(), ask };
    (response, chart, frame)
}

/// The newest step's tokens on their way to their rows, where they have just set out.
fn fly(ui: &Ui, view: &View<'_>, chart: &Chart, rows: Rows<'_>, atlas: &Atlas, flight: &mut Flight) {
    if ui.style().animation_time <= 0.0 || rows.all.is_empty() {
        return;
    }
    let Some((tokens, part)) = flight.part(ui.input(|i| i.time)) else { return };
    let ways = tokens.filter(|t| *t < view.seen).filter_map(|t| {
        // A row that was deleted by hand in the same step is nowhere.
        let (place, _) = rows.all.get(view.memory.row(t)?).filter(|(_, count)| *count > 0)?;
        Some((view.key(chart, t), view::at(chart, *place)))
    });
    chart.painter(ui).add(Shape::mesh(layers::flight(ways, part, chart, atlas, &Ink::of(ui))));
    ui.ctx().request_repaint();
}
