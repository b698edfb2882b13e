//! Codebook health: is the dictionary well used? Several figures over the steps, each a chart of its own.

mod plot;
mod quantity;
mod series;

use eframe::egui::{ComboBox, DragValue, Label, ProgressBar, RichText, ScrollArea, Sense, Ui, vec2};

use self::plot::{Plot, mark_of};
use self::quantity::{At, Quantity};
use self::series::{Counted, Known, Lines, lanes};
use super::common::{chunks_seen, link, plural, token_name, waiting, words};
use super::growth::{n_max, named, plateau};
use super::{Look, Panel, Subject};
use crate::app::command::Command;
use crate::app::study::StudyCommand;
use crate::app::study::health::{Ask, Finding, LaneHead};
use crate::panel::choices::Choices;
use crate::widget::chart::{SMALL, sign};
use crate::widget::palette::Ink;
use crate::widget::ticks::number;

/// The text behind the panel's `?`.
pub const HELP: &str = "Is the dictionary well used? Figures over the steps, each in a chart of its own, up to the playhead; every lane that has a \
dictionary or a codebook, told apart by colour, dashes and a mark at the playhead, as they stand beside its name above. The number beside the same sign at a chart's upper right is that at the playhead; where it is that of an earlier write (the lane is inside a chunk, or only some steps are known), \
the write is said behind it: `0.054 at 1000` is the number of write 1000.\n\n\
The formulas, with c_j the writes in row j, n the rows in use (that hold a write), D_j the key of row j:\n\
n, against the plateau curve t N / (t + N), thin.\n\
Perplexity over n, exp(H) / n, H = -sum p_j ln p_j, p_j = c_j / sum c: 1 if all rows are equally full.\n\
Gini, sum_i sum_j |c_i - c_j| / (2 n sum c): 0 if all rows are equally full, near 1 if few hold nearly everything.\n\
Unused rows: those in use that no write went to in the last chunks, as many as are set above (8 at first).\n\
Nearest pair: the largest D_i.D_j of two rows, and the largest cosine D_i.D_j / (|D_i| |D_j|): near 1, two rows stand for the same thing.\n\
Quantisation error, 1 - k.D_j over all members so far, each against its row as it is at that step: the mean, and the worst.\n\n\
How to read it: a healthy dictionary is even (perplexity high, Gini low), has few unused rows, no twins, and a small error. Counts that grow apart are \
not bad in themselves: OVQ weighs a row by its count. One row alone is as even as can be: perplexity 1, Gini 0, and no pair.\n\n\
The first four are of the layer's own counts, kept up from the assignments (where it keeps them in half floats, rounded after each chunk as it does). The others need the centroids: once the run is over, its dictionaries are replayed from the trace in the \
background, at every step or, of a long run or a large dictionary, at steps evenly apart: then the last known at or before the playhead is shown, and said to be of that step. VQ attention: codes that stand for no write yet \
are not in use and take no part; its codes never move.\n\nHover for the exact numbers of a step and, over a chart's name, for its formula; click to select the step.";

/// The height of a cell, in points, below which charts and words are scrolled as one.
const LOW: f32 = 200.0;

const ALL_FIGURES: &str = "all figures";

/// After so many chunks without a write a row can count as unused.
const CHUNKS: std::ops::RangeInclusive<usize> = 1..=4096;

/// See [`HELP`].
pub struct Health {
    window: usize,
    shown: Option<Quantity>,
    /// True if what the study holds is of the run and lanes on screen.
    studied: bool,
    counted: Vec<Counted>,
    lines: Vec<Lines>,
    /// The height of the numbers in words, as they were drawn last: the charts leave them that much, or a third.
    told: f32,
}

impl Default for Health {
    fn default() -> Self {
        Self { window: 8, shown: None, studied: false, counted: Vec::new(), lines: Vec::new(), told: 0.0 }
    }
}

impl Panel for Health {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        let lanes = lanes(look);
        if lanes.is_empty() {
            words(ui, "No lane here keeps a dictionary; add an OVQ or a VQ lane.");
            return;
        }
        self.counted.resize_with(look.lanes.len(), Counted::default);
        self.lines.resize_with(look.lanes.len(), Lines::default);
        let mut whole = true;
        for &at in &lanes {
            whole &= self.counted[at.0].advance(look, at, self.window);
        }
        if !whole {
            ui.ctx().request_repaint();
        }
        let study = &look.studies.health;
        self.studied = study.is_of(look.plan, &lanes);
        if !self.studied && look.reached >= look.plan.stream.writes() {
            commands.push(Command::Study(StudyCommand::Health(Ask::Lanes(lanes.clone()))));
        }
        self.controls(ui, look, &lanes, commands);
        self.figures(ui, look, &lanes, commands);
    }

    fn choices(&mut self, choices: &mut Choices<'_>) {
        let figures = Quantity::ALL.map(|quantity| (Some(quantity), quantity.title()));
        choices.one_of("figures", &mut self.shown, std::iter::once((None, ALL_FIGURES)).chain(figures));
        choices.number("w", &mut self.window, CHUNKS);
    }
}

