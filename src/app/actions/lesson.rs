//! Lessons: started, stepped through, judged, recorded.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::Context;

use crate::app::app::App;
use crate::app::command::{SessionCommand, TimeCommand, ViewCommand};
use crate::app::dialogs::{Dialog, Instead, Next};
use crate::app::jobs::{self, Done, Opened, Purpose, ToRun};
use crate::app::lesson::editor::{self, Moment};
use crate::app::lesson::{EditCommand, Editing, LessonCommand, Playing, arrangement, choices_at_first, seen_from};
use crate::app::state::Run;
use crate::layer;
use crate::metric::events::{Criteria, EventKind, HeadsShown, LaneEvents};
use crate::panel::{PANELS, Subject};
use crate::session::Session;
use crate::session::lesson::check::Answer;
use crate::session::lesson::{Change, Check, Lesson, Seen, lesson};

/// What a lesson is judged on besides what was answered; while it stays the same nothing is judged again.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct Basis {
    run: u64,
    complete: bool,
    writes: usize,
    looked_at: (Option<usize>, Option<usize>, Option<Subject>, bool),
    panels: Vec<bool>,
    session: Session,
    answer: Answer,
    at: usize,
}

impl App {
    pub(in crate::app) fn lesson_command(&mut self, command: LessonCommand) {
        match command {
            LessonCommand::Start(name) => {
                if !self.ask_first(Next::Lesson(name)) {
                    self.start_lesson(name);
                }
            }
            LessonCommand::Open => self.pick(Purpose::OpenLesson, String::new()),
            LessonCommand::New if self.ask_about_lesson(Instead::New) => {}
            LessonCommand::Edit if self.playing.is_some() && self.ask_about_lesson(Instead::Edit) => {}
            LessonCommand::New => self.editing = Some(Editing::new(self.session().with_absolute_paths(self.base().as_deref()))),
            LessonCommand::Edit => {
                if let Some(playing) = &self.playing {
                    let mut editing = Editing::of((*playing.lesson).clone(), playing.path.clone());
                    editing.at = playing.at;
                    self.editing = Some(editing);
                }
            }
            LessonCommand::Editor(command) => self.editor_command(command),
            other => self.playing_command(other),
        }
    }

    fn playing_command(&mut self, command: LessonCommand) {
        let Some(playing) = &mut self.playing else { return };
        let (at, last) = (playing.at, playing.lesson.steps.len() - 1);
        match command {
            LessonCommand::Next if at < last && playing.is_done() => self.go_to_step(at + 1, false),
            LessonCommand::Skip if at < last => self.go_to_step(at + 1, false),
            LessonCommand::Back if at > 0 => self.go_to_step(at - 1, true),
            LessonCommand::Again => self.go_to_step(0, true),
            LessonCommand::Hint => playing.hint = !playing.hint,
            LessonCommand::Choose(option) if !playing.is_done() => playing.answer.chosen = Some(option),
            LessonCommand::Number(number) => playing.answer.number = Some(number),
            LessonCommand::Leave => {
                self.remember_lesson();
                self.playing = None;
                self.kept = self.session.clone();
            }
            _ => {}
        }
    }

    /// Starts one of the lessons inside the program.
    pub(in crate::app) fn start_lesson(&mut self, name: &'static str) {
        let Some(found) = lesson(name) else { return };
        self.resume_lesson(Arc::clone(found), name.to_owned(), None);
    }

    /// Plays a lesson from where it was left; one that was played to its end from its first step.
    pub(in crate::app) fn resume_lesson(&mut self, lesson: Arc<Lesson>, key: String, path: Option<PathBuf>) {
        let reached = self.preferences.lessons.get(&key).copied().unwrap_or_default();
        self.prepare_lesson(lesson, key, path, if reached.ended { 0 } else { reached.step });
    }

