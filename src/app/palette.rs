//! The palette: everything that can be done, found by typing a part of its name and done with Enter.
//!
//! It is made from the one table of commands, and from what there is to name: panels, lanes, tasks, shipped sessions, files.

use eframe::egui::{self, Align, Button, Context, Id, Key, Label, Layout, Modal, Modifiers, RichText, ScrollArea, TextEdit, Ui, vec2};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32String};

use crate::app::command::{Command, LaneCommand, PanelAct, SessionCommand, ViewCommand, WindowCommand};
use crate::app::commands::{COMMANDS, keys_text};
use crate::app::layout::{RECALL, entries};
use crate::app::menu::MenuLook;
use crate::layer::KINDS;
use crate::panel::Subject;
use crate::param::Params;
use crate::session::gallery::shipped;
use crate::session::plan::Plan;
use crate::session::{CaptureSource, Session, Source, TaskSource};
use crate::task::TASKS;

/// One thing that can be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is called.
    pub title: String,
    /// What kind of thing it is: `command`, `panel`, ..
    pub kind: &'static str,
    /// The keys that do it, in words; empty without any.
    pub keys: String,
    /// What it does.
    pub command: Command,
}

/// Everything that can be done now. `plan` is the one on screen.
#[must_use]
pub fn items(ctx: &Context, look: &MenuLook<'_>, session: &Session, plan: Option<&Plan>) -> Vec<Item> {
    let item = |kind: &'static str, title: String, command: Command| Item {
        title: title.trim_end_matches('…').to_owned(),
        kind,
        keys: String::new(),
        command,
    };
    let mut all: Vec<Item> = COMMANDS
        .iter()
        .map(|entry| {
            let command = (entry.make)();
            let what = match &command {
                Command::Window(WindowCommand::Undo) => look.undo,
                Command::Window(WindowCommand::Redo) => look.redo,
                _ => None,
            };
            let title = what.map_or_else(|| entry.title.to_owned(), |what| format!("{}: {what}", entry.title));
            Item { keys: keys_text(ctx, entry), ..item("command", title, command) }
        })
        .collect();
    for panel in entries() {
        all.push(item("panel", format!("Show {}", panel.title), WindowCommand::ShowPanel(panel.name).into()));
        if look.layout.shows(panel.name) {
            all.push(item("panel", format!("Hide {}", panel.title), WindowCommand::TogglePanel(panel.name).into()));
        }
    }
    for panel in crate::panel::PANELS {
        let act = |act| WindowCommand::Panel { name: Some(panel.name), act };
        all.push(item("panel", format!("Maximise {}", panel.title), act(PanelAct::Maximise).into()));
        if panel.name != RECALL {
            all.push(item("panel", format!("Own window for {}", panel.title), act(PanelAct::Detach).into()));
        }
    }
    for (number, lane) in plan.iter().flat_map(|p| p.lanes.iter().enumerate()) {
        all.push(item("lane", format!("Look at lane {}", lane.name), ViewCommand::Choose(Subject::Lane(number)).into()));
    }
    for (index, lane) in session.lanes.iter().enumerate() {
        let command = |c: SessionCommand| Command::Session(c);
        let on = if lane.enabled { "off" } else { "on" };
        let switch = command(SessionCommand::LaneEnabled { lane: index, enabled: !lane.enabled });
        all.push(item("lane", format!("Switch lane {} {on}", lane.name), switch));
        all.push(item("lane", format!("Duplicate lane {}", lane.name), LaneCommand::Duplicate(index).into()));
        all.push(item("lane", format!("Remove lane {}", lane.name), LaneCommand::Remove(index).into()));
    }
    for kind in KINDS {
        all.push(item("layer", format!("Add a lane of {}", kind.title()), LaneCommand::Add(kind.name()).into()));
    }
    all.push(item("source", "Bundled capture".to_owned(), SessionCommand::Source(Source::Capture(CaptureSource::bundled())).into()));
    for task in TASKS {
        let source = Source::Task(TaskSource { name: task.name().to_owned(), params: Params::default() });
        all.push(item("task", format!("Task: {}", task.title()), SessionCommand::Source(source).into()));
    }
    for one in shipped() {
        all.push(item("gallery", format!("Gallery: {}", one.session.title), WindowCommand::OpenFile(one.path()).into()));
    }
    for path in &look.preferences.recent {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        all.push(item("recent file", format!("Open {name}"), WindowCommand::OpenFile(path.clone()).into()));
    }
    all
}

