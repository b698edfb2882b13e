//! The inspector and the formula panel on the bundled capture: numbers that satisfy the equations they stand in, and pictures
//! that were looked at.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::sync::LazyLock;

use eframe::egui::{self, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, TimeCommand, ViewCommand};
use mnemoscope::app::inspector::{Inspector, in_words};
use mnemoscope::app::states::States;
use mnemoscope::panel::formula::equation::{Equation, Piece};
use mnemoscope::panel::formula::exact::{Exact, LaneAt, distance, norm};
use mnemoscope::panel::formula::layers::{Chosen, equations, growth, scores};
use mnemoscope::panel::formula::{dictionary, mixing, recurrence};
use mnemoscope::panel::{PANELS, Panel, Subject};
use mnemoscope::param::Params;
use mnemoscope::session::hand::{Act, Hand};
use mnemoscope::session::{CaptureSource, LaneSpec, Source};
use panel::{Given, Run};

/// Runs these lanes, all of chunk 64, over the first `tokens` of the bundled capture, with their states after so many chunks.
fn run(tokens: usize, lanes: Vec<LaneSpec>, chunks: std::ops::RangeInclusive<usize>) -> Run {
    let source = Source::Capture(CaptureSource { tokens: Some(tokens), ..CaptureSource::bundled() });
    let run = Run::new(source, lanes);
    assert!(run.plan.lanes.iter().all(|l| l.setup.chunk == 64));
    run.with_states(&chunks.map(|c| c * 64).collect::<Vec<_>>())
}

/// A lane of a run by its name.
fn lane_of<'a>(run: &'a Run, name: &str, query_head: usize) -> LaneAt<'a> {
    let number = run.plan.lanes.iter().position(|l| l.name == name).unwrap();
    LaneAt::new(number, &run.plan.lanes[number], &run.traces[number], query_head)
}

fn lane(name: &str, layer: &str, params: Params) -> LaneSpec {
    LaneSpec::new(name, layer, params)
}

/// Every layer but the window and plain DeltaNet, short enough to hold every state.
static SHORT: LazyLock<Run> = LazyLock::new(|| {
    let p = Params::default;
    let lanes = vec![
        lane("OVQ", "ovq", p().with("n_max", 128).with("chunk", 64)),
        lane("VQ", "vq", p().with("codes", 64)),
        lane("LoLA", "lola", p().with("window", 64).with("cache", 32).with("chunk", 64)),
        lane("linear", "linear", p()),
        lane("gated", "gated_deltanet", p().with("decay", 0.99)),
        lane("delta", "deltanet", p()),
        lane("mamba", "mamba2", p().with("decay", 0.99)),
        lane("full", "full", p()),
    ];
    run(512, lanes, 0..=8)
});

/// OVQ's ablations, and a window.
static OTHER: LazyLock<Run> = LazyLock::new(|| {
    let p = || Params::default().with("n_max", 96).with("chunk", 64);
    let lanes = vec![
        lane("linear growth", "ovq", p().with("growth", "linear").with("rate", "constant").with("constant_rate", 0.3)),
        lane("saturating", "ovq", p().with("growth", "saturating").with("normalise_centroids", true).with("count_bias", false)),
        lane("window", "window", Params::default().with("window", 100)),
        lane("taylor", "lola", Params::default().with("window", 32).with("cache", 16).with("fmap", "taylor2").with("linear_weight", 0.5)),
    ];
    run(384, lanes, 0..=6)
});

/// The reads at which numbers are held against the trace: the first, ends and beginnings of chunks, and some between.
const READS: [usize; 7] = [0, 1, 63, 64, 200, 319, 383];

#[test]
fn what_the_parts_of_a_read_add_up_to_is_what_the_lane_returned() {
    for run in [&*SHORT, &*OTHER] {
        let states = States::fixed(run.states.iter().cloned());
        let exact = Exact::new(&states, true);
        for (number, plan) in run.plan.lanes.iter().enumerate() {
            for head in [0, 2] {
                let lane = LaneAt::new(number, plan, &run.traces[number], head);
                for read in READS {
                    let recorded = lane.output(read).unwrap();
                    let output = if matches!(plan.kind.name(), "deltanet" | "gated_deltanet" | "mamba2") {
                        recurrence::read(&lane, &exact, read).unwrap().output
                    } else {
                        let mix = mixing::of(&lane, &exact, read).unwrap();
                        let shares: f64 = mix.parts.iter().map(|p| p.share).sum();
                        assert!((shares + mix.epsilon / mix.normaliser - 1.0).abs() < 1e-9, "{} read {read}: {shares}", plan.name);
                        for weight in &mix.largest {
                            let again = (weight.logit - mix.top).exp() / mix.normaliser;
                            assert!((weight.share - again).abs() < 1e-12 && weight.share <= mix.largest[0].share);
                        }
                        mix.output
                    };
                    let off = distance(&recorded, &output);
                    assert!(off <= 2e-4 * (1.0 + norm(&recorded)), "{} head {head} read {read}: {off} of {}", plan.name, norm(&recorded));
                }
            }
        }
        assert!(!exact.missing());
    }
}

