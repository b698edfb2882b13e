//! Session files of every version, and the places that messages about their values name.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::path::{Path, PathBuf};

use mnemoscope::param::Params;
use mnemoscope::session::hand::{Act, Hand};
use mnemoscope::session::plan::Plan;
use mnemoscope::session::{
    BackendChoice, Bookmark, CaptureSource, Choice, Chosen, LaneSpec, Session, Source, VERSION, View, hash, place, view,
};

fn file(version: u32) -> PathBuf {
    Path::new("tests/sessions").join(format!("v{version}.ron"))
}

/// The session that the file of a version must become. No field is left to a default: one that is added has to be thought of here, and
/// in a file of the version that it comes with.
fn expected(version: u32) -> Session {
    let new = version >= 2;
    let lane = |name: &str, layer: &str, params: Params, enabled, weights: Option<&str>, colour, hands| LaneSpec {
        name: name.to_owned(),
        layer: layer.to_owned(),
        params,
        enabled,
        weights: weights.map(PathBuf::from),
        colour,
        hands,
    };
    let ovq = Params::default().with("chunk", 64).with("growth", "linear").with("n_max", 256);
    let lola = Params::default().with("cache", 128).with("fmap", "hedgehog");
    let shift = Hand { step: 4, kv_head: 0, what: Act::Move { row: 3, to: 7 } };
    let evict = Hand { step: 5, kv_head: 1, what: Act::Evict { write: 20 } };
    let forget = Hand { step: 6, kv_head: 0, what: Act::Forget };
    let text = |text: &str| if new { text.to_owned() } else { String::new() };
    let chosen = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let shown = Chosen::from([("state".to_owned(), Choice::from([chosen("view", "collisions"), chosen("lane", "LoLA")]))]);
    let marks =
        vec![Bookmark { position: 64, caption: "The needle is written".to_owned() }, Bookmark { position: 256, caption: String::new() }];
    Session {
        version: VERSION,
        title: text("A needle in two heads"),
        caption: text("What is kept, and what is not."),
        source: Source::Capture(CaptureSource {
            path: "captures/c.safetensors".into(),
            layer: Some(12),
            kv_heads: Some(vec![0, 2]),
            tokens: Some(512),
            sha256: new.then(|| "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned()),
        }),
        seed: 7,
        lanes: vec![
            lane("OVQ", "ovq", ovq, true, None, Some(3), vec![shift]),
            lane("LoLA", "lola", lola, false, Some("w.safetensors"), None, vec![evict, forget]),
        ],
        backend: BackendChoice::Cpu,
        view: View {
            position: Some(256),
            speed: 16.0,
            repeat: true,
            kv_head: 1,
            query_head: 2,
            token: Some(30),
            read: Some(31),
            layout: Some("Panel(\"growth\")".to_owned()),
            choices: if new { shown } else { Chosen::new() },
        },
        bookmarks: if new { marks } else { Vec::new() },
        notes: text("First line.\nSecond line."),
    }
}

#[test]
fn every_version_is_read_as_the_session_that_it_must_become_and_written_as_the_current_one() {
    let kept = std::fs::read_dir("tests/sessions").unwrap().count();
    assert_eq!(kept, VERSION as usize, "a version that is new needs a file of its own here, with every field that it has");
    for version in 1..=VERSION {
        let session = Session::open(&file(version)).unwrap();
        assert_eq!(session, expected(version), "version {version}");
        let text = session.to_ron().unwrap();
        assert!(text.contains(&format!("\n(\n    version: {VERSION},\n")), "{text}");
        assert_eq!(Session::from_ron(&text, "again").unwrap(), session, "version {version}");
    }
    // The newest is what this program writes, to the letter.
    assert_eq!(expected(VERSION).to_ron().unwrap(), std::fs::read_to_string(file(VERSION)).unwrap());
}

#[test]
fn a_field_that_came_later_is_not_taken_for_a_slip() {
    let message = |text: &str| Session::from_ron(text, "a.ron").unwrap_err().to_string();
    assert_eq!(
        message("(version: 1,\n title: \"mine\")"),
        "a.ron:2:2: in `title`: the field `title` came with version 2, but the file says `version: 1`"
    );
    assert!(message("(version: 1, titel: 3)").contains("there is no field `titel`"), "{}", message("(version: 1, titel: 3)"));
    assert!(message("(titel: 3)").ends_with("did you mean `title`?"));
}

/// What is said of a session in a file that cannot run: the place, the way to the value, and the sentence.
fn said(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ron");
    std::fs::write(&path, text).unwrap();
    let session = Session::open(&path).unwrap_or_else(|e| panic!("{e}"));
    let error = Plan::new(&session, path.parent()).unwrap_err();
    let all = format!("{}: {error}", place::prefix(&path, &error));
    all.strip_prefix(&format!("{}/", folder.path().display())).unwrap_or(&all).to_owned()
}

#[test]
fn values_are_named_with_their_place_and_the_way_to_them() {
    let task = "source: Task(name: \"needles\", params: {\"T\": 300})";
    let cases: &[(&str, &str)] = &[
        (
            "(\n  TASK,\n  lanes: [\n    (name: \"a\", layer: \"ovq\"),\n    (name: \"b\", layer: \"ovq\", params: {\n      \"chunk\": 8,\n      \"n_max\": 0,\n    }),\n  ],\n)",
            "a.ron:7:16: in `lanes[1].params.n_max`: b.n_max is 0, but must be from 1 to 16384",
        ),
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"ovq\", params: {\"n_mxa\": 8})])",
            "a.ron:2:54: in `lanes[0].params.n_mxa`: a has no parameter `n_mxa`; ",
        ),
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"ovq\", params: {\"growth\": \"plato\"})])",
            "a.ron:2:55: in `lanes[0].params.growth`: a.growth is `plato`, but must be one of ",
        ),
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"ovk\")])",
            "a.ron:2:29: in `lanes[0].layer`: lane `a`: there is no layer `ovk`; did you mean `ovq`?",
        ),
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"ovq\"), (name: \"a\", layer: \"full\")])",
            "a.ron:2:44: in `lanes[1].name`: lane 1 is named `a`, but an earlier lane has that name",
        ),
        // What is switched off is not run, but it is checked.
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"ovq\"), (name: \"b\", layer: \"ovq\", enabled: false, params: {\"n_max\": true})])",
            "a.ron:2:97: in `lanes[1].params.n_max`: b.n_max is `true`, but must be a whole number",
        ),
        ("(source: Task(name: \"neddles\"))", "a.ron:1:21: in `source.Task.name`: there is no task `neddles`; did you mean `needles`?"),
        (
            "(source: Task((name: \"needles\", params: {\"T\": -1})))",
            "a.ron:1:47: in `source.Task.params.T`: task needles.T is -1, but must be from ",
        ),
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"lola\", hands: [(step: 1, what: Forget), (step: 99, what: Forget)])])",
            "a.ron:2:70: in `lanes[0].hands[1]`: lane `a`: hands[1] (forget the state at step 99): ",
        ),
        (
            "(TASK,\n lanes: [(name: \"a\", layer: \"ovq\", enabled: false)])",
            "a.ron:2:9: in `lanes`: no lane is enabled; at least one must be",
        ),
        ("(source: Capture(path: \"bundled\", layer: 3))", "a.ron:1:42: in `source.Capture.layer`: bundled: holds no layer 3; "),
        ("(source: Capture(path: \"bundled\", kv_heads: [4]))", "a.ron:1:45: in `source.Capture.kv_heads`: bundled: kv_heads is "),
        ("(source: Capture(path: \"c.safetensors\"))", "a.ron:1:24: in `source.Capture.path`: the capture c.safetensors is not there ("),
    ];
    for (text, expected) in cases {
        let found = said(&text.replace("TASK", task));
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

/// The same of a session that can run, but looks at what is not there.
#[test]
fn what_is_looked_at_but_not_there_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ron");
    let mut cases = vec![
        ("position: 161", "2:19: in `view.position`: the playhead is at 161, but the stream has 160 writes: it can stand from 0 to 160"),
        ("token: 160", "2:16: in `view.token`: the token 160 is selected, but the stream has 160 writes, counted from 0"),
        ("query_head: 3", "2:21: in `view.query_head`: the query head 3 is shown, but a key/value head has 3 query heads, counted from 0"),
    ];
    if cfg!(feature = "gui") {
        cases.push((
            "choices: {\"sre\": {\"lane\": \"LoLa\"}}",
            "2:35: in `view.choices.sre.lane`: there is no such lane: `LoLa` is none of `OVQ`, `LoLA`, `linear`, `full`; the nearest is `LoLA`",
        ));
    }
    for (field, expected) in cases {
        std::fs::write(&path, format!("(source: Capture(path: \"bundled\", tokens: 160),\n view: ({field}))")).unwrap();
        let session = Session::open(&path).unwrap();
        let plan = Plan::new(&session, path.parent()).unwrap();
        let error = view::check(&session, &plan.stream).unwrap_err();
        assert_eq!(format!("{}: {error}", place::prefix(&path, &error)), format!("{}:{expected}", path.display()));
    }
}

