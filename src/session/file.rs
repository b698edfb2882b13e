//! The session's file: RON, read with messages that say where and what, written in one go or not at all.
//!
//! A file may leave out any field, and may leave out the `Some(..)` around optional values and the inner brackets of
//! `Capture(..)` and `Task(..)`; it is written in that short form too.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use ron::error::SpannedError;
use ron::extensions::Extensions;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::migrate::{self, Version1};
use super::place::{self, Way};
use super::{CaptureSource, LaneSpec, Session, Source, VERSION, gallery, hash, saved};
use crate::export::{WriteError, write_atomic};
use crate::param::nearest;
use crate::stream::capture::{BUNDLED, Capture, CaptureError};

/// The most bookmarks of a session.
pub const MAX_BOOKMARKS: usize = 1000;

/// A session file larger than this is something else.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// The oldest version that is read; see `migrate` for what each had.
const OLDEST: u32 = 1;

/// Why a session cannot be read or written.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum SessionError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {reason}")]
    Read { file: String, reason: String },
    /// The file is no session: where, which field, why.
    #[error("{file}:{line}:{column}: {}{reason}", if path.is_empty() { String::new() } else { format!("in `{path}`: ") })]
    Syntax { file: String, line: usize, column: usize, path: String, reason: String },
    /// A session with its trace that is damaged, or no such file.
    #[error("{file}: is no session with its trace, or is damaged: {reason}")]
    Saved { file: String, reason: String },
    /// The file was written by another version of the program.
    #[error("{file}: `version` is {found}, but this program reads sessions of the versions {OLDEST} to {VERSION}{}", if *found > VERSION { "; a newer Mnemoscope wrote it" } else { "" })]
    Version { file: String, found: u32 },
    /// No session of this name is shipped.
    #[error("no session `{name}` is shipped with the program{}; `mnemoscope gallery` lists those that are", nearest.as_ref().map(|n| format!(" (did you mean `gallery:{n}`?)")).unwrap_or_default())]
    NotShipped { name: String, nearest: Option<String> },
    /// It is a capture, and that cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn options() -> ron::Options {
    ron::Options::default().with_default_extension(extensions())
}

fn extensions() -> Extensions {
    Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES
}

/// What decides how the rest is read.
#[derive(Deserialize)]
struct Outline {
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    lanes: Option<IgnoredAny>,
}

impl Session {
    /// Reads a session from text; `file` is what messages call it.
    ///
    /// # Errors
    /// [`SessionError::Version`] for another version, [`SessionError::Syntax`] for what cannot be understood. The numbers in it
    /// are checked by [`super::plan::Plan::new`].
    pub fn from_ron(text: &str, file: &str) -> Result<Self, SessionError> {
        // The version first: a newer file may have fields that this program does not know.
        let outline = options().from_str::<Outline>(text);
        let version = outline.as_ref().ok().and_then(|o| o.version).unwrap_or(VERSION);
        let session = match version {
            1 => parse_either::<Version1>(text).map(Self::from),
            VERSION => parse_either::<Self>(text),
            found => return Err(SessionError::Version { file: file.to_owned(), found }),
        };
        let mut session = session.map_err(|mistake| mistake.named(file, version))?;
        // A file without lanes has those that its source is first seen by.
        if matches!(outline, Ok(Outline { lanes: None, .. })) {
            session.lanes = LaneSpec::first_of(&session.source);
        }
        // In which order they were written says nothing.
        session.bookmarks.sort_by_key(|b| b.position);
        match first_wrong(&session) {
            None => Ok(Self { version: VERSION, ..session }),
            Some((way, reason)) => {
                let (line, column) = place::find(text, &way).unwrap_or((1, 1));
                Err(SessionError::Syntax { file: file.to_owned(), line, column, path: way.to_string(), reason })
            }
        }
    }

    /// The session as text: the same session gives the same text.
    ///
    /// # Errors
    /// [`SessionError::Write`] if the path of a capture is no Unicode.
    pub fn to_ron(&self) -> Result<String, SessionError> {
        to_ron(self)
    }

    /// The session with the files that it names by absolute paths; `base` is the folder that they are relative to now.
    #[must_use]
    pub fn with_absolute_paths(mut self, base: Option<&Path>) -> Self {
        for named in self.files().filter(|named| named.as_os_str() != BUNDLED) {
            *named = resolve(named, base);
        }
        self
    }

