//! The task `regression`: linear functions by example, asked for at points that were not seen.

use ndarray::Array2;

use super::common::{check_reads, int, one_head, roles, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::layer::MAX_DIM;
use crate::param::{ParamSpec, Resolved};
use crate::stream::{Labels, Stream, StreamParts, Targets};

/// The logit scale: sharper than that of recall, because a near point's value is a good answer (TASKS.md).
const BETA: f32 = 30.0;

const ROLE_EXAMPLE: u8 = 0;
const ROLE_QUESTION: u8 = 1;

/// See the module's page and TASKS.md, "regression".
#[derive(Debug, Clone, Copy)]
pub struct Regression;

static PARAMS: &[ParamSpec] = &[
    tokens(16_384),
    int("functions", "functions", "Different linear functions, each with an id of its own in the key.", 1, 1024, 128),
    int("dx", "point dim dx", "Numbers in a point x.", 1, 32, 2),
    int("dy", "value dim dy", "Numbers in a value W x.", 1, 256, 8),
    int("did", "id dim", "Numbers in a function's id; a key has these and the point's.", 1, 255, 60),
    int("reads", "questions", "Questions after the stream, each at a fresh point of a function drawn for it.", 1, 8192, 256),
];

impl Task for Regression {
    fn name(&self) -> &'static str {
        "regression"
    }

    fn title(&self) -> &'static str {
        "Linear regression"
    }

    fn about(&self) -> &'static str {
        "Linear functions by example: a key is [id of the function ; x] / sqrt 2, its value W x; a read asks for the function at a \
         fresh point. The in-context regression task of the OVQ paper (arXiv 2602.03922). It tests interpolation: a memory that \
         merges near points of one function answers well, one that mixes functions does not. The score is the mean squared \
         error over the mean square of what is right: smaller is better, and 1 is no better than answering 0."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, functions, reads) = (params.size("T"), params.size("functions"), params.size("reads"));
        let (dx, dy, did) = (params.size("dx"), params.size("dy"), params.size("did"));
        check_reads(params, "reads", reads)?;
        if did + dx > MAX_DIM {
            return Err(params
                .conflict("did", format!("with dx {dx} a key would have {} numbers, and it may have {MAX_DIM}", did + dx))
                .into());
        }

        let mut draw = Draw::new(seed);
        let functions = Functions {
            ids: draw.directions(functions, did),
            // dy rows a function.
            weights: draw.normals(functions * dy, dx) / (dx as f64).sqrt(),
        };
        let (keys, values, tokens) = functions.draw(&mut draw, t, |text| text);
        let (queries, targets, read_tokens) = functions.draw(&mut draw, reads, |text| format!("{text} = ?"));
        let count = functions.ids.nrows();
        let labels = Labels {
            title: format!("Linear regression: {count} functions over {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(tokens),
            read_tokens: Some(read_tokens),
            roles: roles(&["example", "question"], vec![ROLE_EXAMPLE; t], vec![ROLE_QUESTION; reads], None),
            notes: Vec::new(),
            // A fresh point was never written.
            answer_at: None,
        };
        Ok(Stream::new(StreamParts {
            keys: one_head(&keys),
            values: one_head(&values),
            queries: one_head(&queries),
            after: vec![t as u32; reads],
            beta: BETA,
            targets: Targets::Values(targets.mapv(|x| x as f32)),
            labels,
        })?)
    }
}

struct Functions {
    /// [functions, did], of length 1.
    ids: Array2<f64>,
    /// [functions * dy, dx].
    weights: Array2<f64>,
}

impl Functions {
    /// `n` points of functions drawn at random: keys [n, did + dx], values [n, dy], texts.
    fn draw(&self, draw: &mut Draw, n: usize, text: impl Fn(String) -> String) -> (Array2<f64>, Array2<f64>, Vec<String>) {
        let (functions, did) = self.ids.dim();
        let (dx, dy) = (self.weights.ncols(), self.weights.nrows() / functions);
        let of = draw.many_below(functions, n);
        let x = draw.directions(n, dx);
        let (mut keys, mut values) = (Array2::zeros((n, did + dx)), Array2::zeros((n, dy)));
        for (i, &f) in of.iter().enumerate() {
            for (to, from) in keys.row_mut(i).iter_mut().zip(self.ids.row(f).iter().chain(x.row(i))) {
                *to = from / std::f64::consts::SQRT_2;
            }
            for d in 0..dy {
                // Summed in order, so that the bits do not depend on a library's product.
                values[[i, d]] = self.weights.row(f * dy + d).iter().zip(x.row(i)).map(|(w, x)| w * x).sum();
            }
        }
        let tokens = of.iter().zip(x.rows()).map(|(f, x)| text(format!("f{f}({})", point(x.iter())))).collect();
        (keys, values, tokens)
    }
}

