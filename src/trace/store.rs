//! The store: everything that a lane's run has written so far, readable by range. One writer, many readers.

use std::ops::Range;

use thiserror::Error;

use super::block::{Piece, TraceBlock, Values};
use super::channel::{Axis, ChannelSpec, Kind, Width};

/// Why a block cannot be appended: always a mistake in a layer, never of a user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum StoreError {
    /// The piece does not start where the channel ends.
    #[error("channel `{channel}`: a piece starts at {start}, but {held} entries are held")]
    Gap { channel: &'static str, start: usize, held: usize },
    /// The piece has the wrong number or kind of numbers.
    #[error("channel `{channel}`: {found} numbers came, {expected} were expected")]
    Shape { channel: &'static str, found: String, expected: String },
    /// The channel does not exist.
    #[error("there is no channel number {0}")]
    Unknown(usize),
}

/// One head of a channel as it is stored: its numbers, and the length of each list where the channel has lists.
pub type StoredHead = (Values, Option<Vec<u32>>);

/// One head's entries of one channel.
#[derive(Debug, Clone)]
struct Column {
    values: Values,
    /// Ragged: where each list ends in `values`.
    ends: Vec<usize>,
}

/// One channel of a lane: its spec and its numbers so far.
#[derive(Debug, Clone)]
pub struct Channel {
    spec: ChannelSpec,
    columns: Vec<Column>,
    held: usize,
}

impl Channel {
    fn new(spec: ChannelSpec, heads: usize) -> Self {
        let empty = match spec.kind {
            Kind::Real => Values::F32(Vec::new()),
            Kind::Whole => Values::I32(Vec::new()),
        };
        Self { spec, columns: vec![Column { values: empty, ends: Vec::new() }; heads], held: 0 }
    }

    /// What the channel is.
    #[must_use]
    pub fn spec(&self) -> &ChannelSpec {
        &self.spec
    }

    /// Entries held along the axis, the same for every head.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held
    }

    /// True before the first entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Heads.
    #[must_use]
    pub fn heads(&self) -> usize {
        self.columns.len()
    }

    /// Every number of one head so far, `[entries, width]` or the lists one after the other.
    #[must_use]
    pub fn values(&self, head: usize) -> &Values {
        &self.columns[head].values
    }

    /// Every number of one head so far, if the channel is one of float32: `[entries, width]`.
    #[must_use]
    pub fn reals(&self, head: usize) -> &[f32] {
        self.columns[head].values.as_f32().unwrap_or(&[])
    }

    /// Every number of one head so far, if the channel is one of whole numbers: `[entries, width]`.
    #[must_use]
    pub fn wholes(&self, head: usize) -> &[i32] {
        self.columns[head].values.as_i32().unwrap_or(&[])
    }

    /// Where the numbers of entry `index` lie in [`Channel::values`] (and its kin); empty if it is not held yet.
    #[must_use]
    pub fn range(&self, head: usize, index: usize) -> Range<usize> {
        if index >= self.held {
            return 0..0;
        }
        match self.spec.width {
            Width::Fixed(w) => index * w..(index + 1) * w,
            Width::Ragged => {
                let ends = &self.columns[head].ends;
                let start = if index == 0 { 0 } else { ends[index - 1] };
                start..ends[index]
            }
        }
    }

    /// The numbers of one entry of float32.
    #[must_use]
    pub fn reals_at(&self, head: usize, index: usize) -> &[f32] {
        &self.reals(head)[self.range(head, index)]
    }

    /// The numbers of one entry of whole numbers.
    #[must_use]
    pub fn wholes_at(&self, head: usize, index: usize) -> &[i32] {
        &self.wholes(head)[self.range(head, index)]
    }

    /// The length of each list of a head, where the channel has lists.
    #[must_use]
    pub fn lengths(&self, head: usize) -> Option<Vec<u32>> {
        let ends = &self.columns[head].ends;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        (self.spec.width == Width::Ragged).then(|| starts.zip(ends).map(|(start, end)| (end - start) as u32).collect())
    }

    /// The channel with numbers that were stored: for each head its numbers, and the length of each list where it has lists.
    fn filled(spec: &ChannelSpec, heads: usize, entries: usize, columns: Vec<StoredHead>) -> Result<Self, StoreError> {
        let name = spec.name;
        let shape = |found: String, expected: String| Err(StoreError::Shape { channel: name, found, expected });
        if columns.len() != heads {
            return shape(format!("{} heads", columns.len()), format!("{heads} heads"));
        }
        let mut channel = Self::new(spec.clone(), heads);
        for (column, (values, lengths)) in channel.columns.iter_mut().zip(columns) {
            let fits = match spec.kind {
                Kind::Whole => matches!(values, Values::I32(_)),
                Kind::Real => !matches!(values, Values::I32(_)),
            };
            if !fits {
                return shape("another kind".to_owned(), format!("{:?}", spec.kind));
            }
            let numbers = match (spec.width, &lengths) {
                (Width::Fixed(width), None) => entries.checked_mul(width),
                (Width::Ragged, Some(lengths)) if lengths.len() == entries => Some(lengths.iter().map(|&n| n as usize).sum()),
                _ => return shape(format!("lengths {:?}", lengths.map(|l| l.len())), format!("{:?} over {entries} entries", spec.width)),
            };
            if numbers != Some(values.len()) {
                return shape(values.len().to_string(), format!("{numbers:?}"));
            }
            let mut end = 0;
            column.ends = lengths.unwrap_or_default().iter().map(|&n| (end += n as usize, end).1).collect();
            column.values = values;
        }
        channel.held = entries;
        Ok(channel)
    }

    fn append(&mut self, piece: &Piece) -> Result<(), StoreError> {
        let name = self.spec.name;
        if piece.range.start != self.held {
            return Err(StoreError::Gap { channel: name, start: piece.range.start, held: self.held });
        }
        let entries = piece.range.len();
        let heads = self.columns.len();
        let shape = |found: String, expected: String| Err(StoreError::Shape { channel: name, found, expected });
        let lengths: Vec<usize> = match (self.spec.width, &piece.lengths) {
            (Width::Fixed(w), None) => vec![w; entries * heads],
            (Width::Ragged, Some(l)) if l.len() == entries * heads => l.iter().map(|&n| n as usize).collect(),
            (width, lengths) => {
                return shape(format!("lengths {:?}", lengths.as_ref().map(Vec::len)), format!("{width:?} over {heads} heads x {entries}"));
            }
        };
        let total: usize = lengths.iter().sum();
        if total != piece.values.len() {
            return shape(piece.values.len().to_string(), total.to_string());
        }
        let mut at = 0;
        for (head, column) in self.columns.iter_mut().enumerate() {
            let own = &lengths[head * entries..(head + 1) * entries];
            let sum: usize = own.iter().sum();
            if column.values.is_empty() {
                // The first piece decides the precision: a float64 run keeps its numbers as they are.
                column.values = piece.values.slice(at..at + sum);
            } else if !column.values.append(&piece.values, at..at + sum) {
                return shape("another precision".to_owned(), "the precision of the first piece".to_owned());
            }
            if self.spec.width == Width::Ragged {
                let mut end = column.ends.last().copied().unwrap_or(0);
                for n in own {
                    end += n;
                    column.ends.push(end);
                }
            }
            at += sum;
        }
        self.held = piece.range.end;
        Ok(())
    }
}

