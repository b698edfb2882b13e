//! The session's file: RON, read with messages that say where and what, written in one go or not at all.
//!
//! A file may leave out any field, and may leave out the `Some(..)` around optional values and the inner brackets of
//! `Capture(..)` and `Task(..)`; it is written in that short form too.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use ron::error::SpannedError;
use ron::extensions::Extensions;
use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::{CaptureSource, LaneSpec, Session, Source, VERSION};
use crate::export::{WriteError, write_atomic};
use crate::param::nearest;
use crate::stream::capture::{BUNDLED, Capture, CaptureError};

/// A session file larger than this is something else.
const MAX_BYTES: u64 = 16 << 20;

/// The oldest version that is read. Version 1 has no title, caption, notes, bookmarks or hash of its capture; all else is as it was.
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
    /// The file was written by another version of the program.
    #[error("{file}: `version` is {found}, but this program reads sessions of the versions {OLDEST} to {VERSION}{}", if *found > VERSION { "; a newer Mnemoscope wrote it" } else { "" })]
    Version { file: String, found: u32 },
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
        if let Ok(Outline { version: Some(found), .. }) = outline
            && !(OLDEST..=VERSION).contains(&found)
        {
            return Err(SessionError::Version { file: file.to_owned(), found });
        }
        // RON reads either the short form of `Capture(..)` or the long one, `Capture((..))`, but not both.
        let long = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
        let session = parse(text, &options())
            .or_else(|short| parse(text, &long).map_err(|long| if long.place() > short.place() { long } else { short }))
            // Of two readings of the same text, the one that came further knows better what is wrong.
            .map_err(|mistake| mistake.named(file))?;
        // A file without lanes has those that its source is first seen by.
        let lanes = match outline {
            Ok(Outline { lanes: None, .. }) => LaneSpec::first_of(&session.source),
            _ => session.lanes,
        };
        Ok(Self { lanes, version: VERSION, ..session })
    }

    /// The session as text: the same session gives the same text.
    ///
    /// # Errors
    /// [`SessionError::Write`] if the path of a capture is no Unicode.
    pub fn to_ron(&self) -> Result<String, SessionError> {
        let style = ron::ser::PrettyConfig::new().struct_names(false).indentor("    ").extensions(extensions());
        let mut text = ron::Options::default()
            .to_string_pretty(self, style)
            .map_err(|e| WriteError { file: "session".to_owned(), reason: e.to_string() })?;
        text.push('\n');
        Ok(text)
    }

    /// Opens a session file, or a capture as a session with the default lanes; the content decides which it is.
    ///
    /// # Errors
    /// If the file cannot be read or understood, as either.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        if path.as_os_str() == BUNDLED {
            return Ok(Self::default());
        }
        if is_capture(path)? {
            return Self::from_capture_file(path);
        }
        let file = path.display().to_string();
        let failed = |e: std::io::Error| SessionError::Read { file: file.clone(), reason: e.to_string() };
        let mut bytes = Vec::new();
        std::fs::File::open(path).and_then(|f| f.take(MAX_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.len() as u64 == MAX_BYTES {
            let reason = format!("it is neither a capture nor a session, which has fewer than {MAX_BYTES} bytes");
            return Err(SessionError::Read { file, reason });
        }
        let reason = "it is neither a capture (safetensors) nor a session (text)".to_owned();
        let text = String::from_utf8(bytes).map_err(|_| SessionError::Read { file: file.clone(), reason })?;
        Self::from_ron(&text, &file)
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

    /// Writes the session, whole or not at all. The paths of a capture and of weights are made relative to the new file's folder
    /// where what they name lies in it or in one of the two folders above; `base` is the folder that it is relative to now.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path, base: Option<&Path>) -> Result<(), SessionError> {
        let mut session = self.clone();
        session.version = VERSION;
        let folder = std::path::absolute(path).ok().and_then(|p| p.parent().map(Path::to_owned));
        for named in session.files().filter(|named| named.as_os_str() != BUNDLED) {
            let here = resolve(named, base);
            *named = folder.as_ref().and_then(|f| relative(&here, f)).unwrap_or(here);
        }
        let text = session.to_ron()?;
        write_atomic(path, |out| out.write_all(text.as_bytes()))?;
        Ok(())
    }
}

/// What RON says, and the field it was in.
struct Mistake {
    path: String,
    error: SpannedError,
}

fn parse(text: &str, options: &ron::Options) -> Result<Session, Box<Mistake>> {
    let at_top = |error| Box::new(Mistake { path: String::new(), error });
    let mut reader = ron::Deserializer::from_str_with_options(text, options).map_err(at_top)?;
    let mut track = serde_path_to_error::Track::new();
    let session = Session::deserialize(serde_path_to_error::Deserializer::new(&mut reader, &mut track))
        .map_err(|e| Box::new(Mistake { path: path_text(&track.path()), error: reader.span_error(e) }))?;
    reader.end().map_err(|e| at_top(reader.span_error(e)))?;
    Ok(session)
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

impl Mistake {
    fn place(&self) -> (usize, usize) {
        (self.error.span.start.line, self.error.span.start.col)
    }

    fn named(self, file: &str) -> SessionError {
        use ron::Error as E;
        let known = |found: &str, expected: &'static [&'static str]| match nearest(found, expected.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there are {}", expected.join(", ")),
        };
        let reason = match &self.error.code {
            E::NoSuchStructField { found, expected, .. } => format!("there is no field `{found}`; {}", known(found, expected)),
            E::NoSuchEnumVariant { found, expected, .. } => format!("`{found}` is not possible here; {}", known(found, expected)),
            E::MissingStructField { field, .. } => format!("the field `{field}` is missing"),
            E::DuplicateStructField { field, .. } => format!("the field `{field}` is there twice"),
            other => other.to_string(),
        };
        let start = self.error.span.start;
        SessionError::Syntax { file: file.to_owned(), line: start.line, column: start.col, path: self.path, reason }
    }
}
