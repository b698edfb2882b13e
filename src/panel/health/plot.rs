//! One figure over the steps: a line for each lane.

use eframe::egui::{Align2, FontId, Rect, Response, Sense, Stroke, Ui, Vec2, pos2};

use super::quantity::Quantity;
use super::series::{Known, Lines};
use crate::app::command::{Command, ViewCommand};
use crate::app::study::health::LaneHead;
use crate::panel::common::{chunk_name, chunks_seen, facts, playheads};
use crate::panel::growth::{n_max, plateau};
use crate::panel::{Look, MARKS, Subject};
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::{Scale, number};

/// A figure of some lanes.
#[derive(Clone, Copy)]
pub struct Plot<'a> {
    /// What is drawn.
    pub quantity: Quantity,
    /// The lanes, with their heads.
    pub lanes: &'a [LaneHead],
    /// After how many chunks a row is unused.
    pub window: usize,
}

impl Plot<'_> {
    /// Draws it, and says what is under the pointer.
    pub fn ui<'k>(
        self,
        ui: &mut Ui,
        look: &Look<'_>,
        size: Vec2,
        known: impl Fn(usize) -> Known<'k>,
        lines: &mut [Lines],
        commands: &mut Vec<Command>,
    ) {
        let Self { quantity, lanes, window } = self;
        let (ink, total) = (Ink::of(ui), look.plan.stream.writes());
        let columns = ((size.x * ui.pixels_per_point()) as usize).max(1);
        let extra = (columns, window, look.studies.health.generation());
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &at in lanes {
            let (a, b) = lines[at.0].get(look, at, quantity, known(at.0), extra).range.unwrap_or((low, high));
            (low, high) = (low.min(a), high.max(b));
            if let (Quantity::Rows, Some(n)) = (quantity, n_max(look, at.0)) {
                high = high.max(plateau(total as f64, n as f64));
            }
        }
        let nothing = !low.is_finite();
        let (min, max) = if nothing { quantity.limits(0.0, 1.0) } else { quantity.limits(low, high) };
        let mut y = Axis::real(quantity.title(), min, max, Scale::Linear);
        y.whole = matches!(quantity, Quantity::Rows | Quantity::Unused);
        let legend = self.legend(look, &known);
        let (response, chart) = Chart::show_under(ui, size, Axis::count("writes", total), y, &legend, &self.describe(look, &known), 1);
        explain(ui, &chart, size, quantity);
        if nothing {
            let text = self.why_not(look, &known);
            chart.painter(ui).text(chart.rect.center(), Align2::CENTER_CENTER, text, FontId::proportional(SMALL), ink.quiet);
        }
        marks(ui, look, &chart);
        let painter = chart.painter(ui);
        for &at in lanes {
            let (colour, dash) = (look.lanes[at.0].colour, look.lanes[at.0].dash());
            if let (Quantity::Rows, Some(n)) = (quantity, n_max(look, at.0)) {
                let curve: Vec<_> =
                    (0..=120).map(|i| chart.x.value(f64::from(i) / 120.0)).map(|t| chart.pos(t, plateau(t, n as f64))).collect();
                line::draw(&painter, &curve, Stroke::new(1.0, blend(ink.paper, colour, 0.5)), Dash::Solid);
            }
            let seen = ends(look, at.0, chunks_seen(look, at.0)) as f64;
            let all = &lines[at.0].get(look, at, quantity, known(at.0), extra).points;
            let mut points: Vec<_> = all[..all.partition_point(|p| p[0] <= seen)].iter().map(|p| chart.pos(p[0], p[1])).collect();
            // The number at the playhead is drawn whatever the line leaves out.
            if let Some((now, chunks)) = known(at.0).at(quantity, chunks_seen(look, at.0))
                && let Some(value) = quantity.of(now).filter(|v| v.is_finite())
            {
                points.push(chart.pos(ends(look, at.0, chunks) as f64, value));
            }
            line::draw(&painter, &points, Stroke::new(1.8, colour), dash);
            if let Some(last) = points.last() {
                sign(&painter, *last, look.lanes[at.0].mark(), colour, &ink);
            }
        }
        playheads(ui, look, &chart, |writes| writes as f64);
        if let Some(pointer) = response.hover_pos() {
            self.tell(look, &response, chart.values_at(pointer).0, &known, commands);
        }
    }

    fn legend<'k>(self, look: &Look<'_>, known: &impl Fn(usize) -> Known<'k>) -> Vec<Entry> {
        let each = self.lanes.iter().map(|&(lane, _)| {
            let now = known(lane).at(self.quantity, chunks_seen(look, lane));
            let now = now.and_then(|(at, chunks)| Some((self.quantity.of(at)?, ends(look, lane, chunks))));
            let text = now.map_or_else(|| "–".to_owned(), |(value, write)| number(value) + &at_write(write, look.writes));
            Entry::new(mark_of(look, lane), look.lanes[lane].colour, text)
        });
        each.collect()
    }

    fn describe<'k>(self, look: &Look<'_>, known: &impl Fn(usize) -> Known<'k>) -> String {
        let each = self.lanes.iter().map(|&(lane, _)| {
            let now = known(lane).at(self.quantity, chunks_seen(look, lane));
            let told = now.map_or_else(
                || "not known yet".to_owned(),
                |(at, chunks)| {
                    let seen = [chunks, chunks_seen(look, lane)].map(|chunks| ends(look, lane, chunks));
                    self.quantity.tell(at) + &of_write(seen, look.writes)
                },
            );
            format!("{}: {told}", look.lanes[lane].plan.name)
        });
        format!("Codebook health, {}, at write {}. {}", self.quantity.title(), look.writes, each.collect::<Vec<_>>().join("; "))
    }

    fn why_not<'k>(self, look: &Look<'_>, known: &impl Fn(usize) -> Known<'k>) -> &'static str {
        let unknown = |&(lane, _): &LaneHead| known(lane).finding.is_some_and(|f| f.unknown);
        if !self.quantity.needs_study() {
            "no chunk read yet"
        } else if self.lanes.iter().all(unknown) {
            "cannot be replayed from the trace"
        } else if look.reached < look.plan.stream.writes() {
            "once the run is complete"
        } else if look.studies.health.running() {
            "being computed"
        } else {
            "nothing known yet"
        }
    }

    /// The numbers of the step under the pointer, and what a click on it selects.
    fn tell<'k>(self, look: &Look<'_>, response: &Response, x: f64, known: &impl Fn(usize) -> Known<'k>, commands: &mut Vec<Command>) {
        let total = look.plan.stream.writes();
        let writes = x.round().clamp(0.0, total as f64) as usize;
        let mut rows = Vec::new();
        for &(lane, _) in self.lanes {
            let plan = look.lanes[lane].plan;
            let chunks = plan.chunks_at(writes);
            let text = match known(lane).at(self.quantity, chunks) {
                _ if writes > look.writes => "after the playhead".to_owned(),
                _ if chunks == 0 => format!("before the end of {}: empty", chunk_name(look.plan, plan, 0)),
                None => "not known".to_owned(),
                Some((at, c)) => {
                    format!("{} after {} (write {})", self.quantity.tell(at), chunk_name(look.plan, plan, c - 1), ends(look, lane, c))
                }
            };
            rows.push((plan.name.as_str(), text));
            if let (Quantity::Rows, Some(n)) = (self.quantity, n_max(look, lane)) {
                let end = ends(look, lane, chunks);
                rows.push(("t N / (t + N)", format!("{} with N = {n}, t = {end}", number(plateau(end as f64, n as f64)))));
            }
            let all = look.plan.stream.chunks(plan.setup.chunk);
            if let Some(f) = known(lane).finding.filter(|f| self.quantity.needs_study() && f.sampled(all)) {
                rows.push(("sampled", format!("{} of {all} steps, evenly apart", f.planned)));
            }
        }
        facts(response, &format!("{}, after write {writes}", self.quantity.title()), &rows);
        // The step in which what is told happened: of the first lane, and never one after the playhead.
        let told = self.lanes.first().map(|&(lane, _)| ends(look, lane, look.lanes[lane].plan.chunks_at(writes)));
        if let Some(step) =
            told.filter(|_| response.clicked() && writes <= look.writes).and_then(|end| look.plan.step_at(end).checked_sub(1))
        {
            commands.push(Command::View(ViewCommand::Choose(Subject::Step(step))));
        }
    }
}

