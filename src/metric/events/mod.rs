//! Events of a run, read from its trace: what a lane founded, kept, lost, nearly chose otherwise or answered wrongly, and where a
//! number is none.
//!
//! Nothing is collected unless asked for: [`LaneEvents`] goes through one lane's trace forwards or backwards from any position,
//! and [`next`] and [`previous`] through several lanes at once.

mod scan;
mod words;

use crate::session::View;
use crate::session::plan::{Plan, PlanLane};
use crate::stream::Stream;
use crate::trace::{Axis, CHOICE_MARGIN, Channel, Heads, Kind, LaneTrace, Tolerance, Width};

use scan::{Scan, Test};

/// The size below which a normaliser is small unless another is asked for: there the epsilon of 1e-6 that is added to it
/// (LAYERS.md, "Baselines") is a hundredth of it.
pub const SMALL_NORMALISER: f64 = 1e-4;

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// A write founded a row of a dictionary.
    Founder,
    /// A pair entered the sparse cache.
    Admission,
    /// A pair was folded from the sparse cache into the state.
    Eviction,
    /// A choice was nearly another: a margin below x.
    Tie,
    /// A real number that is NaN or infinite where the channel does not say that this means "none".
    NotFinite,
    /// A read's normaliser is so small that the epsilon decides.
    SmallNormaliser,
    /// A read's answer is not the right code.
    WrongAnswer,
    /// A number of the chosen channel is beyond the chosen value.
    Threshold,
}

impl EventKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Founder,
        Self::Admission,
        Self::Eviction,
        Self::Tie,
        Self::NotFinite,
        Self::SmallNormaliser,
        Self::WrongAnswer,
        Self::Threshold,
    ];

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Founder => "founder",
            Self::Admission => "admission",
            Self::Eviction => "eviction",
            Self::Tie => "tie",
            Self::NotFinite => "not-finite",
            Self::SmallNormaliser => "small-normaliser",
            Self::WrongAnswer => "wrong-answer",
            Self::Threshold => "threshold",
        }
    }

    /// The name on screen, of several.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Founder => "founders",
            Self::Admission => "admissions",
            Self::Eviction => "evictions",
            Self::Tie => "ties",
            Self::NotFinite => "NaN or infinity",
            Self::SmallNormaliser => "small normalisers",
            Self::WrongAnswer => "wrong answers",
            Self::Threshold => "threshold",
        }
    }
}

/// A threshold on a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The channel's name.
    pub channel: String,
    /// Which number of an entry; nothing: any of them, the first that is beyond counts.
    pub component: Option<usize>,
    /// True: numbers above the value are events; false: those below.
    pub above: bool,
    /// The value.
    pub value: f64,
}

/// From where on something is an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Criteria {
    /// Margins below this are ties.
    pub margin: f64,
    /// Normalisers below this are small.
    pub normaliser: f64,
    /// The threshold, if one is set.
    pub threshold: Option<Threshold>,
}

impl Default for Criteria {
    fn default() -> Self {
        Self { margin: CHOICE_MARGIN, normaliser: SMALL_NORMALISER, threshold: None }
    }
}

/// The heads looked at, counted as in the stream of the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeadsShown {
    /// The key/value head.
    pub kv: usize,
    /// The query head, one that reads it.
    pub query: usize,
}

impl HeadsShown {
    /// The heads of a stream that a session's view shows.
    #[must_use]
    pub fn of(stream: &Stream, view: &View) -> Self {
        let kv_heads = stream.kv_heads();
        let group = stream.query_heads() / kv_heads;
        let kv = view.kv_head.min(kv_heads - 1);
        Self { kv, query: kv * group + view.query_head.min(group - 1) }
    }

    /// A query head of a stream, counted over all of them, and the key/value head that it reads; `None` if there is no such head.
    #[must_use]
    pub fn of_query(stream: &Stream, query: usize) -> Option<Self> {
        (query < stream.query_heads()).then(|| Self { kv: stream.kv_head_of(query), query })
    }
}

