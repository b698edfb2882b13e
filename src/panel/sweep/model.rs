//! Rows of a sweep as points of a plot: seeds pooled, lanes joined to lines, and the points that nothing beats.

use crate::engine::sweep::{Axis, Owner, Row, Spec, Tally, Values, is_of_task};
use crate::metric::{Scored, Summary};
use crate::param::ParamValue;

/// One lane at one point, all its seeds together.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The lane.
    pub lane: String,
    /// What is varied for it.
    pub varied: Values,
    /// By seed, what it scored.
    pub seeds: Vec<(u64, Tally)>,
    /// Numbers that the memory holds, per head.
    pub numbers: u64,
    /// The share of full attention's memory.
    pub share: f64,
    /// Multiply-adds a token, and a read, per head.
    pub madds: (u64, u64),
    /// Seconds, of all seeds together.
    pub seconds: f64,
}

impl Point {
    /// All seeds together.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        Tally::total(self.seeds.iter().map(|(_, t)| t)).map(|t| t.summary())
    }

    /// The accuracy or the relative error of all seeds together; `None` without reads or where it is no number.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        self.summary().and_then(|s| s.headline()).filter(|s| s.is_finite())
    }

    /// The ends of the error bar: Wilson's 95% interval of an accuracy, the smallest and the largest of several seeds' errors.
    #[must_use]
    pub fn bar(&self) -> Option<(f64, f64)> {
        if let Some(interval) = self.summary().and_then(|s| s.interval()) {
            return Some(interval);
        }
        let errors = self.seeds.iter().filter_map(|(_, t)| t.summary().headline()).filter(|e| e.is_finite());
        let (low, high) = errors.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), e| (low.min(e), high.max(e)));
        (self.seeds.len() > 1 && low <= high).then_some((low, high))
    }

    /// The value of one varied parameter.
    #[must_use]
    pub fn value(&self, title: &str) -> Option<&ParamValue> {
        self.varied.iter().find(|(name, _)| name == title).map(|(_, value)| value)
    }

    /// What is varied, in words: `n_max 64, chunk 32`.
    #[must_use]
    pub fn settings(&self) -> String {
        self.varied.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }

    /// The lane and what is varied: `OVQ, n_max 64`.
    #[must_use]
    pub fn title(&self) -> String {
        let settings = self.settings();
        if settings.is_empty() { self.lane.clone() } else { format!("{}, {settings}", self.lane) }
    }

    /// The task's values: points of other ones were asked other questions.
    fn task(&self) -> Vec<&(String, ParamValue)> {
        self.varied.iter().filter(|(name, _)| is_of_task(name)).collect()
    }
}

/// All that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The points, in the order of the axes' values.
    pub points: Vec<Point>,
    /// Why points have no score, each sentence once, with how many.
    pub failed: Vec<(String, usize)>,
    /// What the score is: of an accuracy more is better, of an error less.
    pub scored: Scored,
    /// Seeds that every point is to have.
    pub seeds: u64,
}

impl Model {
    /// Pools the rows of a sweep of so many seeds.
    #[must_use]
    pub fn of(rows: &[Row], seeds: u64) -> Self {
        let mut model = Self { points: Vec::new(), failed: Vec::new(), scored: Scored::Accuracy, seeds };
        for row in rows {
            let score = match &row.score {
                Ok(score) => score,
                Err(reason) => {
                    match model.failed.iter_mut().find(|(known, _)| known == reason) {
                        Some((_, count)) => *count += 1,
                        None => model.failed.push((reason.clone(), 1)),
                    }
                    continue;
                }
            };
            let Some(tally) = score.tally else { continue };
            model.scored = tally.scored();
            let there = model.points.iter().position(|p| p.lane == row.lane && p.varied == row.varied);
            let at = there.unwrap_or_else(|| {
                model.points.push(Point {
                    lane: row.lane.clone(),
                    varied: row.varied.clone(),
                    seeds: Vec::new(),
                    numbers: score.cost.state_numbers,
                    share: score.memory_share,
                    madds: (score.cost.write_madds, score.cost.read_madds),
                    seconds: 0.0,
                });
                model.points.len() - 1
            });
            model.points[at].seeds.push((row.seed, tally));
            model.points[at].seconds += score.seconds;
        }
        model
    }

