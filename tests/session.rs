//! Session files and plans: what is read, what is written, and the sentences about what is wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::sync::Arc;

use mnemoscope::layer::KINDS;
use mnemoscope::param::{ParamKind, ParamValue, Params};
use mnemoscope::session::file::SessionError;
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{CaptureSource, LaneSpec, Session, Source, TaskSource};
use proptest::prelude::*;

fn read(text: &str) -> Result<Session, SessionError> {
    Session::from_ron(text, "a.ron")
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn needles(lanes: Vec<LaneSpec>) -> Session {
    let params = Params::default().with("T", 300);
    Session { source: Source::Task(TaskSource { name: "needles".to_owned(), params }), lanes, ..Session::default() }
}

fn lane(name: &str, layer: &str, params: Params) -> LaneSpec {
    LaneSpec::new(name, layer, params)
}

#[test]
fn an_empty_file_is_the_default_session() {
    assert_eq!(read("()").unwrap(), Session::default());
    let session = read("(version: 1, seed: 5)").unwrap();
    assert_eq!((session.seed, session.lanes.len()), (5, 4));
}

#[test]
fn the_short_form_and_the_long_form_are_the_same() {
    let short = r#"(source: Capture(path: "a.safetensors", layer: 12, kv_heads: [0]), view: (position: 64))"#;
    let long = r#"(source: Capture((path: "a.safetensors", layer: Some(12), kv_heads: Some([0]))), view: (position: Some(64)))"#;
    let session = read(short).unwrap();
    assert_eq!(read(long).unwrap(), session);
    let source = CaptureSource { path: "a.safetensors".into(), layer: Some(12), kv_heads: Some(vec![0]), tokens: None, sha256: None };
    assert_eq!((session.source, session.view.position), (Source::Capture(source), Some(64)));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let text = "(\n  version: 1,\n  lanes: [\n    (name: \"a\", layer: \"ovq\", params: {}),\n    (name: \"b\", layr: \"ovq\"),\n  ],\n)";
    assert_eq!(message(text), "a.ron:5:17: in `lanes[1].layr`: there is no field `layr`; did you mean `layer`?");
    let text = "(lanes: [(name: \"a\", layer: \"ovq\", params: {\"n_max\": [1]})])";
    assert!(
        message(text).contains("in `lanes[0].params.n_max`: a value must be a number, a word in quotes, true or false"),
        "{}",
        message(text)
    );
    assert!(
        message("(backend: gpus)").ends_with("in `backend`: `gpus` is not possible here; did you mean `gpu`?"),
        "{}",
        message("(backend: gpus)")
    );
    let text = "(\n  view: (choices: {\n    \"state\": {\"view\": \"heat\"},\n  }),\n)";
    let said = message(text);
    if cfg!(feature = "gui") {
        assert!(said.starts_with("a.ron:3:23: in `view.choices.state.view`: `heat` is none of `heatmap`"), "{said}");
        let said = message("(view: (choices: {\"stat\": {}}))");
        assert!(said.starts_with("a.ron:1:27: in `view.choices.stat`") && said.ends_with("the nearest is `state`"), "{said}");
    }
    let said = message("(view: (choices: {\"state.view\": \"collisions\"}))");
    assert!(said.starts_with("a.ron:1:") && said.contains("in `view.choices.state.view`: what is chosen in a panel stands"), "{said}");
    assert!(said.contains("`\"state\": {\"view\": \"..\"}`, as in `choices: {\"state\": {\"view\": \"collisions\"}}`"), "{said}");
    let said = message("(view: (choices: {\"counts\": \"histogram\"}))");
    assert!(said.contains("`\"counts\": {\"view\": \"..\"}`"), "{said}");
    assert!(message("(seed: -1)").starts_with("a.ron:1:"), "{}", message("(seed: -1)"));
    assert!(message("(seed: \"x\")").contains("in `seed`: "), "{}", message("(seed: \"x\")"));
    assert!(message("(seed: 1").starts_with("a.ron:1:"), "{}", message("(seed: 1"));
    assert!(message("(seed: 1) (").starts_with("a.ron:1:10: "), "{}", message("(seed: 1) ("));
    assert!(message("(lanes: [(layer: \"ovq\")])").ends_with("in `lanes[0]`: the field `name` is missing"));
}

#[test]
fn another_version_is_told_before_its_fields_are() {
    assert_eq!(
        message("(version: 3, tomorrow: [1, 2], lanes: 5)"),
        "a.ron: `version` is 3, but this program reads sessions of the versions 1 to 2; a newer Mnemoscope wrote it"
    );
    assert_eq!(message("(version: 0)"), "a.ron: `version` is 0, but this program reads sessions of the versions 1 to 2");
}

#[test]
fn what_is_saved_is_read_again_and_paths_follow() {
    let folder = tempfile::tempdir().unwrap();
    let (home, away) = (folder.path().join("home"), folder.path().join("away"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&away).unwrap();
    let capture = home.join("c.safetensors");
    std::fs::copy("assets/smollm2_needle_2k_layer12_kv0.safetensors", &capture).unwrap();
    let session = Session::open(&capture).unwrap();
    let path_of = |s: &Session| if let Source::Capture(c) = &s.source { c.path.clone() } else { panic!("a capture") };
    assert_eq!(path_of(&session), capture);

    let here = home.join("s.ron");
    session.save(&here, None).unwrap();
    let again = Session::open(&here).unwrap();
    assert_eq!(path_of(&again), Path::new("c.safetensors"));
    // From one folder to another: the path is seen from there.
    let there = away.join("s.ron");
    again.save(&there, Some(&home)).unwrap();
    let moved = Session::open(&there).unwrap();
    assert_eq!(path_of(&moved), Path::new("../home/c.safetensors"));
    assert_eq!(Session { source: again.source.clone(), ..moved }, again);
    assert_eq!(Session::open(&here).unwrap().to_ron().unwrap(), std::fs::read_to_string(&here).unwrap());
}

/// Only the bundled capture's layer and heads have weights in the program.
#[test]
fn the_first_lanes_are_those_of_their_source() {
    let lola = |session: &Session| session.lanes.iter().find(|l| l.name == "LoLA").unwrap().clone();
    let fmap = |session: &Session| lola(session).params.get("fmap").cloned();
    let bundled = Session::default();
    assert_eq!((lola(&bundled).weights, fmap(&bundled)), (Some("bundled".into()), Some("hedgehog".into())));
    let task = read("(source: Task(name: \"needles\"))").unwrap();
    assert_eq!((lola(&task).weights, fmap(&task)), (None, Some("elu1".into())));
    let own = read("(source: Capture(path: \"a.safetensors\"))").unwrap();
    assert_eq!(own.lanes, LaneSpec::first_four());
    // Another source brings its own first lanes, and leaves lanes that were changed but for what cannot be.
    let mut session = bundled.clone();
    session.take_source(task.source.clone());
    // A task brings the lanes of its example.
    assert_eq!(session.lanes, mnemoscope::session::example("needles").unwrap().lanes);
    session.take_source(bundled.source.clone());
    assert_eq!(session, bundled);
    session.lanes.truncate(2);
    session.take_source(task.source.clone());
    assert_eq!((session.lanes.len(), lola(&session).weights, fmap(&session)), (2, None, Some("elu1".into())));
    Plan::new(&session, None).unwrap();
}

#[test]
fn weights_are_written_read_and_follow_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let (home, away) = (folder.path().join("home"), folder.path().join("away"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&away).unwrap();
    std::fs::copy("assets/smollm2_hedgehog_layer12_kv0.safetensors", home.join("w.safetensors")).unwrap();
    let with =
        |weights: &str| LaneSpec { weights: Some(weights.into()), ..lane(weights, "linear", Params::default().with("fmap", "hedgehog")) };
    let mut session = Session { lanes: vec![with("bundled"), with("w")], ..Session::default() };
    session.lanes[1].weights = Some("w.safetensors".into());
    assert_eq!(read(&session.to_ron().unwrap()).unwrap(), session);
    let there = away.join("s.ron");
    session.save(&there, Some(&home)).unwrap();
    let moved = Session::open(&there).unwrap();
    let paths: Vec<_> = moved.lanes.iter().map(|l| l.weights.clone().unwrap()).collect();
    assert_eq!(paths, [Path::new("bundled"), Path::new("../home/w.safetensors")]);
    let plan = Plan::new(&moved, Some(&away)).unwrap();
    assert_eq!(plan.lanes[0].setup.arrays, plan.lanes[1].setup.arrays);
}

/// A file of one layer and two query heads of two by two numbers, with changes.
fn weights_file(path: &Path, change: impl Fn(&mut Vec<(&'static str, Vec<usize>)>, &mut std::collections::HashMap<String, String>)) {
    use safetensors::tensor::{Dtype, TensorView, serialize_to_file};
    let mut tensors = vec![("weights_q", vec![1, 3, 64, 2]), ("weights_k", vec![1, 3, 64, 2])];
    let mut metadata = std::collections::HashMap::from([("layers".to_owned(), "[12]".to_owned())]);
    change(&mut tensors, &mut metadata);
    let zeros = vec![0_u8; 1 << 16];
    let view = |shape: &Vec<usize>| {
        let bytes = 4 * shape.iter().product::<usize>();
        TensorView::new(Dtype::F32, shape.clone(), &zeros[..bytes]).unwrap()
    };
    serialize_to_file(tensors.iter().map(|(name, shape)| (*name, view(shape))), Some(metadata), path).unwrap();
}

#[test]
fn what_is_wrong_with_weights_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let hedgehog = Params::default().with("fmap", "hedgehog");
    let with = |layer: &str, params: &Params| vec![LaneSpec { weights: Some(path.clone()), ..lane("a", layer, params.clone()) }];
    let of = |session: &Session| Plan::new(session, None).unwrap_err().to_string();
    let message = || of(&Session { lanes: with("lola", &hedgehog), ..Session::default() });
    let file = path.display().to_string();
    assert!(message().starts_with(&format!("lane `a`: {file}: the weights cannot be read: ")), "{}", message());
    std::fs::write(&path, "no weights").unwrap();
    assert!(message().starts_with(&format!("lane `a`: {file}: the weights cannot be read: ")), "{}", message());

    weights_file(&path, |_, _| ());
    Plan::new(&Session { lanes: with("lola", &hedgehog), ..Session::default() }, None).unwrap();
    let ovq = of(&Session { lanes: with("ovq", &Params::default()), ..Session::default() });
    assert_eq!(
        ovq,
        format!("lane `a`: `weights` is {file}, but the layer `ovq` has no feature map that could take them; `lola` and `linear` have")
    );
    let task = of(&needles(with("linear", &hedgehog)));
    assert!(task.starts_with(&format!("lane `a`: `weights` is {file}, but the stream is the task `needles`: ")), "{task}");

    weights_file(&path, |_, m| drop(m.insert("layers".to_owned(), "[11]".to_owned())));
    assert!(message().ends_with("`weights_q` holds no layer 12, which this stream needs; its layers are 11"), "{}", message());
    weights_file(&path, |_, m| drop(m.insert("query_heads".to_owned(), "[0, 1, 5]".to_owned())));
    assert!(
        message().ends_with("`weights_q` holds no query head 2, which this stream needs; its query heads are 0, 1, 5"),
        "{}",
        message()
    );
    weights_file(&path, |_, m| drop(m.insert("query_heads".to_owned(), "[0, 1]".to_owned())));
    assert!(message().contains("the metadata's `query_heads` is `[0, 1]`, but a JSON list of 3 whole numbers"), "{}", message());
    weights_file(&path, |t, _| drop(t.remove(1)));
    assert!(message().contains("the tensor `weights_k` is missing; weights are `weights_q` and `weights_k`"), "{}", message());
    weights_file(&path, |t, _| t[0].1 = vec![1, 3, 32, 2]);
    assert!(message().contains("`weights_q` is [1, 3, 32, 2], but [layers, query heads, 64, d]"), "{}", message());
    weights_file(&path, |t, _| t[1].1 = vec![1, 3, 64, 1]);
    assert!(message().contains("`weights_k` is [1, 3, 64, 1], but [1, 3, 64, 2], as `weights_q` is, is expected"), "{}", message());
    weights_file(&path, |t, _| t.push(("log_linear_weight", vec![3])));
    assert!(message().contains("`log_linear_weight` is [3], but [1, 3], one number a layer and query head, is expected"), "{}", message());
}

#[test]
fn a_file_that_is_neither_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bin");
    std::fs::write(&path, [0xff_u8, 0xfe, 0, 1]).unwrap();
    let error = Session::open(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{}: cannot be read: it is neither a capture (safetensors) nor a session (text)", path.display()));
    assert!(Session::open(&folder.path().join("none.ron")).unwrap_err().to_string().contains("none.ron: cannot be read: "));
}

#[test]
fn a_plan_names_lane_parameter_value_and_limit() {
    let plan = |lanes| Plan::new(&needles(lanes), None).unwrap_err().to_string();
    assert_eq!(plan(vec![]), "no lane is enabled; at least one must be");
    assert_eq!(plan(vec![LaneSpec { enabled: false, ..lane("a", "ovq", Params::default()) }]), "no lane is enabled; at least one must be");
    assert_eq!(plan(vec![lane("a", "ovqq", Params::default())]), "lane `a`: there is no layer `ovqq`; did you mean `ovq`?");
    let bad = Params::default().with("n_max", 0);
    assert_eq!(plan(vec![lane("small", "ovq", bad)]), "small.n_max is 0, but must be from 1 to 16384");
    let twice = vec![lane("a", "ovq", Params::default()), lane("a", "lola", Params::default())];
    assert_eq!(plan(twice), "lane 1 is named `a`, but an earlier lane has that name");
    assert!(plan(vec![lane("a.b", "ovq", Params::default())]).starts_with("lane 0 is named `a.b`, but a name has none of `.`"));
    let mut session = needles(vec![lane("a", "ovq", Params::default())]);
    session.source = Source::Task(TaskSource { name: "neddles".to_owned(), params: Params::default() });
    assert_eq!(Plan::new(&session, None).unwrap_err().to_string(), "there is no task `neddles`; did you mean `needles`?");
    session.source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default().with("needle", 3) });
    assert!(Plan::new(&session, None).unwrap_err().to_string().contains("did you mean `needles`?"));
}

#[test]
fn lanes_that_want_unit_vectors_share_one_normalised_capture() {
    let ovq = |name: &str, chunk: i32| lane(name, "ovq", Params::default().with("chunk", chunk));
    let lanes = vec![ovq("a", 96), lane("c", "lola", Params::default().with("chunk", 32)), ovq("b", 128)];
    let session = Session { lanes, ..Session::default() };
    let plan = Plan::new(&session, None).unwrap();
    assert!(Arc::ptr_eq(&plan.lanes[0].setup.stream, &plan.lanes[2].setup.stream));
    assert!(Arc::ptr_eq(&plan.lanes[1].setup.stream, &plan.stream));
    assert!(plan.lanes[0].setup.stream.is_unit(1e-5) && !plan.stream.is_unit(1e-5));
    assert!(plan.lanes[0].notes.len() == 1 && plan.lanes[0].notes[0].starts_with("keys and queries normalised to length 1"));
    assert!(plan.lanes[1].notes.is_empty());
    // The smallest chunk is the step of the timeline; each lane keeps its own.
    assert_eq!((plan.step, plan.lanes.iter().map(|l| l.setup.chunk).collect::<Vec<_>>()), (32, vec![96, 32, 128]));
    // Channels: the layer's, then the metric's three of a capture.
    assert!(plan.lanes.iter().all(|l| l.channels.len() == l.own_channels + 3 && l.channels[l.own_channels].name == "error_sq"));
}

#[test]
fn the_seed_of_the_session_reaches_lanes_without_one() {
    let mut session = needles(vec![lane("a", "lola", Params::default()), lane("b", "lola", Params::default().with("seed", 3))]);
    session.seed = 9;
    let plan = Plan::new(&session, None).unwrap();
    assert_eq!(plan.lanes.iter().map(|l| l.setup.params.int("seed")).collect::<Vec<_>>(), [9, 3]);
}

/// Every session that the program ships can be read, runs, and is written as it is.
#[test]
fn the_shipped_sessions_are_whole() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir("sessions").unwrap() {
        let path = entry.unwrap().path();
        // Lessons are files of their own kind, in a folder of their own.
        if path.is_dir() {
            continue;
        }
        let session = Session::open(&path).unwrap();
        let plan = Plan::new(&session, path.parent()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(plan.lanes.len(), session.lanes.iter().filter(|l| l.enabled).count());
        assert_eq!(mnemoscope::session::view::check(&session, &plan.stream), Ok(()), "{}", path.display());
        // The lanes that are switched off run too.
        for index in 0..session.lanes.len() {
            let mut alone = session.clone();
            alone.lanes.iter_mut().enumerate().for_each(|(i, lane)| lane.enabled = i == index);
            Plan::on_stream(&alone, path.parent(), &plan.stream).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        assert_eq!(session.to_ron().unwrap(), std::fs::read_to_string(&path).unwrap(), "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    let mut expected: Vec<String> = mnemoscope::session::gallery::shipped().iter().map(|s| format!("{}.ron", s.name)).collect();
    expected.sort();
    assert_eq!(names, expected);
    // What the window opens on, with a title and a caption.
    let needle = Session::open(Path::new("sessions/smollm2_needle.ron")).unwrap();
    assert_eq!(Session { title: String::new(), caption: String::new(), ..needle }, Session::default());
}

fn params() -> impl Strategy<Value = Params> {
    let value = prop_oneof![
        any::<bool>().prop_map(mnemoscope::param::ParamValue::Bool),
        any::<i64>().prop_map(mnemoscope::param::ParamValue::Int),
        (-1e300_f64..1e300).prop_map(mnemoscope::param::ParamValue::Float),
        (-2.0_f64..2.0).prop_map(mnemoscope::param::ParamValue::Float),
        "\\PC{0,12}".prop_map(mnemoscope::param::ParamValue::Text),
    ];
    prop::collection::btree_map("[a-z_]{1,8}", value, 0..4).prop_map(Params)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// What was written is read as it was.
    #[test]
    fn sessions_survive_their_file(seed: u64, lane_params in params(), name in "\\PC{0,20}", heads in prop::option::of(prop::collection::vec(0_u32..9, 0..3)), at in prop::option::of(0_usize..1 << 40)) {
        let mut session = Session { seed, lanes: vec![lane(&name, "ovq", lane_params)], ..Session::default() };
        session.source = Source::Capture(CaptureSource { kv_heads: heads, tokens: at, ..CaptureSource::of(name) });
        session.view.position = at;
        let text = session.to_ron().unwrap();
        prop_assert_eq!(read(&text).unwrap(), session);
    }

    /// A file with a few bytes changed is read or refused, never a crash; and so is what it asks for.
    #[test]
    fn a_damaged_session_never_panics(cuts in prop::collection::vec((any::<prop::sample::Index>(), "\\PC{0,3}"), 1..5), length in any::<prop::sample::Index>()) {
        let mut text: Vec<char> = needles(LaneSpec::first_four()).to_ron().unwrap().chars().collect();
        for (at, with) in cuts {
            let at = at.index(text.len());
            text.splice(at..(at + 1).min(text.len()), with.chars());
        }
        let text: String = text.into_iter().collect();
        let _ = read(&text).map(|s| s.to_ron());
        let _ = read(&text.chars().take(length.index(text.len() + 1)).collect::<String>());
    }

    /// Any values for the parameters of any layer give a plan or a sentence that names the lane.
    #[test]
    fn any_parameters_give_a_plan_or_a_sentence(which in any::<prop::sample::Index>(), picks in prop::collection::vec((any::<prop::sample::Index>(), -3_i64..2000, any::<bool>()), 0..5)) {
        let kind = KINDS[which.index(KINDS.len())];
        let mut params = Params::default();
        for (at, number, real) in picks {
            let Some(spec) = kind.params().get(at.index(kind.params().len().max(1))) else { continue };
            match spec.kind {
                ParamKind::Choice { options } => params.set(spec.name, options[number.unsigned_abs() as usize % options.len()].0),
                ParamKind::Bool { .. } => params.set(spec.name, real),
                ParamKind::Text { .. } => params.set(spec.name, ParamValue::Text(format!("word = {number}"))),
                _ if real => params.set(spec.name, number as f64 / 100.0),
                _ => params.set(spec.name, number),
            }
        }
        if let Err(error) = Plan::new(&needles(vec![lane("mine", kind.name(), params)]), None) {
            prop_assert!(error.to_string().contains("mine"), "{}", error);
        }
    }
}
