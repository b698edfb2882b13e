//! Every lesson played to its end from the keyboard, as one who has no mouse would; presentation; and a lesson made in the program.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{adapter, chord, options, says, session, settle, wait, window, window_of};
use eframe::egui::{Event, Key, Modifiers, Pos2, ViewportCommand, ViewportEvent, ViewportId, accesskit::Role, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, SnapshotOptions};
use mnemoscope::app::App;
use mnemoscope::app::lesson::{EditCommand, Editing, LessonCommand};
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::session::BackendChoice;
use mnemoscope::session::lesson::{Check, Lesson, lesson};

const CTRL: Modifiers = Modifiers { command: true, ctrl: true, ..Modifiers::NONE };
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..CTRL };

/// A place in the window that no window over it covers: its lower right corner.
const OUTSIDE: Pos2 = Pos2::new(1436.0, 896.0);

type Window = Harness<'static, App>;

fn press(h: &mut Window, key: Key) {
    h.key_press(key);
    h.run_steps(2);
}

fn write(h: &mut Window, text: &str) {
    h.event(Event::Text(text.to_owned()));
    h.run_steps(2);
}

/// Presses Tab until what has the focus is called so.
fn reach(h: &mut Window, what: &str, fits: impl Fn(Role, &str) -> bool) {
    for _ in 0..500 {
        press(h, Key::Tab);
        let found = h.query_all(egui_kittest::kittest::By::new()).find(egui_kittest::Node::is_focused);
        let found = found.map(|n| (n.accesskit_node().role(), n.accesskit_node().label().unwrap_or_default()));
        if found.is_some_and(|(role, name)| fits(role, &name)) {
            return;
        }
    }
    panic!("Tab does not come to {what}");
}

/// Does what the palette finds for these words.
fn palette(h: &mut Window, words: &str) {
    press(h, Key::Escape);
    chord(h, CTRL, Key::P);
    write(h, words);
    press(h, Key::Enter);
    h.run_steps(2);
}

/// Searches the tokens, which selects the first that is found.
fn search(h: &mut Window, words: &str) {
    press(h, Key::Escape);
    chord(h, CTRL, Key::F);
    write(h, words);
    press(h, Key::Enter);
    h.run_steps(2);
    press(h, Key::Escape);
}

/// Types a number into the control of a parameter.
fn set(h: &mut Window, name: &str, value: &str) {
    press(h, Key::Escape);
    let wanted = format!("{name} value");
    reach(h, name, |role, label| role == Role::SpinButton && label == wanted);
    chord(h, CTRL, Key::A);
    write(h, value);
    press(h, Key::Enter);
    settle(h);
}

/// Picks a word of a list.
fn pick(h: &mut Window, name: &str, word: &str) {
    press(h, Key::Escape);
    reach(h, name, |_, label| label == name);
    press(h, Key::Space);
    reach(h, word, |_, label| label == word);
    press(h, Key::Space);
    settle(h);
}

fn done(h: &Window) -> bool {
    h.state().playing().is_some_and(mnemoscope::app::lesson::Playing::is_done)
}

