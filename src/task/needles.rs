//! The task `needles`: a haystack that repeats a few sentences, and a few facts said once.

use ndarray::Axis;

use super::common::{DK, DV, Recall, VALUES, check_reads, few, halves, int, joined, noise, roles, share, shuffled_visits, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamSpec, Resolved};
use crate::stream::{Labels, Stream};

const ROLE_NEEDLE: u8 = 1;
const ROLE_QUESTION: u8 = 2;

/// See the module's page and TASKS.md, "needles".
#[derive(Debug, Clone, Copy)]
pub struct Needles;

static PARAMS: &[ParamSpec] = &[
    tokens(4096),
    int("needles", "needles", "Facts with a key of their own, hidden in the haystack and asked for after the stream.", 1, 4096, 8),
    few(
        "mentions",
        "mentions",
        "How often each needle is said, each time with another value. More than 1 is RULER's multi-value: a key is then [name ; \
         number of the mention] / sqrt 2, and a read asks for the value of one mention, so that one value is right.",
        1,
        64,
        1,
    ),
    few("queries", "queries", "How often each mention is asked for, each time with other noise on the query.", 1, 64, 1),
    int("haystack", "hay", "Different sentences of the haystack, each always with its own value.", 1, 4096, 16),
    DK,
    DV,
    VALUES,
    noise(0.1),
    share("span_from", "span from", "Needles are hidden from this share of the stream on.", 0.3),
    share("span_to", "span to", "Needles are hidden before this share of the stream.", 0.85),
];

impl Task for Needles {
    fn name(&self) -> &'static str {
        "needles"
    }

    fn title(&self) -> &'static str {
        "Needles in a haystack"
    }

    fn about(&self) -> &'static str {
        "A haystack that repeats a few sentences, each key always with its own value and so easy to memorise, and a few facts \
         said once, asked for after the stream. After the needle tasks of RULER (arXiv 2404.06654): one needle, several, several \
         values of one (mentions), several questions. It tests whether a memory notices what its state cannot recall: LoLA's \
         sparse cache keeps the needles, a linear state alone loses them."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, needles, haystack) = (params.size("T"), params.size("needles"), params.size("haystack"));
        let (dk, values, mentions) = (params.size("dk"), params.size("values"), params.size("mentions"));
        let facts = needles * mentions;
        let (from, to) = span(params, t, facts)?;
        check_reads(params, "queries", facts * params.size("queries"))?;

        let mut draw = Draw::new(seed);
        let book = draw.directions(values, params.size("dv"));
        // By their order in the stream: the needle, and which of its mentions it is.
        let (needle_keys, order) = if mentions == 1 {
            (draw.directions(needles, dk), (0..needles).map(|n| (n, 0)).collect())
        } else {
            let (half, rest) = halves(params)?;
            let (names, numbers) = (draw.directions(needles, half), draw.directions(mentions, rest));
            let order = shuffled_visits(&mut draw, needles, mentions);
            (joined(&names, &numbers, &order), order)
        };
        let needle_codes = draw.many_below(values, facts);
        let hay_keys = draw.directions(haystack, dk);
        let hay_codes = draw.many_below(values, haystack);
        let at = draw.different(from, to, facts);
        let hay = draw.many_below(haystack, t);
        let name = |fact: usize| match order[fact] {
            (needle, _) if mentions == 1 => format!("needle {needle}"),
            (needle, mention) => format!("needle {needle}, mention {}", mention + 1),
        };

        let mut keys = hay_keys.select(Axis(0), &hay);
        let mut codes: Vec<usize> = hay.iter().map(|&h| hay_codes[h]).collect();
        let mut tokens: Vec<String> = hay.iter().map(|&h| format!("hay {h} = {}", hay_codes[h])).collect();
        let mut of_write = vec![0; t];
        for (fact, &i) in at.iter().enumerate() {
            keys.row_mut(i).assign(&needle_keys.row(fact));
            codes[i] = needle_codes[fact];
            tokens[i] = format!("{} = {}", name(fact), needle_codes[fact]);
            of_write[i] = ROLE_NEEDLE;
        }
        let asked: Vec<usize> = (0..params.size("queries")).flat_map(|_| 0..facts).collect();
        let keys = draw.jitter(&keys.view(), params.float("noise"));
        let queries = draw.jitter(&needle_keys.select(Axis(0), &asked).view(), params.float("noise"));

        let labels = Labels {
            title: format!("Needles: {facts} among {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(tokens),
            read_tokens: Some(asked.iter().map(|&f| format!("{} = ?", name(f))).collect()),
            roles: roles(&["hay", "needle", "question"], of_write, vec![ROLE_QUESTION; asked.len()], Some(ROLE_NEEDLE)),
            notes: Vec::new(),
            answer_at: Some(asked.iter().map(|&f| at[f] as u32).collect()),
        };
        // Every question is asked after the whole stream, so the reads are in order as they are.
        let (after, target) = (vec![t as u32; asked.len()], asked.iter().map(|&f| needle_codes[f]).collect());
        Recall { book, keys, codes, queries, after, target, labels }.stream()
    }
}

