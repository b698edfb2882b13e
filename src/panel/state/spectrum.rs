//! The state through the run: its norm and singular values, and how many directions it uses.

use eframe::egui::{Color32, Label, Mesh, Pos2, ProgressBar, Response, RichText, Shape, Stroke, Ui, Vec2, vec2};

use super::{empty, letter};
use crate::app::command::{Command, ViewCommand};
use crate::app::study::StudyCommand;
use crate::app::study::spectrum::{Ask, Finding, Sample};
use crate::panel::choices::Choices;
use crate::panel::common::{chunk_noun, chunks_seen, facts, many, plural};
use crate::panel::{Look, Subject};
use crate::widget::chart::{Axis, Chart, Entry, Sign};
use crate::widget::line::{self, Dash};
use crate::widget::palette::Ink;
use crate::widget::ticks::{Scale, number};

/// Singular values that have a line of their own.
const LINES: usize = 4;
/// Singular values smaller than this part of the largest are below the axis: nothing of them reaches a read in float32.
const FLOOR: f64 = 1e-6;

/// Which plot is shown where there is room for one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Plot {
    #[default]
    Size,
    Rank,
}

/// The view.
#[derive(Default)]
pub(super) struct Through {
    plot: Plot,
}

/// What both plots share.
struct Held<'a> {
    finding: &'a Finding,
    /// The samples before the playhead.
    seen: &'a [Sample],
    lane: usize,
    chunk: usize,
    /// What the lane's chunks are called: `step` or `chunk`.
    noun: &'static str,
    writes: usize,
    name: &'a str,
    colour: Color32,
}

impl Held<'_> {
    /// Where a sample lies: the writes that its chunks hold.
    fn at(&self, sample: &Sample) -> f64 {
        (sample.chunks * self.chunk).min(self.writes) as f64
    }

    /// After which of the lane's chunks a sample was taken: `after step 62`. It may lie well before the playhead.
    fn after(&self, sample: &Sample) -> String {
        format!("after {} {}", self.noun, sample.chunks.saturating_sub(1))
    }

    /// What a plot says of one figure of the newest sample before the playhead: `after step 62 the norm is 15.7`.
    fn newest(&self, figure: &str, of: impl Fn(&Sample) -> f64) -> String {
        match self.seen.last() {
            Some(s) => format!("{} the {figure} is {}", self.after(s), number(of(s))),
            None => "no sample lies before the playhead".to_owned(),
        }
    }
}

impl Through {
    /// See [`crate::panel::Panel::choices`].
    pub(super) fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("plot", &mut self.plot, [(Plot::Size, "size"), (Plot::Rank, "rank")]);
    }

    pub(super) fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, lane: usize, commands: &mut Vec<Command>) {
        let (number_of_lane, head) = (look.number_in_plan(lane), look.head_of_lane(lane));
        let study = &look.studies.spectrum;
        let Some(finding) = study.of(look.plan, number_of_lane, head) else {
            if look.reached < look.plan.stream.writes() {
                empty(ui, "The singular values are sought when the run is whole.");
            } else {
                commands.push(Command::Study(StudyCommand::Spectrum(Ask::Follow { lane: number_of_lane, head })));
                empty(ui, "The singular values are being sought.");
            }
            return;
        };
        let chunks = chunks_seen(look, lane);
        let seen = &finding.samples[..finding.samples.partition_point(|s| s.chunks <= chunks)];
        let plan = look.lanes[lane].plan;
        let (chunk, writes, name) = (plan.setup.chunk, look.plan.stream.writes(), letter(look, lane));
        let held = Held { finding, seen, lane, chunk, noun: chunk_noun(look.plan, plan), writes, name, colour: look.lanes[lane].colour };
        self.status(ui, look, &held, commands);
        let size = vec2(ui.available_width(), ui.available_height().max(60.0));
        let (beside, below) = (size.x >= 400.0, size.x < 400.0 && size.y >= 240.0);
        if !(beside || below) {
            match self.plot {
                Plot::Size => sizes(ui, look, &held, size, commands),
                Plot::Rank => ranks(ui, look, &held, size, commands),
            }
        } else if beside {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 2.0;
                let half = vec2((size.x - 2.0) / 2.0, size.y);
                sizes(ui, look, &held, half, commands);
                ranks(ui, look, &held, half, commands);
            });
        } else {
            ui.spacing_mut().item_spacing.y = 2.0;
            let half = vec2(size.x, (size.y - 2.0) / 2.0);
            sizes(ui, look, &held, half, commands);
            ranks(ui, look, &held, half, commands);
        }
    }

    /// How far the study is, and what holds at the playhead.
    fn status(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, commands: &mut Vec<Command>) {
        let study = &look.studies.spectrum;
        if let Some(error) = study.error() {
            ui.label(RichText::new(format!("The singular values could not be found: {error}")).color(ui.visuals().error_fg_color));
        }
        ui.horizontal(|ui| {
            if ui.available_width() < 400.0 && ui.available_height() < 260.0 {
                ui.selectable_value(&mut self.plot, Plot::Size, "size").on_hover_text("Norm and singular values");
                ui.selectable_value(&mut self.plot, Plot::Rank, "rank").on_hover_text("Effective and stable rank");
            }
            if study.running() {
                if ui.button("Stop").on_hover_text("What was found stays").clicked() {
                    commands.push(Command::Study(StudyCommand::Spectrum(Ask::Stop)));
                }
                ui.add(ProgressBar::new(study.share()).desired_width(60.0).desired_height(8.0)).on_hover_text("Decomposing the states");
            }
            let text = sentence(held);
            ui.add(Label::new(RichText::new(&text).color(Ink::of(ui).quiet)).truncate()).on_hover_text(text);
        });
    }
}

