//! Every view of the panels of scores and of the cache, on the bundled capture, on in-context recall and on a long stream: pictures that
//! were looked at, and what a screen reader and the pointer get.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::sync::{Arc, LazyLock};

use eframe::egui::{self, Vec2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::study::StudyCommand;
use mnemoscope::app::study::novelty::Ask;
use mnemoscope::layer::kind;
use mnemoscope::panel::{Pin, Subject};
use mnemoscope::param::{Params, Resolved};
use mnemoscope::session::plan::{Plan, PlanLane};
use mnemoscope::session::{LaneSpec, Session, Source};
use mnemoscope::stream::{Labels, Roles, Stream, StreamParts, Targets};
use mnemoscope::trace::{LaneTrace, TraceBlock, Values};
use ndarray::Array3;
use panel::{Run, Shown, bundled, task, wait, wake};

/// Runs a session to its end, and finds the novelty of its keys.
fn run(source: Source, lanes: Vec<LaneSpec>) -> Run {
    let mut run = Run::new(source, lanes);
    run.studies.novelty.start(&run.plan, 0, &wake());
    wait(&mut run.studies, |s| s.novelty.busy());
    run
}

fn lola(name: &str, params: Params) -> LaneSpec {
    LaneSpec::new(name, "lola", params.with("window", 64).with("chunk", 64))
}

/// The bundled needle prompt.
static CAPTURE: LazyLock<Run> = LazyLock::new(|| {
    let lanes = vec![
        lola("LoLA", Params::default().with("cache", 128)),
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 512).with("chunk", 64)),
        LaneSpec::new("window", "window", Params::default().with("window", 256)),
        LaneSpec::new("full", "full", Params::default()),
        LaneSpec::new("linear", "linear", Params::default()),
    ];
    run(bundled(), lanes)
});

/// In-context recall, whose tokens have no texts.
static RECALL: LazyLock<Run> =
    LazyLock::new(|| run(task("in_context_recall", Params::default()), vec![lola("LoLA", Params::default().with("cache", 64))]));

/// Numbers that look like chance and are always the same.
fn noise(i: usize) -> usize {
    ((i as u32).wrapping_mul(2_654_435_761) >> 8) as usize
}

/// A `LoLA` lane on a stream of these keys and values.
fn planned(stream: Stream, params: &Params) -> Plan {
    let spec = lola("LoLA", params.clone());
    let kind = kind("lola").unwrap();
    let params = Resolved::new("LoLA", kind.params(), &spec.params).unwrap();
    let stream = Arc::new(stream);
    let setup = mnemoscope::layer::Setup { stream: Arc::clone(&stream), params, arrays: Arc::default(), chunk: 64, hands: Arc::default() };
    let channels = kind.channels(&setup);
    let lane =
        PlanLane { name: "LoLA".to_owned(), index: 0, colour: 0, kind, setup, own_channels: channels.len(), channels, notes: Vec::new() };
    let session = Session { source: bundled(), lanes: vec![spec], ..Session::default() };
    Plan { session, stream, lanes: vec![lane], step: 64 }
}

/// 65536 tokens over a `LoLA` lane whose trace is made up: its sizes are right.
static LONG: LazyLock<Run> = LazyLock::new(|| {
    const T: usize = 65_536;
    let roles = Roles {
        names: vec!["hay".to_owned(), "needle".to_owned()],
        of_write: (0..T).map(|i| u8::from((30_000..30_021).contains(&i))).collect(),
        of_read: vec![0],
        marked: Some(1),
    };
    let words = [" the", " quick", " brown", " fox", " jumps", " over", " a", " lazy", " dog", ".", " And", " then", ",", " memory"];
    let tokens = (0..T).map(|i| words[noise(i) % words.len()].to_owned()).collect();
    let rows = Array3::from_shape_fn((1, T, 4), |(_, i, j)| (noise(4 * i + j) % 1000) as f32 / 500.0 - 1.0);
    let stream = Stream::new(StreamParts {
        keys: rows.clone(),
        values: rows,
        queries: Array3::ones((1, 1, 4)),
        after: vec![T as u32],
        beta: 1.0,
        targets: Targets::None,
        labels: Labels { roles, tokens: Some(tokens), ..Labels::default() },
    })
    .unwrap();
    let plan = Arc::new(planned(stream, &Params::default().with("cache", 128)));
    let traces = vec![made_up(&plan, |i| 0.5 + (noise(i) % 4000) as f32 / 100.0)];
    Run::of(plan, traces)
});

