//! Occupancy: how many tokens each of the three memories holds after each step, and how many were forgotten with the state.

use eframe::egui::{Color32, ColorImage, Response, Stroke, TextureHandle, Ui, pos2, vec2};

use super::held::Held;
use super::picture::{cells, faint, forgotten};
use crate::panel::Look;
use crate::panel::choices::Choices;
use crate::panel::common::{Canvas, Key, canvas, cover, crowd, facts, paint_until, playheads, plural, texture};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::{Scale, grouped};

/// Where window and cache together would take less than this part of the height, lines on a logarithmic axis show more.
const THIN: usize = 16;

/// The memories from below, and what was forgotten over them: where no hand forgets a state, nothing is said of it.
const NAMES: [&str; 4] = ["window", "cache", "state", "forgotten"];

/// See the module's page.
#[derive(Default)]
pub(super) struct Occupancy {
    /// Lines on a logarithmic axis, or stacked areas; what suits the stream until it is chosen.
    log: Option<bool>,
    picture: Cached<Key<Canvas>, TextureHandle>,
}

/// How it is drawn, logarithmic or not.
const WAYS: [(bool, &str, &str); 2] = [
    (false, "Stacked", "One above the other: together they are all tokens written"),
    (true, "Logarithmic", "A line each, where ratios count; nothing is drawn for a memory that is empty"),
];

impl Occupancy {
    /// See [`crate::panel::Panel::choices`].
    pub(super) fn choices(&mut self, choices: &mut Choices<'_>) {
        let ways = WAYS.map(|(log, name, _)| (Some(log), name));
        choices.one_of("occupancy", &mut self.log, std::iter::once((None, "as suits")).chain(ways));
    }

    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>) {
        let ink = Ink::of(ui);
        let writes = look.plan.stream.writes();
        let (steps, noun) = (look.plan.stream.chunks(held.chunk), held.noun(look));
        let [window, cache, state, gone] = held.occupancy(held.chunks);
        let classes = if held.forgets() { NAMES.len() } else { NAMES.len() - 1 };
        let said = if held.forgets() { format!(", {} forgotten", grouped(gone as u64)) } else { String::new() };
        let params = &look.lanes[held.lane].plan.setup.params;
        let most = params.size("window") + params.size("cache");
        let mut log = self.log.unwrap_or(most * THIN < writes);
        if ui.available_height() > 110.0 {
            ui.horizontal(|ui| {
                for (value, name, hint) in WAYS {
                    if ui.selectable_label(log == value, name).on_hover_text(hint).clicked() {
                        (log, self.log) = (value, Some(value));
                    }
                }
                ui.label(format!("window {window}, cache {cache} of {}, state {}{said}", params.size("cache"), grouped(state as u64)));
            });
        }
        let describe = format!(
            "Occupancy of the memories over {} of {steps} {noun}s: {window} tokens in the window, {cache} in the cache, {state} in the \
             state{said}",
            held.chunks
        );
        let x = Axis::count(format!("{noun} of {}", plural(held.chunk, "write", "writes")), steps);
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let chart = if log {
            let legend: Vec<Entry> =
                lines(&ink).iter().zip(NAMES).take(classes).map(|((c, dash), name)| Entry::new(Sign::Line(*dash), *c, name)).collect();
            let y = Axis::real("tokens", 0.8, writes as f64 * 1.3, Scale::Log);
            let (response, chart) = Chart::show(ui, size, x, y, &legend, &describe);
            draw_lines(ui, &chart, held, &ink);
            (response, chart)
        } else {
            let legend = [
                Entry::new(Sign::Stripes, ink.window, NAMES[0]),
                Entry::new(Sign::Square, ink.cache, NAMES[1]),
                Entry::new(Sign::Dotted, ink.state, NAMES[2]),
                Entry::new(Sign::Stripes, faint(&ink), NAMES[3]),
            ];
            let (response, chart) = Chart::show(ui, size, x, Axis::count("tokens", writes), &legend[..classes], &describe);
            let canvas = canvas(ui, chart.rect);
            let covered = cover(held.index.steps(), held.chunks, steps);
            let scale = ui.pixels_per_point();
            let picture = self.picture.get(Key::new(look, held.lane, held.head, covered, canvas), || {
                texture(ui, "occupancy", stacked(|s| held.occupancy(s), (covered, steps, writes), canvas.0, scale, &ink))
            });
            paint_until(ui, &chart, picture, held.chunks as f64);
            (response, chart)
        };
        let (response, chart) = chart;
        playheads(ui, look, &chart, |writes| look.lanes[held.lane].plan.chunks_at(writes) as f64);
        hover(&response, &chart, held, (steps, classes), noun);
    }
}

