//! The sweep: scores over ranges of parameters, against what the memory holds, against the parameter, or as a map of two.

mod form;
mod map;
mod model;
mod open;
mod origin;
mod plot;

use eframe::egui::{Button, ComboBox, Label, RichText, ScrollArea, Ui, vec2};

use self::form::Form;
use self::model::{Along, Model, Point, mapped};
use self::open::Opened;
use super::MARKS;
use super::common::{plural, words};
use super::row::tabs;
use super::{Look, Panel};
use crate::app::command::{Command, WindowCommand};
use crate::app::study::sweep::Study;
use crate::app::theme;
use crate::metric::Summary;
use crate::panel::choices::Choices;
use crate::session::{Session, lanes};
use crate::widget::cached::Cached;
use crate::widget::chart::{SMALL, Sign};
use crate::widget::line::Dash;
use crate::widget::palette::Ink;
use crate::widget::ticks::{grouped, number};

/// The text behind the panel's `?`.
pub const HELP: &str = "What lanes score while one or two parameters vary, over several seeds, in the background: choose the lanes, the parameter and \
its values (64,128,256 is a list, 0..1:5 five points, 64..4096:log2 doubling), and start. Lanes that are not varied are run once a seed and stand \
beside the others. The results are of the session as it was when the sweep began: the panel names its task, and warns where the session that \
is set now has another source or seed.\n\n\
State: the score against the numbers that the memory holds at the end, per head, on a logarithmic axis. The heavy line is the front: \
nothing with as small a memory scores better. Parameter: the score against the parameter; level lines are lanes that it does not touch. Map: the score over \
two parameters.\n\n\
The formula: all seeds' reads together; accuracy, correct / reads, with Wilson's 95% interval as its bar; or the relative error \
against full attention sqrt(sum |o - y|^2 / sum |y|^2), in regression without the root, with the seeds' smallest and largest as its bar.\n\n\
Hover for the exact numbers. Click a point, or choose it under `open a point…`, to open that run in the window, whatever is set there now: the \
session that was swept, with the point's first seed and its values; a lane whose name would tell an old value is renamed, and lanes that \
could not run on the point's stream are switched off. The same menu has the way back, the session as it was swept. \
The rows can be exported as a Parquet file; `mnemoscope sweep` makes the same without a window.";

/// A panel lower than this shows the form in one row beside results.
const LOW: f32 = 320.0;

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
    /// What was opened last.
    opened: Option<Opened>,
}

impl Panel for SweepPanel {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let height = ui.available_height();
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.inside(ui, look, height, commands);
            crate::app::focus::follow(ui);
        });
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        let views = [
            (View::State, "state size"),
            (View::Parameter(0), "first parameter"),
            (View::Parameter(1), "second parameter"),
            (View::Map, "map"),
        ];
        choices.one_of("view", &mut self.view, views);
        choices.words("lane of the map", &mut self.lane);
    }
}

