//! The events of the run on screen: which are wanted, how many there are, the list of them, and the one that was gone to last.
//!
//! Counting and listing go through every number of the trace, so they run in the background, once the run is over; going to the
//! next event needs neither and works at once.

use std::sync::{Arc, Weak};

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::metric::events::{Criteria, Event, EventKind, From, HeadsShown, Hit, LaneEvents, Place, next, previous};
use crate::panel::Subject;
use crate::session::plan::Plan;
use crate::trace::LaneTrace;

/// The most events that are listed; more are counted.
pub const LISTED: usize = 2_000_000;

/// The most stretches of the stream in which the density of events is counted: as many as there are steps, if those are fewer.
pub const STRETCHES: usize = 512;

/// Which events are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// By kind, in the order of [`EventKind::ALL`].
    pub kinds: [bool; 8],
    /// Lanes, by their number in the plan, whose events are left out.
    pub without: Vec<usize>,
    /// From where on something is an event.
    pub criteria: Criteria,
}

impl Default for Filter {
    fn default() -> Self {
        Self { kinds: [true; 8], without: Vec::new(), criteria: Criteria::default() }
    }
}

impl Filter {
    /// True for a kind that is wanted.
    #[must_use]
    pub fn wants(&self, kind: EventKind) -> bool {
        self.kinds[kind as usize]
    }

    /// True for a lane whose events are wanted.
    #[must_use]
    pub fn wants_lane(&self, lane: usize) -> bool {
        !self.without.contains(&lane)
    }
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// List the events of these heads of the run on screen. Begins once the run is over.
    List(HeadsShown),
    /// Other events are wanted.
    Filter(Filter),
    /// This event was gone to.
    At(Hit),
}

/// Every event of a run, in order, and how many there are.
#[derive(Debug, Default)]
pub struct Listing {
    /// The events, the first [`LISTED`] of each scan's share.
    pub hits: Vec<Hit>,
    /// The kind of each lane's scans.
    pub kinds: Vec<Vec<EventKind>>,
    /// How many there are, by lane and kind.
    pub counts: Vec<[usize; 8]>,
    /// How many of them are seen in each of equal stretches of the stream, by lane, kind and stretch: of all, listed or not.
    pub density: Vec<[Vec<u32>; 8]>,
}

impl Listing {
    /// The kind of an event.
    #[must_use]
    pub fn kind(&self, hit: Hit) -> EventKind {
        self.kinds[usize::from(hit.lane)][usize::from(hit.scan)]
    }

    /// True if not all are listed.
    #[must_use]
    pub fn cut(&self) -> bool {
        self.counts.iter().flatten().sum::<usize>() > self.hits.len()
    }

    /// How many of a kind there are in the lanes that are wanted.
    #[must_use]
    pub fn of_kind(&self, kind: EventKind, filter: &Filter) -> usize {
        self.counts.iter().enumerate().filter(|(lane, _)| filter.wants_lane(*lane)).map(|(_, c)| c[kind as usize]).sum()
    }

    /// How many of a lane there are of the kinds that are wanted.
    #[must_use]
    pub fn of_lane(&self, lane: usize, filter: &Filter) -> usize {
        let counts = self.counts.get(lane).copied().unwrap_or_default();
        counts.iter().zip(filter.kinds).filter(|(_, wanted)| *wanted).map(|(n, _)| n).sum()
    }
}

/// The events that pass the filter.
#[derive(Debug, Default)]
pub struct Shown {
    /// Their places in [`Listing::hits`], ascending.
    pub places: Vec<u32>,
    /// How many there are of each kind in each stretch of the stream, by kind.
    pub density: Vec<Vec<u32>>,
    /// Counts the lists of the window: pictures are kept under it.
    pub number: u64,
}

enum Told {
    Listed(Arc<Listing>),
    Shown(Shown),
}

/// What a list is of.
#[derive(Debug)]
struct Of {
    plan: Weak<Plan>,
    heads: HeadsShown,
    criteria: Criteria,
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    filter: Filter,
    of: Option<Of>,
    listing: Option<Arc<Listing>>,
    shown: Option<Shown>,
    at: Option<Hit>,
    work: Option<Work<Told>>,
    number: u64,
    /// The names of the lanes that were listed last.
    lanes: Vec<String>,
}

