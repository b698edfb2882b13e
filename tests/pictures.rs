//! Pictures as files: SVG read as XML and drawn by librsvg beside the PNG of the same panel, animations read back frame by frame, and
//! all of it where there is no adapter.
//!
//! What needs librsvg's `rsvg-convert`, or Python with Pillow, is skipped with a word where it is not here; `MNEMOSCOPE_REQUIRE_RSVG=1` and
//! `MNEMOSCOPE_REQUIRE_PYTHON=1` make that a failure.

#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

#[path = "common/window.rs"]
mod common;
#[path = "common/python.rs"]
mod python;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::adapter;
use eframe::egui::OutputCommand;
use eframe::egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use image::RgbaImage;
use mnemoscope::app::App;
use mnemoscope::app::command::{PictureAct, TimeCommand, WindowCommand};
use mnemoscope::app::offscreen::{Setting, Stage, Unsettled};
use mnemoscope::app::picture::Subject;
use mnemoscope::app::picture::caption::session_hash;
use mnemoscope::app::picture::film::{self, FilmError, Reel, Target};
use mnemoscope::app::theme;
use mnemoscope::panel::PANELS;
use mnemoscope::session::{BackendChoice, CaptureSource, Choice, Chosen, Session, Source};
use roxmltree::Document;

/// 512 tokens of the bundled capture, on the CPU, with a token selected, so that panels about one have something to show.
fn session() -> Session {
    let source = Source::Capture(CaptureSource { tokens: Some(512), ..CaptureSource::bundled() });
    let mut session = Session { source, backend: BackendChoice::Cpu, title: "A needle & <its> haystack".into(), ..Session::default() };
    session.caption = "What the needle does to each memory.".into();
    session.view.token = Some(200);
    session.view.read = Some(400);
    session
}

fn setting(panel: &str, size: [u32; 2], dark: bool) -> Setting {
    Setting { subject: Subject::panel(panel).unwrap(), size, scale: 1.0, dark, session: session_hash(&session()) }
}

/// The window on a stage, its run complete.
fn settled(stage: &mut Stage) -> App {
    let mut app = stage.app(session(), None).unwrap();
    stage.settle(&mut app, &AtomicBool::new(false)).unwrap();
    app
}

/// Shows another panel.
fn turn(stage: &mut Stage, app: &mut App, panel: &'static str) {
    stage.show(app, Subject::Panel(panel));
    stage.settle(app, &AtomicBool::new(false)).unwrap();
}

fn svg(stage: &Stage, app: &App) -> String {
    stage.svg(&stage.caption(app).unwrap())
}

/// Everything that stands in the document as text, element by element.
fn texts(document: &Document<'_>) -> Vec<String> {
    let elements = document.descendants().filter(|n| n.has_tag_name("text"));
    elements.map(|n| n.descendants().filter(roxmltree::Node::is_text).filter_map(|t| t.text()).collect()).collect()
}

