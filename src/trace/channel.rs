//! What a trace channel is: a named array that a layer writes while it runs, with its extent, meaning and tolerance.
//!
//! Panels draw a channel by its extent and meaning; the golden tests and the lockstep check compare it by its tolerance;
//! exporters take its name and explanation from here. There is no other list.

use serde::Serialize;

/// What one entry of a channel belongs to, and so how long the channel grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Axis {
    /// One entry a write, T in all.
    Write,
    /// One entry a read, R in all.
    Read,
    /// One entry a step: a chunk of this layer.
    Step,
}

/// What one dimension of an array runs along, where that is more than a channel's [`Axis`] can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Along {
    /// Writes, reads or steps.
    Axis(Axis),
    /// The ends of steps with the start: before the first step, then after each.
    Ends,
    /// Something of the layer's own, in the singular: `row`, `key component`.
    Own(&'static str),
}

/// Which heads have a row of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Heads {
    /// One a key/value head.
    KeyValue,
    /// One a query head.
    Query,
}

impl Heads {
    /// How many they are, of so many heads of each kind.
    #[must_use]
    pub fn count(self, kv_heads: usize, query_heads: usize) -> usize {
        match self {
            Self::KeyValue => kv_heads,
            Self::Query => query_heads,
        }
    }
}

/// How many numbers one entry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Width {
    /// Always this many; 1 is a plain series.
    Fixed(usize),
    /// As many as the step has of them: lists of ids, lists of scores. Only along [`Axis::Step`].
    Ragged,
}

/// The numbers of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// Real numbers.
    Real,
    /// Whole numbers: ids, sizes, flags (0 or 1). -1 is "none".
    Whole,
}

/// How near two implementations must be: on CPU and GPU, and to the reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum Tolerance {
    /// Equal within `abs + rel * |expected|`. For float32 against float64; float64 is held to 1e-9.
    Near { abs: f64, rel: f64 },
    /// Equal, wherever the margin that the named channel holds for the same entry exceeds 1e-5 (or always, with none):
    /// a choice that rounding may flip.
    Choice { margin: Option<&'static str> },
}

/// The margin under which a choice may fall either way in float32 (LAYERS.md).
pub const CHOICE_MARGIN: f64 = 1e-5;

/// A channel: see the module's page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelSpec {
    /// The reference's name (`outputs`, `assignments`, ..), unique in a layer.
    pub name: &'static str,
    /// The name on an axis.
    pub title: &'static str,
    /// What the numbers are, in a sentence, with the symbol of LAYERS.md where there is one.
    pub meaning: &'static str,
    /// The unit: `tokens`, `rows`, `squared value units`, `1` for a plain number.
    pub unit: &'static str,
    /// What an entry belongs to.
    pub axis: Axis,
    /// Which heads have one.
    pub heads: Heads,
    /// Numbers in an entry.
    pub width: Width,
    /// Real or whole numbers.
    pub kind: Kind,
    /// How near implementations must be.
    pub tolerance: Tolerance,
}
