//! What codebook health needs the centroids for, in every lane with a dictionary: how near the two most similar rows lie, and how far
//! all members so far are from their row as it then was.
//!
//! The dictionaries of a whole run are replayed from its trace, one lane after the other; of a long run evenly spaced moments are
//! looked at, as many as are done in reasonable time.

use std::sync::{Arc, Weak};

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::metric::health::{Nearest, Quantisation, nearest_pairs, quantisation, sampled};
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;

/// The most moments that are looked at in a lane.
pub const MOST: usize = 256;
/// The fewest, however large the dictionary is.
const FEWEST: usize = 16;
/// Multiply-adds that a lane may take, about.
const BUDGET: f64 = 4e10;

/// A lane's number in its plan and the head of its dictionaries that is looked at.
pub type LaneHead = (usize, usize);

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Stop; what was found stays.
    Stop,
    /// These lanes of the run on screen, each for one head. Begins once the run is over.
    Lanes(Vec<LaneHead>),
}

/// A dictionary after some chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Chunks done.
    pub chunks: usize,
    /// The two most similar rows in use; `None` while there are fewer than two.
    pub nearest: Option<Nearest>,
    /// How far the members are from their rows.
    pub quantisation: Option<Quantisation>,
}

/// What was found of a lane.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// The moments found so far, ascending.
    pub moments: Vec<Measured>,
    /// How many there will be.
    pub planned: usize,
    /// Its layer does not say how its dictionary was, or its trace does not hold what that depends on.
    pub unknown: bool,
}

impl Finding {
    /// The last moment at or before `chunks` chunks.
    #[must_use]
    pub fn before(&self, chunks: usize) -> Option<&Measured> {
        self.moments[..self.moments.partition_point(|m| m.chunks <= chunks)].last()
    }

    /// True if not every step is looked at, but some evenly apart.
    #[must_use]
    pub fn sampled(&self, chunks: usize) -> bool {
        self.planned < chunks
    }
}

/// What the thread tells.
#[derive(Debug)]
enum Told {
    Planned(usize, usize),
    Moment(usize, Measured),
    Unknown(usize),
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    /// What the findings are of. The thread holds the lanes and not the plan, so that this ends with the run.
    of: Option<(Weak<Plan>, Vec<LaneHead>)>,
    lanes: Vec<(usize, Finding)>,
    work: Option<Work<Told>>,
    /// Grows with whatever is found: for what is made of it.
    generation: u64,
}

impl Study {
    /// Takes in what has been found; true if there is news. What is of a run that is gone is forgotten, and its work stopped.
    pub fn receive(&mut self) -> bool {
        if self.of.as_ref().is_some_and(|(plan, _)| plan.strong_count() == 0) {
            *self = Self { generation: self.generation + 1, ..Self::default() };
        }
        let Some(work) = &mut self.work else { return false };
        let (told, news) = work.receive();
        for told in told {
            self.generation += 1;
            let (Told::Planned(lane, _) | Told::Moment(lane, _) | Told::Unknown(lane)) = told;
            let Some((_, finding)) = self.lanes.iter_mut().find(|(l, _)| *l == lane) else { continue };
            match told {
                Told::Planned(_, planned) => finding.planned = planned,
                Told::Moment(_, measured) => finding.moments.push(measured),
                Told::Unknown(_) => finding.unknown = true,
            }
        }
        news
    }

    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        match ask {
            Ask::Stop => self.work.iter().for_each(Work::cancel),
            // Traces of a run that goes on are written to: holding them here would have each block copy them.
            Ask::Lanes(lanes) => {
                if let Some(run) = runs.current().filter(|r| r.ended) {
                    self.start(&run.plan, &run.traces, lanes, wake);
                }
            }
        }
    }

    /// Begins with a run that is over; whatever was sought before is given up.
    pub fn start(&mut self, plan: &Arc<Plan>, traces: &Arc<Vec<LaneTrace>>, lanes: Vec<LaneHead>, wake: &Wake) {
        self.generation += 1;
        self.lanes = lanes.iter().map(|(lane, _)| (*lane, Finding::default())).collect();
        let jobs: Vec<(LaneHead, PlanLane)> = lanes.iter().filter_map(|&at| Some((at, plan.lanes.get(at.0)?.clone()))).collect();
        self.of = Some((Arc::downgrade(plan), lanes));
        let traces = Arc::clone(traces);
        let job = move |teller: &Teller<Told>| {
            for (done, (at, lane)) in jobs.iter().enumerate() {
                let share = |part: f32| (done as f32 + part) / jobs.len() as f32;
                if let Some(trace) = traces.get(at.0) {
                    measure(teller, *at, lane, trace, share);
                }
                if teller.cancelled() {
                    break;
                }
                teller.share(share(1.0));
            }
            Ok(())
        };
        self.work = Some(Work::start("codebook health", wake, job));
    }

    /// True if what is held, or is being sought, is of these lanes of this run.
    #[must_use]
    pub fn is_of(&self, plan: &Arc<Plan>, lanes: &[LaneHead]) -> bool {
        self.of.as_ref().is_some_and(|(p, l)| Weak::as_ptr(p) == Arc::as_ptr(plan) && l == lanes)
    }

    /// What was found of a lane.
    #[must_use]
    pub fn lane(&self, lane: usize) -> Option<&Finding> {
        self.lanes.iter().find(|(l, _)| *l == lane).map(|(_, finding)| finding)
    }

    /// Changes whenever something is found or forgotten.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// True while it works.
    #[must_use]
    pub fn running(&self) -> bool {
        self.work.as_ref().is_some_and(Work::running)
    }

    /// How far it is, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f32 {
        self.work.as_ref().map_or(0.0, Work::share)
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.work.as_ref().and_then(Work::error)
    }
}

