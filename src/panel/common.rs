//! What several panels need: which lanes have a channel, words for a token, keys for caches.

use std::ops::Range;
use std::sync::{Arc, Weak};

use eframe::egui::{
    Align2, CursorIcon, FontId, Grid, Label, Pos2, Rect, Response, RichText, Sense, Stroke, TextStyle, TextWrapMode, TextureHandle,
    TextureOptions, Ui, WidgetText, pos2, vec2,
};

use super::row::SWATCH;
use super::{LaneLook, Look, Pin, Subject};
use crate::app::command::{Command, ViewCommand};
use crate::session::plan::{Plan, PlanLane};
use crate::stream::Stream;
use crate::trace::{Channel, Heads};
use crate::widget::chart::{Chart, SMALL};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;
use crate::widget::ticks::grouped;

/// What a picture made from a lane's trace depends on; with anything else that it depends on beside it.
#[derive(Debug, Clone)]
pub struct Key<E> {
    /// Weak, so that a run that is over is freed; its address is not used again while this lives.
    plan: Weak<Plan>,
    lane: usize,
    /// Entries of the trace that went in.
    covered: usize,
    head: usize,
    extra: E,
}

impl<E: PartialEq> PartialEq for Key<E> {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.plan, &other.plan)
            && (self.lane, self.covered, self.head) == (other.lane, other.covered, other.head)
            && self.extra == other.extra
    }
}

impl<E> Key<E> {
    /// The key for what is made of the first `covered` entries of a lane's channel. A run only ever appends, so the same
    /// entries of the same plan are the same numbers.
    #[must_use]
    pub fn new(look: &Look<'_>, lane: usize, head: usize, covered: usize, extra: E) -> Self {
        Self { plan: Arc::downgrade(look.plan), lane, covered, head, extra }
    }
}

/// How many of the `held` entries of a channel a picture should be made of, when `seen` of them lie before the playhead and
/// `total` are to come.
///
/// While the run goes on ahead of the playhead, a picture is made anew sixteen times in all, or 64 where the playhead is
/// nearer to the run's end than that, not with every block; it always covers what is seen.
#[must_use]
pub fn cover(held: usize, seen: usize, total: usize) -> usize {
    if held >= total {
        return held;
    }
    let settled = |parts: usize| {
        let part = total.div_ceil(parts).max(1);
        held / part * part
    };
    [16, 64].map(settled).into_iter().find(|s| seen <= *s).unwrap_or(held)
}

/// The size of a plot area in pixels of the screen, and the theme: what every picture depends on besides its numbers.
pub type Canvas = ([usize; 2], bool);

/// The canvas of a plot area.
#[must_use]
pub fn canvas(ui: &Ui, rect: Rect) -> Canvas {
    let scale = ui.pixels_per_point();
    let side = |points: f32| ((points * scale).round() as usize).clamp(1, 8192);
    ([side(rect.width()), side(rect.height())], ui.visuals().dark_mode)
}

/// Hands a picture to the painter.
pub fn texture(ui: &Ui, name: &str, image: eframe::egui::ColorImage) -> TextureHandle {
    ui.load_texture(name, image, TextureOptions::NEAREST)
}

/// Draws the part of a picture of the whole plot area that lies before the value `until` of its x axis.
pub fn paint_until(ui: &Ui, chart: &Chart, texture: &TextureHandle, until: f64) {
    let share = chart.x.share(until).clamp(0.0, 1.0) as f32;
    let mut rect = chart.rect;
    rect.set_width(rect.width() * share);
    let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(share, 1.0));
    chart.painter(ui).image(texture.id(), rect, uv, eframe::egui::Color32::WHITE);
}

