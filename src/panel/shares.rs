//! Shares: where each read found its answer, as parts of its normaliser.

use eframe::egui::{Stroke, TextureHandle, Ui, vec2};

use super::common::{
    Canvas, Key, canvas, cover, crowd, facts, head_of, lanes_with, no_read_in, paint_until, plural, point_at, words, writes_seen,
};
use super::row::glued;
use super::{LaneChoice, Look, Panel};
use crate::app::command::Command;
use crate::panel::choices::Choices;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::{Scale, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "Where each read found its answer: the parts of its normaliser that came from the sliding window, the sparse cache and the linear \
state, stacked; up to the playhead.\n\n\
The formula: out = [sum_raw e^(beta q.k) v + w phi(q)^T H] / [sum_raw e^(beta q.k) + w phi(q)^T s + 1e-6]; raw are the \
window's pairs (those of the read's own chunk too) and the cached ones. The shares are the window's and \
the cache's terms of the lower sum and w phi(q)^T s, each over the whole.\n\n\
Striped blue: window. Yellow: cache. Grey: state. Where a pixel stands for several reads it shows the mean of their shares. Hover for the exact numbers.";

/// The names of the three shares, in their order in the channel.
const NAMES: [&str; 3] = ["window", "cache", "state"];

/// See [`HELP`].
#[derive(Default)]
pub struct Shares {
    lane: LaneChoice,
    picture: Cached<Key<Canvas>, TextureHandle>,
}

impl Panel for Shares {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes_with(look, &["shares"]);
        let none = "No lane here mixes a window, a cache and a state; add a LoLA lane.";
        let lane = self.lane.row(ui, look, &lanes, none, |ui, lane| {
            let Some(channel) = look.lanes[lane].trace.channel("shares") else { return };
            let seen = seen(look, lane, channel.len());
            if let Some([window, cache, state]) = mean(channel.reals(head_of(channel, look)), 0..seen) {
                let reads = plural(seen, "read", "reads");
                ui.label(glued(&format!("mean of {reads}: window {window:.2}, cache {cache:.2}, state {state:.2}")));
            }
        });
        let Some(lane) = lane else { return };
        let Some(channel) = look.lanes[lane].trace.channel("shares") else { return };
        let head = head_of(channel, look);
        let shares = channel.reals(head);
        let reads = look.plan.stream.reads();
        let seen = seen(look, lane, channel.len());
        if seen == 0 {
            words(ui, &no_read_in(look, lane));
            return;
        }
        let ink = Ink::of(ui);
        let legend = [
            Entry::new(Sign::Stripes, ink.window, "window"),
            Entry::new(Sign::Square, ink.cache, "cache"),
            Entry::new(Sign::Dotted, ink.state, "state"),
        ];
        let describe = format!("Shares of window, cache and state in {seen} of {reads} reads");
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let (response, chart) = Chart::show(
            ui,
            size,
            Axis::count("read", reads),
            Axis::real("share of the normaliser", 0.0, 1.0, Scale::Linear),
            &legend,
            &describe,
        );
        let canvas = canvas(ui, chart.rect);
        let covered = cover(channel.len(), seen, reads);
        let scale = ui.pixels_per_point();
        let picture = self.picture.get(Key::new(look, lane, head, covered, canvas), || {
            super::common::texture(ui, "shares", picture(&shares[..covered * 3], reads, canvas.0, scale, &ink))
        });
        paint_until(ui, &chart, picture, seen as f64);
        chart.playhead(ui, seen as f64);
        if let Some(token) = look.selection.current() {
            // The first read that sees the token.
            let first = look.plan.stream.after().partition_point(|&a| a as usize <= token);
            chart.painter(ui).vline(chart.x_of(first as f64), chart.rect.y_range(), Stroke::new(1.0, ink.select));
        }
        let Some(pointer) = response.hover_pos() else { return };
        let read = chart.values_at(pointer).0.max(0.0) as usize;
        tell(&response, look, shares, read, seen, crowd(&response, &chart, reads));
        // In a causal stream a read has a write of its own: the newest that it sees.
        let causal = reads == look.plan.stream.writes() && read < seen;
        point_at(&response, causal.then(|| look.plan.stream.after()[read] as usize - 1), commands);
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.lane("lane", &mut self.lane);
    }
}

/// Reads that are answered at the playhead and in the trace.
fn seen(look: &Look<'_>, lane: usize, held: usize) -> usize {
    look.plan.stream.reads_within(0..writes_seen(look, lane)).end.min(held)
}

/// The mean shares of some reads; `None` without any.
#[must_use]
pub fn mean(shares: &[f32], reads: std::ops::Range<usize>) -> Option<[f64; 3]> {
    let held = shares.get(reads.start * 3..(reads.end * 3).min(shares.len()))?;
    let n = held.len() / 3;
    let sum = |which: usize| held.iter().skip(which).step_by(3).map(|&s| f64::from(s)).sum::<f64>();
    (n > 0).then(|| [0, 1, 2].map(|i| sum(i) / n as f64))
}

fn picture(shares: &[f32], reads: usize, [width, height]: [usize; 2], scale: f32, ink: &Ink) -> eframe::egui::ColorImage {
    let mut image = eframe::egui::ColorImage::filled([width, height], eframe::egui::Color32::TRANSPARENT);
    let period = ((6.0 * scale).round() as usize).max(3);
    for x in 0..width {
        let Some([window, cache, _]) = mean(shares, super::residency::cells(x, width, reads)) else { continue };
        let (window, cache) = (window * height as f64, (window + cache) * height as f64);
        for y in 0..height {
            let up = (height - 1 - y) as f64 + 0.5;
            image.pixels[y * width + x] = if up < window {
                if (x + y) % period < period.div_ceil(3) { blend(ink.window, ink.paper, 0.35) } else { ink.window }
            } else if up < cache {
                ink.cache
            } else if x % period == period / 2 && y % period == (x / period % 2) * (period / 2) {
                blend(ink.state, ink.text, 0.45)
            } else {
                ink.state
            };
        }
    }
    image
}

fn tell(response: &eframe::egui::Response, look: &Look<'_>, shares: &[f32], read: usize, seen: usize, crowd: Option<String>) {
    if read >= seen {
        response.clone().on_hover_text_at_pointer("after the playhead");
        return;
    }
    let mut rows: Vec<(&str, String)> =
        NAMES.iter().zip(&shares[read * 3..read * 3 + 3]).map(|(name, s)| (*name, number(f64::from(*s)))).collect();
    rows.push(("sees", plural(look.plan.stream.after()[read] as usize, "write", "writes")));
    if let Some(each) = crowd {
        rows.push(("drawn", format!("the mean of the {each} reads in each pixel")));
    }
    let text = look.plan.stream.labels().read_tokens.as_ref().and_then(|t| t.get(read));
    let title = text.map_or_else(|| format!("read {read}"), |t| format!("read {read} {}", super::common::quoted(t)));
    facts(response, &title, &rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_averaged_read_by_read() {
        let shares = [1.0, 0.0, 0.0, 0.5, 0.25, 0.25, 0.0, 0.5, 0.5];
        assert_eq!(mean(&shares, 0..2), Some([0.75, 0.125, 0.125]));
        assert_eq!(mean(&shares, 2..9), Some([0.0, 0.5, 0.5]), "what is not held yet is left out");
        assert_eq!(mean(&shares, 3..3), None);
    }
}
