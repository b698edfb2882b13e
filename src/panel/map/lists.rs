//! Writes by what they are, ascending: found once and followed as time passes, so that no frame goes through the whole stream.

use std::ops::Range;

use super::view::Memory;
use crate::layer::lola::residency::{Place, Residency};
use crate::panel::Look;
use crate::panel::common::{Key, marked};
use crate::trace::Channel;
use crate::widget::cached::Cached;

/// Writes of a lane that have been seen, each list ascending.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sets<'a> {
    /// Those that founded a row of the dictionary.
    pub(super) founders: &'a [usize],
    /// Those in the sparse cache.
    pub(super) cached: &'a [usize],
    /// Those of the marked role.
    pub(super) marked: &'a [usize],
    /// How many were in a state when it was forgotten.
    pub(super) gone: usize,
}

/// What the lists are made from, frame by frame.
#[derive(Default)]
pub(super) struct Lists {
    founders: Founders,
    cache: InCache,
    marked: Cached<Key<()>, Vec<usize>>,
    gone: Cached<Key<()>, usize>,
}

impl Lists {
    /// The lists of a lane's head with `seen` writes in its memory.
    pub(super) fn sets(&mut self, look: &Look<'_>, lane: usize, head: usize, seen: usize, memory: Memory<'_>) -> Sets<'_> {
        let key = || Key::new(look, lane, head, 0, ());
        let marked = self.marked.get(key(), || marked(&look.plan.stream).map(|(_, all)| all).unwrap_or_default());
        let mut sets = Sets { marked: before(marked, seen), ..Sets::default() };
        match memory {
            Memory::Rows { founders, .. } => sets.founders = self.founders.until(key(), founders, seen),
            Memory::Places { index, chunks } => {
                if let Some(admitted) = look.lanes[lane].trace.channel("admitted") {
                    sets.cached = self.cache.at(key(), index, (admitted, head), chunks);
                }
                if index.last_forgotten(chunks).is_some() {
                    let gone = || (0..seen).filter(|w| index.at(*w, chunks) == Place::Gone).count();
                    sets.gone = *self.gone.get(Key::new(look, lane, head, chunks, ()), gone);
                }
            }
            Memory::Kept { .. } => {}
        }
        sets
    }
}

/// Those of a list that come before a write.
fn before(list: &[usize], write: usize) -> &[usize] {
    &list[..list.partition_point(|w| *w < write)]
}

/// The founders of a lane, as far as its trace has been looked through.
#[derive(Default)]
struct Founders {
    of: Option<Key<()>>,
    looked: usize,
    all: Vec<usize>,
}

impl Founders {
    fn until(&mut self, key: Key<()>, founders: &[i32], seen: usize) -> &[usize] {
        // A run that began again in the same plan has fewer writes than were looked at.
        if self.of.as_ref() != Some(&key) || founders.len() < self.looked {
            *self = Self { of: Some(key), ..Self::default() };
        }
        self.all.extend((self.looked..founders.len()).filter(|w| founders[*w] == 1));
        self.looked = founders.len();
        before(&self.all, seen)
    }
}

/// The writes in a lane's cache, followed from step to step.
#[derive(Default)]
struct InCache {
    of: Option<Key<()>>,
    chunks: usize,
    all: Vec<usize>,
}

impl InCache {
    fn at(&mut self, key: Key<()>, index: &Residency, (admitted, head): (&Channel, usize), chunks: usize) -> &[usize] {
        if self.of.as_ref() != Some(&key) || chunks < self.chunks {
            *self = Self { of: Some(key), ..Self::default() };
        }
        if chunks > self.chunks {
            let ids = (self.chunks..chunks).flat_map(|step| admitted.wholes_at(head, step));
            self.all.extend(ids.filter_map(|id| usize::try_from(*id).ok()));
            self.all.retain(|w| index.at(*w, chunks) == Place::Cache);
            self.all.sort_unstable();
            self.all.dedup();
            self.chunks = chunks;
        }
        &self.all
    }
}

/// The writes whose keys lie on the part of the map that is seen: all of them, or a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inside<'a> {
    some: Option<&'a [u32]>,
    total: usize,
}

impl<'a> Inside<'a> {
    /// All of `total`, or the `some` of them.
    pub(super) fn new(some: Option<&'a [u32]>, total: usize) -> Self {
        Self { some, total }
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        self.some.map_or(self.total, <[u32]>::len)
    }

    /// How many of them come before a write.
    pub(super) fn before(self, write: usize) -> usize {
        self.some.map_or(write.min(self.total), |s| s.partition_point(|w| (*w as usize) < write))
    }

    /// Number `number` of them; the end of the stream where there are no more.
    pub(super) fn first(self, number: usize) -> usize {
        self.some.map_or(number, |s| s.get(number).map_or(self.total, |w| *w as usize))
    }

    /// Those with these numbers.
    pub(super) fn writes(self, numbers: Range<usize>) -> impl Iterator<Item = usize> + 'a {
        numbers.map(move |number| self.first(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_inside_is_counted_and_listed() {
        let (all, some) = (Inside::new(None, 10), Inside::new(Some(&[2, 3, 7]), 10));
        assert_eq!((all.len(), all.before(4), all.first(4), all.before(99)), (10, 4, 4, 10));
        assert_eq!((some.len(), some.before(3), some.before(8), some.first(2), some.first(3)), (3, 1, 3, 7, 10));
        assert_eq!(some.writes(1..3).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(before(&[1, 4, 9], 9), [1, 4]);
    }
}
