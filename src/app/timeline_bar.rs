//! The timeline on screen: buttons, speed, a ruler with the playhead, the ribbon of tokens coloured by role, a row of reads, and what
//! the colours mean.
//!
//! The ruler moves the playhead; the ribbon marks the token under the pointer, selects it on a click, and moves the
//! playhead when dragged.

use std::sync::{Arc, Weak};

use eframe::egui::{
    self, Align, Align2, Color32, CursorIcon, FontId, Id, Label, Layout, Rect, RichText, Role, Sense, Shape, Stroke, StrokeKind, TextStyle,
    Ui, WidgetInfo, pos2, vec2,
};

use crate::app::bookmarks;
use crate::app::command::{Command, TimeCommand, ViewCommand};
use crate::app::icon::{self, Icon};
use crate::app::read_row::{self, LEGEND, READS};
use crate::app::ribbon::{ReadTick, Stretch, pixel_runs, read_ticks, runs_of, stretches};
use crate::app::search::Search;
use crate::app::second_cursor::{self, Deltas, pinned, set_by_value};
use crate::app::theme;
use crate::app::timeline::{SPEEDS, Timeline};
use crate::metric::events::HeadsShown;
use crate::panel::Selection;
use crate::panel::common::quoted;
use crate::session::Bookmark;
use crate::session::plan::Plan;
use crate::trace::LaneTrace;
use crate::widget::baked;
use crate::widget::palette::Ink;

const RULER: f32 = 16.0;
const RIBBON: f32 = 24.0;

/// Where the handles of the playhead and of a pinned moment begin, in points below the ruler's top. Over it stand flags.
pub(super) const HANDLES: f32 = 1.0;

/// The height without reads and roles, margins included.
pub const PLAIN: f32 = 88.0;

/// The timeline's picture, with what it keeps from frame to frame.
#[derive(Debug, Default)]
pub struct TimelineBar {
    plan: Option<Arc<Plan>>,
    width: usize,
    stretches: Vec<Stretch>,
    marked: Vec<std::ops::Range<usize>>,
    reads: Vec<ReadTick>,
    roles: Vec<u8>,
    /// The plan whose height is known, and the height.
    high: (Weak<Plan>, f32),
    /// The search over the tokens.
    pub search: Search,
    deltas: Deltas,
    /// The tokens selected together, and the stretches of the ribbon that they take, for the width above.
    group: (Arc<[usize]>, Vec<[f32; 2]>),
}

/// What the timeline is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct BarLook<'a> {
    /// The plan that runs.
    pub plan: &'a Arc<Plan>,
    /// What its lanes have written.
    pub traces: &'a [LaneTrace],
    /// The time.
    pub time: &'a Timeline,
    /// What is selected.
    pub selection: &'a Selection,
    /// The heads that are shown.
    pub heads: HeadsShown,
    /// The session's bookmarks.
    pub bookmarks: &'a [Bookmark],
}

/// Where writes are on screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    left: f32,
    width: f32,
    total: usize,
}

impl Scale {
    pub(super) fn x(self, write: usize) -> f32 {
        self.left + self.width * write as f32 / self.total.max(1) as f32
    }

    /// The boundary between writes nearest to `x`.
    pub(super) fn boundary(self, x: f32) -> usize {
        let share = ((x - self.left) / self.width.max(1.0)).clamp(0.0, 1.0);
        (f64::from(share) * self.total as f64).round() as usize
    }

    /// The write under `x`.
    fn write(self, x: f32) -> Option<usize> {
        let share = f64::from((x - self.left) / self.width.max(1.0));
        (0.0..1.0).contains(&share).then(|| ((share * self.total as f64) as usize).min(self.total.saturating_sub(1)))
    }
}

impl TimelineBar {
    /// How high the timeline of a plan is, its margins included.
    pub fn height(&mut self, plan: &Arc<Plan>, selection: &Selection) -> f32 {
        if Weak::as_ptr(&self.high.0) != Arc::as_ptr(plan) {
            let reads = if read_row::shown(plan) { READS } else { 0.0 };
            let roles = if read_row::used_roles(plan).len() > 1 { LEGEND } else { 0.0 };
            self.high = (Arc::downgrade(plan), PLAIN + reads + roles);
        }
        let between = if pinned(selection.pin).is_some() { second_cursor::LINE } else { 0.0 };
        self.high.1 + between
    }

