//! The sweep: scores over ranges of parameters, against what the memory holds, against the parameter, or as a map of two.

mod form;
mod map;
mod model;
mod plot;

use eframe::egui::{Button, ComboBox, Label, RichText, ScrollArea, Ui, vec2};

use self::form::Form;
use self::model::{Along, Model, Point, mapped};
use super::common::{plural, words};
use super::{Look, Panel};
use crate::app::command::{Command, SessionCommand, WindowCommand};
use crate::app::theme;
use crate::engine::sweep::is_of_task;
use crate::metric::Summary;
use crate::session::{Session, Source, lanes};
use crate::widget::cached::Cached;
use crate::widget::chart::SMALL;
use crate::widget::line::Dash;
use crate::widget::palette::Ink;
use crate::widget::ticks::{grouped, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "What lanes score while one or two parameters vary, over several seeds, in the background: choose the lanes, the parameter and \
its values (64,128,256 is a list, 0..1:5 five points, 64..4096:log2 doubling), and start. Lanes that are not varied are run once a seed and stand \
beside the others. The sweep is of the session as it was when it began.\n\n\
State: the score against the numbers that the memory holds at the end, per head, on a logarithmic axis. The heavy line is the front: \
nothing with as small a memory scores better. Parameter: the score against the parameter; level lines are lanes that it does not touch. Map: the score over \
two parameters.\n\n\
The formula: all seeds' reads together; accuracy, correct / reads, with Wilson's 95% interval as its bar; or the relative error \
against full attention sqrt(sum |o - y|^2 / sum |y|^2), in regression without the root, with the seeds' smallest and largest as its bar.\n\n\
Hover for the exact numbers. Click a point, or choose it under `open`, to run it: its lane gets those values, the others stay. \
The rows can be exported as a Parquet file; `mnemoscope sweep` makes the same without a window.";

/// What is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum View {
    /// Against the size of the state.
    #[default]
    State,
    /// Against a parameter, the first or the second.
    Parameter(usize),
    /// Over two parameters.
    Map,
}

/// See [`HELP`].
#[derive(Default)]
pub struct SweepPanel {
    form: Form,
    view: View,
    /// The lane of the map, by name.
    lane: Option<String>,
    model: Cached<u64, Model>,
}

impl Panel for SweepPanel {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let height = ui.available_height();
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            let top = ui.cursor().top();
            self.form.ui(ui, look, commands);
            let study = &look.studies.sweep;
            let Some((session, spec)) = study.asked() else {
                words(ui, "Choose what varies, and start: every point is run with every seed, and drawn as it is done.");
                return;
            };
            let model = self.model.get(study.generation(), || Model::of(study.rows()));
            let names: Vec<String> = session.lanes.iter().map(|l| l.name.clone()).collect();
            let maps = mapped(spec, &names);
            let along: Vec<Along> = spec.axes.iter().map(Along::new).collect();
            let views = Views { view: &mut self.view, lane: &mut self.lane, along: &along, maps: &maps };
            let open = views.row(ui, model, commands);
            if model.points.is_empty() {
                words(ui, if study.running() { "The first points are on their way." } else { "No point has a score." });
                return;
            }
            let styles = Styles::new(session, ui.visuals().dark_mode);
            let left = (height - (ui.cursor().top() - top) - 6.0).max(120.0);
            let size = vec2(ui.available_width(), left);
            let clicked = match (self.view, along.as_slice()) {
                (View::Map, [x, y]) if !maps.is_empty() => {
                    let lane = self.lane.as_ref().filter(|l| maps.contains(l)).unwrap_or(&maps[0]);
                    map::draw(ui, size, model, lane, x, y)
                }
                (View::Parameter(axis), along) => plot::draw(ui, size, model, &styles, along.get(axis).or(along.first())),
                _ => plot::draw(ui, size, model, &styles, None),
            };
            if let Some(point) = open.or(clicked).and_then(|i| model.points.get(i)) {
                open_point(look, session, point, commands);
            }
        });
    }
}

/// The row that chooses what is drawn.
struct Views<'a> {
    view: &'a mut View,
    lane: &'a mut Option<String>,
    along: &'a [Along],
    maps: &'a [String],
}

impl Views<'_> {
    /// Draws it; the point that was chosen to be opened.
    fn row(self, ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) -> Option<usize> {
        // A view that this sweep does not have is left for one that it has.
        let there = match *self.view {
            View::State => true,
            View::Parameter(axis) => axis < self.along.len(),
            View::Map => !self.maps.is_empty(),
        };
        if !there {
            *self.view = View::State;
        }
        let mut open = None;
        ui.horizontal_wrapped(|ui| {
            ui.selectable_value(self.view, View::State, "state size");
            for (i, along) in self.along.iter().enumerate() {
                ui.selectable_value(self.view, View::Parameter(i), along.title.as_str());
            }
            if !self.maps.is_empty() {
                ui.selectable_value(self.view, View::Map, "map");
            }
            if *self.view == View::Map && self.maps.len() > 1 {
                let shown = self.lane.as_ref().filter(|l| self.maps.contains(l)).unwrap_or(&self.maps[0]).clone();
                let mut chosen = shown.clone();
                let choice = ComboBox::from_id_salt("map's lane").selected_text(shown.as_str()).width(70.0).show_ui(ui, |ui| {
                    for lane in self.maps {
                        ui.selectable_value(&mut chosen, lane.clone(), lane.as_str());
                    }
                });
                choice.response.accessible_name(format!("Lane of the map: {shown}"));
                *self.lane = Some(chosen);
            }
            open = points_menu(ui, model);
            let export = ui.add_enabled(!model.points.is_empty(), Button::new("export…"));
            if export.on_hover_text("Write every row, seed by seed, into a Parquet file").clicked() {
                commands.push(Command::Window(WindowCommand::ExportSweep));
            }
            failures(ui, model);
        });
        open
    }
}

