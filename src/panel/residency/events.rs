//! Events of the cache: who came into it and who was folded from it, step by step, as marks and, for one step, as lists.

use std::ops::Range;

use eframe::egui::{Color32, Label, Response, RichText, ScrollArea, Stroke, TextWrapMode, TextureHandle, Ui, Vec2, vec2};

use super::held::{Held, by_hand};
use crate::app::command::{Command, ViewCommand};
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::common::{
    Canvas, Key, canvas, cover, facts, is_marked, link, marked_name, paint_columns, playheads, plural, point_at, quoted, role_name,
    select_ring, texture, token_name,
};
use crate::panel::{Look, Subject};
use crate::session::hand::{self, Act, Hand};
use crate::stream::Stream;
use crate::trace::LaneTrace;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, SMALL, Sign, triangle};
use crate::widget::palette::Ink;
use crate::widget::raster::{self, Mark, Point, nearest};
use crate::widget::ticks::number;

/// A token that came into the cache, or went from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::panel) struct Moved {
    pub write: usize,
    /// Its score in that step, where it is recorded.
    pub score: Option<f64>,
}

/// Who came and who went in one step, each by falling score; equal ones the older first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::panel) struct Exchange {
    pub admitted: Vec<Moved>,
    pub displaced: Vec<Moved>,
}

impl Exchange {
    /// Those of a step.
    pub fn of(held: &Held<'_>, step: usize) -> Self {
        let list = |name: &str| {
            let ids = held.trace.channel(name).map_or(&[][..], |c| c.wholes_at(held.head, step));
            let moved = |&id: &i32| usize::try_from(id).ok().map(|write| Moved { write, score: held.score(write, step) });
            let mut list: Vec<Moved> = ids.iter().filter_map(moved).collect();
            let key = |m: &Moved| m.score.unwrap_or(f64::NEG_INFINITY);
            list.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.write.cmp(&b.write)));
            list
        };
        Self { admitted: list("admitted"), displaced: list("displaced") }
    }
}

/// The last step before the playhead in which anybody came or went.
pub(in crate::panel) fn last_step(trace: &LaneTrace, head: usize, chunks: usize) -> Option<usize> {
    let any = |name: &str, step: usize| trace.channel(name).is_some_and(|c| !c.wholes_at(head, step).is_empty());
    (0..chunks).rev().find(|&step| any("admitted", step) || any("displaced", step))
}

/// What stands above the lists of a step of a lane's head, where the playhead is after `now`.
pub(in crate::panel) fn heading(hands: &[Hand], (index, head): (&Residency, usize), (step, now): (usize, usize)) -> String {
    let when = if step == now { format!("Step {step}") } else { format!("No change in step {now}. Last change, step {step}") };
    let mut kept: Vec<usize> = hands.iter().filter_map(|h| if let Act::Keep { write } = h.what { Some(write) } else { None }).collect();
    kept.sort_unstable();
    kept.dedup();
    // One that was in the state before it was to be kept is there still.
    kept.retain(|w| hand::keeps(hands, head, *w, step) && index.at(*w, step + 1) == Place::Cache);
    let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
    let rule = "by falling score; who came did not displace one pair each: the largest scores stay";
    if kept.is_empty() {
        return format!("{when}: {rule}.");
    }
    let noun = if kept.len() == 1 { "token" } else { "tokens" };
    format!("{when}: {rule}, after what is kept by hand, whatever its score: {noun} {}.", kept.join(", "))
}

/// A token shortly: `' magic' 699`, or `write 699`.
pub(in crate::panel) fn short_name(stream: &Stream, write: usize) -> String {
    match stream.labels().tokens.as_ref().and_then(|t| t.get(write)) {
        Some(text) => format!("{} {write}", quoted(text)),
        None => format!("write {write}"),
    }
}

/// The lists of a step, side by side, each name a link. The algorithm pairs nobody with anybody: so the lists do not either.
pub(in crate::panel) fn lists(ui: &mut Ui, look: &Look<'_>, text: &str, exchange: &Exchange, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    ui.add(Label::new(RichText::new(text).size(SMALL).color(ink.quiet)).wrap());
    ui.spacing_mut().item_spacing.y = 1.0;
    ui.columns(2, |sides| {
        for (ui, (list, words)) in sides.iter_mut().zip([(&exchange.admitted, "came"), (&exchange.displaced, "went")]) {
            ui.label(RichText::new(format!("{} {words}", list.len())).strong());
        }
    });
    let height = ui.text_style_height(&eframe::egui::TextStyle::Body);
    let rows = exchange.admitted.len().max(exchange.displaced.len());
    ScrollArea::vertical().id_salt("exchange").auto_shrink(false).show_rows(ui, height, rows, |ui, range| {
        for row in range {
            ui.columns(2, |sides| {
                for (ui, list) in sides.iter_mut().zip([&exchange.admitted, &exchange.displaced]) {
                    match list.get(row) {
                        Some(moved) => entry(ui, look, moved, &ink, commands),
                        None => drop(ui.label("")),
                    }
                }
            });
        }
    });
}