/// What an entry of a channel belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A write.
    Write(usize),
    /// A read.
    Read(usize),
    /// A chunk of the lane.
    Chunk(usize),
}

/// Where an event is: small, so that lists of millions can be kept. Ordered by when it is seen, then by lane, kind and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hit {
    /// The boundary of the timeline, in writes, from which on it is seen.
    pub seen: u32,
    /// The lane, by its number in the plan.
    pub lane: u16,
    /// Which of the lane's [`LaneEvents`] scans found it: in the order of the kinds.
    pub scan: u16,
    /// The entry of the channel (in lists: the number, over all of them).
    pub item: u32,
    /// Which number of the entry.
    pub component: u32,
}

/// An event with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its kind.
    pub kind: EventKind,
    /// The channel that tells it.
    pub channel: &'static str,
    /// The head of the channel.
    pub head: usize,
    /// What it belongs to.
    pub place: Place,
    /// The write that it is about, where it is about one.
    pub write: Option<usize>,
    /// Which number of the entry.
    pub component: usize,
    /// The number.
    pub value: f64,
    /// The boundary of the timeline, in writes, from which on it is seen.
    pub seen: usize,
}

/// The events of one lane, found by going through its trace.
#[derive(Debug)]
pub struct LaneEvents<'a> {
    stream: &'a Stream,
    /// Writes a step of the timeline.
    step: usize,
    lane: usize,
    plan: &'a PlanLane,
    trace: &'a LaneTrace,
    criteria: &'a Criteria,
    scans: Vec<Scan>,
}

impl<'a> LaneEvents<'a> {
    /// The events of lane number `lane` of a plan, of the heads shown.
    ///
    /// # Panics
    /// If the plan has no such lane.
    #[must_use]
    pub fn new(plan: &'a Plan, lane: usize, trace: &'a LaneTrace, heads: HeadsShown, criteria: &'a Criteria) -> Self {
        let own = &plan.lanes[lane];
        let scans = scans(trace, heads, plan.stream.kv_heads(), criteria);
        Self { stream: &plan.stream, step: plan.step, lane, plan: own, trace, criteria, scans }
    }

    /// The lane's number in the plan.
    #[must_use]
    pub fn number(&self) -> usize {
        self.lane
    }

    /// How many scans there are: each goes through one channel for one kind.
    #[must_use]
    pub fn scans(&self) -> usize {
        self.scans.len()
    }

    /// The kind of event that a scan looks for.
    ///
    /// # Panics
    /// If there is no such scan.
    #[must_use]
    pub fn kind(&self, scan: usize) -> EventKind {
        self.scans[scan].kind
    }

    /// The items that a scan goes through.
    #[must_use]
    pub fn items(&self, scan: usize) -> usize {
        let scan = &self.scans[scan];
        let channel = self.channel(scan);
        match channel.spec().width {
            Width::Fixed(_) => channel.len(),
            Width::Ragged => channel.values(scan.head).len(),
        }
    }

