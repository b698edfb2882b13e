//! Recall: what each lane has answered rightly so far, beside what its memory costs.

use std::ops::Range;
use std::sync::{Arc, Weak};

use eframe::egui::{Align, FontId, Label, Layout, RichText, ScrollArea, Sense, Stroke, Ui, vec2};

use super::common::{facts, no_read_yet, plural, waiting, words, writes_seen};
use super::growth::n_max;
use super::{LaneLook, Look, Panel};
use crate::app::command::Command;
use crate::metric::{CORRECT, ERROR_SQ, Running, Summary, full_attention_numbers, held, memory_share};
use crate::session::plan::Plan;
use crate::stream::Targets;
use crate::trace::Channel;
use crate::widget::chart::{Axis, Chart, SMALL};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;
use crate::widget::ticks::{Scale, grouped, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "How well each lane has answered so far, at the playhead, for the query head shown (the command line prints all query heads \
together); and what its memory holds.\n\n\
The formula, on a task with codes: accuracy, the share of reads whose output has its largest dot product with the right code, with Wilson's 95% \
interval. On a capture: the relative error |o - y| / |y| of the outputs against full attention's over all reads so far, and their mean \
cosine. On regression: sum |o - y|^2 / sum |y|^2, as the papers have it.\n\n\
Below each name, and the same wherever the playhead is: the numbers that the memory holds at the end of the stream for one key/value head, their \
bytes in float32, and the share of what full attention keeps, T (dk + dv). What is reserved counts whether it is in use or not, so on a short stream a \
dictionary of N rows can hold more than full attention.\n\nThe lines are the same figure over windows of reads, in the colours of the lanes, each with its own dashes. Hover for the exact numbers.";

/// Points along each line, and so the windows into which the reads are cut.
const WINDOWS: usize = 64;

/// See [`HELP`].
#[derive(Default)]
pub struct Recall {
    plan: Weak<Plan>,
    lanes: Vec<Option<Running>>,
}

impl Recall {
    fn update(&mut self, look: &Look<'_>) {
        if Weak::as_ptr(&self.plan) != Arc::as_ptr(look.plan) || self.lanes.len() != look.lanes.len() {
            self.plan = Arc::downgrade(look.plan);
            self.lanes = vec![None; look.lanes.len()];
        }
        for (running, lane) in self.lanes.iter_mut().zip(look.lanes) {
            // A run that started again holds fewer reads than were summed.
            let held = [CORRECT, ERROR_SQ].iter().filter_map(|c| lane.trace.channel(c)).map(Channel::len).min();
            let behind = running.as_ref().is_some_and(|r| held.is_some_and(|held| r.reads() > held));
            if running.is_none() || behind {
                *running = Running::new(look.plan.stream.targets());
            }
            if let Some(running) = running {
                running.update(lane.trace);
            }
        }
    }
}

/// Reads that a lane has answered at the playhead.
fn reads_seen(look: &Look<'_>, lane: usize) -> usize {
    look.plan.stream.reads_within(0..writes_seen(look, lane)).end
}

impl Panel for Recall {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, _commands: &mut Vec<Command>) {
        let stream = &look.plan.stream;
        if look.lanes.is_empty() {
            words(ui, "No lane is switched on.");
            return;
        }
        if matches!(stream.targets(), Targets::None) || stream.reads() == 0 {
            words(ui, "This stream has no reads with known answers, so nothing is measured.");
            return;
        }
        self.update(look);
        let height = ui.available_height();
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.show(ui, look, height));
    }
}

impl Recall {
    /// The table and the lines in `height` points; more only where the table alone is higher.
    fn show(&mut self, ui: &mut Ui, look: &Look<'_>, height: f32) {
        let top = ui.cursor().top();
        // This panel is often low: its rows are as high as their letters.
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 14.0;
        ui.add(Label::new(RichText::new(title(look)).size(SMALL).color(Ink::of(ui).quiet)).truncate());
        for (index, lane) in look.lanes.iter().enumerate() {
            row(ui, look, lane, index, over(look, &self.lanes, index, 0..reads_seen(look, index)));
        }
        if !first_reads(ui, look) {
            return;
        }
        let left = height - (ui.cursor().top() - top) - 4.0;
        lines(ui, look, &self.lanes, left.max(84.0));
    }
}

/// What the numbers are, and of how many reads.
fn title(look: &Look<'_>) -> String {
    let seen = (0..look.lanes.len()).map(|l| reads_seen(look, l)).max().unwrap_or(0);
    let what = match look.plan.stream.targets() {
        Targets::Codes { .. } => "accuracy, 95% interval",
        Targets::FullAttention => "relative error, cosine",
        Targets::Values(_) | Targets::None => "relative squared error, cosine",
    };
    let stream = &look.plan.stream;
    let head = if stream.query_heads() > 1 { format!("query head {}: ", look.query_head) } else { String::new() };
    format!("{head}{what}; {seen} of {}", plural(stream.reads(), "read", "reads"))
}

