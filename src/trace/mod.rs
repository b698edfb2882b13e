//! The trace: what a layer writes while it runs, so that every panel can show any moment of it.
//!
//! A layer declares its [`ChannelSpec`]s, writes [`TraceBlock`]s, and the one writer of a run appends those to a
//! [`LaneTrace`]. The state itself (centroids, H, s, the cache) is not a channel: it is kept as keyframes, see
//! [`crate::engine`].

mod block;
mod channel;
mod store;

pub use block::{Piece, TraceBlock, Values};
pub use channel::{Along, Axis, CHOICE_MARGIN, ChannelSpec, Heads, Kind, Tolerance, Width};
pub use store::{Channel, LaneTrace, StoreError, StoredHead};
