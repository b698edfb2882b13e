//! The task `needles`: a haystack that repeats a few sentences, and a few facts said once.

use ndarray::{Array2, Array3, Axis};

use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamKind, ParamSpec, Resolved};
use crate::stream::{Labels, Roles, Stream, StreamParts, Targets};

/// The logit scale of the tasks with unit vectors (TASKS.md).
const BETA: f32 = 20.0;

const ROLE_NEEDLE: u8 = 1;
const ROLE_QUESTION: u8 = 2;

/// See the module's page and TASKS.md, "needles".
#[derive(Debug, Clone, Copy)]
pub struct Needles;

const fn int(name: &'static str, title: &'static str, doc: &'static str, min: i64, max: i64, default: i64) -> ParamSpec {
    ParamSpec { name, title, doc, kind: ParamKind::Int { min, max, default, log: true } }
}

const fn share(name: &'static str, title: &'static str, doc: &'static str, default: f64) -> ParamSpec {
    ParamSpec { name, title, doc, kind: ParamKind::Float { min: 0.0, max: 1.0, default, log: false } }
}

static PARAMS: &[ParamSpec] = &[
    int("T", "tokens T", "Writes in the stream, needles among them.", 16, 131_072, 4096),
    int("needles", "needles", "Facts said once; each is asked for after the stream.", 1, 4096, 8),
    int("haystack", "hay", "Different sentences of the haystack, each always with its own value.", 1, 4096, 16),
    int("dk", "key dim dk", "Numbers in a key.", 1, 256, 64),
    int("dv", "value dim dv", "Numbers in a value.", 1, 256, 64),
    int("values", "values", "Different values there are: an answer by chance is right once in so many.", 2, 16_384, 128),
    ParamSpec {
        name: "noise",
        title: "noise",
        doc: "Length of the noise on every key and query, which are then brought back to length 1.",
        kind: ParamKind::Float { min: 0.0, max: 10.0, default: 0.1, log: false },
    },
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
         said once, asked for after the stream. After the needle tasks of RULER (arXiv 2404.06654). It tests whether a memory \
         notices what its state cannot recall: LoLA's sparse cache keeps the needles, a linear state alone loses them."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, needles, haystack) = (params.size("T"), params.size("needles"), params.size("haystack"));
        let (dk, dv, values, noise) = (params.size("dk"), params.size("dv"), params.size("values"), params.float("noise"));
        let (from, to) = span(params, t, needles)?;

        let mut draw = Draw::new(seed);
        let book = draw.directions(values, dv);
        let needle_keys = draw.directions(needles, dk);
        let needle_codes = draw.many_below(values, needles);
        let hay_keys = draw.directions(haystack, dk);
        let hay_codes = draw.many_below(values, haystack);
        let at = draw.different(from, to, needles);
        let hay = draw.many_below(haystack, t);

        let mut keys = hay_keys.select(Axis(0), &hay);
        let mut codes: Vec<usize> = hay.iter().map(|&h| hay_codes[h]).collect();
        let mut tokens: Vec<String> = hay.iter().map(|&h| format!("hay {h} = {}", hay_codes[h])).collect();
        let mut of_write = vec![0; t];
        for (needle, &i) in at.iter().enumerate() {
            keys.row_mut(i).assign(&needle_keys.row(needle));
            codes[i] = needle_codes[needle];
            tokens[i] = format!("needle {needle} = {}", needle_codes[needle]);
            of_write[i] = ROLE_NEEDLE;
        }
        let keys = draw.jitter(&keys.view(), noise);
        let queries = draw.jitter(&needle_keys.view(), noise);

        let labels = Labels {
            title: format!("Needles: {needles} among {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(tokens),
            read_tokens: Some((0..needles).map(|n| format!("needle {n} = ?")).collect()),
            roles: Roles {
                names: ["hay", "needle", "question"].map(str::to_owned).to_vec(),
                of_write,
                of_read: vec![ROLE_QUESTION; needles],
                marked: Some(ROLE_NEEDLE),
            },
            notes: Vec::new(),
            answer_at: Some(at.iter().map(|&i| i as u32).collect()),
        };
        Ok(Stream::new(StreamParts {
            keys: one_head(&keys),
            values: one_head(&book.select(Axis(0), &codes)),
            queries: one_head(&queries),
            // Every question is asked after the whole stream, so the reads are in order as they are.
            after: vec![t as u32; needles],
            beta: BETA,
            targets: Targets::Codes { codebook: book.mapv(|x| x as f32), target: needle_codes.iter().map(|&c| c as u32).collect() },
            labels,
        })?)
    }
}

/// Where needles may lie: from..to, with room for all of them.
fn span(params: &Resolved, t: usize, needles: usize) -> Result<(usize, usize), TaskError> {
    let place = |name| (t as f64 * params.float(name)) as usize;
    let (from, to) = (place("span_from"), place("span_to"));
    if from >= to {
        return Err(params
            .conflict("span_to", format!("span_from is {}, which leaves no token between", params.float("span_from")))
            .into());
    }
    if needles > to - from {
        return Err(params.conflict("needles", format!("there are {} tokens between span_from and span_to", to - from)).into());
    }
    Ok((from, to))
}

/// [rows, columns] in float64 as the one head [1, rows, columns] in float32.
fn one_head(rows: &Array2<f64>) -> Array3<f32> {
    rows.mapv(|x| x as f32).insert_axis(Axis(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::param::Params;

    fn make(params: &Params, seed: u64) -> Result<Stream, TaskError> {
        Needles.generate(&Resolved::new("task needles", PARAMS, params).unwrap(), seed)
    }

    fn codes(stream: &Stream) -> (&Array2<f32>, &[u32]) {
        let Targets::Codes { codebook, target } = stream.targets() else { panic!("recall has codes") };
        (codebook, target)
    }

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let stream = make(&Params::default(), 0).unwrap();
        let bits =
            |x: &Array3<f32>| x.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, v| (h ^ u64::from(v.to_bits())).wrapping_mul(0x0100_0000_01b3));
        assert_eq!([bits(stream.keys()), bits(stream.values()), bits(stream.queries())], PINNED);
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
