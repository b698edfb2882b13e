//! The task `drift`: phases whose tokens come from clusters of their own; at the end every cluster is asked for.

use ndarray::Axis;

use super::common::{DK, DV, Recall, VALUES, check_reads, few, int, noise, roles, tokens};
use super::random::Draw;
use super::{Task, TaskError};
use crate::param::{ParamSpec, Resolved};
use crate::stream::{Labels, Stream};

/// See the module's page and TASKS.md, "drift".
#[derive(Debug, Clone, Copy)]
pub struct Drift;

static PARAMS: &[ParamSpec] = &[
    tokens(4096),
    few("phases", "phases", "Phases of equal length, one after the other.", 1, 16, 4),
    int(
        "clusters",
        "clusters",
        "Clusters of each phase. A cluster has one key, which its tokens differ from by noise, and one value.",
        1,
        4096,
        64,
    ),
    DK,
    DV,
    VALUES,
    noise(0.2),
];

impl Task for Drift {
    fn name(&self) -> &'static str {
        "drift"
    }

    fn title(&self) -> &'static str {
        "Drift"
    }

    fn about(&self) -> &'static str {
        "Continual learning: each phase draws its tokens from clusters of its own, and at the end every cluster that came is asked \
         for. After the non-stationary streams by which the OVQ paper (arXiv 2602.03922) argues for a dictionary that learns \
         online. It tests forgetting: recall by role is recall by phase, and phase 0 is the oldest."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let (t, phases, clusters, values) = (params.size("T"), params.size("phases"), params.size("clusters"), params.size("values"));
        check_reads(params, "clusters", phases * clusters)?;

        let mut draw = Draw::new(seed);
        let book = draw.directions(values, params.size("dv"));
        let centres = draw.directions(phases * clusters, params.size("dk"));
        let code_of = draw.many_below(values, phases * clusters);
        // Where T is no multiple of the phases, some of them are a token longer.
        let phase_of: Vec<usize> = (0..phases).flat_map(|p| vec![p; (p + 1) * t / phases - p * t / phases]).collect();
        let pick: Vec<usize> = phase_of.iter().map(|p| p * clusters + draw.below(clusters)).collect();
        let mut asked = pick.clone();
        asked.sort_unstable();
        asked.dedup();
        let keys = draw.jitter(&centres.select(Axis(0), &pick).view(), params.float("noise"));
        let queries = draw.jitter(&centres.select(Axis(0), &asked).view(), params.float("noise"));

        let name = |cluster: usize| format!("cluster {} of phase {}", cluster % clusters, cluster / clusters);
        let role_names: Vec<String> = (0..phases).map(|p| format!("phase {p}")).collect();
        let of_write = phase_of.iter().map(|&p| p as u8).collect();
        let of_read = asked.iter().map(|&c| (c / clusters) as u8).collect();
        let labels = Labels {
            title: format!("Drift: {phases} phases of {clusters} clusters over {t} tokens, seed {seed}"),
            about: self.about().to_owned(),
            tokens: Some(pick.iter().map(|&c| format!("{} = {}", name(c), code_of[c])).collect()),
            read_tokens: Some(asked.iter().map(|&c| format!("{} = ?", name(c))).collect()),
            // The oldest phase is what is forgotten first.
            roles: roles(&role_names.iter().map(String::as_str).collect::<Vec<_>>(), of_write, of_read, (phases > 1).then_some(0)),
            notes: Vec::new(),
            // Every token of a cluster holds the answer.
            answer_at: None,
        };
        let codes = pick.iter().map(|&c| code_of[c]).collect();
        let (after, target) = (vec![t as u32; asked.len()], asked.iter().map(|&c| code_of[c]).collect());
        Recall { book, keys, codes, queries, after, target, labels }.stream()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use proptest::prelude::*;

    use super::super::common::testing::{bits, check_recall, codes, make, message, nearest_pair, writes_of};
    use super::*;
    use crate::param::Params;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        assert_eq!(bits(&make(&Drift, &Params::default(), 0).unwrap()), PINNED);
    }
    const PINNED: [u64; 3] = [17_135_029_710_777_325_880, 15_563_259_567_715_326_827, 15_360_352_145_386_843_803];

    #[test]
    fn the_default_is_the_references() {
        let stream = make(&Drift, &Params::default(), 3).unwrap();
        // Each of the 64 clusters of a phase comes 16 times on average; that one is missing has a chance of 64 e^-16.
        assert_eq!((stream.writes(), stream.reads(), stream.key_dim(), stream.value_dim(), stream.beta()), (4096, 256, 64, 64, 20.0));
        for p in 0..4 {
            assert_eq!(writes_of(&stream, &format!("phase {p}")), (p * 1024..(p + 1) * 1024).collect::<Vec<u32>>());
        }
        // Clusters of different phases are different: .75 is 6 standard deviations of two directions' cosine.
        assert!(nearest_pair(&stream, &writes_of(&stream, "phase 0"), &writes_of(&stream, "phase 3")) < 0.75);
    }

    #[test]
    fn what_cannot_be_together_is_named() {
        let text = message(&Drift, &Params::default().with("clusters", 4096));
        assert_eq!(text, "task drift.clusters is 4096, but that makes 16384 questions, and there may be 8192");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_generator_keeps_its_promises(
            (t, phases, clusters, values, seed) in (16_i64..400, 1_i64..=16, 1_i64..20, 2_i64..50, 0_u64..1000),
            (dk, dv, noise) in (1_i64..40, 1_i64..20, 0.0_f64..0.5),
        ) {
            let params = Params::default().with("T", t).with("phases", phases).with("clusters", clusters).with("values", values)
                .with("dk", dk).with("dv", dv).with("noise", noise);
            let stream = make(&Drift, &params, seed).unwrap();
            prop_assert_eq!(make(&Drift, &params, seed).unwrap(), stream.clone());
            check_recall(&stream);
            let (labels, t) = (stream.labels(), t as usize);
            prop_assert_eq!(stream.writes(), t);
            // Phases follow one another, and their lengths differ by one at most.
            prop_assert!(labels.roles.of_write.is_sorted());
            let lengths: Vec<usize> = (0..phases).map(|p| writes_of(&stream, &format!("phase {p}")).len()).collect();
            prop_assert!(lengths.iter().all(|l| l.abs_diff(t / phases as usize) <= 1));
            // What came is asked for, and nothing else, with the value that it always had and the phase that it came in.
            let tokens = labels.tokens.as_ref().unwrap();
            let value_of: HashMap<&str, &str> = tokens.iter().map(|x| x.rsplit_once(" = ").unwrap()).collect();
            prop_assert_eq!(value_of.len(), tokens.iter().collect::<BTreeSet<_>>().len());
            let (_, target) = codes(&stream);
            prop_assert_eq!(stream.reads(), value_of.len());
            for (read, text) in labels.read_tokens.as_ref().unwrap().iter().enumerate() {
                let name = text.strip_suffix(" = ?").unwrap();
                prop_assert_eq!(value_of[name], &target[read].to_string());
                let role = &labels.roles.names[labels.roles.of_read[read] as usize];
                prop_assert!(name.ends_with(role) && name.contains(" of phase "));
            }
        }
    }
}
