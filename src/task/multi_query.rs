//! The task `multi_query`: pairs first, then filler, and questions at distances from a power law.

use ndarray::Axis;

use super::common::{DK, DV, FILLERS, Mixed, Recall, VALUES, check_reads, int, noise, roles, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamKind, ParamSpec, Resolved};
use crate::stream::{Labels, Stream};

const ROLE_PAIR: u8 = 1;
const ROLE_QUESTION: u8 = 2;

/// See the module's page and TASKS.md, "multi-query".
#[derive(Debug, Clone, Copy)]
pub struct MultiQuery;

static PARAMS: &[ParamSpec] = &[
    tokens(2048),
    int("pairs", "pairs", "Pairs that the stream begins with; each is asked for once.", 1, 8192, 128),
    FILLERS,
    DK,
    DV,
    VALUES,
    noise(0.1),
    ParamSpec {
        name: "power",
        title: "power",
        doc: "A question comes d tokens after the pairs with a probability in proportion to d^(power - 1): near 0 most questions come \
              early, 1 spreads them evenly. No two come at the same place.",
        kind: ParamKind::Float { min: 0.0, max: 1.0, default: 0.1, log: false },
    },
];

impl Task for MultiQuery {
    fn name(&self) -> &'static str {
        "multi_query"
    }

    fn title(&self) -> &'static str {
        "Multi-query recall"
    }

    fn about(&self) -> &'static str {
        "Pairs first, then filler; each pair is asked for once, at a distance drawn from a power law. MQAR of Zoology (arXiv \
         2312.04927). It tests associative recall at many distances at once: recall by age shows how far a memory reaches. \
         Filler keys are never pair keys."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, pairs, values) = (params.size("T"), params.size("pairs"), params.size("values"));
        if 2 * pairs > t {
            return Err(params.conflict("pairs", format!("T is {t}, and each pair needs a token and a later place to ask")).into());
        }
        check_reads(params, "pairs", pairs)?;

        let mut draw = Draw::new(seed);
        let book = draw.directions(values, params.size("dv"));
        let pair_keys = draw.directions(pairs, params.size("dk"));
        let pair_codes = draw.many_below(values, pairs);
        let tokens = pair_codes.iter().enumerate().map(|(pair, code)| format!("pair {pair} = {code}")).collect();
        let first = Mixed { keys: pair_keys.clone(), codes: pair_codes.clone(), tokens, of_write: vec![ROLE_PAIR; pairs] };
        let writes = first.then(Mixed::filler(&mut draw, t - pairs, params.size("fillers"), params.size("dk"), values));
        let keys = draw.jitter(&writes.keys.view(), params.float("noise"));
        let queries = draw.jitter(&pair_keys.view(), params.float("noise"));

        // (after, pair), in the order of the reads.
        let places = distances(&mut draw, t - pairs, pairs, params.float("power"));
        let mut asked: Vec<(usize, usize)> = places.into_iter().enumerate().map(|(pair, d)| (pairs + d, pair)).collect();
        asked.sort_unstable();
        let (after, order): (Vec<usize>, Vec<usize>) = asked.into_iter().unzip();

        let labels = Labels {
            title: format!("Multi-query recall: {pairs} pairs, then {} tokens of filler, seed {seed}", t - pairs),
            about: self.about().to_owned(),
            tokens: Some(writes.tokens),
            read_tokens: Some(order.iter().map(|p| format!("pair {p} = ?")).collect()),
            roles: roles(&["filler", "pair", "question"], writes.of_write, vec![ROLE_QUESTION; pairs], Some(ROLE_PAIR)),
            notes: Vec::new(),
            answer_at: Some(order.iter().map(|&p| p as u32).collect()),
        };
        let (queries, target) = (queries.select(Axis(0), &order), order.iter().map(|&p| pair_codes[p]).collect());
        let after = after.into_iter().map(|a| a as u32).collect();
        Recall { book, keys, codes: writes.codes, queries, after, target, labels }.stream()
    }
}

