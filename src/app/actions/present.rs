//! Presentation: the window shown to a room, with large text and few controls. A clicker's two keys go through the steps of the lesson,
//! else through the bookmarks, else through the steps of the timeline.

use eframe::egui::{Context, Key, Modifiers, Popup, ViewportCommand};

use crate::app::app::App;
use crate::app::bookmarks;
use crate::app::command::{Command, TimeCommand, WindowCommand};
use crate::app::theme;

/// How much larger text is in a presentation.
const LARGER: f32 = 1.5;

impl App {
    /// Begins a presentation, or ends it.
    pub(in crate::app) fn present(&mut self, on: bool) {
        self.presenting = on;
        self.ctx.send_viewport_cmd(ViewportCommand::Fullscreen(on));
        self.notice = on.then(|| "Escape or F5 ends the presentation".to_owned());
        self.install_theme();
    }

    /// Sets colours and the size of text.
    pub(in crate::app) fn install_theme(&self) {
        let larger = if self.presenting { LARGER } else { 1.0 };
        theme::install(&self.ctx, self.options.theme.unwrap_or(self.preferences.theme), self.preferences.scale * larger);
    }

    /// The keys that mean something else in a presentation.
    pub(in crate::app) fn presenting_keys(&mut self, ctx: &Context, asked: &mut Vec<Command>) {
        if !self.presenting || ctx.text_edit_focused() || Popup::is_any_open(ctx) {
            return;
        }
        if ctx.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Escape)) {
            asked.push(WindowCommand::Present.into());
        }
        if self.playing.is_some() {
            return;
        }
        for (key, forwards) in [(Key::PageDown, true), (Key::PageUp, false)] {
            for _ in 0..ctx.input_mut(|i| i.count_and_consume_key(Modifiers::NONE, key)) {
                asked.push(self.next_moment(forwards).into());
            }
        }
    }

    /// To the next bookmark, or the next step where the session has none.
    fn next_moment(&self, forwards: bool) -> TimeCommand {
        let bookmarks = &self.session.bookmarks;
        match bookmarks::next(bookmarks, &self.timeline, forwards) {
            Some(at) => TimeCommand::Seek(bookmarks[at].position),
            None if bookmarks.is_empty() => TimeCommand::Step(if forwards { 1 } else { -1 }),
            None => TimeCommand::Seek(self.timeline.writes()),
        }
    }
}
