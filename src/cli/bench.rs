//! `mnemoscope bench`: the layers' speed on this machine, on the CPU and on the GPU, everything recorded, and the window's own work
//! for a frame.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::talk::say;
use super::{CliError, table};
use crate::gpu::{Gpu, GpuStream};
use crate::layer::workload::{Workload, ovq_figure_params, run_to_end};
use crate::layer::{self, KINDS, Layer, LayerError, LayerKind, Precision, Setup};
use crate::param::{Params, nearest};
use crate::session::BackendChoice;

/// Chunks in one call: on the CPU few, so that traces stay in the processor's caches, on the GPU as many as there are.
const CPU_CHUNKS: usize = 16;

/// What `bench` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these layers, by name, and `frame` for the window's frames; all of them, and the OVQ figures, where absent.
    layers: Vec<String>,
    /// Tokens of the stream that every layer runs over (one head, dk = dv = 64, every token read).
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=131_072))]
    tokens: u32,
    /// Runs of each, of which the fastest counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Frames of the window of each kind.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    frames: u32,
    /// Measure on a software GPU as well, where there is no real one: slow.
    #[arg(long)]
    software_gpu: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One line of the result.
#[derive(Debug, Serialize)]
struct Measured {
    name: String,
    tokens: usize,
    cpu_seconds: Option<f64>,
    gpu_seconds: Option<f64>,
    /// Why there is no GPU figure for this layer, where others have one.
    gpu_missing: Option<String>,
}

#[derive(Debug, Serialize)]
struct Results {
    cpu_threads: usize,
    gpu: Option<String>,
    gpu_reason: String,
    optimised: bool,
    layers: Vec<Measured>,
    #[cfg(feature = "gui")]
    frames: Vec<crate::app::frame_bench::Measured>,
}

/// What stands for the window's frames among the names of layers.
const FRAME: &str = "frame";

impl Args {
    /// Measures and prints.
    pub fn execute(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let kinds = self.kinds()?;
        let choice = if self.software_gpu { BackendChoice::Gpu } else { BackendChoice::Auto };
        let (gpu, gpu_reason) = match Gpu::open(choice) {
            Ok((gpu, reason)) => (Some(gpu), reason),
            Err(error) => (None, error.to_string()),
        };
        let optimised = !cfg!(debug_assertions);
        if !optimised {
            say!("This build is not optimised; its figures say little. Use a release build.");
        }
        let mut layers = Vec::new();
        for kind in kinds {
            say!("{} ..", kind.title());
            let name = format!("{}, defaults", kind.name());
            layers.push(self.measure(name, kind, self.tokens as usize, &Params::default(), gpu.as_ref(), true)?);
        }
        if let Some(ovq) = layer::kind("ovq").filter(|_| self.layers.is_empty()) {
            say!("The OVQ figures ..");
            let name = "ovq, N 2048, chunk 128".to_owned();
            layers.push(self.measure(name.clone(), ovq, 16_384, &ovq_figure_params(), None, true)?);
            if gpu.is_some() {
                layers.push(self.measure(name, ovq, 65_536, &ovq_figure_params(), gpu.as_ref(), false)?);
            }
        }
        let results = Results {
            cpu_threads: rayon::current_num_threads(),
            gpu: gpu.map(|g| g.adapter().title()),
            gpu_reason,
            optimised,
            layers,
            #[cfg(feature = "gui")]
            frames: self.frames()?,
        };
        if self.json {
            let text = serde_json::to_string_pretty(&results).map_err(std::io::Error::from)?;
            writeln!(out, "{text}")?;
        } else {
            print(out, &results)?;
        }
        Ok(())
    }