/// Does what a condition asks for. What it takes to reach a score is said by the step.
fn satisfy(h: &mut Window, step: &str, check: &Check) {
    let word = |role: &Option<String>, h: &Window| match (role.as_deref(), h.state().session().source) {
        (Some("needle"), mnemoscope::session::Source::Capture(_)) => "6433012".to_owned(),
        (role, _) => role.unwrap_or("pair").to_owned(),
    };
    match check {
        Check::Playhead { to, .. } if *to == h.state().timeline().total() => press(h, Key::End),
        Check::Playhead { .. } | Check::Event { .. } => {
            press(h, Key::Home);
            for _ in 0..200 {
                if done(h) || matches!(check, Check::Playhead { from, to } if (*from..=*to).contains(&h.state().timeline().writes())) {
                    return;
                }
                press(h, Key::ArrowRight);
            }
        }
        Check::Token { role, .. } => {
            let word = word(role, h);
            search(h, &word);
        }
        Check::Read { .. } => {
            search(h, "pair");
            reach(h, "a read", |_, label| label.starts_with("read "));
            press(h, Key::Enter);
        }
        Check::Selected(what) => {
            search(h, "pair");
            reach(h, what, |_, label| label.starts_with(&format!("{what} ")));
            press(h, Key::Enter);
        }
        Check::Lane { name, .. } => palette(h, &format!("Switch lane {name} on")),
        Check::Panel(name) => palette(h, &format!("Show {name}")),
        Check::Source(_) => palette(h, "Task: Needles in a haystack"),
        Check::QueryHead { from, .. } => {
            let name = format!("Query head {from}");
            reach(h, &name, |_, label| label == name);
            press(h, Key::Space);
        }
        Check::Choose { options, right } => {
            press(h, Key::Escape);
            let keys = [Key::Num1, Key::Num2, Key::Num3, Key::Num4];
            let wrong = (right + 1) % options.len();
            press(h, keys[wrong]);
            assert!(!done(h), "{step}: a wrong answer is no answer");
            press(h, keys[*right]);
        }
        Check::Number { is, .. } => {
            reach(h, "the answer", |_, label| label == "Answer");
            write(h, &format!("{}", is + 1.0));
            press(h, Key::Enter);
            assert!(!done(h), "{step}: a wrong number is no answer");
            reach(h, "the answer", |role, label| label == "Answer" && role == Role::TextInput);
            chord(h, CTRL, Key::A);
            write(h, &format!("{is}"));
            press(h, Key::Enter);
        }
        Check::Branches(_) => {
            search(h, "needle");
            reach(h, "evict", |_, label| label.to_lowercase().contains("evict"));
            press(h, Key::Space);
        }
        Check::Param { name, .. } => match (name.as_str(), step) {
            ("linear.fmap", _) => pick(h, "linear feature map", "hedgehog"),
            ("linear.sharpness", _) => set(h, "linear sharpness", "20"),
            ("task.T", _) => set(h, "task tokens T", "1024"),
            ("task.pairs", "No state is large enough") => set(h, "task pairs", "128"),
            ("task.pairs", _) => set(h, "task pairs", "256"),
            ("LoLA.cache", _) => set(h, "LoLA cache", "256"),
            ("LoLA.window", _) => {
                set(h, "task tokens T", "1024");
                set(h, "LoLA window", "1024");
            }
            ("OVQ.n_max", _) => set(h, "OVQ centroids N", "190"),
            other => panic!("no way to {other:?}"),
        },
        Check::Score { lane, .. } => match step {
            "Memory against recall" => set(h, "OVQ centroids N", "1024"),
            // What came before it in the same step brings the score about.
            _ => assert!(!lane.is_empty()),
        },
        Check::All(all) => all.iter().for_each(|c| satisfy(h, step, c)),
        Check::Pinned => press(h, Key::P),
    }
    settle(h);
}

/// Plays a lesson from its first step to its last, from the keyboard.
fn play(name: &'static str) {
    let lesson = lesson(name).unwrap();
    let mut h = window(session());
    palette(&mut h, &lesson.title);
    wait(&mut h, |app| app.playing().is_some());
    settle(&mut h);
    for (at, step) in lesson.steps.iter().enumerate() {
        assert_eq!(h.state().playing().map(|p| p.at), Some(at), "{name}");
        assert_eq!(h.state().problem(), None, "{name}, {}", step.title);
        assert!(says(&h, &step.title), "{name}: {}", step.title);
        for shown in step.show.iter().filter(|s| mnemoscope::app::layout::entries().any(|e| e.name == s.as_str())) {
            assert!(h.state().shows(shown), "{name}, {}: {shown} is marked and not seen", step.title);
        }
        if let Some(ask) = &step.ask {
            if !matches!(ask.check, Check::Score { .. }) {
                assert!(!done(&h), "{name}, {}: it is done before it is", step.title);
            }
            press(&mut h, Key::PageDown);
            assert_eq!(h.state().playing().map(|p| p.at), Some(at), "{name}, {}: not before it is done", step.title);
            press(&mut h, Key::Escape);
            press(&mut h, Key::H);
            assert!(says(&h, &ask.hint), "{name}, {}: the hint", step.title);
            satisfy(&mut h, &step.title, &ask.check);
            let start = Instant::now();
            while !done(&h) {
                h.step();
                std::thread::sleep(Duration::from_millis(5));
                assert!(start.elapsed() < Duration::from_mins(1), "{name}, {}: it is not seen to be done", step.title);
            }
        }
        press(&mut h, Key::PageDown);
        settle(&mut h);
    }
    let playing = h.state().playing().unwrap();
    assert!(playing.reached().ended, "{name}");
    press(&mut h, Key::Escape);
    palette(&mut h, "Leave the lesson");
    assert!(h.state().playing().is_none());
    assert!(!h.state().edited(), "what was tried out in a lesson is no edit");
}