/// Draws the columns `shown` of a plot area that is `width` pixels wide, from a picture whose first column is column `first` of it.
///
/// What is larger than a pixel must not be cut where the playhead is, nor may half a mark of what comes after it be seen: there the columns
/// in which both meet are taken from a picture of their own.
pub fn paint_columns(ui: &Ui, chart: &Chart, texture: &TextureHandle, shown: Range<usize>, (first, width): (usize, usize)) {
    if shown.is_empty() {
        return;
    }
    let side = |column: usize| chart.rect.left() + chart.rect.width() * column as f32 / width.max(1) as f32;
    let rect = Rect::from_x_y_ranges(side(shown.start)..=side(shown.end), chart.rect.y_range());
    let share = |column: usize| column.saturating_sub(first) as f32 / texture.size()[0].max(1) as f32;
    let uv = Rect::from_min_max(pos2(share(shown.start), 0.0), pos2(share(shown.end), 1.0));
    chart.painter(ui).image(texture.id(), rect, uv, eframe::egui::Color32::WHITE);
}

/// Has text fields drawn with a line around them: on the ground of a panel, which is theirs too, they would look like plain text.
pub fn framed<R>(ui: &mut Ui, fields: impl FnOnce(&mut Ui) -> R) -> R {
    let scope = ui.scope(|ui| {
        let line = ui.visuals().widgets.hovered.bg_stroke;
        ui.visuals_mut().widgets.inactive.bg_stroke = line;
        fields(ui)
    });
    scope.inner
}

/// The lanes that write every one of these channels, by their place in [`Look::lanes`].
#[must_use]
pub fn lanes_with(look: &Look<'_>, channels: &[&str]) -> Vec<usize> {
    let has = |lane: &LaneLook<'_>| channels.iter().all(|c| lane.trace.channel(c).is_some());
    look.lanes.iter().enumerate().filter(|(_, lane)| has(lane)).map(|(i, _)| i).collect()
}

/// The head of a channel that is looked at.
#[must_use]
pub fn head_of(channel: &Channel, look: &Look<'_>) -> usize {
    match channel.spec().heads {
        Heads::KeyValue => look.head_among(channel.heads()),
        Heads::Query => look.query_head.min(channel.heads().saturating_sub(1)),
    }
}

/// Chunks that a lane has both completed at the playhead and written to the channel.
#[must_use]
pub fn chunks_seen(look: &Look<'_>, lane: usize) -> usize {
    look.lanes[lane].plan.chunks_at(look.writes)
}

/// Writes that are in a lane's memory at the playhead: those of its whole chunks.
#[must_use]
pub fn writes_seen(look: &Look<'_>, lane: usize) -> usize {
    let plan = look.lanes[lane].plan;
    (plan.chunks_at(look.writes) * plan.setup.chunk).min(look.plan.stream.writes())
}

/// What is said of the writes before the playhead that are in no memory yet, for a lane's chunk is not over:
/// `(64 writes wait for the end of the chunk)`. Empty where there are none.
#[must_use]
pub fn waiting(look: &Look<'_>, lane: usize) -> String {
    match look.writes.saturating_sub(writes_seen(look, lane)) {
        0 => String::new(),
        n => format!("({} for the end of the chunk)", plural(n, "write waits", "writes wait")),
    }
}

/// What a chunk of a lane is called: `step 16` where the lane's chunks are the steps of the timeline. Where they are not, both are
/// said and how they go together: `LoLA's chunk 16 (steps 32–33, 64 tokens)`, or, where their ends do not meet,
/// `LoLA's chunk 2 (in steps 3–4, 48 tokens)`.
#[must_use]
pub fn chunk_name(plan: &Plan, lane: &PlanLane, chunk: usize) -> String {
    let Some((writes, steps)) = in_steps(plan, lane, chunk) else { return format!("step {chunk}") };
    format!("{}'s chunk {chunk} ({steps}, {})", lane.name, plural(writes, "token", "tokens"))
}

