//! The GPU, knowing no layer: adapters and devices, kernels, buffers, readback.

use std::sync::Arc;

use thiserror::Error;

use crate::stream::Stream;

/// Why the GPU cannot be used, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum GpuError {
    /// There is none, or none that was asked for.
    #[error("no usable GPU adapter: {0}")]
    NoAdapter(String),
    /// The adapter gave no device.
    #[error("the adapter {adapter} gave no device: {reason}")]
    NoDevice { adapter: String, reason: String },
    /// The device went away while it worked.
    #[error("the GPU device was lost: {0}")]
    Lost(String),
    /// The run needs more than the adapter has.
    #[error("{what} needs {needed} {unit}, but the adapter {adapter} allows {limit}")]
    Limit { what: String, needed: u64, limit: u64, unit: &'static str, adapter: String },
    /// A kernel does not compile here: a mistake in the program or the driver.
    #[error("kernel {kernel}: {reason}")]
    Kernel { kernel: String, reason: String },
}

/// An open device with its queue.
#[derive(Debug)]
pub struct Gpu {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
}

/// A stream's arrays on the device, shared by the lanes that see the same stream.
#[derive(Debug)]
pub struct GpuStream {
    /// The device they are on.
    pub gpu: Arc<Gpu>,
    /// The stream.
    pub stream: Arc<Stream>,
}
