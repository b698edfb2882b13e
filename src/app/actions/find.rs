//! Going to events, holding moments, and writing lists of events to files.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::app::App;
use crate::app::command::TimeCommand;
use crate::app::jobs::{Done, Purpose};
use crate::app::study::events::subject;
use crate::metric::events::HeadsShown;
use crate::panel::Pin;
use crate::session::plan::Plan;

impl App {
    /// The heads that are shown, counted as in the plan's stream.
    fn heads_shown(&self, plan: &Plan) -> HeadsShown {
        HeadsShown::of(&plan.stream, &self.session.view)
    }

    /// Runs to the next event of the filter, or the one before, and selects what it is about.
    pub(super) fn find_event(&mut self, forwards: bool) -> bool {
        let Some(run) = self.runs.current() else { return false };
        let heads = self.heads_shown(&run.plan);
        let writes = self.timeline.writes();
        let Some((hit, event)) = self.studies.events.find(&run.plan, &run.traces, heads, writes, run.reached, forwards) else {
            let side = if forwards { "after" } else { "before" };
            self.notice = Some(format!("No event of the filter {side} write {writes}"));
            return true;
        };
        let about = subject(usize::from(hit.lane), &event, run.plan.step);
        self.history.leave(&self.selection, self.timeline.wanted());
        self.studies.events.go(hit);
        self.timeline.command(TimeCommand::Seek(event.seen));
        self.selection.choose(about);
        self.notice = None;
        true
    }

    /// Holds the moment at the playhead beside the current one, or lets go of what is held.
    pub(super) fn pin_here(&mut self) {
        self.selection.pin = match self.selection.pin {
            Some(_) => None,
            None => Some(Pin::Moment(self.timeline.writes())),
        };
    }

    /// Writes the events that are listed to a file.
    pub(super) fn export_events(&mut self, path: PathBuf) {
        let found = self.runs.current().and_then(|run| {
            let heads = self.heads_shown(&run.plan);
            let (listing, shown) = self.studies.events.list(&run.plan, heads)?;
            Some((run, heads, Arc::clone(listing), shown.places.clone()))
        });
        let Some((run, heads, listing, places)) = found else {
            self.dialogs
                .error("Export the events: not written", "The events are not listed yet; open the panel Events, and wait for its list.");
            return;
        };
        let (plan, traces, criteria) = (Arc::clone(&run.plan), Arc::clone(&run.traces), self.studies.events.filter().criteria.clone());
        self.jobs.run(move || {
            let hits = places.iter().map(|p| listing.hits[*p as usize]);
            let result = crate::export::events::write(&path, &plan, &traces, heads, &criteria, hits);
            Done::Written { purpose: Purpose::Events, path, result: result.map(|()| Vec::new()).map_err(|e| e.to_string()) }
        });
    }
}
