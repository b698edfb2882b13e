//! One scan: a channel gone through for one kind of event.

use super::EventKind;
use crate::trace::{Channel, Values, Width};

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    pub kind: EventKind,
    /// The channel's place in the trace.
    pub channel: usize,
    pub head: usize,
    pub test: Test,
}

/// What makes an entry an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    Every,
    Zero,
    NotZero,
    /// A number that is NaN or infinite; true where infinity above zero, or NaN, means "none" and is no event.
    NotFinite {
        infinity: bool,
        nan: bool,
    },
    /// Below a size; zero only where that counts.
    Small {
        below: f64,
        zero: bool,
    },
    /// Above or below a value, in one component or in any.
    Beyond {
        component: Option<usize>,
        above: bool,
        value: f64,
    },
}

impl Test {
    pub(super) fn below(value: f64) -> Self {
        Self::Beyond { component: None, above: false, value }
    }

    /// Which number of an item makes it an event: the first that does. An item is an entry, or in lists one number of them all.
    pub(super) fn matches(&self, channel: &Channel, head: usize, item: usize) -> Option<usize> {
        let width = match channel.spec().width {
            Width::Fixed(width) => width,
            Width::Ragged => 1,
        };
        let range = item * width..(item + 1) * width;
        match channel.values(head) {
            Values::F32(v) => self.first(v.get(range)?, |x| f64::from(*x)),
            Values::F64(v) => self.first(v.get(range)?, |x| *x),
            Values::I32(v) => self.first(v.get(range)?, |x| f64::from(*x)),
        }
    }

    fn first<T>(&self, entry: &[T], wide: impl Fn(&T) -> f64) -> Option<usize> {
        match *self {
            Self::Every => (!entry.is_empty()).then_some(0),
            Self::Zero => entry.iter().position(|x| wide(x) == 0.0),
            Self::NotZero => entry.iter().position(|x| wide(x) != 0.0),
            Self::NotFinite { infinity, nan } => entry.iter().position(|x| {
                let x = wide(x);
                (x.is_nan() && !nan) || (x.is_infinite() && !(infinity && x > 0.0))
            }),
            Self::Small { below, zero } => entry.iter().position(|x| wide(x) < below && (zero || wide(x) != 0.0)),
            Self::Beyond { component, above, value } => {
                let beyond = |x: &T| if above { wide(x) > value } else { wide(x) < value };
                match component {
                    Some(c) => entry.get(c).filter(|x| beyond(x)).map(|_| c),
                    None => entry.iter().position(beyond),
                }
            }
        }
    }
}

/// The entry of a channel of lists that number `item` (over all of them) is in.
pub(super) fn entry_of(channel: &Channel, head: usize, item: usize) -> usize {
    let (mut low, mut high) = (0, channel.len());
    while low < high {
        let middle = low.midpoint(high);
        if channel.range(head, middle).end <= item { low = middle + 1 } else { high = middle }
    }
    low
}
