//! The scores of the last step against what keys and values are like: the length of the value, the novelty of the key.

use std::sync::{Arc, Weak};

use eframe::egui::{Color32, Label, Pos2, ProgressBar, Response, Stroke, TextureHandle, Ui, Vec2, pos2, vec2};

use super::Held;
use super::model::{Candidate, Fate};
use super::step::height;
use crate::app::command::{Command, ViewCommand};
use crate::app::study::StudyCommand;
use crate::app::study::novelty::{Ask, is_quick};
use crate::metric::novelty::madds;
use crate::metric::retention::spearman;
use crate::panel::Look;
use crate::panel::choices::Choices;
use crate::panel::common::{
    Canvas, Key, canvas, facts, is_marked, marked_name, plural, point_at, role_name, select_ring, texture, token_name, words,
};
use crate::panel::row::glued;
use crate::session::plan::Plan;
use crate::widget::cached::Cached;
use crate::widget::chart::{Axis, Chart, Entry, Sign, diamond, triangle};
use crate::widget::lasso::Lasso;
use crate::widget::line::Dash;
use crate::widget::palette::{Ink, NAN, blend};
use crate::widget::raster::{self, Mark, Point, nearest};
use crate::widget::ticks::{Scale, grouped, number};

/// More candidates than this are drawn as a picture, made once.
const MOST_POINTS: usize = 1500;
/// The width at which both plots stand side by side.
const WIDE: f32 = 440.0;

/// What a score is held against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Against {
    #[default]
    Length,
    Novelty,
}

impl Against {
    fn label(self) -> &'static str {
        match self {
            Self::Length => "length of the value",
            Self::Novelty => "novelty of the key",
        }
    }
}

/// A candidate with what it is held against.
#[derive(Debug, Clone, Copy)]
struct Dot {
    candidate: Candidate,
    length: f64,
    /// NaN where it is not known, or not defined: nothing is before the first key.
    novelty: f64,
}

impl Dot {
    fn of(&self, against: Against) -> f64 {
        match against {
            Against::Length => self.length,
            Against::Novelty => self.novelty,
        }
    }
}

/// The candidates of a step and how score and what they are held against go together.
struct Dots {
    list: Vec<Dot>,
    /// Spearman's rank correlation and the number of pairs, by what the score is held against.
    rho: [(Option<f64>, usize); 2],
    /// The length of every value, where all have the same.
    length: Option<f64>,
}

/// What all of some lengths are, but for the last digits of float32; `None` where they differ, and of less than two.
fn common(lengths: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, min, max) = lengths.fold((0, f64::INFINITY, f64::NEG_INFINITY), |(n, a, b), l| (n + 1, a.min(l), b.max(l)));
    // Rounded to what they have in common.
    (n > 1 && max - min <= 1e-4 * max).then(|| format!("{max:.3e}").parse().unwrap_or(max))
}

impl Dots {
    fn new(look: &Look<'_>, list: &[Candidate], novelty: &[f32]) -> Self {
        let values = look.plan.stream.values().index_axis(ndarray::Axis(0), look.kv_head);
        let dot = |c: &Candidate| Dot {
            candidate: *c,
            length: values.row(c.write).iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt(),
            novelty: novelty.get(c.write).map_or(f64::NAN, |n| f64::from(*n)),
        };
        let list: Vec<Dot> = list.iter().map(dot).collect();
        let rho = [Against::Length, Against::Novelty].map(|against| {
            let pair = |d: &Dot| (f64::from(d.candidate.score), d.of(against));
            let pairs: Vec<_> = list.iter().map(pair).filter(|(a, b)| !a.is_nan() && !b.is_nan()).collect();
            (spearman(&pairs), pairs.len())
        });
        let length = common(list.iter().map(|d| d.length));
        Self { list, rho, length }
    }

    fn words(&self) -> String {
        let of =
            |(rho, n): (Option<f64>, usize)| format!("{} (n = {n})", rho.map_or_else(|| "not defined".to_owned(), |r| format!("{r:.2}")));
        let spearman = "Spearman's rank correlation of the score with";
        let known = self.rho[1].1 > 0;
        match self.length {
            // A rank among equals would be one of rounding.
            Some(length) if known => format!("Every value has length {}. {spearman} novelty: {}", number(length), of(self.rho[1])),
            Some(length) => format!("Every value has length {}", number(length)),
            None if known => format!("{spearman} |v|: {}; with novelty: {}", of(self.rho[0]), of(self.rho[1])),
            None => format!("{spearman} |v|: {}", of(self.rho[0])),
        }
    }

    /// True if only novelty is worth a plot: against one length, scores are a column.
    fn only_novelty(&self) -> bool {
        self.length.is_some() && self.rho[1].1 > 0
    }
}