/// Four tokens of a step come in, four that came in 32 steps before go.
fn made_up(plan: &Plan, score: impl Fn(usize) -> f32) -> LaneTrace {
    let steps = plan.stream.writes() / 64;
    let place = |name: &str| plan.lanes[0].channels.iter().position(|c| c.name == name).unwrap();
    let (mut ids, mut scores, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    let (mut events, mut counts) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut cached = Vec::new();
    for step in 0..steps {
        let leaving = step.saturating_sub(1) * 64..step * 64;
        let old: Vec<usize> = (leaving.start.saturating_sub(128 * 16)..leaving.start).step_by(16).collect();
        let before = ids.len();
        ids.extend(old.iter().copied().chain(leaving.clone()).map(|i| i as i32));
        scores.extend((before..ids.len()).map(&score));
        lengths.push((ids.len() - before) as u32);
        let entered: Vec<i32> = leaving.clone().step_by(16).map(|i| i as i32).collect();
        let left: Vec<i32> = entered.iter().map(|i| i - 128 * 16).filter(|i| *i >= 0).collect();
        cached.push(cached.last().copied().unwrap_or(0) + entered.len() as i32 - left.len() as i32);
        for (which, list) in [entered, left].into_iter().enumerate() {
            counts[which].push(list.len() as u32);
            events[which].extend(list);
        }
    }
    let mut trace = plan.lanes[0].trace();
    let mut block = TraceBlock::default();
    block.push_ragged(place("candidates"), 0..steps, Values::I32(ids), lengths.clone());
    block.push_ragged(place("candidate_scores"), 0..steps, Values::F32(scores), lengths);
    let ([entered, left], [entered_counts, left_counts]) = (events, counts);
    block.push_ragged(place("admitted"), 0..steps, Values::I32(entered), entered_counts);
    block.push_ragged(place("displaced"), 0..steps, Values::I32(left), left_counts);
    block.push(place("threshold"), 0..steps, Values::F32((0..steps).map(|s| 10.0 + (noise(s) % 100) as f32 / 100.0).collect()));
    block.push(place("cached_count"), 0..steps, Values::I32(cached));
    trace.append(&block).unwrap();
    trace
}

/// A panel on a run and what is known of its keys, after so many writes, with a token selected.
fn at<'a>(name: &str, run: &'a Run, writes: usize, token: Option<usize>) -> Shown<'a> {
    let mut shown = Shown::new(name, run).studied();
    shown.writes = writes;
    if let Some(token) = token {
        shown.selection.choose(Subject::Token(token));
    }
    shown
}

const SIZE: Vec2 = vec2(620.0, 340.0);

/// The panels and their views, by the names on their tabs.
const VIEWS: [(&str, &[&str]); 2] =
    [("sre", &["All", "Step", "Quantiles", "Token", "Key, value"]), ("residency", &["Map", "Events", "Occupancy", "Age", "Text"])];

fn harness<'a>(shown: Shown<'a>, view: &str, dark: bool) -> Harness<'a, Shown<'a>> {
    let mut harness = panel::harness(shown, SIZE, dark);
    harness.get_by_label(view).click();
    harness.run();
    // The pointer goes away: what it is over would be in the picture.
    harness.event(egui::Event::PointerGone);
    harness.run();
    harness
}

fn file(panel: &str, view: &str, what: &str) -> String {
    let (panel, view) = (if panel == "sre" { "scores" } else { "cache" }, view.to_lowercase().replace(", ", "_"));
    format!("{panel}_{view}_{what}")
}

