//! A channel's picture: a map of its cells, or a line of one head, with what the pointer finds in either.

use eframe::egui::{Pos2, Response, Stroke, TextureHandle, Ui, pos2, vec2};

use super::reduced::{Across, Reduced};
use super::{Drawn, PictureKey};
use crate::app::command::{Command, ViewCommand};
use crate::panel::common::{Key, canvas, chunk_name, chunk_noun, facts, paint_until, plural, point_at, quoted, texture, token_name};
use crate::panel::{Look, Subject};
use crate::trace::{Axis as Along, Heads, Kind};
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::heatmap::{Grid, Rule, draw_by};
use crate::widget::line::Dash;
use crate::widget::palette::Ink;
use crate::widget::range::{Range, Reading};
use crate::widget::symlog::Shades;
use crate::widget::ticks::{Scale, number};

/// The map.
pub(super) fn map(
    ui: &mut Ui,
    look: &Look<'_>,
    drawn: &Drawn<'_>,
    (reduced, grid, shades): (&Reduced, &Grid, Shades),
    cached: &mut Cached<PictureKey, TextureHandle>,
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let spec = drawn.channel.spec();
    let rows = reduced.rows();
    let y = Axis::count(across_name(drawn), rows);
    let describe = format!(
        "Map of {} of lane {}: {} of {} {}, {rows} rows",
        spec.title,
        look.lanes[drawn.lane].plan.name,
        drawn.seen,
        drawn.entries,
        along_name(spec.axis, drawn.entries)
    );
    let size = vec2(ui.available_width(), ui.available_height().max(60.0));
    let (response, chart) = Chart::show(ui, size, x_axis(look, drawn), y, &[], &describe);
    let canvas = canvas(ui, chart.rect);
    let extra = (canvas, spec.name, drawn.rule, shades.key(), rows);
    // The cells themselves are of one rule already; of ids a pixel shows the fullest of its cells.
    let rule = if drawn.across == Across::Ids { Rule::Max } else { drawn.rule };
    let picture = cached.get(Key::new(look, drawn.lane, drawn.head, drawn.covered, extra), || {
        texture(ui, "channel", draw_by(grid, canvas.0[0], canvas.0[1], rule, shades.colour(&ink)))
    });
    paint_until(ui, &chart, picture, reduced.until(drawn.seen, canvas.0[0]));
    marks(ui, look, drawn, &chart, &ink);
    let Some(pointer) = response.hover_pos() else { return };
    let (x, y) = chart.values_at(pointer);
    let row = (y.max(0.0) as usize).min(rows - 1);
    hover(look, drawn, (reduced, Some(shades)), &response, (x.max(0.0) as usize, row), commands);
}

/// The line of the head shown, with the range as its axis; in a channel of whole numbers dots where each is drawn by itself.
pub(super) fn line(ui: &mut Ui, look: &Look<'_>, drawn: &Drawn<'_>, (reduced, range): (&Reduced, Range), commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let spec = drawn.channel.spec();
    let log = range.reading == Reading::Log && range.min > 0.0;
    let (mut low, mut high) = (f64::from(range.min), f64::from(range.max));
    if low >= high {
        // Equal numbers stand in the middle.
        (low, high) = if log { (low * 0.5, high * 2.0) } else { (low - 0.5, high + 0.5) };
    } else if !log {
        let margin = 0.04 * (high - low);
        (low, high) = (low - margin, high + margin);
    }
    let unit = if spec.unit == "1" { String::new() } else { format!(" ({})", spec.unit) };
    let y = Axis::real(format!("{}{unit}", spec.title), low, high, if log { Scale::Log } else { Scale::Linear });
    let lane = &look.lanes[drawn.lane];
    let describe = format!(
        "Line of {} of lane {}, head {}: {} of {} {}",
        spec.title,
        lane.plan.name,
        drawn.head,
        drawn.seen,
        drawn.entries,
        along_name(spec.axis, drawn.entries)
    );
    let size = vec2(ui.available_width(), ui.available_height().max(60.0));
    let several = reduced.behind()[0] > 1.0;
    let legend: &[Entry] = if several {
        &[Entry::new(Sign::Line(Dash::Solid), lane.colour, format!("smallest to largest of each {}", number(reduced.behind()[0])))]
    } else {
        &[]
    };
    let (response, chart) = Chart::show(ui, size, x_axis(look, drawn), y, legend, &describe);
    strokes(ui, drawn, reduced, &chart, (lane.colour, spec.kind == Kind::Whole && !several));
    marks(ui, look, drawn, &chart, &ink);
    let Some(pointer) = response.hover_pos() else { return };
    hover(look, drawn, (reduced, None), &response, (chart.values_at(pointer).0.max(0.0) as usize, drawn.head), commands);
}

