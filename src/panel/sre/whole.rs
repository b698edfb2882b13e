//! The candidates of the last step, large: those that were cached apart from those that come from the window, with names.

use eframe::egui::{Align, Align2, FontId, Layout, Pos2, Rect, Response, Stroke, Ui, Vec2, pos2, vec2};

use super::model::{Candidate, Fate, Tally, bin, bin_range, by_fate};
use super::step::{bar_of, height, kept_edge, tell_candidate};
use super::{BINS, Held};
use crate::app::command::{Command, ViewCommand};
use crate::panel::Look;
use crate::panel::common::{Key, facts, is_marked, marked_name, plural, point_at, select_ring, words};
use crate::panel::residency::{Exchange, Memories, by_hand, heading, last_step, lists, short_name};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, diamond, triangle};
use crate::widget::lasso::Lasso;
use crate::widget::palette::{Ink, NAN};
use crate::widget::raster::nearest;
use crate::widget::ticks::number;

/// More candidates than this are drawn as bars only, with those that came, went or are marked as points.
const MOST_POINTS: usize = 2000;
/// The width at which the lists stand beside the plot.
const WIDE: f32 = 500.0;

/// See the module's page.
#[derive(Default)]
pub(super) struct Whole {
    lasso: Lasso,
    exchange: Cached<Key<()>, (Option<usize>, Exchange)>,
}

impl Whole {
    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, list: &[Candidate], commands: &mut Vec<Command>) {
        let Some(step) = held.chunks.checked_sub(1).filter(|_| !list.is_empty()) else {
            words(ui, "No candidate was scored in this step: nothing has left the window.");
            return;
        };
        let Self { lasso, exchange } = self;
        let size = vec2(ui.available_width(), ui.available_height().max(90.0));
        if size.x < WIDE {
            plot(ui, look, held, list, (step, size), lasso, commands);
            return;
        }
        let (last, exchange) = exchange.get(Key::new(look, held.lane, held.head, held.chunks, ()), || {
            let trace = look.lanes[held.lane].trace;
            let last = last_step(trace, held.head, held.chunks);
            let Held { index, lane, head, chunks, chunk, .. } = *held;
            let memories = Memories { index, trace, lane, head, chunks, chunk };
            (last, last.map(|s| Exchange::of(&memories, s)).unwrap_or_default())
        });
        let side = (size.x * 0.36).min(280.0);
        ui.with_layout(Layout::left_to_right(Align::Min), |ui| {
            plot(ui, look, held, list, (step, vec2(size.x - side - 8.0, size.y)), lasso, commands);
            ui.vertical(|ui| {
                let shown = last.unwrap_or(step);
                let text = heading(held.hands, (held.index, held.head), (shown, step)) + &by_hand(look, held.lane, held.head, shown);
                lists(ui, look, &text, exchange, commands);
            });
        });
    }
}

