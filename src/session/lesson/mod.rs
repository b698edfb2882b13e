//! Lessons: a session with steps. A step says something, shows it, and may ask the learner for something that the program sees done.
//!
//! A lesson is one RON file ([`Lesson::from_ron`]); those in `sessions/lessons` are inside the program ([`lessons`]). The window plays
//! and records them (`app::lesson`); what a step asks for is judged here, on the trace and on what is looked at ([`check`]).

pub mod check;
mod file;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::{Chosen, Session, put_over};
use crate::param::ParamValue;

pub use check::{Check, Seen};
pub use file::LessonError;

/// The version of the file that this program writes.
pub const VERSION: u32 = 1;

/// What names a lesson inside the program where a picture of one of its steps is wanted: `lesson:ovq@3`.
pub const PREFIX: &str = "lesson:";

/// The most steps of a lesson.
pub const MAX_STEPS: usize = 200;

/// A lesson, as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The version of the format, [`VERSION`] when written.
    pub version: u32,
    /// What it is called.
    pub title: String,
    /// What one learns, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// How long it takes, in minutes.
    #[serde(default)]
    pub minutes: u32,
    /// What it is played on, as the first step finds it.
    pub session: Session,
    /// The steps, in order; at least one.
    pub steps: Vec<Step>,
}

/// One step of a lesson.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// A few words.
    pub title: String,
    /// What is said: paragraphs, with an empty line between them.
    pub text: String,
    /// Panels to bring to the front and to mark, by name; also `timeline`, `lanes`, `inspector` and `recall`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub show: Vec<String>,
    /// What is set when the step begins; all else stays as the learner has it.
    #[serde(skip_serializing_if = "Change::is_empty")]
    pub set: Change,
    /// What the learner is to do, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
}

/// What a step asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The question or the task, in a sentence.
    pub what: String,
    /// Help for one who does not find it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// What is said once it is done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub then: String,
    /// What has to be so for it to be done.
    pub check: Check,
}

/// What a step sets. What it leaves out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// The playhead: writes seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// The token to select.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<usize>,
    /// The read to select.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<usize>,
    /// The key/value head to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_head: Option<usize>,
    /// The query head to show, within its group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_head: Option<usize>,
    /// The arrangement of the panels: a preset's name (`teach`) or one as a session file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The arrangement of the panels, as rows of cells; a cell is a panel's name, or several with `|` between them, the first in front. In the
    /// place of `layout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panels: Option<Vec<Vec<String>>>,
    /// What to choose inside panels: `{"state": {"view": "collisions"}}`.
    #[serde(skip_serializing_if = "Chosen::is_empty")]
    pub choices: Chosen,
    /// The lanes that are on, by name; all others are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Vec<String>>,
    /// Parameters, as `--set` names them: `LoLA.cache`, `task.T`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, ParamValue>,
}

impl Change {
    /// True if it sets nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This, with what a later step sets on top: what is as it would be had both been played.
    pub fn then(&mut self, later: &Self) {
        fn over<T: Clone>(own: &mut Option<T>, later: Option<&T>) {
            if let Some(value) = later {
                *own = Some(value.clone());
            }
        }
        over(&mut self.position, later.position.as_ref());
        over(&mut self.token, later.token.as_ref());
        over(&mut self.read, later.read.as_ref());
        over(&mut self.kv_head, later.kv_head.as_ref());
        over(&mut self.query_head, later.query_head.as_ref());
        if later.layout.is_some() || later.panels.is_some() {
            (self.layout, self.panels) = (later.layout.clone(), later.panels.clone());
        }
        put_over(&mut self.choices, &later.choices);
        over(&mut self.lanes, later.lanes.as_ref());
        self.params.extend(later.params.clone());
    }

    /// The session with the lanes and parameters that this sets. Names that are not there change nothing.
    #[must_use]
    pub fn applied(&self, session: &Session) -> Session {
        let mut session = session.clone();
        if let Some(on) = &self.lanes {
            for lane in &mut session.lanes {
                lane.enabled = on.contains(&lane.name);
            }
        }
        for (name, value) in &self.params {
            let Some((owner, param)) = name.rsplit_once('.') else { continue };
            if let (super::OWNER_OF_TASK, super::Source::Task(task)) = (owner, &mut session.source) {
                task.params.set(param, value.clone());
            } else if let Some(lane) = session.lanes.iter_mut().find(|l| l.name == owner) {
                lane.params.set(param, value.clone());
            }
        }
        session
    }
}

impl Lesson {
    /// All that the steps before and up to `step` set: what a learner finds who comes back to it.
    #[must_use]
    pub fn change_until(&self, step: usize) -> Change {
        let mut all = Change::default();
        self.steps.iter().take(step + 1).for_each(|s| all.then(&s.set));
        all
    }

    /// The session as a step finds it.
    #[must_use]
    pub fn session_at(&self, step: usize) -> Session {
        self.change_until(step).applied(&self.session)
    }
}