    /// Checks and loads a lesson's session, beside the window; [`Done::Lesson`] follows.
    fn prepare_lesson(&mut self, lesson: Arc<Lesson>, key: String, path: Option<PathBuf>, at: usize) {
        self.notice = Some(format!("Opening the lesson {}", lesson.title));
        self.jobs.run(move || {
            let mut session = lesson.session_at(at);
            session.view = seen_from(&session, &lesson.change_until(at));
            let base = path.as_deref().and_then(std::path::Path::parent);
            // It has no file of its own: saving it must not write over the lesson.
            let session = session.with_absolute_paths(base);
            let prepared = jobs::prepare(&session, None, &AtomicBool::new(false)).map_err(|p| format!("{key}: {}", p.message));
            let playing = Playing::new(lesson, key, path.clone(), at);
            Done::Lesson { result: prepared.map(|prepared| Box::new((playing, session, prepared))) }
        });
    }

    /// Reads a lesson from a file, beside the window, and plays it.
    pub(in crate::app) fn open_lesson(&mut self, path: PathBuf) {
        self.notice = Some(format!("Opening {}", path.display()));
        self.jobs.run(move || match Lesson::open(&path) {
            Ok(lesson) => Done::LessonRead { path, lesson: Arc::new(lesson) },
            Err(error) => Done::Lesson { result: Err(error.to_string()) },
        });
    }

    /// A lesson is ready: its session takes the window.
    pub(in crate::app) fn play(&mut self, playing: Playing, session: Session, prepared: jobs::Prepared) {
        let title = playing.lesson.title.clone();
        let (kept, run) = (session.clone(), ToRun::Plan(Box::new(prepared)));
        self.adopt(None, Opened { session, kept, run });
        self.notice = Some(format!("Lesson: {title}"));
        let (change, show) = (playing.lesson.change_until(playing.at), playing.step().show.clone());
        self.playing = Some(playing);
        self.show_step(&change, &show);
        self.remember_lesson();
    }

    /// Goes to a step. `whole`: everything becomes as if the steps before had been played; else only what the step sets is set.
    fn go_to_step(&mut self, at: usize, whole: bool) {
        let Some(playing) = &mut self.playing else { return };
        playing.enter(at);
        let (lesson, show) = (Arc::clone(&playing.lesson), playing.step().show.clone());
        let change = if whole { lesson.change_until(at) } else { lesson.steps[at].set.clone() };
        let wanted = change.applied(if whole { &lesson.session } else { &self.session });
        self.set_up(&wanted, &change);
        if whole {
            self.layout.choose(&choices_at_first(&lesson));
        }
        self.show_step(&change, &show);
        self.remember_lesson();
    }

    /// Makes the session so, where it is not, and looks at what the change says.
    fn set_up(&mut self, wanted: &Session, change: &Change) {
        let now = &self.session;
        if (&wanted.source, wanted.seed, &wanted.lanes) == (&now.source, now.seed, &now.lanes) {
            if let Some(position) = change.position {
                self.timeline.command(TimeCommand::Seek(position));
            }
            let looks = [change.token.map(|t| ViewCommand::Select(Some(t))), change.read.map(|r| ViewCommand::SelectRead(Some(r)))];
            for look in looks.into_iter().flatten() {
                self.view_command(look);
            }
        } else {
            let (source, seed, lanes) = (wanted.source.clone(), wanted.seed, wanted.lanes.clone());
            let view = seen_from(&Session { view: self.session().view, ..wanted.clone() }, change);
            self.session_command(SessionCommand::Whole { source, seed, lanes });
            self.next_view = Some(view);
        }
        self.session.view.kv_head = change.kv_head.unwrap_or(self.session.view.kv_head);
        self.session.view.query_head = change.query_head.unwrap_or(self.session.view.query_head);
    }

    /// Arranges the panels as a step has them, chooses in them what it chooses, and brings those to the front that it marks.
    fn show_step(&mut self, change: &Change, show: &[String]) {
        if let Some(node) = arrangement(change) {
            self.layout.arrange(&node);
        }
        self.layout.choose(&change.choices);
        for name in show.iter().filter(|name| PANELS.iter().any(|p| p.name == name.as_str())) {
            self.layout.bring(name);
        }
        self.ctx.request_repaint();
    }

