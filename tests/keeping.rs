//! What a window keeps and asks: bookmarks and notes, the edits of one that crashed, a trace in a file, the capture of a session.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/window.rs"]
mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{adapter, chord, click, options, says, session, settle, wait, window};
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, PointerButton, Theme, pos2, vec2};
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, SnapshotOptions, SnapshotResults, try_image_snapshot_options};
use mnemoscope::app::command::{LaneCommand, NoteCommand, PanelAct, PictureAct, SessionCommand, TimeCommand, WindowCommand};
use mnemoscope::app::theme::ThemeChoice;
use mnemoscope::app::{App, Options};
use mnemoscope::param::Params;
use mnemoscope::session::plan::load_stream;
use mnemoscope::session::{BackendChoice, Bookmark, CaptureSource, Choice, Chosen, LaneSpec, Session, Source, view};

const CTRL: Modifiers = Modifiers { ctrl: true, command: true, ..Modifiers::NONE };

/// A few tokens of the bundled capture by two lanes: quick to run.
fn small() -> Session {
    let source = Source::Capture(CaptureSource { tokens: Some(256), ..CaptureSource::bundled() });
    let lola = Params::default().with("window", 32).with("cache", 16).with("chunk", 32).with("fmap", "elu1");
    let lanes =
        vec![LaneSpec::new("OVQ", "ovq", Params::default().with("n_max", 32).with("chunk", 64)), LaneSpec::new("LoLA", "lola", lola)];
    Session { source, lanes, ..session() }
}

/// A window with its edits kept in a folder.
fn keeping(session: Session, folder: &Path) -> Harness<'static, App> {
    let options = Options { autosave: Some(folder.to_owned()), ..options(ThemeChoice::Dark) };
    let builder = Harness::builder().with_size(vec2(1440.0, 900.0)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options).unwrap());
    settle(&mut harness);
    harness
}

/// Lets frames pass until something is said.
fn hear(harness: &mut Harness<'_, App>, words: &str) {
    let start = Instant::now();
    while !says(harness, words) {
        assert!(start.elapsed() < Duration::from_secs(30), "nobody says: {words}");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    harness.run_steps(3);
}

fn marks(harness: &Harness<'_, App>) -> Vec<(usize, String)> {
    harness.state().session().bookmarks.into_iter().map(|b| (b.position, b.caption)).collect()
}

#[test]
fn bookmarks_are_set_with_a_caption_gone_through_edited_and_taken_back() {
    let mut harness = window(small());
    let run = harness.state().runs().newest();
    let seek = |harness: &mut Harness<'_, App>, writes| {
        harness.state_mut().ask(TimeCommand::Seek(writes).into());
        harness.run_steps(2);
    };
    seek(&mut harness, 96);
    chord(&mut harness, CTRL, Key::B);
    assert!(says(&harness, "Bookmark after 96 writes"));
    harness.get_by_label("Caption").type_text("the first answer");
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(marks(&harness), [(96, "the first answer".to_owned())]);
    assert!(harness.state().edited() && harness.query_by_label("Bookmark 1: the first answer").is_some());
    assert!(says(&harness, "Set bookmark 1: the first answer. Its flag on the timeline comes back here, and so do B and Shift+B"));
    seek(&mut harness, 224);
    chord(&mut harness, CTRL, Key::B);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(marks(&harness).len(), 2, "a caption is not needed");
    harness.key_press(Key::Home);
    harness.run_steps(2);
    let mut at = |modifiers, key| {
        chord(&mut harness, modifiers, key);
        harness.state().timeline().writes()
    };
    assert_eq!([at(Modifiers::NONE, Key::B), at(Modifiers::NONE, Key::B), at(Modifiers::NONE, Key::B)], [96, 224, 224]);
    assert_eq!([at(Modifiers::SHIFT, Key::B), at(Modifiers::SHIFT, Key::B)], [96, 96]);
    assert!(says(&harness, "No bookmark before this moment"));
    // At a bookmark, it is edited.
    chord(&mut harness, CTRL, Key::B);
    click(&mut harness, "Delete bookmark");
    assert_eq!(marks(&harness), [(224, String::new())]);
    assert!(says(&harness, "Deleted the bookmark; Ctrl+Z brings it back"));
    chord(&mut harness, CTRL, Key::Z);
    assert_eq!(marks(&harness).len(), 2);
    // A mark on the timeline is clicked.
    click(&mut harness, "Bookmark 2: after 224 writes");
    assert_eq!(harness.state().timeline().writes(), 224);
    assert_eq!(harness.state().runs().newest(), run, "nothing runs again for a note");
}