#[test]
fn forgetting_is_played_to_its_end() {
    play("forgetting");
}

#[test]
fn ovq_is_played_to_its_end() {
    play("ovq");
}

#[test]
fn lola_is_played_to_its_end() {
    play("lola");
}

#[test]
fn a_real_models_head_is_played_to_its_end() {
    play("real_model");
}

#[test]
fn comparing_is_played_to_its_end() {
    play("comparing");
}

#[test]
fn going_back_finds_what_the_steps_before_have_set() {
    let mut h = window(session());
    h.state_mut().ask(LessonCommand::Start("lola").into());
    wait(&mut h, |app| app.playing().is_some());
    settle(&mut h);
    let cache = |h: &Window| h.state().session().lanes.iter().find(|l| l.name == "LoLA").and_then(|l| l.params.get("cache").cloned());
    for _ in 0..5 {
        h.state_mut().ask(LessonCommand::Skip.into());
        settle(&mut h);
    }
    set(&mut h, "LoLA cache", "256");
    assert_eq!(cache(&h), Some(256.into()));
    // Forwards what the learner has set stays; backwards a step is as if the lesson had been played up to it.
    h.state_mut().ask(LessonCommand::Next.into());
    settle(&mut h);
    assert_eq!((h.state().playing().unwrap().at, cache(&h)), (6, Some(256.into())));
    h.state_mut().ask(LessonCommand::Back.into());
    settle(&mut h);
    assert_eq!((h.state().playing().unwrap().at, cache(&h)), (5, Some(32.into())));
    assert_eq!(h.state().timeline().writes(), 2048);
}

#[test]
fn a_lesson_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let preferences = Some(folder.path().join("preferences.ron"));
    let open = || {
        let options = mnemoscope::app::Options { preferences: preferences.clone(), ..options(ThemeChoice::Dark) };
        let builder = Harness::builder().with_size(vec2(1440.0, 900.0)).with_step_dt(1.0 / 60.0);
        let mut h = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session(), None, options).unwrap());
        settle(&mut h);
        h.state_mut().ask(LessonCommand::Start("forgetting").into());
        wait(&mut h, |app| app.playing().is_some());
        settle(&mut h);
        h
    };
    let mut h = open();
    h.state_mut().ask(LessonCommand::Skip.into());
    h.state_mut().ask(LessonCommand::Skip.into());
    settle(&mut h);
    drop(h);
    let h = open();
    assert_eq!(h.state().playing().map(|p| p.at), Some(2));
    assert_eq!(h.state().timeline().writes(), 512, "and what came before it is set");
}

