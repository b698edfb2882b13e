//! What each read's output is divided by, and the reads where it is smallest.

use eframe::egui::{Label, Pos2, Response, RichText, Stroke, Ui, pos2, vec2};

use super::empty;
use crate::app::command::{Command, ViewCommand};
use crate::panel::Look;
use crate::panel::channel::reduced::Reduced;
use crate::panel::common::{Key, cover, facts, head_of, no_read_in, plural, quoted, writes_seen};
use crate::trace::Channel;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign, sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;
use crate::widget::range::Spread;
use crate::widget::ticks::{Scale, number};

/// The channel that is drawn.
const NAME: &str = "read_normaliser";

/// The view.
#[derive(Default)]
pub(super) struct Sizes {
    reduced: Option<(Key<()>, Reduced)>,
    spread: Cached<Key<()>, Spread>,
    lowest: Cached<Key<()>, Lowest>,
}

/// Where the normaliser is smallest.
#[derive(Debug, Default, PartialEq)]
struct Lowest {
    /// Reads left out: those that asked a state with nothing in it yet.
    empty: usize,
    /// The lowest hundredth of the others, at least one where there is any, with their places, the smallest first.
    reads: Vec<(usize, f32)>,
}

/// The lowest hundredth of some numbers. What is NaN is above all. Where the numbers are `of_state` alone, exactly 0 says that
/// nothing has been folded yet, which is no small number: those are counted and left out.
fn lowest(numbers: &[f32], of_state: bool) -> Lowest {
    let mut all: Vec<(usize, f32)> = numbers.iter().copied().enumerate().filter(|(_, value)| !of_state || *value != 0.0).collect();
    let empty = numbers.len() - all.len();
    let n = all.len().div_ceil(100);
    // Of NaN both signs: `total_cmp` has one of them below everything.
    let by = |a: &(usize, f32), b: &(usize, f32)| a.1.is_nan().cmp(&b.1.is_nan()).then(a.1.total_cmp(&b.1)).then(a.0.cmp(&b.0));
    if n < all.len() {
        all.select_nth_unstable_by(n, by);
        all.truncate(n);
    }
    all.sort_by(by);
    Lowest { empty, reads: all }
}

impl Sizes {
    pub(super) fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize, commands: &mut Vec<Command>) {
        let Some(channel) = look.lanes[lane].trace.channel(NAME) else {
            empty(ui, "This lane records no normaliser: its outputs are not divided by one, or it does not write it down.");
            return;
        };
        let (head, reads) = (head_of(channel, look), look.plan.stream.reads());
        let seen = look.plan.stream.reads_within(0..writes_seen(look, lane)).end.min(channel.len());
        if seen == 0 {
            empty(ui, &no_read_in(look, lane));
            return;
        }
        let numbers = channel.reals(head);
        let Some(shown) = numbers.get(..seen) else { return };
        let covered = cover(channel.len(), seen, reads);
        let spread = self.spread.get(Key::new(look, lane, head, covered, ()), || Spread::of(numbers[..covered].iter().copied()));
        // Window and cache stand beside the state in LoLA, and what is recorded is the state's part only.
        let of_state = look.lanes[lane].trace.channel("shares").is_some();
        let lowest = self.lowest.get(Key::new(look, lane, head, seen, ()), || lowest(shown, of_state));
        let key = Key::new(look, lane, 0, 0, ());
        if self.reduced.as_ref().is_none_or(|(held, _)| *held != key) {
            self.reduced = Some((key, Reduced::new(channel, 0, reads, 0)));
        }
        let Some((_, reduced)) = &mut self.reduced else { return };
        if reduced.extend(channel) {
            ui.ctx().request_repaint();
        }
        let text = sentence(look, spread, lowest, seen);
        ui.add(Label::new(RichText::new(&text).color(Ink::of(ui).quiet)).truncate())
            .on_hover_text(format!("{text}\n{}", channel.spec().meaning));
        plot(ui, look, (lane, channel, head), (reduced, spread, &lowest.reads), (seen, &text), commands);
    }
}

/// The lowest reads in words.
fn sentence(look: &Look<'_>, spread: &Spread, lowest: &Lowest, seen: usize) -> String {
    let asked = plural(lowest.empty, "read asked an empty state", "reads asked an empty state");
    let (Some(first), Some(last)) = (lowest.reads.first(), lowest.reads.last()) else { return asked };
    let loud = spread.loud();
    let loud = if loud.is_empty() { loud } else { format!("; {loud}") };
    let others = if lowest.empty == 0 { String::new() } else { format!("{asked}; of the others the ") };
    format!(
        "{others}lowest 1%: {} of {} at or below {}; the smallest {} at {}{loud}",
        plural(lowest.reads.len(), "read", "reads"),
        seen - lowest.empty,
        number(f64::from(last.1)),
        number(f64::from(first.1)),
        read_name(look, first.0)
    )
}

fn read_name(look: &Look<'_>, read: usize) -> String {
    let text = look.plan.stream.labels().read_tokens.as_ref().and_then(|t| t.get(read));
    text.map_or_else(|| format!("read {read}"), |t| format!("read {read} {}", quoted(t)))
}

