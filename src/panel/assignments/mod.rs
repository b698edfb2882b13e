//! Assignments: which centroid each write went to, as a raster token x centroid.

mod margin;
mod order;
mod picture;

use eframe::egui::{ComboBox, Response, RichText, Stroke, Ui, vec2};
use ndarray::ArrayView2;

use self::order::{By, Order, Placed, Sorting};
use self::picture::{Drawn, Pictures};
use super::common::{
    chunk_noun, chunk_short, chunks_seen, cover, crowd, facts, head_of, lanes_with, many, marked_name, nothing_written, playheads, plural,
    point_at, role_name, select_ring, token_name, words, writes_seen,
};
use super::growth::{n_max, rows_after};
use super::{LaneChoice, Look, Panel, Subject};
use crate::app::command::{Command, ViewCommand};
use crate::panel::choices::Choices;
use crate::session::hand;
use crate::session::plan::PlanLane;
use crate::stream::Stream;
use crate::trace::LaneTrace;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::lasso::Lasso;
use crate::widget::palette::{Ink, blend};
use crate::widget::raster::{Mark, nearest};
use crate::widget::ticks::number;

/// The text behind the panel's `?`.
pub const HELP: &str = "Which centroid each write went to, up to the playhead: a point for each token, at the row of the dictionary that took it.\n\n\
A ring is a founder: it opened a new row with its own key and value. A dot was merged into a row: at the adaptive rate the row is the mean of all \
its members, at a constant rate it goes that part of the way to the mean of the chunk's members (and is made a unit vector, if the lane says so). A diamond is a token of the marked role (the needle). By birth, founders climb along the upper edge, for a \
new row is the next one; a horizontal row of dots is a centroid that gathers the same sort of token again and again.\n\n\
Rows can be sorted by birth (their number), by count (the fullest lowest), by last use (the most recent lowest) or by similarity: with a row selected, \
by D_i.D_j with that row, which is lowest itself; else along the first principal component of the stream's keys (of 1024 of them), one direction for the whole run, so that rows \
that stand for like keys lie together and stay where they are. All but the first depend on the playhead, and the line above the plot says of which step the order is: while the \
playhead moves, an order stays for a moment, and rows founded since lie on top. A row that a hand deleted holds nothing from there on: but for the order of birth it lies above all others that were there. The points themselves are never moved from their row.\n\n\
The formula: founders are the m tokens of a chunk with the smallest max_j k.D_j over the centroids from before the \
chunk (or those that random or farthest-point founding picks); every other token goes to argmax_j k.D_j over the same centroids. In the very first \
chunk there are none: its first token founds row 0, similarity is to that token's key, and every token that founds no row goes to row 0.\n\nVQ attention: the row is the code of its fixed codebook that stands for the token, and nothing is ever founded.\n\nWhere there are more tokens than could be told apart, dots become density and diamonds smaller; founders lie on top, and all of them and of the marked tokens are drawn. Hover for a token's similarity \
and margin; click to select it: its row and everything in it are shown. Left of the plot, hover for a row's count, and click to select the row. Drag around points to select them together, with Shift to add them to the selection.";

/// See [`HELP`].
#[derive(Debug, Default)]
pub struct Assignments {
    lane: LaneChoice,
    sorting: Sorting,
    lasso: Lasso,
    pictures: Pictures,
}

/// The fixed codebook of a lane [N, dk], where its layer is given one: its rows are no part of any state.
#[must_use]
pub fn codebook(plan: &PlanLane, head: usize) -> Option<ArrayView2<'_, f32>> {
    let book = plan.setup.arrays.get("codebook")?.view();
    if book.ndim() == 2 {
        return book.into_dimensionality().ok();
    }
    let books = book.into_dimensionality::<ndarray::Ix3>().ok()?;
    let last = books.dim().0.checked_sub(1)?;
    Some(books.index_axis_move(ndarray::Axis(0), head.min(last)))
}

