//! How the scores of all candidates of a step are spread, through time, with the threshold.

use eframe::egui::epaint::{Mesh, Vertex, WHITE_UV};
use eframe::egui::{Align2, Color32, FontId, Pos2, Shape, Stroke, Ui, pos2, vec2};

use super::Held;
use super::blind::{fact, shade, shade_steps};
use super::heat::{stride, threshold_line};
use super::spread::{Spread, Spreads};
use crate::panel::Look;
use crate::panel::common::{crowd, facts, playheads, plural, words};
use crate::widget::chart::{Chart, Entry, SMALL, Sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::number;

const NAMES: [&str; 7] = ["smallest", "5%", "25%", "median", "75%", "95%", "largest"];

/// See the module's page.
#[derive(Default)]
pub(super) struct Quantiles {
    spreads: Spreads,
}

/// The bands from light to dark.
fn bands(ink: &Ink) -> [Color32; 2] {
    [blend(ink.paper, ink.window, 0.22), blend(ink.paper, ink.window, 0.48)]
}

impl Quantiles {
    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>) {
        let spreads = self.spreads.extend(look, (held.lane, held.head), held.scores, held.chunks);
        let known = spreads.len().min(held.chunks);
        if known < held.chunks {
            ui.ctx().request_repaint();
        }
        let spreads = &spreads[..known];
        if spreads.iter().all(|s| s.count == 0) {
            words(
                ui,
                if known < held.chunks {
                    "Sorting the scores ..."
                } else {
                    "No candidate has been scored yet: nothing has left the window."
                },
            );
            return;
        }
        let ink = Ink::of(ui);
        let [light, dark] = bands(&ink);
        let mut legend = vec![
            Entry::new(Sign::Line(Dash::Solid), ink.limit, "threshold"),
            Entry::new(Sign::Line(Dash::Solid), ink.text, "median"),
            Entry::new(Sign::Square, dark, "25% to 75%"),
            Entry::new(Sign::Square, light, "5% to 95%"),
            Entry::new(Sign::Line(Dash::Dots), ink.quiet, "smallest, largest"),
        ];
        if !held.blind.is_empty() {
            legend.push(Entry::new(Sign::Square, shade(&ink), "state empty"));
        }
        let last = spreads.iter().rposition(|s| s.count > 0).unwrap_or(0);
        let noun = held.noun;
        let describe = format!(
            "Quantiles of the scores of the candidates over {known} of {} {noun}s; in {noun} {last} the median is {}, half of them lie from {} to {}",
            held.steps,
            number(f64::from(spreads[last].at[3])),
            number(f64::from(spreads[last].at[2])),
            number(f64::from(spreads[last].at[4]))
        );
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let (response, chart) = Chart::show(ui, size, held.x(), held.binned.axis.clone(), &legend, &describe);
        shade_steps(ui, &chart, held, &ink);
        draw(ui, &chart, spreads, &ink);
        threshold_line(ui, &chart, held, &ink);
        playheads(ui, look, &chart, |writes| look.lanes[held.lane].plan.chunks_at(writes) as f64);
        name(ui, &chart, held, &spreads[last], &ink);
        let Some(pointer) = response.hover_pos() else { return };
        let step = chart.values_at(pointer).0.max(0.0) as usize;
        let Some(spread) = spreads.get(step) else {
            response.on_hover_text_at_pointer(if step < held.chunks { "not sorted yet" } else { "after the playhead" });
            return;
        };
        let mut rows: Vec<(&str, String)> = NAMES.into_iter().zip(spread.at).rev().map(|(n, q)| (n, number(f64::from(q)))).collect();
        rows.push(("threshold after it", held.threshold(step).map_or_else(|| "none: the cache is not full".to_owned(), number)));
        let mut of = plural(spread.count, "score", "scores");
        for (n, what) in [(spread.nan, "NaN"), (spread.infinite, "infinite")] {
            if n > 0 {
                of = format!("{of}, {n} {what} left out");
            }
        }
        rows.push(("of", of));
        rows.push(fact(held, step));
        if let Some(each) = crowd(&response, &chart, held.steps) {
            rows.push(("drawn", format!("the widest of the {each} steps in each pixel; the median of the last")));
        }
        facts(&response, &format!("{} {step}", held.noun), &rows);
    }
}

