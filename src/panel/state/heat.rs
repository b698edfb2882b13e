//! The numbers of a state at the playhead, with the normaliser as a strip beside them.

use eframe::egui::{Label, RichText, TextureHandle, Ui, vec2};

use super::{empty, letter, numbers_of};
use crate::layer::Snapshot;
use crate::panel::Look;
use crate::panel::choices::Choices;
use crate::panel::common::{Canvas, Key, canvas, chunk_short, chunks_seen, facts, texture};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart};
use crate::widget::heatmap::{Grid, Rule, draw_by};
use crate::widget::palette::Ink;
use crate::widget::range::{Range, RangeControl, Reading, Spread};
use crate::widget::symlog::{Shades, SymlogControl};
use crate::widget::ticks::number;

/// Room for the strip of s with its axis.
const STRIP: f32 = 46.0;

/// One head's state, as it is drawn.
struct Held {
    /// [features, value components].
    grid: Grid,
    spread: Spread,
    norm: f64,
    /// [features, 1], where there is a normaliser, with its spread and length.
    s: Option<(Grid, Spread, f64)>,
}

type PictureKey = Key<(Canvas, (u32, u32, u8))>;

/// Whose state is drawn, and after how many chunks.
struct At<'a> {
    look: &'a Look<'a>,
    lane: usize,
    head: usize,
    position: usize,
}

/// The view.
#[derive(Default)]
pub(super) struct Heat {
    range: RangeControl,
    symlog: SymlogControl,
    /// Whose numbers were coloured last.
    of: Option<Key<()>>,
    held: Cached<Key<()>, Option<Held>>,
    pictures: [Cached<PictureKey, TextureHandle>; 2],
}

fn length(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

fn held(state: &Snapshot, head: usize) -> Option<Held> {
    let array = state.array("state")?;
    let [heads, rows, columns] = *array.shape.as_slice() else { return None };
    if head >= heads {
        return None;
    }
    let own = numbers_of(&array.values, head, rows * columns);
    let grid = |rows, columns, cells: &[f32]| Grid { rows, columns, cells: cells.iter().copied().map(Some).collect() };
    let s = state.array("normaliser").map(|array| {
        let own = numbers_of(&array.values, head, rows);
        (grid(rows, 1, &own), Spread::of(own.iter().copied()), length(&own))
    });
    Some(Held { spread: Spread::of(own.iter().copied()), norm: length(&own), grid: grid(rows, columns, &own), s })
}

impl Heat {
    /// See [`crate::panel::Panel::choices`].
    pub(super) fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.range("range", &mut self.range);
        choices.symlog("symlog", &mut self.symlog);
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize) {
        let chunks = chunks_seen(look, lane);
        let (number_of_lane, name) = (look.number_in_plan(lane), letter(look, lane));
        if chunks == 0 {
            empty(ui, &format!("No chunk has been read yet: {name} is zero."));
            return;
        }
        let exact = look.states.at(number_of_lane, chunks);
        let Some(state) = exact.or_else(|| look.states.before(number_of_lane, chunks)) else {
            empty(ui, "The state is being computed.");
            return;
        };
        let head = look.head_of_lane(lane);
        let key = Key::new(look, lane, head, state.position, ());
        let Some(held) = self.held.get(key, || held(state, head)) else {
            empty(ui, "This lane's state holds no matrix.");
            return;
        };
        let at = At { look, lane, head, position: state.position };
        let late = exact.is_none().then(|| {
            let chunk = chunk_short(look.plan, look.lanes[lane].plan, state.position.saturating_sub(1));
            format!("after {chunk}; the playhead's is being computed. ")
        });
        if late.is_some() || ui.available_height() > 100.0 {
            sentence(ui, held, name, late.as_deref().unwrap_or_default());
        }
        let whose = Key::new(look, lane, head, 0, ());
        if self.of.as_ref() != Some(&whose) {
            self.of = Some(whose);
            self.symlog.look_again();
        }
        let shades = self.symlog.show(ui, name, &held.spread, &mut self.range);
        let describe = format!(
            "State {name} of lane {} after {} of its chunks: {} rows, {} columns, |{name}| {}",
            look.lanes[lane].plan.name,
            state.position,
            held.grid.rows,
            held.grid.columns,
            number(held.norm)
        );
        let height = ui.available_height().max(60.0);
        let strip = if held.s.is_some() { STRIP } else { 0.0 };
        let (of_state, of_s) = (vec2((ui.available_width() - strip).max(40.0), height), vec2(strip, height));
        let rows_are = if held.s.is_some() { "feature" } else { "key component" };
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            let [first, second] = &mut self.pictures;
            matrix(ui, held, (rows_are, name), (of_state, &describe, shades), (first, &at));
            if let Some((grid, spread, norm)) = &held.s {
                let own = RangeControl::with(Reading::Linear).range(spread);
                let describe = format!(
                    "s of lane {} after {} of its chunks: {} features, |s| {}",
                    look.lanes[lane].plan.name,
                    state.position,
                    grid.rows,
                    number(*norm)
                );
                column(ui, grid, (of_s, &describe, own), (second, &at));
            }
        });
    }
}

