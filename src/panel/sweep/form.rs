//! The form of a sweep: what is varied, over which values, with how many seeds.

use eframe::egui::{Align, Button, Checkbox, ComboBox, DragValue, Label, Layout, ProgressBar, RichText, Role, TextEdit, Ui, WidgetInfo};

use super::super::Look;
use super::super::common::{framed, plural};
use crate::app::command::Command;
use crate::app::study::sweep::{Ask, Study};
use crate::app::study::{Studies, StudyCommand};
use crate::engine::sweep::spec::TASK;
use crate::engine::sweep::{Axis, Owner, Points, Spec};
use crate::layer::{self, LayerKind};
use crate::param::{ParamKind, ParamSpec, ParamValue};
use crate::session::{LaneSpec, Session, Source};
use crate::task::task;
use crate::widget::palette::Ink;

/// Parameters that say how much a layer holds: what a sweep is first asked for.
const SIZES: [&str; 4] = ["n_max", "cache", "window", "features"];

/// One parameter as it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Asked {
    /// The lanes; none for the task.
    lanes: Vec<String>,
    param: String,
    values: String,
}

/// See the module's page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    axes: [Asked; 2],
    /// Two parameters.
    second: bool,
    seeds: u64,
    /// Shown in a low panel too.
    unfolded: bool,
    /// The lane that has another name in the point that was opened: its old one and its new one.
    renamed: Option<(String, String)>,
}

impl Default for Form {
    fn default() -> Self {
        Self { axes: Default::default(), second: false, seeds: 3, unfolded: false, renamed: None }
    }
}

/// The parameters that can be varied: those that every chosen lane has, or the task's; texts cannot be.
fn params(session: &Session, lanes: &[String]) -> Vec<&'static ParamSpec> {
    let of = |name: &String| session.lanes.iter().find(|l| l.name == *name).and_then(|l| layer::kind(&l.layer)).map(LayerKind::params);
    let mut lists = lanes.iter().filter_map(of);
    let first = match (lists.next(), &session.source) {
        (Some(first), _) => first,
        (None, Source::Task(source)) if lanes.is_empty() => task(&source.name).map_or(&[][..], |t| t.params()),
        (None, _) => &[],
    };
    let rest: Vec<&[ParamSpec]> = lists.collect();
    let everywhere = |spec: &&ParamSpec| rest.iter().all(|list| list.iter().any(|s| s.name == spec.name));
    first.iter().filter(|s| !matches!(s.kind, ParamKind::Text { .. })).filter(everywhere).collect()
}

/// Values to begin with: around what is set now.
fn suggestion(spec: &ParamSpec, set: Option<&ParamValue>) -> String {
    let around = |now: f64, min: f64, max: f64, log: bool| {
        if log && now > 0.0 {
            let (low, high) = ((now / 8.0).max(min.max(1e-6)), (now * 8.0).min(max));
            return Points::Doubling { from: low, to: high.max(low * 2.0) };
        }
        let (low, high) = ((now / 4.0).max(min), (now * 2.0).min(max));
        Points::Linear { from: low, to: if high > low { high } else { low + 1.0 }, count: 5 }
    };
    let now = set.and_then(ParamValue::number);
    match spec.kind {
        ParamKind::Int { min, max, default, log } => {
            let now = now.filter(|n| *n > 0.0).unwrap_or(default.max(1) as f64);
            match around(now, min.max(1) as f64, max as f64, log) {
                Points::Doubling { from, to } => Points::Doubling { from: from.round(), to: to.round() }.to_string(),
                other => other.to_string(),
            }
        }
        ParamKind::Float { min, max, log, .. } => {
            around(now.or_else(|| spec.default_value().as_ref().and_then(ParamValue::number)).unwrap_or(1.0), min, max, log).to_string()
        }
        ParamKind::AutoFloat { min, max, log, .. } => around(now.unwrap_or(1.0), min, max, log).to_string(),
        ParamKind::Choice { options } => options.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(","),
        ParamKind::Bool { .. } => "false,true".to_owned(),
        ParamKind::Text { .. } => String::new(),
    }
}