/// A file that looks at what its stream does not have is not opened, and what is on screen stays; what the window saves after an edit is
/// no such file.
#[test]
fn a_view_beyond_the_stream_is_refused_and_never_saved() {
    let folder = tempfile::tempdir().unwrap();
    let [wrong, mine] = ["wrong.ron", "mine.ron"].map(|name| folder.path().join(name));
    let mut asked = small();
    asked.view.token = Some(256);
    asked.save(&wrong, None).unwrap();
    (asked.view.token, asked.view.position, asked.view.query_head) = (Some(255), Some(192), 2);
    asked.view.choices = Chosen::from([("sre".to_owned(), Choice::from([("lane".to_owned(), "LoLA".to_owned())]))]);
    asked.save(&mine, None).unwrap();
    let mut harness = window(small());
    let before = harness.state().runs().newest();
    harness.state_mut().open(wrong);
    hear(&mut harness, "in `view.token`: the token 256 is selected, but the stream has 256 writes, counted from 0");
    assert_eq!(harness.state().runs().newest(), before);
    click(&mut harness, "Close");
    harness.state_mut().open(mine.clone());
    wait(&mut harness, |app| app.timeline().writes() == 192 && app.at_rest());
    let saved = |harness: &mut Harness<'_, App>| {
        chord(harness, CTRL, Key::S);
        wait(harness, |app| !app.edited());
        let saved = Session::open(&mine).unwrap();
        assert_eq!(view::check(&saved, &load_stream(&saved, None).unwrap()), Ok(()));
        saved
    };
    // Shorter, and without the lane that was chosen in a panel: at the end, with nothing selected.
    let source = Source::Capture(CaptureSource { tokens: Some(128), ..CaptureSource::bundled() });
    let lanes = small().lanes[..1].to_vec();
    harness.state_mut().ask(SessionCommand::Whole { source, seed: 0, lanes }.into());
    settle(&mut harness);
    let shorter = saved(&mut harness);
    assert_eq!((shorter.view.position, shorter.view.token, shorter.view.query_head), (None, None, 2));
    assert_eq!((shorter.view.choices, shorter.lanes.len()), (Chosen::new(), 1));
}

#[test]
fn the_flag_of_the_last_moment_is_over_the_playhead_and_hit_there() {
    let mut asked = small();
    asked.bookmarks = vec![Bookmark { position: 256, caption: "all is read".to_owned() }];
    let mut harness = window(asked);
    assert_eq!(harness.state().timeline().writes(), 256, "the playhead is there too");
    let (flag, ruler) = (harness.get_by_label("Bookmark 1: all is read").rect(), harness.get_by_label("Playhead").rect());
    assert!(flag.top() < ruler.top() && flag.right() < 1440.0, "it rises over the ruler: {flag:?} of {ruler:?}");
    let buttons = harness.get_by_label("Go to the end").rect();
    assert!(flag.top() >= buttons.bottom(), "and not into the buttons: {flag:?} under {buttons:?}");
    harness.key_press(Key::Home);
    harness.run_steps(2);
    assert_eq!(harness.state().timeline().writes(), 0);
    // On the pennant, which is over the ruler and left of its pole.
    let at = pos2(flag.center().x - 3.0, flag.top() + 3.0);
    harness.hover_at(at);
    harness.run_steps(2);
    for pressed in [true, false] {
        harness.event(Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE });
        harness.run_steps(1);
    }
    harness.run_steps(2);
    assert_eq!(harness.state().timeline().writes(), 256, "a click goes there");
}

