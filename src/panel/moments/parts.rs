//! The parts of the panel: the table of quantities, the lists of names, the heatmap of the states' difference.

use eframe::egui::{Color32, Grid, Rect, RichText, TextureHandle, TextureId, Ui, pos2, vec2};

use super::model::{Model, NAMED, States};
use super::{difference, line};
use crate::app::command::Command;
use crate::panel::common::{Canvas, canvas, facts, link, plural, texture, token_name};
use crate::panel::{Look, Subject};
use crate::widget::chart::{Axis, Chart, SMALL};
use crate::widget::heatmap::{Colours, Rule, draw};
use crate::widget::palette::Map;
use crate::widget::ticks::number;

/// Every quantity at A, at B, and their difference.
pub(super) fn quantities(ui: &mut Ui, model: &Model) {
    if model.quantities.is_empty() {
        return;
    }
    Grid::new("quantities of moments").num_columns(4).spacing([12.0, 2.0]).striped(true).show(ui, |ui| {
        line(ui, &["memory", "A", "B", "B - A"]);
        let words = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), number);
        for q in &model.quantities {
            ui.label(RichText::new(q.name).size(SMALL)).on_hover_text(q.hint);
            line(ui, &[&words(q.a), &words(q.b), &difference(q.a, q.b)]);
        }
    });
}

/// Names as links, the first of them; the rest is counted.
fn names(ui: &mut Ui, title: &str, all: &[usize], commands: &mut Vec<Command>, one: impl Fn(usize) -> (String, Subject)) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let title = if all.is_empty() { title.trim_end_matches(':') } else { title };
        ui.label(RichText::new(title).size(SMALL).strong());
        for at in all.iter().take(NAMED) {
            let (text, subject) = one(*at);
            link(ui, RichText::new(text).size(SMALL), subject, commands);
        }
        if let Some(more) = all.len().checked_sub(NAMED).filter(|n| *n > 0) {
            ui.label(RichText::new(format!("and {more} more")).size(SMALL));
        }
    });
}

/// Who founded, moved, came and went; of two lanes also what was assigned and answered otherwise.
pub(super) fn lists(ui: &mut Ui, look: &Look<'_>, model: &Model, (a, b): (usize, usize), commands: &mut Vec<Command>) {
    let stream = &look.plan.stream;
    let token = |write: usize| (token_name(stream, write), Subject::Token(write));
    let slot = |lane: usize| move |write: usize| (token_name(stream, write), Subject::Slot { lane, write });
    if let Some(founders) = &model.founders {
        names(ui, &format!("{} between:", plural(founders.len(), "founder", "founders")), founders, commands, token);
    }
    if let Some(moved) = model.moved.as_ref().filter(|m| !m.is_empty()) {
        let rows: Vec<usize> = (0..moved.len()).collect();
        names(ui, "Centroids that moved furthest:", &rows, commands, |i| {
            let (row, distance) = moved[i];
            (format!("row {row} by {}", number(distance)), Subject::Centroid { lane: b, row })
        });
    }
    if let Some(caches) = &model.caches {
        ui.label(RichText::new(format!("Cached by both: {}", plural(caches.both, "pair", "pairs"))).size(SMALL));
        names(ui, &format!("Cached only at A, {}:", caches.only_a.len()), &caches.only_a, commands, slot(a));
        names(ui, &format!("Cached only at B, {}:", caches.only_b.len()), &caches.only_b, commands, slot(b));
    }
    if let Some((differ, of)) = &model.assigned {
        names(ui, &format!("{} of {of} writes went to a row with another founder:", differ.len()), differ, commands, token);
    }
    if let Some((differ, of)) = model.answers.as_ref().filter(|(_, of)| *of > 0) {
        let read = |read: usize| (format!("read {read}"), Subject::Read(read));
        names(ui, &format!("{} of {of} reads were answered otherwise:", differ.len()), differ, commands, read);
    }
}

/// The state of B minus that of A; `kept` hands out the picture for a canvas, made with the function that it is given if need be.
pub(super) fn heatmap(ui: &mut Ui, states: &States, kept: impl FnOnce(Canvas, &mut dyn FnMut() -> TextureHandle) -> TextureId) {
    let grid = &states.grid;
    let label = format!("state at B - state at A, purple {} to orange {}", number(-f64::from(states.most)), number(f64::from(states.most)));
    let describe = format!("Difference of the states, {} rows by {} columns, of length {}", grid.rows, grid.columns, number(states.norm));
    ui.label(RichText::new(format!("Length of the difference of the states: {}", number(states.norm))).size(SMALL));
    let size = vec2(ui.available_width(), ui.available_height().clamp(120.0, 240.0));
    let (response, chart) =
        Chart::show(ui, size, Axis::count("number of the value", grid.columns), Axis::count(label, grid.rows), &[], &describe);
    let own = canvas(ui, chart.rect);
    let most = states.most.max(f32::MIN_POSITIVE);
    let colours = Colours { map: Map::PurpleOrange, min: -most, max: most, log: false, paper: None };
    // Several cells behind a pixel: their mean, which keeps the sign.
    let mut make = || texture(ui, "states", draw(grid, own.0[0], own.0[1], Rule::Mean, colours));
    let id = kept(own, &mut make);
    chart.painter(ui).image(id, chart.rect, Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)), Color32::WHITE);
    if let Some(pointer) = response.hover_pos() {
        let (x, y) = chart.values_at(pointer);
        let (row, column) = (y.max(0.0) as usize, x.max(0.0) as usize);
        if let Some(value) = grid.get(row, column) {
            facts(&response, &format!("feature {row}, number {column} of the value"), &[("state at B - state at A", format!("{value:e}"))]);
        }
    }
}
