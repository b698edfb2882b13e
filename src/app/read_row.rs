//! Below the token ribbon: a row of the reads, each where it stands and in the colour of its role, and what the colours mean.

use eframe::egui::{Align2, FontId, Id, Rect, Role, Sense, Shape, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use crate::app::command::{Command, ViewCommand};
use crate::app::ribbon::ReadTick;
use crate::app::theme;
use crate::panel::Selection;
use crate::panel::common::quoted;
use crate::session::plan::Plan;
use crate::widget::baked;

/// The height of the row, with the gap above it.
pub const READS: f32 = 11.0;
/// The height of the names of the roles.
pub const LEGEND: f32 = 14.0;

/// False where there is a read after every write and each has that write's role, or all are alike: a row of them would say nothing
/// that the ribbon does not.
pub fn shown(plan: &Plan) -> bool {
    let (stream, roles) = (&plan.stream, &plan.stream.labels().roles);
    let causal = stream.reads() == stream.writes() && stream.after().first() == Some(&1);
    let alike = || roles.of_read.windows(2).all(|w| w[0] == w[1]);
    stream.reads() > 0 && !(causal && (roles.of_read == roles.of_write || alike()))
}

/// The roles that a write or a read has, ascending.
pub fn used_roles(plan: &Plan) -> Vec<u8> {
    let roles = &plan.stream.labels().roles;
    let mut used = [false; 256];
    roles.of_write.iter().chain(&roles.of_read).for_each(|r| used[usize::from(*r)] = true);
    (0..=255).filter(|r| used[usize::from(*r)]).collect()
}

/// Every read where it stands, in the colour of its role; a click selects it, the next of several at each click.
pub fn ui(ui: &Ui, row: Rect, ticks: &[ReadTick], plan: &Plan, selection: &Selection, commands: &mut Vec<Command>) {
    let (stream, dark) = (&plan.stream, ui.visuals().dark_mode);
    let roles = &stream.labels().roles;
    let response = ui.interact(row, Id::unique("row of reads"), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("Row of {} reads", stream.reads())));
    ui.painter().hline(row.x_range(), row.center().y, Stroke::new(1.0, ui.visuals().window_stroke.color));
    let place = |tick: &ReadTick| {
        let x = (row.left() + tick.x as f32).min(row.right() - 3.0);
        Rect::from_min_size(pos2(x, row.top()), vec2(3.0, row.height()))
    };
    let mut shapes = Vec::with_capacity(ticks.len());
    for tick in ticks {
        // Several roles at one place share its height.
        let (whole, part) = (place(tick), row.height() / tick.roles.len() as f32);
        for (i, role) in tick.roles.iter().enumerate() {
            let top = whole.top() + i as f32 * part;
            let area = Rect::from_x_y_ranges(whole.x_range(), top..=top + part);
            shapes.push(Shape::rect_filled(area, 0.0, theme::role_colour(*role, roles.marked, dark)));
        }
    }
    baked::draw(ui.painter(), Id::unique("ticks of reads"), shapes);
    let here = |read: usize| ticks.iter().find(|t| t.reads.contains(&read));
    if let Some(tick) = selection.read.and_then(here) {
        ui.painter().rect_stroke(place(tick).expand(1.0), 0.0, Stroke::new(1.5, ui.visuals().strong_text_color()), StrokeKind::Outside);
    }
    let Some(pointer) = response.hover_pos() else { return };
    let away = |t: &&ReadTick| (place(t).center().x - pointer.x).abs();
    let Some(tick) = ticks.iter().min_by(|a, b| away(a).total_cmp(&away(b))).filter(|t| away(t) < 8.0) else { return };
    if response.clicked() {
        let next = selection.read.filter(|r| tick.reads.contains(&(r + 1)) && tick.reads.contains(r)).map_or(tick.reads.start, |r| r + 1);
        commands.push(Command::View(ViewCommand::SelectRead(Some(next))));
    }
    response.on_hover_ui_at_pointer(|ui| {
        for line in reads_in_words(plan, tick) {
            ui.label(line);
        }
    });
}

/// What the colours of the ribbon and of the reads mean.
pub fn legend(ui: &mut Ui, used: &[u8], plan: &Plan) {
    let roles = &plan.stream.labels().roles;
    let dark = ui.visuals().dark_mode;
    let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), LEGEND - 2.0), Sense::hover());
    let mut x = row.left();
    for role in used {
        let Some(name) = roles.names.get(usize::from(*role)) else { continue };
        let square = Rect::from_center_size(pos2(x + 5.0, row.center().y), vec2(9.0, 9.0));
        ui.painter().rect_filled(square, 2.0, theme::role_colour(*role, roles.marked, dark));
        let at = pos2(x + 13.0, row.center().y);
        let text = ui.painter().text(at, Align2::LEFT_CENTER, name, FontId::proportional(11.0), ui.visuals().weak_text_color());
        x = text.right() + 14.0;
    }
}

/// The reads at one place: text and role of a single one; of several how many there are of each role.
fn reads_in_words(plan: &Plan, tick: &ReadTick) -> Vec<String> {
    let (labels, after) = (plan.stream.labels(), plan.stream.after());
    let role = |r: u8| labels.roles.names.get(usize::from(r)).map_or("read", String::as_str);
    let (first, last) = (tick.reads.start, tick.reads.end - 1);
    if first == last {
        let text = labels.read_tokens.as_ref().and_then(|t| t.get(first)).map_or_else(String::new, |t| format!(" {}", quoted(t)));
        return vec![format!("read {first}{text}, {}; it sees {} writes", role(labels.roles.of_read[first]), after[first])];
    }
    let mut lines =
        vec![format!("reads {first} to {last}, which see {} to {} writes; a click goes through them", after[first], after[last])];
    lines.extend(tick.roles.iter().map(|r| {
        let of: usize = labels.roles.of_read[tick.reads.clone()].iter().map(|x| usize::from(x == r)).sum();
        format!("{of} × {}", role(*r))
    }));
    lines
}