/// How a write is drawn.
#[must_use]
pub fn mark_of(founder: bool, marked: bool) -> Mark {
    match (founder, marked) {
        (false, false) => Mark::Plain,
        (true, false) => Mark::Ring,
        (false, true) => Mark::Diamond,
        (true, true) => Mark::RingedDiamond,
    }
}

/// One lane's assignments for one head, as far as they are computed, and the order of their rows.
struct Rows<'a> {
    assignments: &'a [i32],
    is_new: &'a [i32],
    order: Option<&'a Order>,
    /// The rows that hands delete in this head, each with the number of chunks after which it is gone, where that is by the playhead.
    deleted: &'a [(usize, usize)],
    /// What the lane's chunks are called: `step` or `chunk`.
    noun: &'static str,
}

impl Rows<'_> {
    fn founder(&self, write: usize) -> bool {
        self.is_new.get(write).is_some_and(|&f| f == 1)
    }

    /// The row that took a write.
    fn row(&self, write: usize) -> Option<usize> {
        self.assignments.get(write).and_then(|&r| usize::try_from(r).ok())
    }

    /// What a row holds of the first `seen` writes, in words.
    fn holds(&self, row: usize, seen: usize) -> String {
        if let Some((_, step)) = self.deleted.iter().find(|(deleted, _)| *deleted == row) {
            return format!("nothing: deleted by hand after {}", many(*step, self.noun));
        }
        plural(self.assignments[..seen].iter().filter(|r| usize::try_from(**r) == Ok(row)).count(), "token", "tokens")
    }

    /// Where a row is drawn.
    fn place_of(&self, row: usize) -> usize {
        self.order.map_or(row, |o| o.place(row))
    }

    /// Where a write is drawn.
    fn place(&self, write: usize) -> Option<usize> {
        self.row(write).map(|r| self.place_of(r))
    }

    /// Of which of the lane's chunks the order is: `step 24`.
    fn as_of(&self, order: &Order) -> String {
        format!("{} {}", self.noun, order.chunks.saturating_sub(1))
    }

    /// The row drawn at a place.
    fn row_at(&self, place: usize) -> usize {
        self.order.map_or(place, |o| o.row(place))
    }
}

/// The row of lane `lane` to be marked: the one under the pointer, that of the token under the pointer, the one that was chosen last.
pub fn marked_row(look: &Look<'_>, lane: usize, of_token: impl Fn() -> Option<usize>) -> Option<usize> {
    let s = look.selection;
    let under = s.hovered_row.filter(|(l, _)| *l == lane).map(|(_, row)| row);
    let under = under.or_else(|| s.hovered.and_then(|_| of_token()));
    // Of a row and a token that were both clicked, the last one counts.
    let row_last = matches!(s.subject, Some(Subject::Centroid { .. }));
    let clicked = s.row.filter(|(l, _)| *l == lane).map(|(_, row)| row);
    under.or_else(|| if row_last { clicked.or_else(&of_token) } else { of_token().or(clicked) })
}