fn plot(
    ui: &mut Ui,
    look: &Look<'_>,
    (lane, channel, head): (usize, &Channel, usize),
    (reduced, spread, lowest): (&Reduced, &Spread, &[(usize, f32)]),
    (seen, text): (usize, &str),
    commands: &mut Vec<Command>,
) {
    let (ink, colour) = (Ink::of(ui), look.lanes[lane].colour);
    let least = spread.least.map_or(1e-6, f64::from);
    let most = spread.ends.map_or(1.0, |[_, high]| f64::from(high)).max(least * 1.01);
    let y = Axis::real("normaliser of the read", least * 0.8, most * 1.25, Scale::Log);
    let x = Axis::count("read", channel_total(look));
    let legend = [Entry::new(Sign::Line(Dash::Solid), colour, "normaliser"), Entry::new(Sign::Down, ink.limit, "lowest 1%")];
    let describe = format!("Normaliser of {seen} of {} reads of lane {}: {text}", channel_total(look), look.lanes[lane].plan.name);
    let size = vec2(ui.available_width(), ui.available_height().max(60.0));
    let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
    strokes(ui, &chart, reduced, (head, seen), colour);
    let painter = chart.painter(ui);
    // What is not above zero has no place: it lies on the edge.
    let y_of = |value: f32| chart.rect.bottom() - chart.y.share(f64::from(value)).clamp(0.0, 1.0) as f32 * chart.rect.height();
    for &(read, value) in lowest {
        sign(&painter, pos2(chart.x_of(read as f64 + 0.5), y_of(value) - 3.0), Sign::Down, ink.limit, &ink);
    }
    if let Some(read) = look.selection.read.filter(|r| *r < seen) {
        painter.vline(chart.x_of(read as f64 + 0.5), chart.rect.y_range(), Stroke::new(1.0, ink.select));
    }
    chart.playhead(ui, seen as f64);
    tell(look, (lane, channel, head), &chart, &response, (lowest, seen), commands);
}

fn channel_total(look: &Look<'_>) -> usize {
    look.plan.stream.reads()
}

fn strokes(ui: &Ui, chart: &Chart, reduced: &Reduced, (head, seen): (usize, usize), colour: eframe::egui::Color32) {
    let mut clip = chart.rect;
    clip.set_right(chart.x_of(seen as f64).clamp(chart.rect.left(), chart.rect.right()));
    let painter = ui.painter().with_clip_rect(clip.intersect(ui.clip_rect()));
    let edge = |value: f32| chart.rect.bottom() - chart.y.share(f64::from(value)).clamp(0.0, 1.0) as f32 * chart.rect.height();
    let mut points: Vec<Pos2> = Vec::new();
    for column in 0..reduced.columns() {
        let (entries, pool) = (reduced.entries_of(column), reduced.pool(head, column));
        if entries.end > seen || pool.n == 0 || pool.min > pool.max {
            continue;
        }
        let x = chart.x_of((entries.start + entries.end) as f64 / 2.0);
        points.push(pos2(x, edge(pool.max)));
        points.push(pos2(x, edge(pool.min)));
    }
    line::draw(&painter, &points, Stroke::new(1.3, colour), Dash::Solid);
}

fn tell(
    look: &Look<'_>,
    (lane, channel, head): (usize, &Channel, usize),
    chart: &Chart,
    response: &Response,
    (lowest, seen): (&[(usize, f32)], usize),
    commands: &mut Vec<Command>,
) {
    let Some(pointer) = response.hover_pos() else { return };
    // A marked read near the pointer is what is meant.
    let near = |r: usize| (chart.x_of(r as f64 + 0.5) - pointer.x).abs();
    let marked = lowest.iter().map(|l| l.0).filter(|r| near(*r) < 3.0).min_by(|a, b| near(*a).total_cmp(&near(*b)));
    let read = marked.unwrap_or(chart.values_at(pointer).0.max(0.0) as usize);
    if read >= seen {
        response.clone().on_hover_text_at_pointer("after the playhead");
        return;
    }
    let value = channel.values(head).get(read).unwrap_or(f64::NAN);
    let mut rows = vec![("normaliser", format!("{}", value as f32))];
    if let Some(place) = lowest.iter().position(|l| l.0 == read) {
        rows.push(("rank", format!("{} of the lowest {}", place + 1, lowest.len())));
    }
    if let Some(shares) = look.lanes[lane].trace.channel("shares").filter(|c| read < c.len()) {
        let parts: Vec<String> = shares.reals_at(head, read).iter().map(|s| number(f64::from(*s))).collect();
        rows.push(("window, cache, state", parts.join(", ")));
    }
    rows.push(("sees", plural(look.plan.stream.after()[read] as usize, "write", "writes")));
    facts(response, &read_name(look, read), &rows);
    if response.clicked() {
        commands.push(Command::View(ViewCommand::SelectRead(Some(read))));
    }
}

#[cfg(test)]
mod tests {
    use super::{Lowest, lowest};

    #[test]
    fn the_lowest_hundredth_is_at_least_one_and_nan_is_not_among_it() {
        assert_eq!(lowest(&[3.0, 1.0, f32::NAN, 1.0], false).reads, [(1, 1.0)]);
        let numbers: Vec<f32> = (0..250).map(|i| (250 - i) as f32).collect();
        assert_eq!(lowest(&numbers, false), Lowest { empty: 0, reads: vec![(249, 1.0), (248, 2.0), (247, 3.0)] });
        assert_eq!(lowest(&[], true), Lowest::default());
    }

    #[test]
    fn reads_of_an_empty_state_are_counted_and_left_out() {
        let numbers = [0.0, 0.0, 0.5, 0.25, 2.0];
        assert_eq!(lowest(&numbers, true), Lowest { empty: 2, reads: vec![(3, 0.25)] });
        assert_eq!(lowest(&numbers[..2], true), Lowest { empty: 2, reads: vec![] });
        // Where the whole normaliser is recorded, a 0 is the smallest there is.
        assert_eq!(lowest(&numbers, false), Lowest { empty: 0, reads: vec![(0, 0.0)] });
    }
}