#[test]
fn a_presentation_has_large_text_few_controls_and_a_clickers_keys() {
    let mut bookmarked = session();
    for position in [640, 1280] {
        bookmarked.bookmarks.push(mnemoscope::session::Bookmark { position, caption: String::new() });
    }
    let mut h = window(bookmarked);
    assert!(h.query_by_label("Source").is_some());
    press(&mut h, Key::Home);
    press(&mut h, Key::F5);
    h.run_steps(3);
    assert!(h.state().presenting() && h.query_by_label("Source").is_none() && h.query_by_label("File").is_none());
    let at = |h: &Window| h.state().timeline().writes();
    press(&mut h, Key::PageDown);
    assert_eq!(at(&h), 640);
    press(&mut h, Key::PageDown);
    press(&mut h, Key::PageDown);
    assert_eq!(at(&h), 1280, "the last bookmark stays");
    press(&mut h, Key::PageUp);
    assert_eq!(at(&h), 640);
    press(&mut h, Key::Escape);
    h.run_steps(3);
    assert!(!h.state().presenting() && h.query_by_label("Source").is_some());
}

#[test]
fn a_teacher_makes_a_lesson_and_plays_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.ron");
    let mut h = window(session());
    palette(&mut h, "Make a lesson");
    assert!(h.state().editing().is_some());
    press(&mut h, Key::Escape);
    press(&mut h, Key::Home);
    h.run_steps(2);
    h.get_by_label("Record this moment").click();
    h.run_steps(3);
    assert_eq!(h.state().editing().unwrap().lesson.steps[1].set.position, Some(0));
    h.get_by(|n| n.label().as_deref() == Some("Title of the step") && matches!(n.role(), Role::TextInput | Role::MultilineTextInput))
        .focus();
    h.run_steps(2);
    chord(&mut h, CTRL, Key::A);
    write(&mut h, "The start");
    h.get_by_label("Ask for something").click();
    h.run_steps(3);
    h.get_by(|n| n.label().as_deref() == Some("Condition") && matches!(n.role(), Role::TextInput | Role::MultilineTextInput)).focus();
    h.run_steps(2);
    chord(&mut h, CTRL, Key::A);
    write(&mut h, "Token(role: \"needl\", index: 5");
    assert!(says(&h, "Not understood"));
    chord(&mut h, CTRL, Key::A);
    write(&mut h, "Token(index: 705)");
    assert!(!says(&h, "Not understood"));
    let editing = h.state().editing().unwrap();
    assert_eq!(editing.lesson.steps[1].ask.as_ref().unwrap().check, Check::Token { index: Some(705), role: None });
    assert_eq!(editing.lesson.steps[1].title, "The start");
    // Closing asks, for it is not saved.
    h.state_mut().ask(LessonCommand::Editor(EditCommand::Close).into());
    h.run_steps(3);
    assert!(says(&h, "The lesson has edits that are not saved"));
    h.get_by_label("Keep editing").click();
    h.run_steps(3);
    let mut made = h.state().editing().unwrap().lesson.clone();
    made.session.backend = BackendChoice::Cpu;
    made.save(&path).unwrap();
    assert_eq!(Lesson::open(&path).unwrap(), made);
    h.state_mut().ask(LessonCommand::Editor(EditCommand::Try).into());
    wait(&mut h, |app| app.playing().is_some());
    settle(&mut h);
    assert_eq!(h.state().playing().map(|p| (p.at, p.is_done())), Some((1, false)));
    h.state_mut().ask(mnemoscope::app::command::ViewCommand::Select(Some(705)).into());
    h.run_steps(3);
    assert!(done(&h));
}

