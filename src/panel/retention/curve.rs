//! The forgetting curve: the error by age, each lane with its quartiles.

use eframe::egui::{Color32, Mesh, Pos2, Shape, Stroke, Ui, vec2};

use super::{Group, Retention, number_of_errors};
use crate::app::study::retention::Finding;
use crate::metric::retention::{AgeBin, by_age};
use crate::panel::Look;
use crate::panel::common::{Key, cover, facts, is_marked, marked_name};
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::line;
use crate::widget::palette::Ink;
use crate::widget::ticks::{Scale, number};

/// Errors above this have no place on the axis, however many there are.
const TOP: f32 = 3.0;

impl Retention {
    /// The curves of all lanes.
    pub(super) fn ages(&mut self, ui: &mut Ui, look: &Look<'_>, finding: &Finding) {
        let map = &finding.map;
        let lanes = look.lanes.len();
        let columns = map.probes().columns().len();
        let done: usize = (0..lanes).map(|l| map.done(l)).sum();
        let covered = cover(done, 0, columns * lanes);
        let group = if marked_name(&look.plan.stream).is_some() { self.group } else { Group::All };
        let key = Key::new(look, 0, look.query_head, covered, (finding.number, group));
        let curves = self.curves.get(key, || {
            let tokens = map.probes().tokens();
            let keep = |t: usize| group.has(is_marked(&look.plan.stream, tokens[t]));
            (0..lanes).map(|lane| by_age(map, (lane, look.query_head), columns, keep)).collect()
        });
        let ink = Ink::of(ui);
        let highest = curves.iter().flatten().map(|b| b.quartiles[2]).filter(|e| e.is_finite()).fold(1.0, f32::max);
        let oldest = look.plan.stream.writes().max(2);
        let x = Axis::real("age (writes)", 1.0, oldest as f64, Scale::Log);
        let y = Axis::real("relative squared error", 0.0, f64::from(highest.min(TOP) * 1.08), Scale::Linear);
        let legend: Vec<Entry> =
            look.lanes.iter().map(|lane| Entry::new(Sign::Line(lane.dash()), lane.colour, lane.plan.name.as_str())).collect();
        let oldest_of = |c: &Vec<AgeBin>| c.last().map_or_else(|| "nothing".to_owned(), |b| number(f64::from(b.quartiles[1])));
        let ends: Vec<String> = look.lanes.iter().zip(curves).map(|(l, c)| format!("{} {}", l.plan.name, oldest_of(c))).collect();
        let describe = format!("Forgetting curves of {} lanes, median error by age; at the greatest age: {}", lanes, ends.join("; "));
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
        let painter = chart.painter(ui);
        painter.hline(chart.rect.x_range(), chart.y_of(1.0), Stroke::new(1.0, ink.limit.gamma_multiply(0.6)));
        for (curve, lane) in curves.iter().zip(look.lanes) {
            painter.add(band(&chart, curve, lane.colour.gamma_multiply(0.13)));
        }
        for (curve, lane) in curves.iter().zip(look.lanes) {
            let points: Vec<Pos2> = curve.iter().map(|b| at(&chart, b, 1)).collect();
            line::draw(&painter, &points, Stroke::new(2.0, lane.colour), lane.dash());
        }
        let Some(pointer) = response.hover_pos() else { return };
        let age = chart.values_at(pointer).0;
        let near = |b: &&AgeBin| (b.middle() / age).ln().abs();
        let bins: Vec<Option<&AgeBin>> = curves.iter().map(|c| c.iter().min_by(|a, b| near(a).total_cmp(&near(b)))).collect();
        let Some(ages) = bins.iter().flatten().map(|b| &b.ages).next() else { return };
        let rows: Vec<(&str, String)> = look
            .lanes
            .iter()
            .zip(&bins)
            .map(|(lane, bin)| (lane.plan.name.as_str(), bin.filter(|b| b.ages == *ages).map_or_else(|| "not known yet".to_owned(), words)))
            .collect();
        let title = if ages.len() > 1 { format!("{} to {} writes later", ages.start, ages.end - 1) } else { format!("age {}", ages.start) };
        facts(&response, &title, &rows);
    }
}

fn words(bin: &AgeBin) -> String {
    let [low, middle, high] = bin.quartiles.map(|q| number(f64::from(q)));
    format!("median {middle}, quartiles {low} and {high}, of {}", number_of_errors(bin.n))
}

fn at(chart: &Chart, bin: &AgeBin, quartile: usize) -> Pos2 {
    let error = bin.quartiles[quartile];
    // What is no number or off the axis lies at its end, so that it does not vanish.
    let error = if error.is_nan() { TOP } else { error.min(TOP * 2.0) };
    chart.pos(bin.middle(), f64::from(error))
}

/// The area between the quartiles.
fn band(chart: &Chart, curve: &[AgeBin], colour: Color32) -> Shape {
    let mut mesh = Mesh::default();
    for (i, bin) in curve.iter().enumerate() {
        mesh.colored_vertex(at(chart, bin, 0), colour);
        mesh.colored_vertex(at(chart, bin, 2), colour);
        if i > 0 {
            let n = 2 * i as u32;
            mesh.add_triangle(n - 2, n - 1, n);
            mesh.add_triangle(n - 1, n, n + 1);
        }
    }
    Shape::mesh(mesh)
}

impl Group {
    /// True if the group has tokens of the marked role (`marked`), or others.
    fn has(self, marked: bool) -> bool {
        match self {
            Self::All => true,
            Self::Marked => marked,
            Self::Others => !marked,
        }
    }
}
