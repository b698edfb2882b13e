//! Commands that change what is looked at.

use crate::app::app::App;
use crate::app::command::ViewCommand;
use crate::panel::Subject;

impl App {
    pub(in crate::app) fn view_command(&mut self, command: ViewCommand) -> bool {
        let changed = self.look_at(command);
        self.history.look(&self.selection, self.timeline.wanted());
        changed
    }

    fn look_at(&mut self, command: ViewCommand) -> bool {
        let selection = &mut self.selection;
        match command {
            ViewCommand::Hover(write) => selection.hovered = Some(write),
            ViewCommand::HoverRow { lane, row } => selection.hovered_row = Some((lane, row)),
            ViewCommand::Select(Some(write)) => selection.choose(Subject::Token(write)),
            ViewCommand::Select(None) => selection.clear(),
            ViewCommand::SelectRead(Some(read)) => selection.choose(Subject::Read(read)),
            ViewCommand::SelectRead(None) => selection.read = None,
            ViewCommand::Choose(subject) => selection.choose(subject),
            ViewCommand::Group(writes) => selection.choose_group(&writes),
            ViewCommand::Extend(write) => selection.extend_to(write),
            ViewCommand::Toggle(write) => selection.toggle(write),
            ViewCommand::Pin(pin) => selection.pin = pin,
            ViewCommand::PinHere => self.pin_here(),
            ViewCommand::FindEvent { forwards } => return self.find_event(forwards),
            ViewCommand::FindBookmark { forwards } => return self.find_bookmark(forwards),
            ViewCommand::Bookmark(bookmark) => return self.go_to_bookmark(bookmark),
            ViewCommand::Back => return self.revisit(false),
            ViewCommand::Forward => return self.revisit(true),
            ViewCommand::KvHead(head) => self.session.view.kv_head = head,
            ViewCommand::QueryHead(head) => self.session.view.query_head = head,
        }
        true
    }
}
