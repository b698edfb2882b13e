//! The strip of a lesson across the window: what the step says, what it asks for, whether that is done, and the way on. And the marks
//! around what it speaks of.

use eframe::egui::{
    Align, Button, Color32, Context, Id, Key, Label, LayerId, Layout, Order, Painter, ProgressBar, Rect, RichText, Role, ScrollArea, Sense,
    Stroke, StrokeKind, TextEdit, Ui, WidgetInfo, pos2, vec2,
};

use super::{LessonCommand, Playing};
use crate::app::command::Command;
use crate::app::commands::{command, keys_text};
use crate::app::theme;
use crate::session::lesson::Ask;

/// What a step can mark besides panels.
pub const PLACES: [&str; 3] = ["timeline", "lanes", "inspector"];

/// The most that the strip takes of the window's height.
const SHARE: f32 = 0.34;

/// Draws the strip of a lesson into `ui`.
pub fn ui(ui: &mut Ui, playing: &mut Playing, commands: &mut Vec<Command>) {
    head(ui, playing, commands);
    ui.add_space(2.0);
    let most = (ui.ctx().content_rect().height() * SHARE).max(120.0);
    let narrow = ui.available_width() < 900.0;
    // As high as what is said, up to the most: not as high as the last step was.
    let scroll = ScrollArea::vertical().id_salt(("lesson", playing.at)).max_height(most).min_scrolled_height(most);
    scroll.show(ui, |ui| {
        if narrow {
            said(ui, playing);
            asked(ui, playing, commands);
            return;
        }
        let width = ui.available_width();
        ui.horizontal_top(|ui| {
            ui.allocate_ui_with_layout(vec2(width * 0.56, 0.0), Layout::top_down(Align::Min), |ui| said(ui, playing));
            ui.add_space(width * 0.03);
            ui.allocate_ui_with_layout(vec2(width * 0.4, 0.0), Layout::top_down(Align::Min), |ui| asked(ui, playing, commands));
        });
    });
    ui.add_space(2.0);
}

/// Title, how far one is, and the buttons.
fn head(ui: &mut Ui, playing: &Playing, commands: &mut Vec<Command>) {
    let (at, of) = (playing.at + 1, playing.lesson.steps.len());
    ui.horizontal(|ui| {
        ui.add(Label::new(RichText::new(&playing.step().title).heading().strong()).truncate());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let mut button = |ui: &mut Ui, able: bool, text: RichText, name: &str, what: LessonCommand| {
                let hint = command(name).map_or_else(String::new, |c| format!("{} ({})", c.title, keys_text(ui.ctx(), c)));
                if ui
                    .add_enabled(able, Button::new(text))
                    .on_hover_text(&hint)
                    .on_disabled_hover_text(format!("{hint}: once it is done"))
                    .clicked()
                {
                    commands.push(what.into());
                }
            };
            button(ui, true, "Leave".into(), "lesson-leave", LessonCommand::Leave);
            if playing.is_last() {
                button(ui, true, "Again".into(), "lesson-again", LessonCommand::Again);
            } else {
                if !playing.is_done() {
                    button(ui, true, "Skip".into(), "lesson-skip", LessonCommand::Skip);
                }
                button(ui, playing.is_done(), RichText::new("Next").strong(), "lesson-next", LessonCommand::Next);
            }
            button(ui, playing.at > 0, "Back".into(), "lesson-back", LessonCommand::Back);
            ui.add(ProgressBar::new(at as f32 / of as f32).desired_width(90.0).desired_height(6.0));
            ui.label(RichText::new(format!("{} · step {at} of {of}", playing.lesson.title)).weak());
        });
    });
}

fn said(ui: &mut Ui, playing: &Playing) {
    for paragraph in playing.step().text.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
        ui.add(Label::new(paragraph).wrap());
        ui.add_space(4.0);
    }
}