#[test]
fn notes_are_found_by_name_and_written_at_once() {
    let mut harness = window(small());
    chord(&mut harness, CTRL, Key::P);
    harness.run_steps(2);
    harness.event(Event::Text("write notes".to_owned()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(4);
    // The field has the focus: what is typed goes there.
    harness.event(Event::Text("Why token 12?".to_owned()));
    harness.run_steps(2);
    assert_eq!(harness.state().session().notes, "Why token 12?");
    click(&mut harness, "Edit");
    assert!(harness.query_by_label("Write notes…").is_some());
}

/// A window as it is for people: paths are asked for by the system, unless they are to be typed.
fn with_dialogs_of_the_system(session: Session) -> Harness<'static, App> {
    let options = Options { own_dialogs: false, ..options(ThemeChoice::Dark) };
    let builder = Harness::builder().with_size(vec2(1440.0, 900.0)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, session, None, options).unwrap());
    settle(&mut harness);
    harness
}

/// Types a path where one is asked for, and presses a button.
fn type_path(harness: &mut Harness<'_, App>, path: &Path, button: &str) {
    harness.get_by_role_and_label(Role::TextInput, "Path").type_text(path.to_str().unwrap());
    harness.run_steps(2);
    click(harness, button);
}

#[test]
fn what_is_saved_and_exported_can_go_to_a_typed_path() {
    let folder = tempfile::tempdir().unwrap();
    let mut harness = with_dialogs_of_the_system(small());
    click(&mut harness, "File");
    click(&mut harness, "Save with trace to path…");
    type_path(&mut harness, &folder.path().join("a"), "Save");
    let file = folder.path().join("a.mnemo");
    wait(&mut harness, |app| file.exists() && !app.edited() && app.at_rest());
    // The same in the field of the session's own path, which says so.
    click(&mut harness, "File");
    click(&mut harness, "Save session to path…");
    assert!(says(&harness, "A name that ends in .mnemo saves the trace as well"));
    click(&mut harness, "Cancel");
    for (act, name) in [(PictureAct::ExportPanel(Some("growth")), "panel"), (PictureAct::ExportWindow, "window")] {
        harness.state_mut().ask(WindowCommand::Picture(act).into());
        harness.run_steps(2);
        click(&mut harness, "SVG");
        click(&mut harness, "Export to path…");
        type_path(&mut harness, &folder.path().join(name), "Export");
        let file = folder.path().join(name).with_extension("svg");
        wait(&mut harness, |_| file.exists());
    }
    // An animation asks the same question.
    harness.state_mut().ask(WindowCommand::Picture(PictureAct::Animate(Some("growth"))).into());
    harness.run_steps(2);
    click(&mut harness, "Export to path…");
    assert!(says(&harness, "Export the animation as APNG") && harness.query_by_role_and_label(Role::TextInput, "Path").is_some());
}

#[test]
fn a_typed_path_is_not_offered_over_a_capture() {
    let builder = Harness::builder().with_size(vec2(1440.0, 900.0)).with_step_dt(1.0 / 60.0);
    let capture = Some("captures/c.safetensors".into());
    let mut harness = builder.build_eframe(|cc| App::new(&cc.egui_ctx, small(), capture, options(ThemeChoice::Dark)).unwrap());
    settle(&mut harness);
    for (command, path) in [(WindowCommand::SaveAsPath, "captures/c.ron"), (WindowCommand::SaveWithTracePath, "captures/c.mnemo")] {
        harness.state_mut().ask(command.into());
        harness.run_steps(3);
        let offered = harness.get_by_role_and_label(Role::TextInput, "Path").value();
        assert_eq!(offered.as_deref().map(Path::new), Some(Path::new(path)));
        click(&mut harness, "Cancel");
    }
}

