//! Collisions: the Gram matrix of chosen tokens' features, with their names.

use std::sync::{Arc, Weak};

use eframe::egui::{
    Align2, FontId, Label, Rect, RichText, Role, Sense, Stroke, TextStyle, TextureHandle, Ui, Vec2, WidgetInfo, pos2, vec2,
};

use super::gram::{Gram, MOST, Near, furthest, off_diagonal, thinned};
use super::{empty, has_map};
use crate::app::command::Command;
use crate::layer::feature::FeatureMap;
use crate::panel::choices::Choices;
use crate::panel::common::{Canvas, Key, canvas, facts, link, marked, point_at, quoted, texture, token_name};
use crate::panel::residency::short_name;
use crate::panel::{Look, Subject};
use crate::session::plan::Plan;
use crate::widget::cached::Cached;
use crate::widget::chart::{SMALL, Sign, sign};
use crate::widget::cut;
use crate::widget::heatmap::{Grid, Rule, draw};
use crate::widget::palette::Ink;
use crate::widget::range::{Range, RangeControl, Reading, Spread};
use crate::widget::ticks::number;

/// Rows lower than this have no names.
const ROW: f32 = 8.5;
/// Room for names.
const NAMES: f32 = 92.0;
/// The narrowest and the widest list of pairs beside the matrix, and the room between them.
const LIST: [f32; 2] = [160.0, 300.0];
const GAP: f32 = 10.0;
/// Pairs that are listed at most.
const PAIRS: usize = 40;

type PictureKey = Key<(Canvas, (u32, u32, Reading), bool, Vec<usize>)>;

/// A matrix, ready to be drawn.
struct Held {
    gram: Gram,
    cosines: ndarray::Array2<f64>,
    /// Row 0 at the top.
    grid: Grid,
    spread: Spread,
    /// The pairs furthest from zero, of what is shown.
    pairs: Vec<([usize; 2], f64)>,
    said: String,
}

/// The view.
#[derive(Default)]
pub(super) struct Collide {
    raw: bool,
    /// Tokens that stay whatever is selected, and the run that they are of.
    hold: Option<(Weak<Plan>, Vec<usize>)>,
    range: RangeControl,
    near: Option<(Key<Vec<usize>>, Near)>,
    map: Cached<Key<()>, Option<FeatureMap<f64>>>,
    held: Cached<Key<(Vec<usize>, bool)>, Held>,
    picture: Cached<PictureKey, TextureHandle>,
}

