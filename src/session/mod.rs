//! A session: what is looked at, by which lanes, from where. It is what a user saves, opens and hands to the command line.
//!
//! [`Session`] is the file's content; [`Plan`](plan::Plan) is the same checked and loaded, ready to run.

pub mod file;
mod fitting;
pub mod gallery;
pub mod hand;
pub mod hash;
pub mod lanes;
pub mod lesson;
mod memory;
mod migrate;
pub mod place;
pub mod plan;
pub mod saved;
pub mod view;
pub mod weights;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use gallery::example;
use serde::{Deserialize, Serialize};

use crate::param::Params;
use crate::stream::capture::BUNDLED;

/// The version of the file that this program writes: 2 since a session has a title, notes and bookmarks, and names its capture by its
/// content. See [`mod@file`] for how older ones are read.
pub const VERSION: u32 = 2;

/// What `--set` and lessons call the task, in the place of a lane: `task.T`.
pub const OWNER_OF_TASK: &str = "task";

/// The most lanes that run at once. A session may hold more, switched off.
pub const MAX_LANES: usize = 8;

/// The content of a session file.
///
/// A field that a file leaves out is as in [`Session::default`]: the bundled capture. Without `lanes` it has those that its source
/// is first seen by, [`LaneSpec::first_of`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// The version of the format, [`VERSION`] when written.
    pub version: u32,
    /// What it is called on the start page and above pictures; empty: its source names it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What there is to see in it, in a few sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub caption: String,
    /// Where the stream comes from.
    pub source: Source,
    /// The seed of the task, and of everything that is drawn in a lane whose own `seed` is not set.
    pub seed: u64,
    /// The layers, in the order in which they are shown.
    pub lanes: Vec<LaneSpec>,
    /// Where to compute.
    pub backend: BackendChoice,
    /// What is looked at.
    pub view: View,
    /// Moments worth coming back to, in the order of their positions. One may lie beyond the stream (the task was made shorter since):
    /// it is kept, and means the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bookmarks: Vec<Bookmark>,
    /// The user's own notes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

impl Default for Session {
    /// The bundled capture, seen by OVQ, LoLA, linear and full attention.
    fn default() -> Self {
        Self {
            version: VERSION,
            title: String::new(),
            caption: String::new(),
            source: Source::Capture(CaptureSource::bundled()),
            seed: 0,
            lanes: LaneSpec::first_of(&Source::Capture(CaptureSource::bundled())),
            backend: BackendChoice::Auto,
            view: View::default(),
            bookmarks: Vec::new(),
            notes: String::new(),
        }
    }
}

/// A moment of a run with a caption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bookmark {
    /// Where the playhead stands: writes seen. Unlike a number of steps it means the same whatever the lanes' chunks are.
    pub position: usize,
    /// What there is to see.
    #[serde(default)]
    pub caption: String,
}

impl Session {
    /// True if both run the same: they differ at most in what is looked at, what is said of them, and the lanes' colours.
    #[must_use]
    pub fn runs_as(&self, other: &Self) -> bool {
        // Every field is named, so that a new one is thought of.
        let Self { version, title: _, caption: _, source, seed, lanes, backend, view: _, bookmarks: _, notes: _ } = self;
        (version, source, seed, backend) == (&other.version, &other.source, &other.seed, &other.backend)
            && lanes.len() == other.lanes.len()
            && lanes.iter().zip(&other.lanes).all(|(own, other)| own.is_but_for_colour(other))
    }

    /// True if both differ at most in what is looked at.
    #[must_use]
    pub fn is_but_for_view(&self, other: &Self) -> bool {
        // Every field is named, so that a new one is thought of.
        let Self { version, title, caption, source, seed, lanes, backend, view: _, bookmarks, notes } = self;
        (version, source, seed, backend) == (&other.version, &other.source, &other.seed, &other.backend)
            && (title, caption, notes) == (&other.title, &other.caption, &other.notes)
            && (lanes, bookmarks) == (&other.lanes, &other.bookmarks)
    }

    /// Takes another source. Lanes that nobody changed (the first ones, or those of the task's example) become those of the new
    /// source: of its example, where it has one. What was done by hand to others was done to the old stream, and goes. Of others, the bundled weights are taken away where they do not belong, and the
    /// feature map with them that is nothing without.
    pub fn take_source(&mut self, source: Source) {
        let shipped = |source: &Source| match source {
            Source::Task(task) => example(&task.name).map(|e| e.lanes.clone()),
            Source::Capture(_) => None,
        };
        let untouched = self.lanes == LaneSpec::first_of(&self.source) || shipped(&self.source).as_ref() == Some(&self.lanes);
        self.source = source;
        // Tokens and steps of the old stream mean nothing in the new one.
        self.lanes.iter_mut().for_each(|lane| lane.hands.clear());
        if untouched {
            self.lanes = shipped(&self.source).unwrap_or_else(|| LaneSpec::first_of(&self.source));
        } else if !matches!(&self.source, Source::Capture(capture) if capture.is_bundled()) {
            for lane in self.lanes.iter_mut().filter(|l| l.weights.as_ref().is_some_and(|w| w.as_os_str() == BUNDLED)) {
                lane.weights = None;
                if lane.params.get("fmap") == Some(&"hedgehog".into()) && lane.params.get("sharpness").is_none() {
                    lane.params.set("fmap", "elu1");
                }
            }
        }
    }
}

/// Where a stream comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Source {
    /// Tensors of a real model.
    Capture(CaptureSource),
    /// A synthetic task.
    Task(TaskSource),
}

