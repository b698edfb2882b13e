//! The dictionary map: keys and centroids in two dimensions.

mod controls;
mod flight;
mod glyph;
mod hover;
mod layers;
mod view;

use std::sync::Arc;

use eframe::egui::{Color32, Mesh, Response, RichText, Shape, TextureHandle, TextureId, Ui, vec2};

use self::controls::Choice;
use self::flight::Flight;
use self::glyph::Atlas;
use self::hover::Rows;
use self::view::{Frame, Memory, Row, Size, Source, View};
use super::common::{Key, LaneChoice, canvas, chunks_seen, lanes_with, plural, texture, words, writes_seen};
use super::{Look, Panel};
use crate::app::command::{Command, ViewCommand};
use crate::app::facts::Index;
use crate::app::study::StudyCommand;
use crate::app::study::map::{Ask, Keys};
use crate::layer::effective::Store;
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
Hover for the exact count, founder, birth and members; click to select a token or a centroid, with Shift or Ctrl several tokens. Drag around points to select them together, with Shift to add them to the selection; Escape gives up.";

/// See [`HELP`].
#[derive(Default)]
pub struct DictionaryMap {
    lane: LaneChoice,
    choice: Choice,
    index: Index,
    lasso: Lasso,
    flight: Flight,
    atlas: Option<Atlas>,
    rows: Cached<Key<(Ask, Source)>, Vec<Row>>,
    stores: Cached<Key<()>, Vec<(Store, usize)>>,
    density: Cached<Key<Frame>, Option<TextureHandle>>,
    centroids: Cached<Key<(Frame, Source, TextureId, Size, Color32)>, Arc<Mesh>>,
    tokens: Cached<Key<(Frame, TextureId)>, Arc<Mesh>>,
    group: Cached<Key<(Frame, TextureId, Same)>, Arc<Mesh>>,
}

/// A group of tokens, equal only to itself: held, so that its address is not used again.
#[derive(Debug, Clone)]
struct Same(Arc<[usize]>);

impl PartialEq for Same {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
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
        let sentence = self.controls(ui, look, &lanes, lane, known.as_ref(), moving);
        let dk = look.lanes[lane].plan.setup.stream.key_dim();
        let ask = Ask { lane: number, head, basis: self.choice.basis(), components: self.choice.within(dk) };
        let whole = look.reached >= look.plan.stream.writes();
        if !look.studies.map.has(look.plan, ask, whole) {
            commands.push(StudyCommand::Map(ask).into());
        }
        let Some(keys) = known else {
            match look.studies.map.error() {
                Some(error) => words(ui, &format!("The keys could not be projected: {error}")),
                None => words(ui, "Projecting the keys…"),
            }
            return;
        };
        let trails = look.studies.map.trails(look.plan, keys.ask);
        let memory = match self.index.residency(look, lane) {
            Some(index) => Memory::Places { index, chunks: chunks.min(index.steps()) },
            None => Memory::of(look, lane, head, seen),
        };
        let seen = computed(look, lane, memory).min(seen).min(keys.points.len());
        let view = View { look, lane, head, seen, chunks, keys: &keys, trails, memory };
        let mut canvas = Canvas {
            atlas: &mut self.atlas,
            rows: &mut self.rows,
            density: &mut self.density,
            centroids: &mut self.centroids,
            tokens: &mut self.tokens,
            group: &mut self.group,
        };
        canvas.draw(ui, &view, moving, (&mut self.lasso, &mut self.flight), &sentence, commands);
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

impl DictionaryMap {
    /// The row of controls; what it says of the memory is returned.
    fn controls(&mut self, ui: &mut Ui, look: &Look<'_>, lanes: &[usize], lane: usize, known: Option<&Arc<Keys>>, moving: bool) -> String {
        let sentence = known.map_or_else(String::new, |keys| self.sentence(look, lane, keys, moving));
        let dk = look.lanes[lane].plan.setup.stream.key_dim();
        let Self { lane: lane_choice, choice, .. } = self;
        lane_choice.row(ui, look, lanes, "", |ui, _| {
            let same = known.filter(|k| k.ask.basis == choice.basis());
            choice.ui(ui, dk, same.map(|k| &*k.projection));
            ui.label(RichText::new(&sentence).color(Ink::of(ui).quiet));
        });
        sentence
    }