#[test]
fn every_panel_is_a_document_of_its_own_in_both_themes() {
    for dark in [false, true] {
        let mut stage = Stage::drawing(setting("growth", [640, 420], dark)).unwrap();
        let mut app = settled(&mut stage);
        for entry in PANELS {
            turn(&mut stage, &mut app, entry.name);
            let text = svg(&stage, &app);
            assert_eq!(text, svg(&stage, &app), "{}: the same shapes are the same bytes", entry.name);
            let document = Document::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            let root = document.root_element();
            let values = document.descendants().flat_map(|n| n.attributes()).filter(|a| a.name() != "href").map(|a| a.value());
            assert!(values.into_iter().all(|v| !v.contains("NaN") && v != "inf"), "{}", entry.name);
            // What is referred to is there.
            let ids: BTreeSet<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
            let clips = document.descendants().filter_map(|n| n.attribute("clip-path"));
            let used = document
                .descendants()
                .filter(|n| n.has_tag_name("use"))
                .filter_map(|n| n.attribute(("http://www.w3.org/1999/xlink", "href")));
            for id in clips.map(|c| c.trim_start_matches("url(#").trim_end_matches(')')).chain(used.map(|u| u.trim_start_matches('#'))) {
                assert!(ids.contains(id), "{}: {id}", entry.name);
            }
            // The paper, the caption under the panel, and what the file says of itself.
            let paper = root.children().find(|n| n.has_tag_name("rect")).and_then(|n| n.attribute("fill")).unwrap();
            assert_eq!(paper, if dark { "#11141a" } else { "#ffffff" });
            let words = texts(&document);
            let under = format!("{}. A needle & <its> haystack. Lanes: OVQ, LoLA, linear, full. 8 of 8 steps done,", entry.title);
            assert!(words.iter().any(|w| w.starts_with(&under)), "{}: {words:?}", entry.name);
            assert_eq!(root.attribute("data-session-sha256"), Some(session_hash(&session()).as_str()));
            assert_eq!(root.attribute("data-step"), Some("8"));
            let child = |name: &str| root.children().find(|n| n.has_tag_name(name)).and_then(|n| n.text()).unwrap_or_default().to_owned();
            assert_eq!(child("title"), format!("{} · A needle & <its> haystack", entry.title));
            let description = child("desc");
            assert!(
                description.contains("What the needle does to each memory.")
                    && description.contains("8 of 8 steps done, 512 of 512 writes."),
                "{description}"
            );
            let creator =
                document.descendants().find(|n| n.has_tag_name(("http://purl.org/dc/elements/1.1/", "creator"))).and_then(|n| n.text());
            assert_eq!(creator, Some(concat!("Mnemoscope ", env!("CARGO_PKG_VERSION"))));
        }
    }
}

/// The playhead after so many steps of 64, as `screenshot --step` and `animate` put it, once the window has come to rest.
fn at_step(stage: &mut Stage, app: &mut App, step: usize) -> String {
    app.ask(TimeCommand::Seek(64 * step).into());
    stage.settle(app, &AtomicBool::new(false)).unwrap();
    svg(stage, app)
}

/// A panel that waits until the playhead has stood still for a moment is waited for.
#[test]
fn the_numbers_of_a_formula_are_in_a_picture_of_a_step_before_the_end() {
    let mut of_step = session();
    of_step.view.read = None;
    let mut stage = Stage::drawing(setting("formula", [900, 800], false)).unwrap();
    let mut app = stage.app(of_step, None).unwrap();
    stage.settle(&mut app, &AtomicBool::new(false)).unwrap();
    for step in [5, 7, 4] {
        let text = at_step(&mut stage, &mut app, step);
        let document = Document::parse(&text).unwrap();
        let words = texts(&document);
        assert!(words.iter().all(|w| !w.contains("Waiting for") && !w.contains("being computed")), "step {step}: {words:?}");
        let last = format!("of read {}", 64 * step - 1);
        assert!(words.iter().any(|w| w.contains(&last)), "step {step}: {words:?}");
        // What the lane recorded stands beside what its state before the chunk gives.
        assert!(words.iter().any(|w| w.contains("recorded")), "step {step}: {words:?}");
    }
}

#[test]
fn rows_are_sorted_as_of_the_step_of_the_picture_and_every_time_alike() {
    for by in ["by count", "by last use", "by similarity"] {
        let sorted = || {
            let mut session = session();
            session.view.choices = Chosen::from([("assignments".to_owned(), Choice::from([("order".to_owned(), by.to_owned())]))]);
            let mut stage = Stage::drawing(setting("assignments", [900, 420], false)).unwrap();
            let mut app = stage.app(session, None).unwrap();
            stage.settle(&mut app, &AtomicBool::new(false)).unwrap();
            // The steps of a dictionary are counted from 0.
            [3, 6].map(|step| (step - 1, at_step(&mut stage, &mut app, step)))
        };
        let (once, again) = (sorted(), sorted());
        for (step, text) in &once {
            let words = texts(&Document::parse(text).unwrap());
            let of = format!("as of step {step}");
            assert!(words.contains(&of), "{by}: {of} is not among {words:?}");
        }
        assert!(once == again, "{by}: the same picture, byte for byte");
    }
}