/// A capture file and the part of it that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureSource {
    /// The file, relative to the session file where it can be; `bundled` is the capture inside the program.
    pub path: PathBuf,
    /// The model's layer; the file's first where it is not given.
    #[serde(default)]
    pub layer: Option<u32>,
    /// The key/value heads to run; all where it is not given.
    #[serde(default)]
    pub kv_heads: Option<Vec<u32>>,
    /// Only the first so many tokens, where it is given.
    #[serde(default)]
    pub tokens: Option<usize>,
    /// The SHA-256 of the file, in 64 hexadecimal digits, where it is known: another file under the same name is not taken for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl CaptureSource {
    /// All of the file `path`'s first layer.
    #[must_use]
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), layer: None, kv_heads: None, tokens: None, sha256: None }
    }

    /// The capture inside the program.
    #[must_use]
    pub fn bundled() -> Self {
        Self::of(BUNDLED)
    }

    /// True for the capture inside the program.
    #[must_use]
    pub fn is_bundled(&self) -> bool {
        self.path.as_os_str() == BUNDLED
    }
}

/// A task and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSource {
    /// The task's name.
    pub name: String,
    /// What differs from its defaults.
    #[serde(default)]
    pub params: Params,
}

/// One lane: a layer with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneSpec {
    /// The lane's name, unique in the session; `--set` and exports use it.
    pub name: String,
    /// The layer's name.
    pub layer: String,
    /// What differs from its defaults.
    #[serde(default)]
    pub params: Params,
    /// False: the lane is kept, but does not run.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// A file of learned feature-map weights for the lane, relative to the session file where it can be; `bundled` are those
    /// of the capture inside the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PathBuf>,
    /// The lane's colour, by its place in the palette; its place in the session where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<u8>,
    /// What is done to the lane's memory by hand, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hands: Vec<hand::Hand>,
}

impl LaneSpec {
    /// An enabled lane.
    #[must_use]
    pub fn new(name: &str, layer: &str, params: Params) -> Self {
        Self { name: name.to_owned(), layer: layer.to_owned(), params, enabled: true, weights: None, colour: None, hands: Vec::new() }
    }

    fn is_but_for_colour(&self, other: &Self) -> bool {
        // Every field is named, so that a new one is thought of.
        let Self { name, layer, params, enabled, weights, colour: _, hands } = self;
        (name, layer, enabled) == (&other.name, &other.layer, &other.enabled)
            && (params, weights, hands) == (&other.params, &other.weights, &other.hands)
    }

    /// The lanes that a source is first seen by: OVQ, LoLA, linear and full attention. LoLA has learned maps where there are any,
    /// which is for the bundled capture.
    #[must_use]
    pub fn first_of(source: &Source) -> Vec<Self> {
        let mut lanes = Self::first_four();
        if matches!(source, Source::Capture(capture) if capture.is_bundled()) {
            for lane in lanes.iter_mut().filter(|l| l.layer == "lola") {
                lane.params.set("fmap", "hedgehog");
                lane.weights = Some(BUNDLED.into());
            }
        }
        lanes
    }

    /// OVQ, LoLA, linear and full attention, with nothing learned.
    #[must_use]
    pub fn first_four() -> Vec<Self> {
        let ovq = Params::default().with("n_max", 512).with("chunk", 64);
        let lola = Params::default().with("window", 64).with("cache", 128).with("chunk", 64).with("fmap", "elu1");
        vec![
            Self::new("OVQ", "ovq", ovq),
            Self::new("LoLA", "lola", lola),
            Self::new("linear", "linear", Params::default().with("fmap", "elu1")),
            Self::new("full", "full", Params::default()),
        ]
    }
}

fn yes() -> bool {
    true
}

/// Where to compute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// A real GPU where there is one, else the CPU.
    #[default]
    Auto,
    /// A GPU adapter, software ones too.
    Gpu,
    /// The CPU.
    Cpu,
}

/// What is looked at: saved, but changes no number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct View {
    /// The playhead: writes seen. `None` is the end of the stream.
    pub position: Option<usize>,
    /// Steps a second while playing.
    pub speed: f32,
    /// Play from the start again at the end.
    pub repeat: bool,
    /// The key/value head shown.
    pub kv_head: usize,
    /// The query head shown, counted within those that read the key/value head.
    pub query_head: usize,
    /// The token that is selected.
    pub token: Option<usize>,
    /// The read that is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<usize>,
    /// The arrangement of the panels, as the layout writes itself; the default one where it is absent.
    pub layout: Option<String>,
    /// What is chosen inside the panels (`"state": {"view": "collisions"}`), where it is not what they show by themselves.
    #[serde(skip_serializing_if = "Chosen::is_empty")]
    pub choices: Chosen,
}

/// What is chosen inside one panel: the choice's name and what is chosen, in the words on screen.
pub type Choice = BTreeMap<String, String>;

/// What is chosen inside panels, by the panel's name.
pub type Chosen = BTreeMap<String, Choice>;

/// Puts choices over others: what `over` does not name stays.
pub fn put_over(below: &mut Chosen, over: &Chosen) {
    for (name, choice) in over {
        below.entry(name.clone()).or_default().extend(choice.clone());
    }
}

impl Default for View {
    fn default() -> Self {
        Self {
            position: None,
            speed: 8.0,
            repeat: false,
            kv_head: 0,
            query_head: 0,
            token: None,
            read: None,
            layout: None,
            choices: Chosen::new(),
        }
    }
}