/// The first two numbers of a point: `0.53, -0.85`, and dots for the others.
fn point<'a>(x: impl ExactSizeIterator<Item = &'a f64>) -> String {
    let more = if x.len() > 2 { ", .." } else { "" };
    x.take(2).map(|v| format!("{v:.2}")).collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ndarray::s;
    use proptest::prelude::*;

    use super::super::common::testing::{bits, make, message};
    use super::*;
    use crate::param::Params;

    fn targets(stream: &Stream) -> &Array2<f32> {
        let Targets::Values(values) = stream.targets() else { panic!("regression has values") };
        values
    }

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        assert_eq!(bits(&make(&Regression, &Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [2_876_817_367_138_887_355, 6_741_311_695_351_647_455, 3_826_247_879_719_879_722];

    #[test]
    fn the_default_is_the_references() {
        let stream = make(&Regression, &Params::default(), 3).unwrap();
        assert_eq!((stream.writes(), stream.reads(), stream.key_dim(), stream.value_dim(), stream.beta()), (16_384, 256, 62, 8, 30.0));
        // |W x|^2 / dy has mean 1 / dx for unit x: E w^2 = 1 / dx, |x| = 1.
        let mean = targets(&stream).mapv(|v| v * v).mean().unwrap();
        assert!((mean - 0.5).abs() < 0.1, "{mean}");
    }

    /// Of functions on the line the points are 1 and -1, and the values there are w and -w: every one is known by heart.
    #[test]
    fn functions_are_linear_and_the_same_for_writes_and_reads() {
        let params = Params::default().with("T", 200).with("functions", 5).with("dx", 1).with("dy", 3).with("did", 6).with("reads", 40);
        let stream = make(&Regression, &params, 2).unwrap();
        let labels = stream.labels();
        let mut weights: HashMap<String, Vec<f32>> = HashMap::new();
        let mut check = |text: &str, value: Vec<f32>| {
            let (name, point) = text.split_once('(').unwrap();
            let sign: f32 = point.split_once(')').unwrap().0.parse().unwrap();
            assert_eq!(sign.abs().to_bits(), 1.0_f32.to_bits(), "{text}");
            let w: Vec<f32> = value.iter().map(|v| v * sign).collect();
            assert_eq!(weights.entry(name.to_owned()).or_insert_with(|| w.clone()), &w, "{text}");
        };
        for (i, text) in labels.tokens.as_ref().unwrap().iter().enumerate() {
            check(text, stream.values().slice(s![0, i, ..]).to_vec());
        }
        for (r, text) in labels.read_tokens.as_ref().unwrap().iter().enumerate() {
            check(text, targets(&stream).row(r).to_vec());
        }
        assert_eq!(weights.len(), 5);
    }

    #[test]
    fn what_cannot_be_together_is_named() {
        let text = message(&Regression, &Params::default().with("did", 255));
        assert_eq!(text, "task regression.did is 255, but with dx 2 a key would have 257 numbers, and it may have 256");
    }

    #[test]
    fn points_are_told_in_short() {
        assert_eq!(point([0.534, -0.846].iter()), "0.53, -0.85");
        assert_eq!(point([1.0].iter()), "1.00");
        assert_eq!(point([0.1, 0.2, 0.3].iter()), "0.10, 0.20, ..");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, functions, dx, dy, did) in (16_i64..400, 1_i64..30, 1_i64..8, 1_i64..20, 1_i64..40),
            (reads, seed) in (1_i64..60, 0_u64..1000),
        ) {
            let params = Params::default().with("T", t).with("functions", functions).with("dx", dx).with("dy", dy).with("did", did)
                .with("reads", reads);
            let stream = make(&Regression, &params, seed).unwrap();
            prop_assert_eq!(make(&Regression, &params, seed).unwrap(), stream.clone());
            prop_assert_eq!((stream.writes(), stream.reads()), (t as usize, reads as usize));
            prop_assert_eq!((stream.key_dim(), stream.value_dim()), ((did + dx) as usize, dy as usize));
            prop_assert!(stream.is_unit(1e-5));
            // The id and the point have half of the key's length each.
            for key in stream.keys_of(0).rows() {
                let id: f32 = key.iter().take(did as usize).map(|x| x * x).sum();
                prop_assert!((id - 0.5).abs() < 1e-5);
            }
        }
    }
}