#[test]
fn marks_are_vectors_letters_are_text_and_heatmaps_are_pictures() {
    let mut stage = Stage::drawing(setting("growth", [640, 420], false)).unwrap();
    let mut app = settled(&mut stage);
    let count = |text: &str, tag: &str| Document::parse(text).unwrap().descendants().filter(|n| n.has_tag_name(tag)).count();
    let growth = svg(&stage, &app);
    assert_eq!(count(&growth, "image"), 0, "lines and axes are no pictures");
    assert!(count(&growth, "path") > 4 && count(&growth, "text") > 10);
    let document = Document::parse(&growth).unwrap();
    let words = texts(&document);
    // Axis, ticks and legend can be read, and searched for, as on screen.
    assert!(words.iter().any(|w| w.contains("writes seen") || w.contains("step")), "{words:?}");
    assert!(words.iter().any(|w| w == "0"), "{words:?}");
    // What a screen reader says of the plot is in the description.
    let description = document.root_element().children().find(|n| n.has_tag_name("desc")).and_then(|n| n.text()).unwrap();
    assert!(description.lines().count() >= 3, "{description}");
    turn(&mut stage, &mut app, "residency");
    assert!(count(&svg(&stage, &app), "image") >= 1);
    turn(&mut stage, &mut app, "map");
    let map = svg(&stage, &app);
    assert!(count(&map, "circle") > 100, "tokens and centroids are marks of their own");
    assert_eq!(count(&map, "image"), 0);
}

fn rsvg() -> bool {
    let here = Command::new("rsvg-convert").arg("--version").output().is_ok_and(|o| o.status.success());
    assert!(here || std::env::var_os("MNEMOSCOPE_REQUIRE_RSVG").is_none(), "rsvg-convert is required, and not here");
    if !here {
        eprintln!("skipped: rsvg-convert is not here");
    }
    here
}

/// The mean of each square of 16 x 16 pixels, channel by channel.
fn blocks(picture: &RgbaImage) -> Vec<[f32; 3]> {
    let (columns, rows) = (picture.width() / 16, picture.height() / 16);
    let mean = |column: u32, row: u32| {
        let mut sum = [0.0; 3];
        for (x, y) in (0..256).map(|i| (column * 16 + i % 16, row * 16 + i / 16)) {
            (0..3).for_each(|c| sum[c] += f32::from(picture.get_pixel(x, y).0[c]) / 256.0);
        }
        sum
    };
    (0..rows).flat_map(|row| (0..columns).map(move |column| mean(column, row))).collect()
}

#[test]
fn a_renderer_draws_the_svg_as_the_window_draws_the_panel() {
    if !rsvg() || !adapter() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut drawing = Stage::drawing(setting("growth", [640, 416], false)).unwrap();
    let mut painting = Stage::painting(setting("growth", [640, 416], false)).unwrap();
    let (mut drawn, mut painted) = (settled(&mut drawing), settled(&mut painting));
    let keep = std::env::var_os("MNEMOSCOPE_KEEP_PICTURES").map(PathBuf::from);
    for entry in PANELS {
        turn(&mut drawing, &mut drawn, entry.name);
        turn(&mut painting, &mut painted, entry.name);
        let (from, to) = (folder.path().join("a.svg"), folder.path().join("a.png"));
        std::fs::write(&from, svg(&drawing, &drawn)).unwrap();
        let converted = Command::new("rsvg-convert").arg(&from).arg("-o").arg(&to).output().unwrap();
        assert!(converted.status.success(), "{}: {}", entry.name, String::from_utf8_lossy(&converted.stderr));
        let there = image::open(&to).unwrap().to_rgba8();
        let here = painting.picture().unwrap();
        if let Some(keep) = &keep {
            std::fs::copy(&from, keep.join(format!("{}.svg", entry.name))).unwrap();
            there.save(keep.join(format!("{}-rsvg.png", entry.name))).unwrap();
            here.save(keep.join(format!("{}.png", entry.name))).unwrap();
        }
        assert_eq!(there.dimensions(), here.dimensions());
        let apart: Vec<f32> =
            blocks(&there).iter().zip(blocks(&here)).flat_map(|(a, b)| (0..3).map(move |c| (a[c] - b[c]).abs())).collect();
        let mean = apart.iter().sum::<f32>() / apart.len() as f32;
        let most = apart.iter().copied().fold(0.0, f32::max);
        eprintln!("{}: mean {mean:.2}, at most {most:.1} of 255", entry.name);
        // The renderer's letters are another font's: they are as dark, but not where the window's are. A missing heatmap, a wrong colour or
        // a shifted plot is far more than this.
        assert!(mean < 2.5 && most < 60.0, "{}: mean {mean}, at most {most}", entry.name);
    }
}