#[test]
fn the_shares_of_lola_are_those_of_its_trace() {
    let states = States::fixed(SHORT.states.iter().cloned());
    let exact = Exact::new(&states, true);
    let lane = lane_of(&SHORT, "LoLA", 1);
    for read in READS {
        let mix = mixing::lola(&lane, &exact, read).unwrap();
        // Window, cache, state: in the order of the channel.
        for (part, traced) in mix.parts.iter().zip(lane.numbers("shares", read).unwrap()) {
            assert!((part.share - traced).abs() < 1e-4, "read {read}: {:?} {} {traced}", part.store, part.share);
        }
    }
}

#[test]
fn a_score_is_the_self_recall_error_against_the_state_before_its_step() {
    let states = States::fixed(SHORT.states.iter().cloned());
    let exact = Exact::new(&states, true);
    let lane = lane_of(&SHORT, "LoLA", 0);
    let mut held = 0;
    for write in (0..448).step_by(7) {
        for (step, score) in scores(&lane, write, 8) {
            let recall = mixing::self_recall(&lane, &exact, write, step).unwrap();
            assert!((recall.error - score).abs() < 1e-3 * (1.0 + score), "token {write}, step {step}: {} {score}", recall.error);
            // The law of cosines, as the panel writes it out.
            let r = &recall;
            let law = r.recalled * r.recalled + r.value * r.value - 2.0 * r.recalled * r.value * r.cosine;
            assert!((law - r.error).abs() < 1e-9 * (1.0 + r.error));
            held += 1;
        }
    }
    assert!(held > 64, "{held} scores");
}

#[test]
fn a_write_error_is_the_channels() {
    let states = States::fixed(SHORT.states.iter().cloned());
    let exact = Exact::new(&states, true);
    for name in ["delta", "gated"] {
        let lane = lane_of(&SHORT, name, 0);
        for write in [0, 1, 63, 64, 65, 300, 511] {
            let w = recurrence::write(&lane, &exact, write).unwrap();
            let traced = lane.number("write_error", write).unwrap();
            assert!((w.error - traced).abs() < 2e-4 * (1.0 + traced), "{name} {write}: {} {traced}", w.error);
            assert!((w.rate - 1.0).abs() < 1e-12 && (w.decay - if name == "gated" { 0.99 } else { 1.0 }).abs() < 1e-12);
            let norm_after = (write + 1) % 64 == 0;
            if norm_after {
                let traced = lane.number("state_norm", write / 64).unwrap();
                assert!((w.after - traced).abs() < 1e-3 * traced, "{name} {write}: {} {traced}", w.after);
            }
        }
    }
}

#[test]
fn growth_is_that_of_the_trace_at_every_step() {
    for (run, name) in [(&*SHORT, "OVQ"), (&*OTHER, "linear growth"), (&*OTHER, "saturating")] {
        let lane = lane_of(run, name, 0);
        for step in 0..run.plan.stream.chunks(64) {
            let g = dictionary::growth(&lane, step).unwrap();
            let founders = lane.wholes("is_new")[step * 64..(step + 1) * 64].iter().filter(|&&f| f == 1).count();
            assert_eq!(g.after - g.before, founders, "{name} step {step}");
            let founded = g.target.saturating_sub(g.before).min(g.writes);
            assert_eq!(founders, if step == 0 { founded.max(1) } else { founded }, "{name} step {step}");
            assert_eq!(g.target, g.exact.floor() as usize);
        }
    }
    // By hand: 4 chunks of 64 are t = 256; 256 * 128 / (256 + 128) = 85.33.
    let e = growth(&lane_of(&SHORT, "OVQ", 0), 3).unwrap();
    assert_eq!((e.value("t"), e.value("N"), e.value("N(t)")), (Some(256.0), Some(128.0), Some(85.0)));
    // 128 * 192 / (320) = 76.8 rows before.
    assert_eq!((e.value("n"), e.value("m")), (Some(76.0), Some(9.0)));
}

#[test]
fn a_token_went_to_the_row_that_the_state_before_its_step_has_nearest() {
    let states = States::fixed(SHORT.states.iter().cloned());
    let exact = Exact::new(&states, true);
    for name in ["OVQ", "VQ"] {
        let lane = lane_of(&SHORT, name, 0);
        let mut runners = 0;
        for write in (64..512).step_by(13) {
            let a = dictionary::assigned(&lane, &exact, write).unwrap();
            let (nearest, second) = (a.nearest.unwrap(), a.second.unwrap());
            assert!((nearest.1 - a.similarity).abs() < 1e-4, "{name} {write}");
            assert!((nearest.1 - second.1 - a.margin).abs() < 1e-4, "{name} {write}");
            if !a.founded && a.margin > 1e-4 {
                assert_eq!(nearest.0, a.row, "{name} {write}");
                runners += 1;
            }
        }
        assert!(runners > 10);
    }
}