impl Study {
    /// Which events are wanted.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The event that was gone to last.
    #[must_use]
    pub fn at(&self) -> Option<Hit> {
        self.at
    }

    /// This event was gone to.
    pub fn go(&mut self, hit: Hit) {
        self.at = Some(hit);
    }

    /// True if what was listed, or is being listed, is of this plan and these heads.
    #[must_use]
    pub fn is_of(&self, plan: &Arc<Plan>, heads: HeadsShown) -> bool {
        self.of.as_ref().is_some_and(|of| Weak::as_ptr(&of.plan) == Arc::as_ptr(plan) && of.heads == heads)
    }

    /// Every event, and those that pass the filter, of this plan and these heads; `None` while they are sought.
    #[must_use]
    pub fn list(&self, plan: &Arc<Plan>, heads: HeadsShown) -> Option<(&Arc<Listing>, &Shown)> {
        self.listing.as_ref().zip(self.shown.as_ref()).filter(|_| self.is_of(plan, heads))
    }

    /// True while it looks for events.
    #[must_use]
    pub fn running(&self) -> bool {
        self.work.as_ref().is_some_and(Work::running)
    }

    /// How far it is, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f32 {
        self.work.as_ref().map_or(0.0, Work::share)
    }

    /// Takes in what has been found; true if there is news.
    pub fn receive(&mut self) -> bool {
        let Some(work) = &mut self.work else { return false };
        let (told, news) = work.receive();
        for told in told {
            match told {
                Told::Listed(listing) => (self.listing, self.shown) = (Some(listing), None),
                Told::Shown(shown) => self.shown = Some(shown),
            }
        }
        news
    }

    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        match ask {
            Ask::At(hit) => self.go(hit),
            // Traces of a run that goes on are written to: holding them here would have each block copy them.
            Ask::List(heads) => {
                if let Some(run) = runs.current().filter(|r| r.ended) {
                    self.start(&run.plan, &run.traces, heads, wake);
                }
            }
            Ask::Filter(filter) => {
                self.filter = filter;
                let heads = self.of.as_ref().map(|of| of.heads);
                if let (Some(run), Some(heads)) = (runs.current().filter(|r| r.ended), heads) {
                    self.start(&run.plan, &run.traces, heads, wake);
                }
            }
        }
    }

    /// Begins to list the events of a run that is over; what was sought before is given up.
    pub fn start(&mut self, plan: &Arc<Plan>, traces: &Arc<Vec<LaneTrace>>, heads: HeadsShown, wake: &Wake) {
        let same = self.is_of(plan, heads) && self.of.as_ref().is_some_and(|of| of.criteria == self.filter.criteria);
        if !same {
            self.listing = None;
        }
        if self.of.is_some() && !self.is_of(plan, heads) {
            self.at = None;
        }
        let names: Vec<String> = plan.lanes.iter().map(|l| l.name.clone()).collect();
        if names != self.lanes {
            // Lanes are left out by number: those of other lanes mean nothing.
            if !self.lanes.is_empty() {
                self.filter.without.clear();
            }
            self.lanes = names;
        }
        self.shown = self.shown.take().filter(|_| same);
        let criteria = self.filter.criteria.clone();
        self.of = Some(Of { plan: Arc::downgrade(plan), heads, criteria });
        self.number += 1;
        let (plan, traces, filter, listed, number) =
            (Arc::clone(plan), Arc::clone(traces), self.filter.clone(), self.listing.clone(), self.number);
        self.work = Some(Work::start("events", wake, move |teller| {
            let listing = if let Some(listing) = listed {
                listing
            } else {
                let Some(listing) = list(&plan, &traces, heads, &filter.criteria, teller) else { return Ok(()) };
                let listing = Arc::new(listing);
                teller.part(Told::Listed(Arc::clone(&listing)));
                listing
            };
            teller.part(Told::Shown(Shown { number, ..show(&listing, &filter, plan.steps().clamp(1, STRETCHES)) }));
            Ok(())
        }));
    }

    /// With other events wanted, for tests and for windows without a run.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// The next event that passes the filter, or the one before, as seen from the boundary `writes` of the timeline: after the one
    /// that was gone to last, where that is seen from there. Those beyond `reached` are not computed yet.
    #[must_use]
    pub fn find(
        &self,
        plan: &Arc<Plan>,
        traces: &[LaneTrace],
        heads: HeadsShown,
        writes: usize,
        reached: usize,
        forwards: bool,
    ) -> Option<(Hit, Event)> {
        let wanted = (0..plan.lanes.len().min(traces.len())).filter(|l| self.filter.wants_lane(*l));
        let lanes: Vec<LaneEvents<'_>> = wanted.map(|l| LaneEvents::new(plan, l, &traces[l], heads, &self.filter.criteria)).collect();
        let of = |hit: Hit| lanes.iter().find(|l| l.number() == usize::from(hit.lane));
        let from = match self.at.filter(|at| at.seen as usize == writes) {
            Some(at) => From::Hit(at),
            None if forwards => From::Moment(writes),
            // What is seen from the playhead itself lies behind it.
            None => From::Moment(writes + 1),
        };
        // A list that is being made anew is still that of the filter before.
        let hit = match self.list(plan, heads).filter(|(listing, _)| !listing.cut() && !self.running()) {
            Some((listing, shown)) => found(listing, shown, from, forwards),
            None if forwards => next(&lanes, from, |k| self.filter.wants(k)),
            None => previous(&lanes, from, |k| self.filter.wants(k)),
        };
        let hit = hit.filter(|h| h.seen as usize <= reached)?;
        Some((hit, of(hit)?.event(hit)?))
    }
}