/// How many moments of a run of `chunks` chunks are looked at: all pairs of n rows and all t members, of dk numbers each, in each.
fn most(chunks: usize, rows: usize, writes: usize, key_dim: usize) -> usize {
    // Early moments have fewer members, and a dictionary that grows has fewer rows: half of both.
    let each = (0.5 * (rows as f64) * (rows as f64) + 0.5 * writes as f64) * key_dim as f64;
    ((BUDGET / each.max(1.0)) as usize).clamp(FEWEST, MOST).min(chunks)
}

fn measure(teller: &Teller<Told>, (number, head): LaneHead, lane: &PlanLane, trace: &LaneTrace, share: impl Fn(f32) -> f32) {
    let setup = &lane.setup;
    let stream = &setup.stream;
    let chunks = stream.chunks(setup.chunk);
    let assignments = trace.channel("assignments").filter(|c| head < c.heads() && head < stream.kv_heads());
    let (Some(assignments), Some(sizes)) = (assignments, trace.channel("sizes").filter(|c| head < c.heads())) else {
        teller.part(Told::Unknown(number));
        return;
    };
    let assignments = assignments.wholes(head);
    let rows = sizes.wholes(head).iter().copied().max().unwrap_or(0).max(0) as usize;
    let wanted = sampled(chunks, most(chunks, rows, stream.writes(), stream.key_dim()));
    teller.part(Told::Planned(number, wanted.len()));
    let mut next = 0;
    let known = lane.kind.replay_dictionary(setup, trace, head, &mut |at| {
        if teller.cancelled() || next >= wanted.len() {
            return false;
        }
        if at.chunks == wanted[next] {
            let seen = (at.chunks * setup.chunk).min(stream.writes()).min(assignments.len());
            let quantisation = quantisation(stream.keys_of(head), &assignments[..seen], at.keys, at.counts);
            let measured = Measured { chunks: at.chunks, nearest: nearest_pairs(at.keys, at.counts), quantisation };
            teller.part(Told::Moment(number, measured));
            next += 1;
            teller.share(share(next as f32 / wanted.len() as f32));
        }
        true
    });
    if !known {
        teller.part(Told::Unknown(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::headless;
    use crate::layer::{Precision, Record};
    use crate::param::Params;
    use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
    use crate::trace::TraceBlock;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn run() -> (Arc<Plan>, Arc<Vec<LaneTrace>>) {
        let params = Params::default().with("T", 500).with("needles", 4).with("dk", 8).with("dv", 8);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let ovq = Params::default().with("n_max", 40).with("chunk", 64);
        let lanes = vec![
            LaneSpec::new("full", "full", Params::default()),
            LaneSpec::new("OVQ", "ovq", ovq),
            LaneSpec::new("VQ", "vq", Params::default().with("codes", 24)),
        ];
        let plan = Arc::new(Plan::new(&Session { source, lanes, ..Session::default() }, None).unwrap());
        let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        (plan, Arc::new(run.traces))
    }

    fn wait(study: &mut Study) {
        let start = Instant::now();
        while study.running() && start.elapsed() < Duration::from_mins(1) {
            study.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!study.running() && study.error().is_none());
    }

    #[test]
    fn what_is_found_is_that_of_the_layers_own_state_at_every_step() {
        let (plan, traces) = run();
        let (mut study, wake): (Study, Wake) = (Study::default(), Arc::new(|| {}));
        study.start(&plan, &traces, vec![(0, 0), (1, 0), (2, 0)], &wake);
        wait(&mut study);
        assert!(study.is_of(&plan, &[(0, 0), (1, 0), (2, 0)]) && !study.is_of(&plan, &[(1, 0)]));
        assert!(study.lane(0).unwrap().unknown, "full attention has no dictionary");
        let found = study.lane(1).unwrap();
        assert_eq!((found.planned, found.moments.len(), found.sampled(8)), (8, 8, false));
        let lane = &plan.lanes[1];
        let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
        for (step, moment) in found.moments.iter().enumerate() {
            layer.advance(1, Record::StateOnly, &mut TraceBlock::default()).unwrap();
            let state = layer.snapshot().unwrap();
            let dict = state.array("dict_k").unwrap();
            let (n, dk) = (dict.shape[1], dict.shape[2]);
            let row = |r: usize| &dict.values.as_f32().unwrap()[r * dk..(r + 1) * dk];
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
            let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            let best = pairs.map(|(i, j)| dot(row(i), row(j))).fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(moment.chunks, step + 1);
            assert!((moment.nearest.unwrap().dot.similarity - best).abs() < 1e-5, "step {step}");
            let seen = ((step + 1) * 64).min(500);
            let rows = &traces[1].channel("assignments").unwrap().wholes(0)[..seen];
            let errors: Vec<f64> = rows
                .iter()
                .enumerate()
                .map(|(i, &r)| 1.0 - dot(lane.setup.stream.keys_of(0).row(i).to_slice().unwrap(), row(r as usize)))
                .collect();
            let quantisation = moment.quantisation.unwrap();
            assert!((quantisation.mean - errors.iter().sum::<f64>() / seen as f64).abs() < 1e-5);
            assert!((quantisation.worst - errors.iter().copied().fold(f64::NEG_INFINITY, f64::max)).abs() < 1e-5);
        }
        // A fixed codebook's error is that of the similarity that each write had with its code.
        let last = study.lane(2).unwrap().moments.last().unwrap().quantisation.unwrap();
        let similarity = traces[2].channel("similarity").unwrap().reals(0);
        let mean = similarity.iter().map(|s| 1.0 - f64::from(*s)).sum::<f64>() / 500.0;
        assert!((last.mean - mean).abs() < 1e-5, "{} {mean}", last.mean);
        assert_eq!(study.lane(1).unwrap().before(3).unwrap().chunks, 3);
        assert!(study.lane(1).unwrap().before(0).is_none());
    }

    #[test]
    fn it_is_forgotten_with_its_run() {
        let (plan, traces) = run();
        let (mut study, wake): (Study, Wake) = (Study::default(), Arc::new(|| {}));
        study.start(&plan, &traces, vec![(1, 0)], &wake);
        drop(plan);
        study.receive();
        assert!(study.lane(1).is_none() && !study.running());
    }

    #[test]
    fn large_dictionaries_are_looked_at_less_often() {
        assert_eq!(most(1024, 256, 65_536, 16), 256);
        assert_eq!(most(5, 256, 65_536, 16), 5);
        // 2048 rows of 64 numbers: 0.136e9 multiply-adds each, 4e10 / 0.136e9 = 293; 16384 rows of 64: 8.6e9, so the fewest.
        assert_eq!(most(512, 2048, 65_536, 64), 256);
        assert_eq!(most(512, 16_384, 65_536, 64), 16);
    }
}
