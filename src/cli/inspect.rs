//! `mnemoscope inspect`: what is inside a capture or a session, and what was understood of it.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{CliError, table};
use crate::metric::{held, memory_share};
use crate::param::ParamValue;
use crate::session::file::{SessionError, is_capture};
use crate::session::plan::{Plan, PlanLane};
use crate::session::saved::{self, Made, Saved, is_saved};
use crate::session::{Session, Source, view};
use crate::stream::Stream;
use crate::stream::capture::{Capture, CaptureSummary, LayerSummary};

/// What `inspect` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A capture (safetensors), a session (RON), or `bundled`, the capture inside the program.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints what is inside the file.
    ///
    /// # Errors
    /// If the file cannot be read, or the session in it cannot run: then nothing is printed.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        if is_capture(&self.file)? {
            let summary = Capture::open(&self.file).map_err(SessionError::from)?.summary();
            return if self.json { capture_json(out, &summary) } else { capture_text(out, &summary) };
        }
        if is_saved(&self.file) {
            let Saved { session, plan, made, .. } = saved::open(&self.file)?;
            return self.session(out, &session, &plan, Some(&made));
        }
        let session = Session::open(&self.file)?;
        let failed = |error| CliError::plan(&self.file, error);
        let plan = Plan::new(&session, self.file.parent()).map_err(failed)?;
        view::check(&session, &plan.stream).map_err(failed)?;
        self.session(out, &session, &plan, None)
    }

    fn session(&self, out: &mut dyn Write, session: &Session, plan: &Plan, made: Option<&Made>) -> Result<(), CliError> {
        if self.json { session_json(out, session, plan, made) } else { session_text(out, session, plan, made) }
    }
}

fn capture_json(out: &mut dyn Write, summary: &CaptureSummary) -> Result<(), CliError> {
    writeln!(out, "{:#}", json!({ "kind": "capture", "capture": summary }))?;
    Ok(())
}

fn capture_text(out: &mut dyn Write, summary: &CaptureSummary) -> Result<(), CliError> {
    writeln!(out, "{}: a capture of {}, {} tensors\n", summary.file, table::bytes(summary.bytes as u64), summary.tensors.len())?;
    let tensors =
        summary.tensors.iter().map(|t| vec![t.name.clone(), t.dtype.clone(), format!("{:?}", t.shape), table::bytes(t.bytes as u64)]);
    table::write(out, &["tensor", "type", "shape", ">size"], &tensors.collect::<Vec<_>>())?;

    let facts = &summary.facts;
    let mut known: Vec<(&str, String)> = Vec::new();
    let mut add = |name, text: Option<String>| known.extend(text.map(|t| (name, t)));
    add("model", facts.model.clone());
    add("prompt", facts.prompt.clone());
    add("tokens", summary.token_texts.map(|n| format!("{n} texts")));
    add("token_ids", facts.token_ids.as_ref().map(|ids| format!("{} numbers", ids.len())));
    let text = summary.needle_text.as_ref().map_or_else(String::new, |t| format!(": {t:?}"));
    add("needle", facts.needle.as_ref().map(|n| format!("tokens {} to {} ({} of them){text}", n.start, n.end - 1, n.len())));
    let at = facts.answer_tokens.as_ref().map_or_else(String::new, |a| format!(", tokens {} to {}", a.start, a.end - 1));
    add("answer", facts.answer.as_ref().map(|a| format!("{a}{at}")));
    add("scale", Some(facts.scale.map_or_else(|| "not given: 1/sqrt(dk) is taken".to_owned(), |s| format!("{s}"))));
    known.extend(facts.other.iter().map(|(k, v)| (k.as_str(), v.clone())));
    writeln!(out, "\nmetadata, as understood:")?;
    table::write(out, &["field", "value"], &known.into_iter().map(|(k, v)| vec![k.to_owned(), v]).collect::<Vec<_>>())?;

    writeln!(
        out,
        "\nlayers that can be run, if every number is finite (that is found out when one is run; here only the header was read):"
    )?;
    let heads = [">layer", ">tokens", ">query heads", ">key/value heads", ">queries a key", ">dk", ">dv"];
    let (good, bad): (Vec<_>, Vec<_>) = summary.layers.iter().partition(|l| l.problem.is_none());
    table::write(out, &heads, &good.iter().map(|l| layer_row(l)).collect::<Vec<_>>())?;
    for layer in good.iter().filter(|l| !l.gates.is_empty()) {
        let gates = layer.gates.join(" and ");
        writeln!(
            out,
            "layer {} has gates of its own ({gates} of each token), which layers with such parameters take instead",
            layer.layer
        )?;
    }
    for layer in bad {
        writeln!(out, "layer {} cannot be run: {}", layer.layer, layer.problem.as_deref().unwrap_or_default())?;
    }
    let ignored: Vec<&str> = summary.ignored().map(|t| t.name.as_str()).collect();
    if !ignored.is_empty() {
        writeln!(out, "\nnot part of a capture, and ignored: {}", ignored.join(", "))?;
    }
    Ok(())
}