    /// Opens a session file, a session with its trace (the session in it), or a capture as a session with the default lanes; the content
    /// decides which it is. `gallery:NAME` is a session inside the program.
    ///
    /// # Errors
    /// If the file cannot be read or understood, as either.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        if path.as_os_str() == BUNDLED {
            return Ok(Self::default());
        }
        if let Some(name) = gallery::name_in(path) {
            return gallery::open(name);
        }
        if is_capture(path)? {
            return Self::from_capture_file(path);
        }
        if saved::is_saved(path) {
            return saved::read_session(path);
        }
        let file = path.display().to_string();
        Self::from_ron(&read_text(path)?, &file)
    }

    /// A capture as a session: its first layer, all heads, the default lanes. The path becomes absolute.
    ///
    /// # Errors
    /// If the capture cannot be opened.
    pub fn from_capture_file(path: &Path) -> Result<Self, SessionError> {
        Capture::open(path)?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let source = Source::Capture(CaptureSource::of(path));
        Ok(Self { lanes: LaneSpec::first_of(&source), source, ..Self::default() })
    }

    /// The files that the session names: its capture and its lanes' weights.
    fn files(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let capture = match &mut self.source {
            Source::Capture(capture) => Some(&mut capture.path),
            Source::Task(_) => None,
        };
        capture.into_iter().chain(self.lanes.iter_mut().filter_map(|lane| lane.weights.as_mut()))
    }

    /// Writes the session, whole or not at all. A capture that it does not name by its content yet is read for its hash. The paths of a
    /// capture and of weights are made relative to the new file's folder where what they name lies in it or in one of the two folders
    /// above; `base` is the folder that it is relative to now.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path, base: Option<&Path>) -> Result<(), SessionError> {
        let text = self.placed(path, base).to_ron()?;
        write_atomic(path, |out| out.write_all(text.as_bytes()))?;
        Ok(())
    }

    /// The session as it is written to the file `path`; `base` is the folder that its paths are relative to now.
    pub(super) fn placed(&self, path: &Path, base: Option<&Path>) -> Self {
        let mut session = self.clone();
        session.version = VERSION;
        if let Source::Capture(capture) = &mut session.source {
            hash::name(capture, base);
        }
        let folder = std::path::absolute(path).ok().and_then(|p| p.parent().map(Path::to_owned));
        for named in session.files().filter(|named| named.as_os_str() != BUNDLED) {
            let here = resolve(named, base);
            *named = folder.as_ref().and_then(|f| relative(&here, f)).unwrap_or(here);
        }
        session
    }
}

