//! Which arrays leave: name, shape, kind of number, axes, unit and meaning of each, and where its numbers are.
//!
//! Every format of arrays writes this list, and the README and the metadata are written from it. The words come from the channels'
//! own descriptions ([`crate::trace::ChannelSpec`], [`Derived`]); what is no channel is described in [`super::words`].
//!
//! Nothing is copied on the way: the numbers are handed out as stretches of the trace's own columns.

use std::io;
use std::sync::Arc;

use super::cut::{Cut, Runs, stretches};
use super::words;
use crate::layer::{Derived, Snapshot};
use crate::session::plan::{Plan, PlanLane};
use crate::stream::Targets;
use crate::trace::{Along, Axis, Channel, Heads, Kind, LaneTrace, Values, Width};

/// The kinds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dtype {
    F32,
    F64,
    I32,
    I64,
}

impl Dtype {
    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// The name in NumPy, and in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::I32 => "int32",
            Self::I64 => "int64",
        }
    }

    fn of<'a>(parts: impl Iterator<Item = &'a Values>, default: Kind) -> Self {
        // Columns that are still empty have the default precision; the first with numbers decides.
        let full = parts.into_iter().find(|v| !v.is_empty());
        match (full, default) {
            (Some(Values::F64(_)), _) => Self::F64,
            (Some(Values::I32(_)), _) | (None, Kind::Whole) => Self::I32,
            (Some(Values::F32(_)), _) | (None, Kind::Real) => Self::F32,
        }
    }
}

/// Where an array's numbers are.
#[derive(Debug, Clone)]
enum Numbers {
    Long(Vec<i64>),
    Short(Values, Vec<Runs>, Vec<usize>),
    Channel { lane: usize, channel: usize },
    Derived { lane: usize, name: &'static str, whole: Vec<usize>, cuts: Vec<Runs> },
    State { lane: usize, array: usize },
}

/// An array.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its name.
    pub name: String,
    /// The kind of its numbers.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What each dimension runs along.
    pub axes: Vec<String>,
    /// The unit.
    pub unit: String,
    /// What the numbers are, in a sentence.
    pub meaning: String,
    /// For lists one after the other: the array that says where each begins.
    pub offsets: Option<String>,
    numbers: Numbers,
}

impl Entry {
    /// Bytes of its numbers.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().map(|n| *n as u64).product::<u64>() * self.dtype.size() as u64
    }
}

/// A piece of an array's numbers.
pub(crate) enum Part<'a> {
    /// Of a trace or a state.
    Values(&'a Values, std::ops::Range<usize>),
    /// Made for the export.
    Long(&'a [i64]),
}

/// A lane's derived arrays, head by head: made once for all that are written one after the other.
#[derive(Debug, Default)]
pub(crate) struct Made(Option<(usize, Vec<Vec<Derived>>)>);

/// The arrays of an export.
#[derive(Debug)]
pub(crate) struct Inventory<'a> {
    plan: &'a Plan,
    traces: &'a [LaneTrace],
    states: &'a [Arc<Snapshot>],
    cut: &'a Cut,
    entries: Vec<Entry>,
    left_out: Vec<String>,
}

impl<'a> Inventory<'a> {
    /// The arrays that leave of these traces and last states (or none), which belong to the plan's lanes.
    pub fn new(plan: &'a Plan, traces: &'a [LaneTrace], states: &'a [Arc<Snapshot>], cut: &'a Cut) -> Self {
        let mut new = Self { plan, traces, states, cut, entries: Vec::new(), left_out: Vec::new() };
        new.add_stream();
        for &lane in &cut.lanes {
            new.add_lane(lane);
        }
        // Eight bytes before four: then every array of a file without gaps begins where its numbers may.
        new.entries.sort_by_key(|e| std::cmp::Reverse(e.dtype.size()));
        new
    }