    fn remember_lesson(&mut self) {
        if let Some(playing) = &self.playing {
            self.preferences.lessons.insert(playing.key.clone(), playing.reached());
            self.save_preferences();
        }
    }

    /// Sees whether what the step asks for is done. Called every frame; judges only when something has changed.
    pub(in crate::app) fn judge_lesson(&mut self) {
        let Some(playing) = self.playing.as_ref().filter(|p| !p.is_done()) else { return };
        let (Some(ask), Some(run)) = (&playing.step().ask, self.runs.current()) else { return };
        let seen = |name: &str| self.layout.is_seen(name);
        let panels = if ask.check.asks_panel() { PANELS.iter().map(|p| seen(p.name)).collect() } else { Vec::new() };
        let basis = Basis { panels, answer: playing.answer.clone(), at: playing.at, ..self.basis(run) };
        let (complete, s) = (basis.complete, &self.selection);
        if self.judged.as_ref() == Some(&basis) {
            return;
        }
        let now = Seen {
            session: &self.session,
            plan: &run.plan,
            traces: &run.traces,
            complete,
            writes: basis.writes,
            heads: HeadsShown::of(&run.plan.stream, &self.session.view),
            subject: s.subject.map(Subject::kind),
            token: s.token,
            read: s.read,
            pinned: s.pin.is_some(),
            panel: &seen,
            answer: &playing.answer,
        };
        let done = ask.check.holds(&now);
        // An event is found in what has been written by now: more may come while the run goes on.
        self.judged = complete.then_some(basis);
        if done && let Some(playing) = &mut self.playing {
            playing.done[playing.at] = true;
            self.remember_lesson();
            self.ctx.request_repaint();
        }
    }

    /// What can be judged and recorded now.
    fn basis(&self, run: &Run) -> Basis {
        let s = &self.selection;
        Basis {
            run: run.id,
            complete: self.run_of_session().is_some(),
            writes: self.timeline.writes(),
            looked_at: (s.token, s.read, s.subject, s.pin.is_some()),
            panels: Vec::new(),
            session: self.session.clone(),
            answer: Answer::default(),
            at: 0,
        }
    }

    /// Draws the editor, if a lesson is being made.
    pub(in crate::app) fn paint_editor(&mut self, ctx: &Context) {
        let Some(basis) = self.runs.current().filter(|_| self.editing.is_some()).map(|run| self.basis(run)) else { return };
        if self.moment.as_ref().is_none_or(|(of, _)| *of != basis) {
            self.moment = Some((basis, self.moment()));
        }
        let mut asked = Vec::new();
        if let (Some(editing), Some((_, moment))) = (&mut self.editing, &self.moment) {
            editor::window(ctx, editing, moment, &mut asked);
        }
        self.carry_out_all(asked);
    }

    fn editor_command(&mut self, command: EditCommand) {
        let session = self.session().with_absolute_paths(self.base().as_deref());
        let Some(editing) = &mut self.editing else { return };
        match command {
            EditCommand::Record => editing.record(&session),
            EditCommand::Retake => editing.retake(&session),
            EditCommand::Undo => editing.undo(),
            EditCommand::Redo => editing.redo(),
            EditCommand::Visit => {
                let (at, lesson) = (editing.at, editing.lesson.clone());
                let change = lesson.change_until(at);
                self.set_up(&change.applied(&lesson.session), &change);
                self.show_step(&change, &[]);
            }
            EditCommand::Try => {
                let (at, lesson, path) = (editing.at, Arc::new(editing.lesson.clone()), editing.path.clone());
                let key = path.as_deref().map_or_else(|| "unsaved lesson".to_owned(), |p| p.display().to_string());
                self.prepare_lesson(lesson, key, path, at);
            }
            EditCommand::Save => match editing.path.clone() {
                Some(path) => self.save_lesson(path),
                None => self.pick(Purpose::SaveLesson, "lesson.ron".to_owned()),
            },
            EditCommand::SaveAs => self.pick(Purpose::SaveLesson, "lesson.ron".to_owned()),
            EditCommand::Close => {
                if !self.ask_about_lesson(Instead::Nothing) {
                    self.editing = None;
                }
            }
        }
    }

