//! How many rows hold how many writes: the counts in bins of a logarithmic axis, each as high as it has rows for each whole number in it,
//! and the rows of a bin.

use eframe::egui::{Align2, FontId, Rect, RichText, ScrollArea, Stroke, Ui, pos2, vec2};

use super::{DrawOptions, Tally, rows_in_words};
use crate::app::command::{Command, ViewCommand};
use crate::panel::common::{facts, link, plural};
use crate::panel::{Look, Subject};
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, triangle};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::{Scale, grouped, number};

/// Up to this count each has a bin of its own.
const ONE_BY_ONE: u32 = 10;
/// Bins in which a count doubles, beyond that.
const A_DOUBLING: f64 = 2.0;
/// Room above the highest bar for its number, and for the mark of a row, in points.
const ABOVE: f32 = 16.0;
/// A bar is never lower than this many points: in a bin of many whole numbers a few rows would be lost.
const LOWEST: f32 = 1.5;
/// Links to rows on one page.
const PAGE: usize = 40;

/// Counts by bin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bins {
    /// Where bin i begins; it ends before the next one's begin. One more than there are bins.
    pub edges: Vec<u32>,
    /// The rows of each bin, ascending.
    pub rows: Vec<Vec<u32>>,
    /// The rows without a write.
    pub empty: Vec<u32>,
}

impl Bins {
    /// Sorts rows by their count.
    #[must_use]
    pub fn new(counts: &[u32]) -> Self {
        let edges = edges(counts.iter().copied().max().unwrap_or(0));
        let mut new = Self { rows: vec![Vec::new(); edges.len() - 1], edges, empty: Vec::new() };
        for (row, &count) in counts.iter().enumerate() {
            match new.bin_of(count) {
                Some(bin) => new.rows[bin].push(row as u32),
                None => new.empty.push(row as u32),
            }
        }
        new
    }

    /// The bin of a count; `None` for 0, and for more than any row holds.
    #[must_use]
    pub fn bin_of(&self, count: u32) -> Option<usize> {
        let bin = self.edges.partition_point(|&e| e <= count).checked_sub(1)?;
        (bin + 1 < self.edges.len()).then_some(bin)
    }

    /// Whole numbers that a bin stands for.
    #[must_use]
    pub fn width(&self, bin: usize) -> u32 {
        self.edges[bin + 1] - self.edges[bin]
    }

    /// The height of a bin's bar: its rows for each whole number in it, so that bins of different widths can be compared. Over all bins,
    /// heights times widths are all rows that hold a write.
    #[must_use]
    pub fn height(&self, bin: usize) -> f64 {
        self.rows[bin].len() as f64 / f64::from(self.width(bin))
    }

    /// `1 write`, `11 to 15 writes`.
    fn name(&self, bin: usize) -> String {
        let (first, last) = (self.edges[bin], self.edges[bin + 1] - 1);
        if first == last { plural(first as usize, "write", "writes") } else { format!("{first} to {last} writes") }
    }
}

/// Whole numbers from 1 to beyond `most`: one by one to 11, then nearly equal ratios apart: 16, 22, 31, 44, ..
fn edges(most: u32) -> Vec<u32> {
    let mut edges = vec![1];
    let mut power = 0.0;
    while edges[edges.len() - 1] <= most.max(1) {
        let last = edges[edges.len() - 1];
        if last <= ONE_BY_ONE {
            edges.push(last + 1);
        } else {
            power += 1.0 / A_DOUBLING;
            edges.push((f64::from(ONE_BY_ONE + 1) * f64::exp2(power)).round() as u32);
        }
    }
    edges
}

/// The end of an upward axis on which `most` has room above it for [`ABOVE`], in a plot about `height` points high with its words.
fn headroom(most: f64, height: f32) -> f64 {
    // What is taken at most by two rows above the plot and one below.
    let inner = f64::from((height - 56.0).max(2.0 * ABOVE));
    most * inner / (inner - f64::from(ABOVE))
}

/// The bin whose rows are listed, by a count in it (0: the rows without a write), and the page.
pub type Listed = Option<(u32, usize)>;