impl Collide {
    /// See [`crate::panel::Panel::choices`].
    pub(super) fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("gram", &mut self.raw, [(false, "cosine"), (true, "raw")]);
        choices.range("range of the gram matrix", &mut self.range);
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize, commands: &mut Vec<Command>) {
        let (tokens, why) = self.tokens(ui, look, lane);
        let plan = look.lanes[lane].plan;
        let head = look.head_of_lane(lane);
        let map = self.map.get(Key::new(look, lane, 0, 0, ()), || {
            has_map(look, lane).then(|| FeatureMap::<f64>::new(plan.kind.name(), &plan.setup).ok()).flatten()
        });
        // Layers of the delta rule take keys at length 1; they are those that record what a write finds in place of its value.
        let unit = map.is_none() && look.lanes[lane].trace.channel("write_error").is_some();
        let phi = match map {
            Some(map) => format!("phi = {} ({} features)", plan.setup.params.choice("fmap"), map.dim()),
            None if unit => "phi(k) = k / |k|: no feature map".to_owned(),
            None => "phi(k) = k: no feature map".to_owned(),
        };
        choices(ui, look, &tokens, (&mut self.raw, &mut self.hold), &format!("{why}; {phi}"));
        if tokens.len() < 2 {
            empty(ui, "Fewer than two tokens are written yet.");
            return;
        }
        let raw = self.raw;
        let key = Key::new(look, lane, head, 0, (tokens.clone(), raw));
        let held = self.held.get(key, || held(look, Gram::of(&plan.setup, map.as_ref(), unit, head, tokens), raw));
        let range = self.range.show(ui, if raw { "phi(k).phi(k')" } else { "cosine" }, &held.spread);
        if ui.available_height() > 110.0 {
            ui.add(Label::new(RichText::new(&held.said).color(Ink::of(ui).quiet)).truncate()).on_hover_text(&held.said);
        }
        let picture = &mut self.picture;
        let size = vec2(ui.available_width(), ui.available_height().max(60.0));
        let frame = Frame::of(size, held.gram.tokens.len());
        // What the square leaves free has the pairs, where there is room for their names.
        let free = size.x - frame.width() - GAP;
        if free <= LIST[0] {
            matrix(ui, look, (lane, head), held, ((size, frame), range, raw), picture, commands);
            return;
        }
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            matrix(ui, look, (lane, head), held, ((vec2(frame.width(), size.y), frame), range, raw), picture, commands);
            ui.vertical(|ui| nearest(ui, look, (held, raw), vec2(free.min(LIST[1]), size.y), commands));
        });
    }

    /// The tokens, and why these.
    fn tokens(&mut self, ui: &Ui, look: &Look<'_>, lane: usize) -> (Vec<usize>, String) {
        let stream = &look.lanes[lane].plan.setup.stream;
        let before = |list: &[usize]| list.iter().copied().filter(|w| *w < look.writes).collect::<Vec<_>>();
        if let Some((_, held)) = self.hold.as_ref().filter(|(plan, _)| Weak::as_ptr(plan) == Arc::as_ptr(look.plan)) {
            return (held.clone(), format!("{} tokens held", held.len()));
        }
        let group = before(&look.selection.group);
        if group.len() > 1 {
            let shown = thinned(&group, MOST);
            let why = if shown.len() < group.len() {
                format!("{} of the {} selected tokens", shown.len(), group.len())
            } else {
                format!("{} selected tokens", group.len())
            };
            return (shown, why);
        }
        let head = look.head_of_lane(lane);
        let of_role = marked(stream).map(|(name, all)| (name.to_owned(), before(&all)));
        let Some((name, role)) = of_role.filter(|(_, all)| !all.is_empty()) else {
            let from = look.writes.saturating_sub(MOST / 2);
            return ((from..look.writes).collect(), format!("the newest {} tokens", look.writes - from));
        };
        let shown = thinned(&role, MOST / 2);
        let key = Key::new(look, lane, head, 0, shown.clone());
        let stale = self.near.as_ref().is_none_or(|(held, near)| *held != key || near.done() > look.writes);
        if stale {
            let each = ((MOST - shown.len()) / shown.len()).clamp(1, 3);
            self.near = Some((key, Near::new(stream, head, &shown, each)));
        }
        let Some((_, near)) = &mut self.near else { return (shown, name) };
        let searching = if near.extend(stream, head, look.writes) {
            ui.ctx().request_repaint();
            format!(" (searching: {} of {} keys)", near.done(), look.writes)
        } else {
            String::new()
        };
        let all = near.with_tokens(MOST);
        let why = format!("{} {name} tokens and {} keys nearest to them{searching}", near.tokens().len(), all.len() - near.tokens().len());
        (all, why)
    }
}

/// Cosine or raw, and whether the tokens stay.
fn choices(ui: &mut Ui, look: &Look<'_>, tokens: &[usize], (raw, hold): (&mut bool, &mut Option<(Weak<Plan>, Vec<usize>)>), why: &str) {
    ui.horizontal(|ui| {
        ui.selectable_value(raw, false, "cosine").on_hover_text("G_ij / sqrt(G_ii G_jj)");
        ui.selectable_value(raw, true, "raw").on_hover_text("phi(k_i).phi(k_j)");
        let held = hold.as_ref().is_some_and(|(plan, _)| Weak::as_ptr(plan) == Arc::as_ptr(look.plan));
        if ui.selectable_label(held, "hold").on_hover_text("Keep these tokens, whatever is selected").clicked() {
            *hold = if held { None } else { Some((Arc::downgrade(look.plan), tokens.to_vec())) };
        }
        ui.add(Label::new(RichText::new(why).color(Ink::of(ui).quiet)).truncate()).on_hover_text(why);
    });
}