    /// Draws it.
    pub fn ui(&mut self, ui: &mut Ui, look: &BarLook<'_>, commands: &mut Vec<Command>) {
        let BarLook { plan, time, selection, .. } = *look;
        let corner = ui.max_rect().left_top();
        self.search.ui(ui.ctx(), corner - vec2(0.0, 6.0), plan, commands);
        controls(ui, plan, time, selection, commands);
        ui.add_space(2.0);
        let width = ui.available_width();
        self.prepare(plan, width as usize);
        let reads = if self.reads.is_empty() { 0.0 } else { READS };
        let (rect, _) = ui.allocate_exact_size(vec2(width, RULER + RIBBON + 8.0 + reads), Sense::hover());
        let scale = Scale { left: rect.left(), width, total: plan.stream.writes() };
        let ruler = Rect::from_min_size(rect.min, vec2(width, RULER));
        let ribbon = Rect::from_min_size(pos2(rect.left(), rect.top() + RULER), vec2(width, RIBBON));
        interact(ui, ruler, ribbon, scale, time, commands);
        second_cursor::handle(ui, ruler, scale, look, commands);
        self.paint(ui, ruler, ribbon, scale, plan, time, selection);
        bookmarks::marks(ui, ruler, scale, look, commands);
        if !self.reads.is_empty() {
            let row = Rect::from_min_size(pos2(rect.left(), ribbon.bottom() + 7.0), vec2(width, READS - 1.0));
            read_row::ui(ui, row, &self.reads, plan, selection, commands);
        }
        if self.roles.len() > 1 {
            read_row::legend(ui, &self.roles, plan);
        }
        if let Some(at) = pinned(selection.pin) {
            self.deltas.ui(ui, look, at);
        }
    }

    fn prepare(&mut self, plan: &Arc<Plan>, width: usize) {
        let same = self.plan.as_ref().is_some_and(|p| Arc::ptr_eq(p, plan));
        if !same || self.width != width {
            let roles = &plan.stream.labels().roles;
            self.stretches = stretches(roles, width);
            self.marked = roles.marked.map_or_else(Vec::new, |role| runs_of(roles, role));
            let stream = &plan.stream;
            self.reads = if read_row::shown(plan) { read_ticks(roles, stream.after(), stream.writes(), width) } else { Vec::new() };
            self.roles = read_row::used_roles(plan);
            self.plan = Some(Arc::clone(plan));
            self.width = width;
            self.group = (Arc::default(), Vec::new());
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one picture; a struct would only rename the arguments")]
    fn paint(&mut self, ui: &Ui, ruler: Rect, ribbon: Rect, scale: Scale, plan: &Plan, time: &Timeline, selection: &Selection) {
        let dark = ui.visuals().dark_mode;
        let painter = ui.painter();
        let roles = &plan.stream.labels().roles;
        painter.rect_filled(ribbon, 2.0, theme::canvas(dark));
        let stretch = |s: &Stretch| {
            let rect = Rect::from_min_max(pos2(ribbon.left() + s.from, ribbon.top()), pos2(ribbon.left() + s.to, ribbon.bottom()));
            Shape::rect_filled(rect, 0.0, theme::role_colour(s.role, roles.marked, dark))
        };
        baked::draw(painter, Id::unique("ribbon's stretches"), self.stretches.iter().map(stretch).collect());
        // What lies after the playhead has not been seen yet; what lies after `reached` has not been computed yet.
        let seen = scale.x(time.writes());
        let reached = scale.x(time.reached());
        let veil = theme::canvas(dark).gamma_multiply(if dark { 0.55 } else { 0.6 });
        painter.rect_filled(Rect::from_min_max(pos2(seen, ribbon.top()), ribbon.max), 0.0, veil);
        hatch(ui, Rect::from_min_max(pos2(reached, ribbon.top()), ribbon.max));
        painter.rect_stroke(ribbon, 2.0, Stroke::new(1.0, ui.visuals().window_stroke.color), StrokeKind::Outside);
        chunk_bounds(ui, ribbon, scale, plan.step);
        ruler_ticks(ui, ruler, scale, time, seen);
        self.marks(ui, ribbon, scale, plan);
        self.found(ui, ribbon, scale);
        self.grouped(ui, ribbon, scale, selection);
        tokens(ui, ribbon, scale, selection);
        if let Some(at) = pinned(selection.pin) {
            second_cursor::paint(ui, ruler, ribbon, scale, at);
        }
        playhead(ui, ruler, ribbon, seen);
    }

    /// The matches of the search: bars over the upper half of the ribbon.
    fn found(&self, ui: &Ui, ribbon: Rect, scale: Scale) {
        let ink = Ink::of(ui);
        for [from, to] in pixel_runs(self.search.found().iter().cloned(), |write| scale.x(write)) {
            let bar = Rect::from_min_max(pos2(from, ribbon.top()), pos2(to.max(from + 2.0), ribbon.center().y - 2.0));
            ui.painter().rect(bar, 1.0, ink.limit, Stroke::new(1.0, ink.paper), StrokeKind::Outside);
        }
    }

    /// The tokens that are selected together: brackets above the ribbon's lower half.
    fn grouped(&mut self, ui: &Ui, ribbon: Rect, scale: Scale, selection: &Selection) {
        if !Arc::ptr_eq(&self.group.0, &selection.group) {
            let each = selection.group.iter().map(|w| *w..*w + 1);
            self.group = (Arc::clone(&selection.group), pixel_runs(each, |write| scale.x(write)));
        }
        for [from, to] in &self.group.1 {
            let rect = Rect::from_min_max(pos2(*from, ribbon.top() - 1.0), pos2(to.max(from + 1.5), ribbon.bottom() + 1.0));
            ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.5, ui.visuals().strong_text_color()), StrokeKind::Outside);
        }
    }

