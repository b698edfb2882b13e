//! What stands above and below a plot: the names of its axes and its legend, cut where there is no room, whole on hover.

use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Color32, FontId, Galley, Id, Painter, Rect, Role, Sense, Ui, Vec2, WidgetInfo, pos2, vec2};

use super::chart::{Entry, SMALL, Sign, sign};
use super::line::Dash;
use super::palette::Ink;

/// Points between the entries of a legend, and between it and the axis' name.
const GAP: f32 = 10.0;
/// A plot lower than this spends one row on its name and legend, whatever is cut.
const LOW: f32 = 130.0;
/// What is left of an axis' name at least where a legend stands beside it: a few letters and the dots.
const LETTERS: f32 = 34.0;

/// Rows above a plot of `size`: 2 where the name of the upward axis and the legend do not fit beside each other, else 1; 1 in
/// a low plot, which needs its height.
#[must_use]
pub fn head_rows(ui: &Ui, size: Vec2, label: &str, legend: &[Entry]) -> usize {
    let width = |text: &str| text_width(ui.painter(), text);
    // The plot itself is narrower than what is taken by its ticks' numbers at the left, not by anything at this height.
    let wanted = 2.0 + width(label) + legend.iter().map(|e| GAP + e.room() + width(&e.text)).sum::<f32>();
    if size.y >= LOW && !legend.is_empty() && !label.is_empty() && wanted > size.x - 6.0 { 2 } else { 1 }
}

fn text_width(painter: &Painter, text: &str) -> f32 {
    painter.layout_no_wrap(text.to_owned(), FontId::proportional(SMALL), Color32::GRAY).size().x
}

/// A text on one line, cut with an ellipsis where it is wider than `width`.
pub(super) fn elided(painter: &Painter, text: &str, width: f32, colour: Color32) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), FontId::proportional(SMALL), colour);
    job.wrap = TextWrapping::truncate_at_width(width.max(0.0) + 0.5);
    painter.layout_job(job)
}

/// Shows the whole of a text that was cut when the pointer is over what is left of it.
pub(super) fn whole_on_hover(ui: &Ui, place: Rect, galley: &Galley, whole: &str) {
    if galley.elided {
        tip(ui, place, ("whole", whole), whole);
    }
}

fn tip(ui: &Ui, place: Rect, salt: (&str, &str), text: &str) {
    let id: Id = ui.scope_id().with(salt).with((place.left() as i32, place.top() as i32));
    ui.interact(place, id, Sense::hover()).on_hover_text(text);
}

/// How many entries of a legend stand in `room`, where `widths` are theirs with the gap behind each and `more` that of `+2`:
/// all, or as many of the first as leave room to say how many are missing.
fn fitting(widths: &[f32], room: f32, more: f32) -> usize {
    if widths.iter().sum::<f32>() - GAP <= room {
        return widths.len();
    }
    let mut used = more;
    widths
        .iter()
        .take_while(|w| {
            used += **w;
            used <= room
        })
        .count()
}

/// The room of an axis' name beside a legend that is `all` wide: the name gives way until few letters are left of it, so that every entry
/// is there; where they are not even then, it keeps a third.
fn title_room(width: f32, all: f32) -> f32 {
    let left = width - all - GAP;
    if left >= LETTERS { left } else { width * 0.35 }
}

/// What a sign looks like, in words.
fn sign_in_words(sign: Sign) -> String {
    let line = |dash: Dash| match dash {
        Dash::Solid => "line",
        Dash::Long => "dashed line",
        Dash::Dots => "dotted line",
        Dash::DashDot => "line of dashes and dots",
    };
    match sign {
        Sign::Dot => "dot".to_owned(),
        Sign::Ring => "ring".to_owned(),
        Sign::Diamond => "diamond".to_owned(),
        Sign::Square => "square".to_owned(),
        Sign::Stripes => "striped square".to_owned(),
        Sign::Dotted => "dotted square".to_owned(),
        Sign::Line(dash) => line(dash).to_owned(),
        Sign::Marked(dash, mark) => format!("{} with a {}", line(dash), sign_in_words(*mark)),
        Sign::Up => "triangle".to_owned(),
        Sign::Down => "open triangle, point down".to_owned(),
        Sign::Ramp(_) | Sign::Shade(_) => "range of colours".to_owned(),
    }
}

