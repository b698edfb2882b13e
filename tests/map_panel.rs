//! The dictionary map with the study behind it: what it draws of the bundled capture, and what pointer and lasso get.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/panel.rs"]
mod panel;

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use eframe::egui::{self, Event, Modifiers, PointerButton, Pos2, Rect, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, SnapshotResults};
use mnemoscope::app::command::{Command, ViewCommand};
use mnemoscope::app::states::{At, States};
use mnemoscope::app::study::StudyCommand;
use mnemoscope::app::study::map::{Ask, Keys, Trails};
use mnemoscope::layer::{Precision, Record, Snapshot};
use mnemoscope::metric::projection::Basis;
use mnemoscope::panel::Subject;
use mnemoscope::param::Params;
use mnemoscope::session::LaneSpec;
use mnemoscope::session::plan::Plan;
use mnemoscope::trace::TraceBlock;
use panel::{Run, Shown, bundled, harness, task, wait, wake};

/// The bundled needle prompt.
static CAPTURE: LazyLock<Run> = LazyLock::new(|| {
    let lola = Params::default().with("window", 64).with("cache", 128).with("chunk", 64);
    let lanes = vec![
        LaneSpec::new("LoLA", "lola", lola),
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 512).with("chunk", 64)),
        LaneSpec::new("full", "full", Params::default()),
        LaneSpec::new("VQ", "vq", Params::default().with("codes", 128)),
    ];
    Run::new(bundled(), lanes)
});

/// The places of lanes in [`CAPTURE`].
const LOLA: usize = 0;
const OVQ: usize = 1;

/// The state of a lane after so many chunks.
fn state(run: &Run, lane: usize, chunks: usize) -> (At, Arc<Snapshot>) {
    let plan = &run.plan.lanes[lane];
    let mut layer = plan.kind.cpu(&plan.setup, Precision::Single).unwrap();
    layer.advance(chunks, Record::StateOnly, &mut TraceBlock::default()).unwrap();
    ((lane, chunks), Arc::new(layer.snapshot().unwrap()))
}

/// One lane of a run, by itself.
fn alone(run: &Run, lane: usize) -> Run {
    let plan = Plan { lanes: vec![run.plan.lanes[lane].clone()], ..(*run.plan).clone() };
    Run::of(Arc::new(plan), vec![run.traces[lane].clone()])
}

/// The map of a run. What it asks of its study is found at once, the trails only with `trails`; the questions are taken out of what it
/// asked for.
fn map_of(run: &Run, trails: bool) -> Shown<'_> {
    Shown::new("map", run).answered(move |shown, ctx| {
        let Shown { given, commands, .. } = shown;
        for command in commands.iter() {
            if let Command::Study(StudyCommand::Map(ask)) = command
                && (trails || !given.studies.map.has(&run.plan, *ask, false))
            {
                given.studies.map.start(&run.plan, trails.then_some(&run.traces), *ask, &wake());
                wait(&mut given.studies, |s| s.map.running());
                ctx.request_repaint();
            }
        }
        commands.retain(|c| !matches!(c, Command::Study(_)));
    })
}

type Map<'a> = Harness<'a, Shown<'a>>;

fn keys<'a>(map: &'a Map<'_>, lane: usize) -> &'a Arc<Keys> {
    map.state().studies.map.keys(&map.state().run.plan, lane, 0).unwrap()
}

fn trails<'a>(map: &'a Map<'_>, lane: usize) -> &'a Arc<Trails> {
    map.state().studies.map.trails(&map.state().run.plan, keys(map, lane).ask).unwrap()
}

/// Every group that the map has asked for.
fn asked_groups(map: &Map<'_>) -> Vec<Arc<[usize]>> {
    let group = |c: &Command| if let Command::View(ViewCommand::Group(g)) = c { Some(Arc::clone(g)) } else { None };
    map.state().all.iter().filter_map(group).collect()
}

const SIZE: Vec2 = vec2(560.0, 420.0);

fn plot(harness: &Map<'_>) -> Rect {
    harness.get_by_label_contains("Dictionary map of lane").rect()
}

