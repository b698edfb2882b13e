//! Painting the window: bars and side panels around the panels of the centre.

use std::sync::Arc;

use eframe::egui::{CentralPanel, Frame, Margin, Panel, Rect, Ui};

use crate::app::app::App;
use crate::app::command::Command;
use crate::app::inspector::Inspector;
use crate::app::layout::PanelLayout;
use crate::app::lesson::strip;
use crate::app::picture::{Subject, figure};
use crate::app::session_panel::{self, SessionLook};
use crate::app::sides::{Side, Sides, rail};
use crate::app::sizes::LEAST;
use crate::app::state::Run;
use crate::app::states::States;
use crate::app::status_bar::{self, Status};
use crate::app::study::Studies;
use crate::app::timeline::Timeline;
use crate::app::timeline_bar::BarLook;
use crate::app::{layout, menu, notices, theme, timeline_bar};
use crate::metric::events::HeadsShown;
use crate::panel::{LaneLook, Look, PANELS, Selection, WindowLane};
use crate::session::Session;
use crate::session::lanes as lane_list;
use crate::session::plan::PlanLane;

/// The lanes of a run as panels see them. Colours are the session's as it is set now: giving a lane another runs nothing again.
pub(super) fn lane_looks<'a>(run: &'a Run, session: &Session, dark: bool, without_times: bool) -> Vec<LaneLook<'a>> {
    let colours = lane_list::colours(&session.lanes);
    let place = |plan: &PlanLane| match session.lanes.get(plan.index) {
        Some(lane) if lane.name == plan.name => colours[plan.index],
        _ => plan.colour,
    };
    let each = run.plan.lanes.iter().zip(run.traces.iter().zip(&run.spent));
    each.map(|(plan, (trace, &spent))| LaneLook {
        plan,
        trace,
        spent: if without_times { (0.0, 0) } else { spent },
        place: place(plan),
        colour: theme::lane_colour(place(plan), dark),
    })
    .collect()
}

/// What panels look at besides a run and its lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub session: &'a Session,
    pub timeline: &'a Timeline,
    pub selection: &'a Selection,
    pub lane: WindowLane<'a>,
    pub studies: &'a Studies,
    pub states: &'a States,
}

