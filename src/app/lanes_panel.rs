//! The lanes in the left panel: which there are, in which order, with which names, colours, parameters and weights.

use eframe::egui::collapsing_header::CollapsingState;
use eframe::egui::{
    self, Align, CollapsingHeader, ComboBox, CursorIcon, Id, Key, Label, Layout, Popup, Rect, Response, RichText, Sense, Stroke,
    StrokeKind, TextEdit, Ui, WidgetInfo, vec2,
};

use crate::app::command::{Command, LaneCommand, SessionCommand, ViewCommand};
use crate::app::params::{self, Row};
use crate::app::session_panel::{SessionLook, error, heading, labelled};
use crate::app::theme;
use crate::layer::{self, KINDS, LayerKind};
use crate::panel::Subject;
use crate::param::{ParamSpec, Resolved};
use crate::session::lanes::{self, Difference, PALETTE};
use crate::session::plan::{PlanLane, check_names};
use crate::session::{LaneSpec, MAX_LANES, Session, Source};
use crate::stream::Stream;
use crate::stream::capture::BUNDLED;

/// Draws the list.
pub fn ui(ui: &mut Ui, look: SessionLook<'_>, commands: &mut Vec<Command>) {
    let all = &look.session.lanes;
    let on = all.iter().filter(|l| l.enabled).count();
    ui.horizontal(|ui| {
        heading(ui, "Lanes");
        let count = RichText::new(format!("{on} of {} on", all.len())).small();
        let count = if on > MAX_LANES { count.color(ui.visuals().error_fg_color) } else { count.weak() };
        ui.label(count).on_hover_text(format!("At most {MAX_LANES} lanes run at once; others are kept, switched off"));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| add(ui, look.session, commands));
    });
    // What is wrong with the list as a whole is said at the list.
    if let Some(problem) = look.problem.filter(|p| p.lane.is_none() && is_of_the_list(all)) {
        error(ui, &problem.message);
    }
    if let Some(lane) = look.removed {
        ui.horizontal(|ui| {
            ui.add_space(12.0);
            ui.add(Label::new(RichText::new(format!("{} was removed.", lane.name)).small()).truncate());
            if ui.small_button("Put back").on_hover_text("The lane that was removed last comes back to its place").clicked() {
                commands.push(LaneCommand::PutBack.into());
            }
        });
    }
    let colours = lanes::colours(all);
    for index in 0..all.len() {
        LaneRow { look, index, colours: &colours, on }.ui(ui, commands);
    }
}

/// True if the session's lanes cannot run whatever their parameters are.
#[must_use]
pub fn is_of_the_list(all: &[LaneSpec]) -> bool {
    let on = all.iter().filter(|l| l.enabled).count();
    on == 0 || on > MAX_LANES || check_names(all).is_err()
}

/// The menu of layers.
fn add(ui: &mut Ui, session: &Session, commands: &mut Vec<Command>) {
    let menu = ui.menu_button("Add lane", |ui| {
        ui.set_min_width(150.0);
        for kind in KINDS {
            if ui.button(kind.title()).on_hover_text(kind.about()).clicked() {
                commands.push(LaneCommand::Add(kind.name()).into());
                ui.close();
            }
        }
        example(ui, session, commands);
    });
    menu.response.on_hover_text("One more memory on the same stream, with its layer's defaults");
}

/// Offers the lanes of the task's shipped session where the session has others.
fn example(ui: &mut Ui, session: &Session, commands: &mut Vec<Command>) {
    let Source::Task(now) = &session.source else { return };
    let Some(shipped) = crate::session::example(&now.name).filter(|s| s.lanes != session.lanes) else { return };
    ui.separator();
    let button = ui.button("Use the lanes of this task's example");
    if button.on_hover_text(format!("Replaces the lanes by those of sessions/{}.ron, which are set for this task", now.name)).clicked() {
        commands.push(Command::Session(SessionCommand::Lanes(shipped.lanes.clone())));
        ui.close();
    }
}

/// A name that is being typed.
#[derive(Debug, Clone)]
struct Renaming {
    lane: usize,
    text: String,
}

