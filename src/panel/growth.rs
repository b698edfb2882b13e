//! Dictionary growth: rows in use over the stream, against the plateau curve.

use eframe::egui::{Color32, Id, Painter, RichText, Sense, Stroke, Ui, Vec2, pos2, vec2};

use super::common::{Key, chunk_name, chunks_seen, cover, facts, head_of, lane_link, lanes_with, playheads, plural, waiting, words};
use super::row::{glued, width_of};
use super::{Look, Panel};
use crate::app::command::Command;
use crate::session::hand::{self, Hand};
use crate::trace::Channel;
use crate::widget::baked;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign, sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::{Scale, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "How many centroids each dictionary holds, against the writes seen.\n\n\
Thick steps: n, rows in use after each chunk, up to the playhead, in each lane's colour and dashes (its name stands above with both). Thin and pale: the plateau curve N(t) = t N / (t + N). \
Thin dots: N, the most that the dictionary may hold; half of it is reached after N writes.\n\n\
The formula: a chunk that ends at write t founds m = floor(t N / (t + N)) - n rows (the first chunk at least one, a chunk at most one a write). With another growth (saturating: min(t, N); linear: t N / T) the \
steps leave the thin curve: that is the ablation.\n\nVQ attention has no curve to follow: its n is the codes of the fixed codebook that stand for a token so far.\n\n\
A row deleted by hand is in use no more, and n is one less from then on. Growth goes on as if it were there: in the formula above it still counts, so that the \
steps stay below the curve by the rows deleted.\n\nHover for the exact numbers of a step.";

/// The room of a lane's sign.
const SIGN: Vec2 = vec2(26.0, 12.0);

/// See [`HELP`].
#[derive(Debug, Default)]
pub struct Growth {
    curves: Vec<Cached<Key<()>, Vec<[f64; 2]>>>,
}

/// The plateau curve t N / (t + N), a real number.
#[must_use]
pub fn plateau(t: f64, n_max: f64) -> f64 {
    if t <= 0.0 { 0.0 } else { t * n_max / (t + n_max) }
}

/// Rows in use after so many chunks: 0 before the first. `None` if the channel does not reach that far.
#[must_use]
pub fn rows_after(sizes: &Channel, head: usize, chunks: usize) -> Option<usize> {
    match chunks.checked_sub(1) {
        None => Some(0),
        Some(last) => sizes.wholes(head).get(last).map(|&n| n.max(0) as usize),
    }
}

/// The rows of a dictionary after some chunks, told the same in every panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// The rows founded so far. A row that a hand has deleted is among them: it keeps its number, and growth goes on as if it were there.
    pub founded: usize,
    /// Those of them that a hand has deleted.
    pub deleted: usize,
}

impl Rows {
    /// n, the rows in use: those that a hand has deleted are not.
    #[must_use]
    pub fn in_use(self) -> usize {
        self.founded.saturating_sub(self.deleted)
    }

    /// `28 rows, one of them deleted`; empty where none is.
    #[must_use]
    pub fn apart(self) -> String {
        let rows = plural(self.founded, "row", "rows");
        match self.deleted {
            0 => String::new(),
            1 => format!("{rows}, one of them deleted"),
            many => format!("{rows}, {many} of them deleted"),
        }
    }

    /// `28 rows`, or `27 rows in use (28 rows, one of them deleted)`.
    #[must_use]
    pub fn in_words(self) -> String {
        if self.deleted == 0 {
            return plural(self.founded, "row", "rows");
        }
        format!("{} in use ({})", plural(self.in_use(), "row", "rows"), self.apart())
    }
}

/// The rows of one head's dictionary after so many chunks, with what `hands` have deleted of them by then. `None` if the channel `sizes`
/// does not reach that far.
#[must_use]
pub fn rows_of(sizes: &Channel, hands: &[Hand], head: usize, chunks: usize) -> Option<Rows> {
    let founded = rows_after(sizes, head, chunks)?;
    Some(Rows { founded, deleted: deleted_of(founded, hands, head, chunks) })
}

/// How many of the first `founded` rows of a head are deleted by hand after so many chunks.
fn deleted_of(founded: usize, hands: &[Hand], head: usize, chunks: usize) -> usize {
    hand::dead_rows(hands, head, chunks).into_iter().filter(|&row| row < founded).count()
}