#[test]
fn facts_that_need_no_run_are_checked_when_the_file_is_read() {
    let message = |text: &str| Session::from_ron(text, "a.ron").unwrap_err().to_string();
    assert_eq!(message("(view: (speed: inf))"), "a.ron:1:16: in `view.speed`: the steps a second are inf, but must be a number above 0");
    assert_eq!(
        message("(source: Capture(path: \"c\",\nsha256: \"12\"))"),
        "a.ron:2:9: in `source.Capture.sha256`: `12` is no SHA-256, which has 64 hexadecimal digits"
    );
    let many = "(position: 1),".repeat(1001);
    assert!(message(&format!("(bookmarks: [{many}])")).starts_with("a.ron:1:13: in `bookmarks`: there are 1001 bookmarks, but"));
    // The order of bookmarks says nothing; one beyond the stream is kept.
    let session = Session::from_ron("(bookmarks: [(position: 9000), (position: 4, caption: \"x\")])", "a.ron").unwrap();
    assert_eq!(session.bookmarks.iter().map(|b| b.position).collect::<Vec<_>>(), [4, 9000]);
    Plan::new(&session, None).unwrap();
}

#[test]
fn a_capture_is_known_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let (here, capture) = (folder.path().join("s.ron"), folder.path().join("c.safetensors"));
    std::fs::copy("assets/smollm2_needle_2k_layer12_kv0.safetensors", &capture).unwrap();
    let session = Session::open(&capture).unwrap();
    session.save(&here, None).unwrap();
    let saved = Session::open(&here).unwrap();
    let named = |session: &Session| if let Source::Capture(c) = &session.source { c.sha256.clone() } else { None };
    let hash = hash::of_file(&capture, &false.into()).unwrap();
    assert_eq!((named(&session), named(&saved)), (None, Some(hash.clone())));
    Plan::new(&saved, Some(folder.path())).unwrap();
    // One bit of a number.
    let mut bytes = std::fs::read(&capture).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::remove_file(&capture).unwrap();
    std::fs::write(&capture, &bytes).unwrap();
    let error = Plan::new(&saved, Some(folder.path())).unwrap_err().to_string();
    let other = hash::of_file(&capture, &false.into()).unwrap();
    let expected = format!(
        "{} is not the capture that the session was made with: the SHA-256 of its content begins with {}, that of the session's capture with {}",
        capture.display(),
        &other[..12],
        &hash[..12]
    );
    assert_eq!(error, expected);
    assert!(place::prefix(&here, &Plan::new(&saved, Some(folder.path())).unwrap_err()).ends_with(": in `source.Capture.sha256`"));
    Plan::new(&session, Some(folder.path())).unwrap();
}