/// What holds at the newest sample before the playhead, and how many samples there are.
fn sentence(held: &Held<'_>) -> String {
    let Finding { samples, planned, chunks, .. } = held.finding;
    let all = many(*chunks, held.noun);
    let of = if planned == chunks { format!("every one of {all} decomposed") } else { format!("{planned} of {all} decomposed, evenly") };
    let of = if samples.len() < *planned { format!("{}, {} so far", of, samples.len()) } else { of };
    match held.seen.last() {
        Some(s) => format!(
            "{}: |{}| {}, effective rank {} of {}, stable rank {}; {of}",
            held.after(s),
            held.name,
            number(s.frobenius),
            number(s.effective_rank),
            s.spectrum.values().len(),
            number(s.stable_rank)
        ),
        None => format!("no sample lies before the playhead; {of}"),
    }
}

fn x_axis(held: &Held<'_>) -> Axis {
    Axis::count("write", held.writes)
}

/// Norm and singular values.
fn sizes(ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, size: Vec2, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let samples = &held.finding.samples;
    let most = samples.iter().map(|s| s.frobenius).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let most = if most > 0.0 { most } else { 1.0 };
    let all = || samples.iter().flat_map(|s| s.spectrum.values().iter().copied());
    let least = all().filter(|x| *x >= most * FLOOR).fold(most, f64::min);
    let y = Axis::real("size", least * 0.8, most * 1.3, Scale::Log);
    let several = samples.iter().map(|s| s.spectrum.values().len()).max().unwrap_or(0);
    let lines = several.min(LINES);
    let mut legend = vec![
        Entry::new(Sign::Line(Dash::Long), ink.text, format!("|{}|", held.name)),
        Entry::new(Sign::Line(Dash::Solid), held.colour, if lines > 1 { format!("s_1 to s_{lines}") } else { "s_1".to_owned() }),
    ];
    if several > LINES {
        legend.push(Entry::new(Sign::Square, held.colour.gamma_multiply(0.35), "the others"));
    }
    let newest = held.newest("norm", |s| s.frobenius);
    let describe = format!("Size of the state of lane {}: norm and singular values; {newest}", lane_name(look, held));
    let (response, chart) = Chart::show(ui, size, x_axis(held), y, &legend, &describe);
    let painter = chart.painter(ui);
    let place = |s: &Sample, v: f64| {
        // A value below the axis lies on its edge.
        let share = chart.y.share(v.max(0.0)).clamp(0.0, 1.0);
        Pos2::new(chart.x_of(held.at(s)), chart.rect.bottom() - share as f32 * chart.rect.height())
    };
    if several > LINES {
        let ends = |s: &Sample| [*s.spectrum.values().get(LINES).unwrap_or(&0.0), *s.spectrum.values().last().unwrap_or(&0.0)];
        painter.add(band(held.seen, |s| ends(s).map(|v| place(s, v)), held.colour.gamma_multiply(0.22)));
    }
    for i in (0..lines).rev() {
        let points: Vec<Pos2> = held.seen.iter().map(|s| place(s, *s.spectrum.values().get(i).unwrap_or(&0.0))).collect();
        line::draw(&painter, &points, Stroke::new(if i == 0 { 2.0 } else { 1.2 }, held.colour), Dash::Solid);
    }
    let points: Vec<Pos2> = held.seen.iter().map(|s| place(s, s.frobenius)).collect();
    line::draw(&painter, &points, Stroke::new(1.4, ink.text), Dash::Long);
    chart.playhead(ui, look.writes as f64);
    tell(look, held, &chart, &response, commands);
}