/// How many writes a chunk of a lane has, and which steps of the timeline it is: `steps 32–33`, or `in steps 3–4`. `None` where the
/// lane's chunks are the steps.
fn in_steps(plan: &Plan, lane: &PlanLane, chunk: usize) -> Option<(usize, String)> {
    let (own, step, all) = (lane.setup.chunk, plan.step, plan.stream.writes());
    if own == step {
        return None;
    }
    let (from, to) = ((chunk * own).min(all), ((chunk + 1) * own).min(all));
    let (first, last) = (from / step, to.saturating_sub(1) / step);
    let meets = |end: usize| end.is_multiple_of(step) || end == all;
    let within = if meets(from) && meets(to) { "" } else { "in " };
    let steps = if first >= last { format!("step {first}") } else { format!("steps {first}–{last}") };
    Some((to - from, format!("{within}{steps}")))
}

/// The same in short, where the rest has been said: `step 16` or `chunk 16`.
#[must_use]
pub fn chunk_short(plan: &Plan, lane: &PlanLane, chunk: usize) -> String {
    format!("{} {chunk}", chunk_noun(plan, lane))
}

/// What a lane's chunks are called: `step` where they are the steps of the timeline, else `chunk`.
#[must_use]
pub fn chunk_noun(plan: &Plan, lane: &PlanLane) -> &'static str {
    if lane.setup.chunk == plan.step { "step" } else { "chunk" }
}

/// What is said once in a panel that counts a lane's chunks, where these are not the steps of the timeline: `chunk 16 (steps 32–33)`, of the
/// chunk that was completed last, and the whole of it. `None` where there is nothing to explain.
#[must_use]
pub fn own_steps(look: &Look<'_>, lane: usize) -> Option<(String, String)> {
    let plan = look.lanes[lane].plan;
    let chunk = chunks_seen(look, lane).saturating_sub(1);
    let (_, steps) = in_steps(look.plan, plan, chunk)?;
    Some((
        // In one piece: broken in two it would read as two things.
        format!("chunk {chunk} ({steps})").replace(' ', "\u{a0}"),
        format!(
            "This panel counts the chunks of {} itself, which are not the steps of the timeline. The newest that is over: {}.",
            plan.name,
            chunk_name(look.plan, plan, chunk)
        ),
    ))
}

/// Says when the first read comes, where none is answered: the playhead is before it, or the chunk that it is in is not over.
#[must_use]
pub fn no_read_yet(stream: &Stream) -> String {
    let first = stream.after().first().copied().unwrap_or(0);
    let reads = plural(stream.reads(), "read", "reads");
    format!("No read has been answered yet: the first of {reads} comes after write {first}, and is answered when its chunk is over.")
}

/// The same of one lane, whose chunk is known: of a read that is there already it says for how many writes it waits.
#[must_use]
pub fn no_read_in(look: &Look<'_>, lane: usize) -> String {
    let (stream, plan) = (&look.plan.stream, look.lanes[lane].plan);
    let first = stream.after().first().map_or(0, |after| *after as usize);
    no_read_words((first, stream.reads()), (look.writes, stream.writes()), (&plan.name, plan.setup.chunk))
}

/// `first` is after how many writes the first of `reads` comes, `seen` how many of `all` writes there are; a lane by its name and chunk.
fn no_read_words((first, reads): (usize, usize), (seen, all): (usize, usize), (lane, chunk): (&str, usize)) -> String {
    let reads = plural(reads, "read", "reads");
    let start = format!("No read has been answered yet: the first of {reads} comes after write {}", grouped(first as u64));
    if seen < first {
        return format!("{start}.");
    }
    let end = (first.max(1).div_ceil(chunk.max(1)) * chunk).min(all);
    let own = plural(chunk, "write", "writes");
    format!("{start}, but {lane} answers reads chunk by chunk, and this one's, of {own}, is over at write {}.", grouped(end as u64))
}

