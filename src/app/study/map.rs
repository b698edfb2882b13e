//! The dictionary map's numbers: every key of a lane along two components, and where every row of its dictionary has been.

use std::sync::{Arc, Weak};

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::layer::replay::DictionaryAt;
use crate::metric::projection::{Basis, Projection};
use crate::session::hand::Act;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;

/// What can be asked: a map of the run on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The lane, by its number in the plan.
    pub lane: usize,
    /// The key/value head of the lane's own stream.
    pub head: usize,
    /// What the keys are projected onto.
    pub basis: Basis,
    /// The component to the right and the one upwards; both smaller than dk.
    pub components: [usize; 2],
}

/// The smallest and the largest number to the right, and upwards.
pub type Bounds = [[f32; 2]; 2];

/// The lane's keys, as the lane sees them, along two components.
#[derive(Debug, Clone, PartialEq)]
pub struct Keys {
    /// What this is.
    pub ask: Ask,
    /// The components; those of the whole stream, so that they stand still.
    pub projection: Arc<Projection>,
    /// Every key's place `[T]`.
    pub points: Vec<[f32; 2]>,
    /// The range of the points.
    pub bounds: Bounds,
}

/// A row of the dictionary after a chunk that changed it, or a hand that did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Chunks done.
    pub chunks: u32,
    /// Its key's place.
    pub at: [f32; 2],
    /// The writes that it stands for: none once it is deleted by hand. It is then where it was last, though nothing is there.
    pub count: u32,
}

/// Every row of a dictionary through the whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trails {
    /// What this is.
    pub ask: Ask,
    /// For each row, every chunk that changed it.
    pub rows: Vec<Vec<Moment>>,
    /// The chunks of the run.
    pub chunks: usize,
    /// The range of all places.
    pub bounds: Bounds,
}

impl Trails {
    /// A row as it is after `chunks` chunks; `None` before its first write.
    #[must_use]
    pub fn at(&self, row: usize, chunks: usize) -> Option<&Moment> {
        self.until(row, chunks).last()
    }

    /// A row's way up to and with the state after `chunks` chunks.
    #[must_use]
    pub fn until(&self, row: usize, chunks: usize) -> &[Moment] {
        let way = self.rows.get(row).map_or(&[][..], Vec::as_slice);
        &way[..way.partition_point(|m| m.chunks as usize <= chunks)]
    }

    /// The largest count that any row comes to.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.rows.iter().flatten().map(|m| m.count).max().unwrap_or(0)
    }
}

/// What the thread tells.
enum Told {
    Keys(Arc<Keys>),
    Trails(Arc<Trails>),
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    /// What was asked for last, and whether the run was whole then.
    asked: Option<(Weak<Plan>, Ask, bool)>,
    /// What the work under way is of.
    plan: Weak<Plan>,
    keys: Option<(Weak<Plan>, Arc<Keys>)>,
    trails: Option<(Weak<Plan>, Arc<Trails>)>,
    work: Option<Work<Told>>,
}

impl Study {
    /// Takes in what has been found; true if there is news.
    pub fn receive(&mut self) -> bool {
        let Some(work) = &mut self.work else { return false };
        let (told, news) = work.receive();
        for told in told {
            match told {
                Told::Keys(keys) => self.keys = Some((Weak::clone(&self.plan), keys)),
                Told::Trails(trails) => self.trails = Some((Weak::clone(&self.plan), trails)),
            }
        }
        news
    }

    /// Trails come once the run is over: traces of a run that goes on are written to, and holding them here would have each block
    /// copy them.
    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        if let Some(run) = runs.current()
            && !self.has(&run.plan, ask, run.ended)
        {
            self.start(&run.plan, run.ended.then_some(&run.traces), ask, wake);
        }
    }

    /// Begins a map, with trails where the traces of a run that is over are given; whatever was under way is given up.
    pub fn start(&mut self, plan: &Arc<Plan>, traces: Option<&Arc<Vec<LaneTrace>>>, ask: Ask, wake: &Wake) {
        let known = self.keys.take().filter(|(of, _)| is(of, plan)).map(|(_, keys)| keys);
        // What is there is still shown until the new one comes.
        self.keys = known.clone().map(|keys| (Arc::downgrade(plan), keys));
        self.asked = Some((Arc::downgrade(plan), ask, traces.is_some()));
        self.plan = Arc::downgrade(plan);
        let (plan, traces) = (Arc::clone(plan), traces.map(Arc::clone));
        self.work = Some(Work::start("dictionary map", wake, move |teller| {
            let Some(lane) = plan.lanes.get(ask.lane) else { return Err("there is no such lane any more".to_owned()) };
            let Some(keys) = keys_of(lane, ask, known, teller) else { return Ok(()) };
            teller.part(Told::Keys(Arc::clone(&keys)));
            if let Some(trace) = traces.as_ref().and_then(|t| t.get(ask.lane))
                && let Some(trails) = trails(lane, trace, &keys, &|| teller.cancelled())
            {
                teller.part(Told::Trails(Arc::new(trails)));
            }
            Ok(())
        }));
    }

    /// True if this was asked for, with trails where `whole`: it is here or on its way.
    #[must_use]
    pub fn has(&self, plan: &Arc<Plan>, ask: Ask, whole: bool) -> bool {
        self.asked.as_ref().is_some_and(|(of, asked, trails)| is(of, plan) && *asked == ask && (*trails || !whole))
    }

    /// The keys of a lane and head of this plan as they were projected last.
    #[must_use]
    pub fn keys(&self, plan: &Arc<Plan>, lane: usize, head: usize) -> Option<&Arc<Keys>> {
        let found = self.keys.as_ref().filter(|(of, keys)| is(of, plan) && (keys.ask.lane, keys.ask.head) == (lane, head));
        found.map(|(_, keys)| keys)
    }

    /// The trails that belong to what was asked for.
    #[must_use]
    pub fn trails(&self, plan: &Arc<Plan>, ask: Ask) -> Option<&Arc<Trails>> {
        self.trails.as_ref().filter(|(of, trails)| is(of, plan) && trails.ask == ask).map(|(_, trails)| trails)
    }

    /// True while it works.
    #[must_use]
    pub fn running(&self) -> bool {
        self.work.as_ref().is_some_and(Work::running)
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.work.as_ref().and_then(Work::error)
    }
}