/// The trace of one lane: its channels, and a generation that changes whenever anything was appended.
#[derive(Debug, Clone)]
pub struct LaneTrace {
    channels: Vec<Channel>,
    generation: u64,
}

impl LaneTrace {
    /// An empty trace for a layer's channels over a stream's heads.
    #[must_use]
    pub fn new(specs: &[ChannelSpec], kv_heads: usize, query_heads: usize) -> Self {
        let heads = |spec: &ChannelSpec| spec.heads.count(kv_heads, query_heads);
        Self { channels: specs.iter().map(|s| Channel::new(s.clone(), heads(s))).collect(), generation: 0 }
    }

    /// A trace with numbers that were stored: for each channel how many entries it has, and its heads.
    ///
    /// # Errors
    /// If the numbers of a channel are not as many, or not of the kind, that its spec says.
    pub fn restored(
        specs: &[ChannelSpec],
        kv_heads: usize,
        query_heads: usize,
        channels: Vec<(usize, Vec<StoredHead>)>,
    ) -> Result<Self, StoreError> {
        if channels.len() != specs.len() {
            return Err(StoreError::Unknown(channels.len()));
        }
        let heads = |spec: &ChannelSpec| spec.heads.count(kv_heads, query_heads);
        let each = specs.iter().zip(channels).map(|(spec, (entries, columns))| Channel::filled(spec, heads(spec), entries, columns));
        Ok(Self { channels: each.collect::<Result<_, _>>()?, generation: 1 })
    }

