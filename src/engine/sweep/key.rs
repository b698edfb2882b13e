//! What the result of a piece of work depends on, as a short text: what is done already is known by it.

use std::path::Path;

use serde_json::json;

use super::Piece;
use crate::layer;
use crate::param::{Params, Resolved, every};
use crate::session::file::resolve;
use crate::session::{CaptureSource, LaneSpec, Session, Source};
use crate::stream::Stream;
use crate::stream::capture::BUNDLED;
use crate::task::task;

/// FNV-1a over 128 bits: the same on every platform and in every version, which the hashes of the standard library are not.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    /// Takes bytes in.
    #[must_use]
    pub fn with(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        self
    }

    /// 32 hexadecimal digits.
    #[must_use]
    pub fn text(self) -> String {
        format!("{:032x}", self.0)
    }
}

/// A capture's numbers, hashed: the file may be moved, or be another one under the same name.
#[must_use]
pub fn of_capture(stream: &Stream) -> String {
    let mut hash = Hash::default().with(&stream.beta().to_le_bytes());
    for array in [stream.keys(), stream.values(), stream.queries()] {
        hash = hash.with(format!("{:?}", array.shape()).as_bytes());
        for x in array {
            hash = hash.with(&x.to_le_bytes());
        }
    }
    for gate in stream.gates().into_iter().flat_map(|g| [("decay", &g.decay), ("rate", &g.rate)]) {
        let (name, Some(gate)) = gate else { continue };
        hash = gate.iter().fold(hash.with(name.as_bytes()), |hash, x| hash.with(&x.to_le_bytes()));
    }
    hash.text()
}

/// A whole capture file, hashed: what a lane is fitted on may be a part of it that its stream does not have.
#[must_use]
pub fn of_file(source: &CaptureSource, base_dir: Option<&Path>) -> String {
    if source.is_bundled() {
        return BUNDLED.to_owned();
    }
    let file = resolve(&source.path, base_dir);
    std::fs::read(&file).map_or_else(|_| file.display().to_string(), |bytes| Hash::default().with(&bytes).text())
}

/// True for a layer that is fitted beforehand.
#[must_use]
pub fn is_fitted(lane: &LaneSpec) -> bool {
    layer::kind(&lane.layer).is_some_and(|k| k.params().iter().any(|p| p.name == "fit"))
}

/// Every parameter of a session's task, defaults filled in; what was set, where that cannot be resolved.
#[must_use]
pub fn task_params(session: &Session) -> Params {
    let Source::Task(source) = &session.source else { return Params::default() };
    let resolved = task(&source.name).and_then(|t| Some((t.params(), Resolved::new("task", t.params(), &source.params).ok()?)));
    resolved.map_or_else(|| source.params.clone(), |(specs, resolved)| every(specs, &resolved))
}

/// The key of a piece. `session` is the piece's own ([`Piece::session`]), `capture` what [`of_capture`] says of its stream.
#[must_use]
pub fn of_piece(piece: &Piece, session: &Session, base_dir: Option<&Path>, capture: &str, step: usize, gpu: bool) -> String {
    let lane = &piece.lane;
    let kind = layer::kind(&lane.layer);
    let resolved = kind.and_then(|k| Some((k, Resolved::new(&lane.name, k.params(), &lane.params).ok()?)));
    let params = resolved.as_ref().map_or_else(|| lane.params.clone(), |(kind, resolved)| every(kind.params(), resolved));
    // A parameter `seed` that is not set is the session's, which is part of the key by itself.
    let own_step = resolved.as_ref().is_some_and(|(kind, resolved)| kind.chunk(resolved).is_some());
    let source = match &session.source {
        Source::Task(source) => json!({ "task": source.name, "params": task_params(session) }),
        Source::Capture(_) => json!({ "capture": capture }),
    };
    let weights = lane.weights.as_ref().map(|path| {
        if path.as_os_str() == BUNDLED {
            return BUNDLED.to_owned();
        }
        let file = resolve(path, base_dir);
        std::fs::read(&file).map_or_else(|_| file.display().to_string(), |bytes| Hash::default().with(&bytes).text())
    });
    let mut all = json!({
        "source": source, "seed": piece.seed, "lane": lane.name, "layer": lane.layer, "params": params, "set_seed": lane.params.get("seed"),
        "weights": weights, "step": if own_step { None } else { Some(step) }, "gpu": gpu,
    });
    // Only where there are any: the keys of other lanes stay as they were.
    if !lane.hands.is_empty() {
        all["hands"] = json!(lane.hands);
    }
    Hash::default().with(all.to_string().as_bytes()).text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::hand::{Act, Hand};

    #[test]
    fn what_is_done_by_hand_is_part_of_a_key() {
        let mut lane = LaneSpec::new("a", "linear", Params::default());
        let key = |lane: &LaneSpec| {
            let piece = Piece { seed: 0, task: Vec::new(), varied: Vec::new(), lane: lane.clone() };
            of_piece(&piece, &Session::default(), None, "c", 64, false)
        };
        let forget = |step| Hand { step, kv_head: 0, what: Act::Forget };
        let plain = key(&lane);
        lane.hands = vec![forget(3)];
        let three = key(&lane);
        lane.hands = vec![forget(4)];
        assert!(plain != three && three != key(&lane));
        lane.hands.clear();
        assert_eq!(key(&lane), plain);
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // The offset basis, and the published value for "a".
        assert_eq!(Hash::default().text(), "6c62272e07bb014262b821756295c58d");
        assert_eq!(Hash::default().with(b"a").text(), "d228cb696f1a8caf78912b704e4a8964");
    }
}