#[test]
fn a_centroid_moves_as_the_update_says() {
    for (run, name) in [(&*SHORT, "OVQ"), (&*OTHER, "linear growth"), (&*OTHER, "saturating")] {
        let states = States::fixed(run.states.iter().cloned());
        let exact = Exact::new(&states, true);
        let lane = lane_of(run, name, 0);
        let mut held = 0;
        for step in 1..6 {
            for write in step * 64..(step + 1) * 64 {
                if lane.wholes("is_new")[write] == 1 {
                    continue;
                }
                let row = lane.wholes("assignments")[write] as usize;
                let u = dictionary::update(&lane, &exact, row, step).unwrap();
                assert_eq!(u.before + u.members.len(), u.after);
                assert!(u.members.contains(&write) && u.off < 1e-5, "{name} step {step} row {row}: off by {}", u.off);
                held += 1;
            }
        }
        assert!(held > 30);
    }
}

/// The equation whose heading begins so, of a token of a lane after so many of its chunks.
fn told(lane: &LaneAt<'_>, exact: &Exact<'_>, heading: &str, write: usize, done: usize) -> Equation {
    let all = equations(lane, exact, Chosen { read: None, token: Some((write, true)), done, step: None });
    all.into_iter().find(|e| e.heading.starts_with(heading)).unwrap()
}

/// The sentences under an equation.
fn words(e: &Equation) -> String {
    let piece = |p: &Piece| match p {
        Piece::Words(words) | Piece::Link(words, _) => words.clone(),
    };
    e.words.iter().map(|sentence| sentence.iter().map(piece).collect::<String>() + "\n").collect()
}

#[test]
fn a_founders_margin_is_its_own() {
    let states = States::fixed(SHORT.states.iter().cloned());
    let exact = Exact::new(&states, true);
    let lane = lane_of(&SHORT, "OVQ", 0);
    let is_new = lane.wholes("is_new");
    let similarity = |w: usize| lane.number("similarity", w).unwrap();
    let mut different = 0;
    for step in 0..8 {
        let chunk = step * 64..(step + 1) * 64;
        let refused = chunk.clone().filter(|&w| is_new[w] == 0).map(similarity).fold(f64::INFINITY, f64::min);
        let of_chunk = lane.number("select_margin", step).unwrap();
        let mut smallest = f64::INFINITY;
        for write in chunk.filter(|&w| is_new[w] == 1 && w > 0) {
            let margin = told(&lane, &exact, "Founding", write, 8).value("margin").unwrap();
            assert!((margin - (refused - similarity(write))).abs() < 1e-12, "token {write}: {margin}");
            smallest = smallest.min(margin);
            different += usize::from(margin > of_chunk + 1e-3);
        }
        // What the trace holds of the whole chunk is the margin of its last founder.
        assert!((smallest - of_chunk).abs() < 1e-6, "step {step}: {smallest} {of_chunk}");
    }
    assert!(different > 20, "{different} founders are farther from being refused than the last of their chunk");
    let first = told(&lane, &exact, "Founding", 0, 8);
    assert!(first.value("margin").is_none() && words(&first).contains("whatever its similarity"));
}

#[test]
fn founders_that_no_similarity_chose_have_no_margin_of_it() {
    let p = || Params::default().with("n_max", 96).with("chunk", 64);
    let lanes = vec![lane("random", "ovq", p().with("founding", "random")), lane("far", "ovq", p().with("founding", "farthest-point"))];
    let run = run(192, lanes, 0..=3);
    let states = States::fixed(run.states.iter().cloned());
    let exact = Exact::new(&states, true);
    let founder = |lane: &LaneAt<'_>| (64..128).find(|&w| lane.wholes("is_new")[w] == 1).unwrap();
    let random = lane_of(&run, "random", 0);
    let e = told(&random, &exact, "Founding", founder(&random), 3);
    assert!(e.terms.iter().all(|t| !t.symbol.contains("margin") && t.value != "inf"), "{e:?}");
    assert!(words(&e).contains("Chance chose it"), "{e:?}");
    let far = lane_of(&run, "far", 0);
    let e = told(&far, &exact, "Founding", founder(&far), 3);
    assert_eq!((e.value("founding margin of the chunk"), e.value("margin")), (far.number("select_margin", 1), None));
    let step = said(&run, Subject::Step(1), 192);
    assert!(step.contains("margin of the choice: none: chance chose the founders"), "{step}");
}

