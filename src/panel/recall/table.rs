//! The table of the recall panel: what each lane scores beside what it costs; sorted by a click on a head.

use eframe::egui::{Align2, FontId, Rect, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::change::Change;
use super::column::{Column, Sort, columns};
use super::words::{bytes, counted, percent, time};
use super::{LINE, fit, reads_in_common};
use crate::metric::{Scored, Summary, full_attention_numbers, held, memory_share};
use crate::panel::common::{facts, plural};
use crate::panel::growth::n_max;
use crate::panel::{LaneLook, Look};
use crate::widget::chart::{SMALL, sign, triangle};
use crate::widget::cut;
use crate::widget::line;
use crate::widget::palette::Ink;
use crate::widget::ticks::grouped;

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The lane's place among those that run.
    pub lane: usize,
    /// Its name.
    pub name: String,
    /// Its layer's name.
    pub layer: &'static str,
    /// Its score so far, over the reads that every lane has answered: lines are compared.
    pub summary: Option<Summary>,
    /// Its score over all the reads that it has answered itself, where these are more.
    pub ahead: Option<Summary>,
    /// For a branch: what it is compared with.
    pub change: Option<Change>,
    /// Numbers held at the end of the stream by one key/value head of the lane.
    pub numbers: u64,
    /// Key/value heads of the lane.
    pub heads: usize,
    /// Numbers held by all of them.
    pub all: u64,
    /// Their share of full attention's.
    pub share: f64,
    /// Multiply-adds to write one token, over all key/value heads.
    pub write: u64,
    /// Multiply-adds to answer one read, over all query heads.
    pub read: u64,
    /// Seconds a step of the timeline, as measured.
    pub seconds: Option<f64>,
}

impl Line {
    /// The line of a lane.
    #[must_use]
    pub fn new(look: &Look<'_>, index: usize, summary: Option<Summary>) -> Self {
        let lane = &look.lanes[index];
        let (plan, own) = (lane.plan, &lane.plan.setup.stream);
        let cost = plan.kind.cost(&plan.setup);
        let (all, share) = (held(&cost, own), memory_share(&cost, own, &look.plan.stream));
        Self {
            lane: index,
            name: plan.name.clone(),
            layer: plan.kind.name(),
            summary,
            ahead: None,
            change: None,
            numbers: cost.state_numbers,
            heads: own.kv_heads(),
            all,
            share,
            write: cost.write_madds * own.kv_heads() as u64,
            read: cost.read_madds * own.query_heads() as u64,
            seconds: seconds(lane, look.plan.step, own.writes()),
        }
    }
}

/// What a lane takes for `step` writes, by what its chunks took on average.
fn seconds(lane: &LaneLook<'_>, step: usize, writes: usize) -> Option<f64> {
    let (spent, chunks) = lane.spent;
    let done = (chunks * lane.plan.setup.chunk).min(writes);
    (done > 0 && spent > 0.0).then(|| spent * step as f64 / done as f64)
}

/// A panel less wide than this has the narrow table.
const ROOM: f32 = 560.0;
/// Names of lanes are whole where they are no wider than this, and never cut to less: a table without room for that leaves its last columns
/// out, which are on hover.
const NAMES: f32 = 110.0;
/// Right of the last column.
const EDGE: f32 = 2.0;

/// Draws the table. `scored`: what scores are. `rows`: the lanes in sight; the table scrolls to the others, below its heads.
pub fn ui(ui: &mut Ui, look: &Look<'_>, lines: &[Line], scored: Scored, sort: &mut Sort, rows: usize) {
    let laid = Laid::new(ui, lines, scored);
    let (head, _) = ui.allocate_exact_size(vec2(laid.width, LINE), Sense::hover());
    laid.heads(ui, head, scored, sort);
    if rows >= lines.len() {
        laid.lines(ui, look, lines);
        return;
    }
    let gap = ui.spacing().item_spacing.y;
    let height = rows as f32 * (LINE + gap) - gap;
    let area = ScrollArea::vertical().id_salt("lanes of the table").max_height(height).min_scrolled_height(0.0);
    // What is in sight is little: not much of it may fade.
    ui.spacing_mut().scroll.fade.size = 8.0;
    area.auto_shrink([false, true]).show(ui, |ui| laid.lines(ui, look, lines));
}

