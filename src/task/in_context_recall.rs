//! The task `in_context_recall`: many pairs of a key and a value among filler, each asked for once at the end.

use super::common::{DK, DV, FILLERS, Mixed, Recall, VALUES, check_reads, int, noise, roles, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamSpec, Resolved};
use crate::stream::{Labels, Stream};

const ROLE_PAIR: u8 = 1;
const ROLE_QUESTION: u8 = 2;

/// See the module's page and TASKS.md, "in-context recall".
#[derive(Debug, Clone, Copy)]
pub struct InContextRecall;

static PARAMS: &[ParamSpec] = &[
    tokens(4096),
    int("pairs", "pairs", "Different pairs of a key and a value, each written once and asked for once, after the stream.", 1, 8192, 256),
    FILLERS,
    DK,
    DV,
    VALUES,
    noise(0.1),
];

impl Task for InContextRecall {
    fn name(&self) -> &'static str {
        "in_context_recall"
    }

    fn title(&self) -> &'static str {
        "In-context recall"
    }

    fn about(&self) -> &'static str {
        "Pairs of a key and a value, written once among filler and asked for after the stream. The basic recall task of the OVQ \
         paper (arXiv 2602.03922). A filler key carries a fresh value at every visit, so there is nothing to remember in it and \
         much to collide with. It tests how many pairs a memory of a given size can hold."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, pairs, values) = (params.size("T"), params.size("pairs"), params.size("values"));
        if pairs > t {
            return Err(params.conflict("pairs", format!("T is {t}, and every pair needs a token of its own")).into());
        }
        check_reads(params, "pairs", pairs)?;

        let mut draw = Draw::new(seed);
        let book = draw.directions(values, params.size("dv"));
        let pair_keys = draw.directions(pairs, params.size("dk"));
        let pair_codes = draw.many_below(values, pairs);
        let at = draw.different(0, t, pairs);
        let mut writes = Mixed::filler(&mut draw, t, params.size("fillers"), params.size("dk"), values);
        for (pair, &i) in at.iter().enumerate() {
            let code = pair_codes[pair];
            writes.put(i, pair_keys.row(pair), code, format!("pair {pair} = {code}"), ROLE_PAIR);
        }
        let keys = draw.jitter(&writes.keys.view(), params.float("noise"));
        let queries = draw.jitter(&pair_keys.view(), params.float("noise"));

        let labels = Labels {
            title: format!("In-context recall: {pairs} pairs among {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(writes.tokens),
            read_tokens: Some((0..pairs).map(|p| format!("pair {p} = ?")).collect()),
            roles: roles(&["filler", "pair", "question"], writes.of_write, vec![ROLE_QUESTION; pairs], Some(ROLE_PAIR)),
            notes: Vec::new(),
            answer_at: Some(at.iter().map(|&i| i as u32).collect()),
        };
        Recall { book, keys, codes: writes.codes, queries, after: vec![t as u32; pairs], target: pair_codes, labels }.stream()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::common::testing::{bits, check_recall, make, message, nearest_pair, writes_of};
    use super::*;
    use crate::param::Params;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        assert_eq!(bits(&make(&InContextRecall, &Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [3_350_678_712_461_872_807, 16_831_012_854_183_779_378, 16_764_643_720_803_159_695];

    #[test]
    fn the_default_is_the_references() {
        let stream = make(&InContextRecall, &Params::default(), 3).unwrap();
        assert_eq!((stream.writes(), stream.reads(), stream.key_dim(), stream.value_dim(), stream.beta()), (4096, 256, 64, 64, 20.0));
        let (pairs, filler) = (writes_of(&stream, "pair"), writes_of(&stream, "filler"));
        assert_eq!((pairs.len(), filler.len()), (256, 3840));
        // A filler key is no pair's: two of 64 numbers drawn apart have a cosine of standard deviation 1/8; of 256 x 64 such
        // pairs the largest stays under .75 (6 sigma), while a key's own copies with noise .1 are at .99.
        assert!(nearest_pair(&stream, &pairs, &filler) < 0.75);
        // A filler key's value is a fresh one at every visit: 64 keys would have 64 values otherwise, and not the most of 64 x 128.
        let tokens = stream.labels().tokens.as_ref().unwrap();
        let different: std::collections::HashSet<_> = filler.iter().map(|&i| &tokens[i as usize]).collect();
        // 3840 draws of 8192 combinations leave 8192 (1 - e^(-.469)) = 3066 different ones; standard deviation under 30.
        assert!(different.len().abs_diff(3066) < 150, "{}", different.len());
    }

    #[test]
    fn what_cannot_be_together_is_named() {
        let text = message(&InContextRecall, &Params::default().with("T", 100));
        assert_eq!(text, "task in_context_recall.pairs is 256, but T is 100, and every pair needs a token of its own");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, share, fillers, values, seed) in (16_i64..400, 0.0_f64..=1.0, 1_i64..20, 2_i64..50, 0_u64..1000),
            (dk, dv, noise) in (1_i64..40, 1_i64..20, 0.0_f64..0.5),
        ) {
            let pairs = ((t as f64 * share) as i64).max(1);
            let params = Params::default().with("T", t).with("pairs", pairs).with("fillers", fillers).with("values", values)
                .with("dk", dk).with("dv", dv).with("noise", noise);
            let stream = make(&InContextRecall, &params, seed).unwrap();
            prop_assert_eq!(make(&InContextRecall, &params, seed).unwrap(), stream.clone());
            prop_assert_eq!((stream.writes(), stream.reads()), (t as usize, pairs as usize));
            check_recall(&stream);
            // Every pair is written once, where its read says.
            prop_assert_eq!(&writes_of(&stream, "pair"), stream.labels().answer_at.as_ref().unwrap());
            prop_assert!(stream.after().iter().all(|&a| i64::from(a) == t));
        }
    }
}