/// `count` different distances of 1..=room, drawn one after the other with probabilities in proportion to d^(power - 1).
///
/// Each distance gets an exponential waiting time of that rate, and the first `count` to come are taken: the same as drawing
/// one after the other without replacement, at the cost of one sort.
fn distances(draw: &mut Draw, room: usize, count: usize, power: f64) -> Vec<usize> {
    let mut waits: Vec<(f64, usize)> = (1..=room)
        .map(|d| {
            let rate = libm::pow(d as f64, power - 1.0);
            // 1 - u lies in (0, 1], so its logarithm is finite.
            (-libm::log(1.0 - draw.uniform()) / rate, d)
        })
        .collect();
    waits.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    waits.into_iter().take(count).map(|(_, d)| d).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::common::testing::{bits, check_recall, make, message, nearest_pair, writes_of};
    use super::*;
    use crate::param::Params;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        assert_eq!(bits(&make(&MultiQuery, &Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [4_393_184_899_799_154_105, 3_173_204_015_780_765_492, 7_194_103_802_216_138_239];

    #[test]
    fn the_default_is_the_references() {
        let stream = make(&MultiQuery, &Params::default(), 3).unwrap();
        assert_eq!((stream.writes(), stream.reads(), stream.key_dim(), stream.value_dim(), stream.beta()), (2048, 128, 64, 64, 20.0));
        let (pairs, filler) = (writes_of(&stream, "pair"), writes_of(&stream, "filler"));
        assert_eq!(pairs, (0..128).collect::<Vec<u32>>());
        assert!(nearest_pair(&stream, &pairs, &filler) < 0.75);
    }

    #[test]
    fn the_first_distance_follows_the_power_law() {
        // Of 4 places with power 0: 1, 1/2, 1/3, 1/4, whose sum is 25/12.
        let mut draw = Draw::new(9);
        let mut counts = [0_u32; 4];
        for _ in 0..25_000 {
            counts[distances(&mut draw, 4, 1, 0.0)[0] - 1] += 1;
        }
        for (d, expected) in [(0, 12_000_u32), (1, 6000), (2, 4000), (3, 3000)] {
            // Standard deviations of at most 79.
            assert!(counts[d].abs_diff(expected) < 400, "{counts:?}");
        }
        // The second of two, given the first: 1/2 : 1/3 : 1/4 after 1, and so on; the chance that 4 is among the two is
        // sum over a != 4 of p(a) p(4) / (1 - p(a)) + p(4) = .12 (1 + .48/.52 + .24/.76 + .16/.84) = .2915.
        let hits = (0..25_000).filter(|_| distances(&mut draw, 4, 2, 0.0).contains(&4)).count();
        assert!(hits.abs_diff(7287) < 360, "{hits}");
        assert_eq!(distances(&mut draw, 1, 1, 1.0), [1]);
    }

    #[test]
    fn what_cannot_be_together_is_named() {
        let text = message(&MultiQuery, &Params::default().with("T", 255));
        assert_eq!(text, "task multi_query.pairs is 128, but T is 255, and each pair needs a token and a later place to ask");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, share, fillers, values, seed) in (16_i64..400, 0.0_f64..=0.5, 1_i64..20, 2_i64..50, 0_u64..1000),
            (dk, dv, noise, power) in (1_i64..40, 1_i64..20, 0.0_f64..0.5, 0.0_f64..=1.0),
        ) {
            let pairs = ((t as f64 * share) as i64).max(1);
            let params = Params::default().with("T", t).with("pairs", pairs).with("fillers", fillers).with("values", values)
                .with("dk", dk).with("dv", dv).with("noise", noise).with("power", power);
            let stream = make(&MultiQuery, &params, seed).unwrap();
            prop_assert_eq!(make(&MultiQuery, &params, seed).unwrap(), stream.clone());
            prop_assert_eq!((stream.writes(), stream.reads()), (t as usize, pairs as usize));
            check_recall(&stream);
            // Different places, all of them after the pairs; every pair is asked for.
            let after = stream.after();
            prop_assert!(after.windows(2).all(|w| w[0] < w[1]) && after.iter().all(|&a| i64::from(a) > pairs && i64::from(a) <= t));
            let mut asked = stream.labels().answer_at.clone().unwrap();
            asked.sort_unstable();
            prop_assert_eq!(asked, (0..pairs as u32).collect::<Vec<_>>());
        }
    }
}
