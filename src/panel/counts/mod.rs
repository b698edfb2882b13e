//! Counts: how many writes each centroid holds at the playhead, row by row and as a histogram.

mod histogram;

use eframe::egui::{Rect, RichText, Stroke, Ui, pos2, vec2};

use self::histogram::{Bins, Listed};
use super::assignments::{codebook, marked_row};
use super::common::{Key, chunks_seen, crowd, facts, head_of, lanes_with, plural, token_name, words, writes_seen};
use super::growth::{Rows, rows_after};
use super::row::{Tab, buttons_width, sentence, tabs};
use super::{LaneChoice, Look, Panel, Subject};
use crate::app::command::{Command, ViewCommand};
use crate::layer::ovq::Counting;
use crate::metric::health::perplexity;
use crate::panel::choices::Choices;
use crate::session::hand;
use crate::session::plan::PlanLane;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::heatmap::cells_of;
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::{Scale, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "How many writes each centroid holds at the playhead: c, the counts of the dictionary.\n\n\
By row: rows in the order in which they were founded (VQ attention: codes by their number in the codebook, those without a write too). Sorted: the fullest first. The axis of counts is logarithmic (they span 1 to \
thousands) and begins just below 1: a row of one write is a short stub, a twentieth of the height, and a bar's length is no measure of its count, only its top is. On the linear axis bars begin \
at 0.\n\n\
Histogram: how many rows hold so many writes, on a logarithmic axis of counts. Up to 10 writes each count has a bar of its own; beyond, a bar is a bin of several (11 to 15, 16 to 21, 22 to 30, ..). \
A bar's height is its rows divided by the whole numbers in its bin, rows for each count, so that bars of wide and narrow bins can be compared; heights times whole numbers are all rows. Hover for \
the rows themselves. A bar is never drawn lower than a hair. Rows without a write stand apart at the left, striped. Click a bar \
to list its rows, each a link. A triangle marks the selected row's count.\n\n\
The formula: c_j = writes assigned to row j so far, counted from the assignments, the founder included; the counts sum to the writes of \
the chunks that are over (but for a row deleted by hand, whose count is 0 from then on and which is in use no more, and where the layer keeps its counts in half floats: then they are shown as it has them). Perplexity exp(H), H = -sum p_j ln p_j with p = c / sum c, is how many equally full rows would be as even: near n, all rows work; \
far below, a few hold nearly everything.\n\nThe selected row, or that of the selected token, stands out. Hover for a row's exact count and its \
founder; click to select the row.";

/// The bar of a row of one write, as a share of a logarithmic axis.
const STUB: f64 = 0.05;

/// What is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    #[default]
    ByRow,
    Sorted,
    Histogram,
}

const VIEWS: [Tab<View>; 3] = [
    (View::ByRow, "by row", "A bar a row, in the order of the dictionary"),
    (View::Sorted, "sorted", "A bar a row, the fullest first"),
    (View::Histogram, "histogram", "How many rows hold so many writes: rows for each count"),
];

/// See [`HELP`].
#[derive(Debug, Default)]
pub struct Counts {
    lane: LaneChoice,
    view: View,
    linear: bool,
    tally: Cached<Key<bool>, Tally>,
    bins: Cached<Key<()>, Bins>,
    listed: Listed,
}

/// The counts at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// Writes of each row in use `[n]`.
    pub counts: Vec<u32>,
    /// The write that founded each row, where it is known `[n]`.
    pub founders: Vec<Option<u32>>,
    /// The row at each place from left to right `[n]`.
    pub order: Vec<u32>,
    /// The place of each row `[n]`, the inverse of `order`.
    pub place: Vec<u32>,
}

/// Counts the assignments of the writes seen, row by row.
///
/// `counts` are those of all rows in use, by [`Counting::tally`]; those `deleted` have count 0. Sorted: the fullest first, equal
/// ones by row.
#[must_use]
pub fn tally(assignments: &[i32], is_new: &[i32], mut counts: Vec<u32>, sorted: bool, deleted: &[usize]) -> Tally {
    let mut founders = vec![None; counts.len()];
    for (write, &row) in assignments.iter().enumerate() {
        let founder = usize::try_from(row).ok().and_then(|row| founders.get_mut(row)).filter(|_| is_new.get(write) == Some(&1));
        if let Some(founder) = founder {
            *founder = Some(write as u32);
        }
    }
    for &row in deleted {
        if let Some(count) = counts.get_mut(row) {
            *count = 0;
        }
    }
    let mut order: Vec<u32> = (0..counts.len() as u32).collect();
    if sorted {
        order.sort_by_key(|&row| (std::cmp::Reverse(counts[row as usize]), row));
    }
    let mut place = vec![0; order.len()];
    for (at, &row) in order.iter().enumerate() {
        place[row as usize] = at as u32;
    }
    Tally { counts, founders, order, place }
}