impl Health {
    /// The charts first: they say the numbers of the playhead too, and rows of words of several lanes would push them out of sight.
    fn figures(&mut self, ui: &mut Ui, look: &Look<'_>, lanes: &[LaneHead], commands: &mut Vec<Command>) {
        let whole = ui.available_height();
        ui.spacing_mut().item_spacing.y = 2.0;
        if whole < LOW {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                self.charts(ui, look, lanes, commands);
                self.in_words(ui, look, lanes, commands);
                crate::app::focus::follow(ui);
            });
            return;
        }
        let below = (self.told + 1.0).min(whole * 0.35);
        let above = ScrollArea::vertical().id_salt("charts").max_height(whole - below - 4.0).auto_shrink(false);
        above.show(ui, |ui| {
            self.charts(ui, look, lanes, commands);
            crate::app::focus::follow(ui);
        });
        let numbers = ScrollArea::vertical().id_salt("numbers").max_height(below).min_scrolled_height(below).auto_shrink([false, true]);
        let output = numbers.show(ui, |ui| {
            self.in_words(ui, look, lanes, commands);
            crate::app::focus::follow(ui);
        });
        if (output.content_size.y - self.told).abs() > 0.5 {
            self.told = output.content_size.y;
            ui.ctx().request_repaint();
        }
    }

    /// The numbers of every lane at the playhead.
    fn in_words(&self, ui: &mut Ui, look: &Look<'_>, lanes: &[LaneHead], commands: &mut Vec<Command>) {
        for &at in lanes {
            self.numbers(ui, look, at, commands);
        }
    }

    fn known<'a>(&'a self, look: &Look<'a>, lane: usize) -> Known<'a> {
        Known { steps: self.counted[lane].steps(), finding: finding(look, lane, self.studied) }
    }

    /// What is shown, and the lanes' names with their signs, once for all charts.
    fn controls(&mut self, ui: &mut Ui, look: &Look<'_>, lanes: &[LaneHead], commands: &mut Vec<Command>) {
        let (study, known) = (&look.studies.health, self.studied);
        ui.horizontal_wrapped(|ui| {
            let title = self.shown.map_or(ALL_FIGURES, Quantity::title);
            let combo = ComboBox::from_id_salt("figure").selected_text(title).width(120.0).show_ui(ui, |ui| {
                ui.selectable_value(&mut self.shown, None, ALL_FIGURES);
                for quantity in Quantity::ALL {
                    ui.selectable_value(&mut self.shown, Some(quantity), quantity.title()).on_hover_text(quantity.formula());
                }
            });
            combo.response.accessible_name("Figures").on_hover_text("The figures shown");
            let unit = if self.window == 1 { " chunk" } else { " chunks" };
            let w = DragValue::new(&mut self.window).range(CHUNKS).speed(0.2).prefix("unused for ").suffix(unit);
            ui.add(w)
                .accessible_name("Chunks without a write")
                .on_hover_text("A row counts as unused after this many chunks without a write");
            let quiet = Ink::of(ui).quiet;
            if let Some(error) = study.error().filter(|_| known) {
                ui.colored_label(ui.visuals().error_fg_color, error);
            } else if known && study.running() {
                ui.add(ProgressBar::new(study.share()).desired_width(90.0).show_percentage());
                ui.label(RichText::new("replaying the dictionaries").color(quiet));
            } else if look.reached < look.plan.stream.writes() {
                ui.label(RichText::new("pairs and errors follow once the run is complete").color(quiet));
            }
            for &(lane, _) in lanes {
                named(ui, look, lane, "", true, commands);
            }
        });
    }

    /// A lane's numbers at the playhead, in a sentence with links.
    fn numbers(&self, ui: &mut Ui, look: &Look<'_>, at: LaneHead, commands: &mut Vec<Command>) {
        let (lane, ink) = (at.0, Ink::of(ui));
        let known = self.known(look, lane);
        let chunks = chunks_seen(look, lane);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let (place, _) = ui.allocate_exact_size(vec2(26.0, 12.0), Sense::hover());
            sign(ui.painter(), place.center(), mark_of(look, lane), look.lanes[lane].colour, &ink);
            ui.label(RichText::new(look.lanes[lane].plan.name.as_str()).size(SMALL).strong());
            let small = |ui: &mut Ui, text: String| ui.add(Label::new(RichText::new(text).size(SMALL)));
            let Some(step) = chunks.checked_sub(1) else {
                small(ui, "No chunk has been read yet: the dictionary is empty.".to_owned());
                return;
            };
            let Some((At::Counted(s), _)) = known.at(Quantity::Rows, chunks) else {
                small(ui, "not counted yet".to_owned());
                return;
            };
            let writes = (chunks * look.lanes[lane].plan.setup.chunk).min(look.plan.stream.writes());
            // While the dictionaries are replayed nothing follows.
            let follows = known.finding.is_some_and(|f| !f.unknown && f.before(chunks).is_some());
            let end = if follows { ";" } else { "" };
            let curve = n_max(look, lane).map_or_else(String::new, |n| format!(" (curve {})", number(plateau(writes as f64, n as f64))));
            small(
                ui,
                format!(
                    "step {step}: n {}{curve}, perplexity {} of n, Gini {}, {} unused for {}{end}",
                    s.rows,
                    number(s.evenness()),
                    number(s.gini),
                    s.unused,
                    plural(self.window, "chunk", "chunks"),
                ),
            );
            centroids(ui, look, lane, known, chunks, commands);
            let waiting = waiting(look, lane);
            if !waiting.is_empty() {
                ui.add_space(4.0);
                ui.label(RichText::new(waiting).size(SMALL).color(ink.quiet));
            }
        });
    }

    fn charts(&mut self, ui: &mut Ui, look: &Look<'_>, lanes: &[LaneHead], commands: &mut Vec<Command>) {
        let all: Vec<Quantity> = self.shown.map_or_else(|| Quantity::ALL.to_vec(), |q| vec![q]);
        // Each lane has its number in the head of a chart.
        let each = (150.0 + 72.0 * lanes.len() as f32).clamp(235.0, 480.0);
        let columns = ((ui.available_width() / each) as usize).clamp(1, 4).min(all.len());
        let rows = all.len().div_ceil(columns);
        // Of what is seen, not of what is left below: that grows as one scrolls.
        let room = (ui.clip_rect().height() - 4.0) / rows as f32 - 4.0;
        let gap = 6.0;
        let size = vec2((ui.available_width() - gap * (columns - 1) as f32) / columns as f32, room.clamp(100.0, 260.0));
        for row in all.chunks(columns) {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = gap;
                for &quantity in row {
                    // What is scrolled out of sight costs nothing.
                    if !ui.is_rect_visible(eframe::egui::Rect::from_min_size(ui.cursor().min, size)) {
                        ui.allocate_exact_size(size, Sense::hover());
                        continue;
                    }
                    let Self { counted, lines, window, studied, .. } = self;
                    let known = |lane: usize| Known { steps: counted[lane].steps(), finding: finding(look, lane, *studied) };
                    Plot { quantity, lanes, window: *window }.ui(ui, look, size, known, lines, commands);
                }
            });
        }
    }
}

