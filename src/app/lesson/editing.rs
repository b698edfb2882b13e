//! A lesson that is being made: its edits, taking them back, and what of them is in its file.

use std::path::{Path, PathBuf};

use eframe::egui::LayerId;
use eframe::egui::util::undoer::Undoer;

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
    /// The lesson as it was before and after each edit.
    edits: Undoer<Lesson>,
    /// The condition of the step as it is being written, and what is wrong with it.
    pub(super) check: Condition,
    /// Where the editor's window lies, once it has been drawn.
    pub(super) layer: Option<LayerId>,
}

/// A condition as it is being written.
#[derive(Debug, Clone, Default)]
pub(super) struct Condition {
    /// The step that it is of; none where it is still to be taken from the lesson.
    pub(super) of: Option<usize>,
    /// The text.
    pub(super) text: String,
    /// Why it is not understood, if it is not: the step has the condition before it then.
    pub(super) wrong: Option<String>,
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
        let mut edits = Undoer::default();
        edits.add_undo(&lesson);
        let kept = lesson.clone();
        Self { lesson, path, at: 0, kept, saving: None, edits, check: Condition::default(), layer: None }
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

    /// Takes in what has been edited by now, at a time in seconds. To be called in every frame: what is typed or dragged without a pause of
    /// a second is one edit.
    pub fn watch(&mut self, seconds: f64) {
        self.edits.feed_state(seconds, &self.lesson);
    }

    /// Makes an edit that is taken back by itself, whatever is edited right before and after it.
    pub fn at_once(&mut self, edit: impl FnOnce(&mut Lesson)) {
        self.edits.add_undo(&self.lesson);
        edit(&mut self.lesson);
        // This is what makes it forget the edits that had been taken back. The time does not matter: the change is taken in right after it.
        self.edits.feed_state(0.0, &self.lesson);
        self.edits.add_undo(&self.lesson);
    }

    /// True if there is an edit to be taken back.
    #[must_use]
    pub fn undoes(&self) -> bool {
        self.is_misunderstood() || self.edits.has_undo(&self.lesson)
    }

    /// True if there is an edit to be made again.
    #[must_use]
    pub fn redoes(&self) -> bool {
        self.edits.has_redo(&self.lesson)
    }

    /// Takes the last edit back. A condition that is not understood was written last, and is no edit of the lesson yet: it goes first.
    pub fn undo(&mut self) {
        if self.is_misunderstood() {
            self.check = Condition::default();
        } else if let Some(lesson) = self.edits.undo(&self.lesson).cloned() {
            self.put_back(lesson);
        }
    }

    /// Makes the edit again that was taken back last.
    pub fn redo(&mut self) {
        if let Some(lesson) = self.edits.redo(&self.lesson).cloned() {
            self.put_back(lesson);
        }
    }

    /// True if the condition of the step shown, as it is written, is not understood.
    fn is_misunderstood(&self) -> bool {
        self.check.of == Some(self.at) && self.check.wrong.is_some()
    }

    /// The lesson becomes this one, and the first step that differs is shown.
    fn put_back(&mut self, lesson: Lesson) {
        let (now, then) = (&self.lesson.steps, &lesson.steps);
        if let Some(at) = (0..now.len().max(then.len())).find(|at| now.get(*at) != then.get(*at)) {
            self.at = at.min(then.len().saturating_sub(1));
        }
        self.lesson = lesson;
        self.check = Condition::default();
    }

    /// A step that finds the window as it is in `session`, after the one shown.
    pub fn record(&mut self, session: &Session) {
        if self.lesson.steps.len() >= MAX_STEPS {
            return;
        }
        let set = self.difference(self.at, session);
        let title = format!("Step {}", self.lesson.steps.len() + 1);
        self.at += 1;
        let at = self.at;
        self.at_once(|lesson| lesson.steps.insert(at, Step { title, set, ..Step::default() }));
    }

