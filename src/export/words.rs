//! What the arrays are that no channel describes: those of the stream and of the layers' last states; and how axes are called.

use crate::session::plan::PlanLane;
use crate::stream::Stream;
use crate::trace::{Axis, Heads};

/// Axes, unit and meaning of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct About {
    /// What each dimension runs along; of a state without the heads, which come first.
    pub axes: &'static [&'static str],
    /// The unit.
    pub unit: &'static str,
    /// A sentence.
    pub meaning: &'static str,
}

const fn about(axes: &'static [&'static str], unit: &'static str, meaning: &'static str) -> About {
    About { axes, unit, meaning }
}

/// An array of the stream, or `steps` of a lane.
pub(crate) fn of_stream(name: &str) -> About {
    match name {
        "writes" => about(&["write"], "write", "which writes these are: entry i of an axis of writes is the write `writes[i]` of the run"),
        "reads" => about(&["read"], "read", "which reads these are: entry i of an axis of reads is the read `reads[i]` of the run"),
        "after" => about(&["read"], "writes", "how many writes each read may see"),
        "answer_at" => about(&["read"], "write", "the write that holds the answer of each read"),
        "target" => about(&["read"], "code", "the right code of each read"),
        "target_values" => about(&["read", "component"], "value units", "the vector that each read should return"),
        _ => about(
            &["step"],
            "step",
            "which steps of the lane these are: entry i of an axis of its steps is its chunk number `steps[i]`, counted from 0",
        ),
    }
}

/// An array of a layer's state.
pub(crate) fn of_state(name: &str) -> About {
    match name {
        "state" => about(
            &["feature (of a key, after the feature map where there is one)", "value component"],
            "value units",
            "the linear state at the end of the stream: H = sum phi(k) v^T, or S of the delta rules and Mamba-2",
        ),
        "normaliser" => about(&["feature"], "1", "s = sum phi(k) at the end of the stream: what a read of the linear state is divided by"),
        "dict_k" => about(&["row", "key component"], "key units", "the key of each dictionary row in use at the end of the stream"),
        "dict_v" => about(&["row", "value component"], "value units", "the value of each dictionary row in use at the end of the stream"),
        "counts" => about(&["row"], "tokens", "how many writes each row stands for at the end of the stream"),
        "values" => about(&["row", "value component"], "value units", "the mean value of the writes of each code at the end of the stream"),
        "cached" => about(
            &["place in the cache"],
            "write",
            "the writes in the cache at the end of the stream, in the order of its places; -1 where a hand has emptied one",
        ),
        "received" => about(
            &["pair: the cached ones, then those in the window"],
            "reads",
            "the softmax weight that each pair kept whole has received so far: the score `attention`",
        ),
        _ => about(&[], "1", "a part of the layer's state at the end of the stream, as the layer itself names it"),
    }
}

/// An axis in the singular.
pub(crate) fn axis(axis: Axis) -> &'static str {
    match axis {
        Axis::Write => "write",
        Axis::Read => "read",
        Axis::Step => "step",
    }
}

/// The dimension of a lane's heads.
pub(crate) fn head(lane: &PlanLane, stream: &Stream, heads: Heads) -> &'static str {
    match heads {
        Heads::Query => "query head",
        // Learned maps differ by query head, and so does the state that they fill.
        Heads::KeyValue if lane.setup.stream.kv_heads() != stream.kv_heads() => "query head (the lane has a state for each)",
        Heads::KeyValue => "key/value head",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::workload::Workload;
    use crate::layer::{KINDS, LayerKind, Precision};
    use crate::param::{ParamKind, Params};
    use crate::trace::LaneTrace;

    /// Every array of every layer's state has words of its own, and an axis for each of its dimensions.
    #[test]
    fn every_state_array_is_described() {
        let unknown = of_state("");
        for kind in KINDS {
            let setup = Workload::causal(64).setup(*kind, &Params::default()).unwrap();
            let state = kind.cpu(&setup, Precision::Single).unwrap().snapshot().unwrap();
            for array in state.arrays {
                let about = of_state(array.name);
                assert_ne!(about, unknown, "{}: {}", kind.name(), array.name);
                assert_eq!(about.axes.len() + 1, array.shape.len(), "{}: {}", kind.name(), array.name);
            }
        }
    }

    /// Default parameters, and with every choice of every parameter that is one.
    fn choices(kind: &dyn LayerKind) -> Vec<Params> {
        let mut all = vec![Params::default()];
        for spec in kind.params() {
            if let ParamKind::Choice { options } = spec.kind {
                all.extend(options.iter().map(|(option, _)| Params::default().with(spec.name, *option)));
            }
        }
        all
    }

    /// What stands beside a layer's arrays, on screen and in files, is a sentence: no small letter first, a full stop last.
    #[test]
    fn every_meaning_is_a_sentence() {
        for kind in KINDS {
            let mut checked = 0;
            for params in choices(*kind) {
                // Some choices need another parameter, or weights, beside them.
                let Ok(setup) = Workload::causal(64).setup(*kind, &params) else { continue };
                let channels = kind.channels(&setup);
                let derived = kind.derived(&setup, &LaneTrace::new(&channels, 1, 1), 0);
                let named = channels.iter().map(|c| (c.name, c.meaning)).chain(derived.iter().map(|d| (d.name, d.meaning)));
                for (name, meaning) in named {
                    let begins = meaning.chars().next().is_some_and(|c| !c.is_lowercase());
                    assert!(begins && meaning.ends_with('.') && !meaning.ends_with(".."), "{}.{name}: {meaning}", kind.name());
                    checked += 1;
                }
            }
            assert!(checked > 0, "{}", kind.name());
        }
    }
}
