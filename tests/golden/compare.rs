//! The one rule by which numbers are held against the golden files: the tolerance of the channel.

use mnemoscope::layer::{Derived, Snapshot};
use mnemoscope::trace::{Axis, CHOICE_MARGIN, LaneTrace, Tolerance, Values};

use super::case::{Case, Expected};

/// For float64, whatever the channel says.
const DOUBLE: Tolerance = Tolerance::Near { abs: 1e-9, rel: 1e-9 };
/// For real arrays in float32 that are no channel: parts of the state, tables made from channels.
const SINGLE: Tolerance = Tolerance::Near { abs: 1e-4, rel: 1e-4 };
/// For whole numbers that are no channel; whether a choice was close is known from the channels they are made of.
const EQUAL: Tolerance = Tolerance::Choice { margin: None };

/// One array of a run with what says how to hold it against the expected one.
pub struct Found {
    pub values: Values,
    pub tolerance: Tolerance,
    /// `None` for arrays that are no channel.
    pub axis: Option<Axis>,
}

/// The array that the golden files call `name`: made from channels, a channel, or a part of the final state.
pub fn find(name: &str, trace: &LaneTrace, derived: &[Derived], snapshot: &Snapshot) -> Option<Found> {
    let free = |values: &Values| Found {
        tolerance: if matches!(values, Values::I32(_)) { EQUAL } else { SINGLE },
        values: values.clone(),
        axis: None,
    };
    let channel = trace.channel(name);
    if let Some(d) = derived.iter().find(|d| d.name == name) {
        // A derived array that stands in for a channel is held to the channel's tolerance.
        return Some(Found { tolerance: channel.map_or(free(&d.values).tolerance, |c| c.spec().tolerance), ..free(&d.values) });
    }
    if let Some(c) = channel {
        return Some(Found { values: c.values(0).clone(), tolerance: c.spec().tolerance, axis: Some(c.spec().axis) });
    }
    snapshot.array(name).map(|a| free(&a.values))
}

/// What a comparison found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The largest difference of numbers that both have.
    pub largest: f64,
    /// The first entry that is too far off, in words.
    pub wrong: Option<String>,
    /// The first step at which a close choice fell the other way.
    pub flipped: Option<usize>,
}

/// The step that entry `index` of an array with these leading entries belongs to.
fn step_of(case: &Case, axis: Option<Axis>, entries: usize, index: usize) -> usize {
    let (stream, chunk) = (&case.setup.stream, case.setup.chunk);
    let steps = stream.chunks(chunk);
    match axis {
        Some(Axis::Write) => index / chunk,
        Some(Axis::Read) => (stream.after()[index] as usize - 1) / chunk,
        Some(Axis::Step) => index,
        // Tables by step, with or without a row for the start; anything else is known at the end alone.
        None if entries == steps => index,
        None if entries == steps + 1 => index.saturating_sub(1),
        None => steps,
    }
}

/// Holds `found` against `expected`. Nothing at or after the step `until` is looked at: there a close choice fell the
/// other way, and what follows it is another run.
pub fn compare(case: &Case, expected: &Expected, found: &Found, double: bool, until: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let (e, f) = (&expected.numbers, &found.values);
    let entries = expected.shape.first().copied().unwrap_or(1);
    let width = e.len().checked_div(entries).unwrap_or(1).max(1);
    // The state has the rows in use alone, the reference all of them: the others are zero there.
    let in_use = found.axis.is_none() && f.len() < e.len() && f.len() % width == 0;
    if f.len() != e.len() && !(in_use && e[f.len()..].iter().all(|&x| x == 0.0)) {
        outcome.wrong = Some(format!("{} numbers, {:?} expected", f.len(), expected.shape));
        return outcome;
    }
    let tolerance = if double && matches!(found.tolerance, Tolerance::Near { .. }) { DOUBLE } else { found.tolerance };
    for (i, &want) in e.iter().enumerate().take(f.len()) {
        let step = step_of(case, found.axis, entries, i / width);
        if step >= until {
            continue;
        }
        let got = f.get(i).expect("shorter than `len`");
        let off = (want - got).abs();
        if off.is_finite() {
            outcome.largest = outcome.largest.max(off);
        }
        #[allow(clippy::float_cmp, reason = "equal is what a choice must be, and what infinities can be")]
        let same = want == got || (want.is_nan() && got.is_nan());
        let fits = match tolerance {
            Tolerance::Near { abs, rel } => same || (off.is_finite() && off <= abs + rel * want.abs()),
            Tolerance::Choice { margin } => {
                if !same && margin.is_some_and(|m| close(case, m, i / width, step)) {
                    outcome.flipped = Some(outcome.flipped.map_or(step, |s| s.min(step)));
                    continue;
                }
                same
            }
        };
        if !fits && outcome.wrong.is_none() {
            outcome.wrong = Some(format!("[{i}] (step {step}) is {got:e}, {want:e} expected, {tolerance:?}"));
        }
    }
    outcome
}

/// True if the golden margin of this entry (or, for margins by step, of its step) is too small to hold anyone to.
fn close(case: &Case, margin: &str, entry: usize, step: usize) -> bool {
    let Some(m) = case.expected.get(margin) else { panic!("{}: no margin `{margin}`", case.name) };
    let index = if m.numbers.len() == case.setup.stream.chunks(case.setup.chunk) { step } else { entry };
    m.numbers[index] < CHOICE_MARGIN
}