    /// Marked tokens: a line under the ribbon in their colour, and their role's name.
    fn marks(&self, ui: &Ui, ribbon: Rect, scale: Scale, plan: &Plan) {
        let roles = &plan.stream.labels().roles;
        let Some(role) = roles.marked else { return };
        let colour = theme::marked_colour(ui.visuals().dark_mode);
        let line = |run: &std::ops::Range<usize>| {
            let (from, to) = (scale.x(run.start), scale.x(run.end).max(scale.x(run.start) + 2.0));
            let under = Rect::from_min_max(pos2(from, ribbon.bottom() + 2.0), pos2(to, ribbon.bottom() + 5.0));
            Shape::rect_filled(under, 1.0, colour)
        };
        baked::draw(ui.painter(), Id::unique("ribbon's marks"), self.marked.iter().map(line).collect());
        if let (1..=3, Some(name)) = (self.marked.len(), roles.names.get(role as usize)) {
            for run in &self.marked {
                // In the stretch where it has room, else beside it.
                let (x, align) = if scale.x(run.end) - scale.x(run.start) > 60.0 {
                    (scale.x(run.start) + 4.0, Align2::LEFT_CENTER)
                } else if scale.x(run.end) + 60.0 > ribbon.right() {
                    (scale.x(run.start) - 4.0, Align2::RIGHT_CENTER)
                } else {
                    (scale.x(run.end) + 4.0, Align2::LEFT_CENTER)
                };
                let strong = ui.visuals().strong_text_color();
                ui.painter().text(pos2(x, ribbon.center().y), align, name, FontId::proportional(11.0), strong);
            }
        }
    }
}

/// Buttons, speed, and where the playhead stands.
fn controls(ui: &mut Ui, plan: &Plan, time: &Timeline, selection: &Selection, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        let mut press = |ui: &mut Ui, icon, name: &str, lit, hint: &str, command| {
            if icon::button(ui, icon, name, lit).on_hover_text(hint).clicked() {
                commands.push(Command::Time(command));
            }
        };
        press(ui, Icon::Home, "Go to the start", false, "To the start (Home)", TimeCommand::Home);
        press(ui, Icon::Back, "Step back", false, "One step back (←; with Shift, ten)", TimeCommand::Step(-1));
        if time.playing() {
            press(ui, Icon::Pause, "Pause", true, "Pause (Space)", TimeCommand::TogglePlay);
        } else {
            press(ui, Icon::Play, "Play", false, "Play (Space)", TimeCommand::TogglePlay);
        }
        press(ui, Icon::Forward, "Step forward", false, "One step forward (→; with Shift, ten)", TimeCommand::Step(1));
        press(ui, Icon::End, "Go to the end", false, "To the end (End)", TimeCommand::End);
        press(ui, Icon::Repeat, "Repeat", time.repeat(), "From the start again at the end (L)", TimeCommand::ToggleRepeat);
        let held = pinned(selection.pin).is_some();
        let pin = ui.selectable_label(held, if held { "A pinned" } else { "Pin as A" }).accessible_name("Pin this moment");
        let hint = if held {
            "Let go of the pinned moment A (P)"
        } else {
            "Hold this moment as A: the timeline and the panels then show it beside the moment at the playhead (P)"
        };
        if pin.on_hover_text(hint).clicked() {
            commands.push(Command::View(ViewCommand::PinHere));
        }
        ui.add_space(8.0);
        let mut speed = time.speed();
        let field = egui::DragValue::new(&mut speed).range(SPEEDS).speed(f64::from(time.speed()) * 0.02).max_decimals(2).suffix(" steps/s");
        if ui.add(field).accessible_name("Speed").on_hover_text("Steps a second ([ halves, ] doubles)").changed() {
            commands.push(Command::Time(TimeCommand::Speed(speed)));
        }
        ui.add_space(10.0);
        said(ui, plan, time, selection);
    });
}