/// n after each chunk: `sizes` (rows founded) less the rows that are deleted by hand then.
fn in_use(sizes: &[i32], hands: &[Hand], head: usize) -> Vec<i32> {
    let rows = |(step, &size): (usize, &i32)| size - deleted_of(size.max(0) as usize, hands, head, step + 1) as i32;
    if hands.is_empty() { sizes.to_vec() } else { sizes.iter().enumerate().map(rows).collect() }
}

/// The steps of `sizes` as the corners of a line: level while a chunk is read, upright where it ends.
///
/// `sizes[s]` is n after chunk s, which ends at write `min((s + 1) chunk, writes)`.
#[must_use]
pub fn corners(sizes: &[i32], chunk: usize, writes: usize) -> Vec<[f64; 2]> {
    let mut points = vec![[0.0, 0.0]];
    let mut n = 0.0;
    for (step, &size) in sizes.iter().enumerate() {
        let end = ((step + 1) * chunk).min(writes) as f64;
        points.push([end, n]);
        n = f64::from(size);
        points.push([end, n]);
    }
    points
}

/// The parameter N of a lane, if its layer has one.
pub(super) fn n_max(look: &Look<'_>, lane: usize) -> Option<usize> {
    let plan = look.lanes[lane].plan;
    plan.kind.params().iter().any(|p| p.name == "n_max").then(|| plan.setup.params.size("n_max"))
}

impl Panel for Growth {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes_with(look, &["sizes"]);
        if lanes.is_empty() {
            words(ui, "No lane here keeps a dictionary that grows; add an OVQ lane.");
            return;
        }
        self.curves.resize_with(look.lanes.len(), Cached::default);
        header(ui, look, &lanes, commands);
        let ink = Ink::of(ui);
        let total = look.plan.stream.writes();
        let most = lanes.iter().filter_map(|&l| highest(look, l)).max().unwrap_or(1);
        let mut y = Axis::real("rows in use, n", 0.0, most as f64 * 1.06, Scale::Linear);
        y.whole = true;
        let legend = [
            Entry::new(Sign::Line(Dash::Solid), ink.text, "n"),
            Entry::new(Sign::Line(Dash::Solid), pale(&ink, ink.quiet), "t N / (t + N), thin"),
            Entry::new(Sign::Line(Dash::Dots), pale(&ink, ink.quiet), "N"),
        ];
        let size = vec2(ui.available_width(), ui.available_height().max(70.0));
        let (response, chart) = Chart::show(ui, size, Axis::count("writes seen", total), y, &legend, &describe(look, &lanes));
        let painter = chart.painter(ui);
        if let Some(token) = look.selection.current() {
            painter.vline(chart.x_of(token as f64 + 1.0), chart.rect.y_range(), Stroke::new(1.0, ink.select.gamma_multiply(0.55)));
        }
        for &lane in &lanes {
            let colour = look.lanes[lane].colour;
            let Some(sizes) = look.lanes[lane].trace.channel("sizes") else { continue };
            if let Some(n) = n_max(look, lane) {
                limits(&painter, ui.scope_id().with(("limits", lane)), &chart, n, pale(&ink, colour));
            }
            let head = head_of(sizes, look);
            let chunk = look.lanes[lane].plan.setup.chunk;
            let covered = cover(sizes.len(), chunks_seen(look, lane), look.plan.stream.chunks(chunk));
            let hands = &look.lanes[lane].plan.setup.hands;
            let all = self.curves[lane].get(Key::new(look, lane, head, covered, ()), || {
                corners(&in_use(&sizes.wholes(head)[..covered], hands, head), chunk, total)
            });
            let seen = (1 + 2 * chunks_seen(look, lane)).min(all.len());
            let points: Vec<_> = all[..seen].iter().map(|p| chart.pos(p[0], p[1])).collect();
            line::draw(&painter, &points, Stroke::new(2.0, colour), look.lanes[lane].dash());
            if let Some(last) = points.last() {
                sign(&painter, *last, look.lanes[lane].mark(), colour, &ink);
            }
        }
        playheads(ui, look, &chart, |writes| writes as f64);
        if let Some(pointer) = response.hover_pos() {
            tell(&response, look, &lanes, chart.values_at(pointer).0);
        }
    }
}