    /// What is in the lane's memory now.
    fn sentence(&mut self, look: &Look<'_>, lane: usize, keys: &Arc<Keys>, moving: bool) -> String {
        let (head, seen, chunks) = (keys.ask.head, writes_seen(look, lane), chunks_seen(look, lane));
        let memory = match self.index.residency(look, lane) {
            Some(index) => Memory::Places { index, chunks: chunks.min(index.steps()) },
            None => Memory::of(look, lane, head, seen),
        };
        let trails = look.studies.map.trails(look.plan, keys.ask);
        let seen = computed(look, lane, memory).min(seen);
        let view = View { look, lane, head, seen, chunks, keys, trails, memory };
        if let Memory::Rows { .. } = memory {
            let source = Source::of(&view, moving);
            let rows = dictionary(&mut self.rows, &view, source);
            let n = rows.iter().filter(|r| r.1 > 0).count();
            let noun = if view.fixed() { ["code in use", "codes in use"] } else { ["centroid", "centroids"] };
            return match source {
                Source::Awaited => format!("The {} {}", noun[1], source.words(&view)),
                _ => format!("{} {}", plural(n, noun[0], noun[1]), source.words(&view)).trim_end().to_owned(),
            };
        }
        if let Memory::Kept { store, from } = memory {
            let gone = if from > 0 { format!("{from} {}, ", Store::Gone.name()) } else { String::new() };
            return format!("{gone}{} {}", seen - from.min(seen), store.name());
        }
        let stores = self.stores.get(Key::new(look, lane, head, seen, ()), || {
            let mut counts: Vec<(Store, usize)> = Vec::new();
            for store in (0..seen).map(|w| memory.store(w)) {
                match counts.iter_mut().find(|(s, _)| *s == store) {
                    Some((_, n)) => *n += 1,
                    None => counts.push((store, 1)),
                }
            }
            counts.sort_unstable();
            counts
        });
        stores.iter().map(|(store, n)| format!("{n} {}", store.name())).collect::<Vec<_>>().join(", ")
    }
}

fn dictionary<'a>(cached: &'a mut Cached<Key<(Ask, Source)>, Vec<Row>>, view: &View<'_>, source: Source) -> &'a [Row] {
    let key = Key::new(view.look, view.lane, view.head, source.chunks(view), (view.keys.ask, source));
    cached.get(key, || view::rows(view, source))
}

/// What the map keeps of its pictures.
struct Canvas<'a> {
    atlas: &'a mut Option<Atlas>,
    rows: &'a mut Cached<Key<(Ask, Source)>, Vec<Row>>,
    density: &'a mut Cached<Key<Frame>, Option<TextureHandle>>,
    centroids: &'a mut Cached<Key<(Frame, Source, TextureId, Size, Color32)>, Arc<Mesh>>,
    tokens: &'a mut Cached<Key<(Frame, TextureId)>, Arc<Mesh>>,
    group: &'a mut Cached<Key<(Frame, TextureId, Same)>, Arc<Mesh>>,
}