impl Asked {
    /// What a sweep of this session is first asked for: the size of its first lane that has one, and that lane is not `other`'s.
    fn first(session: &Session, other: Option<&Self>) -> Self {
        let size = |lane: &&LaneSpec| {
            let params = params(session, std::slice::from_ref(&lane.name));
            SIZES.iter().find(|s| params.iter().any(|p| p.name == **s))
        };
        let free = |lane: &&LaneSpec| other.is_none_or(|o| !o.lanes.contains(&lane.name));
        let mut asked = Self::default();
        let lanes = || session.lanes.iter().filter(|l| l.enabled);
        let lane = lanes().filter(|l| l.layer == "ovq").chain(lanes()).filter(|l| size(l).is_some());
        let other_param = match other {
            None => lane.clone().next(),
            Some(_) => lane.clone().find(free).or_else(|| lane.clone().next()),
        };
        if let Some(lane) = other_param {
            asked.lanes = vec![lane.name.clone()];
            size(&lane).copied().unwrap_or_default().clone_into(&mut asked.param);
        }
        asked.suggest(session);
        asked
    }

    /// Puts the parameter among those that there are, and values around what is set.
    fn suggest(&mut self, session: &Session) {
        let params = params(session, &self.lanes);
        let Some(spec) = params.iter().find(|p| p.name == self.param).or(params.first()) else {
            (self.param, self.values) = (String::new(), String::new());
            return;
        };
        spec.name.clone_into(&mut self.param);
        let set = match (self.lanes.first(), &session.source) {
            (Some(name), _) => session.lanes.iter().find(|l| l.name == *name).and_then(|l| l.params.get(spec.name)),
            (None, Source::Task(source)) => source.params.get(spec.name),
            (None, Source::Capture(_)) => None,
        };
        self.values = suggestion(spec, set);
    }

    /// Drops lanes that are no longer there.
    fn prune(&mut self, session: &Session) {
        let before = self.lanes.len();
        self.lanes.retain(|name| session.lanes.iter().any(|l| l.name == *name));
        let gone = self.lanes.len() != before || (self.lanes.is_empty() && matches!(session.source, Source::Capture(_)));
        if gone && self.lanes.is_empty() {
            *self = Self::first(session, None);
        } else if self.param.is_empty() {
            self.suggest(session);
        }
    }

    /// Keeps to a lane that goes by another name, `old` or `new`.
    fn follow(&mut self, session: &Session, old: &str, new: &str) {
        let there = |name: &str| session.lanes.iter().any(|l| l.name == name);
        for lane in self.lanes.iter_mut().filter(|l| !there(l)) {
            let other = if lane == old { new } else { old };
            if (lane == old || lane == new) && there(other) {
                other.clone_into(lane);
            }
        }
    }

    fn owner_text(&self) -> String {
        if self.lanes.is_empty() { TASK.to_owned() } else { self.lanes.join(" + ") }
    }

    fn axis(&self, session: &Session) -> Result<Axis, String> {
        let owner = if self.lanes.is_empty() { Owner::Task } else { Owner::Lanes(self.lanes.clone()) };
        let points = Points::parse(&self.values).map_err(|e| e.to_string())?;
        Axis::new(session, owner, &self.param, &points).map_err(|e| e.to_string())
    }

    /// Lane, parameter and values, in a row.
    fn ui(&mut self, ui: &mut Ui, session: &Session, which: &str) {
        let before = (self.lanes.clone(), self.param.clone());
        let text = self.owner_text();
        let menu = ui.menu_button(format!("{text}…"), |ui| self.owners(ui, session));
        menu.response.accessible_name(format!("Lanes of the {which} parameter: {text}")).on_hover_text("Whose parameter is varied");
        let choice = ComboBox::from_id_salt(which).selected_text(self.param.as_str()).width(70.0).show_ui(ui, |ui| {
            for spec in params(session, &self.lanes) {
                ui.selectable_value(&mut self.param, spec.name.to_owned(), spec.name).on_hover_text(spec.doc);
            }
        });
        choice.response.accessible_name(format!("The {which} parameter: {}", self.param)).on_hover_text("What is varied");
        if (&self.lanes, &self.param) != (&before.0, &before.1) {
            self.suggest(session);
        }
        let help = "A list: 64,128,256. Evenly: 0..1:5 (5 points). Doubling: 64..4096:log2. Evenly in the logarithm: 1..1000:log7.";
        let field = TextEdit::singleline(&mut self.values).desired_width(120.0);
        framed(ui, |ui| ui.add(field)).accessible_name(format!("Values of the {which} parameter")).on_hover_text(help);
    }

