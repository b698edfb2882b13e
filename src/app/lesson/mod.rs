//! Lessons in the window: one that is played, and one that is being made.
//!
//! What a lesson is stands in [`crate::session::lesson`]. Here: which step one is at ([`Playing`]), the strip that says it ([`strip`]), and
//! the editor ([`editor`]) that records one ([`editing`]). Commands are carried out in `actions::lesson`.

pub mod editing;
pub mod editor;
pub mod strip;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::app::arrangement::{Arrangement, Node};
use crate::panel::choices::as_new;
use crate::session::lesson::check::Answer;
use crate::session::lesson::{Change, Lesson, Step};
use crate::session::{Chosen, Session, put_over};

pub use editing::Editing;
pub use editor::EditCommand;

/// What can be asked of lessons.
#[derive(Debug, Clone, PartialEq)]
pub enum LessonCommand {
    /// Play one of those inside the program, from where it was left.
    Start(&'static str),
    /// Ask for a file with a lesson, and play it.
    Open,
    /// The next step: not before this one is done.
    Next,
    /// The next step, whatever was asked for in this one.
    Skip,
    /// The step before.
    Back,
    /// From the first step again.
    Again,
    /// Say the hint, or hide it.
    Hint,
    /// Choose an answer, by its place.
    Choose(usize),
    /// Answer with a number.
    Number(f64),
    /// End the lesson; what is on screen stays.
    Leave,
    /// Make a lesson: a new one from the session on screen.
    New,
    /// Change the lesson that is played.
    Edit,
    /// Something for the editor.
    Editor(EditCommand),
}

/// How far one has come in a lesson.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reached {
    /// The step that one was at, from 0.
    pub step: usize,
    /// True once the last step was done.
    pub ended: bool,
}

/// How far one has come, by the lesson's name or path.
pub type Progress = BTreeMap<String, Reached>;

/// A lesson that is played.
#[derive(Debug, Clone)]
pub struct Playing {
    /// The lesson.
    pub lesson: Arc<Lesson>,
    /// What it is remembered by: its name or its path.
    pub key: String,
    /// Its file, if it has one of its own.
    pub path: Option<PathBuf>,
    /// The step, from 0.
    pub at: usize,
    /// Which steps are done.
    pub done: Vec<bool>,
    /// True while the hint is shown.
    pub hint: bool,
    /// What was answered in this step.
    pub answer: Answer,
    /// The number as it is being typed.
    pub typed: String,
}

impl Playing {
    /// A lesson at a step.
    #[must_use]
    pub fn new(lesson: Arc<Lesson>, key: String, path: Option<PathBuf>, at: usize) -> Self {
        let at = at.min(lesson.steps.len() - 1);
        // A step that asks for nothing is done when it is seen; those before were passed.
        let done = (0..lesson.steps.len()).map(|i| i < at).collect();
        let mut playing = Self { lesson, key, path, at, done, hint: false, answer: Answer::default(), typed: String::new() };
        playing.enter(at);
        playing
    }

    /// Goes to a step.
    pub fn enter(&mut self, at: usize) {
        self.at = at;
        (self.hint, self.answer, self.typed) = (false, Answer::default(), String::new());
        if self.step().ask.is_none() {
            self.done[at] = true;
        }
    }

    /// The step that one is at.
    #[must_use]
    pub fn step(&self) -> &Step {
        &self.lesson.steps[self.at]
    }

    /// True if what the step asks for is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done[self.at]
    }

    /// True at the last step.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.at + 1 == self.lesson.steps.len()
    }

    /// How far one has come.
    #[must_use]
    pub fn reached(&self) -> Reached {
        Reached { step: self.at, ended: self.is_last() && self.is_done() }
    }
}

/// The arrangement that a change asks for, if it asks for one that can be made.
#[must_use]
pub fn arrangement(change: &Change) -> Option<Node> {
    if let Some(rows) = &change.panels {
        let cell = |names: &String| (1.0, Node::Tabs { active: 0, of: names.split('|').map(|n| Node::panel(n.trim())).collect() });
        return Some(Node::Column(rows.iter().map(|row| (1.0, Node::Row(row.iter().map(cell).collect()))).collect()));
    }
    let text = change.layout.as_deref()?;
    crate::app::presets::preset(text).map(super::presets::Preset::node).or_else(|| ron::from_str(text).ok())
}

