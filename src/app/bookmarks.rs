//! Bookmarks: moments of the session with a caption. Editing them, going through them, and their marks on the timeline.

use eframe::egui::{CursorIcon, Id, Pos2, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2};

use crate::app::app::App;
use crate::app::command::{Command, NoteCommand, TimeCommand, ViewCommand};
use crate::app::dialogs::Dialog;
use crate::app::second_cursor::pinned;
use crate::app::theme;
use crate::app::timeline::Timeline;
use crate::app::timeline_bar::{BarLook, HANDLES, Scale};
use crate::panel::common::plural;
use crate::session::file::MAX_BOOKMARKS;
use crate::session::{Bookmark, Session};

/// How far a pennant reaches from its pole, in points. A mark answers to the pointer that far to both sides.
const REACH: f32 = 7.0;

/// How far flags rise over the ruler, in points: no more than is free below the buttons.
const LIFT: f32 = 5.5;

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

/// Draws the marks over the ruler: a click goes there. To be called after all else that is drawn there.
pub(super) fn marks(ui: &mut Ui, ruler: Rect, scale: Scale, look: &BarLook<'_>, commands: &mut Vec<Command>) {
    let time = look.time;
    let handles: Vec<f32> = std::iter::once(time.writes()).chain(pinned(look.selection.pin)).map(|writes| scale.x(writes)).collect();
    for (at, bookmark) in look.bookmarks.iter().enumerate() {
        let beyond = bookmark.position > time.total();
        let x = scale.x(bookmark.position.min(time.total())).round().clamp(ruler.left() + 1.0, ruler.right() - 1.0);
        let rect = Rect::from_min_max(pos2(x - REACH, ruler.top() - LIFT), pos2(x + REACH, ruler.bottom()));
        let mark = ui.interact(rect, Id::unique(("bookmark", at)), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
        mark.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Bookmark {}: {}", at + 1, words(bookmark))));
        let here = rest(time, bookmark) == time.writes();
        // On a handle a flag stands, so that both are seen; else its pole comes down to the ribbon.
        let on_handle = handles.iter().any(|handle| (handle - x).abs() <= REACH);
        let foot = if on_handle { ruler.top() + HANDLES } else { ruler.bottom() };
        flag(ui, pennant(ruler, x), foot, here, mark.hovered() || mark.has_focus());
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

/// The corners of the pennant of a flag at `x`: the top of its pole, its tip, and where it ends on the pole. All of it is above what is
/// drawn in the ruler, numbers and handles.
fn pennant(ruler: Rect, x: f32) -> [Pos2; 3] {
    let (top, bottom) = (ruler.top() - LIFT, ruler.top() + HANDLES - 0.5);
    // To the left, but not out of the ruler.
    let tip = if x - REACH - 1.0 < ruler.left() { x + REACH } else { x - REACH };
    [pos2(x, top), pos2(tip, f32::midpoint(top, bottom)), pos2(x, bottom)]
}

/// A pole down to `foot` with a pennant; filled where the playhead stands at it.
fn flag(ui: &Ui, pennant: [Pos2; 3], foot: f32, filled: bool, lit: bool) {
    let dark = ui.visuals().dark_mode;
    let colour = if lit { theme::accent(dark) } else { ui.visuals().strong_text_color() };
    let painter = ui.painter();
    let [top, ..] = pennant;
    painter.line_segment([top, pos2(top.x, foot)], Stroke::new(1.5, colour));
    let fill = if filled || lit { colour } else { ui.visuals().panel_fill };
    painter.add(Shape::convex_polygon(pennant.to_vec(), fill, Stroke::new(1.2, colour)));
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

    /// Sets, changes or deletes (`None`) the bookmark at so many writes, as was answered, and says so.
    pub(in crate::app) fn bookmark_answered(&mut self, position: usize, caption: Option<String>) {
        let place = |session: &Session| session.bookmarks.iter().position(|b| b.position == position);
        let before = place(&self.session);
        let command = match caption {
            Some(caption) => NoteCommand::Bookmark { position, caption },
            None => NoteCommand::RemoveBookmark(position),
        };
        self.ask(command.into());
        let called = |at: usize| format!("bookmark {}: {}", at + 1, words(&self.session.bookmarks[at]));
        self.notice = Some(match (before, place(&self.session)) {
            (None, Some(at)) => format!("Set {}. Its flag on the timeline comes back here, and so do B and Shift+B", called(at)),
            (Some(_), Some(at)) => format!("Changed {}", called(at)),
            (Some(_), None) => "Deleted the bookmark; Ctrl+Z brings it back".to_owned(),
            (None, None) => format!("No bookmark was set: a session has at most {MAX_BOOKMARKS}"),
        });
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
    fn pennants_lie_over_the_handles_and_within_the_ruler() {
        let ruler = Rect::from_min_max(pos2(8.0, 100.0), pos2(1008.0, 116.0));
        // At both ends, beside them, and between them: as `marks` places them.
        for x in [9.0, 12.0, 16.0, 508.0, 1002.0, 1007.0] {
            let points = pennant(ruler, x);
            assert!(points.iter().all(|p| p.y < ruler.top() + HANDLES), "under the playhead: {points:?}");
            assert!(points.iter().all(|p| ruler.x_range().contains(p.x)), "out of sight: {points:?}");
            assert!(points.iter().all(|p| (p.x - x).abs() <= REACH), "not hit: {points:?}");
        }
        assert!(pennant(ruler, 1007.0)[1].x < 1007.0 && pennant(ruler, 9.0)[1].x > 9.0, "it turns inwards");
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