impl SweepPanel {
    /// What is scrolled, where `height` points are seen at once.
    fn inside(&mut self, ui: &mut Ui, look: &Look<'_>, height: f32, commands: &mut Vec<Command>) {
        let top = ui.cursor().top();
        let study = &look.studies.sweep;
        let low = height < LOW && !study.rows().is_empty();
        if low {
            // As much as there can be in one row, and as many rows.
            let spacing = ui.spacing_mut();
            (spacing.item_spacing, spacing.button_padding.x) = (vec2(3.0, 2.0), 5.0);
        }
        self.form.ui(ui, look, low, commands);
        let Some((session, spec)) = study.asked() else {
            words(ui, "Choose what varies, and start: every point is run with every seed, and drawn as it is done.");
            return;
        };
        let model = self.model.get(study.generation(), || Model::of(study.rows(), spec.seeds));
        let names: Vec<String> = session.lanes.iter().map(|l| l.name.clone()).collect();
        let maps = mapped(spec, &names);
        let along: Vec<Along> = spec.axes.iter().map(Along::new).collect();
        let views = Views { view: &mut self.view, lane: &mut self.lane, along: &along, maps: &maps };
        let mut chosen = views.row(ui, model, commands);
        warn(ui, origin::elsewhere(session, spec, &look.plan.session), &origin::whole(session, spec.seeds));
        if let Some(opened) = self.opened.as_ref().filter(|o| o.is(&look.plan.session)) {
            let reasons = opened.off.iter().map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>();
            warn(ui, opened.words(), &reasons.join("\n"));
        }
        if model.points.is_empty() {
            words(ui, if study.running() { "The first points are on their way." } else { "No point has a score." });
        } else {
            let heading = Heading { title: &origin::heading(session, model), whole: &origin::whole(session, spec.seeds) };
            let styles = Styles::new(session, ui.visuals().dark_mode);
            let left = (height - (ui.cursor().top() - top) - 6.0).max(120.0);
            let size = vec2(ui.available_width(), left);
            let clicked = match (self.view, along.as_slice()) {
                (View::Map, [x, y]) if !maps.is_empty() => {
                    let lane = self.lane.as_ref().filter(|l| maps.contains(l)).unwrap_or(&maps[0]);
                    map::draw(ui, size, model, &heading, lane, x, y)
                }
                (View::Parameter(axis), along) => plot::draw(ui, size, model, &heading, &styles, along.get(axis).or(along.first())),
                _ => plot::draw(ui, size, model, &heading, &styles, None),
            };
            chosen = chosen.or(clicked.map(Choice::Point));
        }
        let opened = chosen.and_then(|choice| choice.opened(session, study, model));
        if let Some(opened) = opened {
            commands.push(opened.command());
            self.form.rename(opened.renamed.clone());
            self.opened = Some(opened);
        }
    }
}

/// What a picture is of.
struct Heading<'a> {
    /// `needles, 3 seeds`.
    title: &'a str,
    /// The same with every value, for the pointer.
    whole: &'a str,
}

/// What is chosen to be opened.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// This point.
    Point(usize),
    /// The session as it was swept.
    Swept,
}

impl Choice {
    fn opened(self, swept: &Session, study: &Study, model: &Model) -> Option<Opened> {
        match self {
            Self::Point(i) => Opened::point(swept, study.rows(), model.points.get(i)?),
            Self::Swept => Some(Opened::swept(swept)),
        }
    }
}