/// Where a place is on screen: the axes reach a twentieth beyond the keys and the rows.
fn spot(harness: &Map<'_>, lane: usize, place: [f32; 2]) -> Pos2 {
    let (keys, trails) = (keys(harness, lane), harness.state().studies.map.trails(&harness.state().run.plan, keys(harness, lane).ask));
    let share = |i: usize| {
        let bounds = trails.map_or(keys.bounds[i], |t| [keys.bounds[i][0].min(t.bounds[i][0]), keys.bounds[i][1].max(t.bounds[i][1])]);
        let span = bounds[1] - bounds[0];
        (place[i] - bounds[0] + 0.05 * span) / (1.1 * span)
    };
    let rect = plot(harness);
    pos2(rect.left() + share(0) * rect.width(), rect.bottom() - share(1) * rect.height())
}

fn button(harness: &Map<'_>, pos: Pos2, pressed: bool, modifiers: Modifiers) {
    harness.event(Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers });
}

#[test]
fn before_the_first_write_the_map_says_so_and_has_no_axes() {
    let mut shown = map_of(&CAPTURE, false);
    shown.writes = 0;
    let mut map = harness(shown, SIZE, true);
    map.get_by_label("Nothing has been written yet: move the playhead.");
    assert!(map.query_by_label_contains("Dictionary map of lane").is_none());
    map.state_mut().writes = 64;
    map.run();
    map.get_by_label_contains("Dictionary map of lane");
}

#[test]
fn the_needle_prompt_in_both_themes() {
    let mut results = SnapshotResults::new();
    let roles = &CAPTURE.plan.stream.labels().roles;
    let needle = roles.marked.and_then(|m| roles.of_write.iter().position(|&r| r == m)).unwrap();
    for dark in [false, true] {
        let theme = if dark { "dark" } else { "light" };
        let mut shown = map_of(&CAPTURE, true);
        shown.writes = 1600;
        shown.selection.token = Some(needle + 4);
        shown.states = States::fixed([state(&CAPTURE, OVQ, 25)]);
        let mut map = harness(shown, SIZE, dark);
        map.get_by_label_contains("Dictionary map of lane OVQ: 1600 of 2048 tokens along component 1");
        results.add(map.try_snapshot(format!("map_needle_{theme}")));
        let mut shown = map_of(&CAPTURE, true);
        (shown.lanes, shown.writes) = (vec![LOLA], 1600);
        let mut map = harness(shown, SIZE, dark);
        map.get_by_label("64 window, 128 cache, 1408 state");
        map.get_by_label_contains("Dictionary map of lane LoLA: 1600 of 2048 tokens along component 1");
        results.add(map.try_snapshot(format!("map_lola_{theme}")));
    }
}

#[test]
fn a_centroid_tells_its_founder_and_is_selected_by_a_click() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, true);
    let rows = CAPTURE.traces[OVQ].channel("assignments").unwrap().wholes(0);
    let is_new = CAPTURE.traces[OVQ].channel("is_new").unwrap().wholes(0);
    let trails = Arc::clone(trails(&map, OVQ));
    let row = (0..trails.rows.len()).max_by_key(|&r| (trails.at(r, 32).unwrap().count, std::cmp::Reverse(r))).unwrap();
    let count = rows.iter().filter(|r| **r as usize == row).count();
    let founder = (0..rows.len()).find(|&w| rows[w] as usize == row && is_new[w] == 1).unwrap();
    let at = spot(&map, OVQ, trails.at(row, 32).unwrap().at);
    map.hover_at(at);
    map.run();
    assert_eq!(map.state().commands, [Command::View(ViewCommand::HoverRow { lane: OVQ, row })]);
    map.get_by_label(&format!("centroid {row}"));
    map.get_by_label(&count.to_string());
    map.get_by_label_contains(&format!("token {founder} "));
    map.get_by_label(&(founder / 64).to_string());
    for pressed in [true, false] {
        button(&map, at, pressed, Modifiers::NONE);
        map.step();
    }
    assert!(map.state().commands.contains(&Command::View(ViewCommand::Choose(Subject::Centroid { lane: OVQ, row }))));
    // Hovered, it shows spokes and its way; so it does when another panel is over it.
    map.state_mut().selection.hovered_row = Some((OVQ, row));
    map.remove_cursor();
    map.run();
    map.snapshot("map_centroid");
}

