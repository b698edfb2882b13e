//! What is opened from a sweep: one point's run, or the session as it was swept.

use super::model::Point;
use crate::app::command::{Command, SessionCommand};
use crate::engine::sweep::{Row, Values, is_of_task};
use crate::layer;
use crate::param::ParamValue;
use crate::session::plan::check_names;
use crate::session::{LaneSpec, MAX_LANES, Session, Source, lanes};

/// A run to be opened: all that its numbers depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub source: Source,
    pub seed: u64,
    pub lanes: Vec<LaneSpec>,
    /// The name that the point's lane had, and the one that it has now.
    pub renamed: Option<(String, String)>,
    /// Lanes that are switched off for it, and why.
    pub off: Vec<(String, String)>,
}

impl Opened {
    /// The session as it was swept.
    pub fn swept(swept: &Session) -> Self {
        let (source, lanes) = (swept.source.clone(), swept.lanes.clone());
        Self { source, seed: swept.seed, lanes, renamed: None, off: Vec::new() }
    }

    /// The run of a point: the swept session with the point's first seed and its values. Other lanes are as they were swept, but those
    /// that could not run on the point's stream are off: one lane that cannot run keeps all from running.
    pub fn point(swept: &Session, rows: &[Row], point: &Point) -> Option<Self> {
        let mut opened = Self::swept(swept);
        let at = opened.lanes.iter().position(|l| l.name == point.lane)?;
        opened.seed = point.seeds.first().map_or(swept.seed, |(seed, _)| *seed);
        if let Source::Task(task) = &mut opened.source {
            for (name, value) in point.varied.iter().filter(|(name, _)| is_of_task(name)) {
                task.params.set(name.split_once('.').map_or(name.as_str(), |(_, param)| param), value.clone());
            }
        }
        let own: Values = point.varied.iter().filter(|(name, _)| !is_of_task(name)).cloned().collect();
        let before = opened.lanes[at].name.clone();
        for (name, value) in &own {
            let old = set(&opened.lanes[at], name);
            opened.lanes[at].params.set(name, value.clone());
            rename(&mut opened.lanes, at, name, old.as_ref(), value);
        }
        opened.renamed = Some((before, opened.lanes[at].name.clone())).filter(|(old, new)| old != new);
        opened.switch_off(swept, rows, point, at);
        if !opened.lanes[at].enabled {
            lanes::enable(&mut opened.lanes, at, true);
        }
        Some(opened)
    }

    /// Switches off the other lanes that cannot run on the point's stream, and the last of those that are too many.
    fn switch_off(&mut self, swept: &Session, rows: &[Row], point: &Point, at: usize) {
        for (i, lane) in swept.lanes.iter().enumerate().filter(|(i, l)| *i != at && l.enabled) {
            if let Some(reason) = reason(rows, point, lane) {
                self.lanes[i].enabled = false;
                self.off.push((lane.name.clone(), reason));
            }
        }
        let others =
            |lanes: &[LaneSpec]| lanes.iter().enumerate().filter(|(i, l)| *i != at && l.enabled).map(|(i, _)| i).collect::<Vec<_>>();
        for i in others(&self.lanes).into_iter().skip(MAX_LANES - 1) {
            self.lanes[i].enabled = false;
            self.off.push((self.lanes[i].name.clone(), format!("at most {MAX_LANES} lanes run at once")));
        }
    }

    /// Asks for it.
    pub fn command(&self) -> Command {
        let (source, seed, lanes) = (self.source.clone(), self.seed, self.lanes.clone());
        Command::Session(SessionCommand::Whole { source, seed, lanes })
    }

    /// True if it is what runs.
    pub fn is(&self, session: &Session) -> bool {
        (&self.source, self.seed, &self.lanes) == (&session.source, session.seed, &session.lanes)
    }

    /// Which lanes are off for it, in a sentence; nothing where none is.
    pub fn words(&self) -> Option<String> {
        let names = self.off.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let (are, they) = if self.off.len() == 1 { ("is", "it") } else { ("are", "they") };
        (!self.off.is_empty()).then(|| format!("{names} {are} switched off in what was opened: {they} cannot run there."))
    }
}

/// Why another lane cannot run on a point's stream, if the sweep found that: for the values that the lane is left with, or, where it
/// was not run with these, for all that it was run with.
fn reason(rows: &[Row], point: &Point, lane: &LaneSpec) -> Option<String> {
    let of_task = |varied: &Values| varied.iter().filter(|(name, _)| is_of_task(name)).cloned().collect::<Values>();
    let task = of_task(&point.varied);
    let there: Vec<&Row> = rows.iter().filter(|r| r.lane == lane.name && of_task(&r.varied) == task).collect();
    let as_set: Vec<&Row> = there.iter().copied().filter(|r| is_set(lane, r)).collect();
    let these = if as_set.is_empty() { there } else { as_set };
    let mut reasons = these.iter().map(|r| r.score.as_ref().err());
    let first = reasons.next()??;
    reasons.all(|r| r.is_some()).then(|| first.clone())
}

/// True if a row's values of its lane's own parameters are those that the lane has.
fn is_set(lane: &LaneSpec, row: &Row) -> bool {
    row.varied.iter().filter(|(name, _)| !is_of_task(name)).all(|(name, value)| set(lane, name).is_some_and(|own| same(&own, value)))
}

