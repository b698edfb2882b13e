//! Commands that change what runs.

use std::path::{Path, PathBuf};

use super::undo;
use crate::app::app::App;
use crate::app::bookmarks;
use crate::app::command::{LaneCommand, SessionCommand};
use crate::param::{ParamValue, Params};
use crate::session::plan::check_names;
use crate::session::{LaneSpec, MAX_LANES, Source, lanes};

impl App {
    /// Has the session as set checked and, if it can, run.
    pub(in crate::app) fn replan(&mut self) {
        self.ticket += 1;
        self.planning = true;
        self.jobs.plan(self.ticket, self.session.clone(), self.base());
    }

    /// The folder that the session's paths are relative to.
    pub(in crate::app) fn base(&self) -> Option<PathBuf> {
        self.path.as_deref().and_then(Path::parent).map(Path::to_owned)
    }

    /// Where a lane of the run on screen stands in the session as it is set by now: others may have come before it.
    fn as_set(&self, lane: usize) -> usize {
        let shown = self.runs.current().and_then(|run| run.plan.lanes.iter().find(|l| l.index == lane));
        shown.and_then(|shown| self.session.lanes.iter().position(|l| l.name == shown.name)).unwrap_or(lane)
    }

    pub(in crate::app) fn session_command(&mut self, command: SessionCommand) -> bool {
        if self.opening.is_some() {
            return false;
        }
        let command = match command {
            SessionCommand::Hand { lane, hand } => SessionCommand::Hand { lane: self.as_set(lane), hand },
            SessionCommand::ShownLaneOff { lane } => SessionCommand::LaneEnabled { lane: self.as_set(lane), enabled: false },
            other => other,
        };
        // A colour is no number, and neither is a note: the run on screen is shown with it as it is.
        let same_run = matches!(command, SessionCommand::Lane(LaneCommand::Recolour { .. }) | SessionCommand::Notes(_));
        let again = matches!(command, SessionCommand::Reset);
        let (title, thing) = undo::title(&command, &self.session, self.removed.as_ref().map(|(_, lane)| lane));
        let was = self.before();
        let session = &mut self.session;
        let before = session.clone();
        match command {
            SessionCommand::Source(source) => session.take_source(source),
            SessionCommand::Lanes(lanes) => session.lanes = lanes,
            // The lanes are those of this source: nothing of them is changed for it.
            SessionCommand::Whole { source, seed, lanes } => (session.source, session.seed, session.lanes) = (source, seed, lanes),
            SessionCommand::Lane(command) => edit_lanes(&mut session.lanes, &mut self.removed, command),
            SessionCommand::LaneParam { lane, name, value } => {
                if let Some(lane) = session.lanes.get_mut(lane) {
                    set(&mut lane.params, name, value);
                }
            }
            SessionCommand::TaskParam { name, value } => {
                if let Source::Task(task) = &mut session.source {
                    set(&mut task.params, name, value);
                }
            }
            SessionCommand::Notes(command) => bookmarks::edit(session, command),
            SessionCommand::Hand { lane, hand } => match lanes::branch(&mut session.lanes, lane, hand) {
                Some(at) => self.notice = Some(format!("{} is a branch of {}", session.lanes[at].name, session.lanes[lane].name)),
                None => self.notice = Some(format!("{MAX_LANES} lanes run already, and a branch is one more: switch one off first")),
            },
            SessionCommand::LaneEnabled { lane, enabled } => lanes::enable(&mut session.lanes, lane, enabled),
            // It has become the one before by now.
            SessionCommand::ShownLaneOff { lane } => lanes::enable(&mut session.lanes, lane, false),
            SessionCommand::Backend(backend) => session.backend = backend,
            SessionCommand::Seed(seed) => session.seed = seed,
            SessionCommand::NewSeed => session.seed = session.seed.wrapping_add(1),
            SessionCommand::Reset => {}
        }
        let changed = *session != before || again;
        if changed {
            self.record(title, was, thing);
            if !same_run {
                self.replan();
            }
        }
        changed
    }
}

/// Carries out an edit to the list of lanes; `removed` is the lane that was taken out last and its place.
fn edit_lanes(all: &mut Vec<LaneSpec>, removed: &mut Option<(usize, LaneSpec)>, command: LaneCommand) {
    match command {
        LaneCommand::Add(layer) => {
            if let Some(kind) = crate::layer::kind(layer) {
                lanes::add(all, kind);
            }
        }
        LaneCommand::Duplicate(lane) => lanes::duplicate(all, lane),
        LaneCommand::Rename { lane, name } => {
            let mut renamed = all.clone();
            if let Some(spec) = renamed.get_mut(lane) {
                spec.name = name;
            }
            if check_names(&renamed).is_ok() {
                *all = renamed;
            }
        }
        LaneCommand::Remove(lane) => {
            if let Some(spec) = lanes::remove(all, lane) {
                *removed = Some((lane, spec));
            }
        }
        LaneCommand::PutBack => {
            if let Some((at, spec)) = removed.take() {
                lanes::put_back(all, at, spec);
            }
        }
        LaneCommand::Move { from, to } => lanes::shift(all, from, to),
        LaneCommand::Recolour { lane, place } => lanes::recolour(all, lane, place),
        LaneCommand::Weights { lane, path } => {
            if let Some(spec) = all.get_mut(lane) {
                spec.weights = path;
            }
        }
        LaneCommand::RemoveHand { lane, hand } => {
            if let Some(spec) = all.get_mut(lane).filter(|spec| hand < spec.hands.len()) {
                spec.hands.remove(hand);
            }
        }
    }
}

fn set(params: &mut Params, name: &str, value: Option<ParamValue>) {
    match value {
        Some(value) => params.set(name, value),
        None => {
            params.0.remove(name);
        }
    }
}
