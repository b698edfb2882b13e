//! Edits that are kept by themselves, and what becomes of those of a window that crashed.

use std::path::Path;

use crate::app::app::App;
use crate::app::autosave::Crashed;
use crate::app::dialogs::{Dialog, RecoverChoice};
use crate::app::jobs::Opened;
use crate::session::{Session, Source};

impl App {
    /// Has edits kept, or, where the session is as in its file, nothing. Called once a frame.
    pub(in crate::app) fn keep_edits(&mut self) {
        let Some(mut autosave) = self.autosave.take() else { return };
        if self.edited() && self.opening.is_none() {
            autosave.keep(&self.session, || (self.session(), self.path.clone()));
        } else {
            autosave.forget();
        }
        self.autosave = Some(autosave);
    }

    /// Asks about the sessions of windows that crashed, when nothing else is being opened.
    pub(in crate::app) fn ask_about_crashed(&mut self) {
        if self.opening.is_some() || self.dialogs.any() || self.recovering {
            return;
        }
        if let Some(crashed) = self.crashed.last() {
            let (file, when, what) = (crashed.file.clone(), crashed.kept.ago(), what(crashed));
            self.dialogs.push(Dialog::Recover { file, when, what });
            self.ctx.request_repaint();
        }
    }

    pub(in crate::app) fn recover_chosen(&mut self, file: &Path, choice: RecoverChoice) {
        let Some(at) = self.crashed.iter().position(|c| c.file == file) else { return };
        let crashed = self.crashed.remove(at);
        match choice {
            RecoverChoice::Recover => {
                self.recovering = true;
                self.jobs.recover(Box::new(crashed));
            }
            RecoverChoice::Discard => crashed.discard(),
            // Its lock is let go of: the next window asks.
            RecoverChoice::Later => {}
        }
    }

    pub(in crate::app) fn recovered(&mut self, crashed: Crashed, opened: Opened) {
        self.recovering = false;
        // One session at a time: the others are asked about by the next window.
        self.crashed.clear();
        self.adopt(crashed.kept.path.clone(), opened);
        self.notice = Some(format!("Recovered: {}; not saved yet", what(&crashed)));
        // This window keeps them from now on.
        self.keep_edits();
        if self.edited() && self.autosave.is_none() {
            log::warn!("{}: stays, for this window keeps no edits", crashed.file.display());
        } else {
            crashed.discard();
        }
    }
}

/// What was edited: its title, its file, its source and lanes.
fn what(crashed: &Crashed) -> String {
    let Session { title, source, lanes, .. } = &crashed.kept.session;
    let source = match source {
        Source::Capture(c) if c.is_bundled() => "the bundled capture".to_owned(),
        Source::Capture(c) => format!("the capture {}", c.path.display()),
        Source::Task(t) => format!("the task {}", t.name),
    };
    let file = crashed.kept.path.as_ref().map_or_else(|| "a session that was never saved".to_owned(), |p| p.display().to_string());
    let names: Vec<&str> = lanes.iter().filter(|l| l.enabled).map(|l| l.name.as_str()).collect();
    let title = if title.is_empty() { String::new() } else { format!("\u{201c}{title}\u{201d}, ") };
    format!("{title}{file}: {source} with {}", names.join(", "))
}
