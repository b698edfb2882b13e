//! The GPU, knowing no layer: adapters and devices, kernels, buffers, batches of dispatches, readback.
//!
//! How a layer uses it:
//!
//! ```no_run
//! # use mnemoscope::gpu::{Constant, Gpu, GpuError, KernelSpec};
//! # use mnemoscope::session::BackendChoice;
//! # fn main() -> Result<(), GpuError> {
//! let (gpu, _reason) = Gpu::open(BackendChoice::Gpu)?;
//! // 1. Kernels: WGSL snippets joined, with constants in front. Bindings are read from the WGSL itself.
//! let kernel = gpu.kernel(&KernelSpec {
//!     name: "double",
//!     source: &["@group(0) @binding(0) var<storage, read_write> x: array<f32>;
//!                var<immediate> step: u32;
//!                @compute @workgroup_size(GROUP) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
//!                    if id.x < step { x[id.x] *= 2.0; }
//!                }"],
//!     constants: &[("GROUP", Constant::U32(64))],
//! })?;
//! // 2. Buffers, and a kernel bound to them, once.
//! let x = gpu.upload("x", &[1.0_f32, 2.0])?;
//! let double = kernel.bind(&gpu, &[&x])?;
//! // 3. Any number of dispatches, each with its own parameters, in one submission with one readback.
//! let mut batch = gpu.batch();
//! batch.dispatch(&double, &2_u32, [1, 1, 1]);
//! let doubled = batch.read(&x, 0..2);
//! let back = batch.submit()?.wait()?;
//! assert_eq!(back.f32(&doubled), [2.0, 4.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A dispatch sees what the dispatches before it wrote. `wgpu` puts a barrier between two dispatches only where one of
//! them writes a buffer that the other uses: declare `var<storage, read>` whatever a kernel only reads.
//!
//! Parameters of a dispatch are `var<immediate>` (push constants, at most [`MAX_PARAMETERS`] bytes): they cost no buffer,
//! no binding and no barrier. A Rust struct of `u32` and `f32` alone, `#[repr(C)]`, has the layout of its WGSL twin.
//!
//! Software adapters (llvmpipe) end all loops of a thread after 65536 iterations together, silently: spread long sums over
//! threads or dispatches, and ask [`Gpu::check_loops`] where a size could exceed that.

mod adapter;
mod batch;
mod buffer;
mod kernel;
mod stream;
pub mod testing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use thiserror::Error;

pub use adapter::AdapterSummary;
pub use batch::{Batch, Pending, ReadId, Readback};
pub use kernel::{Bound, Constant, INDEX, Kernel, KernelSpec, MAX_PARAMETERS, NUMBERS};
pub use stream::GpuStream;

use crate::session::BackendChoice;

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
    /// The device refused a command, or has no memory left.
    #[error("the GPU refused a command: {0}")]
    Refused(String),
}

/// The first trouble that the device reported; being lost counts more than anything else.
#[derive(Debug, Default)]
struct Trouble(Mutex<Option<GpuError>>);

impl Trouble {
    fn record(&self, error: GpuError) {
        let mut held = lock(&self.0);
        if held.is_none() || (matches!(error, GpuError::Lost(_)) && !matches!(*held, Some(GpuError::Lost(_)))) {
            *held = Some(error);
        }
    }

    fn get(&self) -> Option<GpuError> {
        lock(&self.0).clone()
    }
}

/// A lock that a panic elsewhere does not turn into a second panic: what these guard is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open device with its queue.
#[derive(Debug)]
pub struct Gpu {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    adapter: AdapterSummary,
    limits: wgpu::Limits,
    trouble: Arc<Trouble>,
    /// Compiled kernels by their whole source: a lane that starts again compiles nothing.
    kernels: Mutex<HashMap<String, Kernel>>,
    /// See [`Gpu::loop_limit`].
    loop_limit: OnceLock<u32>,
    /// Staging buffers that no readback uses any more.
    staging: Mutex<Vec<wgpu::Buffer>>,
}

impl Gpu {
    /// Opens a device, and says why it is this one.
    ///
    /// `Auto` takes real GPUs only (discrete before integrated before virtual), `Gpu` software adapters as well; Vulkan and
    /// its like before GL. An adapter that gives no device is passed over. `Cpu` opens none.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`] if there is none of these, [`GpuError::NoDevice`] if none gives a device.
    pub fn open(choice: BackendChoice) -> Result<(Arc<Self>, String), GpuError> {
        adapter::open(choice).map(|(gpu, reason)| (Arc::new(gpu), reason))
    }

    /// Every adapter that this machine has, with its limits, best first.
    #[must_use]
    pub fn adapters() -> Vec<AdapterSummary> {
        adapter::adapters().into_iter().map(|(summary, _)| summary).collect()
    }

    /// The adapter behind the device.
    #[must_use]
    pub fn adapter(&self) -> &AdapterSummary {
        &self.adapter
    }

    /// The device's limits: the adapter's own.
    #[must_use]
    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// The first trouble the device reported, if any.
    ///
    /// # Errors
    /// [`GpuError::Lost`] or [`GpuError::Refused`].
    pub fn check(&self) -> Result<(), GpuError> {
        match self.trouble.get() {
            None => Ok(()),
            Some(lost @ GpuError::Lost(_)) => Err(lost),
            Some(other) => {
                // A lost device refuses commands before it says that it is lost: let it speak.
                let _ = self.device.poll(wgpu::PollType::Poll);
                Err(self.trouble.get().unwrap_or(other))
            }
        }
    }

    /// Makes the device behave as lost from now on, for tests of what follows.
    pub fn lose(&self) {
        self.device.destroy();
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.trouble.record(GpuError::Lost("it was given up on purpose".to_owned()));
    }

    /// Workgroup counts for at least `groups` workgroups, split over two or three dimensions where one does not hold
    /// them. The kernel finds its number with `flat_group` of [`INDEX`] and stops where that is too large.
    #[must_use]
    pub fn groups(&self, groups: usize) -> [u32; 3] {
        let most = self.limits.max_compute_workgroups_per_dimension as usize;
        let x = groups.min(most);
        let y = groups.div_ceil(x.max(1)).min(most);
        let z = groups.div_ceil((x * y).max(1));
        [x as u32, y as u32, z as u32]
    }

    /// Bytes of workgroup storage that a kernel may use.
    #[must_use]
    pub fn workgroup_bytes(&self) -> usize {
        self.limits.max_compute_workgroup_storage_size as usize
    }

    fn limit(&self, what: &str, needed: u64, limit: u64, unit: &'static str) -> Result<(), GpuError> {
        if needed <= limit {
            return Ok(());
        }
        Err(GpuError::Limit { what: what.to_owned(), needed, limit, unit, adapter: self.adapter.title() })
    }
}