impl Panel for Counts {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes_with(look, &["assignments", "sizes"]);
        let Self { lane, view, linear, .. } = self;
        let lane = lane.row(ui, look, &lanes, "No lane here writes assignments; add an OVQ or a VQ lane.", |ui, _| {
            ui.add_space(4.0);
            let scales = buttons_width(ui, ["log", "linear"]) + 4.0 + 2.0 * ui.spacing().item_spacing.x;
            tabs(ui, view, &VIEWS, scales);
            if *view != View::Histogram {
                ui.add_space(4.0);
                ui.selectable_value(linear, false, "log");
                ui.selectable_value(linear, true, "linear");
            }
        });
        let Some(lane) = lane else { return };
        let trace = look.lanes[lane].trace;
        let (Some(assignments), Some(sizes)) = (trace.channel("assignments"), trace.channel("sizes")) else { return };
        let head = head_of(assignments, look);
        let seen = writes_seen(look, lane);
        let rows = rows_after(sizes, head_of(sizes, look), chunks_seen(look, lane));
        // Of a fixed codebook every code has its row, those that stand for no write too.
        let rows = rows.map(|n| n.max(codebook(look.lanes[lane].plan, head).map_or(0, |codes| codes.nrows())));
        let (Some(rows), Some(held)) = (rows, assignments.wholes(head).get(..seen)) else {
            words(ui, "Not computed yet.");
            return;
        };
        let founders = trace.channel("is_new").map_or(&[][..], |c| c.wholes(head));
        let sorted = self.view == View::Sorted;
        let setup = &look.lanes[lane].plan.setup;
        let deleted = hand::dead_rows(&setup.hands, head, chunks_seen(look, lane));
        let counting = counting(look.lanes[lane].plan);
        let tally = self.tally.get(Key::new(look, lane, head, seen, sorted), || {
            tally(held, founders, counting.tally(held, rows, setup.chunk), sorted, &deleted)
        });
        if seen == 0 {
            words(ui, "No chunk has been read yet: the dictionary is empty.");
            return;
        }
        let even = perplexity(&tally.counts);
        let empty = tally.counts.iter().filter(|&&c| c == 0).count();
        let used = tally.counts.len() - empty;
        let share = 100.0 * even / used.max(1) as f64;
        let said = format!(
            "{} hold {}, as evenly as {even:.0} equal rows would (perplexity {share:.0}% of n)",
            plural(used, "row", "rows"),
            plural(tally.counts.iter().map(|&c| c as usize).sum(), "write", "writes")
        );
        let mut warnings = Vec::new();
        if counting == Counting::Half {
            warnings.push(format!("{seen} went to them: the counts are half floats"));
        }
        if !deleted.is_empty() {
            warnings.push(Rows { founded: tally.counts.len(), deleted: deleted.len() }.apart());
        }
        if empty > deleted.len() {
            warnings.push(format!("{} without a write", plural(empty - deleted.len(), "row", "rows")));
        }
        let warn = ui.visuals().warn_fg_color;
        sentence(ui, said, LEAST);
        if !warnings.is_empty() {
            sentence(ui, RichText::new(warnings.join("; ")).color(warn), LEAST);
        }
        let of_token = || look.selection.current().and_then(|t| held.get(t)).and_then(|&r| usize::try_from(r).ok());
        let marked = marked_row(look, lane, of_token).filter(|r| *r < tally.counts.len());
        let options = DrawOptions { linear: self.linear, sorted, marked, colour: look.lanes[lane].colour, even, deleted: deleted.len() };
        if self.view == View::Histogram {
            let bins = self.bins.get(Key::new(look, lane, head, seen, ()), || Bins::new(&tally.counts));
            histogram::show(ui, look, lane, (tally, bins), options, &mut self.listed, commands);
        } else {
            draw(ui, look, lane, tally, options, commands);
        }
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.lane);
        choices.one_of("view", &mut self.view, VIEWS.map(|(view, name, _)| (view, name)));
        choices.one_of("axis", &mut self.linear, [(false, "log"), (true, "linear")]);
    }
}

