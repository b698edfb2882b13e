//! The left panel: where the stream comes from and its parameters; below it the lanes (`lanes_panel`).

use eframe::egui::style::ScrollStyle;
use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{Align, ComboBox, DragValue, Label, Layout, RichText, ScrollArea, Sense, TextStyle, Ui, UiBuilder, vec2};

use crate::app::command::{Command, SessionCommand, ViewCommand};
use crate::app::focus;
use crate::app::icon::{self, Icon};
use crate::app::lanes_panel;
use crate::app::params::{self, Row};
use crate::param::Params;
use crate::session::plan::Plan;
use crate::session::{BackendChoice, CaptureSource, LaneSpec, Session, Source, TaskSource};
use crate::stream::capture::BUNDLED;
use crate::task::{self, TASKS};

/// A session that cannot run, in words, and where to say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The lane it is about, by its place in the session.
    pub lane: Option<usize>,
    /// The sentence.
    pub message: String,
}

/// What the panel is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct SessionLook<'a> {
    /// The session as the user has set it; the run on screen may still be of an older one.
    pub session: &'a Session,
    /// The plan on screen.
    pub plan: Option<&'a Plan>,
    /// Why the session as set cannot run, if it cannot.
    pub problem: Option<&'a Problem>,
    /// The layers that the capture file holds.
    pub layers: &'a [u32],
    /// The lane that was removed last, if it can be put back.
    pub removed: Option<&'a LaneSpec>,
}

/// Draws the panel.
pub fn ui(ui: &mut Ui, look: SessionLook<'_>, commands: &mut Vec<Command>) {
    // Inside a rectangle of its own, nothing in the panel makes it wider.
    let rect = ui.available_rect_before_wrap();
    ui.allocate_rect(rect, Sense::hover());
    let mut inside = ui.new_child(UiBuilder::new().max_rect(rect).layout(*ui.layout()));
    // A bar that has room of its own, so that it covers no control.
    inside.spacing_mut().scroll = ScrollStyle { fade: inside.spacing().scroll.fade, ..ScrollStyle::solid() };
    contents(&mut inside, look, commands);
}

fn contents(ui: &mut Ui, look: SessionLook<'_>, commands: &mut Vec<Command>) {
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        heading(ui, "Stream");
        source(ui, look, commands);
        if let Some(problem) = look.problem.filter(|p| p.lane.is_none() && !lanes_panel::is_of_the_list(&look.session.lanes)) {
            error(ui, &problem.message);
        }
        heads(ui, look, commands);
        seed(ui, look.session, commands);
        ui.add_space(6.0);
        lanes_panel::ui(ui, look, commands);
        ui.add_space(6.0);
        focus::follow(ui);
    });
}

pub(super) fn heading(ui: &mut Ui, text: &str) {
    ui.add_space(2.0);
    ui.label(RichText::new(text.to_uppercase()).small().strong());
    ui.add_space(2.0);
}

pub(super) fn error(ui: &mut Ui, message: &str) {
    ui.add(Label::new(RichText::new(message).color(ui.visuals().error_fg_color).small()).wrap());
}

/// A name on the left, a control on the rest of the row.
pub(super) fn labelled<R>(ui: &mut Ui, name: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.add_space(12.0);
        ui.allocate_ui_with_layout(vec2(params::NAME_WIDTH, 20.0), Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(params::NAME_WIDTH);
            ui.add(Label::new(name).truncate().selectable(false));
        });
        add(ui)
    })
    .inner
}

fn source(ui: &mut Ui, look: SessionLook<'_>, commands: &mut Vec<Command>) {
    let session = look.session;
    let title = match &session.source {
        Source::Capture(c) if c.path.as_os_str() == BUNDLED => "Bundled capture".to_owned(),
        Source::Capture(c) => c.path.file_name().unwrap_or(c.path.as_os_str()).to_string_lossy().into_owned(),
        Source::Task(t) => task::task(&t.name).map_or_else(|| t.name.clone(), |t| t.title().to_owned()),
    };
    let mut pick = None;
    labelled(ui, "source", |ui| {
        let combo = ComboBox::from_id_salt("source").selected_text(title).width(ui.available_width()).truncate();
        let response = combo.show_ui(ui, |ui| {
            let bundled = CaptureSource { path: BUNDLED.into(), layer: None, kv_heads: None, tokens: None, sha256: None };
            if ui.selectable_label(false, "Bundled capture").on_hover_text("A needle prompt of a real model").clicked() {
                pick = Some(Source::Capture(bundled));
            }
            for task in TASKS {
                let chosen = matches!(&session.source, Source::Task(t) if t.name == task.name());
                if ui.selectable_label(chosen, task.title()).on_hover_text(task.about()).clicked() && !chosen {
                    pick = Some(Source::Task(TaskSource { name: task.name().to_owned(), params: Params::default() }));
                }
            }
        });
        response.response.accessible_name("Source");
    });
    if let Some(source) = pick.filter(|s| *s != session.source) {
        commands.push(Command::Session(SessionCommand::Source(source)));
    }
    match &session.source {
        Source::Capture(capture) => capture_ui(ui, look, capture, commands),
        Source::Task(t) => {
            if let Some(task) = task::task(&t.name) {
                about(ui, task.about(), look.plan);
            }
            for spec in task::task(&t.name).map_or(&[][..], |t| t.params()) {
                if let Some(value) = params::row(ui, Row { owner: "task", spec, value: t.params.get(spec.name), used: None }) {
                    commands.push(Command::Session(SessionCommand::TaskParam { name: spec.name, value }));
                }
            }
        }
    }
    // While the session as set cannot run, the plan is that of another one.
    if let Some(plan) = look.plan.filter(|_| look.problem.is_none()) {
        let labels = plan.stream.labels();
        let about = if labels.about.is_empty() { labels.title.clone() } else { labels.about.clone() };
        ui.horizontal(|ui| {
            ui.add_space(12.0);
            let size = format!(
                "{} writes, {} reads, dk {}, dv {}",
                plan.stream.writes(),
                plan.stream.reads(),
                plan.stream.key_dim(),
                plan.stream.value_dim()
            );
            ui.add(Label::new(RichText::new(size).weak().small()).truncate()).on_hover_text(about);
        });
    }
}