fn entry(ui: &mut Ui, look: &Look<'_>, moved: &Moved, ink: &Ink, commands: &mut Vec<Command>) {
    ui.style_mut().wrap_mode = Some(TextWrapMode::Truncate);
    let score = moved.score.map_or_else(|| "-".to_owned(), number);
    // The marked role has a sign besides its colour, and so has what is selected.
    let sign = if is_marked(&look.plan.stream, moved.write) { "* " } else { "" };
    let mut text = RichText::new(format!("{score}  {sign}{}", short_name(&look.plan.stream, moved.write)));
    if !sign.is_empty() {
        text = text.color(ink.mark);
    }
    if look.selection.holds(moved.write) {
        text = text.strong().underline();
    }
    if link(ui, text, Subject::Token(moved.write), commands).hovered() {
        commands.push(Command::View(ViewCommand::Hover(moved.write)));
    }
}

/// See the module's page.
#[derive(Default)]
pub(super) struct Events {
    picture: Picture,
    exchange: Cached<Key<()>, (Option<usize>, Exchange)>,
}

/// The marks of the steps computed, made once, and beside it those near the playhead, made for every step: a mark is wider than a step of a
/// long run, and what comes after the playhead must not be seen by half.
#[derive(Default)]
struct Picture {
    /// The marks, and how many events they are.
    whole: Cached<Key<Canvas>, (TextureHandle, usize)>,
    end: Cached<Key<(Canvas, usize)>, TextureHandle>,
}

impl Events {
    /// The marks of all steps, and the lists of the last one.
    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, commands: &mut Vec<Command>) {
        let Self { picture, exchange } = self;
        let now = held.chunks.checked_sub(1);
        let (step, exchange) = exchange.get(Key::new(look, held.lane, held.head, held.chunks, ()), || {
            let step = last_step(held.trace, held.head, held.chunks);
            (step, step.map(|s| Exchange::of(held, s)).unwrap_or_default())
        });
        let exchange: &Exchange = exchange;
        // What is marked in the picture is of the step at the playhead.
        let here = if *step == now { Some(exchange) } else { None };
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let beside = size.x >= 380.0;
        let side = if beside { (size.x * 0.42).min(300.0) } else { 0.0 };
        if !beside && size.y < 260.0 {
            // No room for both: the picture.
            plot(ui, look, held, here, size, picture, commands);
            return;
        }
        let plot_size = if beside { vec2(size.x - side - 8.0, size.y) } else { vec2(size.x, size.y * 0.5) };
        let layout = if beside {
            eframe::egui::Layout::left_to_right(eframe::egui::Align::Min)
        } else {
            eframe::egui::Layout::top_down(eframe::egui::Align::Min)
        };
        ui.with_layout(layout, |ui| {
            plot(ui, look, held, here, plot_size, picture, commands);
            ui.vertical(|ui| match (*step, now) {
                (Some(step), Some(now)) => {
                    let hands = &look.lanes[held.lane].plan.setup.hands;
                    let text = heading(hands, (held.index, held.head), (step, now)) + &by_hand(look, held.lane, held.head, step);
                    lists(ui, look, &text, exchange, commands);
                }
                _ => drop(ui.label(RichText::new("Nobody has come into the cache yet.").color(Ink::of(ui).quiet))),
            });
        });
    }
}

/// When a token came or went: `in step 12`, `at the end of step 12, by hand`.
fn when(held: &Held<'_>, write: usize, step: usize, came: bool) -> String {
    if !came && hand::evicted(held.trace, held.head, write, step) {
        format!("at the end of step {step}, by hand")
    } else {
        format!("in step {step}")
    }
}

/// The inks of those that came and those that went.
fn inks(ink: &Ink) -> (Color32, Color32) {
    (ink.window, ink.limit)
}