#[test]
fn a_key_that_is_scaled_back_is_its_new_key_times_the_length_told() {
    let states = States::fixed(OTHER.states.iter().cloned());
    let exact = Exact::new(&states, true);
    let lane = lane_of(&OTHER, "saturating", 0);
    let keys = |chunks: usize, row: usize| mixing::dictionary(exact.at(lane.number, chunks).unwrap(), lane.kv).unwrap().0.row(row).to_vec();
    let mut held = 0;
    for write in (192..384).step_by(5).filter(|&w| lane.wholes("is_new")[w] == 0) {
        let (step, row) = (write / 64, lane.wholes("assignments")[write] as usize);
        let e = told(&lane, &exact, "Update", write, 6);
        let (rate, length) = (e.value("r").unwrap(), e.value("length").unwrap());
        let members: Vec<usize> = (step * 64..(step + 1) * 64).filter(|&w| lane.wholes("assignments")[w] == row as i32).collect();
        let (old, new) = (keys(step, row), keys(step + 1, row));
        for (at, (old, new)) in old.iter().zip(&new).enumerate() {
            let mean = members.iter().map(|&w| lane.key(w)[at]).sum::<f64>() / members.len() as f64;
            assert!((old + rate * (mean - old) - length * new).abs() < 1e-5, "token {write}");
        }
        assert!(e.plain().contains("then scaled to length 1"), "{}", e.plain());
        held += 1;
    }
    assert!(held > 20, "{held} updates");
    // The paper's rule scales nothing.
    let states = States::fixed(SHORT.states.iter().cloned());
    let (exact, lane) = (Exact::new(&states, true), lane_of(&SHORT, "OVQ", 0));
    let write = (128..192).find(|&w| lane.wholes("is_new")[w] == 0).unwrap();
    let e = told(&lane, &exact, "Update", write, 8);
    assert!(e.value("length").is_none() && !e.plain().contains("scaled"), "{}", e.plain());
}

#[test]
fn a_count_that_a_half_float_rounds_says_so() {
    let counted = lane("half", "ovq", Params::default().with("n_max", 1).with("chunk", 1).with("counts", "float16"));
    let source = panel::task("needles", Params::default().with("T", 2112).with("needles", 16));
    let run = Run::new(source, vec![counted]).with_states(&[2000, 2001, 2050, 2051]);
    let states = States::fixed(run.states.iter().cloned());
    let (exact, lane) = (Exact::new(&states, true), lane_of(&run, "half", 0));
    // One row takes every write: 2001 of them are counted, and from 2048 on nothing is.
    let e = told(&lane, &exact, "Update", 2000, 2060);
    assert_eq!((e.value("c"), e.value("c'"), words(&e).contains("half")), (Some(2000.0), Some(2001.0), false), "{}", e.plain());
    let e = told(&lane, &exact, "Update", 2050, 2060);
    assert_eq!((e.value("c"), e.value("c'")), (Some(2048.0), Some(2048.0)), "{}", e.plain());
    assert!(e.plain().contains("half(2048 + 1) = 2048"), "{}", e.plain());
    assert!(words(&e).contains("in which 2049 does not exist: it is rounded to 2048"), "{}", words(&e));
    // N(t) = floor(t / (t + 1)) is 0, and the one row that there is stays.
    let e = growth(&lane, 2050).unwrap();
    assert!(e.value("m") == Some(0.0) && e.plain().contains("max(0, "), "{}", e.plain());
}

#[test]
fn an_epsilon_in_the_mean_is_shown_as_it_is_computed() {
    let lanes = vec![
        lane("OVQ", "ovq", Params::default().with("n_max", 32).with("chunk", 64)),
        lane("mean", "linear", Params::default().with("epsilon", 0.5).with("epsilon_at", "mean")),
        lane("sum", "linear", Params::default().with("epsilon", 0.5)),
    ];
    let run = run(256, lanes, 0..=4);
    let states = States::fixed(run.states.iter().cloned());
    let exact = Exact::new(&states, true);
    // Read 202 sees 203 writes: 203 x 0.5 = 101.5. After 4 chunks there are 256.
    let chosen = Chosen { read: Some((202, true)), token: Some((10, true)), done: 4, step: None };
    let told = |name: &str| equations(&lane_of(&run, name, 0), &exact, chosen);
    let mean = told("mean");
    assert_eq!(mean[0].value("t ε"), Some(101.5), "{:?}", mean[0].terms);
    assert!(mean[0].plain().contains("203 × 0.5"), "{}", mean[0].plain());
    let recalled = mean.iter().find(|e| e.heading.starts_with("Recalled")).unwrap();
    assert!(recalled.plain().contains("256 × 0.5"), "{}", recalled.plain());
    let sum = told("sum");
    assert_eq!((sum[0].value("ε"), sum[0].value("t ε")), (Some(0.5), None));
    assert!(sum.iter().all(|e| !e.plain().contains("t ε")));
}