/// Lets frames pass until something in the window says these words.
fn until(h: &mut Window, words: &str) {
    let start = Instant::now();
    while !says(h, words) {
        assert!(start.elapsed() < Duration::from_mins(1), "nothing says `{words}`");
        h.step();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Saves the lesson in the editor as a file of this path, which is asked for in a field of our own.
fn save_as(h: &mut Window, path: &Path) {
    h.state_mut().ask(LessonCommand::Editor(EditCommand::SaveAs).into());
    h.run_steps(3);
    write(h, &path.display().to_string());
    press(h, Key::Enter);
}

#[test]
fn a_lesson_that_cannot_be_written_stays_edited() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("mine.ron"), folder.path().join("missing").join("mine.ron"));
    let mut h = window(session());
    h.state_mut().ask(LessonCommand::New.into());
    h.run_steps(3);
    h.get_by_label("Record this moment").click();
    h.run_steps(3);
    let edited = |h: &Window| h.state().editing().is_some_and(Editing::edited);
    let file = |h: &Window| h.state().editing().unwrap().path.clone();
    save_as(&mut h, &bad);
    until(&mut h, "cannot be written");
    assert!(edited(&h) && file(&h).is_none());
    press(&mut h, Key::Enter);
    assert!(!says(&h, "cannot be written"), "the error is closed");
    h.state_mut().ask(LessonCommand::Editor(EditCommand::Close).into());
    h.run_steps(3);
    assert!(says(&h, "The lesson has edits that are not saved"));
    h.get_by_label("Keep editing").click();
    h.run_steps(3);
    save_as(&mut h, &good);
    wait(&mut h, |app| app.editing().is_some_and(|e| !e.edited()));
    assert_eq!(file(&h).as_deref(), Some(good.as_path()));
    assert_eq!(Lesson::open(&good).unwrap(), h.state().editing().unwrap().lesson);
    // Where another file cannot be written, its own stays its file.
    h.get_by_label("Delete step").click();
    h.run_steps(3);
    save_as(&mut h, &bad);
    until(&mut h, "cannot be written");
    assert!(edited(&h));
    assert_eq!(file(&h).as_deref(), Some(good.as_path()));
    assert_eq!(Lesson::open(&good).unwrap().steps.len(), 2);
    press(&mut h, Key::Enter);
    // Neither another lesson nor the end of the window takes its edits away unasked.
    h.state_mut().ask(LessonCommand::New.into());
    h.run_steps(3);
    assert!(says(&h, "Making another lesson loses them."));
    h.get_by_label("Keep editing").click();
    h.run_steps(3);
    let close = |h: &mut Window| {
        h.input_mut().viewports.entry(ViewportId::ROOT).or_default().events.push(ViewportEvent::Close);
        h.step();
        let commands = h.output().viewport_output[&ViewportId::ROOT].commands.clone();
        h.input_mut().viewports.entry(ViewportId::ROOT).or_default().events.clear();
        h.run_steps(2);
        commands
    };
    assert!(close(&mut h).contains(&ViewportCommand::CancelClose));
    assert!(says(&h, "Closing the window loses them.") && edited(&h));
    h.get_by_label("Lose them").click();
    h.run_steps(3);
    assert!(h.state().editing().is_none());
    assert!(!close(&mut h).contains(&ViewportCommand::CancelClose), "there is nothing left to ask about");
}

#[test]
fn a_teacher_takes_edits_back_in_the_editor_and_the_sessions_outside_it() {
    let mut h = window(session());
    let seed = h.state().session().seed;
    h.state_mut().ask(mnemoscope::app::command::SessionCommand::Seed(seed + 7).into());
    settle(&mut h);
    h.state_mut().ask(LessonCommand::New.into());
    h.run_steps(3);
    let editing = |h: &Window| h.state().editing().unwrap().clone();
    let titles = |h: &Window| editing(h).lesson.steps.into_iter().map(|s| s.title).collect::<Vec<_>>();
    h.get_by_label("Record this moment").click();
    h.run_steps(3);
    assert_eq!(titles(&h), ["First step", "Step 2"]);
    // The pointer is over the editor's window, where it has just clicked.
    chord(&mut h, CTRL, Key::Z);
    assert_eq!((titles(&h), editing(&h).edited()), (vec!["First step".to_owned()], false));
    chord(&mut h, CTRL_SHIFT, Key::Z);
    assert_eq!((titles(&h), editing(&h).edited()), (vec!["First step".to_owned(), "Step 2".to_owned()], true));
    // In a field of the editor too, wherever the pointer is.
    h.hover_at(OUTSIDE);
    h.get_by(|n| n.label().as_deref() == Some("Title of the step") && matches!(n.role(), Role::TextInput | Role::MultilineTextInput))
        .focus();
    h.run_steps(2);
    chord(&mut h, CTRL, Key::A);
    write(&mut h, "The start");
    assert_eq!(titles(&h), ["First step", "The start"]);
    chord(&mut h, CTRL, Key::Z);
    assert_eq!(titles(&h), ["First step", "Step 2"]);
    chord(&mut h, CTRL, Key::Y);
    assert_eq!(titles(&h), ["First step", "The start"]);
    // From its buttons.
    h.get_by_label("Undo in the lesson").click();
    h.run_steps(3);
    h.get_by_label("Undo in the lesson").click();
    h.run_steps(3);
    assert_eq!(titles(&h), ["First step"]);
    h.get_by_label("Redo in the lesson").click();
    h.run_steps(3);
    assert_eq!(titles(&h), ["First step", "Step 2"]);
    assert_eq!(h.state().session().seed, seed + 7, "the session has stayed as it is");
    // Outside the editor the keys are the session's.
    press(&mut h, Key::Escape);
    h.hover_at(OUTSIDE);
    h.run_steps(2);
    chord(&mut h, CTRL, Key::Z);
    settle(&mut h);
    assert_eq!((h.state().session().seed, titles(&h).len()), (seed, 2));
    chord(&mut h, CTRL_SHIFT, Key::Z);
    settle(&mut h);
    assert_eq!((h.state().session().seed, titles(&h).len()), (seed + 7, 2));
}

