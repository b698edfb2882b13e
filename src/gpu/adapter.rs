//! Finding adapters and opening a device on one of them.

use std::sync::{Arc, Mutex, OnceLock};

use super::{Gpu, GpuError, Trouble};
use crate::session::BackendChoice;

/// What an adapter is and what it allows, as `mnemoscope devices` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterSummary {
    /// Its name.
    pub name: String,
    /// The interface: Vulkan, Metal, Dx12, Gl.
    pub backend: String,
    /// Discrete, integrated or virtual GPU, software, or other.
    pub class: &'static str,
    /// True if it is a piece of hardware.
    pub real: bool,
    /// The driver and its version.
    pub driver: String,
    /// Largest buffer, bytes.
    pub buffer_bytes: u64,
    /// Largest storage buffer that a kernel sees, bytes.
    pub storage_bytes: u64,
    /// Workgroup storage, bytes.
    pub workgroup_bytes: u32,
    /// Threads in a workgroup.
    pub workgroup_threads: u32,
    /// Workgroups along one dimension of a dispatch.
    pub workgroups: u32,
    /// Why it cannot compute for this program, if it cannot.
    pub unusable: Option<String>,
}

impl AdapterSummary {
    /// Name and interface: `NVIDIA H200 (Vulkan)`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, self.backend)
    }

    fn of(adapter: &wgpu::Adapter) -> Self {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let (class, real) = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => ("discrete GPU", true),
            wgpu::DeviceType::IntegratedGpu => ("integrated GPU", true),
            wgpu::DeviceType::VirtualGpu => ("virtual GPU", true),
            wgpu::DeviceType::Cpu => ("software", false),
            wgpu::DeviceType::Other => ("other", false),
        };
        let unusable = if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
            Some("it has no compute shaders".to_owned())
        } else if !adapter.features().contains(wgpu::Features::IMMEDIATES) {
            Some("it has no immediate data".to_owned())
        } else {
            None
        };
        Self {
            name: info.name,
            backend: format!("{:?}", info.backend),
            class,
            real,
            driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
            buffer_bytes: limits.max_buffer_size,
            storage_bytes: limits.max_storage_buffer_binding_size,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_threads: limits.max_compute_invocations_per_workgroup,
            workgroups: limits.max_compute_workgroups_per_dimension,
            unusable,
        }
    }
}

/// Smaller is better: hardware first, and GL last of the interfaces (it is the one seen to lose its device).
fn rank(adapter: &wgpu::Adapter) -> (u8, u8) {
    let info = adapter.get_info();
    let class = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    (class, u8::from(info.backend == wgpu::Backend::Gl))
}

/// Every adapter, best first.
pub(super) fn adapters() -> Vec<(AdapterSummary, wgpu::Adapter)> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // The drivers' own validation layers are for those who write drivers' callers; wgpu validates anyway.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor.with_env());
    let mut found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    found.sort_by_key(rank);
    found.into_iter().map(|adapter| (AdapterSummary::of(&adapter), adapter)).collect()
}

pub(super) fn open(choice: BackendChoice) -> Result<(Gpu, String), GpuError> {
    if choice == BackendChoice::Cpu {
        return Err(GpuError::NoAdapter("the CPU was asked for".to_owned()));
    }
    let found = adapters();
    if found.is_empty() {
        return Err(GpuError::NoAdapter("this machine has none".to_owned()));
    }
    let names: Vec<String> = found.iter().map(|(s, _)| s.title()).collect();
    let none = GpuError::NoAdapter(format!("only software is here: {}; `gpu` asks for it all the same", names.join(", ")));
    let mut refused: Option<GpuError> = None;
    for (summary, adapter) in found {
        if choice == BackendChoice::Auto && !summary.real {
            continue;
        }
        let reason = if summary.real { "a real GPU" } else { "asked for; software, no real GPU is here" }.to_owned();
        match device(&summary, &adapter) {
            Ok(gpu) => {
                if let Some(earlier) = refused {
                    log::warn!("{earlier}");
                }
                return Ok((gpu, reason));
            }
            // The last one is said by whoever asked: here it would be said twice.
            Err(error) => {
                if let Some(earlier) = refused.replace(error) {
                    log::warn!("{earlier}");
                }
            }
        }
    }
    Err(refused.unwrap_or(none))
}

fn device(summary: &AdapterSummary, adapter: &wgpu::Adapter) -> Result<Gpu, GpuError> {
    let no = |reason: String| GpuError::NoDevice { adapter: summary.title(), reason };
    if let Some(reason) = &summary.unusable {
        return Err(no(reason.clone()));
    }
    let limits = adapter.limits();
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("mnemoscope compute"),
        required_features: wgpu::Features::IMMEDIATES | (adapter.features() & wgpu::Features::SUBGROUP),
        // The adapter's own limits: wgpu's defaults are smaller than most, and larger than some.
        required_limits: limits.clone(),
        memory_hints: wgpu::MemoryHints::Performance,
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).map_err(|e| no(e.to_string()))?;
    let trouble = Arc::new(Trouble::default());
    let on_lost = Arc::clone(&trouble);
    device.set_device_lost_callback(move |reason, message| on_lost.record(GpuError::Lost(format!("{reason:?}: {message}"))));
    let on_error = Arc::clone(&trouble);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        log::error!("{error}");
        on_error.record(GpuError::Refused(error.to_string()));
    }));
    Ok(Gpu {
        device,
        queue,
        adapter: summary.clone(),
        limits,
        trouble,
        kernels: Mutex::default(),
        loop_limit: OnceLock::new(),
        staging: Mutex::default(),
    })
}
