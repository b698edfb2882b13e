//! The recall and the reads panel on a task with known answers: what they say, what they ask for, and how they look.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::sync::{Arc, LazyLock};

use eframe::egui::{self, Key, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::study::StudyCommand;
use mnemoscope::app::study::effective::Ask;
use mnemoscope::panel::Pin;
use mnemoscope::param::Params;
use mnemoscope::session::hand::{Act, Hand};
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{BackendChoice, LaneSpec, Session};
use mnemoscope::trace::{TraceBlock, Values};
use panel::{Run, Shown, harness, task, wait, wake};

fn lanes() -> Vec<LaneSpec> {
    let lola = |cache: i64| {
        let sizes = Params::default().with("window", 128).with("chunk", 64).with("cache", cache);
        sizes.with("fmap", "hedgehog").with("sharpness", 20.0)
    };
    vec![
        LaneSpec::new("full", "full", Params::default()),
        LaneSpec::new("OVQ 256", "ovq", Params::default().with("n_max", 256).with("chunk", 128)),
        LaneSpec::new("LoLA", "lola", lola(64)),
        LaneSpec::new("LoLCATs", "lola", lola(0)),
        LaneSpec::new("linear", "linear", Params::default().with("fmap", "elu1")),
    ]
}

static NEEDLES: LazyLock<Run> = LazyLock::new(|| Run::new(task("needles", Params::default().with("T", 2048).with("needles", 16)), lanes()));
static DRIFT: LazyLock<Run> = LazyLock::new(|| Run::new(task("drift", Params::default().with("T", 2048)), lanes()));

/// Reads enough for four bins of accuracies.
static MANY: LazyLock<Run> = LazyLock::new(|| {
    let lanes = lanes().into_iter().filter(|l| ["full", "linear"].contains(&l.name.as_str())).collect();
    Run::new(task("needles", Params::default().with("T", 2048).with("needles", 64)), lanes)
});

/// As many lanes as there are colours, of few reads.
static EIGHT: LazyLock<Run> = LazyLock::new(|| {
    let lane = |i: usize| LaneSpec::new(&format!("linear {i}"), "linear", Params::default().with("fmap", "elu1"));
    Run::new(task("needles", Params::default().with("T", 1024).with("needles", 8)), (0..8).map(lane).collect())
});

/// A panel whose choice of reads is carried out.
fn panel_of<'a>(name: &str, run: &'a Run) -> Shown<'a> {
    Shown::new(name, run).answered(|shown, _| {
        let Shown { given, commands, .. } = shown;
        for command in commands.iter() {
            if let Command::View(ViewCommand::SelectRead(read)) = command {
                given.selection.read = *read;
            }
        }
    })
}

/// The reads with one selected, and the weights behind it.
fn weighed(run: &Run, read: usize) -> Shown<'_> {
    let mut shown = panel_of("reads", run);
    shown.selection.read = Some(read);
    shown.studies.effective.start(&run.plan, &run.traces, read, 0, &wake());
    wait(&mut shown.studies, |s| s.effective.running());
    shown
}

fn choose(harness: &mut Harness<'_, Shown<'_>>, combo: &str, option: &str) {
    harness.get_by_label(combo).click();
    harness.run();
    harness.get_by_label(option).click();
    harness.run();
}

/// What a screen reader says of a node.
fn text(node: &egui_kittest::Node<'_>) -> String {
    let node = node.accesskit_node();
    node.label().or_else(|| node.value()).unwrap_or_default()
}

#[test]
fn recall_and_reads_in_pictures() {
    let mut results = SnapshotResults::new();
    let mut shown = harness(panel_of("recall", &DRIFT), vec2(300.0, 290.0), true);
    choose(&mut shown, "Recall view", "by role");
    results.add(shown.try_snapshot("panel_recall_by_role"));
    let mut shown = harness(panel_of("recall", &NEEDLES), vec2(760.0, 420.0), false);
    choose(&mut shown, "Recall view", "by age");
    results.add(shown.try_snapshot("panel_recall_by_age"));
    results.add(harness(panel_of("recall", &MANY), vec2(420.0, 260.0), true).try_snapshot("panel_recall_steps"));
    results.add(harness(weighed(&NEEDLES, 5), vec2(900.0, 560.0), true).try_snapshot("panel_reads_wide"));
    results.add(harness(panel_of("reads", &EIGHT), vec2(420.0, 260.0), false).try_snapshot("panel_reads_close"));
    results.add(harness(weighed(&NEEDLES, 5), vec2(560.0, 500.0), false).try_snapshot("panel_reads_read"));
}