/// The first write of the needle.
fn needle(run: &Run) -> Option<usize> {
    let roles = &run.plan.stream.labels().roles;
    roles.of_write.iter().position(|r| Some(*r) == roles.marked)
}

#[test]
fn every_view_on_the_bundled_capture_in_both_themes() {
    let mut results = SnapshotResults::new();
    for (name, views) in VIEWS {
        for view in views {
            for (dark, theme) in [(false, "light"), (true, "dark")] {
                let shown = at(name, &CAPTURE, 1600, needle(&CAPTURE).map(|n| n + 4));
                results.add(harness(shown, view, dark).try_snapshot(file(name, view, theme)));
            }
        }
    }
}

#[test]
fn the_step_in_which_the_needle_comes_in() {
    let mut results = SnapshotResults::new();
    for (name, view) in [("sre", "Step"), ("residency", "Events")] {
        let shown = at(name, &CAPTURE, 12 * 64, needle(&CAPTURE).map(|n| n + 4));
        results.add(harness(shown, view, true).try_snapshot(file(name, view, "needle")));
    }
}

#[test]
fn every_view_on_in_context_recall() {
    let mut results = SnapshotResults::new();
    for (name, views) in VIEWS {
        for view in views {
            let writes = RECALL.plan.stream.writes() / 2 / 64 * 64;
            let mut shown = at(name, &RECALL, writes, Some(70));
            shown.selection.pin = Some(Pin::Moment(writes / 2 / 64 * 64));
            shown.selection.extend_to(75);
            results.add(harness(shown, view, false).try_snapshot(file(name, view, "recall")));
        }
    }
}

#[test]
fn every_view_on_a_long_stream() {
    let mut results = SnapshotResults::new();
    for (name, views) in VIEWS {
        for view in views {
            let shown = at(name, &LONG, 49_984, Some(30_000));
            results.add(harness(shown, view, true).try_snapshot(file(name, view, "long")));
        }
    }
}

#[test]
fn every_view_is_sound_at_every_step_and_at_any_size() {
    for (name, views) in VIEWS {
        for view in views {
            let mut harness = harness(at(name, &CAPTURE, 0, Some(700)), view, false);
            for size in [vec2(110.0, 70.0), vec2(300.0, 150.0), vec2(230.0, 300.0), vec2(600.0, 300.0)] {
                harness.state_mut().within = Some(size);
                for writes in [0, 1, 63, 64, 65, 128, 192, 256, 704, 2047, 2048, 512, 0] {
                    harness.state_mut().writes = writes;
                    harness.step();
                }
            }
            harness.state_mut().selection.choose_group(&(600..1400).collect::<Vec<_>>());
            harness.state_mut().writes = 1600;
            harness.run();
        }
    }
}

#[test]
fn views_without_room_on_one_line_are_a_menu_of_the_same_names() {
    for (name, views) in VIEWS {
        let wide = panel::harness(at(name, &CAPTURE, 1600, None), SIZE, false);
        assert!(wide.query_by_label("What is shown here").is_none(), "{name}");
        let tops: Vec<f32> = views.iter().map(|view| wide.get_by_label(view).rect().top()).collect();
        assert!(tops.iter().all(|top| (top - tops[0]).abs() < 0.5), "{name}: {tops:?}");
        let mut narrow = panel::harness(at(name, &CAPTURE, 1600, None), vec2(300.0, 220.0), false);
        let menu = |harness: &Harness<'_, Shown<'_>>| {
            let menu = harness.get_by_label("What is shown here");
            (menu.rect(), menu.accesskit_node().value())
        };
        let lane = narrow.get_by_label("LoLA").rect();
        let (rect, value) = menu(&narrow);
        assert!(lane.y_range().contains(rect.center().y) && rect.left() > lane.right(), "beside the lane: {rect} {lane}");
        assert_eq!(value.as_deref(), Some(views[0]));
        for view in &views[1..] {
            assert!(narrow.query_by_label(view).is_none(), "{view}");
            panel::choose_view(&mut narrow, view);
            narrow.run();
            assert_eq!(menu(&narrow).1.as_deref(), Some(*view));
        }
    }
}