fn plot(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    exchange: Option<&Exchange>,
    size: Vec2,
    picture: &mut Picture,
    commands: &mut Vec<Command>,
) {
    let stream = &look.plan.stream;
    let ink = Ink::of(ui);
    let steps = stream.chunks(held.chunk);
    let (came, went) = inks(&ink);
    let mut legend = vec![Entry::new(Sign::Dot, came, "came"), Entry::new(Sign::Ring, went, "went")];
    if let Some(name) = marked_name(stream) {
        legend.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    let now = exchange.map_or((0, 0), |e| (e.admitted.len(), e.displaced.len()));
    let describe = format!(
        "Entries into the cache and evictions over {} of {steps} steps; in the last {} came and {} went",
        held.chunks, now.0, now.1
    );
    let x = Axis::count(format!("step of {}", plural(held.chunk, "write", "writes")), steps);
    let (response, chart) = Chart::show(ui, size, x, Axis::count("token", stream.writes()), &legend, &describe);
    marks(ui, look, held, &chart, raster::Inks { plain: came, ring: went, diamond: ink.mark }, picture);
    let painter = chart.painter(ui);
    if let (Some(exchange), Some(step)) = (exchange, held.chunks.checked_sub(1)) {
        for (list, up, colour) in [(&exchange.admitted, true, came), (&exchange.displaced, false, went)] {
            for moved in list {
                painter.add(triangle(chart.pos(step as f64 + 0.5, moved.write as f64 + 0.5), 3.4, up, colour, Stroke::new(0.8, ink.paper)));
            }
        }
    }
    playheads(ui, look, &chart, |writes| look.lanes[held.lane].plan.chunks_at(writes) as f64);
    for &token in look.selection.tokens().iter().chain(&look.selection.hovered).take(64) {
        let events = [held.index.entered(token), held.index.left(token)];
        let seen: Vec<_> =
            events.into_iter().flatten().filter(|s| *s < held.chunks).map(|s| chart.pos(s as f64 + 0.5, token as f64 + 0.5)).collect();
        if let [from, rest @ ..] = &seen[..] {
            let to = rest.first().copied().unwrap_or_else(|| chart.pos(held.chunks as f64, token as f64 + 0.5));
            painter.line_segment([*from, to], Stroke::new(1.4, ink.select));
        }
        if look.selection.current() == Some(token) {
            seen.iter().for_each(|at| select_ring(ui, &chart, *at));
        }
    }
    hover(look, held, &response, &chart, commands);
}

/// Draws the marks of the steps before the playhead, whole, and of no other.
fn marks(ui: &Ui, look: &Look<'_>, held: &Held<'_>, chart: &Chart, inks: raster::Inks, picture: &mut Picture) {
    let (stream, steps) = (&look.plan.stream, look.plan.stream.chunks(held.chunk));
    let canvas = canvas(ui, chart.rect);
    let covered = cover(held.index.steps(), held.chunks, steps);
    let scale = ui.pixels_per_point() * 0.8;
    let Picture { whole, end } = picture;
    let (texture_of_all, events) = whole.get(Key::new(look, held.lane, held.head, covered, canvas), || {
        let points = points(stream, held, 0..covered, steps, canvas.0);
        (texture(ui, "events", raster::draw(canvas.0[0], canvas.0[1], scale, &points, inks)), points.len())
    });
    let width = canvas.0[0];
    // Where all that is in the picture is over, there is nothing to leave out.
    let edge = (held.chunks < covered).then(|| raster::edge(held.chunks as f64 / steps as f64 * width as f64, width, scale));
    paint_columns(ui, chart, texture_of_all, 0..edge.as_ref().map_or(width, |edge| edge.start), (0, width));
    let Some(columns) = edge else { return };
    let strip = end.get(Key::new(look, held.lane, held.head, held.chunks, (canvas, covered)), || {
        // How large a diamond is, other diamonds nearby decide.
        let near = raster::near(&columns, raster::neighbourhood(scale), width, |share| share * steps as f64, covered);
        let mut all = points(stream, held, near.start..held.chunks, steps, canvas.0);
        let drawn = all.len();
        all.extend(points(stream, held, held.chunks..near.end, steps, canvas.0));
        let part = raster::Part { columns: columns.clone(), points: &all, drawn, total: *events };
        texture(ui, "last events", raster::draw_part(canvas.0, scale, &part, inks))
    });
    paint_columns(ui, chart, strip, columns.clone(), (columns.start, width));
}

/// A point for each event of these steps, in pixels.
fn points(stream: &Stream, held: &Held<'_>, of: Range<usize>, steps: usize, [width, height]: [usize; 2]) -> Vec<Point> {
    let mut points = Vec::new();
    for step in of {
        for (name, plain, marked) in [("admitted", Mark::Plain, Mark::Diamond), ("displaced", Mark::Ring, Mark::RingedDiamond)] {
            for &id in held.trace.channel(name).map_or(&[][..], |c| c.wholes_at(held.head, step)) {
                let mark = if usize::try_from(id).is_ok_and(|w| is_marked(stream, w)) { marked } else { plain };
                let x = (step as f32 + 0.5) / steps as f32 * width as f32;
                let y = (1.0 - (id as f32 + 0.5) / stream.writes() as f32) * height as f32;
                points.push(Point { x, y, mark });
            }
        }
    }
    points
}

/// The event nearest to the pointer, told.
fn hover(look: &Look<'_>, held: &Held<'_>, response: &Response, chart: &Chart, commands: &mut Vec<Command>) {
    const REACH: f32 = 8.0;
    let Some(pointer) = response.hover_pos() else { return };
    let step_at = |x: f32| chart.values_at(eframe::egui::pos2(x, pointer.y)).0.max(0.0) as usize;
    let near = step_at(pointer.x - REACH)..(step_at(pointer.x + REACH) + 1).min(held.chunks);
    let mut events = Vec::new();
    for step in near {
        for (name, came) in [("admitted", true), ("displaced", false)] {
            let ids = held.trace.channel(name).map_or(&[][..], |c| c.wholes_at(held.head, step));
            events.extend(ids.iter().filter_map(|id| usize::try_from(*id).ok()).map(|write| (step, write, came)));
        }
    }
    let places = events.iter().map(|(s, w, _)| chart.pos(*s as f64 + 0.5, *w as f64 + 0.5)).enumerate().map(|(i, p)| (i, [p.x, p.y]));
    if let Some(i) = nearest(places, [pointer.x, pointer.y], REACH) {
        let (step, write, came) = events[i];
        let all = |name: &str| held.trace.channel(name).map_or(0, |c| c.wholes_at(held.head, step).len());
        let mut rows = vec![
            (if came { "came" } else { "went" }, when(held, write, step, came)),
            ("score in it", held.score(write, step).map_or_else(|| "not recorded".to_owned(), number)),
        ];
        if let Some(t) = held.threshold(step) {
            rows.push(("threshold after it", number(t)));
        }
        rows.push(("in the same step", format!("{} came, {} went", all("admitted"), all("displaced"))));
        rows.push(("role", role_name(&look.plan.stream, write).to_owned()));
        facts(response, &token_name(&look.plan.stream, write), &rows);
        point_at(response, Some(write), commands);
        return;
    }
    let step = step_at(pointer.x);
    if step >= held.chunks {
        response.clone().on_hover_text_at_pointer("after the playhead");
    } else {
        let exchange = Exchange::of(held, step);
        let names = |list: &[Moved]| {
            let some: Vec<String> = list.iter().take(4).map(|m| short_name(&look.plan.stream, m.write)).collect();
            let more = if list.len() > 4 { format!(" and {} more", list.len() - 4) } else { String::new() };
            if list.is_empty() { "nobody".to_owned() } else { format!("{}{more}", some.join(", ")) }
        };
        facts(response, &format!("step {step}"), &[("came", names(&exchange.admitted)), ("went", names(&exchange.displaced))]);
    }
    point_at(response, None, commands);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Axis as TraceAxis, ChannelSpec, Heads, Kind, Tolerance, TraceBlock, Values, Width};

    #[test]
    fn what_comes_after_the_playhead_is_not_seen_by_half() {
        // 100 steps in 61 pixels: a mark is wider than several of them.
        const SIZE: [usize; 2] = [61, 20];
        const SCALE: f32 = 0.8;
        let inks = raster::Inks { plain: Color32::GRAY, ring: Color32::BLUE, diamond: Color32::RED };
        let marks = [Mark::Plain, Mark::Ring, Mark::Diamond, Mark::RingedDiamond];
        let points = |of: Range<usize>| -> Vec<Point> {
            let point = |s: usize| Point { x: (s as f32 + 0.5) / 100.0 * 61.0, y: 4.0 + 3.0 * (s % 5) as f32, mark: marks[s % 4] };
            of.map(point).collect()
        };
        let whole = raster::draw(SIZE[0], SIZE[1], SCALE, &points(0..100), inks);
        for chunks in [0, 1, 2, 37, 50, 98, 99] {
            let all = raster::Part { columns: 0..SIZE[0], points: &points(0..100), drawn: chunks, total: 100 };
            let past = raster::draw_part(SIZE, SCALE, &all, inks);
            let columns = raster::edge(chunks as f64 / 100.0 * SIZE[0] as f64, SIZE[0], SCALE);
            let near = raster::near(&columns, raster::neighbourhood(SCALE), SIZE[0], |share| share * 100.0, 100);
            let (start, drawn) = (near.start.min(chunks), chunks - near.start.min(chunks));
            let part = raster::Part { columns: columns.clone(), points: &points(start..near.end.max(chunks)), drawn, total: 100 };
            let strip = raster::draw_part(SIZE, SCALE, &part, inks);
            for (i, expected) in past.pixels.iter().enumerate() {
                let (x, y) = (i % SIZE[0], i / SIZE[0]);
                let shown = match x {
                    x if x < columns.start => whole.pixels[i],
                    x if columns.contains(&x) => strip.pixels[y * columns.len() + x - columns.start],
                    _ => Color32::TRANSPARENT,
                };
                let off = shown.to_array().into_iter().zip(expected.to_array()).map(|(a, b)| a.abs_diff(b)).max();
                assert!(off <= Some(2), "after {chunks} at {x}, {y}: {shown:?}, {expected:?}");
            }
            assert!(columns.len() < 20, "little is made again: {columns:?}");
        }
    }

    #[test]
    fn what_is_kept_by_hand_is_named_from_its_step_on() {
        let keep = |step, kv_head, write| Hand { step, kv_head, what: Act::Keep { write } };
        // 5 is folded in the same step all the same: it was in the state before, say.
        let hands = [keep(3, 0, 4), keep(3, 0, 3), keep(3, 0, 5), keep(2, 1, 3)];
        let mut index = Residency::new(2, 2, 20);
        for admitted in [&[][..], &[], &[3], &[4]] {
            index.push(admitted, &[]);
        }
        let of = |step| heading(&hands, (&index, 0), (step, 3));
        assert!(of(2).starts_with("No change in step 3. Last change, step 2: by falling score;"), "{}", of(2));
        assert!(of(2).ends_with("the largest scores stay."), "{}", of(2));
        assert!(of(3).ends_with("stay, after what is kept by hand, whatever its score: tokens 3, 4."), "{}", of(3));
    }

    #[test]
    fn those_who_came_and_went_are_told_by_falling_score() {
        let spec = |name, kind| ChannelSpec {
            name,
            title: name,
            meaning: "",
            unit: "1",
            axis: TraceAxis::Step,
            heads: Heads::KeyValue,
            width: Width::Ragged,
            kind,
            tolerance: Tolerance::Choice { margin: None },
        };
        let specs = [
            spec("candidates", Kind::Whole),
            spec("candidate_scores", Kind::Real),
            spec("admitted", Kind::Whole),
            spec("displaced", Kind::Whole),
        ];
        let mut trace = LaneTrace::new(&specs, 1, 1);
        let mut block = TraceBlock::default();
        // One step: 1 and 2 were cached; 5, 6 and 7 leave the window; 5 and 7 come in for 1 and 2. 9 has no score.
        block.push_ragged(0, 0..1, Values::I32(vec![1, 2, 5, 6, 7]), vec![5]);
        block.push_ragged(1, 0..1, Values::F32(vec![0.5, 0.75, 3.0, 0.25, 8.0]), vec![5]);
        block.push_ragged(2, 0..1, Values::I32(vec![5, 7, 9]), vec![3]);
        block.push_ragged(3, 0..1, Values::I32(vec![1, 2]), vec![2]);
        trace.append(&block).unwrap();
        let index = Residency::new(2, 2, 8);
        let held = Held { index: &index, trace: &trace, lane: 0, head: 0, chunks: 1, chunk: 2 };
        let exchange = Exchange::of(&held, 0);
        let list = |moved: &[Moved]| moved.iter().map(|m| (m.write, m.score)).collect::<Vec<_>>();
        assert_eq!(list(&exchange.admitted), [(7, Some(8.0)), (5, Some(3.0)), (9, None)]);
        assert_eq!(list(&exchange.displaced), [(2, Some(0.75)), (1, Some(0.5))]);
        assert_eq!(Exchange::of(&held, 1), Exchange::default(), "a step that is not there");
    }
}
