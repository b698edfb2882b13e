//! The columns of the list of reads: which there are, how wide, and what stands at their heads.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Align, Color32, FontId, Painter, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use super::answer::{self, Answer, Codes};
use super::list::ROW;
use crate::panel::Look;
use crate::stream::{Stream, Targets};
use crate::widget::chart::SMALL;
use crate::widget::cut;
use crate::widget::palette::Ink;

/// A list less wide than this has no texts, and of what is right only the code.
const NARROW: f32 = 330.0;
/// A column of what is right that is less wide than this has the code alone.
pub(super) const NARROW_RIGHT: f32 = 48.0;
/// Texts have at least so much room, or no column.
const TEXT: f32 = 48.0;
/// Right of a number and left of the next column.
const GAP: f32 = 10.0;
/// Free at the right of every cell.
const EDGE: f32 = 4.0;
/// A lane's square before its name.
const SWATCH: f32 = 13.0;

/// What is the same of every read of a stream: it has no column, and is said once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Same {
    /// How many writes each of them sees.
    after: Option<u32>,
    /// What is right.
    right: bool,
    /// The text, or that there is none.
    text: bool,
}

impl Same {
    /// Of a stream's reads.
    pub fn of(stream: &Stream) -> Self {
        let (labels, after) = (stream.labels(), stream.after());
        let after = after.first().copied().filter(|first| after.len() > 1 && after.iter().all(|a| a == first));
        Self {
            after,
            right: match stream.targets() {
                Targets::Codes { .. } => false,
                Targets::Values(_) => labels.answer_at.is_none(),
                Targets::FullAttention | Targets::None => true,
            },
            // A read without a text of its own has that of the newest write.
            text: labels.read_tokens.is_none() && (labels.tokens.is_none() || after.is_some()),
        }
    }

    /// What is said of it once: `, all after 4096 writes`.
    pub fn words(self, stream: &Stream, codes: &Codes) -> String {
        let after = self.after.map_or_else(String::new, |after| format!(", all after {after} writes"));
        let right = if self.right { format!("; right: {}", answer::right(stream, codes, 0).1) } else { String::new() };
        after + &right
    }
}

/// The columns: left edges and widths; of no width where they are left out.
pub(super) struct Columns {
    pub read: (f32, f32),
    pub text: (f32, f32),
    pub after: (f32, f32),
    pub right: (f32, f32),
    pub lanes: Vec<(f32, f32)>,
    /// True if there is room for margins, or cosines.
    pub wide: bool,
    /// The names of lanes, as much of them as has room.
    names: Vec<String>,
    /// True if the names have no room for a square before them.
    close: bool,
}

/// How wide columns would be.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wanted {
    read: f32,
    after: f32,
    text: f32,
    right: f32,
    /// The least for what is right: the code.
    code: f32,
    /// The least for a lane's answer, with its cross.
    answer: f32,
}

/// The widths of the columns of `width` points (read, text, after, right) and of each lane's: lanes have room for their answers first, then
/// what is right, then texts.
fn shared(width: f32, lanes: usize, wanted: Wanted) -> ([f32; 4], f32) {
    let Wanted { read, after, mut text, mut right, code, answer } = wanted;
    let (lanes, free) = (lanes.max(1) as f32, width - read - after);
    let need = lanes * answer;
    if free - text - right < need {
        right = right.min((free - text - need).max(code));
    }
    if free - text - right < need {
        let left = free - right - need;
        text = if left >= TEXT { text.min(left) } else { 0.0 };
    }
    ([read, text, after, right], ((free - text - right) / lanes).clamp(24.0, 130.0))
}

impl Columns {
    /// The columns of a list `width` points wide.
    pub fn new(ui: &Ui, look: &Look<'_>, width: f32, same: Same) -> Self {
        let stream = &look.plan.stream;
        let wide_of = |text: &str| text_width(ui, text);
        let number = |most: usize, head: &str| wide_of(&most.to_string()).max(wide_of(head)) + GAP;
        let (widest, cell) = match stream.targets() {
            Targets::Codes { codebook, .. } => {
                let last = Answer::Code(codebook.nrows().saturating_sub(1) as i32, false, 0.0);
                (last, number(codebook.nrows(), "right"))
            }
            _ => (Answer::Error(0.0, -1.0), wide_of("a vector") + GAP),
        };
        let narrow = width < NARROW;
        let wanted = Wanted {
            read: number(stream.reads(), "read"),
            after: if same.after.is_some() { 0.0 } else { number(stream.writes(), "after") },
            text: if narrow || same.text { 0.0 } else { (width * 0.16).clamp(60.0, 160.0) },
            right: match (same.right, narrow) {
                (true, _) => 0.0,
                (false, true) => 40.0,
                (false, false) => (width * 0.14).clamp(NARROW_RIGHT, 150.0),
            },
            code: cell,
            answer: wide_of(&widest.cell(false)) + EDGE + 2.0,
        };
        let (fixed, each) = shared(width, look.lanes.len(), wanted);
        let mut left = 0.0;
        let mut take = |w: f32| {
            let at = (left, w);
            left += w;
            at
        };
        let [read, text, after, right] = fixed.map(&mut take);
        let lanes = look.lanes.iter().map(|_| take(each)).collect();
        let whole: Vec<&str> = look.lanes.iter().map(|l| l.plan.name.as_str()).collect();
        let close = whole.iter().any(|name| wide_of(name) > each - EDGE - SWATCH);
        let names = cut::names(&whole, each - EDGE, &|c: char| wide_of(c.encode_utf8(&mut [0; 4])));
        Self { read, text, after, right, lanes, wide: wide_of(&widest.cell(true)) <= each - EDGE, names, close }
    }