    /// Of how many seeds a point is, where some are missing: `1 of 3 seeds`.
    #[must_use]
    pub fn partial(&self, point: &Point) -> Option<String> {
        let (done, wanted) = (point.seeds.len() as u64, self.seeds);
        (done < wanted).then(|| format!("{done} of {wanted} {}", if wanted == 1 { "seed" } else { "seeds" }))
    }

    /// True if the first score is better than the second.
    fn better(&self, a: f64, b: f64) -> bool {
        if self.scored == Scored::Accuracy { a > b } else { a < b }
    }

    /// The points that no other beats, one list for each set of the task's values, from the smallest memory: a point is beaten by
    /// one that scores better with no more numbers, or as well with fewer.
    #[must_use]
    pub fn fronts(&self) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = (0..self.points.len()).filter(|&i| self.points[i].score().is_some()).collect();
        let mut fronts = Vec::new();
        while let Some(&first) = left.first() {
            let task = self.points[first].task();
            let (mut these, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(|&i| self.points[i].task() == task);
            left = others;
            let key = |i: usize| (self.points[i].numbers, self.points[i].score().unwrap_or(f64::NAN));
            these.sort_by(|&a, &b| {
                let ((na, sa), (nb, sb)) = (key(a), key(b));
                let by_score = if self.scored == Scored::Accuracy { sb.total_cmp(&sa) } else { sa.total_cmp(&sb) };
                na.cmp(&nb).then(by_score).then(a.cmp(&b))
            });
            let mut front: Vec<usize> = Vec::new();
            for i in these {
                if front.last().is_none_or(|&last| self.better(key(i).1, key(last).1)) {
                    front.push(i);
                }
            }
            fronts.push(front);
        }
        fronts
    }

    /// The lines of a plot: points of one lane that differ in `along` alone (its first varied parameter where none is given), in
    /// the order of the values.
    #[must_use]
    pub fn lines(&self, along: Option<&str>) -> Vec<Vec<usize>> {
        let mut lines: Vec<(String, Values, Vec<usize>)> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let along =
                along.or_else(|| point.varied.iter().find(|(n, _)| !is_of_task(n)).or(point.varied.first()).map(|(n, _)| n.as_str()));
            let rest: Values = point.varied.iter().filter(|(name, _)| Some(name.as_str()) != along).cloned().collect();
            match lines.iter_mut().find(|(lane, others, _)| *lane == point.lane && *others == rest) {
                Some((_, _, line)) => line.push(i),
                None => lines.push((point.lane.clone(), rest, vec![i])),
            }
        }
        lines.into_iter().map(|(_, _, line)| line).collect()
    }
}

/// Where the values of an axis lie along a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Along {
    /// The parameter, as rows name it.
    pub title: String,
    /// By value, where it lies.
    pub places: Vec<(ParamValue, f64)>,
    /// True for ratios.
    pub log: bool,
    /// True where values are words, which lie one beside the other.
    pub words: bool,
}

impl Along {
    /// Of an axis.
    #[must_use]
    pub fn new(axis: &Axis) -> Self {
        let reals: Option<Vec<f64>> = axis.values.iter().map(crate::param::ParamValue::number).collect();
        let log = axis.log && reals.as_ref().is_some_and(|r| r.iter().all(|x| *x > 0.0));
        let words = reals.is_none();
        let places = reals.unwrap_or_else(|| (0..axis.values.len()).map(|i| i as f64).collect());
        Self { title: axis.title(), places: axis.values.iter().cloned().zip(places).collect(), log, words }
    }

    /// Where a value lies.
    #[must_use]
    pub fn place(&self, value: &ParamValue) -> Option<f64> {
        self.places.iter().find(|(v, _)| v == value).map(|(_, place)| *place)
    }

    /// The name of the plot's axis, with what the places mean where values are words.
    #[must_use]
    pub fn label(&self) -> String {
        if !self.words {
            return self.title.clone();
        }
        let words = self.places.iter().map(|(value, place)| format!("{place} {value}")).collect::<Vec<_>>();
        format!("{} ({})", self.title, words.join(", "))
    }

