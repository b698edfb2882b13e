//! Age: how long ago the pairs in the cache were written, and how long they have been in it.

use eframe::egui::{Align2, Color32, FontId, Painter, Pos2, Rect, RichText, Stroke, Ui, pos2, vec2};

use super::events::short_name;
use super::held::Held;
use crate::app::command::{Command, ViewCommand};
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::common::{Key, facts, is_marked, link, many, marked_name, plural, point_at, role_name, select_ring, token_name, words};
use crate::panel::row::glued;
use crate::panel::{Look, Subject};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, diamond, triangle};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::raster::nearest;
use crate::widget::ticks::number;

/// Bars that a histogram has at most.
const MOST_BARS: usize = 48;
/// More pairs than this are drawn as bars only, with the marked ones as points.
const MOST_POINTS: usize = 1500;

/// A pair in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The write.
    pub write: usize,
    /// Steps since the one in which it was written: 0 is the last step.
    pub written: usize,
    /// Steps since the one after which it was in the cache.
    pub entered: usize,
}

/// The members of the cache after some steps, and how many there are of each age.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// Ascending by write: the oldest first.
    pub list: Vec<Member>,
    /// Steps that a bar stands for.
    pub width: usize,
    /// For each bar how many were written, and how many came in, so many steps ago.
    pub bars: Vec<[u32; 2]>,
}

impl Members {
    /// Those after `chunks` steps of `chunk` writes.
    #[must_use]
    pub fn new(index: &Residency, chunks: usize, chunk: usize) -> Self {
        let Some(last) = chunks.checked_sub(1) else { return Self { width: 1, ..Self::default() } };
        let member = |write: usize| {
            (index.at(write, chunks) == Place::Cache).then(|| Member {
                write,
                written: last.saturating_sub(write / chunk.max(1)),
                entered: last.saturating_sub(index.entered(write).unwrap_or(last)),
            })
        };
        let list: Vec<Member> = (0..index.window_range(chunks).start).filter_map(member).collect();
        let most = list.iter().map(|m| m.written).max().unwrap_or(0);
        let width = (most + 1).div_ceil(MOST_BARS).max(1);
        let mut bars = vec![[0, 0]; (most + 1).div_ceil(width)];
        for m in &list {
            bars[m.written / width][0] += 1;
            // What is cached was written before it came in.
            bars[m.entered / width][1] += 1;
        }
        Self { list, width, bars }
    }

    /// The member that has been in the cache longest; of several the oldest.
    #[must_use]
    pub fn longest(&self) -> Option<&Member> {
        self.list.iter().max_by_key(|m| (m.entered, std::cmp::Reverse(m.write)))
    }
}

/// See the module's page.
#[derive(Default)]
pub(super) struct Age {
    members: Cached<Key<()>, Members>,
}

impl Age {
    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, commands: &mut Vec<Command>) {
        let members =
            self.members.get(Key::new(look, held.lane, held.head, held.chunks, ()), || Members::new(held.index, held.chunks, held.chunk));
        if members.list.is_empty() {
            words(ui, "There is nothing in the cache.");
            return;
        }
        if ui.available_height() > 120.0 {
            named(ui, look, members, held.noun(look), commands);
        }
        plot(ui, look, held, members, commands);
    }
}

/// The oldest of them, by name.
fn named(ui: &mut Ui, look: &Look<'_>, members: &Members, noun: &str, commands: &mut Vec<Command>) {
    let mut name = |ui: &mut Ui, m: &Member| {
        if link(ui, RichText::new(short_name(&look.plan.stream, m.write)), Subject::Token(m.write), commands).hovered() {
            commands.push(Command::View(ViewCommand::Hover(m.write)));
        }
    };
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let (Some(oldest), Some(longest)) = (members.list.first(), members.longest()) else { return };
        ui.label("Oldest:");
        name(ui, oldest);
        ui.label(glued(&format!("written {} ago, cached for {}.", many(oldest.written, noun), oldest.entered)));
        if longest.write != oldest.write && longest.entered > oldest.entered {
            ui.label("Cached longest:");
            name(ui, longest);
            ui.label(glued(&format!("for {}.", many(longest.entered, noun))));
        }
    });
}