fn layer_row(l: &LayerSummary) -> Vec<String> {
    [l.layer as usize, l.tokens, l.query_heads, l.kv_heads, l.group, l.key_dim, l.value_dim].iter().map(ToString::to_string).collect()
}

fn session_json(out: &mut dyn Write, session: &Session, plan: &Plan, made: Option<&Made>) -> Result<(), CliError> {
    let lane = |lane: &PlanLane, given: &Stream| {
        let cost = lane.kind.cost(&lane.setup);
        // Not every layer has a logit scale.
        let beta = lane.kind.params().iter().any(|p| p.name == "beta").then(|| lane.setup.beta());
        json!({
            "name": lane.name, "layer": lane.kind.name(), "chunk": lane.setup.chunk, "beta": beta, "notes": lane.notes,
            "state_numbers": cost.state_numbers, "write_madds": cost.write_madds, "read_madds": cost.read_madds,
            "states": lane.setup.stream.kv_heads(), "held_numbers": held(&cost, &lane.setup.stream),
            "memory_share": memory_share(&cost, &lane.setup.stream, given), "trace_bytes": lane.trace_bytes(),
            "channels": lane.channels,
        })
    };
    let s = &plan.stream;
    let understood = json!({
        "stream": {
            "title": s.labels().title, "about": s.labels().about, "notes": s.labels().notes, "roles": s.labels().roles.names,
            "writes": s.writes(), "reads": s.reads(), "kv_heads": s.kv_heads(), "query_heads": s.query_heads(),
            "key_dim": s.key_dim(), "value_dim": s.value_dim(), "beta": s.beta(),
        },
        "step": plan.step,
        "lanes": plan.lanes.iter().map(|l| lane(l, s)).collect::<Vec<Value>>(),
    });
    let session = serde_json::to_value(session).map_err(|e| CliError::Usage(e.to_string()))?;
    writeln!(out, "{:#}", json!({ "kind": "session", "session": session, "plan": understood, "trace": made }))?;
    Ok(())
}

fn session_text(out: &mut dyn Write, session: &Session, plan: &Plan, made: Option<&Made>) -> Result<(), CliError> {
    writeln!(out, "a session of version {}, seed {}, backend {}", session.version, session.seed, backend(session))?;
    if let Some(made) = made {
        writeln!(out, "with its trace, made on {} by Mnemoscope {}, SHA-256 {}", made.adapter, made.program, made.trace_sha256)?;
    }
    for (name, text) in [("title", &session.title), ("caption", &session.caption), ("notes", &session.notes)] {
        if !text.is_empty() {
            writeln!(out, "{name}: {}", text.replace('\n', "\n  "))?;
        }
    }
    for mark in &session.bookmarks {
        let beyond = mark.position > plan.stream.writes();
        writeln!(out, "bookmark at {}{}: {}", mark.position, if beyond { " (beyond the end of the stream)" } else { "" }, mark.caption)?;
    }
    match &session.source {
        Source::Capture(c) => {
            let layer = c.layer.map_or_else(|| "its first layer".to_owned(), |l| format!("layer {l}"));
            writeln!(out, "source: capture {}, {layer}", c.path.display())?;
        }
        Source::Task(t) => writeln!(out, "source: task {}({})", t.name, settings(t.params.0.iter()))?,
    }
    for lane in session.lanes.iter().filter(|l| !l.enabled) {
        writeln!(out, "lane {} is switched off", lane.name)?;
    }
    let s = &plan.stream;
    writeln!(out, "\n{}\n{}", s.labels().title, s.labels().about)?;
    writeln!(
        out,
        "T = {} writes, R = {} reads, {} key/value and {} query heads, dk = {}, dv = {}, beta = {}; steps of {} writes\n",
        s.writes(),
        s.reads(),
        s.kv_heads(),
        s.query_heads(),
        s.key_dim(),
        s.value_dim(),
        s.beta(),
        plan.step
    )?;
    let rows = plan.lanes.iter().map(|lane| {
        let cost = lane.kind.cost(&lane.setup);
        vec![
            lane.name.clone(),
            lane.kind.name().to_owned(),
            lane.setup.chunk.to_string(),
            lane.setup.stream.kv_heads().to_string(),
            held(&cost, &lane.setup.stream).to_string(),
            format!("{:.1}%", 100.0 * memory_share(&cost, &lane.setup.stream, s)),
            table::bytes(lane.trace_bytes()),
            settings(session.lanes[lane.index].params.0.iter()),
        ]
    });
    let heads = ["lane", "layer", ">chunk", ">states", ">numbers held", ">of full", ">trace", "set"];
    table::write(out, &heads, &rows.collect::<Vec<_>>())?;
    for note in s
        .labels()
        .notes
        .iter()
        .map(|n| ("the stream", n))
        .chain(plan.lanes.iter().flat_map(|l| l.notes.iter().map(|n| (l.name.as_str(), n))))
    {
        writeln!(out, "{}: {}", note.0, note.1)?;
    }
    Ok(())
}

