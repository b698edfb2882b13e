//! Kernels: WGSL put together from snippets, compiled once, and bound to buffers.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Gpu, GpuError, lock};

/// The most bytes that the parameters of one dispatch may take: what every Vulkan adapter has.
pub const MAX_PARAMETERS: u32 = 128;

/// WGSL: `flat_group(group, groups)`, a workgroup's number where [`Gpu::groups`] split the dispatch over dimensions.
pub const INDEX: &str = include_str!("../../shaders/common/index.wgsl");

/// WGSL: `is_nan(x)`, and the constants `LOWEST` (the smallest finite float32) and `NAN_BITS`.
pub const NUMBERS: &str = include_str!("../../shaders/common/numbers.wgsl");

/// A constant put in front of a kernel's source, so that array sizes and loop ends are known to the compiler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// `const NAME: u32`.
    U32(u32),
    /// `const NAME: f32`; must be finite.
    F32(f32),
    /// `const NAME: bool`.
    Bool(bool),
}

impl From<usize> for Constant {
    fn from(x: usize) -> Self {
        Self::U32(x as u32)
    }
}

/// What a kernel is made of.
#[derive(Debug, Clone, Copy)]
pub struct KernelSpec<'a> {
    /// The name in messages: `shaders/ovq/assign.wgsl` is `ovq/assign`.
    pub name: &'a str,
    /// WGSL snippets, joined in this order. The entry point is `main`; storage buffers are bound in group 0, numbered
    /// from 0 without gaps, declared as `@group(0) @binding(N) var<storage, read>` or `read_write` on one line.
    pub source: &'a [&'a str],
    /// Constants put in front.
    pub constants: &'a [(&'a str, Constant)],
}

impl KernelSpec<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.constants {
            // Writing to a string cannot fail.
            let _ = match value {
                Constant::U32(x) => writeln!(text, "const {name}: u32 = {x}u;"),
                Constant::F32(x) => writeln!(text, "const {name}: f32 = {x:?}f;"),
                Constant::Bool(x) => writeln!(text, "const {name}: bool = {x};"),
            };
        }
        for snippet in self.source {
            text.push_str(snippet);
            text.push('\n');
        }
        text
    }
}

#[derive(Debug)]
struct Inner {
    name: String,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    bindings: usize,
}

/// A compiled kernel. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Kernel(Arc<Inner>);

/// A kernel with its buffers: what a batch dispatches. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Bound {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) group: wgpu::BindGroup,
    pub(super) name: Kernel,
}

/// Whether each storage binding of group 0 is read-only, by its number.
///
/// The WGSL is the one place where bindings are written down; a kernel whose bindings have gaps is refused.
fn bindings(text: &str) -> Result<Vec<bool>, String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("@group(0) @binding(") else { continue };
        let number = rest.split(')').next().and_then(|n| n.parse::<usize>().ok()).ok_or_else(|| format!("unreadable binding: {line}"))?;
        let read_only = if rest.contains("var<storage, read>") {
            true
        } else if rest.contains("var<storage, read_write>") {
            false
        } else {
            return Err(format!("binding {number} is neither `var<storage, read>` nor `var<storage, read_write>`"));
        };
        found.push((number, read_only));
    }
    found.sort_unstable();
    if let Some((expected, (number, _))) = found.iter().enumerate().find(|(i, (n, _))| i != n) {
        return Err(format!("binding {number} stands where {expected} is expected"));
    }
    Ok(found.into_iter().map(|(_, r)| r).collect())
}

impl Gpu {
    /// Compiles a kernel, or finds it among those compiled already.
    ///
    /// # Errors
    /// [`GpuError::Kernel`] with the compiler's words, [`GpuError::Limit`] if it has more buffers than the adapter allows.
    pub fn kernel(&self, spec: &KernelSpec<'_>) -> Result<Kernel, GpuError> {
        self.check()?;
        let text = spec.text();
        if let Some(kernel) = lock(&self.kernels).get(&text) {
            return Ok(kernel.clone());
        }
        let fail = |reason: String| GpuError::Kernel { kernel: spec.name.to_owned(), reason };
        let bindings = bindings(&text).map_err(fail)?;
        let most = u64::from(self.limits.max_storage_buffers_per_shader_stage);
        self.limit(&format!("kernel {}", spec.name), bindings.len() as u64, most, "storage buffers")?;
        let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation].map(|filter| self.device.push_error_scope(filter));
        let inner = self.compile(spec.name, &text, &bindings);
        for scope in scopes.into_iter().rev() {
            if let Some(error) = pollster::block_on(scope.pop()) {
                return Err(fail(error.to_string()));
            }
        }
        let kernel = Kernel(Arc::new(inner));
        lock(&self.kernels).insert(text, kernel.clone());
        Ok(kernel)
    }

    fn compile(&self, name: &str, text: &str, bindings: &[bool]) -> Inner {
        let entries: Vec<_> = (0..)
            .zip(bindings)
            .map(|(binding, &read_only)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(name), entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: MAX_PARAMETERS.min(self.limits.max_immediate_size),
        });
        let module = self.module(name, text);
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Inner { name: name.to_owned(), pipeline, layout, bindings: bindings.len() }
    }
}

