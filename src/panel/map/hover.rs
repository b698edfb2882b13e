//! What is looked at on the map: a row with its way and its members, a token with its row, and what the pointer is told.

use eframe::egui::{Pos2, Response, Shape, Stroke, Ui};

use super::clip::clip;
use super::glyph::{Atlas, Glyph};
use super::view::{Row, Size, Source, View, at};
use crate::app::command::{Command, ViewCommand};
use crate::panel::Subject;
use crate::panel::common::{facts, plural, point_at, role_name, select_ring, token_name};
use crate::widget::chart::{Axis, Chart};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::raster::nearest;
use crate::widget::ticks::number;

/// How near the pointer must be to a token, in points.
const REACH: f32 = 7.0;
/// At most so many spokes are drawn: more are one blot.
const SPOKES: usize = 400;
/// Members that are named.
const NAMED: usize = 5;

/// The rows on screen.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) all: &'a [Row],
    pub(super) size: Size,
    pub(super) source: Source,
}

impl Rows<'_> {
    /// A row, if it stands for a write.
    fn get(&self, row: usize) -> Option<Row> {
        self.all.get(row).copied().filter(|r| r.1 > 0)
    }
}

/// Marks what is selected or hovered, here or in another panel.
pub(super) fn mark(ui: &Ui, view: &View<'_>, chart: &Chart, rows: Rows<'_>, atlas: &Atlas) {
    let selection = view.look.selection;
    let token = selection.current().filter(|t| *t < view.seen);
    let row = selection.current_row(view.lane).or_else(|| token.and_then(|t| view.memory.row(t)));
    if let Some((row, place)) = row.and_then(|r| Some((r, rows.get(r)?))) {
        spread(ui, view, chart, row, place, rows, atlas);
    }
    let Some(token) = token else { return };
    let to = view.key(chart, token);
    if let Some(place) = view.memory.row(token).and_then(|r| rows.get(r)) {
        let ink = Ink::of(ui);
        let ends = [to, at(chart, place.0)];
        stroke(ui, chart, &ends, Stroke::new(3.0, ink.paper), Dash::Solid);
        stroke(ui, chart, &ends, Stroke::new(1.5, ink.select), Dash::Solid);
    }
    select_ring(ui, chart, to);
}

/// A row: spokes to its members, its way through time, and a ring around it.
fn spread(ui: &Ui, view: &View<'_>, chart: &Chart, row: usize, place: Row, rows: Rows<'_>, atlas: &Atlas) {
    let ink = Ink::of(ui);
    let painter = chart.painter(ui);
    let middle = at(chart, place.0);
    let members = view.memory.members(row, view.seen);
    let each = members.len().div_ceil(SPOKES).max(1);
    let thin = Stroke::new(0.8, blend(ink.paper, ink.select, 0.42));
    for &write in members.iter().step_by(each) {
        stroke(ui, chart, &[middle, view.key(chart, write)], thin, Dash::Solid);
    }
    let mut marks = atlas.mesh(chart.rect);
    for &write in &members {
        marks.push(view.key(chart, write), Glyph::Dot, ink.select);
    }
    painter.add(Shape::mesh(marks.done()));
    if let Some(trails) = view.trails {
        let moments = trails.until(row, rows.source.chunks(view)).iter().filter(|m| m.count > 0);
        let mut way: Vec<Pos2> = moments.map(|m| at(chart, m.at)).collect();
        way.push(middle);
        let colour = view.look.lanes[view.lane].colour;
        stroke(ui, chart, &way, Stroke::new(4.0, ink.paper), Dash::Solid);
        stroke(ui, chart, &way, Stroke::new(2.0, colour), Dash::Long);
        if let Some(start) = way.first() {
            painter.circle(*start, 2.6, ink.paper, Stroke::new(1.6, colour));
        }
    }
    let r = rows.size.radius(place.1) + 1.0;
    painter.circle_stroke(middle, r, Stroke::new(4.0, ink.paper));
    painter.circle_stroke(middle, r, Stroke::new(2.0, ink.select));
}

/// A line as far as it is on the plot.
fn stroke(ui: &Ui, chart: &Chart, line: &[Pos2], stroke: Stroke, dash: Dash) {
    for part in clip(line, chart.rect.expand(8.0)) {
        line::draw(&chart.painter(ui), &part, stroke, dash);
    }
}

/// What is under the pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under {
    Token(usize),
    Row(usize),
}