/// See the module's page.
#[derive(Default)]
pub(super) struct Pairs {
    /// Which of the two, where there is no room for both.
    against: Against,
    dots: Cached<Key<(usize, usize)>, Dots>,
    lasso: [Lasso; 2],
    pictures: [Cached<Key<(Canvas, usize, usize)>, TextureHandle>; 2],
    /// What was last asked for unasked, so that it is not again.
    asked: Option<(Weak<Plan>, usize)>,
}

/// What the scores are held against, and what it is called in a row of choices.
const AGAINST: [(Against, &str); 2] = [(Against::Length, "|v|"), (Against::Novelty, "Novelty")];

impl Pairs {
    /// See [`crate::panel::Panel::choices`].
    pub(super) fn choices(&mut self, choices: &mut Choices<'_>) {
        choices.one_of("against", &mut self.against, AGAINST);
    }

    pub(super) fn show(&mut self, ui: &mut Ui, look: &Look<'_>, held: &Held<'_>, list: &[Candidate], commands: &mut Vec<Command>) {
        if list.is_empty() {
            words(ui, "No candidate was scored in this step: nothing has left the window.");
            return;
        }
        let known = look.studies.novelty.of(look.plan, look.kv_head);
        let key = Key::new(look, held.lane, held.head, held.chunks, (look.kv_head, known.len()));
        let single = self.dots.get(key.clone(), || Dots::new(look, list, known)).only_novelty();
        let wide = !single && ui.available_width() >= WIDE;
        self.novelty(ui, look, known.len(), wide || single, commands);
        let dots = self.dots.get(key, || Dots::new(look, list, known));
        if ui.available_height() > 130.0 {
            ui.add(Label::new(dots.words()).truncate());
        }
        let size = vec2(ui.available_width(), ui.available_height().max(80.0));
        let Self { against, lasso, pictures, .. } = self;
        let [first, second] = lasso;
        let [one, two] = pictures;
        if wide {
            let half = vec2((size.x - 4.0) / 2.0, size.y);
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                plot(ui, look, held, dots, (Against::Length, half), (first, one), commands);
                plot(ui, look, held, dots, (Against::Novelty, half), (second, two), commands);
            });
        } else {
            let against = if single { Against::Novelty } else { *against };
            plot(ui, look, held, dots, (against, size), (first, one), commands);
        }
    }

    /// Asks for novelty, says how far it is, and lets choose between the two plots where there is no room for both; `all` where every plot
    /// that says something is shown.
    fn novelty(&mut self, ui: &mut Ui, look: &Look<'_>, known: usize, all: bool, commands: &mut Vec<Command>) {
        let (study, stream) = (&look.studies.novelty, &look.plan.stream);
        let (whole, running) = (known >= stream.writes(), study.running(look.plan, look.kv_head));
        let asked = self.asked.as_ref().is_some_and(|(p, h)| Weak::as_ptr(p) == Arc::as_ptr(look.plan) && *h == look.kv_head);
        if !whole && !running && !asked && is_quick(look.plan) {
            self.asked = Some((Arc::downgrade(look.plan), look.kv_head));
            commands.push(Command::Study(StudyCommand::Novelty(Ask::Head(look.kv_head))));
        }
        if all && whole {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            if !all {
                for (against, name) in AGAINST {
                    ui.selectable_value(&mut self.against, against, name).on_hover_text(against.label());
                }
            }
            if whole {
                return;
            }
            let first = grouped(known as u64);
            if running {
                let (share, left) = study.progress();
                let left = left.map_or_else(String::new, |s| format!(", about {} s left", number(s.ceil())));
                ui.add(ProgressBar::new(share).desired_width(70.0).desired_height(6.0));
                ui.label(glued(&format!("comparing keys: known for the first {first}{left}")));
                if ui.small_button("Stop").on_hover_text("What was found stays").clicked() {
                    commands.push(Command::Study(StudyCommand::Novelty(Ask::Stop)));
                }
            } else {
                let rest = madds(stream.writes(), stream.key_dim()).saturating_sub(madds(known, stream.key_dim()));
                let hint = format!(
                    "Every key is held against every earlier one: {} million multiply-adds. It can be stopped, and goes on where it was",
                    grouped(rest.div_ceil(1_000_000))
                );
                if ui.small_button("Find novelty").on_hover_text(hint).clicked() {
                    commands.push(Command::Study(StudyCommand::Novelty(Ask::Head(look.kv_head))));
                }
                ui.label(match study.error() {
                    Some(error) => format!("it could not be found: {error}"),
                    None if known > 0 => format!("known for the first {first} of {} keys", grouped(stream.writes() as u64)),
                    None => format!("not known yet; {} million multiply-adds", grouped(rest.div_ceil(1_000_000))),
                });
            }
        });
    }
}