    /// Appends what a layer wrote.
    ///
    /// # Errors
    /// If a piece does not fit its channel; pieces before it stay appended.
    pub fn append(&mut self, block: &TraceBlock) -> Result<(), StoreError> {
        self.generation += 1;
        for piece in &block.pieces {
            self.channels.get_mut(piece.channel).ok_or(StoreError::Unknown(piece.channel))?.append(piece)?;
        }
        Ok(())
    }

    /// Changes whenever something was appended: what pictures made from the trace are cached under.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every channel, in the layer's order.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// A channel by its name, if the layer has it.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|c| c.spec.name == name)
    }

    /// Entries of the shortest channel along `axis`: how far the trace is complete. `None` with no such channel.
    #[must_use]
    pub fn complete(&self, axis: Axis) -> Option<usize> {
        self.channels.iter().filter(|c| c.spec.axis == axis).map(Channel::len).min()
    }

    /// Bytes of numbers held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.channels.iter().flat_map(|c| &c.columns).map(|c| c.values.bytes() + c.ends.len() * size_of::<usize>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::channel::{Heads, Tolerance};

    fn spec(name: &'static str, width: Width, kind: Kind) -> ChannelSpec {
        ChannelSpec {
            name,
            title: name,
            meaning: "",
            unit: "1",
            axis: Axis::Step,
            heads: Heads::KeyValue,
            width,
            kind,
            tolerance: Tolerance::Choice { margin: None },
        }
    }

    #[test]
    fn blocks_join_into_columns_by_head() {
        let mut trace = LaneTrace::new(&[spec("sizes", Width::Fixed(1), Kind::Whole), spec("ids", Width::Ragged, Kind::Whole)], 2, 2);
        let mut block = TraceBlock::default();
        block.push(0, 0..2, Values::I32(vec![1, 2, 10, 20]));
        block.push_ragged(1, 0..2, Values::I32(vec![7, 8, 9, 5]), vec![0, 2, 1, 1]);
        trace.append(&block).unwrap();
        let mut block = TraceBlock::default();
        block.push(0, 2..3, Values::I32(vec![3, 30]));
        block.push_ragged(1, 2..3, Values::I32(vec![6]), vec![1, 0]);
        trace.append(&block).unwrap();
        assert_eq!(trace.channel("sizes").unwrap().wholes(0), [1, 2, 3]);
        assert_eq!(trace.channel("sizes").unwrap().wholes(1), [10, 20, 30]);
        let ids = trace.channel("ids").unwrap();
        let lists = |head| (0..3).map(|s| ids.wholes_at(head, s).to_vec()).collect::<Vec<_>>();
        assert_eq!(lists(0), [vec![], vec![7, 8], vec![6]]);
        assert_eq!(lists(1), [vec![9], vec![5], vec![]]);
        assert_eq!(ids.wholes_at(0, 3), [] as [i32; 0]);
    }

    #[test]
    fn a_gap_or_a_wrong_count_is_refused() {
        let mut trace = LaneTrace::new(&[spec("sizes", Width::Fixed(2), Kind::Real)], 1, 1);
        let mut block = TraceBlock::default();
        block.push(0, 1..2, Values::F32(vec![0.0; 2]));
        assert_eq!(trace.append(&block), Err(StoreError::Gap { channel: "sizes", start: 1, held: 0 }));
        let mut block = TraceBlock::default();
        block.push(0, 0..1, Values::F32(vec![0.0; 3]));
        assert!(matches!(trace.append(&block), Err(StoreError::Shape { .. })));
    }
}