/// What an event is about, for the selection; `step` is how many writes a step of the timeline has.
#[must_use]
pub fn subject(lane: usize, event: &Event, step: usize) -> Subject {
    match (event.kind, event.place, event.write) {
        (EventKind::Admission | EventKind::Eviction, _, Some(write)) => Subject::Slot { lane, write },
        (_, _, Some(write)) | (_, Place::Write(write), None) => Subject::Token(write),
        (_, Place::Read(read), None) => Subject::Read(read),
        (_, Place::Chunk(_), None) => Subject::Step(event.seen.div_ceil(step.max(1)).saturating_sub(1)),
    }
}

/// The neighbour of `from` among the events shown.
fn found(listing: &Listing, shown: &Shown, from: From, forwards: bool) -> Option<Hit> {
    let hit = |place: &u32| listing.hits[*place as usize];
    let after = |h: Hit| match from {
        From::Moment(writes) => h.seen as usize > writes,
        From::Hit(at) => h > at,
    };
    let not_before = |h: Hit| match from {
        From::Moment(writes) => h.seen as usize >= writes,
        From::Hit(at) => h >= at,
    };
    if forwards {
        shown.places.get(shown.places.partition_point(|p| !after(hit(p)))).map(hit)
    } else {
        shown.places.partition_point(|p| !not_before(hit(p))).checked_sub(1).map(|at| hit(&shown.places[at]))
    }
}

fn list(plan: &Plan, traces: &[LaneTrace], heads: HeadsShown, criteria: &Criteria, teller: &Teller<Told>) -> Option<Listing> {
    let lanes: Vec<LaneEvents<'_>> = traces.iter().enumerate().map(|(l, trace)| LaneEvents::new(plan, l, trace, heads, criteria)).collect();
    let all: usize = lanes.iter().map(LaneEvents::scans).sum();
    let (writes, stretches) = (plan.stream.writes(), plan.steps().clamp(1, STRETCHES));
    let none = || std::array::from_fn(|_| vec![0; stretches]);
    let mut listing =
        Listing { counts: vec![[0; 8]; lanes.len()], density: (0..lanes.len()).map(|_| none()).collect(), ..Listing::default() };
    let mut done = 0;
    for (index, lane) in lanes.iter().enumerate() {
        listing.kinds.push((0..lane.scans()).map(|s| lane.kind(s)).collect());
        for scan in 0..lane.scans() {
            if teller.cancelled() {
                return None;
            }
            // A threshold may be crossed everywhere: no one scan takes the room of all.
            let room = listing.hits.len() + (LISTED - listing.hits.len().min(LISTED)) / (all - done);
            let mut count = 0;
            for hit in lane.forwards(scan, 0) {
                count += 1;
                listing.density[index][lane.kind(scan) as usize][stretch(hit, writes, stretches)] += 1;
                if listing.hits.len() < room {
                    listing.hits.push(hit);
                }
            }
            listing.counts[index][lane.kind(scan) as usize] += count;
            done += 1;
            teller.share(done as f32 / all as f32);
        }
    }
    listing.hits.sort_unstable();
    Some(listing)
}

