//! The keyboard's focus: always seen, and scrolled to.

use eframe::egui::{Context, Id, LayerId, Memory, Painter, Rect, Response, Stroke, StrokeKind, Ui};

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

/// Scrolls to the widget that has just got the focus, if it is in `ui` and not wholly seen. To be called at the end of what
/// a scroll area holds.
pub fn follow(ui: &Ui) {
    let now = focused(ui.ctx());
    let key = ui.scope_id().with("focus");
    let before: Option<Id> = ui.data(|d| d.get_temp(key));
    if before == now.as_ref().map(|r| r.id) {
        return;
    }
    let Some(response) = now else {
        ui.data_mut(|d| d.remove::<Id>(key));
        return;
    };
    ui.data_mut(|d| d.insert_temp(key, response.id));
    // Another panel's widget may lie where this one's would lie if it were not cut off, but that widget is wholly seen.
    let cut = !ui.clip_rect().contains_rect(response.rect) && response.interact_rect != response.rect;
    if cut && response.layer_id == ui.layer_id() && ui.min_rect().contains(response.rect.center()) {
        ui.scroll_to_rect(response.rect.expand(4.0), None);
    }
}