fn asked(ui: &mut Ui, playing: &mut Playing, commands: &mut Vec<Command>) {
    let lesson = std::sync::Arc::clone(&playing.lesson);
    let Some(ask) = &lesson.steps[playing.at].ask else {
        if playing.is_last() {
            ui.strong("That was the last step.");
        }
        return;
    };
    let done = playing.is_done();
    ui.horizontal_top(|ui| {
        tick(ui, done);
        ui.add(Label::new(RichText::new(&ask.what).strong()).wrap());
    });
    question(ui, playing, ask, commands);
    if done {
        if !ask.then.is_empty() {
            ui.add(Label::new(&ask.then).wrap());
        }
        if playing.is_last() {
            ui.strong("That was the last step.");
        }
    } else if !ask.hint.is_empty() {
        let key = command("lesson-hint").map_or_else(String::new, |c| keys_text(ui.ctx(), c));
        if playing.hint {
            ui.add(Label::new(RichText::new(format!("Hint: {}", ask.hint)).weak()).wrap());
        } else if ui.button("Hint").on_hover_text(key).clicked() {
            commands.push(LessonCommand::Hint.into());
        }
    }
}

/// A box with a tick in it or none: a picture, not a control.
fn tick(ui: &mut Ui, done: bool) {
    let (rect, response) = ui.allocate_exact_size(vec2(14.0, 16.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, if done { "Done" } else { "To do" }));
    let square = Rect::from_center_size(rect.center(), vec2(12.0, 12.0));
    let (text, accent) = (ui.visuals().text_color(), theme::accent(ui.visuals().dark_mode));
    ui.painter().rect_stroke(square, 2.0, Stroke::new(1.3, if done { accent } else { text }), StrokeKind::Inside);
    if done {
        let at = |x: f32, y: f32| square.min + vec2(x, y);
        ui.painter().line(vec![at(2.5, 6.0), at(5.2, 9.0), at(10.5, 1.5)], Stroke::new(2.2, accent));
    }
}

/// Answers to choose from, and a field for a number.
fn question(ui: &mut Ui, playing: &mut Playing, ask: &Ask, commands: &mut Vec<Command>) {
    let done = playing.is_done();
    if let Some(options) = ask.check.options() {
        for (i, option) in options.iter().enumerate() {
            let chosen = playing.answer.chosen == Some(i);
            let right = done && ask.check.right() == Some(i);
            let mark = match (chosen, right) {
                (_, true) => "  (right)",
                (true, false) if ask.check.right() != Some(i) => "  (no)",
                _ => "",
            };
            let text = format!("{}  {option}{mark}", i + 1);
            let response = ui.selectable_label(chosen || right, text).on_hover_text(format!("Key {}", i + 1));
            if response.clicked() && !done {
                commands.push(LessonCommand::Choose(i).into());
            }
        }
    }
    if ask.check.asks_number() && !done {
        ui.horizontal(|ui| {
            let field =
                ui.add(TextEdit::singleline(&mut playing.typed).desired_width(90.0).hint_text("a number")).accessible_name("Answer");
            let entered = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            let number = playing.typed.trim().replace([' ', '\u{2009}', '\u{a0}', ','], "").parse::<f64>().ok();
            if (ui.add_enabled(number.is_some(), Button::new("Answer")).clicked() || entered)
                && let Some(number) = number
            {
                commands.push(LessonCommand::Number(number).into());
            }
            if playing.answer.number.is_some() {
                ui.weak("Not that one.");
            }
        });
    }
}

/// Marks places of the window: an outline with corners, so that it is no matter of colour.
pub fn mark(ctx: &Context, rects: impl Iterator<Item = Rect>) {
    let colour = theme::accent(ctx.global_style().visuals.dark_mode);
    let painter = Painter::new(ctx.clone(), LayerId::new(Order::Foreground, Id::unique("lesson marks")), Rect::EVERYTHING);
    for rect in rects.filter(eframe::egui::Rect::is_positive) {
        let rect = rect.shrink(1.5);
        painter.rect_stroke(rect, 2.0, Stroke::new(1.0, colour.gamma_multiply(0.6)), StrokeKind::Inside);
        let arm = (rect.size().min_elem() * 0.3).min(22.0);
        corners(&painter, rect, arm, colour);
    }
}

fn corners(painter: &Painter, rect: Rect, arm: f32, colour: Color32) {
    let stroke = Stroke::new(3.0, colour);
    for (corner, dx, dy) in
        [(rect.left_top(), arm, arm), (rect.right_top(), -arm, arm), (rect.left_bottom(), arm, -arm), (rect.right_bottom(), -arm, -arm)]
    {
        painter.line_segment([corner, pos2(corner.x + dx, corner.y)], stroke);
        painter.line_segment([corner, pos2(corner.x, corner.y + dy)], stroke);
    }
}
