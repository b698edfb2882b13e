//! Events, two moments, the timeline's second cursor and the search over tokens: how they look, and what they do in the window.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;
#[path = "common/window.rs"]
mod window;

use std::sync::LazyLock;
use std::time::Duration;

use eframe::egui::{self, Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::App;
use mnemoscope::app::command::{Command, TimeCommand, ViewCommand, WindowCommand};
use mnemoscope::app::study::StudyCommand;
use mnemoscope::app::study::events::{Ask, Filter};
use mnemoscope::metric::events::{EventKind, HeadsShown};
use mnemoscope::panel::{Pin, Subject};
use mnemoscope::param::Params;
use mnemoscope::session::{LaneSpec, Session, Source, TaskSource};
use panel::{Given, Run, Shown, bundled, harness, task, wait, wake};

/// The moment that is pinned, and the one at the playhead.
const A: usize = 768;
const B: usize = 1536;
/// The end of the streams, where the reads of in-context recall are.
const END: usize = 2048;

fn lanes() -> Vec<LaneSpec> {
    let lola = |cache: i64| Params::default().with("window", 64).with("chunk", 64).with("cache", cache);
    vec![
        LaneSpec::new("LoLA", "lola", lola(128)),
        LaneSpec::new("LoLA 64", "lola", lola(64)),
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 256).with("chunk", 64)),
        LaneSpec::new("linear", "linear", Params::default()),
    ]
}

static CAPTURE: LazyLock<Run> = LazyLock::new(|| Run::new(bundled(), lanes()).with_states(&[A, B, END]));
static RECALL: LazyLock<Run> =
    LazyLock::new(|| Run::new(task("in_context_recall", Params::default().with("T", 2048)), lanes()).with_states(&[A, B, END]));

/// Lists the events with another filter, as the window would.
fn list(given: &mut Given<'_>, filter: Filter) {
    let study = std::mem::take(&mut given.studies.events);
    given.studies.events = study.with_filter(filter);
    given.studies.events.start(&given.run.plan, &given.run.traces, HeadsShown::default(), &wake());
    wait(&mut given.studies, |s| s.events.running());
}

/// A panel at the later moment with the earlier one pinned, its filter and its pin carried out.
fn panel_of<'a>(name: &str, run: &'a Run) -> Shown<'a> {
    let mut shown = Shown::new(name, run).answered(|shown, _| {
        let Shown { given, commands, .. } = shown;
        for command in commands.iter() {
            match command {
                Command::Study(StudyCommand::Events(Ask::Filter(filter))) => list(given, filter.clone()),
                Command::Study(StudyCommand::Events(Ask::At(hit))) => given.studies.events.go(*hit),
                Command::View(ViewCommand::Pin(pin)) => given.selection.pin = *pin,
                _ => {}
            }
        }
    });
    (shown.writes, shown.selection.pin) = (B, Some(Pin::Moment(A)));
    list(&mut shown, Filter::default());
    shown
}

/// What a screen reader says of a node.
fn text(node: &egui_kittest::Node<'_>) -> String {
    let node = node.accesskit_node();
    node.label().or_else(|| node.value()).unwrap_or_default()
}

#[test]
fn events_and_moments_in_pictures() {
    let mut results = SnapshotResults::new();
    for (dark, theme) in [(false, "light"), (true, "dark")] {
        for (name, run) in [("capture", &*CAPTURE), ("recall", &*RECALL)] {
            results.add(harness(panel_of("events", run), vec2(620.0, 420.0), dark).try_snapshot(format!("find_events_{name}_{theme}")));
            let mut moments = panel_of("moments", run);
            moments.writes = if name == "recall" { END } else { B };
            results.add(harness(moments, vec2(620.0, 620.0), dark).try_snapshot(format!("find_moments_{name}_{theme}")));
        }
        let mut lanes = panel_of("moments", &RECALL);
        lanes.selection.pin = Some(Pin::Lane(0));
        lanes.writes = END;
        results.add(harness(lanes, vec2(620.0, 620.0), dark).try_snapshot(format!("find_moments_lanes_{theme}")));
    }
    results.add(harness(panel_of("events", &CAPTURE), vec2(300.0, 150.0), true).try_snapshot("find_events_low"));
    results.add(harness(panel_of("growth", &CAPTURE), vec2(560.0, 330.0), true).try_snapshot("find_growth_pinned"));
}

