//! The panels of a dictionary (assignments, counts, codebook health) on real runs: what they say, what they ask for, how they look.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::sync::LazyLock;

use eframe::egui::accesskit::Role;
use eframe::egui::{self, Modifiers, PointerButton, Pos2, Rect, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::states::States;
use mnemoscope::app::study::StudyCommand;
use mnemoscope::app::study::health::Ask;
use mnemoscope::layer::ovq::Counting;
use mnemoscope::metric::health::{gini, perplexity};
use mnemoscope::panel::{Pin, Subject};
use mnemoscope::param::Params;
use mnemoscope::session::LaneSpec;
use mnemoscope::session::hand::{Act, Hand};
use panel::{Run, Shown, bundled, harness, states, task, wait, wake};

fn ovq(name: &str, n_max: i64, chunk: i64) -> LaneSpec {
    LaneSpec::new(name, "ovq", Params::default().with("n_max", n_max).with("chunk", chunk))
}

fn vq(name: &str, codes: i64) -> LaneSpec {
    LaneSpec::new(name, "vq", Params::default().with("codes", codes))
}

/// The bundled needle prompt.
static CAPTURE: LazyLock<Run> =
    LazyLock::new(|| Run::new(bundled(), vec![ovq("OVQ", 512, 64), vq("VQ", 256), LaneSpec::new("full", "full", Params::default())]));

/// In-context recall with fewer numbers a key than the session has.
static RECALL: LazyLock<Run> = LazyLock::new(|| {
    let params = Params::default().with("T", 4096).with("dk", 32).with("dv", 16);
    Run::new(task("in_context_recall", params), vec![ovq("OVQ 409", 409, 128), ovq("OVQ 1024", 1024, 128), vq("VQ 256", 256)])
});

/// 65536 writes.
static LONG: LazyLock<Run> = LazyLock::new(|| {
    let params = Params::default().with("T", 65_536).with("dk", 8).with("dv", 4);
    Run::new(task("in_context_recall", params), vec![ovq("OVQ", 2048, 128)])
});

/// A panel whose choices of subjects and groups are carried out.
fn panel_of<'a>(name: &str, run: &'a Run) -> Shown<'a> {
    Shown::new(name, run).answered(|shown, _| {
        let Shown { given, commands, .. } = shown;
        for command in commands.iter() {
            match command {
                Command::View(ViewCommand::Choose(subject)) => given.selection.choose(*subject),
                Command::View(ViewCommand::Group(writes)) => given.selection.choose_group(writes),
                _ => {}
            }
        }
    })
}

/// The health panel with all that its study finds.
fn studied(run: &Run) -> Shown<'_> {
    let mut shown = panel_of("health", run);
    let with = |i: &usize| run.traces[*i].channel("assignments").is_some();
    let lanes: Vec<(usize, usize)> = (0..run.traces.len()).filter(with).map(|i| (i, 0)).collect();
    shown.studies.health.start(&run.plan, &run.traces, lanes, &wake());
    wait(&mut shown.studies, |s| s.health.running());
    shown
}

/// A panel with the exact states of every lane after so many writes.
fn with_states<'a>(name: &str, run: &'a Run, moments: &[usize]) -> Shown<'a> {
    let mut shown = panel_of(name, run);
    shown.states = States::fixed(states(&run.plan, moments));
    shown
}

type Window<'a> = Harness<'a, Shown<'a>>;

const USUAL: Vec2 = vec2(560.0, 330.0);

fn press(harness: &mut Window<'_>, at: Pos2, pressed: bool) {
    harness.event(egui::Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE });
    harness.step();
}

fn click(harness: &mut Window<'_>, at: Pos2) {
    harness.hover_at(at);
    harness.step();
    press(harness, at, true);
    press(harness, at, false);
    harness.run();
}

fn place(harness: &Window<'_>, name: &str) -> Rect {
    harness.get_by_label_contains(name).rect()
}

fn choose(harness: &mut Window<'_>, combo: &str, option: &str) {
    harness.get_by_label(combo).click();
    harness.run();
    harness.get_by_label(option).click();
    harness.run();
}

/// The counts of lane `lane` after `writes` writes of whole chunks.
fn counts(run: &Run, lane: usize, writes: usize) -> Vec<u32> {
    let rows = &run.traces[lane].channel("assignments").unwrap().wholes(0)[..writes];
    let mut counts = vec![0; rows.iter().max().map_or(0, |r| *r as usize + 1)];
    rows.iter().for_each(|&r| counts[r as usize] += 1);
    counts
}