/// Where everything stands in the table.
struct Laid {
    width: f32,
    columns: Vec<Column>,
    /// The names of lanes, as much of them as has room.
    names: Vec<String>,
    /// Where the names end.
    named: f32,
    /// The right edge and the width of each column after the names.
    rights: Vec<(f32, f32)>,
}

impl Laid {
    /// Every column is as wide as its widest cell; the names take what is left.
    fn new(ui: &Ui, lines: &[Line], scored: Scored) -> Self {
        let width = ui.available_width();
        let mut columns = columns(width >= ROOM, lines);
        let font = FontId::proportional(SMALL);
        let ink = Ink::of(ui);
        let measure = |text: String| ui.painter().layout_no_wrap(text, font.clone(), ink.text).size().x;
        let mut widths: Vec<f32> = columns[1..]
            .iter()
            .map(|c| lines.iter().map(|l| measure(c.text(l))).fold(measure(c.head(scored).to_owned()) + 8.0, f32::max).ceil())
            .collect();
        let longest = lines.iter().map(|l| measure(l.name.clone())).fold(0.0, f32::max).ceil() + SWATCH;
        let (kept, gap) = fit::fitting(&widths, width - EDGE - longest.min(NAMES));
        widths.truncate(kept);
        columns.truncate(kept + 1);
        let mut rights = Vec::with_capacity(columns.len());
        let mut right = width - EDGE;
        for w in widths.iter().rev() {
            rights.push((right, *w));
            right -= w + gap;
        }
        rights.reverse();
        let named = right.max(48.0);
        let whole: Vec<&str> = lines.iter().map(|l| l.name.as_str()).collect();
        let names = cut::names(&whole, (named - SWATCH).max(0.0), &|c| ui.fonts_mut(|f| f.glyph_width(&font, c)));
        Self { width, columns, names, named, rights }
    }

    fn heads(&self, ui: &Ui, head: Rect, scored: Scored, sort: &mut Sort) {
        for (i, column) in self.columns.iter().enumerate() {
            let (left, right) = match i.checked_sub(1) {
                None => (0.0, self.named),
                Some(i) => (self.rights[i].0 - self.rights[i].1, self.rights[i].0),
            };
            let rect = Rect::from_min_max(pos2(head.left() + left, head.top()), pos2(head.left() + right, head.bottom()));
            head_cell(ui, rect, *column, scored, sort);
        }
    }

    fn lines(&self, ui: &mut Ui, look: &Look<'_>, lines: &[Line]) {
        let (ink, font) = (Ink::of(ui), FontId::proportional(SMALL));
        for (line, shown) in lines.iter().zip(&self.names) {
            let (rect, response) = ui.allocate_exact_size(vec2(self.width, LINE), Sense::hover());
            let lane = &look.lanes[line.lane];
            let texts: Vec<String> = self.columns.iter().map(|c| c.text(line)).collect();
            response.widget_info(|| {
                let base = line.change.as_ref().map_or_else(String::new, |c| format!(" (changed by hand, against {})", c.name));
                WidgetInfo::labeled(Role::Label, true, texts.join(", ") + &base)
            });
            swatch(ui, rect, lane, &ink);
            ui.painter().text(rect.left_center() + vec2(28.0, 0.0), Align2::LEFT_CENTER, shown, font.clone(), ink.text);
            for ((right, _), text) in self.rights.iter().zip(&texts[1..]) {
                ui.painter().text(pos2(rect.left() + right, rect.center().y), Align2::RIGHT_CENTER, text, font.clone(), ink.text);
            }
            if response.hovered() {
                facts(&response, &line.name, &whole(look, line));
            }
        }
    }
}