fn renaming(ui: &Ui) -> Option<Renaming> {
    ui.data(|d| d.get_temp(Id::unique("renaming a lane")))
}

fn set_renaming(ui: &Ui, renaming: Option<Renaming>) {
    let id = Id::unique("renaming a lane");
    ui.data_mut(|d| match renaming {
        Some(renaming) => {
            d.insert_temp(id, renaming);
        }
        None => d.remove::<Renaming>(id),
    });
}

/// One lane of the list.
#[derive(Debug, Clone, Copy)]
struct LaneRow<'a> {
    look: SessionLook<'a>,
    index: usize,
    colours: &'a [usize],
    /// Lanes that are switched on.
    on: usize,
}

impl<'a> LaneRow<'a> {
    fn lane(&self) -> &'a LaneSpec {
        &self.look.session.lanes[self.index]
    }

    fn ui(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let lane = self.lane();
        let Some(kind) = layer::kind(&lane.layer) else {
            self.stranger(ui, commands);
            return;
        };
        let differences = lanes::differences(&self.look.session.lanes, self.index);
        let id = ui.make_persistent_id(("lane", &lane.name));
        let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, lane.enabled);
        // A lane that is switched off is folded, and unfolded when it is switched on again.
        let was = id.with("on");
        if ui.data(|d| d.get_temp(was)).is_some_and(|on: bool| on != lane.enabled) {
            state.set_open(lane.enabled);
        }
        ui.data_mut(|d| d.insert_temp(was, lane.enabled));
        let top = ui.cursor().top();
        let header = state.show_header(ui, |ui| self.header(ui, kind, &differences, commands));
        let open = header.is_open();
        let (fold, header, _) = header.body_unindented(|ui| self.body(ui, kind, &differences, commands));
        fold.widget_info(|| WidgetInfo::selected(egui::Role::Button, true, open, format!("Unfold {}", lane.name)));
        self.drop_here(ui, top, &header.response, commands);
        if let Some(problem) = self.look.problem.filter(|p| p.lane == Some(self.index)) {
            error(ui, &problem.message);
        }
    }

    /// A lane of a layer that this program does not have: it can be removed or switched off.
    fn stranger(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let lane = self.lane();
        ui.horizontal(|ui| {
            ui.add_space(18.0);
            self.switch(ui, commands);
            ui.strong(&lane.name);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| self.menu(ui, commands));
        });
        error(ui, &format!("There is no layer `{}`.", lane.layer));
    }

    fn header(&self, ui: &mut Ui, kind: &dyn LayerKind, differences: &[Difference], commands: &mut Vec<Command>) {
        ui.spacing_mut().item_spacing.x = 4.0;
        self.switch(ui, commands);
        self.swatch(ui, commands);
        if let Some(mut renaming) = renaming(ui).filter(|r| r.lane == self.index) {
            self.rename_field(ui, &mut renaming, commands);
            return;
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            self.menu(ui, commands);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| self.name(ui, kind, differences, commands));
        });
    }

    fn switch(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let lane = self.lane();
        let mut on = lane.enabled;
        let hint = if !on && self.on >= MAX_LANES {
            format!("{} lanes are on, and at most {MAX_LANES} run at once: switch one off first", self.on)
        } else {
            "Run this lane, or leave it out".to_owned()
        };
        if ui.checkbox(&mut on, "").accessible_name(format!("Lane {}", lane.name)).on_hover_text(hint).changed() {
            commands.push(Command::Session(SessionCommand::LaneEnabled { lane: self.index, enabled: on }));
        }
    }

    /// The lane's colour; a click offers the others.
    fn swatch(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let (lane, dark) = (self.lane(), ui.visuals().dark_mode);
        let (rect, response) = ui.allocate_exact_size(vec2(14.0, 18.0), Sense::click());
        let name = format!("Colour of {}", lane.name);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, &name));
        let colour = theme::lane_colour(self.colours[self.index], dark);
        let square = Rect::from_center_size(rect.center(), vec2(11.0, 11.0));
        ui.painter().rect_filled(square, 2.0, if lane.enabled { colour } else { colour.gamma_multiply(0.35) });
        if response.hovered() || response.has_focus() {
            ui.painter().rect_stroke(square, 2.0, Stroke::new(1.0, ui.visuals().strong_text_color()), StrokeKind::Outside);
        }
        Popup::menu(&response).show(|ui| {
            ui.horizontal(|ui| {
                for place in 0..PALETTE {
                    if self.colour(ui, place).clicked() {
                        commands.push(LaneCommand::Recolour { lane: self.index, place }.into());
                        ui.close();
                    }
                }
            });
        });
        response.on_hover_text("The lane's colour in every panel. Click for another").on_hover_cursor(CursorIcon::PointingHand);
    }

    /// A place of the palette on offer.
    fn colour(&self, ui: &mut Ui, place: usize) -> Response {
        let (rect, response) = ui.allocate_exact_size(vec2(20.0, 20.0), Sense::click());
        let lanes = &self.look.session.lanes;
        let owner = (0..lanes.len()).find(|&i| i != self.index && lanes[i].enabled && self.colours[i] == place);
        let name = format!("Colour {} for {}", place + 1, self.lane().name);
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, &name));
        let square = rect.shrink(3.0);
        ui.painter().rect_filled(square, 2.0, theme::lane_colour(place, ui.visuals().dark_mode));
        let own = self.colours[self.index] == place;
        if own || response.hovered() || response.has_focus() {
            let stroke = Stroke::new(if own { 2.0 } else { 1.0 }, ui.visuals().strong_text_color());
            ui.painter().rect_stroke(square, 2.0, stroke, StrokeKind::Outside);
        }
        match owner {
            Some(i) => response.on_hover_text(format!("{} has this colour; the two are exchanged", lanes[i].name)),
            None if own => response.on_hover_text("The lane has this colour"),
            None => response,
        }
    }

    /// The lane's number in the run on screen, if it runs.
    fn number(&self) -> Option<usize> {
        let name = &self.lane().name;
        self.look.plan?.lanes.iter().position(|l| l.index == self.index && l.name == *name)
    }

    /// The name, which selects the lane when clicked, and can be dragged to another place and renamed with two clicks, and what makes the lane differ from its twin.
    fn name(&self, ui: &mut Ui, kind: &dyn LayerKind, differences: &[Difference], commands: &mut Vec<Command>) {
        let lane = self.lane();
        let text = RichText::new(&lane.name).strong();
        let text = if lane.enabled { text } else { text.weak() };
        let label = ui.add(Label::new(text).selectable(false).truncate().sense(Sense::click_and_drag()));
        label.dnd_set_drag_payload(self.index);
        // A lane that does not run has no page.
        if let (true, Some(number)) = (label.clicked(), self.number()) {
            commands.push(ViewCommand::Choose(Subject::Lane(number)).into());
        }
        if label.double_clicked() {
            set_renaming(ui, Some(Renaming { lane: self.index, text: lane.name.clone() }));
        }
        let twin = lanes::twin(&self.look.session.lanes, self.index).map(|i| self.look.session.lanes[i].name.as_str());
        label.on_hover_ui(|ui| {
            ui.strong(kind.title());
            ui.label(kind.about());
            ui.weak("A click selects it, two clicks rename it; drag it to another place.");
            ui.weak(params::DOTS);
            if let Some(twin) = twin {
                ui.weak(format!(
                    "≠ under a parameter: {twin}, the nearest lane above of the same layer, has another value, which is said."
                ));
            }
        });
        let subtitle = match twin {
            Some(twin) if differences.is_empty() => format!("as {twin}"),
            Some(_) => differences.iter().map(|d| format!("{} {}", d.title, d.own)).collect::<Vec<_>>().join(", "),
            None if lane.name.eq_ignore_ascii_case(kind.title()) => return,
            None => kind.title().to_owned(),
        };
        let hint = match twin {
            Some(twin) if differences.is_empty() => format!("The same layer with the same parameters as {twin}"),
            Some(twin) => {
                let each = differences.iter().map(|d| format!("{}: {} here, {} in {twin}", d.title, d.own, d.theirs));
                each.collect::<Vec<_>>().join("\n")
            }
            None => kind.about().to_owned(),
        };
        ui.add(Label::new(RichText::new(subtitle).weak().small()).truncate().show_tooltip_when_elided(false)).on_hover_text(hint);
    }

    /// Everything that can be done with a lane.
    fn menu(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let (index, count, name) = (self.index, self.look.session.lanes.len(), self.lane().name.as_str());
        let menu = ui.menu_button("…", |ui| {
            ui.set_min_width(150.0);
            let mut item = |ui: &mut Ui, text: &str, able: bool, hint: &str, command: LaneCommand| {
                if ui.add_enabled(able, egui::Button::new(text)).on_hover_text(hint).clicked() {
                    commands.push(command.into());
                    ui.close();
                }
            };
            item(ui, "Duplicate", true, "The same again, to be given another parameter", LaneCommand::Duplicate(index));
            item(ui, "Move up", index > 0, "Before the lane above", LaneCommand::Move { from: index, to: index.saturating_sub(1) });
            item(ui, "Move down", index + 1 < count, "After the lane below", LaneCommand::Move { from: index, to: index + 1 });
            if ui.button("Rename").on_hover_text("Type another name").clicked() {
                set_renaming(ui, Some(Renaming { lane: index, text: name.to_owned() }));
                ui.close();
            }
            ui.separator();
            item(ui, "Remove", count > 1, "Away with it; it can be put back", LaneCommand::Remove(index));
        });
        menu.response.accessible_name(format!("Menu of {name}")).on_hover_text("Duplicate, move, rename, remove");
    }

    /// The field for another name: Enter takes it, Escape leaves the old one; one that cannot be used is refused with the reason.
    fn rename_field(&self, ui: &mut Ui, renaming: &mut Renaming, commands: &mut Vec<Command>) {
        let mut all = self.look.session.lanes.clone();
        all[self.index].name.clone_from(&renaming.text);
        let refused = check_names(&all).err();
        let field = TextEdit::singleline(&mut renaming.text).desired_width(ui.available_width() - 8.0);
        let id = Id::unique("lane name field");
        let response = ui.add(field.id(id)).accessible_name(format!("New name of {}", self.lane().name));
        let fresh = id.with("fresh");
        if ui.data(|d| d.get_temp::<usize>(fresh)) != Some(self.index) {
            ui.data_mut(|d| d.insert_temp(fresh, self.index));
            response.request_focus();
        }
        let mut over = false;
        if ui.input(|i| i.key_pressed(Key::Escape)) {
            over = true;
        } else if response.lost_focus() {
            if refused.is_none() && renaming.text != self.lane().name {
                commands.push(LaneCommand::Rename { lane: self.index, name: renaming.text.clone() }.into());
            }
            // Enter on a name that cannot be used leaves the field open; leaving it leaves the old name.
            let entered = ui.input(|i| i.key_pressed(Key::Enter));
            over = refused.is_none() || !entered;
            if !over {
                response.request_focus();
            }
        }
        if over {
            ui.data_mut(|d| d.remove::<usize>(fresh));
        }
        set_renaming(ui, (!over).then(|| renaming.clone()));
    }

    /// A lane that is dropped on this one takes its place; a line shows where.
    fn drop_here(&self, ui: &Ui, top: f32, header: &Response, commands: &mut Vec<Command>) {
        let area = Rect::from_x_y_ranges(ui.max_rect().x_range(), top..=header.rect.bottom());
        let target = ui.interact(area, ui.scope_id().with(("drop on lane", self.index)), Sense::hover());
        if let Some(from) = target.dnd_hover_payload::<usize>().filter(|from| **from != self.index) {
            let y = if *from < self.index { area.bottom() + 1.0 } else { area.top() - 1.0 };
            ui.painter().hline(area.x_range(), y, Stroke::new(2.0, theme::accent(ui.visuals().dark_mode)));
        }
        if let Some(from) = target.dnd_release_payload::<usize>().filter(|from| **from != self.index) {
            commands.push(LaneCommand::Move { from: *from, to: self.index }.into());
        }
    }

    fn body(&self, ui: &mut Ui, kind: &dyn LayerKind, differences: &[Difference], commands: &mut Vec<Command>) {
        let (lane, index) = (self.lane(), self.index);
        let running = self.look.plan.and_then(|p| p.lanes.iter().find(|l| l.index == index && l.name == lane.name));
        if let Some(refused) = renaming(ui).filter(|r| r.lane == index).and_then(|r| {
            let mut all = self.look.session.lanes.clone();
            all[index].name = r.text;
            check_names(&all).err()
        }) {
            error(ui, &refused.to_string());
        }
        let twin = lanes::twin(&self.look.session.lanes, index).map(|i| self.look.session.lanes[i].name.as_str());
        ui.add_enabled_ui(lane.enabled, |ui| {
            let resolved = Resolved::new(&lane.name, kind.params(), &lane.params).ok();
            let learned = resolved.as_ref().is_some_and(|r| has_learned_map(kind, r));
            // A parameter that does nothing as things are is not offered; with a faulty value among them, all are. Learned weights
            // take the place of the sharpness.
            let replaced = |name: &str| learned && lane.weights.is_some() && name == "sharpness";
            let offered = |s: &&ParamSpec| resolved.as_ref().is_none_or(|r| kind.applies(s.name, r)) && !replaced(s.name);
            for spec in kind.params().iter().filter(offered) {
                let used = running.and_then(|l| l.kind.in_use(&l.setup, spec.name, self.query_head(&l.setup.stream)));
                let row = Row { owner: &lane.name, spec, value: lane.params.get(spec.name), used };
                if let Some(value) = params::row(ui, row) {
                    commands.push(Command::Session(SessionCommand::LaneParam { lane: index, name: spec.name, value }));
                }
                mark(ui, differences, spec.name, twin);
            }
            if learned || lane.weights.is_some() {
                self.weights(ui, commands);
                mark(ui, differences, "weights", twin);
            }
        });
        self.hands(ui, commands);
        notes(ui, running);
    }

    /// What is done to the lane's memory by hand, each in a line that can be taken away.
    fn hands(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let lane = self.lane();
        for (place, hand) in lane.hands.iter().enumerate() {
            ui.horizontal(|ui| {
                ui.add_space(12.0);
                let remove = ui.small_button("×").accessible_name(format!("Do not {hand} in {}", lane.name));
                if remove.on_hover_text("Take this away: the run starts again without it").clicked() {
                    commands.push(LaneCommand::RemoveHand { lane: self.index, hand: place }.into());
                }
                let hint = format!("By hand, after {} of this lane's chunks, in key/value head {}: {}", hand.step, hand.kv_head, hand.what);
                ui.add(Label::new(RichText::new(hand.to_string()).small()).truncate()).on_hover_text(hint);
            });
        }
    }

    /// The query head that is shown, among those of a lane's stream.
    fn query_head(&self, stream: &Stream) -> usize {
        let view = &self.look.session.view;
        let Some(plan) = self.look.plan else { return 0 };
        let group = plan.stream.query_heads() / plan.stream.kv_heads();
        (view.kv_head * group + view.query_head.min(group - 1)).min(stream.query_heads() - 1)
    }

    /// The file of learned weights: which, none, the bundled one, or a path.
    fn weights(&self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let lane = self.lane();
        let bundled = matches!(&self.look.session.source, Source::Capture(c) if c.is_bundled());
        let now = lane.weights.as_ref().map(|p| p.display().to_string());
        let id = ui.make_persistent_id(("weights of lane", &lane.name));
        let mut typed: Option<String> = ui.data(|d| d.get_temp(id));
        let mut pick = None;
        labelled(ui, "weights", |ui| {
            let shown = match (&typed, &now) {
                (Some(_), _) => "a file…",
                (None, Some(path)) => path.rsplit(['/', '\\']).next().unwrap_or(path),
                (None, None) => "none",
            };
            let combo = ComboBox::from_id_salt(("weights", &lane.name)).selected_text(shown).width(ui.available_width()).truncate();
            let response = combo.show_ui(ui, |ui| {
                if ui.selectable_label(now.is_none(), "none").on_hover_text("The map's own start: sharpness times identity").clicked() {
                    pick = Some(None);
                }
                let is_bundled = now.as_deref() == Some(BUNDLED);
                let hint = "The maps trained for the bundled capture's model and layer";
                if (bundled || is_bundled) && ui.selectable_label(is_bundled, "bundled").on_hover_text(hint).clicked() {
                    pick = Some(Some(BUNDLED.into()));
                }
                if ui.selectable_label(false, "a file…").on_hover_text("Type the path of a safetensors file").clicked() {
                    typed = Some(now.clone().filter(|n| n != BUNDLED).unwrap_or_default());
                }
            });
            let response = response.response.accessible_name(format!("{} weights", lane.name));
            response.on_hover_text(now.as_deref().map_or("No file: the feature map is as its parameters say", |n| n));
        });
        if let Some(text) = &mut typed {
            let mut close = false;
            labelled(ui, "", |ui| {
                let field = TextEdit::singleline(text).hint_text("path.safetensors").desired_width(ui.available_width() - 8.0);
                let field = ui.add(field).accessible_name(format!("{} weights path", lane.name));
                let (entered, left) = (ui.input(|i| i.key_pressed(Key::Enter)), ui.input(|i| i.key_pressed(Key::Escape)));
                if field.lost_focus() && entered && !text.trim().is_empty() {
                    pick = Some(Some(text.trim().into()));
                }
                close = left || pick.is_some();
            });
            if close {
                typed = None;
            }
        }
        ui.data_mut(|d| match typed.filter(|_| pick.is_none()) {
            Some(text) => {
                d.insert_temp(id, text);
            }
            None => d.remove::<String>(id),
        });
        if let Some(path) = pick.filter(|p| *p != lane.weights) {
            commands.push(LaneCommand::Weights { lane: self.index, path }.into());
        }
    }
}

