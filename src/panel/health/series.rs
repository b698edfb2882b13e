//! What is known of each lane by step, and the lines that are drawn of it.

use super::quantity::{At, Quantity};
use crate::app::study::health::{Finding, LaneHead};
use crate::metric::health::{Step, Usage};
use crate::panel::common::{Key, chunks_seen, cover, head_of, lanes_with};
use crate::panel::counts::counting;
use crate::panel::{LaneLook, Look};
use crate::session::hand::Act;
use crate::widget::cached::Cached;

/// Writes of a lane that are counted in one frame.
const A_FRAME: usize = 12_288;

/// The lanes that have a dictionary, each with the head that is looked at.
pub fn lanes(look: &Look<'_>) -> Vec<LaneHead> {
    let head = |lane: usize| look.lanes[lane].trace.channel("assignments").map_or(0, |c| head_of(c, look));
    lanes_with(look, &["assignments", "sizes"]).into_iter().map(|lane| (lane, head(lane))).collect()
}

/// What the counts of a lane tell, step by step, as far as they have been counted.
#[derive(Debug, Default)]
pub struct Counted {
    held: Option<(Key<usize>, Usage, Vec<Step>)>,
}

impl Counted {
    /// Counts on, a part in each frame; true once all that the lane has written is in.
    pub fn advance(&mut self, look: &Look<'_>, (lane, head): LaneHead, window: usize) -> bool {
        let LaneLook { plan, trace, .. } = look.lanes[lane];
        let Some(assignments) = trace.channel("assignments").map(|c| c.wholes(head)) else { return true };
        let (stream, chunk) = (&plan.setup.stream, plan.setup.chunk);
        let key = Key::new(look, lane, head, 0, window);
        // A trace that holds less than was counted is that of another run.
        let fits = |steps: &[Step]| steps.len() <= assignments.len().div_ceil(chunk);
        let held = self.held.take().filter(|(k, _, steps)| *k == key && fits(steps));
        let (_, usage, steps) = self.held.insert(held.unwrap_or_else(|| (key, Usage::new(window).counted(counting(plan)), Vec::new())));
        let mut left = A_FRAME;
        while steps.len() < stream.chunks(chunk) {
            let range = stream.chunk_range(chunk, steps.len());
            let Some(rows) = assignments.get(range) else { break };
            if left == 0 {
                return false;
            }
            left = left.saturating_sub(rows.len());
            rows.iter().filter_map(|&row| usize::try_from(row).ok()).for_each(|row| usage.push(row));
            // What is done by hand after a chunk is part of the state after it.
            let done = steps.len() + 1;
            for hand in plan.setup.hands.iter().filter(|h| h.step == done && h.kv_head == head) {
                if let Act::Delete { row } = hand.what {
                    usage.remove(row);
                }
            }
            steps.push(usage.end_step());
        }
        true
    }

    /// The steps counted so far.
    pub fn steps(&self) -> &[Step] {
        self.held.as_ref().map_or(&[], |(_, _, steps)| steps)
    }
}

/// The line of a quantity of a lane: writes seen and number, ascending, no more points than can be seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The points `[writes, number]`.
    pub points: Vec<[f64; 2]>,
    /// The smallest and the largest number, where there is one.
    pub range: Option<(f64, f64)>,
}

impl Line {
    /// The line through `all` (ascending by writes up to `total`), of which each of `columns` stretches of equal length keeps its first
    /// and last point and its extremes. What is no finite number is left out.
    pub fn new(all: impl Iterator<Item = [f64; 2]>, total: f64, columns: usize) -> Self {
        let finite: Vec<[f64; 2]> = all.filter(|p| p[1].is_finite()).collect();
        let range = finite.iter().fold(None, |r: Option<(f64, f64)>, p| {
            let (low, high) = r.unwrap_or((p[1], p[1]));
            Some((low.min(p[1]), high.max(p[1])))
        });
        let column = |p: &[f64; 2]| (p[0] / total.max(1.0) * columns as f64) as usize;
        let mut points = Vec::new();
        for part in finite.chunk_by(|a, b| column(a) == column(b)) {
            let by = |a: &usize, b: &usize| part[*a][1].total_cmp(&part[*b][1]);
            let least = (0..part.len()).min_by(by).unwrap_or(0);
            let most = (0..part.len()).max_by(by).unwrap_or(0);
            let mut kept = [0, least, most, part.len() - 1];
            kept.sort_unstable();
            for (i, at) in kept.into_iter().enumerate() {
                if i == 0 || kept[i - 1] != at {
                    points.push(part[at]);
                }
            }
        }
        Self { points, range }
    }
}

