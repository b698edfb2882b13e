//! What the window remembers between sessions: theme, text size, recent files. A file that cannot be read is as good as
//! none: the window opens with its defaults and says so in the log.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::app::lesson::Progress;
use crate::app::theme::ThemeChoice;

/// Most recent files kept.
const RECENT: usize = 10;

/// Sizes of text: from this to that, in steps of a tenth.
pub const SCALES: std::ops::RangeInclusive<f32> = 0.7..=2.0;

/// The preferences. See the module's page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Light, dark, or as the desktop says.
    pub theme: ThemeChoice,
    /// Size of text against the designed one.
    pub scale: f32,
    /// True: the window begins with the start page, where it is not given a file.
    pub start_page: bool,
    /// Files opened or saved, the newest first.
    pub recent: Vec<PathBuf>,
    /// True or false: the session panel is shown, or folded to a rail; otherwise it is shown where there is room.
    pub session_panel: Option<bool>,
    /// The same of the inspector with recall.
    pub inspector: Option<bool>,
    /// How far one has come in lessons.
    pub lessons: Progress,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: ThemeChoice::System,
            scale: 1.0,
            start_page: true,
            recent: Vec::new(),
            session_panel: None,
            inspector: None,
            lessons: Progress::new(),
        }
    }
}

/// Where windows keep the edits that are not saved, for this user; `None` where the system names no such place.
#[must_use]
pub fn autosave_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "mnemoscope").map(|d| d.data_local_dir().join("autosave"))
}

impl Preferences {
    /// Where they are kept for this user; `None` where the system names no such place.
    #[must_use]
    pub fn path() -> Option<PathBuf> {
        directories::ProjectDirs::from("", "", "mnemoscope").map(|d| d.config_dir().join("preferences.ron"))
    }

    /// Reads them; the defaults where there are none or they cannot be understood.
    #[must_use]
    pub fn load(path: &Path) -> Self {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound {
                    log::warn!("{}: {error}; the window opens with its defaults", path.display());
                }
                return Self::default();
            }
        };
        ron::from_str::<Self>(&text).map_or_else(
            |error| {
                log::warn!("{}: {error}; the window opens with its defaults", path.display());
                Self::default()
            },
            Self::sane,
        )
    }

    /// Writes them, all or nothing.
    ///
    /// # Errors
    /// If the place cannot be written to.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let text = ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::default()).map_err(std::io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    }

    /// Puts a file at the head of the recent ones.
    pub fn remember(&mut self, path: &Path) {
        self.recent.retain(|p| p != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(RECENT);
    }

    /// Changes the size of text by so many tenths.
    pub fn rescale(&mut self, tenths: i8) {
        let scale = ((self.scale * 10.0).round() + f32::from(tenths)) / 10.0;
        self.scale = scale.clamp(*SCALES.start(), *SCALES.end());
    }

    fn sane(mut self) -> Self {
        if !self.scale.is_finite() {
            self.scale = 1.0;
        }
        self.scale = self.scale.clamp(*SCALES.start(), *SCALES.end());
        self.recent.truncate(RECENT);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("preferences.ron");
        let mut p = Preferences { theme: ThemeChoice::Light, scale: 1.3, start_page: false, ..Preferences::default() };
        p.remember(Path::new("/a.ron"));
        p.remember(Path::new("/b.ron"));
        p.remember(Path::new("/a.ron"));
        p.save(&path).unwrap();
        let found = Preferences::load(&path);
        assert_eq!(found, p);
        assert_eq!(found.recent, [PathBuf::from("/a.ron"), PathBuf::from("/b.ron")]);
    }

    #[test]
    fn a_broken_file_gives_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("preferences.ron");
        for text in ["", "(theme: purple)", "\u{0}\u{1}", "(scale: NaN)", "(recent: [1, 2])"] {
            std::fs::write(&path, text).unwrap();
            let found = Preferences::load(&path);
            assert_eq!((found.theme, found.scale.to_bits(), found.recent.len()), (ThemeChoice::System, 1f32.to_bits(), 0), "{text:?}");
        }
        assert_eq!(Preferences::load(&folder.path().join("none")), Preferences::default());
    }

    #[test]
    fn sizes_have_limits() {
        let mut p = Preferences::default();
        for _ in 0..50 {
            p.rescale(1);
        }
        assert_eq!(p.scale.to_bits(), 2f32.to_bits());
        for _ in 0..50 {
            p.rescale(-1);
        }
        assert_eq!(p.scale.to_bits(), 0.7f32.to_bits());
    }
}