impl Panel for Assignments {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes_with(look, &["assignments"]);
        let none = "No lane here writes assignments; add an OVQ or a VQ lane.";
        let Self { lane, sorting, .. } = self;
        let lane = lane.row(ui, look, &lanes, none, |ui, lane| {
            ui.label(sentence(look, lane));
            choose_order(ui, sorting);
            said(ui, look, lane, sorting);
        });
        let Some(lane) = lane else { return };
        let trace = look.lanes[lane].trace;
        let Some(channel) = trace.channel("assignments") else { return };
        let head = head_of(channel, look);
        let is_new = trace.channel("is_new").map_or(&[][..], |c| c.wholes(head));
        let assignments = channel.wholes(head);
        if assignments.is_empty() {
            words(ui, "Not computed yet.");
            return;
        }
        let seen = writes_seen(look, lane).min(assignments.len());
        if seen == 0 {
            nothing_written(ui);
            return;
        }
        let highest = rows_held(look, lane, head, assignments);
        let deleted = deleted(look, lane, head);
        let (now, anchor) = (rows_now(look, lane, head, highest), anchor(look, lane, assignments));
        self.sorting.update(ui, look, Placed { lane, head, assignments, seen, rows: now, anchor, deleted: &deleted });
        let noun = chunk_noun(look.plan, look.lanes[lane].plan);
        let rows = Rows { assignments, is_new, order: self.sorting.order(), deleted: &deleted, noun };
        let top = axis_top(look, lane, highest, assignments.len());
        let (response, chart) = frame(ui, look, (lane, seen, now, top), self.sorting.by);
        let covered = cover(assignments.len(), seen, look.plan.stream.writes());
        let drawn = Drawn { lane, head, seen, covered, order: (top, self.sorting.generation()) };
        self.pictures.paint(ui, look, &chart, &rows, drawn);
        playheads(ui, look, &chart, |writes| writes as f64);
        let current = look.selection.current().filter(|t| *t < seen);
        let marked = marked_row(look, lane, || current.and_then(|t| rows.row(t)));
        highlight(ui, &chart, &rows, seen, current, marked);
        margin::show(ui, look, lane, &chart, (&rows, seen, [now, highest]), marked, commands);
        let (response, caught) = self.lasso.ui(ui, &response, chart.rect);
        if let Some(caught) = caught {
            let points = (0..seen).filter_map(|w| Some((w, chart.pos(w as f64 + 0.5, rows.place(w)? as f64 + 0.5))));
            commands.push(Command::View(ViewCommand::Group(caught.take(points, look.selection.tokens()).into())));
        }
        if !self.lasso.drawing() {
            hover(look, &response, &chart, (trace, head), &rows, seen, commands);
        }
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.lane);
        choices.one_of("order", &mut self.sorting.by, By::ALL.map(|by| (by, by.title())));
    }
}

/// Axes, legend and paper.
fn frame(ui: &mut Ui, look: &Look<'_>, (lane, seen, now, top): (usize, usize, usize, usize), by: By) -> (Response, Chart) {
    let stream = &look.plan.stream;
    let fixed = look.lanes[lane].trace.channel("is_new").is_none();
    // Those that there are at the playhead: the axis has room for all that will be.
    let describe = match by {
        By::Birth => format!("Assignments of {seen} tokens to {now} centroids, founders ringed, at write {}", look.writes),
        by => format!("Assignments of {seen} tokens to {now} centroids {}, founders ringed, at write {}", by.title(), look.writes),
    };
    let label = if by == By::Birth { "centroid".to_owned() } else { format!("centroids {}, rank", by.title()) };
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let legend = legend(stream, &Ink::of(ui), fixed);
    Chart::show(ui, size, Axis::count("token", stream.writes()), Axis::count(label, top), &legend, &describe)
}

fn choose_order(ui: &mut Ui, sorting: &mut Sorting) {
    let combo = ComboBox::from_id_salt("order").selected_text(sorting.by.title()).width(84.0).show_ui(ui, |ui| {
        for by in By::ALL {
            ui.selectable_value(&mut sorting.by, by, by.title()).on_hover_text(by.hint());
        }
    });
    combo.response.accessible_name("Order of rows").on_hover_text("The order of the rows");
}

/// Of which step the order is, where that is not plain.
fn said(ui: &mut Ui, look: &Look<'_>, lane: usize, sorting: &Sorting) {
    if sorting.by == By::Birth {
        return;
    }
    let chunks = chunks_seen(look, lane);
    let name = |chunk: usize| chunk_short(look.plan, look.lanes[lane].plan, chunk);
    let step = |chunks: usize| chunks.checked_sub(1).map_or_else(|| "the start".to_owned(), name);
    let text = match sorting.order() {
        _ if chunks == 0 => return,
        None => format!("by birth until the centroids of {} are here", step(chunks)),
        Some(order) if order.chunks == chunks => format!("as of {}", step(chunks)),
        Some(order) => format!("as of {}, not yet of {}", step(order.chunks), step(chunks)),
    };
    ui.label(RichText::new(text).color(Ink::of(ui).quiet));
}

