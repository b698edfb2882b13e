//! The pieces of work of a sweep: a lane with its values, on a stream.

use super::spec::{Axis, Owner, Spec, TASK};
use crate::param::{ParamValue, Params};
use crate::session::{LaneSpec, Session, Source};

/// One value of each axis that touches something, by the name of its parameter.
pub type Values = Vec<(String, ParamValue)>;

/// One lane with its values, to be scored on one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// The seed.
    pub seed: u64,
    /// The task's values, if the task is varied.
    pub task: Values,
    /// The lane, its values set.
    pub lane: LaneSpec,
    /// What is varied for it, in the order of the axes: `n_max` 64, `task.T` 1024.
    pub varied: Values,
}

impl Piece {
    /// The session that the piece's stream comes from.
    #[must_use]
    pub fn session(&self, base: &Session) -> Session {
        let mut session = Session { seed: self.seed, ..base.clone() };
        if let Source::Task(source) = &mut session.source {
            for (name, value) in &self.task {
                source.params.set(name, value.clone());
            }
        }
        session
    }
}

/// Every piece of a sweep: seed by seed, stream by stream, lane by lane, so that pieces of one stream follow one another, and the
/// first seed is whole before the next begins.
///
/// Lanes that are switched off take no part unless they are varied. A lane that no axis touches is there once a stream.
#[must_use]
pub fn pieces(session: &Session, spec: &Spec) -> Vec<Piece> {
    let of_task: Vec<&Axis> = spec.axes.iter().filter(|a| a.owner == Owner::Task).collect();
    let mut all = Vec::new();
    for seed in (0..spec.seeds).map(|i| session.seed.wrapping_add(i)) {
        for task in product(&of_task) {
            for lane in &session.lanes {
                let axes: Vec<&Axis> = spec.axes.iter().filter(|a| a.touches(&lane.name)).collect();
                if axes.is_empty() && !lane.enabled {
                    continue;
                }
                for own in product(&axes) {
                    all.push(piece(spec, seed, &task, lane, &own));
                }
            }
        }
    }
    all
}

fn piece(spec: &Spec, seed: u64, task: &Values, lane: &LaneSpec, own: &Values) -> Piece {
    let params = own.iter().fold(lane.params.clone(), |p: Params, (name, value)| p.with(name, value.clone()));
    let lane = LaneSpec { params, enabled: true, ..lane.clone() };
    // In the order of the axes, whoever owns them.
    let value = |axis: &Axis| {
        let (values, title) = if axis.owner == Owner::Task { (task, axis.title()) } else { (own, axis.title()) };
        let here = axis.owner == Owner::Task || axis.touches(&lane.name);
        values.iter().find(|(n, _)| here && n == axis.param).map(|(_, v)| (title, v.clone()))
    };
    Piece { seed, task: task.clone(), varied: spec.axes.iter().filter_map(value).collect(), lane }
}

/// Every combination of the axes' values; one empty one for no axis. The last axis changes fastest.
fn product(axes: &[&Axis]) -> Vec<Values> {
    let mut all = vec![Values::new()];
    for axis in axes {
        let extend = |values: Values| {
            axis.values.iter().map(move |v| {
                let mut longer = values.clone();
                longer.push((axis.param.to_owned(), v.clone()));
                longer
            })
        };
        all = all.into_iter().flat_map(extend).collect();
    }
    all
}

/// True for the name of a varied parameter that is the task's.
#[must_use]
pub fn is_of_task(title: &str) -> bool {
    title.strip_prefix(TASK).is_some_and(|rest| rest.starts_with('.'))
}
