//! The list of events that pass the filter, of which only the rows in sight are made.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Color32, FontId, Key, Label, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use super::heads;
use crate::app::command::{Command, TimeCommand, ViewCommand};
use crate::app::study::StudyCommand;
use crate::app::study::events::{Ask, Listing, Shown, subject};
use crate::metric::events::{Event, Hit, LaneEvents, Place};
use crate::panel::Look;
use crate::panel::common::{chunk_name, facts, token_name};
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;
use crate::widget::ticks::number;

/// The height of a row.
const ROW: f32 = 16.0;
/// The height of the rows that a list has at least, where there is room for anything beside it.
pub(super) const LEAST: f32 = 3.0 * ROW;

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct List {
    /// The event that the list was scrolled to last.
    scrolled_to: Option<Hit>,
    offset: f32,
}

impl List {
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, listing: &Listing, shown: &Shown, commands: &mut Vec<Command>) {
        let criteria = &look.studies.events.filter().criteria;
        let lanes: Vec<LaneEvents<'_>> =
            (0..look.lanes.len()).map(|l| LaneEvents::new(look.plan, l, look.lanes[l].trace, heads(look), criteria)).collect();
        if ui.available_height() > 5.0 * ROW {
            heading(ui);
        }
        let height = whole_rows(ui.available_height());
        let mut area = ScrollArea::vertical().id_salt("events").max_height(height).min_scrolled_height(ROW).auto_shrink(false);
        let at = look.studies.events.at();
        if let Some(place) = at.filter(|_| at != self.scrolled_to).and_then(|hit| place_of(listing, shown, hit)) {
            let top = place as f32 * ROW;
            if top < self.offset || top + ROW > self.offset + height {
                // A third of the way down, with a whole row at the top.
                area = area.vertical_scroll_offset(((top - height / 3.0) / ROW).round().max(0.0) * ROW);
            }
        }
        self.scrolled_to = at;
        ui.spacing_mut().item_spacing.y = 0.0;
        let output = area.show_rows(ui, ROW, shown.places.len(), |ui, range| {
            for place in &shown.places[range] {
                let hit = listing.hits[*place as usize];
                let Some(lane) = lanes.get(usize::from(hit.lane)) else { continue };
                if let Some(event) = lane.event(hit) {
                    row(ui, look, lane, hit, &event, commands);
                }
            }
        });
        self.offset = output.state.clamped_offset().y;
    }
}

/// The height of as many whole rows as `room` has: the last one is not cut through.
fn whole_rows(room: f32) -> f32 {
    (room / ROW).floor().max(1.0) * ROW
}

/// The row of an event, or where it would be.
fn place_of(listing: &Listing, shown: &Shown, hit: Hit) -> Option<usize> {
    let at = shown.places.partition_point(|p| listing.hits[*p as usize] < hit);
    (at < shown.places.len()).then_some(at)
}