/// Runs the program; its code and what it said on standard error.
fn mnemoscope(args: &[&str], hidden: bool) -> (i32, String) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope"));
    command.args(args).env_remove("RUST_LOG");
    if hidden {
        // No driver of Vulkan or GL is found, and the only interface that may be looked for is not on this system.
        command.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent").env("WGPU_BACKEND", "noop");
    }
    let output = command.output().unwrap();
    // A driver's own complaint about a desktop that is not there is not ours.
    let said = String::from_utf8_lossy(&output.stderr).lines().filter(|l| !l.contains("XDG_RUNTIME_DIR")).collect::<Vec<_>>().join("\n");
    (output.status.code().unwrap_or(-1), said)
}

/// A folder with the session in it.
fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.ron");
    session().save(&path, None).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

fn name(folder: &tempfile::TempDir, file: &str) -> String {
    folder.path().join(file).display().to_string()
}

#[test]
fn without_an_adapter_a_panel_is_an_svg_of_the_same_bytes() {
    let (folder, file) = folder();
    let [a, b, png] = ["a.svg", "b.svg", "c.png"].map(|f| name(&folder, f));
    let shot = |out: &str, hidden| mnemoscope(&["screenshot", &file, "--panel", "assignments", "--step", "5", "--out", out], hidden);
    assert_eq!(shot(&a, true), (0, String::new()));
    assert_eq!(shot(&b, false), (0, String::new()));
    let text = std::fs::read_to_string(&a).unwrap();
    assert_eq!(text, std::fs::read_to_string(&b).unwrap());
    assert!(text.contains("data-step=\"5\""));
    // The hash in the file is that of the session's own file.
    let hash = session_hash(&Session::open(Path::new(&file)).unwrap());
    assert!(text.contains(&format!("data-session-sha256=\"{hash}\"")));
    let (code, said) = shot(&png, true);
    assert!(code == 4 && said.contains("no adapter to paint with") && said.contains("SVG needs none"), "{code}: {said}");
    assert!(!Path::new(&png).exists());
}

#[test]
fn what_is_chosen_inside_a_panel_is_in_its_picture() {
    let (folder, file) = folder();
    let [chosen, kept, plain] = ["chosen.svg", "kept.svg", "plain.svg"].map(|f| name(&folder, f));
    let picture = |file: &str, more: &[&str], out: &str| {
        let args = [&["screenshot", file, "--panel", "state", "--out", out], more].concat();
        let (code, said) = mnemoscope(&args, true);
        assert_eq!(code, 0, "{said}");
        std::fs::read_to_string(out).unwrap()
    };
    let chosen = picture(&file, &["--choose", "state.view=collisions"], &chosen);
    let plain = picture(&file, &[], &plain);
    assert!(chosen.contains(">cosine<") && !plain.contains(">cosine<"), "only Collisions has cosines");
    let mut session = Session::open(Path::new(&file)).unwrap();
    session.view.choices.entry("state".to_owned()).or_default().insert("view".to_owned(), "collisions".to_owned());
    let own = name(&folder, "own.ron");
    session.save(Path::new(&own), None).unwrap();
    let [asked, own_hash] = [&file, &own].map(|f| session_hash(&Session::open(Path::new(f)).unwrap()));
    // The caption has the first letters of the hash, and its words stand as wide as they are.
    let words = |svg: &str, hash: &str| texts(&Document::parse(svg).unwrap()).join(" ").replace(&hash[..12], "");
    let same = words(&picture(&own, &[], &kept), &own_hash) == words(&chosen, &asked);
    assert!(same, "asked for on the command line or in the session, it is the same");
}