/// The lines of one lane, made again when more is known.
#[derive(Debug, Default)]
pub struct Lines {
    by_quantity: [Cached<Key<(usize, usize, u64)>, Line>; Quantity::ALL.len()],
}

impl Lines {
    /// The line of a quantity, for a chart `columns` pixels wide. `generation` is the study's.
    pub fn get(
        &mut self,
        look: &Look<'_>,
        (lane, head): LaneHead,
        quantity: Quantity,
        known: Known<'_>,
        (columns, window, generation): (usize, usize, u64),
    ) -> &Line {
        let total = look.plan.stream.writes();
        let chunk = look.lanes[lane].plan.setup.chunk;
        let ends = move |chunks: usize| (chunks * chunk).min(total) as f64;
        // While the counts go on, a line is made again in steps, not in every frame; it always covers what is seen.
        let chunks = look.plan.stream.chunks(chunk);
        let counted = cover(known.steps.len(), chunks_seen(look, lane).min(known.steps.len()), chunks);
        let study = quantity.needs_study();
        let key = Key::new(look, lane, head, if study { 0 } else { counted }, (columns, window, if study { generation } else { 0 }));
        self.by_quantity[quantity as usize].get(key, || {
            if study {
                let moments = known.finding.map_or(&[][..], |f| &f.moments);
                let all = moments.iter().filter_map(|m| Some([ends(m.chunks), quantity.of(At::Measured(m))?]));
                Line::new(all, total as f64, columns)
            } else {
                let steps = known.steps[..counted].iter().enumerate();
                let all = steps.filter_map(|(i, s)| Some([ends(i + 1), quantity.of(At::Counted(s))?]));
                Line::new(all, total as f64, columns)
            }
        })
    }
}

/// What is known of a lane.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// After each chunk, from the counts.
    pub steps: &'a [Step],
    /// From the centroids.
    pub finding: Option<&'a Finding>,
}

impl<'a> Known<'a> {
    /// What is known after `chunks` chunks, and how many chunks that is of: of the centroids, the moment at or before.
    ///
    /// It may be fewer than were asked for: whoever shows the number has to say of which write it is.
    pub fn at(&self, quantity: Quantity, chunks: usize) -> Option<(At<'a>, usize)> {
        if quantity.needs_study() {
            self.finding?.before(chunks).map(|m| (At::Measured(m), m.chunks))
        } else {
            self.steps.get(chunks.checked_sub(1)?).map(|s| (At::Counted(s), chunks))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_extremes_and_its_ends() {
        let all = (0..10_000).map(|i| [f64::from(i), if i == 4567 { 9.0 } else { f64::from(i % 7) / 10.0 }]);
        let line = Line::new(all, 10_000.0, 100);
        assert!(line.points.len() <= 404 && line.points.windows(2).all(|w| w[0][0] < w[1][0]));
        assert!(line.points.contains(&[4567.0, 9.0]) && line.points.contains(&[0.0, 0.0]));
        assert_eq!(line.points.last().map(|p| p[0]), Some(9999.0));
        assert_eq!(line.range, Some((0.0, 9.0)));
        let few = Line::new([[1.0, 2.0], [2.0, f64::NAN], [3.0, 1.0]].into_iter(), 4.0, 2);
        assert_eq!(few, Line { points: vec![[1.0, 2.0], [3.0, 1.0]], range: Some((1.0, 2.0)) });
        assert_eq!(Line::new(std::iter::empty(), 4.0, 2).range, None);
    }
}