/// Draws the histogram and, below it, the rows of the bin that was clicked.
pub fn show(
    ui: &mut Ui,
    look: &Look<'_>,
    lane: usize,
    (tally, bins): (&Tally, &Bins),
    options: DrawOptions,
    listed: &mut Listed,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let list_height = if listed.is_some() { (ui.available_height() * 0.32).clamp(36.0, 78.0) } else { 0.0 };
    let size = vec2(ui.available_width(), (ui.available_height() - list_height).max(70.0));
    let most = (0..bins.rows.len()).map(|bin| bins.height(bin)).fold(bins.empty.len() as f64, f64::max);
    let y = Axis::real("rows for each count", 0.0, headroom(if most > 0.0 { most } else { 1.0 }, size.y), Scale::Linear);
    // Rows without a write have a place of their own, left of 1, which a logarithmic axis does not have for 0.
    let last = bins.edges[bins.edges.len() - 1];
    let start = if bins.empty.is_empty() { 1.0 } else { 0.51 };
    let x = Axis { whole: true, ..Axis::real("count: writes in the row", start, f64::from(last), Scale::Log) };
    let describe = format!(
        "Histogram of counts: {} at write {}, in {} of the number of writes, as rows for each whole number, {} without a write",
        rows_in_words(&tally.counts, options.deleted),
        look.writes,
        plural(bins.rows.len(), "bin", "bins"),
        bins.empty.len()
    );
    let mut legend = vec![Entry::new(Sign::Square, options.colour, "rows with so many writes")];
    if !bins.empty.is_empty() {
        legend.push(Entry::new(Sign::Stripes, ui.visuals().warn_fg_color, "without a write"));
    }
    if options.marked.is_some() {
        legend.insert(0, Entry::new(Sign::Down, ink.select, "selected row"));
    }
    let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
    let marked = options.marked.and_then(|row| tally.counts.get(row)).copied();
    let shown = listed.map(|(count, _)| count);
    for bin in 0..bins.rows.len() {
        let place = bar(&chart, f64::from(bins.edges[bin]), f64::from(bins.edges[bin + 1]), bins.height(bin));
        let holds = |count: Option<u32>| count.and_then(|c| bins.bin_of(c)) == Some(bin);
        draw(ui, &chart, place, options.colour, (holds(marked), holds(shown)), bins.height(bin));
    }
    if !bins.empty.is_empty() {
        let colour = ui.visuals().warn_fg_color;
        let place = bar(&chart, 0.56, 0.9, bins.empty.len() as f64);
        draw(ui, &chart, place, colour, (marked == Some(0), shown == Some(0)), bins.empty.len() as f64);
        let under = pos2(place.center().x, chart.rect.bottom() + 4.0);
        ui.painter().text(under, Align2::CENTER_TOP, "0", FontId::proportional(SMALL), ink.quiet);
        let painter = chart.painter(ui).with_clip_rect(place);
        let mut left = place.left() - place.height();
        while left < place.right() {
            painter.line_segment([pos2(left, place.bottom()), pos2(left + place.height(), place.top())], Stroke::new(1.0, ink.paper));
            left += 5.0;
        }
    }
    if let Some(count) = marked {
        let (at, above) = mark(&chart, bins, count);
        chart.painter(ui).add(triangle(pos2(at, above - 6.0), 4.5, false, ink.select, Stroke::new(1.0, ink.paper)));
    }
    point(ui, lane, &response, &chart, (tally, bins), listed, commands);
    list(ui, look, lane, (tally, bins), listed, commands);
}

/// Where the mark of a row with this count stands: in the middle of the count's own place, on its bar.
fn mark(chart: &Chart, bins: &Bins, count: u32) -> (f32, f32) {
    match bins.bin_of(count) {
        None => (chart.x_of(0.72), chart.y_of(bins.empty.len() as f64)),
        Some(bin) => {
            let (a, b) = (chart.x_of(f64::from(count)), chart.x_of(f64::from(count) + 1.0));
            (f32::midpoint(a, b), top_of(chart, bins.height(bin)))
        }
    }
}

fn bar(chart: &Chart, from: f64, to: f64, height: f64) -> Rect {
    // A hair between bars, but no more than a fifth of a narrow one.
    let (left, right) = (chart.x_of(from), chart.x_of(to));
    let gap = ((right - left) * 0.1).min(0.5);
    Rect::from_min_max(pos2(left + gap, top_of(chart, height)), pos2(right - gap, chart.rect.bottom()))
}

/// The top of a bar.
fn top_of(chart: &Chart, height: f64) -> f32 {
    chart.y_of(height).min(chart.rect.bottom() - LOWEST)
}