fn is(of: &Weak<Plan>, plan: &Arc<Plan>) -> bool {
    Weak::as_ptr(of) == Arc::as_ptr(plan)
}

/// Every key's place. `known`: keys of the same plan along other components perhaps, whose projection is used where it is the same.
fn keys_of(lane: &PlanLane, ask: Ask, known: Option<Arc<Keys>>, teller: &Teller<Told>) -> Option<Arc<Keys>> {
    let known = known.filter(|k| (k.ask.lane, k.ask.head, k.ask.basis) == (ask.lane, ask.head, ask.basis));
    if let Some(same) = known.as_ref().filter(|k| k.ask == ask) {
        return Some(Arc::clone(same));
    }
    let keys = lane.setup.stream.keys_of(ask.head);
    let projection = match known {
        Some(keys) => Arc::clone(&keys.projection),
        None => Arc::new(Projection::new(keys, ask.basis, teller.flag())?),
    };
    let components = ask.components.map(|c| c.min(projection.components().saturating_sub(1)));
    let place = |key: ndarray::ArrayView1<'_, f32>| projection.place(key.as_slice().unwrap_or(&[]), components);
    let points: Vec<[f32; 2]> = keys.rows().into_iter().map(place).collect();
    let bounds = bounds(points.iter().copied());
    Some(Arc::new(Keys { ask, projection, points, bounds }))
}

/// Where every row has been; `None` for a lane without a dictionary, and once it is cancelled.
fn trails(lane: &PlanLane, trace: &LaneTrace, keys: &Keys, cancelled: &dyn Fn() -> bool) -> Option<Trails> {
    let mut rows: Vec<Vec<Moment>> = Vec::new();
    let mut chunks = 0;
    // A key changes with new members, which the count tells, or by hand.
    let hands: Vec<_> = lane.setup.hands.iter().filter(|h| h.kv_head == keys.ask.head).collect();
    let moved =
        |row: usize, chunks: usize| hands.iter().any(|h| h.step == chunks && matches!(h.what, Act::Move { row: of, .. } if of == row));
    let mut visit = |at: DictionaryAt<'_>| {
        if cancelled() {
            return false;
        }
        chunks = at.chunks;
        rows.resize_with(rows.len().max(at.counts.len()), Vec::new);
        for (row, (way, &count)) in rows.iter_mut().zip(at.counts).enumerate() {
            let (last, chunks) = (way.last().copied(), at.chunks as u32);
            if count > 0 && (last.is_none_or(|m| m.count != count) || moved(row, at.chunks)) {
                let key = at.keys.row(row);
                let at_key = keys.projection.place(key.as_slice().unwrap_or(&[]), keys.ask.components);
                way.push(Moment { chunks, at: at_key, count });
            } else if let Some(last) = last.filter(|m| count == 0 && m.count > 0) {
                // Its key is zero now: that is no place that it went to.
                way.push(Moment { chunks, count, ..last });
            }
        }
        true
    };
    let known = lane.kind.replay_dictionary(&lane.setup, trace, keys.ask.head, &mut visit);
    if !known || cancelled() {
        return None;
    }
    let bounds = bounds(rows.iter().flatten().map(|m| m.at));
    Some(Trails { ask: keys.ask, rows, chunks, bounds })
}

