//! The timeline's second cursor: the pinned moment A as a handle that can be dragged, and what lies between it and the playhead.

use std::sync::{Arc, Weak};

use eframe::egui::{
    Align2, CursorIcon, FontId, Grid, Id, Label, Rect, Response, RichText, Sense, Shape, Stroke, Ui, WidgetInfo, accesskit, pos2, vec2,
};

use crate::app::command::{Command, ViewCommand};
use crate::app::timeline_bar::{BarLook, HANDLES, Scale};
use crate::metric::CORRECT;
use crate::panel::Pin;
use crate::panel::common::plural;
use crate::session::plan::{Plan, PlanLane};
use crate::stream::Stream;
use crate::trace::{Channel, Heads, LaneTrace};
use crate::widget::cached::Cached;
use crate::widget::line::{self, Dash};

/// The height of the line that says what lies between the cursors.
pub const LINE: f32 = 17.0;

/// The moment that is pinned, in writes.
#[must_use]
pub fn pinned(pin: Option<Pin>) -> Option<usize> {
    match pin {
        Some(Pin::Moment(writes)) => Some(writes),
        Some(Pin::Lane(_)) | None => None,
    }
}

/// The boundary of a timeline of `total` writes in steps of `step` that is nearest to `writes`; of two the earlier.
#[must_use]
pub fn nearest_boundary(writes: usize, step: usize, total: usize) -> usize {
    let (writes, step) = (writes.min(total), step.max(1));
    let below = if writes >= total { total } else { writes / step * step };
    let above = (below + step).min(total);
    if writes - below <= above.saturating_sub(writes) { below } else { above }
}

/// The handle: dragged, it moves the pinned moment; a double click lets go of it. To be called after the ruler below it.
pub(super) fn handle(ui: &Ui, ruler: Rect, scale: Scale, look: &BarLook<'_>, commands: &mut Vec<Command>) {
    let Some(at) = pinned(look.selection.pin) else { return };
    let x = scale.x(at).clamp(ruler.left() + 1.0, ruler.right() - 1.0);
    let place = Rect::from_center_size(pos2(x, ruler.center().y), vec2(15.0, ruler.height()));
    let response = ui.interact(place, Id::unique("pinned moment"), Sense::click_and_drag()).on_hover_cursor(CursorIcon::ResizeHorizontal);
    let (total, step) = (look.time.total(), look.time.step());
    let mut to = set_by_value(ui, &response, "Pinned moment A", at, total, step);
    if let (true, Some(pointer)) = (response.dragged(), response.interact_pointer_pos()) {
        to = Some(scale.boundary(pointer.x));
    }
    if let Some(to) = to.map(|writes| nearest_boundary(writes, step, total)).filter(|to| *to != at) {
        commands.push(Command::View(ViewCommand::Pin(Some(Pin::Moment(to)))));
    }
    if response.double_clicked() {
        commands.push(Command::View(ViewCommand::Pin(None)));
    }
    response.on_hover_text(format!("A: the moment after {at} writes. Drag it; a double click (or P) lets it go"));
}

/// Names a handle of the timeline for screen readers, as a slider in writes that can be set; returns what it was set to.
pub(super) fn set_by_value(ui: &Ui, head: &Response, name: &str, writes: usize, total: usize, step: usize) -> Option<usize> {
    head.widget_info(|| WidgetInfo::slider(true, writes as f64, name));
    ui.ctx().accesskit_node_builder(head.id, |node| {
        node.set_min_numeric_value(0.0);
        node.set_max_numeric_value(total as f64);
        node.set_numeric_value_step(step as f64);
        node.add_action(accesskit::Action::SetValue);
    });
    ui.input(|input| {
        let values = input.accesskit_action_requests(head.id, accesskit::Action::SetValue).filter_map(|request| match request.data {
            Some(accesskit::ActionData::NumericValue(value)) => Some(value.max(0.0) as usize),
            _ => None,
        });
        values.last()
    })
}

/// Draws the handle and its line through the ribbon, dashed, with its letter.
pub(super) fn paint(ui: &Ui, ruler: Rect, ribbon: Rect, scale: Scale, at: usize) {
    let (colour, paper) = (ui.visuals().strong_text_color(), ui.visuals().panel_fill);
    let x = scale.x(at).round().clamp(ruler.left() + 1.0, ruler.right() - 1.0);
    line::draw(ui.painter(), &[pos2(x, ruler.top() + 13.0), pos2(x, ribbon.bottom() + 4.0)], Stroke::new(1.5, colour), Dash::Long);
    let (top, half) = (ruler.top() + HANDLES, 6.5);
    let points = vec![pos2(x - half, top), pos2(x + half, top), pos2(x + half, top + 9.0), pos2(x, top + 14.0), pos2(x - half, top + 9.0)];
    ui.painter().add(Shape::convex_polygon(points, paper, Stroke::new(1.2, colour)));
    ui.painter().text(pos2(x, top + 5.5), Align2::CENTER_CENTER, "A", FontId::proportional(9.5), colour);
}

/// What a lane did between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Between {
    /// Rows founded, where the lane has a dictionary that grows.
    pub founders: Option<usize>,
    /// Pairs that entered the cache and that were folded from it, where the lane has one.
    pub cache: Option<(usize, usize)>,
    /// Reads answered rightly and wrongly, where that is known.
    pub reads: Option<(usize, usize)>,
}

