//! Taking edits back and making them again, and going back and forward through what was looked at.

use crate::app::app::App;
use crate::app::command::{LaneCommand, NoteCommand, SessionCommand, TimeCommand};
use crate::app::params::accessible_name;
use crate::app::undo::{Before, Thing, Was};
use crate::panel::Selection;
use crate::param::{ParamSpec, ParamValue};
use crate::session::{BackendChoice, LaneSpec, Session, Source};
use crate::{layer, task};

/// More of a text than this is not said in the title of an edit.
const WORDS: usize = 24;

impl App {
    /// The session as an edit finds it.
    pub(in crate::app) fn before(&self) -> Was {
        Was::Session(Box::new(Before {
            session: self.session.clone(),
            removed: self.removed.clone(),
            writes: self.timeline.wanted(),
            selection: self.selection.clone(),
        }))
    }

    /// Takes in an edit to the session that has just been carried out.
    pub(in crate::app) fn record(&mut self, title: String, was: Was, thing: Option<Thing>) {
        let now = self.before();
        self.undo.record(title, was, &now, thing.map(|t| (t, self.hand)));
    }

    /// Takes in what became of the panels, if anything did.
    pub(in crate::app) fn record_layout(&mut self, title: &str, was: Option<String>, thing: Option<Thing>) {
        let now = self.layout.save();
        if was != now {
            self.undo.record(title.to_owned(), Was::Layout(was), &Was::Layout(now), thing.map(|t| (t, self.hand)));
        }
    }

    /// Takes the last edit back, or makes the last one that was taken back again.
    pub(in crate::app) fn step_back(&mut self, redo: bool) {
        if self.opening.is_some() {
            return;
        }
        let (session, layout) = (self.before(), self.layout.save());
        let now = |was: &Was| match was {
            Was::Session(_) => session,
            Was::Layout(_) => Was::Layout(layout),
        };
        let Some((title, was)) = (if redo { self.undo.redo(now) } else { self.undo.undo(now) }) else { return };
        self.notice = Some(format!("{} {title}", if redo { "Made again:" } else { "Taken back:" }));
        match was {
            Was::Session(before) => self.put_back(*before),
            Was::Layout(saved) => self.layout.restore(saved.as_deref()),
        }
    }

    fn put_back(&mut self, before: Before) {
        let Before { session, removed, writes, selection } = before;
        let session = Session { view: self.session.view.clone(), ..session };
        self.removed = removed;
        if session == self.session {
            return;
        }
        // As with the edit itself: a colour is no number, and neither is a note.
        let same_run = self.session.runs_as(&session);
        let names = |s: &Session| s.lanes.iter().filter(|l| l.enabled).map(|l| l.name.clone()).collect::<Vec<_>>();
        let lost = names(&session) != names(&self.session) || session.source != self.session.source;
        self.session = session;
        if !same_run {
            let selection = if lost { selection } else { Selection::default() };
            self.looked_at = Some(((writes > self.timeline.total()).then_some(writes), selection));
            self.replan();
        }
    }

    /// What an edit left no room for comes back with the run that has room for it.
    pub(in crate::app) fn look_again(&mut self) {
        let Some((writes, selection)) = self.looked_at.take() else { return };
        if self.selection.subject.is_none() && selection.subject.is_some() {
            self.selection = selection;
        }
        if let Some(writes) = writes {
            self.timeline.command(TimeCommand::Seek(writes));
        }
    }

    /// Goes to the visit before, or after.
    pub(in crate::app) fn revisit(&mut self, forward: bool) -> bool {
        let visit = if forward { self.history.forward() } else { self.history.back() };
        let Some(visit) = visit.cloned() else { return false };
        let (hovered, hovered_row, pin) = (self.selection.hovered, self.selection.hovered_row, self.selection.pin);
        self.selection = Selection { hovered, hovered_row, pin, ..visit.selection };
        self.timeline.command(TimeCommand::Seek(visit.writes));
        true
    }
}

