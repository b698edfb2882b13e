//! Who builds layers, and on which device: the seam between the run and the machine.

use std::sync::Arc;

use super::BackendInfo;
use crate::gpu::{Gpu, GpuError, GpuStream};
use crate::layer::{Layer, LayerError, LayerKind, Precision, Setup};
use crate::session::BackendChoice;
use crate::stream::Stream;

/// Builds the layers of a run on one backend. [`Devices`] is the real one; tests give one whose layers fail.
pub trait LayerFactory: Send {
    /// Opens a backend, if it is not open already; layers built from now on are on it.
    ///
    /// # Errors
    /// If what was asked for is not there ([`BackendChoice::Auto`] and [`BackendChoice::Cpu`] always are).
    fn open(&mut self, choice: BackendChoice) -> Result<BackendInfo, LayerError>;

    /// Builds a layer on the open backend, at the start of its stream.
    ///
    /// # Errors
    /// If it cannot be built there.
    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError>;

    /// Builds a layer that is soon dropped, on a stream that no other layer sees: nothing of it is kept for the next one.
    ///
    /// # Errors
    /// As [`LayerFactory::build`].
    fn build_apart(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        self.build(kind, setup)
    }

    /// Gives the backend up for the CPU, because of `reason`.
    fn fall_back(&mut self, reason: &str) -> BackendInfo;
}

/// This machine's devices. A device stays open from run to run, and so do the streams of the last run on it.
#[derive(Debug, Default)]
pub struct Devices {
    /// The open device, and why it is this one.
    gpu: Option<(Arc<Gpu>, String)>,
    /// Why there is no real GPU, once that was found: looking for adapters takes longer than a restart may.
    no_real_gpu: Option<String>,
    /// True while layers are to be built on `gpu`.
    on_gpu: bool,
    /// Streams on the device, each with the run that last used it.
    streams: Vec<(Arc<GpuStream>, u64)>,
    runs: u64,
}

impl Devices {
    /// The device for a choice that is not the CPU: the open one where it will do.
    fn device(&mut self, choice: BackendChoice) -> Result<BackendInfo, GpuError> {
        let will_do = |gpu: &Gpu| gpu.check().is_ok() && (choice == BackendChoice::Gpu || gpu.adapter().real);
        if !self.gpu.as_ref().is_some_and(|(gpu, _)| will_do(gpu)) {
            self.streams.clear();
            self.gpu = None;
            self.gpu = Some(Gpu::open(choice)?);
        }
        let Some((gpu, reason)) = &self.gpu else { return Err(GpuError::NoAdapter("none was opened".to_owned())) };
        Ok(BackendInfo { gpu: true, adapter: gpu.adapter().title(), reason: reason.clone() })
    }

    /// The stream on the device, uploaded unless it is there already.
    fn stream(&mut self, gpu: &Arc<Gpu>, stream: &Arc<Stream>) -> Result<Arc<GpuStream>, GpuError> {
        if let Some((there, used)) = self.streams.iter_mut().find(|(s, _)| Arc::ptr_eq(&s.stream, stream)) {
            *used = self.runs;
            return Ok(Arc::clone(there));
        }
        let uploaded = GpuStream::new(gpu, stream)?;
        self.streams.push((Arc::clone(&uploaded), self.runs));
        Ok(uploaded)
    }
}

impl LayerFactory for Devices {
    fn open(&mut self, choice: BackendChoice) -> Result<BackendInfo, LayerError> {
        // Streams that the last run did not use go.
        let last = self.runs;
        self.streams.retain(|(_, used)| *used == last);
        self.runs += 1;
        self.on_gpu = false;
        if choice == BackendChoice::Cpu {
            return Ok(cpu_info("asked for"));
        }
        if let (BackendChoice::Auto, Some(reason)) = (choice, &self.no_real_gpu) {
            return Ok(cpu_info(reason));
        }
        match self.device(choice) {
            Ok(info) => {
                self.on_gpu = true;
                Ok(info)
            }
            Err(error) if choice == BackendChoice::Auto => {
                let reason = error.to_string();
                self.no_real_gpu = Some(reason.clone());
                Ok(cpu_info(&reason))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn build(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        match self.gpu.as_ref().filter(|_| self.on_gpu).map(|(gpu, _)| Arc::clone(gpu)) {
            Some(gpu) => {
                let stream = self.stream(&gpu, &setup.stream)?;
                kind.gpu(setup, &stream)
            }
            None => kind.cpu(setup, Precision::Single),
        }
    }

    fn build_apart(&mut self, kind: &'static dyn LayerKind, setup: &Setup) -> Result<Box<dyn Layer>, LayerError> {
        match self.gpu.as_ref().filter(|_| self.on_gpu) {
            Some((gpu, _)) => kind.gpu(setup, &GpuStream::new(gpu, &setup.stream)?),
            None => kind.cpu(setup, Precision::Single),
        }
    }

    fn fall_back(&mut self, reason: &str) -> BackendInfo {
        self.on_gpu = false;
        // Their buffers may be what was too much for the device; a lost one has none any more.
        self.streams.clear();
        self.gpu = None;
        cpu_info(reason)
    }
}

/// The CPU as a backend.
#[must_use]
pub fn cpu_info(reason: &str) -> BackendInfo {
    let threads = rayon::current_num_threads();
    BackendInfo { gpu: false, adapter: format!("CPU, {threads} thread{}", if threads == 1 { "" } else { "s" }), reason: reason.to_owned() }
}