/// A small square of a lane's colour.
pub fn swatch(ui: &mut Ui, colour: eframe::egui::Color32) {
    let (rect, _) = ui.allocate_exact_size(eframe::egui::Vec2::splat(SWATCH), eframe::egui::Sense::hover());
    ui.painter().rect_filled(rect, 2.0, colour);
}

/// Says in words, in the middle of what is left of the panel, why there is no picture.
pub fn words(ui: &mut Ui, text: &str) {
    let quiet = Ink::of(ui).quiet;
    ui.vertical_centered(|ui| {
        ui.add_space((ui.available_height() * 0.4 - 16.0).max(8.0));
        ui.label(RichText::new(text).color(quiet));
    });
}

/// Says that no memory holds anything at the playhead.
pub fn nothing_written(ui: &mut Ui) {
    words(ui, "Nothing has been written yet: move the playhead.");
}

/// What a write is called: `token 699 'magic'`, or `write 699 (needle)` where tokens have no text.
#[must_use]
pub fn token_name(stream: &Stream, write: usize) -> String {
    let labels = stream.labels();
    match labels.tokens.as_ref().and_then(|t| t.get(write)) {
        Some(text) => format!("token {write} {}", quoted(text)),
        None => format!("write {write} ({})", role_name(stream, write)),
    }
}

/// A token's text as it is, in quotes, the same wherever it is shown; only what cannot be seen (line ends, tabs) is written out.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '"' | '\\' => quoted.push(c),
            _ => quoted.extend(c.escape_debug()),
        }
    }
    quoted.push('\'');
    quoted
}

/// The name of a write's role.
#[must_use]
pub fn role_name(stream: &Stream, write: usize) -> &str {
    let roles = &stream.labels().roles;
    roles.of_write.get(write).and_then(|&r| roles.names.get(r as usize)).map_or("token", String::as_str)
}

/// True if the write has the role that is to be marked everywhere.
#[must_use]
pub fn is_marked(stream: &Stream, write: usize) -> bool {
    let roles = &stream.labels().roles;
    roles.marked.is_some() && roles.of_write.get(write).copied() == roles.marked
}

/// The name of the marked role, if any write has it.
#[must_use]
pub fn marked_name(stream: &Stream) -> Option<&str> {
    let roles = &stream.labels().roles;
    let role = roles.marked.filter(|r| roles.of_write.contains(r))?;
    roles.names.get(role as usize).map(String::as_str)
}

/// The writes of the marked role, ascending, and the role's name; nothing where no role is marked.
#[must_use]
pub fn marked(stream: &Stream) -> Option<(&str, Vec<usize>)> {
    let roles = &stream.labels().roles;
    let role = roles.marked?;
    let writes: Vec<usize> = roles.of_write.iter().enumerate().filter(|(_, r)| **r == role).map(|(i, _)| i).collect();
    let name = roles.names.get(role as usize).map_or("marked", String::as_str);
    (!writes.is_empty()).then_some((name, writes))
}

/// Shows a title and a table of names and values beside the pointer.
pub fn facts(response: &Response, title: &str, rows: &[(&str, String)]) {
    response.clone().on_hover_ui_at_pointer(|ui| {
        ui.label(RichText::new(title).strong());
        Grid::new("facts").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
            for (name, value) in rows {
                let quiet = Ink::of(ui).quiet;
                ui.label(RichText::new(*name).color(quiet));
                ui.label(value);
                ui.end_row();
            }
        });
    });
}

/// How many of `n` entries stand behind a pixel of the screen along the chart's width, in words (`32.5`), where it is more
/// than one.
#[must_use]
pub fn crowd(response: &Response, chart: &Chart, n: usize) -> Option<String> {
    crowd_of(n, (chart.rect.width() * response.ctx.pixels_per_point()) as usize)
}