#[test]
fn health_in_pictures() {
    let mut results = SnapshotResults::new();
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        let mut shown = studied(&CAPTURE);
        shown.writes = 1600;
        results.add(harness(shown, vec2(620.0, 560.0), dark).try_snapshot(format!("health_capture_{theme}")));
        let mut shown = studied(&RECALL);
        shown.writes = 3000;
        results.add(harness(shown, vec2(980.0, 420.0), dark).try_snapshot(format!("health_recall_{theme}")));
    }
    let mut shown = studied(&LONG);
    shown.writes = 50_000;
    results.add(harness(shown, vec2(620.0, 560.0), true).try_snapshot("health_long"));
    let mut low = harness(studied(&RECALL), vec2(300.0, 150.0), false);
    choose(&mut low, "Figures", "perplexity / n");
    results.add(low.try_snapshot("health_low"));
}

#[test]
fn health_tells_the_figures_of_the_counts_at_the_playhead() {
    let mut shown = studied(&CAPTURE);
    shown.writes = 1000;
    let harness = harness(shown, vec2(620.0, 560.0), false);
    // 15 chunks of 64 are over; 1000 - 960 writes wait.
    for (lane, name) in [(0, "OVQ"), (1, "VQ")] {
        let counts: Vec<u32> = counts(&CAPTURE, lane, 960).into_iter().filter(|&c| c > 0).collect();
        let n = counts.len();
        harness.get_by_label_contains(&format!("{name}: {n}"));
        let near = |what: &str, value: f64| {
            let told = format!("{what}, at write 1000. OVQ: ");
            let text = harness.get_by_label_contains(&told).accesskit_node().label().unwrap();
            let own = text
                .rsplit(&format!("{} {name}: ", if lane == 0 { '.' } else { ';' }))
                .next()
                .unwrap()
                .split([' ', ';'])
                .next()
                .unwrap()
                .to_owned();
            assert!((own.parse::<f64>().unwrap() - value).abs() < 1e-3, "{text}: {value}");
        };
        near("perplexity / n", perplexity(&counts) / n as f64);
        near("Gini of counts", gini(&counts));
    }
    assert_eq!(harness.query_all_by_label_contains("(40 writes wait for the end of the chunk)").count(), 2);
}

/// The number of a lane in a figure of codebook health, as a screen reader has it.
fn figure(harness: &Window<'_>, title: &str, lane: &str) -> f64 {
    let text = harness.get_by_label_contains(&format!("Codebook health, {title}, at write ")).accesskit_node().label().unwrap();
    let told = text.rsplit(&format!(" {lane}: ")).next().unwrap().split([' ', ';']).next().unwrap().to_owned();
    told.parse().unwrap()
}

#[test]
fn health_is_of_the_counts_that_the_layer_keeps() {
    // 5000 writes one by one, two rows at most (3 t / (t + 3) stays below 3): one of them is offered more than 2048, where half floats stall.
    let params = Params::default().with("T", 5000).with("pairs", 32).with("dk", 8).with("dv", 4);
    let of = |counts: &str| Params::default().with("n_max", 3).with("chunk", 1).with("counts", counts);
    let lanes = vec![LaneSpec::new("half", "ovq", of("float16")), LaneSpec::new("exact", "ovq", of("float32"))];
    let run = Run::new(task("in_context_recall", params), lanes);
    let harness = harness(panel_of("health", &run), vec2(620.0, 560.0), false);
    let mut told = Vec::new();
    for (lane, name, counting) in [(0, "half", Counting::Half), (1, "exact", Counting::Exact)] {
        let counts = counting.tally(run.traces[lane].channel("assignments").unwrap().wholes(0), 0, 1);
        assert_eq!((counts.len(), counts.iter().any(|&c| c > 2048)), (2, counting == Counting::Exact), "{counts:?}");
        let expected = (perplexity(&counts) / 2.0, gini(&counts));
        let shown = (figure(&harness, "perplexity / n", name), figure(&harness, "Gini of counts", name));
        assert!((shown.0 - expected.0).abs() < 1e-3 && (shown.1 - expected.1).abs() < 1e-3, "{name}: {shown:?}, {expected:?}");
        told.push(shown.1);
    }
    assert!((told[0] - told[1]).abs() > 2e-3, "the two lanes are told apart: {told:?}");
}