/// True where the feature map is one that can be learned.
fn has_learned_map(kind: &dyn LayerKind, params: &Resolved) -> bool {
    kind.params().iter().any(|p| p.name == "fmap") && params.choice("fmap") == "hedgehog"
}

/// Says under a parameter what the lane's twin has, where that is something else.
fn mark(ui: &mut Ui, differences: &[Difference], name: &str, twin: Option<&str>) {
    let (Some(difference), Some(twin)) = (differences.iter().find(|d| d.name == name), twin) else { return };
    ui.horizontal(|ui| {
        ui.add_space(12.0);
        let text = RichText::new(format!("≠ {twin} has {}", difference.theirs)).small();
        ui.add(Label::new(text).truncate().show_tooltip_when_elided(false)).on_hover_text(differs(difference, twin));
    });
}

/// The same in a sentence.
fn differs(difference: &Difference, twin: &str) -> String {
    let Difference { title, own, theirs, .. } = difference;
    format!("{title} is {own} here and {theirs} in {twin}, the nearest lane above of the same layer, which this one is compared with")
}

/// What was done to the stream for a lane.
fn notes(ui: &mut Ui, lane: Option<&PlanLane>) {
    let Some(lane) = lane.filter(|l| !l.notes.is_empty()) else { return };
    let text = if lane.notes.len() == 1 { "1 note".to_owned() } else { format!("{} notes", lane.notes.len()) };
    CollapsingHeader::new(RichText::new(text).small().weak()).id_salt(("notes", lane.index)).show(ui, |ui| {
        for note in &lane.notes {
            ui.add(Label::new(RichText::new(note).small().weak()).wrap());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_from_the_twin_is_a_sentence_with_both_values() {
        let difference = Difference { name: "n_max", title: "centroids", own: "512".to_owned(), theirs: "409".to_owned() };
        let said = differs(&difference, "OVQ");
        assert!(said.starts_with("centroids is 512 here and 409 in OVQ, the nearest lane above of the same layer"), "{said}");
    }

    #[test]
    fn the_palette_has_a_colour_for_every_lane_that_may_run() {
        for dark in [false, true] {
            let colours: Vec<_> = (0..PALETTE).map(|i| theme::lane_colour(i, dark)).collect();
            assert!((0..PALETTE).all(|i| !colours[..i].contains(&colours[i])));
        }
    }
}