#[test]
fn notes_are_typed_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.ron");
    let mut asked = small();
    asked.bookmarks = vec![Bookmark { position: 64, caption: "early".to_owned() }, Bookmark { position: 5000, caption: "late".to_owned() }];
    asked.save(&file, None).unwrap();
    let mut harness = window(small());
    harness.state_mut().open(file.clone());
    wait(&mut harness, |app| app.session().bookmarks.len() == 2 && app.at_rest());
    harness.state_mut().ask(WindowCommand::ShowPanel("notes").into());
    harness.run_steps(3);
    assert!(says(&harness, "beyond the end of this stream, which has 256 writes"));
    for (role, name, text) in [
        (Role::TextInput, "Title", "Mine"),
        (Role::MultilineTextInput, "Caption of the session", "Look here"),
        (Role::MultilineTextInput, "Notes", "b and B"),
        (Role::TextInput, "Caption of bookmark 1", "very "),
    ] {
        harness.get_by_role_and_label(role, name).focus();
        harness.run_steps(2);
        harness.get_by_role_and_label(role, name).type_text(text);
        harness.run_steps(2);
    }
    let found = harness.state().session();
    assert_eq!((found.title.as_str(), found.caption.as_str(), found.notes.as_str()), ("Mine", "Look here", "b and B"));
    assert!(found.bookmarks[0].caption.contains("very ") && found.bookmarks[0].caption.contains("early"), "{:?}", found.bookmarks);
    click(&mut harness, "Go to bookmark 2");
    assert_eq!(harness.state().timeline().writes(), 256, "at the end");
    click(&mut harness, "Go to bookmark 1");
    assert_eq!(harness.state().timeline().writes(), 64);
    click(&mut harness, "Delete bookmark 2");
    chord(&mut harness, CTRL, Key::S);
    wait(&mut harness, |app| !app.edited());
    let saved = Session::open(&file).unwrap();
    assert_eq!((saved.title.as_str(), saved.notes.as_str(), saved.bookmarks.len()), ("Mine", "b and B", 1));
    harness.state_mut().ask(WindowCommand::Undo.into());
    harness.run_steps(2);
    assert_eq!(harness.state().session().bookmarks.len(), 2);
}

/// A folder with a session and its capture, which is then renamed.
fn lost() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("c.safetensors");
    std::fs::copy("assets/smollm2_needle_2k_layer12_kv0.safetensors", &capture).unwrap();
    let source = Source::Capture(CaptureSource { tokens: Some(128), ..CaptureSource::of(&capture) });
    let lanes = vec![LaneSpec::new("full", "full", Params::default())];
    Session { source, lanes, seed: 41, backend: BackendChoice::Cpu, ..Session::default() }
        .save(&folder.path().join("s.ron"), None)
        .unwrap();
    std::fs::rename(&capture, folder.path().join("renamed.safetensors")).unwrap();
    folder
}

fn capture_of(session: &Session) -> &CaptureSource {
    if let Source::Capture(capture) = &session.source { capture } else { panic!("a capture") }
}

#[test]
fn a_capture_that_is_not_there_is_asked_for() {
    let folder = lost();
    let mut harness = window(small());
    harness.state_mut().open(folder.path().join("s.ron"));
    hear(&mut harness, "The capture of s.ron is not there");
    assert!(says(&harness, "the capture c.safetensors is not there"));
    click(&mut harness, "Cancel");
    assert_eq!(harness.state().session().seed, 0, "nothing was opened");
    // Where there is no dialog of the system a path is asked for.
    harness.state_mut().open(folder.path().join("s.ron"));
    hear(&mut harness, "The capture of s.ron is not there");
    click(&mut harness, "Find it…");
    hear(&mut harness, "Find the session's capture");
    click(&mut harness, "Cancel");
    hear(&mut harness, "The capture of s.ron is not there");
    click(&mut harness, "Find it…");
    hear(&mut harness, "Find the session's capture");
    harness.get_by_label("Path").type_text(folder.path().join("renamed.safetensors").to_str().unwrap());
    harness.run_steps(2);
    click(&mut harness, "Open file");
    wait(&mut harness, |app| app.session().seed == 41 && app.at_rest());
    let app = harness.state();
    assert_eq!((app.problem(), app.runs().current().unwrap().plan.stream.writes()), (None, 128));
    assert!(app.edited(), "its file names another place");
    assert!(capture_of(&app.session()).path.ends_with("renamed.safetensors"));
}