#[test]
fn what_is_asked_for_wrongly_is_answered_with_what_is_there() {
    let (folder, file) = folder();
    let [gif, svg] = ["a.gif", "a.svg"].map(|f| name(&folder, f));
    let cases: [(&[&str], &str); 9] = [
        (&["screenshot", &file, "--choose", "state.view=colisions", "--out", &svg], "the nearest is `collisions`"),
        (&["screenshot", &file, "--choose", "sre.lane=Lola", "--out", &svg], "--choose sre.lane: there is no such lane: `Lola`"),
        (&["screenshot", &file, "--panel", "groth", "--out", &svg], "the nearest name is `growth`"),
        (&["screenshot", &file, "--panel", "cahce", "--out", &svg], "the nearest name is `residency`"),
        (&["screenshot", &file, "--out", &gif], "a picture's name ends in .png or .svg"),
        (&["screenshot", &file, "--panel", "growth", "--step", "9", "--out", &svg], "--step is 9, but the timeline has 8 steps"),
        (&["animate", &file, "--fps", "0", "--out", &gif], "a number of frames a second from 0.1 to 60"),
        (&["animate", &file, "--every", "0", "--out", &gif], "--every"),
        (&["animate", &file, "--out", &svg], "an animation is one PNG (.png or .apng) or a folder of PNGs, and a name that ends in .svg"),
    ];
    for (args, words) in cases {
        let (code, said) = mnemoscope(args, false);
        assert!(code == 2 && said.contains(words), "{args:?}: {code}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the session alone");
}

/// The title on a panel's tab names it too; a folder that is not there is said, and no file that nobody has heard of.
#[test]
fn a_picture_is_named_by_a_title_and_goes_into_a_folder_that_is_there() {
    let (folder, file) = folder();
    let [svg, lost, inside] = ["a.svg", "no/a.svg", "s.ron/a.svg"].map(|f| name(&folder, f));
    let shot = |out: &str| mnemoscope(&["screenshot", &file, "--panel", "Cache", "--size", "360x260", "--out", out], false);
    assert_eq!(shot(&svg), (0, String::new()));
    let missing = format!("mnemoscope: {lost}: cannot be written: the folder {} does not exist", name(&folder, "no"));
    assert_eq!(shot(&lost), (6, missing));
    assert_eq!(shot(&inside), (6, format!("mnemoscope: {inside}: cannot be written: {file} is not a folder")));
}

#[test]
fn a_session_that_looks_at_what_is_not_there_is_answered_with_its_place() {
    let (folder, _) = folder();
    let [wrong, svg] = ["wrong.ron", "a.svg"].map(|f| name(&folder, f));
    let mut session = session();
    session.view.token = Some(512);
    session.save(Path::new(&wrong), None).unwrap();
    let (code, said) = mnemoscope(&["screenshot", &wrong, "--panel", "growth", "--out", &svg], false);
    let placed = said.contains("wrong.ron:") && said.contains("in `view.token`: the token 512 is selected, but the stream has 512 writes");
    assert!(code == 3 && placed, "{code}: {said}");
    assert!(!Path::new(&svg).exists());
}

#[test]
fn a_session_that_cannot_run_is_answered_with_its_place() {
    let (folder, _) = folder();
    let [wrong, svg, png] = ["wrong.ron", "a.svg", "a.png"].map(|f| name(&folder, f));
    std::fs::write(&wrong, "(\n  lanes: [(name: \"L\", layer: \"lola\", params: {\"cache\": 99999})],\n)").unwrap();
    for args in [["screenshot", &wrong, "--out", &svg], ["animate", &wrong, "--out", &png]] {
        let (code, said) = mnemoscope(&args, false);
        let placed = said.contains("wrong.ron:2:") && said.contains("in `lanes[0].params.cache`") && said.contains("from 0 to");
        assert!(code == 3 && placed, "{args:?}: {code}: {said}");
    }
}

/// The frames of an APNG as a viewer shows them, and its words by keyword.
fn frames(path: &str) -> (Vec<Vec<u8>>, Vec<(String, String)>) {
    let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap())).read_info().unwrap();
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let count = reader.info().animation_control.unwrap().num_frames;
    let words = reader.info().uncompressed_latin1_text.iter().map(|t| (t.keyword.clone(), t.text.clone())).collect();
    let (mut canvas, mut all) = (vec![0; width * height * 3], Vec::new());
    let mut part = vec![0; width * height * 3];
    for _ in 0..count {
        reader.next_frame(&mut part).unwrap();
        let control = *reader.info().frame_control().unwrap();
        assert_eq!((control.delay_num, control.delay_den), (1000, 4000));
        let (left, top, wide) = (control.x_offset as usize, control.y_offset as usize, control.width as usize);
        for (row, pixels) in part[..wide * control.height as usize * 3].chunks_exact(wide * 3).enumerate() {
            let start = ((top + row) * width + left) * 3;
            canvas[start..start + wide * 3].copy_from_slice(pixels);
        }
        all.push(canvas.clone());
    }
    (all, words)
}