/// Room between what is said of the time and of the token, at least.
const APART: f32 = 10.0;
/// A token with less room than this is not named: two or three letters of it say nothing.
const LEAST: f32 = 48.0;

/// Which of the words about the time have room beside those at the right end: `[steps, writes, computed, right]` are their widths. Where all
/// have none, the writes go first, then how far the run is; after that the words at the right end are cut, and then the steps.
fn fit(room: f32, [steps, writes, computed, right]: [f32; 4], gap: f32) -> [bool; 2] {
    let with = |word: f32| if word > 0.0 { gap + word } else { 0.0 };
    let left = room - right - APART - steps;
    [left >= with(writes) + with(computed), left >= with(computed)]
}

/// Where the playhead stands, how far the run is, and at the right end the token that is looked at. Nothing lies over anything else: what
/// has no room is on hover.
fn said(ui: &mut Ui, plan: &Plan, time: &Timeline, selection: &Selection) {
    let steps = format!("{} of {} steps done", time.step_index(), time.steps());
    let writes = format!("{} of {} writes", time.writes(), time.total());
    let computed = if time.reached() < time.total() { format!("(computed to {})", time.reached()) } else { String::new() };
    let token = selection.current().map(|write| describe(plan, write));
    let is_token = token.is_some();
    let right = token.unwrap_or_else(|| format!("{} a step", crate::panel::common::plural(time.step(), "write", "writes")));
    let font = TextStyle::Body.resolve(ui.style());
    let width = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER).size().x.ceil() + 1.0;
    let widths = [&steps, &writes, &computed, &right].map(|text| if text.is_empty() { 0.0 } else { width(text) });
    let [has_writes, has_computed] = fit(ui.available_width(), widths, ui.spacing().item_spacing.x);
    let label = ui.add(Label::new(RichText::new(&steps).strong()).truncate().show_tooltip_when_elided(false));
    if has_writes {
        ui.weak(&writes);
    }
    if has_computed && !computed.is_empty() {
        ui.weak(&computed);
    }
    let has_right = ui.available_width() >= LEAST + APART;
    label.on_hover_ui(|ui| {
        let rest = if has_right { "" } else { right.as_str() };
        let all = [steps.as_str(), &writes, &computed, rest].into_iter().filter(|text| !text.is_empty());
        ui.label(all.collect::<Vec<_>>().join(", "));
    });
    if !has_right {
        return;
    }
    ui.add_space(APART - ui.spacing().item_spacing.x);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = RichText::new(right);
        ui.add(Label::new(if is_token { text } else { text.weak() }).truncate());
    });
}