fn plot(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    list: &[Candidate],
    (step, size): (usize, Vec2),
    lasso: &mut Lasso,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let x = Axis::kinds("", ["histogram", "cached before", "from the window"].map(str::to_owned).to_vec());
    let mut legend = vec![
        Entry::new(Sign::Up, ink.cache, "stays or comes in"),
        Entry::new(Sign::Down, ink.plain, "folded"),
        Entry::new(Sign::Line(crate::widget::line::Dash::Solid), ink.limit, "threshold"),
    ];
    if let Some(name) = marked_name(&look.plan.stream) {
        legend.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    let evicted = |c: &Candidate| held.evicted(c.write, step);
    let describe = format!(
        "The {} of {} {step} by score: {}",
        plural(list.len(), "candidate", "candidates"),
        held.noun,
        Tally::of(list, evicted).exchange()
    );
    // One that came and was evicted at once has moved too.
    let moved: Vec<bool> = list.iter().map(|c| c.moved() || evicted(c)).collect();
    let (response, chart) = Chart::show(ui, size, x, held.binned.axis.clone(), &legend, &describe);
    let (response, caught) = lasso.ui(ui, &response, chart.rect);
    bars(ui, &chart, list, &ink);
    if let Some(t) = held.threshold_line(step) {
        chart.painter(ui).hline(chart.rect.x_range(), chart.y_of(t), Stroke::new(1.8, ink.limit));
    }
    let points: Vec<Pos2> = list.iter().map(|c| place(&chart, c)).collect();
    draw(ui, &chart, look, list, (&points, &moved), &ink);
    let names = name(ui, &chart, look, list, (&points, &moved), &ink);
    if let Some(i) = look.selection.current().and_then(|t| list.iter().position(|c| c.write == t)) {
        select_ring(ui, &chart, points[i]);
    }
    if let Some(caught) = caught {
        let within = caught.take(list.iter().map(|c| c.write).zip(points.iter().copied()), look.selection.tokens());
        commands.push(Command::View(ViewCommand::Group(within.into())));
    } else if !lasso.drawing() {
        hover(look, held, &response, &chart, (list, &points, &names, step), commands);
    }
}

/// Bars by fate, in the first of the three places.
fn bars(ui: &Ui, chart: &Chart, list: &[Candidate], ink: &Ink) {
    let counts = by_fate(list, &chart.y, BINS);
    let most = counts.iter().map(|c| c[0] + c[1]).max().unwrap_or(0).max(1);
    let painter = chart.painter(ui);
    let edge = kept_edge(ink);
    for (row, count) in counts.iter().enumerate() {
        let range = bin_range(&chart.y, row, BINS);
        let mut left = 0.0;
        for (n, colour, edge) in [(count[0], ink.cache, edge), (count[1], ink.plain, None)] {
            let right = left + f64::from(n) / f64::from(most) * 0.95;
            let bar = Rect::from_two_pos(chart.pos(left, range.start), chart.pos(right, range.end));
            bar_of(&painter, bar, colour, edge);
            left = right;
        }
    }
}

/// Where a candidate's point is: in the left part of its place, spread by its id so that equal scores do not hide each other; names
/// stand right of it.
fn place(chart: &Chart, c: &Candidate) -> Pos2 {
    let spread = (c.write as f64 * 0.618_033_988_75).fract();
    let start = if c.from_window { 2.05 } else { 1.05 };
    pos2(chart.x_of(start + 0.36 * spread), height(chart, f64::from(c.score)))
}

fn draw(ui: &Ui, chart: &Chart, look: &Look<'_>, list: &[Candidate], (points, all_moved): (&[Pos2], &[bool]), ink: &Ink) {
    let painter = chart.painter(ui);
    let around = kept_edge(ink).map_or(Stroke::NONE, |colour| Stroke::new(0.8, colour));
    // Those that move last, and so over the others.
    for moved in [false, true] {
        for ((c, at), _) in list.iter().zip(points).zip(all_moved).filter(|(_, has)| **has == moved) {
            let is_marked = is_marked(&look.plan.stream, c.write);
            if list.len() > MOST_POINTS && !is_marked && !moved {
                continue;
            }
            let size = if moved { 4.2 } else { 2.6 };
            if !c.score.is_finite() {
                painter.circle_filled(*at, 3.0, NAN);
            } else if c.fate == Fate::Kept {
                painter.add(triangle(*at, size, true, ink.cache, if moved { Stroke::new(1.0, ink.text) } else { around }));
            } else {
                let edge = if moved { Stroke::new(1.6, ink.limit) } else { Stroke::new(1.0, ink.plain) };
                painter.add(triangle(*at, size, false, ink.paper, edge));
            }
            if is_marked {
                painter.add(diamond(*at, 5.2, eframe::egui::Color32::TRANSPARENT, Stroke::new(1.4, ink.mark)));
            }
            if look.selection.holds(c.write) {
                painter.circle_stroke(*at, 5.0, Stroke::new(1.2, ink.select));
            }
        }
    }
}

/// Writes the names of those that came or went beside their points, the highest score first, where no other name stands; where
/// each stands.
fn name(ui: &Ui, chart: &Chart, look: &Look<'_>, list: &[Candidate], (points, moved): (&[Pos2], &[bool]), ink: &Ink) -> Vec<(Rect, usize)> {
    const MOST: usize = 80;
    let painter = chart.painter(ui);
    let mut order: Vec<usize> = (0..list.len()).filter(|&i| moved[i]).collect();
    // The selected one is named before all others.
    let key = |i: &usize| (look.selection.current() != Some(list[*i].write), points[*i].y);
    order.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    let mut names: Vec<(Rect, usize)> = Vec::new();
    for i in order.into_iter().take(MOST) {
        let (from, to) = if list[i].from_window { (2.44, 3.0) } else { (1.44, 2.0) };
        let (left, room) = (chart.x_of(from), chart.x_of(to) - chart.x_of(from) - 2.0);
        let galley = painter.layout_no_wrap(short_name(&look.plan.stream, list[i].write), FontId::proportional(SMALL), ink.text);
        let rect = Align2::LEFT_CENTER.anchor_size(pos2(left, points[i].y), galley.size());
        let rect = rect.translate(vec2(0.0, (chart.rect.top() - rect.top()).max(0.0) + (chart.rect.bottom() - rect.bottom()).min(0.0)));
        if galley.size().x > room || names.iter().any(|(taken, _)| taken.expand(1.0).intersects(rect)) {
            continue;
        }
        painter
            .line_segment([points[i] + vec2(4.0, 0.0), pos2(left - 2.0, rect.center().y)], Stroke::new(0.6, ink.quiet.gamma_multiply(0.6)));
        painter.galley(rect.min, galley, ink.text);
        names.push((rect, i));
    }
    names
}

fn hover(
    look: &Look<'_>,
    held: &Held<'_>,
    response: &Response,
    chart: &Chart,
    (list, points, names, step): (&[Candidate], &[Pos2], &[(Rect, usize)], usize),
    commands: &mut Vec<Command>,
) {
    let Some(pointer) = response.hover_pos() else { return };
    let named = names.iter().find(|(rect, _)| rect.contains(pointer)).map(|(_, i)| *i);
    let near = points.iter().enumerate().map(|(i, p)| (i, [p.x, p.y]));
    if let Some(i) = named.or_else(|| nearest(near, [pointer.x, pointer.y], 8.0)) {
        tell_candidate(look, response, held, &list[i], step);
        point_at(response, Some(list[i].write), commands);
        return;
    }
    if let Some(row) = bin(&chart.y, chart.values_at(pointer).1 as f32, BINS) {
        let range = bin_range(&chart.y, row, BINS);
        let within = list.iter().filter(|c| bin(&chart.y, c.score, BINS) == Some(row));
        let tally = Tally::of(within, |c| held.evicted(c.write, step));
        let mut rows = vec![
            ("scores", format!("{} to {}", number(range.start), number(range.end))),
            ("stayed in the cache", tally.stayed.to_string()),
            ("displaced", tally.displaced.to_string()),
            ("came in", tally.came.to_string()),
            ("folded at once", tally.passed.to_string()),
        ];
        if tally.evicted > 0 {
            rows.push(("of these evicted by hand", tally.evicted.to_string()));
        }
        facts(response, &format!("{} {step}", held.noun), &rows);
    }
    point_at(response, None, commands);
}