fn held(look: &Look<'_>, gram: Gram, raw: bool) -> Held {
    let cosines = gram.cosines();
    let n = gram.tokens.len();
    let shown = if raw { &gram.raw } else { &cosines };
    let cells = (0..n * n).map(|i| Some(shown[[n - 1 - i / n, i % n]] as f32)).collect();
    let grid = Grid { rows: n, columns: n, cells };
    let spread = Spread::of(grid.cells.iter().flatten().copied());
    let said = off_diagonal(&cosines).map_or_else(String::new, |(mean, most, [i, j])| {
        let [a, b] = [i, j].map(|i| token_name(&look.plan.stream, gram.tokens[i]));
        format!("cosine off the diagonal: mean {}, largest {} ({a} and {b})", number(mean), number(most))
    });
    let pairs = furthest(shown, PAIRS);
    Held { gram, cosines, grid, spread, pairs, said }
}

/// How the matrix lies in its room.
#[derive(Clone, Copy)]
struct Frame {
    /// Room for names at its left.
    left: f32,
    /// Of the square.
    side: f32,
    /// True if rows have names.
    named: bool,
}

impl Frame {
    fn of(size: Vec2, n: usize) -> Self {
        let named = (size.y - 4.0) / n as f32 >= ROW && size.x > NAMES + 80.0;
        let left = if named { NAMES } else { 2.0 };
        // Square, so that the diagonal is one.
        Self { left, side: (size.x - 4.0 - left).min(size.y - 4.0).max(8.0), named }
    }

    fn width(self) -> f32 {
        self.left + self.side + 4.0
    }
}

/// The pairs of tokens whose keys are taken for each other most, as far as there is room, each a link.
fn nearest(ui: &mut Ui, look: &Look<'_>, (held, raw): (&Held, bool), size: Vec2, commands: &mut Vec<Command>) {
    let quiet = Ink::of(ui).quiet;
    ui.set_width(size.x);
    ui.spacing_mut().item_spacing = vec2(6.0, 2.0);
    let font = TextStyle::Body.resolve(ui.style());
    let line = ui.fonts_mut(|f| f.row_height(&font)).ceil();
    ui.spacing_mut().interact_size.y = line;
    let text = if raw { "largest phi(k).phi(k') of two" } else { "largest cosines of two" };
    ui.add(Label::new(RichText::new(text).color(quiet)).truncate())
        .on_hover_text("Pairs of different tokens, those furthest from zero first");
    let numbers = 58.0;
    let room = ((size.x - numbers - 18.0) / 2.0).max(20.0);
    let rows = ((size.y / (line + 2.0)) as usize).saturating_sub(1);
    for &([i, j], value) in held.pairs.iter().take(rows) {
        let tokens = [held.gram.tokens[i], held.gram.tokens[j]];
        let names = tokens.map(|t| short_name(&look.plan.stream, t));
        let shown = cut::names(&[names[0].as_str(), names[1].as_str()], room, &|c| ui.fonts_mut(|f| f.glyph_width(&font, c)));
        ui.horizontal(|ui| {
            ui.add_sized(vec2(numbers, line), Label::new(number(value)));
            for (token, text) in tokens.into_iter().zip(shown) {
                link(ui, text, Subject::Token(token), commands).on_hover_text(token_name(&look.plan.stream, token));
            }
        });
    }
}