/// The row that others are sorted by their similarity to: the selected one, or that of the selected token. Not what is hovered: rows
/// must not run away from the pointer.
fn anchor(look: &Look<'_>, lane: usize, assignments: &[i32]) -> Option<usize> {
    let s = look.selection;
    let of_token = s.token.and_then(|t| assignments.get(t)).and_then(|&r| usize::try_from(r).ok());
    let row = s.row.filter(|(l, _)| *l == lane).map(|(_, row)| row);
    if matches!(s.subject, Some(Subject::Centroid { .. })) { row.or(of_token) } else { of_token.or(row) }
}

/// The rows that are deleted by hand at the playhead, each with the number of chunks after which it was.
fn deleted(look: &Look<'_>, lane: usize, head: usize) -> Vec<(usize, usize)> {
    let (hands, chunks) = (&look.lanes[lane].plan.setup.hands, chunks_seen(look, lane));
    let rows = hand::dead_rows(hands, head, chunks).into_iter();
    rows.filter_map(|row| Some((row, hand::deleted(hands, head, row)?))).collect()
}

/// Rows in use at the playhead: of a fixed codebook all.
fn rows_now(look: &Look<'_>, lane: usize, head: usize, highest: usize) -> usize {
    let trace = look.lanes[lane].trace;
    let founding = trace.channel("is_new").is_some();
    let sizes = trace.channel("sizes").filter(|_| founding);
    sizes.map_or(Some(highest), |c| rows_after(c, head, chunks_seen(look, lane))).unwrap_or(highest)
}

/// Rows for the axis: as many as the run has reached anywhere, so that the axis stands still while the playhead moves.
fn rows_held(look: &Look<'_>, lane: usize, head: usize, assignments: &[i32]) -> usize {
    if let Some(codes) = codebook(look.lanes[lane].plan, head) {
        return codes.nrows().max(1);
    }
    let trace = look.lanes[lane].trace;
    // Where nothing founds a row, those in use are not the first ones.
    let founding = trace.channel("is_new").is_some();
    let sizes = trace.channel("sizes").filter(|_| founding).and_then(|c| c.wholes(head).last().copied());
    sizes.unwrap_or_else(|| assignments.iter().copied().max().map_or(1, |r| r + 1)).max(1) as usize
}

/// The end of the axis: while the run goes on it grows in steps, or every block would need a new picture.
fn axis_top(look: &Look<'_>, lane: usize, highest: usize, held: usize) -> usize {
    match n_max(look, lane) {
        Some(n) if held < look.plan.stream.writes() => highest.next_multiple_of((n / 16).max(1)),
        _ => highest,
    }
}

fn sentence(look: &Look<'_>, lane: usize) -> String {
    let trace = look.lanes[lane].trace;
    let Some(channel) = trace.channel("assignments") else { return String::new() };
    let head = head_of(channel, look);
    let seen = writes_seen(look, lane).min(channel.len());
    let founders = trace.channel("is_new").map(|c| c.wholes(head)[..seen.min(c.len())].iter().filter(|&&f| f == 1).count());
    match founders {
        _ if seen == 0 => "no token yet".to_owned(),
        Some(n) => format!("{}, {} founded a row, the others joined one", plural(seen, "token", "tokens"), n),
        None => plural(seen, "token", "tokens"),
    }
}