#[test]
fn every_score_of_lola_is_drawn_in_every_view() {
    for score in ["fifo", "random", "attention", "kernel"] {
        let source = task("needles", Params::default().with("T", 512).with("needles", 8));
        let run = run(source, vec![lola("LoLA", Params::default().with("cache", 64).with("score", score))]);
        for (name, views) in VIEWS {
            for view in views {
                let harness = harness(at(name, &run, 512, Some(5)), view, true);
                // Nobody but SRE scores against the state.
                assert!(harness.query_by_label_contains("The state is empty").is_none(), "{score}");
                assert!(harness.query_by_label_contains("Of all scores").is_none() || score == "attention" || score == "kernel");
            }
        }
    }
}

#[test]
fn scores_that_are_no_numbers_are_counted_in_words() {
    let rows = Array3::from_shape_fn((1, 640, 2), |(_, i, j)| (noise(2 * i + j) % 1000) as f32 / 500.0 - 1.0);
    let parts = StreamParts {
        keys: rows.clone(),
        values: rows,
        queries: Array3::ones((1, 0, 2)),
        after: Vec::new(),
        beta: 1.0,
        targets: Targets::None,
        labels: Labels::default(),
    };
    let plan = Arc::new(planned(Stream::new(parts).unwrap(), &Params::default().with("cache", 128)));
    let score = |i: usize| match i {
        100 | 300 => f32::NAN,
        200 => f32::INFINITY,
        _ => 1.0 + (noise(i) % 100) as f32,
    };
    let traces = vec![made_up(&plan, score)];
    let run = Run::of(plan, traces);
    for view in VIEWS[0].1 {
        let harness = harness(Shown::new("sre", &run), view, false);
        harness.get_by_label("Of all scores 2 are NaN, 1 is infinite: they lie at the edge of the axis.");
    }
}

#[test]
fn the_text_says_where_every_token_is_in_every_lane() {
    let is_new = CAPTURE.traces[1].channel("is_new").unwrap().wholes(0);
    let founders = is_new[..1600].iter().filter(|f| **f == 1).count();
    for (lane, said) in [
        // Window 64, cache 128, and the rest of 1600.
        (0, "LoLA holds them: 64 window, 128 cache, 1408 state, 448 not yet".to_owned()),
        (1, format!("OVQ holds them: {founders} founder, {} centroid, 448 not yet", 1600 - founders)),
        (2, "window holds them: 256 window, 1344 forgotten, 448 not yet".to_owned()),
        (3, "full holds them: 1600 kept whole, 448 not yet".to_owned()),
        (4, "linear holds them: 1600 state, 448 not yet".to_owned()),
    ] {
        let mut shown = at("residency", &CAPTURE, 1600, None);
        shown.lanes = vec![lane];
        let mut harness = harness(shown, "Text", true);
        harness.get_by_label(&format!("Text of 2048 tokens by where lane {said}"));
        // Half a chunk later the new writes are in no memory yet (lanes without chunks of their own take the timeline's).
        harness.state_mut().writes = 1632;
        harness.run();
        harness.get_by_label_contains("32 raw chunk");
        harness.get_by_label_contains("416 not yet");
    }
}

#[test]
fn a_token_of_the_text_is_hovered_and_clicked_with_shift_and_ctrl() {
    let mut harness = harness(at("residency", &CAPTURE, 1600, None), "Text", false);
    let rect = harness.get_by_label_contains("Text of 2048 tokens").rect();
    // The newest token is scrolled to: the middle of the panel shows written tokens.
    let at = egui::pos2(rect.left() + 40.0, harness.ctx.content_rect().center().y + 30.0);
    harness.hover_at(at);
    harness.run();
    let [Command::View(ViewCommand::Hover(token))] = harness.state().commands[..] else { panic!("{:?}", harness.state().commands) };
    assert!((1400..1700).contains(&token), "{token}");
    for (modifiers, expected) in [
        (egui::Modifiers::NONE, ViewCommand::Select(Some(token))),
        (egui::Modifiers::SHIFT, ViewCommand::Extend(token)),
        (egui::Modifiers::COMMAND, ViewCommand::Toggle(token)),
    ] {
        harness.event(egui::Event::ModifiersChanged(modifiers));
        for pressed in [true, false] {
            harness.event(egui::Event::PointerButton { pos: at, button: egui::PointerButton::Primary, pressed, modifiers });
            harness.step();
        }
        let expected = Command::View(expected);
        assert!(harness.state().commands.contains(&expected), "{expected:?}: {:?}", harness.state().commands);
    }
}