/// Effective and stable rank.
fn ranks(ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, size: Vec2, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let samples = &held.finding.samples;
    let most = samples.iter().map(|s| s.effective_rank.max(s.stable_rank)).filter(|x| x.is_finite()).fold(1.0, f64::max);
    let y = Axis::real("directions", 0.0, most * 1.1, Scale::Linear);
    let legend =
        [Entry::new(Sign::Line(Dash::Solid), held.colour, "effective rank"), Entry::new(Sign::Line(Dash::Dots), ink.text, "stable rank")];
    let newest = held.newest("effective rank", |s| s.effective_rank);
    let describe = format!("Rank of the state of lane {}: effective and stable; {newest}", lane_name(look, held));
    let (response, chart) = Chart::show(ui, size, x_axis(held), y, &legend, &describe);
    let painter = chart.painter(ui);
    let points = |of: fn(&Sample) -> f64| held.seen.iter().map(|s| chart.pos(held.at(s), of(s))).collect::<Vec<_>>();
    line::draw(&painter, &points(|s| s.effective_rank), Stroke::new(2.0, held.colour), Dash::Solid);
    line::draw(&painter, &points(|s| s.stable_rank), Stroke::new(1.4, ink.text), Dash::Dots);
    chart.playhead(ui, look.writes as f64);
    tell(look, held, &chart, &response, commands);
}

fn lane_name<'a>(look: &Look<'a>, held: &Held<'_>) -> &'a str {
    &look.lanes[held.lane].plan.name
}

fn band(samples: &[Sample], ends: impl Fn(&Sample) -> [Pos2; 2], colour: Color32) -> Shape {
    let mut mesh = Mesh::default();
    for (i, sample) in samples.iter().enumerate() {
        ends(sample).into_iter().for_each(|p| mesh.colored_vertex(p, colour));
        if i > 0 {
            let n = 2 * i as u32;
            mesh.add_triangle(n - 2, n - 1, n);
            mesh.add_triangle(n - 1, n, n + 1);
        }
    }
    Shape::mesh(mesh)
}

fn tell(look: &Look<'_>, held: &Held<'_>, chart: &Chart, response: &Response, commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    let x = chart.values_at(pointer).0;
    let far = |s: &&Sample| (held.at(s) - x).abs();
    let Some(sample) = held.seen.iter().min_by(|a, b| far(a).total_cmp(&far(b))) else {
        response.clone().on_hover_text_at_pointer("after the playhead");
        return;
    };
    let values = sample.spectrum.values();
    let first: Vec<String> = values.iter().take(LINES).map(|v| number(*v)).collect();
    let mut rows = vec![
        ("Frobenius norm", number(sample.frobenius)),
        ("largest singular values", first.join(", ")),
        ("median, smallest", format!("{}, {}", number(sample.spectrum.quantile(0.5)), number(sample.spectrum.quantile(0.0)))),
        ("effective rank", format!("{} of {}", number(sample.effective_rank), values.len())),
        ("stable rank", number(sample.stable_rank)),
    ];
    if let Some(s) = sample.normaliser {
        rows.push(("|s|", number(s)));
    }
    facts(response, &format!("{}, {}", held.after(sample), plural(held.at(sample) as usize, "write", "writes")), &rows);
    if response.clicked() {
        let step = look.plan.step_at(held.at(sample) as usize).saturating_sub(1);
        commands.push(Command::View(ViewCommand::Choose(Subject::Step(step))));
    }
}
