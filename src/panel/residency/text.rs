//! The text of the stream, each token in the colour and with the line of the memory that holds it at the playhead, for any lane.

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{
    Color32, FontId, Galley, Painter, Pos2, Rect, Response, Role, ScrollArea, Sense, Stroke, StrokeKind, TextStyle, Ui, WidgetInfo, pos2,
    vec2,
};

use super::held::held;
use super::text_rows::{PAD, Rows, shown};
use crate::app::command::Command;
use crate::app::facts::Index;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::common::{
    Key, chunk_noun, chunks_seen, facts, head_of, is_marked, marked_name, point_at, role_name, token_name, writes_seen,
};
use crate::panel::{Look, Pin};
use crate::session::hand;
use crate::widget::cached::{self, Cached};
use crate::widget::chart::SMALL;
use crate::widget::line::{self, Dash};
use crate::widget::palette::{Ink, blend};
use crate::widget::ticks::grouped;

/// Where a token is, as far as its look goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Raw in a window.
    Window,
    /// Written, and raw until the lane's chunk is over.
    Raw,
    /// Kept whole: in the cache, by full attention; or the founder of a centroid.
    Whole,
    /// Folded into a state, or into a centroid's mean.
    Folded,
    /// Nowhere any more.
    Gone,
    /// Not written yet.
    NotYet,
}

const ALL: [Where; 6] = [Where::Window, Where::Raw, Where::Whole, Where::Folded, Where::Gone, Where::NotYet];

/// How a lane remembers: what says where a token is.
enum Memory<'a> {
    Lola {
        index: &'a Residency,
        chunks: usize,
    },
    /// All in one state, but for those before a write, which a hand forgot; and whether one forgets any at some step.
    State {
        from: usize,
        forgets: bool,
    },
    /// Which writes founded a row; none in a fixed codebook. The row that took each, those that hands have deleted, and whether
    /// hands ever delete one.
    Dictionary {
        is_new: &'a [i32],
        fixed: bool,
        rows: &'a [i32],
        deleted: Vec<usize>,
        deletes: bool,
    },
    Window(usize),
    Full,
}

impl Memory<'_> {
    /// Of a lane that folds all it sees into one state.
    fn state(look: &Look<'_>, lane: usize) -> Self {
        let (setup, seen) = (&look.lanes[lane].plan.setup, writes_seen(look, lane));
        let head = look.head_of_lane(lane);
        let forgets = hand::forgotten(&setup.hands, head, usize::MAX).is_some();
        let from = hand::forgotten(&setup.hands, head, chunks_seen(look, lane)).map_or(0, |step| (step * setup.chunk).min(seen));
        Self::State { from, forgets }
    }
}

struct Places<'a> {
    memory: Memory<'a>,
    /// Writes in the memory, and those before the playhead.
    seen: usize,
    written: usize,
    /// What the lane's chunks are called: `step` or `chunk`.
    noun: &'static str,
}

impl<'a> Places<'a> {
    fn new(look: &Look<'a>, lane: usize, indexed: &'a mut Index) -> Self {
        let (plan, trace) = (look.lanes[lane].plan, look.lanes[lane].trace);
        let (seen, written) = (writes_seen(look, lane), look.writes);
        let memory = if trace.channel("admitted").is_some() {
            match held(indexed, look, lane) {
                Some(held) => Memory::Lola { index: held.index, chunks: held.chunks },
                None => Memory::state(look, lane),
            }
        } else if let Some(rows) = trace.channel("assignments") {
            let (is_new, head, hands) = (trace.channel("is_new"), head_of(rows, look), &plan.setup.hands);
            Memory::Dictionary {
                is_new: is_new.map_or(&[], |c| c.wholes(head)),
                fixed: is_new.is_none(),
                rows: rows.wholes(head),
                deleted: hand::dead_rows(hands, head, chunks_seen(look, lane)),
                deletes: !hand::dead_rows(hands, head, usize::MAX).is_empty(),
            }
        } else if plan.kind.name() == "full" {
            Memory::Full
        } else if plan.kind.name() == "window" {
            Memory::Window(plan.setup.params.size("window"))
        } else {
            Memory::state(look, lane)
        };
        Self { memory, seen, written, noun: chunk_noun(look.plan, plan) }
    }