/// A legend in words, all of it, whatever has room on the screen: `Legend: window (striped square); cache (square).`
pub(super) fn in_words(legend: &[Entry]) -> String {
    let each: Vec<String> = legend.iter().map(|entry| format!("{} ({})", entry.text, sign_in_words(entry.sign))).collect();
    format!("Legend: {}.", each.join("; "))
}

/// The axis' name and the legend, in one row or two.
pub(super) fn draw_head(ui: &Ui, painter: &Painter, ink: &Ink, area: Rect, label: &str, legend: &[Entry], rows: usize) {
    let widths: Vec<f32> = legend.iter().map(|e| e.room() + text_width(painter, &e.text) + GAP).collect();
    let more = text_width(painter, "+0");
    let all = widths.iter().sum::<f32>() - GAP;
    let room = if rows > 1 || legend.is_empty() { area.width() } else { title_room(area.width(), all) };
    let title = elided(painter, label, room, ink.quiet);
    let place = Rect::from_min_size(area.min, title.size());
    let (left, top) = match (rows > 1, label.is_empty()) {
        (true, _) => (area.left(), area.bottom() - 4.0 - title.size().y),
        (false, true) => (area.left(), area.top()),
        (false, false) => (place.right() + GAP, area.top()),
    };
    whole_on_hover(ui, place, &title, label);
    painter.galley(place.min, title, ink.quiet);
    let shown = fitting(&widths, area.right() - left, more);
    let hidden = &legend[shown..];
    let extra = if hidden.is_empty() { -GAP } else { more };
    let mut at = pos2(area.right() - extra - widths[..shown].iter().sum::<f32>(), top);
    for (entry, width) in legend.iter().zip(&widths).take(shown) {
        let text = elided(painter, &entry.text, f32::INFINITY, ink.quiet);
        sign(painter, pos2(at.x + entry.room() / 2.0 - 2.0, top + text.size().y / 2.0), entry.sign, entry.colour, ink);
        painter.galley(at + vec2(entry.room(), 0.0), text, ink.quiet);
        at.x += width;
    }
    if !hidden.is_empty() {
        let text = elided(painter, &format!("+{}", hidden.len()), f32::INFINITY, ink.text);
        let place = Rect::from_min_size(at, text.size());
        painter.galley(at, text, ink.text);
        rest(ui, place, hidden);
    }
}

/// The entries of a legend that had no room, on hover.
fn rest(ui: &Ui, place: Rect, hidden: &[Entry]) {
    let id = ui.scope_id().with("rest of a legend").with((place.left() as i32, place.top() as i32));
    let response = ui.interact(place, id, Sense::hover());
    let names: Vec<&str> = hidden.iter().map(|e| e.text.as_str()).collect();
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("also drawn: {}", names.join(", "))));
    response.on_hover_ui(|ui| {
        for entry in hidden {
            ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(entry.room(), 12.0), Sense::hover());
                sign(ui.painter(), rect.center(), entry.sign, entry.colour, &Ink::of(ui));
                ui.label(&entry.text);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_axis_gives_way_before_an_entry_does() {
        assert!((title_room(300.0, 190.0) - 100.0).abs() < 1e-3, "300 - 190 - 10");
        assert!((title_room(300.0, 250.0) - 40.0).abs() < 1e-3, "less than a third, and every entry is there");
        assert!((title_room(300.0, 270.0) - 105.0).abs() < 1e-3, "20 points are no name: entries have to go, and the name stays");
    }

    #[test]
    fn a_legend_is_said_in_full_with_its_signs() {
        let entries = [
            Entry::new(Sign::Stripes, Color32::BLUE, "window"),
            Entry::new(Sign::Line(Dash::Dots), Color32::BLUE, "N"),
            Entry::new(Sign::Marked(Dash::Long, &Sign::Up), Color32::BLUE, "LoLA"),
        ];
        assert_eq!(in_words(&entries), "Legend: window (striped square); N (dotted line); LoLA (dashed line with a triangle).");
    }

    #[test]
    fn a_legend_that_does_not_fit_keeps_room_to_say_so() {
        // Three entries of 40 with a gap of 10 behind each: 140 without the last gap.
        let widths = [50.0, 50.0, 50.0];
        assert_eq!(fitting(&widths, 140.0, 12.0), 3);
        assert_eq!(fitting(&widths, 139.0, 12.0), 2, "50 + 50 + 12 of 139");
        assert_eq!(fitting(&widths, 111.0, 12.0), 1);
        assert_eq!((fitting(&widths, 30.0, 12.0), fitting(&[], 0.0, 12.0)), (0, 0));
    }
}
