//! The cards of the start page: as many beside each other as the window has room for, each a button.

use std::borrow::Cow;
use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    Color32, FontId, Galley, Id, Image, Rect, Response, Role, Sense, Stroke, StrokeKind, TextStyle, Ui, WidgetInfo, pos2, vec2,
};

use super::Card;
use super::pictures::{Pictures, SIZE};
use crate::app::command::Command;
use crate::app::theme;

/// The least width of a card, and the most.
const WIDTH: [f32; 2] = [264.0, 360.0];
/// Between cards.
const GAP: f32 = 14.0;
/// Within a card.
const PAD: f32 = 10.0;
/// Lines of a caption; where it has more, all of it is in the hover.
const LINES: usize = 7;

/// How many cards lie beside each other in this width, and how wide each is.
fn columns(width: f32) -> (usize, f32) {
    let count = ((width + GAP) / (WIDTH[0] + GAP)).floor().max(1.0);
    (count as usize, ((width - GAP * (count - 1.0)) / count).clamp(80.0, WIDTH[1]))
}

/// Draws the cards; the first takes the focus if `first` is true, which is then false.
pub(super) fn grid(ui: &mut Ui, cards: &[Card], pictures: &Pictures, first: &mut bool, commands: &mut Vec<Command>) {
    let (count, width) = columns(ui.available_width());
    for row in cards.chunks(count) {
        let texts: Vec<Text> = row.iter().map(|card| Text::new(ui, card, width - 2.0 * PAD)).collect();
        let words = texts.iter().map(Text::height).fold(0.0, f32::max);
        // Without a picture in it, a row is lower.
        let high = if row.iter().any(|c| c.picture.is_some()) { width * SIZE[1] as f32 / SIZE[0] as f32 } else { 0.0 };
        let (_, all) = ui.allocate_space(vec2(ui.available_width(), high + words + GAP));
        for (i, (card, text)) in row.iter().zip(&texts).enumerate() {
            let left = all.left() + i as f32 * (width + GAP);
            let rect = Rect::from_min_size(pos2(left, all.top()), vec2(width, high + words));
            let response = ui.interact(rect, Id::unique("start page").with(card.title), Sense::click());
            if std::mem::take(first) {
                response.request_focus();
            }
            if ui.is_rect_visible(rect) {
                paint(ui, rect, high, card, text, pictures, &response);
            }
            said(ui, card, &response);
            let clicked = response.clicked();
            if let Some(rest) = text.untold(card) {
                response.on_hover_text(rest);
            }
            if clicked {
                commands.push(card.command.clone());
            }
        }
    }
}

/// What a screen reader says.
fn said(ui: &Ui, card: &Card, response: &Response) {
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Open {}", card.title)));
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_description(format!("{} {}", card.caption, card.note)));
}

/// The words of a card, laid out.
struct Text {
    title: Arc<Galley>,
    caption: Arc<Galley>,
    /// True if this is not all of the caption.
    cut: bool,
    note: Arc<Galley>,
}

impl Text {
    fn new(ui: &Ui, card: &Card, width: f32) -> Self {
        let (strong, plain) = (ui.visuals().strong_text_color(), ui.visuals().text_color());
        let small = TextStyle::Small.resolve(ui.style());
        let body = TextStyle::Body.resolve(ui.style());
        let of_caption = FontId::new(small.size + 0.5, small.family.clone());
        let lay = |text: &str| lines(ui, text, of_caption.clone(), plain, width, usize::MAX);
        let caption = fitted(card.caption, LINES, |text| lay(text).rows.len());
        Self {
            title: lines(ui, card.title, FontId::new(body.size + 1.0, body.family), strong, width, 2),
            caption: lay(&caption),
            cut: caption != card.caption,
            note: lines(ui, &card.note, small, ui.visuals().weak_text_color(), width, 1),
        }
    }

    /// What of a card's words is not on it in full.
    fn untold(&self, card: &Card) -> Option<String> {
        let all = [(self.title.elided, card.title), (self.cut, card.caption), (self.note.elided, card.note.as_str())];
        let cut: Vec<&str> = all.into_iter().filter(|(cut, _)| *cut).map(|(_, text)| text).collect();
        (!cut.is_empty()).then(|| cut.join("\n"))
    }

    fn height(&self) -> f32 {
        self.title.size().y + self.caption.size().y + self.note.size().y + 3.0 * PAD
    }
}

/// Where the sentences of a text end, all but the last.
fn sentence_ends(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let ends = text.match_indices(['.', '?', '!']).map(|(at, end)| at + end.len());
    ends.filter(move |end| {
        let mut after = text[*end..].chars();
        after.next() == Some(' ') && after.next().is_some_and(|c| !c.is_lowercase())
    })
}

