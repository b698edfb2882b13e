//! The score by what reads have in common: age, position, role.

use std::sync::{Arc, Weak};

use eframe::egui::{Pos2, Response, Stroke, Ui, pos2, vec2};

use super::reads_in_common;
use super::rows::Rows;
use super::stream::padded;
use super::words::counted;
use crate::metric::breakdown::{Bins, Breakdown, By};
use crate::metric::{Scored, Summary};
use crate::panel::Look;
use crate::panel::common::{facts, words};
use crate::session::plan::Plan;
use crate::stream::Targets;
use crate::widget::chart::{Axis, Chart, sign};
use crate::widget::line;
use crate::widget::palette::Ink;
use crate::widget::ticks::Scale;

/// What is added up for the view that is shown.
#[derive(Debug, Default)]
pub struct Binned {
    made_for: Option<(Weak<Plan>, By, usize)>,
    bins: Option<Bins>,
    lanes: Vec<Option<Breakdown>>,
    generations: Vec<u64>,
}

impl Binned {
    fn update(&mut self, look: &Look<'_>, by: By) {
        let same = self.made_for.as_ref().is_some_and(|(plan, b, head)| {
            Weak::as_ptr(plan) == Arc::as_ptr(look.plan) && *b == by && *head == look.query_head && self.lanes.len() == look.lanes.len()
        });
        // A trace that has fewer entries than before belongs to another run.
        let again = self.generations.iter().zip(look.lanes).any(|(g, lane)| lane.trace.generation() < *g);
        if !same || again {
            self.made_for = Some((Arc::downgrade(look.plan), by, look.query_head));
            self.bins = Bins::new(&look.plan.stream, by);
            let new = || self.bins.as_ref().and_then(|bins| Breakdown::new(&look.plan.stream, bins, look.query_head));
            self.lanes = look.lanes.iter().map(|_| new()).collect();
        }
        self.generations = look.lanes.iter().map(|l| l.trace.generation()).collect();
        let Some(bins) = &self.bins else { return };
        // Lanes stand beside each other in a bin: the same reads of each.
        let reads = reads_in_common(look);
        for (sums, lane) in self.lanes.iter_mut().zip(look.lanes) {
            if let Some(sums) = sums {
                sums.update(bins, lane.trace, reads);
            }
        }
    }

    fn summary(&self, lane: usize, bin: usize) -> Option<Summary> {
        self.lanes[lane].as_ref().map(|s| s.summary(bin)).filter(|s| s.headline().is_some())
    }