#[test]
fn what_is_wrong_with_a_lesson_is_said_with_its_place() {
    let step = |ask: &str| {
        format!("(version: 1, title: \"x\", session: (), steps: [(title: \"a\", text: \"b\", ask: (what: \"c\", check: {ask}))])")
    };
    let wrong = |text: &str| Lesson::from_ron(text, "l.ron").unwrap_err().to_string();
    assert!(Lesson::from_ron(&step("Pinned"), "l.ron").is_ok());
    assert_eq!(
        wrong(&step("Lane(name: \"LOLA\", on: true)")),
        "l.ron: steps[0] (`a`): there is no lane `LOLA`; there are OVQ, LoLA, linear, full"
    );
    assert!(
        wrong(&step("Event(lane: \"LoLA\", kind: \"admision\")")).contains("there is no event `admision`; there are founder, admission")
    );
    assert!(wrong(&step("Choose(options: [\"a\"], right: 0)")).contains("two at least"));
    assert!(wrong(&step("Selected(\"centre\")")).contains("cannot be selected"));
    assert!(wrong("(version: 9, title: \"x\", session: (), steps: [])").contains("`version` is 9"));
    assert!(wrong("(version: 1, title: \"x\", session: (), steps: [])").contains("has 0 steps"));
    assert!(wrong("(version: 1, titel: \"x\")").contains("did you mean `title`?"), "{}", wrong("(version: 1, titel: \"x\")"));
}

/// Waits until nothing is under way, and until nothing has begun because of that: what a panel asks for when it is first drawn.
fn rest(h: &mut Window) {
    for _ in 0..4 {
        settle(h);
    }
}

#[test]
fn a_lesson_looks_as_designed() {
    if !adapter() {
        return;
    }
    let mut results = egui_kittest::SnapshotResults::new();
    for (theme, name) in [(ThemeChoice::Dark, "dark"), (ThemeChoice::Light, "light")] {
        let mut h = window_of(session(), 900.0);
        h.state_mut().ask(mnemoscope::app::command::WindowCommand::Theme(theme).into());
        h.state_mut().ask(LessonCommand::Start("lola").into());
        wait(&mut h, |app| app.playing().is_some());
        for _ in 0..2 {
            settle(&mut h);
            h.state_mut().ask(LessonCommand::Skip.into());
        }
        h.state_mut().ask(LessonCommand::Hint.into());
        rest(&mut h);
        results.add(h.try_snapshot_options(format!("lesson_{name}"), &SnapshotOptions::new().threshold(2.5).max_failed_pixels(400)));
        h.state_mut().ask(mnemoscope::app::command::WindowCommand::Present.into());
        rest(&mut h);
        results
            .add(h.try_snapshot_options(format!("lesson_presented_{name}"), &SnapshotOptions::new().threshold(2.5).max_failed_pixels(400)));
    }
}