#[test]
fn chips_leave_kinds_out_and_a_click_on_an_event_selects_it() {
    let mut harness = harness(panel_of("events", &CAPTURE), vec2(620.0, 420.0), true);
    let label = |h: &Harness<'_, Shown<'_>>| text(&h.query_all_by_label_contains("Event after write").next().unwrap());
    for title in EventKind::ALL.map(EventKind::title) {
        if title != "evictions" && harness.query_by_label(&format!("Events: {title}")).is_some() {
            harness.get_by_label(&format!("Events: {title}")).click();
            harness.run();
        }
    }
    let filter = harness.state().studies.events.filter().clone();
    assert!(filter.wants(EventKind::Eviction) && !filter.wants(EventKind::Admission));
    let first = label(&harness);
    assert!(first.contains("was folded from the cache into the state"), "{first}");
    harness.state_mut().all.clear();
    harness.query_all_by_label_contains("Event after write").next().unwrap().click();
    harness.run();
    let chosen = harness.state().all.iter().find_map(|c| match c {
        Command::View(ViewCommand::Choose(subject)) => Some(*subject),
        _ => None,
    });
    let Some(Subject::Slot { lane: 0 | 1, write }) = chosen else { panic!("{chosen:?}") };
    assert!(first.contains(&format!("token {write} ")), "{first} is about {write}");
    assert!(!harness.state().all.iter().any(|c| matches!(c, Command::Time(_))), "a single click moves nothing");
    harness.query_all_by_label_contains("Event after write").next().unwrap().focus();
    harness.run();
    harness.key_press(Key::Enter);
    harness.run();
    assert!(harness.state().all.iter().any(|c| matches!(c, Command::Time(TimeCommand::Seek(_)))), "Enter runs to it");
    harness.get_by_label("Export CSV…").click();
    harness.run();
    assert!(harness.state().all.contains(&Command::Window(WindowCommand::ExportEvents)));
}

/// The cells of a window from low to high: chips and strip give way in an order, and what is drawn is whole.
#[test]
fn a_low_cell_has_rows_and_a_strip_before_it_has_chips() {
    let mut seen = Vec::new();
    for height in [100.0, 170.0, 420.0] {
        let harness = harness(panel_of("events", &CAPTURE), vec2(300.0, height), true);
        let there = |part: &str| harness.query_all_by_label_contains(part).next().is_some();
        seen.push((there("Events over the stream: "), there("Events: founders")));
        assert_eq!(there("Filter"), !there("Events: founders"), "a button stands for the chips at {height}");
        if height > 400.0 {
            // A colour stands to the left of its lane's chip, on the same line.
            for lane in ["LoLA", "LoLA 64", "OVQ", "linear"] {
                let chip = harness.get_by_label(&format!("Events of {lane}")).rect();
                assert!(chip.left() >= 8.0 + 10.0 + 3.0, "{lane}: {chip} begins where only its colour may");
            }
        }
    }
    assert_eq!(seen, [(false, false), (true, false), (true, true)]);
}

#[test]
fn the_panel_pins_and_lets_go() {
    let mut shown = panel_of("moments", &RECALL);
    shown.selection.pin = None;
    let mut harness = harness(shown, vec2(620.0, 500.0), true);
    harness.get_by_label_contains("Nothing is pinned.");
    harness.get_by_label("Pin this moment").click();
    harness.run();
    assert_eq!(harness.state().selection.pin, Some(Pin::Moment(B)));
    harness.get_by_label("Let go").click();
    harness.run();
    assert_eq!(harness.state().selection.pin, None);
}

/// A short stream that runs at once, in steps of 32 writes.
fn small() -> Session {
    let params = Params::default().with("T", 1024).with("needles", 16);
    let lanes = vec![
        LaneSpec::new("LoLA", "lola", Params::default().with("window", 32).with("cache", 16).with("chunk", 32)),
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 64).with("chunk", 64)),
    ];
    Session { source: Source::Task(TaskSource { name: "needles".to_owned(), params }), lanes, ..window::session() }
}

fn writes(harness: &Harness<'_, App>) -> usize {
    harness.state().timeline().writes()
}