fn rgb(path: &str) -> Vec<u8> {
    image::open(path).unwrap().to_rgb8().into_raw()
}

#[test]
fn an_animation_is_the_pictures_of_its_steps() {
    if !adapter() {
        return;
    }
    let (folder, file) = folder();
    let [film, still, frames_in] = ["film.png", "still.png", "frames"].map(|f| name(&folder, f));
    let of = ["--panel", "growth", "--size", "360x260"];
    let animate = |out: &str| {
        mnemoscope(&[&["animate", &file, "--from", "1", "--to", "6", "--every", "2", "--fps", "4", "--out", out][..], &of].concat(), false)
    };
    assert_eq!(animate(&film), (0, String::new()));
    let (shown, words) = frames(&film);
    assert_eq!(shown.len(), 4, "steps 1, 3, 5 and 6");
    assert!(words.iter().any(|(k, v)| k == "Title" && v == "Growth · A needle & <its> haystack"), "{words:?}");
    assert_ne!(shown[0], shown[3]);
    assert_eq!(animate(&frames_in), (0, String::new()));
    for (frame, step) in shown.iter().zip(["1", "3", "5", "6"]) {
        assert_eq!(mnemoscope(&[&["screenshot", &file, "--step", step, "--out", &still][..], &of].concat(), false), (0, String::new()));
        assert!(*frame == rgb(&still), "step {step}");
    }
    for (i, frame) in shown.iter().enumerate() {
        assert!(*frame == rgb(&format!("{frames_in}/frame-{:04}.png", i + 1)), "frame {i}");
    }
    // Nothing but the frames; and nobody else's are overwritten.
    assert_eq!(std::fs::read_dir(&frames_in).unwrap().count(), 4);
    let (code, said) = animate(&frames_in);
    assert!(code == 6 && said.contains("holds frames already"), "{code}: {said}");
    pillow_reads(&film, &shown, &name(&folder, "film.rgb"));
}

/// Reads an animation with Pillow: how many frames it has, how large, how many milliseconds each is shown, and its words; the pixels of all
/// of them go into a file.
const PILLOW: &str = r#"
import sys
from PIL import Image

with Image.open(sys.argv[1]) as film, open(sys.argv[2], "wb") as out:
    assert film.format == "PNG" and film.is_animated, film
    words = film.info["Title"], film.info["Step"]
    frames, milliseconds = [], []
    for at in range(film.n_frames):
        film.seek(at)
        frames.append(film.convert("RGB").tobytes())
        milliseconds.append(film.info["duration"])
    assert frames[0] != frames[-1]
    out.write(b"".join(frames))
    print(film.n_frames, film.size, milliseconds, *words)
"#;

/// Another program shows the animation as the pictures that it is of; `raw` is a file for its pixels.
fn pillow_reads(film: &str, shown: &[Vec<u8>], raw: &str) {
    if !python::has("PIL") {
        return;
    }
    let read = Command::new("python3").args(["-c", PILLOW, film, raw]).env("PYTHONIOENCODING", "utf-8").output().unwrap();
    let said = String::from_utf8_lossy(&read.stdout);
    let wanted = "4 (360, 260) [250.0, 250.0, 250.0, 250.0] Growth · A needle & <its> haystack 1";
    assert_eq!(said.trim(), wanted, "{}", String::from_utf8_lossy(&read.stderr));
    assert!(std::fs::read(raw).unwrap() == shown.concat(), "its frames are ours, pixel by pixel");
}