/// What the lesson's session shows inside the panels in which any step chooses something.
#[must_use]
pub fn choices_at_first(lesson: &Lesson) -> Chosen {
    let mut all = as_new(&lesson.change_until(lesson.steps.len()).choices);
    put_over(&mut all, &lesson.session.view.choices);
    all
}

/// The view of a session with what a change says of it.
#[must_use]
pub fn seen_from(session: &Session, change: &Change) -> crate::session::View {
    let mut view = session.view.clone();
    view.position = change.position.or(view.position);
    view.token = change.token.or(view.token);
    view.read = change.read.or(view.read);
    view.kv_head = change.kv_head.unwrap_or(view.kv_head);
    view.query_head = change.query_head.unwrap_or(view.query_head);
    put_over(&mut view.choices, &change.choices);
    view
}

/// A step of a lesson as a session of its own, seen and arranged as the step has it; steps count from 0. For pictures.
#[must_use]
pub fn session_of(lesson: &Lesson, step: usize) -> Session {
    let change = lesson.change_until(step);
    let mut session = lesson.session_at(step);
    session.view = seen_from(&session, &change);
    if let Some(text) = arrangement(&change).and_then(|of| Arrangement { lane: None, of }.write().ok()) {
        session.view.layout = Some(text);
    }
    (session.title, session.caption) = (lesson.title.clone(), lesson.about.clone());
    session
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::layout::entries;
    use crate::session::lesson::lessons;

    #[test]
    fn shipped_lessons_arrange_and_mark_what_there_is() {
        for (name, lesson) in lessons() {
            for step in &lesson.steps {
                for shown in &step.show {
                    let known = shown == crate::app::layout::RECALL
                        || entries().any(|e| e.name == shown)
                        || strip::PLACES.contains(&shown.as_str());
                    assert!(known, "{name}, {}: `{shown}`", step.title);
                }
                if step.set.panels.is_some() || step.set.layout.is_some() {
                    let node = arrangement(&step.set).unwrap();
                    assert!(node.names().iter().all(|n| entries().any(|e| e.name == *n)), "{name}, {}", step.title);
                }
            }
        }
    }

    #[test]
    fn a_step_is_a_session_with_all_that_was_set_before_it() {
        let (_, lesson) = lessons().iter().find(|(name, _)| *name == "lola").unwrap();
        // The first step arranges the panels, the second puts the playhead at the end; the last gives LoLA its first cache again.
        let session = session_of(lesson, 1);
        assert_eq!((session.title.as_str(), session.view.position), (lesson.title.as_str(), Some(2048)));
        let arranged = Arrangement::read(session.view.layout.as_deref().unwrap()).unwrap();
        assert_eq!(arranged.of.names(), ["residency", "sre", "shares", "retention"]);
        let last = session_of(lesson, lesson.steps.len() - 1);
        let lola = last.lanes.iter().find(|l| l.name == "LoLA").unwrap();
        assert_eq!((lola.params.get("cache"), last.view.position), (Some(&32.into()), Some(1536)));
    }

    #[test]
    fn what_can_be_selected_is_called_as_lessons_call_it() {
        use crate::panel::Subject;
        use crate::session::lesson::check::SUBJECTS;
        let (lane, row, write) = (0, 0, 0);
        let all = [
            Subject::Token(0),
            Subject::Centroid { lane, row },
            Subject::Slot { lane, write },
            Subject::Read(0),
            Subject::Step(0),
            Subject::Lane(0),
        ];
        assert_eq!(all.map(Subject::kind), SUBJECTS);
    }

    #[test]
    fn a_step_that_asks_for_nothing_is_done_when_it_is_seen() {
        let (_, lesson) = lessons().iter().find(|(name, _)| *name == "real_model").unwrap();
        let last = lesson.steps.len() - 1;
        let mut playing = Playing::new(Arc::clone(lesson), "x".to_owned(), None, 0);
        assert!(!playing.is_done());
        playing.enter(last);
        assert!(playing.is_done() && playing.is_last() && playing.reached() == Reached { step: last, ended: true });
        assert_eq!(Playing::new(Arc::clone(lesson), "x".to_owned(), None, 99).at, last);
    }
}