#[test]
fn a_token_tells_its_centroid_and_is_selected_by_a_click() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, false);
    let rows = CAPTURE.traces[OVQ].channel("assignments").unwrap().wholes(0);
    let (keys, trails) = (Arc::clone(keys(&map, OVQ)), Arc::clone(trails(&map, OVQ)));
    let centroids: Vec<Pos2> = (0..trails.rows.len()).map(|r| spot(&map, OVQ, trails.at(r, 32).unwrap().at)).collect();
    let spots: Vec<Pos2> = keys.points.iter().map(|p| spot(&map, OVQ, *p)).collect();
    // One that lies apart from all others.
    let apart = |t: usize| {
        let others = spots.iter().enumerate().filter(|(o, _)| *o != t).map(|(_, p)| p);
        others.chain(&centroids).map(|p| p.distance(spots[t])).fold(f32::INFINITY, f32::min)
    };
    let token = (0..2048).max_by(|&a, &b| apart(a).total_cmp(&apart(b))).unwrap();
    assert!(apart(token) > 2.0, "{}", apart(token));
    map.hover_at(spots[token]);
    map.run();
    assert_eq!(map.state().commands, [Command::View(ViewCommand::Hover(token))]);
    map.get_by_label(&format!("joined {}", rows[token]));
    for pressed in [true, false] {
        button(&map, spots[token], pressed, Modifiers::NONE);
        map.step();
    }
    assert!(map.state().commands.contains(&Command::View(ViewCommand::Select(Some(token)))), "{:?}", map.state().commands);
}

/// Drags along `corners`, lets go at the last, and returns the groups that were asked for.
fn drag(map: &mut Map<'_>, corners: &[Pos2], modifiers: Modifiers) -> Vec<Arc<[usize]>> {
    map.state_mut().all.clear();
    map.event(Event::PointerMoved(corners[0]));
    map.step();
    button(map, corners[0], true, modifiers);
    map.step();
    for &corner in &corners[1..] {
        map.event(Event::PointerMoved(corner));
        map.step();
    }
    let pos = corners[corners.len() - 1];
    map.event_modifiers(Event::PointerButton { pos, button: PointerButton::Primary, pressed: false, modifiers }, modifiers);
    map.step();
    asked_groups(map)
}

#[test]
fn a_lasso_selects_what_it_goes_around_and_escape_gives_up() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, true);
    let keys = Arc::clone(keys(&map, OVQ));
    let rect = plot(&map);
    let part = |x: f32, y: f32| pos2(rect.left() + x * rect.width(), rect.top() + y * rect.height());
    let corners = [part(0.15, 0.2), part(0.45, 0.2), part(0.45, 0.6), part(0.15, 0.6), part(0.15, 0.21)];
    let inside = Rect::from_two_pos(corners[0], corners[2]);
    // What lies on the line itself may fall either way.
    let edge = |p: Pos2| inside.expand(0.5).contains(p) && !inside.shrink(0.5).contains(p);
    let spots: Vec<Pos2> = keys.points.iter().map(|p| spot(&map, OVQ, *p)).collect();
    let expected: Vec<usize> = (0..2048).filter(|&t| inside.contains(spots[t]) && !edge(spots[t])).collect();
    assert!(expected.len() > 20, "{}", expected.len());
    let groups = drag(&mut map, &corners, Modifiers::NONE);
    let [group] = &groups[..] else { panic!("{groups:?}") };
    let found: Vec<usize> = group.iter().copied().filter(|&t| !edge(spots[t])).collect();
    assert_eq!(found, expected);
    map.state_mut().selection.choose_group(group);
    map.remove_cursor();
    map.run();
    map.snapshot("map_group");
    // With Shift, what was selected stays.
    map.state_mut().selection.choose_group(&[1, 5]);
    let groups = drag(&mut map, &corners, Modifiers::SHIFT);
    let [added] = &groups[..] else { panic!("{groups:?}") };
    assert!(added.contains(&1) && added.contains(&5) && expected.iter().all(|t| added.contains(t)), "{added:?}");
    // Escape: nothing is taken.
    map.state_mut().all.clear();
    map.event(Event::PointerMoved(corners[0]));
    map.step();
    button(&map, corners[0], true, Modifiers::NONE);
    map.step();
    for &corner in &corners[1..4] {
        map.event(Event::PointerMoved(corner));
        map.step();
    }
    map.key_press(egui::Key::Escape);
    map.step();
    button(&map, corners[3], false, Modifiers::NONE);
    map.step();
    assert!(asked_groups(&map).is_empty(), "{:?}", asked_groups(&map));
}

