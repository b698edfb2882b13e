//! The file of a lesson: read with messages that say where and what, written in one go or not at all.

use std::io::Write;
use std::path::Path;

use thiserror::Error;

use super::{Lesson, MAX_STEPS, VERSION};
use crate::export::{WriteError, write_atomic};
use crate::session::file::{SessionError, read_ron, to_ron};

/// Why a lesson cannot be read or written.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum LessonError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] SessionError),
    /// Another version of the program wrote it.
    #[error("{file}: `version` is {found}, but this program reads lessons of version {VERSION}")]
    Version { file: String, found: u32 },
    /// A lesson has at least one step.
    #[error("{file}: `steps` has {found} steps; a lesson has from 1 to {MAX_STEPS}")]
    Steps { file: String, found: usize },
    /// A step asks for what cannot be.
    #[error("{file}: steps[{step}] (`{title}`): {reason}")]
    Step { file: String, step: usize, title: String, reason: String },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Lesson {
    /// Reads a lesson from text; `file` is what messages call it.
    ///
    /// # Errors
    /// What cannot be understood, with its place; a step that names a lane, an event or a panel that there is none of.
    pub fn from_ron(text: &str, file: &str) -> Result<Self, LessonError> {
        let mut lesson: Self = read_ron(text, file)?;
        if lesson.version != VERSION {
            return Err(LessonError::Version { file: file.to_owned(), found: lesson.version });
        }
        if lesson.steps.is_empty() || lesson.steps.len() > MAX_STEPS {
            return Err(LessonError::Steps { file: file.to_owned(), found: lesson.steps.len() });
        }
        // Its session is of the version that the program knows, whatever the file leaves out.
        lesson.session.version = crate::session::VERSION;
        for (at, step) in lesson.steps.iter().enumerate() {
            let wrong = |reason| LessonError::Step { file: file.to_owned(), step: at, title: step.title.clone(), reason };
            if let Some(ask) = &step.ask {
                ask.check.sound(&lesson.session).map_err(wrong)?;
            }
            #[cfg(feature = "gui")]
            if let Some(w) = crate::panel::choices::wrong(&step.set.choices).into_iter().next() {
                let name = w.name.map(|name| format!(", {name}")).unwrap_or_default();
                return Err(wrong(format!("`set.choices`, {}{name}: {}", w.panel, w.reason)));
            }
            for name in step.set.lanes.iter().flatten() {
                if !lesson.session.lanes.iter().any(|l| l.name == *name) {
                    return Err(wrong(format!("`set.lanes` names `{name}`, and there is no such lane")));
                }
            }
        }
        Ok(lesson)
    }

    /// Reads the lesson in a file.
    ///
    /// # Errors
    /// If it cannot be read or understood.
    pub fn open(path: &Path) -> Result<Self, LessonError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| SessionError::Read { file: file.clone(), reason: e.to_string() })?;
        Self::from_ron(&text, &file)
    }

    /// The lesson as text: the same lesson gives the same text.
    ///
    /// # Errors
    /// If a path in it is no Unicode.
    pub fn to_ron(&self) -> Result<String, LessonError> {
        Ok(to_ron(self)?)
    }

    /// Writes the lesson, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), LessonError> {
        let text = self.to_ron()?;
        write_atomic(path, |out| out.write_all(text.as_bytes()))?;
        Ok(())
    }
}
