//! Bookmarks: moments of the session with a caption. Editing them, going through them, and their marks on the timeline.

use eframe::egui::{CursorIcon, Id, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::app::app::App;
use crate::app::command::{Command, NoteCommand, TimeCommand, ViewCommand};
use crate::app::dialogs::Dialog;
use crate::app::theme;
use crate::app::timeline::Timeline;
use crate::app::timeline_bar::Scale;
use crate::panel::common::plural;
use crate::session::file::MAX_BOOKMARKS;
use crate::session::{Bookmark, Session};

/// The width of a mark that answers to the pointer, in points.
const WIDE: f32 = 12.0;

/// Carries out an edit of what is said of a session.
pub fn edit(session: &mut Session, command: NoteCommand) {
    match command {
        NoteCommand::Title(title) => session.title = title,
        NoteCommand::Caption(caption) => session.caption = caption,
        NoteCommand::Notes(notes) => session.notes = notes,
        NoteCommand::Bookmark { position, caption } => {
            let at = session.bookmarks.partition_point(|b| b.position < position);
            let there = session.bookmarks.get(at).is_some_and(|b| b.position == position);
            if there {
                session.bookmarks[at].caption = caption;
            } else if session.bookmarks.len() < MAX_BOOKMARKS {
                session.bookmarks.insert(at, Bookmark { position, caption });
            }
        }
        NoteCommand::RemoveBookmark(position) => session.bookmarks.retain(|b| b.position != position),
    }
}

/// Where the playhead rests for a bookmark: on the step nearest to it, at the end for one that lies beyond it.
#[must_use]
pub fn rest(time: &Timeline, bookmark: &Bookmark) -> usize {
    let mut there = time.clone();
    there.command(TimeCommand::Seek(bookmark.position));
    there.wanted()
}

/// The next bookmark after the playhead, or the last one before it, by its place. Of several at one step the first is meant.
#[must_use]
pub fn next(bookmarks: &[Bookmark], time: &Timeline, forwards: bool) -> Option<usize> {
    let now = time.wanted();
    if forwards {
        bookmarks.iter().position(|b| rest(time, b) > now)
    } else {
        let last = bookmarks.iter().rposition(|b| rest(time, b) < now)?;
        let there = rest(time, &bookmarks[last]);
        bookmarks.iter().position(|b| rest(time, b) == there)
    }
}

/// What a bookmark is called: its caption, or where it is.
#[must_use]
pub fn words(bookmark: &Bookmark) -> String {
    if bookmark.caption.is_empty() { format!("after {}", plural(bookmark.position, "write", "writes")) } else { bookmark.caption.clone() }
}

/// Draws the marks over the ruler: a click goes there.
pub(super) fn marks(ui: &mut Ui, ruler: Rect, scale: Scale, bookmarks: &[Bookmark], time: &Timeline, commands: &mut Vec<Command>) {
    for (at, bookmark) in bookmarks.iter().enumerate() {
        let beyond = bookmark.position > time.total();
        let x = scale.x(bookmark.position.min(time.total())).round().clamp(ruler.left() + 1.0, ruler.right() - 1.0);
        let rect = Rect::from_center_size(pos2(x, ruler.center().y), vec2(WIDE, ruler.height()));
        let mark = ui.interact(rect, Id::unique(("bookmark", at)), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
        mark.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Bookmark {}: {}", at + 1, words(bookmark))));
        let here = rest(time, bookmark) == time.writes();
        flag(ui, ruler, x, here, mark.hovered() || mark.has_focus());
        if mark.clicked() {
            commands.push(ViewCommand::Bookmark(at).into());
        }
        mark.on_hover_ui(|ui| {
            ui.set_max_width(320.0);
            if !bookmark.caption.is_empty() {
                ui.strong(&bookmark.caption);
            }
            let place = format!("Bookmark {}, after {}", at + 1, plural(bookmark.position, "write", "writes"));
            ui.label(if beyond { format!("{place}: beyond the end of this stream") } else { place });
            ui.weak("A click goes there; Ctrl+B there edits it");
        });
    }
}

/// A pole with a pennant; filled where the playhead stands at it.
fn flag(ui: &Ui, ruler: Rect, x: f32, filled: bool, lit: bool) {
    let dark = ui.visuals().dark_mode;
    let colour = if lit { theme::accent(dark) } else { ui.visuals().strong_text_color() };
    let painter = ui.painter();
    painter.line_segment([pos2(x, ruler.top() + 1.0), pos2(x, ruler.bottom())], Stroke::new(1.5, colour));
    // To the left, for the ruler's numbers stand to the right of their places; at its left edge the other way, so that it is seen whole.
    let reach = if x - 8.0 < ruler.left() { 7.0 } else { -7.0 };
    let points = vec![pos2(x, ruler.top() + 1.0), pos2(x + reach, ruler.top() + 4.5), pos2(x, ruler.top() + 8.0)];
    let fill = if filled || lit { colour } else { ui.visuals().panel_fill };
    painter.add(Shape::convex_polygon(points, fill, Stroke::new(1.2, colour)));
}

impl App {
    /// Asks for the caption of a bookmark at the playhead.
    pub(in crate::app) fn ask_bookmark(&mut self) {
        if self.opening.is_some() || self.runs.current().is_none() {
            return;
        }
        let here = self.timeline.writes();
        // The one that brought the playhead here is edited, even if it lies within the step.
        let there = self.session.bookmarks.iter().find(|b| rest(&self.timeline, b) == here);
        let (position, text) = there.map_or_else(|| (here, String::new()), |b| (b.position, b.caption.clone()));
        self.dialogs.push(Dialog::Bookmark { position, text, known: there.is_some() });
    }

    pub(in crate::app) fn find_bookmark(&mut self, forwards: bool) -> bool {
        if let Some(at) = next(&self.session.bookmarks, &self.timeline, forwards) {
            self.go_to_bookmark(at)
        } else {
            let what = if self.session.bookmarks.is_empty() {
                "There is no bookmark yet: Ctrl+B sets one".to_owned()
            } else {
                format!("No bookmark {} this moment", if forwards { "after" } else { "before" })
            };
            self.notice = Some(what);
            true
        }
    }

    pub(in crate::app) fn go_to_bookmark(&mut self, at: usize) -> bool {
        let Some(bookmark) = self.session.bookmarks.get(at) else { return false };
        self.history.leave(&self.selection, self.timeline.wanted());
        self.timeline.command(TimeCommand::Seek(bookmark.position));
        self.notice = Some(format!("Bookmark {}: {}", at + 1, words(bookmark)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(position: usize) -> Bookmark {
        Bookmark { position, caption: String::new() }
    }

    #[test]
    fn bookmarks_are_gone_through_by_the_steps_they_rest_at() {
        let mut time = Timeline::new(1000, 64, Some(0), 8.0, false);
        time.reach(1000);
        // 100 and 130 rest at 128; 5000 lies beyond, and rests at the end.
        let all = [mark(0), mark(100), mark(130), mark(640), mark(5000)];
        assert_eq!(all.iter().map(|b| rest(&time, b)).collect::<Vec<_>>(), [0, 128, 128, 640, 1000]);
        let mut found = Vec::new();
        while let Some(at) = next(&all, &time, true) {
            time.command(TimeCommand::Seek(all[at].position));
            found.push(at);
        }
        assert_eq!(found, [1, 3, 4], "each press goes further");
        found.clear();
        while let Some(at) = next(&all, &time, false) {
            time.command(TimeCommand::Seek(all[at].position));
            found.push(at);
        }
        assert_eq!(found, [3, 1, 0]);
    }

    #[test]
    fn a_bookmark_is_set_once_at_a_place_and_they_stay_in_order() {
        let mut session = Session::default();
        for (position, caption) in [(640, "b"), (64, "a"), (640, "c"), (0, "")] {
            edit(&mut session, NoteCommand::Bookmark { position, caption: caption.to_owned() });
        }
        let found: Vec<_> = session.bookmarks.iter().map(|b| (b.position, b.caption.as_str())).collect();
        assert_eq!(found, [(0, ""), (64, "a"), (640, "c")]);
        assert_eq!(words(&session.bookmarks[0]), "after 0 writes");
        edit(&mut session, NoteCommand::RemoveBookmark(64));
        assert_eq!(session.bookmarks.len(), 2);
        for position in 0..2 * MAX_BOOKMARKS {
            edit(&mut session, NoteCommand::Bookmark { position, caption: String::new() });
        }
        assert_eq!(session.bookmarks.len(), MAX_BOOKMARKS, "no more than a file may hold");
    }
}
