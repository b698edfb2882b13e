//! The tabs and canvases that the panels of the centre are drawn in: titles, help, buttons, a menu.

use eframe::egui::{self, Color32, Frame, Id, Margin, Painter, Popup, Rect, Stroke, Ui, Visuals, WidgetText, vec2};
use egui_tiles::{Behavior, EditAction, SimplificationOptions, TabState, Tabs, TileId, Tiles, UiResponse};

use crate::app::command::{Command, PanelAct, PictureAct, WindowCommand};
use crate::app::icon::{self, Icon};
use crate::app::layout::{Pane, Panels, draw, entry};
use crate::app::{focus, sizes, theme};
use crate::panel::{Look, PanelEntry};

/// What the menu of a tab offers.
const ACTS: [(&str, PanelAct); 9] = [
    ("Maximise", PanelAct::Maximise),
    ("Split right", PanelAct::SplitRight),
    ("Split down", PanelAct::SplitDown),
    ("Wider", PanelAct::Wider),
    ("Narrower", PanelAct::Narrower),
    ("Taller", PanelAct::Taller),
    ("Shorter", PanelAct::Lower),
    ("Own window", PanelAct::Detach),
    ("Close", PanelAct::Close),
];

/// What the tree asks of us while it is drawn.
pub(super) struct Centre<'a, 'b> {
    pub panels: &'a mut Panels,
    pub look: &'a Look<'b>,
    pub commands: &'a mut Vec<Command>,
    pub maximised: &'a mut Option<&'static str>,
    pub used: &'a mut Option<&'static str>,
    pub under: &'a mut Option<&'static str>,
    /// True if another widget has the focus than in the last frame.
    pub focus_moved: bool,
    /// Set when a tile that was dragged is dropped at another place.
    pub dropped: bool,
}

impl Centre<'_, '_> {
    /// A maximised panel under a bar of its own.
    pub fn alone(&mut self, ui: &mut Ui, name: &'static str) {
        let Some(entry) = entry(name) else {
            *self.maximised = None;
            return;
        };
        ui.horizontal(|ui| {
            ui.add_space(8.0);
            ui.strong(entry.title);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.add_space(6.0);
                if small(ui, Icon::Restore, &format!("Restore {}", entry.title)).on_hover_text("Back among the others").clicked() {
                    *self.maximised = None;
                }
                help(ui, entry);
            });
        });
        self.pane(ui, entry);
    }

    fn pane(&mut self, ui: &mut Ui, entry: &'static PanelEntry) {
        let rect = ui.max_rect();
        if ui.rect_contains_pointer(rect) {
            *self.under = Some(entry.name);
            if ui.input(|i| i.pointer.any_pressed()) {
                *self.used = Some(entry.name);
            }
        } else if self.focus_moved && focus::is_in(ui, rect) {
            *self.used = Some(entry.name);
        }
        pane(self.panels, ui, entry, self.look, self.commands);
    }

    fn ask(&mut self, name: &'static str, act: PanelAct) {
        self.commands.push(WindowCommand::Panel { name: Some(name), act }.into());
    }
}

/// Where it is kept how large a panel was on screen, in points.
pub(super) fn size_id(name: &str) -> Id {
    Id::unique(("size of panel", name))
}

/// A panel on its canvas.
pub(super) fn pane(panels: &mut Panels, ui: &mut Ui, entry: &'static PanelEntry, look: &Look<'_>, commands: &mut Vec<Command>) {
    let fill = theme::canvas(ui.visuals().dark_mode);
    let size = ui.available_size();
    ui.data_mut(|data| data.insert_temp(size_id(entry.name), size));
    Frame::new().fill(fill).inner_margin(Margin { left: 6, right: 6, top: 4, bottom: 4 }).show(ui, |ui| {
        ui.set_min_size(ui.available_size());
        // What is drawn for a larger cell than there is does not lie over the neighbours.
        ui.set_clip_rect(ui.clip_rect().intersect(ui.max_rect().expand(4.0)));
        draw(panels, entry, ui, look, commands);
    });
}

/// Marks the tab of the panel that keys act on: a line along its top.
fn mark(tab: &egui::Response) {
    let colour = theme::accent(tab.ctx.global_style().visuals.dark_mode);
    // Where the tab is cut off, so is the line.
    let painter = Painter::new(tab.ctx.clone(), tab.layer_id, tab.interact_rect);
    painter.hline(tab.rect.x_range(), tab.rect.top() + 1.0, Stroke::new(2.0, colour));
}