fn matrix(
    ui: &mut Ui,
    look: &Look<'_>,
    (lane, head): (usize, usize),
    held: &Held,
    ((size, frame), range, raw): ((Vec2, Frame), Range, bool),
    cached: &mut Cached<PictureKey, TextureHandle>,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let n = held.gram.tokens.len();
    let Frame { left, side, named } = frame;
    let (outer, space) = ui.allocate_exact_size(size, Sense::hover());
    let room = outer.shrink2(vec2(2.0, 2.0));
    let rect = Rect::from_min_size(pos2(room.left() + left, room.top()).round(), vec2(side, side).floor());
    let response = ui.interact(rect, space.id.with("gram"), Sense::CLICK);
    let describe = format!("Collisions of {n} tokens in lane {}. {}", look.lanes[lane].plan.name, held.said);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &describe));
    let painter = ui.painter_at(outer);
    painter.rect_filled(rect, 0.0, ink.paper);
    let canvas = canvas(ui, rect);
    let key = Key::new(look, lane, head, 0, (canvas, range.key(), raw, held.gram.tokens.clone()));
    let picture = cached.get(key, || texture(ui, "gram", draw(&held.grid, canvas.0[0], canvas.0[1], Rule::Max, range.colours(&ink))));
    let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    painter.image(picture.id(), rect, whole, eframe::egui::Color32::WHITE);
    painter.rect_stroke(rect, 0.0, Stroke::new(1.0, ink.frame), eframe::egui::StrokeKind::Outside);
    let cell = side / n as f32;
    if named {
        names(ui, look, &held.gram.tokens, rect, cell, &ink);
    }
    for at in held.gram.tokens.iter().enumerate().filter(|(_, t)| look.selection.current() == Some(**t)).map(|(i, _)| i as f32) {
        let (top, left) = (rect.top() + at * cell, rect.left() + at * cell);
        for (width, colour) in [(3.0, ink.paper), (1.4, ink.select)] {
            let stroke = Stroke::new(width, colour);
            painter.rect_stroke(Rect::from_x_y_ranges(rect.x_range(), top..=top + cell), 0.0, stroke, eframe::egui::StrokeKind::Inside);
            painter.rect_stroke(Rect::from_x_y_ranges(left..=left + cell, rect.y_range()), 0.0, stroke, eframe::egui::StrokeKind::Inside);
        }
    }
    let Some(pointer) = response.hover_pos() else { return };
    let place = |v: f32| ((v / cell).max(0.0) as usize).min(n - 1);
    let (row, column) = (place(pointer.y - rect.top()), place(pointer.x - rect.left()));
    let [a, b] = [row, column].map(|i| held.gram.tokens[i]);
    let rows = [
        ("across", token_name(&look.plan.stream, b)),
        ("cosine", format!("{:.6}", held.cosines[[row, column]])),
        ("phi(k).phi(k')", number(held.gram.raw[[row, column]])),
    ];
    facts(&response, &token_name(&look.plan.stream, a), &rows);
    point_at(&response, Some(a), commands);
}

/// The tokens' names at the left of their rows.
fn names(ui: &Ui, look: &Look<'_>, tokens: &[usize], rect: Rect, cell: f32, ink: &Ink) {
    let stream = &look.plan.stream;
    let painter = ui.painter().with_clip_rect(Rect::from_x_y_ranges(rect.left() - NAMES..=rect.left() - 3.0, rect.y_range()));
    let font = FontId::proportional(SMALL.min(cell));
    for (i, &token) in tokens.iter().enumerate() {
        let text = stream.labels().tokens.as_ref().and_then(|t| t.get(token)).map(|t| quoted(t)).unwrap_or_default();
        let at = pos2(rect.left() - 5.0, rect.top() + (i as f32 + 0.5) * cell);
        let here = look.selection.current() == Some(token);
        let colour = match (here, crate::panel::common::is_marked(stream, token)) {
            (true, _) => ink.select,
            (_, true) => ink.text,
            _ => ink.quiet,
        };
        let place = painter.text(at, Align2::RIGHT_CENTER, format!("{text} {token}"), font.clone(), colour);
        if crate::panel::common::is_marked(stream, token) {
            sign(&painter, pos2(place.left() - 7.0, at.y), Sign::Diamond, ink.mark, ink);
        }
    }
}