impl<'a> Around<'a> {
    /// All that panels look at.
    pub fn look(self, run: &'a Run, lanes: &'a [LaneLook<'a>]) -> Look<'a> {
        let Self { session, timeline, selection, lane, studies, states } = self;
        let heads = HeadsShown::of(&run.plan.stream, &session.view);
        Look {
            plan: &run.plan,
            session,
            lanes,
            writes: timeline.writes(),
            reached: run.reached,
            kv_head: heads.kv,
            query_head: heads.query,
            selection,
            lane,
            studies,
            states,
        }
    }
}

impl App {
    #[allow(
        clippy::too_many_lines,
        reason = "bars and sides in the order in which they take their room; all borrow the same parts of the window"
    )]
    pub(super) fn paint(&mut self, ui: &mut Ui, asked: &mut Vec<Command>) {
        if let Some(alone) = self.alone.clone() {
            self.figure(ui, Subject::Panel(alone.panel), &alone.session, asked);
            return;
        }
        let dark = ui.visuals().dark_mode;
        let surface = |h: i8, v: i8| Frame::new().fill(ui.visuals().panel_fill).inner_margin(Margin::symmetric(h, v));
        let (bar, side, said) = (surface(8, 3), surface(8, 4), surface(12, 6));
        let presenting = self.presenting;
        if !presenting {
            Panel::top("menu").frame(bar).show(ui, |ui| menu::ui(ui, &self.menu_look(), asked));
        }
        if let Some(playing) = &mut self.playing {
            Panel::top("lesson").frame(said).show(ui, |ui| strip::ui(ui, playing, asked));
        }
        if let Some(run) = self.runs.current()
            && notices::strips(ui, run, self.dismissed)
        {
            self.dismissed += 1;
        }
        if !presenting {
            self.paint_status(ui, bar, asked);
        }
        if self.start_page.is_open() {
            let Self { start_page, preferences, .. } = self;
            let ground = Frame::new().fill(ui.visuals().panel_fill);
            CentralPanel::default().frame(ground).show(ui, |ui| start_page.ui(ui, preferences, asked));
            return;
        }
        let width = ui.ctx().content_rect().width();
        let marked = self.playing.as_ref().filter(|p| !p.is_done()).map_or(&[][..], |p| &p.step().show);
        let sides = Sides::lay(&self.preferences, width, marked);
        self.sides = sides;
        let without_times = self.options.without_times;
        let Self {
            session,
            runs,
            timeline,
            selection,
            layout,
            problem,
            layers,
            bar,
            inspector,
            opening,
            studies,
            states,
            removed,
            playing,
            ..
        } = self;
        let plan = runs.current().map(|r| Arc::clone(&r.plan));
        let high = plan.as_ref().map_or(timeline_bar::PLAIN, |plan| bar.height(plan, selection));
        let timeline_at = Panel::bottom("timeline").frame(side).exact_size(high).show(ui, |ui| {
            if let (Some(plan), Some(run)) = (&plan, runs.current()) {
                let heads = HeadsShown::of(&plan.stream, &session.view);
                let bookmarks = &session.bookmarks;
                bar.ui(ui, &BarLook { plan, traces: &run.traces, time: timeline, selection, heads, bookmarks }, asked);
            }
        });
        let timeline_at = timeline_at.response.rect;
        let show_session = sides.is_shown(Side::Session);
        if !presenting && !show_session {
            rail(ui, Side::Session, side, asked);
        }
        let lanes_at = (!presenting && show_session).then(|| {
            Panel::left("session")
                .frame(side)
                .default_size(296.0)
                .size_range(296.0..=440.0)
                .show(ui, |ui| {
                    // While a file is being opened there is no session to set.
                    if opening.is_none() {
                        let removed = removed.as_ref().map(|(_, lane)| lane);
                        let look = SessionLook { session, plan: plan.as_deref(), problem: problem.as_ref(), layers, removed };
                        session_panel::ui(ui, look, asked);
                    }
                })
                .response
                .rect
        });
        let Some(run) = runs.current() else {
            notices::loading(ui, opening.as_deref(), problem.as_ref());
            return;
        };
        let lanes = lane_looks(run, session, dark, without_times);
        let (name, asked_for) = (layout.lane().name.map(str::to_owned), layout.lane().asked);
        let lane = WindowLane { name: name.as_deref(), asked: asked_for };
        let look = Around { session, timeline, selection, lane, studies, states }.look(run, &lanes);
        let (mut inspector_at, mut recall_at) = (None, None);
        if sides.is_shown(Side::Inspector) {
            let (at, below) = right(ui, side, (layout, inspector), &look, asked);
            (inspector_at, recall_at) = (Some(at), below);
        } else {
            rail(ui, Side::Inspector, side, asked);
        }
        if let Some(problem) = problem {
            notices::stale(ui, problem);
        }
        let centre = Frame::new().fill(ui.visuals().panel_fill).inner_margin(Margin::same(0));
        CentralPanel::default().frame(centre).show(ui, |ui| layout.ui(ui, &look, asked));
        layout.windows(ui.ctx(), &look, asked);
        if let Some(playing) = playing.as_ref().filter(|p| !p.is_done()) {
            let place = |name: &String| match name.as_str() {
                "timeline" => Some(timeline_at),
                "lanes" => lanes_at,
                "inspector" => inspector_at,
                layout::RECALL => recall_at,
                panel => layout.rect(panel),
            };
            strip::mark(ui.ctx(), playing.step().show.iter().filter_map(place));
        }
    }

    /// The line at the bottom.
    fn paint_status(&self, ui: &mut Ui, bar: Frame, asked: &mut Vec<Command>) {
        Panel::bottom("status").frame(bar).exact_size(22.0).show(ui, |ui| {
            let frame_seconds = (!self.options.without_times).then_some(self.frame_seconds);
            let computing = self.opening.is_some() || self.planning || self.runs.computing();
            let exporting = self.exporting.as_ref().map(|e| e.share);
            let status = Status { run: self.runs.current(), computing, exporting, notice: self.notice.as_deref(), frame_seconds };
            status_bar::ui(ui, status, asked);
        });
    }