fn crowd_of(n: usize, pixels: usize) -> Option<String> {
    let each = n as f64 / pixels.max(1) as f64;
    match n {
        _ if n <= pixels => None,
        // 1.02 would be written as 1.0, as if there were no crowd.
        _ if each < 1.05 => Some("1 or 2".to_owned()),
        _ => Some(format!("{each:.1}")),
    }
}

/// Tells the window that the pointer is over a write, and selects it if it was clicked.
pub fn point_at(response: &Response, write: Option<usize>, commands: &mut Vec<Command>) {
    if let Some(write) = write {
        commands.push(Command::View(ViewCommand::Hover(write)));
    }
    if response.clicked() {
        commands.push(Command::View(click(response, write)));
    }
}

/// What a click on a write (or beside all of them) asks for: with Shift every write up to it, with Ctrl it too.
fn click(response: &Response, write: Option<usize>) -> ViewCommand {
    let modifiers = response.ctx.input(|i| i.modifiers);
    match write {
        Some(write) if modifiers.shift => ViewCommand::Extend(write),
        Some(write) if modifiers.command => ViewCommand::Toggle(write),
        write => ViewCommand::Select(write),
    }
}

/// A name that selects what it stands for when clicked.
pub fn link(ui: &mut Ui, text: impl Into<RichText>, subject: Subject, commands: &mut Vec<Command>) -> Response {
    let response = whole_link(ui, text).on_hover_text("Select it");
    if response.clicked() {
        commands.push(Command::View(ViewCommand::Choose(subject)));
    }
    response
}

/// A lane's name, drawn as it is given, that selects the lane when clicked.
pub fn lane_link(ui: &mut Ui, text: RichText, lane: usize, commands: &mut Vec<Command>) -> Response {
    let response = ui.add(Label::new(text).selectable(false).sense(Sense::click())).on_hover_cursor(CursorIcon::PointingHand);
    let response = response.on_hover_text("Select the lane: the inspector says what is set in it and what it costs");
    if response.clicked() {
        commands.push(ViewCommand::Choose(Subject::Lane(lane)).into());
    }
    response
}

/// A link that is never broken over two lines: the part on the second line would be a stop of the Tab key without a name.
pub fn whole_link(ui: &mut Ui, text: impl Into<RichText>) -> Response {
    let text = text.into();
    let room = ui.available_size_before_wrap().x;
    let breaks = ui.layout().main_wrap() && ui.wrap_mode() == TextWrapMode::Wrap && {
        let whole = WidgetText::from(text.clone()).into_galley(ui, Some(TextWrapMode::Extend), f32::INFINITY, TextStyle::Body);
        whole.size().x > room
    };
    if !breaks {
        return ui.link(text);
    }
    let before = ui.style_mut().wrap_mode.replace(TextWrapMode::Extend);
    let response = ui.link(text);
    ui.style_mut().wrap_mode = before;
    response
}

/// The radius of the ring around what is selected, and the width of the paper under its line.
const RING_RADIUS: f32 = 6.5;
const RING_PAPER: f32 = 3.5;

/// A ring in the colour of the selection around a point, which may reach beyond the plot.
pub fn select_ring(ui: &Ui, chart: &Chart, at: Pos2) {
    let ink = Ink::of(ui);
    // A point on the edge of the plot has its whole ring.
    let painter = ui.painter().with_clip_rect(chart.rect.expand(RING_RADIUS + RING_PAPER / 2.0 + 0.5).intersect(ui.clip_rect()));
    painter.circle_stroke(at, RING_RADIUS, Stroke::new(RING_PAPER, ink.paper));
    painter.circle_stroke(at, RING_RADIUS, Stroke::new(1.8, ink.select));
}