#[test]
fn a_pin_is_set_by_key_dragged_and_read_out() {
    let mut harness = window::window(small());
    harness.state_mut().ask(Command::Time(TimeCommand::Seek(256)));
    harness.run_steps(3);
    window::chord(&mut harness, Modifiers::NONE, Key::P);
    assert_eq!(harness.state().selection().pin, Some(Pin::Moment(256)));
    harness.state_mut().ask(Command::Time(TimeCommand::Seek(512)));
    harness.run_steps(3);
    // N(512) - N(256) with N = 64: 56 - 51.
    let line = text(&harness.get_by_label_contains("Between A and the playhead: 256 writes, 8 steps"));
    assert!(line.contains("OVQ: 5 founders"), "{line}");
    harness.get_by_label("Pinned moment A").set_value_accesskit(300.0);
    harness.run_steps(3);
    assert_eq!(harness.state().selection().pin, Some(Pin::Moment(288)), "the nearest step");
    let (from, ruler) = (harness.get_by_label("Pinned moment A").rect().center(), harness.get_by_label("Playhead").rect());
    let to = egui::pos2(ruler.left() + ruler.width() * 0.75, from.y);
    harness.hover_at(from);
    harness.run_steps(2);
    harness.drag_at(from);
    harness.run_steps(2);
    harness.hover_at(to);
    harness.run_steps(2);
    harness.drop_at(to);
    harness.run_steps(2);
    assert_eq!(harness.state().selection().pin, Some(Pin::Moment(768)));
    assert_eq!(writes(&harness), 512, "the playhead stays");
    harness.get_by_label_contains("Between the playhead and A: 256 writes");
    window::chord(&mut harness, Modifiers::NONE, Key::P);
    assert_eq!(harness.state().selection().pin, None);
}

#[test]
fn n_runs_through_the_events_of_the_filter_and_shift_n_comes_back() {
    let mut harness = window::window(small());
    let only = |kind: EventKind| {
        let mut filter = Filter { kinds: [false; 8], ..Filter::default() };
        filter.kinds[kind as usize] = true;
        Command::Study(StudyCommand::Events(Ask::Filter(filter)))
    };
    harness.state_mut().ask(only(EventKind::Admission));
    harness.state_mut().ask(Command::Time(TimeCommand::Home));
    harness.run_steps(3);
    // The first admissions, by hand: the first lane's, in its order.
    let run = harness.state().runs().current().unwrap();
    let admitted = run.traces[0].channel("admitted").unwrap();
    let all: Vec<(usize, usize)> = (0..admitted.len())
        .flat_map(|s| admitted.wholes_at(0, s).iter().map(move |w| ((s + 1) * 32, *w as usize)).collect::<Vec<_>>())
        .collect();
    assert!(all.len() > 16);
    let here = |h: &Harness<'_, App>| (writes(h), h.state().selection().token.unwrap());
    for expected in &all[..3] {
        window::chord(&mut harness, Modifiers::NONE, Key::N);
        assert_eq!(here(&harness), *expected);
    }
    window::chord(&mut harness, Modifiers::SHIFT, Key::N);
    assert_eq!(here(&harness), all[1]);
    window::chord(&mut harness, Modifiers::SHIFT, Key::N);
    window::chord(&mut harness, Modifiers::SHIFT, Key::N);
    assert_eq!(here(&harness), all[0], "there is none before the first");
    assert!(window::says(&harness, "No event of the filter before write"));
    // With the panel open the same list is gone through.
    harness.state_mut().ask(Command::Window(WindowCommand::ShowPanel("events")));
    for _ in 0..200 {
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(window::says(&harness, "Event after write"), "the list has come");
    window::chord(&mut harness, Modifiers::NONE, Key::N);
    assert_eq!(here(&harness), all[1]);
}

#[test]
fn the_search_finds_text_across_tokens_and_selects_it() {
    let mut harness = window::window(window::session());
    let ctrl = Modifiers { command: true, ctrl: true, ..Modifiers::NONE };
    window::chord(&mut harness, ctrl, Key::F);
    let tokens = harness.state().runs().current().unwrap().plan.stream.labels().tokens.clone().unwrap();
    // A text that begins in one token and ends in the next, and is there only where the two are.
    let (first, second) = (tokens[700].clone(), tokens[701].clone());
    let wanted = format!("{first}{second}");
    harness.get_by_label("Search the tokens").type_text(&wanted);
    harness.run_steps(3);
    let whole: String = tokens.concat().to_lowercase();
    let n = whole.matches(&wanted.to_lowercase()).count();
    assert!(n >= 1);
    assert!(window::says(&harness, &if n == 1 { "1 match".to_owned() } else { format!("{n} matches") }), "{n} of {wanted:?}");
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    let selection = harness.state().selection().clone();
    let found: String = selection.tokens().iter().map(|t| tokens[*t].as_str()).collect();
    assert_eq!(found.to_lowercase(), wanted.to_lowercase());
    window::click(&mut harness, "Select all");
    assert!(harness.state().selection().tokens().len() >= 2 * n, "every match");
    assert!(harness.state().selection().holds(700) && harness.state().selection().holds(701));
    window::click(&mut harness, "Close");
    assert!(harness.query_by_label("Search the tokens").is_none());
}