#[test]
fn the_text_scrolls_to_what_is_asked_for() {
    let mut harness = harness(at("residency", &LONG, 49_984, Some(30_000)), "Text", true);
    let hovered = |harness: &mut Harness<'_, Shown<'_>>| {
        let rect = harness.get_by_label_contains("Text of 65536 tokens").rect();
        harness.hover_at(egui::pos2(rect.left() + 30.0, harness.ctx.content_rect().center().y + 30.0));
        harness.run();
        let found =
            harness.state().commands.iter().find_map(|c| if let Command::View(ViewCommand::Hover(t)) = c { Some(*t) } else { None });
        found.unwrap()
    };
    let near = hovered(&mut harness);
    assert!((29_800..30_200).contains(&near), "it begins at the selected token: {near}");
    harness.get_by_label("Playhead").click();
    harness.run();
    let near = hovered(&mut harness);
    assert!((49_800..50_200).contains(&near), "{near}");
    harness.get_by_label("Selected").click();
    harness.run();
    let near = hovered(&mut harness);
    assert!((29_800..30_200).contains(&near), "{near}");
}

#[test]
fn the_events_of_a_step_are_those_of_the_trace_and_link_to_their_tokens() {
    // In this step, in which most of the needle leaves the window, it comes in.
    let admitted = CAPTURE.traces[0].channel("admitted").unwrap().wholes_at(0, 11).to_vec();
    let displaced = CAPTURE.traces[0].channel("displaced").unwrap().wholes_at(0, 11).len();
    assert!(!admitted.is_empty() && admitted.len() == displaced, "a full cache stays full");
    let mut harness = harness(at("residency", &CAPTURE, 12 * 64, None), "Events", false);
    harness.get_by_label(&format!("{} came", admitted.len()));
    harness.get_by_label(&format!("{displaced} went"));
    // The admitted one with the largest score stands first.
    let (ids, scores) = (CAPTURE.traces[0].channel("candidates").unwrap(), CAPTURE.traces[0].channel("candidate_scores").unwrap());
    let score = |id: &i32| scores.reals_at(0, 11)[ids.wholes_at(0, 11).binary_search(id).unwrap()];
    let first = admitted.iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap();
    let texts = CAPTURE.plan.stream.labels().tokens.as_ref().unwrap();
    let sign = if CAPTURE.plan.stream.labels().roles.of_write[*first as usize] == CAPTURE.plan.stream.labels().roles.marked.unwrap() {
        "* "
    } else {
        ""
    };
    harness.get_by_label_contains(&format!("  {sign}'{}' {first}", texts[*first as usize])).click();
    harness.step();
    let wanted = Command::View(ViewCommand::Choose(Subject::Token(*first as usize)));
    assert!(harness.state().commands.contains(&wanted), "{:?}", harness.state().commands);
}

#[test]
fn a_lasso_around_the_plot_selects_the_candidates_in_it() {
    let mut harness = harness(at("sre", &CAPTURE, 1600, None), "Key, value", true);
    let rect = harness.get_by_label_contains("Score against length of the value").rect().shrink(1.0);
    let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom(), rect.left_top() + vec2(0.0, 8.0)];
    harness.hover_at(corners[0]);
    harness.step();
    let button =
        |pos, pressed| egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers: egui::Modifiers::NONE };
    harness.event(button(corners[0], true));
    harness.step();
    for corner in corners {
        harness.event(egui::Event::PointerMoved(corner));
        harness.step();
    }
    harness.event(button(corners[4], false));
    harness.step();
    let group =
        harness.state().commands.iter().find_map(|c| if let Command::View(ViewCommand::Group(g)) = c { Some(g.clone()) } else { None });
    let candidates = CAPTURE.traces[0].channel("candidates").unwrap().wholes_at(0, 24).len();
    assert_eq!(group.unwrap().len(), candidates, "the line goes around all of them");
}