/// The state in a line.
fn sentence(ui: &mut Ui, held: &Held, name: &str, late: &str) {
    let most = held.spread.ends.map_or(f32::NAN, |[low, high]| low.abs().max(high.abs()));
    let s = held.s.as_ref().map(|(_, spread, norm)| {
        let [low, high] = spread.ends.unwrap_or([f32::NAN; 2]);
        format!("; |s| = {}, from {} to {}", number(*norm), number(f64::from(low)), number(f64::from(high)))
    });
    let most = number(f64::from(most));
    let text = format!("{late}|{name}| = {}, its numbers within ±{most}{}", number(held.norm), s.unwrap_or_default());
    ui.add(Label::new(RichText::new(&text).color(Ink::of(ui).quiet)).truncate()).on_hover_text(text);
}

fn matrix(
    ui: &mut Ui,
    held: &Held,
    (rows_are, name): (&str, &str),
    (size, describe, shades): (eframe::egui::Vec2, &str, Shades),
    (cached, at): (&mut Cached<PictureKey, TextureHandle>, &At<'_>),
) {
    let grid = &held.grid;
    let (x, y) = (Axis::count("value component", grid.columns), Axis::count(rows_are, grid.rows));
    let (response, chart) = Chart::show_under(ui, size, x, y, &[], describe, 1);
    paint(ui, &chart, grid, shades, (cached, at));
    let Some(pointer) = response.hover_pos() else { return };
    let Some((row, column)) = cell(&chart, grid, pointer) else { return };
    let value = grid.get(row, column).unwrap_or(f32::NAN);
    let mut rows = vec![("value", value.to_string()), (if rows_are == "feature" { "feature" } else { "key component" }, row.to_string())];
    rows.push(("value component", column.to_string()));
    if let Some((s, ..)) = &held.s {
        rows.push(("s of the feature", s.get(row, 0).unwrap_or(f32::NAN).to_string()));
    }
    rows.extend(shades.words().map(|words| ("colours", words)));
    let pixels = chart.rect.size() * ui.pixels_per_point();
    if grid.rows as f32 > pixels.y || grid.columns as f32 > pixels.x {
        rows.push(("drawn", format!("of the numbers behind a pixel the {}", Rule::Far.title())));
    }
    facts(&response, &format!("{name}[{row}, {column}]"), &rows);
}

fn column(
    ui: &mut Ui,
    grid: &Grid,
    (size, describe, range): (eframe::egui::Vec2, &str, Range),
    (cached, at): (&mut Cached<PictureKey, TextureHandle>, &At<'_>),
) {
    let (x, mut y) = (Axis::kinds("", vec!["s".to_owned()]), Axis::count("", grid.rows));
    // The rows are those of the matrix beside it, which has the numbers.
    y.names = Vec::new();
    let (response, chart) = Chart::show_under(ui, size, x, y, &[], describe, 1);
    paint(ui, &chart, grid, Shades::Range(range), (cached, at));
    let Some(pointer) = response.hover_pos() else { return };
    let Some((row, _)) = cell(&chart, grid, pointer) else { return };
    let ends = [range.min, range.max].map(|x| number(f64::from(x)));
    let value = grid.get(row, 0).unwrap_or(f32::NAN).to_string();
    facts(&response, &format!("s[{row}]"), &[("value", value), ("feature", row.to_string()), ("colours", ends.join(" to "))]);
}

fn paint(ui: &Ui, chart: &Chart, grid: &Grid, shades: Shades, (cached, at): (&mut Cached<PictureKey, TextureHandle>, &At<'_>)) {
    let (canvas, ink) = (canvas(ui, chart.rect), Ink::of(ui));
    let picture = cached.get(Key::new(at.look, at.lane, at.head, at.position, (canvas, shades.key())), || {
        texture(ui, "state", draw_by(grid, canvas.0[0], canvas.0[1], Rule::Far, shades.colour(&ink)))
    });
    crate::panel::common::paint_until(ui, chart, picture, chart.x.max);
}

/// The cell under the pointer.
fn cell(chart: &Chart, grid: &Grid, pointer: eframe::egui::Pos2) -> Option<(usize, usize)> {
    let (x, y) = chart.values_at(pointer);
    let place = |v: f64, n: usize| (v.max(0.0) as usize).min(n.saturating_sub(1));
    (grid.rows > 0 && grid.columns > 0).then(|| (place(y, grid.rows), place(x, grid.columns)))
}
