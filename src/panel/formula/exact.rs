//! What the numbers of a formula are made of: a lane's own stream, its trace, and exact states of one head in float64.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use ndarray::ArrayView1;

use crate::app::states::{At, States};
use crate::layer::Snapshot;
use crate::panel::{LaneLook, Look};
use crate::session::hand;
use crate::session::plan::{Plan, PlanLane};
use crate::stream::Stream;
use crate::trace::LaneTrace;

/// Exact states, with a note of which were looked for: what was made of them is made anew when one of them comes.
#[derive(Debug)]
pub struct Exact<'a> {
    states: &'a States,
    /// Whether states that are not here may be asked for: not while the playhead moves.
    ask: bool,
    seen: RefCell<Vec<(At, bool)>>,
}

impl<'a> Exact<'a> {
    /// States of the run on screen.
    #[must_use]
    pub fn new(states: &'a States, ask: bool) -> Self {
        Self { states, ask, seen: RefCell::default() }
    }

    /// The state of a lane after so many of its chunks, if it is here.
    #[must_use]
    pub fn at(&self, lane: usize, chunks: usize) -> Option<&'a Arc<Snapshot>> {
        let found = find(self.states, self.ask, (lane, chunks));
        self.seen.borrow_mut().push(((lane, chunks), found.is_some()));
        found
    }

    /// True if a state was looked for that is not here.
    #[must_use]
    pub fn missing(&self) -> bool {
        self.seen.borrow().iter().any(|(_, found)| !found)
    }
}

fn find(states: &States, ask: bool, (lane, chunks): At) -> Option<&Arc<Snapshot>> {
    let held = states.before(lane, chunks).filter(|s| s.position == chunks);
    if ask { states.at(lane, chunks) } else { held }
}

/// A key, the states that were looked for and whether each was there, and what was made of them.
type Held<K, V> = (K, Vec<(At, bool)>, V);

/// What was made for a key with some exact states, kept while the key and the states at hand stay the same.
#[derive(Debug)]
pub struct Kept<K, V> {
    held: Option<Held<K, V>>,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { held: None }
    }
}

impl<K: PartialEq, V> Kept<K, V> {
    /// The value for `key`. States that went into it are looked for again, so that they are neither forgotten nor no longer asked for.
    pub fn get(&mut self, states: &States, ask: bool, key: K, make: impl FnOnce(&Exact<'_>) -> V) -> &V {
        let same = |(k, seen, _): &Held<K, V>| {
            *k == key && seen.iter().filter(|(at, found)| find(states, ask, *at).is_some() != *found).count() == 0
        };
        let held = match self.held.take() {
            Some(held) if same(&held) => held,
            _ => {
                let exact = Exact::new(states, ask);
                let value = make(&exact);
                (key, exact.seen.into_inner(), value)
            }
        };
        &self.held.insert(held).2
    }
}

/// Whether the playhead has stood still for a moment: exact states are asked for only then, or playing would have the engine
/// compute one for every step.
#[derive(Debug, Default)]
pub struct Rest {
    writes: usize,
    reached: usize,
    since: Option<f64>,
}

impl Rest {
    /// Seconds that count as a moment.
    const MOMENT: f64 = 0.2;

    /// True if it has; until it has, the window is not at rest, and it is painted again when it will have.
    pub fn rested(&mut self, ui: &eframe::egui::Ui, look: &Look<'_>) -> bool {
        let now = ui.input(|i| i.time);
        let first = self.since.is_none();
        // The playhead follows a run that is computed to where it stands for good: there it has not been moved by anybody.
        let complete = look.reached != self.reached && look.reached >= look.plan.stream.writes();
        if first || complete {
            self.since = Some(now - Self::MOMENT);
        } else if self.writes != look.writes {
            self.since = Some(now);
        }
        (self.writes, self.reached) = (look.writes, look.reached);
        let left = Self::MOMENT - (now - self.since.unwrap_or(now));
        if left > 1e-9 {
            look.states.put_off();
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(left));
        }
        left <= 1e-9
    }
}

/// The run, the heads shown and the traces' generations: what everything that is said of a run depends on.
#[derive(Debug, Clone)]
pub struct RunKey {
    plan: Weak<Plan>,
    heads: (usize, usize),
    writes: usize,
    generations: u64,
}

impl PartialEq for RunKey {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.plan, &other.plan)
            && (self.heads, self.writes, self.generations) == (other.heads, other.writes, other.generations)
    }
}

impl RunKey {
    /// The key of what is on screen.
    #[must_use]
    pub fn new(look: &Look<'_>) -> Self {
        Self {
            plan: Arc::downgrade(look.plan),
            heads: (look.kv_head, look.query_head),
            writes: look.writes,
            generations: look.lanes.iter().map(|l| l.trace.generation()).sum(),
        }
    }
}

/// A lane with the heads that are looked at: what numbers are asked of.
#[derive(Debug, Clone, Copy)]
pub struct LaneAt<'a> {
    /// Its number among the lanes.
    pub number: usize,
    /// Its plan.
    pub plan: &'a PlanLane,
    /// What it has written.
    pub trace: &'a LaneTrace,
    /// The query head.
    pub query_head: usize,
    /// The key/value head that it reads, of the lane's own stream.
    pub kv: usize,
}

impl<'a> LaneAt<'a> {
    /// Lane number `number` as it is looked at.
    #[must_use]
    pub fn of(look: &Look<'a>, number: usize) -> Option<Self> {
        let LaneLook { plan, trace, .. } = *look.lanes.get(number)?;
        Some(Self::new(number, plan, trace, look.query_head))
    }