fn backend(session: &Session) -> String {
    format!("{:?}", session.backend).to_lowercase()
}

/// `n_max = 512, chunk = 64`.
pub(super) fn settings<'a>(params: impl Iterator<Item = (&'a String, &'a ParamValue)>) -> String {
    params.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(file: &str, json: bool) -> String {
        let mut out = Vec::new();
        Args { file: PathBuf::from(file), json }.execute(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_capture_is_described_in_full() {
        let text = printed("assets/smollm2_needle_2k_layer12_kv0.safetensors", false);
        for part in [
            "3 tensors",
            "layers.12.q  F16   [3, 2048, 64]  768.0 KiB",
            "tokens 699 to 719 (21 of them): \" One of the special magic numbers for long-context is: 6433012.\"",
            "6433012, tokens 712 to 718",
            "scale      0.125",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let row = text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(row, ["12", "2048", "3", "1", "3", "64", "64"]);
    }

    #[test]
    fn json_is_for_programs() {
        let value: Value = serde_json::from_str(&printed("bundled", true)).unwrap();
        assert_eq!((&value["kind"], &value["capture"]["layers"][0]["group"]), (&json!("capture"), &json!(3)));
        assert_eq!(value["capture"]["facts"]["needle"], json!({ "start": 699, "end": 720 }));
    }

    #[test]
    fn of_a_session_that_cannot_run_the_mistake_alone_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.ron");
        std::fs::write(&path, "(lanes: [(name: \"a\", layer: \"ovq\", params: {\"n_max\": 0})])").unwrap();
        let mut out = Vec::new();
        let error = Args { file: path.clone(), json: false }.execute(&mut out).unwrap_err();
        let expected = "1:54: in `lanes[0].params.n_max`: a.n_max is 0, but must be from 1 to 16384";
        assert_eq!(error.to_string(), format!("{}:{expected}", path.display()));
        assert_eq!(out, b"", "no half of a report");
        std::fs::write(&path, "(source: Task(name: \"needles\"), lanes: [(name: \"a\", layer: \"ovq\", params: {\"n_max\": 256})])")
            .unwrap();
        let text = printed(path.to_str().unwrap(), false);
        assert!(text.contains("T = 4096 writes, R = 8 reads") && text.contains("n_max = 256"), "{text}");
        let value: Value = serde_json::from_str(&printed(path.to_str().unwrap(), true)).unwrap();
        assert_eq!((&value["plan"]["lanes"][0]["layer"], &value["plan"]["lanes"][0]["beta"]), (&json!("ovq"), &json!(20.0)));
        std::fs::write(&path, "(source: Task(name: \"needles\"), lanes: [(name: \"a\", layer: \"mamba2\")])").unwrap();
        let value: Value = serde_json::from_str(&printed(path.to_str().unwrap(), true)).unwrap();
        assert_eq!((&value["plan"]["lanes"][0]["layer"], &value["plan"]["lanes"][0]["beta"]), (&json!("mamba2"), &Value::Null));
    }
}
