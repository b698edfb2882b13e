//! `mnemoscope devices`: the adapters of this machine, and which one is taken.

use std::io::Write;

use serde_json::{Value, json};

use super::{CliError, table};
use crate::engine::{Devices, LayerFactory};
use crate::gpu::{AdapterSummary, Gpu};
use crate::session::BackendChoice;

/// What `devices` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What a choice of backend comes to on this machine.
struct Taken {
    choice: &'static str,
    adapter: String,
    reason: String,
    gpu: bool,
}

fn taken(choice: BackendChoice, name: &'static str) -> Taken {
    match Devices::default().open(choice) {
        Ok(info) => Taken { choice: name, adapter: info.adapter, reason: info.reason, gpu: info.gpu },
        Err(error) => Taken { choice: name, adapter: "none".to_owned(), reason: error.to_string(), gpu: false },
    }
}

impl Args {
    /// Prints the adapters and the choices.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let adapters = Gpu::adapters();
        let choices = [taken(BackendChoice::Auto, "auto"), taken(BackendChoice::Gpu, "gpu"), taken(BackendChoice::Cpu, "cpu")];
        if self.json {
            let choices: Vec<Value> =
                choices.iter().map(|t| json!({ "backend": t.choice, "adapter": t.adapter, "gpu": t.gpu, "reason": t.reason })).collect();
            let all = json!({ "adapters": adapters.iter().map(as_json).collect::<Vec<_>>(), "choices": choices });
            writeln!(out, "{all:#}")?;
            return Ok(());
        }
        if adapters.is_empty() {
            writeln!(out, "No GPU adapter is here; everything runs on the CPU.")?;
        } else {
            let heads = ["adapter", "interface", "class", ">buffer", ">binding", ">group storage", ">group threads", ">groups", "driver"];
            table::write(out, &heads, &adapters.iter().map(row).collect::<Vec<_>>())?;
        }
        for adapter in &adapters {
            if let Some(reason) = &adapter.unusable {
                writeln!(out, "{} cannot be used: {reason}.", adapter.title())?;
            }
        }
        writeln!(out)?;
        let rows: Vec<Vec<String>> = choices.into_iter().map(|t| vec![format!("--backend {}", t.choice), t.adapter, t.reason]).collect();
        table::write(out, &["choice", "takes", "because"], &rows)?;
        Ok(())
    }
}

fn row(a: &AdapterSummary) -> Vec<String> {
    vec![
        a.name.clone(),
        a.backend.clone(),
        a.class.to_owned(),
        table::bytes(a.buffer_bytes),
        table::bytes(a.storage_bytes),
        table::bytes(u64::from(a.workgroup_bytes)),
        a.workgroup_threads.to_string(),
        a.workgroups.to_string(),
        a.driver.clone(),
    ]
}

fn as_json(a: &AdapterSummary) -> Value {
    json!({
        "name": a.name,
        "interface": a.backend,
        "class": a.class,
        "real": a.real,
        "driver": a.driver,
        "unusable": a.unusable,
        "limits": {
            "buffer_bytes": a.buffer_bytes,
            "storage_binding_bytes": a.storage_bytes,
            "workgroup_storage_bytes": a.workgroup_bytes,
            "workgroup_threads": a.workgroup_threads,
            "workgroups_per_dimension": a.workgroups,
        },
    })
}