impl Gpu {
    /// A shader module whose loops are not counted: the counters keep compilers from unrolling. All other checks stay.
    #[allow(unsafe_code, reason = "wgpu leaves one of its runtime checks out only so")]
    fn module(&self, name: &str, text: &str) -> wgpu::ShaderModule {
        let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..wgpu::ShaderRuntimeChecks::checked() };
        let descriptor = wgpu::ShaderModuleDescriptor { label: Some(name), source: wgpu::ShaderSource::Wgsl(text.into()) };
        // SAFETY: what is not checked is that loops end. The source is this program's own (`include_str!`, never a user's),
        // and every loop in it counts up to a bound that is a constant or a parameter of the dispatch.
        unsafe { self.device.create_shader_module_trusted(descriptor, checks) }
    }

    /// How many iterations of loops one thread may run in a kernel, all its loops together; `u32::MAX` where no end was
    /// found. Found out by trying, once.
    ///
    /// Mesa's llvmpipe (seen in 22.3, and it is what software Vulkan and GL are) leaves every loop after 65536 of them,
    /// without a word: the numbers are then wrong.
    ///
    /// # Errors
    /// The device's trouble.
    pub fn loop_limit(self: &Arc<Self>) -> Result<u32, GpuError> {
        const TRIED: u32 = 1 << 20;
        if let Some(&limit) = self.loop_limit.get() {
            return Ok(limit);
        }
        let source = "
            @group(0) @binding(0) var<storage, read_write> count: array<u32>;
            var<immediate> tried: u32;
            @compute @workgroup_size(1) fn main() {
                var done = 0u;
                for (var i = 0u; i < tried; i++) { done += count[1u + (i & 1u)]; }
                count[0] = done;
            }";
        let kernel = self.kernel(&KernelSpec { name: "loop limit", source: &[source], constants: &[] })?;
        let count = self.upload("loops", &[0_u32, 1, 1])?;
        let bound = kernel.bind(self, &[&count])?;
        let mut batch = self.batch();
        batch.dispatch(&bound, &TRIED, [1, 1, 1]);
        let id = batch.read(&count, 0..1);
        let done = batch.submit()?.wait()?.u32(&id).first().copied().unwrap_or(0);
        Ok(*self.loop_limit.get_or_init(|| if done == TRIED { u32::MAX } else { done }))
    }

    /// Checks that a kernel whose threads run at most `iterations` of all their loops together is safe here, see
    /// [`Gpu::loop_limit`].
    ///
    /// # Errors
    /// [`GpuError::Limit`] that names `what`, or the device's trouble.
    pub fn check_loops(self: &Arc<Self>, what: &str, iterations: usize) -> Result<(), GpuError> {
        // Below this every device is fine: nothing needs to be tried.
        if iterations < 1 << 15 {
            return Ok(());
        }
        self.limit(what, iterations as u64, self.loop_limit()?.into(), "iterations of a kernel's loops")
    }
}

impl Kernel {
    /// The name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Binds whole buffers, in the order of their numbers. Do it once, not once a dispatch.
    ///
    /// # Errors
    /// [`GpuError::Kernel`] if they are too many, too few, or one buffer is both read and written.
    pub fn bind(&self, gpu: &Gpu, buffers: &[&wgpu::Buffer]) -> Result<Bound, GpuError> {
        gpu.check()?;
        let fail = |reason: String| GpuError::Kernel { kernel: self.0.name.clone(), reason };
        if buffers.len() != self.0.bindings {
            return Err(fail(format!("{} buffers came, {} are bound", buffers.len(), self.0.bindings)));
        }
        let entries: Vec<_> =
            (0..).zip(buffers).map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }).collect();
        let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&self.0.name),
            layout: &self.0.layout,
            entries: &entries,
        });
        match pollster::block_on(scope.pop()) {
            None => Ok(Bound { pipeline: self.0.pipeline.clone(), group, name: self.clone() }),
            Some(error) => Err(fail(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_read_from_the_source() {
        let text = "@group(0) @binding(1) var<storage, read_write> b: array<f32>;\n@group(0) @binding(0) var<storage, read> a: array<f32>;";
        assert_eq!(bindings(text), Ok(vec![true, false]));
        assert!(bindings("@group(0) @binding(1) var<storage, read> a: array<f32>;").is_err());
        assert!(bindings("@group(0) @binding(0) var<uniform> a: f32;").is_err());
    }

    #[test]
    fn constants_are_literals_of_their_type() {
        let spec = KernelSpec {
            name: "k",
            source: &["fn f() {}"],
            constants: &[("A", Constant::U32(7)), ("B", Constant::F32(1e-6)), ("C", Constant::Bool(true)), ("D", Constant::F32(2.0))],
        };
        assert_eq!(spec.text(), "const A: u32 = 7u;\nconst B: f32 = 1e-6f;\nconst C: bool = true;\nconst D: f32 = 2.0f;\nfn f() {}\n");
    }
}
