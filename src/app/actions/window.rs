//! Commands for the window: files are asked for, panels, the look of it all.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::Ordering;

use eframe::egui::ViewportCommand;

use crate::app::app::App;
use crate::app::command::{PanelAct, WindowCommand};
use crate::app::commands::COMMANDS;
use crate::app::dialogs::Dialog;
use crate::app::facts::Index;
use crate::app::jobs::Purpose;
use crate::app::layout::{RECALL, entry};
use crate::app::menu::MenuLook;
use crate::app::paint::Around;
use crate::app::sides::Side;
use crate::app::undo::Thing;
use crate::app::{hand, inspector, paint, palette, presets};
use crate::panel::{WindowLane, notes};
use crate::session::saved;

impl App {
    pub(in crate::app) fn window_command(&mut self, command: WindowCommand) {
        match command {
            // There is nothing to save yet.
            WindowCommand::Save
            | WindowCommand::SaveAs
            | WindowCommand::SaveAsPath
            | WindowCommand::SaveWithTrace
            | WindowCommand::SaveWithTracePath
                if self.opening.is_some() => {}
            WindowCommand::Undo => self.step_back(false),
            WindowCommand::Redo => self.step_back(true),
            WindowCommand::ToggleStartPage => self.start_page.toggle(),
            WindowCommand::BeginWithStartPage(so) => {
                self.preferences.start_page = so;
                self.save_preferences();
            }
            WindowCommand::Open => self.pick(Purpose::Open, String::new()),
            WindowCommand::OpenPath => self.ask_path(Purpose::Open, None),
            WindowCommand::OpenFile(path) => self.open(path),
            WindowCommand::Save if self.exporting.is_some() && self.path.as_deref().is_some_and(super::files::has_trace) => {}
            WindowCommand::Save => match self.path.clone().filter(|p| super::files::is_session(p)) {
                Some(path) => self.save_to(path),
                None => self.pick(Purpose::SaveSession, self.suggested("ron")),
            },
            WindowCommand::SaveAs => self.pick(Purpose::SaveSession, self.suggested("ron")),
            WindowCommand::SaveAsPath => self.ask_path(Purpose::SaveSession, None),
            WindowCommand::Picture(act) => self.picture_command(act),
            WindowCommand::ExportTrace | WindowCommand::SaveWithTrace | WindowCommand::SaveWithTracePath if self.exporting.is_some() => {}
            WindowCommand::ExportTrace => self.ask_export(),
            WindowCommand::ExportSweep => self.pick(Purpose::Sweep, self.suggested("parquet")),
            WindowCommand::ExportEvents => self.pick(Purpose::Events, self.suggested("csv")),
            WindowCommand::SaveWithTrace => self.pick(Purpose::SavedTrace, self.suggested(saved::EXTENSION)),
            WindowCommand::SaveWithTracePath => self.ask_path(Purpose::SavedTrace, None),
            WindowCommand::WriteNotes => {
                notes::ask_to_write(&self.ctx);
                self.panel_command(&WindowCommand::ShowPanel(notes::NAME));
            }
            WindowCommand::BookmarkHere => self.ask_bookmark(),
            WindowCommand::Search => self.bar.search.open(),
            WindowCommand::CancelExport => {
                if let Some(export) = &self.exporting {
                    export.cancel.store(true, Ordering::Relaxed);
                }
            }
            WindowCommand::Theme(choice) => {
                self.preferences.theme = choice;
                self.options.theme = None;
                self.restyle();
            }
            WindowCommand::Larger => self.rescale(1),
            WindowCommand::Smaller => self.rescale(-1),
            WindowCommand::NormalSize => {
                self.preferences.scale = 1.0;
                self.restyle();
            }
            WindowCommand::Panel { name, act: PanelAct::Maximise } => {
                if let Some(name) = name.or_else(|| self.layout.in_use()) {
                    self.layout.maximise(name);
                }
            }
            WindowCommand::TogglePanel(_)
            | WindowCommand::ShowPanel(_)
            | WindowCommand::Panel { .. }
            | WindowCommand::MoveBorder { .. }
            | WindowCommand::Dropped { .. }
            | WindowCommand::Arrange(_)
            | WindowCommand::ResetLayout => self.panel_command(&command),
            WindowCommand::Rows { down } => self.layout.turn(down),
            WindowCommand::ToggleSide(side) => self.show_side(side, !self.sides.is_shown(side)),
            WindowCommand::Present => self.present(!self.presenting),
            WindowCommand::TogglePalette => self.toggle_palette(),
            WindowCommand::ToggleKeys => self.dialogs.toggle_keys(),
            WindowCommand::Quit => self.ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    /// Commands that move panels about. They can be taken back.
    fn panel_command(&mut self, command: &WindowCommand) {
        let mut was = self.layout.save();
        let mut thing = None;
        let title = match *command {
            WindowCommand::TogglePanel(name) => {
                self.layout.toggle(name);
                format!("{} {}", if self.layout.shows(name) { "show" } else { "hide" }, panel_title(name))
            }
            WindowCommand::ShowPanel(RECALL) if !self.sides.is_shown(Side::Inspector) => {
                self.show_side(Side::Inspector, true);
                return;
            }
            WindowCommand::ShowPanel(name) => {
                self.layout.bring(name);
                format!("show {}", panel_title(name))
            }
            WindowCommand::Panel { name, act } => {
                let Some(name) = name.or_else(|| self.layout.in_use()) else { return };
                if let Some((row, more)) = size_of(act) {
                    thing = Some(Thing::Size(name, row));
                    self.resize_panel(name, act, row, more)
                } else {
                    self.act_on_panel(name, act)
                }
            }
            WindowCommand::MoveBorder { between, by } => {
                thing = Some(Thing::Border(between));
                self.layout.move_border(between, by);
                "move a border".to_owned()
            }
            WindowCommand::Dropped { name, was: ref found } => {
                was.clone_from(found);
                format!("move {}", name.map_or("a tab", panel_title))
            }
            WindowCommand::Arrange(name) => {
                let Some(preset) = presets::preset(name) else { return };
                self.layout.arrange(&preset.node());
                let lane = preset.layer.map(|layer| self.lane_of(layer));
                if let (Some(None), Some(layer)) = (&lane, preset.layer) {
                    let kind = crate::layer::kind(layer).map_or(layer, |k| k.title());
                    self.notice = Some(format!("No lane of {kind} is switched on: panels show the lanes that they did"));
                }
                self.layout.show_lane(lane.flatten());
                format!("layout {}", preset.title)
            }
            _ => {
                self.layout.reset();
                "reset the layout".to_owned()
            }
        };
        self.record_layout(&title, was, thing);
    }

    /// The lane of this layer that panels are to show, by name: the one that is selected, or the first that is switched on.
    fn lane_of(&self, layer: &str) -> Option<String> {
        let plan = self.runs.current().map(|run| &run.plan);
        let selected = self.selection.lane.and_then(|lane| plan?.lanes.get(lane)).filter(|lane| lane.kind.name() == layer);
        let first = || self.session.lanes.iter().find(|lane| lane.enabled && lane.layer == layer).map(|lane| lane.name.clone());
        selected.map(|lane| lane.name.clone()).or_else(first)
    }

    /// Makes a panel wider, narrower, taller or shorter, or says why it stays as it is.
    fn resize_panel(&mut self, name: &'static str, act: PanelAct, row: bool, more: bool) -> String {
        let title = panel_title(name);
        let size = match act {
            PanelAct::Wider => "wider",
            PanelAct::Narrower => "narrower",
            PanelAct::Taller => "taller",
            _ => "shorter",
        };
        if !self.layout.resize(name, row, more) {
            self.notice = Some(format!("{title} cannot be made {size}: there is no border beside it that could move"));
        }
        format!("{title} {size}")
    }

    fn toggle_palette(&mut self) {
        if self.palette.is_open() {
            self.palette.close();
        } else {
            let plan = self.runs.current().map(|r| r.plan.as_ref());
            let mut items = palette::items(&self.ctx, &self.menu_look(), &self.session, plan);
            // After the commands, before all that there always is.
            let commands = COMMANDS.len().min(items.len());
            items.splice(commands..commands, self.by_hand());
            self.palette.show(items);
        }
    }

    /// What can be done by hand to what is selected, as the inspector offers it.
    fn by_hand(&self) -> Vec<palette::Item> {
        let Some(run) = self.runs.current() else { return Vec::new() };
        let lanes = paint::lane_looks(run, &self.session, true, true);
        let Self { session, timeline, selection, studies, states, .. } = self;
        let look = Around { session, timeline, selection, lane: WindowLane::default(), studies, states }.look(run, &lanes);
        inspector::held(&look).map_or_else(Vec::new, |subject| hand::items(&look, &mut Index::default(), subject))
    }

    fn act_on_panel(&mut self, name: &'static str, act: PanelAct) -> String {
        let layout = &mut self.layout;
        let words = match act {
            PanelAct::Close => {
                layout.close(name);
                "close"
            }
            PanelAct::Maximise => {
                layout.maximise(name);
                "maximise"
            }
            PanelAct::SplitRight | PanelAct::SplitDown => {
                layout.split(name, act == PanelAct::SplitRight);
                "split off"
            }
            // These have their own place: a border moves.
            PanelAct::Wider | PanelAct::Narrower | PanelAct::Taller | PanelAct::Lower => "resize",
            PanelAct::Detach if !layout.is_detached(name) => {
                layout.detach(name);
                "own window for"
            }
            PanelAct::Detach | PanelAct::PutBack => {
                layout.put_back(name);
                "put back"
            }
        };
        format!("{words} {}", panel_title(name))
    }

    pub(in crate::app) fn rescale(&mut self, tenths: i8) {
        self.preferences.rescale(tenths);
        self.restyle();
    }

    pub(in crate::app) fn restyle(&mut self) {
        self.install_theme();
        self.save_preferences();
    }

    pub(in crate::app) fn save_preferences(&self) {
        if let Some(path) = &self.options.preferences
            && let Err(error) = self.preferences.save(path)
        {
            log::warn!("{}: {error}; preferences are not kept", path.display());
        }
    }

    /// What the menu is drawn from.
    pub(in crate::app) fn menu_look(&self) -> MenuLook<'_> {
        let (theme, edited) = (self.options.theme.unwrap_or(self.preferences.theme), self.edited());
        let session = self.path.as_deref().or(self.opening.as_deref());
        let named = self.session.title.as_str();
        let title = self.runs.current().map_or("", |r| r.plan.stream.labels().title.as_str());
        let (undo, redo) = (self.undo.undoes(), self.undo.redoes());
        let (back, forward) = (self.history.can_go_back(), self.history.can_go_forward());
        let playing = self.playing.is_some();
        MenuLook {
            playing,
            preferences: &self.preferences,
            theme,
            layout: &self.layout,
            session,
            named,
            edited,
            title,
            undo,
            redo,
            back,
            forward,
        }
    }

    /// Asks for a path, in a dialog of the system; `name` is what a new file would be called.
    pub(in crate::app) fn pick(&mut self, purpose: Purpose, name: String) {
        if self.options.own_dialogs {
            self.ask_path(purpose, None);
        } else {
            self.jobs.pick(purpose, name);
        }
    }

    /// Asks for a path in a field of our own, for systems without file dialogs and for those who would rather type; `note` is said over it.
    pub(in crate::app) fn ask_path(&mut self, purpose: Purpose, note: Option<String>) {
        let path = self.path.as_deref().and_then(|path| match purpose {
            Purpose::Open => Some(path.to_owned()),
            Purpose::SaveSession if super::files::is_session(path) => Some(path.to_owned()),
            // Beside a capture, not over it.
            Purpose::SaveSession => Some(path.with_extension("ron")),
            Purpose::SavedTrace => Some(path.with_extension(saved::EXTENSION)),
            _ => None,
        });
        let text = path.map_or_else(String::new, |path| path.display().to_string());
        self.dialogs.push(Dialog::Path { purpose, text, note });
    }

    /// What a new file of this kind would be called.
    pub(in crate::app) fn suggested(&self, extension: &str) -> String {
        format!("{}.{extension}", self.stem())
    }

    /// The session's file without its extension; `session` where it has no file.
    pub(in crate::app) fn stem(&self) -> Cow<'_, str> {
        self.path.as_deref().and_then(Path::file_stem).map_or_else(|| "session".into(), std::ffi::OsStr::to_string_lossy)
    }
}

/// For an act that changes a panel's size: whether it is the width, and whether there is to be more of it.
fn size_of(act: PanelAct) -> Option<(bool, bool)> {
    match act {
        PanelAct::Wider => Some((true, true)),
        PanelAct::Narrower => Some((true, false)),
        PanelAct::Taller => Some((false, true)),
        PanelAct::Lower => Some((false, false)),
        _ => None,
    }
}

/// What a panel is called on its tab.
fn panel_title(name: &str) -> &str {
    entry(name).map_or(name, |p| p.title)
}