/// A lesson as it is shipped.
struct File {
    name: &'static str,
    text: &'static str,
    #[cfg(feature = "gui")]
    picture: &'static [u8],
}

macro_rules! files {
    ($($name:literal),*) => {
        &[$(File {
            name: $name,
            text: include_str!(concat!("../../../sessions/lessons/", $name, ".ron")),
            #[cfg(feature = "gui")]
            picture: include_bytes!(concat!("../../../assets/gallery/lessons/", $name, ".png")),
        }),*]
    };
}

/// Adding a lesson is one name here, `sessions/lessons/NAME.ron` and `assets/gallery/lessons/NAME.png`.
static FILES: &[File] = files!["forgetting", "ovq", "lola", "real_model", "comparing"];

/// Read once; a file that cannot be read is left out (a test sees to it that there is none).
static LESSONS: LazyLock<Vec<(&str, Arc<Lesson>)>> = LazyLock::new(|| {
    let read = |file: &File| {
        let lesson =
            Lesson::from_ron(file.text, &format!("sessions/lessons/{}.ron", file.name)).inspect_err(|e| log::error!("{e}")).ok()?;
        Some((file.name, Arc::new(lesson)))
    };
    FILES.iter().filter_map(read).collect()
});

/// Every lesson inside the program with its name, in the order in which they are best taken.
#[must_use]
pub fn lessons() -> &'static [(&'static str, Arc<Lesson>)] {
    &LESSONS
}

/// The lesson of this name inside the program.
#[must_use]
pub fn lesson(name: &str) -> Option<&'static Arc<Lesson>> {
    LESSONS.iter().find(|(n, _)| *n == name).map(|(_, lesson)| lesson)
}

/// The picture of a lesson inside the program, PNG: its panels at the step that tells most.
#[cfg(feature = "gui")]
#[must_use]
pub fn picture(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|file| file.name == name).map(|file| file.picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_the_list_with_a_picture() {
        let here = |folder: &str, ending: &str| {
            let entries = std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
            let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
            let mut names: Vec<String> = names.filter_map(|n| n.strip_suffix(ending).map(str::to_owned)).collect();
            names.sort();
            names
        };
        let mut listed: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        listed.sort_unstable();
        assert_eq!(here("sessions/lessons", ".ron"), listed);
        assert_eq!(here("assets/gallery/lessons", ".png"), listed);
    }

    #[test]
    fn every_shipped_lesson_can_be_read() {
        assert_eq!(lessons().iter().map(|(name, _)| *name).collect::<Vec<_>>(), FILES.iter().map(|file| file.name).collect::<Vec<_>>());
        for (name, lesson) in lessons() {
            assert!(!lesson.title.is_empty() && !lesson.about.is_empty() && (3..=20).contains(&lesson.minutes), "{name}");
            assert!((5..=16).contains(&lesson.steps.len()), "{name} has {} steps", lesson.steps.len());
            assert!(lesson.steps.iter().filter(|s| s.ask.is_some()).count() >= 4, "{name}: the learner does something");
            for step in &lesson.steps {
                let words = step.text.split_whitespace().count();
                assert!(!step.title.is_empty() && (12..=110).contains(&words), "{name}, {}: {words} words", step.title);
                assert!(step.ask.as_ref().is_none_or(|a| !a.hint.is_empty()), "{name}, {}: a hint", step.title);
            }
        }
    }

    #[test]
    fn later_steps_win_and_the_rest_stays() {
        let set = |position, cache: Option<i64>| {
            let params = cache.map(|c| ("LoLA.cache".to_owned(), ParamValue::Int(c))).into_iter().collect();
            Step { set: Change { position, params, ..Change::default() }, ..Step::default() }
        };
        let steps = vec![set(Some(64), Some(0)), set(None, None), set(Some(128), Some(256))];
        let lesson =
            Lesson { version: VERSION, title: String::new(), about: String::new(), minutes: 1, session: Session::default(), steps };
        assert_eq!(lesson.change_until(1).position, Some(64));
        let end = lesson.change_until(2);
        assert_eq!((end.position, end.params["LoLA.cache"].clone()), (Some(128), ParamValue::Int(256)));
        let lola = |at| lesson.session_at(at).lanes.iter().find(|l| l.name == "LoLA").and_then(|l| l.params.get("cache").cloned());
        assert_eq!((lola(0), lola(1), lola(2)), (Some(ParamValue::Int(0)), Some(ParamValue::Int(0)), Some(ParamValue::Int(256))));
        // What is not there changes nothing.
        let change = Change {
            params: [("nobody.cache".to_owned(), ParamValue::Int(1)), ("cache".to_owned(), ParamValue::Int(1))].into(),
            ..Change::default()
        };
        assert_eq!(change.applied(&lesson.session), lesson.session);
        let one = Change { lanes: Some(vec!["full".to_owned()]), ..Change::default() };
        assert_eq!(one.applied(&lesson.session).lanes.iter().filter(|l| l.enabled).count(), 1);
    }
}
