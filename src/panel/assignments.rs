//! Assignments: which centroid each write went to, as a raster token x centroid.

use eframe::egui::{Stroke, TextureHandle, Ui, vec2};

use super::common::{
    Canvas, Key, LaneChoice, canvas, cover, crowd, facts, head_of, is_marked, lanes_with, marked_name, paint_until, plural, point_at,
    role_name, select_ring, texture, token_name, words, writes_seen,
};
use super::growth::n_max;
use super::{Look, Panel};
use crate::app::command::Command;
use crate::stream::Stream;
use crate::trace::LaneTrace;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::palette::{Ink, blend};
use crate::widget::raster::{Inks, Mark, Point, draw, nearest};
use crate::widget::ticks::number;

/// The text behind the panel's `?`.
pub const HELP: &str = "Which centroid each write went to, up to the playhead: a point for each token, at the row of the dictionary that took it.\n\n\
A ring is a founder: it opened a new row with its own key and value. A dot was merged into a row: at the adaptive rate the row is the mean of all \
its members, at a constant rate it goes that part of the way to the mean of the chunk's members (and is made a unit vector, if the lane says so). A diamond is a token of the marked role (the needle). Founders climb along the upper edge, for a \
new row is the next one; a horizontal row of dots is a centroid that gathers the same sort of token again and again.\n\n\
The formula: founders are the m tokens of a chunk with the smallest max_j k.D_j over the centroids from before the \
chunk (or those that random or farthest-point founding picks); every other token goes to argmax_j k.D_j over the same centroids. In the very first \
chunk there are none: its first token founds row 0, similarity is to that token's key, and every token that founds no row goes to row 0.\n\nVQ attention: the row is the code of its fixed codebook that stands for the token, and nothing is ever founded.\n\nWith more tokens than pixels dots become density, founders and marked tokens are still all drawn. Hover for a token's similarity \
and margin; click to select it: its row and everything in it are shown.";

/// See [`HELP`].
#[derive(Debug, Default)]
pub struct Assignments {
    lane: LaneChoice,
    picture: Cached<Key<(Canvas, usize)>, Picture>,
}

struct Picture(TextureHandle);

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Picture")
    }
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

/// One lane's assignments for one head, as far as they are computed.
struct Rows<'a> {
    assignments: &'a [i32],
    is_new: &'a [i32],
    trace: &'a LaneTrace,
    head: usize,
}

impl Rows<'_> {
    fn founder(&self, write: usize) -> bool {
        self.is_new.get(write).is_some_and(|&f| f == 1)
    }

    /// A number of another channel for a write.
    fn real(&self, channel: &str, write: usize) -> Option<f64> {
        self.trace.channel(channel)?.values(self.head).get(write)
    }
}

impl Panel for Assignments {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes_with(look, &["assignments"]);
        let none = "No lane here writes assignments; add an OVQ or a VQ lane.";
        let Some(lane) = self.lane.row(ui, look, &lanes, none, |ui, lane| drop(ui.label(sentence(look, lane)))) else { return };
        let trace = look.lanes[lane].trace;
        let Some(channel) = trace.channel("assignments") else { return };
        let head = head_of(channel, look);
        let is_new = trace.channel("is_new").map_or(&[][..], |c| c.wholes(head));
        let rows = Rows { assignments: channel.wholes(head), is_new, trace, head };
        if rows.assignments.is_empty() {
            words(ui, "Not computed yet.");
            return;
        }
        let seen = writes_seen(look, lane).min(rows.assignments.len());
        let stream = &look.plan.stream;
        let ink = Ink::of(ui);
        let highest = rows_held(trace, head, rows.assignments);
        // While the run goes on the axis grows in steps, or every block would need a new picture.
        let top = match n_max(look, lane) {
            Some(n) if rows.assignments.len() < stream.writes() => highest.next_multiple_of((n / 16).max(1)),
            _ => highest,
        };
        let describe = format!("Assignments of {seen} tokens to {highest} centroids, founders ringed, at write {}", look.writes);
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let (response, chart) =
            Chart::show(ui, size, Axis::count("token", stream.writes()), Axis::count("centroid", top), &legend(stream, &ink), &describe);
        let canvas = canvas(ui, chart.rect);
        let covered = cover(rows.assignments.len(), seen, stream.writes());
        let scale = ui.pixels_per_point();
        let picture = self.picture.get(Key::new(look, lane, head, covered, (canvas, top)), || {
            Picture(texture(ui, "assignments", picture(&rows, covered, stream, &chart, canvas, scale, ink)))
        });
        paint_until(ui, &chart, &picture.0, seen as f64);
        chart.playhead(ui, look.writes as f64);
        let current = look.selection.current().filter(|t| *t < seen);
        if let Some(token) = current {
            highlight(ui, &chart, &rows.assignments[..seen], token);
        }
        hover(look, &response, &chart, &rows, seen, commands);
    }
}

