//! Blocks: what a layer writes of its trace for a few chunks at a time, on its way to the store or an exporter.

use std::ops::Range;

/// The numbers of a piece, in the precision in which the layer computed them.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// float32: what the CPU and GPU layers of the explorer write.
    F32(Vec<f32>),
    /// float64: the CPU layers in double precision, for the golden tests.
    F64(Vec<f64>),
    /// Whole numbers.
    I32(Vec<i32>),
}

impl Values {
    /// How many numbers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::I32(v) => v.len(),
        }
    }

    /// True without numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One number, widened to f64 (exact for every variant).
    #[must_use]
    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            Self::F32(v) => v.get(index).copied().map(f64::from),
            Self::F64(v) => v.get(index).copied(),
            Self::I32(v) => v.get(index).copied().map(f64::from),
        }
    }

    /// The numbers as f32, if that is how they are held.
    #[must_use]
    pub fn as_f32(&self) -> Option<&[f32]> {
        if let Self::F32(v) = self { Some(v) } else { None }
    }

    /// The numbers as whole numbers, if that is how they are held.
    #[must_use]
    pub fn as_i32(&self) -> Option<&[i32]> {
        if let Self::I32(v) = self { Some(v) } else { None }
    }

    /// A copy of part of the numbers, in the same precision.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::F32(v) => Self::F32(v[range].to_vec()),
            Self::F64(v) => Self::F64(v[range].to_vec()),
            Self::I32(v) => Self::I32(v[range].to_vec()),
        }
    }

    /// Appends numbers of the same variant; `false`, and nothing done, if the variants differ.
    pub(crate) fn append(&mut self, other: &Self, range: Range<usize>) -> bool {
        match (self, other) {
            (Self::F32(a), Self::F32(b)) => a.extend_from_slice(&b[range]),
            (Self::F64(a), Self::F64(b)) => a.extend_from_slice(&b[range]),
            (Self::I32(a), Self::I32(b)) => a.extend_from_slice(&b[range]),
            _ => return false,
        }
        true
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::F32(v) => v.len() * 4,
            Self::F64(v) => v.len() * 8,
            Self::I32(v) => v.len() * 4,
        }
    }
}

/// One channel's entries `range` along its axis, for all its heads.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// The channel's place in the layer's list.
    pub channel: usize,
    /// The entries, along the channel's axis.
    pub range: Range<usize>,
    /// Fixed width: the numbers, `[heads, range, width]`. Ragged: the lists one after the other, head by head.
    pub values: Values,
    /// Ragged only: the length of each list, `[heads, range]`.
    pub lengths: Option<Vec<u32>>,
}

/// What a layer wrote while it ran over the steps `steps`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceBlock {
    /// The pieces. Along each channel's axis they start where the last block ended.
    pub pieces: Vec<Piece>,
}

impl TraceBlock {
    /// Adds a piece of fixed width, `[heads, range, width]`.
    pub fn push(&mut self, channel: usize, range: Range<usize>, values: Values) {
        self.pieces.push(Piece { channel, range, values, lengths: None });
    }

    /// Adds lists: `lengths` is `[heads, range]`, `values` the lists one after the other in that order.
    pub fn push_ragged(&mut self, channel: usize, range: Range<usize>, values: Values, lengths: Vec<u32>) {
        self.pieces.push(Piece { channel, range, values, lengths: Some(lengths) });
    }

    /// Bytes of numbers held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|p| p.values.bytes() + p.lengths.as_ref().map_or(0, |l| l.len() * 4)).sum()
    }
}