/// The token of a write in a few words: index, text, role.
#[must_use]
pub fn describe(plan: &Plan, write: usize) -> String {
    let labels = plan.stream.labels();
    let role = labels.roles.of_write.get(write).and_then(|r| labels.roles.names.get(*r as usize));
    let index = format!("token {write}");
    [Some(index), token_text(plan, write), role.cloned()].into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// The text of a write in quotes, with what cannot be seen written out; `None` where the source has no texts.
#[must_use]
pub fn token_text(plan: &Plan, write: usize) -> Option<String> {
    plan.stream.labels().tokens.as_ref()?.get(write).map(|text| quoted(text))
}

fn interact(ui: &mut Ui, ruler: Rect, ribbon: Rect, scale: Scale, time: &Timeline, commands: &mut Vec<Command>) {
    let head = ui.interact(ruler, Id::unique("timeline ruler"), Sense::click_and_drag()).on_hover_cursor(CursorIcon::ResizeHorizontal);
    if let Some(writes) = set_by_value(ui, &head, "Playhead", time.writes(), time.total(), time.step()) {
        commands.push(Command::Time(TimeCommand::Seek(writes)));
    }
    if let (true, Some(at)) = (head.dragged() || head.clicked(), head.interact_pointer_pos()) {
        commands.push(Command::Time(TimeCommand::Seek(scale.boundary(at.x))));
    }
    let tokens = ui.interact(ribbon, Id::unique("token ribbon"), Sense::click_and_drag());
    tokens.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Token ribbon"));
    if let (true, Some(at)) = (tokens.dragged(), tokens.interact_pointer_pos()) {
        commands.push(Command::Time(TimeCommand::Seek(scale.boundary(at.x))));
    }
    if let Some(write) = tokens.hover_pos().and_then(|at| scale.write(at.x)) {
        commands.push(Command::View(ViewCommand::Hover(write)));
        if tokens.clicked() {
            commands.push(Command::View(ViewCommand::Select(Some(write))));
        }
    }
}

/// Diagonal lines over what has not been computed.
fn hatch(ui: &Ui, rect: Rect) {
    if rect.width() < 1.0 {
        return;
    }
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    let stroke = Stroke::new(1.0, ui.visuals().weak_text_color().gamma_multiply(0.35));
    let mut x = rect.left() - rect.height();
    while x < rect.right() {
        painter.line_segment([pos2(x, rect.bottom()), pos2(x + rect.height(), rect.top())], stroke);
        x += 7.0;
    }
}

fn chunk_bounds(ui: &Ui, ribbon: Rect, scale: Scale, step: usize) {
    // Lines nearer than this are a grey veil, not bounds: draw every second, fourth, .. instead.
    let mut every = step.max(1);
    while scale.width * every as f32 / scale.total.max(1) as f32 <= 5.0 {
        every *= 2;
    }
    let stroke = Stroke::new(1.0, theme::canvas(ui.visuals().dark_mode).gamma_multiply(0.8));
    let bound = |write: usize| {
        let x = scale.x(write).round();
        Shape::line_segment([pos2(x, ribbon.bottom() - 5.0), pos2(x, ribbon.bottom())], stroke)
    };
    baked::draw(ui.painter(), Id::unique("ribbon's chunks"), (every..scale.total).step_by(every).map(bound).collect());
}

/// Numbers on the ruler at round counts of writes, about every 110 points.
fn ruler_ticks(ui: &Ui, ruler: Rect, scale: Scale, time: &Timeline, playhead: f32) {
    let mut every = time.step().max(1);
    while scale.width * every as f32 / scale.total.max(1) as f32 <= 90.0 {
        every *= 2;
    }
    let colour = ui.visuals().weak_text_color();
    for write in (0..=scale.total).step_by(every) {
        let x = scale.x(write).round();
        ui.painter().line_segment([pos2(x, ruler.bottom() - 4.0), pos2(x, ruler.bottom())], Stroke::new(1.0, colour));
        // Beside the playhead's handle, not under it.
        let aside = if (x - playhead).abs() < 9.0 { 9.0 } else { 3.0 };
        let room = ruler.right() - x;
        let (at, align) = if room < 40.0 { (x - aside, Align2::RIGHT_TOP) } else { (x + aside, Align2::LEFT_TOP) };
        ui.painter().text(pos2(at, ruler.top()), align, write, FontId::proportional(10.0), colour);
    }
}

fn tokens(ui: &Ui, ribbon: Rect, scale: Scale, selection: &Selection) {
    let mark = |write: usize, colour: Color32| {
        let (from, to) = (scale.x(write), scale.x(write + 1).max(scale.x(write) + 1.0));
        let rect = Rect::from_min_max(pos2(from, ribbon.top() - 1.0), pos2(to, ribbon.bottom() + 1.0));
        ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.5, colour), StrokeKind::Outside);
    };
    if let Some(write) = selection.token.filter(|_| selection.group.is_empty()) {
        mark(write, ui.visuals().strong_text_color());
    }
    if let Some(write) = selection.hovered {
        mark(write, ui.visuals().text_color().gamma_multiply(0.8));
    }
}