impl Canvas<'_> {
    fn draw(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        moving: bool,
        (lasso, flight): (&mut Lasso, &mut Flight),
        sentence: &str,
        commands: &mut Vec<Command>,
    ) {
        let ink = Ink::of(ui);
        let (response, chart, frame) = chart(ui, view, sentence, &ink);
        let source = Source::of(view, moving);
        let rows = dictionary(self.rows, view, source);
        let most = view.trails.map_or_else(|| rows.iter().map(|r| r.1).max().unwrap_or(1), |t| t.most());
        let size = Size::new(most, view.keys.points.len(), chart.rect);
        let shown = Rows { all: rows, size, source };
        let scale = ui.pixels_per_point();
        let atlas = match self.atlas.take() {
            Some(atlas) if (atlas.scale() - scale).abs() < f32::EPSILON => self.atlas.insert(atlas),
            _ => self.atlas.insert(Atlas::new(ui.ctx(), scale)),
        };
        let key = |covered: usize, rest| Key::new(view.look, view.lane, view.head, covered, rest);
        let dense = layers::dense(view.keys.points.len(), view.seen);
        let pixels = canvas(ui, chart.rect).0;
        let density = self.density.get(Key::new(view.look, view.lane, view.head, dense, frame), || {
            (dense > 0).then(|| texture(ui, "keys", layers::density(view, &chart, pixels, scale, dense, ink)))
        });
        let painter = chart.painter(ui);
        if let Some(picture) = density {
            let uv = eframe::egui::Rect::from_min_max(eframe::egui::pos2(0.0, 0.0), eframe::egui::pos2(1.0, 1.0));
            painter.image(picture.id(), chart.rect, uv, Color32::WHITE);
        }
        let colour = view.look.lanes[view.lane].colour;
        // The size of the discs changes when trails come, and the colour whenever the lane is given another.
        let of_rows = Key::new(view.look, view.lane, view.head, source.chunks(view), (frame, source, atlas.id(), size, colour));
        let discs = self.centroids.get(of_rows, || Arc::new(layers::centroids(rows, size, &chart, atlas, colour)));
        painter.add(Shape::mesh(Arc::clone(discs)));
        let tokens = self.tokens.get(key(view.seen, (frame, atlas.id())), || Arc::new(layers::tokens(view, &chart, atlas, dense, &ink)));
        painter.add(Shape::mesh(Arc::clone(tokens)));
        let group = &view.look.selection.group;
        if !group.is_empty() {
            let of_group = Key::new(view.look, view.lane, view.head, view.seen, (frame, atlas.id(), Same(Arc::clone(group))));
            let hoops = self.group.get(of_group, || Arc::new(layers::group(view, &chart, atlas, &ink)));
            painter.add(Shape::mesh(Arc::clone(hoops)));
        }
        fly(ui, view, &chart, shown, atlas, flight);
        hover::mark(ui, view, &chart, shown, atlas);
        let (response, caught) = lasso.ui(ui, &response, chart.rect);
        if let Some(caught) = caught {
            let points = (0..view.seen).map(|write| (write, view.key(&chart, write)));
            commands.push(ViewCommand::Group(caught.take(points, view.look.selection.tokens()).into()).into());
        } else if !lasso.drawing() {
            hover::hover(view, &response, &chart, shown, commands);
        }
    }
}

/// The axes, and all that meshes on them depend on.
fn chart(ui: &mut Ui, view: &View<'_>, sentence: &str, ink: &Ink) -> (Response, Chart, Frame) {
    let ask = view.keys.ask;
    let projection = &view.keys.projection;
    let range = view::range(view.keys, view.trails);
    let title = |i: usize| controls::axis(ask.components[i].min(projection.components().saturating_sub(1)), projection, ask.basis);
    let axis = |i: usize| Axis::real(title(i), range[i][0], range[i][1], Scale::Linear);
    let lane = view.look.lanes[view.lane];
    let describe = format!(
        "Dictionary map of lane {}: {} of {} along {} and {}; {sentence}",
        lane.plan.name,
        view.seen,
        plural(view.keys.points.len(), "token", "tokens"),
        title(0),
        title(1),
    );
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let legend = layers::legend(view, lane.colour, ink);
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
    chart.painter(ui).add(Shape::mesh(layers::flight(ways, part, atlas, &Ink::of(ui))));
    ui.ctx().request_repaint();
}