fn legend(stream: &Stream, ink: &Ink, fixed: bool) -> Vec<Entry> {
    let mut entries = vec![Entry::new(Sign::Dot, ink.plain, if fixed { "token" } else { "merged" })];
    if !fixed {
        entries.push(Entry::new(Sign::Ring, ink.window, "founder"));
    }
    if let Some(name) = marked_name(stream) {
        entries.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    entries
}

/// The marked row as a band with its members as dots; the token itself ringed.
fn highlight(ui: &Ui, chart: &Chart, rows: &Rows<'_>, seen: usize, token: Option<usize>, marked: Option<usize>) {
    let ink = Ink::of(ui);
    let painter = chart.painter(ui);
    let of_token = token.and_then(|t| rows.row(t));
    let mut bands: Vec<usize> = marked.into_iter().chain(of_token).collect();
    bands.dedup();
    for row in bands {
        let at = rows.place_of(row) as f64 + 0.5;
        painter.hline(chart.rect.x_range(), chart.y_of(at), Stroke::new(1.0, blend(ink.paper, ink.select, 0.5)));
        let mut last = f32::NEG_INFINITY;
        for (write, _) in rows.assignments[..seen].iter().enumerate().filter(|(_, r)| usize::try_from(**r) == Ok(row)) {
            let at = chart.pos(write as f64 + 0.5, at);
            // Members closer than half a point are one dot.
            if at.x - last >= 0.5 {
                painter.circle(at, 2.6, ink.select, Stroke::new(1.0, ink.paper));
                last = at.x;
            }
        }
    }
    if let Some((token, row)) = token.zip(of_token) {
        painter.vline(chart.x_of(token as f64 + 0.5), chart.rect.y_range(), Stroke::new(1.0, blend(ink.paper, ink.select, 0.25)));
        select_ring(ui, chart, chart.pos(token as f64 + 0.5, rows.place_of(row) as f64 + 0.5));
    }
}

fn hover(
    look: &Look<'_>,
    response: &Response,
    chart: &Chart,
    (trace, head): (&LaneTrace, usize),
    rows: &Rows<'_>,
    seen: usize,
    commands: &mut Vec<Command>,
) {
    const REACH: f32 = 9.0;
    let Some(pointer) = response.hover_pos() else { return };
    let token_at = |dx: f32| chart.values_at(pointer + vec2(dx, 0.0)).0.max(0.0) as usize;
    let range = token_at(-REACH).min(seen)..(token_at(REACH) + 1).min(seen);
    let place = |w: usize| rows.place(w).map(|p| chart.pos(w as f64 + 0.5, p as f64 + 0.5));
    let points = range.filter_map(|w| place(w).map(|at| (w, [at.x, at.y])));
    let Some((write, row)) = nearest(points, [pointer.x, pointer.y], REACH).and_then(|w| Some((w, rows.row(w)?))) else {
        point_at(response, None, commands);
        return;
    };
    let real = |channel: &str| trace.channel(channel)?.values(head).get(write);
    let stream = &look.plan.stream;
    let how = if rows.founder(write) { format!("founded row {row}") } else { format!("joined row {row}") };
    let mut facts_shown = vec![("centroid", how), ("row now holds", rows.holds(row, seen))];
    if let Some(order) = rows.order {
        let text = format!("{} from below, as of {}", rows.place_of(row), rows.as_of(order));
        facts_shown.push(("rank of the row", text));
    }
    if let Some(s) = real("similarity") {
        facts_shown.push(("similarity to nearest", number(s)));
    }
    if let Some(m) = real("assign_margin") {
        let text = if m.is_infinite() { "no second centroid".to_owned() } else { number(m) };
        facts_shown.push(("margin to the next", text));
    }
    facts_shown.push(("role", role_name(stream, write).to_owned()));
    if let Some(each) = crowd(response, chart, stream.writes()) {
        facts_shown.push(("drawn", format!("{each} tokens a pixel; all founders and marked ones")));
    }
    facts(response, &token_name(stream, write), &facts_shown);
    point_at(response, Some(write), commands);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn founders_and_marked_tokens_are_never_plain() {
        assert_eq!(mark_of(false, false), Mark::Plain);
        for (founder, marked) in [(true, false), (false, true), (true, true)] {
            assert_ne!(mark_of(founder, marked), Mark::Plain);
        }
    }
}
