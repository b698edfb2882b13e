//! The task `variable_tracking`: chains of assignments, followed hop by hop by the answers themselves.

use ndarray::Axis;

use super::common::{DK, DV, FILLERS, Mixed, Recall, VALUES, check_reads, few, int, noise, roles, shuffled_visits, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamSpec, Resolved};
use crate::stream::{Chain, Labels, Stream};

const ROLE_ASSIGNMENT: u8 = 1;
const ROLE_HOP: u8 = 2;

/// See the module's page and TASKS.md, "variable tracking".
#[derive(Debug, Clone, Copy)]
pub struct VariableTracking;

static PARAMS: &[ParamSpec] = &[
    tokens(4096),
    int("chains", "chains", "Chains of assignments; the last variable of each is asked for after the stream.", 1, 512, 16),
    few("hops", "hops", "Assignments of a chain, and so the questions that lead from its last variable to its value.", 1, 8, 4),
    FILLERS,
    DK,
    DV,
    VALUES,
    noise(0.1),
];

impl Task for VariableTracking {
    fn name(&self) -> &'static str {
        "variable_tracking"
    }

    fn title(&self) -> &'static str {
        "Variable tracking"
    }

    fn about(&self) -> &'static str {
        "Chains of assignments among filler: x.1 = 57, x.2 = x.1, x.3 = x.2, and so on. The first hop asks for the last variable of \
         a chain; the answer, snapped to the nearest code, is what the next hop asks for, until the value is reached. After the \
         variable tracking task of RULER (arXiv 2404.06654). It tests how errors add up: a wrong answer leads to a wrong \
         question, so recall by role (by hop) decays as the powers of the first hop's."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, chains, hops, values) = (params.size("T"), params.size("chains"), params.size("hops"), params.size("values"));
        let assignments = chains * hops;
        if assignments > t {
            return Err(params.conflict("chains", format!("with {hops} hops that makes {assignments} assignments, and T is {t}")).into());
        }
        check_reads(params, "chains", assignments)?;

        let mut draw = Draw::new(seed);
        // The codes: the final values, then the variables, chain by chain.
        let variable = |chain: usize, place: usize| values + chain * hops + place;
        let book = draw.directions(values + assignments, params.size("dv"));
        // What asks for a code: a variable's key. A value was never assigned to, so a question for it finds nothing.
        let names = draw.directions(values + assignments, params.size("dk"));
        let final_codes = draw.many_below(values, chains);
        let at = draw.different(0, t, assignments);
        let order = shuffled_visits(&mut draw, chains, hops);
        let mut writes = Mixed::filler(&mut draw, t, params.size("fillers"), params.size("dk"), values);
        let mut place_of = vec![0; assignments];
        for (&i, &(chain, place)) in at.iter().zip(&order) {
            let code = if place == 0 { final_codes[chain] } else { variable(chain, place - 1) };
            let token = if place == 0 {
                format!("{} = {code}", name(chain, 0))
            } else {
                format!("{} = {}", name(chain, place), name(chain, place - 1))
            };
            writes.put(i, names.row(variable(chain, place)), code, token, ROLE_ASSIGNMENT);
            place_of[chain * hops + place] = i as u32;
        }
        let keys = draw.jitter(&writes.keys.view(), params.float("noise"));
        let query_of_code = draw.jitter(&names.view(), params.float("noise"));

        // Hop by hop, all chains at each: (chain, place of the variable asked for).
        let asked: Vec<(usize, usize)> = (0..hops).flat_map(|hop| (0..chains).map(move |c| (c, hops - 1 - hop))).collect();
        let variables: Vec<usize> = asked.iter().map(|&(c, p)| variable(c, p)).collect();
        let target = asked.iter().map(|&(c, p)| if p == 0 { final_codes[c] } else { variable(c, p - 1) }).collect();
        let role_names: Vec<String> =
            ["filler".to_owned(), "assignment".to_owned()].into_iter().chain((1..=hops).map(|h| format!("hop {h}"))).collect();
        let labels = Labels {
            title: format!("Variable tracking: {chains} chains of {hops} hops among {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(writes.tokens),
            read_tokens: Some(asked.iter().map(|&(c, p)| format!("{} = ?", name(c, p))).collect()),
            roles: roles(
                &role_names.iter().map(String::as_str).collect::<Vec<_>>(),
                writes.of_write,
                (0..assignments).map(|read| ROLE_HOP + (read / chains) as u8).collect(),
                Some(ROLE_ASSIGNMENT),
            ),
            notes: vec![
                "The texts of the reads are the right questions. From the second hop on, a lane asks for what its own answer led to."
                    .to_owned(),
            ],
            answer_at: Some(asked.iter().map(|&(c, p)| place_of[c * hops + p]).collect()),
        };
        let queries = query_of_code.select(Axis(0), &variables);
        let hop_reads = (0..hops).map(|h| h * chains..(h + 1) * chains).collect();
        let stream = Recall { book, keys, codes: writes.codes, queries, after: vec![t as u32; assignments], target, labels }.stream()?;
        Ok(stream.with_chain(Chain { hops: hop_reads, query_of_code: query_of_code.mapv(|x| x as f32) })?)
    }
}

