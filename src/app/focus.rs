//! The keyboard's focus: always seen, and scrolled to.

use eframe::egui::{Context, Id, LayerId, Memory, Painter, Rect, Response, Stroke, StrokeKind, Ui, Vec2, style::ScrollAnimation};

use crate::app::theme;

/// The widget that has the focus; none in a frame in which a pointer's button goes down or up, for there the question itself
/// would take the focus from a widget that was given it by a click elsewhere (a dialog's field, by a menu).
fn focused(ctx: &Context) -> Option<Response> {
    if ctx.input(|i| i.pointer.any_pressed() || i.pointer.any_released()) {
        return None;
    }
    ctx.memory(Memory::focused).and_then(|id| ctx.read_response(id))
}

/// True if the widget that has the focus lies in `rect`, in the same layer as `ui`: what lies over it, as a palette does, is not in it.
#[must_use]
pub fn is_in(ui: &Ui, rect: Rect) -> bool {
    focused(ui.ctx()).is_some_and(|response| response.layer_id == ui.layer_id() && rect.contains(response.rect.center()))
}

/// The layer that the widget with the focus lies in.
#[must_use]
pub fn layer(ctx: &Context) -> Option<LayerId> {
    focused(ctx).map(|response| response.layer_id)
}

/// Outlines the widget that has the focus. To be called when everything has been drawn.
pub fn outline(ctx: &Context) {
    let Some(response) = focused(ctx) else { return };
    // Where it is cut off at an edge of its panel, so is the outline.
    let rect = response.rect.intersect(response.interact_rect);
    if rect.is_positive() {
        let colour = theme::accent(ctx.global_style().visuals.dark_mode);
        let painter = Painter::new(ctx.clone(), response.layer_id, Rect::EVERYTHING);
        painter.rect_stroke(rect.expand(1.0), 4.0, Stroke::new(2.0, colour), StrokeKind::Middle);
    }
}

/// In so many frames at most a widget that got the focus is scrolled to: a scroll area in another has its turn after it, and what is
/// in one may become higher once it is drawn.
const FRAMES: u64 = 60;
/// Frames from when a scroll area is asked until what is in it is drawn where it is to be: asked again before, it would go too far.
const TURN: u64 = 3;

/// The widget that has the focus, the frame in which it was first seen to have it, that from which on a scroll area may be asked, and whether
/// it has been in sight since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Came {
    to: Option<Id>,
    at: u64,
    next: u64,
    seen: bool,
}

/// What is kept of the widget with the focus. There is one answer for all who ask: what each had seen before would be mixed up between
/// those that share a scope.
fn came<R>(ctx: &Context, to: Option<Id>, ask: impl FnOnce(&mut Came) -> R) -> R {
    let (key, now) = (Id::unique("the focus came"), ctx.cumulative_pass_nr());
    let came = Came { to, at: now, next: now, seen: false };
    ctx.data_mut(|data| {
        let kept = data.get_temp_mut_or(key, came);
        if kept.to != to {
            *kept = came;
        }
        ask(kept)
    })
}

/// Scrolls to the widget that has just got the focus, if it is in `ui` and not wholly seen. To be called at the end of what
/// a scroll area holds.
pub fn follow(ui: &Ui) {
    let (ctx, now) = (ui.ctx(), focused(ui.ctx()));
    let (pass, wheel) = (ctx.cumulative_pass_nr(), ctx.input(|i| i.smooth_scroll_delta() != Vec2::ZERO));
    let to = now.as_ref().map(|r| r.id);
    let (open, turn) = came(ctx, to, |came| (!came.seen && pass - came.at < FRAMES, pass >= came.next));
    if open && !turn {
        ctx.request_repaint();
    }
    if !open || !turn {
        return;
    }
    let Some(response) = now.filter(|r| r.layer_id == ui.layer_id()) else { return };
    if !ui.min_rect().contains(response.rect.center()) {
        return;
    }
    // Another panel's widget may lie where this one's would lie if it were not cut off, but that widget is wholly seen. Whoever turns
    // the wheel wants to be elsewhere.
    if response.interact_rect == response.rect || wheel {
        came(ctx, to, |came| came.seen = true);
    } else if !ui.clip_rect().contains_rect(response.rect) {
        ui.scroll_to_rect_animation(response.rect.expand(4.0), None, ScrollAnimation::none());
        came(ctx, to, |came| came.next = pass + TURN);
        ctx.request_repaint();
    }
}
