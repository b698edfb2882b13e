//! Carrying out what was asked for: commands, answers of jobs, dropped files. Grouped by who owns what is changed.

mod files;
mod find;
mod lesson;
mod picture;
mod present;
mod recover;
mod session;
mod undo;
mod view;
mod window;

pub(super) use picture::Desk;

use eframe::egui::ViewportCommand;

pub(in crate::app) use lesson::Basis;

use crate::app::app::App;
use crate::app::command::{Command, TimeCommand, WindowCommand};
use crate::app::dialogs::{Answer, Dialog, Instead, Next};
use crate::app::jobs::{Done, Purpose};
use crate::app::lesson::LessonCommand;

impl App {
    /// Carries out one command, as a key or a menu would have it.
    pub fn ask(&mut self, command: Command) {
        self.carry_out_all(vec![command]);
    }

    /// Carries out commands, and paints again if one of them changed something.
    pub(super) fn carry_out_all(&mut self, commands: Vec<Command>) {
        let mut changed = false;
        for command in commands {
            changed |= match command {
                Command::Time(command) => {
                    let before = self.timeline.clone();
                    if matches!(command, TimeCommand::Home | TimeCommand::End) {
                        self.history.leave(&self.selection, before.wanted());
                    }
                    self.timeline.command(command);
                    self.timeline != before
                }
                Command::Session(command) => self.session_command(command),
                Command::View(command) => self.view_command(command),
                Command::Study(command) => {
                    let wake: crate::app::study::Wake = self.jobs.outbox().1;
                    let base = self.base();
                    self.studies.command(command, &self.runs, &self.session, base, &wake);
                    true
                }
                Command::Lesson(command) => {
                    self.lesson_command(command);
                    true
                }
                Command::Window(command) => {
                    self.window_command(command);
                    true
                }
            };
        }
        if changed {
            self.ctx.request_repaint();
        }
    }

    /// Takes in the answer of a job.
    pub(super) fn done(&mut self, done: Done) {
        match done {
            Done::Planned { ticket, .. } if ticket != self.ticket => {}
            Done::Planned { result, .. } => {
                self.planning = false;
                match result {
                    Ok(prepared) => self.start(prepared),
                    Err(problem) => self.problem = Some(problem),
                }
            }
            Done::Opened { path, result: Ok(opened) } => self.adopt(Some(path), *opened),
            Done::Opened { path, result: Err(refused) } => self.refused(path, refused),
            Done::Crashed(found) => self.crashed = found,
            Done::Recovered { crashed, opened } => self.recovered(*crashed, *opened),
            Done::Compared { run, words } => self.runs.tell(run, words),
            Done::SavedTrace { path, result } => self.saved_with_trace(&path, result),
            Done::Lesson { result: Ok(ready) } => self.play(ready.0, ready.1, ready.2),
            Done::Lesson { result: Err(message) } => {
                self.notice = None;
                self.dialogs.error("The lesson cannot be played", message);
            }
            Done::LessonRead { path, lesson } => {
                let key = path.display().to_string();
                self.resume_lesson(lesson, key, Some(path));
            }
            Done::Picked { purpose, path: Some(path), .. } => self.path_given(purpose, path),
            Done::Picked { purpose, path: None, at_once: true } => {
                let note = "This system offers no file dialog, or it closed at once. The path can be typed here.";
                self.ask_path(purpose, Some(note.to_owned()));
            }
            Done::Picked { purpose, .. } => self.path_refused(purpose),
            Done::Progress(share) => {
                if let Some(export) = &mut self.exporting {
                    export.share = share;
                }
            }
            Done::Written { purpose, path, result } => self.written(purpose, &path, result),
            Done::Copied(Ok(picture)) => {
                self.ctx.copy_image(*picture);
                self.notice = Some("Copied the picture".to_owned());
            }
            Done::Copied(Err(message)) => self.dialogs.error("The picture is not copied", message),
        }
        self.ctx.request_repaint();
    }

    /// A dialog was answered.
    pub(super) fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Path { purpose, path } => self.path_given(purpose, path),
            Answer::NoPath(purpose) => self.path_refused(purpose),
            Answer::ChooseFolder => self.pick(Purpose::Trace, String::new()),
            Answer::Export { form, request, folder } => {
                self.export_trace(form.run, request, folder);
                self.export_form = Some(form);
            }
            Answer::Leave { save: false, next } => self.go_on(next),
            Answer::Capture { lost, choice } => self.capture_chosen(lost, choice),
            Answer::Recover { file, choice } => self.recover_chosen(&file, choice),
            Answer::Bookmark { position, caption } => self.bookmark_answered(position, caption),
            Answer::LoseLesson(instead) => {
                self.editing = None;
                match instead {
                    Instead::Nothing => {}
                    Instead::New => self.lesson_command(LessonCommand::New),
                    Instead::Edit => self.lesson_command(LessonCommand::Edit),
                    // What becomes of the session is still to be asked.
                    Instead::Close => self.ctx.send_viewport_cmd(ViewportCommand::Close),
                }
            }
            Answer::Leave { save: true, next } => {
                // Without a file of its own, where to save is asked first.
                self.after_saving = Some(next);
                self.window_command(WindowCommand::Save);
            }
        }
    }

    /// No path was given: what was to follow on the saving does not come.
    fn path_refused(&mut self, purpose: Purpose) {
        match purpose {
            Purpose::SaveSession | Purpose::SavedTrace => self.after_saving = None,
            // What becomes of the session is asked once more.
            Purpose::Capture => {
                if let Some(lost) = self.finding.take() {
                    self.dialogs.push(Dialog::Capture(lost));
                }
            }
            _ => {}
        }
    }

    pub(in crate::app) fn go_on(&mut self, next: Next) {
        match next {
            Next::Open(path) => self.open_now(path),
            Next::Lesson(name) => self.start_lesson(name),
            Next::Close => {
                self.leaving = true;
                self.ctx.send_viewport_cmd(ViewportCommand::Close);
            }
        }
    }
}
