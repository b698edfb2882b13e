//! The sessions that are shipped with the program: one for each claim of the two papers, one a task, a real model's, and traps. They are
//! in the program itself, and everywhere a file is wanted they go by `gallery:NAME`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::file::SessionError;
use super::{Session, Source};
use crate::param::nearest;

/// What the name of a shipped session begins with where a file is wanted.
pub const PREFIX: &str = "gallery:";

/// What a shipped session is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// A claim of one of the papers, or an ablation.
    Claims,
    /// A task, with every kind of memory on it.
    Tasks,
    /// A real model.
    Model,
    /// A mistake that others made.
    Traps,
}

impl Section {
    /// Every section, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Claims, Self::Model, Self::Traps, Self::Tasks];

    /// Its name in `mnemoscope gallery`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Tasks => "tasks",
            Self::Model => "model",
            Self::Traps => "traps",
        }
    }

    /// Its heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Claims => "What the papers claim",
            Self::Tasks => "Every task, every memory",
            Self::Model => "A real model",
            Self::Traps => "Traps",
        }
    }

    /// What is in it, in a sentence.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Claims => {
                "Growth, founding and rates of OVQ; cache, window and scores of LoLA. Nothing is trained, and the orderings appear all the same."
            }
            Self::Tasks => "Full attention, a window, OVQ, VQ, linear and delta states, LoLCATs and LoLA side by side on one stream.",
            Self::Model => "Queries, keys and values of a head of SmolLM2-135M, on a prompt with a needle.",
            Self::Traps => "Mistakes that are easily made, with what they look like from outside.",
        }
    }
}

/// A file as it is shipped.
struct File {
    name: &'static str,
    section: Section,
    text: &'static str,
    #[cfg(feature = "gui")]
    picture: &'static [u8],
}

macro_rules! files {
    ($($section:ident: $($name:literal),*;)*) => {
        &[$($(File {
            name: $name,
            section: Section::$section,
            text: include_str!(concat!("../../sessions/", $name, ".ron")),
            #[cfg(feature = "gui")]
            picture: include_bytes!(concat!("../../assets/gallery/", $name, ".png")),
        }),*),*]
    };
}

/// Adding a session is one name here, `sessions/NAME.ron` and `assets/gallery/NAME.png`. Those of the tasks are in the tasks' order.
static FILES: &[File] = files! {
    Claims: "growth", "growth_early", "founding", "rate", "count_bias", "test_time_n", "lola_cache", "scores", "no_window", "larger_cache", "needle_kept";
    Model: "smollm2_needle", "ovq_needle";
    Traps: "half_counts", "misplaced_epsilon", "ties";
    Tasks: "in_context_recall", "needles", "positional_recall", "multi_query", "drift", "regression", "variable_tracking", "free_text";
};

/// A shipped session.
#[derive(Debug)]
pub struct Shipped {
    /// Its name (`growth`).
    pub name: &'static str,
    /// What it is about.
    pub section: Section,
    /// A picture of its window, PNG.
    #[cfg(feature = "gui")]
    pub picture: &'static [u8],
    /// What is in it.
    pub session: Session,
}

impl Shipped {
    /// What it goes by where a file is wanted.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        format!("{PREFIX}{}", self.name).into()
    }
}

/// Read once; a file that cannot be read is left out (a test sees to it that there is none).
static SHIPPED: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    let read = |file: &File| {
        let session = Session::from_ron(file.text, &format!("{PREFIX}{}", file.name)).inspect_err(|e| log::error!("{e}")).ok()?;
        Some(Shipped {
            name: file.name,
            section: file.section,
            #[cfg(feature = "gui")]
            picture: file.picture,
            session,
        })
    };
    FILES.iter().filter_map(read).collect()
});

/// Every shipped session, section by section.
#[must_use]
pub fn shipped() -> &'static [Shipped] {
    &SHIPPED
}