/// The items that match `text`, by their places, the best first; all of them, in their order, where it is empty.
#[must_use]
pub fn find(items: &[Item], text: &str) -> Vec<usize> {
    if text.trim().is_empty() {
        return (0..items.len()).collect();
    }
    let pattern = Pattern::new(text, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut score = |item: &Item| {
        let title = pattern.score(Utf32String::from(item.title.as_str()).slice(..), &mut matcher);
        let all = Utf32String::from(format!("{} {}", item.kind, item.title));
        // What matches by its name alone is nearer than what needs its kind for it.
        title.map(|score| score + 8).or_else(|| pattern.score(all.slice(..), &mut matcher))
    };
    let mut found: Vec<(usize, u32)> = items.iter().enumerate().filter_map(|(i, item)| Some((i, score(item)?))).collect();
    // Enter on the name of a thing never takes the thing away.
    let unasked = |item: &Item| destroys(&item.command) && !says_what_it_does(item, text);
    found.sort_by_key(|(i, score)| (unasked(&items[*i]), std::cmp::Reverse(*score), items[*i].title.len(), *i));
    found.into_iter().map(|(i, _)| i).collect()
}

/// True for what takes something away, or ends something.
fn destroys(command: &Command) -> bool {
    match command {
        Command::Session(c) => {
            matches!(c, SessionCommand::Reset | SessionCommand::Lane(LaneCommand::Remove(_) | LaneCommand::RemoveHand { .. }))
        }
        Command::Window(c) => matches!(c, WindowCommand::Quit | WindowCommand::Panel { act: PanelAct::Close, .. }),
        _ => false,
    }
}

/// True if the text begins with the item's first word, or with two letters of it or more: the act itself is asked for then.
fn says_what_it_does(item: &Item, text: &str) -> bool {
    let first = |text: &str| text.split_whitespace().next().map(str::to_lowercase).unwrap_or_default();
    let (said, act) = (first(text), first(&item.title));
    said.chars().count() > 1 && act.starts_with(&said)
}

/// The palette while it is open.
#[derive(Debug)]
struct Open {
    items: Vec<Item>,
    text: String,
    found: Vec<usize>,
    /// The place in `found` of the one that Enter does.
    at: usize,
    /// True until the field has been given the focus.
    fresh: bool,
}

/// The palette. See the module's page.
#[derive(Debug, Default)]
pub struct Palette {
    open: Option<Open>,
}

impl Palette {
    /// Opens it on these.
    pub fn show(&mut self, items: Vec<Item>) {
        let found = find(&items, "");
        self.open = Some(Open { items, text: String::new(), found, at: 0, fresh: true });
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// True while it is open: keys belong to it then.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Draws it; what was chosen, if something was.
    pub fn ui(&mut self, ctx: &Context) -> Option<Command> {
        let open = self.open.as_mut()?;
        let size = ctx.content_rect().size();
        let mut chosen = None;
        let modal = Modal::new(Id::unique("palette")).show(ctx, |ui| {
            ui.set_width((size.x - 80.0).clamp(200.0, 520.0));
            chosen = open.ui(ui, (size.y - 160.0).clamp(80.0, 380.0));
        });
        if chosen.is_some() || modal.should_close() {
            self.open = None;
            ctx.request_repaint();
        }
        chosen
    }
}

impl Open {
    fn ui(&mut self, ui: &mut Ui, high: f32) -> Option<Command> {
        let moved = self.keys(ui);
        let field = TextEdit::singleline(&mut self.text).desired_width(f32::INFINITY).hint_text("What do you want to do?");
        let response = ui.add(field).accessible_name("What to do");
        if std::mem::take(&mut self.fresh) {
            response.request_focus();
        }
        if response.changed() {
            (self.found, self.at) = (find(&self.items, &self.text), 0);
        }
        let entered = response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
        ui.add_space(4.0);
        let clicked = ScrollArea::vertical().max_height(high).auto_shrink([false, true]).show(ui, |ui| self.list(ui, moved)).inner;
        if self.found.is_empty() {
            ui.weak("Nothing is called so.");
        }
        let at = clicked.or(entered.then_some(self.at))?;
        self.found.get(at).map(|i| self.items[*i].command.clone())
    }

    /// Up and down, by one or by ten; true if another one is chosen now.
    fn keys(&mut self, ui: &Ui) -> bool {
        let before = self.at;
        let last = self.found.len().saturating_sub(1);
        for (key, by) in [(Key::ArrowUp, -1), (Key::ArrowDown, 1), (Key::PageUp, -10), (Key::PageDown, 10)] {
            // A slow frame may bring several presses.
            for _ in 0..ui.input_mut(|i| i.count_and_consume_key(Modifiers::NONE, key)) {
                self.at = self.at.saturating_add_signed(by).min(last);
            }
        }
        self.at != before
    }

    fn list(&self, ui: &mut Ui, moved: bool) -> Option<usize> {
        let mut clicked = None;
        for (place, item) in self.found.iter().enumerate().map(|(place, i)| (place, &self.items[*i])) {
            let chosen = place == self.at;
            let height = ui.spacing().interact_size.y;
            let button = Button::selectable(chosen, "").min_size(vec2(ui.available_width(), height));
            let response = ui.add(button).accessible_name(format!("{} ({})", item.title, item.kind));
            let mut row = ui.new_child(
                egui::UiBuilder::new().max_rect(response.rect.shrink2(vec2(8.0, 0.0))).layout(Layout::left_to_right(Align::Center)),
            );
            let colour = ui.style().interact_selectable(&response, chosen).text_color();
            row.add(Label::new(RichText::new(&item.title).color(colour)).selectable(false).truncate());
            row.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let words = if item.keys.is_empty() { item.kind } else { &item.keys };
                let text = RichText::new(words).small();
                let text = if chosen || response.hovered() { text.color(colour) } else { text.weak() };
                ui.add(Label::new(text).selectable(false));
            });
            if chosen && moved {
                response.scroll_to_me(None);
            }
            if response.clicked() {
                clicked = Some(place);
            }
        }
        clicked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::layout::PanelLayout;
    use crate::app::prefs::Preferences;
    use crate::app::theme::ThemeChoice;

    fn all() -> Vec<Item> {
        let (layout, preferences) = (PanelLayout::new(None), Preferences { recent: vec!["mine.ron".into()], ..Preferences::default() });
        let look = MenuLook {
            playing: false,
            preferences: &preferences,
            theme: ThemeChoice::Dark,
            layout: &layout,
            session: None,
            named: "",
            edited: false,
            title: "",
            undo: Some("LoLA cache 128"),
            redo: None,
            back: false,
            forward: false,
        };
        items(&Context::default(), &look, &Session::default(), None)
    }

    fn first(items: &[Item], text: &str) -> String {
        find(items, text).first().map_or_else(String::new, |i| items[*i].title.clone())
    }

    #[test]
    fn every_command_is_found_by_its_title() {
        let items = all();
        for entry in COMMANDS {
            let found = find(&items, entry.title.trim_end_matches('…'));
            assert_eq!(found.first().map(|i| &items[*i].command), Some(&(entry.make)()), "{}", entry.title);
        }
    }

    #[test]
    fn things_are_found_by_parts_of_their_names() {
        let items = all();
        for (text, title) in [
            ("undo", "Undo: LoLA cache 128"),
            ("twfast", "Twice as fast"),
            ("show growth", "Show Growth"),
            ("note", "Show Notes"),
            ("notes", "Show Notes"),
            ("write", "Write notes"),
            ("lola off", "Switch lane LoLA off"),
            ("bundled", "Bundled capture"),
            ("mine", "Open mine.ron"),
        ] {
            assert_eq!(first(&items, text), title, "{text}");
        }
        let last: Vec<bool> = find(&items, "lola").into_iter().map(|i| destroys(&items[i].command)).collect();
        assert!(last.is_sorted() && last.contains(&true), "what takes a lane away comes after all else: {last:?}");
        assert_eq!(first(&items, "remove lola"), "Remove lane LoLA");
        assert!(find(&items, "zzzzqq").is_empty());
        assert_eq!(find(&items, " ").len(), items.len());
        for one in shipped() {
            let opens = Command::from(WindowCommand::OpenFile(one.path()));
            assert!(items.iter().any(|i| i.command == opens), "{}", one.name);
        }
    }

    #[test]
    fn nothing_is_offered_twice() {
        let items = all();
        let mut titles: Vec<&str> = items.iter().map(|i| i.title.as_str()).collect();
        titles.sort_unstable();
        for pair in titles.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