    /// The events of a scan among the items from `from` on, ascending.
    pub fn forwards(&self, scan: usize, from: usize) -> impl Iterator<Item = Hit> + '_ {
        (from..self.items(scan)).filter_map(move |item| self.hit(scan, item))
    }

    /// The events of a scan among the items before `before`, descending.
    pub fn backwards(&self, scan: usize, before: usize) -> impl Iterator<Item = Hit> + '_ {
        (0..before.min(self.items(scan))).rev().filter_map(move |item| self.hit(scan, item))
    }

    /// The event at an item, if there is one.
    #[must_use]
    pub fn hit(&self, scan: usize, item: usize) -> Option<Hit> {
        let own = &self.scans[scan];
        let component = own.test.matches(self.channel(own), own.head, item)?;
        Some(Hit {
            seen: self.seen(scan, item) as u32,
            lane: self.lane as u16,
            scan: scan as u16,
            item: item as u32,
            component: component as u32,
        })
    }

    /// All that is known of an event; `None` for one of another trace.
    #[must_use]
    pub fn event(&self, hit: Hit) -> Option<Event> {
        let scan = self.scans.get(usize::from(hit.scan))?;
        let (channel, item, component) = (self.channel(scan), hit.item as usize, hit.component as usize);
        let (at, entry) = match channel.spec().width {
            Width::Fixed(width) => (item * width + component, item),
            Width::Ragged => (item, scan::entry_of(channel, scan.head, item)),
        };
        let value = channel.values(scan.head).get(at)?;
        let place = match channel.spec().axis {
            Axis::Write => Place::Write(entry),
            Axis::Read => Place::Read(entry),
            Axis::Step => Place::Chunk(entry),
        };
        let write = match place {
            Place::Write(write) => Some(write),
            _ if channel.spec().width == Width::Ragged => self.listed(channel, scan.head, entry, item),
            _ => None,
        };
        let seen = hit.seen as usize;
        Some(Event { kind: scan.kind, channel: channel.spec().name, head: scan.head, place, write, component, value, seen })
    }

    /// The write that a number of a list is about: the number itself in a list of ids, else that at the same place among the
    /// candidates.
    fn listed(&self, channel: &Channel, head: usize, entry: usize, item: usize) -> Option<usize> {
        let ids = if channel.spec().kind == Kind::Whole { channel } else { self.trace.channel("candidates")? };
        let (own, of) = (channel.range(head, entry), ids.range(head, entry));
        let id = ids.wholes(head).get(of.start + (item - own.start)).filter(|_| own.len() == of.len())?;
        usize::try_from(*id).ok()
    }

    fn channel(&self, scan: &Scan) -> &'a Channel {
        &self.trace.channels()[scan.channel]
    }

    /// The boundary of the timeline from which on an item is seen: the first that is not before the end of its chunk.
    fn seen(&self, scan: usize, item: usize) -> usize {
        let scan = &self.scans[scan];
        let channel = self.channel(scan);
        let chunk = self.plan.setup.chunk;
        let index = match (channel.spec().axis, channel.spec().width) {
            (Axis::Write, _) => item / chunk,
            (Axis::Read, _) => (self.stream.after().get(item).map_or(1, |a| *a as usize).max(1) - 1) / chunk,
            (Axis::Step, Width::Fixed(_)) => item,
            (Axis::Step, Width::Ragged) => scan::entry_of(channel, scan.head, item),
        };
        let end = self.stream.chunk_range(chunk, index).end;
        (end.div_ceil(self.step) * self.step).min(self.stream.writes())
    }

    /// The first item of a scan that is seen from `writes` or later.
    fn first_from(&self, scan: usize, writes: usize) -> usize {
        let (mut low, mut high) = (0, self.items(scan));
        while low < high {
            let middle = low.midpoint(high);
            if self.seen(scan, middle) < writes { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The first item of a scan that comes after `from` in the order of [`Hit`]s.
    fn after(&self, scan: usize, from: From) -> usize {
        match from {
            From::Moment(writes) => self.first_from(scan, writes + 1),
            From::Hit(hit) => {
                let own = (self.lane as u16, scan as u16);
                match own.cmp(&(hit.lane, hit.scan)) {
                    std::cmp::Ordering::Less => self.first_from(scan, hit.seen as usize + 1),
                    std::cmp::Ordering::Equal => hit.item as usize + 1,
                    std::cmp::Ordering::Greater => self.first_from(scan, hit.seen as usize),
                }
            }
        }
    }

    /// The items of a scan that come before `from` in the order of [`Hit`]s are those before this one.
    fn before(&self, scan: usize, from: From) -> usize {
        match from {
            From::Moment(writes) => self.first_from(scan, writes),
            From::Hit(hit) => match (self.lane as u16, scan as u16).cmp(&(hit.lane, hit.scan)) {
                std::cmp::Ordering::Less => self.first_from(scan, hit.seen as usize + 1),
                std::cmp::Ordering::Equal => hit.item as usize,
                std::cmp::Ordering::Greater => self.first_from(scan, hit.seen as usize),
            },
        }
    }
}

/// From where the next event is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// A boundary of the timeline: what is seen from exactly there is passed over, in both directions.
    Moment(usize),
    /// An event: those seen from the same boundary are gone through one by one.
    Hit(Hit),
}

/// The next event of these lanes after `from`, of the kinds that `wanted` wants.
pub fn next(lanes: &[LaneEvents<'_>], from: From, wanted: impl Fn(EventKind) -> bool) -> Option<Hit> {
    let first = |lane: &LaneEvents<'_>, scan| lane.forwards(scan, lane.after(scan, from)).next();
    each_scan(lanes, &wanted).into_iter().filter_map(|(lane, scan)| first(lane, scan)).min()
}

/// The last event of these lanes before `from`, of the kinds that `wanted` wants.
pub fn previous(lanes: &[LaneEvents<'_>], from: From, wanted: impl Fn(EventKind) -> bool) -> Option<Hit> {
    let last = |lane: &LaneEvents<'_>, scan| lane.backwards(scan, lane.before(scan, from)).next();
    each_scan(lanes, &wanted).into_iter().filter_map(|(lane, scan)| last(lane, scan)).max()
}

/// The scans of these lanes for the kinds that are wanted.
fn each_scan<'l, 'a>(lanes: &'l [LaneEvents<'a>], wanted: &impl Fn(EventKind) -> bool) -> Vec<(&'l LaneEvents<'a>, usize)> {
    lanes.iter().flat_map(|lane| (0..lane.scans()).map(move |s| (lane, s))).filter(|(lane, s)| wanted(lane.kind(*s))).collect()
}

/// Every scan of a trace, in the order of the kinds.
fn scans(trace: &LaneTrace, heads: HeadsShown, kv_heads: usize, criteria: &Criteria) -> Vec<Scan> {
    let margin_of = |c: &Channel| match c.spec().tolerance {
        Tolerance::Choice { margin } => margin,
        Tolerance::Near { .. } => None,
    };
    let margins: Vec<&str> = trace.channels().iter().filter_map(margin_of).collect();
    let mut all = Vec::new();
    for (channel, held) in trace.channels().iter().enumerate() {
        let spec = held.spec();
        // A lane with a state for each query head has as many key/value heads as there are query heads.
        let head = match spec.heads {
            Heads::KeyValue if held.heads() == kv_heads => heads.kv,
            Heads::KeyValue | Heads::Query => heads.query,
        };
        if head >= held.heads() {
            continue;
        }
        let mut add = |kind, test| all.push(Scan { kind, channel, head, test });
        let margin = margins.contains(&spec.name);
        match spec.name {
            "is_new" => add(EventKind::Founder, Test::NotZero),
            "admitted" => add(EventKind::Admission, Test::Every),
            "displaced" => add(EventKind::Eviction, Test::Every),
            "read_normaliser" => {
                // LoLA divides by its window's and its cache's part too: a state that holds nothing yet is no trouble there.
                let shared = trace.channel("shares").is_some();
                add(EventKind::SmallNormaliser, Test::Small { below: criteria.normaliser, zero: !shared });
            }
            super::CORRECT => add(EventKind::WrongAnswer, Test::Zero),
            _ if margin => add(EventKind::Tie, Test::below(criteria.margin)),
            _ => {}
        }
        if spec.kind == Kind::Real {
            // These channels say in their meaning that such a number stands for "none".
            add(EventKind::NotFinite, Test::NotFinite { infinity: margin, nan: spec.name == "threshold" });
        }
        if let Some(t) = criteria.threshold.as_ref().filter(|t| t.channel == spec.name) {
            add(EventKind::Threshold, Test::Beyond { component: t.component, above: t.above, value: t.value });
        }
    }
    all.sort_by_key(|s| (s.kind, s.channel));
    all
}

#[cfg(test)]
mod tests;