/// A linear axis around some numbers.
fn axis(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    let (min, max) = values.filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let (min, max) = if min <= max { (min, max) } else { (0.0, 1.0) };
    let pad = ((max - min) * 0.05).max(max.abs() * 0.01).max(1e-6);
    Axis::real(label, (min - pad).max(if min >= 0.0 { 0.0 } else { f64::NEG_INFINITY }), max + pad, Scale::Linear)
}

fn plot(
    ui: &mut Ui,
    look: &Look<'_>,
    held: &Held<'_>,
    dots: &Dots,
    (against, size): (Against, Vec2),
    (lasso, picture): (&mut Lasso, &mut Cached<Key<(Canvas, usize, usize)>, TextureHandle>),
    commands: &mut Vec<Command>,
) {
    let ink = Ink::of(ui);
    let many = dots.list.len() > MOST_POINTS;
    let (kept, folded) = if many { (Sign::Dot, Sign::Ring) } else { (Sign::Up, Sign::Down) };
    let mut legend = vec![
        Entry::new(kept, ink.cache, "kept"),
        Entry::new(folded, ink.plain, "folded"),
        Entry::new(Sign::Line(Dash::Solid), ink.limit, "threshold"),
    ];
    if let Some(name) = marked_name(&look.plan.stream) {
        legend.push(Entry::new(Sign::Diamond, ink.mark, name));
    }
    let (rho, n) = dots.rho[against as usize];
    let describe = format!(
        "Score against {} of {}; Spearman's rank correlation {}",
        against.label(),
        plural(n, "candidate", "candidates"),
        rho.map_or_else(|| "is not defined".to_owned(), |r| format!("{r:.2}"))
    );
    let x = axis(against.label(), dots.list.iter().map(|d| d.of(against)));
    let (response, chart) = Chart::show(ui, size, x, held.binned.axis.clone(), &legend, &describe);
    let (response, caught) = lasso.ui(ui, &response, chart.rect);
    if let Some(t) = held.chunks.checked_sub(1).and_then(|s| held.threshold_line(s)) {
        chart.painter(ui).hline(chart.rect.x_range(), chart.y_of(t), Stroke::new(1.8, ink.limit));
    }
    // What is not known has no place here.
    let placed: Vec<(&Dot, Pos2)> = dots.list.iter().filter(|d| !d.of(against).is_nan()).map(|d| (d, place(&chart, d, against))).collect();
    if placed.is_empty() {
        let painter = chart.painter(ui);
        painter.text(
            chart.rect.center(),
            eframe::egui::Align2::CENTER_CENTER,
            "not known yet",
            eframe::egui::FontId::proportional(13.0),
            ink.quiet,
        );
    }
    if many {
        let canvas = canvas(ui, chart.rect);
        let scale = ui.pixels_per_point();
        let known = placed.len();
        // The axis of scores grows with the steps that were binned.
        let extra = (canvas, known + dots.list.len() * (against as usize), held.binned.covered);
        let picture = picture.get(Key::new(look, held.lane, held.head, held.chunks, extra), || {
            let points = placed.iter().map(|(d, at)| point(look, d, (*at - chart.rect.min) * scale)).collect::<Vec<_>>();
            let inks = raster::Inks { plain: ink.cache, ring: ink.plain, diamond: ink.mark };
            texture(ui, "pairs", raster::draw(canvas.0[0], canvas.0[1], scale, &points, inks))
        });
        crate::panel::common::paint_until(ui, &chart, picture, f64::INFINITY);
    }
    draw(ui, look, &chart, &placed, many, &ink);
    if let Some(caught) = caught {
        let within = caught.take(placed.iter().map(|(d, at)| (d.candidate.write, *at)), look.selection.tokens());
        commands.push(Command::View(ViewCommand::Group(within.into())));
    } else if !lasso.drawing() {
        hover(look, held, &response, &placed, commands);
    }
}

fn place(chart: &Chart, d: &Dot, against: Against) -> Pos2 {
    pos2(chart.x_of(d.of(against)), height(chart, f64::from(d.candidate.score)))
}

/// A dot of a picture of many.
fn point(look: &Look<'_>, d: &Dot, at: Vec2) -> Point {
    let mark = match (is_marked(&look.plan.stream, d.candidate.write), d.candidate.fate) {
        (true, _) => Mark::Diamond,
        (false, Fate::Kept) => Mark::Plain,
        (false, Fate::Folded) => Mark::Ring,
    };
    Point { x: at.x, y: at.y, mark }
}