    /// Asks what becomes of the edits of the lesson in the editor, if there are any; true if it asks.
    pub(in crate::app) fn ask_about_lesson(&mut self, instead: Instead) -> bool {
        let edited = self.editing.as_ref().is_some_and(Editing::edited);
        if edited {
            self.dialogs.push(Dialog::UnsavedLesson(instead));
        }
        edited
    }

    /// Writes the lesson in the editor, beside the window.
    pub(in crate::app) fn save_lesson(&mut self, path: PathBuf) {
        let Some(editing) = &mut self.editing else { return };
        let Some(lesson) = editing.save(&path) else {
            self.notice = Some("The lesson is still being written; save it again after that".to_owned());
            return;
        };
        self.jobs.run(move || {
            let result = lesson.save(&path).map(|()| Vec::new()).map_err(|e| e.to_string());
            Done::Written { purpose: Purpose::SaveLesson, path, result }
        });
    }

    /// What is on screen, for the editor.
    fn moment(&self) -> Moment {
        let mut holds = vec![];
        let writes = self.timeline.writes();
        holds.push((format!("The playhead stands here, at {writes} writes"), Check::Playhead { from: writes, to: writes }));
        let run = self.runs.current();
        let role = |token: usize| {
            let roles = &run?.plan.stream.labels().roles;
            roles.names.get(usize::from(*roles.of_write.get(token)?)).cloned()
        };
        if let Some(token) = self.selection.token {
            holds.push((format!("Token {token} is selected"), Check::Token { index: Some(token), role: None }));
            if let Some(role) = role(token) {
                holds.push((format!("A token of the role {role} is selected"), Check::Token { index: None, role: Some(role) }));
            }
        }
        if let Some(read) = self.selection.read {
            holds.push((format!("Read {read} is selected"), Check::Read { index: Some(read) }));
        }
        if let Some(subject) = self.selection.subject.map(Subject::kind) {
            holds.push((format!("A {subject} is selected"), Check::Selected(subject.to_owned())));
        }
        if let Some(run) = run {
            for (number, lane) in run.plan.lanes.iter().enumerate() {
                holds.extend(self.events_here(number).into_iter().map(|kind| {
                    let check =
                        Check::Event { lane: lane.name.clone(), kind: kind.name().to_owned(), role: None, token: None, first: false };
                    (format!("{} happen in {} at the playhead", kind.title(), lane.name), check)
                }));
            }
        }
        for lane in self.session.lanes.iter().filter(|l| l.enabled) {
            holds.push((format!("The lane {} is on", lane.name), Check::Lane { name: lane.name.clone(), on: true }));
            for (param, value) in &lane.params.0 {
                let spec = layer::kind(&lane.layer).and_then(|k| k.params().iter().find(|p| p.name == param.as_str()));
                let title = spec.map_or(param.as_str(), |s| s.title);
                let name = format!("{}.{param}", lane.name);
                let number = value.number();
                let word = number.is_none().then(|| value.to_string());
                holds.push((format!("{} has {title} {value}", lane.name), Check::Param { name, least: number, most: number, word }));
            }
        }
        Moment { holds }
    }

    /// The kinds of events that lane number `lane` has where the playhead stands.
    fn events_here(&self, lane: usize) -> Vec<EventKind> {
        let Some(run) = self.runs.current() else { return Vec::new() };
        let (writes, criteria) = (self.timeline.writes(), Criteria::default());
        let heads = HeadsShown::of(&run.plan.stream, &self.session.view);
        let events = LaneEvents::new(&run.plan, lane, &run.traces[lane], heads, &criteria);
        let here =
            |scan: &usize| events.forwards(*scan, 0).find(|hit| hit.seen as usize >= writes).is_some_and(|hit| hit.seen as usize == writes);
        (0..events.scans()).filter(here).map(|scan| events.kind(scan)).collect()
    }
}