/// A line that stands out, if there is one, and more of it on hover.
fn warn(ui: &mut Ui, line: Option<String>, more: &str) {
    if let Some(line) = line {
        let colour = ui.visuals().warn_fg_color;
        ui.add(Label::new(RichText::new(line).size(SMALL).strong().color(colour)).wrap()).on_hover_text(more);
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
    /// Draws it; what was chosen to be opened.
    fn row(self, ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) -> Option<Choice> {
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
            let mut views = vec![(View::State, "state size", "Scores against the size of the state")];
            let parameters = self.along.iter().enumerate();
            views.extend(parameters.map(|(i, along)| (View::Parameter(i), along.title.as_str(), "Scores against this parameter")));
            if !self.maps.is_empty() {
                views.push((View::Map, "map", "A lane's scores over both parameters"));
            }
            tabs(ui, self.view, &views, 0.0);
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
fn points_menu(ui: &mut Ui, model: &Model) -> Option<Choice> {
    let mut open = None;
    let menu = ui.menu_button("open a point…", |ui| {
        let back = ui.button("the session as it was swept");
        if back.on_hover_text("Put back the source, the seed and the lanes that were swept").clicked() {
            open = Some(Choice::Swept);
            ui.close();
        }
        ui.separator();
        ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
            for (i, point) in model.points.iter().enumerate() {
                let partial = model.partial(point).map(|p| format!(", {p}")).unwrap_or_default();
                if ui.button(format!("{}: {}{partial}", point.title(), figures(point))).clicked() {
                    open = Some(Choice::Point(i));
                    ui.close();
                }
            }
        });
    });
    let hint = "Run a point in the window: the session that was swept, with the point's seed and values";
    menu.response.accessible_name("Open a point of the sweep").on_hover_text(hint);
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

/// How a lane is drawn: the colour, the dashes and the mark that other panels draw it with in the session that was swept.
struct Styles {
    lanes: Vec<(String, eframe::egui::Color32, usize)>,
    quiet: eframe::egui::Color32,
}

impl Styles {
    fn new(session: &Session, dark: bool) -> Self {
        let colours = lanes::colours(&session.lanes);
        let style = |(i, number): (usize, usize)| (session.lanes[i].name.clone(), theme::lane_colour(colours[i], dark), number);
        Self { lanes: numbers(session).into_iter().enumerate().map(style).collect(), quiet: theme::lane_colour(0, dark) }
    }

    fn of(&self, lane: &str) -> (eframe::egui::Color32, Dash, &'static Sign) {
        let at = self.lanes.iter().find(|(name, _, _)| name == lane);
        let (colour, number) = at.map_or((self.quiet, 0), |(_, colour, number)| (*colour, *number));
        let marks: &'static [Sign; 8] = &MARKS;
        (colour, Dash::of(number), &marks[number % marks.len()])
    }
}

/// The number of every lane by which its dashes and its mark are chosen: its place in the palette, as other panels have it. Lanes that are
/// switched off, which are there only while they are varied, take the numbers that are left.
fn numbers(session: &Session) -> Vec<usize> {
    let places = lanes::colours(&session.lanes);
    let taken: Vec<usize> = session.lanes.iter().zip(&places).filter(|(lane, _)| lane.enabled).map(|(_, place)| *place).collect();
    let mut left = (0..).filter(|number| !taken.contains(number));
    let number = |(lane, place): (&crate::session::LaneSpec, &usize)| if lane.enabled { Some(*place) } else { left.next() };
    session.lanes.iter().zip(&places).filter_map(number).collect()
}

/// The score of a point: `0.960 (0.805 to 0.993)`, `0.414 (0.400 to 0.430)`.
fn figures(point: &Point) -> String {
    let Some(score) = point.score() else { return "no score".to_owned() };
    point.bar().map_or_else(|| format!("{score:.3}"), |(low, high)| format!("{score:.3} ({low:.3} to {high:.3})"))
}

/// What is said of a point beside the pointer.
fn point_facts(model: &Model, point: &Point) -> Vec<(&'static str, String)> {
    let (kind, reads) = match point.summary() {
        Some(Summary::Recall { correct, reads }) => ("accuracy", format!("{correct} of {reads} right")),
        Some(Summary::Error { cosine, reads, .. }) => (model.scored.name(), format!("{reads}, mean cosine {cosine:.3}")),
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
    let figures = figures(point) + &model.partial(point).map(|p| format!(", {p}")).unwrap_or_default();
    vec![
        (kind, figures),
        ("reads", reads),
        ("by seed", seeds.join(", ")),
        ("numbers held", format!("{} a head, {}% of full", grouped(point.numbers), number(100.0 * point.share))),
        ("multiply-adds", format!("{} a token, {} a read", grouped(point.madds.0), grouped(point.madds.1))),
        ("time", format!("{:.1} ms a seed", 1e3 * point.seconds / point.seeds.len().max(1) as f64)),
    ]
}

/// A quiet line of words under the views, cut where it is too long; more of it on hover.
fn quiet_line(ui: &mut Ui, text: &str, more: &str) {
    let quiet = Ink::of(ui).quiet;
    ui.add(Label::new(RichText::new(text).size(SMALL).color(quiet)).truncate().show_tooltip_when_elided(false))
        .on_hover_text(format!("{text}\n\n{more}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_numbered_by_their_place_in_the_palette_and_the_others_by_what_is_left() {
        let mut session = Session::default();
        session.lanes[1].enabled = false;
        session.lanes[3].enabled = false;
        session.lanes[3].colour = Some(0);
        session.lanes[2].colour = Some(1);
        // OVQ, LoLA (off), linear, full (off, with the colour of OVQ).
        assert_eq!(numbers(&session), [0, 2, 1, 3]);
    }
}