fn show(listing: &Listing, filter: &Filter, stretches: usize) -> Shown {
    let mut shown = Shown { density: vec![vec![0; stretches]; EventKind::ALL.len()], ..Shown::default() };
    for (place, hit) in listing.hits.iter().enumerate() {
        let kind = listing.kind(*hit);
        if filter.wants(kind) && filter.wants_lane(usize::from(hit.lane)) {
            shown.places.push(place as u32);
        }
    }
    for (_, kinds) in listing.density.iter().enumerate().filter(|(lane, _)| filter.wants_lane(*lane)) {
        for kind in EventKind::ALL.into_iter().filter(|k| filter.wants(*k)) {
            shown.density[kind as usize].iter_mut().zip(&kinds[kind as usize]).for_each(|(sum, n)| *sum += n);
        }
    }
    shown
}

/// The stretch of the stream in which an event is seen.
fn stretch(hit: Hit, writes: usize, stretches: usize) -> usize {
    ((hit.seen as usize).saturating_sub(1) * stretches / writes.max(1)).min(stretches - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(seen: u32, lane: u16, item: u32) -> Hit {
        Hit { seen, lane, scan: lane, item, component: 0 }
    }

    /// Two lanes: lane 0 has founders, lane 1 (scan 1) admissions.
    fn listing() -> Listing {
        let kinds = vec![EventKind::Founder, EventKind::Admission];
        let hits = vec![hit(64, 0, 3), hit(64, 1, 0), hit(64, 1, 1), hit(128, 0, 70)];
        let mut density: Vec<[Vec<u32>; 8]> = (0..2).map(|_| std::array::from_fn(|_| vec![0; STRETCHES])).collect();
        for h in &hits {
            let kind = kinds[usize::from(h.scan)] as usize;
            density[usize::from(h.lane)][kind][stretch(*h, 128, STRETCHES)] += 1;
        }
        let counts = vec![[2, 0, 0, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0, 0, 0]];
        Listing { hits, kinds: vec![kinds.clone(), kinds], counts, density }
    }

    #[test]
    fn what_is_shown_is_what_the_filter_wants_and_the_counts_say_what_there_would_be() {
        let listing = listing();
        let all = show(&listing, &Filter::default(), STRETCHES);
        assert_eq!(all.places, [0, 1, 2, 3]);
        // 64 of 128 writes are the first half: (64 - 1) * 512 / 128 = 252; the end is the last stretch.
        let founders = &all.density[EventKind::Founder as usize];
        assert_eq!((founders[252], founders[508], founders.iter().sum::<u32>()), (1, 1, 2));
        let mut filter = Filter { without: vec![0], ..Filter::default() };
        assert_eq!(show(&listing, &filter, STRETCHES).places, [1, 2]);
        assert_eq!((listing.of_kind(EventKind::Founder, &filter), listing.of_kind(EventKind::Admission, &filter)), (0, 2));
        filter = Filter { kinds: [true, false, false, false, false, false, false, false], ..Filter::default() };
        assert_eq!(show(&listing, &filter, STRETCHES).places, [0, 3]);
        assert_eq!((listing.of_lane(0, &filter), listing.of_lane(1, &filter)), (2, 0));
        assert!(!listing.cut());
    }

    #[test]
    fn the_list_is_gone_through_in_both_directions() {
        let listing = listing();
        let shown = show(&listing, &Filter::default(), STRETCHES);
        let go = |from, forwards| found(&listing, &shown, from, forwards);
        assert_eq!(go(From::Moment(0), true), Some(hit(64, 0, 3)));
        assert_eq!(go(From::Hit(hit(64, 0, 3)), true), Some(hit(64, 1, 0)));
        assert_eq!(go(From::Moment(64), true), Some(hit(128, 0, 70)));
        assert_eq!(go(From::Hit(hit(128, 0, 70)), true), None);
        assert_eq!(go(From::Hit(hit(128, 0, 70)), false), Some(hit(64, 1, 1)));
        assert_eq!(go(From::Moment(128), false), Some(hit(64, 1, 1)));
        assert_eq!(go(From::Moment(64), false), None);
        assert_eq!(go(From::Moment(128 + 1), false), Some(hit(128, 0, 70)), "as from the playhead at the end, nothing gone to before");
    }
}