#[test]
fn a_read_that_the_lane_has_not_come_to_is_no_read_before_the_playhead() {
    let none = States::default();
    let exact = Exact::new(&none, true);
    let of = |read: usize, by: bool| {
        let chosen = Chosen { read: Some((read, by)), token: None, done: 1, step: None };
        equations(&lane_of(&SHORT, "OVQ", 0), &exact, chosen).remove(0)
    };
    assert_eq!(of(63, false).heading, "Prediction of read 63 (the last that this lane has answered)");
    // The playhead may stand at write 102: the lane's chunk is not whole.
    assert!(words(&of(100, true)).contains("This lane has not answered it yet at the playhead"));
}

#[test]
fn the_room_in_the_cache_is_not_called_what_the_chunk_is() {
    let states = States::fixed(SHORT.states.iter().cloned());
    let e = told(&lane_of(&SHORT, "LoLA", 0), &Exact::new(&states, true), "Selection", 100, 8);
    assert_eq!((e.value("cache"), e.value("C")), (Some(32.0), None), "{}", e.plain());
}

#[test]
fn every_layer_has_equations_for_what_is_selected_and_for_what_is_not() {
    for run in [&*SHORT, &*OTHER] {
        let states = States::fixed(run.states.iter().cloned());
        for (number, plan) in run.plan.lanes.iter().enumerate() {
            let lane = LaneAt::new(number, plan, &run.traces[number], 0);
            for chosen in [
                Chosen { read: Some((300, true)), token: Some((130, true)), done: 5, step: None },
                Chosen { read: None, token: None, done: 0, step: Some(2) },
                Chosen { read: Some((383, true)), token: Some((383, true)), done: 3, step: Some(1) },
            ] {
                let exact = Exact::new(&states, true);
                let all = equations(&lane, &exact, chosen);
                let text: String = all.iter().map(|e| e.plain() + "\n").collect();
                assert!(!text.contains("NaN") && !text.contains('#') && !text.contains('\\'), "{}: {text}", plan.name);
                if chosen.done == 5 {
                    assert!(all.iter().all(|e| !e.lines.is_empty()), "{}: {text}", plan.name);
                    assert!(!exact.missing(), "{}", plan.name);
                }
                if chosen.done == 3 {
                    let said = |e: &mnemoscope::panel::formula::equation::Equation| e.lines.is_empty() && !e.words.is_empty();
                    assert!(said(&all[0]), "nothing is told of a read to come: {text}");
                }
            }
        }
    }
}

#[test]
fn nothing_is_shown_of_a_state_that_is_not_here() {
    let none = States::default();
    for name in ["OVQ", "LoLA", "linear", "gated", "mamba"] {
        let exact = Exact::new(&none, true);
        let all = equations(&lane_of(&SHORT, name, 0), &exact, Chosen { read: Some((300, true)), token: None, done: 5, step: None });
        assert!(exact.missing() && all[0].lines.is_empty(), "{name}");
    }
}

/// What is drawn.
#[allow(clippy::large_enum_variant, reason = "one of it a test")]
enum Drawn {
    Panel(Box<dyn Panel>),
    Inspector(Inspector),
    /// Nothing: for what is said without being drawn.
    Words(Subject, String),
}

/// A panel or the inspector with what it is given, and what it asked for last.
struct Asked<'a> {
    drawn: Drawn,
    given: Given<'a>,
    commands: Vec<Command>,
}

impl<'a> Asked<'a> {
    fn new(drawn: Drawn, run: &'a Run, subjects: &[Subject]) -> Self {
        let mut given = Given::new(run);
        subjects.iter().for_each(|s| given.selection.choose(*s));
        Self { drawn, given, commands: Vec::new() }
    }

    fn formula(run: &'a Run, subjects: &[Subject]) -> Self {
        let panel = (PANELS.iter().find(|p| p.name == "formula").unwrap().make)();
        Self::new(Drawn::Panel(panel), run, subjects)
    }

    fn inspector(run: &'a Run, subject: Subject) -> Self {
        Self::new(Drawn::Inspector(Inspector::default()), run, &[subject])
    }

    fn ui(&mut self, ui: &mut egui::Ui) {
        let Self { drawn, given, commands } = self;
        commands.clear();
        given.show(ui, |ui, look| match drawn {
            Drawn::Panel(panel) => panel.ui(ui, look, commands),
            Drawn::Inspector(inspector) => inspector.ui(ui, look, commands),
            Drawn::Words(subject, words) => *words = in_words(look, *subject),
        });
    }
}