    /// The arrays.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Sentences on what does not leave.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Calls `visit` with the numbers of an array, piece by piece in order.
    pub fn parts(&self, entry: &Entry, made: &mut Made, visit: &mut dyn FnMut(Part<'_>) -> io::Result<()>) -> io::Result<()> {
        match &entry.numbers {
            Numbers::Long(numbers) => visit(Part::Long(numbers)),
            Numbers::Short(values, cuts, shape) => stretches(shape, cuts, 0, &mut |range| visit(Part::Values(values, range))),
            Numbers::Channel { lane, channel } => {
                let channel = &self.traces[*lane].channels()[*channel];
                let runs = self.cut.along(channel.spec().axis, *lane).below(channel.len());
                (0..channel.heads()).try_for_each(|head| {
                    let numbers = |run: &std::ops::Range<usize>| channel.range(head, run.start).start..channel.range(head, run.end - 1).end;
                    runs.ranges().iter().try_for_each(|run| visit(Part::Values(channel.values(head), numbers(run))))
                })
            }
            Numbers::Derived { lane, name, whole, cuts } => {
                for arrays in self.derived(*lane, made) {
                    let Some(array) = arrays.iter().find(|d| d.name == *name && d.shape == *whole) else {
                        return Err(io::Error::other(format!("{}: a head has another shape than the first", entry.name)));
                    };
                    stretches(whole, cuts, 0, &mut |range| visit(Part::Values(&array.values, range)))?;
                }
                Ok(())
            }
            Numbers::State { lane, array } => {
                let values = &self.states[*lane].arrays[*array].values;
                visit(Part::Values(values, 0..values.len()))
            }
        }
    }

    fn derived<'m>(&self, lane: usize, made: &'m mut Made) -> &'m [Vec<Derived>] {
        let own = &self.plan.lanes[lane];
        let make = || (0..own.setup.stream.kv_heads()).map(|h| own.kind.derived(&own.setup, &self.traces[lane], h)).collect();
        if made.0.as_ref().is_none_or(|(at, _)| *at != lane) {
            // The old ones go first: both may be large.
            made.0 = None;
            made.0 = Some((lane, make()));
        }
        made.0.as_ref().map_or(&[], |(_, arrays)| arrays.as_slice())
    }

    fn long(&mut self, name: &str, numbers: Vec<i64>) {
        self.of_stream(name, Dtype::I64, vec![numbers.len()], Numbers::Long(numbers));
    }

    /// An array that [`words::of_stream`] describes.
    fn of_stream(&mut self, name: &str, dtype: Dtype, shape: Vec<usize>, numbers: Numbers) {
        let about = words::of_stream(name);
        self.entries.push(Entry {
            name: name.to_owned(),
            dtype,
            shape,
            axes: about.axes.iter().map(|a| (*a).to_owned()).collect(),
            unit: about.unit.to_owned(),
            meaning: about.meaning.to_owned(),
            offsets: None,
            numbers,
        });
    }

    /// Which writes and reads these are, what each read saw, should have returned, and where that was said.
    fn add_stream(&mut self) {
        let (stream, cut) = (&self.plan.stream, self.cut);
        let of_reads = |of: &[u32]| cut.reads.iter().filter_map(|r| of.get(r).copied().map(i64::from)).collect::<Vec<_>>();
        self.long("writes", cut.writes.iter().map(|w| w as i64).collect());
        self.long("reads", cut.reads.iter().map(|r| r as i64).collect());
        self.long("after", of_reads(stream.after()));
        if let Some(at) = &stream.labels().answer_at {
            self.long("answer_at", of_reads(at));
        }
        match stream.targets() {
            Targets::Codes { target, .. } => self.long("target", of_reads(target)),
            Targets::Values(values) => {
                let (whole, dim) = (values.shape().to_vec(), values.shape()[1]);
                let numbers = Values::F32(values.iter().copied().collect());
                let numbers = Numbers::Short(numbers, vec![cut.reads.clone(), Runs::one(0..dim)], whole);
                self.of_stream("target_values", Dtype::F32, vec![cut.reads.len(), dim], numbers);
            }
            Targets::None | Targets::FullAttention => {}
        }
    }

    fn add_lane(&mut self, lane: usize) {
        let (own, trace) = (&self.plan.lanes[lane], &self.traces[lane]);
        self.long(&format!("{}.steps", own.name), self.cut.steps[lane].iter().map(|s| s as i64).collect());
        let first = own.kind.derived(&own.setup, trace, 0);
        for (at, channel) in trace.channels().iter().enumerate() {
            // An array that the reference defines takes the place of a channel of the same name.
            if !first.iter().any(|d| d.name == channel.spec().name) {
                self.add_channel(lane, at, channel);
            }
        }
        let mut same = true;
        for head in 1..own.setup.stream.kv_heads() {
            let other = own.kind.derived(&own.setup, trace, head);
            same &= other.iter().map(|d| (d.name, &d.shape)).eq(first.iter().map(|d| (d.name, &d.shape)));
        }
        for derived in &first {
            // Heads of one run have the same shapes; if a layer ever says otherwise, no array is better than a wrong one.
            if same && derived.axes.len() == derived.shape.len() {
                self.add_derived(lane, own, derived);
            } else {
                self.left_out.push(format!("{}.{} is left out: its shape is not the same for all heads", own.name, derived.name));
            }
        }
        // What a layer derives of nothing names all that it can derive: the difference was too large for it.
        for possible in own.kind.derived(&own.setup, &own.trace(), 0) {
            if !first.iter().any(|d| d.name == possible.name) {
                let what = possible.meaning.trim_end_matches('.');
                let sentence = format!("{}.{} is left out: it would be too large ({what})", own.name, possible.name);
                self.left_out.push(sentence);
            }
        }
        self.add_state(lane, own);
    }

    fn add_channel(&mut self, lane: usize, at: usize, channel: &Channel) {
        let (own, spec) = (&self.plan.lanes[lane], channel.spec());
        let runs = self.cut.along(spec.axis, lane).below(channel.len());
        let (name, heads) = (format!("{}.{}", own.name, spec.name), channel.heads());
        let head = words::head(own, &self.plan.stream, spec.heads);
        let (mut shape, mut axes) = (vec![heads, runs.len()], vec![head.to_owned(), words::axis(spec.axis).to_owned()]);
        let mut offsets = None;
        match spec.width {
            Width::Fixed(1) => {}
            Width::Fixed(width) => {
                shape.push(width);
                axes.push("component".to_owned());
            }
            Width::Ragged => {
                let (numbers, total) = list_offsets(channel, &runs);
                let title = format!("{name}_offsets");
                self.entries.push(Entry {
                    name: title.clone(),
                    dtype: Dtype::I64,
                    shape: vec![heads, runs.len() + 1],
                    axes: vec![head.to_owned(), "list, and the end of the last".to_owned()],
                    unit: "numbers".to_owned(),
                    meaning: format!("where the lists of `{name}` begin: list i of head h is `x[offsets[h, i]:offsets[h, i + 1]]`"),
                    offsets: None,
                    numbers: Numbers::Long(numbers),
                });
                offsets = Some(title);
                shape = vec![total];
                axes = vec![format!("lists, {} by {} within {}", words::axis(spec.axis), words::axis(spec.axis), head)];
            }
        }
        let dtype = Dtype::of((0..heads).map(|h| channel.values(h)), spec.kind);
        self.entries.push(Entry {
            name,
            dtype,
            shape,
            axes,
            unit: spec.unit.to_owned(),
            meaning: spec.meaning.to_owned(),
            offsets,
            numbers: Numbers::Channel { lane, channel: at },
        });
    }

    fn add_derived(&mut self, lane: usize, own: &PlanLane, derived: &Derived) {
        let sized = derived.axes.iter().zip(&derived.shape);
        let cuts: Vec<Runs> = sized.map(|(along, size)| self.cut.along_dimension(*along, lane, *size)).collect();
        let along = |along: &Along| match along {
            Along::Axis(axis) => words::axis(*axis).to_owned(),
            Along::Ends => "before the first step, then after each".to_owned(),
            Along::Own(name) => (*name).to_owned(),
        };
        let head = words::head(own, &self.plan.stream, Heads::KeyValue).to_owned();
        self.entries.push(Entry {
            name: format!("{}.{}", own.name, derived.name),
            dtype: Dtype::of(std::iter::once(&derived.values), Kind::Whole),
            shape: std::iter::once(own.setup.stream.kv_heads()).chain(cuts.iter().map(Runs::len)).collect(),
            axes: std::iter::once(head).chain(derived.axes.iter().map(along)).collect(),
            unit: derived.unit.to_owned(),
            meaning: derived.meaning.to_owned(),
            offsets: None,
            numbers: Numbers::Derived { lane, name: derived.name, whole: derived.shape.clone(), cuts },
        });
    }

    /// The lane's last state, where its last step leaves.
    fn add_state(&mut self, lane: usize, own: &PlanLane) {
        let chunks = own.setup.stream.chunks(own.setup.chunk);
        let Some(state) = self.states.get(lane).filter(|_| self.cut.has_end(lane, chunks)) else { return };
        for (at, array) in state.arrays.iter().enumerate() {
            let about = words::of_state(array.name);
            let head = words::head(own, &self.plan.stream, Heads::KeyValue);
            let axes = std::iter::once(head).chain(about.axes.iter().copied()).chain(std::iter::repeat("entry"));
            self.entries.push(Entry {
                name: format!("{}.final.{}", own.name, array.name),
                dtype: Dtype::of(std::iter::once(&array.values), Kind::Real),
                shape: array.shape.clone(),
                axes: axes.take(array.shape.len()).map(str::to_owned).collect(),
                unit: about.unit.to_owned(),
                meaning: about.meaning.to_owned(),
                offsets: None,
                numbers: Numbers::State { lane, array: at },
            });
        }
    }
}

/// Where each list begins among those that leave, head after head, each with the end of its last; and how many numbers they have.
fn list_offsets(channel: &Channel, runs: &Runs) -> (Vec<i64>, usize) {
    let mut offsets = Vec::with_capacity(channel.heads() * (runs.len() + 1));
    let mut at = 0;
    for head in 0..channel.heads() {
        offsets.push(at as i64);
        for entry in runs.iter() {
            at += channel.range(head, entry).len();
            offsets.push(at as i64);
        }
    }
    (offsets, at)
}

/// True for a channel that a table can hold: along `axis`, and no wider than `most`.
pub(crate) fn fits(channel: &Channel, axis: Axis, most: usize) -> bool {
    channel.spec().axis == axis && matches!(channel.spec().width, Width::Fixed(width) if width <= most)
}