    /// The smallest and the largest place, with some room.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        let all = || self.places.iter().map(|(_, place)| *place);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        if self.log {
            let room = (high / low).powf(0.04).max(1.05);
            (low / room, high * room)
        } else {
            let room = ((high - low) * 0.04).max(if self.words { 0.3 } else { 1e-9 * high.abs().max(1.0) });
            (low - room, high + room)
        }
    }
}

/// The lanes of which a map of two parameters can be drawn: those that both axes touch.
#[must_use]
pub fn mapped(spec: &Spec, lanes: &[String]) -> Vec<String> {
    let [first, second] = spec.axes.as_slice() else { return Vec::new() };
    let touches = |axis: &Axis, lane: &str| axis.owner == Owner::Task || axis.touches(lane);
    lanes.iter().filter(|lane| touches(first, lane) && touches(second, lane)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(lane: &str, varied: &[(&str, i64)], numbers: u64, correct: u64) -> Point {
        let varied = varied.iter().map(|(n, v)| ((*n).to_owned(), ParamValue::Int(*v))).collect();
        let seeds = vec![(0, Tally::Recall { correct, reads: 10 })];
        Point { lane: lane.to_owned(), varied, seeds, numbers, share: 0.0, madds: (0, 0), seconds: 0.0 }
    }

    #[test]
    fn nothing_on_the_front_is_beaten() {
        let points = vec![
            point("OVQ", &[("n_max", 8)], 100, 3),
            point("OVQ", &[("n_max", 16)], 200, 6),
            point("OVQ", &[("n_max", 32)], 400, 5),
            point("window", &[], 200, 6),
            point("full", &[], 1000, 10),
            point("waste", &[], 2000, 10),
        ];
        let mut model = Model { points, failed: Vec::new(), scored: Scored::Accuracy, seeds: 1 };
        // 5 with 400 is beaten by 6 with 200; of two that are equal the first is named; more memory for as much recall is no gain.
        assert_eq!(model.fronts(), [[0, 1, 4]]);
        model.scored = Scored::RelativeSquared;
        // The same numbers as errors: the smallest memory has the smallest error.
        assert_eq!(model.fronts(), [[0]]);
    }

    #[test]
    fn other_tasks_have_other_fronts() {
        let of = |t, numbers, correct| point("a", &[("task.T", t)], numbers, correct);
        let model = Model {
            points: vec![of(64, 10, 9), of(128, 10, 4), of(128, 20, 8), of(64, 20, 5)],
            failed: Vec::new(),
            scored: Scored::Accuracy,
            seeds: 1,
        };
        assert_eq!(model.fronts(), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn lines_join_what_differs_in_one_parameter() {
        let grid = |n, c| point("OVQ", &[("n_max", n), ("chunk", c)], 1, 1);
        let points = vec![point("full", &[], 1, 1), grid(8, 16), grid(8, 32), grid(16, 16), grid(16, 32)];
        let model = Model { points, failed: Vec::new(), scored: Scored::Accuracy, seeds: 1 };
        assert_eq!(model.lines(Some("n_max")), [vec![0], vec![1, 3], vec![2, 4]]);
        assert_eq!(model.lines(Some("chunk")), [vec![0], vec![1, 2], vec![3, 4]]);
        assert_eq!(model.lines(None), model.lines(Some("n_max")));
    }

    #[test]
    fn bars_are_intervals_of_accuracies_and_ranges_of_errors() {
        let mut p = point("a", &[], 1, 1);
        p.seeds.push((1, Tally::Recall { correct: 0, reads: 10 }));
        assert_eq!((p.score(), p.bar()), (Some(0.05), Summary::Recall { correct: 1, reads: 20 }.interval()));
        let error = |e| Tally::Error { error_sq: e, target_sq: 4.0, cosine: 0.0, reads: 1, root: false };
        p.seeds = vec![(0, error(1.0)), (1, error(3.0))];
        assert_eq!((p.score(), p.bar()), (Some(0.5), Some((0.25, 0.75))));
        p.seeds.truncate(1);
        assert_eq!(p.bar(), None);
        p.seeds = vec![(0, error(f64::NAN))];
        assert_eq!((p.score(), p.bar()), (None, None));
    }
}