/// What the inspector says of a subject after so many writes.
fn said(run: &Run, subject: Subject, writes: usize) -> String {
    let mut shown = Asked::new(Drawn::Words(subject, String::new()), run, &[]);
    shown.given.writes = writes;
    let ctx = egui::Context::default();
    ctx.run_ui(egui::RawInput::default(), |ui| shown.ui(ui)).textures_delta.clear();
    let Drawn::Words(_, words) = shown.drawn else { panic!("words were asked for") };
    words
}

fn harness(shown: Asked<'_>, size: Vec2, dark: bool) -> Harness<'_, Asked<'_>> {
    panel::draw(shown, size, dark, Asked::ui)
}

#[test]
fn the_formula_of_every_layer_in_pictures() {
    let mut results = SnapshotResults::new();
    for (number, plan) in SHORT.plan.lanes.iter().enumerate() {
        let dark = number % 2 == 0;
        let subjects = [Subject::Read(300), Subject::Token(270), Subject::Lane(number)];
        let shown = Asked::formula(&SHORT, &subjects);
        results.add(harness(shown, vec2(560.0, 720.0), dark).try_snapshot(format!("formula_{}", plan.kind.name())));
    }
}

#[test]
fn the_signs_of_formulas_are_in_the_windows_fonts() {
    let shown = Asked::formula(&SHORT, &[]);
    let harness = harness(shown, vec2(200.0, 100.0), true);
    let signs = mnemoscope::widget::math::signs();
    let font = |c: char| egui::FontId::new(14.0, mnemoscope::widget::math::family(&c.to_string()));
    let missing: String = harness.ctx.fonts_mut(|f| signs.chars().filter(|c| !f.has_glyph(&font(*c), *c)).collect());
    assert_eq!(missing, "", "these would be drawn as boxes");
}

/// The needle prompt to write 1088, with every state.
static NEEDLE: LazyLock<Run> = LazyLock::new(|| {
    let p = Params::default;
    let lanes = vec![
        lane("OVQ", "ovq", p().with("n_max", 256).with("chunk", 64)),
        lane("LoLA", "lola", p().with("window", 64).with("cache", 128).with("chunk", 64)),
        lane("linear", "linear", p()),
        lane("delta", "deltanet", p()),
    ];
    run(1088, lanes, 0..=17)
});

#[test]
fn a_centroid_is_told_with_its_count_founder_and_last_member() {
    let lane = lane_of(&NEEDLE, "OVQ", 0);
    let (rows, is_new) = (lane.wholes("assignments"), lane.wholes("is_new"));
    for row in [0, 17, 120] {
        let seen = 704;
        let members: Vec<usize> = (0..seen).filter(|&w| rows[w] == row as i32).collect();
        let text = said(&NEEDLE, Subject::Centroid { lane: 0, row }, seen);
        let first = (0..1088).find(|&w| rows[w] == row as i32 && is_new[w] == 1).unwrap();
        if members.is_empty() {
            assert!(text.contains(&format!("Not founded yet: it will be in step {}.", first / 64)), "{text}");
            continue;
        }
        let n = if members.len() == 1 { "1 token".to_owned() } else { format!("{} tokens", members.len()) };
        assert!(text.contains(&format!("It stands for {n} after 704 writes.")), "{text}");
        assert!(text.contains(&format!("founded by: token {first} ")), "{text}");
        assert!(text.contains(&format!("last used: token {} ", members.last().unwrap())), "{text}");
        assert!(text.contains("nearest other: centroid ") && text.contains("drift since founding: key "), "{text}");
    }
}

#[test]
fn slots_are_ranked_and_the_last_of_a_full_cache_is_the_next_to_go() {
    let lane = lane_of(&NEEDLE, "LoLA", 0);
    let mut cached = std::collections::BTreeSet::new();
    for step in 0..17 {
        cached.extend(lane.numbers("admitted", step).unwrap().iter().map(|&id| id as usize));
        for id in lane.numbers("displaced", step).unwrap() {
            cached.remove(&(id as usize));
        }
    }
    assert_eq!(cached.len(), 128);
    let mut ranks: Vec<usize> = Vec::new();
    for &write in &cached {
        let text = said(&NEEDLE, Subject::Slot { lane: 1, write }, 1088);
        let rank = text.lines().find_map(|l| l.strip_prefix("rank: ")).unwrap();
        let rank: usize = rank.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(text.contains("next to be displaced: this one"), rank == 128, "{text}");
        ranks.push(rank);
    }
    ranks.sort_unstable();
    assert_eq!(ranks, (1..=128).collect::<Vec<_>>());
    let outside = said(&NEEDLE, Subject::Slot { lane: 1, write: 1080 }, 1088);
    assert!(outside.contains("It is not in the cache at this step."), "{outside}");
}