    /// A lane and a query head.
    #[must_use]
    pub fn new(number: usize, plan: &'a PlanLane, trace: &'a LaneTrace, query_head: usize) -> Self {
        Self { number, plan, trace, query_head, kv: plan.setup.stream.kv_head_of(query_head) }
    }

    /// The lane's own stream.
    #[must_use]
    pub fn stream(&self) -> &'a Stream {
        &self.plan.setup.stream
    }

    /// Writes a step of the lane.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.plan.setup.chunk
    }

    /// The writes of the lane's first `chunks` chunks.
    #[must_use]
    pub fn written(&self, chunks: usize) -> usize {
        (chunks * self.chunk()).min(self.stream().writes())
    }

    /// True for a pair that a hand, and not the update, took out of the cache at the end of a step of the lane.
    #[must_use]
    pub fn evicted(&self, write: usize, step: usize) -> bool {
        hand::evicted(self.trace, self.kv, write, step)
    }

    /// The step at which a hand deleted a row of the dictionary, if it is deleted after `chunks` chunks.
    #[must_use]
    pub fn deleted(&self, row: usize, chunks: usize) -> Option<usize> {
        hand::deleted(&self.plan.setup.hands, self.kv, row).filter(|step| *step <= chunks)
    }

    /// The key of a write.
    #[must_use]
    pub fn key(&self, write: usize) -> Vec<f64> {
        widen(self.stream().keys().slice(ndarray::s![self.kv, write, ..]))
    }

    /// The value of a write.
    #[must_use]
    pub fn value(&self, write: usize) -> Vec<f64> {
        widen(self.stream().values().slice(ndarray::s![self.kv, write, ..]))
    }

    /// A number of a channel's entry, real or whole, of the head looked at.
    #[must_use]
    pub fn number(&self, channel: &str, entry: usize) -> Option<f64> {
        self.numbers(channel, entry)?.first().copied()
    }

    /// The numbers of a channel's entry.
    #[must_use]
    pub fn numbers(&self, channel: &str, entry: usize) -> Option<Vec<f64>> {
        let channel = self.trace.channel(channel).filter(|c| entry < c.len())?;
        let head = match channel.spec().heads {
            crate::trace::Heads::KeyValue => self.kv,
            crate::trace::Heads::Query => self.query_head,
        };
        let values = channel.values(head);
        channel.range(head, entry).map(|at| values.get(at)).collect()
    }

    /// The whole numbers of a channel of this lane's key/value head; none where it has no such channel.
    #[must_use]
    pub fn wholes(&self, channel: &str) -> &'a [i32] {
        self.trace.channel(channel).map_or(&[], |c| c.wholes(self.kv))
    }

    /// What the lane returned for a read.
    #[must_use]
    pub fn output(&self, read: usize) -> Option<Vec<f64>> {
        self.numbers("outputs", read)
    }

    /// How many writes a read may see.
    #[must_use]
    pub fn after(&self, read: usize) -> Option<usize> {
        self.stream().after().get(read).map(|&a| a as usize)
    }
}

/// One head's rows of an array of a state, in float64.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    width: usize,
    numbers: Vec<f64>,
}

impl Rows {
    /// The rows of head `head` of the array `name`, `[heads, rows]` or `[heads, rows, width]`.
    #[must_use]
    pub fn of(state: &Snapshot, name: &str, head: usize) -> Option<Self> {
        let array = state.array(name)?;
        let (&heads, rest) = array.shape.split_first()?;
        let (width, each) = (rest.get(1).copied().unwrap_or(1), rest.iter().product::<usize>());
        if head >= heads {
            return None;
        }
        let numbers = (head * each..(head + 1) * each).map(|at| array.values.get(at)).collect::<Option<Vec<_>>>()?;
        Some(Self { width: width.max(1), numbers })
    }

    /// Zeros in the shape of a recurrent lane's state: [dk, dv].
    #[must_use]
    pub fn zeros(lane: &LaneAt<'_>) -> Self {
        let (dk, dv) = (lane.stream().key_dim(), lane.stream().value_dim());
        Self { width: dv, numbers: vec![0.0; dk * dv] }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len() / self.width.max(1)
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// One row; nothing beyond the last.
    #[must_use]
    pub fn row(&self, at: usize) -> &[f64] {
        self.numbers.get(at * self.width..(at + 1) * self.width).unwrap_or(&[])
    }

    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.numbers.chunks(self.width.max(1))
    }

    /// All numbers, row-major.
    #[must_use]
    pub fn all(&self) -> &[f64] {
        &self.numbers
    }

    /// All numbers, to be changed.
    pub fn all_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }

    /// The sum of the rows, each times its factor: `M^T x`.
    #[must_use]
    pub fn transposed_times(&self, factors: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.width];
        for (row, factor) in self.rows().zip(factors) {
            add(&mut sum, row, *factor);
        }
        sum
    }
}

/// A row in float64.
#[must_use]
#[allow(clippy::needless_pass_by_value, reason = "a view is a pointer and a shape")]
pub fn widen(row: ArrayView1<'_, f32>) -> Vec<f64> {
    row.iter().map(|&x| f64::from(x)).collect()
}

/// The dot product.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The length.
#[must_use]
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The length of the difference.
#[must_use]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Adds `factor` times `b` to `a`.
pub fn add(a: &mut [f64], b: &[f64], factor: f64) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}