#[test]
fn a_row_deleted_by_hand_is_in_use_in_no_panel() {
    let params = Params::default().with("T", 512).with("pairs", 32).with("dk", 8).with("dv", 4);
    let hands = vec![Hand { step: 3, kv_head: 0, what: Act::Delete { row: 4 } }];
    let run = Run::new(task("in_context_recall", params), vec![LaneSpec { hands, ..ovq("del", 40, 32) }]);
    // After 160 writes 160 * 40 / 200 = 32 rows have been founded, of which row 4 was deleted after 96.
    let at = |name: &str| {
        let mut shown = panel_of(name, &run);
        shown.writes = 160;
        harness(shown, vec2(620.0, 560.0), false)
    };
    at("growth").get_by_label_contains("del: n 31 of N 40 (32 rows, one of them deleted)");
    at("health").get_by_label_contains("Codebook health, n, rows, at write 160. del: 31");
    let mut counts = at("counts");
    counts.get_by_label_contains("31 rows hold ");
    counts.get_by_label("32 rows, one of them deleted");
    counts.get_by_label_contains("Counts: 31 rows in use (32 rows, one of them deleted) at write 160");
    counts.get_by_label("histogram").click();
    counts.run();
    counts.get_by_label_contains("Histogram of counts: 31 rows in use (32 rows, one of them deleted) at write 160");
    drop(counts);
    // Before the hand there are floor(96 * 40 / 136) = 28 rows less the one that is gone after it, at the very moment that it acts.
    let mut moments = panel_of("moments", &run);
    (moments.writes, moments.selection.pin) = (160, Some(Pin::Moment(96)));
    let moments = harness(moments, vec2(620.0, 560.0), false);
    let row = moments.get_by_label("rows in use, n").rect();
    let beside = |number: &str| moments.query_all_by_label(number).any(|n| (n.rect().center().y - row.center().y).abs() < 4.0);
    assert!(beside("27") && beside("31") && beside("+4"), "27 at A, 31 at B");
}

#[test]
fn a_figure_says_of_which_write_it_is() {
    let mut shown = studied(&CAPTURE);
    shown.writes = 1000;
    let mut harness = harness(shown, vec2(620.0, 560.0), false);
    // 15 chunks of 64 are over at write 960.
    let node = harness.get_by_label_contains("Codebook health, perplexity / n, at write 1000. ").accesskit_node();
    let (label, legend) = (node.label().unwrap(), node.description().unwrap());
    assert_eq!(label.matches(" (at write 960, where its last whole chunk ends)").count(), 2, "{label}");
    assert_eq!(legend.matches(" at 960").count(), 2, "{legend}");
    harness.state_mut().writes = 960;
    harness.run();
    let node = harness.get_by_label_contains("Codebook health, perplexity / n, at write 960. ").accesskit_node();
    assert!(!node.label().unwrap().contains("(at write") && !node.description().unwrap().contains(" at "));
}

#[test]
fn health_asks_for_its_study_once_the_run_is_over() {
    let mut shown = panel_of("health", &CAPTURE);
    shown.reached = 1024;
    let mut harness = harness(shown, USUAL, true);
    harness.get_by_label("pairs and errors follow once the run is complete");
    assert!(harness.state().all.is_empty());
    harness.state_mut().reached = 2048;
    harness.run();
    let asked = Command::Study(StudyCommand::Health(Ask::Lanes(vec![(0, 0), (1, 0)])));
    assert_eq!(harness.state().commands, [asked]);
    let mut shown = studied(&CAPTURE);
    shown.writes = 0;
    let mut harness = self::harness(shown, USUAL, true);
    assert!(harness.state().all.is_empty(), "it has it");
    assert_eq!(harness.query_all_by_label("No chunk has been read yet: the dictionary is empty.").count(), 2);
    harness.state_mut().writes = 64;
    harness.run();
    // A link to each row of the nearest pair.
    let found = harness.state().studies.health.lane(0).unwrap().before(1).unwrap().nearest.unwrap().dot.rows;
    harness.get_all_by_label(&format!("row {}", found.0)).next().unwrap().click();
    harness.run();
    let chosen = Command::View(ViewCommand::Choose(Subject::Centroid { lane: 0, row: found.0 }));
    assert!(harness.state().all.contains(&chosen));
}