/// How many tokens are where after the step under the pointer, which is called a `noun`.
fn hover(response: &Response, chart: &Chart, held: &Held<'_>, (steps, classes): (usize, usize), noun: &str) {
    let Some(pointer) = response.hover_pos() else { return };
    let step = chart.values_at(pointer).0.max(0.0) as usize;
    if step >= held.chunks {
        response.clone().on_hover_text_at_pointer("after the playhead");
        return;
    }
    let now = held.occupancy(step + 1);
    let mut rows: Vec<(&str, String)> = NAMES.into_iter().zip(now).take(classes).map(|(name, n)| (name, n.to_string())).collect();
    rows.push(("written", now.iter().sum::<usize>().to_string()));
    if let Some(each) = crowd(response, chart, steps) {
        rows.push(("drawn", format!("the last of the {each} {noun}s in each pixel")));
    }
    facts(response, &format!("after {noun} {step}"), &rows);
}

/// The colour and the dashes of each memory's line.
fn lines(ink: &Ink) -> [(Color32, Dash); 4] {
    // The cache's own yellow is too faint for a thin line on light paper.
    let cache = if ink.dark { ink.cache } else { blend(ink.cache, ink.text, 0.35) };
    [(ink.window, Dash::Long), (cache, Dash::Solid), (ink.plain, Dash::DashDot), (ink.quiet, Dash::Dots)]
}

fn draw_lines(ui: &Ui, chart: &Chart, held: &Held<'_>, ink: &Ink) {
    let painter = chart.painter(ui);
    // No more steps than there are half pixels: what lies between could not be told apart.
    let stride = (chart.x.max / f64::from(chart.rect.width() * 2.0)).ceil().max(1.0) as usize;
    let mut all: [Vec<eframe::egui::Pos2>; 4] = Default::default();
    let mut chunks = 1;
    while chunks <= held.chunks {
        for (line, n) in all.iter_mut().zip(held.occupancy(chunks)) {
            let (from, to) = (chart.x_of(chunks.saturating_sub(stride) as f64), chart.x_of(chunks as f64));
            let y = chart.y_of(n as f64);
            match line.last_mut() {
                _ if n == 0 => {}
                // As many as before: the line goes on, so that its dashes do.
                Some(last) if (last.y - y).abs() < f32::EPSILON => last.x = to,
                _ => line.extend([pos2(from, y), pos2(to, y)]),
            }
        }
        // The last step is always drawn.
        chunks = if chunks < held.chunks { (chunks + stride).min(held.chunks) } else { chunks + 1 };
    }
    // The cache's is solid; the window's dashes lie over it where both are equal.
    for i in [1, 2, 3, 0] {
        let (points, (colour, dash)) = (&all[i], lines(ink)[i]);
        line::draw(&painter, points, Stroke::new(1.8, colour), dash);
    }
}

/// The stacked areas of the first `covered` steps: a pixel shows what is after the last step that it stands for.
fn stacked(
    occupancy: impl Fn(usize) -> [usize; 4],
    (covered, steps, writes): (usize, usize, usize),
    [width, height]: [usize; 2],
    scale: f32,
    ink: &Ink,
) -> ColorImage {
    let mut image = ColorImage::filled([width, height], Color32::TRANSPARENT);
    let period = ((6.0 * scale).round() as usize).max(3);
    for x in 0..width {
        let last = cells(x, width, steps).end;
        if last > covered {
            break;
        }
        let [window, cache, state, gone] = occupancy(last).map(|n| n as f64 / writes as f64 * height as f64);
        for y in 0..height {
            let up = (height - 1 - y) as f64 + 0.5;
            image.pixels[y * width + x] = if up < window {
                if (x + y) % period < period.div_ceil(3) { blend(ink.window, ink.paper, 0.35) } else { ink.window }
            } else if up < window + cache {
                ink.cache
            } else if up < window + cache + state {
                let dot = x % period == period / 2 && y % period == (x / period % 2) * (period / 2);
                if dot { blend(ink.state, ink.text, 0.45) } else { ink.state }
            } else if up < window + cache + state + gone {
                forgotten(x + y, period, ink)
            } else {
                Color32::TRANSPARENT
            };
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::Visuals;

    #[test]
    fn each_memory_has_as_many_pixels_as_it_has_tokens() {
        let ink = Ink::for_visuals(&Visuals::dark());
        // 12 tokens in 12 rows of pixels; after the second of three steps 2, 3 and 4 of them are held and 2 forgotten; the third is not
        // computed.
        let image = stacked(|chunks| if chunks == 2 { [2, 3, 4, 2] } else { [1, 0, 0, 0] }, (2, 3, 12), [3, 12], 1.0, &ink);
        let column = |x: usize, colours: &[Color32]| (0..12).filter(|y| colours.contains(&image.pixels[y * 3 + x])).count();
        let window = [ink.window, blend(ink.window, ink.paper, 0.35)];
        let state = [ink.state, blend(ink.state, ink.text, 0.45)];
        assert_eq!((column(1, &window), column(1, &[ink.cache]), column(1, &state)), (2, 3, 4));
        assert_eq!((column(1, &[faint(&ink), ink.paper]), column(1, &[Color32::TRANSPARENT])), (2, 1));
        assert_eq!((column(0, &window), column(0, &[Color32::TRANSPARENT])), (1, 11));
        assert_eq!(column(2, &[Color32::TRANSPARENT]), 12, "a step that is not computed");
    }
}