fn strokes(ui: &Ui, drawn: &Drawn<'_>, reduced: &Reduced, chart: &Chart, (colour, dots): (eframe::egui::Color32, bool)) {
    let mut clip = chart.rect;
    clip.set_right(chart.x_of(drawn.seen as f64).clamp(chart.rect.left(), chart.rect.right()));
    let painter = ui.painter().with_clip_rect(clip.intersect(ui.clip_rect()));
    let edge = |y: f32| y.clamp(chart.rect.top() - 4.0, chart.rect.bottom() + 4.0);
    let mut points: Vec<Pos2> = Vec::new();
    let flush = |points: &mut Vec<Pos2>| {
        crate::widget::line::draw(&painter, points, Stroke::new(1.4, colour), Dash::Solid);
        points.clear();
    };
    for column in 0..reduced.columns() {
        let entries = reduced.entries_of(column);
        // A column with entries after the playhead would tell of them.
        if entries.end > drawn.seen {
            break;
        }
        let x = chart.x_of((entries.start + entries.end) as f64 / 2.0);
        let pool = reduced.pool(drawn.head, column);
        if let Some(loud) = pool.value(Rule::Max).filter(|v| !v.is_finite()) {
            // A stroke through the whole plot: no place of the axis is its.
            let map = crate::widget::palette::Map::Cividis;
            painter.vline(x, chart.rect.y_range(), Stroke::new(1.5, map.colour(f64::from(loud))));
        }
        if pool.n == 0 || pool.min > pool.max {
            flush(&mut points);
            continue;
        }
        let (low, high) = (edge(chart.y_of(f64::from(pool.min))), edge(chart.y_of(f64::from(pool.max))));
        if dots {
            painter.circle_filled(pos2(x, high), 1.5, colour);
        } else {
            points.push(pos2(x, low));
            if (low - high).abs() > 0.3 {
                points.push(pos2(x, high));
            }
        }
    }
    if !dots {
        flush(&mut points);
    }
}

fn x_axis(look: &Look<'_>, drawn: &Drawn<'_>) -> Axis {
    let label = match drawn.channel.spec().axis {
        Along::Write => "write".to_owned(),
        Along::Read => "read".to_owned(),
        Along::Step => {
            let lane = look.lanes[drawn.lane].plan;
            format!("{} of {}", chunk_noun(look.plan, lane), plural(lane.setup.chunk, "write", "writes"))
        }
    };
    Axis::count(label, drawn.entries)
}

fn along_name(axis: Along, n: usize) -> &'static str {
    match (axis, n) {
        (Along::Write, 1) => "write",
        (Along::Write, _) => "writes",
        (Along::Read, 1) => "read",
        (Along::Read, _) => "reads",
        (Along::Step, 1) => "step",
        (Along::Step, _) => "steps",
    }
}

fn across_name(drawn: &Drawn<'_>) -> String {
    let spec = drawn.channel.spec();
    match (drawn.across, spec.heads) {
        (Across::Heads, Heads::KeyValue) => "key/value head".to_owned(),
        (Across::Heads, Heads::Query) => "query head".to_owned(),
        (Across::Components, _) => format!("component of {} {}", spec.title, drawn.head),
        (Across::Ids, _) if spec.unit == "tokens" => "token".to_owned(),
        (Across::Ids, _) => spec.unit.to_owned(),
        (Across::Places, _) => "place in the list".to_owned(),
    }
}

