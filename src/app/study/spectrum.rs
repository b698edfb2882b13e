//! The singular values of a lane's linear state through its run: how large it grows, and how many directions it uses.
//!
//! The states come from the layer's own replay of its trace; of a long run only so many steps are decomposed as the work
//! allows, evenly, the last among them.

use std::sync::{Arc, Weak};

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::layer::LayerKind;
use crate::metric::spectrum::Spectrum;
use crate::session::plan::{Plan, PlanLane};
use crate::trace::LaneTrace;

/// The most steps that are decomposed.
pub const MOST_SAMPLES: usize = 128;
/// The fewest, however large the state.
const FEWEST_SAMPLES: usize = 8;
/// Multiply-adds of all decompositions together, about.
const WORK: usize = 20_000_000_000;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Stop; what was found stays.
    Stop,
    /// The states of this head of a lane (its number in the plan) of the run on screen. Begins once the run is over.
    Follow {
        /// The lane's number in its plan.
        lane: usize,
        /// The head of the lane's own stream.
        head: usize,
    },
}

/// A state that was decomposed.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Chunks of the lane that were done.
    pub chunks: usize,
    /// Its singular values.
    pub spectrum: Spectrum,
    /// `|S|_F`.
    pub frobenius: f64,
    /// See [`Spectrum::effective_rank`].
    pub effective_rank: f64,
    /// See [`Spectrum::stable_rank`].
    pub stable_rank: f64,
    /// The length of the normaliser s, where the layer has one.
    pub normaliser: Option<f64>,
}

/// What was found so far.
#[derive(Debug)]
pub struct Finding {
    plan: Weak<Plan>,
    /// The lane's number in its plan.
    pub lane: usize,
    /// The head.
    pub head: usize,
    /// The states decomposed so far, in their order.
    pub samples: Vec<Sample>,
    /// How many there will be.
    pub planned: usize,
    /// Chunks of the lane in all.
    pub chunks: usize,
}

/// The study.
#[derive(Debug, Default)]
pub struct Study {
    finding: Option<Finding>,
    work: Option<Work<Sample>>,
}