#[test]
fn a_session_with_its_trace_gives_the_pictures_of_the_session() {
    let (folder, file) = folder();
    let saved = name(&folder, "s.mnemo");
    let (code, said) = mnemoscope(&["run", &file, "--save", &saved], false);
    assert_eq!(code, 0, "{said}");
    // Each is taken of the session, which is run for it, and of its trace, which is only read.
    let both = |command: &str, more: &[&str], out: &str| {
        let take = |of: &str, out: &str| {
            let (code, said) = mnemoscope(&[&[command, of, "--size", "360x260", "--out", out][..], more].concat(), false);
            assert_eq!((code, said.as_str()), (0, ""), "{command} {of} {more:?}");
            std::fs::read(out).unwrap()
        };
        let [a, b] = ["run", "read"].map(|from| name(&folder, &format!("{from}-{out}")));
        (take(&file, &a), take(&saved, &b))
    };
    // The same bytes, so the same marks, the same words and the same hash of the session.
    let mut all = BTreeSet::new();
    for panel in ["growth", "assignments", "counts", "residency", "sre"] {
        for step in ["3", "8"] {
            let (run, read) = both("screenshot", &["--panel", panel, "--step", step], &format!("{panel}-{step}.svg"));
            assert!(run == read, "{panel}, step {step}");
            all.insert(run);
        }
    }
    assert_eq!(all.len(), 10, "no picture is that of another panel or step");
    if !adapter() {
        return;
    }
    let (run, read) = both("screenshot", &["--panel", "residency", "--step", "6"], "still.png");
    assert!(run == read, "the picture as PNG");
    let (run, read) = both("animate", &["--panel", "growth", "--from", "2", "--to", "8", "--every", "3"], "film.png");
    assert!(run == read, "the animation");
}

#[test]
fn a_cancelled_animation_leaves_nothing() {
    if !adapter() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::painting(setting("growth", [320, 240], true)).unwrap();
    let mut app = settled(&mut stage);
    let reel = Reel { from: 0, to: 8, every: 1 };
    for target in [Target::File(folder.path().join("film.png")), Target::Folder(folder.path().join("frames"))] {
        let cancel = AtomicBool::new(false);
        let mut told = Vec::new();
        let mut progress = |done: usize, of: usize| {
            told.push((done, of));
            cancel.store(done == 3, Ordering::Relaxed);
        };
        let end = film::shoot(&mut stage, &mut app, reel, 8.0, &target, &mut progress, &cancel);
        assert!(matches!(end, Err(FilmError::Unsettled(Unsettled::Cancelled))), "{end:?}");
        assert_eq!(told, [(1, 9), (2, 9), (3, 9)]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{target:?}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_an_animation_and_leaves_nothing() {
    if !adapter() {
        return;
    }
    let (folder, file) = folder();
    let out = name(&folder, "film.png");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("mnemoscope"));
    command.args(["animate", &file, "--panel", "map", "--size", "1200x900", "--scale", "2", "--out", &out]);
    let mut child = command.env_remove("RUST_LOG").stderr(Stdio::null()).spawn().unwrap();
    // The run is complete, and the file begun under another name.
    let (start, entries) = (Instant::now(), || std::fs::read_dir(folder.path()).unwrap().count());
    while entries() < 2 {
        assert!(start.elapsed() < Duration::from_mins(2), "the animation does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(entries(), 1, "the session alone");
}

#[test]
fn a_png_of_the_window_says_what_it_is_of() {
    if !adapter() {
        return;
    }
    let (folder, file) = folder();
    let out = name(&folder, "w.png");
    let shot =
        mnemoscope(&["screenshot", &file, "--size", "1000x700", "--step", "3", "--token", "100", "--theme", "light", "--out", &out], false);
    assert_eq!(shot, (0, String::new()));
    let reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&out).unwrap())).read_info().unwrap();
    let said = |key: &str| reader.info().uncompressed_latin1_text.iter().find(|t| t.keyword == key).map(|t| t.text.clone());
    assert_eq!((reader.info().width, reader.info().height), (1000, 700));
    assert_eq!(said("Step").as_deref(), Some("3"));
    assert_eq!(said("Session-SHA256"), Some(session_hash(&Session::open(Path::new(&file)).unwrap())));
    assert!(said("Title").unwrap().starts_with("Mnemoscope · A needle"));
}

/// A window of the session, at rest.
fn window() -> Harness<'static, App> {
    common::window_of(session(), 900.0)
}