/// A row whose middle the pointer is on, the nearest token within reach, else a row whose disc it is over.
pub(super) fn under(view: &View<'_>, chart: &Chart, rows: Rows<'_>, pointer: Pos2) -> Option<Under> {
    let spot = |p: Pos2| [p.x, p.y];
    // First by the map's own numbers, which are compared at once: of 65536 tokens few are near.
    let (x, y) = chart.values_at(pointer);
    let reach = |axis: &Axis, side: f32| f64::from((REACH + 1.0) / side) * (axis.max - axis.min);
    let (wide, high) = (reach(&chart.x, chart.rect.width()), reach(&chart.y, chart.rect.height()));
    let near = |p: &[f32; 2]| (f64::from(p[0]) - x).abs() <= wide && (f64::from(p[1]) - y).abs() <= high;
    let all = view.keys.points[..view.seen].iter().enumerate().filter(|(_, p)| near(p));
    let token = nearest(all.map(|(w, p)| (w, spot(at(chart, *p)))), spot(pointer), REACH);
    let reach = |count: u32| rows.size.radius(count).max(4.0);
    let in_disc = |(row, (place, count)): (usize, &Row)| {
        let to = at(chart, *place);
        (*count > 0 && to.distance(pointer) <= reach(*count)).then(|| (row, spot(to)))
    };
    let row = nearest(rows.all.iter().enumerate().filter_map(in_disc), spot(pointer), f32::INFINITY);
    let to_token = token.map_or(f32::INFINITY, |t| view.key(chart, t).distance(pointer));
    match row.map(|r| (r, at(chart, rows.all[r].0).distance(pointer))) {
        Some((row, distance)) if distance <= 4.0 && distance <= to_token + 0.5 => Some(Under::Row(row)),
        Some((row, _)) if token.is_none() => Some(Under::Row(row)),
        _ => token.map(Under::Token),
    }
}

/// Tells the pointer what it is over, and the window what was clicked.
pub(super) fn hover(view: &View<'_>, response: &Response, chart: &Chart, rows: Rows<'_>, commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    match under(view, chart, rows, pointer) {
        Some(Under::Row(row)) => {
            facts(response, &row_name(view, row), &row_facts(view, rows, row));
            commands.push(ViewCommand::HoverRow { lane: view.lane, row }.into());
            if response.clicked() {
                commands.push(ViewCommand::Choose(Subject::Centroid { lane: view.lane, row }).into());
            }
        }
        Some(Under::Token(write)) => {
            facts(response, &token_name(view.stream(), write), &token_facts(view, write));
            point_at(response, Some(write), commands);
        }
        None => point_at(response, None, commands),
    }
}

fn row_name(view: &View<'_>, row: usize) -> String {
    format!("{} {row}", if view.fixed() { "code" } else { "centroid" })
}

fn place_words(place: [f32; 2]) -> String {
    // With every digit that float32 has: far zoomed in, the first four are the same everywhere.
    format!("{}, {}", place[0], place[1])
}

fn row_facts(view: &View<'_>, rows: Rows<'_>, row: usize) -> Vec<(&'static str, String)> {
    let (place, count) = rows.all[row];
    let members = view.memory.members(row, view.seen);
    let chunk = view.plan().setup.chunk;
    let mut all = vec![("count", count.to_string())];
    if let Some(&first) = members.first() {
        let how = if view.fixed() { "first member" } else { "founded by" };
        all.push((how, token_name(view.stream(), first)));
        all.push((if view.fixed() { "in use since step" } else { "born in step" }, (first / chunk).to_string()));
    }
    all.push(("along the axes", place_words(place)));
    let name = |w: &usize| match view.stream().labels().tokens.as_ref().and_then(|t| t.get(*w)) {
        Some(text) => crate::panel::common::quoted(text),
        None => w.to_string(),
    };
    // The newest: the oldest is named above.
    let named: Vec<String> = members.iter().rev().take(NAMED).map(name).collect();
    let more = members.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    all.push(("newest members", format!("{}{rest}", named.join(", "))));
    if members.len() > SPOKES {
        all.push(("spokes drawn", format!("to one of {} members", members.len().div_ceil(SPOKES))));
    }
    match rows.source {
        Source::Before(_) => all.push(("known", rows.source.words(view))),
        Source::Replayed => all.push(("known", "replayed from the trace".to_owned())),
        _ => {}
    }
    all
}

fn token_facts(view: &View<'_>, write: usize) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    match view.memory.row(write) {
        Some(row) => {
            let how = if view.memory.founder(write) { format!("founded {row}") } else { format!("joined {row}") };
            all.push((if view.fixed() { "code" } else { "centroid" }, how));
            all.push(match view.deleted(row) {
                Some(step) => ("which is gone", format!("deleted by hand after {}", plural(step, "step", "steps"))),
                None => ("which now holds", plural(view.memory.members(row, view.seen).len(), "token", "tokens")),
            });
            let trace = view.look.lanes[view.lane].trace;
            let channel = trace.channel("similarity").filter(|c| view.head < c.heads());
            if let Some(similarity) = channel.and_then(|c| c.values(view.head).get(write)) {
                all.push(("similarity to nearest", number(similarity)));
            }
        }
        None => all.push(("memory", view.memory.store(write).name().to_owned())),
    }
    all.push(("along the axes", place_words(view.keys.points[write])));
    all.push(("role", role_name(view.stream(), write).to_owned()));
    all
}