/// Needles of which a branch of LoLA loses all that its cache holds, just before they are asked for.
static BRANCH: LazyLock<Run> = LazyLock::new(|| {
    let source = task("needles", Params::default().with("T", 2048).with("needles", 16));
    let needles = NEEDLES.plan.stream.labels().answer_at.clone().unwrap();
    let mut all = lanes();
    // 32 chunks of 64 writes: the reads come after the last of them.
    let hands = needles.iter().map(|&write| Hand { step: 31, kv_head: 0, what: Act::Evict { write: write as usize } }).collect();
    all.insert(3, LaneSpec { name: "LoLA · 16 by hand".to_owned(), hands, ..all[2].clone() });
    Run::new(source, all)
});

/// For each read, whether a lane answered it rightly.
fn right(lane: usize) -> Vec<bool> {
    BRANCH.traces[lane].channel("correct").unwrap().wholes(0).iter().map(|c| *c == 1).collect()
}

#[test]
fn a_branch_is_shown_beside_the_lane_that_it_is_of() {
    let (base, own) = (right(2), right(3));
    let count = |of: &[bool]| of.iter().filter(|r| **r).count();
    let lost: Vec<usize> = (0..16).filter(|&r| base[r] && !own[r]).collect();
    assert!(count(&base) >= 12 && lost.len() >= 8, "the cache held the needles (TASKS.md): {base:?}, {own:?}");
    let mut harness = harness(panel_of("recall", &BRANCH), vec2(308.0, 300.0), true);
    let difference = (count(&own) as f64 - count(&base) as f64) / 16.0;
    let row = harness.get_by_label_contains("LoLA · 16 by hand, ");
    let said = text(&row);
    assert!(said.contains(&format!(", {difference:+.2}")) && said.ends_with("(changed by hand, against LoLA)"), "{said}");
    let at = row.rect().center();
    // Nothing else is a branch of anything.
    assert_eq!(harness.query_all_by_label_contains("(changed by hand, against").count(), 1);
    harness.hover_at(at);
    harness.run();
    let (a, b) = (count(&own), count(&base));
    harness.get_by_label(&format!("{difference:+.4}: {a} of 16 right, {b} of 16 there, {:+} right", a as i64 - b as i64));
    let some: Vec<String> = lost.iter().take(6).map(ToString::to_string).collect();
    harness.get_by_label_contains(&format!("{} reads: {}", lost.len(), some.join(", ")));
    harness.get_by_label_contains("LoLA: the same layer, parameters and weights, without: evict token");
    let mut results = SnapshotResults::new();
    harness.remove_cursor();
    harness.run();
    results.add(harness.try_snapshot("panel_recall_branch"));
    drop(harness);
    let mut wide = self::harness(panel_of("recall", &BRANCH), vec2(760.0, 340.0), false);
    results.add(wide.try_snapshot("panel_recall_branch_wide"));
}

/// Two lanes that have answered differently many reads at most moments, since their chunks are of 32 and of 128 writes. Their answers are made
/// up: the coarse lane is right in every read; the fine one in those that come within 128 writes, and wrong in all later ones.
static UNEVEN: LazyLock<Run> = LazyLock::new(|| {
    let source = task("multi_query", Params::default().with("T", 500).with("pairs", 40));
    let lane = |name: &str, chunk: i64| LaneSpec::new(name, "ovq", Params::default().with("chunk", chunk).with("n_max", 100));
    let lanes = vec![lane("fine", 32), lane("coarse", 128)];
    let plan = Plan::new(&Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() }, None).unwrap();
    let after: Vec<u32> = plan.stream.after().to_vec();
    let traces = [128, u32::MAX].into_iter().zip(&plan.lanes).map(|(last, lane)| {
        let mut trace = lane.trace();
        let mut block = TraceBlock::default();
        let correct = after.iter().map(|&a| i32::from(a <= last)).collect();
        let place = lane.channels.iter().position(|c| c.name == "correct").unwrap();
        block.push(place, 0..after.len(), Values::I32(correct));
        trace.append(&block).unwrap();
        trace
    });
    let traces = traces.collect();
    Run::of(Arc::new(plan), traces)
});