#[test]
fn novelty_is_asked_for_once_where_it_is_quick_and_only_when_told_where_it_is_not() {
    let quick = Run::of(Arc::clone(&CAPTURE.plan), CAPTURE.traces.to_vec());
    let asks = |harness: &Harness<'_, Shown<'_>>| harness.state().commands.contains(&Command::Study(StudyCommand::Novelty(Ask::Head(0))));
    let mut harness = panel::harness(at("sre", &quick, 1600, None), SIZE, true);
    harness.get_by_label("Key, value").click();
    let mut asked = 0;
    for _ in 0..6 {
        harness.step();
        asked += usize::from(asks(&harness));
    }
    assert_eq!(asked, 1);
    let mut harness = self::harness(at("sre", &LONG, 49_984, None), "Key, value", true);
    assert!(!asks(&harness));
    harness.get_by_label("Find novelty").click();
    harness.step();
    assert!(asks(&harness));
}

#[test]
fn chunks_that_are_no_steps_are_called_chunks() {
    let of =
        |name: &str, chunk: i64| LaneSpec::new(name, "lola", Params::default().with("window", 128).with("chunk", chunk).with("cache", 64));
    let run = Run::new(bundled(), vec![of("fine", 32), of("coarse", 64)]);
    assert_eq!(run.plan.step, 32);
    for (lane, seen, noun) in [(0, "50 of 64", "steps"), (1, "25 of 32", "chunks")] {
        let harness = |view| {
            let mut shown = Shown::new("residency", &run);
            (shown.lanes, shown.writes) = (vec![lane], 1600);
            harness(shown, view, true)
        };
        harness("Map").get_by_label_contains(&format!("Residency of 2048 tokens over {seen} {noun}."));
        harness("Occupancy").get_by_label_contains(&format!("Occupancy of the memories over {seen} {noun}:"));
        harness("Age").get_by_label_contains(&format!("pairs in the cache after {} {noun}", &seen[..2]));
    }
}

#[test]
fn occupancy_and_ages_are_told_in_a_sentence() {
    let harness = |view| harness(at("residency", &CAPTURE, 1600, None), view, true);
    harness("Occupancy").get_by_label_contains("64 tokens in the window, 128 in the cache, 1408 in the state");
    // Some of the first writes, admitted while the state was empty, are still there.
    let oldest = (0..2048).find(|&w| {
        let has = |name: &str| (0..25).any(|s| CAPTURE.traces[0].channel(name).unwrap().wholes_at(0, s).contains(&w));
        has("admitted") && !has("displaced")
    });
    let age = 24 - oldest.unwrap() / 64;
    harness("Age").get_by_label_contains(&format!("Ages of 128 pairs in the cache after 25 steps: the oldest was written {age} steps ago"));
}

#[test]
#[ignore = "prints times; for a person, in a release build"]
fn times_on_a_long_stream() {
    for (name, views) in VIEWS {
        for view in views {
            let mut harness = harness(at(name, &LONG, 20_032, Some(10_000)), view, true);
            let mut median = |playing: bool| {
                let mut all: Vec<f64> = (0..60)
                    .map(|frame| {
                        if playing {
                            harness.state_mut().writes = 20_032 + 64 * frame;
                        }
                        harness.step();
                        harness.state().spent.as_secs_f64() * 1e3
                    })
                    .collect();
                all.sort_by(f64::total_cmp);
                all[30]
            };
            let (rest, playing) = (median(false), median(true));
            println!("{name:10} {view:10} at rest {rest:.3} ms, playing {playing:.3} ms");
        }
    }
}