    fn at(&self, write: usize) -> Where {
        if write >= self.seen {
            return if write < self.written { Where::Raw } else { Where::NotYet };
        }
        match &self.memory {
            Memory::Lola { index, chunks } => match index.at(write, *chunks) {
                Place::NotYet => Where::NotYet,
                Place::Window => Where::Window,
                Place::Cache => Where::Whole,
                Place::State => Where::Folded,
                Place::Gone => Where::Gone,
            },
            Memory::Dictionary { rows, deleted, .. } if !deleted.is_empty() && in_one(rows, write, deleted) => Where::Gone,
            Memory::Dictionary { is_new, .. } if is_new.get(write) == Some(&1) => Where::Whole,
            Memory::State { from, .. } if write < *from => Where::Gone,
            Memory::Dictionary { .. } | Memory::State { .. } => Where::Folded,
            Memory::Window(window) => {
                if write + window >= self.seen {
                    Where::Window
                } else {
                    Where::Gone
                }
            }
            Memory::Full => Where::Whole,
        }
    }

    /// What a place is called in this lane.
    fn name(&self, place: Where) -> &'static str {
        match (place, &self.memory) {
            (Where::Window, _) => "window",
            (Where::Raw, _) => "raw chunk",
            (Where::Whole, Memory::Lola { .. }) => "cache",
            (Where::Whole, Memory::Dictionary { .. }) => "founder",
            (Where::Whole, _) => "kept whole",
            (Where::Folded, Memory::Dictionary { fixed: true, .. }) => "code",
            (Where::Folded, Memory::Dictionary { .. }) => "centroid",
            (Where::Folded, _) => "state",
            (Where::Gone, Memory::Dictionary { .. }) => "deleted",
            (Where::Gone, _) => "forgotten",
            (Where::NotYet, _) => "not yet",
        }
    }

    /// True for a place that this lane's memory has, so that the legend keeps its length while the run plays.
    fn has(&self, place: Where) -> bool {
        match place {
            Where::Window => matches!(self.memory, Memory::Lola { .. } | Memory::Window(_)),
            Where::Raw => self.seen < self.written,
            Where::Whole => !matches!(self.memory, Memory::Window(_) | Memory::State { .. } | Memory::Dictionary { fixed: true, .. }),
            Where::Folded => !matches!(self.memory, Memory::Window(_) | Memory::Full),
            Where::Gone => match &self.memory {
                Memory::Lola { index, .. } => !index.forgets().is_empty(),
                Memory::State { forgets, .. } => *forgets,
                Memory::Dictionary { deletes, .. } => *deletes,
                Memory::Window(_) => true,
                Memory::Full => false,
            },
            Where::NotYet => true,
        }
    }
}

/// True for a write that one of these rows took.
fn in_one(rows: &[i32], write: usize, deleted: &[usize]) -> bool {
    rows.get(write).and_then(|&row| usize::try_from(row).ok()).is_some_and(|row| deleted.contains(&row))
}

/// What a token's box looks like.
#[derive(Clone, Copy)]
struct Style {
    fill: Color32,
    text: Color32,
    /// A line below: its colour, its width and its dashes.
    line: Option<(Color32, f32, Dash)>,
    frame: Option<Color32>,
}

fn style_of(place: Where, ink: &Ink) -> Style {
    let plain = Style { fill: Color32::TRANSPARENT, text: ink.text, line: None, frame: None };
    match place {
        Where::Window => Style { fill: blend(ink.paper, ink.window, 0.30), line: Some((ink.window, 2.4, Dash::Solid)), ..plain },
        Where::Raw => Style { line: Some((ink.window, 1.6, Dash::Long)), ..plain },
        // Black on yellow reads in both themes.
        Where::Whole => {
            Style { fill: ink.cache, text: Color32::from_gray(16), frame: Some(blend(ink.cache, Color32::BLACK, 0.45)), ..plain }
        }
        Where::Folded => Style { fill: blend(ink.paper, ink.state, 0.55), line: Some((ink.plain, 1.0, Dash::Solid)), ..plain },
        Where::Gone => Style { text: ink.quiet, ..plain },
        Where::NotYet => Style { text: blend(ink.paper, ink.text, 0.62), ..plain },
    }
}

/// A token's box, its letters and its line.
fn paint(painter: &Painter, rect: Rect, galley: &Arc<Galley>, place: Where, ink: &Ink) {
    let style = style_of(place, ink);
    painter.rect_filled(rect, 2.0, style.fill);
    let at = pos2(rect.left() + PAD, rect.center().y - galley.size().y / 2.0);
    painter.galley_with_override_text_color(at, Arc::clone(galley), style.text);
    let under = |y: f32| [pos2(rect.left() + 1.0, y), pos2(rect.right() - 1.0, y)];
    if let Some((colour, width, dash)) = style.line {
        line::draw(painter, &under(rect.bottom() - width / 2.0), Stroke::new(width, colour), dash);
    }
    if let Some(frame) = style.frame {
        painter.rect_stroke(rect, 2.0, Stroke::new(1.0, frame), StrokeKind::Inside);
    }
    if place == Where::Gone {
        painter.line_segment(under(rect.center().y), Stroke::new(1.0, style.text));
    }
}