/// What the study has found of a lane, if it is `of_this` run.
fn finding<'a>(look: &Look<'a>, lane: usize, of_this: bool) -> Option<&'a Finding> {
    of_this.then(|| look.studies.health.lane(lane)).flatten()
}

/// What the centroids tell at the playhead: the nearest pair, and the errors, with links to what they belong to.
fn centroids(ui: &mut Ui, look: &Look<'_>, lane: usize, known: Known<'_>, chunks: usize, commands: &mut Vec<Command>) {
    let text = |text: String| RichText::new(text).size(SMALL);
    let Some(finding) = known.finding else { return };
    if finding.unknown {
        ui.label(text("(its centroids cannot be replayed from the trace)".to_owned()));
        return;
    }
    let Some(measured) = finding.before(chunks) else {
        if finding.sampled(look.plan.stream.chunks(look.lanes[lane].plan.setup.chunk)) && !finding.moments.is_empty() {
            ui.label(text("(before the first step that was sampled)".to_owned()));
        }
        return;
    };
    if measured.chunks != chunks {
        ui.label(text(format!(" at step {}, the last before that is known:", measured.chunks - 1)));
    }
    let row = |row: usize| Subject::Centroid { lane, row };
    // What ends a part of the sentence stands close to the link before it: the spaces are in the words.
    ui.spacing_mut().item_spacing.x = 0.0;
    if let Some(nearest) = measured.nearest {
        for (name, pair, end) in [(" nearest pair", nearest.dot, ","), (" by cosine", nearest.cosine, ";")] {
            ui.label(text(format!("{name} {}: ", number(pair.similarity))));
            link(ui, text(format!("row {}", pair.rows.0)), row(pair.rows.0), commands);
            ui.label(text(" and ".to_owned()));
            link(ui, text(format!("row {}", pair.rows.1)), row(pair.rows.1), commands);
            ui.label(text(end.to_owned()));
        }
    } else {
        ui.label(text(" one row has no pair;".to_owned()));
    }
    if let Some(q) = measured.quantisation {
        ui.label(text(format!(" error {} on average, at worst {}: ", number(q.mean), number(q.worst))));
        link(ui, text(token_name(&look.plan.stream, q.at)), Subject::Token(q.at), commands);
    }
}