/// What of a text stands in `most` lines, where `rows` says how many a text takes: all of it; or its first sentences, where these fill more
/// than half of the lines; or its first words and an ellipsis.
fn fitted(text: &str, most: usize, rows: impl Fn(&str) -> usize) -> Cow<'_, str> {
    if rows(text) <= most {
        return Cow::Borrowed(text);
    }
    let sentences = sentence_ends(text).rev().map(|end| (&text[..end], rows(&text[..end]))).find(|(_, rows)| *rows <= most);
    if let Some((whole, rows)) = sentences
        && 2 * rows > most
    {
        return Cow::Borrowed(whole);
    }
    let cut = |end: usize| format!("{}…", text[..end].trim_end_matches([',', ';', ':', '.', ' ']));
    let ends: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    let fit = ends.partition_point(|end| rows(&cut(*end)) <= most);
    Cow::Owned(fit.checked_sub(1).map_or_else(|| "…".to_owned(), |last| cut(ends[last])))
}

/// A text in at most so many lines; what does not fit ends in dots.
fn lines(ui: &Ui, text: &str, font: FontId, colour: Color32, width: f32, most: usize) -> Arc<Galley> {
    let mut job = LayoutJob::simple(text.to_owned(), font, colour, width);
    job.wrap = TextWrapping { max_width: width, max_rows: most, break_anywhere: false, ..TextWrapping::default() };
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}

fn paint(ui: &Ui, rect: Rect, high: f32, card: &Card, text: &Text, pictures: &Pictures, response: &Response) {
    let (visuals, painter) = (ui.visuals(), ui.painter());
    let active = response.hovered() || response.has_focus();
    painter.rect_filled(rect, 6.0, if active { visuals.widgets.hovered.weak_bg_fill } else { visuals.faint_bg_color });
    let picture = Rect::from_min_size(rect.min, vec2(rect.width(), high)).shrink(1.0);
    match pictures.of(card.name).filter(|_| card.picture.is_some()) {
        Some(texture) => {
            // The pictures are of the light theme: in the dark they would glare.
            let tint = if visuals.dark_mode { Color32::from_gray(190) } else { Color32::WHITE };
            Image::new((texture.id(), picture.size())).tint(tint).corner_radius(5.0).paint_at(ui, picture);
        }
        None if high > 0.0 => {
            painter.rect_filled(picture, 5.0, visuals.extreme_bg_color);
        }
        None => {}
    }
    let stroke = if active { Stroke::new(1.5, theme::accent(visuals.dark_mode)) } else { visuals.widgets.noninteractive.bg_stroke };
    painter.rect_stroke(rect, 6.0, stroke, StrokeKind::Inside);
    let mut at = pos2(rect.left() + PAD, rect.top() + high + PAD);
    for galley in [&text.title, &text.caption] {
        painter.galley(at, Arc::clone(galley), visuals.text_color());
        at.y += galley.size().y + PAD * 0.5;
    }
    painter.galley(pos2(at.x, rect.bottom() - PAD * 0.8 - text.note.size().y), Arc::clone(&text.note), visuals.text_color());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caption_ends_with_a_sentence_or_a_word() {
        // Lines of ten letters.
        let rows = |text: &str| text.chars().count().div_ceil(10);
        let text = "One is 0.5 of two. Two, say, is more. e.g. three? Yes it is.";
        assert_eq!(text.len(), 60);
        assert_eq!(
            sentence_ends(text).collect::<Vec<_>>(),
            [18, 49],
            "a number has no end in it, and a sentence no small letter at its start"
        );
        assert_eq!(fitted(text, 6, rows), text);
        assert_eq!(fitted(text, 5, rows), "One is 0.5 of two. Two, say, is more. e.g. three?");
        assert_eq!(fitted(text, 3, rows), "One is 0.5 of two.", "two of three lines");
        // One sentence would leave half of the lines empty: words fill them. 37 letters, and the ellipsis.
        assert_eq!(fitted(text, 4, rows), "One is 0.5 of two. Two, say, is more…");
        assert_eq!(fitted(text, 1, rows), "One is…");
        assert_eq!(fitted("Incomprehensibilities", 1, rows), "…");
    }

    #[test]
    fn cards_fill_the_width_and_narrow_windows_have_fewer() {
        for (width, count) in [(1392.0, 5), (852.0, 3), (560.0, 2), (300.0, 1), (100.0, 1)] {
            let (found, each) = columns(width);
            assert_eq!(found, count, "{width}");
            let all = found as f32 * (each + GAP) - GAP;
            assert!(all <= width + 0.01 && (all > width - 0.01 || each == WIDTH[1]), "{width}: {all}");
        }
    }
}