fn draw(ui: &Ui, chart: &Chart, place: Rect, colour: eframe::egui::Color32, (marked, listed): (bool, bool), height: f64) {
    let (ink, painter) = (Ink::of(ui), chart.painter(ui));
    if height <= 0.0 {
        return;
    }
    painter.rect_filled(place, 0.0, colour);
    if listed {
        painter.rect_stroke(place, 0.0, Stroke::new(2.0, ink.text), eframe::egui::StrokeKind::Inside);
    } else if marked {
        painter.rect_stroke(place, 0.0, Stroke::new(2.0, blend(colour, ink.select, 0.7)), eframe::egui::StrokeKind::Inside);
    }
    let text = short(height);
    if place.width() > 7.0 * text.chars().count() as f32 && !marked {
        painter.text(place.center_top(), Align2::CENTER_BOTTOM, text, FontId::proportional(SMALL), ink.quiet);
    }
}

/// The height of a bar in few letters.
fn short(height: f64) -> String {
    match height {
        h if h < 0.01 => "<0.01".to_owned(),
        h if h < 1.0 => number((h * 100.0).round() / 100.0),
        h if h < 10.0 => number((h * 10.0).round() / 10.0),
        h => number(h.round()),
    }
}

fn point(
    ui: &Ui,
    lane: usize,
    response: &eframe::egui::Response,
    chart: &Chart,
    (tally, bins): (&Tally, &Bins),
    listed: &mut Listed,
    commands: &mut Vec<Command>,
) {
    let Some(pointer) = response.hover_pos() else { return };
    let count = chart.values_at(pointer).0.floor().max(0.0) as u32;
    let bin = bins.bin_of(count);
    let (name, rows) = match bin {
        Some(bin) => (bins.name(bin), &bins.rows[bin]),
        None if count == 0 && !bins.empty.is_empty() => ("no write".to_owned(), &bins.empty),
        None => return,
    };
    let (all, total) = (tally.counts.len().max(1), tally.counts.iter().map(|&c| u64::from(c)).sum::<u64>().max(1));
    let writes: u64 = rows.iter().map(|&r| u64::from(tally.counts[r as usize])).sum();
    let mut told = vec![
        ("rows", format!("{} of {all} ({}%)", rows.len(), number(100.0 * rows.len() as f64 / all as f64))),
        ("writes in them", format!("{} ({}% of all)", grouped(writes), number(100.0 * writes as f64 / total as f64))),
    ];
    if let Some((bin, width)) = bin.map(|b| (b, bins.width(b))).filter(|(_, width)| *width > 1) {
        told.insert(1, ("rows for each count", format!("{} ({} in {width} whole numbers)", number(bins.height(bin)), rows.len())));
    }
    facts(response, &format!("rows with {name}"), &told);
    if let [row] = rows[..] {
        commands.push(Command::View(ViewCommand::HoverRow { lane, row: row as usize }));
    }
    if response.clicked() {
        let first = bin.map_or(0, |b| bins.edges[b]);
        let same = listed.is_some_and(|(c, _)| bins.bin_of(c) == bin);
        *listed = if same || rows.is_empty() { None } else { Some((first, 0)) };
        ui.ctx().request_repaint();
    }
}