/// Rows for the axis: as many as the run has reached anywhere, so that the axis stands still while the playhead moves.
fn rows_held(trace: &LaneTrace, head: usize, assignments: &[i32]) -> usize {
    // Where nothing founds a row (VQ attention), those in use are not the first ones.
    let founding = trace.channel("is_new").is_some();
    let sizes = trace.channel("sizes").filter(|_| founding).and_then(|c| c.wholes(head).last().copied());
    sizes.unwrap_or_else(|| assignments.iter().copied().max().map_or(1, |r| r + 1)).max(1) as usize
}

fn sentence(look: &Look<'_>, lane: usize) -> String {
    let trace = look.lanes[lane].trace;
    let Some(channel) = trace.channel("assignments") else { return String::new() };
    let head = head_of(channel, look);
    let seen = writes_seen(look, lane).min(channel.len());
    let founders = trace.channel("is_new").map(|c| c.wholes(head)[..seen.min(c.len())].iter().filter(|&&f| f == 1).count());
    match founders {
        Some(n) => format!("{}, {} founded a row, the others joined one", plural(seen, "token", "tokens"), n),
        None => plural(seen, "token", "tokens"),
    }
}

fn legend(stream: &Stream, ink: &Ink) -> Vec<Entry> {
    let mut entries = vec![Entry::new(Sign::Dot, ink.plain, "merged"), Entry::new(Sign::Ring, ink.window, "founder")];
    if let Some(name) = marked_name(stream) {
        entries.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    entries
}

fn picture(
    rows: &Rows<'_>,
    covered: usize,
    stream: &Stream,
    chart: &Chart,
    canvas: Canvas,
    scale: f32,
    ink: Ink,
) -> eframe::egui::ColorImage {
    let [width, height] = canvas.0;
    let points: Vec<Point> = (0..covered)
        .map(|write| Point {
            // A token is a column one unit wide, a row one unit high: the point is in its middle.
            x: (chart.x.share(write as f64 + 0.5) * width as f64) as f32,
            y: ((1.0 - chart.y.share(f64::from(rows.assignments[write]) + 0.5)) * height as f64) as f32,
            mark: mark_of(rows.founder(write), is_marked(stream, write)),
        })
        .collect();
    draw(width, height, scale, &points, Inks { plain: ink.plain, ring: ink.window, diamond: ink.mark })
}

/// The row of a token as a band, its members as dots, the token itself ringed.
fn highlight(ui: &Ui, chart: &Chart, assignments: &[i32], token: usize) {
    let ink = Ink::of(ui);
    let painter = chart.painter(ui);
    let row = f64::from(assignments[token]) + 0.5;
    painter.hline(chart.rect.x_range(), chart.y_of(row), Stroke::new(1.0, blend(ink.paper, ink.select, 0.5)));
    painter.vline(chart.x_of(token as f64 + 0.5), chart.rect.y_range(), Stroke::new(1.0, blend(ink.paper, ink.select, 0.25)));
    let mut last = f32::NEG_INFINITY;
    for (write, _) in assignments.iter().enumerate().filter(|(_, r)| **r == assignments[token]) {
        let at = chart.pos(write as f64 + 0.5, row);
        // Members closer than half a point are one dot.
        if at.x - last >= 0.5 {
            painter.circle(at, 2.6, ink.select, Stroke::new(1.0, ink.paper));
            last = at.x;
        }
    }
    select_ring(ui, chart, chart.pos(token as f64 + 0.5, row));
}

fn hover(look: &Look<'_>, response: &eframe::egui::Response, chart: &Chart, rows: &Rows<'_>, seen: usize, commands: &mut Vec<Command>) {
    const REACH: f32 = 9.0;
    let Some(pointer) = response.hover_pos() else { return };
    let token_at = |dx: f32| chart.values_at(pointer + vec2(dx, 0.0)).0.max(0.0) as usize;
    let range = token_at(-REACH).min(seen)..(token_at(REACH) + 1).min(seen);
    let place = |w: usize| chart.pos(w as f64 + 0.5, f64::from(rows.assignments[w]) + 0.5);
    let points = range.map(|w| (w, [place(w).x, place(w).y]));
    let Some(write) = nearest(points, [pointer.x, pointer.y], REACH) else {
        point_at(response, None, commands);
        return;
    };
    let stream = &look.plan.stream;
    let row = rows.assignments[write];
    let members = rows.assignments[..seen].iter().filter(|r| **r == row).count();
    let how = if rows.founder(write) { format!("founded row {row}") } else { format!("joined row {row}") };
    let mut facts_shown = vec![("centroid", how), ("row now holds", plural(members, "token", "tokens"))];
    if let Some(s) = rows.real("similarity", write) {
        facts_shown.push(("similarity to nearest", number(s)));
    }
    if let Some(m) = rows.real("assign_margin", write) {
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