fn give_path(harness: &mut Harness<'_, App>, path: &Path) {
    let start = Instant::now();
    while harness.query_by_role_and_label(Role::TextInput, "Path").is_none() {
        assert!(start.elapsed() < Duration::from_mins(1), "no path is asked for");
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    harness.get_by_role_and_label(Role::TextInput, "Path").type_text(&path.display().to_string());
    harness.run_steps(2);
    common::click(harness, "Export");
}

/// Lets frames pass until a file is there.
fn wait_for(harness: &mut Harness<'_, App>, path: &Path) {
    common::wait(harness, |_| path.exists());
}

#[test]
fn a_panel_is_copied_as_it_is_on_screen() {
    if !adapter() {
        return;
    }
    let mut harness = window();
    harness.state_mut().ask(WindowCommand::Picture(PictureAct::CopyPanel(Some("growth"))).into());
    let start = Instant::now();
    let picture = loop {
        harness.step();
        let commands = &harness.output().platform_output.commands;
        if let Some(OutputCommand::CopyImage(picture)) = commands.iter().find(|c| matches!(c, OutputCommand::CopyImage(_))) {
            break picture.clone();
        }
        assert!(start.elapsed() < Duration::from_mins(2), "nothing is copied");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(picture.size[0] >= 800 && picture.size[1] >= 600, "{:?}: two pixels a point", picture.size);
    // Dark, as the window is, and with something on it.
    let canvas = theme::canvas(true);
    assert_eq!(picture.pixels[0], canvas);
    let drawn = picture.pixels.iter().filter(|p| **p != canvas).count();
    assert!(drawn * 20 > picture.pixels.len(), "{drawn} of {} pixels", picture.pixels.len());
    assert!(!harness.state().taking_picture());
}

#[test]
fn a_panel_is_exported_as_svg_from_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.svg");
    let mut harness = window();
    harness.state_mut().ask(WindowCommand::Picture(PictureAct::ExportPanel(Some("map"))).into());
    harness.run_steps(2);
    common::click(&mut harness, "SVG");
    common::click(&mut harness, "Export…");
    give_path(&mut harness, &path);
    wait_for(&mut harness, &path);
    let text = std::fs::read_to_string(&path).unwrap();
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("data-session-sha256"), Some(session_hash(&session()).as_str()));
    // A figure is for paper, though the window is dark; it begins at its own corner.
    let paper = root.children().find(|n| n.has_tag_name("rect")).unwrap();
    assert_eq!((paper.attribute("fill"), paper.attribute("x")), (Some("#ffffff"), None));
    let circles: Vec<f32> = document.descendants().filter_map(|n| n.attribute("cx")).map(|x| x.parse().unwrap()).collect();
    let width: f32 = root.attribute("width").unwrap().parse().unwrap();
    assert!(circles.len() > 100 && circles.iter().all(|x| (0.0..=width).contains(x)), "{} marks", circles.len());
    let description = root.children().find(|n| n.has_tag_name("desc")).and_then(|n| n.text()).unwrap();
    assert_eq!(description.lines().filter(|l| l.contains("centroids")).count(), 1, "{description}");
    // What was drawn beside the window leaves no trace in it.
    harness.run_steps(2);
    assert!(!common::says(&harness, "A needle & <its> haystack. Lanes:"));
}

#[test]
fn the_window_makes_an_animation_and_stays_free() {
    if !adapter() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("film.png");
    let mut harness = window();
    let runs = harness.state().runs().newest();
    harness.state_mut().ask(WindowCommand::Picture(PictureAct::Animate(Some("growth"))).into());
    harness.run_steps(2);
    common::click(&mut harness, "Export…");
    give_path(&mut harness, &path);
    // Meanwhile the playhead moves, and nothing of that is in the animation.
    harness.state_mut().ask(TimeCommand::Home.into());
    harness.run_steps(2);
    assert_eq!(harness.state().timeline().writes(), 0);
    wait_for(&mut harness, &path);
    let reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).read_info().unwrap();
    assert_eq!(reader.info().animation_control.map(|a| a.num_frames), Some(9), "steps 0 to 8");
    assert_eq!(harness.state().runs().newest(), runs, "nothing was run again in the window");
}
