//! How new each key is to its head: every key is held against every earlier one, block by block, in the background.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::Wake;
use super::work::{Teller, Work};
use crate::app::state::Runs;
use crate::metric::novelty::{BLOCK, madds, novelty, unit_keys};
use crate::session::plan::Plan;

/// A head that needs no more multiply-adds than this is computed unasked: about a second.
const QUICK: u64 = 8_000_000_000;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Stop; what was found stays, and the next question goes on from there.
    Stop,
    /// The novelty of every key of this key/value head of the run on screen. Needs the stream alone: the run may go on.
    Head(usize),
}

/// The study. What it finds is kept for each head, as long as the plan stays.
#[derive(Debug, Default)]
pub struct Study {
    plan: Option<Weak<Plan>>,
    /// By head: the novelty of its first keys, as far as it is known.
    found: BTreeMap<usize, Vec<f32>>,
    /// The head that is worked on, since when, and the work.
    work: Option<(usize, Instant, Work<Vec<f32>>)>,
}

impl Study {
    /// Takes in what has been found; true if there is news.
    pub fn receive(&mut self) -> bool {
        let Some((head, _, work)) = &mut self.work else { return false };
        let (parts, news) = work.receive();
        let found = self.found.entry(*head).or_default();
        for part in parts {
            found.extend(part);
        }
        news
    }

    pub(super) fn command(&mut self, ask: Ask, runs: &Runs, wake: &Wake) {
        match (ask, runs.current()) {
            (Ask::Stop, _) => self.work.iter().for_each(|(.., work)| work.cancel()),
            (Ask::Head(head), Some(run)) => self.start(&run.plan, head, wake),
            (Ask::Head(_), None) => {}
        }
    }

    /// Begins, or goes on, with a key/value head of a plan; a head that is worked on, or known, is left as it is.
    pub fn start(&mut self, plan: &Arc<Plan>, head: usize, wake: &Wake) {
        if !self.is_of(plan) {
            *self = Self { plan: Some(Arc::downgrade(plan)), ..Self::default() };
        }
        if head >= plan.stream.kv_heads() || self.running(plan, head) {
            return;
        }
        // What the work before this one still tells must not be taken for this one's.
        self.receive();
        let known = self.found.get(&head).map_or(0, Vec::len);
        if known < plan.stream.writes() {
            let plan = Arc::clone(plan);
            let work = Work::start("novelty of keys", wake, move |teller| {
                compute(&plan, head, known, teller);
                Ok(())
            });
            self.work = Some((head, Instant::now(), work));
        }
    }

    fn is_of(&self, plan: &Arc<Plan>) -> bool {
        self.plan.as_ref().is_some_and(|p| Weak::as_ptr(p) == Arc::as_ptr(plan))
    }

    /// The novelty of the first keys of a key/value head of this plan, NaN for the very first: as many as are known.
    #[must_use]
    pub fn of(&self, plan: &Arc<Plan>, head: usize) -> &[f32] {
        if self.is_of(plan) { self.found.get(&head).map_or(&[], Vec::as_slice) } else { &[] }
    }

    /// True while it works on this head.
    #[must_use]
    pub fn running(&self, plan: &Arc<Plan>, head: usize) -> bool {
        self.is_of(plan) && self.work.as_ref().is_some_and(|(h, _, work)| *h == head && work.running())
    }

    /// True while it works on any head.
    #[must_use]
    pub fn busy(&self) -> bool {
        self.work.as_ref().is_some_and(|(.., work)| work.running())
    }

    /// How far the work is, from 0 to 1, and about how many seconds it still takes, once that can be told.
    #[must_use]
    pub fn progress(&self) -> (f32, Option<f64>) {
        let Some((_, since, work)) = &self.work else { return (0.0, None) };
        let (share, spent) = (work.share(), since.elapsed().as_secs_f64());
        (share, (share > 0.02 && spent > 0.5).then(|| spent * f64::from((1.0 - share) / share)))
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.work.as_ref().and_then(|(.., work)| work.error())
    }
}

/// True where a head of this plan is so small that a panel may ask for it unasked.
#[must_use]
pub fn is_quick(plan: &Plan) -> bool {
    madds(plan.stream.writes(), plan.stream.key_dim()) <= QUICK
}

/// Tells the novelty of the keys from `known` on, a block at a time, in order.
fn compute(plan: &Plan, head: usize, known: usize, teller: &Teller<Vec<f32>>) {
    let unit = unit_keys(plan.stream.keys_of(head));
    let total = plan.stream.writes();
    // A block costs as much as there are keys before its end.
    let (whole, done) = (madds(total, 1).saturating_sub(madds(known, 1)).max(1), madds(known, 1));
    for start in (known..total).step_by(BLOCK) {
        if teller.cancelled() {
            return;
        }
        let end = (start + BLOCK).min(total);
        teller.part(novelty(unit.view(), start..end));
        teller.share(((madds(end, 1) - done) as f64 / whole as f64) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{LaneSpec, Session, Source, TaskSource};
    use std::time::Duration;

    fn plan(writes: i64) -> Arc<Plan> {
        let params = crate::param::Params::default().with("T", writes).with("needles", 4).with("dk", 8).with("dv", 8);
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params });
        let lanes = vec![LaneSpec::new("full", "full", crate::param::Params::default())];
        Arc::new(Plan::new(&Session { source, lanes, ..Session::default() }, None).unwrap())
    }

    fn wait(study: &mut Study, until: impl Fn(&Study) -> bool) {
        let start = Instant::now();
        while !until(study) && start.elapsed() < Duration::from_secs(30) {
            study.receive();
            std::thread::sleep(Duration::from_millis(1));
        }
        study.receive();
    }

    #[test]
    fn every_key_of_a_head_is_found_once_and_kept_while_the_plan_stays() {
        let (plan, wake): (_, Wake) = (plan(1024), Arc::new(|| {}));
        let mut study = Study::default();
        study.start(&plan, 0, &wake);
        let whole = plan.clone();
        wait(&mut study, move |s| !s.running(&whole, 0));
        let expected = novelty(unit_keys(plan.stream.keys_of(0)).view(), 0..1024);
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(study.of(&plan, 0)), bits(&expected));
        assert!(study.error().is_none() && study.progress().0 > 0.999);
        study.start(&plan, 0, &wake);
        assert!(!study.running(&plan, 0), "it is known");
        let other = self::plan(512);
        assert!(study.of(&other, 0).is_empty(), "of another plan");
        study.start(&other, 0, &wake);
        assert!(study.of(&plan, 0).is_empty());
    }

    #[test]
    fn a_stopped_study_goes_on_where_it_was() {
        let (plan, wake): (_, Wake) = (plan(4096), Arc::new(|| {}));
        let mut study = Study::default();
        study.start(&plan, 0, &wake);
        wait(&mut study, |s| s.found.get(&0).is_some_and(|f| !f.is_empty()));
        study.command(Ask::Stop, &Runs::default(), &wake);
        let same = plan.clone();
        wait(&mut study, move |s| !s.running(&same, 0));
        study.start(&plan, 0, &wake);
        let same = plan.clone();
        wait(&mut study, move |s| !s.running(&same, 0));
        let found = study.of(&plan, 0);
        assert_eq!(found.len(), 4096);
        // Of needles' sixteen sentences nearly every key of the hay has been there before.
        assert!(found[0].is_nan() && found[1..].iter().all(|n| (0.0..=2.0).contains(n)));
    }
}