#[test]
fn no_space_stands_before_a_comma_in_the_words_of_health() {
    for width in [620.0, 263.0] {
        let harness = harness(studied(&CAPTURE), vec2(width, 560.0), false);
        let links: Vec<Rect> = harness.get_all_by_role(Role::Link).map(|n| n.rect()).collect();
        let commas: Vec<Rect> = harness.get_all_by_label(",").map(|n| n.rect()).collect();
        assert_eq!(commas.len(), 2, "one after the nearest pair of each lane");
        for comma in commas {
            let before = |link: &Rect| (link.right() - comma.left()).abs() < 0.6 && (link.center().y - comma.center().y).abs() < 2.0;
            assert!(links.iter().any(before), "{comma} after none of {links:?}");
        }
    }
}

#[test]
fn a_link_of_health_below_the_fold_comes_into_sight_with_the_focus() {
    let size = vec2(263.0, 235.0);
    let mut harness = harness(studied(&CAPTURE), size, true);
    let last = |h: &Harness<'_, Shown<'_>>| h.get_all_by_role(Role::Link).last().unwrap().rect();
    assert!(last(&harness).bottom() > size.y, "the cell is too low for it: {}", last(&harness));
    harness.get_all_by_role(Role::Link).last().unwrap().focus();
    // What holds it scrolls there, which takes some frames.
    harness.run_steps(20);
    let cell = Rect::from_min_size(Pos2::ZERO, size);
    assert!(cell.contains_rect(last(&harness)), "{}", last(&harness));
}

#[test]
fn a_dictionary_of_one_row_is_even_and_has_no_pair() {
    let params = Params::default().with("T", 256).with("pairs", 32).with("dk", 8).with("dv", 8);
    let one = Run::new(task("in_context_recall", params), vec![ovq("OVQ", 1, 64)]);
    let mut harness = harness(studied(&one), vec2(620.0, 560.0), false);
    for told in ["perplexity / n, at write 256. OVQ: 1 (as even as 1 of 1 rows)", "Gini of counts, at write 256. OVQ: 0"] {
        harness.get_by_label_contains(told);
    }
    harness.get_by_label(" one row has no pair;");
    harness.get_by_label_contains("nearest pair, dot, at write 256. OVQ: one row has no pair");
    harness.state_mut().writes = 10;
    harness.run();
    harness.get_by_label_contains("perplexity / n, at write 10. OVQ: not known yet");
}

#[test]
fn hovering_a_figure_tells_the_step_and_a_click_selects_it() {
    let mut harness = harness(studied(&CAPTURE), vec2(620.0, 560.0), false);
    let rect = place(&harness, "Codebook health, n, rows");
    // Write 1010: of 64 writes each, 15 chunks are over, and the 16th, number 15, is under way.
    let at = pos2(rect.left() + rect.width() * 1010.0 / 2048.0, rect.center().y);
    harness.hover_at(at);
    harness.run();
    let n = counts(&CAPTURE, 0, 960).len();
    harness.get_by_label(&format!("{n} after step 14 (write 960)"));
    click(&mut harness, at);
    // The step that is told of is the one that is selected.
    assert!(harness.state().all.contains(&Command::View(ViewCommand::Choose(Subject::Step(14)))));
}

#[test]
fn counts_histogram_in_pictures() {
    let mut results = SnapshotResults::new();
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        let mut shown = panel_of("counts", &CAPTURE);
        shown.writes = 1600;
        shown.selection.choose(Subject::Centroid { lane: 0, row: 7 });
        let mut window = harness(shown, USUAL, dark);
        window.get_by_label("histogram").click();
        window.run();
        results.add(window.try_snapshot(format!("counts_histogram_capture_{theme}")));
        let mut shown = panel_of("counts", &RECALL);
        shown.lanes = vec![2];
        shown.writes = 2048;
        let mut window = harness(shown, USUAL, dark);
        window.get_by_label("histogram").click();
        window.run();
        let rect = place(&window, "Histogram of counts");
        click(&mut window, pos2(rect.left() + rect.width() * 0.6, rect.bottom() - 3.0));
        results.add(window.try_snapshot(format!("counts_histogram_codes_{theme}")));
    }
    let mut shown = panel_of("counts", &LONG);
    shown.writes = 50_000;
    let mut window = harness(shown, USUAL, true);
    window.get_by_label("histogram").click();
    window.run();
    results.add(window.try_snapshot("counts_histogram_long"));
}