/// Reads of [`UNEVEN`] that come within so many writes.
fn within(writes: u32) -> usize {
    UNEVEN.plan.stream.after().iter().filter(|&&a| a <= writes).count()
}

#[test]
fn lanes_are_compared_over_the_reads_that_all_of_them_have_answered() {
    // After 224 writes the coarse lane has answered what comes within 128, the fine one what comes within 224.
    let (common, fine, all) = (within(128), within(224), UNEVEN.plan.stream.reads());
    assert!(0 < common && common < fine && fine < all, "{common}, {fine}, {all}");
    let mut shown = panel_of("recall", &UNEVEN);
    shown.writes = 224;
    let mut harness = harness(shown, vec2(420.0, 300.0), true);
    harness.get_by_label(&format!("{common} of {all} reads answered by every lane"));
    // Of the reads in common both answer every one: that is a tie. Of all that it has answered the fine one has lost some.
    let row = harness.get_by_label_contains("fine, 1.00 (");
    let (at, said) = (row.rect().center(), text(&row));
    let coarse = text(&harness.get_by_label_contains("coarse, 1.00 ("));
    let score = |said: &str| said.split(", ").nth(1).unwrap().to_owned();
    let score_of_both = score(&said);
    assert_eq!(score(&coarse), score_of_both, "with the same interval, for it is of as many reads");
    harness.get_by_label_contains(&format!("Over the {common} reads answered by every lane: fine {score_of_both}; coarse {score_of_both}"));
    harness.hover_at(at);
    harness.run();
    harness.get_by_label("of all that it has answered");
    harness.get_by_label_contains(&format!(", {common} of {common} reads"));
    harness.get_by_label_contains(&format!(", {common} of {fine} reads"));
    harness.remove_cursor();
    // In the bins of the other views the reads are the same too. Every read is a question.
    choose(&mut harness, "Recall view", "by role");
    let of_lane = |name: &str| format!("{name} {score_of_both}, {common} of {common} reads");
    harness.get_by_label_contains(&format!("in 1 bin, question. {}; {}", of_lane("fine"), of_lane("coarse")));
    // Before the end of the coarse lane's first chunk there is nothing to compare, though the fine one has answered some.
    assert!(within(64) > 0);
    harness.state_mut().writes = 64;
    harness.run();
    harness.get_by_label(&format!("0 of {all} reads answered by every lane"));
    harness.get_by_label("No read has been answered by every lane yet.");
    // Where both are at the end of a chunk nothing has to be said.
    harness.state_mut().writes = 256;
    harness.run();
    harness.get_by_label(&format!("{} of {all} reads", within(256)));
}

#[test]
fn two_moments_compare_lanes_over_the_same_reads() {
    let mut shown = panel_of("moments", &UNEVEN);
    (shown.writes, shown.selection.pin) = (224, Some(Pin::Moment(128)));
    let mut harness = harness(shown, vec2(620.0, 500.0), true);
    harness.get_by_label(&format!("Of the reads that every lane has answered: {0} up to A, {0} up to B.", within(128)));
    harness.state_mut().selection.pin = Some(Pin::Lane(0));
    harness.run();
    harness.get_by_label(&format!("Of the {} reads that both lanes have answered.", within(128)));
    harness.get_by_label("accuracy so far");
    harness.state_mut().writes = 256;
    harness.run();
    harness.get_by_label("accuracy so far");
    assert_eq!(harness.query_all_by_label_contains(" that both lanes have answered").count(), 0);
}

#[test]
fn a_filter_of_reads_says_how_many_its_lane_has_answered() {
    let mut shown = panel_of("reads", &UNEVEN);
    shown.writes = 224;
    let mut harness = harness(shown, vec2(560.0, 400.0), false);
    choose(&mut harness, "Answered", "right in coarse");
    let (own, asked) = (within(128), within(224));
    harness.get_by_label_contains(&format!("{own} of {asked} reads up to the playhead, of which coarse has answered {own}"));
    choose(&mut harness, "Answered", "right in fine");
    assert_eq!(harness.query_all_by_label_contains("of which fine has answered").count(), 0, "it has answered all of them");
}

