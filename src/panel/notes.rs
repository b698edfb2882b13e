//! Notes: what the session is called, what there is to see in it, its bookmarks, and the user's own notes.

use eframe::egui::{Context, Id, Label, RichText, ScrollArea, TextEdit, Ui, vec2};

use super::common::{framed, plural};
use super::{Look, Panel};
use crate::app::bookmarks::rest;
use crate::app::command::{Command, NoteCommand, ViewCommand, WindowCommand};
use crate::app::focus;
use crate::app::icon::{self, Icon};
use crate::app::timeline::Timeline;
use crate::widget::chart::SMALL;
use crate::widget::palette::Ink;

/// The text behind the panel's `?`.
pub const HELP: &str = "What is said of the session, saved with it. Nothing here changes a number.\n\n\
Title and caption stand on the start page and beside pictures. Notes are your own: Edit > Write notes comes to them from anywhere.\n\n\
A bookmark is a moment with a caption: the playhead after so many writes, whatever the lanes' chunks are. Ctrl+B sets one where the playhead stands, or edits the \
one that is there; B goes to the next, Shift+B to the one before. The timeline has a flag for each, over the playhead where it stands there. Hover for its caption, click it to go there. The formula: a \
bookmark at t rests at the step nearest to it, round(t / step) steps of the timeline; one beyond the end of the stream (the task was made shorter) rests at the end, \
and is kept.\n\n\
All of it can be taken back with Ctrl+Z.";

/// The panel's name in layouts.
pub const NAME: &str = "notes";

/// What the field of the user's own notes is called.
const OWN: &str = "Notes";

/// Has the field of the user's own notes take the focus when it is drawn next.
pub fn ask_to_write(ctx: &Context) {
    ctx.data_mut(|data| data.insert_temp(asked(), true));
}

/// Where it is kept that the field was asked for.
fn asked() -> Id {
    Id::unique("notes asked for")
}

/// True once after the field was asked for, as soon as nothing lies over the panel any more that would take the focus back, as the palette
/// does in which it was asked for.
fn is_asked_for(ui: &Ui) -> bool {
    if ui.memory(|memory| memory.allows_interaction(ui.layer_id())) {
        return ui.data_mut(|data| data.remove_temp::<bool>(asked())).is_some();
    }
    if ui.data(|data| data.get_temp::<bool>(asked())).is_some() {
        ui.ctx().request_repaint();
    }
    false
}

/// See [`HELP`].
#[derive(Debug, Default)]
pub struct Notes;

impl Panel for Notes {
    fn ui(&mut self, ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            let session = look.session;
            if let Some(title) = field(ui, "Title", &session.title, look.plan.stream.labels().title.as_str(), 1) {
                commands.push(NoteCommand::Title(title).into());
            }
            if let Some(caption) = field(ui, "Caption of the session", &session.caption, "what there is to see, in a few sentences", 2) {
                commands.push(NoteCommand::Caption(caption).into());
            }
            bookmarks(ui, look, commands);
            if let Some(notes) = field(ui, OWN, &session.notes, "your own notes", 4) {
                commands.push(NoteCommand::Notes(notes).into());
            }
            focus::follow(ui);
        });
    }
}

fn small(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).size(SMALL).color(Ink::of(ui).quiet));
}

/// A text of so many lines with its name over it; the new text, once it is edited.
fn field(ui: &mut Ui, name: &str, text: &str, hint: &str, rows: usize) -> Option<String> {
    small(ui, name.split(' ').next().unwrap_or(name));
    let mut new = text.to_owned();
    let width = ui.available_width() - 4.0;
    let edit = if rows == 1 { TextEdit::singleline(&mut new) } else { TextEdit::multiline(&mut new).desired_rows(rows) };
    let response = framed(ui, |ui| ui.add(edit.hint_text(hint).desired_width(width))).accessible_name(name);
    if name == OWN && is_asked_for(ui) {
        response.request_focus();
    }
    response.changed().then_some(new)
}

/// The list of bookmarks: where each is, its caption to be edited, and a button that takes it away.
fn bookmarks(ui: &mut Ui, look: &Look<'_>, commands: &mut Vec<Command>) {
    let (all, total) = (&look.session.bookmarks, look.plan.stream.writes());
    let time = Timeline::new(total, look.plan.step, None, look.session.view.speed, false);
    ui.horizontal(|ui| {
        small(ui, if all.is_empty() { "No bookmarks yet" } else { "Bookmarks" });
        let button = ui.button(RichText::new("Bookmark this moment…").size(SMALL));
        if button.on_hover_text("A caption for where the playhead stands (Ctrl+B)").clicked() {
            commands.push(WindowCommand::BookmarkHere.into());
        }
    });
    for (at, bookmark) in all.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let here = rest(&time, bookmark) == look.writes;
            let place = bookmark.position.to_string();
            let go = ui.add_sized(vec2(58.0, 20.0), eframe::egui::Button::selectable(here, place));
            let hover = if bookmark.position > total {
                format!("Beyond the end of this stream, which has {}", plural(total, "write", "writes"))
            } else {
                format!("Go to where {} been seen", plural(bookmark.position, "write has", "writes have"))
            };
            if go.accessible_name(format!("Go to bookmark {}", at + 1)).on_hover_text(hover).clicked() {
                commands.push(ViewCommand::Bookmark(at).into());
            }
            let mut caption = bookmark.caption.clone();
            let width = (ui.available_width() - 30.0).max(40.0);
            let edit = TextEdit::singleline(&mut caption).desired_width(width).hint_text("caption");
            if framed(ui, |ui| ui.add(edit)).accessible_name(format!("Caption of bookmark {}", at + 1)).changed() {
                commands.push(NoteCommand::Bookmark { position: bookmark.position, caption }.into());
            }
            let delete = icon::sized(ui, Icon::Close, &format!("Delete bookmark {}", at + 1), false, vec2(20.0, 20.0));
            if delete.on_hover_text("Delete this bookmark").clicked() {
                commands.push(NoteCommand::RemoveBookmark(bookmark.position).into());
            }
        });
        if bookmark.position > total {
            let text = format!("beyond the end of this stream, which has {}", plural(total, "write", "writes"));
            ui.add(Label::new(RichText::new(text).size(SMALL).color(ui.visuals().warn_fg_color)).truncate());
        }
    }
}