/// The dots one by one, but where they are many: those are a picture, and only what is selected is drawn over it.
fn draw(ui: &Ui, look: &Look<'_>, chart: &Chart, placed: &[(&Dot, Pos2)], many: bool, ink: &Ink) {
    let painter = chart.painter(ui);
    // Marked ones last, so that none is hidden.
    for marked in if many { &[][..] } else { &[false, true] } {
        for (d, at) in placed.iter().filter(|(d, _)| is_marked(&look.plan.stream, d.candidate.write) == *marked) {
            if !d.candidate.score.is_finite() {
                painter.circle_filled(*at, 3.0, NAN);
            } else if d.candidate.fate == Fate::Kept {
                painter.add(triangle(*at, 3.4, true, ink.cache, Stroke::new(0.8, blend(ink.cache, Color32::BLACK, 0.5))));
            } else {
                painter.add(triangle(*at, 3.2, false, ink.paper, Stroke::new(1.1, ink.plain)));
            }
            if *marked {
                painter.add(diamond(*at, 5.6, Color32::TRANSPARENT, Stroke::new(1.6, ink.mark)));
            }
        }
    }
    for (d, at) in placed.iter().filter(|(d, _)| look.selection.holds(d.candidate.write)) {
        painter.circle_stroke(*at, if d.candidate.fate == Fate::Kept { 5.0 } else { 5.2 }, Stroke::new(1.2, ink.select));
    }
    if let Some((_, at)) = look.selection.current().and_then(|t| placed.iter().find(|(d, _)| d.candidate.write == t)) {
        select_ring(ui, chart, *at);
    }
}

fn hover(look: &Look<'_>, held: &Held<'_>, response: &Response, placed: &[(&Dot, Pos2)], commands: &mut Vec<Command>) {
    let Some(pointer) = response.hover_pos() else { return };
    let near = placed.iter().enumerate().map(|(i, (_, p))| (i, [p.x, p.y]));
    let Some((d, _)) = nearest(near, [pointer.x, pointer.y], 9.0).map(|i| &placed[i]) else {
        point_at(response, None, commands);
        return;
    };
    let write = d.candidate.write;
    let novelty = match d.novelty {
        _ if write == 0 => "not defined: nothing is before it".to_owned(),
        n if n.is_nan() => "not known yet".to_owned(),
        n => number(n),
    };
    let mut rows = vec![("score", number(f64::from(d.candidate.score))), ("|v|", number(d.length)), ("novelty of the key", novelty)];
    if let Some(step) = held.chunks.checked_sub(1) {
        rows.push(("in the step", held.story(&d.candidate, step).to_owned()));
    }
    if let Some(t) = held.chunks.checked_sub(1).and_then(|s| held.threshold(s)) {
        rows.push(("threshold", number(t)));
    }
    rows.push(("role", role_name(&look.plan.stream, write).to_owned()));
    facts(response, &token_name(&look.plan.stream, write), &rows);
    point_at(response, Some(write), commands);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_length_are_said_and_not_plotted_once_novelty_is_known() {
        assert_eq!(common([1.0, 1.000_01, 0.999_97].into_iter()), Some(1.0));
        assert_eq!((common([1.0, 1.01].into_iter()), common([1.0].into_iter()), common([].into_iter())), (None, None, None));
        let dots = |length, known| Dots { list: Vec::new(), rho: [(Some(-0.13), 128), (Some(0.06), known)], length };
        assert_eq!(
            dots(Some(1.0), 128).words(),
            "Every value has length 1. Spearman's rank correlation of the score with novelty: 0.06 (n = 128)"
        );
        assert_eq!((dots(Some(1.0), 0).words().as_str(), dots(Some(1.0), 0).only_novelty()), ("Every value has length 1", false));
        let both = "Spearman's rank correlation of the score with |v|: -0.13 (n = 128); with novelty: 0.06 (n = 128)";
        assert_eq!((dots(None, 128).words().as_str(), dots(None, 128).only_novelty()), (both, false));
        assert!(dots(Some(1.0), 128).only_novelty());
    }

    #[test]
    fn an_axis_has_room_around_its_numbers_and_never_begins_below_zero_without_need() {
        let of = |values: &[f64]| {
            let axis = axis("", values.iter().copied());
            (axis.min, axis.max)
        };
        assert_eq!(of(&[0.0, 1.0, f64::NAN]), (0.0, 1.05));
        assert_eq!(of(&[2.0, 4.0]), (1.9, 4.1));
        let (min, max) = of(&[3.0, 3.0]);
        assert!(min < 3.0 && max > 3.0, "equal numbers have a place in the middle");
        assert_eq!(of(&[]), (0.0, 1.05));
    }
}