#[test]
fn a_score_below_the_threshold_is_told_with_the_hand_that_keeps_its_pair() {
    let of = |hands: Vec<Hand>| {
        let params = Params::default().with("window", 64).with("cache", 32).with("chunk", 64);
        run(512, vec![LaneSpec { hands, ..lane("LoLA", "lola", params) }], 0..=8)
    };
    let free = of(Vec::new());
    let lola = lane_of(&free, "LoLA", 0);
    // One that left the window in step 1 and was folded at once.
    let write = (0..64).find(|&w| (0..8).all(|s| !lola.numbers("admitted", s).unwrap().contains(&(w as f64)))).unwrap();
    let [token, slot] = [Subject::Token(write), Subject::Slot { lane: 0, write }];
    assert!(!said(&free, token, 512).contains("a hand keeps it"));
    let kept = of(vec![Hand { step: 1, kv_head: 0, what: Act::Keep { write } }]);
    let text = said(&kept, token, 512);
    assert!(text.contains("(a hand keeps it, whatever its score; threshold after it, of the others, "), "{text}");
    assert!(!text.contains("(threshold after it"), "{text}");
    let text = said(&kept, slot, 512);
    assert!(text.contains(", of the pairs not kept by hand: a hand keeps this one, whatever its score"), "{text}");
}

#[test]
fn a_lane_whose_chunks_are_no_steps_says_once_which_steps_they_are() {
    let p = Params::default;
    let lanes = vec![
        lane("OVQ", "ovq", p().with("n_max", 64).with("chunk", 32)),
        lane("LoLA", "lola", p().with("window", 64).with("cache", 16).with("chunk", 64)),
        lane("linear", "linear", p()),
    ];
    let source = Source::Capture(CaptureSource { tokens: Some(256), ..CaptureSource::bundled() });
    let run = Run::new(source, lanes).with_states(&[0, 64, 128, 192, 256]);
    assert_eq!(run.plan.step, 32);
    // Token 100 is one of the writes 64 to 127: LoLA's second chunk, the third and the fourth step.
    let token = said(&run, Subject::Token(100), 256);
    assert_eq!(token.matches("LoLA's chunk 1 (steps 2–3, 64 tokens)").count(), 1, "{token}");
    assert!(token.contains("Written in step 3 (chunk 1)."), "{token}");
    assert!(token.contains("Written in step 3.") && !token.contains("OVQ's chunk"), "{token}");
    // It may still be in the window at the end of chunk 1, and is 91 writes old at the end of chunk 2.
    assert!(token.contains("Left the window in step 5 (chunk 2)."), "{token}");
    assert!(token.contains("since LoLA's chunk 2 (steps 4–5, 64 tokens)"), "{token}");
    let waiting = said(&run, Subject::Token(100), 104);
    assert!(waiting.contains("it enters the memory at the end of LoLA's chunk 1 (steps 2–3, 64 tokens)."), "{waiting}");
    let step = said(&run, Subject::Step(4), 256);
    assert!(step.contains("LoLA's chunk 2 (steps 4–5, 64 tokens)."), "{step}");
    assert!(step.contains("its chunk ends in step 5 (chunk 2)."), "{step}");
    let page = said(&run, Subject::Lane(1), 256);
    assert!(page.contains("in steps: LoLA's chunk 3 (steps 6–7, 64 tokens)"), "{page}");
    assert!(!said(&run, Subject::Lane(0), 256).contains("in steps: "));
    // A panel whose steps are the lane's own says so beside the lane's name.
    let formula = |number| harness(Asked::formula(&run, &[Subject::Token(100), Subject::Lane(number)]), vec2(560.0, 500.0), true);
    assert!(formula(1).query_by_label("chunk\u{a0}3\u{a0}(steps\u{a0}6–7)").is_some());
    assert!(formula(0).query_by_label_contains("\u{a0}(steps\u{a0}").is_none());
}

#[test]
fn a_tokens_life_is_that_of_the_trace() {
    let (ovq, lola) = (lane_of(&NEEDLE, "OVQ", 0), lane_of(&NEEDLE, "LoLA", 0));
    let listed = |name: &str, step: usize, write: usize| lola.numbers(name, step).unwrap().contains(&(write as f64));
    for write in (0..1024).step_by(37).chain(699..720) {
        let text = said(&NEEDLE, Subject::Token(write), 1088);
        let row = ovq.wholes("assignments")[write];
        let verb = if ovq.wholes("is_new")[write] == 1 { "Founded" } else { "Assigned to" };
        assert!(text.contains(&format!("{verb} centroid {row}")), "{text}");
        let entered = (0..17).find(|&s| listed("admitted", s, write));
        let left = (0..17).find(|&s| listed("displaced", s, write));
        match entered {
            Some(step) => assert!(text.contains(&format!("Admitted to the sparse cache in step {step}")), "{text}"),
            None => assert!(!text.contains("Admitted") && text.contains("It was not kept"), "{text}"),
        }
        match left {
            Some(step) => assert!(text.contains(&format!("Displaced in step {step}, when these were admitted: token ")), "{text}"),
            None => assert!(!text.contains("Displaced in"), "{text}"),
        }
        // Three lanes have a linear state against which the token's own key can be asked.
        assert_eq!(text.matches("recall error now: ").count(), 3, "{text}");
        assert!(!text.contains("being computed") && !text.contains("NaN"), "{text}");
    }
}

