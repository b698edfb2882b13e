//! Commands: everything that a user can do, grouped by who carries it out.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::lesson::LessonCommand;
use crate::app::sides::Side;
use crate::app::study::StudyCommand;
use crate::app::theme::ThemeChoice;
use crate::panel::{Pin, Subject};
use crate::param::ParamValue;
use crate::session::hand::Hand;
use crate::session::{BackendChoice, LaneSpec, Source};

/// What a panel, a key or a menu asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// For the timeline.
    Time(TimeCommand),
    /// For the session: these restart the run.
    Session(SessionCommand),
    /// For what is looked at.
    View(ViewCommand),
    /// For the window: files, panels, theme.
    Window(WindowCommand),
    /// For a study in the background.
    Study(StudyCommand),
    /// For lessons.
    Lesson(LessonCommand),
}

impl From<TimeCommand> for Command {
    fn from(command: TimeCommand) -> Self {
        Self::Time(command)
    }
}
impl From<SessionCommand> for Command {
    fn from(command: SessionCommand) -> Self {
        Self::Session(command)
    }
}
impl From<LaneCommand> for Command {
    fn from(command: LaneCommand) -> Self {
        Self::Session(SessionCommand::Lane(command))
    }
}
impl From<NoteCommand> for Command {
    fn from(command: NoteCommand) -> Self {
        Self::Session(SessionCommand::Notes(command))
    }
}
impl From<ViewCommand> for Command {
    fn from(command: ViewCommand) -> Self {
        Self::View(command)
    }
}
impl From<StudyCommand> for Command {
    fn from(command: StudyCommand) -> Self {
        Self::Study(command)
    }
}
impl From<LessonCommand> for Command {
    fn from(command: LessonCommand) -> Self {
        Self::Lesson(command)
    }
}
impl From<WindowCommand> for Command {
    fn from(command: WindowCommand) -> Self {
        Self::Window(command)
    }
}

/// Moves the playhead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeCommand {
    /// To this many writes seen (rounded to a step of the timeline).
    Seek(usize),
    /// By so many steps.
    Step(i64),
    /// To the start.
    Home,
    /// To the end.
    End,
    /// Play or pause.
    TogglePlay,
    /// Steps a second.
    Speed(f32),
    /// Double or halve the speed.
    Faster,
    /// Halve the speed.
    Slower,
    /// Play from the start again at the end, or not.
    ToggleRepeat,
}

/// Changes what runs.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum SessionCommand {
    /// Another source.
    Source(Source),
    /// Other lanes, all of them.
    Lanes(Vec<LaneSpec>),
    /// All that the results depend on, at once: one new run.
    Whole { source: Source, seed: u64, lanes: Vec<LaneSpec> },
    /// The list of lanes.
    Lane(LaneCommand),
    /// One parameter of a lane, by the lane's place in the session.
    LaneParam { lane: usize, name: &'static str, value: Option<ParamValue> },
    /// One parameter of the task.
    TaskParam { name: &'static str, value: Option<ParamValue> },
    /// What is said of it, and its bookmarks: nothing runs again for these.
    Notes(NoteCommand),
    /// A lane once more, with something done to its memory by hand; by the lane's place in the session.
    Hand { lane: usize, hand: Hand },
    /// Switches a lane of the run on screen off, by its place in the session of that run: what is set by now may have others before it.
    ShownLaneOff { lane: usize },
    /// Switches a lane on or off.
    LaneEnabled { lane: usize, enabled: bool },
    /// Where to compute.
    Backend(BackendChoice),
    /// This seed.
    Seed(u64),
    /// The next seed.
    NewSeed,
    /// Run again from the start, with the same seed.
    Reset,
}

/// Changes the list of lanes. Lanes are named by their place in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum LaneCommand {
    /// One more lane of a layer, with the layer's defaults.
    Add(&'static str),
    /// A copy of a lane after it.
    Duplicate(usize),
    /// Another name; one that cannot be used changes nothing.
    Rename { lane: usize, name: String },
    /// Away with a lane, unless it is the last.
    Remove(usize),
    /// The lane that was removed last, back to its place.
    PutBack,
    /// A lane to another place.
    Move { from: usize, to: usize },
    /// A place of the palette for a lane.
    Recolour { lane: usize, place: usize },
    /// Another file of weights, or none.
    Weights { lane: usize, path: Option<PathBuf> },
    /// What was done by hand is not done, by its place in the lane's list.
    RemoveHand { lane: usize, hand: usize },
}

/// Changes what is said of a session, and its bookmarks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum NoteCommand {
    /// What it is called.
    Title(String),
    /// What there is to see in it.
    Caption(String),
    /// The notes.
    Notes(String),
    /// A bookmark at so many writes seen, or another caption for the one that is there.
    Bookmark { position: usize, caption: String },
    /// No bookmark there any more.
    RemoveBookmark(usize),
}