/// What an edit of the session is called, and what it is of where it may be one of a drag; `session` is as it was before.
pub(super) fn title(command: &SessionCommand, session: &Session, removed: Option<&LaneSpec>) -> (String, Option<Thing>) {
    let plain = |text: &str| (text.to_owned(), None);
    match command {
        SessionCommand::Source(source) => (format!("source {}", source_words(source)), None),
        SessionCommand::Lanes(_) => plain("other lanes"),
        SessionCommand::Whole { source, .. } => (format!("source, seed and lanes of {}", source_words(source)), None),
        SessionCommand::Lane(command) => lane_title(command, session, removed),
        SessionCommand::Notes(command) => note_title(command),
        SessionCommand::LaneParam { lane, name, value } => {
            let owner = session.lanes.get(*lane);
            let spec = owner.and_then(|l| layer::kind(&l.layer)).and_then(|k| k.params().iter().find(|p| p.name == *name));
            (param_title(owner.map_or("lane", |l| &l.name), spec, name, value.as_ref()), Some(Thing::Lane(*lane, name)))
        }
        SessionCommand::TaskParam { name, value } => {
            let task = if let Source::Task(t) = &session.source { task::task(&t.name) } else { None };
            let spec = task.and_then(|t| t.params().iter().find(|p| p.name == *name));
            (param_title("task", spec, name, value.as_ref()), Some(Thing::Task(name)))
        }
        SessionCommand::Hand { lane, hand } => (format!("{hand} in a branch of {}", name_of(session, *lane)), None),
        SessionCommand::LaneEnabled { lane, enabled } => {
            (format!("switch {} {}", name_of(session, *lane), if *enabled { "on" } else { "off" }), None)
        }
        SessionCommand::ShownLaneOff { lane } => (format!("switch {} off", name_of(session, *lane)), None),
        SessionCommand::Backend(choice) => {
            let name = match choice {
                BackendChoice::Auto => "auto",
                BackendChoice::Gpu => "GPU",
                BackendChoice::Cpu => "CPU",
            };
            (format!("compute on {name}"), None)
        }
        SessionCommand::Seed(seed) => (format!("seed {seed}"), Some(Thing::Seed)),
        SessionCommand::NewSeed => (format!("seed {}", session.seed.wrapping_add(1)), None),
        SessionCommand::Reset => plain("run again"),
    }
}

fn lane_title(command: &LaneCommand, session: &Session, removed: Option<&LaneSpec>) -> (String, Option<Thing>) {
    let name = |lane: usize| name_of(session, lane);
    let text = match command {
        LaneCommand::Add(layer) => format!("add lane {}", layer::kind(layer).map_or(*layer, |k| k.title())),
        LaneCommand::Duplicate(lane) => format!("duplicate {}", name(*lane)),
        LaneCommand::Rename { lane, name: to } => format!("rename {} to {to}", name(*lane)),
        LaneCommand::Remove(lane) => format!("remove {}", name(*lane)),
        LaneCommand::PutBack => format!("put back {}", removed.map_or("a lane", |l| &l.name)),
        LaneCommand::Move { from, .. } => format!("move {}", name(*from)),
        LaneCommand::Recolour { lane, .. } => return (format!("colour of {}", name(*lane)), Some(Thing::Colour(*lane))),
        LaneCommand::Weights { lane, path } => {
            let file = path.as_deref().map_or_else(|| "none".into(), |p| p.file_name().unwrap_or(p.as_os_str()).to_string_lossy());
            format!("weights of {}: {file}", name(*lane))
        }
        LaneCommand::RemoveHand { lane, hand } => {
            let what = session.lanes.get(*lane).and_then(|l| l.hands.get(*hand)).map_or_else(String::new, ToString::to_string);
            format!("without: {what}, in {}", name(*lane))
        }
    };
    (text, None)
}

fn note_title(command: &NoteCommand) -> (String, Option<Thing>) {
    match command {
        NoteCommand::Title(title) => (format!("title {}", cut(title)), Some(Thing::Title)),
        NoteCommand::Caption(_) => ("caption".to_owned(), Some(Thing::Caption)),
        NoteCommand::Notes(_) => ("notes".to_owned(), Some(Thing::Notes)),
        NoteCommand::Bookmark { position, caption } => (format!("bookmark {position} {}", cut(caption)), Some(Thing::Bookmark(*position))),
        NoteCommand::RemoveBookmark(position) => (format!("delete bookmark {position}"), None),
    }
}

/// The first letters of a text, of one line.
fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut words: String = line.chars().take(WORDS).collect();
    if words.len() < text.len() {
        words.push('…');
    }
    words
}

fn name_of(session: &Session, lane: usize) -> &str {
    session.lanes.get(lane).map_or("a lane", |l| &l.name)
}

fn source_words(source: &Source) -> String {
    match source {
        Source::Capture(c) if c.is_bundled() => "bundled capture".to_owned(),
        Source::Capture(c) => c.path.file_name().unwrap_or(c.path.as_os_str()).to_string_lossy().into_owned(),
        Source::Task(t) => task::task(&t.name).map_or_else(|| t.name.clone(), |t| t.title().to_owned()),
    }
}

fn param_title(owner: &str, spec: Option<&ParamSpec>, name: &str, value: Option<&ParamValue>) -> String {
    let what = spec.map_or_else(|| format!("{owner} {name}"), |spec| accessible_name(owner, spec));
    let value = value.map_or_else(|| "as by default".to_owned(), ToString::to_string);
    format!("{what} {}", cut(&value))
}