/// The range of points; empty (its start above its end) where there are none.
fn bounds(points: impl Iterator<Item = [f32; 2]>) -> Bounds {
    points.fold([[f32::INFINITY, f32::NEG_INFINITY]; 2], |so_far, point| {
        std::array::from_fn(|i| [so_far[i][0].min(point[i]), so_far[i][1].max(point[i])])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::headless;
    use crate::param::Params;
    use crate::session::hand::Hand;
    use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn wait(study: &mut Study) {
        let start = Instant::now();
        while study.running() && start.elapsed() < Duration::from_secs(20) {
            study.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
        study.receive();
    }

    #[test]
    fn trails_follow_what_hands_do_to_a_row() {
        let params = Params::default().with("T", 256).with("needles", 4).with("dk", 8).with("dv", 8);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let ovq = Params::default().with("n_max", 32).with("chunk", 32);
        let (delete, shift) = (Act::Delete { row: 3 }, Act::Move { row: 1, to: 5 });
        let hands = vec![Hand { step: 4, kv_head: 0, what: delete }, Hand { step: 6, kv_head: 0, what: shift }];
        let lanes = vec![LaneSpec { hands, ..LaneSpec::new("OVQ", "ovq", ovq) }];
        let plan = Arc::new(Plan::new(&Session { source, lanes, ..Session::default() }, None).unwrap());
        let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        let traces = Arc::new(run.traces);
        let (mut study, wake): (Study, Wake) = (Study::default(), Arc::new(|| {}));
        let ask = Ask { lane: 0, head: 0, basis: Basis::Principal, components: [0, 1] };
        study.start(&plan, Some(&traces), ask, &wake);
        wait(&mut study);
        let trails = study.trails(&plan, ask).unwrap();
        let (before, after) = (*trails.at(3, 3).unwrap(), *trails.at(3, 4).unwrap());
        assert!(before.count > 0 && after.chunks == 4 && after.count == 0 && trails.at(3, 8) == Some(&after));
        assert!(trails.most() >= before.count);
        // Whether or not the row has a new member in that step, it is at the write's own key after it.
        let (moved, key) = (trails.at(1, 6).unwrap(), study.keys(&plan, 0, 0).unwrap().points[5]);
        assert!(moved.chunks == 6 && (0..2).all(|i| (moved.at[i] - key[i]).abs() < 1e-4), "{moved:?} {key:?}");
    }

    #[test]
    fn keys_come_at_once_and_trails_end_where_the_run_ended() {
        let params = Params::default().with("T", 256).with("needles", 4).with("dk", 8).with("dv", 8);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let ovq = Params::default().with("n_max", 32).with("chunk", 32);
        let lanes = vec![LaneSpec::new("full", "full", Params::default()), LaneSpec::new("OVQ", "ovq", ovq)];
        let plan = Arc::new(Plan::new(&Session { source, lanes, ..Session::default() }, None).unwrap());
        let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        let traces = Arc::new(run.traces);
        let (mut study, wake): (Study, Wake) = (Study::default(), Arc::new(|| {}));
        let ask = Ask { lane: 1, head: 0, basis: Basis::Principal, components: [0, 1] };
        study.start(&plan, None, ask, &wake);
        wait(&mut study);
        assert!(study.has(&plan, ask, false) && !study.has(&plan, ask, true));
        let keys = Arc::clone(study.keys(&plan, 1, 0).unwrap());
        assert_eq!((keys.points.len(), study.trails(&plan, ask).is_none(), study.keys(&plan, 0, 0).is_none()), (256, true, true));
        study.start(&plan, Some(&traces), ask, &wake);
        assert!(study.keys(&plan, 1, 0).is_some(), "what is there stays on screen");
        wait(&mut study);
        let trails = study.trails(&plan, ask).unwrap();
        assert!(Arc::ptr_eq(study.keys(&plan, 1, 0).unwrap(), &keys), "nothing was projected anew");
        // The last moment of every row is its row of the last state.
        let state = &run.states[1];
        let (dict, counts) = (state.array("dict_k").unwrap(), state.array("counts").unwrap().values.as_i32().unwrap());
        assert_eq!((trails.rows.len(), trails.chunks), (counts.len(), 8));
        for (row, key) in dict.values.as_f32().unwrap().chunks(8).enumerate() {
            let moment = trails.at(row, 8).unwrap();
            assert_eq!(moment.count, counts[row] as u32);
            let place = keys.projection.place(key, [0, 1]);
            assert!((0..2).all(|i| (moment.at[i] - place[i]).abs() < 1e-5), "row {row}");
        }
        // Counts sum to the writes seen after every chunk, and no row is there before its founder.
        for chunks in 0..=8 {
            let sum: u32 = (0..trails.rows.len()).filter_map(|r| trails.at(r, chunks)).map(|m| m.count).sum();
            assert_eq!(sum as usize, chunks * 32);
        }
        // A lane without a dictionary has keys and no trails; another component of the same keys needs no new projection.
        let full = Ask { lane: 0, components: [2, 1], ..ask };
        study.start(&plan, Some(&traces), full, &wake);
        wait(&mut study);
        assert!(study.keys(&plan, 0, 0).is_some() && study.trails(&plan, full).is_none() && study.error().is_none());
        let swapped = Ask { components: [1, 2], ..full };
        let before = Arc::clone(&study.keys(&plan, 0, 0).unwrap().projection);
        study.start(&plan, Some(&traces), swapped, &wake);
        wait(&mut study);
        let now = study.keys(&plan, 0, 0).unwrap();
        assert!(Arc::ptr_eq(&now.projection, &before) && now.ask == swapped);
    }
}