/// The playhead, and where a moment is pinned that one too, dashed, with its letter A: for charts whose x axis is time.
///
/// `x_of` says where so many writes seen lie on the chart's x axis: `|w| w as f64` where it counts writes; where it counts a lane's
/// chunks, `|w| look.lanes[lane].plan.chunks_at(w) as f64`.
pub fn playheads(ui: &Ui, look: &Look<'_>, chart: &Chart, x_of: impl Fn(usize) -> f64) {
    if let Some(Pin::Moment(pinned)) = look.selection.pin {
        let ink = Ink::of(ui);
        let at = chart.x_of(x_of(pinned)).round();
        let painter = ui.painter().with_clip_rect(chart.rect.expand(5.0).intersect(ui.clip_rect()));
        line::draw(&painter, &[pos2(at, chart.rect.top()), pos2(at, chart.rect.bottom())], Stroke::new(1.5, ink.text), Dash::Long);
        // The letter stands on paper of its own, on the side that has room.
        let left = at + 14.0 > chart.rect.right();
        let (side, align) = if left { (-3.0, Align2::RIGHT_TOP) } else { (3.0, Align2::LEFT_TOP) };
        let letter = painter.layout_no_wrap("A".to_owned(), FontId::proportional(SMALL), ink.text);
        let place = align.anchor_size(pos2(at + side, chart.rect.top() + 1.0), letter.size());
        painter.rect_filled(place.expand2(vec2(1.5, 0.0)), 2.0, ink.paper);
        painter.galley(place.min, letter, ink.text);
    }
    chart.playhead(ui, x_of(look.writes));
}

/// `1 row`, `2 rows`, `65 536 rows`.
#[must_use]
pub fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { many })
}

/// So many of a lane's chunks, which are called a `noun` ([`chunk_noun`]): `1 step`, `2 chunks`.
#[must_use]
pub fn many(n: usize, noun: &str) -> String {
    plural(n, noun, &format!("{noun}s"))
}

#[cfg(test)]
pub(super) mod testing {
    use ndarray::Array3;

    use crate::stream::{Labels, Stream, StreamParts, Targets};

    /// A stream of so many writes of zeros, without reads.
    pub fn blank(writes: usize, labels: Labels) -> Stream {
        let rows = Array3::zeros((1, writes, 1));
        let parts = StreamParts {
            keys: rows.clone(),
            values: rows,
            queries: Array3::zeros((1, 0, 1)),
            after: Vec::new(),
            beta: 1.0,
            targets: Targets::None,
            labels,
        };
        Stream::new(parts).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_covers_what_is_seen_and_settles_at_the_end() {
        // Sixteen parts of 64: of 100 entries the first part will do, unless the playhead is beyond it: then six parts of 16.
        assert_eq!(cover(100, 10, 1024), 64);
        assert_eq!(cover(100, 80, 1024), 96);
        assert_eq!(cover(100, 97, 1024), 100, "nothing that is seen waits");
        assert_eq!(cover(1024, 10, 1024), 1024);
        assert_eq!((cover(0, 0, 1024), cover(3, 3, 3), cover(0, 0, 0)), (0, 3, 0));
    }

    /// A plan of lanes with these chunks on 1100 writes.
    fn plan(chunks: &[i64]) -> Plan {
        use crate::param::Params;
        use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
        let params = Params::default().with("T", 1100).with("needles", 4);
        let lane = |chunk: &i64| LaneSpec::new(&format!("C{chunk}"), "ovq", Params::default().with("chunk", *chunk));
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let lanes = chunks.iter().map(lane).collect();
        Plan::new(&Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }, None).unwrap()
    }