/// The letters of some rows.
type Letters = Vec<Arc<Galley>>;

/// See the module's page.
#[derive(Default)]
pub(super) struct Text {
    rows: Cached<Key<(u32, u32)>, Rows>,
    letters: Cached<Key<(u32, u32, Range<usize>, cached::Letters)>, Letters>,
    counts: Cached<Key<(usize, usize)>, [usize; 6]>,
    /// True once it has been shown: before that it begins at the selected token, or the playhead.
    shown: bool,
}

impl Text {
    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize, indexed: &mut Index, commands: &mut Vec<Command>) {
        let ink = Ink::of(ui);
        let places = Places::new(look, lane, indexed);
        let writes = look.plan.stream.writes();
        let counts = *self.counts.get(Key::new(look, lane, look.query_head, places.seen, (places.written, look.kv_head)), || {
            let mut counts = [0; 6];
            (0..writes).for_each(|w| counts[places.at(w) as usize] += 1);
            counts
        });
        let goal = controls(ui, look, &places, counts, &ink);
        let font = TextStyle::Body.resolve(ui.style());
        let bar = ui.spacing().scroll.allocated_width().max(8.0);
        let width = (ui.available_width() - bar - 4.0).max(30.0);
        // The text and its width, to a point, are all that rows depend on.
        let size = (width as u32, (font.size * 8.0) as u32);
        let rows = self.rows.get(Key::new(look, 0, 0, 0, size), || {
            ui.fonts_mut(|fonts| Rows::new(&look.plan.stream, size.0 as f32, |c| fonts.glyph_width(&font, c)))
        });
        let height = ui.fonts_mut(|f| f.row_height(&font)).ceil() + 5.0;
        ui.spacing_mut().item_spacing.y = 0.0;
        let mut area = ScrollArea::vertical().id_salt("text").auto_shrink(false);
        let first = if self.shown { None } else { Some(look.selection.token.unwrap_or_else(|| look.writes.saturating_sub(1))) };
        if let Some(token) = goal.or(first) {
            let middle = (ui.available_height() - height) / 2.0;
            area = area.vertical_scroll_offset((rows.row_of(token.min(writes.saturating_sub(1))) as f32 * height - middle).max(0.0));
            self.shown = true;
            ui.ctx().request_repaint();
        }
        let describe = describe(look, lane, &places, counts);
        let letters = &mut self.letters;
        area.show_rows(ui, height, rows.len(), |ui, range| {
            let within = (size.0, size.1, range.clone(), cached::Letters::of(ui));
            let letters = letters.get(Key::new(look, 0, 0, 0, within), || letters_of(ui, look, rows, range.clone(), &font));
            body(ui, look, (&places, rows, letters), (range, height), &describe, commands);
        });
    }
}

/// The legend, with how many tokens each memory holds, and the two ways to scroll. The token to scroll to, if one was asked for.
fn controls(ui: &mut Ui, look: &Look<'_>, places: &Places<'_>, counts: [usize; 6], ink: &Ink) -> Option<usize> {
    let mut goal = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let font = FontId::proportional(SMALL + 1.0);
        for place in ALL.into_iter().filter(|p| places.has(*p)) {
            let text = format!("{} {}", places.name(place), grouped(counts[place as usize] as u64));
            let galley = ui.painter().layout_no_wrap(text.clone(), font.clone(), ink.text);
            let (rect, response) = ui.allocate_exact_size(galley.size() + vec2(2.0 * PAD + 4.0, 3.0), Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text.clone()));
            paint(ui.painter(), rect, &galley, place, ink);
        }
        if let Some(name) = marked_name(&look.plan.stream) {
            let galley = ui.painter().layout_no_wrap(name.to_owned(), font, ink.text);
            let (rect, response) = ui.allocate_exact_size(galley.size() + vec2(2.0 * PAD + 4.0, 3.0), Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("{name}: a line above")));
            ui.painter().galley(rect.min + vec2(PAD + 2.0, 2.0), galley, ink.text);
            over(ui.painter(), rect, ink);
        }
        if ui.small_button("Playhead").on_hover_text("Scroll to the newest token that is written").clicked() {
            goal = Some(look.writes.saturating_sub(1));
        }
        if let Some(token) = look.selection.token
            && ui.small_button("Selected").on_hover_text("Scroll to the selected token").clicked()
        {
            goal = Some(token);
        }
    });
    goal
}