#[test]
fn few_reads_have_a_cell_each_and_a_click_selects_one() {
    let mut harness = harness(panel_of("recall", &NEEDLES), vec2(420.0, 300.0), false);
    let node = harness.get_by_label_contains("Recall, each of 16 reads, right or wrong. ");
    let (said, rect) = (text(&node), node.rect());
    let correct = NEEDLES.traces[3].channel("correct").unwrap().wholes(0);
    let wrong: Vec<String> = (0..16).filter(|&r| correct[r] == 0).map(|r| r.to_string()).collect();
    assert!(said.contains("full 1.00 (0.81 to 1.00), none wrong; "), "full attention answers all (TASKS.md): {said}");
    assert!(wrong.len() > 8 && said.contains(&format!(", wrong: {}; ", wrong.join(", "))), "LoLCATs loses most: {said}");
    // The fourth of sixteen reads, in the first of five rows.
    let at = rect.min + vec2(3.5 / 16.0 * rect.width(), 0.5 / 5.0 * rect.height());
    harness.hover_at(at);
    harness.run();
    harness.get_by_label("expected");
    harness.get_by_label_contains("right: code ");
    for pressed in [true, false] {
        let modifiers = egui::Modifiers::NONE;
        harness.event(egui::Event::PointerButton { pos: at, button: egui::PointerButton::Primary, pressed, modifiers });
        harness.step();
    }
    assert_eq!(harness.state().selection.read, Some(3));
}

#[test]
fn accuracies_over_the_stream_are_steps_of_sixteen_reads() {
    let mut harness = harness(panel_of("recall", &MANY), vec2(420.0, 260.0), false);
    let rect = harness.get_by_label_contains("Recall, accuracy over the stream in steps of 16 reads each. full ").rect();
    // In the middle of the second of four bins.
    harness.hover_at(rect.min + vec2(3.0 / 8.0 * rect.width(), 0.5 * rect.height()));
    harness.run();
    harness.get_by_label("reads 16 to 31");
    for trace in MANY.traces.iter() {
        let right = trace.channel("correct").unwrap().wholes(0)[16..32].iter().filter(|c| **c == 1).count();
        assert!(harness.query_all_by_label_contains(&format!(", {right} of 16 reads")).count() > 0, "{right}");
    }
}

#[test]
fn a_long_table_leaves_the_view_its_height_or_the_panel_says_that_there_is_none() {
    let mut tall = harness(panel_of("recall", &EIGHT), vec2(420.0, 240.0), true);
    let cells = tall.get_by_label_contains("Recall, each of 8 reads, right or wrong. ").rect();
    // Of 90 points words and numbers take about 40.
    assert!(cells.height() >= 48.0 && cells.bottom() < 240.0, "{cells:?}");
    choose(&mut tall, "Recall view", "by role");
    // All reads are questions.
    let rows = tall.get_by_label_contains("Recall by role: accuracy, 95% interval of 8 lanes in 1 bin, question. linear 0 ").rect();
    assert!(rows.height() >= 48.0 && rows.bottom() < 240.0, "{rows:?}");
    drop(tall);
    let low = harness(panel_of("recall", &EIGHT), vec2(420.0, 140.0), true);
    low.get_by_label("No room for the plot over the stream: make the panel higher, or maximise it.");
    assert_eq!(low.query_all_by_label_contains("Recall, ").count(), 0);
}

#[test]
fn what_is_the_same_of_every_read_is_said_once() {
    let harness = harness(panel_of("reads", &EIGHT), vec2(420.0, 260.0), false);
    harness.get_by_label("8 reads up to the playhead, all after 1024 writes");
    // Every lane's head is there, in full for who hears it, beside the next one.
    let heads: Vec<_> = (0..8).map(|i| harness.get_by_label(&format!("linear {i}")).rect()).collect();
    assert!(heads.windows(2).all(|w| w[0].right() <= w[1].left() && w[0].width() > 24.0), "{heads:?}");
    assert!(heads[7].right() <= 420.0, "{heads:?}");
}