impl Between {
    /// What lies between the moments `from` and `to` (writes, `from <= to`) in a lane's trace, for these heads.
    #[must_use]
    pub fn of(stream: &Stream, lane: &PlanLane, trace: &LaneTrace, (kv_head, query_head): (usize, usize), from: usize, to: usize) -> Self {
        let head = |channel: &Channel| match channel.spec().heads {
            Heads::KeyValue if channel.heads() == stream.kv_heads() => kv_head,
            Heads::KeyValue | Heads::Query => query_head,
        };
        let held = |name: &str| trace.channel(name).map(|c| (c, head(c))).filter(|(c, h)| *h < c.heads());
        let (a, b) = (lane.chunks_at(from), lane.chunks_at(to));
        let rows = |chunks: usize, c: &Channel, h: usize| {
            chunks.checked_sub(1).map_or(0, |s| c.wholes_at(h, s).first().map_or(0, |n| *n as usize))
        };
        let founders =
            held("sizes").filter(|_| trace.channel("is_new").is_some()).map(|(c, h)| rows(b, c, h) - rows(a, c, h).min(rows(b, c, h)));
        let listed = |name: &str| held(name).map(|(c, h)| (a..b).map(|s| c.range(h, s).len()).sum::<usize>());
        let cache = listed("admitted").zip(listed("displaced")).filter(|_| lane.setup.params.size("cache") > 0);
        let whole = |chunks: usize| (chunks * lane.setup.chunk).min(stream.writes());
        let reads = held(CORRECT).map(|(c, h)| {
            let range = stream.reads_within(whole(a)..whole(b));
            let held = c.wholes(h).get(range.start..range.end.min(c.len())).unwrap_or(&[]);
            let right = held.iter().filter(|x| **x != 0).count();
            (right, held.len() - right)
        });
        Self { founders, cache, reads }
    }

    /// In words: `41 founders, 64 in and 12 out of the cache, reads 5 right 3 wrong`; nothing where there is nothing to say.
    #[must_use]
    pub fn words(&self) -> String {
        let parts = [
            self.founders.map(|n| plural(n, "founder", "founders")),
            self.cache.map(|(came, went)| format!("{came} into the cache, {went} out")),
            self.reads.map(|(right, wrong)| format!("{right} of {} right", plural(right + wrong, "read", "reads"))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// What the deltas are of.
type Key = (Weak<Plan>, usize, usize, (usize, usize), u64);

/// The line that says what lies between the cursors.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    held: Cached<KeyOf, Vec<(String, String)>>,
}

#[derive(Debug)]
struct KeyOf(Key);

impl PartialEq for KeyOf {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        Weak::ptr_eq(&a.0, &b.0) && (a.1, a.2, a.3, a.4) == (b.1, b.2, b.3, b.4)
    }
}

impl Deltas {
    /// One line; every lane has a row of its own on hover.
    pub fn ui(&mut self, ui: &mut Ui, look: &BarLook<'_>, pinned: usize) {
        let (plan, now) = (look.plan, look.time.writes());
        let (from, to) = (pinned.min(now), pinned.max(now));
        let heads = (look.heads.kv, look.heads.query);
        let written = look.traces.iter().map(LaneTrace::generation).sum();
        let each = self.held.get(KeyOf((Arc::downgrade(plan), from, to, heads, written)), || {
            let of = |(lane, trace): (&PlanLane, &LaneTrace)| {
                (lane.name.clone(), Between::of(&plan.stream, lane, trace, heads, from, to).words())
            };
            plan.lanes.iter().zip(look.traces).map(of).filter(|(_, words)| !words.is_empty()).collect()
        });
        let steps = plan.step_at(to) - plan.step_at(from);
        let reads = plan.stream.reads_within(from..to).len();
        let order = if pinned <= now { "Between A and the playhead" } else { "Between the playhead and A" };
        let head = format!(
            "{order}: {}, {}, {}",
            plural(to - from, "write", "writes"),
            plural(steps, "step", "steps"),
            plural(reads, "read", "reads")
        );
        let all = std::iter::once(head.clone()).chain(each.iter().map(|(name, words)| format!("{name}: {words}")));
        let text = all.collect::<Vec<_>>().join("  ·  ");
        ui.add(Label::new(RichText::new(text).size(11.0)).truncate().show_tooltip_when_elided(false)).on_hover_ui(|ui| {
            ui.strong(&head);
            Grid::new("deltas").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
                for (name, words) in each {
                    ui.weak(name);
                    ui.label(words);
                    ui.end_row();
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_rests_on_the_boundaries_of_the_timeline() {
        let near = |writes| nearest_boundary(writes, 64, 1000);
        assert_eq!([0, 31, 32, 33, 96, 97, 970, 985, 4000].map(near), [0, 0, 0, 64, 64, 128, 960, 1000, 1000]);
        assert_eq!((pinned(Some(Pin::Moment(7))), pinned(Some(Pin::Lane(1))), pinned(None)), (Some(7), None, None));
    }

    #[test]
    fn what_lies_between_is_said_in_words() {
        let between = Between { founders: Some(1), cache: Some((64, 12)), reads: Some((5, 3)) };
        assert_eq!(between.words(), "1 founder, 64 into the cache, 12 out, 5 of 8 reads right");
        assert_eq!(Between::default().words(), "");
    }
}