    #[test]
    fn a_chunk_that_is_no_step_says_which_steps_it_is() {
        let plan = plan(&[32, 64, 48, 256]);
        let name = |lane: usize, chunk| chunk_name(&plan, &plan.lanes[lane], chunk);
        assert_eq!(plan.step, 32);
        assert_eq!(name(0, 16), "step 16");
        assert_eq!(name(1, 16), "C64's chunk 16 (steps 32–33, 64 tokens)");
        // 1088 to 1099: the stream ends in it.
        assert_eq!(name(1, 17), "C64's chunk 17 (step 34, 12 tokens)");
        // 48 to 95 is the second half of step 1 and step 2; 96 to 143 is step 3 and the first half of step 4.
        assert_eq!(name(2, 1), "C48's chunk 1 (in steps 1–2, 48 tokens)");
        assert_eq!(name(2, 2), "C48's chunk 2 (in steps 3–4, 48 tokens)");
        assert_eq!(name(3, 0), "C256's chunk 0 (steps 0–7, 256 tokens)");
        let short = |lane: usize| chunk_short(&plan, &plan.lanes[lane], 5);
        assert_eq!((short(0).as_str(), short(1).as_str()), ("step 5", "chunk 5"));
    }

    #[test]
    fn a_read_that_waits_for_its_chunk_is_not_said_to_come_later() {
        let words = |first, seen| no_read_words((first, 203), (seen, 1100), ("ev", 32));
        let start = "No read has been answered yet: the first of 203 reads comes after write";
        assert_eq!(words(40, 39), format!("{start} 40."));
        assert_eq!(
            words(1, 31),
            format!("{start} 1, but ev answers reads chunk by chunk, and this one's, of 32 writes, is over at write 32.")
        );
        // 33 is the first write of the second chunk, 32 the last of the first; the stream ends within its last chunk.
        assert!(words(32, 32).ends_with("is over at write 32.") && words(33, 40).ends_with("is over at write 64."));
        assert!(words(1099, 1099).ends_with("is over at write 1100."), "{}", words(1099, 1099));
    }

    #[test]
    fn numbers_before_a_noun_are_in_groups_like_all_others() {
        assert_eq!((plural(1, "token", "tokens"), plural(0, "token", "tokens")), ("1 token".to_owned(), "0 tokens".to_owned()));
        assert_eq!(plural(2048, "token", "tokens"), "2048 tokens");
        assert_eq!(plural(65_536, "token", "tokens"), "65\u{a0}536 tokens");
    }

    #[test]
    fn the_ring_around_a_point_on_the_edge_is_whole() {
        use crate::widget::chart::Axis;
        use eframe::egui::{Context, RawInput};
        let ctx = Context::default();
        let mut output = ctx.run_ui(RawInput::default(), |ui| {
            let rect = Rect::from_min_size(pos2(40.0, 40.0), vec2(200.0, 100.0));
            let chart = Chart { rect, x: Axis::count("step", 4), y: Axis::count("token", 4) };
            ui.set_clip_rect(rect.expand(50.0));
            select_ring(ui, &chart, rect.right_center());
        });
        output.textures_delta.clear();
        let ring = |shape: &&eframe::egui::epaint::ClippedShape| matches!(shape.shape, eframe::egui::Shape::Circle(_));
        let rings: Vec<_> = output.shapes.iter().filter(ring).collect();
        assert_eq!(rings.len(), 2);
        for shape in rings {
            assert!(shape.clip_rect.contains_rect(shape.shape.visual_bounding_rect()), "{shape:?}");
        }
    }

    #[test]
    fn one_entry_behind_each_pixel_is_no_crowd() {
        assert_eq!((crowd_of(409, 409), crowd_of(0, 0)), (None, None));
        assert_eq!((crowd_of(410, 409), crowd_of(2048, 512)), (Some("1 or 2".to_owned()), Some("4.0".to_owned())));
    }

    #[test]
    fn spaces_and_line_ends_of_tokens_are_visible() {
        assert_eq!(quoted(" magic"), "' magic'");
        assert_eq!(quoted("\n\tn"), "'\\n\\tn'");
        assert_eq!(quoted("it's \"é\""), "'it's \"é\"'", "what can be seen stays as it is");
        assert_eq!(quoted(" say \"it's\" \\"), "' say \"it's\" \\'");
        assert_eq!(quoted("a\n\tb\r\u{1b}"), "'a\\n\\tb\\r\\u{1b}'");
    }
}
