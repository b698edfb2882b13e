//! Holds the lists of parameters to what the layers do with them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use mnemoscope::layer::workload::Workload;
use mnemoscope::layer::{KINDS, LayerKind, Precision, Record};
use mnemoscope::param::{ParamKind, ParamSpec, ParamValue, Params, Resolved};
use mnemoscope::trace::TraceBlock;

/// Values of a parameter that are worth trying: each choice, or a few numbers within the limits.
fn values(spec: &ParamSpec) -> Vec<ParamValue> {
    match spec.kind {
        ParamKind::Int { min, max, default, .. } => [min.max(1), default, default.saturating_mul(2).min(max)].map(ParamValue::Int).to_vec(),
        ParamKind::Float { min, max, default, .. } => {
            vec![ParamValue::Float((default * 0.5).max(min)), ParamValue::Float((default * 2.0).min(max))]
        }
        ParamKind::AutoFloat { .. } => vec![ParamValue::Float(0.75), ParamValue::Float(3.0)],
        ParamKind::Choice { options } => options.iter().map(|(name, _)| ParamValue::from(*name)).collect(),
        ParamKind::Bool { .. } => vec![ParamValue::Bool(false), ParamValue::Bool(true)],
        ParamKind::Text { default, .. } => vec![ParamValue::from(default), ParamValue::from("one = two")],
    }
}

fn run(kind: &dyn LayerKind, params: &Params) -> TraceBlock {
    let setup = Workload { dk: 6, dv: 5, reads: 40, ..Workload::causal(160) }.setup(kind, params).unwrap();
    let mut block = TraceBlock::default();
    kind.cpu(&setup, Precision::Single).unwrap().advance(usize::MAX / 2, Record::All, &mut block).unwrap();
    block
}

/// What the window does not offer because it does nothing must do nothing.
#[test]
fn a_parameter_that_does_not_apply_changes_no_number() {
    let mut hidden = 0;
    for &kind in KINDS {
        let choices = kind.params().iter().filter(|s| matches!(s.kind, ParamKind::Choice { .. }));
        let settings = choices.flat_map(|s| values(s).into_iter().map(|v| (s.name, v))).chain([("", ParamValue::Bool(true))]);
        for (name, value) in settings {
            let mut params = Params::default();
            if !name.is_empty() {
                params.set(name, value);
            }
            let resolved = Resolved::new("test", kind.params(), &params).unwrap();
            let expected = run(kind, &params);
            for spec in kind.params().iter().filter(|s| !kind.applies(s.name, &resolved)) {
                for value in values(spec) {
                    hidden += 1;
                    let mut other = params.clone();
                    other.set(spec.name, value.clone());
                    let text = format!("{} {name}: {} = {value}", kind.name(), spec.name);
                    // Compared as text: a margin may be NaN on both sides.
                    assert_eq!(format!("{:?}", run(kind, &other)), format!("{expected:?}"), "{text}");
                }
            }
        }
    }
    assert!(hidden > 10, "nothing was hidden: {hidden}");
}

/// Sliders and `--set` rely on defaults that can be used as they are, and on names that are said once.
#[test]
fn defaults_are_within_their_limits_and_names_are_unique() {
    for &kind in KINDS {
        Resolved::new("test", kind.params(), &Params::default()).unwrap();
        for spec in kind.params() {
            assert_eq!(kind.params().iter().filter(|s| s.name == spec.name).count(), 1, "{} {}", kind.name(), spec.name);
            if let Some(default) = spec.default_value() {
                Resolved::new("test", kind.params(), &Params::default().with(spec.name, default)).unwrap();
            }
            assert!(!spec.doc.is_empty() && !spec.title.is_empty(), "{} {}", kind.name(), spec.name);
        }
    }
}