    fn owners(&mut self, ui: &mut Ui, session: &Session) {
        if matches!(session.source, Source::Task(_)) && ui.selectable_label(self.lanes.is_empty(), "the task").clicked() {
            self.lanes.clear();
            ui.close();
        }
        for lane in &session.lanes {
            let mut on = self.lanes.contains(&lane.name);
            let was = on;
            ui.add(Checkbox::new(&mut on, lane.name.as_str()));
            match (was, on) {
                (false, true) => self.lanes.push(lane.name.clone()),
                // The last lane stays: no lane at all would be the task.
                (true, false) if self.lanes.len() > 1 => self.lanes.retain(|l| *l != lane.name),
                _ => {}
            }
        }
    }
}

impl Form {
    /// What is asked for.
    ///
    /// # Errors
    /// A sentence on what cannot be.
    pub fn spec(&self, session: &Session) -> Result<Spec, String> {
        let count = if self.second { 2 } else { 1 };
        let axes = self.axes[..count].iter().map(|a| a.axis(session)).collect::<Result<Vec<_>, _>>()?;
        Spec::new(axes, self.seeds).map_err(|e| e.to_string())
    }

    /// Fills in what is empty, and drops what is no longer there.
    pub fn keep_up(&mut self, session: &Session) {
        if self.axes[0].param.is_empty() {
            self.axes[0] = Asked::first(session, None);
        }
        if let Some((old, new)) = &self.renamed {
            self.axes.iter_mut().for_each(|a| a.follow(session, old, new));
        }
        self.axes.iter_mut().take(if self.second { 2 } else { 1 }).for_each(|a| a.prune(session));
    }

    /// Keeps to a lane whose name changes with the point that was opened.
    pub fn rename(&mut self, renamed: Option<(String, String)>) {
        if renamed.is_some() {
            self.renamed = renamed;
        }
    }

    /// What is asked for, in short: `OVQ n_max: 64,128; LoLA cache: 0,16`.
    fn short(&self) -> String {
        let axes = &self.axes[..if self.second { 2 } else { 1 }];
        let each = |a: &Asked| format!("{} {}: {}", a.owner_text(), a.param, a.values);
        axes.iter().map(each).collect::<Vec<_>>().join("; ")
    }

    /// The form, with start and stop; one row of it in a low panel, until it is unfolded.
    pub fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, low: bool, commands: &mut Vec<Command>) {
        self.keep_up(&look.plan.session);
        if low {
            self.row(ui, look, commands);
        }
        if !low || self.unfolded {
            self.rows(ui, look, commands);
        }
        status(ui, look.studies);
    }

    /// The one row of a low panel.
    fn row(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        ui.horizontal(|ui| {
            let button = Button::new("vary…").selected(self.unfolded);
            let toggle = ui.add(button).on_hover_text("Show what varies, to change it; or hide it");
            toggle.widget_info(|| WidgetInfo::selected(Role::Button, true, self.unfolded, "Show what varies"));
            if toggle.clicked() {
                self.unfolded = !self.unfolded;
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if !self.unfolded {
                    self.start(ui, &look.plan.session, &look.studies.sweep, commands);
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let text = RichText::new(self.short()).small().color(Ink::of(ui).quiet);
                    ui.add(Label::new(text).truncate());
                });
            });
        });
    }

    /// The rows of the form.
    fn rows(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let (session, study) = (&look.plan.session, &look.studies.sweep);
        ui.horizontal_wrapped(|ui| {
            ui.label("Vary");
            self.axes[0].ui(ui, session, "first");
            if self.second {
                ui.label("and");
                self.axes[1].ui(ui, session, "second");
            }
            let plus = if self.second { "one only" } else { "and another" };
            if ui.button(plus).on_hover_text("Vary one parameter, or two").clicked() {
                self.second = !self.second;
                if self.second && self.axes[1].param.is_empty() {
                    self.axes[1] = Asked::first(session, Some(&self.axes[0]));
                }
            }
            let unit = if self.seeds == 1 { " seed" } else { " seeds" };
            let seeds = DragValue::new(&mut self.seeds).range(1..=100).suffix(unit);
            ui.add(seeds).accessible_name("Seeds").on_hover_text("The session's seed and those that follow it");
            self.start(ui, session, study, commands);
        });
    }

    fn start(&self, ui: &mut Ui, session: &Session, study: &Study, commands: &mut Vec<Command>) {
        if study.running() {
            if ui.button("Stop").on_hover_text("What is done stays").clicked() {
                commands.push(Command::Study(StudyCommand::Sweep(Ask::Stop)));
            }
            return;
        }
        let spec = self.spec(session);
        let button = ui.add_enabled(spec.is_ok(), Button::new(RichText::new("Start").strong()));
        match spec {
            Ok(spec) => {
                if button.on_hover_text("Run every point with every seed, in the background").clicked() {
                    commands.push(Command::Study(StudyCommand::Sweep(Ask::Start(spec))));
                }
            }
            Err(reason) => {
                ui.label(RichText::new(reason).color(ui.visuals().error_fg_color).small());
            }
        }
    }
}