fn row(ui: &mut Ui, look: &Look<'_>, lane: &LaneEvents<'_>, hit: Hit, event: &Event, commands: &mut Vec<Command>) {
    let size = vec2(ui.available_width(), ROW);
    // The list makes rows just outside too: Tab does not go where nothing is seen.
    let seen = ui.clip_rect().shrink(1.0).intersects(Rect::from_min_size(ui.cursor().min, size));
    let (rect, response) = ui.allocate_exact_size(size, if seen { Sense::click() } else { Sense::CLICK });
    let own = &look.lanes[lane.number()];
    let current = look.studies.events.at() == Some(hit);
    let exact = lane.sentence(event);
    let sentence = named(look, event, &rounded(&exact));
    response.widget_info(|| {
        let text = format!("Event after write {}, {}: {sentence}", event.seen, own.plan.name);
        WidgetInfo::selected(Role::Button, true, current, text)
    });
    let ink = Ink::of(ui);
    if current {
        ui.painter().rect_filled(rect, 2.0, ui.visuals().selection.bg_fill);
    } else if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 2.0, ui.visuals().widgets.hovered.weak_bg_fill);
    }
    // What is after the playhead is not seen yet: quieter.
    let text = if event.seen > look.writes { ink.quiet } else { ink.text };
    let names = if rect.width() < 330.0 { 0.0 } else { 74.0 };
    let swatch = Rect::from_center_size(pos2(rect.left() + 49.0, rect.center().y), vec2(8.0, 8.0));
    cell(ui, rect, (2.0, 38.0), &event.seen.to_string(), text);
    ui.painter().rect_filled(swatch, 2.0, own.colour);
    cell(ui, rect, (57.0, names), &own.plan.name, ink.quiet);
    cell(ui, rect, (60.0 + names, rect.width() - 66.0 - names), &sentence, text);
    let enter = response.has_focus() && ui.input(|i| i.key_pressed(Key::Enter));
    if response.clicked() || enter {
        commands.push(Command::Study(StudyCommand::Events(Ask::At(hit))));
        commands.push(Command::View(ViewCommand::Choose(subject(lane.number(), event, look.plan.step))));
    }
    if response.double_clicked() || enter {
        commands.push(Command::Time(TimeCommand::Seek(event.seen)));
    }
    if response.hovered() {
        if let Some(write) = event.write {
            commands.push(Command::View(ViewCommand::Hover(write)));
        }
        let mut rows = vec![
            ("lane", own.plan.name.clone()),
            ("kind", event.kind.title().to_owned()),
            ("channel", format!("{}, head {}", event.channel, event.head)),
            ("seen", format!("after write {}, the end of step {}", event.seen, look.plan.step_at(event.seen).saturating_sub(1))),
            ("", named(look, event, &exact)),
        ];
        // The sentence speaks of the lane's own chunk.
        if let (Place::Chunk(chunk), true) = (event.place, own.plan.setup.chunk != look.plan.step) {
            rows.push(("where", chunk_name(look.plan, own.plan, chunk)));
        }
        facts(&response, "A click selects, a double click (or Enter) runs to it", &rows);
    }
}

/// What the columns are.
fn heading(ui: &mut Ui) {
    let text = RichText::new("seen after write, lane, event").size(SMALL).color(Ink::of(ui).quiet);
    ui.add(Label::new(text).truncate()).on_hover_text("The write after which the event is seen: the end of its chunk");
}

/// A sentence about an event, with the token's text, where it has one.
fn named(look: &Look<'_>, event: &Event, plain: &str) -> String {
    match event.write {
        Some(write) if look.plan.stream.labels().tokens.is_some() => {
            plain.replacen(&format!("write {write}"), &token_name(&look.plan.stream, write), 1)
        }
        _ => plain.to_owned(),
    }
}

/// A sentence with its long numbers to four digits: all of them are in the hover, and in what is exported.
fn rounded(exact: &str) -> String {
    let word = |word: &str| {
        let core = word.trim_end_matches([',', ';', ':']);
        let long = core.contains('.') && core.bytes().filter(u8::is_ascii_digit).count() > 4;
        match core.parse::<f64>() {
            Ok(value) if long => number(value) + &word[core.len()..],
            _ => word.to_owned(),
        }
    };
    exact.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn cell(ui: &Ui, row: Rect, (left, width): (f32, f32), text: &str, colour: Color32) {
    if width < 4.0 {
        return;
    }
    let mut job = LayoutJob::simple_singleline(text.to_owned(), FontId::proportional(SMALL), colour);
    job.wrap = TextWrapping::truncate_at_width(width);
    let galley = ui.painter().layout_job(job);
    ui.painter().galley(pos2(row.left() + left, row.center().y - galley.size().y / 2.0), galley, colour);
}

#[cfg(test)]
mod tests {
    use super::{ROW, rounded, whole_rows};

    #[test]
    fn no_row_is_cut_through() {
        assert_eq!([0.0, 15.0, 16.0, 31.9, 55.0, 64.0].map(|room| (whole_rows(room) / ROW) as usize), [1, 1, 1, 1, 3, 4]);
    }

    #[test]
    fn long_numbers_of_a_sentence_are_told_to_four_digits() {
        let exact = "the gap of write 123456 is 0.000012345678, below 0.0001: rounding could have chosen otherwise";
        assert_eq!(rounded(exact), "the gap of write 123456 is 1.23e−5, below 0.0001: rounding could have chosen otherwise");
        assert_eq!(rounded("write 7 founded row 3; its similarity was 0.12345678"), "write 7 founded row 3; its similarity was 0.1235");
        assert_eq!(rounded("outputs[5] of read 3 is NaN"), "outputs[5] of read 3 is NaN");
    }
}