/// Points of height that the bars keep, whatever is said above them.
const LEAST: f32 = 90.0;

/// How the layer of a lane counts what its rows hold.
pub(super) fn counting(lane: &PlanLane) -> Counting {
    if lane.kind.name() == "ovq" { Counting::of(&lane.setup.params) } else { Counting::Exact }
}

/// The rows in words: `409 rows`, `27 rows in use (28 rows, one of them deleted)`, or of a codebook with codes that stand for no write
/// `40 of 256 rows in use`.
fn rows_in_words(counts: &[u32], deleted: usize) -> String {
    let rows = Rows { founded: counts.len(), deleted };
    let used = counts.iter().filter(|&&c| c > 0).count();
    if used == rows.in_use() { rows.in_words() } else { format!("{used} of {} in use", plural(counts.len(), "row", "rows")) }
}

#[derive(Clone, Copy)]
struct DrawOptions {
    linear: bool,
    sorted: bool,
    marked: Option<usize>,
    colour: eframe::egui::Color32,
    even: f64,
    /// Rows deleted by hand.
    deleted: usize,
}

fn draw(ui: &mut Ui, look: &Look<'_>, lane: usize, tally: &Tally, options: DrawOptions, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let n = tally.counts.len();
    let most = f64::from(tally.counts.iter().copied().max().unwrap_or(1).max(1));
    let mut y = if options.linear {
        Axis::real("writes in the row", 0.0, most * 1.06, Scale::Linear)
    } else {
        let end = most.max(2.0) * 1.25;
        Axis::real("writes in the row", foot(end), end, Scale::Log)
    };
    y.whole = true;
    let x = Axis::count(if options.sorted { "rank" } else { "row" }, n);
    let rows = rows_in_words(&tally.counts, options.deleted);
    let describe = format!("Counts: {rows} at write {}, the fullest holds {most} writes, perplexity {:.0}", look.writes, options.even);
    let mut legend = vec![Entry::new(Sign::Square, options.colour, "count")];
    if options.marked.is_some() {
        legend.insert(0, Entry::new(Sign::Square, ink.select, "selected row"));
    }
    let size = vec2(ui.available_width(), ui.available_height().max(70.0));
    let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
    bars(ui, &chart, tally, options.colour);
    if let Some(row) = options.marked.filter(|r| *r < n) {
        let at = f64::from(tally.place[row]);
        let mut bar = Rect::from_two_pos(chart.pos(at, f64::from(tally.counts[row])), pos2(chart.x_of(at + 1.0), chart.rect.bottom()));
        // A bar thinner than two points would be lost.
        if bar.width() < 2.0 {
            bar = Rect::from_center_size(bar.center(), vec2(2.0, bar.height()));
        }
        chart.painter(ui).rect_filled(bar, 0.0, ink.select);
        chart.painter(ui).vline(bar.center().x, chart.rect.top()..=bar.top(), Stroke::new(1.0, blend(ink.paper, ink.select, 0.5)));
    }
    hover(look, lane, &response, &chart, tally, commands);
}

/// Where a logarithmic axis of counts to `end` begins: so far below 1 that the bar of one write is [`STUB`] of the axis.
fn foot(end: f64) -> f64 {
    end.powf(-STUB / (1.0 - STUB))
}

/// A bar a row; where a pixel stands for several rows, it is as high as the fullest of them.
fn bars(ui: &Ui, chart: &Chart, tally: &Tally, colour: eframe::egui::Color32) {
    let n = tally.counts.len();
    let pixels = ((chart.rect.width() * ui.pixels_per_point()) as usize).max(1);
    let shown = n.min(pixels);
    let gap = if chart.rect.width() / shown as f32 > 4.0 { 1.0 } else { 0.0 };
    let painter = chart.painter(ui);
    let width = chart.rect.width() / shown as f32;
    for i in 0..shown {
        let count = cells_of(i, shown, n).map(|at| tally.counts[tally.order[at] as usize]).max().unwrap_or(0);
        if count == 0 {
            continue;
        }
        let left = chart.rect.left() + i as f32 * width;
        let top = chart.y_of(f64::from(count));
        painter.rect_filled(Rect::from_min_max(pos2(left, top), pos2(left + width - gap, chart.rect.bottom())), 0.0, colour);
    }
}