#[test]
fn a_bar_of_the_histogram_lists_its_rows_as_links() {
    let mut window = harness(panel_of("counts", &CAPTURE), USUAL, false);
    window.get_by_label("histogram").click();
    window.run();
    let counts = counts(&CAPTURE, 0, 2048);
    let ones: Vec<usize> = (0..counts.len()).filter(|&r| counts[r] == 1).collect();
    // No row is empty, so the axis begins at 1: the first bin is that of one write.
    let rect = place(&window, "Histogram of counts: 409 rows at write 2048");
    let at = rect.left_bottom() + vec2(4.0, -3.0);
    window.hover_at(at);
    window.run();
    window.get_by_label("rows with 1 write");
    window.get_by_label_contains(&format!("{} of 409 (", ones.len()));
    click(&mut window, at);
    window.get_by_label(&format!("{} rows with 1 write:", ones.len()));
    window.get_by_label(&ones[2].to_string()).click();
    window.run();
    let chosen = Command::View(ViewCommand::Choose(Subject::Centroid { lane: 0, row: ones[2] }));
    assert!(window.state().all.contains(&chosen));
    window.get_by_label("close").click();
    window.run();
    assert!(window.query_by_label_contains("rows with 1 write:").is_none());
}

#[test]
fn counts_say_which_codes_stand_for_no_write() {
    let mut shown = panel_of("counts", &CAPTURE);
    shown.lanes = vec![1];
    shown.writes = 64;
    let mut window = harness(shown, USUAL, false);
    let used = counts(&CAPTURE, 1, 64).iter().filter(|&&c| c > 0).count();
    window.get_by_label(&format!("{} rows without a write", 256 - used));
    window.get_by_label_contains(&format!("{used} rows hold 64 writes"));
    window.state_mut().writes = 0;
    window.run();
    window.get_by_label("No chunk has been read yet: the dictionary is empty.");
}

/// The assignments, sorted, with the exact states of that step.
fn sorted<'a>(run: &'a Run, lanes: &[usize], writes: usize, by: &str, size: Vec2, dark: bool) -> Window<'a> {
    let mut shown = with_states("assignments", run, &[writes]);
    shown.lanes = lanes.to_vec();
    shown.writes = writes;
    let mut window = harness(shown, size, dark);
    choose(&mut window, "Order of rows", by);
    window
}

#[test]
fn assignments_in_pictures() {
    let mut results = SnapshotResults::new();
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        for by in ["by count", "by last use", "by similarity"] {
            let mut window = sorted(&CAPTURE, &[0], 1600, by, USUAL, dark);
            window.state_mut().selection.choose_group(&[699, 703, 705, 710, 1400, 1500]);
            window.run();
            results.add(window.try_snapshot(format!("assignments_{}_{theme}", by.replace(' ', "_"))));
        }
        let mut window = sorted(&RECALL, &[1], 3072, "by similarity", USUAL, dark);
        results.add(window.try_snapshot(format!("assignments_recall_{theme}")));
        let mut window = sorted(&RECALL, &[2], 3072, "by count", USUAL, dark);
        window.state_mut().selection.choose(Subject::Centroid { lane: 0, row: 17 });
        window.run();
        results.add(window.try_snapshot(format!("assignments_codes_{theme}")));
    }
    results.add(sorted(&LONG, &[0], 50_048, "by last use", USUAL, true).try_snapshot("assignments_long"));
    results.add(sorted(&CAPTURE, &[0], 1600, "by count", vec2(300.0, 150.0), true).try_snapshot("assignments_low"));
}

#[test]
fn rows_are_sorted_as_of_a_step_that_is_said() {
    let mut window = sorted(&CAPTURE, &[0], 1600, "by count", USUAL, false);
    window.get_by_label("as of step 24");
    let counts = counts(&CAPTURE, 0, 1600);
    // The centroids that there are at the playhead, not those of the whole run, for which the axis has room.
    let there = counts.len();
    assert!(there < self::counts(&CAPTURE, 0, 2048).len());
    place(&window, &format!("Assignments of 1600 tokens to {there} centroids by count"));
    let fullest = (0..counts.len()).min_by_key(|&r| (std::cmp::Reverse(counts[r]), r)).unwrap();
    // The lowest row of the margin is the fullest.
    let rect = place(&window, "centroids by count, founders ringed, at write 1600");
    let at = rect.left_bottom() + vec2(-8.0, -0.3);
    window.hover_at(at);
    window.run();
    window.get_by_label(&format!("row {fullest}"));
    window.get_by_label(&format!("{} tokens", counts[fullest]));
    assert!(window.state().commands.contains(&Command::View(ViewCommand::HoverRow { lane: 0, row: fullest })));
    click(&mut window, at);
    assert!(window.state().all.contains(&Command::View(ViewCommand::Choose(Subject::Centroid { lane: 0, row: fullest }))));
    // The playhead moves on without an exact state: an order by count needs none.
    window.state_mut().writes = 2048;
    window.run_steps(4);
    window.get_by_label("as of step 31");
}