/// Two tokens of one blot, and how far their nearest neighbours are: they lie closer than half a point, and nothing else as close.
fn twins(map: &Map<'_>) -> [usize; 2] {
    let (keys, trails) = (Arc::clone(keys(map, OVQ)), Arc::clone(trails(map, OVQ)));
    let spots: Vec<Pos2> = keys.points.iter().map(|p| spot(map, OVQ, *p)).collect();
    let rows: Vec<Pos2> = (0..trails.rows.len()).map(|r| spot(map, OVQ, trails.at(r, 32).unwrap().at)).collect();
    let inner = plot(map).shrink(60.0);
    let lone = |t: usize, but: usize| {
        let others = spots.iter().enumerate().filter(|(o, _)| *o != t && *o != but).map(|(_, p)| p);
        others.chain(&rows).all(|p| p.distance(spots[t]) > 0.2)
    };
    let pairs = (0..spots.len()).filter(|&a| inner.contains(spots[a])).flat_map(|a| (a + 1..spots.len()).map(move |b| (a, b)));
    let found = pairs.filter(|&(a, b)| (0.1..0.4).contains(&spots[a].distance(spots[b]))).find(|&(a, b)| lone(a, b) && lone(b, a));
    let (a, b) = found.unwrap();
    [a, b]
}

/// The share of the plot, to the right and downwards.
fn share(rect: Rect, at: Pos2) -> Vec2 {
    (at - rect.min) / rect.size()
}

#[test]
fn a_blot_comes_apart_under_the_pointer_and_all_of_it_is_seen_again() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, true);
    let ([a, b], whole) = (twins(&map), plot(&map));
    let [at, other] = [a, b].map(|t| spot(&map, OVQ, keys(&map, OVQ).points[t]));
    map.get_by_label("zoom 1.0x");
    map.hover_at(at);
    map.run();
    map.event(Event::Zoom(100.0));
    map.run();
    map.get_by_label("zoom 100x");
    map.get_by_label_contains("409 centroids; zoom 100x");
    // What was under the pointer is there still; its neighbour is a hundred times as far away, more than ten points.
    let rect = plot(&map);
    let spots = [Vec2::ZERO, (share(whole, other) - share(whole, at)) * 100.0].map(|d| rect.min + (share(whole, at) + d) * rect.size());
    assert!(spots[0].distance(spots[1]) > 9.0, "{spots:?}");
    for (token, spot) in [(a, spots[0]), (b, spots[1])] {
        map.hover_at(spot);
        map.run();
        assert_eq!(map.state().commands, [Command::View(ViewCommand::Hover(token))]);
        let place = keys(&map, OVQ).points[token];
        map.get_by_label(&format!("{}, {}", place[0], place[1]));
    }
    // The wheel: 200 points are a factor of e, towards oneself away from the map.
    map.event(Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, -200.0),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
    map.run_steps(8);
    map.get_by_label("zoom 36.8x");
    map.get_by_label("fit").click();
    map.run();
    map.get_by_label("zoom 1.0x");
    assert_eq!(plot(&map), whole);
    // Nothing is seen at a factor below 1 that would not be seen at 1.
    map.hover_at(at);
    map.event(Event::Zoom(0.01));
    map.run();
    map.get_by_label("zoom 1.0x");
}