    /// Draws one panel with its caption into all of `ui`; nothing before there is a run. `hash` is the session's.
    pub(super) fn figure(&mut self, ui: &mut Ui, subject: Subject, hash: &str, asked: &mut Vec<Command>) {
        let Some(caption) = self.caption(subject, hash) else { return };
        let Self { session, runs, timeline, selection, layout, studies, states, options, .. } = self;
        let (Some(run), Subject::Panel(name)) = (runs.current(), subject) else { return };
        let lanes = lane_looks(run, session, ui.visuals().dark_mode, options.without_times);
        let (window_lane, asked_for) = (layout.lane().name.map(str::to_owned), layout.lane().asked);
        let lane = WindowLane { name: window_lane.as_deref(), asked: asked_for };
        let look = Around { session, timeline, selection, lane, studies, states }.look(run, &lanes);
        figure::ui(ui, name, &caption, layout, &look, asked);
    }
}

/// The right side: the inspector, and recall below it. Where each was drawn.
fn right(
    ui: &mut Ui,
    frame: Frame,
    (layout, inspector): (&mut PanelLayout, &mut Inspector),
    look: &Look<'_>,
    asked: &mut Vec<Command>,
) -> (Rect, Option<Rect>) {
    let shown_large = layout.maximised() == Some(layout::RECALL);
    let mut recall_at = None;
    let side = Panel::right("inspector").frame(frame).default_size(308.0).size_range(240.0..=520.0).show(ui, |ui| {
        if let Some(recall) = PANELS.iter().find(|p| p.name == layout::RECALL && !shown_large) {
            // In a low window recall leaves the inspector some lines.
            let most = (ui.available_height() * 0.66).clamp(LEAST, 600.0);
            let below = Panel::bottom("recall").frame(Frame::NONE).resizable(true).default_size(300.0).size_range(LEAST..=most);
            let below = below.show(ui, |ui| {
                ui.add_space(4.0);
                layout.heading(ui, recall);
                layout.panel(ui, layout::RECALL, look, asked);
            });
            recall_at = Some(below.response.rect);
        }
        CentralPanel::default().frame(Frame::NONE).show(ui, |ui| inspector.ui(ui, look, asked));
    });
    (side.response.rect, recall_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Params;
    use crate::session::hand::{Act, Hand};
    use crate::session::plan::Plan;
    use crate::session::{BackendChoice, LaneSpec, Source, TaskSource};

    /// What each lane that runs is drawn with, by name.
    fn drawn(session: &Session) -> Vec<(String, String)> {
        let run = Run::new(1, Arc::new(Plan::new(session, None).unwrap()));
        let each = lane_looks(&run, session, false, true);
        each.iter().map(|l| (l.plan.name.clone(), format!("{:?} {:?} {:?}", l.colour, l.dash(), l.mark()))).collect()
    }

    #[test]
    fn dashes_and_marks_stay_with_a_lane_as_its_colour_does() {
        let params = Params::default().with("T", 256);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let lane = |name: &str| LaneSpec::new(name, if name == "a" { "linear" } else { "full" }, Params::default());
        let lanes = ["a", "b", "c", "d", "e", "f", "g"].map(lane).into();
        let mut session = Session { source, lanes, backend: BackendChoice::Cpu, ..Session::default() };
        let before = drawn(&session);
        // No two that run are drawn alike, though dashes come again after four.
        assert!(before.iter().enumerate().all(|(i, a)| before[..i].iter().all(|b| a.1 != b.1)));
        let same = |now: &[(String, String)]| now.iter().filter(|(name, _)| name.len() == 1).all(|own| before.contains(own));
        session.lanes[1].enabled = false;
        assert!(drawn(&session).len() == 6 && same(&drawn(&session)), "one goes: {:?}", drawn(&session));
        session.lanes[1].enabled = true;
        lane_list::branch(&mut session.lanes, 0, Hand { step: 1, kv_head: 0, what: Act::Forget });
        let now = drawn(&session);
        assert_eq!((now.len(), now[1].0.as_str()), (8, "a · forget @ 1"));
        assert!(same(&now), "one comes between: {now:?}");
        lane_list::shift(&mut session.lanes, 7, 0);
        assert!(same(&drawn(&session)), "the last is the first");
    }
}