/// What a task tests and where it comes from, in three lines at most; all of it and what the stream says of itself on hover.
fn about(ui: &mut Ui, text: &str, plan: Option<&Plan>) {
    ui.horizontal(|ui| {
        ui.add_space(12.0);
        let font = TextStyle::Small.resolve(ui.style());
        let mut job = LayoutJob::single_section(text.to_owned(), TextFormat::simple(font, ui.visuals().weak_text_color()));
        job.wrap = TextWrapping { max_width: ui.available_width() - 4.0, max_rows: 3, ..TextWrapping::default() };
        let galley = ui.fonts_mut(|f| f.layout_job(job));
        let label = ui.add(Label::new(galley).show_tooltip_when_elided(false));
        label.on_hover_ui(|ui| {
            ui.label(text);
            if let Some(about) = plan.map(|p| p.stream.labels().about.as_str()).filter(|a| !a.is_empty() && *a != text) {
                ui.add_space(4.0);
                ui.label(about);
            }
        });
    });
}

fn capture_ui(ui: &mut Ui, look: SessionLook<'_>, capture: &CaptureSource, commands: &mut Vec<Command>) {
    let chosen = capture.layer.or_else(|| look.layers.first().copied());
    if look.layers.len() > 1 {
        labelled(ui, "layer", |ui| {
            let text = chosen.map_or_else(String::new, |l| l.to_string());
            let combo = ComboBox::from_id_salt("capture layer").selected_text(text).width(ui.available_width());
            let response = combo.show_ui(ui, |ui| {
                for &layer in look.layers {
                    if ui.selectable_label(Some(layer) == chosen, layer.to_string()).clicked() {
                        let source = CaptureSource { layer: Some(layer), ..capture.clone() };
                        commands.push(Command::Session(SessionCommand::Source(Source::Capture(source))));
                    }
                }
            });
            response.response.accessible_name("Capture layer");
        });
    } else if let Some(layer) = chosen {
        labelled(ui, "layer", |ui| ui.weak(layer.to_string()));
    }
}

fn heads(ui: &mut Ui, look: SessionLook<'_>, commands: &mut Vec<Command>) {
    let Some(plan) = look.plan else { return };
    let (kv, group) = (plan.stream.kv_heads(), plan.stream.query_heads() / plan.stream.kv_heads());
    let view = &look.session.view;
    let mut pick = |ui: &mut Ui, name: &str, title: &str, count: usize, now: usize, make: fn(usize) -> ViewCommand| {
        if count < 2 {
            return;
        }
        labelled(ui, title, |ui| {
            for head in 0..count.min(12) {
                let response = ui.selectable_label(head == now, head.to_string()).accessible_name(format!("{name} {head}"));
                if response.clicked() && head != now {
                    commands.push(Command::View(make(head)));
                }
            }
        });
    };
    pick(ui, "Key/value head", "kv head", kv, view.kv_head.min(kv - 1), ViewCommand::KvHead);
    pick(ui, "Query head", "query head", group, view.query_head.min(group - 1), ViewCommand::QueryHead);
}

fn seed(ui: &mut Ui, session: &Session, commands: &mut Vec<Command>) {
    labelled(ui, "seed", |ui| {
        let mut seed = session.seed;
        let field = params::exactly(ui, 60.0, DragValue::new(&mut seed).speed(0.05).update_while_editing(false));
        if field.accessible_name("Seed").changed() {
            commands.push(Command::Session(SessionCommand::Seed(seed)));
        }
        if ui.button("New").accessible_name("New seed").on_hover_text("The next seed, and run again").clicked() {
            commands.push(Command::Session(SessionCommand::NewSeed));
        }
        let reset = icon::sized(ui, Icon::Repeat, "Reset run", false, vec2(24.0, 20.0));
        if reset.on_hover_text("Run again from the start with the same seed").clicked() {
            commands.push(Command::Session(SessionCommand::Reset));
        }
    });
    labelled(ui, "compute on", |ui| {
        let name = |b: BackendChoice| match b {
            BackendChoice::Auto => "auto",
            BackendChoice::Gpu => "GPU",
            BackendChoice::Cpu => "CPU",
        };
        let mut chosen = session.backend;
        for (choice, hint) in [
            (BackendChoice::Auto, "A real GPU where there is one, else the CPU"),
            (BackendChoice::Gpu, "A GPU adapter, software ones too"),
            (BackendChoice::Cpu, "The CPU"),
        ] {
            ui.selectable_value(&mut chosen, choice, name(choice))
                .on_hover_text(hint)
                .accessible_name(format!("Compute on {}", name(choice)));
        }
        if chosen != session.backend {
            commands.push(Command::Session(SessionCommand::Backend(chosen)));
        }
    });
}
