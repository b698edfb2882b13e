//! What the results are of: the session that was swept, in words, and how the session as set differs from it.

use super::model::Model;
use super::open::same;
use crate::engine::sweep::{Owner, Spec};
use crate::panel::common::plural;
use crate::param::{ParamSpec, ParamValue};
use crate::session::{CaptureSource, Session, Source, TaskSource};
use crate::task::task;

/// The name of a source: the task's, or the capture's file.
#[must_use]
pub fn name(source: &Source) -> String {
    match source {
        Source::Task(task) => task.name.clone(),
        Source::Capture(capture) if capture.is_bundled() => "the bundled capture".to_owned(),
        Source::Capture(capture) => {
            let file = capture.path.file_name().unwrap_or(capture.path.as_os_str());
            format!("the capture {}", file.to_string_lossy())
        }
    }
}

/// `needles, 3 seeds`; while points have fewer seeds than was asked for, `needles, 1 to 2 of 3 seeds`.
#[must_use]
pub fn heading(swept: &Session, model: &Model) -> String {
    format!("{}, {}", name(&swept.source), seeds(model))
}

fn seeds(model: &Model) -> String {
    let counts = || model.points.iter().map(|p| p.seeds.len());
    let wanted = model.seeds as usize;
    match (counts().min().unwrap_or(wanted), counts().max().unwrap_or(wanted)) {
        (low, _) if low >= wanted => plural(wanted, "seed", "seeds"),
        (low, high) if low == high => format!("{low} of {}", plural(wanted, "seed", "seeds")),
        (low, high) => format!("{low} to {high} of {}", plural(wanted, "seed", "seeds")),
    }
}

/// The source's values and the seeds, for the pointer: `needles: T 512, needles 16. Seeds 0 to 2.`
#[must_use]
pub fn whole(swept: &Session, seeds: u64) -> String {
    let last = swept.seed.wrapping_add(seeds.saturating_sub(1));
    let seeds = if seeds > 1 { format!("Seeds {} to {last}", swept.seed) } else { format!("Seed {}", swept.seed) };
    let source = name(&swept.source);
    let Source::Task(of) = &swept.source else { return format!("{source}. {seeds}.") };
    let values = specs(of).iter().filter_map(|s| Some(format!("{} {}", s.name, value(of, s)?))).collect::<Vec<_>>().join(", ");
    format!("{source}: {values}. {seeds}. Lanes as they were when the sweep began.")
}

/// How the session as set differs from the one that was swept, in a sentence; nothing where it does not. What the sweep itself varies
/// of the task is no difference.
#[must_use]
pub fn elsewhere(swept: &Session, spec: &Spec, here: &Session) -> Option<String> {
    let mut other: Vec<String> = match (&swept.source, &here.source) {
        (Source::Task(there), Source::Task(now)) if there.name == now.name => differences(there, now, spec),
        (there, now) if there == now => Vec::new(),
        (Source::Capture(there), Source::Capture(now)) if name(&swept.source) == name(&here.source) => {
            let part = |c: &CaptureSource| (c.layer, c.kv_heads.clone(), c.tokens);
            let what = if part(there) == part(now) { "another path to that file" } else { "another part of it" };
            vec![what.to_owned()]
        }
        (_, now) => vec![name(now)],
    };
    if swept.seed != here.seed {
        other.push(format!("seed {}", here.seed));
    }
    let of = format!("Of {}, seed {}", name(&swept.source), swept.seed);
    (!other.is_empty()).then(|| format!("{of}: not the session as set, which has {}.", other.join(", ")))
}

fn specs(of: &TaskSource) -> &'static [ParamSpec] {
    task(&of.name).map_or(&[][..], |t| t.params())
}

fn value(of: &TaskSource, spec: &ParamSpec) -> Option<ParamValue> {
    of.params.get(spec.name).cloned().or_else(|| spec.default_value())
}

/// Parameters of one task that are set otherwise: `T 1024 for 512`.
fn differences(there: &TaskSource, now: &TaskSource, spec: &Spec) -> Vec<String> {
    let varied = |name: &str| spec.axes.iter().any(|a| a.owner == Owner::Task && a.param == name);
    let differs = |s: &&ParamSpec| match (value(there, s), value(now, s)) {
        (Some(a), Some(b)) => !same(&a, &b),
        (a, b) => a != b,
    };
    let word = |v: Option<ParamValue>| v.map_or_else(|| "auto".to_owned(), |v| v.to_string());
    let text = |s: &ParamSpec| format!("{} {} for {}", s.name, word(value(now, s)), word(value(there, s)));
    specs(there).iter().filter(|s| !varied(s.name)).filter(differs).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sweep::{Axis, Tally};
    use crate::metric::Scored;
    use crate::panel::sweep::model::Point;
    use crate::param::Params;
    use crate::session::LaneSpec;

    fn session(name: &str, t: i64, needles: i64, seed: u64) -> Session {
        let params = Params::default().with("T", t).with("needles", needles);
        let source = Source::Task(TaskSource { name: name.to_owned(), params });
        Session { source, seed, lanes: vec![LaneSpec::new("w", "window", Params::default())], ..Session::default() }
    }

    #[test]
    fn another_source_or_seed_is_told_and_what_is_varied_is_not() {
        let swept = session("needles", 512, 16, 0);
        let spec = Spec::new(vec![Axis::parse(&swept, "task.needles=8,16").unwrap()], 2).unwrap();
        let says = |here: &Session| elsewhere(&swept, &spec, here);
        assert_eq!(says(&swept), None);
        assert_eq!(says(&session("needles", 512, 8, 0)), None, "an opened point is of the sweep");
        let prefix = "Of needles, seed 0: not the session as set, which has ";
        assert_eq!(says(&session("needles", 1024, 16, 3)).unwrap(), format!("{prefix}T 1024 for 512, seed 3."));
        let capture = Session { source: Session::default().source, ..swept.clone() };
        assert_eq!(says(&capture).unwrap(), format!("{prefix}the bundled capture."));
        // What is set to its default is not set otherwise.
        let mut explicit = swept.clone();
        let Source::Task(of) = &mut explicit.source else { panic!("a task") };
        let d = specs(of).iter().find(|s| s.name == "dk").unwrap().default_value().unwrap();
        of.params.set("dk", d);
        assert_eq!(says(&explicit), None);
    }

    #[test]
    fn points_of_fewer_seeds_are_counted() {
        let point = |n: u64| {
            let seeds = (0..n).map(|s| (s, Tally::Recall { correct: 1, reads: 2 })).collect();
            Point { lane: "w".to_owned(), varied: Vec::new(), seeds, numbers: 1, share: 1.0, madds: (1, 1), seconds: 0.0 }
        };
        let of = |counts: &[u64], seeds| {
            let model = Model { points: counts.iter().map(|n| point(*n)).collect(), failed: Vec::new(), scored: Scored::Accuracy, seeds };
            heading(&session("needles", 512, 16, 0), &model)
        };
        assert_eq!(of(&[1, 2], 3), "needles, 1 to 2 of 3 seeds");
        assert_eq!(of(&[1, 1], 2), "needles, 1 of 2 seeds");
        assert_eq!((of(&[2, 2], 2), of(&[1], 1)), ("needles, 2 seeds".to_owned(), "needles, 1 seed".to_owned()));
    }
}