/// The line above a token of the marked role.
fn over(painter: &Painter, rect: Rect, ink: &Ink) {
    painter.line_segment([pos2(rect.left(), rect.top() + 0.5), pos2(rect.right(), rect.top() + 0.5)], Stroke::new(2.2, ink.mark));
}

fn letters_of(ui: &Ui, look: &Look<'_>, rows: &Rows, range: Range<usize>, font: &FontId) -> Letters {
    let tokens = rows.tokens(range.start).start..rows.tokens(range.end.saturating_sub(1)).end;
    tokens.map(|w| ui.painter().layout_no_wrap(shown(&look.plan.stream, w), font.clone(), Color32::PLACEHOLDER)).collect()
}

fn describe(look: &Look<'_>, lane: usize, places: &Places<'_>, counts: [usize; 6]) -> String {
    let parts: Vec<String> =
        ALL.into_iter().filter(|p| counts[*p as usize] > 0).map(|p| format!("{} {}", counts[p as usize], places.name(p))).collect();
    format!("Text of {} tokens by where lane {} holds them: {}", look.plan.stream.writes(), look.lanes[lane].plan.name, parts.join(", "))
}

/// The rows in sight.
fn body(
    ui: &mut Ui,
    look: &Look<'_>,
    (places, rows, letters): (&Places<'_>, &Rows, &Letters),
    (range, height): (Range<usize>, f32),
    describe: &str,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let size = vec2(ui.available_width(), range.len() as f32 * height);
    let (area, response) = ui.allocate_exact_size(size, Sense::CLICK);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, describe));
    let painter = ui.painter_at(area);
    let first = rows.tokens(range.start).start;
    let place_of = |row: usize, write: usize| {
        let [left, right] = rows.edges(write);
        let top = area.top() + (row - range.start) as f32 * height + 1.5;
        Rect::from_min_max(pos2(area.left() + left, top), pos2(area.left() + right, top + height - 3.0))
    };
    let pinned = if let Some(Pin::Moment(at)) = look.selection.pin { Some(at) } else { None };
    for row in range.clone() {
        for write in rows.tokens(row) {
            let rect = place_of(row, write);
            if let Some(galley) = letters.get(write - first) {
                paint(&painter, rect, galley, places.at(write), &ink);
            }
            if is_marked(&look.plan.stream, write) {
                over(&painter, rect, &ink);
            }
            if look.selection.holds(write) || look.selection.hovered == Some(write) {
                let wide = if look.selection.current() == Some(write) { 2.0 } else { 1.2 };
                painter.rect_stroke(rect.expand(0.5), 2.0, Stroke::new(wide, ink.select), StrokeKind::Outside);
            }
            // The playhead and the pinned moment stand before the first token that they have not seen.
            let x = rect.left() - 0.75;
            if write == look.writes {
                painter.vline(x, rect.y_range().expand(1.5), Stroke::new(2.0, ink.text));
            } else if pinned == Some(write) {
                line::draw(&painter, &[pos2(x, rect.top() - 1.5), pos2(x, rect.bottom() + 1.5)], Stroke::new(1.6, ink.text), Dash::Long);
            }
        }
    }
    hover(look, (places, rows), (&range, height, area), &response, commands);
}

fn hover(
    look: &Look<'_>,
    (places, rows): (&Places<'_>, &Rows),
    (range, height, area): (&Range<usize>, f32, Rect),
    response: &Response,
    commands: &mut Vec<Command>,
) {
    let Some(pointer): Option<Pos2> = response.hover_pos() else { return };
    let row = range.start + ((pointer.y - area.top()) / height).max(0.0) as usize;
    let found = if range.contains(&row) { rows.at(row, pointer.x - area.left()) } else { None };
    if let Some(write) = found {
        let mut told = vec![("where", places.name(places.at(write)).to_owned()), ("role", role_name(&look.plan.stream, write).to_owned())];
        if let Memory::Lola { index, chunks } = &places.memory {
            let noun = places.noun;
            let steps = |what: Option<usize>| what.filter(|s| s < chunks).map(|s| format!("in {noun} {s}"));
            told.extend(index.since(write, *chunks).map(|s| ("since", format!("{noun} {}", s - 1))));
            told.extend(steps(index.entered(write)).map(|s| ("came into the cache", s)));
            told.extend(steps(index.left(write)).map(|s| ("went from it", s)));
        }
        facts(response, &token_name(&look.plan.stream, write), &told);
    }
    point_at(response, found, commands);
}