/// How far it is, and what went wrong.
fn status(ui: &mut Ui, studies: &Studies) {
    let study = &studies.sweep;
    if let Some(error) = study.error() {
        ui.label(RichText::new(error).color(ui.visuals().error_fg_color));
    }
    if study.running() {
        let done = study.rows().len();
        let on = study.backend().map(|b| format!(", on {}", b.adapter)).unwrap_or_default();
        let text =
            if study.pieces() == 0 { "beginning".to_owned() } else { format!("{done} of {}{on}", plural(study.pieces(), "run", "runs")) };
        let bar = ProgressBar::new(study.share()).desired_height(14.0).text(RichText::new(text.as_str()).small());
        ui.add(bar).accessible_name(format!("Sweep: {text}"));
    } else if study.stopped() {
        let text = format!("Stopped after {} of {}.", study.rows().len(), plural(study.pieces(), "run", "runs"));
        ui.label(RichText::new(text).small().color(Ink::of(ui).quiet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Params;

    fn session() -> Session {
        let ovq = LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 512));
        Session { lanes: vec![LaneSpec::new("LoLA", "lola", Params::default()), ovq], ..Session::default() }
    }

    #[test]
    fn what_is_first_asked_for_can_be_started() {
        let session = session();
        let mut form = Form::default();
        form.keep_up(&session);
        assert_eq!((form.axes[0].lanes.as_slice(), form.axes[0].param.as_str()), (&["OVQ".to_owned()][..], "n_max"));
        assert_eq!(form.axes[0].values, "64..4096:log2");
        let spec = form.spec(&session).unwrap();
        assert_eq!((spec.axes[0].values.len(), spec.seeds), (7, 3));
    }

    #[test]
    fn every_parameter_of_every_layer_has_values_to_begin_with() {
        for kind in layer::KINDS {
            let lane = LaneSpec::new("a", kind.name(), Params::default());
            let session = Session { lanes: vec![lane], ..Session::default() };
            for spec in params(&session, &["a".to_owned()]) {
                let mut asked = Asked { lanes: vec!["a".to_owned()], param: spec.name.to_owned(), values: String::new() };
                asked.suggest(&session);
                let axis = asked.axis(&session);
                assert!(axis.is_ok(), "{}.{} = {}: {axis:?}", kind.name(), spec.name, asked.values);
            }
        }
    }

    #[test]
    fn lanes_that_are_gone_are_forgotten() {
        let mut form = Form::default();
        form.keep_up(&session());
        let other = Session { lanes: vec![LaneSpec::new("w", "window", Params::default())], ..Session::default() };
        form.keep_up(&other);
        assert_eq!((form.axes[0].lanes.as_slice(), form.axes[0].param.as_str()), (&["w".to_owned()][..], "window"));
    }
}