fn hover(look: &Look<'_>, lane: usize, response: &eframe::egui::Response, chart: &Chart, tally: &Tally, commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    let n = tally.counts.len();
    let at = (chart.values_at(pointer).0.floor().max(0.0) as usize).min(n - 1);
    let row = tally.order[at] as usize;
    let stream = &look.plan.stream;
    let total: u64 = tally.counts.iter().map(|&c| u64::from(c)).sum();
    let mut rows = vec![
        ("count", plural(tally.counts[row] as usize, "write", "writes")),
        ("share of all", format!("{}%", number(100.0 * f64::from(tally.counts[row]) / total.max(1) as f64))),
        ("rank", format!("{at} of {n}")),
    ];
    if !is_sorted(tally) {
        rows.pop();
    }
    let founder = tally.founders[row].map(|w| w as usize);
    if let Some(write) = founder {
        rows.push(("founded by", token_name(stream, write)));
    }
    if let Some(each) = crowd(response, chart, n) {
        rows.push(("drawn", format!("the fullest of the {each} rows in each pixel")));
    }
    facts(response, &format!("row {row}"), &rows);
    commands.push(Command::View(ViewCommand::HoverRow { lane, row }));
    if response.clicked() {
        commands.push(Command::View(ViewCommand::Choose(Subject::Centroid { lane, row })));
    }
}

/// True if the order is by count and not by row.
fn is_sorted(tally: &Tally) -> bool {
    tally.order.windows(2).any(|w| w[0] > w[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_those_of_the_writes_seen() {
        // Six writes: 0 founds row 0, 2 founds row 1, 5 founds row 2; the playhead is after five.
        let (assignments, is_new) = ([0, 0, 1, 1, 1, 2], [1, 0, 1, 0, 0, 1]);
        let exact = |a: &[i32], rows| Counting::Exact.tally(a, rows, 64);
        let t = tally(&assignments[..5], &is_new, exact(&assignments[..5], 2), true, &[]);
        assert_eq!(t.counts, [2, 3]);
        assert_eq!(t.founders, [Some(0), Some(2)]);
        assert_eq!((t.order, t.place), (vec![1, 0], vec![1, 0]), "the fullest first");
        assert_eq!(tally(&assignments, &is_new, exact(&assignments, 3), true, &[1, 9]).counts, [2, 0, 1], "row 1 was deleted by hand");
        assert_eq!(tally(&assignments[..5], &is_new, exact(&assignments[..5], 2), false, &[]).order, [0, 1]);
    }

    #[test]
    fn rows_in_use_are_those_that_hold_a_write() {
        assert_eq!(rows_in_words(&[3, 1, 2], 0), "3 rows");
        assert_eq!(rows_in_words(&[3, 0, 2], 1), "2 rows in use (3 rows, one of them deleted)");
        assert_eq!(rows_in_words(&[3, 0, 0, 1], 0), "2 of 4 rows in use");
    }

    #[test]
    fn a_row_of_one_write_is_a_stub_on_a_logarithmic_axis() {
        for end in [2.5, 80.0, 5000.0] {
            let axis = Axis::real("", foot(end), end, Scale::Log);
            assert!((axis.share(1.0) - STUB).abs() < 1e-12 && axis.min < 1.0, "{end}");
        }
    }

    proptest! {
        #[test]
        fn counts_sum_to_the_writes(rows in proptest::collection::vec(0_i32..20, 0..300), sorted: bool) {
            let t = tally(&rows, &[], Counting::Exact.tally(&rows, 20, 64), sorted, &[]);
            prop_assert_eq!(t.counts.iter().map(|&c| c as usize).sum::<usize>(), rows.len());
            let p = perplexity(&t.counts);
            prop_assert!(p <= 20.0 + 1e-9);
            if sorted {
                prop_assert!(t.order.windows(2).all(|w| t.counts[w[0] as usize] >= t.counts[w[1] as usize]));
            }
        }
    }
}