/// A small button of a panel's bar.
pub(super) fn small(ui: &mut Ui, icon: Icon, name: &str) -> egui::Response {
    icon::sized(ui, icon, name, false, vec2(20.0, 18.0))
}

/// The `?` of a panel: its help on hover, and on a click for as long as it is wanted.
pub(super) fn help(ui: &mut Ui, entry: &PanelEntry) {
    let response = small(ui, Icon::Help, &format!("About {}", entry.title));
    let popup = Popup::from_toggle_button_response(&response).width(340.0).accessible_name(format!("Help on {}", entry.title));
    let shown = popup.show(|ui| {
        ui.strong(entry.title);
        ui.label(entry.help);
    });
    if shown.is_none() {
        response.on_hover_text(entry.help);
    }
}

impl Behavior<Pane> for Centre<'_, '_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        if let Some(entry) = entry(&pane.0) {
            self.pane(ui, entry);
        }
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        entry(&pane.0).map_or_else(|| pane.0.clone(), |e| e.title.to_owned()).into()
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<Pane>, tile: TileId, response: egui::Response) -> egui::Response {
        let Some(entry) = tiles.get_pane(&tile).and_then(|pane| entry(&pane.0)) else { return response };
        if response.middle_clicked() {
            self.ask(entry.name, PanelAct::Close);
        } else if response.clicked() || response.secondary_clicked() || response.drag_started() {
            *self.used = Some(entry.name);
        }
        if *self.used == Some(entry.name) {
            mark(&response);
        }
        response.context_menu(|ui| {
            for (title, act) in ACTS {
                if ui.button(title).clicked() {
                    self.ask(entry.name, act);
                    ui.close();
                }
            }
            ui.separator();
            for (title, act) in [
                ("Copy picture", PictureAct::CopyPanel(Some(entry.name))),
                ("Export as PNG or SVG…", PictureAct::ExportPanel(Some(entry.name))),
                ("Export animation…", PictureAct::Animate(Some(entry.name))),
            ] {
                if ui.button(title).clicked() {
                    self.commands.push(WindowCommand::Picture(act).into());
                    ui.close();
                }
            }
        });
        response
    }

    fn retain_pane(&mut self, pane: &Pane) -> bool {
        entry(&pane.0).is_some()
    }

    fn top_bar_right_ui(&mut self, tiles: &Tiles<Pane>, ui: &mut Ui, _id: TileId, tabs: &Tabs, _scroll: &mut f32) {
        let active = tabs.active.and_then(|id| tiles.get_pane(&id)).and_then(|pane| entry(&pane.0));
        if let Some(entry) = active {
            ui.add_space(4.0);
            if small(ui, Icon::Close, &format!("Close {}", entry.title)).on_hover_text("Close; View shows it again").clicked() {
                self.ask(entry.name, PanelAct::Close);
            }
            if small(ui, Icon::Maximise, &format!("Maximise {}", entry.title)).on_hover_text("Fill the centre").clicked() {
                *self.maximised = Some(entry.name);
                *self.used = Some(entry.name);
            }
            help(ui, entry);
        }
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        sizes::GAP
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        24.0
    }

    fn min_size(&self) -> f32 {
        sizes::LEAST
    }

    /// Borders are drawn over the tiles, with names and keys: [`crate::app::borders`].
    fn is_container_resizable(&self, _tiles: &Tiles<Pane>, _tile: TileId) -> bool {
        false
    }

    fn on_edit(&mut self, action: EditAction) {
        self.dropped |= action == EditAction::TileDropped;
    }

    fn tab_bar_color(&self, visuals: &Visuals) -> Color32 {
        visuals.panel_fill
    }

    fn tab_bg_color(&self, visuals: &Visuals, _tiles: &Tiles<Pane>, _tile: TileId, state: &TabState) -> Color32 {
        if state.active { theme::canvas(visuals.dark_mode) } else { Color32::TRANSPARENT }
    }

    fn tab_outline_stroke(&self, _visuals: &Visuals, _tiles: &Tiles<Pane>, _tile: TileId, _state: &TabState) -> Stroke {
        Stroke::NONE
    }

    fn tab_bar_hline_stroke(&self, _visuals: &Visuals) -> Stroke {
        Stroke::NONE
    }

    fn tab_text_color(&self, visuals: &Visuals, _tiles: &Tiles<Pane>, _tile: TileId, state: &TabState) -> Color32 {
        if state.active { visuals.strong_text_color() } else { visuals.weak_text_color() }
    }

    fn paint_on_top_of_tile(&self, _painter: &egui::Painter, _style: &egui::Style, _tile: TileId, _rect: Rect) {}
}