#[test]
fn an_order_by_similarity_says_whose_step_it_is_of_until_the_state_is_there() {
    let mut window = sorted(&CAPTURE, &[0], 1600, "by similarity", USUAL, false);
    window.get_by_label("as of step 24");
    window.state_mut().writes = 1984;
    window.run_steps(4);
    window.get_by_label("as of step 24, not yet of step 30");
    // Before the first state there is none to sort by.
    window.state_mut().states = States::default();
    window.state_mut().writes = 640;
    choose(&mut window, "Order of rows", "by birth");
    choose(&mut window, "Order of rows", "by similarity");
    window.get_by_label("by birth until the centroids of step 9 are here");
    // A codebook needs no state.
    let mut codes = panel_of("assignments", &CAPTURE);
    codes.lanes = vec![1];
    codes.writes = 640;
    let mut window = harness(codes, USUAL, false);
    choose(&mut window, "Order of rows", "by similarity");
    window.get_by_label("as of step 9");
}

#[test]
fn a_lasso_selects_the_tokens_inside_it() {
    let mut window = harness(panel_of("assignments", &CAPTURE), USUAL, false);
    let rect = place(&window, "Assignments of 2048 tokens");
    let at = |token: f32, row: f32| pos2(rect.left() + rect.width() * token / 2048.0, rect.bottom() - rect.height() * row / 409.0);
    let corners = [at(300.0, 20.0), at(1500.0, 20.0), at(1500.0, 300.0), at(300.0, 300.0), at(300.0, 30.0)];
    window.hover_at(corners[0]);
    window.step();
    press(&mut window, corners[0], true);
    for pair in corners.windows(2) {
        for i in 1..=8 {
            window.hover_at(pair[0] + (pair[1] - pair[0]) * (i as f32 / 8.0));
            window.step();
        }
    }
    press(&mut window, corners[4], false);
    window.run();
    let group = window.state().selection.group.clone();
    let rows = CAPTURE.traces[0].channel("assignments").unwrap().wholes(0);
    let inside = |w: usize, margin: f32| {
        let (x, y) = (w as f32 + 0.5, rows[w] as f32 + 0.5);
        x > 300.0 + margin && x < 1500.0 - margin && y > 20.0 + margin / 2.0 && y < 300.0 - margin / 2.0
    };
    // Rows 189 to 300 alone were founded within it.
    assert!(group.len() > 100, "{}", group.len());
    assert!(group.iter().all(|&w| inside(w, -10.0)));
    assert!((0..2048).filter(|&w| inside(w, 10.0)).all(|w| group.contains(&w)));
}

#[test]
#[ignore = "prints times; for a person, in a release build"]
fn times_of_the_dictionary_panels() {
    let median = |window: &mut Window<'_>, frames: usize, each: &dyn Fn(&mut Shown<'_>, usize)| {
        let mut all: Vec<f64> = (0..frames)
            .map(|frame| {
                each(window.state_mut(), frame);
                window.step();
                window.state().spent.as_secs_f64() * 1e3
            })
            .collect();
        all.sort_by(f64::total_cmp);
        (all[frames / 2], all[frames - 1])
    };
    let moments: Vec<usize> = (0..64).map(|i| 20_096 + 128 * i).collect();
    let cases = [
        ("assignments", "by birth"),
        ("assignments", "by count"),
        ("assignments", "by last use"),
        ("assignments", "by similarity"),
        ("counts", "histogram"),
        ("health", "all"),
    ];
    for (name, to) in cases {
        let mut shown = if name == "health" { studied(&LONG) } else { with_states(name, &LONG, &moments) };
        shown.selection.token = Some(30_004);
        let mut window = harness(shown, vec2(620.0, 560.0), true);
        match name {
            "assignments" => choose(&mut window, "Order of rows", to),
            "counts" => window.get_by_label(to).click(),
            _ => {}
        }
        window.run();
        let rest = median(&mut window, 60, &|_, _| {});
        let playing = median(&mut window, 60, &|shown, frame| shown.writes = 20_096 + 128 * frame);
        println!("{name:12} {to:14} at rest {:.3} (most {:.3}) ms, playing {:.3} (most {:.3}) ms", rest.0, rest.1, playing.0, playing.1);
    }
}