    /// Draws the scores by bin.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, by: By, height: f32) {
        self.update(look, by);
        self.show(ui, look, by, height);
    }

    fn show(&self, ui: &mut Ui, look: &Look<'_>, by: By, height: f32) {
        let Some(bins) = &self.bins else {
            words(ui, &format!("This stream does not say which write holds the answer to a read, so there is no {}.", by.name()));
            return;
        };
        let recall = matches!(look.plan.stream.targets(), Targets::Codes { .. });
        let each = (0..self.lanes.len()).flat_map(|l| (0..bins.bins.len()).filter_map(move |b| self.summary(l, b)));
        let top = if recall { 1.0 } else { each.filter_map(|s| s.headline()).filter(|v| v.is_finite()).fold(0.1, f64::max) };
        let what = if recall { "accuracy, 95% interval" } else { Scored::of(look.plan.stream.targets()).name() };
        if let [only] = &bins.bins[..] {
            self.only(ui, look, by, &only.name, (what, top), height);
            return;
        }
        let (low, high) = padded(height, top);
        let y = Axis::real(what, low, high, Scale::Linear);
        let (start, end) = (bins.bins.first().map_or(0, |b| b.range.start), bins.bins.last().map_or(1, |b| b.range.end));
        let along = |label: &str, scale| Axis { whole: true, ..Axis::real(label, start as f64, end as f64, scale) };
        let x = match by {
            By::Age => along("writes since what is asked for", Scale::Log),
            By::Read => along("write at which it is read", Scale::Linear),
            By::Answer => along("write that holds the answer", Scale::Linear),
            By::Role => Axis::kinds("role of the read", bins.bins.iter().map(|b| b.name.clone()).collect()),
        };
        let describe = format!("Recall by {}: {what} of {} lanes in {} bins", by.name(), self.lanes.len(), bins.bins.len());
        let (response, chart) = Chart::show(ui, vec2(ui.available_width(), height), x, y, &[], &describe);
        let middle = |bin: usize| match by {
            By::Age => (bins.bins[bin].range.start as f64 * bins.bins[bin].range.end as f64).sqrt(),
            By::Read | By::Answer => (bins.bins[bin].range.start + bins.bins[bin].range.end) as f64 / 2.0,
            By::Role => bin as f64 + 0.5,
        };
        self.draw(ui, look, bins, &chart, middle);
        let Some(pointer) = response.hover_pos() else { return };
        let away = |bin: &usize| (chart.x_of(middle(*bin)) - pointer.x).abs();
        let Some(bin) = (0..bins.bins.len()).min_by(|a, b| away(a).total_cmp(&away(b))) else { return };
        self.facts(&response, look, by, bin, &bins.bins[bin].name);
    }

    /// What every lane scored in a bin, on hover.
    fn facts(&self, response: &Response, look: &Look<'_>, by: By, bin: usize, name: &str) {
        let rows: Vec<(&str, String)> =
            look.lanes.iter().enumerate().map(|(i, lane)| (lane.plan.name.as_str(), counted(self.summary(i, bin)))).collect();
        facts(response, &format!("{} {name}", by.name()), &rows);
    }

    /// All reads in one bin: no axis has more than one place to show, so that each lane has a row, and the scores run along it.
    fn only(&self, ui: &mut Ui, look: &Look<'_>, by: By, name: &str, (what, top): (&str, f64), height: f32) {
        let each: Vec<String> =
            look.lanes.iter().enumerate().map(|(i, lane)| format!("{} {}", lane.plan.name, counted(self.summary(i, 0)))).collect();
        let describe = format!("Recall by {}: {what} of {} lanes in 1 bin, {name}. {}", by.name(), self.lanes.len(), each.join("; "));
        let axis = |width: f32| {
            let (low, high) = padded(width, top);
            Axis::real(what, low, high, Scale::Linear)
        };
        let rows = Rows::show(ui, look, height, axis, &format!("{} {name}: every read", by.name()), &describe);
        let (ink, painter) = (Ink::of(ui), rows.chart.painter(ui));
        for (index, lane) in look.lanes.iter().enumerate() {
            let Some(summary) = self.summary(index, 0) else { continue };
            let Some(value) = summary.headline().filter(|v| v.is_finite()) else { continue };
            let at = rows.at(index, value);
            if let Some((low, high)) = summary.interval() {
                let stroke = Stroke::new(1.0, lane.colour.gamma_multiply(0.8));
                let [low, high] = [low, high].map(|end| rows.chart.x_of(end));
                painter.hline(low..=high, at.y, stroke);
                for end in [low, high] {
                    painter.vline(end, at.y - 2.0..=at.y + 2.0, stroke);
                }
            }
            sign(&painter, at, lane.mark(), lane.colour, &ink);
        }
        self.facts(&rows.response, look, by, 0, name);
    }

    /// Each lane's points with their intervals, beside each other within a bin; along an axis of numbers joined by the lane's line.
    fn draw(&self, ui: &Ui, look: &Look<'_>, bins: &Bins, chart: &Chart, middle: impl Fn(usize) -> f64) {
        let (ink, painter, lanes) = (Ink::of(ui), chart.painter(ui), self.lanes.len() as f32);
        // Lanes stand apart by at most 7 points, and all of them within half of a bin's width.
        let wide = |bin: usize| match bins.by {
            By::Role => chart.x_of(bin as f64 + 1.0) - chart.x_of(bin as f64),
            _ => chart.x_of(bins.bins[bin].range.end as f64) - chart.x_of(bins.bins[bin].range.start as f64),
        };
        let narrowest = (0..bins.bins.len()).map(wide).fold(f32::INFINITY, f32::min);
        let spread = (narrowest * 0.6 / lanes).clamp(1.0, 7.0);
        for (index, lane) in look.lanes.iter().enumerate() {
            let aside = (index as f32 - (lanes - 1.0) / 2.0) * spread;
            let mut points: Vec<Pos2> = Vec::new();
            for bin in 0..bins.bins.len() {
                let Some(summary) = self.summary(index, bin) else { continue };
                let Some(value) = summary.headline().filter(|v| v.is_finite()) else { continue };
                let x = chart.x_of(middle(bin)) + aside;
                points.push(pos2(x, chart.y_of(value)));
                if let Some((low, high)) = summary.interval() {
                    let (low, high) = (chart.y_of(low), chart.y_of(high));
                    let stroke = Stroke::new(1.0, lane.colour.gamma_multiply(0.8));
                    painter.vline(x, high..=low, stroke);
                    for end in [low, high] {
                        painter.hline(x - 2.0..=x + 2.0, end, stroke);
                    }
                }
            }
            if bins.by != By::Role {
                line::draw(&painter, &points, Stroke::new(1.2, lane.colour), lane.dash());
            }
            for point in points {
                sign(&painter, point, lane.mark(), lane.colour, &ink);
            }
        }
    }
}