/// The rows of the bin that was clicked, each a link.
fn list(ui: &mut Ui, look: &Look<'_>, lane: usize, (tally, bins): (&Tally, &Bins), listed: &mut Listed, commands: &mut Vec<Command>) {
    let Some((count, page)) = *listed else { return };
    let (name, rows) = match bins.bin_of(count) {
        Some(bin) => (bins.name(bin), &bins.rows[bin]),
        None if count == 0 => ("no write".to_owned(), &bins.empty),
        None => (plural(count as usize, "write", "writes"), &bins.empty),
    };
    let rows: &[u32] = if bins.bin_of(count).is_none() && count > 0 { &[] } else { rows };
    let pages = rows.len().div_ceil(PAGE).max(1);
    let page = page.min(pages - 1);
    let small = |text: String| RichText::new(text).size(SMALL);
    ScrollArea::vertical().id_salt("rows").auto_shrink([false, false]).show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 1.0);
            ui.label(small(format!("{} with {name}:", plural(rows.len(), "row", "rows"))).strong());
            if ui.small_button("close").clicked() {
                *listed = None;
            }
            if pages > 1 {
                if ui.add_enabled(page > 0, eframe::egui::Button::new("‹").small()).on_hover_text("The page before").clicked() {
                    *listed = Some((count, page - 1));
                }
                ui.label(small(format!("page {} of {pages}", page + 1)));
                if ui.add_enabled(page + 1 < pages, eframe::egui::Button::new("›").small()).on_hover_text("The next page").clicked() {
                    *listed = Some((count, page + 1));
                }
            }
            for &row in rows.iter().skip(page * PAGE).take(PAGE) {
                let row = row as usize;
                let strong = look.selection.current_row(lane) == Some(row);
                let text = small(format!("{row}"));
                let response = link(ui, if strong { text.strong() } else { text }, Subject::Centroid { lane, row }, commands);
                let response = response.on_hover_text(format!("row {row}: {}", plural(tally.counts[row] as usize, "write", "writes")));
                if response.hovered() {
                    commands.push(Command::View(ViewCommand::HoverRow { lane, row }));
                }
            }
        });
        crate::app::focus::follow(ui);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_are_whole_one_by_one_to_ten_and_then_two_in_each_doubling() {
        // 11 times powers of the root of 2: 15.56 -> 16, 22, 31.11 -> 31, 44.
        assert_eq!(edges(33), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 22, 31, 44]);
        assert_eq!(edges(16)[10..], [11, 16, 22], "16 itself needs a bin that begins with it");
        assert_eq!((edges(0), edges(1), edges(3)), (vec![1, 2], vec![1, 2], vec![1, 2, 3, 4]));
    }

    #[test]
    fn rows_without_a_write_are_counted_apart() {
        let bins = Bins::new(&[0, 1, 3, 2, 0, 12, 1, 15]);
        assert_eq!(bins.empty, [0, 4]);
        assert_eq!(bins.edges, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16]);
        assert_eq!((&bins.rows[..3], &bins.rows[10]), (&[vec![1, 6], vec![3], vec![2]][..], &vec![5, 7]));
        assert_eq!((bins.name(0), bins.name(2), bins.name(10)), ("1 write".into(), "3 writes".into(), "11 to 15 writes".into()));
        assert_eq!(Bins::new(&[]).rows, vec![Vec::<u32>::new()]);
    }

    #[test]
    fn as_many_rows_of_every_count_are_bars_of_one_height() {
        // One row of each count from 1 to 43: no comb where a bin begins to hold more whole numbers than one.
        let bins = Bins::new(&(1..44).collect::<Vec<u32>>());
        assert_eq!((bins.width(0), bins.width(10), bins.width(13)), (1, 5, 13), "1; 11 to 15; 31 to 43");
        for bin in 0..bins.rows.len() {
            assert!((bins.height(bin) - 1.0).abs() < 1e-12, "{}", bins.name(bin));
        }
    }

    #[test]
    fn there_is_room_for_a_number_above_the_highest_bar() {
        for height in [70.0, 130.0, 400.0] {
            let inner = f64::from((height - 56.0_f32).max(2.0 * ABOVE));
            assert!(inner - 50.0 * inner / headroom(50.0, height) >= f64::from(ABOVE) - 1e-6, "{height}");
        }
        let texts = [172.0, 12.4, 3.24, 0.04, 0.001].map(short);
        assert_eq!(texts, ["172", "12", "3.2", "0.04", "<0.01"], "no bar that is there is told to be 0");
    }

    proptest! {
        #[test]
        fn every_row_is_in_the_bin_of_its_count(counts in proptest::collection::vec(0_u32..70_000, 0..200)) {
            let bins = Bins::new(&counts);
            prop_assert_eq!(bins.rows.iter().map(Vec::len).sum::<usize>() + bins.empty.len(), counts.len());
            let area: f64 = (0..bins.rows.len()).map(|bin| bins.height(bin) * f64::from(bins.width(bin))).sum();
            prop_assert!((area + bins.empty.len() as f64 - counts.len() as f64).abs() < 1e-9, "heights times widths are the rows");
            for (bin, rows) in bins.rows.iter().enumerate() {
                for &row in rows {
                    let count = counts[row as usize];
                    prop_assert!((bins.edges[bin]..bins.edges[bin + 1]).contains(&count));
                }
            }
        }
    }
}