/// Says when the first read comes, where none has come yet.
fn first_reads(ui: &mut Ui, look: &Look<'_>) -> bool {
    let any = (0..look.lanes.len()).any(|l| reads_seen(look, l) > 0);
    if !any {
        words(ui, &no_read_yet(&look.plan.stream));
    }
    any
}

/// The figures of a lane in words: `0.96 (0.81 to 0.99)`, or `0.41, cosine 0.93`.
#[must_use]
pub fn figures(summary: Option<Summary>) -> String {
    match summary {
        None | Some(Summary::Recall { reads: 0, .. } | Summary::Error { reads: 0, .. }) => "–".to_owned(),
        Some(s @ Summary::Recall { correct, reads }) => {
            let (low, high) = s.interval().unwrap_or((0.0, 1.0));
            // Half a hundredth counts upwards: 1 of 8 is 0.13.
            let hundredths = (200 * correct + reads) / (2 * reads);
            format!("{}.{:02} ({low:.2} to {high:.2})", hundredths / 100, hundredths % 100)
        }
        Some(Summary::Error { relative, cosine, .. }) => format!("{relative:.3}, cos {cosine:.3}"),
    }
}

/// Numbers as bytes of float32: `80 KiB`.
#[must_use]
pub fn bytes(numbers: u64) -> String {
    let bytes = numbers * 4;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", number(bytes as f64 / 1024.0)),
        _ => format!("{} MiB", number(bytes as f64 / 1_048_576.0)),
    }
}

/// What a memory holds at the end of the stream, in a line that fits `fits`, and in full.
fn state_words(numbers: u64, share: f64, fits: impl Fn(&str) -> bool) -> String {
    let rest = format!("{}, {} of full", bytes(numbers), percent(share));
    let long = format!("at the end: {} numbers in all, {rest}", grouped(numbers));
    if fits(&long) { long } else { format!("at the end: {}, {rest}", grouped(numbers)) }
}

/// The whole sentence about a memory's size.
fn state_sentence(look: &Look<'_>, lane: usize, numbers: u64, share: f64) -> String {
    let stream = &look.plan.stream;
    let states = match look.lanes[lane].plan.setup.stream.kv_heads() {
        own if own == stream.kv_heads() => plural(own, "key/value head", "key/value heads"),
        own => format!("{own} states, one for each query head"),
    };
    let mut text = format!(
        "The memory at the end of the stream, not at the playhead: {} numbers in all, {} in float32; {states}. Full attention keeps {} for each of \
         {}, so this is {}.",
        grouped(numbers),
        bytes(numbers),
        grouped(full_attention_numbers(stream)),
        plural(stream.kv_heads(), "key/value head", "key/value heads"),
        percent(share),
    );
    if let Some(n) = n_max(look, lane) {
        text = format!("{text} {} are reserved, whether they are in use or not.", plural(n, "row", "rows"));
    }
    text
}

fn row(ui: &mut Ui, look: &Look<'_>, lane: &LaneLook<'_>, index: usize, summary: Option<Summary>) {
    let cost = lane.plan.kind.cost(&lane.plan.setup);
    let share = memory_share(&cost, &lane.plan.setup.stream, &look.plan.stream);
    let numbers = held(&cost, &lane.plan.setup.stream);
    let quiet = Ink::of(ui).quiet;
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(22.0, 14.0), Sense::hover());
        let ends = [rect.left_center(), rect.right_center()];
        line::draw(ui.painter(), &ends, Stroke::new(2.2, lane.colour), Dash::of(index));
        ui.label(RichText::new(lane.plan.name.as_str()).strong());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(figures(summary)).strong());
        });
    });
    ui.horizontal(|ui| {
        ui.add_space(22.0 + ui.spacing().item_spacing.x);
        let room = ui.available_width();
        let font = FontId::proportional(SMALL);
        let width = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), font.clone(), quiet).size().x;
        let text = state_words(numbers, share, |text| width(text) <= room);
        let waiting = waiting(look, index);
        let more = if waiting.is_empty() { waiting } else { format!("\nAt the playhead {waiting}.") };
        // The label's own hover is that of a cut one; this one says everything.
        ui.add(Label::new(RichText::new(text).size(SMALL).color(quiet)).truncate().show_tooltip_when_elided(false))
            .on_hover_text(format!("{}{more}", state_sentence(look, index, numbers, share)));
    });
}

/// `8.3%`, `100%`, `<0.1%`.
#[must_use]
pub fn percent(share: f64) -> String {
    let p = 100.0 * share;
    if p >= 99.95 || p == 0.0 {
        format!("{p:.0}%")
    } else if p < 0.1 {
        "<0.1%".to_owned()
    } else if p < 10.0 {
        format!("{p:.1}%")
    } else {
        format!("{p:.0}%")
    }
}

/// The windows of reads for the lines: as many reads each as makes `WINDOWS` of all, at least one.
#[must_use]
pub fn window_of(reads: usize) -> usize {
    reads.div_ceil(WINDOWS).max(1)
}

/// One lane's figure over each window of the reads seen: the middle of the window, and the figure.
fn series(running: &Running, head: usize, seen: usize, window: usize) -> Vec<[f64; 2]> {
    (0..seen.div_ceil(window))
        .filter_map(|i| {
            let range = i * window..((i + 1) * window).min(seen);
            let middle = (range.start + range.end) as f64 / 2.0;
            running.over(head..head + 1, range).headline().filter(|v| v.is_finite()).map(|v| [middle, v])
        })
        .collect()
}