fn plot(ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, members: &Members, commands: &mut Vec<Command>) {
    let (stream, noun) = (&look.plan.stream, held.noun(look));
    let ink = Ink::of(ui);
    let most = members.bars.iter().flatten().copied().max().unwrap_or(0).max(1);
    let mut legend = vec![
        Entry::new(Sign::Square, ink.cache, "written"),
        Entry::new(Sign::Line(Dash::Long), ink.limit, "came in"),
        Entry::new(Sign::Up, pair_ink(&ink), "each pair, as written"),
    ];
    if let Some(name) = marked_name(stream) {
        legend.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    let describe = format!(
        "Ages of {} in the cache after {}: the oldest was written {} ago",
        plural(members.list.len(), "pair", "pairs"),
        many(held.chunks, noun),
        many(members.list.first().map_or(0, |m| m.written), noun)
    );
    let x = Axis::count(format!("{noun}s ago"), members.bars.len() * members.width);
    let y = upward(most);
    let size = vec2(ui.available_width(), ui.available_height().max(80.0));
    let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
    let painter = chart.painter(ui);
    painter.hline(chart.rect.x_range(), chart.y_of(divider(most)), Stroke::new(1.0, ink.frame));
    let mut outline = Vec::new();
    for (i, [written, entered]) in members.bars.iter().enumerate() {
        let (from, to) = ((i * members.width) as f64, ((i + 1) * members.width) as f64);
        let bar = Rect::from_two_pos(chart.pos(from, 0.0), chart.pos(to, f64::from(*written)));
        painter.rect_filled(bar.shrink2(vec2((bar.width() * 0.08).min(1.0), 0.0)), 0.0, ink.cache);
        outline.extend([chart.pos(from, f64::from(*entered)), chart.pos(to, f64::from(*entered))]);
    }
    line::draw(&painter, &outline, Stroke::new(3.4, ink.paper.gamma_multiply(0.7)), Dash::Solid);
    line::draw(&painter, &outline, Stroke::new(1.6, ink.limit), Dash::Long);
    let points: Vec<Pos2> = members.list.iter().map(|m| place(&chart, m, most)).collect();
    for (m, at) in members.list.iter().zip(&points) {
        let is_marked = is_marked(stream, m.write);
        if is_marked || members.list.len() <= MOST_POINTS {
            painter.add(triangle(*at, 2.8, true, pair_ink(&ink), Stroke::NONE));
        }
        if is_marked {
            painter.add(diamond(*at, 4.6, Color32::TRANSPARENT, Stroke::new(1.4, ink.mark)));
        }
        if look.selection.holds(m.write) {
            painter.circle_stroke(*at, 4.5, Stroke::new(1.2, ink.select));
        }
    }
    if let Some(i) = look.selection.current().and_then(|t| members.list.binary_search_by_key(&t, |m| m.write).ok()) {
        select_ring(ui, &chart, points[i]);
    }
    strip_label(&painter, &chart, &ink, &points);
    let Some(pointer) = response.hover_pos() else { return };
    let near = points.iter().enumerate().map(|(i, p)| (i, [p.x, p.y]));
    if let Some(m) = nearest(near, [pointer.x, pointer.y], 7.0).map(|i| &members.list[i]) {
        let mut rows = vec![
            ("written", format!("{} ago, in {noun} {}", many(m.written, noun), m.write / held.chunk)),
            ("came in", format!("{} ago, in {noun} {}", many(m.entered, noun), held.chunks - 1 - m.entered)),
        ];
        if let Some(score) = held.score(m.write, held.chunks - 1) {
            rows.push(("score in the last one", number(score)));
        }
        rows.push(("role", role_name(stream, m.write).to_owned()));
        facts(&response, &token_name(stream, m.write), &rows);
        point_at(&response, Some(m.write), commands);
        return;
    }
    let bar = chart.values_at(pointer).0.max(0.0) as usize / members.width;
    if let Some([written, entered]) = members.bars.get(bar) {
        let (from, to) = (bar * members.width, (bar + 1) * members.width - 1);
        let title = if from == to { format!("{} ago", many(from, noun)) } else { format!("{from} to {to} {noun}s ago") };
        facts(&response, &title, &[("written", written.to_string()), ("came in", entered.to_string())]);
    }
    point_at(&response, None, commands);
}

/// The height at which the bars end and the strip of single pairs, which is no measure of anything, begins.
fn divider(most: u32) -> f64 {
    f64::from(most) * 1.06
}

/// The upward axis: its numbers end at the divider, and the upper third is the strip's.
fn upward(most: u32) -> Axis {
    Axis { max: f64::from(most) * 1.5, until: Some(divider(most)), ..Axis::count("pairs", 0) }
}

/// What the strip is called, at whichever of its ends has fewer pairs in the way.
fn strip_label(painter: &Painter, chart: &Chart, ink: &Ink, points: &[Pos2]) {
    let text = painter.layout_no_wrap("each pair".to_owned(), FontId::proportional(SMALL), ink.quiet);
    let places = [
        Align2::LEFT_TOP.anchor_size(chart.rect.left_top() + vec2(4.0, 1.0), text.size()),
        Align2::RIGHT_TOP.anchor_size(chart.rect.right_top() + vec2(-4.0, 1.0), text.size()),
    ];
    let hidden = |place: &Rect| points.iter().filter(|at| place.expand(3.0).contains(**at)).count();
    let place = if hidden(&places[1]) < hidden(&places[0]) { places[1] } else { places[0] };
    painter.rect_filled(place.expand2(vec2(2.0, 0.0)), 2.0, ink.paper.gamma_multiply(0.8));
    painter.galley(place.min, text, ink.quiet);
}

/// The ink of a pair's triangle: the cache's own is too faint on light paper.
fn pair_ink(ink: &Ink) -> Color32 {
    if ink.dark { ink.cache } else { blend(ink.cache, ink.text, 0.35) }
}

/// Where a pair's triangle is: over its age, spread upwards by its id so that pairs of one step do not hide each other.
fn place(chart: &Chart, m: &Member, most: u32) -> Pos2 {
    let spread = (m.write as f64 * 0.618_033_988_75).fract();
    let across = (m.write as f64 * 0.754_877_666_25).fract();
    let at = chart.pos(m.written as f64 + 0.15 + 0.7 * across, f64::from(most) * (1.12 + 0.34 * spread));
    pos2(at.x, at.y.clamp(chart.rect.top() + 3.0, chart.rect.bottom() - 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widget::ticks::ticks;

    #[test]
    fn no_number_of_the_axis_stands_in_the_strip() {
        let chart = Chart { rect: Rect::from_min_size(pos2(0.0, 0.0), vec2(300.0, 150.0)), x: Axis::count("steps ago", 32), y: upward(34) };
        let numbers = ticks(chart.y.min, chart.y.until.unwrap(), chart.y.scale, 8, chart.y.whole);
        assert_eq!(numbers, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]);
        let floor = chart.y_of(divider(34));
        for write in 0..200 {
            let at = place(&chart, &Member { write, written: 3, entered: 0 }, 34);
            assert!(at.y < floor && (chart.x_of(3.0)..chart.x_of(4.0)).contains(&at.x), "write {write}");
        }
    }

    #[test]
    fn ages_are_counted_from_the_last_step() {
        // Window 2, chunk 2: step 1 caches 0 and 1, step 2 caches 2, step 3 lets 1 go for 4.
        let mut index = Residency::new(2, 2, 8);
        for (admitted, displaced) in [(&[][..], &[][..]), (&[0, 1], &[]), (&[2], &[]), (&[4], &[1])] {
            index.push(admitted, displaced);
        }
        let members = Members::new(&index, 4, 2);
        let of = |write, written, entered| Member { write, written, entered };
        // 0 was written in step 0 of 0 to 3 and is there since step 1; 4 was written in step 2 and came in step 3.
        assert_eq!(members.list, [of(0, 3, 2), of(2, 2, 1), of(4, 1, 0)]);
        assert_eq!((members.width, &members.bars[..]), (1, &[[0, 1], [1, 1], [1, 1], [1, 0]][..]));
        assert_eq!(members.longest(), Some(&of(0, 3, 2)));
        assert!(Members::new(&index, 0, 2).list.is_empty());
    }

    #[test]
    fn many_ages_share_bars_and_none_is_lost() {
        let mut index = Residency::new(1, 1, 200);
        for step in 0..200_i32 {
            let admitted = if step > 0 { vec![step - 1] } else { Vec::new() };
            index.push(&admitted, &[]);
        }
        let members = Members::new(&index, 200, 1);
        assert_eq!((members.list.len(), members.width), (199, 5));
        for which in 0..2 {
            assert_eq!(members.bars.iter().map(|b| b[which]).sum::<u32>(), 199);
        }
    }
}