/// The value of a lane's parameter: what is set, or else the default.
fn set(lane: &LaneSpec, name: &str) -> Option<ParamValue> {
    let default = || layer::kind(&lane.layer)?.params().iter().find(|p| p.name == name)?.default_value();
    lane.params.get(name).cloned().or_else(default)
}

/// True for equal values; 1 and 1.0 are.
pub fn same(a: &ParamValue, b: &ParamValue) -> bool {
    a == b || matches!((a.number(), b.number()), (Some(a), Some(b)) if a.total_cmp(&b).is_eq())
}

/// Keeps a lane's name true: the old value at its end becomes the new one, or else the new one is added. A name that would not be
/// allowed (one with a point, as in 0.5) or that is taken is not given.
fn rename(all: &mut [LaneSpec], at: usize, param: &str, old: Option<&ParamValue>, new: &ParamValue) {
    if old.is_some_and(|old| same(old, new)) {
        return;
    }
    let name = all[at].name.clone();
    let ending = old.and_then(|old| name.strip_suffix(&format!(" {old}")));
    let replaced = ending.map(|stem| format!("{stem} {new}"));
    for next in replaced.into_iter().chain([format!("{name}, {param} {new}")]) {
        all[at].name = next;
        if check_names(all).is_ok() {
            return;
        }
    }
    all[at].name = name;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sweep::Tally;
    use crate::param::Params;
    use crate::session::TaskSource;

    fn lane(name: &str, n_max: i64) -> LaneSpec {
        LaneSpec::new(name, "ovq", Params::default().with("n_max", n_max))
    }

    fn renamed(names: &[&str], param: &str, old: impl Into<ParamValue>, new: impl Into<ParamValue>) -> String {
        let mut all: Vec<LaneSpec> = names.iter().map(|n| lane(n, 1024)).collect();
        rename(&mut all, 0, param, Some(&old.into()), &new.into());
        all[0].name.clone()
    }

    #[test]
    fn a_name_never_tells_an_old_value() {
        assert_eq!(renamed(&["OVQ 1024"], "n_max", 1024, 256), "OVQ 256");
        assert_eq!(renamed(&["OVQ 1024", "OVQ 256"], "n_max", 1024, 256), "OVQ 1024, n_max 256", "the other name is taken");
        assert_eq!(renamed(&["OVQ"], "n_max", 1024, 256), "OVQ, n_max 256");
        assert_eq!(renamed(&["OVQ 11024"], "n_max", 1024, 256), "OVQ 11024, n_max 256", "11024 is another number");
        assert_eq!(renamed(&["OVQ 1024"], "n_max", 1024, 1024), "OVQ 1024");
        assert_eq!(renamed(&["OVQ"], "beta", 1.0, 0.5), "OVQ", "a name has no point");
        assert_eq!(renamed(&["OVQ"], "beta", 1, 1.0), "OVQ", "1 and 1.0 are one value");
        assert_eq!(renamed(&["OVQ"], "beta", 0.5, 2.0), "OVQ, beta 2");
    }

    fn row(lane: &str, varied: &Values, score: Result<(), &str>) -> Row {
        let cost = crate::layer::Cost { state_numbers: 1, write_madds: 1, read_madds: 1 };
        let tally = Some(Tally::Recall { correct: 1, reads: 2 });
        let fine = crate::engine::sweep::RowScore { tally, cost, memory_share: 1.0, seconds: 0.0, ran_on: String::new() };
        Row {
            session: String::new(),
            key: String::new(),
            lane: lane.to_owned(),
            layer: "ovq".to_owned(),
            seed: 5,
            varied: varied.clone(),
            set: Params::default(),
            params: Params::default(),
            source: String::new(),
            source_params: Params::default(),
            writes: None,
            step: 1,
            gpu: false,
            version: String::new(),
            score: score.map(|()| fine).map_err(str::to_owned),
        }
    }

    #[test]
    fn lanes_that_failed_on_the_points_stream_are_off_and_named() {
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default().with("T", 4096) });
        let swept = Session { source, seed: 4, lanes: vec![lane("OVQ", 64), lane("VQ", 1024), lane("b", 512)], ..Session::default() };
        let at = |t: i64, n: Option<i64>| -> Values {
            let n = n.map(|n| ("n_max".to_owned(), ParamValue::Int(n)));
            std::iter::once(("task.T".to_owned(), ParamValue::Int(t))).chain(n).collect()
        };
        let rows = [
            row("OVQ", &at(512, None), Ok(())),
            row("VQ", &at(512, None), Err("too long")),
            // This one is swept: what it is set to runs, another value does not.
            row("b", &at(512, Some(512)), Ok(())),
            row("b", &at(512, Some(1024)), Err("too long")),
            row("VQ", &at(4096, None), Ok(())),
        ];
        let model = super::super::model::Model::of(&rows, 1);
        let opened = Opened::point(&swept, &rows, &model.points[0]).unwrap();
        assert_eq!(opened.lanes.iter().map(|l| l.enabled).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(opened.off, [("VQ".to_owned(), "too long".to_owned())]);
        assert!(opened.words().unwrap().starts_with("VQ is switched off"));
        assert_eq!(opened.seed, 5, "the first seed that the point has");
        let Source::Task(task) = &opened.source else { panic!("a task") };
        assert_eq!(task.params.get("T"), Some(&ParamValue::Int(512)));
        // Where it ran, it stays on.
        let there = model.points.iter().find(|p| p.lane == "VQ").unwrap();
        assert!(Opened::point(&swept, &rows, there).unwrap().off.is_empty());
    }
}