#[test]
fn a_session_is_opened_without_its_capture() {
    let folder = lost();
    let mut harness = window(small());
    harness.state_mut().open(folder.path().join("s.ron"));
    hear(&mut harness, "The capture of s.ron is not there");
    click(&mut harness, "Open without it");
    wait(&mut harness, |app| app.problem().is_some());
    harness.run_steps(3);
    assert_eq!(harness.state().session().seed, 41);
    assert!(harness.state().runs().current().is_none() && says(&harness, "the capture c.safetensors is not there"));
}

#[test]
fn another_capture_is_taken_only_knowingly() {
    let folder = lost();
    let (renamed, capture) = (folder.path().join("renamed.safetensors"), folder.path().join("c.safetensors"));
    let mut bytes = std::fs::read(&renamed).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::write(&capture, bytes).unwrap();
    let mut harness = window(small());
    harness.state_mut().open(folder.path().join("s.ron"));
    hear(&mut harness, "Not the capture that s.ron was made with");
    assert!(says(&harness, "may not be true of this file") && says(&harness, "the SHA-256 of its content begins with"));
    click(&mut harness, "Go on with this file");
    wait(&mut harness, |app| app.session().seed == 41 && app.at_rest());
    let app = harness.state();
    assert!(app.problem().is_none() && app.edited());
    let old = Session::open(&folder.path().join("s.ron")).unwrap();
    assert_ne!(capture_of(&app.session()).sha256, capture_of(&old).sha256);
    chord(&mut harness, CTRL, Key::S);
    wait(&mut harness, |app| !app.edited());
    let new = Session::open(&folder.path().join("s.ron")).unwrap();
    assert_eq!((capture_of(&new).sha256.as_ref(), new.seed), (capture_of(&harness.state().session()).sha256.as_ref(), 41));
    assert_ne!(capture_of(&new).sha256, capture_of(&old).sha256);
}

/// The files in a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder).map_or_else(|_| Vec::new(), |all| all.map(|e| e.unwrap().path()).collect())
}

/// Lets frames pass until the folder has so many files.
fn until_files(harness: &mut Harness<'_, App>, folder: &Path, count: usize) {
    wait(harness, |_| files(folder).len() == count);
}

/// What a window that crashed with an edit would have left in `folder`: that of one that lives, without its lock.
fn crash(folder: &Path) {
    let living = tempfile::tempdir().unwrap();
    let mut harness = keeping(small(), living.path());
    harness.state_mut().ask(NoteCommand::Title("Half done".to_owned()).into());
    harness.state_mut().ask(SessionCommand::Seed(77).into());
    until_files(&mut harness, living.path(), 2);
    // The last of the two edits.
    let kept = |text: &str| text.contains("Half done") && text.contains("seed: 77");
    wait(&mut harness, |_| files(living.path()).iter().any(|f| std::fs::read_to_string(f).is_ok_and(|t| kept(&t))));
    for file in files(living.path()).into_iter().filter(|f| f.extension().is_some_and(|e| e == "ron")) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    // A second window beside the first is not offered what the first keeps.
    let mut second = keeping(small(), living.path());
    second.run_steps(30);
    assert!(!says(&second, "Edits of a window that did not close"));
    drop(second);
    drop(harness);
    assert_eq!(files(living.path()), Vec::<std::path::PathBuf>::new(), "a clean end leaves nothing");
}