/// The sign of a lane: its dashes and, at the playhead, its mark. Its name stands beside the same sign above the charts.
pub(super) fn mark_of(look: &Look<'_>, lane: usize) -> Sign {
    static ALL: [Sign; MARKS.len()] = MARKS;
    Sign::Marked(look.lanes[lane].dash(), &ALL[look.lanes[lane].place % ALL.len()])
}

/// The selected token and the selected step.
fn marks(ui: &Ui, look: &Look<'_>, chart: &Chart) {
    let (ink, total) = (Ink::of(ui), look.plan.stream.writes());
    let painter = chart.painter(ui);
    if let Some(token) = look.selection.current() {
        painter.vline(chart.x_of(token as f64 + 1.0), chart.rect.y_range(), Stroke::new(1.0, ink.select.gamma_multiply(0.45)));
    }
    if let Some(Subject::Step(step)) = look.selection.subject {
        let at = ((step + 1) * look.plan.step).min(total) as f64;
        painter.vline(chart.x_of(at), chart.rect.y_range(), Stroke::new(2.0, blend(ink.paper, ink.select, 0.3)));
    }
}

/// The write at which a lane's chunk number `chunks` (from 1) ends.
fn ends(look: &Look<'_>, lane: usize, chunks: usize) -> usize {
    (chunks * look.lanes[lane].plan.setup.chunk).min(look.plan.stream.writes())
}