#[test]
fn a_click_on_a_head_sorts_the_table_and_the_buttons_copy_it() {
    let mut harness = harness(panel_of("recall", &NEEDLES), vec2(760.0, 420.0), true);
    let rows = |h: &Harness<'_, Shown<'_>>| {
        let mut rows: Vec<(f32, String)> =
            h.query_all_by_label_contains(", ").map(|n| (n.rect().top(), text(&n))).filter(|(_, l)| l.contains("%, ")).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows.into_iter().map(|(_, l)| l.split(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&harness), ["full", "OVQ 256", "LoLA", "LoLCATs", "linear"]);
    harness.get_by_label("Sort by numbers held").click();
    harness.run();
    // linear 64 x 65; LoLCATs (128 + 64) x 128 + 128 x 65; OVQ 256 x 129 + 128 x 128; LoLA 8192 more than LoLCATs; full 2048 x 128.
    assert_eq!(rows(&harness), ["linear", "LoLCATs", "LoLA", "OVQ 256", "full"]);
    harness.get_by_label("Copy the table").click();
    harness.run();
    harness.get_by_label("Copy as CSV").click();
    harness.step();
    let copied = harness.output().platform_output.commands.iter().find_map(|c| match c {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.unwrap();
    let lines: Vec<&str> = copied.lines().collect();
    assert_eq!((lines.len(), lines[1].starts_with("linear,linear,")), (6, true), "as it is sorted: {copied}");
    // Full attention answers all sixteen rightly (TASKS.md) and keeps 2048 x (64 + 64) numbers.
    assert!(lines[5].starts_with("full,full,1.0000,0.8064,1.0000,16,262144,1048576,1.0000,1,"), "{}", lines[5]);
}

#[test]
fn the_selected_read_is_asked_about_once_and_its_weights_are_held_against_the_output() {
    let mut shown = panel_of("reads", &NEEDLES);
    shown.selection.read = Some(3);
    let harness = harness(shown, vec2(900.0, 560.0), true);
    let ask = Command::Study(StudyCommand::Effective(Ask::Read { read: 3, query_head: 0 }));
    assert!(harness.state().all.contains(&ask));
    drop(harness);
    let harness = self::harness(weighed(&NEEDLES, 3), vec2(900.0, 560.0), true);
    assert!(!harness.state().all.contains(&ask), "it is known by now");
    assert!(harness.query_all_by_label_contains("reproduces the output to").count() >= 3);
    assert_eq!(harness.query_all_by_label_contains("does NOT reproduce").count(), 0);
    let at = NEEDLES.plan.stream.labels().answer_at.as_ref().unwrap()[3];
    let node = harness.get_by_label_contains("Weights of full over 2048 tokens for read 3");
    let label = text(&node);
    assert!(label.contains("the largest, ") && label.contains(&format!("token {at} ")), "full attention looks at the needle: {label}");
}

#[test]
fn a_click_selects_a_read_and_the_arrows_go_on_from_there() {
    let mut harness = harness(panel_of("reads", &NEEDLES), vec2(560.0, 400.0), false);
    harness.get_by_label_contains("Read 2 ").click();
    harness.run();
    assert_eq!(harness.state().selection.read, Some(2));
    for (key, expected) in [(Key::ArrowDown, 3), (Key::ArrowDown, 4), (Key::ArrowUp, 3)] {
        harness.state_mut().all.clear();
        harness.key_press(key);
        harness.run();
        assert_eq!(harness.state().selection.read, Some(expected), "{key:?}");
    }
    for _ in 0..4 {
        harness.key_press(Key::PageDown);
        harness.run();
    }
    assert_eq!(harness.state().selection.read, Some(15));
    harness.get_by_label_contains("Read 15 ");
}

#[test]
fn the_list_can_be_filtered_by_what_a_lane_answered() {
    let wrong = NEEDLES.traces[3].channel("correct").unwrap().wholes(0).iter().filter(|c| **c == 0).count();
    assert!(wrong > 8, "LoLCATs loses most needles (TASKS.md): {wrong}");
    let mut harness = harness(panel_of("reads", &NEEDLES), vec2(560.0, 400.0), false);
    choose(&mut harness, "Answered", "wrong in LoLCATs");
    harness.get_by_label_contains(&format!("{wrong} of 16 reads up to the playhead"));
    choose(&mut harness, "Answered", "wrong in full");
    harness.get_by_label("No read passes the filter.");
    harness.state_mut().writes = 0;
    harness.get_by_label("All").click();
    harness.run();
    harness.get_by_label_contains("No read has been answered yet");
}