#[test]
fn the_edits_of_a_window_that_crashed_are_recovered() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("autosave");
    crash(&folder);
    assert_eq!(files(&folder).len(), 1);
    let mut harness = keeping(small(), &folder);
    hear(&mut harness, "Edits of a window that did not close");
    assert!(says(&harness, "less than a minute ago") && says(&harness, "“Half done”, a session that was never saved"));
    click(&mut harness, "Later");
    drop(harness);
    let mut harness = keeping(small(), &folder);
    hear(&mut harness, "Edits of a window that did not close");
    click(&mut harness, "Recover");
    wait(&mut harness, |app| app.session().seed == 77 && app.at_rest());
    let app = harness.state();
    assert!(app.edited() && app.session().title == "Half done" && app.runs().current().unwrap().ended);
    // They are this window's own now.
    wait(&mut harness, |_| files(&folder).iter().any(|f| std::fs::read_to_string(f).is_ok_and(|t| t.contains("Half done"))));
    assert_eq!(files(&folder).len(), 2, "{:?}", files(&folder));
    drop(harness);
    assert_eq!(files(&folder).len(), 0);
}

#[test]
fn the_edits_of_a_window_that_crashed_are_thrown_away() {
    let home = tempfile::tempdir().unwrap();
    crash(home.path());
    let mut harness = keeping(small(), home.path());
    hear(&mut harness, "Edits of a window that did not close");
    click(&mut harness, "Discard");
    assert_eq!((harness.state().session().seed, files(home.path()).len()), (0, 0));
}

#[test]
fn a_session_with_its_trace_opens_at_once_and_computes_states_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mnemo");
    let mut harness = window(small());
    harness.state_mut().save_with_trace(path.clone());
    wait(&mut harness, |_| path.exists());
    wait(&mut harness, |app| !app.edited() && app.at_rest());
    let before = harness.state().runs().current().unwrap();
    let outputs = |run: &mnemoscope::app::state::Run| run.traces[0].channel("outputs").unwrap().values(0).clone();
    let kept = outputs(before);
    let mut other = window(Session { seed: 5, ..small() });
    let run = other.state().runs().newest();
    other.state_mut().open(path.clone());
    wait(&mut other, |app| app.runs().newest() > run && app.at_rest());
    let app = other.state();
    let now = app.runs().current().unwrap();
    assert_eq!((outputs(now), now.reached, now.ended, now.error.as_ref()), (kept, 256, true, None));
    let made = now.saved.as_ref().unwrap();
    assert!(!made.gpu && now.backend.as_ref().is_some_and(|b| b.reason.starts_with("the trace was read from a file")));
    assert!(!app.edited() && app.session().seed == 0 && app.session().lanes == small().lanes);
    // A panel that needs the state of another moment gets it.
    other.state_mut().ask(WindowCommand::ShowPanel("state").into());
    other.state_mut().ask(TimeCommand::Seek(128).into());
    settle(&mut other);
    assert!(!says(&other, "is being computed"));
    assert!(other.state().runs().current().unwrap().banners.is_empty(), "it was made here");
    // Run again, it is the same, bit for bit, and that is said.
    let saved = other.state().runs().newest();
    other.state_mut().ask(SessionCommand::Reset.into());
    wait(&mut other, |app| app.runs().newest() > saved && app.at_rest());
    hear(&mut other, "The trace is that of the file, bit for bit (made on CPU");
    // An edit runs it again, from its own stream's source.
    let saved = other.state().runs().newest();
    other.state_mut().ask(LaneCommand::Duplicate(0).into());
    wait(&mut other, |app| app.runs().newest() > saved && app.at_rest());
    assert!(other.state().runs().current().unwrap().saved.is_none());
    // Ctrl+S writes the file again with its trace.
    chord(&mut other, CTRL, Key::S);
    wait(&mut other, |app| !app.edited());
    let again = mnemoscope::session::saved::open(&path).unwrap();
    assert_eq!((again.plan.lanes.len(), again.traces.len()), (3, 3));
    // A damaged one is refused.
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    other.state_mut().open(path);
    hear(&mut other, "is no session with its trace, or is damaged");
}