/// The highest number of rows on the axis: N, or what the run has reached where the layer has no N.
fn highest(look: &Look<'_>, lane: usize) -> Option<usize> {
    let sizes = look.lanes[lane].trace.channel("sizes")?;
    let reached = sizes.wholes(head_of(sizes, look)).last().map_or(1, |&n| n.max(1) as usize);
    Some(n_max(look, lane).map_or(reached, |n| n.max(reached)))
}

/// The plateau curve and N.
fn limits(painter: &Painter, id: Id, chart: &Chart, n_max: usize, colour: Color32) {
    let n = n_max as f64;
    let points: Vec<_> = (0..=200).map(|i| chart.x.value(f64::from(i) / 200.0)).map(|t| chart.pos(t, plateau(t, n))).collect();
    baked::draw(painter, id, line::shapes(&points, Stroke::new(1.0, colour), Dash::Solid));
    let ends = [chart.rect.left(), chart.rect.right()].map(|x| pos2(x, chart.y_of(n)));
    line::draw(painter, &ends, Stroke::new(1.0, colour), Dash::Dots);
}

/// The ink of what a line is held against: a lane's own colour and dashes are those of its n alone.
fn pale(ink: &Ink, colour: Color32) -> Color32 {
    blend(ink.paper, colour, 0.55)
}

fn header(ui: &mut Ui, look: &Look<'_>, lanes: &[usize], commands: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        for (i, &lane) in lanes.iter().enumerate() {
            named(ui, look, lane, &glued(&sentence(look, lane)), i > 0, commands);
        }
    });
}

/// A lane's sign, its name and a word on it, in a row that wraps: all in one piece, begun on a line of its own (if it stands `after_others`)
/// where there is no room for all of it on this one.
pub(super) fn named(ui: &mut Ui, look: &Look<'_>, lane: usize, text: &str, after_others: bool, commands: &mut Vec<Command>) {
    let name = RichText::new(look.lanes[lane].plan.name.as_str()).strong();
    let gap = ui.spacing().item_spacing.x;
    let mut whole = SIGN.x + gap + width_of(ui, name.clone());
    if !text.is_empty() {
        whole += gap + width_of(ui, text);
    }
    if after_others && !fits(ui.available_size_before_wrap().x, whole) {
        ui.end_row();
    }
    let (place, _) = ui.allocate_exact_size(SIGN, Sense::hover());
    let own = &look.lanes[lane];
    sign(ui.painter(), place.center(), Sign::Line(own.dash()), own.colour, &Ink::of(ui));
    sign(ui.painter(), place.center(), own.mark(), own.colour, &Ink::of(ui));
    drop(lane_link(ui, name, lane, commands));
    if !text.is_empty() {
        ui.label(text);
    }
    ui.add_space(8.0);
}

/// True if what is so wide stands in the room that is left of a row, without a break in it: half a point is lost to rounding.
fn fits(room: f32, whole: f32) -> bool {
    whole + 0.5 <= room
}

/// `n 409 of N 512`, at the playhead, what a hand has deleted, and how many writes wait.
fn sentence(look: &Look<'_>, lane: usize) -> String {
    let Some(sizes) = look.lanes[lane].trace.channel("sizes") else { return String::new() };
    let rows = rows_of(sizes, &look.lanes[lane].plan.setup.hands, head_of(sizes, look), chunks_seen(look, lane));
    let text = match (rows, n_max(look, lane)) {
        (Some(rows), Some(most)) => format!("n {} of N {most}{}", rows.in_use(), aside(rows)),
        (Some(rows), None) => format!("n {}{}", rows.in_use(), aside(rows)),
        (None, _) => "not computed yet".to_owned(),
    };
    format!("{text} {}", waiting(look, lane)).trim_end().to_owned()
}

/// ` (28 rows, one of them deleted)`; nothing where none is.
fn aside(rows: Rows) -> String {
    if rows.deleted == 0 { String::new() } else { format!(" ({})", rows.apart()) }
}

