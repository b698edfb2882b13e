//! Whether what a session looks at is there: the playhead, the token, the read and the heads in its stream, lanes chosen inside panels among
//! its own.
//!
//! A file whose view goes beyond its own stream is wrong, and [`check`] says so, for the window and for the command line. A stream that has
//! become shorter since, by `--set` or by an edit in the window, makes no file wrong: there the nearest is shown, and what the window
//! then saves is kept within ([`keep_within`]).

use super::place::Way;
use super::plan::PlanError;
use super::{Session, Source, View};
use crate::stream::Stream;

/// Holds the view of a session against its own stream and its own lanes.
///
/// # Errors
/// [`PlanError::View`] for the first field that asks for what is not there.
pub fn check(session: &Session, stream: &Stream) -> Result<(), PlanError> {
    match beyond(&session.view, stream) {
        Some((field, reason)) => Err(PlanError::View { way: Way::to("view").field(field), reason }),
        None => check_lanes(session),
    }
}

/// The first field of a view that goes beyond a stream, and what the stream has.
fn beyond(view: &View, stream: &Stream) -> Option<(&'static str, String)> {
    let (writes, reads) = (stream.writes(), stream.reads());
    let (kv_heads, group) = heads(stream);
    if let Some(position) = view.position.filter(|p| *p > writes) {
        let reason = format!("the playhead is at {position}, but the stream has {writes} writes: it can stand from 0 to {writes}");
        return Some(("position", reason));
    }
    if let Some(token) = view.token.filter(|t| *t >= writes) {
        return Some(("token", format!("the token {token} is selected, but the stream has {}", numbered(writes, "write"))));
    }
    if let Some(read) = view.read.filter(|r| *r >= reads) {
        return Some(("read", format!("the read {read} is selected, but the stream has {}", numbered(reads, "read"))));
    }
    if view.kv_head >= kv_heads {
        let reason = format!("the key/value head {} is shown, but the stream has {}", view.kv_head, numbered(kv_heads, "key/value head"));
        return Some(("kv_head", reason));
    }
    if view.query_head >= group {
        let there = numbered(group, "query head");
        return Some(("query_head", format!("the query head {} is shown, but a key/value head has {there}", view.query_head)));
    }
    None
}

/// `160 writes, counted from 0`.
fn numbered(count: usize, what: &str) -> String {
    format!("{count} {what}{}, counted from 0", if count == 1 { "" } else { "s" })
}

/// Key/value heads of a stream, and the query heads of each.
fn heads(stream: &Stream) -> (usize, usize) {
    let kv_heads = stream.kv_heads().max(1);
    (kv_heads, (stream.query_heads() / kv_heads).max(1))
}

#[cfg(feature = "gui")]
fn check_lanes(session: &Session) -> Result<(), PlanError> {
    let Some(wrong) = crate::panel::choices::lost_lanes(&session.view.choices, &session.lanes).into_iter().next() else { return Ok(()) };
    let way = Way::to("view").field("choices").field(&wrong.panel);
    Err(PlanError::View { way: wrong.name.iter().fold(way, |way, name| way.field(name)), reason: wrong.reason })
}

/// Which choices are lanes only the panels know, and there are none.
#[cfg(not(feature = "gui"))]
#[allow(clippy::unnecessary_wraps, reason = "as with the panels")]
fn check_lanes(_session: &Session) -> Result<(), PlanError> {
    Ok(())
}

/// Brings a view within a stream: beyond the end is the end, what is not there is not selected, and of heads the nearest is shown.
pub fn keep_within(view: &mut View, stream: &Stream) {
    let (kv_heads, group) = heads(stream);
    view.position = view.position.filter(|p| *p <= stream.writes());
    view.token = view.token.filter(|t| *t < stream.writes());
    view.read = view.read.filter(|r| *r < stream.reads());
    view.kv_head = view.kv_head.min(kv_heads - 1);
    view.query_head = view.query_head.min(group - 1);
}

/// Takes everything out of a view that only a stream of known size has: the end is shown, and nothing is selected.
pub fn forget_stream(view: &mut View) {
    (view.position, view.token, view.read) = (None, None, None);
    (view.kv_head, view.query_head) = (0, 0);
}

/// True if two sources give streams of one size: they differ at most in where a capture lies, and in whether its content is known.
#[must_use]
pub fn same_size(a: &Source, b: &Source) -> bool {
    match (a, b) {
        (Source::Capture(a), Source::Capture(b)) => {
            (a.path.file_name(), a.layer, &a.kv_heads, a.tokens) == (b.path.file_name(), b.layer, &b.kv_heads, b.tokens)
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::CaptureSource;
    use crate::session::plan::load_stream;

    /// 160 tokens of the bundled capture: a read a token, one key/value head, three query heads.
    fn session(view: View) -> Session {
        let source = Source::Capture(CaptureSource { tokens: Some(160), ..CaptureSource::bundled() });
        Session { source, view, ..Session::default() }
    }

    #[test]
    fn the_last_that_there_is_passes_and_the_next_is_named() {
        let view = View { position: Some(160), token: Some(159), read: Some(159), kv_head: 0, query_head: 2, ..View::default() };
        let stream = load_stream(&session(view.clone()), None).unwrap();
        assert_eq!(check(&session(view.clone()), &stream), Ok(()));
        let cases = [
            (
                View { position: Some(161), ..view.clone() },
                "the playhead is at 161, but the stream has 160 writes: it can stand from 0 to 160",
            ),
            (View { token: Some(160), ..view.clone() }, "the token 160 is selected, but the stream has 160 writes, counted from 0"),
            (View { read: Some(160), ..view.clone() }, "the read 160 is selected, but the stream has 160 reads, counted from 0"),
            (View { kv_head: 1, ..view.clone() }, "the key/value head 1 is shown, but the stream has 1 key/value head, counted from 0"),
            (View { query_head: 3, ..view.clone() }, "the query head 3 is shown, but a key/value head has 3 query heads, counted from 0"),
        ];
        for (wrong, said) in cases {
            assert_eq!(check(&session(wrong.clone()), &stream).unwrap_err().to_string(), said);
            let mut kept = wrong;
            keep_within(&mut kept, &stream);
            assert_eq!(check(&session(kept), &stream), Ok(()));
        }
        let mut kept = view.clone();
        keep_within(&mut kept, &stream);
        assert_eq!(kept, view, "what is within stays");
    }

    #[test]
    fn a_capture_that_is_called_otherwise_now_is_as_long() {
        let here = CaptureSource::of("a/c.safetensors");
        let there = CaptureSource { sha256: Some("0".repeat(64)), ..CaptureSource::of("c.safetensors") };
        assert!(same_size(&Source::Capture(here.clone()), &Source::Capture(there.clone())));
        let shorter = CaptureSource { tokens: Some(3), ..there };
        assert!(!same_size(&Source::Capture(here), &Source::Capture(shorter)));
    }
}
