//! A layer whose memory is changed by hand at some steps: see [`crate::session::hand`] for what that means.
//!
//! It is the same for every layer and on every device: the run is cut where a hand acts; there the state is taken out, changed,
//! and put back. So a replay from any keyframe has its hands, however it is cut, and the layer itself knows nothing of them
//! but what goes on acting later: a write that is kept, a row that is dead.

use super::{Layer, LayerError, Record, Setup, Snapshot};
use crate::session::hand::{self, Hand};
use crate::trace::{TraceBlock, Values};

/// Changes a state as a hand says, and what was written of the steps before it.
pub(super) type Lay = fn(&Setup, &Hand, &mut Snapshot, &mut TraceBlock) -> Result<(), LayerError>;

/// See the module's page.
struct Handed {
    inner: Box<dyn Layer>,
    setup: Setup,
    lay: Lay,
}

/// The layer `inner`, with the setup's hands where there are any.
pub(super) fn handed(inner: Box<dyn Layer>, setup: &Setup, lay: Lay) -> Box<dyn Layer> {
    if setup.hands.is_empty() { inner } else { Box::new(Handed { inner, setup: setup.clone(), lay }) }
}

impl Layer for Handed {
    fn position(&self) -> usize {
        self.inner.position()
    }

    fn advance(&mut self, chunks: usize, record: Record, out: &mut TraceBlock) -> Result<(), LayerError> {
        let total = self.setup.stream.chunks(self.setup.chunk);
        let end = self.position().saturating_add(chunks).min(total);
        while self.position() < end {
            let here = self.position();
            let next = self.setup.hands.iter().map(|h| h.step).filter(|s| *s > here).min().unwrap_or(end).min(end);
            let mut written = TraceBlock::default();
            self.inner.advance(next - here, record, &mut written)?;
            let hands = hand::at_step(&self.setup.hands, next);
            if !hands.is_empty() {
                let mut state = self.inner.snapshot()?;
                for hand in &hands {
                    (self.lay)(&self.setup, hand, &mut state, &mut written)?;
                }
                self.inner.restore(&state)?;
            }
            out.pieces.append(&mut written.pieces);
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, LayerError> {
        self.inner.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), LayerError> {
        self.inner.restore(snapshot)
    }
}

/// Sets the numbers of one head of a state's array to zero.
pub(super) fn clear(snapshot: &mut Snapshot, name: &str, kv_head: usize) {
    let Some(array) = snapshot.arrays.iter_mut().find(|a| a.name == name) else { return };
    let each = array.shape[1..].iter().product::<usize>();
    let own = kv_head * each..(kv_head + 1) * each;
    match &mut array.values {
        Values::F32(v) => v[own].fill(0.0),
        Values::F64(v) => v[own].fill(0.0),
        Values::I32(v) => v[own].fill(0),
    }
}

/// The place among `pieces` of the newest piece of a channel.
fn newest(written: &TraceBlock, channel: usize) -> Option<usize> {
    written.pieces.iter().rposition(|p| p.channel == channel)
}

/// Changes the last entry of a head in a channel of one number a step; nothing where nothing was written.
pub(super) fn set_last(written: &mut TraceBlock, channel: usize, kv_head: usize, to: f64) {
    let Some(piece) = newest(written, channel).map(|at| &mut written.pieces[at]) else { return };
    let at = (kv_head + 1) * piece.range.len() - 1;
    match &mut piece.values {
        Values::F32(v) => v[at] = to as f32,
        Values::F64(v) => v[at] = to,
        Values::I32(v) => v[at] = to as i32,
    }
}

/// Adds to the last entry of a head in a channel of one whole number a step.
pub(super) fn add_last(written: &mut TraceBlock, channel: usize, kv_head: usize, more: i32) {
    let Some(piece) = newest(written, channel).map(|at| &mut written.pieces[at]) else { return };
    let at = (kv_head + 1) * piece.range.len() - 1;
    if let Values::I32(v) = &mut piece.values {
        v[at] += more;
    }
}

/// Puts an id into the last list of a head in a channel of ascending lists.
pub(super) fn insert_last(written: &mut TraceBlock, channel: usize, kv_head: usize, id: i32) {
    let Some(piece) = newest(written, channel).map(|at| &mut written.pieces[at]) else { return };
    let list = (kv_head + 1) * piece.range.len() - 1;
    let (Some(lengths), Values::I32(ids)) = (&mut piece.lengths, &mut piece.values) else { return };
    let end = lengths[..=list].iter().sum::<u32>() as usize;
    let start = end - lengths[list] as usize;
    let place = start + ids[start..end].partition_point(|other| *other < id);
    ids.insert(place, id);
    lengths[list] += 1;
}
