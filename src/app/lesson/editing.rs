//! A lesson that is being made: its edits, and what of them is in its file.

use std::path::{Path, PathBuf};

use crate::panel::choices::as_new;
use crate::session::lesson::{Change, Lesson, MAX_STEPS, Step, VERSION};
use crate::session::{Session, put_over};

/// A lesson that is being made.
#[derive(Debug, Clone)]
pub struct Editing {
    /// The lesson.
    pub lesson: Lesson,
    /// Its file, if it has one.
    pub path: Option<PathBuf>,
    /// The step shown.
    pub at: usize,
    /// The lesson as its file has it; without a file, as it was when the editor opened.
    kept: Lesson,
    /// What is being written, and into which file.
    saving: Option<(PathBuf, Lesson)>,
    /// The condition of the step as it is being written, and what is wrong with it.
    pub(super) check: (usize, String, Option<String>),
}

impl Editing {
    /// A new lesson that begins with this session, with one step.
    #[must_use]
    pub fn new(session: Session) -> Self {
        let title = "A new lesson".to_owned();
        let step = Step { title: "First step".to_owned(), ..Step::default() };
        let lesson = Lesson { version: VERSION, title, about: String::new(), minutes: 5, session, steps: vec![step] };
        Self::of(lesson, None)
    }

    /// A lesson that there is, to be changed.
    #[must_use]
    pub fn of(lesson: Lesson, path: Option<PathBuf>) -> Self {
        Self { kept: lesson.clone(), lesson, path, at: 0, saving: None, check: (usize::MAX, String::new(), None) }
    }

    /// True if it differs from its file; without a file, from how it began.
    #[must_use]
    pub fn edited(&self) -> bool {
        self.lesson != self.kept
    }

    /// The lesson as it is to be written into the file `path` now; [`Self::saved`] is to be told how that ended. Nothing while it is being
    /// written already: of two at once, either could end last.
    pub fn save(&mut self, path: &Path) -> Option<Lesson> {
        if self.saving.is_some() {
            return None;
        }
        self.saving = Some((path.to_owned(), self.lesson.clone()));
        Some(self.lesson.clone())
    }

    /// The writing into the file `path` has ended. Edits made meanwhile stay edits; and if nothing was written, its file is the one that it
    /// had before.
    pub fn saved(&mut self, path: &Path, written: bool) {
        let Some((path, lesson)) = self.saving.take_if(|(to, _)| to.as_path() == path) else { return };
        if written {
            (self.path, self.kept) = (Some(path), lesson);
        }
    }

    /// The step shown.
    pub fn step(&mut self) -> &mut Step {
        self.at = self.at.min(self.lesson.steps.len() - 1);
        &mut self.lesson.steps[self.at]
    }

    /// A step that finds the window as it is in `session`, after the one shown.
    pub fn record(&mut self, session: &Session) {
        if self.lesson.steps.len() >= MAX_STEPS {
            return;
        }
        let set = self.difference(self.at, session);
        let title = format!("Step {}", self.lesson.steps.len() + 1);
        self.at += 1;
        self.lesson.steps.insert(self.at, Step { title, set, ..Step::default() });
    }

    /// What the step shown sets becomes what is on screen.
    pub fn retake(&mut self, session: &Session) {
        let set = match self.at {
            // The first step begins with the lesson's own session.
            0 => {
                self.lesson.session = Session { view: self.lesson.session.view.clone(), ..session.clone() };
                view_of(session)
            }
            at => self.difference(at - 1, session),
        };
        self.step().set = set;
    }

    /// What leads from where step `from` begins to `session`.
    fn difference(&self, from: usize, session: &Session) -> Change {
        let before = self.lesson.session_at(from);
        let mut set = view_of(session);
        // What an earlier step chose inside a panel and is not chosen now is as it is by itself again.
        let mut choices = as_new(&self.lesson.change_until(from).choices);
        put_over(&mut choices, &set.choices);
        set.choices = choices;
        let on = |s: &Session| s.lanes.iter().filter(|l| l.enabled).map(|l| l.name.clone()).collect::<Vec<_>>();
        set.lanes = (on(&before) != on(session)).then(|| on(session));
        for lane in &session.lanes {
            let Some(old) = before.lanes.iter().find(|l| l.name == lane.name) else { continue };
            let changed = lane.params.0.iter().filter(|(name, value)| old.params.get(name) != Some(value));
            set.params.extend(changed.map(|(name, value)| (format!("{}.{name}", lane.name), value.clone())));
        }
        if let (crate::session::Source::Task(old), crate::session::Source::Task(new)) = (&before.source, &session.source)
            && old.name == new.name
        {
            let changed = new.params.0.iter().filter(|(name, value)| old.params.get(name) != Some(value));
            set.params.extend(changed.map(|(name, value)| (format!("{}.{name}", crate::session::OWNER_OF_TASK), value.clone())));
        }
        set
    }
}

/// The view of a session as a change.
fn view_of(session: &Session) -> Change {
    let view = &session.view;
    Change {
        position: view.position,
        token: view.token,
        read: view.read,
        kv_head: (view.kv_head > 0).then_some(view.kv_head),
        query_head: (view.query_head > 0).then_some(view.query_head),
        layout: view.layout.clone(),
        choices: view.choices.clone(),
        ..Change::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::ParamValue;

    #[test]
    fn what_is_recorded_leads_to_what_was_on_screen() {
        let mut session = Session::default();
        let mut editing = Editing::new(session.clone());
        session.lanes[0].params.set("n_max", 64);
        session.lanes[2].enabled = false;
        session.view.position = Some(640);
        session.view.token = Some(705);
        editing.record(&session);
        assert_eq!((editing.at, editing.lesson.steps.len(), editing.edited()), (1, 2, true));
        let set = &editing.lesson.steps[1].set;
        assert_eq!((set.position, set.token, set.params.len()), (Some(640), Some(705), 1));
        assert_eq!(set.params["OVQ.n_max"], ParamValue::Int(64));
        let found = editing.lesson.session_at(1);
        assert_eq!(found.lanes, session.lanes);
        // And the file has it all.
        let text = editing.lesson.to_ron().unwrap();
        assert_eq!(Lesson::from_ron(&text, "x.ron").unwrap(), editing.lesson);
    }

    #[test]
    fn only_what_was_written_is_not_edited_any_more() {
        let mut editing = Editing::new(Session::default());
        let (good, bad) = (Path::new("good.ron"), Path::new("no/bad.ron"));
        assert!(!editing.edited(), "there is nothing to lose yet");
        editing.lesson.title = "First".to_owned();
        // What cannot be written stays edited, and gives the lesson no file.
        assert_eq!(editing.save(bad).as_ref(), Some(&editing.lesson));
        editing.saved(bad, false);
        assert!(editing.edited() && editing.path.is_none());
        // What is edited while the file is written is not in it.
        assert_eq!(editing.save(good).map(|l| l.title).as_deref(), Some("First"));
        editing.lesson.title = "Second".to_owned();
        assert_eq!(editing.save(bad), None, "one at a time");
        editing.saved(good, true);
        assert!(editing.edited() && editing.path.as_deref() == Some(good));
        editing.lesson.title = "First".to_owned();
        assert!(!editing.edited(), "as the file has it");
        // Its file stays its file where another cannot be written.
        editing.lesson.title = "Third".to_owned();
        assert!(editing.save(bad).is_some());
        editing.saved(bad, false);
        assert!(editing.edited() && editing.path.as_deref() == Some(good));
    }
}