/// A lane's line with its dashes and its mark.
pub fn swatch(ui: &Ui, rect: Rect, lane: &LaneLook<'_>, ink: &Ink) {
    let ends = [rect.left_center() + vec2(1.0, 0.0), rect.left_center() + vec2(23.0, 0.0)];
    line::draw(ui.painter(), &ends, Stroke::new(1.8, lane.colour), lane.dash());
    sign(ui.painter(), ends[0] + vec2(11.0, 0.0), lane.mark(), lane.colour, ink);
}

/// What the line of a lane and its mark take before its name, and what is left free after it.
const SWATCH: f32 = 30.0;

fn head_cell(ui: &Ui, rect: Rect, column: Column, scored: Scored, sort: &mut Sort) {
    let ink = Ink::of(ui);
    let response = ui.interact(rect, ui.scope_id().with(("head", column as u8)), Sense::click());
    let text = column.head(scored);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Sort by {text}")));
    let strong = response.hovered() || response.has_focus() || sort.is_by(column);
    let colour = if strong { ink.text } else { ink.quiet };
    let (at, align) =
        if column == Column::Lane { (rect.left_center(), Align2::LEFT_CENTER) } else { (rect.right_center(), Align2::RIGHT_CENTER) };
    let drawn = ui.painter().text(at, align, text, FontId::proportional(SMALL), colour);
    if sort.is_by(column) {
        let at = if column == Column::Lane { drawn.right_center() + vec2(6.0, 0.0) } else { drawn.left_center() - vec2(5.0, 0.0) };
        ui.painter().add(triangle(at, 2.6, !sort.down, colour, Stroke::NONE));
    }
    if response.clicked() {
        *sort = sort.clicked(column);
    }
    response.on_hover_text(format!("{}. A click sorts by it, a second one the other way round", column.hint(scored)));
}

/// Everything that is known of a line, for the hover.
fn whole(look: &Look<'_>, line: &Line) -> Vec<(&'static str, String)> {
    let stream = &look.plan.stream;
    let mut rows = vec![
        (Scored::of(stream.targets()).name(), counted(line.summary)),
        ("memory at the end", format!("{} numbers, {}", grouped(line.all), bytes(line.all))),
        (
            "of one head",
            format!(
                "{} numbers, {}; {}",
                grouped(line.numbers),
                bytes(line.numbers),
                plural(line.heads, "key/value head", "key/value heads")
            ),
        ),
        ("full attention keeps", format!("{} numbers a head of {}", grouped(full_attention_numbers(stream)), stream.kv_heads())),
        ("share of it", percent(line.share)),
    ];
    if let Some(change) = &line.change {
        rows.splice(1..1, change.rows(look, (line.lane, line.summary), reads_in_common(look)));
    }
    if line.ahead.is_some() {
        // No other lane's score is of these: nothing to compare it with.
        rows.insert(1, ("of all that it has answered", counted(line.ahead)));
    }
    if line.heads != stream.kv_heads() {
        rows.push(("heads", format!("{} of its own: a state for every query head", line.heads)));
    }
    if let Some(n) = n_max(look, line.lane) {
        rows.push(("reserved", format!("{}, whether they are in use or not", plural(n, "row", "rows"))));
    }
    rows.push(("multiply-adds a write", grouped(line.write)));
    rows.push(("multiply-adds a read", grouped(line.read)));
    rows.push(("time a step", format!("{}; a step is {}", time(line.seconds), plural(look.plan.step, "write", "writes"))));
    let waiting = crate::panel::common::waiting(look, line.lane);
    if !waiting.is_empty() {
        rows.push(("at the playhead", waiting));
    }
    rows
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Line, Summary};

    pub(in crate::panel::recall) fn line(lane: usize, name: &str, correct: u64, all: u64) -> Line {
        Line {
            lane,
            name: name.to_owned(),
            layer: "ovq",
            summary: (correct < 100).then_some(Summary::Recall { correct, reads: 8 }),
            ahead: None,
            change: None,
            numbers: all / 2,
            heads: 2,
            all,
            share: all as f64 / 1000.0,
            write: 30,
            read: 40,
            seconds: None,
        }
    }
}