fn describe(look: &Look<'_>, lanes: &[usize]) -> String {
    let each: Vec<String> = lanes.iter().map(|&l| format!("{}: {}", look.lanes[l].plan.name, sentence(look, l))).collect();
    format!("Dictionary growth: rows in use against writes, at write {}. {}", look.writes, each.join("; "))
}

fn tell(response: &eframe::egui::Response, look: &Look<'_>, lanes: &[usize], x: f64) {
    let writes = x.round().clamp(0.0, look.plan.stream.writes() as f64) as usize;
    let mut rows = Vec::new();
    for &lane in lanes {
        let Some(sizes) = look.lanes[lane].trace.channel("sizes") else { continue };
        let plan = look.lanes[lane].plan;
        let (head, chunks) = (head_of(sizes, look), plan.chunks_at(writes));
        let name = plan.name.as_str();
        let end = (chunks * plan.setup.chunk).min(look.plan.stream.writes());
        let text = if writes > look.writes {
            "after the playhead".to_owned()
        } else {
            let step = chunks.checked_sub(1);
            let rows = |chunks: usize| rows_of(sizes, &plan.setup.hands, head, chunks);
            match (rows(chunks), step, step.and_then(rows)) {
                (Some(now), Some(step), Some(before)) => {
                    let (chunk, new) = (chunk_name(look.plan, plan, step), now.founded.saturating_sub(before.founded));
                    format!("n = {}{} in {chunk}, after write {end}; {new} new in it", now.in_use(), aside(now))
                }
                (Some(now), None, _) => format!("n = {} before the end of {}", now.in_use(), chunk_name(look.plan, plan, 0)),
                _ => "not computed yet".to_owned(),
            }
        };
        rows.push((name, text));
        if let Some(n) = n_max(look, lane) {
            rows.push(("t N / (t + N)", format!("{} with N = {n}, t = {writes}", number(plateau(writes as f64, n as f64)))));
        }
    }
    facts(response, &format!("after write {writes}"), &rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_sign_are_parted_by_no_end_of_a_line() {
        assert!(fits(100.0, 99.0) && fits(100.0, 99.5), "it stands in what is left");
        assert!(!fits(100.0, 99.8) && !fits(40.0, 120.0), "it begins a line of its own");
    }

    #[test]
    fn half_of_n_is_reached_after_n_writes() {
        assert!((plateau(512.0, 512.0) - 256.0).abs() < 1e-12);
        assert!(plateau(0.0, 512.0).abs() < 1e-12);
        assert!(plateau(1e9, 512.0) < 512.0);
    }

    #[test]
    fn a_row_deleted_by_hand_is_in_use_no_more_and_growth_goes_on() {
        use crate::session::hand::Act;
        let delete = |step, kv_head, row| Hand { step, kv_head, what: Act::Delete { row } };
        // Row 4 goes after the third chunk, twice over; head 1 loses another one, and a move takes nothing away.
        let moved = Hand { step: 1, kv_head: 0, what: Act::Move { row: 0, to: 1 } };
        let hands = [delete(3, 0, 4), delete(4, 0, 4), delete(2, 1, 0), moved];
        assert_eq!(in_use(&[2, 5, 8, 10], &hands, 0), [2, 5, 7, 9]);
        assert_eq!(in_use(&[2, 5, 8, 10], &hands, 1), [2, 4, 7, 9]);
        assert_eq!(in_use(&[2, 5], &[], 0), [2, 5]);
        let rows = Rows { founded: 28, deleted: 1 };
        assert_eq!((rows.in_use(), rows.apart()), (27, "28 rows, one of them deleted".to_owned()));
        assert_eq!(rows.in_words(), "27 rows in use (28 rows, one of them deleted)");
        assert_eq!(Rows { deleted: 0, ..rows }.in_words(), "28 rows");
        assert_eq!(Rows { deleted: 2, ..rows }.apart(), "28 rows, 2 of them deleted");
    }

    #[test]
    fn steps_are_level_within_a_chunk_and_the_last_may_be_short() {
        // Chunks of 64 over 100 writes: the second ends at 100, not at 128.
        assert_eq!(corners(&[56, 70], 64, 100), [[0.0, 0.0], [64.0, 0.0], [64.0, 56.0], [100.0, 56.0], [100.0, 70.0]]);
    }
}