/// A picture of the middle of the window in both themes, after `prepare`.
fn pictures(results: &mut SnapshotResults, name: &str, session: &Session, prepare: impl Fn(&mut Harness<'_, App>)) {
    if !adapter() {
        return;
    }
    for (theme, choice, of_window) in [("light", ThemeChoice::Light, Theme::Light), ("dark", ThemeChoice::Dark, Theme::Dark)] {
        let builder = Harness::builder().with_size(vec2(1100.0, 700.0)).with_step_dt(1.0 / 60.0).with_render_cursor(false);
        let asked = session.clone();
        let mut harness =
            builder.with_theme(of_window).wgpu().build_eframe(|cc| App::new(&cc.egui_ctx, asked, None, options(choice)).unwrap());
        settle(&mut harness);
        prepare(&mut harness);
        harness.run_steps(20);
        let picture = harness.render().unwrap();
        let options = SnapshotOptions::new().threshold(2.5).max_failed_pixels(400);
        results.add(try_image_snapshot_options(&picture, format!("{name}_{theme}"), &options));
    }
}

#[test]
fn bookmarks_and_notes_look_as_designed() {
    let mut results = SnapshotResults::new();
    let mut asked = small();
    asked.title = "What LoLA keeps".to_owned();
    asked.caption = "A sliding window of 32, a sparse cache of 16. The needle is at the end of the first half.".to_owned();
    asked.notes = "Compare with a cache of 64.\nAsk why token 12 is kept.".to_owned();
    let mark = |position, caption: &str| Bookmark { position, caption: caption.to_owned() };
    asked.bookmarks = vec![mark(64, "the cache is full"), mark(128, "halfway"), mark(256, ""), mark(4096, "of a longer stream")];
    asked.view.position = Some(128);
    pictures(&mut results, "notes", &asked, |harness| {
        harness.state_mut().ask(WindowCommand::ShowPanel("notes").into());
        harness.state_mut().ask(WindowCommand::Panel { name: Some("notes"), act: PanelAct::Maximise }.into());
        settle(harness);
    });
    pictures(&mut results, "bookmark_dialog", &asked, |harness| chord(harness, CTRL, Key::B));
}

#[test]
fn questions_look_as_designed() {
    let mut results = SnapshotResults::new();
    let home = tempfile::tempdir().unwrap();
    let session = Session { title: "What LoLA keeps".to_owned(), seed: 77, ..small() };
    pictures(&mut results, "recover_dialog", &small(), |harness| {
        harness.state_mut().show_dialog(mnemoscope::app::dialogs::Dialog::Recover {
            file: home.path().join("a.ron"),
            when: "3 minutes ago".to_owned(),
            what: "“What LoLA keeps”, needle.ron: the bundled capture with OVQ, LoLA".to_owned(),
        });
    });
    let lost = |found: Option<&str>, message: &str| mnemoscope::app::dialogs::LostCapture {
        path: "/home/me/needle.ron".into(),
        session: Box::new(session.clone()),
        kept: Box::new(session.clone()),
        message: message.to_owned(),
        found: found.map(str::to_owned),
    };
    pictures(&mut results, "capture_missing_dialog", &small(), |harness| {
        let words = "the capture c.safetensors is not there (/home/me/c.safetensors): put it there, or name the place where it is";
        harness.state_mut().show_dialog(mnemoscope::app::dialogs::Dialog::Capture(lost(None, words)));
    });
    pictures(&mut results, "capture_differs_dialog", &small(), |harness| {
        let words = "/home/me/c.safetensors is not the capture that the session was made with: the SHA-256 of its content begins with 0123456789ab, that of the session's capture with ba7816bf8f01";
        harness.state_mut().show_dialog(mnemoscope::app::dialogs::Dialog::Capture(lost(Some("0123"), words)));
    });
}