/// Behind a number in the legend the write that it is of, where that is not the one at the playhead: ` at 1000`.
fn at_write(write: usize, playhead: usize) -> String {
    if write == playhead { String::new() } else { format!(" at {write}") }
}

/// The same in a sentence, with the reason: the number is of write `of`, the lane's last whole chunk before the playhead ends at `whole`.
fn of_write([of, whole]: [usize; 2], playhead: usize) -> String {
    match (of == playhead, of == whole) {
        (true, _) => String::new(),
        (false, true) => format!(" (at write {of}, where its last whole chunk ends)"),
        (false, false) => format!(" (at write {of}, the last that is known)"),
    }
}

/// The formula, on hover over the chart's name.
fn explain(ui: &Ui, chart: &Chart, size: Vec2, quantity: Quantity) {
    let top = chart.rect.top();
    let place = Rect::from_min_max(pos2(chart.rect.left() - 24.0, top - 18.0), pos2(chart.rect.left() + size.x * 0.42, top - 1.0));
    let id = ui.scope_id().with(("formula", quantity, place.left() as i32, place.top() as i32));
    ui.interact(place, id, Sense::hover()).on_hover_text(quantity.formula());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_another_write_than_the_playheads_says_of_which() {
        assert_eq!((at_write(1001, 1001), at_write(1000, 1001)), (String::new(), " at 1000".to_owned()));
        // Of 2048 steps of one write every eighth is known: at 1001 the number is that of 1000.
        assert_eq!(of_write([1000, 1001], 1001), " (at write 1000, the last that is known)");
        // 102 is inside the second chunk of 64.
        assert_eq!(of_write([64, 64], 102), " (at write 64, where its last whole chunk ends)");
        assert_eq!(of_write([128, 128], 128), "");
    }
}
