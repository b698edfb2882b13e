//! The task `positional_recall`: each name is written several times with different values; a read asks for one of them.

use super::common::{DK, DV, FILLERS, Mixed, Recall, VALUES, check_reads, halves, int, joined, noise, roles, shuffled_visits, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamSpec, Resolved};
use crate::stream::{Labels, Stream};

const ROLE_PAIR: u8 = 1;
/// The role of the reads, or the first of theirs.
const ROLE_QUESTION: u8 = 2;
/// With more visits than these, reads have one role for all.
const MAX_VISIT_ROLES: usize = 16;

/// See the module's page and TASKS.md, "positional recall".
#[derive(Debug, Clone, Copy)]
pub struct PositionalRecall;

static PARAMS: &[ParamSpec] = &[
    tokens(4096),
    int("names", "names", "Different names. Each is visited several times, with another value at each visit.", 1, 4096, 32),
    int("visits", "visits", "How often each name is visited. Every visit is asked for once, after the stream.", 1, 1024, 8),
    FILLERS,
    DK,
    DV,
    VALUES,
    noise(0.05),
];

impl Task for PositionalRecall {
    fn name(&self) -> &'static str {
        "positional_recall"
    }

    fn title(&self) -> &'static str {
        "Positional recall"
    }

    fn about(&self) -> &'static str {
        "Each name is written at several visits, each time with another value, among filler; a read asks for the value at one \
         visit. The positional recall task of the OVQ paper (arXiv 2602.03922). A key is [name ; code of the visit's number] / \
         sqrt 2, so keys of one name resemble each other: it tests whether a memory that merges similar keys keeps apart what \
         differs in half of the key. Recall by role is recall by visit."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, names, visits, values) = (params.size("T"), params.size("names"), params.size("visits"), params.size("values"));
        let pairs = names * visits;
        if pairs > t {
            return Err(params.conflict("visits", format!("{names} names make {pairs} pairs of that, and T is {t}")).into());
        }
        check_reads(params, "visits", pairs)?;
        let (half, rest) = halves(params)?;

        let mut draw = Draw::new(seed);
        let book = draw.directions(values, params.size("dv"));
        let name_keys = draw.directions(names, half);
        let visit_keys = draw.directions(visits, rest);
        let at = draw.different(0, t, pairs);
        let order = shuffled_visits(&mut draw, names, visits);
        let pair_keys = joined(&name_keys, &visit_keys, &order);
        let pair_codes = draw.many_below(values, pairs);
        let mut writes = Mixed::filler(&mut draw, t, params.size("fillers"), params.size("dk"), values);
        for (pair, &i) in at.iter().enumerate() {
            let ((name, visit), code) = (order[pair], pair_codes[pair]);
            writes.put(i, pair_keys.row(pair), code, format!("name {name}, visit {} = {code}", visit + 1), ROLE_PAIR);
        }
        let keys = draw.jitter(&writes.keys.view(), params.float("noise"));
        let queries = draw.jitter(&pair_keys.view(), params.float("noise"));

        let by_visit = visits <= MAX_VISIT_ROLES;
        let mut role_names = vec!["filler".to_owned(), "pair".to_owned()];
        if by_visit {
            role_names.extend((1..=visits).map(|v| format!("visit {v}")));
        } else {
            role_names.push("question".to_owned());
        }
        let of_read = order.iter().map(|&(_, visit)| ROLE_QUESTION + if by_visit { visit as u8 } else { 0 }).collect();
        let labels = Labels {
            title: format!("Positional recall: {names} names, {visits} visits each, among {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(writes.tokens),
            read_tokens: Some(order.iter().map(|(name, visit)| format!("name {name}, visit {} = ?", visit + 1)).collect()),
            roles: roles(&role_names.iter().map(String::as_str).collect::<Vec<_>>(), writes.of_write, of_read, Some(ROLE_PAIR)),
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
        assert_eq!(bits(&make(&PositionalRecall, &Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [17_227_388_402_340_059_303, 5_333_434_673_571_269_396, 13_833_221_538_992_010_280];

    #[test]
    fn keys_of_a_name_share_one_half_and_those_of_a_visit_the_other() {
        // An odd key: 3 numbers of the name, 4 of the visit.
        let params = Params::default().with("T", 64).with("names", 3).with("visits", 4).with("dk", 7).with("noise", 0.0);
        let stream = make(&PositionalRecall, &params, 1).unwrap();
        let pairs = writes_of(&stream, "pair");
        let tokens = stream.labels().tokens.as_ref().unwrap();
        let parse = |i: u32| {
            let (name, rest) = tokens[i as usize].strip_prefix("name ").unwrap().split_once(", visit ").unwrap();
            (name.to_owned(), rest.split_once(" = ").unwrap().0.parse::<usize>().unwrap())
        };
        let mut visits = std::collections::HashMap::new();
        for &i in &pairs {
            let (name, visit) = parse(i);
            // The first mention of a name in the stream is its visit 1, and so on.
            let count = visits.entry(name.clone()).or_insert(0);
            *count += 1;
            assert_eq!(visit, *count);
            for &j in &pairs {
                let (a, b) = (stream.keys_of(0).row(i as usize).to_vec(), stream.keys_of(0).row(j as usize).to_vec());
                let (other, at) = parse(j);
                assert_eq!(a[..3] == b[..3], name == other);
                assert_eq!(a[3..] == b[3..], visit == at);
            }
        }
        assert!(visits.len() == 3 && visits.values().all(|&n| n == 4));
        let names = &stream.labels().roles.names;
        assert_eq!(names, &["filler", "pair", "visit 1", "visit 2", "visit 3", "visit 4"]);
        for (read, text) in stream.labels().read_tokens.as_ref().unwrap().iter().enumerate() {
            let role = &names[stream.labels().roles.of_read[read] as usize];
            assert!(text.ends_with(&format!("{role} = ?")), "{text} {role}");
        }
    }

    #[test]
    fn the_default_is_the_references() {
        let stream = make(&PositionalRecall, &Params::default(), 3).unwrap();
        assert_eq!((stream.writes(), stream.reads(), stream.key_dim(), stream.value_dim(), stream.beta()), (4096, 256, 64, 64, 20.0));
        assert!(nearest_pair(&stream, &writes_of(&stream, "pair"), &writes_of(&stream, "filler")) < 0.75);
    }

    #[test]
    fn what_cannot_be_together_is_named() {
        let text = message(&PositionalRecall, &Params::default().with("T", 200));
        assert_eq!(text, "task positional_recall.visits is 8, but 32 names make 256 pairs of that, and T is 200");
        let text = message(&PositionalRecall, &Params::default().with("T", 131_072).with("names", 4096));
        assert_eq!(text, "task positional_recall.visits is 8, but that makes 32768 questions, and there may be 8192");
        let text = message(&PositionalRecall, &Params::default().with("dk", 1));
        assert_eq!(text, "task positional_recall.dk is 1, but a key of a name and a number needs at least 2");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, names, visits, values, seed) in (200_i64..400, 1_i64..11, 1_i64..20, 2_i64..50, 0_u64..1000),
            (dk, dv, noise, fillers) in (2_i64..40, 1_i64..20, 0.0_f64..0.5, 1_i64..20),
        ) {
            let params = Params::default().with("T", t).with("names", names).with("visits", visits).with("values", values)
                .with("fillers", fillers).with("dk", dk).with("dv", dv).with("noise", noise);
            let stream = make(&PositionalRecall, &params, seed).unwrap();
            prop_assert_eq!(make(&PositionalRecall, &params, seed).unwrap(), stream.clone());
            prop_assert_eq!((stream.writes(), stream.reads()), (t as usize, (names * visits) as usize));
            check_recall(&stream);
            prop_assert_eq!(&writes_of(&stream, "pair"), stream.labels().answer_at.as_ref().unwrap());
        }
    }
}