    /// What the text of a lane's answer may take.
    pub fn room(&self) -> f32 {
        self.lanes.first().map_or(0.0, |(_, width)| width - EDGE)
    }
}

/// How wide a small text is.
pub(super) fn text_width(ui: &Ui, text: &str) -> f32 {
    let font = FontId::proportional(SMALL);
    ui.fonts_mut(|f| text.chars().map(|c| f.glyph_width(&font, c)).sum())
}

/// Draws the heads of the columns. Where columns are narrow, a lane's colour is a line below its name; its whole name is on hover.
pub(super) fn head(ui: &mut Ui, look: &Look<'_>, columns: &Columns) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let ink = Ink::of(ui);
    for (column, text) in [(columns.read, "read"), (columns.text, "text"), (columns.after, "after"), (columns.right, "right")] {
        cell(ui.painter(), rect, column, text, (ink.quiet, Align::Min));
    }
    for (index, (column, name)) in columns.lanes.iter().zip(&columns.names).enumerate() {
        let (area, lane) = (place(rect, *column), &look.lanes[index]);
        let whole = lane.plan.name.as_str();
        let response = ui.interact(area, ui.scope_id().with(("head of a lane", index)), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, whole));
        response.on_hover_text(whole);
        cell(ui.painter(), rect, *column, name, (ink.quiet, Align::Max));
        let colour = if columns.close {
            Rect::from_min_max(pos2(area.left(), area.bottom() - 2.0), area.max)
        } else {
            let right = area.right() - text_width(ui, name) - 3.0;
            Rect::from_center_size(pos2(right - 5.0, area.center().y), vec2(10.0, 10.0))
        };
        ui.painter().rect_filled(colour, if columns.close { 0.0 } else { 2.0 }, lane.colour);
    }
}

fn place(row: Rect, (left, width): (f32, f32)) -> Rect {
    Rect::from_min_max(pos2(row.left() + left, row.top()), pos2(row.left() + left + (width - EDGE).max(0.0), row.bottom()))
}

/// A text in a column of a row, at its left or its right; cut where it is too long.
pub(super) fn cell(painter: &Painter, row: Rect, column: (f32, f32), text: &str, (colour, align): (Color32, Align)) {
    let area = place(row, column);
    if area.width() > 1.0 && !text.is_empty() {
        let mut job = LayoutJob::simple_singleline(text.to_owned(), FontId::proportional(SMALL), colour);
        // What was measured fits, whatever is rounded.
        job.wrap = TextWrapping::truncate_at_width(area.width() + 0.5);
        let galley = painter.layout_job(job);
        let left = if align == Align::Max { area.right() - galley.size().x } else { area.left() };
        painter.galley(pos2(left, area.center().y - galley.size().y / 2.0), galley, colour);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted = Wanted { read: 32.0, after: 0.0, text: 63.0, right: 55.0, code: 33.0, answer: 34.0 };

    #[test]
    fn answers_have_room_before_what_is_right_and_texts_have_theirs() {
        // 394 - 32 are 362 points. Two lanes: all that is wanted, and no lane has more than 130.
        assert_eq!(shared(394.0, 2, WANTED), ([32.0, 63.0, 0.0, 55.0], 122.0));
        // Seven lanes need 238 of the 244 that are left.
        assert_eq!(shared(394.0, 7, WANTED).0.to_vec(), vec![32.0, 63.0, 0.0, 55.0]);
        // Eight need 272: what is right has its least, and texts what is left.
        assert_eq!(shared(394.0, 8, WANTED), ([32.0, 57.0, 0.0, 33.0], 34.0));
        // Nine need 306, which leaves 23 for texts: too little for any.
        let (fixed, each) = shared(394.0, 9, WANTED);
        assert_eq!(fixed.to_vec(), vec![32.0, 0.0, 0.0, 33.0]);
        assert!(each > 34.0, "{each}");
    }
}