/// The shipped session of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|s| s.name == name)
}

/// The name of a shipped session in a path that stands for one.
#[must_use]
pub fn name_in(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(PREFIX)
}

/// The session that a name stands for.
///
/// # Errors
/// [`SessionError::NotShipped`], with the nearest name that there is.
pub fn open(name: &str) -> Result<Session, SessionError> {
    let unknown = || {
        let nearest = nearest(name, SHIPPED.iter().map(|s| s.name)).map(str::to_owned);
        SessionError::NotShipped { name: name.to_owned(), nearest }
    };
    by_name(name).map(|s| s.session.clone()).ok_or_else(unknown)
}

/// The shipped session of the task `name`. It may hold more lanes than can run at once; those over are switched off.
#[must_use]
pub fn example(name: &str) -> Option<&'static Session> {
    let of_task = |s: &&Shipped| s.section == Section::Tasks && matches!(&s.session.source, Source::Task(t) if t.name == name);
    SHIPPED.iter().find(of_task).map(|s| &s.session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::MAX_LANES;
    use crate::task::TASKS;

    #[test]
    fn every_file_is_in_the_list_with_a_title_a_caption_and_a_picture() {
        let here = |folder: &str, ending: &str| {
            let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
            let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
            let mut names: Vec<String> = names.filter_map(|n| n.strip_suffix(ending).map(str::to_owned)).collect();
            names.sort();
            names
        };
        let mut listed: Vec<&str> = shipped().iter().map(|s| s.name).collect();
        listed.sort_unstable();
        assert_eq!(here("sessions", ".ron"), listed);
        assert_eq!(here("assets/gallery", ".png"), listed);
        for Shipped { name, session, .. } in shipped() {
            let (title, caption) = (&session.title, &session.caption);
            assert!((3..=48).contains(&title.chars().count()), "{name}: `{title}`");
            let sentences = caption.matches(['.', '?']).count();
            assert!((100..=640).contains(&caption.chars().count()) && sentences >= 2, "{name}: {}", caption.chars().count());
            let total = session.bookmarks.windows(2).all(|w| w[0].position < w[1].position);
            assert!(total && session.bookmarks.iter().all(|b| !b.caption.is_empty()), "{name}");
        }
    }

    #[test]
    fn every_task_has_an_example_and_they_come_in_the_tasks_order() {
        let names: Vec<&str> = TASKS.iter().map(|t| t.name()).collect();
        let tasks: Vec<&str> = shipped().iter().filter(|s| s.section == Section::Tasks).map(|s| s.name).collect();
        assert_eq!(tasks, names);
        assert!(names.iter().all(|name| example(name).is_some_and(|s| s.lanes.iter().any(|l| l.enabled && l.layer == "full"))));
    }

    #[test]
    fn lanes_that_run_together_have_colours_of_their_own() {
        for Shipped { name, session, .. } in shipped() {
            let enabled = session.lanes.iter().filter(|l| l.enabled);
            let mut colours: Vec<_> = enabled.clone().filter_map(|l| l.colour).collect();
            assert!(enabled.clone().count() <= MAX_LANES, "{name}");
            // The bundled capture's own session is as the window opens: its lanes have the colours of their places.
            assert!(colours.len() == enabled.count() || (colours.is_empty() && *name == "smollm2_needle"), "{name}");
            colours.sort_unstable();
            assert!(colours.windows(2).all(|w| w[0] != w[1]), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_the_nearest() {
        assert_eq!(Session::open(Path::new("gallery:growth")).unwrap().title, by_name("growth").unwrap().session.title);
        let error = Session::open(Path::new("gallery:grwth")).unwrap_err().to_string();
        assert!(error.contains("did you mean `gallery:growth`?") && error.contains("mnemoscope gallery"), "{error}");
        assert_eq!((name_in(Path::new("gallery:ties")), name_in(Path::new("ties.ron"))), (Some("ties"), None));
    }
}