#[test]
fn a_drag_with_the_middle_button_or_with_ctrl_moves_the_map_and_a_plain_one_stays_a_lasso() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, false);
    let ([a, _], whole) = (twins(&map), plot(&map));
    let at = spot(&map, OVQ, keys(&map, OVQ).points[a]);
    map.hover_at(at);
    map.run();
    map.event(Event::Zoom(50.0));
    map.run();
    let rect = plot(&map);
    let mut here = rect.min + share(whole, at) * rect.size();
    for (button, modifiers, way) in [(PointerButton::Middle, Modifiers::NONE, 1.0), (PointerButton::Primary, Modifiers::COMMAND, -1.0)] {
        map.state_mut().all.clear();
        let to = here + vec2(-35.0, 24.0) * way;
        let press = |map: &Map<'_>, pos, pressed| map.event_modifiers(Event::PointerButton { pos, button, pressed, modifiers }, modifiers);
        map.event_modifiers(Event::PointerMoved(here), modifiers);
        press(&map, here, true);
        map.step();
        for part in [0.3, 0.7, 1.0] {
            map.event_modifiers(Event::PointerMoved(here + (to - here) * part), modifiers);
            map.step();
        }
        press(&map, to, false);
        map.step();
        assert!(asked_groups(&map).is_empty());
        map.run();
        map.hover_at(to);
        map.run();
        assert_eq!(map.state().commands, [Command::View(ViewCommand::Hover(a))], "what was taken hold of has come along");
        here = to;
    }
    let corners = [vec2(-20.0, -20.0), vec2(20.0, -20.0), vec2(20.0, 20.0), vec2(-20.0, 20.0), vec2(-20.0, -19.0)].map(|d| here + d);
    let groups = drag(&mut map, &corners, Modifiers::NONE);
    assert!(matches!(&groups[..], [group] if group.contains(&a) && group.len() < 20), "only what is in the line: {groups:?}");
}

#[test]
fn keys_move_a_map_in_focus() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, true);
    map.get_by_label_contains("arrows move the map").focus();
    map.run();
    for (key, said) in [(egui::Key::Plus, "zoom 1.5x"), (egui::Key::Equals, "zoom 2.2x"), (egui::Key::Minus, "zoom 1.5x")] {
        map.key_press(key);
        map.run();
        map.get_by_label(said);
        map.get_by_label_contains(&format!("{said}: + and - zoom"));
    }
    // An arrow moves by a tenth of the plot: a token by itself is hovered a tenth to the left of where it was.
    let (keys, trails, rect) = (Arc::clone(keys(&map, OVQ)), Arc::clone(trails(&map, OVQ)), plot(&map));
    let zoomed = |p: [f32; 2]| rect.center() + (spot(&map, OVQ, p) - rect.center()) * 1.5;
    let spots: Vec<Pos2> = keys.points.iter().map(|p| zoomed(*p)).collect();
    let rows: Vec<Pos2> = (0..trails.rows.len()).map(|r| zoomed(trails.at(r, 32).unwrap().at)).collect();
    let by_itself = |t: usize| {
        let others = spots.iter().enumerate().filter(|(o, _)| *o != t).map(|(_, p)| p);
        rect.shrink(70.0).contains(spots[t]) && others.chain(&rows).all(|p| p.distance(spots[t]) > 1.5)
    };
    let token = (0..2048).find(|t| by_itself(*t)).unwrap();
    let to = spots[token] - vec2(0.1 * rect.width(), 0.0);
    map.key_press(egui::Key::ArrowRight);
    map.run();
    map.hover_at(to);
    map.run();
    assert_eq!(map.state().commands, [Command::View(ViewCommand::Hover(token))]);
    map.key_press(egui::Key::Num0);
    map.run();
    map.get_by_label("zoom 1.0x");
    assert!(map.get_by_label_contains("arrows move the map").is_focused(), "arrows do not leave it");
}