/// The playhead and what is selected.
fn marks(ui: &Ui, look: &Look<'_>, drawn: &Drawn<'_>, chart: &Chart, ink: &Ink) {
    let painter = chart.painter(ui);
    let at = match drawn.channel.spec().axis {
        Along::Write => look.selection.current(),
        Along::Read => look.selection.read,
        Along::Step => None,
    };
    if let Some(at) = at.filter(|at| *at < drawn.seen) {
        painter.vline(chart.x_of(at as f64 + 0.5), chart.rect.y_range(), Stroke::new(1.0, ink.select));
    }
    if let (Across::Ids, "tokens", Some(token)) = (drawn.across, drawn.channel.spec().unit, look.selection.current()) {
        painter.hline(chart.rect.x_range(), chart.y_of(token as f64 + 0.5), Stroke::new(1.0, ink.select.gamma_multiply(0.7)));
    }
    chart.playhead(ui, drawn.seen as f64);
}

fn hover(
    look: &Look<'_>,
    drawn: &Drawn<'_>,
    (reduced, shades): (&Reduced, Option<Shades>),
    response: &Response,
    (entry, row): (usize, usize),
    commands: &mut Vec<Command>,
) {
    let spec = drawn.channel.spec();
    if entry >= drawn.seen {
        response.clone().on_hover_text_at_pointer("after the playhead");
        return;
    }
    let stream = &look.plan.stream;
    let title = match spec.axis {
        Along::Write => token_name(stream, entry),
        Along::Read => {
            let text = stream.labels().read_tokens.as_ref().and_then(|t| t.get(entry));
            text.map_or_else(|| format!("read {entry}"), |t| format!("read {entry} {}", quoted(t)))
        }
        Along::Step => chunk_name(look.plan, look.lanes[drawn.lane].plan, entry),
    };
    let mut rows = exact(look, drawn, entry, row);
    let [entries, across] = reduced.behind();
    if entries > 1.0 || across > 1.0 {
        let what = if drawn.across == Across::Ids { "how often any of its ids was listed" } else { drawn.rule.title() };
        rows.push(("drawn", format!("{what}, of {} x {} in each cell", number(entries), number(across))));
    }
    rows.extend(shades.and_then(Shades::words).map(|words| ("colours", words)));
    facts(response, &title, &rows);
    let token = match (spec.axis, drawn.across) {
        (Along::Write, _) => Some(entry),
        (_, Across::Ids) if spec.unit == "tokens" && row < look.writes => Some(row),
        _ => None,
    };
    match (spec.axis, token) {
        (_, Some(token)) => point_at(response, Some(token), commands),
        (Along::Read, None) if response.clicked() => commands.push(Command::View(ViewCommand::SelectRead(Some(entry)))),
        (Along::Step, None) if response.clicked() => {
            let end = ((entry + 1) * look.lanes[drawn.lane].plan.setup.chunk).min(stream.writes());
            commands.push(Command::View(ViewCommand::Choose(Subject::Step(look.plan.step_at(end).saturating_sub(1)))));
        }
        _ => {}
    }
}

/// The exact number under the pointer and its indices.
fn exact(look: &Look<'_>, drawn: &Drawn<'_>, entry: usize, row: usize) -> Vec<(&'static str, String)> {
    let (channel, spec) = (drawn.channel, drawn.channel.spec());
    let unit = if spec.unit == "1" { String::new() } else { format!(" {}", spec.unit) };
    let value = |head: usize, at: usize| channel.values(head).get(at).map_or_else(|| "none".to_owned(), |v| format!("{}{unit}", full(v)));
    match drawn.across {
        Across::Heads => vec![("value", value(row, entry)), ("head", row.to_string())],
        Across::Components | Across::Places => {
            let range = channel.range(drawn.head, entry);
            let place = if drawn.across == Across::Places { "place in the list" } else { "component" };
            let text = if row < range.len() { value(drawn.head, range.start + row) } else { format!("none: the list has {}", range.len()) };
            vec![("value", text), (place, row.to_string()), ("head", drawn.head.to_string())]
        }
        Across::Ids => {
            let list = channel.wholes_at(drawn.head, entry);
            let n = list.iter().filter(|&&id| usize::try_from(id) == Ok(row)).count();
            let name = if spec.unit == "tokens" { token_name(&look.plan.stream, row) } else { row.to_string() };
            let times = if n == 0 { "not listed".to_owned() } else { format!("listed {}", plural(n, "time", "times")) };
            vec![("id", name), ("here", times), ("list", plural(list.len(), "id", "ids")), ("head", drawn.head.to_string())]
        }
    }
}

/// A number with every digit that float32 has.
fn full(value: f64) -> String {
    if value.is_finite() { format!("{}", value as f32) } else { number(value) }
}