/// The text of a file that is to be a session.
///
/// # Errors
/// If it cannot be read, is too long, or is no text.
pub(super) fn read_text(path: &Path) -> Result<String, SessionError> {
    let file = path.display().to_string();
    let failed = |e: std::io::Error| SessionError::Read { file: file.clone(), reason: e.to_string() };
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|f| f.take(MAX_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 == MAX_BYTES {
        let reason = format!("it is neither a capture nor a session, which has fewer than {MAX_BYTES} bytes");
        return Err(SessionError::Read { file, reason });
    }
    let reason = "it is neither a capture (safetensors) nor a session (text)".to_owned();
    String::from_utf8(bytes).map_err(|_| SessionError::Read { file, reason })
}

/// The first value that cannot be, of those that can be told without the stream and the layers: the way to it, and why.
fn first_wrong(session: &Session) -> Option<(Way, String)> {
    if let Source::Capture(CaptureSource { sha256: Some(hash), .. }) = &session.source
        && !hash::is_sha256(hash)
    {
        let reason = format!("`{}` is no SHA-256, which has 64 hexadecimal digits", hash.chars().take(80).collect::<String>());
        return Some((Way::to("source").field("Capture").field("sha256"), reason));
    }
    if !(session.view.speed.is_finite() && session.view.speed > 0.0) {
        let reason = format!("the steps a second are {}, but must be a number above 0", session.view.speed);
        return Some((Way::to("view").field("speed"), reason));
    }
    #[cfg(feature = "gui")]
    if let Some(wrong) = crate::panel::choices::wrong(&session.view.choices).into_iter().next() {
        let way = Way::to("view").field("choices").field(&wrong.panel);
        return Some((wrong.name.iter().fold(way, |way, name| way.field(name)), wrong.reason));
    }
    if session.bookmarks.len() > MAX_BOOKMARKS {
        let reason = format!("there are {} bookmarks, but a session has at most {MAX_BOOKMARKS}", session.bookmarks.len());
        return Some((Way::to("bookmarks"), reason));
    }
    None
}

/// What RON says, and the field it was in.
struct Mistake {
    path: String,
    error: SpannedError,
}

/// RON reads either the short form of `Capture(..)` or the long one, `Capture((..))`, but not both.
fn parse_either<T: DeserializeOwned>(text: &str) -> Result<T, Box<Mistake>> {
    let long = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
    // Of two readings of the same text, the one that came further knows better what is wrong.
    parse(text, &options()).or_else(|short| parse(text, &long).map_err(|long| if long.place() > short.place() { long } else { short }))
}

/// Reads what a RON file holds; `file` is what messages call it.
pub(super) fn read_ron<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, SessionError> {
    parse_either(text).map_err(|mistake| mistake.named(file, VERSION))
}

/// As text in RON, in the short form.
pub(super) fn to_ron(what: &impl Serialize) -> Result<String, SessionError> {
    let style = ron::ser::PrettyConfig::new().struct_names(false).indentor("    ").extensions(extensions());
    let text = ron::Options::default().to_string_pretty(what, style);
    let mut text = text.map_err(|e| WriteError { file: "session".to_owned(), reason: e.to_string() })?;
    text.push('\n');
    Ok(text)
}

fn parse<T: DeserializeOwned>(text: &str, options: &ron::Options) -> Result<T, Box<Mistake>> {
    let at_top = |error| Box::new(Mistake { path: String::new(), error });
    let mut reader = ron::Deserializer::from_str_with_options(text, options).map_err(at_top)?;
    let mut track = serde_path_to_error::Track::new();
    let value = T::deserialize(serde_path_to_error::Deserializer::new(&mut reader, &mut track))
        .map_err(|e| Box::new(Mistake { path: path_text(&track.path()), error: reader.span_error(e) }))?;
    reader.end().map_err(|e| at_top(reader.span_error(e)))?;
    Ok(value)
}

/// The absolute path of a file that a session in the folder `base` names.
#[must_use]
pub fn resolve(path: &Path, base: Option<&Path>) -> PathBuf {
    let joined = base.map_or_else(|| path.to_owned(), |b| b.join(path));
    std::path::absolute(&joined).unwrap_or(joined)
}

/// `path` as seen from `folder`, over at most two folders up. Both are absolute.
fn relative(path: &Path, folder: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for above in folder.ancestors().take(3) {
        // The root of a disk is no common home.
        if above.components().all(|c| matches!(c, Component::RootDir | Component::Prefix(_))) {
            return None;
        }
        if let Ok(rest) = path.strip_prefix(above) {
            return Some(up.join(rest));
        }
        up.push("..");
    }
    None
}

/// True for a capture, the one inside the program among them; false for what can only be a session.
///
/// The extension decides (`safetensors`, `ron`), and without one of these the content: a capture begins with its header's
/// length in eight bytes, of which the last four are 0, and the header's opening bracket.
///
/// # Errors
/// If the file cannot be read.
pub fn is_capture(path: &Path) -> Result<bool, SessionError> {
    if path.as_os_str() == BUNDLED {
        return Ok(true);
    }
    if gallery::name_in(path).is_some() {
        return Ok(false);
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(path).and_then(|f| f.take(9).read_to_end(&mut head));
    file.map_err(|e| SessionError::Read { file: path.display().to_string(), reason: e.to_string() })?;
    Ok(match path.extension().and_then(|e| e.to_str()) {
        Some("safetensors") => true,
        Some("ron") => false,
        _ => matches!(head[..], [_, _, _, _, 0, 0, 0, 0, b'{']),
    })
}

/// `lanes[1].params.n_max`; empty at the top.
fn path_text(path: &serde_path_to_error::Path) -> String {
    let text = path.to_string();
    if text == "." || text == "?" { String::new() } else { text.trim_end_matches(".?").to_owned() }
}

/// What stands before a panel's name on the way to what is chosen in it.
const CHOICES: &str = "choices.";

/// Choices that stand flat, in words that show the form: each panel has its own in brackets.
fn nested_choices(path: &str) -> String {
    let key = path.split_once(CHOICES).map_or(path, |(_, key)| key);
    let (panel, name) = key.split_once('.').unwrap_or((key, "view"));
    format!(
        "what is chosen in a panel stands in brackets of its own, `\"{panel}\": {{\"{name}\": \"..\"}}`, as in `choices: {{\"state\": {{\"view\": \"collisions\"}}}}`"
    )
}

impl Mistake {
    fn place(&self) -> (usize, usize) {
        (self.error.span.start.line, self.error.span.start.col)
    }

    fn named(self, file: &str, version: u32) -> SessionError {
        use ron::Error as E;
        let known = |found: &str, expected: &'static [&'static str]| match nearest(found, expected.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there are {}", expected.join(", ")),
        };
        let reason = match &self.error.code {
            E::NoSuchStructField { found, expected, .. } => match migrate::came_later(found, version) {
                Some(since) => format!("the field `{found}` came with version {since}, but the file says `version: {version}`"),
                None => format!("there is no field `{found}`; {}", known(found, expected)),
            },
            E::NoSuchEnumVariant { found, expected, .. } => format!("`{found}` is not possible here; {}", known(found, expected)),
            E::MissingStructField { field, .. } => format!("the field `{field}` is missing"),
            E::DuplicateStructField { field, .. } => format!("the field `{field}` is there twice"),
            E::ExpectedMap if self.path.contains(CHOICES) => nested_choices(&self.path),
            other => other.to_string(),
        };
        let start = self.error.span.start;
        SessionError::Syntax { file: file.to_owned(), line: start.line, column: start.col, path: self.path, reason }
    }
}