impl Study {
    /// Takes in what has been found; true if there is news.
    pub fn receive(&mut self) -> bool {
        let (Some(work), Some(finding)) = (&mut self.work, &mut self.finding) else { return false };
        let (found, news) = work.receive();
        finding.samples.extend(found);
        news
    }

    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        match ask {
            Ask::Stop => self.work.iter().for_each(Work::cancel),
            // Traces of a run that goes on are written to: holding them here would have each block copy them.
            Ask::Follow { lane, head } => {
                if let Some(run) = runs.current().filter(|r| r.ended && lane < r.plan.lanes.len()) {
                    self.start(&run.plan, &run.traces, lane, head, wake);
                }
            }
        }
    }

    /// Begins with a head of a lane of a run that is over; whatever was sought before is given up.
    pub fn start(&mut self, plan: &Arc<Plan>, traces: &Arc<Vec<LaneTrace>>, lane: usize, head: usize, wake: &Wake) {
        let own = &plan.lanes[lane];
        let chunks = own.setup.stream.chunks(own.setup.chunk);
        let wanted = samples(own, chunks);
        self.finding = Some(Finding { plan: Arc::downgrade(plan), lane, head, samples: Vec::new(), planned: wanted.len(), chunks });
        let (plan, traces) = (Arc::clone(plan), Arc::clone(traces));
        // The work before it, if there is one, is dropped and so stops.
        self.work = Some(Work::start("spectrum", wake, move |teller| compute(&plan.lanes[lane], &traces[lane], head, &wanted, teller)));
    }

    /// What was found of this head of a lane (its number in the plan); `None` if something else was asked for last.
    #[must_use]
    pub fn of(&self, plan: &Arc<Plan>, lane: usize, head: usize) -> Option<&Finding> {
        let same = |f: &&Finding| Weak::as_ptr(&f.plan) == Arc::as_ptr(plan) && (f.lane, f.head) == (lane, head);
        self.finding.as_ref().filter(same)
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

/// True if a layer keeps a linear state that can be replayed.
#[must_use]
pub fn has_state(lane: &PlanLane) -> bool {
    // With nothing written there is nothing to replay, and the answer is whether there could be.
    lane.kind.replay_state(&lane.setup, &lane.trace(), 0, &mut |_| false)
}

/// After how many chunks the states are decomposed: evenly, the last among them.
fn samples(lane: &PlanLane, chunks: usize) -> Vec<usize> {
    let stream = &lane.setup.stream;
    let numbers = lane.kind.cost(&lane.setup).state_numbers as usize;
    let columns = stream.value_dim();
    // A decomposition of [m, n], m >= n, takes about 4 m n^2 multiply-adds.
    let each = 4 * numbers.max(1) * columns.min(numbers / columns.max(1)).max(1);
    let most = (WORK / each).clamp(FEWEST_SAMPLES, MOST_SAMPLES);
    spaced(chunks, most)
}

/// At most `most` of 1..=n, evenly, the last among them.
fn spaced(n: usize, most: usize) -> Vec<usize> {
    let count = n.min(most);
    (1..=count).map(|i| i * n / count).collect()
}

fn compute(lane: &PlanLane, trace: &LaneTrace, head: usize, wanted: &[usize], teller: &Teller<Sample>) -> Result<(), String> {
    let mut next = 0;
    let kind: &dyn LayerKind = lane.kind;
    let replayed = kind.replay_state(&lane.setup, trace, head, &mut |at| {
        if wanted.get(next) == Some(&at.chunks) {
            let spectrum = Spectrum::of(at.state);
            teller.part(Sample {
                chunks: at.chunks,
                frobenius: spectrum.frobenius(),
                effective_rank: spectrum.effective_rank(),
                stable_rank: spectrum.stable_rank(),
                normaliser: at.normaliser.map(|s| s.iter().map(|x| x * x).sum::<f64>().sqrt()),
                spectrum,
            });
            next += 1;
            teller.share(next as f32 / wanted.len() as f32);
        }
        next < wanted.len() && !teller.cancelled()
    });
    if replayed { Ok(()) } else { Err("this layer has no linear state".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::headless;
    use crate::layer::{Precision, Record};
    use crate::param::Params;
    use crate::session::hand::{Act, Hand};
    use crate::session::{BackendChoice, LaneSpec, Session, Source, TaskSource};
    use crate::trace::TraceBlock;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// Needles over every layer with a linear state, and one without. T is no whole number of chunks.
    fn run() -> (Arc<Plan>, Arc<Vec<LaneTrace>>) {
        let params = Params::default().with("T", 300).with("needles", 4).with("dk", 8).with("dv", 6);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let lola = |cache: i64| Params::default().with("window", 40).with("chunk", 32).with("cache", cache).with("fmap", "hedgehog");
        let map = |name: &str| Params::default().with("fmap", name);
        let lanes = vec![
            LaneSpec::new("linear", "linear", map("elu1")),
            LaneSpec::new("taylor", "linear", map("taylor2")),
            LaneSpec::new("LoLA", "lola", lola(16)),
            LaneSpec::new("LoLCATs", "lola", lola(0)),
            LaneSpec::new("delta", "deltanet", Params::default()),
            LaneSpec::new("gated", "gated_deltanet", Params::default().with("decay", 0.97)),
            LaneSpec::new("mamba", "mamba2", Params::default().with("decay", 0.95)),
            LaneSpec::new("full", "full", Params::default()),
        ];
        let mut lanes = lanes;
        // Two of them lose their state by hand on the way.
        for name in ["taylor", "gated"] {
            let lane = lanes.iter_mut().find(|l| l.name == name).unwrap();
            lane.hands = vec![Hand { step: 3, kv_head: 0, what: Act::Forget }];
        }
        let plan = Arc::new(Plan::new(&Session { source, lanes, ..Session::default() }, None).unwrap());
        let run = headless::run(&plan, BackendChoice::Cpu, |_| {}, &AtomicBool::new(false)).unwrap();
        (plan, Arc::new(run.traces))
    }

    #[test]
    fn every_layer_with_a_state_replays_what_its_snapshots_hold_after_every_chunk() {
        let (plan, traces) = run();
        for (lane, trace) in plan.lanes.iter().zip(traces.iter()) {
            assert_eq!(has_state(lane), lane.name != "full", "{}", lane.name);
            let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
            let (mut visited, mut worst) = (0, 0.0_f64);
            lane.kind.replay_state(&lane.setup, trace, 0, &mut |at| {
                visited += 1;
                assert_eq!(at.chunks, visited);
                layer.advance(1, Record::StateOnly, &mut TraceBlock::default()).unwrap();
                let snapshot = layer.snapshot().unwrap();
                let state = snapshot.array("state").unwrap();
                assert_eq!(state.shape[1..], [at.state.nrows(), at.state.ncols()]);
                let largest = at.state.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                for (i, x) in at.state.iter().enumerate() {
                    worst = worst.max((x - state.values.get(i).unwrap()).abs() / largest);
                }
                let normaliser = snapshot.array("normaliser");
                assert_eq!(normaliser.is_some(), at.normaliser.is_some());
                for (i, x) in at.normaliser.unwrap_or_default().iter().enumerate() {
                    let held = normaliser.unwrap().values.get(i).unwrap();
                    assert!((x - held).abs() <= 1e-4 * (1.0 + x.abs()), "{} s[{i}] {x} {held}", lane.name);
                }
                true
            });
            assert!(worst < 2e-5, "{}: {worst}", lane.name);
            assert_eq!(visited, if lane.name == "full" { 0 } else { 300_usize.div_ceil(lane.setup.chunk) }, "{}", lane.name);
        }
    }

    #[test]
    fn a_replay_stops_when_told_and_goes_no_further_than_the_trace() {
        let (plan, traces) = run();
        for (lane, trace) in plan.lanes.iter().zip(traces.iter()).filter(|(l, _)| l.name != "full") {
            let mut n = 0;
            let stopped = lane.kind.replay_state(&lane.setup, trace, 0, &mut |_| {
                n += 1;
                n < 3
            });
            assert!(stopped && n == 3, "{}", lane.name);
            let mut layer = lane.kind.cpu(&lane.setup, Precision::Single).unwrap();
            let (mut block, mut short) = (TraceBlock::default(), LaneTrace::new(&lane.channels[..lane.own_channels], 1, 1));
            layer.advance(2, Record::All, &mut block).unwrap();
            short.append(&block).unwrap();
            let mut last = 0;
            lane.kind.replay_state(&lane.setup, &short, 0, &mut |at| {
                last = at.chunks;
                true
            });
            // Linear attention writes no step: without a read its trace does not tell how far it is.
            assert!(last <= 2 && (last == 2 || lane.kind.name() == "linear"), "{} {last}", lane.name);
        }
    }

    #[test]
    fn the_study_finds_the_singular_values_of_sampled_states() {
        let (plan, traces) = run();
        let (mut study, wake): (Study, Wake) = (Study::default(), Arc::new(|| {}));
        study.start(&plan, &traces, 4, 0, &wake);
        let start = Instant::now();
        while study.running() && start.elapsed() < Duration::from_secs(20) {
            study.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(study.error().is_none() && study.of(&plan, 3, 0).is_none());
        let finding = study.of(&plan, 4, 0).unwrap();
        let norms = traces[4].channel("state_norm").unwrap().reals(0);
        assert_eq!(
            (finding.samples.len(), finding.planned, finding.samples.last().unwrap().chunks),
            (norms.len(), norms.len(), norms.len())
        );
        for (sample, norm) in finding.samples.iter().zip(norms) {
            assert!((sample.frobenius - f64::from(*norm)).abs() < 1e-4 * sample.frobenius, "{} {norm}", sample.frobenius);
            assert!(sample.effective_rank >= 1.0 && sample.effective_rank <= 6.0 + 1e-9 && sample.normaliser.is_none());
        }
    }

    #[test]
    fn samples_are_even_and_end_with_the_last() {
        assert_eq!(spaced(10, 4), [2, 5, 7, 10]);
        assert_eq!(spaced(3, 128), [1, 2, 3]);
        assert_eq!(spaced(0, 8), [] as [usize; 0]);
        let many = spaced(65_536, 128);
        assert_eq!((many.len(), many[0], many[127]), (128, 512, 65_536));
    }
}