/// The name of a variable: `x3.2` is the second of chain 3.
fn name(chain: usize, place: usize) -> String {
    format!("x{chain}.{}", place + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::common::testing::{bits, check_recall, codes, make, message, nearest_pair, writes_of};
    use super::*;
    use crate::param::Params;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        assert_eq!(bits(&make(&VariableTracking, &Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [14_643_469_430_397_215_093, 5_560_071_282_595_016_639, 451_934_431_719_128_821];

    #[test]
    fn the_default_has_sixteen_chains_of_four_hops() {
        let stream = make(&VariableTracking, &Params::default(), 3).unwrap();
        assert_eq!((stream.writes(), stream.reads(), stream.key_dim(), stream.value_dim(), stream.beta()), (4096, 64, 64, 64, 20.0));
        let assignments = writes_of(&stream, "assignment");
        assert_eq!(assignments.len(), 64);
        assert!(nearest_pair(&stream, &assignments, &writes_of(&stream, "filler")) < 0.75);
        assert_eq!(codes(&stream).0.nrows(), 128 + 64);
        assert_eq!(stream.labels().roles.names, ["filler", "assignment", "hop 1", "hop 2", "hop 3", "hop 4"]);
    }

    #[test]
    fn what_cannot_be_together_is_named() {
        let text = message(&VariableTracking, &Params::default().with("T", 60));
        assert_eq!(text, "task variable_tracking.chains is 16, but with 4 hops that makes 64 assignments, and T is 60");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, chains, hops, values, seed) in (170_i64..400, 1_i64..20, 1_i64..=8, 2_i64..50, 0_u64..1000),
            (dk, dv, noise, fillers) in (1_i64..40, 1_i64..20, 0.0_f64..0.5, 1_i64..20),
        ) {
            let params = Params::default().with("T", t).with("chains", chains).with("hops", hops).with("values", values)
                .with("fillers", fillers).with("dk", dk).with("dv", dv).with("noise", noise);
            let stream = make(&VariableTracking, &params, seed).unwrap();
            prop_assert_eq!(make(&VariableTracking, &params, seed).unwrap(), stream.clone());
            check_recall(&stream);
            let (t, chains, hops, values) = (t as usize, chains as usize, hops as usize, values as usize);
            prop_assert_eq!((stream.writes(), stream.reads()), (t, chains * hops));
            let (labels, (_, target)) = (stream.labels(), codes(&stream));
            let chain = stream.chain().unwrap();
            let at = labels.answer_at.as_ref().unwrap();
            let (tokens, asked) = (labels.tokens.as_ref().unwrap(), labels.read_tokens.as_ref().unwrap());
            for read in 0..stream.reads() {
                // The write that answers a read assigns to what it asks for, and what it assigns is what the next hop asks for.
                let name = asked[read].strip_suffix(" = ?").unwrap();
                let (assigned, to) = tokens[at[read] as usize].split_once(" = ").unwrap();
                prop_assert_eq!(assigned, name);
                if read + chains < stream.reads() {
                    prop_assert_eq!(format!("{to} = ?"), asked[read + chains].clone());
                    prop_assert_eq!(stream.follows(read + chains), Some(read));
                    // An earlier assignment, and the right answer's query bit for bit.
                    prop_assert!(at[read + chains] < at[read]);
                    prop_assert_eq!(stream.query(0, read + chains), chain.query_of_code.row(target[read] as usize));
                } else {
                    prop_assert_eq!(to, target[read].to_string());
                    prop_assert!((target[read] as usize) < values);
                }
                prop_assert_eq!(stream.is_silent(read), read >= chains);
                prop_assert_eq!(stream.follows(read).is_none(), read < chains);
            }
        }
    }
}