/// Where needles may lie: from..to, with room for all of them.
fn span(params: &Resolved, t: usize, facts: usize) -> Result<(usize, usize), TaskError> {
    let place = |name| (t as f64 * params.float(name)) as usize;
    let (from, to) = (place("span_from"), place("span_to"));
    if from >= to {
        return Err(params
            .conflict("span_to", format!("span_from is {}, which leaves no token between", params.float("span_from")))
            .into());
    }
    if facts > to - from {
        let between = format!("there are {} tokens between span_from and span_to", to - from);
        let mentions = params.size("mentions");
        let reason = if mentions == 1 { between } else { format!("with {mentions} mentions each that makes {facts}, and {between}") };
        return Err(params.conflict("needles", reason).into());
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::common::testing::{bits, check_recall, codes};
    use super::*;
    use crate::param::Params;

    fn make(params: &Params, seed: u64) -> Result<Stream, TaskError> {
        super::super::common::testing::make(&Needles, params, seed)
    }

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        assert_eq!(bits(&make(&Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [392_972_791_989_243_835, 2_420_716_386_152_325_224, 16_650_383_579_327_313_008];

    #[test]
    fn what_cannot_be_together_is_named() {
        let message = |p: Params| make(&p, 0).unwrap_err().to_string();
        assert_eq!(
            message(Params::default().with("T", 20).with("needles", 12)),
            "task needles.needles is 12, but there are 11 tokens between span_from and span_to"
        );
        assert_eq!(
            message(Params::default().with("span_from", 0.9)),
            "task needles.span_to is 0.85, but span_from is 0.9, which leaves no token between"
        );
        assert_eq!(
            message(Params::default().with("T", 20).with("mentions", 3)),
            "task needles.needles is 8, but with 3 mentions each that makes 24, and there are 11 tokens between span_from and span_to"
        );
        assert_eq!(
            message(Params::default().with("dk", 1).with("mentions", 2)),
            "task needles.dk is 1, but a key of a name and a number needs at least 2"
        );
        assert_eq!(
            message(Params::default().with("needles", 500).with("queries", 20)),
            "task needles.queries is 20, but that makes 10000 questions, and there may be 8192"
        );
    }

    /// RULER's multi-value and multi-query: every value of every needle is asked for, so many times, each with one right answer.
    #[test]
    fn several_mentions_and_queries_ask_for_each_value_by_its_number() {
        let params = Params::default().with("T", 400).with("needles", 3).with("mentions", 4).with("queries", 2).with("dk", 9);
        let stream = make(&params, 5).unwrap();
        check_recall(&stream);
        let labels = stream.labels();
        assert_eq!(stream.reads(), 24);
        let asked = labels.read_tokens.as_ref().unwrap();
        assert_eq!(asked[..12], asked[12..]);
        let mut sorted = asked[..12].to_vec();
        sorted.sort();
        let expected: Vec<String> = (0..3).flat_map(|n| (1..=4).map(move |m| format!("needle {n}, mention {m} = ?"))).collect();
        assert_eq!(sorted, expected);
        // Mentions of a needle are numbered in the order in which they come, and share the first half of the key.
        let at = labels.answer_at.as_ref().unwrap();
        let place = |n: usize, m: usize| at[asked.iter().position(|t| *t == format!("needle {n}, mention {m} = ?")).unwrap()];
        let half = |i: u32| stream.keys_of(0).row(i as usize).iter().take(4).copied().collect::<Vec<f32>>();
        for n in 0..3 {
            for m in 2..=4 {
                assert!(place(n, m - 1) < place(n, m));
                let cosine: f32 = half(place(n, m)).iter().zip(half(place(n, 1))).map(|(a, b)| a * b).sum::<f32>() * 2.0;
                assert!(cosine > 0.9, "{cosine}");
            }
        }
        // The same question again has other noise.
        assert_ne!(stream.query(0, 0), stream.query(0, 12));
    }

    #[test]
    fn needles_differ_by_seed() {
        let at = |seed| make(&Params::default(), seed).unwrap().labels().answer_at.clone().unwrap();
        assert_ne!(at(1), at(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, needles, haystack, values, seed) in (64_i64..600, 1_i64..16, 1_i64..20, 2_i64..50, 0_u64..1000),
            (dk, dv, noise) in (2_i64..40, 1_i64..20, 0.0_f64..0.5),
        ) {
            let params = Params::default().with("T", t).with("needles", needles).with("haystack", haystack).with("values", values)
                .with("dk", dk).with("dv", dv).with("noise", noise);
            let stream = make(&params, seed).unwrap();
            prop_assert_eq!(make(&params, seed).unwrap(), stream.clone());
            let (t, needles) = (t as usize, needles as usize);
            prop_assert_eq!((stream.writes(), stream.reads()), (t, needles));
            prop_assert_eq!((stream.key_dim(), stream.value_dim()), (dk as usize, dv as usize));
            prop_assert!(stream.is_unit(1e-6));
            let (book, target) = codes(&stream);
            let labels = stream.labels();
            let at = labels.answer_at.as_ref().unwrap();
            // Needles lie in the span, each where its read says, each with its own value, and nothing else is marked.
            let (from, to) = ((t as f64 * 0.3) as usize, (t as f64 * 0.85) as usize);
            prop_assert!(at.windows(2).all(|w| w[0] < w[1]) && at.iter().all(|&i| (from..to).contains(&(i as usize))));
            for (read, &i) in at.iter().enumerate() {
                prop_assert_eq!(stream.values().slice(ndarray::s![0, i as usize, ..]), book.row(target[read] as usize));
            }
            let marked: Vec<u32> = (0..t as u32).filter(|&i| labels.roles.of_write[i as usize] == ROLE_NEEDLE).collect();
            prop_assert_eq!(&marked, at);
            // A hay sentence always has the same value.
            let mut value_of = std::collections::HashMap::new();
            for (i, token) in labels.tokens.as_ref().unwrap().iter().enumerate() {
                let value = stream.values().slice(ndarray::s![0, i, ..]).to_vec();
                prop_assert_eq!(value_of.entry(token.clone()).or_insert_with(|| value.clone()), &value);
            }
            prop_assert!(value_of.len() <= haystack as usize + needles);
        }
    }
}