#[test]
fn other_components_and_a_random_projection_say_what_they_show() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, true);
    map.get_by_label("random").click();
    map.run();
    map.get_by_label_contains("tokens along random direction 1 (");
    let ask: Ask = keys(&map, OVQ).ask;
    assert_eq!((ask.basis, ask.components), (Basis::Random(0), [0, 1]));
    let shares: f64 = (0..64).map(|c| keys(&map, OVQ).projection.share(c)).sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn every_memory_is_said_and_steps_fly_without_end_to_repainting() {
    let mut map = harness(map_of(&CAPTURE, true), SIZE, true);
    map.get_by_label_contains("2048 of 2048 tokens");
    // A step back, one forward: the tokens fly, and come to rest.
    map.state_mut().writes = 1600;
    map.run();
    map.state_mut().writes = 1664;
    map.run();
    map.get_by_label_contains("1664 of 2048 tokens");
    for (lane, said) in [(0, "64 window, 128 cache, 1472 state"), (2, "1664 kept whole"), (3, "codes in use")] {
        // Lanes are numbered as they are looked at; the study numbers those of the plan.
        let one = alone(&CAPTURE, lane);
        let mut shown = map_of(&one, true);
        shown.writes = 1664;
        let map = harness(shown, SIZE, false);
        let label = map.get_by_label_contains("Dictionary map of lane").accesskit_node().label().unwrap();
        assert!(label.contains(said), "{label}");
    }
}

#[test]
fn the_trails_of_a_run_under_way_are_awaited_with_words() {
    let mut shown = map_of(&CAPTURE, false);
    shown.writes = 640;
    let map = harness(shown, SIZE, true);
    map.get_by_label("The centroids are being computed");
    let mut shown = map_of(&CAPTURE, false);
    shown.writes = 640;
    shown.states = States::fixed([state(&CAPTURE, OVQ, 9)]);
    let map = harness(shown, SIZE, true);
    // 576 writes: floor(576 N / (576 + N)) rows with N = 512.
    map.get_by_label("271 centroids as after 9 chunks: those after 10 are being computed");
}

#[test]
fn any_size_and_every_step_are_sound() {
    for size in [vec2(120.0, 90.0), vec2(300.0, 150.0)] {
        let mut shown = map_of(&CAPTURE, true);
        shown.selection.token = Some(700);
        shown.selection.row = Some((OVQ, 3));
        let mut map = harness(shown, size, false);
        for writes in [0, 1, 63, 64, 65, 100, 704, 1000, 2047, 2048, 512, 0] {
            map.state_mut().writes = writes;
            map.step();
        }
    }
}

/// `cargo test --release --test map_panel times -- --ignored --nocapture`
#[test]
#[ignore = "prints times; for a person, in a release build"]
fn times_at_65536_tokens() {
    let params = Params::default().with("T", 65_536).with("dk", 64).with("dv", 16);
    let lanes = vec![
        LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 2048).with("chunk", 128)),
        LaneSpec::new("LoLA", "lola", Params::default().with("window", 64).with("cache", 128).with("chunk", 64).with("fmap", "elu1")),
    ];
    let run = Run::new(task("needles", params), lanes);
    for (lane, name) in [(0, "OVQ"), (1, "LoLA")] {
        let one = alone(&run, lane);
        let start = Instant::now();
        let mut map = harness(map_of(&one, true), SIZE, true);
        let first = start.elapsed().as_secs_f64();
        let mut time = |what: &str, before: &dyn Fn(&mut Shown<'_>, usize)| {
            let mut all: Vec<f64> = (0..120)
                .map(|frame| {
                    before(map.state_mut(), frame);
                    map.step();
                    map.state().spent.as_secs_f64() * 1e3
                })
                .collect();
            all.sort_by(f64::total_cmp);
            println!("{name}: {what}: best {:.3} ms, median {:.3} ms, worst {:.3} ms", all[0], all[60], all[119]);
        };
        time("at rest", &|_, _| {});
        time("playing", &|shown, frame| shown.writes = 20_000 / 128 * 128 + 128 * frame);
        time("a centroid hovered", &|shown, _| shown.selection.hovered_row = Some((0, 5)));
        println!("{name}: first frames with the study {first:.2} s");
    }
}