fn playhead(ui: &Ui, ruler: Rect, ribbon: Rect, x: f32) {
    let colour = theme::accent(ui.visuals().dark_mode);
    let x = x.round().clamp(ruler.left() + 1.0, ruler.right() - 1.0);
    let line = Rect::from_min_max(pos2(x - 1.0, ruler.top() + 4.0), pos2(x + 1.0, ribbon.bottom() + 4.0));
    ui.painter().rect_filled(line, 0.0, colour);
    let (top, half) = (ruler.top() + HANDLES, 5.5);
    let points = vec![pos2(x - half, top), pos2(x + half, top), pos2(x + half, top + 6.0), pos2(x, top + 12.0), pos2(x - half, top + 6.0)];
    ui.painter().add(Shape::convex_polygon(points, colour, Stroke::new(1.0, ui.visuals().panel_fill)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::plan;

    #[test]
    fn pixels_and_writes_agree() {
        let scale = Scale { left: 100.0, width: 400.0, total: 2000 };
        assert_eq!(scale.write(100.0), Some(0));
        assert_eq!(scale.write(499.9), Some(1999));
        assert_eq!(scale.write(500.0), None);
        assert_eq!((scale.boundary(0.0), scale.boundary(300.0), scale.boundary(900.0)), (0, 1000, 2000));
        assert_eq!(scale.write(scale.x(1234) + 0.05), Some(1234));
    }

    #[test]
    fn the_writes_give_way_first_and_then_how_far_the_run_is() {
        // 120, 110, 130 and 150 points wide, 3 apart, 10 before the last: 526 in all, 413 without the writes, 280 without both.
        let widths = [120.0, 110.0, 130.0, 150.0];
        assert_eq!(
            [526.0, 525.0, 413.0, 412.0, 100.0].map(|room| fit(room, widths, 3.0)),
            [[true, true], [false, true], [false, true], [false, false], [false, false]]
        );
        // A run that is over says nothing of how far it is.
        assert_eq!([393.0, 392.0].map(|room| fit(room, [120.0, 110.0, 0.0, 150.0], 3.0)), [[true, true], [false, true]]);
    }

    /// The texts of the row over the timeline at this width, each with the rectangle in which it is seen.
    fn row(width: f32, reached: usize) -> Vec<(String, Rect)> {
        let (plan, selection) = (plan(2048, 64), Selection { token: Some(1705), ..Selection::default() });
        let mut time = Timeline::new(2048, 64, None, 16.0, false);
        time.reach(reached);
        time.command(TimeCommand::End);
        let ctx = egui::Context::default();
        let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(width, 200.0));
        let draw = || {
            let input = egui::RawInput { screen_rect: Some(screen), ..egui::RawInput::default() };
            let mut output = ctx.run_ui(input, |ui| controls(ui, &plan, &time, &selection, &mut Vec::new()));
            output.textures_delta.clear();
            std::mem::take(&mut output.shapes)
        };
        // Sizes are known from the second frame on.
        draw();
        let text = |shape: egui::epaint::ClippedShape| match shape.shape {
            Shape::Text(text) => {
                let seen = text.visual_bounding_rect().intersect(shape.clip_rect);
                Some((text.galley.text().to_owned(), seen))
            }
            _ => None,
        };
        draw().into_iter().filter_map(text).collect()
    }

    #[test]
    fn nothing_over_the_timeline_lies_over_anything_else_at_any_width() {
        for width in [480.0, 560.0, 640.0, 700.0, 760.0, 820.0, 900.0, 1400.0] {
            for reached in [2048, 1024] {
                let texts = row(width, reached);
                assert!(texts.iter().any(|(text, _)| text.ends_with("of 32 steps done")), "{width}: {texts:?}");
                for (i, (text, place)) in texts.iter().enumerate() {
                    assert!(place.right() <= width + 0.5, "{width}: {text} at {place}");
                    for (other, beside) in &texts[i + 1..] {
                        assert!(!place.shrink(0.5).intersects(*beside), "{width}: {text} at {place}, {other} at {beside}");
                    }
                }
            }
        }
        let has = |texts: &[(String, Rect)], word: &str| texts.iter().any(|(text, _)| text.contains(word));
        let (wide, narrow) = (row(1400.0, 1024), row(700.0, 2048));
        assert!(has(&wide, "1024 of 2048 writes") && has(&wide, "(computed to 1024)") && has(&wide, "token 1705"));
        assert!(!has(&narrow, "writes") && has(&narrow, "token 1705"));
    }

    #[test]
    fn tokens_are_described_with_their_blanks() {
        assert_eq!(describe(&plan(64, 16), 11), "token 11  ' t11'  needle");
        assert_eq!(describe(&plan(64, 16), 3), "token 3  ' t3'  hay");
    }
}