    fn kinds(&self) -> Result<Vec<&'static dyn LayerKind>, CliError> {
        if self.layers.is_empty() {
            return Ok(KINDS.to_vec());
        }
        let find = |name: &String| {
            layer::kind(name).ok_or_else(|| {
                let known = || KINDS.iter().map(|k| k.name());
                let hint = nearest(name, known())
                    .map_or_else(|| format!("there are {}", known().collect::<Vec<_>>().join(", ")), |n| format!("did you mean `{n}`?"));
                CliError::Usage(format!("there is no layer `{name}`; {hint}"))
            })
        };
        self.layers.iter().filter(|name| *name != FRAME || cfg!(not(feature = "gui"))).map(find).collect()
    }

    /// The window's frames, with every panel open.
    #[cfg(feature = "gui")]
    fn frames(&self) -> Result<Vec<crate::app::frame_bench::Measured>, CliError> {
        use crate::app::frame_bench::{Window, sessions};
        if !self.layers.is_empty() && !self.layers.iter().any(|name| name == FRAME) {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for (name, session) in sessions() {
            say!("The window on {name} ..");
            let measured = Window::new(session).and_then(|mut window| window.measure(name, self.frames as usize));
            all.extend(measured.map_err(|e| CliError::Window(e.to_string()))?);
        }
        Ok(all)
    }

    fn measure(
        &self,
        name: String,
        kind: &'static dyn LayerKind,
        tokens: usize,
        params: &Params,
        gpu: Option<&Arc<Gpu>>,
        cpu: bool,
    ) -> Result<Measured, CliError> {
        let setup = Workload::causal(tokens).setup(kind, params).map_err(LayerError::from)?;
        let cpu_seconds = if cpu { Some(self.fastest(&setup, CPU_CHUNKS, || kind.cpu(&setup, Precision::Single))?) } else { None };
        let mut measured = Measured { name, tokens, cpu_seconds, gpu_seconds: None, gpu_missing: None };
        if let Some(gpu) = gpu {
            let stream = GpuStream::new(gpu, &setup.stream).map_err(CliError::from)?;
            let chunks = setup.stream.chunks(setup.chunk);
            // The first run compiles the kernels; a layer that this device cannot hold is a line of the table, not the end of it.
            let all = kind.gpu(&setup, &stream).and_then(|mut layer| run_to_end(&mut *layer, &setup, chunks));
            match all {
                Ok(_) => measured.gpu_seconds = Some(self.fastest(&setup, chunks, || kind.gpu(&setup, &stream))?),
                Err(error) => measured.gpu_missing = Some(error.to_string()),
            }
        }
        Ok(measured)
    }

    /// The fastest of the runs, in seconds; building the layer is not counted.
    fn fastest(&self, setup: &Setup, chunks: usize, build: impl Fn() -> Result<Box<dyn Layer>, LayerError>) -> Result<f64, LayerError> {
        let mut fastest = Duration::MAX;
        for _ in 0..self.repeat {
            let (took, _) = run_to_end(&mut *build()?, setup, chunks)?;
            fastest = fastest.min(took);
        }
        Ok(fastest.as_secs_f64())
    }
}

fn print(out: &mut dyn Write, results: &Results) -> std::io::Result<()> {
    writeln!(out, "CPU: {} threads. GPU: {} ({}).", results.cpu_threads, results.gpu.as_deref().unwrap_or("none"), results.gpu_reason)?;
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), |s| format!("{:.1}", s * 1e3));
    let rate = |seconds: Option<f64>, tokens| seconds.map_or_else(|| "-".to_owned(), |s| format!("{:.0}", f64::from(tokens) / s));
    let row = |m: &Measured| {
        let tokens = m.tokens as u32;
        let ratio = m.cpu_seconds.zip(m.gpu_seconds).map_or_else(|| "-".to_owned(), |(cpu, gpu)| format!("{:.1}", cpu / gpu));
        let (cpu, gpu) = (m.cpu_seconds, m.gpu_seconds);
        vec![m.name.clone(), tokens.to_string(), time(cpu), rate(cpu, tokens), time(gpu), rate(gpu, tokens), ratio]
    };
    if !results.layers.is_empty() {
        let heads = ["layer", ">tokens", ">CPU ms", ">CPU tokens/s", ">GPU ms", ">GPU tokens/s", ">GPU/CPU"];
        table::write(out, &heads, &results.layers.iter().map(row).collect::<Vec<_>>())?;
    }
    for m in &results.layers {
        if let Some(reason) = &m.gpu_missing {
            writeln!(out, "{} has no GPU figure: {reason}", m.name)?;
        }
    }
    #[cfg(feature = "gui")]
    print_frames(out, &results.frames)?;
    Ok(())
}

/// The frames, and the panels that take the most of the longest kind.
#[cfg(feature = "gui")]
fn print_frames(out: &mut dyn Write, frames: &[crate::app::frame_bench::Measured]) -> std::io::Result<()> {
    use crate::app::frame_bench::Spread;
    if frames.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nThe window's own work for a frame, every panel open, no GPU; milliseconds.")?;
    let times = |s: &Spread| [s.median, s.p99, s.longest].map(|seconds| format!("{:.2}", seconds * 1e3));
    let row = |m: &crate::app::frame_bench::Measured| {
        let name = [m.stream.clone(), m.writes.to_string(), m.what.to_owned()];
        name.into_iter().chain(times(&m.frame)).collect::<Vec<_>>()
    };
    table::write(out, &["frame", ">writes", "what", ">median", ">99 %", ">longest"], &frames.iter().map(row).collect::<Vec<_>>())?;
    writeln!(out, "\nPanel by panel:")?;
    let mut rows = Vec::new();
    for m in frames {
        let mut panels = m.panels.clone();
        panels.sort_by(|(_, a), (_, b)| b.p99.total_cmp(&a.p99));
        for (panel, spread) in panels {
            let name = [m.stream.clone(), m.writes.to_string(), m.what.to_owned(), panel.to_owned()];
            rows.push(name.into_iter().chain(times(&spread)).collect::<Vec<_>>());
        }
    }
    table::write(out, &["frame", ">writes", "what", "panel", ">median", ">99 %", ">longest"], &rows)
}