/// The points as a menu: what can be clicked in the plot can be chosen with the keyboard here.
fn points_menu(ui: &mut Ui, model: &Model) -> Option<usize> {
    let mut open = None;
    let menu = ui.menu_button("open…", |ui| {
        ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
            for (i, point) in model.points.iter().enumerate() {
                if ui.button(format!("{}: {}", point.title(), figures(point))).clicked() {
                    open = Some(i);
                    ui.close();
                }
            }
        });
    });
    menu.response.accessible_name("Open a point of the sweep as lanes").on_hover_text("Run a point in the window");
    open
}

fn failures(ui: &mut Ui, model: &Model) {
    let count: usize = model.failed.iter().map(|(_, n)| n).sum();
    if count == 0 {
        return;
    }
    let text = format!("{} cannot be", plural(count, "run", "runs"));
    let all = model.failed.iter().map(|(reason, n)| format!("{n} x {reason}")).collect::<Vec<_>>().join("\n");
    let colour = ui.visuals().warn_fg_color;
    ui.add(Label::new(RichText::new(text).size(SMALL).color(colour))).on_hover_text(all);
}

/// How a lane is drawn, by its place in the session: the same as in the other panels.
struct Styles {
    lanes: Vec<(String, eframe::egui::Color32, Dash)>,
    quiet: eframe::egui::Color32,
}

impl Styles {
    fn new(session: &Session, dark: bool) -> Self {
        let colours = lanes::colours(&session.lanes);
        let mut shown = 0;
        let style = |(lane, colour): (&crate::session::LaneSpec, usize)| {
            // Dashes are by place among the lanes that run, as the recall panel has them.
            let dash = Dash::of(shown);
            shown += usize::from(lane.enabled);
            (lane.name.clone(), theme::lane_colour(colour, dark), dash)
        };
        let quiet = theme::lane_colour(0, dark);
        Self { lanes: session.lanes.iter().zip(colours).map(style).collect(), quiet }
    }

    fn of(&self, lane: &str) -> (eframe::egui::Color32, Dash, usize) {
        let at = self.lanes.iter().position(|(name, _, _)| name == lane);
        at.map_or((self.quiet, Dash::Solid, 0), |i| (self.lanes[i].1, self.lanes[i].2, i))
    }
}

/// The score of a point: `0.960 (0.805 to 0.993)`, `0.414 (0.400 to 0.430)`.
fn figures(point: &Point) -> String {
    let Some(score) = point.score() else { return "no score".to_owned() };
    point.bar().map_or_else(|| format!("{score:.3}"), |(low, high)| format!("{score:.3} ({low:.3} to {high:.3})"))
}

/// What is said of a point beside the pointer.
fn point_facts(point: &Point) -> Vec<(&'static str, String)> {
    let (kind, reads) = match point.summary() {
        Some(Summary::Recall { correct, reads }) => ("accuracy", format!("{correct} of {reads} right")),
        Some(Summary::Error { cosine, reads, .. }) => ("relative error", format!("{reads}, mean cosine {cosine:.3}")),
        None => ("score", "none".to_owned()),
    };
    let each = |(seed, tally): &(u64, crate::engine::sweep::Tally)| {
        let score = tally.summary().headline().map_or_else(|| "no reads".to_owned(), |s| format!("{s:.3}"));
        format!("{seed}: {score}")
    };
    let mut seeds: Vec<String> = point.seeds.iter().take(8).map(each).collect();
    if point.seeds.len() > 8 {
        seeds.push("..".to_owned());
    }
    vec![
        (kind, figures(point)),
        ("reads", reads),
        ("by seed", seeds.join(", ")),
        ("numbers held", format!("{} a head, {}% of full", grouped(point.numbers), number(100.0 * point.share))),
        ("multiply-adds", format!("{} a token, {} a read", grouped(point.madds.0), grouped(point.madds.1))),
        ("time", format!("{:.1} ms a seed", 1e3 * point.seconds / point.seeds.len().max(1) as f64)),
    ]
}

/// Asks for a point's run: its lane with its values, in the session as it is; and the task's values, if the task is varied.
fn open_point(look: &Look<'_>, swept: &Session, point: &Point, commands: &mut Vec<Command>) {
    let here = &look.plan.session;
    let mut all = here.lanes.clone();
    let at = all.iter().position(|l| l.name == point.lane).or_else(|| {
        let lane = swept.lanes.iter().find(|l| l.name == point.lane)?;
        all.push(lane.clone());
        Some(all.len() - 1)
    });
    let Some(at) = at else { return };
    let (of_task, own): (Vec<_>, Vec<_>) = point.varied.iter().partition(|(name, _)| is_of_task(name));
    for (name, value) in own {
        all[at].params.set(name, value.clone());
    }
    if !all[at].enabled {
        lanes::enable(&mut all, at, true);
    }
    let mut source = here.source.clone();
    if let (Source::Task(task), false) = (&mut source, of_task.is_empty()) {
        for (name, value) in of_task {
            task.params.set(name.split_once('.').map_or(name.as_str(), |(_, param)| param), value.clone());
        }
    }
    if source != here.source {
        commands.push(Command::Session(SessionCommand::Source(source)));
    }
    commands.push(Command::Session(SessionCommand::Lanes(all)));
}

/// A quiet line of words under the views, cut where it is too long.
fn quiet_line(ui: &mut Ui, text: &str) {
    let quiet = Ink::of(ui).quiet;
    ui.add(Label::new(RichText::new(text).size(SMALL).color(quiet)).truncate());
}