/// The widest spread of some neighbouring steps, with the median of the last; `None` where none has a score.
fn widest(steps: &[Spread]) -> Option<[f32; 7]> {
    let held: Vec<&Spread> = steps.iter().filter(|s| s.count > 0).collect();
    let mut all = held.last()?.at;
    for s in &held {
        for i in 0..3 {
            all[i] = all[i].min(s.at[i]);
            all[6 - i] = all[6 - i].max(s.at[6 - i]);
        }
    }
    Some(all)
}

fn draw(ui: &Ui, chart: &Chart, spreads: &[Spread], ink: &Ink) {
    let painter = chart.painter(ui);
    let stride = stride(chart);
    let mut edges: [Vec<Pos2>; 7] = Default::default();
    for (i, steps) in spreads.chunks(stride).enumerate() {
        let Some(at) = widest(steps) else { continue };
        let (from, to) = (chart.x_of((i * stride) as f64), chart.x_of((i * stride + steps.len()) as f64));
        for (line, q) in edges.iter_mut().zip(at) {
            // What has no place on a logarithmic axis lies at its lower edge.
            let y = chart.y_of(f64::from(q)).clamp(chart.rect.top() - 1.0, chart.rect.bottom() + 1.0);
            line.extend([pos2(from, y), pos2(to, y)]);
        }
    }
    for ((low, high), colour) in [(1, 5), (2, 4)].into_iter().zip(bands(ink)) {
        painter.add(Shape::mesh(band(&edges[low], &edges[high], colour)));
    }
    for i in [0, 6] {
        line::draw(&painter, &edges[i], Stroke::new(1.1, ink.quiet), Dash::Dots);
    }
    painter.add(Shape::line(edges[3].clone(), Stroke::new(1.8, ink.text)));
}

/// What lies between two lines with the same steps.
fn band(low: &[Pos2], high: &[Pos2], colour: Color32) -> Mesh {
    let mut mesh = Mesh::default();
    for (a, b) in low.iter().zip(high) {
        for pos in [*a, *b] {
            mesh.vertices.push(Vertex { pos, uv: WHITE_UV, color: colour });
        }
    }
    // Two points a step: the two triangles of a step, none between a step and one that does not touch it.
    for step in 0..low.len() as u32 / 2 {
        let first = step * 4;
        mesh.indices.extend([first, first + 1, first + 2, first + 1, first + 2, first + 3]);
    }
    mesh
}

/// The names of the lines right of the playhead, where there is room.
fn name(ui: &Ui, chart: &Chart, held: &Held<'_>, last: &Spread, ink: &Ink) {
    let left = chart.x_of(held.chunks as f64) + 5.0;
    if chart.rect.right() - left < 52.0 {
        return;
    }
    let painter = chart.painter(ui);
    let mut bottom = f32::INFINITY;
    for (text, q) in NAMES.into_iter().zip(last.at) {
        let galley = painter.layout_no_wrap(text.to_owned(), FontId::proportional(SMALL), ink.quiet);
        let place = Align2::LEFT_CENTER.anchor_size(pos2(left, chart.y_of(f64::from(q))), galley.size());
        // From below upwards; one that would lie on the one before is left out.
        if place.bottom() <= bottom + 3.0 && chart.rect.y_range().contains(place.center().y) {
            painter.galley(place.min, galley, ink.quiet);
            bottom = place.top();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_steps_in_a_pixel_show_the_widest_and_the_last_median() {
        let of = |scores: &[f32]| Spread::new(scores.iter().copied());
        // Of 1, 2, 3 a quarter lies at 1.5; of 0, 5, 10 at 2.5, and three quarters at 7.5.
        let found = widest(&[of(&[1.0, 2.0, 3.0]), of(&[0.0, 5.0, 10.0]), of(&[])]);
        assert_eq!(found, Some([0.0, 0.5, 1.5, 5.0, 7.5, 9.5, 10.0]));
        assert_eq!(widest(&[of(&[])]), None);
    }

    #[test]
    fn a_band_is_two_triangles_a_step() {
        let low = [pos2(0.0, 9.0), pos2(1.0, 9.0), pos2(1.0, 8.0), pos2(2.0, 8.0)];
        let high = low.map(|p| p - vec2(0.0, 4.0));
        let mesh = band(&low, &high, Color32::RED);
        assert_eq!((mesh.vertices.len(), mesh.indices.len()), (8, 12));
        // Each step's four corners: its own two from each line.
        let corners: Vec<Pos2> = mesh.indices[6..].iter().map(|i| mesh.vertices[*i as usize].pos).collect();
        assert!(corners.iter().all(|p| p.x >= 1.0 && [8.0, 4.0].contains(&p.y)), "{corners:?}");
    }
}