/// Changes what is looked at. Lanes are those of the run on screen, numbered as panels see them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum ViewCommand {
    /// The pointer is over this write (sent every frame while it is).
    Hover(usize),
    /// The pointer is over this row of a lane's dictionary (sent every frame while it is).
    HoverRow { lane: usize, row: usize },
    /// This write was clicked; `None` lets go of all that is selected.
    Select(Option<usize>),
    /// This read was clicked.
    SelectRead(Option<usize>),
    /// Something was clicked, or a link to it.
    Choose(Subject),
    /// These writes are selected together: with a lasso, or as what a search found.
    Group(Arc<[usize]>),
    /// Every write from the selected one to this: a click with Shift.
    Extend(usize),
    /// This write too, or no longer: a click with Ctrl.
    Toggle(usize),
    /// A second moment is held beside the current one, or none.
    Pin(Option<Pin>),
    /// The moment at the playhead is held beside the current one; if one is held already, it is let go.
    PinHere,
    /// To the next event of the filter of events, or the one before.
    FindEvent { forwards: bool },
    /// To the next bookmark, or the one before.
    FindBookmark { forwards: bool },
    /// To a bookmark, by its place in the session.
    Bookmark(usize),
    /// What was looked at before this.
    Back,
    /// What was looked at after this.
    Forward,
    /// The key/value head shown.
    KvHead(usize),
    /// The query head shown, within its group.
    QueryHead(usize),
}

/// What can be done with one panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanelAct {
    /// Hide it.
    Close,
    /// Let it fill the centre, or put it back among the others.
    Maximise,
    /// Out of its tabs, to their right.
    SplitRight,
    /// Out of its tabs, below them.
    SplitDown,
    /// More of the width of its row.
    Wider,
    /// Less of it.
    Narrower,
    /// More of the height of its column.
    Taller,
    /// Less of it.
    Lower,
    /// Into a window of its own, or back from there.
    Detach,
    /// Back from a window of its own.
    PutBack,
}

/// A picture to take: of the panel named, or of the one that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureAct {
    /// Ask how and where to write the window.
    ExportWindow,
    /// Ask how and where to write a panel.
    ExportPanel(Option<&'static str>),
    /// Ask how and where to write an animation of a panel, or of the window.
    Animate(Option<&'static str>),
    /// The window to the clipboard.
    CopyWindow,
    /// A panel to the clipboard.
    CopyPanel(Option<&'static str>),
}

/// Files, panels and the look of the window. None of them changes a number.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum WindowCommand {
    /// Take the last edit back.
    Undo,
    /// Make the edit again that was taken back last.
    Redo,
    /// Show the start page, or put it away.
    ToggleStartPage,
    /// Begin with the start page, or not.
    BeginWithStartPage(bool),
    /// Ask for a file to open.
    Open,
    /// Ask for a path to open, in a field of our own: for systems without file dialogs.
    OpenPath,
    /// Open this session or capture.
    OpenFile(PathBuf),
    /// Save the session where it came from, or ask where.
    Save,
    /// Ask where to save the session.
    SaveAs,
    /// Ask for a path to save to, in a field of our own.
    SaveAsPath,
    /// Ask where to save the session together with what its run has written, in one file.
    SaveWithTrace,
    /// Ask for a path for the same, in a field of our own.
    SaveWithTracePath,
    /// Show the notes, with the focus in their field.
    WriteNotes,
    /// Ask for the caption of a bookmark at the playhead.
    BookmarkHere,
    /// Take a picture.
    Picture(PictureAct),
    /// Ask for a folder to write the trace to.
    ExportTrace,
    /// Ask where to write the rows of the sweep.
    ExportSweep,
    /// Ask where to write the list of events.
    ExportEvents,
    /// Search over the tokens.
    Search,
    /// Stop the export that is under way.
    CancelExport,
    /// Light, dark, or as the desktop says.
    Theme(ThemeChoice),
    /// Text one size larger.
    Larger,
    /// Text one size smaller.
    Smaller,
    /// Text as designed.
    NormalSize,
    /// Show a panel, or hide it.
    TogglePanel(&'static str),
    /// Show a panel, in front of those it shares its place with.
    ShowPanel(&'static str),
    /// Do something with a panel, or with the one that is in use.
    Panel { name: Option<&'static str>, act: PanelAct },
    /// Go to the next row of panels, or the one before, where the window is too low for all of them.
    Rows { down: bool },
    /// Fold a side of the window to a rail, or unfold it.
    ToggleSide(Side),
    /// Move the border between two neighbours of a row (to the right) or of a column (downwards) by so many points.
    MoveBorder { between: [egui_tiles::TileId; 2], by: f32 },
    /// A tab was dropped at another place; `was` is the arrangement that it found, as the layout writes itself.
    Dropped { name: Option<&'static str>, was: Option<String> },
    /// Arrange the panels as this preset has them.
    Arrange(&'static str),
    /// Put the panels back as designed.
    ResetLayout,
    /// Show the window to a room: large text, few controls; or as it was.
    Present,
    /// Show or hide the palette of commands.
    TogglePalette,
    /// Show or hide the sheet of keys.
    ToggleKeys,
    /// Close the window.
    Quit,
}