    /// What the step shown sets becomes what is on screen.
    pub fn retake(&mut self, session: &Session) {
        let at = self.at;
        let set = if at == 0 { view_of(session) } else { self.difference(at - 1, session) };
        self.at_once(|lesson| {
            if at == 0 {
                // The first step begins with the lesson's own session.
                lesson.session = Session { view: lesson.session.view.clone(), ..session.clone() };
            }
            lesson.steps[at].set = set;
        });
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
    #[test]
    fn edits_are_taken_back_from_the_last_and_made_again() {
        let mut session = Session::default();
        let mut editing = Editing::new(session.clone());
        let first = editing.lesson.clone();
        assert!(!editing.undoes() && !editing.redoes());
        session.view.position = Some(640);
        editing.record(&session);
        let recorded = editing.lesson.clone();
        session.view.position = Some(704);
        editing.retake(&session);
        let retaken = editing.lesson.clone();
        assert_eq!(retaken.steps[1].set.position, Some(704));
        // Another step is looked at meanwhile: what is taken back is shown.
        editing.at = 0;
        editing.undo();
        assert_eq!((&editing.lesson, editing.at), (&recorded, 1));
        editing.undo();
        assert_eq!((&editing.lesson, editing.at), (&first, 0));
        assert!(!editing.edited() && !editing.undoes() && editing.redoes());
        editing.redo();
        editing.redo();
        assert_eq!((&editing.lesson, editing.at), (&retaken, 1));
        assert!(editing.edited() && !editing.redoes());
        // Another edit ends what could be made again.
        editing.undo();
        editing.at_once(|lesson| lesson.minutes = 9);
        assert!(editing.undoes() && !editing.redoes());
        editing.redo();
        assert_eq!(editing.lesson, Lesson { minutes: 9, ..recorded });
    }

    #[test]
    fn undoing_to_what_the_file_has_leaves_nothing_to_save() {
        let mut editing = Editing::new(Session::default());
        let file = Path::new("a.ron");
        editing.at_once(|lesson| lesson.minutes = 9);
        assert!(editing.save(file).is_some());
        editing.saved(file, true);
        editing.at_once(|lesson| lesson.minutes = 12);
        assert!(editing.edited());
        editing.undo();
        assert!(!editing.edited() && editing.undoes());
        editing.undo();
        assert_eq!((editing.lesson.minutes, editing.edited()), (5, true), "the file has 9");
    }

    /// Types letter by letter, ten a second.
    fn type_in(editing: &mut Editing, seconds: &mut f64, text: &str) {
        for letter in text.chars() {
            editing.lesson.title.push(letter);
            editing.watch(*seconds);
            *seconds += 0.1;
        }
    }

    #[test]
    fn what_is_typed_without_a_pause_is_one_edit() {
        let (mut editing, mut seconds) = (Editing::new(Session::default()), 0.0);
        type_in(&mut editing, &mut seconds, " of");
        seconds += 2.0;
        editing.watch(seconds);
        type_in(&mut editing, &mut seconds, " mine");
        // A button is pressed before the pause is over: what was typed is an edit of its own all the same.
        editing.at_once(|lesson| lesson.minutes = 9);
        type_in(&mut editing, &mut seconds, "!");
        let mut found = Vec::new();
        while editing.undoes() {
            editing.undo();
            found.push((editing.lesson.title.clone(), editing.lesson.minutes));
        }
        let titles = [("A new lesson of mine", 9), ("A new lesson of mine", 5), ("A new lesson of", 5), ("A new lesson", 5)];
        assert_eq!(found, titles.map(|(title, minutes)| (title.to_owned(), minutes)));
    }

    #[test]
    fn a_condition_that_is_not_understood_goes_first() {
        let mut editing = Editing::new(Session::default());
        editing.at_once(|lesson| lesson.minutes = 9);
        editing.check = Condition { of: Some(0), text: "Tokn(".to_owned(), wrong: Some("no such condition".to_owned()) };
        editing.undo();
        assert_eq!((editing.lesson.minutes, editing.check.of, editing.check.wrong.is_none()), (9, None, true));
        editing.undo();
        assert_eq!(editing.lesson.minutes, 5);
        // One of a step that is not shown is not in the way.
        editing.check = Condition { of: Some(3), text: String::new(), wrong: Some("no".to_owned()) };
        assert!(!editing.undoes());
    }
}