fn lines(ui: &mut Ui, look: &Look<'_>, lanes: &[Option<Running>], height: f32) {
    let ink = Ink::of(ui);
    let total = look.plan.stream.reads();
    let window = window_of(total);
    let recall = matches!(look.plan.stream.targets(), Targets::Codes { .. });
    let what = if recall { "accuracy" } else { "relative error" };
    let each: Vec<Vec<[f64; 2]>> = lanes
        .iter()
        .enumerate()
        .map(|(i, r)| r.as_ref().map(|r| series(r, look.query_head, reads_seen(look, i), window)).unwrap_or_default())
        .collect();
    // The axis covers all that is computed, so that it stands still while the playhead moves.
    let all = lanes.iter().flatten().flat_map(|r| series(r, look.query_head, r.reads(), window));
    let top = if recall { 1.0 } else { all.map(|p| p[1]).fold(0.1, f64::max) };
    let each_point = if window == 1 { "of each read".to_owned() } else { format!("of {window} reads each") };
    let y = Axis::real(format!("{what} {each_point}"), 0.0, top * 1.05, Scale::Linear);
    let now: Vec<String> = look
        .lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| format!("{} {}", lane.plan.name, figures(over(look, lanes, i, 0..reads_seen(look, i)))))
        .collect();
    let describe = format!("Recall, {what} over reads. {}", now.join("; "));
    let size = vec2(ui.available_width(), height);
    let (response, chart) = Chart::show(ui, size, Axis::count("read", total), y, &[], &describe);
    let painter = chart.painter(ui);
    for (index, (lane, points)) in look.lanes.iter().zip(&each).enumerate() {
        let points: Vec<_> = points.iter().map(|p| chart.pos(p[0], p[1])).collect();
        line::draw(&painter, &points, Stroke::new(1.7, lane.colour), Dash::of(index));
    }
    let seen = (0..look.lanes.len()).map(|l| reads_seen(look, l)).max().unwrap_or(0);
    chart.playhead(ui, seen as f64);
    if let Some(token) = look.selection.current() {
        let first = look.plan.stream.after().partition_point(|&a| a as usize <= token);
        painter.vline(chart.x_of(first as f64), chart.rect.y_range(), Stroke::new(1.0, ink.select.gamma_multiply(0.55)));
    }
    let Some(pointer) = response.hover_pos() else { return };
    let start = (chart.values_at(pointer).0.max(0.0) as usize).min(total.saturating_sub(1)) / window * window;
    let rows: Vec<(&str, String)> = look
        .lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| (lane.plan.name.as_str(), figures(over(look, lanes, i, start..(start + window).min(reads_seen(look, i))))))
        .collect();
    let last = (start + window).min(total) - 1;
    let title = if last > start { format!("reads {start} to {last}") } else { format!("read {start}") };
    facts(&response, &title, &rows);
}

/// The summary of a lane over some reads, for the query head shown; nothing for no reads.
fn over(look: &Look<'_>, lanes: &[Option<Running>], lane: usize, reads: Range<usize>) -> Option<Summary> {
    let head = look.query_head;
    lanes[lane].as_ref().filter(|_| !reads.is_empty()).map(|r| r.over(head..head + 1, reads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(figures(None), "–");
        // 24 of 25: Wilson's interval is .805 to .993.
        assert_eq!(figures(Some(Summary::Recall { correct: 24, reads: 25 })), "0.96 (0.80 to 0.99)");
        // 1 of 8 is half-way between two hundredths: upwards. Wilson's interval is .022 to .471.
        assert_eq!(figures(Some(Summary::Recall { correct: 1, reads: 8 })), "0.13 (0.02 to 0.47)");
        assert_eq!(figures(Some(Summary::Recall { correct: 8, reads: 8 })), "1.00 (0.68 to 1.00)");
        assert_eq!(figures(Some(Summary::Error { relative: 0.414, cosine: 0.93, reads: 9 })), "0.414, cos 0.930");
        assert_eq!((bytes(20_544), bytes(200), bytes(1 << 20)), ("80.25 KiB".into(), "800 B".into(), "4 MiB".into()));
        assert_eq!(
            (percent(0.083), percent(1.0), percent(0.0004), percent(0.5)),
            ("8.3%".into(), "100%".into(), "<0.1%".into(), "50%".into())
        );
    }

    #[test]
    fn a_state_is_that_of_the_end_in_every_length() {
        assert_eq!(state_words(262_144, 1.0, |_| true), format!("at the end: {} numbers in all, 1 MiB, 100% of full", grouped(262_144)));
        assert_eq!(state_words(262_144, 1.0, |_| false), format!("at the end: {}, 1 MiB, 100% of full", grouped(262_144)));
    }

    #[test]
    fn few_reads_have_a_window_each() {
        assert_eq!((window_of(8), window_of(64), window_of(65), window_of(2048)), (1, 1, 2, 32));
    }
}