#[test]
fn a_step_tells_who_was_founded_admitted_and_displaced() {
    let (ovq, lola) = (lane_of(&NEEDLE, "OVQ", 0), lane_of(&NEEDLE, "LoLA", 0));
    for step in 0..17 {
        let text = said(&NEEDLE, Subject::Step(step), 1088);
        let founders = ovq.wholes("is_new")[step * 64..(step + 1) * 64].iter().sum::<i32>();
        assert!(text.contains(&format!("founders ({founders}): ")), "{text}");
        for name in ["admitted", "displaced"] {
            assert!(text.contains(&format!("{name} ({}): ", lola.numbers(name, step).unwrap().len())), "{text}");
        }
        assert!(text.contains("write error: mean "), "{text}");
    }
    assert!(said(&NEEDLE, Subject::Step(3), 64).contains("The playhead is before it; go to just after it."));
}

#[test]
fn a_lane_tells_what_is_set_and_what_it_costs() {
    let text = said(&NEEDLE, Subject::Lane(0), 1088);
    // N (dk + dv + 1) + C (dk + dv) numbers of 1088 x 128: 256 x 129 + 64 x 128 = 41216 of 139264.
    assert!(text.contains("memory: 41\u{a0}216 numbers, 29.6% of what full attention keeps"), "{text}");
    assert!(text.contains("centroids N: 256") && !text.contains("chunk C: 64"), "only what differs from the default: {text}");
}

#[test]
fn a_step_link_moves_the_playhead_and_links_do_not_turn_the_page() {
    let lane = lane_of(&NEEDLE, "LoLA", 0);
    let write = (0..17).rev().find_map(|s| lane.numbers("admitted", s).unwrap().first().map(|&id| id as usize)).unwrap();
    let step = (0..17).find(|&s| lane.numbers("admitted", s).unwrap().contains(&(write as f64))).unwrap();
    let mut harness = harness(Asked::inspector(&NEEDLE, Subject::Slot { lane: 1, write }), vec2(308.0, 420.0), true);
    let name = format!("step {step}");
    let links: Vec<egui::Rect> = harness.get_all_by_label(&name).map(|n| n.rect()).collect();
    let at = links[0].center();
    harness.hover_at(at);
    harness.run_steps(2);
    for pressed in [true, false] {
        let button = egui::PointerButton::Primary;
        harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers: egui::Modifiers::NONE });
        harness.step();
    }
    let asked = &harness.state().commands;
    assert!(asked.contains(&TimeCommand::Seek((step + 1) * 64).into()), "{asked:?}");
    assert!(asked.contains(&ViewCommand::Choose(Subject::Step(step)).into()));
    // Over the link to its token, the token is marked in the panels; the inspector still speaks of the slot.
    let token = mnemoscope::panel::common::token_name(&NEEDLE.plan.stream, write);
    let at = harness.get_all_by_label(&token).next().unwrap().rect().center();
    harness.hover_at(at);
    harness.run_steps(2);
    assert!(harness.state().commands.contains(&ViewCommand::Hover(write).into()));
    harness.state_mut().given.selection.hovered = Some(5);
    harness.run_steps(2);
    harness.get_by_label("Cache slot");
}

#[test]
fn the_inspector_of_every_subject_in_pictures() {
    let mut results = SnapshotResults::new();
    let lola = lane_of(&NEEDLE, "LoLA", 0);
    let write = lola.numbers("admitted", 12).unwrap()[0] as usize;
    let row = lane_of(&NEEDLE, "OVQ", 0).wholes("assignments")[705] as usize;
    let subjects = [
        ("token", Subject::Token(705)),
        ("centroid", Subject::Centroid { lane: 0, row }),
        ("slot", Subject::Slot { lane: 1, write }),
        ("read", Subject::Read(1080)),
        ("step", Subject::Step(12)),
        ("lane", Subject::Lane(1)),
    ];
    for (name, subject) in subjects {
        for dark in [false, true] {
            let theme = if dark { "dark" } else { "light" };
            let shown = Asked::inspector(&NEEDLE, subject);
            results.add(harness(shown, vec2(308.0, 900.0), dark).try_snapshot(format!("inspector_{name}_{theme}")));
        }
    }
}
